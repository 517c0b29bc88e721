"""Rows that came without their header: the layout that their count, shape and arithmetic settle.

A guess is accepted only when the numbers themselves prove it (a CPU line adds up to 100, a request size
times the requests gives the throughput) and no other layout passes the same proof.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from iodiag.errors import ConfigError
from iodiag.formats import clock as _clock
from iodiag.formats import context_formats, table_formats
from iodiag.formats.text.rows.arithmetic import obeys, proves
from iodiag.formats.text.rows.numbers import is_value
from iodiag.formats.text.rows.single_row_parser import is_item
from iodiag.formats.text.structure.blocks import Block, Blocks, Origin, Walk
from iodiag.formats.text.structure.headers import find_header, label_sizes
from iodiag.formats.types import Layout

_MOST_LINES_APART = 3
_MOST_LINES_LOOKED_AT = 200
_MOST_AVERAGES = 1000
_FEWEST_OF_A_HEADER = 2
_FEWEST_ROWS = 3
_MANY = 10  # counts that stay about as large


class _Run(NamedTuple):
    """Neighbouring loose lines of one shape: their words without the clock."""

    lines: tuple[int, ...]
    cells: tuple[tuple[str, ...], ...]
    clock_tokens: int


def blocks_from_loose_rows(found: Walk, columns: str | None) -> None:
    """Turn loose rows into blocks where their layout is settled, by `columns` or by proof."""
    stated = _stated(columns) if columns else None
    taken: set[int] = set()
    adopted: list[Block] = []
    origins = iter(found.origins[1:])
    origin, coming = found.origins[0], next(origins, None)
    layouts = {id(block.layout): block.layout for block in found.blocks.patterns}.values()
    for run in _runs(found):
        while coming is not None and coming.line <= run.lines[0]:
            origin, coming = coming, next(origins, None)
        begun = _begun_below(found, run, layouts)
        layout = stated if stated and _fits(stated, run) else begun.layout if begun else None
        if layout is None:
            layout = _settled(found, run, origin)
        if layout is None:
            continue
        averages = _averages(found, run, layout)
        taken.update((*run.lines, *averages))
        found.has_am_pm |= run.clock_tokens == 2
        first, last = run.lines[0], max(run.lines[-1], *averages, -1) + 1
        block = Block(layout, first, first, last, origin, 0, None, run.clock_tokens, 0, is_resumed=True)
        if begun and layout is begun.layout:
            found.lent[first] = begun.header
        above = int(np.searchsorted(found.blocks.first, first)) - 1
        adopted.append(block._replace(phase=found.blocks.like(above).phase if above >= 0 else 0))
    if adopted:
        found.loose = [line for line in found.loose if line not in taken]
        found.blocks = Blocks(_renumbered(found.blocks, adopted))


def _averages(found: Walk, run: _Run, layout: Layout) -> list[int]:
    """The loose lines right below a run that have a label where its rows have a clock."""
    result: list[int] = []
    if not run.clock_tokens:
        return result
    width = len(layout.columns) + (layout.key is not None)
    place = bisect_right(found.loose, run.lines[-1])
    for index in found.loose[place : place + _MOST_AVERAGES]:
        words = found.text.words(index)
        sizes = label_sizes(words)
        if index > max(run.lines[-1], *result, -1) + _MOST_LINES_APART or len(words) - width not in sizes:
            break
        result.append(index)
    return result


def _renumbered(blocks: Sequence[Block], adopted: list[Block]) -> list[Block]:
    """All blocks in the order of the text, each adopted one a report of its own."""
    result: list[Block] = []
    number, current, index = -1, -1, -1
    is_adopted = {block.first for block in adopted}
    for block in sorted((*blocks, *adopted), key=lambda block: block.first):
        own = -1 if block.first in is_adopted else block.report
        if block.origin.index != index:
            number, index, current = -1, block.origin.index, -2
        if own < 0 or own != current:
            number += 1
        current = own
        result.append(block._replace(report=number))
    return result


def _stated(columns: str) -> Layout:
    header = find_header(columns.split())
    if header is None:
        if own := next((fmt for fmt in context_formats() if fmt.starts.search(columns)), None):
            raise ConfigError(
                f"--columns {columns!r}: a header of {own.id}, which needs none: its lines are known by "
                "themselves; --columns is for rows of samples (iostat, sar, vmstat)"
            )
        raise ConfigError(
            f"--columns {columns!r}: not a header that iodiag knows; give it as the tool prints it, "
            'for example --columns "Device: rrqm/s wrqm/s r/s w/s …"'
        )
    return header.layout


def _runs(found: Walk) -> Iterator[_Run]:
    """The loose lines in neighbourhoods of one shape."""
    lines: list[int] = []
    cells: list[tuple[str, ...]] = []
    shape = (0, 0)
    for index in found.loose:
        words = found.text.words(index)
        this = (_clock.leading_time(words)[1], len(words))
        if lines and (this != shape or index - lines[-1] > _MOST_LINES_APART):
            yield _Run(tuple(lines), tuple(cells), shape[0])
            lines, cells = [], []
        shape = this
        lines.append(index)
        cells.append(tuple(words[this[0] :]))
    if lines:
        yield _Run(tuple(lines), tuple(cells), shape[0])


def _fits(layout: Layout, run: _Run) -> bool:
    """Whether a run has as many words as a layout, and a clock where that has one."""
    has_clock = layout.clock == "row"
    size = len(layout.columns) + (layout.key is not None)
    return len(run.cells[0]) == size and (has_clock or not run.clock_tokens) and layout.clock != "tail"


def _settled(found: Walk, run: _Run, origin: Origin) -> Layout | None:
    """The only layout whose arithmetic all rows obey, or None.

    A table further down that has the same items settles it, too: the head of a log may be cut off.
    """
    if below := _below(found, run):
        return below
    kernel = origin.banner.kernel if origin.banner else ""
    ending = _ending(found, run)
    passed: list[tuple[str, Layout]] = []
    for fmt in table_formats():
        headed = [(words, header.layout) for words in fmt.headers if (header := find_header(words.split()))]
        if run.clock_tokens:
            # a script may have put the time in front of rows of a tool that prints none
            headed = [(words, layout._replace(clock="row")) for words, layout in headed]
        fitting = [
            (words, layout)
            for words, layout in headed
            if (layout.clock == "row") == (run.clock_tokens > 0)
            and _names(layout)[len(layout.columns) - len(ending) :] == ending
            and _fits(layout, run)
            and _is_proven(layout, run)
        ]
        layouts = [layout for _, layout in fitting]
        chosen = fmt.preferred(layouts, kernel) if fmt.preferred and len(fitting) > 1 else None
        passed += [pair for pair in fitting if chosen is None or pair[1] is chosen]
    if len(passed) > 1:
        found.unsettled.setdefault(tuple(words for words, _ in passed), []).extend(run.lines)
    return passed[0][1] if len(passed) == 1 else None


def _ending(found: Walk, run: _Run) -> list[str]:
    """The words right above a run, where they are what is left of a header that lost its beginning."""
    first = run.lines[0]
    above = next((n for n in range(first - 1, max(first - 3, -1), -1) if not found.text.is_blank[n]), -1)
    words = found.text.words(above) if above >= 0 else []
    is_heading = len(words) >= _FEWEST_OF_A_HEADER and all("%" in word or "/s" in word for word in words)
    return words if is_heading else []


def _below(found: Walk, run: _Run) -> Layout | None:
    """The layout of the next table, where it has the items of the run and the run obeys it."""
    place = int(np.searchsorted(found.blocks.first, run.lines[-1], "right"))
    if place >= len(found.blocks):
        return None
    block = found.blocks[place]
    # above a part of a report stands another part, of as many columns with the same arithmetic
    if not _fits(block.layout, run) or block.layout.key is None or block.layout.is_part_of_table:
        return None
    at = block.clock_tokens if block.layout.key_at == "first" else -1
    lines = range(block.first, min(block.last, block.first + _MOST_LINES_LOOKED_AT))
    items = {words[at] for line in lines if len(words := found.text.words(line)) > max(at, 0)}
    keys = {_parts(block.layout, row)[0] for row in run.cells}
    is_obeyed = all(obeys(_names(block.layout), _parts(block.layout, row)[1]) for row in run.cells)
    return block.layout if is_obeyed and not keys.isdisjoint(items) else None


def _begun_below(found: Walk, run: _Run, layouts: Collection[Layout]) -> Block | None:
    """The next table, where its header goes on from the last row of the run, with numbers of the same kinds.

    sar's header bears the clock of the sample before. Whole numbers beside others tell tables of as many
    columns apart, and those that count things are about as large; no other table may have as many columns.
    """
    place = int(np.searchsorted(found.blocks.first, run.lines[-1], "right"))
    if place >= len(found.blocks) or len(run.lines) < _FEWEST_ROWS:
        return None
    block = found.blocks[place]
    last, _ = _clock.leading_time(found.text.words(run.lines[-1]))
    is_next = block.clock is not None and block.clock.seconds == last is not None
    is_next &= block.origin.line <= run.lines[-1]  # below a banner of its own it goes on from nothing
    if not is_next or block.clock_tokens != run.clock_tokens or block.layout.key is not None:
        return None
    if any(_fits(layout, run) and layout != block.layout for layout in layouts):
        return None
    lines = range(block.first, min(block.last, block.first + _MOST_LINES_LOOKED_AT))
    rows = [found.text.words(line)[block.clock_tokens :] for line in lines]
    columns = [*zip(*(row for row in rows if len(row) == len(run.cells[0])), strict=True)]
    own = [*zip(*run.cells, strict=True)]
    kinds = [{cell.isdecimal() for cell in column} for column in own]
    is_mixed = {True} in kinds and {False} in kinds
    if not is_mixed or kinds != [{cell.isdecimal() for cell in column} for column in columns]:
        return None
    sizes = [
        (np.median([*map(float, cells)]), np.median([*map(float, others)]))
        for cells, others, kind in zip(own, columns, kinds, strict=True)
        if kind == {True}
    ]
    counted = [max(pair) <= 2 * min(pair) for pair in sizes if max(pair) >= _MANY]
    return block if counted and all(counted) else None


def _is_proven(layout: Layout, run: _Run) -> bool:
    """Whether all rows obey a layout and one proves it."""
    names = _names(layout)
    parts = [_parts(layout, row) for row in run.cells]
    if layout.key == "device" and not all(is_item(layout, key) and not is_value(key) for key, _ in parts):
        return False
    return all(obeys(names, cells) for _, cells in parts) and any(proves(names, cells) for _, cells in parts)


def _names(layout: Layout) -> list[str]:
    return [column.raw for column in layout.columns]


def _parts(layout: Layout, row: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """A row's item and its values."""
    if layout.key is None:
        return "", row
    return (row[-1], row[:-1]) if layout.key_at == "last" else (row[0], row[1:])
