"""How requests merge on a disk, and where that changed within a capture."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from iodiag.derive import weighted
from iodiag.derive.samples import Samples
from iodiag.derive.view import DeviceSeries

LEAST_SAMPLES = 5
LEAST_ARRIVING = 50.0
"""Requests per second before merging, below which a share of merges is chance."""


@dataclass(frozen=True)
class Merging:
    """One direction on one disk over some rows; `arriving` counts requests before merging."""

    rows: Samples = field(repr=False)
    direction: str
    requests: float
    merges: float
    kb: float

    @property
    def arriving(self) -> float:
        """Requests per second before merging."""
        return self.requests + self.merges

    @property
    def share(self) -> float:
        """Share of arriving requests that merged into others."""
        return self.merges / self.arriving if self.arriving > 0 else float("nan")

    @property
    def arriving_kb(self) -> float:
        """Mean size before merging."""
        return self.kb / self.arriving if self.arriving > 0 else float("nan")

    @property
    def size_kb(self) -> float:
        """Mean size after merging."""
        return self.kb / self.requests if self.requests > 0 else float("nan")


def merging(rows: Samples, direction: str) -> Merging:
    """How one direction (`read`, `write`) merged over the rows."""
    return Merging(
        rows=rows,
        direction=direction,
        requests=weighted.mean(rows, f"{direction}s_per_s"),
        merges=weighted.mean(rows, f"{direction}_merges_per_s"),
        kb=weighted.mean(rows, f"{direction}_kb_per_s"),
    )


def parts(series: DeviceSeries, direction: str) -> tuple[Merging, Merging] | None:
    """Before and after the place where the share of merges drops most, each of five samples and more.

    Samples with hardly a request of that direction are left out. None with too few of them.
    """
    samples = series.samples
    requests = weighted.values(samples, f"{direction}s_per_s")
    merges = weighted.values(samples, f"{direction}_merges_per_s")
    used = requests + merges >= LEAST_ARRIVING
    rows = samples[used]
    if len(rows) < 2 * LEAST_SAMPLES:
        return None
    merged, arrived = np.cumsum(merges[used]), np.cumsum((requests + merges)[used])
    cuts = np.arange(LEAST_SAMPLES, len(rows) - LEAST_SAMPLES + 1)
    before = merged[cuts - 1] / arrived[cuts - 1]
    after = (merged[-1] - merged[cuts - 1]) / (arrived[-1] - arrived[cuts - 1])
    cut = int(cuts[np.argmax(before - after)])
    return merging(rows[:cut], direction), merging(rows[cut:], direction)
