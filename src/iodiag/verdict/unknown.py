"""Why a capture is not enough for a verdict, what it shows all the same, and what to capture next."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from iodiag.analysis.array.equal_rates import disk_by_bytes, without_parts
from iodiag.analysis.array.layer_latency import lacks_disks, may_be_stacked
from iodiag.analysis.array.side_by_side import leaves_out_idle, paired
from iodiag.analysis.host.between_averages import over_hours
from iodiag.analysis.host.cpu import IDLE_PCT, cpu_shares, is_impossible, tasks_beyond_cpus, who_uses_a_cpu
from iodiag.analysis.host.measured_latencies import measured_latencies
from iodiag.analysis.host.missing_tools import SNAPSHOTS
from iodiag.analysis.host.paging import LEAST_CROWD, moved, starved
from iodiag.analysis.host.process_of_device import mostly_waits, who_asks
from iodiag.analysis.host.who_waits import (
    CROWD_TASKS,
    FEW_BLOCKED_TASKS,
    LITTLE_PCT,
    episode,
    is_waited_for,
    load_average,
    of_first_row,
    rows_at,
    who_sleeps,
)
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.measure.weighted import LEAST_REQUESTS
from iodiag.analysis.states.service_times import (
    SERVICE,
    class_of,
    inferred_class,
    sane_limit_ms,
    usual_ms,
)
from iodiag.analysis.states.state_sentences import text_of
from iodiag.analysis.states.states import State, states
from iodiag.analysis.view.device_names import is_physical
from iodiag.analysis.view.paging_units import IN_BLOCKS
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.capture import UNNAMED
from iodiag.verdict.health import LIKE, healths, is_brief, rests_on_doubtful_report, shown_health
from iodiag.verdict.mounts import of_mount_samples, of_mounts
from iodiag.verdict.nobody_waits import MANY_SAMPLES, mean_blocked_tasks, nobody_waits
from iodiag.verdict.possible_reason import copy_clause, neighbour_clause
from iodiag.verdict.since_boot import (
    between_reports,
    did_nobody_wait,
    disks_together,
    is_calm_on_average,
    lack_of_disks,
    with_snapshots,
)
from iodiag.verdict.state_health import (
    BRIEF_UTIL,
    LEAST_MOMENTS,
    LONG_QUEUE_DEPTH,
    SAME_SPEED,
    SELDOM_PER_S,
    is_hardly_used,
    lasting_states,
    waited,
)
from iodiag.verdict.waiting_tasks import many_ask, somebody_waits, waiting_tasks

SHOW_BLOCKED_TASKS, SHOW_CGROUP_LIMITS = (
    "ps -eo state,pid,wchan:32,cmd | grep ^D",
    "grep -r . /sys/fs/cgroup --include=io.max",
)
"""What tasks wait in, and the limits of control groups, which no column of a disk shows."""


SHOW_RUNNING = "mpstat -P ALL 1 10 & pidstat -wt 1 10"
"""How busy each CPU is, and how often each task is taken off one."""

SHOW_DISKS = "lsblk -o NAME,KNAME,ROTA,TYPE,TRAN,SIZE"
"""What kind of disk a name stands for, which its latency is held against."""


SHOW_IN_FLIGHT = "grep . /sys/block/*/inflight"
"""Requests handed to each device: the same ones stay if it is stuck, and none if a counter leaked."""


BUSY_PCT = 85.0
"""Share of CPU time that work takes from which it is never said that no trouble is visible."""


COLLAPSE, LEAST_MOVED_KB = 50.0, 10240.0
"""Times that a device moves less at the end, and kB/s that it moved before, where the fall is told."""


_MOUNT_TOOLS = {"nfs_mounts": "nfsiostat 5 12", "cifs_mounts": "cifsiostat -t 5 12"}
"""What samples the mounts that a table is of."""


def is_crowd(view: View) -> bool:
    """Whether a crowd of tasks waits on average: blocked, or by idle time of CPUs that are counted."""
    return bool(view.devices) and waiting_tasks(view).tasks >= CROWD_TASKS


def more(count: int) -> str:
    """How many names are not listed, as the end of a list; empty where all are."""
    return f", and {count} more" if count > 0 else ""


def _collapse_clause(series: DeviceSeries) -> str:
    """That a device whose latency is not shown moves a fraction in the end, as the end of a clause."""
    kb = np.nan_to_num(series.samples.floats("kb_per_s"))
    last = np.flatnonzero(COLLAPSE * kb > kb.max(initial=0.0))
    left = len(kb) - 1 - int(last.max(initial=0))
    if left < LEAST_MOMENTS or kb.max() < LEAST_MOVED_KB or series.samples.has("await_ms"):
        return ""
    values: Values = {"most": kb.max() / 1024, "now": float(kb[-left:].max()), "left": left}
    text = (
        "; it moved up to {most:.0f} MB/s, and at most {now:.0f} kB/s in the last {left} samples: if much is "
    )
    return say(
        text + "left to write then (Dirty in /proc/meminfo), something above the disks holds it", values
    )


def busiest(series: DeviceSeries) -> State:
    """What it did while requests waited most."""
    return max(states(series), key=lambda state: (state.kind == "stuck", waited(state)))


def is_slow(series: DeviceSeries, state: State) -> bool:
    """Whether requests take longer than one alone does at most on a device of its class."""
    return bool(state.latency_ms > usual_ms(series, state.size_kb, state.rate))


def unknown(views: Sequence[View], *, is_calm: bool) -> tuple[str, str]:
    """Why the capture is not enough, and what to run; not `is_calm` where the CPUs are seen to be spent."""
    averaged = [view for view in views if "disk" in view.average_only]
    settled_by = _of_mounts_alone(views) or "iostat -xyt 1 60"
    is_live = any(set(view.tables) - view.average_only for view in views)
    bounds = next((said for view in averaged if (said := _run_averages(view))), "")
    if any(view.average_only for view in views) and not is_live:
        tables = ", ".join(sorted({name.replace("_", " ") for view in views for name in view.average_only}))
        since = "the mount" if tables == "nfs mounts" else "boot or over a run"
        if not averaged and len(views) == 1:
            bounds = _run_without_disks(views[0])
        said = f"{on_average(averaged) or of_mounts(views)}{first_said(views, _odd_steal)}"
        said += first_said(views, _load_clause) + first_said(averaged, _cpus_on_average)
        says = _calm_on_average(averaged, said) or f", which say nothing about the present{said}"
        lead = _lead_of_averages(views, is_calm=is_calm and _is_calm_said(says))
        return bounds or (
            f"{lead}: it has only averages since {since} ({tables}){says}."
        ), f"Capture samples: `{settled_by}`"
    if averaged and all(view in averaged for view in views if view.devices):
        if all(len(view.since_boot.get("disk", ())) for view in averaged) and (calm := _calm_clause(views)):
            return _no_proof(calm + on_average(averaged), is_calm), "Capture samples: `iostat -xyt 1 60`"
        live = first_said(views, lambda view: nobody_waits(view) or somebody_waits(view), "; ")
        if bounds and not any(map(somebody_waits, views)):
            return bounds, "Capture samples: `iostat -xyt 1 60`"
        said = on_average(averaged)
        said += first_said(views, _load_clause) or (
            "" if live else first_said(views, partial(_cpu_clause, when="in its samples "))
        )
        said += first_said(averaged, _cpus_on_average)
        says = _calm_on_average(averaged, said) or said
        text = _lead_of_averages(views, is_calm=is_calm and not live and _is_calm_said(says))
        text += ": of the disks it has only averages since boot or over a run"
        return f"{text}{says}{live}.", "Capture samples: `iostat -xyt 1 60`"
    more = more_to_capture(views)
    calm = _calm_clause(views)
    is_slow = any(health == "slow" for view in views for _, health in healths(view))
    if not calm and not is_slow and any(view.devices for view in views) and all(map(nobody_waits, views)):
        calm = f"{first_said(views, nobody_waits)}; {why_unknown(views)}"
    why = calm or why_unknown(views)
    also = first_said(views, lambda view: f"{mostly_waits(view, why)}{who_uses_a_cpu(view)[0]}")
    if calm:
        is_calm &= not any(map(many_ask, views))
        at_times = "If it is slow at times, capture more then:"
        more = more.replace("Capture more while it is slow:", at_times) if is_calm else more
        return _no_proof(calm + also, is_calm), more
    return f"This capture is not enough: {why}{also}.", more


def where_of(host: str | None, views: Sequence[View]) -> str:
    """Which of several hosts a sentence is about, as its end."""
    return f" (`{host}`)" if len(views) > 1 and host else ""


def on_its_host(sentence: str, host: str | None, views: Sequence[View]) -> str:
    """A sentence with the host that it is about, where there are several."""
    where = where_of(host, views)
    return f"{sentence[:-1]}{where}." if where and sentence.endswith(".") else sentence + where


def first_said(views: Sequence[View], tell: Callable[[View], str], lead: str = "") -> str:
    """What the first host that tells says, behind `lead`, with its name beside other hosts; else empty."""
    told = ((view, said) for view in views if (said := tell(view)))
    return next((f"{lead}{said}{where_of(view.host, views)}" for view, said in told), "")


def _calm_on_average(averaged: Sequence[View], said: str) -> str:
    """That nothing was slow, or nobody waited, on average since boot, with what is `said`; else empty."""
    is_calm = all(map(is_calm_on_average, averaged))
    if not averaged or not (is_calm or all(map(did_nobody_wait, averaged))):
        return ""
    is_timed = all(one.samples.has("latency_ms") for view in averaged for one in view.devices)
    calm = "nobody is seen to wait for I/O"
    if is_calm:
        calm = _NOT_SLOW if is_timed else _HARDLY_WAITS
    return f": on average{over_hours(averaged)} {calm}{said}; a moment they cannot show"


_NOT_SLOW, _HARDLY_WAITS = "nothing is slow", "the CPUs hardly wait for I/O, and no latency is shown"


def _is_calm_said(says: str) -> bool:
    return _NOT_SLOW in says or _HARDLY_WAITS in says


def _lead_of_averages(views: Sequence[View], *, is_calm: bool) -> str:
    """How far averages that are calm go: tasks that wait for a disk are in each load average as well."""
    loads = [fact for view in views for fact in view.facts_of("uptime")]
    means = [fact.number(f"load_{name}") for fact in loads for name in ("one", "five", "fifteen")]
    if is_calm and means and max(means) < FEW_BLOCKED_TASKS:
        return "No trouble is visible, but the capture cannot prove health"
    return "This capture is not enough"


def _load_clause(view: View) -> str:
    """How many tasks ran or waited by the load average, where nothing else counts them, and what waited."""
    if (counted := load_average(view)) is None:
        return ""
    busy = [fact.text for fact in view.facts_of("mdstat") if fact.number("progress_pct") >= 0]
    return f"; {'; '.join([counted.text, *busy[:1]])}{who_sleeps(view)}"


def more_to_capture(views: Sequence[View]) -> str:
    """What to run while it is slow, by what is known of who waits."""
    capture = "`vmstat -t 1 60 > vmstat.out & iostat -xt 1 60 > iostat.out`"
    if tool := _of_mounts_alone(views):
        capture = f"`{tool}`"
    more = f"Capture more while it is slow: {capture}"
    shown = _shown(views)
    doubtful = [one for one in not_shown(views)[:SHOWN] if id(one[0]) not in shown]
    if any(class_of(series) == "unknown" and state.latency_ms > 0 for series, state, _ in doubtful):
        more = f"See what kind of disk it is, and capture more while it is slow: `{SHOW_DISKS}`, {capture}"
    elif unusable(views).keys() - {_NOT_NAMED}:
        more = f"Capture again with a current sysstat: {capture}"
    if any(map(tasks_beyond_cpus, views)):
        more = f"See while it lasts what wants to run: `{SHOW_RUNNING}`, and capture: {capture}"
    if any(_is_loaded(view) for view in views):
        more = f"See while it is slow what tasks wait in: `{SHOW_BLOCKED_TASKS}`, and capture: `vmstat 1 60`"
    if with_snapshots(views):
        more = f"Take a second snapshot while it is slow: `{SNAPSHOTS}`"
    if loaded := [view for view in views if somebody_waits(view) and view.devices]:
        more = f"See while it is slow what tasks wait in: `{SHOW_BLOCKED_TASKS}`"
        more += f", and what limits them: `{SHOW_CGROUP_LIMITS}`"
        if all(waiting_tasks(view).is_of_devices for view in loaded):
            more = f"{who_asks(loaded, 'for it', 'See')}, and capture it: `iostat -xt 1 60`"
        elif any(leaves_out_idle(view.devices) for view in loaded):
            more += f", and which devices hold requests: `{SHOW_IN_FLIGHT}`"
    return more


def _of_mounts_alone(views: Sequence[View]) -> str:
    """What samples the mounts, where these are all that the capture has; else empty."""
    known = {name for view in views for name in view.tables}
    return _MOUNT_TOOLS.get(next(iter(known)), "") if len(known) == 1 else ""


def _is_loaded(view: View) -> bool:
    """Whether a load average alone counts a crowd of tasks, and more than CPUs, where these are known."""
    counted = load_average(view)
    return counted is not None and counted.number("load_one") >= max(LEAST_CROWD, view.cpus or 0)


def _no_proof(calm: str, is_calm: bool) -> str:
    return f"{'No trouble is visible, but the' if is_calm else 'The'} capture cannot prove health: {calm}."


def _odd_steal(view: View) -> str:
    """That the most striking number of the CPUs is no neighbour's doing, as the end of a sentence."""
    if (cpu := view.cpu_all) is None or not (is_odd := is_impossible(cpu)).any():
        return ""
    values: Values = {"steal": float(cpu[is_odd].floats("steal_pct").max())}
    return say("; steal of {steal:.2f} % beside idle CPUs without work is a wrong counter", values)


def _run_averages(view: View) -> str:
    """What averages over a run bound: a device that was busy for a share of it held it up for no longer.

    Empty where they are since boot, or of no device that did anything.
    """
    used = [one for one in without_parts(view.devices) if has_traffic(one) and not one.is_untimed]
    if not used or len(view.since_boot.get("disk", ())):
        return ""
    series = max(used, key=lambda one: weighted.or_zero(weighted.mean(one.samples, "util")))
    shares = None if len(view.since_boot.get("cpu", ())) else cpu_shares(view.cpu_all)
    iowait = shares.iowait if shares else 0.0
    is_little = all(_is_seldom(one) for one in used)
    is_little &= iowait <= LITTLE_IOWAIT and not mean_blocked_tasks(view) >= CROWD_TASKS / 2
    values: Values = {"name": series.name, "did": text_of(busiest(series), len(series.samples), "averages")}
    text = "{name} ({did})"
    if shares:
        text += "; the CPUs were {busy:.0f} % busy, iowait {iowait:.1f} %"
        values |= {"busy": shares.busy, "iowait": iowait}
    if not is_little:
        return say("This capture is not enough: it has only averages over a run: " + text + ".", values)
    return say(
        "Over the run storage was not the limit: the busiest device was "
        + text
        + ". That does not prove health: "
        "stalls that are short beside the run do not show in its averages.",
        values,
    )


def _run_without_disks(view: View) -> str:
    """What averages over runs tell of all disks together and of the CPUs, or of processes; else empty.

    It is empty where they are since boot.
    """
    if view.average_only == {"process"}:
        lack = lack_of_disks([view])
        return f"This capture is not enough: it has only averages over a run, and {lack}."
    shares = cpu_shares(None if len(view.since_boot.get("cpu", ())) else view.cpu_all)
    io = view.samples("io")
    if shares is None or io is None or not io.has("ios_per_s"):
        return ""
    values: Values = {"busy": shares.busy, "iowait": shares.iowait}
    of_cpus = say("the CPUs were {busy:.0f} % busy on average, iowait {iowait:.1f} %", values)
    return f"This capture is not enough: it has only averages over a run: {_of_all_disks([view])}; {of_cpus}."


def _is_seldom(series: DeviceSeries) -> bool:
    """Whether averages show a device at work for a small part of the run, and answering in time."""
    is_seldom = bool((series.samples.floats("util") <= LITTLE_OF_RUN).all())
    state = busiest(series)
    # what holds next to nothing over the run held nobody up for long, if any device may take that
    is_sane = state.held < LITTLE_HELD and state.latency_ms <= sane_limit_ms(series, state.size_kb)
    return is_seldom and state.kind != "stuck" and bool(is_sane or not is_slow(series, state))


LITTLE_OF_RUN, LITTLE_IOWAIT, LITTLE_HELD = 0.2, 10.0, 0.1
"""Busy share of a run, and iowait over it, in %, at which storage takes up a fifth of its time at most; and
requests in flight over the run that are next to none."""


def on_average(views: Sequence[View]) -> str:
    """What the device that held or did most did on average, in brackets; empty without any.

    Two reports with totals tell what it did between them.
    """
    if between := between_reports(views):
        return between
    used = [(view, one) for view in views for one in view.devices if has_traffic(one)]
    depths, busy, rates = (
        [weighted.or_zero(weighted.mean(one.samples, name)) for _, one in used]
        for name in ("queue_depth", "util", "ios_per_s")
    )
    ranks = [*zip(depths, busy, rates, used, strict=True)]
    # a layer counts requests before they are merged, but may hold what its disks do not
    disks = [rank for rank in ranks if not may_be_stacked(rank[3][1])]
    most = max(1.0, 2 * sum(depth for depth, *_ in disks))
    held = [rank for rank in ranks if rank[0] >= most] or disks or ranks
    if not held:
        return ""
    *_, (view, series) = max(held, key=lambda rank: rank[:3])
    copied, of = copy_clause(view), f" of `{view.host}`" * (len(views) > 1)
    return f" ({series.name}{of}: {text_of(busiest(series), len(series.samples), 'averages')}{copied})"


def _devices_without_samples(view: View) -> list[str]:
    """Devices with I/O since boot that no sample is of: idle ones may be left out, or rows be cut off."""
    old = view.since_boot.get("disk")
    if old is None or "disk" in view.average_only:
        return []
    has_io = np.any([old.floats(name) > 0 for name in ("ios_per_s", "reads_per_s", "writes_per_s")], axis=0)
    worked = old[has_io]["device"].distinct()
    return [name for name in worked if view.series(name) is None]


_NOT_NAMED = "other devices"


def unusable(views: Sequence[View]) -> dict[str, str]:
    """Why nothing is known of a device: no sample of it can be true, or no row has its name."""
    left_out = [(view, view.left_out) for view in views if view.left_out is not None and view.devices]
    reasons = [
        (view, *one) for view, rows in left_out for one in zip(rows["device"], rows["anomaly"], strict=True)
    ]
    known = {name: reason for view, name, reason in reasons if view.series(name) is None}
    is_bare = any(view.series(UNNAMED) is not None for view in views)
    return known | ({_NOT_NAMED: "the table has lost their names"} if is_bare else {})


def _calm_clause(views: Sequence[View]) -> str:
    """What shows that nothing is wrong as far as the capture goes; empty where something may be.

    Averages since boot show neither.
    """
    shown = [
        view for view in views if not len(view.since_boot.get("disk", ())) or "disk" not in view.average_only
    ]
    left = [
        (view, one) for view in shown for one, health in healths(view) if health not in ("healthy", "idle")
    ]
    if any(somebody_waits(view) for view in views) or not all(is_brief(*one) for one in left):
        return ""
    if not left and (gone := unusable(views)):
        return _beside_unusable(views, gone)
    few = [one for view in shown for one in view.devices if has_traffic(one)]
    if not left and few and all(busiest(one).rate <= SELDOM_PER_S for one in few):
        first = max(few, key=lambda one: busiest(one).requests)
        said: Values = {"name": first.name, "what": text_of(busiest(first), len(first.samples))}
        said["then"] = first_said(views, nobody_waits, "; ") if all(map(nobody_waits, views)) else ""
        return say("next to nothing was asked of {name} ({what}){then}", said)
    if left:
        series = max((series for _, series in left), key=lambda one: _slowness(busiest(one)))
        values: Values = {"name": series.name, "what": text_of(busiest(series), len(series.samples))}
        return say("{name} had brief queues and was idle most of the time ({what})", values)
    if all(map(_shows_who_waits, views)) and not any(view.devices for view in shown):
        text, values = _moved(views)
        if not _may_be_held(values):
            meanwhile = f" while {say(text, values)}" if text else ""
            meanwhile += disks_together(views) if any("disk" in view.average_only for view in views) else ""
            # asynchronous requests are counted as they are handed on: next to none were
            is_idle = "total" in values and values["still"] == values["shown"]
            unseen = "" if is_idle else ", though asynchronous I/O would not show"
            return f"{first_said(views, nobody_waits)}{meanwhile}{unseen}; {_of_all_disks(views)}"
    return ""


def _shows_who_waits(view: View) -> bool:
    """Whether tasks are counted and none waits for I/O, or one now and then in many samples."""
    counted = view.cpu_samples if (queue := view.samples("queue")) is None else queue
    is_long = counted is not None and len(counted) >= MANY_SAMPLES
    return bool(nobody_waits(view)) and (mean_blocked_tasks(view) == 0 or is_long)


def _beside_unusable(views: Sequence[View], unusable: dict[str, str]) -> str:
    """What is known of the device that did most, and of how many others nothing is, and why."""
    used = [one for view in views for one in view.devices if has_traffic(one)]
    names = [*unusable]
    values: Values = {"names": ", ".join(names[:SHOWN]) + more(len(names) - SHOWN)}
    text = "nothing is known of {names}: " + " and ".join(dict.fromkeys(unusable.values()))
    if used:
        first = max(used, key=lambda one: busiest(one).requests)
        values |= {"name": first.name, "what": text_of(busiest(first), len(first.samples))}
        asked = first_said(views, many_ask, "; meanwhile ")
        text = f"{{name}} shows no trouble ({{what}}){asked}; {text}"
    return say(text, values)


def _of_all_disks(views: Sequence[View]) -> str:
    """What a capture shows that names no disk: all disks together (sar -b), and that hardly anybody waits."""
    io = next((io for view in views if (io := view.samples("io")) is not None and io.has("ios_per_s")), None)
    if io is None:
        return f"it has {lack_of_disks(views)}"
    moved = sum(np.nan_to_num(io.floats(f"{way}_kb_per_s")) for way in ("read", "write"))
    values: Values = {"ios": weighted.mean(io, "ios_per_s"), "mb": float(np.mean(moved)) / 1024}
    values |= {"most": float(np.nanmax(io.floats("ios_per_s"))), "samples": len(io)}
    text = "it tells no disk apart: all of them together served {ios:.0f} requests/s and {mb:.1f} MB/s on "
    text += "average"
    text += ", up to {most:.0f} requests/s" if len(io) > 1 else ""
    for view in views:
        cpu, queue = view.cpu_samples, view.samples("queue")
        if cpu is None or not cpu.has("iowait_pct") or queue is None or not queue.has("load_1m"):
            continue
        values["iowait"] = float(np.nanmax(cpu.floats("iowait_pct")))
        values["load"] = float(np.nanmax(queue.floats("load_1m")))
        if float(values["iowait"]) < LITTLE_PCT and float(values["load"]) < FEW_BLOCKED_TASKS:
            text += (
                "; hardly anybody waits: iowait is at most {iowait:.1f} %, and the load average {load:.2f}"
            )
            break
    return say(text, values)


def has_traffic(series: DeviceSeries) -> bool:
    """Whether it did anything at all."""
    return any(state.kind != "idle" for state in states(series))


def _slowness(state: State) -> tuple[float, float]:
    """What the sentence is about where nothing is shown: the worst latency, else the most requests."""
    return (0.0 if math.isnan(state.latency_ms) else state.latency_ms), state.requests


DOUBT, SHOWN = "it does not show whether the latency of", 3


def not_shown(views: Sequence[View]) -> list[tuple[DeviceSeries, State, str]]:
    """Devices with traffic, the slowest first of those that are used, each with what most waited in and what
    is beside it.

    One that answered as expected is none of those that are not shown, unless all did.
    """
    with_traffic = []
    for view, series in ((of, one) for of in views for one in without_parts(of.devices)):
        if active := lasting_states(series):
            slowest = max(active, key=lambda state: (waited(state), _slowness(state)))
            beside = f"; {said}" if (said := neighbour_clause(view, series, slowest)) else ""
            with_traffic.append((series, slowest, beside))
    with_traffic.sort(key=lambda found: (not is_hardly_used(found[1]), _slowness(found[1])), reverse=True)
    shown = _shown(views)
    return [one for one in with_traffic if id(one[0]) not in shown] or with_traffic


def _shown(views: Sequence[View]) -> set[int]:
    """Devices (by their id) that were shown to be healthy, or did nothing."""
    return {id(series) for view in views for series, one in healths(view) if one in ("healthy", "idle")}


def _where_requests_are(view: View) -> str:
    """Whether what tasks wait for is in flight on the devices shown, and what else it may be."""
    waiting = waiting_tasks(view)
    share = 100 * waiting.in_flight / waiting.tasks if waiting.tasks > 0 else math.nan
    values: Values = {"in_flight": waiting.in_flight, "share": share, "name": waiting.most.name}
    values["what"] = text_of(busiest(waiting.most), len(waiting.most.samples))
    if waiting.is_of_devices:
        text = "the devices hold as many requests as tasks wait ({in_flight:.2f} on average): tasks wait for "
        is_usual = shown_health(waiting.most) == "healthy"
        normal = "whose latency is normal" if is_usual else "and nothing shows whether that is normal for it"
        return say(f"{text}{{name}} ({{what}}), {normal}", values)
    if math.isnan(waiting.in_flight):
        text = "no column shows what is in flight on the devices: they, a limit above them, NFS or a lock may"
        return text + " be it"
    text = "no device is seen to be slow"
    if not waiting.is_elsewhere:
        text += (
            "; those shown hold {in_flight:.2f} requests in flight: those, a limit above them, NFS or a lock"
        )
        return say(text + " may be it", values)
    text += "; those shown hold {in_flight:.2f} requests in flight, which is {share:.0f} % of what waits at "
    text += "the most: a limit above them, NFS, a lock"
    return say(text + (_HIDDEN if leaves_out_idle(view.devices) else " may be it"), values)


_HIDDEN = (
    " or a device that is not shown may be it (no row is without I/O: with -z one that completes nothing is "
    "left out, a stuck one, too)"
)


def why_unknown(views: Sequence[View]) -> str:
    """What a capture shows of its disks and of who waits that is not enough for a verdict, as a clause."""
    for view in views:
        if waits := somebody_waits(view):
            if view.devices:
                return f"{waits}, and {_where_requests_are(view)}"
            paging = view.samples("paging")
            found = starved(paging) if paging is not None else None
            starves = f", {say(*found[1:])}" if found else ""
            is_average, seen = "paging" in view.average_only, episode(view)
            rows = paging if seen is None else rows_at(view, "paging", seen)
            is_part = rows is not None and len(rows) and (is_average or seen is not None)
            done, numbers = moved(view, rows) if rows is not None and is_part else _moved([view])
            when = "on average since boot" if is_average else "meanwhile"
            did = f"; {when} {say(done, numbers)}" if done and not found else ""
            return f"{waits}{starves}{did}, and the capture has {lack_of_disks([view])}"
    if with_traffic := not_shown(views):
        first, slowest, beside = with_traffic[0]
        names = ", ".join(series.name for series, *_ in with_traffic[:SHOWN])
        values: Values = {"names": names, "beside": beside}
        values["of"] = f"{first.name}: " if len(with_traffic) > 1 else ""
        values["what"] = text_of(slowest, len(first.samples))
        lack = _lack_of_device(first, views)
        values["class"] = _by_class(first, slowest) + _by_its_queue(first, slowest)
        said = say(f"{DOUBT} {{names}} is normal ({{of}}{{what}}{lack}{{class}}{{beside}})", values)
        asked = first_said(views, many_ask, "; meanwhile ")
        return said + (asked if slowest.latency_ms > 0 else first_said(views, _host_clause))
    if any(view.devices for view in views):
        lost = [name for view in views for name in _devices_without_samples(view)]
        if not lost:
            return "no device had any I/O while it was taken"
        names = ", ".join(lost[:3]) + more(len(lost) - 3)
        gone = f"and {names}, which had some since boot, did not stay in it"
        return f"the devices in it had no I/O, {gone}{first_said(views, _host_clause)}"
    if all(view.tables.keys() <= {"nfs_mounts"} for view in views) and (said := of_mount_samples(views)):
        return f"its only numbers are of NFS ({said})"
    text, values = _moved(views)
    also = f"; {say(text, values)}" if text else ""
    calm = first_said(views, nobody_waits)
    if calm and not _may_be_held(values):
        return f"{calm}; {_of_all_disks(views)}{also}"
    for view in views:
        if view.left_out is not None and len(view.left_out):
            return f"its numbers of the disks cannot be true ({view.left_out['anomaly'][0]})"
    if any("paging" in view.average_only for view in views):
        return "its rates are averages since boot, as vmstat prints without an interval"
    did = first_said(views, _host_clause) + "".join(map(_blocked_clause, views))
    return f"{_of_all_disks(views)}{_measured_clause(views)}{also}{did}"


def _lack_of_device(series: DeviceSeries, views: Sequence[View]) -> str:
    """What the capture lacks of a device, as the end of a clause."""
    lack = "; the kernel does not time it" if series.is_untimed and not is_physical(series.name) else ""
    lack += ": capture its members" if lack and series.is_stacked else ""
    lack += _collapse_clause(series)
    if series.is_stacked and any(map(lacks_disks, views)):
        lack += "; disks below it are not in the capture"
    pairs = (disk_by_bytes(view, series) for view in views if view.series(series.name) is series)
    is_bare = may_be_stacked(series) and not (series.device and series.device.members)
    if is_bare and (pair := next(filter(None, pairs), None)):
        lack += f"; {pair[0].name} moves as much within 1 %: it is probably the disk below it, one stream"
    if rests_on_doubtful_report(series):
        lack += "; only the first report has any of it, which may be the average since boot"
    return lack


def _by_class(series: DeviceSeries, state: State) -> str:
    """What one request of a device of unknown class may take, as the end of a clause."""
    if class_of(series) != "unknown" or not state.latency_ms > 0:
        return ""
    size = weighted.or_zero(state.size_kb)
    values: Values = {name: SERVICE[name].usual(size) for name in ("spinning", "solid")}
    # so many small ones need less than a seek each
    is_flash = inferred_class(series, state.size_kb, state.rate) == "solid"
    spinning = "" if is_flash else "a spinning disk up to {spinning:ms}, "
    return say(f"; alone such a request takes {spinning}flash {{solid:ms}}", values)


def _by_its_queue(series: DeviceSeries, slowest: State) -> str:
    """That it serves as many per second while busy with half of the queue, or works in bursts: the rest is in
    line."""
    shorter = [one for one in lasting_states(series) if 2 * one.at_once <= slowest.at_once and one.util > 0]
    for state in shorter if slowest.util > 0 else ():
        values: Values = {"served": state.ios / state.util, "most": slowest.ios / slowest.util}
        sizes = sorted((state.size_kb, slowest.size_kb))
        is_alike = sizes[1] <= LIKE * sizes[0] and min(state.requests, slowest.requests) >= LEAST_REQUESTS
        if is_alike and abs(float(values["served"]) / float(values["most"]) - 1) <= SAME_SPEED:
            text = "; while busy it serves {most:.0f}/s, and {served:.0f}/s with {depth:.1f} in flight, "
            values |= {"depth": state.at_once, "latency": state.latency_ms}
            return say(text + "{latency:ms} each: its queue makes the rest", values)
    if 0 < slowest.util < BRIEF_UTIL and slowest.at_once >= LONG_QUEUE_DEPTH:
        text = "; bursts, as it was idle {idle:.0f} % of the time: their queue may be most of it"
        return say(text, {"idle": 100 * (1 - slowest.util)})
    return ""


def _host_clause(view: View) -> str:
    """What the CPUs did, or how many tasks wanted to run or waited, as the end of a clause."""
    if did := _load_clause(view) or _cpu_clause(view):
        return did
    queue = None if "queue" in view.average_only else view.samples("queue")
    if queue is None or not (queue.has("blocked") and queue.has("run_queue")):
        return ""
    values: Values = {name: weighted.mean(queue, name, "queue") for name in ("run_queue", "blocked")}
    return say("; {run_queue:.1f} tasks wanted to run, and {blocked:.1f} were blocked", values)


def _cpu_clause(view: View, when: str = "") -> str:
    """What CPUs with time left did in samples, as the end of a clause."""
    shares = cpu_shares(view.cpu_samples)
    if shares is None or not shares.busy < BUSY_PCT:
        return ""
    most = float(np.nanmax(shares.rows.floats("iowait_pct")))
    values: Values = {"busy": shares.busy, "iowait": shares.iowait, "most": most}
    peak = ", at most {most:.1f} %" if most > shares.iowait else ""
    text = f"; {when}the CPUs were {{busy:.0f}} % busy, and iowait was {{iowait:.1f}} %"
    return say(text + peak, values)


def _cpus_on_average(view: View) -> str:
    """What CPUs of which only averages are known did, as the end of a clause."""
    shares = cpu_shares(view.cpu_all) if "cpu" in view.average_only else None
    if shares is None:
        return ""
    text = "; the CPUs were {busy:.0f} % busy on average, iowait {iowait:.1f} %"
    return say(text, {"busy": shares.busy, "iowait": shares.iowait})


def _blocked_clause(view: View) -> str:
    """How many tasks were blocked, and how often, as the end of a clause; empty where none are counted."""
    queue = None if "queue" in view.average_only else view.samples("queue")
    if queue is None or not queue.has("blocked") or view.cpu_samples is None:
        return ""
    tasks = queue.floats("blocked")
    values: Values = {
        "most": float(np.nanmax(tasks)),
        "count": int((tasks >= 1).sum()),
        "samples": len(tasks),
    }
    text = "; tasks blocked: at most {most:g}, in {count} of {samples} samples"
    text += of_first_row(view, queue, view.cpu_samples)
    return say(text if values["count"] else "; no task was blocked", values)


def _may_be_held(moved: Values) -> bool:
    """Whether what is moved is at a ceiling, or stalls: who asks without waiting is held as well then."""
    return bool({"flat", "stalled"} & moved.keys())


def _moved(views: Sequence[View]) -> tuple[str, Values]:
    """What hosts without numbers of their disks read and wrote; empty where no paging is shown."""
    for view in views:
        paging = None if "paging" in view.average_only else view.samples("paging")
        if paging is not None and {"pgpgin_kb_per_s", "pgpgout_kb_per_s"} <= paging.names.keys():
            is_waited = is_waited_for(view, paging)
            if (cpu := view.cpu_samples) is not None:
                own, other = paired(paging, cpu)
                idle, iowait = (cpu.floats(f"{name}_pct")[other] for name in ("idle", "iowait"))
                # a task that is blocked while idle CPUs count no wait was met in a moment of it
                is_waited[own] &= ~((iowait < NO_WAIT_PCT) & (idle >= IDLE_PCT))
            return moved(view, paging, is_waited)
        if (blocks := view.samples(IN_BLOCKS)) is not None:
            values: Values = {way: weighted.mean(blocks, f"blocks_{way}_per_s") for way in ("in", "out")}
            return (
                "{in} blocks/s are read and {out} written, of a size that bo and so show to be no kB",
                values,
            )
    return "", {}


NO_WAIT_PCT = 0.5
"""iowait that vmstat rounds to none: on 64 CPUs a task that waits all the time makes three times as much."""


def _measured_clause(views: Sequence[View]) -> str:
    """What a tracer or a load tool measured of the slowest requests, as the end of a clause."""
    measured = [one for view in views for one in measured_latencies(view)]
    if not measured:
        return ""
    slowest = max(measured, key=lambda one: one.slowest_ms or one.p99_ms or one.mean_ms or 0.0)
    return f", but {f'on {slowest.device} ' if slowest.device else ''}{slowest.text}"
