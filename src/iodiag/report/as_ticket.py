"""The report as text of less than 4 kB that reads the same in Jira, on GitHub and in a mail.

No heading, table, image or emphasis: the marks for them differ from one tracker to the next. What
GitHub would take for markup, a link or a mention is escaped as in Markdown; quoted lines are indented.
"""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.model.report import Report
from iodiag.report import contents, excerpts
from iodiag.report.as_markdown import paragraph
from iodiag.report.document import (
    Block,
    Bullets,
    Charts,
    Commands,
    Document,
    Excerpt,
    Facts,
    Paragraph,
    Section,
    TextTable,
    cut,
    shortened,
)
from iodiag.report.wording import Span, Spans

MOST_BYTES = 4000
MOST_ENTRIES = (4, 3, 2, 1)
"""How many entries lists may have, tried in turn until the text is small enough."""

LONGEST_LINE = 300
QUOTED_WIDTH = 96
POINTER = "`iodiag analyze -o report.html` writes a page with all evidence and charts."


def render(report: Report) -> str:
    """The first screen, the other findings, the first steps and the evidence, as far as there is room."""
    whole = contents.document(report, is_full=False)
    document = shortened(whole, ("brief", "page"), POINTER)
    for most in MOST_ENTRIES:
        lines = list(_lines(cut(document, most)))
        if _size(lines) <= MOST_BYTES:
            break
    while _size(lines) > MOST_BYTES:
        lines.pop()
    return "\n".join(lines).rstrip("\n") + "\n"


def _size(lines: list[str]) -> int:
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)


def _lines(document: Document) -> Iterator[str]:
    screen = document.screen
    state = (Span(f"{screen.state}. "),) if screen.state else ()
    yield from (_text(screen.title), "", _text((*state, *screen.sentence)))
    yield from _block(screen.facts)
    if screen.picture:
        yield from _block(screen.picture)
    if screen.actions:
        yield from ("", "What to do first:")
    for block in screen.actions:
        yield from _block(block)
    for section in document.sections:
        yield from _block(section)


def _block(block: Block) -> Iterator[str]:
    """A block's lines, with an empty one before them."""
    if isinstance(block, Section):
        yield from ("", f"{_text(block.heading)}:")
        for inner in block.blocks:
            yield from _block(inner)
    elif isinstance(block, Paragraph):
        yield from ("", _text(block.words))
    elif isinstance(block, Facts):
        yield from ("", *(f"- {label}: {_text(value)}" for label, value in block.pairs))
    elif isinstance(block, Bullets):
        yield from ("", *(f"- {_text(item.words)}" for item in block.items))
    elif isinstance(block, TextTable):
        yield from ("", *(f"- {': '.join(_text(cell) for cell in row if cell)}" for row in block.rows))
    elif isinstance(block, Charts):
        yield from _indented(block.sparkline)
    elif isinstance(block, Commands):
        yield from _indented("\n".join(block.lines).split("\n"))
    else:
        yield from _quoted(block)


def _quoted(excerpt: Excerpt) -> Iterator[str]:
    shown = excerpts.lines(excerpt, QUOTED_WIDTH)
    yield from _indented(
        [text for line in shown for text in (f"{line.address}{line.text}", line.carets) if text]
    )


def _indented(lines: list[str] | tuple[str, ...]) -> Iterator[str]:
    if lines:
        yield from ("", *(f"    {line[:LONGEST_LINE]}".rstrip() for line in lines))


def _text(spans: Spans) -> str:
    """A sentence, cut where it is longer than a reader of a ticket wants."""
    room = LONGEST_LINE
    shown: list[Span] = []
    for span in spans:
        if room > 0:
            shown.append(Span(span.text if len(span.text) <= room else f"{span.text[:room]}…", span.is_code))
            room -= len(span.text)
    return paragraph(tuple(shown))
