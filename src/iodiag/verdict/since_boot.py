"""What totals since boot tell where a capture has nothing else: never trouble."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iodiag.analysis.array.equal_rates import without_parts
from iodiag.analysis.host.between_averages import between_averages
from iodiag.analysis.host.cpu import cpu_shares
from iodiag.analysis.host.process_of_device import asks_no_disk, fills_cache, is_of_kernel
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.states.service_times import RANDOM_KB, sane_limit_ms, usual_ms
from iodiag.analysis.states.state_sentences import text_of
from iodiag.analysis.states.states import State, states
from iodiag.analysis.view.view import IDLE_KB_PER_S, DeviceSeries, View
from iodiag.model.capture import Fact
from iodiag.model.finding import Finding
from iodiag.model.units import KB_PER_MB

_WAYS = (("reads", "read"), ("writes", "write"), ("flushes", "flush"))


def with_snapshots(views: Sequence[View]) -> list[View]:
    """The views that have counters of disks of which no rates were made."""
    return [view for view in views if not view.devices and view.samples("disk_counters") is not None]


def lack_of_disks(views: Sequence[View], told: Finding | None = None) -> str:
    """What a capture has of its disks where it has no samples of any, as the object of a sentence.

    A process of a finding that a sentence beside it has `told` of is not told again.
    A counter of milliseconds has 32 bits and says nothing of how often it began again.
    """
    counters = next((view.samples("disk_counters") for view in with_snapshots(views)), None)
    if any("disk" in view.average_only for view in views):
        return "only averages since boot of its disks"
    if counters is None:
        together = disks_together(views, told)
        lack = "no statistics of single disks" if together else "no disk statistics"
        return (
            f"{lack}{_of_a_process(views, told.summary if told else '')}{_written_apart(views) or together}"
        )
    if len(np.unique(counters.floats("report"))) > 1:
        return "snapshots of the disks' counters, and no time between them, which would make rates"
    text = "one snapshot of the disks: counters since boot, no rates"
    requests = np.nansum([counters.floats("reads"), counters.floats("writes")], axis=0)
    # a disk stands above its partitions, which have no more requests
    at = int(np.argmax(requests))
    if requests[at] <= 0:
        return text
    one = counters[at : at + 1]
    values: Values = {"name": str(one["device"][0]), "now": float(one.floats("in_flight")[0])}
    parts = []
    for counted, each in _WAYS:
        count, spent = float(one.floats(counted)[0]), float(one.floats(f"{each}_ms")[0])
        if count > 0 and not np.isnan(spent):
            parts.append(f"{{{each}:.2f}} ms per {each}")
            values[each] = spent / count
    parts += ["{now:.0f} in flight now"] if not np.isnan(values["now"]) else []
    wraps = "; a counter of ms begins again after 49.7 days of waiting" if len(parts) > 1 else ""
    return say(f"{text} ({{name}} on average: {', '.join(parts)}{wraps})", values)


def _of_a_process(views: Sequence[View], told: str) -> str:
    """What the process of pidstat or iotop that moved most did, and how long it waited; empty without one."""
    given = [fact for view in views for fact in view.facts_of("pidstat", "iotop")]
    facts = [fact for fact in given if fact.word("process") and not fact.values.keys() & _TOTALS]
    if not facts:
        return ""
    moved = {
        way: [np.nan_to_num(fact.number(f"{way}_kb_per_s")) for fact in facts] for way in ("read", "write")
    }
    at = int(np.argmax(np.sum([*moved.values()], axis=0)))
    if facts[at].word("process") in told:
        return ""
    alike = int(np.nan_to_num(facts[at].number("alike"), nan=1))
    number = _number_of_most(facts[at]) if alike > 1 else ""
    alike = 1 if number else alike
    prefix = "alike_" * (alike > 1)
    values: Values = {way: float(np.nan_to_num(facts[at].number(f"{prefix}{way}_kb_per_s"))) for way in moved}
    values |= {"process": facts[at].word("process"), "waited": facts[at].number("io_delay_ticks") / 100}
    values |= {"samples": facts[at].number("samples"), "alike": alike}
    of = "{alike} threads of " if "tid" in facts[at].values else "{alike} processes named "
    values["number"] = number
    which = "{process} ({number})" if number else f"{of * (alike > 1)}{{process}}"
    text = f"; {which} read {{read:.0f}} kB/s and wrote {{write:.0f}} kB/s"
    text += " on average over {samples:.0f} samples" if float(values["samples"]) > 1 else ""
    text += "" if alike > 1 else _of_its_samples(views, facts[at].word("pid"), values)
    values["length"] = next((n for fact in given if (n := fact.number("interval_s")) > 0), 0.0)
    each = " of {length:g} s" if values["length"] else ""
    is_late = alike == 1 and float(values["waited"]) > 0
    text += f", and waited {{waited:.2f}} s for I/O per sample{each}" if is_late else ""
    every = next((f for view in views for f in view.facts_of("pidstat") if f.number("processes") > 1), None)
    if every is not None:
        values |= {f"all_{way}": every.number(f"{way}_kb_per_s") for way in ("read", "write")}
        values["count"] = every.number("processes")
        if alike < every.number("processes"):
            text += "; {count:.0f} processes read {all_read:.0f} kB/s and wrote {all_write:.0f} kB/s in all"
            text += _others(facts, np.sum([*moved.values()], axis=0).tolist(), at, values)
    asking = [fact for fact in facts if not asks_no_disk(fact.word("process"))]
    late = max(asking, key=lambda fact: np.nan_to_num(fact.number("io_pct")), default=facts[at])
    if (share := late.number("io_pct")) >= _SOME_PCT and late.word("process") not in told:
        values |= {"late": late.word("process"), "share": share}
        text += "; {late} waited for I/O {share:.0f} % of its time"
        what = _FOR_OTHERS if is_of_kernel(late.word("process")) else _FOR_NO_VOLUME
        text += what if _moved(late) < IDLE_KB_PER_S else ""
    return say(text, values)


def _moved(process: Fact) -> float:
    return float(np.nansum([process.number(f"{way}_kb_per_s") for way in ("read", "write")]))


def _number_of_most(process: Fact) -> str:
    """The number of a process that does nearly all that those of its name do; empty where it does not."""
    all_of_name = sum(process.number(f"alike_{way}_kb_per_s") for way in ("read", "write"))
    name = "pid" if "pid" in process.values else "tid"
    is_most = _moved(process) >= _NEARLY_ALL * all_of_name > 0
    return f"{name} {process.word(name)}" if is_most else ""


_NEARLY_ALL = 0.9
"""Share of what processes of one name move by which one of them stands for all."""

_FOR_NO_VOLUME = " while it moved next to nothing: for flushes (fsync, commits) or metadata, not for volume"
"""What a task waits for that reads and writes hardly anything itself."""

_FOR_OTHERS = " (a thread of the kernel: what it writes for others is counted as theirs)"
"""Why nothing is known of what such a thread waits for by the bytes counted as its own."""


def _others(facts: Sequence[Fact], kb: Sequence[float], told: int, values: Values) -> str:
    """Which process of another name than the `told` one moved a part of all; adds to `values`."""
    left = [n for n in range(len(facts)) if facts[n].word("process") != facts[told].word("process")]
    at = max(left, key=lambda n: kb[n], default=told)
    total = float(values["all_read"]) + float(values["all_write"])
    if not left or not 100 * kb[at] >= _SOME_PCT * total > 0:
        return ""
    values |= {"next": facts[at].word("process"), "next_kb": float(kb[at])}
    return ", {next} {next_kb:.0f} kB/s of that"


_TOTALS, _SOME_PCT = {"read_kb", "write_kb"}, 10.0
"""What a process moved since iotop started, which is no rate; and a share of time, or of what is
moved, that is worth a word."""


def _written_apart(views: Sequence[View]) -> str:
    """That disks wrote several times what processes wrote meanwhile, or the reverse, as the end of a clause.

    Empty if neither. Reads of processes that the page cache answers are no less.
    """
    if flood := next(filter(None, map(fills_cache, views)), None):
        text = "; meanwhile processes wrote {asked_write_kb_per_s:.0f} kB/s in all and the disks "
        return say(text + "{disks_write_kb_per_s:.0f} kB/s: the rest fills the page cache", flood.values)
    for fact in (fact for view in views for fact in view.facts_of("iotop")):
        written, asked = fact.number("disks_write_kb_per_s"), fact.number("asked_write_kb_per_s")
        if written >= max(_BEYOND * asked, IDLE_KB_PER_S):
            values: Values = {"written": written, "asked": asked, "times": written / asked if asked else 0.0}
            text = (
                "{times:.1f} times the {asked:.0f} kB/s that processes wrote"
                if asked
                else "processes nothing"
            )
            text += " meanwhile" + _DELAYED * (fact.number("samples") == 1)
            return say(f"; the disks wrote {{written:.0f}} kB/s, {text}", values)
    return ""


_DELAYED = " (writing is delayed: one sample may hold what was written before)"


def disks_together(views: Sequence[View], told: Finding | None = None) -> str:
    """What all disks together moved by iotop, as the end of a clause; empty where that is not shown.

    Of several runs it is that of a finding which the sentence has told of.
    """
    facts = [fact for view in views for fact in view.facts_of("iotop")]
    facts = [fact for fact in facts if "disks_read_kb_per_s" in fact.values]
    if not facts:
        return ""
    lines = {(item.source, line) for item in told.evidence[:1] for line in item.lines} if told else set()
    fact = next(
        (f for f in facts if any(f.ref.first <= at <= f.ref.last for of, at in lines if of == f.ref.source)),
        facts[0],
    )
    moved: Values = {way: fact.number(f"disks_{way}_kb_per_s") for way in ("read", "write")}
    often = " on average" if fact.number("samples") > 1 else ""
    return say("; all disks together read {read:.0f} kB/s and wrote {write:.0f} kB/s" + often, moved)


_BEYOND = 2.0
"""Times what processes write from which it is worth a word: what was written before, or by a file system."""


def _of_its_samples(views: Sequence[View], pid: str, values: Values) -> str:
    """In how many of its samples the process moved anything, and how much at most, if not in all."""
    for view in views:
        table = view.samples("process")
        if table is None or not pid:
            continue
        own = table[table["pid"] == pid]
        read, wrote = (np.nan_to_num(own.floats(f"{way}_kb_per_s")) for way in ("read", "write"))
        worked = int((read + wrote > 0).sum())
        verb, kb = ("read", read) if read.sum() > wrote.sum() else ("written", wrote)
        values |= {"worked": worked, "most": kb.max(initial=0.0), "verb": verb}
        if 0 < worked < float(values["samples"]):
            return " ({worked} of them with any, up to {most:.0f} kB/s {verb})"
    return ""


def between_reports(views: Sequence[View]) -> str:
    """What the device that moved most did between the last two averages since boot, in brackets, if known."""
    found = [one for view in views for one in between_averages(view)]
    if not found:
        return ""
    most = max(found, key=lambda one: one.kb_per_s)
    values: Values = {"name": most.device, "hours": most.seconds / 3600, "kb": most.kb_per_s}
    values |= {"ios": most.ios_per_s, "size": most.kb_per_s / most.ios_per_s}
    text = "{name}, in the {hours:.1f} h between its last two reports: {kb:kb} in {ios:.1f} requests/s"
    return f" ({say(text + ' of {size:.1f} kB', values)})"


def is_calm_on_average(view: View) -> bool:
    """Whether no device was slow or full on average since boot, and the CPUs hardly waited for any.

    What shows no latency is calm where it serves few requests beside CPUs that hardly wait.
    """
    shares = cpu_shares(view.cpu_all)
    if shares is not None and not shares.iowait * max(1.0, (view.cpus or 1) / _FEW_CPUS) < _CALM_IOWAIT:
        return False
    used = [one for one in without_parts(view.devices) if not one.is_untimed and len(one.samples)]
    told = [(state, one) for one in used for state in states(one) if state.kind != "idle"]
    for state, series in told:
        if state.held < _LITTLE and state.util < _LITTLE and not is_past_sane(series, state):
            continue
        if state.latency_ms > usual_ms(series, state.size_kb, state.rate) or state.util > _MOST_BUSY:
            return False
        if is_past_sane(series, state):
            return False
        if not state.latency_ms > 0 and (shares is None or not state.rate <= _FEW_PER_S):
            return False
    return bool(told)


def did_nobody_wait(view: View) -> bool:
    """Whether next to no task waited for I/O on average since boot, by the CPUs and by the reads in flight.

    On a host with idle time, which counts who waits: writes that somebody waits for are in its iowait, but
    for asynchronous ones: few may be in flight.
    """
    shares = cpu_shares(view.cpu_all)
    if shares is None or not view.cpus or shares.idle <= _SPARE_PCT or shares.iowait <= 0:
        return False
    devices = without_parts(view.devices)
    each = [(one, state) for one in devices for state in states(one)]
    if any(is_past_sane(one, state) for one, state in each):
        return False
    if not sum(weighted.or_zero(state.held) for _, state in each) < _FEW_HELD:
        return False
    reads = sum(_reads_in_flight(one) for one in devices)
    return shares.iowait / 100 * view.cpus < _LITTLE and reads < _LITTLE


def _reads_in_flight(series: DeviceSeries) -> float:
    """Reads per second times their latency, or that of all where no column has theirs; NaN unknown.

    Few whose latency no column shows are none: whoever waits for these is in the iowait of idle CPUs.
    """
    rows = series.samples
    column = "read_await_ms" if rows.has("read_await_ms") else "latency_ms"
    rate, latency = weighted.mean(rows, "reads_per_s"), weighted.mean(rows, column)
    if np.isnan(latency) and (rate <= _FEW_PER_S or weighted.mean(rows, "ios_per_s") <= _FEW_PER_S):
        return 0.0
    return rate * latency / 1000 if rate > 0 else 0 * rate


def is_past_sane(series: DeviceSeries, state: State) -> bool:
    """Whether requests of either direction took longer on average than one of any healthy device does."""
    for way in ("", "read", "write"):
        size = weighted.ratio(state.rows, f"{way}_kb_per_s", f"{way}s_per_s") if way else state.size_kb
        latency = state.mean(f"{way}_await_ms") if way else state.latency_ms
        if latency > sane_limit_ms(series, size):
            return True
    return False


_CALM_IOWAIT, _FEW_CPUS, _MOST_BUSY, _FEW_PER_S, _LITTLE, _FEW_HELD = 5.0, 10, 0.5, 10.0, 0.05, 0.5
"""Iowait in % of so many CPUs at the most (half a task), the busy share of a device, and its requests per
second up to which averages are calm; and requests in flight, tasks that wait, and busy share, that are next
to none; and requests in flight that are few."""

_SPARE_PCT = 50.0
"""Idle time from which iowait counts all who wait."""


def busier_since_boot(view: View) -> str:
    """That a device was several times as busy since boot as in all samples, as the end of a clause."""
    old = view.since_boot.get("disk")
    if old is None or "disk" in view.average_only or not old.has("util_pct"):
        return ""
    for series in without_parts(view.devices):
        own = old[old["device"] == series.name]
        samples = series.samples.floats("util_pct")
        if not len(own) or not series.samples.has("util_pct"):
            continue
        values: Values = {"name": series.name, "busy": float(own.floats("util_pct")[-1])}
        values["most"] = float(np.nanmax(samples))
        if float(values["busy"]) >= max(_BUSIER * float(values["most"]), _TELLING_PCT):
            text = (
                "; it is busier at other times ({name}: {busy:.0f} % on average since boot, {most:.0f} % at "
            )
            return say(text + "the most in the samples)", values)
    return ""


def dearer_since_boot(view: View, series: DeviceSeries, state: State) -> str:
    """That it takes far more time for each MB than on average since boot, in smaller requests: a predicate.

    Of one direction then and now, of a device that was at work then as well, and of no stream then.
    """
    old = view.since_boot.get("disk")
    own = old[old["device"] == series.name][-1:] if old is not None else None
    if own is None or not len(own) or state.kind not in ("reads", "writes"):
        return ""
    if state.samples < 2 or not 100 * state.util >= _HARDLY_IDLE_PCT:
        return ""
    rate, kb = (float(own.floats(f"{state.kind[:-1]}{of}_per_s")[0]) for of in ("s", "_kb"))
    other = "write" if state.kind == "reads" else "read"
    is_one_way = all(
        float(own.floats(f"{other}{of}_per_s")[0]) <= _OTHER * most for of, most in (("s", rate), ("_kb", kb))
    )
    busy = float(own.floats("util_pct")[0])
    if not (is_one_way and busy >= _TELLING_PCT and 0 < kb <= rate * RANDOM_KB):
        return ""
    values: Values = {"old": KB_PER_MB * busy / kb, "size": kb / rate, "old_rate": rate}
    values["now"] = KB_PER_MB * 100 * state.util / (state.rate * state.size_kb)
    is_dearer = float(values["now"]) >= _DEARER * float(values["old"])
    if not is_dearer or _SMALLER * state.size_kb > float(values["size"]):
        return ""
    values["what"] = text_of(state, len(series.samples))
    text = (
        "is busy by the number of its requests ({what}): for each MB/s it is busy {now:.0f} % of the time, "
    )
    return say(text + "since boot it was {old:.0f} %, at {old_rate}/s of {size:.1f} kB", values)


_HARDLY_IDLE_PCT, _OTHER, _DEARER, _SMALLER = 70.0, 0.1, 2.0, 2.0
"""Busy share, in %, from which the cost of requests matters; the other direction's part of what is one's;
times as much time for each MB, in requests as many times smaller."""

_BUSIER, _TELLING_PCT = 3.0, 20.0
"""Times as busy as in all samples, and the busy share in % since boot from which that is worth a word."""
