"""Disk tables of many days, as the readers give them: a device whose service curve is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pandas as pd

from writers.capture_writer import Load, Row

Floats = npt.NDArray[np.float64]
OfHours = Callable[[Floats], Floats]
"""A factor for each sample, from the hours since the archive's first midnight."""

FIRST_DAY = pd.Timestamp("2026-03-02")
"""A Monday."""


def same(hours: Floats) -> Floats:
    return np.ones(len(hours))


def between(first: float, last: float, factor: float) -> OfHours:
    """The factor from one hour of the archive up to another, and 1 outside."""
    return lambda hours: np.where((hours >= first) & (hours < last), factor, 1.0)


def nightly(first: float, last: float, factor: float, since: float = 0.0) -> OfHours:
    """The factor in these hours of each day from hour `since` of the archive on, and 1 outside."""
    return lambda hours: np.where((hours % 24 >= first) & (hours % 24 < last) & (hours >= since), factor, 1.0)


def disk(
    days: int = 7,
    *,
    step: float = 300.0,
    devices: tuple[str, ...] = ("sda",),
    demand: OfHours = same,
    slower: OfHours = same,
    host: str = "db1",
    seed: int = 1,
) -> pd.DataFrame:
    """Reads of 16 KiB at a device of eight channels: quiet nights, full afternoons, some noise.

    `demand` multiplies the rate, `slower` the time of each request; the rate is what the
    applications ask for, so that a slower device has more requests in flight.
    """
    rng = np.random.default_rng(seed)
    hours = np.arange(1, round(days * 86400 / step) + 1) * step / 3600
    middle = hours - step / 7200
    frames = [
        _device(name, hours, step, demand(middle), slower(middle), rng).assign(host=host) for name in devices
    ]
    return pd.concat(frames, ignore_index=True).astype({"device": "category", "source": "category"})


def _device(
    name: str, hours: Floats, step: float, demand: Floats, slower: Floats, rng: np.random.Generator
) -> pd.DataFrame:
    by_day = np.clip(np.sin((hours % 24 / 24 - 0.3) * 2 * np.pi), 0, None)
    noise = rng.lognormal(0, 0.1, len(hours))
    use = np.clip((0.1 + 0.4 * by_day) * noise * demand, 0.02, 0.92)
    wait = 0.4 * (1 + use**6 / (1 - use**2)) * rng.lognormal(0, 0.05, len(hours)) * slower
    rate = 9000 * use
    depth = rate * wait / 1000
    return pd.DataFrame(
        {
            "source": "archive",
            "line": np.arange(len(hours)) + 1,
            "device": name,
            "time": FIRST_DAY + pd.to_timedelta(hours * 3600, unit="s"),
            "interval_s": step,
            "since_boot": False,
            "reads_per_s": rate,
            "writes_per_s": 0.0,
            "read_kb_per_s": 16.0 * rate,
            "write_kb_per_s": 0.0,
            "read_await_ms": wait,
            "write_await_ms": 0.0,
            "queue_depth": depth,
            "util_pct": 100 * np.minimum(1 - np.exp(-depth), depth),
        }
    )


def load_of(table: pd.DataFrame) -> Load:
    """A disk table whose devices share their times, as a load: to be written as a capture."""
    columns = ["reads_per_s", "read_kb_per_s", "read_await_ms", "util_pct"]
    rows = {
        str(name): [
            Row(reads=rate, read_kb=kb, read_ms=wait, util=util / 100)
            for rate, kb, wait, util in samples[columns].to_numpy().tolist()
        ]
        for name, samples in table.groupby("device", observed=True, sort=False)
    }
    samples = [dict(zip(rows, each, strict=True)) for each in zip(*rows.values(), strict=True)]
    return Load(samples, step=round(table["interval_s"].iloc[0]), start=0)
