"""The devices of a host with busy levels of one verdict, and what a rule says of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from iodiag.analysis.array.equal_rates import ALIKE, are_alike, disks_of
from iodiag.analysis.array.topmost_devices import lowest, representatives
from iodiag.analysis.load.queueing import Level
from iodiag.analysis.load.saturation.classify import AS_MUCH, classify
from iodiag.analysis.load.saturation.judged_levels import THRESHOLDS, JudgedLevel, LevelVerdict
from iodiag.analysis.load.saturation.layers import is_unplaced
from iodiag.analysis.load.saturation.not_busy import not_busy
from iodiag.analysis.measure import weighted
from iodiag.analysis.states.service_times import SERVICE, class_of
from iodiag.analysis.view.device_names import is_physical
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.model.finding import Outcome
from iodiag.model.rule import Limits
from iodiag.table.result_cache import cached
from iodiag.table.table import Floats


class Busy(NamedTuple):
    """The device that speaks for a stack, its busy levels of one verdict, and others with the same."""

    series: DeviceSeries
    loads: list[JudgedLevel]
    below: tuple[str, ...]


Excuse = Callable[[DeviceSeries, Sequence[JudgedLevel]], Outcome | None]
"""From a device and all its loads: why those of the verdict are no finding; None where they are."""


def with_verdict(
    view: View, rule: str, limits: Limits, verdict: LevelVerdict, clear: str, excuse: Excuse
) -> Iterator[Busy | Outcome]:
    """The devices with busy levels of a verdict, and what a rule about it says of the others.

    Of saturated ones those come first that hold most, and no hair of a threshold leaves a twin of them out.
    """
    found: dict[str, tuple[DeviceSeries, list[JudgedLevel]]] = {}
    others: dict[str, Outcome] = {}
    for series in view.devices:
        loads = classify(view, series, limits)
        wanted = [load for load in loads if load.verdict == verdict]
        is_open = next((load for load in loads if _is_open(load, verdict)), None)
        is_held = bool(loads) and _is_beside_full(view, series, limits)
        if (excused := excuse(series, loads)) is not None:
            yield excused
        elif wanted and not (is_held and verdict == "false alarm"):
            found[series.name] = series, wanted
        elif is_open is not None:
            others[series.name] = Outcome(rule, "undetermined", (series.name,), is_open.reason)
        elif is_held:
            others[series.name] = Outcome(rule, "undetermined", (series.name,), _BESIDE)
        elif loads:
            others[series.name] = Outcome(rule, "clear", (series.name,), clear)
        else:
            others[series.name] = not_busy(rule, series, limits)
    if verdict == "saturated":
        found |= _twins(view, [series for series, _ in found.values()], others, limits, excuse)
        found |= _at_ceilings(view, found, limits, excuse)
        stacks = list(lowest(view, found).items())
        # what stands on disks that nothing names comes after disks that are full
        stacks.sort(key=lambda one: (is_unplaced(found[one[0]][0]), -_held(found[one[0]][1])))
    else:
        stacks = list(representatives(view, found).items())
    yield from (outcome for name, outcome in others.items() if name not in found)
    for name, below in stacks:
        yield Busy(*found[name], below)


def _is_open(load: JudgedLevel, verdict: LevelVerdict) -> bool:
    """Whether a busy level leaves open if the device was so: what is told of its util says no more."""
    return load.verdict == "indeterminate" or (verdict != "false alarm" and bool(load.reason))


_BESIDE = "it runs at the rate of a device that is full: what holds that one may hold it, too"

_SAME_RATE = 0.001
"""How far apart rates of two devices are that one limit, or one stripe, keeps equal."""


def _is_beside_full(view: View, series: DeviceSeries, limits: Limits) -> bool:
    """Whether a device that is full serves as many requests per second as this one."""
    names, rates = _full_rates(view, limits.only(THRESHOLDS))
    rate = weighted.mean(series.samples, "ios_per_s")
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = np.flatnonzero(np.abs(rates / rate - 1) <= _SAME_RATE)
    return any(names[place] != series.name for place in alike)


@cached
def _full_rates(view: View, limits: Limits) -> tuple[list[str], Floats]:
    """The devices that are full, and how many requests per second each serves."""
    full = [
        series
        for series in view.devices
        if any(load.verdict == "saturated" for load in classify(view, series, limits))
    ]
    rates = [weighted.mean(series.samples, "ios_per_s") for series in full]
    return [series.name for series in full], np.array(rates)


def _held(loads: Sequence[JudgedLevel]) -> float:
    """Requests in flight times how long each waits: what makes one device worse than its like."""
    return max(load.level.depth * load.level.latency_ms for load in loads)


def _twins(
    view: View, found: Sequence[DeviceSeries], names: Iterable[str], limits: Limits, excuse: Excuse
) -> dict[str, tuple[DeviceSeries, list[JudgedLevel]]]:
    """Those of the names that do and wait as a saturated one does, and pass its thresholds within ALIKE."""
    near = {name: limits.as_dict()[name] / ALIKE for name in _OF_DEGREE}
    near["full_util"] = limits.full_util / HARDLY_LESS
    relaxed = Limits(limits.only(THRESHOLDS).as_dict() | near)
    twins: dict[str, tuple[DeviceSeries, list[JudgedLevel]]] = {}
    others = [series for name in names if (series := view.series(name)) is not None]
    # the slowest first: what is like one of them may be like the next
    others.sort(key=lambda series: -weighted.or_zero(weighted.mean(series.loaded, "latency_ms")))
    for series in others:
        if not any(are_alike(series, other) for other in (*found, *(twin for twin, _ in twins.values()))):
            continue
        loads = classify(view, series, relaxed)
        full = [load for load in loads if load.verdict == "saturated"]
        if full and excuse(series, loads) is None:
            twins[series.name] = series, full
    return twins


def _at_ceilings(
    view: View, found: Mapping[str, tuple[DeviceSeries, list[JudgedLevel]]], limits: Limits, excuse: Excuse
) -> dict[str, tuple[DeviceSeries, list[JudgedLevel]]]:
    """Other disks that move as many bytes as a saturated one does with a longer queue, in like requests.

    A longer queue moves no more there, so that they are at the ceiling too, however short their own is. Legs
    of a stripe move equally much without one: the queue has to be one that fills a device by itself, and to
    cost twice what a request takes alone, on flash where the class is unknown.
    """
    full = [(series, load) for series, loads in found.values() for load in loads if is_physical(series.name)]
    full.sort(key=lambda one: -one[1].level.depth)
    at_ceiling: dict[str, tuple[DeviceSeries, list[JudgedLevel]]] = {}
    for series in (one for one in disks_of(view) if one.name not in found):
        loads = classify(view, series, limits)
        told = []
        for load in loads:
            name, level = class_of(series), load.level
            usual = SERVICE["solid" if name == "unknown" else name].usual(level.size_kb)
            is_calm = level.latency_ms <= limits.calm_inflation * usual or level.depth < limits.burst_depth
            if load.verdict != "indeterminate" or is_calm:
                continue
            beside = (other.level for one, other in full if class_of(one) == name)
            if (deeper := next((o for o in beside if _is_one_rate(level, o, limits)), None)) is not None:
                told.append(load._replace(basis="ceiling", higher=deeper, verdict="saturated", reason=""))
        if told and excuse(series, loads) is None:
            at_ceiling[series.name] = series, told
    return at_ceiling


def _is_one_rate(level: Level, deeper: Level, limits: Limits) -> bool:
    """Whether two full devices move as much in large requests of one kind, in the same reports."""
    kb, other = (one.rate * one.size_kb for one in (level, deeper))
    is_full = min(level.util, deeper.util) >= limits.full_util / 100 and level.depth <= deeper.depth
    is_large = min(level.size_kb, deeper.size_kb) >= limits.stream and level.kind == deeper.kind
    is_equal = min(kb, other) >= AS_MUCH * max(kb, other)
    return is_full and is_large and is_equal and bool(same_reports(level.rows, deeper.rows).any())


_OF_DEGREE = ("beyond_any", "busy_util", "burst_depth", "hard_depth", "inflation", "long_queue")

HARDLY_LESS = 1.125
"""That a device is full is less a matter of degree: by so much one may be less busy than its like."""
