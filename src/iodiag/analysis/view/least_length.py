"""How long a report of unknown length lasted at the least, as the digits of its rates tell."""

from __future__ import annotations

import numpy as np

from iodiag.analysis.view.view import REPORTS
from iodiag.model.units import HALF_DIGIT
from iodiag.table.table import Floats, Table

_RATES = ("ios_per_s", *(f"{way}{name}_per_s" for way in ("read", "write") for name in ("s", "_merges")))
_LENGTHS: Floats = np.arange(99, 5001) / 100
"""Seconds, which the kernel counts in hundredths: in those beyond 50 any two decimals are a rate's."""

_MOST_REPORTS = 1000
"""Of a long capture the first reports are looked at, for the time that it takes; others count as a second."""


def with_least_length(disk: Table) -> Table:
    """The disk table, as printed, with `least_s` where lengths are unknown: the least that each may have had.

    A rate is a whole number of requests divided by the length: one that no whole number makes with two
    decimals refutes it. The least length that no rate of the report refutes is a bound, whatever chance adds.
    """
    is_unknown = np.isnan(disk.floats("interval_s"))
    if not is_unknown.any() or (disk.has("half_digit") and (disk.floats("half_digit") > HALF_DIGIT).any()):
        return disk
    keys = disk["stream"] * REPORTS + disk["report"]
    rates = np.array([disk.floats(name) for name in _RATES if name in disk]).reshape(-1, len(disk))
    least = np.ones(len(disk))
    for key in np.unique(keys[is_unknown])[:_MOST_REPORTS]:
        is_own = keys == key
        least[is_own] = max(1.0, _least_s(np.unique(rates[:, is_own])))
    return disk.with_columns(least_s=np.where(is_unknown, least, np.nan))


def _least_s(rates: Floats) -> float:
    lengths = _LENGTHS
    for rate in rates[rates > 0].tolist():
        counts = np.rint(rate * lengths)
        lengths = lengths[(counts > 0) & (np.abs(counts / lengths - rate) <= HALF_DIGIT + _SLACK)]
    return float(lengths[0]) if len(lengths) else float(_LENGTHS[-1])


_SLACK = 1e-6
"""What binary fractions are off."""
