"""The windows in which an array pays for small writes (`measure/parity_costs.py`), and how much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np

from iodiag.analysis.array.members import Array, ArrayTraffic, array_traffic
from iodiag.analysis.measure.parity_costs import Geometry, Share, small_share
from iodiag.analysis.measure.windows import windows
from iodiag.analysis.view.request_columns import least_writes
from iodiag.table.table import Mask, Table


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
    enough = rows.floats("write_kb_per_s") >= traffic.least_kb
    enough |= least_writes(rows) >= traffic.least_writes
    paged = np.maximum(rows.floats("paged_write_kb_per_s"), 1e-9)
    read = rows.floats("read_kb_per_s")
    excess = rows.floats("excess_read_kb_per_s")
    full, small = geometry.full_stripe, geometry.small_writes
    by_writes = (rows.floats("legs_write_kb_per_s") / paged - full) / (small - full)
    by_reads = excess / paged / geometry.small_reads
    is_small = (np.minimum(by_writes, by_reads) >= traffic.least_share) & (
        excess >= traffic.least_excess * read
    )
    return np.asarray(enough & is_small)
