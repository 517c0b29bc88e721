"""Which layout conserves the bytes that were seen: what a device was asked for, what a group moved.

A stripe's legs move what it is asked for; a mirror's write it twice; full stripes of parity write
n/(n-p) of it, small writes more and read besides, and then both tell the same share (analysis.array.parity).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from iodiag.analysis.measure.correlation import spearman
from iodiag.analysis.measure.parity_costs import Geometry, small_share
from iodiag.table.table import Floats

LEAST_KB = 64.0
"""A sample in which the device moves less proves nothing: rounding and metadata are in the way."""

EXACT_ONE, EXACT_MANY, CONTRADICTS = 0.005, 0.02, 0.1
"""What may remain of a sum: in one sample of a few, over MANY (requests in flight at edges), in the rest."""

MANY = 5

MATTERS = 0.05
"""A direction that makes less than this of the traffic says nothing of the layout."""

LEAST_SHARE, MOST_APART = 0.2, 0.15
"""Of small writes on parity: the least share, and how far its two estimates may be apart."""


class ConservingLayout(NamedTuple):
    """A layout that explains the traffic: level and copies where the traffic tells them, and the sums.

    `is_mixture` says that small writes on parity do, whose sums count whole pages.
    """

    level: str | None
    copies: int | None
    sums: Sums
    is_mixture: bool = False

    def sentence(self, name: str, legs: Sequence[str]) -> str:
        """The layout in words. The sums themselves are evidence where a rule uses them, not provenance."""
        together = ", ".join(legs) if len(legs) <= 4 else f"the devices from {legs[0]} to {legs[-1]}"
        pages = ", counted in whole pages" if self.is_mixture else ""
        return f"the bytes of {together} add up to what {name} was asked for{pages}"


class Sums(NamedTuple):
    """kB/s that a device was asked for, and that a group of `legs` devices moved."""

    read: float
    write: float
    legs_read: float
    legs_write: float
    legs: int

    @property
    def has_reads(self) -> bool:
        """Whether reads are enough of the traffic to tell something."""
        return self.read >= MATTERS * (self.read + self.write)

    @property
    def has_writes(self) -> bool:
        """Whether writes are."""
        return self.write >= MATTERS * (self.read + self.write)


def conserving_layout(
    own: tuple[Floats, Floats],
    paged: Floats,
    below: tuple[Floats, Floats],
    legs: int,
    *,
    may_be_chain: bool,
    may_be_mixture: bool,
) -> ConservingLayout | None:
    """The layout that conserves bytes between a device and a group, sample by sample; or None.

    `own` and `below` are reads and writes in kB/s of the device and of the group's sum, in samples of
    about equal length; `paged` is what the device wrote in whole pages, which is what parity moves.
    `may_be_chain` says that the group may be devices that stand on each other, `may_be_mixture` that
    small writes on parity are considered, whose sums are no sharp proof.
    """
    loaded = own[0] + paged >= LEAST_KB
    if not loaded.any():
        return None
    grid = np.array([*own, *below])[:, loaded]
    whole = _sums(grid.mean(axis=1), legs)
    if grid.shape[1] >= MANY:
        options = _exact(whole, EXACT_MANY, may_be_chain)
        found = next((option for option in options if _is_in_step(grid, option)), None)
    else:
        found = next(_of_few(grid, legs, may_be_chain), None)
    if found or not may_be_mixture:
        return found
    return _mixture(whole._replace(write=float(paged[loaded].mean())))


def _sums(values: Floats, legs: int) -> Sums:
    read, write, legs_read, legs_write = (float(value) for value in values)
    return Sums(read, write, legs_read, legs_write, legs)


def _exact(sums: Sums, within: float, may_be_chain: bool) -> Iterator[ConservingLayout]:
    """The layouts whose sums are what was seen, up to a share of them.

    Where devices may stand on each other, equal writes prove nothing: each of a chain writes the same.
    """
    if sums.has_reads and abs(sums.legs_read / sums.read - 1) > within:
        return
    if not sums.has_writes:
        if sums.legs_write <= MATTERS * sums.legs_read:
            yield ConservingLayout(None, None, sums)
        return
    ratio = sums.legs_write / sums.write
    is_told = sums.legs > 2 or sums.has_reads or not may_be_chain
    if abs(ratio / 2 - 1) <= within and is_told and _mixture(sums) is None:
        yield ConservingLayout("raid1" if sums.legs == 2 else "raid10", 2, sums)
    if not sums.has_reads and sums.legs_read > MATTERS * sums.legs_write:
        return
    for level, parity in (("raid0", 0), ("raid5", 1), ("raid6", 2)):
        geometry = Geometry(sums.legs, parity)
        if (not parity or sums.legs > 2 * parity) and abs(ratio / geometry.full_stripe - 1) <= within:
            yield ConservingLayout(level, None, sums)


def _of_few(grid: Floats, legs: int, may_be_chain: bool) -> Iterator[ConservingLayout]:
    """The layouts that hold exactly in one of a few samples, and that no other sample contradicts."""
    for sample in grid.T:
        for found in _exact(_sums(sample, legs), EXACT_ONE, may_be_chain):
            if (_residuals(grid, found) <= CONTRADICTS).all():
                yield found


def _is_in_step(grid: Floats, found: ConservingLayout) -> bool:
    """Whether the sum holds over the samples as well: they rise and fall together, or each fits."""
    wanted, seen = _sides(grid, found)
    if np.median(_residuals(grid, found)) <= EXACT_MANY:
        return True
    return spearman(wanted, seen) >= 0.9


def _residuals(grid: Floats, found: ConservingLayout) -> Floats:
    wanted, seen = _sides(grid, found)
    return np.asarray(np.abs(seen / np.maximum(wanted, 1e-9) - 1))


def _sides(grid: Floats, found: ConservingLayout) -> tuple[Floats, Floats]:
    """What the legs should have moved by the layout, and what they did, in the directions that matter."""
    sums = found.sums
    own_read, own_write, legs_read, legs_write = grid
    factor = sums.legs_write / sums.write if sums.has_writes else 0.0
    reads, writes = float(sums.has_reads), float(sums.has_writes)
    return reads * own_read + factor * own_write, reads * legs_read + writes * legs_write


def _mixture(sums: Sums) -> ConservingLayout | None:
    """Parity whose writes and extra reads tell the same share of small writes."""
    if sums.write < LEAST_KB:
        return None
    amplification, extra = sums.legs_write / sums.write, (sums.legs_read - sums.read) / sums.write
    for parity in (1, 2):
        geometry = Geometry(sums.legs, parity)
        if not geometry.is_possible:
            continue
        share = small_share(amplification, extra, geometry)
        agrees = share.disagreement <= MOST_APART and share.by_writes <= 1 + MOST_APART
        if share.smaller >= LEAST_SHARE and agrees:
            return ConservingLayout(f"raid{4 + parity}", None, sums, is_mixture=True)
    return None
