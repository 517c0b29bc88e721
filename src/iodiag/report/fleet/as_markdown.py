"""The fleet report as Markdown, short enough to be pasted into a ticket."""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.model.fleet import FleetReport
from iodiag.report import wording
from iodiag.report.as_markdown import inline, table_lines
from iodiag.report.document import TextTable
from iodiag.report.fleet import sections

HOSTS_SHOWN, ROWS_SHOWN = 30, 20


def render(report: FleetReport) -> str:
    """The whole report."""
    lines = [
        f"# {inline(sections.title(report))}",
        "",
        f"**{inline(sections.headline(report))}**",
        "",
        *(f"- **{label}:** {inline(value)}" for label, value in sections.overview(report)),
        *(_changes(report) if report.changes else ()),
        *_section(
            "Hosts by harm",
            sections.hosts_table(report, HOSTS_SHOWN),
            "No trouble was found.",
            sections.HARM_NOTE,
        ),
        *_section("Troubles over the fleet", sections.troubles(report), "None."),
        *_section("Hosts and rules", sections.matrix(report), ""),
        *(() if report.changes else _changes(report)),
        *_section("What began on single hosts", sections.onsets(report, ROWS_SHOWN), "Nothing began."),
        *_section(
            "Unlike their peers", sections.outliers(report, ROWS_SHOWN), "No device.", sections.PEER_NOTE
        ),
        *_section(
            "Unlike their own past",
            sections.departures(report, ROWS_SHOWN),
            "No device.",
            sections.BASELINE_NOTE,
        ),
        *_section("Inputs that were not read whole", sections.failed(report), "None."),
        *_section(
            "Could not be judged, and why",
            sections.unjudged(report),
            "Every rule reached a verdict on every host.",
        ),
        *_rest(report),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(heading: str, table: TextTable, without: str, note: str = "") -> Iterator[str]:
    """A heading with its table; one without rows says so, or is left out where nothing is to be said."""
    lines = list(table_lines(table))
    if lines:
        yield from ("", f"## {heading}", "", *lines)
    elif without:
        yield from ("", f"## {heading}", "", without)
    if note and lines:
        yield from ("", inline(wording.prose(note)))


def _changes(report: FleetReport) -> Iterator[str]:
    yield from ("", "## What began on many hosts at once")
    for change in sections.changes(report):
        yield from ("", f"### {inline(change.heading)}", "")
        for label, value in change.facts:
            yield f"- **{label}:** {inline(value)}"
        yield f"- **Hosts:** {inline(change.hosts)}"
    yield from ("", inline(wording.prose(sections.CHANGE_NOTE if report.changes else "Nothing.")))


def _rest(report: FleetReport) -> Iterator[str]:
    if report.silent:
        yield from ("", "## Hosts without data on the last day", "", inline(sections.silent(report)))
    remarks = list(sections.remarks(report))
    if remarks:
        yield from ("", "## Remarks", "", *(f"- {inline(remark)}" for remark in remarks))
