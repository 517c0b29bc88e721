"""A busy host in good health gives no alarm: a week of a database by day and a backup by night."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

import iodiag
from iodiag.model.finding import SEVERITIES, Finding
from iodiag.model.report import Report
from writers import capture_writer as writer
from writers.capture_writer import Load, Row
from writers.scenarios import lsblk

Floats = npt.NDArray[np.float64]

DAYS, MINUTES = 7, 1440
BACKUP = range(60, 180)
"""Minutes of each night in which the backup runs."""


def _database(rng: np.random.Generator) -> dict[str, Floats]:
    """An SSD under transactions: quiet nights, full afternoons, bursts of a minute now and then."""
    minute = np.arange(DAYS * MINUTES)
    by_day = np.clip(np.sin((minute % MINUTES / MINUTES - 0.3) * 2 * np.pi), 0, None)
    is_weekend = (minute // MINUTES) % 7 >= 5
    demand = (0.08 + 0.55 * by_day * np.where(is_weekend, 0.4, 1.0)) * rng.lognormal(0, 0.15, len(minute))
    demand = np.where(rng.random(len(minute)) < 0.01, demand + rng.uniform(0.3, 0.6, len(minute)), demand)
    use = np.clip(demand, 0.02, 0.92)
    rate = 9000 * use
    # eight channels: hardly a wait up to half of what they do, twice the time near the end
    wait = 0.35 * (1 + use**6 / (1 - use**2)) * rng.lognormal(0, 0.08, len(minute))
    depth = rate * wait / 1000
    return {
        "reads": 0.7 * rate,
        "writes": 0.3 * rate,
        "read_kb": 0.7 * rate * 16,
        "write_kb": 0.3 * rate * rng.uniform(9, 14, len(minute)),
        "read_ms": wait,
        "write_ms": wait * rng.uniform(0.5, 1.2, len(minute)),
        "flushes": 40 * use,
        "flush_ms": np.full(len(minute), 0.4),
        "util": np.minimum(0.999 * (1 - np.exp(-depth * 1.2)), depth),
    }


def _backup(rng: np.random.Generator) -> dict[str, Floats]:
    """A spinning disk that takes the backup at the speed of its surface, a patient queue before it."""
    minute = np.arange(DAYS * MINUTES)
    is_running = np.isin(minute % MINUTES, BACKUP)
    place = (minute % MINUTES - BACKUP.start) / len(BACKUP)
    # from the outer tracks inwards; what writeback keeps in flight comes and goes
    kb = np.where(is_running, 1024 * (180 - 70 * place) * rng.normal(1, 0.04, len(minute)), 0.0)
    depth = np.where(is_running, rng.uniform(15, 60, len(minute)), 0.0)
    writes = kb / 512
    quiet = rng.uniform(0, 0.4, len(minute))
    return {
        "writes": writes + quiet,
        "write_kb": kb + 12 * quiet,
        "write_merges": 3 * writes,
        "write_ms": np.where(is_running, 1000 * depth / np.maximum(writes, 1), 6.0),
        "util": np.where(is_running, 0.998, 0.004 * quiet),
    }


@cache
def week(seed: int) -> Load:
    rng = np.random.default_rng(seed)
    columns = {"sda": _database(rng), "sdb": _backup(rng)}
    rows = {
        name: [
            Row(**dict(zip(data, map(float, values), strict=True)))
            for values in zip(*data.values(), strict=True)
        ]
        for name, data in columns.items()
    }
    samples = [dict(zip(rows, pair, strict=True)) for pair in zip(*rows.values(), strict=True)]
    return Load(samples, step=60, cpus=[(31.0, 9.0, 4.0, 56.0)], start=0)


def analyzed(load: Load) -> Report:
    disks = lsblk(["sda"], spins=False) + lsblk(["sdb"], spins=True)
    captures = {"iostat.txt": writer.iostat(load, cpus=16), "lsblk.txt": disks}
    return iodiag.analyze(iodiag.read(io.BytesIO(text.encode()), name=n) for n, text in captures.items())


def alarms(report: Report) -> list[Finding]:
    return [f for f in report.findings if SEVERITIES.index(f.severity) >= SEVERITIES.index("warning")]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_week_gives_at_most_an_alarm_a_day(seed):
    report = analyzed(week(seed))
    found = [(f.rule, f.devices, f.summary) for f in alarms(report)]
    assert len(found) <= DAYS, found
    assert not [outcome for outcome in report.outcomes if outcome.status == "error"]
    # a week is an archive: every hour is held against the same hour of the other days
    baselines = {o.status: o.devices for o in report.outcomes if o.rule == "latency-above-baseline"}
    assert baselines == {"clear": ("sda", "sdb")}


@pytest.mark.parametrize("day", [0, 3, 6])
def test_a_day_gives_no_alarm(day):
    found = alarms(analyzed(week(3).part(day * MINUTES, (day + 1) * MINUTES)))
    assert not found, [(f.rule, f.devices, f.summary) for f in found]


def test_the_hours_of_business_are_quiet():
    """Without the backup there is nothing at all to warn of."""
    found = alarms(analyzed(week(4).part(8 * 60, 20 * 60)))
    assert not found, [(f.rule, f.devices, f.summary) for f in found]
