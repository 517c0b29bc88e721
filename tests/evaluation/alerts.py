"""What the usual public alert rules would have said of the same samples.

Each asks that its condition holds on the average over a window of minutes. A capture of a minute
stands for a load that goes on: the mean over the samples in which a device has load is compared, so that
no rule is lost to the length of its `for:` clause, and no idle second before or after the load dilutes
it. Where a capture lacks the column an alert is silent, as it is in a monitoring system that lacks the
metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from iodiag.analysis.measure import weighted
from iodiag.analysis.view.view import View

ALERTS: Mapping[str, str] = {
    "util > 80 %": "awesome-prometheus-alerts, host: disk I/O time above 0.8 for 5 minutes",
    "latency > 100 ms": "awesome-prometheus-alerts, host: read or write latency above 100 ms",
    "iowait > 10 %": "awesome-prometheus-alerts, host: CPU time in iowait above 10 %",
    "queue > 10": "node_exporter mixin, NodeDiskIOSaturation: average queue above 10 for 30 minutes",
}


def alarms(views: Iterable[View]) -> dict[str, bool]:
    """Whether each of ALERTS fires on any device or host."""
    fired = dict.fromkeys(ALERTS, False)
    for view in views:
        loaded = [series.loaded for series in view.devices if len(series.loaded)]
        for rows in loaded:
            latencies = [_mean(rows, f"{direction}_await_ms") for direction in ("read", "write")]
            latency = max(latencies, default=0.0) or _mean(rows, "await_ms")
            fired["util > 80 %"] |= _mean(rows, "util_pct") > 80
            fired["latency > 100 ms"] |= latency > 100
            fired["queue > 10"] |= _mean(rows, "queue_depth") > 10
        cpus = [view.cpu_at(rows) for rows in loaded] or [view.samples("cpu")]
        for cpu in cpus:
            if cpu is not None:
                fired["iowait > 10 %"] |= weighted.mean(cpu, "iowait_pct", "cpu") > 10
    return fired


def _mean(rows: pd.DataFrame, column: str) -> float:
    value = weighted.mean(rows, column)
    return 0.0 if value != value else value
