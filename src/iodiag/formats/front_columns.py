"""The columns that readers build tables of: those in front of every table, and numbers by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from iodiag.table.table import Bools, Column, Floats, Ints
from iodiag.table.texts import Texts
from iodiag.table.times import Times

AnyArray = npt.NDArray[Any]


def front_columns(
    source: str,
    lines: Ints | Sequence[int],
    host: str | Texts,
    time: Times,
    interval: Floats | float = np.nan,
    segment: Ints | int = 0,
    report: Ints | int = 0,
    since_boot: Bools | bool = False,
) -> dict[str, Column]:
    """The columns that every table begins with; a single value is that of all rows. `interval` is in s."""
    rows = len(lines)
    return {
        "source": Texts.same(source, rows),
        "line": np.asarray(lines, dtype=np.int64),
        "host": Texts.same(host, rows) if isinstance(host, str) else host,
        "time": time,
        "interval_s": _each(interval, rows),
        "segment": _each(segment, rows),
        "report": _each(report, rows),
        "since_boot": _each(since_boot, rows),
    }


def _each(value: AnyArray | float, rows: int) -> AnyArray:
    return value if isinstance(value, np.ndarray) else np.full(rows, value)


def columns_of(rows: Sequence[Mapping[str, float]]) -> dict[str, Column]:
    """Numbers by row and name as columns; NaN where a row lacks one."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([row.get(name, np.nan) for row in rows], dtype=np.float64) for name in names}
