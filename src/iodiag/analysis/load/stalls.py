"""Stretches in which a busy device completes nothing, and the sample in which they end.

A request is booked in the sample in which it completes (kernels from 5.0 on; block/genhd.c). After a
stall that sample holds the whole wait, so its depth looks like a deep queue that never was. The
mean over the stall and its end is right again: Little's law holds over any span that begins and
ends alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.view.view import DeviceSeries
from iodiag.model import columns
from iodiag.table.table import Mask, Table

ALWAYS_BUSY = 0.95
"""Busy throughout, timer skew allowed for."""

LONGEST_FLUSH_S = 120.0
"""A disk's cache, 256 MB at the most, is written back by then, even at 2 MB/s."""

LEAST_S, BOOKED = 5.0, 0.7
"""From how many seconds on a silence is no retry, nor a pause of firmware, and the share of it for which
requests waited where it is a stall."""

_RATES = ("depth", "util", *columns.RATES, "discards_per_s", "flushes_per_s", "kb_per_s", *columns.KB_BY_WAY)


def stalled(rows: Table) -> Mask:
    """Samples of one device in which it was busy throughout and completed no request.

    A driver that does not count its requests moves kB without any: that is an answer.
    """
    completed, moved = rows.floats("ios_per_s"), rows.floats("kb_per_s")
    return np.asarray((completed == 0) & ~(moved > 0) & (rows.floats("util") >= ALWAYS_BUSY))


def bridged(samples: Table) -> Table:
    """One device's samples with each stall taken into the sample that ends it.

    Rates, depth and util become means over the joined span; latencies and sizes are those of the
    ending sample, where the requests completed. `span` is the joined length, in seconds or, where no
    length is known, in samples. A stall that nothing ends within its stream is left out.
    """
    lengths = weighted.lengths(samples)
    silent = stalled(samples)
    if not silent.any():
        return samples.with_columns(span=lengths)
    ends = ~silent
    # a stream's last samples have no end of their own stream: they form a group that is dropped
    numbers: npt.NDArray[np.int64] = np.cumsum(ends) - ends
    keys = np.unique(np.column_stack([samples["stream"], numbers]), axis=0, return_inverse=True)[1].ravel()
    span, joined, own = np.bincount(keys, lengths), samples[ends], keys[ends]
    is_joined = np.bincount(keys)[own] > 1
    columns = {"span": span[own]}
    for column in _RATES:
        if column in samples:
            data = np.nan_to_num(samples.floats(column))
            means = np.bincount(keys, data * lengths) / span
            columns[column] = np.where(is_joined, means[own], joined.floats(column))
    seconds = joined.floats("interval_s")
    columns["interval_s"] = np.where(np.isnan(seconds), seconds, span[own])
    return joined.with_columns(**columns)


def with_stalls(series: DeviceSeries, rows: Table) -> Table:
    """A device's samples that some bridged ones are made of: they, and the stalls taken into them."""
    samples = series.samples
    if not (silent := stalled(samples)).any():
        return rows
    last = len(samples) - 1
    places = np.where(silent, last, np.arange(len(samples)))
    ends = np.minimum.accumulate(places[::-1])[::-1]
    is_own = samples["stream"][ends] == samples["stream"]
    made_of: Table = samples[np.isin(samples["sample"][ends], rows["sample"]) & is_own]
    return made_of


@dataclass(frozen=True)
class Stall:
    """Consecutive samples of a busy device without a completion, and the sample that ended them.

    `seconds` is how long nothing completed (in samples where no length is known). `release` is None
    where the stream ends first. `booked_s` is the request time that the release shows beyond a
    typical sample, `flushing_s` the time of flushes that it shows; NaN without a release.
    """

    rows: Table = field(repr=False)
    seconds: float
    release: Table | None = field(repr=False)
    booked_s: float
    flushing_s: float

    @property
    def is_flush(self) -> bool:
        """Whether flushes of the cache fill half of it or more."""
        return self.flushing_s >= 0.5 * self.seconds

    @property
    def is_told(self) -> bool:
        """Whether it lasted, and its end shows that requests had waited for it, or a flush had."""
        return self.seconds >= LEAST_S and (self.is_flush or self.booked_s >= BOOKED * self.seconds)


def stalls_of(series: DeviceSeries) -> Iterator[Stall]:
    """A device's stalls: silent samples busy throughout, or shown to have been busy by their end.

    Kernels 5.7 to 6.9 may show a stall as idle and add its busy time to the sample that ends it,
    whose util then exceeds 100 % by as much. A long sample may hold the beginning of a stall: then it
    completes a quarter of the usual at most, and its util exceeds its depth, which only requests
    that outlive the sample can do.
    """
    samples = series.samples
    done, util = samples.floats("ios_per_s"), samples.floats("util")
    busy = util >= ALWAYS_BUSY
    outlived = util > 1.1 * (samples.floats("depth") + weighted.half_digit(samples))
    is_silent = (done == 0) & ~(samples.floats("kb_per_s") > 0)
    may_be_silent = is_silent | (busy & outlived & (done > 0))
    # a stall is busy throughout, or its end is busy for longer than it lasts
    if not (may_be_silent & (busy | (util > 1).any())).any():
        return
    streams, lengths = samples["stream"], weighted.lengths(samples)
    typical, usual = _median(series.loaded, "depth"), _median(series.loaded, "ios_per_s")
    nothing = may_be_silent & (is_silent | (done <= 0.25 * usual))
    missing = lengths * (1 - done / max(usual, 1e-9)).clip(0, 1)
    # before it there may have been nothing to do
    differs = (nothing[1:] != nothing[:-1]) | (busy[1:] != busy[:-1]) | (streams[1:] != streams[:-1])
    edges = np.flatnonzero(differs) + 1
    begins = np.concatenate([np.zeros(1, dtype=np.int64), edges])
    ends = np.concatenate([edges, np.full(1, len(samples))])
    # silent all along, and busy throughout, or idle with busy time booked in the sample after
    after = np.append(util, 0.0)[ends]
    busy_before = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(busy)])
    busy_samples = busy_before[ends] - busy_before[begins]
    is_run = nothing[begins] & ((busy_samples == ends - begins) | ((busy_samples == 0) & (after > 1)))
    for begin, end in zip(begins[is_run].tolist(), ends[is_run].tolist(), strict=True):
        run = slice(begin, end)
        is_released = end < len(samples) and streams[end] == streams[begin]
        silent = float(missing[run].sum()) if usual > 0 else float(lengths[run].sum())
        added = float((util[end] - 1) * lengths[end]) if is_released else 0.0
        if busy[run].all():
            seconds = silent
        elif not busy[run].any() and 0 < added <= silent + lengths[end]:
            seconds = added
        else:
            continue
        release = samples[end : end + 1] if is_released else None
        yield _stall(samples[run], seconds, release, typical)


def without_told(series: DeviceSeries) -> Table:
    """A device's samples without the stalls that are told as such, and without what ends each of them.

    What had waited for that was in no queue: `hung-io` and `flush-latency` tell of it, but of writes without
    a count of flushes, which leave open what held them.
    """
    told = [
        one for one in stalls_of(series) if one.is_told and (one.is_flush or not may_be_flush(series, one))
    ]
    if not told:
        return series.samples
    ends = [one.release for one in told if one.release is not None]
    left_out = np.concatenate([rows["sample"] for rows in (*(one.rows for one in told), *ends)])
    return series.samples[~np.isin(series.samples["sample"], left_out)]


def may_be_flush(series: DeviceSeries, stall: Stall) -> bool:
    """Whether a flush may have filled the stall: writes, and no column that counts flushes says otherwise."""
    if stall.is_flush:
        return True
    samples = series.samples
    reads, writes = (np.nansum(samples.floats(f"{way}_kb_per_s")) for way in ("read", "write"))
    counts_flushes = samples.has("flushes_per_s") and samples.has("flush_await_ms")
    return bool(writes > reads and not counts_flushes and stall.seconds <= LONGEST_FLUSH_S)


def answers(series: DeviceSeries) -> bool:
    """Whether a device completes any request in the capture."""
    return bool((series.samples.floats("ios_per_s") > 0).any())


def late_answer_ms(series: DeviceSeries, late: float) -> float | None:
    """The longest latency of a device in ms, where one is late; else None."""
    rows = series.samples
    latency = np.zeros(len(rows))
    for column in ("latency_ms", "read_await_ms", "write_await_ms"):
        np.fmax(latency, rows.floats(column), out=latency)
    return float(latency.max()) if (latency >= late).any() else None


def _median(rows: Table, column: str) -> float:
    data = rows.floats(column)
    return median(data) if np.isfinite(data).any() else 0.0


def _stall(rows: Table, seconds: float, release: Table | None, typical: float) -> Stall:
    if release is None:
        return Stall(rows, seconds, None, float("nan"), float("nan"))
    length = float(weighted.lengths(release)[0])
    booked = (release.floats("depth")[0] - typical) * length
    flushes = release.floats("flushes_per_s") * release.floats("flush_await_ms")
    return Stall(rows, seconds, release, float(booked), float(np.nan_to_num(flushes)[0]) / 1000 * length)
