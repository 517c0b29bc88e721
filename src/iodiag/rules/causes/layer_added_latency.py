"""A layer above the disks (md, device-mapper, bcache) takes much longer than the disks below it.

What it detects: a stacked device that carries the same requests and bytes as the disks below it (±5 %), and
takes at least 3 times as long and 1 ms more for them, in samples that hold 80 % of its requests (or of
those of one of its states), or for its reads or its writes alone, where that is a seek or a tenth of one
caller's time. Where the requests are as many only with those that the disks merged into others, it must take
at least 20 times as long. Where the layer splits, merges or amplifies requests, rates differ: then it must
take at least 20 times as long and 200 ms, over disks that are busy less than half of the time. Devices are
named by dmsetup, lsblk or mdstat; without them, names such as md127, dm-3 and bcache0 are stacked devices,
and they are held against every physical disk with traffic: when all of these answer quickly, the wait is
above them. Latency follows from Little's law where 0.00 is printed.

Why it matters: faster disks change nothing. The wait is in encryption, a thin pool, a delay or cache
target, the stripe cache or bitmap of md, or in the threads that serve them.

When it is wrong: a limit on the disk below (cgroup io.max, a writeback throttle) holds requests after the
layer and before the disk counts them: where one caller moves one round number of MiB/s, or one number
whatever the size of its requests, such a limit is named as the likeliest. A full disk below makes the layer
above wait for a slot: disks that are 90 % busy with 8 in flight are not judged. Writes that flush wait for
flushes that old kernels do not count: where flushes are not printed and few writes are in flight, the rule
abstains. A member that the capture does not show may be the slow one. A large request that is split waits
for the last of its parts.

References: Little's law; Documentation/admin-guide/md.rst (stripe_cache_size), bcache.rst, dm-crypt and dm-
delay of the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from iodiag.analysis.array.array_commands import mapper_path
from iodiag.analysis.array.layer_latency import MERGES, Bounds, Layer, compared
from iodiag.analysis.array.topmost_devices import are_related
from iodiag.analysis.load.plateaus import max_over_min
from iodiag.analysis.load.rate_limits import is_exact
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, duration, say
from iodiag.analysis.measure.grading import device_fields
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import KB_PER_MB
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Table, stacked

_CERTAIN_REQUESTS = 100

_TARGETS = {
    "crypt": "encryption (dm-crypt)",
    "thin": "the thin pool",
    "delay": "the dm-delay target",
    "cache": "dm-cache",
    "writecache": "dm-writecache",
    "integrity": "dm-integrity",
    "multipath": "the multipath map",
    "snapshot": "the snapshot",
    "vdo": "VDO",
}


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per stack that takes longer than its disks; the lowest device that does is named first."""
    bounds = Bounds(limits.ratio, limits.added_ms, limits.calm_ratio, limits.calm_ms)
    slow: list[Layer] = []
    judged = False
    for upper, layer in compared(view, bounds):
        judged = True
        if layer == "":
            reason = (
                f"not {limits.ratio:g} times as long on average as the slowest disk below, or hardly more"
            )
            yield RULE.clear(reason, upper.name)
        elif isinstance(layer, str):
            yield RULE.undetermined(layer, upper.name)
        elif (held := _held_while_busy(layer)) > MOST_IN_FLIGHT and not any(_floods(layer, limits)):
            text = "{held:.0f} requests in flight while busy, which no device holds: its counters disagree"
            yield RULE.undetermined(say(text, {"held": held}), upper.name)
        elif layer.least_ratio < (limits.ratio if layer.is_equal else limits.calm_ratio / 2):
            reason = "slower than the disks below it, but over too few requests; capture for longer"
            yield RULE.undetermined(reason, upper.name)
        elif _may_be_flushes(layer):
            reason = "slower than the disks below it, but writes may wait for flushes, which are not printed"
            yield RULE.undetermined(reason, upper.name, missing=("disk.flushes_per_s",))
        elif (
            layer.added_ms < limits.warning_ms and not (held := _added_in_flight(layer)) >= limits.least_held
        ):
            reason = say(_OF_NO_EFFECT, {"added": layer.added_ms, "held": 100 * held})
            yield RULE.clear(reason, upper.name)
        else:
            slow.append(layer)
    for first, others in _by_stack(view, slow):
        yield _finding(first, others, limits)
    if not judged:
        reason = "no device that stands on others was seen with its disks and their latencies"
        yield RULE.not_applicable(reason, missing=("topology",))


MOST_IN_FLIGHT = 10_000.0
"""Requests that a device holds at most, as it does of a hundred queues of a hundred; what a device-mapper
layer holds of buffered writes, memory alone limits."""


def _held_while_busy(layer: Layer) -> float:
    """The requests in flight while the upper device is busy; NaN where its counters do not tell."""
    util = weighted.mean(layer.rows, "util")
    return weighted.mean(layer.rows, "depth") / util if util > 0 else math.nan


def _added_in_flight(layer: Layer) -> float:
    """The requests in flight that are there for what the layer adds: of one caller, its share of the time."""
    rate = f"{layer.way}s_per_s" if layer.way else "ios_per_s"
    return weighted.mean(layer.rows, rate) * layer.added_ms / 1000


_OF_NO_EFFECT = (
    "it adds {added:ms} to so few requests that one of them waits for that {held:.0f} % of the time"
)


def _may_be_flushes(layer: Layer) -> bool:
    """Whether mostly writes, few at a time, could wait for flushes that the capture does not show."""
    rows = layer.rows
    writes = weighted.ratio(rows, "writes_per_s", "ios_per_s")
    is_shown = any(part.has("flushes_per_s") for part in layer.below_rows)
    return not is_shown and not writes < 0.5 and weighted.mean(rows, "depth") < 2 and layer.ratio < 100


def _by_stack(view: View, layers: list[Layer]) -> Iterator[tuple[Layer, list[Layer]]]:
    """The lowest slow device of each stack with those above it; without topology all are one stack."""
    rest = sorted(layers, key=_height)
    while rest:
        first = rest.pop(0)
        with_it = [
            other
            for other in rest
            if are_related(view, first.upper.name, other.upper.name)
            or not (first.is_stated or other.is_stated)
        ]
        rest = [other for other in rest if other not in with_it]
        yield first, with_it


def _height(layer: Layer) -> tuple[int, bool, float]:
    """How far up a device stands: by the topology, else md and bcache below device-mapper."""
    device = layer.upper.device
    above = 0
    while device is not None and device.members and above < 8:
        device = layer.upper.topology.find(device.members[0])
        above += 1
    return above, layer.upper.name.startswith("dm-"), -layer.latency_ms


def _finding(layer: Layer, others: list[Layer], limits: Limits) -> Finding:
    values = _values(layer)
    held, floods = _held(layer, limits), list(_floods(layer, limits))
    values |= held[1] if held else {}
    is_sure = layer.is_stated and not (layer.missing or layer.is_merged)
    is_sure &= layer.requests >= _CERTAIN_REQUESTS
    return RULE.finding(
        severity="warning" if layer.added_ms >= limits.warning_ms else "notice",
        confidence="high" if is_sure else "medium",
        peers=tuple(series.name for series in layer.below),
        **device_fields(layer.rows, layer.upper.name, *(other.upper.name for other in others)),
        summary=say(_SUMMARY + (_HELD if held else ""), values)
        + "".join(f" {item.text[0].upper()}{item.text[1:]}." for item in floods),
        evidence=(
            *_evidence(layer, values),
            *((cite(held[0], _AT_RATE, values, worst="kb_per_s"),) if held else ()),
            *floods,
        ),
        refutes=(
            *(() if held else (_LIMIT_BELOW,)),
            *((_LARGE_ONES,) if layer.is_merged else ()),
            *(
                ("a slow disk that the capture does not show",)
                if not layer.is_stated or layer.missing
                else ()
            ),
        ),
        cannot_know=("what the layer does meanwhile: its own status and the stacks of its threads tell",),
        remedy=_OF_FLOODS if floods else (*(_OF_LIMITS if held else ()), *_remedy(layer.upper)),
        confirm=(*(_DIRTY if floods else _LIMITS_SET if held else ()), *_confirm(layer)),
    )


def _held(layer: Layer, limits: Limits) -> tuple[Table, Values] | None:
    """Samples in which one at a time moved one number of kB/s over idle disks, as a limit makes them do.

    The number is one that limits have, of large requests, or it stays while their size does not: a delay
    takes as long for each, whatever its size.
    """
    rows = layer.upper.samples[layer.upper.samples.floats("kb_per_s") > 0]
    rates = rows.floats("kb_per_s")
    below = (weighted.mean(series.samples, "util_pct") for series in layer.below)
    is_few = len(rows) > 1 and weighted.mean(rows, "depth") <= limits.most_depth
    if not is_few or not all(util <= limits.idle_below for util in below):
        return None
    middle = median(rates)
    on_it = rows[np.abs(rates / middle - 1) <= limits.flat / 100]
    is_large = weighted.mean(rows, "size_kb") >= limits.large
    is_number = is_large and is_exact(middle, "kb_per_s") and 2 * len(on_it) > len(rows)
    varies = max_over_min(rows, "size_kb") >= limits.varies and max_over_min(rows, "kb_per_s") <= 1.05
    values: Values = {"mib": middle / KB_PER_MB, "on_it": len(on_it), "moving": len(rows)}
    return (on_it, values) if is_number or varies else None


def _floods(layer: Layer, limits: Limits) -> Iterator[Evidence]:
    """That writes alone wait, more at once than a queue takes; what a layer adds, its reads show as well."""
    rows, held = layer.rows, _held_while_busy(layer)
    reads, writes = (weighted.mean(rows, f"{way}_await_ms") for way in ("read", "write"))
    is_prompt = weighted.mean(rows, "reads_per_s") > 0 and limits.prompt * reads <= writes
    if layer.upper.name.startswith("dm-") and is_prompt and held >= limits.floods:
        text = (
            "its reads take {reads:ms}, its writes {writes:ms}, and {held:.0f} requests are in flight while "
        )
        text += "it is busy: buffered writes that are flushed in floods wait there"
        yield cite(rows, text, {"reads": reads, "writes": writes, "held": held}, worst="write_await_ms")


_OF_FLOODS = (
    "Let less pile up between flushes: lower vm.dirty_background_bytes and vm.dirty_bytes, and give bulk "
    "writers less weight (ionice -c 3, io.weight).",
    "Read the device's table: a thin pool and a snapshot hold writes alone as well.",
)
_DIRTY = ("iotop -obP -d 1 -n 30", "grep -E 'Dirty|Writeback' /proc/meminfo")

_HELD = (
    " It moves {mib:.2f} MiB/s in {on_it} of {moving} samples over idle disks: a limit (io.max, "
    "blkio.throttle) that holds requests above the disks is the likeliest."
)
_AT_RATE = "{upper} moves {mib:.2f} MiB/s in {on_it} of {moving} samples, with the disks below idle"
_OF_LIMITS = (
    "Find and raise the limit of the control group, container or service: io.max, blkio.throttle. If there "
    "is none, it is the layer.",
)
_LIMIT_BELOW = "a limit on the disk below (cgroup io.max), which holds requests before the disk counts them"
_LARGE_ONES = (
    "a few large requests below, which hold most of what is merged and take far longer than the mean"
)
_LIMITS_SET = ("grep -rs . /sys/fs/cgroup --include=io.max --include='blkio.throttle.*_device'",)


_SUMMARY = (
    "{upper} takes {took} per {request}, the disks below it ({disks}) at most {took_below} ({times} "
    "times as long), in {often}: the wait is {where}."
)


def _values(layer: Layer) -> Values:
    shown, of = len(layer.rows), len(layer.upper.samples)
    names = [series.name for series in layer.below]
    ratio, rate = layer.ratio, f"{layer.way}s_per_s" if layer.way else "ios_per_s"
    name, parts = layer_name(layer.upper), layer.below_rows
    return {
        "upper": layer.upper.name,
        "request": layer.way or "request",
        "requests": f"{layer.way or 'request'}s",
        "latency": layer.latency_ms,
        "below": layer.below_ms,
        "took": duration(layer.latency_ms),
        "took_below": duration(layer.below_ms),
        "disks": ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else ""),
        "times": "more than 1,000" if ratio > 1000 else f"{ratio:.3g}",
        "seconds": layer.latency_ms / 1000,
        "seconds_below": layer.below_ms / 1000,
        "ratio": ratio,
        "bound": 1000.0,
        "shown": float(shown),
        "of": float(of),
        "more": float(max(len(names) - 6, 0)),
        "often": "the only sample" if of == 1 else f"{shown} of {of} samples",
        "where": f"in {name}, not in the disks"
        if not layer.is_merged
        else f"above the disks, in {name} or on the way into their queue",
        "merged": sum(weighted.or_zero(weighted.mean(part, merges)) for part in parts for merges in MERGES),
        "rate": weighted.mean(layer.rows, rate),
        "depth": weighted.mean(layer.rows, "depth"),
        "rate_below": sum(weighted.or_zero(weighted.mean(part, rate)) for part in parts),
        "depth_below": sum(weighted.or_zero(weighted.mean(part, "depth")) for part in parts),
        "util_below": max((weighted.mean(part, "util_pct") for part in parts), default=float("nan")),
        "missing": ", ".join(layer.missing),
    }


def layer_name(series: DeviceSeries) -> str:
    """What a stacked device is, as an administrator calls it."""
    device, name = series.device, series.name
    level = (device.level if device else None) or ""
    if level in _TARGETS:
        return _TARGETS[level]
    if device is not None and device.kind in ("crypt", "multipath"):
        return _TARGETS[device.kind]
    if name.startswith("md") or (device is not None and device.kind == "md"):
        return "md" + (f" ({level.replace('raid', 'RAID')})" if level.startswith("raid") else "")
    if name.startswith("bcache"):
        return "bcache"
    return "the device-mapper layer" if name.startswith("dm-") else "the layer above the disks"


def _evidence(layer: Layer, values: Values) -> Iterator[Evidence]:
    both = stacked([layer.rows, *layer.below_rows])
    worst = f"{layer.way}_await_ms" if layer.way else "latency_ms"
    yield cite(layer.rows, _ABOVE, values, worst=worst)
    yield cite(stacked(layer.below_rows) if layer.below_rows else layer.rows, _BELOW, values, worst=worst)
    if layer.is_equal:
        yield cite(both, "both carry the same requests and bytes (within 5 %)", values)
    elif layer.is_merged:
        text = "both carry the same bytes and, with {merged} a second that the disks merged into others, "
        yield cite(both, text + "as many requests (within 5 %)", values)
    else:
        text = "rates above and below differ: requests are split, merged or amplified on the way"
        yield cite(both, text, values, weighs="context")
    if not layer.are_together:
        yield cite(both, "the layers were not printed in the same reports", values, weighs="against")
    if layer.missing:
        yield cite(layer.rows, "not in the capture: {missing}", values, weighs="against")
    if not layer.is_stated:
        text = "no input says what {upper} stands on: these are the physical disks with I/O"
        is_same = layer.is_equal or layer.is_merged
        values["carry"] = "carries" if len(layer.below) == 1 else "carry"
        yield cite(layer.rows, _EQUAL_ONLY if is_same else text, values, weighs="against")


_ABOVE = "{upper}: {rate} {requests}/s took {latency} ms each, with {depth} in flight"
_BELOW = (
    "{disks}: {rate_below} {requests}/s in sum took at most {below} ms, with {depth_below} in flight; "
    "the busiest was {util_below:.1f} % busy"
)
_EQUAL_ONLY = "no input says what {upper} stands on; only {disks} {carry} the same requests and bytes"


def _remedy(upper: DeviceSeries) -> tuple[str, ...]:
    name = upper.name
    if name.startswith("md"):
        return (
            "Look at what md does: a check or reshape, a bitmap, a full stripe cache (RAID5 and RAID6).",
            f"With RAID5 or RAID6: echo 8192 > /sys/block/{name}/md/stripe_cache_size, and measure again.",
            "Look at the CPU use of its thread (md0_raid6 and the like) and of kworker flush threads.",
        )
    if name.startswith("bcache"):
        return (
            "Garbage collection and a full cache block requests: watch both in the cache set.",
            f"To test, bypass the cache: echo none > /sys/block/{name}/bcache/cache_mode",
        )
    return (
        "Read the device's table: delay, crypt, thin, cache, snapshot and integrity targets add latency.",
        "dm-crypt: try no_read_workqueue and no_write_workqueue. Thin pool: look at its metadata.",
    )


def _confirm(layer: Layer) -> tuple[str, ...]:
    name = layer.upper.name
    if name.startswith("md"):
        own: tuple[str, ...] = (
            "cat /proc/mdstat",
            f"mdadm --detail /dev/{name}",
            f"cat /sys/block/{name}/md/stripe_cache_active /sys/block/{name}/md/stripe_cache_size",
        )
    elif name.startswith("bcache"):
        own = (f"grep -r . /sys/block/{name}/bcache/", "lsblk -s")
    else:
        path = mapper_path(name)
        own = (f"dmsetup table {path}", f"dmsetup status {path}", "dmsetup ls --tree")
    disks = " ".join(series.name for series in layer.below[:8])
    return (*own, f"iostat -xt {name} {disks} 1 30")


RULE = Rule(
    id="layer-added-latency",
    explains=(
        *SYMPTOMS_AND_SATURATION,
        "hung-io",
        "latency-above-baseline",
        "throttled-above-device",
        "queue-limit",
    ),
    replaces=("low-concurrency-bound",),
    title="A layer above the disks adds the latency",
    why="The disks answer quickly; faster ones would change nothing.",
    remedy=(
        "Look at the layer that adds the latency: its table, its status and the CPU use of its threads.",
        "Compare the layer with the disk below it under the same load.",
    ),
    needs=Needs(one_of=({"disk": ("ios_per_s|reads_per_s", "await_ms|read_await_ms|queue_depth")},)),
    thresholds={
        "ratio": Threshold(3, "x", "latency over the slowest disk's, equal rates", "splits and plugs make 2"),
        "added_ms": Threshold(1, "ms", "added to each request", "below, it is the cost of any layer"),
        "calm_ratio": Threshold(20, "x", "the same where rates differ", "RMW is two rounds of a few pieces"),
        "calm_ms": Threshold(200, "ms", "latency where rates differ", "as for extreme-latency: patience"),
        "most_depth": Threshold(2, "requests", "depth at which a steady rate may be a limit's", "one caller"),
        "idle_below": Threshold(10, "%", "util of the disks below that then are idle", "judgement"),
        "large": Threshold(512, "kB", "size of requests that limits of bytes hold", "the usual largest ones"),
        "prompt": Threshold(10, "x", "latency of writes over that of reads", "a layer holds both alike"),
        "floods": Threshold(1024, "requests", "in flight while busy", "nr_requests is 1023 at the most"),
        "flat": Threshold(0.5, "%", "distance of samples that are at one rate", "what a meter keeps to"),
        "varies": Threshold(1.5, "x", "range of the sizes that shows that bytes are held", "judgement"),
        "least_held": Threshold(
            0.1, "requests", "in flight for what it adds", "a tenth of one caller's time"
        ),
        "warning_ms": Threshold(5, "ms", "added latency that somebody pays for", "a seek of a disk"),
    },
    confirm=("lsblk -s", "dmsetup table", "cat /proc/mdstat"),
    references=(
        "https://docs.kernel.org/admin-guide/md.html",
        "https://docs.kernel.org/admin-guide/device-mapper/index.html",
        "https://docs.kernel.org/admin-guide/bcache.html",
    ),
    pictures=("stack",),
    to_clear=ToClear(samples=1, requests=50, columns=("await_ms|read_await_ms|write_await_ms",)),
    detect=detect,
)
