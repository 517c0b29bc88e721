"""The report as JSON (schema iodiag-report/1), and back.

What is not known (None, NaN, an infinity) is null. Characters beyond ASCII are escaped, so that
the text is harmless on a terminal whatever the captures held.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from typing import Any, NoReturn, get_args

from iodiag.errors import FormatError
from iodiag.model.capture import Section
from iodiag.model.finding import (
    Confidence,
    Edge,
    Finding,
    Ignored,
    Outcome,
    PictureKind,
    Role,
    Severity,
    Status,
)
from iodiag.model.report import SCHEMA, DeviceSummary, Report, Series, SourceSummary, UnparsedLine
from iodiag.report.comparison_json import from_comparison, to_comparison
from iodiag.report.json_entries import Entry, from_evidence, plain, to_evidence


def render(report: Report) -> str:
    """The report as indented JSON text, a list of numbers on one line."""
    text = json.dumps(to_dict(report), indent=2, allow_nan=False)
    # a line end never stands inside a JSON string, so "[" before one always opens a list
    return re.sub(r'\[\n[^\[\]{}"]*\]', lambda found: " ".join(found[0].split()), text) + "\n"


def to_dict(report: Report) -> dict[str, Any]:
    """The report as dicts, lists, strings, numbers and None, keys as the schema has them."""
    compared = report.comparison
    return {
        "schema": report.schema,
        "iodiag": report.iodiag,
        "generated": report.generated,
        "headline": report.headline,
        "verdict": None if report.verdict is None else plain(asdict(report.verdict)),
        "states": [plain(asdict(state)) for state in report.states],
        "timezone": report.timezone,
        "sources": [_from_source(summary) for summary in report.sources],
        "devices": [_from_device(device) for device in report.devices],
        "findings": [_from_finding(finding) for finding in report.findings],
        "outcomes": [_from_outcome(outcome) for outcome in report.outcomes],
        "thresholds": plain(report.thresholds),
        "series": [_from_series(series) for series in report.series],
        "ignored": [{"reason": i.reason, "finding": _from_finding(i.finding)} for i in report.ignored],
        **({"comparison": from_comparison(compared, to_dict(compared.before))} if compared else {}),
    }


def from_json(text: str | bytes) -> Report:
    """Read a JSON report. Raises FormatError when it is none, or of another schema."""
    try:
        data = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise FormatError("the report is nested too deeply; give one that iodiag wrote") from None
    except ValueError as error:
        raise FormatError(f"the report is not JSON ({error}); write it again") from None
    return from_dict(data)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")


def from_dict(data: Any) -> Report:
    """Build a Report from `to_dict`'s form; additions that are absent take their defaults.

    Raises FormatError that names the key that is missing or of a wrong type.
    """
    entry = Entry(data, "report")
    report = _to_report(entry)
    if not entry.has("comparison"):
        return report
    compared = entry.at("comparison")
    # the other side is a report without a comparison of its own, whatever stands there
    return replace(report, comparison=to_comparison(compared, _to_report(compared.at("before"))))


def _to_report(entry: Entry) -> Report:
    schema = entry.text("schema")
    if schema != SCHEMA:
        raise FormatError(
            f"{entry.path}.schema: {schema!r} is not {SCHEMA!r}, which this iodiag reads; "
            "use the iodiag that wrote it"
        )
    return Report(
        iodiag=entry.text("iodiag"),
        generated=entry.text("generated"),
        headline=entry.text("headline", ""),
        sources=entry.each("sources", _to_source),
        devices=entry.each("devices", _to_device),
        findings=entry.each("findings", _to_finding),
        outcomes=entry.each("outcomes", _to_outcome),
        thresholds={rule: entry.at("thresholds").numbers(rule) for rule in entry.keys_of("thresholds")},
        series=entry.each("series", _to_series),
        timezone=entry.maybe_text("timezone"),
        ignored=entry.each("ignored", lambda e: Ignored(_to_finding(e.at("finding")), e.text("reason"))),
        schema=schema,
    )


def _from_source(summary: SourceSummary) -> dict[str, Any]:
    section = summary.section
    return {
        "name": section.source,
        "format": section.format,
        "layout": section.layout,
        "host": section.host,
        "kernel": section.kernel,
        "cpus": plain(section.cpus),
        "start": section.start,
        "end": section.end,
        "reports": plain(section.reports),
        "rows": plain(section.rows),
        "is_context": bool(section.is_context),
        "first_line": plain(section.first_line),
        "unparsed": [_from_line(line) for line in summary.unparsed],
        "notes": [_from_line(line) for line in summary.notes],
        "ledger": plain(summary.ledger),
    }


def _from_line(line: UnparsedLine) -> dict[str, Any]:
    return {"line": plain(line.line), "text": line.text, "reason": line.reason}


def _from_device(device: DeviceSummary) -> dict[str, Any]:
    return {
        "name": device.name,
        "host": device.host,
        "aliases": list(device.aliases),
        "kind": device.kind,
        "level": device.level,
        "members": list(device.members),
        "samples": plain(device.samples),
        "summary": plain(device.summary),
        "provenance": dict(device.provenance),
    }


def _from_finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "role": finding.role,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "devices": list(finding.devices),
        "host": finding.host,
        "start": finding.start,
        "end": finding.end,
        "samples": plain(finding.samples),
        "title": finding.title,
        "summary": finding.summary,
        "evidence": [from_evidence(evidence) for evidence in finding.evidence],
        "thresholds": plain(finding.thresholds),
        "remedy": list(finding.remedy),
        "confirm": list(finding.confirm),
        "refutes": list(finding.refutes),
        "cannot_know": list(finding.cannot_know),
        "references": list(finding.references),
        "supersedes": list(finding.supersedes),
        "explained_by": finding.explained_by,
        "pictures": list(finding.pictures),
        "peers": list(finding.peers),
        "edges": [{"upper": e.upper, "lower": e.lower, "means": plain(e.means)} for e in finding.edges],
    }


def _from_outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "rule": outcome.rule,
        "status": outcome.status,
        "devices": list(outcome.devices),
        "reason": outcome.reason,
        "missing": list(outcome.missing),
        "host": outcome.host,
    }


def _from_series(series: Series) -> dict[str, Any]:
    return {
        "name": series.name,
        "host": series.host,
        "position": plain(series.position),
        "time": plain(series.time),
        "columns": plain(series.columns),
    }


def _to_source(entry: Entry) -> SourceSummary:
    section = Section(
        source=entry.text("name"),
        format=entry.text("format"),
        layout=entry.text("layout", ""),
        host=entry.maybe_text("host"),
        kernel=entry.maybe_text("kernel"),
        cpus=entry.maybe_whole("cpus"),
        start=entry.maybe_text("start"),
        end=entry.maybe_text("end"),
        reports=entry.whole("reports"),
        rows=entry.whole("rows"),
        is_context=entry.flag("is_context"),
        first_line=entry.whole("first_line"),
    )
    return SourceSummary(
        section=section,
        unparsed=entry.each("unparsed", _to_line),
        ledger=entry.counts("ledger"),
        notes=entry.each("notes", _to_line),
    )


def _to_line(entry: Entry) -> UnparsedLine:
    return UnparsedLine(
        line=entry.whole("line"), text=entry.text("text", ""), reason=entry.text("reason", "")
    )


def _to_device(entry: Entry) -> DeviceSummary:
    summary = entry.at("summary")
    return DeviceSummary(
        name=entry.text("name"),
        host=entry.maybe_text("host"),
        aliases=entry.texts("aliases"),
        kind=entry.maybe_text("kind"),
        level=entry.maybe_text("level"),
        members=entry.texts("members"),
        samples=entry.whole("samples"),
        summary={column: summary.numbers(column) for column in entry.keys_of("summary")},
        provenance=entry.words("provenance"),
    )


def _to_finding(entry: Entry) -> Finding:
    samples = entry.wholes("samples")
    if len(samples) not in (0, 2):
        raise FormatError(f"{entry.path}.samples: wants the first and the last, or null")
    return Finding(
        rule=entry.text("rule"),
        severity=entry.choice("severity", Severity),
        confidence=entry.choice("confidence", Confidence),
        title=entry.text("title"),
        summary=entry.text("summary", ""),
        devices=entry.texts("devices"),
        host=entry.maybe_text("host"),
        start=entry.maybe_text("start"),
        end=entry.maybe_text("end"),
        samples=(samples[0], samples[1]) if samples else None,
        evidence=entry.each("evidence", to_evidence),
        thresholds=entry.numbers("thresholds"),
        remedy=entry.texts("remedy"),
        confirm=entry.texts("confirm"),
        refutes=entry.texts("refutes"),
        cannot_know=entry.texts("cannot_know"),
        references=entry.texts("references"),
        supersedes=entry.texts("supersedes"),
        explained_by=entry.maybe_text("explained_by"),
        role=entry.choice("role", Role) if entry.has("role") else None,
        pictures=tuple(kind for kind in get_args(PictureKind) if kind in entry.texts("pictures")),
        peers=entry.texts("peers"),
        edges=entry.each("edges", _to_edge),
    )


def _to_edge(entry: Entry) -> Edge:
    return Edge(entry.maybe_text("upper"), entry.text("lower"), entry.numbers("means"))


def _to_outcome(entry: Entry) -> Outcome:
    return Outcome(
        rule=entry.text("rule"),
        status=entry.choice("status", Status),
        devices=entry.texts("devices"),
        reason=entry.text("reason", ""),
        missing=entry.texts("missing"),
        host=entry.maybe_text("host"),
    )


def _to_series(entry: Entry) -> Series:
    columns = entry.at("columns")
    series = Series(
        name=entry.text("name"),
        host=entry.maybe_text("host"),
        position=entry.wholes("position"),
        time=entry.floats("time"),
        columns={column: columns.floats(column) for column in entry.keys_of("columns")},
    )
    samples = len(series.position)
    if len(series.time) not in (0, samples) or any(len(y) != samples for y in series.columns.values()):
        raise FormatError(f"{entry.path}: wants a value of every column for each position")
    return series
