"""Windows: runs of samples in which a condition holds, with short gaps forgiven."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from iodiag.table.table import Mask, Places, Table

MOST_WINDOWS = 20
"""Windows that a search tries, longest first: what none of the longest shows, no shorter one proves."""

DENSE = 0.8
"""The least share of a window in which what it is a window of holds."""

WINDOW_EXIT_SHARE = 0.8
"""A window is entered at a threshold and left at this share of it, so that noise does not split it."""

LEAST_SAMPLES = 3
LEAST_SECONDS = 15.0
"""What a window needs before more than `low` confidence: three samples and fifteen seconds."""


def windows(rows: Table, mask: Mask, gap: int = 1) -> Iterator[Table]:
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


def longest_stretch(rows: Table, mask: Mask, gap: int = 1) -> slice | None:
    """The places of the longest window in which `mask` holds, or None."""
    return longest_among(rows, np.flatnonzero(mask), gap)


def longest_among(rows: Table, holds: Places, gap: int) -> slice | None:
    """The same by the places of the samples in which a condition holds."""
    found = _bridged(rows, holds, gap)
    if found is None:
        return None
    sizes = np.where(found.is_dense, found.lasts - found.firsts + 1, 1)
    place = int(np.argmax(sizes))
    begin = int(found.firsts[place])
    return slice(begin, begin + int(sizes[place]))


class _Bridged(NamedTuple):
    """True samples (`holds`) with gaps bridged: the first and last of each run, how many of them it has.

    Where a run is not dense, each of them is a run of its own.
    """

    holds: Places
    firsts: Places
    lasts: Places
    counts: Places

    @property
    def is_dense(self) -> Mask:
        """Which runs hold in four samples of five."""
        result: Mask = self.counts >= DENSE * (self.lasts - self.firsts + 1)
        return result


def _bridged(rows: Table, holds: Places, gap: int) -> _Bridged | None:
    """The runs of true samples within one stream; None without any."""
    if not len(holds):
        return None
    is_cut = np.diff(holds) > gap + 1
    streams = np.asarray(rows["stream"])
    if streams[holds[0]] != streams[holds[-1]]:  # they follow each other
        is_cut |= np.diff(streams[holds]) != 0
    edges = np.concatenate(([-1], np.flatnonzero(is_cut), [len(holds) - 1]))
    return _Bridged(holds, holds[edges[:-1] + 1], holds[edges[1:]], np.diff(edges))


def _runs(rows: Table, mask: Mask, gap: int) -> tuple[Places, Places]:
    """Where the runs begin and end, in the order of the samples (of streams that follow each other)."""
    found = _bridged(rows, np.flatnonzero(mask), gap)
    if found is None:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    is_dense = found.is_dense
    alone = found.holds[np.repeat(~is_dense, found.counts)]
    firsts = np.sort(np.append(found.firsts[is_dense], alone))
    lasts = np.sort(np.append(found.lasts[is_dense], alone))
    return firsts, lasts + 1


def by_stream(samples: Table) -> Iterator[Table]:
    """One device's samples of each stream; streams follow each other."""
    streams = samples["stream"]
    is_one = len(streams) > 0 and streams[0] == streams[-1]
    cuts = [] if is_one else (np.flatnonzero(np.diff(streams)) + 1).tolist()
    yield from (samples[begin:end] for begin, end in pairwise([0, *cuts, len(samples)]))


def seconds(rows: Table) -> float:
    """How long a window lasts; NaN where sample lengths are unknown."""
    lengths = rows.floats("interval_s")
    return float(np.nansum(lengths)) if (~np.isnan(lengths)).any() else float("nan")


def is_sustained(rows: Table) -> bool:
    """Whether a window is long enough for more than `low` confidence.

    Samples of five minutes and more are long windows by themselves: two are enough.
    """
    length = seconds(rows)
    if np.isnan(length):
        return len(rows) >= LEAST_SAMPLES
    if len(rows) >= 2 and length / len(rows) >= 300:
        return True
    return len(rows) >= LEAST_SAMPLES and length >= LEAST_SECONDS
