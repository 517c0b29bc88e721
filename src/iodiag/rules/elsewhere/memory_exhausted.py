"""Memory and swap are used up: nothing is left that the kernel could reclaim.

What it detects: samples in which swap is full, or there is none, while less than 1 % of memory is available,
or 64 MB on small hosts; or less than 5 % where the kernel works and tasks wait, as where it takes pages away
that are read again. Where the kernel's estimate of what is available is not shown, or 0 in all samples, what
is free, in buffers or page cache stands for it, some of which may be shared memory that cannot be given up.
It is critical where the host shows what that costs: system time that reclaim takes, CPUs that only wait, or a
load average of several tasks per CPU; without swap it is told only then.

Why it matters: each program that needs a page looks for one itself, with nothing to be found. Work stands
still until something ends or is killed, however quick the disks are.

When it is wrong: caches that the kernel does not count as such (the ARC of ZFS) are given up on demand and
look like used memory. Full swap alone is harmless: idle pages may lie there for weeks. A test that fills
memory on purpose looks the same.

References: sar(1), -r and -S; Documentation/admin-guide/mm/concepts.rst (reclaim, OOM killer).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.host.cpu import HELD_PCT, IDLE_PCT, NO_IDLE_PCT, crowd
from iodiag.analysis.host.kernel_events import logged
from iodiag.analysis.host.swapping import available_kb, beside, room_kb, swap_used_pct
from iodiag.analysis.host.who_waits import rows_at
from iodiag.analysis.measure.evidence import Values, cite, in_samples, say
from iodiag.analysis.measure.grading import time_fields
from iodiag.analysis.view.view import View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.model.units import KB_PER_GB, KB_PER_MB
from iodiag.table.table import Mask, Table


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding per host."""
    memory = view.samples("memory")
    if memory is None or {"memory", "swap"} & view.average_only:
        return
    available = available_kb(memory)
    memory = memory.with_columns(available_kb=available)
    room = np.where(np.isnan(available), room_kb(view, memory), available)
    taken, share = memory.floats("used_kb"), memory.floats("used_pct")
    # newer tools count no cache as used
    total = np.fmax(memory.floats("free_kb") + taken, 100 * taken / np.where(share > 0, share, np.nan))
    few = np.minimum(limits.small_share / 100 * total, limits.small_mb * KB_PER_MB)
    used, free = (beside(view, "swap", name, memory) for name in ("used_kb", "free_kb"))
    full = swap_used_pct(view, memory)
    is_used_up = room <= np.maximum(limits.share / 100 * total, few)
    is_used_up |= (
        (room <= limits.short_share / 100 * total) & (full >= limits.swap) & _reclaims(view, memory, limits)
    )
    if not is_used_up.any():
        least: Values = {"room": float(np.fmin.reduce(room)) / KB_PER_MB}
        text = "at least {room:.0f} MB of memory are free or page cache: it is not used up"
        yield RULE.clear(say(text, least) if np.isfinite(room).any() else "no sample shows it used up")
        return
    is_gone = is_used_up & (full >= limits.swap)
    values, harm = _harm(view, memory[is_gone if is_gone.any() else is_used_up], limits)
    if harm:
        is_gone |= is_used_up & (used + free == 0)
    if not is_gone.any():
        text = "next to no memory is free or page cache in some sample, but swap has room, or there is none"
        yield RULE.undetermined(text)
        return
    values |= {"room": float(np.mean(room[is_gone])) / KB_PER_MB, "most": float(np.max(room)) / KB_PER_MB}
    # what is used without caches, beside no share of all, is not the rest of it
    whole = say(" of {total:.1f} GB", {"total": float(np.max(total)) / KB_PER_GB})
    values |= {
        "of": whole if np.isfinite(share).any() else "",
        "count": int(is_gone.sum()),
        "samples": len(memory),
    }
    values["swap"] = "swap is full" if (full[is_gone] >= limits.swap).any() else "there is no swap"
    values["kind"] = "available" if np.isfinite(available[is_gone]).all() else "free or page cache"
    yield _finding(view, memory[is_gone], values, harm)


def _reclaims(view: View, memory: Table, limits: Limits) -> Mask:
    """The samples in which the kernel takes much time and tasks wait, as where pages are read again."""
    found = np.zeros(len(memory), dtype=np.bool_)
    cpu = view.cpu_samples
    if cpu is not None:
        own, other = paired(memory, cpu)
        system, iowait = (cpu.floats(f"{name}_pct")[other] for name in ("system", "iowait"))
        found[own] = (system >= limits.reclaim) & (iowait >= limits.read_again)
    return found


def _harm(view: View, rows: Table, limits: Limits) -> tuple[Values, list[Evidence]]:
    """What CPUs and load show meanwhile, as values; the evidence of a cost, empty where they show none."""
    cpu, queue, disks = view.cpu_at(rows), rows_at(view, "queue", rows), view.samples("io")
    load = float(np.nanmax(queue.floats("load_1m"), initial=0)) if queue else float("nan")
    values: Values = {"load": load, "system": float("nan"), "iowait": float("nan")}
    evidence = []
    if load >= limits.load * (crowd(view) / 2):
        evidence.append(cite(queue, "the load average reaches {load:.0f}", values, worst="load_1m"))
    if cpu is None or view.has_only_cpu_averages:
        return values, evidence
    values |= {name: float(np.nanmax(cpu.floats(f"{name}_pct"))) for name in ("system", "iowait")}
    idle = float(np.nanmin(cpu.floats("idle_pct")))
    is_held = float(values["iowait"]) >= HELD_PCT and idle <= NO_IDLE_PCT
    if float(values["system"]) >= limits.system or is_held or _reclaims(view, rows, limits).any():
        text = "up to {system:.0f} % of CPU time is the kernel's, and up to {iowait:.1f} % iowait"
        evidence.append(cite(cpu, text, values, worst="system_pct"))
    if evidence and float(values["iowait"]) <= limits.iowait and idle >= IDLE_PCT:
        rates = np.array([np.nan]) if disks is None else disks.floats("ios_per_s")
        seen: Values = {"iowait": values["iowait"]}
        seen |= {"low": float(np.fmin.reduce(rates)), "high": float(np.fmax.reduce(rates))}
        text = "iowait is at most {iowait:.1f} %: tasks do not wait for disks"
        text += "; these complete {low} to {high} requests/s"
        evidence.append(cite(cpu, text, seen, worst="iowait_pct"))
    return values, evidence


def _finding(view: View, rows: Table, values: Values, harm: list[Evidence]) -> Finding:
    is_shown = view.cpu_all is not None or view.samples("queue") is not None
    cost = "; the load average reaches {load:.0f}; the kernel takes up to {system:.0f} % of CPU time"
    cost += ", and iowait is at most {iowait:.1f} %"
    text = "{room:.0f} MB{of} are {kind} and {swap}, "
    text += in_samples(int(values["samples"])) + cost * bool(harm)
    least = rows[int(np.nanargmin(rows.floats("free_kb"))) :][:1]
    columns = {"free": "free_kb", "cached": "cached_kb", "used": "used_pct"}
    shown: Values = {name: float(least.floats(column)[0]) for name, column in columns.items()}
    shown |= {"available": float(least.floats("available_kb")[0])}
    shown |= {"full": float(swap_used_pct(view, least)[0]), "most": values["most"]}
    told = "{free:.0f} kB are free, {cached:.0f} kB page cache"
    told += ", {available:.0f} kB available" * (not np.isnan(float(shown["available"])))
    is_shared = not np.isnan(float(shown["used"]))
    told += (
        "; {used:.2f} % of memory is used and {full:.2f} % of swap"
        if is_shared
        else "; {full:.2f} % of swap is used"
    )
    earlier = "; other samples have up to {most:.0f} MB free or in the page cache"
    return RULE.finding(
        severity="critical" if harm else "notice" if is_shown else "warning",
        confidence="high" if len(rows) > 1 else "medium",
        **time_fields(rows, of_host=True),
        summary=say(f"Memory is used up: {text}.", values),
        evidence=(
            cite(rows, told + earlier * (len(rows) < int(values["samples"])), shown),
            *harm,
            *logged(view, "out of memory", rows, "the kernel killed {count} processes to get memory"),
        ),
        refutes=("a cache that is counted as used memory, such as the ARC of ZFS",),
        cannot_know=("which process takes the memory: ps and the kernel's log tell",),
    )


RULE = Rule(
    id="memory-exhausted",
    role="elsewhere",
    explains=("blocked-tasks", "memory-pressure", "cpu-exhausted"),
    title="Memory and swap are used up",
    why="Each program that needs a page searches for one, with nothing to be found; disks do not help.",
    remedy=(
        "Find what takes the memory (ps, pidstat -r) and limit it: memory.max of its control group.",
        "Look for the OOM killer in the kernel's log; more swap gains time, more memory or less work helps.",
    ),
    needs=Needs(one_of=({"memory": ("free_kb", "used_kb"), "swap": ("used_kb", "free_kb")},)),
    thresholds={
        "share": Threshold(1, "%", "of memory, free or cache, that is next to none", "judgement: watermarks"),
        "small_mb": Threshold(64, "MB", "or so much on small hosts", "judgement: the programs' own code"),
        "small_share": Threshold(5, "%", "of their memory at most", "judgement: five times the share"),
        "swap": Threshold(99, "%", "of swap in use when it is full", "judgement: what rounding leaves"),
        "short_share": Threshold(5, "%", "where the kernel reclaims", "judgement: five times the share"),
        "reclaim": Threshold(30, "%", "system time meanwhile", "judgement: more than most work takes"),
        "read_again": Threshold(20, "%", "iowait meanwhile", "judgement: tasks wait for pages"),
        "system": Threshold(50, "%", "system time of a host that reclaims", "judgement: more than its work"),
        "load": Threshold(4, "tasks", "per CPU in the load average", "judgement: a crowd twice as large"),
        "iowait": Threshold(5, "%", "iowait up to which tasks wait for no disk", "as cpu-exhausted"),
    },
    confirm=(
        "dmesg -T | grep -iE 'out of memory|killed process'",
        "ps -eo pid,rss,vsz,comm --sort=-rss | head -20",
        "sar -B 1 10",
    ),
    references=("https://docs.kernel.org/admin-guide/mm/concepts.html",),
    detect=detect,
)
