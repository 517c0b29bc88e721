"""Numbers that have lost their decimal point, in every format that prints a fixed number of decimals."""

from __future__ import annotations

import io
import json
import re

import pytest

import iodiag
from fuzz.oracles import check_no_other_rows, rows_read
from iodiag.errors import IodiagError
from sample_files import SAMPLES

_FORMATS = (
    *("iostat/12.7.7-x-g.txt", "iostat/11.5.4-x.txt", "iostat/12.7.7-x-human.txt", "mpstat/12.6.1-all.txt"),
    *("sar/12.7.7-du-iso.txt", "pt-diskstats/3.2.1-by-all.txt", "iostat-json/12.7.7-x.json"),
    *("mpstat-json/12.6.1-P-ALL.json", "sadf-json/12.7.7-j.json", "sadf-json/11.2.0-j.json"),
    *("sadf-xml/12.7.7-x.xml", "cifsiostat-json/shares.json"),
)
_POINT = re.compile(rb"(?<=\d)\.(?=\d\d?\b)")
_TRIED = 23


@pytest.mark.parametrize("name", _FORMATS)
def test_a_lost_point_changes_no_number_without_a_note(name: str):
    data = (SAMPLES / name).read_bytes()
    begin = data.find(b"Device") if name.startswith("iostat/") else 0
    undamaged = iodiag.read(io.BytesIO(data), name="x")
    whole = rows_read(undamaged), {note.reason for note in undamaged.notes}
    points = [found.start() for found in _POINT.finditer(data, begin)]
    # the release of the kernel and the day are no values
    points = [at for at in points if b"Linux" not in data[max(data.rfind(b"\n", 0, at), 0) : at]]
    tried = points[:: max(len(points) // _TRIED, 1)]
    read = 0
    for at in tried:
        try:
            damaged = iodiag.read(io.BytesIO(data[:at] + data[at + 1 :]), name="x")
        except IodiagError:
            continue
        check_no_other_rows(whole, damaged)
        read += 1
    assert 2 * read > len(tried)


@pytest.mark.parametrize("name", ["iostat/12.7.7-x-g.txt", "sar/12.7.7-du-iso.txt"])
def test_a_spreadsheet_that_drops_zeros_loses_no_row(name: str):
    text = (SAMPLES / name).read_text()
    trimmed = re.sub(r"(?<=\d)\.0+(?!\d)|(?<=\.\d)0(?!\d)", "", re.sub(" +", "\t", text))
    one, other = (iodiag.read(io.BytesIO(each.encode()), name="x") for each in (text, trimmed))
    assert {*one.tables} == {*other.tables}
    for family, frame in one.tables.items():
        assert len(other.tables[family]) == len(frame)


def test_json_that_another_program_wrote_again_keeps_whole_numbers():
    text = (SAMPLES / "iostat-json/12.7.7-x.json").read_text()
    given = json.loads(text)
    # as JavaScript and older jq print numbers
    again = re.sub(r"(?<=\d)\.0(?=[,}\s])", "", json.dumps(given))
    one, other = (iodiag.read(io.BytesIO(each.encode()), name="x") for each in (text, again))
    assert rows_read(one) == rows_read(other)
