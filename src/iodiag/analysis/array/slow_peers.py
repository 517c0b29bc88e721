"""Disks at like rates, of which one takes many times as long as another: told from one sample.

Siblings need no array: disks of one host that serve as many requests per second, of like size and direction,
take a like time. One that takes ten times as long, and longer than a healthy device takes, is slow itself,
and so are two that stall together while a third does not.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from iodiag.analysis.array.equal_rates import disks_of
from iodiag.analysis.array.side_by_side import Keys, at_reports, first_row_per_report, report_keys
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.time_per_kb import DIRECTIONS, ways_of_both
from iodiag.analysis.states.service_times import (
    FASTER_THAN_SEEKS,
    SERVICE,
    class_of,
    events_per_sample,
    sane_limit_ms,
)
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.table.table import Floats, Mask, Table, stacked

_LIKE_RATE, _EQUAL_RATE, _LIKE_SIZE = 2.0, 1.1, 4.0
_SMALL_KB = 64.0
"""Below this a request's size hardly matters: positioning and the path to the disk take the time."""
_NOTICED_MS = 200.0
"""A disk that may spin turns 24 times meanwhile (at 7,200 rpm): no healthy one needs so long for the requests
that the drive itself reorders."""
_FELT_MS = 5.0
_ALONE = 1.5
"""Times what a spinning disk usually takes at most for one request: busy for so long with each on the mean,
it has no queue to excuse it."""
_TWIN, _TWIN_SIZE = 3.0, 1.25
"""Times as long a write takes on one of two disks that are written alike, as the two of a mirror are."""
_MANY = 3
"""Disks beside it whose middle one is none that is quick or slow by itself."""
_SIGMAS = 2.0
_FULL, _CALM = 0.95, 0.1
"""Busy shares: `_FULL` is all the time but for the rounding of short samples; a sibling that is idle for nine
tenths of it shows that the load asks for little (utilisation law: a tenth at equal service times)."""
_MOST_REQUESTS = 0.5
_SERVED_ALIKE, _AS_QUICK, _CHANCE = 1.5, 1.25, 2.0
"""Times the busy time per request of a sibling up to which a disk serves as quickly as it does; times its
latency up to which it answers as quickly; and times the mean time in line that a short sample shows."""
_LASTING, _FEW_SAMPLES = 0.5, 5
"""A slow half of a short capture is no passing stall, however few requests it holds."""


@dataclass(frozen=True)
class SlowSibling:
    """A disk and its samples in which it was slow (`rows`), the fast disks and their samples then.

    Latencies and their ratio are of all requests, or of those in `way`: a mean over other shares of reads and
    writes is no measure of another disk. Its samples have a column `sane` more: how many ms a healthy device
    takes at most for as many in flight.
    """

    slow: DeviceSeries
    fast: tuple[DeviceSeries, ...] = field(repr=False)
    rows: Table = field(repr=False)
    fast_rows: tuple[Table, ...] = field(repr=False)

    @cached_property
    def way(self) -> str:
        """`read` or `write`: what waits most at the slow one, where the two are APART; else empty."""
        apart, means = ways_of_both(self.rows, stacked(self.fast_rows))
        rates = {way: weighted.mean(self.rows, f"{way}s_per_s") for way in DIRECTIONS}
        return max(rates, key=lambda way: rates[way] * means[f"{way}_one"]) if apart else ""

    @cached_property
    def latency_ms(self) -> float:
        """The mean latency of its requests."""
        return mean_ms(self.rows, self.way)

    @cached_property
    def fast_ms(self) -> float:
        """The mean latency of the fast disks' requests."""
        return mean_ms(stacked(self.fast_rows), self.way)

    @property
    def ratio(self) -> float:
        """How many times as long its requests take."""
        return self.latency_ms / self.fast_ms

    @cached_property
    def least_ratio(self) -> float:
        """The end of the ratio's interval, by the requests counted, that says least.

        Of means of few requests of one kind the logarithm of their ratio errs by √(1/n + 1/m).
        """
        rate = f"{self.way or 'io'}s_per_s"
        own, *others = (
            max(float(np.nansum(events_per_sample(part, rate))), 1.0) for part in (self.rows, *self.fast_rows)
        )
        return self.ratio * math.exp(-_SIGMAS * math.sqrt(1 / own + 1 / sum(others)))

    def beside_others(self, slow: Collection[str]) -> SlowSibling:
        """The same against the fast disks that are not among the `slow` ones."""
        fast = [number for number, series in enumerate(self.fast) if series.name not in slow]
        return replace(
            self,
            fast=tuple(self.fast[number] for number in fast),
            fast_rows=tuple(self.fast_rows[number] for number in fast),
        )


@dataclass(frozen=True)
class _Disk:
    """A disk's columns in all reports, NaN where it has no sample."""

    series: DeviceSeries
    part: Table
    rate: Floats
    size: Floats
    latency: Floats
    reads: Floats
    sane: Floats
    alone: Floats
    busy: Floats
    writes: Floats
    write_size: Floats
    write_ms: Floats


def slow_siblings(view: View, ratio: float) -> list[SlowSibling]:
    """Each disk that is `ratio` times as slow as a sibling in samples with half of its requests."""
    disks = disks_of(view)
    if len(disks) < 2:
        return []
    parts = [first_row_per_report(series) for series in disks]
    reports = np.unique(np.concatenate([report_keys(part) for part in parts]))
    shown = [_disk(series, part, reports) for series, part in zip(disks, parts, strict=True)]
    found = (_against(disk, [o for o in shown if o is not disk], reports, ratio) for disk in shown)
    return [one for one in found if one is not None]


def _disk(series: DeviceSeries, part: Table, reports: Keys) -> _Disk:
    ios, depth = part.floats("ios_per_s"), part.floats("depth")
    size = part.floats("kb_per_s") / np.where(ios > 0, ios, np.nan)
    sane = np.fmax(np.fmax(part.floats("busy_depth"), depth), 1.0) * sane_limit_ms(series, size)
    own = part.with_columns(
        in_hand=events_per_sample(part) + np.nan_to_num(depth),
        size=size,
        reads=part.floats("reads_per_s") / np.where(ios > 0, ios, 1),
        # of flash it is known how long it takes at most; what may spin is given some time
        sane=sane if class_of(series) in ("nvme", "solid") else np.fmax(_NOTICED_MS, sane),
        alone=_ALONE * SERVICE["spinning"].usual_ms + 0 * size
        if class_of(series) in ("spinning", "unknown")
        else np.full(len(size), np.inf),
    )
    shown = ("ios_per_s", "size", "latency_ms", "reads", "sane", "alone", "util")
    columns = (*shown, "writes_per_s", "write_size_kb", "write_await_ms")
    return _Disk(series, own, *(at_reports(reports, own, column) for column in columns))


def _against(disk: _Disk, others: Sequence[_Disk], reports: Keys, ratio: float) -> SlowSibling | None:
    """The disk against all others, sample by sample."""
    is_slow = np.zeros(len(reports), dtype=np.bool_)
    stands_out = _stands_out(disk, others)
    fast: list[tuple[_Disk, Mask]] = []
    for other in others:
        like = _are_like(disk, other, _LIKE_RATE)
        is_far = like & (disk.latency >= ratio * other.latency)
        is_later = disk.latency >= other.latency + _FELT_MS
        is_odd = is_far & is_later & (_are_like(disk, other, _EQUAL_RATE) | _is_slow_alone(disk, other))
        if class_of(disk.series) == class_of(other.series):
            is_odd |= _is_slow_twin(disk, other)
            is_odd |= is_far & is_later & (class_of(disk.series) == "solid")
            is_odd &= stands_out
        is_odd &= ~_is_in_line(disk, other)
        # as quick as its sibling as often: which of them was slow is chance
        if 2 * is_odd.sum() <= (is_odd | (like & (disk.latency <= _AS_QUICK * other.latency))).sum():
            is_odd[:] = False
        # full with what a sibling does beside: its queue is no excuse then
        is_full = (disk.busy >= _FULL) & (other.busy <= _CALM) & (disk.latency >= _NOTICED_MS)
        is_odd |= is_far & (is_full | (disk.latency >= disk.sane))
        if is_odd.any():
            fast.append((other, is_odd))
            is_slow |= is_odd
    weights = at_reports(reports, disk.part, "in_hand")
    shown = ~np.isnan(weights)
    is_most = np.nansum(weights[is_slow]) >= _MOST_REQUESTS * np.nansum(weights)
    # few requests are done because it is slow: a lasting part of the time counts as well
    is_lasting = is_slow.sum() >= max(_LASTING * shown.sum(), 1) and shown.sum() <= _FEW_SAMPLES
    if not fast or not (is_most or is_lasting):
        return None
    return _found(disk, fast, reports, is_slow)


def _is_slow_alone(disk: _Disk, other: _Disk) -> Mask:
    """Where it is busy with each small request for longer than any healthy disk: no load excuses that."""
    with np.errstate(divide="ignore", invalid="ignore"):
        is_slow = 1000 * disk.busy / disk.rate >= disk.alone
    return np.asarray(is_slow & (np.fmax(disk.size, other.size) <= _SMALL_KB))


def _is_in_line(disk: _Disk, other: _Disk) -> Mask:
    """Where the disk serves each request as quickly as its sibling, and its latency is time in line."""
    with np.errstate(divide="ignore", invalid="ignore"):
        is_alike = is_served_alike(disk.series, disk.rate, disk.busy, 1000 * other.busy / other.rate)
    return is_alike & is_in_line(disk.latency, disk.rate, disk.busy)


def is_served_alike(series: DeviceSeries, rate: Floats, busy: Floats, others_ms: Floats) -> Mask:
    """Where a device that serves one at a time is busy no longer with each request than others are (ms)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        is_alike = 1000 * busy / rate <= _SERVED_ALIKE * others_ms
    return np.asarray(is_alike & (rate < FASTER_THAN_SEEKS) & (class_of(series) not in ("nvme", "solid")))


def is_in_line(latency: Floats, rate: Floats, busy: Floats) -> Mask:
    """Where a latency (ms) is time in line on a device that serves one at a time.

    With requests that come at random a queue makes S/(1 - U) of a service time S (M/M/1); a sample of seconds
    is off by twice as much.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(latency <= _CHANCE * 1000 * busy / rate / np.fmax(1 - busy, 0.0))


def is_full_alone(rows: Table, others: Sequence[Table]) -> bool:
    """Whether a disk is never idle in `rows`, and each of the others is for nine tenths of the time."""
    is_full = len(rows) > 0 and bool((rows.floats("util") >= _FULL).all())
    return is_full and all(weighted.mean(part, "util") <= _CALM for part in others)


def _is_slow_twin(disk: _Disk, other: _Disk) -> Mask:
    """Where both are mostly written, alike in rate and size, and it alone is slow without more reads."""
    alike = np.fmax(disk.writes, other.writes) <= _EQUAL_RATE * np.fmin(disk.writes, other.writes)
    alike &= np.fmax(disk.write_size, other.write_size) <= _TWIN_SIZE * np.fmin(
        disk.write_size, other.write_size
    )
    is_written = (disk.writes >= 0.5 * disk.rate) & (other.writes >= 0.5 * other.rate)
    no_more = disk.rate - disk.writes <= 1.1 * (other.rate - other.writes) + 1
    is_slow = (disk.write_ms >= _TWIN * other.write_ms) & (disk.write_ms >= other.write_ms + _FELT_MS)
    is_slow &= (other.latency > 0) & (disk.latency >= _TWIN * other.latency)
    return np.asarray(alike & is_written & no_more & is_slow)


def _stands_out(disk: _Disk, others: Sequence[_Disk]) -> Mask:
    """Where its writes take _TWIN times those of the middle one of the disks like it; true beside few.

    Of many that take now one time, now another, the slowest ends a spread: the quickest tells nothing of it.
    """
    waits = np.array([np.where(_are_like(disk, o, _LIKE_RATE), o.write_ms, np.nan) for o in others])
    count = np.isfinite(waits).sum(axis=0)
    # unknown ones sort behind all others
    middle = np.take_along_axis(np.sort(waits, axis=0), np.minimum(count // 2, len(waits) - 1)[None], axis=0)[
        0
    ]
    return np.asarray((count < _MANY) | (disk.write_ms >= _TWIN * middle))


def _are_like(one: _Disk, other: _Disk, times: float) -> Mask:
    """Where both serve requests at like rates, of like size and mostly in one direction."""
    served = (one.rate > 0) & (other.rate > 0) & (one.latency > 0) & (other.latency > 0)
    rates = (one.rate <= times * other.rate) & (other.rate <= times * one.rate)
    larger, smaller = np.fmax(one.size, other.size), np.fmin(one.size, other.size)
    sizes = (larger <= _LIKE_SIZE * smaller) | (larger <= _SMALL_KB)
    ways = ~(np.abs(one.reads - other.reads) > 0.5)
    return np.asarray(served & rates & sizes & ways)


def _found(disk: _Disk, fast: Sequence[tuple[_Disk, Mask]], reports: Keys, is_slow: Mask) -> SlowSibling:
    rows = disk.part[np.isin(report_keys(disk.part), reports[is_slow])]
    fast_rows = [other.part[np.isin(report_keys(other.part), reports[mask])] for other, mask in fast]
    return SlowSibling(disk.series, tuple(other.series for other, _ in fast), rows, tuple(fast_rows))


def mean_ms(rows: Table, way: str = "") -> float:
    """The mean latency of the requests of some samples, of one disk or of several, in ms; NaN without any."""
    if way:
        return weighted.mean(rows, f"{way}_await_ms")
    data, weights = rows.floats("latency_ms"), rows.floats("ios_per_s") * weighted.lengths(rows)
    return float((data * weights).sum() / weights.sum())
