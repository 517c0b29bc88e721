"""Captures and reports rewritten with pseudonyms, as data, before anything is rendered.

Every text of a report is taken for a sentence of iodiag, unless it is listed here as a name, a line of an
input, or a word of iodiag's own: what a report gains later is safe at once. Sentences on captures that were
judged under pseudonyms (`before_judging`) have only names of the kernel's left. In those of a report that was
judged under real names and stored, every name is looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from iodiag.anonymize.allowed_words import release_of
from iodiag.anonymize.before_judging import renamed, renamed_tables
from iodiag.anonymize.collect_names import BY_ITS, Name, names_of_capture, names_of_report
from iodiag.anonymize.pseudonyms import Pseudonyms
from iodiag.model.capture import Capture
from iodiag.table.tables import Tables

if TYPE_CHECKING:
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
        "time",
        "stamp",
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
    ("KernelEvent", "source"): "file",
    ("MeasuredLatency", "source"): "file",
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
    ("Chosen", "devices"),
    ("StateSummary", "device"),
    ("PhaseSummary", "device"),
    ("KernelEvent", "device"),
    ("MeasuredLatency", "device"),
    ("DeviceActivity", "device"),
}
_LINES = {("Quote", "text"), ("Quote", "header"), ("KernelEvent", "text")}
_HIDDEN = {
    ("UnparsedLine", "text"),
    ("ParseNote", "text"),
    ("PhaseSummary", "label"),
    ("Ignored", "reason"),
    ("Device", "model"),
    ("Fact", "template"),
}
_REMARKS = {("UnparsedLine", "reason"), ("ParseNote", "reason"), ("Source", "remark")}
_DROPPED = {
    ("DeviceSummary", "aliases"),
    ("Device", "aliases"),
    ("Device", "mountpoints"),
    ("Report", "names"),
}


def anonymized(report: Report, captures: Iterable[Capture] = (), key: str | None = None) -> Report:
    """A finished report with stable pseudonyms for the names of hosts, devices, volumes, files and addresses.

    `captures` are those that it was made from; what they alone tell to be a name is replaced too. With a
    `key` the same name has the same pseudonym in every report. Its sentences are searched for names: one that
    is a word of iodiag's too is replaced wherever that stands. `iodiag.analyze` with `names` needs no search.
    """
    names = Pseudonyms(key=key)
    gather(captures, names)
    return anonymous_report(report, names)


def anonymous_report(report: Report, names: Pseudonyms) -> Report:
    """The report with pseudonyms for all names, those that it alone holds included."""
    if not names.is_judged_under:
        names.add(names_of_report(report))
        names.add(Name("name", (word,)) for word in report.names if word not in names)
    return _rewritten(report, names)


def anonymous_captures(captures: Iterable[Capture], names: Pseudonyms) -> list[Capture]:
    """Captures with pseudonyms for all names, without the bytes that they were read from."""
    captures = list(captures)
    gather(captures, names)  # all, since what one names another may hold
    return [_capture(renamed(capture, names), names) for capture in captures]


def gather(captures: Iterable[Capture], names: Pseudonyms) -> None:
    """Make known the names that captures hold, before what is made of them is rewritten."""
    names.add(name for capture in captures for name in names_of_capture(capture))


def _capture(capture: Capture, names: Pseudonyms) -> Capture:
    """What was renamed, with the kernel's names replaced too."""
    return replace(
        capture,
        sources={name: replace(source, data=b"") for name, source in capture.sources.items()},
        tables=anonymous_tables(capture.tables, names),
        averages=anonymous_tables(capture.averages, names),
        topology=_rewritten(capture.topology, names),
        topologies={host: _rewritten(topology, names) for host, topology in capture.topologies.items()},
        evidence=_rewritten(capture.evidence, names),
        sections=_rewritten(capture.sections, names),
        notes=_rewritten(capture.notes, names),
        ledgers=_rewritten(capture.ledgers, names),
    )


def anonymous_tables(tables: Tables, names: Pseudonyms) -> Tables:
    """Normalised tables with pseudonyms for all their words that may be names."""
    return renamed_tables(tables, names.device, names)


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
        return tuple(map(names.device, value))
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
        return names.device(value)
    if place in _LINES:
        return names.header(value) if name == "header" else names.line(value)
    if place == ("Section", "layout"):
        host, is_statement, file = value.partition(BY_ITS)
        stated = f"{names.name(host, 'host')}{BY_ITS}{names.name(file, 'file')}"
        return stated if is_statement else names.prose(value)
    if place in _REMARKS:
        return names.remark(value)
    return release_of(value) if name == "kernel" else names.prose(value)
