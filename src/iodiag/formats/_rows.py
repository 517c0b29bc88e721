"""Blocks into rows: all blocks of a layout at once where lines are whole, the others one by one."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from iodiag.formats import _clock
from iodiag.formats._body import Floats, Numbers, Tokens
from iodiag.formats._found import CLASS, UNSEEN, Block, Walk
from iodiag.formats._lines import Bools, Ints, Text
from iodiag.formats._repair import RepairedRow, repaired
from iodiag.formats._row import bare_name, is_fraction, is_item
from iodiag.formats._types import Layout
from iodiag.formats.vmstat_text import memory_columns, memory_unit_kb
from iodiag.model.units import KB_PER_BYTE

Words = npt.NDArray[np.object_]

_MOST_LAYOUTS = 1000  # no host's captures have so many; what is below more stays unread


@dataclass
class Rows:
    """Rows of one layout in the order of the text.

    `numbers` is rows x columns in canonical units; `block` the index of each row's block among
    `Walk.blocks`; `seconds` the row's own clock (NaN without); `epoch` its own full time, where it has
    one; `gaps` the blanks in front of the item's name; `is_fine` marks rows whose values have two
    decimals; `labels` are the cells of columns of words.
    """

    layout: Layout
    lines: Ints
    block: Ints
    keys: Words
    numbers: Floats
    seconds: Floats
    gaps: Ints
    is_average: Bools
    epoch: Floats
    is_fine: Bools
    labels: dict[str, Words] = field(default_factory=dict)


def rows_of(found: Walk, order: str) -> list[Rows]:
    """All rows of a text, a Rows per distinct layout; classes are filled in.

    `order` of day and month is for rows that hold a whole date.
    """
    groups: dict[Hashable, list[int]] = {}
    for number, block in enumerate(found.blocks):
        groups.setdefault(_kind(block), []).append(number)
    whole: list[Rows] = []
    halves: list[Rows] = []
    for place, numbers in enumerate(groups.values()):
        if place >= _MOST_LAYOUTS:
            _refuse(found, numbers)
            continue
        rows = _group(found, numbers, order)
        if len(rows.lines):
            (halves if found.blocks[numbers[0]].part else whole).append(rows)
    for rows in halves:
        _complete(whole, rows, found)
    for rows in whole:
        if rows.layout.format == "vmstat":
            _scale_memory(found, rows)
    return whole


def _refuse(found: Walk, numbers: list[int]) -> None:
    """Leave the lines of blocks unread."""
    lines = np.concatenate([np.arange(found.blocks[n].first, found.blocks[n].last) for n in numbers])
    found.classes[lines[(found.classes[lines] == UNSEEN) & ~found.text.is_blank[lines]]] = CLASS["unread"]


def _kind(block: Block) -> Hashable:
    """What blocks must have in common to be read as one: their columns' meaning, and what leads them."""
    layout = block.layout
    meanings = tuple((c.column, c.factor, c.family, c.is_size, c.is_label) for c in layout.columns)
    shape = (
        layout.format,
        layout.family,
        layout.key,
        layout.key_at,
        layout.clock,
        layout.note,
        layout.is_cut,
    )
    return shape, layout.finish, meanings, block.clock_tokens, block.is_label, block.part


def _group(found: Walk, numbers: list[int], order: str) -> Rows:
    """The rows below headers alike."""
    text, first = found.text, found.blocks[numbers[0]]
    ranges = [np.arange(found.blocks[n].first, found.blocks[n].last) for n in numbers]
    lines = np.concatenate(ranges)
    sizes = [len(r) for r in ranges]
    block = np.repeat(np.array(numbers), sizes)
    has_above = lines > np.repeat([found.blocks[n].first for n in numbers], sizes)
    is_open = (found.classes[lines] == UNSEEN) & ~text.is_blank[lines]
    lines, block, has_above = lines[is_open], block[is_open], has_above[is_open]
    plain, begins = _plain_rows(found, first, lines, block, has_above)
    found.classes[plain.lines] = found.classes[begins] = CLASS["row"]
    is_left = found.classes[lines] == UNSEEN
    others = repaired(found, lines[is_left].tolist(), block[is_left].tolist(), order)
    return _merged(plain, others)


def _plain_rows(found: Walk, first: Block, lines: Ints, block: Ints, has_above: Bools) -> tuple[Rows, Ints]:
    """The lines that are whole rows of plain tokens, and the lines on which these rows begin.

    A row has as many tokens as its header, each of its kind; iostat -h up to 11.7.1 prints the name on a
    line of its own above the values.
    """
    text, tokens, layout = found.text, found.tokens, first.layout
    has_key = layout.key is not None
    ahead = first.clock_tokens if layout.clock == "row" and not first.is_label else 0
    size = len(layout.columns)
    width = ahead + has_key + size + (2 if layout.clock == "tail" else 0)
    above = np.maximum(lines - 1, 0)
    is_whole = tokens.counts[lines] == width
    is_below_name = has_above & (tokens.counts[lines] == size) & (tokens.counts[above] == 1)
    is_below_name &= has_key and layout.key_at == "first" and layout.clock == "line"
    fits = (is_whole | is_below_name) & (not any(column.is_label for column in layout.columns))
    begins = np.where(is_whole, lines, above)[fits]
    lines, block = lines[fits], block[fits]
    matrix = tokens.first[begins][:, None] + np.arange(width)
    begin = ahead + (has_key and layout.key_at == "first")
    printed = tokens.printed(matrix[:, begin : begin + size])
    values, is_good = _canonical(layout, printed)
    is_good &= ~_is_cut_off(layout, printed, block)
    seconds, epoch = np.full(len(lines), np.nan), np.full(len(lines), np.nan)
    if ahead:
        seconds = _row_clocks(text, tokens, matrix[:, :ahead])
        is_good &= ~np.isnan(seconds)
    elif layout.clock == "tail":
        epoch = _tail_clocks(tokens, matrix[:, width - 2 :])
        is_good &= ~np.isnan(epoch)
    keys, gaps = np.full(len(lines), "", dtype=object), np.zeros(len(lines), dtype=np.int64)
    if has_key and len(lines):
        at = matrix[:, begin - 1 if layout.key_at == "first" else width - 1]
        keys, is_name = _keys(tokens, at, layout)
        is_good &= is_name
        before = text.starts[begins] if layout.key_at == "first" else tokens.ends[np.maximum(at - 1, 0)]
        gaps = tokens.starts[at] - before
    rows = Rows(
        layout=layout,
        lines=lines[is_good],
        block=block[is_good],
        keys=keys[is_good],
        numbers=values[is_good],
        seconds=seconds[is_good],
        gaps=gaps[is_good],
        is_average=np.zeros(int(is_good.sum()), dtype=np.bool_),
        epoch=epoch[is_good],
        is_fine=(printed.decimals == 2).any(axis=1)[is_good],
    )
    return rows, begins[is_good]


def _is_cut_off(layout: Layout, printed: Numbers, block: Ints) -> Bools:
    """Rows whose last number has lost digits at a right margin.

    It has fewer decimals than the column's others in its block, or, being no count, than all other
    columns of its row.
    """
    decimals = printed.decimals
    if not decimals.size:
        return np.zeros(len(decimals), dtype=np.bool_)
    others, last = decimals[:, :-1], decimals[:, -1]
    usual = np.zeros(int(block.max()) + 1, dtype=np.int64)
    np.maximum.at(usual, block, last)
    least = usual[block]
    if decimals.shape[1] > 2 and is_fraction(layout.columns[-1]):
        alike = np.where((others == others[:, :1]).all(axis=1), others[:, 0], 0)
        least = np.maximum(least, alike)
    result: Bools = (last < least) & printed.is_plain[:, -1]
    return result


def _canonical(layout: Layout, printed: Numbers) -> tuple[Floats, Bools]:
    """Values in canonical units, and the rows whose cells are all numbers of one kind.

    No row has decimal commas and points, and no column but a size has a suffix.
    """
    factors = np.array([column.factor for column in layout.columns])
    values = printed.values * factors
    is_bad = printed.is_bad
    has_suffix = ~np.isnan(printed.suffix)
    if has_suffix.any():
        is_size = np.array([column.is_size for column in layout.columns])
        values = np.where(has_suffix, printed.values * printed.suffix * KB_PER_BYTE, values)
        is_bad = is_bad | (has_suffix & ~is_size)
    is_mixed = printed.has_comma.any(axis=1) & printed.has_point.any(axis=1)
    is_good: Bools = ~(np.any(is_bad, axis=1) | is_mixed)
    return values, is_good


def _row_clocks(text: Text, tokens: Tokens, index: Ints) -> Floats:
    """Seconds of the day of each row's first tokens; NaN where they are no clock."""
    if not len(index):
        return np.empty(0)
    starts, widths = tokens.starts[index[:, 0]], tokens.ends[index[:, 0]] - tokens.starts[index[:, 0]]
    if index.shape[1] == 1 and (widths == 8).all():
        chars = text.bytes[starts[:, None] + np.arange(8)].astype(np.int64)
        digits = chars[:, [0, 1, 3, 4, 6, 7]] - 48
        is_clock = ((digits >= 0) & (digits <= 9)).all(axis=1) & (chars[:, 2] == 58) & (chars[:, 5] == 58)
        is_clock &= (digits[:, 2] <= 5) & (digits[:, 4] <= 6)
        seconds = digits @ np.array([36000, 3600, 600, 60, 10, 1])
        return np.where(is_clock & (seconds <= 86401), seconds.astype(np.float64), np.nan)
    codes, words = zip(*(tokens.categories(index[:, i]) for i in range(index.shape[1])), strict=True)
    pairs = np.stack(codes, axis=1)
    distinct, inverse = np.unique(pairs, axis=0, return_inverse=True)
    known = [_clock.parse_time(" ".join(words[i][code] for i, code in enumerate(pair))) for pair in distinct]
    table = np.array([np.nan if seconds is None else seconds for seconds in known])
    result: Floats = table[inverse.ravel()]
    return result


def _tail_clocks(tokens: Tokens, index: Ints) -> Floats:
    """The time behind each row's values, in seconds since 1970 as if it were UTC; NaN where none is."""
    dates, times = tokens.words(index[:, 0]), tokens.words(index[:, 1])
    pairs = (_clock.parse_line(" ".join(pair)) for pair in zip(dates, times, strict=True))
    return np.array([_clock.moment(clock, "mdy") for clock in pairs])


def _keys(tokens: Tokens, at: Ints, layout: Layout) -> tuple[Words, Bools]:
    """The items' names, and which of them can name one: a device is no bare figure."""
    codes, words = tokens.categories(at)
    bare = [bare_name(word) for word in words]
    names = np.array([*bare, ""], dtype=object)
    is_name = np.array([is_item(layout, word) for word in bare] + [False])
    return names[codes], is_name[codes]


def _merged(rows: Rows, others: list[RepairedRow]) -> Rows:
    """Plain rows and others in the order of their lines."""
    if not others:
        return rows
    names = [column.column or "" for column in rows.layout.columns if column.is_label]
    labels = [np.array([other.row.labels[i] for other in others], dtype=object) for i in range(len(names))]
    lines = np.concatenate((rows.lines, [other.line for other in others])).astype(np.int64)
    order = np.argsort(lines, kind="stable")
    keys = np.array([other.row.key for other in others], dtype=object)
    return Rows(
        layout=rows.layout,
        lines=lines[order],
        block=np.concatenate((rows.block, [other.block for other in others])).astype(np.int64)[order],
        keys=np.concatenate((rows.keys, keys))[order],
        numbers=np.concatenate((rows.numbers, np.array([other.row.values for other in others])))[order],
        seconds=np.concatenate((rows.seconds, [other.row.seconds for other in others]))[order],
        gaps=np.concatenate((rows.gaps, np.zeros(len(others), dtype=np.int64)))[order],
        is_average=np.concatenate((rows.is_average, [bool(other.row.label) for other in others]))[order],
        epoch=np.concatenate((rows.epoch, [other.epoch for other in others]))[order],
        is_fine=np.concatenate((rows.is_fine, [_is_fine(other) for other in others]))[order],
        # a layout with words has no plain rows, so the others are all rows
        labels={name: cells[order] for name, cells in zip(names, labels, strict=True) if name},
    )


def _is_fine(other: RepairedRow) -> bool:
    return any(cell[-3:-2] in (".", ",") for cell in other.row.cells)


def _complete(whole: list[Rows], half: Rows, found: Walk) -> None:
    """Add the rows below the right half of a table to those of its left half, in order.

    The halves belong together when they have the same number of rows; else the right one is unread.
    """
    counts = np.bincount(half.block, minlength=len(found.blocks))
    part_of = np.array([block.part for block in found.blocks], dtype=np.int64)
    for rows in whole:
        left = np.bincount(rows.block, minlength=len(found.blocks))
        has_twin = (counts > 0) & (left[np.arange(len(counts)) - part_of] == counts)
        if rows.layout.format != half.layout.format or not has_twin.any():
            continue
        fits = has_twin[half.block]
        twins = np.flatnonzero(np.isin(rows.block, np.unique((half.block - part_of[half.block])[fits])))
        values = np.full((len(rows.lines), len(half.layout.columns)), np.nan)
        values[twins] = half.numbers[fits]
        rows.numbers = np.hstack((rows.numbers, values))
        rows.layout = replace(rows.layout, columns=(*rows.layout.columns, *half.layout.columns))
        found.classes[half.lines[~fits]] = CLASS["unread"]
        return
    found.classes[half.lines] = CLASS["unread"]


def _scale_memory(found: Walk, rows: Rows) -> None:
    """Bring the memory of a vmstat that was started with -S to kB."""
    commands = [block.origin.command for block in found.blocks]
    units = [memory_unit_kb(c.words) if c and c.tool == "vmstat" else None for c in commands]
    factors = np.array([1.0 if unit is None else unit for unit in units])[rows.block]
    places = memory_columns(rows.layout)
    rows.numbers[:, places] = rows.numbers[:, places] * factors[:, None]
