"""The CPUs have no time left, and it is not I/O that takes it.

What it detects: at most 5 % idle and 5 % iowait while user and system work take 85 % and more. One sample
is enough to tell, three make it sure; fewer than one sample in ten are a note. Where tasks wait for I/O
on the mean, it has to be so in half of the samples.

Why it matters: work that waits for a CPU is slow whatever the storage does, and a program that gets no CPU
sends no requests.

When it is wrong: no iowait beside no idle time proves nothing about disks: iowait is idle time, and there
is none to count. Work at low priority (nice) gives way and does not count. One CPU of many can be exhausted
while their mean is not. A program that polls for its I/O takes all of a CPU by design.

References: proc_stat(5) on idle and iowait; sar(1), -u and -q.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from iodiag.analysis.host.waiting import rows_at
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, in_samples, say
from iodiag.analysis.measure.grading import time_fields
from iodiag.analysis.measure.windows import seconds
from iodiag.analysis.view.view import View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.table.table import Table


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding per host."""
    cpu = view.cpu_all
    if cpu is None:
        return
    # what gives way (nice) does not count; interrupts are part of system
    work = cpu.floats("user_pct") + cpu.floats("system_pct")
    is_out = (cpu.floats("idle_pct") <= limits.idle) & (work >= limits.busy)
    is_out &= ~(cpu.floats("iowait_pct") > limits.iowait) & ~(cpu.floats("steal_pct") >= limits.steal)
    if not is_out.any():
        busiest = float(np.nanmax(cpu.floats("user_pct") + cpu.floats("system_pct")))
        if busiest >= limits.near:
            reason = f"the CPUs were up to {busiest:.0f} % busy: more of the run queue would tell"
            yield RULE.undetermined(reason)
        else:
            yield RULE.clear("the CPUs have time left, or something else takes it")
        return
    # where tasks wait for I/O in the other samples, they are the trouble
    others_wait = weighted.mean(cpu, "iowait_pct", "cpu") >= limits.others_wait
    if others_wait and 2 * np.count_nonzero(is_out) < len(cpu):
        reason = (
            f"no CPU time was left in {np.count_nonzero(is_out)} of {len(cpu)} samples; in the others tasks "
            "wait for I/O"
        )
        yield RULE.undetermined(reason)
        return
    yield _finding(view, cpu, cpu[is_out], limits, others_wait=others_wait)


def _finding(view: View, cpu: Table, rows: Table, limits: Limits, *, others_wait: bool) -> Finding:
    samples = len(cpu)
    is_lasting = len(rows) >= limits.share / 100 * samples or seconds(rows) >= limits.seconds
    is_moment = len(rows) < limits.moment / 100 * samples and not is_lasting
    values: Values = {
        "user": weighted.mean(rows, "user_pct", "cpu"),
        "system": weighted.mean(rows, "system_pct", "cpu"),
        "idle": weighted.mean(rows, "idle_pct", "cpu"),
        "iowait": weighted.mean(rows, "iowait_pct", "cpu"),
        "count": len(rows),
        "samples": samples,
    }
    often = in_samples(samples)
    text = "user {user:.0f} %, system {system:.0f} %, idle {idle:.1f} %"
    # old kernels count none
    iowait = "" if math.isnan(float(values["iowait"])) else ", iowait {iowait:.1f} %"
    return RULE.finding(
        severity="info" if is_moment else "warning" if is_lasting and not others_wait else "notice",
        confidence="high" if len(rows) >= limits.samples else "medium",
        **time_fields(rows, of_host=True),
        summary=say(f"The CPUs have no time left: {text}, {often}.", values),
        evidence=(
            cite(rows, f"{text}{iowait} ({often})", values, worst="system_pct"),
            *_runnable(view, rows),
        ),
        refutes=("a device that is full or waiting meanwhile", "programs that poll by design"),
        cannot_know=(
            "which programs take the time: top and perf tell",
            "what the disks did, where none is shown: without idle time there is no iowait",
        ),
    )


def _runnable(view: View, rows: Table) -> Iterator[Evidence]:
    """How many tasks want to run, where that is shown."""
    queue = rows_at(view, "queue", rows)
    if queue is None:
        return
    tasks = weighted.mean(queue, "run_queue", "queue")
    if tasks > (view.cpus or 1):
        on = " on {cpus} CPUs" if view.cpus else ""
        values: Values = {"run_queue": tasks, "cpus": view.cpus or 0}
        yield cite(queue, "{run_queue:.0f} tasks want to run" + on, values, worst="run_queue")


RULE = Rule(
    id="cpu-exhausted",
    role="elsewhere",
    title="The CPUs have no time left",
    why="Work that waits for a CPU is slow whatever the storage does.",
    remedy=(
        "See what takes the time: top, or perf top for the kernel's part.",
        "Judge the storage again when the CPUs have idle time, or by its latency alone.",
    ),
    needs=Needs(one_of=({"cpu": ("user_pct", "system_pct", "idle_pct")},)),
    thresholds={
        "idle": Threshold(5, "%", "idle time that is none", "judgement: the usual alarm is at 95 % busy"),
        "iowait": Threshold(5, "%", "iowait from which CPUs have time", "proc_stat(5): iowait is idle time"),
        "busy": Threshold(85, "%", "user and system work", "judgement: the rest: nice, steal, lost digits"),
        "near": Threshold(75, "%", "work from which time may be short", "judgement: a fifth is left"),
        "steal": Threshold(10, "%", "steal that makes it another's", "awesome-prometheus-alerts"),
        "share": Threshold(25, "%", "share of samples that is a lasting cost", "judgement"),
        "seconds": Threshold(300, "s", "or as long in all", "judgement: five minutes"),
        "moment": Threshold(10, "%", "share of samples below which it is a note", "judgement"),
        "others_wait": Threshold(15, "%", "iowait of all samples, told first", "as the verdict has it"),
        "samples": Threshold(3, "samples", "how many make it sure", "judgement: one is a moment"),
    },
    confirm=("mpstat -P ALL 1 10", "top -b -n 1 | head -20", "pidstat -u 1 10"),
    references=("https://man7.org/linux/man-pages/man5/proc_stat.5.html",),
    detect=detect,
)
