"""Disks that are busy for longer than others with as many bytes, at rates too unlike to compare latencies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from iodiag.analysis.array.equal_rates import disks_of
from iodiag.analysis.array.side_by_side import are_beside
from iodiag.analysis.measure import weighted
from iodiag.analysis.states.service_times import SERVICE, class_of
from iodiag.analysis.view.view import IDLE_IOS_PER_S, IDLE_KB_PER_S, DeviceSeries, View

LIKE_KB, BUSY, TIMES, LONGER, LEAST_CALM = 2.0, 0.8, 3.0, 1.5, 3
"""Times that the kB/s of disks used as one set are apart at most; busy share of an odd one; times as busy,
and as long busy with each request, as the others that is no chance; and how many others have to agree."""


class Use(NamedTuple):
    """What a disk moved over all samples, and how long it was busy with it; `busy` is a share of time."""

    series: DeviceSeries
    kb: float
    rate: float
    busy: float
    reads: float

    @property
    def per_request(self) -> float:
        """Busy time of each request, ms."""
        return 1000 * self.busy / self.rate


class Busier(NamedTuple):
    """Odd disks, the busiest first, and the calm ones that move as much."""

    odd: list[Use]
    calm: list[Use]


def busier_siblings(view: View) -> Busier | None:
    """The disks that are `TIMES` as busy as the others with as many bytes, and longer with each request."""
    uses = [use for use in _uses(view) if use.kb >= IDLE_KB_PER_S and use.rate >= IDLE_IOS_PER_S]
    odd = sorted((use for use in uses if use.busy >= BUSY), key=lambda use: -use.busy)
    if not odd:
        return None
    calm = [
        use
        for use in uses
        if use.busy < BUSY and _are_like(use, odd[0]) and are_beside(use.series, odd[0].series)
    ]
    odd = [use for use in odd if _are_like(use, odd[0])]
    # hardly used beside the others, in large requests: no measure of what theirs take
    calm = [use for use in calm if LIKE_KB * use.rate >= odd[0].rate / LIKE_KB]
    if len(calm) < max(LEAST_CALM, 2 * len(odd)):
        return None
    if class_of(odd[0].series) == "unknown" and min(u.per_request for u in calm) < SERVICE["nvme"].usual_ms:
        return None  # they may be of another kind
    busiest, longest = max(use.busy for use in calm), max(use.per_request for use in calm)
    odd = [use for use in odd if use.busy >= TIMES * busiest and use.per_request >= LONGER * longest]
    return Busier(odd, calm) if odd else None


def _uses(view: View) -> Iterator[Use]:
    for series in disks_of(view):
        kb, rate, busy, reads = (
            weighted.mean(series.samples, name) for name in ("kb_per_s", "ios_per_s", "util", "reads_per_s")
        )
        yield Use(series, kb, rate, busy, reads / rate if rate > 0 else 0.0)


def _are_like(one: Use, other: Use) -> bool:
    """Whether two disks of a class move as much, mostly in one direction."""
    is_near = max(one.kb, other.kb) <= LIKE_KB * min(one.kb, other.kb)
    return is_near and abs(one.reads - other.reads) <= 0.5 and class_of(one.series) == class_of(other.series)
