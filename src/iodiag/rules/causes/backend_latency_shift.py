"""A device became slower while asking no more of it.

What it detects: a lasting step in the mean latency of all requests, with the same kind, size and mix of
requests, no higher rate and without steal: something behind the device changed. There are no more at a time,
or the device had time to spare before, so that more of them are what the latency makes of the same rate. Or
two devices and more at once that take three times as long as on average since boot for requests of like size,
asked for no more, with few in flight, where that average was no spindle's.

Why it matters: on shared storage it is the first sign of a neighbour, a failed path or a rebuild out of
sight; on a disk of one's own, of ageing. Where a layout has one latency for reads and writes, it is all that
shows of a write cache that is lost: there a smaller step counts that is many standard errors.

When it is wrong: locality is not recorded, so that a scan that turned into seeks looks the same. An
emptied burst bucket and a rebuild have rules of their own. One capture cannot tell a step from the
daily rhythm of the others who share the storage; the confidence is therefore always low.

References: Perseus (FAST 2023) on fail-slow devices; E. S. Page 1954 on cumulative sums.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from iodiag.analysis.array.topmost_devices import once_per_stack
from iodiag.analysis.host.cpu import cpu_shares
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.changepoints import split
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import device_fields
from iodiag.analysis.measure.load_or_speed import mix_of
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.measure.time_per_kb import ratio_of, ways_of_both
from iodiag.analysis.states.service_times import (
    SERVICE,
    class_of,
    events_per_sample,
    is_felt,
    is_worth_reporting,
    relative_error,
)
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import Floats, Table, stacked

LIKE_SIZE, LIKE_BYTES = 1.5, 0.2
"""How far sizes (ratio) and shares of read bytes may lie from the usual: what a steady mix scatters by."""

FULL = 0.9
"""Busy share from which a device has no time to spare."""

SAME_SIZE = 1.25
"""How far the mean sizes before and after may be apart."""


@dataclass(frozen=True)
class LatencyStep:
    """The samples before and after the step, and their mean latencies in ms.

    `at_once` are the requests in flight of each side: while busy, where util tells (`is_while_busy`), else
    on average.
    """

    before: Table = field(repr=False)
    after: Table = field(repr=False)
    latencies: tuple[float, float]
    at_once: tuple[float, float]
    is_while_busy: bool

    @property
    def ratio(self) -> float:
        """The latency after over that before."""
        return self.latencies[1] / self.latencies[0]


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per device whose latency stepped up."""
    slower = _slower_than_since_boot(view, limits)
    if len(slower) >= 2:
        yield _of_averages(slower)
    for series in view.devices:
        if len(slower) >= 2 and series.name in slower:
            continue
        rows = _alike(series.loaded)
        least = int(limits.samples if _are_told_apart(rows) else limits.fewest)
        step = _step(rows, least, limits) if len(rows) >= 2 * least else None
        if step is not None and not _is_withheld(view, step, limits):
            yield _finding(series, step)
        elif len(rows) >= 2 * least:
            yield RULE.clear("no lasting step in latency at the same load", series.name)
        else:
            yield RULE.undetermined("too few samples under the same load show a step", series.name)


class Slower(NamedTuple):
    """A direction of a device that takes far longer than on average since boot: both tables, and numbers."""

    samples: Table
    since_boot: Table
    values: Values


def _slower_than_since_boot(view: View, limits: Limits) -> dict[str, Slower]:
    """The devices, one of each stack, that are far slower than on average since boot, asked for no more.

    Where that average was a spindle's, a locality that no column records explains as much.
    """
    old = view.since_boot.get("disk")
    if old is None or "disk" in view.average_only:
        return {}
    found = {}
    for series in view.devices:
        rows = old[np.asarray(old["device"] == series.name)]
        told = [_slower(series, rows, way, limits) for way in ("read", "write") if len(rows) == 1]
        if known := [values for values in told if values is not None]:
            found[series.name] = Slower(series.samples, rows, max(known, key=lambda values: values["ratio"]))
    return {series.name: slower for series, slower, _ in once_per_stack(view, found)}


def _slower(series: DeviceSeries, old: Table, way: str, limits: Limits) -> Values | None:
    rows = series.samples
    columns = (f"{way}s_per_s", f"{way}_kb_per_s", f"{way}_await_ms")
    rate, kb, now = (weighted.mean(rows, name) for name in columns)
    old_rate, old_kb, before = (float(old.floats(name)[0]) for name in columns)
    total, old_total = (
        sum(weighted.or_zero(weighted.mean(part, f"{name}s_per_s")) for name in ("read", "write"))
        for part in (rows, old)
    )
    at_once = weighted.ratio(rows, "depth", "util")
    if not (before > 0 and old_rate > 0 and rate > 0 and total <= old_total and at_once < limits.few):
        return None
    size, old_size = kb / rate, old_kb / old_rate
    is_like = max(size, old_size) <= LIKE_SIZE * min(size, old_size)
    is_seekless = class_of(series) != "spinning" and before <= SERVICE["network"].usual(old_size)
    is_slow = now >= limits.times * before and is_felt(series, now - before, rate)
    counted = float(np.nansum(events_per_sample(rows, f"{way}s_per_s")))
    if not (is_like and is_seekless and is_slow and counted >= limits.requests):
        return None
    values: Values = {"device": series.name, "way": way, "size": size, "now": now, "before": before}
    return values | {"ratio": now / before, "total": total, "old": old_total, "at_once": at_once}


def _of_averages(slower: Mapping[str, Slower]) -> Finding:
    """One finding of all devices that are slower than on average since boot at the same time."""
    most = max(slower.values(), key=lambda one: one.values["ratio"])
    text = "{device}: {way}s of {size:.0f} kB take {now:ms}, and {before:ms} on average since boot, at "
    text += "{total:.0f} requests/s against {old:.0f}, with {at_once} in flight while busy"
    several = "At least {count} devices are slower than their own average since boot, asked for no more: "
    rows = stacked([one.samples for one in slower.values()])
    return RULE.finding(
        severity="notice",
        confidence="low",
        **device_fields(rows, *slower),
        summary=say(
            several + text + ": what is behind them, not the host's queue.",
            most.values | {"count": len(slower)},
        ),
        evidence=tuple(
            item
            for one in slower.values()
            for item in (
                cite(one.samples, text, one.values, worst=f"{one.values['way']}_await_ms"),
                cite(
                    one.since_boot,
                    "{device}: the average since boot is {before:ms}",
                    one.values,
                    weighs="context",
                ),
            )
        ),
        refutes=("requests that the cache of the storage no longer holds",),
        cannot_know=("what stands behind the devices, and since when it is slower",),
    )


def _alike(loaded: Table) -> Table:
    """The samples of known latency with about the usual mix and size of requests."""
    rows = loaded[loaded.floats("latency_ms") > 0]
    if not len(rows):
        return rows
    with np.errstate(divide="ignore", invalid="ignore"):  # requests without bytes are like none
        sizes = np.log(rows.floats("size_kb"))
        shares = rows.floats("read_kb_per_s") / rows.floats("kb_per_s")
        is_like_size = np.abs(sizes - median(sizes)) <= math.log(LIKE_SIZE)
    return rows[is_like_size & ~(np.abs(shares - median(shares)) > LIKE_BYTES)]


def _step(rows: Table, least: int, limits: Limits) -> LatencyStep | None:
    """The place that splits the samples best, if the latency steps up there and the load does not."""
    costs = np.log(rows.floats("latency_ms"))
    at = split(costs, least)
    ratio = _least_ratio(rows, costs[:at], costs[at:], limits)
    if median(costs[at:]) - median(costs[:at]) < math.log(ratio):
        return None
    sides = before, after = _without_stalls(rows[:at]), _without_stalls(rows[at:])
    first, last = (weighted.mean(side, "busy_depth") for side in sides)
    is_while_busy = not math.isnan(first + last)
    if not is_while_busy:
        first, last = (weighted.mean(side, "depth") for side in sides)
    step = LatencyStep(before, after, (_latency(before), _latency(after)), (first, last), is_while_busy)
    size = ratio_of(before, after, "kb_per_s") / ratio_of(before, after, "ios_per_s")
    is_like = max(size, 1 / size) <= SAME_SIZE and mix_of(before, after).is_like
    chance = 2 * math.hypot(*(relative_error(float(events_per_sample(side).sum())) for side in sides))
    rate = ratio_of(before, after, "ios_per_s")
    # a small step counts at an equal rate alone: a client that slows down by itself sends less, too
    lowest = 0.0 if step.ratio >= limits.ratio else 1 / limits.growth - chance
    is_no_more = lowest <= rate <= limits.growth + chance
    # what did as much with time to spare is not at its limit: then the queue follows from the latency
    had_time = weighted.mean(before, "depth") < 1 or (is_while_busy and weighted.mean(before, "util") < FULL)
    is_no_deeper = last <= limits.depth * first or had_time
    return step if is_like and is_no_more and is_no_deeper and step.ratio >= ratio else None


def _are_told_apart(rows: Table) -> bool:
    """Whether reads and writes have a latency each."""
    return rows.has("write_await_ms") or rows.has("read_await_ms")


def _least_ratio(rows: Table, before: Floats, after: Floats, limits: Limits) -> float:
    """The step in latency that counts: by the logarithms of the samples on either side.

    One latency for reads and writes hides what a part of them lost: a step is less, of many standard
    errors.
    """
    apart = np.abs(np.concatenate([before - median(before), after - median(after)]))
    clear = max(limits.ratio, math.exp(limits.scatter * 1.4826 * median(apart)))
    if _are_told_apart(rows):
        return clear
    spread = math.sqrt((before.var() * len(before) + after.var() * len(after)) / (len(rows) - 2))
    error = spread * math.sqrt(1 / len(before) + 1 / len(after))
    return min(clear, max(limits.hidden, math.exp(limits.errors * error)))


def _without_stalls(rows: Table) -> Table:
    """One side of a step without the samples in which it stood still: these are no level of latency."""
    latency = rows.floats("latency_ms")
    served: Table = rows[latency < STALLED * median(latency)]
    return served


STALLED = 4.0
"""Times the median of its side from which the latency of a sample is no part of a level: judgement."""


def _latency(rows: Table) -> float:
    """Milliseconds of a request, in the mean of all of them."""
    return float(np.average(rows.floats("latency_ms"), weights=events_per_sample(rows)))


def _is_withheld(view: View, step: LatencyStep, limits: Limits) -> bool:
    cpu = cpu_shares(view.cpu_at(step.after))
    return cpu is not None and cpu.steal >= limits.steal


def _finding(series: DeviceSeries, step: LatencyStep) -> Finding:
    began = step.after["time"].first()
    values: Values = {
        "device": series.name,
        "before": step.latencies[0],
        "after": step.latencies[1],
        "ratio": step.ratio,
        "rate_before": weighted.mean(step.before, "ios_per_s"),
        "rate_after": weighted.mean(step.after, "ios_per_s"),
        "depth_before": step.at_once[0],
        "depth_after": step.at_once[1],
        "when": f" at {began:%H:%M:%S}" if began else "",
    }
    rows = stacked([step.before[-1:], step.after])
    apart, of_ways = ways_of_both(step.before, step.after)
    summary = (
        "{device} became slower{when}: {before} ms before, {after} ms after" + apart + ", at no higher load."
    )
    text = "latency steps up {ratio:.1f} times, from {before} to {after} ms" + apart
    told = "at {rate_before} and {rate_after} requests/s, {depth_before} and {depth_after} "
    told += "at once while busy" if step.is_while_busy else "in flight on average"
    mixed = "whether reads, writes or both are slower (a write cache that is lost slows writes alone): the "
    mixed += "capture has one latency for both; iostat -x with r_await and w_await would settle it"
    return RULE.finding(
        severity="notice" if is_worth_reporting(series, *step.latencies, step.after) else "info",
        confidence="low",
        **device_fields(step.after, series.name),
        summary=say(summary, values | of_ways),
        evidence=(
            cite(rows, text, values | of_ways, worst="await_ms"),
            cite(rows, told, values),
        ),
        refutes=("requests that turned from sequential to random, or came in shorter bursts, from then on",),
        cannot_know=(
            "what stands behind the device: a neighbour, a path, a rebuild or wear",
            "whether it is a step or others' daily rhythm: captures of several days tell",
            *(() if _are_told_apart(rows) else (mixed,)),
        ),
    )


RULE = Rule(
    id="backend-latency-shift",
    title="The storage behind a device became slower",
    why="Latency doubled though this host asks for no more than before.",
    remedy=(
        "Ask the storage's or cloud's side what changed at that time: neighbours, failed paths, rebuilds.",
        "On disks of your own look at SMART data, the kernel's log, and the battery and the policy of the "
        "controller's write cache.",
    ),
    needs=Needs(one_of=({"disk": ("await_ms|queue_depth", "ios_per_s|reads_per_s")},)),
    thresholds={
        "ratio": Threshold(
            1.75, "x", "latency after over before", "half of the requests writes that lose a cache: 1.85"
        ),
        "hidden": Threshold(
            1.3, "x", "the same where reads and writes have one latency", "a quarter of them writes: 1.33"
        ),
        "errors": Threshold(
            4.5,
            "standard errors",
            "that such a step exceeds",
            "one chance in 300 at the best place of 14 samples",
        ),
        "scatter": Threshold(
            3, "deviations", "of the samples that a step exceeds", "judgement: three are no noise"
        ),
        "growth": Threshold(
            1.1, "x", "most that the rate may have grown", "judgement: more load is a cause of its own"
        ),
        "depth": Threshold(
            1.3, "x", "most that the requests at a time may have grown", "judgement: as for the rate"
        ),
        "samples": Threshold(5, "samples", "on either side", "judgement: a level, not a spike"),
        "fewest": Threshold(4, "samples", "the same of one latency", "the standard error has the rest"),
        "times": Threshold(3, "x", "latency over the average since boot", "Percona 2014, as for overload"),
        "few": Threshold(
            4, "requests", "in flight while busy that are no queue", "as true-saturation has it"
        ),
        "requests": Threshold(
            50, "requests", "of a direction whose mean is held against it", "a mean known to 14 %"
        ),
        "steal": Threshold(2, "%", "steal that explains it", "judgement: any steal reaches latencies"),
    },
    confirm=("dmesg -T", "multipath -ll", "smartctl -x /dev/DEVICE"),
    references=("https://www.usenix.org/conference/fast23/presentation/lu",),
    to_clear=ToClear(columns=("await_ms|read_await_ms|write_await_ms", "kb_per_s")),
    detect=detect,
)
