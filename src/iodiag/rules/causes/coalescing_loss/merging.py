"""How requests merge on a disk, and where that changed within a capture."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.view.view import DeviceSeries
from iodiag.table.table import Table

LEAST_SAMPLES = 5
LEAST_ARRIVING = 50.0
"""Requests per second before merging, below which a share of merges is chance."""


@dataclass(frozen=True)
class Merging:
    """One direction (`read`, `write`) on one disk over some rows; what arrives is counted before merging."""

    rows: Table = field(repr=False)
    direction: str

    @cached_property
    def requests(self) -> float:
        """Requests per second after merging."""
        return weighted.mean(self.rows, f"{self.direction}s_per_s")

    @cached_property
    def merges(self) -> float:
        """Requests per second that merged into others."""
        return weighted.mean(self.rows, f"{self.direction}_merges_per_s")

    @cached_property
    def kb(self) -> float:
        """What they move, in kB/s."""
        return weighted.mean(self.rows, f"{self.direction}_kb_per_s")

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


def parts(series: DeviceSeries, direction: str) -> tuple[Merging, Merging] | None:
    """Before and after the place where the share of merges drops most, each of five samples and more.

    Samples with hardly a request of that direction are left out. None with too few of them, and where
    none merges.
    """
    samples = series.samples
    requests = samples.floats(f"{direction}s_per_s")
    merges = samples.floats(f"{direction}_merges_per_s")
    if not merges.any():
        return None
    used = requests + merges >= LEAST_ARRIVING
    rows = samples[used]
    if len(rows) < 2 * LEAST_SAMPLES:
        return None
    merged, arrived = np.cumsum(merges[used]), np.cumsum((requests + merges)[used])
    inner = slice(LEAST_SAMPLES - 1, len(rows) - LEAST_SAMPLES)
    before = merged[inner] / arrived[inner]
    after = (merged[-1] - merged[inner]) / (arrived[-1] - arrived[inner])
    cut = LEAST_SAMPLES + int(np.argmax(before - after))
    return Merging(rows[:cut], direction), Merging(rows[cut:], direction)
