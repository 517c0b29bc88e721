"""Devices held against their own past, over all days of the fleet (`analysis.load.baselines`)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from iodiag.analysis.load import baselines
from iodiag.fleet.across_hosts.troubles import ReportLink
from iodiag.model.fleet import Departure
from iodiag.rules.causes.latency_above_baseline import RULE

DEPARTED = RULE.id
"""The rule that sees the same in an archive of days: what it cannot say of a host-day alone, all days can."""

BATCH_ROWS = 100_000
"""Hosts are taken together up to so many hours: it bounds memory, and no host needs another."""


def departed(hours: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The runs of `baselines.unusual` that do not recur, and the host-days that were compared.

    `hours` is in order of its hosts. `last` is the end of the device's data. The longest and largest
    runs stand first.
    """
    compared = hours[["host", "day"]].drop_duplicates().astype(object)
    parts, known = [], set()
    for batch in batches(hours):
        runs, normal = baselines.unusual(batch)
        known |= set(normal["host"])
        begun = batch["day"] + pd.to_timedelta(batch["hour"] + 1, unit="h")
        ends = begun.groupby([batch["host"], batch["device"]], observed=True).max()
        names = {"host": object, "device": object, "direction": object, "grouping": object}
        rows = runs[~runs["is_recurring"].astype(bool)].astype(names)
        last = ends.rename("last").reset_index().astype({"host": object, "device": object})
        parts.append(rows.merge(last, on=["host", "device"], how="left"))
    if not parts:
        return pd.DataFrame(columns=["host", "device", "start", "end"]), compared
    rows = pd.concat(parts, ignore_index=True)
    rows["size"] = (rows["hours"] * np.log(rows["ratio"])).astype(np.float64).round(9)
    by, is_rising = ["size", "host", "device", "direction", "start"], [False, True, True, True, True]
    rows = rows.sort_values(by, ascending=is_rising, kind="stable").reset_index(drop=True)
    return rows, compared[compared["host"].isin(known)]


def batches(hours: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The hours of some hosts at a time, with the types that `baselines.by_hour` gives."""
    codes = hours["host"].cat.codes.to_numpy()
    start = 0
    while start < len(codes):
        end = int(np.searchsorted(codes, codes[min(start + BATCH_ROWS, len(codes)) - 1], side="right"))
        part = hours.iloc[start:end]
        names = {name: part[name].cat.remove_unused_categories() for name in ("host", "device")}
        days = pd.to_datetime(part["day"].astype(str))
        yield part.assign(**names, direction=part["direction"].astype(str), day=days)
        start = end


def judged(hours: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The departures, and as findings and outcomes what a rule on all days would have said."""
    runs, compared = departed(hours)
    pairs = compared.merge(runs[["host", "device", "start", "end"]], on="host")
    midnight = pd.to_datetime(pairs["day"])
    is_in = (midnight + pd.Timedelta(days=1) > pairs["start"]) & (midnight < pairs["end"])
    rows = pairs.loc[is_in, ["host", "day", "device"]].drop_duplicates()
    findings = pd.DataFrame(
        {
            "host": rows["host"],
            "day": rows["day"],
            "rule": DEPARTED,
            "severity": "notice",
            "devices": [(device,) for device in rows["device"]],
            "explained_by": None,
        }
    )
    return runs, findings, compared.assign(rule=DEPARTED, status="clear", reason="")


def departures(runs: pd.DataFrame, link: ReportLink, most: int) -> tuple[Departure, ...]:
    """The first of the runs as the report has them."""
    return tuple(
        Departure(
            host=row["host"],
            device=row["device"],
            direction=row["direction"],
            start=row["start"].isoformat(),
            end=row["end"].isoformat(),
            hours=int(row["hours"]),
            ratio=float(row["ratio"]),
            latency_ms=float(row["latency_ms"]),
            baseline_ms=float(row["baseline_ms"]),
            baseline_hours=int(row["baseline_windows"]),
            basis=row["grouping"],
            is_lasting=bool(row["end"] >= row["last"]),
            report=link(row["host"], row["start"].date().isoformat()),
        )
        for row in runs.head(most).to_dict("records")
    )
