"""Sentences about a load level and its verdict, shared by the rules that report one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from iodiag.analysis.host.cpu import HELD_PCT, cpu_shares
from iodiag.analysis.host.who_waits import (
    CROWDED_LOAD,
    NOBODY,
    blocked,
    is_wait_unknown,
    pressure,
    rows_at,
)
from iodiag.analysis.load.queueing import Level, gain_left
from iodiag.analysis.load.saturation.class_latency import is_no_single_spindle
from iodiag.analysis.load.saturation.judged_levels import THRESHOLDS, JudgedLevel
from iodiag.analysis.load.saturation.layers import slower_above
from iodiag.analysis.load.stalls import with_stalls
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_fact
from iodiag.analysis.states.service_times import class_of, moves_more
from iodiag.analysis.states.state_sentences import AT_LEAST, sentence_of
from iodiag.analysis.states.states import states
from iodiag.analysis.view.device_names import is_physical
from iodiag.analysis.view.device_traits import is_card
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.capture import Fact
from iodiag.model.finding import Evidence
from iodiag.model.units import KB_PER_MB
from iodiag.table.table import Table, stacked


def template_values(series: DeviceSeries, load: JudgedLevel) -> Values:
    """What sentences about a load name: shares in per cent, everything else in its printed unit."""
    level, unloaded, said = load.level, load.unloaded, load.said
    values: Values = {"device": series.name, "direction": said.direction, "util": 100 * level.util}
    values |= {"rate": said.rate, "depth": said.depth, "latency": said.latency_ms, "size": said.size_kb}
    values |= {"reads": level.reads_per_s, "requests": level.rate}
    values["mb"] = said.rate * said.size_kb / KB_PER_MB
    values["printed_util"] = weighted.mean(level.rows, "doubtful_util_pct")
    for way in level.ways:
        values |= {f"{way.direction}_latency": way.latency_ms, f"{way.direction}_size": way.size_kb}
    if load.lighter is not None:
        values |= _of_level(load.lighter, "lighter_")
        values["lighter_mb"] = load.lighter.rate * load.lighter.size_kb / KB_PER_MB
    for name, other in (("lower", load.lower), ("higher", load.higher)):
        if other is not None:
            values |= _of_level(other, f"{name}_")
            values |= {f"{name}_device": str(other.rows["device"][0])}
            values[f"{name}_mb"] = other.rate * other.size_kb / KB_PER_MB
            values[f"{name}_times"] = _larger(level.rate, other.rate)
            values[f"{name}_queue"] = _larger(level.depth, other.depth)
            values[f"{name}_reads_times"] = _larger(level.reads_per_s, other.reads_per_s)
    if not math.isnan(load.inflation):
        values["inflation"] = load.inflation
        # no more than what the busiest disk below has left
        most = 1 / load.hottest.util - 1 if load.hottest is not None and load.hottest.util > 0 else math.inf
        values["gain"] = 100 * max(0.0, min(gain_left(load.inflation), most))
    if unloaded is not None:
        values |= {"unloaded": unloaded.latency_ms, "unloaded_depth": unloaded.depth}
        values["beside"] = unloaded.device
        values["unloaded_basis"] = "measured" if unloaded.is_measured else "least seen"
    values |= {"elasticity": load.elasticity, "servers": load.servers, "at_best": load.at_best}
    values |= {"origin": series.rotational_origin, "spread_over": series.disks or 1}
    if load.spindles is not None:
        taken = (series.disks or 1) / load.spindles
        values["copies"] = "" if taken == 1 else f", of which a write takes {taken:g}"
        values["serial"] = "spinning disk"
    if is_card(series):
        values |= {"serial": "memory card", "origin": "its name"}
    return {name: value for name, value in values.items() if value == value}


def _of_level(level: Level, prefix: str) -> Values:
    return {
        f"{prefix}rate": level.rate,
        f"{prefix}reads": level.reads_per_s,
        f"{prefix}depth": level.depth,
        f"{prefix}latency": level.latency_ms,
    }


def class_named(series: DeviceSeries, load: JudgedLevel) -> str:
    """The class that a device is held against, for sentences; an unknown one means the slowest."""
    name = class_of(series)
    if name != "unknown":
        return name
    is_beyond = moves_more(series) or is_no_single_spindle(series, load.level, load.said)
    return f"class unknown; {'no single' if is_beyond else 'judged as a'} spinning disk"


def _larger(one: float, other: float) -> float:
    low, high = sorted((one, other))
    return high / low if low > 0 else float("nan")


def state(series: DeviceSeries, load: JudgedLevel) -> Evidence:
    """The level itself: rate, depth, latency, util."""
    size = " of {size:.1f} kB" if load.said.size_kb >= 0 else ""
    busy = (
        f"{{util:.0f}} % busy{AT_LEAST}," if load.level.rows.has("doubtful_util_pct") else "{util:.1f} % util"
    )
    return cite(
        with_stalls(series, load.level.rows),
        busy
        + " at {rate} {direction}/s"
        + size
        + ": {depth} in flight, {latency:ms} each"
        + ("; " + BOTH if load.level.ways else ""),
        template_values(series, load),
        worst="util_pct",
    )


_WAY = "{0} of {{{0}_size:.1f}} kB take {{{0}_latency:ms}}"
READS, WRITES = _WAY.format("reads"), _WAY.format("writes")
BOTH = f"{READS} and {WRITES}"


def both_ways(load: JudgedLevel) -> str:
    """The end of a sentence that gives a mean of reads and writes that are APART; else nothing.

    Where the sentence is about one of them only the other one is added.
    """
    other = {"reads": WRITES, "writes": READS}.get(load.said.direction, BOTH)
    return f"; {other}" if load.level.ways and load.said == load.level.whole else ""


def other_state_evidence(series: DeviceSeries, rows: Table) -> Iterator[Evidence]:
    """What else a device did, where what most samples agree on is not all: its longest other state."""
    for other in states(series):
        if other.kind != "idle" and not np.isin(other.rows["sample"], rows["sample"]).any():
            text, values = sentence_of(other, len(series.samples))
            yield cite(other.rows, "else: " + text, values, weighs="context")
            return


def rows_of_both(one: Table, other: Table) -> Table:
    """The rows of two load levels: what compares them rests on both, and both are quoted."""
    return stacked([one, other])


def in_order(loads: Iterable[JudgedLevel]) -> Table:
    """The samples of several load levels of a device, in their order."""
    rows = stacked([load.level.rows for load in loads])
    return rows[np.argsort(rows["sample"], kind="stable")]


def inflation(series: DeviceSeries, load: JudgedLevel) -> Iterator[Evidence]:
    """How much longer a request takes than it would alone, and what that leaves."""
    values = template_values(series, load)
    rows = load.level.rows
    if load.basis in ("measured", "least seen"):
        text = (
            "{latency:ms} with {depth} in flight is {inflation} times the {unloaded} ms " + _ALONE[load.basis]
        )
        seen = rows_of_both(rows, load.unloaded.rows) if load.unloaded is not None else rows
        yield cite(seen, text, values, worst="await_ms")
    elif load.basis in _UNLOADED and load.unloaded is not None:
        text = "{latency:ms} with {depth} in flight is {inflation:.1f} times the {unloaded} ms that "
        text += _UNLOADED[load.basis]
        yield cite(rows_of_both(rows, load.unloaded.rows), text, values, worst="await_ms")
    elif load.basis == "speed":
        text = "{mb:.0f} MB/s with {depth} in flight, {latency:ms} each: no disk with heads moves as much"
        yield cite(rows, text, values, worst="queue_depth")
    elif load.basis == "spindles":
        text = (
            "{depth} requests in flight on {spread_over:g} {serial}s (from {origin}{copies}): each takes "
            "about {inflation:.1f} times as long as alone"
        )
        yield cite(rows, text, values, worst="queue_depth")
    elif load.basis in ("class", "either", "reads"):
        yield _beyond_class(series, load, values)
    elif load.basis == "queue":
        text = "{depth} in flight is more than a disk or its controller takes at once"
        yield cite(rows, text, values, worst="queue_depth")
    elif load.basis == "throughput" and load.lighter is not None:
        text = (
            "{lighter_mb:.1f} MB/s at {lighter_depth} in flight, {mb:.1f} MB/s at {depth}: a longer queue "
            "moved no more"
        )
        yield cite(rows_of_both(load.lighter.rows, rows), text, values, worst="queue_depth")
    elif load.basis == "ceiling" and load.higher is not None:
        yield cite(rows_of_both(load.higher.rows, rows), _AT_CEILING, values, worst="queue_depth")
    if load.lower is not None and load.basis == "measured":
        yield cite(
            rows_of_both(load.lower.rows, rows),
            "from {lower_depth} to {depth} in flight ({lower_queue:.1f}x the queue) it did "
            "{lower_times:.2f}x the requests: elasticity {elasticity:.2f}",
            values,
        )
    if load.basis == "measured" and load.unloaded is not None and load.inflation > 1:
        told = "at most about {gain:.0f} % more throughput is left, at any depth"
        yield cite(rows_of_both(load.unloaded.rows, rows), told, values)


_AT_CEILING = (
    "{higher_device} moves {higher_mb:.0f} MB/s with {higher_depth} in flight, {device} {mb:.0f} MB/s with "
    "{depth}: a longer queue moves no more"
)


def _beyond_class(series: DeviceSeries, load: JudgedLevel, values: Values) -> Evidence:
    """How much longer a request takes than one alone on its class, where that is known at all."""
    text = "{latency:ms} with {depth} in flight is {inflation:.1f} times the {usual:ms} that one such "
    text += "request alone usually takes at most ({class})"
    if load.inflation <= THRESHOLDS["inflation"].default and is_no_single_spindle(
        series, load.level, load.said
    ):
        text = _NO_SPINDLE
    values |= {"class": class_named(series, load), "usual": load.said.latency_ms / load.inflation}
    return cite(load.level.rows, text, values, worst="await_ms")


_NO_SPINDLE = (
    "no single spinning disk serves {rate:.1f}/s of {size:.1f} kB: the class is unknown (an array or flash), "
    "and so is what one such request takes alone on it; the slowest disk takes {usual:ms} at most"
)

# the other one is a percentile, which single samples of about that size are below
_ALONE = {
    "measured": "seen at {unloaded_depth} in flight ({direction} of {size:.1f} kB)",
    "least seen": "that its quickest tenth takes at most, with {unloaded_depth} ({direction} of about "
    "{size:.1f} kB)",
}

_UNLOADED = {
    "calmer": "such a request takes at most by calmer samples, its size allowed for",
    "beside": "{beside} beside it takes for such requests with {unloaded_depth}",
}


def parallelism(series: DeviceSeries, load: JudgedLevel) -> Iterator[Evidence]:
    """How many requests the device serves at once, as far as two load levels tell."""
    values = template_values(series, load)
    if load.unloaded is not None and load.unloaded.is_measured and "servers" in values:
        text = "two load levels fit a device that serves about {servers:.1f} requests at once"
        yield cite(rows_of_both(load.unloaded.rows, load.level.rows), text, values, weighs="context")


def layers_above(view: View, series: DeviceSeries, load: JudgedLevel) -> Iterator[Evidence]:
    """What stands on a full disk and waits longer than its requests: in line for it."""
    for name, rows, latency in slower_above(view, series, load.level)[:1]:
        text = "requests wait above it as well: {above} takes {above_latency} ms for each"
        yield cite(rows, text, {"above": name, "above_latency": latency}, worst="await_ms")


def disks_below(load: JudgedLevel) -> Iterator[Evidence]:
    """What the disks under a spread device did in the same reports."""
    if load.hottest is not None:
        values: Values = {"count": len(load.below), "mean": mean_below(load)}
        values |= {"busiest": load.hottest.name, "most": 100 * load.hottest.util}
        values["what"] = "disks" if all(is_physical(disk.name) for disk in load.below) else "devices"
        text = (
            "the {count} {what} below were busy {mean:.0f} % of the time on the average, {busiest} "
            "most: {most:.0f} %"
        )
        yield cite(stacked([disk.rows for disk in load.below]), text, values, weighs="context")


def mean_below(load: JudgedLevel) -> float:
    """The mean busy time, in %, of the disks under a spread device."""
    return 100 * sum(disk.util for disk in load.below) / len(load.below)


def iowait_meanwhile(view: View, load: JudgedLevel) -> Iterator[Evidence]:
    """That the CPUs mostly wait during the level, or the load average that shows it."""
    shares = None if view.has_only_cpu_averages else cpu_shares(view.cpu_at(load.level.rows))
    if shares is not None and shares.iowait >= HELD_PCT:
        values: Values = {"iowait": shares.iowait, "idle": shares.idle}
        text = "iowait is {iowait:.1f} % and {idle:.1f} % of CPU time is idle"
        yield cite(shares.rows, text, values, worst="iowait_pct")
    queue = rows_at(view, "queue", load.level.rows)
    most = float(np.nanmax(queue.floats("load_1m"), initial=0)) if queue else 0.0
    if most >= max(CROWDED_LOAD, 10 * (view.cpus or 0)):
        yield cite(queue, "the load average is {load:.0f}", {"load": most}, worst="load_1m")


def waiters(view: View, load: JudgedLevel) -> Iterator[Evidence]:
    """Tasks blocked and pressure during the level, for or against."""
    found = blocked(view, load.level.rows)
    if found is not None:
        rows, mean = found
        values: Values = {"blocked": mean}
        if mean >= NOBODY:
            yield cite(
                rows, "{blocked:.1f} tasks were blocked on I/O meanwhile, on average", values, worst="blocked"
            )
        else:
            yield cite(rows, "only {blocked:.1f} tasks were blocked on I/O", values, weighs="against")
    elif is_wait_unknown(view, load.level.rows):
        for fact in view.facts_of("uptime")[:1]:
            yield cite_fact(fact, weighs="context")
    some = pressure(view, load.level.rows, "some")
    if some is not None:
        rows, mean = some
        text = "some task waited for I/O {some:.0f} % of the time"
        yield cite(rows, text, {"some": mean}, weighs="for" if mean >= LEAST_PRESSURE else "against")


def application_latency(view: View, load: JudgedLevel) -> Iterator[Evidence]:
    """What an application measured at the same two depths, where it says so: sysbench by its threads."""
    if load.basis != "measured" or load.unloaded is None:
        return
    facts = view.facts_of("sysbench")
    alone = _with_threads(facts, load.unloaded.depth)
    queued = _with_threads(facts, load.level.depth)
    if alone is None or queued is None or alone is queued:
        return
    short, long = alone.number("response_ms"), queued.number("response_ms")
    if not 1 / AGREES <= long / short / load.inflation <= AGREES:
        return
    values: Values = {"short": short, "long": long, "times": long / short, "device_times": load.inflation}
    values |= {"few": alone.number("threads"), "many": queued.number("threads")}
    text = (
        "from {few:g} to {many:g} threads the application's response time rose from {short} to {long} ms, "
        "{times:.1f}x; the device's {device_times:.1f}x"
    )
    told = cite_fact(replace(queued, values=dict(queued.values) | values), text)
    if alone.ref.source == queued.ref.source:
        lines = tuple(dict.fromkeys((*cite_fact(alone).lines, *told.lines)))
        told = replace(told, lines=lines, rows=len(lines))
    yield told


def _with_threads(facts: Iterable[Fact], depth: float) -> Fact | None:
    """The application's fact whose threads are as many as the requests in flight, within a tenth."""
    near = (fact for fact in facts if abs(fact.number("threads") / depth - 1) <= 0.1)
    return next(near, None)


AGREES = 1.5
"""Factor within which an application's and a device's slowdown are the same one."""

LEAST_PRESSURE = 20.0
"""Share of time in % that some task waits for I/O from which it hurts; judgement."""
