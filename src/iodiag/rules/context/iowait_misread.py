"""%iowait says something else than it seems to.

What it detects: high iowait while no device queues anything (one patient reader, a few of them on a device
that does not spin, or tasks that wait for no disk that is shown: all of them hold half as many requests as
tasks wait, or fewer); low iowait while commits wait in line or a device
is saturated; and no iowait because busy CPUs hide it while a device is saturated.

Why it matters: iowait is idle time of a CPU on which a task sleeps on I/O. People look for disk trouble
where it is high and for none where it is low, and are wrong both ways.

When it is wrong: a single reader can be just what matters, and then its latency is the trouble. High
iowait beside a real queue is no misreading, nor is one that follows what is in flight from sample to sample;
this rule then keeps quiet. Where nothing completes, a device
that hangs shows neither traffic nor, on kernels from 5.0 on, a queue: the tasks may well wait for a disk.

References: proc_stat(5) on iowait; P. Zaitsev 2013, on idle and iowait together; sysstat issue 273.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.host.cpu import HELD_PCT, CpuShares, cpu_shares
from iodiag.analysis.host.who_waits import blocked, by_device, rows_at
from iodiag.analysis.load.saturation.classify import classify
from iodiag.analysis.load.saturation.judged_levels import THRESHOLDS
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import confidence, time_fields, when
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.measure.windows import is_sustained, longest
from iodiag.analysis.states.service_times import sane_limit_ms
from iodiag.analysis.view.device_traits import is_spinning
from iodiag.analysis.view.view import IDLE_IOS_PER_S, View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.model.units import KB_PER_PAGE
from iodiag.rules.causes.serialized_commit import commits
from iodiag.table.table import Table

MOST_TIMES = 10.0
"""Growth up to which it means something: of an idle CPU anything is many times as much."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """At most one finding per host: hidden trouble goes before an alarm about none."""
    side = misreading(view, limits)
    if isinstance(side, Side):
        yield _finding(side, limits)
    elif side:
        yield RULE.undetermined(side)
    elif not any(series.samples.has("depth") for series in view.devices) or view.average_only & {
        "disk",
        "cpu",
    }:
        reason = "no sample shows the CPUs and a device with its queue: iowait can be held against nothing"
        yield RULE.undetermined(reason)
    else:
        busy = next(_busy_without_iowait(view, limits), "")
        yield RULE.undetermined(busy) if busy else RULE.clear("iowait and the devices tell the same story")


def _busy_without_iowait(view: View, limits: Limits) -> Iterator[str]:
    """That a device is busy and has a queue while iowait is low, which is no sign that nobody waits."""
    judged = _defaults(THRESHOLDS)
    for series in view.devices:
        rows = series.samples[series.samples.floats("util") >= judged.full_util / 100]
        cpu = cpu_shares(view.cpu_at(rows)) if len(rows) else None
        depth = weighted.mean(rows, "depth") if len(rows) else 0.0
        if cpu is not None and cpu.iowait <= limits.low and depth > limits.one_at_a_time:
            values: Values = {"device": series.name, "iowait": cpu.iowait, "depth": depth}
            text = "iowait is {iowait:.1f} % while {device} is busy with {depth} requests in flight: whether "
            yield say(text + "tasks wait for them it does not tell", values)


def _finding(side: Side, limits: Limits) -> Finding:
    values = side.cpu.template_values()
    text = "{available:.1f} % of CPU time is unused (idle {idle:.1f} % plus iowait {iowait:.1f} %)"
    if side.cpu.ceiling <= MOST_TIMES and not side.is_full:
        text += ": up to {ceiling:.2f} times the work fits"
        if side.cpu.idle >= 1:
            text += ", not the {without_iowait:.2f} times that iowait alone suggests"
    if side.cpu.available <= limits.masked:
        text = (
            "the CPU has {idle:.1f} % idle and {iowait:.1f} % iowait: busy CPUs leave no idle time to count"
        )
    return RULE.finding(
        severity="info" if side.is_moment else side.severity,
        confidence=side.confidence,
        devices=side.devices,
        title=side.title or RULE.title,
        **time_fields(side.cpu.rows, of_host=True),
        summary=say(side.summary, values | {"device": side.devices[0] if side.devices else ""}),
        evidence=(cite(side.cpu.rows, text, values, worst="iowait_pct"), *side.evidence),
        refutes=("iowait that follows the number of requests in flight through the capture",),
        cannot_know=("which tasks waited, and for what: iowait counts idle CPUs, not waiting tasks",),
    )


WINDOW_EXIT_SHARE = 0.8

PART = 0.5
"""Requests in flight per task that waits below which most of the tasks wait for something else."""

MOMENT = 0.2
"""Share of the samples below which a few that do not last are a moment: nobody is misled by it."""


@dataclass(frozen=True)
class Side:
    """One way of being misled: the CPU's shares, a sentence, and what it rests on.

    `is_full` says that a device takes no more, however much CPU time is left.
    """

    summary: str
    cpu: CpuShares
    confidence: Confidence
    evidence: tuple[Evidence, ...] = field(default=(), repr=False)
    devices: tuple[str, ...] = ()
    severity: Severity = "notice"
    is_moment: bool = False
    is_full: bool = False
    title: str = ""


def misreading(view: View, limits: Limits) -> Side | str | None:
    """The side that misleads most, hidden trouble first; a reason where high iowait stays open; else None."""
    if view.has_only_cpu_averages:
        return None  # an average since boot says nothing of these samples
    hidden = _beside_saturation(view, limits)
    if hidden and hidden.severity == "notice":
        return hidden
    return _beside_commits(view, limits) or hidden or _high(view, limits)


def _defaults(thresholds: dict[str, Threshold]) -> Limits:
    return Limits({name: threshold.default for name, threshold in thresholds.items()})


def _beside_saturation(view: View, limits: Limits) -> Side | None:
    """Low or hidden iowait while a device is saturated beyond guessing."""
    judged = _defaults(THRESHOLDS)
    found = [
        (s, load)
        for s in view.devices
        for load in classify(view, s, judged)
        if load.verdict == "saturated" and load.basis in ("measured", "spindles")
    ]
    for series, load in sorted(found, key=lambda pair: -pair[1].level.span):
        cpu = cpu_shares(view.cpu_at(load.level.rows))
        if cpu is None or cpu.steal >= limits.steal:
            continue
        is_masked = cpu.available <= limits.masked
        if not is_masked and (cpu.iowait > limits.low or cpu.idle < limits.idle):
            continue
        depth: Values = {"device": series.name, "depth": load.level.depth, "latency": load.level.latency_ms}
        text = "{device} is saturated meanwhile: {depth} requests in flight at {latency} ms"
        hidden = "Busy CPUs hide the wait: iowait is {iowait:.1f} % though {device} is saturated."
        low = "iowait is only {iowait:.1f} % though {device} is saturated: it counts sleepers, not requests."
        at_most: Confidence = "high" if is_sustained(load.level.rows) else "low"
        return Side(
            hidden if is_masked else low,
            cpu,
            confidence(3 + (load.basis == "measured"), at_most=at_most),
            (cite(load.level.rows, text, depth, worst="latency_ms"),),
            (series.name,),
            "notice" if is_masked else "info",
            is_full=True,
        )
    return None


def _beside_commits(view: View, limits: Limits) -> Side | None:
    if view.cpu_all is None:
        return None
    judgement = commits.judge(view, _defaults(commits.THRESHOLDS))
    cpu = judgement.witnesses.cpu
    if judgement.confidence is None or cpu is None or cpu.iowait > limits.low or cpu.idle < limits.idle:
        return None
    summary = (
        "iowait is only {iowait:.1f} % though commits wait for the log: {available:.1f} % of the CPU is free."
    )
    text = "sessions that wait for another's commit sleep on a lock, which counts as idle"
    names = tuple(chain.series.name for chain in judgement.places)
    is_full = judgement.is_at_ceiling or commits.has_time(view, judgement, _defaults(commits.THRESHOLDS))
    evidence = (cite(cpu.rows, text, weighs="context"),)
    return Side(summary, cpu, judgement.confidence, evidence, names, is_full=is_full)


def _high(view: View, limits: Limits) -> Side | str | None:
    """High iowait: beside an idle disk, beside one request at a time, or with nothing to hold it against."""
    cpu = view.cpu_all
    if cpu is None:
        return None
    rows = longest(cpu, np.asarray(cpu.floats("iowait_pct") >= WINDOW_EXIT_SHARE * limits.high))
    shares = cpu_shares(rows)
    if rows is None or shares is None or shares.iowait < limits.high:
        return None
    disk, paging = rows_at(view, "disk", rows), rows_at(view, "paging", rows)
    blocked_tasks = blocked(view, rows)
    at_most: Confidence = "high" if is_sustained(rows) else "low"
    if disk is not None:
        side = _beside_disks(view, disk, shares, blocked_tasks, at_most, limits)
        if isinstance(side, Side) and any(_follows(view, name) for name in side.devices):
            return None
        is_moment = at_most == "low" and len(rows) < MOMENT * len(cpu)
        return replace(side, is_moment=is_moment) if isinstance(side, Side) else side
    if paging is None or not {"pgpgin_kb_per_s", "pgpgout_kb_per_s"} <= paging.names.keys():
        seen = when(rows, cpu) or f"in {len(rows)} of {len(cpu)} samples"
        text = f"iowait is {shares.iowait:.1f} % {seen}"
        return f"{text}, and nothing shows what the devices did then; iostat -x would settle it"
    traffic = paging.floats("pgpgin_kb_per_s") + paging.floats("pgpgout_kb_per_s")
    moved = median(traffic)
    if moved > IDLE_IOS_PER_S * KB_PER_PAGE:
        return "iowait is high beside real traffic; iostat -x would tell whether requests queue"
    evidence = cite(paging, "bytes read and written: {moved:.0f} kB/s in the median sample", {"moved": moved})
    return _of_others(_NO_IO, shares, confidence(3, at_most=at_most), evidence, _NO_TRAFFIC)


def _of_others(summary: str, shares: CpuShares, sure: Confidence, told: Evidence, title: str) -> Side:
    """Tasks wait for nothing that is shown: a host that mostly does is in trouble."""
    severity: Severity = "warning" if shares.iowait >= HELD_PCT else "notice"
    return Side(summary, shares, sure, (told,), severity=severity, title=title)


def _beside_disks(
    view: View,
    disk: Table,
    shares: CpuShares,
    blocked_tasks: tuple[Table, float] | None,
    at_most: Confidence,
    limits: Limits,
) -> Side | str | None:
    parts = dict(by_device(disk))
    means = {
        name: {column: weighted.mean(rows, column) for column in ("depth", "util", "ios_per_s")}
        for name, rows in parts.items()
    }
    if not means or any(np.isnan(mean["depth"]) for mean in means.values()):
        return None
    stuck = [device for device, mean in means.items() if mean["util"] >= 0.9 and not mean["ios_per_s"] > 0]
    if stuck := stuck or [device for device, rows in parts.items() if rows.has("held_besides")]:
        return f"iowait is high, and {stuck[0]} is busy all the time with what does not complete"
    name = max(means, key=lambda device: means[device]["depth"])
    rows, depth, util, ios = parts[name], *means[name].values()
    # a layer may hold what has not reached the devices below it
    held = max(depth, sum(mean["depth"] for one, mean in means.items() if not _is_layer(view, one)))
    waiters = shares.iowait / 100 * (view.cpus or 1)
    if held < PART * waiters and not depth < 0.1:
        in_flight: Values = {"held": held, "waiting": waiters, "share": 100 * held / waiters}
        text = "all devices together hold {held:.2f} requests in flight; at least {waiting:.2f} tasks wait"
        told = cite(disk, text, in_flight, worst="depth")
        summary = say(_OTHERS, in_flight | {"iowait": shares.iowait})
        return _of_others(summary, shares, confidence(3, at_most=at_most), told, _ELSEWHERE)
    if depth < 0.1 and not util >= 0.05:
        text = "no device completes or holds much: at most {depth} requests in flight ({device})"
        found = cite(rows, text, {"depth": depth, "device": name})
        return _of_others(_NO_IO, shares, confidence(4, at_most=at_most), found, _ELSEWHERE)
    at_once = depth / util if 0 < util <= depth else max(1.0, depth)
    discards = weighted.mean(rows, "discard_kb_per_s")
    has_crowd = blocked_tasks is not None and blocked_tasks[1] > max(limits.blocked, at_once)
    is_alone = at_once <= limits.one_at_a_time
    is_few = is_alone or (at_once <= limits.at_once and _is_parallel(view, name, rows))
    # discards wait above the block layer, where no queue shows
    if not is_few or has_crowd or discards > 0.05 * weighted.mean(rows, "kb_per_s"):
        return None
    values: Values = {"device": name, "depth": depth, "latency": weighted.mean(rows, "await_ms"), "ios": ios}
    text = "{device} served {ios} requests/s, {latency} ms each, {depth} in flight: "
    text += "one at a time, no queue" if is_alone else "as many as such a device serves at once"
    evidence = [cite(rows, text, values, worst="await_ms")]
    if blocked_tasks is not None:
        count: Values = {"tasks": blocked_tasks[1]}
        evidence.append(cite(blocked_tasks[0], "{tasks} tasks were blocked on I/O", count))
    points = 2 + (blocked_tasks is not None)
    if view.cpus:
        tasks: Values = {"tasks": shares.iowait * view.cpus / 100, "cpus": view.cpus, "iowait": shares.iowait}
        text = "{iowait:.1f} % of {cpus} CPUs is {tasks} waiting tasks"
        evidence.append(cite(shares.rows, text, tasks, worst="iowait_pct"))
        points += 1
    summary = _ONE_READER if is_alone else _FEW_READERS
    return Side(summary, shares, confidence(points, at_most=at_most), tuple(evidence), (name,))


def _follows(view: View, name: str) -> bool:
    """Whether as many CPUs wait as it has requests in flight in each sample, be they many or few."""
    series, cpu = view.series(name), view.cpu_samples
    if series is None or cpu is None or view.cpus is None:
        return False
    own, other = paired(series.samples, cpu)
    depth = series.samples.floats("depth")[own]
    waiting = cpu.floats("iowait_pct")[other] / 100 * view.cpus
    is_same = np.abs(depth - waiting) <= np.fmax(SAME_TASKS, SAME_SHARE * depth)
    return len(own) >= LEAST_PAIRS and bool(is_same.all() and np.ptp(depth) >= LEVELS_APART)


LEAST_PAIRS, SAME_TASKS, SAME_SHARE, LEVELS_APART = 3, 0.05, 0.05, 0.25
"""Samples of which iowait tells the requests in flight, how far the two may be apart there, as a number and a
share, and how far what is in flight has to range: of one level alone nothing follows."""


def _is_layer(view: View, name: str) -> bool:
    """Whether its requests are in flight on devices below it, too."""
    series = view.series(name)
    return series is not None and series.is_stacked


def _is_parallel(view: View, name: str, rows: Table) -> bool:
    """Whether a device that does not spin serves its requests as promptly as a healthy one of its class."""
    series = view.series(name)
    if series is None or is_spinning(series) is not False:
        return False
    return weighted.mean(rows, "await_ms") <= float(sane_limit_ms(series, weighted.mean(rows, "size_kb")))


_ELSEWHERE = "Tasks wait, mostly not for the devices shown"
_NO_TRAFFIC = "Tasks wait, and next to nothing is read or written"
_NO_IO = (
    "iowait is {iowait:.1f} % though next to nothing is moved: tasks wait for something else than a disk, or "
    "for a request that does not complete."
)
_OTHERS = (
    "iowait of {iowait:.1f} % is hardly time of the devices shown, which hold {held:.2f} requests in flight, "
    "{share:.0f} % of what waits at the most: tasks wait for something else, or for a device without a row."
)
_ONE_READER = (
    "iowait of {iowait:.1f} % is tasks that wait for {device} one request at a time: nothing queues."
)
_FEW_READERS = (
    "iowait of {iowait:.1f} % is a few tasks that each wait for one request of {device}, which does not spin "
    "and serves so many at once: it measures no queue."
)


RULE = Rule(
    id="iowait-misread",
    role="context",
    title="%iowait misleads here",
    why="iowait is idle time, counted only while a task of that CPU sleeps on I/O: it measures no load.",
    remedy=(
        "Judge by latency and requests in flight (iostat -x) and by pressure (/proc/pressure/io).",
        "Read idle and iowait together, as the CPU that more work could use.",
        "For high iowait without I/O see what the tasks wait in: cat /proc/PID/stack, /proc/PID/wchan.",
    ),
    needs=Needs(one_of=({"cpu": ("iowait_pct", "idle_pct")},)),
    thresholds={
        "high": Threshold(30, "%", "iowait that people call high", "judgement: 3 times the usual alarm"),
        "low": Threshold(
            10, "%", "iowait up to which nobody looks at disks", "the usual alarm of public rules"
        ),
        "idle": Threshold(25, "%", "idle time that makes low iowait striking", "judgement: a CPU of four"),
        "masked": Threshold(10, "%", "idle and iowait together that leave nothing to count", "proc_stat(5)"),
        "one_at_a_time": Threshold(1.5, "requests", "depth while busy, no queue", "measured: 1.0 to 1.05"),
        "at_once": Threshold(
            4, "requests", "depth that a device without spindles serves at once", "SATA SSDs: 4 to 8 channels"
        ),
        "blocked": Threshold(2, "tasks", "blocked tasks that are no crowd", "judgement: reader and journal"),
        "steal": Threshold(10, "%", "steal that makes CPU shares doubtful", "awesome-prometheus-alerts"),
    },
    confirm=("iostat -xyt 1", "vmstat 1", "cat /proc/pressure/io", "ps -eo state,wchan:32,cmd | grep ^D"),
    references=("https://man7.org/linux/man-pages/man5/proc_stat.5.html",),
    pictures=("cpu",),
    detect=detect,
)
