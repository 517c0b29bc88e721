"""What parity RAID pays for a write: the layout's geometry, and the share of writes off the fast path.

A full stripe of n members with p of parity is written at α = n/(n-p) without a read. A smaller
write reads first: either the old data and parity (read-modify-write: p + 1 pages) or the rest of
the stripe (reconstruct-write: n - p - 1 pages), and writes p + 1 pages. md takes what reads less
(drivers/md/raid5.c, handle_stripe_dirtying). Between the two lies a mixture, and α and ρ each tell
its share, from different counters: that they agree is the proof.
"""

from __future__ import annotations

from typing import NamedTuple


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
