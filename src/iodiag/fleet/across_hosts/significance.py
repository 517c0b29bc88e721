"""How likely something is by chance: exact tails, and the control of false discoveries over many tests."""

from __future__ import annotations

import math

import numpy as np

from iodiag.table.table import Floats


def at_least(count: int, drawn: int, marked: int, total: int) -> float:
    """P(X ≥ count) when `drawn` of `total` things are drawn and `marked` of the total are marked.

    The hypergeometric tail, summed in logarithms, so that 10⁻³⁰⁰ is still a number.
    """
    first = max(count, drawn + marked - total, 0)
    if count <= max(0, drawn + marked - total):
        return 1.0
    last = min(drawn, marked)
    if first > last:
        return 0.0
    terms = [
        _ln_choose(marked, hits) + _ln_choose(total - marked, drawn - hits) - _ln_choose(total, drawn)
        for hits in range(first, last + 1)
    ]
    largest = max(terms)
    return min(1.0, math.exp(largest) * math.fsum(math.exp(term - largest) for term in terms))


def _ln_choose(of: int, chosen: int) -> float:
    return math.lgamma(of + 1) - math.lgamma(chosen + 1) - math.lgamma(of - chosen + 1)


def beyond(z: float, freedom: int | None = None) -> float:
    """The two-sided chance of standing `z` or more from the middle: Student's t, or the normal law.

    `freedom` are the degrees of freedom where the spread was estimated, None where it is given.
    Formula for whole degrees: Abramowitz and Stegun 26.7.3 and 26.7.4.
    """
    if freedom is None:
        return math.erfc(abs(z) / math.sqrt(2))
    angle = math.atan(abs(z) / math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    term = total = 1.0 if freedom % 2 == 0 else cosine
    for step in range(2 if freedom % 2 == 0 else 3, freedom, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    if freedom % 2 == 0:
        inside = sine * total
    else:
        inside = 2 / math.pi * (angle + (sine * total if freedom > 1 else 0.0))
    return max(0.0, 1.0 - inside)


def false_discovery(p_values: Floats) -> Floats:
    """The q-value of each p-value: the smallest rate of false discoveries at which it counts as one.

    Benjamini and Hochberg 1995, step-up; NaN where there was no test.
    """
    q_values = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    count = len(order)
    scaled = p_values[order] * count / np.arange(1, count + 1)
    q_values[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q_values
