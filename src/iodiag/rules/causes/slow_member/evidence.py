"""What speaks for and against one slow member, in sentences whose numbers can be checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from iodiag.analysis.array.member_comparison import Comparison
from iodiag.analysis.array.side_by_side import report_keys
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_origin, say
from iodiag.analysis.view.device_traits import is_spinning
from iodiag.model.finding import Confidence, Evidence
from iodiag.table.table import Table, stacked

GATE_WITHIN, GATE_AHEAD = 0.1, 1.3
"""The array's latency is within a tenth of its slowest leg's, which is 1.3 times the next one's."""

PEERS_APART = 1.3
"""Times that the latencies of peers differ from which their median alone would mislead."""

BUSY_AHEAD = 1.5
"""On spinning disks, time busy per request of the slow one over its peers'."""


@dataclass(frozen=True)
class Case:
    """A comparison that shows a slow peer, with what it earns; `gate` are the array's samples if it waits."""

    found: Comparison
    points: float
    at_most: Confidence
    gate: Table | None = field(repr=False)
    is_busier: bool
    in_resync: float

    @property
    def slow(self) -> str:
        """The name of the slow one."""
        return self.found.slow_series.name


def gate(found: Comparison) -> Table | None:
    """The array's samples of the window, where its latency is that of its slowest leg; else None."""
    array = found.peers.array
    if array is None or not found.peers.are_legs or not array.is_seen:
        return None
    rows = array.rows
    rows = rows[np.isin(report_keys(rows), report_keys(found.window))]
    own, legs = weighted.mean(rows, found.latency), sorted(found.latencies)
    is_slowest = abs(own - legs[-1]) <= GATE_WITHIN * legs[-1]
    return rows if is_slowest and legs[-1] >= GATE_AHEAD * legs[-2] else None


def is_busier(found: Comparison) -> bool:
    """Whether, on spinning disks, the slow one is busy longer per request as well."""
    if not all(is_spinning(device) for device in found.peers.devices):
        return False
    busy = busy_ms(found)
    others = float(np.median(np.delete(busy, found.slow)))
    return bool(busy[found.slow] >= BUSY_AHEAD * others)


def busy_ms(found: Comparison) -> list[float]:
    """How long each peer is busy with a request, ms."""
    return [1000 * weighted.ratio(rows, "util", "ios_per_s") for rows in found.rows]


def template_values(found: Comparison) -> Values:
    """The numbers of a comparison under plain names."""
    latencies, depths = found.latencies, [weighted.mean(rows, "depth") for rows in found.rows]
    loads = [weighted.mean(rows, "kb_per_s") for rows in found.rows]
    others = [device.name for n, device in enumerate(found.peers.devices) if n != found.slow]
    of_others = np.delete(latencies, found.slow)
    busy, usual = busy_ms(found), float(np.median(of_others))
    # one of them that a reader looks up is not to seem another number
    ends = {"quickest": of_others.min(), "next": of_others.max()}
    is_apart = ends["next"] > PEERS_APART * ends["quickest"]
    apart = say(" in the median ({quickest} to {next})", ends) if is_apart else ""
    return {
        "slow": found.slow_series.name,
        "peers": ", ".join(others[:4]) + (f" and {len(others) - 4} more" if len(others) > 4 else ""),
        "more": max(len(others) - 4, 0),
        "latency": latencies[found.slow],
        "others": usual,
        "of_peers": say("{others:ms}", {"others": usual}) + apart,
        "apart": apart,
        "times": latencies[found.slow] / usual,
        **ends,
        "ratio": float(np.median(found.ratios)),
        "least": float(found.ratios.min()),
        "most": float(found.ratios.max()),
        "samples": float(len(found.window)),
        "slowest": float(round(found.slowest_share * len(found.window))),
        "captures": float(found.captures),
        "least_load": min(loads),
        "most_load": max(loads),
        "spread": 100 * found.load_spread,
        "depth": depths[found.slow],
        "util": weighted.mean(found.rows[found.slow], "util_pct"),
        "depths": float(np.nansum(depths)),
        "busy": busy[found.slow],
        "busy_others": float(np.median(np.delete(busy, found.slow))),
    }


def evidence(case: Case, disk: str) -> Iterator[Evidence]:
    """All that a comparison shows; `disk` is the disk at the bottom of the slow one."""
    found, said = case.found, template_values(case.found)
    rows = stacked(found.rows)
    yield from slowness_evidence(case, disk)
    yield cite(
        rows,
        _EQUAL if found.is_equal_load else _UNEQUAL,
        said,
        weighs="for" if found.is_equal_load else "against",
    )
    if case.is_busier:
        yield cite(rows, _BUSY, said, worst="util_pct")
    if said["depths"]:
        yield cite(rows, _QUEUE, said, weighs="context")
    yield from _second(found)
    if case.in_resync:
        yield cite(found.window, _RESYNC, {"share": 100 * case.in_resync}, weighs="against")
    array = found.peers.array
    if array is None:
        yield cite(rows, _SUGGESTED, said, weighs="against")
        return
    told: Values = {"origin": array.device.provenance.get("members", "the topology"), "array": array.name}
    if found.peers.is_stated:
        yield cite_origin(rows, "{origin} states that they are members of {array}", told)
    else:
        yield cite(rows, "nothing states the members of {array}; {origin}", told, weighs="against")


def slowness_evidence(case: Case, disk: str) -> Iterator[Evidence]:
    """By how much it is slower, which array waits for it, and which disk it is."""
    found, said = case.found, template_values(case.found)
    rows = stacked(found.rows)
    yield cite(rows, _ONE if len(found.window) == 1 else _RATIO, said, worst=found.latency)
    array = found.peers.array
    if case.gate is not None and array is not None:
        gated: Values = {**said, "array": array.name, "own": weighted.mean(case.gate, found.latency)}
        yield cite(stacked([case.gate, rows]), _GATE, gated, worst=found.latency)
    if disk != case.slow:
        device = found.slow_series.topology.find(case.slow)
        origin = device.provenance.get("members", "the topology") if device else ""
        told: Values = {"slow": case.slow, "disk": disk, "origin": origin}
        yield cite_origin(rows, "{slow} stands on {disk}: {origin}", told, weighs="context")


def _second(found: Comparison) -> Iterator[Evidence]:
    """The second slowest, where it is apart from the rest as well: then it is two against two."""
    latencies = found.latencies
    order = np.argsort(latencies)[::-1]
    if len(order) < 4:
        return
    second, rest = int(order[1]), float(np.median([latencies[int(n)] for n in order[2:]]))
    if latencies[second] >= GATE_AHEAD * rest:
        named: Values = {
            "second": found.peers.devices[second].name,
            "latency": latencies[second],
            "rest": rest,
        }
        yield cite(found.rows[second], _SECOND, named, weighs="context")


_RATIO = (
    "{slow} takes {latency} ms against {others} ms{apart} on {peers}; sample by sample {ratio} times its "
    "peers' latency in the median of {samples} samples ({least} to {most}); it is the slowest in "
    "{slowest} of them"
)
_ONE = "{slow} takes {ratio} times its peers' latency: {latency} ms against {others} ms{apart} on {peers}"
_EQUAL = "all carry the same load, {least_load} to {most_load} kB/s, {spread:.1f} % apart"
_UNEQUAL = "loads differ by {spread:.1f} %, {least_load} to {most_load} kB/s: the slow one carries no more"
_GATE = (
    "{array} takes {own} ms, as its slowest leg {slow} does ({latency} ms); the next one takes {next} ms: "
    "with {slow} as fast as that one, {array} would take about {next} ms"
)
_BUSY = (
    "{slow} is busy {busy} ms per request where its peers are {busy_others} ms: the medium itself is slower"
)
_QUEUE = "{depth} of the {depths} requests in flight stand at {slow}"
_SECOND = (
    "{second} is second at {latency} ms where the rest take {rest} ms: compare models, ports, links and what "
    "else lies on these disks"
)
_RESYNC = "a resync ran in {share:.0f} % of the samples, which loads members unevenly"
_SUGGESTED = "nothing states that {slow} and {peers} are members of one set: equal rates suggest it"
