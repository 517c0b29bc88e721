"""%util near 100 % does not mean here that the device is near its limit.

What it detects: a device that serves several requests at once and reads 70 % busy or more, while one of these
holds: it did 1.3 times as much at a deeper queue; its latency is at most twice that of a lone request; it
never had a second request to serve; its latency is that of an unloaded device of its class; its disks
outnumber its requests, and none of them is half busy; or util exceeds the requests in flight, so that it was
counted in ticks. A few reads in flight that take long, but no longer than such a device may: for information.

Why it matters: util is the share of time with at least one request in flight. On a disk array, an SSD
or a cloud volume that says nothing of capacity, and hardware is bought to cure a number.

When it is wrong: data may lie on one member of an array, a SAN has ceilings that the host does not
see, and a program that asks for one block at a time cannot use the headroom (see low-concurrency-bound).
A single spinning disk serves one request at a time: there busy means busy, and the rule keeps silent. It
abstains where nothing tells the class of the device.

References: iostat(1) on %util; P. Zaitsev 2014 and M. Brooker on util of parallel devices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iodiag.analysis.load.load_sentences import (
    disks_below,
    in_order,
    inflation,
    mean_below,
    parallelism,
    rows_of_both,
    state,
    template_values,
)
from iodiag.analysis.load.saturation.bursts import longest_contiguous
from iodiag.analysis.load.saturation.devices_with_verdict import Busy, with_verdict
from iodiag.analysis.load.saturation.judged_levels import THRESHOLDS, JudgedLevel
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.measure.windows import is_sustained
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, ToClear

MOST_TOLD = 4
"""Levels whose numbers are told; the others are of the same kind."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per stack with a device with busy load levels that are no cause for alarm."""
    clear = "busy, and near its limit"
    found = list(with_verdict(view, RULE.id, limits, "false alarm", clear, _full))
    yield from (one for one in found if isinstance(one, Outcome))
    rest = [one for one in found if isinstance(one, Busy)]
    while rest:
        alike = [one for one in rest if _are_alike(rest[0], one)]
        rest = [one for one in rest if one not in alike]
        yield _finding(alike)


def _full(series: DeviceSeries, loads: Sequence[JudgedLevel]) -> Outcome | None:
    is_compared = any(load.verdict == "false alarm" and _is_compared(load) for load in loads)
    if is_compared or not any(load.verdict == "saturated" for load in loads):
        return None
    return RULE.clear("it was full at times: its %util then was no false alarm", series.name)


def _are_alike(one: Busy, other: Busy) -> bool:
    """Whether two devices did as much, as quickly, for the same reason: one sentence speaks for both."""
    first, second = (max(busy.loads, key=_gain) for busy in (one, other))
    pairs = [(getattr(first.level, name), getattr(second.level, name)) for name in _LIKE]
    is_like = all(max(pair) <= ALIKE * min(pair) for pair in pairs)
    return first.headroom == second.headroom and first.level.kind == second.level.kind and is_like


ONE = 1.1
"""Requests in flight while busy of a client that asks for one thing at a time."""

_LIKE, ALIKE = ("rate", "latency_ms", "busy_depth"), 1.25
"""Equal members of a set measure within a fifth of each other."""


def _finding(alike: Sequence[Busy]) -> Finding:
    series, alarms, _ = alike[0]
    lead = max(alarms, key=_gain)
    told = _told(alarms, lead)
    rows = in_order(alarms)
    # levels that are compared stand for a window each; a lone level must last
    alone: Confidence = "medium" if any(map(_is_compared, alarms)) else "low"
    sure = confidence(
        max(map(_points, alarms)), at_most="high" if is_sustained(longest_contiguous(series, rows)) else alone
    )
    values = template_values(series, lead) | {"others": len(alike) - 1}
    values["few"] = "one thing" if lead.level.busy_depth <= ONE else "one or two things"
    values["below"] = f", which are {mean_below(lead):.0f} % busy" if lead.below else ""
    more = " The same holds for {others} more devices." if len(alike) > 1 else ""
    return RULE.finding(
        severity="info" if sure == "low" else "notice",
        confidence=sure,
        **device_fields(rows, *(name for one in alike for name in (one.series.name, *one.below))),
        summary=say(_SUMMARY[lead.headroom[0]] + more, values),
        evidence=(
            *(state(series, load) for load in told),
            *_headroom(series, told),
            cite(lead.level.rows, lead.parallel, values),
            *parallelism(series, lead),
            *disks_below(lead),
            *_against(series, lead),
        ),
        refutes=("more requests at once that move no more", "data that lies on a single one of its disks"),
        cannot_know=("where its limit lies: only a deeper queue would show it",),
    )


def _told(alarms: Sequence[JudgedLevel], lead: JudgedLevel) -> list[JudgedLevel]:
    """The levels whose numbers are told: the lead, and those that lasted longest, in their order."""
    longest = sorted(alarms, key=lambda load: (load is not lead, -load.level.span))[:MOST_TOLD]
    return [load for load in alarms if any(load is one for one in longest)]


def _gain(load: JudgedLevel) -> tuple[float, float]:
    """By how much the device was seen to do more, then how sure that is."""
    more = (
        load.higher.rate / load.level.rate if load.higher is not None and "scaled" in load.headroom else 1.0
    )
    return more, _points(load)


def _is_compared(load: JudgedLevel) -> bool:
    return "scaled" in load.headroom or "flat latency" in load.headroom


def _points(load: JudgedLevel) -> float:
    weights = {
        "scaled": 3,
        "ticks": 3,
        "flat latency": 2,
        "idle spindles": 2,
        "one at a time": 1,
        "slow few": -1,
        "plausible latency": 1,
    }
    points = 1 + sum(weights[reason] for reason in load.headroom) + ("ticks" not in load.headroom)
    return points - 2 * (load.elasticity < _USELESS)


_USELESS = 0.1
"""Growth of throughput per growth of depth that speaks against headroom."""


def _headroom(series: DeviceSeries, alarms: Sequence[JudgedLevel]) -> Iterator[Evidence]:
    for load in alarms:
        values = template_values(series, load)
        if "scaled" in load.headroom and load.higher is not None:
            reads = ", {higher_reads_times:.2f}x the reads" if "higher_reads_times" in values else ""
            yield cite(
                rows_of_both(load.level.rows, load.higher.rows),
                "the same device did {higher_rate} requests/s at {higher_depth} in flight: "
                "{higher_times:.2f}x as many as at {depth}" + reads,
                values,
            )
        if "flat latency" in load.headroom or "idle spindles" in load.headroom:
            yield from inflation(series, load)
        if "one at a time" in load.headroom:
            text = "{depth} in flight: util is the share of time in which the client waited for its request"
            yield cite(load.level.rows, text, values)
        if "plausible latency" in load.headroom and "flat latency" not in load.headroom:
            yield cite(
                load.level.rows, "{latency} ms at {depth} in flight is what an unloaded device takes", values
            )


def _against(series: DeviceSeries, load: JudgedLevel) -> Iterator[Evidence]:
    values: Values = template_values(series, load)
    if load.elasticity < _USELESS:
        text = "from {lower_depth} to {depth} in flight the rate hardly grew (elasticity {elasticity:.2f})"
        rows = load.level.rows if load.lower is None else rows_of_both(load.lower.rows, load.level.rows)
        yield cite(rows, text, values, weighs="against")
    elif len(load.level.rows) == 1:
        yield cite(load.level.rows, "a single sample shows this level", weighs="against")


_SUMMARY = {
    "scaled": "{device} shows {util:.1f} % busy at {requests} requests/s, but served {higher_rate} "
    "({higher_times:.1f} times as many) with more in flight: %util does not show its capacity.",
    "flat latency": "{device} shows {util:.1f} % busy at {depth} in flight, yet a request takes only "
    "{inflation:.1f} times as long as alone: it is not near its limit.",
    "one at a time": "{device} shows {util:.1f} % busy with {depth} in flight: its client asks for {few} "
    "at a time, and it could serve more.",
    "slow few": "{device} shows {util:.1f} % busy with {depth} in flight: %util shows how often it is "
    "asked, not its capacity; {latency} ms each is long for a device that does not spin.",
    "plausible latency": "{device} shows {util:.1f} % busy, yet answers in {latency} ms with {depth} in "
    "flight: %util does not show its capacity.",
    "idle spindles": "{device} shows {util:.1f} % busy with {depth} requests on {spread_over:g} "
    "disks{below}: %util does not show its capacity.",
    "ticks": "{device} shows {util:.1f} % busy with {depth} in flight: the kernel counts util in ticks.",
}

RULE = Rule(
    id="util-false-alarm",
    role="context",
    title="%util near 100 % is no sign of a full device here",
    why="A device that serves several requests at once is 100 % 'busy' long before it is full.",
    remedy=(
        "Judge by latency against that at one request in flight, not by %util; fix alerts on %util.",
        "Read the device at two depths with fio: throughput that grows is headroom.",
        "To use the headroom let more requests be in flight: more threads, asynchronous I/O, readahead.",
    ),
    needs=Needs(one_of=({"disk": ("util_pct", "queue_depth", "ios_per_s|reads_per_s")},)),
    thresholds=THRESHOLDS,
    confirm=(
        "lsblk -o NAME,ROTA,TYPE,SIZE",
        *(
            "fio --name=ramp --filename=/dev/DEVICE --readonly --rw=randread --direct=1 "
            f"--ioengine=libaio --bs=16k --iodepth={depth} --runtime=10 --time_based"
            for depth in (1, 16)
        ),
    ),
    references=("https://man7.org/linux/man-pages/man1/iostat.1.html",),
    pictures=("ladder",),
    to_clear=ToClear(samples=1, columns=("await_ms|read_await_ms|write_await_ms", "util_pct", "kb_per_s")),
    detect=detect,
)
