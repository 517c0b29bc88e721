"""What the data set keeps of one host-day: rows of findings, devices and outcomes, and the sample tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from iodiag.analysis.load.baselines import by_hour
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.fleet.discover import UNDATED
from iodiag.model.report import Report
from iodiag.table.table import Floats

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]

DIRECTIONS = {
    "mixed": ("ios_per_s", "kb_per_s", "latency_ms", "size_kb", "queue_depth", "util_pct"),
    "read": ("reads_per_s", "read_kb_per_s", "read_await_ms", "read_size_kb", None, None),
    "write": ("writes_per_s", "write_kb_per_s", "write_await_ms", "write_size_kb", None, None),
}
"""Per direction, the columns of a device's samples that stand for QUANTITIES; None: not told apart."""

QUANTITIES = ("ios_per_s", "kb_per_s", "latency_ms", "request_size_kb", "queue_depth", "util_pct")
"""The quantities of devices.parquet, each as `_median` and `_p95`."""


def finding_rows(report: Report, host: str, day: str, key: str) -> list[Row]:
    """The findings of a report, the worst first, as the data set has them; evidence as JSON text.

    `is_undated` are those that may be of any day: of captures without a date, or of listings that state none.
    """
    rows = report.as_dict()["findings"]
    return [
        {
            "host": host,
            "day": day,
            **{name: finding[name] for name in ("rule", "severity", "confidence", "devices")},
            **{name: finding[name] for name in ("start", "end", "title", "summary")},
            "evidence": json.dumps(finding["evidence"], allow_nan=False),
            **{name: finding[name] for name in ("explained_by", "remedy", "confirm")},
            "key": key,
            "is_undated": day == UNDATED or report.is_undated(found),
        }
        for found, finding in zip(report.findings, rows, strict=True)
    ]


def outcome_rows(report: Report, host: str, day: str) -> list[Row]:
    """What became of each rule, finding or not: one row per rule, status and reason."""
    return [
        {
            "host": host,
            "day": day,
            "rule": outcome.rule,
            "status": outcome.status,
            "reason": outcome.reason,
            "missing": ", ".join(outcome.missing),
        }
        for outcome in report.outcomes
    ]


def device_rows(view: View, host: str, day: str) -> Iterator[Row]:
    """One row per device and direction that its samples tell of, with the medians and p95 of QUANTITIES.

    Latencies count as often as they had requests; the others once per sample. None where unknown.
    """
    for series in view.devices:
        told = {
            "host": host,
            "day": day,
            "device": series.name,
            "kind": series.device.kind if series.device else None,
            "model": series.device.model if series.device else None,
            # no listing that is read states it yet
            "firmware": None,
            "kernel": view.kernel,
            "rotational": None if series.rotational is None else bool(series.rotational),
            "samples": len(series.samples),
        }
        for direction in DIRECTIONS:
            numbers = dict(_numbers(series, direction))
            if direction == "mixed" or numbers["ios_per_s_median"] is not None:
                yield {**told, "direction": direction, **numbers}


def _numbers(series: DeviceSeries, direction: str) -> Iterator[tuple[str, float | None]]:
    rates = series.samples.floats(DIRECTIONS[direction][0])
    for quantity, column in zip(QUANTITIES, DIRECTIONS[direction], strict=True):
        data = series.samples.floats(column) if column else np.full(len(rates), np.nan)
        weights = rates if quantity == "latency_ms" else np.ones(len(rates))
        for name, share in (("median", 0.5), ("p95", 0.95)):
            yield f"{quantity}_{name}", _quantile(data, weights, share)


def _quantile(data: Floats, weights: Floats, share: float) -> float | None:
    """The least value up to which `share` of the weight lies; None without data."""
    known = ~np.isnan(data) & (np.nan_to_num(weights) > 0)
    if not known.any():
        return None
    order = np.argsort(data[known], kind="stable")
    summed = np.cumsum(weights[known][order])
    place = int(np.searchsorted(summed, share * summed[-1]))
    return float(data[known][order][min(place, len(order) - 1)])


def stored_table(frame: pd.DataFrame) -> pa.Table:
    """A normalised table as it is stored: of one type per column, whatever host it is from.

    `time` is the time that the clock showed, and `zone` the name of its zone ("" where the source
    states none). Host and day are the folder's. Words are text, never categories.
    """
    import pyarrow as pa

    columns: dict[str, pa.Array] = {}
    for name in frame.columns.drop(["host", "clock"], errors="ignore"):
        column = frame[name]
        if name == "time":
            zone = column.dt.tz
            naive = column if zone is None else column.dt.tz_localize(None)
            columns["time"] = pa.array(naive.to_numpy(dtype="datetime64[us]"), type=pa.timestamp("us"))
            stated = frame["clock"].eq("UTC") if "clock" in frame else [zone is not None] * len(frame)
            words = ["" if not is_stated else "UTC" if zone is None else str(zone) for is_stated in stated]
            columns["zone"] = pa.array(words, type=pa.string())
        elif column.dtype.kind in "iu":
            columns[name] = pa.array(column.to_numpy(dtype=np.int64))
        elif column.dtype.kind == "f":
            columns[name] = pa.array(column.to_numpy(dtype=np.float64), from_pandas=True)
        elif column.dtype.kind == "b":
            columns[name] = pa.array(column.to_numpy(dtype=np.bool_))
        else:
            columns[name] = pa.array(column, from_pandas=True).cast(pa.string())
    return pa.table(columns)


def hour_rows(hosts: Iterable[View], host: str) -> list[Row]:
    """The hourly sums of the disk samples (`analysis.load.baselines`).

    Day and hour are of the clock that `time` shows: of an sa file UTC, whatever day it is to its host.
    """
    rows: list[Row] = []
    for view in hosts:
        disk = view.samples("disk")
        if disk is not None:
            summed = by_hour(disk).assign(host=host)
            summed["day"] = summed["day"].dt.strftime("%Y-%m-%d")
            known = summed.astype(object).where(summed.notna(), None)
            rows += [dict(zip(known.columns, row, strict=True)) for row in known.itertuples(index=False)]
    return rows
