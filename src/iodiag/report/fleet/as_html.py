"""The fleet report as one HTML file that needs nothing else, in the look of the report of one host.

What comes out of captures passes `wording.visible` and jinja2's escaping; nothing else is put in.
"""

from __future__ import annotations

from dataclasses import dataclass

from iodiag.model.fleet import Cell, FleetReport
from iodiag.report import templates, wording
from iodiag.report.fleet import sections
from iodiag.report.wording import Span, Spans

HOSTS_SHOWN, ROWS_SHOWN = 100, 50


@dataclass(frozen=True)
class _Row:
    host: Span
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Matrix:
    """The matrix with each cell's tone (a severity or "quiet") and its words."""

    rules: tuple[str, ...]
    rows: tuple[_Row, ...]
    left_out: Spans


def render(report: FleetReport) -> str:
    """The whole report as a page; its size depends on the caps alone, not on the fleet."""
    return templates.template("fleet.html").render(
        css=templates.css(),
        policy=templates.policy(templates.css()),
        plain=wording.plain,
        address=str,
        title=sections.title(report),
        headline=sections.headline(report),
        overview=sections.overview(report),
        worst=sections.worst(report),
        hosts=sections.host_rows(report, HOSTS_SHOWN),
        hosts_left_out=wording.prose(sections.hosts_left_out(report, HOSTS_SHOWN)),
        harm_note=sections.HARM_NOTE,
        changes=sections.changes(report),
        changes_left_out=sections.changes_left_out(report),
        change_note=sections.CHANGE_NOTE,
        troubles=sections.troubles(report),
        matrix=_matrix(report),
        onsets=sections.onsets(report, ROWS_SHOWN),
        outliers=sections.outliers(report, ROWS_SHOWN),
        peer_note=sections.PEER_NOTE,
        departures=sections.departures(report, ROWS_SHOWN),
        baseline_note=sections.BASELINE_NOTE,
        failed=sections.failed(report),
        unjudged=sections.unjudged(report),
        silent=sections.silent(report),
        remarks=list(sections.remarks(report)),
        limits=list(sections.limits(report)),
    )


def _matrix(report: FleetReport) -> _Matrix:
    rows = tuple(
        _Row(
            sections.linked(row.host, row.report),
            tuple((_tone(cell), sections.cell_words(cell)) for cell in row.cells),
        )
        for row in report.matrix.rows
    )
    rules = tuple(wording.visible(rule, wording.NAME_LIMIT) for rule in report.matrix.rules)
    return _Matrix(rules, rows, wording.prose(sections.matrix_left_out(report)))


def _tone(cell: Cell) -> str:
    return cell.severity or "quiet"
