"""bi and bo of an old vmstat, which count blocks, whose size in kB nothing states."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from iodiag.table.table import Table

IN_BLOCKS = "paging_in_blocks"
"""The table of a View that has `blocks_in_per_s` and `blocks_out_per_s` in place of kB/s."""

_LEAST_KB, _LEAST_SAMPLES, _MOST_SPREAD, _APART = 256.0, 5, 0.05, 1.5
"""kB/s swapped out that digits hardly round, samples that are no chance, how far apart one ratio is by
rounding, and times that no edges of samples set what goes out to swap above all that goes out."""


def with_units(tables: Mapping[str, Table]) -> dict[str, Table]:
    """The tables with paging in blocks where bo is not in kB.

    What goes out to swap is part of what goes out: if it is a fixed multiple of it, the two count in other
    units. Only of a vmstat without iowait: later ones count kB, and swap in memory (zram) is no part of bo.
    """
    kept = dict(tables)
    paging, swapping, cpu = (tables.get(name) for name in ("paging", "swapping", "cpu"))
    if paging is None or swapping is None or (cpu is not None and cpu.has("iowait_pct")):
        return kept
    ways = [paging.floats(f"pgpg{way}_kb_per_s") for way in ("in", "out")]
    swapped = swapping.floats("swap_out_kb_per_s")
    if not np.array_equal(paging["line"], swapping["line"]):
        return kept
    counts = (swapped >= _LEAST_KB) & (ways[1] > 0)
    ratios = swapped[counts] / ways[1][counts]
    usual = float(np.median(ratios)) if len(ratios) >= _LEAST_SAMPLES else 0.0
    if usual >= _APART and np.ptp(ratios) <= _MOST_SPREAD * usual:
        paging = kept.pop("paging")
        kept[IN_BLOCKS] = paging.with_columns(blocks_in_per_s=ways[0], blocks_out_per_s=ways[1])
    return kept
