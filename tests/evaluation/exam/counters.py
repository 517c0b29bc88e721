"""From logs to the counters of the kernel, and from them to the rows of a tool.

Kernels before 5.0 add up the time that every request in flight has spent, complete or not, and util
exactly. Later ones add up the time of requests when they complete, and util by ticks: a request that starts
in a new tick counts one tick, one that ends counts all since the last (block/blk-core.c, update_io_ticks).
"""

from __future__ import annotations

import numpy as np

from evaluation.exam.engine import Log
from evaluation.simulator import Floats, elapsed, merged
from writers.capture_writer import Row


def rows(log: Log, edges: Floats, step: float, tick: float | None) -> list[Row]:
    """One row per window between two edges, each of which stands for `step` seconds.

    `tick` is the kernel's tick in seconds, None for a kernel that counts exactly. Counts are whole numbers in
    `step` seconds.
    """
    windows, length = len(edges) - 1, float(edges[1] - edges[0])
    if not log.begun:
        return [Row(depth=0.0)] * windows
    begun, ended = np.array(log.begun), np.array(log.ended)
    window = np.searchsorted(edges, ended, side="left") - 1
    is_in = (window >= 0) & (window < windows)
    table = {
        name: np.array([getattr(request, name) for request in log.requests])
        for name in ("kind", "size_kb", "is_synced", "merges")
    }

    def total(chosen: np.typing.NDArray[np.bool_], weights: Floats | None = None) -> Floats:
        kept = chosen & is_in
        sums = np.bincount(window[kept], None if weights is None else weights[kept], windows)
        return np.asarray(sums, dtype=np.float64)

    took = np.where(np.isfinite(ended), ended - begun, 0.0)
    columns: dict[str, Floats] = {}
    for name in ("read", "write", "discard"):
        chosen = table["kind"] == name
        count = total(chosen)
        columns[f"{name}s"] = _whole(count, length, step)
        columns[f"{name}_kb"] = columns[f"{name}s"] * total(chosen, table["size_kb"]) / np.maximum(count, 1)
        if name != "discard":
            columns[f"{name}_merges"] = _whole(total(chosen, table["merges"]), length, step)
        columns[f"{name}_ms"] = 1000 * total(chosen, took) / np.maximum(count, 1)
    columns["flushes"] = _whole(total(table["is_synced"]), length, step)
    # the flush is most of what a synced write waits for
    columns["flush_ms"] = 800 * total(table["is_synced"], took) / np.maximum(total(table["is_synced"]), 1)
    if tick is None:
        columns["depth"] = np.diff(elapsed(begun, ended, edges)) / length
        columns["util"] = np.diff(elapsed(*merged(begun, ended), edges)) / length
    else:
        columns["depth"] = total(np.ones(len(begun), bool), took) / length
        columns["util"] = _util_by_ticks(begun, ended, edges, tick)
    values = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [Row(**dict(zip(columns, each, strict=True))) for each in values]


def mean_present(log: Log, edges: Floats) -> Floats:
    """How many of the logged intervals last at once, on average in each window."""
    if not log.begun:
        return np.zeros(len(edges) - 1)
    return np.diff(elapsed(np.array(log.begun), np.array(log.ended), edges)) / np.diff(edges)


def present(log: Log, moments: Floats) -> list[int]:
    """How many of the logged intervals last at each moment."""
    begun, ended = np.sort(log.begun), np.sort(log.ended)
    count = np.searchsorted(begun, moments) - np.searchsorted(ended, moments)
    return [int(each) for each in count]


def _whole(count: Floats, length: float, step: float) -> Floats:
    """A rate per second that makes a whole number in `step` seconds."""
    return np.round(count * step / length) / step


def _util_by_ticks(begun: Floats, ended: Floats, edges: Floats, tick: float) -> Floats:
    finite = ended[np.isfinite(ended)]
    # reading the counters brings util up to date while anything is in flight
    busy = edges[(np.searchsorted(np.sort(begun), edges) - np.searchsorted(np.sort(ended), edges)) > 0]
    moments = np.concatenate([begun, finite, busy])
    is_end = np.concatenate([np.zeros(len(begun), bool), np.ones(len(finite) + len(busy), bool)])
    order = np.lexsort((~is_end, moments))  # where one request follows another, the end comes first
    ticks = np.floor(moments[order] / tick)
    each, first = np.unique(ticks, return_index=True)
    added = np.where(is_end[order][first], np.diff(each, prepend=each[0] - 1), 1) * tick
    window = np.searchsorted(edges, moments[order][first], side="left") - 1
    kept = (window >= 0) & (window < len(edges) - 1)
    return np.asarray(np.bincount(window[kept], added[kept], len(edges) - 1) / np.diff(edges))
