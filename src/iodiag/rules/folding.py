"""Equal findings of devices that suffer alike are one: five full disks are told once, by their names.

Devices are alike where their requests come at like rates, take a like time, and none stands on another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from iodiag.analysis.measure import weighted
from iodiag.analysis.view.view import View
from iodiag.model.finding import Finding

_LIKE_LATENCY, _LIKE_RATE = 1.5, 2.0
_MOST_TOLD = 6


def folded(findings: Iterable[Finding], view: View, relatives: Mapping[str, frozenset[str]]) -> list[Finding]:
    """Findings of single devices, of one rule, harm and cause, taken together where the devices are alike."""
    groups: list[list[Finding]] = []
    for finding in findings:
        group = next((g for g in groups if _belongs(finding, g[0], view, relatives)), None)
        if group is None:
            groups.append([finding])
        else:
            group.append(finding)
    return [_one(group) for group in groups]


def _belongs(finding: Finding, first: Finding, view: View, relatives: Mapping[str, frozenset[str]]) -> bool:
    same = (finding.rule, finding.severity, finding.confidence, finding.explained_by, finding.samples) == (
        *(first.rule, first.severity, first.confidence, first.explained_by, first.samples),
    )
    if not same or len(finding.devices) != 1 or len(first.devices) != 1:
        return False
    one, other = finding.devices[0], first.devices[0]
    return one != other and one not in relatives.get(other, ()) and _are_alike(one, other, view)


def _are_alike(one: str, other: str, view: View) -> bool:
    """Whether both serve requests at like rates and take a like time for them."""
    rows = [series.loaded for name in (one, other) if (series := view.series(name)) is not None]
    if len(rows) < 2 or not all(map(len, rows)):
        return False
    for column, most in (("latency_ms", _LIKE_LATENCY), ("ios_per_s", _LIKE_RATE)):
        some, others = (weighted.mean(part, column) for part in rows)
        if not (some > 0 and others > 0 and max(some, others) <= most * min(some, others)):
            return False
    return True


def _one(group: Sequence[Finding]) -> Finding:
    first, *others = group
    if not others:
        return first
    names = [finding.devices[0] for finding in others]
    more = f" and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else ""
    alike = f" Alike: {', '.join(names[:_MOST_TOLD])}{more}."
    evidence = [*first.evidence]
    for finding in others[:_MOST_TOLD]:
        evidence += [item for item in finding.evidence if item.weighs == "for"][:1]
    return replace(
        first,
        devices=(*first.devices, *names),
        summary=first.summary + alike,
        evidence=tuple(evidence),
    )
