import pytest

import iodiag
from iodiag.formats.tables.tapestat import layout
from iodiag.model.columns import FAMILIES
from sample_files import SAMPLES

HEADER = "Tape: r/s w/s kB_read/s kB_wrtn/s %Rd %Wr %Oa Rs/s Ot/s"


def test_drives_of_both_reports_are_rows_and_no_disks():
    capture = iodiag.read(SAMPLES / "tapestat/two-drives.txt")
    rows = capture.tables["tapes"]
    assert set(capture.tables) == {"tapes"}
    assert rows["tape"].tolist() == ["st0", "st1"] * 2
    assert rows["since_boot"].tolist() == [True, True, False, False]
    assert rows["write_kb_per_s"].tolist() == [131072, 0, 122880, 0]
    assert rows["wait_pct"].tolist() == [41, 13, 44, 0]
    assert not capture.unparsed


@pytest.mark.parametrize(("unit", "factor"), [("kB", 1), ("MB", 1024), ("GB", 1024**2)])
def test_units(unit, factor):
    found = layout(tuple(HEADER.replace("kB", unit).split()))
    assert {column.factor for column in found.columns if column.is_size} == {factor}
    assert {column.column for column in found.columns} == {entry.name for entry in FAMILIES["tapes"]}


@pytest.mark.parametrize("header", [f"{HEADER} new/s", "Tape:", "Device: r/s w/s", "Disk: r/s w/s"])
def test_other_headers_are_left_alone(header):
    assert layout(tuple(header.split())) is None


def test_what_the_tool_printed_of_known_counters():
    rows = iodiag.read(SAMPLES / "tapestat/12.6.1-t.txt").tables["tapes"].iloc[2:4]
    assert rows["tape"].tolist() == ["st0", "st1"]
    assert rows["read_kb_per_s"].tolist() == [3072, 3072]
    assert rows[["read_wait_pct", "write_wait_pct", "wait_pct", "others_per_s"]].to_numpy().tolist() == [
        [40, 0, 50, 3],
        [40, 10, 50, 3],
    ]
