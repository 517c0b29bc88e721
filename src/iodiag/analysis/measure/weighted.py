"""The only aggregator: rates by time, latencies by their requests; averages are never averaged.

Which weight a column takes is said in the registry (`kind`, `weight`). Samples of unknown
length count alike: within one capture they are the same length.
"""

from __future__ import annotations

import math

import numpy as np

from iodiag.analysis.measure import quantiles
from iodiag.model import columns as registry
from iodiag.model.units import HALF_DIGIT
from iodiag.table.result_cache import cached
from iodiag.table.table import Floats, Table

LEAST_REQUESTS = 50
"""Requests in a sample before its mean latency is used: the mean of 50 exponential times is good to 14 %."""


@cached
def lengths(rows: Table) -> Floats:
    """Length of each sample for weighting: seconds where all are known, else 1 each."""
    seconds = rows.floats("interval_s")
    is_unknown = np.isnan(seconds)
    if not is_unknown.any():
        return seconds
    if is_unknown.all():
        return np.ones(len(seconds))
    return np.where(is_unknown, quantiles.median(seconds), seconds)


def or_zero(number: float) -> float:
    """A number as it is, 0 where it is unknown; for one number np.nan_to_num takes far longer."""
    return 0.0 if math.isnan(number) else number


def seconds_or_one(rows: Table) -> Floats:
    """Length of each sample in seconds; where it is unknown the least that its rates allow, or 1."""
    seconds = rows.floats("interval_s")
    is_unknown = np.isnan(seconds)
    if not is_unknown.any():
        return seconds
    return np.where(is_unknown, np.fmax(rows.floats("least_s"), 1.0), seconds)


def half_digit(rows: Table) -> Floats | float:
    """What a printed value of each sample stands for, plus or minus: half of its last digit."""
    return rows.floats("half_digit") if "half_digit" in rows else HALF_DIGIT


_DERIVED = {"latency_ms": "ios_per_s", "size_kb": "ios_per_s"}
"""What weighs the means of requests that views add to the disk table's."""


@cached
def mean(rows: Table, column: str, family: str = "disk") -> float:
    """The mean of a column over all samples, weighted as the registry says; NaN without data."""
    entry = registry.find(family, column)
    by = (entry.weight or "") if entry is not None and entry.kind == "mean" else _DERIVED.get(column, "")
    data, (weights, total) = rows.floats(column), _weights(rows, by)
    if family in registry.OF_THE_MOMENT and (entry is None or entry.kind != "rate"):
        weights, total = np.ones(len(data)), float(len(data))
    above = float((data * weights).sum())
    if math.isnan(total + above):
        known = np.flatnonzero(~np.isnan(data))
        data, weights = data[known], weights[known]
        weights = np.where(np.isnan(weights), 0.0, weights)
        total, above = float(weights.sum()), float((data * weights).sum())
    return above / total if total > 0 else float("nan")


@cached
def _weights(rows: Table, column: str) -> tuple[Floats, float]:
    """What samples weigh, lengths times the column of their weights ("" for none), and the sum of it."""
    weights = lengths(rows) * rows.floats(column) if column else lengths(rows)
    return weights, float(weights.sum())


def is_timed(rows: Table, way: str) -> bool:
    """Whether nearly all requests of a direction have a latency of their own.

    Where only the mean of both is printed, it is that of one direction in samples without the other: these
    say nothing of those with both.
    """
    done, timed = rows.floats(f"{way}s_per_s"), np.isfinite(rows.floats(f"{way}_await_ms"))
    return bool(timed.any() and np.nansum(done * timed) >= _NEARLY_ALL * np.nansum(done))


_NEARLY_ALL = 0.9
"""Share of the requests whose mean is that of them all (judgement)."""


@cached
def extent(rows: Table, column: str) -> dict[str, float] | None:
    """Median, p95 and maximum of a column's samples, as they are; None where none is known."""
    return quantiles.extent(without_idle(rows, column))


def may_exceed(part: Floats, whole: Floats) -> bool:
    """Whether a part that is not known may be larger than all known ones: its whole is."""
    return bool((whole[np.isnan(part)] > np.nanmax(part, initial=0.0)).any())


def without_idle(rows: Table, column: str) -> Floats:
    """A column of the disk table, NaN for the 0 that is printed as the mean of no request."""
    values = rows.floats(column)
    entry = registry.find("disk", column)
    if entry is None or entry.weight is None or entry.weight not in rows:
        return values
    is_none = (values == 0) & (rows.floats(entry.weight) == 0)
    return np.where(is_none, np.nan, values) if is_none.any() else values


def ratio(rows: Table, above: str, below: str) -> float:
    """Ratio of two rates over the whole window: the ratio of their sums, never a mean of ratios."""
    top, bottom = mean(rows, above), mean(rows, below)
    return top / bottom if bottom > 0 else float("nan")


def size_kb(rows: Table, way: str) -> float:
    """Mean size of a direction's requests: kB over requests, or as printed where their digits allow that.

    A rate of a few hundredths has one digit, and the printed size has more.
    """
    kb, rate, printed = (mean(rows, way + name) for name in ("_kb_per_s", "s_per_s", "_request_size_kb"))
    if not (rate > 0 and kb > 0):
        return ratio(rows, f"{way}_kb_per_s", f"{way}s_per_s")
    hidden = HALF_DIGIT * (1 / rate + 1 / kb) * kb / rate + HALF_DIGIT
    # all are printed with two decimals, so that the larger number has more digits
    return printed if rate < printed and abs(printed - kb / rate) <= hidden else kb / rate


def total(rows: Table, column: str) -> float:
    """How many events (or kB) a rate makes over the window; NaN where no sample length is known."""
    seconds, data = rows.floats("interval_s"), rows.floats(column)
    known = ~np.isnan(data) & ~np.isnan(seconds)
    return float((data[known] * seconds[known]).sum()) if known.any() else float("nan")


def variation(rows: Table, column: str) -> float:
    """Coefficient of variation of a column over the samples; NaN with fewer than two."""
    data = rows.floats(column)
    data = data[~np.isnan(data)]
    if len(data) < 2 or data.mean() == 0:
        return float("nan")
    return float(data.std(ddof=1) / abs(data.mean()))
