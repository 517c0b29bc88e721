"""Numbers of one sample that contradict each other: depth, sizes, latencies, shares of the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.array.equal_rates import beyond_whole
from iodiag.analysis.host.cpu import is_impossible
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite
from iodiag.analysis.measure.known_counter_bugs import version_of
from iodiag.analysis.view.request_columns import LITTLE, LITTLE_SLACK
from iodiag.analysis.view.view import IDLE_KB_PER_S, DeviceSeries, View
from iodiag.model.finding import Evidence
from iodiag.model.rule import Limits
from iodiag.model.units import HALF_DIGIT
from iodiag.table.table import Table, stacked

_TOTALS_OF_TIME = ("reads", "writes", "all")
_SHARES = ("user_pct", "nice_pct", "system_pct", "iowait_pct", "steal_pct", "idle_pct")


def of_depth(view: View, series: DeviceSeries, limits: Limits) -> Iterator[Evidence]:
    """Depth against rates times latencies, where the kernel derives one from the other (5.0 and later).

    A depth above them is time of flushes where the source has no column for these.
    """
    version = version_of(view.kernel)
    if series.is_stacked or version is None or version < (5, 0):
        return
    samples = series.samples
    ios, depth = samples.floats("ios_per_s"), samples.floats("queue_depth")
    booked = ios * samples.floats("await_ms") / 1000
    # each total is of whole ms, and depth and latency are rounded after that
    ticks = len(_TOTALS_OF_TIME) / (1000 * weighted.seconds_or_one(samples))
    slack = HALF_DIGIT * (1 + ios / 1000) + ticks + limits.residual / 100 * booked
    beyond = (booked - depth > slack) & ~samples["is_idle"]
    if np.count_nonzero(beyond) >= min(limits.least_samples, len(samples)):
        rows = samples[beyond]
        values: Values = {
            "device": series.name,
            "count": len(rows),
            "depth": weighted.mean(rows, "queue_depth"),
            "booked": float(np.mean(booked[beyond])),
        }
        text = (
            "{device} shows {depth} in flight where rate times latency makes {booked} (such samples: {count})"
        )
        yield cite(rows, text, values, worst="await_ms")


def is_of_queue(item: Evidence) -> bool:
    """Whether a piece of evidence says that the queue is below rate times latency."""
    return bool({"booked", "held"} & item.values.keys())


def of_uncounted(series: DeviceSeries) -> Iterator[Evidence]:
    """Bytes without requests: where the driver counts no completions, depth, latency and util are void."""
    samples = series.samples
    moved = samples.floats("kb_per_s")
    # a rate of a few kB over a long time has less than half a hundredth of a request per second
    is_uncounted = (moved >= IDLE_KB_PER_S) & (samples.floats("ios_per_s") == 0)
    if is_uncounted.any():
        rows = samples[is_uncounted]
        values: Values = {
            "device": series.name,
            "count": len(rows),
            "all": len(samples),
            "moved": weighted.mean(rows, "kb_per_s"),
        }
        text = (
            "{device}: {count} of {all} samples move {moved} kB/s with no request completed: its driver "
            "counts no requests, so queue, latency and %util mean nothing"
        )
        yield cite(rows, text, values, worst="kb_per_s")


def of_rates(series: DeviceSeries) -> Iterator[Evidence]:
    """Requests per second that two other numbers contradict, which agree with each other."""
    samples = series.samples
    doubtful = samples.floats("doubtful_ios_per_s")
    if (is_odd := np.isfinite(doubtful)).any():
        rows = samples[is_odd]
        values: Values = {
            "device": series.name,
            "count": len(rows),
            "printed": float(doubtful[is_odd].mean()),
            "rate": weighted.mean(rows, "ios_per_s"),
        }
        text = (
            "{device}: {printed} requests/s are printed (such samples: {count}), where bytes by size and "
            "%util by svctm both make {rate:.1f}: that is believed"
        )
        yield cite(rows, text, values, worst="util_pct")


def of_nothing_in_flight(series: DeviceSeries) -> Iterator[Evidence]:
    """Nothing in flight and idle, by the columns, where rate times latency (Little's law) makes some."""
    samples = series.samples
    held = samples.floats("ios_per_s") * samples.floats("await_ms") / 1000
    is_wrong = (held >= _LEAST_HELD) & (samples.floats("queue_depth") < 0.1 * held)
    # what waited long may have been in flight before the sample; what is quick was within it
    is_quick = samples.floats("await_ms") <= 10 * weighted.seconds_or_one(samples)
    is_wrong &= is_quick | ~(samples.floats("util") > 0.1 * np.minimum(held, 1))
    # of requests that are quick for a sample its ends cut next to nothing
    longest = np.fmax(samples.floats("read_await_ms"), samples.floats("write_await_ms"))
    is_instant = np.fmax(samples.floats("await_ms"), longest) <= 10 * weighted.seconds_or_one(samples)
    is_wrong |= is_instant & (held >= 1) & (samples.floats("queue_depth") < LITTLE * held - LITTLE_SLACK)
    if is_wrong.any() and not series.is_stacked:
        rows = samples[is_wrong]
        values: Values = {
            "device": series.name,
            "held": float(held[is_wrong].max()),
            "depth": weighted.mean(rows, "queue_depth"),
            "util": weighted.mean(rows, "util_pct"),
        }
        text = (
            "{device}: {depth:.2f} in flight and {util:.2f} % busy are printed, where rate times latency "
            "makes {held:.2f} in flight"
        )
        yield cite(rows, text, values, worst="await_ms")


def of_parts(view: View, series: DeviceSeries) -> Iterator[Evidence]:
    """Partitions that move more than the disk they are of: one of its counters has wrapped."""
    beyond = beyond_whole(view, series)
    if beyond is not None:
        parts, own = beyond
        values: Values = {"device": series.name, "parts": parts, "own": own}
        text = (
            "{device}: its partitions move {parts} kB/s and it moves {own} kB/s: a counter of it has wrapped"
        )
        yield cite(series.samples, text, values, worst="kb_per_s")


def lacks_latency(samples: Table) -> bool:
    """Whether requests complete without a latency while several are in flight."""
    return bool(((samples.floats("await_ms") == 0) & (samples.floats("depth") >= 1)).any())


_LEAST_HELD = 0.2
"""Requests in flight by rate and latency that no rounding of the depth hides."""


def of_sizes(series: DeviceSeries, limits: Limits) -> Iterator[Evidence]:
    """Printed sizes against bytes per request; far apart, not by rounding."""
    samples = series.samples
    if "request_size_kb" not in samples:
        return
    printed, derived = samples.floats("request_size_kb"), samples.floats("size_kb")
    apart = np.maximum(printed, derived) > limits.size_ratio * np.minimum(printed, derived)
    least = min(limits.least_samples, len(samples))
    if np.count_nonzero(apart) < least:
        return
    apart &= (samples.floats("ios_per_s") >= 20) & (samples.floats("kb_per_s") >= 256)
    if np.count_nonzero(apart) >= least:
        rows = samples[apart]
        values: Values = {
            "device": series.name,
            "count": len(rows),
            "printed": weighted.mean(rows, "request_size_kb"),
            "derived": weighted.ratio(rows, "kb_per_s", "ios_per_s"),
        }
        text = "{device} shows {printed} kB per request where bytes by requests make {derived} "
        text += "(such samples: {count})"
        yield cite(rows, text, values)


def of_waits(series: DeviceSeries, limits: Limits) -> Iterator[Evidence]:
    """The latency of all requests against those of reads and of writes, between which it lies.

    Only where both completed requests: md and device-mapper may book time of a direction without any.
    Discards have a latency of their own, which counts, too.
    """
    samples = series.samples
    names = ("await_ms", "read_await_ms", "write_await_ms")
    if any(name not in samples for name in names):
        return
    mixed, reads, writes = (samples.floats(name) for name in names)
    least, most = np.minimum(reads, writes), np.maximum(reads, writes)
    part = limits.residual / 100
    outside = (mixed < (1 - part) * least - _COARSEST_MS) | (mixed > (1 + part) * most + _COARSEST_MS)
    if outside.any():
        outside &= (samples.floats("reads_per_s") > 0) & (samples.floats("writes_per_s") > 0)
        outside &= ~(samples.floats("discards_per_s") > 0)
    if outside.any():
        rows = samples[outside]
        values: Values = {"device": series.name, "count": len(rows)}
        values |= {name: float(rows.floats(name)[0]) for name in names}
        text = (
            "{device}: all requests take {await_ms} ms where reads take {read_await_ms} ms and writes "
            "{write_await_ms} ms (such samples: {count})"
        )
        yield cite(rows, text, values)


_COARSEST_MS = 0.1
"""Twice half a digit of the coarsest layout, that of pt-diskstats."""


def of_cpu(view: View, limits: Limits) -> Iterator[Evidence]:
    """CPU samples whose shares of time do not add up, or whose steal cannot be."""
    parts = [rows for rows in (view.samples("cpu"), view.odd_cpu) if rows is not None and len(rows)]
    if not parts or not set(_SHARES) <= (cpu := stacked(parts)).names.keys():
        return
    if (is_wrong := is_impossible(cpu)).any():
        values: Values = {name: float(cpu[is_wrong].floats(name)[0]) for name in _SHARES}
        values["count"] = int(np.count_nonzero(is_wrong))
        text = (
            "steal of {steal_pct} % beside {user_pct} % user, {system_pct} % system and {idle_pct} % idle is "
            "no neighbour's doing: the counter is wrong (CPU samples: {count})"
        )
        yield cite(cpu[is_wrong], text, values, worst="steal_pct")
    sums = np.sum([cpu.floats(name) for name in _SHARES], axis=0)
    is_off = (np.abs(sums - 100) > limits.cpu_slack) & (sums > 0)
    if is_off.any():
        text = "{count} CPU samples add up to something else, the first to {sum:.1f} %"
        values = {"count": int(np.count_nonzero(is_off)), "sum": float(sums[is_off][0])}
        yield cite(cpu[is_off], text, values)
