"""Some numbers of the capture cannot all be true.

What it detects: values beyond any device, latencies without a request and reports in which several disks
are busy for far more than all the time, whose length was measured wrongly (those samples are left out of
every other rule); util beyond 100 %; a depth below what rates and latencies make of it; sizes that
contradict bytes and requests; requests per second that both size and svctm contradict (these two are
believed); a latency of all requests outside of those of reads and writes; CPU shares
that do not add up to 100 %, or whose steal leaves no time for the work that was done; partitions that
move more than their disk, and layers that move many times as much as the only disk below them.

Why it matters: a conclusion is as good as its numbers. A counter that runs backwards, a column that slid
and a mistyped paste all look like trouble with the storage.

When it is wrong: kernels before 5.0 take the depth from what is in flight and the latency from what
completes, so the two differ while a queue grows or drains, and on stacked devices always; there the
depth is not held against the rates. Util slightly beyond 100 % is timer skew. Where the kernel in the
banner is known to count the queue too low, that is told with its source; distributions port repairs back,
so nothing is said by a version alone.

References: block/genhd.c and diskstats of the Linux kernel; sysstat issues 187 and 355.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.load.stalls import stalled
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, in_samples, say
from iodiag.analysis.measure.grading import time_fields
from iodiag.analysis.measure.known_counter_bugs import known_bug, of_bug
from iodiag.analysis.view.request_columns import BROKEN_TIME
from iodiag.analysis.view.view import DeviceSeries, View, report_numbers
from iodiag.model.finding import Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.rules.readings.counter_anomaly import contradictions
from iodiag.table.table import Table, by_text


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding for all devices with impossible samples, one for each spoilt device, one for the CPU."""
    clear: list[str] = []
    silent: list[str] = []
    slight: list[tuple[DeviceSeries, tuple[Evidence, ...]]] = []
    left_out: dict[str, Table] = {}
    mistimed: tuple[Finding, ...] = ()
    if view.left_out is not None:
        is_mistimed = view.left_out["anomaly"] == BROKEN_TIME
        left_out = dict(by_text(view.left_out[~is_mistimed], "device"))
        mistimed = (_mistimed(view, view.left_out[is_mistimed]),) if is_mistimed.any() else ()
    for series in view.devices:
        dropped = left_out.get(series.name)
        evidence = tuple(_of_device(view, series, dropped, limits))
        if not evidence:
            is_odd = stalled(series.samples).any() or contradictions.lacks_latency(series.samples)
            (silent if is_odd else clear).append(series.name)
        elif _share(dropped, series) >= limits.dropped / 100:
            yield _finding([(series, evidence)], "notice", view.kernel)
        else:
            slight.append((series, evidence))
    if slight:
        yield _finding(slight, "info", view.kernel)
    for name, rows in left_out.items():
        if view.series(name) is None:
            yield _unusable(name, rows)
    yield from mistimed
    shares = tuple(contradictions.of_cpu(view, limits))
    if shares:
        summary = f"The CPU's shares of time cannot be true: {shares[0].text}."
        yield RULE.finding(severity="info", confidence="high", summary=summary, evidence=shares)
    if silent:
        reason = "requests are in flight and none, or none with a latency, completes"
        yield RULE.undetermined(reason, *tuple(silent))
    if clear or not (view.devices or left_out or mistimed or shares):
        reason = "no number of it contradicts another by more than its kernel explains"
        yield RULE.clear(reason, *tuple(clear))


def _share(dropped: Table | None, series: DeviceSeries) -> float:
    count = 0 if dropped is None else len(dropped)
    return count / (count + len(series.samples))


def _finding(
    found: list[tuple[DeviceSeries, tuple[Evidence, ...]]], severity: Severity, kernel: str | None
) -> Finding:
    first, evidence = found[0]
    told = tuple(item for _, items in found for item in items)
    is_of_queue = any(map(contradictions.is_of_queue, told))
    bug = known_bug(kernel, "queue_depth", "too low") if is_of_queue else None
    more = f" (and {len(found) - 1} more devices)" if len(found) > 1 else ""
    return RULE.finding(
        severity=severity,
        confidence="high",
        devices=tuple(series.name for series, _ in found),
        **time_fields(first.samples),
        summary=f"{evidence[0].text}{more}.",
        evidence=(*told, *of_bug(bug, kernel)),
        references=(*RULE.references, *([bug.source] if bug else [])),
    )


def _unusable(name: str, rows: Table) -> Finding:
    values: Values = {"device": name, "count": len(rows)}
    return RULE.finding(
        severity="notice",
        confidence="high",
        devices=(name,),
        summary=say("{device}: none of its samples ({count}) can be true.", values),
        evidence=(cite(rows, "samples left out: {count}, for " + str(rows["anomaly"][0]), values),),
    )


def _mistimed(view: View, rows: Table) -> Finding:
    """One factor is wrong in all rates of a report; latencies and sizes are counts over counts."""
    disk = view.samples("disk")
    count, sound = (0 if part is None else len(np.unique(report_numbers(part)[0])) for part in (rows, disk))
    most = float(rows.floats("util_pct").max())
    values: Values = {"count": count, "all": count + sound, "most": most, "factor": most / 100}
    text = (
        "%util is far above 100 % on several disks at the same time "
        + in_samples(count + sound, "count", "all")
        + " (maximum {most} %): the tool measured the length of the sample wrongly, so all its rates, queue "
        "depths and %util are at least {factor:.3g} times too high"
    )
    away = "samples left out: latencies and sizes alone are true in them"
    return RULE.finding(
        severity="notice",
        confidence="high",
        devices=tuple(rows["device"].distinct()),
        **time_fields(rows),
        summary=say(text + ".", values),
        evidence=(cite(rows, text, values, worst="util_pct"), cite(rows, away, values)),
        remedy=(
            "Capture again and time it with another clock: `date` around two snapshots of /proc/diskstats.",
        ),
    )


def _of_device(view: View, series: DeviceSeries, dropped: Table | None, limits: Limits) -> Iterator[Evidence]:
    samples = series.samples
    if dropped is not None:
        for reason, rows in by_text(dropped, "anomaly"):
            values: Values = {"device": series.name, "count": len(rows), "all": len(dropped) + len(samples)}
            yield cite(rows, "{device}: {count} of {all} samples left out: " + reason, values)
    is_over = samples.floats("util_pct") - weighted.half_digit(samples) > limits.most_util
    if is_over.any():
        over = samples[is_over]
        values = {
            "device": series.name,
            "count": len(over),
            "all": len(samples),
            "most": float(over["util_pct"].max()),
        }
        text = "{device}: %util exceeds 100 % in {count} of {all} samples (maximum {most} %); "
        text += "counted as 100 %"
        latest = over.floats("latency_ms")
        excess = (over.floats("util_pct") - 100) / 100 * weighted.lengths(over)
        if (latest >= 1000 * excess).all() and latest.max() >= limits.late:
            values["latency"] = float(latest.max())
            text += "; requests that end after {latency} ms do that, as their time is counted then"
        yield cite(over, text, values, worst="util_pct")
    yield from contradictions.of_parts(view, series)
    yield from contradictions.of_wrapped(series)
    yield from contradictions.of_layer(view, series, limits)
    yield from contradictions.of_uncounted(series)
    yield from contradictions.of_rates(series)
    yield from contradictions.of_nothing_in_flight(series)
    yield from contradictions.of_depth(view, series, limits)
    yield from contradictions.of_sizes(series, limits)
    yield from contradictions.of_waits(series, limits)


RULE = Rule(
    id="counter-anomaly",
    role="reading",
    title="Some numbers of the capture cannot be true",
    why="Conclusions from them would be about the counters, not about the storage.",
    remedy=("Capture again with a current sysstat; compare with two snapshots of /proc/diskstats.",),
    to_clear=ToClear(requests=20, columns=("util_pct",)),
    needs=Needs(
        one_of=({"disk": ("util_pct",)}, {"disk": ("ios_per_s|reads_per_s",)}, {"cpu": ("idle_pct",)}),
        or_unsound=True,
    ),
    thresholds={
        "most_util": Threshold(102, "%", "util up to which it is timer skew", "up to 101.6 % on sound ones"),
        "late": Threshold(1000, "ms", "answer that may belong to the sample before", "judgement"),
        "residual": Threshold(
            5,
            "%",
            "depth or latency apart from what others make of it",
            "measured 0.1 to 2 % on sound captures",
        ),
        "least_samples": Threshold(
            2, "samples", "samples that show it", "judgement: one of several may be a misprint"
        ),
        "size_ratio": Threshold(1.5, "x", "between printed and derived", "judgement: far beyond rounding"),
        "layer": Threshold(
            4, "x", "kB/s of a layer over its only disk's", "judgement: a cache serves above it"
        ),
        "cpu_slack": Threshold(
            3, "%", "error of the sum of the CPU's shares", "vmstat rounds five shares to whole per cents"
        ),
        "dropped": Threshold(20, "%", "samples left out that spoil a capture", "judgement"),
    },
    confirm=("cat /proc/diskstats; sleep 1; cat /proc/diskstats", "uname -r", "iostat -V"),
    references=(
        "https://docs.kernel.org/admin-guide/iostats.html",
        "https://github.com/sysstat/sysstat/issues/355",
    ),
    detect=detect,
)
