"""Which charts a report gets, and the charts as files to lie beside its Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from iodiag.model.report import Report
from iodiag.report import comparison_sections, contents, finding_sections
from iodiag.report.charts import overview
from iodiag.report.document import Document, Key, charts_of, shortened
from iodiag.report.first_screen import PICTURE

if TYPE_CHECKING:
    from iodiag.report.charts.chart import Picture

CHARTS_SHOWN, HEATMAPS_SHOWN = 30, 4


@dataclass(frozen=True)
class ChartFile:
    """A PNG to write beside the report, under a name that nothing of a capture is part of."""

    name: str
    caption: str
    description: str
    png: bytes


def wanted(report: Report, document: Document) -> Iterator[tuple[Key, list[Picture]]]:
    """The pictures of the places for charts in a document, from the top."""
    from iodiag.report.charts import activity_chart, comparison_charts, finding_charts

    findings = dict(finding_sections.in_detail(report))
    moved = comparison_sections.shown_subjects(report.comparison) if report.comparison else []
    for key in charts_of(document):
        place, number = key
        if key == PICTURE:
            picture = overview.picture(report, finding_sections.lead(report))
            yield key, [picture] if picture else []
        elif place == "activity":
            yield key, [*islice(activity_chart.heatmaps(report), HEATMAPS_SHOWN)]
        elif place == "finding":
            yield key, finding_charts.pictures(report, findings[number])
        elif report.comparison is not None:
            pictures = comparison_charts.pictures(report, report.comparison, moved[number - 1])
            yield key, pictures[:1] if place == "moved" else pictures[1:]


def chart_files(report: Report, stem: str, full: bool = False) -> dict[Key, list[ChartFile]]:
    """The charts of a Markdown report as files called `stem`-NUMBER-KIND.png; the same picture is one file.

    The first CHARTS_SHOWN of them: the findings come in order of harm.
    """
    by_key: dict[Key, list[ChartFile]] = {}
    drawn: dict[Picture, ChartFile] = {}
    whole = contents.document(report, full)
    document = whole if full else shortened(whole, ("brief", "page"), "")
    for key, pictures in wanted(report, document):
        for at, picture in enumerate(pictures):
            if picture not in drawn:
                if len(drawn) == CHARTS_SHOWN:
                    return by_key
                drawn[picture] = _file(picture, f"{stem}-{_place(key)}-{'abcdefgh'[at]}")
            by_key.setdefault(key, []).append(drawn[picture])
    return by_key


def _place(key: Key) -> str:
    section, number = key
    return str(number) if section == "finding" else f"{section}-{number}" if number else section


def _file(picture: Picture, start: str) -> ChartFile:
    from iodiag.report.charts import layout, png

    name = f"{start}-{type(picture).__name__.lower()}.png"
    return ChartFile(name, picture.caption, picture.description, png.render(layout.drawing(picture)))
