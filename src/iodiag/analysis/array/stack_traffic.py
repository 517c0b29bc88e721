"""The traffic through the stack that a finding is about: what each layer asks of the one below.

Means are over the reports of the finding's samples, the same ones for all devices, so that the layers
can be held against each other. A device without samples of its own (a partition, an LVM leg) is
looked through.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from iodiag.analysis.array.side_by_side import report_keys
from iodiag.analysis.measure import weighted
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.columns import KB_BY_WAY, LATENCIES, RATES
from iodiag.model.finding import Edge, Finding

MOST_EDGES = 64
_DEEPEST = 8
_PICTURES = {"stack", "peers"}
_COLUMNS = (*RATES, *KB_BY_WAY, *LATENCIES)

Means = dict[str, float]


def with_traffic(view: View, findings: Iterable[Finding]) -> list[Finding]:
    """The findings with the edges of their devices' stacks and peers, where they have any."""
    return [
        replace(finding, edges=tuple(_edges(view, finding))) if _PICTURES & set(finding.pictures) else finding
        for finding in findings
    ]


def _edges(view: View, finding: Finding) -> list[Edge]:
    reports = _reports(view, finding)
    if reports is None:
        return []
    named = [series.name for name in finding.devices if (series := view.series(name)) is not None]
    links = _links(view, _topmost(view, named))
    below = Counter(upper for upper, _ in links)
    found: list[Edge] = []
    is_shared = {}
    for name in dict.fromkeys(name for link in links for name in link):
        users = len({series.name for series in _above(view, name)})
        is_shared[name] = users > 1
        if users != 1:
            found.append(Edge(None, name, _means(view, name, reports)))
    for upper, lower in links:
        if not is_shared[lower]:
            means = _means(view, lower, reports)
        else:
            means = _means(view, upper, reports) if below[upper] == 1 else {}
        found.append(Edge(upper, lower, means))
    shown = {edge.lower for edge in found}
    found += [Edge(None, name, _means(view, name, reports)) for name in finding.peers if name not in shown]
    return found


def _reports(view: View, finding: Finding) -> npt.NDArray[np.int64] | None:
    """The reports that a finding's samples are of; None where its first device has no samples."""
    series = view.series(finding.devices[0]) if finding.devices else None
    if series is None:
        return None
    rows = series.samples
    if finding.samples:
        first, last = finding.samples
        rows = rows[(rows["sample"] >= first) & (rows["sample"] <= last)]
    return report_keys(rows)


def _means(view: View, name: str, reports: npt.NDArray[np.int64]) -> Means:
    series = view.series(name)
    if series is None:
        return {}
    rows = series.samples[np.isin(report_keys(series.samples), reports)]
    means = {column: weighted.mean(rows, column) for column in _COLUMNS if column in rows}
    return {column: value for column, value in means.items() if value == value}


def _links(view: View, tops: Iterable[str]) -> list[tuple[str, str]]:
    """Each device of the stacks below `tops` with each that it stands on, layer by layer."""
    links: dict[tuple[str, str], None] = {}
    todo = list(tops)
    done: set[str] = set()
    while todo and len(links) < MOST_EDGES:
        upper = todo.pop(0)
        if upper in done:
            continue
        done.add(upper)
        for lower in _beneath(view, upper):
            if lower.name != upper and len(links) < MOST_EDGES:
                links[upper, lower.name] = None
                todo.append(lower.name)
    return list(links)


def _beneath(view: View, name: str, depth: int = 0) -> Iterator[DeviceSeries]:
    """The devices with samples that one stands on, through those that have none."""
    for member in view.topology.members(name):
        series = view.series(member.name)
        if series is not None:
            yield series
        elif depth < _DEEPEST:
            yield from _beneath(view, member.name, depth + 1)


def _topmost(view: View, names: Iterable[str]) -> list[str]:
    """The devices with samples that stand on those of `names`, or are they, and have none above them."""
    tops: dict[str, None] = {}
    todo = list(names)
    done: set[str] = set()
    while todo:
        name = todo.pop(0)
        if name in done:
            continue
        done.add(name)
        upper = [series.name for series in _above(view, name)]
        todo += upper
        if not upper:
            tops[name] = None
    return list(tops)


def _above(view: View, name: str, depth: int = 0) -> Iterator[DeviceSeries]:
    for parent in view.topology.parents(name):
        series = view.series(parent.name)
        if series is not None and series.name != name:
            yield series
        elif depth < _DEEPEST:
            yield from _above(view, parent.name, depth + 1)
