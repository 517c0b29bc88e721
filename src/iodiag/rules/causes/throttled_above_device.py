"""Something above the block device holds the requests back.

What it detects: a device that moves an exactly steady rate with hardly a request in flight and calm latency,
while tasks wait: several are blocked, pressure or iowait is high, a control group has just that limit, or an
application measured far longer waits than the device. Three samples show any such rate, one or two a
published or round number, where that is what the device does most of the time.

Why it matters: the device is fine; a quota (a container's io.max, a control group, a service's limit) is
what users feel, and no device counter shows it.

When it is wrong: a client that asks at a steady pace looks the same from below, so without a witness from
above the rule only says that it cannot tell. Tasks that are blocked on NFS or a lock while another client
keeps its pace look like tasks that wait for the quota.

References: Documentation/admin-guide/cgroup-v2.rst (io.max); requests held there have not reached
the block layer's counters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from iodiag.analysis.array.topmost_devices import once_per_stack, relatives, topmost
from iodiag.analysis.host.cpu import cpu_shares
from iodiag.analysis.host.who_waits import blocked, is_any_busy, pressure
from iodiag.analysis.load.plateaus import Plateau, plateau
from iodiag.analysis.load.queueing import Level, level_of
from iodiag.analysis.load.rate_limits import QUANTITIES
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_fact, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.measure.windows import is_sustained
from iodiag.analysis.states.service_times import CALM, SERVICE, events_per_sample
from iodiag.analysis.view.device_traits import is_spinning
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import HALF_DIGIT
from iodiag.table.table import Table

_LIMITED = ("reads_per_s", "writes_per_s", "read_kb_per_s", "write_kb_per_s")


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per topmost device with a steady trickle that somebody waits for."""
    found: dict[str, tuple[Plateau, tuple[Evidence, ...], tuple[Evidence, ...]]] = {}
    for series in view.devices:
        if not any((series.samples.floats(column) > 0).any() for column in ("depth", "util")):
            yield RULE.undetermined("nothing tells how many requests it holds", series.name)
            continue
        top = _steady(series, limits)
        if top is None and _is_blurred(series, limits):
            yield RULE.undetermined(_BLURRED, series.name)
            continue
        if top is None:
            yield RULE.clear("no exactly steady rate at a short queue", series.name)
            continue
        stated, witnesses = (tuple(tell(view, series, top, limits)) for tell in (_stated_limits, _witnesses))
        if stated or any(item.weighs == "for" for item in witnesses):
            found[series.name] = (top, stated, witnesses)
        else:
            reason = _OPEN if len(top.rows) > 1 else _ONCE
            yield RULE.undetermined(reason, series.name)
    for series, told, below in once_per_stack(view, found, topmost):
        yield _finding(series, *told, below)


_ONCE = "a rate at a number that limits have, in one sample: more samples would show whether it is held"
_OPEN = (
    "a steady rate at a short queue: a quota above the device, or a client with a steady pace; vmstat's b, "
    "/proc/pressure/io or the control groups' io.max would tell"
)


_BLURRED = "each sample has so few large requests that a rate which is held would not look steady"


def _is_blurred(series: DeviceSeries, limits: Limits) -> bool:
    """Whether one large request more or less in a sample is more than a steady rate varies."""
    rows = series.loaded
    if not len(rows) or weighted.mean(rows, "depth") > limits.most_depth:
        return False
    size_kb, counted = weighted.ratio(rows, "kb_per_s", "ios_per_s"), events_per_sample(rows)
    return bool(size_kb >= limits.large and median(counted) * limits.flat < 100)


def _steady(series: DeviceSeries, limits: Limits) -> Plateau | None:
    """The longest steady trickle: flat rate, short queue, calm latency, a device mostly idle."""
    frame = _with_busy(series)
    slack = 1.1  # single samples stray from what the window as a whole must hold
    most_ms = CALM * SERVICE["spinning" if is_spinning(series) else "solid"].usual_ms
    calm = frame.floats("busy") <= limits.most_util / 100
    calm &= frame.floats("depth") <= slack * limits.most_depth
    calm &= frame.floats("cost_ms") <= slack * most_ms
    count = int(np.count_nonzero(calm))
    least = int(min(limits.least_samples, max(1, math.ceil(count / 2))))
    width = (limits.flat if least >= limits.least_samples else limits.meter) / 100
    tops = [
        top
        for quantity in QUANTITIES
        if (top := plateau(frame, quantity, calm, width=width, least=least)) and _is_told(top, limits)
    ]
    longest = max((len(top.rows) for top in tops), default=0)
    lasting = [top for top in tops if len(top.rows) >= 0.8 * longest]
    best = max(lasting, key=lambda top: (top.is_exact, top.is_number), default=None)
    if best is None or weighted.mean(best.rows, "depth") > limits.most_depth:
        return None
    # a calm sample or two of a busy device are no state of it
    is_long = len(best.rows) >= min(limits.least_samples, len(frame) / 2)
    return best if is_long else None


def _is_told(top: Plateau, limits: Limits) -> bool:
    """Whether so many samples show a rate that is held: one or two only at a number that limits have."""
    count = len(top.rows)
    return count >= limits.few or top.is_exact or (count > 1 and top.is_number)


def _with_busy(series: DeviceSeries) -> Table:
    """Samples with I/O as levels need them; busy no longer than anything was in flight."""
    samples = series.loaded
    depth = np.maximum(samples.floats("depth"), HALF_DIGIT)
    busy = np.maximum(np.minimum(samples.floats("util"), depth), HALF_DIGIT)
    return samples.with_columns(
        busy=busy,
        util=busy,
        at_once=depth / busy,
        cost_ms=samples.floats("latency_ms"),
        kind=np.full(len(samples), 5.0),
        span=weighted.lengths(samples),
    )


def _stated_limits(view: View, series: DeviceSeries, top: Plateau, limits: Limits) -> Iterator[Evidence]:
    """Limits of control groups that are the rate."""
    for fact in view.facts_of("cgroup"):
        if fact.word("device") and view.topology.canonical(fact.word("device")) == series.name:
            for column in _LIMITED:
                limit, rate = fact.number(f"limit_{column}"), weighted.mean(top.rows, column)
                if limit > 0 and abs(rate / limit - 1) <= limits.near / 100:
                    yield cite_fact(fact)


def _witnesses(view: View, series: DeviceSeries, top: Plateau, limits: Limits) -> Iterator[Evidence]:
    level = top.level
    # who waits is asked first: whether others are busy takes a look at each of them
    if waiters := tuple(_waiters(view, level, limits)):
        others = [other for other in view.devices if other.name not in relatives(view, series.name)]
        if not is_any_busy(others, level.rows, limits.most_util, level.depth):
            yield from waiters
    yield from _applications(view, series, level, limits)


def _waiters(view: View, level: Level, limits: Limits) -> Iterator[Evidence]:
    blocked_tasks = blocked(view, level.rows)
    if blocked_tasks is not None and blocked_tasks[1] >= max(
        limits.least_blocked, limits.waiters * level.depth
    ):
        values: Values = {"blocked": blocked_tasks[1], "depth": level.depth}
        text = "{blocked:.1f} tasks were blocked on I/O, while only {depth} requests were in flight"
        yield cite(blocked_tasks[0], text, values, worst="blocked")
    some = pressure(view, level.rows, "some")
    if some is not None and some[1] >= max(limits.pressure, 200 * level.util):
        text = "some task waited for I/O {some:.0f} % of the time, the device was busy {util:.0f} %"
        yield cite(some[0], text, {"some": some[1], "util": 100 * level.util})
    # where CPUs wait for a share of their time, some task does for at least as long: the same, told once
    cpu = cpu_shares(view.cpu_at(level.rows)) if some is None and blocked_tasks is None else None
    if cpu is not None and cpu.iowait >= max(limits.pressure, 200 * level.util):
        text = "CPUs waited for I/O {iowait:.0f} % of their time, the device was busy {util:.0f} %"
        yield cite(cpu.rows, text, {"iowait": cpu.iowait, "util": 100 * level.util}, worst="iowait_pct")


def _applications(view: View, series: DeviceSeries, level: Level, limits: Limits) -> Iterator[Evidence]:
    """Latencies that fio measured on this device, far above what the device took while fio ran."""
    whole = level_of(_with_busy(series))
    slowest = max(level.latency_ms, whole.latency_ms)
    for fact in view.facts_of("fio"):
        of_device = fact.word("device")
        latency = fact.number("latency_ms")
        if of_device and view.topology.canonical(of_device) != series.name:
            continue
        if latency >= limits.slower * slowest:
            values = dict(fact.values) | {"device_ms": slowest}
            yield cite_fact(fact)
            text = "the device itself took {device_ms} ms a request"
            yield cite(whole.rows, text, values, weighs="context")


def _finding(
    series: DeviceSeries,
    top: Plateau,
    stated: tuple[Evidence, ...],
    witnesses: tuple[Evidence, ...],
    below: tuple[str, ...],
) -> Finding:
    level = top.level
    waits = sum(item.weighs == "for" for item in witnesses)
    points = 1 + 2 * waits + 4 * bool(stated)
    values: Values = {
        "device": series.name,
        "rate": top.in_unit(top.rate),
        "unit": top.unit,
        **top.extent,
        "depth": level.depth,
        "latency": level.latency_ms,
        "util": 100 * level.util,
        "samples": len(top.rows),
    }
    return RULE.finding(
        severity="warning",
        confidence=confidence(points, at_most="high" if is_sustained(top.rows) else "medium"),
        **device_fields(top.rows, series.name, *below),
        summary=say(
            ("The limit of a control group" if stated else "Something above {device}")
            + " holds requests"
            + (" to {device}" if stated else "")
            + " back: {rate} {unit} exactly, {depth} in flight on average, {latency} ms each"
            + (", and yet tasks wait." if waits else "."),
            values,
        ),
        evidence=(
            cite(
                top.rows,
                "{rate} {unit} in {samples} samples ({least} to {most}), at {depth} in flight, "
                "{latency} ms each and {util:.1f} % util",
                values,
            ),
            *stated,
            *witnesses,
        ),
        refutes=("the same rate of the same program without a quota",),
        cannot_know=()
        if stated
        else ("what holds them: requests are counted only once they reach the block layer",),
    )


RULE = Rule(
    id="throttled-above-device",
    explains=("symptom",),
    replaces=("low-concurrency-bound",),
    title="Requests are held back above the device",
    why="The device idles while tasks wait for a quota.",
    remedy=(
        "Find and raise the quota: io.max or blkio.throttle of the control group, the container's or "
        "service's limit.",
    ),
    needs=Needs(one_of=({"disk": ("util_pct", "queue_depth", "ios_per_s|reads_per_s")},)),
    thresholds={
        "most_depth": Threshold(2, "requests", "depth at the device", "measured 0.3 to 1.24 under io.max"),
        "most_util": Threshold(70, "%", "util at the device", "judgement: above it the device may limit"),
        "flat": Threshold(2, "%", "variation of the rate", "measured 0.2 to 1.2 % under io.max"),
        "large": Threshold(
            512, "kB", "size of requests that a limit lets through one by one", "a bio of 1 MB"
        ),
        "meter": Threshold(0.5, "%", "variation of the rate in fewer samples", "what a limiter keeps to"),
        "few": Threshold(3, "samples", "samples that show any steady rate", "two are no level"),
        "least_samples": Threshold(8, "samples", "samples of the steady rate", "capacity rules need eight"),
        "least_blocked": Threshold(2, "tasks", "tasks blocked", "judgement: more than one patient reader"),
        "waiters": Threshold(3, "x", "tasks blocked per request in flight", "judgement: most wait elsewhere"),
        "pressure": Threshold(70, "%", "time in which some task waited", "measured 97 % under io.max"),
        "slower": Threshold(
            5, "x", "an application's latency over the device's", "measured 200x under blkio.throttle"
        ),
        "near": Threshold(2.5, "%", "distance of the rate from a stated limit", "sampling edges"),
    },
    confirm=(
        "grep -r . /sys/fs/cgroup --include=io.max",
        "systemctl show -p Id,IOReadIOPSMax,IOReadBandwidthMax '*.service' '*.slice'",
        "cat /proc/pressure/io",
    ),
    references=("https://docs.kernel.org/admin-guide/cgroup-v2.html",),
    to_clear=ToClear(samples=8, columns=("queue_depth", "util_pct")),
    detect=detect,
)
