"""What the host's processors did meanwhile: shares of CPU time, and how runnable tasks come and go."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, in_samples, say
from iodiag.analysis.view.view import View, report_numbers
from iodiag.model.capture import Fact
from iodiag.table.table import Floats, Mask, Table, numbered


@dataclass(frozen=True)
class CpuShares:
    """Shares of CPU time in per cent over some rows of the host's CPU `all`.

    `busy` is user, nice and system; `steal` is 0 where the source has none. `available` counts iowait
    as what it is: idle time.
    """

    rows: Table = field(repr=False)
    idle: float
    iowait: float
    busy: float
    steal: float

    @property
    def available(self) -> float:
        """Idle and iowait: what more work could use."""
        return self.idle + self.iowait

    @property
    def is_io_bound(self) -> bool:
        """Whether the host has no time but for work and for waiting, and mostly waits."""
        return self.iowait >= HELD_PCT and self.idle <= NO_IDLE_PCT

    @property
    def ceiling(self) -> float:
        """By how much CPU-bound work could grow at most if nothing made it wait."""
        return 100 / self.busy if self.busy > 0 else float("inf")

    @property
    def without_iowait(self) -> float:
        """The growth that taking iowait at its word would promise."""
        return (self.busy + self.iowait) / self.busy if self.busy > 0 else float("inf")

    def template_values(self) -> Values:
        """What sentences about it name."""
        return {
            "idle": self.idle,
            "iowait": self.iowait,
            "cpu_busy": self.busy,
            "steal": self.steal,
            "available": self.available,
            "ceiling": self.ceiling,
            "without_iowait": self.without_iowait,
        }


HELD_PCT, NO_IDLE_PCT = 50.0, 10.0
"""Iowait of a host that waits more than it works, and idle time that is as good as none."""

MOST_STEAL, LEAST_WORK = 90.0, 0.5
"""Steal beyond which CPUs that are wanted so much do some work, and work that is too little for that."""


def is_impossible(cpu: Table) -> Mask:
    """Samples whose steal no hypervisor makes: CPUs are wanted all the time, and hardly run but are idle."""
    work = sum(np.nan_to_num(cpu.floats(name)) for name in ("user_pct", "nice_pct", "system_pct"))
    is_idle = (work < LEAST_WORK) & (work < cpu.floats("idle_pct"))
    return np.asarray((cpu.floats("steal_pct") >= MOST_STEAL) & is_idle)


def who_uses_a_cpu(view: View) -> tuple[str, Fact | None]:
    """The process that uses all of a CPU, by top or pidstat, as the end of a clause and as a fact."""
    shown = view.facts_of("top-processes")
    most = max(shown, key=lambda fact: np.nan_to_num(fact.number("cpu_pct")), default=None)
    if most is None or not most.number("cpu_pct") >= _ALL_OF_ONE_PCT:
        return "", None
    if most.number("alike") > 1:
        values: Values = {**most.values, "cpus": most.number("alike_pct") / 100}
        return say("; {alike} tasks named {process} use {cpus:.1f} CPUs by {tool}", values), most
    in_kernel = ", {system_pct:.0f} % in the kernel" if most.number("system_pct") >= HELD_PCT else ""
    return say("; {process} uses {cpu_pct:.0f} % of a CPU by {tool}" + in_kernel, most.values), most


_ALL_OF_ONE_PCT = 90.0
"""Share of one CPU from which a process uses all that one thread can."""

CALM_PCT, IDLE_PCT = 1.0, 10.0
"""Iowait of no importance, and the idle time without which none is counted."""


def counts_no_wait(cpu: Table) -> bool:
    """Whether CPUs that were idle at times in every sample counted no iowait in any."""
    is_calm = (cpu.floats("iowait_pct") <= CALM_PCT) & (cpu.floats("idle_pct") >= IDLE_PCT)
    return bool(len(cpu) and is_calm.all())


def cpu_shares(rows: Table | None) -> CpuShares | None:
    """The shares over some CPU rows; None without rows or without idle and iowait in them."""
    if rows is None or not len(rows):
        return None
    idle, iowait = weighted.mean(rows, "idle_pct", "cpu"), weighted.mean(rows, "iowait_pct", "cpu")
    steal = weighted.mean(rows, "steal_pct", "cpu")
    busy = np.nansum([weighted.mean(rows, f"{name}_pct", "cpu") for name in ("user", "nice", "system")])
    if np.isnan(idle) or np.isnan(iowait):
        return None
    return CpuShares(rows, idle, iowait, float(busy), 0.0 if np.isnan(steal) else steal)


@dataclass(frozen=True)
class RunQueueBursts:
    """How runnable tasks come and go: shares of samples (in per cent) without any and with a crowd.

    A task counts as none: newer vmstat counts itself. `crowd` is from how many on it is a crowd;
    `dispersion` the variance over the mean, 1 for tasks that come and go on their own.
    """

    rows: Table = field(repr=False)
    empty: float
    crowded: float
    crowd: float
    dispersion: float

    def template_values(self) -> Values:
        """What sentences about it name; `runs` are the first counts as the samples show them."""
        runs = self.rows.floats("run_queue")[:12]
        return {
            "empty": self.empty,
            "crowded": self.crowded,
            "crowd": self.crowd,
            "dispersion": self.dispersion,
            "runs": ", ".join(f"{value:g}" for value in runs),
        }


LEAST_CONVOY_SAMPLES = 8
_CROWD_WITHOUT_CPU_COUNT = 8.0


def crowd(view: View) -> float:
    """Tasks that make a crowd: twice as many as processors; of a host of four where these are not known."""
    return 2.0 * view.cpus if view.cpus else _CROWD_WITHOUT_CPU_COUNT


def tasks_beyond_cpus(view: View) -> str:
    """That twice as many tasks wanted to run as there are CPUs, in most samples; else empty.

    A sample's mean may show idle time all the same. CPUs have to be counted: a large host serves as many.
    """
    queue = view.samples("queue")
    if queue is None or "queue" in view.average_only or view.has_only_cpu_averages or view.cpus is None:
        return ""
    crowded = queue[queue.floats("run_queue") >= 2 * view.cpus]
    if 2 * len(crowded) <= len(queue):
        return ""
    values: Values = {"tasks": weighted.mean(crowded, "run_queue", "queue"), "cpus": view.cpus}
    values |= {"count": len(crowded), "samples": len(queue)}
    return say("{tasks:.0f} tasks wanted to run on {cpus} CPUs, " + in_samples(len(queue)), values)


def run_queue_bursts(view: View) -> RunQueueBursts | None:
    """The pattern of runnable tasks over the whole capture; None with fewer than eight samples."""
    queue = view.samples("queue")
    if queue is None or "run_queue" not in queue:
        return None
    rows = queue[~np.isnan(queue.floats("run_queue"))]
    counts = rows.floats("run_queue")
    if len(counts) < LEAST_CONVOY_SAMPLES or counts.mean() == 0:
        return None
    least = crowd(view)
    return RunQueueBursts(
        rows=rows,
        empty=100 * float((counts <= 1).mean()),
        crowded=100 * float((counts >= max(least, 2)).mean()),
        crowd=least,
        dispersion=float(counts.var() / counts.mean()),
    )


def fullest_cpu(view: View, by: str = "system_pct") -> Table | None:
    """The rows of all CPUs together, with the CPU that is busiest in the kernel; None where none is shown.

    Of that CPU: `full` and `interrupts` in % of its time, its `number` (-1 without one) and `line`; `busy` is
    the share of all CPUs together. `by` "work_pct" it is the one with the least idle time and iowait.
    """
    cpu, together = view.samples("cpu"), view.cpu_all
    if cpu is None or together is None:
        return None
    each = cpu[np.asarray(cpu["cpu"] != "all")]
    if len(numbered(each["cpu"])[1]) < 2:
        return None
    (keys,) = report_numbers(each)
    each = each.with_columns(work_pct=_work(each))
    order = np.lexsort((np.nan_to_num(each.floats(by)), keys))
    last = order[np.append(keys[order][1:] != keys[order][:-1], True)]
    own, other = paired(together, each[last])
    if not len(own):
        return None
    of_cpu = each[last[other]]
    interrupts = np.nan_to_num(of_cpu.floats("irq_pct")) + np.nan_to_num(of_cpu.floats("softirq_pct"))
    rows = together[own]
    return rows.with_columns(
        full=of_cpu.floats(by),
        interrupts=interrupts,
        busy=_work(rows),
        number=np.array([float(name) if name.isdigit() else -1 for name in of_cpu["cpu"]]),
        line=of_cpu["line"],
    )


def _work(cpu: Table) -> Floats:
    """What CPUs did, in % of their time: neither idle, nor waiting for I/O, nor taken by the hypervisor."""
    others = (np.nan_to_num(cpu.floats(f"{name}_pct")) for name in ("iowait", "steal"))
    return 100 - cpu.floats("idle_pct") - sum(others)
