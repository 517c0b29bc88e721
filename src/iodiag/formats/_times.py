"""Times of rows and reports: which day, which report, how long a sample, and what is since boot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from iodiag.formats import _clock, _report_times
from iodiag.formats._body import Floats
from iodiag.formats._clock import DAY_S, Clock
from iodiag.formats._found import Block, Origin, Walk
from iodiag.formats._lines import Bools, Ints
from iodiag.formats._rows import Rows

_COUNTED = ("reads", "writes", "discards", "flushes", "ios", "read_merges", "write_merges", "merges")
COUNT_RATES = frozenset(f"{counted}_per_s" for counted in _COUNTED)


@dataclass
class Timing:
    """Per row of one Rows: its time, the length of its sample, its report and whether that is since boot.

    `local` are seconds since 1970 as the host's clock showed them (NaN unknown), `offset` the seconds east
    of Greenwich (NaN where no zone is told). Where not `is_dated`, only differences mean anything.
    """

    local: Floats
    offset: Floats
    interval: Floats
    report: Ints
    segment: Ints
    since_boot: Bools
    is_dated: Bools

    @property
    def absolute(self) -> Floats:
        """Seconds since 1970; as if it were UTC where the zone is not known."""
        return self.local - np.nan_to_num(self.offset)

    @property
    def is_aware(self) -> bool:
        """Whether the zone of all dated rows is known."""
        return bool(self.is_dated.any() and not np.isnan(self.offset[self.is_dated]).any())


def timings(found: Walk, all_rows: Sequence[Rows], order: str) -> list[Timing]:
    """One Timing per Rows, reports counted the same way across all tables of a segment."""
    segment_of = np.array([block.origin.index for block in found.blocks], dtype=np.int64)
    calendar_of = _calendars(found.blocks)
    gap_of = np.cumsum([block.is_resumed for block in found.blocks])
    result = []
    for rows in all_rows:
        timing = _empty(segment_of[rows.block])
        if rows.layout.clock == "row":
            # rows below something else begin a new stretch: nothing is known of the time between
            stretch = timing.segment * (len(found.blocks) + 1) + gap_of[rows.block]
            _by_row(found.blocks, rows, timing, order, calendar_of[rows.block], stretch)
        elif rows.layout.clock == "tail":
            _by_tail(rows, timing)
        else:
            _by_report(found, rows, timing, order)
            if found.text.stamps:
                _by_stamp(found, rows, timing, order)
        result.append(timing)
    _count_reports(found, all_rows, result)
    origins = {origin.index: origin for origin in found.origins}
    for format_id in dict.fromkeys(rows.layout.format for rows in all_rows):
        group = [(r, t) for r, t in zip(all_rows, result, strict=True) if r.layout.format == format_id]
        for number in np.unique(np.concatenate([t.segment for _, t in group])).tolist():
            parts = [_Part.of(rows, timing, number) for rows, timing in group]
            _finish(found, origins[number], [part for part in parts if part.size], order)
    return result


def _empty(segment: Ints) -> Timing:
    size = len(segment)
    unknown = np.full(size, np.nan)
    no = np.zeros(size, dtype=np.bool_)
    return Timing(
        local=unknown,
        offset=unknown.copy(),
        interval=unknown.copy(),
        report=np.zeros(size, dtype=np.int64),
        segment=segment,
        since_boot=no,
        is_dated=no.copy(),
    )


def _base_day(origin: Origin, order: str) -> float:
    """Midnight of the banner's date, in seconds since 1970; NaN without one."""
    clock = _clock.parse_date(origin.banner.date) if origin.banner else None
    day = _clock.to_day(clock, order) if clock else None
    return _clock.epoch_of(day, 0.0) if day else float("nan")


def _runs(numbers: Ints) -> Iterator[slice]:
    """The stretches of equal numbers in an array that never falls."""
    if not len(numbers):
        return
    edges = np.flatnonzero(np.diff(numbers)) + 1
    for first, last in zip([0, *edges.tolist()], [*edges.tolist(), len(numbers)], strict=True):
        yield slice(first, last)


def _by_row(
    blocks: Sequence[Block], rows: Rows, timing: Timing, order: str, calendar: Ints, stretch: Ints
) -> None:
    """sar: the clock stands in every row; the day comes from the banner and the midnights passed."""
    samples = np.flatnonzero(~rows.is_average & ~np.isnan(rows.seconds))
    for run in _runs(calendar[samples]):
        here = samples[run]
        first = blocks[rows.block[here[0]]]
        base = _base_day(first.origin, order)
        began = first.clock.seconds if first.clock else None
        seconds = np.empty(len(here))
        for once in _runs(_passes(blocks, rows.block[here], rows.seconds[here])):
            seconds[once] = _clock.unroll_midnight(rows.seconds[here[once]])
            if began is not None and began - seconds[once][0] > DAY_S / 2:
                seconds[once] += DAY_S  # the header's clock is still the day before
        timing.local[here] = seconds + (0.0 if np.isnan(base) else base)
        timing.is_dated[here] = not np.isnan(base)
    for run in _runs(stretch[samples]):
        here = samples[run]
        timing.interval[here] = _row_intervals(blocks[rows.block[here[0]]], timing.local[here])


def _passes(blocks: Sequence[Block], block: Ints, seconds: Floats) -> Ints:
    """How often each row's section has begun anew, so that its days count from the first again.

    A new pass stands under the clock of the first header, and not where the row above ended: there live
    sar repeats its header.
    """
    edges = np.flatnonzero(np.diff(block)) + 1
    first = blocks[block[0]].clock
    begins = np.zeros(len(block), dtype=np.int64)
    for edge in edges.tolist():
        clock = blocks[block[edge]].clock
        is_same = first is not None and clock is not None and clock.seconds == first.seconds
        begins[edge] = is_same and clock is not None and seconds[edge - 1] != clock.seconds
    result: Ints = np.cumsum(begins)
    return result


def _calendars(blocks: Sequence[Block]) -> Ints:
    """Number of the banner that each block stands under: a RESTART does not turn the calendar back."""
    number, index, numbers = 0, 0, []
    for block in blocks:
        number += block.origin.index != index and not block.origin.is_restart
        index = block.origin.index
        numbers.append(number)
    return np.array(numbers, dtype=np.int64)


def _row_intervals(first: Block, ends: Floats) -> Floats:
    """Lengths of samples: from the ends of the ones before, the header's clock, or the command."""
    times, inverse = np.unique(ends, return_inverse=True)
    start = None
    if first.clock is not None and first.clock.seconds is not None and not first.is_resumed:
        start = np.floor(times[0] / DAY_S) * DAY_S + first.clock.seconds
        start -= DAY_S if start - times[0] > DAY_S / 2 else 0.0
        start = start if times[0] - start <= DAY_S / 2 else None
    lengths = _clock.interval_lengths(times, start)
    command = first.origin.command
    if command and command.interval_s and command.tool == first.layout.format:
        lengths[np.isnan(lengths)] = command.interval_s
    result: Floats = lengths[inverse]
    return result


def _by_tail(rows: Rows, timing: Timing) -> None:
    """vmstat -t: date and time behind every row, the zone in the header."""
    offset = _clock.zone_offset(rows.layout.note)
    timing.local = rows.epoch.copy()
    timing.offset[:] = np.nan if offset is None else offset
    timing.is_dated = ~np.isnan(rows.epoch)


def _by_report(found: Walk, rows: Rows, timing: Timing, order: str) -> None:
    """iostat and vmstat: one clock per report, or none; a row may hold a time of its own."""
    used = np.unique(rows.block).tolist()
    clocks = [found.blocks[number].clock for number in used]
    origins = [found.blocks[number].origin for number in used]
    _set(timing, np.searchsorted(used, rows.block), _seconds_of(clocks, origins, order))
    own = ~np.isnan(rows.epoch)
    timing.local[own] = rows.epoch[own]
    timing.is_dated |= own


def _by_stamp(found: Walk, rows: Rows, timing: Timing, order: str) -> None:
    """Lines that a log collector put a time in front of, where the tool itself printed none."""
    if not np.isnan(timing.local).all():
        return
    stamps = dict(found.text.stamps)
    clocks = [stamps.get(line) for line in rows.lines.tolist()]
    origins = [found.blocks[number].origin for number in rows.block.tolist()]
    _set(timing, np.arange(len(rows.lines)), _seconds_of(clocks, origins, order))


@dataclass(frozen=True)
class _Seconds:
    """Times of a sequence of clocks: as shown, the zone's offset, whether the day is known."""

    local: Floats
    offset: Floats
    is_dated: Bools


def _set(timing: Timing, place: Ints, seconds: _Seconds) -> None:
    """Give rows the time of their clock; a zone that one clock names holds for those that name none."""
    offset = seconds.offset.copy()
    named = np.flatnonzero(~np.isnan(offset))
    if len(named):
        offset = offset[named[np.maximum(np.searchsorted(named, np.arange(len(offset)), "right") - 1, 0)]]
    timing.local = seconds.local[place]
    timing.offset = offset[place]
    timing.is_dated = seconds.is_dated[place]


def _seconds_of(clocks: Sequence[Clock | None], origins: Sequence[Origin], order: str) -> _Seconds:
    """The clocks in their order; one without a date continues the banner's day over midnights."""
    size = len(clocks)
    local, offset = np.full(size, np.nan), np.full(size, np.nan)
    dated = np.zeros(size, dtype=np.bool_)
    passed, previous, segment, base = 0.0, np.nan, -1, np.nan
    for number, (clock, origin) in enumerate(zip(clocks, origins, strict=True)):
        if clock is None:
            continue
        if origin.index != segment:
            passed, previous, segment, base = 0.0, np.nan, origin.index, _base_day(origin, order)
        if clock.epoch is not None:
            local[number], offset[number], dated[number] = clock.epoch, 0.0, True
            continue
        offset[number] = np.nan if clock.offset_s is None else clock.offset_s
        day = _clock.to_day(clock, order)
        value = clock.seconds or 0.0
        if day is not None:
            local[number], dated[number] = _clock.epoch_of(day, value), True
            continue
        passed += DAY_S if previous - value >= DAY_S / 2 else 0.0
        previous = value
        local[number] = value + passed + (0.0 if np.isnan(base) else base)
        dated[number] = not np.isnan(base)
    return _Seconds(local, offset, dated)


def _count_reports(found: Walk, all_rows: Sequence[Rows], all_timings: Sequence[Timing]) -> None:
    """Number the reports of every segment from 0, the same across its tables.

    With a clock in every row, a report is one time. Else it is one header's block, and each
    repetition of a device below the same header is a further report.
    """
    report_of = np.array([block.report for block in found.blocks], dtype=np.float64)
    keys = []
    for rows, timing in zip(all_rows, all_timings, strict=True):
        first, nth = report_of[rows.block], _occurrence(rows)
        if rows.layout.clock == "row":
            has_time = ~np.isnan(timing.local)
            first, nth = np.where(has_time, timing.local, -1.0), np.where(has_time, 0, nth)
        keys.append(np.stack((timing.segment, first, nth), axis=1))
    for format_id in dict.fromkeys(rows.layout.format for rows in all_rows):
        places = [i for i, rows in enumerate(all_rows) if rows.layout.format == format_id]
        whole = np.concatenate([keys[i] for i in places])
        is_sample = ~np.concatenate([all_rows[i].is_average for i in places])
        report = np.zeros(len(whole), dtype=np.int64)
        report[is_sample] = _ranks(whole[is_sample])
        ends = np.cumsum([len(keys[i]) for i in places]).tolist()
        for i, end in zip(places, ends, strict=True):
            all_timings[i].report = report[end - len(keys[i]) : end]


def _ranks(keys: Floats) -> Ints:
    """The place of each row among the distinct ones of its segment (the first column), in their order."""
    if not len(keys):
        return np.empty(0, dtype=np.int64)
    order = np.lexsort(keys.T[::-1])
    steps = np.diff(keys[order], axis=0)
    is_new = np.concatenate(([False], (steps != 0).any(axis=1)))
    is_segment = np.concatenate(([True], steps[:, 0] != 0))
    number = np.cumsum(is_new)
    first = number[np.flatnonzero(is_segment)]
    result = np.empty(len(keys), dtype=np.int64)
    result[order] = number - first[np.cumsum(is_segment) - 1]
    return result


def _occurrence(rows: Rows) -> Ints:
    """How often each row's key has stood in its block before."""
    counts = np.zeros(len(rows.lines), dtype=np.int64)
    if len(np.unique(rows.block)) == len(rows.block):
        return counts
    seen: dict[tuple[int, str], int] = {}
    for place, pair in enumerate(zip(rows.block.tolist(), rows.keys.tolist(), strict=True)):
        counts[place] = seen.get(pair, 0)
        seen[pair] = counts[place] + 1
    return counts


@dataclass(frozen=True)
class _Part:
    """The rows of one Rows in one segment: a slice, as both are in the order of the text."""

    rows: Rows
    timing: Timing
    where: slice

    @classmethod
    def of(cls, rows: Rows, timing: Timing, segment: int) -> _Part:
        first, last = np.searchsorted(timing.segment, (segment, segment + 1)).tolist()
        return cls(rows, timing, slice(first, last))

    @property
    def size(self) -> int:
        return int(self.where.stop) - int(self.where.start)

    def numbers(self) -> _report_times.Rows:
        """What tells the length of a sample and an average since boot."""
        columns = self.rows.layout.columns
        rates = tuple(place for place, column in enumerate(columns) if column.column in COUNT_RATES)
        is_fine = bool(self.rows.is_fine[self.where].all())
        return _report_times.Rows(
            report=self.timing.report[self.where],
            items=self.rows.keys[self.where].tolist(),
            numbers=self.rows.numbers[self.where],
            rates_at=rates if is_fine else (),
        )


def _finish(found: Walk, origin: Origin, parts: Sequence[_Part], order: str) -> None:
    """Sample lengths, the times that follow from the start, and the since-boot flag, for one segment."""
    format_id = parts[0].rows.layout.format
    if format_id == "sar":
        return
    groups = [part.numbers() for part in parts]
    if format_id != "mpstat":
        _set_lengths(origin, parts, groups)
        _set_times_from_start(origin, parts, order)
    if _can_begin_at_boot(found, origin, parts) and _report_times.may_be_since_boot(groups):
        for part in parts:
            first = part.timing.report[part.where] == 0
            part.timing.since_boot[part.where] |= first
            part.timing.interval[part.where][first] = np.nan


def _set_lengths(origin: Origin, parts: Sequence[_Part], groups: Sequence[_report_times.Rows]) -> None:
    """One length per report, and one time where a log collector stamped its lines seconds apart."""
    reports = np.unique(np.concatenate([group.report for group in groups]))
    times = np.full(len(reports), np.nan)
    for part, group in zip(parts, groups, strict=True):
        place = np.searchsorted(reports, group.report)
        # from the last row to the first, so that the first row of a report has the last word
        times[place[::-1]] = np.where(
            np.isnan(times[place[::-1]]), part.timing.absolute[part.where][::-1], times[place[::-1]]
        )
    stated = origin.command.interval_s if origin.command and _is_of(origin, parts) else None
    lengths = _report_times.lengths_of(times, stated, groups)
    for part, group in zip(parts, groups, strict=True):
        place = np.searchsorted(reports, group.report)
        part.timing.interval[part.where] = lengths[place]
        part.timing.local[part.where] += times[place] - part.timing.absolute[part.where]


def _is_of(origin: Origin, parts: Sequence[_Part]) -> bool:
    """Whether the visible command is the one that printed these rows."""
    return origin.command is not None and origin.command.tool == parts[0].rows.layout.format


def _set_times_from_start(origin: Origin, parts: Sequence[_Part], order: str) -> None:
    """Reports without a clock, below a command that one stands above: they follow its start."""
    shown = [part.timing.local[part.where] for part in parts]
    start = origin.started
    if start is None or not all(np.isnan(times).all() for times in shown):
        return
    seconds = _seconds_of([start], [origin], order)
    delay = 1 if origin.command and origin.command.has_flag("y") else 0
    for part in parts:
        here, length = part.where, part.timing.interval[part.where]
        step = part.timing.report[here] + delay
        local = seconds.local[0] + np.where(step > 0, step * length, 0.0)
        part.timing.local[here], part.timing.offset[here] = local, seconds.offset[0]
        part.timing.is_dated[here] = seconds.is_dated[0] & ~np.isnan(local)


def _can_begin_at_boot(found: Walk, origin: Origin, parts: Sequence[_Part]) -> bool:
    """Whether the first report of a segment is one that its tool averages since boot."""
    format_id = parts[0].rows.layout.format
    is_own_command = _is_of(origin, parts)
    if origin.is_elided or (is_own_command and origin.command and origin.command.has_flag("y")):
        return False
    if format_id == "mpstat":
        # with an interval, the first report is its first interval; without, its clock is the header's
        first = found.blocks[parts[0].rows.block[parts[0].where.start]]
        seconds = parts[0].rows.seconds[parts[0].where.start]
        return origin.banner is not None and first.clock is not None and first.clock.seconds == seconds
    return format_id == "vmstat" or origin.banner is not None or is_own_command
