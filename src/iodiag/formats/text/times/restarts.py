"""Runs of a tool that a collector starts again and again: what many of them prove that one alone does not.

OSWatcher, pt-stalk and loops in a shell write the time, run `iostat -x 1 2`, wait, and begin anew. The first
report of each run averages since boot, so these change little from run to run while the others follow the
load; and where events of all runs are counted per second, their rates lie on the grid of that second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.text.arrays import Bools, Floats, Ints
from iodiag.formats.text.structure.blocks import CLASS, Origin, Walk
from iodiag.formats.text.times.report_times import RowGroup

MOST_RUNS = 64
"""So many runs are enough to tell what all are."""

_SHARE_OF_CLOCKS = 0.8
_STILL = 0.02
_SHARE_STILL = 0.9
_FEWEST_STEPS = 6
_UNLIKE = 0.25
_TELLING_STEPS = 50  # the least printed number of which two per cent is a printed step


def below_clocks(
    found: Walk, report: Sequence[Ints], blocks: Sequence[Ints], segments: Sequence[Ints]
) -> Ints:
    """For each block the number of the clock line that its run began under; 0 where a clock begins no run.

    `report`, `blocks` and `segments` are those of the rows of every layout of one tool. A clock begins a run
    where several reports stand under it: a tool that prints the time itself does so for each.
    """
    clock_lines = np.flatnonzero(found.classes == CLASS["clock"])
    above = np.searchsorted(clock_lines, found.blocks.first)
    above[found.blocks.clock_at < 0] = 0
    result = np.zeros(len(found.blocks), dtype=np.int64)
    rows = [np.stack(part, axis=1) for part in zip(segments, (above[b] for b in blocks), report, strict=True)]
    reports = np.unique(np.concatenate([part[part[:, 1] > 0] for part in rows]), axis=0)
    if not len(reports):
        return result
    clocks, counts = np.unique(reports[:, :2], axis=0, return_counts=True)
    segment_of = np.concatenate([part[:, 0] for part in rows])
    block_of = np.concatenate(list(blocks))
    for segment in np.unique(clocks[:, 0]).tolist():
        own = counts[clocks[:, 0] == segment]
        own = own[:-1] if len(own) > 1 else own  # the last may be cut off
        if (own > 1).mean() >= _SHARE_OF_CLOCKS:
            here = block_of[segment_of == segment]
            result[here] = above[here]
    return result


class Run(NamedTuple):
    """What runs have in common that one collector started: one runs the same tool on the same host."""

    of: tuple[object, ...]
    is_below_clock: bool

    @classmethod
    def like(cls, origin: Origin, is_below_clock: bool) -> Run:
        """The kind of a run with this origin."""
        banner, command = origin.banner, origin.command
        host = banner._replace(date="") if banner else None
        return cls((host, (command.tool, command.words) if command else None), is_below_clock)


def are_averages(groups: Sequence[RowGroup], runs: Sequence[Ints], length: float) -> bool | None:
    """Whether the first reports of runs are averages since boot; None where nothing tells.

    `runs` are the numbers of the runs of each group's rows, `length` is that of the other reports.
    """
    rates, of = _rates(groups, runs, is_first=True)
    if not np.isnan(length):
        if not np.isnan(_clock.usual_grid(rates, of, (length,))):
            return False
        if _clock.is_off_grid(rates, of, length):
            return True
    steps = still = cells = unlike = 0
    for rows, run in zip(groups, runs, strict=True):
        for first, later in _of_items(rows, run):
            is_telling = (first > _TELLING_STEPS * _unit(rows)).all(axis=0)
            moves = np.abs(np.diff(first, axis=0))[:, is_telling]
            steps += moves.size
            still += int((moves <= _STILL * first[1:, is_telling]).sum())
            usual, own = np.median(later, axis=0), np.median(first, axis=0)
            cells += int(is_telling.sum())
            unlike += int((np.abs(usual - own) > _UNLIKE * own)[is_telling].sum())
    if steps >= _FEWEST_STEPS and still >= _SHARE_STILL * steps and 2 * unlike >= cells:
        return True
    return None


def usual_interval(groups: Sequence[RowGroup], runs: Sequence[Ints]) -> float:
    """The interval that the event rates of all reports but the first of each run betray; NaN for none."""
    for is_first in (False, None):
        length = _clock.usual_grid(*_rates(groups, runs, is_first))
        if not np.isnan(length):
            return length
    return float("nan")


def without_pauses(lengths: Floats, groups: Sequence[RowGroup], usual: float | None) -> Floats:
    """The lengths of reports, mended by what their rates betray, or what is `usual` for a collector.

    Where samples are at most half as long as it is from clock to clock, the rest is the collector's pause.
    """
    length = usual_interval(groups, [rows.report for rows in groups])
    length = (usual or np.nan) if np.isnan(length) else length
    known = lengths[~np.isnan(lengths)]
    if not np.isnan(length) and len(known) > 1 and length <= np.median(known) / 2:
        return np.full(len(lengths), length)
    return np.where(np.isnan(lengths), length, lengths)


def _rates(groups: Sequence[RowGroup], runs: Sequence[Ints], is_first: bool | None) -> tuple[Floats, Ints]:
    """The event rates of some reports (None: of all), and a number for the report of each."""
    values, of = [np.empty(0)], [np.empty(0, dtype=np.int64)]
    for rows, run in zip(groups, runs, strict=True):
        wanted = np.ones(len(run), dtype=np.bool_) if is_first is None else (rows.report == 0) == is_first
        rates = rows.numbers[wanted][:, list(rows.rates_at)]
        values.append(rates.ravel())
        number = run[wanted] * (1 + rows.report.max(initial=0)) + rows.report[wanted]
        of.append(np.repeat(number, rates.shape[1]))
    return np.concatenate(values), np.concatenate(of)


def _of_items(rows: RowGroup, run: Ints) -> list[tuple[Floats, Floats]]:
    """For each item its numbers that average, in first reports (run by run) and in all others."""
    averages = np.setdiff1d(np.arange(rows.numbers.shape[1]), rows.now_at)
    found = []
    for item in np.unique(rows.items).tolist():
        is_own: Bools = rows.items == item
        first, later = is_own & (rows.report == 0), is_own & (rows.report > 0)
        if first.sum() > 1 and later.any():
            found.append((rows.numbers[first][:, averages], rows.numbers[later][:, averages]))
    return found


def _unit(rows: RowGroup) -> float:
    """The last printed place of numbers: whole ones as vmstat prints them, else hundredths."""
    known = rows.numbers[np.isfinite(rows.numbers)]
    return 1.0 if (known == np.round(known)).all() else 0.01
