"""Devices that run at equal rates: the legs of an array do, whether or not anything names them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from iodiag.analysis.array.side_by_side import are_beside, side_by_side
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.clusters import MOST_DEVICES, clusters
from iodiag.analysis.view.device_names import is_partition_of_any, is_physical, whole_disk_names
from iodiag.analysis.view.view import IDLE_KB_PER_S, DeviceSeries, View
from iodiag.table.result_cache import cached
from iodiag.table.table import Table

EQUAL = 0.1
"""Disks whose bytes, either way, have no larger gap between them are taken for legs of one set."""

ALIKE, ALIKE_RATE = 1.5, 2.0
"""Times by which latencies, and rates, of devices that suffer alike differ at the most."""


def equal_rates(devices: Sequence[DeviceSeries], gap: float = EQUAL) -> list[tuple[DeviceSeries, ...]]:
    """Groups of two and more devices with samples in the same reports that move equally much both ways."""
    streams: dict[tuple[int, ...], list[DeviceSeries]] = {}
    for series in devices:
        if len(series.loaded) or weighted.mean(series.samples, "kb_per_s") >= IDLE_KB_PER_S:
            numbers = series.samples["stream"]
            # one after the other: each begins where the number changes
            firsts = np.append(numbers[:1], numbers[1:][numbers[1:] != numbers[:-1]])
            streams.setdefault(tuple(np.unique(firsts).tolist()), []).append(series)
    groups = []
    for together in streams.values():
        busiest = sorted(together, key=lambda s: -weighted.or_zero(weighted.mean(s.samples, "kb_per_s")))
        busiest = without_parts(busiest[:MOST_DEVICES])
        rates = np.array(
            [[weighted.mean(s.samples, f"{d}_kb_per_s") for d in ("read", "write")] for s in busiest]
        )
        for places in clusters(rates.reshape(-1, 2), gap):
            group = tuple(busiest[place] for place in sorted(places))
            if len(side_by_side(group)[0]):
                groups.append(group)
    return groups


@cached
def disks_of(view: View) -> Sequence[DeviceSeries]:
    """The disks of a host with samples, without partitions and devices on top of others."""
    found = [s for s in view.devices if is_physical(s.name) and not s.is_stacked and len(s.samples)]
    return without_parts(found)[:MOST_DEVICES]


def without_parts(devices: Sequence[DeviceSeries]) -> list[DeviceSeries]:
    """Devices without the partitions of disks that are there themselves."""
    names = {series.name for series in devices}
    return [series for series in devices if not is_partition_of_any(series.name, names)]


@cached
def disk_by_bytes(view: View, upper: DeviceSeries) -> tuple[DeviceSeries, Table, Table] | None:
    """The only disk that moves the bytes of a device above it, with the samples of both in which it does.

    Where nothing states what a mapped device stands on, that pairs the two; of others the disk is the stated
    one. None where no disk does, or several.
    """
    names = {leaf.name for leaf in view.topology.leaves(upper.name)} - {upper.name}
    disks = [series for name in sorted(names) if (series := view.series(name))] if names else disks_of(view)
    found = []
    for disk in disks if len(disks) < MOST_DEVICES else ():
        above, below = side_by_side([upper, disk])
        kb, other = above.floats("kb_per_s"), below.floats("kb_per_s")
        is_same = (np.fmin(kb, other) >= _LEAST_KB) & (np.abs(kb - other) <= _SAME_BYTES * np.fmax(kb, other))
        if is_same.any():
            found.append((disk, above[is_same], below[is_same]))
    return found[0] if len(found) == 1 else None


_SAME_BYTES, _LEAST_KB = 0.01, 1024.0
"""How far kB/s of two layers are apart by requests at the ends of a sample; and kB/s that are no chance."""


def beyond_whole(view: View, whole: DeviceSeries) -> tuple[float, float] | None:
    """What the partitions of a disk move, and it, in kB/s, where they move far more: none of it can be.

    In the reports that have all of them: a host of another run may have other partitions.
    """
    own_rows, *rows = side_by_side([whole, *_parts_by_whole(view).get(whole.name, [])])
    moved = sum(weighted.or_zero(weighted.mean(part, "kb_per_s")) for part in rows)
    own = weighted.mean(own_rows, "kb_per_s")
    return (moved, own) if moved > _FAR_BEYOND * own + _ROUNDED_KB else None


@cached
def _parts_by_whole(view: View) -> Mapping[str, list[DeviceSeries]]:
    """The partitions of each disk, found in one pass: to look for those of one takes as long."""
    found: dict[str, list[DeviceSeries]] = {}
    for series in view.devices:
        for whole in whole_disk_names(series.name):
            found.setdefault(whole, []).append(series)
    return found


_FAR_BEYOND, _ROUNDED_KB = 1.5, 64.0
"""Kernels before 2.6.25 count requests of partitions when they come; rates in MB/s are rounded to 5 kB/s."""


def are_alike(one: DeviceSeries, other: DeviceSeries) -> bool:
    """Whether both serve requests at like rates and take a like time for them, or none serves any.

    One that is busy and serves none is not like one that is idle, nor are those that no report has both of.
    """
    (rate, latency, busy), (other_rate, other_latency, other_busy) = _pace(one), _pace(other)
    is_like = (rate == other_rate == 0 and busy == other_busy) or (
        0 < rate <= ALIKE_RATE * other_rate <= ALIKE_RATE**2 * rate
        and 0 < latency <= ALIKE * other_latency <= ALIKE**2 * latency
    )
    return is_like and are_beside(one, other)


@cached
def _pace(series: DeviceSeries) -> tuple[float, float, bool]:
    """Its mean requests/s and latency, and whether it is mostly busy; each is compared with many others."""
    rows = series.loaded if len(series.loaded) else series.samples
    is_busy = weighted.mean(rows, "util") >= 0.5
    return weighted.mean(rows, "ios_per_s"), weighted.mean(rows, "latency_ms"), is_busy
