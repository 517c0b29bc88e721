"""Times of rows by the clocks around them: in each row, behind it, above a report, or in front of a line."""

from __future__ import annotations

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.clock import DAY_S
from iodiag.formats.text.rows.category_codes import slice_if_contiguous
from iodiag.formats.text.rows.row_store import Rows
from iodiag.formats.text.structure.blocks import Block, Blocks, ClockSequence, Origin, Walk
from iodiag.formats.text.times.report_times import ZONE_STEP, Seconds, runs, seconds_of
from iodiag.formats.text.times.timing import Timing
from iodiag.table.table import Floats, Ints

_EVEN, _CUT = 0.1, 1.5  # of the usual length: how far others are off it, and a first one that is none


def base_day(origin: Origin, order: str) -> float:
    """Midnight of the banner's date, in seconds since 1970; NaN without one."""
    clock = _clock.parse_date(origin.banner.date) if origin.banner else None
    day = _clock.to_day(clock, order) if clock else None
    return _clock.epoch_of(day, 0.0) if day else float("nan")


def asked_interval(block: Block) -> float | None:
    """The interval that the command above a block asked for, if its tool printed the block."""
    command = block.origin.command
    return command.interval_s if command and command.tool == block.layout.format else None


def set_by_row(found: Walk, rows: Rows, timing: Timing, order: str, calendar: Ints, stretch: Ints) -> None:
    """sar: the clock stands in every row; the day comes from the banner and the midnights passed."""
    places = np.flatnonzero(~rows.is_average & ~np.isnan(rows.seconds))
    if not len(places):
        return
    blocks, samples = found.blocks, slice_if_contiguous(places)
    # the rows of a sample stand together, and one of them tells the time of all
    block, shown = rows.block[samples], rows.seconds[samples]
    is_first = np.append(True, (block[1:] != block[:-1]) | (shown[1:] != shown[:-1]))
    firsts = np.flatnonzero(is_first)
    at, block, shown = places[firsts], block[firsts], shown[firsts]
    local, offset, is_dated = np.empty(len(at)), np.empty(len(at)), np.zeros(len(at), dtype=np.bool_)
    of_headers = _shown_seconds(blocks)
    for run in runs(calendar[at]):
        first = blocks[block[run.start]]
        base = base_day(first.origin, order)
        began = first.clock.seconds if first.clock else None
        seconds = np.empty(run.stop - run.start)
        for once in runs(_passes(blocks, block[run], shown[run], of_headers)):
            own = shown[run][once]
            is_half_told = first.clock_tokens == 2  # by AM or PM behind the clock
            whole = own if is_half_told else _clock.with_am_pm(np.full(len(own), np.nan), own)
            timing.is_of_twelve |= whole is not own
            seconds[once] = _clock.unroll_midnight(whole)
            if began is not None and began - seconds[once][0] > DAY_S / 2:
                seconds[once] += DAY_S  # the header's clock is still the day before
        local[run] = seconds + (0.0 if np.isnan(base) else base)
        is_dated[run] = not np.isnan(base)
        offset[run] = _zone_above(first.origin, base + (seconds[0] if began is None else began), order)
    interval = np.empty(len(at))
    for run in runs(stretch[at]):
        interval[run] = _row_intervals(blocks[block[run.start]], local[run], timing.is_of_twelve)
    _begin_anew(of_headers, block, shown, interval)
    is_known = ~np.isnan(interval)
    if is_known.any():  # what was left out above a row is not in it
        is_below = np.isin(blocks.first[block], np.array(found.elided, dtype=np.int64) + 1)
        interval[is_below & ~is_known] = np.median(interval[is_known])
    own = np.cumsum(is_first) - 1
    timing.local = timing.local.copy()
    timing.local[samples], timing.interval[samples] = local[own], interval[own]
    timing.is_dated[samples] = is_dated[own]
    if not np.isnan(offset).all():
        timing.offset = timing.offset.copy()
        timing.offset[samples] = offset[own]


def _zone_above(origin: Origin, began: float, order: str) -> float:
    """Seconds east of Greenwich of the clock above a banner, for rows that begin shortly after it; else NaN.

    Rows that begin at another time may be of another zone (`date -u`), or of another season (`sar -f`).
    """
    start = origin.started
    if start is None or start.offset_s is None:
        return float("nan")
    later = began - (_clock.moment(start, order) + start.offset_s)
    return start.offset_s if 0 <= later < ZONE_STEP else float("nan")


def _passes(blocks: Blocks, block: Ints, seconds: Floats, of_headers: Floats) -> Ints:
    """How often each row's section has begun anew, so that its days count from the first again.

    A new pass stands under the clock of the first header, and not where the row above ended: there live
    sar repeats its header.
    """
    edges = np.flatnonzero(np.diff(block)) + 1
    first = blocks[block[0]].clock
    begins = np.zeros(len(block), dtype=np.int64)
    if first is not None and first.seconds is not None:
        shown = of_headers[block[edges]]
        begins[edges] = (shown == first.seconds) & (seconds[edges - 1] != shown)
    result: Ints = np.cumsum(begins)
    return result


def _shown_seconds(blocks: Blocks) -> Floats:
    """The time of day of every block's clock; NaN where it shows none."""
    known = [np.nan if clock.seconds is None else clock.seconds for clock in blocks.clocks]
    result: Floats = np.array([*known, np.nan])[blocks.clock_at] + blocks.later
    return result


def calendars(blocks: Blocks, segment: Ints) -> Ints:
    """Number of the banner that each block stands under: a RESTART does not turn the calendar back."""
    is_restart = blocks.each(lambda block: block.origin.is_restart, np.bool_)
    result: Ints = np.cumsum((np.diff(segment, prepend=0) != 0) & ~is_restart)
    return result


def _row_intervals(first: Block, ends: Floats, is_of_twelve: bool) -> Floats:
    """Lengths of samples: from the ends of the ones before, the header's clock, or the command."""
    times, inverse = np.unique(ends, return_inverse=True)
    start = None
    if first.clock is not None and first.clock.seconds is not None and not first.is_resumed:
        start = np.floor(times[0] / DAY_S) * DAY_S + first.clock.seconds
        start -= DAY_S if start - times[0] > DAY_S / 2 else 0.0
        start -= DAY_S / 2 if is_of_twelve and start > times[0] else 0.0
        start = start if times[0] - start <= DAY_S / 2 else None
    lengths = _clock.interval_lengths(times, start)
    later = lengths[1:][~np.isnan(lengths[1:])]
    usual = float(np.median(later)) if len(later) else np.nan
    if lengths[0] > _CUT * usual and np.ptp(later) <= _EVEN * usual:
        lengths[0] = np.nan  # the rows between it and the header may have been cut out
    if asked := asked_interval(first):
        lengths[np.isnan(lengths)] = asked
    result: Floats = lengths[inverse]
    return result


def _begin_anew(of_headers: Floats, block: Ints, shown: Floats, interval: Floats) -> None:
    """Shorten samples whose own header's clock is later than the row above: counting began anew there.

    Releases before 4.1.5 print no RESTART where the host was started within a file.
    """
    edges = np.flatnonzero(np.diff(block)) + 1
    length = (shown[edges] - of_headers[block[edges]]) % DAY_S
    is_shorter = (length > 0) & (length < interval[edges])
    interval[edges[is_shorter]] = length[is_shorter]


def set_by_tail(rows: Rows, timing: Timing) -> None:
    """vmstat -t: date and time behind every row, the zone in the header."""
    offset = _clock.zone_offset(rows.layout.note)
    timing.local = rows.epoch.copy()
    timing.offset = np.full(len(rows.epoch), np.nan if offset is None else offset)
    timing.is_dated = ~np.isnan(rows.epoch)


def set_by_report(found: Walk, rows: Rows, timing: Timing, order: str) -> None:
    """iostat and vmstat: one clock per report, or none; a row may hold a time of its own."""
    blocks = found.blocks
    used = np.flatnonzero(np.bincount(rows.block, minlength=len(blocks)))
    place = np.cumsum(np.bincount(used, minlength=len(blocks)))[rows.block] - 1
    shown = ClockSequence(blocks.clocks, blocks.clock_at[used], blocks.later[used])
    _set(timing, place, _seconds_of(found, shown, used, order))
    own = ~np.isnan(rows.epoch)
    timing.local[own] = rows.epoch[own]
    timing.is_dated |= own


def set_by_stamp(found: Walk, rows: Rows, timing: Timing, order: str) -> None:
    """Lines that a log collector put a time in front of, where no clock of a report tells each sample's."""
    stamps = dict(found.text.stamps)
    clocks = [stamps.get(line) for line in rows.lines.tolist()]
    above = timing.local, timing.offset, timing.is_dated
    is_once = rows.layout.key is not None or np.bincount(rows.block).max() == 1
    if not np.isnan(above[0]).all() and (is_once or not all(clocks)):
        return
    _set(timing, np.arange(len(rows.lines)), _seconds_of(found, ClockSequence.of(clocks), rows.block, order))
    if above[2].all() and not timing.is_dated.any():  # of the day and the zone that the clock above names
        timing.local += np.floor(above[0][0] / DAY_S) * DAY_S
        timing.offset, timing.is_dated = above[1:]


def _set(timing: Timing, place: Ints, seconds: Seconds) -> None:
    """Give rows the time of their clock; a zone that one clock names holds for those that name none."""
    offset = seconds.offset.copy()
    named = np.flatnonzero(~np.isnan(offset))
    if len(named):
        offset = offset[named[np.maximum(np.searchsorted(named, np.arange(len(offset)), "right") - 1, 0)]]
    timing.local = seconds.local[place]
    timing.offset = offset[place]
    timing.is_dated = seconds.is_dated[place]


def _seconds_of(found: Walk, shown: ClockSequence, block: Ints, order: str) -> Seconds:
    """The times of clocks in the order of their blocks; one without a date goes by the banner's."""
    segment = found.blocks.each(lambda block: block.origin.index, np.int64)[block]
    midnight = found.blocks.each(lambda block: base_day(block.origin, order), np.float64)[block]
    return seconds_of(shown, segment, midnight, order)
