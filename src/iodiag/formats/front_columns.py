"""The columns that readers build tables of: those in front of every table, and numbers by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from iodiag.table.table import Bools, Column, Floats, Ints
from iodiag.table.texts import Texts
from iodiag.table.times import Times


def front_columns(
    source: str,
    lines: Ints,
    host: str | Texts,
    time: Times,
    interval: Floats,
    segment: Ints,
    report: Ints,
    since_boot: Bools | None = None,
) -> dict[str, Column]:
    """The columns that every table begins with. `interval` is in seconds; `since_boot` None: no row is."""
    rows = len(lines)
    return {
        "source": Texts.same(source, rows),
        "line": lines,
        "host": Texts.same(host, rows) if isinstance(host, str) else host,
        "time": time,
        "interval_s": interval,
        "segment": segment,
        "report": report,
        "since_boot": np.zeros(rows, dtype=np.bool_) if since_boot is None else since_boot,
    }


def columns_of(rows: Sequence[Mapping[str, float]]) -> dict[str, Column]:
    """Numbers by row and name as columns; NaN where a row lacks one."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([row.get(name, np.nan) for row in rows], dtype=np.float64) for name in names}
