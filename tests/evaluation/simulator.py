"""Devices as queues: requests arrive, wait for a free server, are served; and the kernel counts.

First come, first served, at a number of equal servers (a spinning disk has one, flash has several). The
counters follow from the events, as the kernel's do: a request counts when it completes, with all its time;
`depth` and `util` are integrals over the sample. No formula of the rules is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapreplace

import numpy as np
import numpy.typing as npt

from writers.capture_writer import Row

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Served:
    """Requests in the order of their arrival; times in seconds, sizes in kB."""

    arrived: Floats
    begun: Floats
    done: Floats
    size_kb: Floats
    is_read: Bools

    def of(self, chosen: Bools) -> Served:
        columns = (self.arrived, self.begun, self.done, self.size_kb, self.is_read)
        return Served(*(column[chosen] for column in columns))

    @property
    def service(self) -> float:
        """The mean time that a request is served."""
        return float((self.done - self.begun).mean())

    @property
    def wait(self) -> float:
        """The mean time that a request waits for its turn."""
        return float((self.begun - self.arrived).mean())

    def busy_servers(self, seconds: float) -> float:
        """How many servers are busy on average."""
        return float((self.done - self.begun).sum()) / seconds


def serve(arrived: Floats, service: Floats, servers: int, size_kb: Floats, is_read: Bools) -> Served:
    """Requests through a queue with some equal servers."""
    free = [0.0] * servers
    begun = np.empty(len(arrived))
    for number, (moment, needed) in enumerate(zip(arrived.tolist(), service.tolist(), strict=True)):
        start = max(moment, free[0])
        heapreplace(free, start + needed)
        begun[number] = start
    return Served(arrived, begun, begun + service, size_kb, is_read)


def arrivals(rates: Sequence[float], rng: np.random.Generator) -> Floats:
    """Moments of a Poisson process whose rate is another in every second."""
    parts = [second + rng.random(rng.poisson(rate)) for second, rate in enumerate(rates)]
    return np.sort(np.concatenate(parts))


def counted(requests: Served, seconds: int) -> list[Row]:
    """What iostat shows of the requests, second by second."""
    edges = np.arange(seconds + 1, dtype=np.float64)
    depth = np.diff(elapsed(requests.arrived, requests.done, edges))
    util = np.diff(elapsed(*merged(requests.arrived, requests.done), edges))
    columns: dict[str, Floats] = {"depth": depth, "util": util}
    for name, chosen in (("read", requests.is_read), ("write", ~requests.is_read)):
        part = requests.of(chosen)
        bins = np.floor(part.done).astype(np.int64)
        kept = bins < seconds
        rate = np.bincount(bins[kept], minlength=seconds).astype(np.float64)
        took = np.bincount(bins[kept], 1000 * (part.done - part.arrived)[kept], seconds)
        columns[f"{name}s"] = rate
        columns[f"{name}_kb"] = np.bincount(bins[kept], part.size_kb[kept], seconds)
        columns[f"{name}_ms"] = took / np.maximum(rate, 1)
    values = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [Row(**dict(zip(columns, each, strict=True))) for each in values]


def elapsed(begins: Floats, ends: Floats, edges: Floats) -> Floats:
    """How much time some intervals, taken together, have lasted up to each edge."""
    return _since(begins, edges) - _since(ends, edges)


def _since(moments: Floats, edges: Floats) -> Floats:
    ordered = np.sort(moments)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    count = np.searchsorted(ordered, edges)
    return np.asarray(count * edges - sums[count])


def merged(begins: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """The union of intervals that are ordered by their beginnings."""
    reach = np.maximum.accumulate(ends)
    is_new = np.concatenate([[True], begins[1:] > reach[:-1]])
    lasts = np.concatenate([np.flatnonzero(is_new)[1:] - 1, [len(begins) - 1]])
    return begins[is_new], reach[lasts]
