"""Rows that are no plain lines of numbers: wrapped, marked, commented, averaged, or with words in them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.text.rows.arithmetic import obeys
from iodiag.formats.text.rows.numbers import is_figure, is_value
from iodiag.formats.text.rows.single_row_parser import (
    OneRow,
    is_item,
    is_kernel_name,
    is_name_alone,
    parse_row,
)
from iodiag.formats.text.structure.blocks import CLASS, Block, Walk
from iodiag.formats.text.structure.headers import Header, label_sizes
from iodiag.formats.types import Layout

_MOST_PIECES = 5
_MOST_LINES_APART = 2
_LONGEST_LINE = 4000
_FEWEST_FIGURES = 3
_SHARE_OF_FIGURES = 0.6


class RepairedRow(NamedTuple):
    """A row, the line that holds its values, and the time that it names, in seconds since 1970."""

    line: int
    row: OneRow
    epoch: float

    @property
    def is_fine(self) -> bool:
        """Whether any of its values has two decimals."""
        return any(cell[-3:-2] in (".", ",") for cell in self.row.cells)


@dataclass
class _Progress:
    """What one pass over the lines keeps: the beginning of a wrapped row, and the averages seen so far."""

    pieces: list[int] = field(default_factory=list)
    block: int = -1
    labelled: dict[tuple[int, str], int] = field(default_factory=dict)


def repaired(
    found: Walk, lines: Sequence[int], blocks: Sequence[int], order: str, names: Collection[str]
) -> list[RepairedRow]:
    """The rows among lines that are no plain ones; the lines' classes are filled in.

    `names` are the items of the plain ones. What is no row is left open for the caller to class as prose;
    what clearly is one and cannot be read is classed `unread`.
    """
    progress = _Progress()
    rows: list[RepairedRow] = []
    for line, number in zip(lines, blocks, strict=True):
        block = found.blocks[number]
        is_apart = bool(progress.pieces) and line - progress.pieces[-1] > _MOST_LINES_APART
        if is_apart or progress.block != number or len(progress.pieces) >= _MOST_PIECES:
            _give_up(found, progress)
        progress.block = number
        text = found.text.line(line)
        row = _read(found, block, [*progress.pieces, line]) if len(text) <= _LONGEST_LINE else None
        if row is None and progress.pieces:
            row = _read(found, block, [line]) if len(text) <= _LONGEST_LINE else None
            if row is not None or not all(map(is_value, text[:_LONGEST_LINE].split())):
                _give_up(found, progress)
        if row is not None:
            rows += _taken(found, progress, line, number, row, order)
        elif progress.pieces or _begins(block, text[:_LONGEST_LINE].split()):
            progress.pieces.append(line)
        elif _looks_like_numbers(text[:_LONGEST_LINE].split()):
            found.classes[line] = CLASS["unread"]
    if len(progress.pieces) == 1 and (line := progress.pieces[0]) == last_line(found):
        row = _as_far_as_it_goes(found, found.blocks[progress.block], line, names)
        rows += _taken(found, progress, line, progress.block, row, order) if row is not None else []
    _give_up(found, progress)
    return rows


def last_line(found: Walk) -> int:
    """The last line of a text that is not blank."""
    return int(np.flatnonzero(~found.text.is_blank)[-1])


def _as_far_as_it_goes(found: Walk, block: Block, line: int, names: Collection[str]) -> OneRow | None:
    """The row of a device whose end is cut off behind a latency; without a last number that may be cut.

    A number with as many decimals as all others is whole. Without a latency a row says nothing of health.
    Other tools' lines begin with a word and go on with numbers, too, but not with a name of a device right
    below its rows.
    """
    layout, (name, *cells) = block.layout, found.text.words(line)
    decimals = [len(cell.replace(",", ".").partition(".")[2]) for cell in cells]
    if not decimals or decimals[-1] == 0 or len(set(decimals)) > 1:
        cells = cells[:-1]
    missing = len(layout.columns) - len(cells)
    has_latency = any(str(column.column).endswith("await_ms") for column in layout.columns[: len(cells)])
    is_named = (name in names or is_kernel_name(name)) and not found.text.is_blank[line - 1]
    if layout.key != "device" or layout.clock == "row" or missing <= 0 or not (has_latency and is_named):
        return None
    header = Header(layout, block.clock_tokens, block.clock, block.is_label)
    return parse_row(header, " ".join([name, *cells, *["nan"] * missing]))


def _read(found: Walk, block: Block, lines: Sequence[int]) -> OneRow | None:
    """The row that some lines make together."""
    header = Header(block.layout, block.clock_tokens, block.clock, block.is_label)
    text = " ".join(
        found.text.line(line).strip() if len(lines) > 1 else found.text.line(line) for line in lines
    )
    row = parse_row(header, text, found.text.line(block.header))
    if row is None or len(lines) == 1 or block.layout.key is not None:
        return row
    # without a name to begin with, the halves of two rows could pass for one
    return row if obeys([column.raw for column in block.layout.columns], row.cells) else None


def _taken(
    found: Walk, progress: _Progress, line: int, number: int, row: OneRow, order: str
) -> list[RepairedRow]:
    """Class a row's lines; the row itself, unless it is a Minimum or Maximum."""
    first = progress.pieces[0] if progress.pieces else line
    # a name alone on its line holds no values: the row stands where they do
    where = line if len(found.text.words(first)) == 1 else first
    found.classes[[*progress.pieces, line]] = CLASS["summary" if row.label else "row"]
    progress.pieces = []
    if row.label and not _is_average(found, progress, number, row):
        return []
    # the table's own times are the host's, so a row's own is, too, whatever zone it names
    epoch = _clock.moment(row.clock._replace(offset_s=None), order) if row.clock else np.nan
    return [RepairedRow(where, row, epoch)]


def _is_average(found: Walk, progress: _Progress, number: int, row: OneRow) -> bool:
    """Whether a labelled row is the average: with `sar -x` the third of an item, below two extremes.

    The words are translated, so their order tells: under a label that the rows do not repeat (Summary:)
    an item has a minimum, a maximum and an average.
    """
    block = found.blocks[number]
    label = row.label.casefold()
    if not block.is_label:
        return not label.startswith(("minim", "maxim"))
    words = found.text.words(block.header)[: block.clock_tokens]
    if label.startswith("average") or label == " ".join(words).rstrip(" :：").casefold():
        return True
    nth = progress.labelled.get((number, row.key), 0)
    progress.labelled[number, row.key] = nth + 1
    return nth == 2


def _begins(block: Block, words: list[str]) -> bool:
    """Whether a line may be the beginning of a wrapped row: a name, or a name and numbers."""
    layout: Layout = block.layout
    width = len(layout.columns) + (layout.key is not None)
    if not words or len(words) >= width + 2 or any(column.is_label for column in layout.columns):
        return False
    if layout.clock == "row":
        is_labelled = not words[0][0].isdigit() and bool(label_sizes(words))
        return len(words) >= 3 and (is_labelled or _clock.leading_time(words)[0] is not None)
    if layout.key is None or layout.key_at == "last":
        return len(words) >= 2 and all(map(is_value, words))
    return is_item(layout, words[0]) and not is_value(words[0]) and all(map(is_value, words[1:]))


def _give_up(found: Walk, progress: _Progress) -> None:
    """Class a beginning that never completed: unread when it is a row's for certain, else left for prose."""
    for line in progress.pieces:
        words, layout = found.text.words(line), found.blocks[progress.block].layout
        is_named = not found.text.is_blank[line - 1] and is_name_alone(layout, words)
        if is_named or _looks_like_numbers(words):
            found.classes[line] = CLASS["unread"]
    progress.pieces = []


def _looks_like_numbers(words: list[str]) -> bool:
    """Whether a line that is no row looks like a damaged one rather than like prose."""
    some = words[:64]
    figures = sum(map(is_figure, some))
    return figures >= _FEWEST_FIGURES and figures >= _SHARE_OF_FIGURES * len(some)
