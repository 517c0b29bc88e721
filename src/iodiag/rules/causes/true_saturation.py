"""A device is past its knee: more queue buys latency, not work.

What it detects: requests that take more than three times as long as one alone, while throughput no longer
grows with the queue; or ten times as long in a real queue; or three and more requests for a memory card or a
disk that turns, 2c + 1 for an array of c, never idle; or a queue of eight and more on a device that is never
idle, with three times the latency that a healthy one of its class takes at the most; or large requests of
which a queue twice as long moves no more kB; or a queue of eight and more on a device that is never idle,
with four times the latency that one of its kind beside it has with a fifth of the queue and no more requests;
or, while several tasks are seen to wait, four and more on a
device that is never idle, for twice what its class takes at the longest or three times what calmer samples of
it allow for their size. Of four and more, some of them reads, where no column counts who waits, twice what
any class takes is told as full or slow, which no number tells apart. Reads that wait as long, two and more,
behind writes of a tenth of that, are told from three samples and 80 % on. Else one sample is enough: it
counts its requests. What is said is of the direction that waits. Of a stack over one disk the lowest full
device is told, with what waits above it; of devices that do and wait alike, the one that holds most, and none
is left out because it falls short of a threshold by less than they differ. Where it completes nothing at all
in more samples than it is full, that is told first.

It is critical where pressure shows that work stands still, or where requests wait for ten seconds and
somebody may wait for them; or for a second, a quarter of them reads, a file system's journal held up for
five, or several tasks seen to wait while no other device is busy; or for half a second and more in a queue of
eight while the CPUs do little but wait for I/O, or the load average is a hundred and more.

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

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from iodiag.analysis.array.equal_rates import disks_of
from iodiag.analysis.array.topmost_devices import relatives
from iodiag.analysis.host.process_of_device import longest_wait, longest_wait_s, writer
from iodiag.analysis.host.who_waits import (
    CROWD_TASKS,
    NOBODY,
    blocked,
    do_several_wait,
    does_nobody_wait,
    is_any_busy,
    is_waited_for,
    pressure,
)
from iodiag.analysis.load.load_sentences import (
    LEAST_PRESSURE,
    application_latency,
    both_ways,
    class_named,
    disks_below,
    in_order,
    inflation,
    iowait_without_idle,
    layers_above,
    parallelism,
    state,
    template_values,
    waiters,
)
from iodiag.analysis.load.plateaus import throughput_of_sizes
from iodiag.analysis.load.queueing import Level, page_kb
from iodiag.analysis.load.saturation import (
    LIKE_SIZE,
    THRESHOLDS,
    JudgedLevel,
    is_backlog,
    is_burst,
    is_passing,
    longest_contiguous,
    of_samples,
    with_verdict,
)
from iodiag.analysis.load.stalls import stalled, stalls_of
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.changepoints import onset
from iodiag.analysis.measure.evidence import Values, cite, cite_fact, in_samples, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.measure.time_per_kb import DIRECTIONS
from iodiag.analysis.measure.windows import is_sustained
from iodiag.analysis.states.service_times import (
    RANDOM_KB,
    SERVICE,
    class_of,
    events_per_sample,
    is_adjacent_stream,
    streams_kb,
    usual_ms,
)
from iodiag.analysis.states.state_sentences import AT_LEAST
from iodiag.analysis.states.states import states
from iodiag.analysis.view.device_names import whole_disk_names
from iodiag.analysis.view.view import IDLE_IOS_PER_S, DeviceSeries, View, same_reports
from iodiag.model.capture import Fact
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import KB_PER_MB
from iodiag.table.table import Floats, Mask, Table, stacked


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per stack with a saturated device; the others of it are named in it."""

    def odd(series: DeviceSeries, loads: Sequence[JudgedLevel]) -> Outcome | None:
        saturated = [load for load in loads if load.verdict == "saturated"]
        rows = in_order(saturated) if saturated else series.samples[:0]
        if len(rows) and _is_left_over(series, rows) and not is_waited_for(view, rows).any():
            return RULE.undetermined(_LEFT_OVER, series.name)
        is_odd = len(rows) > 0 and _is_odd(series, rows, limits)
        return RULE.undetermined(_ODD, series.name) if is_odd else None

    for found in with_verdict(
        view, RULE.id, limits, "saturated", "busy, without a queue that shows its limit", odd
    ):
        yield found if isinstance(found, Outcome) else _finding(view, *found, limits)


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


NO_MORE = 1.5
"""Times its usual rate that a device did over a standstill and what followed, where no flood caused it."""
_LEFT_OVER = "it had a queue where it worked off what a standstill had left, and nowhere else"
_STILL = (
    "{device} completed no request in {still} of {samples} samples, for up to {longest:.0f} s at a time, "
    "{still_util:.0f} % busy"
)
_ODD = "it had a queue in a sample or two alone: a flood that passed, and not what it was busy with"


def _standstill(series: DeviceSeries, rows: Table) -> Iterator[Evidence]:
    """That it completed nothing in more samples than it was full (`rows`)."""
    still = series.samples[stalled(series.samples)]
    if len(still) > len(rows):
        values: Values = {"device": series.name, "still": len(still), "samples": len(series.samples)}
        values |= {"longest": max((stall.seconds for stall in stalls_of(series)), default=0.0)}
        values |= {"still_util": weighted.mean(still, "util_pct")}
        yield cite(still, _STILL, values)


def _finding(
    view: View, series: DeviceSeries, loads: Sequence[JudgedLevel], below: tuple[str, ...], limits: Limits
) -> Finding:
    lead, rows = _lead(view, series, loads, limits)
    is_compared = lead.basis == "measured" and lead.lower is not None
    is_long = is_compared or is_sustained(longest_contiguous(series, rows))
    sure = confidence(_points(view, lead, limits), at_most="high" if is_long else "medium")
    whole, pages = _rows_of_state(series, rows, limits), tuple(_pages(rows))
    counts = _counts(series, whole, lead, rows)
    values = template_values(series, lead) | counts | {"class": class_named(series)}
    summary, named = _told(series, lead, rows, values, limits)
    if still := list(_standstill(series, rows)):  # what holds for most of its time goes first
        values |= still[0].values
        summary = _STILL + summary.replace("{device} is", "; in others it is", 1)
    severity = _severity(view, series, lead, rows, whole, sure, limits)
    also, numbers, given = _of_writes(view, lead, rows, severity, limits)
    above, iowaits = tuple(layers_above(view, series, lead)), tuple(iowait_without_idle(view, lead))
    calmer = (*_calmer_disks(view, series, rows), *_copied(view, series, rows))
    queues = tuple(_own_queue(benchmarks := _benchmarks(view, series, lead), lead))
    told = [say("; above it {above} takes {above_latency} ms", item.values) for item in above]
    told += [f"; {item.text}" for item in (*calmer, *pages, *queues[:1], *iowaits[:1])]
    remedy = _remedy(lead, is_written_back=bool(pages), is_direct=any(map(_is_direct, benchmarks)))
    return RULE.finding(
        **{"severity": severity, "remedy": remedy} | named,
        confidence=sure,
        **device_fields(rows, series.name, *below),
        summary=say(summary + also, values | numbers) + "".join(told) + ".",
        confirm=(*_WHO_WRITES * bool(pages), "iostat -xyt 1 30 DEVICE", *RULE.confirm),
        evidence=(
            state(series, lead),
            *still,
            *_samples(whole, rows, lead, counts),
            *_starved(rows, lead),
            *inflation(series, lead),
            *parallelism(series, lead),
            *above,
            *disks_below(lead),
            *calmer,
            *iowaits,
            *waiters(view, lead),
            *pages,
            *given,
            *map(longest_wait, _late_journals(view, series)),
            *application_latency(view, lead),
            *queues,
            *onset(series, int(rows["sample"].min())),
            *((same,) if (same := throughput_of_sizes(series)) else ()),
            *_against(lead),
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


def _counts(series: DeviceSeries, whole: Table, lead: JudgedLevel, rows: Table) -> Values:
    counts: Values = {"count": len(whole), "samples": len(series.samples), "shown": len(lead.level.rows)}
    latencies = _latencies_ms(rows, lead.said.direction)
    return counts | {"quickest": float(np.min(latencies)), "slowest": float(np.max(latencies))}


def _benchmarks(view: View, series: DeviceSeries, lead: JudgedLevel) -> list[Fact]:
    """What fio measured on a device of which it holds most of the requests, by its rate times its latency."""
    return [
        fact
        for fact in view.facts_of("fio")
        if (name := fact.word("device"))
        and view.topology.canonical(name) == series.name
        and 2 * _held(fact) >= lead.level.depth
    ]


def _held(fact: Fact) -> float:
    return fact.number("iops") * fact.number("latency_ms") / 1000


def _is_direct(fact: Fact) -> bool:
    """Whether nothing that it writes goes through the page cache; libaio is asynchronous only so."""
    return fact.word("ioengine") == "libaio" or fact.number("direct") == 1


def _own_queue(benchmarks: Sequence[Fact], lead: JudgedLevel) -> Iterator[Evidence]:
    """That the queue is a load generator's own, and that its rate over a minute and more is as here."""
    for fact in benchmarks:
        own, rate = replace(fact, values={**fact.values, "held": _held(fact)}), lead.said.rate
        text = "fio keeps {held:.0f} requests in flight by itself: the latency is that of its own queue"
        yield cite_fact(own, text, weighs="context")
        is_same = abs(rate / fact.number("iops") - 1) <= _SAME_RATE
        if (
            is_same
            and fact.word("direction") + "s" == lead.said.direction
            and fact.number("duration_s") >= 60
        ):
            own = replace(fact, values={**fact.values, "rate": rate})
            text = "fio got {iops:.0f}/s on average over {duration_s:.0f} s, as many as the samples show "
            text += "({rate:.0f}/s): a flat rate, as a limit of the volume or a full device makes it"
            yield cite_fact(own, text, weighs="context")


_SAME_RATE = 0.03
"""How far the mean of a long run may be from some samples of a flat rate, as volume-cap has it."""


def _calmer_disks(view: View, series: DeviceSeries, rows: Table) -> Iterator[Evidence]:
    """That each of the disks like it that are used serves a third of its requests at most, and is calm."""
    rate, like = (
        weighted.mean(rows, "ios_per_s"),
        [s for s in disks_of(view) if class_of(s) == class_of(series)],
    )
    if series.name not in [s.name for s in like]:
        return
    parts = [part for s in like if s is not series and len(part := s.samples[same_reports(s.samples, rows)])]
    others = [part for part in parts if weighted.mean(part, "ios_per_s") >= IDLE_IOS_PER_S]
    if len(others) < LEAST_OTHERS:
        return
    values: Values = {"rate": rate, "others": len(others)}
    values |= {"most": max(weighted.mean(part, "ios_per_s") for part in others)}
    values |= {"most_util": max(weighted.mean(part, "util_pct") for part in others)}
    if HOT * float(values["most"]) <= rate and float(values["most_util"]) < CALM_UTIL:
        text = "it serves {rate:.0f} requests/s, each of {others} other disks on average at most {most:.0f} "
        text += "and {most_util:.0f} % busy: the load is not spread over them"
        yield cite(stacked(others), text, values)


def _copied(view: View, series: DeviceSeries, rows: Table) -> Iterator[Evidence]:
    """That other disks read at least what is written here in large requests, and nothing else is written.

    Most of what they read has to be it: the page cache takes what is read ahead, for a while.
    """
    others = [s for s in disks_of(view) if s is not series]
    parts = [(s.name, part) for s in others if len(part := s.samples[same_reports(s.samples, rows)])]
    own, written = (weighted.mean(rows, f"{way}_kb_per_s") for way in DIRECTIONS)
    moved = {
        name: [weighted.or_zero(weighted.mean(part, f"{way}_kb_per_s")) for way in DIRECTIONS]
        for name, part in parts
    }
    sources = [(name, part) for name, part in parts if moved[name][0] >= BESIDE * written > 0]
    is_large = all(
        weighted.ratio(part, f"{way}_kb_per_s", f"{way}s_per_s") >= RANDOM_KB
        for way, part in (("write", rows), *(("read", part) for _, part in sources))
    )
    values: Values = {"written": written, "read": sum(moved[name][0] for name, _ in sources)}
    is_all = max(own, sum(wrote for _, wrote in moved.values())) <= BESIDE * written
    if is_large and is_all and written <= float(values["read"]) < MOSTLY_READ * written:
        values["sources"] = ", ".join(name for name, _ in sources)
        text = "{sources} read {read:kb} meanwhile for {written:kb} written here, as in a copy"
        yield cite(stacked([part for _, part in sources]), text, values, weighs="context")


BESIDE, MOSTLY_READ = 0.1, 2.0
"""Share of what is written that is no part of a copy, and times as much of which most that is read is not."""

LEAST_OTHERS, HOT, CALM_UTIL = 3, 3.0, 50.0
"""How many other disks make it one of a set, times what each of them serves that is not spread, and a busy
share, in %, that leaves room for as much again."""


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
    process = writer(view, rows)
    if process is None:
        return text, values, ()
    values |= {"process": process.word("process"), "given": process.number("write_kb_per_s") / KB_PER_MB}
    return text + "; {process} writes {given:.0f} MB/s meanwhile", values, (cite_fact(process),)


def _rows_of_state(series: DeviceSeries, rows: Table, limits: Limits) -> Table:
    """The samples of the full state that some rows are of: the report tells their number as its cost."""
    wanted = rows["sample"]
    full = (one.rows for one in states(series) if one.util >= limits.full_util / 100)
    return next((own for own in full if np.isin(wanted, own["sample"]).all()), rows)


def _pages(rows: Table) -> Iterator[Evidence]:
    """That most of what is moved are writes merged from single pages, as the page cache hands them in.

    A program that writes past it has requests of its own size, which hardly merge.
    """
    kb, merges = (weighted.mean(rows, f"write_{of}_per_s") for of in ("kb", "merges"))
    piece = page_kb(rows)
    if piece > 0 and kb >= _MOSTLY_WRITTEN * weighted.mean(rows, "kb_per_s"):
        text = "its writes are merged from pages of {piece:.1f} kB: memory is written back, or swapped out"
        yield cite(rows, text, {"piece": piece, "merges": merges}, worst="write_merges_per_s")


_WHO_WRITES = ("pidstat -d 1 10", "grep -E 'Dirty|Writeback' /proc/meminfo")

_MOSTLY_WRITTEN = 0.75
"""Share of the bytes that are written from which a flood of writes is what fills the device."""


def _remedy(load: JudgedLevel, *, is_written_back: bool, is_direct: bool) -> tuple[str, ...]:
    """Of small requests each has a caller that waits for it: fewer callers do not make them wait less."""
    is_small = load.said.size_kb <= RANDOM_KB
    general = RULE.remedy[::-1] if is_small else RULE.remedy
    if is_direct or (load.said.direction != "writes" and not is_written_back):
        return general
    # earlier flushes merge fewer small writes, and spare nobody where nothing is read
    is_unread = weighted.mean(load.level.rows, "reads_per_s") < IDLE_IOS_PER_S and not is_written_back
    return (*general, *_OF_WRITES) if is_small and is_unread else (*_OF_WRITES, *RULE.remedy)


def _told(
    series: DeviceSeries, lead: JudgedLevel, rows: Table, values: Values, limits: Limits
) -> tuple[str, dict[str, Any]]:
    """The template of the summary, and the fields of a finding that it changes; adds to its `values`."""
    seen = in_samples(len(series.samples))
    if len(lead.level.rows) < int(values["count"]):
        seen = "in {shown} of its {count} saturated samples"
        seen += " ({samples} in all)" * (len(series.samples) > int(values["count"]))
    summary = _SUMMARY[lead.basis] + _SEEN.get(lead.basis, "").format(often=seen) + both_ways(lead)
    if _is_far_slower(lead, values):
        is_all = len(lead.level.rows) == len(rows) and float(values["quickest"]) > 0
        summary += ", {quickest:ms} to {slowest:ms}" if is_all else "; {slowest:ms} in the slowest of these"
    summary += "".join(f"; {item.text}" for item in _starved(rows, lead))
    if lead.level.rows.has("doubtful_util_pct"):
        summary = summary.replace("{util:.0f} % busy", f"{{util:.0f}} % busy{AT_LEAST}")
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
    if lead.basis != "measured" and (more := _more_elsewhere(series, lead.level, limits)) is not None:
        values |= more
        return summary + _IN_ANOTHER_RUN, _OF_RUNS
    return summary, named


def _latencies_ms(rows: Table, direction: str) -> Floats:
    """The mean latency of each sample, of the direction that is told where it is known; 0 where it is not."""
    own = rows.floats({"reads": "read_await_ms", "writes": "write_await_ms"}.get(direction, "latency_ms"))
    return np.nan_to_num(np.where(np.isnan(own), rows.floats("latency_ms"), own))


def _is_far_slower(lead: JudgedLevel, counts: Values) -> bool:
    return float(counts["slowest"]) > SLOWER * lead.said.latency_ms


def _samples(whole: Table, rows: Table, lead: JudgedLevel, counts: Values) -> Iterator[Evidence]:
    """How many samples are so, and the slowest one where the level that is told is far quicker."""
    often = in_samples(int(float(counts["samples"])))
    yield cite(whole, f"it is saturated {often}", counts, worst="util_pct", weighs="context")
    if _is_far_slower(lead, counts):
        text = "the slowest of these samples takes {slowest:ms}"
        yield cite(rows, text, counts, worst="latency_ms", weighs="context")
    yield from _ceiling(rows)


def _starved(rows: Table, lead: JudgedLevel) -> Iterator[Evidence]:
    """The direction that is not told, however few its requests, where these wait far longer."""
    way = {"reads": "write", "writes": "read"}.get(lead.said.direction, "")
    latency = weighted.mean(rows, f"{way}_await_ms") if way else math.nan
    if latency > SLOWER * lead.said.latency_ms:
        rate = weighted.mean(rows, f"{way}s_per_s")
        text, values = f"its {{rate}} {way}s/s take {{latency:ms}}", {"rate": rate, "latency": latency}
        yield cite(rows, text, values, worst=f"{way}_await_ms", weighs="context")


def _ceiling(rows: Table) -> Iterator[Evidence]:
    """That it completes as many requests in each sample, with a deep queue in all of them."""
    rates, depth = rows.floats("ios_per_s"), rows.floats("depth")
    if len(rows) >= _SAMPLES and depth.min() >= _DEEP and np.ptp(rates) <= _FLAT * rates.mean():
        values: Values = {"low": rates.min(), "high": rates.max(), "least": depth.min(), "most": depth.max()}
        text = "it completes {low:.0f} to {high:.0f} requests/s with {least:.0f} to {most:.0f} in flight: "
        yield cite(rows, text + "its rate is at a ceiling", values, worst="queue_depth")


_SAMPLES, _DEEP, _FLAT = 3, 8.0, 0.2
"""Samples and requests in flight from which a rate may be at its ceiling, and its spread that is none."""

SLOWER = 1.5
"""Times the latency of the level that is told from which the slowest sample, or direction, is told, too."""


def _more_elsewhere(series: DeviceSeries, level: Level, limits: Limits) -> Values | None:
    """The numbers of another run's sample in which the device, as busy, does more and moves far more, sooner.

    Pages that seek are no measure of what a stream moves.
    """
    rows = series.samples
    kb, rate = rows.floats("kb_per_s"), rows.floats("ios_per_s")
    is_more = (rows.floats("util") >= limits.full_util / 100) & (rate >= limits.as_many * level.rate)
    is_more &= (kb >= limits.far_more * level.rate * level.size_kb) & (rows.floats("latency_ms") > 0)
    is_more &= rows.floats("latency_ms") < level.latency_ms
    is_more &= rows.floats("size_kb") >= limits.larger * level.size_kb
    is_more &= ~(np.isin(rows["stream"], level.rows["stream"]) & _in_phases(rows, level.rows))
    if not is_more.any() or level.size_kb < limits.least_piece:
        return None
    best = rows[is_more][int(np.argmax(kb[is_more])) :][:1]
    numbers = {"kb_per_s": "most_mb", "ios_per_s": "most_rate", "latency_ms": "most_latency"}
    values: Values = {word: float(best.floats(name)[0]) for name, word in numbers.items()}
    return values | {"most_mb": float(best.floats("kb_per_s")[0]) / KB_PER_MB}


def _in_phases(rows: Table, others: Table) -> Mask:
    """Which rows stand below the same words of a text as some others."""
    own, wanted = (np.nan_to_num(of.floats("phase")) for of in (rows, others))
    return np.isin(own, wanted)


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
    "calmer",
    "beside",
    "class",
    "least seen",
    "spindles",
    "measured",
)


def _points(view: View, load: JudgedLevel, limits: Limits) -> float:
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


def _severity(
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
    return "critical" if _stands_still(view, series, load, whole, limits) else "warning"


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
    is_shared = latency_ms >= limits.second_ms and (is_shared or bool(_late_journals(view, series)))
    # what comes now waits for all that is in line, which is more than what completed did where the line grows
    drain_ms = 1000 * level.depth / level.rate if level.rate > 0 else 0.0
    in_line_ms = drain_ms if drain_ms >= _GROWS * latency_ms else latency_ms
    if in_line_ms >= limits.dead_ms or is_shared:
        return not does_nobody_wait(view, whole)
    iowaits = (float(item.values.get("iowait", 100.0)) for item in iowait_without_idle(view, load))
    is_crowd = level.direction != "writes" or do_several_wait(view, level.rows)
    return is_crowd and any(share >= limits.still_iowait for share in iowaits)


def _is_waited_for_alone(view: View, series: DeviceSeries, rows: Table) -> bool:
    """Whether several tasks wait for I/O, and no device but those of its stack is busy, to be waited for.

    Of those that are counted, a flusher and a journal are two.
    """
    own, counted = relatives(view, series.name), blocked(view, rows)
    others = (one for one in view.devices if one.name not in own)
    is_other = is_any_busy(others, rows, 100 * FEW_BUSY, 1.0)
    is_crowd = counted[1] >= CROWD_TASKS if counted is not None else do_several_wait(view, rows)
    return is_crowd and not is_other


FEW_BUSY = 0.2
"""Busy share of a device from which it may be waited for as well."""


_GROWS = 1.5
"""Times the latency of what completed that a line takes to be served, from which it grows (Little's law)."""


def _late_journals(view: View, series: DeviceSeries) -> list[Fact]:
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
    if cpu is None or others is None or view.cpus is None:
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


def _against(load: JudgedLevel) -> Iterator[Evidence]:
    if load.basis == "class":
        text = (
            "the capture has no sample of {direction} of {size:.0f} kB without a queue: how long such ones "
        )
        text += "take without load is not known"
        values: Values = {"direction": load.said.direction, "size": load.said.size_kb}
        yield cite(load.level.rows, text, values, weighs="against")
    elif load.basis == "measured" and load.lower is None:
        yield cite(
            load.level.rows, "a single load level: that throughput is flat is inferred", weighs="against"
        )


_SEEN = dict.fromkeys(
    ("class", "calmer", "beside", "either", "reads", "queue", "throughput", "speed", "least seen"),
    ", {often}",
)

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
    "flight, long for every class of device, whether it serves them in turn or at once; it is {util:.0f} % "
    "busy",
    "reads": "{device} is nearly full: its reads of {size:.0f} kB take {latency:ms} with {depth} in flight, "
    "behind writes that a cache takes; it is {util:.0f} % busy",
    "speed": "{device} is saturated: it moves {mb:.0f} MB/s with {depth} in flight, {latency:ms} each; it is "
    "{util:.0f} % busy",
    "queue": "{device} is saturated: {depth} {direction} of {size:.0f} kB in flight take {latency:ms} each; "
    "it is {util:.0f} % busy",
    "throughput": "{device} is saturated: {lighter_mb:.1f} MB/s with {lighter_depth} in flight, {mb:.1f} "
    "MB/s with {depth}, {latency:ms} each",
}

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
