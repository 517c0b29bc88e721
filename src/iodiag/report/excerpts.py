"""Quoted lines: each once, in the order of the capture, below its header, with the cited cells marked."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from iodiag.model.cited_cells import cited_cells
from iodiag.model.finding import Evidence, Quote, cells
from iodiag.report import wording
from iodiag.report.document import Excerpt, Row

QUOTES_SHOWN = 5
GAP = "…"


@dataclass(frozen=True)
class Line:
    """A line to print: the address before it, and the stretches of the text that are marked."""

    address: str
    text: str
    marks: tuple[tuple[int, int], ...] = ()

    @property
    def carets(self) -> str:
        """The marks as characters to stand below the line; "" without any."""
        under = [" "] * len(self.text)
        for start, end in self.marks:
            under[start:end] = "^" * (end - start)
        return (" " * len(self.address) + "".join(under)).rstrip() if self.marks else ""


def excerpts(
    evidence: Iterable[Evidence], seen: set[tuple[str, int]], most: int | None = None
) -> list[Excerpt]:
    """The first `most` quotes of some evidence that are not `seen` yet, which they are added to."""
    found: dict[tuple[str, int], tuple[Quote, list[str]]] = {}
    for item in evidence:
        for quote in item.quotes[:QUOTES_SHOWN]:
            place = quote.source, quote.line
            if place not in seen:
                found.setdefault(place, (quote, []))[1].append(item.text)
    found = dict(list(found.items())[:most])
    seen.update(found)
    sources = list(dict.fromkeys(source for source, _ in found))
    ordered = sorted(found.values(), key=lambda pair: (sources.index(pair[0].source), pair[0].line))
    # a header that is printed again with other spaces is the same one
    of = [(quote.source, tuple(quote.header.split())) for quote, _ in ordered]
    groups = groupby(zip(of, ordered, strict=True), key=lambda pair: pair[0])
    return [_excerpt([pair for _, pair in group]) for _, group in groups]


def _excerpt(pairs: Sequence[tuple[Quote, list[str]]]) -> Excerpt:
    first = pairs[0][0]
    header = wording.verbatim(first.header)
    rows = []
    for quote, sentences in pairs:
        text = wording.verbatim(quote.text)
        rows.append(Row(quote.line, text, cited_cells(cells(header), cells(text), sentences)))
    return Excerpt(wording.name(first.source), header, tuple(rows))


def lines(excerpt: Excerpt, width: int | None = None) -> list[Line]:
    """The header and the rows as lines of at most `width` characters where there are columns to leave out.

    Left out are columns that nothing is cited of; what is cited and the names before the numbers stay.
    """
    room = max((len(str(row.line)) for row in excerpt.rows), default=0)
    header = [(" " * (room + 2), excerpt.header)] if excerpt.header else []
    rows = [(f"{row.line:>{room}}: ", row.text) for row in excerpt.rows]
    words = [cells(text) for _, text in (*header, *rows)]
    longest = max((len(address) + len(text) for address, text in (*header, *rows)), default=0)
    if width is None or longest <= width or not header or not _is_grid(words):
        shown = [Line(address, text) for address, text in header]
        return shown + [
            Line(address, text, _stretches(text, row.cited))
            for (address, text), row in zip(rows, excerpt.rows, strict=True)
        ]
    cited = frozenset(at for row in excerpt.rows for at in row.cited)
    # `avg-cpu:` names no column
    words[0] = words[0][len(words[0]) - len(words[1]) :]
    grid = _columns(words, cited, width - room - 2)
    addresses = [address for address, _ in (*header, *rows)]
    marked: list[Collection[int]] = [frozenset(), *(row.cited for row in excerpt.rows)]
    return [_set(*each, grid) for each in zip(addresses, words, marked, strict=True)]


def _is_grid(words: Sequence[Sequence[str]]) -> bool:
    counts = {len(row) for row in words[1:]}
    return len(counts) == 1 and len(words[0]) - counts.pop() in (0, 1)


def _stretches(text: str, cited: Collection[int]) -> tuple[tuple[int, int], ...]:
    spans = [found.span() for found in re.finditer(r"\S+", text)][-len(cells(text)) :]
    return tuple(spans[at] for at in sorted(cited) if at < len(spans))


def _columns(words: Sequence[Sequence[str]], cited: Collection[int], width: int) -> list[tuple[int, int]]:
    """The columns to show with their widths; -1 stands for a stretch that is left out."""
    widths = [max(map(len, column)) for column in zip(*words, strict=True)]
    names = [at for at in range(len(widths)) if not all(_is_number(row[at]) for row in words[1:])]
    lead = names[-1] + 1 if names and names[-1] < 4 else 1
    telling = [at for at in range(len(widths)) if any(row[at].strip("0.,") for row in words[1:])]
    for kept in (range(len(widths)), {*range(lead), *cited, *telling}, {*range(lead), *cited}):
        shown: list[tuple[int, int]] = []
        for at, wide in enumerate(widths):
            if at in kept:
                shown.append((at, wide))
            elif not shown or shown[-1][0] >= 0:
                shown.append((-1, len(GAP)))
        if sum(wide + 2 for _, wide in shown) <= width:
            break
    return shown


def _set(address: str, row: Sequence[str], marked: Collection[int], grid: Sequence[tuple[int, int]]) -> Line:
    text = ""
    marks = []
    for at, wide in grid:
        word = GAP if at < 0 else row[at]
        gap = "  " if text else ""
        text += gap + (
            f"{word:<{wide}}" if not text or (not _is_number(word) and at == 0) else f"{word:>{wide}}"
        )
        if at in marked:
            marks.append((len(text) - len(word), len(text)))
    return Line(address, text.rstrip(), tuple(marks))


def _is_number(word: str) -> bool:
    return word[:1].isdigit() or word in ("-", "nan")
