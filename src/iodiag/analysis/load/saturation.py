"""The verdict on a device's busy load levels: a false alarm, approaching, saturated, or open.

One function gives every busy level exactly one verdict, and the three rules on load read it, so
they exclude each other by construction. Their thresholds are THRESHOLDS, declared by all three.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from iodiag.analysis.array.equal_rates import ALIKE, are_alike, disks_of
from iodiag.analysis.array.side_by_side import report_keys
from iodiag.analysis.array.topmost_devices import ADDED, lowest, representatives
from iodiag.analysis.host.who_waits import SEVERAL, do_several_wait, does_nobody_wait, is_wait_unknown
from iodiag.analysis.load.queueing import (
    ALONE,
    SLOWER_THAN_ALONE,
    DirectionLoad,
    Level,
    UnloadedBaseline,
    counted,
    elasticity,
    fan_out,
    kept_up_ms,
    level_of,
    level_samples,
    load_levels,
    load_levels_where,
    overlapped,
    places_of,
    unloaded,
)
from iodiag.analysis.load.stalls import stalled
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.measure.weighted import LEAST_REQUESTS
from iodiag.analysis.measure.windows import longest
from iodiag.analysis.states.service_times import (
    CALM,
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
from iodiag.analysis.states.states import State, contradicts, queue_by_direction, states
from iodiag.analysis.view.device_traits import cloud_model, has_parity, is_spinning, is_spread, spindles
from iodiag.analysis.view.request_columns import LITTLE
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.model.finding import Outcome
from iodiag.model.rule import Limits, Threshold
from iodiag.model.units import HALF_DIGIT
from iodiag.table.result_cache import cached
from iodiag.table.table import Floats, Table

LevelVerdict = Literal["false alarm", "approaching", "saturated", "indeterminate"]

HeadroomReason = Literal[
    "scaled", "flat latency", "one at a time", "slow few", "plausible latency", "idle spindles", "ticks"
]
"""Why a level is a false alarm: the device did more at a deeper queue; its latency is near that of one
request alone; there was never a second request; a few requests took long, which leaves its limit open; its
latency is that of an unloaded device of its class; more disks than requests; util was counted in ticks."""

Basis = Literal[
    "measured",
    "least seen",
    "spindles",
    "class",
    "calmer",
    "beside",
    "either",
    "reads",
    "queue",
    "throughput",
    "speed",
    "none",
]
"""What an inflation is taken against (`beside`: another device in the same reports); or that it is too long
for every class, in line or not; or that reads wait behind quick writes; or that the queue is longer than any
of its class takes at once; or that a deeper one moved no more kB, whatever their size; or that it moves more
than a disk with heads does."""

STEADY = 0.5
"""Busy share from which a sample can stand for a load: its rate and depth are of one mind."""

HOT = 0.5
"""Busy share of a disk from which less than twice as much is left of the array above it: it is not calm."""

LEAST_OVERLAP = 1.5
"""Requests served at once that prove a parallel device; a disk that reorders its queue gains less."""

QUEUE_SLACK = 1.5
"""A queue of N makes a request at most N times as long; what is longer still was of another kind."""

SOLID_MOST_MS = 5.0
"""Latency up to which a device without spindles looks unloaded with a few requests in flight: three
times the 1.5 ms of a slow network volume, in round numbers."""

NEVER_IDLE = 0.95
"""Busy share without idle time but for what a clock is off by."""

MOST_UTIL = 1.02
"""A share of time, and what two clocks may differ by."""

_PERCONA = "Percona 2014: three times the latency of one stream is the overload line"
_MODEL = "at most 1/(I - 1) more throughput is left in a closed queue of c servers"

THRESHOLDS = {
    "busy_util": Threshold(70, "%", "util from which a load is judged", "below it nobody takes alarm"),
    "full_util": Threshold(
        90, "%", "util that known spindles or a class need", "judgement: no idle time to speak of"
    ),
    "burst_depth": Threshold(
        32,
        "requests",
        "depth while busy at which a device was full whenever it was busy",
        "the depth of a SATA queue",
    ),
    "calm_inflation": Threshold(
        2,
        "x",
        "latency over that of one request alone up to which a device is calm",
        _MODEL + ": I = 2 → 100 %",
    ),
    "inflation": Threshold(3, "x", "inflation of latency that says overload", _PERCONA),
    "hard_inflation": Threshold(
        10, "x", "inflation that needs no second load level", _MODEL + ": I = 10 → 11 %"
    ),
    "long_queue": Threshold(
        128,
        "requests",
        "depth that no disk nor controller takes at once",
        "nr_requests; SATA takes 32 at once, SAS 64",
    ),
    "hard_depth": Threshold(
        8,
        "requests",
        "depth that goes with it, or with an inflation over the class's own latency",
        "judgement: a real queue, not a slow seek",
    ),
    "flat_elasticity": Threshold(
        0.3,
        "",
        "growth of throughput per growth of depth (both ln) up to which more queue is useless",
        "between measured steps that paid (0.59, 0.52) and that did not (0.25)",
    ),
    "scaling": Threshold(
        1.3,
        "x",
        "throughput at a deeper queue that proves headroom",
        "judgement: above noise and 95 → 100 % util",
    ),
    "one_at_a_time": Threshold(
        1.5,
        "requests",
        "depth while busy up to which util shows the client's rhythm",
        "judgement: 1.0 to 1.05 measured",
    ),
    "stream": Threshold(
        64,
        "kB",
        "size from which kB/s tell what is moved, whatever the size of the requests",
        "half the default readahead",
    ),
    "lasting": Threshold(3, "samples", "samples that are more than a passing flood", "judgement"),
    "share": Threshold(
        20,
        "%",
        "share of the time with I/O that fewer samples must last to be told",
        "judgement: one in five",
    ),
    "parallel_depth": Threshold(
        4,
        "requests",
        "depth that a parallel device serves at once",
        "the queue depths of small cloud volumes; SATA SSDs have 4 to 8 channels",
    ),
}


class Disk(NamedTuple):
    """A disk below an array, its samples in the reports of a level, and their mean util (0..1)."""

    name: str
    util: float
    rows: Table


class JudgedLevel(NamedTuple):
    """A busy level with its verdict, and everything that the verdict rests on.

    `inflation` is I: against `unloaded`, from the spindles' model (`basis` says which) or against
    what a device of the class takes at the longest. `lower` and `higher` are the comparable levels
    below and above, `lighter` the one of the same direction, full, and of another size that moved large
    requests with the shortest queue, `elasticity` is against `lower`, `servers` the fan-out estimate
    between the lightest comparable level and the next. `parallel` says what shows that several requests are
    served at once, with `at_best` of them at the least where rates tell. `below` are the disks
    under a spread device. `kept_up_ms` is the latency up to which the device followed the load. `reason`
    says of an indeterminate level what would settle it.
    """

    level: Level
    verdict: LevelVerdict = "indeterminate"
    unloaded: UnloadedBaseline | None = None
    inflation: float = float("nan")
    basis: Basis = "none"
    lower: Level | None = None
    lighter: Level | None = None
    higher: Level | None = None
    elasticity: float = float("nan")
    servers: float = float("nan")
    spindles: float | None = None
    parallel: str = ""
    at_best: float = float("nan")
    headroom: tuple[HeadroomReason, ...] = ()
    below: tuple[Disk, ...] = ()
    reason: str = ""
    kept_up_ms: float = float("nan")
    slowest: DirectionLoad | None = None

    @property
    def hottest(self) -> Disk | None:
        """The busiest disk under a spread device, which bounds what it can do."""
        return max(self.below, key=lambda disk: disk.util, default=None)

    @property
    def said(self) -> DirectionLoad:
        """What sentences say: of those that wait too long for their class, else of all requests."""
        return self.slowest or self.level.whole


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
    ticks = _ticks(series, limits)
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
    told = _with_verdict(view, series, load._replace(level=level, elasticity=growth, slowest=None), limits)
    is_like = told.basis == load.basis and told.said.direction == load.said.direction
    return told if is_like and told.verdict == "saturated" else None


def _kept_up_ms(samples: Table, levels: Sequence[Level], direction: str) -> float:
    """The latency up to which all busy levels of a direction together followed the load."""
    rows = samples[np.sort(places_of([level for level in levels if level.direction == direction]))]
    return kept_up_ms(rows)


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
            others[series.name] = _not_busy(rule, series, limits)
    if verdict == "saturated":
        found |= _twins(view, [series for series, _ in found.values()], others, limits, excuse)
        stacks = list(lowest(view, found).items())
        # what stands on disks that nothing names comes after disks that are full
        stacks.sort(key=lambda one: (_is_unplaced(found[one[0]][0]), -_held(found[one[0]][1])))
    else:
        stacks = list(representatives(view, found).items())
    yield from (outcome for name, outcome in others.items() if name not in found)
    for name, below in stacks:
        yield Busy(*found[name], below)


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


def _is_unplaced(series: DeviceSeries) -> bool:
    return series.is_stacked and not (series.device and series.device.members)


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


_OF_DEGREE = ("busy_util", "burst_depth", "hard_depth", "inflation", "long_queue")
HARDLY_LESS = 1.125
"""That a device is full is less a matter of degree: by so much one may be less busy than its like."""


def _not_busy(rule: str, series: DeviceSeries, limits: Limits) -> Outcome:
    """What a rule says of a device without a busy load level: util alone clears nothing."""
    reason = UNTIMED if series.is_untimed else ""
    if not reason and (series.samples.floats("util") >= limits.busy_util / 100).any():
        reason = "busy at times, but nothing that completed then tells of its limit"
    if not reason and series.samples.has("held_besides"):
        reason = "its busy share holds a request that never completes, or a counter that leaked"
    reason = reason or next((said for state in states(series) if (said := _contradicted(series, state))), "")
    if reason:
        return Outcome(rule, "undetermined", (series.name,), reason)
    return Outcome(
        rule, "clear", (series.name,), f"never {limits.busy_util:.0f} % busy, nor a queue while it was"
    )


def _contradicted(series: DeviceSeries, state: State) -> str:
    """Why a state in which a device was seldom busy does not show that it kept up; empty where it does."""
    if contradicts(state):
        return "rate times latency makes more requests in flight than its counters of the queue show"
    values: Values = {"util": 100 * state.util}
    if state.mean("doubtful_util_pct") >= 0:
        return say(
            "how long its requests wait refutes its %util: it is busy {util:.0f} % at the least", values
        )
    text = (
        "{util:.0f} % busy, yet {at_once:.1f} {what}in flight whenever it was, {latency:.0f} ms each: bursts "
    )
    text += "shorter than a sample; iostat -xt 1 would show them"
    is_slow = state.latency_ms > CALM * usual_ms(series, state.size_kb, state.rate)
    if is_slow and state.at_once >= BURST and state.requests >= BURST:
        return say(text, values | {"at_once": state.at_once, "what": "", "latency": state.latency_ms})
    # the mean hides what one direction waits beside many quick requests of the other
    for way, at_once, requests, wait, usual in queue_by_direction(series, state):
        if requests >= BURST and at_once >= BURST and wait > CALM * usual:
            return say(text, values | {"at_once": at_once, "what": f"{way}s ", "latency": wait})
    return ""


BURST = 8.0
"""Requests in flight whenever a device is busy, from which they come in bursts."""


UNTIMED = "its latency and busy time are printed as 0: not recorded, or less than the last digit"


def is_passing(series: DeviceSeries, rows: Table, limits: Limits) -> bool:
    """Whether a device was so in few of many samples with I/O, or between calm ones: no state of it.

    What holds for all of a run, which other words of the text set apart from the next, does not pass.
    """
    phases = series.samples.floats("phase")
    of_run = np.isin(phases, rows.floats("phase")) & (np.isfinite(phases).all() and np.ptp(phases) > 0)
    if len(rows) >= limits.lasting or np.count_nonzero(of_run) == len(rows):
        return False
    if is_backlog(rows, limits):
        return True
    share = rows.floats("span").sum() / level_samples(series).floats("span").sum()
    places = np.searchsorted(series.samples["sample"], rows["sample"])
    around = [places.min() - 1, places.max() + 1]
    if share < limits.share / 100 or around[0] < 0 or around[1] >= len(series.samples):
        return bool(share < limits.share / 100)
    return bool((series.samples.floats("util")[around] < STEADY).all())


def is_backlog(rows: Table, limits: Limits) -> bool:
    """Whether requests waited for longer in all than samples with idle time had them in the queue."""
    held, span = rows.floats("ios_per_s") * rows.floats("latency_ms") / 1000, rows.floats("span")
    is_beyond = (rows.floats("depth") * span).sum() < LITTLE * (held * span).sum()
    return bool(is_beyond and (rows.floats("util") < limits.full_util / 100).all())


LONGEST_BURST_S = 60.0
"""Seconds from which a load is no burst: the age at which dirty pages are written back is half of it."""


def is_burst(series: DeviceSeries, rows: Table, limits: Limits) -> bool:
    """Whether the samples of a passing load lasted for no longer than a burst does."""
    return is_passing(series, rows, limits) and not rows.floats("interval_s").sum() > LONGEST_BURST_S


def longest_contiguous(series: DeviceSeries, rows: Table) -> Table:
    """The longest window in which some of a device's samples follow each other, with stalls before them."""
    samples = series.samples
    mask = np.zeros(len(samples), dtype=np.bool_)
    mask[np.searchsorted(samples["sample"], rows["sample"])] = True
    silent = stalled(samples)
    if not silent.any():
        window = longest(samples, mask)
        return rows[:0] if window is None else window
    places = np.where(silent, len(samples) - 1, np.arange(len(samples)))
    ends = np.minimum.accumulate(places[::-1])[::-1]
    window = longest(samples, mask | (silent & mask[ends]))
    return rows[:0] if window is None else window


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
    at_best = _at_best(steady, unloaded)
    disks = _disks_below(view, series, level)
    return JudgedLevel(
        level=level,
        unloaded=unloaded,
        lower=lower,
        higher=max(above, key=lambda other: other.busy_rate, default=None),
        elasticity=elasticity(lower, level) if lower else float("nan"),
        servers=fan_out(steady[0], steady[1]) if len(steady) > 1 else float("nan"),
        spindles=spindles(series, writes=level.direction == "writes", parity=bool(disks)),
        parallel=_parallel(series, level, at_best),
        at_best=at_best,
        below=disks,
    )


def _parallel(series: DeviceSeries, level: Level, at_best: float) -> str:
    """What shows that the device serves several requests at once; empty where nothing does.

    A template for `template_values` of load_sentences.py.
    """
    if spindles(series, writes=False) == 1:
        return ""
    if is_spinning(series) is False:
        return "it is no spinning disk (from {origin})"
    if is_spread(series) and series.disks and series.disks >= 2:
        return "it spreads its requests over {spread_over:g} disks"
    if at_best >= LEAST_OVERLAP:
        return "at its best it served at least {at_best:.1f} requests at once"
    if level.latency_ms < 1 and level.busy_rate > FASTER_THAN_SEEKS:
        return "no spinning disk answers within {latency} ms at {requests} requests/s"
    return ""


def _at_best(steady: Sequence[Level], unloaded: UnloadedBaseline | None) -> float:
    """The most requests that it must have served at once, X·R1, over the levels that R1 holds for."""
    if unloaded is None or not unloaded.is_measured:
        return float("nan")
    least_ms = SLOWER_THAN_ALONE * unloaded.latency_ms
    grown = [overlapped(other, unloaded) for other in steady if other.latency_ms >= least_ms]
    return max(grown, default=float("nan"))


def _disks_below(view: View, series: DeviceSeries, level: Level) -> tuple[Disk, ...]:
    """The disks that a spread device stands on, with their mean util in the reports of a level."""
    if not is_spread(series):
        return ()
    reports = report_keys(level.rows)
    found = []
    for leaf in series.leaves:
        own = view.series(leaf.name)
        if own is not None:
            same = own.samples[np.isin(report_keys(own.samples), reports)]
            util = weighted.mean(same, "util_pct")
            if not np.isnan(util):
                found.append(Disk(own.name, util / 100, same))
    return tuple(found)


def _with_verdict(view: View, series: DeviceSeries, load: JudgedLevel, limits: Limits) -> JudgedLevel:
    """The verdict: by measured inflation, else by known spindles, else by what the class would take."""
    level, unloaded = load.level, load.unloaded
    is_queued = unloaded is not None and (
        level.latency_ms <= QUEUE_SLACK * max(1.0, level.busy_depth) * unloaded.latency_ms
    )
    if unloaded is not None and unloaded.is_measured and is_queued:
        return _by_latency(series, load, limits)
    if _is_sick(series, level):
        return load._replace(reason=_SICK)
    is_full = level.util >= limits.full_util / 100
    if load.spindles is not None and is_full:
        load = load._replace(basis="spindles", inflation=(level.depth + load.spindles - 1) / load.spindles)
        if load.inflation >= limits.inflation:
            if _reaches_disks(view, series, level, limits):
                return load._replace(verdict="saturated")
            if not any(disk.util >= limits.busy_util / 100 for disk in load.below):
                return load._replace(reason=_ABOVE)
            return load._replace(verdict="approaching")
        if load.inflation >= limits.calm_inflation:
            return load._replace(verdict="approaching")
        return _if_calm(series, load, limits)
    # more in flight cost less: that is no baseline
    is_lighter = unloaded is not None and unloaded.depth < level.depth
    if unloaded is not None and is_queued and is_lighter and load.lower is not None:
        least = level.latency_ms / unloaded.latency_ms
        if least > limits.inflation:
            return _by_latency(series, load, limits)
    if (found := _by_class(view, series, load, limits)) is not None:
        return found
    if is_full and _moves_no_more(load, limits):
        return load._replace(basis="throughput", verdict="saturated")
    calm = _if_calm(series, load, limits)
    is_open = calm.verdict == "indeterminate" and not calm.headroom
    if is_open and (beside := _beside(view, series, level, limits)) is not None:
        inflation = level.latency_ms / beside.latency_ms
        return load._replace(basis="beside", inflation=inflation, unloaded=beside, verdict="saturated")
    return calm


def _beside(view: View, series: DeviceSeries, level: Level, limits: Limits) -> UnloadedBaseline | None:
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


def _by_class(view: View, series: DeviceSeries, load: JudgedLevel, limits: Limits) -> JudgedLevel | None:
    """What a latency beyond that of the class or of calmer samples tells of a load; None without one."""
    level = load.level
    for requests in (level.direction_load, level.whole):
        inflation = requests.latency_ms / _usual_ms(series, requests)
        basis = _over(view, series, level, requests, inflation, limits)
        if basis in ("class", "either", "reads") and (slow := _slow_itself(series, requests, limits)):
            return load._replace(reason=slow)
        calmer = None
        if basis is None and (calmer := _calmer(view, series, level, requests, limits)) is not None:
            basis, inflation = "calmer", requests.latency_ms / calmer.latency_ms
        if basis is not None and level.latency_ms <= load.kept_up_ms:
            return load._replace(reason=_FOLLOWS)
        if basis is not None and _reaches_disks(view, series, level, limits):
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
    is_fast = served_rate(series, level, requests) >= FASTER_THAN_SEEKS and requests.size_kb < RANDOM_KB
    is_shared = is_full and is_deep and inflation > 1 and is_fast and class_of(series) == "unknown"
    is_held_up = is_full and is_slow and bool(slower_above(view, series, level))
    if (is_deep and inflation > limits.inflation) or (is_full and is_queue) or is_held_up or is_shared:
        return "class"
    if inflation > limits.calm_inflation and _has_queue(series, level, depth, limits):
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


def _has_queue(series: DeviceSeries, level: Level, depth: float, limits: Limits) -> bool:
    """Whether a device that may seek has no idle time, and a queue."""
    may_seek = class_of(series) not in ("nvme", "solid")
    return may_seek and level.util >= NEVER_IDLE and depth >= limits.parallel_depth


def _is_full_or_slow(
    view: View, series: DeviceSeries, level: Level, requests: DirectionLoad, limits: Limits
) -> bool:
    """Whether what is read waits for twice as long as any class takes alone, and nothing counts who waits.

    What serves one at a time has a line then, and what serves them at once is slow; a stream has its rate.
    """
    usual = max(_usual_ms(series, requests), SERVICE["spinning"].usual(requests.size_kb))
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


def _calmer(
    view: View, series: DeviceSeries, level: Level, requests: DirectionLoad, limits: Limits
) -> UnloadedBaseline | None:
    """What such requests take at most by calmer samples of the same direction, where they wait for longer.

    A request takes no longer than in proportion to its size, nor a smaller one longer than a larger one.
    """
    depth = requests.depth * level.busy_depth / level.depth
    usual = _usual_ms(series, requests)
    is_queue = _has_queue(series, level, depth, limits)
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


def _usual_ms(series: DeviceSeries, requests: DirectionLoad) -> float:
    """What a healthy device takes at most; what does not spin and is no NVMe may stand behind a network.

    An unknown class means the slowest, however many requests it serves: an array of disks seeks, too.
    """
    usual = usual_ms(series, requests.size_kb)
    if class_of(series) == "nvme":
        return usual
    return max(usual, SERVICE["network"].usual(requests.size_kb))


def served_rate(series: DeviceSeries, level: Level, requests: DirectionLoad) -> float:
    """Requests/s as the medium meets them; 0 for what is written above it, to be merged on the way down."""
    is_merged = series.is_stacked and requests.direction != "reads"
    return 0.0 if is_merged else requests.rate * level.busy_rate / level.rate


def slower_above(view: View, series: DeviceSeries, level: Level) -> list[tuple[str, Table, float]]:
    """What stands on this disk alone and takes ADDED times as long meanwhile: it waits for the disk.

    Each with its samples and latency; what moves most of the disk's load comes first.
    """
    found = []
    for device in view.topology.above(series.name):
        own = view.series(device.name)
        if own is not None and len(own.leaves) == 1:
            rows = own.samples[np.isin(report_keys(own.samples), report_keys(level.rows))]
            latency = weighted.mean(rows, "latency_ms")
            if latency > ADDED * level.latency_ms and weighted.mean(rows, "depth") > level.depth / 2:
                found.append((own.name, rows, latency))
    return sorted(found, key=lambda one: -weighted.or_zero(weighted.mean(one[1], "kb_per_s")))


_CARRIED = 0.9
"""Share of the bytes of a layer that disks move which may carry it: the rest is in flight or elsewhere."""

_ABOVE = "its requests wait, but none of the disks below does: the wait is above them"


def _reaches_disks(view: View, series: DeviceSeries, level: Level, limits: Limits) -> bool:
    """Whether one of the disks below, where any is seen, is full and waits as well.

    Where nothing says which are below, all disks are that move as much together: what is counted before it is
    merged fills no device.
    """
    reports = report_keys(level.rows)
    seen = False
    below = [own for leaf in series.leaves if (own := view.series(leaf.name)) is not None]
    if _is_unplaced(series):
        below = disks_of(view)
        moved = (own.samples[np.isin(report_keys(own.samples), reports)] for own in below)
        moved_kb = sum(weighted.or_zero(weighted.mean(rows, "kb_per_s")) for rows in moved)
        if not moved_kb >= _CARRIED * weighted.mean(level.rows, "kb_per_s"):
            return True
    for own in below:
        if own.name == series.name:
            continue
        rows = level_samples(own)
        rows = rows[np.isin(report_keys(rows), reports)]
        # what is hardly used in them, or counted in ticks, is not full
        seen |= bool(np.isin(report_keys(own.samples), reports).any())
        if len(rows):
            there = level_of(rows)
            is_slow = there.latency_ms > limits.calm_inflation * _usual_ms(own, there.whole)
            # what serves one at a time makes each wait for those in line, however quick it is
            is_in_line = spindles(own, writes=False) == 1 and there.busy_depth >= limits.inflation
            if (is_slow or is_in_line) and there.util >= limits.busy_util / 100:
                return True
    return not seen


def _is_beyond(series: DeviceSeries, level: Level, limits: Limits) -> bool:
    """Whether more is in flight than a device of its class, with its controller, takes at once.

    NVMe takes more; there a latency above the usual one shows that they wait.
    """
    name = class_of(series)
    is_slow = level.latency_ms > usual_ms(series, level.size_kb) and not cloud_model(series)
    return level.busy_depth >= limits.long_queue and (
        name in ("solid", "unknown") or (name == "nvme" and is_slow)
    )


def _is_sick(series: DeviceSeries, level: Level) -> bool:
    """Whether at its best each request keeps the device busy for longer than any healthy one takes."""
    fastest = float((level.rows.floats("ios_per_s") / level.rows.floats("busy")).max())
    return bool(1000 / fastest > sane_limit_ms(series, level.size_kb))


_FOLLOWS = "it did more in some samples than in others, in the same time for each: slow, yet not full"

_SICK = "each request keeps it busy for longer than a healthy device takes: it is slow rather than full"


_AS_MUCH = 0.9
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
    is_all = level.busy_rate * level.size_kb >= _AS_MUCH * other.busy_rate * other.size_kb
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
    return _if_calm(series, load, limits)


def _if_calm(series: DeviceSeries, load: JudgedLevel, limits: Limits) -> JudgedLevel:
    """A false alarm if something shows headroom on a parallel device, and nothing speaks against it."""
    headroom = tuple(_headroom_reasons(series, load, limits))
    if not headroom:
        return load._replace(reason=_unknown(load))
    if load.spindles == 1:
        return load._replace(reason="a single disk or card serves one request at a time: busy means busy")
    if not load.parallel:
        reason = (
            "nothing says whether the device serves several requests at once (a volume may stand on one "
            "disk); lsblk -o NAME,ROTA,TYPE, or a second capture under a deeper queue, settles it"
        )
        return load._replace(reason=reason)
    veto = _veto(series, load)
    if veto:
        return load._replace(headroom=headroom, reason=veto)
    return load._replace(
        verdict="false alarm", headroom=headroom, reason=_SLOW_FEW if headroom == ("slow few",) else ""
    )


_SLOW_FEW = "few requests were in flight, and each took longer than usual: what it can do is not shown"


def _is_open(load: JudgedLevel, verdict: LevelVerdict) -> bool:
    """Whether a busy level leaves open if the device was so: what is told of its util says no more."""
    return load.verdict == "indeterminate" or (verdict != "false alarm" and bool(load.reason))


def _headroom_reasons(series: DeviceSeries, load: JudgedLevel, limits: Limits) -> Iterator[HeadroomReason]:
    level = load.level
    is_solid = is_spinning(series) is False or (level.latency_ms < 1 and level.busy_rate > FASTER_THAN_SEEKS)
    higher = load.higher
    # more while busy, and more in all: what the sentence says
    if higher and min(higher.busy_rate / level.busy_rate, higher.rate / level.rate) >= limits.scaling:
        yield "scaled"
    if load.basis == "measured" and load.inflation <= limits.calm_inflation and level.busy_depth > ALONE:
        yield "flat latency"
    latency = _slower_way_ms(level)
    solid_most = SOLID_MOST_MS + level.size_kb / SERVICE["network"].usual_kb_per_ms
    if class_of(series) == "nvme":
        solid_most = usual_ms(series, level.size_kb)
    most = solid_most if is_solid else CALM * SERVICE["spinning"].usual_ms
    if level.busy_depth <= limits.one_at_a_time and latency <= most:
        yield "one at a time"
    elif is_solid and level.busy_depth <= limits.parallel_depth and latency <= solid_most:
        yield "plausible latency"
    elif level.busy_depth <= limits.parallel_depth and level.direction == "reads" and _is_sane(series, level):
        yield "slow few"
    if load.basis == "spindles" and load.spindles is not None and load.spindles >= 2:
        yield "idle spindles"


def _is_sane(series: DeviceSeries, level: Level) -> bool:
    """Whether a device that is known not to spin takes no longer than a healthy one of its class may."""
    return is_spinning(series) is False and level.latency_ms <= float(sane_limit_ms(series, level.size_kb))


def _slower_way_ms(level: Level) -> float:
    """The latency of the slower direction that matters: a mean over both hides slow writes behind reads."""
    found, ios = [level.latency_ms], level.rows.floats("ios_per_s")
    for way in ("read", "write"):
        rate, wait = level.rows.floats(f"{way}s_per_s"), level.rows.floats(f"{way}_await_ms")
        if (rate >= 0).all() and (wait >= 0).all() and rate.sum() >= MATTERS * ios.sum():
            found.append(float((rate * wait).sum() / rate.sum()))
    return max(found)


MATTERS = 0.05
"""Share of the requests from which a direction counts."""


def _veto(series: DeviceSeries, load: JudgedLevel) -> str:
    level = load.level
    if load.higher is not None and "scaled" not in load.headroom:
        more = load.higher.busy_depth >= 1.5 * level.busy_depth
        if more and load.higher.busy_rate < 1.1 * level.busy_rate:
            return "its latency is low, but a deeper queue moved no more: it is at its knee"
    if is_spinning(series) is not True:
        return ""
    if load.hottest is not None and load.hottest.util >= HOT:
        values: Values = {"disk": load.hottest.name, "util": 100 * load.hottest.util}
        return say("of the disks below, {disk} is {util:.0f} % busy: less than twice as much is left", values)
    if has_parity(series) and level.direction != "reads" and not load.below:
        return "parity writes cost several disk operations, and the capture lacks the disks below"
    return ""


def _unknown(load: JudgedLevel) -> str:
    if load.basis == "measured":
        return "its latency is near that of one request alone, but no deeper queue was seen"
    return (
        "the latency without load is not known: no or too few samples have about one request of this kind in "
        "flight; a capture at low load, or lsblk and the disks below, would settle it"
    )


_TICKED = "util exceeds the {depth} in flight: it was counted in ticks"


def _ticks(series: DeviceSeries, limits: Limits) -> JudgedLevel | None:
    """The samples whose util cannot be true, as a level: the device was busy for at most its depth."""
    samples = series.samples
    util, depth = samples.floats("util"), samples.floats("depth")
    # beyond 1 it is the time of an earlier request that the kernel adds at the next one's end
    mask = (util >= limits.busy_util / 100) & (util <= MOST_UTIL)
    mask &= (depth + HALF_DIGIT < limits.busy_util / 100) & (util > 1.1 * (depth + HALF_DIGIT))
    if not mask.any():
        return None
    # a request that outlives its sample is missing from the depth, not from util
    mask &= samples.floats("await_ms") <= 100 * weighted.seconds_or_one(samples)
    mask &= ~samples["is_idle"] & (samples.floats("ios_per_s") > 0)
    # a moment among others that are not so raises no alarm
    if mask.sum() < (2 if len(series.loaded) > 1 else 1):
        return None
    rows = samples[mask]
    columns = {
        "busy": np.maximum(rows.floats("depth"), HALF_DIGIT),
        "at_once": np.ones(len(rows)),
        "cost_ms": rows.floats("latency_ms"),
        "kind": np.full(len(rows), 5.0),
        "span": weighted.lengths(rows),
    }
    return JudgedLevel(
        level_of(rows.with_columns(**columns)), "false alarm", headroom=("ticks",), parallel=_TICKED
    )
