"""Runs of one text that show other tables of the same moments, as `sar -u` and `sar -d` do, made one run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from iodiag.table.table import Floats, Mask, Table

_MOST_RUNS = 40
"""Runs of which each is held against the others; more are a log of commands, each of moments of its own."""


def with_common_reports(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The tables, of which those without a table in common and with equal clocks have the same reports.

    A run keeps its own reports where a report lacks a clock, or shows several.
    """
    result = dict(tables)
    for source in {name for table in tables.values() for name in table["source"].distinct()}:
        runs: dict[int, set[str]] = {}
        for family, table in result.items():
            for segment in np.unique(table["segment"][_is_of(table, source)]).tolist():
                runs.setdefault(segment, set()).add(family)
        merged: list[int] = []
        for segment in sorted(runs) if 1 < len(runs) <= _MOST_RUNS else ():
            for into in merged:
                if not runs[into] & runs[segment] and _merge(result, source, into, segment):
                    runs[into] |= runs[segment]
                    break
            else:
                merged.append(segment)
    return result


def _merge(tables: dict[str, Table], source: str, into: int, segment: int) -> bool:
    """Give two runs the reports of their clocks if they have one in common; whether they have."""
    places = {
        family: np.flatnonzero(_is_of(table, source) & np.isin(table["segment"], (into, segment)))
        for family, table in tables.items()
    }
    places = {family: own for family, own in places.items() if len(own)}
    shown = {family: clocks(tables[family])[own] for family, own in places.items()}
    of_run = {
        run: [family for family, own in places.items() if (tables[family]["segment"][own] == run).any()]
        for run in (into, segment)
    }
    known = [np.unique(np.concatenate([shown[family] for family in of_run[run]])) for run in (into, segment)]
    is_told = all(_is_told(tables[family][own], shown[family]) for family, own in places.items())
    if not is_told or not np.isin(known[0], known[1]).any():
        return False
    moments = np.union1d(*known)
    for family, own in places.items():
        number, report = (tables[family][name].copy() for name in ("segment", "report"))
        number[own], report[own] = into, np.searchsorted(moments, shown[family])
        tables[family] = tables[family].with_columns(segment=number, report=report)
    return True


def _is_of(table: Table, source: str) -> Mask:
    return np.asarray(table["source"] == source)


def clocks(table: Table) -> Floats:
    """The time of each row, in seconds; the time of day where no date is known."""
    seconds = table["time"].seconds()
    return np.where(np.isnan(seconds), table.floats("clock_s"), seconds)


def _is_told(rows: Table, shown: Floats) -> bool:
    """Whether each report of some rows has one clock, and each clock one report."""
    pairs = np.unique(np.stack((rows["report"].astype(np.float64), shown), axis=1), axis=0)
    return not np.isnan(shown).any() and all(len(np.unique(side)) == len(pairs) for side in pairs.T)
