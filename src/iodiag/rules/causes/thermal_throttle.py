"""A flash drive goes fast and slow in equal turns under an unchanged demand: it throttles for heat.

What it detects: throughput of a flash drive that falls and comes back at least four times at equal
distances, with the same kind of requests and as many in flight, while latency moves the other way. Firmware
slows a drive down at one temperature and lets it go again at a lower one, and both take about as long each
time.

Why it matters: a heat sink or some air is cheaper than a faster drive, which would be as hot.

When it is wrong: a cache of the drive that fills and is emptied, and its collection of garbage, make waves
as well, but of writes alone: then they are named, too, and the confidence is low unless the turns are of one
length. Another job of a steady rhythm on the same drive
changes the requests or their number. A limit with credits does not come back under load. Spinning disks and
network volumes do not throttle for heat, and are left out.

References: NVM Express base specification, host controlled thermal management; data sheets of drives
(throttling from 70 to 85 °C). Simulated only: no real capture has been seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from iodiag.analysis.array.topmost_devices import once_per_stack
from iodiag.analysis.host.disk_health import HEAT, reported
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import device_fields
from iodiag.analysis.measure.quantiles import low_and_high, median
from iodiag.analysis.measure.windows import by_stream
from iodiag.analysis.states.service_times import class_of
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import KB_PER_MB
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Mask, Table, stacked


@dataclass(frozen=True)
class Waves:
    """Whole turns of fast and slow samples; `every` is their mean length, `unsteady` its relative deviation.

    In seconds, or in samples where their lengths are not known.
    """

    fast: Table = field(repr=False)
    slow: Table = field(repr=False)
    turns: int
    every: float
    unsteady: float


REGULAR = 0.1
"""Deviation of their lengths up to which turns of writes are the drive's own rhythm (judgement)."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per flash drive that goes fast and slow in equal turns."""
    found: dict[str, Waves] = {}
    flash = [s for s in view.devices if class_of(s) in ("nvme", "solid") and len(s.loaded)]
    for series in flash:
        waves = next((one for part in by_stream(series.samples) if (one := _waves(part, limits))), None)
        if waves is not None:
            found[series.name] = waves
        else:
            yield RULE.clear("throughput does not fall and come back in equal turns", series.name)
    for series, told, below in once_per_stack(view, found):
        yield _finding(view, series, told, below)
    if not flash:
        yield RULE.not_applicable("no device is known to be flash", missing=("topology.rotational",))


def _waves(samples: Table, limits: Limits) -> Waves | None:
    """The waves of one stream's busy samples, without the turns that the capture cuts off."""
    rows = samples[(samples.floats("kb_per_s") > 0) & (samples.floats("depth") >= 0.5)]
    if len(rows) < limits.samples:
        return None
    kb = rows.floats("kb_per_s")
    low, high = low_and_high(kb)
    if high < limits.falls * low:
        return None
    is_slow = kb < np.sqrt(low * high)
    edges = np.flatnonzero(np.diff(is_slow)) + 1
    falls = edges[is_slow[edges]]
    if len(falls) <= limits.turns or np.diff(edges).min() < 2:
        return None
    ends = np.cumsum(weighted.lengths(rows))
    periods = np.diff(ends[falls])
    every, unsteady = float(periods.mean()), float(periods.std(ddof=1) / periods.mean())
    whole = slice(int(falls[0]), int(falls[-1]))
    fast, slow = rows[whole][~is_slow[whole]], rows[whole][is_slow[whole]]
    found = Waves(fast, slow, len(periods), every, unsteady)
    is_even = unsteady <= limits.unsteady / 100 and _is_flat(fast, slow, is_slow[whole])
    return found if is_even and _is_same_demand(found, limits) else None


def _is_flat(fast: Table, slow: Table, is_slow: Mask) -> bool:
    """Whether the samples of either level are near its median, but for those at its edges."""
    edges = int(np.count_nonzero(np.diff(is_slow))) + 1
    away = 0
    for rows in (fast, slow):
        ratio = rows.floats("kb_per_s") / median(rows.floats("kb_per_s"))
        away += int(np.count_nonzero((ratio > 1.25) | (ratio < 0.8)))
    return away <= edges


def _is_same_demand(one: Waves, limits: Limits) -> bool:
    """Whether as many requests of the same kind are in flight when it is slow, and take longer."""

    def ratio(column: str) -> float:
        before = median(one.fast.floats(column))
        return median(one.slow.floats(column)) / before if before > 0 else float("nan")

    same = limits.same_size
    return bool(
        ratio("depth") >= limits.demand / 100
        and 1 / same <= ratio("size_kb") <= same
        and ratio("latency_ms") >= limits.falls
        and abs(_reads(one.slow) - _reads(one.fast)) <= 0.1
    )


def _reads(rows: Table) -> float:
    """The share of reads in the bytes moved."""
    return weighted.or_zero(weighted.ratio(rows, "read_kb_per_s", "kb_per_s"))


def _finding(view: View, series: DeviceSeries, one: Waves, below: tuple[str, ...]) -> Finding:
    is_of_reads = _reads(stacked([one.fast, one.slow])) >= 0.5
    sure = "medium" if is_of_reads or one.unsteady <= REGULAR else "low"
    why = "it seems to throttle for heat" + ("" if is_of_reads else ", or to empty its cache in turns")
    is_timed = bool(np.isfinite(one.fast.floats("interval_s")).all())
    values: Values = {
        "device": series.name,
        "high": median(one.fast.floats("kb_per_s")) / KB_PER_MB,
        "low": median(one.slow.floats("kb_per_s")) / KB_PER_MB,
        "turns": one.turns,
        "every": one.every,
        "unit": "s" if is_timed else "samples",
        "unsteady": 100 * one.unsteady,
    }
    return RULE.finding(
        severity="warning" if sure == "medium" else "notice",
        confidence=sure,
        **device_fields(stacked([one.fast, one.slow]), series.name, *below),
        summary=say(
            "{device} goes from {high} to {low} MiB/s and back every {every:.0f} {unit}, {turns} times, "
            f"under the same demand: {why}.",
            values,
        ),
        evidence=(*_evidence(one, values), *reported(view, (series.name, *below), HEAT)),
        refutes=("a temperature far below the drive's warning threshold while it is slow",),
        cannot_know=("the temperature of the drive during the capture",),
    )


def _evidence(one: Waves, values: Values) -> Iterator[Evidence]:
    rows = stacked([one.fast, one.slow])
    spread = ", give or take {unsteady:.0f} %" if float(values["unsteady"]) >= 1 else ""
    yield cite(rows, "{turns} turns of {every:.0f} {unit} each" + spread, values)
    said: Values = {
        "depth": median(one.fast.floats("depth")),
        "depth_slow": median(one.slow.floats("depth")),
        "fast": median(one.fast.floats("latency_ms")),
        "slow": median(one.slow.floats("latency_ms")),
    }
    text = "{depth} and {depth_slow} requests in flight, {fast} and {slow} ms each"
    yield cite(rows, text, said, worst="latency_ms")
    if _reads(rows) < 0.5:
        text = "writes alone may make such waves: a cache that fills, or garbage that is collected"
        yield cite(rows, text, weighs="against")


RULE = Rule(
    id="thermal-throttle",
    explains=(*SYMPTOMS_AND_SATURATION, "volume-cap", "writeback-burst", "low-concurrency-bound"),
    replaces=("burst-bucket-empty",),
    title="A flash drive throttles for heat",
    why="It is fast until it is hot, and slow until it is less hot.",
    remedy=(
        "Cool the drive: a heat sink, air over it, another slot; update its firmware.",
        "Spread sustained load over more drives, or limit its rate to what the drive keeps up.",
    ),
    needs=Needs(one_of=({"disk": ("read_kb_per_s|write_kb_per_s|kb_per_s", "queue_depth|await_ms")},)),
    thresholds={
        "falls": Threshold(1.5, "x", "fast over slow", "data sheets: the first step halves the clock"),
        "turns": Threshold(4, "turns", "of equal length", "judgement: fewer are equal by chance"),
        "unsteady": Threshold(20, "%", "deviation of their lengths", "judgement: edges of samples"),
        "samples": Threshold(20, "samples", "under load", "four turns of five samples"),
        "demand": Threshold(80, "%", "requests in flight left while slow", "a closed load keeps its queue"),
        "same_size": Threshold(1.25, "x", "change of the size of requests", "judgement"),
    },
    confirm=("smartctl -x /dev/DEVICE | grep -i temp", "nvme smart-log /dev/DEVICE"),
    references=("https://nvmexpress.org/specifications/",),
    to_clear=ToClear(samples=20, requests=200, busy_pct=50, columns=("kb_per_s", "queue_depth")),
    detect=detect,
)
