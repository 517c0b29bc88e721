"""Stretches in which a busy device completes nothing, and the sample in which they end.

A request is booked in the sample in which it completes (kernels from 5.0 on; block/genhd.c). After a
stall that sample holds the whole wait, so its depth looks like a deep queue that never was. The
mean over the stall and its end is right again: Little's law holds over any span that begins and
ends alike.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from iodiag.derive import weighted

Mask = npt.NDArray[np.bool_]

ALWAYS_BUSY = 0.95
"""Busy throughout, timer skew allowed for."""

_RATES = (
    "depth",
    "util",
    "ios_per_s",
    "reads_per_s",
    "writes_per_s",
    "discards_per_s",
    "flushes_per_s",
    "kb_per_s",
    "read_kb_per_s",
    "write_kb_per_s",
)


def stalled(frame: pd.DataFrame) -> Mask:
    """Samples of one device in which it was busy throughout and completed no request."""
    completed = weighted.values(frame, "ios_per_s")
    return np.asarray((completed == 0) & (weighted.values(frame, "util") >= ALWAYS_BUSY))


def bridged(frame: pd.DataFrame) -> pd.DataFrame:
    """One device's samples with each stall taken into the sample that ends it.

    Rates, depth and util become means over the joined span; latencies and sizes are those of the
    ending sample, where the requests completed. `span` is the joined length, in seconds or, where no
    length is known, in samples. A stall that nothing ends within its stream is left out.
    """
    lengths = weighted.lengths(frame)
    silent = stalled(frame)
    if not silent.any():
        return frame.assign(span=lengths)
    ends = ~silent
    streams = frame["stream"].to_numpy(dtype=np.int64)
    # a stream's last samples have no end of their own stream: they form a group that is dropped
    numbers: npt.NDArray[np.int64] = np.cumsum(ends) - ends
    keys = np.unique(np.column_stack([streams, numbers]), axis=0, return_inverse=True)[1].ravel()
    span = np.bincount(keys, lengths)
    joined = frame[ends].copy()
    own = keys[ends]
    for column in _RATES:
        if column in frame:
            data = np.nan_to_num(weighted.values(frame, column))
            means = np.bincount(keys, data * lengths) / span
            is_joined = np.bincount(keys)[own] > 1
            joined[column] = np.where(is_joined, means[own], weighted.values(joined, column))
    joined["span"] = span[own]
    if joined["interval_s"].notna().any():
        joined["interval_s"] = np.where(joined["interval_s"].notna(), span[own], np.nan)
    return joined
