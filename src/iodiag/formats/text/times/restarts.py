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
from iodiag.formats.text.structure.blocks import CLASS, Origin, Walk
from iodiag.formats.text.times.report_times import RowGroup
from iodiag.table.table import Bools, Floats, Ints

MOST_RUNS = 64
"""So many runs, or reports, are enough to tell what all are."""

_SHARE_OF_CLOCKS = 0.8
_SHORTEST_PAUSED = 2.0  # from clock to clock, with a sample of a second and as long a pause
_STILL = 0.02
_SHARE_STILL = 0.9
_FEWEST_STEPS = 6
_UNLIKE = 0.25
_CALM = 0.25
_SHARE_CALM = 0.8
FEW_RUNS = 5
_LEAST_RATE = 0.5
_FALLEN = 0.4
_ALL_STILL = 0.01
_SHARE_ALL_STILL = 0.95
_MOSTLY_IDLE = 90.0  # above it a share of idle time changes little, whoever measures it
_FEWEST_STARTS = 3
_SCREEN = 15  # rows that fit below a header on the smallest screen
_TELLING_STEPS = 50  # the least printed number of which two per cent is a printed step


def below_clocks(
    found: Walk, report: Sequence[Ints], blocks: Sequence[Ints], segments: Sequence[Ints]
) -> Ints:
    """For each block the number of the clock line that its run began under; 0 where a clock begins no run.

    `report`, `blocks` and `segments` are those of the rows of every layout of one tool. A clock begins a run
    where several reports stand under it: a tool that prints the time itself does so for each. Where the loop
    prints one as well, the first report of each run stands below two.
    """
    clock_lines = np.flatnonzero(found.classes == CLASS["clock"])
    above = np.searchsorted(clock_lines, found.blocks.first)
    above[found.blocks.clock_at < 0] = 0
    result = np.zeros(len(found.blocks), dtype=np.int64)
    of_row = [above[block] for block in blocks]
    size = 1 + max(int(part.max(initial=0)) for part in report)
    keys = np.unique(np.concatenate([_told_once(c * size + r) for c, r in zip(of_row, report, strict=True)]))
    clocks, counts = np.unique(keys[keys >= size] // size, return_counts=True)
    if not ((counts > 1).any() or (np.diff(clocks) > 1).any()):
        return result
    block_of, segment_of = np.concatenate(list(blocks)), np.concatenate(list(segments))
    segment_at = dict(zip(np.concatenate(of_row).tolist(), segment_of.tolist(), strict=True))
    owner = np.array([segment_at[clock] for clock in clocks.tolist()])
    for segment in np.unique(owner).tolist():
        own = counts[owner == segment]
        own = own[:-1] if len(own) > 1 else own  # the last may be cut off
        if (own > 1).mean() >= _SHARE_OF_CLOCKS:
            here = np.unique(block_of[segment_of == segment])
            # what has lost its clock goes on with the run above it
            result[here] = np.maximum.accumulate(above[here])
        else:
            here = np.unique(block_of[segment_of == segment])
            result[here] = _below_two(above[here])
    return result


def _below_two(above: Ints) -> Ints:
    """The clock that each block's run began under where a loop and its tool print one each; else 0.

    Each run has as many reports as the others, two or more, and the first of each stands below both clocks.
    """
    clocks, place = np.unique(above, return_inverse=True)
    steps = np.diff(clocks, prepend=clocks[0] - 2)
    starts = np.flatnonzero(steps == 2)
    sizes = np.diff(starts, append=len(clocks))
    is_even = len(starts) >= _FEWEST_STARTS and sizes[0] > 1 and (sizes[:-1] == sizes[0]).all()
    if not clocks[0] or steps.max() > 2 or not is_even or sizes[-1] > sizes[0]:
        return np.zeros_like(above)
    return np.asarray(clocks[starts][np.searchsorted(starts, place, "right") - 1])


def _told_once(numbers: Ints) -> Ints:
    """Numbers of which neighbours that are equal are one."""
    return numbers[np.append(True, numbers[1:] != numbers[:-1])] if len(numbers) else numbers


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
    items = [item for rows in groups for item in _items(rows)]
    falls = {at for item in items for at in item.falls()}
    if len(falls) > 1 or (falls and len(np.unique(of)) <= FEW_RUNS):
        return False
    steps, still, calm, cells, unlike = map(sum, zip((0,) * 5, *(item.told() for item in items), strict=True))
    is_still = steps >= _FEWEST_STEPS and still >= _SHARE_STILL * steps and 2 * unlike >= cells
    is_calm = steps >= 2 * _FEWEST_STEPS and calm >= _SHARE_CALM * steps
    return True if is_still or is_calm else None


def are_all_averages(groups: Sequence[RowGroup]) -> bool:
    """Whether every report averages since boot: a tool without an interval was started for each of them.

    All shares of CPU time and all numbers of disks barely change then; a load that is so steady has other CPU
    shares in each sample all the same.
    """
    steps = still = of_cpu = 0
    for rows in _beginning(groups):
        for item in _items(rows._replace(report=np.zeros_like(rows.report))):
            is_telling = item.is_telling & (item.first[0] < _MOSTLY_IDLE)
            moves = np.abs(np.diff(item.first, axis=0))[:, is_telling]
            steps += moves.size
            still += int((moves <= _ALL_STILL * item.first[1:, is_telling]).sum())
            of_cpu += moves.size if not rows.rates_at else 0
    return steps >= 4 * _FEWEST_STEPS and of_cpu >= _FEWEST_STEPS and still >= _SHARE_ALL_STILL * steps


def begin_anew(rows: RowGroup, block: Ints) -> Bools:
    """The first rows below headers that a tool printed for each of its starts: averages since boot all.

    vmstat repeats its header when a screen is full. Where it stands above every few rows, and the first of
    each say the same in all columns but those of the moment, a loop started the tool for each.
    """
    is_first: Bools = np.append(True, block[1:] != block[:-1])
    averages = np.setdiff1d(np.arange(rows.numbers.shape[1]), rows.now_at)
    first = rows.numbers[is_first][:, averages]
    is_still = np.abs(np.diff(first, axis=0)) <= np.fmax(rows.step, _STILL * first[1:])
    if len(first) < _FEWEST_STARTS or len(block) > _SCREEN * len(first) or is_still.mean() < _SHARE_ALL_STILL:
        return np.zeros_like(is_first)
    return is_first


class _Item(NamedTuple):
    """Numbers of one device or CPU that average: in the first reports of runs, and in all others.

    `is_telling` are the columns whose first reports hold numbers large enough to tell steps, `is_rate` those
    that count per second.
    """

    first: Floats
    later: Floats
    is_telling: Bools
    is_rate: Bools

    def falls(self) -> list[int]:
        """The runs after which a rate fell by more than half: no average since boot does, from run to run."""
        before, after = self.first[:-1, self.is_rate], self.first[1:, self.is_rate]
        has_fallen = (before >= _LEAST_RATE) & (after < _FALLEN * before)
        return np.flatnonzero(has_fallen.any(axis=1)).tolist()

    def told(self) -> tuple[int, int, int, int, int]:
        """Steps from run to run, how many are small, small beside later ones; columns, and unlike ones."""
        if not len(self.later) or len(self.first) < 2:
            return 0, 0, 0, 0, 0
        first, later = self.first[:, self.is_telling], self.later[:, self.is_telling]
        moves = np.abs(np.diff(first, axis=0))
        usual = (
            np.median(np.abs(np.diff(later, axis=0)), axis=0) if len(later) > 1 else np.zeros(first.shape[1])
        )
        own = np.median(first, axis=0)
        still = (moves <= _STILL * first[1:]).sum()
        unlike = (np.abs(np.median(later, axis=0) - own) > _UNLIKE * own).sum()
        return moves.size, int(still), int((moves < _CALM * usual).sum()), len(own), int(unlike)


def _items(rows: RowGroup) -> list[_Item]:
    averages = np.setdiff1d(np.arange(rows.numbers.shape[1]), rows.now_at)
    is_rate = np.isin(averages, rows.rates_at)
    least = _TELLING_STEPS * rows.step
    found = []
    for item in np.unique(rows.items).tolist():
        is_own: Bools = rows.items == item
        first = rows.numbers[is_own & (rows.report == 0)][:, averages]
        if len(first):
            later = rows.numbers[is_own & (rows.report > 0)][:, averages]
            found.append(_Item(first, later, (first > least).all(axis=0), is_rate))
    return found


def usual_interval(groups: Sequence[RowGroup], runs: Sequence[Ints], instead: float = np.inf) -> float:
    """The interval that the event rates of all reports but the first of each run betray; NaN for none.

    `instead` is what clocks say it is.
    """
    for is_first in (False, None):
        length = _clock.usual_grid(*_rates(groups, runs, is_first), instead=instead)
        if not np.isnan(length):
            return length
    return float("nan")


def without_pauses(lengths: Floats, groups: Sequence[RowGroup], usual: float | None) -> Floats:
    """The lengths of reports, mended by what their rates betray, or what is `usual` for a collector.

    Where samples are at most half as long as it is from clock to clock, the rest is the collector's pause.
    """
    known = lengths[~np.isnan(lengths)]
    if len(known) == len(lengths) and np.median(known) < _SHORTEST_PAUSED:
        return lengths
    groups = _beginning(groups)
    pace = float(np.median(known)) if len(known) else np.inf
    length = usual_interval(groups, [rows.report for rows in groups], pace)
    length = (usual or np.nan) if np.isnan(length) else length
    if not np.isnan(length) and len(known) > 1 and length <= np.median(known) / 2:
        return np.full(len(lengths), length)
    return np.where(np.isnan(lengths), length, lengths)


def _beginning(groups: Sequence[RowGroup]) -> list[RowGroup]:
    """The rows of the first reports, which are enough."""
    return [rows.only(rows.report < MOST_RUNS) for rows in groups]


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
