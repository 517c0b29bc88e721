"""Reports of one tool under different words: where a phase begins, its label, the length of its samples."""

# ruff: noqa: E501  # lines of captures stay as they are printed

from __future__ import annotations

import io

import numpy as np
import pytest

import iodiag
from iodiag.formats.text.structure.phases import LABEL_LENGTH, is_prose
from text_reading import reading

HEADER = "Device:  rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n"
BANNER = "Linux 5.14.0 (db1) \t11/20/26 \t_x86_64_\t(8 CPU)\n\n"
CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           2.30 0.00 1.30 96.40 0.00 0.00\n\n"
SAR = "{0}:00 AM DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n{0}:01 AM sda {1} 80.00 8.00 8.00 0.01 0.73 0.71\n"


def report(rate: float, clock: str = "", device: str = "sda") -> str:
    row = f"{device} 0.00 0.00 {rate:.2f} 1.37 {rate * 8:.2f} 10.96 16.00 1.02 5.90 5.62 97.22\n"
    return (f"11/20/26 {clock}\n" if clock else "") + HEADER + row + "\n"


def labels(text: str) -> list[str]:
    disk = reading(text).disk
    return disk["phase_label"].tolist() if "phase" in disk else []


def lengths(text: str) -> list[float | None]:
    return [None if np.isnan(length) else length for length in reading(text).disk["interval_s"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Before:\n\n{0}\nAfter:\n\n{1}", ["Before:", "After:"]),
        ("{0}With the patch:\n{1}{0}", ["", "With the patch:", "With the patch:"]),
        ("Hello all,\n\nour disk is slow:\n{0}Thanks for that.\n\nIt is now\nfast.\n{1}", ["our disk is slow:", "It is now fast."]),
        ("{0}[...]\n{1}", ["", "[...]"]),
        ("$ iostat -x 1\n{0}$ iostat -x 5\n{1}", ["iostat -x 1", "iostat -x 5"]),
        ("$ iostat -x 1\n{0}...\n{1}", ["iostat -x 1", "..."]),
        ("root@box:~# top\nTasks:  91 total,   2 running,  89 sleeping,   0 stopped\n\nroot@box:~# iostat -x 1\n{0}...\n{1}", ["iostat -x 1", "..."]),
        ("[root@box ~]# ping db\nPING db: started\ndone\n\n[root@box ~]# iostat -x 1\n{0}...\n{1}", ["iostat -x 1", "..."]),
        ("[root@box ~]# ping db\ndone\n\nOne disk\n\n[root@box ~]# iostat -x 1\n{0}...\n{1}", ["One disk", "..."]),
        ("$ iostat -x 1\n{0}After:\n$ iostat -x 1\n{1}", ["iostat -x 1", "After:"]),
        ("Before:\n" + BANNER + "{0}After:\n" + BANNER + "{1}", ["Before:", "After:"]),
        ("> Before:\n> {0}> After:\n> {1}", ["Before:", "After:"]),
        ("{0}" + "a very long story " * 9 + "\n{1}", ["", "a very long story a very long story a very long story a ver…"]),
    ],
)  # fmt: skip
def test_other_words_above_a_report_begin_a_phase(text: str, expected: list[str]):
    found = labels(text.format(report(10.21), report(30.43)))
    assert found == expected
    assert all(len(label) <= LABEL_LENGTH for label in found)


@pytest.mark.parametrize(
    "between",
    [
        "",
        "\n\n\f\n",
        CPU,
        "--More--(42%)\n",
        "--- more ---\n",
        "Page 2 of 5\n",
        "```text\n",
        "</pre><pre>\n",
        "[root@db1 ~]#\n",
        "^Croot@db1:~$\n",
        "10:00:01 AM\n",
        "sda\n",
        BANNER,
    ],
)
def test_what_is_no_prose_begins_none(between: str):
    assert labels(report(10.21) + between + report(30.43)) == []


def test_the_same_words_above_every_report_begin_none():
    heading = "top - 10:00:0{} up 3 days, load average: 0.{}, 0.10\nthe disks\n"
    assert labels("".join(heading.format(n, n) + report(10.21 + n) for n in range(3))) == []


def test_words_within_a_report_begin_none():
    assert labels(CPU + "and the disks:\n" + report(10.21) + CPU + report(30.43)) == []


def test_rows_below_words_begin_one_where_a_device_comes_again():
    rows = report(30.43).removeprefix(HEADER)
    assert labels(report(10.21) + "After the change:\n" + rows) == ["", "After the change:"]
    assert labels(report(10.21) + "And another disk:\n" + rows.replace("sda", "sdb")) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # one report each: nobody knows how long
        ("Before:\n{0}After:\n{7}", [None, None]),
        # each phase tells by its own clocks
        ("Before:\n{0}{1}After:\n{7}{8}", [1.0, 1.0, 5.0, 5.0]),
        ("Before:\n{0}{1}After:\n{7}", [1.0, 1.0, None]),
        # a comment in a capture that goes on at its pace
        ("{0}{1}Then I started the backup.\n{2}", [1.0, 1.0, 1.0]),
        ("$ iostat -xty 2\nBefore:\n{0}After:\n{7}", [2.0, 2.0]),
    ],
)  # fmt: skip
def test_the_time_between_phases_is_no_length(text: str, expected: list[float | None]):
    clocks = ["10:00:00", "10:00:01", "10:00:02", "", "", "", "", "12:00:00", "12:00:05"]
    reports = [report(10.2137 + n, clock) for n, clock in enumerate(clocks)]
    assert lengths(text.format(*reports)) == expected


def test_the_clock_of_sar_s_header_tells_the_length_below_words():
    read = reading("Before:\n" + SAR.format("10:00", "10.21") + "After:\n" + SAR.format("11:30", "30.43"))
    assert read.disk["interval_s"].tolist() == [1.0, 1.0]
    assert read.disk["phase"].tolist() == [0, 1]


def test_each_phase_lies_on_its_own_grid():
    slow = "".join(report(rate) for rate in (10.20, 33.40, 7.80, 91.20, 11.60, 13.80))
    fast = "".join(report(rate) for rate in (11.00, 34.00, 8.00, 92.00, 12.00, 14.00))
    found = lengths(f"Before:\n{slow.replace('1.37', '1.40')}After:\n{fast.replace('1.37', '2.00')}")
    assert found == [5.0] * 6 + [1.0] * 6


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Before:", True),
        ("以前", True),
        ("(END)", False),
        ("12:24:57 all", False),
        ("1 2 3", False),
        ("x" * 400, True),
    ],
)
def test_prose(line: str, expected: bool):
    assert is_prose(line) == expected


@pytest.mark.parametrize(
    ("headings", "hosts"),
    [
        (("System 1:", "System 2:"), ["System 1", "System 2"]),
        (("=== node01 ===", "=== node02 ==="), ["node01", "node02"]),
        (("Server A", "Server B"), ["Server A", "Server B"]),
        (("on node A:", "on node B:"), ["node A", "node B"]),
        (("(virtual #1)", "(virtual #2, the slow one)"), ["virtual #1", "virtual #2"]),
        (("(virtual #1)", "(the one without)"), ["virtual #1", "the one without"]),
        (("While it is slow:", "other nodes:"), ["first node", "other nodes"]),
        (("This one", "On another server:"), ["first server", "other server"]),
        (("Node 1:", "the other node:"), ["Node 1", "other node"]),
        (("Before:", "The other day:"), [""]),
        (("Server A:", "After the upgrade:"), [""]),
        (("Server A:", "(after the upgrade)"), [""]),
        (("(before)", "(after)"), [""]),
        (("System 1 and 2 are equal:", "System 2 is slower:"), [""]),
        (("Node 1:", "Node 1:"), [""]),
        (("Before:", "After:"), [""]),
    ],
)
def test_headings_that_name_several_hosts_keep_their_samples_apart(headings, hosts):
    table = "Device r/s w/s rkB/s wkB/s aqu-sz %util\nsda 1.00 2.00 4.00 8.00 0.01 0.50\n\n"
    vmstat = (
        " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa\n"
        " 1  0      0 523412  22110 623411    0    0     3    12  110  220  2  1 97  0\n"
    )
    text = "".join(f"{heading}\n$ vmstat 1 2\n{vmstat}\n$ iostat -x 1\n{table}" for heading in headings)
    capture = iodiag.read(io.BytesIO(text.encode()), name="post.txt")
    assert list(dict.fromkeys(capture.tables["disk"]["host"])) == hosts
    assert list(dict.fromkeys(capture.tables["cpu"]["host"])) == hosts
    assert capture.hosts == [host for host in hosts if host]


def test_what_runs_on_a_host_may_follow_its_name_and_is_no_part_of_it():
    old = HEADER + "sdb 0.00 0.00 0.00 465.41 0.00 458862.70 1969.61 106.03 206.17 1.94 90.59\n"
    new = "Device r/s w/s rkB/s wkB/s aqu-sz %util\nsdb 0.00 231.84 0.00 240509.45 2.46 92.54\n"
    names = ("Server1 Ubuntu 14:", "Server2 Ubuntu 23.10:", "Server 1 Ubuntu 14:")
    disk = reading(
        "".join(f"{name}\n\n{rows}\n" for name, rows in zip(names, (old, new, old), strict=True))
    ).disk
    assert disk["host"].tolist() == ["Server1", "Server2", "Server1"]
    same = reading(f"Server 1 After Tuning:\n\n{old}\nServer 1 Before Tuning:\n\n{old}").disk
    assert set(same["host"]) == {""}


@pytest.mark.parametrize("mark", ["# ", ""])
def test_another_kernel_of_the_same_host_begins_a_phase(mark: str):
    rows = "Device r/s w/s rkB/s wkB/s aqu-sz %util\nsdb 9.50 231.84 38.00 240509.45 2.46 92.54\n\n"
    old, new = f"{mark}Linux 4.19.0-7-generic:", f"{mark}Linux 6.1.0-9-generic:"
    assert [label.rstrip(":") for label in labels(f"{old}\n{rows}{new}\n{rows}")] == [old[:-1], new[:-1]]
    assert labels(f"{old}\n{rows}{old}\n{rows}") == []


def test_another_kernel_in_the_banner_of_the_same_host_begins_a_phase():
    rows = "Device r/s w/s rkB/s wkB/s aqu-sz %util\nsdb 9.50 231.84 38.00 240509.45 2.46 92.54\n\n"
    banner = "Linux {} ({}) \t11/20/26 \t_x86_64_\t(4 CPU)\n\n{}"
    same_host = banner.format("4.19.0", "a", rows) + banner.format("6.1.0", "a", rows)
    assert labels(same_host) == ["Linux 4.19.0", "Linux 6.1.0"]
    assert labels(banner.format("4.19.0", "a", rows) + banner.format("6.1.0", "b", rows)) == []


def test_a_table_of_another_release_below_the_first_is_a_report_of_its_own():
    new = "Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s r_await w_await aqu-sz rareq-sz wareq-sz %util\n"
    old, new = report(9.5), new + "sda 9.50 231.84 38.00 927.36 0.00 0.00 1.10 1.30 0.31 4.00 4.00 22.54\n\n"
    disk = reading(f"# kernel 4.19.0-7-generic:\n{old}# kernel 6.1.0-9-generic:\n{new}").disk
    assert disk["phase"].tolist() == disk["report"].tolist() == [0, 1]


VMSTAT = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 1  0      0  90000   9000  90000    0    0   {0}     8  900  700 10  5 80  5  0
 1  0      0  90000   9000  90000    0    0   {0}     9  910  710 10  5 80  5  0
"""


@pytest.mark.parametrize(
    ("between", "phases", "kernel"), [("but normally:\n", [0, 0, 2, 2], None), ("", [0, 0, 1, 1], "5.14.0")]
)
def test_a_second_vmstat_below_iostat_is_of_the_words_above_it(between, phases, kernel):
    text = f"{VMSTAT.format(500)}\n$ iostat -x 1\n{BANNER}{report(110.5)}{between}{VMSTAT.format(40)}"
    capture = iodiag.read(io.BytesIO(text.encode()), name="mail.txt")
    queue = capture.tables["queue"]
    assert [phase - phases[0] for phase in queue.get("phase", queue["line"] * 0)] == phases
    last = max((one for one in capture.sections if one.format == "vmstat"), key=lambda one: one.first_line)
    assert last.kernel == kernel
    # a collector prints the same words above each
    looped = f"= memory =\n{VMSTAT.format(500)}= disks =\n{report(110.5)}"
    table = iodiag.read(io.BytesIO((looped * 3).encode()), name="mail.txt").tables["queue"]
    assert "phase" not in table or table["phase"].nunique() == 1
