"""A comparison as the additive key `comparison` of a JSON report, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from iodiag.errors import FormatError
from iodiag.model.comparison import (
    Change,
    Comparison,
    Fate,
    FindingChange,
    Kind,
    MatchedLoad,
    Shift,
    Subject,
    Verdict,
)
from iodiag.model.finding import Confidence, Severity
from iodiag.model.report import Report
from iodiag.report.json_entries import Entry, from_evidence, plain, to_evidence

T = TypeVar("T")


def from_comparison(comparison: Comparison, before: Mapping[str, Any]) -> dict[str, Any]:
    """The comparison as the schema has it; `before` is the report on the other side, ready made."""
    return {
        "verdict": from_evidence(comparison.verdict),
        "confidence": comparison.confidence,
        "subjects": [_from_subject(subject) for subject in comparison.subjects],
        "findings": [_from_fate(one) for one in comparison.findings],
        "settings": [from_evidence(item) for item in comparison.settings],
        "uncompared": list(comparison.uncompared),
        "limits": plain(comparison.limits),
        "before": before,
    }


def to_comparison(entry: Entry, before: Report) -> Comparison:
    """The comparison from the schema's form."""
    return Comparison(
        before=before,
        verdict=to_evidence(entry.at("verdict")),
        confidence=entry.choice("confidence", Confidence, "low"),
        subjects=entry.each("subjects", _to_subject),
        findings=entry.each("findings", _to_fate),
        settings=entry.each("settings", to_evidence),
        uncompared=entry.texts("uncompared"),
        limits=entry.numbers("limits"),
    )


def _from_subject(subject: Subject) -> dict[str, Any]:
    return {
        "kind": subject.kind,
        "before": subject.before,
        "after": subject.after,
        "host_before": subject.host_before,
        "host_after": subject.host_after,
        "basis": subject.basis,
        "is_part": bool(subject.is_part),
        "share": plain(subject.share),
        "shift": subject.shift,
        "reading": from_evidence(subject.reading) if subject.reading else None,
        "changes": [_from_change(change) for change in subject.changes],
        "at_matched_load": [_from_change(change) for change in subject.at_matched_load],
        "matched": [_from_load(load) for load in subject.matched],
        "evidence": [from_evidence(item) for item in subject.evidence],
        "remarks": list(subject.remarks),
    }


def _to_subject(entry: Entry) -> Subject:
    return Subject(
        kind=entry.choice("kind", Kind),
        before=entry.text("before"),
        after=entry.text("after"),
        host_before=entry.maybe_text("host_before"),
        host_after=entry.maybe_text("host_after"),
        basis=entry.text("basis", ""),
        is_part=entry.flag("is_part"),
        share=entry.number("share"),
        shift=entry.choice("shift", Shift, "unknown"),
        reading=to_evidence(entry.at("reading")) if entry.has("reading") else None,
        changes=entry.each("changes", _to_change),
        at_matched_load=entry.each("at_matched_load", _to_change),
        matched=entry.each("matched", _to_load),
        evidence=entry.each("evidence", to_evidence),
        remarks=entry.texts("remarks"),
    )


def _from_change(change: Change) -> dict[str, Any]:
    return {
        "quantity": change.quantity,
        "before": plain(change.before),
        "after": plain(change.after),
        "ratio": plain(change.ratio),
        "low": plain(change.low),
        "high": plain(change.high),
        "verdict": change.verdict,
        "confidence": change.confidence,
        "detectable_pct": plain(change.detectable_pct),
        "samples": plain(change.samples),
        "overall": plain(change.overall),
    }


def _to_change(entry: Entry) -> Change:
    return Change(
        quantity=entry.text("quantity"),
        before=entry.number("before"),
        after=entry.number("after"),
        ratio=entry.number("ratio"),
        low=entry.number("low"),
        high=entry.number("high"),
        verdict=entry.choice("verdict", Verdict),
        confidence=entry.choice("confidence", Confidence, "low"),
        detectable_pct=entry.number("detectable_pct"),
        samples=_pair(entry, "samples", entry.wholes("samples") or (0, 0)),
        overall=_pair(entry, "overall", entry.floats("overall")) if entry.has("overall") else None,
    )


def _from_load(load: MatchedLoad) -> dict[str, Any]:
    return {
        "direction": load.direction,
        "size_kb": plain(load.size_kb),
        "queue_depth": plain(load.queue_depth),
        "requests": plain(load.requests),
        "latency": _from_change(load.latency),
        "rate": _from_change(load.rate),
    }


def _to_load(entry: Entry) -> MatchedLoad:
    return MatchedLoad(
        direction=entry.text("direction"),
        size_kb=_pair(entry, "size_kb", entry.floats("size_kb")),
        queue_depth=_pair(entry, "queue_depth", entry.floats("queue_depth")),
        requests=_pair(entry, "requests", entry.floats("requests")),
        latency=_to_change(entry.at("latency")),
        rate=_to_change(entry.at("rate")),
    )


def _pair(entry: Entry, key: str, values: tuple[T, ...]) -> tuple[T, T]:
    if len(values) != 2:
        raise FormatError(f"{entry.path}.{key}: wants two numbers, before and after")
    return values[0], values[1]


def _from_fate(one: FindingChange) -> dict[str, Any]:
    return {
        "fate": one.fate,
        "rule": one.rule,
        "title": one.title,
        "host": one.host,
        "devices": list(one.devices),
        "severity_before": one.severity_before,
        "severity_after": one.severity_after,
        "confidence_before": one.confidence_before,
        "confidence_after": one.confidence_after,
        "is_judged": bool(one.is_judged),
        "reason": one.reason,
    }


def _to_fate(entry: Entry) -> FindingChange:
    def maybe(key: str, allowed: Any) -> Any:
        return entry.choice(key, allowed) if entry.has(key) else None

    return FindingChange(
        fate=entry.choice("fate", Fate),
        rule=entry.text("rule"),
        title=entry.text("title", ""),
        host=entry.maybe_text("host"),
        devices=entry.texts("devices"),
        severity_before=maybe("severity_before", Severity),
        severity_after=maybe("severity_after", Severity),
        confidence_before=maybe("confidence_before", Confidence),
        confidence_after=maybe("confidence_after", Confidence),
        is_judged=entry.flag("is_judged"),
        reason=entry.text("reason", ""),
    )
