"""An analysis from joined captures to the Report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from iodiag import __version__
from iodiag.anonymize.collect_names import lone_words_of
from iodiag.errors import ConfigError
from iodiag.hosts.counters import add_paired
from iodiag.hosts.joining import join
from iodiag.judging.options import Options, bound, zone
from iodiag.model.capture import Capture
from iodiag.model.finding import Finding, Ignored, Outcome, by_harm
from iodiag.model.report import (
    Chosen,
    DeviceActivity,
    DeviceSummary,
    HostTable,
    KernelEvent,
    MeasuredLatency,
    PhaseSummary,
    Report,
    Series,
    SourceSummary,
    StateSummary,
    UnparsedLine,
)
from iodiag.model.topology import device_names

if TYPE_CHECKING:
    from iodiag.analysis.view.view import View
    from iodiag.judging.worst_run import Ran

T = TypeVar("T")

MOST_BESIDE = 5
"""Peers and members whose samples a report holds beside those of its findings."""

MOST_NAMED = 10
"""Devices that are named where the one asked for is not there."""


def prepared(captures: Iterable[Capture], options: Options) -> tuple[Capture, list[View]]:
    """Captures joined by host, and what rules see of each host."""
    from iodiag.analysis.view.make_views import Selection, views

    joined = join(captures, zone(options.tz))
    add_paired(joined, options.interval)
    devices = options.devices
    if options.names:
        joined = options.names.renamed(joined)
        devices = tuple(map(options.names.to_judge, devices))
    selection = Selection(
        devices=devices,
        since=bound(options.since, "since"),
        until=bound(options.until, "until"),
        cpus=options.cpus,
        interval_s=options.interval,
    )
    return joined, views(joined, selection)


def selected(captures: Iterable[Capture], options: Options) -> Capture:
    """Captures as one, of its samples the rows of the devices and of the time asked for."""
    joined = join(captures, zone(options.tz))
    add_paired(joined, options.interval)
    return narrowed(joined, options)


def narrowed(joined: Capture, options: Options) -> Capture:
    """A joined capture with the rows of the devices and of the time asked for alone."""
    from iodiag.analysis.view.make_views import Selection, select

    since, until = bound(options.since, "since"), bound(options.until, "until")
    selection = Selection(since=since, until=until, interval_s=options.interval)
    devices = tuple(map(options.names.to_judge, options.devices)) if options.names else options.devices
    wanted = {spelling for name in devices for spelling in device_names(name)}
    for device in filter(None, map(joined.topology.find, devices)):
        wanted |= {device.name, *device.aliases}
    for family, rows in list(joined.tables.each()):
        of_time = select(rows, selection)
        is_of_devices = wanted and "device" in of_time
        joined.tables[family] = of_time[of_time["device"].isin(wanted)] if is_of_devices else of_time
    return joined


def check_selected(capture: Capture, hosts: Sequence[View], options: Options) -> None:
    """Raise ConfigError where the time or the devices asked for leave nothing of what a capture has."""
    tables = dict(capture.tables.each())
    is_narrowed = options.since is not None or options.until is not None
    if is_narrowed and tables and not any({*view.tables} - view.average_only for view in hosts):
        spans = [(rows["time"].min(), rows["time"].max()) for rows in tables.values()]
        known = [f"{first} to {last}" for first, last in spans if first and last]
        what = f"there are samples of {known[0]}" if known else "the samples have no clock"
        raise ConfigError(f"--since, --until: no sample lies in that time; {what}")
    if options.devices and "disk" in tables and not any(view.devices for view in hosts):
        names = tables["disk"]["device"].distinct()
        if options.names:
            names = [spelling for name in names for spelling in options.names.spellings(name)[:1]]
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        asked, shown = ", ".join(options.devices), ", ".join(names[:MOST_NAMED]) + more
        raise ConfigError(f"--device {asked}: no such device has samples; there are {shown}")


def judged(capture: Capture, hosts: Sequence[View], options: Options) -> Report:
    """The report on what `prepared` made."""
    from iodiag.analysis.states.state_sentences import cost_of
    from iodiag.analysis.view.device_summaries import series_for
    from iodiag.judging.worst_run import with_notes, worst_run
    from iodiag.rules import page
    from iodiag.rules.selection import changed_limits, chosen_rules, not_chosen
    from iodiag.verdict.verdict import verdict

    chosen = chosen_rules(options.rules, options.skip_rules)
    changed = changed_limits(options.limits)
    parts = [worst_run(view, list(chosen.values()), changed, capture.sources) for view in hosts]
    hosts = [view for view, _ in parts]
    told = [_of_host(view, ran, options) for view, ran in parts]
    findings = _all(host.findings for host in told)
    ignored = _all(host.ignored for host in told)
    said, headline = verdict(
        findings, hosts, ignored=len(ignored), ledgers=capture.ledgers, is_cut=_is_cut(capture)
    )
    return Report(
        iodiag=__version__,
        generated=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        headline=with_notes(headline, said, [ran for _, ran in parts]),
        verdict=replace(said, cost=cost_of(hosts, said.finding(findings))),
        states=_all(host.states for host in told),
        host_tables=_all(host.tables for host in told),
        phases=_all(host.phases for host in told),
        events=_all(host.events for host in told),
        latencies=_all(host.latencies for host in told),
        activity=_all(host.activity for host in told),
        sources=_source_summaries(capture),
        devices=_all(host.devices for host in told),
        findings=findings,
        outcomes=(*_all(host.outcomes for host in told), *not_chosen(chosen)),
        thresholds={rule.id: rule.limits(changed.get(rule.id)).as_dict() for rule in chosen.values()},
        rule_texts={one.rule: page(one.rule) for one in findings if one.rule in chosen},
        changed_thresholds={rule: values for rule, values in changed.items() if rule in chosen},
        series=_all(
            (
                *series_for(view, _drawn(view, host, said.devices), said.finding(host.findings)),
                *host.moved,
            )
            for view, host in zip(hosts, told, strict=True)
        ),
        timezone=options.tz,
        chosen=_chosen(options),
        ignored=ignored,
        names=() if options.names else lone_words_of(capture),
    )


def _chosen(options: Options) -> Chosen:
    """What was asked for, devices by the names that the report has for them."""
    devices = tuple(map(options.names.to_judge, options.devices)) if options.names else options.devices
    since, until = (None if one is None else str(one) for one in (options.since, options.until))
    return Chosen(devices, since, until)


def _is_cut(capture: Capture) -> bool:
    """Whether the rest of an input with samples is lost."""
    with_rows = {ledger.source for ledger in capture.ledgers if ledger.counts.get("row", 0)}
    return any(capture.sources[name].remark for name in with_rows & capture.sources.keys())


class _OfHost(NamedTuple):
    """What a report says of one host."""

    findings: Sequence[Finding]
    ignored: Sequence[Ignored]
    outcomes: Sequence[Outcome]
    devices: Sequence[DeviceSummary]
    states: Sequence[StateSummary]
    tables: Sequence[HostTable]
    phases: Sequence[PhaseSummary]
    events: Sequence[KernelEvent]
    latencies: Sequence[MeasuredLatency]
    activity: Sequence[DeviceActivity]
    moved: Sequence[Series]


def _of_host(view: View, ran: Ran, options: Options) -> _OfHost:
    from iodiag.analysis.array.stack_traffic import with_traffic
    from iodiag.analysis.host.host_tables import host_tables
    from iodiag.analysis.host.kernel_events import event_summaries
    from iodiag.analysis.host.measured_latencies import measured_latencies
    from iodiag.analysis.host.other_changes import with_moves
    from iodiag.analysis.states.state_sentences import state_summaries
    from iodiag.analysis.view.device_summaries import device_summaries
    from iodiag.analysis.view.heatmap_data import activity
    from iodiag.analysis.view.phases import phase_summaries
    from iodiag.rules.selection import without_ignored

    devices = device_summaries(view)
    aliases = {d.name: d.aliases for d in devices}
    found, ignored = without_ignored(
        ran.findings, options.ignore, aliases, options.names.spellings if options.names else None
    )
    states = state_summaries(view)
    findings, moved = with_moves(view, with_traffic(view, found))
    return _OfHost(
        findings=findings,
        ignored=ignored,
        outcomes=ran.outcomes,
        devices=devices,
        states=states,
        tables=host_tables(view),
        phases=phase_summaries(view),
        events=tuple(event_summaries(view)),
        latencies=measured_latencies(view),
        activity=activity(view),
        moved=moved,
    )


def _all(parts: Iterable[Iterable[T]]) -> tuple[T, ...]:
    return tuple(chain.from_iterable(parts))


def _drawn(view: View, host: _OfHost, named: Sequence[str]) -> list[str]:
    """The devices of the verdict and of findings, those beside the most harmful ones, else the busiest."""
    findings = host.findings
    names = [*named, *(name for finding in findings for name in finding.devices)]
    names += [move.name for finding in findings for move in finding.moved if move.table == "disk"]
    if findings:
        first = min(findings, key=by_harm)
        members = [member.name for name in first.devices for member in view.topology.members(name)]
        names += [*first.peers[:MOST_BESIDE], *members[:MOST_BESIDE]]
    busiest = max(host.states, key=lambda state: state.requests, default=None)
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
