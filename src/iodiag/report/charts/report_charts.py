"""Which charts a report gets, and the charts as files to lie beside its Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iodiag.model.report import Report
from iodiag.report import comparison_sections, finding_sections
from iodiag.report.finding_sections import Part

if TYPE_CHECKING:
    from iodiag.report.charts.chart import Picture

Key = tuple[str, int]
"""The section that a chart stands in, `moved` or `finding`, and its number there."""

CHARTS_SHOWN = 30


@dataclass(frozen=True)
class ChartFile:
    """A PNG to write beside the report, under a name that nothing of a capture is part of."""

    name: str
    caption: str
    description: str
    png: bytes


def wanted(report: Report, parts: Iterable[Part]) -> Iterator[tuple[Key, list[Picture]]]:
    """What gets charts: the sections of a comparison, then the findings, each with its key."""
    from iodiag.report.charts import comparison_charts, finding_charts

    if report.comparison is not None:
        for section in comparison_sections.sections(report, report.comparison):
            found = comparison_charts.pictures(report, report.comparison, section.subject)
            yield ("moved", section.number), found
    for part in parts:
        yield ("finding", part.number), finding_charts.pictures(report, part.finding)


def chart_files(report: Report, stem: str) -> dict[Key, list[ChartFile]]:
    """The charts of a report as files called `stem`-NUMBER-KIND.png; the same picture is one file.

    The first CHARTS_SHOWN of them: the findings come in order of harm.
    """
    by_key: dict[Key, list[ChartFile]] = {}
    drawn: dict[Picture, ChartFile] = {}
    for key, pictures in wanted(report, finding_sections.parts(report)):
        for at, picture in enumerate(pictures):
            if picture not in drawn:
                if len(drawn) == CHARTS_SHOWN:
                    return by_key
                drawn[picture] = _file(picture, f"{stem}-{_place(key)}-{'abcdefgh'[at]}")
            by_key.setdefault(key, []).append(drawn[picture])
    return by_key


def _place(key: Key) -> str:
    section, number = key
    return str(number) if section == "finding" else f"{section}-{number}"


def _file(picture: Picture, start: str) -> ChartFile:
    from iodiag.report.charts import layout, png

    name = f"{start}-{type(picture).__name__.lower()}.png"
    return ChartFile(name, picture.caption, picture.description, png.render(layout.drawing(picture)))
