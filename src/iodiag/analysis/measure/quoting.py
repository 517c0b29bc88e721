"""Rows of an input to quote: whole where they were wrapped, and with the header of their columns."""

from __future__ import annotations

import re
from collections.abc import Iterator

from iodiag.model.capture import Source
from iodiag.model.cited_cells import cited_cells
from iodiag.model.finding import Quote, cells

LINES_ABOVE = 2000
"""How far above a row its header is searched; a report of many disks is long."""

LONGEST_HEADER = 1000
_NUMBER = re.compile(r"[-+]?\d[\d.,]*%?$|nan$|-$")
_CLOCK = re.compile(r"\d\d?:\d\d|[AP]M$")


def quote(source: Source, line: int) -> Quote:
    """The row at a 1-based line, as `Quote` has it."""
    if (found := _of_wrapped_vmstat(source, line)) is not None:
        return found
    if (found := _of_wrapped_device(source, line)) is not None:
        return found
    text = _whole(source, line)
    return Quote(source.name, line, text, _header(source, line, text))


def places_told(source: Source, line: int, sentence: str) -> tuple[int, ...]:
    """The lines of the row that begins at a line that hold what a sentence tells, in their order.

    iostat -h -x spreads a device's row over several tables, /proc/pressure its averages over several lines.
    """
    first = quote(source, line)
    if _PRESSURE.search(first.text):
        return tuple(_of_pressure(source, line))
    parts = [first, *_other_parts(source, first)]
    told = [part.line for part in parts if _has_told(part, sentence)]
    return tuple(told) or (line,)


def _has_told(part: Quote, sentence: str) -> bool:
    values = cells(part.text)
    return any(values[at].strip("0.,%k") for at in cited_cells(cells(part.header), values, (sentence,)))


def _other_parts(source: Source, first: Quote) -> Iterator[Quote]:
    """The rows of a device in the tables below that of its reads, up to the next report."""
    names, values = cells(first.header), cells(first.text)
    if names[-1:] != ["Device"] or "r/s" not in names or "w/s" in names:
        return
    for line in range(first.line + 1, first.line + LINES_ABOVE):
        words = cells(source.quote(line))
        if words == names or words[:1] == ["avg-cpu:"]:
            return
        if words[-1:] == values[-1:] and _is_number(words[0]):
            yield quote(source, line)


def _of_pressure(source: Source, line: int) -> Iterator[int]:
    """The lines with averages from one on, with no other between them but blank ones and paths."""
    for at in range(line, line + _MOST_OF_PRESSURE):
        text = source.quote(at)
        if _PRESSURE.search(text):
            yield at
        elif len(text.split()) > 1 and "pressure" not in text:
            return


_PRESSURE = re.compile(r"\b(some|full) avg10=")
_MOST_OF_PRESSURE = 16
"""Lines of a sample of /proc/pressure: two of each of three files, paths and blank lines."""


def _of_wrapped_vmstat(source: Source, line: int) -> Quote | None:
    """A row of vmstat that was split over two lines, and the header, which may be as well; else None."""
    values = cells(source.quote(line))
    if not values or not all(map(str.isdecimal, values)):
        return None
    # rows whose own header is cut off have that of those below
    near = (*range(line - 1, max(0, line - 1 - LINES_ABOVE), -1), *range(line + 1, line + LINES_ABOVE))
    at = next((at for at in near if cells(source.quote(at))[:3] == ["r", "b", "swpd"]), 0)
    header, below = source.quote(at).rstrip(), cells(source.quote(at + 1))
    if not any(map(_is_number, below)):
        header = " ".join((header, *below))
    rest = cells(source.quote(line + 1))
    if not at or not rest or len(values) + len(rest) != len(cells(header)) or not all(map(_is_number, rest)):
        return None
    return Quote(source.name, line, " ".join((source.quote(line).rstrip(), *rest)), header)


def _of_wrapped_device(source: Source, line: int) -> Quote | None:
    """A device's row that mail has split over two lines, and its header, mostly split as well; else None."""
    text = _joined(source, line)
    values = cells(text)
    if not values or _is_number(values[0]) or not all(map(_is_number, values[1:])):
        return None
    if len(values) == len(cells(source.quote(line))):
        return None
    for at in range(line - 1, max(0, line - 1 - LINES_ABOVE), -1):
        for header in (source.quote(at).rstrip(), _joined(source, at)):
            names = cells(header)
            if len(names) == len(values) and not any(map(_is_number, names)):
                return Quote(source.name, line, text, header if len(header) <= LONGEST_HEADER else "")
    return None


def _joined(source: Source, line: int) -> str:
    """A line with the one below it; quoted-printable mail ends those that go on in `=`."""
    first, rest = source.quote(line).rstrip(), " ".join(cells(source.quote(line + 1)))
    return first[:-1] + rest if first.endswith("=") else f"{first} {rest}".rstrip()


def _whole(source: Source, line: int) -> str:
    """The row with the name that stands alone on the line above, where old iostat breaks the line."""
    text = source.quote(line)
    above = source.quote(line - 1).rstrip() if line > 1 and text[:1].isspace() else ""
    if len(above.split()) != 1 or above[:1].isspace() or _is_number(above) or above.endswith(":"):
        return text
    room = len(text) - len(text.lstrip())
    return above + (text[len(above) :] if room > len(above) else f" {text.lstrip()}")


def _header(source: Source, line: int, row: str) -> str:
    """The nearest line above that names as many columns as the row has values; "" without any."""
    values = cells(row)
    count = len(values)
    if sum(map(_is_number, values)) < 2:
        return ""
    for at in range(line - 1, max(0, line - 1 - LINES_ABOVE), -1):
        text = source.quote(at)
        words = cells(text)
        if not words or _is_number(words[-1]):
            continue
        names = [word for word in words if not _CLOCK.match(word)]
        # `avg-cpu:` stands before the names of columns, and no value below it
        fits = len(words) == count or (len(words) == count + 1 and words[0].endswith(":"))
        if fits and len(names) > 1 and not any(map(_is_number, names)):
            return text if len(text) <= LONGEST_HEADER else ""
    return ""


def _is_number(word: str) -> bool:
    return _NUMBER.match(word) is not None
