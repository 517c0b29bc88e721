"""Whether tasks wait for I/O, by a host's own counts, and whether its devices explain how many do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from iodiag.analysis.array.layer_latency import may_be_stacked
from iodiag.analysis.host.cpu import counts_no_wait
from iodiag.analysis.host.process_of_device import asker
from iodiag.analysis.host.who_waits import (
    BLOCKED_TASKS,
    CROWD_TASKS,
    FEW_BLOCKED_TASKS,
    IOWAIT_PCT,
    MOMENTARY_TASKS,
    episode,
)
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, in_samples, say
from iodiag.analysis.states.states import State, contradicts, states
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.model.capture import Fact
from iodiag.verdict.health import is_late_on_any_class, is_little, is_prompt, shown_health
from iodiag.verdict.nobody_waits import mean_blocked_tasks
from iodiag.verdict.state_health import (
    FULL_UTIL,
    LEAST_SHARE,
    QUEUE_DEPTH,
    USED_UTIL,
    lasting_states,
    usual_of_state_ms,
)

ALL_IN_FLIGHT, PART_IN_FLIGHT = 0.8, 0.5
"""Requests in flight per task that waits from which the devices hold them, and below which most wait for
something else."""


def queued(view: View) -> Iterator[DeviceSeries]:
    """Devices that a task which waits may wait for: never idle, or with a queue and slower than usual.

    Where some reports lack the rows of the CPUs, of those reports nothing tells that a task waits.
    """
    for series in view.devices:
        lasting = [state for state in states(series) if state.share >= LEAST_SHARE]
        if view.cpu_samples is not None:
            is_beside = same_reports(series.samples, view.cpu_samples)
            lasting = [one for one in lasting if is_beside[one.places].any() or not is_beside.any()]
        if any(_is_queued(series, state) for state in lasting):
            yield series


class WaitingTasks(NamedTuple):
    """How many tasks wait on average, and the requests in flight on all devices shown and on the `most` used.

    Tasks blocked, else the CPUs that are idle while a task waits: as many tasks, or more. Where the number of
    CPUs is not known either (not `is_counted`), it is taken for one. Requests are NaN where no column tells.
    """

    tasks: float
    is_counted: bool
    in_flight: float
    most: DeviceSeries

    @property
    def is_of_devices(self) -> bool:
        """Whether the devices hold nearly as many requests as tasks wait."""
        return self.is_counted and self.in_flight >= ALL_IN_FLIGHT * self.tasks

    @property
    def is_elsewhere(self) -> bool:
        """Whether most of what tasks wait for is not in flight on the devices."""
        return self.in_flight < PART_IN_FLIGHT * self.tasks


def waiting_tasks(view: View) -> WaitingTasks:
    """How much of what tasks wait for is in flight on the devices of a host that has any."""
    tasks, cpu = mean_blocked_tasks(view), view.cpu_all
    is_counted = tasks >= BLOCKED_TASKS or bool(view.cpus)
    if not tasks >= BLOCKED_TASKS and cpu is not None:
        tasks = weighted.mean(cpu, "iowait_pct", "cpu") / 100 * (view.cpus or 1)
    in_flight = {
        one.name: sum(state.share * _busy_and_depth(state)[1] for state in states(one))
        for one in view.devices
    }
    # requests of a layer are in flight below it, too, unless it holds them back
    whole = [one for one in view.devices if not may_be_stacked(one)] or view.devices
    most = max(whole, key=lambda one: in_flight[one.name])
    active = (state for one in whole for state in states(one) if state.kind != "idle")
    is_unknown = any(math.isnan(state.depth) for state in active)
    held = max(sum(in_flight[one.name] for one in whole), *in_flight.values())
    return WaitingTasks(tasks, is_counted, math.nan if is_unknown else held, most)


def _is_queued(series: DeviceSeries, state: State) -> bool:
    is_full = state.util >= FULL_UTIL and state.is_busy_known
    is_busy = state.util >= USED_UTIL and state.at_once >= QUEUE_DEPTH
    is_open = state.mean("held_besides") > 0  # a request that is stuck, if no counter leaked
    return is_full or is_open or (is_busy and state.latency_ms > usual_of_state_ms(series, state))


def somebody_waits(view: View) -> str:
    """Which of the host's own numbers say that tasks wait for I/O; empty where none does.

    Nor where the devices shown were busy for as long, with requests that they answered quickly.
    """
    said, share, tasks = _waits(view)
    return "" if said and _explains(view, share, tasks) else said


def many_ask(view: View) -> str:
    """What says that tasks wait though devices explain it: for how much they ask, not for slow answers."""
    said, share, tasks = _waits(view)
    return said if said and _explains(view, share, tasks) else ""


def _waits(view: View) -> tuple[str, float, float]:
    """What says that tasks wait, with the mean iowait in % and the mean of blocked tasks (NaN: not known)."""
    said, share, tasks = "", math.nan, math.nan
    # averages since boot say nothing of who waits
    cpu, queue = view.cpu_samples, view.samples("queue")
    if cpu is not None and (share := weighted.mean(cpu, "iowait_pct", "cpu")) >= IOWAIT_PCT:
        said = say("iowait is {share:.0f} %", {"share": share})
    elif cpu is not None and (seen := episode(view)) is not None:
        values: Values = {"most": (share := float(seen.floats("iowait_pct").max())), "samples": len(cpu)}
        values["count"] = len(seen)
        said = say("iowait is up to {most:.0f} % in {count} of {samples} samples", values)
    elif (found := _while_full(view)) is not None:
        said, share = found
    if queue is not None:
        tasks = mean_blocked_tasks(view)
        least = MOMENTARY_TASKS if cpu is not None and counts_no_wait(cpu) else BLOCKED_TASKS
        if tasks >= least and not (said and tasks < CROWD_TASKS):
            is_moment = len(queue) == 1 and "paging" in view.average_only
            text = "{count:.0f} tasks waited for I/O at that moment"
            said = say(text if is_moment else _ON_AVERAGE, {"count": tasks})
    if not said and cpu is not None and not tasks < FEW_BLOCKED_TASKS:
        said = _of_one_task(view, share)
    if not said and cpu is None and queue is None:
        said = _of_a_reader(view)
    return said, share, tasks


def _while_full(view: View) -> tuple[str, float] | None:
    """What says that CPUs wait while a device has hardly any idle time, with the iowait in %."""
    cpu = view.cpu_samples
    if cpu is None or "disk" in view.average_only:
        return None
    for series in view.devices:
        rows = series.samples[series.samples.floats("util") >= FULL_UTIL]
        beside = cpu[same_reports(cpu, rows)]
        is_seldom = len(beside) < LEAST_FULL * len(cpu) or not len(beside)
        if not is_seldom and (share := weighted.mean(beside, "iowait_pct", "cpu")) >= IOWAIT_PCT:
            values: Values = {"share": share, "count": len(beside), "samples": len(cpu), "name": series.name}
            values["busy"] = weighted.mean(rows, "util_pct")
            text = "iowait is {share:.0f} % while {name} is {busy:.0f} % busy, " + in_samples(len(cpu))
            return say(text, values), share
    return None


LEAST_FULL = 0.1
"""Share of samples in which a device that is full for a moment is no trouble."""


def _of_a_reader(view: View) -> str:
    """That one process reads all that a device gives which is never idle."""
    for series in view.devices:
        if (process := reader_of(view, series)) is not None:
            values: Values = {"process": process.word("process"), "name": series.name}
            values["read"] = process.number("read_kb_per_s")
            return say("{process} reads {read:kb}, all that {name} gives", values)
    return ""


def reader_of(view: View, series: DeviceSeries) -> Fact | None:
    """The process that alone reads what a never idle device gives: it waits for most of its reads."""
    rows = series.samples
    written = weighted.or_zero(weighted.mean(rows, "writes_per_s"))
    is_read = weighted.mean(rows, "reads_per_s") >= MOST_READ * written
    if not is_read or not weighted.mean(rows, "util") >= FULL_UTIL or may_be_stacked(series):
        return None
    return asker(view, rows, "read")


MOST_READ = 10.0
"""Times as many reads as writes from which a device is busy for whoever reads."""

_ON_AVERAGE = "{count:.1f} tasks are blocked on I/O on average"


def _of_one_task(view: View, share: float) -> str:
    """That a mean iowait is as much as a task makes that always waits, however small a share of all CPUs.

    Not where the devices hold as much and none is busy for half of the time: many wait for a moment each.
    Where the number of CPUs is not known, it may be where these are idle beside it, and as much is in flight.
    """
    waiting = waiting_tasks(view) if view.devices else None
    lasting = (state for one in view.devices for state in lasting_states(one))
    is_brief = all(state.util < USED_UTIL for state in lasting) and not any(
        map(is_late_on_any_class, view.devices)
    )
    if waiting and waiting.is_of_devices and is_brief:
        return ""
    tasks = share / 100 * (view.cpus or 0)
    if tasks >= ONE_TASK:
        values: Values = {"share": round(share, 1), "cpus": view.cpus or 0, "tasks": round(tasks, 1)}
        waits = "waits" if values["tasks"] == 1 else "wait"
        text = "iowait is {share:g} % on {cpus:g} CPUs: on average {tasks:g} tasks " + waits
        return say(text + " for I/O", values)
    idle = weighted.mean(view.cpu_all, "idle_pct", "cpu") if view.cpu_all is not None else math.nan
    is_idle = share >= SOME_PCT and share + idle >= MOSTLY_IDLE_PCT
    if view.cpus or not is_idle or waiting is None or not waiting.in_flight >= 1:
        return ""
    text = "iowait is {share:.4g} %, which may be a task that always waits, as nothing states how many CPUs "
    return say(text + "there are", {"share": share})


ONE_TASK, SOME_PCT, MOSTLY_IDLE_PCT = 0.8, 5.0, 90.0
"""Tasks that wait on average that are one which nearly always does; and, of an unknown number of CPUs, iowait
of one of twenty, and with it the time in which these do nothing else."""


def _explains(view: View, share: float, tasks: float) -> bool:
    """Whether devices that answer quickly held so many tasks, and for so large a share of the time, in %."""
    used = [series for series in view.devices if shown_health(series) != "idle"]
    if not all(is_prompt(series) or is_little(series) for series in used):
        return False
    whole = [series for series in used if not may_be_stacked(series)]
    lasting = [
        (one.share, *_busy_and_depth(one)) for series in whole for one in states(series) if one.kind != "idle"
    ]
    busy, depth = (
        sum(share * busy for share, busy, _ in lasting),
        sum(share * depth for share, _, depth in lasting),
    )
    return not 100 * busy < share and not depth < tasks - BLOCKED_TASKS and busy > 0


def _busy_and_depth(state: State) -> tuple[float, float]:
    """The share of its time that a state was busy, and the requests in flight; by latency if that is more."""
    busy, depth = min(state.util, 1.0), state.depth
    if contradicts(state):
        depth = state.held
        busy = max(busy, min(depth, 1.0))
    return (0.0 if math.isnan(busy) else busy), (0.0 if math.isnan(depth) else depth)
