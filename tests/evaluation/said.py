"""What the rules and the usual alerts say of each route of each case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import iodiag
from evaluation.alerts import alarms
from evaluation.corpus import TROUBLE, Case
from iodiag.analysis.view.make_views import Selection, views
from iodiag.analysis.view.view import View
from iodiag.api import join
from iodiag.errors import IodiagError
from iodiag.model.capture import Capture
from iodiag.model.finding import CONFIDENCES, SEVERITIES, Finding, Severity
from iodiag.model.rule import Rule
from iodiag.rules import all_rules
from iodiag.rules.engine import run


@dataclass(frozen=True)
class Said:
    """The findings on one route of a case, the rules that abstained on it, and the alerts that fired.

    `views` and `capture` are what the rules saw, for running them again with other thresholds.
    """

    case: Case
    route: str
    findings: tuple[Finding, ...]
    undetermined: frozenset[str]
    lacking: frozenset[str]
    alarms: Mapping[str, bool]
    capture: Capture = field(repr=False)
    views: tuple[View, ...] = field(repr=False)

    @property
    def is_warned(self) -> bool:
        """Whether anything is found that is worth a warning."""
        return any(is_at_least(finding, "warning") for finding in self.findings)

    @property
    def names_trouble(self) -> bool:
        """Whether a trouble is named, be it too unsure or too harmless for a warning."""
        return any(f.rule in TROUBLE and is_at_least(f, "notice") for f in self.findings)

    def fired(self, least: str = "low") -> frozenset[str]:
        """Rules with a finding, of at least a confidence."""
        return fired_rules(self.findings, least)

    def fired_here(self, least: str = "low") -> frozenset[str]:
        """The same, of findings on the device that the label is about, or one above or below it."""
        return fired_rules([f for f in self.findings if concerns(f, self.case, self.views)], least)

    def warned(self) -> frozenset[str]:
        return frozenset(finding.rule for finding in self.findings if is_at_least(finding, "warning"))


def is_at_least(finding: Finding, severity: Severity) -> bool:
    return SEVERITIES.index(finding.severity) >= SEVERITIES.index(severity)


def fired_rules(findings: Iterable[Finding], least: str = "low") -> frozenset[str]:
    sure = CONFIDENCES.index(least)
    return frozenset(f.rule for f in findings if CONFIDENCES.index(f.confidence) >= sure)


def concerns(finding: Finding, case: Case, seen: Iterable[View]) -> bool:
    """Whether a finding is about the label's device, one below or above it, or about the host."""
    if case.device is None or not finding.devices:
        return True
    near = {case.device}
    for view in seen:
        name = view.topology.canonical(case.device)
        near |= {name, *(leaf.name for leaf in view.topology.leaves(name))}
        near |= {member.name for member in view.topology.members(name)}
        near |= {d.name for d in view.topology if name in {x.name for x in view.topology.leaves(d.name)}}
    return bool(near & set(finding.devices))


def listen(cases: Iterable[Case]) -> Iterator[Said]:
    """Analyse every route of every case. A file that holds nothing known is left out of its route."""
    rules = all_rules()
    for case in cases:
        for route, files in case.routes.items():
            read = []
            for path in files:
                try:
                    read.append(iodiag.read(path))
                except IodiagError:
                    continue
            yield _said(case, route, join(read), rules)


def _said(case: Case, route: str, capture: Capture, rules: Mapping[str, Rule]) -> Said:
    seen = tuple(views(capture, Selection()))
    findings: list[Finding] = []
    outcomes = []
    for view in seen:
        found, others = run(rules.values(), view, {}, capture.sources)
        findings += found
        outcomes += others
    status = {name: {o.rule for o in outcomes if o.status == name} for name in ("undetermined", "clear")}
    fired = {finding.rule for finding in findings}
    return Said(
        case=case,
        route=route,
        findings=tuple(findings),
        undetermined=frozenset(status["undetermined"] - fired),
        lacking=frozenset(set(rules) - status["undetermined"] - status["clear"] - fired),
        alarms=alarms(seen),
        capture=capture,
        views=seen,
    )
