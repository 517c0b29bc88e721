"""Which devices were shown to be healthy, and which were full or waiting, from their states alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from iodiag.analysis.array.equal_rates import disk_by_bytes
from iodiag.analysis.array.layer_latency import has_disks, may_be_stacked
from iodiag.analysis.array.quick_neighbours import are_twins, quicker_neighbour
from iodiag.analysis.host.who_waits import FEW_BLOCKED_TASKS
from iodiag.analysis.measure import weighted
from iodiag.analysis.states.service_times import CALM, SERVICE, class_of, events_per_sample, usual_ms
from iodiag.analysis.states.states import State, contradicts, states
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.capture import UNNAMED
from iodiag.model.columns import MAY_BE_SINCE_BOOT
from iodiag.verdict.nobody_waits import SPARE_PCT, mean_blocked_tasks
from iodiag.verdict.state_health import (
    BRIEF_UTIL,
    FULL_UTIL,
    LEAST_MOMENTS,
    LEAST_READS,
    LEAST_SHARE,
    LITTLE_UTIL,
    LONE,
    LONG_QUEUE_DEPTH,
    QUEUE_DEPTH,
    SLOWEST_LITTLE_MS,
    STREAM_KB,
    USED_UTIL,
    WAITING_DEPTH,
    ShownHealth,
    health_in,
    is_hardly_used,
    is_harmless,
    is_quick,
    lasting_states,
    reads_are_late,
    waited,
)

AS_MUCH = 1.5
"""Times the requests of another state up to which it is as much."""

LIKE, SLOWED = 1.25, 2.0
"""How far apart rates and sizes of one load are; and times its latency from which it is not the same device:
a doubling is no noise (as for a step in the latency behind a device)."""


def shown_health(series: DeviceSeries) -> ShownHealth:
    """Whether a device was shown to be healthy: in each lasting state with I/O it answered as its class does.

    `slow` are devices that are full with a queue, or that hold requests back; `not shown` those whose
    latency is unknown, or neither calm nor plainly bad, or whose requests waited most in a short flood.
    """
    active = [state for state in states(series) if state.kind != "idle"]
    # what is shown with times speaks for as much without
    most = AS_MUCH * max((state.rate for state in active if state.latency_ms > 0), default=0.0)
    active = [state for state in active if not (math.isnan(state.latency_ms) and 0 < state.rate <= most)]
    # the disks below an untimed device show how its requests fare
    if not active or (may_be_stacked(series) and series.is_untimed):
        return "idle"
    # nothing but rate and size tells apart what is not timed
    unknown = sum(state.share for state in active if math.isnan(state.latency_ms))
    long = [s for s in active if (unknown if math.isnan(s.latency_ms) else s.share) >= LEAST_SHARE]
    # a device that does a little now and then has no lasting state: all that it did is looked at
    lasting = [health_in(series, state) for state in long or active]
    lasting = [one for one in lasting if one != "idle"] or lasting
    if not long and len(active) > 1 and "slow" in lasting:
        return "not shown"
    if "slow" in lasting:
        return "slow"
    if is_late_on_any_class(series):
        return "slow"
    if series.name == UNNAMED and not is_prompt(series):
        return "not shown"  # no name says its class: only what is quick on the fastest one needs none
    if health_in(series, max(active, key=waited)) == "slow":
        return "not shown"
    if rests_on_doubtful_report(series):
        return "not shown"
    if lasting and all(one == lasting[0] for one in lasting):
        return "not shown" if lasting[0] == "healthy" and _was_quicker(long) else lasting[0]
    return "not shown"


def rests_on_doubtful_report(series: DeviceSeries) -> bool:
    """Whether all that a device did stands in a first report that may be the average since boot."""
    worked = series.samples[series.samples.floats("ios_per_s") > 0]
    return MAY_BE_SINCE_BOOT in worked and bool(np.equal(worked[MAY_BE_SINCE_BOOT], True).all())


def is_late_on_any_class(series: DeviceSeries) -> bool:
    """Whether many requests take in each sample what no class does, and longer than %util has it busy."""
    samples = series.samples
    latency, size = samples.floats("latency_ms"), np.nan_to_num(samples.floats("size_kb"))
    spinning = SERVICE["spinning"]
    is_late = latency > np.fmax(
        FAR * (spinning.usual_ms + size / spinning.usual_kb_per_ms), SLOWEST_LITTLE_MS
    )
    is_late &= events_per_sample(samples) >= MANY_REQUESTS
    # a burst keeps the device busy for as long as its requests take
    is_late &= latency > 10 * samples.floats("util_pct") * samples.floats("interval_s")
    return len(samples) > 1 and bool(is_late.all())


FAR, MANY_REQUESTS = 10.0, 50.0
"""Times what a request takes a spinning disk at most that no class explains, and requests of a sure mean."""


def _was_quicker(lasting: Sequence[State]) -> bool:
    """Whether a like load took a fraction of the time in other samples, and no queue is the cause of it."""
    return any(_slowed(fast, slow) for fast in lasting for slow in lasting)


def _slowed(fast: State, slow: State) -> bool:
    # discards beside reads are no other load: reads wait for them
    is_like = (fast.kind == slow.kind or slow.mean("discards_per_s") > 0) and all(
        max(pair) <= LIKE * min(pair) for pair in ((fast.rate, slow.rate), (fast.size_kb, slow.size_kb))
    )
    is_counted = min(fast.samples, slow.samples) >= LEAST_MOMENTS
    # a device that does as much with less than one in flight has no queue but what its latency makes
    is_counted &= slow.at_once < WAITING_DEPTH or fast.depth < 1
    is_slow = slow.latency_ms > SLOWED * fast.latency_ms and not is_quick(slow)
    return is_like and is_counted and is_slow and not is_hardly_used(slow)


def is_brief(view: View, series: DeviceSeries) -> bool:
    """Whether what is not shown to be healthy are brief queues of writes on a mostly idle device."""
    left = _left(series)
    return (bool(left) and all(_is_brief(series, one) for one in left)) or _comes_in_floods(view, series)


def _left(series: DeviceSeries) -> list[State]:
    """The lasting states in which it is not shown to be healthy."""
    lasting = [one for one in states(series) if one.kind != "idle" and one.share >= LEAST_SHARE]
    return [one for one in lasting if health_in(series, one) not in ("healthy", "idle")]


def _comes_in_floods(view: View, series: DeviceSeries) -> bool:
    """Whether these are floods of writes alone, on a device that is idle for half of the time and more.

    And no task is seen to wait for them, beside CPUs that have time to spare.
    """
    cpu, left = view.cpu_samples, _left(series)
    if cpu is None or not left or not all(map(_is_flood, left)):
        return False
    idle, iowait = (weighted.mean(cpu, f"{name}_pct", "cpu") for name in ("idle", "iowait"))
    tasks = np.fmax(iowait / 100 * (view.cpus or LIKELY_CPUS), mean_blocked_tasks(view))
    return bool(idle > SPARE_PCT and tasks < FEW_BLOCKED_TASKS)


def _is_flood(state: State) -> bool:
    is_unasked = state.kind == "writes" and state.mean("reads_per_s") == 0
    is_unasked &= not state.mean("flushes_per_s") > 0
    is_timed = 0 < state.latency_ms < SLOWEST_LITTLE_MS and not contradicts(state)
    return is_unasked and is_timed and state.util < USED_UTIL


LIKELY_CPUS = 8
"""CPUs by which iowait is judged where nothing tells how many a host has."""


def _is_brief(series: DeviceSeries, state: State) -> bool:
    reads = state.mean("read_await_ms") if state.mean("reads_per_s") > 0 else 0.0
    is_read_promptly = reads <= CALM * usual_ms(series, state.size_kb)
    is_read_promptly &= not reads_are_late(series, state)
    is_timed = 0 < state.latency_ms < SLOWEST_LITTLE_MS and not contradicts(state)
    return state.util < BRIEF_UTIL and is_timed and is_read_promptly


def is_prompt(series: DeviceSeries) -> bool:
    """Whether each lasting state answered quickly, or as its known class usually does, without a queue."""
    lasting = [one for one in states(series) if one.kind != "idle" and one.share >= LEAST_SHARE]
    return all(is_quick(one) or _is_usual(series, one) for one in lasting)


def _is_usual(series: DeviceSeries, state: State) -> bool:
    is_queued = state.util >= FULL_UTIL and state.at_once >= LONG_QUEUE_DEPTH
    is_known = class_of(series) != "unknown" and not is_queued
    return is_known and state.latency_ms <= usual_ms(series, state.size_kb)


def is_little(series: DeviceSeries) -> bool:
    """Whether so few requests came, and were answered, that nobody waits long for them."""
    return all(is_hardly_used(one) and one.latency_ms < SLOWEST_LITTLE_MS for one in lasting_states(series))


def is_late_but_hardly_used(series: DeviceSeries) -> bool:
    """Whether so few requests came that their latency, longer than is usual, says little."""
    return all(is_hardly_used(one) for one in lasting_states(series)) and not is_prompt(series)


def is_trickle(series: DeviceSeries) -> bool:
    """Whether an almost idle device gets large writes alone: what is held back above it looks like that."""
    active = [state for state in states(series) if state.kind != "idle"]
    return bool(active) and all(
        one.kind == "writes" and one.size_kb >= STREAM_KB and one.util < LITTLE_UTIL for one in active
    )


def healths(view: View) -> Iterator[tuple[DeviceSeries, ShownHealth]]:
    """What was shown of each device of a host; of an untimed layer the disks below it show it, if any are.

    Where each device that could be healthy served too few requests to tell, none is shown to be.
    """
    used = [one for one in view.devices if shown_health(one) == "healthy"]
    are_few = all(map(_is_of_few, used))
    for series in view.devices:
        is_bare = may_be_stacked(series) and series.is_untimed and not has_disks(view, series)
        found = "not shown" if is_bare else shown_health(series)
        is_open = found == "slow" and _comes_in_floods(view, series)
        is_open |= found == "healthy" and _is_late_alone(view, series)
        if found in ("slow", "not shown") and not is_bare and _is_merged_below(view, series):
            found, is_open = "idle", False
        is_open |= found == "healthy" and are_few
        yield series, "not shown" if is_open else found


def _is_of_few(series: DeviceSeries) -> bool:
    """Whether a mean of few requests, which only a spinning disk excuses, is all that a device shows.

    Its class is not known, and these few may be the quick ones.
    """
    is_excused = class_of(series) == "unknown" and not is_little(series)
    least = SERVICE["network"].usual_ms
    is_excused &= any(one.latency_ms > least for one in lasting_states(series))
    return is_excused and float(np.nansum(events_per_sample(series.samples))) < LEAST_READS


def _is_merged_below(view: View, series: DeviceSeries) -> bool:
    """Whether the healthy disk below a layer takes its writes in far fewer requests, at the same times.

    They are counted above before they are merged: their latency is that of the whole batch, which the disk
    shows. A layer that is busy for longer than its disk holds them by itself.
    """
    if not may_be_stacked(series) or (found := disk_by_bytes(view, series)) is None:
        return False
    disk, above, below = found
    rate, util = (weighted.mean(above, name) for name in ("ios_per_s", "util_pct"))
    is_merged = rate >= MERGED * weighted.mean(below, "ios_per_s")
    is_merged &= weighted.mean(above, "reads_per_s") <= (1 - MOST_WRITTEN) * rate
    is_together = util <= LIKE * weighted.mean(below, "util_pct")
    return bool(is_merged and is_together) and shown_health(disk) == "healthy"


MERGED, MOST_WRITTEN = 4.0, 0.9
"""Requests of a layer in one of its disk that are its pages, and the share of writes among them."""


def _is_late_alone(view: View, series: DeviceSeries) -> bool:
    """Whether no queue explains what its requests take, and a neighbour takes a fraction for as many.

    It may be a slow spinning disk beside flash; that it is healthy is not shown by a class that is not known,
    nor by the latency of that class where the neighbour moves as much both ways, as one of its kind would.
    """
    if class_of(series) != "unknown":
        return False
    for state in lasting_states(series):
        size = weighted.or_zero(state.size_kb)
        is_alone = state.at_once < QUEUE_DEPTH and not (is_hardly_used(state) or is_harmless(state))
        if not is_alone or not state.latency_ms > SERVICE["network"].usual(size):
            continue
        if (quick := quicker_neighbour(view, series, state)) is not None:
            is_twin = are_twins(view, series.name, quick[0])
            if is_twin or state.latency_ms > LONE * SERVICE["spinning"].usual(size):
                return True
    return False
