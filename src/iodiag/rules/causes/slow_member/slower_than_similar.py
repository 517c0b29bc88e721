"""Disks many times as slow as a sibling at a like rate, in sentences whose numbers can be checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from iodiag.analysis.array.slow_peers import SlowSibling, mean_ms
from iodiag.analysis.host.who_waits import NEVER_IDLE
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, duration, say
from iodiag.analysis.measure.time_per_kb import ways_of_both
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
    each = [mean_ms(rows) for rows in first.fast_rows]
    ends: Values = {"quickest": min(each), "next": max(each)}
    is_apart = float(ends["next"]) > PEERS_APART * float(ends["quickest"])
    of, shown = len(first.slow.samples), len(first.rows)
    return {
        "also": f" ({', '.join(f'{one.slow.name} {duration(one.latency_ms)}' for one in group[1:])})"
        if len(group) > 1
        else "",
        "device": first.slow.name,
        "fast": ", ".join(fast[:4]) + (f" and {len(fast) - 4} more" if len(fast) > 4 else ""),
        "latency": first.latency_ms,
        "latency_fast": first.fast_ms,
        "apart": say(" ({quickest:ms} to {next:ms})", ends) if is_apart else "",
        "took": duration(first.latency_ms),
        "took_fast": duration(first.fast_ms),
        "rate": weighted.mean(first.rows, "ios_per_s"),
        "rate_fast": weighted.mean(fast_rows, "ios_per_s"),
        "ratio": first.ratio,
        "least": first.least_ratio,
        "depth": weighted.mean(first.rows, "depth"),
        "counted": weighted.mean(first.rows, "queue_depth"),
        "size": weighted.ratio(first.rows, "kb_per_s", "ios_per_s"),
        "size_fast": weighted.ratio(fast_rows, "kb_per_s", "ios_per_s"),
        "seconds": first.latency_ms / 1000,
        "shown": float(shown),
        "of": float(of),
        "more": float(max(len(fast) - 4, 0)),
        "often": "the only sample" if of == 1 else f"{shown} of {of} samples",
    }


SUMMARY = (
    "{device} takes {took} per request{also} against {took_fast}{apart} on {fast} at a similar rate ({rate} "
    "and {rate_fast} requests/s): {ratio:.0f} times as long, in {often}"
)


def evidence(group: Sequence[SlowSibling], values: Values) -> Iterator[Evidence]:
    """What the slow disks and their siblings did in the same samples."""
    first = group[0]
    text = "{device}: {rate} requests/s of {size:.1f} kB took {latency} ms each, with {depth} in flight"
    text += BY_LITTLE * (float(values["counted"]) < float(values["depth"]))
    yield cite(first.rows, text, values, worst="latency_ms")
    text = "{fast}: {rate_fast} requests/s of {size_fast:.1f} kB took {latency_fast} ms{apart}, in the "
    text += "same samples"
    yield cite(stacked(first.fast_rows), text, values)
    apart, of_ways = ways_of_both(first.rows, stacked(first.fast_rows))
    if apart:
        yield cite(first.rows, "at {device} and the others" + apart[1:], values | of_ways, weighs="context")
    text = "by the requests counted the ratio is at least {least:.1f}, give or take two standard errors"
    yield cite(first.rows, text, values, weighs="context")
    for other in group[1:]:
        told: Values = {"device": other.slow.name, "latency": other.latency_ms}
        told["ratio"] = other.latency_ms / first.fast_ms
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
    """What to type, with the names of the slow disks; of one sample first whether it lasts."""
    names = [one.slow.name for one in group][:4]
    links = "" if all(name.startswith("nvme") for name in names) else "|ata[0-9]+"
    return (
        *(("iostat -xt 1 30",) if is_once else ()),
        *(f"smartctl -x /dev/{name}" for name in names),
        f"dmesg -T | grep -iE '{'|'.join(names)}{links}|reset|timeout|link'",
        "cat /proc/mdstat",
    )
