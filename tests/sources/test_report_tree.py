from __future__ import annotations

import pytest

from iodiag.sources._report_tree import Place, Trees, place_of, role_of, stated_host
from iodiag.sources._supportconfig import is_supportconfig, with_plain_parts
from writers.reports import supportconfig

DISK = "sys/devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda"


@pytest.mark.parametrize(
    ("path", "root", "inner"),
    [
        ("top/proc/mdstat", "top", "proc/mdstat"),
        ("a/b/sos_commands/block/lsblk", "a/b", "sos_commands/block/lsblk"),
        ("proc/mdstat", "", "proc/mdstat"),
        ("top/var/log/sa/sa20", "top", "var/log/sa/sa20"),
        ("top/hostname", "top", "hostname"),
        ("top/sar/sa20261120", "top", "sar/sa20261120"),
        ("sa/sa01", "", "sa/sa01"),
        ("web1/iostat.txt", "web1", "iostat.txt"),
        ("iostat.txt", "", "iostat.txt"),
        ("top/etc/sysconfig/proc/x", "top", "etc/sysconfig/proc/x"),
    ],
)
def test_a_file_has_its_place_below_the_top_of_its_hosts_tree(path, root, inner):
    assert place_of(path) == Place(root, inner)


@pytest.mark.parametrize(
    ("inner", "in_report", "elsewhere"),
    [
        (f"{DISK}/queue/rotational", "value", "value"),
        (f"{DISK}/sda1/size", "value", "value"),
        ("sys/block/md0/md/stripe_cache_size", "value", "value"),
        ("sys/fs/cgroup/system.slice/db.service/io.max", "value", "value"),
        (f"{DISK}/queue/iosched/fifo_batch", "skip", "skip"),
        (f"{DISK}/uevent", "skip", "skip"),
        ("sys/class/net/eth0/mtu", "skip", "skip"),
        ("proc/4711/status", "skip", "skip"),
        ("proc/mdstat", "look", "look"),
        ("proc/pressure/io", "look", "look"),
        ("proc/self/mounts", "look", "look"),
        ("sos_commands/block/lsblk", "look", "look"),
        ("sos_commands/block/lsblk_-f_-a_-l", "look", "look"),
        ("sos_commands/lvm2/lvs_-a_-o_lv_tags_devices", "look", "look"),
        ("sos_commands/md/mdadm_-D_.dev.md0", "look", "look"),
        ("sos_commands/sar/sar20", "look", "look"),
        ("sos_commands/rpm/package-data", "skip", "look"),
        ("sos_commands/networking/ss_-peaonmi", "skip", "look"),
        ("var/log/sa/sa20261120", "look", "look"),
        ("var/log/sysstat/sar20", "look", "look"),
        ("var/log/messages", "look", "look"),
        ("var/log/kern.log.1", "look", "look"),
        ("var/log/secure", "skip", "look"),
        ("sos_commands/kernel/dmesg", "look", "look"),
        ("sos_commands/logs/journalctl_--no-pager_--boot", "look", "look"),
        ("var/log/iostat.log", "look", "look"),
        ("root/vmstat-1.txt", "look", "look"),
        ("etc/fstab", "skip", "look"),
        ("free", "look", "look"),
        ("fs-diskio.txt", "look", "look"),
        ("messages.txt", "look", "look"),
        ("hostname", "host", "host"),
        ("sos_commands/host/hostname", "host", "host"),
        ("sos_commands/kernel/uname_-a", "host", "host"),
        ("etc/hostname", "host", "host"),
        ("uname-a.txt", "host", "host"),
        ("notes.txt", "skip", "look"),
    ],
)
def test_in_a_report_only_what_can_matter_is_looked_at(inner, in_report, elsewhere):
    assert role_of(Place("top", inner), is_report=True) == in_report
    assert role_of(Place("top", inner), is_report=False) == elsewhere


@pytest.mark.parametrize(
    ("inner", "data", "host"),
    [
        ("hostname", b"web1.example.com\n", "web1.example.com"),
        ("etc/hostname", b"# the name\nweb1\n", "web1"),
        ("uname", b"Linux web1 5.14.0-1.el9.x86_64 #1 SMP x86_64 GNU/Linux\n", "web1"),
        ("hostname", b"web1\nweb2\n", None),
        ("hostname", b"hostname: command not found\n", None),
        ("uname", b"5.14.0\n", None),
        ("proc/mdstat", b"web1\n", None),
        ("hostname", b"", None),
        ("hostname", b"\xff\xfe\x00", None),
    ],
)
def test_a_host_is_named_by_one_word_or_by_uname(inner, data, host):
    stated = stated_host(Place("top", inner), data)
    assert (stated and stated[0]) == host


@pytest.mark.parametrize(
    ("folder", "host"),
    [
        ("sosreport-web1-2026-11-20-abcdefg", "web1"),
        ("sosreport-web1-01234567-2026-11-20-abcdefg", "web1"),
        ("sosreport-db-prod-1-2026-11-20-abcdefg", "db-prod-1"),
        ("sosreport-web1.01234567-20261120140000", "web1"),
        ("scc_suse1_261120_1400", "suse1"),
        ("nts_suse-2_261120_1400", "suse-2"),
        ("sosreport-", None),
        ("captures", None),
        ("sosreport-" + "a-" * 20_000, None),
    ],
)
def test_a_reports_folder_tells_the_host_where_no_file_does(folder, host):
    trees = Trees("archive")
    trees.know_report(place_of(f"{folder}/sos_commands/block/lsblk"))
    assert [statement.host for _, statement in trees.statements()] == ([host] if host else [])


def test_the_best_statement_of_the_host_counts():
    trees = Trees("sosreport-short-2026-11-20-x")
    trees.know_report(place_of("sos_commands/block/lsblk"))
    trees.add_host("", "older", "etc", "etc/hostname")
    trees.add_host("", "web1.example.com", "uname", "uname")
    trees.add_host("", "localhost.localdomain", "hostname", "hostname")
    assert [statement.host for _, statement in trees.statements()] == ["web1.example.com"]


def test_values_become_the_lines_that_grep_prints():
    trees = Trees("x")
    for path, data in (
        (f"{DISK}/size", b"8\n"),
        (f"{DISK}/queue/scheduler", b"[none] kyber\n"),
        ("sys/x", b""),
    ):
        trees.add_value(Place("top", path), data)
    assert list(trees.value_texts()) == [("top", f"/{DISK}/queue/scheduler:[none] kyber\n/{DISK}/size:8\n")]


def test_values_are_bounded(monkeypatch):
    monkeypatch.setenv("IODIAG_LIMITS", "values=1")
    trees = Trees("x")
    assert trees.add_value(Place("top", "a"), b"1")
    assert not trees.add_value(Place("top", "b"), b"1")


def test_copied_logs_are_emptied_and_lines_keep_their_numbers():
    text = next(data for path, data in supportconfig().items() if path.endswith("fs-diskio.txt"))
    plain = with_plain_parts(text)
    assert is_supportconfig(text)
    assert plain.count(b"\n") == text.count(b"\n")
    old, new = text.split(b"\n"), plain.split(b"\n")
    changed = {n for n, (a, b) in enumerate(zip(old, new, strict=True)) if a != b}
    assert {new[n] for n in changed} == {
        b"",
        b"# cat /sys/block/sda/queue/scheduler",
        b"# cat /sys/block/sda/queue/rotational",
    }
    assert {old[n][:9] for n in changed if not new[n]} == {b"/dev/sda1", b"Nov 20 14"}


@pytest.mark.parametrize(
    "data", [b"", b"plain\n", b"#==[ Command ]==#", b"#==[ Log File ]===#\n", b"#==[ Log File ]==#\n# x"]
)
def test_odd_texts_stay_as_they_are(data):
    assert with_plain_parts(data) == data
