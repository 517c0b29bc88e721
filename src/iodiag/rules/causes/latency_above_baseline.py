"""A device answered more slowly, for hours, than it usually does at that hour and load.

What it detects: in an archive of five days and more, stretches of two hours and longer in which most requests
of one direction took at least half as long again as requests of that size, at that load, usually take on
this device at that hour of the day (of the week, with three weeks), beyond what these hours vary by.

Why it matters: a fixed limit knows neither the device nor the hour. What a device is used to is the fairest
yardstick for it, and the hour at which it stopped being so is where to look for the cause.

When it is wrong: locality is not recorded, so that a new job that seeks looks like a slower disk. A load in
shorter bursts than the samples are long looks like less load than it is. What recurs at the same hour of
three days or more is learned as normal for it, good or bad; and what lasts for more than half of the archive
is the new normal: then backend-latency-shift, which looks for one step and knows no hours, may see it.
Hours are those of the clock that the captures show; a change to summer time shifts them.

References: B. Iglewicz and D. C. Hoaglin 1993, How to Detect and Handle Outliers, on the robust z-score;
Perseus (FAST 2023) on latency regressed on load.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from iodiag.analysis.host.cpu import cpu_shares
from iodiag.analysis.load.baselines import (
    DAYS_BY_HOUR,
    LEAST_HOURS,
    RATIO,
    Z,
    by_hour,
    days_of,
    middle_of,
    unusual,
)
from iodiag.analysis.measure.changepoints import onset
from iodiag.analysis.measure.evidence import Values, cite, cite_origin, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.states.service_times import is_worth_reporting
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.table.table import Mask, Table

if TYPE_CHECKING:
    import pandas as pd

Run = Mapping[Any, Any]
"""One row of `baselines.departures`."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per device that departed from its baseline."""
    days = 0 if "disk" in view.average_only else days_of(series.samples for series in view.devices)
    if days < limits.days:
        reason = f"what is normal at an hour takes {limits.days:.0f} days of samples with a clock, not {days}"
        yield RULE.not_applicable(reason, missing=("an archive of days",))
        return
    disk = view.samples("disk")
    if disk is None:
        return
    hours = by_hour(disk)
    found, normal = unusual(hours, z=limits.z, ratio=limits.ratio, least_hours=int(limits.hours))
    known = set(normal["device"].astype(str))
    for series in view.devices:
        runs = found[found["device"].astype(str) == series.name]
        news = runs[~runs["is_recurring"]].sort_values("hours", ascending=False).to_dict("records")
        steal = _steal(view, _within(series, news[0])) if news else 0.0
        if series.name not in known:
            yield RULE.undetermined("too few hours of a like load to tell what is normal", series.name)
        elif news and steal < limits.steal:
            yield _finding(series, news, limits)
        else:
            yield RULE.clear(_reason(runs, steal >= limits.steal), series.name)


def _reason(runs: pd.DataFrame, is_stolen: bool) -> str:
    if is_stolen:
        return "latency left its baseline while the hypervisor withheld CPU time"
    if len(runs):
        at = ", ".join(sorted({f"{start:%H}:00" for start in runs["start"]})[:3])
        return f"slower at the same hours of several days, which is normal for them (from {at})"
    return "latency kept to what is normal at that hour and load"


def _within(series: DeviceSeries, run: Run) -> Table:
    return series.samples[_are_within(middle_of(series.samples), run)]


def _are_within(times: pd.Series, run: Run) -> Mask:
    within: Mask = ((times >= run["start"]) & (times < run["end"])).to_numpy(dtype=np.bool_)
    return within


def _steal(view: View, rows: Table) -> float:
    cpu = cpu_shares(view.cpu_at(rows))
    return cpu.steal if cpu is not None else 0.0


def _values(run: Run) -> Values:
    """What sentences about a run name."""
    return {
        "device": str(run["device"]),
        "request": "request" if run["direction"] == "mixed" else run["direction"],
        "start": f"{run['start']:%Y-%m-%d %H}:00",
        "end": f"{run['end']:%Y-%m-%d %H}:00",
        "hours": run["hours"],
        "latency": run["latency_ms"],
        "baseline": run["baseline_ms"],
        "ratio": run["ratio"],
        "windows": run["baseline_windows"],
        "grouping": "" if run["grouping"] == "archive" else f", at that {run['grouping']}",
        "load": run["load"],
        "rate": run["ios_per_s"],
    }


def _finding(series: DeviceSeries, runs: Sequence[Run], limits: Limits) -> Finding:
    run, rows = runs[0], _within(series, runs[0])
    points = 1 + run["is_same_load"] + (run["grouping"] != "archive") + (run["hours"] >= limits.long)
    points += (len({other["direction"] for other in runs}) > 1) - (series.rotational is True)
    sure = confidence(points, at_most="medium")
    severity: Severity = "warning" if run["ratio"] >= limits.warning and sure != "low" else "notice"
    if not is_worth_reporting(series, run["baseline_ms"], run["latency_ms"], rows):
        severity = "info"
    until = "" if middle_of(series.samples).max() < run["end"] else " until {end}"
    return RULE.finding(
        severity=severity,
        confidence=sure,
        **device_fields(rows, series.name),
        summary=say(
            "From {start}" + until + " {device} took {latency} ms a {request}, "
            "where {baseline} ms is normal at that hour and load.",
            _values(run),
        ),
        evidence=tuple(_evidence(series, runs, rows)),
        refutes=("requests that turned from sequential to random, or came in shorter bursts, at that time",),
        cannot_know=("what stands behind the device: a neighbour, a path, a rebuild or wear",),
    )


def _evidence(series: DeviceSeries, runs: Sequence[Run], rows: Table) -> Iterator[Evidence]:
    run, values = runs[0], _values(runs[0])
    told = (
        "a {request} took {latency} ms in {hours} hours from {start} to {end}: "
        "{ratio:.1f} times the {baseline} ms that is normal"
    )
    yield cite(rows, told, values, worst="await_ms")
    text = (
        "normal is the median of at least {windows} hours with as large requests, as many in flight{grouping}"
    )
    if not run["is_same_load"]:
        text = "as many in flight are new here: held against {windows} hours, as if it did no more than there"
    if len(usual := _usual(series, runs)):
        yield cite(usual, text, values)
    yield cite(rows, "the load was {rate} of them a second, {load} requests in flight while busy", values)
    yield from onset(series, int(rows["sample"].min()), within=max(2, len(rows) // run["hours"]))
    for other in runs[1:4]:
        text = "so did a {request} from {start} to {end}: {latency} ms, normal is {baseline} ms"
        yield cite(_within(series, other), text, _values(other))
    if series.rotational:
        text = "on a spinning disk ({origin}), requests that turned from sequential to random look the same"
        yield cite_origin(rows, text, {"origin": series.rotational_origin}, weighs="against")


def _usual(series: DeviceSeries, runs: Sequence[Run]) -> Table:
    """The samples of the hours of day in question, on the days without a departure."""
    middle = middle_of(series.samples)
    kept = series.samples.floats("ios_per_s") > 0
    for run in runs:
        kept &= ~_are_within(middle, run)
    if runs[0]["grouping"] != "archive":
        first, count = runs[0]["start"].hour, runs[0]["hours"]
        kept &= ((middle.dt.hour - first) % 24 < count).to_numpy(dtype=np.bool_)
    return series.samples[kept]


RULE = Rule(
    id="latency-above-baseline",
    replaces=("backend-latency-shift",),
    title="A device was slower than is normal for it at that hour and load",
    why="What this device usually takes for such requests is known; for hours it took more.",
    remedy=(
        "Look at what changed at that hour: deployments, new jobs, neighbours on the storage, failed paths.",
        "On disks of your own look at SMART data and the kernel's log of that hour.",
    ),
    needs=Needs(one_of=({"disk": ("queue_depth", "ios_per_s|reads_per_s")},)),
    thresholds={
        "days": Threshold(DAYS_BY_HOUR, "days", "of samples", "judgement: a median over fewer is none"),
        "z": Threshold(Z, "deviations", "robust, beyond the baseline", "Iglewicz and Hoaglin 1993"),
        "ratio": Threshold(RATIO, "x", "latency over the baseline's", "judgement: what users notice"),
        "hours": Threshold(LEAST_HOURS, "hours", "in a row", "judgement: one hour is one job"),
        "long": Threshold(6, "hours", "that make a departure surer", "judgement: longer than most jobs"),
        "warning": Threshold(3, "x", "from which on it is a warning", "Percona: three times is overload"),
        "steal": Threshold(2, "%", "steal that explains it instead", "judgement: it reaches latencies"),
    },
    confirm=("journalctl -k --since START", "smartctl -x /dev/DEVICE", "multipath -ll"),
    references=("https://www.usenix.org/conference/fast23/presentation/lu",),
    detect=detect,
)
