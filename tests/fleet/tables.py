"""The tables of an invented fleet: as the store has them, with planted troubles.

`PYTHONPATH=src:tests python -m fleet.tables HOSTS DAYS` measures the memory that the report on them takes.
"""

from __future__ import annotations

import json
import resource
import sys

import numpy as np
import pandas as pd

RULES = (
    "true-saturation",
    "approaching-saturation",
    "volume-cap",
    "swap-thrash",
    "serialized-commit",
    "flush-latency",
    "hung-io",
    "slow-member",
    "writeback-burst",
    "interval-too-long",
)
FIRST_DAY = "2026-03-02"


def days_from(count: int, first: str = FIRST_DAY) -> list[str]:
    return [str(day) for day in np.arange(np.datetime64(first), np.datetime64(first) + count)]


def host_names(count: int) -> list[str]:
    roles = ("db", "web", "ceph", "batch")
    return [f"{roles[at % 4]}-{at // 4:05d}" for at in range(count)]


def finding(
    host: str, day: str, rule: str, severity: str = "warning", **changes: object
) -> dict[str, object]:
    """A row of findings.parquet: a quarter of the day long, of medium confidence, on sda."""
    row: dict[str, object] = {
        "host": host,
        "day": day,
        "rule": rule,
        "severity": severity,
        "confidence": "medium",
        "devices": ["sda"],
        "start": f"{day}T06:00:00",
        "end": f"{day}T12:00:00",
        "title": f"{rule} on sda",
        "summary": f"What {rule} found on sda.",
        "evidence": json.dumps(
            [
                {"text": "Context first.", "weighs": "context", "source": "sa02", "lines": [1]},
                {
                    "text": f"{rule}: 41.2 ms at 12.4 in flight.",
                    "weighs": "for",
                    "source": "sa02",
                    "lines": [96],
                },
            ]
        ),
        "explained_by": None,
        "remedy": [],
        "confirm": [],
        "key": "0" * 8,
    }
    return row | changes


def findings_table(rows: list[dict[str, object]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(finding("", FIRST_DAY, "")))


def outcomes_table(
    hosts: list[str], days: list[str], findings: pd.DataFrame, rules: tuple[str, ...] = RULES
) -> pd.DataFrame:
    """Every rule on every host and day: clear, but for what the findings say."""
    grid = pd.MultiIndex.from_product([hosts, days, rules], names=["host", "day", "rule"]).to_frame(
        index=False
    )
    grid["status"], grid["reason"] = "clear", ""
    if len(findings):
        seen = findings[["host", "day", "rule"]].drop_duplicates().assign(found=True)
        grid = grid.merge(seen, on=["host", "day", "rule"], how="left")
        grid.loc[grid.pop("found").notna(), "status"] = "finding"
    return grid


def devices_table(hosts: list[str], days: list[str], **columns: object) -> pd.DataFrame:
    """One disk, sda, per host and day."""
    grid = pd.MultiIndex.from_product([hosts, days], names=["host", "day"]).to_frame(index=False)
    told = {
        "device": "sda",
        "kind": "disk",
        "model": None,
        "firmware": None,
        "rotational": False,
        "samples": 144,
    }
    return grid.assign(**(told | columns))


def hours_table(
    hosts: list[str], days: list[str], seed: int = 1, usual_ms: float = 2.0, hours: int = 24
) -> pd.DataFrame:
    """Reads of 16 kB at every hour, at loads that vary over the day; latency flat, then in proportion."""
    rng = np.random.default_rng(seed)
    grid = pd.MultiIndex.from_product(
        [hosts, ["sda"], days, range(hours)], names=["host", "device", "day", "hour"]
    ).to_frame(index=False)
    count = len(grid)
    grid["direction"] = "read"
    grid["size_class"] = 4
    load = np.exp2(np.clip(rng.normal(2, 1.2, count) + 1.5 * np.sin(grid["hour"] / 24 * 2 * np.pi), 0, 6))
    grid["load_bin"] = np.round(2 * np.log2(load)).astype(int)
    known = np.exp2(grid["load_bin"] / 2)
    own = dict(zip(hosts, rng.normal(0, 0.05, len(hosts)), strict=True))
    logs = np.log(usual_ms * np.maximum(1.0, known / 8)) + grid["host"].map(own) + rng.normal(0, 0.08, count)
    grid["samples"], grid["seconds"] = 6, 3600.0
    grid["latency_ms"] = np.exp(logs)
    grid["ios_per_s"] = known / grid["latency_ms"] * 1000 * 0.4
    grid["kb_per_s"] = grid["ios_per_s"] * 16
    grid["median_ln_latency"], grid["mad_ln_latency"] = logs, 0.05
    grid["queue_depth"], grid["util_pct"] = known * 0.4, 40.0
    return grid


def slowed(hours: pd.DataFrame, host: str, factor: float, since: str = "") -> pd.DataFrame:
    """The same hours with one host's requests taking `factor` times as long, from a day on."""
    is_slow = ((hours["host"] == host) & (hours["day"] >= since)).to_numpy()
    changed = hours.copy()
    changed.loc[is_slow, "latency_ms"] *= factor
    changed.loc[is_slow, "ios_per_s"] /= factor
    changed.loc[is_slow, "kb_per_s"] /= factor
    changed.loc[is_slow, "median_ln_latency"] += np.log(factor)
    return changed


def manifest_table(hosts: list[str], days: list[str]) -> pd.DataFrame:
    rows = [(f"{host}/sa{day[-2:]}", host, [day], "read", "") for host in hosts for day in days]
    rows += [
        (
            "db-00001/sa09",
            "db-00001",
            [],
            "failed",
            "db-00001/sa09: the file ends in the middle of a record at byte 4812",
        ),
        (
            "db-00002/sa09",
            "db-00002",
            [],
            "failed",
            "db-00002/sa09: the file ends in the middle of a record at byte 77",
        ),
        ("web-00000/core", "", [], "unknown", "web-00000/core: holds nothing that iodiag knows"),
    ]
    table = pd.DataFrame(rows, columns=["input", "host", "days", "status", "reason"])
    return table.assign(sha256="0" * 64, size_bytes=500_000, key="")


def fleet(hosts: int = 40, days: int = 7, seed: int = 3) -> dict[str, pd.DataFrame]:
    """A fleet with planted troubles.

    db-00000 hangs on the last two days; from day 4 on every host of site B (every other one) is saturated,
    since its kernel changed; web-00001's disk is 4 times slower than its peers'; web-00002's becomes 5
    times slower on the last day; a few small findings lie anywhere.
    """
    rng = np.random.default_rng(seed)
    names, dates = host_names(hosts), days_from(days)
    rows = [finding("db-00000", day, "hung-io", "critical", confidence="high") for day in dates[-2:]]
    rows += [finding("db-00000", day, "true-saturation", explained_by="hung-io") for day in dates[-2:]]
    rows += [
        finding(host, day, "true-saturation", start=f"{day}T00:10:00", end=f"{day}T23:50:00")
        for host in names[1::2]
        for day in dates[3:]
    ]
    for _ in range(hosts * days // 20):
        rule = RULES[int(rng.integers(1, len(RULES) - 1))]
        rows.append(finding(names[int(rng.integers(hosts))], dates[int(rng.integers(days))], rule, "notice"))
    rows += [finding(host, day, "interval-too-long", "info") for host in names for day in dates]
    findings = findings_table(rows)
    devices = devices_table(names, dates, model="SSD 960")
    is_new = devices["host"].isin(names[1::2]) & (devices["day"] >= dates[min(3, days - 1)])
    hours = slowed(slowed(hours_table(names, dates), "web-00001", 4.0), "web-00002", 5.0, dates[-1])
    return {
        "findings": findings,
        "devices": devices.assign(kernel=np.where(is_new, "6.12.9", "6.12.4")),
        "hours": hours,
        "outcomes": outcomes_table(names, dates, findings),
        "manifest": manifest_table(names, dates),
    }


def measure(hosts: int, days: int) -> None:
    """Print the peak memory before and after the summary of so many hosts, each with one device."""
    from iodiag.fleet.across_hosts.summarise import summarise

    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

    names, dates = host_names(hosts), days_from(days)
    findings = findings_table([finding(host, dates[-1], "hung-io") for host in names[::7]])
    frames = {
        "findings": findings,
        "outcomes": outcomes_table(names, dates, findings),
        "devices": devices_table(names, dates, model="SSD 960"),
        "hours": hours_table(names, dates),
    }
    before = peak()
    summarise(frames)
    print(f"{len(frames['hours']):,} rows of hours: {before} MB as tables, {peak()} MB with the summary")


if __name__ == "__main__":
    measure(int(sys.argv[1]), int(sys.argv[2]))
