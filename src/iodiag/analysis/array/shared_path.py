"""Disks side by side whose sum is at one value while their shares change: a path that they share is full."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from iodiag.analysis.array.equal_rates import MOST_DEVICES, is_physical, without_parts
from iodiag.analysis.array.side_by_side import Keys, at_reports, once, report_keys
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.table.table import Floats, Table, stacked

_SHARE = 0.1
"""Share of the sum from which a disk takes part in it."""

_EXCEEDED = 0.05
_STREAMING_KB = 64.0
_FULL_UTIL, _SHALLOW = 0.95, 4.0
_LEAST_STREAMS, _UNEQUAL = 4, 0.1


@dataclass(frozen=True)
class Ceiling:
    """Disks that share a ceiling, with their samples there.

    `kb_per_s` is the sum. Of the samples in which at least two disks took part (`shared`), `flat` had it.
    `share_low` and `share_high` are how much of it `widest` had, `depth_low` and `depth_high` how many
    requests were in flight in sum, each as the 10th and 90th percentile.
    """

    disks: tuple[DeviceSeries, ...] = field(repr=False)
    rows: Table = field(repr=False)
    first_rows: Table = field(repr=False)
    kb_per_s: float
    flat: int
    shared: int
    widest: str
    share_low: float
    share_high: float
    depth_low: float
    depth_high: float


def disks_of(view: View) -> list[DeviceSeries]:
    """The disks of a host with samples, without partitions and devices on top of others."""
    found = [s for s in view.devices if is_physical(s.name) and not s.is_stacked and len(s.samples)]
    return without_parts(found)[:MOST_DEVICES]


def ceiling(
    disks: list[DeviceSeries], within: float, vary: float, deeper: float, most: float
) -> Ceiling | None:
    """The sum that disks keep to (± `within`) in the share `most` of the samples that they share.

    One disk's share must vary by `vary` of the sum, and the requests in flight by a factor of `deeper`: a
    client that spreads a constant load or keeps a constant number of requests in flight is no ceiling.
    """
    parts = [once(series) for series in disks]
    reports = np.unique(np.concatenate([report_keys(part) for part in parts]))
    kb, depth = (_matrix(parts, reports, column) for column in ("kb_per_s", "depth"))
    total = kb.sum(axis=0)
    takes_part = kb >= _SHARE * np.maximum(total, 1e-9)
    is_shared = (takes_part.sum(axis=0) >= 2) & (total > 0)
    if is_shared.sum() < 5:
        return None
    level = _level(total[is_shared], within)
    is_flat = is_shared & (np.abs(total - level) <= within * level)
    is_above = total > (1 + within) * level
    if is_flat.sum() < most * is_shared.sum() or is_above.sum() > _EXCEEDED * len(reports):
        return None
    members = np.flatnonzero(takes_part[:, is_flat].any(axis=1))
    shares = kb[members][:, is_flat] / total[is_flat]
    low, high = np.quantile(shares, 0.1, axis=1), np.quantile(shares, 0.9, axis=1)
    depths = np.quantile(depth[:, is_flat].sum(axis=0), [0.1, 0.9])
    widest = int(np.argmax(high - low))
    if (high - low)[widest] < vary or not depths[1] >= deeper * depths[0] > 0:
        return None
    chosen = [part[np.isin(report_keys(part), reports[is_flat])] for part in (parts[n] for n in members)]
    return Ceiling(
        disks=tuple(disks[n] for n in members),
        rows=stacked(chosen),
        first_rows=chosen[0],
        kb_per_s=level,
        flat=int(is_flat.sum()),
        shared=int(is_shared.sum()),
        widest=disks[members[widest]].name,
        share_low=float(low[widest]),
        share_high=float(high[widest]),
        depth_low=float(depths[0]),
        depth_high=float(depths[1]),
    )


def _matrix(parts: list[Table], reports: Keys, column: str) -> Floats:
    return np.array([np.nan_to_num(at_reports(reports, part, column)) for part in parts])


def _level(totals: Floats, within: float) -> float:
    """The value that most sums are near to: the middle of the fullest window of that width."""
    rising = np.sort(totals)
    ends = np.searchsorted(rising, rising * (1 + 2 * within), side="right")
    start = int(np.argmax(ends - np.arange(len(rising))))
    return float(np.median(rising[start : ends[start]]))


def full_streams(disks: list[DeviceSeries]) -> list[DeviceSeries]:
    """Disks that stream one way, always busy with little queued, at unequal rates; none if few."""
    found = [series for series in disks if _streams(series)]
    rates = [float(np.nanmean(series.samples.floats("kb_per_s"))) for series in found]
    if len(found) < _LEAST_STREAMS or max(rates) > 2 * min(rates):
        return []
    return found if max(rates) > (1 + _UNEQUAL) * min(rates) else []


def _streams(series: DeviceSeries) -> bool:
    samples = series.samples
    ios = samples.floats("ios_per_s")
    if not (ios > 0).all():
        return False
    one_way = np.maximum(samples.floats("reads_per_s"), samples.floats("writes_per_s")) >= 0.95 * ios
    large = samples.floats("kb_per_s") >= _STREAMING_KB * ios
    full = (samples.floats("util") >= _FULL_UTIL) & (samples.floats("depth") < _SHALLOW)
    return bool((one_way & large & full).all())
