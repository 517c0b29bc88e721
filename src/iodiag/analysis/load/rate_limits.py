"""Rates that look like limits: those that vendors publish (rate_limits.toml), and round ones."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from iodiag.model.units import KB_PER_MB
from iodiag.table.table import Floats

Quantity = Literal["ios_per_s", "kb_per_s"]
QUANTITIES: tuple[Quantity, ...] = ("ios_per_s", "kb_per_s")
Directed = Quantity | Literal["reads_per_s", "writes_per_s", "read_kb_per_s", "write_kb_per_s"]
DIRECTED: tuple[Directed, ...] = ("reads_per_s", "writes_per_s", "read_kb_per_s", "write_kb_per_s")
"""The same of one direction alone: some limits meter reads and writes apart."""

NEAR = 0.025
"""A plateau up to 2.5 % below a published limit is near it: sampling edges blur an exact limiter."""

ABOVE = 0.005
"""More than 0.5 % above a limit no plateau is held by it: that far the lengths of samples are rounded."""

OF_LINK = 0.07
"""Data sheets of disks on one kind of link differ by as much."""

ROUND = 0.01
"""A plateau within 1 % of a round number is near it: one in eight is by chance. Within half of that where
megabytes are counted by thousands: as a second unit it makes chance likelier."""

_KB_PER_DECIMAL_MB = 1e6 / 1024

EXACT = 0.0015
"""A meter is exact: as near as this to one of the round numbers is one rate in fifty by chance, to a number
of two digits one in eight."""

_ROUND_STARTS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 7.5, 8.0, 9.0)


class Cap(NamedTuple):
    """A published limit: of I/Os per second, or of kB/s. `is_link` tells a wire from a meter."""

    name: str
    quantity: Quantity
    value: float
    is_link: bool = False


def quantity_of(directed: Directed) -> Quantity:
    """What a quantity of one direction counts."""
    return "kb_per_s" if directed.endswith("kb_per_s") else "ios_per_s"


@cache
def published() -> tuple[str, tuple[Cap, ...]]:
    """The date of the list, and its entries."""
    import tomllib

    data = tomllib.loads(Path(__file__).with_name("rate_limits.toml").read_text(encoding="utf-8"))
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
    """The nearest published limit that a rate is within NEAR below, or ABOVE: more would refute it."""
    if value <= 0:
        return None
    caps, logarithms = _of(quantity)
    over = math.log(value) - logarithms
    is_near = (over >= math.log(1 - NEAR)) & (over <= math.log(1 + ABOVE))
    return caps[int(np.where(is_near, np.abs(over), np.inf).argmin())] if is_near.any() else None


def link_near(kb_per_s: float) -> Cap | None:
    """The link that carries hardly more than a rate: how much exactly depends on the adapter."""
    links = (cap for cap in published()[1] if cap.is_link)
    return next((cap for cap in links if 1 - OF_LINK <= kb_per_s / cap.value <= 1 + ROUND), None)


@cache
def _of(quantity: Quantity) -> tuple[tuple[Cap, ...], Floats]:
    """The published limits of a quantity, and their logarithms."""
    caps = tuple(cap for cap in published()[1] if cap.quantity == quantity)
    return caps, np.log([cap.value for cap in caps])


def is_exact(value: float, quantity: Quantity, within: float = EXACT) -> bool:
    """Whether a rate is a published limit or a round number, as exactly as a meter keeps to it."""
    published_one = near(value, quantity)
    named = [_nearest_round(value, quantity)] + ([published_one.value] if published_one else [])
    return any(abs(value / number - 1) <= within for number in named)


def round_number(value: float, quantity: Quantity) -> float | None:
    """The round number (1, 1.2, 1.5, 2, 2.5 … times a power of ten, of IOPS or MiB/s) within ROUND of a rate.

    Or the one of two digits within EXACT of it, or the one of MB/s within half of ROUND.
    """
    if value <= 0:
        return None
    nearest = _nearest_round(value, quantity)
    if abs(value / nearest - 1) <= ROUND:
        return nearest
    digit = _power(value, _unit(quantity)) / 10
    of_two_digits = round(value / digit) * digit
    if abs(value / of_two_digits - 1) <= EXACT:
        return of_two_digits
    decimal = _nearest_round(value, quantity, _KB_PER_DECIMAL_MB)
    return decimal if quantity == "kb_per_s" and abs(value / decimal - 1) <= ROUND / 2 else None


def in_its_unit(round_rate: float, quantity: Quantity) -> tuple[float, str]:
    """A round number in the unit in which it is round: IOPS, MiB/s or MB/s."""
    if quantity == "ios_per_s":
        return round_rate, "IOPS"
    decimal = round_rate / _KB_PER_DECIMAL_MB
    is_decimal = abs(decimal - float(f"{decimal:.2g}")) < 1e-9 * decimal
    return (decimal, "MB/s") if is_decimal else (round_rate / KB_PER_MB, "MiB/s")


def _nearest_round(value: float, quantity: Quantity, unit: float | None = None) -> float:
    power = _power(value, unit or _unit(quantity))
    return min((start * power for start in (*_ROUND_STARTS, 10.0)), key=lambda one: abs(value - one))


def _unit(quantity: Quantity) -> float:
    return KB_PER_MB if quantity == "kb_per_s" else 1.0


def _power(value: float, unit: float) -> float:
    """The power of ten of a unit below a positive rate."""
    return float(10.0 ** math.floor(math.log10(value / unit)) * unit)
