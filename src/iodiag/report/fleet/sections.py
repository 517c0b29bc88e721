"""What the fleet report says beside its troubles, as spans and tables that the renderers draw.

Every list is cut where a reader stops reading, and says how many it left out and where they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from iodiag.model.fleet import Beginning, CommonChange, FleetReport, Outlier, Shared
from iodiag.model.units import KB_PER_MB
from iodiag.report import wording
from iodiag.report.document import TextTable
from iodiag.report.fleet.groups import CHANGES_SHOWN, DEVICES_SHOWN, linked
from iodiag.report.wording import Span, Spans

SILENT_SHOWN = 60

HARM_NOTE = (
    "The most severe troubles stand first, and of one severity the most harmful, symptoms behind causes. "
    "Harm is severity (critical 100, warning 10, notice 1) × confidence (high 1, medium 0.6, low 0.3) × the "
    "share of the day it lasted, at least one hour (without a clock, the whole day), added up over hosts and "
    "days. Several devices of a host count once a day. What another finding explains, and advice on reading "
    "the numbers, is no harm."
)

CHANGE_NOTE = (
    "A trouble began on a day when it was found there and the last judged day before was clear. p is the "
    "chance that so many of these beginnings fall on one day if each could as well have fallen on any "
    "other day (hypergeometric); it says nothing of the cause, and a timetable that all hosts share looks "
    "the same. What is listed keeps the false discoveries among all days and rules below 5 % "
    "(Benjamini-Hochberg)."
)

PEER_NOTE = (
    "Latency at the same requests in flight and request size, against devices of the same role, model, "
    "firmware and kind. p is how often a device like its peers would stand this far out if such devices "
    "scatter like a bell curve as wide as these do; it is not the chance that the device is healthy. q is "
    "the share of false discoveries among all devices at least this far out (Benjamini-Hochberg, listed up "
    "to 0.05). In groups of 3 or 4 there is no test, only the ratio: confirm it before acting."
)

BASELINE_NOTE = (
    "Each device against its own past: what the same load took at that hour of the week (from 21 days on), "
    "of the day (from 5 days on), or over the whole archive. What recurs at the same hours is not listed."
)

WINDOW_NOTE = (
    "From 4 days (or weeks) on: hours that stand out on 70 % of them by 3 times what half of the hours show, "
    "with at most half as much on either side. What comes at a fixed hour is a job: a backup, a check of an "
    "array, fstrim; `systemctl list-timers` and crontabs name it. Hours are of the clock that the samples "
    "show, of sa files UTC. Chance is how many windows would agree as often by chance on that host."
)


@dataclass(frozen=True)
class Change:
    """One change that many hosts saw, ready to draw."""

    number: int
    heading: Spans
    severity: str
    facts: tuple[tuple[str, Spans], ...]


def changes(report: FleetReport) -> list[Change]:
    """What began on many hosts at once."""
    return [_change(number, one) for number, one in enumerate(report.changes[:CHANGES_SHOWN], 1)]


def changes_left_out(report: FleetReport) -> str:
    """How many changes are not shown."""
    return _left_out(len(report.changes), CHANGES_SHOWN, "change", "the JSON report")


def _change(number: int, change: CommonChange) -> Change:
    lead = change.beginnings[0]
    also = [wording.name(part.rule) for part in change.beginnings[1:] if part.rule != lead.rule]
    heading = (
        Span(f"{wording.visible(change.day, wording.NAME_LIMIT)}: "),
        wording.name(lead.rule),
        *((Span(" and "), *wording.joined([(one,) for one in also], 3)) if also else ()),
        Span(f" began on {wording.plural(len(change.hosts), 'host')}"),
    )
    facts: list[tuple[str, Spans]] = [
        ("What", wording.joined([_beginning(part) for part in change.beginnings], 6))
    ]
    for shared in change.shared:
        facts.append(("In common", _shared(shared)))
    if not change.shared:
        facts.append(("In common", (Span("nothing that the inputs state, beyond chance"),)))
    return Change(number, heading, lead.severity, tuple(facts))


def _beginning(part: Beginning) -> Spans:
    kind = wording.visible(part.kind, wording.NAME_LIMIT)
    hosts = f"{wording.count(part.hosts)} of {wording.count(part.at_risk)} hosts that were clear of it"
    chance = f"the other days bring {wording.number(part.expected)}; {_chance(part.p_value)}"
    return (wording.name(part.rule), Span(f" ({kind}): {hosts}, where {chance}"))


def _shared(shared: Shared) -> Spans:
    became = (wording.name(shared.before), Span(" became ")) if shared.before else (Span("is "),)
    counted = (
        f" on {wording.count(shared.hosts)} of these {wording.count(shared.of_hosts)} hosts, and on "
        f"{wording.count(shared.elsewhere)} of the {wording.count(shared.of_elsewhere)} others"
    )
    what = f"{wording.visible(shared.attribute, wording.NAME_LIMIT)} "
    on_that_day = " on that day" if shared.before else ""
    return (Span(what), *became, wording.name(shared.value), Span(f"{on_that_day}{counted}"))


def _chance(p_value: float) -> str:
    """A p-value, never as a zero."""
    if math.isnan(p_value):
        return "no test"
    if p_value >= 1e-4:
        return f"p = {wording.number(p_value)}"
    return f"p < 10⁻{_raised(min(300, math.floor(-math.log10(max(p_value, 1e-300)))))}"


def _raised(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def outliers(report: FleetReport, most: int) -> TextTable:
    """Devices unlike their peers."""
    rows = [_outlier(one) for one in report.outliers[:most]]
    head = ("Host", "Device", "Against", "Latency", "Hours", "Chance", "Confidence")
    rest = _left_out(report.totals.outliers, len(rows), "device", "`hours.parquet`")
    return TextTable(head, tuple(rows), left_out=rest)


def _outlier(one: Outlier) -> tuple[Spans, ...]:
    times = f"{wording.number(one.ratio)}×" if one.ratio >= 1 else f"{wording.number(1 / one.ratio)}× faster"
    latency = (
        f"{times}: {_direction(one.direction)} {wording.number(one.latency_ms)} ms, "
        f"expected {wording.number(one.expected_ms)}"
    )
    chance = _chance(one.p_value)
    if not math.isnan(one.p_value):
        chance = f"z {wording.number(one.z)}, {chance}, q{_chance(one.q_value)[1:]}"
    return (
        (linked(one.host, one.report),),
        (wording.name(one.device),),
        (Span(f"{wording.plural(one.peers, 'peer')}: {wording.visible(one.group)}"),),
        (Span(latency),),
        (Span(f"{100 * one.share:.0f} % of {wording.count(one.windows)}"),),
        (Span(chance),),
        (Span(one.confidence),),
    )


def _direction(word: str) -> str:
    return {"read": "reads", "write": "writes", "mixed": "requests"}.get(
        word, wording.visible(word, wording.NAME_LIMIT)
    )


def departures(report: FleetReport, most: int) -> TextTable:
    """Devices unlike their own past."""
    rows = []
    for one in report.departures[:most]:
        latency = (
            f"{wording.number(one.ratio)}×: {_direction(one.direction)} {wording.number(one.latency_ms)} ms, "
            f"usually {wording.number(one.baseline_ms)}"
        )
        until = "still so when the data ends" if one.is_lasting else f"until {_clock(one.end)}"
        rows.append(
            (
                (linked(one.host, one.report),),
                (wording.name(one.device),),
                (Span(latency),),
                (Span(f"{_clock(one.start)}, {until}"),),
                (Span(wording.count(one.hours)),),
                (Span(f"{wording.plural(one.baseline_hours, 'hour')} of {_basis(one.basis)}"),),
            )
        )
    head = ("Host", "Device", "Latency", "Since", "Hours", "What is usual rests on")
    rest = _left_out(report.totals.departures, len(rows), "stretch", "`hours.parquet`", "stretches")
    return TextTable(head, tuple(rows), frozenset({4}), rest)


def windows(report: FleetReport, most: int) -> TextTable:
    """Load or slowness that comes back at the same hour."""
    rows = []
    for one in report.windows[:most]:
        unit, scale = ("MB/s", KB_PER_MB) if one.quantity == "kb_per_s" else ("ms per request", 1.0)
        level = f"{wording.number(one.value / scale)} {unit}, usually {wording.number(one.usual / scale)}"
        days = wording.visible(one.days, wording.NAME_LIMIT)
        rows.append(
            (
                (linked(one.host, one.report),),
                wording.names(one.devices, DEVICES_SHOWN),
                (Span(f"{wording.visible(one.begin)} to {wording.visible(one.end)}"),),
                (Span(f"{wording.count(one.seen)} of {wording.count(one.of)} {days}"),),
                (Span(f"{_direction(one.direction)} {level}"),),
                (Span(wording.number(one.chance) if one.chance >= 0.001 else "below 0.001"),),
            )
        )
    head = ("Host", "Devices", "Between", "On", "What it does then", "Chance")
    rest = _left_out(report.totals.windows, len(rows), "window", "the JSON report")
    return TextTable(head, tuple(rows), frozenset({5}), rest)


def _clock(stamp: str) -> str:
    return wording.visible(stamp, wording.NAME_LIMIT).replace("T", " ")[:16]


def _basis(basis: str) -> str:
    return {
        "archive": "the archive",
        "hour of the day": "that hour",
        "hour of the week": "that hour of the week",
    }.get(basis, wording.visible(basis, wording.NAME_LIMIT))


def failed(report: FleetReport) -> TextTable:
    """Inputs that were not read whole."""
    rows = [
        (
            (Span(wording.visible(one.status, wording.NAME_LIMIT)),),
            (Span(wording.count(one.inputs)),),
            wording.prose(one.reason),
            wording.names(one.examples),
        )
        for one in report.failed
    ]
    shown = sum(one.inputs for one in report.failed)
    rest = _left_out(report.totals.failed, shown, "input", "`manifest.parquet`")
    return TextTable(("Status", "Inputs", "Why", "For example"), tuple(rows), frozenset({1}), rest)


def unjudged(report: FleetReport) -> TextTable:
    """Rules that reached no verdict on some hosts."""
    rows = [
        (
            (wording.name(one.rule),),
            (Span(f"{wording.count(one.hosts)} of {wording.count(one.of_hosts)}"),),
            wording.prose(one.reason),
        )
        for one in report.unjudged
    ]
    return TextTable(("Rule", "Hosts never judged", "Most often because"), tuple(rows), frozenset({1}))


def silent(report: FleetReport) -> Spans:
    """The hosts without data on the last day, by the last day that they have."""
    shown = [(wording.name(one.host), Span(f" ({one.last})")) for one in report.silent]
    spans = wording.joined(shown, SILENT_SHOWN)
    more = report.totals.silent - len(report.silent)
    return (
        spans
        if more <= 0 or len(shown) > SILENT_SHOWN
        else (*spans, Span(f" and {wording.count(more)} more"))
    )


def remarks(report: FleetReport) -> Iterable[Spans]:
    """What was not compared, and why."""
    return [wording.prose(text) for text in report.remarks]


def limits(report: FleetReport) -> Iterator[tuple[str, str]]:
    """The numbers that decided."""
    for name, value in report.limits.items():
        yield wording.visible(name, wording.NAME_LIMIT), wording.number(value)


def _left_out(total: int, shown: int, noun: str, where: str, nouns: str | None = None) -> str:
    more = total - shown
    return f"{wording.plural(more, noun, nouns)} more: {where} has all." if more > 0 else ""
