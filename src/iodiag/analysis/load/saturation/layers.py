"""The layers above and below a busy device: which of them wait, and which are full."""

from __future__ import annotations

import numpy as np

from iodiag.analysis.array.equal_rates import disks_of
from iodiag.analysis.array.side_by_side import report_keys
from iodiag.analysis.array.topmost_devices import ADDED
from iodiag.analysis.load.queueing import Level, level_of, level_samples
from iodiag.analysis.load.saturation.judged_levels import Disk
from iodiag.analysis.load.saturation.reference_latency import usual_of_class_ms
from iodiag.analysis.measure import weighted
from iodiag.analysis.view.device_traits import is_spread, spindles
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.rule import Limits
from iodiag.table.table import Table


def spread_disks(view: View, series: DeviceSeries, level: Level) -> tuple[Disk, ...]:
    """The disks that a spread device stands on, with their mean util in the reports of a level."""
    if not is_spread(series):
        return ()
    reports = report_keys(level.rows)
    found = []
    for leaf in series.leaves:
        own = view.series(leaf.name)
        if own is not None:
            same = own.samples[np.isin(report_keys(own.samples), reports)]
            util = weighted.mean(same, "util_pct")
            if not np.isnan(util):
                found.append(Disk(own.name, util / 100, same))
    return tuple(found)


def slower_above(view: View, series: DeviceSeries, level: Level) -> list[tuple[str, Table, float]]:
    """What stands on this disk alone and takes ADDED times as long meanwhile: it waits for the disk.

    Each with its samples and latency; what moves most of the disk's load comes first.
    """
    found = []
    for device in view.topology.above(series.name):
        own = view.series(device.name)
        if own is not None and len(own.leaves) == 1:
            rows = own.samples[np.isin(report_keys(own.samples), report_keys(level.rows))]
            latency = weighted.mean(rows, "latency_ms")
            if latency > ADDED * level.latency_ms and weighted.mean(rows, "depth") > level.depth / 2:
                found.append((own.name, rows, latency))
    return sorted(found, key=lambda one: -weighted.or_zero(weighted.mean(one[1], "kb_per_s")))


_CARRIED = 0.9
"""Share of the bytes of a layer that disks move which may carry it: the rest is in flight or elsewhere."""


def reaches_disks(view: View, series: DeviceSeries, level: Level, limits: Limits) -> bool:
    """Whether one of the disks below, where any is seen, is full and waits as well.

    Where nothing says which are below, all disks are that move as much together: what is counted before it is
    merged fills no device.
    """
    reports = report_keys(level.rows)
    seen = False
    below = [own for leaf in series.leaves if (own := view.series(leaf.name)) is not None]
    if is_unplaced(series):
        below = list(disks_of(view))
        moved = (own.samples[np.isin(report_keys(own.samples), reports)] for own in below)
        moved_kb = sum(weighted.or_zero(weighted.mean(rows, "kb_per_s")) for rows in moved)
        if not moved_kb >= _CARRIED * weighted.mean(level.rows, "kb_per_s"):
            return True
    for own in below:
        if own.name == series.name:
            continue
        rows = level_samples(own)
        rows = rows[np.isin(report_keys(rows), reports)]
        # what is hardly used in them, or counted in ticks, is not full
        seen |= bool(np.isin(report_keys(own.samples), reports).any())
        if len(rows):
            there = level_of(rows)
            is_slow = there.latency_ms > limits.calm_inflation * usual_of_class_ms(own, there.whole)
            # what serves one at a time makes each wait for those in line, however quick it is
            is_in_line = spindles(own, writes=False) == 1 and there.busy_depth >= limits.inflation
            if (is_slow or is_in_line) and there.util >= limits.busy_util / 100:
                return True
    return not seen


def is_unplaced(series: DeviceSeries) -> bool:
    """Whether nothing says which disks a layer stands on."""
    return series.is_stacked and not (series.device and series.device.members)
