"""A capture that was pasted onto one line, laid out again: headers, rows, and what is around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from iodiag.formats import clock as _clock
from iodiag.formats.text.clean.lines import Piece
from iodiag.formats.text.structure.headers import Header, find_header, is_number, label_sizes

_SHORTEST_LINE = 150
_FEWEST_ESCAPES = 3
_MOST_HEADER_WORDS = 40
_LONGEST_LINE = 32 << 20  # its words and lines take many times its letters
_MOST_ATTEMPTS = 5000  # to find a header in vain, over a whole text
_FIRST_WORDS = frozenset(("Device", "Device:", "avg-cpu:", "r", "tps", "r/s", "w/s", "d/s", "f/s", "aqu-sz"))
# a clock has two digits an hour, and sysstat prints two behind a point
_GLUED = re.compile(
    r"(?<=[a-z)\d%])(?=\d\d:\d\d:\d\d\s)|(?<=CPU\))(?=\S)|(?<=\d)(?=Linux\s\S+\s+\()"
    r"|(?<=\d\.\d\d)(?=[A-Za-z][\w-]+:?\s)|(?<=%util|%idle)(?=[A-Za-z])"
)
_FEWEST_GLUED, _MOST_GLUED = 2, 1 << 20
_SPLIT = re.compile(r"(?<=\S)\s+(?=Linux\s\S+\s+\(|-*procs\s)|(?<=CPU\))\s+(?=\S)")


def unflattened(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Long lines that hold whole tables, as the lines that they once were."""
    result: list[Piece] = []
    attempts_left = _MOST_ATTEMPTS
    for piece in pieces:
        lines: list[str] = []
        is_flat = _SHORTEST_LINE < len(piece.text) <= _LONGEST_LINE
        if is_flat and not (lines := _unescaped(piece.text)):
            # one or two line feeds that were written as two characters each end lines as well
            words = _unglued(piece.text).replace("\\n", " ").split()
            lines, attempts = _laid_out(words, attempts_left)
            attempts_left -= attempts
        result += [piece._replace(text=line) for line in lines] if len(lines) > 1 else [piece]
    return result


def _unglued(text: str) -> str:
    """A text whose line ends were lost without a blank: `99.8006:48:35`, `(2 CPU)avg-cpu:`, `%utilsda`."""
    return _GLUED.sub(" ", text) if len(_GLUED.findall(text[:_MOST_GLUED])) >= _FEWEST_GLUED else text


def _unescaped(text: str) -> list[str]:
    """The lines of a string as JSON or a shell writes it, its line feeds two characters each."""
    if text.count("\\n") < _FEWEST_ESCAPES:
        return []
    return text.replace("\\r\\n", "\\n").replace("\\t", "\t").split("\\n")


def _laid_out(words: list[str], most: int) -> tuple[list[str], int]:
    """The lines in a run of words, and how often a header was looked for in vain (`most` at the most).

    No lines where no header with a row below it stands among the words.
    """
    lines: list[str] = []
    held = at = attempts = 0
    # a header that stands alone has many words that others begin with
    if not any(map(is_number, words)):
        return [], 0
    while at < len(words) and attempts < most:
        header, size = None, 0
        if _may_begin(words, at):
            header, size = _header_at(words, at)
        rows = list(_rows(words, at + size, header)) if header else []
        if not rows:
            attempts += _may_begin(words, at)
            at += 1
            continue
        lines += [*_around(words[held:at]), " ".join(words[at : at + size]), *map(" ".join, rows)]
        at = held = at + size + sum(map(len, rows))
    return ([*lines, *_around(words[held:])] if lines else []), attempts


def _may_begin(words: list[str], at: int) -> bool:
    """Whether a header may begin at a word."""
    if words[at] in _FIRST_WORDS:
        return words[at] != "r" or words[at + 1 : at + 2] == ["b"]
    return words[at][0].isdigit() and words[at][-1].isdigit() and _clock.parse_time(words[at]) is not None


def _header_at(words: list[str], at: int) -> tuple[Header | None, int]:
    """The longest header that begins at a word, and how many words it has."""
    lead = _clock.leading_time(words[at : at + 4])[1]
    some = words[at : at + _MOST_HEADER_WORDS]
    end = next((n for n, word in enumerate(some) if n >= lead and is_number(word)), len(some))
    for size in range(end, lead + 1, -1):
        header = find_header(some[:size])
        if header is not None and not (header.layout.unknown or header.layout.is_cut):
            return header, size
    return None, 0


def _rows(words: list[str], at: int, header: Header) -> Iterator[list[str]]:
    """The rows that follow a header: a clock or label where it has one, the item, the values."""
    layout = header.layout
    size = len(layout.columns) + (layout.key is not None) + 2 * (layout.clock == "tail")
    while at < len(words):
        lead = 0
        if layout.clock == "row":
            leads = [_clock.leading_time(words[at : at + 4])[1], *label_sizes(words[at : at + 4])]
            lead = next((taken for taken in leads if taken), 0)
        row = words[at : at + lead + size]
        cells = row[lead:]
        if layout.key is not None:
            cells = cells[:-1] if layout.key_at == "last" else cells[1:]
        cells = cells[: len(layout.columns)]
        if len(row) < lead + size or (layout.clock == "row" and not lead) or not all(map(is_number, cells)):
            return
        yield row
        at += len(row)


def _around(words: list[str]) -> list[str]:
    """The words between tables as lines: banners, commands and clocks apart from what is around them."""
    if not words:
        return []
    for taken in range(min(len(words), 6), 0, -1):
        tail = " ".join(words[-taken:])
        if _clock.parse_line(tail) is not None:
            return [*_SPLIT.split(" ".join(words[:-taken])), tail]
    return _SPLIT.split(" ".join(words))
