"""Samples are so long that their averages hide bursts.

What it detects: a device idle for a third of the time and more that holds 32 requests on the average
while it is busy, or four at twice the unloaded latency; and samples of a minute and more on a device that
others rules judge by its latency.

Why it matters: users feel the burst, the average shows neither its depth nor its rate.

When it is wrong: where util was counted in ticks, or a device idles because of few but long requests.
Samples of a second are as short as these tools go, and are not reported.

References: N/U and X/U are depth and rate while busy; AWS re:Post on EBS micro-bursts does the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.load.queueing import level_samples, load_levels, places_of, unloaded
from iodiag.analysis.measure.evidence import MOST_TOLD, Values, cite, say
from iodiag.analysis.measure.grading import device_fields
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import Floats, Mask, Table, stacked


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding for the devices with hidden bursts, one for those judged by long samples alone."""
    long: list[DeviceSeries] = []
    bursts: dict[str, Table] = {}
    for series in view.devices:
        rows = _bursts(series, limits)
        if rows is not None:
            bursts[series.name] = rows
        elif _is_long(series, limits):
            long.append(series)
        elif _bursts(series, limits, least=1) is not None:
            reason = "a sample or two with a deep queue at little util: bursts, or the edge of a load"
            yield RULE.undetermined(reason, series.name)
        elif _is_deep(series.loaded, limits).any():
            reason = "a deep queue for a part of the time: bursts shorter than a sample"
            yield RULE.undetermined(reason, series.name)
        else:
            yield RULE.clear("no sign of bursts within a sample", series.name)
    if bursts:
        yield _finding(view, bursts, limits)
    if long:
        yield _averaged(long, limits)


def _is_deep(samples: Table, limits: Limits) -> Mask:
    """The samples whose mean in flight was there in a part of the time only, and deep then."""
    depth, util = samples.floats("depth"), samples.floats("util")
    is_partly = (util <= limits.part / 100) & (util > 0)
    is_partly &= samples["is_util_trusted"]
    return np.asarray((depth >= limits.flood * util) & is_partly, dtype=np.bool_)


def _bursts(series: DeviceSeries, limits: Limits, least: float | None = None) -> Table | None:
    """The samples that hold a burst, worst kind of request first."""
    frame = level_samples(series)
    at_once, length = frame.floats("at_once"), frame.floats("interval_s")
    mask = (at_once >= limits.flood) | (at_once >= limits.queue)
    mask &= (frame.floats("util") <= limits.most_util / 100) & ~(length <= limits.shortest)
    mask &= frame["is_util_trusted"]
    if not mask.any():
        return None
    mask &= (at_once >= limits.flood) | (_inflation(series, frame, mask) >= limits.inflation)
    # in short samples a load that begins or ends within one looks alike: that is no pattern
    is_long = ~(length < limits.longest)
    enough = np.count_nonzero(mask) >= (least or limits.least_samples) or bool((mask & is_long).any())
    return frame[mask] if enough and mask.any() else None


def _inflation(series: DeviceSeries, frame: Table, wanted: Mask) -> Floats:
    """Latency over that of a request alone, of the kinds of request that `wanted` samples have; else NaN."""
    inflation = np.full(len(frame), np.nan)
    for kind in load_levels(series):
        places = places_of(kind)
        if wanted[places].any() and (alone := unloaded(series, kind)) is not None:
            inflation[places] = frame.floats("cost_ms")[places] / alone.latency_ms
    return inflation


def _finding(view: View, bursts: dict[str, Table], limits: Limits) -> Finding:
    told = sorted(bursts, key=lambda name: -float(bursts[name]["at_once"].max()))
    evidence = []
    for name in told[:MOST_TOLD]:
        series = view.series(name)
        values = _numbers(name, bursts[name]) | {"all": len(series.loaded) if series is not None else 0}
        text = (
            "{device}: util {util} % with {depth} in flight is {at_once:.1f} in flight and "
            "{busy_rate:.0f} requests/s while busy, against {rate} on the average{middle} ({count} of {all} "
            "samples with load)"
        )
        evidence.append(cite(bursts[name], text, values, worst="at_once"))
    first = _numbers(told[0], bursts[told[0]])
    return RULE.finding(
        severity="notice",
        confidence="medium" if float(first["most"]) >= limits.flood else "low",
        **device_fields(bursts[told[0]], *told),
        summary=say(
            "{device} works in bursts that the samples average away: {at_once:.1f} in flight while it is "
            "busy, not {depth}{middle}.",
            first,
        ),
        evidence=tuple(evidence),
        refutes=("samples of one second that show the same depth throughout",),
        cannot_know=("how long the bursts are: only shorter samples tell",),
    )


def _numbers(name: str, rows: Table) -> Values:
    """The numbers of the sample in the middle by depth while busy, and the `most` of all of them."""
    order = np.argsort(rows.floats("at_once"))
    row, most = rows[order[[(len(order) - 1) // 2]]], rows.floats("at_once").max()
    found: Values = {
        "device": name,
        "util": float(row.floats("util_pct")[0]),
        "depth": float(row.floats("depth")[0]),
        "at_once": float(row.floats("at_once")[0]),
        "rate": float(row.floats("ios_per_s")[0]),
        "busy_rate": float((row.floats("ios_per_s") / row.floats("busy"))[0]),
        "count": len(rows),
        "most": float(most),
    }
    return found | {"middle": say(", in the median sample; up to {most:.1f}", found) * (len(rows) > 1)}


def _is_long(series: DeviceSeries, limits: Limits) -> bool:
    """Whether some sample of a minute and more has enough load for a rule to judge its latency."""
    frame = series.loaded
    is_long = frame.floats("interval_s") >= limits.longest
    if not is_long.any():
        return False
    is_judged = (frame.floats("util") >= limits.judged_util / 100) | (frame.floats("depth") >= 1)
    return bool((is_judged & is_long).any())


def _averaged(found: list[DeviceSeries], limits: Limits) -> Finding:
    rows = stacked([s.loaded[s.loaded.floats("interval_s") >= limits.longest] for s in found])
    lengths = rows.floats("interval_s")
    values: Values = {
        "shortest": float(lengths.min()),
        "longest": float(lengths.max()),
        "count": len(rows),
        "devices": ", ".join(series.name for series in found),
    }
    # a paste may leave some out: then no row is as long as the median
    is_even = round(lengths.min()) == round(lengths.max())
    length = "{longest:.0f} s" if is_even else "{shortest:.0f} to {longest:.0f} s"
    return RULE.finding(
        severity="info",
        confidence="high",
        **device_fields(found[0].loaded, *(series.name for series in found)),
        summary=say(f"Samples are {length} long: bursts within them do not show.", values),
        evidence=(cite(rows, f"{{count}} samples of {length} for {{devices}}", values),),
    )


RULE = Rule(
    id="interval-too-long",
    role="reading",
    title="The samples are too long to show bursts",
    why="A mean over idle and busy time describes neither.",
    remedy=("Capture with iostat -xy -t 1 (or sadc 1) while the trouble lasts.",),
    needs=Needs(one_of=({"disk": ("util_pct", "queue_depth", "ios_per_s|reads_per_s")},)),
    thresholds={
        "most_util": Threshold(
            70, "%", "util below which a deep queue means bursts", "judgement: idle a third of the time"
        ),
        "part": Threshold(90, "%", "util below which a deep queue was not there all the time", "judgement"),
        "queue": Threshold(
            4, "requests", "depth while busy, with inflated latency", "judgement: more than one client"
        ),
        "inflation": Threshold(2, "x", "that inflation", "the line up to which a device is calm"),
        "flood": Threshold(
            32, "requests", "depth while busy that needs no latency", "the depth of a SATA queue (NCQ)"
        ),
        "shortest": Threshold(1.5, "s", "sample length that needs no remedy", "the shortest is a second"),
        "longest": Threshold(60, "s", "sample length from which any mean hides bursts", "judgement"),
        "least_samples": Threshold(
            3, "samples", "samples of less than a minute that show it", "judgement: not the edge of a load"
        ),
        "judged_util": Threshold(30, "%", "util from which a device's latency is of interest", "judgement"),
    },
    confirm=("iostat -xyt 1 60", "biolatency -D 1 10"),
    references=("https://repost.aws/knowledge-center/ebs-identify-micro-bursting",),
    to_clear=ToClear(columns=("kb_per_s", "queue_depth")),
    detect=detect,
)
