"""Times of blocks and rows: which day, which report, how long a sample, and what is since boot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from iodiag.formats import _clock
from iodiag.formats._body import Floats
from iodiag.formats._clock import DAY_S, Clock
from iodiag.formats._lines import Ints
from iodiag.formats._rows import Rows
from iodiag.formats._walk import Block, Origin, Walk

COUNT_RATES = (
    "reads_per_s",
    "writes_per_s",
    "discards_per_s",
    "flushes_per_s",
    "ios_per_s",
    "read_merges_per_s",
    "write_merges_per_s",
    "merges_per_s",
)


@dataclass
class Timing:
    """Per row of one Rows: absolute seconds (NaN unknown), sample length, report and since-boot.

    `absolute` counts from 1970; `is_dated` says whether a date is known (without one, only
    differences mean anything); `offset_s` is the zone's where the text says it.
    """

    absolute: Floats
    interval: Floats
    report: Ints
    segment: Ints
    since_boot: npt.NDArray[np.bool_]
    is_dated: npt.NDArray[np.bool_]
    offset_s: float | None


def timings(found: Walk, all_rows: list[Rows], order: str) -> list[Timing]:
    """One Timing per Rows, reports counted the same way across all tables of a segment."""
    result = []
    for rows in all_rows:
        segment = np.array([b.origin.index for b in found.blocks], dtype=np.int64)[rows.block]
        if rows.layout.clock == "row":
            timing = _by_row(found, rows, segment, order)
        elif rows.layout.clock == "tail":
            timing = _by_tail(rows, segment)
        else:
            timing = _by_block(found, rows, segment, order)
        result.append(timing)
    _count_reports(found, all_rows, result)
    for format_id in dict.fromkeys(rows.layout.format for rows in all_rows):
        group = [(r, t) for r, t in zip(all_rows, result, strict=True) if r.layout.format == format_id]
        for number in np.unique(np.concatenate([t.segment for _, t in group])).tolist():
            origin = next(o for o in found.origins if o.index == number)
            _finish_segment(origin, number, group)
    return result


def _empty(rows: Rows, segment: Ints) -> Timing:
    size = len(rows.lines)
    unknown = np.full(size, np.nan)
    no = np.zeros(size, dtype=np.bool_)
    return Timing(unknown, unknown.copy(), np.zeros(size, dtype=np.int64), segment, no, no.copy(), None)


def _base_day(origin: Origin, order: str) -> float | None:
    """Midnight of the banner's date, in seconds since 1970."""
    clock = _clock.parse_date(origin.banner.date) if origin.banner else None
    day = _clock.to_day(clock, order) if clock else None
    return _clock.epoch_of(day, 0.0) if day else None


def _by_row(found: Walk, rows: Rows, segment: Ints, order: str) -> Timing:
    """sar: the clock stands in every row; the day comes from the banner and the midnights passed."""
    timing = _empty(rows, segment)
    files = _files(found)[rows.block]
    is_sample = ~rows.is_average
    for number in np.unique(files[is_sample]).tolist():
        here = np.flatnonzero((files == number) & is_sample)
        seconds = _clock.unroll_midnight(rows.seconds[here])
        first_block = found.blocks[rows.block[here[0]]]
        base = _base_day(first_block.origin, order)
        header = first_block.clock.seconds if first_block.clock else None
        if base is not None and header is not None and header - seconds[0] > DAY_S / 2:
            base += DAY_S  # the header's clock is yesterday's
        timing.absolute[here] = seconds + (base or 0.0)
        timing.is_dated[here] = base is not None
        for part in np.unique(segment[here]).tolist():
            inside = here[segment[here] == part]
            timing.interval[inside] = _row_intervals(found, rows, timing.absolute, inside)
    return timing


def _row_intervals(found: Walk, rows: Rows, absolute: Floats, inside: Ints) -> Floats:
    times, inverse = np.unique(absolute[inside], return_inverse=True)
    block = found.blocks[rows.block[inside[0]]]
    start = None
    if block.clock is not None and block.clock.seconds is not None:
        start = np.floor(times[0] / DAY_S) * DAY_S + block.clock.seconds
        if start - times[0] > DAY_S / 2:
            start -= DAY_S
        if times[0] - start > DAY_S / 2:
            start = None
    lengths = _clock.interval_lengths(times, start)
    command = block.origin.command
    if command and command.interval_s and np.isnan(lengths).any():
        lengths[np.isnan(lengths)] = command.interval_s
    result: Floats = lengths[inverse]
    return result


def _files(found: Walk) -> Ints:
    """Number of the banner that each block stands under: a RESTART does not turn the calendar back."""
    numbers, current = [], 0
    previous: Origin | None = None
    for block in found.blocks:
        if previous is not None and block.origin.index != previous.index and not block.origin.is_restart:
            current += 1
        previous = block.origin
        numbers.append(current)
    return np.array(numbers, dtype=np.int64)


def _by_tail(rows: Rows, segment: Ints) -> Timing:
    timing = _empty(rows, segment)
    timing.absolute = rows.epoch.copy()
    timing.is_dated = ~np.isnan(rows.epoch)
    timing.offset_s = 0.0 if rows.layout.note in ("UTC", "GMT") else None
    for number in np.unique(segment).tolist():
        inside = np.flatnonzero(segment == number)
        timing.interval[inside] = _clock.interval_lengths(rows.epoch[inside], None)
    return timing


def _by_block(found: Walk, rows: Rows, segment: Ints, order: str) -> Timing:
    """iostat and vmstat: one clock per report, or none."""
    timing = _empty(rows, segment)
    seconds = np.full(len(found.blocks), np.nan)
    dated = np.zeros(len(found.blocks), dtype=np.bool_)
    offsets: set[float] = set()
    passed, previous, segment_now = 0.0, np.nan, -1
    for number, block in enumerate(found.blocks):
        if block.clock is None:
            continue
        value, is_dated = _absolute(block.clock, block, order)
        if block.origin.index != segment_now:
            passed, previous, segment_now = 0.0, np.nan, block.origin.index
        if block.clock.day is None and block.clock.epoch is None:
            passed += DAY_S if previous - (value + passed) >= DAY_S / 2 else 0.0
            value += passed
        previous = value
        seconds[number], dated[number] = value, is_dated
        if block.clock.offset_s is not None or block.clock.epoch is not None:
            offsets.add(block.clock.offset_s or 0.0)
    timing.absolute = seconds[rows.block]
    timing.is_dated = dated[rows.block]
    timing.offset_s = offsets.pop() if len(offsets) == 1 else (0.0 if offsets else None)
    return timing


def _absolute(clock: Clock, block: Block, order: str) -> tuple[float, bool]:
    if clock.epoch is not None:
        return clock.epoch, True
    seconds = clock.seconds or 0.0
    day = _clock.to_day(clock, order)
    if day is not None:
        return _clock.epoch_of(day, seconds) - (clock.offset_s or 0.0), True
    base = _base_day(block.origin, order)
    return (base or 0.0) + seconds, base is not None


def _count_reports(found: Walk, all_rows: list[Rows], all_timings: list[Timing]) -> None:
    """Number the reports of every segment from 0, the same across its tables.

    With a clock in every row, a report is one time. Else it is one header's block, and each
    repetition of a device below the same header is a further report.
    """
    first: list[Floats] = []
    second: list[Ints] = []
    for rows, timing in zip(all_rows, all_timings, strict=True):
        if rows.layout.clock == "row":
            first.append(np.nan_to_num(timing.absolute))
            second.append(np.zeros(len(rows.lines), dtype=np.int64))
        else:
            first.append(np.array([b.report for b in found.blocks], dtype=np.float64)[rows.block])
            second.append(_occurrence(rows))
    formats = {name: n for n, name in enumerate(dict.fromkeys(r.layout.format for r in all_rows))}
    for number in formats.values():
        places = [i for i, rows in enumerate(all_rows) if formats[rows.layout.format] == number]
        segment = np.concatenate([all_timings[i].segment for i in places])
        keys = np.stack(
            (segment, np.concatenate([first[i] for i in places]), np.concatenate([second[i] for i in places])), axis=1
        )
        is_sample = ~np.concatenate([all_rows[i].is_average for i in places])
        report = np.zeros(len(segment), dtype=np.int64)
        if is_sample.any():
            distinct, inverse = np.unique(keys[is_sample], axis=0, return_inverse=True)
            starts = np.searchsorted(distinct[:, 0], distinct[:, 0])
            report[is_sample] = (np.arange(len(distinct)) - starts)[inverse.ravel()]
        at = 0
        for i in places:
            size = len(all_rows[i].lines)
            all_timings[i].report = report[at : at + size]
            at += size


def _occurrence(rows: Rows) -> Ints:
    """How often each row's key has stood in its block before."""
    seen: dict[tuple[int, str], int] = {}
    counts = np.zeros(len(rows.lines), dtype=np.int64)
    if len(rows.lines) > 1 and rows.layout.key is not None:
        blocks, sizes = np.unique(rows.block, return_counts=True)
        if len(blocks) == len(rows.lines):
            return counts
    for place, pair in enumerate(zip(rows.block.tolist(), rows.keys.tolist(), strict=True)):
        counts[place] = seen.get(pair, 0)
        seen[pair] = counts[place] + 1
    return counts


def _finish_segment(origin: Origin, number: int, group: list[tuple[Rows, Timing]]) -> None:
    """Sample lengths from clocks, command or grid, and the since-boot flag, for one segment."""
    format_id = group[0][0].layout.format
    masks = [t.segment == number for _, t in group]
    if format_id == "sar":
        return
    if format_id != "mpstat":
        _lengths(origin, group, masks)
    may_be_first = format_id == "vmstat" or origin.banner is not None or origin.command is not None
    command = origin.command
    if command and command.tool == format_id and command.has_flag("y"):
        may_be_first = False
    if format_id == "mpstat" or origin.is_elided or not may_be_first:
        return
    if not _contradicts_since_boot(group, masks):
        for (_, timing), mask in zip(group, masks, strict=True):
            timing.since_boot |= mask & (timing.report == 0)
            timing.interval[timing.since_boot] = np.nan


def _lengths(origin: Origin, group: list[tuple[Rows, Timing]], masks: list[npt.NDArray[np.bool_]]) -> None:
    pairs = {}
    for (_, timing), mask in zip(group, masks, strict=True):
        pairs.update(zip(timing.report[mask].tolist(), timing.absolute[mask].tolist(), strict=True))
    reports = np.array(sorted(pairs), dtype=np.int64)
    times = np.array([pairs[report] for report in reports.tolist()])
    if len(times) > 1 and not np.isnan(times).any():
        lengths = _clock.interval_lengths(times, None)
        lengths[0] = np.nanmedian(lengths) if (~np.isnan(lengths)).any() else np.nan
    else:
        constant = origin.command.interval_s if origin.command else None
        if constant is None:
            rates = [_rates(rows, mask & (timing.report > 0)) for (rows, timing), mask in zip(group, masks, strict=True)]
            constant = _clock.grid_interval(np.concatenate(rates)) if rates else np.nan
            if np.isnan(constant):
                first = [_rates(rows, mask) for (rows, _), mask in zip(group, masks, strict=True)]
                constant = _clock.grid_interval(np.concatenate(first)) if first else np.nan
        lengths = np.full(len(reports), constant, dtype=np.float64)
    for (_, timing), mask in zip(group, masks, strict=True):
        if timing.interval[mask].size and np.isnan(timing.interval[mask]).all():
            timing.interval[mask] = lengths[np.searchsorted(reports, timing.report[mask])]


def _rates(rows: Rows, mask: npt.NDArray[np.bool_]) -> Floats:
    """All event rates of the rows: whole numbers divided by the interval."""
    places = [i for i, column in enumerate(rows.layout.columns) if column.column in COUNT_RATES]
    result: Floats = rows.values[np.ix_(np.flatnonzero(mask), places)].ravel()
    return result


def _contradicts_since_boot(group: list[tuple[Rows, Timing]], masks: list[npt.NDArray[np.bool_]]) -> bool:
    """Whether the first report cannot be (or need not be) an average since boot.

    Its event rates all lie on the grid of a short interval, or its numbers are like those of
    all other reports: within a quarter of their median in four cells of five.
    """
    rates = [_rates(rows, mask & (t.report == 0)) for (rows, t), mask in zip(group, masks, strict=True)]
    if not np.isnan(_clock.grid_interval(np.concatenate(rates))):
        return True
    alike = total = 0
    for (rows, timing), mask in zip(group, masks, strict=True):
        later = mask & (timing.report > 0)
        if len(np.unique(timing.report[later])) < 3:
            continue
        for key in set(rows.keys[mask & (timing.report == 0)].tolist()):
            of_key = rows.keys == key
            usual = np.nanmedian(rows.values[later & of_key], axis=0) if (later & of_key).any() else None
            if usual is None:
                continue
            first = rows.values[mask & of_key & (timing.report == 0)][0]
            counts = (np.abs(first) > 0.5) | (np.abs(usual) > 0.5)
            alike += int((np.abs(first - usual) <= 0.25 * np.abs(usual))[counts].sum())
            total += int(counts.sum())
    return total >= 6 and alike >= 0.8 * total
