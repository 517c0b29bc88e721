"""Times of reports that come one after the other: their ends, their lengths, and whether one is since boot.

For formats that hold a clock per report or none, as iostat prints them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.formats import clock as _clock
from iodiag.formats.clock import Clock
from iodiag.formats.text.structure.blocks import ClockSequence
from iodiag.table.table import Bools, Floats, Ints

_FEWEST_LATER = 3
_MOST_LATER = 100
_MOST_ROWS = 10_000
_FEWEST_CELLS = 6
_ALIKE = 0.25
_BESIDE = 0.15
_TICKS = (100.0, 250.0, 1000.0)
_NEAR_TICK, _BELOW_TICK, _FEWEST_AT_TICK = 1.1, 0.8, 3
_SHARE_ALIKE = 0.8
_RARELY = 0.01
_SELDOM = 1e-3
_OF_ANY = _SELDOM / 15  # as many intervals are tried: chance puts a report on one of them as seldom
_EQUAL = 0.05
_SHARE_EQUAL = 2 / 3
_ALL_THE_TIME = 99.9
ZONE_STEP = 900.0
"""Local times of two zones are some of these seconds apart."""
_FEW_MINUTES, _TEN_MINUTES = 300.0, 600.0
_ODD = 0.002
_SIX_HOURS = 21_600.0
_TELLING, _FEW_KB = 100.0, 10.0
_AGREE = 1.02
_LARGE_KB = 64.0  # a rounded rate of such requests leaves 64 last places of their kB open
_FEWEST_OFF, _FEWEST_OF_ONE = 2, 7  # of one later report, rates that prove its grid and that lie off it
_MANY_TIMES = 20.0  # no interval changes so within a run
SHORTER, _LONGER = 0.9, 1.25
"""Times its interval that a sample of the same length may last, by a little jitter."""
_BY_LUCK, _NEAR = 0.05, 0.1
_CENT = 0.01  # the last place of two decimals
_FEWEST_OWN, _BY_NO_LUCK = 3, 1e-6  # of one report, rates that prove another length than the command's
_PAGE_KB, _SHARE_ODD = 4.0, 0.25
_LONGEST_COUNTED = 5.0  # beyond it two decimals put a tenth of all numbers on a grid
_LONGEST_TOLD = 100.0  # two decimals put all numbers on the grid of it


class RowGroup(NamedTuple):
    """Rows with the same columns. `rates_at` are the places of those that count events per second.

    `sectors_at` are the places of those, in kB, that the source prints as sectors or kB per second. `util_at`
    are those of the share of time busy, `now_at` those that are of the moment and no average, `totals_at`
    pairs of a rate and the amount that it makes in the whole report, `means_at` the means over requests,
    `moved_at` pairs of a rate of requests and the kB per second that these move, `interrupts_at` those that
    count interrupts, `pages_at` those of whole kB that vmstat moves. `step` is the last place printed.
    """

    report: Ints
    items: npt.NDArray[np.generic]
    numbers: Floats
    rates_at: tuple[int, ...]
    sectors_at: tuple[int, ...] = ()
    util_at: tuple[int, ...] = ()
    now_at: tuple[int, ...] = ()
    totals_at: tuple[tuple[int, int], ...] = ()
    means_at: tuple[int, ...] = ()
    moved_at: tuple[tuple[int, int], ...] = ()
    interrupts_at: tuple[int, ...] = ()
    pages_at: tuple[int, ...] = ()
    step: float = 0.01

    def only(self, chosen: npt.NDArray[np.bool_] | Ints) -> RowGroup:
        """Some of the rows."""
        return self._replace(
            report=self.report[chosen], items=self.items[chosen], numbers=self.numbers[chosen]
        )


class Ends(NamedTuple):
    """The end of every report in seconds, NaN without a clock; since 1970 where `is_dated`.

    `is_aware` says that they are absolute, whatever zone they were printed in.
    """

    seconds: Floats
    is_dated: bool
    is_aware: bool


class Seconds(NamedTuple):
    """Times of a sequence of clocks: as shown, the zone's offset (NaN unknown), whether the day is known."""

    local: Floats
    offset: Floats
    is_dated: npt.NDArray[np.bool_]


def seconds_of(shown: ClockSequence, segment: Ints, midnight: Floats, order: str) -> Seconds:
    """Clocks in their order as seconds since 1970; one without a date continues its segment's over midnights.

    It is of the day of the last one above it with a date (`date; top -b -d 5`), where it goes on within a few
    minutes: else that one may be of another zone (`date -u`). `midnight` is that of the day on which the
    segment of each begins, NaN where it is not known.
    """
    table = np.array([*(_fields(clock, order) for clock in shown.clocks), (np.nan,) * 4])
    epoch, day, seconds, offset = table[shown.at].T
    seconds = seconds + shown.later
    told = np.flatnonzero(np.isnan(epoch) & (shown.at >= 0))
    for run in runs(segment[told]):
        # what prints a zone prints the half of a day of twelve hours as well
        is_whole = any(shown.clocks[at].has_am_pm for at in np.unique(shown.at[told[run]]))
        if not (is_whole or np.isfinite(offset[told[run]]).any()):
            seconds[told[run]] = _clock.with_am_pm(day[told[run]], seconds[told[run]])
    local = np.where(np.isnan(epoch), day + seconds, epoch)
    is_dated = ~np.isnan(local)
    undated = np.flatnonzero(~is_dated & (shown.at >= 0))
    dated = np.flatnonzero(~np.isnan(day))
    begin = np.searchsorted(segment, segment[undated])
    above = np.append(-1, dated)[np.searchsorted(dated, undated)]
    for run in runs(np.maximum(above, begin)):
        here = undated[run]
        later = (seconds[here[0]] - seconds[above[run.start]]) % _clock.DAY_S
        is_below = above[run.start] >= begin[run.start] and later < ZONE_STEP
        first = above[run.start] if is_below else here[0]
        base = day[first] if is_below else midnight[first]
        whole = _clock.unroll_midnight(np.append(seconds[first], seconds[here]))[1:]
        local[here] = whole + (0.0 if np.isnan(base) else base)
        is_dated[here] = not np.isnan(base)
    return Seconds(local, offset, is_dated)


def _fields(clock: Clock, order: str) -> tuple[float, float, float, float]:
    """A clock's epoch, midnight, seconds of the day, and seconds east of Greenwich; NaN where not told."""
    day = _clock.to_day(clock, order)
    epoch = np.nan if clock.epoch is None else clock.epoch
    offset = 0.0 if clock.epoch is not None else np.nan if clock.offset_s is None else clock.offset_s
    return epoch, np.nan if day is None else _clock.epoch_of(day, 0.0), clock.seconds or 0.0, offset


def runs(numbers: Ints) -> Iterator[slice]:
    """The stretches of equal numbers in an array that never falls."""
    if not len(numbers):
        return
    if numbers[0] == numbers[-1]:
        yield slice(0, len(numbers))
        return
    edges = np.flatnonzero(np.diff(numbers)) + 1
    for first, last in zip([0, *edges.tolist()], [*edges.tolist(), len(numbers)], strict=True):
        yield slice(first, last)


def ends_of(clocks: Sequence[Clock | None], day: date | None, order: str) -> Ends:
    """The ends of reports from their clocks; where these have no date, `day` is that of the first."""
    told = [c if c and (c.seconds is not None or c.epoch is not None) else None for c in clocks]
    midnight = np.full(len(told), _clock.epoch_of(day, 0.0) if day else np.nan)
    found = seconds_of(ClockSequence.of(told), np.zeros(len(told), dtype=np.int64), midnight, order)
    is_told = np.array([clock is not None for clock in told], dtype=np.bool_)
    is_aware = ~np.isnan(found.offset)
    return Ends(
        seconds=found.local - np.where(is_aware, found.offset, 0.0),
        is_dated=bool(is_told.any() and found.is_dated[is_told].all()),
        is_aware=bool(is_told.any() and is_aware[is_told].all()),
    )


class Stretches(NamedTuple):
    """The numbers of reports and the phase of each, which never falls: the time between phases is unknown."""

    report: Ints
    phase: Ints


def lengths_of(
    ends: Floats, stated: float | None, groups: Sequence[RowGroup], stretches: Stretches | None = None
) -> Floats:
    """The length of every report: from the clocks, else as stated, else from the grid of the rates.

    The first report of a phase is as long as those below it. If it stands alone, its clock counts only where
    the capture goes on at its usual pace. What was stated goes before clocks where the rates lie on its grid,
    and rates that all lie on another one go before it.
    """
    is_timed = len(ends) > 1 and not np.isnan(ends).any()
    report = stretches.report if stretches else np.arange(len(ends))
    between = np.diff(ends, prepend=np.nan)
    if is_timed and stated is not None:
        between = np.where(_are_cut(groups, report, between, stated), stated, between)
    elif is_timed:
        between = _without_gaps(between)
    if stretches is None or stretches.phase[0] == stretches.phase[-1]:
        lengths = (
            _lengths_by_clock(between, stated) if is_timed else np.full(len(ends), _length(stated, groups))
        )
    else:
        lengths = np.full(len(ends), np.nan)
        phases = list(runs(stretches.phase))
        if is_timed:
            lengths = np.concatenate([_lengths_by_clock(between[run], stated) for run in phases])
            usual = float(np.nanmedian(lengths)) if not np.isnan(lengths).all() else np.nan
            is_usual = np.abs(between - usual) <= (1.0 if usual <= 10 else _EQUAL * usual)
            lengths = np.where(np.isnan(lengths) & is_usual, usual, lengths)
        for run in phases:
            if np.isnan(lengths[run]).all():
                lengths[run] = _length(stated, groups, stretches.report[run])
    if stated is not None:
        return _with_lost_ticks(lengths, groups, report, stated)
    return lengths if is_timed else _with_own_first(lengths, groups)


def _without_gaps(between: Floats) -> Floats:
    """The time between reports, unknown where it is that between two excerpts of an output.

    It is long, of a length that nobody asks for, and alone or many times the shortest.
    """
    known = between[between > 0]
    least = 0.0 if len(known) < 2 else _MANY_TIMES * float(known.min())
    is_gap = between > max(_TEN_MINUTES, least)
    # clocks are of whole seconds
    odd = [all(_is_odd(step + off) for off in (-1, 0, 1)) for step in between[is_gap].tolist()]
    is_gap[is_gap] = odd
    return np.where(is_gap, np.nan, between)


def _are_cut(groups: Sequence[RowGroup], report: Ints, between: Floats, stated: float) -> Bools:
    """Whether the rows above each report were left out: its own sample was as long as stated.

    Of a host so stuck that its sample lasted D s, one rate in D / `stated` lies on the grid of what was
    stated, and one share of time busy, which is counted in ms.
    """
    is_long = between > max(_LONGER * stated, stated + 1.0)
    if not is_long.any():
        return np.asarray(is_long)
    of, value, place = _told_by(groups, report[is_long])
    length = between[np.searchsorted(report, of)]
    luck = np.ones(report[-1] + 1)
    for n, more in enumerate((0.0, *_clock.JITTER)):
        grid = stated + more
        is_on = np.abs(value * grid - np.round(value * grid)) <= 0.51 * place * grid
        by_chance = np.clip(np.fmax(grid / length, 1.02 * place * grid), 1e-9, 1.0)
        found = np.exp(np.bincount(of, np.where(is_on, np.log(by_chance), np.inf), len(luck)))
        luck = np.fmin(luck, found * (len(_clock.JITTER) if n else 1))
    return np.asarray(is_long & (luck[report] < _BY_LUCK))


def _told_by(groups: Sequence[RowGroup], report: Ints) -> tuple[Ints, Floats, Floats]:
    """What tells the length of some reports, each number once: its report, events or ms per s, last place."""
    parts = [np.empty((3, 0))]
    for rows in groups:
        some = rows.only(np.isin(rows.report, report))
        for places, times in ((some.rates_at, 1.0), (some.util_at, 10.0)):
            cells = some.numbers[:, list(places)]
            own = np.broadcast_to(some.report[:, None], cells.shape)
            is_told = (cells > 0) & ((times == 1.0) | (cells < _ALL_THE_TIME))
            value = cells[is_told] * times
            parts.append(np.stack((own[is_told], value, np.full(len(value), 0.01 * times))))
    of, value, place = np.unique(np.concatenate(parts, axis=1), axis=1)
    return of.astype(np.int64), value, place


def _with_lost_ticks(lengths: Floats, groups: Sequence[RowGroup], report: Ints, stated: float) -> Floats:
    """The lengths, with that of each report by its own rates where they prove that less time was counted.

    A guest whose clock loses ticks divides by what it counted: all rates of a report and all its shares of
    CPU time lie on the grid of that, and the rates on none of what was stated. Of a sample a little longer
    all counts would have to be multiples of one number.
    """
    if stated > 2 * _LONGEST_COUNTED:
        return lengths
    tried = np.arange(5, SHORTER * 100 * min(stated, _LONGEST_COUNTED)) / 100
    near = np.arange(SHORTER * 100 * stated, _LONGER * 100 * stated) / 100
    for at in np.flatnonzero(np.abs(lengths - stated) <= _NEAR * stated)[:_MOST_LATER].tolist():
        own = [rows.only(rows.report == report[at]) for rows in groups]
        rates = np.concatenate([rows.numbers[:, list(rows.rates_at)].ravel() for rows in own])
        shares = [rows.numbers.ravel() for rows in own if not rows.rates_at and rows.step == _CENT]
        rates, both = (np.unique(of[of > 0]) for of in (rates, np.concatenate((rates, *shares))))
        is_stated = any(_clock.is_on_grid(rates, stated + more).all() for more in _clock.JITTER)
        if len(rates) < _FEWEST_OWN or is_stated:
            continue
        least = min((length for length in near if _clock.is_on_grid(rates, length).all()), default=np.inf)
        luck = len(tried) * (2.02 * _CENT * tried) ** len(both)
        is_proof = (luck < _BY_NO_LUCK) & ((tried / least) ** len(both) < _RARELY)
        fits = (length for length in tried[is_proof] if _clock.is_on_grid(both, length).all())
        lengths[at] = next(fits, lengths[at])
    return lengths


def _with_own_first(lengths: Floats, groups: Sequence[RowGroup]) -> Floats:
    """The lengths, with that of the first report by its own grid where it lies off that of the others."""
    first = _rates(groups, is_first=True)
    own = _clock.grid_interval(first)
    if not (np.isnan(own) or np.isnan(lengths[0]) or _clock.is_on_grid(first, lengths[0]).all()):
        lengths[0] = own
    return lengths


def _lengths_by_clock(between: Floats, stated: float | None) -> Floats:
    """Lengths from the time between ends alone; the first is as long as the usual one, of few as stated."""
    known = between[1:][between[1:] > 0]
    if stated is not None and 0 < len(known) < _FEWEST_LATER:
        is_usual = np.abs(between - stated) <= (1.0 if stated <= 10 else 0.0)
        lengths = np.where(is_usual, stated, np.where(between > 0, between, np.nan))
        lengths[0] = stated
        return np.asarray(lengths)
    lengths = _clock.interval_lengths(np.nancumsum(np.append(0.0, between[1:])), None)
    known = lengths[~np.isnan(lengths)]
    lengths[0] = np.median(known) if len(known) else np.nan
    return lengths


def _length(stated: float | None, groups: Sequence[RowGroup], reports: Ints | None = None) -> float:
    """The length that is stated, else that of the grid of the rates: of some reports, else of all."""
    if stated is not None:
        return stated
    later, first = _rates(groups, is_first=False), _rates(groups, is_first=True)
    tried = [later, np.concatenate((first, later))]
    if reports is not None:
        # the first report of a phase may be an average since boot
        some = (reports, reports[1:])
        tried[:0] = [_rates([rows.only(np.isin(rows.report, own)) for rows in groups], False) for own in some]
    found = (_clock.grid_interval(rates) for rates in tried)
    return next((length for length in found if not np.isnan(length)), _second_of_pages(groups))


def _second_of_pages(groups: Sequence[RowGroup]) -> float:
    """A second where nearly all kB per second are whole pages of 4 kB; nothing shorter is printed.

    Over 2 s every other number is a multiple of 4 by chance, over more fewer are. Where pages are larger all
    may be, but hardly any is an odd multiple: of pages of 4 kB half are. Of a program that moves nothing but
    8 kB, and no file system's own 4 kB beside it, two seconds look alike: they are taken for the shorter one.
    """
    later = [rows.numbers[rows.report > 0][:_MOST_ROWS, list(rows.pages_at)].ravel() for rows in groups]
    kb = np.unique(np.concatenate([np.empty(0), *later]))[:_MOST_LATER]
    kb = kb[kb > 0]
    pages = kb[kb % _PAGE_KB == 0] / _PAGE_KB
    by_chance = sum(math.comb(len(kb), count) for count in range(len(pages), len(kb) + 1)) / 2 ** len(kb)
    is_second = by_chance < _SELDOM and len(pages) >= _clock.SHARE_ON_GRID * len(kb)
    return 1.0 if is_second and (pages % 2).mean() >= _SHARE_ODD else float("nan")


def may_be_since_boot(
    groups: Sequence[RowGroup],
    stated: float | None = None,
    is_announced: bool = False,
    is_whole: bool = False,
) -> bool:
    """Whether the first report of a tool that begins with an average since boot can be that average.

    It cannot when its event rates all lie on the grid of a short interval, that of the command (`stated`)
    or of the other reports first of all, when a device is busy all the time or more, when its totals are
    those of a few minutes or all 0 (an unused disk has read its partitions), and it need not when its numbers
    are like those that follow: unless there are as many reports as the command prints (`is_whole`), or its
    rates alone lie off the grid. An interval that a command or the other reports tell of is believed sooner
    than one that nobody speaks of; where a banner (`is_announced`) shows that this is where the tool began,
    only if chance hardly makes it, or if its load is that of the other reports as well.
    """
    first = _rates(groups, is_first=True)
    if not np.isnan(_clock.grid_interval(first)):
        return False
    is_believed = is_alone(groups) or not is_announced
    length = stated or _likely_grid(groups)
    of_first = (rows.numbers[rows.report == 0][:, list(rows.sectors_at)].ravel() for rows in groups)
    kb = np.concatenate([np.empty(0), *of_first])
    # of one report below a command that prints many sectors tell as well: it may be of another run of it
    if stated and is_alone(groups) and not np.isnan(_clock.grid_interval(first, by_chance=_OF_ANY, kb=kb)):
        return False
    if is_believed and not np.isnan(length):
        # a sample of 10 s may take some hundredths more: of several lengths one fits by chance more often
        near = [length + more for more in _clock.JITTER]
        for tried in ([length], near):
            if not np.isnan(_clock.grid_interval(first, tried, _RARELY / len(tried), kb)):
                return False
        # one report that shows little: two whole counts of the command's own interval tell as well
        rates, kb = np.unique(first[first > 0]), np.unique(kb[kb > 0])
        chance = min(1.0, 0.0202 * length) ** (len(rates) + len(kb))
        is_on = _clock.is_on_grid(rates, length).all() and _clock.is_on_grid(kb, 2 * length).all()
        if is_alone(groups) and chance < _SELDOM and is_on:
            return False
    if not np.isnan(length) and not is_alone(groups):
        chance = _chance_on_grid(groups, length)
        is_proven = chance < (_RARELY if is_believed else _SELDOM)
        if is_proven or (not is_believed and chance < _BY_LUCK and _has_their_load(groups)):
            return False
    if any((rows.numbers[rows.report == 0][:, list(rows.util_at)] >= _ALL_THE_TIME).any() for rows in groups):
        return False
    if _totals_span(groups) <= _FEW_MINUTES:
        return False
    return is_whole or not _is_like_the_others(groups) or must_be_since_boot(groups)


def _likely_grid(groups: Sequence[RowGroup]) -> float:
    """The interval that the rates of the other reports betray, or those of all reports; NaN for neither."""
    found = _others_grid(groups)
    every = np.concatenate([_rates(groups, is_first) for is_first in (True, False)])
    return _clock.grid_interval(every) if np.isnan(found) else found


def _others_grid(groups: Sequence[RowGroup]) -> float:
    """The interval that the rates of all reports but the first betray; NaN where nothing is proven."""
    later = _rates(groups, is_first=False)
    found = _clock.grid_interval(later, kb=_large_kb(groups))
    # each sample may be some hundredths longer than the others
    return _clock.usual_grid(later, _reports_of_rates(groups)) if np.isnan(found) else found


def _chance_on_grid(groups: Sequence[RowGroup], length: float) -> float:
    """How likely an average has rates of events on the grid of a length as the first report has; 1 if off it.

    The rates of one row are of counters of their own, equal or not; those of several rows may be the same.
    Sectors of large requests are, too; those of small ones follow from the number of requests. A sample may
    be some hundredths longer.
    """
    chances = [_chance_on(groups, length), *(_chance_on(groups, length + more) for more in _clock.JITTER)]
    return min(chances[0], len(chances) * min(chances[1:]))


def _chance_on(groups: Sequence[RowGroup], length: float) -> float:
    most = 0
    for rows in (rows for rows in groups if rows.rates_at):
        first = rows.numbers[rows.report == 0]
        rates, kb = first[:, list(rows.rates_at)], first[:, list(rows.sectors_at)]
        if not _clock.is_on_grid(rates[rates > 0], length).all():
            return 1.0
        is_telling = _are_large(rates, kb) & _clock.is_on_grid(kb, 2 * length)
        most = max(most, int(((rates > 0).sum(axis=1) + is_telling.sum(axis=1)).max(initial=0)))
    return min(1.0, 0.0202 * length) ** most


def _are_large(rates: Floats, kb: Floats) -> Bools:
    """Which kB per second are of requests so large that their sectors do not follow from how many came."""
    result: Bools = kb >= _LARGE_KB * np.fmax(rates.max(axis=1, keepdims=True), 1.0)
    return result


def _has_their_load(groups: Sequence[RowGroup]) -> bool:
    """Whether every number beside a rate of events in the first report is near that of the others."""
    for rows in groups:
        for _, first, later in _side_by_side(rows) if rows.rates_at else ():
            usual = _medians(later)
            if (np.abs(first - usual) > np.fmax(_NEAR * np.abs(usual), 0.5)).any():
                return False
    return True


def must_be_since_boot(groups: Sequence[RowGroup], length: float = math.nan) -> bool:
    """Whether the numbers alone prove that the first report is an average since boot.

    Its totals and rates are those of an odd length of more than ten minutes, its requests have a size or a
    latency though their rates round to nothing, or its event rates lie off the grid on which all others lie.
    Few of those prove no grid; where clocks tell the `length` of all, it is enough that none lies off it.
    """
    span = _totals_span(groups)
    if not np.isnan(span):
        return bool(span > _TEN_MINUTES and _is_odd(span))
    rounded = [np.unique(rows.report[_is_rounded_down(rows)]) for rows in groups]
    if any(len(reports) == 1 and reports[0] == 0 for reports in rounded):
        return True
    later = _rates(groups, is_first=False)
    usual = _others_grid(groups)
    is_single = _later(groups) < 2
    is_told = length <= _LONGEST_TOLD and _clock.are_near_grid(later, _reports_of_rates(groups), length)
    if np.isnan(usual) and is_told:
        usual, is_single = length, False
    if np.isnan(usual) or (is_single and len(np.unique(later[later > 0])) < _FEWEST_OF_ONE):
        return False
    first = np.unique(_rates(groups, is_first=True))
    first = first[first > 0]
    # a sample of another length, or of a few hundredths more or less, lies on the grid of its own
    is_sample = not np.isnan(_clock.grid_interval(first))
    if is_sample or any(_clock.is_on_grid(first, near).all() for near in (*_like(usual), *_like(1.0))):
        return False
    is_off = ~_clock.is_on_grid(first, usual)
    fewest = _FEWEST_OF_ONE if is_single else _FEWEST_OFF
    return bool(is_off.sum() >= fewest and is_off.mean() >= 0.5)


def is_first_open(groups: Sequence[RowGroup]) -> bool:
    """Whether the first report may be an average since boot and is unlike those that follow.

    One that none follows is, where its rates are no whole numbers of events over any usual interval.
    """
    if is_alone(groups):
        first = np.unique(_rates(groups, is_first=True))
        is_sample = _clock.is_on_usual_grid(first[first > 0])
    else:
        is_sample = lies_among(groups)
    return not is_sample and may_be_since_boot(groups)


def _like(usual: float) -> Floats:
    """Lengths of a sample near the usual one: the kernel counts hundredths of a second."""
    return np.arange(round(SHORTER * 100 * usual), round(_LONGER * 100 * usual) + 1) / 100


def anew_at_boot(groups: Sequence[RowGroup], stretches: Stretches) -> Ints:
    """The first reports of later phases whose numbers prove that the tool was started again for them."""
    starts = stretches.report[[run.start for run in runs(stretches.phase)][1:]]
    is_anew = [must_be_since_boot(own) for _, own in by_start(groups, starts)]
    return np.array(starts[is_anew], dtype=np.int64)


def by_start(groups: Sequence[RowGroup], starts: Ints) -> Iterator[tuple[int, Sequence[RowGroup]]]:
    """Each of some reports, and the rows from it to the next of them, numbered from 0."""
    parts = zip(*(_by_start(rows, starts) for rows in groups), strict=True)
    yield from zip(starts.tolist(), parts, strict=True)


def is_another_start(groups: Sequence[RowGroup]) -> bool:
    """Whether the first of several reports, which nothing announces, is an average by its numbers."""
    is_unlike = stands_out(groups) or any(_is_below_tick(rows) for rows in groups)
    return is_unlike and may_be_since_boot(groups)


def _is_below_tick(rows: RowGroup) -> bool:
    """Whether fewer interrupts came in the first report than the timer makes in each second of all others."""
    for place in rows.interrupts_at:
        first, later = (rows.numbers[(rows.report == 0) == is_first, place] for is_first in (True, False))
        tick = max((rate for rate in _TICKS if rate <= later.min(initial=np.inf)), default=np.nan)
        if np.count_nonzero(later <= _NEAR_TICK * tick) >= _FEWEST_AT_TICK:
            return bool((first < _BELOW_TICK * tick).all())
    return False


def lies_among(groups: Sequence[RowGroup]) -> bool:
    """Whether every number of the first report lies in the range of those that follow, or next to it."""
    for rows in groups:
        for _, first, later in _side_by_side(rows):
            least, most = np.nanmin(later, axis=0), np.nanmax(later, axis=0)
            if ((first < (1 - _BESIDE) * least - 1) | (first > (1 + _BESIDE) * most + 1)).any():
                return False
    return not is_alone(groups)


def first_and_its_copy(groups: Sequence[RowGroup]) -> Ints:
    """The first report, which averages since boot, and a second that prints the same of a host with a load.

    No interval has the mean of weeks to the last digit in so many columns.
    """
    same = used = 0
    for rows in groups:
        of_rates = np.delete(rows.numbers, list(rows.now_at), axis=1)
        first, second = (of_rates[rows.report == number] for number in (0, 1))
        if first.shape != second.shape or not np.array_equal(first, second, equal_nan=True):
            return np.zeros(1, dtype=np.int64)
        used += int((first > 0).sum())
        same += len(first)
    is_copy = _later(groups) >= 2 and used >= _FEWEST_CELLS * max(same, 1)
    return np.arange(1 + is_copy, dtype=np.int64)


def _by_start(rows: RowGroup, starts: Ints) -> Iterator[RowGroup]:
    """The rows from each of some reports to the next of them, numbered from 0."""
    number = np.searchsorted(starts, rows.report, "right")
    order = np.argsort(number, kind="stable")
    edges = np.searchsorted(number[order], np.arange(len(starts)) + 1)
    for start, own in zip(starts.tolist(), np.split(order, edges)[1:], strict=True):
        part = rows.only(own)
        yield part._replace(report=part.report - start)


def _is_rounded_down(rows: RowGroup) -> npt.NDArray[np.bool_]:
    """The rows with requests that come less than once in 200 s: they have a size, a latency, or move some kB.

    Drivers that count no requests move more than such a seldom one can.
    """
    has_requests = (rows.numbers[:, list(rows.means_at)] > 0).any(axis=1)
    is_none = (rows.numbers[:, list(rows.rates_at)] == 0).all(axis=1)
    result: npt.NDArray[np.bool_] = has_requests & is_none & bool(rows.rates_at)
    for rate, kb in rows.moved_at if rows.rates_at else ():
        moved = rows.numbers[:, kb]
        result |= (rows.numbers[:, rate] == 0) & (moved > 0) & (moved < _ONE_IN_200_S_KB)
    return result


_ONE_IN_200_S_KB = 1024 / 200
"""kB per second of one request of a megabyte, about as large as any, in 200 s."""


def is_alone(groups: Sequence[RowGroup]) -> bool:
    """Whether no report follows the first."""
    return all((rows.report == 0).all() for rows in groups)


def stands_out(groups: Sequence[RowGroup]) -> bool:
    """Whether the first report lies outside the range of those that follow.

    By half in two cells, or by four times in one; columns of the moment do not count.
    """
    outside = far = 0
    for rows in groups:
        for _, first, later in _side_by_side(rows):
            least, most = np.nanmin(later, axis=0), np.nanmax(later, axis=0)
            outside += int(((first < least / 1.5 - 1) | (first > most * 1.5 + 1)).sum())
            far += int(((first < least / 4 - 1) | (first > most * 4 + 4)).sum())
    return outside >= 2 or far >= 1


def _later(groups: Sequence[RowGroup]) -> int:
    return max((len(np.unique(rows.report[rows.report > 0])) for rows in groups), default=0)


def _totals_span(groups: Sequence[RowGroup]) -> float:
    """The seconds that the first report's totals and rates are of; NaN where it has none or they disagree.

    One pair alone proves no long time, and no host has just booted that has a short one.
    """
    spans = [np.empty(0)]
    for rows in groups:
        first = rows.numbers[rows.report == 0]
        for rate, total in rows.totals_at:
            is_known = first[:, rate] >= 1
            spans.append(first[is_known, total] / first[is_known, rate])
    found = np.concatenate(spans)
    if len(found) == 1 and found[0] <= _FEW_MINUTES:
        return float(found[0])
    if len(found) < 2 or np.ptp(found) > 0.02 * np.median(found):
        return float("nan")
    return float(np.median(found))


def of_longer_totals(groups: Sequence[RowGroup], starts: Ints, stated: float | None) -> Ints:
    """The reports among `starts` whose totals make another length than the command's or that of the others.

    A tool that begins anew averages since boot; the totals of all other reports make one length.
    """
    report, span = _spans(groups)
    is_start = np.isin(report, starts)
    others = span[~is_start]
    usual = stated if stated is not None else float(np.median(others)) if len(others) else np.nan
    if np.isnan(usual) or (np.abs(others / usual - 1) > 0.02).any():
        return np.empty(0, dtype=np.int64)
    is_odd = np.array([_is_odd(length) for length in span.tolist()], dtype=np.bool_)
    is_longer = (span >= _LONGER * usual) & is_odd
    # of one report all totals must say so
    return np.setdiff1d(report[is_start & is_longer], report[is_start & ~is_longer])


def _spans(groups: Sequence[RowGroup], least: float = _TELLING) -> tuple[Ints, Floats]:
    """The report of each total, of so many kB, that tells a length, and that length in seconds."""
    reports, spans = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for rows in groups:
        for rate, total in rows.totals_at:
            is_known = (rows.numbers[:, rate] >= 1) & (rows.numbers[:, total] >= least)
            reports.append(rows.report[is_known])
            spans.append(rows.numbers[is_known, total] / rows.numbers[is_known, rate])
    return np.concatenate(reports), np.concatenate(spans)


def with_totals(lengths: Floats, groups: Sequence[RowGroup]) -> Floats:
    """The lengths of all reports by their totals, in whole seconds.

    One that is not known, where the totals of its report agree; and one that all of them make far shorter,
    as a gap between two captures is no part of the sample behind it. A total is cut to a whole unit, so that
    the longest is nearest.
    """
    report, span = _spans(groups)
    least, most = np.full((2, len(lengths)), np.nan)
    np.fmin.at(least, report, span)
    np.fmax.at(most, report, span)
    is_told = np.isnan(lengths) & (most <= _AGREE * least)
    lengths = np.where(is_told, np.round((least + most) / 2), lengths)
    longest = np.full(len(lengths), np.nan)
    np.fmax.at(longest, *_spans(groups, _FEW_KB))
    return np.asarray(np.where(longest < lengths / 2, np.fmax(np.round(longest), 1.0), lengths))


def _is_odd(span: float) -> bool:
    """Whether nobody asks for samples of so many seconds: no whole minutes or 5 s, or more than six hours."""
    step = 60 if span > _TEN_MINUTES else 5
    return span > _SIX_HOURS or abs(span / step - round(span / step)) * step > _ODD * span


def _is_like_the_others(groups: Sequence[RowGroup]) -> bool:
    """Whether the first report could be any of those that follow.

    Within a quarter of their median in four cells of five; beside one or two of them, within a twentieth
    in two cells of three, and no rate of events further off than a quarter.
    """
    is_many = _later(groups) >= _FEWEST_LATER
    near, enough = (_ALIKE, _SHARE_ALIKE) if is_many else (_EQUAL, _SHARE_EQUAL)
    # next to nothing is like next to nothing
    least = 0.5 if is_many else 0.02
    alike = total = 0
    for rows in groups:
        for known, first, later in _side_by_side(rows):
            usual = _medians(later)
            counts = (np.abs(first) > least) | (np.abs(usual) > least)
            off = np.abs(first - usual)
            is_event = np.isin(known, rows.rates_at)
            if not is_many and (off > np.fmax(_ALIKE * np.abs(usual), 0.5))[is_event].any():
                return False
            alike += int((off <= np.fmax(near * np.abs(usual), 0.011))[counts].sum())
            total += int(counts.sum())
    return total >= _FEWEST_CELLS and alike >= enough * total


def _side_by_side(rows: RowGroup) -> Iterator[tuple[Ints, Floats, Floats]]:
    """The columns that average, and in them each row of the first report beside what follows of its item."""
    later = np.flatnonzero((rows.report > 0) & (rows.report <= _MOST_LATER))
    is_average = np.ones(rows.numbers.shape[1], dtype=np.bool_)
    is_average[list(rows.now_at)] = False
    for place in np.flatnonzero(rows.report == 0).tolist():
        same = rows.numbers[later[rows.items[later] == rows.items[place]]]
        known = np.flatnonzero(~np.isnan(same).all(axis=0) & ~np.isnan(rows.numbers[place]) & is_average)
        if len(known):
            yield known, rows.numbers[place][known], same[:, known]


def _medians(cells: Floats) -> Floats:
    """The median of what is known in each column."""
    # which takes a tenth of the time, but warns of no columns
    is_whole = cells.size and not np.isnan(cells).any()
    result: Floats = (np.median if is_whole else np.nanmedian)(cells, axis=0)
    return result


def _rates(groups: Sequence[RowGroup], is_first: bool) -> Floats:
    """The event rates of the first report, or of those that follow: whole numbers divided by the interval.

    Of a long capture the first rows are enough: what they do not show about the interval, more do not either.
    """
    parts = [np.empty(0)]
    for rows in groups:
        some = np.flatnonzero((rows.report == 0) == is_first)[:_MOST_ROWS]
        parts.append(rows.numbers[np.ix_(some, np.array(rows.rates_at, dtype=np.int64))].ravel())
    return np.concatenate(parts)


def _large_kb(groups: Sequence[RowGroup]) -> Floats:
    """The kB per second of large requests in the reports that follow the first one."""
    parts = [np.empty(0)]
    for rows in (rows for rows in groups if rows.rates_at):
        later = rows.numbers[rows.report > 0][:_MOST_ROWS]
        rates, kb = later[:, list(rows.rates_at)], later[:, list(rows.sectors_at)]
        parts.append(kb[_are_large(rates, kb)])
    return np.concatenate(parts)


def _reports_of_rates(groups: Sequence[RowGroup]) -> Ints:
    """The report of each of the `_rates` that follow the first one."""
    parts = [np.empty(0, dtype=np.int64)]
    for rows in groups:
        parts.append(np.repeat(rows.report[rows.report > 0][:_MOST_ROWS], len(rows.rates_at)))
    return np.concatenate(parts)
