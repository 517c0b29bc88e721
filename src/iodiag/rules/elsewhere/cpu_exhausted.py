"""The CPUs have no time left, and it is not I/O that takes it.

What it detects: at most 5 % idle and 5 % iowait while user and system work take 85 % and more; or 15 % idle
in three samples, with more tasks than the CPUs serve, two for each by the load average. One sample is enough
to tell, three make it sure; fewer than one sample in ten are a note. Where tasks wait for I/O on the mean, it
has to be so in half of the samples, of the text or of a run of several in it, or in a quarter, three at
least, on end. With time left, half of it spent in the kernel in most samples is a note if more tasks want to
run than there are CPUs, or, of three samples, than one CPU serves; so is a stretch of three samples of fewer,
with more than eight tasks where CPUs are not counted, or in which programs do a fifth of that at most and
nobody waits for I/O; a third of the CPUs' time is enough there if next to nothing is moved. One CPU that
spends 90 % of its time in interrupts, in half of the samples, is told, however idle the others, and is a note
if it is 95 % busy with anything; so are several threads of the kernel that use a CPU each in a screen of top
whose processes use twice as much of the CPUs as since boot; so are soft interrupts that take 30 % of all
CPUs in half of the samples while nothing waits for I/O. Where the CPUs' time is not shown: a load average of
two and more for each CPU, as many tasks that want to run in three samples, and none in five and more that is
blocked on I/O. So is a crowd of eight tasks for each CPU that want to run, in most samples or in the only
row, on CPUs that are busy for three quarters of the time; it is a note where the CPUs are not counted. It is
critical where a task waits a second and longer for its turn, by those that want to run and the switches
between them.

Why it matters: work that waits for a CPU is slow whatever the storage does, and a program that gets no CPU
sends no requests.

When it is wrong: no iowait beside no idle time proves nothing about disks: iowait is idle time, and there
is none to count. Work at low priority (nice) gives way and does not count. One CPU of many can be exhausted
while their mean is not: a share of one CPU, in nearly all samples, with a task or two that want to run is not
cleared. A program that polls for its I/O takes all of a CPU by design. Soft interrupts are completions of
requests where these are very many, and packets of storage where it is behind a network.

References: proc_stat(5) on idle and iowait; sar(1), -u and -q.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.host.cpu import CALM_PCT, crowd, fullest_cpu, tasks_beyond_cpus, who_uses_a_cpu
from iodiag.analysis.host.paging import STILL_KB
from iodiag.analysis.host.swapping import beside
from iodiag.analysis.host.who_waits import load_average, rows_at
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_fact, in_samples, say
from iodiag.analysis.measure.grading import time_fields
from iodiag.analysis.measure.windows import longest, seconds
from iodiag.analysis.view.top_screens import screens_of_now
from iodiag.analysis.view.view import View
from iodiag.model.finding import Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.table.table import Floats, Mask, Table, stacked


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding per host."""
    cpu = view.cpu_all
    if cpu is None:
        yield _of_run_queue(view, limits) or RULE.not_applicable(_without_all(view), missing=("cpu",))
        return
    # what gives way (nice) does not count; interrupts are part of system
    work = cpu.floats("user_pct") + cpu.floats("system_pct")
    if np.isnan(work).all():
        yield RULE.undetermined("the share of user or of system time is not shown")
        return
    is_out = cpu.floats("idle_pct") <= limits.idle
    is_out |= _is_short(view, cpu, limits)
    is_out &= work >= limits.busy
    is_out &= ~(cpu.floats("iowait_pct") > limits.iowait) & ~(cpu.floats("steal_pct") >= limits.steal)
    if not is_out.any() and (found := _of_soft_interrupts(view, cpu, limits)):
        yield found
        return
    if not is_out.any() and len(rows := _in_kernel(view, cpu, limits)):
        yield _of_kernel(view, cpu, rows, limits)
        return
    if not is_out.any() and (threads := _of_kernel_threads(view, limits)):
        yield threads
        return
    if not is_out.any():
        if np.nanmax(work) >= limits.near:
            # busy is all that they do, what gives way included
            busy = float(np.nanmax(work + np.nan_to_num(cpu.floats("nice_pct"))))
            often = "on average" if view.has_only_cpu_averages else "at most"
            reason = f"the CPUs were {busy:.0f} % busy {often}: more of the run queue would tell"
            yield _of_crowd(view, busy, often) or RULE.undetermined(reason)
        elif full := _of_interrupts(view, limits):
            yield full
        elif found := _of_one_cpu(view, limits):
            yield found
        elif one := _one_full(view, cpu, limits):
            yield RULE.undetermined(one)
        elif view.has_only_cpu_averages:
            yield RULE.undetermined("the capture has only averages of the CPUs; they show no bursts")
        elif beyond := tasks_beyond_cpus(view):
            yield RULE.undetermined(f"{beyond}: {_SHORTER}")
        else:
            yield RULE.clear("the CPUs have time left, or something else takes it")
        return
    yield _without_time(view, cpu, is_out, limits)


def _without_time(view: View, cpu: Table, is_out: Mask, limits: Limits) -> Finding | Outcome:
    """That no CPU time is left in some samples; where tasks wait in the others, that is told first."""
    others_wait = weighted.mean(cpu, "iowait_pct", "cpu") >= limits.others_wait
    in_run = _in_run_without_time(cpu, is_out, limits)
    if others_wait and 2 * np.count_nonzero(is_out & in_run) < np.count_nonzero(in_run):
        stretch = longest(cpu, is_out, gap=0)
        least = max(limits.samples, limits.share / 100 * len(cpu))
        if stretch is not None and len(stretch) >= least:
            return _finding(view, cpu, stretch, limits, others_wait=True)
        few = f"no CPU time was left in {np.count_nonzero(is_out)} of {len(cpu)} samples"
        return RULE.undetermined(f"{few}; in the others tasks wait for I/O")
    in_run |= not others_wait
    return _finding(view, cpu[in_run], cpu[in_run & is_out], limits, others_wait=others_wait)


def _without_all(view: View) -> str:
    """What is said where no sample shows the CPUs together: each by itself, or averages alone, may be."""
    is_read = view.samples("cpu") is not None or bool(len(view.since_boot.get("cpu", ())))
    return "no sample shows the time of all CPUs together" if is_read else "no table shows the CPUs' time"


_SHORTER = "shorter samples would show whether the CPUs have no time left in between"


def _in_run_without_time(cpu: Table, is_out: Mask, limits: Limits) -> Mask:
    """The samples of the runs, of several in a text, most of which have no CPU time left; else all."""
    phases = cpu.floats("phase") if "phase" in cpu else np.zeros(len(cpu))
    runs = [phases == phase for phase in np.unique(phases)]
    out = [run for run in runs if max(limits.samples, run.sum() / 2) <= (run & is_out).sum()]
    return np.any(out, axis=0) if out else np.ones(len(cpu), dtype=np.bool_)


def _is_short(view: View, cpu: Table, limits: Limits) -> Mask:
    """The samples with little idle time, if more tasks want to run in most of all than the CPUs serve.

    None of them waits for I/O; a batch run with one task for each CPU leaves nobody waiting. Where nothing
    else counts tasks, two for each CPU by the load average are more.
    """
    little: Mask = cpu.floats("idle_pct") <= limits.little
    queue, counted = rows_at(view, "queue", cpu[little]), load_average(view)
    is_most = little.sum() >= limits.samples and 2 * little.sum() > len(cpu)
    if view.cpus is None or view.has_only_cpu_averages or not is_most:
        return np.zeros(len(cpu), dtype=np.bool_)
    if queue is None:
        return little & (counted is not None and counted.number("load_one") >= crowd(view))
    tasks, waiting = (weighted.mean(queue, name, "queue") for name in ("run_queue", "blocked"))
    return little & bool(tasks >= limits.crowd * view.cpus and not waiting >= 1)


def _of_run_queue(view: View, limits: Limits) -> Finding | None:
    """That far more tasks want to run than CPUs serve and none waits for I/O, where only these are shown."""
    queue = view.samples("queue")
    if queue is None or view.cpus is None or "queue" in view.average_only:
        return None
    rows = queue[queue.floats("run_queue") >= 2 * view.cpus]
    is_calm = len(queue) >= _SEVERAL and bool((queue.floats("blocked") == 0).all())
    most = float(queue.floats("load_1m").max())
    if not (is_calm and len(rows) >= limits.samples and most >= 2 * view.cpus):
        return None
    text = ", none is blocked on I/O in any of them, and the load average reaches {load:.1f}"
    return _of_tasks(view, queue, rows, text, {"load": most})


def _of_crowd(view: View, busy: float, often: str) -> Finding | None:
    """That many times as many tasks want to run as CPUs serve, which have little time left on average.

    A row of vmstat counts tasks at its moment, also the first one.
    """
    queue = None if "queue" in view.average_only else view.samples("queue")
    if queue is None:
        return None
    rows = queue[queue.floats("run_queue") >= _CROWD_TASKS * (view.cpus or _FEW_CPUS)]
    text = f"; the CPUs were {{busy:.0f}} % busy {often}"
    return _of_tasks(view, queue, rows, text, {"busy": busy}) if 2 * len(rows) > len(queue) else None


def _of_tasks(view: View, queue: Table, rows: Table, more: str, values: Values) -> Finding:
    """More tasks want to run than CPUs serve; where these are not counted, it is a note of little weight."""
    values |= {"tasks": weighted.mean(rows, "run_queue", "queue")} | (
        {"cpus": view.cpus} if view.cpus else {}
    )
    values |= {"count": len(rows), "samples": len(queue)}
    on = "on {cpus} CPUs" if view.cpus else "(how many CPUs there are is not shown)"
    often = "at one moment" if len(queue) == 1 else "at {count} of {samples} moments"
    text = f"{{tasks:.0f}} tasks want to run {on}, {often}{more}"
    return RULE.finding(
        severity="warning" if view.cpus and "busy" in values else "notice",
        confidence="medium" if view.cpus else "low",
        **time_fields(rows, of_host=True),
        title="More tasks want to run than the CPUs serve",
        summary=say(f"The load is of tasks that want to run: {text}.", values),
        evidence=(cite(rows, text, values, worst="run_queue"),),
        refutes=("CPUs with idle time meanwhile: mpstat -P ALL 1",),
        cannot_know=("how long the CPUs are busy, and with what", "what the disks did"),
    )


_FEW_CPUS = 4
"""CPUs of a host that does not count them: of a larger one, so many tasks are no crowd."""


_SEVERAL = 5
"""Samples in none of which a task waits for I/O, which show that the load is of something else."""


def _of_interrupts(view: View, limits: Limits) -> Finding | None:
    """That one CPU has time for interrupts and the rest of the kernel alone, most of the time."""
    shares = None if view.has_only_cpu_averages else fullest_cpu(view)
    if shares is None:
        return None
    interrupts, kernel = shares.floats("interrupts"), shares.floats("full")
    rows = shares[
        (interrupts >= limits.interrupts) | ((interrupts >= limits.mostly) & (kernel >= limits.full))
    ]
    if not len(rows) or 2 * len(rows) < len(shares):
        return None
    values = _of_cpu(rows, len(shares))
    text = "{which} spends {interrupts:.0f} % of its time in interrupts, while "
    text += f"all CPUs together are {{busy:.0f}} % busy, {in_samples(len(shares))}"
    return RULE.finding(
        severity="warning",
        confidence="high" if len(rows) >= limits.samples else "medium",
        **time_fields(rows, of_host=True),
        title="One CPU is full of interrupts",
        summary=say(text + ".", values),
        evidence=(cite(rows, text, values, worst="full"),),
        refutes=("interrupts of a device that is full itself",),
        cannot_know=("which device interrupts it: /proc/interrupts and /proc/softirqs tell",),
        remedy=(
            "See what it serves (/proc/interrupts, /proc/softirqs): a network card, as a rule.",
            "Spread it: irqbalance, more queues of the device (ethtool -L), receive packet steering.",
        ),
        confirm=("mpstat -P ALL 1 10", "cat /proc/interrupts /proc/softirqs"),
    )


def _of_cpu(rows: Table, samples: int) -> Values:
    """What sentences say of the fullest CPU in some of the samples."""
    numbers = {int(number) for number in rows.floats("number")}
    is_one = len(numbers) == 1 and min(numbers) >= 0
    values: Values = {"which": f"CPU {min(numbers)}" if is_one else "One CPU at a time"}
    values |= {name: weighted.mean(rows, name, "cpu") for name in ("full", "interrupts", "busy")}
    return values | {"count": len(rows), "samples": samples}


def _of_one_cpu(view: View, limits: Limits) -> Finding | None:
    """That one CPU has no time left, most of the time, while the others have; whatever it does."""
    shares = None if view.has_only_cpu_averages else fullest_cpu(view, by="work_pct")
    if shares is None:
        return None
    rows = shares[(shares.floats("full") >= limits.full) & (shares.floats("busy") < limits.system)]
    if not len(rows) or 2 * len(rows) < len(shares):
        return None
    values = _of_cpu(rows, len(shares))
    text = "{which} is {full:.0f} % busy, while all CPUs together are {busy:.0f} % busy, "
    text += in_samples(len(shares))
    return RULE.finding(
        severity="notice",
        confidence="high" if len(rows) >= limits.samples else "medium",
        **time_fields(rows, of_host=True),
        title="One CPU is full",
        summary=say(f"{text}: work of one thread goes no faster than that CPU.", values),
        evidence=(cite(rows, text, values, worst="full"),),
        refutes=("a program that polls by design",),
        cannot_know=("which thread it is, and whether anybody waits for it: top -H tells",),
        remedy=("See which thread runs there (top -H, pidstat -ut 1 10): more threads, or less work.",),
        confirm=("top -H -b -n 1 | head -20", "pidstat -ut 1 10"),
    )


def _of_soft_interrupts(view: View, cpu: Table, limits: Limits) -> Finding | None:
    """That soft interrupts take much of all CPUs, most of the time, while nothing waits for I/O."""
    rows = cpu[(cpu.floats("softirq_pct") >= limits.soft) & (cpu.floats("iowait_pct") <= CALM_PCT)]
    if not len(rows) or 2 * len(rows) < len(cpu) or view.has_only_cpu_averages:
        return None
    values = _shares(rows) | {"count": len(rows), "samples": len(cpu)}
    values["rest"] = float(values["system"]) - float(values["soft"])
    text = (
        "soft interrupts take {soft:.0f} % of the CPUs' time, the rest of the kernel {rest:.0f} %, user work "
    )
    text += "{user:.0f} %; {idle:.0f} % is idle, and iowait is {iowait:.1f} %"
    return RULE.finding(
        severity="notice",
        confidence="high" if len(rows) >= limits.samples else "medium",
        **time_fields(rows, of_host=True),
        title="Soft interrupts take much of the CPUs",
        summary=say(f"{text[0].upper()}{text[1:]}, {in_samples(len(cpu))}.", values),
        evidence=(cite(rows, text, values, worst="softirq_pct"), *_completions(view, rows)),
        refutes=(
            "BLOCK as what grows in /proc/softirqs: completions of 100,000 requests/s and more",
            "storage behind a network (iSCSI, NFS, Ceph): its packets are I/O",
        ),
        cannot_know=("which they are: packets (NET_RX), completions (BLOCK), timers or RCU",),
        remedy=(
            "See which kind grows: /proc/softirqs twice; NET_RX are packets, as a rule.",
            "Of packets: spread them (irqbalance, ethtool -L, receive packet steering), or make them fewer.",
        ),
        confirm=("cat /proc/softirqs", "mpstat -P ALL 1 10", "sar -n DEV 1 10"),
    )


def _completions(view: View, rows: Table) -> Iterator[Evidence]:
    """How many requests the disks complete meanwhile, whose completions are soft interrupts as well."""
    disks = [(s, paired(s.samples, rows)[0]) for s in view.devices if not s.is_stacked]
    seen = [series.samples[places] for series, places in disks if len(places)]
    rate = sum(weighted.or_zero(weighted.mean(own, "ios_per_s")) for own in seen)
    if seen:
        text = "the disks complete {rate:.0f} requests/s meanwhile, each with one interrupt at the most"
        is_many = rate >= _MANY_COMPLETIONS
        yield cite(stacked(seen), text, {"rate": rate}, weighs="against" if is_many else "context")


_MANY_COMPLETIONS = 100_000.0
"""Requests per second whose completions alone keep CPUs busy: some microseconds each."""


def _shares(rows: Table) -> Values:
    names = {"soft": "softirq"} | {name: name for name in ("user", "system", "idle", "iowait")}
    return {short: weighted.mean(rows, f"{name}_pct", "cpu") for short, name in names.items()}


def _system(values: Values) -> str:
    """What sentences say of the kernel's share: with its soft interrupts, where they are no small part."""
    is_told = float(values["soft"]) >= _LITTLE_SOFT
    return "system {system:.0f} %" + (" ({soft:.0f} of these soft interrupts)" if is_told else "")


_LITTLE_SOFT = 5.0
"""Soft interrupts of no importance, in % of CPU time."""


def _one_full(view: View, cpu: Table, limits: Limits) -> str:
    """That one CPU may be full: a task or two want to run, and what is done is that of one; else empty.

    Where the number of CPUs is not known, a half, a quarter or an eighth of the time is taken for one.
    """
    queue = rows_at(view, "queue", cpu)
    tasks = weighted.mean(queue, "run_queue", "queue") if queue is not None else math.nan
    waits = weighted.mean(cpu, "iowait_pct", "cpu") >= 2 * limits.iowait
    if waits or not _FEWEST_TASKS <= tasks <= _MOST_TASKS:
        return ""
    system = cpu.floats("system_pct")
    work = cpu.floats("user_pct") + system
    for cpus in (view.cpus,) if view.cpus else (2, 4, 8):
        is_one = np.abs(work * cpus / 100 - 1) <= _ONE
        if 1 < cpus <= _MOST_CPUS and is_one.sum() >= max(limits.samples, _NEARLY_ALL * len(cpu)):
            values: Values = {"work": float(work[is_one].mean()), "cpus": cpus, "tasks": tasks}
            values |= {"count": int(is_one.sum()), "samples": len(cpu)}
            where = " in the kernel" if system[is_one].sum() >= _MOSTLY * work[is_one].sum() else ""
            of = "{cpus}" if view.cpus else "{cpus}, if it has so many,"
            text = f"one CPU of {of} may be full{where}: {{work:.0f}} % busy {in_samples(len(cpu))} with "
            return say(text + "{tasks:.1f} tasks that want to run; mpstat -P ALL 1 shows each CPU", values)
    return ""


_FEWEST_TASKS, _MOST_TASKS = 0.5, 2.5
"""Runnable tasks of one that always runs, with vmstat itself, which newer ones count."""

_ONE, _MOST_CPUS, _NEARLY_ALL, _MOSTLY = 0.1, 16, 0.8, 0.8
"""How far the work may be from that of one CPU; CPUs of whose time one is not lost among the rest; the share
of samples that is no chance; and of the work that is the kernel's."""


def _in_kernel(view: View, cpu: Table, limits: Limits) -> Table:
    """The samples in which the kernel takes most of the CPUs' time, if these are most and tasks hardly wait.

    Else the longest stretch of such samples: what a phase of a run is like its calm before does not outvote.
    More tasks want to run then than there are CPUs; where these are not counted, more than one can serve, in
    a stretch more than a crowd.
    """
    is_kernel = cpu.floats("system_pct") >= limits.system
    rows, least = cpu[is_kernel], view.cpus or _MOST_TASKS
    if 2 * len(rows) <= len(cpu):
        stretch = longest(cpu, is_kernel, gap=0)
        rows, least = rows[:0] if stretch is None else stretch, view.cpus or _CROWD_TASKS
        is_told = len(rows) >= limits.samples
    else:
        is_told = view.cpus is not None or len(rows) >= limits.samples
    if weighted.mean(cpu, "iowait_pct", "cpu") >= limits.others_wait or view.has_only_cpu_averages:
        return rows[:0]
    return rows if is_told and _tasks(view, rows) > least else _in_kernel_alone(view, cpu, limits)


def _in_kernel_alone(view: View, cpu: Table, limits: Limits) -> Table:
    """The longest stretch in which the kernel works, and neither for programs nor for I/O.

    Where a host's reads and writes are not shown, it has to be most of the CPUs' time.
    """
    system, user = cpu.floats("system_pct"), cpu.floats("user_pct")
    kb = _moved_kb(view, cpu)
    least = np.where(np.isnan(kb), limits.system, limits.alone)
    is_alone = (system >= least) & (system >= _ALONE * user) & ~(cpu.floats("iowait_pct") > CALM_PCT)
    is_alone &= ~(kb >= STILL_KB) & ~(beside(view, "queue", "blocked", cpu) >= 1)
    # one CPU that has no time left is no more than that
    is_told = not (view.devices or "paging" in view.average_only or _one_full(view, cpu, limits))
    rows = longest(cpu, is_alone, gap=0) if is_told else None
    return cpu[:0] if rows is None or len(rows) < limits.samples else rows


def _moved_kb(view: View, rows: Table) -> Floats:
    """What the host reads and writes in some samples, in kB/s; NaN where that is not shown."""
    ways = (beside(view, "paging", f"pgpg{way}_kb_per_s", rows) for way in ("in", "out"))
    return np.asarray(np.sum([*ways], axis=0))


_ALONE = 5.0
"""Times what programs take that the kernel does where it does not work for these (judgement)."""


_CROWD_TASKS = 8
"""Tasks that want to run, of a phase of a run on CPUs that are not counted, or for each CPU at one moment."""


def _tasks(view: View, rows: Table) -> float:
    """How many tasks want to run on average; NaN where that is not shown."""
    queue = rows_at(view, "queue", rows)
    return weighted.mean(queue, "run_queue", "queue") if queue is not None else math.nan


def _of_kernel(view: View, cpu: Table, rows: Table, limits: Limits) -> Finding:
    values = _shares(rows) | {"count": len(rows), "samples": len(cpu)}
    text = _system(values) + ", user {user:.0f} %, idle {idle:.0f} %"
    text += "" if math.isnan(float(values["iowait"])) else ", iowait {iowait:.1f} %"
    text += ", next to nothing is read or written" * bool((_moved_kb(view, rows) < STILL_KB).all())
    is_crowd = view.cpus is not None and _tasks(view, rows) >= 2 * view.cpus
    return RULE.finding(
        severity="warning" if is_crowd and float(values["idle"]) <= limits.little else "notice",
        confidence="high" if len(rows) >= limits.samples else "medium",
        **time_fields(rows, of_host=True),
        title="The CPUs work in the kernel",
        summary=say(
            f"The CPUs work in the kernel, more than they wait: {text}, {in_samples(len(cpu))}", values
        )
        + f"{who_uses_a_cpu(view)[0]}.",
        evidence=(cite(rows, text, values, worst="system_pct"), *_runnable(view, rows)),
        refutes=("a device that is full or waiting meanwhile", "programs that poll by design"),
        cannot_know=("what the kernel does: perf top tells (copies, checksums, locks, reclaim)",),
        remedy=("See what the kernel does: perf top, or perf record -ag of ten seconds.",),
        confirm=("perf top", "mpstat -P ALL 1 10", "vmstat 1 10", "sar -B 1 10"),
    )


def _of_kernel_threads(view: View, limits: Limits) -> Finding | None:
    """That several threads of the kernel use a CPU each in a screen of top that is of now.

    As many tasks in the load average of 15 minutes show that it lasts.
    """
    _, listed = who_uses_a_cpu(view)
    screens = [one for one in screens_of_now(view.facts) if one[1] is listed]
    if not screens or listed is None or listed.number("kernel_threads") < max(2, listed.number("alike")):
        return None
    head, values = screens[0][0], {**listed.values, "cpus": listed.number("alike_pct") / 100}
    values |= {name: head.number(name) for name in ("load_one", "load_fifteen", "running")}
    values |= {"minutes": listed.number("alike_cpu_s") / 60}
    values["waiting"] = max(head.number("load_one") - head.number("running"), 0.0)
    text = (
        "{alike} threads of the kernel ({process}) use {cpus:.1f} CPUs, and {minutes:.0f} minutes since boot"
    )
    beside = "the load average is {load_one}, of 15 minutes {load_fifteen}"
    beside += "; {running:.0f} tasks run at that moment, and about {waiting:.0f} wait"
    return RULE.finding(
        severity="warning" if head.number("load_fifteen") >= listed.number("alike") else "notice",
        confidence="medium",
        title="Threads of the kernel use whole CPUs",
        summary=say(f"{text}; {beside}.", values),
        evidence=(
            cite_fact(replace(listed, values=values), text),
            cite_fact(replace(head, values=values), beside),
        ),
        refutes=("work that was asked of them and has an end, such as a resync or a scrub",),
        cannot_know=("what they do: perf top tells", "what the disks did, where none is shown"),
        remedy=("See what they do: perf top -g, and cat /proc/PID/stack of one of them, as root.",),
        confirm=("perf top -g", "cat /proc/PID/stack", *RULE.confirm[:1]),
    )


def _finding(view: View, cpu: Table, rows: Table, limits: Limits, *, others_wait: bool) -> Finding:
    samples = len(cpu)
    is_lasting = len(rows) >= limits.share / 100 * samples or seconds(rows) >= limits.seconds
    is_moment = len(rows) < limits.moment / 100 * samples and not is_lasting
    values = _shares(rows) | {"count": len(rows), "samples": samples}
    runs = len(np.unique(cpu.floats("phase"))) if "phase" in cpu else 1
    is_run = view.cpu_all is not None and samples < len(view.cpu_all)
    often = in_samples(samples) + (" of one run" if runs == 1 else f" of {runs} runs") * is_run
    text = f"user {{user:.0f}} %, {_system(values)}, idle {{idle:.1f}} %"
    # old kernels count none
    iowait = "" if math.isnan(float(values["iowait"])) else ", iowait {iowait:.1f} %"
    left = "no" if float(values["idle"]) <= limits.idle else "hardly any"
    switching = tuple(_switching(view, rows, limits))
    who, busiest = who_uses_a_cpu(view)
    asks = RULE.confirm[:1] if busiest else RULE.confirm
    severity: Severity = "info" if is_moment else "warning" if is_lasting and not others_wait else "notice"
    starved = tuple(_starved(view, rows, limits)) if severity == "warning" else ()
    return RULE.finding(
        severity="critical" if starved else severity,
        confidence="high" if len(rows) >= limits.samples else "medium",
        **time_fields(rows, of_host=True),
        title=say(f"{RULE.title}, {often}", values) if len(rows) < samples or is_run else RULE.title,
        summary=say(f"The CPUs have {left} time left: {text}, {often}", values)
        + "".join(f"; {item.text}" for item in starved)
        + f"{who}.",
        evidence=(
            cite(rows, f"{text}{iowait} ({often})", values, worst="system_pct"),
            *(starved or _runnable(view, rows)),
            *switching,
            *([cite_fact(busiest, weighs="context")] if busiest else []),
        ),
        confirm=("pidstat -wt 1 10", *asks) if switching else asks,
        remedy=(f"See what {busiest.word('process')} does: perf top -p PID.", RULE.remedy[1])
        if busiest
        else RULE.remedy,
        refutes=("a device that is full or waiting meanwhile", "programs that poll by design"),
        cannot_know=(
            "which programs take the time: top and perf tell",
            "what the disks did, where none is shown: without idle time there is no iowait",
        ),
    )


def _starved(view: View, rows: Table, limits: Limits) -> Iterator[Evidence]:
    """That so many tasks want to run and so few switches are made that a turn takes seconds, in most samples.

    Each switch gives one of them a CPU. Those that run do not wait: one for each CPU.
    """
    queue, system = rows_at(view, "queue", rows), rows_at(view, "system", rows)
    if queue is None or system is None:
        return
    own, other = paired(queue, system)
    tasks = queue.floats("run_queue")[own]
    switches = system.floats("context_switches_per_s")[other]
    turns = (tasks - (view.cpus or _MOST_CPUS_OF_A_HOST)) / np.where(switches > 0, switches, np.nan)
    is_late = turns >= limits.turn
    if len(own) and 2 * is_late.sum() > len(rows):
        values: Values = {"tasks": float(tasks[is_late].mean()), "turn": float(turns[is_late].mean())}
        values["switches"] = float(switches[is_late].mean())
        text = "{tasks:.0f} tasks want to run, of which {switches:.0f} get a CPU per second: one waits "
        yield cite(queue[own[is_late]], text + "{turn:.1f} s or longer for a turn", values, worst="run_queue")


_MOST_CPUS_OF_A_HOST = 512
"""CPUs of a host that does not state them, as many of which may run one task each and switch none."""


def _switching(view: View, rows: Table, limits: Limits) -> Iterator[Evidence]:
    """How often tasks are switched, where that alone is much of the work."""
    system = rows_at(view, "system", rows) if view.cpus else None
    if system is not None and view.cpus:
        each = weighted.mean(system, "context_switches_per_s", "system") / view.cpus
        if each >= limits.switches:
            text = "{each:.0f} switches of tasks per second on each CPU"
            yield cite(system, text, {"each": each}, worst="context_switches_per_s")


def _runnable(view: View, rows: Table) -> Iterator[Evidence]:
    """How many tasks want to run, where that is shown."""
    queue, counted = rows_at(view, "queue", rows), load_average(view)
    if counted is not None and counted.number("load_one") > (view.cpus or 1):
        yield cite_fact(counted)
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
    needs=Needs(
        one_of=(
            {"cpu": ("user_pct", "system_pct", "idle_pct")},
            {"queue": ("run_queue", "blocked", "load_1m")},
        )
    ),
    thresholds={
        "idle": Threshold(5, "%", "idle time that is none", "judgement: the usual alarm is at 95 % busy"),
        "iowait": Threshold(5, "%", "iowait from which CPUs have time", "proc_stat(5): iowait is idle time"),
        "little": Threshold(15, "%", "idle time that is little", "judgement: one CPU of seven"),
        "crowd": Threshold(1.25, "tasks", "for each CPU that want to run", "a batch run has one"),
        "switches": Threshold(
            50000, "1/s", "switches of each CPU that are much", "20 us from one to another"
        ),
        "turn": Threshold(1, "s", "wait for a CPU in which a host hardly answers", "as of requests"),
        "busy": Threshold(85, "%", "user and system work", "judgement: the rest: nice, steal, lost digits"),
        "near": Threshold(75, "%", "work from which time may be short", "judgement: a fifth is left"),
        "steal": Threshold(10, "%", "steal that makes it another's", "awesome-prometheus-alerts"),
        "system": Threshold(50, "%", "system time that is most of the work", "judgement: half of all time"),
        "alone": Threshold(30, "%", "of the kernel alone, while nothing is moved", "judgement: a third"),
        "soft": Threshold(30, "%", "soft interrupts of all CPUs", "judgement: a third of all that is done"),
        "full": Threshold(95, "%", "of one CPU that is all of it", "the usual alarm"),
        "interrupts": Threshold(90, "%", "of one CPU in interrupts", "hardly any is left for programs"),
        "mostly": Threshold(70, "%", "of one CPU in interrupts, all of it in the kernel", "the same"),
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
