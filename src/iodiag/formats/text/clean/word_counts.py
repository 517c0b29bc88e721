"""How many words each line of a text has, and which of them are plain numbers, without parting them."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from iodiag.formats.text.array_types import Chars
from iodiag.table.table import Bools, Ints

_STRETCH_BYTES = 1 << 18


class WordCounts(NamedTuple):
    """Per line: its words between blanks and tabs, those that are no plain numbers, and where these end.

    A plain number is digits, and points and commas behind a digit. `leading` counts the words up to the last
    one that is none.
    """

    words: Ints
    others: Ints
    leading: Ints


def count_words(chars: Chars, starts: Ints, ends: Ints) -> WordCounts:
    """The counts of lines that begin and end at some offsets of a text, a line feed between them."""
    counts = np.zeros((3, len(starts)), dtype=np.int64)
    for first, last in stretches(ends, len(chars)):
        origin = int(starts[first])
        edges = np.append(starts[first:last], ends[last - 1] + 1) - origin
        counts[:, first:last] = _counted(chars[origin : int(ends[last - 1])], edges)
    return WordCounts(*counts)


def stretches(ends: Ints, size: int) -> list[tuple[int, int]]:
    """Ranges of the lines of a text that are looked at together: what is made of them stays in the cache."""
    begins = np.searchsorted(ends, np.arange(0, size, _STRETCH_BYTES)).tolist()
    return [(first, last) for first, last in pairwise([*begins, len(ends)]) if first < last]


def _counted(chars: Chars, edges: Ints) -> tuple[Ints, Ints, Ints]:
    """The counts of the lines between some edges."""
    is_solid = chars > ord(" ")
    is_begin = _first_ones(is_solid)
    # a comma differs from a point in one bit
    scratch = chars | np.uint8(2)
    is_other = scratch != ord(".")
    is_other |= is_begin
    is_other &= is_solid
    np.subtract(chars, ord("0"), out=scratch)
    is_other &= np.greater(scratch, 9, out=is_solid)
    # of such a byte behind another the word is known
    others = np.flatnonzero(_first_ones(is_other))
    begins = _Ranks(is_begin)
    word = begins.up_to(others)
    is_new = np.diff(word, prepend=0) > 0
    others, word = others[is_new], word[is_new]
    above = np.append(0, begins.up_to(edges[1:] - 1))
    others_above = np.searchsorted(others, edges)
    # the number of the last such word of each line, and of those above it
    last = np.append(0, word)[others_above[1:]]
    return np.diff(above), np.diff(others_above), np.maximum(last - above[:-1], 0)


def _first_ones(flags: Bools) -> Bools:
    """Those flags that stand behind none."""
    result = np.empty_like(flags)
    result[:1] = flags[:1]
    np.greater(flags[1:], flags[:-1], out=result[1:])
    return result


class _Ranks:
    """How many flags are set up to a place: a word holds sixteen of them, and how many are above is known."""

    def __init__(self, flags: Bools) -> None:
        bits = np.packbits(flags, bitorder="little")
        self._bits = np.append(bits, np.zeros(2 - len(bits) % 2, dtype=np.uint8)).view("<u2")
        self._above = np.zeros(len(self._bits) + 1, dtype=np.int64)
        np.cumsum(_SET[self._bits], out=self._above[1:])

    def up_to(self, places: Ints) -> Ints:
        """The number of flags in front of each place and at it."""
        word = places >> 4
        result: Ints = self._above[word] + _SET[self._bits[word] & _UP_TO[places & 15]]
        return result


_UP_TO = np.array([(2 << bit) - 1 for bit in range(16)], dtype=np.uint16)
_BYTE_SET = np.array([number.bit_count() for number in range(256)], dtype=np.uint8)
_SET = (_BYTE_SET[:, None] + _BYTE_SET).ravel()
