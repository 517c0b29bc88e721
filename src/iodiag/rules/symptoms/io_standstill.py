"""Tasks wait for I/O while nothing is read or written.

What it detects: a host that read and wrote a megabyte per second and more, and then next to nothing, while a
task is blocked in each sample, which was not so all the time before, and the CPUs have time to spare; where
it was so before, if it is so to the end, and iowait says that it is I/O it waits for still. Or,
from the first sample to the last, nothing moves, the CPUs are idle, and a crowd is blocked that never
shrinks: it began before the capture. Where the disks are shown: CPUs that spend half of the time and more
waiting for I/O and none of it idle, while no device completes anything. Where dirty memory is shown: much of
it that stays for longer than the kernel lets it lie, while a fiftieth of what was written before is.

Why it matters: what is waited for does not come. A load that ends leaves nobody waiting.

It is critical where it lasts to the end of the capture: for five samples, or for three after a load that was
steady for ten, or with a crowd that was blocked from the first of them on.

When it is wrong: a task that waits for NFS, FUSE or a lock of the kernel, just when a load ends; a crowd
that does so stands still all the same, unless as many of it were blocked while data moved. One to three
tasks that are always blocked, as some kernel threads are, are no crowd. A host that switches between tasks
thousands of times a second does work all the while, and is left open. Where tables show that mounts of NFS
or SMB do operations, it is left open. A device that the capture leaves out may do the I/O, and a server may
take the dirty pages of an NFS mount. Waiting for completions of an io_uring counts as iowait on kernels
from 6.1.39 and 6.4.4 on, for a program that has nothing to do; but not on every CPU at once.

References: vmstat(8); kernel/sched/core.c (io_schedule counts who waits, whatever the device does).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from iodiag.analysis.array.side_by_side import first_row_per_report, paired, report_keys, total_of
from iodiag.analysis.host.cpu import HELD_PCT, NO_IDLE_PCT, crowd
from iodiag.analysis.host.paging import FLAT, MOST, STILL_KB
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, in_samples, say
from iodiag.analysis.measure.grading import time_fields
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.measure.windows import longest_stretch, windows
from iodiag.analysis.view.view import View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import Mask, Table

OPERATIONS = 10.0
"""Operations on network mounts per second that tasks may wait for (judgement: more than a mount at rest)."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """At most one finding per host."""
    unwritten = _unwritten(view, limits)
    if unwritten is not None:
        yield unwritten
    elif view.devices and "disk" not in view.average_only:
        yield _beside_disks(view, limits)
    else:
        yield _without_disks(view, limits)


def _unwritten(view: View, limits: Limits) -> Finding | None:
    """Whether much stays dirty while hardly any of it is written, though far more was before."""
    memory, paging = view.samples("memory"), view.samples("paging")
    if memory is None or paging is None or {"memory", "paging"} & view.average_only:
        return None
    if "dirty_kb" not in memory:
        return None
    own, other = paired(memory, paging)
    memory, written = memory[own], paging.floats("pgpgout_kb_per_s")[other]
    dirty, moves = memory.floats("dirty_kb"), written >= limits.moves
    before = median(written[moves]) if moves.any() else 0.0
    # what is written by when it is due lies no longer than it may
    least = np.fmax(limits.dirty * 1024, limits.due * written)
    is_still = (limits.collapse * written <= before) & (dirty >= least)
    is_still &= (2 * dirty >= np.fmax.accumulate(dirty)) & np.logical_or.accumulate(moves)
    rows = max(windows(memory, is_still), key=len, default=memory[:0])
    if min(int(moves.sum()), len(rows)) < limits.samples or not rows.floats("interval_s").sum() >= limits.due:
        return None
    in_rows = np.isin(memory["line"], rows["line"]) & is_still
    values: Values = {"before": before / 1024, "now": float(written[in_rows].mean())}
    values |= {"dirty": float(rows.floats("dirty_kb").mean()) / 1024, "count": len(rows)}
    values |= {"seconds": float(rows.floats("interval_s").sum()), "samples": len(memory)}
    text = "{dirty:.0f} MB stay dirty while {now:kb} are written, and {before:.1f} MB/s were before"
    return RULE.finding(
        severity="warning",
        confidence="medium",
        **time_fields(rows, of_host=True),
        title="Dirty memory is hardly written, though the disks can take more",
        summary=say(
            f"What is to be written stays in memory: {text}, {in_samples(len(memory))}; the speed of the "
            "disks is not its limit.",
            values,
        ),
        evidence=(cite(rows, text + ", for {seconds:.0f} s", values, worst="dirty_kb"),),
        remedy=(
            "See what the flusher does: a kworker at 100 % CPU allocates, or waits for a file system's lock.",
            "Look for a device that answers nothing, and for NFS mounts, whose dirty pages no disk takes.",
        ),
        confirm=(
            "grep -E 'Dirty|Writeback' /proc/meminfo",
            "top -b -n 1 -H | grep kworker",
            *RULE.confirm[1:],
        ),
        refutes=("an NFS mount that holds the dirty pages: nfsstat shows its writes",),
        cannot_know=("what holds the flusher: perf top, and the stack of its kworker, tell",),
    )


def _without_disks(view: View, limits: Limits) -> Finding | Outcome:
    """Whether bi and bo of the host stopped while somebody waited for them."""
    paging, queue = view.samples("paging"), view.samples("queue")
    if paging is None or queue is None or {"paging", "queue"} & view.average_only:
        return RULE.not_applicable("no table shows what is moved and who waits", missing=("queue",))
    own, other = paired(paging, queue)
    paging, queue = paging[own], queue[other]
    kb = paging.floats("pgpgin_kb_per_s") + paging.floats("pgpgout_kb_per_s")
    tasks = queue.floats("blocked")
    moves, is_still = kb >= limits.moves, (kb < STILL_KB) & (tasks >= 1)
    is_still &= np.logical_or.accumulate(moves)
    longest = longest_stretch(paging, is_still) or slice(0, 0)
    if min(int(moves.sum()), longest.stop - longest.start) < limits.samples:
        return _never_moved(view, paging, queue, limits)
    cpu = view.cpu_at(paging[is_still])
    if cpu is not None and not _free(cpu) >= limits.free:
        return RULE.undetermined("the CPUs are busy meanwhile: tasks may wait for those")
    least, held = tasks[moves].min(), tasks[is_still].mean()
    is_freed = held >= max(limits.tasks_alone, crowd(view)) and held >= limits.freed * least
    is_sure = least < 1 or is_freed
    if not (is_sure or _still_waits(view, paging, moves, is_still, limits)):
        reason = "a task is blocked all the time, whether data moves or not: it may wait for another thing"
        return RULE.undetermined(reason)
    # what moves again afterwards is no load before it
    before = kb[: longest.start][moves[: longest.start]]
    values: Values = {
        "before": median(before),
        "moving": len(before),
        "s": "s" * (len(before) > 1),
        "now": float(kb[is_still].mean()),
        "tasks": float(tasks[is_still].mean()),
    }
    text = "{before:kb} were moved in {moving} sample{s}, and then {now:kb}, with {tasks:.1f} tasks blocked"
    blocked_tasks = cite(queue[is_still], "{tasks:.1f} tasks are blocked", values)
    near = np.abs(kb / median(kb[moves]) - 1) <= FLAT
    is_steady = near.sum() >= limits.steady and near.sum() >= MOST * moves.sum()
    lasting = limits.samples if is_steady else limits.lasting
    found = _finding(paging, is_still, text, values, limits, blocked_tasks, lasting=lasting)
    return found if is_sure else replace(found, severity="warning", confidence="medium")


def _still_waits(view: View, paging: Table, moves: Mask, is_still: Mask, limits: Limits) -> bool:
    """Whether idle CPUs count about as many waiting tasks as before, to the end, and nothing moves."""
    before, now = (view.cpu_at(paging[rows]) for rows in (moves, is_still))
    if before is None or now is None or not is_still[-1]:
        return False
    iowait = weighted.mean(now, "iowait_pct", "cpu")
    return bool(iowait >= limits.waited and 2 * iowait >= weighted.mean(before, "iowait_pct", "cpu"))


def _never_moved(view: View, paging: Table, queue: Table, limits: Limits) -> Finding | Outcome:
    """What a crowd proves that is blocked before the capture begins, while nothing moves; else no finding."""
    tasks, cpu = queue.floats("blocked"), view.cpu_at(paging)
    kb = paging.floats("pgpgin_kb_per_s") + paging.floats("pgpgout_kb_per_s")
    is_still: Mask = kb < STILL_KB
    if not (is_still & (tasks >= limits.tasks)).any():
        is_held = is_still & (tasks >= 1) & np.logical_or.accumulate(~is_still)
        values: Values = {"count": max(map(len, windows(paging, is_held, gap=0)), default=0)}
        if float(values["count"]) < limits.pause:
            return RULE.clear("no stretch in which tasks wait and nothing is moved any more")
        text = (
            "nothing was moved in {count} samples in a row while tasks were blocked; a longer stretch would "
        )
        return RULE.undetermined(say(text + "tell", values))
    is_crowd = (tasks >= max(limits.tasks_alone, crowd(view))).all() and tasks[-1] >= tasks[0]
    is_all = is_still.all() and len(paging) >= limits.samples
    if not (is_all and is_crowd and cpu is not None and _are_free(cpu, limits)):
        return RULE.undetermined("tasks are blocked while nothing is moved: for what, no column shows")
    system = view.samples("system")
    switches = 0.0 if system is None else weighted.mean(system, "context_switches_per_s", "system")
    if switches >= limits.switches:
        text = "tasks are blocked, but the host switches between tasks {switches:.0f} times/s: work goes on, "
        return RULE.undetermined(say(text + "on NFS or FUSE, as may be", {"switches": switches}))
    values = {"tasks": float(tasks.mean()), "free": _free(cpu)}
    text = (
        "{tasks:.1f} tasks are blocked, CPUs have nothing to do {free:.0f} % of the time, and nothing moves, "
    )
    text += "from before the capture to its end (NFS, FUSE or a lock may hold them, too)"
    return replace(
        _finding(queue, is_still, text, values, limits, lasting=limits.samples), confidence="medium"
    )


def _are_free(cpu: Table, limits: Limits) -> bool:
    """Whether CPUs are idle in each sample, waiting for I/O or not."""
    idle, iowait = (np.nan_to_num(cpu.floats(name)) for name in ("idle_pct", "iowait_pct"))
    return bool((idle + iowait >= limits.all_free).all())


def _free(cpu: Table) -> float:
    """The share of CPU time in % that is idle, waiting for I/O or not."""
    return float(
        sum(weighted.or_zero(weighted.mean(cpu, name, "cpu")) for name in ("idle_pct", "iowait_pct"))
    )


def _beside_disks(view: View, limits: Limits) -> Finding | Outcome:
    """Whether the CPUs wait all the time while no device that is shown completes anything."""
    cpu = view.cpu_samples
    if cpu is None:
        return RULE.not_applicable("no table shows who waits", missing=("cpu",))
    reports = report_keys(cpu)
    parts = [first_row_per_report(series) for series in view.devices]
    done, moved = (total_of(parts, f"{what}_per_s", reports) for what in ("ios", "kb"))
    is_held = (cpu.floats("iowait_pct") >= limits.iowait) & (cpu.floats("idle_pct") <= limits.idle)
    # a driver that does not count its requests moves kB without any
    is_still = is_held & (done < 1) & ~(moved >= STILL_KB)
    if not is_still.any():
        return RULE.clear("no sample in which the CPUs wait and no device completes anything")
    if any(_does_operations(view, table) for table in ("nfs_mounts", "nfs_client", "cifs_mounts")):
        reason = "the devices shown stand still, but network mounts do operations: tasks may wait for those"
        return RULE.undetermined(reason)
    values: Values = {name: weighted.mean(cpu[is_still], f"{name}_pct", "cpu") for name in ("iowait", "idle")}
    values |= {"devices": len(parts), "most": float(done[is_still].max())}
    did = "complete {most:.2g} requests/s in all at most" if done[is_still].any() else "complete no request"
    text = "iowait is {iowait:.0f} %, {idle:.0f} % idle, and the devices shown ({devices}) " + did
    return _finding(cpu, is_still, text, values, limits, lasting=limits.lasting)


def _does_operations(view: View, table: str) -> bool:
    """Whether operations on a mount of the network, or calls of all mounts, are shown: some each second."""
    rows = view.samples(table)
    if rows is None or table in view.average_only:
        return False
    rates = (weighted.mean(rows, f"{what}_per_s", table) for what in ("calls", "reads", "writes"))
    return any(rate >= OPERATIONS for rate in rates)


def _finding(
    samples: Table,
    is_still: Mask,
    text: str,
    values: Values,
    limits: Limits,
    *others: Evidence,
    lasting: float,
) -> Finding:
    """A finding of some samples of the host; it is critical where `lasting` ones end the capture so."""
    rows, last = samples[is_still], is_still[-int(lasting) :]
    values |= {"count": len(rows), "samples": len(samples)}
    return RULE.finding(
        severity="critical" if last.all() and len(last) >= lasting else "warning",
        confidence="high" if len(rows) >= limits.samples else "medium",
        **time_fields(rows, of_host=True),
        summary=say(f"Tasks wait for I/O that does not move: {text}, {in_samples(len(samples))}.", values),
        evidence=(cite(rows, text, values, worst="iowait_pct"), *others),
        refutes=("tasks that wait for NFS, FUSE or a lock of the kernel",),
        cannot_know=("which device holds the requests: /sys/block/*/inflight tells",),
    )


RULE = Rule(
    id="io-standstill",
    role="symptom",
    explains=("blocked-tasks",),
    title="Tasks wait for I/O, and nothing is moved",
    why="What is waited for does not come: a device, a path to it or a limit above it stands still.",
    remedy=(
        "Look for a device that answers nothing: grep . /sys/block/*/inflight, twice, and the kernel's log.",
        "See what the tasks wait in before anything is restarted: cat /proc/PID/stack of those in state D.",
    ),
    needs=Needs(
        one_of=(
            {"queue": ("blocked",), "paging": ("pgpgin_kb_per_s",)},
            {"memory": ("dirty_kb",)},
            {"cpu": ("iowait_pct",)},
        )
    ),
    thresholds={
        "dirty": Threshold(256, "MB", "dirty memory that is much", "judgement: seconds of a disk's work"),
        "collapse": Threshold(50, "x", "fall of what is written", "judgement: no disk seeks that much worse"),
        "due": Threshold(
            70,
            "s",
            "for which it stays",
            "dirty_expire_centisecs: 30 s, and 5 s until the flusher wakes, twice",
        ),
        "moves": Threshold(1024, "kB/s", "least that is moved before", "judgement: a load, no trickle"),
        "samples": Threshold(3, "samples", "of either kind", "judgement: one is a pause"),
        "pause": Threshold(
            2, "samples", "in a row that clear nothing", "judgement: one may be between two writes"
        ),
        "lasting": Threshold(5, "samples", "at the end of the capture that stand still now", "judgement"),
        "steady": Threshold(10, "samples", "of a steady load after which three are now", "judgement"),
        "tasks": Threshold(3, "tasks", "blocked while nothing moves that clear nothing", "as blocked-tasks"),
        "tasks_alone": Threshold(
            8, "tasks", "or two per CPU, blocked from the start, that stand still", "judgement: a crowd"
        ),
        "waited": Threshold(15, "%", "iowait while nothing moves that tells for what", "as blocked-tasks"),
        "freed": Threshold(2, "x", "such a crowd over the fewest tasks while data moves", "judgement"),
        "switches": Threshold(
            5000,
            "switches/s",
            "between tasks that show work on something else",
            "judgement: at rest: hundreds",
        ),
        "all_free": Threshold(95, "%", "idle CPU time in each of those samples", "judgement: all of it"),
        "iowait": Threshold(HELD_PCT, "%", "iowait of CPUs that mostly wait", "as blocked-tasks has it"),
        "free": Threshold(30, "%", "idle CPU time, waiting or not", "as serialized-commit has it"),
        "idle": Threshold(NO_IDLE_PCT, "%", "idle time that is none", "as blocked-tasks has it"),
    },
    confirm=(
        "dmesg -T | grep -iE 'timeout|reset|abort|I/O error|link|blocked for more'",
        "grep . /sys/block/*/inflight",
        "ps -eo state,pid,wchan:32,cmd | grep ^D",
    ),
    references=("https://man7.org/linux/man-pages/man8/vmstat.8.html",),
    to_clear=ToClear(samples=3, requests=0),
    detect=detect,
)
