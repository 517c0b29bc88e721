"""What tracers of single requests have in common: percentiles, exact or of a histogram, as one kind of fact.

Times are in ms. A percentile of a histogram is known as a bucket: `p99_ms` is its upper edge, `p99_from_ms`
its lower one. It is given only where so many requests were seen that one lies beyond it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from iodiag.formats.context._common import Values, fact
from iodiag.formats.types import Line
from iodiag.model.capture import Fact
from iodiag.model.percentiles import SHARES, sentence

TO_MS = {"nsecs": 1e-6, "usecs": 1e-3, "msecs": 1.0, "secs": 1e3}


class Bucket(NamedTuple):
    """So many requests took at least `low` and less than `high` ms."""

    low: float
    high: float
    requests: float


def of_histogram(buckets: Iterable[Bucket]) -> Values:
    """The number of requests and the buckets in which percentiles and the slowest lie."""
    filled = sorted(bucket for bucket in buckets if bucket.requests > 0)
    below = list(accumulate(bucket.requests for bucket in filled))
    if not filled:
        return {}
    values: Values = {"requests": below[-1]}
    for name, share in SHARES.items():
        if is_enough(below[-1], share):
            at = next(at for at, count in enumerate(below) if count >= share * below[-1])
            values |= {f"{name}_ms": _short(filled[at].high), f"{name}_from_ms": _short(filled[at].low)}
    return values | {"max_ms": _short(filled[-1].high), "max_from_ms": _short(filled[-1].low)}


def of_times(times: Sequence[float]) -> Values:
    """The same of single times: the smallest that so many requests did not exceed; and their mean."""
    if not times:
        return {}
    ordered = sorted(times)
    count = len(ordered)
    values: Values = {"requests": count, "mean_ms": _short(math.fsum(ordered) / count)}
    for name, share in SHARES.items():
        if is_enough(count, share):
            values[f"{name}_ms"] = _short(ordered[math.ceil(share * count) - 1])
    return values | {"max_ms": _short(ordered[-1])}


def is_enough(requests: float, share: float) -> bool:
    """Whether of so many requests one lies beyond a percentile."""
    return requests * (1 - share) >= 1 - 1e-9


def latency_fact(kind: str, whose: Values, measured: Values, source: str, lines: Sequence[Line]) -> Fact:
    """A fact of the requests of one device, or of all that were traced.

    `whose` may have `device`, `requests_of` (which of its requests: reads, Sync-Write) and `span` (what was
    timed).
    """
    of = " of {device}" if whose.get("device") else " of all traced devices"
    text = sentence(kind, {**whose, **measured}, of)
    return fact(kind, text, {**whose, **measured}, source, lines)


def _short(number: float) -> float:
    return float(f"{number:.6g}")
