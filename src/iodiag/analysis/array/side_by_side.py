"""The samples of several devices side by side, report by report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt

from iodiag.analysis.view.view import REPORTS, DeviceSeries, report_numbers
from iodiag.table.result_cache import cached
from iodiag.table.table import Floats, Places, Table

Keys = npt.NDArray[np.int64]


@cached
def report_keys(samples: Table) -> Keys:
    """A number per sample that is the same in the samples of one report."""
    return np.asarray(samples["stream"] * REPORTS + samples["report"], dtype=np.int64)


@cached
def first_row_per_report(series: DeviceSeries) -> Table:
    """A device's samples, of each report the first; their keys rise."""
    keys = report_keys(series.samples)
    if (keys[1:] > keys[:-1]).all():
        return series.samples
    first: Places = np.unique(keys, return_index=True)[1]
    return series.samples[first]


def leaves_out_idle(devices: Sequence[DeviceSeries]) -> bool:
    """Whether no row of the devices is without I/O, as where the tool leaves those out (iostat -z).

    What has no row in a report that shows others was idle then; elsewhere it is unknown: a paste lacks it.
    """
    rows = [one.samples for one in devices]
    is_hidden = [np.equal(part["is_omitted"], True) if "is_omitted" in part else False for part in rows]
    return all(
        ((part.floats("ios_per_s") > 0) | own).all() for part, own in zip(rows, is_hidden, strict=True)
    )


def are_beside(one: DeviceSeries, other: DeviceSeries) -> bool:
    """Whether two devices have samples of one report: of others nothing tells that they are of one time."""
    return bool(np.isin(report_keys(one.samples), report_keys(other.samples)).any())


def side_by_side(devices: Sequence[DeviceSeries]) -> list[Table]:
    """The samples of several devices in the reports that all of them have, row by row."""
    parts = [first_row_per_report(series) for series in devices]
    keys = [report_keys(part) for part in parts]
    if all(np.array_equal(own, keys[0]) for own in keys[1:]):
        return parts
    common = reduce(lambda one, other: np.intersect1d(one, other, assume_unique=True), keys)
    return [part[np.searchsorted(own, common)] for part, own in zip(parts, keys, strict=True)]


def total_of(parts: Sequence[Table], column: str, reports: Keys) -> Floats:
    """A column summed over devices in each report; NaN where none of them has a value.

    Of samples as `once` gives them. What rounding takes off a sum is added to the next term (Kahan 1965).
    """
    total, excess, is_any = np.zeros(len(reports)), np.zeros(len(reports)), np.zeros(len(reports), dtype=bool)
    for part in parts:
        data = at_reports(reports, part, column)
        known = ~np.isnan(data)
        term = data - excess
        summed = total + term
        excess = np.where(known, summed - total - term, excess)
        total = np.where(known, summed, total)
        is_any |= known
    return np.where(is_any, total, np.nan)


def paired(samples: Table, others: Table) -> tuple[Places, Places]:
    """Which samples are of a report that `others` have a sample of: their places, and the first of that."""
    wanted, keys = report_numbers(samples, others)
    known, first = np.unique(keys, return_index=True)
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    found = np.flatnonzero(known[places] == wanted)
    return found, first[places[found]]


def at_reports(reports: Keys, part: Table, column: str) -> Floats:
    """A column of samples as `once` gives them, in each report; NaN where there is none."""
    keys, data = report_keys(part), part.floats(column)
    if np.array_equal(keys, reports):
        return data
    places = np.minimum(np.searchsorted(keys, reports), len(keys) - 1)
    return np.where(keys[places] == reports, data[places], np.nan)
