"""The report as one HTML file that needs nothing else: no font, no network, no script but its own.

Everything that comes out of a capture passes jinja2's escaping after `wording.visible`; charts and the
numbers of those over time are the only markup that is put in as it is: `charts/svg.py` has escaped the
text of the ones, `charts/explorable.py` that of the others. The page is whole without its script.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from iodiag.model.report import Report
from iodiag.report import contents, excerpts, finding_sections, templates, wording
from iodiag.report.charts import overview
from iodiag.report.charts import report_charts as charts
from iodiag.report.charts.chart import Heatmap, Timeline
from iodiag.report.charts.explorable import Explorable
from iodiag.report.charts.report_charts import CHARTS_SHOWN
from iodiag.report.document import Block, Document, Excerpt, Key, anchors_of, cut
from iodiag.report.first_screen import PICTURE

if TYPE_CHECKING:
    from iodiag.report.charts.chart import Picture

PAGE_BYTES = 5_000_000
MOST_ENTRIES = (None, 200, 60, 20, 5)
"""How many entries lists may have, tried in turn until the page is small enough."""

QUOTED_WIDTH = 104
SVG_BYTES = 300_000
CHOICES_BYTES = 1_000_000
MARKUP_BYTES = 400
"""More than the tags around one chart take."""


@dataclass(frozen=True)
class Chart:
    """A drawn chart: an `<svg>` element, or a data address of a PNG where the SVG would be too large.

    `place` is its number among those that the script can draw, None for one that it cannot.
    """

    kind: str
    caption: str
    description: str
    svg: str = ""
    png: str = ""
    place: int | None = None

    @property
    def size(self) -> int:
        """How many bytes the chart adds to the page, without its numbers."""
        texts = (self.svg, self.png, self.caption, self.description)
        return sum(len(text.encode()) for text in texts) + MARKUP_BYTES


@dataclass(frozen=True)
class Drawn:
    """The charts of one finding, and a remark where one is shown elsewhere or left out."""

    charts: tuple[Chart, ...]
    remark: str = ""


def render(report: Report, with_charts: bool = True, full: bool = False, rule_pages: str = "") -> str:
    """The whole report as a page of at most PAGE_BYTES; in `full` nothing in it is folded.

    The id of a rule leads to its page below the address `rule_pages`; without one to its text in this page.
    Lists that would exceed that are cut, and charts left out; the page says so.
    """
    template = templates.template("page.html")
    whole = contents.document(report)
    for most in MOST_ENTRIES:
        document = whole if most is None else cut(whole, most)
        words = _words(document, most, full) | {"address": _address_of(document, rule_pages)}
        page = template.render(**words, drawn={}, **_script(None))
        if len(page.encode()) <= PAGE_BYTES:
            break
    if not with_charts:
        return page
    room = PAGE_BYTES - len(page.encode())
    numbers = Explorable()
    lead = finding_sections.lead(report)

    def place(key: Key, picture: Picture, room: int) -> int | None:
        if isinstance(picture, Heatmap):
            return numbers.add_cells(picture)
        if not isinstance(picture, Timeline):
            return None
        choices = overview.choices(report, lead, picture) if key == PICTURE else ()
        return numbers.add(picture, choices, room)

    drawn = _draw(charts.wanted(report, document), room - len(templates.script()), place)
    return template.render(**words, drawn=drawn, **_script(numbers))


def _script(numbers: Explorable | None) -> dict[str, str]:
    """The script and the numbers that it draws, the style and the policy that fit them; "" without any."""
    script = templates.script() if numbers else ""
    css = templates.css(bool(script))
    return {
        "script": script,
        "numbers": numbers.text() if numbers else "",
        "css": css,
        "policy": templates.policy(css, script),
    }


def _words(document: Document, most: int | None, full: bool) -> dict[str, Any]:
    """All that the page shows but its charts."""
    return dict(
        plain=wording.plain,
        title=document.screen.title,
        screen=document.screen,
        sections=document.sections,
        kind=_kind,
        quoted=_quoted,
        most=most,
        full=full,
    )


def _address_of(document: Document, rule_pages: str) -> Callable[[str], str]:
    """Where a link leads in this page or outside it; "" where no such place is."""
    here = {f"#{anchor}" for anchor in anchors_of(document.sections)}

    def address(href: str) -> str:
        if rule_pages and href.startswith(wording.RULE_PLACE):
            return f"{rule_pages.rstrip('/')}/{href.removeprefix(wording.RULE_PLACE)}"
        return href if href in here or not href.startswith("#") else ""

    return address


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


def _draw(
    wanted: Iterable[tuple[Key, list[Picture]]],
    room: int,
    place: Callable[[Key, Picture, int], int | None],
) -> dict[Key, Drawn]:
    """The charts by their key; the same picture is drawn once. Half of the room is for their numbers.

    `place` keeps the numbers of a picture, and others of that many bytes, and says where.
    """
    room //= 2
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
            shown.append(replace(chart, place=place(key, picture, CHOICES_BYTES)))
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
