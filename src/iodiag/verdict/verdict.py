"""The verdict of a whole report: its state, the finding that it is about, and one sentence.

It is never softer than the worst number on the page: a symptom that nothing explains makes it `open`,
whatever was cleared, and `healthy` is said only where every device with traffic was seen to answer as its
class does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from iodiag.analysis.array.equal_rates import are_alike, disks_of, without_parts
from iodiag.analysis.array.layer_latency import may_be_stacked
from iodiag.analysis.array.topmost_devices import are_related, lowest, relatives
from iodiag.analysis.host.cpu import HELD_PCT, cpu_shares, is_impossible, tasks_beyond_cpus
from iodiag.analysis.host.measured_latencies import measured_latencies
from iodiag.analysis.host.missing_tools import SNAPSHOTS, lacks_iostat, without_iostat
from iodiag.analysis.host.paging import LEAST_CROWD, moved, starved
from iodiag.analysis.host.who_waits import (
    CROWD_TASKS,
    FEW_BLOCKED_TASKS,
    LITTLE_PCT,
    is_waited_for,
    load_average,
)
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, say
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
from iodiag.analysis.view.phases import latency_changes, phase_summaries
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.capture import Ledger
from iodiag.model.finding import CONFIDENCES, SEVERITIES, Finding
from iodiag.model.report import Verdict
from iodiag.verdict.health import (
    FULL_UTIL,
    LEAST_MOMENTS,
    MANY_SAMPLES,
    MOST_AT_ONCE,
    ONE_TASK,
    SELDOM_PER_S,
    WAITING_DEPTH,
    healths,
    is_brief,
    is_late_but_hardly_used,
    is_late_on_any_class,
    is_prompt,
    is_trickle,
    lasting_states,
    many_ask,
    mean_blocked_tasks,
    nobody_waits,
    queued,
    reader_of,
    shown_health,
    somebody_waits,
    waited,
    waiting_tasks,
)
from iodiag.verdict.mounts import answer_promptly, of_mount_samples, of_mounts
from iodiag.verdict.possible_reason import WAIT_NOT_SHOWN, copy_clause, likely, neighbour_clause
from iodiag.verdict.replicas import of_the_peer
from iodiag.verdict.since_boot import (
    between_reports,
    busier_since_boot,
    did_nobody_wait,
    hours_since_boot,
    is_calm_on_average,
    lack_of_disks,
    with_snapshots,
)

Word = Literal["trouble", "open", "healthy", "elsewhere", "unknown"]

MOST_UNREAD = 0.1
"""Share of the lines of numbers that were not read from which what was read shows no health."""

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

WARNING = SEVERITIES.index("warning")

BUSY_PCT = 85.0
"""Share of CPU time that work takes from which it is never said that no trouble is visible."""

COLLAPSE, LEAST_MOVED_KB = 50.0, 10240.0
"""Times that a device moves less at the end, and kB/s that it moved before, where the fall is told."""

_MOUNT_TOOLS = {"nfs_mounts": "nfsiostat 5 12", "cifs_mounts": "cifsiostat -t 5 12"}
"""What samples the mounts that a table is of."""

_SHOW_WAITERS = {"cpu", "queue", "pressure", "nfs_mounts"}
"""Tables that show whether anybody waits for I/O."""

Suspects = Sequence[tuple[View, DeviceSeries]]
"""Devices that hold requests back, each with its host's view: hosts have devices of one name."""


def verdict(
    findings: Sequence[Finding],
    views: Sequence[View],
    *,
    ignored: int = 0,
    ledgers: Iterable[Ledger] = (),
    is_cut: bool = False,
) -> tuple[Verdict, str]:
    """The verdict of a report and its sentence; `findings` come in the order in which the report shows them.

    `ignored` counts the findings that the configuration takes out, which no verdict may hide; nor may it hide
    that lines of numbers could not be read, which the `ledgers` of the inputs count, or that the rest of one
    is lost.
    """
    state, text = _state_and_sentence(findings, views)
    if any(map(lacks_iostat, views)):
        state, text = replace(state, asks=without_iostat(state.asks)), without_iostat(text)
    counts = list(ledgers)
    unread = sum(ledger.counts.get("unread", 0) for ledger in counts)
    rows = sum(ledger.read for ledger in counts)
    if is_cut or unread > MOST_UNREAD * (unread + rows):
        many = "an input is cut off, and the rest of it is lost"
        if not is_cut:
            many = f"{unread} of {unread + rows} lines of numbers could not be read"
        if state.state == "healthy":
            return Verdict("unknown"), f"This capture is not enough: {many}. What was read: {text}"
        text = text.replace("no disk statistics", "no disk statistics that could be read")
        text += f" But {many}."
    if ignored:
        text += f" The configuration ignores {ignored} finding{'s' if ignored > 1 else ''}, listed below."
    return state, text


def _state_and_sentence(findings: Sequence[Finding], views: Sequence[View]) -> tuple[Verdict, str]:
    # what was averaged since boot shows nothing of the present
    present = [view for view in views if "disk" not in view.average_only]
    seen = [(view, series, one) for view in present for series, one in healths(view)]
    slow = [(view, series) for view, series, one in seen if one == "slow"]
    # who waits for I/O while a device is never idle waits for that one
    suspects = slow or [(view, series) for view in present if somebody_waits(view) for series in queued(view)]
    suspects = [*_lowest_first(suspects)]
    troubles = [f for f in findings if f.role in ("symptom", "cause") and _is_warning(f)]
    if troubles:
        return _of_trouble(troubles, findings, views, suspects)
    elsewhere = [f for f in findings if f.role == "elsewhere" and f.confidence != "low" and _is_warning(f)]
    if elsewhere and not slow:
        begins = "Not the speed of the devices" if elsewhere[0].devices else "Not storage"
        return _about(elsewhere[0], "elsewhere"), _after_colon(begins, elsewhere[0])
    averaged = {
        view.host
        for view in views
        if "disk" in view.average_only and not view.facts and len(view.since_boot.get("disk", ()))
    }
    notices = [f for f in findings if f.role in ("symptom", "cause") and f.severity == "notice"]
    # averages alone are no sign of what is now
    of_averages = [f for f in notices if f.confidence == "low" and f.devices and f.host in averaged]
    noted = [f for f in notices if f not in of_averages]
    if elsewhere and (told := [f for f in noted if f.role == "cause" and f.confidence != "low"]):
        return _about(elsewhere[0], "trouble"), f"{elsewhere[0].summary} Also found: {told[0].summary}"
    if suspects or noted:
        return _open(noted, suspects, views)
    kinds = {one for _, _, one in seen}
    is_calm = "healthy" in kinds and kinds <= {"healthy", "idle"} and not _unusable(views)
    if answer_promptly(views) or (is_calm and not any(somebody_waits(view) for view in views)):
        return _shown_healthy(views)
    if changes := [said for view in present for one in view.devices for said in latency_changes(one)]:
        text, values = changes[0]
        asks = "To settle it, repeat both phases: `iostat -xyt 1 60`"
        named = tuple(dict.fromkeys(str(one["device"]) for _, one in changes))
        return Verdict(
            "open", devices=named, asks=asks
        ), f"{say(text, values)}. The cause is not determined. {asks}"
    if unseen := [view for view in present if _waits_for_nothing_shown(view)]:
        asks = _more_to_capture(unseen)
        return Verdict("open", asks=asks), f"Not determined: {_why_unknown(unseen)}. {asks}"
    aside = next((f for f in findings if f.role == "elsewhere" and f.severity == "notice"), None)
    busy = aside.summary if aside is not None else _busy(views)
    why, asks = _unknown(views, is_calm=not busy)
    why += _told_of_averages(of_averages)
    if aside is not None and aside.confirm:
        asks = f"See more of it: `{aside.confirm[0]}`; then {asks[0].lower()}{asks[1:]}"
    named = tuple(series.name for series, *_ in _not_shown(views)[:SHOWN]) if _DOUBT in why else ()
    return Verdict("unknown", devices=named, asks=asks), f"{f'{busy} ' if busy else ''}{why} {asks}"


def _told_of_averages(findings: Sequence[Finding]) -> str:
    """The possible cause that averages show, else the symptom, which is measured in averages as well."""
    guess = next((f" Possibly: {f.summary}" for f in findings if f.role == "cause"), "")
    return guess or next((f" {f.summary}" for f in findings if f.role == "symptom"), "")


def _waits_for_nothing_shown(view: View) -> bool:
    """Whether a host waits for I/O more than it works, and little of that is in flight on its devices."""
    shares = cpu_shares(view.cpu_samples)
    is_much = shares is not None and shares.iowait >= HELD_PCT and bool(somebody_waits(view))
    has_mounts = view.samples("nfs_mounts") is not None  # quick ones may be what so much iowait is
    return is_much and bool(view.devices) and not has_mounts and waiting_tasks(view).is_elsewhere


def _shown_healthy(views: Sequence[View]) -> tuple[Verdict, str]:
    """Healthy, unless requests may wait for another node, a crowd asks for much, or what is full has no room
    for more."""
    if not any(view.devices for view in views):
        said = of_mount_samples(views)
        return Verdict("healthy"), f"Every NFS mount in use answers promptly; the busiest is {said}."
    if replicated := of_the_peer(views):
        return replicated[0], f"{_healthy(views)} {replicated[1]}"
    if crowd := next((many_ask(view) for view in views if _is_crowd(view)), ""):
        asked = f"{crowd[0].upper()}{crowd[1:]}, for the amount that they ask for."
        return Verdict("unknown"), f"{_healthy(views)} {asked}"
    return _of_a_full_one(views) or (Verdict("healthy"), _healthy(views))


def _is_crowd(view: View) -> bool:
    """Whether a crowd of tasks waits on average: blocked, or by idle time of CPUs that are counted."""
    return bool(view.devices) and waiting_tasks(view).tasks >= CROWD_TASKS


def _busy(views: Sequence[View]) -> str:
    """That CPUs have hardly any time left, or too many tasks want it, as a sentence: who waits for them is in
    trouble."""
    for view in views:
        shares = cpu_shares(view.cpu_samples)
        if shares is not None and shares.busy >= BUSY_PCT:
            return say("The CPUs are {cpu_busy:.0f} % busy.", shares.template_values())
    return next((f"{crowd}." for view in views if (crowd := tasks_beyond_cpus(view))), "")


def _after_colon(words: str, finding: Finding) -> str:
    """A finding's sentence behind a colon: its first word is small, unless it is a name."""
    text = finding.summary
    is_word = re.match(r"[A-Z][a-z]* ", text)
    return f"{words}: {text[0].lower()}{text[1:]}" if is_word else f"{words}: {text}"


def _lowest_first(suspects: Suspects) -> Iterator[tuple[View, DeviceSeries]]:
    """Devices that hold requests back, those before others that stand on them or on nothing that is known."""
    views = dict.fromkeys(view for view, _ in suspects)
    low = {view: lowest(view, [series.name for other, series in suspects if other is view]) for view in views}
    ranks = [
        (s.name not in low[view], s.is_stacked and not (s.device and s.device.members))
        for view, s in suspects
    ]
    yield from (suspects[place] for place in sorted(range(len(suspects)), key=lambda place: ranks[place]))


def _is_warning(finding: Finding) -> bool:
    return SEVERITIES.index(finding.severity) >= WARNING


def _about(finding: Finding, state: Word, asks: str = "", also: str = "") -> Verdict:
    named = (finding.rule, finding.devices, finding.severity, finding.confidence)
    return Verdict(state, *named, asks.strip(), also.strip())


def _of_trouble(
    troubles: Sequence[Finding], findings: Sequence[Finding], views: Sequence[View], suspects: Suspects
) -> tuple[Verdict, str]:
    """Trouble where a cause is likely at least; open where a symptom stands alone."""
    first = troubles[0]
    where = _where(first.host, views)
    rest = [f for f in troubles[1:] if not f.explained_by]
    # what lasted for other samples, or is less sure, is a finding of its own
    twins = [f for f in rest if (f.rule, f.title, f.host) == (first.rule, first.title, first.host)]
    names = [name for name in dict.fromkeys(n for f in twins for n in f.devices) if name not in first.devices]
    others = [f"the same of {', '.join(names[:SHOWN])}{_more(len(names) - SHOWN)}"] if names else []
    others += dict.fromkeys(f.title for f in rest if f.rule != first.rule)
    then = f" Also found: {'; '.join(others[:2])}{_more(len(others) - 2)}." if others else ""
    if first.role == "cause":
        said = _after_colon("Likely", first) if first.confidence == "medium" else first.summary
        return _about(first, "trouble", also=then), said + where + then
    asks = _settled_by(first)
    if first.severity == "critical" and first.devices:
        # what hardly answers by itself needs no other cause
        return _about(first, "trouble", asks, then), first.summary + where + asks + then
    guesses = [f for f in findings if f.role == "cause" and _may_be_of(f, first)]
    named = list(dict.fromkeys(f.title for f in guesses))[:2]
    may_be = f" It may be: {'; '.join(named)}." if named else _lack(views, " No rule found the cause.")
    if not first.devices and (near := _on_host(first, suspects)):
        may_be = f" {_suspect_sentence(*near[0], is_told=True)}.{may_be}"
    return _about(first, "open", asks, then), first.summary + where + may_be + asks + then


def _lack(views: Sequence[View], otherwise: str = "") -> str:
    """What the capture lacks of its disks to name a cause, as a sentence; else what is said otherwise."""
    if not any(view.devices for view in views):
        return f" The capture has {lack_of_disks(views)}."
    if all("disk" in view.average_only for view in views if view.devices):
        return f" Of the disks it has only averages since boot or over a run{_on_average(views)}."
    return otherwise


def _may_be_of(cause: Finding, symptom: Finding) -> bool:
    """Whether a cause is of the same devices, or of the same host where either names none."""
    if cause.host != symptom.host:
        return False
    return not cause.devices or not symptom.devices or bool(set(cause.devices) & set(symptom.devices))


def _settled_by(finding: Finding) -> str:
    return f" To settle it, run: `{finding.confirm[0]}`" if finding.confirm else ""


def _more(count: int) -> str:
    return f", and {count} more" if count > 0 else ""


def _open(noted: Sequence[Finding], suspects: Suspects, views: Sequence[View]) -> tuple[Verdict, str]:
    # a guess about another device is no answer for the one that waits
    noted = [f for f in noted if not suspects or (_says_where(f) and _is_about(f, suspects))]
    if noted:
        first = min(noted, key=lambda f: (f.role != "cause", -CONFIDENCES.index(f.confidence)))
        where = _where(first.host, views)
        if first.role == "cause" and first.confidence != "low":
            waits = next((said for view in views if (said := somebody_waits(view))), "")
            nobody = (
                "No visible impact"
                if all(map(nobody_waits, views))
                or (not suspects and any(_SHOW_WAITERS & {*v.tables} - v.average_only for v in views))
                else "Nothing shows who waits"
            )
            impact = f"{waits[0].upper()}{waits[1:]}" if waits else nobody
            return _about(first, "open"), f"{impact}. {_after_colon('Note', first)}{where}"
        # a symptom is measured; what is not determined is its cause
        is_seen = first.role == "symptom" and first.confidence != "low"
        asks = _settled_by(first)
        if is_seen:
            why = f" The cause is not determined.{_lack(views)}"
            return _about(first, "open", asks), f"{first.summary}{where}{why}{asks}"
        return _about(first, "open", asks), _after_colon("Not determined; possibly", first) + where + asks
    view, series = suspects[0]
    where = _where(view.host, views)
    why = likely(view, series, _busiest(series)) or "; the capture does not show why"
    asks = "To settle it, run under this load and without load: `iostat -xt 1 30`"
    if class_of(series) == "unknown":
        asks = (
            f"To settle it, see what kind of disk it is, and run under this load and without: `{SHOW_DISKS}`"
        )
        asks += ", `iostat -xt 1 30`"
    if why.endswith(WAIT_NOT_SHOWN):
        asks = "To settle it, see while it is slow whether a task waits, and who writes: `vmstat 1`, "
        asks += "`pidstat -d 1`"
    if any(phase.device == series.name for phase in phase_summaries(view)):
        asks = "To settle it, capture more of each phase: `iostat -xt 1 30`"
    if _busiest(series).kind == "stuck":
        asks = f"To settle it, run twice: `{SHOW_IN_FLIGHT}`"
    text = f"Not determined: {_suspect_sentence(view, series)}{where}{why}. {asks}"
    named = tuple(dict.fromkeys(series.name for _, series in suspects))
    is_cost = any(_makes_readers_wait(*one) or _is_waited_for(*one) for one in suspects)
    return Verdict("open", devices=named, severity="warning" if is_cost else "notice", asks=asks), text


def _is_waited_for(view: View, series: DeviceSeries) -> bool:
    """Whether idle CPUs count a task that always waits while a device is late and never idle in any sample.

    Without CPUs, one process that reads all of a device that is never idle waits as long.

    Of fewer than three samples the average since boot has to show as much. Where it is late for any class,
    whoever waits does so for it, but for as many as other devices hold.
    """
    shares = cpu_shares(view.cpu_samples)
    if shares is None or not somebody_waits(view):
        return reader_of(view, series) is not None
    tasks = shares.iowait * (view.cpus or LEAST_CPUS) / 100
    if is_late_on_any_class(series):
        own = relatives(view, series.name)
        others = (weighted.mean(one.samples, "depth") for one in view.devices if one.name not in own)
        return tasks - max(map(weighted.or_zero, others), default=0.0) >= SOME_TASKS
    util, old = series.samples.floats("util_pct"), view.since_boot.get("disk")
    if len(util) < LEAST_MOMENTS and old is not None:
        util = np.append(util, old[np.asarray(old["device"] == series.name)].floats("util_pct"))
    is_full = len(util) >= LEAST_MOMENTS and bool((util >= 100 * NEVER_IDLE).all())
    return is_full and tasks >= ONE_TASK and _is_slow(series, _busiest(series))


SOME_TASKS = 0.5
"""Tasks that wait beyond those that other devices hold."""

LEAST_CPUS = 4
"""CPUs of a host that does not state them: of more, as much iowait is of more tasks."""


def _makes_readers_wait(view: View, series: DeviceSeries) -> bool:
    """Whether a device without idle time takes longer than its class for reads, and holds little else.

    Reads are waited for by nature; what is written may be a cache that is flushed. Where the class is not
    known, the host's own numbers have to show that somebody waits.
    """
    state = _busiest(series)
    reads = state.mean("reads_per_s") * state.mean("read_await_ms") / 1000
    is_class_known = inferred_class(series, state.size_kb, state.rate) != "unknown"
    is_full = state.util >= NEVER_IDLE and reads >= MOST_READS * state.held
    return is_full and _is_slow(series, state) and (is_class_known or bool(somebody_waits(view)))


NEVER_IDLE, MOST_READS = 0.95, 0.9
"""Busy share without idle time, and share of the requests in flight that are nearly all."""


def _where(host: str | None, views: Sequence[View]) -> str:
    """Which of several hosts a sentence is about, as its end."""
    return f" (`{host}`)" if len(views) > 1 and host else ""


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


def _busiest(series: DeviceSeries) -> State:
    """What it did while requests waited most."""
    return max(states(series), key=lambda state: (state.kind == "stuck", waited(state)))


def _says_where(finding: Finding) -> bool:
    """Whether it names a device or a cause: that tasks wait says less than which device they wait for."""
    return bool(finding.devices) or finding.role == "cause"


def _is_about(finding: Finding, suspects: Suspects) -> bool:
    """Whether it names a device that holds requests back, or one that such a device stands on."""
    near = _on_host(finding, suspects)
    return bool(near) and (
        not finding.devices
        or any(
            series.name == name or are_related(view, series.name, name)
            for view, series in near
            for name in finding.devices
        )
    )


def _on_host(finding: Finding, suspects: Suspects) -> Suspects:
    return [(view, series) for view, series in suspects if finding.host in (None, view.host)]


def _suspect_sentence(view: View, series: DeviceSeries, *, is_told: bool = False) -> str:
    """What a device that holds requests back did while they waited most; who waits may be told already."""
    busiest = _busiest(series)
    alike = [one.name for one in disks_of(view) if one is not series and are_alike(series, one)]
    also = f" ({', '.join(alike[:3])}{_more(len(alike) - 3)} alike)" if alike else ""
    is_slow = shown_health(series) == "slow"
    said = "" if is_told else somebody_waits(view)
    waits = f"{said}, and " if said else ""
    if busiest.kind == "stuck":
        what = "completed no request"
    elif is_slow and _may_be_parallel(series, busiest):
        what = "takes longer per request than is usual for its class"
    elif busiest.at_once < WAITING_DEPTH and (is_slow or busiest.util >= FULL_UTIL):
        busy = "never idle, though" if busiest.util >= FULL_UTIL else "busy most of the time, and"
        what = f"is {busy} one or two requests are in flight: its latency bounds what so few ask"
    else:
        what = "has requests waiting in its queue" if is_slow else "is what tasks may wait for"
    return f"{waits}{series.name}{also} {what} ({text_of(busiest, len(series.samples))})"


def _may_be_parallel(series: DeviceSeries, state: State) -> bool:
    """Whether it may serve all that is in flight at once, and is slow at that: a queue is not shown."""
    return class_of(series) in ("nvme", "solid") and state.at_once < MOST_AT_ONCE and _is_slow(series, state)


def _is_slow(series: DeviceSeries, state: State) -> bool:
    return bool(state.latency_ms > usual_ms(series, state.size_kb, state.rate))


def _of_a_full_one(views: Sequence[View]) -> tuple[Verdict, str] | None:
    """Of healthy devices one that is never idle and serves several at once: more may not fit."""
    used = [one for view in views for one in view.devices if (one.samples.floats("util") >= NEVER_IDLE).all()]
    lasting = ((one.name, state) for one in used for state in lasting_states(one))
    full = [one for one in lasting if one[1].at_once >= WAITING_DEPTH]
    if not full:
        return None
    name, state = max(full, key=lambda one: one[1].at_once)
    asks = "See who asks for so much: `pidstat -d 1`"
    text = (
        "{name} is never idle; it serves {many:.0f} requests at once, and whether there is room for more is "
    )
    said = say(text + "not shown", {"name": name, "many": state.at_once})
    return Verdict("healthy", devices=(name,), asks=asks), f"{_healthy(views)} {said}. {asks}"


def _healthy(views: Sequence[View]) -> str:
    used = [series for view in views for series in view.devices if shown_health(series) == "healthy"]
    name, what = _busiest_of(used)
    slow = [one.name for one in used if class_of(one) == "unknown" and not is_prompt(one)]
    if all(is_late_but_hardly_used(one) for one in used):
        said = "Next to nothing is asked of the devices, and nothing queues there"
    elif slow:
        values: Values = {"names": ", ".join(slow[:3]) + _more(len(slow) - 3)}
        said = say(
            "No device with traffic is slower than a healthy spinning disk (class unknown: {names})", values
        )
    elif any(class_of(one) == "unknown" for one in used):
        said = "Every device with traffic has a low latency"
    else:
        said = "The latency of every device with traffic is normal for its class"
    asked = next(
        (text for view in views if not _is_crowd(view) and (text := many_ask(view))),
        "",
    )
    also = f"; meanwhile {asked}" if asked else ""
    if any(is_trickle(series) for series in used):
        also += "; a limit above the device (io.max, blkio.throttle) would not show"
    also += "".join([*filter(None, map(busier_since_boot, views))][:1])
    busy = [
        fact for view in views for fact in view.facts_of("top-processes") if fact.number("cpu_pct") >= 100
    ]
    also += "".join(say("; {process} uses {cpu_pct:.0f} % of a CPU by top", fact.values) for fact in busy[:1])
    return f"{said}; the busiest is {name} ({what}){also}."


def _busiest_of(used: Sequence[DeviceSeries]) -> tuple[str, str]:
    """The device that is busy longest, or moves most where %util is not of all, and its worst."""
    means = [
        [weighted.mean(one.samples, column) for column in ("util_pct", "kb_per_s", "ios_per_s")]
        for one in used
    ]
    is_timed = all(math.isfinite(util) for util, *_ in means)
    ranks = [[weighted.or_zero(mean) for mean in (own if is_timed else own[1:])] for own in means]
    # hosts have devices of one name
    *_, place = max(
        (rank, one.name, place) for place, (rank, one) in enumerate(zip(ranks, used, strict=True))
    )
    series = used[place]
    done = [state for state in states(series) if state.kind != "idle"]
    worst = max(done, key=lambda state: (waited(state), state.requests))
    return series.name, text_of(worst, len(series.samples))


def _unknown(views: Sequence[View], *, is_calm: bool) -> tuple[str, str]:
    """Why the capture is not enough, and what to run; not `is_calm` where the CPUs are seen to be spent."""
    averaged = [view for view in views if "disk" in view.average_only]
    settled_by = _of_mounts_alone(views) or "iostat -xyt 1 60"
    is_live = any(set(view.tables) - view.average_only for view in views)
    if any(view.average_only for view in views) and not is_live:
        tables = ", ".join(sorted({name.replace("_", " ") for view in views for name in view.average_only}))
        since = "the mount" if tables == "nfs mounts" else "boot or over a run"
        bounds = next((said for view in averaged if (said := _run_averages(view))), "")
        if not averaged and len(views) == 1:
            bounds = _run_without_disks(views[0])
        said = f"{_on_average(averaged) or of_mounts(views)}{_odd_steal(views)}"
        said += _load_clause(views)
        says = _calm_on_average(averaged, said) or f", which say nothing about the present{said}"
        lead = _lead_of_averages(views, is_calm=is_calm and _NOT_SLOW in says)
        return bounds or (
            f"{lead}: it has only averages since {since} ({tables}){says}."
        ), f"Capture samples: `{settled_by}`"
    if averaged and all(view in averaged for view in views if view.devices):
        if all(len(view.since_boot.get("disk", ())) for view in averaged) and (calm := _calm_clause(views)):
            return _no_proof(calm + _on_average(averaged), is_calm), "Capture samples: `iostat -xyt 1 60`"
        live = next(
            (f"; {said}" for view in views if (said := nobody_waits(view) or somebody_waits(view))), ""
        )
        said = _on_average(averaged)
        said += _load_clause(views) or ("" if live else _cpu_clause(views, "in its samples "))
        says = _calm_on_average(averaged, said) or said
        text = _lead_of_averages(views, is_calm=is_calm and not live and _NOT_SLOW in says)
        text += ": of the disks it has only averages since boot or over a run"
        return f"{text}{says}{live}.", "Capture samples: `iostat -xyt 1 60`"
    more = _more_to_capture(views)
    calm = _calm_clause(views)
    is_slow = any(health == "slow" for view in views for _, health in healths(view))
    if not calm and not is_slow and any(view.devices for view in views) and all(map(nobody_waits, views)):
        calm = f"{nobody_waits(views[0])}; {_why_unknown(views)}"
    if calm:
        return _no_proof(calm, is_calm), more
    return f"This capture is not enough: {_why_unknown(views)}.", more


def _calm_on_average(averaged: Sequence[View], said: str) -> str:
    """That nothing was slow, or nobody waited, on average since boot, with what is `said`; else empty."""
    is_calm = all(map(is_calm_on_average, averaged))
    if not averaged or not (is_calm or all(map(did_nobody_wait, averaged))):
        return ""
    calm = _NOT_SLOW if is_calm else "nobody waits for I/O"
    return f": on average{hours_since_boot(averaged)} {calm}{said}; a moment they cannot show"


_NOT_SLOW = "nothing is slow"


def _lead_of_averages(views: Sequence[View], *, is_calm: bool) -> str:
    """How far averages that are calm go: tasks that wait for a disk are in each load average as well."""
    loads = [fact for view in views for fact in view.facts_of("uptime")]
    means = [fact.number(f"load_{name}") for fact in loads for name in ("one", "five", "fifteen")]
    if is_calm and means and max(means) < FEW_BLOCKED_TASKS:
        return "No trouble is visible, but the capture cannot prove health"
    return "This capture is not enough"


def _load_clause(views: Sequence[View]) -> str:
    """How many tasks ran or waited by the load average, where nothing else counts them."""
    return next((f"; {counted.text}" for view in views if (counted := load_average(view)) is not None), "")


def _more_to_capture(views: Sequence[View]) -> str:
    """What to run while it is slow, by what is known of who waits."""
    capture = "`vmstat -t 1 60 > vmstat.out & iostat -xt 1 60 > iostat.out`"
    if tool := _of_mounts_alone(views):
        capture = f"`{tool}`"
    more = f"Capture more while it is slow: {capture}"
    doubtful = _not_shown(views)[:SHOWN]
    if any(class_of(series) == "unknown" and state.latency_ms > 0 for series, state, _ in doubtful):
        more = f"See what kind of disk it is, and capture more while it is slow: `{SHOW_DISKS}`, {capture}"
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
            more = "See who asks for it: `pidstat -d 1`, and capture it: `iostat -xt 1 60`"
        elif any(map(_hides_idle, loaded)):
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


def _odd_steal(views: Sequence[View]) -> str:
    """That the most striking number of the CPUs is no neighbour's doing, as the end of a sentence."""
    for view in views:
        if (cpu := view.cpu_all) is not None and (is_odd := is_impossible(cpu)).any():
            values: Values = {"steal": float(cpu[is_odd].floats("steal_pct").max())}
            return say("; steal of {steal:.2f} % beside idle CPUs without work is a wrong counter", values)
    return ""


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
    values: Values = {"name": series.name, "did": text_of(_busiest(series), len(series.samples), "averages")}
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
    """What averages over runs tell of all disks together and of the CPUs; empty where they are since boot."""
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
    state = _busiest(series)
    # what holds next to nothing over the run held nobody up for long, if any device may take that
    is_sane = state.held < LITTLE_HELD and state.latency_ms <= sane_limit_ms(series, state.size_kb)
    return is_seldom and state.kind != "stuck" and bool(is_sane or not _is_slow(series, state))


LITTLE_OF_RUN, LITTLE_IOWAIT, LITTLE_HELD = 0.2, 10.0, 0.1
"""Busy share of a run, and iowait over it, in %, at which storage takes up a fifth of its time at most; and
requests in flight over the run that are next to none."""


def _on_average(views: Sequence[View]) -> str:
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
    copied = copy_clause(view)
    return f" ({series.name}: {text_of(_busiest(series), len(series.samples), 'averages')}{copied})"


def _devices_without_samples(view: View) -> list[str]:
    """Devices with I/O since boot that no sample is of: idle ones may be left out, or rows be cut off."""
    old = view.since_boot.get("disk")
    if old is None or "disk" in view.average_only:
        return []
    has_io = np.any([old.floats(name) > 0 for name in ("ios_per_s", "reads_per_s", "writes_per_s")], axis=0)
    worked = old[has_io]["device"].distinct()
    return [name for name in worked if view.series(view.topology.canonical(name)) is None]


def _unusable(views: Sequence[View]) -> dict[str, str]:
    """Why each device of which no sample can be true was left out: of these nothing is known."""
    left_out = [(view, view.left_out) for view in views if view.left_out is not None and view.devices]
    reasons = [
        (view, *one) for view, rows in left_out for one in zip(rows["device"], rows["anomaly"], strict=True)
    ]
    return {name: reason for view, name, reason in reasons if view.series(name) is None}


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
    if not left and (unusable := _unusable(views)):
        return _beside_unusable(views, unusable)
    few = [one for view in shown for one in view.devices if has_traffic(one)]
    if not left and few and all(_busiest(one).rate <= SELDOM_PER_S for one in few):
        first = max(few, key=lambda one: _busiest(one).requests)
        said: Values = {"name": first.name, "what": text_of(_busiest(first), len(first.samples))}
        said["then"] = f"; {nobody_waits(views[0])}" if all(map(nobody_waits, views)) else ""
        return say("next to nothing was asked of {name} ({what}){then}", said)
    if left:
        series = max((series for _, series in left), key=lambda one: _slowness(_busiest(one)))
        values: Values = {"name": series.name, "what": text_of(_busiest(series), len(series.samples))}
        return say("{name} had brief queues and was idle most of the time ({what})", values)
    if all(map(_shows_who_waits, views)) and not any(view.devices for view in shown):
        text, values = _moved(views)
        if not _may_be_held(values):
            meanwhile = f" while {say(text, values)}" if text else ""
            unseen = "though asynchronous I/O would not show"
            return f"{nobody_waits(views[0])}{meanwhile}, {unseen}; {_of_all_disks(views)}"
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
    values: Values = {"names": ", ".join(names[:SHOWN]) + _more(len(names) - SHOWN)}
    text = "nothing is known of {names}: " + " and ".join(dict.fromkeys(unusable.values()))
    if used:
        first = max(used, key=lambda one: _busiest(one).requests)
        values |= {"name": first.name, "what": text_of(_busiest(first), len(first.samples))}
        text = "{name} shows no trouble ({what}); " + text
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


_DOUBT, SHOWN = "it does not show whether the latency of", 3


def _not_shown(views: Sequence[View]) -> list[tuple[DeviceSeries, State, str]]:
    """Devices with traffic, the slowest first, each with what most waited in and what is beside it.

    One that answered as expected is none of those that are not shown, unless all did.
    """
    with_traffic = []
    for view, series in ((of, one) for of in views for one in without_parts(of.devices)):
        if active := lasting_states(series):
            slowest = max(active, key=lambda state: (waited(state), _slowness(state)))
            beside = f"; {said}" if (said := neighbour_clause(view, series, slowest)) else ""
            with_traffic.append((series, slowest, beside))
    with_traffic.sort(key=lambda found: _slowness(found[1]), reverse=True)
    shown = {id(series) for view in views for series, one in healths(view) if one in ("healthy", "idle")}
    return [one for one in with_traffic if id(one[0]) not in shown] or with_traffic


def _where_requests_are(view: View) -> str:
    """Whether what tasks wait for is in flight on the devices shown, and what else it may be."""
    waiting = waiting_tasks(view)
    share = 100 * waiting.in_flight / waiting.tasks if waiting.tasks > 0 else math.nan
    values: Values = {"in_flight": waiting.in_flight, "share": share, "name": waiting.most.name}
    values["what"] = text_of(_busiest(waiting.most), len(waiting.most.samples))
    if waiting.is_of_devices:
        text = "the devices hold as many requests as tasks wait ({in_flight:.2f} on average): tasks wait for "
        return say(text + "{name} ({what}), and nothing shows whether that is normal for it", values)
    if math.isnan(waiting.in_flight):
        text = "no column shows what is in flight on the devices: they, a limit above them, NFS or a lock may"
        return text + " be it"
    text = "no device is seen to be slow"
    if not waiting.is_elsewhere:
        return text + ": a limit above them, NFS or a lock may be it"
    text += "; all of them hold {in_flight:.2f} requests in flight, which is {share:.0f} % of what waits at "
    text += "the most: a limit above them, NFS, a lock"
    return say(text + (_HIDDEN if _hides_idle(view) else " may be it"), values)


_HIDDEN = (
    " or a device that is not shown may be it (no row is without I/O: with -z one that completes nothing is "
    "left out, a stuck one, too)"
)


def _hides_idle(view: View) -> bool:
    """Whether each row of a device has I/O, as where the tool leaves out those without."""
    rows = [one.samples for one in view.devices]
    is_hidden = [np.equal(part["is_omitted"], True) if "is_omitted" in part else False for part in rows]
    return all(
        ((part.floats("ios_per_s") > 0) | own).all() for part, own in zip(rows, is_hidden, strict=True)
    )


def _why_unknown(views: Sequence[View]) -> str:
    for view in views:
        if waits := somebody_waits(view):
            if view.devices:
                return f"{waits}, and {_where_requests_are(view)}"
            paging = view.samples("paging")
            found = starved(paging) if paging is not None else None
            starves = f", {say(*found[1:])}" if found else ""
            is_average = "paging" in view.average_only
            done, numbers = moved(paging) if paging is not None and is_average else _moved([view])
            when = "on average since boot" if is_average else "meanwhile"
            did = f"; {when} {say(done, numbers)}" if done and not found else ""
            return f"{waits}{starves}{did}, and the capture has {lack_of_disks(views)}"
    if with_traffic := _not_shown(views):
        first, slowest, beside = with_traffic[0]
        names = ", ".join(series.name for series, *_ in with_traffic[:SHOWN])
        values: Values = {"names": names, "beside": beside}
        values["of"] = f"{first.name}: " if len(with_traffic) > 1 else ""
        values["what"] = text_of(slowest, len(first.samples))
        untimed = "; the kernel does not time it" if first.is_untimed and not is_physical(first.name) else ""
        untimed += ": capture its members" if untimed and first.is_stacked else ""
        untimed += _collapse_clause(first)
        values["class"] = _by_class(first, slowest)
        said = say(f"{_DOUBT} {{names}} is normal ({{of}}{{what}}{untimed}{{class}}{{beside}})", values)
        return said if slowest.latency_ms > 0 else said + _host_clause(views)
    if any(view.devices for view in views):
        gone = [name for view in views for name in _devices_without_samples(view)]
        if not gone:
            return "no device had any I/O while it was taken"
        names = ", ".join(gone[:3]) + _more(len(gone) - 3)
        return f"the devices in it had no I/O, and {names}, which had some since boot, did not stay in it"
    if all(view.tables.keys() <= {"nfs_mounts"} for view in views) and (said := of_mount_samples(views)):
        return f"its only numbers are of NFS ({said})"
    text, values = _moved(views)
    also = f"; {say(text, values)}" if text else ""
    calm = next((said for view in views if (said := nobody_waits(view))), "")
    if calm and not _may_be_held(values):
        return f"{calm}; {_of_all_disks(views)}{also}"
    for view in views:
        if view.left_out is not None and len(view.left_out):
            return f"its numbers of the disks cannot be true ({view.left_out['anomaly'][0]})"
    if any("paging" in view.average_only for view in views):
        return "its rates are averages since boot, as vmstat prints without an interval"
    return f"{_of_all_disks(views)}{_measured_clause(views)}{also}{_host_clause(views)}"


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


def _host_clause(views: Sequence[View]) -> str:
    """What the CPUs did, or how many tasks wanted to run or waited, as the end of a clause."""
    for view in views:
        if did := _load_clause([view]) or _cpu_clause([view]):
            return did
        queue = None if "queue" in view.average_only else view.samples("queue")
        if queue is not None and queue.has("blocked") and queue.has("run_queue"):
            values: Values = {name: weighted.mean(queue, name, "queue") for name in ("run_queue", "blocked")}
            return say("; {run_queue:.1f} tasks wanted to run, and {blocked:.1f} were blocked", values)
    return ""


def _cpu_clause(views: Sequence[View], when: str = "") -> str:
    """What CPUs with time left did in samples, as the end of a clause."""
    for view in views:
        shares = cpu_shares(view.cpu_samples)
        if shares is not None and shares.busy < BUSY_PCT:
            most = float(np.nanmax(shares.rows.floats("iowait_pct")))
            values: Values = {"busy": shares.busy, "iowait": shares.iowait, "most": most}
            peak = ", at most {most:.1f} %" if most > shares.iowait else ""
            text = f"; {when}the CPUs were {{busy:.0f}} % busy, and iowait was {{iowait:.1f}} %"
            return say(text + peak, values)
    return ""


def _may_be_held(moved: Values) -> bool:
    """Whether what is moved is at a ceiling, or stalls: who asks without waiting is held as well then."""
    return bool({"flat", "stalled"} & moved.keys())


def _moved(views: Sequence[View]) -> tuple[str, Values]:
    """What hosts without numbers of their disks read and wrote; empty where no paging is shown."""
    for view in views:
        paging = None if "paging" in view.average_only else view.samples("paging")
        if paging is not None and {"pgpgin_kb_per_s", "pgpgout_kb_per_s"} <= paging.names.keys():
            return moved(paging, is_waited_for(view, paging))
    return "", {}


def _measured_clause(views: Sequence[View]) -> str:
    """What a tracer or a load tool measured of the slowest requests, as the end of a clause."""
    measured = [one for view in views for one in measured_latencies(view)]
    if not measured:
        return ""
    slowest = max(measured, key=lambda one: one.slowest_ms or one.p99_ms or one.mean_ms or 0.0)
    return f", but {f'on {slowest.device} ' if slowest.device else ''}{slowest.text}"
