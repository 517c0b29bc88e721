"""The fleet report as Markdown, short enough to be pasted into a ticket."""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.model.fleet import FleetReport, Trouble
from iodiag.report import first_screen as of_host
from iodiag.report import wording
from iodiag.report.as_markdown import inline, paragraph, screen_lines, table_lines
from iodiag.report.document import TextTable
from iodiag.report.fleet import first_screen, groups, heatmap, sections
from iodiag.report.wording import Span, Spans

HOSTS_SHOWN, ROWS_SHOWN, DAYS_SHOWN, NAMED = 30, 20, 14, 12


def render(report: FleetReport) -> str:
    """The whole report, but for what the page folds: of that a line says where it is."""
    lines = [
        *screen_lines(first_screen.screen(report), {}, None),
        *_troubles(report),
        *_heatmap(report),
        *(_changes(report) if report.changes else ()),
        *_section("Unlike their peers", sections.outliers(report, ROWS_SHOWN), sections.PEER_NOTE),
        *_section("Unlike their own past", sections.departures(report, ROWS_SHOWN), sections.BASELINE_NOTE),
        *_section("At the same hour", sections.windows(report, ROWS_SHOWN), sections.WINDOW_NOTE),
        *_section("Inputs that were not read whole", sections.failed(report)),
        *_rest(report),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _troubles(report: FleetReport) -> Iterator[str]:
    """What costs somebody something in full, the rest with a line each."""
    yield from ("", "## Troubles", "")
    if not report.troubles:
        yield "No trouble was found."
    for place, (trouble, group) in enumerate(zip(report.troubles, groups.groups(report), strict=True)):
        heading = (Span(f"{trouble.severity.capitalize()}: "), *group.title)
        yield f"- **{inline(heading)}**: {inline((*group.scope, Span('.')))}"
        if place:  # the number of the first stands on the first screen
            yield f"  {inline(groups.measured(trouble.affected[0]))}"
        if trouble.hosts > 1:
            yield f"  - Also on {inline(_others(trouble))}"
        if place and trouble.hosts_hurt:
            yield from _action(trouble)


def _others(trouble: Trouble) -> Spans:
    """The other hosts with their reports."""
    shown = [(groups.linked(one.host, one.report),) for one in trouble.affected[1:][:NAMED]]
    more = trouble.hosts - 1 - len(shown)
    return (*wording.joined(shown), *((Span(f" and {wording.count(more)} more"),) if more else ()))


def _action(trouble: Trouble) -> Iterator[str]:
    """The first step; that of the first trouble stands on the first screen."""
    if trouble.remedy:
        yield f"  - {inline(wording.prose(trouble.remedy[0]))}"
    commands = of_host.first_commands(trouble.confirm, trouble.affected[0].devices)
    if commands:
        yield f"  - Confirm: {inline(wording.joined([(Span(text, is_code=True),) for text in commands[:1]]))}"


def _heatmap(report: FleetReport) -> Iterator[str]:
    table = heatmap.as_table(report, HOSTS_SHOWN, DAYS_SHOWN)
    if table.rows:
        yield from ("", "## Hosts and days", "", *table_lines(table), "")
        yield (
            ", ".join(f"{heatmap.LETTERS[tone]} {words}" for tone, words in heatmap.KEY) + "; empty: no data."
        )


def _section(heading: str, table: TextTable, note: str = "") -> Iterator[str]:
    """A heading with its table; one without rows is left out."""
    if table.rows:
        yield from ("", f"## {heading}", "", *table_lines(table))
        if note:
            yield from ("", inline(wording.prose(note)))


def _changes(report: FleetReport) -> Iterator[str]:
    yield from ("", "## What began on many hosts at once")
    for change in sections.changes(report):
        yield from ("", f"### {inline(change.heading)}", "")
        for label, value in change.facts:
            yield f"- **{label}:** {inline(value)}"
    yield from ("", inline(wording.prose(sections.CHANGE_NOTE)))


def _rest(report: FleetReport) -> Iterator[str]:
    if report.silent:
        yield from ("", "## Hosts without data on the last day", "", inline(sections.silent(report)))
    remarks = list(sections.remarks(report))
    if report.unjudged:
        count = wording.plural(len(report.unjudged), "rule")
        remarks.append(
            wording.prose(f"{count} had no verdict on some hosts: the page and `outcomes.parquet` say why.")
        )
    if remarks:
        yield from ("", "## Remarks", "", *(f"- {paragraph(remark)}" for remark in remarks))
