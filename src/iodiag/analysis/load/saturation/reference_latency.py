"""What a latency is compared with without a measured one: calmer samples, another device, the class."""

from __future__ import annotations

import re

import numpy as np

from iodiag.analysis.array.equal_rates import disks_of
from iodiag.analysis.host.who_waits import do_several_wait
from iodiag.analysis.load.queueing import DirectionLoad, Level, UnloadedBaseline, counted, level_samples
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.measure.weighted import LEAST_REQUESTS
from iodiag.analysis.states.service_times import SERVICE, class_of, usual_ms
from iodiag.analysis.states.states import states
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.model.rule import Limits

QUEUE_SLACK = 1.5
"""A queue of N makes a request at most N times as long; what is longer still was of another kind."""

NEVER_IDLE = 0.95
"""Busy share without idle time but for what a clock is off by."""


def calm_neighbour(view: View, series: DeviceSeries, level: Level, limits: Limits) -> UnloadedBaseline | None:
    """What like requests take on a device of the same kind that has a far shorter queue, in the same reports.

    Where the one with the queue serves no fewer, it is full and not slow: so even what is far quicker than
    its class may be shows a queue.
    """
    # of the direction alone: flushes are in the counter of the queue as well
    held = level.direction_load.rate * level.direction_load.latency_ms / 1000
    if level.util < NEVER_IDLE or min(level.busy_depth, held) < limits.hard_depth or series.is_stacked:
        return None
    kind = _kind_of_name(series.name)
    for other in (one for one in disks_of(view) if one is not series and _kind_of_name(one.name) == kind):
        for calm in (state for state in states(other) if state.kind == level.direction):
            is_like = calm.size_kb <= _SAME_SIZE * level.size_kb <= _SAME_SIZE**2 * calm.size_kb
            is_calm = calm.util < _CALM_UTIL and calm.at_once * _SHORTER <= level.busy_depth
            is_quick = 0 < calm.latency_ms * _BESIDE_TIMES <= level.latency_ms
            is_many = _LEAST_RATE <= calm.rate <= level.rate
            if is_like and is_calm and is_quick and is_many and same_reports(calm.rows, level.rows).any():
                return UnloadedBaseline(calm.latency_ms, False, calm.at_once, calm.rows, other.name)
    return None


def _kind_of_name(name: str) -> str:
    """What the names of devices of one kind have in common: sda and sdh, nvme0n1 and nvme3n1."""
    return re.sub(r"\d+", "0", name) if name[-1:].isdigit() else name[:-1]


_SAME_SIZE, _LEAST_RATE, _CALM_UTIL, _SHORTER, _BESIDE_TIMES = 1.2, 1000.0, 0.8, 5.0, 4.0
"""Times that sizes are apart which cost the same; requests per second and the busy share of a device that is
calm under load; and times as short a queue, and times as quick."""


def calmer_samples(
    view: View, series: DeviceSeries, level: Level, requests: DirectionLoad, limits: Limits
) -> UnloadedBaseline | None:
    """What such requests take at most by calmer samples of the same direction, where they wait for longer.

    A request takes no longer than in proportion to its size, nor a smaller one longer than a larger one.
    """
    depth = requests.depth * level.busy_depth / level.depth
    usual = usual_of_class_ms(series, requests)
    is_queue = has_queue(series, level, depth, limits)
    if requests.latency_ms <= usual or not is_queue or not do_several_wait(view, level.rows):
        return None
    rows = level_samples(series)
    tenths = rows.floats("kind") % 100 % 11
    is_like = np.abs(tenths - level.kind % 100 % 11) <= 1
    is_like &= (2 * rows.floats("at_once") <= level.busy_depth) & (counted(rows) >= LEAST_REQUESTS)
    alone = rows.floats("cost_ms") * np.fmax(1.0, level.size_kb / rows.floats("size_kb"))
    # what waits for longer than in line was of another kind
    is_like &= requests.latency_ms <= QUEUE_SLACK * max(1.0, level.busy_depth) * alone
    if not is_like.any() or (least := median(alone[is_like])) * limits.inflation >= requests.latency_ms:
        return None
    rows = rows[is_like]
    return UnloadedBaseline(least, False, weighted.mean(rows, "depth"), rows)


def usual_of_class_ms(series: DeviceSeries, requests: DirectionLoad) -> float:
    """What a healthy device takes at most; what does not spin and is no NVMe may stand behind a network.

    An unknown class means the slowest, however many requests it serves: an array of disks seeks, too.
    """
    usual = usual_ms(series, requests.size_kb)
    if class_of(series) == "nvme":
        return usual
    return max(usual, SERVICE["network"].usual(requests.size_kb))


def has_queue(series: DeviceSeries, level: Level, depth: float, limits: Limits) -> bool:
    """Whether a device that may seek has no idle time, and a queue."""
    may_seek = class_of(series) not in ("nvme", "solid")
    return may_seek and level.util >= NEVER_IDLE and depth >= limits.parallel_depth
