"""Runs the rules on a view: needs checked, faults fenced, findings capped and put in order."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from iodiag.analysis.array.topmost_devices import relatives
from iodiag.analysis.host.between_averages import over_hours
from iodiag.analysis.host.measured_latencies import evidence_of
from iodiag.analysis.host.who_waits import waiting_crowd
from iodiag.analysis.measure.evidence import best_matching_lines, of_averages
from iodiag.analysis.measure.quoting import places_told, quote
from iodiag.analysis.view.view import View
from iodiag.model.capture import Source
from iodiag.model.finding import (
    CONFIDENCES,
    SEVERITIES,
    Confidence,
    Evidence,
    Finding,
    Outcome,
    Quote,
    by_harm,
)
from iodiag.model.rule import Rule
from iodiag.rules import precedence
from iodiag.rules.clear_conditions import not_ruled_out, revoke_unproven_clear
from iodiag.rules.confirm_commands import adapt_commands
from iodiag.rules.merged_findings import merged
from iodiag.table.table import Table

log = logging.getLogger(__name__)

MOST_SEARCHED = 300
"""Lines of a cited block among which the telling ones are looked for."""


def run(
    rules: Iterable[Rule],
    view: View,
    limits: Mapping[str, Mapping[str, float]],
    sources: Mapping[str, Source],
) -> tuple[list[Finding], list[Outcome]]:
    """All findings of one host, worst first, and an outcome per rule and status."""
    findings: list[Finding] = []
    outcomes: list[Outcome] = []
    rules = list(rules)
    for rule in rules:
        found, others = _run_one(rule, view, limits.get(rule.id, {}))
        findings += [_limited_by_capture(finding, rule, view) for finding in found]
        outcomes += [one for outcome in others for one in revoke_unproven_clear(outcome, rule, view)]
    stacks = {device.name: relatives(view, device.name) for device in view.topology}
    kept = precedence.order(findings, stacks, rules)
    shown = {(k.rule, k.devices) for k in kept}
    for finding in findings:
        if (finding.rule, finding.devices) not in shown:
            near = (k for k in kept if not k.devices or set(k.devices) & set(finding.devices))
            winner = next((k.rule for k in near if finding.rule in k.supersedes), "another finding")
            reason = f"taken into {winner}, which explains the same samples"
            outcomes.append(Outcome(finding.rule, "finding", finding.devices, reason))
    kept = merged(kept, view, stacks)
    for finding in kept:
        outcomes.append(Outcome(finding.rule, "finding", finding.devices, finding.title))
    outcomes = list(not_ruled_out(outcomes, kept, {rule.id: rule for rule in rules}))
    kept = [replace(f, evidence=(*f.evidence, *evidence_of(view, f))) for f in sorted(kept, key=by_harm)]
    kept = [
        replace(adapt_commands(f, view), host=f.host or view.host, evidence=with_quotes(f.evidence, sources))
        for f in kept
    ]
    return kept, _merged(outcomes, view.host)


def _run_one(rule: Rule, view: View, changed: Mapping[str, float]) -> tuple[list[Finding], list[Outcome]]:
    # what the nearest of its alternatives lacks
    missing = min((_lacking(one, rule, view) for one in rule.needs.one_of), key=len, default=())
    if missing:
        why = "the capture lacks what this rule needs"
        if missing == ("disk",) and view.left_out:
            why = "none of its disk samples can be true"
        return [], [Outcome(rule.id, "not_applicable", (), why, missing)]
    findings: list[Finding] = []
    outcomes: list[Outcome] = []
    limits = rule.limits(changed)
    try:
        for item in rule.detect(view, limits):
            if isinstance(item, Finding):
                findings.append(replace(item, role=rule.role, thresholds=limits.as_dict()))
            else:
                outcomes.append(item)
    except Exception as error:  # the fence around one rule: recorded, the others go on
        log.debug("rule %s failed", rule.id, exc_info=True)
        return [], [Outcome(rule.id, "error", (), f"the rule failed: {type(error).__name__}: {error}")]
    if not findings and not outcomes:
        outcomes.append(Outcome(rule.id, "clear", (), "no sign of it in the samples"))
    return findings, outcomes


def _lacking(alternative: Mapping[str, tuple[str, ...]], rule: Rule, view: View) -> tuple[str, ...]:
    """The tables and columns of one alternative that the capture does not have."""
    lacking: list[str] = []
    for name, columns in alternative.items():
        if view.samples(name) is None:
            if not (name == "disk" and rule.needs.or_unsound and view.left_out):
                lacking.append(name)
            continue
        for column in columns:
            if not any(view.has(name, one) for one in column.split("|")):
                lacking.append(f"{name}.{column}")
    return tuple(lacking)


def _limited_by_capture(finding: Finding, rule: Rule, view: View) -> Finding:
    """The contract's caps: averages prove little, and a warning needs at least medium confidence."""
    used = set(next((one for one in rule.needs.one_of if not _lacking(one, rule, view)), ()))
    if not (finding.devices or any(_rests_on(finding, view.samples(name)) for name in used)):
        used = set()
    about = "disk" if finding.devices else None
    is_now = about is None and used == {"cpu"} and waiting_crowd(view) > 0
    # what needs no table is from logs and reports of devices, which are no averages
    if used and view.average_only & ({about} if about else used):
        over = over_hours([view])
        summary = of_averages(finding.summary, over)
        said = tuple(replace(e, text=of_averages(e.text, over)) for e in finding.evidence)
        finding = replace(finding, summary=summary, evidence=said, samples=None)
        if not is_now:
            severity = finding.severity if finding.severity == "info" else "notice"
            finding = replace(finding, confidence="low", severity=severity)
    if "cpu" in used and not (finding.devices or is_now):
        finding = _limited_by_top(finding, view)
    if finding.confidence == "low" and SEVERITIES.index(finding.severity) > SEVERITIES.index("notice"):
        finding = replace(finding, severity="notice")
    return finding


def _rests_on(finding: Finding, table: Table | None) -> bool:
    """Whether what speaks for a finding may be of rows of a table: a list of processes is of none."""
    cited = [item for item in finding.evidence if item.weighs == "for"]
    lines = [line for item in cited for line in item.lines]
    is_whole = lines and all(item.rows == len(item.lines) for item in cited)
    return not is_whole or table is None or bool(np.isin(table["line"], lines).any())


def _limited_by_top(finding: Finding, view: View) -> Finding:
    """A finding on CPU shares, where top's screens alone show them: moments, or what may be averages."""
    cpu = view.cpu_all
    for column, (most, unknown) in _OF_TOP.items():
        if cpu is not None and column in cpu and np.equal(cpu[column], True).all():
            sure = min(finding.confidence, most, key=CONFIDENCES.index)
            finding = replace(finding, confidence=sure, cannot_know=(*finding.cannot_know, unknown))
    return finding


_OF_TOP: dict[str, tuple[Confidence, str]] = {
    "is_brief": ("medium", "the CPUs between the moments in which top was started: top -b -n 2 -d 5 tells"),
    "may_be_sample": (
        "low",
        "whether these screens are of one top: those of a loop may average the time since boot",
    ),
}
"""What screens of top leave open, and the confidence that they allow at most, by their column."""


def with_quotes(evidence: tuple[Evidence, ...], sources: Mapping[str, Source]) -> tuple[Evidence, ...]:
    """Evidence with its quotes filled in, word for word; a binary file has none.

    Where a whole block is cited, such as a log's, the lines that tell the most are quoted.
    """
    result = []
    for item in evidence:
        if not item.quotes and item.lines and item.source in sources:
            item = _with_telling(item, sources[item.source])
        known = [q for q in item.quotes if q.source in sources and sources[q.source].pos_unit == "line"]
        places = [(q.source, at) for q in known for at in places_told(sources[q.source], q.line, item.text)]
        quotes = tuple(quote(sources[name], at) for name, at in places)
        if any((q.source, q.line) not in places for q in known) or len(places) > len(known):
            item = _with_lines_told(item, sources[item.source])
        result.append(replace(item, quotes=quotes))
    return tuple(result)


def _with_lines_told(item: Evidence, source: Source) -> Evidence:
    """Evidence of rows of several lines each: the lines with the numbers, then those where rows begin."""
    told = [at for line in item.lines for at in places_told(source, line, item.text)]
    lines = tuple(dict.fromkeys((*told, *item.lines)))
    return replace(item, lines=lines, rows=max(item.rows, len(lines)))


def _with_telling(item: Evidence, source: Source) -> Evidence:
    at = best_matching_lines(item.text, [source.quote(line) for line in item.lines[:MOST_SEARCHED]])
    return replace(item, quotes=tuple(Quote(item.source, item.lines[n], "") for n in at))


def _merged(outcomes: Iterable[Outcome], host: str | None) -> list[Outcome]:
    """One outcome per rule, status and reason, with all its devices; of this host unless it names another."""
    merged: dict[tuple[str, str, str, tuple[str, ...], str | None], list[str]] = {}
    for outcome in outcomes:
        key = (outcome.rule, outcome.status, outcome.reason, outcome.missing, outcome.host or host)
        merged.setdefault(key, []).extend(outcome.devices)
    return [
        Outcome(rule, status, tuple(dict.fromkeys(devices)), reason, missing, of)  # type: ignore[arg-type]
        for (rule, status, reason, missing, of), devices in merged.items()
    ]
