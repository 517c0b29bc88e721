"""The clocks that rows begin or end with, by their tokens."""

from __future__ import annotations

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.text.array_types import Eights
from iodiag.formats.text.clean.lines import Text
from iodiag.formats.text.rows.category_codes import words_at
from iodiag.formats.text.rows.numbers import Tokens
from iodiag.table.table import Bools, Floats, Ints

TIME_WIDTH = 8
"""Of 12:24:01."""

_MOST_HOURS, _MOST_MINUTES, _MOST_SECONDS = 24, 59, 61
# a digit and the next one are added up in the byte of the next
_DIGITS, _TO_PAIRS, _BYTE = np.uint64(0x0F0F000F0F000F0F), np.uint64((10 << 8) + 1), np.uint64(0xFF)
_HOURS, _MINUTES, _SECONDS = (np.uint64(8 * at) for at in (1, 4, 7))


def row_clocks(text: Text, tokens: Tokens, index: Ints) -> Floats:
    """Seconds of the day of each row's first tokens; NaN where they are no clock."""
    starts, widths = tokens.starts[index[:, 0]], tokens.ends[index[:, 0]] - tokens.starts[index[:, 0]]
    if index.shape[1] <= 2 and (widths == TIME_WIDTH).all():
        eights = text.eights[starts]
        seconds = np.where(_is_clock(eights), seconds_of_day(eights), np.nan)
        if index.shape[1] == 1:
            return seconds
        halves, words = words_at(text, tokens.starts[index[:, 1]], tokens.ends[index[:, 1]])
        if {*words} <= {"AM", "PM"}:
            return in_half(seconds, np.array([word == "PM" for word in words])[halves])
    codes, tables = zip(*(words_at(text, tokens.starts[at], tokens.ends[at]) for at in index.T), strict=True)
    distinct, inverse = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    known = [
        _clock.parse_time(" ".join(words[code] for words, code in zip(tables, codes, strict=True)))
        for codes in distinct.tolist()
    ]
    table = np.array([np.nan if seconds is None else seconds for seconds in known])
    result: Floats = table[inverse.ravel()]
    return result


def _is_clock(eights: Eights) -> Bools:
    """Which eight bytes are digits and colons as in 12:24:01."""
    chars = eights.view(np.uint8).reshape(-1, TIME_WIDTH)
    is_digit = chars[:, [0, 1, 3, 4, 6, 7]] - np.uint8(48) <= 9
    result: Bools = is_digit.all(axis=1) & (chars[:, 2] == ord(":")) & (chars[:, 5] == ord(":"))
    return result


def seconds_of_day(eights: Eights) -> Floats:
    """Seconds of the day of digits and colons as in 12:24:01, eight bytes each; NaN where it is no time."""
    pairs = (eights & _DIGITS) * _TO_PAIRS
    hours, minutes, seconds = (
        (pairs >> at & _BYTE).astype(np.float64) for at in (_HOURS, _MINUTES, _SECONDS)
    )
    is_time = (hours <= _MOST_HOURS) & (minutes <= _MOST_MINUTES) & (seconds <= _MOST_SECONDS)
    return np.where(is_time, hours * 3600 + minutes * 60 + seconds, np.nan)


def in_half(seconds: Floats, is_pm: Bools) -> Floats:
    """Seconds of the day of what a clock of twelve hours shows."""
    hours = np.floor(seconds / 3600)
    result: Floats = seconds + 3600 * (hours % 12 + 12 * is_pm - hours)
    return result


def tail_clocks(tokens: Tokens, index: Ints) -> Floats:
    """The time behind each row's values, in seconds since 1970 as if it were UTC; NaN where none is."""
    dates, times = tokens.words(index[:, 0]), tokens.words(index[:, 1])
    pairs = (_clock.parse_line(" ".join(pair)) for pair in zip(dates, times, strict=True))
    return np.array([_clock.moment(clock, "mdy") for clock in pairs])
