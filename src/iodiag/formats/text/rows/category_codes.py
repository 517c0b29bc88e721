"""Values that repeat, as numbers; places that are neighbours, as a slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from iodiag.formats.text.array_types import Eights
from iodiag.formats.text.clean.lines import Text
from iodiag.table.table import Ints

_FEW = 4096
_LONGEST_NAME = 24  # in bytes; longer ones are compared one by one
_WORD = 8
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


def factorized(values: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """A number per value, by first appearance, and the place where each distinct one appears first.

    A report's rows come again in every report: what the first few thousand hold is mostly all there is, and
    looking values up takes a third of the time of sorting them.
    """
    known, first = np.unique(values[:_FEW], return_index=True)
    codes = np.minimum(np.searchsorted(known, values), max(len(known) - 1, 0))
    if len(values) > _FEW and (known[codes] != values).any():
        known, first, codes = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    if (order == np.arange(len(order))).all():
        return codes, first
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(len(order))
    return rank[codes], first[order]


def hash_words(parts: Sequence[Eights]) -> Eights:
    """One number for each word, of eight bytes in each part: that others have another is not certain."""
    result = parts[0]
    for part in parts[1:]:
        result = result * _SPREAD ^ part
    return result


def slice_if_contiguous(places: Ints) -> Ints | slice:
    """Places as a slice where they are neighbours: that takes a fraction of the time."""
    is_whole = len(places) > 0 and int(places[-1] - places[0]) == len(places) - 1
    return slice(int(places[0]), int(places[-1]) + 1) if is_whole else places


def words_at(text: Text, starts: Ints, ends: Ints) -> tuple[Ints, list[str]]:
    """Codes and distinct words of many tokens that repeat, by their offsets."""
    widths = ends - starts
    if not len(widths):
        return np.empty(0, dtype=np.int64), []
    if int(widths.max()) <= _LONGEST_NAME and int(starts[-1]) + _LONGEST_NAME <= len(text.data):
        parts = [_part(text, starts, widths, n) for n in range(-(-int(widths.max()) // _WORD))]
        codes, where = factorized(hash_words(parts))
        if all((part == part[where][codes]).all() for part in parts):
            edges = zip(starts[where].tolist(), ends[where].tolist(), strict=True)
            return codes, [text.data[a:b].decode("utf-8", "replace") for a, b in edges]
    words: dict[bytes, int] = {}
    pairs = zip(starts.tolist(), ends.tolist(), strict=True)
    codes = np.array([words.setdefault(text.data[a:b], len(words)) for a, b in pairs], dtype=np.int64)
    return codes, [word.decode("utf-8", "replace") for word in words]


def _part(text: Text, starts: Ints, widths: Ints, number: int) -> Eights:
    """Eight bytes of each token, zeros behind its end."""
    chars = text.eights[starts + number * _WORD]
    missing = np.clip((number + 1) * _WORD - widths, 0, _WORD)
    bits = (missing << 3).astype(np.uint64)
    # a shift by all 64 bits is undefined, so it takes two
    half = bits >> np.uint64(1)
    result: Eights = (chars << half << half) >> half >> half
    return result
