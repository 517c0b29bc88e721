"""Exact rates from pairs of /proc/diskstats snapshots, by the formulas of sysstat's rd_stats.c.

Rate = Δcounter / T; latency = Δtime / Δrequests; util = Δbusy / T; requests in flight = Δweighted / T.
A counter that ran backwards belongs to a device that was replaced: its row is left out.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from iodiag.hosts.time_zones import stacked_all_columns
from iodiag.model.capture import Capture
from iodiag.table.table import Table

if TYPE_CHECKING:
    import pandas as pd

_DIRECTIONS = ("read", "write", "discard")
_PLURAL = {"read": "reads", "write": "writes", "discard": "discards"}
_KEYS = ("source", "segment", "report")
_LEAST_COARSE_S = 50.0  # whole seconds of busy time are then wrong by two per cent points at most


def add_paired(capture: Capture, interval_s: float | None = None) -> None:
    """Add the disk rows that snapshots of /proc/diskstats make, unless they are there already."""
    counters = capture.tables.get("disk_counters")
    if counters is None:
        return
    made = paired(counters, interval_s)
    if made is None:
        return
    rows, disk = Table.of(made), capture.tables.samples("disk")
    if disk is None:
        capture.tables["disk"] = rows
    elif not set(rows["source"].distinct()) <= set(disk["source"].distinct()):
        capture.tables["disk"] = stacked_all_columns([disk, rows])


def paired(counters: pd.DataFrame, interval_s: float | None = None) -> pd.DataFrame | None:
    """The disk table that successive snapshots make, or None when no pair has a known length.

    `counters` has a row per device and snapshot. T is the difference of the snapshots' times, else what the
    tool was told to wait, else `interval_s`. A row stands where the later snapshot's row stands.
    """
    import pandas as pd

    parts = []
    snapshots = [part for _, part in counters.groupby(list(_KEYS), observed=True, sort=False)]
    if all(part["time"].notna().all() for part in snapshots):
        snapshots.sort(key=lambda part: part["time"].iloc[0])
    else:  # counters only grow: of inputs without a clock the one that counted less is the earlier
        counted: dict[str, float] = {}
        for part in snapshots:
            counted.setdefault(part["source"].iloc[0], float(part[["reads", "writes"]].sum().sum()))
        snapshots.sort(key=lambda part: counted[part["source"].iloc[0]])
    for number, (before, after) in enumerate(pairwise(snapshots)):
        length = (after["time"].iloc[0] - before["time"].iloc[0]).total_seconds()
        length = after["interval_s"].iloc[0] if np.isnan(length) else length
        length = interval_s if np.isnan(length) else length
        if length is not None and length > 0:
            parts.append(_pair(before, after, float(length), number))
    return pd.concat(parts, ignore_index=True) if parts else None


def _pair(before: pd.DataFrame, after: pd.DataFrame, length: float, number: int) -> pd.DataFrame:
    first, second = (
        part.assign(device=part["device"].astype(str)).drop_duplicates("device").set_index("device")
        for part in (before, after)
    )
    names = second.index.intersection(first.index)
    first, second = first.loc[names], second.loc[names]
    counts = [c for c in second.columns if second[c].dtype.kind == "f" and c != "interval_s"]
    change = second[counts] - first[counts]
    monotone = [c for c in counts if c != "in_flight"]
    change = change[(change[monotone].fillna(0) >= 0).all(axis=1)]
    rows = second.loc[change.index]
    frame = rows[["source", "line", "host", "time"]].assign(
        interval_s=length, segment=0, report=number, since_boot=False, device=change.index
    )
    for name in _DIRECTIONS:
        requests = change.get(_PLURAL[name])
        if requests is None or requests.isna().all():
            continue
        some = requests.where(requests > 0)
        frame[f"{name}s_per_s"] = requests / length
        frame[f"{name}_kb_per_s"] = change[f"{name}_kb"] / length
        frame[f"{name}_merges_per_s"] = change[f"{name}_merges"] / length
        frame[f"{name}_await_ms"] = (change[f"{name}_ms"] / some).fillna(0.0)
        frame[f"{name}_request_size_kb"] = (change[f"{name}_kb"] / some).fillna(0.0)
    if "flushes" in change and change["flushes"].notna().any():
        frame["flushes_per_s"] = change["flushes"] / length
        some = change["flushes"].where(change["flushes"] > 0)
        frame["flush_await_ms"] = (change["flush_ms"] / some).fillna(0.0)
    waited = change.filter([f"{name}_ms" for name in _DIRECTIONS]).sum(axis=1)
    frame["queue_depth"] = change.get("weighted_ms", waited) / length / 1000
    if "busy_ms" in change:
        frame["util_pct"] = change["busy_ms"] / length / 10
    elif "busy_s" in change and length >= _LEAST_COARSE_S:
        frame["util_pct"] = 100 * change["busy_s"] / length
    return frame.reset_index(drop=True)
