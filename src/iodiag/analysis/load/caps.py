"""Rates that look like limits: those that vendors publish (caps.toml), and round ones."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.model.units import KB_PER_MB

Quantity = Literal["ios_per_s", "kb_per_s"]
QUANTITIES: tuple[Quantity, ...] = ("ios_per_s", "kb_per_s")

NEAR = 0.025
"""A plateau within 2.5 % of a published limit is near it: sampling edges blur an exact limiter."""

ROUND = 0.01
"""A plateau within 1 % of a round number is near it: one in eight is by chance."""

_ROUND_STARTS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 7.5, 8.0, 9.0)


class Cap(NamedTuple):
    """A published limit: of I/Os per second, or of kB/s. `is_link` tells a wire from a meter."""

    name: str
    quantity: Quantity
    value: float
    is_link: bool = False


@cache
def published() -> tuple[str, tuple[Cap, ...]]:
    """The date of the list, and its entries."""
    import tomllib

    data = tomllib.loads(Path(__file__).with_name("caps.toml").read_text(encoding="utf-8"))
    found = []
    for kind in ("cap", "link"):
        for entry in data[kind]:
            if "ios_per_s" in entry:
                found.append(Cap(entry["name"], "ios_per_s", float(entry["ios_per_s"])))
            if "mib_per_s" in entry:
                rate = float(entry["mib_per_s"]) * KB_PER_MB
                found.append(Cap(entry["name"], "kb_per_s", rate, kind == "link"))
    return data["as_of"].isoformat(), tuple(found)


def near(value: float, quantity: Quantity) -> Cap | None:
    """The published limit that a rate is within NEAR of, the nearest one."""
    if value <= 0:
        return None
    caps, logarithms = _of(quantity)
    nearest = caps[int(np.abs(logarithms - math.log(value)).argmin())]
    return nearest if abs(value / nearest.value - 1) <= NEAR else None


@cache
def _of(quantity: Quantity) -> tuple[tuple[Cap, ...], npt.NDArray[np.float64]]:
    """The published limits of a quantity, and their logarithms."""
    caps = tuple(cap for cap in published()[1] if cap.quantity == quantity)
    return caps, np.log([cap.value for cap in caps])


def round_number(value: float, quantity: Quantity) -> float | None:
    """The round number (1, 1.2, 1.5, 2, 2.5 … times a power of ten, of IOPS or MiB/s) within ROUND of a "
    "rate."""
    if value <= 0:
        return None
    unit = KB_PER_MB if quantity == "kb_per_s" else 1.0
    power = 10.0 ** math.floor(math.log10(value / unit))
    candidates = [start * power * unit for start in (*_ROUND_STARTS, 10.0)]
    nearest = min(candidates, key=lambda candidate: abs(value - candidate))
    return nearest if abs(value / nearest - 1) <= ROUND else None
