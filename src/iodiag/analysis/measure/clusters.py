"""Devices in groups of equal rates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iodiag.table.table import Floats

_IMMATERIAL = 0.02

MOST_DEVICES = 64
"""Beyond this many devices only the busiest are looked at."""


def clusters(rates: Floats, gap: float) -> list[list[int]]:
    """Rows of `rates` (devices by directions) with no gap in any column, in groups of two and more.

    A group ends only where the next rate is further away than `gap` and than _IMMATERIAL of all that
    is moved: nothing nearly equal is left out, and a few reads beside many writes split no group.
    """
    found = [list(range(len(rates)))]
    for column in [*range(rates.shape[1])] * 2:
        found = [part for group in found for part in _split(rates, column, group, gap)]
    return [group for group in found if len(group) >= 2]


def _split(rates: Floats, column: int, group: Sequence[int], gap: float) -> list[list[int]]:
    """Runs of neighbours in size of one column."""
    known = [place for place in group if not np.isnan(rates[place]).any()]
    parts: list[list[int]] = []
    for place in sorted(known, key=lambda place: rates[place, column]):
        slack = 1.0 + _IMMATERIAL * float(rates[place].sum())
        if not parts or rates[place, column] > rates[parts[-1][-1], column] * (1 + gap) + slack:
            parts.append([])
        parts[-1].append(place)
    return parts
