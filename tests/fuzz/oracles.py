"""What must hold of any input, however hostile: the account of lines, addresses of rows, no other numbers."""

from __future__ import annotations

import html
import quopri
import re
from collections.abc import Iterator, Mapping
from itertools import islice, pairwise

import numpy as np

from iodiag.model.capture import Capture, Source
from iodiag.model.columns import KEY_COLUMNS, KEYS

_SAMPLED = 6
_QUOTING = re.compile(r"\s*(?:>\s?)+|\A\+")
"""What mail and a patch write in front of each line."""
_LOGGED = re.compile(r"[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S+ \S+ ")
"""What a log writes in front of each line."""
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_UNSEEN = dict.fromkeys(map(ord, "\u200b\u200e\u200f\u2060\ufeff"))
"""Marks that take no place on a page, and that stand in a number when they were copied from one."""
_MARKUP = re.compile(r"<[^<>]*>|\[/?[a-z]+\]|\*\*|\\(?=[_%*#\[\]<>|`~+.-])|[^\x08]\x08")
_NUMBER = re.compile(r"([-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+))([kKMGTPB%]?)")
_THOUSANDS = re.compile(r"(?<=\d)\s+(?=\d{3}(?!\d))")
_GROWN = re.compile(r"(?<=\.\d\d)(?=\d+\.\d\d)")
"""Where two numbers of two decimals lost the blank between them."""
_SUFFIX = {
    "": 1.0,
    "B": 1.0,
    "%": 1.0,
    "k": 1024.0,
    "K": 1024.0,
    "M": 1024.0**2,
    "G": 1024.0**3,
    "T": 1024.0**4,
}
_SUFFIX["P"] = 1024.0**5
# sectors, kilobytes, megabytes, bytes, pages and seconds, to the units of the tables
_FACTORS = (1.0, 0.5, 2.0, 4.0, 1024.0, 1 / 1024, 1000.0, 1e-3, 1e-6, 512.0, 1 / 8, 0.125 * 1000, 1024.0**2)
# these the reader adds up or takes a difference of (the contract's one meaning of the CPU columns, counters)
_MADE = {"user_pct", "nice_pct", "system_pct", "clock_s"}
_PRINTED = ("disk", "queue", "paging", "swapping", "io", "cpu")
_AS_PRINTED = {"iostat", "sar", "vmstat", "mpstat"}
_PARTS = 13


def solid_lines(data: bytes) -> int:
    """How many lines of a text hold more than blanks."""
    lines = data.split(b"\n") if b"\n" in data else data.split(b"\r")
    return sum(bool(line.translate(None, b"\0\t\r ")) for line in lines)


def check_ledgers(capture: Capture) -> None:
    """The classes of each ledger sum to the lines that are not blank."""
    for ledger in capture.ledgers:
        source = capture.sources[ledger.source]
        assert all(count > 0 for count in ledger.counts.values()), ledger
        assert ledger.total == solid_lines(source.data), f"{ledger} of {solid_lines(source.data)} lines"


def check_rows(capture: Capture) -> None:
    """Every row of a table points at a line of its source, and that line holds its values.

    Values are looked for where a tool prints them as they are: tables of iostat, sar, vmstat and mpstat.
    """
    formats = {section.format for section in capture.sections if not section.is_context}
    for tables in (capture.tables, capture.averages):
        for family, table in tables.each():
            is_printed = family in _PRINTED and formats <= _AS_PRINTED and "disk_counters" not in tables
            named = [n for n in table.names if is_printed and n not in KEYS and n not in _MADE]
            arrays = {n: table[n] for n in named if isinstance(table[n], np.ndarray)}
            columns = {name: array for name, array in arrays.items() if array.dtype.kind == "f"}
            for place in range(0, len(table), max(len(table) // _SAMPLED, 1)):
                values = {name: column[place] for name, column in columns.items()}
                source = capture.sources[str(table["source"][place])]
                _check_row(source, int(table["line"][place]), values)


def _check_row(source: Source, line: int, values: Mapping[str, float]) -> None:
    if source.pos_unit == "byte":
        assert 0 <= line < len(source.data), f"byte {line} of {len(source.data)}"
        return
    text = source.quote(line)
    assert text.strip(" \t\0\r"), f"line {line} is blank or not there"
    known = {name: value for name, value in values.items() if value == value}
    if known:
        numbers = [number for part in _readings(source, line, len(known)) for number in _numbers(part)]
        for name, value in known.items():
            assert _stands_among(value, numbers), f"{name} = {value!r} is not in line {line}: {text[:300]!r}"


def _readings(source: Source, line: int, count: int) -> Iterator[str]:
    """What may stand on a line: its text, and what it was before mail or a terminal broke it."""
    text = source.quote(line)
    below = [_QUOTING.sub("", source.quote(number)) for number in range(line, line + _PARTS)]
    yield text
    for count_of_parts in (2, 3, 4):
        yield "".join(below[:count_of_parts])
        yield "".join(_LOGGED.sub("", part) for part in below[:count_of_parts])
    yield source.quote(line - 1) + _QUOTING.sub("", text)
    yield _COLOUR.sub("", text)
    yield _plain(text)
    yield text.translate(_UNSEEN)
    yield text.replace("\\n", "")
    yield _THOUSANDS.sub("", text)
    yield _GROWN.sub(" ", text)
    if "=" in text:
        yield quopri.decodestring("\n".join(below[:4]).encode()).decode("utf-8", "replace")
    if len(_NUMBER.findall(text)) < count or text.split()[-1][0].isalpha():
        # printed in parts, with the name at the end: the other parts stand around it
        around = [*reversed(_solid(source, range(line - 1, 0, -1))), *_solid(source, range(line, line + 99))]
        yield from around
        yield from map(_plain, around)
        yield from map("".join, pairwise(around))


def _plain(text: str) -> str:
    """A line without what a page or a terminal adds to it."""
    return _MARKUP.sub("", html.unescape(text)).replace("\0", "")


def _solid(source: Source, numbers: range) -> list[str]:
    """The nearest lines that are not blank."""
    solid = (text for number in numbers if (text := source.quote(number)).strip(" \t\0\r"))
    return list(islice(solid, _PARTS))


def _numbers(text: str) -> Iterator[float]:
    for match in _NUMBER.finditer(text):
        digits = match[1].replace(",", ".")
        yield float(digits)
        if match[2]:
            yield float(digits) * _SUFFIX[match[2]]


def _stands_among(value: float, numbers: list[float]) -> bool:
    return any(
        abs(number * factor - value) <= 1e-6 * abs(value) + 1e-9 for number in numbers for factor in _FACTORS
    )


_OF_TIME = {"interval_s", "clock_s"}
_OF_LINES = {"alike"}
"""What counts lines of the input: more of them stand there when some are repeated."""
Reading = tuple[str, tuple[str, ...], frozenset[tuple[str, float]]]


def rows_read(capture: Capture) -> set[Reading]:
    """Every row of a capture: its table, what names it, and its numbers but the length of the sample.

    The sum of a sample's processes is left out: its parts are compared, and nothing tells that one is lost.
    """
    found: set[Reading] = set()
    for family, frame in capture.tables.items():
        kinds = {name: frame[name].dtype.kind for name in frame.columns}
        named = {*KEYS, KEY_COLUMNS.get(family)} - _PLACES
        words = [n for n in frame.columns if kinds[n] not in "fiubmM" and n in named]
        numbers = [name for name in frame.columns if kinds[name] == "f" and name not in _OF_TIME | _OF_LINES]
        for row in frame.to_dict("records"):
            # a report that has lost its rows may be one of -z: its devices are taken for idle, and marked so
            if (family == "process" and row["pid"] == "all") or row.get("is_omitted") is True:
                continue
            known = frozenset((n, round(row[n], 6)) for n in numbers if row[n] == row[n])
            # decimal commas reach names as well
            found.add((family, tuple(str(row[name]).replace(",", ".") for name in words), known))
    return found


_PLACES = {"source", "host", "time", "clock"}


_MOST_ALTERED = 2
"""Rows whose numbers or names change with two numbers of the input."""
_MOST_CELLS = 3
_COMPUTED = {"sadf-raw": 8, "vmstat-disk": 8, "mpstat": 3, "mpstat-json": 3, "sar": 3, "pt-diskstats": 4}
"""Formats of which a number is part of several, and of how many."""


def _undirected(known: frozenset[tuple[str, float]]) -> set[tuple[str, float]]:
    """Numbers by what they count, of either direction: its part has the columns of the others' parts."""
    return {(re.sub(r"^(?:read|write|discard)s?_", "", name), value) for name, value in known}


def check_no_other_rows(
    undamaged: tuple[set[Reading], set[str]], damaged: Capture, is_altered: bool = False
) -> None:
    """A reading of damaged input has rows of the undamaged one, or parts of them, or says what is wrong.

    `undamaged` are the rows of that one, and what its notes say. Where digits and letters were altered
    (`is_altered`), some rows may differ in few numbers or in their names.
    """
    whole, said = undamaged
    if {note.reason for note in damaged.notes} - said or any(
        ledger.counts.get("unread") for ledger in damaged.ledgers
    ):
        return
    # what is printed in parts, each a line with the name at its end, has rows of lines that may change places
    is_in_parts = any(", part " in section.layout for section in damaged.sections)
    # so has a mount, whose calls, reads and writes stand in lines of their own
    is_in_parts |= any(section.format == "nfsiostat" for section in damaged.sections)
    most = max((_COMPUTED.get(section.format, 0) for section in damaged.sections), default=0)
    other_rows = rows_read(damaged) - whole
    for row in other_rows:
        family, words, known = row
        if is_altered and len({(kind, names) for kind, names, _ in other_rows}) <= 2 * _MOST_ALTERED:
            near = (numbers for other, names, numbers in whole if family == other)
            if any(len(known ^ numbers) <= 2 * (_MOST_CELLS + most) for numbers in near):
                continue
        alike = [numbers for other, names, numbers in whole if family == other and words == names]
        if family == "events" and re.fullmatch(r"(?:\d+:){3}\d+", words[0]):
            continue  # the line that tells which disk this address is was lost
        is_of_lines = is_in_parts and _undirected(known) <= _undirected(frozenset().union(*alike))
        assert is_of_lines or any(known <= numbers or numbers <= known for numbers in alike), row
