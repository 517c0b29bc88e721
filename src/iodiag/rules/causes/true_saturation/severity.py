"""How grave a saturated device is, by who is seen to wait, and how sure."""

from __future__ import annotations

import re

import numpy as np

from iodiag.analysis.array.topmost_devices import relatives
from iodiag.analysis.host.cpu import HELD_PCT
from iodiag.analysis.host.process_of_device import longest_wait_s
from iodiag.analysis.host.who_waits import (
    CROWD_TASKS,
    NOBODY,
    SEVERAL,
    blocked,
    do_several_wait,
    does_nobody_wait,
    is_any_busy,
    pressure,
    tasks_by_iowait,
)
from iodiag.analysis.load.load_sentences import LEAST_PRESSURE, application_latency, iowait_meanwhile
from iodiag.analysis.load.saturation.bursts import is_passing
from iodiag.analysis.load.saturation.judged_levels import JudgedLevel
from iodiag.analysis.measure import weighted
from iodiag.analysis.states.service_times import (
    SERVICE,
    class_of,
    events_per_sample,
    is_adjacent_stream,
    sane_limit_ms,
    streams_kb,
    usual_ms,
)
from iodiag.analysis.view.device_names import whole_disk_names
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.capture import Fact
from iodiag.model.finding import Confidence, Severity
from iodiag.model.rule import Limits
from iodiag.table.table import Table


def points_of(view: View, load: JudgedLevel, limits: Limits) -> float:
    """What the certainty is counted from: how the load was measured, and who is seen to wait."""
    points: float = 1 + {"measured": 1, "least seen": 0, "none": 0}.get(load.basis, 2)
    points += 2 * (load.lower is not None and load.elasticity <= limits.flat_elasticity)
    points += 2 * any(True for _ in application_latency(view, load))
    if (some := pressure(view, load.level.rows, "some")) is not None:
        points += some[1] >= LEAST_PRESSURE
    if (blocked_tasks := blocked(view, load.level.rows)) is not None:
        points += blocked_tasks[1] >= 1
    cpu = view.cpu_at(load.level.rows)
    if cpu is not None and weighted.mean(cpu, "steal_pct", "cpu") >= limits.most_steal:
        points -= 2
    if load.level.util >= limits.full_util / 100:
        return points
    # with idle time in it a mean may be of a burst
    is_long = bool(np.nanmax(weighted.lengths(load.level.rows)) > limits.long_sample)
    return points - is_long


def severity_of(
    view: View,
    series: DeviceSeries,
    load: JudgedLevel,
    rows: Table,
    whole: Table,
    sure: Confidence,
    limits: Limits,
) -> Severity:
    """By harm: short waits, and writeback that is seen to make nobody wait, are inefficiencies."""
    if is_passing(series, rows, limits) or sure == "low" or load.level.latency_ms < limits.least_harm:
        return "notice"
    moved = load.level.busy_rate * load.level.size_kb
    is_stream = is_adjacent_stream(series, load.level.size_kb, moved) and class_of(series) == "spinning"
    if is_stream and load.level.latency_ms <= usual_ms(series, load.level.size_kb):
        return "notice"  # all that its medium gives, and in no more time than one request alone may take
    if load.level.direction == "writes" and _is_patient(view, series, load, limits):
        return "notice"
    is_felt = load.basis == "reads" and class_of(series) == "spinning"
    if load.basis in ("speed", "reads") and not (is_felt or do_several_wait(view, load.level.rows)):
        return "notice"
    full = pressure(view, load.level.rows, "full")
    if full is not None and full[1] >= limits.standstill:
        return "critical"
    is_critical = _stands_still(view, series, load, whole, limits) or _is_all_waiting(
        view, series, load, limits
    )
    return "critical" if is_critical else "warning"


def _is_all_waiting(view: View, series: DeviceSeries, load: JudgedLevel, limits: Limits) -> bool:
    """Whether nothing in the capture is better: a full device and CPUs that mostly wait, in every sample.

    And each request takes ten times what one alone does, in a queue, beyond what any healthy device takes. Of
    fewer samples than a flood may fill, the average since boot has to show the same.
    """
    level, cpu = load.level, None if view.has_only_cpu_averages else view.cpu_at(series.samples)
    if cpu is None or level.depth < limits.hard_depth:
        return False
    usual, sane = (of(series, level.size_kb) for of in (usual_ms, sane_limit_ms))
    late_ms = float(max(limits.hard_inflation * usual, sane))
    is_full = (series.samples.floats("util_pct") >= limits.full_util).all()
    is_all = is_full and level.latency_ms >= late_ms and (cpu.floats("iowait_pct") >= HELD_PCT).all()
    is_lasting = len(series.samples) >= limits.lasting or _was_late(view, series, late_ms, limits)
    return bool(is_all and is_lasting)


def _was_late(view: View, series: DeviceSeries, late_ms: float, limits: Limits) -> bool:
    """Whether requests took as long on average since boot, in a queue, while CPUs mostly waited."""
    disk, cpu = (view.since_boot.get(name) for name in ("disk", "cpu"))
    own = disk[disk["device"] == series.name] if disk is not None else None
    if cpu is None or own is None or not len(own) or not len(cpu):
        return False
    is_late = (own.floats("await_ms") >= late_ms) & (own.floats("queue_depth") >= limits.hard_depth)
    return bool(is_late.all() and (cpu.floats("iowait_pct") >= HELD_PCT).all())


def _stands_still(view: View, series: DeviceSeries, load: JudgedLevel, whole: Table, limits: Limits) -> bool:
    """Whether requests wait many seconds in a queue; or one, and reads or a file system's journal as well; or
    nearly one, and CPUs or the load show no work done.

    Of writes one task alone may fill the queue, through the page cache. `whole` are the samples of the state.
    """
    level, done = load.level, events_per_sample(whole)
    latency_ms = float(np.nansum(done * whole.floats("latency_ms")) / np.nansum(done))
    is_full = weighted.mean(whole, "util_pct") >= limits.full_util
    is_lasting = is_full and 2 * len(whole) >= len(series.loaded)
    if not is_lasting or level.depth < limits.hard_depth or not latency_ms >= limits.still_ms:
        return False
    # no flush alone fills such a queue, or makes several tasks wait
    reads, all_requests = (weighted.mean(whole, name) for name in ("reads_per_s", "ios_per_s"))
    is_shared = reads >= limits.read_share * all_requests or _is_waited_for_alone(view, series, whole)
    is_shared = latency_ms >= limits.second_ms and (is_shared or bool(late_journals(view, series)))
    # what comes now waits for all that is in line, which is more than what completed did where the line grows
    drain_ms = 1000 * level.depth / level.rate if level.rate > 0 else 0.0
    in_line_ms = drain_ms if drain_ms >= _GROWS * latency_ms else latency_ms
    if in_line_ms >= limits.dead_ms or is_shared:
        return not does_nobody_wait(view, whole)
    iowaits = (float(item.values.get("iowait", 100.0)) for item in iowait_meanwhile(view, load))
    is_crowd = level.direction != "writes" or do_several_wait(view, level.rows)
    return is_crowd and any(share >= limits.still_iowait for share in iowaits)


def _is_waited_for_alone(view: View, series: DeviceSeries, rows: Table) -> bool:
    """Whether several tasks wait for I/O, and no device but those of its stack is busy, to be waited for.

    Two may be a flusher and its journal, or the one program that writes.
    """
    own, counted = relatives(view, series.name), blocked(view, rows)
    others = (one for one in view.devices if one.name not in own)
    is_other = is_any_busy(others, rows, 100 * FEW_BUSY, 1.0)
    is_crowd = counted[1] >= CROWD_TASKS if counted is not None else tasks_by_iowait(view, rows) > SEVERAL
    return is_crowd and not is_other


FEW_BUSY = 0.2
"""Busy share of a device from which it may be waited for as well."""


_GROWS = 1.5
"""Times the latency of what completed that a line takes to be served, from which it grows (Little's law)."""


def late_journals(view: View, series: DeviceSeries) -> list[Fact]:
    """The journals of ext4 on a device that waited for seconds, and with them whoever changes a file."""
    late = (fact for fact in view.facts_of("pidstat") if longest_wait_s(fact) >= LATE_JOURNAL_S)
    return [fact for fact in late if _journal_devices(view, fact) & relatives(view, series.name)]


def _journal_devices(view: View, process: Fact) -> set[str]:
    """The names of the partition, and its disk, that a process is the journal of: jbd2/sda1-8."""
    if (journal := re.match(r"jbd2/(.+?)(?:-\d*)?$", process.word("process"))) is None:
        return set()
    device = view.topology.find(journal[1])
    return {journal[1], *whole_disk_names(journal[1]), *([device.name] if device else ())}


LATE_JOURNAL_S = 5.0
"""Seconds that a journal waits between two commits which are usually as far apart (ext4(5), commit=)."""


def _is_patient(view: View, series: DeviceSeries, load: JudgedLevel, limits: Limits) -> bool:
    """Whether nobody is seen to wait: no task is blocked, tasks ran all the time, a flush of buffered writes
    hurts no reader, or a stream at full speed adds no iowait; nothing tells, and it is large writes alone."""
    blocked_tasks = blocked(view, load.level.rows)
    if blocked_tasks is not None:
        return blocked_tasks[1] < NOBODY
    if _is_cpu_spent(view, load.level.rows, limits) or _is_flush(view, series, load, limits):
        return True
    is_at_speed = load.level.busy_rate * load.level.size_kb >= streams_kb(series)
    if load.level.size_kb < limits.stream or not is_at_speed:
        return False
    cpu = view.cpu_at(load.level.rows)
    rest = series.samples[~np.isin(series.samples["sample"], load.level.rows["sample"])]
    if cpu is not None and view.cpus is not None and not len(rest):
        return not do_several_wait(view, load.level.rows)
    others = view.cpu_at(rest)
    # of another tool's rows the same may stand for both, and tell nothing of either
    is_same = cpu is not None and others is not None and np.array_equal(cpu["line"], others["line"])
    if cpu is None or others is None or is_same or view.cpus is None:
        return _is_stream_alone(series, load, cpu, limits)
    iowait, usual = (weighted.mean(rows, "iowait_pct", "cpu") for rows in (cpu, others))
    # where no CPU has time left there is no iowait either
    has_room = iowait + weighted.mean(cpu, "idle_pct", "cpu") >= limits.least_idle
    return bool(has_room and (iowait - usual) / 100 * view.cpus < NOBODY)


def _is_stream_alone(series: DeviceSeries, load: JudgedLevel, cpu: Table | None, limits: Limits) -> bool:
    """Whether large writes have a device to themselves: the page cache hands in many at once, for nobody.

    Behind a queue of half a second everybody else waits.
    """
    samples = series.samples
    if (samples.floats("flushes_per_s") >= 1).any() or _may_reads_wait(series, load.level.rows):
        return False
    is_waited = cpu is not None and weighted.mean(cpu, "iowait_pct", "cpu") >= 100 * NOBODY
    is_short = load.level.latency_ms < limits.still_ms
    # reads that are read ahead are as large as a device takes: writes of about that size are made of many
    largest = float(np.nan_to_num(samples.floats("read_size_kb")).max())
    least = limits.merged if largest < limits.least_large else min(limits.merged, NEARLY * largest)
    return bool(load.level.size_kb >= least and is_short and not is_waited)


NEARLY = 0.9
"""Share of the largest size that the mean of requests has of which nearly all are as large."""


def _may_reads_wait(series: DeviceSeries, rows: Table) -> bool:
    """Whether reads of other times are gone in `rows`, or take longer there than one alone.

    Of an unknown class that is one on the fastest.
    """
    reads = rows.floats("reads_per_s")
    if not (series.samples.floats("reads_per_s") >= 1).any():
        return False
    service = SERVICE["nvme" if class_of(series) == "unknown" else class_of(series)]
    usual = np.array([service.usual(size) for size in np.nan_to_num(rows.floats("read_size_kb"))])
    return not ((reads >= 1) & (rows.floats("read_await_ms") <= usual)).all()


def _is_cpu_spent(view: View, rows: Table, limits: Limits) -> bool:
    """Whether user and system work left no CPU time in any sample: nobody waits for writes then.

    But for those that are flushed: whoever asked for that waits.
    """
    cpu, (reads, ios) = view.cpu_samples, (weighted.mean(rows, f"{what}_per_s") for what in ("reads", "ios"))
    is_asked = reads >= limits.read_share * ios or (rows.floats("flushes_per_s") >= 1).any()
    if cpu is None or is_asked:
        return False
    work = cpu.floats("user_pct") + cpu.floats("system_pct")
    is_spent = (cpu.floats("idle_pct") <= limits.spent) & (work >= 100 - limits.least_iowait)
    return bool(is_spent.all())


def _is_flush(view: View, series: DeviceSeries, load: JudgedLevel, limits: Limits) -> bool:
    """Whether merged writes fill a device that nobody reads, in the lesser part of the samples."""
    # a reader of other times may be starved by the flush
    rows, reads = load.level.rows, series.samples.floats("reads_per_s")
    if 2 * len(rows) >= len(series.samples) or not (reads < 1).all():
        return False
    if load.level.size_kb < limits.merged and not _is_merged(series, load):
        return False
    return view.cpu_at(rows) is None or does_nobody_wait(view, rows)


def _is_merged(series: DeviceSeries, load: JudgedLevel) -> bool:
    """Whether writes larger than a database's page are each merged of two and more: the page cache's."""
    merged, written = (
        weighted.or_zero(weighted.mean(series.samples, f"write{s}_per_s")) for s in ("_merges", "s")
    )
    return load.level.size_kb > _DATABASE_PAGE_KB and merged >= written


_DATABASE_PAGE_KB = 32.0
