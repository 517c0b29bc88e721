"""Requests take longer than they take on any healthy device.

What it detects: a mean latency, of all requests or of reads or writes alone, that no healthy device of the
class takes for requests of that size, with that many in flight: longer than the slowest sane service of the
class for each request that was in line. A device of unknown class is held against the slowest one. Or seconds
per request, whatever the queue. One sample is enough, and so is one request: a rate of three requests per
second is low because they are stuck.

One request at a time that takes longer than the class allows for one, a fifth of the time and more, is told
as a notice below 200 ms, too, where the device took less than half of that for such requests in other
samples.

Why it matters: whoever asked waits for seconds. This is harm whatever the cause.

So is a device with no idle time that each request keeps busy for longer than the class takes for one alone:
its line may explain what they wait, and nothing that it serves so few.

So is a line of few requests, five and more in flight on average and half a second for each below 20/s, where
the same device took a twentieth of that in a sample at a like rate. A latency printed with a rate and a busy
share of 0 is none: the busy share refutes it.

When it is wrong: a disk that spins up takes 5 to 10 s once. A virtual machine that was paused books the
pause as latency. A limiter that holds requests back makes any latency: volume-cap and throttled-above-device
name it. A write that comes with cache flushes takes as long as they do: what they take is added to what is
sane, and flush-latency judges them. A memory card or a USB stick that erases takes seconds for writes and is
no worse than its kind. Seconds in a long queue of buffered writes hurt nobody where no task is blocked.
Fewer than 50 requests in less than a fifth of the samples, or in a lone report of unknown length, are a
notice, and so are writes alone, below a second, of which less than 0.1 are in flight on what may be a disk,
a card or a stick while it is seen that nobody waits; below 5 % busy a deep queue while busy that explains
the latency is a burst, which proves nothing. It is critical where the device has no idle time in half of its
samples, or of several with requests, and no load explains what it takes, unless nobody is seen to wait. So it
is where seconds are the mean of three samples and a fifth of all, in each of which it is busy a fifth of the
time, while a sample of the same load took a twentieth, with a tenth of the busy time for each request: a mean
over minutes hides that it had no idle time in some of them.

References: Little's law; the table of service times in `analysis/states/service_times.py`, each with its
source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from iodiag.analysis.array.equal_rates import disk_by_bytes
from iodiag.analysis.array.layer_latency import may_be_stacked
from iodiag.analysis.array.topmost_devices import once_per_stack
from iodiag.analysis.host.disk_health import reported
from iodiag.analysis.host.kernel_events import shows_guest
from iodiag.analysis.host.who_waits import (
    IOWAIT_PCT,
    NEVER_IDLE,
    NOBODY,
    OFTEN,
    SECONDS_MS,
    blocked,
    does_nobody_wait,
    hardly_answers,
    is_wait_unknown,
    is_waited_for,
)
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, in_samples, say
from iodiag.analysis.measure.grading import device_fields
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.measure.time_per_kb import ONE_WAY
from iodiag.analysis.states.service_times import (
    FLUSH_KB,
    SLOWEST_FLUSH_MS,
    class_of,
    events_per_sample,
    sane_limit_ms,
)
from iodiag.analysis.view.device_names import is_physical
from iodiag.analysis.view.device_traits import is_virtual, virtual_kind
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.model.finding import Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import Floats, Mask, Table, stacked

DIRECTIONS = (("read", "reads"), ("write", "writes"))
WAYS = (
    ("requests", "latency_ms", "size_kb", "ios_per_s"),
    *((plural, f"{way}_await_ms", f"{way}_size_kb", f"{plural}_per_s") for way, plural in DIRECTIONS),
)
"""What latency, size and rate are of: all requests, or one direction."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per device whose requests took longer than any healthy device takes."""
    found: dict[str, Table] = {}
    alone: dict[str, Table] = {}
    for series in view.devices:
        is_extreme, is_idle = extreme(series, limits), ~(series.samples.floats("util") >= LEAST_BUSY)
        is_burst = is_extreme & is_idle & ("disk" in view.average_only or _are_bursts(series, limits))
        if is_burst.any() and ("disk" in view.average_only or not (is_extreme & ~is_burst).any()):
            yield RULE.undetermined(_said_of_bursts(series.samples[is_burst]), series.name)
            continue
        if (is_extreme & ~is_burst).any():
            found[series.name] = series.samples[is_extreme & ~is_burst]
        elif "disk" not in view.average_only and len(rows := _slow_alone(series)):
            alone[series.name] = rows
        elif len(series.loaded):
            slow = _slow_for_one(series)
            reason = slow or "no mean latency exceeds what a healthy device takes in such a queue"
            yield Outcome(RULE.id, "undetermined" if slow else "clear", (series.name,), reason)
    for those in (found, alone):
        for name in _victims(view, those):
            del those[name]
            yield RULE.undetermined("it may stand on a disk that takes longer still", name)
    for series, told, below in once_per_stack(view, alone):
        yield _of_one(series, told, below, limits)
    for series, told, below in once_per_stack(view, found):
        carrier = disk_by_bytes(view, series) if may_be_stacked(series) and not below else None
        yield _finding(view, series, told, below, limits, carrier)


def _slow_alone(series: DeviceSeries) -> Table:
    """The samples in which one request after another took longer than any healthy device of its class does.

    One is in flight for as long as the device is busy; in others of the same direction, where one was alone,
    too, it took less than half as long, so that it is no slow device, and no queue either.
    """
    samples = series.samples
    util, latency, is_alone = samples.floats("util"), samples.floats("latency_ms"), _are_alone(samples)
    is_read = 2 * samples.floats("reads_per_s") > samples.floats("ios_per_s")
    quickest = np.where(
        is_read, *(latency[is_alone & own].min(initial=np.inf) for own in (is_read, ~is_read))
    )
    is_long = latency > sane_limit_ms(series, samples.floats("size_kb")) + _flushing(samples)
    is_slow: Mask = is_alone & is_long & (util >= USED) & (latency > 2 * quickest)
    return samples[is_slow]


def _are_alone(samples: Table) -> Mask:
    """The samples in which one request is in flight for as long as the device is busy."""
    depth, util = samples.floats("depth"), samples.floats("util")
    is_alone = np.abs(depth - util) <= ONE_ALONE * util + weighted.half_digit(samples)
    return np.asarray(is_alone & (util >= LEAST_BUSY) & (samples.floats("latency_ms") > 0))


ONE_ALONE, USED = 0.05, 0.2
"""How far apart requests in flight and busy share are of one request at a time; and the share of the time
from which such requests hold up who asks for them."""


def _of_one(series: DeviceSeries, rows: Table, below: tuple[str, ...], limits: Limits) -> Finding:
    """Of one request at a time that took long: no queue explains it, and other samples refute the class."""
    told = _told(series, rows, [np.ones(len(rows), dtype=np.bool_)] * len(WAYS))
    worst = max(told, key=lambda values: float(values["latency"]))
    values = worst | {"count": len(rows), "samples": len(series.samples)}
    others = series.samples[_are_alone(series.samples)]
    values["usual"] = weighted.mean(others[~np.isin(others["sample"], rows["sample"])], "latency_ms")
    often = in_samples(len(series.samples))
    text = "{device} takes up to {latency:ms} for {direction}{of}, one at a time and without a queue, "
    text += often + "; at other times one takes {usual:ms}"
    if _is_one_writer(series):
        text = (
            "One writer waits for each of its small writes to {device}, which never queue: {usual:ms} each, "
        )
        text += "but {latency:ms} " + often
    requests = float(np.nansum(events_per_sample(rows)))
    is_counted = requests >= limits.least_requests
    return RULE.finding(
        severity="notice",
        confidence="medium" if is_counted else "low",
        **device_fields(rows, series.name, *below),
        title="One request alone takes longer than on a healthy device",
        summary=say(f"{text}.", values),
        evidence=tuple(_evidence(rows, values)),
        confirm=(
            "fio --name=log --rw=write --bs=8k --fdatasync=1 --size=64m --directory=MOUNTPOINT",
            # a few requests are no sign of a sick disk
            *(RULE.confirm if is_counted else ("iostat -xyt 1 30 DEVICE",)),
        ),
        refutes=("flushes of the disk's cache, which kernels before 5.5 count as part of a write",),
        cannot_know=("whether somebody waits for each of them, as a log does",),
    )


def _is_one_writer(series: DeviceSeries) -> bool:
    """Whether all that a device did were small writes, one at a time, as of a log."""
    loaded = series.loaded
    is_small = loaded.floats("size_kb") <= LOG_KB
    return bool((_are_alone(loaded) & is_small & (loaded.floats("reads_per_s") == 0)).all())


LOG_KB = 16.0
"""Size of writes up to which they are a log's."""


def _victims(view: View, found: Mapping[str, Table]) -> list[str]:
    """Devices on nobody knows what that took no longer than a disk in the same reports: its victims."""
    disks = [rows for name, rows in found.items() if is_physical(name)]
    if not disks:
        return []
    slow = stacked(disks)
    layers = [s for name in found if (s := view.series(name)) is not None and _is_unplaced(view, s)]
    unplaced = [s.name for s in layers if not is_physical(s.name)]
    return [name for name in unplaced if _took(slow, found[name]) >= _took(found[name], found[name])]


def _is_unplaced(view: View, series: DeviceSeries) -> bool:
    return may_be_stacked(series) and not view.topology.below(series.name)


def _is_one_of_many(view: View, series: DeviceSeries, rows: Table) -> bool:
    """Whether a device that does more has no idle time meanwhile: it may hold the requests of both."""
    most, own = NEVER_IDLE * 100, weighted.mean(rows, "ios_per_s")
    others = (s.samples[same_reports(s.samples, rows)] for s in view.devices if s is not series)
    return any(
        len(part) and weighted.mean(part, "util_pct") >= most and weighted.mean(part, "ios_per_s") > own
        for part in others
    )


def _took(rows: Table, reports: Table) -> float:
    """The longest latency of some samples in the reports of others; 0 where they share none."""
    own = rows[same_reports(rows, reports)]
    return weighted.or_zero(float(own.floats("latency_ms").max())) if len(own) else 0.0


LEAST_BUSY = 0.05
"""Busy share of an average from which its mean queue tells of the queue while busy."""

_IDLE = "idle nearly all of the time that is averaged: how many were in line when it was busy is not known"
_MOSTLY_BUSY_PCT, _DEEP, _ABOVE = 50.0, 4.0, 1.05
"""Busy share of no average since boot, and of a disk with a part in what waits above it; requests in flight
while busy that are a burst, which the mean of a whole sample hides; and times that mean from which it says
something else."""


def _are_bursts(series: DeviceSeries, limits: Limits) -> Mask:
    """Where a mean over an idle sample is of a deep burst, whose line explains what its requests took."""
    samples = series.samples
    at_once = _in_line(samples, 0.0)
    result = at_once >= _DEEP
    for latency, size in _latencies(samples):
        sane = limits.margin * at_once * sane_limit_ms(series, size) + _flushing(samples)
        result &= ~(latency > np.fmin(sane, limits.seconds_ms))
    return np.asarray(result)


def _said_of_bursts(rows: Table) -> str:
    """How deep the queue of bursts was, where it is known."""
    at_once, latency = _in_line(rows, 0.0), rows.floats("latency_ms")
    worst = int(np.nanargmax(np.where(np.isnan(latency), -1.0, latency)))
    if not at_once[worst] >= _DEEP:
        return _IDLE
    values: Values = {"deep": float(at_once[worst]), "latency": float(latency[worst])}
    values["busy"] = float(rows.floats("util_pct")[worst])
    text = "bursts: {latency:ms} with {deep:.0f} in flight while busy, {busy} % of the time; samples of a "
    return say(text + "second would show what one alone takes", values)


def _slow_for_one(series: DeviceSeries) -> str:
    """Where a device that serves many requests at once takes longer than for one alone; else empty."""
    samples, name = series.loaded, class_of(series)
    for way, plural in DIRECTIONS if name in ("nvme", "solid") else ():
        latency = samples.floats(f"{way}_await_ms")
        least = sane_limit_ms(series, samples.floats(f"{way}_size_kb"))
        if (latency > least).any():
            values: Values = {"plural": plural, "class": name}
            text = "{plural} take up to {most:.0f} ms, long for a device of class {class}: a queue may be why"
            return say(text, values | {"most": float(np.nanmax(latency))})
    return ""


def extreme(series: DeviceSeries, limits: Limits) -> Mask:
    """The samples in which requests of either direction took too long for any device of the class."""
    samples = series.samples
    result = np.any(list(_too_long(series, samples, limits)), axis=0)
    is_refuted = (samples.floats("ios_per_s") == 0) & (samples.floats("util") == 0)
    return np.asarray((result | _are_stalls(samples)) & ~is_refuted)


def _too_long(series: DeviceSeries, samples: Table, limits: Limits) -> Iterator[Mask]:
    """Where all requests, the reads and the writes took too long for any device of the class."""
    in_line, flushing = _in_line(samples, slack=weighted.half_digit(samples)), _flushing(samples)
    is_held = _keep_busy(series, samples)
    for latency, size in _latencies(samples):
        sane = limits.margin * in_line * sane_limit_ms(series, size) + flushing
        is_long = (latency > np.fmin(sane, limits.seconds_ms)) | is_held
        yield np.asarray((latency >= limits.least_ms) & is_long)


def _keep_busy(series: DeviceSeries, samples: Table) -> Mask:
    """Where the device has no idle time, and each request keeps it busy for longer than a healthy one takes.

    No line of requests makes that, whatever they wait: what completed is all that it did.
    """
    util, rate = samples.floats("util"), samples.floats("ios_per_s")
    sane = sane_limit_ms(series, samples.floats("size_kb")) + _flushing(samples)
    is_held = (rate > 0) & (1000 * np.fmin(util, 1.0) > sane * rate)
    return np.asarray(is_held & (util >= NEVER_IDLE) & np.asarray(samples["is_util_trusted"]))


def _are_stalls(samples: Table) -> Mask:
    """Where few requests stand in a long line of which a sample of the same device shows no trace.

    The line is no excuse for what they take: at as many requests per second, within twice, it took far less.
    """
    rate, latency = samples.floats("ios_per_s"), samples.floats("latency_ms")
    is_stall = (samples.floats("depth") >= STALL_DEPTH) & (latency >= STALL_MS) & (rate < STALL_RATE)
    for at in np.flatnonzero(is_stall):
        is_like = (rate >= rate[at] / 2) & (rate <= 2 * rate[at])
        is_stall[at] = bool((is_like & (latency > 0) & (latency <= latency[at] / STALL_TIMES)).any())
    return np.asarray(is_stall)


STALL_DEPTH, STALL_MS, STALL_RATE, STALL_TIMES = 5.0, 500.0, 20.0, 20.0
"""Mean requests in flight, ms and requests per second of a stall, and times what a like load took."""

FEWEST_STALLS, STALL_BUSY = 3, 10.0
"""Samples that are no machine that was paused and no disk that spins up, and times the busy time of each
request at a like load."""


def _latencies(samples: Table) -> Iterator[tuple[Floats, Floats]]:
    for _, latency, size, _ in WAYS:
        yield samples.floats(latency), samples.floats(size)


def _flushing(samples: Table) -> Floats:
    """What cache flushes add to a write, ms: one before it and one after, where most writes come with one.

    Without columns of flushes, requests smaller than a block show that some of them carry no data.
    """
    ios, writes = samples.floats("ios_per_s"), samples.floats("writes_per_s")
    is_empty = ~(samples.floats("size_kb") >= FLUSH_KB) & (writes >= 0.5 * ios)
    is_usual = is_empty | (samples.floats("flushes_per_s") >= 0.5 * ios)
    flush = samples.floats("flush_await_ms")
    flush = np.fmin(np.where(flush > 0, flush, SLOWEST_FLUSH_MS), SLOWEST_FLUSH_MS)
    return np.where(is_usual, 2 * flush, 0.0)


def _in_line(samples: Table, least_busy: float = LEAST_BUSY, slack: Floats | float = 0.0) -> Floats:
    """Requests in line before one, at most: those in flight while busy, no more than were counted, or one.

    Where util misses time, the quotient of depth and util is larger than all requests of the sample. `slack`
    is what the depth may be larger for its rounding.
    """
    depth, at_once = _in_flight(samples, least_busy, slack)
    lengths = samples.floats("interval_s")
    most = np.where(np.isnan(lengths), np.inf, events_per_sample(samples) + depth)
    return np.asarray(np.fmax(np.fmin(at_once, most), 1.0))


def _in_flight(
    samples: Table, least_busy: float = LEAST_BUSY, slack: Floats | float = 0.0
) -> tuple[Floats, Floats]:
    """Requests in flight on the mean, and while busy; below `least_busy` the mean stands for these."""
    depth, util = samples.floats("depth") + slack, samples.floats("util")
    by_latency = samples.floats("ios_per_s") * samples.floats("latency_ms") / 1000
    depth = np.where(np.isnan(depth), by_latency, depth)
    is_usable = (util >= least_busy) & (util > 0) & np.asarray(samples["is_util_trusted"])
    return depth, np.where(is_usable, depth / np.where(is_usable, np.minimum(util, 1.0), 1.0), depth)


def _finding(
    view: View,
    series: DeviceSeries,
    rows: Table,
    below: tuple[str, ...],
    limits: Limits,
    carrier: tuple[DeviceSeries, Table, Table] | None,
) -> Finding:
    requests = float(np.nansum(events_per_sample(rows)))
    samples = _with_times(series)
    values = _worst(series, rows, limits) | {"samples": samples}
    lower = _carried(carrier[0], carrier[2]) if carrier else ""
    # a disk that is idle meanwhile has no part in it
    has_part = carrier and weighted.mean(carrier[2], "util_pct") >= _MOSTLY_BUSY_PCT
    named = (*([carrier[0].name] if carrier and has_part else ()), series.name, *below)
    often = in_samples(samples)
    is_sane = float(values["latency"]) <= float(values["sane"])
    blocked_tasks = blocked(view, rows) if is_sane else None
    is_free = blocked_tasks is not None and blocked_tasks[1] < NOBODY
    is_little = _is_little(view, series, rows)
    is_harmless = is_free or is_little or _is_moment(series, rows, requests, limits)
    severity: Severity = "notice" if is_harmless else "warning"
    slow = _slow_rather_than_full(view, series, rows, limits)
    end = f"; no healthy device takes more than {{sane:ms}} for {_ahead(values)}."
    end = _held(series, rows) if is_sane else end
    remedy = _OF_VIRTUAL if is_virtual(series) or shows_guest(view) else RULE.remedy
    fields = _OF_A_LINE if end == "." else {"remedy": remedy, "confirm": RULE.confirm}
    kind = ("lsblk -o NAME,TRAN,ROTA,MODEL",) * is_little
    return RULE.finding(
        severity="critical" if slow else severity,
        confidence="high" if requests >= limits.least_requests and not _is_doubted(rows) else "medium",
        **device_fields(rows, *named),
        summary=say(
            f"{{device}} takes {'up to ' * (float(values['count']) > 1)}"
            "{latency:ms} for {direction}{of} with {in_flight} in flight{busy}, "
            + often
            + end
            + (slow + _waited(view, rows) if slow else "")
            + lower
            + (_BEHIND if is_virtual(series) and end != "." else ""),
            values | {"kind": virtual_kind(series)},
        ),
        evidence=(*_evidence(rows, values), *_of_cpus(view, rows), *reported(view, named)),
        **{**fields, "confirm": (*fields["confirm"], *kind)},
        refutes=(_SPUN_DOWN if _may_spin(series) else "a machine that was paused just before",),
        cannot_know=("what held the requests: the kernel's log, SMART and the layers below tell",),
    )


_OF_A_LINE: dict[str, Any] = {
    "title": "Requests wait in line for seconds",
    "remedy": ("See who fills the line, and let it send fewer requests at once.",),
    "confirm": ("pidstat -d 1",),
}
"""What is told where all that is ahead of a request explains how long it takes: the device is not sick."""

_SPUN_DOWN = "a disk that was spun down, or a machine that was paused, just before"


def _may_spin(series: DeviceSeries) -> bool:
    return class_of(series) in ("spinning", "unknown") and not is_virtual(series)


def _is_doubted(rows: Table) -> bool:
    """Whether every sample has a busy share that cannot be true: its other numbers may be off as well."""
    return bool((rows.floats("util_pct") > MOST_UTIL_PCT).all())


MOST_UTIL_PCT = 102.0
"""Busy share up to which it is timer skew: up to 101.6 % on sound devices."""


def _with_times(series: DeviceSeries) -> int:
    """How many samples could have shown a latency: in plain reports of the same time no request has one."""
    is_untimed = np.isnan(series.samples.floats("latency_ms")) & (series.samples.floats("ios_per_s") > 0)
    return int((~is_untimed).sum())


def _held(series: DeviceSeries, rows: Table) -> str:
    """What a device with no idle time takes for each request, whatever the line, as the end of a sentence."""
    held = rows[_keep_busy(series, rows)]
    if not len(held):
        return "."
    values: Values = {"each": float(weighted.ratio(held, "util_pct", "ios_per_s") * 10)}
    values["most"] = float(np.max(sane_limit_ms(series, held.floats("size_kb")) + _flushing(held)))
    text = "; each keeps it busy for {each:ms}, a healthy device for at most {most:ms}: it is slow, not full."
    return say(text, values)


def _ahead(worst: Values) -> str:
    """What the limit is for: the requests in flight, one alone, or no more than can have been in line."""
    in_line, in_flight = float(worst["in_line"]), float(worst["in_flight"])
    if in_line <= _ABOVE * in_flight and in_flight <= _ABOVE * in_line:
        return "that"
    return "one alone" if in_line == 1 else "the {in_line:.1f} that can have been in line"


def _carried(disk: DeviceSeries, rows: Table) -> str:
    """What the only disk that moves the bytes of a layer does for them, as a sentence."""
    names = {"latency": "latency_ms", "rate": "ios_per_s", "size": "size_kb", "share": "util_pct"}
    values: Values = {name: weighted.mean(rows, column) for name, column in names.items()}
    text = " {disk} carries these bytes in {rate} requests/s of {size:.1f} kB, which take {latency:ms} each, "
    return say(
        text + "{share:.0f} % busy: a layer counts each part of a request.", values | {"disk": disk.name}
    )


def _is_moment(series: DeviceSeries, rows: Table, requests: float, limits: Limits) -> bool:
    """Whether few requests took long, though not seconds, in few of many samples: nobody's day.

    A lone report of unknown length of a device that was idle most of the time may average since boot.
    """
    is_lone = len(series.samples) == 1 and bool(np.isnan(rows.floats("interval_s")).all())
    is_lone &= not weighted.mean(rows, "util_pct") >= _MOSTLY_BUSY_PCT
    is_short = len(rows) < limits.share / 100 * len(series.loaded)
    is_short &= bool(rows.floats("latency_ms").max() < limits.seconds_ms)
    return bool((is_lone or is_short) and requests < limits.moment)


def _is_little(view: View, series: DeviceSeries, rows: Table) -> bool:
    """Whether writes alone, less than a second each, are in flight for a tenth of the time at the most.

    And it is seen that no task waits. Card readers and sticks take as long for each, and hold nobody up for
    more; NVMe never does.
    """
    if class_of(series) in ("nvme", "network") or is_wait_unknown(view, rows):
        return False
    is_little = (rows.floats("depth") < _TRICKLE) & (rows.floats("latency_ms") < SECONDS_MS)
    is_little &= rows.floats("reads_per_s") == 0
    return bool(is_little.all() and not is_waited_for(view, rows).any())


_TRICKLE = 0.1
"""Requests in flight on the mean, in every sample, that hold up one writer for a tenth of its time."""


def _is_late(series: DeviceSeries, rows: Table, limits: Limits) -> Mask:
    """Where no load explains the latency: beyond all in line at the slowest, and seconds, or twice beyond."""
    latency = rows.floats("latency_ms")
    sane = _in_line(rows) * sane_limit_ms(series, rows.floats("size_kb")) + _flushing(rows)
    return np.asarray((latency > sane) & ((latency >= SECONDS_MS) | (latency >= limits.far * sane)))


def _waited(view: View, rows: Table) -> str:
    """The share of the CPUs' time that was spent waiting, as a sentence; else empty."""
    told = (say(f" {when} iowait is {{iowait:.0f}} %.", values) for _, values, when in _iowait(view, rows))
    return next(told, "")


def _iowait(view: View, rows: Table) -> Iterator[tuple[Table, Values, str]]:
    """Samples of CPUs that wait, how long they do on average, and when these are."""
    cpu = None if view.has_only_cpu_averages else view.cpu_at(rows)
    if cpu is not None and (share := weighted.mean(cpu, "iowait_pct", "cpu")) >= IOWAIT_PCT:
        values: Values = {"iowait": share, "idle": weighted.mean(cpu, "idle_pct", "cpu"), "count": len(cpu)}
        yield cpu, values, "Meanwhile" if same_reports(cpu, rows).any() else "In other reports"


def _slow_rather_than_full(view: View, series: DeviceSeries, rows: Table, limits: Limits) -> str:
    """That work stands still for a device, as a sentence; empty where that is not seen."""
    if _is_unplaced(view, series) and _is_one_of_many(view, series, rows):
        return ""
    is_late = _is_late(series, rows, limits)
    if hardly_answers(view, series, rows, is_late):
        return _SLOW + ": hardly anything is served, and it has no idle time meanwhile."
    late = rows[is_late & (rows.floats("latency_ms") >= SECONDS_MS) & (rows.floats("util") >= USED)]
    calm = _quickest(series.samples, like=late)
    stalled = late[_are_unlike(late, calm)]
    if len(stalled) < max(FEWEST_STALLS, OFTEN * len(series.samples)) or does_nobody_wait(view, stalled):
        return ""
    values = {"calm": weighted.mean(calm, "latency_ms"), "rate": weighted.mean(calm, "ios_per_s")}
    return say(_SLOW + ": at another time {rate} requests/s took {calm:ms} each.", values)


def _quickest(samples: Table, like: Table) -> Table:
    """The sample with the least latency at half the usual rate of some others and more; empty for none."""
    rate, latency = samples.floats("ios_per_s"), samples.floats("latency_ms")
    at = np.flatnonzero((2 * rate >= median(like.floats("ios_per_s"))) & (latency > 0))
    return samples[at[np.argsort(latency[at], kind="stable")][:1]]


def _are_unlike(late: Table, calm: Table) -> Mask:
    """Which samples another one shows to be stalls, of no more than twice its requests and kB.

    A burst keeps the busy time of each request, whatever its queue: a stall does not.
    """
    if not len(calm):
        return np.zeros(len(late), dtype=np.bool_)
    names = ("ios_per_s", "kb_per_s", "latency_ms", "util")
    rate, kb, latency, util = (late.floats(name) for name in names)
    calm_rate, calm_kb, calm_latency, calm_util = (calm.floats(name) for name in names)
    is_no_more = (rate <= 2 * calm_rate) & (kb <= 2 * calm_kb)
    is_stall = (latency >= STALL_TIMES * calm_latency) & (util * calm_rate >= STALL_BUSY * calm_util * rate)
    return np.asarray(is_no_more & is_stall)


_SLOW = " It is slow rather than full"
_BEHIND = " It is a {kind}: look for a shared backend, a cap, or a failing disk behind it."
_OF_VIRTUAL = (
    "Compare with the limits of the volume and of the instance, and ask who runs the backend: other tenants, "
    "a cap, or a failing disk behind it.",
    "Read it with one request at a time while it is calm: if that takes as long, load is not the cause.",
    "Look for timeouts of this device in the kernel's log.",
)


def _worst(series: DeviceSeries, rows: Table, limits: Limits) -> Values:
    """What took longest, all requests or one way, in `count` samples; a lone request leads no others.

    Nor do a read and a write lead as their mean: that is of neither.
    """
    of_all, *of_ways = _too_long(series, rows, limits)
    of_all |= _are_stalls(series.samples)[np.isin(series.samples["sample"], rows["sample"])]
    told = _told(series, rows, (of_all, *of_ways))
    return max(told, key=lambda values: (float(values["of_one_way"]) > 1, float(values["latency"])))


def _told(series: DeviceSeries, rows: Table, masks: Sequence[Mask]) -> Iterator[Values]:
    """The worst sample, by all requests and by direction, each of those samples that its mask has."""
    in_line, flushing = _in_line(rows), _flushing(rows)
    means, at_once = _in_flight(rows)
    is_deeper = at_once > _ABOVE * np.fmax(means, 1.0)
    in_flight = np.where(is_deeper, at_once, means)
    for (plural, latency, size, rate), is_own in zip(WAYS, masks, strict=True):
        data = np.where(is_own, rows.floats(latency), np.nan)
        if np.isnan(data).all():
            continue
        at = int(np.nanargmax(data))
        size_kb, per_s = float(rows.floats(size)[at]), float(rows.floats(rate)[at])
        slowest = float(sane_limit_ms(series, size_kb))
        depth, printed, ios = (float(rows.floats(name)[at]) for name in ("depth", "queue_depth", "ios_per_s"))
        # a queue that drains holds fewer than those that end in it waited for; the counter is of both ways
        is_told = depth == printed and (plural == "requests" or per_s >= ONE_WAY * ios)
        yield {
            "device": series.name,
            "count": float(np.count_nonzero(is_own)),
            "requests": float(np.nansum(events_per_sample(rows, rate)[is_own])),
            "of_one_way": _of_one_way(rows[is_own], rate),
            "direction": plural,
            "latency": float(data[at]),
            "size": size_kb,
            "of": f" of {size_kb:.1f} kB" if size_kb >= 0 else "",
            "rate": per_s,
            "depth": printed if is_told else per_s * float(data[at]) / 1000,
            "made": " with" if is_told else "; rate times latency makes",
            "in_line": float(in_line[at]),
            "in_flight": float(in_flight[at]),
            "busy": " while busy" * bool(is_deeper[at]),
            "slowest": slowest,
            "sane": float(in_line[at] * slowest + flushing[at]),
            "class": class_of(series),
        }


def _of_one_way(rows: Table, rate: str) -> float:
    """How many requests are counted; of both directions, where they are shown, of the one that has more."""
    ways = [f"{plural}_per_s" for _, plural in DIRECTIONS]
    is_of_both = rate not in ways and all(map(rows.has, ways))
    return max(float(np.nansum(events_per_sample(rows, one))) for one in (ways if is_of_both else [rate]))


def _evidence(rows: Table, values: Values) -> Iterator[Evidence]:
    text = "{direction}{of} took {latency:ms}, at {rate}/s{made} {depth} in flight"
    yield cite(rows, text, values, worst="latency_ms")
    text = "one alone{of} takes a healthy device (of class: {class}) at most {slowest:ms}"
    yield cite(rows, text, values, weighs="context")
    util, rate = weighted.mean(rows, "util_pct"), weighted.mean(rows, "ios_per_s")
    if util >= 95 and rate > 0:
        per_request = float(weighted.ratio(rows, "util_pct", "ios_per_s") * 10)
        text = "{util:.0f} % busy for {rate} requests/s: {per_request:.0f} ms of busy time for each"
        yield cite(rows, text, {"util": util, "rate": rate, "per_request": per_request}, worst="util_pct")


def _of_cpus(view: View, rows: Table) -> Iterator[Evidence]:
    """That idle CPUs count who waits meanwhile, or at other times where no report has both."""
    for cpu, values, when in _iowait(view, rows):
        text = "{count} samples of the CPUs, {when}: iowait is {iowait:.0f} %, idle time {idle:.0f} %"
        yield cite(cpu, text, values | {"when": when.lower()})


RULE = Rule(
    id="extreme-latency",
    role="symptom",
    replaces=("svctm-misread",),
    title="Requests take longer than on any healthy device",
    why="Whoever asked waits, for seconds.",
    remedy=(
        "Look for timeouts, resets and errors of this device in the kernel's log; then its SMART data, "
        "cable, slot and power.",
        "On an array, volume or network device: compare with the disks below, which may answer quickly.",
        "In a virtual machine: the disk may be shared, capped or failing on its host: ask who runs that.",
    ),
    needs=Needs(one_of=({"disk": ("ios_per_s|reads_per_s", "await_ms|read_await_ms|queue_depth")},)),
    thresholds={
        "least_ms": Threshold(200, "ms", "latency that somebody notices", "judgement: a person's patience"),
        "margin": Threshold(1.0, "x", "latency over the slowest sane one", "the table has the slowest"),
        "seconds_ms": Threshold(2000, "ms", "latency that is harm in any queue", "judgement: seconds each"),
        "far": Threshold(
            2.0, "x", "latency over a sane one that no load explains", "judgement: rounding, mix"
        ),
        "share": Threshold(20, "%", "samples with I/O that are more than a moment", "judgement: one in five"),
        "moment": Threshold(
            50, "requests", "as many are more than a moment", "judgement: a mean known to 14 %"
        ),
        "least_requests": Threshold(10, "requests", "for high confidence", "a mean of 10 is known to 30 %"),
    },
    confirm=("dmesg -T | grep -iE 'timeout|reset|abort|I/O error|link'", "smartctl -x /dev/DEVICE"),
    references=("https://docs.kernel.org/admin-guide/iostats.html",),
    to_clear=ToClear(columns=("await_ms|read_await_ms|write_await_ms", "queue_depth")),
    detect=detect,
)
