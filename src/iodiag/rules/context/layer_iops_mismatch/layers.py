"""Requests on one layer of a stack beside those on the layer below, report by report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from iodiag.analysis.array.equal_rates import disk_by_bytes
from iodiag.analysis.array.members import arrays
from iodiag.analysis.array.side_by_side import once, report_keys, total_of
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.table.table import Table, stacked

_SUMMED = ("ios_per_s", "kb_per_s", "read_merges_per_s", "write_merges_per_s")


@dataclass(frozen=True)
class Layers:
    """Devices and those they stand on; `rows` has a row per report, with sums as `upper_…` and `lower_…`.

    `parts` are the samples of each device of both layers, a report's first each.
    """

    upper: tuple[str, ...]
    lower: tuple[str, ...]
    rows: Table = field(repr=False)
    parts: tuple[Table, ...] = field(repr=False)

    def samples(self, rows: Table) -> Table:
        """The samples of both layers in some of the `rows`."""
        wanted = report_keys(rows)
        return stacked([part[np.isin(report_keys(part), wanted)] for part in self.parts])


def layers(view: View) -> Iterator[Layers]:
    """Each array above its legs, all that stands on a set of disks above those disks, and what moves as much.

    That is a mapped device of which nothing is known and the only disk with its bytes, in their reports.
    """
    seen: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()
    pairs = [
        (view.series(array.name), array.legs) for array in arrays(view) if array.is_seen and array.leg_rows
    ]
    stacks = [([series], list(legs)) for series, legs in pairs if series is not None]
    for upper, lower in (*stacks, *_stacks(view)):
        names = tuple(s.name for s in upper), tuple(s.name for s in lower)
        if names not in seen:
            seen.add(names)
            yield _joined(upper, lower)
    known = {name for names in seen for name in names[0]}
    for top in (
        s
        for s in view.devices
        if s.is_stacked and s.name not in known and not (s.device and s.device.members)
    ):
        if (found := disk_by_bytes(view, top)) is not None:
            disk, _, below = found
            pair = _joined([top], [disk])
            yield replace(pair, rows=pair.rows[np.isin(report_keys(pair.rows), report_keys(below))])


def _stacks(view: View) -> Iterator[tuple[list[DeviceSeries], list[DeviceSeries]]]:
    """Topmost devices with the disks below them; those that share a disk go together."""
    groups: list[tuple[set[str], set[str]]] = []
    for series in view.devices:
        leaves = {leaf.name for leaf in view.topology.leaves(series.name)} - {series.name}
        is_topmost = not any(view.series(parent.name) for parent in view.topology.parents(series.name))
        if not leaves or not is_topmost or not all(view.series(leaf) for leaf in leaves):
            continue
        tops = {series.name}
        for group in [group for group in groups if group[1] & leaves]:
            groups.remove(group)
            tops, leaves = tops | group[0], leaves | group[1]
        groups.append((tops, leaves))
    for tops, leaves in groups:
        order = [series.name for series in view.devices]
        upper = [view.series(name) for name in sorted(tops, key=order.index)]
        lower = [view.series(name) for name in sorted(leaves, key=order.index)]
        yield [s for s in upper if s is not None], [s for s in lower if s is not None]


def _joined(upper: Sequence[DeviceSeries], lower: Sequence[DeviceSeries]) -> Layers:
    """Sums per report; a report needs all of the lower devices, and one of the upper."""
    above, below = [once(series) for series in upper], [once(series) for series in lower]
    rows = below[0]
    for part in below[1:]:
        rows = _shared(rows, [part])
    rows = _shared(rows, above)
    reports = report_keys(rows)
    sums = {
        f"{layer}_{column}": total_of(parts, column, reports)
        for layer, parts in (("upper", above), ("lower", below))
        for column in _SUMMED
    }
    ratio = sums["lower_ios_per_s"] / np.maximum(sums["upper_ios_per_s"], 1e-9)
    names = tuple(s.name for s in upper), tuple(s.name for s in lower)
    return Layers(*names, rows.with_columns(**sums, ratio=ratio), (*above, *below))


def _shared(rows: Table, parts: Sequence[Table]) -> Table:
    """The rows of reports that any of the parts has."""
    keys, others = report_keys(rows), [report_keys(part) for part in parts]
    if any(np.array_equal(keys, other) for other in others):
        return rows
    return rows[np.isin(keys, np.concatenate(others))]
