"""Throughput is held down by asking for one thing at a time.

What it detects: a device that is busy 60 % of the time or more and has one request in flight whenever it is,
so that its rate is exactly 1000/latency times the busy share, in most samples of one of its states. One
sample is enough. Slow requests that keep it busy nearly all the time are a warning, writes since each waits
for the last, others where they take longer than the class explains or, if small, a task is seen to wait as
long. Or, on what serves several at once, one whole number in flight in half of the samples, two at least, at
rates that differ by a tenth and a latency that is usual: so many callers each wait for their own request.
Or, on such a device that is never idle, more than one in flight and two at most for most of the time, in
small requests that take a tick of the kernel and no longer than they may: random arrivals from many callers
would leave it idle at times. Three and more disks at rates half a per cent apart are told as the set that
one task uses.

Why it matters: neither a faster array nor more spindles help a single stream. Only a lower latency,
larger requests or several requests at once do.

When it is wrong: several devices that are used in lock-step (a distributed program with one request in
all) look the same on each of them. That slow writes are commits is likely, not shown. A caller that is
limited in rate is busy less than 60 %. Where the requests are a log's writes or a scan's reads,
serialized-commit or fragmentation-sized-reads say more and replace this finding.

References: Little's law (N = X·R); iostat(1) on aqu-sz.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from iodiag.analysis.array.equal_rates import equal_rates
from iodiag.analysis.array.topmost_devices import once_per_stack
from iodiag.analysis.host.cpu import cpu_shares
from iodiag.analysis.host.databases import relaxing_settings, sharing_settings
from iodiag.analysis.host.process_of_device import asker
from iodiag.analysis.host.who_waits import blocked, do_several_wait, does_nobody_wait
from iodiag.analysis.load.load_sentences import other_state_evidence
from iodiag.analysis.load.plateaus import max_over_min
from iodiag.analysis.load.queueing import ALONE, Level, level_of, level_samples
from iodiag.analysis.load.saturation.not_busy import UNTIMED
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_fact, in_samples, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.measure.windows import DENSE
from iodiag.analysis.states.service_times import CALM, TRANSFER_KB_PER_MS, class_of, usual_ms
from iodiag.analysis.states.states import State, contradicts, states
from iodiag.analysis.view.device_names import node_of
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.model.capture import Fact
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import HALF_DIGIT
from iodiag.table.table import Table, stacked

MOSTLY = 0.5
"""Share of a device's time from which counters of its queue that contradict its latencies tell nothing."""

MOST_READ = 0.9
"""Share of the bytes from which writes, which may wait for flushes, do not count."""


def _is_overcounted(state: State) -> bool:
    """Whether rate times latency of reads, without flushes, is far below the number in flight.

    Where requests are not counted by direction, their bytes tell.
    """
    is_of_reads = state.kind == "reads"
    if not state.rows.has("reads_per_s"):
        is_of_reads = state.mean("read_kb_per_s") >= MOST_READ * state.mean("kb_per_s") > 0
    return is_of_reads and state.depth > 2 * state.held + HALF_DIGIT


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per stack with a device that serves one request at a time for the longest while."""
    found: dict[str, Level] = {}
    for series in view.devices:
        doubtful = [state for state in states(series) if contradicts(state) or _is_overcounted(state)]
        level = _alone(series, limits) if sum(state.share for state in doubtful) < MOSTLY else None
        is_own = level is None and not series.is_stacked
        callers = _callers(series, limits) if is_own else None
        if callers is not None:
            yield _of_callers(view, series, callers, _PINNED)
        elif is_own and not doubtful and (few := _few(series, limits)) is not None:
            yield _of_callers(view, series, few, _FEW)
        elif level is None and doubtful:
            text = _CONTRADICTED if any(map(contradicts, doubtful)) else _OVERCOUNTED
            yield RULE.undetermined(text, series.name)
        elif level is None and series.is_untimed:
            yield RULE.undetermined(UNTIMED, series.name)
        elif level is None and (reason := _looks_alone(series, limits)):
            yield RULE.undetermined(reason, series.name)
        elif level is None:
            yield RULE.clear("not busy with one request at a time", series.name)
        else:
            found[series.name] = level
    for group in equal_rates([s for s in view.devices if not s.is_stacked and len(s.loaded)], LOCKSTEP):
        lead = next((series for series in group if series.name in found), None)
        if lead is not None and len(group) >= LEAST_DISKS:
            parts = [one.samples[same_reports(one.samples, found[lead.name].rows)] for one in group]
            if not (all(map(len, parts)) and _is_lockstep(parts)):
                continue
            yield _of_set([one.name for one in group], parts, found[lead.name])
            found = {name: level for name, level in found.items() if name not in {s.name for s in group}}
    for series, told, below in once_per_stack(view, found):
        yield _finding(view, series, told, below, limits)


LOCKSTEP, LEAST_DISKS = 0.005, 3
"""Disks whose rates are no further apart, as many as no chance makes alike, are used as one set."""


def _is_lockstep(parts: Sequence[Table]) -> bool:
    """Whether parts of disks of equal kB/s have equally many requests, about one of each at a time."""
    rates = [weighted.mean(rows, "ios_per_s") for rows in parts]
    depths = [weighted.mean(rows, "depth") for rows in parts]
    return max(rates) <= (1 + 2 * LOCKSTEP) * min(rates) and max(depths) <= ALONE


def _of_set(names: Sequence[str], parts: Sequence[Table], level: Level) -> Finding:
    """What disks did as one set in the samples of a level, a part each: others may be of other loads."""
    said = level.direction_load
    column = "ios_per_s" if said.direction == "mixed requests" else f"{said.direction}_per_s"
    rates = [weighted.mean(rows, column) for rows in parts]
    values: Values = {
        "count": len(names),
        "names": ", ".join(names[:4]) + (", ..." if len(names) > 4 else ""),
        "low": min(rates),
        "high": max(rates),
        "apart": 100 * (max(rates) / min(rates) - 1),
        "direction": said.direction,
        "size": said.size_kb,
        "depth": max(weighted.mean(rows, "depth") for rows in parts),
        "util": max(weighted.mean(rows, "util_pct") for rows in parts),
    }
    span = "{high:.0f}" if f"{min(rates):.0f}" == f"{max(rates):.0f}" else "{low:.0f} to {high:.0f}"
    text = f"{{count}} disks serve {span} {{direction}}/s of {{size:.1f}} kB each"
    told = text + ", {apart:.2f} % apart, with at most {depth} in flight and {util:.0f} % busy"
    return RULE.finding(
        severity="notice",
        confidence="medium",
        **device_fields(level.rows, *names),
        title="One task uses a set of disks in lockstep and sets their pace",
        summary=say(
            text + " in lockstep ({names}; {apart:.2f} % apart), each with one request in flight at most: "
            "one task uses them as a set, such as a resync or a scrub, and it sets the pace, not a disk.",
            values,
        ),
        remedy=(
            "Look for what runs over the whole set: /proc/mdstat, zpool status, a scrub or a backup.",
            "Larger requests, or several of that task at once, move more; faster disks do not.",
        ),
        confirm=("cat /proc/mdstat", "pidstat -d 1"),
        evidence=(cite(stacked(parts), told, values),),
        refutes=("disks of the set at other rates while the task goes on",),
        cannot_know=("which task it is",),
    )


_OVERCOUNTED = "its counter of the queue tells of far more requests in flight than rate times latency does"
_CONTRADICTED = "rate times latency tells of more requests in flight than its counters of the queue do"


_TOO_FEW = (
    "about one request was in flight while it was busy, but in too few samples or over too few requests"
)


_NEARLY = "one request was in flight most of the time that it was busy, and a second at times"
_SLOW_WRITES = (
    "one or two slow writes were in flight on average: whether a caller waits for each is not shown"
)


_ONE_OR_TWO = (
    "it was never idle with one or two requests in flight: how long each takes bounds what so few ask"
)


_BELOW = "fewer requests in flight than its busy time needs: one of the two was counted in ticks"


def _looks_alone(series: DeviceSeries, limits: Limits) -> str:
    """Why a device is not cleared that was busy in some sample with about one request at a time, or fewer."""
    samples = series.samples
    depth, util = samples.floats("depth"), samples.floats("util")
    busy = np.minimum(util, 1)
    slack = limits.most_residual / 100 * busy + HALF_DIGIT
    is_busy = util >= limits.least_util / 100
    if (is_busy & (np.abs(depth - busy) <= slack)).any():
        return _TOO_FEW
    if (is_busy & ~samples["is_idle"] & (depth < busy - slack)).any():
        return _BELOW
    if (is_busy & (depth <= limits.mostly * busy)).any():
        return _NEARLY
    if any(_is_one_or_two(series, state, limits) for state in states(series)):
        return _ONE_OR_TWO
    # whoever waits for slow writes shows in their number, whatever quick reads add to it
    slow, size = samples.floats("write_await_ms"), samples.floats("write_size_kb")
    held = samples.floats("writes_per_s") * slow / 1000
    is_few = (held >= limits.least_depth) & (held <= limits.two)
    is_few &= slow >= limits.slow_write + np.nan_to_num(size) / TRANSFER_KB_PER_MS
    return _SLOW_WRITES if is_few.any() else ""


def _is_one_or_two(series: DeviceSeries, state: State, limits: Limits) -> bool:
    """Whether it was never idle with two small requests in flight at most, none of which took too long."""
    is_small = state.util >= limits.full_util / 100 and state.size_kb <= limits.small
    usual = usual_ms(series, state.size_kb, state.rate)
    return is_small and state.at_once <= limits.two and state.latency_ms <= CALM * usual


def _alone(series: DeviceSeries, limits: Limits) -> Level | None:
    """The longest state with exactly one request in flight while busy."""
    samples = level_samples(series)
    at_once = samples.floats("at_once")
    # in a sample that a caller begins or ends in it is as alone, and less busy
    holds = (at_once >= limits.least_depth) & (at_once <= ALONE)
    if not holds.any():
        return None
    for one in states(series):
        rows = samples[holds & np.isin(samples["sample"], one.rows["sample"])]
        if len(rows) and len(rows) >= DENSE * one.samples and one.share >= limits.least_share / 100:
            level = level_of(rows)
            slack = HALF_DIGIT / max(level.depth, HALF_DIGIT)
            is_alone = abs(level.busy_depth - 1) <= limits.most_residual / 100 + slack
            if is_alone and level.util >= limits.least_util / 100:
                return level
    return None


_PARALLEL = ("nvme", "solid", "network")
"""Classes that serve several at once: what does not is full with two in flight."""


def _callers(series: DeviceSeries, limits: Limits) -> Level | None:
    """Samples in which a device that serves several at once keeps one whole number of them at any rate."""
    samples = level_samples(series)
    at_once = samples.floats("at_once")
    number = np.round(at_once)
    holds = np.abs(at_once - number) <= limits.pinned / 100 * number
    holds &= (
        (number >= 2) & (number <= limits.most_callers) & (samples.floats("util") >= limits.full_util / 100)
    )
    if class_of(series) not in _PARALLEL or not holds.any():
        return None
    values, counts = np.unique(number[holds], return_counts=True)
    rows = samples[holds & (number == values[counts.argmax()])]
    level = level_of(rows)
    busy = np.count_nonzero(samples.floats("util") >= limits.least_util / 100)
    is_most = len(rows) >= limits.few and 2 * len(rows) >= busy
    is_calm = level.latency_ms <= usual_ms(series, level.size_kb, level.rate)
    return level if is_most and is_calm and max_over_min(rows, "ios_per_s") >= limits.ranges else None


def _few(series: DeviceSeries, limits: Limits) -> Level | None:
    """The longest state if the device is never idle in it, with more than one in flight and two at most.

    With N in flight on average, requests that come at random leave such a device idle e^-N of the time
    (M/M/∞): an eighth with two.
    """
    lasting = next((one for one in states(series) if one.kind != "idle"), None)
    if lasting is None or lasting.share < limits.few_share / 100 or lasting.requests < limits.least_requests:
        return None
    samples = level_samples(series)
    rows = samples[np.isin(samples["sample"], lasting.rows["sample"])]
    is_few = bool(len(rows)) and len(rows) == lasting.samples
    if not is_few or class_of(series) not in _PARALLEL or lasting.size_kb > limits.small:
        return None
    level = level_of(rows)
    is_never_idle = float(rows.floats("util").min()) >= limits.never_idle / 100
    # of quicker requests %util counts whole ticks
    is_usual = limits.tick <= level.latency_ms <= CALM * usual_ms(series, level.size_kb, level.rate)
    at_once = rows.floats("at_once")
    is_two = at_once.min() > ALONE and at_once.max() <= limits.two
    return level if is_never_idle and is_usual and is_two else None


_PINNED = (
    "{device} has {callers} requests in flight {often}, at {low} to {high}/s and {latency} ms each: "
    "{callers} callers wait for one request each, and this limits the rate."
)
_FEW = (
    "{device} is {util:.0f} % busy with {depth} requests in flight {often}, {latency} ms each: about two "
    "callers wait for one request each, as those of many would pause at times, and this limits the rate "
    "({rate}/s)."
)


def _of_callers(view: View, series: DeviceSeries, level: Level, text: str) -> Finding:
    rates = level.rows.floats("ios_per_s")
    values: Values = {
        "device": series.name,
        "callers": math.ceil(level.busy_depth - 0.1),
        "depth": level.busy_depth,
        "util": 100 * level.util,
        "rate": level.rate,
        "count": len(level.rows),
        "samples": len(series.samples),
        "low": float(rates.min()),
        "high": float(rates.max()),
        "latency": level.latency_ms,
    }
    told = "{depth} in flight whatever the rate ({low} to {high}/s)"
    return RULE.finding(
        severity="notice",
        confidence="medium",
        **device_fields(level.rows, series.name),
        title="A few callers that each wait for their own request bound the throughput",
        summary=say(text.replace("{often}", in_samples(len(series.samples))), values),
        remedy=RULE.remedy if level.direction == "reads" else _of_writes(view),
        confirm=_confirm(series.name, level.direction),
        evidence=(cite(level.rows, told, values, worst="queue_depth"),),
        refutes=("more callers that move no more",),
        cannot_know=("what the device would do with more of them: a queue of another depth shows it",),
    )


def _finding(
    view: View, series: DeviceSeries, level: Level, below: tuple[str, ...], limits: Limits
) -> Finding:
    witnesses = tuple(_witnesses(view, level))
    is_counted = level.requests >= limits.least_requests
    is_steady = len(level.rows) >= limits.least_samples
    process = asker(view, level.rows, level.direction[:-1])
    points = 1 + 2 * is_counted + is_steady + sum(item.weighs == "for" for item in witnesses)
    sure = confidence(points)
    direction, rate, size_kb, _, latency_ms = level.direction_load
    values: Values = {
        "device": series.name,
        "rate": rate,
        "latency": latency_ms,
        "depth": level.depth,
        "util": 100 * level.util,
        "size": size_kb,
        "direction": direction,
        # a little more than one in flight moved a little more than one after the other can
        "ceiling": max(1000 / latency_ms, rate),
        "at_once": level.busy_depth,
        "mb": rate * size_kb / 1024,
        "count": len(level.rows),
        "samples": len(series.samples),
    }
    often = in_samples(len(series.samples))
    is_cost = _is_waited_for(view, series, level, witnesses, limits) or _holds_host(view, level, limits)
    return RULE.finding(
        severity="warning" if sure != "low" and is_cost else "notice",
        confidence=sure,
        **device_fields(level.rows, series.name, *below),
        summary=say(
            "{device} serves one request at a time " + often + "; at {latency} ms each, at most "
            "{ceiling:.0f} {direction}/s of {size:.1f} kB are possible (now {mb:.1f} MB/s).",
            values,
        ),
        remedy=RULE.remedy if level.direction == "reads" else _of_writes(view),
        confirm=_confirm(series.name, level.direction),
        evidence=(
            cite(level.rows, _STATE, values, worst="await_ms"),
            cite(level.rows, "at {latency} ms each, one stream cannot exceed {ceiling:.0f}/s", values),
            *other_state_evidence(series, level.rows),
            *witnesses,
            *(cite_fact(fact) for fact in (process,) if fact is not None),
        ),
        refutes=("two requests in flight at the same time in a trace (blktrace, biosnoop)",),
        cannot_know=tuple(_unknown(level, process)),
    )


def _unknown(level: Level, process: Fact | None) -> Iterator[str]:
    if process is None:
        yield "which program asks: pidstat -d, biosnoop or iotop show it"
    if level.direction == "writes":
        yield "whether the writes are commits or other synchronous writes"


_STATE = (
    "{rate} {direction}/s of {size:.1f} kB at {depth} in flight and {util:.1f} % util: {at_once} "
    "in flight while busy"
)


def _is_waited_for(
    view: View, series: DeviceSeries, level: Level, witnesses: Sequence[Evidence], limits: Limits
) -> bool:
    """Whether the latency of each request is the limit of somebody's work, most of the time.

    Quick or large reads may be a stream's. Others are waited for where a task is seen to wait nearly always,
    or where they take longer than the class of the device explains and it is not seen that nobody waits.
    """
    is_slow = level.latency_ms >= limits.slow_write + level.size_kb / TRANSFER_KB_PER_MS
    if not is_slow or level.util < limits.full_util / 100 or 2 * len(level.rows) < len(series.loaded):
        return False
    if level.direction == "writes":
        return True
    is_late = level.latency_ms > CALM * usual_ms(series, level.size_kb, level.rate)
    counted = blocked(view, level.rows)
    tasks = [counted[1]] if counted else [float(item.values.get("waiters", 0)) for item in witnesses]
    is_watched = max(tasks, default=0.0) >= limits.waits or do_several_wait(view, level.rows)
    return (is_watched and level.size_kb <= limits.small) or (
        is_late and not does_nobody_wait(view, level.rows)
    )


def _holds_host(view: View, level: Level, limits: Limits) -> bool:
    """Whether the host has no time but for work and for this device, which it mostly waits for."""
    shares = None if view.has_only_cpu_averages else cpu_shares(view.cpu_at(level.rows))
    if shares is None or not shares.is_io_bound:
        return False
    # where each moment that is not work is of this device, work leaves it idle
    is_all = abs(shares.iowait * (view.cpus or math.nan) - 100 * level.util) <= limits.most_residual
    return is_all or level.util >= limits.full_util / 100


def _confirm(device: str, direction: str) -> tuple[str, ...]:
    last = (
        f"blockdev --getra {node_of(device)}"
        if direction == "reads"
        else f"cat /sys/block/{device}/queue/fua"
    )
    return ("pidstat -d 1", "biosnoop", last)


def _witnesses(view: View, level: Level) -> Iterator[Evidence]:
    """One task blocked, or one CPU's worth of iowait: somebody waits for that one request."""
    blocked_tasks = blocked(view, level.rows)
    if blocked_tasks is not None and 0.5 <= blocked_tasks[1] <= 1.5:
        yield cite(blocked_tasks[0], "{blocked:.1f} tasks were blocked on I/O", {"blocked": blocked_tasks[1]})
    cpu = view.cpu_at(level.rows)
    if cpu is None or view.cpus is None or cpu["source"][0] != level.rows["source"][0]:
        return
    share = weighted.mean(cpu, "iowait_pct", "cpu")
    waiters = share * view.cpus / 100
    if not np.isnan(waiters) and 0.5 <= waiters <= 1.5:
        values: Values = {"iowait": share, "cpus": view.cpus, "waiters": waiters}
        yield cite(cpu, "{iowait:.1f} % iowait on {cpus} CPUs is {waiters:.2f} waiting tasks", values)


def _of_writes(view: View) -> tuple[str, ...]:
    share = sharing_settings(view)
    return (
        "Batch the writes: several records per transaction or fsync"
        + (f"; let commits share a flush: {share}." if share else "."),
        "Cut the latency of one write: a power-protected SSD, a controller's write cache with a battery.",
        "Only if losing about a second of commits at a crash is acceptable: "
        f"{relaxing_settings(view)}; appendfsync everysec (Redis).",
    )


RULE = Rule(
    id="low-concurrency-bound",
    title="One request at a time bounds the throughput",
    why="The device waits for its client between requests, and the client for the device.",
    remedy=(
        "Let several requests be in flight: readahead (blockdev --setra), asynchronous I/O, more threads.",
        "In databases: innodb_read_io_threads and prefetch, effective_io_concurrency.",
        "Ask for larger pieces at once; or cut the latency of a single request (flash, a cache).",
    ),
    needs=Needs(one_of=({"disk": ("util_pct", "queue_depth", "ios_per_s|reads_per_s")},)),
    thresholds={
        "least_util": Threshold(60, "%", "least util", "judgement: below it the caller sets the pace"),
        "least_depth": Threshold(
            0.8, "requests", "least depth while busy", "below it util is mistrusted: U ≤ N for exact counters"
        ),
        "most_residual": Threshold(
            5,
            "%",
            "how far the depth while busy may be from one",
            "captures of one thread measured 1.00 to 1.05",
        ),
        "least_share": Threshold(20, "%", "share of the time of such a state", "judgement: no odd sample"),
        "pinned": Threshold(1, "%", "distance from a whole number of callers", "four readers measured 3.99"),
        "mostly": Threshold(1.5, "requests", "in flight that are mostly one", "as util-false-alarm has it"),
        "few": Threshold(2, "samples", "samples of a pinned number", "by chance one in forty at eight"),
        "most_callers": Threshold(8, "requests", "largest such number", "above it most depths are near one"),
        "never_idle": Threshold(95, "%", "util of three random arrivals at once", "1 - e^-N, M/M/∞"),
        "tick": Threshold(4, "ms", "latency from which %util is true on any kernel", "CONFIG_HZ=250"),
        "two": Threshold(2.1, "requests", "in flight of two callers at most", "two, and timer skew"),
        "small": Threshold(64, "kB", "size of requests that are no stream's", "half the default readahead"),
        "few_share": Threshold(50, "%", "share of the time of two callers", "judgement: most of it"),
        "ranges": Threshold(1.1, "x", "range of the rate meanwhile", "what is full or held keeps its rate"),
        "full_util": Threshold(90, "%", "util of a device that is never left idle", "judgement"),
        "slow_write": Threshold(
            4,
            "ms",
            "latency of a write or a lone read, without its transfer, that bounds the work",
            "half a turn at 7,200 rpm; a write cache, or readahead, answers in less",
        ),
        "waits": Threshold(0.8, "tasks", "blocked on average that are one nearly always", "as least_depth"),
        "least_requests": Threshold(
            50, "requests", "counted for medium confidence", "a mean of 50 is known to 14 %"
        ),
        "least_samples": Threshold(8, "samples", "a steady window", "judgement: a rhythm, not a coincidence"),
    },
    confirm=("pidstat -d 1", "biosnoop"),
    references=("https://man7.org/linux/man-pages/man1/iostat.1.html",),
    pictures=("ladder",),
    to_clear=ToClear(
        samples=1, columns=("kb_per_s", "queue_depth", "util_pct", "await_ms|read_await_ms|write_await_ms")
    ),
    detect=detect,
)
