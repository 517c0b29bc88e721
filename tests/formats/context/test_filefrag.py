import pytest

from iodiag.formats.context.filefrag import FORMAT
from reading import blocks_of


def test_several_files():
    text = "/mnt/d/t000: 90 extents found\n/mnt/d/t 001: 7 extents found, perfection would be 1 extent\n"
    (block,) = blocks_of(FORMAT, text + "done\n")
    assert block.used == 2
    values = block.facts[0].values
    assert values == {"files": 2, "extents": 97, "worst_file": "/mnt/d/t000", "worst_extents": 90}
    assert block.facts[0].text == "/mnt/d/t000 lay in 90 extents, 2 files in 97"


def test_verbose():
    text = (
        "Filesystem type is: ef53\nFile size of a.bin is 65536 (16 blocks of 4096 bytes)\n"
        " ext:     logical_offset:        physical_offset: length:   expected: flags:\n"
        "   0:        0..       7:     104448..    104455:      8:\n"
        "   1:        8..      15:      98304..     98311:      8:     104456: last,eof\n"
        "a.bin: 2 extents found\n"
    )
    (block,) = blocks_of(FORMAT, text)
    assert block.used == 6
    assert block.facts[0].values["mean_extent_kb"] == 32


@pytest.mark.parametrize(
    "text", ["3 extents found\n", "Filesystem type is: ef53\n\n", "File size of x is big\n"]
)
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []
