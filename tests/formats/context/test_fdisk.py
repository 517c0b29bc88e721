from __future__ import annotations

import io
from pathlib import Path

import pytest

import iodiag
from iodiag.model.topology import MISALIGNED

SAMPLE = (Path(__file__).parents[3] / "samples" / "fdisk" / "misaligned.txt").read_text()


def read(text):
    return {
        device.name: device for device in iodiag.read(io.BytesIO(text.encode()), name="fdisk.txt").topology
    }


def test_starts_are_held_against_the_sectors_of_their_own_disk():
    devices = read(SAMPLE)
    # 63 and 409,663 are boundaries of sectors of 512 bytes; 34 is none of 4,096
    assert {name: d.alignment for name, d in devices.items()} == {
        "sda": None,
        "sda1": 0,
        "sda2": 0,
        "sdb": None,
        "sdb1": 3072,
        "sdb2": 0,
    }
    assert devices["sdb2"].members == ("sdb",)
    assert devices["sdb2"].size_kb == 15628017664 / 2
    assert devices["sdb1"].provenance["alignment"] == "fdisk fdisk.txt:22"


def test_a_disk_whose_sectors_begin_elsewhere_says_so():
    """Drives that are made for a first partition at sector 63 state that their boundaries lie there."""
    text = SAMPLE.replace(
        "I/O size (minimum/optimal): 4096", "Alignment offset: 3584 bytes\nI/O size (minimum/optimal): 4096"
    )
    assert read(text.replace("/dev/sdb1     34", "/dev/sdb1     63"))["sdb1"].alignment == 0


@pytest.mark.parametrize(("start", "offset"), [(254, 1024), (63, 512), (2048, 0)])
def test_another_language_has_the_same_numbers(start, offset):
    text = (
        "Disk /dev/sdb: 7,3 TiB, 8001563222016 Bytes, 15628053168 Sektoren\n"
        "Einheiten: Sektoren von 1 * 512 = 512 Bytes\n"
        "Sektorgröße (logisch/physikalisch): 512 Bytes / 4096 Bytes\n"
        "E/A-Größe (minimal/optimal): 4096 Bytes / 4096 Bytes\n"
        "Festplattenbezeichnungstyp: dos\n\n"
        "Gerät      Boot Anfang Ende Sektoren Größe Kn Typ\n"
        f"/dev/sdb1  *      {start} 15628053167 15628053105  7,3T 83 Linux\n"
    )
    assert read(text)["sdb1"].alignment == offset


def test_cylinders_tell_nothing_but_the_sentence_does():
    text = (
        "Disk /dev/sdb: 2000.4 GB, 2000398934016 bytes\n"
        "255 heads, 63 sectors/track, 243201 cylinders\n"
        "Units = cylinders of 16065 * 512 = 8225280 bytes\n"
        "Sector size (logical/physical): 512 bytes / 4096 bytes\n"
        "I/O size (minimum/optimal): 4096 bytes / 4096 bytes\n"
        "Disk identifier: 0x0009f26e\n\n"
        "   Device Boot      Start         End      Blocks   Id  System\n"
        "/dev/sdb1   *           1          13      104391   83  Linux\n"
        "Partition 1 does not start on physical sector boundary.\n"
        "/dev/sdb2              14      243201  1953407610   8e  Linux LVM\n"
    )
    devices = read(text)
    assert devices["sdb1"].alignment == MISALIGNED
    assert devices["sdb2"].alignment is None


def test_what_follows_is_another_matter():
    df = "Filesystem 1K-blocks Used Available Use% Mounted on\n/dev/sdb2 7751271852 20 7360591756 1% /srv\n"
    swap = "Disk /dev/mapper/vg-swap: 2 GiB, 2147483648 bytes, 4194304 sectors\n"
    capture = iodiag.read(io.BytesIO((SAMPLE + df + swap + "\nNote: it is slow\n").encode()), name="post.txt")
    devices = {device.name: device for device in capture.topology}
    assert devices["sdb2"].size_kb == 15628017664 / 2
    assert devices["vg-swap"].size_kb == 2 * 1024**2
    assert devices["vg-swap"].alignment is None
    (section,) = (s for s in capture.sections if s.first_line == SAMPLE.count("\n") + 3)
    assert section.format == "fdisk"
