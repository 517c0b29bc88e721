"""Which of many columns stepped in some samples and nowhere else: steps that coincide, chance kept in check.

The step of a column at some samples is the median over them less the median over their neighbours. The same
is measured at every other place of the series where these samples could lie: what a column does there by
itself is the scale of its step here, so that a drift, a daily curve or a restless column has none. Two
bounds hold against chance:

- a step is that of a normal scatter with a probability of CHANCE for all columns together (Student's t with
  as many degrees of freedom as places that do not overlap; Bonferroni), and is the column's largest anywhere.
- hardly any column passes the same bound at another place: on a host where something is always up, that two
  things fall together says little. Of columns that rest at one value and burst this count alone tells, as
  they have no scatter.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from iodiag.table.table import Floats, Mask, Places

CHANCE = 0.01
"""Probability that any column passes by chance, were the scatter normal (convention)."""

FALSE = 0.02
"""Columns that pass at another place, on average, per column that passes here (convention)."""

LEAST_SAMPLES, LEAST_PLACES = 12, 4
"""Samples of a series, and places without overlap, below which a scatter is not known (judgement)."""

MOST_PLACES, MOST_EPISODES = 200, 6
"""Places that are tried, and stretches of samples that are looked at, for the time that they take."""

AT_ONCE = 200
"""Columns whose steps are held in memory together."""

FEWEST_BESIDE, MOST_BESIDE, BESIDE_OF = 3, 8, 20
"""Samples on either side that a stretch is held against: one in BESIDE_OF of all, within these (judgement).
Of a stretch more than twice as long both edges are looked at, so that places are left to compare with."""

STANDS_OUT = 3.0
"""How many times the largest step at any other place (judgement): what bursts by itself rarely does."""

MOST_TOUCHED = 0.25
"""Share of a moved stretch that may lie in the samples asked about: medians do not see it (judgement)."""

MOSTLY, EDGE = 0.8, 3
"""Share of the samples, and samples in which an edge lies, give or take one (judgement)."""

MOST_SIZE = 1000.0
"""What stands for a step of a column that is still at all other places."""


class Step(NamedTuple):
    """A column's level in the samples, beside them, and the step in scatters of the other places."""

    column: int
    inside: float
    beside: float
    size: float


class _Stretch(NamedTuple):
    """Neighbouring samples, as offsets from its first: of the stretch itself and of those beside it."""

    first: int
    inside: Places
    beside: Places


def coincident_steps(columns: Floats, hit: Mask) -> list[Step]:
    """The columns (a row each) that stepped in the samples `hit`, the largest step first.

    None where the samples are most of the series, or too few places are left to compare with.
    """
    stretches = _stretches(hit)
    rows = np.flatnonzero(np.isfinite(columns).all(axis=1) & (np.ptp(columns, axis=1) > 0))
    if len(hit) < LEAST_SAMPLES or not stretches or 2 * hit.sum() > len(hit) or not len(rows):
        return []
    footprint = int(np.median([len(one.inside) + len(one.beside) / 2 for one in stretches]))
    shifts = np.arange(1, len(hit), math.ceil(len(hit) / MOST_PLACES))
    is_free = np.array([_is_free(one, shifts, hit) for one in stretches])
    is_place = is_free.sum(axis=0) >= max(min(len(stretches), 2), len(stretches) / 2)
    shifts, is_free = shifts[is_place], is_free[:, is_place]
    places = math.floor(len(shifts) * math.ceil(len(hit) / MOST_PLACES) / footprint)
    if places < LEAST_PLACES:
        return []
    data = columns[rows]
    inside, beside = _levels(data, stretches, np.zeros(1, dtype=np.intp), np.ones((len(stretches), 1), bool))
    here = _common(inside - beside)[:, 0]
    portions = np.array_split(data, math.ceil(len(data) / AT_ONCE))
    there = np.concatenate([_common(np.subtract(*_levels(p, stretches, shifts, is_free))) for p in portions])
    least = _least_size(CHANCE / len(rows), places - 1)
    sizes = _size(here, there)
    highest = np.abs(there).max(axis=1)
    is_step = (here != 0) & (np.abs(sizes) >= least) & (np.abs(here) >= STANDS_OUT * highest)
    is_still = np.median(np.abs(data - np.median(data, axis=1)[:, None]), axis=1) == 0
    for kind, unseen in (
        (is_still, 1),
        (~is_still, 0),
    ):  # of still columns no scatter says how rare a step is
        moments = unseen + sum(_has_moment(row, least, shifts, footprint) for row in there[kind & ~is_step])
        if moments / places > FALSE * (is_step & kind).sum():
            is_bound = kind & is_step & is_still & _share_edges(data, here, hit)
            is_rare = moments * _edges_by_chance(hit) <= FALSE * is_bound.sum()
            is_step &= ~kind | (is_bound & is_rare)
    return sorted(
        (
            Step(
                int(rows[at]),
                float(np.median(inside[:, at])),
                float(np.median(beside[:, at])),
                float(sizes[at]),
            )
            for at in np.flatnonzero(is_step)
        ),
        key=lambda step: -abs(step.size),
    )


def _share_edges(data: Floats, steps: Floats, hit: Mask) -> Mask:
    """Which columns are away from rest in the samples, and nowhere else, give or take one at each edge."""
    is_away = np.abs(data - np.median(data, axis=1)[:, None]) > np.abs(steps)[:, None] / 2
    beside = np.convolve(hit, np.ones(3), "same")
    inner = beside == 3 if (beside == 3).any() else hit
    return np.asarray(~is_away[:, beside == 0].any(axis=1) & (is_away[:, inner].mean(axis=1) >= MOSTLY))


def _edges_by_chance(hit: Mask) -> float:
    """How often a burst begins and ends with the samples, if it may begin anywhere and be of any length."""
    runs = int((np.diff(hit, prepend=False) & hit).sum())
    return EDGE / len(hit) * min(1.0, EDGE * runs / float(hit.sum()))


def _stretches(hit: Mask) -> list[_Stretch]:
    """The runs of samples, each with its neighbours that are in none; the longest, where they are many."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], hit, [False]]).astype(np.int8)))
    runs = sorted(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True), key=lambda r: r[0] - r[1])
    reach = min(max(len(hit) // BESIDE_OF, FEWEST_BESIDE), MOST_BESIDE)
    found = [_stretch(*edge, reach, hit) for run in runs[:MOST_EPISODES] for edge in _edges(*run, reach)]
    return [one for one in found if len(one.beside) >= FEWEST_BESIDE]


def _edges(first: int, end: int, reach: int) -> list[tuple[int, int]]:
    """A run of samples, or both edges of a long one."""
    return [(first, end)] if end - first <= 2 * reach else [(first, first + reach), (end - reach, end)]


def _stretch(first: int, end: int, reach: int, hit: Mask) -> _Stretch:
    around = np.concatenate([np.arange(first - reach, first), np.arange(end, end + reach)])
    around = around[(around >= 0) & (around < len(hit))]
    return _Stretch(first, np.arange(end - first), around[~hit[around]] - first)


def _is_free(one: _Stretch, shifts: Places, hit: Mask) -> Mask:
    """Where a moved stretch is not cut by the end of the series, nor lies in the samples asked about."""
    offsets = np.concatenate([one.inside, one.beside])
    starts = (one.first + shifts) % len(hit)
    is_whole = (starts + offsets.min() >= 0) & (starts + offsets.max() < len(hit))
    touched = hit[np.clip(starts[:, None] + offsets, 0, len(hit) - 1)]
    is_own = touched[:, : len(one.inside)].any(axis=1) | (touched.mean(axis=1) > MOST_TOUCHED)
    return np.asarray(is_whole & ~is_own)


def _levels(data: Floats, stretches: list[_Stretch], shifts: Places, is_free: Mask) -> tuple[Floats, Floats]:
    """Levels inside and beside each stretch, by stretch, column and shift; NaN where it is not free."""
    found = np.full((2, len(stretches), len(data), len(shifts)), np.nan)
    for number, one in enumerate(stretches):
        starts = (one.first + shifts[is_free[number]]) % data.shape[1]
        for side, offsets in enumerate((one.inside, one.beside)):
            found[side, number][:, is_free[number]] = np.median(data[:, starts[:, None] + offsets], axis=2)
    return found[0], found[1]


def _common(steps: Floats) -> Floats:
    """The step that at least half of the stretches made, by column and shift: the median nearer to zero.

    Of two edges it is the lesser: a column that rises at the one must fall back at the other.
    """
    ordered = np.sort(steps, axis=0)
    known = np.isfinite(steps).sum(axis=0)[None]
    low, high = (np.take_along_axis(ordered, at // 2, axis=0)[0] for at in (known - 1, known))
    nearer = np.where(np.abs(low) < np.abs(high), low, high)
    return np.asarray(np.where(low * high > 0, nearer, 0.0))


def _size(step: Floats, others: Floats) -> Floats:
    """Steps (one per column) in standard errors of a prediction from the steps at other places."""
    scatter = others.std(axis=1, ddof=1)
    distance = step - others.mean(axis=1)
    sizes = np.copysign(np.full(len(step), MOST_SIZE), distance)
    np.divide(distance, scatter, out=sizes, where=scatter > 0)
    return np.asarray(sizes)


def _has_moment(steps: Floats, least: float, shifts: Places, footprint: int) -> bool:
    """Whether a column would pass at one of the other places."""
    peak = int(np.argmax(np.abs(steps)))
    rest = steps[np.abs(shifts - shifts[peak]) >= footprint]
    if len(rest) < 2 or abs(steps[peak]) < STANDS_OUT * np.abs(rest).max() or steps[peak] == 0:
        return False
    return bool(abs(_size(steps[peak : peak + 1], rest[None, :])[0]) >= least)


def _least_size(chance: float, freedom: int) -> float:
    """Student's t that is exceeded on either side with a probability of `chance`.

    With t = sqrt(freedom) tan(a) the tail is the integral of cos(a)^(freedom - 1), which is summed up.
    """
    angles = np.linspace(0, math.pi / 2, 20_001)
    density = np.cos(angles) ** (freedom - 1)
    tail = np.cumsum(density[::-1])[::-1] / density.sum()
    return float(math.sqrt(freedom) * np.tan(angles[int(np.argmax(tail <= chance))]))
