"""A device nears its knee: latency has grown two- to threefold, some throughput is left.

What it detects: requests that take two to three times as long as one alone, or longer while
throughput still grows with the queue; or, on an array of c known disks, from c + 1 to 2c + 1 requests in
flight, at which (N + c - 1)/c is two to three.

Why it matters: this is the trade between latency and throughput. A little more load turns it into a
queue; the ceiling can be told from the latency alone: 1/(I - 1) more throughput at the most.

When it is wrong: service times with a heavy tail break that bound by up to a third, disks that reorder
their queue by a quarter. What is wrong of true-saturation holds here as well.

References: as true-saturation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iodiag.analysis.load.load_sentences import (
    both_ways,
    disks_below,
    in_order,
    inflation,
    parallelism,
    state,
    template_values,
)
from iodiag.analysis.load.saturation.bursts import is_passing, longest_contiguous
from iodiag.analysis.load.saturation.devices_with_verdict import with_verdict
from iodiag.analysis.load.saturation.judged_levels import THRESHOLDS, JudgedLevel
from iodiag.analysis.measure.changepoints import onset
from iodiag.analysis.measure.evidence import cite, in_samples, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.measure.windows import is_sustained
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Confidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, ToClear


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per stack with a device that nears its limit and never passes it in the capture."""
    clear = "busy, without a queue that shows a limit to be near"

    def past(series: DeviceSeries, loads: Sequence[JudgedLevel]) -> Outcome | None:
        return _past(series, loads, limits)

    for found in with_verdict(view, RULE.id, limits, "approaching", clear, past):
        yield found if isinstance(found, Outcome) else _finding(*found)


def _past(series: DeviceSeries, loads: Sequence[JudgedLevel], limits: Limits) -> Outcome | None:
    near = [load for load in loads if load.verdict == "approaching"]
    if any(load.verdict == "saturated" for load in loads):
        return RULE.clear("past its limit in some sample, not near it", series.name)
    if near and is_passing(series, in_order(near), limits):
        reason = "near its limit in a sample or two alone: that passed, and is no lasting load"
        return RULE.undetermined(reason, series.name)
    return None


def _finding(series: DeviceSeries, loads: Sequence[JudgedLevel], below: tuple[str, ...]) -> Finding:
    lead = max(loads, key=lambda load: (load.basis == "measured", load.level.span))
    rows = in_order(loads)
    often = ", " + in_samples(len(series.samples))
    values = template_values(series, lead) | {"count": len(rows), "samples": len(series.samples)}
    points = 1 + {"measured": 1, "spindles": 2}.get(lead.basis, 0) + 2 * (lead.lower is not None)
    is_compared = lead.basis == "measured" and lead.lower is not None
    longest: Confidence = (
        "high" if is_sustained(longest_contiguous(series, rows)) or is_compared else "medium"
    )
    return RULE.finding(
        severity="notice",
        confidence=confidence(points, at_most=longest),
        **device_fields(rows, series.name, *below),
        summary=say(_SUMMARY + often + both_ways(lead) + ".", values),
        evidence=(
            state(series, lead),
            cite(rows, "it is so " + in_samples(len(series.samples)), values, weighs="context"),
            *inflation(series, lead),
            *parallelism(series, lead),
            *disks_below(lead),
            *onset(series, int(rows["sample"].min())),
        ),
        refutes=("throughput that at a deeper queue grows beyond the stated ceiling",),
        cannot_know=("percentiles: counters hold means only",),
    )


_SUMMARY = (
    "{device} nears its limit: a request takes {latency} ms at {depth} in flight, {inflation:.1f} times "
    "as long as alone; at most about {gain:.0f} % more throughput is left"
)

RULE = Rule(
    id="approaching-saturation",
    title="The device nears its limit",
    why="Latency has grown more than throughput can still grow.",
    remedy=("Plan capacity now; keep the queue near the number of requests that the device serves at once.",),
    needs=Needs(one_of=({"disk": ("util_pct", "queue_depth", "ios_per_s|reads_per_s")},)),
    thresholds=THRESHOLDS,
    confirm=("iostat -xyt 1 30 DEVICE", "biolatency -D 1 10"),
    references=("https://docs.kernel.org/admin-guide/iostats.html",),
    pictures=("ladder",),
    to_clear=ToClear(
        samples=1, columns=("await_ms|read_await_ms|write_await_ms", "util_pct", "queue_depth", "kb_per_s")
    ),
    detect=detect,
)
