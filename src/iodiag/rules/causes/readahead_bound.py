"""One reader asks for exactly the readahead at a time, and waits for it: the readahead bounds its rate.

What it detects: reads of exactly read_ahead_kb, at most two windows of it in flight, on a device that could
overlap more: flash, a network volume or an array. The throughput is then the readahead over the latency,
whatever the device can do.

Why it matters: a larger readahead is one setting, and lets a scan, a backup or a restore use the device.

When it is wrong: an application that reads in pieces of that size itself (direct I/O of 128 kB) does not
use the readahead. A single spinning disk streams no faster with more of it, and is left out. Where a volume
is at its limit of throughput more is in flight.

References: Linux, mm/readahead.c (a window is read while the one before is used); blockdev(8), --setra in
sectors. Simulated only: no real capture has been seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.analysis.array.topmost_devices import once_per_stack, topmost
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import device_fields
from iodiag.analysis.states.service_times import class_of, streams_kb
from iodiag.analysis.states.states import State, states
from iodiag.analysis.view.device_traits import is_spinning
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import KB_PER_MB


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per topmost device that is read a window of readahead at a time."""
    found: dict[str, State] = {}
    is_stated = False
    for series in view.devices:
        if series.device is None or not series.device.read_ahead_kb or not len(series.loaded):
            continue
        is_stated = True
        state = next((one for one in states(series) if _is_bound(series, one, limits)), None)
        may_spin = is_spinning(series) is not False and class_of(series) != "network"
        is_one_spindle = may_spin and (series.disks or 1) < 2
        if state is not None and not is_one_spindle:
            found[series.name] = state
        else:
            yield RULE.clear("it is not read one window of readahead after the other", series.name)
    if not is_stated:
        reason = "the readahead of no device is stated: grep . /sys/block/*/queue/read_ahead_kb would"
        yield RULE.not_applicable(reason, missing=("topology.read_ahead_kb",))
    for series, told, below in once_per_stack(view, found, topmost):
        yield _finding(series, told, below)


def _is_bound(series: DeviceSeries, state: State, limits: Limits) -> bool:
    """Whether a state is of reads of that size, few at once, below what such a device streams."""
    ahead = series.device.read_ahead_kb if series.device is not None else None
    if (
        not ahead
        or state.kind != "reads"
        or state.requests < limits.requests
        or state.share < limits.share / 100
    ):
        return False
    return bool(
        abs(state.size_kb / ahead - 1) <= limits.same_size / 100
        and limits.shallowest <= state.depth <= limits.windows * (1 + limits.same_size / 100)
        and state.rate * state.size_kb <= limits.streams / 100 * streams_kb(series)
    )


def _finding(series: DeviceSeries, state: State, below: tuple[str, ...]) -> Finding:
    values: Values = {
        "device": series.name,
        "ahead": state.size_kb,
        "mb": state.rate * state.size_kb / KB_PER_MB,
        "depth": state.depth,
        "latency": state.latency_ms,
        "rate": state.rate,
        "samples": state.samples,
        "all": len(series.samples),
    }
    return RULE.finding(
        severity="notice",
        confidence="medium",
        **device_fields(state.rows, series.name, *below),
        summary=say(
            "{device} is read in windows of {ahead:.0f} kB, its readahead, {depth} at a time: {mb} MiB/s in "
            "{samples} of {all} samples, bound by the readahead and a latency of {latency} ms.",
            values,
        ),
        evidence=(
            cite(
                state.rows, "{rate} reads/s of {ahead:.1f} kB, {depth} in flight, {latency} ms each", values
            ),
            cite(None, "read_ahead_kb is {ahead:.0f} ({origin})", _stated(series)),
        ),
        refutes=("no more throughput after blockdev --setra with four times as much",),
        cannot_know=("whether the application itself reads in pieces of that size",),
    )


def _stated(series: DeviceSeries) -> Values:
    device = series.device
    if device is None:
        return {}
    return {"ahead": device.read_ahead_kb or 0.0, "origin": device.provenance.get("read_ahead_kb", "")}


RULE = Rule(
    id="readahead-bound",
    explains=("low-concurrency-bound", "util-false-alarm"),
    title="The readahead bounds a sequential reader",
    why="The next window is asked for when the one before has come.",
    remedy=(
        "Raise the readahead (blockdev --setra 8192 is 4 MB); keep it with a udev rule or a tuned profile.",
        "Or let the application read ahead itself: larger requests, several at a time.",
    ),
    needs=Needs(one_of=({"disk": ("reads_per_s", "read_kb_per_s", "queue_depth|read_await_ms")},)),
    thresholds={
        "same_size": Threshold(
            3, "%", "distance of reads from the readahead", "reads at ends of files are short"
        ),
        "windows": Threshold(2, "windows", "in flight at most", "mm/readahead.c: one is read, one is used"),
        "shallowest": Threshold(0.5, "requests", "in flight at least", "below it the reader is busy"),
        "streams": Threshold(50, "%", "of what such a device streams", "judgement: room for twice as much"),
        "requests": Threshold(200, "requests", "counted", "a mean of 200 is known to 7 %"),
        "share": Threshold(20, "%", "of the time", "judgement: a scan worth a setting"),
    },
    confirm=("blockdev --getra /dev/DEVICE", "cat /sys/block/DEVICE/queue/read_ahead_kb"),
    references=("https://man7.org/linux/man-pages/man8/blockdev.8.html",),
    to_clear=ToClear(samples=2, requests=200),
    detect=detect,
)
