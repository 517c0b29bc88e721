"""Time: dates, clocks, midnight, day-first or month-first, and the length of a sample.

Nothing defaults to today: what the text does not say stays NaT or NaN.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.table.table import Bools, Floats

DAY_S = 86400.0

_HALF = r"([AaPp])\.?\s?[Mm]\.?"
_TIME = re.compile(
    rf"(\d{{1,2}})[:h時时시点]\s?(\d{{2}})(?:[:m分분]\s?(\d{{2}}(?:\.\d{{1,9}})?)[s秒초]?)?(?:\s*{_HALF})?"
)
_DOTTED_TIME = re.compile(r"(\d{1,2})\.(\d{2})\.(\d{2})")
DATE = r"(\d{1,4})([-/.年년])\s?(\d{1,2})[-/.月월]\s?(\d{1,4})[日일]?"
"""A date in figures."""

_DATE = re.compile(DATE)
_ISO = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2}):(\d{2}(?:[.,]\d{1,9})?)(?:\s?(Z|[+-]\d{2}(?::?\d{2})?))?"
)
EPOCH_STAMP = re.compile(r"(?<![\w.:-])(1\d{9}(?:\.\d{1,9})?)(?![\w.-])")
"""Seconds since 1970 in front of a line: 2001 to 2033."""

_EPOCH = re.compile(r"\d{9,10}(?:\.\d{1,9})?")
_RECENT = re.compile(r"1\d{9}(?:\.|$)")  # 2001 to 2033
_OFFSET = re.compile(r"\(?(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?\)?")
_STAMP = re.compile(r"TS (\d{10}(?:\.\d{1,9})?)\b.{0,40}")
_AROUND = re.compile(
    r"^(?:zzz\s*(?:\*+|<)|[#=*>\-+~\s]+)|(?<![#=*<\-+~\s])[#=*<\-+~\s]+$|Sample interval:.{0,30}$"
    r"|>\s*(?:sub)?[Cc]ount:\s?\d{1,9}$"
)
# an unknown zone, or a weekday in Chinese or Japanese
_UNDATED = re.compile(r"[A-Z]{3,5}|de|.{1,3}曜日?|星期.|周.")
_WITH_SECONDS = re.compile(r"\d[:.h時时시点]\s?\d{2}[:.m分분]\s?\d{2}")
_LONGEST = 100

# what `date` calls months, by the first letters, in the languages of western Europe
_MONTH_NAMES = """
jan ene gen / feb fév fev / mar mär mrt / apr avr abr / may mai mei mag / jun juin giu / jul juil lug
aug aoû ago / sep set / oct okt ott out / nov / dec dez dic déc
"""
_MONTHS = {
    name: number
    for number, names in enumerate(re.split("[/\n]", _MONTH_NAMES.strip()), 1)
    for name in names.split()
}
_WEEKDAY_NAMES = """
mon tue wed thu fri sat sun monday tuesday wednesday thursday friday saturday sunday mo di mi do fr sa so
montag dienstag mittwoch donnerstag freitag samstag sonntag lun mar mer jeu ven sam dim lundi mardi
mercredi jeudi vendredi samedi dimanche mié jue vie sáb dom gio sab seg ter qua qui sex ma wo vr za zo
"""
_WEEKDAYS = frozenset(_WEEKDAY_NAMES.split())
# iostat up to 8.1.5 translated the word in front of -t's clock
_TIME_NAMES = """
time zeit heure hora ora tijd tyd tid tempo aika время час czas čas idő zaman saat laikas aeg
時間 时间 時刻 시간
"""
_TIME_WORDS = frozenset(_TIME_NAMES.split())

_ZONE_HOURS = """
-10 HST / -9 AKST / -8 AKDT / -7 MST PDT / -6 MDT / -5 EST / -4 EDT AST / 0 Z UTC GMT WET
1 WEST CET MET BST WAT / 2 CEST MEST EET SAST CAT / 3 EEST EAT / 5 PKT / 7 WIB / 8 HKT AWST / 9 JST
10 AEST / 11 AEDT / 12 NZST / 13 NZDT
"""
ZONES = {
    name: float(hours)
    for hours, *names in (part.split() for part in re.split("[/\n]", _ZONE_HOURS.strip()))
    for name in names
}
"""Hours east of Greenwich of the zone names that had one meaning alone in the tz database since 2003.

CST, IST, PST, CDT, MSK and KST had several: they stay unknown.
"""


class Clock(NamedTuple):
    """What one line says of time. `day` are the three fields of a date as printed.

    `only_above_header` marks a reading that only a report right below it confirms: a bare number may be an
    epoch, "Time: 12:24:01" may be prose, and a time without seconds the date of somebody's post.
    """

    day: tuple[int, int, int] | None = None
    separator: str = ""
    seconds: float | None = None
    offset_s: float | None = None
    epoch: float | None = None
    has_am_pm: bool = False
    only_above_header: bool = False


def parse_date(text: str) -> Clock | None:
    """A banner's date, in figures or with the month's name."""
    match = _DATE.search(text)
    if not match:
        found = _of_words([*text.split(), "00:00:00"])
        return found._replace(seconds=None) if found and found.day else None
    return Clock(day=(int(match[1]), int(match[3]), int(match[4])), separator=match[2])


def parse_line(text: str) -> Clock | None:
    """A line that holds nothing but a time.

    `iostat -t` in any locale, an epoch, `date`, the zzz of OSWatcher and ExaWatcher, the TS of pt-stalk.
    """
    if len(text) > _LONGEST:
        return None
    stripped = text.strip()
    if match := _STAMP.fullmatch(stripped):
        return Clock(epoch=float(match[1]), only_above_header=True)
    if _EPOCH.fullmatch(stripped):
        return Clock(epoch=float(stripped), only_above_header=not _RECENT.match(stripped))
    if match := _ISO.fullmatch(stripped):
        return _iso(match)
    words = _AROUND.sub("", stripped).replace(",", " ").split()
    found = _of_words(words) if 1 <= len(words) <= 9 else None
    has_seconds = bool(_WITH_SECONDS.search(stripped))
    return found._replace(only_above_header=found.only_above_header or not has_seconds) if found else None


def find_stamp(text: str) -> Clock | None:
    """The first time inside a text (the mark that a log collector put in front of a line)."""
    if match := _ISO.search(text):
        return _iso(match)
    words = text.strip().strip("[]<>").split()
    for first in range(len(words)):
        for last in range(min(len(words), first + 7), first, -1):
            if found := _of_words([word.strip("[]()") for word in words[first:last]], is_partial=True):
                return found
    if match := re.search(r"(?<![\d:])\d{1,2}:\d{2}:\d{2}(?:\.\d{1,9})?(?![\d:])", text):
        return Clock(seconds=parse_time(match[0]))
    match = EPOCH_STAMP.search(text)
    return Clock(epoch=float(match[1])) if match else None


def _iso(match: re.Match[str]) -> Clock:
    seconds = seconds_of(match[4], match[5], match[6].replace(",", "."), None)
    day = (int(match[1]), int(match[2]), int(match[3]))
    return Clock(day, "-", seconds, zone_offset(match[7]) if match[7] else None)


def _of_words(words: Sequence[str], is_partial: bool = False) -> Clock | None:
    """A date and a time from words in any order; None when one of them is neither.

    `is_partial` takes a day without its year, as syslog has it, for a time of day.
    """
    clock = Clock()
    year = month = day = at = of_time = 0
    month_word = ""
    while at < len(words):
        word, taken = words[at].strip("().;"), 1
        if clock.day is None and (found := _DATE.fullmatch(words[at])):
            clock = clock._replace(day=(int(found[1]), int(found[3]), int(found[4])), separator=found[2])
        elif clock.seconds is None and (timed := leading_time(words[at:]))[1]:
            seconds, taken = timed
            of_time += taken
            half = any(re.fullmatch(_HALF, part) for part in words[at + 1 : at + taken])
            clock = clock._replace(seconds=seconds, has_am_pm=half)
        elif not year and re.fullmatch(r"(?:19|20)\d{2}年?", word):
            year = int(word[:4])
        elif not day and (number := re.fullmatch(r"(\d{1,2})(?:日|st|nd|rd|th)?", word)):
            day = int(number[1])
        elif (named := _month(word)) and (not month or month_word in _WEEKDAYS):
            month, month_word = named, word.lower()
        elif word in ZONES or (clock.seconds is not None and _OFFSET.fullmatch(words[at])):
            clock = clock._replace(offset_s=zone_offset(word))
        elif not at and word.rstrip(":：").lower() in _TIME_WORDS:
            of_time += 1
        elif word.lower() not in _WEEKDAYS and not _UNDATED.fullmatch(word):
            return None
        at += taken
    if clock.seconds is None:
        return None
    if month and day and (year or is_partial):
        return clock._replace(day=(year, month, day), separator="-") if year else clock
    if clock.day is not None and not (month or year):
        return clock
    return clock._replace(only_above_header=True) if of_time == len(words) else None


def _month(word: str) -> int:
    lowered = word.lower()
    if numbered := re.fullmatch(r"(\d{1,2})月", word):
        return int(numbered[1])
    if not lowered.isalpha() or not 3 <= len(lowered) <= 10:
        return 0
    return _MONTHS.get(lowered[:4], _MONTHS.get(lowered[:3], 0))


def leading_time(words: Sequence[str]) -> tuple[float | None, int]:
    """Seconds of the day that the first words say, and how many of them do (0: none).

    `12:24:01`, `12:24:01 PM`, `12:24:01 p. m.`, `12時24分01秒`, `12.24.01`, `12시 24분 01초`.
    """
    if not words[0][:1].isdigit():
        return None, 0
    for taken in range(min(len(words), 4), 0, -1):
        text = " ".join(words[:taken])
        seconds = parse_time(text) if len(text) <= 24 else None
        if seconds is not None:
            return seconds, taken
    return None, 0


def parse_time(text: str) -> float | None:
    """Seconds of the day of `12:24:01`, `12:24:01 PM`, `12時24分01秒`; None for anything else."""
    text = text.strip()
    if match := _TIME.fullmatch(text):
        return seconds_of(match[1], match[2], match[3], match[4])
    match = _DOTTED_TIME.fullmatch(text)
    return seconds_of(match[1], match[2], match[3], None) if match else None


def seconds_of(hour: str, minute: str, second: str | None, half: str | None) -> float | None:
    """Seconds since midnight; None where a field is beyond its range. `half` begins with A or P."""
    hours, minutes, seconds = int(hour), int(minute), float(second or 0)
    if half:
        hours = hours % 12 + (12 if half[0] in "pP" else 0)
    if hours > 24 or minutes > 59 or seconds >= 62:
        return None
    return hours * 3600 + minutes * 60 + seconds


def zone_offset(zone: str) -> float | None:
    """Seconds east of Greenwich; None for a zone that only its place would tell."""
    if zone in ZONES:
        return ZONES[zone] * 3600
    match = _OFFSET.fullmatch(zone)
    if not match:
        return None
    seconds = int(match[2]) * 3600 + int(match[3] or 0) * 60
    return float(-seconds if match[1] == "-" else seconds)


def day_order(clocks: Iterable[Clock], has_am_pm: bool, this_year: int | None = None) -> tuple[str, str]:
    """`mdy`, `dmy` or `ymd` for a whole input, and the sentence that states it where it was a guess.

    A field above 12 settles it, a dot (German) too, and so do dates that lie days apart one way and
    months the other; a 12-hour clock is American; else the C locale's month-first holds. No locale
    puts dashes behind a month in front: 10-01-28 is day-first, or, as no capture is of the future
    (after `this_year`), begins with its year.
    """
    dates = [c for c in clocks if c.day and not _is_year_first(c)]
    if not dates:
        return "mdy", ""
    firsts, seconds, thirds = ({c.day[at] for c in dates if c.day} for at in range(3))
    example = dates[0].separator.join(f"{field:02d}" for field in dates[0].day or ())
    is_dashed = all(c.separator == "-" for c in dates)
    may_end_in_day = is_dashed and max(seconds) <= 12 and max(thirds) <= 31
    if may_end_in_day and 2000 + max(thirds) > (this_year or date.today().year):
        return "ymd", f"the date {example} is taken as year-month-day: any other reading is of the future"
    if max(firsts) > 12:
        return "dmy", ""
    if max(seconds) > 12:
        return "mdy", ""
    if all(c.separator == "." for c in dates):
        return "dmy", ""
    month_first, day_first = _span_days(dates, "mdy"), _span_days(dates, "dmy")
    if 0 < day_first <= 7 and month_first >= 28:
        return "dmy", f"the date {example} is taken as day/month: the others then lie days apart, not months"
    if has_am_pm or any(c.has_am_pm for c in dates):
        return "mdy", f"the date {example} is taken as month/day: the 12-hour clock is American"
    if is_dashed:
        return "dmy", f"the date {example} may be day-month or month-day; taken as day-month, as in Dutch"
    return "mdy", f"the date {example} may be month/day or day/month; taken as month/day (the C locale)"


def _span_days(clocks: list[Clock], order: str) -> int:
    days = {to_day(clock, order) for clock in clocks} - {None}
    known = sorted(day for day in days if day is not None)
    return (known[-1] - known[0]).days if known else 0


def _is_year_first(clock: Clock) -> bool:
    return clock.separator == "年" or bool(clock.day and clock.day[0] > 31)


def to_day(clock: Clock, order: str) -> date | None:
    """The calendar day of a clock, or None where it has none or an impossible one."""
    if clock.day is None:
        return None
    first, second, third = clock.day
    if _is_year_first(clock) or order == "ymd":
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


def moment(clock: Clock | None, order: str) -> float:
    """Seconds since 1970 of a clock with a date (as if it were UTC where it names no zone); else NaN."""
    if clock is None:
        return float("nan")
    if clock.epoch is not None:
        return clock.epoch
    day = to_day(clock, order)
    if day is None or clock.seconds is None:
        return float("nan")
    return epoch_of(day, clock.seconds) - (clock.offset_s or 0.0)


_SHORTEST_ARCHIVED_S = 60.0
"""Samples of an archive are not shorter."""


def unroll_midnight(seconds: Floats) -> Floats:
    """Times of day in the order of a report, with a day added at every midnight passed.

    Only a fall of half a day or more is midnight; a smaller one is a changed clock.
    """
    steps = np.diff(seconds, prepend=seconds[:1])
    days = np.cumsum(steps <= -DAY_S / 2)
    result: Floats = seconds + days * DAY_S
    return result


GOES_BACK = (
    "its clock is before that of the row above: rows are out of order or damaged, or the clock was set"
)


def first_back(ends: Floats, group: npt.NDArray[np.int64] | None = None) -> int:
    """The first place whose time is before that of the place above, both of one group; -1 where none is."""
    is_back = np.diff(ends) < 0
    if group is not None:
        is_back &= group[1:] == group[:-1]
    return int(np.argmax(is_back)) + 1 if is_back.any() else -1


def with_am_pm(days: Floats, seconds: Floats) -> Floats:
    """Times of day of clocks with twelve hours that do not name their half, told by one that goes back.

    Some locales print no AM and PM. `days` are the midnights of each, all NaN where no date is known. A first
    hour of twelve is taken as noon, any other as before it; but one within two samples behind twelve o'clock
    as midnight, where samples are long: so an archive begins. Where the clocks then do not go on as evenly as
    elsewhere, one was set back or the run was another: they stay as printed.
    """
    is_same_day = np.diff(np.nan_to_num(days)) == 0
    is_back = (np.diff(seconds) < 0) & is_same_day
    if not is_back.any() or seconds.min() < 3600 or seconds.max() >= DAY_S / 2 + 3600:
        return seconds
    of_half = seconds % (DAY_S / 2)
    usual = float(np.median(np.diff(of_half)))
    is_noon = seconds[0] >= DAY_S / 2 and (usual < _SHORTEST_ARCHIVED_S or of_half[0] > 2 * usual)
    steps = np.append(is_noon, (np.diff(of_half) < 0) & is_same_day)
    halves = np.cumsum(steps)
    day_starts = np.append(True, ~is_same_day)
    halves -= np.where(day_starts, halves - steps, 0)[
        np.maximum.accumulate(np.where(day_starts, range(len(steps)), 0))
    ]
    result: Floats = of_half + halves * (DAY_S / 2)
    lengths = np.diff(np.nan_to_num(days) + result)
    is_even = (
        (halves.max() <= 1 or np.isnan(days).all())
        and lengths.min() >= 0
        and lengths.max() <= 2 * np.sort(lengths)[(len(lengths) - 1) // 2]
    )
    return result if is_even else seconds


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
        # a length that is there: of 2 and 1 seconds the shorter, as no tool sleeps less than asked
        usual = float(np.sort(known)[(len(known) - 1) // 2])
        if usual <= 10:
            lengths = np.where(np.abs(lengths - usual) <= 1.0, usual, lengths)
    return lengths


_GRID = (*range(1, 11), 12, 15, 20, 30, 60)
_NONE: Floats = np.empty(0)


def grid_interval(
    rates: Floats, among: Sequence[float] = _GRID, by_chance: float = 1e-5, kb: Floats = _NONE
) -> float:
    """The interval that printed rates (two decimals) betray: all are multiples of 1/T; else NaN.

    A rate is a whole number of events divided by T. By chance a value lies on the grid of T with
    probability T/50, so T is believed when enough values lie on its grid that chance is below `by_chance`.
    `kb` are rates of whole sectors in kB: multiples of 1/2T, whose last place is that of two sectors.
    """
    values, of_sectors = (np.unique(np.abs(of[np.isfinite(of) & (of != 0)])) for of in (rates, kb))
    if len(values) + len(of_sectors) < 3:
        return float("nan")
    for length in among:
        chance = min(1.0, 0.0202 * length) ** len(values) * min(1.0, 0.0404 * length) ** len(of_sectors)
        if (
            chance < by_chance
            and is_on_grid(values, length).all()
            and is_on_grid(of_sectors, 2 * length).all()
        ):
            return float(length)
    return float("nan")


def is_on_grid(rates: Floats, length: float) -> Bools:
    """Whether each rate of two decimals is a whole number of events over an interval."""
    result: Bools = np.abs(rates * length - np.round(rates * length)) <= 0.0051 * length
    return result


def is_on_usual_grid(rates: Floats) -> bool:
    """Whether rates can be whole numbers of events over some usual interval, as next to any lone one can."""
    lengths = (length + more for length in _GRID for more in JITTER)
    return len(rates) < 2 or any(is_on_grid(rates, length).all() for length in lengths)


# a sample of a second takes a few hundredths more, and the kernel counts those
JITTER = (-0.01, 0.0, 0.01, 0.02, 0.03)
_FEWEST_RATES = 7  # all of which lie on the grid of T by chance once in 128 times if it is 2 T
SHARE_ON_GRID = 0.9
"""Of the rates of many samples, so many lie on the grid of their interval."""


def usual_grid(
    rates: Floats,
    report: npt.NDArray[np.int64],
    among: Sequence[float] = range(1, 11),
    instead: float = np.inf,
) -> float:
    """The interval that the rates of many reports betray, each of which may be some hundredths longer.

    `report` tells of which report each rate is. As `grid_interval`, but nine rates of ten are enough: chance
    would put them on a grid of T with a probability of T/20 each, and a true interval of `instead` with
    one of T/`instead`. NaN where nothing is proven.
    """
    for length in among:
        share, distinct = _on_grid(rates, report, length)
        chance = min(0.999, max(0.0102 * length * len(JITTER), length / instead))
        if distinct >= _FEWEST_RATES and share >= SHARE_ON_GRID and share > chance:
            rest = (1 - share) * np.log((1 - share) / (1 - chance)) if share < 1 else 0.0
            if distinct * (share * np.log(share / chance) + rest) > np.log(1e6):
                return float(length)
    return float("nan")


def is_off_grid(rates: Floats, report: npt.NDArray[np.int64], length: float) -> bool:
    """Whether most rates of many reports lie off the grid of an interval of a few seconds."""
    share, distinct = _on_grid(rates, report, length)
    return length <= 3 and distinct >= 2 * _FEWEST_RATES and share <= 0.5


def are_near_grid(rates: Floats, report: npt.NDArray[np.int64], length: float) -> bool:
    """Whether no rate of some reports lies off the grid of an interval, give or take hundredths."""
    share, distinct = _on_grid(rates, report, length)
    return bool(length > 0) and (share == 1 or not distinct)


def _on_grid(rates: Floats, report: npt.NDArray[np.int64], length: float) -> tuple[float, int]:
    """The share of rates on the grid of an interval, give or take hundredths, and how many differ."""
    is_known = np.isfinite(rates) & (rates > 0)
    values, of = rates[is_known], np.unique(report[is_known], return_inverse=True)[1]
    if not len(values):
        return 0.0, 0
    hits = []
    for more in JITTER:
        hits.append(np.bincount(of, weights=is_on_grid(values, length + more)))
    return float(np.max(hits, axis=0).sum() / len(values)), len(np.unique(values))
