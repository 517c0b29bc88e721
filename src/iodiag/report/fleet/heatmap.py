"""The heatmap of hosts and days, ready to draw: a letter, a colour and words for each host-day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from iodiag.model.fleet import DayCell, FleetReport, Heatmap
from iodiag.report import wording
from iodiag.report.document import TextTable
from iodiag.report.wording import Span

LETTERS = {"critical": "C", "warning": "W", "notice": "n", "clear": "·", "unjudged": "?"}
KEY = (
    ("critical", "critical"),
    ("warning", "warning"),
    ("notice", "notice"),
    ("clear", "no trouble found"),
    ("unjudged", "not judged"),
)
"""The tones of cells, the worst first, and what each means. Where a host has no data, a cell is empty."""


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True)
class DrawnCell:
    """One host-day: the tone of its colour, its letter, its words, and its report."""

    tone: str
    letter: str
    words: str
    href: str


@dataclass(frozen=True)
class DrawnRow:
    """One host; None where it has no data."""

    host: Span
    cells: tuple[DrawnCell | None, ...]


@dataclass(frozen=True)
class DrawnHeatmap:
    """The heatmap. `days` are the heads of the columns, `key` what its tones mean."""

    days: tuple[str, ...]
    rows: tuple[DrawnRow, ...]
    key: tuple[DrawnCell, ...]
    left_out: str


def drawn(report: FleetReport) -> DrawnHeatmap:
    """All that the page shows of the heatmap."""
    shown = report.heatmap
    rows = tuple(
        DrawnRow(
            wording.name(row.host),
            tuple(
                _cell(cell, day) if cell else None for cell, day in zip(row.cells, shown.days, strict=True)
            ),
        )
        for row in shown.rows
    )
    seen = {cell.tone for row in rows for cell in row.cells if cell}
    key = tuple(DrawnCell(tone, LETTERS[tone], words, "") for tone, words in KEY if tone in seen)
    return DrawnHeatmap(tuple(map(_day_words, shown.days)), rows, key, _left_out(shown))


def _cell(cell: DayCell, day: str) -> DrawnCell:
    tone = cell.severity or cell.state
    said = f"{tone}: {', '.join(cell.rules)}" if cell.rules else dict(KEY)[tone]
    words = wording.visible(f"{day}: {said}", 4 * wording.NAME_LIMIT)
    return DrawnCell(tone, LETTERS[tone], words, cell.report)


def _day_words(day: str) -> str:
    """A day short enough for a narrow column: Mar 2."""
    try:
        at = date.fromisoformat(day)
    except ValueError:
        return wording.visible(day, wording.NAME_LIMIT)
    return f"{_MONTHS[at.month - 1]} {at.day}"


def _left_out(shown: Heatmap) -> str:
    parts = []
    if shown.hosts_left_out:
        parts.append(wording.plural(shown.hosts_left_out, "host"))
    if shown.days_left_out:
        parts.append(wording.plural(shown.days_left_out, "earlier day"))
    return f"{' and '.join(parts)} more: `findings.parquet` has all." if parts else ""


def as_table(report: FleetReport, most_hosts: int, most_days: int) -> TextTable:
    """The letters as a plain table of the first hosts and the last days."""
    shown = report.heatmap
    rows = tuple(
        ((wording.name(row.host),), *((Span(letter),) for letter in _letters(row.cells[-most_days:])))
        for row in shown.rows[:most_hosts]
    )
    days = map(_day_words, shown.days[-most_days:])
    hosts = shown.hosts_left_out + len(shown.rows) - len(rows)
    rest = f"{wording.plural(hosts, 'more host')}: the page or `findings.parquet`." if hosts > 0 else ""
    return TextTable(("Host", *days), rows, left_out=rest)


def _letters(cells: tuple[DayCell | None, ...]) -> Iterator[str]:
    for cell in cells:
        yield LETTERS[cell.severity or cell.state] if cell else ""
