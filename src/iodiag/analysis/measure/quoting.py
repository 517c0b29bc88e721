"""Rows of an input to quote: whole where they were wrapped, and with the header of their columns."""

from __future__ import annotations

import re

from iodiag.model.capture import Source
from iodiag.model.finding import Quote, cells

LINES_ABOVE = 2000
"""How far above a row its header is searched; a report of many disks is long."""

LONGEST_HEADER = 1000
_NUMBER = re.compile(r"[-+]?\d[\d.,]*%?$|nan$|-$")
_CLOCK = re.compile(r"\d\d?:\d\d|[AP]M$")


def quote(source: Source, line: int) -> Quote:
    """The row at a 1-based line, as `Quote` has it."""
    text = _whole(source, line)
    return Quote(source.name, line, text, _header(source, line, text))


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
