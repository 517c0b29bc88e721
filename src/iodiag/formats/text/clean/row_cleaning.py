"""What pages, scripts and translators did to lines of a table: times in front of rows, other spellings.

A header tells here, too: a line is respelled only where that makes it one that a format knows, and a time is
taken off a row only where what is left is as wide as the header above it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from iodiag.formats import clock as _clock
from iodiag.formats.text.clean.lines import Piece
from iodiag.formats.text.structure.headers import Header, find_header, is_number, with_right_half
from iodiag.model.capture import UNNAMED

_LONGEST_LINE = 1000
_ROWS_BELOW = 3
_HAS_TIME = re.compile(r"\d:\d\d")
_GLUED_TIME = re.compile(r"(\s*[\[(<][^\[\]()<>]{0,40}\d:\d\d(?::\d\d)?[^\[\]()<>]{0,12}[\])>])(?=\S)")
_HALF_IN_FRONT = re.compile(
    r"(?P<half>上午|午前|오전|下午|午後|오후)\s*(?P<hour>\d{1,2})[:時时시]\s?(?P<minute>\d\d)[:分분]\s?(?P<second>\d\d)[秒초]?"
)
_AFTER_NOON = ("下午", "午後", "오후")
_SPELLINGS = (
    (re.compile(r"%\s+(?=[a-z])"), "%"),
    (re.compile(r"(?<=\w)\s*/\s+(?=s\b)|(?<=\w)\s+/(?=s\b)"), "/"),
)
_CAPTION = re.compile(
    r"\s*(?:[-#\[(<]*(?:date|day|time|timestamp|datetime|clock|utc)[-\])>:]*\s+){1,3}", re.I
)
_SMALL = re.compile(r"^device\b")
_CAPITAL = re.compile(r"(?<!\S)%[A-Z][a-z]+(?!\S)")
_WIDTHS_OF_VMSTAT = {16: 4, 17: 5, 18: 5}
"""Columns of a row of vmstat, and how many of them share the CPU's time (the guests' is a part of us)."""

_FEWEST_SPLIT = 2
_FIRST_WORDS = (("Device", UNNAMED), ("CPU", "all"))
"""What heads the items of a table, and whose a single row without an item is."""
_FEWEST_HEADING = 5


def respelled(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Lines with halves of the day behind the time, and headers as their tools spell them."""
    return [_respelled(piece) for piece in pieces]


def _respelled(piece: Piece) -> Piece:
    text = piece.text
    if len(text) > _LONGEST_LINE:
        return piece
    if not text.isascii() and _HALF_IN_FRONT.search(text):
        text = _HALF_IN_FRONT.sub(_half_behind, text)
    if "%" in text or " /" in text or "/ " in text:
        text = _header_respelled(text)
    if caption := _CAPTION.match(text):
        text = _without_caption(text, caption.end())
    return piece._replace(text=text)


def _half_behind(match: re.Match[str]) -> str:
    half = "PM" if match["half"] in _AFTER_NOON else "AM"
    return f"{int(match['hour']):02d}:{match['minute']}:{match['second']} {half}"


def _header_respelled(text: str) -> str:
    """The line as the tool spells it, where only that is a header without a word that nobody knows."""
    changed = text
    for pattern, instead in _SPELLINGS:
        changed = pattern.sub(instead, changed)
    changed = _CAPITAL.sub(lambda match: match[0].lower(), changed)
    if changed == text:
        return text
    header, other = find_header(text.split()), find_header(changed.split())
    if other is None or other.layout.unknown:
        return text
    # a sign apart from its name ends the header: what follows would be a remark
    is_more = (
        header is None or header.layout.unknown or len(header.layout.columns) < len(other.layout.columns)
    )
    return changed if is_more else text


def _without_caption(text: str, end: int) -> str:
    """The header without what a script wrote above the times of its rows, where the rest is a header."""
    rest = _SMALL.sub("Device", text[end:])
    if is_number(text.split()[-1]):
        return text
    header, other = find_header(text.split()), find_header(rest.split())
    is_known = other is not None and not other.layout.unknown
    return " " * end + rest if is_known and (header is None or header.layout.unknown) else text


def headed(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Headers that lost their first word with it again, and the only row below, where that lost its item.

    Several rows without their items are of nobody knows whom: they stay as they are. So does the right half
    of a table that was cut in two, whose header goes on with the one above.
    """
    result = [*pieces]
    left: tuple[str, ...] = ()
    for n, piece in enumerate(pieces):
        words = piece.text.split() if "/s" in piece.text or "%" in piece.text else []
        if not _FEWEST_HEADING <= len(words) <= _LONGEST_LINE or is_number(words[-1]):
            continue
        if left and with_right_half(left, words) is not None:
            continue
        if (header := find_header(words)) is not None:
            left = tuple(words[header.lead_tokens :]) if header.layout.key is not None else ()
            continue
        found = next((first for first in _FIRST_WORDS if _lacks(words, first[0])), None)
        below = [m for m in range(n + 1, min(n + 1 + _ROWS_BELOW, len(pieces))) if pieces[m].text.strip()]
        if found is None or not below:
            continue
        rows = [pieces[m].text[:_LONGEST_LINE].split() for m in below]
        numbers = [len(row) == len(words) and all(map(is_number, row)) for row in rows]
        is_named = len(rows[0]) == len(words) + 1 and not is_number(rows[0][0])
        if numbers[0] and not any(numbers[1:]):
            result[below[0]] = pieces[below[0]]._replace(text=f"{found[1]} {pieces[below[0]].text.lstrip()}")
        elif not (is_named and all(map(is_number, rows[0][1:]))):
            continue
        result[n] = piece._replace(text=f"{found[0]} {piece.text.lstrip()}")
    return result


def _lacks(words: Sequence[str], first: str) -> bool:
    """Whether a word in front of a line that is no header makes it a whole one."""
    whole = find_header([first, *words])
    return whole is not None and not (whole.layout.unknown or whole.layout.is_cut)


def unstamped(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Rows without the time that a script put in front of them, below a header that has none.

    A time stands in front of every row down to the next header, or it is none.
    """
    result: list[Piece] = []
    header: Header | None = None
    for n, piece in enumerate(pieces):
        words = piece.text.split() if len(piece.text) <= _LONGEST_LINE else []
        found = find_header(words) if words and not is_number(words[-1]) else None
        if found is not None:
            header = found if _is_stamped(found, pieces[n + 1 : n + 1 + _ROWS_BELOW]) else None
        elif header and words and (end := _stamp_length(header, piece.text, _text_at(pieces, n + 1))):
            stamp = _clock.find_stamp(piece.text[:end])
            piece = piece._replace(text=piece.text[end:], stamp=stamp or piece.stamp)
        result.append(piece)
    return result


def _is_stamped(header: Header, below: Sequence[Piece]) -> bool:
    """Whether the first row below a header of a table without times begins with one."""
    if header.layout.clock not in ("none", "line") or header.layout.key_at == "last":
        return False
    rows = [n for n, piece in enumerate(below) if any(map(is_number, piece.text[:_LONGEST_LINE].split()))]
    # above it stands the rest of a wrapped header
    return bool(rows) and _stamp_length(header, below[rows[0]].text, _text_at(below, rows[0] + 1)) > 0


def _text_at(pieces: Sequence[Piece], place: int) -> str:
    return pieces[place].text if place < len(pieces) else ""


def _stamp_length(header: Header, text: str, following: str) -> int:
    """How many characters of a time stand in front of a row; 0 where the rest is no row of the header.

    `following` is the line below, on which a wrapped row goes on.
    """
    if len(text) + len(following) > _LONGEST_LINE:
        return 0
    layout = header.layout
    width = len(layout.columns) + (layout.key is not None)
    rest = following.split()
    if layout.key is not None and rest and len(text.split()) <= width and all(map(is_number, rest)):
        text = f"{text} {following}"
    glued = _GLUED_TIME.match(text)
    begin = glued.end() if glued else 0
    words = [*re.finditer(r"\S+", text[begin:])]
    extra = len(words) - width
    if extra < 0 or (not glued and not 0 < extra <= 6):
        return 0
    end = begin + words[extra].start()
    cells = [match[0] for match in words[extra + (layout.key is not None) :]]
    is_row = all(map(is_number, cells)) and not (layout.key is not None and is_number(words[extra][0]))
    has_time = bool(_HAS_TIME.search(text[:end]) or _clock.EPOCH_STAMP.search(text[:end]))
    stamp = _clock.find_stamp(text[:end]) if is_row and has_time else None
    # behind a date a row with a name is read as it is
    return end if stamp is not None and (layout.key is None or stamp.day is None) else 0


def unglued(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Rows that lost the line feeds between them, each on a line, where all of a line is whole rows."""
    result: list[Piece] = []
    width = 0
    for piece in pieces:
        words = piece.text.split() if len(piece.text) <= _LONGEST_LINE else []
        if words and not is_number(words[-1]) and (header := find_header(words)) is not None:
            layout = header.layout
            is_plain = layout.key is not None and layout.key_at == "first" and layout.clock != "row"
            width = 1 + len(layout.columns) if is_plain else 0
        elif width and len(words) > width and len(words) % width == 0:
            rows = [words[n : n + width] for n in range(0, len(words), width)]
            if all(not is_number(row[0]) and all(map(is_number, row[1:])) for row in rows):
                result += [piece._replace(text="  ".join(row)) for row in rows]
                continue
        result.append(piece)
    return result


def rejoined(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Rows of vmstat that a mail program split over two lines each, whole again.

    Two lines of whole numbers are a row where they make as many as vmstat prints and the last of them, the
    shares of the CPU's time, add up to 100; several such pairs have to follow each other.
    """
    starts = {n for n, (one, other) in enumerate(pairwise(pieces)) if _is_split(one.text, other.text)}
    chosen = {n for n in starts if sum(n + 2 * step in starts for step in (-1, 0, 1)) >= _FEWEST_SPLIT}
    result: list[Piece] = []
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        if at in chosen:
            other = pieces[at + 1]
            span = other.number + other.span - piece.number
            piece = piece._replace(text=f"{piece.text.rstrip()} {other.text.strip()}", span=span)
        result.append(piece)
        at += 1 + (at in chosen)
    return result


def _is_split(one: str, other: str) -> bool:
    if not one or not other or len(one) + len(other) > _LONGEST_LINE:
        return False
    first, rest = one.split(), other.split()
    shares = _WIDTHS_OF_VMSTAT.get(len(first) + len(rest), 0)
    if not shares or not 0 < len(rest) < 8 or not all(word.isdecimal() for word in (*first, *rest)):
        return False
    values = [int(word[:12]) for word in (*first, *rest)]
    shown = values[-shares - 1 : -1] if len(values) == 18 else values[-shares:]
    # a time below a whole row is no share
    return abs(sum(shown) - 100) <= 1 and values[-1] <= 100
