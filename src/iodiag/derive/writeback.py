"""Floods of writeback: when a device gets them, how often, and who waits meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from iodiag.derive import weighted
from iodiag.derive.episodes import longest
from iodiag.derive.view import IDLE_KB_PER_S, DeviceSeries, View
from iodiag.derive.waiting import rows_at

Floats = npt.NDArray[np.float64]

LEAST_DEPTH = 4.0
"""Requests in flight below which a burst of writes is no flood."""

LEAST_PER_SIDE = 5
"""Samples with reads that a comparison needs, inside bursts and outside."""


@dataclass(frozen=True)
class Floods:
    """The write bursts of one device.

    `period_s` is the median time from one to the next, NaN where it varies by more than a fifth.
    `read_harm` and `write_harm` are latencies inside over outside, weighted by requests; NaN where
    either side has too few. `blocked` is the mean of blocked tasks inside, `blocked_outside` outside.
    """

    series: DeviceSeries = field(repr=False)
    inside: pd.DataFrame = field(repr=False)
    count: int
    period_s: float
    rate_kb: float
    depth: float
    read_harm: float
    write_harm: float
    write_await_ms: float
    blocked: float
    blocked_outside: float
    queue: pd.DataFrame | None = field(default=None, repr=False)


def floods(view: View, series: DeviceSeries, times_rate: float, times_depth: float) -> Floods | None:
    """The bursts that exceed the median rate and depth so many times; None without any."""
    frame = series.frame
    rate, depth = weighted.values(frame, "write_kb_per_s"), weighted.values(frame, "depth")
    if np.isnan(rate).all() or np.isnan(depth).all():
        return None
    many = rate >= max(times_rate * float(np.nanmedian(rate)), IDLE_KB_PER_S)
    deep = depth >= max(times_depth * float(np.nanmedian(depth)), LEAST_DEPTH)
    mask = many & deep
    starts = np.flatnonzero(mask & ~np.concatenate([[False], mask[:-1]]))
    # a burst cut by one calmer sample is one burst
    starts = starts[np.concatenate([[True], np.diff(starts) > 2])] if len(starts) else starts
    if not len(starts):
        return None
    inside, outside = frame[mask], frame[~mask]
    queue_in, queue_out = rows_at(view, "queue", inside), rows_at(view, "queue", outside)
    return Floods(
        series=series,
        inside=inside,
        count=len(starts),
        period_s=_period(starts, weighted.lengths(frame)),
        rate_kb=weighted.mean(inside, "write_kb_per_s"),
        depth=weighted.mean(inside, "depth"),
        read_harm=_harm(inside, outside, "read", LEAST_PER_SIDE),
        write_harm=_harm(inside, outside, "write", 1),
        write_await_ms=weighted.mean(inside, "write_await_ms"),
        blocked=_blocked(queue_in),
        blocked_outside=_blocked(queue_out),
        queue=queue_in,
    )


def _blocked(rows: pd.DataFrame | None) -> float:
    return weighted.mean(rows, "blocked", "queue") if rows is not None else float("nan")


def _period(starts: npt.NDArray[np.intp], lengths: Floats) -> float:
    gaps = np.diff(np.cumsum(lengths)[starts])
    if len(gaps) < 2:
        return float("nan")
    middle = float(np.median(gaps))
    return middle if (np.abs(gaps - middle) <= 0.2 * middle).all() else float("nan")


def _harm(inside: pd.DataFrame, outside: pd.DataFrame, direction: str, least: int) -> float:
    column = f"{direction}_await_ms"
    sides = [rows[weighted.values(rows, f"{direction}s_per_s") > 0] for rows in (inside, outside)]
    if any(len(rows) < least for rows in sides):
        return float("nan")
    within, without = (weighted.mean(rows, column) for rows in sides)
    return within / without if without > 0 else float("nan")


@dataclass(frozen=True)
class Throttle:
    """The longest window in which so much was dirty that the kernel makes writers wait.

    `share` is dirty memory in per cent of what can be dirtied.
    """

    rows: pd.DataFrame = field(repr=False)
    share: float
    dirty_kb: float
    blocked: float
    queue: pd.DataFrame | None = field(default=None, repr=False)


def throttle(view: View, least_share: float) -> Throttle | None:
    """Where dirty memory stays near the limit (sar -r kbdirty); None where it never does.

    What can be dirtied is what is available; older sar prints free, buffers and cache instead.
    """
    memory = view.table("memory")
    if memory is None or "dirty_kb" not in memory:
        return None
    parts = [weighted.values(memory, f"{name}_kb") for name in ("free", "buffers", "cached")]
    available = weighted.values(memory, "available_kb")
    base = np.where(np.isnan(available), parts[0] + parts[1] + parts[2], available)
    frame = memory.assign(dirty_share=100 * weighted.values(memory, "dirty_kb") / np.maximum(base, 1.0))
    rows = longest(frame, np.asarray(weighted.values(frame, "dirty_share") >= least_share))
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
