"""What parity RAID pays for a write: the layout's geometry, and the share of writes off the fast path.

A full stripe of n members with p of parity is written at α = n/(n-p) without a read. A smaller
write reads first: either the old data and parity (read-modify-write: p + 1 pages) or the rest of
the stripe (reconstruct-write: n - p - 1 pages), and writes p + 1 pages. md takes what reads less
(drivers/md/raid5.c, handle_stripe_dirtying). Between the two lies a mixture, and α and ρ each tell
its share, from different counters: that they agree is the proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np

from iodiag.analysis.array.members import Array, ArrayTraffic, array_traffic, least_writes
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.windows import windows
from iodiag.table.table import Mask, Table


class Geometry(NamedTuple):
    """`members` and how many of them are `parity`, per stripe."""

    members: int
    parity: int

    @property
    def is_possible(self) -> bool:
        """Whether a small write reads at all: RAID5 from three members on, RAID6 from four."""
        return self.parity > 0 and self.members - self.parity > 1

    @property
    def full_stripe(self) -> float:
        """α of full-stripe writes."""
        return self.members / (self.members - self.parity)

    @property
    def small_writes(self) -> int:
        """Pages written for one page changed: α of small writes."""
        return self.parity + 1

    @property
    def small_reads(self) -> int:
        """Pages read for one page changed, the cheaper way: ρ of small writes."""
        return min(self.parity + 1, self.members - self.parity - 1)


class Share(NamedTuple):
    """Which share of writes was small (0..1, and noise): from α, and from ρ in the range of md's choices."""

    by_writes: float
    by_reads: float
    by_reads_least: float

    @property
    def disagreement(self) -> float:
        """How far the two estimates are apart."""
        return max(0.0, self.by_writes - self.by_reads, self.by_reads_least - self.by_writes)

    @property
    def smaller(self) -> float:
        """The more careful of the two estimates."""
        return min(self.by_writes, self.by_reads)


def small_share(amplification: float, extra_reads: float, geometry: Geometry) -> Share:
    """The share of small writes from write amplification and extra reads."""
    full, small = geometry.full_stripe, geometry.small_writes
    return Share(
        by_writes=(amplification - full) / (small - full),
        by_reads=extra_reads / geometry.small_reads,
        by_reads_least=extra_reads / geometry.small_writes,
    )


class Traffic(NamedTuple):
    """What counts as small writes: enough written, enough of it small, by both counts.

    `least_kb` or `least_writes` per second must be written; `least_share` of it small; the extra
    reads must be `least_excess` of the array's own reads, since samples cut requests at their edges.
    """

    least_kb: float
    least_writes: float
    least_share: float
    least_excess: float


@dataclass(frozen=True)
class SmallWrites:
    """The longest window in which an array pays for small writes; `is_repeated` from REPEATED of them on."""

    rows: Table = field(repr=False)
    geometry: Geometry
    paid: ArrayTraffic
    share: Share
    is_repeated: bool


REPEATED = 3
"""Windows that make a habit."""


def geometries(array: Array) -> list[Geometry]:
    """The parity layouts that an array may have: of a known level one or none, else RAID5 and RAID6."""
    is_unknown = array.level is None and array.has_peers
    levels = (1, 2) if is_unknown else (array.device.parity_members,)
    found = [Geometry(array.slots, parity) for parity in levels]
    return [geometry for geometry in found if geometry.is_possible]


def small_writes(rows: Table, geometry: Geometry, traffic: Traffic) -> SmallWrites | None:
    """The longest window of an array's `rows` whose sums show small writes, or None."""
    found = list(islice(_windows(rows, _mask(rows, geometry, traffic), geometry, traffic), REPEATED))
    if not found:
        return None
    longest, paid, share = found[0]
    return SmallWrites(longest, geometry, paid, share, len(found) == REPEATED)


def _windows(
    rows: Table, mask: Mask, geometry: Geometry, traffic: Traffic
) -> Iterator[tuple[Table, ArrayTraffic, Share]]:
    for window in windows(rows, mask):
        paid = array_traffic(window)
        share = small_share(paid.amplification, paid.extra_reads, geometry)
        is_excess = paid.excess_read_kb >= traffic.least_excess * paid.read_kb
        if share.smaller >= traffic.least_share and is_excess:
            yield window, paid, share


def _mask(rows: Table, geometry: Geometry, traffic: Traffic) -> Mask:
    """The samples in which enough is written and both counts show small writes."""
    enough = weighted.values(rows, "write_kb_per_s") >= traffic.least_kb
    enough |= least_writes(rows) >= traffic.least_writes
    paged = np.maximum(weighted.values(rows, "paged_write_kb_per_s"), 1e-9)
    read = weighted.values(rows, "read_kb_per_s")
    excess = weighted.values(rows, "excess_read_kb_per_s")
    full, small = geometry.full_stripe, geometry.small_writes
    by_writes = (weighted.values(rows, "legs_write_kb_per_s") / paged - full) / (small - full)
    by_reads = excess / paged / geometry.small_reads
    is_small = (np.minimum(by_writes, by_reads) >= traffic.least_share) & (
        excess >= traffic.least_excess * read
    )
    return np.asarray(enough & is_small)
