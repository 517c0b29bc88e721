"""Floods of writeback: when a device gets them, how often, and who waits meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.host.cpu import HELD_PCT
from iodiag.analysis.host.waiting import rows_at
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.measure.waiting_per_kb import in_flight
from iodiag.analysis.measure.windows import longest
from iodiag.analysis.states.service_times import events_per_sample
from iodiag.analysis.view.view import IDLE_KB_PER_S, DeviceSeries, View
from iodiag.table.table import Floats, Mask, Places, Table

LEAST_DEPTH = 4.0
"""Requests in flight below which a burst of writes is no flood."""

LONGEST_S = 60.0
"""Seconds of a sample up to which it may be of a flood."""

LEAST_REQUESTS = 20.0
"""Requests that a mean latency needs on either side: it is known to a quarter then."""


@dataclass(frozen=True)
class Floods:
    """The write bursts of one device: which samples are of one, and where each begins.

    `read_harm` and `write_harm` are latencies inside over outside, weighted by requests; NaN where
    either side has too few. `starved` is the rate of reads outside over that inside. Where a tool does not
    tell reads from writes (not `is_split`), `write_harm` is of all requests.
    """

    series: DeviceSeries = field(repr=False)
    is_inside: Mask = field(repr=False)
    starts: Places = field(repr=False)
    read_harm: float
    write_harm: float
    starved: float
    is_split: bool = True

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.starts)

    @cached_property
    def inside(self) -> Table:
        """The samples inside of them."""
        return self.series.samples[self.is_inside]

    @cached_property
    def outside(self) -> Table:
        """The others."""
        return self.series.samples[~self.is_inside]

    @property
    def read_added_ms(self) -> float:
        """How much longer a read takes inside than outside."""
        inside, outside = (weighted.mean(rows, "read_await_ms") for rows in (self.inside, self.outside))
        return inside - outside

    @cached_property
    def period_s(self) -> float:
        """The median time from one to the next, NaN where it varies by more than a fifth."""
        return _period(self.starts, weighted.lengths(self.series.samples))


@dataclass(frozen=True)
class Blocked:
    """Tasks blocked on I/O inside of floods and outside, on the mean; `queue` are the samples inside."""

    inside: float
    outside: float
    queue: Table | None = field(default=None, repr=False)


def floods(series: DeviceSeries, times_rate: float, times_depth: float) -> Floods | None:
    """The samples with so many times the calm ones' writes and requests in flight; None without any.

    Calm is the median, or where floods may fill half of the samples and more, the others with I/O, if any.
    """
    samples = series.samples
    rate, held = samples.floats("write_kb_per_s"), writes_held(samples)
    mask = (rate >= IDLE_KB_PER_S) & (held >= LEAST_DEPTH)
    # a mean over minutes is no flood: all of the load may have been another
    mask &= ~(weighted.lengths(samples) > LONGEST_S)
    if not mask.any():
        return None
    is_idle = samples["is_idle"]
    mask &= (rate >= times_rate * _calm(rate, is_idle, mask)) & (
        held >= times_depth * _calm(held, is_idle, mask)
    )
    starts = np.flatnonzero(mask & ~np.concatenate([[False], mask[:-1]]))
    # a burst cut by one calmer sample is one burst
    starts = starts[np.concatenate([[True], np.diff(starts) > 2])] if len(starts) else starts
    if not len(starts) or mask.all():
        return None
    is_split = samples[mask].has("write_await_ms")
    return Floods(
        series=series,
        is_inside=mask,
        starts=starts,
        read_harm=_harm(samples, mask, "read_await_ms", "reads_per_s"),
        write_harm=_harm(samples, mask, *(_OF_WRITES if is_split else _OF_ALL)),
        starved=_starved(samples, mask),
        is_split=is_split,
    )


_OF_WRITES, _OF_ALL = ("write_await_ms", "writes_per_s"), ("latency_ms", "ios_per_s")


def writes_held(samples: Table) -> Floats:
    """Writes in flight; where no direction is told apart, by their share of the bytes if that is larger."""
    held, depth = in_flight(samples, "write"), samples.floats("depth")
    moved, total = samples.floats("write_kb_per_s"), samples.floats("kb_per_s")
    share = np.divide(moved, total, out=np.zeros(len(moved)), where=total > 0)
    return np.where(np.isnan(held), np.where(share >= 0.5, share, 0.0) * depth, held)


def _calm(data: Floats, is_idle: Mask, may_be_flood: Mask) -> float:
    """What a number is between floods: its median, or the others' with I/O where most may be floods."""
    known = ~np.isnan(data)
    if not known.any():
        return float("nan")
    if may_be_flood.mean() < 0.5:
        return median(data[known])
    others = data[known & ~may_be_flood & ~is_idle]
    return median(others) if len(others) else float(np.percentile(data[known], 25))


def blocked_by(view: View, found: Floods) -> Blocked:
    """How many tasks were blocked meanwhile; NaN where no table tells."""
    queue = rows_at(view, "queue", found.inside)
    return Blocked(_blocked(queue), _blocked(rows_at(view, "queue", found.outside)), queue)


def _blocked(rows: Table | None) -> float:
    return weighted.mean(rows, "blocked", "queue") if rows is not None else float("nan")


def _period(starts: Places, lengths: Floats) -> float:
    gaps = np.diff(np.cumsum(lengths)[starts])
    if len(gaps) < 2:
        return float("nan")
    middle = median(gaps)
    return middle if (np.abs(gaps - middle) <= 0.2 * middle).all() else float("nan")


def _harm(samples: Table, mask: Mask, wait: str, rate: str) -> float:
    """Latency inside over outside, known by the requests counted on either side."""
    serves = samples.floats(rate) > 0
    requests = events_per_sample(samples, rate)
    within, without = serves & mask, serves & ~mask
    if min(requests[within].sum(), requests[without].sum()) < LEAST_REQUESTS:
        return float("nan")
    calm = weighted.mean(samples[without], wait)
    return weighted.mean(samples[within], wait) / calm if calm > 0 else float("nan")


def _starved(samples: Table, mask: Mask) -> float:
    """How many times fewer reads are served inside of floods than outside; NaN where nothing reads."""
    inside, outside = (weighted.mean(samples[where], "reads_per_s") for where in (mask, ~mask))
    return outside / inside if inside > 0 else float("nan")


def drain(view: View, least_kb: float, least_rate: float) -> tuple[Table, Values] | None:
    """Where the page cache, filled by writes alone, drains while CPUs wait and little is read; or None.

    At least `least_kb` that nobody read come into the cache first, and then, in most of the samples in which
    CPUs mostly wait, `least_rate` kB/s and more go out: half of what came in, or more.
    """
    paging, memory, cpu = view.samples("paging"), view.samples("memory"), view.cpu_all
    if view.devices or {"paging", "memory", "cpu"} & view.average_only:
        return None
    if paging is None or memory is None or cpu is None:
        return None
    seconds = weighted.seconds_or_one(paging)
    read, written = (paging.floats(f"pgpg{way}_kb_per_s") for way in ("in", "out"))
    own, other = paired(paging, memory)
    grown = np.zeros(len(paging))
    grown[own] = np.nan_to_num(np.diff(memory.floats("cached_kb"), prepend=np.nan))[other]
    filled = (grown > 0) & (read * seconds < HARDLY * grown)
    own, other = paired(paging, cpu)
    waited = np.zeros(len(paging))
    waited[own] = cpu.floats("iowait_pct")[other]
    waits = (waited >= HELD_PCT) & (np.cumsum(filled) > 0)
    drains = (
        waits & (written >= least_rate) & (read < HARDLY * written) & (grown < HARDLY * written * seconds)
    )
    given, gone = float(grown[filled].sum()), float((written * seconds)[filled | drains].sum())
    if drains.sum() < LEAST_DRAINS or 2 * drains.sum() < waits.sum() or given < least_kb or 2 * gone < given:
        return None
    values: Values = {"given": given / 1024, "rate": float(np.mean(written[drains])), "samples": len(paging)}
    values |= {"count": int(drains.sum()), "iowait": float(np.mean(waited[drains]))}
    return paging[drains], values


LEAST_DRAINS, HARDLY = 3, 0.1
"""Samples that show that cached writes drain, and the share of something that is hardly any of it."""


@dataclass(frozen=True)
class Throttle:
    """The longest window in which so much was dirty that the kernel makes writers wait.

    `share` is dirty memory in per cent of what can be dirtied.
    """

    rows: Table = field(repr=False)
    share: float
    dirty_kb: float
    blocked: float
    queue: Table | None = field(default=None, repr=False)


def throttle(view: View, least_share: float) -> Throttle | None:
    """Where dirty memory stays near the limit (sar -r kbdirty); None where it never does.

    What can be dirtied is what is available; older sar prints free, buffers and cache instead.
    """
    memory = view.samples("memory")
    if memory is None or "dirty_kb" not in memory:
        return None
    parts = [memory.floats(f"{name}_kb") for name in ("free", "buffers", "cached")]
    available = memory.floats("available_kb")
    base = np.where(np.isnan(available), parts[0] + parts[1] + parts[2], available)
    share = 100 * memory.floats("dirty_kb") / np.maximum(base, 1.0)
    rows = longest(memory.with_columns(dirty_share=share), share >= least_share)
    if rows is None:
        return None
    queue = rows_at(view, "queue", rows)
    return Throttle(
        rows=rows,
        share=weighted.mean(rows, "dirty_share"),
        dirty_kb=weighted.mean(rows, "dirty_kb", "memory"),
        blocked=_blocked(queue),
        queue=queue,
    )
