"""A device is past its knee: more queue buys latency, not work.

What it detects: requests that take more than three times as long as one alone, while throughput no longer
grows with the queue; or ten times as long in a real queue; or three and more requests for a memory card or a
disk that turns, 2c + 1 for an array of c, never idle; or a queue of eight and more on a device that is never
idle, with three times the latency that a healthy one of its class takes at the most; or large requests of
which a queue twice as long moves no more kB; or as much of them, with 32 and more in flight, as a saturated
disk beside it moves with a longer queue; or a queue of eight and more on a device that is never idle, with
four times the latency that one of its kind beside it has with a fifth of the queue and no more requests; or,
while several tasks are seen to wait, four and more on a device that is never idle, for twice what its class
takes at the longest or three times what calmer samples of it allow for their size. Of four and more, some of
them reads, where no column counts who waits, twice what any class takes is told as full or slow, which no
number tells apart. Reads that wait as long, two and more, behind writes of a tenth of that, are told from
three samples and 80 % on. Else one sample is enough: it counts its requests. What is said is of the direction
that waits. Of a stack over one disk the lowest full device is told, with what waits above it; of devices that
do and wait alike, the one that holds most, and none is left out because it falls short of a threshold by less
than they differ. Where it completes nothing at all in more samples than it is full, that is told first.

It is critical where pressure shows that work stands still, or where requests wait for ten seconds and
somebody may wait for them; or for a second, a quarter of them reads, a file system's journal held up for
five, or more than two tasks seen to wait while no other device is busy; or for half a second and more in a
queue of eight while the CPUs do little but wait for I/O, or the load average is a hundred and more; or for
ten times as long as one alone, and longer than any healthy device takes, where it is full and the CPUs mostly
wait for I/O in every sample of three and more, or of fewer and in the average since boot as well.

Why it matters: everything that reads or writes there waits in line. Adding threads makes it worse.

When it is wrong: larger requests rightly take longer, so that only requests of like size and direction are
compared. Writeback and asynchronous work queue deeply while nobody waits: where blocked tasks are counted
and there are none, or a stream at the device's full speed adds no iowait to that of other times, it is a
notice; so it is for writes where user and system work take all CPU time in every sample, and for a flush of
large writes in the lesser part of the samples that no reader of the device meets. A rate limit, a slow
member or a rebuild below are causes of their own and are named by their rules. A device that is busy for
longer with each request than a healthy one takes is slow, not full: extreme-latency tells it. So is one that
in twenty samples and more did more in some than in others while each request took as long. Where another
run in the capture moves three times the kB/s in larger requests, as busy and sooner, it is a notice that says
so. Two samples between calm ones are a burst, and are called one; so is a backlog that drains, where
requests waited for longer in all than a device with idle time had them queued. A stick of unknown class that
erases looks full.

References: P. Zaitsev 2014 (three times the latency of one stream); closed queueing networks, e.g.
Lazowska et al., Quantitative System Performance, 1984.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from iodiag.analysis.host.process_of_device import fills_cache, longest_wait, writer
from iodiag.analysis.host.who_waits import is_waited_for, wait_for_their_own
from iodiag.analysis.load.benchmarks import benchmarks_of, is_direct, own_queue
from iodiag.analysis.load.load_sentences import (
    application_latency,
    both_ways,
    disks_below,
    in_order,
    inflation,
    iowait_meanwhile,
    layers_above,
    parallelism,
    state,
    template_values,
    waiters,
)
from iodiag.analysis.load.plateaus import throughput_of_sizes
from iodiag.analysis.load.saturation.bursts import is_backlog, is_burst, is_passing, longest_contiguous
from iodiag.analysis.load.saturation.class_latency import LIKE_SIZE
from iodiag.analysis.load.saturation.classify import AS_MUCH, of_samples
from iodiag.analysis.load.saturation.devices_with_verdict import Busy, with_verdict
from iodiag.analysis.load.saturation.judged_levels import THRESHOLDS, JudgedLevel
from iodiag.analysis.load.stalls import stalled, with_stalls
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.changepoints import onset
from iodiag.analysis.measure.evidence import Values, cite_fact, in_samples, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.measure.windows import is_sustained
from iodiag.analysis.states.service_times import RANDOM_KB
from iodiag.analysis.states.state_sentences import AT_LEAST
from iodiag.analysis.states.states import states
from iodiag.analysis.view.device_traits import may_be_volume
from iodiag.analysis.view.view import IDLE_IOS_PER_S, DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import KB_PER_MB
from iodiag.rules.causes.true_saturation.evidence import (
    STILL,
    against,
    calmer_disks,
    copied,
    counts_of,
    is_far_slower,
    more_elsewhere,
    saturated_samples,
    single_pages,
    standstill,
    starved,
)
from iodiag.rules.causes.true_saturation.severity import late_journals, points_of, severity_of
from iodiag.table.table import Table


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per stack with a saturated device; the others of it are named in it."""

    def odd(series: DeviceSeries, loads: Sequence[JudgedLevel]) -> Outcome | None:
        saturated = [load for load in loads if load.verdict == "saturated"]
        rows = in_order(saturated) if saturated else series.samples[:0]
        if len(rows) and _is_left_over(series, rows) and not is_waited_for(view, rows).any():
            return RULE.undetermined(_LEFT_OVER, series.name)
        is_odd = len(rows) > 0 and _is_odd(series, rows, limits)
        return RULE.undetermined(_ODD, series.name) if is_odd else None

    told = list(
        with_verdict(view, RULE.id, limits, "saturated", "busy, without a queue that shows its limit", odd)
    )
    at_ceiling: dict[str, list[str]] = {}
    for found in told:
        first = found.loads[0] if isinstance(found, Busy) else None
        if isinstance(found, Busy) and first and first.higher and first.basis == "ceiling":
            at_ceiling.setdefault(str(first.higher.rows["device"][0]), []).append(found.series.name)
    for found in told:
        if isinstance(found, Outcome):
            yield found
        else:
            names = ", ".join(at_ceiling.get(found.series.name, ()))
            also = (f"; {names} beside it, with shorter queues, move as much: a ceiling",) if names else ()
            yield _finding(view, *found, limits, also)


def _is_odd(series: DeviceSeries, rows: Table, limits: Limits) -> bool:
    """Whether a passing flood is the odd one among samples that are as busy: these decide."""
    others = series.loaded[~np.isin(series.loaded["sample"], rows["sample"])]
    is_busy = len(others) and median(others.floats("util")) >= limits.busy_util / 100
    return bool(is_busy) and is_passing(series, rows, limits)


def _is_left_over(series: DeviceSeries, rows: Table) -> bool:
    """Whether it was full only where it worked off what a standstill that lasted for as long had left.

    Over the standstill and those samples it did no more then than in others.
    """
    is_still, rates = stalled(series.samples), series.samples.floats("ios_per_s")
    is_full, at = np.isin(series.samples["sample"], rows["sample"]), np.arange(len(rates))
    calm = rates[~is_still & ~is_full & (rates > 0)]
    if len(calm) <= is_still.sum() + is_full.sum():
        return False  # a device that hardly does anything else is not calm at other times
    before, last = (np.maximum.accumulate(np.where(own, at, -1)) for own in (~is_still, is_still))
    places, last = at[is_full], last[is_full]
    first = np.where(last >= 0, before[last] + 1, 0)  # the standstill is from there to the last
    done = np.append(0.0, np.cumsum(rates))
    did = (done[places + 1] - done[first]) / (places + 1 - first)
    is_short = places - last <= last + 1 - first
    return bool((is_short & (did <= NO_MORE * median(calm))).all())


_AFTER_STILL = ("; in others it is", "; it is")
"""How a sentence on silent samples goes on: that on a level may have some of them in it."""

NO_MORE = 1.5
"""Times its usual rate that a device did over a standstill and what followed, where no flood caused it."""
_LEFT_OVER = "it had a queue where it worked off what a standstill had left, and nowhere else"
_ODD = "it had a queue in a sample or two alone: a flood that passed, and not what it was busy with"


def _finding(
    view: View,
    series: DeviceSeries,
    loads: Sequence[JudgedLevel],
    below: tuple[str, ...],
    limits: Limits,
    beside: Sequence[str],
) -> Finding:
    lead, rows = _lead(view, series, loads, limits)
    is_compared = lead.basis == "measured" and lead.lower is not None
    is_long = is_compared or is_sustained(longest_contiguous(series, rows))
    sure = confidence(points_of(view, lead, limits), at_most="high" if is_long else "medium")
    whole, pages = with_stalls(series, _rows_of_state(series, rows, limits)), tuple(single_pages(view, rows))
    counts = counts_of(series, whole, lead, rows)
    values = template_values(series, lead) | counts
    summary, named = _told(series, lead, rows, values, limits)
    all_rows, still = with_stalls(series, rows), list(standstill(series, rows))
    if still:  # what holds for most of its time goes first
        values |= still[0].values
        summary = STILL + summary.replace("{device} is", _AFTER_STILL[len(all_rows) > len(rows)], 1)
    severity = severity_of(view, series, lead, rows, whole, sure, limits)
    also, numbers, given = _of_writes(view, lead, rows, severity, limits)
    above, iowaits = tuple(layers_above(view, series, lead)), tuple(iowait_meanwhile(view, lead))
    calmer = (*calmer_disks(view, series, rows), *copied(view, series, rows))
    queues = tuple(own_queue(benchmarks := benchmarks_of(view, series, lead.level), lead.said))
    told = [*(say("; above it {above} takes {above_latency} ms", item.values) for item in above), *beside]
    told += [f"; {item.text}" for item in (*calmer, *pages, *queues[:1], *iowaits[:1])]
    remedy = _remedy(lead, limits, pages, is_direct=any(map(is_direct, benchmarks)))
    return RULE.finding(
        **{"severity": severity} | _fitted(view, series, lead, rows, remedy) | named,
        confidence=sure,
        **device_fields(all_rows, series.name, *below),
        summary=say(summary + also, values | numbers) + "".join(told) + ".",
        confirm=(*_who_moves(pages), "iostat -xyt 1 30 DEVICE", *RULE.confirm),
        evidence=(
            state(series, lead),
            *still,
            *saturated_samples(whole, rows, lead, counts),
            *starved(rows, lead),
            *inflation(series, lead),
            *parallelism(series, lead),
            *above,
            *disks_below(lead),
            *calmer,
            *iowaits,
            *waiters(view, lead),
            *pages,
            *given,
            *map(longest_wait, late_journals(view, series)),
            *application_latency(view, lead),
            *queues,
            *onset(series, int(rows["sample"].min())),
            *((same,) if (same := throughput_of_sizes(series)) else ()),
            *against(view, series, lead),
        ),
        refutes=("throughput that grows with a deeper queue of the same requests",),
        cannot_know=_CANNOT_KNOW,
    )


def _lead(
    view: View, series: DeviceSeries, loads: Sequence[JudgedLevel], limits: Limits
) -> tuple[JudgedLevel, Table]:
    """The load that is told, and all samples of the finding.

    Of one kind of request all that is told is of all samples: no level leaves out the slowest of them.
    """
    lead = max(loads, key=lambda load: (_RANK.index(load.basis), load.level.span, load.said.latency_ms))
    rows = in_order(loads)
    own = [load for load in loads if load.said.direction == lead.said.direction]
    sizes = ((load, sorted((load.level.size_kb, lead.level.size_kb))) for load in own)
    own = [load for load, (small, large) in sizes if large <= LIKE_SIZE * small]
    for like in (_rows_of_state(series, rows, limits), rows, in_order(own)):
        if (mean := of_samples(view, series, lead, like, limits)) is not None:
            return mean, rows if len(like) < len(rows) else mean.level.rows
    return lead, rows


def _of_writes(
    view: View, load: JudgedLevel, rows: Table, severity: Severity, limits: Limits
) -> tuple[str, Values, tuple[Evidence, ...]]:
    """What large writes move where they are no more than an inefficiency, and which process alone writes.

    As the end of a sentence with its values, and evidence.
    """
    if load.said.direction != "writes":
        return "", {}, ()
    text = ""
    values: Values = {}
    if severity == "notice" and load.level.size_kb >= limits.merged:
        text = "; it is a stream of {stream_mb:.0f} MB/s"
        values["stream_mb"] = load.level.rate * load.level.size_kb / KB_PER_MB
    process, flood = writer(view, rows), fills_cache(view)
    if process is None and flood is not None:
        names = ("asked", "disks")
        values |= {name: flood.number(f"{name}_write_kb_per_s") / KB_PER_MB for name in names}
        text += "; programs write {asked:.0f} MB/s and the disks take {disks:.0f} MB/s: the page cache fills"
        return text, values, (cite_fact(flood),)
    if process is None:
        return text, values, ()
    values |= {"process": process.word("process"), "given": process.number("write_kb_per_s") / KB_PER_MB}
    return text + f"; {{process}} writes {{given:.0f}} MB/s by {process.kind}", values, (cite_fact(process),)


def _rows_of_state(series: DeviceSeries, rows: Table, limits: Limits) -> Table:
    """The samples of the full state that some rows are of: the report tells their number as its cost."""
    wanted = rows["sample"]
    full = (one.rows for one in states(series) if one.util >= limits.full_util / 100)
    return next((own for own in full if np.isin(wanted, own["sample"]).all()), rows)


def _fitted(
    view: View, series: DeviceSeries, load: JudgedLevel, rows: Table, remedy: tuple[str, ...]
) -> dict[str, Any]:
    """The remedy for what serves it; where each caller waits for its own request, fewer just ask for less."""
    if may_be_volume(view, series):
        remedy = (_OF_VOLUME, *remedy)
    if load.said.direction == "writes" or not wait_for_their_own(view, rows):
        return {"remedy": remedy}
    title = "The device is saturated: each caller waits in line for its own request"
    return {"title": title, "remedy": tuple(text for text in remedy if text != RULE.remedy[0])}


_OF_VOLUME = (
    "See whether it is a volume of the provider (lsblk -o NAME,MODEL): then compare with its IOPS and "
    "throughput limits, and with those of the instance."
)


def _are_written_back(pages: Sequence[Evidence]) -> bool:
    """Whether the page cache is what hands in single pages."""
    return any("piece" in item.values for item in pages)


def _who_moves(pages: Sequence[Evidence]) -> tuple[str, ...]:
    """What shows who moves single pages."""
    return _WHO_WRITES if _are_written_back(pages) else ("vmstat -t 1 30",) * bool(pages)


_WHO_WRITES = ("pidstat -d 1 10", "grep -E 'Dirty|Writeback' /proc/meminfo")


def _remedy(
    load: JudgedLevel, limits: Limits, pages: Sequence[Evidence], *, is_direct: bool
) -> tuple[str, ...]:
    """Of small requests each has a caller that waits for it: fewer callers do not make them wait less."""
    is_written_back = _are_written_back(pages)
    is_small = load.said.size_kb <= RANDOM_KB
    fewer, spread = RULE.remedy
    # the mean of what is split at a size is below it: each last piece is shorter
    if load.said.size_kb >= AS_MUCH * limits.merged:
        spread = _OF_LARGE
    general = (spread, fewer) if is_small else (fewer, spread)
    if is_direct or (load.said.direction != "writes" and not is_written_back):
        return general
    # earlier flushes merge fewer small writes, and spare nobody where nothing is read
    is_unread = weighted.mean(load.level.rows, "reads_per_s") < IDLE_IOS_PER_S and not is_written_back
    return (*general, *_OF_WRITES) if is_small and is_unread else (*_OF_WRITES, *general)


def _told(
    series: DeviceSeries, lead: JudgedLevel, rows: Table, values: Values, limits: Limits
) -> tuple[str, dict[str, Any]]:
    """The template of the summary, and the fields of a finding that it changes; adds to its `values`."""
    seen = in_samples(len(series.samples))
    is_part = int(values["shown"]) < int(values["count"])
    if is_part:
        seen = "in {shown} of its {count} saturated samples"
        seen += " ({samples} in all)" * (len(series.samples) > int(values["count"]))
    summary = _SUMMARY[lead.basis] + (f", {seen}" if is_part or lead.basis in _SEEN else "")
    if is_far_slower(lead, values):
        is_all = len(lead.level.rows) == len(rows) and float(values["quickest"]) > 0
        summary += ", {quickest:ms} to {slowest:ms}" if is_all else "; {slowest:ms} in the slowest of these"
    summary += both_ways(lead)
    summary += "".join(f"; {item.text}" for item in starved(rows, lead))
    if lead.level.rows.has("doubtful_util_pct"):
        summary = summary.replace("{util:.0f} % busy", f"{{util:.0f}} % busy{AT_LEAST}")
    elif float(values["util"]) < limits.full_util:
        summary = summary.replace("{util:.0f} % busy", "{util:.0f} % busy, with a queue whenever it is")
    named: dict[str, Any] = {}
    if len(rows) == 1 and is_burst(series, rows, limits) and not is_backlog(rows, limits):
        # its samples would have to be shorter to tell a burst from a limit, or a load that stays
        named = {"title": "The device is saturated in one sample"}
    elif is_burst(series, rows, limits):
        named = {"title": "A burst fills the device"}
        values["burst"] = seconds = float(rows.floats("interval_s").sum())
        # without a clock its length is unknown
        is_draining = is_backlog(rows, limits)
        what = "while a backlog drains" if is_draining else "in a burst"
        if seconds >= 0:
            what += (" for" if is_draining else " of") + " about {burst:.3g} s"
        summary = summary.replace(": ", f" {what}: ", 1)
    if lead.basis != "measured" and (more := more_elsewhere(series, lead.level, limits)) is not None:
        values |= more
        return summary + _IN_ANOTHER_RUN, _OF_RUNS
    return summary, named


_IN_ANOTHER_RUN = (
    "; that is not its capacity: as busy, it moves {most_mb:.0f} MB/s in another run, {most_rate}/s at "
    "{most_latency:ms} each"
)
_OF_RUNS: dict[str, Any] = {
    "severity": "notice",
    "title": "It waits, but moves far more in another run",
    "remedy": (
        "Compare what differs between the runs: scheduler, readahead, size of requests, file system, kernel.",
        "Keep what the quicker run has: with its larger requests the same device answers sooner.",
    ),
}

_CANNOT_KNOW = (
    "percentiles: the counters give only means",
    "whether the requests at low load had the same access pattern",
)

_RANK = (
    "none",
    "reads",
    "either",
    "speed",
    "queue",
    "throughput",
    "ceiling",
    "calmer",
    "beside",
    "class",
    "least seen",
    "spindles",
    "measured",
)


_SEEN = tuple(basis for basis in _RANK if basis not in ("none", "spindles", "measured"))
"""What is told of a mean over its samples."""

_SUMMARY = {
    "measured": "{device} is saturated: {latency:ms} with {depth} requests in flight, {inflation:.1f} times "
    "the latency of a single request; at most {gain:.0f} % more throughput is possible",
    "least seen": "{device} is saturated: its {direction} take {latency:ms} with {depth} in flight, "
    "{inflation:.1f} times as long as with {unloaded_depth}",
    "spindles": "{device} is saturated: {depth} requests queue on {spread_over:g} {serial}s, "
    "{latency:ms} each",
    "class": "{device} is saturated: {direction} of {size:.0f} kB take {latency:ms} with {depth} in flight; "
    "it is {util:.0f} % busy",
    "calmer": "{device} is saturated: {direction} of {size:.0f} kB take {latency:ms} with {depth} in flight, "
    "{inflation:.1f} times as long as calmer samples allow for their size; it is {util:.0f} % busy",
    "beside": "{device} is saturated: {direction} of {size:.0f} kB take {latency:ms} with {depth} in flight, "
    "{inflation:.1f} times as long as on {beside} with {unloaded_depth}; it is {util:.0f} % busy",
    "either": "{device} is full, or slow: {direction} of {size:.0f} kB take {latency:ms} with {depth} in "
    "flight, twice and more what one alone takes on a disk of any class; it is {util:.0f} % busy",
    "reads": "{device} is nearly full: its reads of {size:.0f} kB take {latency:ms} with {depth} in flight, "
    "behind writes that a cache takes; it is {util:.0f} % busy",
    "speed": "{device} is saturated: it moves {mb:.0f} MB/s with {depth} in flight, {latency:ms} each; it is "
    "{util:.0f} % busy",
    "queue": "{device} is saturated: {depth} {direction} of {size:.0f} kB in flight take {latency:ms} each; "
    "it is {util:.0f} % busy",
    "throughput": "{device} is saturated: {lighter_mb:.1f} MB/s with {lighter_depth} in flight, {mb:.1f} "
    "MB/s with {depth}, {latency:ms} each",
    "ceiling": "{device} is saturated: it moves {mb:.0f} MB/s with {depth} in flight, {latency:ms} each, and "
    "{higher_device} beside it no more with {higher_depth}",
}

_OF_LARGE = (
    "Spread the load over more or faster devices; move fewer bytes (cache more, compress). Its requests are "
    "large already."
)

_OF_WRITES = (
    "Where these are buffered writes: lower vm.dirty_background_bytes and vm.dirty_bytes, so that they "
    "start earlier and queue less; give bulk writers less weight (ionice -c 3, io.weight).",
)

RULE = Rule(
    id="true-saturation",
    explains=("symptom", "iowait-misread", "flush-latency"),
    title="The device is saturated: more queue only adds latency",
    why="Requests wait in line several times longer than they are served.",
    remedy=(
        "Limit concurrency to about as many requests as the device serves at once.",
        "Spread the load over more or faster devices; send fewer or larger requests; cache more.",
    ),
    needs=Needs(one_of=({"disk": ("util_pct", "queue_depth", "ios_per_s|reads_per_s")},)),
    thresholds={
        **THRESHOLDS,
        "least_harm": Threshold(
            2,
            "ms",
            "latency below which waiting is an inefficiency only",
            "judgement: flash under a benchmark",
        ),
        "standstill": Threshold(
            40,
            "%",
            "time in which no task got on for I/O that is critical",
            "judgement, on accounting/psi.rst",
        ),
        "still_ms": Threshold(500, "ms", "latency at which work stands still", "judgement: half of seconds"),
        "dead_ms": Threshold(
            10_000, "ms", "latency at which it does whoever waits", "judgement: ten seconds"
        ),
        "second_ms": Threshold(
            1000, "ms", "mean latency at which reads, or a journal, stand still", "judgement: a second each"
        ),
        "read_share": Threshold(
            0.25, "", "share of requests, or kB, that are reads", "judgement: no flush alone"
        ),
        "still_iowait": Threshold(85, "%", "iowait that goes with it", "as swap-thrash: a seventh is left"),
        "least_idle": Threshold(
            10,
            "%",
            "idle time and iowait from which iowait tells who waits",
            "proc_stat(5): iowait is idle time",
        ),
        "merged": Threshold(256, "kB", "writes that are made of many", "half of the largest usual request"),
        "least_large": Threshold(
            128, "kB", "reads that tell what a device takes", "judgement: read ahead (128 kB by default)"
        ),
        "far_more": Threshold(3, "x", "kB/s of another run that refute a limit", "judgement: beyond noise"),
        "larger": Threshold(
            1.5, "x", "size of its requests: another way to ask", "more of the same asks more"
        ),
        "as_many": Threshold(
            0.5, "", "share of the requests/s that goes with it", "judgement: no other kind"
        ),
        "least_piece": Threshold(16, "kB", "size from which requests are no pages", "a database's page"),
        "spent": Threshold(1, "%", "idle time in all samples that is none", "two CPUs of 100 at the most"),
        "least_iowait": Threshold(5, "%", "time that user and system work do not take", "as cpu-exhausted"),
        "most_steal": Threshold(
            10, "%", "CPU time withheld by the hypervisor that spoils latencies", "awesome-prometheus-alerts"
        ),
        "long_sample": Threshold(60, "s", "sample length from which means hide bursts", "judgement"),
    },
    confirm=("biolatency -D 1 10", "cat /proc/pressure/io"),
    references=("https://docs.kernel.org/admin-guide/iostats.html",),
    pictures=("ladder",),
    to_clear=ToClear(
        samples=1, columns=("await_ms|read_await_ms|write_await_ms", "util_pct", "queue_depth", "kb_per_s")
    ),
    detect=detect,
)
