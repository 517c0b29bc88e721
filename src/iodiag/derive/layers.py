"""Requests on one layer of a stack beside those on the layer below, report by report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from iodiag.derive import weighted
from iodiag.derive.joins import arrays
from iodiag.derive.view import DeviceSeries, View

_KEYS = ["stream", "report"]
_SUMMED = (
    "ios_per_s",
    "read_kb_per_s",
    "write_kb_per_s",
    "read_merges_per_s",
    "write_merges_per_s",
)


@dataclass(frozen=True)
class Layers:
    """Devices and those they stand on; `rows` has a row per report, with sums as `upper_…` and `lower_…`.

    `cited` are the samples of both layers.
    """

    upper: tuple[str, ...]
    lower: tuple[str, ...]
    rows: pd.DataFrame = field(repr=False)
    cited: pd.DataFrame = field(repr=False)

    def samples(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The samples of both layers in some of the `rows`."""
        return self.cited.merge(rows[_KEYS], on=_KEYS)


def layers(view: View) -> Iterator[Layers]:
    """Each array above its legs, and all that stands on a set of disks above those disks."""
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
    sums = {}
    for name, devices in (("upper", upper), ("lower", lower)):
        samples = pd.concat([series.frame.drop_duplicates(_KEYS) for series in devices], ignore_index=True)
        for column in _SUMMED:
            samples[column] = weighted.values(samples, column)
        grouped = samples.groupby(_KEYS)
        total = grouped[list(_SUMMED)].sum(min_count=1).add_prefix(f"{name}_")
        total["count"] = grouped.size()
        sums[name] = (total, samples)
    below = sums["lower"][0]
    below = below[(below["count"] == len(lower)).to_numpy()].drop(columns="count")
    rows = sums["upper"][0].drop(columns="count").join(below, how="inner").reset_index()
    lengths = sums["lower"][1].drop_duplicates(_KEYS)[[*_KEYS, "interval_s", "time", "source", "line"]]
    rows = rows.merge(lengths, on=_KEYS)
    rows["ratio"] = rows["lower_ios_per_s"] / np.maximum(rows["upper_ios_per_s"], 1e-9)
    cited = pd.concat([sums["upper"][1], sums["lower"][1]], ignore_index=True)
    return Layers(tuple(s.name for s in upper), tuple(s.name for s in lower), rows, cited)
