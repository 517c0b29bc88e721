"""The reports of a text, counted the same way across all its tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iodiag.formats.text.rows.row_store import Rows
from iodiag.formats.text.structure.blocks import Blocks
from iodiag.table.table import Floats, Ints, repeated


def report_numbers(
    blocks: Blocks, all_rows: Sequence[Rows], clocks: Sequence[tuple[Ints, Floats]]
) -> list[Ints]:
    """The report of every row, counted from 0 in each segment, the same across its tables.

    `clocks` are the segment and the time of the rows of each Rows.

    With a clock in every row, a report is one time. Else it is one header's block, and each
    repetition of a device below the same header is a further report.
    """
    keys, begins = [], []
    for rows, (segment, local) in zip(all_rows, clocks, strict=True):
        first, has_time = blocks.report[rows.block].astype(np.float64), np.zeros(1, dtype=np.bool_)
        if rows.layout.clock == "row":
            first = np.where(np.isnan(local), -1.0, local)
            has_time = ~np.isnan(local) | rows.is_average
        nth = repeated(0, len(first)) if has_time.all() else np.where(has_time, 0, _occurrence(rows))
        # rows of one report stand together, so one of each such run is ranked
        is_new = np.ones(len(first), dtype=np.bool_)
        is_new[1:] = rows.is_average[1:] != rows.is_average[:-1]
        for part in (segment, first, nth):
            is_new[1:] |= part[1:] != part[:-1]
        begins.append(is_new)
        keys.append(np.stack([part[np.flatnonzero(is_new)] for part in (segment, first, nth)], axis=1))
    result: list[Ints] = [np.empty(0, dtype=np.int64) for _ in all_rows]
    for format_id in dict.fromkeys(rows.layout.format for rows in all_rows):
        places = [i for i, rows in enumerate(all_rows) if rows.layout.format == format_id]
        whole = np.concatenate([keys[i] for i in places])
        is_sample = ~np.concatenate([all_rows[i].is_average[begins[i]] for i in places])
        report = np.zeros(len(whole), dtype=np.int64)
        report[is_sample] = _ranks(whole[is_sample])
        ends = np.cumsum([len(keys[i]) for i in places])
        for i, own in zip(places, np.split(report, ends[:-1]), strict=True):
            result[i] = own[np.cumsum(begins[i]) - 1]
    return result


def _ranks(keys: Floats) -> Ints:
    """The place of each row among the distinct ones of its segment (the first column), in their order."""
    if not len(keys):
        return np.empty(0, dtype=np.int64)
    order = np.lexsort(keys.T[::-1])
    steps = np.diff(keys[order], axis=0)
    is_new = np.concatenate(([False], (steps != 0).any(axis=1)))
    is_segment = np.concatenate(([True], steps[:, 0] != 0))
    number = np.cumsum(is_new)
    first = number[np.flatnonzero(is_segment)]
    result = np.empty(len(keys), dtype=np.int64)
    result[order] = number - first[np.cumsum(is_segment) - 1]
    return result


def _occurrence(rows: Rows) -> Ints:
    """How often each row's key has stood in its block before."""
    pairs = rows.block * len(rows.names) + rows.key
    counts = np.zeros(len(pairs), dtype=np.int64)
    # most often a report's rows stand in the order of the first report's
    if (pairs[1:] > pairs[:-1]).all():
        return counts
    order = np.argsort(pairs, kind="stable")
    ordered = pairs[order]
    begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    counts[order] = np.arange(len(pairs)) - np.repeat(begins, np.diff(np.append(begins, len(pairs))))
    return counts
