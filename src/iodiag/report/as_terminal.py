"""The report on a terminal, through rich; no text of a capture is ever taken for rich's markup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Literal

from iodiag.model.report import Report
from iodiag.report import contents, excerpts, wording
from iodiag.report.document import (
    Block,
    Bullets,
    Charts,
    Commands,
    Excerpt,
    Facts,
    Item,
    Paragraph,
    Screen,
    Section,
    TextTable,
)
from iodiag.report.wording import Spans

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table as RichTable
    from rich.text import Text

_STYLES = {
    "critical": "bold red",
    "warning": "bold yellow",
    "notice": "bold blue",
    "info": "bold",
    "clear": "bold green",
    "trouble": "bold red",
    "open": "bold yellow",
    "healthy": "bold green",
    "elsewhere": "bold blue",
    "unknown": "bold magenta",
}
_CODE = "cyan"
_MARK = "bold underline"
_BETWEEN_COLUMNS = 3
_LONG_WORD = 24
"""Characters of a word in a table that is not broken while there is room."""
POINTER = "`--full` prints all evidence; `-o report.html` writes a page with charts."


def console(file: IO[str] | None = None, no_color: bool | None = None, width: int | None = None) -> Console:
    """A console that prints what it is given: no markup, no emoji codes, no guessed highlights.

    `no_color` None leaves it to NO_COLOR; `width` None to the terminal.
    """
    from rich.console import Console

    return Console(
        file=file, no_color=no_color, width=width, markup=False, emoji=False, highlight=False, soft_wrap=False
    )


def show(report: Report, console: Console, full: bool = False) -> None:
    """Print the first screen and a line for each other finding; in `full` everything."""
    document = contents.document(report, full)
    for renderable in _screen(document.screen, console.width):
        console.print(renderable, crop=False)
    for section in document.sections:
        if full or section.place == "brief":
            for renderable in _section(section, console.width, full):
                console.print(renderable, crop=False)
    if not full:
        console.print(_words(wording.prose(POINTER), "dim"))


def _screen(screen: Screen, width: int) -> Iterator[RenderableType]:
    from rich.text import Text

    tone = _STYLES[screen.tone]
    yield _words(screen.title, "dim")
    state = [(f"{screen.state}. ", tone)] if screen.state else []
    yield Text.assemble(*state, _words(screen.sentence, "bold"))
    yield from _block(screen.facts, width, False)
    if screen.picture:
        yield from _block(screen.picture, width, False)
    if screen.actions:
        yield Text("What to do first", "bold")
    for block in screen.actions:
        yield from _block(block, width, False)


def _section(section: Section, width: int, is_spaced: bool) -> Iterator[RenderableType]:
    from rich.rule import Rule
    from rich.text import Text

    body = [each for block in section.blocks for each in _block(block, width, is_spaced)]
    if not body:
        return
    number = f"{section.number}. " if section.number else ""
    label = f"{number}{section.label.capitalize()}: " if section.label else ""
    heading = Text.assemble((label, _STYLES.get(section.tone, "bold")), _words(section.heading, "bold"))
    if is_spaced:
        yield ""
    yield Rule(heading, align="left", style="dim") if section.anchor else heading
    yield from body


def _block(block: Block, width: int, is_spaced: bool) -> Iterator[RenderableType]:
    from rich.console import Group
    from rich.text import Text

    if isinstance(block, Section):
        yield from _section(block, width, is_spaced)
    elif isinstance(block, Charts):
        yield from (Text(line, _CODE, no_wrap=True, overflow="crop") for line in block.sparkline)
    elif isinstance(block, TextTable):
        yield from _grid(block, width)
    elif isinstance(block, Paragraph):
        yield _words(block.words, "dim" if block.is_aside else "")
    elif isinstance(block, Facts):
        yield _facts(block)
    elif isinstance(block, Commands):
        # the terminal wraps a long one, so that it is copied as one line; a text alone would be wrapped here
        lines = (line for command in block.lines for line in command.split("\n"))
        yield from (Group(Text(f"    {line}", _CODE, no_wrap=True, overflow="ignore")) for line in lines)
    elif isinstance(block, Excerpt):
        yield from _excerpt(block, width)
    else:
        yield from _bullets(block)


def _words(spans: Spans, style: str = "") -> Text:
    from rich.text import Text

    text = Text(style=style)
    for span in spans:
        text.append(span.text, _CODE if span.is_code else None)
    return text


def _facts(facts: Facts) -> RichTable:
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, value in facts.pairs:
        grid.add_row(Text(label, "dim"), _words(value))
    return grid


def _grid(table: TextTable, width: int) -> Iterator[RenderableType]:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    for part in _parts(table, width):
        grid: RichTable = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
        for at, (head, wide) in enumerate(zip(part.head, _widths(part, width), strict=True)):
            justify: Literal["right", "left"] = "right" if at in part.numeric else "left"
            grid.add_column(Text(head), justify=justify, overflow="fold", width=wide)
        for row in part.rows:
            grid.add_row(*map(_words, row))
        yield grid
    if table.left_out:
        yield Text(table.left_out, "dim")


def _parts(table: TextTable, width: int) -> Iterator[TextTable]:
    """The table; of numbers that are too wide, parts below each other, each with its first column."""
    keys = 2 if table.head[1:2] == ("Host",) else 1
    parts: list[list[int]] = []
    for at in range(keys, len(table.head)) if table.rows and table.numeric else ():
        if not parts or sum(_needed(table, each) for each in (*parts[-1], at)) >= width:
            parts.append([*range(keys)])
        parts[-1].append(at)
    if table.rows:
        yield from [table.select(part.__contains__) for part in parts] or [table]


def _widths(table: TextTable, width: int) -> list[int]:
    """The width of each column: what it needs, and of the rest as much as its cells fill."""
    used = [_needed(table, at) - _BETWEEN_COLUMNS for at in range(len(table.head))]
    room = width - sum(used) - _BETWEEN_COLUMNS * len(used)
    for _ in range(-room):
        used[used.index(max(used))] -= 1
    filled = [
        max(len(line) for text in (head, *map(wording.plain, cells)) for line in (text.splitlines() or [""]))
        for head, cells in zip(table.head, zip(*table.rows, strict=True), strict=True)
    ]
    for _ in range(room):
        growing = [at for at, most in enumerate(filled) if used[at] < most]
        if growing:
            used[min(growing, key=used.__getitem__)] += 1
    return [max(1, each) for each in used]


def _needed(table: TextTable, at: int) -> int:
    """How wide a column is at least, with the space behind it: no number and no short word is broken."""
    words = [word for row in table.rows for word in wording.plain(row[at]).split()]
    longest = max(map(len, words), default=0)
    if at not in table.numeric:
        longest = min(longest, _LONG_WORD)
    return max(longest, *map(len, table.head[at].split())) + _BETWEEN_COLUMNS


def _bullets(bullets: Bullets) -> Iterator[RenderableType]:
    from rich.text import Text

    for at, item in enumerate(bullets.items, 1):
        yield _item(f"{at}." if bullets.is_numbered else "•", item)
        yield from (_indented(Text(line, "dim", overflow="fold")) for line in item.lines)


def _item(mark: str, item: Item) -> RichTable:
    from rich.table import Table as RichTable

    grid = RichTable.grid(padding=(0, 1, 0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(mark, _words(item.words))
    return grid


def _excerpt(excerpt: Excerpt, width: int) -> Iterator[RenderableType]:
    """The lines below each other; the cited cells are marked by characters, for where there is no colour."""
    from rich.text import Text

    yield _words((excerpt.source,))
    for line in excerpts.lines(excerpt, width - 2):
        text = Text(line.address, "dim", overflow="fold")
        text.append(line.text)
        for start, end in line.marks:
            text.stylize(_MARK, len(line.address) + start, len(line.address) + end)
        yield _indented(text, 2)
        if line.carets and len(line.carets) <= width - 2:
            yield _indented(Text(line.carets, _CODE, no_wrap=True), 2)


def _indented(text: Text, by: int = 4) -> RenderableType:
    from rich.padding import Padding

    return Padding(text, (0, 0, 0, by))
