"""Windows: runs of samples in which a condition holds, with short gaps forgiven."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from iodiag.derive.weighted import values
from iodiag.model.samples import Samples

if TYPE_CHECKING:
    import pandas as pd

    from iodiag.derive.weighted import Rows

Mask = npt.NDArray[np.bool_]
Table = TypeVar("Table", Samples, "pd.DataFrame")

MOST_WINDOWS = 20
"""Windows that a search tries, longest first: what none of the longest shows, no shorter one proves."""

LEAST_SAMPLES = 3
LEAST_SECONDS = 15.0
"""What a window needs before more than `low` confidence: three samples and fifteen seconds."""


def episodes(rows: Table, mask: Mask, gap: int = 1) -> Iterator[Table]:
    """The runs of one device's samples in which `mask` holds, longest first.

    A run begins and ends with a true sample, bridges gaps of up to `gap` samples, stays within
    one stream (source and segment), and holds in at least four samples of five.
    """
    begins, ends = _runs(rows, mask, gap)
    for place in np.argsort(begins - ends, kind="stable").tolist():
        yield rows[int(begins[place]) : int(ends[place])]


def longest(rows: Table, mask: Mask, gap: int = 1) -> Table | None:
    """The longest window in which `mask` holds, or None."""
    window = longest_stretch(rows, mask, gap)
    return None if window is None else rows[window]


def longest_stretch(rows: Rows, mask: Mask, gap: int = 1) -> slice | None:
    """The places of the longest window in which `mask` holds, or None."""
    begins, ends = _runs(rows, mask, gap)
    if not len(begins):
        return None
    place = int(np.argmax(ends - begins))
    return slice(int(begins[place]), int(ends[place]))


def _runs(rows: Rows, mask: Mask, gap: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where the runs begin and end, in the order of the samples (of streams that follow each other)."""
    holds = np.flatnonzero(mask)
    if not len(holds):
        return holds, holds
    is_cut = np.diff(holds) > gap + 1
    streams = np.asarray(rows["stream"])
    if streams[holds[0]] != streams[holds[-1]]:  # they follow each other
        is_cut |= np.diff(streams[holds]) != 0
    breaks = np.flatnonzero(is_cut) + 1
    begins, ends = np.append(0, breaks), np.append(breaks, len(holds))
    firsts, lasts = holds[begins], holds[ends - 1]
    is_dense = ends - begins >= 0.8 * (lasts - firsts + 1)
    if not is_dense.all():
        alone = holds[np.repeat(~is_dense, ends - begins)]
        firsts = np.sort(np.append(firsts[is_dense], alone))
        lasts = np.sort(np.append(lasts[is_dense], alone))
    return firsts, lasts + 1


def seconds(rows: Rows) -> float:
    """How long a window lasts; NaN where sample lengths are unknown."""
    lengths = values(rows, "interval_s")
    return float(np.nansum(lengths)) if (~np.isnan(lengths)).any() else float("nan")


def is_sustained(rows: Rows, samples: int = LEAST_SAMPLES, least_seconds: float = LEAST_SECONDS) -> bool:
    """Whether a window is long enough for more than `low` confidence.

    Samples of five minutes and more are long windows by themselves: two are enough.
    """
    length = seconds(rows)
    if np.isnan(length):
        return len(rows) >= samples
    if len(rows) >= 2 and length / len(rows) >= 300:
        return True
    return len(rows) >= samples and length >= least_seconds
