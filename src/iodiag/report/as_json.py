"""The report as JSON (schema iodiag-report/1), and back.

What is not known (None, NaN, an infinity) is null. Characters beyond ASCII are escaped, so that
the text is harmless on a terminal whatever the captures held.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar, get_args

from iodiag.errors import FormatError
from iodiag.model.capture import Section
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome, Quote, Severity, Status
from iodiag.model.report import SCHEMA, DeviceSummary, Report, Series, SourceSummary, UnparsedLine

T = TypeVar("T")
Weighs = Literal["for", "against", "context"]


def render(report: Report) -> str:
    """The report as indented JSON text, a list of numbers on one line."""
    text = json.dumps(to_dict(report), indent=2, allow_nan=False)
    # a line end never stands inside a JSON string, so "[" before one always opens a list
    return re.sub(r'\[\n[^\[\]{}"]*\]', lambda found: " ".join(found[0].split()), text) + "\n"


def to_dict(report: Report) -> dict[str, Any]:
    """The report as dicts, lists, strings, numbers and None, keys as the schema has them."""
    return {
        "schema": report.schema,
        "iodiag": report.iodiag,
        "generated": report.generated,
        "headline": report.headline,
        "timezone": report.timezone,
        "sources": [_from_source(summary) for summary in report.sources],
        "devices": [_from_device(device) for device in report.devices],
        "findings": [_from_finding(finding) for finding in report.findings],
        "outcomes": [_from_outcome(outcome) for outcome in report.outcomes],
        "thresholds": _plain(report.thresholds),
        "series": [_from_series(series) for series in report.series],
    }


def from_json(text: str | bytes) -> Report:
    """Read a JSON report. Raises FormatError when it is none, or of another schema."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the report is not JSON: {error}") from None
    return from_dict(data)


def from_dict(data: Any) -> Report:
    """Build a Report from `to_dict`'s form; additions that are absent take their defaults.

    Raises FormatError that names the key that is missing or of a wrong type.
    """
    entry = _Entry(data, "report")
    schema = entry.text("schema")
    if schema != SCHEMA:
        raise FormatError(
            f"report.schema: {schema!r} is not {SCHEMA!r}; read it with the iodiag that wrote it"
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
        schema=schema,
    )


def _plain(value: Any) -> Any:
    """JSON's own types; numpy scalars become Python numbers, what is no finite number null."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "__index__"):
        return operator.index(value)
    number = float(value)
    return number if math.isfinite(number) else None


def _from_source(summary: SourceSummary) -> dict[str, Any]:
    section = summary.section
    return {
        "name": section.source,
        "format": section.format,
        "layout": section.layout,
        "host": section.host,
        "kernel": section.kernel,
        "cpus": _plain(section.cpus),
        "start": section.start,
        "end": section.end,
        "reports": _plain(section.reports),
        "rows": _plain(section.rows),
        "is_context": bool(section.is_context),
        "first_line": _plain(section.first_line),
        "unparsed": [_from_line(line) for line in summary.unparsed],
        "notes": [_from_line(line) for line in summary.notes],
        "ledger": _plain(summary.ledger),
    }


def _from_line(line: UnparsedLine) -> dict[str, Any]:
    return {"line": _plain(line.line), "text": line.text, "reason": line.reason}


def _from_device(device: DeviceSummary) -> dict[str, Any]:
    return {
        "name": device.name,
        "host": device.host,
        "aliases": list(device.aliases),
        "kind": device.kind,
        "level": device.level,
        "members": list(device.members),
        "samples": _plain(device.samples),
        "summary": _plain(device.summary),
        "provenance": dict(device.provenance),
    }


def _from_finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "devices": list(finding.devices),
        "host": finding.host,
        "start": finding.start,
        "end": finding.end,
        "samples": _plain(finding.samples),
        "title": finding.title,
        "summary": finding.summary,
        "evidence": [_from_evidence(evidence) for evidence in finding.evidence],
        "thresholds": _plain(finding.thresholds),
        "remedy": list(finding.remedy),
        "confirm": list(finding.confirm),
        "refutes": list(finding.refutes),
        "cannot_know": list(finding.cannot_know),
        "references": list(finding.references),
        "supersedes": list(finding.supersedes),
        "explained_by": finding.explained_by,
    }


def _from_evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "text": evidence.text,
        "values": _plain(evidence.values),
        "source": evidence.source,
        "lines": _plain(evidence.lines),
        "rows": _plain(evidence.rows),
        "quotes": [{"source": q.source, "line": _plain(q.line), "text": q.text} for q in evidence.quotes],
        "weighs": evidence.weighs,
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
        "position": _plain(series.position),
        "time": _plain(series.time),
        "columns": _plain(series.columns),
    }


class _Entry:
    """One JSON object with its path, read key by key with the type that the schema wants."""

    def __init__(self, data: Any, path: str) -> None:
        if not isinstance(data, dict):
            raise FormatError(f"{path}: expected an object, found {type(data).__name__}")
        self._data = data
        self._path = path

    def _get(self, key: str, kinds: type | tuple[type, ...], *default: Any) -> Any:
        value = self._data.get(key)
        if value is None:
            if default:
                return default[0]
            raise FormatError(f"{self._path}.{key}: missing")
        # JSON's true is an int to Python, and never a number to us
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise FormatError(f"{self._path}.{key}: {type(value).__name__} is not what belongs here")
        return value

    def text(self, key: str, *default: str) -> str:
        return str(self._get(key, str, *default))

    def maybe_text(self, key: str) -> str | None:
        value = self._get(key, str, None)
        return None if value is None else str(value)

    def whole(self, key: str) -> int:
        return int(self._get(key, int, 0))

    def maybe_whole(self, key: str) -> int | None:
        value = self._get(key, int, None)
        return None if value is None else int(value)

    def flag(self, key: str) -> bool:
        return bool(self._get(key, bool, False))

    def choice(self, key: str, allowed: Any, *default: str) -> Any:
        value = self.text(key, *default)
        if value not in get_args(allowed):
            raise FormatError(f"{self._path}.{key}: {value!r} is none of {', '.join(get_args(allowed))}")
        return value

    def at(self, key: str) -> _Entry:
        return _Entry(self._get(key, dict, {}), f"{self._path}.{key}")

    def keys_of(self, key: str) -> list[str]:
        return list(self._get(key, dict, {}))

    def each(self, key: str, build: Callable[[_Entry], T]) -> tuple[T, ...]:
        items = self._get(key, list, [])
        return tuple(build(_Entry(item, f"{self._path}.{key}[{at}]")) for at, item in enumerate(items))

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(self._typed(key, self._get(key, list, []), str))

    def wholes(self, key: str) -> tuple[int, ...]:
        return tuple(self._typed(key, self._get(key, list, []), int))

    def floats(self, key: str) -> tuple[float, ...]:
        """A list of numbers, null being NaN."""
        found = self._typed(key, self._get(key, list, []), (int, float, type(None)))
        return tuple(math.nan if item is None else item for item in found)

    def numbers(self, key: str) -> dict[str, float]:
        """An object of numbers, null being NaN."""
        return {name: math.nan if v is None else v for name, v in self._pairs(key, (int, float, type(None)))}

    def values(self, key: str) -> dict[str, float | str]:
        """An object of numbers and words, null being NaN."""
        kinds = (int, float, str, type(None))
        return {name: math.nan if v is None else v for name, v in self._pairs(key, kinds)}

    def words(self, key: str) -> dict[str, str]:
        return dict(self._pairs(key, str))

    def counts(self, key: str) -> dict[str, int]:
        return dict(self._pairs(key, int))

    def _pairs(self, key: str, kinds: type | tuple[type, ...]) -> Iterable[tuple[str, Any]]:
        found = self._get(key, dict, {})
        return zip(found, self._typed(key, found.values(), kinds), strict=True)

    def _typed(self, key: str, items: Iterable[Any], kinds: type | tuple[type, ...]) -> list[Any]:
        found = list(items)
        for item in found:
            if not isinstance(item, kinds) or isinstance(item, bool):
                raise FormatError(f"{self._path}.{key}: {type(item).__name__} is not what belongs here")
        return found


def _to_source(entry: _Entry) -> SourceSummary:
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


def _to_line(entry: _Entry) -> UnparsedLine:
    return UnparsedLine(
        line=entry.whole("line"), text=entry.text("text", ""), reason=entry.text("reason", "")
    )


def _to_device(entry: _Entry) -> DeviceSummary:
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


def _to_finding(entry: _Entry) -> Finding:
    samples = entry.wholes("samples")
    if len(samples) not in (0, 2):
        raise FormatError(f"{entry._path}.samples: wants the first and the last, or null")
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
        evidence=entry.each("evidence", _to_evidence),
        thresholds=entry.numbers("thresholds"),
        remedy=entry.texts("remedy"),
        confirm=entry.texts("confirm"),
        refutes=entry.texts("refutes"),
        cannot_know=entry.texts("cannot_know"),
        references=entry.texts("references"),
        supersedes=entry.texts("supersedes"),
        explained_by=entry.maybe_text("explained_by"),
    )


def _to_evidence(entry: _Entry) -> Evidence:
    return Evidence(
        text=entry.text("text"),
        values=entry.values("values"),
        source=entry.text("source", ""),
        lines=entry.wholes("lines"),
        rows=entry.whole("rows"),
        quotes=entry.each("quotes", _to_quote),
        weighs=entry.choice("weighs", Weighs, "for"),
    )


def _to_quote(entry: _Entry) -> Quote:
    return Quote(source=entry.text("source"), line=entry.whole("line"), text=entry.text("text", ""))


def _to_outcome(entry: _Entry) -> Outcome:
    return Outcome(
        rule=entry.text("rule"),
        status=entry.choice("status", Status),
        devices=entry.texts("devices"),
        reason=entry.text("reason", ""),
        missing=entry.texts("missing"),
        host=entry.maybe_text("host"),
    )


def _to_series(entry: _Entry) -> Series:
    columns = entry.at("columns")
    return Series(
        name=entry.text("name"),
        host=entry.maybe_text("host"),
        position=entry.wholes("position"),
        time=entry.floats("time"),
        columns={column: columns.floats(column) for column in entry.keys_of("columns")},
    )
