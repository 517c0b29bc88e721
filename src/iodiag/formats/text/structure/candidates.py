"""The lines of a text that may be structure, picked out without looking at every line."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from iodiag.formats.text.clean.lines import LONGEST_LINE, Bools, Ints, Text
from iodiag.formats.text.rows.runs import factorized
from iodiag.formats.text.structure.headers import is_number, numeric_share

_FEW_LINES = 20_000
_LONGEST_CLOCK = 40
_TAIL = 8
_STRETCH = 1 << 19
_AT_ONCE = 1 << 15  # lines whose ends stay in a processor's cache

_NUMBERS_FOLLOW = re.compile(rb"\d\S{0,30}[ \t]+(?:[AP]M[ \t]+)?\d[\d.,]*[ \t]+\d[\d.,]*[ \t]")

_ONES = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_LAST_BYTE = np.uint64(56)
_MARKS = np.frombuffer(b" COM \0\0\0\tCOM \0\0\0", dtype="<u8")
_MARK_BYTES = np.uint64(0xFFFFFFFFFF)


def candidates(text: Text) -> Ints:
    """Indices of the lines that may be structure; a superset, and all solid lines of a short text.

    In a long text a line is left out when the line above is not blank and either a line with the
    same first eight bytes is row-like (its second token is a number), or it begins with a digit, has
    three tokens or more, and has numbers next or no letter, slash or per cent sign in its last eight
    bytes: headers always end in a word. A comment of sar, which may end in anything, is found by its COM.
    """
    if len(text) <= _FEW_LINES:
        return np.flatnonzero(~text.is_blank)
    may_be = np.concatenate(([True], text.is_blank[:-1]))
    is_digit = (text.heads & np.uint64(0xFF)) - np.uint64(48) < 10
    others = np.flatnonzero(~(is_digit | text.is_blank))
    codes, first = factorized(text.heads[others])
    looks = [not _is_row_like(text.line(index)) for index in others[first].tolist()]
    may_be[others] |= np.array(looks, dtype=np.bool_)[codes]
    digits = np.flatnonzero(is_digit & ~may_be)
    parts = (digits[first : first + _AT_ONCE] for first in range(0, len(digits), _AT_ONCE))
    for part in parts:
        may_be[part] = _needs_look(text, part)
    if not may_be[digits].all():
        may_be[list(_comments(text))] = True
    return np.flatnonzero(may_be & ~text.is_blank)


def _is_row_like(line: str) -> bool:
    """Whether numbers follow a line's first word."""
    words = line[:LONGEST_LINE].split()
    return len(words) > 2 and numeric_share(words[1:]) >= 0.8


def _needs_look(text: Text, lines: Ints) -> Bools:
    """Which of some lines that begin with a digit may be a clock or a header."""
    if len(text.data) < _TAIL:
        return np.ones(len(lines), dtype=np.bool_)
    ends = text.ends[lines]
    sizes = ends - text.starts[lines]
    # of a line shorter than that, which is looked at
    tails = text.eights[np.maximum(ends - _TAIL, 0)]
    result = _has_word(tails)
    # rows may end in a name: that of a file system, or of a device with sar -p
    ending_in_words = np.flatnonzero(result)
    result[ending_in_words] = _lacks(text, lines[ending_in_words], _NUMBERS_FOLLOW)
    short = np.flatnonzero(~result & (sizes <= _LONGEST_CLOCK))
    result[short] = ~_has_three_words(text, lines[short])
    result |= sizes < _TAIL
    for place in np.flatnonzero(~result & (tails >> _LAST_BYTE <= ord(" "))).tolist():
        words = text.words(int(lines[place]))
        result[place] = len(words) < 3 or not is_number(words[-1])
    return result


def _lacks(text: Text, lines: Ints, beginning: re.Pattern[bytes]) -> list[bool]:
    """Which lines do not begin as a pattern says."""
    edges = zip(text.starts[lines].tolist(), text.ends[lines].tolist(), strict=True)
    return [not beginning.match(text.data, first, last) for first, last in edges]


def _has_three_words(text: Text, lines: Ints) -> Bools:
    """Which of some short lines are three words or more and nothing odd."""
    result = np.zeros(len(lines), dtype=np.bool_)
    starts = text.starts[lines]
    # those at the very end are looked at
    inside = np.flatnonzero(starts <= len(text.data) - _LONGEST_CLOCK)
    chars = text.windows(_LONGEST_CLOCK)[starts[inside]]
    is_own = np.arange(_LONGEST_CLOCK) < (text.ends[lines[inside]] - starts[inside])[:, None]
    is_solid = (chars > ord(" ")) & is_own
    begins = np.count_nonzero(is_solid[:, 1:] & ~is_solid[:, :-1], axis=1)
    is_odd = ((chars < ord(" ")) & (chars != ord("\t")) & is_own).any(axis=1)
    result[inside] = is_solid[:, 0] & (begins >= 2) & ~is_odd
    return result


def _has_word(eights: npt.NDArray[np.uint64]) -> Bools:
    """Whether eight bytes hold a letter (or anything behind it), a slash or a per cent sign."""
    found = (eights + np.uint64(0x80 - ord("A")) * _ONES) | eights
    for sign in "/%":
        # the lowest byte that is the sign, and no other below it, borrows from its highest bit
        other = eights ^ (np.uint64(ord(sign)) * _ONES)
        found |= (other - _ONES) & ~other
    result: Bools = (found & _HIGH_BITS) != 0
    return result


def _comments(text: Text) -> Iterator[int]:
    """The lines that hold the COM of a comment."""
    last = len(text.eights) - 1
    for begin in range(0, last + 1, _STRETCH):
        at = begin + np.flatnonzero(text.bytes[begin : begin + _STRETCH] == ord("C"))
        marks = text.eights[np.clip(at - 1, 0, last)] & _MARK_BYTES
        for place in at[(marks == _MARKS[0]) | (marks == _MARKS[1])].tolist():
            yield int(np.searchsorted(text.ends, place))
