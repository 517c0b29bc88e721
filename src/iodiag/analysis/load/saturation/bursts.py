"""Whether a load lasts or passes: a burst, a backlog, the longest window without a gap."""

from __future__ import annotations

import numpy as np

from iodiag.analysis.load.queueing import level_samples
from iodiag.analysis.load.saturation.judged_levels import STEADY
from iodiag.analysis.load.stalls import stalled
from iodiag.analysis.measure.windows import longest
from iodiag.analysis.view.request_columns import LITTLE
from iodiag.analysis.view.view import DeviceSeries
from iodiag.model.rule import Limits
from iodiag.table.table import Table


def is_passing(series: DeviceSeries, rows: Table, limits: Limits) -> bool:
    """Whether a device was so in few of many samples with I/O, or between calm ones: no state of it.

    What holds for all of a run, which other words of the text set apart from the next, does not pass.
    """
    phases = series.samples.floats("phase")
    of_run = np.isin(phases, rows.floats("phase")) & (np.isfinite(phases).all() and np.ptp(phases) > 0)
    if len(rows) >= limits.lasting or np.count_nonzero(of_run) == len(rows):
        return False
    if is_backlog(rows, limits):
        return True
    share = rows.floats("span").sum() / level_samples(series).floats("span").sum()
    places = np.searchsorted(series.samples["sample"], rows["sample"])
    around = [places.min() - 1, places.max() + 1]
    if share < limits.share / 100 or around[0] < 0 or around[1] >= len(series.samples):
        return bool(share < limits.share / 100)
    return bool((series.samples.floats("util")[around] < STEADY).all())


def is_backlog(rows: Table, limits: Limits) -> bool:
    """Whether requests waited for longer in all than samples with idle time had them in the queue."""
    held, span = rows.floats("ios_per_s") * rows.floats("latency_ms") / 1000, rows.floats("span")
    is_beyond = (rows.floats("depth") * span).sum() < LITTLE * (held * span).sum()
    return bool(is_beyond and (rows.floats("util") < limits.full_util / 100).all())


LONGEST_BURST_S = 60.0
"""Seconds from which a load is no burst: the age at which dirty pages are written back is half of it."""


def is_burst(series: DeviceSeries, rows: Table, limits: Limits) -> bool:
    """Whether the samples of a passing load lasted for no longer than a burst does."""
    return is_passing(series, rows, limits) and not rows.floats("interval_s").sum() > LONGEST_BURST_S


def longest_contiguous(series: DeviceSeries, rows: Table) -> Table:
    """The longest window in which some of a device's samples follow each other, with stalls before them."""
    samples = series.samples
    mask = np.zeros(len(samples), dtype=np.bool_)
    mask[np.searchsorted(samples["sample"], rows["sample"])] = True
    silent = stalled(samples)
    if not silent.any():
        window = longest(samples, mask)
        return rows[:0] if window is None else window
    places = np.where(silent, len(samples) - 1, np.arange(len(samples)))
    ends = np.minimum.accumulate(places[::-1])[::-1]
    window = longest(samples, mask | (silent & mask[ends]))
    return rows[:0] if window is None else window
