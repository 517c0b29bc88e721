"""Lengths of samples of one run or several, and the times that follow from the start of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from iodiag.formats.text.structure.blocks import ClockSequence, Origin
from iodiag.formats.text.times import report_times as _report_times
from iodiag.formats.text.times import restarts
from iodiag.formats.text.times.report_times import seconds_of
from iodiag.formats.text.times.row_clocks import base_day
from iodiag.formats.text.times.timing import Part


def is_printed_by(origin: Origin, parts: Sequence[Part]) -> bool:
    """Whether the visible command is the one that printed these rows."""
    return origin.command is not None and origin.command.tool == parts[0].rows.layout.format


def stated_interval(origin: Origin, parts: Sequence[Part]) -> float | None:
    """The interval that the command asked for, if it is the one that printed these reports."""
    return origin.command.interval_s if origin.command and is_printed_by(origin, parts) else None


def collected_interval(origin: Origin, parts: Sequence[Part]) -> float | None:
    """How long the collector has this tool's samples last, as far as that is known."""
    return origin.collector.intervals.get(parts[0].rows.layout.format) if origin.collector else None


def stretches_of(parts: Sequence[Part], groups: Sequence[_report_times.RowGroup]) -> _report_times.Stretches:
    """The reports that have rows, and the phase of each."""
    size = 1 + max(int(group.report.max()) for group in groups)
    phase = np.full(size, -1, dtype=np.int64)
    for part, group in zip(parts, groups, strict=True):
        np.maximum.at(phase, group.report, part.phase[part.where])
    used = np.flatnonzero(phase >= 0)
    return _report_times.Stretches(used, np.maximum.accumulate(phase[used]))


def set_lengths(origin: Origin, parts: Sequence[Part], groups: Sequence[_report_times.RowGroup]) -> None:
    """One length per report, and one time where a log collector stamped its lines seconds apart."""
    size = 1 + max(int(group.report.max()) for group in groups)
    times = np.full(size, np.nan)
    absolute = [part.timing.absolute_in(part.where) for part in parts]
    for own, group in zip(absolute, groups, strict=True):
        first = np.full(size, -1, dtype=np.int64)
        first[group.report[::-1]] = np.arange(len(own))[::-1]
        times = np.where(np.isnan(times) & (first >= 0), own[first], times)
    stated = stated_interval(origin, parts)
    lengths = np.full(size, np.nan)
    stretches = stretches_of(parts, groups)
    used = stretches.report
    lengths[used] = _report_times.lengths_of(times[used], stated, groups, stretches)
    if stated is None:
        lengths = restarts.without_pauses(lengths, groups, collected_interval(origin, parts))
    lengths = _report_times.with_totals(lengths, groups)
    for part, own, group in zip(parts, absolute, groups, strict=True):
        part.timing.interval[part.where] = lengths[group.report]
        part.timing.local[part.where] += times[group.report] - own


def set_times_from_start(origin: Origin, parts: Sequence[Part], order: str) -> None:
    """Reports without a clock, below a command that one stands above: they follow its start."""
    shown = [part.timing.local[part.where] for part in parts]
    start = origin.started
    if start is None or not all(np.isnan(times).all() for times in shown):
        return
    base = np.array([base_day(origin, order)])
    seconds = seconds_of(ClockSequence.of([start]), np.zeros(1, dtype=np.int64), base, order)
    delay = 1 if origin.command and origin.command.has_flag("y") else 0
    for part in parts:
        here, length = part.where, part.timing.interval[part.where]
        step = part.timing.report[here] + delay
        local = seconds.local[0] + np.where(step > 0, step * length, 0.0)
        part.timing.local[here], part.timing.offset[here] = local, seconds.offset[0]
        part.timing.is_dated[here] = seconds.is_dated[0] & ~np.isnan(local)


def set_times_of_runs(
    origins: Mapping[int, Origin], parts: Sequence[Part], order: str, length: float, delay: int
) -> None:
    """Reports below one clock or a command that one stands above: they follow the start of their run."""
    started = [origin.started for origin in origins.values()]
    bases = np.array([base_day(origin, order) for origin in origins.values()])
    index = np.array([origin.index for origin in origins.values()])
    start = seconds_of(ClockSequence.of(started), np.zeros_like(index), bases, order)
    numbers = np.array(list(origins))
    for part in parts:
        here, timing = part.where, part.timing
        run = np.searchsorted(numbers, timing.segment[here])
        is_without = np.isnan(timing.local[here])
        step = timing.report[here] + delay
        later = np.where(step > 0, step * length, 0.0)
        # where nothing tells the length, a report below a clock keeps it
        timing.local[here] += np.where(is_without, 0.0, np.nan_to_num(later))
        timing.local[here] = np.where(is_without, start.local[run] + later, timing.local[here])
        timing.offset[here] = np.where(is_without, start.offset[run], timing.offset[here])
        is_dated = np.where(is_without, start.is_dated[run], timing.is_dated[here])
        timing.is_dated[here] = is_dated & ~np.isnan(timing.local[here])
