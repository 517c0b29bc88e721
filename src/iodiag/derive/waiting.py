"""Who waits for I/O: tasks blocked in the kernel, and the share of time that pressure reports."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from iodiag.derive import weighted
from iodiag.derive.samples import Samples
from iodiag.derive.view import DeviceSeries, View, same_reports


def rows_at(view: View, table: str, rows: Samples | pd.DataFrame) -> pd.DataFrame | None:
    """The rows of a host's table in the same reports as `rows`; all of them where none are the same.

    vmstat beside iostat is a source of its own; then its whole capture stands for the window.
    """
    frame, samples = view.table(table), view.samples(table)
    if frame is None or samples is None:
        return None
    same = same_reports(samples, Samples.of(rows))
    return frame[same] if same.any() else frame


def blocked(view: View, rows: Samples | pd.DataFrame) -> tuple[pd.DataFrame, float] | None:
    """Tasks blocked on I/O (vmstat b, sar -q blocked) during `rows`: the samples and their mean."""
    return _mean(view, "queue", "blocked", rows)


def pressure(view: View, rows: Samples | pd.DataFrame, state: str) -> tuple[pd.DataFrame, float] | None:
    """Share of time in % that `some` or `full` tasks waited for I/O during `rows` (sar -q IO)."""
    return _mean(view, "pressure", f"io_{state}_pct", rows)


def is_any_busy(
    view: View, devices: Iterable[DeviceSeries], rows: Samples | pd.DataFrame, util_pct: float, depth: float
) -> bool:
    """Whether one of some devices was that busy, or held that many requests, during `rows`."""
    meanwhile = rows_at(view, "disk", rows)
    for device in devices:
        own = None if meanwhile is None else meanwhile[meanwhile["device"] == device.name]
        if own is not None and len(own):
            is_busy = weighted.mean(own, "util_pct") >= util_pct
            if is_busy or weighted.mean(own, "queue_depth") >= depth:
                return True
    return False


def _mean(
    view: View, table: str, column: str, rows: Samples | pd.DataFrame
) -> tuple[pd.DataFrame, float] | None:
    found = rows_at(view, table, rows)
    if found is None or column not in found:
        return None
    found = found[found[column].notna()]
    mean = weighted.mean(found, column, table) if len(found) else float("nan")
    return None if np.isnan(mean) else (found, mean)
