"""The lines of a text that may be structure, picked out without looking at every line."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.formats._found import Walk
from iodiag.formats._headers import numeric_share
from iodiag.formats._lines import Ints, Text

_FEW_LINES = 20_000
_LONGEST_LINE = 10_000


def candidates(found: Walk) -> Ints:
    """Indices of the lines that may be structure; a superset, and all lines of a short text.

    In a long text a line is left out when the line above is not blank and either a line with the
    same first eight bytes is row-like (its second token is a number), or it begins with a digit, has
    three tokens or more, and its last ten bytes hold no letter, slash or per cent sign: headers always
    end in a word. A comment of sar, which may end in anything, is found by its COM.
    """
    text, count = found.text, len(found.text)
    if count <= _FEW_LINES:
        return np.arange(count)
    after_blank = np.concatenate(([True], text.is_blank[:-1]))
    padded = np.concatenate((text.bytes, np.full(16, 10, dtype=np.uint8)))
    heads = padded[text.starts[:, None] + np.arange(8)]
    heads[np.logical_or.accumulate(heads == 10, axis=1)] = 10
    keys = heads.view(np.uint64).ravel()
    distinct, where, inverse = np.unique(keys, return_index=True, return_inverse=True)
    is_digit = (heads[:, 0] >= 48) & (heads[:, 0] <= 57)
    tails = padded[np.maximum(text.ends[:, None] - np.arange(1, 11), text.starts[:, None])]
    has_word = ((tails >= 65) | (tails == 37) | (tails == 47)).any(axis=1)
    needs_look = np.ones(len(distinct), dtype=np.bool_)
    for number, index in enumerate(where.tolist()):
        if not is_digit[index]:
            words = text.line(index)[:_LONGEST_LINE].split()
            needs_look[number] = not (len(words) > 2 and numeric_share(words[1:]) >= 0.8)
    is_short = found.tokens.counts < 3
    may_be = after_blank | np.where(is_digit, has_word | is_short, needs_look[inverse])
    may_be[list(_lines_with(text, b" COM ", b"\tCOM "))] = True
    return np.flatnonzero(may_be)


def _lines_with(text: Text, *marks: bytes) -> Iterator[int]:
    """The lines that hold one of some marks."""
    for mark in marks:
        at = text.data.find(mark)
        while at >= 0:
            line = int(np.searchsorted(text.ends, at))
            yield line
            at = text.data.find(mark, int(text.ends[line]))
