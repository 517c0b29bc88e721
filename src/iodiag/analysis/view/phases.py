"""What a device did in each phase of a text: before and after a change, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.report import PhaseSummary
from iodiag.table.table import by_text

FEWEST, MOST = 2, 6
"""Phases that are compared: of more, words stand above every report, as in a log."""

COLUMNS = (
    "ios_per_s",
    "reads_per_s",
    "writes_per_s",
    "kb_per_s",
    "read_kb_per_s",
    "write_kb_per_s",
    "request_size_kb",
    "read_request_size_kb",
    "write_request_size_kb",
    "await_ms",
    "read_await_ms",
    "write_await_ms",
    "queue_depth",
    "util_pct",
)


def phase_summaries(view: View) -> list[PhaseSummary]:
    """The phases of each device that was not idle in all of them, in the order of the text."""
    if "disk" in view.average_only:  # averages since boot are of the same time
        return []
    return [phase for series in view.devices for phase in _phases(view.host, series)]


def _phases(host: str | None, series: DeviceSeries) -> Iterator[PhaseSummary]:
    if "phase" not in series.samples:
        return
    for source, samples in by_text(series.samples, "source"):
        numbers = samples.floats("phase")
        phases = np.unique(numbers[~np.isnan(numbers)])
        if not FEWEST <= len(phases) <= MOST or not _has_traffic(series, source):
            continue
        for phase in phases:
            rows = samples[numbers == phase]
            seconds = rows.floats("interval_s")
            means = {column: weighted.mean(rows, column) for column in COLUMNS}
            yield PhaseSummary(
                device=series.name,
                host=host,
                source=source,
                phase=int(phase),
                label=str(rows["phase_label"][0]),
                samples=len(rows),
                seconds=None if np.isnan(seconds).any() else round(float(seconds.sum()), 3),
                means={name: float(f"{mean:.6g}") for name, mean in means.items() if math.isfinite(mean)},
            )


def _has_traffic(series: DeviceSeries, source: str) -> bool:
    rows = series.samples[np.asarray(series.samples["source"] == source)]
    return any(bool((rows.floats(column) > 0).any()) for column in ("ios_per_s", "kb_per_s"))
