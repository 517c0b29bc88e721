"""Performance stepped down to a flat baseline: burst credits ran out.

What it detects: a busy device whose IOPS or throughput drop at once to a flat lower rate, while the
queue does not shrink, requests keep their size and mix, and each takes at least twice as long.

Why it matters: the fast half of a test (or of the morning) is not what the volume sustains.

When it is wrong: a solid-state disk whose write cache is full, one that throttles for heat, or a noisy
neighbour step down as well; they seldom are as flat. A spinning disk that goes from one region of
work to another does the same and is left out.

References: Amazon EBS on gp2 credits (5.4 million; 3000 IOPS) and st1; Azure disk bursting.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.array.topmost_devices import once_per_stack
from iodiag.analysis.load import rate_limits
from iodiag.analysis.load.plateaus import RateStep, rate_step
from iodiag.analysis.load.queueing import level_of, level_samples
from iodiag.analysis.load.rate_limits import QUANTITIES
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.measure.time_per_kb import ways_of_both
from iodiag.analysis.measure.windows import by_stream, is_sustained, seconds
from iodiag.analysis.view.device_traits import is_spinning
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Table, stacked

GP2_CREDITS, GP2_BURST = 5.4e6, 3000.0
"""I/O credits of a full gp2 bucket, and the rate at which it is drained; refilled at the baseline's rate."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per stack with a device that stepped down under the same demand."""
    found: dict[str, RateStep] = {}
    for series in view.devices:
        step = None if is_spinning(series) else _step(series, limits)
        if step is None:
            yield RULE.clear("no step down under an unchanged demand", series.name)
        elif _lasts(step):
            found[series.name] = step
        else:
            (unit, scale), (high, low) = step.unit, step.rates
            values: Values = {"high": high / scale, "low": low / scale, "unit": unit}
            values |= {"before": len(step.before), "after": len(step.after)}
            yield RULE.undetermined(say(_SHORT, values), series.name)
    for series, told, below in once_per_stack(view, found):
        yield _finding(series, told, below, limits)


_SHORT = (
    "it steps down from {high} to {low} {unit} under the same demand, but {before} samples before that and "
    "{after} after it are few; the credit balance of that time would tell"
)


def _step(series: DeviceSeries, limits: Limits) -> RateStep | None:
    """The first step down that lasts, else one that does not, else None."""
    samples = level_samples(series)
    samples = samples[samples.floats("util") >= limits.least_util / 100]
    steps = [
        step
        for part in by_stream(samples)
        for quantity in QUANTITIES
        if (step := rate_step(part, quantity, int(limits.least_samples))) and _is_step(step, limits)
    ]
    return max(steps, key=_lasts, default=None)


def _lasts(step: RateStep) -> bool:
    return is_sustained(step.before) and is_sustained(step.after)


def _is_step(step: RateStep, limits: Limits) -> bool:
    """Whether the rate fell to a flat level while demand, size and mix stayed and latency rose."""
    high, low = step.rates
    return (
        step.ratio(step.quantity) <= 1 / limits.falls
        and high - low >= 3 * max(step.noises)
        and step.noises[1] <= limits.flat / 100 * low
        and step.ratio("at_once") >= limits.demand / 100
        and step.ratio("cost_ms") >= limits.slower
        and 1 / limits.same_size <= step.ratio("size_kb") <= limits.same_size
        and step.keeps_mix
    )


def _finding(series: DeviceSeries, step: RateStep, below: tuple[str, ...], limits: Limits) -> Finding:
    evidence = tuple(_evidence(step, limits))
    points = 1 + sum(item.weighs == "for" for item in evidence[1:]) + (is_spinning(series) is False)
    (unit, scale), (high, low) = step.unit, step.rates
    values: Values = {"device": series.name, "high": high / scale, "low": low / scale, "unit": unit}
    return RULE.finding(
        severity="warning",
        confidence=confidence(points, at_most="medium"),
        **device_fields(step.after, series.name, *below),
        summary=say(
            "{device} stepped down from {high} to {low} {unit} under the same demand: burst credits seem "
            "used up.",
            values,
        ),
        evidence=evidence,
        refutes=("a credit balance (BurstBalance) above zero at that time",),
        cannot_know=(
            "a full write cache of a solid-state disk, heat or a neighbour from a bucket that is empty",
        ),
    )


def _evidence(step: RateStep, limits: Limits) -> Iterator[Evidence]:
    before, after = level_of(step.before), level_of(step.after)
    (unit, scale), (high, low) = step.unit, step.rates
    values: Values = {
        "high": high / scale,
        "low": low / scale,
        "unit": unit,
        "depth_before": before.depth,
        "depth_after": after.depth,
        "fast": before.latency_ms,
        "slow": after.latency_ms,
        "size": after.size_kb,
    }
    text = (
        "from {high} to {low} {unit} with {depth_before} and then {depth_after} in flight, {fast} and then "
        "{slow} ms each, {size:.1f} kB per request"
    )
    apart, of_ways = ways_of_both(step.before, step.after)
    yield cite(stacked([step.before, step.after]), text + apart, values | of_ways, worst="await_ms")
    variation = 100 * step.noises[1] / low
    yield cite(step.after, "the low rate is flat: give or take {variation:.1f} %", {"variation": variation})
    steady = 100 * step.noises[0] / high
    if steady <= limits.flat:
        yield cite(step.before, "so was the high one: {variation:.1f} %", {"variation": steady})
    for rows, rate in ((step.before, high), (step.after, low)):
        yield from _known(rows, rate, step)
    yield from _gp2(step, low)


def _known(rows: Table, rate: float, step: RateStep) -> Iterator[Evidence]:
    quantity, (unit, scale) = step.quantity, step.unit
    cap, number = rate_limits.near(rate, quantity), rate_limits.round_number(rate, quantity)
    values: Values = {"rate": rate / scale, "its": unit}
    if cap is not None:
        values |= {"listed": cap.value / scale, "name": cap.name, "date": rate_limits.published()[0]}
        yield cite(rows, "{rate} is near {listed:g}, the limit of {name} (list of {date})", values)
    elif number is not None:
        yield cite(
            rows,
            "{rate} {its} is about {round:g} {unit}, a round number as settings are",
            values | dict(zip(("round", "unit"), rate_limits.in_its_unit(number, quantity), strict=True)),
        )


def _gp2(step: RateStep, low: float) -> Iterator[Evidence]:
    """Whether the high phase lasted as long as a full gp2 bucket of that baseline does."""
    lasted = seconds(step.before)
    if step.quantity != "ios_per_s" or low >= GP2_BURST or np.isnan(lasted):
        return
    full = GP2_CREDITS / (GP2_BURST - low)
    if abs(lasted / full - 1) <= 0.15:
        values: Values = {"lasted": lasted, "full": full, "size": low / 3}
        text = (
            "it lasted {lasted:.0f} s; a full bucket of an Amazon gp2 volume of {size:.0f} GiB lasts "
            "{full:.0f} s"
        )
        yield cite(step.before, text, values)


RULE = Rule(
    id="burst-bucket-empty",
    explains=(*SYMPTOMS_AND_SATURATION, "volume-cap", "backend-latency-shift", "latency-above-baseline"),
    title="Burst credits ran out",
    why="The volume delivers its baseline from here on, whatever it did before.",
    remedy=(
        "Look at the volume's burst balance or credits with the provider.",
        "Provision for the sustained load: a larger volume, or a type without credits (gp3, Premium SSD v2).",
        "Spread the load over time, so that credits can come back.",
    ),
    needs=Needs(one_of=({"disk": ("util_pct", "queue_depth", "ios_per_s|reads_per_s")},)),
    thresholds={
        "least_util": Threshold(70, "%", "util while demand is there", "judgement"),
        "least_samples": Threshold(3, "samples", "samples to each side of the step", "two are no level"),
        "falls": Threshold(1.5, "x", "fall of the rate", "bursts are 1.5 to 30 times their baseline"),
        "slower": Threshold(
            2, "x", "rise of latency", "judgement: with an unchanged queue it follows from the fall"
        ),
        "demand": Threshold(80, "%", "queue that is left after the step", "a closed load keeps its queue"),
        "same_size": Threshold(1.25, "x", "change of the size of requests", "judgement"),
        "flat": Threshold(
            3, "%", "robust deviation of a flat rate", "token buckets are exact; sampling edges make 1 %"
        ),
    },
    confirm=("iostat -xyt 10 60 DEVICE", "nvme smart-log /dev/DEVICE"),
    references=("https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html",),
    to_clear=ToClear(samples=8, busy_pct=70, columns=("queue_depth", "util_pct")),
    detect=detect,
)
