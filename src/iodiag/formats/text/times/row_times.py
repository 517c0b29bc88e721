"""Times of rows and reports: which day, which report, how long a sample, and what is since boot."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence, Set

import numpy as np

from iodiag.formats.text.rows.row_store import Rows
from iodiag.formats.text.structure.blocks import Blocks, Origin, Walk
from iodiag.formats.text.times import report_times as _report_times
from iodiag.formats.text.times import restarts
from iodiag.formats.text.times.averages_since_boot import (
    begins_at_boot,
    is_first_unknown,
    is_use_forgotten,
    runs_begin_at_boot,
    used_devices,
)
from iodiag.formats.text.times.report_numbers import report_numbers
from iodiag.formats.text.times.report_times import runs
from iodiag.formats.text.times.restarts import Run
from iodiag.formats.text.times.row_clocks import (
    calendars,
    set_by_report,
    set_by_row,
    set_by_stamp,
    set_by_tail,
)
from iodiag.formats.text.times.sample_lengths import (
    collected_interval,
    set_lengths,
    set_times_from_start,
    set_times_of_runs,
    stated_interval,
    stretches_of,
)
from iodiag.formats.text.times.timing import Part, Timing
from iodiag.table.table import Ints, repeated


def timings(found: Walk, all_rows: Sequence[Rows], order: str) -> list[Timing]:
    """One Timing per Rows, reports counted the same way across all tables of a segment."""
    segment_of = found.blocks.each(lambda block: block.origin.index, np.int64)
    calendar_of = calendars(found.blocks, segment_of)
    phase_of = found.blocks.each(lambda block: block.phase, np.int64)
    is_resumed = found.blocks.each(lambda block: block.is_resumed, np.bool_)
    gap_of = np.cumsum(is_resumed | (np.diff(phase_of, prepend=0) != 0))
    result: list[Timing] = []
    first_like = _first_like(found.blocks, all_rows)
    for number, rows in enumerate(all_rows):
        timing = _empty(segment_of[rows.block], first_like[number])
        if first_like[number] < number:
            other = result[first_like[number]]
            timing.local, timing.interval = other.local.copy(), other.interval.copy()
            timing.offset, timing.is_dated = other.offset, other.is_dated.copy()
        elif rows.layout.clock == "row":
            # rows below something else or other words begin a new stretch: the time between is unknown
            stretch = timing.segment * (len(found.blocks) + 1) + gap_of[rows.block]
            set_by_row(found, rows, timing, order, calendar_of[rows.block], stretch)
        elif rows.layout.clock == "tail":
            set_by_tail(rows, timing)
        else:
            set_by_report(found, rows, timing, order)
            if found.text.stamps:
                set_by_stamp(found, rows, timing, order)
        result.append(timing)
    _number_reports(found, all_rows, result, first_like)
    kinds = _split_at_clocks(found, all_rows, result)
    if any(run.is_below_clock for _, run in kinds.values()):
        _number_reports(found, all_rows, result, first_like)
    for format_id in dict.fromkeys(rows.layout.format for rows in all_rows):
        group = [(r, t) for r, t in zip(all_rows, result, strict=True) if r.layout.format == format_id]
        numbers = sorted({number for _, t in group for number in distinct_sorted(t.segment)})
        used, host = set[str](), ""
        several = list(_alike(numbers, kinds, is_clocked=group[0][0].layout.clock == "row"))
        for alike in several:
            parts = [Part.of(r, timing, gap_of[r.block], alike[0], alike[-1]) for r, timing in group]
            parts = [part for part in parts if part.size]
            if len(alike) > 1 or kinds[alike[0]][1].is_below_clock:
                _finish_runs(found, {number: kinds[number][0] for number in alike}, parts, order)
            else:
                origin = kinds[alike[0]][0]
                named = origin.heading or origin.host
                used, host = (set(), named) if named and named != host else (used, host)
                _finish(found, origin, parts, order, used)
                used |= used_devices(parts) if len(several) > 1 else set()
            for part in (part for part in parts if part.rows.layout.first_report == "since boot"):
                part.set_since_boot(restarts.begin_anew(part.row_group(), part.rows.block[part.where]))
    _set_apart(all_rows, result)
    return result


def _set_apart(all_rows: Sequence[Rows], result: Sequence[Timing]) -> None:
    """Give runs that are apart segments of their own, behind all others: a report is of one run."""
    others = [t.segment for r, t in zip(all_rows, result, strict=True) if not r.layout.is_apart]
    behind = 1 + max((int(segment.max()) for segment in others), default=-1)
    for rows, timing in zip(all_rows, result, strict=True):
        if rows.layout.is_apart:
            timing.segment = timing.segment + behind


def _number_reports(
    found: Walk, all_rows: Sequence[Rows], result: Sequence[Timing], first_like: Sequence[int]
) -> None:
    """Count the reports of each segment; sections with the same clocks have the same reports."""
    firsts = [n for n, first in enumerate(first_like) if first == n]
    clocks = [(result[n].segment, result[n].local) for n in firsts]
    reports = dict(
        zip(firsts, report_numbers(found.blocks, [all_rows[n] for n in firsts], clocks), strict=True)
    )
    for number, (timing, first) in enumerate(zip(result, first_like, strict=True)):
        timing.report = reports[first] if first == number else reports[first].copy()


def _split_at_clocks(
    found: Walk, all_rows: Sequence[Rows], result: Sequence[Timing]
) -> dict[int, tuple[Origin, Run]]:
    """Make a segment of each run that a collector's clock begins; origin and kind of every segment."""
    below = [np.zeros(len(rows.block), dtype=np.int64) for rows in all_rows]
    for format_id in dict.fromkeys(rows.layout.format for rows in all_rows if rows.layout.clock != "row"):
        own = [n for n, rows in enumerate(all_rows) if rows.layout.format == format_id]
        blocks = [all_rows[n].block for n in own]
        clock_of = restarts.below_clocks(
            found, [result[n].report for n in own], blocks, [result[n].segment for n in own]
        )
        for n in own:
            below[n] = clock_of[all_rows[n].block]
    origins = {origin.index: origin for origin in found.origins}
    if not any(part.any() for part in below):
        return {number: (origin, Run.like(origin, False)) for number, origin in origins.items()}
    keys = np.concatenate(
        [np.stack((t.segment, part), axis=1) for t, part in zip(result, below, strict=True)]
    )
    kinds, number_of = np.unique(keys, axis=0, return_inverse=True)
    ends = np.cumsum([len(part) for part in below])
    for timing, numbers in zip(result, np.split(number_of, ends[:-1]), strict=True):
        timing.segment = numbers
    return {
        number: (origins[old], Run.like(origins[old], clock > 0))
        for number, (old, clock) in enumerate(kinds.tolist())
    }


def _alike(
    numbers: Sequence[int], runs: Mapping[int, tuple[Origin, Run]], is_clocked: bool
) -> Iterator[list[int]]:
    """Segments of a tool that one collector may have started; each alone where rows have clocks."""
    alike: list[int] = []
    for number in numbers:
        origin, run = runs[number]
        if alike and (is_clocked or origin.is_restart or runs[alike[-1]][1] != run):
            yield alike
            alike = []
        alike.append(number)
    if alike:
        yield alike


def _first_like(blocks: Blocks, all_rows: Sequence[Rows]) -> list[int]:
    """The number of the first Rows with the clocks of each: one section of sar tells the times of all."""
    found: list[int] = []
    alike: dict[Hashable, list[int]] = {}
    for number, rows in enumerate(all_rows):
        key = _header_of(blocks, rows)
        others = alike.setdefault(key, []) if key is not None else []
        first = next((other for other in others if _show_the_same(all_rows[other], rows)), number)
        if first == number:
            others.append(number)
        found.append(first)
    return found


def _show_the_same(one: Rows, other: Rows) -> bool:
    """Whether rows show the same clocks; unknown ones are alike."""
    has_same_clocks = np.array_equal(one.seconds.view(np.int64), other.seconds.view(np.int64))
    return has_same_clocks and np.array_equal(one.is_average, other.is_average)


def _header_of(blocks: Blocks, rows: Rows) -> Hashable:
    """All but their clocks that times and reports of rows with clocks below one header follow from.

    None for rows without clocks or below several headers.
    """
    if rows.layout.clock != "row" or not (rows.block == rows.block[:1]).all():
        return None
    if (np.isnan(rows.seconds) & ~rows.is_average).any():  # their items tell the reports apart
        return None
    block = blocks[rows.block[0]]
    return rows.layout.format, block.origin.index, block.clock, block.is_resumed, len(rows.lines)


def _empty(segment: Ints, clocks: int) -> Timing:
    size = len(segment)
    # what is put in their place as a whole need not be made here
    unknown = repeated(np.nan, size)
    no = np.zeros(size, dtype=np.bool_)
    return Timing(
        local=unknown,
        offset=unknown,
        interval=unknown.copy(),
        report=repeated(np.int64(0), size),
        segment=segment,
        since_boot=no,
        is_dated=no.copy(),
        clocks=clocks,
    )


def distinct_sorted(numbers: Ints) -> list[int]:
    """The distinct numbers of an array that never falls."""
    return [int(numbers[run.start]) for run in runs(numbers)]


def _finish(found: Walk, origin: Origin, parts: Sequence[Part], order: str, used: Set[str]) -> None:
    """Sample lengths, the times that follow from the start, and the since-boot flag, for one segment.

    `used` are the host's devices that tables above it saw requests of.
    """
    first_report = parts[0].rows.layout.first_report
    if first_report == "a sample":
        return
    groups = [part.row_group() for part in parts]
    if first_report != "since boot under its clock":
        set_lengths(origin, parts, groups)
        set_times_from_start(origin, parts, order)
    # what one banner announces is one run, of which no later report averages since boot
    is_restarted = origin.banner is None and any(part.has_own_clocks() for part in parts)
    is_all = (
        is_restarted and first_report != "since boot under its clock" and restarts.are_all_averages(groups)
    )
    old = _report_times.of_longer_totals(groups, _starts(parts), stated_interval(origin, parts))
    stretches = stretches_of(parts, groups)
    starts = (
        _starts_of_runs(found, parts, stretches) if first_report == "since boot" else stretches.report[:1]
    )
    for number, (start, own) in enumerate(_report_times.by_start(groups, starts)):
        # the first row of a run is held against those of its own alone
        is_old = _report_times.is_another_start(own) if number else begins_at_boot(found, origin, parts, own)
        if is_old and (number or not is_use_forgotten(parts, used)):
            old = np.append(old, start + _report_times.first_and_its_copy(own))
        elif not number and is_first_unknown(origin, parts) and _report_times.is_first_open(own):
            for part in parts:
                part.timing.doubtful.append(part.where.start)
    old = np.append(old, _report_times.anew_at_boot(groups, stretches))
    for part in parts if is_all or len(old) else ():
        part.set_since_boot(np.isin(part.timing.report[part.where], old) | is_all)


def _starts_of_runs(found: Walk, parts: Sequence[Part], stretches: _report_times.Stretches) -> Ints:
    """The first report, and those that stand below other words and a header of their own."""
    is_resumed = found.blocks.each(lambda block: block.is_resumed, np.bool_)
    resumed = [part.timing.report[part.where][is_resumed[part.rows.block[part.where]]] for part in parts]
    starts = stretches.report[[run.start for run in runs(stretches.phase)]]
    return np.unique(np.append(starts[:1], np.setdiff1d(starts, np.concatenate(resumed))))


def _starts(parts: Sequence[Part]) -> Ints:
    """The reports in which a tool may have begun: the first, and those below a header that few have."""
    below: list[Ints] = [np.zeros(1, dtype=np.int64)]
    for part in parts:
        report, block = part.timing.report[part.where], part.rows.block[part.where]
        is_first = np.diff(block, prepend=-1) != 0
        if 2 * np.count_nonzero(is_first) <= len(np.unique(report)):
            below.append(report[is_first])
    return np.unique(np.concatenate(below))


def _finish_runs(found: Walk, origins: Mapping[int, Origin], parts: Sequence[Part], order: str) -> None:
    """Lengths, times and averages since boot of runs that one collector started: they are told together."""
    numbers = list(origins)
    some = [part.within(numbers[0], numbers[: restarts.MOST_RUNS][-1]) for part in parts]
    some = [part for part in some if part.size]
    groups = [part.row_group() for part in some]
    run_of = [part.timing.segment[part.where] for part in some]
    stated = stated_interval(origins[numbers[0]], parts)
    length = stated or restarts.usual_interval(groups, run_of)
    if np.isnan(length):
        usual = collected_interval(origins[numbers[0]], parts)
        length = float(_report_times.lengths_of(np.array([np.nan]), usual, groups)[0])
    is_boot = runs_begin_at_boot(found, origins, some, groups, length)
    if any(part.has_own_clocks() for part in parts):
        for number, origin in origins.items():
            own = [run for part in parts if (run := part.within(number, number)).size]
            set_lengths(origin, own, [run.row_group() for run in own])
        for part in parts:
            shown = part.timing.interval[part.where]
            shown[np.isnan(shown) | (np.abs(shown - length) <= 1.0)] = length
    else:
        for part in parts:
            part.timing.interval[part.where] = length
        set_times_of_runs(origins, parts, order, length, delay=0 if is_boot else 1)
    for part in parts:
        part.set_since_boot(is_boot & (part.timing.report[part.where] == 0))
