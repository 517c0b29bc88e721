"""How well the mean of a series of samples is known, when neighbouring samples are alike.

Blocks of neighbouring samples are drawn instead of single ones (Künsch 1989, "The jackknife and the
bootstrap for general stationary observations"), so that what makes a sample like the one before it
stays in the draw. A block is n^(1/3) samples long and at least three, longer where the series
itself shows a longer memory (Carlstein 1986: (3n/2)^(1/3)·(2ρ/(1-ρ²))^(2/3) for a series whose
neighbours correlate by ρ).

The spread of the draws alone is too narrow for short series: on two like series of 8 to 20
independent samples, one plain percentile interval in four to eight leaves out "no change". So it is
corrected for the samples that only few blocks reach and for the number of blocks, and taken with
Student's t; then less than one in twenty does (simulated, log-normal samples), one in fifteen where
neighbours correlate by 0.4, and one in ten where they do by 0.7.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from iodiag.table.table import Floats

DRAWS = 2000
SEED = 20070907
LEAST_SAMPLES = 8
"""Below, a range is all that can be given."""

MOST_GROUPS = 1000
"""Longer series are added up in so many groups of neighbours; that changes no sum."""

LEAST_BLOCK = 3


class Estimate(NamedTuple):
    """The ratio of two sums over samples, how well it is known, and from how many blocks.

    `error` is the standard error of the estimate's logarithm; NaN where it cannot be told.
    """

    value: float
    error: float
    blocks: int


def estimate(above: Floats, below: Floats, side: int) -> Estimate:
    """Σ above / Σ below over the samples of one side, with its error by moving blocks.

    Two sides of one comparison take different draws, whatever their samples: `side` picks them.
    """
    total = float(below.sum())
    value = float(above.sum()) / total if total > 0 else math.nan
    if len(above) < LEAST_SAMPLES or not value > 0:
        return Estimate(value, math.nan, 0)
    above, below = _grouped(above), _grouped(below)
    count = len(above)
    length = _block(above - value * below)
    blocks = max(2, math.ceil(count / length))
    starts = np.random.default_rng((SEED, side)).integers(0, count - length + 1, (DRAWS, blocks))
    drawn = _block_sums(above, length)[starts].sum(axis=1)
    weights = _block_sums(below, length)[starts].sum(axis=1)
    ratios = drawn[weights > 0] / weights[weights > 0]
    reached = math.sqrt(count / (count - length + 1))
    error = float(ratios.std()) / value * reached * math.sqrt(blocks / (blocks - 1))
    return Estimate(value, error, blocks)


def _grouped(values: Floats) -> Floats:
    size = math.ceil(len(values) / MOST_GROUPS)
    return values if size == 1 else np.add.reduceat(values, np.arange(0, len(values), size))


def _block_sums(values: Floats, length: int) -> Floats:
    running = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(running[length:] - running[:-length])


def _block(deviations: Floats) -> int:
    """The length of a block, from how much neighbouring deviations correlate; at most a third."""
    count = len(deviations)
    centred = deviations - deviations.mean()
    spread = float(centred @ centred)
    memory = float(centred[1:] @ centred[:-1]) / spread if spread > 0 else 0.0
    # a short series shows too little of its memory (Kendall 1954)
    memory = min(max(memory + (1 + 4 * memory) / count, 0.0), 0.97)
    length = max(
        LEAST_BLOCK,
        round(count ** (1 / 3)),
        math.ceil((1.5 * count) ** (1 / 3) * (2 * memory / (1 - memory**2)) ** (2 / 3)),
    )
    return int(min(length, max(LEAST_BLOCK, count // 3)))


_FREEDOM = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 60, 120, math.inf)
_STUDENT = (4.303, 3.182, 2.776, 2.571, 2.447, 2.306, 2.228, 2.131, 2.086, 2.042, 2.000, 1.980, 1.960)


def student(freedom: float) -> float:
    """The factor of a two-sided 95 % interval, by degrees of freedom (Student's t)."""
    inverse = [1 / entry for entry in _FREEDOM]
    return float(np.interp(1 / max(freedom, 2.0), inverse[::-1], _STUDENT[::-1]))


def log_estimate(values: Floats, weights: Floats, side: int) -> Estimate:
    """The weighted geometric mean of positive values, with its error by moving blocks."""
    logs = np.log(values)
    # only sums above zero have a relative error; a constant takes them there and cancels out
    shift = 1.0 - float(logs.min()) if len(logs) else 0.0
    shifted = estimate((logs + shift) * weights, weights, side)
    return Estimate(math.exp(shifted.value - shift), shifted.error * shifted.value, shifted.blocks)


def combined_error(parts: Iterable[Estimate]) -> tuple[float, float]:
    """Standard error of a sum or difference of logarithms, and the factor of its 95 % interval.

    The parts are independent. The degrees of freedom are Welch's (1947).
    """
    known = [(part.error**2, max(part.blocks - 1, 1)) for part in parts]
    variance = sum(part for part, _ in known)
    if not variance > 0:
        return (0.0 if variance == 0 else math.nan), student(math.inf)
    freedom = variance**2 / sum(part**2 / free for part, free in known)
    return math.sqrt(variance), student(freedom)
