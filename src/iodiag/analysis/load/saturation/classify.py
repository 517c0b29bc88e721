"""The verdict on each busy load level of a device: by measured latency, known disks, or its class."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from iodiag.analysis.load.queueing import (
    SLOWER_THAN_ALONE,
    Level,
    UnloadedBaseline,
    elasticity,
    fan_out,
    kept_up_ms,
    level_of,
    level_samples,
    load_levels,
    load_levels_where,
    places_of,
    unloaded,
)
from iodiag.analysis.load.saturation.class_latency import LIKE_SIZE, by_class
from iodiag.analysis.load.saturation.headroom import by_headroom, level_counted_in_ticks
from iodiag.analysis.load.saturation.judged_levels import STEADY, THRESHOLDS, Basis, JudgedLevel
from iodiag.analysis.load.saturation.layers import reaches_disks, spread_disks
from iodiag.analysis.load.saturation.parallelism import most_at_once, proof_of_parallelism
from iodiag.analysis.load.saturation.reference_latency import QUEUE_SLACK, calm_neighbour
from iodiag.analysis.measure.weighted import LEAST_REQUESTS
from iodiag.analysis.states.service_times import sane_limit_ms
from iodiag.analysis.view.device_traits import spindles
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.model.rule import Limits
from iodiag.table.result_cache import cached
from iodiag.table.table import Table


def classify(view: View, series: DeviceSeries, limits: Limits) -> list[JudgedLevel]:
    """Every busy load level of a device with its one verdict; empty where it was never busy."""
    return _classified(series, view, limits.only(THRESHOLDS))


@cached
def _classified(series: DeviceSeries, view: View, limits: Limits) -> list[JudgedLevel]:
    if not (series.samples.floats("util") >= limits.busy_util / 100).any():
        return []
    found = []
    samples = level_samples(series)
    is_busy = samples.floats("util") >= limits.busy_util / 100
    is_steady = samples.floats("busy") >= STEADY
    parts = (load_levels(series), load_levels_where(series, is_busy), load_levels_where(series, is_steady))
    for kind, alarming, calm in zip(*parts, strict=True):
        if alarming:
            alone = unloaded(series, kind)
            steady = [level for level in calm if level.requests >= LEAST_REQUESTS]
            facts = (_facts(view, series, level, steady, alone) for level in alarming)
            others = [level for levels in parts[1] if levels is not alarming for level in levels]
            told = (load._replace(lighter=_lighter(load.level, others, limits)) for load in facts)
            kept = _kept_up_ms(samples, [*alarming, *others], alarming[0].direction)
            told = (load._replace(kept_up_ms=kept) for load in told)
            found += [_with_verdict(view, series, load, limits) for load in told]
    ticks = level_counted_in_ticks(series, limits)
    return [*found, ticks] if ticks is not None else found


def of_samples(
    view: View, series: DeviceSeries, load: JudgedLevel, rows: Table, limits: Limits
) -> JudgedLevel | None:
    """What a saturated load is in all of some samples of the device, where it holds for their mean as well.

    None where these are judged otherwise, or of another direction or size.
    """
    prepared = level_samples(series)
    prepared = prepared[np.isin(prepared["sample"], rows["sample"])]
    is_inside = load.lower is not None and np.isin(load.lower.rows["sample"], rows["sample"]).any()
    sizes = prepared.floats("size_kb") / load.level.size_kb
    tenths, own = prepared.floats("kind") % 100 % 11, load.level.kind % 100 % 11
    is_alike = (sizes <= LIKE_SIZE) & (sizes >= 1 / LIKE_SIZE)
    is_alike &= (np.abs(tenths - own) <= 1) | ((np.clip(tenths, 1, 9) == tenths) & (1 <= own <= 9))
    if len(prepared) < len(rows) or is_inside or not is_alike.all():
        return None
    level = level_of(prepared)
    growth = elasticity(load.lower, level) if load.lower else math.nan
    limits = limits.only(THRESHOLDS)
    # nothing of the verdict on the load itself may stand for all of them
    anew = load._replace(level=level, elasticity=growth, basis="none", inflation=math.nan, headroom=())
    anew = anew._replace(verdict="indeterminate", reason="", slowest=None)
    told = _with_verdict(view, series, anew, limits)
    is_like = told.basis == load.basis and told.said.direction == load.said.direction
    return told if is_like and told.verdict == "saturated" else None


def _kept_up_ms(samples: Table, levels: Sequence[Level], direction: str) -> float:
    """The latency up to which all busy levels of a direction together followed the load."""
    rows = samples[np.sort(places_of([level for level in levels if level.direction == direction]))]
    return kept_up_ms(rows)


def _facts(
    view: View, series: DeviceSeries, level: Level, steady: Sequence[Level], unloaded: UnloadedBaseline | None
) -> JudgedLevel:
    below = [other for other in steady if other.busy_depth * 2 <= level.busy_depth]
    above = [
        other
        for other in steady
        if other.busy_depth >= 1.3 * level.busy_depth
        and other.latency_ms >= SLOWER_THAN_ALONE * level.latency_ms
    ]
    lower = max(below, key=lambda other: other.busy_depth, default=None)
    at_best = most_at_once(steady, unloaded)
    disks = spread_disks(view, series, level)
    return JudgedLevel(
        level=level,
        unloaded=unloaded,
        lower=lower,
        higher=max(above, key=lambda other: other.busy_rate, default=None),
        elasticity=elasticity(lower, level) if lower else float("nan"),
        servers=fan_out(steady[0], steady[1]) if len(steady) > 1 else float("nan"),
        spindles=spindles(series, writes=level.direction == "writes", parity=bool(disks)),
        parallel=proof_of_parallelism(series, level, at_best),
        at_best=at_best,
        below=disks,
    )


def _with_verdict(view: View, series: DeviceSeries, load: JudgedLevel, limits: Limits) -> JudgedLevel:
    """The verdict: by measured inflation, else by known spindles, else by what the class would take."""
    level, unloaded = load.level, load.unloaded
    is_queued = unloaded is not None and (
        level.latency_ms <= QUEUE_SLACK * max(1.0, level.busy_depth) * unloaded.latency_ms
    )
    if unloaded is not None and unloaded.is_measured and is_queued:
        return _by_latency(series, load, limits)
    if _is_sick(series, level) or _is_sick_below(view, series, level):
        return load._replace(reason=_SICK)
    is_full = level.util >= limits.full_util / 100
    if load.spindles is not None and is_full:
        load = load._replace(basis="spindles", inflation=(level.depth + load.spindles - 1) / load.spindles)
        if load.inflation >= limits.inflation:
            if reaches_disks(view, series, level, limits):
                return load._replace(verdict="saturated")
            if not any(disk.util >= limits.busy_util / 100 for disk in load.below):
                return load._replace(reason=_ABOVE)
            return load._replace(verdict="approaching")
        if load.inflation >= limits.calm_inflation:
            return load._replace(verdict="approaching")
        return by_headroom(series, load, limits)
    # more in flight cost less: that is no baseline
    is_lighter = unloaded is not None and unloaded.depth < level.depth
    if unloaded is not None and is_queued and is_lighter and load.lower is not None:
        least = level.latency_ms / unloaded.latency_ms
        if least > limits.inflation:
            return _by_latency(series, load, limits)
    if (found := by_class(view, series, load, limits)) is not None:
        return found
    if is_full and _moves_no_more(load, limits):
        return load._replace(basis="throughput", verdict="saturated")
    calm = by_headroom(series, load, limits)
    is_open = calm.verdict == "indeterminate" and not calm.headroom
    if is_open and (beside := calm_neighbour(view, series, level, limits)) is not None:
        inflation = level.latency_ms / beside.latency_ms
        return load._replace(basis="beside", inflation=inflation, unloaded=beside, verdict="saturated")
    return calm


def _by_latency(series: DeviceSeries, load: JudgedLevel, limits: Limits) -> JudgedLevel:
    level, unloaded = load.level, load.unloaded
    assert unloaded is not None
    inflation = level.latency_ms / unloaded.latency_ms
    basis: Basis = "measured" if unloaded.is_measured else "least seen"
    load = load._replace(inflation=inflation, basis=basis)
    if inflation > limits.inflation:
        is_flat = load.elasticity <= limits.flat_elasticity
        is_deep = level.busy_depth >= limits.hard_depth
        is_over = is_flat or (inflation > limits.hard_inflation and is_deep)
        return load._replace(verdict="saturated" if is_over else "approaching")
    if inflation > limits.calm_inflation:
        return load._replace(verdict="approaching")
    return by_headroom(series, load, limits)


_ABOVE = "its requests wait, but none of the disks below does: the wait is above them"


def _is_sick(series: DeviceSeries, level: Level) -> bool:
    """Whether at its best each request keeps the device busy for longer than any healthy one takes."""
    fastest = float((level.rows.floats("ios_per_s") / level.rows.floats("busy")).max())
    return bool(1000 / fastest > sane_limit_ms(series, level.size_kb))


def _is_sick_below(view: View, series: DeviceSeries, level: Level) -> bool:
    """Whether the only disk below is slow itself meanwhile: it holds what waits above it."""
    below = view.series(series.leaves[0].name) if len(series.leaves) == 1 else None
    if below is None or below.name == series.name:
        return False
    rows = level_samples(below)
    rows = rows[same_reports(rows, level.rows)]
    return len(rows) > 0 and _is_sick(below, level_of(rows))


_SICK = "each request keeps it busy for longer than a healthy device takes: it is slow rather than full"

AS_MUCH = 0.9
"""Share of the kB/s of another load from which the device is at the same ceiling with both."""


def _moves_no_more(load: JudgedLevel, limits: Limits) -> bool:
    """Whether large requests of another size moved as many kB with half of the queue or less.

    Had they moved more, this is not all that the device can do.
    """
    other = load.lighter
    if other is None or other.busy_depth * 2 > load.level.busy_depth:
        return False
    level = load.level
    is_flat = _growth(other, level) <= limits.flat_elasticity
    is_all = level.busy_rate * level.size_kb >= AS_MUCH * other.busy_rate * other.size_kb
    return level.size_kb >= limits.stream and is_flat and is_all


def _lighter(level: Level, others: Sequence[Level], limits: Limits) -> Level | None:
    streams = [
        other
        for other in others
        if other.kind % 100 == level.kind % 100 and other.size_kb >= limits.stream
        if other.util >= limits.full_util / 100
    ]
    return min(streams, key=lambda other: other.busy_depth, default=None)


def _growth(lighter: Level, heavier: Level) -> float:
    """Growth of kB/s per growth of depth, both ln."""
    moved = heavier.busy_rate * heavier.size_kb / (lighter.busy_rate * lighter.size_kb)
    return math.log(moved) / math.log(heavier.busy_depth / lighter.busy_depth)
