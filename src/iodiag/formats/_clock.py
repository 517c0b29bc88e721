"""Time: dates, clocks, midnight, day-first or month-first, and the length of a sample.

Nothing defaults to today: what the text does not say stays NaT or NaN.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
DAY_S = 86400.0

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = r"(\d{1,2})[:時时h](\d{2})(?:[:分m](\d{2}(?:\.\d+)?)[秒s]?)?"
_HALF = r"(?:\s*([AaPp]\.?[Mm]\.?)\b)?"
_DATE = re.compile(r"(\d{1,4})([-/.年])\s?(\d{1,2})[-/.月]\s?(\d{1,4})日?")
_TIME = re.compile(_CLOCK + _HALF)
_DATE_AND_TIME = re.compile(rf"\s*{_DATE.pattern}[ T,]+{_CLOCK}{_HALF}\s*(Z|[+-]\d{{2}}:?\d{{2}}|[A-Z]{{3,5}})?\s*$")
_WORD_AND_TIME = re.compile(rf"\s*[^\W\d]{{1,20}}\s?[:：]\s*{_CLOCK}{_HALF}\s*$")
_EPOCH = re.compile(r"\s*(\d{9,10})(?:\.\d+)?\s*$")
_DATE_COMMAND = re.compile(
    rf"\s*[A-Z][a-z]{{2}},? +(?:([A-Z][a-z]{{2}}) +(\d{{1,2}})|(\d{{1,2}}) +([A-Z][a-z]{{2}}))"
    rf"(?: +(\d{{4}}))? +{_CLOCK}{_HALF} *([A-Z]{{3,5}}|[+-]\d{{2,4}})?(?: +(\d{{4}}))?\s*$"
)


@dataclass(frozen=True)
class Clock:
    """What one line says of time. `day` are the three fields of a date as printed."""

    day: tuple[int, int, int] | None = None
    separator: str = ""
    seconds: float | None = None
    offset_s: float | None = None
    epoch: float | None = None
    has_half: bool = False


def parse_date(text: str) -> Clock | None:
    """A banner's date."""
    match = _DATE.search(text)
    if not match:
        return None
    return Clock(day=(int(match[1]), int(match[3]), int(match[4])), separator=match[2])


def parse_line(text: str) -> Clock | None:
    """A line that holds nothing but a time: `iostat -t` in any locale, an epoch, `date`."""
    if len(text) > 80:
        return None
    if match := _DATE_AND_TIME.match(text):
        day = (int(match[1]), int(match[3]), int(match[4]))
        seconds = seconds_of(match[5], match[6], match[7], match[8])
        offset = _offset(match[9])
        return Clock(day, match[2], seconds, offset, has_half=bool(match[8]))
    if match := _WORD_AND_TIME.match(text):
        return Clock(seconds=seconds_of(*match.groups()), has_half=bool(match[4]))
    if match := _EPOCH.match(text):
        return Clock(epoch=float(match[1]))
    if match := _DATE_COMMAND.match(text):
        month, day_of_month = match[1] or match[4], match[2] or match[3]
        year = match[5] or match[11]
        if month.lower() not in _MONTHS or not year:
            return None
        day = (int(year), _MONTHS.index(month.lower()) + 1, int(day_of_month))
        seconds = seconds_of(match[6], match[7], match[8], match[9])
        return Clock(day, "-", seconds, _offset(match[10]), has_half=bool(match[9]))
    return None


def parse_time(text: str) -> float | None:
    """Seconds of the day of `12:24:01`, `12:24:01 PM`, `12時24分01秒`; None for anything else."""
    match = _TIME.fullmatch(text.strip())
    return seconds_of(*match.groups()) if match else None


def seconds_of(hour: str, minute: str, second: str | None, half: str | None) -> float | None:
    hours, minutes, seconds = int(hour), int(minute), float(second or 0)
    if half:
        hours = hours % 12 + (12 if half[0] in "pP" else 0)
    if hours > 24 or minutes > 59 or seconds > 61:
        return None
    return hours * 3600 + minutes * 60 + seconds


def _offset(zone: str | None) -> float | None:
    """Seconds east of Greenwich; None for a zone that only its place would tell."""
    if zone in ("Z", "UTC", "GMT"):
        return 0.0
    if zone and (match := re.fullmatch(r"([+-])(\d{2}):?(\d{2})?", zone)):
        seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60
        return float(-seconds if match[1] == "-" else seconds)
    return None


def day_order(clocks: Iterable[Clock], has_half: bool) -> tuple[str, str]:
    """`mdy` or `dmy` for a whole input, and the sentence that states it where it was a guess.

    A field above 12 settles it, a dot (German) too, and a 12-hour clock is American; else the
    C locale's month-first holds.
    """
    dates = [c for c in clocks if c.day and not _is_year_first(c)]
    if not dates:
        return "mdy", ""
    firsts = {c.day[0] for c in dates if c.day}
    seconds = {c.day[1] for c in dates if c.day}
    if max(firsts) > 12:
        return "dmy", ""
    if max(seconds) > 12:
        return "mdy", ""
    if all(c.separator == "." for c in dates):
        return "dmy", ""
    example = "/".join(f"{field:02d}" for field in dates[0].day or ())
    if has_half or any(c.has_half for c in dates):
        return "mdy", f"the date {example} is taken as month/day: the 12-hour clock is American"
    return "mdy", f"the date {example} may be month/day or day/month; taken as month/day (the C locale)"


def _is_year_first(clock: Clock) -> bool:
    return clock.separator == "年" or bool(clock.day and clock.day[0] > 31)


def to_day(clock: Clock, order: str) -> date | None:
    """The calendar day of a clock, or None where it has none or an impossible one."""
    if clock.day is None:
        return None
    first, second, third = clock.day
    if _is_year_first(clock):
        year, month, day = first, second, third
    elif order == "dmy":
        day, month, year = first, second, third
    else:
        month, day, year = first, second, third
    if year < 100:
        year += 2000 if year < 70 else 1900
    try:
        return date(year, month, day)
    except ValueError:
        return None


def epoch_of(day: date, seconds: float) -> float:
    """Seconds since 1970 of a day and a time of that day, as if it were UTC."""
    return (day - date(1970, 1, 1)) / timedelta(days=1) * DAY_S + seconds


def unroll_midnight(seconds: Floats) -> Floats:
    """Times of day in the order of a report, with a day added at every midnight passed.

    Only a fall of half a day or more is midnight; a smaller one is a changed clock.
    """
    steps = np.diff(seconds, prepend=seconds[:1])
    days = np.cumsum(steps <= -DAY_S / 2)
    result: Floats = seconds + days * DAY_S
    return result


def interval_lengths(ends: Floats, first: float | None) -> Floats:
    """Length of each sample from the ends of all, in order; `first` is when the first began.

    Clocks are whole seconds: with samples of a few seconds, one that differs by a second from
    the usual length is as long as usual. Where the clock went back the length is unknown.
    """
    if not len(ends):
        return ends
    start = np.nan if first is None else first
    lengths: Floats = np.diff(ends, prepend=start)
    lengths[lengths <= 0] = np.nan
    known = lengths[~np.isnan(lengths)]
    if len(known):
        usual = float(np.median(known))
        if usual <= 10:
            lengths = np.where(np.abs(lengths - usual) <= 1.0, usual, lengths)
    return lengths


_GRID = (*range(1, 11), 12, 15, 20, 30, 60)


def grid_interval(rates: Floats) -> float:
    """The interval that printed rates (two decimals) betray: all are multiples of 1/T; else NaN.

    A rate is a whole number of events divided by T. By chance a value lies on the grid of T with
    probability T/100, so T is believed when enough values lie on its grid that chance is below 1e-5.
    """
    values = np.unique(np.abs(rates[np.isfinite(rates) & (rates != 0)]))
    if len(values) < 3:
        return float("nan")
    for length in _GRID:
        distance = np.abs(values * length - np.round(values * length))
        chance = min(1.0, 0.0202 * length)
        if (distance <= 0.0051 * length).all() and chance ** len(values) < 1e-5:
            return float(length)
    return float("nan")
