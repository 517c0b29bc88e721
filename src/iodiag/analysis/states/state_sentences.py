"""States as sentences and plain data, for the report."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.measure.time_per_kb import APART, DIRECTIONS
from iodiag.analysis.states.states import State, state_of, states
from iodiag.analysis.view.device_names import is_physical
from iodiag.analysis.view.view import View
from iodiag.model.finding import Evidence, Finding
from iodiag.model.report import StateSummary
from iodiag.table.table import Table


def state_summaries(view: View) -> list[StateSummary]:
    """What each device of a host was doing, its longest state first, without devices that were idle.

    Of active states that are about as long, the one in which requests kept it busy and waited most is first.
    """
    found = []
    for series in view.devices:
        active = [one for one in states(series) if one.kind != "idle"]
        if active:
            long = max(one.share for one in active) / 2
            worst = iter(sorted((one for one in active if one.share >= long), key=_quickness))
            shown = (
                next(worst) if one.kind != "idle" and one.share >= long else one for one in states(series)
            )
            found += [_summary(view.host, one, len(series.samples), _span(view)) for one in shown]
    return found


def cost_of(views: Iterable[View], lead: Finding | None) -> str:
    """What the first device of a finding did in the samples that it cites, as a state; else an empty text.

    Where the evidence counts fewer it is the state among these whose latency it tells. Where they are too
    many to be listed it is the state that holds most of those that are.
    """
    view = next((one for one in views if lead and one.host == lead.host), None)
    series = view.series(lead.devices[0]) if view and lead and lead.devices else None
    first = next((item for item in lead.evidence if item.weighs == "for"), None) if lead else None
    if view is None or lead is None or series is None or first is None:
        return ""
    begin, end = lead.samples or (0, len(series.samples))
    rows = series.samples[begin : end + 1]
    rows = rows[np.isin(rows["line"], first.lines) & np.asarray(rows["source"] == first.source)]
    if not len(rows):
        return ""
    state = state_of(series, rows)
    if first.values.get("count", len(rows)) != len(rows):
        parts = (rows[np.isin(rows["sample"], one.rows["sample"])] for one in states(series))
        told = (part for some in parts if len(some) and _is_told((part := state_of(series, some)), first))
        state = next(told, state)
    if len(first.lines) < first.rows:
        state = max(states(series), key=lambda one: np.isin(one.rows["sample"], rows["sample"]).sum())
    span = _span(view)
    return text_of(state, len(series.samples), f"averages {span}" if span else "samples")


def _is_told(state: State, evidence: Evidence) -> bool:
    """Whether the latency of a state is among the numbers of a piece of evidence."""
    numbers = (value for value in evidence.values.values() if isinstance(value, (int, float)))
    return any(abs(number - state.latency_ms) <= 0.01 * state.latency_ms for number in numbers)


def _span(view: View) -> str:
    """Of what its rows are averages, if they are no samples."""
    if "disk" not in view.average_only:
        return ""
    return "since boot" if len(view.since_boot.get("disk", ())) else "over a run"


def _quickness(state: State) -> float:
    """The less busy and the quicker, the more."""
    return -weighted.or_zero(min(state.util, 1.0) * state.latency_ms)


def _summary(host: str | None, state: State, samples: int, span: str) -> StateSummary:
    what = text_of(state, samples, f"averages {span}" if span else "samples")
    is_stuck = state.kind == "stuck"
    is_idle = is_stuck or state.kind == "idle"
    picked = sorted({0, state.samples // 2, state.samples - 1})
    sources, lines = state.rows["source"], state.rows["line"]
    return StateSummary(
        device=state.device,
        host=host,
        samples=state.samples,
        seconds=_known(state.seconds),
        share_of_time=round(state.share, 4),
        requests=round(state.requests, 1),
        direction=state.kind,
        size_kb=None if is_idle else _known(state.size_kb),
        per_s=_known(state.rate),
        # where requests are counted as they complete, a queue of 0 says nothing of what is stuck
        in_flight=None
        if is_untimed(state) or (is_stuck and not state.at_once > 0)
        else _known(state.transfers_at_once),
        latency_ms=None if is_idle or not state.latency_ms > 0 else _known(state.latency_ms),
        busy_pct=None if is_untimed(state) else _known(100 * state.util),
        text=f"average {span}: {what}" if span and samples == 1 else what,
        source=str(sources[0]),
        lines=tuple(int(lines[at]) for at in picked if sources[at] == sources[0]),
    )


def text_of(state: State, samples: int, name: str = "samples") -> str:
    """A state as an expert says it: how often, what, how many in flight, how long each, how busy.

    `name` is what its rows are called: averages are no samples.
    """
    return say(*sentence_of(state, samples, name))


def sentence_of(state: State, samples: int, name: str = "samples") -> tuple[str, Values]:
    """The template of that sentence and its values."""
    text, values = _sentence(state, samples, name)
    rate, wait = state.mean("flushes_per_s"), state.mean("flush_await_ms")
    if rate * wait / 1000 >= FLUSHED:
        text += "; {flushes} flushes/s, {flush:ms} each"
        values |= {"flushes": rate, "flush": wait}
    return text, values


FLUSHED = 0.05
"""Share of the time with a flush under way, by rate times latency, from which flushes are told as well."""


def _in_flight(state: State) -> str:
    """How many requests are in flight at once, and by what that is known; empty where it is not."""
    if math.isnan(state.at_once):
        return ""
    text = ", {at_once} in flight" + (" while busy" if state.is_busy_known else "")
    if not is_little(state):
        # which has the flushes as well
        return text + " by its own counter" + " less its flushes" * (state.transfers_at_once < state.at_once)
    return text + BY_LITTLE if state.counted_at_once >= 0 else text


HOLDS_ONE_MORE = ", and one more by its counters that never completes: stuck, or a counter that leaked"


def _sentence(state: State, samples: int, name: str) -> tuple[str, Values]:
    values: Values = {
        "count": state.samples,
        "all": samples,
        "rate": state.rate,
        "size": state.size_kb,
        "at_once": state.transfers_at_once,
        "counted": state.counted_at_once,
        "latency": state.latency_ms,
        "busy": 100 * state.util,
    }
    often = f"{{count}} of {{all}} {name}: " if samples > 1 else ""
    if state.kind == "idle":
        return often + "no I/O", values
    busy, of_busy = _busy(state)
    values |= of_busy
    if state.kind == "stuck":
        return often + "nothing completed" + (
            ", {at_once} in flight" if state.at_once > 0 else ""
        ) + busy, values
    in_flight, busy = (", times not measured", "") if is_untimed(state) else (_in_flight(state), busy)
    if state.kind == "reads and writes" and (ways := _ways(state)):
        values |= ways[0][1] | ways[1][1]
        text = often + "; ".join(text for text, _ in ways) + in_flight.replace(", ", "; in all ")
        if all(math.isnan(float(values[f"{way}_latency"])) for way in DIRECTIONS) and state.latency_ms > 0:
            text += ", {latency:ms} each on average"
        return text + busy, values
    if math.isnan(state.rate) and (way := _one_shown(state)):
        return often + way[0] + busy, values | way[1]
    what = "requests" if state.kind == "reads and writes" or _counts_both(state) else state.kind
    if what == "requests" and state.rate > (discards := state.mean("discards_per_s")) > 0:
        values |= {"rate": state.rate - discards, "discards": discards}  # which move nothing
    text = often + ("{rate} " + what + "/s" if not math.isnan(state.rate) else what)
    if not math.isnan(state.size_kb):
        text += " of {size:.1f} kB"
    elif "is_wrapped" in state.rows and np.equal(state.rows["is_wrapped"], True).any():
        text += ", size unknown as the counter of bytes ran backwards"
    text += " and {discards} discards/s" * ("discards" in values)
    text += f", {state.kind} by bytes" * _counts_both(state) + PAIRED * _are_paired(state) + in_flight
    if state.latency_ms > 0:
        text += ", {latency:ms} each"
        if (await_ms := replaced_ms(state.rows)) >= 0:
            text, values["printed"] = text + " (await is printed as {printed:ms})", await_ms
    elif _is_printed_as_0(state) and not is_untimed(state):
        text += ", 0.00 ms each as printed"
    return text + busy, values


def _busy(state: State) -> tuple[str, Values]:
    """How busy it was, and what was printed where that cannot be."""
    busy, values = ", {busy:.0f} % busy" if not math.isnan(state.util) else "", Values()
    if _is_util_beyond_depth(state):
        busy, values["held"] = busy + BY_UTIL, 100 * state.depth
    busy = HOLDS_ONE_MORE if state.mean("held_besides") > 0 else busy
    if (printed := state.mean("doubtful_util_pct")) >= 0:
        bound = AT_LEAST if printed <= 100 * state.util else AT_MOST
        return busy + bound, values | {"printed_util": printed}
    if (printed := state.mean("util_pct")) > _MOST_PRINTED:
        return busy + AS_PRINTED, values | {"printed_util": printed}
    return busy, values


def _counts_both(state: State) -> bool:
    """Whether the rate is of both directions, as tps is, and either moved something."""
    is_sum = state.kind in ("reads", "writes") and math.isnan(state.mean(f"{state.kind}_per_s"))
    return is_sum and all(state.mean(f"{way}_kb_per_s") > 0 for way in DIRECTIONS)


PAIRED = ", as many reads as writes and as large, as where each block is read before it is written again"
"""What writes within larger blocks look like (a page, a sector, a stripe): read, changed, written."""

_MOST_APART, _LEAST_PAIRS = 0.1, 1000
"""Standard deviations of a random mix by which their numbers may differ, and requests that such a mix would
rarely part so evenly (one time in twelve)."""


def _are_paired(state: State) -> bool:
    """Whether there are as many reads as writes, and of one size: chance would part so many otherwise."""
    reads, writes = (state.mean(f"{way}_per_s") for way in ("reads", "writes"))
    sizes = [weighted.size_kb(state.rows, way) for way in DIRECTIONS]
    if not (state.requests >= _LEAST_PAIRS and reads > 0 and writes > 0 and min(sizes) > 0):
        return False
    apart = abs(reads - writes) / (reads + writes) * math.sqrt(state.requests)
    return apart <= _MOST_APART and max(sizes) <= 1.01 * min(sizes)


AT_LEAST = " at the least by how long they wait (%util is printed as {printed_util:.0f} %)"
"""How busy a device was whose %util its latency refutes."""

AT_MOST = " at the most by rate times latency (%util is printed as {printed_util:.0f} %)"
"""How busy a device was whose %util, and queue as well, count requests that are not there."""

AS_PRINTED, _MOST_PRINTED = " (%util is printed as {printed_util:.0f} %)", 102
"""How busy a device was whose %util is more than all the time, by more than the skew of its clock."""

BY_UTIL = " by %util, {held:.0f} % by what is in flight"
"""How busy a device was whose %util is beyond what it may be with so few requests in flight."""

BEYOND = 1.1
"""Times the requests in flight that %util may be by the skew of its clock, as the rule on it has it; in one
sample alone it has to be far from them."""


def _is_util_beyond_depth(state: State) -> bool:
    """Whether %util is more than the mean in flight in each sample, which no exact counter of it is."""
    is_each = not np.asarray(state.rows["is_util_trusted"]).any()
    most = (BEYOND if state.samples > 1 else FAR) * state.depth
    return is_each and state.ios > 0 and bool(state.util > most)


BY_LITTLE = " by rate times latency ({counted} by its counter)"
"""Whose number of requests in flight is told where the counter lacks some."""


def is_little(state: State) -> bool:
    """Whether rate times latency is about what is in flight: else its counter holds others as well."""
    return not abs(state.held - state.depth) > LITTLE * max(state.held, state.depth) + 0.01


LITTLE = 1 / 3
"""Share of the requests in flight that flushes, rounding and the edges of samples explain."""


def _ways(state: State) -> list[tuple[str, Values]]:
    """Reads and writes apart, where their mean describes neither; the direction that waits most first."""
    found = []
    for way in DIRECTIONS:
        rate, latency = state.mean(f"{way}s_per_s"), state.mean(f"{way}_await_ms")
        size = weighted.size_kb(state.rows, way)
        if not (rate > 0 and size > 0):
            return []
        is_timed = latency > 0 and weighted.is_timed(state.rows, way)
        found.append(
            (rate * latency if is_timed else rate, way, latency if is_timed else math.nan, size, rate)
        )
    (_, _, *one), (_, _, *other) = found
    # where only the mean of both is printed, their sizes alone tell
    pairs = [*zip(one[:2], other[:2], strict=True)][any(math.isnan(each[2]) for each in found) :]
    if max(max(pair) / min(pair) for pair in pairs) < APART:
        return []
    return [
        (
            f"{{{way}_rate}} {way}s/s of {{{way}_size:.1f}} kB, {{{way}_latency:ms}} each",
            {f"{way}_rate": rate, f"{way}_size": size, f"{way}_latency": latency},
        )
        for _, way, latency, size, rate in sorted(found, reverse=True)
    ]


def _one_shown(state: State) -> tuple[str, Values] | None:
    """What is known of the one direction whose columns a layout has."""
    for way, other in DIRECTIONS.items():
        rate, latency = state.mean(f"{way}s_per_s"), state.mean(f"{way}_await_ms")
        if rate >= 0 and math.isnan(state.mean(f"{other}s_per_s")):
            each = ", {latency:ms} each" if latency > 0 else ""
            return f"{{rate}} {way}s/s{each}, {other}s not shown", {"rate": rate, "latency": latency}
    return None


def is_untimed(state: State) -> bool:
    """Whether its times are printed as 0 though it did requests, and it is of those that may measure none."""
    return _is_printed_as_0(state) and not is_physical(state.device)


def _is_printed_as_0(state: State) -> bool:
    """Whether the times of its requests are printed as 0: those of a disk may be less than the last digit."""
    is_nothing = state.latency_ms == 0 and not state.depth > 0 and not state.util > 0
    return bool(is_nothing and state.rate > 0)


def replaced_ms(rows: Table) -> float:
    """The latency of all requests as it is printed, in ms, where those of reads and writes make it far from
    true in most samples; else NaN."""
    printed, latency = rows.floats("doubtful_await_ms"), rows.floats("latency_ms")
    is_far = np.fmax(printed, latency) >= FAR * np.fmin(printed, latency)
    is_far &= np.isfinite(printed)
    return float(printed[is_far].mean()) if 2 * is_far.sum() > len(rows) else math.nan


FAR = 2.0
"""Times that a printed latency is from the true one where a reader would be misled."""


def _known(number: float) -> float | None:
    return None if math.isnan(number) else float(f"{number:.6g}")
