"""Banners and visible commands, and prose that looks like them."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

import iodiag
from iodiag.formats.text.structure.banners import Banner, banner, command


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "Linux 2.6.18.1-custom (ubuntu)  13/02/07",
            Banner("2.6.18.1-custom", "ubuntu", "13/02/07", None),
        ),
        (
            "Linux 5.4.0 (db.example.com) \t11/20/26 \t_x86_64_\t(2 CPU)",
            Banner("5.4.0", "db.example.com", "11/20/26", 2),
        ),
        (
            "Linux 3.11.0-23 (db1) \tThursday 04 September 2014 \t_i686_\t(2 CPU)",
            Banner("3.11.0-23", "db1", "Thursday 04 September 2014", 2),
        ),
        (
            "Linux 4.15.0-55 (db1)         2019년 09월 16일        _x86_64_        (32 CPU)",
            Banner("4.15.0-55", "db1", "2019년 09월 16일", 32),
        ),
        (
            "Linux 2.6.32-504 (db1) \t2015年01月15日 \t_x86_64(2 CPU)",
            Banner("2.6.32-504", "db1", "2015年01月15日", 2),
        ),
        (
            "Linux 2.6.32-32-server  01/19/2012     _x86_64_    (6 CPU)",
            Banner("2.6.32-32-server", "", "01/19/2012", 6),
        ),
        (
            "Linux 3.10.0 ()  03/10/2020      _x86_64_        (48 CPU)",
            Banner("3.10.0", "", "03/10/2020", 48),
        ),
        (
            "Linux 6.1 (h) 2026年11月20日 _aarch64_ (2 CPU)",
            Banner("6.1", "h", "2026年11月20日", 2),
        ),
        (
            "  Linux 6.1 (h) 20.11.2026 _x86_64_ (128 CPU)",
            Banner("6.1", "h", "20.11.2026", 128),
        ),
    ],
)
def test_banners(line: str, expected: Banner):
    assert banner(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "Linux db1 5.4.0-1 #1 SMP Fri Nov 20 2026 x86_64 GNU/Linux",
        "Linux is a kernel of 1991-08-25",
        "We run Linux 5.4 (Ubuntu) since 11/20/26",
        "Linux 5.4 (" + "x" * 500 + ") 11/20/26",
        "The workshop (Berlin) 4 September 2014 was about storage",
    ],
)
def test_no_banners(line: str):
    assert banner(line) is None


@pytest.mark.parametrize(
    ("line", "tool", "interval", "count"),
    [
        ("$ iostat -x 1", "iostat", 1, None),
        ("[root@h ~]# iostat -xkz 1 10", "iostat", 1, 10),
        ("user@host:~$ vmstat -n 5", "vmstat", 5, None),
        ("host:~ # iostat -m 2", "iostat", 2, None),
        ("➜  ~  iostat -xmt 1", "iostat", 1, None),
        ("iostat -x 5 2>&1 | tee log", "iostat", 5, None),
        ("iostat -x 2>&1", "iostat", None, None),
        ("sudo /usr/bin/iostat -xt 0.5", "iostat", 0.5, None),
        ("S_TIME_FORMAT=ISO iostat -xt 5", "iostat", 5, None),
        ("LC_ALL=C sar -d 1 10", "sar", 1, 10),
        ("``S_COLORS=auto iostat -xz 1``", "iostat", 1, None),
        ("sudo env LC_ALL=C TZ=UTC iostat -x 5", "iostat", 5, None),
        ("timeout 60 iostat -x 1", "iostat", 1, None),
        ("$ stdbuf -oL vmstat 1", "vmstat", 1, None),
        ("# sar -A | egrep 'dev253-(82|84)'", "sar", None, None),
        ("mpstat -P 0 1 5", "mpstat", 1, 5),
        ("iostat -x 5 sd{b,c} dm-{1,2}", "iostat", 5, None),
        ("iostat -x 3 sda sdb while copying:", "iostat", 3, None),
        ("$ sar -s 11:00:00 -e 16:00:00 -W", "sar", None, None),
        ("Every 2.0s: iostat -x 1 2      db1: Fri Nov 20 12:00:01 2026", "iostat", 1, 2),
        ("`iostat -x 1`", "iostat", 1, None),
        ("shell> iostat -dmx 1", "iostat", 1, None),
        ("- iostat -x", "iostat", None, None),
        ("* `vmstat 5 3`", "vmstat", 5, 3),
        ("2. iostat -x 1", "iostat", 1, None),
        ("`iostat -x 1` on the node shows:", "iostat", 1, None),
        ("collect info for : iostat -y -x 2 1", "iostat", 2, 1),
        (
            "root@db1:~# D=sdb; dd if=/dev/$D of=/dev/null bs=1M & iostat -xm /dev/$D 2 3 ; wait",
            "iostat",
            2,
            3,
        ),
        ("root@db1:~# iostat -x 1 & vmstat 5", "iostat", 1, None),
        ("fio --name=a --rw=randread & iostat -xm 4 vdb dm-2", "iostat", 4, None),
        ("$ cat /proc/mdstat; iostat -xk 2 6", "iostat", 2, 6),
        ("cp -a /srv /mnt/new && vmstat -n 5 2", "vmstat", 5, 2),
        ("iostat", "iostat", None, None),
        ("# vmstat -a                                        ~", "vmstat", None, None),
        ("db1% vmstat 5 3              ~/captures [17:01:02]", "vmstat", 5, 3),
        ("$ iostat -x 2     # while it is slow", "iostat", 2, None),
    ],
)
def test_commands(line: str, tool: str, interval: float | None, count: int | None):
    found = command(line)
    assert found is not None
    assert (found.tool, found.interval_s, found.count) == (tool, interval, count)


@pytest.mark.parametrize(
    ("line", "is_excerpt"),
    [
        ("iostat -x 1 output (excerpt from the middle):", True),
        ("iostat -xt 5 (some of it)", True),
        ("iostat -x 3 sda sdb while copying:", False),
        ("$ iostat -p sda 1 parts", False),
    ],
)
def test_words_behind_a_command_tell_of_an_excerpt(line: str, is_excerpt: bool):
    found = command(line)
    assert found is not None
    assert found.is_excerpt == is_excerpt


def test_the_time_beside_a_watched_command():
    found = command("Every 2.0s: iostat -x 1 2      db1: Fri Nov 20 12:00:01 2026")
    assert found is not None
    assert found.when == "Fri Nov 20 12:00:01 2026"


@pytest.mark.parametrize(
    "line",
    [
        "iostat reports the cpu",
        "We ran iostat -x 1 for a while and saw:",
        "iostat:",
        "iostat (部分数据)",
        "vmstat (2.6.8 with the patch)",
        "vmstat iostat sar",
        "`iostat -x` on the node revealed the cause:",
        "The iostat manual page",
        "sysstat version:sysstat-9.0.4",
        "try it again later; iostat -x 1 then shows what the disk does",
        "ask joe@db1.example.com # he knows; iostat shows that 1 disk is slow",
        "x" * 400 + " iostat 1",
    ],
)
def test_prose_about_tools(line: str):
    assert command(line) is None


@pytest.mark.parametrize(
    ("line", "flag", "has"),
    [
        ("iostat -xy 1", "y", True),
        ("iostat --pretty 1", "y", False),
        ("iostat -x -y 1", "y", True),
        ("iostat -x day 1", "y", False),
    ],
)
def test_flags(line: str, flag: str, has: bool):
    found = command(line)
    assert found is not None
    assert found.has_flag(flag) == has


@given(st.text(max_size=120))
def test_any_line_is_read_or_refused(line: str):
    banner(f"Linux {line}")
    command(f"$ iostat {line}")


UNAME = "Linux {} 5.14.0-70.el9 #1 SMP PREEMPT_DYNAMIC x86_64 GNU/Linux\n"
TASKS = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 2  0      0 712336  58136 316032    0    0    16    47   37   95  7  5 88  0  0
"""


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        (UNAME.format("db7") + "\n" + TASKS, ["db7"]),
        (UNAME.format("db7") + TASKS + UNAME.format("db8") + TASKS, ["db7", "db8"]),
        ("Linux 5.14.0 (db7) \t11/20/26 \t_x86_64_\t(2 CPU)\n" + UNAME.format("db7.a.org") + TASKS, ["db7"]),
        ("Linux db7 5.14 is what we run\n" + TASKS, [""]),
        (UNAME.format("db7")[:40] + "\n" + TASKS, [""]),
    ],
    ids=["its", "two", "short", "prose", "cut"],
)
def test_uname_names_the_host_of_what_stands_below_it(text, hosts):
    table = iodiag.read(io.BytesIO(text.encode()), name="c.txt").tables["cpu"]
    assert list(dict.fromkeys(table["host"].astype(str))) == hosts


def test_the_blanks_of_a_banner_may_be_tabs_alone():
    text = "Linux 5.14.0 (db1) 11/20/26 _x86_64_ (2 CPU)"
    assert banner(text.replace(" ", "\t")) == banner(text)
    assert banner(text).host == "db1"
