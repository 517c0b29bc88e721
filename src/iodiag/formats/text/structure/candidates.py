"""The lines of a text that may be structure, picked out without a look at every line in Python."""

from __future__ import annotations

import numpy as np

from iodiag.formats.text.array_types import Chars
from iodiag.formats.text.clean.lines import LONGEST_LINE, Text
from iodiag.formats.text.clean.word_counts import stretches
from iodiag.formats.text.structure.headers import SHARE_OF
from iodiag.table.table import Bools, Ints

_FEWEST_WORDS = 3  # a line of fewer may be a clock, or a name above its values
# what the name of a tool, a comment of sar and a restart hold
_MARKS = (b"sar", b"sadf", b"stat", b"COM", b"LINUX")
_MARK_BEGINS = bytes({mark[0] for mark in _MARKS})
# the first bytes of what a decoded line is split at besides blanks and tabs
_BEGINS_OF_SPACES = b"\xc2\xe1\xe2"


def candidates(text: Text) -> Ints:
    """Indices of the lines that may be structure below an open table: all solid ones but certain rows."""
    return np.flatnonzero(~(text.is_blank | certain_rows(text)))


def certain_rows(text: Text) -> Bools:
    """Which lines can be nothing but rows where a table is open: a visit would find nothing else.

    Such a line has three words or more, and at least half of them are plain numbers. It holds no mark of a
    command, a comment or a restart, and nothing that parts words but blanks and tabs.
    """
    counts = text.word_counts
    result: Bools = (counts.words >= _FEWEST_WORDS) & (counts.words <= SHARE_OF)
    result &= 2 * counts.others <= counts.words
    result &= text.ends - text.starts <= LONGEST_LINE
    for first, last in stretches(text.ends, len(text.data)):
        origin = int(text.starts[first])
        chars = text.bytes[origin : int(text.ends[last - 1])]
        places = origin + np.concatenate((_marks(text, origin, chars), _other_spaces(chars, last - first)))
        result[np.searchsorted(text.ends, places)] = False
    return result


def _marks(text: Text, origin: int, chars: Chars) -> Ints:
    """Where marks begin."""
    places = np.flatnonzero(_is_any_of(chars, _MARK_BEGINS))
    inside = places[origin + places < len(text.eights)]
    eights = text.eights[origin + inside]
    is_mark = np.zeros(len(inside), dtype=np.bool_)
    for mark in _MARKS:
        kept = np.uint64((1 << 8 * len(mark)) - 1)
        is_mark |= (eights & kept) == np.uint64(int.from_bytes(mark, "little"))
    # so near the end there are not eight bytes to look at
    return np.concatenate((inside[is_mark], places[len(inside) :]))


def _other_spaces(chars: Chars, lines: int) -> Ints:
    """Where bytes stand at which a decoded line may be split, besides blanks and tabs."""
    is_low = chars < ord(" ")
    low = np.empty(0, dtype=np.int64)
    if np.count_nonzero(is_low) >= lines:  # more than there are line feeds between lines
        low = np.flatnonzero(is_low)
        low = low[(chars[low] != ord("\t")) & (chars[low] != ord("\n"))]
    if chars.max(initial=0) < min(_BEGINS_OF_SPACES):
        return low
    return np.concatenate((low, np.flatnonzero(_is_any_of(chars, _BEGINS_OF_SPACES))))


def _is_any_of(chars: Chars, wanted: bytes) -> Bools:
    result: Bools = chars == wanted[0]
    for byte in wanted[1:]:
        result |= chars == byte
    return result
