"""Result tables of database clients: mysql's box, vertical (\\G) and tab-separated, psql's columns.

A loop prints one after the other: each ends before the next one's header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from iodiag.formats.clock import parse_line
from iodiag.formats.context._common import MAX_BLOCK_LINES
from iodiag.formats.types import Line

BORDER = re.compile(r"\+(?:-+\+)+")
STAR = re.compile(r"^\s*\*{10,} ?(\d{1,9})\. row ?\*{10,}\s*$")
_FOOTER = re.compile(r"\(?(\d{1,9}) rows?(?: in set\b.*|\))")
_VERTICAL = re.compile(r"^\s*([A-Za-z@_][\w @.$()*-]{0,62}?):(?: (.*))?$")
_ROW_LINES = 400
_INFO = "info"


class Record(NamedTuple):
    """One row: its cells by the lower-cased words of the header, and its first line."""

    values: Mapping[str, str]
    line: Line


class Records(NamedTuple):
    """A result table: its rows, how many lines it takes, and the number of rows that it claims."""

    rows: list[Record]
    used: int
    claimed: int | None
    layout: str


def boxed(lines: Sequence[Line]) -> Records | None:
    """mysql's default output, from the line with its header on; also when it stands on one line."""
    first = lines[0].text
    begin = first.find("|")
    border = BORDER.search(first, begin) if begin >= 0 else None
    if border:
        return _on_one_line(lines[0], begin, border)
    header = _cells(first)
    if not header:
        return None
    names = [name.lower() for name in header]
    rows: list[Record] = []
    at = used = 1
    while at < min(len(lines), MAX_BLOCK_LINES):
        text = lines[at].text.strip()
        if BORDER.fullmatch(text):
            at += 1
        elif text.startswith("|"):
            cells, taken = _logical_row(lines[at : at + _ROW_LINES], len(names))
            if cells is None or cells == header:
                break
            rows.append(Record(dict(zip(names, _fold(cells, names), strict=False)), lines[at]))
            at += taken
        elif re.fullmatch(r"\|?\s*(?:\.\.\.|…)\s*\|?", text):
            at += 1
        else:
            break
        used = at
    footer = _FOOTER.match(lines[used].text.strip()) if used < len(lines) else None
    return Records(rows, used + bool(footer), int(footer[1]) if footer else None, "table")


def _cells(text: str) -> list[str]:
    stripped = text.strip()
    if len(stripped) < 3 or not (stripped.startswith("|") and stripped.endswith("|")):
        return []
    return [cell.strip() for cell in stripped[1:-1].split("|")]


def _logical_row(lines: Sequence[Line], count: int) -> tuple[list[str] | None, int]:
    """The cells of a row that a statement's line breaks (or a narrow terminal) tore apart."""
    text = ""
    for taken, line in enumerate(lines, 1):
        if taken > 1 and BORDER.fullmatch(line.text.strip()):
            break
        text += (" " if text else "") + line.text.strip()
        cells = _cells(text)
        if len(cells) >= count:
            return cells, taken
        if len(cells) == 1 and cells[0] in ("...", "…"):
            return cells, taken
    return None, 1


def _fold(cells: list[str], names: Sequence[str]) -> list[str]:
    """Cells with those put together that a | inside the statement parted."""
    extra = len(cells) - len(names)
    if extra <= 0 or _INFO not in names:
        return cells
    at = list(names).index(_INFO)
    return [*cells[:at], "|".join(cells[at : at + extra + 1]), *cells[at + extra + 1 :]]


def _on_one_line(line: Line, begin: int, border: re.Match[str]) -> Records | None:
    """A box whose line breaks were lost: `| a | b | +--+--+ | 1 | 2 | | 3 | 4 | +--+--+ 2 rows in set`."""
    names = [name.lower() for name in _cells(line.text[begin : border.start()])]
    end = BORDER.search(line.text, border.end())
    body = line.text[border.end() : end.start() if end else len(line.text)]
    if not names:
        return None
    cells = [cell.strip() for cell in body.split("|")]
    rows: list[Record] = []
    at = 1
    while at + len(names) < len(cells) + (end is None):
        if cells[at] in ("...", "…"):
            at += 1
            continue
        rows.append(Record(dict(zip(names, cells[at : at + len(names)], strict=False)), line))
        at += len(names)
        if at >= len(cells) or cells[at] not in ("", "...", "…"):
            break
        at += 1
    footer = _FOOTER.search(line.text, end.end() if end else len(line.text))
    return Records(rows, 1, int(footer[1]) if footer else None, "flattened")


def vertical(lines: Sequence[Line], keys: frozenset[str]) -> Records | None:
    """The output of \\G, from its first line of stars on. `keys` are the names of columns to expect."""
    rows: list[Record] = []
    used = 0
    values: dict[str, str] = {}
    last = ""
    claimed = None
    for at, line in enumerate(lines[:MAX_BLOCK_LINES]):
        text = line.text
        pair = _VERTICAL.match(text)
        footer = _FOOTER.fullmatch(text.strip())
        if star := STAR.match(text):
            # a collector lists the sessions again and again: each list is of its own moment
            if rows and (not values or int(star[1]) == 1):
                break
            values, last = {}, ""
            rows.append(Record(values, line))
        elif footer:
            claimed, used = int(footer[1]), at + 1
            break
        elif pair and pair[1].lower() in keys and pair[1].lower() not in values:
            last = pair[1].lower()
            values[last] = (pair[2] or "").strip()
        elif last == _INFO and text.strip() and parse_line(text) is None:
            values[last] += " " + text.strip()
        else:
            break
        used = at + 1
    rows = [row for row in rows if row.values]
    return Records(rows, used, claimed, "vertical") if rows else None


def tabbed(lines: Sequence[Line]) -> Records | None:
    """The output of mysql in batch mode, from its header on."""
    names = [name.strip().lower() for name in lines[0].text.split("\t")]
    rows = []
    for line in lines[1:MAX_BLOCK_LINES]:
        cells = line.text.split("\t")
        if len(cells) != len(names) or line.text == lines[0].text:
            break
        rows.append(Record(dict(zip(names, (cell.strip() for cell in cells), strict=True)), line))
    return Records(rows, len(rows) + 1, None, "batch") if len(names) > 1 and rows else None


def aligned(lines: Sequence[Line]) -> Records | None:
    """psql's default output: a header, a rule of - and +, rows of | and a count; from the header on."""
    rule = re.match(r"^\s*-+(?:\+-+)+\s*$", lines[1].text) if len(lines) > 1 else None
    names = [name.strip().lower() for name in lines[0].text.split("|")]
    if not rule or len(names) != rule.string.count("+") + 1:
        return None
    rows = list(_aligned_rows(lines[2:MAX_BLOCK_LINES], names))
    used = 2 + len(rows)
    footer = _FOOTER.fullmatch(lines[used].text.strip()) if used < len(lines) else None
    kept = [row for row in rows if row.values]
    return Records(kept, used + bool(footer), int(footer[1]) if footer else None, "psql")


def _aligned_rows(lines: Sequence[Line], names: Sequence[str]) -> Iterator[Record]:
    """A record per line; the continuation lines of a long cell (`+` at its end) hold no values."""
    is_continued = False
    for line in lines:
        cells = [cell.strip() for cell in line.text.split("|")]
        if len(cells) < len(names) or [cell.lower() for cell in cells] == names:
            return
        last = "|".join(cells[len(names) - 1 :])
        cells = [*cells[: len(names) - 1], last]
        values = {} if is_continued else dict(zip(names, cells, strict=True))
        is_continued = any(cell.endswith("+") for cell in cells)
        yield Record(values, line)
