"""The report as one HTML file that needs nothing else: no script, no font, no network.

Everything that comes out of a capture passes jinja2's escaping after `wording.visible`; charts are
the only markup that is put in as it is, and `charts/svg.py` has escaped the text in them.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iodiag.model.report import Report
from iodiag.report import contents, excerpts, templates, wording
from iodiag.report.charts import report_charts as charts
from iodiag.report.charts.report_charts import CHARTS_SHOWN
from iodiag.report.document import Block, Document, Excerpt, Key, cut

if TYPE_CHECKING:
    from iodiag.report.charts.chart import Picture

PAGE_BYTES = 5_000_000
MOST_ENTRIES = (None, 200, 60, 20, 5)
"""How many entries lists may have, tried in turn until the page is small enough."""

QUOTED_WIDTH = 104
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


def render(report: Report, with_charts: bool = True, full: bool = False) -> str:
    """The whole report as a page of at most PAGE_BYTES; in `full` nothing in it is folded.

    Lists that would exceed that are cut, and charts left out; the page says so.
    """
    template = templates.template("page.html")
    whole = contents.document(report)
    for most in MOST_ENTRIES:
        document = whole if most is None else cut(whole, most)
        words = _words(document, most, full)
        page = template.render(**words, drawn={})
        if len(page.encode()) <= PAGE_BYTES:
            break
    if not with_charts:
        return page
    room = PAGE_BYTES - len(page.encode())
    return template.render(**words, drawn=_draw(charts.wanted(report, document), room))


def _words(document: Document, most: int | None, full: bool) -> dict[str, Any]:
    """All that the page shows but its charts."""
    return dict(
        css=templates.css(),
        policy=templates.policy(templates.css()),
        plain=wording.plain,
        title=document.screen.title,
        screen=document.screen,
        sections=document.sections,
        kind=_kind,
        quoted=_quoted,
        most=most,
        full=full,
    )


def _kind(block: Block) -> str:
    return type(block).__name__.lower()


def _quoted(excerpt: Excerpt) -> list[list[tuple[str, bool]]]:
    """The lines of an excerpt in pieces, each with whether it is marked."""
    shown = []
    for line in excerpts.lines(excerpt, QUOTED_WIDTH):
        pieces = [(line.address, False)]
        at = 0
        for start, end in line.marks:
            pieces += [(line.text[at:start], False), (line.text[start:end], True)]
            at = end
        shown.append([*pieces, (line.text[at:], False)])
    return shown


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
                remarks.append(f"A chart is the same as {_where(first_shown[picture])}.")
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


def _where(key: Key) -> str:
    return f"that of finding {key[1]}" if key[0] == "finding" else "one above"


def _chart(picture: Picture) -> Chart:
    from iodiag.report.charts import layout, png, svg

    kind = type(picture).__name__.lower()
    drawing = layout.drawing(picture)
    element = svg.render(drawing)
    if len(element.encode()) <= SVG_BYTES:
        return Chart(kind, picture.caption, picture.description, svg=element)
    address = "data:image/png;base64," + b64encode(png.render(drawing)).decode("ascii")
    return Chart(kind, picture.caption, picture.description, png=address)
