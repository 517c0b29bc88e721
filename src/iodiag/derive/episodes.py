"""Windows: runs of samples in which a condition holds, with short gaps forgiven."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

Mask = npt.NDArray[np.bool_]

MOST_WINDOWS = 20
"""Windows that a search tries, longest first: what none of the longest shows, no shorter one proves."""

LEAST_SAMPLES = 3
LEAST_SECONDS = 15.0
"""What a window needs before more than `low` confidence: three samples and fifteen seconds."""


def episodes(frame: pd.DataFrame, mask: Mask, gap: int = 1) -> Iterator[pd.DataFrame]:
    """The runs of one device's samples in which `mask` holds, longest first.

    A run begins and ends with a true sample, bridges gaps of up to `gap` samples, stays within
    one stream (source and segment), and holds in at least four samples of five.
    """
    runs: list[tuple[int, int]] = []
    streams = frame["stream"].to_numpy()
    for stream in pd.unique(streams):
        places = np.flatnonzero(streams == stream)
        holds = places[mask[places]]
        if not len(holds):
            continue
        breaks = np.flatnonzero(np.diff(np.searchsorted(places, holds)) > gap + 1) + 1
        begins, ends = np.append(0, breaks), np.append(breaks, len(holds))
        firsts, lasts = holds[begins], holds[ends - 1]
        is_dense = ends - begins >= 0.8 * (lasts - firsts + 1)
        alone = holds[np.repeat(~is_dense, ends - begins)]
        first, last = np.append(firsts[is_dense], alone), np.append(lasts[is_dense], alone)
        runs.extend(sorted(zip(first.tolist(), last.tolist(), strict=True)))
    for begin, end in sorted(runs, key=lambda run: run[0] - run[1]):
        yield frame.iloc[begin : end + 1]


def longest(frame: pd.DataFrame, mask: Mask, gap: int = 1) -> pd.DataFrame | None:
    """The longest window in which `mask` holds, or None."""
    return next(episodes(frame, mask, gap), None)


def seconds(frame: pd.DataFrame) -> float:
    """How long a window lasts; NaN where sample lengths are unknown."""
    lengths = frame["interval_s"].to_numpy(dtype=np.float64)
    return float(np.nansum(lengths)) if (~np.isnan(lengths)).any() else float("nan")


def is_sustained(
    frame: pd.DataFrame, samples: int = LEAST_SAMPLES, least_seconds: float = LEAST_SECONDS
) -> bool:
    """Whether a window is long enough for more than `low` confidence.

    Samples of five minutes and more are long windows by themselves: two are enough.
    """
    length = seconds(frame)
    if np.isnan(length):
        return len(frame) >= samples
    if len(frame) >= 2 and length / len(frame) >= 300:
        return True
    return len(frame) >= samples and length >= least_seconds
