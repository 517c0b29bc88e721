"""The stack picture: volume, members and disks, the traffic on each edge, and what a layer adds to it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from iodiag.model.finding import Edge, Finding
from iodiag.model.report import Report
from iodiag.report import wording
from iodiag.report.charts.chart import LEAST, Link, Node, Stack, is_drawable, label_of

NODES_IN_LAYER = 16
LAYERS = 4
MATERIAL = 0.02

Means = Mapping[str, float]


def stack(report: Report, finding: Finding, when: str) -> Stack | None:
    """The layers that a finding is about, or None where it knows of no two.

    Of a layer with many devices the busiest are drawn, and the rest counted; sums are over all.
    """
    every = [replace(edge, means=_believed(edge.means)) for edge in finding.edges]
    between = [edge for edge in every if edge.upper is not None]
    if not between:
        return None
    layers = _layers(between)
    totals = _totals(every, layers)
    drawn = {name for layer in layers for name in _busiest(layer, totals)}
    shown = [[name for name in layer if name in drawn] for layer in layers]
    places = _places(shown, between)
    is_large = max((_kb(totals[name]) for name in drawn), default=0.0) >= 10 * 1024
    nodes = [
        Node(label_of(name), _kind(report, finding, name), at, places[name])
        for at, layer in enumerate(shown)
        for name in layer
    ]
    numbers = {name: at for at, name in enumerate(name for layer in shown for name in layer)}
    edges = [Edge(None, name, totals[name]) for name in shown[0]]
    edges += [edge for edge in between if {edge.upper, edge.lower} <= drawn]
    links = _links(edges, every, numbers, is_large)
    gaps = tuple(_gap(layers[at], layers[at + 1], totals, is_large) for at in range(len(layers) - 1))
    left_out = sum(map(len, layers)) - len(drawn)
    return Stack(
        caption=f"What each layer asks of the one below it, means over {when}: r read, w written."
        + (" Where arrows join, their sum." if any(not link.load for link in links) else "")
        + (f" {wording.plural(left_out, 'more device')} not drawn; the sums hold them." if left_out else ""),
        description=_told(edges, gaps, when, is_large),
        nodes=tuple(nodes),
        links=links,
        gaps=gaps,
    )


def _links(
    edges: Sequence[Edge], every: Iterable[Edge], numbers: Mapping[str, int], is_large: bool
) -> tuple[Link, ...]:
    """The edges with their numbers; of those that end in one device the first has their sum."""
    largest = max((_kb(edge.means) for edge in edges), default=0.0) or 1.0
    whole = {edge.lower: edge.means for edge in every if edge.upper is None}
    ends = [edge.lower for edge in edges]
    found = []
    for at, edge in enumerate(edges):
        joins = edge.upper is not None and ends.count(edge.lower) > 1
        means = whole.get(edge.lower, {}) if joins else edge.means
        is_told = joins and edge.lower in ends[:at]
        link = Link(
            upper=None if edge.upper is None else numbers[edge.upper],
            lower=numbers[edge.lower],
            load="" if is_told else _load(means, is_large),
            requests="" if is_told else _requests(means),
            share=min(1.0, _kb(edge.means) / largest),
        )
        found.append(link)
    return tuple(found)


def _believed(means: Means) -> Means:
    """The means without those of broken counters, and what is next to nothing as nothing."""
    known = {column: value for column, value in means.items() if is_drawable(value) and value >= 0}
    return {column: value if value > LEAST else 0.0 for column, value in known.items()}


def _layers(between: Iterable[Edge]) -> list[list[str]]:
    """The devices by their longest way from the top, in the order of the edges; at most LAYERS."""
    pairs = [(str(edge.upper), edge.lower) for edge in between]
    depth = dict.fromkeys((name for pair in pairs for name in pair), 0)
    for _ in range(LAYERS):
        for upper, lower in pairs:
            # a report may come from anywhere: a ring must not go on for ever
            depth[lower] = min(LAYERS - 1, max(depth[lower], depth[upper] + 1))
    found: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for name, at in depth.items():
        found[at].append(name)
    return [layer for layer in found if layer]


def _totals(edges: Sequence[Edge], layers: Sequence[Sequence[str]]) -> dict[str, Means]:
    """All that each device is asked for: what comes from above, else over its only edge."""
    totals: dict[str, Means] = {name: {} for layer in layers for name in layer}
    for edge in edges:
        if edge.lower in totals and (edge.upper is None or not totals[edge.lower]):
            totals[edge.lower] = edge.means
    return totals


def _busiest(layer: Sequence[str], totals: Mapping[str, Means]) -> list[str]:
    return sorted(layer, key=lambda name: -_kb(totals[name]))[:NODES_IN_LAYER]


def _places(layers: Sequence[Sequence[str]], between: Iterable[Edge]) -> dict[str, float]:
    """Where each device stands in its layer: those of the fullest evenly, the others by their neighbours."""
    near: dict[str, list[str]] = {}
    for edge in between:
        near.setdefault(str(edge.upper), []).append(edge.lower)
        near.setdefault(edge.lower, []).append(str(edge.upper))
    fullest = max(range(len(layers)), key=lambda at: len(layers[at]))
    most = len(layers[fullest])
    places = {name: float(at) for at, name in enumerate(layers[fullest])}
    for at in sorted(range(len(layers)), key=lambda at: abs(at - fullest))[1:]:
        wanted = {}
        for name in layers[at]:
            known = [places[other] for other in near.get(name, ()) if other in places]
            wanted[name] = sum(known) / len(known) if known else (most - 1) / 2
        last = -1.0
        ordered = sorted(layers[at], key=lambda name: wanted[name])
        for left, name in zip(range(len(ordered) - 1, -1, -1), ordered, strict=True):
            last = places[name] = min(max(wanted[name], last + 1), most - 1.0 - left)
    return places


def _kind(report: Report, finding: Finding, name: str) -> str:
    for device in report.devices:
        if device.name == name and device.host in (None, finding.host):
            word = device.level or device.kind or ""
            return label_of(word.upper() if word.startswith("raid") else word) if word else ""
    return ""


def _kb(means: Means) -> float:
    known = (means.get(column, 0.0) for column in ("read_kb_per_s", "write_kb_per_s"))
    return sum(value for value in known if is_drawable(value))


def _load(means: Means, is_large: bool) -> str:
    read, written = (_size(means, column, is_large) for column in ("read_kb_per_s", "write_kb_per_s"))
    if not read and not written:
        return "not told apart"
    told = [f"{letter} {text}" for letter, text in (("r", read), ("w", written)) if text]
    return f"{', '.join(told)} {'MB/s' if is_large else 'kB/s'}"


def _size(means: Means, column: str, is_large: bool) -> str:
    value = means.get(column, math.nan)
    return wording.number(value / 1024 if is_large else value) if is_drawable(value) else ""


def _requests(means: Means) -> str:
    value = _ios(means)
    return f"{wording.number(value)} requests/s" if is_drawable(value) else ""


def _ios(means: Means) -> float:
    if "ios_per_s" in means:
        return means["ios_per_s"]
    return means.get("reads_per_s", math.nan) + means.get("writes_per_s", math.nan)


def _gap(
    upper: Sequence[str], lower: Sequence[str], totals: Mapping[str, Means], is_large: bool
) -> tuple[str, ...]:
    """What a layer moves for the one above: the ratio of the sums, for reads, writes and requests."""
    lines = []
    for word, column in (("read", "read_kb_per_s"), ("written", "write_kb_per_s")):
        above, below = (sum(totals[name].get(column, math.nan) for name in layer) for layer in (upper, lower))
        if not is_drawable(above) or not is_drawable(below):
            continue
        if above > 0 and above >= MATERIAL * below:
            lines.append(f"{word} ×{wording.number(below / above)}")
        elif below > 0:
            unit = 1024 if is_large else 1
            name = "MB/s" if is_large else "kB/s"
            lines.append(f"{word} {wording.number(above / unit)} → {wording.number(below / unit)} {name}")
    above, below = (sum(_ios(totals[name]) for name in layer) for layer in (upper, lower))
    if is_drawable(above) and is_drawable(below) and above > 0:
        lines.append(f"requests ×{wording.number(below / above)}")
    return tuple(lines)


def _told(edges: Iterable[Edge], gaps: Iterable[tuple[str, ...]], when: str, is_large: bool) -> str:
    told = []
    for edge in edges:
        name = label_of(edge.lower)
        where = f"into {name}" if edge.upper is None else f"{label_of(edge.upper)} to {name}"
        told.append(f"{where} {_load(edge.means, is_large)} {_requests(edge.means)}".rstrip())
    layers = "; ".join(", ".join(lines) for lines in gaps if lines)
    added = f" From layer to layer: {layers}." if layers else ""
    return f"Means over {when}, r read and w written: {'; '.join(told)}.{added}"
