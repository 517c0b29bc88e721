"""The clocks that rows begin or end with, by their tokens."""

from __future__ import annotations

import numpy as np

from iodiag.formats import _clock
from iodiag.formats._body import Floats, Tokens
from iodiag.formats._codes import words_at
from iodiag.formats._lines import Ints, Text

_TIME_WIDTH = 8  # 12:24:01


def row_clocks(text: Text, tokens: Tokens, index: Ints) -> Floats:
    """Seconds of the day of each row's first tokens; NaN where they are no clock."""
    starts, widths = tokens.starts[index[:, 0]], tokens.ends[index[:, 0]] - tokens.starts[index[:, 0]]
    if index.shape[1] <= 2 and (widths == _TIME_WIDTH).all():
        seconds = _seconds(text, starts)
        if index.shape[1] == 1:
            return seconds
        halves, words = words_at(text, tokens.starts[index[:, 1]], tokens.ends[index[:, 1]])
        if {*words} <= {"AM", "PM"}:
            is_pm = np.array([word == "PM" for word in words])[halves]
            hours = np.floor(seconds / 3600)
            return np.where(hours <= 24, seconds + 3600 * (hours % 12 + 12 * is_pm - hours), np.nan)
    codes, tables = zip(*(words_at(text, tokens.starts[at], tokens.ends[at]) for at in index.T), strict=True)
    distinct, inverse = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    known = [
        _clock.parse_time(" ".join(words[code] for words, code in zip(tables, codes, strict=True)))
        for codes in distinct.tolist()
    ]
    table = np.array([np.nan if seconds is None else seconds for seconds in known])
    result: Floats = table[inverse.ravel()]
    return result


def _seconds(text: Text, starts: Ints) -> Floats:
    """Seconds of the day of eight bytes from some offsets on; NaN where they are no 12:24:01."""
    chars = text.eights[starts].view(np.uint8).reshape(-1, _TIME_WIDTH)
    digits = chars[:, [0, 1, 3, 4, 6, 7]] - np.uint8(48)
    is_clock = (digits <= 9).all(axis=1) & (chars[:, 2] == ord(":")) & (chars[:, 5] == ord(":"))
    is_clock &= digits[:, 2] <= 5
    seconds = digits.astype(np.float64) @ np.array([36000.0, 3600.0, 600.0, 60.0, 10.0, 1.0])
    is_clock &= (digits[:, 4] * np.uint8(10) + digits[:, 5] <= 61) & (digits[:, 0] * 10 + digits[:, 1] <= 24)
    return np.where(is_clock, seconds, np.nan)


def tail_clocks(tokens: Tokens, index: Ints) -> Floats:
    """The time behind each row's values, in seconds since 1970 as if it were UTC; NaN where none is."""
    dates, times = tokens.words(index[:, 0]), tokens.words(index[:, 1])
    pairs = (_clock.parse_line(" ".join(pair)) for pair in zip(dates, times, strict=True))
    return np.array([_clock.moment(clock, "mdy") for clock in pairs])
