"""The parts of a report that come from the tables alone: device summaries and series for charts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pandas as pd

from iodiag.derive.view import DeviceSeries, View
from iodiag.model import columns as registry
from iodiag.model.report import DeviceSummary, Series

MOST_POINTS = 1800
"""Points per series: three hundred stretches of a chart, each with its extremes."""

_SERIES_COLUMNS = (
    "ios_per_s",
    "reads_per_s",
    "writes_per_s",
    "read_kb_per_s",
    "write_kb_per_s",
    "kb_per_s",
    "await_ms",
    "read_await_ms",
    "write_await_ms",
    "flushes_per_s",
    "flush_await_ms",
    "queue_depth",
    "util_pct",
    "latency_ms",
)
_HOST_COLUMNS = {
    "cpu": ("user_pct", "nice_pct", "system_pct", "iowait_pct", "steal_pct", "idle_pct"),
    "queue": ("run_queue", "blocked"),
    "swapping": ("swap_in_kb_per_s", "swap_out_kb_per_s"),
}
_LEADS = ("await_ms", "kb_per_s", "queue_depth", "iowait_pct", "idle_pct", "blocked", "swap_out_kb_per_s")
_LEADS_KEPT = 3
"""Columns whose peaks survive thinning; the others go with them."""


def device_summaries(view: View) -> tuple[DeviceSummary, ...]:
    """What each device is, and median, p95 and maximum of its columns (of sample means)."""
    return tuple(_summary(view, series) for series in view.devices)


def _summary(view: View, series: DeviceSeries) -> DeviceSummary:
    names = [c.name for c in registry.FAMILIES["disk"] if c.name in series.frame]
    numbers = {name: series.frame[name].dropna().to_numpy(dtype=np.float64) for name in names}
    device = series.device
    printed = [str(name) for name in pd.unique(series.frame["printed"]) if str(name) != series.name]
    return DeviceSummary(
        name=series.name,
        host=view.host,
        aliases=tuple(dict.fromkeys([*printed, *(device.aliases if device else ())])),
        kind=device.kind if device else None,
        level=device.level if device else None,
        members=device.members if device else (),
        samples=len(series.frame),
        summary={
            name: {
                "median": float(np.median(data)),
                "p95": float(np.percentile(data, 95)),
                "max": float(data.max()),
            }
            for name, data in numbers.items()
            if len(data)
        },
        provenance=dict(device.provenance) if device else {},
    )


def series_for(view: View, devices: Iterable[str]) -> tuple[Series, ...]:
    """The samples of the named devices, and of the host's CPU, tasks and swap, thinned for charts."""
    result = []
    for name in dict.fromkeys(devices):
        found = view.series(name)
        if found is not None:
            result.append(_series(view, name, found.frame, _SERIES_COLUMNS))
    for name, columns in _HOST_COLUMNS.items():
        table = view.table(name)
        if table is not None:
            rows = table[table["cpu"].astype(str) == "all"] if name == "cpu" else table
            if any(column in rows for column in columns):
                result.append(_series(view, name, rows, columns))
    return tuple(result)


def _series(view: View, name: str, frame: pd.DataFrame, columns: tuple[str, ...]) -> Series:
    """Thinned to what a chart can show: of each stretch of neighbours the samples with its extremes."""
    places = _places(frame)
    thinned = frame.iloc[places]
    times: tuple[float, ...] = ()
    if thinned["time"].notna().all():
        times = tuple((thinned["time"].dt.as_unit("ns").astype("int64") / 1e9).tolist())
    return Series(
        name=name,
        host=view.host,
        position=tuple(int(p) for p in places),
        time=times,
        columns={c: tuple(thinned[c].astype(float).tolist()) for c in columns if c in thinned},
    )


def _places(frame: pd.DataFrame) -> npt.NDArray[np.intp]:
    """The samples to keep: all of few; of many, per stretch the least and the greatest of what is drawn."""
    count = len(frame)
    if count <= MOST_POINTS:
        return np.arange(count)
    leads = [c for c in _LEADS if c in frame][:_LEADS_KEPT]
    edges = np.linspace(0, count, MOST_POINTS // (2 * max(1, len(leads))) + 1).astype(int)
    kept = [edges[:-1]]
    for lead in leads:
        values = frame[lead].to_numpy(dtype=np.float64)
        low, high = np.nan_to_num(values, nan=np.inf), np.nan_to_num(values, nan=-np.inf)
        kept.append(np.array([a + int(low[a:b].argmin()) for a, b in pairwise(edges)]))
        kept.append(np.array([a + int(high[a:b].argmax()) for a, b in pairwise(edges)]))
    return np.unique(np.concatenate(kept[1:] or kept))
