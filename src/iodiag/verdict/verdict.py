"""The verdict of a whole report: its state, the finding that it is about, and one sentence.

It is never softer than the worst number on the page: a symptom that nothing explains makes it `open`,
whatever was cleared, and `healthy` is said only where every device with traffic was seen to answer as its
class does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import replace
from typing import Literal

import numpy as np

from iodiag.analysis.array.equal_rates import ALIKE, are_alike, disks_of
from iodiag.analysis.array.topmost_devices import are_related, lowest, relatives
from iodiag.analysis.host.cpu import HELD_PCT, cpu_shares, tasks_beyond_cpus, who_uses_a_cpu
from iodiag.analysis.host.missing_tools import lacks_iostat, without_iostat
from iodiag.analysis.host.process_of_device import RECLAIMS, SHOW_MEMORY, reclaimer, unseen, who_asks
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import ONLY_SAMPLE, say
from iodiag.analysis.states.service_times import (
    class_of,
    events_per_sample,
    inferred_class,
    moves_more,
)
from iodiag.analysis.states.state_sentences import text_of
from iodiag.analysis.states.states import State, counts_no_bytes, state_of, states
from iodiag.analysis.view.device_names import node_of
from iodiag.analysis.view.phases import latency_changes, phase_summaries
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.model.capture import Ledger
from iodiag.model.finding import CONFIDENCES, SEVERITIES, Evidence, Finding
from iodiag.model.report import Verdict
from iodiag.verdict.health import (
    healths,
    is_late_but_hardly_used,
    is_late_on_any_class,
    is_prompt,
    is_trickle,
    shown_health,
)
from iodiag.verdict.mounts import answer_promptly, of_mount_samples
from iodiag.verdict.nobody_waits import nobody_waits
from iodiag.verdict.possible_reason import (
    MAY_BE_A_LIMIT,
    WAIT_NOT_SHOWN,
    carrier_clause,
    kept_clause,
    likely,
    limit_clause,
    own_load,
    turns_clause,
    volume_clause,
)
from iodiag.verdict.replicas import of_the_peer
from iodiag.verdict.since_boot import (
    busier_since_boot,
    dearer_since_boot,
    lack_of_disks,
)
from iodiag.verdict.state_health import (
    FULL_UTIL,
    LEAST_MOMENTS,
    MOST_AT_ONCE,
    WAITING_DEPTH,
    lasting_states,
    reads_are_late,
    waited,
)
from iodiag.verdict.unknown import (
    BUSY_PCT,
    DOUBT,
    SHOW_DISKS,
    SHOW_IN_FLIGHT,
    SHOWN,
    busiest,
    first_said,
    is_crowd,
    is_slow,
    more,
    more_to_capture,
    not_shown,
    on_average,
    on_its_host,
    unknown,
    unusable,
    where_of,
    why_unknown,
)
from iodiag.verdict.waiting_tasks import ONE_TASK, many_ask, queued, reader_of, somebody_waits, waiting_tasks

Word = Literal["trouble", "open", "healthy", "elsewhere", "unknown"]

MOST_UNREAD = 0.1
"""Share of the lines of numbers that were not read from which what was read shows no health."""

WARNING = SEVERITIES.index("warning")

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
    # of what is no table, as a list of processes, all lines are counted alike
    rows = sum(ledger.read or ledger.counts.get("context", 0) for ledger in counts)
    if is_cut or unread > MOST_UNREAD * (unread + rows):
        many = "an input is cut off, and the rest of it is lost"
        if not is_cut:
            many = f"{unread} of {unread + rows} lines of numbers could not be read"
        if state.state == "healthy":
            return Verdict("unknown"), f"This capture is not enough: {many}. What was read: {text}"
        for claim in ("no disk statistics", ONLY_SAMPLE):
            text = text.replace(claim, f"{claim} that could be read")
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
    elsewhere = _elsewhere(findings)
    if elsewhere and not slow:
        return _of_elsewhere(elsewhere[0], findings, views)
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
    is_calm = "healthy" in kinds and kinds <= {"healthy", "idle"} and not unusable(views)
    if answer_promptly(views) or (is_calm and not any(somebody_waits(view) for view in views)):
        return _shown_healthy(views, findings)
    if changes := [said for view in present for one in view.devices for said in latency_changes(one)]:
        text, values = changes[0]
        asks = "To settle it, repeat both phases: `iostat -xyt 1 60`"
        named = tuple(dict.fromkeys(str(one["device"]) for _, one in changes))
        return Verdict(
            "open", devices=named, asks=asks
        ), f"{say(text, values)}. The cause is not determined. {asks}"
    if unseen := [view for view in present if _waits_for_nothing_shown(view)]:
        asks = more_to_capture(unseen)
        text = f"Not determined: {why_unknown(unseen)}. {asks}"
        return Verdict("open", severity="warning", asks=asks), text
    if dearer := _of_small_requests(present):
        return dearer
    aside = next((f for f in findings if f.role == "elsewhere" and f.severity == "notice"), None)
    busy = on_its_host(aside.summary, aside.host, views) if aside is not None else _busy(views)
    why, asks = unknown(views, is_calm=not busy)
    why += _told_of_averages(of_averages)
    if aside is not None and aside.confirm:
        asks = f"See more of it: `{aside.confirm[0]}`; then {asks[0].lower()}{asks[1:]}"
    named = tuple(series.name for series, *_ in not_shown(views)[:SHOWN]) if DOUBT in why else ()
    return Verdict("unknown", devices=named, asks=asks), f"{f'{busy} ' if busy else ''}{why} {asks}"


def _of_elsewhere(first: Finding, findings: Sequence[Finding], views: Sequence[View]) -> tuple[Verdict, str]:
    """What is the trouble instead of the storage, and what another host has of that kind."""
    begins = "Not the speed of the devices" if first.devices else "Not storage"
    told = (f for f in findings if f.role == "elsewhere" and f.severity != "info" and f.confidence != "low")
    beside = [f for f in told if f.host != first.host][:1]
    also = "".join(f" Also found: {on_its_host(f.summary, f.host, views)}" for f in beside)
    return _about(first, "elsewhere"), on_its_host(_after_colon(begins, first), first.host, views) + also


def _of_small_requests(views: Sequence[View]) -> tuple[Verdict, str] | None:
    """Devices that need far more time for what they move than since boot; None without any."""
    each = ((one.name, dearer_since_boot(view, one, busiest(one))) for view in views for one in view.devices)
    dearer = {name: said for name, said in each if said}
    if not dearer:
        return None
    first, *others = dearer
    also = f" ({', '.join(others[:SHOWN])}{more(len(others) - SHOWN)} alike)" if others else ""
    asks = f"To settle it, {who_asks(views, 'for so little at a time')}, `iostat -xt 1 30`"
    told = Verdict("open", devices=tuple(dearer), severity="notice", asks=asks)
    return told, f"Not determined: {first}{also} {dearer[first]}. {asks}"


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


def _shown_healthy(views: Sequence[View], findings: Sequence[Finding]) -> tuple[Verdict, str]:
    """Healthy, unless requests may wait for another node, a crowd asks for much, or what is full has no room
    for more."""
    if not any(view.devices for view in views):
        said = of_mount_samples(views)
        return Verdict("healthy"), f"Every NFS mount in use answers promptly; the busiest is {said}."
    healthy = _healthy(views, findings)
    if replicated := of_the_peer(views):
        return replicated[0], f"{healthy} {replicated[1]}"
    if crowd := first_said(views, lambda view: many_ask(view) if is_crowd(view) else ""):
        asked = f"{crowd[0].upper()}{crowd[1:]}, for the amount that they ask for."
        asks = who_asks(views, "for it", "See")
        return Verdict("unknown", asks=asks), f"{healthy} {asked} {asks}"
    asks = next(filter(None, map(_ask_what_it_does, views)), "")
    text = " ".join(filter(None, (healthy, asks)))
    return _of_a_full_one(views, healthy) or (Verdict("healthy", asks=asks), text)


def _ask_what_it_does(view: View) -> str:
    """What to run where a process uses all of a CPU: what waits beside healthy devices waits for that one."""
    _, process = who_uses_a_cpu(view)
    if process is None or not process.word("pid"):
        return ""
    in_kernel = process.number("system_pct") >= _CALLS * process.number("cpu_pct")
    command = "strace -c -f -p" if in_kernel else "perf top -p"
    return f"See what {process.word('process')} does: `{command} {process.word('pid')}`"


_CALLS = 0.25
"""Share of its CPU time in the kernel from which what a process calls there tells more than its own code."""


def _busy(views: Sequence[View]) -> str:
    """That CPUs have hardly any time left, or too many tasks want it, as a sentence: who waits for them is in
    trouble."""
    for view in views:
        shares = cpu_shares(view.cpu_samples)
        if shares is not None and shares.busy >= BUSY_PCT:
            said = say("The CPUs are {cpu_busy:.0f} % busy.", shares.template_values())
            return on_its_host(said, view.host, views)
    crowd = first_said(views, tasks_beyond_cpus)
    return f"{crowd}." if crowd else ""


def _after_colon(words: str, finding: Finding) -> str:
    """A finding's sentence behind a colon: its first word is small, unless it is a name."""
    text = finding.summary
    is_word = re.match(r"[A-Z][a-z]* ", text)
    return f"{words}: {text[0].lower()}{text[1:]}" if is_word else f"{words}: {text}"


def _lowest_first(suspects: Suspects) -> Iterator[tuple[View, DeviceSeries]]:
    """Devices that hold requests back, those before others that stand on them or on nothing that is known.

    Of those like the first one that stands for all which held most.
    """
    views = dict.fromkeys(view for view, _ in suspects)
    low = {view: lowest(view, [series.name for other, series in suspects if other is view]) for view in views}
    ranks = [
        (s.name not in low[view], s.is_stacked and not (s.device and s.device.members))
        for view, s in suspects
    ]
    found = [suspects[place] for place in sorted(range(len(suspects)), key=lambda place: ranks[place])]
    for view, lead in found[:1]:
        like = [at for at, (of, one) in enumerate(found) if of is view and are_alike(lead, one)]
        found.insert(0, found.pop(max(like or [0], key=lambda at: waited(busiest(found[at][1])))))
    yield from found


def _is_warning(finding: Finding) -> bool:
    return SEVERITIES.index(finding.severity) >= WARNING


def _elsewhere(findings: Iterable[Finding]) -> list[Finding]:
    """Troubles that are not the storage's."""
    return [f for f in findings if f.role == "elsewhere" and f.confidence != "low" and _is_warning(f)]


def _about(finding: Finding, state: Word, asks: str = "", also: str = "") -> Verdict:
    named = (finding.rule, finding.devices, finding.severity, finding.confidence)
    return Verdict(state, *named, asks.strip(), also.strip())


def _of_trouble(
    troubles: Sequence[Finding], findings: Sequence[Finding], views: Sequence[View], suspects: Suspects
) -> tuple[Verdict, str]:
    """Trouble where a cause is likely at least; open where a symptom stands alone."""
    first = troubles[0]
    rest = [f for f in troubles[1:] if not f.explained_by]
    # what lasted for other samples, or is less sure, is a finding of its own
    twins = [f for f in rest if (f.rule, f.title, f.host) == (first.rule, first.title, first.host)]
    names = [name for name in dict.fromkeys(n for f in twins for n in f.devices) if name not in first.devices]
    others = [f"the same of {', '.join(names[:SHOWN])}{more(len(names) - SHOWN)}"] if names else []
    rest += [f for f in _elsewhere(findings) if not f.explained_by]
    others += dict.fromkeys(f.title for f in rest if f.rule != first.rule)
    then = f" Also found: {'; '.join(others[:2])}{more(len(others) - 2)}." if others else ""
    if first.role == "cause":
        said = _after_colon("Likely", first) if first.confidence == "medium" else first.summary
        text = on_its_host(said, first.host, views) + _before(first, findings)
        return _about(first, "trouble", also=then), text + then
    asks, said = _settled_by(first), on_its_host(first.summary, first.host, views)
    if first.severity == "critical" and first.devices:
        # what hardly answers by itself needs no other cause
        return _about(first, "trouble", asks, then), said + asks + then
    guesses = [f for f in findings if f.role == "cause" and _may_be_of(f, first)]
    named = list(dict.fromkeys(f.title for f in guesses))[:2]
    held = "".join(f"; {said}" for said in _keeps_to_a_rate(first, suspects))
    lack = f" No rule found the cause{held}."
    may_be = f" It may be: {'; '.join(named)}." if named else _lack(views, first, lack)
    if not first.devices and (near := _on_host(first, suspects)):
        may_be = f" {_suspect_sentence(*near[0], is_told=True)}.{may_be}"
    return _about(first, "open", asks, then), said + may_be + asks + then


def _keeps_to_a_rate(first: Finding, suspects: Suspects) -> list[str]:
    """That the first of a symptom's devices keeps to a rate that a limit may hold."""
    near = [(view, one) for view, one in _on_host(first, suspects) if one.name in first.devices[:1]]
    return [said for view, one in near[:1] if (said := limit_clause(view, one, busiest(one)))]


def _before(first: Finding, findings: Sequence[Finding]) -> str:
    """What the average since boot shows of its device, where that is no matter of a moment, as a sentence."""
    own = [finding for finding in findings if finding.host == first.host]
    told = (_reading(own, name, {"busy", "held", "latency"}) for name in first.devices)
    return next((f" {item.text}." for item in told if item is not None), "")


def _reading(findings: Sequence[Finding], device: str, numbers: Set[str]) -> Evidence | None:
    """What a reading says of a device by some numbers, if any does."""
    items = (item for finding in findings if finding.role == "reading" for item in finding.evidence)
    of_device = (item for item in items if item.values.get("device") == device)
    return next((item for item in of_device if numbers <= item.values.keys()), None)


def _lack(views: Sequence[View], symptom: Finding, otherwise: str = "") -> str:
    """What the capture lacks of the host's disks to name the cause, as a sentence; else what is said
    otherwise."""
    own = _of_its_host(views, symptom)
    if not any(view.devices for view in own):
        whole = "The" if len(own) == len(views) else "Of this host the"
        return f" {whole} capture has {lack_of_disks(own, symptom)}."
    if all("disk" in view.average_only for view in own if view.devices):
        return f" Of the disks it has only averages since boot or over a run{on_average(own)}."
    return otherwise


def _may_be_of(cause: Finding, symptom: Finding) -> bool:
    """Whether a cause is of the same devices, or of the same host where either names none."""
    if cause.host != symptom.host:
        return False
    return not cause.devices or not symptom.devices or bool(set(cause.devices) & set(symptom.devices))


def _settled_by(finding: Finding) -> str:
    return f" To settle it, run: `{finding.confirm[0]}`" if finding.confirm else ""


def _open(noted: Sequence[Finding], suspects: Suspects, views: Sequence[View]) -> tuple[Verdict, str]:
    # a guess about another device is no answer for the one that waits
    noted = [f for f in noted if not suspects or (_says_where(f) and _is_about(f, suspects))]
    if noted:
        first = min(noted, key=lambda f: (f.role != "cause", -CONFIDENCES.index(f.confidence)))
        own = _of_its_host(views, first)
        if first.role == "cause" and first.confidence != "low":
            waits = next((said for view in own if (said := somebody_waits(view))), "")
            nobody = (
                "No visible impact"
                if all(map(nobody_waits, own))
                or (not suspects and any(_SHOW_WAITERS & {*v.tables} - v.average_only for v in own))
                else "Nothing shows who waits"
            )
            impact = f"{waits[0].upper()}{waits[1:]}" if waits else nobody
            note = on_its_host(_after_colon("Note", first), first.host, views)
            return _about(first, "open"), f"{impact}. {note}"
        # a symptom is measured; what is not determined is its cause
        is_seen = first.role == "symptom" and first.confidence != "low"
        asks = _settled_by(first)
        said = first.summary if is_seen else _after_colon("Not determined; possibly", first)
        said = on_its_host(said, first.host, views) + "".join([*filter(None, map(unseen, own))][:1])
        why = f" The cause is not determined.{_lack(views, first)}" if is_seen else ""
        return _about(first, "open", asks), f"{said}{why}{asks}"
    view, series = suspects[0]
    where = where_of(view.host, views)
    state = busiest(series)
    if len(suspects) == 1 and (its := own_load(view, state)):
        asks = "To see what one request alone takes, run one job with iodepth=1 beside: `iostat -xt 1 30`"
        did = f"{its} ({series.name}: {text_of(state, len(series.samples))})"
        text = f"No trouble is visible, but how fast it may be is not shown: {did}. {asks}"
        return Verdict("unknown", devices=(series.name,), asks=asks), text
    state = _typical_state(series)
    why, asks = _why_and_what_settles_it(view, series, state)
    told = (volume_clause(view, series, state), turns_clause(series, state))
    lead = "Likely" if why and why in told else "Not determined"
    text = f"{lead}: {_suspect_sentence(view, series)}{where}{why}.{unseen(view)} {asks}"
    named = tuple(dict.fromkeys(series.name for _, series in suspects))
    is_cost = any(_makes_readers_wait(*one) or _is_waited_for(*one) for one in suspects)
    return Verdict("open", devices=named, severity="warning" if is_cost else "notice", asks=asks), text


def _why_and_what_settles_it(view: View, series: DeviceSeries, state: State) -> tuple[str, str]:
    """What a device that is waited for may be slow by, as a clause, and the commands that tell."""
    why = carrier_clause(view, series, state) or likely(view, series, state)
    why = why or volume_clause(view, series, state) or turns_clause(series, state)
    if not why and (held := limit_clause(view, series, state)):
        why = f": {held}"
    why = (why or "; the capture does not show why") + kept_clause(view, series)
    asks = "To settle it, run under this load and without load: `iostat -xt 1 30`"
    if class_of(series) == "unknown" and not moves_more(series):
        asks = (
            f"To settle it, see what kind of disk it is, and run under this load and without: `{SHOW_DISKS}`"
        )
        asks += ", `iostat -xt 1 30`"
    if why.endswith(WAIT_NOT_SHOWN):
        asks = "To settle it, see while it is slow whether a task waits, and who writes: `vmstat 1`, "
        asks += "`pidstat -d 1`"
    if counts_no_bytes(state.rows).all():
        why = ": its driver counts no bytes, and whether large requests or slow ones fill it is not shown"
        asks = f"To settle it, see how large they are: `blktrace -d {node_of(series.name)} -w 10 -o - | "
        asks += "blkparse -i -`, and what is moved: `vmstat 1`"
    if any(phase.device == series.name for phase in phase_summaries(view)):
        asks = "To settle it, capture more of each phase: `iostat -xt 1 30`"
    if MAY_BE_A_LIMIT in why:
        asks = (
            "To settle it, see what the volume is and its limits, and ask for other sizes and for twice as "
        )
        asks += f"many at once: a limit keeps IOPS or MB/s: `{SHOW_DISKS}`, `iostat -xt 1 30`"
    if (kernel := reclaimer(view)) is not None:
        why = "; " + say(RECLAIMS, kernel.values)
        asks = "To settle it, see whether memory is short: " + ", ".join(f"`{one}`" for one in SHOW_MEMORY)
    if state.kind == "stuck" or state.mean("held_besides") > 0:
        asks = f"To settle it, run twice: `{SHOW_IN_FLIGHT}`"
    return why, asks


def _is_waited_for(view: View, series: DeviceSeries) -> bool:
    """Whether idle CPUs count a task that always waits while a device is late and never idle in any sample.

    Of fewer than three samples the average since boot has to show as much. Where it is late for any class,
    whoever waits does so for it, but for as many as other devices hold. Without CPUs, one process that reads
    all that a never idle device gives waits as long.
    """
    shares = cpu_shares(view.cpu_samples)
    if shares is None:
        return reader_of(view, series) is not None
    if not somebody_waits(view):
        return False
    tasks = shares.iowait * (view.cpus or LEAST_CPUS) / 100
    if is_late_on_any_class(series):
        own = relatives(view, series.name)
        others = (weighted.mean(one.samples, "depth") for one in view.devices if one.name not in own)
        return tasks - max(map(weighted.or_zero, others), default=0.0) >= SOME_TASKS
    util, old = series.samples.floats("util_pct"), view.since_boot.get("disk")
    if len(util) < LEAST_MOMENTS and old is not None:
        util = np.append(util, old[np.asarray(old["device"] == series.name)].floats("util_pct"))
    is_full = len(util) >= LEAST_MOMENTS and bool((util >= 100 * NEVER_IDLE).all())
    return is_full and tasks >= ONE_TASK and is_slow(series, busiest(series))


SOME_TASKS = 0.5
"""Tasks that wait beyond those that other devices hold."""

LEAST_CPUS = 4
"""CPUs of a host that does not state them: of more, as much iowait is of more tasks."""


def _makes_readers_wait(view: View, series: DeviceSeries) -> bool:
    """Whether a device without idle time takes longer than its class for reads, and holds little else.

    Reads are waited for by nature; what is written may be a cache that is flushed. Where the class is not
    known, the host's own numbers have to show that somebody waits, or reads that no queue excuses have to be
    in flight all the time. Where these numbers show it, reads in a queue are enough, if they are most of it.
    """
    state, waits = busiest(series), bool(somebody_waits(view))
    latency = state.mean("read_await_ms")
    latency = state.latency_ms if math.isnan(latency) else latency
    reads = state.mean("reads_per_s") * latency / 1000
    if reads >= 1 and state.samples >= LEAST_MOMENTS and reads_are_late(series, state):
        return True
    if not state.util >= NEVER_IDLE:
        return False
    if waits and reads >= MOST * state.held and state.at_once >= WAITING_DEPTH:
        return True
    is_class_known = inferred_class(series, state.size_kb, state.rate) != "unknown"
    return reads >= NEARLY_ALL * state.held and is_slow(series, state) and (is_class_known or waits)


NEVER_IDLE, MOST, NEARLY_ALL = 0.95, 0.5, 0.9
"""Busy share without idle time, and shares of the requests in flight."""


def _of_its_host(views: Sequence[View], finding: Finding) -> list[View]:
    """The views of a finding's host, whose numbers alone go with it in one sentence."""
    return [view for view in views if finding.host in (None, view.host)]


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
    state = _typical_state(series)
    others = (one for one in disks_of(view) if one is not series and are_alike(series, one))
    alike = [one.name for one in others if not _is_apart_meanwhile(state, one)]
    also = f" ({', '.join(alike[:3])}{more(len(alike) - 3)} alike)" if alike else ""
    said = "" if is_told else somebody_waits(view)
    waits = f"{said}, and " if said else ""
    did = text_of(state, len(series.samples))
    if state.samples > busiest(series).samples:
        did += say(", up to {most:ms} in a sample", {"most": float(state.rows.floats("latency_ms").max())})
    return f"{waits}{series.name}{also} {_how_it_holds_back(series, state)} ({did})"


def _is_apart_meanwhile(state: State, other: DeviceSeries) -> bool:
    """Whether a device that is alike on average took another time in the reports of this state."""
    latency = weighted.mean(other.samples[same_reports(other.samples, state.rows)], "latency_ms")
    return max(latency, state.latency_ms) > ALIKE * min(latency, state.latency_ms)


def _typical_state(series: DeviceSeries) -> State:
    """The state in which requests waited most, unless it is the lesser part of those of which the same holds.

    Then all of these are one state: what holds in most samples is not told of one of them alone.
    """
    worst = busiest(series)
    if worst.kind == "stuck" or shown_health(series) != "slow" or not is_slow(series, worst):
        return worst
    how, active = _how_it_holds_back(series, worst), (one for one in states(series) if one.kind != "idle")
    same = [one for one in active if is_slow(series, one) and _how_it_holds_back(series, one) == how]
    if 2 * worst.samples >= sum(one.samples for one in same):
        return worst
    return state_of(series, series.samples[np.sort(np.concatenate([one.places for one in same]))])


def _how_it_holds_back(series: DeviceSeries, state: State) -> str:
    """What a state shows of a device that holds requests back, as the verb of a sentence."""
    is_late = shown_health(series) == "slow"
    if state.kind == "stuck":
        what = "completed no request"
    elif is_late and _may_be_parallel(series, state):
        what = "takes longer per request than is usual for its class"
    elif state.at_once < WAITING_DEPTH and (is_late or state.util >= FULL_UTIL):
        busy = "never idle, though" if state.util >= FULL_UTIL else "busy most of the time, and"
        what = f"is {busy} one or two requests are in flight: its latency bounds what so few ask"
    else:
        what = "has requests waiting in its queue" if is_late else "is what tasks may wait for"
    return what


def _may_be_parallel(series: DeviceSeries, state: State) -> bool:
    """Whether it may serve all that is in flight at once, and is slow at that: a queue is not shown."""
    return class_of(series) in ("nvme", "solid") and state.at_once < MOST_AT_ONCE and is_slow(series, state)


def _of_a_full_one(views: Sequence[View], healthy: str) -> tuple[Verdict, str] | None:
    """Of healthy devices one that is never idle and serves several at once: more may not fit."""
    used = [one for view in views for one in view.devices if (one.samples.floats("util") >= NEVER_IDLE).all()]
    lasting = ((one, state) for one in used for state in lasting_states(one))
    full = [one for one in lasting if one[1].at_once >= WAITING_DEPTH]
    if not full:
        return None
    # as in _busiest_of, of a stack the disk
    series, state = max(full, key=lambda one: (not one[0].is_stacked, one[1].at_once))
    asks = who_asks(views, "for so much", "See")
    text = (
        "{name} is never idle; it serves {many:.0f} requests at once, and whether there is room for more is "
    )
    said = say(text + "not shown", {"name": series.name, "many": state.at_once})
    return Verdict("healthy", devices=(series.name,), asks=asks), f"{healthy} {said}. {asks}"


def _healthy(views: Sequence[View], findings: Sequence[Finding]) -> str:
    used = [series for view in views for series in view.devices if shown_health(series) == "healthy"]
    name, what = _busiest_of(used)
    slow = [one for one in used if class_of(one) == "unknown" and not is_prompt(one)]
    is_few = bool(slow) and name not in {one.name for one in slow} and all(map(_did_few, slow))
    if all(is_late_but_hardly_used(one) for one in used):
        said = "Next to nothing is asked of the devices, and nothing queues there"
    elif slow and not is_few:
        text = "No device with traffic is slower than a healthy spinning disk (class unknown: {names})"
        said = say(text, {"names": _listed(slow)})
    elif any(class_of(one) == "unknown" for one in used if one not in slow):
        said = "Every device with traffic has a low latency"
    else:
        said = "The latency of every device with traffic is normal for its class"
    asked = first_said(views, lambda view: "" if is_crowd(view) else many_ask(view))
    # several hosts may have a device of that name
    also = _inflated_util_clause(name, findings) if len(views) == 1 else ""
    also += f"; meanwhile {asked}" if asked else ""
    also += _of_long_means(used)
    if any(is_trickle(series) for series in used):
        also += "; a limit above the device (io.max, blkio.throttle) would not show"
    also += first_said(views, busier_since_boot)
    also += first_said(views, lambda view: who_uses_a_cpu(view)[0])
    said += f" (but for {_listed(slow)}, of too few requests to tell)" * is_few
    return f"{said}; the busiest is {name} ({what}){also}."


def _did_few(series: DeviceSeries) -> bool:
    """Whether all that a device served is too little for a mean that tells what it is like."""
    return float(np.nansum(events_per_sample(series.samples))) < weighted.LEAST_REQUESTS


def _of_long_means(used: Sequence[DeviceSeries]) -> str:
    """That samples of minutes hide what lasts seconds, as the end of a clause; empty for shorter ones."""
    shortest = min(float(np.min(one.samples.floats("interval_s"), initial=np.inf)) for one in used)
    if not LONG_MEAN_S <= shortest < np.inf:
        return ""
    return say(
        "; each sample is a mean over at least {length:.0f} s, which hides what lasts seconds",
        {"length": shortest},
    )


LONG_MEAN_S = 120.0
"""Length of a sample from which it is no proof of a moment: sadc takes one in ten minutes (judgement)."""


def _listed(devices: Sequence[DeviceSeries]) -> str:
    return ", ".join(one.name for one in devices[:SHOWN]) + more(len(devices) - SHOWN)


def _inflated_util_clause(name: str, findings: Sequence[Finding]) -> str:
    """What a reading finds a device to be busy at the most, by what is in flight, as the end of a clause."""
    found = _reading(findings, name, {"util", "depth", "busy"})
    if found is None or float(found.values["busy"]) >= float(found.values["util"]):
        return ""
    text = "; its %util is inflated: it shows {util} % with {depth} requests in flight, which is "
    return say(text + "{busy:.0f} % at the most", found.values)


def _busiest_of(used: Sequence[DeviceSeries]) -> tuple[str, str]:
    """The device that is busy longest, or moves most where %util is not of all or alike, and its worst."""
    means = [
        [weighted.mean(one.samples, column) for column in ("util_pct", "kb_per_s", "ios_per_s")]
        for one in used
    ]
    is_timed = all(math.isfinite(util) for util, *_ in means)
    # a part of one per cent is not told; of a stack as busy the disk is
    each = [
        [round(util), not one.is_stacked, *moved] if is_timed else moved
        for one, (util, *moved) in zip(used, means, strict=True)
    ]
    ranks = [[weighted.or_zero(mean) for mean in own] for own in each]
    # hosts have devices of one name
    *_, place = max(
        (rank, one.name, place) for place, (rank, one) in enumerate(zip(ranks, used, strict=True))
    )
    series = used[place]
    done = [state for state in states(series) if state.kind != "idle"]
    worst = max(done, key=lambda state: (waited(state), state.requests))
    return series.name, text_of(worst, len(series.samples))
