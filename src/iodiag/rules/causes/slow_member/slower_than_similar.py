"""Disks many times as slow as a sibling at a like rate, in sentences whose numbers can be checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from iodiag.analysis.array.slow_peers import SlowSibling, mean_ms
from iodiag.analysis.host.who_waits import NEVER_IDLE
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, duration, say
from iodiag.analysis.measure.time_per_kb import DIRECTIONS, ways_of_both
from iodiag.analysis.states.service_times import events_per_sample, relative_error, sane_limit_ms
from iodiag.analysis.states.state_sentences import BY_LITTLE
from iodiag.analysis.view.view import View
from iodiag.model.finding import Evidence
from iodiag.rules.causes.slow_member.evidence import PEERS_APART
from iodiag.table.table import stacked


def by_common_sibling(found: Sequence[SlowSibling]) -> Iterator[list[SlowSibling]]:
    """Slow disks that have a fast sibling in common, the slowest first, against those that are not slow."""
    rest = sorted(found, key=lambda one: -one.latency_ms)
    while rest:
        first = rest.pop(0)
        names = {series.name for series in first.fast}
        with_it = [one for one in rest if names & {series.name for series in one.fast}]
        rest = [one for one in rest if one not in with_it]
        yield [first.beside_others({one.slow.name for one in with_it}), *with_it]


def template_values(group: Sequence[SlowSibling]) -> Values:
    """The numbers of slow disks that stall beside the same siblings; latencies are the worst disk's."""
    first = group[0]
    fast, fast_rows = [series.name for series in first.fast], stacked(first.fast_rows)
    way, rate = first.way, f"{first.way or 'io'}s_per_s"
    kb = f"{way}_kb_per_s" if way else "kb_per_s"
    each = [mean_ms(rows, way) for rows in first.fast_rows]
    ends: Values = {"quickest": float(np.nanmin(each)), "next": float(np.nanmax(each))}
    is_apart = float(ends["next"]) > PEERS_APART * float(ends["quickest"])
    of, shown = len(first.slow.samples), len(first.rows)
    return {
        "also": f" ({', '.join(_beside(one, way) for one in group[1:])})" if len(group) > 1 else "",
        "one": way or "request",
        "device": first.slow.name,
        "fast": ", ".join(fast[:4]) + (f" and {len(fast) - 4} more" if len(fast) > 4 else ""),
        "latency": first.latency_ms,
        "latency_fast": first.fast_ms,
        "apart": say(" ({quickest:ms} to {next:ms})", ends) if is_apart else "",
        "took": duration(first.latency_ms),
        "took_fast": duration(first.fast_ms),
        "rate": weighted.mean(first.rows, rate),
        "rate_fast": weighted.mean(fast_rows, rate),
        "ratio": first.ratio,
        "least": first.least_ratio,
        "depth": weighted.mean(first.rows, "depth"),
        "counted": weighted.mean(first.rows, "queue_depth"),
        "size": weighted.ratio(first.rows, kb, rate),
        "size_fast": weighted.ratio(fast_rows, kb, rate),
        "seconds": first.latency_ms / 1000,
        "shown": float(shown),
        "of": float(of),
        "as_well": _slow_as_well(first),
        "more": float(max(len(fast) - 4, 0)),
        "often": "the only sample" if of == 1 else f"{shown} of {of} samples",
    }


def _beside(one: SlowSibling, way: str) -> str:
    """Another slow one and what its requests take in this direction, if it has any."""
    latency = mean_ms(one.rows, way)
    return f"{one.slow.name} {duration(latency)}" if latency > 0 else one.slow.name


SUMMARY = (
    "{device} takes {took} per {one}{also} against {took_fast}{apart} on {fast} at a similar rate ({rate} "
    "and {rate_fast} {one}s/s): {ratio:.0f} times as long, in {often}{as_well}"
)


def _slow_as_well(found: SlowSibling) -> str:
    """That the yardstick itself takes longer than a healthy device does, with as many in line.

    By direction, beyond the error of a mean of so few; as the end of a sentence, empty where none does.
    """
    said = []
    for series, rows in zip(found.fast, found.fast_rows, strict=True):
        in_line = max(1.0, weighted.mean(rows, "busy_depth"), weighted.mean(rows, "depth"))
        for way in DIRECTIONS:
            own, size = (weighted.mean(rows, f"{way}_{of}") for of in ("await_ms", "size_kb"))
            sane = in_line * float(sane_limit_ms(series, size))
            requests = float(np.nansum(events_per_sample(rows, f"{way}s_per_s")))
            if own > sane * (1 + relative_error(requests)):
                values: Values = {"name": series.name, "own": own, "sane": sane}
                text = f"; {{name}} is slow as well: its {way}s take {{own:ms}}, no healthy device more than "
                said.append(say(text + "{sane:ms} with its queue", values))
    return "".join(said)


def evidence(group: Sequence[SlowSibling], values: Values) -> Iterator[Evidence]:
    """What the slow disks and their siblings did in the same samples."""
    first = group[0]
    text = "{device}: {rate} {one}s/s of {size:.1f} kB took {latency} ms each, with {depth} in flight"
    text += " in all" * bool(first.way)
    text += BY_LITTLE * (float(values["counted"]) < float(values["depth"]))
    yield cite(first.rows, text, values, worst="latency_ms")
    text = "{fast}: {rate_fast} {one}s/s of {size_fast:.1f} kB took {latency_fast} ms{apart}, in the "
    text += "same samples"
    yield cite(stacked(first.fast_rows), text, values)
    apart, of_ways = ways_of_both(first.rows, stacked(first.fast_rows))
    if apart:
        yield cite(first.rows, "at {device} and the others" + apart[1:], values | of_ways, weighs="context")
    text = "by the requests counted the ratio is at least {least:.1f}, give or take two standard errors"
    yield cite(first.rows, text, values, weighs="context")
    for other in group[1:]:
        told: Values = {"device": other.slow.name, "latency": mean_ms(other.rows, first.way)}
        told["ratio"] = float(told["latency"]) / first.fast_ms
        yield cite(other.rows, "{device} as well: {latency} ms, {ratio:.0f} times", told, worst="latency_ms")
    text = "nothing states that they belong together; only their rates are alike"
    if is_of_set(first):
        text = "nothing states that they belong together; each moves as many bytes, as members of an array do"
    yield cite(first.rows, text, weighs="against")


def is_of_set(one: SlowSibling) -> bool:
    """Whether it moves as many bytes as each of several quick ones, as members of one set do."""
    moved = [weighted.mean(rows, "kb_per_s") for rows in (one.rows, *one.fast_rows)]
    return len(one.fast) >= SEVERAL and 0 < max(moved) <= SAME_BYTES * min(moved)


SEVERAL, SAME_BYTES = 3, 1.05
"""Quick ones as many as no two sets of two; and how far apart the bytes are that members of a set move."""


def since_boot(view: View, one: SlowSibling) -> Iterator[Evidence]:
    """That it was never idle since boot either, and twice as busy as the quick ones: no passing stall."""
    old = view.since_boot.get("disk")
    if old is None:
        return
    own, *others = (old[np.asarray(old["device"] == series.name)] for series in (one.slow, *one.fast))
    values: Values = {"device": one.slow.name, "busy": weighted.mean(own, "util_pct")}
    values["next"] = max(weighted.mean(rows, "util_pct") for rows in others)
    if float(values["busy"]) >= max(100 * NEVER_IDLE, 2 * float(values["next"])):
        text = "since boot {device} was {busy:.0f} % busy as well, the others at most {next:.0f} %"
        yield cite(own, text, values)


def commands(group: Sequence[SlowSibling], *, is_once: bool) -> tuple[str, ...]:
    """What to type about the slow disks; of one sample first whether it lasts."""
    links = "" if all(one.slow.name.startswith("nvme") for one in group) else "|ata[0-9]+"
    return (
        *(("iostat -xt 1 30",) if is_once else ()),
        "smartctl -x /dev/DEVICE",
        f"dmesg -T | grep -iE 'LOGGED{links}|reset|timeout|link'",
        "cat /proc/mdstat",
    )
