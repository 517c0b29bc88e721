"""Who waits for I/O: tasks blocked in the kernel, and the share of time that pressure reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.array.topmost_devices import topmost
from iodiag.analysis.host.cpu import HELD_PCT, cpu_shares
from iodiag.analysis.host.process_of_device import is_flusher
from iodiag.analysis.measure import weighted
from iodiag.analysis.view.view import REPORTS, DeviceSeries, View, report_numbers, same_reports
from iodiag.model.capture import Fact
from iodiag.table.table import Mask, Table, by_text

SEVERAL = 2.0
"""Tasks blocked on average that are more than one stream, which waits for each of its own requests."""

NOBODY, HAS_TIME_PCT = 0.5, 10.0
"""Tasks that wait, on average, below which nobody does; idle time from which iowait tells who waits."""

MANY_CPUS = 50
"""CPUs of a host that does not state them, where iowait is to show that nobody waits: 1 % may be a task."""

IOWAIT_PCT, EPISODE_PCT, BLOCKED_TASKS = 15.0, 30.0, 1.0
"""Share of CPU time spent waiting for I/O on average and in any sample, and tasks blocked on it on average,
from which somebody waits."""

LITTLE_PCT = 10.0
"""iowait of no sample from which anybody is taken to wait, where no task is blocked in any."""

CROWD_TASKS = 3.0
"""Tasks blocked on average that are work which stands still, whatever they wait for."""

FEW_BLOCKED_TASKS, MOMENTARY_TASKS = 0.5, 2.0
"""Tasks blocked on average up to which it is a task now and then; without any iowait, for a moment each."""


def rows_at(view: View, table: str, rows: Table) -> Table | None:
    """The rows of a host's table in the same reports as `rows`; where none are, those of other tools.

    None where the same tool has such rows of other reports. vmstat beside iostat is a source of its own; then
    its whole capture of that run stands for the window.
    """
    samples = view.samples(table)
    if samples is None:
        return None
    same = same_reports(samples, rows)
    if same.any():
        return samples[same]
    # a run that has such samples has none of these reports, as of a first one that averages
    runs, own = (keys // REPORTS for keys in report_numbers(samples, rows))
    others = samples[~np.isin(runs, own)]
    return view.of_same_run(others, rows) if len(others) else None


def by_device(disk: Table) -> Iterator[tuple[str, Table]]:
    """The rows of each device, by name."""
    yield from sorted(by_text(disk, "device"), key=lambda part: part[0])


def blocked(view: View, rows: Table) -> tuple[Table, float] | None:
    """Tasks blocked on I/O (vmstat b, sar -q blocked) during `rows`: the samples and their mean."""
    return _mean(view, "queue", "blocked", rows)


def at_top(view: View, rows: Table) -> Table | None:
    """The samples meanwhile of the devices at the top of the stacks, where they count requests in flight."""
    disk = rows_at(view, "disk", rows)
    if disk is None or "depth" not in disk:
        return None
    tops = topmost(view, [series.name for series in view.devices])
    return disk[np.asarray(disk["device"].isin(tops))]


def wait_for_their_own(view: View, rows: Table) -> bool:
    """Whether about as many tasks are blocked as requests are in flight in all: a caller behind each."""
    counted, tops = blocked(view, rows), at_top(view, rows)
    if counted is None or tops is None or counted[1] < SEVERAL:
        return False
    depth = sum(weighted.mean(part, "depth") for _, part in by_device(tops))
    return OWN * depth <= counted[1] <= depth / OWN


OWN = 0.5
"""Share that tasks and requests in flight are of each other where each request is one's own (moments)."""


def does_nobody_wait(view: View, rows: Table) -> bool:
    """Whether nobody is seen to wait during `rows`: no task is blocked, or CPUs are idle for none."""
    if (blocked_tasks := blocked(view, rows)) is not None:
        return blocked_tasks[1] < NOBODY
    cpu = view.cpu_at(rows)
    if cpu is None or str(cpu["source"][0]) != str(rows["source"][0]):
        return False
    idle, iowait = (weighted.mean(cpu, f"{name}_pct", "cpu") for name in ("idle", "iowait"))
    return idle >= HAS_TIME_PCT and iowait * (view.cpus or MANY_CPUS) / 100 < NOBODY


def is_waited_for(view: View, rows: Table) -> Mask:
    """The samples in whose reports a task is blocked on I/O, or idle CPUs count that one waits.

    All of them where a capture that shares no report with them (vmstat beside iostat) has so many on average.
    """
    is_waited = np.zeros(len(rows), dtype=np.bool_)
    cpu = view.cpu_samples
    counts = ((view.samples("queue"), "queue", "blocked", 1.0), (cpu, "cpu", "iowait_pct", LITTLE_PCT))
    for table, family, column, least in counts:
        if table is not None and table.has(column):
            table = view.of_same_run(table, rows)
            own, other = paired(rows, table)
            is_waited[own] |= table.floats(column)[other] >= least
            is_waited |= not len(own) and weighted.mean(table, column, family) >= least
    return is_waited


def of_first_row(view: View, counted: Table, rated: Table) -> str:
    """Why tasks are counted in a row more than rates are, as the end of a clause: the first of vmstat."""
    is_more = len(counted) == len(rated) + 1 and len(view.since_boot.get("paging", ()))
    return " (of the first row only the rates are averages since boot)" if is_more else ""


def episode(view: View) -> Table | None:
    """The samples in which CPUs wait for I/O for long where they do not on average; None without any."""
    cpu = view.cpu_samples
    if cpu is None or weighted.mean(cpu, "iowait_pct", "cpu") >= IOWAIT_PCT:
        return None
    rows = cpu[cpu.floats("iowait_pct") >= EPISODE_PCT]
    return rows if len(rows) else None


def is_of_another_day(view: View, rows: Table) -> bool:
    """Whether some samples are far from all those of the disks: what they show is not of that time."""
    disk = view.samples("disk")
    if disk is None:
        return False
    seen, shown = (table["time"].stamps[~table["time"].is_unknown()] for table in (rows, disk))
    if not (len(seen) and len(shown)):
        return False
    return bool(seen.max() + _FARTHEST_ZONE < shown.min() or shown.max() + _FARTHEST_ZONE < seen.min())


_FARTHEST_ZONE = np.timedelta64(14, "h")
"""How far clocks of one time may be apart, by zones that are not stated."""


def load_average(view: View) -> Fact | None:
    """The highest load average of uptime, w or top, where no table counts tasks."""
    facts = view.facts_of("uptime") if view.samples("queue") is None else []
    return max(facts, key=lambda fact: fact.number("load_one"), default=None)


def waiting_crowd(view: View) -> float:
    """The lesser load average of 1 and 15 minutes where it is a crowd's and CPUs mostly wait; else 0.

    It is of now, even where the shares of CPU time may be averages since boot. Where the tasks that run at
    that moment are counted, it is of the others; CPUs may be idle then as well.
    """
    counted, shares = load_average(view), cpu_shares(view.cpu_all)
    if counted is None or shares is None:
        return 0.0
    load = min(counted.number("load_one"), counted.number("load_fifteen"))
    running = counted.number("running")
    is_held = shares.iowait >= HELD_PCT if running >= 0 else shares.is_io_bound
    load -= running if running >= 0 else 0.0
    return load if is_held and load >= CROWD_LOAD else 0.0


CROWD_LOAD, CROWDED_LOAD = 20.0, 100.0
"""Load averages of a host that mostly waits: of a crowd that waits now, and of work that stands still."""


def who_sleeps(view: View) -> str:
    """Who sleeps uninterruptibly by a list of processes, as the end of a clause; none that writes back."""
    facts = (fact for fact in view.facts_of("top-processes", "ps") if fact.word("state") == "D")
    names = [*dict.fromkeys(fact.word("process") for fact in facts if not is_flusher(fact.word("process")))]
    return f"; in state D (uninterruptible sleep): {', '.join(names[:_NAMED])}" if names else ""


_NAMED = 3
"""Processes that are named in a sentence."""


def do_several_wait(view: View, rows: Table) -> bool:
    """Whether two tasks and more are seen to wait for I/O during `rows`: blocked, or idle CPUs' time."""
    if (blocked_tasks := blocked(view, rows)) is not None:
        return blocked_tasks[1] >= SEVERAL
    return tasks_by_iowait(view, rows) > 1


def tasks_by_iowait(view: View, rows: Table) -> float:
    """How many tasks wait for I/O at the least during `rows`, by idle CPUs' time; 0 where it is not known."""
    cpu = view.cpu_at(rows)
    waited = 0.0 if cpu is None or view.has_only_cpu_averages else weighted.mean(cpu, "iowait_pct", "cpu")
    return waited / 100 * (view.cpus or 1)


def is_wait_unknown(view: View, rows: Table) -> bool:
    """Whether no column counts who waits during `rows`: no tasks, and no idle time of CPUs either."""
    cpu = None if view.has_only_cpu_averages else view.cpu_at(rows)
    has_time = cpu is not None and weighted.mean(cpu, "idle_pct", "cpu") >= HAS_TIME_PCT
    return blocked(view, rows) is None and not has_time


def hardly_answers(view: View, series: DeviceSeries, rows: Table, is_late: Mask) -> bool:
    """Whether work stands still for a device: in half of its samples it has no idle time and is too late for
    its load, while somebody may wait. Half of those with requests are enough if they are several and a fifth
    of all."""
    is_dead = is_late & (rows.floats("util") >= NEVER_IDLE)
    dead, used = int(is_dead.sum()), np.count_nonzero(series.samples.floats("ios_per_s") > 0)
    is_often = dead > 1 and dead >= OFTEN * len(series.samples)
    is_mostly = bool(2 * dead >= (used if is_often else len(series.samples)))
    return is_mostly and not does_nobody_wait(view, rows[is_dead])


NEVER_IDLE, SECONDS_MS, OFTEN = 0.9, 1000.0, 0.2
"""Busy share without idle time to speak of, the latency at which whoever waits gets nothing done, and the
share of all samples in which that is no rare event."""


def pressure(view: View, rows: Table, state: str) -> tuple[Table, float] | None:
    """Share of time in % that `some` or `full` tasks waited for I/O during `rows` (sar -q IO)."""
    return _mean(view, "pressure", f"io_{state}_pct", rows)


def under_pressure(view: View, what: str, some: float, full: float) -> tuple[Table, str] | None:
    """The samples in which some or all tasks waited for "io" or "memory" so much (in %).

    Beside them the ending of the columns: of the sample itself, else averages of the last 10 or 60 s. None
    without a table of pressure.
    """
    table = view.samples("pressure")
    if table is None:
        return None
    kind = next((kind for kind in ("", "_10s", "_60s") if view.has("pressure", f"{what}_some{kind}_pct")), "")
    shares = (table.floats(f"{what}_{state}{kind}_pct") for state in ("some", "full"))
    is_pressed = np.any([share >= least for share, least in zip(shares, (some, full), strict=True)], axis=0)
    return table[is_pressed], kind


def is_any_busy(devices: Iterable[DeviceSeries], rows: Table, util_pct: float, depth: float) -> bool:
    """Whether one of some devices was that busy, or held that many requests, during a device's `rows`."""
    for device in devices:
        own = device.samples[same_reports(device.samples, rows)]
        if len(own):
            is_busy = weighted.mean(own, "util_pct") >= util_pct
            if is_busy or weighted.mean(own, "queue_depth") >= depth:
                return True
    return False


def _mean(view: View, table: str, column: str, rows: Table) -> tuple[Table, float] | None:
    found = rows_at(view, table, rows)
    if found is None or column not in found:
        return None
    found = found[~np.isnan(found.floats(column))]
    mean = weighted.mean(found, column, table) if len(found) else float("nan")
    return None if np.isnan(mean) else (found, mean)
