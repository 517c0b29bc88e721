"""svctm is busy time divided by requests, no service time.

What it detects: a capture that prints svctm, and a device that overlaps requests: two and more in
flight while busy, or a svctm that falls while the requests take longer.

Why it matters: svctm falls as a parallel device gets busier, so it is lowest when the wait is worst.

When it is wrong: on a single spinning disk, which serves one request at a time, busy time per
request is a fair measure, and peers may be compared by it; known ones are left out.

References: iostat(1) of sysstat before 12.1.2, which removed the column as meaningless.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from iodiag.analysis.load.queueing import Level, load_levels
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import MOST_TOLD, Values, cite, say
from iodiag.analysis.measure.grading import device_fields
from iodiag.analysis.view.device_traits import spindles
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import stacked


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding for all devices whose svctm cannot be a service time, the plainest case first."""
    found: list[_Misread] = []
    for series in view.devices:
        is_serial = spindles(series, writes=False) == 1
        case = None if is_serial else _judge(series, limits)
        if is_serial:
            yield RULE.clear(_SERIAL, series.name)
        elif case is None and _contradicts(series):
            yield RULE.undetermined(_CONTRADICTED, series.name)
        elif case is None and _overlaps(series):
            yield RULE.undetermined(_OVERLAPS, series.name)
        elif case is None and series.is_untimed:
            reason = "its svctm and latency are printed as 0.00: not recorded, or less than the last digit"
            yield RULE.undetermined(reason, series.name)
        elif case is None:
            yield RULE.clear("requests do not overlap: svctm misleads little", series.name)
        else:
            found.append(case)
    if found:
        yield _finding(sorted(found, key=lambda case: -case.level.busy_depth))


_SERIAL = "a single disk serves one request at a time: busy time per request is a fair measure of it"
_CONTRADICTED = "svctm exceeds the latency in some sample"
_OVERLAPS = "requests overlap in some sample, by their number in flight or by a latency well above svctm"


def _overlaps(series: DeviceSeries) -> bool:
    """Whether in some sample more than one request was in flight, or took much longer than its svctm.

    Rate times latency is the number in flight, too, where what is printed of it is too small.
    """
    samples = series.loaded
    service, latency, depth = (samples.floats(name) for name in ("svctm_ms", "latency_ms", "depth"))
    is_several = depth >= AGREES * np.fmin(samples.floats("util"), 1.0)
    is_longer = latency >= AGREES * service + 2 * weighted.half_digit(samples)
    in_flight = samples.floats("ios_per_s") * latency / 1000
    is_in_flight = in_flight >= 2 * np.fmin(samples.floats("util"), 1.0) + 2 * weighted.half_digit(samples)
    is_overlapped = (depth >= 1) & (is_several | (service > 0) & is_longer)
    if (is_overlapped | (service > 0) & is_in_flight).any():
        return True
    # in a sample that completed few as well
    return bool(((series.samples.floats("svctm_ms") > 0) & (series.samples.floats("busy_depth") >= 2)).any())


def _contradicts(series: DeviceSeries) -> bool:
    """Whether some sample shows that svctm is no part of the latency."""
    samples = series.samples
    service, latency = samples.floats("svctm_ms"), samples.floats("latency_ms")
    return bool(((latency > 0) & (service > 1.1 * latency + 2 * weighted.half_digit(samples))).any())


class _Misread(NamedTuple):
    """A device, its deepest level, and the lightest one where svctm fell from it to the deepest."""

    name: str
    level: Level
    lighter: Level | None


def _judge(series: DeviceSeries, limits: Limits) -> _Misread | None:
    kinds = [with_svctm for kind in load_levels(series) if (with_svctm := [x for x in kind if _svctm(x) > 0])]
    for kind in kinds:
        if _falls(kind[0], kind[-1], limits):
            return _Misread(series.name, kind[-1], kind[0])
    deepest = max((kind[-1] for kind in kinds), key=lambda level: level.busy_depth, default=None)
    if deepest is None or deepest.busy_depth < limits.least_depth:
        return None
    if deepest.latency_ms < AGREES * _svctm(deepest):
        return None
    return _Misread(series.name, deepest, None)


AGREES = 1.5
"""Up to so many times its svctm a latency does not contradict it."""


def _finding(found: list[_Misread]) -> Finding:
    worst = next((case for case in found if case.lighter is not None), found[0])
    told = [worst, *(case for case in found if case is not worst)]
    evidence = []
    for case in told[:MOST_TOLD]:
        if case.lighter is not None:
            evidence.append(_contrast(case))
        evidence.append(_overlap(case))
    fell = "fell" if worst.lighter is not None else "read {svctm} ms"
    values: Values = {
        "device": worst.name,
        "svctm": _svctm(worst.level),
        "latency": _await(worst.level),
        "others": len(found) - 1,
    }
    more = " (and so on {others} more devices)" if len(found) > 1 else ""
    summary = (
        "svctm is no service time: on {device} it " + fell + " while requests took {latency} ms" + more + "."
    )
    return RULE.finding(
        severity="info",
        confidence="high",
        **device_fields(worst.level.rows, *(case.name for case in told)),
        summary=say(summary, values),
        evidence=tuple(evidence),
        refutes=("a device that serves one request at a time",),
    )


def _svctm(level: Level) -> float:
    return level.mean("svctm_ms")


def _await(level: Level) -> float:
    """What all requests took: a level may hold the latency of the direction that most of them have."""
    mixed = level.mean("latency_ms")
    return level.latency_ms if math.isnan(mixed) else mixed


def _falls(low: Level, high: Level, limits: Limits) -> bool:
    """Whether from the lighter level to the deeper one svctm falls and latency rises."""
    falls = _svctm(low) >= limits.falls * _svctm(high)
    return falls and high.latency_ms >= limits.rises * low.latency_ms


def _contrast(case: _Misread) -> Evidence:
    low, high = case.lighter or case.level, case.level
    values: Values = {
        "device": case.name,
        "low": _svctm(low),
        "high": _svctm(high),
        "short": low.latency_ms,
        "long": high.latency_ms,
        "shallow": low.depth,
        "deep": high.depth,
    }
    text = (
        "{device}: svctm fell from {low} to {high} ms while requests took {short} ms at {shallow} in flight "
        "and then {long} ms at {deep}"
    )
    return cite(stacked([low.rows, high.rows]), text, values)


def _overlap(case: _Misread) -> Evidence:
    level, util = case.level, weighted.mean(case.level.rows, "util_pct")
    values: Values = {
        "device": case.name,
        "svctm": _svctm(level),
        "depth": level.busy_depth,
        "latency": _await(level),
        "rate": level.rate,
        "util": util,
        "quotient": 10 * util / level.rate,
    }
    text = (
        "{device}: {depth} in flight while busy, {latency} ms each: svctm {svctm} ms is only the {util:.1f} "
        "% util divided by {rate} requests/s ({quotient} ms)"
    )
    return cite(level.rows, text, values)


RULE = Rule(
    id="svctm-misread",
    role="reading",
    title="svctm is no service time",
    why="It falls as a device overlaps more requests, and seems best when the wait is worst.",
    remedy=("Use await (r_await, w_await) and the queue; newer sysstat no longer prints svctm.",),
    needs=Needs(one_of=({"disk": ("svctm_ms", "util_pct", "queue_depth")},)),
    thresholds={
        "least_depth": Threshold(
            2,
            "requests",
            "depth while busy that a service time cannot explain",
            "utilisation law: U = X·S holds for one server",
        ),
        "falls": Threshold(1.5, "x", "fall of svctm", "measured: 7.52 → 1.66 ms on four disks"),
        "rises": Threshold(1.3, "x", "rise of latency", "measured: 7.8 → 108.7 ms at the same time"),
    },
    confirm=("biolatency -D 1 10",),
    references=("https://github.com/sysstat/sysstat/blob/master/CHANGES",),
    to_clear=ToClear(samples=1, requests=20),
    detect=detect,
)
