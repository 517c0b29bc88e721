"""Rates of tables of a host that no host has: a counter of vmstat or sar ran backwards in the sample."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from iodiag.table.table import Floats, Mask, Table

_TABLES = ("paging", "swapping", "io")
_MOST_RATE = 1e9
"""kB, pages, sectors or requests per second: 1 TB/s is above what all lanes of a server's CPUs carry."""
_WRAP, _LONGEST_S, _NEAR = 2.0**32, 60, 1e-3
"""What a counter of 32 bits wraps by; the longest interval of a watch; and by how much less it ran back."""


def without_wrapped(tables: Mapping[str, Table]) -> tuple[dict[str, Table], dict[str, Table]]:
    """The tables with NaN for each rate that wrapped, and the rows as printed that have one, by table.

    A difference of two counts below zero is printed as 2^32 less that, over the interval: beyond any host, or
    2^32 over whole seconds.
    """
    kept, printed = dict(tables), {}
    for family in _TABLES:
        table = tables.get(family)
        names = [name for name in table.names if name.endswith("_per_s")] if table is not None else []
        if table is None or not any(is_wrapped(table.floats(name)).any() for name in names):
            continue
        rates = {name: table.floats(name) for name in names}
        is_odd = np.any([is_wrapped(rate) for rate in rates.values()], axis=0)
        printed[family] = table[is_odd]
        kept[family] = table.with_columns(
            **{name: np.where(is_wrapped(rate), np.nan, rate) for name, rate in rates.items()}
        )
    return kept, printed


def is_wrapped(rates: Floats) -> Mask:
    """Which rates a counter that ran backwards makes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = _WRAP / rates
        whole = np.rint(seconds)
        is_wrap = (whole >= 1) & (whole <= _LONGEST_S) & (np.abs(seconds - whole) <= _NEAR * whole)
    return np.asarray((rates > _MOST_RATE) | is_wrap)
