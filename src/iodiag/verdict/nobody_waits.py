"""Whether a host's own counts of tasks and iowait show that nobody waits for I/O."""

from __future__ import annotations

import math

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.host.cpu import CALM_PCT, counts_no_wait
from iodiag.analysis.host.who_waits import FEW_BLOCKED_TASKS, LITTLE_PCT, MOMENTARY_TASKS, is_of_another_day
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.view.view import View
from iodiag.verdict.state_health import LEAST_MOMENTS

SPARE_PCT, MANY_SAMPLES = 50.0, 8
"""Idle time of a host with CPUs to spare, and the samples from which a task that waits now and then is told
from one that waits often."""


def mean_blocked_tasks(view: View) -> float:
    """The mean number of tasks that wait for I/O; NaN where the capture does not count them."""
    queue = view.samples("queue")
    return math.nan if queue is None else weighted.mean(queue, "blocked", "queue")


def nobody_waits(view: View) -> str:
    """What shows that no task waited for I/O in any sample, or hardly any in several; else empty."""
    queue, cpu, tasks = view.samples("queue"), view.cpu_samples, mean_blocked_tasks(view)
    if cpu is None or is_of_another_day(view, cpu):
        return ""
    if queue is None:
        return _nobody_by_iowait(view)
    # time that was idle waited for nothing, where the tool counts no iowait
    iowait = np.where(np.isnan(waited := cpu.floats("iowait_pct")), 100 - cpu.floats("idle_pct"), waited)
    is_nobody = tasks == 0 and bool((iowait < LITTLE_PCT).all())
    least = MOMENTARY_TASKS if counts_no_wait(cpu) else FEW_BLOCKED_TASKS
    is_few = tasks < least and bool((iowait <= CALM_PCT).all()) and len(queue) >= LEAST_MOMENTS
    if not (is_nobody or is_few or _is_calm_on_average(view)):
        return ""
    # samples of both: those of another tool, and a first one whose rates are averages, are of one alone
    both = len(paired(queue, cpu)[0]) or min(len(queue), len(cpu))
    values: Values = {"count": both, "most": float(np.nanmax(iowait))}
    is_counted = cpu.has("iowait_pct") and float(values["most"]) >= CALM_PCT
    few = "no task is blocked on I/O" if is_counted else "nobody waits for I/O"
    few = few if tasks == 0 else "hardly anybody waits for I/O"
    at_most = "at most " if int(values["count"]) > 1 else ""
    most = f" (iowait is {at_most}{{most:.0f}} %)" if is_counted else ""
    return say(f"{few} in {{count}} samples{most}", values)


def _nobody_by_iowait(view: View) -> str:
    """That idle CPUs count nobody who waits, of a host that counted some since boot or counts a little in
    hours of samples; else empty.

    What rounds to nothing on so few CPUs is next to no task, and so is next to no iowait on a large host.
    """
    cpu, old = view.cpu_all, view.since_boot.get("cpu")
    if cpu is None:
        return ""
    is_counted = old is not None and bool((old.floats("iowait_pct") > 0).any())
    is_fine = (view.cpus or math.inf) * ROUNDED_PCT / 100 < NO_TASK
    values: Values = {"count": len(cpu), "idle": (idle := weighted.mean(cpu, "idle_pct", "cpu"))}
    iowait = cpu.floats("iowait_pct")
    is_calm = len(cpu) >= _HOURS_SAMPLES and bool((cpu.floats("interval_s") >= _LONG_S).all())
    if is_calm and (0 < iowait.max() <= _NEXT_TO_NONE_PCT) and (cpu.floats("idle_pct") >= SPARE_PCT).all():
        values["most"] = iowait.max()
        text = "hardly anybody waits for I/O in {count} samples (iowait is at most {most:.2f} %, idle time "
        return say(text + "{idle:.0f} %)", values)
    if not (is_counted and is_fine and idle > SPARE_PCT and (cpu.floats("iowait_pct") == 0).all()):
        return ""
    return say("nobody waits for I/O in {count} samples (iowait is 0, idle time {idle:.0f} %)", values)


_HOURS_SAMPLES, _LONG_S, _NEXT_TO_NONE_PCT = 10, 60.0, 0.1
"""Samples and their length in seconds that show what lasts, and iowait of less than a tenth of a task on up
to 64 CPUs."""

ROUNDED_PCT, NO_TASK = 0.005, 0.01
"""iowait that is printed as 0.00, and tasks that wait on average which are none."""


def _is_calm_on_average(view: View) -> bool:
    """Whether the means of many samples show that hardly anybody waits, and none of them that many do.

    On a host with CPUs to spare: those that have no idle time count no iowait.
    """
    cpu, queue = view.cpu_all, view.samples("queue")
    if cpu is None or queue is None or len(queue) < MANY_SAMPLES:
        return False
    idle, iowait = (weighted.mean(cpu, f"{name}_pct", "cpu") for name in ("idle", "iowait"))
    waiting = max(mean_blocked_tasks(view), iowait / 100 * (view.cpus or 1))
    is_little = iowait <= CALM_PCT and bool((cpu.floats("iowait_pct") < LITTLE_PCT).all())
    return is_little and idle > SPARE_PCT and waiting < FEW_BLOCKED_TASKS
