"""%iowait says something else than it seems to.

What it detects: high iowait while no device queues anything (one patient reader, a few of them on a device
that does not spin, or tasks that wait for no disk that is shown: all of them hold half as many requests as
tasks wait, or fewer); low iowait while commits wait in line or a device
is saturated; and no iowait because busy CPUs hide it while a device is saturated.

Why it matters: iowait is idle time of a CPU on which a task sleeps on I/O. People look for disk trouble
where it is high and for none where it is low, and are wrong both ways.

When it is wrong: a single reader can be just what matters, and then its latency is the trouble. High
iowait beside a real queue is no misreading; this rule then keeps quiet. Where nothing completes, a device
that hangs shows neither traffic nor, on kernels from 5.0 on, a queue: the tasks may well wait for a disk.

References: proc_stat(5) on iowait; P. Zaitsev 2013, on idle and iowait together; sysstat issue 273.
"""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.analysis.measure.evidence import cite, say
from iodiag.analysis.measure.grading import time_fields
from iodiag.analysis.view.view import View
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.rules.context.iowait_misread.explanations import Side, misreading

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
        yield RULE.clear("iowait and the devices tell the same story")


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
        **time_fields(side.cpu.rows, of_host=True),
        summary=say(side.summary, values | {"device": side.devices[0] if side.devices else ""}),
        evidence=(cite(side.cpu.rows, text, values, worst="iowait_pct"), *side.evidence),
        refutes=("iowait that follows the number of requests in flight through the capture",),
        cannot_know=("which tasks waited, and for what: iowait counts idle CPUs, not waiting tasks",),
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
