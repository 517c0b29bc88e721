"""A setting of the block queue costs requests: large ones are split, or neighbours are not merged.

What it detects: a spinning disk or a network volume, most of the time busy, whose settings are stated and

- whose requests are as large as max_sectors_kb, several at once, where the hardware would take requests at
  least twice as large (max_hw_sectors_kb): what applications ask for is cut to that size. Or
- that completes more small requests than a disk can seek (500/s of up to 32 kB), none of them merged, under
  nomerges: they must be neighbours. Only where the disk is known to spin.

Why it matters: each request costs a command, and counts against the limit of a volume. Both settings are
changed while the device is in use.

When it is wrong: an application that asks for exactly that much itself, several at a time, is not cut.
Requests that a disk's cache answers need no seek and are no neighbours. A limit may be set on purpose, for
even latencies or for a device that fails above it. Flash pays little for a request, and large limits (512 kB)
cost hardly anything: neither is judged. Without max_hw_sectors_kb nobody knows what the hardware takes. The
number of requests in flight (nr_requests) is judged by queue-limit, the readahead by readahead-bound.

References: Linux Documentation/block/queue-sysfs.rst (max_sectors_kb, max_hw_sectors_kb, nomerges). Made
input only: no real capture has been seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.analysis.measure.evidence import Values, cite, cite_fact, say
from iodiag.analysis.measure.grading import device_fields
from iodiag.analysis.states.service_times import FASTER_THAN_SEEKS, RANDOM_KB, class_of
from iodiag.analysis.states.states import State, states
from iodiag.analysis.view.device_traits import is_spinning
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.capture import Fact
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear

RAISED_KB = 1024.0
"""What the remedy raises the limit to; the kernel itself takes 1280 kB (blkdev.h, BLK_DEF_MAX_SECTORS)."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per device and setting that costs requests."""
    stated = {view.topology.canonical(fact.word("device")): fact for fact in view.facts_of("sysfs")}
    judged = [series for series in view.devices if series.name in stated and _pays(series)]
    for series in judged:
        fact = stated[series.name]
        busy = [s for s in states(series) if _is_judged(s, limits)]
        found: list[Finding | Outcome] = []
        found += [_of_cut(series, one, fact) for one in busy if _is_cut(one, fact, limits)][:1]
        found += [_of_unmerged(series, one, fact) for one in busy if _is_unmerged(series, one, fact)][:1]
        yield from found or [RULE.clear("no setting of its queue is seen to cost requests", series.name)]
    if not judged:
        reason = (
            "of no disk or volume that pays for requests the queue is stated: grep . /sys/block/*/queue/*"
        )
        yield RULE.not_applicable(reason, missing=("topology",))


def _pays(series: DeviceSeries) -> bool:
    """Whether a request costs a seek or a part of a limit; a layer above has no queue of its own."""
    return not series.is_stacked and class_of(series) in ("spinning", "network")


def _is_judged(state: State, limits: Limits) -> bool:
    return bool(
        state.kind in ("reads", "writes")
        and state.requests >= limits.requests
        and state.share >= limits.share / 100
        and state.util >= limits.busy / 100
    )


def _is_cut(state: State, fact: Fact, limits: Limits) -> bool:
    largest, hardware = fact.number("max_sectors_kb"), fact.number("max_hw_sectors_kb")
    return bool(
        largest <= limits.largest
        and hardware >= 2 * largest
        and 1 - limits.same_size / 100 <= state.size_kb / largest <= 1.005
        and state.at_once >= limits.pieces
    )


def _is_unmerged(series: DeviceSeries, state: State, fact: Fact) -> bool:
    merges = state.rows.floats(f"{state.kind[:-1]}_merges_per_s")
    return bool(
        is_spinning(series)
        and fact.number("nomerges") in (1, 2)
        and state.rate >= FASTER_THAN_SEEKS
        and state.size_kb <= RANDOM_KB
        and (merges == 0).all()
    )


def _numbers(series: DeviceSeries, state: State) -> Values:
    return {
        "device": series.name,
        "kind": state.kind,
        "rate": state.rate,
        "size": state.size_kb,
        "at_once": state.at_once,
        "latency": state.latency_ms,
        "samples": state.samples,
        "all": len(series.samples),
    }


def _of_cut(series: DeviceSeries, state: State, fact: Fact) -> Finding:
    largest = fact.number("max_sectors_kb")
    larger = min(fact.number("max_hw_sectors_kb"), RAISED_KB)
    values = _numbers(series, state) | {
        "largest": largest,
        "larger": larger,
        "fewer": state.rate * largest / larger,
    }
    text = (
        "{device} gets {kind} cut to {largest:.0f} kB (max_sectors_kb): {rate:.0f} requests/s in {samples} "
        "of {all} samples; in requests of {larger:.0f} kB they would be {fewer:.0f}/s."
    )
    return RULE.finding(
        severity="notice",
        confidence="medium",
        **device_fields(state.rows, series.name),
        summary=say(text, values),
        evidence=(
            cite(state.rows, "{rate} {kind}/s of {size} kB, {at_once} at once, {latency} ms each", values),
            cite_fact(
                fact, "max_sectors_kb is {max_sectors_kb:.0f}, the hardware takes {max_hw_sectors_kb:.0f}"
            ),
        ),
        remedy=(RULE.remedy[0],),
        refutes=("requests of the same size after max_sectors_kb was raised: the application asks for that",),
        cannot_know=("how large the requests of the application are",),
    )


def _of_unmerged(series: DeviceSeries, state: State, fact: Fact) -> Finding:
    values = _numbers(series, state)
    text = (
        "{device} completes {rate:.0f} {kind}/s of {size} kB in {samples} of {all} samples, more than a "
        "disk can seek, and merges none of them: nomerges forbids it."
    )
    return RULE.finding(
        severity="notice",
        confidence="medium",
        **device_fields(state.rows, series.name),
        summary=say(text, values),
        evidence=(
            cite(state.rows, "{rate} {kind}/s of {size} kB, {latency} ms each, no merges", values),
            cite_fact(fact, "nomerges is {nomerges:.0f}"),
        ),
        remedy=(RULE.remedy[1],),
        refutes=("as many requests after echo 0 > nomerges: they are no neighbours",),
        cannot_know=("where on the disk the requests lie",),
    )


RULE = Rule(
    id="queue-settings",
    title="A setting of the queue costs requests",
    why="What could be one request is several.",
    remedy=(
        "Raise it: echo 1024 > /sys/block/DEVICE/queue/max_sectors_kb (max_hw_sectors_kb at most); keep it "
        "with a udev rule.",
        "Let requests be merged: echo 0 > /sys/block/DEVICE/queue/nomerges; keep it with a udev rule.",
    ),
    needs=Needs(one_of=({"disk": ("ios_per_s|reads_per_s", "kb_per_s|read_kb_per_s", "util_pct")},)),
    thresholds={
        "largest": Threshold(
            256, "kB", "max_sectors_kb at most", "judgement: of larger requests none costs much"
        ),
        "same_size": Threshold(
            3, "%", "of requests below max_sectors_kb", "the last piece of each is smaller"
        ),
        "pieces": Threshold(
            1.5, "requests", "at once, at least", "pieces of one request are queued together"
        ),
        "requests": Threshold(200, "requests", "counted", "a mean of 200 is known to 7 %"),
        "share": Threshold(30, "%", "of the time, at least", "judgement: what lasts"),
        "busy": Threshold(80, "%", "busy, at least", "judgement: on an idle device requests cost nobody"),
    },
    confirm=("grep . /sys/block/DEVICE/queue/max_sectors_kb /sys/block/DEVICE/queue/max_hw_sectors_kb",),
    references=("https://docs.kernel.org/block/queue-sysfs.html",),
    to_clear=ToClear(samples=3, requests=200, busy_pct=80, columns=("kb_per_s",)),
    detect=detect,
)
