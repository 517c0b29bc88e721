"""Some numbers of the capture cannot all be true.

What it detects: values beyond any device and latencies without a request (those samples are left out
of every other rule); util beyond 100 %; a depth below what rates and latencies make of it; sizes that
contradict bytes and requests; CPU shares that do not add up to 100 %.

Why it matters: a conclusion is as good as its numbers. A counter that runs backwards, a column that slid
and a mistyped paste all look like trouble with the storage.

When it is wrong: kernels before 5.0 take the depth from what is in flight and the latency from what
completes, so the two differ while a queue grows or drains, and on stacked devices always; there the
depth is not held against the rates. Util slightly beyond 100 % is timer skew.

References: block/genhd.c and diskstats of the Linux kernel; sysstat issues 187 and 355.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from iodiag.derive import weighted
from iodiag.derive.evidence import cite, say
from iodiag.derive.grading import when
from iodiag.derive.requests import HALF_DIGIT
from iodiag.derive.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold

_SHARES = ("user_pct", "nice_pct", "system_pct", "iowait_pct", "steal_pct", "idle_pct")


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per device with impossible samples, and one for the CPU."""
    clear: list[str] = []
    for series in view.devices:
        evidence = tuple(_of_device(view, series, limits))
        if evidence:
            yield _finding(view, series, evidence, limits)
        else:
            clear.append(series.name)
    seen = {series.name for series in view.devices}
    if view.left_out is not None:
        for name, rows in view.left_out.groupby("device", observed=True, sort=False):
            if str(name) not in seen:
                yield _unusable(str(name), rows, limits)
    sums = tuple(_of_cpu(view, limits))
    if sums:
        yield RULE.finding(
            limits,
            severity="info",
            confidence="high",
            summary="The CPU's shares of time do not add up to 100 %: some column is missing or misread.",
            evidence=sums,
        )
    if clear or not view.devices:
        yield Outcome(RULE.id, "clear", tuple(clear), "the numbers agree with each other")


def _finding(view: View, series: DeviceSeries, evidence: tuple[Evidence, ...], limits: Limits) -> Finding:
    dropped = 0 if view.left_out is None else int((view.left_out["device"] == series.name).sum())
    share = dropped / (dropped + len(series.frame))
    return RULE.finding(
        limits,
        severity="notice" if share >= limits.dropped / 100 else "info",
        confidence="high",
        devices=(series.name,),
        **when(series.frame),
        summary=say("{device}: {first}.", {"device": series.name, "first": evidence[0].text}),
        evidence=evidence,
    )


def _unusable(name: str, rows: pd.DataFrame, limits: Limits) -> Finding:
    values: dict[str, float | str] = {"device": name, "count": len(rows)}
    return RULE.finding(
        limits,
        severity="notice",
        confidence="high",
        devices=(name,),
        summary=say("{device}: none of its {count} samples can be true.", values),
        evidence=(cite(rows, "{count} samples left out: " + str(rows["anomaly"].iloc[0]), values),),
    )


def _of_device(view: View, series: DeviceSeries, limits: Limits) -> Iterator[Evidence]:
    if view.left_out is not None:
        out = view.left_out[view.left_out["device"] == series.name]
        for reason, rows in out.groupby("anomaly", sort=False):
            values: dict[str, float | str] = {"count": len(rows), "all": len(out) + len(series.frame)}
            yield cite(rows, "{count} of {all} samples left out: " + str(reason), values)
    frame = series.frame
    util = weighted.values(frame, "util_pct")
    over = frame[util - HALF_DIGIT > limits.most_util]
    if len(over):
        values = {"count": len(over), "all": len(frame), "most": float(over["util_pct"].max())}
        text = "util beyond 100 % in {count} of {all} samples, up to {most} %: kept, as full"
        yield cite(over, text, values, worst="util_pct")
    yield from _little(view, series, limits)
    yield from _sizes(series, limits)


def _little(view: View, series: DeviceSeries, limits: Limits) -> Iterator[Evidence]:
    """Depth against rates times latencies, where the kernel derives one from the other (5.0 and later).

    A depth above them is time of flushes where the source has no column for these.
    """
    if series.is_stacked or not _is_from(view.kernel, (5, 0)):
        return
    frame = series.frame[~series.frame["is_idle"].to_numpy(dtype=bool)]
    ios, depth = weighted.values(frame, "ios_per_s"), weighted.values(frame, "depth")
    booked = ios * weighted.values(frame, "await_ms") / 1000
    slack = HALF_DIGIT * (1 + ios / 1000) + limits.residual / 100 * booked
    rows = frame[booked - depth > slack]
    if len(rows) >= limits.least_samples:
        values: dict[str, float | str] = {
            "count": len(rows),
            "depth": weighted.mean(rows, "queue_depth"),
            "booked": float(np.mean(booked[booked - depth > slack])),
        }
        text = "{count} samples show {depth} in flight where rate times latency makes {booked}"
        yield cite(rows, text, values, worst="await_ms")


def _sizes(series: DeviceSeries, limits: Limits) -> Iterator[Evidence]:
    """Printed sizes against bytes per request; far apart, not by rounding."""
    frame = series.frame
    printed, derived = weighted.values(frame, "request_size_kb"), weighted.values(frame, "size_kb")
    enough = (weighted.values(frame, "ios_per_s") >= 20) & (weighted.values(frame, "kb_per_s") >= 256)
    apart = np.maximum(printed, derived) > limits.size_ratio * np.minimum(printed, derived)
    rows = frame[apart & enough]
    if len(rows) >= limits.least_samples:
        values: dict[str, float | str] = {
            "count": len(rows),
            "printed": weighted.mean(rows, "request_size_kb"),
            "derived": weighted.ratio(rows, "kb_per_s", "ios_per_s"),
        }
        text = "{count} samples print {printed} kB per request where bytes by requests make {derived}"
        yield cite(rows, text, values)


def _of_cpu(view: View, limits: Limits) -> Iterator[Evidence]:
    cpu = view.table("cpu")
    if cpu is None or not set(_SHARES) <= set(cpu.columns):
        return
    sums = cpu[list(_SHARES)].sum(axis=1, skipna=False).to_numpy(dtype=np.float64)
    rows = cpu[(np.abs(sums - 100) > limits.cpu_slack) & (sums > 0)]
    if len(rows):
        worst = float(sums[(np.abs(sums - 100) > limits.cpu_slack) & (sums > 0)][0])
        yield cite(
            rows,
            "{count} CPU samples add up to something else, the first to {sum:.1f} %",
            {"count": len(rows), "sum": worst},
        )


def _is_from(kernel: str | None, least: tuple[int, int]) -> bool:
    match = re.match(r"(\d+)\.(\d+)", kernel or "")
    return match is not None and (int(match[1]), int(match[2])) >= least


RULE = Rule(
    id="counter-anomaly",
    title="Some numbers of the capture cannot be true",
    why="Conclusions from them would be about the counters, not about the storage.",
    remedy=("Capture again with a current sysstat; compare with two snapshots of /proc/diskstats.",),
    needs=Needs(
        one_of=({"disk": ("util_pct",)}, {"disk": ("ios_per_s|reads_per_s",)}, {"cpu": ("idle_pct",)})
    ),
    thresholds={
        "most_util": Threshold(
            102, "%", "util up to which it is timer skew", "seen up to 101.6 % on sound kernels"
        ),
        "residual": Threshold(
            5, "%", "depth missing against rate times latency", "measured 0.1 to 2 % on sound captures"
        ),
        "least_samples": Threshold(2, "samples", "samples that show it", "judgement: one may be a misprint"),
        "size_ratio": Threshold(
            1.5, "x", "between the sizes printed and derived", "judgement: far beyond rounding"
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
