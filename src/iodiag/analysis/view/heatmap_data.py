"""What many devices did at the same time, as coarse as a picture of all of them can show."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.report import DeviceActivity

FEW, MOST = 8, 64
"""Up to the one number of devices lines show more; past the other the least busy ones are left out."""

STRETCHES = 96
_COLUMNS = ("util_pct", "await_ms", "kb_per_s")


def activity(view: View) -> tuple[DeviceActivity, ...]:
    """The peaks of each device in stretches of equal length; none for few devices, or without any work.

    The column is the first of _COLUMNS that the devices have.
    """
    known = [series for series in view.devices if len(series.samples) > 1]
    column = next((name for name in _COLUMNS if any(name in one.samples for one in known)), None)
    if column is None:
        return ()
    working = [one for one in known if column in one.samples and _top(one.samples.floats(column)) > 0]
    if len(working) <= FEW:
        return ()
    places, has_clock = _places(working)
    low, high = min(at.min() for at in places), max(at.max() for at in places)
    if not high > low:
        return ()
    count = min(STRETCHES, max(len(one.samples) for one in working))
    found = [
        DeviceActivity(
            device=one.name,
            host=view.host,
            column=column,
            has_clock=has_clock,
            start=float(low),
            end=float(high),
            peaks=_peaks(at, one.samples.floats(column), (float(low), float(high)), count),
        )
        for one, at in zip(working, places, strict=True)
    ]
    kept = sorted(found, key=lambda one: -sum(value for value in one.peaks if value > 0))[:MOST]
    return tuple(one for one in found if any(one is other for other in kept))


def _places(working: Sequence[DeviceSeries]) -> tuple[list[npt.NDArray[np.float64]], bool]:
    """When each sample was, in seconds since the epoch; where a clock is missing its number from 0."""
    if any(one.samples["time"].is_unknown().any() for one in working):
        return [np.arange(len(one.samples), dtype=np.float64) for one in working], False
    return [one.samples["time"].seconds() for one in working], True


def _top(values: npt.NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known.max()) if len(known) else 0.0


def _peaks(
    places: npt.NDArray[np.float64], values: npt.NDArray[np.float64], ends: tuple[float, float], count: int
) -> tuple[float, ...]:
    """The largest value of each of `count` stretches; NaN where there is none."""
    low, high = ends
    at = np.minimum(((places - low) / (high - low) * count).astype(np.intp), count - 1)
    peaks = np.full(count, math.nan)
    np.fmax.at(peaks, at, values)
    return tuple(float(f"{value:.3g}") for value in peaks.tolist())
