"""Disks side by side that share a full path: their sum keeps to one value, or company makes each slower."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from iodiag.analysis.array.side_by_side import (
    Keys,
    at_reports,
    first_row_per_report,
    report_keys,
    side_by_side,
)
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.quantiles import low_and_high, median
from iodiag.analysis.measure.windows import DENSE
from iodiag.analysis.states.service_times import relative_error
from iodiag.analysis.view.view import DeviceSeries
from iodiag.table.table import Floats, Mask, Table, stacked

_SHARE = 0.1
"""Share of the sum from which a disk takes part in it."""

_EXCEEDED = 0.05
_STREAMING_KB = 64.0
_FULL_UTIL, _SHALLOW = 0.95, 4.0
_LEAST_STREAMS, _UNEQUAL = 3, 0.1
_ALONE = 0.05
"""Share of a disk's kB that all others together move while it is as good as alone."""

_LIKE_DEPTH, _LIKE_SIZE = math.log(1.3), math.log(5.0)
"""How far apart (ln) streams may be that move as much: large requests differ in number only."""


@dataclass(frozen=True)
class Ceiling:
    """Disks that share a ceiling, with their samples there.

    `level` is the sum of `column`, kB/s or requests/s, give or take the share `within`. Of the samples in
    which at least two disks took part (`shared`), `flat` had it.
    `share_low` and `share_high` are how much of it `widest` had, `depth_low` and `depth_high` how many
    requests were in flight in sum, as of `low_and_high`.
    """

    disks: tuple[DeviceSeries, ...] = field(repr=False)
    rows: Table = field(repr=False)
    first_rows: Table = field(repr=False)
    column: str
    level: float
    within: float
    flat: int
    shared: int
    widest: str
    share_low: float
    share_high: float
    depth_low: float
    depth_high: float


def ceiling(
    disks: list[DeviceSeries], column: str, within: float, vary: float, deeper: float, most: float
) -> Ceiling | str:
    """The sum of a column that disks keep to (± `within`) in the share `most` of the samples that they share.

    Else why it may be one all the same, "" where it is none.

    Few requests per sample are known less exactly: up to twice `within`, as far as they are counted to 1/√n.
    One disk's share must vary by `vary` of the sum, and the requests in flight by a factor of `deeper`: a
    client that spreads a constant load or keeps a constant number of requests in flight is no ceiling.
    """
    parts = [first_row_per_report(series) for series in disks]
    reports = np.unique(np.concatenate([report_keys(part) for part in parts]))
    rates, depth = (_matrix(parts, reports, name) for name in (column, "depth"))
    total = rates.sum(axis=0)
    takes_part = rates >= _SHARE * np.maximum(total, 1e-9)
    is_shared = (takes_part.sum(axis=0) >= 2) & (total > 0)
    if is_shared.sum() < 5:
        return ""
    counted = _matrix(parts, reports, "ios_per_s").sum(axis=0) * median(weighted.seconds_or_one(parts[0]))
    within = max(within, min(relative_error(median(counted[is_shared])), 2 * within))
    level = _level(total[is_shared], within)
    is_flat = is_shared & (np.abs(total - level) <= within * level)
    # what a sample falls short of a limit, the next one may have in addition
    eased = np.minimum(total, (total + np.concatenate((total[:1], total[:-1]))) / 2)
    is_above = eased > (1 + within) * level
    if is_flat.sum() < most * is_shared.sum() or is_above.sum() > _EXCEEDED * len(reports):
        return ""
    members = np.flatnonzero(takes_part[:, is_flat].any(axis=1))
    shares = rates[members][:, is_flat] / total[is_flat]
    low, high = np.array([low_and_high(share) for share in shares]).T
    depths = low_and_high(depth[:, is_flat].sum(axis=0))
    widest = int(np.argmax(high - low))
    if (high - low)[widest] < vary:
        return ""
    if not depths[1] >= deeper * depths[0] > 0:
        return "the disks add up to one value, but what is in flight stays, too: one disk alone would tell"
    chosen = [part[np.isin(report_keys(part), reports[is_flat])] for part in (parts[n] for n in members)]
    return Ceiling(
        disks=tuple(disks[n] for n in members),
        rows=stacked(chosen),
        first_rows=chosen[0],
        column=column,
        level=level,
        within=within,
        flat=int(is_flat.sum()),
        shared=int(is_shared.sum()),
        widest=disks[members[widest]].name,
        share_low=float(low[widest]),
        share_high=float(high[widest]),
        depth_low=depths[0],
        depth_high=depths[1],
    )


def _matrix(parts: list[Table], reports: Keys, column: str) -> Floats:
    return np.array([np.nan_to_num(at_reports(reports, part, column)) for part in parts])


def _level(totals: Floats, within: float) -> float:
    """The value that most sums are near to: the middle of the fullest window of that width."""
    rising = np.sort(totals)
    ends = np.searchsorted(rising, rising * (1 + 2 * within), side="right")
    start = int(np.argmax(ends - np.arange(len(rising))))
    return float(np.median(rising[start : ends[start]]))


def full_streams(disks: list[DeviceSeries], *, is_spread: bool) -> list[DeviceSeries]:
    """Disks that stream one way, always busy with little queued; none if few.

    Where something above may spread one stream over them (`is_spread`), they must do so at unequal rates.
    """
    found = [series for series in disks if _full_streams(series.samples).all()]
    rates = [float(np.nanmean(series.samples.floats("kb_per_s"))) for series in found]
    is_one_time = len(found) >= _LEAST_STREAMS and len(side_by_side(found)[0]) > 0
    if not is_one_time or max(rates) > 2 * min(rates):
        return []
    return found if not is_spread or max(rates) > (1 + _UNEQUAL) * min(rates) else []


@dataclass(frozen=True)
class SlowedBySharing:
    """A disk, the first of `disks`, that streams alone in some samples (`alone`) and beside others in `own`.

    `rows` are the samples of all of them in those reports.
    """

    disks: tuple[DeviceSeries, ...] = field(repr=False)
    alone: Table = field(repr=False)
    own: Table = field(repr=False)
    rows: Table = field(repr=False)

    def alone_and_shared(self, column: str) -> tuple[float, float]:
        """The mean of a column of the first disk, alone and in company."""
        return weighted.mean(self.alone, column), weighted.mean(self.own, column)

    @property
    def total_kb(self) -> float:
        """kB/s of all disks in company."""
        return float(np.nansum(self.rows.floats("kb_per_s"))) / len(self.own)


def slowed_by_sharing(disks: list[DeviceSeries], slower: float) -> SlowedBySharing | None:
    """A disk that moves `slower` times as much alone as in company, always busy with the same requests.

    With as many requests in flight nothing but what it shares with the others can hold it back. Of several
    such disks the one that loses most; None without any.
    """
    parts = [first_row_per_report(series) for series in disks]
    reports = np.unique(np.concatenate([report_keys(part) for part in parts]))
    kb = _matrix(parts, reports, "kb_per_s")
    streams = np.array([np.isin(reports, report_keys(part)[_full_streams(part)]) for part in parts])
    found = []
    for place, part in enumerate(parts):
        others = kb.sum(axis=0) - kb[place]
        joined = np.delete(streams & (kb >= _SHARE * kb.sum(axis=0)), place, axis=0)
        alone, own = (
            part[np.isin(report_keys(part), reports[streams[place] & chosen])]
            for chosen in (others <= _ALONE * kb[place], joined.any(axis=0))
        )
        if _is_slowed(alone, own, slower):
            shared = np.isin(reports, report_keys(own))
            often = streams[:, shared].mean(axis=1) >= DENSE
            members = [place, *(n for n in np.flatnonzero(often).tolist() if n != place)]
            rows = [parts[n][np.isin(report_keys(parts[n]), reports[shared])] for n in members]
            found.append(SlowedBySharing(tuple(disks[n] for n in members), alone, own, stacked(rows)))
    found = [each for each in found if len(each.disks) > 1]
    return max(found, key=lambda each: np.divide(*each.alone_and_shared("kb_per_s")), default=None)


def _is_slowed(alone: Table, own: Table, slower: float) -> bool:
    """Whether streams with as many requests in flight move so much less in company, in most samples."""
    if not len(alone) or not len(own):
        return False

    def is_like(column: str, most: float) -> bool:
        one, other = (weighted.mean(rows, column) for rows in (alone, own))
        return one > 0 and other > 0 and abs(math.log(one / other)) <= most

    moved, company_moved = (median(rows.floats("kb_per_s")) for rows in (alone, own))
    are_like = is_like("size_kb", _LIKE_SIZE) and is_like("depth", _LIKE_DEPTH)
    return moved >= slower * company_moved and are_like and _reads(alone) == _reads(own)


def _reads(rows: Table) -> bool:
    return weighted.mean(rows, "read_kb_per_s") > weighted.mean(rows, "write_kb_per_s")


def _full_streams(samples: Table) -> Mask:
    """Which samples are of a stream one way, always busy with little queued."""
    ios, kb = samples.floats("ios_per_s"), samples.floats("kb_per_s")
    one_way = np.fmax(samples.floats("read_kb_per_s"), samples.floats("write_kb_per_s")) >= 0.95 * kb
    large = (kb >= _STREAMING_KB * ios) & (ios > 0)
    full = (samples.floats("util") >= _FULL_UTIL) & (samples.floats("depth") < _SHALLOW)
    return np.asarray(one_way & large & full, dtype=np.bool_)
