"""Writes became several times slower at one moment while reads and the load stayed as they were.

What it detects: the latency of writes steps up at least fivefold and stays there, at an equal rate and size
of writes, while reads take as long as before; from threefold on it is noted. Or the controller's tool states
it: writes go through though they are configured to be cached, or its battery has failed or learns. Where only
the time that requests of each direction waited is stored (binary files of sadc), waiting per kB written
stands for the latency.

Why it matters: a write cache that acknowledged writes at once is off: a controller's battery is dead or in
its learn cycle (every 30 or 90 days), a capacitor has failed, or somebody set the cache to write-through.
Every commit waits for the medium from then on.

When it is wrong: a new writer that waits for stable storage raises the rate of writes or of flushes, and is
left out. One slow leg of a mirror slows down the writes of the mirror alone: on an array whose members are
not shown the confidence is low. A load that grows raises reads as well. Reads wait a little longer behind
slow writes; as much as the busier device explains is allowed. Without reads nothing shows that the medium
is as it was: then only writes that were faster than a spinning disk can turn tell that there was a cache.

References: vendors' guides on controller cache policy (write-back, write-through, learn cycles of the
battery); Little's law for waiting per kB. Seen in a lab with a modelled disk, not yet in a capture from the
field.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from iodiag.analysis.array.topmost_devices import once_per_stack
from iodiag.analysis.host.disk_health import lost_caches
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.changepoints import onset, partition
from iodiag.analysis.measure.evidence import Values, cite, cite_fact, say
from iodiag.analysis.measure.grading import confidence, device_fields, time_fields
from iodiag.analysis.measure.time_per_kb import (
    DIRECTIONS,
    in_flight,
    mean_wait_per_kb,
    ratio_of,
    request_count,
    slowdown,
    wait_per_kb,
)
from iodiag.analysis.measure.windows import by_stream, seconds
from iodiag.analysis.states.service_times import relative_error
from iodiag.analysis.view.device_traits import is_spinning
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.capture import Fact
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Table, stacked

LEAST_SAMPLES, LEAST_SECONDS = 3, 30.0
"""The shortest level in samples, and in seconds where writes are fast again after it: a flush takes less."""

SURE = 200
"""Writes after the step from which their mean is known to 7 %."""

MISPLACED = 0.15
"""Share of the writes, or of the samples, of either level that may be on the other side of the middle: more
is no step."""

OUTLYING = 10.0
"""Times the median of its level from which a sample is a stall of its own: no level varies so much."""

MOST_BUSY, MOST_WAITS = 0.8, 2.0
"""Up to this share of busy time 1/(1-U) says how much longer reads wait behind slow writes; twice at most."""


@dataclass(frozen=True)
class WriteLatencyStep:
    """The samples with writes before and after a step in their latency.

    `slower` is the latency of writes after over before, `reads` that of reads, NaN where too few were read;
    `waits` is how much longer reads wait because the device is busier.
    """

    before: Table = field(repr=False)
    after: Table = field(repr=False)
    slower: float
    reads: float
    waits: float


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per topmost device whose writes alone stepped up."""
    found: dict[str, WriteLatencyStep] = {}
    lost = dict(lost_caches(view))
    for series in view.devices:
        if len(view.members(series)) >= 2 or not (series.loaded.floats("write_kb_per_s") > 0).any():
            continue
        if not np.isfinite(in_flight(series.samples, "write")).any():
            reason = "the latency of writes is not told apart from that of reads; iostat -x would settle it"
            yield RULE.undetermined(reason, series.name)
        elif step := _step(series, limits):
            found[series.name] = step
        elif series.name not in lost:
            yield RULE.clear("writes do not step up alone at an equal load", series.name)
    for series, told, below in once_per_stack(view, found):
        facts = [fact for name in (series.name, *below) for fact in lost.pop(name, ())]
        yield _finding(series, told, below, facts, limits)
    for name, facts in lost.items():
        yield _stated(view.series(name), name, facts, limits)


def _step(series: DeviceSeries, limits: Limits) -> WriteLatencyStep | None:
    """The largest step that is one; of each stream alone."""
    best = None
    for part in by_stream(series.samples):
        rows = part[np.nan_to_num(wait_per_kb(part, "write")) > 0]
        levels = _levels(rows, limits)
        for before, after in pairwise(levels):
            lasts = after is levels[-1] or seconds(after) >= LEAST_SECONDS
            step = _latency_step(before, after, limits) if lasts else None
            if step is not None and (best is None or step.slower > best.slower):
                best = step
    return best


def _levels(rows: Table, limits: Limits) -> list[Table]:
    """Stretches of samples in which writes cost the same, within a factor of two; none without a step."""
    cost = wait_per_kb(rows, "write")
    in_order = np.sort(cost)
    few = LEAST_SAMPLES - 1
    if len(rows) < 2 * LEAST_SAMPLES or in_order[-1 - few] < limits.slower * in_order[few]:
        return []
    edges = [0, *partition(np.log(cost)[None, :], LEAST_SAMPLES), len(rows)]
    moved = rows.floats("write_kb_per_s") * weighted.lengths(rows)
    while len(edges) > 2:
        waited, written = (np.add.reduceat(data, edges[:-1]) for data in (cost * moved, moved))
        apart = np.abs(np.diff(np.log(waited / written)))
        at = int(np.argmin(apart))
        if apart[at] >= math.log(2):
            break
        del edges[at + 1]
    return [rows[first:last] for first, last in pairwise(edges)]


def _latency_step(before: Table, after: Table, limits: Limits) -> WriteLatencyStep | None:
    """The step between two levels, where writes alone became slower, but for single outlying samples."""
    before, after = (_without_outliers(rows) for rows in (before, after))
    counts = [request_count(rows, "write") for rows in (before, after)]
    slower = slowdown(before, after, "write")
    chance = 2 * math.hypot(*map(relative_error, counts))
    if min(counts) < limits.requests or not slower >= limits.slower * (1 + chance):
        return None
    if _waited(after) < limits.least_ms:
        return None
    most = (1 + limits.same / 100) * math.exp(chance)
    like = [ratio_of(before, after, column) for column in ("writes_per_s", "write_kb_per_s", "ios_per_s")]
    if like[2] > most or any(ratio > most or ratio < 1 / most for ratio in like[:2]):
        return None
    # without a count of writes that of all requests says whether they kept their size
    if math.isnan(like[0]) and like[2] < 1 / most:
        return None
    flushes = weighted.or_zero(weighted.mean(after, "flushes_per_s"))
    flushes -= weighted.or_zero(weighted.mean(before, "flushes_per_s"))
    if flushes > 0.2 * weighted.or_zero(weighted.mean(after, "writes_per_s")):
        return None
    reads, waits, least = _reads(before, after, limits)
    if reads > (1 + limits.same / 100) * waits + least or reads < 1 / (1 + limits.same / 100) - least:
        return None
    return WriteLatencyStep(before, after, slower, reads, waits) if _is_sharp(before, after) else None


def _without_outliers(rows: Table) -> Table:
    """The samples of a level but for a few that are outlying: many of them belong to it."""
    cost = wait_per_kb(rows, "write")
    is_out = cost > OUTLYING * np.median(cost)
    return rows[~is_out] if is_out.sum() <= max(1, MISPLACED * len(rows)) else rows


def _reads(before: Table, after: Table, limits: Limits) -> tuple[float, float, float]:
    """How much slower reads became, how much of that the busier device explains, and the error of it."""
    counts = [request_count(rows, "read") for rows in (before, after)]
    if min(counts) < limits.requests:
        return math.nan, 1.0, 0.0
    ratio = slowdown(before, after, "read")
    free = [1 - min(weighted.mean(rows, "util"), MOST_BUSY) for rows in (before, after)]
    waits = free[0] / free[1]
    return (
        ratio,
        min(max(1.0, waits), MOST_WAITS) if waits == waits else 1.0,
        math.hypot(*map(relative_error, counts)),
    )


def _is_sharp(before: Table, after: Table) -> bool:
    """Whether the writes of either level lie on its side of the middle."""
    middle = math.sqrt(mean_wait_per_kb(before, "write") * mean_wait_per_kb(after, "write"))
    for rows, is_high in ((before, False), (after, True)):
        moved = rows.floats("write_kb_per_s") * weighted.lengths(rows)
        is_over = wait_per_kb(rows, "write") > middle
        if moved[is_over != is_high].sum() > MISPLACED * moved.sum():
            return False
    return True


def _waited(rows: Table) -> float:
    """Milliseconds of a write of mean size: only the order of it where no latency of writes is known."""
    known = _latency(rows)
    size = weighted.ratio(rows, "kb_per_s", "ios_per_s")
    return known if known == known else mean_wait_per_kb(rows, "write") * size


def _latency(rows: Table) -> float:
    """Milliseconds of a write, NaN where only waiting per kB is known."""
    return weighted.mean(rows, "write_await_ms")


def _stated(series: DeviceSeries | None, name: str, facts: Sequence[Fact], limits: Limits) -> Finding:
    """A cache that the controller's tool states is off; how long writes take shows what that costs."""
    rows = None if series is None else series.loaded
    latency = math.nan if rows is None else _latency(rows)
    reads, writes = (0.0 if rows is None else np.nansum(in_flight(rows, way)) for way in DIRECTIONS)
    is_paid = latency >= limits.half_turn and writes >= reads
    values: Values = {"device": name or "a volume that the listing does not name", "latency": latency}
    text = "The controller of {device} states that its write cache is off, a write takes {latency} ms."
    return RULE.finding(
        severity="warning" if is_paid else "notice",
        confidence="high" if name else "medium",
        devices=(name,) if name else (),
        **(time_fields(rows) if rows is not None and is_paid else {}),
        summary=say(text, values),
        evidence=tuple(cite_fact(fact) for fact in facts),
        refutes=("a newer listing of the controller, in which the cache writes back",),
    )


def _finding(
    series: DeviceSeries,
    step: WriteLatencyStep,
    below: tuple[str, ...],
    facts: Sequence[Fact],
    limits: Limits,
) -> Finding:
    before, after = step.before, step.after
    began = after["time"].first()
    was_cached = is_spinning(series) is True and _latency(before) < limits.half_turn <= _latency(after)
    values: Values = {
        "device": series.name,
        "ratio": step.slower,
        "kb": weighted.mean(after, "write_kb_per_s"),
        "kb_before": weighted.mean(before, "write_kb_per_s"),
        "when": f"since {began:%H:%M:%S}" if began else "after a step",
        "samples": len(after),
        "all": len(series.samples),
    }
    points = 2 + (2 if step.reads == step.reads else -1) + (request_count(after, "write") >= SURE)
    points += was_cached
    text = "{device} makes writes wait {ratio:.1f} times as long {when} ({samples} of {all} samples)"
    if after.has("write_await_ms"):
        values |= {"before": _latency(before), "after": _latency(after)}
        text = "{device} takes {after} ms for a write {when} ({samples} of {all} samples), {before} ms before"
    is_large = step.slower >= limits.warned
    points = min(points, 2) if series.is_stacked else points
    sure = confidence(points, at_most="high" if is_large else "medium")
    return RULE.finding(
        severity="warning" if is_large or facts else "notice",
        confidence="high" if facts else sure,
        **device_fields(after, series.name, *below),
        summary=say(text + ", at the same rate and size of writes: a write cache seems lost.", values),
        evidence=(*_evidence(series, step, values, was_cached), *map(cite_fact, facts)),
        refutes=("a writer that began to wait for stable storage (O_DSYNC, fsync) at that time",),
        cannot_know=(
            "whose cache it is: the controller's, the drive's, or that of storage behind a network",
        ),
    )


def _evidence(
    series: DeviceSeries, step: WriteLatencyStep, values: Values, was_cached: bool
) -> Iterator[Evidence]:
    around = stacked([step.before, step.after])
    text = "waiting per kB written steps up {ratio:.1f} times"
    if step.after.has("write_await_ms"):
        text += "; a write takes {before} and then {after} ms"
    yield cite(around, text, values, worst="write_await_ms")
    yield cite(around, "{kb_before} kB/s were written before and {kb} after, in like requests", values)
    if step.reads == step.reads:
        said: Values = {"reads": step.reads, "waits": step.waits}
        text = "reads take {reads:.2f} times as long as before; waiting behind slow writes makes {waits:.2f}"
        yield cite(around, text, said)
    else:
        yield cite(around, "there are too few reads to tell the medium from the cache", weighs="against")
    if was_cached:
        text = "{before} ms a write is less than half a turn of a spinning disk: a cache acknowledged them"
        yield cite(step.before, text, values)
    if series.is_stacked:
        yield cite(around, "one slow disk below it would look the same", weighs="against")
    yield from onset(series, int(step.after["sample"][0]))


RULE = Rule(
    id="write-cache-lost",
    explains=(
        *SYMPTOMS_AND_SATURATION,
        "backend-latency-shift",
        "flush-latency",
        "serialized-commit",
        "mixed-await",
    ),
    title="A write cache is lost: writes alone became slower",
    why="Writes wait for the medium, which a cache spared them before.",
    remedy=(
        "Look at the controller's battery or capacitor and its cache policy; replace it, or wait for the end "
        "of its learn cycle, and schedule that for quiet hours.",
        "On a drive without a controller look whether its write cache was switched off (hdparm -W, sdparm "
        "WCE) and why; switch it on only where it is protected or the file system flushes it.",
    ),
    needs=Needs(
        one_of=({"disk": ("write_await_ms|write_queue_depth|await_ms|queue_depth", "write_kb_per_s")},)
    ),
    thresholds={
        "slower": Threshold(
            3, "x", "latency of writes after over before", "judgement: a cache behind a slow path, or a queue"
        ),
        "warned": Threshold(
            5, "x", "the same of which is warned", "a cache answers in 0.1 to 1 ms, a disk in 5 to 15"
        ),
        "same": Threshold(25, "%", "change of rate, size and the latency of reads", "judgement"),
        "requests": Threshold(
            30,
            "requests",
            "of a direction on either side",
            "a mean of 30 is known to 18 %, which is allowed for",
        ),
        "least_ms": Threshold(0.5, "ms", "write from which loss matters", "flash without a cache: 0.5 ms"),
        "half_turn": Threshold(2, "ms", "half a turn of a spinning disk", "15,000 rpm: 2; 7,200 rpm: 4.2 ms"),
    },
    confirm=(
        "cat /sys/block/DEVICE/queue/write_cache",
        "smartctl -g wcache /dev/DEVICE",
        "storcli64 /c0/bbu show all; storcli64 /c0/vall show all",
    ),
    references=("https://docs.kernel.org/block/writeback_cache_control.html",),
    to_clear=ToClear(samples=8, requests=200, columns=("write_await_ms|write_queue_depth",)),
    detect=detect,
)
