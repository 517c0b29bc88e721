"""The report on a terminal, through rich; no text of a capture is ever taken for rich's markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING

from iodiag.model.comparison import Comparison
from iodiag.model.report import Report
from iodiag.report import appendix, comparison_sections, finding_sections, wording
from iodiag.report.appendix import Remark, TextTable
from iodiag.report.finding_sections import Part, Point
from iodiag.report.wording import Span, Spans

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table as RichTable
    from rich.text import Text

_STYLES = {
    "critical": "bold red",
    "warning": "bold yellow",
    "notice": "bold blue",
    "info": "bold",
    None: "green",
}
_VERDICT_STYLES = {
    "Trouble": "bold red",
    "Open": "bold yellow",
    "Healthy": "bold green",
    "Elsewhere": "bold blue",
    "Unknown": "bold magenta",
}
_CODE = "cyan"


def console(file: IO[str] | None = None, no_color: bool | None = None, width: int | None = None) -> Console:
    """A console that prints what it is given: no markup, no emoji codes, no guessed highlights.

    `no_color` None leaves it to NO_COLOR; `width` None to the terminal.
    """
    from rich.console import Console

    return Console(
        file=file, no_color=no_color, width=width, markup=False, emoji=False, highlight=False, soft_wrap=False
    )


def show(report: Report, console: Console) -> None:
    """Print the report: verdict, findings, and in short what was cleared, not judged and read."""
    for block in _blocks(report):
        console.print(block)


def _blocks(report: Report) -> Iterator[RenderableType]:
    from rich.panel import Panel
    from rich.text import Text

    style = _STYLES[report.worst()]
    word = finding_sections.verdict_word(report)
    lead = [(f"{word}. ", _VERDICT_STYLES[word])] if word else []
    headline = Text.assemble(*lead, _words(finding_sections.headline(report), "bold"))
    yield _words(finding_sections.title(report))
    yield Panel(headline, border_style=style)
    yield from _facts(finding_sections.overview(report))
    if report.comparison is not None:
        yield from _compared(report, report.comparison)
    yield from _section("What each device was doing", [("", appendix.states(report))])
    parts = finding_sections.parts(report)
    if len(parts) > 1:
        yield ""
        yield from _grid(finding_sections.summary_table(report))
    for part in parts:
        yield from _finding(part)
    yield from _section("Ignored by configuration", [("", appendix.ignored(report))])
    yield from _section("Looked at and clear", [("", appendix.clear(report))])
    yield from _section("Could not be judged, and why", appendix.unjudged(report))
    yield from _section("Devices", [("", appendix.stacked(appendix.devices(report)))])
    if report.devices:
        yield Text(wording.SUMMARY_NOTE, "dim")
    if report.comparison is not None:
        yield from _section(
            "What was read before", [("", _short(appendix.sources(report.comparison.before)))]
        )
    yield from _section("What was read", [("", _short(appendix.sources(report)))])
    yield from _remarks("Lines not understood", appendix.unread(report))
    yield from _remarks("Notes on reading", appendix.notes(report))


def _compared(report: Report, comparison: Comparison) -> Iterator[RenderableType]:
    """What moved, and what became of the findings; the analysis of after follows."""
    settings = comparison_sections.settings(report, comparison)
    if settings:
        yield from _rule("Settings that differ")
    for point in settings:
        yield from _point(point)
    for section in comparison_sections.sections(report, comparison):
        yield from _rule(_words(section.heading, "bold"))
        if section.reading:
            yield _words(section.reading)
        for remark in section.remarks:
            yield _item("•", _words(remark))
        yield from _grid(section.changes)
        yield from _grid(section.loads)
        for point in section.points:
            yield _item("•", _words((*point.words, Span(" ("), *point.address, Span(")"))))
    yield from _section("Other devices", [("", comparison_sections.others(comparison))])
    for words in comparison_sections.uncompared(comparison):
        yield _item("•", _words(words))
    yield from _section("Findings before and after", [("", comparison_sections.fates(report, comparison))])


def _words(spans: Spans, style: str = "") -> Text:
    from rich.text import Text

    text = Text(style=style)
    for span in spans:
        text.append(span.text, _CODE if span.is_code else None)
    return text


def _facts(facts: Iterable[tuple[str, Spans]]) -> Iterator[RenderableType]:
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in facts:
        grid.add_row(Text(label, "dim"), _words(value))
    yield grid


def _grid(table: TextTable) -> Iterator[RenderableType]:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    if table.rows:
        grid: RichTable = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for at, head in enumerate(table.head):
            grid.add_column(
                Text(head),
                justify="right" if at in table.numeric else "left",
                overflow="fold",
                min_width=max(map(len, head.split())),
            )
        for row in table.rows:
            grid.add_row(*map(_words, row))
        yield grid
    if table.left_out:
        yield Text(table.left_out, "dim")


def _short(table: TextTable) -> TextTable:
    """The table of sources without its widest columns, which the other renderings have."""
    return appendix.select(table, lambda at: table.head[at] not in ("Layout", "Kernel", "CPUs"))


def _section(heading: str, tables: Iterable[tuple[str, TextTable]]) -> Iterator[RenderableType]:
    from rich.text import Text

    filled = [(title, table) for title, table in tables if table.rows or table.left_out]
    if filled:
        yield from _rule(heading)
    for title, table in filled:
        if title:
            yield Text(title, "bold")
        yield from _grid(table)


def _rule(heading: str | Text, style: str = "bold") -> Iterator[RenderableType]:
    from rich.rule import Rule
    from rich.text import Text

    yield ""
    yield Rule(Text(heading, style) if isinstance(heading, str) else heading, align="left", style="dim")


def _finding(part: Part) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    style = _STYLES[part.severity]
    heading = Text.assemble(
        (f"{part.number}. {part.severity.capitalize()}: ", style), _words(part.title, "bold")
    )
    yield from _rule(heading)
    yield _words(part.summary)
    yield ""
    yield from _facts(part.facts)
    for title, points in part.evidence:
        yield from _title(title)
        for point in points:
            yield from _point(point)
    for title, remarks in part.remarks:
        yield from _title(title)
        for remark in remarks:
            yield _item("•", _words(remark))
    if part.remedy:
        yield from _title("What to do")
        for at, step in enumerate(part.remedy, 1):
            yield _item(f"{at}.", _words(step))
    if part.confirm:
        yield from _title("Commands to confirm it")
        for command in part.confirm:
            yield Padding(Text(command, _CODE, overflow="fold"), (0, 0, 0, 4))
    if part.references:
        yield from _title("References")
        for reference in part.references:
            yield _item("•", _words((reference,)))


def _title(text: str) -> Iterator[RenderableType]:
    from rich.text import Text

    yield ""
    yield Text(text, "bold")


def _item(mark: str, words: Text) -> RichTable:
    from rich.table import Table as RichTable

    grid = RichTable.grid(padding=(0, 1, 0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(mark, words)
    return grid


def _point(point: Point) -> Iterator[RenderableType]:
    words = _words(point.words)
    if point.address:
        words.append(" (").append_text(_words(point.address)).append(")")
    yield _item("•", words)
    yield from _quotes(point.quotes)


def _quotes(lines: Iterable[str]) -> Iterator[RenderableType]:
    from rich.padding import Padding
    from rich.text import Text

    for line in lines:
        yield Padding(Text(line, "dim", overflow="fold"), (0, 0, 0, 4))


def _remarks(heading: str, remarks: Iterable[Remark]) -> Iterator[RenderableType]:
    from rich.text import Text

    listed = list(remarks)
    if listed:
        yield ""
        yield Text(heading, "bold")
    for remark in listed:
        words = _words((remark.source,)).append(": ").append_text(_words(remark.reason))
        if remark.extent:
            words.append(f" ({remark.extent})", "dim")
        yield _item("•", words)
        yield from _quotes(remark.lines)
