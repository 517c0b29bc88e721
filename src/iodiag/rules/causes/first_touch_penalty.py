"""Reads are slow until their place has been read once: a volume that is filled from a snapshot or from afar.

What it detects: reads that take at least ten times as long at first as later, and whose latency falls with
the bytes that have been read, not at a moment: gradually, without a falling rate and beyond what the queue
explains. Writes, where there are any, are normal from the beginning.

Why it matters: a volume restored from a snapshot, a thin clone or a migrated disk fetches each block when
it is first read. A database on it is slow for hours after a restore, and nothing in it is wrong.

When it is wrong: a tier or a cache of the storage that warms up looks the same; the page cache does not,
for what it holds never reaches the device: rates fall there, and not latencies. A neighbour that goes away,
or a rebuild that ends, makes writes faster, too. At a constant rate bytes and time are the same, and the
confidence is low. A device whose queue drains becomes faster per request, not per request in line.

References: Amazon EBS, initialize volumes restored from snapshots; Azure and Google on disks made from
images or snapshots. Seen in a lab with a modelled disk, not yet in a capture from the field.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from iodiag.analysis.array.topmost_devices import once_per_stack
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.correlation import spearman
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.measure.quantiles import percentiles
from iodiag.analysis.measure.time_per_kb import (
    in_flight,
    mean_wait_per_kb,
    ratio_of,
    request_count,
    requests_per_sample,
    slowdown,
    wait_per_kb,
)
from iodiag.analysis.measure.windows import by_stream
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Floats, Table, stacked

NEAR = 2.0
"""Times the least latency from which reads are as fast as they get."""

JUMP = 0.6
"""Share of the whole fall (in logarithms) that one sample may make: more is a moment, not a decline."""

STRAYS = 0.1
"""Share of the samples after a decline that may be slow again."""

FEW = 10
"""Reads in a sample below which its latency is any."""

TOLD_APART = 1.5
"""Change of the rate from which bytes and time are told apart."""


@dataclass(frozen=True)
class Decline:
    """Samples with reads while latency falls, and those at its end and after it.

    `faster` is the waiting per kB at the beginning over that at the end. `by_bytes` and `by_time` are how
    well an exponential fits (r²), NaN where the rate is too even to tell them apart.
    """

    first: Table = field(repr=False)
    falling: Table = field(repr=False)
    last: Table = field(repr=False)
    faster: float
    by_bytes: float
    by_time: float


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per topmost device whose reads became faster with the bytes read."""
    found: dict[str, Decline] = {}
    for series in view.devices:
        if not (series.loaded.floats("read_kb_per_s") > 0).any():
            continue
        if not np.isfinite(in_flight(series.samples, "read")).any():
            reason = "the latency of reads is not told apart from that of writes; iostat -x would settle it"
            yield RULE.undetermined(reason, series.name)
        elif declines := list(filter(None, (_decline(part, limits) for part in by_stream(series.samples)))):
            found[series.name] = declines[0]
        else:
            yield RULE.clear("reads do not become faster with the bytes read", series.name)
    for series, told, below in once_per_stack(view, found):
        yield _finding(series, told, below, limits)


def _decline(samples: Table, limits: Limits) -> Decline | None:
    rows = samples[np.nan_to_num(wait_per_kb(samples, "read")) > 0]
    if len(rows) < limits.samples:
        return None
    cost = wait_per_kb(rows, "read")
    least = percentiles(cost, 10)[0]
    # a few reads before the load begins have any latency
    enough = requests_per_sample(rows, "read") >= FEW
    begin = int(np.argmax(np.where(enough, cost, 0.0)))
    fast = np.flatnonzero(cost[begin:] <= NEAR * least)
    if not len(fast) or fast[0] < 3:
        return None
    end = begin + int(fast[0])
    if _varies(cost[:begin][enough[:begin]], cost[end:], least):
        return None
    # the very first sample shows the penalty best, where it has enough reads
    count = 1 if request_count(rows[begin : begin + 1], "read") >= limits.requests else 2
    found = _fitted(rows[begin : begin + count], rows[begin : end + 1], rows[end:])
    return found if _is_decline(found, limits) else None


def _varies(before: Floats, after: Floats, least: float) -> bool:
    """Whether reads were fast before, or are slow again after: then latency goes up and down."""
    return bool((before <= NEAR * least).any() or (after > 2 * NEAR * least).mean() > STRAYS)


def _fitted(first: Table, falling: Table, last: Table) -> Decline:
    """The decline with how well an exponential of the bytes, and one of time, fits what exceeds the end."""
    low = percentiles(wait_per_kb(last, "read"), 25)[0]
    faster = mean_wait_per_kb(first, "read") / low
    excess = wait_per_kb(falling, "read") - low
    lengths, kb = weighted.lengths(falling), falling.floats("read_kb_per_s")
    known = excess > 0.1 * low
    if known.sum() < 3 or ratio_of(first, falling[-2:], "read_kb_per_s") < TOLD_APART:
        return Decline(first, falling, last, faster, math.nan, math.nan)
    fits = [_fit(np.cumsum(part) - part / 2, excess, known) for part in (kb * lengths, lengths)]
    return Decline(first, falling, last, faster, *fits)


def _fit(progress: Floats, excess: Floats, known: np.ndarray) -> float:
    one, other = progress[known], np.log(excess[known])
    is_flat = np.ptp(one) == 0 or np.ptp(other) == 0
    return math.nan if is_flat else float(np.corrcoef(one, other)[0, 1] ** 2)


def _is_decline(one: Decline, limits: Limits) -> bool:
    first, falling, last = one.first, one.falling, one.last
    if (
        not one.faster >= limits.faster
        or min(request_count(p, "read") for p in (first, last)) < limits.requests
    ):
        return False
    steps = -np.diff(np.log(wait_per_kb(falling, "read")))
    size = ratio_of(first, last, "read_size_kb")
    if steps.max() > JUMP * math.log(one.faster) or size < 1 / limits.same_size or size > limits.same_size:
        return False
    lengths = weighted.lengths(falling)
    read = np.cumsum(falling.floats("read_kb_per_s") * lengths)
    in_line = [
        max(1.0, weighted.or_zero(float(np.nanmean(in_flight(rows, "read"))))) for rows in (first, last)
    ]
    writes = _writes(one, limits)
    return bool(
        spearman(read, wait_per_kb(falling, "read")) <= -limits.steady / 100
        and ratio_of(first, last, "read_kb_per_s") >= limits.rate / 100
        and one.faster / in_line[0] * in_line[1] >= limits.faster / 2
        and not writes > limits.faster / 2
        and not one.by_time > one.by_bytes + 0.05
        and weighted.mean(first, "latency_ms") >= limits.least_ms
    )


def _writes(one: Decline, limits: Limits) -> float:
    """How much faster writes became meanwhile; NaN where there are too few."""
    if min(request_count(rows, "write") for rows in (one.falling, one.last)) < limits.requests:
        return math.nan
    return slowdown(one.last, one.first, "write")


def _finding(series: DeviceSeries, one: Decline, below: tuple[str, ...], limits: Limits) -> Finding:
    values = _values(series, one)
    evidence = tuple(_evidence(one, values, limits))
    points = 2 + sum({"for": 1, "against": -1, "context": 0}[item.weighs] for item in evidence[1:])
    amount = "after {gb} GiB were read" if "gb" in values else "in the end"
    return RULE.finding(
        severity="warning",
        confidence=confidence(points, at_most="medium"),
        **device_fields(one.falling, series.name, *below),
        summary=say(
            "{device} takes {first} ms for a {what} at first and {last} ms "
            + amount
            + " (over {samples} of {all} samples): reads of places not read before are slow.",
            values,
        ),
        evidence=evidence,
        refutes=("a second read of the same places (dd again) that is as slow",),
        cannot_know=("whether the blocks come from a snapshot or from a slower tier that warms up",),
    )


def _values(series: DeviceSeries, one: Decline) -> Values:
    is_direct = one.last.has("read_await_ms")
    latency = "read_await_ms" if is_direct else "latency_ms"
    values: Values = {
        "device": series.name,
        "first": weighted.mean(one.first, latency),
        "last": weighted.mean(one.last, latency),
        "what": "read" if is_direct else "request",
        "samples": len(one.falling),
        "all": len(series.samples),
        "faster": one.faster,
        "rate": weighted.mean(one.first, "read_kb_per_s"),
        "rate_after": weighted.mean(one.last, "read_kb_per_s"),
        "depth": float(np.nanmean(in_flight(one.first, "read"))),
        "depth_after": float(np.nanmean(in_flight(one.last, "read"))),
    }
    # of the samples that are told, where the decline is judged by its best quarter
    values["faster"] = mean_wait_per_kb(one.first, "read") / mean_wait_per_kb(one.last, "read")
    gb = weighted.total(one.falling, "read_kb_per_s") / 1024**2
    return values if math.isnan(gb) else values | {"gb": gb}


def _evidence(one: Decline, values: Values, limits: Limits) -> Iterator[Evidence]:
    text = (
        "each kB read waits {faster:.1f} times less in the end, falling over {samples} samples: {rate} and "
        "then {rate_after} kB/s, with {depth} and then {depth_after} reads in flight"
    )
    yield cite(stacked([one.falling, one.last]), text, values, worst="read_await_ms")
    if one.by_bytes >= 0.9 and one.by_bytes > one.by_time:
        said: Values = {"by_bytes": 100 * one.by_bytes, "by_time": 100 * one.by_time}
        text = (
            "latency falls with the bytes read (an exponential explains {by_bytes:.0f} %), less so with time "
            "({by_time:.0f} %)"
        )
        yield cite(one.falling, text, said)
    elif math.isnan(one.by_bytes):
        yield cite(one.falling, "the rate is even: bytes read and time are not told apart", weighs="against")
    writes = _writes(one, limits)
    if writes <= NEAR:
        text = "writes are {writes:.2f} times as slow at first as in the end: they are normal"
        yield cite(one.falling, text, {"writes": writes})


RULE = Rule(
    id="first-touch-penalty",
    explains=(*SYMPTOMS_AND_SATURATION, "low-concurrency-bound", "latency-above-baseline", "mixed-await"),
    title="The first read of each place is slow",
    why="Blocks are fetched from a snapshot, an image or a slow tier when they are first read.",
    remedy=(
        "Read the whole volume once before it is used (dd or fio over the device), or have the provider do "
        "it: fast snapshot restore, a provisioned initialization rate. A place that is read twice, as by the "
        "commands here, shows it: the second time is many times as quick, if nothing has read it before.",
        "After a restore let the application warm up before load is put on it; nothing in it needs tuning.",
    ),
    needs=Needs(one_of=({"disk": ("read_kb_per_s", "read_await_ms|read_queue_depth|await_ms|queue_depth")},)),
    thresholds={
        "faster": Threshold(
            10, "x", "waiting per kB at first over that in the end", "object storage against a disk"
        ),
        "samples": Threshold(6, "samples", "with reads", "four of a decline, two of its end"),
        "requests": Threshold(50, "requests", "at either end", "a mean of 50 is known to 14 %"),
        "same_size": Threshold(1.25, "x", "change of the size of reads", "judgement"),
        "steady": Threshold(80, "%", "rank correlation, bytes read and latency", "judgement: noise"),
        "rate": Threshold(80, "%", "of the first rate that is left in the end", "a load that ends is faster"),
        "least_ms": Threshold(2, "ms", "latency at first", "a fetch over a network takes milliseconds"),
    },
    confirm=tuple(
        f"dd if=/dev/DEVICE of=/dev/null bs={mb}M count={512 // mb} skip={8192 // mb} iflag=direct"
        for mb in (1, 2)
    ),
    references=("https://docs.aws.amazon.com/ebs/latest/userguide/ebs-initialize.html",),
    to_clear=ToClear(samples=6, requests=200, columns=("kb_per_s", "await_ms|read_await_ms")),
    detect=detect,
)
