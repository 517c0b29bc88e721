"""Writes are fast until a number of bytes has been written, then several times slower: a cache is full.

What it detects: after some GB written since an idle stretch, the bytes written fall to a third and less
while each takes at least five times as long, with no smaller queue and no more reads. It is surer when
writes are fast again after a pause, and more so when the cliff comes after about as many bytes again.

Why it matters: the fast rate is that of the drive's cache: single-level cells of flash, the media cache of
a shingled disk, the write-back cache of a controller. A backup, rebuild or restore runs at the slow one.

When it is wrong: burst credits of a volume run out in the same way. They come back at no more than the slow
rate (it is their refill), and they slow reads down as much as writes: fast writes of more than that after a
pause, or reads that suffer less, tell a cache. Heat throttles drives after a time, not after a number of
bytes. A write that turned from sequential to random at that moment looks the same once, not twice.

References: reviews of flash drives with pseudo-SLC caches; T. Feldman and G. Gibson 2013 on shingled disks
(media cache); Little's law for waiting per kB. Seen in a lab with a modelled disk, not yet in a capture
from the field.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from iodiag.analysis.array.topmost_devices import once_per_stack
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.changepoints import split
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.measure.quantiles import median, percentiles
from iodiag.analysis.measure.time_per_kb import in_flight, ratio_of, request_count, slowdown
from iodiag.analysis.measure.windows import by_stream
from iodiag.analysis.states.service_times import relative_error
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import KB_PER_MB
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Table, stacked

WRITING = 0.2
"""Share of the fast rate (90th percentile) from which a sample writes, whatever waits."""


@dataclass(frozen=True)
class Round:
    """A stretch of writing after a pause or from the beginning: fast samples, then slow ones.

    `slow` is empty where it stayed fast. `paused` is the time without writes before it, NaN where it is the
    first. Times are in seconds, or in samples where their lengths are not known.
    """

    fast: Table = field(repr=False)
    slow: Table = field(repr=False)
    paused: float

    @property
    def written_kb(self) -> float:
        """What was written until it became slow: kB, or kB/s times samples where lengths are not known."""
        return float((self.fast.floats("write_kb_per_s") * weighted.lengths(self.fast)).sum())

    @property
    def high(self) -> float:
        """The fast rate in kB/s: the median, as edges of a round are slower."""
        return median(self.fast.floats("write_kb_per_s"))

    @property
    def low(self) -> float:
        """The slow rate in kB/s."""
        return median(self.slow.floats("write_kb_per_s"))


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per topmost device whose writes fell off a cliff."""
    found: dict[str, list[Round]] = {}
    for series in view.devices:
        rounds = _rounds(series, limits)
        if _is_consistent(rounds):
            found[series.name] = rounds
        elif (series.loaded.floats("write_kb_per_s") > 0).any():
            yield RULE.clear("writes do not become slow after a number of bytes", series.name)
    for series, told, below in once_per_stack(view, found):
        yield _finding(series, told, below, limits)


def _is_consistent(rounds: Sequence[Round]) -> bool:
    """Whether there are cliffs, and nothing that was written fast is larger than the cache would be."""
    full = [one.written_kb for one in rounds if len(one.slow)]
    if not full:
        return False
    fast = [one.written_kb for one in rounds if not len(one.slow)]
    return not max(fast, default=0.0) > 2 * max(full)


def _rounds(series: DeviceSeries, limits: Limits) -> list[Round]:
    """The stretches of writing, each cut where it became slow."""
    found = []
    for part in by_stream(series.samples):
        kb, depth = part.floats("write_kb_per_s"), in_flight(part, "write")
        if not (kb > 0).any():
            continue
        high = percentiles(kb[kb > 0], 90)[0]
        is_writing = (kb >= WRITING * high) | ((kb > 0) & (depth >= 0.5))
        edges = np.flatnonzero(np.diff(np.concatenate([[False], is_writing, [False]]).astype(np.int8)))
        begins, ends = edges[::2], edges[1::2]
        # what a stretch wrote in all bounds what it wrote before a cliff; it is unknown without lengths
        written = np.concatenate([[0.0], np.cumsum(kb * part.floats("interval_s"))])
        is_enough = ~(written[ends] - written[begins] < limits.least_mb * KB_PER_MB)
        last = 0
        for first, end, may_fall in zip(begins.tolist(), ends.tolist(), is_enough.tolist(), strict=True):
            if end - first >= 2:
                paused = float(weighted.lengths(part)[last:first].sum()) if last else math.nan
                found.append(_cut(part[first:end], paused, may_fall, limits))
            last = end
    return found


def _cut(rows: Table, paused: float, may_fall: bool, limits: Limits) -> Round:
    """A stretch as a fast and a slow part where there is a cliff, as a fast one otherwise."""
    if may_fall and len(rows) >= 4:
        at = split(np.log(rows.floats("write_kb_per_s")), 2)
        one = Round(rows[:at], rows[at:], paused)
        if _is_cliff(one, limits):
            return one
    return Round(rows, rows[:0], paused)


def _is_cliff(one: Round, limits: Limits) -> bool:
    fast, slow = one.fast, one.slow
    counts = [request_count(rows, "write") for rows in (fast, slow)]
    if not one.low <= one.high / limits.falls or min(counts) < limits.requests:
        return False
    chance = 2 * math.hypot(*map(relative_error, counts))
    # of samples at the edge of either part a share may belong to the other
    inner = fast[:-1] if len(fast) > 2 else fast, slow[1:] if len(slow) > 2 else slow
    if not slowdown(*inner, "write") >= limits.slower * (1 + chance):
        return False
    middle = math.sqrt(one.high * one.low)
    strays = (fast.floats("write_kb_per_s")[1:] < middle).sum() + (
        slow.floats("write_kb_per_s")[1:] > middle
    ).sum()
    size = ratio_of(*inner, "write_size_kb")
    return bool(
        strays <= 0.1 * (len(fast) + len(slow))
        and not (size < 1 / limits.same_size or size > limits.same_size)
        and median(in_flight(slow, "write")) >= limits.demand / 100 * median(in_flight(fast, "write"))
        and _reads(slow) <= 1.5 * _reads(fast) + 0.1 * one.low
        and not weighted.total(fast, "write_kb_per_s") < limits.least_mb * KB_PER_MB
    )


def _reads(rows: Table) -> float:
    return weighted.or_zero(weighted.mean(rows, "read_kb_per_s"))


def _finding(
    series: DeviceSeries, rounds: Sequence[Round], below: tuple[str, ...], limits: Limits
) -> Finding:
    cliffs = [one for one in rounds if len(one.slow)]
    witnesses = tuple(_witnesses(rounds, limits))
    first = cliffs[0]
    values: Values = {
        "device": series.name,
        "high": first.high / KB_PER_MB,
        "low": first.low / KB_PER_MB,
        "count": len(cliffs),
        "slow": sum(len(one.slow) for one in cliffs),
        "all": len(series.samples),
        "waits": slowdown(first.fast, first.slow, "write"),
        "depth": median(in_flight(first.fast, "write")),
        "depth_after": median(in_flight(first.slow, "write")),
    }
    gb = weighted.total(first.fast, "write_kb_per_s") / KB_PER_MB / 1024
    after = "after a while"
    if not math.isnan(gb):
        values, after = values | {"gb": gb}, "after {gb} GiB"
    rows = stacked([part for one in cliffs for part in (one.fast, one.slow)])
    text = (
        "from {high} to {low} MiB/s, with {depth} and then {depth_after} writes in flight; each kB waits "
        "{waits:.1f} times as long"
    )
    return RULE.finding(
        severity="warning",
        confidence=confidence(2 + sum(_POINTS[item.weighs] for item in witnesses)),
        **device_fields(stacked([one.slow for one in cliffs]), series.name, *below),
        summary=say(
            "{device} writes {high} MiB/s and "
            + after
            + " only {low} MiB/s, under the same demand ({slow} of {all} "
            "samples): its write cache is full.",
            values,
        ),
        evidence=(cite(rows, text, values, worst="write_await_ms"), *witnesses),
        refutes=("a credit balance that was empty at that time", "a temperature that the drive throttles at"),
        cannot_know=("which cache it is: cells of flash, a shingled disk's, or a controller's",),
    )


_POINTS = {"for": 2.0, "against": -1.0, "context": 0.0}


def _witnesses(rounds: Sequence[Round], limits: Limits) -> Iterator[Evidence]:
    """What tells a full cache from credits, heat and another pattern of writes."""
    cliffs = [one for one in rounds if len(one.slow)]
    low: Values = {"low": cliffs[0].low / KB_PER_MB, "count": len(cliffs)}
    again = [later for later in rounds if later.paused > 0 and _is_refilled(cliffs[0], later)]
    if again:
        text = "after a pause it wrote fast again: more than credits refilled at {low} MiB/s allow"
        yield cite(again[0].fast, text, low)
    amounts = [one.written_kb for one in cliffs]
    apart = max(amounts) / min(amounts) - 1
    if len(cliffs) >= 2 and apart <= limits.repeats / 100:
        text = "the cliff came {count} times, after as many bytes within {apart:.0f} %"
        yield cite(stacked([one.fast for one in cliffs]), text, low | {"apart": 100 * apart})
    first = cliffs[0]
    reads = slowdown(first.fast, first.slow, "read")
    writes = slowdown(first.fast, first.slow, "write")
    if min(request_count(part, "read") for part in (first.fast, first.slow)) >= limits.requests and reads > 0:
        said: Values = {"reads": reads, "writes": writes}
        text = "reads became {reads:.1f} times slower, writes {writes:.1f} times"
        is_apart = reads <= 0.5 * writes
        yield cite(first.slow, text, said, weighs="for" if is_apart else "against")


def _is_refilled(first: Round, later: Round) -> bool:
    """Whether more was written fast after a pause than a bucket that refills at the slow rate gives."""
    lasted = float(weighted.lengths(later.fast).sum())
    return later.high >= 2 * first.low and later.written_kb >= 2 * first.low * (later.paused + lasted)


RULE = Rule(
    id="sustained-write-cliff",
    explains=(
        *SYMPTOMS_AND_SATURATION,
        "writeback-burst",
        "volume-cap",
        "backend-latency-shift",
        "latency-above-baseline",
    ),
    replaces=("burst-bucket-empty", "throttled-above-device"),
    title="Sustained writes fell off a cliff: a write cache is full",
    why="The rate of the first gigabytes is not what the device sustains.",
    remedy=(
        "Plan for the slow rate, or write in portions with pauses in which the cache is emptied.",
        "For sustained writes use drives with a steady rate: no shingled disk, no small pseudo-SLC cache; "
        "leave part of a flash drive unused and let fstrim run.",
    ),
    needs=Needs(one_of=({"disk": ("write_kb_per_s", "write_await_ms|write_queue_depth|queue_depth")},)),
    thresholds={
        "falls": Threshold(
            3, "x", "fall of the bytes written", "caches are 3 to 30 times as fast as what is behind"
        ),
        "slower": Threshold(5, "x", "waiting per kB after over before", "judgement: more than heat does"),
        "demand": Threshold(80, "%", "writes in flight left after the cliff", "a closed load keeps it"),
        "same_size": Threshold(1.5, "x", "change of the size of writes", "judgement"),
        "requests": Threshold(
            10, "requests", "on either side", "a mean of 10 is known to 30 %, which is allowed for"
        ),
        "least_mb": Threshold(64, "MiB", "written before the cliff", "caches of disks hold up to 256 MB"),
        "repeats": Threshold(30, "%", "difference of what came before each cliff", "pauses empty it partly"),
    },
    confirm=("lsblk -o NAME,MODEL,ROTA,ZONED /dev/DEVICE", "smartctl -x /dev/DEVICE"),
    references=("https://www.usenix.org/system/files/login/articles/05_feldman_022-030_final.pdf",),
    to_clear=ToClear(samples=8, requests=200, columns=("write_kb_per_s", "await_ms|write_await_ms")),
    detect=detect,
)
