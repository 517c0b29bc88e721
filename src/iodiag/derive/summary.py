"""The parts of a report that come from the tables alone: device summaries and series for charts."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pandas as pd

from iodiag.derive.view import DeviceSeries, View
from iodiag.model import columns as registry
from iodiag.model.report import DeviceSummary, Series

MOST_POINTS = 1500
"""Points per series: more than a chart has pixels across."""

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
_CPU_COLUMNS = ("user_pct", "nice_pct", "system_pct", "iowait_pct", "steal_pct", "idle_pct")


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
    """The samples of the named devices, and of the CPU, thinned to MOST_POINTS."""
    result = []
    for name in dict.fromkeys(devices):
        found = view.series(name)
        if found is not None:
            result.append(_series(view, name, found.frame, _SERIES_COLUMNS))
    cpu = view.table("cpu")
    if cpu is not None and result:
        result.append(_series(view, "cpu", cpu[cpu["cpu"].astype(str) == "all"], _CPU_COLUMNS))
    return tuple(result)


def _series(view: View, name: str, frame: pd.DataFrame, columns: tuple[str, ...]) -> Series:
    """Thinned by keeping, of each run of neighbouring samples, the busiest one: peaks survive."""
    count = len(frame)
    places = np.arange(count)
    if count > MOST_POINTS:
        lead = next((c for c in ("await_ms", "iowait_pct", "queue_depth") if c in frame), None)
        values = frame[lead].fillna(0).to_numpy(dtype=np.float64) if lead else np.zeros(count)
        edges = np.linspace(0, count, MOST_POINTS + 1).astype(int)
        places = np.array([a + int(values[a:b].argmax()) for a, b in pairwise(edges)])
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
