"""The parts of a report that come from the tables alone: device summaries and series for charts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from iodiag.analysis.measure import quantiles, weighted
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.model import columns as registry
from iodiag.model.columns import KB_BY_WAY, LATENCIES, RATES
from iodiag.model.finding import Finding
from iodiag.model.report import DeviceSummary, Series, Thinned
from iodiag.table.table import Floats, Places, Table, by_text, numbered

MOST_POINTS = 1800
"""Points per series: three hundred stretches of a chart, each with its extremes."""

MOST_MOUNTS = 24
_SERIES_COLUMNS = (
    *(*RATES, *KB_BY_WAY, "kb_per_s", *LATENCIES, "flushes_per_s", "flush_await_ms"),
    *("queue_depth", "util_pct", "latency_ms"),
)
_TYPICAL = ("ios_per_s", "kb_per_s", *KB_BY_WAY, *LATENCIES, "queue_depth", "util_pct")
"""Columns of which the first chart may show a number beside each line."""

HOST_COLUMNS = {
    "cpu": ("user_pct", "nice_pct", "system_pct", "iowait_pct", "steal_pct", "idle_pct"),
    "queue": ("run_queue", "blocked"),
    "swapping": ("swap_in_kb_per_s", "swap_out_kb_per_s"),
}
_NFS_COLUMNS = tuple(
    f"{way}{name}"
    for way in ("read", "write")
    for name in ("s_per_s", "_await_ms", "_round_trip_ms", "_queue_ms")
)
_LEADS = (
    "await_ms",
    "read_round_trip_ms",
    "write_round_trip_ms",
    "kb_per_s",
    "queue_depth",
    "iowait_pct",
    "idle_pct",
    "blocked",
    "swap_out_kb_per_s",
)
_LEADS_KEPT = 3
"""Columns whose peaks survive thinning; the others go with them."""


def device_summaries(view: View) -> tuple[DeviceSummary, ...]:
    """What each device is, and median, p95 and maximum of its columns (of sample means)."""
    return tuple(_summary(view, series) for series in view.devices)


def _summary(view: View, series: DeviceSeries) -> DeviceSummary:
    samples, device = series.samples, series.device
    names = [c.name for c in registry.FAMILIES["disk"] if c.name in samples]
    printed = [name for name in numbered(samples["printed"])[1] if name != series.name]
    return DeviceSummary(
        name=series.name,
        host=view.host,
        aliases=tuple(dict.fromkeys([*printed, *(device.aliases if device else ())])),
        kind=device.kind if device else None,
        level=device.level if device else None,
        members=device.members if device else (),
        samples=len(samples),
        summary={name: found for name in names if (found := _extent(samples, name)) is not None},
        provenance=dict(device.provenance) if device else {},
    )


def _extent(samples: Table, name: str) -> dict[str, float] | None:
    """Median, p95 and maximum of a column; None where none is known, or only of the lesser samples."""
    is_part = name in ("reads_per_s", "writes_per_s")
    if is_part and weighted.may_exceed(samples.floats(name), samples.floats("ios_per_s")):
        return None
    return weighted.extent(samples, name)


def series_for(view: View, devices: Iterable[str], lead: Finding | None = None) -> tuple[Series, ...]:
    """The samples of the named devices, of NFS mounts, and of the host's CPU, tasks and swap, thinned.

    `lead` is the finding of the verdict, whose samples say what is typical of each device.
    """
    result = []
    about = _samples_of(view, lead) if lead is not None else None
    for name in dict.fromkeys(devices):
        found = view.series(name)
        if found is not None:
            drawn = drawn_series(view, name, found.samples, _SERIES_COLUMNS)
            result.append(replace(drawn, typical=_typical(found.samples, about)))
    if (mounts := view.samples("nfs_mounts")) is not None:
        ranked = sorted(by_text(mounts, "mount"), key=lambda named: -_waited(named[1]))
        result += [drawn_series(view, name, rows, _NFS_COLUMNS) for name, rows in ranked[:MOST_MOUNTS]]
    for name, columns in HOST_COLUMNS.items():
        table = view.samples(name)
        if table is not None:
            rows = table[np.asarray(table["cpu"] == "all")] if name == "cpu" else table
            if any(column in rows for column in columns):
                result.append(drawn_series(view, name, rows, columns))
    return tuple(result)


def _samples_of(view: View, lead: Finding) -> Table | None:
    """The samples of its first device that a finding is about: those it cites, where all are listed."""
    series = view.series(lead.devices[0]) if lead.devices else None
    if series is None or not lead.samples:
        return None
    rows = series.samples[lead.samples[0] : lead.samples[1] + 1]
    source, lines = lead.cited_samples()
    is_cited = np.isin(rows["line"], list(lines)) & np.asarray(rows["source"] == source)
    return rows[is_cited] if is_cited.any() else rows


def _typical(samples: Table, about: Table | None) -> dict[str, float]:
    """What is typical of a device, as `Series` has it, in its samples of some reports."""
    rows = samples if about is None else samples[same_reports(samples, about)]
    found = {}
    for column in _TYPICAL:
        if column in rows:
            values = rows.floats(column)
            values = values[values > 0 if about is None else ~np.isnan(values)]
            is_latency = column.endswith("_ms")
            found[column] = weighted.mean(rows, column) if is_latency else quantiles.median(values)
    return {column: value for column, value in found.items() if math.isfinite(value)}


def _waited(mount: Table) -> float:
    """Seconds that operations on an NFS mount took in each second, summed over its samples."""
    ways = ((mount.floats(f"{way}_await_ms"), mount.floats(f"{way}s_per_s")) for way in ("read", "write"))
    return float(sum(np.nansum(latency * rate) for latency, rate in ways)) / 1000


def drawn_series(view: View, name: str, samples: Table, columns: tuple[str, ...]) -> Series:
    """Thinned to what a chart can show: of each stretch of neighbours the samples with its extremes."""
    places = _places(samples, columns)
    moments = samples["time"][places]
    times = () if moments.is_unknown().any() else tuple(moments.seconds().tolist())
    return Series(
        name=name,
        host=view.host,
        position=tuple(places.tolist()),
        time=times,
        columns=Thinned({c: weighted.without_idle(samples, c).take(places) for c in columns if c in samples}),
    )


def _places(samples: Table, columns: tuple[str, ...]) -> Places:
    """The samples to keep: all of few; of many, per stretch the least and the greatest of what is drawn."""
    count = len(samples)
    if count <= MOST_POINTS:
        return np.arange(count)
    leads = [c for c in _LEADS if c in samples][:_LEADS_KEPT] or [c for c in columns if c in samples][:1]
    width = -(-count // (MOST_POINTS // (2 * max(1, len(leads)))))
    is_kept = np.zeros(count, dtype=np.bool_)
    for lead in leads:
        values = samples.floats(lead)
        is_unknown = np.isnan(values)
        known = values.copy() if is_unknown.any() else values
        for extreme, instead in ((np.argmin, np.inf), (np.argmax, -np.inf)):
            if known is not values:
                np.putmask(known, is_unknown, instead)
            is_kept[_each(known, width, extreme)] = True
    return np.flatnonzero(is_kept)


def _each(values: Floats, width: int, extreme: Callable[..., Places]) -> Places:
    """The place of the first extreme value of each stretch of so many; the last one may be shorter."""
    whole = len(values) - len(values) % width
    found = np.arange(0, whole, width) + extreme(values[:whole].reshape(-1, width), axis=1)
    return found if whole == len(values) else np.append(found, whole + extreme(values[whole:]))
