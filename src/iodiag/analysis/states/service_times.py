"""What a healthy device takes for one request at the longest, by class, and what a mean is worth.

Rules and symptoms take what a class of device can do from here; each number has its source.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.view.device_traits import (
    cloud_model,
    has_remote_name,
    is_card,
    is_optical,
    is_spinning,
    names_below,
)
from iodiag.analysis.view.view import DeviceSeries
from iodiag.table.table import Floats, Table

Class = Literal["nvme", "solid", "network", "spinning", "memory card", "optical", "unknown"]


@dataclass(frozen=True)
class Service:
    """One request alone on a device of a class, as a mean of many.

    `usual_ms` is what such a device takes at most when all is well, `sane_limit_ms` what no healthy
    one of the class exceeds. Each grows with the size of the request, by the transfer rates (kB per ms are
    MB/s).
    """

    usual_ms: float
    usual_kb_per_ms: float
    sane_limit_ms: float
    sane_limit_kb_per_ms: float
    source: str

    def usual(self, size_kb: float) -> float:
        """What a request of this size takes at most when all is well, ms."""
        return self.usual_ms + size_kb / self.usual_kb_per_ms


SERVICE: dict[Class, Service] = {
    "nvme": Service(1.0, 500, 10, 200, "data sheets: 0.02 to 0.1 ms; garbage collection reaches 10 ms"),
    "solid": Service(1.5, 200, 20, 50, "data sheets of SATA SSDs: 0.1 ms; full consumer drives: 20 ms"),
    "network": Service(5, 100, 30, 20, "cloud block storage: single-digit ms stated; iSCSI adds a hop"),
    "spinning": Service(15, 50, 30, 20, "5,400 to 7,200 rpm: 12 ms seek and 5.6 ms turn"),
    "memory card": Service(30, 5, 300, 2, "SD association, class 2 to 10: 2 to 10 MB/s; erase blocks of MB"),
    "optical": Service(
        150, 5, 400, 1, "data sheets: 0.1 to 0.2 s for an access, 1 to 20 MB/s for CD and DVD"
    ),
    "unknown": Service(15, 50, 30, 2, "the slowest disk; a USB stick at 2 MB/s for large requests"),
}

TRANSFER_KB_PER_MS = 50.0
"""What the slowest disk transfers; a write of its size takes that long by itself."""

CALM = 3.0
"""Up to three times what its class usually takes a device answers as expected (Percona 2014)."""

FASTER_THAN_SEEKS, RANDOM_KB = 500.0, 32.0
"""Requests per second of less than so many kB that no single spinning disk serves at random."""

FASTER_THAN_HEADS, FASTER_THAN_HEADS_KB = 5000.0, 500_000.0
"""Requests/s and kB/s that no spinning disk has both of, nor a few of them: 285 MB/s each (data sheets)."""

FLUSH_KB, SLOWEST_FLUSH_MS = 4.0, 500.0
"""Where writes are smaller than a file system's block, some are flushes without data; a spinning disk that
writes out a full cache of 64 MB takes about half a second."""


def class_of(series: DeviceSeries) -> Class:
    """The class of the device that serves the requests, as far as its name and topology say."""
    names = names_below(series)
    if is_card(series):
        return "memory card"
    if is_optical(series):
        return "optical"
    if any(name.startswith("nvme") for name in names):
        return "network" if cloud_model(series) else "nvme"  # a provider's volume has NVMe's name alone
    # a virtual disk says of itself that it does not spin, and may stand behind a network all the same
    if has_remote_name(names):
        return "network"
    spinning = is_spinning(series)
    if spinning is not None:
        return "spinning" if spinning else "solid"
    # what it writes waits for a second host
    return "network" if series.name.startswith("drbd") else "unknown"


def moves_more(series: DeviceSeries) -> bool:
    """Whether a device is seen to move more than any single spinning disk."""
    return bool((series.samples.floats("kb_per_s") > _FASTEST_SPINDLE_KB).any())


_FASTEST_SPINDLE_KB = 350.0 * 1024
"""kB/s that no single spinning disk moves: the outer tracks of the fastest give less than 300 MB/s."""


def usual_ms(series: DeviceSeries, size_kb: float, rate: float = 0.0) -> float:
    """What one request alone of this size takes at most on a device of this class when all is well."""
    return SERVICE[inferred_class(series, size_kb, rate)].usual(weighted.or_zero(size_kb))


def inferred_class(series: DeviceSeries, size_kb: float, rate: float) -> Class:
    """Its class; one that is unknown and does more small requests/s than a spinning disk can is solid."""
    name = class_of(series)
    is_faster = rate >= FASTER_THAN_SEEKS and size_kb < RANDOM_KB
    return "solid" if name == "unknown" and is_faster else name


def streams_kb(series: DeviceSeries) -> float:
    """kB/s that a device of this class usually streams."""
    return 1000 * SERVICE[class_of(series)].usual_kb_per_ms


def is_adjacent_stream(series: DeviceSeries, size_kb: float, busy_kb_per_s: float) -> bool:
    """Whether requests of no small size move as much while it is busy as only adjacent ones of a disk do."""
    return size_kb >= ADJACENT_KB and busy_kb_per_s >= max(ADJACENT_KB_PER_S, streams_kb(series))


ADJACENT_KB, ADJACENT_KB_PER_S = 64.0, 100_000.0
"""At 64 kB this takes 1,560 requests/s: no spinning disk does as many that are not adjacent."""


def sane_limit_ms(series: DeviceSeries, size_kb: Floats | float) -> Floats:
    """What no healthy device of this class exceeds for one request alone of this size."""
    service = SERVICE[class_of(series)]
    return np.asarray(service.sane_limit_ms + np.nan_to_num(size_kb) / service.sane_limit_kb_per_ms)


SEEK_MS = 5.0
"""What a wait that is longer by as much costs whoever waits for it: a seek of a disk."""


def is_felt(series: DeviceSeries, added_ms: float, rate: float = 0.0) -> bool:
    """Whether so many ms more, however many times as long, are a cost to whoever waits for a request.

    Less than a seek, or than what its class may take when all is well, nobody pays for on a device with idle
    time: a comparison by itself has no cost. At `rate` requests per second that somebody waits for, it is one
    where one more is always waited for.
    """
    return added_ms >= min(SEEK_MS, CALM * SERVICE[class_of(series)].usual_ms) or rate * added_ms >= 1000


LARGE = 3.0
"""Times the latency at the same load from which a device is told to be slower, however quick (Percona)."""


def is_worth_reporting(series: DeviceSeries, before_ms: float, after_ms: float, rows: Table) -> bool:
    """Whether a device that became slower at the same load, as `rows` show it, is more than a remark.

    A small change on a device that stays quicker than the fastest class usually is nobody pays for.
    """
    size, rate = weighted.ratio(rows, "kb_per_s", "ios_per_s"), weighted.mean(rows, "ios_per_s")
    is_slow = after_ms >= LARGE * before_ms or after_ms > SERVICE["nvme"].usual(weighted.or_zero(size))
    return is_slow or is_felt(series, after_ms - before_ms, rate)


def events_per_sample(samples: Table, rate: str = "ios_per_s") -> Floats:
    """How many events of a rate each sample counted; one of unknown length at the least."""
    return np.asarray(samples.floats(rate) * weighted.seconds_or_one(samples))


def relative_error(requests: float) -> float:
    """How far a mean of so many requests may be off: c/√n, c near 1 for requests of one kind."""
    return 1 / math.sqrt(requests) if requests > 0 else math.inf
