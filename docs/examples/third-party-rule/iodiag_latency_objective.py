"""Reads take longer than this site promises.

What it detects: stretches of samples in which the reads of a device take longer, on the average,
than the objective that the site has set for its storage.

Why it matters: who uses the storage was promised this latency.

When it is wrong: a mean says nothing of the slowest requests, so an objective that is a percentile may be
missed although the mean keeps it. Background work (a backup, a scrub) may be nobody's concern.

References: the site's own service level; iostat(1) on r_await.
"""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import cite, say
from iodiag.analysis.measure.grading import device_fields
from iodiag.analysis.measure.windows import is_sustained, longest
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per device that misses the objective for long enough; the others are clear."""
    for series in view.devices:
        yield _judge(series, limits) or RULE.clear("reads keep the objective", series.name)


def _judge(series: DeviceSeries, limits: Limits) -> Finding | None:
    loaded = series.loaded
    rows = longest(loaded, loaded.floats("read_await_ms") > limits.objective)
    if rows is None or not is_sustained(rows):
        return None
    values = {
        "device": series.name,
        "latency": weighted.mean(rows, "read_await_ms"),
        "rate": weighted.mean(rows, "reads_per_s"),
        "objective": limits.objective,
        "samples": len(rows),
    }
    return RULE.finding(
        severity="warning",
        confidence="high",
        **device_fields(rows, series.name),
        summary=say("{device} takes {latency} ms per read where {objective} ms is the objective.", values),
        evidence=(
            cite(
                rows,
                "{rate} reads/s take {latency} ms each in {samples} samples; the objective is {objective} ms",
                values,
                worst="read_await_ms",
            ),
        ),
        cannot_know=("how the latency of single requests is spread: the counters hold means alone",),
    )


RULE = Rule(
    id="latency-objective",
    # somebody waits, whatever the cause: a finding of any rule that explains symptoms explains this one
    role="symptom",
    # and tasks are blocked, or stall, since they wait for such reads
    explains=("blocked-tasks", "psi-io-pressure"),
    title="Reads take longer than this site's objective",
    why="Who uses the storage was promised this latency.",
    remedy=("See what the other findings on this device name as the cause.",),
    needs=Needs(one_of=({"disk": ("read_await_ms|await_ms", "reads_per_s")},)),
    thresholds={"objective": Threshold(20, "ms", "longest mean read latency", "this site's service level")},
    references=("https://man7.org/linux/man-pages/man1/iostat.1.html",),
    detect=detect,
)
