"""Tasks pile up in uninterruptible sleep.

What it detects: three and more tasks blocked on I/O in any sample (vmstat's b, sar -q's blocked). Where they
are in most samples, and CPUs wait for I/O meanwhile, it is a cost; so it is where no disk is shown and
iowait alone would be one, by whatever tool; so is a crowd, twice as many as CPUs on average; so is a run of
five samples in the midst of calm ones in which writes are flushed and reads all but stop, where no disk is
shown, and one amid a load in which a task waits and a tenth of it is moved, less than small files take. A
load average that exceeds the runnable and the blocked tasks by ten, and by as many as there are CPUs, for
five samples and a minute: tasks that sleep uninterruptibly and wait for no I/O that is counted. So may three
and more by uptime that do not fall from five minutes to one, while no task runs or is blocked and CPUs are
idle. Without that column: a load average that exceeds the runnable tasks by as many as there are CPUs, which
is weaker, since it looks back a minute. Where top or ps lists processes and nothing counts tasks: three and
more of them in state D, flushers left out, and whether the disks have anything to do. A crowd that stays as
large while what is moved falls to a tenth is work that comes to a stand. Where no disk is shown: half of the
time and more spent in iowait and none of it idle in nearly every sample, and what is read and written
meanwhile; where nothing but the CPUs is shown: iowait of 15 % and more, for which some task has to wait; a
cost where it lasts and the host works for half as long at most, or where load averages of 1 and 15 minutes
are a crowd's; of a hundred and more it is critical. One task or two, in half of the samples and more, where
no disk is shown and CPUs wait for I/O meanwhile; a cost where these have no time left.

Why it matters: each is a thread of work that stands still, often a connection or a worker of a pool.

When it is wrong: flusher and journal threads sleep the same way and nobody misses them; tasks blocked
on NFS, FUSE or a kernel lock count too, and no disk is to blame for them. Where about as many requests are in
flight and each is answered as promptly as on a healthy device, the host does much I/O and waits for none that
is slow: this is told for information only. A load average alone proves
nothing: after a crowd it falls for minutes, so that it is held against what it would have fallen to by
itself; tasks that wake together for moments are in it, and so may be those of other containers.

References: vmstat(8), sar(1), uptime(1); proc_loadavg(5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.array.topmost_devices import topmost
from iodiag.analysis.host.cpu import (
    HELD_PCT,
    NO_IDLE_PCT,
    counts_no_wait,
    cpu_shares,
    crowd,
)
from iodiag.analysis.host.kernel_events import logged
from iodiag.analysis.host.paging import ENOUGH, LEAST_CROWD, STILL_KB, moved
from iodiag.analysis.host.who_waits import (
    CROWDED_LOAD,
    MANY_CPUS,
    NOBODY,
    blocked,
    load_average,
    rows_at,
    waiting_crowd,
    who_sleeps,
)
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_fact, in_samples, say
from iodiag.analysis.measure.grading import confidence, time_fields, when
from iodiag.analysis.measure.known_counter_bugs import known_bug, of_bug
from iodiag.analysis.measure.windows import longest
from iodiag.analysis.view.view import View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.rules.symptoms.blocked_tasks.evidence import (
    all_tasks,
    are_disks_shown,
    beside_it,
    busiest_on_average,
    devices_meanwhile,
    fallen_traffic,
    grown_cache,
    held_up,
    how_often,
    iowait_beside,
    iowait_follows,
    iowait_of_others,
    listed_flushers,
    listed_sleepers,
    moved_in_all,
    moved_meanwhile,
    paging_beside,
    rates_beside,
    served_promptly,
    small_cache,
    starving,
    takes_no_more,
    untimed_rates,
)
from iodiag.table.table import Table, stacked


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding per host; the cause is for the other rules to say."""
    queue, rows = view.samples("queue"), _iowait_samples(view, limits)
    if rows is not None:
        yield _of_disks(view, rows, limits)
        return
    if queue is None:
        yield _of_listing(view, limits) or _asleep(view, limits) or _of_cpus_alone(view, limits)
        return
    if (uncounted := _uncounted(view, queue, limits) or _asleep(view, limits)) is not None:
        yield uncounted
        return
    is_direct = view.has("queue", "blocked")
    least = limits.tasks if is_direct else max(limits.tasks, float(view.cpus or 0))
    beyond_runnable = queue.floats("load_1m") - queue.floats("run_queue")
    counts = queue.floats("blocked") if is_direct else beyond_runnable
    all_rows = queue.with_columns(waiting=counts)
    rows = all_rows[counts >= least]
    cpu, often = view.cpu_all, int((counts >= 1).sum())
    few = _of_few(view, all_rows, limits) if is_direct else None
    if len(rows) == 1 and is_direct and len(queue) >= limits.samples and cpu and counts_no_wait(cpu):
        text = "{waiting:g} tasks were blocked in one of {samples} samples, with no iowait to speak of"
        values: Values = {"waiting": weighted.mean(rows, "waiting", "queue"), "samples": len(queue)}
        yield RULE.undetermined(say(text, values))
    elif is_direct and len(rows) and _is_moment(rows, len(queue), limits):
        text = "at most {most:g} tasks were blocked on I/O, in {count} of {samples} samples"
        values = {"most": float(rows.floats("waiting").max()), "count": len(rows), "samples": len(queue)}
        values["often"] = often
        text += ", and at least one in {often}" if often > len(rows) else ""
        yield few or RULE.undetermined(say(text, values))
    elif len(rows):
        yield _finding(view, all_rows, rows, is_direct, limits)
    elif not is_direct:
        reason = "no column counts blocked tasks, and the load average exceeds the runnable tasks by few"
        yield RULE.undetermined(reason)
    elif few or often >= len(counts) / 2:
        text = "tasks are blocked on I/O in {often} of {samples} samples: somebody waits, and it is no crowd"
        yield few or RULE.undetermined(say(text, {"often": often, "samples": len(counts)}))
    else:
        most = float(np.nanmax(counts)) if np.isfinite(counts).any() else 0.0
        # what waits for NFS or a lock is counted by no column
        yield _of_listing(view, limits) or RULE.clear(
            say("at most {most:g} tasks were blocked on I/O at a time", {"most": most})
        )


def _is_moment(rows: Table, samples: int, limits: Limits) -> bool:
    """Whether no more tasks than any host has waiting now and then do so, in few of the samples."""
    is_seldom = len(rows) <= limits.moment / 100 * samples
    return is_seldom and float(rows.floats("waiting").max()) <= limits.tasks


_UNCOUNTED = "Tasks sleep uninterruptibly, for no I/O that is counted"

MOST_UNCOUNTED = 4.0
"""Times the tasks that are counted as blocked from which those that are not are the trouble."""


def _uncounted(view: View, queue: Table, limits: Limits) -> Finding | None:
    """Whether more tasks sleep uninterruptibly than are counted as blocked, by the load average."""
    load, seen = queue.floats("load_1m"), queue.floats("run_queue") + queue.floats("blocked")
    # what a load average of a minute falls to by itself; the rest is of the tasks meanwhile
    kept = np.exp(-queue.floats("interval_s") / 60)
    active = (load - kept * np.append(np.nan, load[:-1])) / (1 - kept)
    columns = {"waiting": load - seen, "active": active, "seen": seen}
    least = max(limits.uncounted, float(view.cpus or 0))
    rows = longest(queue.with_columns(**columns), load - seen >= least, gap=0)
    if rows is None or len(rows) < ENOUGH or not rows.floats("interval_s").sum() >= 60:
        return None
    means = {name: float(np.nanmean(rows.floats(name))) for name in columns}
    # of a crowd that is counted as well, this is the smaller part
    is_most = means["waiting"] >= MOST_UNCOUNTED * float(np.nanmean(rows.floats("blocked")))
    if not is_most or not means["active"] - means["seen"] >= least:
        return None
    values: Values = {"waiting": means["waiting"], "seen": means["seen"], "samples": len(queue)}
    values |= {"count": len(rows), "most": float(rows.floats("load_1m").max())}
    text = (
        "the load average, up to {most:.0f}, counts {waiting:.0f} tasks more on average than the {seen:.0f} "
    )
    text += f"that run or wait for I/O, {in_samples(len(queue))}"
    told = (
        "About {waiting:.0f} tasks sleep uninterruptibly and are not counted as waiting for I/O: a lock, a "
    )
    return RULE.finding(
        severity="warning" if means["waiting"] >= crowd(view) else "notice",
        confidence="medium",
        title=_UNCOUNTED,
        **time_fields(rows, of_host=True),
        summary=say(f"{told}driver or NFS may hold them; {text}.", values),
        evidence=(cite(rows, text, values, worst="load_1m"),),
        refutes=("tasks that wake together for moments, or run in other containers",),
        cannot_know=("which tasks they are and where they sleep: ps -eo state,wchan:32,cmd tells",),
    )


def _asleep(view: View, limits: Limits) -> Finding | None:
    """Whether a load average that does not fall counts tasks of which no sample sees any run or wait.

    After tasks that ran until just before, that of a minute soon falls below that of five. Where no table
    counts tasks, they have to be a crowd beyond the CPUs that work.
    """
    facts, cpu, queue = view.facts_of("uptime"), view.cpu_samples, view.samples("queue")
    is_counted = queue is not None and view.has("queue", "blocked") and "queue" not in view.average_only
    if not facts or cpu is None or (queue is not None and not is_counted):
        return None
    now, before = (facts[-1].number(f"load_{name}") for name in ("one", "five"))
    idle = weighted.mean(cpu, "idle_pct", "cpu")
    seen = (100 - idle) / 100 * (view.cpus or (MANY_CPUS if queue is None else 1))
    if queue is not None:
        seen = max(seen, sum(weighted.mean(queue, name, "queue") for name in ("run_queue", "blocked")))
    rows = cpu if queue is None else queue
    is_crowd = before - seen >= crowd(view) and len(rows) >= limits.samples  # one is a moment
    is_quiet = idle >= limits.unused and (seen <= NOBODY or is_crowd)
    if not (now >= before >= limits.tasks and is_quiet and (is_counted or is_crowd)):
        return None
    values: Values = {"now": now, "before": before, "seen": seen, "idle": idle, "tasks": round(before - seen)}
    text = "{seen:.1f} tasks run or are blocked and the CPUs are {idle:.0f} % idle"
    text = text if is_counted else "the CPUs are {idle:.0f} % idle"
    load = "the load average is {now} and was {before} over five minutes"
    who = ", and do no work, as some kernel threads do all the time"
    remedy = "See what the tasks in state D wait in: a load average of kernel threads is no load."
    if is_crowd:
        who = ": a lock, a driver or NFS may hold them"
        remedy = "See what the tasks in state D wait in (wchan of ps), and the kernel's log: dmesg -T."
    return RULE.finding(
        severity="warning" if is_crowd else "notice",
        confidence="medium" if is_crowd else "low",
        title=_UNCOUNTED,
        **time_fields(rows, of_host=True),
        summary=say(f"About {{tasks:g}} tasks sleep uninterruptibly{who}: {load}, while {text}.", values),
        evidence=(
            cite_fact(facts[-1]),
            cite(rows, text, values, worst="idle_pct" if queue is None else "run_queue"),
        ),
        refutes=("tasks that ran until seconds before the samples, or wake together for moments",),
        cannot_know=("which tasks they are and where they sleep: ps -eo state,wchan:32,cmd tells",),
        remedy=(remedy,),
    )


def _finding(view: View, all_rows: Table, rows: Table, is_direct: bool, limits: Limits) -> Finding:
    mean = weighted.mean(rows, "waiting", "queue")
    waits = [*iowait_beside(view, rows, limits), *(others_wait := [*iowait_of_others(view, rows, limits)])]
    hung = [*logged(view, "hung task", rows, "the kernel found tasks hung, in {count} lines of its log")]
    held = [*(held_up if is_direct else _lasting)(view, all_rows, limits)]
    beside = [*beside_it(view, all_rows)]
    others = [*hung, *starving(view, limits), *beside, *held]
    others += devices_meanwhile(view, rows, mean, limits, is_waited=bool(waits))
    witnesses = sum(item.weighs == "for" for item in (*waits, *others))
    points = 1 + 2 * (is_direct or bool(held)) + (view.cpus is not None) + witnesses
    is_many = len(rows) >= limits.samples
    sure: Confidence = "high" if is_direct and is_many else "medium" if is_direct or held else "low"
    is_crowd = weighted.mean(all_rows, "waiting", "queue") >= crowd(view)
    is_crowd &= all(item.weighs != "against" for item in others)
    is_lasting = (is_many and _is_lasting(all_rows, rows, limits)) or _is_cost_by_iowait(view, limits)
    is_cost = held or (is_direct and (is_crowd or (waits and is_lasting)))
    # a task that hung for minutes waits for something else than these devices
    served = [] if hung else [*served_promptly(view, all_rows, limits)]
    is_calm = served or (not (hung or waits) and _is_seldom(view, all_rows, rows, limits))
    values: Values = {"waiting": mean, "most": float(np.nanmax(rows.floats("waiting")))}
    said, often = how_often(view, all_rows, rows, values)
    did, meanwhile = moved_meanwhile(view, rows)
    fallen = [*fallen_traffic(view, rows)]
    written_back = [*listed_flushers(view, mean)] if is_direct else []
    # as many tasks get a fraction of what they got, and it is so at the end
    severity: Severity = "critical" if fallen else "info" if is_calm else "warning" if is_cost else "notice"
    told = *fallen[:1], *_once(held, meanwhile), *beside[:1], *written_back, *others_wait
    then = did + "".join(f"; {item.text}" for item in told)
    text = _counted(rows, values, is_direct) + said
    text += ", up to {most:g}" if mean < float(values["most"]) and "{most" not in text else ""
    return RULE.finding(
        severity=severity,
        confidence=confidence(points, at_most=sure),
        title=RULE.title if is_direct else "The load average counts more tasks than are runnable",
        **time_fields(rows, of_host=True),
        summary=say(f"{text}, {often}{then}", values | meanwhile) + f"{who_sleeps(view)}.",
        evidence=(
            cite(rows, f"{text} ({often})", values, worst="waiting"),
            *waits,
            *fallen,
            *others,
            *served,
            *written_back,
            *all_tasks(all_rows, rows),
            *(cite_fact(fact, weighs="context") for fact in listed_sleepers(view)),
            *((cite(rows_at(view, "paging", rows), did[2:], meanwhile, weighs="context"),) if did else ()),
        ),
        **_what_to_do(meanwhile),
        refutes=("blocked threads that are all flushers or journal threads",),
        cannot_know=("which tasks they are and where they sleep: ps -eo state,wchan:32,cmd tells",),
    )


def _once(held: Sequence[Evidence], meanwhile: Values) -> Sequence[Evidence]:
    """What holds work up, unless that I/O stalled is said already."""
    return () if "stalled" in meanwhile else held


def _is_lasting(all_rows: Table, rows: Table, limits: Limits) -> bool:
    """Whether a crowd waits for most of the load: from the first such sample to the last, if no small part.

    How long a host was watched before it and after does not make it less.
    """
    crowded = np.flatnonzero(all_rows.floats("waiting") >= limits.tasks)
    load = int(np.ptp(crowded)) + 1 if len(crowded) else 0
    is_part = load >= max(ENOUGH, limits.seldom / 100 * len(all_rows))
    return len(rows) >= limits.share / 100 * (load if is_part else len(all_rows))


def _counted(rows: Table, values: Values, is_direct: bool) -> str:
    """How many tasks wait, as words: blocked ones, else the load beyond the runnable; fills in `values`."""
    if is_direct:
        is_even = not float(values["waiting"]) < float(values["most"])
        if not is_even and float(values["count"]) < float(values["samples"]):
            # the mean of samples that are picked by their number says nothing
            values["fewest"] = float(rows.floats("waiting").min())
            return "{fewest:g} to {most:g} tasks are blocked on I/O"
        return f"{'{waiting:g}' if is_even else 'On average {waiting:.1f}'} tasks are blocked on I/O"
    values |= {
        "fewest": float(rows.floats("run_queue").min()),
        "runnable": float(rows.floats("run_queue").max()),
    }
    runnable = "{fewest:g} to {runnable:g}" if values["fewest"] != values["runnable"] else "{runnable:g}"
    return f"The load average has {{waiting:.0f}} tasks more than the {runnable} that are runnable"


def _lasting(view: View, queue: Table, limits: Limits) -> Iterator[Evidence]:
    """That a crowd which load averages alone count stays for a quarter of an hour, and how it began.

    The runnable tasks are counted at a moment, so that all samples of the load have to show few. CPUs that
    work may run what comes and goes between two of them.
    """
    load, slow = queue.floats("load_1m"), queue.floats("load_15m")
    least = max(limits.lasting, float(view.cpus or 0))
    is_crowd = np.minimum(load, slow) - queue.floats("run_queue") >= least
    rows, crowded, work = longest(queue, is_crowd, gap=0), queue[load >= least], cpu_shares(view.cpu_samples)
    if rows is None or len(rows) < limits.samples or (work is not None and work.busy >= HELD_PCT):
        return
    loads, runnable = (weighted.mean(crowded, name, "queue") for name in ("load_1m", "run_queue"))
    if not loads >= MOST_UNCOUNTED * runnable:
        return
    values: Values = {"slow": weighted.mean(rows, "load_15m", "queue"), "samples": len(rows)}
    text = "over 15 minutes the load average is {slow:.0f} in {samples} samples in a row: no moment"
    yield cite(rows, text, values, worst="load_15m")
    first = int(np.flatnonzero(load >= least)[0])
    ends: Values = {"calm": float(load[first - 1]), "load": float(load[first]), "slow": float(slow[first])}
    if first and float(ends["calm"]) <= limits.tasks:
        yield cite(
            queue[first - 1 : first + 1], "it rises from {calm:.2f} to {load:.2f} within one sample", ends
        )
    elif not first and 2 * float(ends["slow"]) <= float(ends["load"]):
        told = (
            "it was {load:.2f} over one minute and {slow:.2f} over 15 in the first sample: it had just begun"
        )
        yield cite(queue[:1], told, ends)


def _is_seldom(view: View, all_rows: Table, rows: Table, limits: Limits) -> bool:
    """Whether few samples have blocked tasks, on CPUs that work most of the time."""
    work = cpu_shares(view.cpu_samples)
    is_seldom = len(rows) < limits.seldom / 100 * len(all_rows)
    return is_seldom and work is not None and work.busy >= HELD_PCT


def _of_listing(view: View, limits: Limits) -> Finding | None:
    """Processes that sleep uninterruptibly by a list alone, and whether they can wait for a disk."""
    found = listed_sleepers(view)
    if not found or found[0].number("uninterruptible") - found[0].number("flushers") < limits.tasks:
        return None
    counted, *each = found
    values: Values = {"tasks": counted.number("uninterruptible")}
    values["who"] = ", ".join(fact.word("process") for fact in each)
    summary = "{tasks:g} processes sleep uninterruptibly (state D) in a list of them: {who}"
    idle = _idle_disks(view, limits)
    return RULE.finding(
        severity="notice",
        confidence="medium" if idle else "low",
        title="Tasks wait in the kernel, not for a disk" if idle else "Processes sleep uninterruptibly",
        summary=say(
            summary
            + (f"; {idle.text}: they wait for a lock, a driver or NFS, not for a disk." if idle else "."),
            values,
        ),
        evidence=(*map(cite_fact, (counted, *each)), *((idle,) if idle else ())),
        remedy=("See what they wait in: cat /proc/PID/stack, as root.", _IN),
        confirm=("ps -eo state,pid,wchan:32,cmd | grep ^D", "cat /proc/PID/stack", "nfsiostat 1"),
        refutes=(
            "disks that are not shown",
            "a list of another time than the samples of the disks",
        ),
        cannot_know=("what they wait in, and for how long",),
    )


def _idle_disks(view: View, limits: Limits) -> Evidence | None:
    """That the disks have next to nothing in flight, and the CPUs no task that waits for I/O; None if not."""
    cpu = view.cpu_samples
    disks = [view.series(name) for name in topmost(view, [series.name for series in view.devices])]
    depths = [weighted.mean(series.samples, "depth") for series in disks if series is not None]
    if cpu is None or not view.cpus or not depths or not are_disks_shown(view):
        return None
    values: Values = {
        "depth": sum(depths),
        "waited": weighted.mean(cpu, "iowait_pct", "cpu") * view.cpus / 100,
    }
    if not (float(values["depth"]) < limits.quiet and float(values["waited"]) < limits.quiet):
        return None
    text = "the disks hold {depth:.2f} requests at a time, and {waited:.2f} tasks wait for I/O by iowait"
    return cite(
        stacked([series.samples for series in disks if series is not None]), text, values, worst="depth"
    )


def _of_cpus_alone(view: View, limits: Limits) -> Finding | Outcome:
    """What iowait tells where no tasks are shown nor how long devices take: since when somebody waited."""
    cpu = view.cpu_all
    if cpu is None or _are_timed(view):
        return RULE.not_applicable("no column counts blocked tasks", missing=("queue",))
    busiest = busiest_on_average(view)
    rows = cpu[cpu.floats("iowait_pct") >= _least_iowait(view, busiest, limits)]
    if not len(rows):
        is_low = not (cpu.floats("iowait_pct") >= limits.iowait).any()
        why = "iowait is low" if is_low else "no disk was busy most of the time on average"
        return RULE.undetermined(f"{why}, and no column counts blocked tasks")
    values = _iowait_values(cpu, rows)
    is_one = values["least"] == values["most"]
    peak = "{most:.2f} %" if is_one else "{most:.1f} % at most"
    told = "iowait is {most:.2f} %" if is_one else "iowait is {mean:.1f} %, of {least:.2f} to {most:.2f} %"
    since = ", {when}" if values["when"] and len(rows) < len(cpu) else ""
    often, did = in_samples(len(cpu)), [busiest] if busiest else list(untimed_rates(view, rows))
    since += _lesser(cpu, values)
    is_clocked = bool(np.isfinite(rows.floats("interval_s")).any())  # as what sadc records
    then = "".join(f"; meanwhile {item.text}" for item in did)
    counted, waiting = load_average(view), waiting_crowd(view)
    then += f"; {counted.text}" if counted else ""
    values |= {"waiting": waiting}
    then += "; about {waiting:.0f} tasks wait, and have for 15 minutes" * (waiting > 0)
    # a ring that waits for nothing takes one CPU: not the time of all
    is_part = not waiting and weighted.mean(rows, "idle_pct", "cpu") > NO_IDLE_PCT
    bug = known_bug(view.kernel, "iowait_pct", "too high") if is_part else None
    is_cost = waiting > 0 or (bug is None and _waits_longer_than_it_works(cpu, rows, limits))
    then += f"; {bug.what}" if bug else ""
    lead = "Iowait" if bug else "Tasks wait for I/O: iowait"
    return RULE.finding(
        severity="critical" if waiting >= CROWDED_LOAD else "warning" if is_cost else "notice",
        confidence="medium",
        title="CPUs are idle while tasks wait for I/O",
        **time_fields(rows, of_host=True),
        summary=say(f"{lead} is {peak}, {often}{since}{then}.", values),
        evidence=(
            cite(rows, told, values, worst="iowait_pct"),
            *did,
            *((cite_fact(counted),) if counted else ()),
            *of_bug(bug, view.kernel, view.kernel_origin),
        ),
        cannot_know=("which tasks, on which device: sar -d of the same time tells",),
        remedy=(
            "See how long requests take: iostat -xt 1 30."
            if did or not is_clocked
            else "See which device it was (sar -d -p, if sadc recorded it); now, iostat -xt 1 30.",
            _IN,
        ),
        confirm=_CONFIRM[::-1] if counted else _confirm(did) if did or is_clocked else _CONFIRM,
    )


def _iowait_values(cpu: Table, rows: Table) -> Values:
    """The iowait of some samples of the CPUs, and when it was."""
    share = rows.floats("iowait_pct")
    return {
        "mean": weighted.mean(rows, "iowait_pct", "cpu"),
        "most": float(np.nanmax(share)),
        "least": float(np.nanmin(share)),
        "count": len(rows),
        "samples": len(cpu),
        "when": when(rows, cpu),
    }


def _lesser(cpu: Table, values: Values) -> str:
    """The samples whose iowait stands out as well, beside those that show a wait; fills in `values`."""
    shares = cpu.floats("iowait_pct")
    stands_out = shares >= max(OUTSTANDING * float(np.nanmedian(shares)), OUTSTANDING_PCT)
    lesser = cpu[stands_out & (shares < float(values["least"]))]
    if not len(lesser):
        return ""
    low, high = (float(end(lesser.floats("iowait_pct"))) for end in (np.min, np.max))
    values |= {"low": low, "high": high, "more": len(lesser)}
    text = ", and {low:.2f}" + (" to {high:.2f}" if high > low else "") + " % in {more} more"
    if len(lesser) > MOST_TIMES or lesser["time"].is_unknown().any():
        return text
    values["until"] = ", ".join(f"{lesser['time'][at]:%H:%M:%S}" for at in range(len(lesser)))
    return text + " (until {until})"


OUTSTANDING, OUTSTANDING_PCT, MOST_TIMES = 5.0, 5.0, 4
"""Times the median iowait, and %, from which a sample stands out; how many are told by their times."""


def _waits_longer_than_it_works(cpu: Table, rows: Table, limits: Limits) -> bool:
    """Whether CPUs wait for I/O in nearly all samples, several if nothing tells how long they are, and for
    longer than they work."""
    waited, idle = (weighted.mean(cpu, f"{name}_pct", "cpu") for name in ("iowait", "idle"))
    least = limits.samples if np.isnan(rows.floats("interval_s")).any() else 1
    is_always = len(rows) >= max(least, limits.nearly / 100 * len(cpu))
    return is_always and waited >= 2 * limits.iowait and 100 - idle - waited <= waited / 2


def _is_cost_by_iowait(view: View, limits: Limits) -> bool:
    """Whether iowait alone would be a cost, in several samples, where no disk is shown."""
    cpu = view.cpu_samples
    if cpu is None or len(cpu) < limits.samples or are_disks_shown(view):
        return False
    return _waits_longer_than_it_works(cpu, cpu[cpu.floats("iowait_pct") >= limits.iowait], limits)


def _least_iowait(view: View, busiest: Evidence | None, limits: Limits) -> float:
    """The iowait that shows a wait, in %; where a disk's average is shown, it has to be busy as well.

    Beside one that is, as much as a task makes that always waits is enough.
    """
    if busiest is None:
        return limits.iowait
    if float(busiest.values["busy"]) < limits.busy:
        return np.inf
    return min(limits.iowait, 100 / view.cpus) if view.cpus else limits.iowait


def _confirm(did: Sequence[Evidence]) -> tuple[str, ...]:
    """Commands that tell more of who waits, and for what, where some devices are shown without latencies."""
    if not did:
        return "sar -d -p", "sar -q", "vmstat 1"
    is_held = any("high" in item.values for item in did)
    return (
        *(("grep -r . /sys/fs/cgroup --include=io.max",) if is_held else ()),
        "iostat -xt 1 30",
        "vmstat 1",
    )


def _iowait_samples(view: View, limits: Limits) -> Table | None:
    """The CPU samples without idle time that wait for I/O, where nearly all do and no disk is shown."""
    cpu = view.cpu_samples
    if cpu is None or are_disks_shown(view):
        return None
    rows = cpu[(cpu.floats("iowait_pct") >= limits.held) & (cpu.floats("idle_pct") <= limits.idle)]
    return rows if len(rows) >= max(1, limits.nearly / 100 * len(cpu)) else None


def _are_timed(view: View) -> bool:
    """Whether anything but averages since boot shows how busy devices are, or how long requests take."""
    is_old = "disk" in view.average_only and bool(len(view.since_boot.get("disk", ())))
    return not is_old and any(view.has("disk", name) for name in ("util_pct", "depth", "latency_ms"))


def _of_disks(view: View, rows: Table, limits: Limits) -> Finding:
    """What a host proves that has no time but for work and for waiting: who waits, and what is moved."""
    paging, tasks, samples = paging_beside(view, rows), blocked(view, rows), len(view.cpu_all or rows)
    often, text = in_samples(samples), "iowait is {iowait:.0f} %, idle {idle:.0f} %, "
    values: Values = {name: weighted.mean(rows, f"{name}_pct", "cpu") for name in ("iowait", "idle")}
    most = float(np.max(tasks[0].floats("blocked"))) if tasks else float("nan")
    values |= {"count": len(rows), "samples": samples, "most": most, "tasks": tasks[1] if tasks else most}
    who = "on average {tasks} tasks are blocked, at most {most:g}"
    who = who if float(values["tasks"]) < most else "{tasks} tasks {are} blocked"
    values["are"] = "is" if most == 1 else "are"
    then, meanwhile = moved(view, paging) if paging is not None else ("", {})
    then += takes_no_more(meanwhile, tasks[0].floats("blocked")) if tasks else ""
    moves, todo = moved_in_all(meanwhile) >= STILL_KB, _what_to_do(meanwhile)
    lead = "The host waits for I/O" if paging is None else "Tasks wait for I/O"
    lead = "The disks slow the host down" if moves else lead
    # two that write may be flusher and journal, for which nobody waits
    is_known = paging is not None or tasks is not None
    is_known &= not (moves and most <= 2 and float(meanwhile["read"]) < STILL_KB)
    small, fallen = list(small_cache(view, paging)), list(fallen_traffic(view, tasks[0])) if tasks else []
    written_back = [*listed_flushers(view, tasks[1])] if tasks else []
    evidence = [cite(rows, text + often, values, worst="iowait_pct")]
    evidence += [cite(tasks[0], who, values, worst="blocked")] if tasks else []
    evidence += (
        [
            cite(paging, then, meanwhile),
            *rates_beside(view, paging, limits),
            *grown_cache(view, paging),
            *small,
        ]
        if paging is not None
        else []
    )
    return RULE.finding(
        severity="critical" if fallen else "warning",
        confidence="high" if is_known and len(rows) >= limits.samples else "medium",
        **time_fields(rows, of_host=True),
        summary=say(": ".join(filter(None, (lead, then))) + f"; {text}{often}; {who}", values | meanwhile)
        + "".join(f"; {item.text}" for item in (*fallen, *small, *written_back))
        + ".",
        evidence=(
            *evidence,
            *fallen,
            *((*starving(view, limits), *beside_it(view, tasks[0])) if tasks else ()),
            *written_back,
        ),
        refutes=(_ELSEWHERE.format(", which bi and bo do not count" if paging is not None else ""),),
        cannot_know=("which device it is: iostat -xt 1 shows", "which tasks wait: ps -eo state,wchan:32,cmd"),
        remedy=(*_OF_MEMORY * bool(small), *todo["remedy"]),
        confirm=(*_SHOW_REFAULTS * bool(small), *_CONFIRM[:1] * (paging is None), *todo["confirm"]),
    )


_ELSEWHERE = "tasks that wait on NFS or FUSE{}, or for free memory"
_OF_MEMORY = ("See what takes the memory (ps, free -m), and whether the same pages are read again.",)
_SHOW_REFAULTS = ("grep workingset_refault /proc/vmstat",)


def _of_few(view: View, queue: Table, limits: Limits) -> Finding | None:
    """Tasks, if few, that wait most of the time as idle CPUs say, too, where no disk is shown."""
    rows, cpu = queue[queue.floats("waiting") >= 1], view.cpu_samples
    if are_disks_shown(view) or cpu is None or len(rows) < limits.samples:
        return None
    paging, samples = paging_beside(view, rows), paging_beside(view, queue)
    held = [*held_up(view, queue, limits)]
    if not held and 2 * len(rows) < len(queue):
        return None
    waits = list(iowait_beside(view, rows, limits))
    then, meanwhile = moved_meanwhile(view, rows)
    writes = paging is not None and float(meanwhile["read"]) < STILL_KB <= float(meanwhile["written"])
    follows = iowait_follows(cpu, samples) if writes and samples is not None else None
    is_written = writes and (follows is not None or "flat" in meanwhile)
    # a kernel that counts no iowait shows who waits by what is written alone
    if not waits or not (is_written or cpu.has("iowait_pct")):
        return None
    shares = cpu_shares(cpu[paired(cpu, rows)[0]])
    values: Values = meanwhile | {"count": len(rows), "samples": len(queue)}
    values["tasks"] = float(rows.floats("waiting").max())
    often = in_samples(len(queue))
    who = f"{'at most {tasks:g} tasks are' if float(values['tasks']) > 1 else '1 task is'} blocked on I/O"
    lead = "Writers wait for the disk" if is_written else "Somebody waits for I/O"
    told = follows or ((cite(paging, then[2:], values),) if then else ())
    beside = [*_once(held, meanwhile), *beside_it(view, queue)]
    end = ", and iowait rises and falls with it" * bool(follows)
    end += "".join(f"; {item.text}" for item in beside[:1]) + "."
    is_always = len(rows) >= limits.nearly / 100 * len(queue)
    before = [*_waited_since_boot(view, limits)] * is_always
    is_bound = shares is not None and shares.is_io_bound
    is_held = shares is not None and is_always and shares.iowait >= _LONGER * shares.busy
    if is_held := is_held and _is_trickle(meanwhile):
        end = ". Buffered writes of so little make nobody wait: these are synchronous (commits), or the disk "
        end += "hardly takes any."
    return RULE.finding(
        severity="warning" if is_held or held or before or is_bound else "notice",
        confidence="medium",
        **time_fields(rows, of_host=True),
        summary=say(f"{lead}: {who}, {often}{then}{end}", values),
        evidence=(
            cite(rows, f"{who} ({often})", values, worst="waiting"),
            *waits,
            *before,
            *beside,
            *told,
            *(grown_cache(view, paging) if is_written and paging is not None else ()),
        ),
        **_what_to_do(meanwhile),
        refutes=("blocked threads that are all flushers or journal threads",),
        cannot_know=("which device it is: iostat -xt 1 shows", "which tasks wait: ps -eo state,wchan:32,cmd"),
    )


def _waited_since_boot(view: View, limits: Limits) -> Iterator[Evidence]:
    """That CPUs waited as much on average since boot: it lasts, however few samples there are."""
    old = view.since_boot.get("cpu")
    if old is not None and len(old) and (old.floats("iowait_pct") >= limits.iowait).all():
        yield cite(
            old,
            "on average since boot iowait is {iowait:.0f} %",
            {"iowait": weighted.mean(old, "iowait_pct", "cpu")},
        )


def _is_trickle(meanwhile: Values) -> bool:
    """Whether next to nothing but writes is moved, and of these a fraction of what any disk takes."""
    written, read = (float(meanwhile.get(name, np.nan)) for name in ("written", "read"))
    return STILL_KB <= written < _TRICKLE_KB and read <= written / 10


_LONGER, _TRICKLE_KB = 3.0, 4096.0
"""Times as long as they work that CPUs wait where a task does little else; and kB/s of writes that the page
cache takes from anybody without a wait: any disk takes ten times that."""


_CONFIRM = ("iostat -xt 1 30", "pidstat -d 1", "ps -eo state,pid,wchan:32,cmd | grep ^D")
_IN = "See what the tasks in state D wait in (wchan of ps): a disk, NFS, swap or a lock."
_REMEDY = (
    "Find the device and who loads it: iostat -xt 1 30 and pidstat -d 1 side by side.",
    "Give a bulk reader or writer less of the disk (ionice -c3, io.max of its control group).",
)

_SHOW_DIRTY = ("grep -E 'Dirty|Writeback' /proc/meminfo",)
_REMEDY_OF_FLUSHES = (
    "Let less pile up between flushes: lower vm.dirty_background_bytes and vm.dirty_bytes.",
    _REMEDY[0],
)


def _what_to_do(meanwhile: Values) -> dict[str, tuple[str, ...]]:
    """The fields of a finding that say so, by what is moved where no disk is shown."""
    if not moved_in_all(meanwhile) >= STILL_KB:
        return {"remedy": RULE.remedy, "confirm": RULE.confirm}
    if "paged_out" in meanwhile:
        return {"remedy": (_OF_MEMORY[0], *_REMEDY), "confirm": ("vmstat 1", *_CONFIRM)}
    if "stretches" in meanwhile:
        return {"remedy": _REMEDY_OF_FLUSHES, "confirm": _CONFIRM}
    return {"remedy": _REMEDY, "confirm": (*_SHOW_DIRTY * ("between" in meanwhile), *_CONFIRM)}


RULE = Rule(
    id="blocked-tasks",
    role="symptom",
    title="Tasks pile up waiting for I/O",
    why="Each blocked task is work that stands still, and pools of workers run dry on them.",
    remedy=(
        _IN,
        "Of a disk: iostat -xt 1 30 shows which, pidstat -d 1 who loads it; of a lock: cat /proc/PID/stack.",
    ),
    needs=Needs(
        one_of=({"queue": ("blocked",)}, {"queue": ("load_1m", "run_queue")}, {"cpu": ("iowait_pct",)})
    ),
    thresholds={
        "tasks": Threshold(
            3, "tasks", "least blocked tasks, or one per CPU", "judgement: flusher and journal are two"
        ),
        "uncounted": Threshold(
            10, "tasks", "in the load average beyond all that are counted", "judgement: no rounding"
        ),
        "lasting": Threshold(
            LEAST_CROWD,
            "tasks",
            "in load averages of 1 and 15 minutes, not runnable",
            "judgement: drivers have 4",
        ),
        "unused": Threshold(
            95, "%", "idle time beside a load average of tasks that sleep", "judgement: no load"
        ),
        "samples": Threshold(3, "samples", "how many make it sure", "judgement: one is a hiccup"),
        "share": Threshold(
            60, "%", "share of a load's samples that is a lasting cost", "judgement: most of it"
        ),
        "seldom": Threshold(25, "%", "share of samples that is no trouble of CPUs that work", "judgement"),
        "moment": Threshold(10, "%", "share of samples in which a few tasks are no trouble", "judgement"),
        "iowait": Threshold(15, "%", "iowait that shows the wait", "as the verdict has it"),
        "busy": Threshold(
            60, "%", "of a disk on average, beside one task that waits", "judgement: most of it"
        ),
        "held": Threshold(
            HELD_PCT, "%", "iowait of a host that mostly waits", "judgement: more waits than works"
        ),
        "idle": Threshold(
            NO_IDLE_PCT, "%", "idle time that is none", "judgement: a CPU that waits is rounded up"
        ),
        "nearly": Threshold(80, "%", "share of samples that are nearly all", "judgement"),
        "flood": Threshold(10240, "kB/s", "writes that others wait behind", "judgement: a tenth of a disk"),
        "quiet": Threshold(0.3, "requests", "requests in flight that explain no crowd", "judgement"),
        "served": Threshold(0.5, "", "requests in flight per task that are its own", "Little's law; moments"),
        "background": Threshold(0.2, "", "tasks per request of background writes", "judgement"),
        "crowded": Threshold(
            3, "", "tasks per request that wait for others", "judgement: merging joins a few"
        ),
    },
    confirm=(
        "ps -eo state,pid,wchan:32,cmd | grep ^D",
        "vmstat 1",
        "echo w > /proc/sysrq-trigger  # as root, and only w, as other letters can stop the host: writes the "
        "stacks of all blocked tasks to the kernel log",
    ),
    references=("https://man7.org/linux/man-pages/man8/vmstat.8.html",),
    detect=detect,
)
