"""Numbers of one sample that contradict each other: depth, sizes, latencies, shares of the CPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from iodiag.analysis.array.equal_rates import beyond_whole, disk_by_bytes
from iodiag.analysis.array.side_by_side import side_by_side
from iodiag.analysis.host.cpu import is_impossible
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite
from iodiag.analysis.view.request_columns import LITTLE, LITTLE_SLACK, is_outside
from iodiag.analysis.view.view import IDLE_KB_PER_S, DeviceSeries, View
from iodiag.model.finding import Evidence
from iodiag.model.rule import Limits
from iodiag.table.table import Table, stacked

_TOTALS_OF_TIME = ("reads", "writes", "all")
_SHARES = ("user_pct", "nice_pct", "system_pct", "iowait_pct", "steal_pct", "idle_pct")


def of_depth(view: View, series: DeviceSeries, limits: Limits) -> Iterator[Evidence]:
    """Depth against rates times latencies, where the kernel derives one from the other (5.0 and later).

    A depth above them is time of flushes where the source has no column for these.
    """
    if series.is_stacked or not _is_from(view.kernel, (5, 0)):
        return
    samples = series.samples
    ios, depth = samples.floats("ios_per_s"), samples.floats("queue_depth")
    booked = ios * samples.floats("await_ms") / 1000
    # each total is of whole ms, and depth and latency are rounded after that
    ticks = len(_TOTALS_OF_TIME) / (1000 * weighted.seconds_or_one(samples))
    slack = weighted.half_digit(samples) * (1 + ios / 1000) + ticks + limits.residual / 100 * booked
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


def of_wrapped(series: DeviceSeries) -> Iterator[Evidence]:
    """Bytes beyond any device beside numbers that agree: they alone are left out, and what comes of them."""
    samples = series.samples
    if "is_wrapped" in samples and (is_wrapped := np.equal(samples["is_wrapped"], True).astype(bool)).any():
        rows = samples[is_wrapped]
        values: Values = {"device": series.name, "count": len(rows)}
        text = "{device}: its bytes are beyond any device, as their counter ran backwards (such samples: "
        text += (
            "{count}); bytes and sizes are left out; rate, latency, queue and busy share agree and are kept"
        )
        yield cite(rows, text, values)


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
    half = weighted.half_digit(samples)
    ios, wait = samples.floats("ios_per_s"), samples.floats("await_ms")
    # the least that the digits allow; a rate is known far better than its latency
    held = ios * wait / 1000 if "half_digit" not in samples else ios * (wait - half).clip(0) / 1000 - half
    is_wrong = (held >= _LEAST_HELD) & (samples.floats("queue_depth") < 0.1 * held)
    # what waited long may have been in flight before the sample; what is quick was within it
    is_quick = samples.floats("await_ms") <= 10 * weighted.seconds_or_one(samples)
    is_wrong &= is_quick | ~(samples.floats("util") > 0.1 * np.minimum(held, 1))
    # of requests that are quick for a sample its ends cut next to nothing
    longest = np.fmax(samples.floats("read_await_ms"), samples.floats("write_await_ms"))
    is_instant = np.fmax(samples.floats("await_ms"), longest) <= 10 * weighted.seconds_or_one(samples)
    is_wrong |= is_instant & (held >= 1) & (samples.floats("queue_depth") < LITTLE * held - LITTLE_SLACK)
    both = np.fmin(samples.floats("depth"), np.fmin(samples.floats("util"), 1.0))
    is_wrong |= both > samples.floats("queue_depth") + LITTLE_SLACK
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


def of_layer(view: View, series: DeviceSeries, limits: Limits) -> Iterator[Evidence]:
    """A layer that moves far more than the only disk that it stands on: one of its counters is wrong.

    Samples in which both move the same bytes show that it stands on that disk.
    """
    found = disk_by_bytes(view, series) if series.is_stacked else None
    if found is None or series.disks not in (None, 1):
        return
    disk = found[0]
    above, lower = side_by_side([series, disk])
    own, moved = (
        np.nansum([part.floats(f"{way}_kb_per_s") for way in ("read", "write")], axis=0)
        for part in (above, lower)
    )
    if (is_beyond := own > limits.layer * np.maximum(moved, IDLE_KB_PER_S)).any():
        values: Values = {"device": series.name, "disk": disk.name, "count": int(is_beyond.sum())}
        values |= {"own": float(own[is_beyond].max()), "moved": float(moved[is_beyond].max())}
        text = (
            "{device}: {own:.0f} kB/s are printed where {disk}, the only disk below it, moves {moved:.0f} "
            "kB/s (such samples: {count}): its bytes are counted wrongly, or come from no disk"
        )
        yield cite(stacked([above[is_beyond], lower[is_beyond]]), text, values, worst="kb_per_s")


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
    """The latency of all requests against those of reads and of writes, between which it lies."""
    printed = series.samples.floats("doubtful_await_ms")
    if "await_ms" not in series.samples:
        return
    samples = series.samples.with_columns(
        await_ms=np.where(np.isnan(printed), series.samples.floats("await_ms"), printed)
    )
    outside = is_outside(samples, limits.residual / 100)
    if outside.any():
        rows = samples[outside]
        values: Values = {"device": series.name, "count": len(rows)}
        values |= {f"{of}await_ms": float(rows.floats(f"{of}await_ms")[0]) for of in ("", "read_", "write_")}
        text = (
            "{device}: all requests take {await_ms} ms where reads take {read_await_ms} ms and writes "
            "{write_await_ms} ms (such samples: {count})"
        )
        yield cite(rows, text, values)


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


def _is_from(kernel: str | None, least: tuple[int, int]) -> bool:
    match = re.match(r"(\d+)\.(\d+)", kernel or "")
    return match is not None and (int(match[1]), int(match[2])) >= least
