"""The lines of a text that may be structure, picked out without looking at every line."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from iodiag.formats._headers import is_number, numeric_share
from iodiag.formats._lines import Bools, Ints, Text

_FEW_LINES = 20_000
_LONGEST_LINE = 10_000
_LONGEST_CLOCK = 40
_TAIL = 10

_ONES = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)


def candidates(text: Text) -> Ints:
    """Indices of the lines that may be structure; a superset, and all solid lines of a short text.

    In a long text a line is left out when the line above is not blank and either a line with the
    same first eight bytes is row-like (its second token is a number), or it begins with a digit, has
    three tokens or more, and its last ten bytes hold no letter, slash or per cent sign: headers always
    end in a word. A comment of sar, which may end in anything, is found by its COM.
    """
    if len(text) <= _FEW_LINES:
        return np.flatnonzero(~text.is_blank)
    may_be = np.concatenate(([True], text.is_blank[:-1]))
    is_digit = (text.heads & np.uint64(0xFF)) - np.uint64(48) < 10
    others = np.flatnonzero(~(is_digit | text.is_blank))
    codes, distinct = pd.factorize(text.heads[others])
    where = np.empty(len(distinct), dtype=np.int64)
    where[codes[::-1]] = others[::-1]
    looks = [not _is_row_like(text.line(index)) for index in where.tolist()]
    may_be[others] |= np.array(looks, dtype=np.bool_)[codes]
    digits = np.flatnonzero(is_digit & ~may_be)
    may_be[digits] = _needs_look(text, digits)
    if not may_be[digits].all():
        may_be[list(_lines_with(text, b" COM ", b"\tCOM "))] = True
    return np.flatnonzero(may_be & ~text.is_blank)


def _is_row_like(line: str) -> bool:
    """Whether numbers follow a line's first word."""
    words = line[:_LONGEST_LINE].split()
    return len(words) > 2 and numeric_share(words[1:]) >= 0.8


def _needs_look(text: Text, lines: Ints) -> Bools:
    """Which of some lines that begin with a digit may be a clock or a header."""
    ends = text.ends[lines]
    sizes = ends - text.starts[lines]
    result: Bools = sizes < _TAIL
    long = np.flatnonzero(~result)
    result[long] = _has_word(text.eights[ends[long] - 8]) | _has_word(text.eights[ends[long] - _TAIL])
    ends_in_blank = text.bytes[ends - 1] <= 32
    for place in np.flatnonzero(~result & ((sizes <= _LONGEST_CLOCK) | ends_in_blank)).tolist():
        words = text.line(int(lines[place]))[:_LONGEST_LINE].split()
        result[place] = len(words) < 3 or not is_number(words[-1])
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


def _lines_with(text: Text, *marks: bytes) -> Iterator[int]:
    """The lines that hold one of some marks."""
    for mark in marks:
        at = text.data.find(mark)
        while at >= 0:
            line = int(np.searchsorted(text.ends, at))
            yield line
            at = text.data.find(mark, int(text.ends[line]))
