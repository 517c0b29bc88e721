"""Which device is which on the two sides of a comparison."""

from __future__ import annotations

import io

import pytest

import iodiag
from iodiag.comparison.pairing import Pairing, pair
from iodiag.judging.options import Options
from iodiag.judging.run import prepared
from writers.capture_writer import Load, Row, iostat

BUSY = Row(reads=100, read_kb=1600, read_ms=8, util=0.7)
SLIGHT = Row(reads=6, read_kb=96, read_ms=8, util=0.05)
TRACE = Row(reads=0.2, read_kb=3, read_ms=4)
IDLE = Row()

LSBLK = "NAME MAJ:MIN RM SIZE RO TYPE MOUNTPOINTS\n"


def paired(before: dict[str, Row], after: dict[str, Row], *lsblk: str) -> Pairing:
    views = []
    for at, rows in enumerate((before, after)):
        texts = [iostat(Load([rows] * 10)), *([LSBLK + lsblk[at]] if lsblk and lsblk[at] else [])]
        captures = [iodiag.read(io.BytesIO(text.encode()), name=f"{n}.txt") for n, text in enumerate(texts)]
        views.append(prepared(captures, Options())[1][0])
    return pair(*views)


def names(found: Pairing) -> list[tuple[str, str]]:
    return [(entry.before.name, entry.after.name) for entry in found.pairs]


def test_a_name_is_a_name_in_any_spelling():
    assert names(paired({"sda": BUSY, "sdb": BUSY}, {"sdb": BUSY, "sda": BUSY})) == [
        ("sda", "sda"),
        ("sdb", "sdb"),
    ]
    found = paired({"dev8-16": BUSY, "sda": BUSY}, {"sdb": BUSY, "sda": BUSY})
    assert sorted(names(found)) == [("dev8-16", "sdb"), ("sda", "sda")]


def test_a_volume_is_found_under_its_new_number():
    """Device-mapper numbers go to whoever comes first at boot; the volume's name stays."""
    before = "vg0-data 252:3 0 4G 0 lvm /data\nvg0-log 252:5 0 4G 0 lvm /log\n"
    after = "vg0-log 252:3 0 4G 0 lvm /log\nvg0-data 252:5 0 4G 0 lvm /data\n"
    found = paired({"dm-3": BUSY, "dm-5": SLIGHT}, {"dm-3": SLIGHT, "dm-5": BUSY}, before, after)
    assert names(found) == [("dm-3", "dm-5"), ("dm-5", "dm-3")]
    assert "vg0-data" in found.pairs[0].basis


def test_a_number_will_do_where_one_side_knows_no_better_name():
    found = paired({"dm-3": BUSY}, {"dm-3": BUSY}, "vg0-data 252:3 0 4G 0 lvm /data\n", "")
    assert [entry.basis for entry in found.pairs] == ["the same name"]


def test_the_only_busy_devices_belong_together_whatever_they_are_called():
    found = paired({"sdc": BUSY}, {"nvme0n1": BUSY, "vda": IDLE})
    assert names(found) == [("sdc", "nvme0n1")]
    assert "busy" in found.pairs[0].basis or "most of the work" in found.pairs[0].basis


def test_work_that_moved_to_another_device_is_followed():
    found = paired({"sda": BUSY, "nvme0n1": IDLE}, {"sda": TRACE, "nvme0n1": BUSY})
    assert names(found) == [("sda", "nvme0n1")]
    assert "most of the work" in found.pairs[0].basis


def test_work_that_was_shared_before_has_not_moved():
    found = paired({"sda": BUSY, "sdb": SLIGHT}, {"sda": TRACE, "sdb": BUSY})
    assert sorted(names(found)) == [("sda", "sda"), ("sdb", "sdb")]


def test_a_mount_point_tells_of_several_which_is_which():
    before = "sda 8:0 0 4G 0 disk /data\nsdb 8:16 0 4G 0 disk /log\n"
    after = "nvme0n1 259:0 0 4G 0 disk /log\nnvme1n1 259:1 0 4G 0 disk /data\n"
    found = paired({"sda": BUSY, "sdb": BUSY}, {"nvme0n1": BUSY, "nvme1n1": BUSY}, before, after)
    assert sorted(names(found)) == [("sda", "nvme1n1"), ("sdb", "nvme0n1")]
    assert {entry.basis for entry in found.pairs} == {
        "both are mounted at /data",
        "both are mounted at /log",
    }


def test_two_strangers_are_not_guessed():
    found = paired({"sda": BUSY, "sdb": BUSY}, {"sdx": BUSY, "sdy": BUSY})
    assert not found.pairs
    assert any("sda, sdb" in told for told in found.uncompared)
    assert any("sdx, sdy" in told for told in found.uncompared)


def test_what_hardly_works_on_either_side_is_passed_over():
    found = paired({"sda": BUSY, "vda": TRACE}, {"sda": BUSY, "vda": IDLE})
    assert names(found) == [("sda", "sda")]
    assert found.uncompared == ("hardly any work on either side: vda",)


def test_the_device_with_the_most_work_comes_first_and_parts_come_last():
    raid = "sda 8:0 0 4G 0 disk\n`-md0 9:0 0 4G 0 raid1\nsdb 8:16 0 4G 0 disk\n`-md0 9:0 0 4G 0 raid1\n"
    rows = {"sda": BUSY, "sdb": BUSY, "vda": SLIGHT, "md0": BUSY}
    found = paired(rows, rows, raid, raid)
    assert [entry.before.name for entry in found.pairs][:2] == ["md0", "vda"]
    assert [entry.is_part for entry in found.pairs] == [False, False, True, True]


@pytest.mark.parametrize("count", [1, 60])
def test_every_device_is_paired_or_named(count):
    before = {f"sd{chr(97 + n % 26)}{n // 26 or ''}": BUSY for n in range(count)}
    after = dict(list(before.items())[1:]) | {"sdzz": BUSY}
    found = paired(before, after)
    told = " ".join(found.uncompared)
    for name in before.keys() | after.keys():
        is_paired = any(name in (entry.before.name, entry.after.name) for entry in found.pairs)
        assert is_paired or name in told
