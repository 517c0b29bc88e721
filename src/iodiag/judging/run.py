"""An analysis from joined captures to the Report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from iodiag import __version__
from iodiag.hosts.counters import add_paired
from iodiag.hosts.joining import join
from iodiag.judging.options import Options, bound, zone
from iodiag.model.capture import Capture
from iodiag.model.finding import Finding, Ignored, Outcome, by_harm
from iodiag.model.report import Report, SourceSummary, StateSummary, UnparsedLine

if TYPE_CHECKING:
    from iodiag.analysis.view.view import View

MOST_BESIDE = 5
"""Peers and members whose samples a report holds beside those of its findings."""


def prepared(captures: Iterable[Capture], options: Options) -> tuple[Capture, list[View]]:
    """Captures joined by host, and what rules see of each host."""
    from iodiag.analysis.view.prepare import Selection, views

    joined = join(captures, zone(options.tz))
    add_paired(joined, options.interval)
    selection = Selection(
        devices=options.devices,
        since=bound(options.since, "since"),
        until=bound(options.until, "until"),
        cpus=options.cpus,
        interval_s=options.interval,
    )
    return joined, views(joined, selection)


def judged(capture: Capture, hosts: Sequence[View], options: Options) -> Report:
    """The report on what `prepared` made."""
    from iodiag.analysis.array.stack_traffic import with_traffic
    from iodiag.analysis.view.summary import device_summaries
    from iodiag.rules import page
    from iodiag.rules.engine import run
    from iodiag.rules.selection import changed_limits, chosen_rules, without_ignored
    from iodiag.verdict.verdict import verdict

    chosen = chosen_rules(options.rules, options.skip_rules)
    changed = changed_limits(options.limits)
    findings: list[Finding] = []
    outcomes: list[Outcome] = []
    ignored: list[Ignored] = []
    described: list[dict[str, Any]] = []
    for view in hosts:
        found, others = run(chosen.values(), view, changed, capture.sources)
        devices = device_summaries(view)
        found, passed = without_ignored(found, options.ignore, {d.name: d.aliases for d in devices})
        findings += with_traffic(view, found)
        ignored += passed
        outcomes += others
        described.append({"devices": devices} | _described(view, found))

    def of_all(field: str) -> tuple[Any, ...]:
        return tuple(one for host in described for one in host[field])

    said, headline = verdict(findings, outcomes, hosts, len(ignored))
    return Report(
        iodiag=__version__,
        generated=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        headline=headline,
        verdict=said,
        sources=_source_summaries(capture),
        findings=tuple(findings),
        outcomes=tuple(outcomes),
        thresholds={rule.id: rule.limits(changed.get(rule.id)).as_dict() for rule in chosen.values()},
        rule_texts={one.rule: page(one.rule) for one in findings if one.rule in chosen},
        changed_thresholds={rule: values for rule, values in changed.items() if rule in chosen},
        timezone=options.tz,
        ignored=tuple(ignored),
        devices=of_all("devices"),
        series=of_all("series"),
        states=of_all("states"),
        host_tables=of_all("host_tables"),
        phases=of_all("phases"),
    )


def _described(view: View, findings: Sequence[Finding]) -> dict[str, Any]:
    """What a host was doing, by the field of the report that holds it."""
    from iodiag.analysis.host.tables import host_tables
    from iodiag.analysis.states.summary import state_summaries
    from iodiag.analysis.view.phases import phase_summaries
    from iodiag.analysis.view.summary import series_for

    states = state_summaries(view)
    return {
        "series": series_for(view, _drawn(view, findings, states)),
        "states": states,
        "host_tables": host_tables(view),
        "phases": phase_summaries(view),
    }


def _drawn(view: View, findings: Sequence[Finding], states: Sequence[StateSummary]) -> list[str]:
    """The devices of findings, those beside the most harmful ones, and else the one with most requests."""
    names = [name for finding in findings for name in finding.devices]
    if findings:
        first = min(findings, key=by_harm)
        members = [member.name for name in first.devices for member in view.topology.members(name)]
        names += [*first.peers[:MOST_BESIDE], *members[:MOST_BESIDE]]
    busiest = max(states, key=lambda state: state.requests, default=None)
    return names + ([busiest.device] if busiest and not names else [])


def _source_summaries(capture: Capture) -> tuple[SourceSummary, ...]:
    ledgers = {ledger.source: dict(ledger.counts) for ledger in capture.ledgers}
    first = {section.source: number for number, section in reversed(list(enumerate(capture.sections)))}
    result = []
    for number, section in enumerate(capture.sections):
        is_first = first[section.source] == number
        of_source = [note for note in capture.notes if note.source == section.source] if is_first else []
        lines = [UnparsedLine(note.line, note.text, note.reason) for note in of_source]
        result.append(
            SourceSummary(
                section=section,
                unparsed=tuple(x for x, note in zip(lines, of_source, strict=True) if note.is_unread),
                notes=tuple(x for x, note in zip(lines, of_source, strict=True) if not note.is_unread),
                ledger=ledgers.get(section.source, {}) if is_first else {},
            )
        )
    return tuple(result)
