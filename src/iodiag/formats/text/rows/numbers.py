"""Tokens into numbers, vectorised; and one token at a time where it is no plain decimal.

Nothing here guesses: a token is digits with at most one decimal sign, or it is converted by itself (a
suffix, a sign, nan) or refused.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.formats.text.clean.lines import Text
from iodiag.model.units import HUMAN_BYTES
from iodiag.table.table import Bools, Floats, Ints

_EXACT_DIGITS = 15  # a float64 holds so many; its quotient by a power of ten is then float()'s own
_WIDEST = 24  # wider tokens go one by one
_POWERS = 10.0 ** np.arange(_WIDEST + 1)
_WORD = 8  # bytes that are read at a time
_POINT, _COMMA = 46, 44
_BLANK, _TAB, _FEED = 32, 9, 10

# masks for eight characters at once, the first of them the lowest byte; a digit less "0" is its value
_ALL_ZEROS = np.uint64(0x3030303030303030)
_THIRD_LAST = np.uint64(0x0000FF0000000000)
_POINT_THIRD_LAST = np.uint64((_POINT ^ 0x30) << 40)
_COMMA_THIRD_LAST = np.uint64((_COMMA ^ 0x30) << 40)
_BEFORE_SIGN = np.uint64(0x000000FFFFFFFFFF)
_BEHIND_SIGN = np.uint64(0xFFFF000000000000)
_TO_HIGH_BIT = np.uint64(0x7676767676767676)
_HIGH_BITS = np.uint64(0x8080808080808080)
_ADD_NEIGHBOURS = tuple(
    (np.uint64(factor), np.uint64(shift), np.uint64(kept))
    for factor, shift, kept in (
        ((10 << 8) + 1, 8, 0x00FF00FF00FF00FF),
        ((100 << 16) + 1, 16, 0x0000FFFF0000FFFF),
        ((10_000 << 32) + 1, 32, 0x00000000FFFFFFFF),
    )
)
_MOST_COMMA_DECIMALS = 2  # sysstat prints no more; three digits behind a comma may be thousands
_ODD = re.compile(r"([-+]?)(\d{0,40})(?:([.,])(\d{1,40}))?([sBkKMGTP%]?)(?:i?B)?(?:/s)?", re.ASCII)
_DECIMAL = re.compile(r"\d{1,40}(?:\.\d{1,40})?", re.ASCII)  # which most are
_NO_VALUE = ("nan", "inf", "infinity", "n/a", "-", "--")


class _Plain(NamedTuple):
    """What tokens of digits and at most one decimal sign say; `is_odd` marks those that are none.

    `is_long` marks those of so many digits that the value is not exact.
    """

    values: Floats
    is_odd: Bools
    has_comma: Bools
    has_point: Bools
    decimals: npt.NDArray[np.int8]
    is_long: Bools


class Numbers(NamedTuple):
    """The values of tokens, each array of the shape that was asked for.

    `suffix` is the factor from a printed size suffix to bytes (NaN without one; None: no token has any),
    `is_bad` marks what is no number and `is_plain` what is digits with at most one decimal sign,
    `has_comma` and `has_point` tell which sign, `decimals` how many digits stand behind it.
    """

    value: Floats
    suffix: Floats | None
    is_bad: Bools
    is_plain: Bools
    has_comma: Bools
    has_point: Bools
    decimals: npt.NDArray[np.int8]


class Tokens:
    """The edges of every token in some lines of a text, as offsets into it.

    `begins` is the index of each line's first token, `counts` how many it has.
    """

    def __init__(self, text: Text, lines: Ints) -> None:
        first, last = int(lines[0]), int(lines[-1])
        # to pick lines out takes longer than to look at some more; but one between may be of any length
        span = text.ends[last] - text.starts[first]
        self._is_whole = bool(span <= 2 * (text.ends[lines] - text.starts[lines] + 1).sum())
        lines = np.arange(first, last + 1) if self._is_whole else lines
        self._lines, self._text = lines, text
        line_starts = text.starts[lines]
        if self._is_whole:
            begin, end = int(line_starts[0]), int(text.ends[lines[-1]])
            chars, offsets = text.bytes[begin:end], None
        else:
            # what stands behind each line belongs to it, so that no token goes on in the next
            sizes = text.ends[lines] + 1 - line_starts
            ends = np.cumsum(sizes)
            offsets = np.arange(int(ends[-1])) + np.repeat(line_starts - (ends - sizes), sizes)
            chars = text.bytes[np.minimum(offsets, len(text.data) - 1)]
            chars[ends - 1] = _FEED
        solid = np.zeros(len(chars) + 2, dtype=np.bool_)
        inner = np.not_equal(chars, _BLANK, out=solid[1:-1])
        other = np.not_equal(chars, _TAB)
        inner &= other
        inner &= np.not_equal(chars, _FEED, out=other)
        edges = np.flatnonzero(solid[1:] != solid[:-1])
        if offsets is None:
            edges += begin
        else:
            edges = offsets[edges]
        self.starts: Ints = np.ascontiguousarray(edges[0::2])
        self.ends: Ints = edges[1::2]
        places = np.searchsorted(self.starts, line_starts)
        self._begins: Ints = places
        self._counts: Ints = np.diff(places, append=len(self.starts))

    def begins(self, lines: Ints) -> Ints:
        """The index of each line's first token."""
        return self._begins[self._places(lines)]

    def counts(self, lines: Ints) -> Ints:
        """The number of tokens of each line."""
        return self._counts[self._places(lines)]

    def _places(self, lines: Ints) -> Ints:
        return lines - self._lines[0] if self._is_whole else np.searchsorted(self._lines, lines)

    def words(self, index: Ints) -> list[str]:
        """Tokens by their index, decoded."""
        data = self._text.data
        edges = zip(self.starts[index].tolist(), self.ends[index].tolist(), strict=True)
        return [data[a:b].decode("utf-8", "replace") for a, b in edges]

    def printed(self, index: Ints) -> Numbers:
        """The values of tokens, whatever decimal sign each has. A size suffix is taken off the value."""
        flat, shape = index.ravel(), index.shape
        starts, ends = self.starts[flat], self.ends[flat]
        values, has_point, comma, is_usual = _usual(self._text, starts, ends)
        decimals = (has_point | comma).view(np.int8) * np.int8(2)
        odd, bad = np.zeros(len(flat), dtype=np.bool_), np.zeros(len(flat), dtype=np.bool_)
        suffix = None
        places = np.flatnonzero(~is_usual)
        if len(places):
            rest = _plain(self._text.bytes, starts[places], ends[places])
            values[places], decimals[places] = rest.values, rest.decimals
            odd[places], comma[places], has_point[places] = rest.is_odd, rest.has_comma, rest.has_point
            places = places[rest.is_odd | rest.is_long]
        if len(places):
            suffix = np.full(len(flat), np.nan)
            known: dict[str, tuple[float, float, bool]] = {}
            for place, word in zip(places.tolist(), self.words(flat[places]), strict=True):
                if word not in known:
                    known[word] = odd_number(word)
                values[place], suffix[place], bad[place] = known[word]
        return Numbers(
            value=values.reshape(shape),
            suffix=None if suffix is None else suffix.reshape(shape),
            is_bad=bad.reshape(shape),
            is_plain=~odd.reshape(shape),
            has_comma=comma.reshape(shape),
            has_point=has_point.reshape(shape),
            decimals=decimals.reshape(shape),
        )


class _Usual(NamedTuple):
    """What tokens say that are digits, or digits with two behind a decimal sign; `is_usual` tells which.

    `values` are those of the digits alone, or with the sign, as each function says.
    """

    values: npt.NDArray[Any]
    has_point: Bools
    has_comma: Bools
    is_usual: Bools


def _usual(text: Text, starts: Ints, ends: Ints) -> _Usual:
    """The values of tokens of at most 15 digits that are printed as almost all are."""
    if len(text.data) < 2 * _WORD:
        nothing = [np.zeros(len(starts), dtype=np.bool_) for _ in range(3)]
        return _Usual(np.zeros(len(starts)), *nothing)
    widths = ends - starts
    digits, point, comma, is_usual = _eight(text, ends, widths)
    mantissa = digits.astype(np.float64)
    if int(widths.max(initial=0)) > _WORD:
        wide = np.flatnonzero(widths > _WORD)
        wide = wide[(widths[wide] <= 2 * _WORD) & (ends[wide] >= 2 * _WORD)]
        low = _eight(text, ends[wide], np.full(len(wide), _WORD))
        high = _eight(text, ends[wide] - _WORD, widths[wide] - _WORD)
        has_sign = low.has_point | low.has_comma
        mantissa[wide] = high.values * np.where(has_sign, 1e7, 1e8) + low.values
        is_exact = widths[wide] - has_sign <= _EXACT_DIGITS
        is_usual[wide] = low.is_usual & high.is_usual & is_exact & ~(high.has_point | high.has_comma)
        point[wide], comma[wide] = low.has_point, low.has_comma
    if point.all():
        mantissa /= 100.0
    else:
        mantissa /= np.where(point | comma, 100.0, 1.0)
    return _Usual(mantissa, point, comma, is_usual)


def _eight(text: Text, ends: Ints, widths: Ints) -> _Usual:
    """The digits as one number of tokens of at most eight bytes that are nothing else, but for that sign.

    All eight bytes that end with a token are one unsigned number, its last byte the highest. Shifting
    clears what stands in front of the token and closes the gap of the sign; each of three
    multiplications then adds neighbours up: digits to pairs, pairs to fours, fours to eight.
    """
    at, blank_bits = ends - _WORD, _WORD - widths
    # the tokens for which this does not hold are refused below
    is_far, is_narrow = _least(at) >= 0, _least(blank_bits) >= 0
    word = text.eights[at if is_far else np.maximum(at, 0)]
    word ^= _ALL_ZEROS
    if not is_narrow:
        np.maximum(blank_bits, 0, out=blank_bits)
    blank_bits <<= 3
    word >>= blank_bits.view(np.uint64)
    word <<= blank_bits.view(np.uint64)
    third_last = word & _THIRD_LAST
    has_point: Bools = third_last == _POINT_THIRD_LAST
    closed = word & _BEFORE_SIGN
    closed <<= np.uint64(8)
    closed |= word & _BEHIND_SIGN
    if has_point.all():
        has_comma: Bools = np.zeros(len(word), dtype=np.bool_)
        word = closed
    else:
        has_comma = third_last == _COMMA_THIRD_LAST
        word = np.where(has_point | has_comma, closed, word)
    # a byte above 9 sets its highest bit, or had it set; a carry out of one only follows such a byte
    beyond = word + _TO_HIGH_BIT
    beyond |= word
    beyond &= _HIGH_BITS
    is_usual: Bools = beyond == 0
    if not (is_far and is_narrow):
        is_usual &= (widths <= _WORD) & (ends >= _WORD)
    for factor, shift, kept in _ADD_NEIGHBOURS:
        word *= factor
        word >>= shift
        word &= kept
    return _Usual(word, has_point, has_comma, is_usual)


def _least(numbers: Ints) -> int:
    return int(numbers.min(initial=0))


def _plain(data: npt.NDArray[np.uint8], starts: Ints, ends: Ints) -> _Plain:
    """The values of tokens of any decimals and either decimal sign."""
    widths = ends - starts
    widest = int(min(widths.max(initial=0), _WIDEST))
    mantissa = np.zeros(len(starts))
    decimals, signs, digits = (np.zeros(len(starts), dtype=np.int8) for _ in range(3))
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
        digits += is_digit
        decimals += is_digit & (signs > 0)
        signs += is_sign
        comma |= is_comma
        odd |= inside & ~is_digit & ~is_sign
    odd |= (
        (signs > 1)
        | (digits == 0)
        | ((signs == 1) & (decimals == 0))
        | (comma & (decimals > _MOST_COMMA_DECIMALS))
    )
    values: Floats = mantissa / _POWERS[decimals]
    return _Plain(values, odd, comma, (signs > 0) & ~comma, decimals, digits > _EXACT_DIGITS)


def odd_number(word: str) -> tuple[float, float, bool]:
    """Value, bytes per unit of its suffix (or NaN), and whether the word is no number at all."""
    if _DECIMAL.fullmatch(word):
        return float(word), math.nan, False
    if word.lower().lstrip("+-") in _NO_VALUE or word in _NO_VALUE:
        return math.nan, math.nan, False
    match = _ODD.fullmatch(word)
    if not match or not (match[2] or match[4]):
        return math.nan, math.nan, True
    sign, whole, mark, fraction, suffix = match.groups()
    if mark == "," and fraction and len(fraction) > _MOST_COMMA_DECIMALS:
        return math.nan, math.nan, True
    value = float(f"{sign}{whole or 0}.{fraction or 0}")
    return value, HUMAN_BYTES.get(suffix, math.nan), False


def is_value(word: str) -> bool:
    """Whether a word is a printed value (nan and a dash included)."""
    return not odd_number(word)[2]


def is_figure(word: str) -> bool:
    """Whether a word is a number of at least one digit."""
    return any(map(str.isdigit, word)) and is_value(word)


def mixes_decimal_signs(words: list[str]) -> bool:
    """Whether some numbers have decimal commas and others points: then neither is sure."""
    has_both = all(any(sign in word for word in words) for sign in ",.")
    values = [word for word in words if is_figure(word)] if has_both else []
    return any("," in word for word in values) and any("." in word for word in values)
