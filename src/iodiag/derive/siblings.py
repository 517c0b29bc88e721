"""Devices that run at equal rates: the legs of an array do, whether or not anything names them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from iodiag.derive import weighted
from iodiag.derive.view import IDLE_KB_PER_S, DeviceSeries

EQUAL = 0.1
"""Disks whose bytes, either way, differ by less are taken for legs of one set."""

MOST_DEVICES = 64
"""Beyond this many devices only the busiest are looked at."""


def equal_rates(devices: Sequence[DeviceSeries], tolerance: float = EQUAL) -> list[tuple[DeviceSeries, ...]]:
    """Groups of two and more devices with samples in the same streams that move equally much both ways."""
    streams: dict[tuple[int, ...], list[DeviceSeries]] = {}
    for series in devices:
        if weighted.mean(series.frame, "kb_per_s") >= IDLE_KB_PER_S or len(series.loaded):
            streams.setdefault(tuple(sorted(series.frame["stream"].unique())), []).append(series)
    groups = []
    for together in streams.values():
        busiest = sorted(together, key=lambda s: -np.nan_to_num(weighted.mean(s.frame, "kb_per_s")))
        busiest = without_parts(busiest[:MOST_DEVICES])
        rates = np.array(
            [[weighted.mean(s.frame, f"{d}_kb_per_s") for d in ("read", "write")] for s in busiest]
        )
        for places in clusters(rates.reshape(-1, 2), tolerance):
            groups.append(tuple(busiest[place] for place in sorted(places)))
    return groups


def clusters(rates: npt.NDArray[np.float64], tolerance: float) -> list[list[int]]:
    """Rows of `rates` (devices by directions) that are equal in every column, in groups of two and more."""
    found = [list(range(len(rates)))]
    for column in [*range(rates.shape[1])] * 2:
        found = [part for group in found for part in _split(rates[:, column], group, tolerance)]
    return [group for group in found if len(group) >= 2]


def _split(values: npt.NDArray[np.float64], group: Sequence[int], tolerance: float) -> list[list[int]]:
    """Runs of neighbours in size whose largest is within `tolerance` of the smallest, and 1 kB/s."""
    if not group:
        return []
    ordered = sorted(
        (place for place in group if not np.isnan(values[place])), key=lambda place: values[place]
    )
    parts: list[list[int]] = [[]]
    for place in ordered:
        if parts[-1] and values[place] > values[parts[-1][0]] * (1 + tolerance) + 1.0:
            parts.append([])
        parts[-1].append(place)
    return parts


def without_parts(devices: Sequence[DeviceSeries]) -> list[DeviceSeries]:
    """Devices without the partitions of disks that are there themselves."""
    names = {series.name for series in devices}
    return [series for series in devices if not is_part(series.name, names)]


def is_part(name: str, names: set[str]) -> bool:
    """Whether a name is a partition's of another one: sda1 of sda, nvme0n1p2 of nvme0n1."""
    match = re.fullmatch(r"(.*?[a-z])\d+|(.*\d)p\d+", name)
    return bool(match and (match[1] or match[2]) in names)
