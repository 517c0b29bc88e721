"""The combined latency describes neither reads nor writes.

What it detects: a device whose reads and writes both matter and differ threefold in latency (or
fourfold in size), so that the mean over both (await, areq-sz) is met by neither; and, where only the
mean is printed, the most that either direction can have.

Why it matters: a controller that acknowledges writes from its cache makes slow reads look fast.

When it is wrong: it is reading advice and no trouble by itself.

References: iostat(1): r_await and w_await since sysstat 9.1.2; pt-diskstats(1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import MOST_TOLD, Values, cite, say
from iodiag.analysis.measure.grading import device_fields
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear

SLOW_MS = 20.0
"""Latency from which a direction is slow on any disk but a queue's: a mean above it warns by itself."""


class _Mix(NamedTuple):
    """A device and what its directions had: latencies in ms, sizes in kB."""

    series: DeviceSeries
    reads: float
    writes: float
    read_ms: float
    write_ms: float
    await_ms: float
    read_kb: float
    write_kb: float

    @property
    def is_misleading(self) -> bool:
        """Whether the mean is of one mind with a healthy device, and one direction is not."""
        return self.await_ms < SLOW_MS <= max(self.read_ms, self.write_ms)

    @property
    def apart(self) -> float:
        """How many times longer the slower direction takes."""
        low, high = sorted((self.read_ms, self.write_ms))
        return high / low if low > 0 else float("nan")

    @property
    def sizes_apart(self) -> float:
        """How many times larger the requests of one direction are."""
        low, high = sorted((self.read_kb, self.write_kb))
        return high / low if low > 0 else float("nan")


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding for all devices whose mean latency misleads; bounds where only the mean is known."""
    found: list[_Mix] = []
    for series in view.devices:
        mix = _mix(series, *(weighted.mean(series.loaded, f"{name}s_per_s") for name in ("read", "write")))
        is_mixed = 0 < limits.minority / 100 * (mix.reads + mix.writes) <= min(mix.reads, mix.writes)
        if _lacks_directions(series, limits):
            yield RULE.undetermined(_no_directions(series), series.name)
        elif is_mixed and (np.isnan(mix.read_ms) or np.isnan(mix.write_ms)):
            if mix.await_ms > 0:  # else md does not account for it
                yield _bounded(mix)
        elif is_mixed and mix.is_misleading and _differs(mix, limits):
            found.append(mix)
        elif (is_mixed and _differs(mix, limits)) or _is_apart(series, limits) or _is_carried(mix, limits):
            reason = "reads and writes differ in latency: read r_await and w_await, not their mean"
            yield RULE.undetermined(reason, series.name)
        elif is_mixed:
            reason = f"neither direction takes {limits.latency_apart:g} times as long as the other"
            yield RULE.clear(reason, series.name)
        else:
            least = f"{100 - limits.minority:.0f} %"
            reason = f"at least {least} of its requests under load are of one direction: the mean is theirs"
            yield RULE.clear(reason, series.name)
    if found:
        yield _finding(sorted(found, key=lambda mix: -weighted.or_zero(mix.apart)), limits)


def _lacks_directions(series: DeviceSeries, limits: Limits) -> bool:
    """Whether the counts of reads and writes are unknown of more requests than one direction may hide.

    What a plain report counts beside those of iostat -x has no latency, which a mean could hide.
    """
    rows = series.loaded[series.loaded.floats("latency_ms") > 0]
    ios, reads, writes = (rows.floats(f"{name}_per_s") for name in ("ios", "reads", "writes"))
    unknown = np.nansum(ios[np.isnan(reads) | np.isnan(writes)])
    return bool(unknown > limits.minority / 100 * np.nansum(ios))


def _no_directions(series: DeviceSeries) -> str:
    """That requests are counted without their direction, and what tells: other samples, if any has both."""
    names = [f"{way}{of}" for way in ("read", "write") for of in ("s_per_s", "_await_ms")]
    reads, read_ms, writes, write_ms = np.isfinite([series.loaded.floats(name) for name in names])
    if not (read_ms & write_ms).any():
        return "requests are counted without their direction: r_await and w_await of iostat -x would tell"
    values: Values = {"without": int((~(reads & writes)).sum()), "samples": len(reads)}
    text = "{without} of {samples} samples count requests without their direction: "
    return say(text + "r_await and w_await of the others tell", values)


def _differs(mix: _Mix, limits: Limits) -> bool:
    return mix.apart >= limits.latency_apart or mix.sizes_apart >= limits.size_apart


def _is_apart(series: DeviceSeries, limits: Limits) -> bool:
    """Whether reads and writes of some sample differ, though the mean over all samples does not show it."""
    reads, writes = (series.loaded.floats(f"{name}_await_ms") for name in ("read", "write"))
    low, high = np.fmin(reads, writes), np.fmax(reads, writes)
    return bool(((low > 0) & (high >= SLOW_MS) & (high >= limits.latency_apart * low)).any())


def _is_carried(mix: _Mix, limits: Limits) -> bool:
    """Whether the few requests of one direction, far slower, make a good part of what all wait."""
    few, ms = min((mix.reads, mix.read_ms), (mix.writes, mix.write_ms))
    many = mix.reads * mix.read_ms + mix.writes * mix.write_ms
    return mix.apart >= limits.latency_apart and few * ms > limits.minority / 100 * many


def _mix(series: DeviceSeries, reads: float, writes: float) -> _Mix:
    rows = series.loaded
    is_split = all(weighted.is_timed(rows, name) for name in ("read", "write"))
    missing = float("nan")
    return _Mix(
        series,
        reads,
        writes,
        weighted.mean(rows, "read_await_ms") if is_split else missing,
        weighted.mean(rows, "write_await_ms") if is_split else missing,
        weighted.mean(rows, "await_ms"),
        weighted.ratio(rows, "read_kb_per_s", "reads_per_s"),
        weighted.ratio(rows, "write_kb_per_s", "writes_per_s"),
    )


def _bounded(mix: _Mix) -> Outcome:
    """Neither direction can take longer than if the other took no time."""
    total = mix.reads + mix.writes
    reason = say(
        "only the mean {mean} ms is printed: reads take at most {read} ms, writes at most {write} ms; "
        "r_await and w_await would tell",
        {
            "mean": mix.await_ms,
            "read": mix.await_ms * total / mix.reads,
            "write": mix.await_ms * total / mix.writes,
        },
    )
    return RULE.undetermined(reason, mix.series.name)


def _finding(found: list[_Mix], limits: Limits) -> Finding:
    first = found[0]
    return RULE.finding(
        severity="info",
        confidence="high",
        **device_fields(first.series.loaded, *(mix.series.name for mix in found)),
        summary=say(_SUMMARY[first.apart >= limits.latency_apart], _values(first)),
        evidence=tuple(_evidence(mix, limits) for mix in found[:MOST_TOLD]),
        refutes=("reads and writes of equal latency at another time of day",),
    )


_SUMMARY = {
    True: "await of {device} ({mean} ms) is neither its reads' latency ({read} ms) nor its writes' "
    "({write} ms).",
    False: "The mean request of {device} ({mean_kb} kB) has neither its reads' size ({read_kb} kB) nor its "
    "writes' ({write_kb} kB).",
}
"""By whether latencies are apart, or sizes alone."""


def _values(mix: _Mix) -> Values:
    return {
        "device": mix.series.name,
        "mean": mix.await_ms,
        "read": mix.read_ms,
        "write": mix.write_ms,
        "reads": mix.reads,
        "writes": mix.writes,
        "apart": mix.apart,
        "read_kb": mix.read_kb,
        "write_kb": mix.write_kb,
        "mean_kb": (mix.reads * mix.read_kb + mix.writes * mix.write_kb) / (mix.reads + mix.writes),
        "sizes_apart": mix.sizes_apart,
    }


def _evidence(mix: _Mix, limits: Limits) -> Evidence:
    text = (
        "{device}: {reads} reads/s of {read_kb:.1f} kB at {read} ms, {writes} writes/s of {write_kb:.1f} kB "
        "at {write} ms "
    )
    if mix.apart >= limits.latency_apart:
        text += "({apart:.1f}x apart): their mean is {mean} ms"
    else:
        text += "(sizes {sizes_apart:.1f}x apart): their mean is {mean_kb:.1f} kB"
    return cite(mix.series.loaded, text, _values(mix))


RULE = Rule(
    id="mixed-await",
    role="reading",
    title="The mean over reads and writes describes neither",
    why="Alerts and comparisons on await mistake a change of mix for a change of speed.",
    remedy=(
        "Read r_await and w_await (sysstat 9.1.2 and later), or pt-diskstats; never alert on await.",
        "Read sizes by direction, too: rareq-sz and wareq-sz, not areq-sz.",
    ),
    needs=Needs(one_of=({"disk": ("await_ms", "reads_per_s", "writes_per_s")},)),
    thresholds={
        "minority": Threshold(10, "%", "share of requests from which a direction matters", "judgement"),
        "latency_apart": Threshold(
            3, "x", "latency of one direction over the other", "judgement: beyond noise and load"
        ),
        "size_apart": Threshold(4, "x", "size of one direction over the other", "judgement"),
    },
    confirm=("iostat -xyt 1 30 DEVICE",),
    references=("https://man7.org/linux/man-pages/man1/iostat.1.html",),
    to_clear=ToClear(samples=1, columns=("read_await_ms", "write_await_ms", "kb_per_s")),
    detect=detect,
)
