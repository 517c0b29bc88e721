"""A rate limit is hit within each sample, though the averages stay below it.

What it detects: a device that is idle part of the time and, whenever it is busy, moves the same rate,
while the average varies twofold and requests wait three times as long as alone.

Why it matters: monitoring shows half the provisioned rate, and users feel the full limit.

When it is wrong: a single disk serves a kind of request at a steady rate by itself, so that only devices
known not to spin are judged; and where util was counted in ticks, X/U means nothing.

References: AWS re:Post on EBS micro-bursts (operations divided by busy time).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.load.plateaus import Plateau, high_over_low, likeness, plateau
from iodiag.analysis.load.queueing import level_samples, load_levels, places_of, unloaded
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.states.service_times import CALM, SERVICE
from iodiag.analysis.view.device_traits import is_spinning
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import Mask, Table


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per device that seems to hit a limit in bursts."""
    for series in view.devices:
        top = _bursts(series, limits)
        if top is None:
            yield RULE.clear("no bursts of one rate", series.name)
        elif is_spinning(series) is not False:
            reason = (
                "bursts of one rate, as a single disk has by itself; lsblk -o NAME,ROTA would tell its class"
            )
            yield Outcome(RULE.id, "clear" if is_spinning(series) else "undetermined", (series.name,), reason)
        else:
            yield _finding(series, top)


def _bursts(series: DeviceSeries, limits: Limits) -> Plateau | None:
    frame, least = level_samples(series), int(limits.least_samples)
    busy = frame.floats("busy")
    part = (busy <= limits.most_busy / 100) & (frame.floats("at_once") >= limits.least_depth)
    if part.any():
        part &= _waits(series, frame, part, limits)
    # most of a plateau's samples lie on it
    if 2 * np.count_nonzero(part) < least:
        return None
    top = plateau(frame, "ios_per_s", part, width=limits.flat / 100, least=least, while_busy=True)
    return top if top is not None and high_over_low(top.rows, "ios_per_s") >= limits.varies else None


def _waits(series: DeviceSeries, frame: Table, part: Mask, limits: Limits) -> Mask:
    """Samples whose requests take several times as long as alone, measured or as the class has it.

    Looked up for the kinds of request that some sample of `part` has.
    """
    alone = np.full(len(frame), SERVICE["solid"].usual_ms * CALM / limits.inflation)
    for kind in load_levels(series):
        places = places_of(kind)
        if part[places].any() and (found := unloaded(series, kind)) is not None and found.is_measured:
            alone[places] = found.latency_ms
    return np.asarray(frame.floats("cost_ms") >= limits.inflation * alone)


def _finding(series: DeviceSeries, top: Plateau) -> Finding:
    known = tuple(likeness(top))
    values: Values = {
        "device": series.name,
        "rate": top.rate,
        **top.extent,
        "low": float(top.rows.floats("ios_per_s").min()),
        "high": float(top.rows.floats("ios_per_s").max()),
        "count": len(top.rows),
        "busy": 100 * weighted.mean(top.rows, "busy"),
    }
    text = "{count} samples: {low} to {high} requests/s on the average, {rate} while busy ({least} to {most})"
    return RULE.finding(
        severity="notice",
        confidence=confidence(2 + len(known), at_most="medium"),
        **device_fields(top.rows, series.name),
        summary=say(
            "{device} seems to hit a limit of {rate:.0f} requests/s in bursts, though busy only {busy:.0f} % "
            "of the time.",
            values,
        ),
        evidence=(cite(top.rows, text, values), *known),
        refutes=("a rate above it in samples of a second",),
        cannot_know=("bursts shorter than a sample",),
    )


RULE = Rule(
    id="micro-burst-throttle",
    title="Bursts run into a rate limit that averages hide",
    why="The limit is felt while every graph stays below it.",
    remedy=("Smooth the load (rate-limit the batch, vm.dirty_bytes), or raise the limit.",),
    needs=Needs(one_of=({"disk": ("util_pct", "queue_depth", "ios_per_s|reads_per_s")},)),
    thresholds={
        "most_busy": Threshold(90, "%", "busy time up to which it is bursts", "above it see volume-cap"),
        "least_depth": Threshold(4, "requests", "depth while busy", "judgement: demand beyond one client"),
        "flat": Threshold(5, "%", "variation of the rate while busy", "util of a few per cent is coarse"),
        "varies": Threshold(2, "x", "range of the average rate", "judgement: else it is one steady load"),
        "inflation": Threshold(3, "x", "latency over that of a request alone", "the line of overload"),
        "least_samples": Threshold(8, "samples", "samples that show it", "capacity rules need eight"),
    },
    confirm=("iostat -xyt 1 60 DEVICE",),
    references=("https://repost.aws/knowledge-center/ebs-identify-micro-bursting",),
    to_clear=ToClear(samples=8, longest_s=60, columns=("queue_depth", "util_pct")),
    detect=detect,
)
