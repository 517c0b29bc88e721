"""Requests take longer than they take on any healthy device.

What it detects: a mean latency, of all requests or of reads or writes alone, that no healthy device of the
class takes for requests of that size, with that many in flight: longer than the slowest sane service of the
class for each request that was in line. A device of unknown class is held against the slowest one. Or seconds
per request, whatever the queue. One sample is enough, and so is one request: a rate of three requests per
second is low because they are stuck.

Why it matters: whoever asked waits for seconds. This is harm whatever the cause.

When it is wrong: a disk that spins up takes 5 to 10 s once. A virtual machine that was paused books the
pause as latency. A limiter that holds requests back makes any latency: volume-cap and
throttled-above-device name it. A write that comes with cache flushes takes as long as they do: what they
take is added to what is sane, and flush-latency judges them. A memory card or a USB stick that erases takes
seconds for writes and is no worse than its kind. Seconds in a long queue of buffered writes hurt nobody
where no task is blocked.

References: Little's law; the table of service times in `analysis/states/service_times.py`, each with its
source.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.array.topmost_devices import once_per_stack
from iodiag.analysis.host.disk_health import reported
from iodiag.analysis.host.waiting import blocked
from iodiag.analysis.load.device_traits import is_virtual
from iodiag.analysis.load.load_sentences import NOBODY
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, in_samples, say
from iodiag.analysis.measure.grading import when
from iodiag.analysis.states.service_times import (
    FLUSH_KB,
    SERVICE,
    SLOWEST_FLUSH_MS,
    class_of,
    events_per_sample,
    slowest_ms,
)
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import Floats, Mask, Table

DIRECTIONS = (("read", "reads"), ("write", "writes"))


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per device whose requests took longer than any healthy device takes."""
    found: dict[str, Table] = {}
    for series in view.devices:
        is_extreme = extreme(series, limits)
        if is_extreme.any():
            found[series.name] = series.samples[is_extreme]
        elif len(series.loaded):
            slow = _slow_for_one(series)
            reason = slow or "no mean latency exceeds what a healthy device takes in such a queue"
            yield Outcome(RULE.id, "undetermined" if slow else "clear", (series.name,), reason)
    for series, told, below in once_per_stack(view, found):
        yield _finding(view, series, told, below, limits)


def _slow_for_one(series: DeviceSeries) -> str:
    """Where a device that serves many requests at once takes longer than for one alone; else empty."""
    samples, name = series.loaded, class_of(series)
    for way, plural in DIRECTIONS if name in ("nvme", "solid") else ():
        latency = samples.floats(f"{way}_await_ms")
        least = slowest_ms(series, samples.floats(f"{way}_size_kb"))
        if (latency > least).any():
            values: Values = {"plural": plural, "class": name}
            text = "{plural} take up to {most:.0f} ms, long for a device of class {class}: a queue may be why"
            return say(text, values | {"most": float(np.nanmax(latency))})
    return ""


def extreme(series: DeviceSeries, limits: Limits) -> Mask:
    """The samples in which requests of either direction took too long for any device of the class."""
    samples = series.samples
    in_line, flushing = _in_line(samples), _flushing(samples)
    result = np.zeros(len(samples), dtype=np.bool_)
    for latency, size in _latencies(samples):
        sane = limits.margin * in_line * slowest_ms(series, size) + flushing
        result |= (latency >= limits.least_ms) & (latency > np.fmin(sane, limits.seconds_ms))
    return result


def _latencies(samples: Table) -> Iterator[tuple[Floats, Floats]]:
    yield samples.floats("latency_ms"), samples.floats("size_kb")
    for way, _ in DIRECTIONS:
        yield samples.floats(f"{way}_await_ms"), samples.floats(f"{way}_size_kb")


def _flushing(samples: Table) -> Floats:
    """What cache flushes add to a write, ms: one before it and one after, where most writes come with one.

    Without columns of flushes, requests smaller than a block show that some of them carry no data.
    """
    ios, writes = samples.floats("ios_per_s"), samples.floats("writes_per_s")
    is_empty = (samples.floats("size_kb") < FLUSH_KB) & (writes >= 0.5 * ios)
    is_usual = is_empty | (samples.floats("flushes_per_s") >= 0.5 * ios)
    flush = samples.floats("flush_await_ms")
    flush = np.fmin(np.where(flush > 0, flush, SLOWEST_FLUSH_MS), SLOWEST_FLUSH_MS)
    return np.where(is_usual, 2 * flush, 0.0)


def _in_line(samples: Table) -> Floats:
    """Requests in line before one, at most: those in flight while busy, no more than were counted.

    Where util misses time, the quotient of depth and util is larger than all requests of the sample.
    """
    depth, util = samples.floats("depth"), samples.floats("util")
    by_latency = samples.floats("ios_per_s") * samples.floats("latency_ms") / 1000
    depth = np.where(np.isnan(depth), by_latency, depth)
    is_usable = (util >= 0.05) & np.asarray(samples["is_util_trusted"])
    at_once = np.where(is_usable, depth / np.where(is_usable, np.minimum(util, 1.0), 1.0), depth)
    lengths = samples.floats("interval_s")
    most = np.where(np.isnan(lengths), np.inf, events_per_sample(samples) + depth)
    return np.asarray(np.fmax(np.fmin(at_once, most), 1.0))


def _finding(
    view: View, series: DeviceSeries, rows: Table, below: tuple[str, ...], limits: Limits
) -> Finding:
    requests = float(np.nansum(events_per_sample(rows)))
    sure: Confidence = "high" if requests >= limits.least_requests else "medium"
    worst = max(_told(series, rows), key=lambda values: float(values["latency"]))
    values = worst | {"count": len(rows), "samples": len(series.samples)}
    often = in_samples(len(series.samples))
    is_sane = float(worst["latency"]) <= float(worst["sane"])
    waiting = blocked(view, rows) if is_sane else None
    severity: Severity = "notice" if waiting is not None and waiting[1] < NOBODY else "warning"
    return RULE.finding(
        severity=severity,
        confidence=sure,
        devices=(series.name, *below),
        **when(rows),
        summary=say(
            f"{{device}} takes {'up to ' * (len(rows) > 1)}"
            "{latency:ms} for {direction} of {size:.1f} kB with {in_line:.1f} in flight, "
            + often
            + ("." if is_sane else "; no healthy device takes more than {sane:ms} for that.")
            + (_BEHIND if is_virtual(series) and not is_sane else ""),
            values,
        ),
        remedy=_OF_VIRTUAL if is_virtual(series) else RULE.remedy,
        evidence=(*_evidence(series, rows, values), *reported(view, (series.name, *below))),
        refutes=("a disk that was spun down, or a machine that was paused, just before",),
        cannot_know=("what held the requests: the kernel's log, SMART and the layers below tell",),
    )


_BEHIND = " It is a virtual disk: look for a shared backend, a cap, or a failing disk behind it."
_OF_VIRTUAL = (
    "Compare with the limits of the volume and of the instance, and ask who runs the backend: other tenants, "
    "a cap, or a failing disk behind it.",
    "Read it with one request at a time while it is calm: what takes as long then is no matter of load.",
    "Look for timeouts of this device in the kernel's log.",
)


def _told(series: DeviceSeries, rows: Table) -> Iterator[Values]:
    """The worst sample, by all requests and by direction."""
    in_line, flushing = _in_line(rows), _flushing(rows)
    ways = [("requests", "latency_ms", "size_kb", "ios_per_s")]
    ways += [(plural, f"{way}_await_ms", f"{way}_size_kb", f"{plural}_per_s") for way, plural in DIRECTIONS]
    for plural, latency, size, rate in ways:
        data = rows.floats(latency)
        if np.isnan(data).all():
            continue
        at = int(np.nanargmax(data))
        size_kb = float(np.nan_to_num(rows.floats(size)[at]))
        sane = float(in_line[at] * slowest_ms(series, size_kb) + flushing[at])
        yield {
            "device": series.name,
            "direction": plural,
            "latency": float(data[at]),
            "latency_s": float(data[at]) / 1000,
            "size": size_kb,
            "rate": float(np.nan_to_num(rows.floats(rate)[at])),
            "depth": float(np.nan_to_num(rows.floats(rate)[at])) * float(data[at]) / 1000,
            "in_line": float(in_line[at]),
            "sane": sane,
            "sane_s": sane / 1000,
            "class": class_of(series),
        }


def _evidence(series: DeviceSeries, rows: Table, values: Values) -> Iterator[Evidence]:
    text = "{rate} {direction}/s of {size:.1f} kB took {latency:ms}: {depth} of them in flight on average"
    yield cite(rows, text, values, worst="latency_ms")
    service = SERVICE[class_of(series)]
    sane: Values = {"slowest": service.slowest_ms, "class": class_of(series)}
    text = "one request alone takes a healthy device (of class: {class}) at most {slowest:g} ms"
    yield cite(rows, text, sane, weighs="context")
    util, rate = weighted.mean(rows, "util_pct"), weighted.mean(rows, "ios_per_s")
    if util >= 95 and rate > 0:
        per_request = float(weighted.ratio(rows, "util_pct", "ios_per_s") * 10)
        text = "{util:.0f} % busy for {rate} requests/s: {per_request:.0f} ms of busy time for each"
        yield cite(rows, text, {"util": util, "rate": rate, "per_request": per_request}, worst="util_pct")


RULE = Rule(
    id="extreme-latency",
    role="symptom",
    title="Requests take longer than on any healthy device",
    why="Whoever asked waits, for seconds.",
    remedy=(
        "Look for timeouts, resets and errors of this device in the kernel's log; then its SMART data, "
        "cable, slot and power.",
        "On an array, volume or network device: compare with the disks below, which may answer quickly.",
        "In a virtual machine: the disk may be shared, capped or failing on its host: ask who runs that.",
    ),
    needs=Needs(one_of=({"disk": ("ios_per_s|reads_per_s", "await_ms|read_await_ms|queue_depth")},)),
    thresholds={
        "least_ms": Threshold(200, "ms", "latency that somebody notices", "judgement: a person's patience"),
        "margin": Threshold(1.0, "x", "latency over the slowest sane one", "the table has the slowest"),
        "seconds_ms": Threshold(2000, "ms", "latency that is harm in any queue", "judgement: seconds each"),
        "least_requests": Threshold(10, "requests", "for high confidence", "a mean of 10 is known to 30 %"),
    },
    confirm=("dmesg -T | grep -iE 'timeout|reset|abort|I/O error|link'", "smartctl -x /dev/DEVICE"),
    references=("https://docs.kernel.org/admin-guide/iostats.html",),
    to_clear=ToClear(columns=("await_ms|read_await_ms|write_await_ms", "queue_depth")),
    detect=detect,
)
