"""Cache flushes are slow.

What it detects: a mean flush latency of 5 ms and more (possible), 10 ms and more (likely), over at least 50
flushes at one a second or more; fewer, from 10 on, where one is under way 80 % of the time. Shorter ones, of
a millisecond and more, where one is under way half of the time: however quick the writes look, whoever needs
them on the medium waits for these. And, from one flush on, five seconds and more in which a busy device
completes nothing, with a flush under way for half of that time: work stands still until the cache is
written.

Why it matters: each fsync, and with it each durable commit, takes at least one flush.

When it is wrong: a flush that waits behind another one takes up to twice as long as the device's
own, so that 10 ms can be a device of 5. A spinning disk without a protected cache needs about one
turn (8 ms at 7200 rpm) and a seek, and cannot be faster. Flushes of md and dm are not counted;
they show on the disks below. Nobody may be waiting for these flushes. A device that hangs holds a flush as
long as it hangs: the kernel's log would tell.

References: iostat(1), f/s and f_await; Documentation/block/writeback_cache_control.rst; etcd's
hardware guide (99 % of log syncs below 10 ms).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from iodiag.analysis.host.cpu import CpuShares, cpu_shares
from iodiag.analysis.host.who_waits import does_nobody_wait, is_wait_unknown
from iodiag.analysis.load.stalls import Stall, stalls_of
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import confidence, device_fields, time_fields
from iodiag.analysis.measure.time_per_kb import DIRECTIONS
from iodiag.analysis.measure.windows import is_sustained
from iodiag.analysis.states.service_times import SERVICE, class_of
from iodiag.analysis.view.device_traits import is_spinning
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.table.table import Table, stacked


class Slow(NamedTuple):
    """The flushes of one disk: how many, how slow, and what that makes of it."""

    series: DeviceSeries
    rows: Table
    rate: float
    wait: float
    total: float
    severity: Severity
    confidence: Confidence
    busy: CpuShares | None

    @property
    def stalled(self) -> float:
        """Share of the time, in %, in which a flush is under way."""
        return min(100.0, self.rate * self.wait / 10)


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding for all disks whose flushes are alike slow, the slowest first."""
    still = {
        series.name: stalls
        for series in view.devices
        if (stalls := [one for one in stalls_of(series) if one.is_flush and one.seconds >= limits.still])
    }
    for name, stalls in still.items():
        yield _standstill(view, name, stalls)
    rest = [series for series in view.devices if series.name not in still]
    slow = [found for series in rest if (found := _judge(view, series, limits))]
    slow.sort(key=lambda found: (found.severity, found.confidence, -found.wait))
    for _, group in groupby(slow, key=lambda found: (found.severity, found.confidence)):
        yield _finding(tuple(group))
    names = {found.series.name for found in slow}
    others = [series for series in rest if series.name not in names]
    # the kernel counts no flush of a layer that passes bios on
    uncounted = {
        one.name for one in others if one.is_stacked and not (one.samples.floats("flushes_per_s") > 0).any()
    }
    seldom = {one.name: wait for one in others if (wait := _seldom_ms(one)) >= limits.slow_ms}
    for name, wait in seldom.items():
        text = "its flushes take {wait:ms}, but they are too few to say what they cost"
        yield RULE.undetermined(say(text, {"wait": wait}), name)
    told = {*uncounted, *seldom}
    if clear := tuple(series.name for series in others if series.name not in told):
        yield RULE.clear("few flushes, or quick ones", *clear)
    if uncounted:
        reason = "it counts no flush, as layers above the disks do: the disks below it would tell"
        yield RULE.undetermined(reason, *sorted(uncounted))


def _standstill(view: View, name: str, stalls: list[Stall]) -> Finding:
    """A finding of a device that completed nothing while its cache was flushed."""
    rows = stacked([one.rows for one in stalls])
    ends = stacked([one.release for one in stalls if one.release is not None])
    values: Values = {
        "device": name,
        "count": len(stalls),
        "seconds": max(one.seconds for one in stalls),
        "samples": len(rows),
        "util": weighted.mean(rows, "util_pct"),
        "flush": float(ends.floats("flush_await_ms").max()) / 1000,
    }
    often = " {count} times, the longest" if len(stalls) > 1 else ""
    text = "nothing was completed in {samples} samples, {util:.0f} % busy"
    said = "the samples that end it book flushes that took up to {flush:.1f} s"
    return RULE.finding(
        severity="notice" if does_nobody_wait(view, rows) else "warning",
        confidence="high" if len(stalls) > 1 else "medium",
        devices=(name,),
        **time_fields(rows),
        title="The device completed no request while its cache was flushed",
        summary=say(
            f"{{device}} completed no request{often} for {{seconds:.0f}} s, {{util:.0f}} % busy: it flushed "
            "its cache, for {flush:.1f} s.",
            values,
        ),
        evidence=(cite(rows, text, values), cite(ends, said, values, worst="flush_await_ms")),
        remedy=(
            "Let less pile up between flushes: lower vm.dirty_background_bytes and vm.dirty_bytes, and give "
            "bulk writers less weight (ionice -c 3, io.weight).",
            *RULE.remedy[:2],
        ),
        confirm=(
            "dmesg -T | grep -iE 'timeout|reset|abort|I/O error'",
            "grep -E 'Dirty|Writeback' /proc/meminfo",
            "cat /sys/block/DEVICE/queue/write_cache",
        ),
        refutes=(
            "timeouts and resets of that minute in the kernel's log: then it hung, and the flush with it",
        ),
        cannot_know=("how much its cache held: the counters do not show it",),
    )


def _seldom_ms(series: DeviceSeries) -> float:
    """The mean latency of a device's flushes, however few; 0 without any."""
    return weighted.or_zero(weighted.mean(series.samples, "flush_await_ms"))


def _judge(view: View, series: DeviceSeries, limits: Limits) -> Slow | None:
    rows = series.samples[series.samples.floats("flushes_per_s") > 0]
    rate, wait = weighted.mean(rows, "flushes_per_s"), weighted.mean(rows, "flush_await_ms")
    total = float((rows.floats("flushes_per_s") * weighted.lengths(rows)).sum())
    # flushes of a device follow each other: with one always under way, few of them fill the time
    is_always = rate * wait >= 10 * limits.always and total >= limits.fewest
    fills = total * wait / 10 >= limits.most * weighted.lengths(series.samples).sum()
    name = class_of(series)
    is_long = fills and wait >= SERVICE["solid" if name == "unknown" else name].usual_ms
    is_slow = wait >= limits.possible_ms or is_long
    if not (rate >= limits.rate and is_slow and (total >= limits.flushes or is_always)):
        return None
    points = (
        1
        + 2 * (wait >= limits.likely_ms or is_long)
        + (wait >= limits.slow_ms)
        + (total >= 10 * limits.flushes)
    )
    sure = confidence(points, at_most="high" if is_sustained(rows) else "medium")
    cpu = cpu_shares(view.cpu_at(rows))
    is_free = cpu is None or cpu.available >= limits.available
    is_waited = is_long and not (is_wait_unknown(view, rows) or does_nobody_wait(view, rows))
    harms = is_waited or (wait >= limits.slow_ms and rate * wait / 10 >= limits.stalled)
    harms = harms and sure != "low" and is_free
    severity: Severity = "warning" if harms else "notice"
    return Slow(series, rows, rate, wait, total, severity, sure, None if is_free else cpu)


def _finding(group: tuple[Slow, ...]) -> Finding:
    worst = group[0]
    values: Values = {
        "device": worst.series.name,
        "await": worst.wait,
        "others": f" and {group[1].series.name if len(group) == 2 else f'{len(group) - 1} more'}"
        if len(group) > 1
        else "",
        "stalled": worst.stalled,
        "count": len(worst.rows),
        "all": len(worst.series.samples),
    }
    text = "A cache flush of {device}{others} takes {await} ms; "
    text += "in {count} of {all} samples " * (len(worst.rows) < len(worst.series.samples))
    text += "one is under way {stalled:.0f} % of the time"
    return RULE.finding(
        severity=worst.severity,
        confidence=worst.confidence,
        **device_fields(worst.rows, *(found.series.name for found in group)),
        summary=say(text, values) + "".join(f"; {item.text}" for item in _later(worst)) + ".",
        evidence=tuple(item for found in group[:6] for item in (*_of(found), *_later(found))),
        refutes=("fio with --fdatasync=1 on this device that is quicker",),
        cannot_know=("percentiles, and whether anybody waits: a background writer flushes just the same",),
    )


def _later(found: Slow) -> Iterator[Evidence]:
    """What waits for longer than a flush meanwhile: requests of a direction, in line with them or not."""
    asked = [way for way in DIRECTIONS if weighted.mean(found.rows, f"{way}s_per_s") > 0]
    waits = {way: weighted.or_zero(weighted.mean(found.rows, f"{way}_await_ms")) for way in asked}
    way = max(waits, key=lambda way: waits[way], default="")
    if way and waits[way] > found.wait:
        values: Values = {"device": found.series.name, "way": f"{way}s", "latency": waits[way]}
        yield cite(
            found.rows, "{way} of {device} take {latency:ms} meanwhile", values, worst=f"{way}_await_ms"
        )


def _of(found: Slow) -> Iterator[Evidence]:
    values: Values = {
        "device": found.series.name,
        "rate": found.rate,
        "await": found.wait,
        "total": found.total,
        "all": len(found.series.samples),
        "count": len(found.rows),
        "stalled": found.stalled,
    }
    text = (
        "{device}: {rate} flushes/s at {await} ms each, {total:.0f} in all; one is in flight {stalled:.0f} % "
        "of the time"
    )
    yield cite(found.rows, text, values, worst="flush_await_ms")
    if found.busy is not None:
        text = "idle and iowait are {available:.1f} % of the CPU: nobody seems to wait for a flush"
        yield cite(found.busy.rows, text, found.busy.template_values(), weighs="against")
    device = found.series.device
    if device is not None and device.write_cache == "write through":
        text = "its write cache is said to be off or protected (write through): flushes should cost nothing"
        yield cite(None, text, weighs="against")
    if is_spinning(found.series):
        yield cite(None, "it spins: a flush takes a turn of the disk at the least", weighs="context")


RULE = Rule(
    id="flush-latency",
    explains=("io-standstill",),
    title="Cache flushes are slow",
    why="Every fsync waits for one, so they bound how fast anything durable can be.",
    remedy=(
        "Put logs on a device with power-loss protection, whose flush costs next to nothing.",
        "Check that a controller's cache is on and its battery is good.",
        "Flush less often: group commits, fewer fsyncs per unit of work.",
    ),
    needs=Needs(one_of=({"disk": ("flushes_per_s", "flush_await_ms")},)),
    thresholds={
        "rate": Threshold(
            1, "flushes/s", "flushes that matter", "judgement: journals commit every few seconds"
        ),
        "flushes": Threshold(50, "flushes", "flushes that a mean needs", "a mean of 50 is good to 14 %"),
        "possible_ms": Threshold(
            5, "ms", "latency that may be slow", "half of the next: one may wait for another"
        ),
        "likely_ms": Threshold(10, "ms", "latency that is slow", "etcd's hardware guide, as p99"),
        "slow_ms": Threshold(25, "ms", "latency that hurts", "etcd's guide for a whole commit, as p99"),
        "available": Threshold(
            10, "%", "idle and iowait below which nobody seems to wait", "judgement: the CPU is the limit"
        ),
        "most": Threshold(50, "%", "time in flush that makes quicker ones tell", "half of the time is lost"),
        "always": Threshold(80, "%", "time in flush that makes few of them tell", "commits queue then"),
        "fewest": Threshold(10, "flushes", "flushes that tell then", "the mean of ten is good to a third"),
        "still": Threshold(5, "s", "shortest standstill", "as hung-io has it"),
        "stalled": Threshold(40, "%", "time in flush that costs", "below it commits wait for something else"),
    },
    confirm=(
        "fio --name=log --rw=write --bs=8k --fdatasync=1 --size=64m --directory=MOUNTPOINT",
        "cat /sys/block/DEVICE/queue/write_cache",
        "hdparm -W /dev/DEVICE",
    ),
    references=("https://docs.kernel.org/block/writeback_cache_control.html",),
    pictures=("cpu",),
    detect=detect,
)
