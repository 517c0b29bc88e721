"""The fleet report as spans and tables; the renderers of each format only draw them.

Every list is cut where a reader stops reading, and says how many it left out and where they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from iodiag.model.fleet import Beginning, Cell, CommonChange, FleetReport, HarmedHost, Outlier, Shared
from iodiag.report import wording
from iodiag.report.document import TextTable
from iodiag.report.wording import Span, Spans

CHANGES_SHOWN, HOSTS_LISTED, SILENT_SHOWN = 20, 60, 60

HARM_NOTE = (
    "Harm adds up, over days and over troubles that nothing else explains: severity (critical 100, "
    "warning 10, notice 1) × confidence (high 1, medium 0.6, low 0.3) × the share of the day it lasted, at "
    "least one hour (without a clock, the whole day). Several devices of a host count once a day, "
    "advice on reading the numbers not at all."
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


@dataclass(frozen=True)
class HostRow:
    """One host of the ranking, ready to draw.

    `together` says with how many others its trouble began, `change` is the number of that change where
    it is shown, else 0.
    """

    rank: int
    host: Span
    severity: str
    confidence: str
    cause: Spans
    rule: Spans
    others: Spans
    since: str
    days: str
    change: int
    together: str
    evidence: Spans
    address: Spans
    harm: str


@dataclass(frozen=True)
class Change:
    """One change that many hosts saw, ready to draw."""

    number: int
    heading: Spans
    severity: str
    facts: tuple[tuple[str, Spans], ...]
    hosts: Spans


def title(report: FleetReport) -> Spans:
    """Whose report it is and which days it covers."""
    totals = report.totals
    return (Span(f"Fleet report: {wording.plural(totals.hosts, 'host')}{_period(report)}"),)


def _period(report: FleetReport) -> str:
    first, last = report.totals.first, report.totals.last
    if not first:
        return ", no day stated"
    return f", {first}" if first == last else f", {first} to {last}"


def headline(report: FleetReport) -> Spans:
    """The fleet in one sentence."""
    return wording.prose(report.headline)


def worst(report: FleetReport) -> str:
    """The worst severity of any host, "clear" without."""
    return next(
        (name for name in ("critical", "warning", "notice") if report.totals.by_severity.get(name)), "clear"
    )


def overview(report: FleetReport) -> list[tuple[str, Spans]]:
    """Label and value of what stands at the top."""
    totals = report.totals
    counted = [f"{wording.count(n)} {name}" for name, n in totals.by_severity.items() if n]
    quiet = totals.hosts - sum(totals.by_severity.values())
    hosts = ", ".join([*counted, f"{wording.count(quiet)} without trouble that was found"])
    inputs = ", ".join(f"{wording.count(n)} {name}" for name, n in totals.inputs.items()) or "none"
    facts = [
        ("Hosts", f"{wording.count(totals.hosts)}: {hosts} (each by its worst finding)"),
        ("Data", f"{wording.plural(totals.host_days, 'host-day')}{_period(report)}"),
        ("Inputs", inputs),
    ]
    if totals.silent:
        facts.append(("Silent", f"{wording.plural(totals.silent, 'host')} without data on the last day"))
    facts.append(("Written by", f"iodiag {report.iodiag}"))
    return [(label, (Span(wording.visible(value)),)) for label, value in facts]


def host_rows(report: FleetReport, most: int) -> list[HostRow]:
    """The most harmed hosts."""
    last = report.totals.last
    sizes = [len(change.hosts) for change in report.changes]
    return [
        _host_row(rank, host, last, sizes[host.change - 1] - 1 if host.change else 0)
        for rank, host in enumerate(report.hosts[:most], 1)
    ]


def hosts_left_out(report: FleetReport, most: int) -> str:
    """How many harmed hosts are not shown, and where they are."""
    return _left_out(report.totals.harmed, min(most, len(report.hosts)), "harmed host", "`findings.parquet`")


def _host_row(rank: int, host: HarmedHost, last_day: str, others: int) -> HostRow:
    since = f"{host.since} or before" if host.is_older else host.since
    state = "still so" if host.last == last_day else f"last on {host.last}"
    words = f"began with {wording.count(others)} other hosts" if others else ""
    on: Spans = (Span(" on "), *wording.names(host.devices, 4)) if host.devices else ()
    return HostRow(
        rank=rank,
        host=linked(host.host, host.report),
        severity=host.severity,
        confidence=host.confidence,
        cause=wording.prose(host.title),
        rule=(wording.name(host.rule), *on),
        others=wording.names(host.others, 3),
        since=wording.visible(since, wording.NAME_LIMIT),
        days=f"{wording.count(host.days)} of {wording.plural(host.days_read, 'day')}, "
        f"{wording.visible(state)}",
        change=host.change if others and host.change and host.change <= CHANGES_SHOWN else 0,
        together=words,
        evidence=wording.prose(host.evidence),
        address=(wording.name(host.address),) if host.address else (),
        harm=wording.number(host.harm),
    )


def linked(text: str, href: str) -> Span:
    """A name that leads to a report."""
    return Span(wording.name(text).text, is_code=True, href=href)


def hosts_table(report: FleetReport, most: int) -> TextTable:
    """The ranking as a plain table."""
    rows = [
        (
            (Span(str(row.rank)),),
            (row.host,),
            (Span(f"{row.severity}, {row.confidence}"),),
            (
                *row.cause,
                Span(" ("),
                *row.rule,
                *((Span("; also "), *row.others) if row.others else ()),
                Span(")"),
            ),
            (Span(", ".join(filter(None, (row.since, row.days, row.together)))),),
            (*row.evidence, *((Span(" ("), *row.address, Span(")")) if row.address else ())),
            (Span(row.harm),),
        )
        for row in host_rows(report, most)
    ]
    head = ("#", "Host", "Severity, confidence", "From what", "Since when", "Worst evidence", "Harm")
    return TextTable(head, tuple(rows), frozenset({0, 6}), hosts_left_out(report, most))


def troubles(report: FleetReport) -> TextTable:
    """Each rule over the fleet."""
    rows = [
        (
            (wording.name(one.rule),),
            (Span(one.severity),),
            (Span(_of(one.hosts, one.hosts_judged)),),
            (Span(wording.count(one.hosts_hurt)),),
            (Span(wording.count(one.host_days)),),
            (Span(one.first if one.first == one.last else f"{one.first} to {one.last}"),),
            (Span(wording.number(one.harm)),),
        )
        for one in report.troubles
    ]
    head = ("Rule", "Worst", "Hosts, of those judged", "Warning or worse", "Host-days", "Seen", "Harm")
    return TextTable(head, tuple(rows), frozenset({2, 3, 4, 6}))


def _of(part: int, whole: int) -> str:
    share = f" ({100 * part / whole:.0f} %)" if whole else ""
    return f"{wording.count(part)} of {wording.count(whole)}{share}"


def cell_words(cell: Cell) -> str:
    """A cell of the matrix in words."""
    if cell.state == "found":
        return f"{cell.severity}, {wording.plural(cell.days, 'day')}"
    return "clear" if cell.state == "clear" else "not judged"


def matrix(report: FleetReport) -> TextTable:
    """Hosts against rules, in words."""
    rows = [
        ((linked(row.host, row.report),), *((Span(cell_words(cell)),) for cell in row.cells))
        for row in report.matrix.rows
    ]
    return TextTable(("Host", *report.matrix.rules), tuple(rows), left_out=matrix_left_out(report))


def matrix_left_out(report: FleetReport) -> str:
    """How much of hosts and rules the matrix does not show."""
    hosts = report.totals.harmed - len(report.matrix.rows)
    parts = []
    if hosts > 0:
        parts.append(wording.plural(hosts, "harmed host"))
    if report.matrix.rules_left_out:
        parts.append(wording.plural(report.matrix.rules_left_out, "rule"))
    return f"{' and '.join(parts)} more: `findings.parquet` and `outcomes.parquet` have all." if parts else ""


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
    return Change(number, heading, lead.severity, tuple(facts), wording.names(change.hosts, HOSTS_LISTED))


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


def onsets(report: FleetReport, most: int) -> TextTable:
    """What began on single hosts."""
    rows = [
        (
            (wording.name(one.host),),
            (Span(one.severity),),
            (wording.name(one.rule), Span(f" ({wording.visible(one.kind, wording.NAME_LIMIT)})")),
            (Span(one.day),),
            (Span(one.before),),
            (Span(wording.count(one.days)),),
        )
        for one in report.onsets[:most]
    ]
    head = ("Host", "Severity", "What began", "On", "Clear on", "Days with it since")
    rest = _left_out(report.totals.onsets, len(rows), "beginning", "`outcomes.parquet`")
    return TextTable(head, tuple(rows), frozenset({5}), rest)


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
        ((wording.name(one.rule),), (Span(_of(one.hosts, one.of_hosts)),), wording.prose(one.reason))
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
