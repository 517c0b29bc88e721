"""How long the samples of pt-stalk's vmstat and iostat are, where only the files beside them tell.

pt-stalk runs `vmstat`, `iostat` and `mpstat` of one trigger with the same interval, and their `-overall`
files with another one. vmstat's numbers tell none, mpstat's clocks and iostat's rates do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from iodiag.model.capture import Capture
from iodiag.table.table import Table
from iodiag.table.tables import Tables
from iodiag.table.times import Times

_FILE = re.compile(
    r"(?P<trigger>(?:.*[/:])?\d{4}(?:_\d\d){5})-(?P<tool>vmstat|iostat|mpstat)(?P<kind>(?:-overall)?)(?:\..{1,5})?"
)
_SAME = 0.05


def with_shared_intervals(captures: Iterable[Capture]) -> list[Capture]:
    """The captures; samples of unknown length have that of the files that pt-stalk wrote beside them."""
    captures = list(captures)
    known: dict[tuple[str, str], list[float]] = {}
    open_files: list[tuple[int, tuple[str, str]]] = []
    for number, capture in enumerate(captures):
        file = _FILE.fullmatch(next(iter(capture.sources), ""))
        if not file:
            continue
        seconds = np.concatenate([table["interval_s"] for _, table in capture.tables.each()] or [np.empty(0)])
        if np.isnan(seconds).all():
            open_files.append((number, (file["trigger"], file["kind"])))
        elif file["tool"] != "vmstat":
            known.setdefault((file["trigger"], file["kind"]), []).append(float(np.nanmedian(seconds)))
    for number, run in open_files:
        told = known.get(run)
        if told and max(told) <= (1 + _SAME) * min(told):
            tables = {
                family: _with_interval(table, round(min(told), 2))
                for family, table in captures[number].tables.each()
            }
            captures[number] = replace(captures[number], tables=Tables(tables))
    return captures


def _with_interval(table: Table, length: float) -> Table:
    """The samples below the first report with this length, and the times that follow from its time."""
    report, times = table["report"], table["time"]
    stamps = times.stamps[:1] + np.round(report * length * 1e9).astype("timedelta64[ns]")
    return table.with_columns(interval_s=np.where(report > 0, length, np.nan), time=Times(stamps, times.zone))
