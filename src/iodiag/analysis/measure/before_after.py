"""One quantity before and after a change: the ratio, how well it is known, and whether it counts.

Sums are compared, never means of means: a rate is events over time, a latency time over requests, a
size bytes over requests. What counts as a change is at least LEAST_CHANGE_PCT and leaves "no
change" out of its 95 % interval; short of that the smallest change that would have shown is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.bootstrap import LEAST_SAMPLES, Estimate, combined_error, estimate
from iodiag.model import columns as registry
from iodiag.model.comparison import Change, ChangeVerdict
from iodiag.model.finding import Confidence
from iodiag.model.units import HALF_DIGIT
from iodiag.table.table import Floats, Table

BEFORE, AFTER = 0, 1

LEAST_CHANGE_PCT = 15.0
"""A smaller change is none to act on (judgement): the same load on another day moves as much."""

LEAST_POINTS = 2.0
"""Shares of time must move by two points as well (judgement): twice hardly anything is hardly anything."""

POWER = 0.84
"""In standard errors: what makes a change show in four cases of five instead of one in two."""

CHANCE = 0.05
"""What an interval of 95 % leaves to chance."""

SURE_WIDTH, VAGUE_WIDTH = 2.0, 10.0
"""An interval that spans more than these factors is not known surely, or hardly at all (judgement)."""

SURE_SAMPLES = 20
"""Samples on each side from which on confidence can be high (judgement)."""

_RATIOS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "read_request_size_kb": (("read_kb_per_s",), ("reads_per_s",)),
    "write_request_size_kb": (("write_kb_per_s",), ("writes_per_s",)),
    "request_size_kb": (("kb_per_s",), ("ios_per_s",)),
    "read_merges_pct": (("read_merges_per_s",), ("read_merges_per_s", "reads_per_s")),
    "write_merges_pct": (("write_merges_per_s",), ("write_merges_per_s", "writes_per_s")),
}
"""Quantities that are a ratio of the sums of other columns."""

ROUNDING = 0.005
"""Means of printed numbers that differ by less are one number."""

_NEGLIGIBLE = {"requests/s": 0.1, "flushes/s": 0.1, "kB/s": 1.0, "%": 1.0, "requests": 0.05, "tasks": 0.1}
"""By unit: below this on both sides a quantity is not worth a word (judgement)."""


_MOST_LOG = 50.0  # e^50 is beyond any ratio, and no overflow


class Sums(NamedTuple):
    """What a quantity is the ratio of, sample by sample: Σ above / Σ below, times `scale`.

    Only samples that have it are in it: `below` is above zero.
    """

    above: Floats
    below: Floats
    scale: float = 1.0

    @property
    def each(self) -> Floats:
        """The quantity in each sample."""
        return np.asarray(self.scale * self.above / self.below)

    @property
    def value(self) -> float:
        """The quantity over all samples; NaN where it is in none."""
        total = float(self.below.sum())
        return self.scale * float(self.above.sum()) / total if total > 0 else math.nan


def sums(rows: Table, quantity: str, family: str = "disk") -> Sums:
    """The sums behind a quantity, over the samples that know it."""
    length = weighted.lengths(rows)
    if family == "disk" and quantity in _RATIOS:
        top, bottom = _RATIOS[quantity]
        above = length * sum((rows.floats(column) for column in top), start=0.0)
        below = length * sum((rows.floats(column) for column in bottom), start=0.0)
        scale = 100.0 if quantity.endswith("_pct") else 1.0
    else:
        entry = registry.find(family, quantity)
        weight = entry.weight if entry is not None and entry.kind == "mean" else None
        below = length * rows.floats(weight) if weight else length
        above, scale = below * rows.floats(quantity), 1.0
    # a sample without requests has no latency, and needs none
    known = np.isfinite(above) & (below > 0)
    return Sums(above[known], below[known], scale)


def is_over_time(quantity: str, family: str = "disk") -> bool:
    """Whether a quantity is a mean over time, so that idle samples lower it."""
    entry = registry.find(family, quantity)
    return quantity not in _RATIOS and (entry is None or entry.kind in ("rate", "gauge", "share"))


def unit_of(quantity: str, family: str = "disk") -> str:
    """The unit of a quantity, as the registry has it."""
    entry = registry.find(family, quantity)
    return entry.unit if entry is not None else ""


def change(quantity: str, before: Table, after: Table, family: str = "disk") -> Change | None:
    """A quantity over some samples of each side; None where one side does not know it."""
    sides = sums(before, quantity, family), sums(after, quantity, family)
    if math.isnan(sides[BEFORE].value) or math.isnan(sides[AFTER].value):
        return None
    is_whole = min(len(before), len(after)) == 1
    return judged_change(quantity, *sides, unit=unit_of(quantity, family), is_whole=is_whole)


def judged_change(quantity: str, before: Sums, after: Sums, unit: str = "", is_whole: bool = True) -> Change:
    """The verdict on a quantity that both sides know.

    `is_whole` says that a single sample is all there is on its side, and not one of many.
    """
    estimates = (estimate(before.above, before.below, BEFORE), estimate(after.above, after.below, AFTER))
    found = from_estimates(
        quantity, before.value, after.value, estimates, samples=(len(before.each), len(after.each))
    )
    largest = max(before.value, after.value)
    if is_negligible(largest, unit):
        return replace(found, verdict="negligible")
    if min(before.value, after.value) <= 0:
        is_sure = min(found.samples) >= LEAST_SAMPLES
        if not (is_sure or are_apart(before.each, after.each, is_whole)):
            return found
        verdict: ChangeVerdict = "appeared" if before.value <= 0 else "ceased"
        return replace(found, verdict=verdict, confidence="medium" if is_sure else "low")
    is_large = counts(before.value, after.value)
    if unit == "%":
        is_large = is_large and abs(after.value - before.value) >= LEAST_POINTS
    if math.isnan(found.low):
        is_told = is_large and are_apart(before.each, after.each, is_whole)
        return replace(found, verdict="indicated" if is_told else "unclear")
    if found.verdict == "changed" and not is_large:
        return replace(found, verdict="minor")
    return found


def from_estimates(
    quantity: str, before: float, after: float, estimates: Iterable[Estimate], samples: tuple[int, int]
) -> Change:
    """A change whose error is made of the independent errors of `estimates`."""
    ratio = after / before if before > 0 and after > 0 else math.nan
    error, factor = combined_error(estimates)
    if math.isnan(ratio) or math.isnan(error):
        return Change(quantity, before, after, "unclear", "low", samples, ratio=ratio)
    reach = min(factor * error, _MOST_LOG)
    low, high = ratio * math.exp(-reach), ratio * math.exp(reach)
    least = math.log(1 + LEAST_CHANGE_PCT / 100)
    detectable = 100 * math.expm1(min(max(reach, least) + POWER * error, _MOST_LOG))
    is_same = low <= 1 <= high or abs(ratio - 1) < ROUNDING
    verdict: ChangeVerdict = "unchanged" if is_same else "changed" if counts(before, after) else "minor"
    return Change(
        quantity=quantity,
        before=before,
        after=after,
        verdict=verdict,
        confidence=_confidence(verdict, samples, low, high, detectable),
        samples=samples,
        ratio=ratio,
        low=low,
        high=high,
        detectable_pct=detectable,
    )


def is_negligible(largest: float, unit: str) -> bool:
    """Whether a quantity is not worth a word, by the larger of its values."""
    return largest <= 0 or largest < _NEGLIGIBLE.get(unit, 0.0)


def counts(before: float, after: float) -> bool:
    """Whether a change counts even when both values were rounded towards each other."""
    less, more = min(before, after) + HALF_DIGIT, max(before, after) - HALF_DIGIT
    share = LEAST_CHANGE_PCT / 100
    return more >= less * (1 + share) if after >= before else less <= more * (1 - share)


def are_apart(before: Floats, after: Floats, is_whole: bool) -> bool:
    """Whether no value of one side is among those of the other, and hardly by chance.

    By chance, all orders of the samples being alike, it has the probability 2 / C(m + n, n). A single
    sample cannot do better; it is taken where it is the whole of its side.
    """
    if not (before.max() < after.min() or before.min() > after.max()):
        return False
    is_lone = min(len(before), len(after)) == 1
    return (is_lone and is_whole) or 2 / math.comb(len(before) + len(after), len(after)) <= CHANCE


def _confidence(
    verdict: ChangeVerdict, samples: tuple[int, int], low: float, high: float, detectable: float
) -> Confidence:
    """How sure a verdict with an interval is: by the number of samples and the distance from its limit."""
    is_long = min(samples) >= SURE_SAMPLES
    share = LEAST_CHANGE_PCT / 100
    if verdict == "changed":
        is_far = low >= 1 + share or high <= 1 - share
        if high > VAGUE_WIDTH * low:
            return "low"
        return "high" if is_long and is_far and high <= SURE_WIDTH * low else "medium"
    within = 1 - share < low and high < 1 + share
    if within and is_long:
        return "high"
    return "medium" if within or detectable <= 2 * LEAST_CHANGE_PCT else "low"


def with_idle_samples(found: Change, before: float, after: float) -> Change:
    """The change with its values over the whole time, idle samples between the loaded ones included.

    Work that comes in fewer and larger portions is no more work: where the values over the whole
    time differ by less than what counts, or the other way round, the verdict is `with_idle_samples`.
    """
    if not found.is_change or not (before > 0 and after > 0):
        return found
    is_like = math.isclose(before, found.before, rel_tol=0.01) and math.isclose(
        after, found.after, rel_tol=0.01
    )
    if is_like:
        return found
    is_contrary = (after - before) * (found.after - found.before) < 0
    told = replace(found, overall=(before, after))
    if is_contrary or not counts(before, after):
        return replace(told, verdict="bunched", confidence="medium" if found.confidence == "high" else "low")
    return told
