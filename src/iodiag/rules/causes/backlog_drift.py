"""More requests arrive than complete: the queue grows from sample to sample.

What it detects: on kernels before 5.0, samples in which rate times latency leaves a tenth of the depth
unexplained, three in a row: these requests have arrived and not completed.

Why it matters: the means still look bounded while the backlog grows.

When it is wrong: a load that starts makes one or two such samples. Kernels from 5.0 on derive the depth
from completed requests, so that nothing of the kind can show; there the rule does not apply.

References: block/genhd.c (time_in_queue); Little's law.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.measure.known_counter_bugs import version_of
from iodiag.analysis.measure.windows import is_sustained, longest
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.model.units import HALF_DIGIT
from iodiag.table.table import Table


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per device whose queue outgrows what completes."""
    version = version_of(view.kernel)
    names = [series.name for series in view.devices]
    if version is None:
        missing = ("banner with the kernel's version",)
        yield RULE.not_applicable("the kernel's version is unknown", *names, missing=missing)
        return
    if version >= (5, 0):
        reason, missing = "the kernel derives the depth from completed requests", ("kernel before 5.0",)
        yield RULE.not_applicable(reason, *names, missing=missing)
        return
    for series in view.devices:
        rows = _growing(series, limits)
        if rows is None:
            yield RULE.clear("what is in flight is what completes", series.name)
        else:
            yield _finding(series, rows, limits)


def _growing(series: DeviceSeries, limits: Limits) -> Table | None:
    samples = series.samples
    depth, booked = samples.floats("depth"), _booked(samples)
    slack = limits.residual / 100 * depth + HALF_DIGIT * (1 + samples.floats("ios_per_s") / 1000)
    mask = (depth - booked > slack) & ~samples["is_idle"]
    rows = longest(samples, mask, gap=0)
    return rows if rows is not None and len(rows) >= limits.least_samples else None


def _booked(samples: Table) -> np.ndarray:
    return np.asarray(samples.floats("ios_per_s") * samples.floats("await_ms") / 1000)


def _finding(series: DeviceSeries, rows: Table, limits: Limits) -> Finding:
    values: Values = {
        "device": series.name,
        "depth": weighted.mean(rows, "queue_depth"),
        "booked": float(np.mean(_booked(rows))),
        "count": len(rows),
    }
    text = "{count} samples in a row hold {depth} in flight where completed requests make {booked}"
    return RULE.finding(
        severity="notice",
        confidence=confidence(
            2 + (len(rows) >= 2 * limits.least_samples), at_most="medium" if is_sustained(rows) else "low"
        ),
        **device_fields(rows, series.name),
        summary=say(
            "The queue of {device} grows: {depth} in flight, of which {booked} complete in time.", values
        ),
        evidence=(cite(rows, text, values, worst="queue_depth"),),
        refutes=("a depth that falls again by as much",),
    )


RULE = Rule(
    id="backlog-drift",
    title="More requests arrive than complete",
    why="The queue, and with it every wait, keeps growing.",
    remedy=(
        "Limit what sends the requests; see what saturates the device.",
        "In /proc/diskstats the ninth number after the name is what is in flight now.",
    ),
    needs=Needs(one_of=({"disk": ("await_ms", "queue_depth", "ios_per_s|reads_per_s")},)),
    thresholds={
        "residual": Threshold(
            10, "%", "share of the depth that does not complete", "sound captures have 0.1 to 2 %"
        ),
        "least_samples": Threshold(3, "samples", "samples in a row", "a load that starts makes one or two"),
    },
    confirm=("grep -w DEVICE /proc/diskstats", "iostat -xyt 1 30 DEVICE"),
    references=("https://docs.kernel.org/admin-guide/iostats.html",),
    detect=detect,
)
