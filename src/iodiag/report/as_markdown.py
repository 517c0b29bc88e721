"""The report as Markdown that reads the same in CommonMark with tables and on GitHub.

No raw HTML is written, and nothing of a capture is left that a renderer could take for markup,
a link or a mention: names stand in code spans, quotes in fences, prose is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from urllib.parse import quote

from iodiag.model.report import Report
from iodiag.report import contents, excerpts, wording
from iodiag.report.charts.report_charts import ChartFile
from iodiag.report.document import (
    Block,
    Bullets,
    Charts,
    Commands,
    Document,
    Excerpt,
    Facts,
    Item,
    Key,
    Paragraph,
    Screen,
    Section,
    TextTable,
    shortened,
)
from iodiag.report.wording import Span, Spans

Files = Mapping[Key, Sequence[ChartFile]]

QUOTED_WIDTH = 100
POINTER = "`iodiag analyze --full` writes all of it; `-o report.html` has it in a page, with charts."

# what GitHub turns into links, mentions, formulas and pictures wherever it stands in text, escaped or not
_LINKED = re.compile(
    r"://|www\.|[\w.+\-]@\w|(?<![^\W_])[@#]\w|\bGH-\d|\$|:(?:[\w+\-]*[a-z][\w+\-]*|100|1234|[+\-]1):",
    re.IGNORECASE,
)
_LINK_MARKS = (":", "www.", "@", "#", "gh-", "$")  # of which each has one
_SPECIAL = re.compile(r"[\\`*\[\]|~]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=[#A-Za-z])")
_BLOCK_START = re.compile(r"^(?:([#>+=\-])|(\d{1,9})([.)])(?=\s|$))")


def render(report: Report, charts: Files | None = None, full: bool = False) -> str:
    """The report, ready to be pasted into a ticket; `charts` are files that will lie beside it.

    What a ticket has no room for has a line that says so, unless everything is wanted in `full`.
    """
    whole = contents.document(report, full)
    document = whole if full else shortened(whole, ("brief", "page"), POINTER)
    return "\n".join(_lines(document, charts or {}, None if full else QUOTED_WIDTH)).rstrip("\n") + "\n"


def _lines(document: Document, charts: Files, width: int | None) -> Iterator[str]:
    yield from screen_lines(document.screen, charts, width)
    for section in document.sections:
        yield from _section(section, 2, charts, width)


def screen_lines(screen: Screen, charts: Files, width: int | None) -> Iterator[str]:
    """The first screen's lines."""
    state = (Span(f"{screen.state}. "),) if screen.state else ()
    yield from (f"# {inline(screen.title)}", "", f"**{inline((*state, *screen.sentence))}**")
    for block in (screen.facts, *((screen.picture,) if screen.picture else ())):
        yield from block_lines(block, 2, charts, width)
    if screen.actions:
        yield from ("", "**What to do first**")
    for block in screen.actions:
        yield from block_lines(block, 2, charts, width)


def _section(section: Section, level: int, charts: Files, width: int | None) -> Iterator[str]:
    number = f"{section.number}. " if section.number else ""
    label = f"{section.label.capitalize()}: " if section.label else ""
    body = [line for block in section.blocks for line in block_lines(block, level + 1, charts, width)]
    if body:
        yield from ("", f"{'#' * min(level, 6)} {number}{label}{inline(section.heading)}", *body)


def block_lines(block: Block, level: int, charts: Files, width: int | None) -> Iterator[str]:
    """A block's lines, with an empty one before them."""
    if isinstance(block, Section):
        yield from _section(block, level, charts, width)
    elif isinstance(block, Charts):
        yield from _images(charts.get(block.key, ()))
        if block.sparkline and block.key not in charts:
            yield from ("", *fenced(block.sparkline))
    elif isinstance(block, TextTable):
        yield from ("", *table_lines(block))
    elif isinstance(block, Paragraph):
        yield from ("", paragraph(block.words))
    elif isinstance(block, Facts):
        yield from ("", *(f"- **{label}:** {inline(value)}" for label, value in block.pairs))
    elif isinstance(block, Commands):
        yield from ("", *fenced("\n".join(block.lines).split("\n"), "sh"))
    elif isinstance(block, Excerpt):
        yield from _excerpt(block, width)
    else:
        yield from ("", *_bullets(block))


def _bullets(bullets: Bullets) -> Iterator[str]:
    for at, item in enumerate(bullets.items, 1):
        yield f"{f'{at}.' if bullets.is_numbered else '-'} {_item(item)}"
        if item.lines:
            yield from fenced(item.lines, indent="  ")


def _item(item: Item) -> str:
    links = [span for span in item.words if span.href and not span.href.startswith("#")]
    return f"<{links[0].href}>" if links else paragraph(item.words)


def _excerpt(excerpt: Excerpt, width: int | None) -> Iterator[str]:
    """The lines below each other, and below each row what of it is cited."""
    yield from ("", f"{inline((excerpt.source,))}:", "")
    shown = (
        text
        for line in excerpts.lines(excerpt, width)
        for text in (f"{line.address}{line.text}".rstrip(), line.carets)
        if text
    )
    yield from fenced(shown)


def _images(charts: Sequence[ChartFile]) -> Iterator[str]:
    """Each chart with its words, for who cannot see it and for where only the text is pasted."""
    for chart in charts:
        words = _escaped(wording.visible(chart.description), False)
        yield from ("", f"![{words}]({quote(chart.name)})", "", paragraph(wording.prose(chart.caption)))


def inline(spans: Iterable[Span], in_table: bool = False) -> str:
    """Spans as Markdown within a line."""
    text = ""
    for span in spans:
        piece = code(span.text, in_table) if span.is_code else _escaped(span.text, in_table)
        if span.href and not span.href.startswith("#"):  # of places in a page Markdown knows nothing
            piece = f"[{piece}]({span.href})"
        # two runs of backticks that touch would be one longer run
        text += f" {piece}" if text.endswith("`") and piece.startswith("`") else piece
    return text


def code(text: str, in_table: bool = False) -> str:
    """A code span that shows `text` as it is, whatever backticks it holds."""
    if in_table:
        # renderers disagree about a pipe behind a backslash, so such a pipe is spelled out
        text = re.sub(r"\\\|", "\\\\‹U+007C›", text).replace("|", "\\|")
    fence = "`" * (_longest_run([text]) + 1)
    needs_pad = text.startswith(("`", " ")) or text.endswith(("`", " "))
    pad = " " if needs_pad and text.strip(" ") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def fenced(lines: Iterable[str], language: str = "text", indent: str = "") -> list[str]:
    """A block in fixed pitch; its fence is longer than any run of backticks inside."""
    body = list(lines)
    fence = "`" * max(3, _longest_run(body) + 1)
    return [f"{indent}{fence}{language}", *(f"{indent}{line}" for line in body), f"{indent}{fence}"]


def _longest_run(lines: Iterable[str]) -> int:
    """How many backticks follow each other at the most."""
    return max((len(run) for line in lines if "`" in line for run in re.findall("`+", line)), default=0)


@lru_cache(maxsize=256)
def _escaped(text: str, in_table: bool) -> str:
    lowered = text.lower()  # looking for the marks takes a fifth of a search
    if not any(mark in lowered for mark in _LINK_MARKS) or not _LINKED.search(text):
        return _SPECIAL.sub(r"\\\g<0>", text)
    return re.sub(r"\S+", lambda found: _word(found[0], in_table), text)


def _word(word: str, in_table: bool) -> str:
    """A word with its special characters escaped; one that would become a link, as code."""
    if not _LINKED.search(word):
        return _SPECIAL.sub(r"\\\g<0>", word)
    start = len(word) - len(word.lstrip("([{\"'"))
    end = max(len(word.rstrip(")]}\"'.,;:!?")), start)
    return (
        _SPECIAL.sub(r"\\\g<0>", word[:start])
        + (code(word[start:end], in_table) if start < end else "")
        + _SPECIAL.sub(r"\\\g<0>", word[end:])
    )


def paragraph(spans: Spans) -> str:
    """Spans at the beginning of a block, where a #, a - or a 1. would mean something."""
    text = inline(spans).strip()
    return _BLOCK_START.sub(lambda m: f"\\{m[1]}" if m[1] else f"{m[2]}\\{m[3]}", text)


def table_lines(table: TextTable) -> Iterator[str]:
    """A table's lines, and below it what was left out; none without rows."""
    if table.rows:
        yield f"| {' | '.join(_escaped(head, True) for head in table.head)} |"
        rule = ("---:" if at in table.numeric else "---" for at in range(len(table.head)))
        yield f"| {' | '.join(rule)} |"
        for row in table.rows:
            cells = (inline(cell, in_table=True).strip() for cell in row)
            # a row is one line: what stands below each other elsewhere stands side by side here
            yield f"| {' | '.join(cells)} |".replace("\n", " / ")
    if table.left_out:
        yield from ("", paragraph(wording.prose(table.left_out)))
