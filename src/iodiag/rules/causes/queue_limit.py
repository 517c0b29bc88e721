"""Requests are held back by a queue of fixed size.

What it detects: a disk whose requests in flight stay at the size of its queue (nr_requests, from sysfs)
while requests take several times as long as alone.

Why it matters: who comes next waits where no counter shows it.

When it is wrong: a benchmark's depth or a pool of threads fixes the queue just as well, at round numbers
alike; where fio or sysbench say theirs, that is the limit. The depth of the device's own queue (NCQ) is not
visible in these counters. Without sysfs a depth at a common size only leaves the question open.

References: Documentation/block/queue-sysfs (nr_requests, per direction before blk-mq).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.load.queueing import Level, UnloadedBaseline, load_levels, unloaded
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.measure.quantiles import percentiles
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.capture import Fact
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear

COMMON = (31, 32, 62, 63, 64, 128, 254, 255, 256, 1023, 1024)
"""Sizes that queues of drivers and adapters have: NCQ, virtio, SAS and FC per LUN, nr_requests."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per disk whose queue is pinned at its stated size."""
    for series in view.devices:
        pinned = None if series.is_stacked else _pinned(series, limits)
        if pinned is None and (depth := _steady(series, limits)):
            yield RULE.undetermined(say(_STEADY, {"depth": depth, "device": series.name}), series.name)
            continue
        if pinned is None:
            levels = (level for kind in load_levels(series) for level in kind)
            if any(len(level.places) >= limits.least_samples for level in levels):
                yield RULE.clear("its queue is not pinned at one depth", series.name)
            else:
                yield RULE.undetermined(say(_BRIEF, limits.as_dict()), series.name)
            continue
        level, alone = pinned
        client = _client(view, level, limits)
        size = _stated(series, level, limits)
        if client is not None:
            reason = say(
                "{depth} in flight is its client's: {said}", {"depth": level.depth, "said": client.text}
            )
            yield RULE.clear(reason, series.name)
        elif size is not None:
            yield _finding(series, level, alone, size)
        else:
            reason = say(
                "its depth stays at {depth}, a common size of queues: /sys/block/{device}/queue/nr_requests "
                "and the program's own depth would tell whose limit it is",
                {"depth": level.depth, "device": series.name},
            )
            yield RULE.undetermined(reason, series.name)


_BRIEF = "no load lasts for {least_samples:.0f} samples: whether its queue stays at one depth does not show"
_STEADY = (
    "its depth stays at {depth}, and nothing says what one request alone takes: the program's own depth and "
    "/sys/block/{device}/queue/nr_requests would tell whose limit it is"
)


def _steady(series: DeviceSeries, limits: Limits) -> float:
    """A depth above one client's that it keeps while busy, without a baseline; 0 where there is none."""
    for kind in load_levels(series):
        alone = unloaded(series, kind)
        for level in kind if alone is None or not alone.is_measured else ():
            depths = level.samples.floats("depth")[level.places]
            usual, many = percentiles(depths, 50, 90)
            if len(depths) >= limits.least_samples and usual >= 2 and many <= limits.steady * usual:
                return level.depth
    return 0.0


def _pinned(series: DeviceSeries, limits: Limits) -> tuple[Level, UnloadedBaseline] | None:
    """A level that stays at one depth near a known size of queue, with inflated latency."""
    stated = series.device.nr_requests if series.device else None
    sizes = (*COMMON, *((stated, 2 * stated) if stated else ()))
    for kind in load_levels(series):
        for level in kind:
            depths = level.samples.floats("depth")[level.places]
            if len(depths) < limits.least_samples:
                continue
            alone = unloaded(series, kind)
            if alone is None or not alone.is_measured:
                break
            if level.latency_ms <= limits.inflation * alone.latency_ms:
                continue
            usual, many = percentiles(depths, 50, 90)
            is_steady = many <= limits.steady * usual
            if is_steady and any(abs(usual / size - 1) <= limits.near / 100 for size in sizes):
                return level, alone
    return None


def _client(view: View, level: Level, limits: Limits) -> Fact | None:
    """An application that says it keeps that many requests in flight."""
    for fact in view.facts_of("fio", "sysbench", "pgbench"):
        jobs = np.nan_to_num(fact.number("jobs"), nan=1.0)
        for depth in (
            fact.number("iodepth") * max(jobs, 1.0),
            fact.number("threads"),
            fact.number("clients"),
        ):
            if depth > 0 and abs(level.depth / depth - 1) <= limits.client / 100:
                return fact
    return None


def _stated(series: DeviceSeries, level: Level, limits: Limits) -> int | None:
    """The size of its queue, or twice it (one per direction), if the depth is there."""
    stated = series.device.nr_requests if series.device else None
    if not stated:
        return None
    return next((n for n in (stated, 2 * stated) if abs(level.depth / n - 1) <= limits.near / 100), None)


def _finding(series: DeviceSeries, level: Level, alone: UnloadedBaseline, size: int) -> Finding:
    values: Values = {
        "device": series.name,
        "depth": level.depth,
        "size": size,
        "latency": level.latency_ms,
        "alone": alone.latency_ms,
        "times": level.latency_ms / alone.latency_ms,
        "origin": series.device.provenance.get("nr_requests", "sysfs") if series.device else "sysfs",
    }
    evidence: tuple[Evidence, ...] = (
        cite(level.rows, "{depth} in flight throughout; the queue holds {size} (from {origin})", values),
        cite(level.rows, "{latency} ms each, {times:.1f}x the {alone} ms of a request alone", values),
    )
    return RULE.finding(
        severity="notice",
        confidence=confidence(3, at_most="medium"),
        **device_fields(level.rows, series.name),
        summary=say("The queue of {device} is full: {depth} in flight of {size}.", values),
        evidence=evidence,
        refutes=("a program that keeps exactly that many requests in flight",),
        cannot_know=("the depth of the device's own queue",),
    )


RULE = Rule(
    id="queue-limit",
    explains=("true-saturation",),
    title="The request queue is full",
    why="Further requests wait before they are counted.",
    remedy=(
        "Usually none: a full queue is a symptom. Raise nr_requests or the LUN's queue_depth only if latency "
        "is low.",
    ),
    needs=Needs(one_of=({"disk": ("util_pct", "queue_depth", "ios_per_s|reads_per_s")},)),
    thresholds={
        "least_samples": Threshold(5, "samples", "samples at that depth", "judgement"),
        "steady": Threshold(1.03, "x", "90th percentile of the depth over its median", "a limit is exact"),
        "near": Threshold(3, "%", "distance from a size", "sampling edges"),
        "inflation": Threshold(3, "x", "latency over that of a request alone", "the line of overload"),
        "client": Threshold(5, "%", "distance from a program's depth", "64 threads kept 65.98 in flight"),
    },
    confirm=("cat /sys/block/DEVICE/queue/nr_requests /sys/block/DEVICE/device/queue_depth",),
    references=("https://docs.kernel.org/block/stat.html",),
    pictures=("ladder",),
    to_clear=ToClear(samples=5, busy_pct=70, columns=("kb_per_s", "queue_depth", "util_pct")),
    detect=detect,
)
