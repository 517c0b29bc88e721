"""The report as one HTML file that needs nothing else: no script, no font, no network.

Everything that comes out of a capture passes jinja2's escaping after `wording.visible`; charts are
the only markup that is put in as it is, and `charts/svg.py` has escaped the text in them.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from iodiag.model.report import Report
from iodiag.report import appendix, comparison_sections, finding_sections, templates, wording
from iodiag.report.appendix import TextTable
from iodiag.report.charts import report_charts as charts
from iodiag.report.charts.report_charts import CHARTS_SHOWN, Key
from iodiag.report.finding_sections import Part

if TYPE_CHECKING:
    from iodiag.report.charts.chart import Picture

PAGE_BYTES = 5_000_000
MOST_ENTRIES = (None, 200, 60, 20, 5)
"""How many entries lists may have, tried in turn until the page is small enough."""

SVG_BYTES = 300_000
MARKUP_BYTES = 400
"""More than the tags around one chart take."""


@dataclass(frozen=True)
class Chart:
    """A drawn chart: an `<svg>` element, or a data address of a PNG where the SVG would be too large."""

    kind: str
    caption: str
    description: str
    svg: str = ""
    png: str = ""

    @property
    def size(self) -> int:
        """How many bytes the chart adds to the page."""
        texts = (self.svg, self.png, self.caption, self.description)
        return sum(len(text.encode()) for text in texts) + MARKUP_BYTES


@dataclass(frozen=True)
class Drawn:
    """The charts of one finding, and a remark where one is shown elsewhere or left out."""

    charts: tuple[Chart, ...]
    remark: str = ""


def render(report: Report, with_charts: bool = True) -> str:
    """The whole report as a page of at most PAGE_BYTES.

    Lists that would exceed that are cut, and charts left out; the page says so.
    """
    template = templates.template("page.html")
    parts = finding_sections.parts(report)
    words = _words(report, parts)
    for most in MOST_ENTRIES:
        words["summary"] = finding_sections.summary_table(report, len(parts[:most]))
        shown = words if most is None else {name: _cut(value, most) for name, value in words.items()}
        page = template.render(**shown, most=most, drawn={})
        if len(page.encode()) <= PAGE_BYTES:
            break
    if not with_charts:
        return page
    room = PAGE_BYTES - len(page.encode())
    drawn = _draw(charts.wanted(report, parts[:most]), room)
    return template.render(**shown, most=most, drawn=drawn)


def _cut(value: Any, most: int) -> Any:
    """A list, a table or named tables with at most so many entries; anything else as it is."""
    if isinstance(value, TextTable):
        more = len(value.rows) - most
        if more <= 0:
            return value
        left_out = f"{wording.plural(more, 'more row')} in the JSON report. {value.left_out}".rstrip()
        return replace(value, rows=value.rows[:most], left_out=left_out)
    if isinstance(value, list):
        return [_cut(item, most) for item in value[:most]]
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], TextTable):
        return value[0], _cut(value[1], most)
    return value


def _words(report: Report, parts: list[Part]) -> dict[str, Any]:
    """All that the page shows but its charts."""
    return dict(
        **_compared(report),
        css=templates.css(),
        policy=templates.policy(),
        title=finding_sections.title(report),
        plain=wording.plain,
        is_link=wording.is_link,
        headline=finding_sections.headline(report),
        verdict=finding_sections.verdict_word(report),
        states=appendix.states(report),
        overview=finding_sections.overview(report),
        worst=report.worst() or "clear",
        parts=parts,
        nothing_found=finding_sections.nothing_found(report),
        ignored=appendix.ignored(report),
        clear=appendix.clear(report),
        unjudged=appendix.unjudged(report),
        devices=appendix.stacked(appendix.devices(report)),
        summary_note=wording.SUMMARY_NOTE,
        sources=appendix.sources(report),
        ledgers=appendix.ledgers(report),
        unread=appendix.unread(report),
        notes=appendix.notes(report),
        thresholds=appendix.thresholds(report),
    )


def _compared(report: Report) -> dict[str, Any]:
    """What the page says of a comparison; nothing where there is none."""
    compared = report.comparison
    if compared is None:
        return {"compared": None}
    return {
        "compared": compared,
        "settings": comparison_sections.settings(report, compared),
        "moved": comparison_sections.sections(report, compared),
        "others": comparison_sections.others(compared),
        "uncompared": comparison_sections.uncompared(compared),
        "fates": comparison_sections.fates(report, compared),
        "gone": comparison_sections.gone(compared),
        "method": list(comparison_sections.method(compared)),
        "devices_before": appendix.stacked(appendix.devices(compared.before)),
        "sources_before": appendix.sources(compared.before),
        "ledgers_before": appendix.ledgers(compared.before),
        "unread_before": appendix.unread(compared.before),
        "notes_before": appendix.notes(compared.before),
    }


def _draw(wanted: Iterable[tuple[Key, list[Picture]]], room: int) -> dict[Key, Drawn]:
    """The charts by their key; the same picture is drawn once."""
    drawn: dict[Key, Drawn] = {}
    first_shown: dict[Picture, Key] = {}
    total = 0
    for key, pictures in wanted:
        shown: list[Chart] = []
        remarks: list[str] = []
        for picture in pictures:
            if picture in first_shown:
                remarks.append(f"The chart is the same as that of finding {first_shown[picture][1]}.")
                continue
            chart = _chart(picture) if room > 0 and total < CHARTS_SHOWN else None
            if chart is None or chart.size > room:
                remarks.append("A chart was left out to keep this file small.")
                # drawing takes longer than all the rest: the first that does not fit is the last drawn
                room = 0
                continue
            room -= chart.size
            total += 1
            first_shown[picture] = key
            shown.append(chart)
        drawn[key] = Drawn(tuple(shown), " ".join(dict.fromkeys(remarks)))
    return drawn


def _chart(picture: Picture) -> Chart:
    from iodiag.report.charts import layout, png, svg

    kind = type(picture).__name__.lower()
    drawing = layout.drawing(picture)
    element = svg.render(drawing)
    if len(element.encode()) <= SVG_BYTES:
        return Chart(kind, picture.caption, picture.description, svg=element)
    address = "data:image/png;base64," + b64encode(png.render(drawing)).decode("ascii")
    return Chart(kind, picture.caption, picture.description, png=address)
