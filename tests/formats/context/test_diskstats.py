"""Counters of disks: /proc/diskstats, and the same of one device in /sys/block."""

import io

import pytest

import iodiag

FIRST = "    1000        0    16000     5000      200        0     1600      400        0     5000     5400"
SECOND = "    2000        0    32000    15000      300        0     2400      800        1     9000    15800"


def read(text):
    return iodiag.read(io.BytesIO(text.encode()))


@pytest.mark.parametrize(
    "text",
    [
        f"$ cat /sys/block/sdag/stat\n{FIRST}\n$ sleep 10\n$ cat /sys/block/sdag/stat\n{SECOND}\n",
        f"1795166040\n==> /sys/block/sdag/stat <==\n{FIRST}\n"
        f"1795166050\n==> /sys/block/sdag/stat <==\n{SECOND}\n",
        f"1795166040\n/sys/block/sdag/stat:{FIRST}\n1795166050\n/sys/block/sdag/stat:{SECOND}\n",
        f"1795166040\n 66 0 sdag {FIRST}\n1795166050\n 66 0 sdag {SECOND}\n",
    ],
    ids=["sleep", "head", "grep", "/proc/diskstats"],
)
def test_two_snapshots_make_rates(text):
    capture = read(text)
    (row,) = capture.disk.to_dict("records")
    assert (row["device"], row["interval_s"]) == ("sdag", 10)
    assert (row["reads_per_s"], row["writes_per_s"], row["read_kb_per_s"]) == (100, 10, 800)
    assert (row["read_await_ms"], row["write_await_ms"], row["util_pct"]) == (10, 4, 40)
    assert not capture.unparsed


def test_two_snapshots_without_a_time_between_make_none():
    capture = read(f"$ cat /sys/block/sda/stat\n{FIRST}\n$ cat /sys/block/sda/stat\n{SECOND}\n")
    assert capture.disk is None
    assert capture.tables["disk_counters"]["report"].tolist() == [0, 1]


def test_a_pause_is_that_of_the_snapshot_behind_it_alone():
    third = SECOND.replace("2000", "2500", 1)
    text = f"$ cat /sys/block/sda/stat\n{FIRST}\n$ sleep 10\n$ cat /sys/block/sda/stat\n{SECOND}\n"
    disk = read(f"{text}$ cat /sys/block/sda/stat\n{third}\n").disk
    assert disk["reads_per_s"].tolist() == [100]


@pytest.mark.parametrize(
    "text", [f"$ cat /sys/block/sda/size\n{FIRST}\n", f"{FIRST}\n", f"cat stat\n{FIRST}\n"]
)
def test_numbers_of_no_device_are_none(text):
    with pytest.raises(iodiag.IodiagError):
        read(text)
