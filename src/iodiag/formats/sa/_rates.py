"""From counters at each record to differences and rates: every item against its last sample.

An item is looked for in the record before by what names it (device numbers, interface, …), not
by its place, since devices come and go. One that was not there counts from zero, and so does one
whose counters fell, since it was registered anew. So does sysstat, which however takes the fall of
some of a disk's counters for a wrap at 2⁶⁴ and prints enormous numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.formats.sa._header import Activity, SaHeader
from iodiag.formats.sa._records import Segment, Structs, Uints
from iodiag.table.table import Bools, Floats, Ints

_WRAP = 2.0**32
_CLOCK_TICKS = {"alpha": 1024.0, "ia64": 1024.0}
_USUAL_CLOCK_TICKS = 100.0


class Stored(NamedTuple):
    """All structures of one activity in a segment, record by record.

    `record` is the index of each one's record in the segment, `item` and `subitem` its place
    within the record. `period` is how many each record has, where all have as many, else 0.
    """

    values: Structs
    record: Ints
    item: Ints
    subitem: Ints
    period: int = 0

    def take(self, rows: Ints | Bools | slice, period: int = 0) -> Stored:
        """Some of the structures; `period` is what the caller knows to be theirs."""
        return Stored(self.values[rows], self.record[rows], self.item[rows], self.subitem[rows], period)

    def where(self, holds: Bools) -> Stored:
        """The structures for which something holds."""
        if holds.all():
            return self
        if self.period and repeats(holds, self.period):
            return self.take(holds, int(holds[: self.period].sum()))
        return self.take(holds)

    def has(self, *names: str) -> bool:
        return set(names) <= set(self.values.dtype.names or ())


class Pairs(NamedTuple):
    """Structures beside those of the sample before, and the length of the sample in seconds.

    The baseline record of the segment has no rows. `before` is zero where `is_new`.
    """

    now: Stored
    before: Structs
    is_new: Bools
    seconds: Floats

    def take(self, rows: Ints | Bools) -> Pairs:
        return Pairs(self.now.take(rows), self.before[rows], self.is_new[rows], self.seconds[rows])

    def delta(self, name: str) -> Floats:
        """By how much a counter grew; NaN where it went back by more than a wrap explains."""
        return _growth(self.now.values[name], self.before[name])

    def rate(self, name: str) -> Floats:
        """The same per second."""
        return self.delta(name) / self.seconds

    def gauge(self, name: str) -> Floats:
        """The value as it stands at the end of the sample."""
        return self.now.values[name].astype(np.float64)


def gather(
    data: bytes, segment: Segment, position: int, activity: Activity, view: np.dtype[np.void]
) -> Stored:
    """All structures of the activity at this position in the list of activities."""
    counts = tuple(run.counts[position] * activity.subitems for run in segment.runs)
    parts = [
        # copied as bare bytes: numpy copies structures field by field
        np.ndarray(
            (len(run.time), count),
            f"V{activity.size}",
            data,
            run.at + run.places[position],
            (run.size, activity.size),
        ).reshape(-1)
        for run, count in zip(segment.runs, counts, strict=True)
        if count
    ]
    values = np.concatenate(parts).view(view) if parts else np.empty(0, dtype=view)
    record, order = segment.places(counts)
    period = counts[0] if len(set(counts)) == 1 else 0
    if activity.subitems == 1:
        return Stored(values, record, order, np.zeros_like(order), period)
    return Stored(values, record, order // activity.subitems, order % activity.subitems, period)


def with_rest(first: Stored, rest: Stored) -> Stored:
    """The items of both in each record: those of a host's total, and as many behind each as `rest` has there.

    Counters of 32 bits go on beyond their wraps, so that those of both kinds are of one width.
    """
    names = [name for name in rest.values.dtype.names or () if first.has(name)]
    records, period = len(first.values), 1 + rest.period
    values = np.zeros((records, period), dtype=[(name, np.uint64) for name in names])
    for name in names:
        values[name][:, :1] = _unwrapped(first.values[name].reshape(records, 1))
        values[name][:, 1:] = _unwrapped(rest.values[name].reshape(records, rest.period))
    item, record = np.tile(np.arange(period), records), np.repeat(np.arange(records), period)
    return Stored(values.reshape(-1), record, item, np.zeros_like(item), period)


def _unwrapped(counters: Uints) -> Ints:
    """Counters of 32 bits, a column per item, as if they had more; others as they are."""
    grown = counters.astype(np.int64)
    if counters.dtype.itemsize == 4 and len(grown):
        grown[1:] += np.cumsum(np.diff(grown, axis=0) < -(2**31), axis=0) * 2**32
    return grown


def intervals(header: SaHeader, segment: Segment) -> Floats:
    """Seconds from each record to the next, of length records - 1.

    From 0x2175 on the uptime is in hundredths of a second. Before, it is in the kernel's clock
    ticks, of which all but two architectures have 100 a second (USER_HZ); with several CPUs the
    uptime of one of them is meant, which files before 4.1.6 do not hold: the mean of all then.
    """
    ticks = _USUAL_CLOCK_TICKS
    if header.record_types is None:
        ticks = _CLOCK_TICKS.get(header.machine, ticks)
        if segment.cpus != 1 and segment.uptime_one.all():
            return _steps(segment.uptime_one) / ticks
        if header.old and segment.cpus:
            return cpu_ticks(segment) / segment.cpus / ticks
    return cpu_ticks(segment) / ticks


def cpu_ticks(segment: Segment) -> Floats:
    """Clock ticks of all CPUs together from each record to the next (before 0x2175).

    NaN where the sum went back, as it does when a CPU goes offline.
    """
    return _steps(segment.uptime)


def _steps(clock: Floats) -> Floats:
    """From each reading to the next; two readings in the same tick are taken to be one tick apart."""
    passed = np.diff(clock)
    return np.where(passed < 0, np.nan, np.maximum(passed, 1.0))


def repeats(column: npt.NDArray[np.generic], period: int) -> bool:
    """Whether a column has the same values in every record, `period` in each."""
    grid = column.reshape(-1, period)
    return bool((grid == grid[:1]).all())


def distinct(column: npt.NDArray[np.generic], period: int = 0) -> tuple[npt.NDArray[np.generic], Ints]:
    """A column's distinct values, and the place of each row's among them."""
    if period and repeats(column, period):
        values, inverse = np.unique(column[:period], return_inverse=True)
        return values, np.tile(inverse, len(column) // period)
    values, inverse = np.unique(column, return_inverse=True)
    return values, inverse


def keys_of(columns: Sequence[npt.NDArray[np.generic]], period: int = 0) -> Ints:
    """One integer per distinct combination of these columns' values."""
    if period and all(repeats(column, period) for column in columns):
        return np.tile(keys_of([column[:period] for column in columns]), len(columns[0]) // period)
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        _, inverse = np.unique(column, return_inverse=True)
        _, codes = np.unique(codes * (inverse.max(initial=0) + 1) + inverse, return_inverse=True)
    return codes


def pair(
    stored: Stored, key: Ints, seconds: Floats, counters: Sequence[str] = (), *, across_gaps: bool = False
) -> Pairs:
    """Each structure with the one of the same key in the record before.

    With `across_gaps` it is the last record that had the key. `counters` are those that never fall
    unless the item was registered anew.
    """
    period = stored.period
    if period and repeats(key, period) and len(np.unique(key[:period])) == period:
        # the same items in every record: the one before is a period further up
        now, values = stored.take(slice(period, None), period), stored.values[:-period]
        is_new = np.zeros(len(values), dtype=np.bool_)
    else:
        before = _previous(key, stored.record, across_gaps)
        rows = np.flatnonzero(stored.record > 0)
        now, before = stored.take(rows), before[rows]
        is_new = before < 0
        values = stored.values[np.maximum(before, 0)]
    if counters:
        is_new = is_new | _restarted(now.values, values, counters)
    if is_new.any():
        values = values.copy()
        values[is_new] = np.zeros((), dtype=values.dtype)
    return Pairs(now, values, is_new, seconds[now.record - 1])


def _previous(key: Ints, record: Ints, across_gaps: bool) -> Ints:
    """The index of each row's predecessor, -1 for none."""
    order = np.lexsort((record, key))
    key, record = key[order], record[order]
    if len(key) > 1 and ((key[1:] == key[:-1]) & (record[1:] == record[:-1])).any():
        # The same name twice in one record: the n-th of them is compared with the n-th.
        starts = np.flatnonzero(np.r_[True, (key[1:] != key[:-1]) | (record[1:] != record[:-1])])
        rank = np.arange(len(key)) - np.repeat(starts, np.diff(np.r_[starts, len(key)]))
        again = np.lexsort((record, rank, key))
        order, key, record, rank = order[again], key[again], record[again], rank[again]
        key = keys_of((key, rank))
    result = np.full(len(key), -1, dtype=np.int64)
    gap = record[1:] - record[:-1]
    follows = (key[1:] == key[:-1]) & ((gap == 1) | (across_gaps & (gap > 0)))
    result[order[1:][follows]] = order[:-1][follows]
    return result


def _growth(now: Uints, before: Uints) -> Floats:
    """By how much a counter grew; NaN where it went back by more than a wrap explains.

    Counters of 32 bits wrap at 2³², and so may those of 64 bits as long as they are below: the
    kernel's own counter may be narrower than the field it is stored in.
    """
    # the fields of structures lie apart, and each would be gathered twice
    now, before = np.ascontiguousarray(now), np.ascontiguousarray(before)
    growth: Floats = (now - before).astype(np.float64)
    fell = now < before
    if fell.any():
        wrapped = now[fell].astype(np.float64) - before[fell].astype(np.float64) + _WRAP
        growth[fell] = np.where((wrapped >= 0) & (wrapped < _WRAP / 2), wrapped, np.nan)
    return growth


def _restarted(now: Structs, before: Structs, counters: Sequence[str]) -> Bools:
    """Rows whose counters began anew: all of them fell (zeros aside), or one did beyond a wrap."""
    unexplained = np.zeros(len(now), dtype=np.bool_)
    if not any((now[name] < before[name]).any() for name in counters):
        return unexplained
    fell, grew = unexplained.copy(), unexplained.copy()
    for name in counters:
        unexplained |= np.isnan(_growth(now[name], before[name]))
        fell |= now[name] < before[name]
        grew |= (now[name] >= before[name]) & (before[name] > 0)
    return unexplained | (fell & ~grew)
