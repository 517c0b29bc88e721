"""Tasks lose time to I/O, by the kernel's own account.

What it detects: pressure stall information that says that some tasks waited for I/O at least 20 % of
the time, or, where more than one is blocked on average, all of them at least 10 %, in any sample; harm where
that is so in a quarter of them.

Why it matters: it is the only host-wide measure of harm: time in which work did not get on.

When it is wrong: on an otherwise idle host one patient reader makes all tasks wait all the time; that is its
business, not a shortage. For half of five minutes that is a warning where nothing counts the tasks, a notice
where it is one, and critical where iowait counts more (by averages since boot, those of another time).
Asynchronous I/O and waits for a lock behind an I/O are not counted, so that little pressure beside a full
device means that nobody waits, not that there is no queue.

References: Documentation/accounting/psi.rst.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.host.who_waits import blocked, by_device, rows_at, under_pressure
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, in_samples, say
from iodiag.analysis.measure.grading import time_fields
from iodiag.analysis.view.view import View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.table.table import Table


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding per host; what makes the tasks wait is for the other rules to say."""
    table, pressed = view.samples("pressure"), under_pressure(view, "io", limits.some, limits.full)
    if table is None or pressed is None:
        return
    rows, kind = pressed
    if not len(rows):
        yield RULE.clear("in no sample tasks wait for I/O for long")
        return
    shares = [weighted.mean(rows, f"io_{state}{kind}_pct", "pressure") for state in ("some", "full")]
    blocked_tasks = blocked(view, rows)
    has_crowd = blocked_tasks is not None and blocked_tasks[1] >= limits.waiters
    # one task that waits makes all tasks wait on a host with nothing else to do
    if not (shares[0] >= limits.some or (shares[1] >= limits.full and has_crowd)):
        yield RULE.clear("tasks hardly ever wait for I/O, or a single one does")
        return
    yield _finding(view, table, rows, kind, (shares[0], shares[1]), limits)


def _finding(
    view: View, table: Table, rows: Table, kind: str, shares: tuple[float, float], limits: Limits
) -> Finding:
    blocked_tasks, (some, full) = blocked(view, rows), shares
    waiters = _by_iowait(view, rows, limits) if blocked_tasks is None and _is_long(rows, limits) else None
    is_lasting = len(rows) >= limits.lasting / 100 * len(table)
    severity: Severity = "notice"
    if not is_lasting:
        severity = "info"
    elif blocked_tasks is not None and blocked_tasks[1] < limits.waiters:
        # whatever that one task does, for minutes the host did little else than wait for it
        severity = "notice" if _is_long(rows, limits) else "info"
    elif blocked_tasks is not None and full >= limits.full:
        severity = "critical" if full >= limits.stand_still else "warning"
    elif waiters is not None:
        severity = "critical"
    elif _is_long(rows, limits):
        # one patient reader on an idle host may do this: where nothing counts tasks it is no standstill
        severity = "warning"
    # the kernel's own account of the sample; averages of the last seconds also hold what was before it
    sure: Confidence = "medium" if kind or len(rows) < limits.samples else "high"
    values: Values = {
        "some": some,
        "full": 0.0 if np.isnan(full) else full,
        "count": len(rows),
        "samples": len(table),
    }
    often = in_samples(len(table))
    if kind and _is_long(rows, limits):
        values["long"] = weighted.mean(rows, "io_full_300s_pct", "pressure")
        often += "; over the last five minutes all of them waited {long:.0f} %"
    text = (
        "some tasks waited for I/O {some:.1f} % of the time, all that could have run {full:.1f} % "
        f"({often})"
    )
    return RULE.finding(
        severity=severity,
        confidence=sure,
        **time_fields(rows, of_host=True),
        summary=say(
            f"Tasks wait for I/O {{some:.0f}} % of the time, all of them {{full:.0f}} %, {often}.", values
        ),
        evidence=(
            cite(rows, text, values, worst=f"io_full{kind}_pct"),
            *_waiters(blocked_tasks, limits),
            *((waiters,) if waiters else ()),
            *_devices(view, rows),
        ),
        refutes=("a benchmark whose only task is to wait for the disk",),
        cannot_know=("which device or file system they wait for",),
    )


def _is_long(rows: Table, limits: Limits) -> bool:
    """Whether all tasks waited for half of the last minute and of the last five, by the kernel's averages."""
    shares = [rows.floats(f"io_full_{seconds}s_pct") for seconds in (60, 300)]
    return bool((np.minimum(*shares) >= limits.lost).any())


def _by_iowait(view: View, rows: Table, limits: Limits) -> Evidence | None:
    """That idle CPUs count more than one task that waits, in these samples, else on average since boot."""
    is_average = "cpu" in view.average_only
    cpu = view.cpu_all if is_average else view.cpu_at(rows)
    tasks = weighted.mean(cpu, "iowait_pct", "cpu") * (view.cpus or 0) / 100 if cpu is not None else 0.0
    if not tasks >= limits.waiters:
        return None
    text = "iowait of {iowait:.1f} % on {cpus} CPUs counts {tasks:.1f} tasks that wait"
    values: Values = {"tasks": tasks, "cpus": view.cpus or 0, "iowait": 100 * tasks / (view.cpus or 1)}
    return cite(cpu, text + ", on average since boot" * is_average, values, worst="iowait_pct")


def _waiters(blocked_tasks: tuple[Table, float] | None, limits: Limits) -> Iterator[Evidence]:
    if blocked_tasks is None:
        return
    values: Values = {"tasks": blocked_tasks[1]}
    if blocked_tasks[1] >= limits.waiters:
        yield cite(blocked_tasks[0], "{tasks} tasks were blocked on I/O on average", values, worst="blocked")
    else:
        text = "only {tasks:.1f} tasks were blocked on I/O on average: one that waits by itself, no crowd"
        yield cite(blocked_tasks[0], text, values, weighs="against", worst="blocked")


def _devices(view: View, rows: Table) -> Iterator[Evidence]:
    """Said when the disks cannot be it: nothing in flight while tasks wait."""
    disk = rows_at(view, "disk", rows)
    if disk is None or "depth" not in disk:
        return
    depths = {name: weighted.mean(part, "depth") for name, part in by_device(disk)}
    deepest = max(depths, key=lambda name: weighted.or_zero(depths[name]))
    if depths[deepest] < 0.1:
        text = "no device had more than {depth} requests in flight: NFS, a limit above them, or a stuck one"
        yield cite(disk, text, {"depth": depths[deepest]}, weighs="context", worst="depth")


RULE = Rule(
    id="psi-io-pressure",
    role="symptom",
    title="Tasks lose time to I/O",
    why="Time in which all tasks wait for I/O is time in which nothing gets done.",
    remedy=(
        "Find the device and who loads it: iostat -xt 1 30 and pidstat -d 1 side by side.",
        "See which control group waits: grep . /sys/fs/cgroup/*/io.pressure.",
    ),
    needs=Needs(one_of=({"pressure": ("io_some_pct|io_some_10s_pct|io_some_60s_pct",)},)),
    thresholds={
        "some": Threshold(20, "%", "time in which some task waits", "judgement: a fifth of the time"),
        "full": Threshold(10, "%", "time in which all tasks wait", "judgement: lost outright, psi.rst"),
        "stand_still": Threshold(40, "%", "such time at which work stands still", "judgement: psi.rst"),
        "lost": Threshold(50, "%", "such time of a minute and of five", "judgement: half of all work"),
        "lasting": Threshold(25, "%", "share of samples that is a lasting cost", "judgement"),
        "samples": Threshold(3, "samples", "how many make it high", "judgement: one is a moment"),
        "waiters": Threshold(1.5, "tasks", "blocked tasks that are more than one reader", "judgement"),
    },
    confirm=("cat /proc/pressure/io", "iostat -xyt 1 30", "grep . /sys/fs/cgroup/*/io.pressure"),
    references=("https://docs.kernel.org/accounting/psi.html",),
    detect=detect,
)
