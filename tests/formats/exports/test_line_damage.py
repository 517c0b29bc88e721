"""Every line of every exported sample taken away, cut or swapped with the next: no row changes unsaid."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from iodiag.errors import IodiagError, UnknownFormat
from iodiag.formats.exports import iostat_json, sadf_csv, sadf_json, sadf_pairs, sadf_raw, sadf_xml
from iodiag.formats.types import FileFormat
from iodiag.model.capture import ParseNote, SampleTable, Source
from iodiag.table.table import Column, Table

ROOT = Path(__file__).parents[3] / "samples"
FORMATS = {
    form.FORMAT.id: form.FORMAT for form in (iostat_json, sadf_csv, sadf_json, sadf_pairs, sadf_raw, sadf_xml)
}
SAMPLES = sorted(path for name in FORMATS for path in (ROOT / name).iterdir() if path.suffix != ".toml")
NOT_OF_THE_ROW = ("line", "segment", "report", "source")


class Reading(NamedTuple):
    """The rows of an input without their places, the lines of each, and what was said of it."""

    rows: dict[tuple[object, ...], list[int]]
    notes: Counter[str]
    unread: int


def _values(column: Column) -> list[object]:
    return column.tolist() if isinstance(column, np.ndarray) else [column[at] for at in range(len(column))]


def add_rows(rows: dict[tuple[object, ...], list[int]], item: SampleTable) -> None:
    table = Table.of(item.rows)
    columns = {name: _values(table[name]) for name in sorted(table.names)}
    for at, line in enumerate(columns["line"]):
        known = ((name, own[at]) for name, own in columns.items() if name not in NOT_OF_THE_ROW)
        rows.setdefault((item.family, *(pair for pair in known if pair[1] == pair[1])), []).append(line)


def reading(form: FileFormat, data: bytes) -> Reading:
    rows: dict[tuple[object, ...], list[int]] = {}
    notes: Counter[str] = Counter()
    unread = 0
    try:
        if not form.recognise(data[:4096]):
            raise UnknownFormat(["x"])
        for item in form.read(Source("x", data)):
            if isinstance(item, ParseNote):
                notes[item.reason] += 1
                unread += item.is_unread
            elif isinstance(item, SampleTable):
                add_rows(rows, item)
    except IodiagError as error:
        notes[str(error)] += 1
        unread += 1
    return Reading(rows, notes, unread)


@cache
def undamaged(path: Path) -> Reading:
    return reading(FORMATS[path.parent.name], path.read_bytes())


def damages(lines: list[bytes]) -> Iterator[tuple[str, list[bytes], set[int]]]:
    """What was done, the lines after it, and the 1-based numbers of the lines it was done to."""
    for at, line in enumerate(lines):
        yield f"line {at + 1} deleted", [*lines[:at], *lines[at + 1 :]], {at + 1}
        if len(line) > 1:
            yield f"line {at + 1} cut", [*lines[:at], line[: len(line) // 2], *lines[at + 1 :]], {at + 1}
        if at + 1 < len(lines) and line != lines[at + 1]:
            swapped = [*lines[:at], lines[at + 1], line, *lines[at + 2 :]]
            yield f"lines {at + 1} and {at + 2} swapped", swapped, set()


# iostat -y prints it in the place of the first report, and without it the file is that of a run without -y
UNSEEN = {("11.5.4-xmty.json", "line 11 deleted")}


def unsaid(path: Path) -> Iterator[str]:
    """The damages after which a row differs, or one of another line is gone, and no word is said."""
    whole = undamaged(path)
    lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
    for what, damaged, gone in damages(lines):
        found = reading(FORMATS[path.parent.name], b"\n".join(damaged) + b"\n")
        if found.unread > whole.unread or (path.name, what) in UNSEEN:
            continue
        made = [row for row in found.rows if row not in whole.rows]
        lost = [row for row, at in whole.rows.items() if row not in found.rows and not gone.issuperset(at)]
        if made or lost:
            yield f"{what}: {len(made)} made, {len(lost)} lost; said: {dict(found.notes - whole.notes)}"


@pytest.mark.slow
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_line_lost_or_damaged_changes_a_row_without_a_word(path: Path) -> None:
    found = list(unsaid(path))
    assert not found, "\n".join(found)


XT = ROOT / "iostat-json" / "12.2.0-xt.json"
SADF = ROOT / "sadf-json" / "12.7.7-j.json"


def without(path: Path, *numbers: int) -> bytes:
    """A sample without some of its lines."""
    lines = path.read_bytes().split(b"\n")
    return b"\n".join(line for number, line in enumerate(lines, 1) if number not in numbers)


@pytest.mark.parametrize(
    ("path", "number"),
    [
        pytest.param(XT, 11, id="beginning of the first report"),
        pytest.param(XT, 16, id="end of a list of devices"),
        pytest.param(XT, 17, id="end of the first report"),
        pytest.param(XT, 18, id="beginning of the second report"),
        pytest.param(SADF, 25, id="end of a sample"),
    ],
)
def test_a_lost_bracket_is_mended_and_said(path: Path, number: int) -> None:
    whole, found = undamaged(path), reading(FORMATS[path.parent.name], without(path, number))
    assert found.rows.keys() == whole.rows.keys()
    assert found.unread > whole.unread


@pytest.mark.parametrize(
    ("path", "number", "said"),
    [
        (XT, 19, "1 of 3 reports without timestamp"),
        (XT, 20, "1 of 3 reports without avg-cpu"),
        (XT, 4, "no host's name"),
        (SADF, 14, "a sample without a time"),
        (SADF, 16, "1 of 5 reports without cpu"),
        (SADF, 22, "1 of 5 reports without queue"),
        (ROOT / "sadf-csv" / "12.7.7-d.csv", 7, "1 of 5 reports without swapping"),
        (ROOT / "sadf-pairs" / "12.7.7-p.tsv", 3, "rows of cpu without %system"),
    ],
)
def test_what_every_sample_has_and_one_has_not_is_said(path: Path, number: int, said: str) -> None:
    found = reading(FORMATS[path.parent.name], without(path, number))
    assert any(said in note for note in found.notes), found.notes
    assert found.unread


@pytest.mark.parametrize(("path", "lines"), [(XT, 20), (SADF, 60)])
def test_json_that_ends_early_is_said(path: Path, lines: int) -> None:
    found = reading(FORMATS[path.parent.name], b"\n".join(path.read_bytes().split(b"\n")[:lines]) + b"\n")
    assert any("before its brackets are closed" in note for note in found.notes), found.notes
