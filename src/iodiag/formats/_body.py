"""Tokens into numbers, vectorised; and one token at a time where it is no plain decimal.

Nothing here guesses: a token is digits with at most one decimal sign, or it is converted by itself (a
suffix, a sign, nan) or refused.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.formats._lines import Bools, Ints, Text
from iodiag.model.units import HUMAN_BYTES

Floats = npt.NDArray[np.float64]

_CHUNK = 1 << 16
_WIDEST = 18  # digits that a float64 product of ten still holds well enough; wider goes one by one
_POWERS = 10.0 ** np.arange(_WIDEST + 1)
_POINT, _COMMA = 46, 44
_MOST_COMMA_DECIMALS = 2  # sysstat prints no more; three digits behind a comma may be thousands
_ODD = re.compile(r"([-+]?)(\d{0,40})(?:([.,])(\d{1,40}))?([sBkKMGTP%]?)(?:i?B)?(?:/s)?", re.ASCII)
_NO_VALUE = ("nan", "inf", "infinity", "n/a", "-", "--")


class Numbers(NamedTuple):
    """The values of tokens, each array of the shape that was asked for.

    `suffix` is the factor from a printed size suffix to bytes (NaN without one), `is_bad` marks what is
    no number and `is_plain` what is digits with at most one decimal sign, `has_comma` and `has_point`
    tell which sign, `decimals` how many digits stand behind it.
    """

    values: Floats
    suffix: Floats
    is_bad: Bools
    is_plain: Bools
    has_comma: Bools
    has_point: Bools
    decimals: Ints


class Tokens:
    """The edges of every token of a text between `separators`, and which line each belongs to."""

    def __init__(self, text: Text, separators: bytes = b" \t\n") -> None:
        is_solid = np.ones(256, dtype=np.bool_)
        is_solid[list(separators)] = False
        solid = np.concatenate(([False], is_solid[text.bytes], [False]))
        edges = np.flatnonzero(solid[1:] != solid[:-1])
        self.starts: Ints = edges[0::2]
        self.ends: Ints = edges[1::2]
        self.first: Ints = np.searchsorted(self.starts, text.starts)
        self.counts: Ints = np.searchsorted(self.starts, text.ends) - self.first
        self._text = text

    def words(self, index: Ints) -> list[str]:
        """Tokens by their index, decoded."""
        data = self._text.data
        edges = zip(self.starts[index].tolist(), self.ends[index].tolist(), strict=True)
        return [data[a:b].decode("utf-8", "replace") for a, b in edges]

    def categories(self, index: Ints) -> tuple[npt.NDArray[np.intp], list[str]]:
        """Codes and distinct words of many tokens that repeat (device names)."""
        words: dict[bytes, int] = {}
        data = self._text.data
        edges = zip(self.starts[index].tolist(), self.ends[index].tolist(), strict=True)
        codes = np.fromiter(
            (words.setdefault(data[a:b], len(words)) for a, b in edges), dtype=np.intp, count=len(index)
        )
        return codes, [word.decode("utf-8", "replace") for word in words]

    def numbers(self, index: Ints, decimal_comma: bool) -> tuple[Floats, Bools, Floats]:
        """Values of the tokens, which of them are no numbers, and the bytes per unit of suffixed ones.

        Of shape like `index`, for inputs where one decision on the decimal sign holds throughout.
        """
        found = self.printed(index)
        is_bad = found.is_bad if decimal_comma else found.is_bad | found.has_comma
        return found.values, is_bad, found.suffix

    def printed(self, index: Ints) -> Numbers:
        """The values of tokens, whatever decimal sign each has. A size suffix is taken off the value."""
        flat = index.ravel()
        size, shape = len(flat), index.shape
        values, decimals = np.empty(size), np.empty(size, dtype=np.int64)
        odd, comma, point = (np.empty(size, dtype=np.bool_) for _ in range(3))
        for begin in range(0, size, _CHUNK):
            part = slice(begin, begin + _CHUNK)
            starts, ends = self.starts[flat[part]], self.ends[flat[part]]
            plain = _plain(self._text.bytes, starts, ends)
            values[part], odd[part], comma[part], point[part], decimals[part] = plain
        suffix = np.full(size, np.nan)
        bad = np.zeros(size, dtype=np.bool_)
        known: dict[str, tuple[float, float, bool]] = {}
        places = np.flatnonzero(odd)
        for place, word in zip(places.tolist(), self.words(flat[places]), strict=True):
            if word not in known:
                known[word] = odd_number(word, True)
            values[place], suffix[place], bad[place] = known[word]
        return Numbers(
            values=values.reshape(shape),
            suffix=suffix.reshape(shape),
            is_bad=bad.reshape(shape),
            is_plain=~odd.reshape(shape),
            has_comma=comma.reshape(shape),
            has_point=point.reshape(shape),
            decimals=decimals.reshape(shape),
        )


def _plain(data: npt.NDArray[np.uint8], starts: Ints, ends: Ints) -> tuple[Floats, Bools, Bools, Bools, Ints]:
    """Values of tokens of digits and at most one decimal sign; which are not; commas, points, decimals."""
    widths = ends - starts
    widest = int(min(widths.max(initial=0), _WIDEST))
    mantissa = np.zeros(len(starts))
    decimals = np.zeros(len(starts), dtype=np.int64)
    signs = np.zeros(len(starts), dtype=np.int64)
    comma = np.zeros(len(starts), dtype=np.bool_)
    odd = widths > _WIDEST
    for back in range(widest, 0, -1):
        inside = widths >= back
        char = data[np.maximum(ends - back, 0)]
        digit = char - np.uint8(48)
        is_digit = (digit < 10) & inside
        is_comma = (char == _COMMA) & inside
        is_sign = is_comma | ((char == _POINT) & inside)
        mantissa = np.where(is_digit, mantissa * 10 + digit, mantissa)
        decimals += is_digit & (signs > 0)
        signs += is_sign
        comma |= is_comma
        odd |= inside & ~is_digit & ~is_sign
    odd |= (
        (signs > 1)
        | (widths <= signs)
        | ((signs == 1) & (decimals == 0))
        | (comma & (decimals > _MOST_COMMA_DECIMALS))
    )
    values: Floats = mantissa / _POWERS[np.minimum(decimals, _WIDEST)]
    return values, odd, comma, (signs > 0) & ~comma, decimals


def odd_number(word: str, decimal_comma: bool) -> tuple[float, float, bool]:
    """Value, bytes per unit of its suffix (or NaN), and whether the word is no number at all."""
    if word.lower().lstrip("+-") in _NO_VALUE or word in _NO_VALUE:
        return math.nan, math.nan, False
    match = _ODD.fullmatch(word)
    if not match or not (match[2] or match[4]):
        return math.nan, math.nan, True
    sign, whole, mark, fraction, suffix = match.groups()
    if mark == "," and fraction and (not decimal_comma or len(fraction) > _MOST_COMMA_DECIMALS):
        return math.nan, math.nan, True
    value = float(f"{sign}{whole or 0}.{fraction or 0}")
    return value, HUMAN_BYTES.get(suffix, math.nan), False


def uses_decimal_comma(sample: str) -> bool:
    """Whether the numbers of a sample have decimal commas, where nothing in a row can tell."""
    commas = len(re.findall(r"(?<![\d.,])\d+,\d{1,2}(?![\d.,])", sample))
    points = len(re.findall(r"(?<![\d.,/:])\d+\.\d{1,2}(?![\d.,])", sample))
    return commas > points


def is_value(word: str) -> bool:
    """Whether a word is a printed value (nan and a dash included)."""
    return not odd_number(word, True)[2]


def is_figure(word: str) -> bool:
    """Whether a word is a number of at least one digit."""
    return any(map(str.isdigit, word)) and is_value(word)


def mixes_decimal_signs(words: list[str]) -> bool:
    """Whether some numbers have decimal commas and others points: then neither is sure."""
    values = [word for word in words if is_figure(word)]
    return any("," in word for word in values) and any("." in word for word in values)
