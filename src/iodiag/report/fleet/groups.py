"""The troubles of a fleet, ready to draw: each with its hosts, and what to do about it said once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from iodiag.model.fleet import AffectedHost, FleetReport, Trouble
from iodiag.report import wording
from iodiag.report.document import Block, Bullets, Commands, Section, TextTable, said
from iodiag.report.finding_sections import command
from iodiag.report.wording import Span, Spans

UNDATED = "undated"
CHANGES_SHOWN, DEVICES_SHOWN, FEWEST_FOR_PERCENT = 20, 4, 10


@dataclass(frozen=True)
class Group:
    """One trouble: its title, where and when it is, the worst number, and what opens below them."""

    anchor: str
    severity: str
    title: Spans
    scope: Spans
    worst: Spans
    blocks: tuple[Block, ...]


def groups(report: FleetReport) -> list[Group]:
    """All troubles, the most severe first."""
    return [
        Group(
            anchor=anchor(number, trouble),
            severity=trouble.severity,
            title=wording.prose(trouble.title or trouble.rule),
            scope=scope(trouble, report.totals.last),
            worst=measured(trouble.affected[0], is_linked=False),
            blocks=tuple(_blocks(report, trouble)),
        )
        for number, trouble in enumerate(report.troubles, 1)
    ]


def anchor(number: int, trouble: Trouble) -> str:
    """The address of a trouble in the page."""
    words = re.sub(r"[^a-z0-9]+", "-", trouble.rule.lower()).strip("-")[:60]
    return f"trouble-{number}-{words}" if words else f"trouble-{number}"


def scope(trouble: Trouble, last_day: str) -> Spans:
    """The rule, on how many of the hosts that it could judge, and when."""
    return (wording.name(trouble.rule), Span(f" on {share(trouble)}, {when(trouble, last_day)}"))


def share(trouble: Trouble) -> str:
    """On how many hosts a trouble was found, of those judged."""
    part, whole = trouble.hosts, trouble.hosts_judged
    percent = f" ({100 * part / whole:.0f} %)" if whole >= FEWEST_FOR_PERCENT else ""
    grave = f", {wording.count(trouble.hosts_hurt)} of them warning or worse"
    is_mixed = 0 < trouble.hosts_hurt < part
    judged = f"{wording.plural(whole, 'host')} judged{percent}"
    return f"{wording.count(part)} of {judged}{grave if is_mixed else ''}"


def when(trouble: Trouble, last_day: str) -> str:
    """Since when a trouble is somewhere; of one that is over, when it was first and last found."""
    first, last = (wording.visible(day, wording.NAME_LIMIT) for day in (trouble.first, trouble.last))
    if trouble.hosts > 1 and first < trouble.since and last == last_day:
        return f"{period(trouble, last_day)}, first on {first}"
    if trouble.hosts > 1 and first < last < last_day:
        return f"first on {first}{' or before' if trouble.is_older else ''}, last on {last}"
    return period(trouble, last_day)


def period(one: Trouble | AffectedHost, last_day: str) -> str:
    """Since when, and until when where it is over."""
    since, last = (wording.visible(day, wording.NAME_LIMIT) for day in (one.since, one.last))
    if since == last:
        return UNDATED if since == UNDATED else f"on {since}"
    if last == last_day:
        return f"since {since}{' or before' if one.is_older else ''}, still so"
    return f"from {since}{' or before' if one.is_older else ''} to {last}"


def measured(one: AffectedHost, is_linked: bool = True) -> Spans:
    """The worst number of a host, with its devices where that does not name them, and its report."""
    is_named = not one.devices or one.devices[0] in re.findall(r"[\w.-]+", one.evidence[: wording.NAME_LIMIT])
    devices: Spans = () if is_named else (Span(" "), *wording.names(one.devices, DEVICES_SHOWN))
    host = linked(one.host, one.report if is_linked else "")
    return (host, *devices, Span(": "), *wording.prose(one.evidence))


def linked(text: str, href: str) -> Span:
    """A name that leads to a report."""
    return Span(wording.name(text).text, is_code=True, href=href)


def _blocks(report: FleetReport, trouble: Trouble) -> Iterator[Block]:
    """What to do, how to confirm it, and the hosts."""
    if trouble.remedy:
        yield Section((Span("What to do"),), (Bullets(tuple(map(said, trouble.remedy)), is_numbered=True),))
    if trouble.confirm:
        heading = (Span("Confirm it, here on "), wording.name(trouble.affected[0].host))
        yield Section(heading, (Commands(tuple(map(command, trouble.confirm))),))
    hosts = "Hosts, the worst first" if trouble.hosts > 1 else "Host"
    yield Section((Span(hosts),), (_hosts(report, trouble),))


def _hosts(report: FleetReport, trouble: Trouble) -> TextTable:
    """The hosts of a trouble with their reports."""
    rows = []
    for place, one in enumerate(trouble.affected):
        address: Spans = (Span(" ("), wording.name(one.address), Span(")")) if one.address else ()
        evidence = wording.prose(one.evidence) if place else (Span("as above"),)
        rows.append(
            (
                (linked(one.host, one.report),),
                (Span(f"{one.severity}, {one.confidence}"),),
                wording.names(one.devices, DEVICES_SHOWN) or (Span("whole host"),),
                (*evidence, *address),
                (Span(period(one, report.totals.last)), *_together(report, one)),
                (Span(days(one)),),
            )
        )
    more = trouble.hosts - len(rows)
    rest = f"{wording.plural(more, 'more host')}: `findings.parquet` has all." if more > 0 else ""
    head = ("Host", "Severity, confidence", "Devices", "Measured", "When", "Days with it")
    return TextTable(head, tuple(rows), left_out=rest)


def days(one: AffectedHost) -> str:
    """On how many of its days a host has a trouble."""
    if one.since == UNDATED:
        return UNDATED
    also = ", and undated captures" if one.in_undated else ""
    return f"{wording.count(one.days)} of {wording.count(one.days_read)}{also}"


def _together(report: FleetReport, one: AffectedHost) -> Spans:
    """With how many others it began, which leads to that change."""
    others = len(report.changes[one.change - 1].hosts) - 1 if one.change else 0
    if not others or one.change is None:
        return ()
    href = f"#change-{one.change}" if one.change <= CHANGES_SHOWN else ""
    return (Span(", "), Span(f"began with {wording.count(others)} other hosts", href=href))
