"""Medians and percentiles of many numbers, as numpy's functions have them, by sorting or by counting.

Sorting takes a third of the time of np.median with vector instructions that are fast. On processors that are
slow to write the lanes which AVX-512 chooses (Zen 4) it takes five times as long: there many numbers are
counted into bins, and only those of the bin that a rank falls into are looked at again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import groupby

import numpy as np
import numpy.typing as npt

from iodiag.table.table import is_repeated

Floats = npt.NDArray[np.float64]

_BINS = 4096
_LEAST = 1 << 11
"""So many numbers are sorted as fast as they are counted by any processor."""


@lru_cache(maxsize=1)
def few() -> int:
    """Up to how many numbers sorting is no slower than counting, which this processor is asked once."""
    numbers = np.sin(np.arange(8192.0)) + 1
    by_sorting = _least_s(lambda: np.sort(numbers))
    by_counting = _least_s(lambda: np.bincount((numbers * (_BINS / 2 - 1)).astype(np.uint16)))
    return _LEAST if by_sorting > 5 * by_counting else 1 << 15


def _least_s(work: Callable[[], object]) -> float:
    """The least time that some work takes in a few turns, in seconds."""
    taken = []
    for _ in range(3):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def median(data: Floats) -> float:
    """The median of the known numbers; NaN where none is known."""
    count, _, at = _known(data)
    return _middle(at(_halves(count))) if count else math.nan


def percentiles(data: Floats, *ranks: float) -> tuple[float, ...]:
    """Percentiles (0 to 100) of the known numbers, linear between neighbours; NaN where none is known."""
    count, _, at = _known(data)
    if not count:
        return (math.nan,) * len(ranks)
    around = [_around(count, rank) for rank in ranks]
    found = iter(at([place for places, _ in around for place in places]))
    return tuple(_between(next(found), next(found), share) for _, share in around)


def extent(data: Floats) -> dict[str, float] | None:
    """Median, 95th percentile and maximum of the known numbers; None where none is known."""
    count, most, at = _known(data)
    if not count:
        return None
    halves, (places, share) = _halves(count), _around(count, 95)
    *middle, below, above = at([*halves, *places])
    return {"median": _middle(middle), "p95": _between(below, above, share), "max": most}


def _known(data: Floats) -> tuple[int, float, Callable[[list[int]], list[float]]]:
    """How many numbers are known, the greatest of them, and those at places of their rising order.

    They count as one where they are one value in the memory of one.
    """
    if is_repeated(data):
        data = data[:1]
    if len(data) <= _LEAST or len(data) <= few():
        in_order = np.sort(data)
        if len(in_order) and math.isnan(in_order[-1]):
            in_order = in_order[: in_order.searchsorted(np.nan)]
        most = float(in_order[-1]) if len(in_order) else math.nan
        return len(in_order), most, lambda places: [float(in_order[place]) for place in places]
    most = float(data.max())
    if math.isnan(most):
        return _known(data[~np.isnan(data)])
    return len(data), most, lambda places: _counted(data, most, places)


def _counted(data: Floats, most: float, places: list[int]) -> list[float]:
    """The numbers at places of the rising order, found by counting."""
    least = float(data.min())
    if least == most:
        return [least] * len(places)
    scale = (_BINS - 1) / (most - least)
    if len(data) <= _LEAST or not 0 < scale < math.inf:
        in_order = np.sort(data)
        return [float(in_order[place]) for place in places]
    scaled = data - least
    scaled *= scale
    bins = scaled.astype(np.uint16)
    ends = np.bincount(bins).cumsum()
    found: list[float] = []
    for bin_, inside in groupby(places, lambda place: int(ends.searchsorted(place, side="right"))):
        part = data[bins == bin_]
        first = int(ends[bin_]) - len(part)
        found += _counted(part, float(part.max()), [place - first for place in inside])
    return found


def _halves(count: int) -> list[int]:
    """The places around the middle of so many numbers: one or two."""
    return list(range((count - 1) // 2, count // 2 + 1))


def _middle(found: Sequence[float]) -> float:
    return sum(found) / len(found)


def _around(count: int, rank: float) -> tuple[tuple[int, int], float]:
    """The places below and above a percentile of so many numbers, and how far it lies between them."""
    place = rank / 100 * (count - 1)
    low = int(place)
    return (low, min(low + 1, count - 1)), place - low


def _between(below: float, above: float, share: float) -> float:
    return below + (above - below) * share if share < 0.5 else above - (above - below) * (1 - share)
