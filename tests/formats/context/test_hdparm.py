import pytest

from iodiag.formats.context.hdparm import FORMAT
from reading import blocks_of, devices_of

BOTH = """\
/dev/sda:
 Timing cached reads:   21870 MB in  1.99 seconds = 10986.53 MB/sec
 Timing buffered disk reads: 428 MB in  3.01 seconds = 142.20 MB/sec
"""


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (
            BOTH,
            {
                "device": "sda",
                "cached_read_mb_per_s": 10986.53,
                "sequential_read_mb_per_s": 142.2,
                "is_prose": 0,
            },
        ),
        (
            "/dev/nvme0n1:\n Timing O_DIRECT disk reads: 6 GB in  3.00 seconds =   2.00 GB/sec\n",
            {"device": "nvme0n1", "sequential_read_mb_per_s": 2048, "is_prose": 0},
        ),
        (
            "/dev/sdb:\n Timing buffered disk reads:   2 MB in  3.96 seconds = 512.00 kB/sec\n",
            {"device": "sdb", "sequential_read_mb_per_s": 0.5, "is_prose": 0},
        ),
        (
            "/dev/md0:\nHDIO_DRIVE_CMD(null) failed: Inappropriate ioctl for device\n"
            " Timing buffered disk reads: 999 MB in  3.00 seconds = 333.00 MB/sec\n",
            {"device": "md0", "sequential_read_mb_per_s": 333, "is_prose": 0},
        ),
        (
            " Timing buffered disk reads:  150 MB in  3.03 seconds =  49.55 MB/sec\n",
            {"sequential_read_mb_per_s": 49.55, "is_prose": 0},
        ),
        (
            "went over 1800 kb/s. The drive is fine: a quick run of hdparm -T -t showed an average read "
            "throughput of nearly 50mb/s on this 7200RPM drive.",
            {"sequential_read_mb_per_s": 50, "is_prose": 1},
        ),
        (
            "I get 110 MB/s with dd; hdparm -t says 120.5 MB/sec",
            {"sequential_read_mb_per_s": 120.5, "is_prose": 1},
        ),
    ],
)
def test_speeds(text, values):
    (block,) = blocks_of(FORMAT, "# hdparm -tT /dev/sda\n\n" + text + "\n$ iostat\n")
    assert block.facts[0].values == values


def test_two_disks_are_two_blocks():
    text = BOTH + "\n" + BOTH.replace("sda", "sdb")
    assert [block.facts[0].values["device"] for block in blocks_of(FORMAT, text)] == ["sda", "sdb"]


def test_write_cache_and_identity():
    text = (
        "/dev/sda:\n write-caching =  0 (off)\n\n/dev/sdb:\n\nATA device, with non-removable media\n"
        "\tModel Number:       ST4000NM0035-1V4107\n\tSerial Number:      Z\n"
        "\tLogical  Sector size:                   512 bytes\n"
        "\tNominal Media Rotation Rate: 7200\n/dev/sdc:\n\tNominal Media Rotation Rate: Solid State Device\n"
    )
    found = devices_of(FORMAT, text)
    assert found["sda"].write_cache == "write through"
    assert (found["sdb"].rotational, found["sdb"].model) == (True, "ST4000NM0035-1V4107")
    assert found["sdc"].rotational is False


@pytest.mark.parametrize(
    "text",
    [
        "/dev/sda:\n          Magic : a92b4efc\n",
        "run hdparm -t and see",
        "hdparm -S 120 /dev/sda, then the link ran at 6 Gb/s and so on",
        "Timing is everything: 3 reads",
    ],
)
def test_other_text_is_left_alone(text):
    assert [b for b in blocks_of(FORMAT, text) if b.facts] == []
