"""One CPU does the kernel's work for all I/O and is full, while the others are idle.

What it detects: samples in which one CPU spends 95 % of its time in the kernel (interrupts included) while
all CPUs together are at most 60 % busy, and in which a device serves the same rate (±10 %) of at least 500
requests/s or 50 MB/s with 8 and more in flight. With fewer than three samples it is sure only where half of
that CPU's time is interrupts: those are the work itself, and no task that polls.

Why it matters: neither a faster disk nor more CPUs help. The interrupts of one queue, or one kernel thread
(encryption, parity, an iSCSI session), set the pace until the work is spread.

When it is wrong: a task that polls for its I/O (io_uring SQPOLL) fills a CPU whatever is asked: where the
rate changes and the CPU stays full, nothing is said. A limit holds the rate also in samples in which no CPU
is full; then it is not the CPU. SPDK and DPDK poll in user time, which does not count. A task that is in the
kernel for another reason (a copy through the page cache) may be the full CPU by coincidence. No real capture
of it has been seen: the tests' numbers are made up, and the exam simulates a queue behind one CPU.

References: proc_stat(5); mpstat(1), -P ALL; Documentation/core-api/irq/irq-affinity.rst.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.array.topmost_devices import topmost
from iodiag.analysis.host.cpu import fullest_cpu
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import device_fields
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.model.units import KB_PER_MB
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Table

_SAME_RATE = 0.05
"""A rate outside of the full CPU's samples this near to that in them is held by something else."""


@dataclass(frozen=True)
class _Pace:
    """A device, its samples while one CPU was full, and the others in which as much was in flight."""

    series: DeviceSeries
    rows: Table = field(repr=False)
    others: Table = field(repr=False)

    @property
    def column(self) -> str:
        """The rate that is held: of bytes where requests are large, else of requests."""
        return "kb_per_s" if weighted.ratio(self.rows, "kb_per_s", "ios_per_s") >= 64 else "ios_per_s"


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """At most one finding: the device that most requests wait at while one CPU is full."""
    shares = fullest_cpu(view)
    if shares is None:
        reason = "no CPU is shown by itself: sar -P ALL or mpstat -P ALL shows each"
        yield RULE.not_applicable(reason, missing=("cpu",))
        return
    rows = shares[(shares.floats("full") >= limits.cpu) & (shares.floats("busy") <= limits.others)]
    if not len(rows):
        near = _nearly_full(view, limits)
        yield RULE.undetermined(near) if near else RULE.clear("no CPU by itself is full of the kernel's work")
        return
    names = topmost(view, (series.name for series in view.devices))
    tops = [series for series in view.devices if series.name in names]
    paces = [pace for series in tops if (pace := _pace(series, shares, rows, limits))]
    if not paces:
        yield RULE.undetermined("one CPU is full, but no device is seen to have requests waiting meanwhile")
        return
    pace = max(paces, key=lambda one: weighted.mean(one.rows, "depth"))
    why_not = _not_its_pace(pace, limits)
    if why_not:
        yield RULE.undetermined(why_not, pace.series.name)
    else:
        yield _finding(pace, rows, limits)


def _nearly_full(view: View, limits: Limits) -> str:
    """That one CPU works in the kernel most of its time and has none left, where the others are not full."""
    cpu, together = view.samples("cpu"), view.cpu_all
    if cpu is None or together is None:
        return ""
    near = cpu[
        (np.asarray(cpu["cpu"] != "all"))
        & (cpu.floats("system_pct") >= limits.near)
        & (cpu.floats("idle_pct") <= 100 - limits.cpu)
    ]
    if not len(near):
        return ""
    all_full = together[together.floats("idle_pct") < 100 - limits.others]
    near = near[np.setdiff1d(np.arange(len(near)), paired(all_full, near)[1])]
    if not len(near):
        return ""
    worst = int(np.argmax(near.floats("system_pct")))
    values: Values = {"cpu": str(near["cpu"][worst]), "share": float(near.floats("system_pct")[worst])}
    return say("CPU {cpu} was {share:.0f} % in the kernel and had no idle time: it may be full", values)


def _pace(series: DeviceSeries, shares: Table, rows: Table, limits: Limits) -> _Pace | None:
    """The device's samples while one CPU was full, where requests waited; None where none did.

    Samples of another tool share no reports: then all stand for the time of a CPU that is always full.
    """
    loaded = series.loaded
    if not len(loaded):
        return None
    known, hot = paired(loaded, shares)[0], paired(loaded, rows)[0]
    if not len(known) and len(rows) >= 0.8 * len(shares):
        hot = np.arange(len(loaded))
    during = loaded[hot]
    during = during[during.floats("depth") >= limits.depth]
    is_busy = (
        weighted.mean(during, "ios_per_s") >= limits.rate or weighted.mean(during, "kb_per_s") >= limits.kb
    )
    if not is_busy or 2 * len(during) < len(hot):
        return None
    others = loaded[np.setdiff1d(known, hot)]
    return _Pace(series, during, others[others.floats("depth") >= limits.depth])


def _not_its_pace(pace: _Pace, limits: Limits) -> str:
    """Why the full CPU is not what holds the device; empty where it may be."""
    if len(pace.rows) > 1 and not weighted.variation(pace.rows, pace.column) <= limits.flat / 100:
        return "one CPU is full whatever rate is asked for: a task that polls, or other work"
    held, free = (weighted.mean(rows, pace.column) for rows in (pace.rows, pace.others))
    if len(pace.others) >= limits.samples and free >= (1 - _SAME_RATE) * held:
        return "the rate is as high in samples in which no CPU is full: something else holds it"
    return ""


def _finding(pace: _Pace, rows: Table, limits: Limits) -> Finding:
    numbers = rows.floats("number")
    interrupts = float(rows.floats("interrupts").mean())
    cpus = sorted({f"{number:g}" for number in numbers if number >= 0})
    values: Values = {
        "device": pace.series.name,
        "cpus": "one CPU" if len(cpus) != 1 else f"CPU {cpus[0]}",
        "full": float(rows.floats("full").mean()),
        "interrupts": interrupts,
        "busy": float(rows.floats("busy").mean()),
        "rate": weighted.mean(pace.rows, "ios_per_s"),
        "mb": weighted.mean(pace.rows, "kb_per_s") / KB_PER_MB,
        "depth": weighted.mean(pace.rows, "depth"),
        "count": len(rows),
        "variation": 100 * weighted.variation(pace.rows, pace.column),
    }
    is_work, is_long = interrupts >= limits.interrupts, len(pace.rows) >= limits.samples
    sure: Confidence = "medium" if is_work or is_long else "low"
    if is_work and len(pace.rows) >= 2 * limits.samples:
        sure = "high"
    return RULE.finding(
        severity="warning" if sure != "low" else "notice",
        confidence=sure,
        **device_fields(pace.rows, pace.series.name),
        summary=say(
            "{cpus} is {full:.0f} % busy in the kernel while all CPUs together are {busy:.0f} % busy, in "
            "{count} samples: {device} stays at {rate:.0f} requests/s ({mb:.1f} MB/s) with {depth:.1f} in "
            "flight.",
            values,
        ),
        evidence=tuple(_evidence(pace, rows, values, limits)),
        refutes=("a task that polls for its I/O on that CPU", "a limit of the device near this rate"),
        cannot_know=("which work fills the CPU: perf top -C and /proc/interrupts tell",),
    )


def _evidence(pace: _Pace, rows: Table, values: Values, limits: Limits) -> Iterator[Evidence]:
    text = "{cpus}: {full:.1f} % of its time in the kernel, {interrupts:.1f} % in interrupts; "
    text += "all CPUs together {busy:.1f} % busy"
    yield cite(rows, text, values, worst="full")
    spread = " (±{variation:.1f} %)" if len(pace.rows) > 1 else ""
    text = "{device}: {rate:.0f} requests/s, {mb:.1f} MB/s" + spread + ", {depth:.1f} in flight"
    yield cite(pace.rows, text, values, worst="depth")
    if float(values["interrupts"]) < limits.interrupts:
        text = "little of it is interrupts: a kernel thread or one task, which may poll"
        yield cite(rows, text, values, weighs="against")


RULE = Rule(
    id="one-cpu-bound",
    explains=(*SYMPTOMS_AND_SATURATION, "latency-above-baseline", "queue-limit"),
    title="One CPU does the kernel's work for all I/O and is full",
    why="Faster disks and more CPUs change nothing until the work is spread.",
    remedy=(
        "See whose interrupts it serves: watch -n1 -d cat /proc/interrupts",
        "Spread them: start irqbalance, or write CPUs to /proc/irq/*/smp_affinity_list; use more queues.",
        "Where a kernel thread is full (top -H), use more of them: more sessions, group_thread_cnt of md.",
    ),
    needs=Needs(one_of=({"cpu": ("system_pct", "idle_pct")},)),
    thresholds={
        "cpu": Threshold(95, "%", "of one CPU in the kernel", "judgement: the usual alarm for a full CPU"),
        "near": Threshold(75, "%", "of one CPU without idle time, that is not cleared", "as cpu-exhausted"),
        "others": Threshold(60, "%", "of all CPUs together at most", "judgement: half of them idle"),
        "rate": Threshold(500, "requests/s", "at least", "judgement: fewer cost a CPU 2 ms each; none do"),
        "kb": Threshold(50_000, "kB/s", "or at least", "judgement: encryption on a slow core: 100 MB/s"),
        "depth": Threshold(8, "requests", "in flight", "judgement: a queue, not one caller"),
        "flat": Threshold(10, "%", "variation of the rate", "judgement: one CPU does one rate"),
        "interrupts": Threshold(50, "%", "of the CPU in interrupts that no poller shows", "proc_stat(5)"),
        "samples": Threshold(3, "samples", "with a full CPU", "a rate is flat over three at least"),
    },
    confirm=("mpstat -P ALL 1 10", "cat /proc/interrupts", "top -H -b -n 1"),
    references=("https://docs.kernel.org/core-api/irq/irq-affinity.html",),
    pictures=("cpu",),
    detect=detect,
)
