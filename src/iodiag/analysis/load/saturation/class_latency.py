"""Whether the requests of a load wait for longer than a healthy device of the class takes."""

from __future__ import annotations

import math

import numpy as np

from iodiag.analysis.host.who_waits import SEVERAL, do_several_wait, does_nobody_wait, is_wait_unknown
from iodiag.analysis.load.queueing import DirectionLoad, Level
from iodiag.analysis.load.saturation.judged_levels import Basis, JudgedLevel
from iodiag.analysis.load.saturation.layers import reaches_disks, slower_above
from iodiag.analysis.load.saturation.reference_latency import calmer_samples, has_queue, usual_of_class_ms
from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.measure.weighted import LEAST_REQUESTS
from iodiag.analysis.states.service_times import (
    FASTER_THAN_HEADS,
    FASTER_THAN_HEADS_KB,
    FASTER_THAN_SEEKS,
    RANDOM_KB,
    SERVICE,
    class_of,
    sane_limit_ms,
    streams_kb,
    usual_ms,
)
from iodiag.analysis.states.states import states
from iodiag.analysis.view.device_traits import cloud_model
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.rule import Limits


def by_class(view: View, series: DeviceSeries, load: JudgedLevel, limits: Limits) -> JudgedLevel | None:
    """What a latency beyond that of the class or of calmer samples tells of a load; None without one."""
    level = load.level
    for requests in (level.direction_load, level.whole):
        inflation = requests.latency_ms / usual_of_class_ms(series, requests)
        basis = _over(view, series, level, requests, inflation, limits)
        if basis in ("class", "either", "reads") and (slow := _slow_itself(series, requests, limits)):
            return load._replace(reason=slow)
        calmer = None
        if basis is None and (calmer := calmer_samples(view, series, level, requests, limits)) is not None:
            basis, inflation = "calmer", requests.latency_ms / calmer.latency_ms
        if basis is not None and level.latency_ms <= load.kept_up_ms:
            return load._replace(reason=_FOLLOWS)
        if basis is not None and reaches_disks(view, series, level, limits):
            load = load._replace(basis=basis, inflation=inflation, verdict="saturated")
            load = load._replace(unloaded=calmer or load.unloaded)
            is_of_all = basis in ("queue", "speed")
            return load._replace(slowest=level.whole if is_of_all else requests)
    return None


def _slow_itself(series: DeviceSeries, requests: DirectionLoad, limits: Limits) -> str:
    """Why a latency beyond the class's is no queue; empty where nothing tells.

    One request alone took as long there, or it served far more, and quicker: it was slower, not full.
    """
    column = f"{requests.direction}_per_s" if requests.direction in ("reads", "writes") else "ios_per_s"
    sizes = requests.size_kb / LIKE_SIZE, requests.size_kb * LIKE_SIZE
    like = [state for state in states(series) if sizes[0] <= state.size_kb <= sizes[1]]
    quick = [s for s in like if s.latency_ms * limits.calm_inflation <= requests.latency_ms]
    counted = [state for state in quick if state.requests >= LEAST_REQUESTS]
    # some layouts count no direction apart
    most = max((np.fmax(state.mean(column), 0) or state.rate for state in counted), default=0.0)
    values: Values = {"rate": most, "now": requests.rate, "latency": requests.latency_ms}
    is_seekless = class_of(series) in ("nvme", "solid", "network")
    if is_seekless and most >= limits.calm_inflation * requests.rate:
        text = "it served {rate:.0f}/s in at most half of the {latency} ms at other times, {now:.0f}/s here: "
        return say(text + "slow, not full", values)
    alone = [s for s in like if LEAST_ALONE <= s.at_once <= limits.one_at_a_time]
    count = sum(state.requests for state in alone)
    if not count >= LEAST_CALM:
        return ""
    values["alone"] = sum(state.latency_ms * state.requests for state in alone) / count
    if requests.latency_ms >= limits.inflation * float(values["alone"]):
        return ""
    return say("one request alone takes {alone} ms on it: it is slow by itself", values)


LEAST_ALONE, LIKE_SIZE, LEAST_CALM = 0.8, 4.0, 10.0
"""Requests in flight from which it is one while the device is busy, sizes that take about as long, and the
requests whose mean says what one takes (to a third)."""


def _over(
    view: View, series: DeviceSeries, level: Level, requests: DirectionLoad, inflation: float, limits: Limits
) -> Basis | None:
    """By what requests of a level wait longer than their class takes: their latency, or how many they are."""
    is_full = level.util >= limits.full_util / 100
    depth = requests.depth * level.busy_depth / level.depth
    is_deep = depth >= (limits.hard_depth if is_full else limits.burst_depth)
    # longer than any healthy device takes for one alone, and not that slow by itself: they wait in line
    is_queue = depth > limits.inflation and requests.latency_ms > sane_limit_ms(series, requests.size_kb)
    is_slow = inflation > limits.calm_inflation and depth >= limits.hard_depth
    # how many disks share the queue is unknown, but one request alone takes less on any
    is_shared = is_full and is_deep and inflation > limits.beyond_any
    is_shared &= is_no_single_spindle(series, level, requests)
    is_held_up = is_full and is_slow and bool(slower_above(view, series, level))
    if (is_deep and inflation > limits.inflation) or (is_full and is_queue) or is_held_up or is_shared:
        return "class"
    if inflation > limits.calm_inflation and has_queue(series, level, depth, limits):
        if do_several_wait(view, level.rows):
            return "class"
        if _is_full_or_slow(view, series, level, requests, limits):
            return "either"
    if inflation > limits.calm_inflation and _do_reads_wait(view, series, level, requests, depth, limits):
        return "reads"
    # of a known class: it moves what such devices do, with more in flight than a controller takes
    is_long = is_full and depth >= limits.burst_depth
    moved = served_rate(series, level, requests) * requests.size_kb
    is_at_speed = moved >= streams_kb(series) and class_of(series) in ("nvme", "solid")
    if is_long and is_at_speed and inflation > limits.calm_inflation:
        return "class"
    if is_full and _is_beyond(series, level, limits):
        return "queue"
    # what moves more than a disk with heads is none, nor slow for want of a seek
    most = limits.calm_inflation * SERVICE["solid"].usual(requests.size_kb)
    is_swift = moved >= FASTER_THAN_HEADS_KB and served_rate(series, level, requests) >= FASTER_THAN_HEADS
    is_swift &= class_of(series) == "unknown"
    return "speed" if is_long and is_swift and requests.latency_ms > most else None


def _is_full_or_slow(
    view: View, series: DeviceSeries, level: Level, requests: DirectionLoad, limits: Limits
) -> bool:
    """Whether what is read waits for twice as long as any class takes alone, and nothing counts who waits.

    What serves one at a time has a line then, and what serves them at once is slow; a stream has its rate.
    """
    usual = max(usual_of_class_ms(series, requests), SERVICE["spinning"].usual(requests.size_kb))
    is_long = requests.latency_ms > limits.calm_inflation * usual
    is_stream = requests.rate * requests.size_kb >= streams_kb(series)
    return is_long and not is_stream and level.direction != "writes" and is_wait_unknown(view, level.rows)


def _do_reads_wait(
    view: View, series: DeviceSeries, level: Level, requests: DirectionLoad, depth: float, limits: Limits
) -> bool:
    """Whether reads of a device that may spin wait in line, behind writes that a cache takes at once.

    A flat rate is a cap's, and nobody waits for those of a scrub where it is counted.
    """
    quick = min((way.latency_ms for way in level.ways), default=math.nan)
    is_apart = requests.direction == "reads" and requests.latency_ms >= CACHED * quick
    is_queue = level.util >= NEARLY_FULL and depth >= SEVERAL and requests.rate >= LEAST_READS
    rates, late = series.loaded.floats("ios_per_s"), series.loaded.floats("read_await_ms")
    is_late = (late >= requests.latency_ms / 2) & (series.loaded.floats("util") >= NEARLY_FULL)
    is_flat = np.std(rates) <= FLAT_RATE * np.mean(rates)
    is_lasting = is_late.sum() >= limits.lasting and not is_flat and not does_nobody_wait(view, level.rows)
    return bool(is_apart and is_queue and is_lasting and class_of(series) in ("spinning", "unknown"))


CACHED, NEARLY_FULL, LEAST_READS, FLAT_RATE = 10.0, 0.8, 25.0, 0.01
"""Times what a write takes that a read does, where a cache takes the writes; the busy share of hardly any
idle time; reads per second that somebody may wait for; and the spread of a rate that a cap holds."""


def is_no_single_spindle(series: DeviceSeries, level: Level, requests: DirectionLoad) -> bool:
    """Whether a device of unknown class serves more small requests than one disk with heads can."""
    is_fast = served_rate(series, level, requests) >= FASTER_THAN_SEEKS and requests.size_kb < RANDOM_KB
    return is_fast and class_of(series) == "unknown"


def served_rate(series: DeviceSeries, level: Level, requests: DirectionLoad) -> float:
    """Requests/s as the medium meets them; 0 for what is written above it, to be merged on the way down."""
    is_merged = series.is_stacked and requests.direction != "reads"
    return 0.0 if is_merged else requests.rate * level.busy_rate / level.rate


def _is_beyond(series: DeviceSeries, level: Level, limits: Limits) -> bool:
    """Whether more is in flight than a device of its class, with its controller, takes at once.

    NVMe takes more; there a latency above the usual one shows that they wait.
    """
    name = class_of(series)
    is_slow = level.latency_ms > usual_ms(series, level.size_kb) and not cloud_model(series)
    return level.busy_depth >= limits.long_queue and (
        name in ("solid", "unknown") or (name == "nvme" and is_slow)
    )


_FOLLOWS = "it did more in some samples than in others, in the same time for each: slow, yet not full"
