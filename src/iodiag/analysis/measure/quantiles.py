"""Medians and percentiles of many numbers, as numpy's functions have them, by sorting."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from iodiag.table.table import Floats, is_repeated


def median(data: Floats) -> float:
    """The median of the known numbers; NaN where none is known."""
    in_order = _in_order(data)
    return _middle(in_order) if len(in_order) else math.nan


def percentiles(data: Floats, *ranks: float) -> tuple[float, ...]:
    """Percentiles (0 to 100) of the known numbers, linear between neighbours; NaN where none is known."""
    in_order = _in_order(data)
    return tuple(_at(in_order, rank) if len(in_order) else math.nan for rank in ranks)


def low_and_high(data: Floats) -> tuple[float, float]:
    """Between which numbers data mostly is: the 10th and 90th percentile of the known ones; the least and the
    largest of few, whose percentiles lie between what was measured; NaN where none is known."""
    in_order = _in_order(data)
    if not len(in_order):
        return math.nan, math.nan
    low, high = (10, 90) if len(in_order) >= _MANY else (0, 100)
    return _at(in_order, low), _at(in_order, high)


_MANY = 10
"""Numbers from which one in ten lies beyond a 10th or 90th percentile."""


def extent(data: Floats) -> dict[str, float] | None:
    """Median, 95th percentile and maximum of the known numbers; None where none is known."""
    in_order = _in_order(data)
    if not len(in_order):
        return None
    return {"median": _middle(in_order), "p95": _at(in_order, 95), "max": float(in_order[-1])}


def _in_order(data: Floats) -> Floats:
    """The known numbers, rising; they count as one where they are one value in the memory of one."""
    in_order = np.sort(data[:1] if is_repeated(data) else data)
    if len(in_order) and math.isnan(in_order[-1]):
        in_order = in_order[: in_order.searchsorted(np.nan)]
    return in_order


def _middle(in_order: Floats) -> float:
    count = len(in_order)
    middle: Sequence[float] = in_order[(count - 1) // 2 : count // 2 + 1].tolist()
    return sum(middle) / len(middle)


def _at(in_order: Floats, rank: float) -> float:
    """The percentile of rising numbers."""
    place = rank / 100 * (len(in_order) - 1)
    low = int(place)
    share = place - low
    below, above = float(in_order[low]), float(in_order[min(low + 1, len(in_order) - 1)])
    return below + (above - below) * share if share < 0.5 else above - (above - below) * (1 - share)
