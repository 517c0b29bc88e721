"""Whether two columns rise and fall together, whatever their scales."""

from __future__ import annotations

import numpy as np

from iodiag.table.table import Floats


def spearman(first: Floats, second: Floats) -> float:
    """Spearman's coefficient: Pearson's of the ranks, over what both know; NaN without a spread."""
    known = ~np.isnan(first) & ~np.isnan(second)
    one, other = _ranks(first)[known], _ranks(second)[known]
    if not known.any() or np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])


def _ranks(values: Floats) -> Floats:
    """Places from 1 on in rising order; equal values share the mean of theirs, NaN has none."""
    known = ~np.isnan(values)
    _, number, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    ranks = np.full(len(values), np.nan)
    ranks[known] = (np.cumsum(counts) - (counts - 1) / 2)[number]
    return ranks
