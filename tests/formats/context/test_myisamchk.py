import pytest

from iodiag.formats.context.myisamchk import FORMAT
from reading import blocks_of

CHECK = """\
Checking MyISAM file: five_gb
Data records: 1403698   Deleted blocks:       12
- check file-size
- check record links
Records:           1403698    M.recordlength:      226   Packed:              0%
Recordspace used:      100%   Empty space:           0%  Blocks/Record:   1.34
Record blocks:     1880955    Delete blocks:        12
Record data:     317235748    Deleted data:          0
Lost space:              0    Linkdata:        6577692

User time 1639.63, System time 251.61
Maximum resident set size 0, Integral resident set size 0
"""


def test_check():
    (block,) = blocks_of(FORMAT, CHECK + "\nmysql> exit\n")
    assert block.used == CHECK.count("\n")
    (fact,) = block.facts
    assert fact.values == {
        "table": "five_gb",
        "records": 1403698,
        "deleted_blocks": 12,
        "mean_record_bytes": 226,
        "packed_pct": 0,
        "recordspace_used_pct": 100,
        "empty_space_pct": 0,
        "blocks_per_record": 1.34,
        "record_blocks": 1880955,
        "lost_space_bytes": 0,
    }
    assert fact.text == "the rows of five_gb lay in 1.34 blocks per record"


@pytest.mark.parametrize(
    "text",
    [
        "myisamchk -r -i reports a key statistic:\nBlocks/Record 1.34\nThe table has 6 million rows",
        "Recordspace used:      100%   Empty space:           0%  Blocks/Record:   1.34",
        "    Blocks/Record: 1.34",
    ],
)
def test_line_that_stands_alone(text):
    (block,) = blocks_of(FORMAT, text)
    assert block.facts[0].values["blocks_per_record"] == 1.34
    assert block.used == 1


def test_description():
    text = (
        "MyISAM file:         t.MYI\nRecord format:       Packed\nCharacter set:       latin1 (8)\n"
        "File-version:        1\nData records:              1403698  Deleted blocks:       0\n"
        "Recordlength:                   226\n\ntable description:\nKey Start Len Index   Type\n"
    )
    (block,) = blocks_of(FORMAT, text)
    assert block.facts[0].values == {"table": "t.MYI", "records": 1403698, "deleted_blocks": 0}


@pytest.mark.parametrize("text", ["Blocks/Record is a ratio\n", "Records: 12\n", "MyISAM file: x\n\n"])
def test_other_text_is_left_alone(text):
    assert blocks_of(FORMAT, text) == []
