"""Captures and reports rewritten with pseudonyms, as data, before anything is rendered.

Every text of a report is taken for a sentence of iodiag and has its names replaced, unless it is listed
here as a name, a line of an input, or a word of iodiag's own: what a report gains later is safe at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from iodiag.anonymize.allowed_words import release_of
from iodiag.anonymize.gathering import (
    HIDDEN_COLUMNS,
    KIND_OF_COLUMN,
    kind_of_device,
    names_of_capture,
    names_of_report,
    words_of,
)
from iodiag.anonymize.pseudonyms import Pseudonyms
from iodiag.model.capture import Capture, Source
from iodiag.table.tables import Tables

if TYPE_CHECKING:
    import pandas as pd

    from iodiag.model.report import Report

T = TypeVar("T")

_OWN_WORDS = frozenset(
    {
        "rule",
        "role",
        "severity",
        "confidence",
        "status",
        "weighs",
        "format",
        "iodiag",
        "generated",
        "schema",
        "timezone",
        "start",
        "end",
        "kind",
        "level",
        "thresholds",
        "rule_texts",
        "references",
        "supersedes",
        "explained_by",
        "missing",
        "table",
        "quantity",
        "verdict",
        "state",
        "shift",
        "fate",
        "direction",
        "ledger",
        "counts",
        "limits",
        "severity_before",
        "severity_after",
        "confidence_before",
        "confidence_after",
        "sha256",
        "pos_unit",
        "activity",
        "scheduler",
        "write_cache",
    }
)
"""Fields that hold words of iodiag or of the kernel, times and sums, on every host alike."""

_NAMES = {
    ("Section", "source"): "file",
    ("Evidence", "source"): "file",
    ("Quote", "source"): "file",
    ("SourceRef", "source"): "file",
    ("ParseNote", "source"): "file",
    ("Ledger", "source"): "file",
    ("Source", "name"): "file",
    ("StateSummary", "source"): "file",
    ("PhaseSummary", "source"): "file",
}
_DEVICES = {
    ("DeviceSummary", "name"),
    ("DeviceSummary", "members"),
    ("Device", "name"),
    ("Device", "members"),
    ("Finding", "devices"),
    ("Outcome", "devices"),
    ("FindingChange", "devices"),
    ("Verdict", "devices"),
    ("StateSummary", "device"),
    ("PhaseSummary", "device"),
    ("DeviceActivity", "device"),
}
_LINES = {("Quote", "text"), ("Quote", "header")}
_HIDDEN = {
    ("UnparsedLine", "text"),
    ("ParseNote", "text"),
    ("PhaseSummary", "label"),
    ("Ignored", "reason"),
    ("Device", "model"),
}
_REMARKS = {("UnparsedLine", "reason"), ("ParseNote", "reason"), ("Section", "layout"), ("Source", "remark")}
_DROPPED = {("DeviceSummary", "aliases"), ("Device", "aliases"), ("Device", "mountpoints")}


def anonymized(report: Report, captures: Iterable[Capture] = (), key: str | None = None) -> Report:
    """The report with stable pseudonyms for the names of hosts, devices, volumes, files and addresses.

    `captures` are those that it was made from; what they alone tell to be a name is replaced too. With a
    `key` the same name has the same pseudonym in every report.
    """
    names = Pseudonyms(key=key)
    gather(captures, names)
    return anonymous_report(report, names)


def anonymous_report(report: Report, names: Pseudonyms) -> Report:
    """The report with pseudonyms for all names, those that it alone holds included."""
    names.add(names_of_report(report))
    return _rewritten(report, names)


def anonymous_captures(captures: Iterable[Capture], names: Pseudonyms) -> list[Capture]:
    """Captures with pseudonyms for all names, without the bytes that they were read from."""
    captures = list(captures)
    gather(captures, names)
    return [_capture(capture, names) for capture in captures]


def gather(captures: Iterable[Capture], names: Pseudonyms) -> None:
    """Make known the names that captures hold, before what is made of them is rewritten."""
    names.add(name for capture in captures for name in names_of_capture(capture))


def _capture(capture: Capture, names: Pseudonyms) -> Capture:
    return Capture(
        sources={
            names.name(name, "file"): Source(names.name(name, "file"), b"", pos_unit=source.pos_unit)
            for name, source in capture.sources.items()
        },
        tables=Tables({family: anonymous_table(frame, names) for family, frame in capture.tables.items()}),
        averages=Tables(
            {family: anonymous_table(frame, names) for family, frame in capture.averages.items()}
        ),
        topology=_rewritten(capture.topology, names),
        topologies={
            host and names.name(host, "host"): _rewritten(topology, names)
            for host, topology in capture.topologies.items()
        },
        evidence=_rewritten(capture.evidence, names),
        sections=_rewritten(capture.sections, names),
        notes=_rewritten(capture.notes, names),
        ledgers=_rewritten(capture.ledgers, names),
    )


def anonymous_table(frame: pd.DataFrame, names: Pseudonyms) -> pd.DataFrame:
    """A normalised table with pseudonyms for all its words that may be names."""
    changed: dict[str, Any] = dict.fromkeys(HIDDEN_COLUMNS & set(frame.columns), "")
    for column in frame.columns:
        if column not in changed and (words := words_of(frame, column)):
            texts = frame[column].astype(object)
            known = {word: names.name(word, _kind(column, word)) for word in words}
            changed[column] = texts.map(known).where(texts.isin(list(known)), texts)
    return frame.assign(**changed)


def _kind(column: str, value: str) -> str:
    kind = KIND_OF_COLUMN.get(column, column)
    return kind_of_device(value) if kind == "device" else kind


def _rewritten(value: T, names: Pseudonyms) -> T:
    """A frozen dataclass, or a list or mapping of such, with every text in it treated by its field."""
    result: Any = value
    if is_dataclass(value) and not isinstance(value, type):
        changes = {
            item.name: _field(type(value).__name__, item.name, getattr(value, item.name), names)
            for item in fields(value)
        }
        result = replace(value, **changes)
    elif isinstance(value, str):
        result = names.prose(value)
    elif isinstance(value, Mapping):
        result = {key: _rewritten(item, names) for key, item in value.items()}
    elif isinstance(value, (list, tuple)):
        result = type(value)(_rewritten(item, names) for item in value)
    return result  # type: ignore[no-any-return]


def _holds_fields(value: Any) -> bool:
    """Whether it is a dataclass or a list of such, whose own fields say what they hold."""
    return is_dataclass(value) or (isinstance(value, tuple) and any(map(is_dataclass, value)))


def _field(owner: str, name: str, value: Any, names: Pseudonyms) -> Any:
    place = (owner, name)
    if value is None or (name in _OWN_WORDS and not _holds_fields(value)):
        return value
    if place in _DROPPED:
        return ()
    if place in _HIDDEN:
        return f"({len(value)} characters left out)" if value else value
    if isinstance(value, str):
        return _text(place, value, names)
    if place in _DEVICES:
        return tuple(names.name(item, kind_of_device(item)) for item in value)
    if place == ("DeviceTopology", "devices"):
        return {d.name: d for d in (_rewritten(device, names) for device in value.values())}
    return _rewritten(value, names)


def _text(place: tuple[str, str], value: str, names: Pseudonyms) -> str:
    name = place[1]
    if place in _NAMES:
        return names.name(value, _NAMES[place])
    if name in ("host", "host_before", "host_after"):
        return names.name(value, "host")
    if place == ("Move", "name"):
        return names.name(value) if value else value
    if place in _DEVICES:
        return names.name(value, kind_of_device(value))
    if place in _LINES:
        return names.line(value)
    if place in _REMARKS:
        return names.remark(value)
    return release_of(value) if name == "kernel" else names.prose(value)
