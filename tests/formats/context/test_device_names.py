import pytest

from iodiag.formats.context.device_names import FORMAT
from reading import blocks_of, devices_of, topology_of


def test_partitions():
    text = "major minor  #blocks  name\n\n   8   0  976762584 sda\n 253   8  6 dm-8\n 104 0 9 cciss/c0d0\n"
    (block,) = blocks_of(FORMAT, text + "\nprocs ---\n")
    assert block.used == 5
    topology = topology_of(FORMAT, text)
    assert topology.canonical("dev253-8") == "dm-8"
    assert topology.devices["sda"].size_kb == 976762584


@pytest.mark.parametrize(
    ("text", "spellings"),
    [
        (
            "total 0\ncrw-------. 1 root root 10, 236 Nov 20 12:00 control\n"
            "lrwxrwxrwx. 1 root root       7 Nov 20 12:00 vg0-data -> ../dm-8\n",
            ["vg0-data", "vg0/data"],
        ),
        (
            "lrwxrwxrwx 1 root root 7 2020-11-20 12:00 /dev/mapper/vg0-data -> ../dm-8\n",
            ["vg0-data", "vg0/data"],
        ),
        (
            "/dev/mapper:\ntotal 0\nbrw-rw---- 1 root disk 253, 8 Nov 20 12:00 vg0-data\n",
            ["253:8", "vg0/data"],
        ),
        (
            "/dev/vg0:\ntotal 0\nlrwxrwxrwx 1 root root 7 Nov 20 12:00 data -> ../dm-8\n",
            ["vg0-data", "vg0/data"],
        ),
        ("lrwxrwxrwx 1 root root 7 Nov 20 12:00 /dev/vg0/data -> ../dm-8\n", ["vg0-data", "vg0/data"]),
    ],
)
def test_links_and_nodes(text, spellings):
    topology = topology_of(FORMAT, text)
    for spelling in spellings:
        assert topology.canonical(spelling) == "dm-8"


def test_links_by_id():
    text = "lrwxrwxrwx 1 root root  9 Nov 20 12:00 ata-ST4000NM0035-1V4107_ZC1 -> ../../sda\n"
    assert "ata-ST4000NM0035-1V4107_ZC1" in devices_of(FORMAT, text)["sda"].aliases


def test_blockdev_report():
    text = (
        "RO    RA   SSZ   BSZ   StartSec            Size   Device\n"
        "rw   256   512  4096          0   4000787030016   /dev/sda\n"
        "rw  8192  4096  4096          0   4000787030016   /dev/md0\n"
    )
    found = devices_of(FORMAT, text)
    assert found["sda"].read_ahead_kb == 128
    assert (found["md0"].read_ahead_kb, found["md0"].size_kb) == (4096, 4000787030016 / 1024)


@pytest.mark.parametrize(
    "text",
    [
        "lrwxrwxrwx 1 root root 7 Nov 20 12:00 python -> python3\n",
        "major minor  #blocks  name\n\n",
        "brw is a mode\n",
    ],
)
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []
