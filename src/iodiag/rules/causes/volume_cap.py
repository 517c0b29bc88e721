"""A rate limiter, not the medium, fixes what the volume moves.

What it detects: a device with four and more requests in flight whose IOPS or throughput stay within 3 %
of one value while the queue doubles; or, on a device that does not spin and holds eight and more,
a steady rate that is a published or round limit.

Why it matters: more requests only wait longer; the limit is a setting or a price, not a repair.

When it is wrong: a device's own flat top looks alike, though it moves with the size and mix of the
requests; spinning disks pass for flat in every second window and are left out. A client that asks at a
steady pace has no queue. Links have ceilings as well, and are named as such. Vendors change their limits:
the list is dated.

References: Amazon EBS volume types; Azure managed disk types and bursting; Google persistent disk
performance; see caps.toml.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.array.stacks import topmost
from iodiag.analysis.load.caps import QUANTITIES
from iodiag.analysis.load.device_class import cloud_model, is_spinning, longest_unloaded
from iodiag.analysis.load.plateaus import Plateau, likeness, plateau, queue_range
from iodiag.analysis.load.queueing import levels, prepared, unloaded
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.episodes import is_sustained
from iodiag.analysis.measure.evidence import cite, say
from iodiag.analysis.measure.grading import confidence, when
from iodiag.analysis.measure.quantiles import percentiles
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per topmost device whose rate a limiter seems to fix."""
    found: dict[str, Plateau] = {}
    for series in view.devices:
        verdict = _judge(series, limits)
        if isinstance(verdict, Outcome):
            yield verdict
        else:
            found[series.name] = verdict
    for name, below in topmost(view, found).items():
        if (top := view.series(name)) is not None:
            yield _finding(top, found[name], below, limits)


def _judge(series: DeviceSeries, limits: Limits) -> Plateau | Outcome:
    if is_spinning(series):
        return Outcome(RULE.id, "clear", (series.name,), "spinning disks have flat tops of their own")
    samples = prepared(series)
    demand = weighted.values(samples, "at_once") >= limits.least_depth
    demand &= weighted.values(samples, "util") >= limits.least_util / 100
    demand &= ~(weighted.values(samples, "interval_s") > limits.longest)
    count, lengths = np.count_nonzero(demand), weighted.lengths(samples)
    is_few = count < limits.least_samples
    if is_few and (count < limits.least_flat or lengths[demand].sum() < limits.long_enough):
        return Outcome(RULE.id, "clear", (series.name,), "never a queue for long enough to show a limit")
    width, least = limits.flat / 100, int(limits.least_flat)
    tops = (
        plateau(samples, quantity, demand, width=width, least=least, while_busy=while_busy)
        for quantity in QUANTITIES
        for while_busy in (False, True)
    )
    found = [top for top in tops if top is not None]
    if not found:
        return Outcome(RULE.id, "clear", (series.name,), "its rate is not flat while it has a queue")
    best = max(
        found, key=lambda top: (_fits(top, limits), bool(top.cap), bool(top.round_rate), len(top.rows))
    )
    is_deep = weighted.mean(best.rows, "at_once") >= limits.steady_depth
    level = best.level
    is_deep &= level.latency_ms >= limits.waits * longest_unloaded(series, level.size_kb)
    is_known = is_spinning(series) is False and bool(best.cap or best.round_rate)
    if queue_range(series, best, limits.flat / 100) >= limits.queue_grows or (is_deep and is_known):
        return best
    return Outcome(RULE.id, "undetermined", (series.name,), _OPEN)


def _fits(top: Plateau, limits: Limits) -> bool:
    """Whether a limit of its quantity is the likelier one: of throughput for large requests of one size."""
    is_large = top.level.size_kb >= limits.large
    return top.other_range >= limits.varies or (top.quantity == "kb_per_s") == is_large


_OPEN = (
    "a flat rate under a steady queue: a limit, or what the device can do; another queue or another size of "
    "request would tell"
)


def _finding(series: DeviceSeries, top: Plateau, below: tuple[str, ...], limits: Limits) -> Finding:
    witnesses = tuple(_witnesses(series, top, limits))
    points = 1 + sum(item.weighs == "for" for item in witnesses) - (is_spinning(series) is None)
    sure = confidence(points, at_most="medium" if is_sustained(top.rows) else "low")
    level = top.level
    severity: Severity = "warning" if sure != "low" and level.latency_ms >= limits.least_harm else "notice"
    severity = "info" if sure == "low" and top.cap is None else severity
    low, high = percentiles(weighted.values(top.rows, "at_once"), 10, 90)
    values: dict[str, float | str] = {
        "device": series.name,
        "rate": top.shown(top.rate),
        "unit": top.unit,
        "variation": 100 * top.variation,
        "count": len(top.rows),
        "low": low,
        "high": high,
        "size": level.size_kb,
        "latency": level.latency_ms,
    }
    by = "the ceiling of its link" if top.cap is not None and top.cap.is_link else "a rate limit"
    text = "{rate} {unit} in {count} samples, give or take {variation:.1f} %, with {low} to {high} in flight"
    return RULE.finding(
        limits,
        severity=severity,
        confidence=sure,
        devices=(series.name, *below),
        **when(top.rows),
        summary=say(
            "{device} seems to be held by " + by + ": {rate} {unit} whatever the queue, {latency} ms each.",
            values,
        ),
        evidence=(
            cite(top.rows, text + " ({size:.1f} kB per request)", values, worst="queue_depth"),
            *witnesses,
        ),
        cannot_know=("who limits: the volume, the instance, the hypervisor or the array",),
    )


def _witnesses(series: DeviceSeries, top: Plateau, limits: Limits) -> Iterator[Evidence]:
    depths = queue_range(series, top, limits.flat / 100)
    if depths >= limits.queue_grows:
        text = "the queue ranged over {depths:.1f}x meanwhile and moved nothing more"
        yield cite(top.rows, text, {"depths": depths})
    yield from likeness(top)
    if top.other_range >= limits.varies:
        text = "the other of IOPS and throughput ranged over {others:.1f}x meanwhile: only one is held"
        yield cite(top.rows, text, {"others": top.other_range})
    if model := cloud_model(series):
        yield cite(None, "its model is {model}", {"model": model})
    longest, kinds = float(weighted.values(top.rows, "cost_ms").max()), set(top.rows["kind"].tolist())
    for kind in levels(series):
        alone = unloaded(series, kind) if kind[0].kind in kinds else None
        if alone is not None and alone.is_measured and longest >= 3 * alone.latency_ms:
            text = "requests wait up to {longest} ms where one alone takes {alone} ms"
            yield cite(top.rows, text, {"longest": longest, "alone": alone.latency_ms})
            return


RULE = Rule(
    id="volume-cap",
    role="cause",
    explains=("symptom", "true-saturation", "approaching-saturation"),
    title="A rate limit holds the volume",
    why="Requests wait for a meter, not for a device.",
    remedy=(
        "Raise the provisioned IOPS or throughput, or the size of the instance, or the quality-of-service "
        "setting.",
        "Bound by IOPS: send larger requests; bound by throughput: send less.",
    ),
    needs=Needs(one_of=({"disk": ("util_pct", "queue_depth", "ios_per_s|reads_per_s")},)),
    thresholds={
        "least_depth": Threshold(
            4, "requests", "depth while busy that is demand", "judgement: a steady client keeps 1.5 at most"
        ),
        "least_util": Threshold(
            70, "%", "util that goes with it", "judgement: below it see micro-burst-throttle"
        ),
        "steady_depth": Threshold(8, "requests", "depth under which a steady queue is demand", "judgement"),
        "waits": Threshold(2, "x", "latency over an unloaded device's, under a steady queue", "a real queue"),
        "large": Threshold(
            64, "kB", "size from which throughput is the likelier limit", "half the default readahead"
        ),
        "least_samples": Threshold(8, "samples", "samples with demand", "capacity rules need eight"),
        "long_enough": Threshold(30, "s", "demand that needs fewer samples", "five samples of sar at 6 s"),
        "least_flat": Threshold(5, "samples", "consecutive samples on the flat top", "judgement"),
        "flat": Threshold(
            3, "%", "variation on a flat top", "token buckets are exact; sampling edges make 1 %"
        ),
        "queue_grows": Threshold(2, "x", "range of the depth on the flat top", "elasticity 0.04 at the most"),
        "varies": Threshold(1.5, "x", "range of the other rate that shows which one is held", "judgement"),
        "longest": Threshold(60, "s", "sample length that shows a limit", "longer means hide it"),
        "least_harm": Threshold(2, "ms", "latency from which the limit hurts", "judgement"),
    },
    confirm=(
        "the volume's type and limits at the vendor; VolumeIOPSExceededCheck, disk IOPS consumed percentage",
        "fio at two sizes of request: a cap keeps IOPS or MB/s, a device neither",
    ),
    references=(
        "https://docs.aws.amazon.com/ebs/latest/userguide/ebs-volume-types.html",
        "https://learn.microsoft.com/azure/virtual-machines/disks-types",
    ),
    pictures=("ladder",),
    detect=detect,
)
