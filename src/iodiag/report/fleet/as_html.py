"""The fleet report as one HTML file that needs nothing else, in the look of the report of one host.

What comes out of captures passes `_text.visible` and jinja2's escaping; nothing else is put in.
"""

from __future__ import annotations

from dataclasses import dataclass

from iodiag.model.fleet import Cell, FleetReport
from iodiag.report import templates as _templates
from iodiag.report import text as _text
from iodiag.report.fleet import outline as _fleet
from iodiag.report.text import Span, Spans

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
    return _templates.template("fleet.html").render(
        css=_templates.css(),
        policy=_templates.policy(),
        plain=_text.plain,
        title=_fleet.title(report),
        headline=_fleet.headline(report),
        overview=_fleet.overview(report),
        worst=_fleet.worst(report),
        hosts=_fleet.host_rows(report, HOSTS_SHOWN),
        hosts_left_out=_text.prose(_fleet.hosts_left_out(report, HOSTS_SHOWN)),
        harm_note=_fleet.HARM_NOTE,
        changes=_fleet.changes(report),
        changes_left_out=_fleet.changes_left_out(report),
        change_note=_fleet.CHANGE_NOTE,
        troubles=_fleet.troubles(report),
        matrix=_matrix(report),
        onsets=_fleet.onsets(report, ROWS_SHOWN),
        outliers=_fleet.outliers(report, ROWS_SHOWN),
        peer_note=_fleet.PEER_NOTE,
        departures=_fleet.departures(report, ROWS_SHOWN),
        baseline_note=_fleet.BASELINE_NOTE,
        failed=_fleet.failed(report),
        unjudged=_fleet.unjudged(report),
        silent=_fleet.silent(report),
        remarks=list(_fleet.remarks(report)),
        limits=list(_fleet.limits(report)),
    )


def _matrix(report: FleetReport) -> _Matrix:
    rows = tuple(
        _Row(
            _fleet.linked(row.host, row.report),
            tuple((_tone(cell), _fleet.cell_words(cell)) for cell in row.cells),
        )
        for row in report.matrix.rows
    )
    rules = tuple(_text.visible(rule, _text.NAME_LIMIT) for rule in report.matrix.rules)
    return _Matrix(rules, rows, _text.prose(_fleet.matrix_left_out(report)))


def _tone(cell: Cell) -> str:
    return cell.severity or "quiet"
