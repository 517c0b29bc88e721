"""Rows of numbers, vectorised: tokens of all lines in one pass, then whole columns at a time.

Nothing here guesses: a line counts as a row only when its number of tokens is proven, and a
token that is no plain decimal is converted one by one (suffixes, nan, exponents) or refused.
"""

from __future__ import annotations

import math
import re

import numpy as np
import numpy.typing as npt

from iodiag.formats._lines import Ints, Text
from iodiag.model.units import HUMAN_BYTES

Floats = npt.NDArray[np.float64]

_CHUNK = 1 << 16
_WIDEST = 18  # digits that a float64 product of ten still holds well enough; wider goes one by one
_POWERS = 10.0 ** np.arange(_WIDEST + 1)
_ODD = re.compile(r"([-+]?)(\d*)([.,]?)(\d*)(?:[eE]([-+]?\d+))?([sBkKMGTP%]?)(?:i?B)?(?:/s)?")


class Tokens:
    """The edges of every token of a text between `separators`, and which line each belongs to."""

    def __init__(self, text: Text, separators: bytes = b" \t\n") -> None:
        is_blank = np.zeros(256, dtype=np.bool_)
        is_blank[list(separators)] = True
        solid = np.concatenate(([False], ~is_blank[text.bytes], [False]))
        edges = np.flatnonzero(solid[1:] != solid[:-1])
        self.starts: Ints = edges[0::2]
        self.ends: Ints = edges[1::2]
        self.first: Ints = np.searchsorted(self.starts, text.starts)
        after = np.searchsorted(self.starts, text.ends)
        self.counts: Ints = after - self.first
        self._text = text

    def words(self, index: Ints) -> list[str]:
        data = self._text.data
        return [data[a:b].decode("utf-8", "replace") for a, b in zip(self.starts[index], self.ends[index], strict=True)]

    def categories(self, index: Ints) -> tuple[npt.NDArray[np.intp], list[str]]:
        """Codes and distinct words of many tokens that repeat (device names)."""
        words: dict[str, int] = {}
        data = self._text.data
        codes = np.fromiter(
            (words.setdefault(data[a:b].decode("utf-8", "replace"), len(words))
             for a, b in zip(self.starts[index].tolist(), self.ends[index].tolist(), strict=True)),
            dtype=np.intp,
            count=len(index),
        )
        return codes, list(words)

    def numbers(self, index: Ints, decimal_comma: bool) -> tuple[Floats, npt.NDArray[np.bool_], Floats]:
        """Values of the tokens, which of them are no numbers, and the bytes per unit of suffixed ones.

        Of shape like `index`. A value with a size suffix is returned without it; the third array
        holds the suffix's factor to bytes, NaN where there is none.
        """
        flat = index.ravel()
        values = np.empty(len(flat))
        odd = np.empty(len(flat), dtype=np.bool_)
        point = 44 if decimal_comma else 46
        for begin in range(0, len(flat), _CHUNK):
            part = slice(begin, begin + _CHUNK)
            values[part], odd[part] = _plain(self._text.bytes, self.starts[flat[part]], self.ends[flat[part]], point)
        suffix = np.full(len(flat), np.nan)
        bad = np.zeros(len(flat), dtype=np.bool_)
        known: dict[str, tuple[float, float, bool]] = {}
        odd_places = np.flatnonzero(odd)
        for place, word in zip(odd_places.tolist(), self.words(flat[odd_places]), strict=True):
            if word not in known:
                known[word] = odd_number(word, decimal_comma)
            values[place], suffix[place], bad[place] = known[word]
        shape = index.shape
        return values.reshape(shape), bad.reshape(shape), suffix.reshape(shape)


def _plain(data: npt.NDArray[np.uint8], starts: Ints, ends: Ints, point: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Values of tokens made of digits and at most one decimal sign; and which are not."""
    widths = ends - starts
    widest = int(min(widths.max(initial=0), _WIDEST))
    mantissa = np.zeros(len(starts))
    decimals = np.zeros(len(starts), dtype=np.int64)
    points = np.zeros(len(starts), dtype=np.int64)
    odd = widths > _WIDEST
    for back in range(widest, 0, -1):
        inside = widths >= back
        char = data[np.maximum(ends - back, 0)]
        digit = char - np.uint8(48)
        is_digit = (digit < 10) & inside
        is_point = (char == point) & inside
        mantissa = np.where(is_digit, mantissa * 10 + digit, mantissa)
        decimals += is_digit & (points > 0)
        points += is_point
        odd |= inside & ~is_digit & ~is_point
    odd |= (points > 1) | (widths <= points)
    return mantissa / _POWERS[np.minimum(decimals, _WIDEST)], odd


def odd_number(word: str, decimal_comma: bool) -> tuple[float, float, bool]:
    """Value, bytes per unit of its suffix (or NaN), and whether the word is no number at all."""
    if word.lower().lstrip("+-") in ("nan", "inf", "infinity", "n/a", "-", "--"):
        return math.nan, math.nan, False
    match = _ODD.fullmatch(word)
    if not match or not (match[2] or match[4]) or (match[3] == "," and not decimal_comma):
        return math.nan, math.nan, True
    sign, whole, _, fraction, exponent, suffix = match.groups()
    try:
        value = float(f"{sign}{whole or 0}.{fraction or 0}e{exponent or 0}")
    except (ValueError, OverflowError):
        return math.nan, math.nan, True
    return value, HUMAN_BYTES.get(suffix, math.nan), False


def uses_decimal_comma(sample: str) -> bool:
    """Whether the numbers of a capture have decimal commas; decided once per input."""
    commas = len(re.findall(r"(?<![\d.,])\d+,\d{1,2}(?![\d.,])", sample))
    points = len(re.findall(r"(?<![\d.,/:])\d+\.\d{1,2}(?![\d.,])", sample))
    return commas > points
