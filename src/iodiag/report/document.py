"""A report as a tree of plain data, which Markdown, HTML and the terminal walk.

`contents.py` puts it together. A renderer knows the blocks, and no section by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from iodiag.report import wording
from iodiag.report.wording import Span, Spans

Key = tuple[str, int]
"""The place of charts: `screen`, `moved`, `more` (of what moved), `activity` or `finding`, and a number."""

Visibility = Literal["brief", "page", "folded"]
"""Where a section is shown: in the shortest rendering too; on the page; folded, or behind a pointer."""


@dataclass(frozen=True)
class Paragraph:
    """Sentences; an aside is a remark on what stands beside it."""

    words: Spans
    is_aside: bool = False


@dataclass(frozen=True)
class Facts:
    """Labels with their values."""

    pairs: tuple[tuple[str, Spans], ...]


@dataclass(frozen=True)
class Item:
    """One entry of a list; `lines` are quoted below it, `values` are the numbers that it rests on."""

    words: Spans
    lines: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Bullets:
    """A list; its order means something where it is numbered."""

    items: tuple[Item, ...]
    is_numbered: bool = False


@dataclass(frozen=True)
class Commands:
    """Lines to paste into a shell."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    """A quoted line; `cited` are the indices of its words that a sentence rests on."""

    line: int
    text: str
    cited: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Excerpt:
    """Lines of one input in their order, below the header of their columns ("" without one)."""

    source: Span
    header: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class TextTable:
    """A table of spans. `numeric` are the indices of its right-aligned columns.

    `anchors` are addresses of its rows in a page, "" for none; fewer than rows where the rest has none.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Spans, ...], ...]
    numeric: frozenset[int] = frozenset()
    left_out: str = ""
    anchors: tuple[str, ...] = ()

    def select(self, wanted: Callable[[int], bool]) -> TextTable:
        """The table with only the columns whose index is wanted."""
        kept = [at for at in range(len(self.head)) if wanted(at)]
        return TextTable(
            head=tuple(self.head[at] for at in kept),
            rows=tuple(tuple(row[at] for at in kept) for row in self.rows),
            numeric=frozenset(new for new, old in enumerate(kept) if old in self.numeric),
            left_out=self.left_out,
            anchors=self.anchors,
        )

    def without_empty(self) -> TextTable:
        """The table without the columns that are empty in every row, its first one apart."""
        return self.select(lambda at: at == 0 or any(row[at] for row in self.rows))


@dataclass(frozen=True)
class Charts:
    """The place of some charts; where none can be drawn, `sparkline` shows the first in characters."""

    key: Key
    sparkline: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """Blocks below a heading. `tone` names a colour; `number` and `label` stand before the heading.

    `pointer` says in a line what a folded section holds.
    """

    heading: Spans
    blocks: tuple[Block, ...]
    anchor: str = ""
    place: Visibility = "page"
    pointer: str = ""
    tone: str = ""
    label: str = ""
    number: int = 0


Block = Paragraph | Facts | Bullets | Commands | Excerpt | TextTable | Charts | Section


@dataclass(frozen=True)
class Screen:
    """What is seen first: whose and when, the verdict, its numbers, what to do, and a picture.

    `state` is the verdict in a word ("" where there is none), `tone` its colour.
    """

    title: Spans
    state: str
    tone: str
    sentence: Spans
    facts: Facts
    actions: tuple[Block, ...]
    picture: Charts | None


@dataclass(frozen=True)
class Document:
    """A whole report."""

    screen: Screen
    sections: tuple[Section, ...]


MORE = "In the full report"


def shortened(document: Document, places: tuple[Visibility, ...], pointer: str) -> Document:
    """The document with the sections of some places, and a sentence that lists the others."""
    kept = tuple(section for section in document.sections if section.place in places)
    rest = [section for section in document.sections if section.place not in places and section.pointer]
    if not rest:
        return replace(document, sections=kept)
    listed = "; ".join(f"{wording.plain(one.heading).lower()} ({one.pointer})" for one in rest)
    words = (*wording.prose(pointer), Span(f" It has: {listed}."))
    more = Section((Span(MORE),), (Paragraph(words),))
    return replace(document, sections=(*kept, more))


def cut(document: Document, most: int) -> Document:
    """The document with at most `most` entries in each list and table, and sections in a section."""
    return replace(document, sections=tuple(_cut_section(one, most) for one in document.sections))


def _cut_section(section: Section, most: int) -> Section:
    blocks: list[Block] = []
    nested = 0
    for block in section.blocks:
        if isinstance(block, Section):
            nested += 1
            if nested <= most:
                blocks.append(_cut_section(block, most))
        elif isinstance(block, TextTable) and len(block.rows) > most:
            more = wording.plural(len(block.rows) - most, "more row")
            left_out = f"{more} in the JSON report. {block.left_out}".rstrip()
            blocks.append(
                replace(block, rows=block.rows[:most], anchors=block.anchors[:most], left_out=left_out)
            )
        elif isinstance(block, Bullets):
            blocks.append(replace(block, items=block.items[:most]))
        else:
            blocks.append(block)
    return replace(section, blocks=tuple(blocks))


def charts_of(document: Document) -> Iterator[Key]:
    """The places for charts, from the top."""
    if document.screen.picture:
        yield document.screen.picture.key
    yield from _charts_in(document.sections)


def _charts_in(blocks: tuple[Block, ...]) -> Iterator[Key]:
    for block in blocks:
        if isinstance(block, Charts):
            yield block.key
        elif isinstance(block, Section):
            yield from _charts_in(block.blocks)


def anchors_of(blocks: Iterable[Block]) -> Iterator[str]:
    """The addresses of all sections and rows, from the top."""
    for block in blocks:
        if isinstance(block, TextTable):
            yield from filter(None, block.anchors)
        elif isinstance(block, Section):
            yield from (block.anchor,) if block.anchor else ()
            yield from anchors_of(block.blocks)


def said(words: str) -> Item:
    """A sentence of iodiag as an entry of a list."""
    return Item(wording.prose(words))
