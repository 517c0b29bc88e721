"""What one state of a device shows of its health: by its latency, its queue, and what its class takes."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal

import numpy as np

from iodiag.analysis.load.rate_limits import is_exact
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.time_per_kb import DIRECTIONS
from iodiag.analysis.states.service_times import (
    ADJACENT_KB,
    ADJACENT_KB_PER_S,
    CALM,
    SERVICE,
    class_of,
    is_adjacent_stream,
    sane_limit_ms,
    streams_kb,
    usual_ms,
)
from iodiag.analysis.states.states import State, contradicts, queue_by_direction, states
from iodiag.analysis.view.device_traits import is_virtual
from iodiag.analysis.view.view import IDLE_IOS_PER_S, DeviceSeries

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

SAME_SPEED, MOSTLY_FULL = 0.1, 0.5
"""How far apart the kB/s of two states while busy are at one speed of the device, and the share of samples
from which a device that is full holds back whoever writes."""

LEAST_SHARE = 0.05
"""States of less of a device's time do not decide whether it is called healthy; symptoms look at each."""

NO_FLUSH_MS = 0.1
"""What a flush takes of a device that has nothing to write out, with the path to it."""

STREAM_KB = 512.0
"""Size of requests from which transfer is most of the latency on any disk."""


def waited(state: State) -> float:
    """How long all requests of a state waited together, by their number or latency, in the device's time."""
    return float(np.nanmax([0.0, state.depth, state.held])) * state.share


def lasting_states(series: DeviceSeries) -> list[State]:
    """What a device did, without what lasted for a moment alone; all of it where nothing lasted."""
    active = [state for state in states(series) if state.kind != "idle"]
    return [state for state in active if state.share >= LEAST_SHARE] or active


def health_in(series: DeviceSeries, state: State) -> ShownHealth:
    """What one state of a device shows: by its mean latency, its floods, and what reads alone wait."""
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
    usual = usual_of_state_ms(series, state)
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
    is_full = state.util >= FULL_UTIL
    if is_full and state.share >= MOSTLY_FULL:
        return False  # most of the time it gives no more
    # no class tells what such a device gives: its calmer samples have to, and not by chance
    least = LEAST_MOMENTS if is_full and class_of(series) == "unknown" else 1
    moved = state.rate * state.size_kb / max(state.util, LITTLE_UTIL)
    calmer = (
        one.rate * one.size_kb / one.util
        for one in lasting_states(series)
        if one.kind == "writes" and one.size_kb >= STREAM_KB and one.samples >= least
        if LITTLE_UTIL < one.util < BUSY_UTIL
    )
    return any(abs(other / moved - 1) <= SAME_SPEED for other in calmer)


def usual_of_state_ms(series: DeviceSeries, state: State) -> float:
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


def is_hardly_used(state: State) -> bool:
    """Whether so few requests came that their mean latency says little: nothing queued for them."""
    return bool(state.rate < IDLE_IOS_PER_S and state.util < LITTLE_UTIL and state.at_once < QUEUE_DEPTH)


def is_harmless(state: State) -> bool:
    """Whether hardly ever a request is in flight, and for no longer than a spinning disk takes."""
    slowest = SERVICE["spinning"].usual(weighted.or_zero(state.size_kb))
    return bool(state.util < LITTLE_UTIL and state.depth < HELD_READS and state.latency_ms <= slowest)
