"""Which devices were shown to be healthy, and which were full or waiting, from their states alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from iodiag.analysis.array.layer_latency import has_disks, may_be_stacked
from iodiag.analysis.array.quick_neighbours import are_twins, quicker_neighbour
from iodiag.analysis.host.cpu import CALM_PCT, counts_no_wait
from iodiag.analysis.host.process_of_device import asker
from iodiag.analysis.host.who_waits import (
    BLOCKED_TASKS,
    CROWD_TASKS,
    FEW_BLOCKED_TASKS,
    IOWAIT_PCT,
    LITTLE_PCT,
    MOMENTARY_TASKS,
    episode,
)
from iodiag.analysis.load.rate_limits import is_exact
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, in_samples, say
from iodiag.analysis.measure.time_per_kb import DIRECTIONS
from iodiag.analysis.states.service_times import (
    ADJACENT_KB,
    ADJACENT_KB_PER_S,
    CALM,
    SERVICE,
    class_of,
    events_per_sample,
    is_adjacent_stream,
    sane_limit_ms,
    streams_kb,
    usual_ms,
)
from iodiag.analysis.states.states import State, contradicts, queue_by_direction, states
from iodiag.analysis.view.device_traits import is_virtual
from iodiag.analysis.view.view import IDLE_IOS_PER_S, DeviceSeries, View, same_reports
from iodiag.model.capture import UNNAMED, Fact

ShownHealth = Literal["healthy", "slow", "not shown", "idle"]

FULL_UTIL = 0.9
"""Busy share from which a device has hardly any idle time left."""

QUEUE_DEPTH, WAITING_DEPTH, LONG_QUEUE_DEPTH = 1.5, 2.0, 8.0
"""Requests in flight while busy that are more than one client's; that make each wait for another; and a queue
whatever the share of time."""

MOST_AT_ONCE = 32.0
"""Requests that a SATA device takes at once; with more of them its latency holds time in line."""

BUSY_UTIL = 0.75
"""Busy share from which a device of unknown class is not known to have headroom."""

LEAST_MOMENTS = 3
"""Samples that show what lasts: that nobody waits, or that a queue of a device is usual."""

BRIEF_UTIL = 0.25
"""Busy share below which a deep queue is a burst that comes and goes."""

BURSTS_UTIL = 0.1
"""Busy share from which bursts hold requests back if they take that long on the mean: most of what was asked
waits, whatever the idle time between."""

SPARE_PCT, MANY_SAMPLES = 50.0, 8
"""Idle time of a host with CPUs to spare, and the samples from which a task that waits now and then is told
from one that waits often."""

USED_UTIL = 0.5
"""Busy share from which a device is what tasks wait for, if it is slower than usual and has a queue."""

LITTLE_UTIL, SLOWEST_LITTLE_MS = 0.05, 100.0
"""Busy share and latency up to which a few requests per second are what an idle device shows."""

LONE, LEAST_READS = 1.5, 25.0
"""Times what one read alone takes a spinning disk at most that a mean of so many without a queue may take."""

APART = 5.0
"""Times as long as writes from which the queue that both stand in does not explain what reads take."""

FASTER_THAN_A_HEAD_KB = 285_000.0
"""kB/s while busy that no spinning disk moves (data sheets)."""

HELD_READS = 0.3
"""Late reads in flight from which somebody waits for one for much of the time."""

SELDOM_PER_S = 2 * IDLE_IOS_PER_S
"""Requests per second up to which times that round to nothing are no sign that they are not kept."""

AS_MUCH = 1.5
"""Times the requests of another state up to which it is as much."""

LIKE, SLOWED = 1.25, 2.0
"""How far apart rates and sizes of one load are; and times its latency from which it is not the same device:
a doubling is no noise (as for a step in the latency behind a device)."""

SAME_SPEED, MOSTLY_FULL = 0.1, 0.5
"""How far apart the kB/s of two states while busy are at one speed of the device, and the share of samples
from which a device that is full holds back whoever writes."""

LEAST_SHARE = 0.05
"""States of less of a device's time do not decide whether it is called healthy; symptoms look at each."""

ALL_IN_FLIGHT, PART_IN_FLIGHT = 0.8, 0.5
"""Requests in flight per task that waits from which the devices hold them, and below which most wait for
something else."""

NO_FLUSH_MS = 0.1
"""What a flush takes of a device that has nothing to write out, with the path to it."""

STREAM_KB = 512.0
"""Size of requests from which transfer is most of the latency on any disk."""


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
    lasting = [_health_in(series, state) for state in long or active]
    lasting = [one for one in lasting if one != "idle"] or lasting
    if not long and len(active) > 1 and "slow" in lasting:
        return "not shown"
    if "slow" in lasting:
        return "slow"
    if is_late_on_any_class(series):
        return "slow"
    if series.name == UNNAMED and not is_prompt(series):
        return "not shown"  # no name says its class: only what is quick on the fastest one needs none
    if _health_in(series, max(active, key=waited)) == "slow":
        return "not shown"
    if lasting and all(one == lasting[0] for one in lasting):
        return "not shown" if lasting[0] == "healthy" and _was_quicker(long) else lasting[0]
    return "not shown"


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


def waited(state: State) -> float:
    """How long all requests of a state waited together, by their number or latency, in the device's time."""
    return float(np.nanmax([0.0, state.depth, state.held])) * state.share


def lasting_states(series: DeviceSeries) -> list[State]:
    """What a device did, without what lasted for a moment alone; all of it where nothing lasted."""
    active = [state for state in states(series) if state.kind != "idle"]
    return [state for state in active if state.share >= LEAST_SHARE] or active


def _health_in(series: DeviceSeries, state: State) -> ShownHealth:
    is_seldom = state.rate <= SELDOM_PER_S and not (state.util >= LITTLE_UTIL or state.depth > 0)
    if is_seldom and (state.latency_ms == 0 or not state.rows.has("util_pct")):
        return "idle"  # what so few requests take is below what is printed, or not printed at all
    found = _by_mean(series, state)
    # reads are waited for by nature
    if _floods(series, state, ("read",) if found == "healthy" else DIRECTIONS):
        return "slow"
    if found != "healthy" or not reads_are_late(series, state):
        return found
    reads = state.mean("reads_per_s") * state.mean("read_await_ms") / 1000
    return "slow" if reads >= HELD_READS else "not shown"


def _by_mean(series: DeviceSeries, state: State) -> ShownHealth:
    if state.kind == "stuck":
        return "slow"
    latency = state.latency_ms
    if math.isnan(state.rate) and state.util <= LITTLE_UTIL:
        # hardly ever busy: what the layout does not show cannot be much, and what it shows is prompt
        waits = [state.mean(f"{way}_await_ms") for way in ("read", "write")]
        is_prompt = all(not wait > CALM * usual_ms(series, math.nan) for wait in waits)
        return "healthy" if is_prompt and not all(map(math.isnan, waits)) else "not shown"
    if not latency > 0 or math.isnan(state.depth):
        return "not shown"
    if contradicts(state):
        return "healthy" if is_quick(state) or _is_usual_by_both(series, state) else "not shown"
    is_beyond = state.util >= FULL_UTIL and state.at_once > MOST_AT_ONCE and class_of(series) != "nvme"
    # what a layer holds is counted before it is merged: the disks below it show what they take at once
    is_beyond &= not (series.is_stacked and series.device and series.device.members)
    if (is_quick(state) and not is_beyond) or _is_at_own_speed(series, state):
        return "healthy"
    if math.isnan(state.size_kb) and not is_hardly_used(state):
        is_slow = latency > CALM * usual_ms(series, STREAM_KB)
        return "slow" if is_slow and state.util >= FULL_UTIL and state.at_once >= QUEUE_DEPTH else "not shown"
    usual = _usual_ms(series, state)
    is_parallel = class_of(series) in ("nvme", "solid")
    long_queue = LONG_QUEUE_DEPTH if is_parallel else QUEUE_DEPTH
    if state.util >= FULL_UTIL and state.at_once >= long_queue and latency > usual:
        return "slow"
    if is_hardly_used(state):
        return "healthy" if latency < SLOWEST_LITTLE_MS else "not shown"
    if latency > CALM * usual:
        return "slow" if _holds_back(state) else "not shown"
    # flash serves one or two at once without a queue: so slow they bound whoever asks for one after another
    is_beyond |= (
        is_parallel and latency > LONE * usual and state.util >= USED_UTIL and state.at_once < WAITING_DEPTH
    )
    if is_beyond:
        return "slow"
    if math.isnan(state.util):
        # the mean in flight bounds the busy share from above; whether it is full stays open, or what is stuck
        is_open = not state.depth < BUSY_UTIL or state.mean("held_besides") > 0
        return "not shown" if is_open else "healthy"
    # what no healthy one of the class takes for one alone, a queue has to explain
    if latency > sane_limit_ms(series, state.size_kb) and not state.at_once >= WAITING_DEPTH:
        return "not shown"
    if _is_excused_by_a_spindle(series, state, usual):
        return "not shown"
    # without a class to hold it against, a busy device is not known to have headroom; a stream has its rate
    is_open = state.util >= BUSY_UTIL and not is_parallel
    is_open = is_open and not is_stream(series, state) and not _is_read_in_order(series, state)
    return "not shown" if is_open else "healthy"


def _is_usual_by_both(series: DeviceSeries, state: State) -> bool:
    """Whether the worse of two numbers that differ is usual: the latency, which without a queue is of one.

    Rate times latency is no less than the busy share, whatever counters of the queue lose that count at all.
    """
    is_roomy = state.util < BUSY_UTIL and (state.is_busy_known or (state.util > 0 and state.held < BUSY_UTIL))
    is_calm = class_of(series) != "unknown" and state.held < BRIEF_UTIL
    return is_roomy and state.latency_ms <= (CALM if is_calm else 1) * usual_ms(series, state.size_kb)


def _is_read_in_order(series: DeviceSeries, state: State) -> bool:
    """Whether reads that are nearly all merged make a disk's full stream, as promptly as flash answers.

    Only adjacent ones merge. A volume that is held by a limit may do as much: not one of another number, and
    that no hypervisor serves.
    """
    reads, merges = state.mean("reads_per_s"), state.mean("read_merges_per_s")
    moved = state.rate * state.size_kb
    if state.kind != "reads" or not merges >= NEARLY_MERGED * (merges + reads) or is_virtual(series):
        return False
    is_full_stream = moved >= state.util * ADJACENT_KB_PER_S and state.at_once < LONG_QUEUE_DEPTH
    is_prompt = state.latency_ms <= SERVICE["solid"].usual(state.size_kb)
    return is_full_stream and is_prompt and not is_exact(moved, "kb_per_s")


NEARLY_MERGED = 0.9
"""Share of the reads that merge where one follows the other: of those that seek few do."""


def _holds_back(state: State) -> bool:
    """Whether what is slow waits in a queue: most of the time, or in bursts in which most wait for long."""
    is_long = state.latency_ms >= SLOWEST_LITTLE_MS and state.requests >= LEAST_READS
    in_bursts = state.at_once >= LONG_QUEUE_DEPTH and state.util >= (BURSTS_UTIL if is_long else BRIEF_UTIL)
    return in_bursts or (state.at_once >= QUEUE_DEPTH and state.util >= BUSY_UTIL)


def _is_excused_by_a_spindle(series: DeviceSeries, state: State, usual: float) -> bool:
    """Whether a device of unknown class has a queue that only a spindle excuses, in too few samples for one.

    But for a short burst that moves as much while it is busy as a stream does, in the time of one for each.
    """
    is_brief = 0 < state.util < BRIEF_UTIL and state.latency_ms <= usual * state.at_once
    if is_brief and state.rate * state.size_kb >= state.util * streams_kb(series):
        return False
    is_excused = class_of(series) == "unknown" and state.latency_ms > CALM * SERVICE["network"].usual_ms
    return is_excused and state.at_once >= WAITING_DEPTH and state.samples < LEAST_MOMENTS


def _is_at_own_speed(series: DeviceSeries, state: State) -> bool:
    """Whether large writes alone, a few at once, move as much while it is busy as in a calmer state of it.

    Then what they take is the size of the queue by that speed. What a network serves may be held by a limit,
    and one that is full in half of the samples holds back whoever writes.
    """
    if state.kind != "writes" or is_virtual(series) or not is_stream(series, state):
        return False
    if state.util >= FULL_UTIL and state.share >= MOSTLY_FULL:
        return False  # most of the time it gives no more
    moved = state.rate * state.size_kb / max(state.util, LITTLE_UTIL)
    calmer = (
        one.rate * one.size_kb / one.util
        for one in lasting_states(series)
        if one.kind == "writes" and one.size_kb >= STREAM_KB and LITTLE_UTIL < one.util < BUSY_UTIL
    )
    return any(abs(other / moved - 1) <= SAME_SPEED for other in calmer)


def _usual_ms(series: DeviceSeries, state: State) -> float:
    """What its class takes at most; what is written above a disk, to be merged, says nothing of its rate."""
    is_merged = series.is_stacked and state.kind != "reads"
    return usual_ms(series, state.size_kb, 0.0 if is_merged else state.rate)


def reads_are_late(series: DeviceSeries, state: State) -> bool:
    """Whether reads take longer than a spinning disk does, which the mean with quick writes would hide.

    Nothing but a queue excuses them: cache flushes, which writes wait for, do not.
    """
    reads = state.mean("reads_per_s")
    counted = state.requests * reads / state.ios if state.ios > 0 else 0.0
    if not counted >= LEAST_READS or is_hardly_used(state):
        return False
    size = weighted.ratio(state.rows, "read_kb_per_s", "reads_per_s")
    read, written = (state.mean(f"{way}_await_ms") for way in ("read", "write"))
    is_unknown = class_of(series) == "unknown"
    # the queue that both stand in makes both wait; what moves more than a disk with heads does has none
    if (
        is_unknown
        and read > APART * written
        and state.rate * state.size_kb > state.util * FASTER_THAN_A_HEAD_KB
    ):
        return bool(read > CALM * SERVICE["network"].usual(size))
    least = LONE if state.at_once < QUEUE_DEPTH and (is_unknown or class_of(series) == "spinning") else CALM
    return bool(read > least * usual_ms(series, size))


def _floods(series: DeviceSeries, state: State, ways: Collection[str]) -> bool:
    """Whether requests of some direction come in floods that wait, which the mean with quick ones hides."""
    return state.util >= BRIEF_UTIL and any(
        way in ways and at_once >= LONG_QUEUE_DEPTH and counted >= LEAST_READS and wait > CALM * usual
        for way, at_once, counted, wait, usual in queue_by_direction(series, state)
    )


def is_brief(view: View, series: DeviceSeries) -> bool:
    """Whether what is not shown to be healthy are brief queues of writes on a mostly idle device."""
    left = _left(series)
    return (bool(left) and all(_is_brief(series, one) for one in left)) or _comes_in_floods(view, series)


def _left(series: DeviceSeries) -> list[State]:
    """The lasting states in which it is not shown to be healthy."""
    lasting = [one for one in states(series) if one.kind != "idle" and one.share >= LEAST_SHARE]
    return [one for one in lasting if _health_in(series, one) not in ("healthy", "idle")]


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


def is_stream(series: DeviceSeries, state: State) -> bool:
    """Whether requests move as much as a device of its class usually streams, with a short queue.

    The smaller they are, the more they have to move: so that no positioning fits in between. Those of 64 kB
    and more are a stream where they move as much while it is busy as only adjacent requests of a disk do, if
    it is known to spin: what else moves as much may be held by a limit.
    """
    moved = state.rate * state.size_kb
    is_large = state.size_kb >= ADJACENT_KB
    is_large &= moved * min(state.size_kb, STREAM_KB) >= streams_kb(series) * STREAM_KB
    is_adjacent = class_of(series) == "spinning" and state.util > 0
    is_adjacent = is_adjacent and is_adjacent_stream(series, state.size_kb, moved / state.util)
    return (is_large or is_adjacent) and state.at_once < LONG_QUEUE_DEPTH


def is_quick(state: State) -> bool:
    """Whether requests take no longer than alone on the fastest class: all is well, however busy it is.

    Where no size tells a log, its flushes are to be as quick as where there is no cache to write out.
    """
    fastest = SERVICE["nvme"]
    if math.isnan(state.size_kb):
        is_free = state.rows.has("flush_await_ms") and not state.mean("flush_await_ms") > NO_FLUSH_MS
        return is_free and state.latency_ms <= fastest.usual_ms
    return state.latency_ms <= fastest.usual(state.size_kb)


def is_prompt(series: DeviceSeries) -> bool:
    """Whether each lasting state answered quickly, or as its known class usually does, without a queue."""
    lasting = [one for one in states(series) if one.kind != "idle" and one.share >= LEAST_SHARE]
    return all(is_quick(one) or _is_usual(series, one) for one in lasting)


def _is_usual(series: DeviceSeries, state: State) -> bool:
    is_queued = state.util >= FULL_UTIL and state.at_once >= LONG_QUEUE_DEPTH
    is_known = class_of(series) != "unknown" and not is_queued
    return is_known and state.latency_ms <= usual_ms(series, state.size_kb)


def is_hardly_used(state: State) -> bool:
    """Whether so few requests came that their mean latency says little: nothing queued for them."""
    return bool(state.rate < IDLE_IOS_PER_S and state.util < LITTLE_UTIL and state.at_once < QUEUE_DEPTH)


def _is_little(series: DeviceSeries) -> bool:
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
    """What was shown of each device of a host; of an untimed layer the disks below it show it, if any are."""
    for series in view.devices:
        is_bare = may_be_stacked(series) and series.is_untimed and not has_disks(view, series)
        found = "not shown" if is_bare else shown_health(series)
        is_open = found == "slow" and _comes_in_floods(view, series)
        is_open |= found == "healthy" and _is_late_alone(view, series)
        yield series, "not shown" if is_open else found


def _is_late_alone(view: View, series: DeviceSeries) -> bool:
    """Whether no queue explains what its requests take, and a neighbour takes a fraction for as many.

    It may be a slow spinning disk beside flash; that it is healthy is not shown by a class that is not known,
    nor by the latency of that class where the neighbour moves as much both ways, as one of its kind would.
    """
    if class_of(series) != "unknown":
        return False
    for state in lasting_states(series):
        size = weighted.or_zero(state.size_kb)
        is_alone = state.at_once < QUEUE_DEPTH and not is_hardly_used(state)
        if not is_alone or not state.latency_ms > SERVICE["network"].usual(size):
            continue
        if (quick := quicker_neighbour(view, series, state)) is not None:
            is_twin = are_twins(view, series.name, quick[0])
            if is_twin or state.latency_ms > LONE * SERVICE["spinning"].usual(size):
                return True
    return False


def queued(view: View) -> Iterator[DeviceSeries]:
    """Devices that a task which waits may wait for: never idle, or with a queue and slower than usual."""
    for series in view.devices:
        lasting = [state for state in states(series) if state.share >= LEAST_SHARE]
        if any(_is_queued(series, state) for state in lasting):
            yield series


class WaitingTasks(NamedTuple):
    """How many tasks wait on average, and the requests in flight on all devices shown and on the `most` used.

    Tasks blocked, else the CPUs that are idle while a task waits: as many tasks, or more. Where the number of
    CPUs is not known either (not `is_counted`), it is taken for one. Requests are NaN where no column tells.
    """

    tasks: float
    is_counted: bool
    in_flight: float
    most: DeviceSeries

    @property
    def is_of_devices(self) -> bool:
        """Whether the devices hold nearly as many requests as tasks wait."""
        return self.is_counted and self.in_flight >= ALL_IN_FLIGHT * self.tasks

    @property
    def is_elsewhere(self) -> bool:
        """Whether most of what tasks wait for is not in flight on the devices."""
        return self.in_flight < PART_IN_FLIGHT * self.tasks


def waiting_tasks(view: View) -> WaitingTasks:
    """How much of what tasks wait for is in flight on the devices of a host that has any."""
    tasks, cpu = mean_blocked_tasks(view), view.cpu_all
    is_counted = tasks >= BLOCKED_TASKS or bool(view.cpus)
    if not tasks >= BLOCKED_TASKS and cpu is not None:
        tasks = weighted.mean(cpu, "iowait_pct", "cpu") / 100 * (view.cpus or 1)
    # requests of a layer are in flight below it, too
    whole = [one for one in view.devices if not may_be_stacked(one)] or view.devices
    in_flight = {
        one.name: sum(state.share * _busy_and_depth(state)[1] for state in states(one)) for one in whole
    }
    most = max(whole, key=lambda one: in_flight[one.name])
    active = (state for one in whole for state in states(one) if state.kind != "idle")
    is_unknown = any(math.isnan(state.depth) for state in active)
    return WaitingTasks(tasks, is_counted, math.nan if is_unknown else sum(in_flight.values()), most)


def _is_queued(series: DeviceSeries, state: State) -> bool:
    is_full = state.util >= FULL_UTIL and state.is_busy_known
    is_busy = state.util >= USED_UTIL and state.at_once >= QUEUE_DEPTH
    is_open = state.mean("held_besides") > 0  # a request that is stuck, if no counter leaked
    return is_full or is_open or (is_busy and state.latency_ms > _usual_ms(series, state))


def somebody_waits(view: View) -> str:
    """Which of the host's own numbers say that tasks wait for I/O; empty where none does.

    Nor where the devices shown were busy for as long, with requests that they answered quickly.
    """
    said, share, tasks = _waits(view)
    return "" if said and _explains(view, share, tasks) else said


def many_ask(view: View) -> str:
    """What says that tasks wait though devices explain it: for how much they ask, not for slow answers."""
    said, share, tasks = _waits(view)
    return said if said and _explains(view, share, tasks) else ""


def _waits(view: View) -> tuple[str, float, float]:
    """What says that tasks wait, with the mean iowait in % and the mean of blocked tasks (NaN: not known)."""
    said, share, tasks = "", math.nan, math.nan
    # averages since boot say nothing of who waits
    cpu, queue = view.cpu_samples, view.samples("queue")
    if cpu is not None and (share := weighted.mean(cpu, "iowait_pct", "cpu")) >= IOWAIT_PCT:
        said = say("iowait is {share:.0f} %", {"share": share})
    elif cpu is not None and (seen := episode(view)) is not None:
        values: Values = {"most": (share := float(seen.floats("iowait_pct").max())), "samples": len(cpu)}
        values["count"] = len(seen)
        said = say("iowait is up to {most:.0f} % in {count} of {samples} samples", values)
    elif (found := _while_full(view)) is not None:
        said, share = found
    if queue is not None:
        tasks = mean_blocked_tasks(view)
        least = MOMENTARY_TASKS if cpu is not None and counts_no_wait(cpu) else BLOCKED_TASKS
        if tasks >= least and not (said and tasks < CROWD_TASKS):
            is_moment = len(queue) == 1 and "paging" in view.average_only
            text = "{count:.0f} tasks waited for I/O at that moment"
            said = say(text if is_moment else _ON_AVERAGE, {"count": tasks})
    if not said and cpu is not None and not tasks < FEW_BLOCKED_TASKS:
        said = _of_one_task(view, share)
    if not said and cpu is None and queue is None:
        said = _of_a_reader(view)
    return said, share, tasks


def _while_full(view: View) -> tuple[str, float] | None:
    """What says that CPUs wait while a device has hardly any idle time, with the iowait in %."""
    cpu = view.cpu_samples
    if cpu is None or "disk" in view.average_only:
        return None
    for series in view.devices:
        rows = series.samples[series.samples.floats("util") >= FULL_UTIL]
        beside = cpu[same_reports(cpu, rows)]
        is_seldom = len(beside) < LEAST_FULL * len(cpu) or not len(beside)
        if not is_seldom and (share := weighted.mean(beside, "iowait_pct", "cpu")) >= IOWAIT_PCT:
            values: Values = {"share": share, "count": len(beside), "samples": len(cpu), "name": series.name}
            values["busy"] = weighted.mean(rows, "util_pct")
            text = "iowait is {share:.0f} % while {name} is {busy:.0f} % busy, " + in_samples(len(cpu))
            return say(text, values), share
    return None


LEAST_FULL = 0.1
"""Share of samples in which a device that is full for a moment is no trouble."""


def _of_a_reader(view: View) -> str:
    """That one process reads all that a device gives which is never idle."""
    for series in view.devices:
        if (process := reader_of(view, series)) is not None:
            values: Values = {"process": process.word("process"), "name": series.name}
            values["read"] = process.number("read_kb_per_s")
            return say("{process} reads {read:kb}, all that {name} gives", values)
    return ""


def reader_of(view: View, series: DeviceSeries) -> Fact | None:
    """The process that alone reads what a never idle device gives: it waits for most of its reads."""
    rows = series.samples
    written = weighted.or_zero(weighted.mean(rows, "writes_per_s"))
    is_read = weighted.mean(rows, "reads_per_s") >= MOST_READ * written
    if not is_read or not weighted.mean(rows, "util") >= FULL_UTIL or may_be_stacked(series):
        return None
    return asker(view, rows, "read")


MOST_READ = 10.0
"""Times as many reads as writes from which a device is busy for whoever reads."""


_ON_AVERAGE = "{count:.1f} tasks are blocked on I/O on average"


def _of_one_task(view: View, share: float) -> str:
    """That a mean iowait is as much as a task makes that always waits, however small a share of all CPUs.

    Not where the devices hold as much and none is busy for half of the time: many wait for a moment each.
    Where the number of CPUs is not known, it may be where these are idle beside it, and as much is in flight.
    """
    waiting = waiting_tasks(view) if view.devices else None
    lasting = (state for one in view.devices for state in lasting_states(one))
    is_brief = all(state.util < USED_UTIL for state in lasting) and not any(
        map(is_late_on_any_class, view.devices)
    )
    if waiting and waiting.is_of_devices and is_brief:
        return ""
    tasks = share / 100 * (view.cpus or 0)
    if tasks >= ONE_TASK:
        values: Values = {"share": round(share, 1), "cpus": view.cpus or 0, "tasks": round(tasks, 1)}
        waits = "waits" if values["tasks"] == 1 else "wait"
        text = "iowait is {share:g} % on {cpus:g} CPUs: on average {tasks:g} tasks " + waits
        return say(text + " for I/O", values)
    idle = weighted.mean(view.cpu_all, "idle_pct", "cpu") if view.cpu_all is not None else math.nan
    is_idle = share >= SOME_PCT and share + idle >= MOSTLY_IDLE_PCT
    if view.cpus or not is_idle or waiting is None or not waiting.in_flight >= 1:
        return ""
    text = "iowait is {share:.1f} %, as of one task that always waits if the host has {cpus:.0f} CPUs"
    return say(text, {"share": share, "cpus": 100 / share})


ONE_TASK, SOME_PCT, MOSTLY_IDLE_PCT = 0.8, 5.0, 90.0
"""Tasks that wait on average that are one which nearly always does; and, of an unknown number of CPUs, iowait
of one of twenty, and with it the time in which these do nothing else."""


def _explains(view: View, share: float, tasks: float) -> bool:
    """Whether devices that answer quickly held so many tasks, and for so large a share of the time, in %."""
    used = [series for series in view.devices if shown_health(series) != "idle"]
    if not all(is_prompt(series) or _is_little(series) for series in used):
        return False
    whole = [series for series in used if not may_be_stacked(series)]
    lasting = [
        (one.share, *_busy_and_depth(one)) for series in whole for one in states(series) if one.kind != "idle"
    ]
    busy, depth = (
        sum(share * busy for share, busy, _ in lasting),
        sum(share * depth for share, _, depth in lasting),
    )
    return not 100 * busy < share and not depth < tasks - BLOCKED_TASKS and busy > 0


def _busy_and_depth(state: State) -> tuple[float, float]:
    """The share of its time that a state was busy, and the requests in flight; by latency if that is more."""
    busy, depth = min(state.util, 1.0), state.depth
    if contradicts(state):
        depth = state.held
        busy = max(busy, min(depth, 1.0))
    return (0.0 if math.isnan(busy) else busy), (0.0 if math.isnan(depth) else depth)


def mean_blocked_tasks(view: View) -> float:
    """The mean number of tasks that wait for I/O; NaN where the capture does not count them."""
    queue = view.samples("queue")
    return math.nan if queue is None else weighted.mean(queue, "blocked", "queue")


def nobody_waits(view: View) -> str:
    """What shows that no task waited for I/O in any sample, or hardly any in several; else empty."""
    queue, cpu, tasks = view.samples("queue"), view.cpu_samples, mean_blocked_tasks(view)
    if cpu is None:
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
    values: Values = {"count": min(len(queue), len(cpu)), "most": float(np.nanmax(iowait))}
    is_counted = cpu.has("iowait_pct") and float(values["most"]) >= CALM_PCT
    few = "no task is blocked on I/O" if is_counted else "nobody waits for I/O"
    few = few if tasks == 0 else "hardly anybody waits for I/O"
    most = " (iowait is at most {most:.0f} %)" if is_counted else ""
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
