"""What the host did as a whole, in small tables: CPU, tasks, memory, swap, and the sum over its disks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from iodiag.analysis.array.equal_rates import without_parts
from iodiag.analysis.array.layer_latency import lacks_disks, may_be_disk, may_be_stacked
from iodiag.analysis.array.side_by_side import Keys, first_row_per_report, report_keys
from iodiag.analysis.measure import quantiles, weighted
from iodiag.analysis.view.view import REPORTS, DeviceSeries, View
from iodiag.model.report import HostTable
from iodiag.table.table import Floats

_PARTS = (
    ("cpu", "cpu", ("user_pct", "nice_pct", "system_pct", "iowait_pct", "steal_pct", "idle_pct")),
    ("tasks", "queue", ("run_queue", "blocked", "load_1m", "load_5m", "load_15m", "tasks")),
    ("memory", "memory", ("free_kb", "available_kb", "buffers_kb", "cached_kb", "dirty_kb", "commit_pct")),
    ("swap", "swap", ("used_kb", "used_pct")),
    ("swap", "swapping", ("swap_in_kb_per_s", "swap_out_kb_per_s", "pages_in_per_s", "pages_out_per_s")),
)
_SUMS = ("ios_per_s", "reads_per_s", "writes_per_s", "read_kb_per_s", "write_kb_per_s", "discard_kb_per_s")
_NOT_COUNTED = ("zram", "ram", "loop", "sr", "fd", "dev1-", "dev2-", "dev7-", "dev11-")
"""Memory, floppies, files and CD-ROMs, by name and by major number (Linux, devices.txt)."""


def host_tables(view: View) -> tuple[HostTable, ...]:
    """The tables of a host that its capture has values for."""
    leaves = _leaves(view)
    return (*_gauges(view, leaves), *_totals(view, leaves))


def _gauges(view: View, leaves: Sequence[DeviceSeries]) -> Iterator[HostTable]:
    found: dict[str, HostTable] = {}
    # what sar -b counts of all disks together, where they cannot be added up
    alone = () if leaves else (("totals", "io", _SUMS),)
    for name, family, columns in (*_PARTS, *alone):
        rows = view.cpu_all if family == "cpu" else view.samples(family)
        if rows is None:
            continue
        extents = {column: extent for column in columns if (extent := weighted.extent(rows, column))}
        if extents:
            known = dict(found[name].summary) if name in found else {}
            is_average = family in view.average_only
            found[name] = HostTable(name, view.host, len(rows), known | extents, is_average=is_average)
    yield from found.values()


def _leaves(view: View) -> list[DeviceSeries]:
    """The devices of the capture that stand on no other of them, each byte counted once.

    Layers that nothing places are left out beside disks; several without a disk may stand on each other.
    Nor is there a sum where the disks below a layer are not in the capture.
    """
    listed = [series for series in view.devices if not series.name.startswith(_NOT_COUNTED)]
    whole = without_parts(listed)
    names = {series.name for series in whole}
    bottom = [s for s in whole if names.isdisjoint(d.name for d in view.topology.below(s.name))]
    disks = [series for series in bottom if not may_be_stacked(series)]
    if lacks_disks(view):
        return []
    disks = disks or [series for series in bottom if may_be_disk(view, series)]
    return disks or (bottom if len(bottom) == 1 else [])


def _totals(view: View, leaves: Sequence[DeviceSeries]) -> Iterator[HostTable]:
    """Sums over the disks in each report; busy shares of several are no sum, and a mean hides a full disk."""
    if not leaves:
        return
    keys = _whole([report_keys(first_row_per_report(series)) for series in leaves])
    extents = {}
    whole = _summed(leaves, "ios_per_s", keys)
    for column in _SUMS:
        data = _summed(leaves, column, keys)
        is_part = column in ("reads_per_s", "writes_per_s")
        if is_part and weighted.may_exceed(data, whole):
            continue
        if (extent := quantiles.extent(data)) is not None:
            extents[column] = extent
    if extents:
        names = tuple(series.name for series in leaves)
        is_average = "disk" in view.average_only
        yield HostTable("totals", view.host, len(keys), extents, devices=names, is_average=is_average)


def _whole(shown: Sequence[Keys]) -> Keys:
    """The reports that show any disk, without a last one that is cut: all before it show what it lacks."""
    keys, disks = np.unique(np.concatenate(shown), return_counts=True)
    _, first, reports = np.unique(keys // REPORTS, return_index=True, return_counts=True)
    last = first + reports - 1
    is_full = disks == len(shown)
    is_cut = ~is_full[last] & (np.add.reduceat(is_full, first) == reports - 1) & (reports > 1)
    return np.delete(keys, last[is_cut])


def _summed(leaves: Sequence[DeviceSeries], column: str, keys: Keys) -> Floats:
    """The sum of a column over devices in each report; NaN where none has it.

    Unknown where one at work does not: zeros of idle ones beside it are no sum.
    """
    total, is_known = np.zeros(len(keys)), np.zeros(len(keys), dtype=np.bool_)
    for series in leaves:
        rows = first_row_per_report(series)
        rows = rows[np.isin(report_keys(rows), keys)]
        data, places = rows.floats(column), np.searchsorted(keys, report_keys(rows))
        known = ~np.isnan(data)
        is_at_work = (rows.floats("ios_per_s") > 0) | (rows.floats("kb_per_s") > 0)
        total[places] += np.where(known, data, np.where(is_at_work, np.nan, 0.0))
        is_known[places] |= known
    return np.where(is_known, total, np.nan)
