import pytest

from iodiag.formats.context.swaps import FORMAT
from reading import blocks_of, devices_of

PROC = (
    "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
    "/dev/sda2                               partition\t4194300\t\t1048575\t\t-2\n"
    "/swapfile                               file\t\t4194300\t\t0\t\t-3\n"
)


@pytest.mark.parametrize(
    ("text", "size", "used"),
    [
        (PROC, 8388600, 1048575),
        (
            "NAME      TYPE       SIZE USED PRIO\n/dev/sda2 partition   2G 512M   -2\n",
            2 * 1024**2,
            512 * 1024,
        ),
        ("NAME TYPE SIZE USED PRIO\n/dev/dm-1 partition 976M 0B -2\n", 976 * 1024, 0),
    ],
)
def test_renderings(text, size, used):
    (block,) = blocks_of(FORMAT, text + "procs\n")
    values = block.facts[0].values
    assert (values["size_kb"], values["used_kb"]) == (size, used)
    assert block.used == text.count("\n")
    assert values["used_pct"] == round(100 * used / size, 1)


def test_only_a_block_device_becomes_one():
    assert devices_of(FORMAT, PROC)["sda2"].mountpoints == ("[SWAP]",)
    assert list(devices_of(FORMAT, PROC)) == ["sda2"]


@pytest.mark.parametrize("text", ["Filename Type Size Used Priority\n", "NAME TYPE SIZE USED PRIO\n\n"])
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []
