"""Tasks pile up in uninterruptible sleep.

What it detects: three and more tasks blocked on I/O, no fewer than there are CPUs, in three and more
samples (vmstat's b, sar -q's blocked). Without that column: a load average that exceeds the
runnable tasks by as many, which is weaker, since it looks back a minute.

Why it matters: each is a thread of work that stands still, often a connection or a worker of a pool.

When it is wrong: flusher and journal threads sleep the same way and nobody misses them; tasks blocked
on NFS, FUSE or a kernel lock count too, and no disk is to blame for them. A load average alone proves
nothing.

References: vmstat(8), sar(1), uptime(1); proc_loadavg(5).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.array.stacks import topmost
from iodiag.analysis.host.waiting import by_device, rows_at
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.episodes import is_sustained, longest
from iodiag.analysis.measure.evidence import cite, say
from iodiag.analysis.measure.grading import confidence, when
from iodiag.analysis.view.view import View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.table.table import Table, numbered

LEAVE = 0.8


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding per host; the cause is for the other rules to say."""
    queue = view.samples("queue")
    if queue is None:
        return
    is_direct = view.has("queue", "blocked")
    least = max(limits.tasks, float(view.cpus or 0))
    counts = weighted.values(queue, "blocked") if is_direct else _beyond_runnable(queue)
    rows = longest(queue.with_columns(waiting=counts), np.asarray(counts >= LEAVE * least))
    mean = weighted.mean(rows, "waiting") if rows is not None else 0.0
    is_short = rows is not None and not is_sustained(rows) and len(rows) < len(queue)
    if rows is None or mean < least or len(rows) < limits.samples or is_short:
        yield Outcome(RULE.id, "clear", (), "few tasks are blocked on I/O, or for a moment only")
        return
    yield _finding(view, rows, mean, is_direct, limits)


def _beyond_runnable(queue: Table) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.asarray(weighted.values(queue, "load_1m") - weighted.values(queue, "run_queue"))


def _finding(view: View, rows: Table, mean: float, is_direct: bool, limits: Limits) -> Finding:
    devices = list(_devices(view, rows, mean, limits))
    points = 1 + 2 * is_direct + (view.cpus is not None) + any(item.weighs == "for" for item in devices)
    at_most: Confidence = "high" if is_sustained(rows) and is_direct else "low"
    most = float(np.nanmax(weighted.values(rows, "waiting")))
    values: dict[str, float | str] = {"tasks": mean, "most": most, "count": len(rows)}
    if view.cpus:
        values["cpus"] = view.cpus
    said = " on {cpus:g} CPUs" if view.cpus else ""
    source = "tasks were blocked on I/O" if is_direct else "more in the load average than runnable"
    return RULE.finding(
        limits,
        severity="notice",
        confidence=confidence(points, at_most=at_most),
        **{name: value for name, value in when(rows).items() if name != "samples"},
        summary=say("{tasks:.1f} tasks at a time stand blocked on I/O" + said + ".", values),
        evidence=(
            cite(
                rows,
                f"{{tasks:.1f}} {source}{said}, up to {{most:g}} (samples: {{count}})",
                values,
                worst="waiting",
            ),
            *devices,
        ),
        refutes=("blocked threads that are all flushers or journal threads",),
        cannot_know=("which tasks they are and where they sleep: ps -eo state,wchan:32,cmd tells",),
    )


def _devices(view: View, rows: Table, mean: float, limits: Limits) -> Iterator[Evidence]:
    """How the blocked tasks compare with the requests in flight at the top of the stacks."""
    disk = rows_at(view, "disk", rows)
    if disk is None or "depth" not in disk:
        return
    tops = topmost(view, {series.name: None for series in view.devices})
    number, names = numbered(disk["device"])
    at_top = disk[np.isin(number, [place for place, name in enumerate(names) if name in tops])]
    depths = [weighted.mean(part, "depth") for _, part in by_device(at_top)]
    total = float(np.nansum(depths))
    values: dict[str, float | str] = {
        "tasks": mean,
        "depth": total,
        "each": mean / total if total > 0 else 0.0,
    }
    if total < limits.quiet:
        text = "only {depth} requests were in flight: NFS, FUSE, a lock, a limit above, or a stuck device"
        yield cite(at_top, text, values, weighs="context")
    elif mean < limits.background * total:
        text = "{depth} requests were in flight, many for each blocked task: background writes, nobody's wait"
        yield cite(at_top, text, values, weighs="against", worst="depth")
    else:
        text = "{depth} requests were in flight, about as many as tasks: callers that wait for their own"
        yield cite(at_top, text, values, worst="depth")


RULE = Rule(
    id="blocked-tasks",
    role="symptom",
    title="Tasks pile up waiting for I/O",
    why="Each blocked task is work that stands still, and pools of workers run dry on them.",
    remedy=(
        "Find the cause among the other findings; this one shows who suffers.",
        "See what they wait in: cat /proc/PID/stack of the tasks in state D.",
    ),
    needs=Needs(one_of=({"queue": ("blocked",)}, {"queue": ("load_1m", "run_queue")})),
    thresholds={
        "tasks": Threshold(
            3, "tasks", "least blocked tasks, or one per CPU", "judgement: flusher and journal are two"
        ),
        "samples": Threshold(3, "samples", "how many in a row", "judgement: one is a hiccup"),
        "quiet": Threshold(0.3, "requests", "requests in flight that explain no crowd", "judgement"),
        "background": Threshold(
            0.2, "", "tasks per request below which writes are in the background", "judgement"
        ),
    },
    confirm=("ps -eo state,pid,wchan:32,cmd | grep ^D", "vmstat 1", "echo w > /proc/sysrq-trigger"),
    references=("https://man7.org/linux/man-pages/man8/vmstat.8.html",),
    detect=detect,
)
