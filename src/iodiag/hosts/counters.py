"""Exact rates from pairs of /proc/diskstats snapshots, by the formulas of sysstat's rd_stats.c.

Rate = Δcounter / T; latency = Δtime / Δrequests; util = Δbusy / T; requests in flight = Δweighted / T.
A counter that ran backwards belongs to a device that was replaced: its row is left out.
"""

from __future__ import annotations

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

    rows = counters.assign(device=counters["device"].astype(str))
    rows = rows.assign(_nth=_in_order(rows)).drop_duplicates(["_nth", "device"])
    first = rows.drop_duplicates("_nth").set_index("_nth").sort_index()
    lengths = first["time"].diff().dt.total_seconds().fillna(first["interval_s"])
    lengths = lengths.fillna(np.nan if interval_s is None else interval_s)
    lengths = lengths.where((lengths > 0) & (lengths.index > 0))
    if lengths.isna().all():
        return None
    counts = [c for c in counters.columns if counters[c].dtype.kind == "f" and c != "interval_s"]
    indexed = rows.set_index(["_nth", "device"])[counts]
    # of each row the one of the same device a snapshot before
    before = indexed.reindex(list(zip(rows["_nth"] - 1, rows["device"], strict=True)))
    is_paired = (
        before.index.isin(indexed.index) & rows["_nth"].isin(lengths.index[lengths.notna()]).to_numpy()
    )
    change = pd.DataFrame(indexed.to_numpy() - before.to_numpy(), index=rows.index, columns=counts)[is_paired]
    change = change[(change.drop(columns="in_flight", errors="ignore").fillna(0) >= 0).all(axis=1)]
    rows = rows.loc[change.index]
    order = np.argsort(rows["_nth"].to_numpy(), kind="stable")
    return _rates(rows.iloc[order], change.iloc[order], rows["_nth"].map(lengths).iloc[order])


def _in_order(counters: pd.DataFrame) -> pd.Series[int]:
    """The number of the snapshot that each row is of, in the order of time.

    Counters only grow: of inputs without a clock the one that counted less is the earlier.
    """
    import pandas as pd

    number = counters.groupby(list(_KEYS), observed=True, sort=False).ngroup()
    first = counters.assign(_number=number).drop_duplicates("_number")
    if counters["time"].notna().all():
        order = np.argsort(first["time"].to_numpy(), kind="stable")
    else:
        counted = counters[["reads", "writes"]].sum(axis=1).groupby(number, sort=False).sum()
        of_source = counted.groupby(first["source"].astype(str).to_numpy(), sort=False).transform("first")
        order = np.argsort(of_source.to_numpy(), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return pd.Series(rank[number.to_numpy()], index=counters.index)


def _rates(rows: pd.DataFrame, change: pd.DataFrame, length: pd.Series[float]) -> pd.DataFrame:
    """The disk table of rows whose counters changed so in so many seconds."""
    frame = rows[["source", "line", "host", "time"]].assign(
        interval_s=length, segment=0, report=rows["_nth"] - 1, since_boot=False, device=rows["device"]
    )
    for name in _DIRECTIONS:
        requests = change.get(_PLURAL[name])
        if requests is None or requests.isna().all():
            continue
        some = requests.where(requests > 0)
        frame[f"{name}s_per_s"] = requests / length
        frame[f"{name}_kb_per_s"] = change[f"{name}_kb"] / length
        frame[f"{name}_merges_per_s"] = change[f"{name}_merges"] / length
        frame[f"{name}_await_ms"] = (change[f"{name}_ms"] / some).where(requests != 0, 0.0)
        frame[f"{name}_request_size_kb"] = (change[f"{name}_kb"] / some).where(requests != 0, 0.0)
    if "flushes" in change and change["flushes"].notna().any():
        frame["flushes_per_s"] = change["flushes"] / length
        some = change["flushes"].where(change["flushes"] > 0)
        frame["flush_await_ms"] = (change["flush_ms"] / some).where(change["flushes"] != 0, 0.0)
    waited = change.filter([f"{name}_ms" for name in _DIRECTIONS]).sum(axis=1)
    frame["queue_depth"] = change.get("weighted_ms", waited) / length / 1000
    if "busy_ms" in change:
        frame["util_pct"] = change["busy_ms"] / length / 10
    elif "busy_s" in change and (length >= _LEAST_COARSE_S).any():
        frame["util_pct"] = (100 * change["busy_s"] / length).where(length >= _LEAST_COARSE_S)
    return frame.reset_index(drop=True)
