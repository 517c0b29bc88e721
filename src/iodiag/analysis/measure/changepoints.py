"""When a device's load or speed changed, and which of the two it was.

A series is cut where that explains it best: optimal partitioning with the sum of absolute distances from
each segment's median as its cost and a price for every cut (B. Jackson et al. 2005; R. Killick et al. 2012).
It runs on the logarithms of the rate, the latency and the size of requests together, each in units of its
own noise.
Requests in flight follow from rate and latency (Little's law), and are judged, not searched.

A cut counts where a median moves by a fifth, and by three times what samples scatter about theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite
from iodiag.analysis.measure.load_or_speed import LIKE_MIX, lead, shift
from iodiag.analysis.measure.quantiles import median
from iodiag.model.comparison import Shift
from iodiag.model.finding import Evidence
from iodiag.table.result_cache import cached
from iodiag.table.table import Floats, Table

if TYPE_CHECKING:
    from iodiag.analysis.view.view import DeviceSeries

QUANTITIES: Mapping[str, str] = {
    "rate": "ios_per_s",
    "depth": "depth",
    "latency": "latency_ms",
    "size": "size_kb",
}
"""What is judged at a cut, and the column that has it."""

SEARCHED = ("rate", "latency", "size")

MOST = 300
"""Samples that are searched; a longer series is searched by medians of neighbours, and each cut refined."""

LEAST_SAMPLES, LEAST_SECONDS = 5, 15.0
"""The shortest segment: a level, not a spike."""

PRICE = 3.0
"""What a cut costs, in deviations per searched series and unit of ln n."""

LEVELS = 24
"""Quantiles of a series among which a segment's median is sought."""

LEAST_NOISE = 0.02
"""Relative noise that every series has at the least: that of printed digits."""

MOVED, SCATTER = math.log(1.2), 3.0
"""What makes a cut count: a fifth, and so many median distances of the samples from their medians."""


@dataclass(frozen=True)
class Changepoint:
    """A moment at which load or speed changed; `at` is the place of the first sample after it.

    `before` and `after` are medians over the segments on either side, `moved` has the sign of each
    quantity's change (0: none that counts), `kind` what they say together.
    """

    at: int
    before: Mapping[str, float] = field(repr=False)
    after: Mapping[str, float] = field(repr=False)
    moved: Mapping[str, int]
    kind: Shift


@cached
def changepoints(series: DeviceSeries) -> tuple[Changepoint, ...]:
    """The moments at which a device's load or speed changed, in order; of its loaded samples."""
    return _changepoints(series.loaded)


def onset(series: DeviceSeries, first: int, within: int = 2) -> Iterator[Evidence]:
    """What changed when a finding began: at its sample `first`, or within some samples of it."""
    rows = series.loaded
    place = int(np.searchsorted(rows["sample"], first))
    found = [change for change in changepoints(series) if abs(change.at - place) <= within]
    if not found:
        return
    change = min(found, key=lambda one: abs(one.at - place))
    time = rows["time"][change.at]
    values: Values = {"device": series.name, "when": "" if time is None else f" at {time:%H:%M:%S}"}
    parts = []
    for name, text in _TEXTS.items():
        if change.moved[name] or (name == "rate" and change.kind != "workload"):
            values |= {f"{name}_before": change.before[name], f"{name}_after": change.after[name]}
            parts.append(text.format(f"{{{name}_before}}", f"{{{name}_after}}"))
    text = "it began{when}: " + lead(change.kind, change.moved["rate"]) + ": " + ", ".join(parts)
    if change.kind == "slower" and change.moved["depth"] > 0:
        text += "; it became slower, or it was full and got more requests at once"
    around = rows[max(0, change.at - LEAST_SAMPLES) : change.at + LEAST_SAMPLES]
    yield cite(around, text, values, weighs="context")


_TEXTS = {
    "rate": "{} requests/s before and {} after",
    "depth": "{} and {} in flight",
    "latency": "{} and {} ms a request",
    "size": "{} and {} kB a request",
}


def _changepoints(rows: Table) -> tuple[Changepoint, ...]:
    logs = {name: _logs(rows.floats(column)) for name, column in QUANTITIES.items()}
    known = [logs[name] for name in SEARCHED if np.isfinite(logs[name]).all()]
    length = median(weighted.lengths(rows)) if len(rows) else 1.0
    least = max(LEAST_SAMPLES, math.ceil(LEAST_SECONDS / max(length, 1e-3)))
    if len(rows) < 2 * least or len(known) < 2:
        return ()
    cuts = partition(np.array(known), least)
    reads = rows.floats("reads_per_s") / rows.floats("ios_per_s")
    while cuts:
        edges = [0, *cuts, len(rows)]
        found = [_changepoint(logs, reads, *edges[place : place + 3]) for place in range(len(cuts))]
        kept = [change.at for change in found if change.kind != "unchanged"]
        if len(kept) == len(cuts):
            return tuple(found)
        # what does not count is taken out one by one, for it changes its neighbours' medians
        weakest = min(
            (change for change in found if change.kind == "unchanged"),
            key=lambda change: abs(math.log(change.after["rate"] / change.before["rate"])),
        )
        cuts = [cut for cut in cuts if cut != weakest.at]
    return ()


def _logs(values: Floats) -> Floats:
    return np.log(values, where=values > 0, out=np.full(len(values), np.nan))


def _changepoint(logs: Mapping[str, Floats], reads: Floats, first: int, at: int, last: int) -> Changepoint:
    before, after, moved = {}, {}, {}
    for name, data in logs.items():
        earlier, later = data[first:at], data[at:last]
        medians = median(earlier), median(later)
        before[name], after[name] = math.exp(medians[0]), math.exp(medians[1])
        rise = medians[1] - medians[0]
        scatter = median(np.abs(np.concatenate([earlier - medians[0], later - medians[1]])))
        counts = abs(rise) >= max(MOVED, SCATTER * scatter)
        moved[name] = int(np.sign(rise)) if counts else 0
    mix = abs(float(np.median(reads[at:last])) - float(np.median(reads[first:at])))
    is_workload = bool(moved["size"]) or mix > LIKE_MIX
    kind = shift(moved["rate"], moved["depth"], moved["latency"], is_workload)
    return Changepoint(at, before, after, moved, kind)


def partition(series: Floats, least: int) -> list[int]:
    """Where to cut series of equal length (a row each), segments being at least `least` samples long.

    Exact up to MOST samples. The time grows with the square of their number.
    """
    count = series.shape[1]
    group = math.ceil(count / MOST)
    coarse = series if group == 1 else _medians(series, group)
    noise = np.median(np.abs(np.diff(coarse, axis=1)), axis=1) * 1.4826 / math.sqrt(2)
    scaled = coarse / np.maximum(noise, LEAST_NOISE)[:, None]
    cuts = _optimal(scaled, max(1, math.ceil(least / group)))
    return [_refined(series, cut * group, group) for cut in cuts] if group > 1 else cuts


def _medians(series: Floats, group: int) -> Floats:
    edges = np.arange(0, series.shape[1], group)
    parts = [np.median(series[:, edge : edge + group], axis=1) for edge in edges]
    return np.array(parts).T


def _optimal(series: Floats, least: int) -> list[int]:
    kinds, count = series.shape
    # the distances of all samples from a few levels, summed up: a segment's cost is the least difference
    levels = np.quantile(series, np.linspace(0, 1, LEVELS), axis=1).T
    distances = np.abs(series[:, :, None] - levels[:, None, :])
    sums = np.concatenate([np.zeros((kinds, 1, LEVELS)), np.cumsum(distances, axis=1)], axis=1)
    price = PRICE * kinds * math.log(count)
    best, come_from = np.full(count + 1, np.inf), np.zeros(count + 1, dtype=np.int64)
    best[0] = -price
    for end in range(least, count + 1):
        begins = np.arange(0, end - least + 1)
        costs = (sums[:, end, None, :] - sums[:, begins, :]).min(axis=2).sum(axis=0)
        totals = best[begins] + costs + price
        come_from[end] = int(np.argmin(totals))
        best[end] = totals[come_from[end]]
    cuts, end = [], int(come_from[count])
    while end > 0:
        cuts.append(end)
        end = int(come_from[end])
    return cuts[::-1]


def _refined(series: Floats, at: int, group: int) -> int:
    """The place near a cut of grouped samples that divides the samples themselves best."""
    first, last = max(0, at - 3 * group), min(series.shape[1], at + 3 * group)
    earlier = np.median(series[:, first : max(at - group, first + 1)], axis=1)[:, None]
    later = np.median(series[:, min(at + group, last - 1) : last], axis=1)[:, None]
    window = series[:, first:last]
    gain = (np.abs(window - later) - np.abs(window - earlier)).sum(axis=0)
    return first + 1 + int(np.argmax(np.cumsum(gain)))


def split(data: Floats, least: int) -> int:
    """The one place that splits a series best by least squares, `least` samples to each side at least."""
    before = np.arange(least, len(data) - least + 1, dtype=np.float64)
    left = np.cumsum(data)[least - 1 : len(data) - least]
    right = data.sum() - left
    return least + int(np.argmax(left**2 / before + right**2 / (len(data) - before)))
