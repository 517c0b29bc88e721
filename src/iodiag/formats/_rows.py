"""Blocks into rows: all blocks of a layout at once, wrapped and odd lines one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from iodiag.formats import _clock
from iodiag.formats._body import Floats, Tokens, odd_number
from iodiag.formats._lines import Ints, Text
from iodiag.formats._types import Layout
from iodiag.formats._walk import CLASS, UNSEEN, Block, Walk
from iodiag.model.units import KB_PER_BYTE

_HALF_DAY = re.compile(r"[AaPp]\.?[Mm]\.?")
_MOST_EXTRA_WORDS = 12
_MINIMUM_MAXIMUM = ("Minimum:", "Maximum:", "Minimum", "Maximum")


@dataclass
class Rows:
    """Rows of one layout in the order of the text.

    `values` is rows x columns in canonical units; `block` the index of each row's block among
    `Walk.blocks`; `seconds` the row's own clock (NaN without); `zone_offset` likewise for tails.
    """

    layout: Layout
    lines: Ints
    block: Ints
    keys: npt.NDArray[np.object_]
    values: Floats
    seconds: Floats
    indent: Ints
    is_average: npt.NDArray[np.bool_]
    epoch: Floats


@dataclass(frozen=True)
class _OneRow:
    """A row that was put together by hand."""

    line: int
    block: int
    key: str
    values: list[float]
    seconds: float
    is_average: bool


def rows_of(found: Walk, decimal_comma: bool) -> list[Rows]:
    """All rows of a text, a Rows per distinct (layout, clock width, part); classes are filled in."""
    tokens = Tokens(found.text)
    groups: dict[tuple[int, int, int], list[int]] = {}
    for number, block in enumerate(found.blocks):
        groups.setdefault((id(block.layout), block.clock_tokens, block.part), []).append(number)
    result = []
    for (_, clock_tokens, part), numbers in groups.items():
        rows = _group(found, tokens, numbers, clock_tokens, decimal_comma)
        if part:
            _complete(result, rows, found)
        elif len(rows.lines):
            result.append(rows)
    return result


def _group(found: Walk, tokens: Tokens, numbers: list[int], clock_tokens: int, decimal_comma: bool) -> Rows:
    text, layout = found.text, found.blocks[numbers[0]].layout
    ranges = [np.arange(found.blocks[n].first, found.blocks[n].last) for n in numbers]
    lines = np.concatenate(ranges)
    block = np.repeat(np.array(numbers), [len(r) for r in ranges])
    is_open = (found.classes[lines] == UNSEEN) & ~text.is_blank[lines]
    lines, block = lines[is_open], block[is_open]
    has_key = layout.key is not None
    ahead = clock_tokens if layout.clock == "row" else 0
    behind = 2 if layout.clock == "tail" else 0
    width = ahead + has_key + len(layout.columns) + behind
    fits = tokens.counts[lines] == width
    if layout.clock == "row":
        first = text.bytes[np.minimum(tokens.starts[np.minimum(tokens.first[lines], len(tokens.starts) - 1)], len(text.bytes) - 1)]
        fits &= (first >= 48) & (first <= 57)
    good, good_block = lines[fits], block[fits]
    matrix = tokens.first[good][:, None] + np.arange(width)
    begin = ahead + (has_key and layout.key_at == "first")
    cells = matrix[:, begin : begin + len(layout.columns)]
    raw, bad, suffix = tokens.numbers(cells, decimal_comma)
    values, refused = _to_canonical(layout, raw, suffix)
    is_good = ~(bad | refused).any(axis=1)
    seconds = np.full(len(good), np.nan)
    epoch = np.full(len(good), np.nan)
    if layout.clock == "row":
        seconds = _row_clocks(text, tokens, matrix[:, :ahead])
        is_good &= ~np.isnan(seconds)
    elif layout.clock == "tail":
        epoch = _tail_clocks(tokens, matrix[:, width - 2 :])
        is_good &= ~np.isnan(epoch)
    keys = _keys(tokens, matrix[:, begin - 1 if layout.key_at == "first" else width - 1]) if has_key else None
    fast = Rows(
        layout=layout,
        lines=good[is_good],
        block=good_block[is_good],
        keys=(keys if keys is not None else np.full(len(good), "", dtype=object))[is_good],
        values=values[is_good],
        seconds=seconds[is_good],
        indent=(tokens.starts[matrix[:, 0]] - text.starts[good])[is_good] if len(good) else good,
        is_average=np.zeros(int(is_good.sum()), dtype=np.bool_),
        epoch=epoch[is_good],
    )
    found.classes[fast.lines] = CLASS["row"]
    rest = np.concatenate((lines[~fits], good[~is_good]))
    order = np.argsort(rest, kind="stable")
    rest, rest_block = rest[order], np.concatenate((block[~fits], good_block[~is_good]))[order]
    return _with(fast, list(_repair(found, layout, rest.tolist(), rest_block.tolist(), decimal_comma)))


def _to_canonical(layout: Layout, raw: Floats, suffix: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Values in canonical units, and the cells whose suffix their column cannot have."""
    factors = np.array([column.factor for column in layout.columns])
    values = raw * factors
    refused = np.zeros(raw.shape, dtype=np.bool_)
    has_suffix = ~np.isnan(suffix)
    if has_suffix.any():
        is_size = np.array([column.is_size for column in layout.columns])
        values = np.where(has_suffix, raw * suffix * KB_PER_BYTE, values)
        refused = has_suffix & ~is_size
    return values, refused


def _row_clocks(text: Text, tokens: Tokens, index: Ints) -> Floats:
    """Seconds of the day of each row's first tokens; NaN where they are no clock."""
    if not len(index):
        return np.empty(0)
    starts, widths = tokens.starts[index[:, 0]], tokens.ends[index[:, 0]] - tokens.starts[index[:, 0]]
    if index.shape[1] == 1 and (widths == 8).all():
        chars = text.bytes[starts[:, None] + np.arange(8)].astype(np.int64)
        digits = chars[:, [0, 1, 3, 4, 6, 7]] - 48
        is_clock = ((digits >= 0) & (digits <= 9)).all(axis=1) & (chars[:, 2] == 58) & (chars[:, 5] == 58)
        seconds = digits @ np.array([36000, 3600, 600, 60, 10, 1])
        return np.where(is_clock & (seconds <= 86401), seconds.astype(np.float64), np.nan)
    words = [tokens.words(index[:, i]) for i in range(index.shape[1])]
    known: dict[tuple[str, ...], float] = {}
    for key in set(zip(*words, strict=True)):
        parsed = None if len(key) == 2 and not _HALF_DAY.fullmatch(key[1]) else _clock.parse_time(" ".join(key))
        known[key] = np.nan if parsed is None else parsed
    return np.array([known[key] for key in zip(*words, strict=True)])


def _tail_clocks(tokens: Tokens, index: Ints) -> Floats:
    dates, times = tokens.words(index[:, 0]), tokens.words(index[:, 1])
    result = np.full(len(index), np.nan)
    for place, pair in enumerate(zip(dates, times, strict=True)):
        clock = _clock.parse_line(" ".join(pair))
        day = _clock.to_day(clock, "mdy") if clock else None
        if clock and day and clock.seconds is not None:
            result[place] = _clock.epoch_of(day, clock.seconds)
    return result


def _keys(tokens: Tokens, index: Ints) -> npt.NDArray[np.object_]:
    codes, words = tokens.categories(index)
    table = np.array([*words, ""], dtype=object)
    return table[codes]


def _repair(found: Walk, layout: Layout, lines: list[int], blocks: list[int], comma: bool) -> Iterator[_OneRow]:
    """Rows that are wrapped, marked, averaged, or have their name on a line of its own.

    What is no row is left UNSEEN for the caller to class as prose; what clearly is one and
    cannot be read is classed `unread`.
    """
    pending: list[_Piece] = []
    for line, block in zip(lines, blocks, strict=True):
        words = found.text.line(line).split()
        if pending and (pending[0].block != block or line - pending[-1].line > 2):
            pending = _give_up(found, pending)
        row = _one_row(layout, [word for piece in pending for word in piece.words] + words, line, block, comma)
        if row is None and pending:
            row = _one_row(layout, words, line, block, comma)
            if row is not None or _begins(layout, words):
                pending = _give_up(found, pending)
        if row is not None:
            # a name alone on its line holds no values: the row stands where they do
            where = pending[0].line if pending and len(pending[0].words) > 1 else line
            for piece in pending:
                found.classes[piece.line] = CLASS["row"]
            found.classes[line] = CLASS["summary" if row.is_average else "row"]
            pending = []
            if not (row.is_average and words[0] in _MINIMUM_MAXIMUM):
                yield replace(row, line=where)
            continue
        if pending and (len(pending) > 4 or not all(map(_is_number, words))):
            pending = _give_up(found, pending)
        if pending or _begins(layout, words):
            pending.append(_Piece(line, block, words))
        elif _looks_like_numbers(words):
            found.classes[line] = CLASS["unread"]
    _give_up(found, pending)


@dataclass(frozen=True)
class _Piece:
    """A line that may be the beginning of a wrapped row."""

    line: int
    block: int
    words: list[str]


def _begins(layout: Layout, words: list[str]) -> bool:
    """Whether a line may be the beginning of a wrapped row: a name, or a name and numbers."""
    width = len(layout.columns) + (layout.key is not None)
    if len(words) >= width + 2:
        return False
    if layout.key is None or layout.key_at == "last":
        return len(words) >= 2 and all(_is_number(word) for word in words)
    if layout.clock == "row":
        return _clock.parse_time(words[0]) is not None and len(words) >= 3
    return not _is_number(words[0]) and all(_is_number(word) for word in words[1:])


def _is_number(word: str) -> bool:
    return not odd_number(word, True)[2]


def _one_row(layout: Layout, words: list[str], line: int, block: int, comma: bool) -> _OneRow | None:
    """The row that the words make, or None: clock or label, key and values in the layout's places."""
    seconds, is_average, rest = np.nan, False, words
    size = len(layout.columns) + (layout.key is not None)
    if len(words) > size + _MOST_EXTRA_WORDS:
        return None
    if layout.clock == "row":
        if words[0][0].isdigit() and not (size == len(words) and layout.key is None):
            taken = 2 if len(words) > 1 and _HALF_DAY.fullmatch(words[1]) else 1
            parsed = _clock.parse_time(" ".join(words[:taken]))
            if parsed is None:
                return None
            seconds, rest = parsed, words[taken:]
        else:
            labels = len(words) - size
            if not 1 <= labels <= 3 or not words[labels - 1].endswith((":", "：")):
                return None
            is_average, rest = True, words[labels:]
    for start in range(max(1, len(rest) - size + 1)):
        part = rest[start : start + size]
        if len(part) < size or any(_is_number(word) for word in rest[:start]) or any(_is_number(w) for w in rest[start + size :]):
            continue
        key, cells = "", part
        if layout.key is not None:
            key, cells = (part[-1], part[:-1]) if layout.key_at == "last" else (part[0], part[1:])
        values = _values(layout, cells, comma)
        if values is not None and not (start and not key):
            return _OneRow(line, block, key, values, seconds, is_average)
    return None


def _values(layout: Layout, cells: list[str], comma: bool) -> list[float] | None:
    values = []
    for column, cell in zip(layout.columns, cells, strict=True):
        value, suffix, is_bad = odd_number(cell, comma)
        if is_bad or (suffix == suffix and not column.is_size):
            return None
        values.append(value * suffix * KB_PER_BYTE if suffix == suffix else value * column.factor)
    return values


def _give_up(found: Walk, pending: list[_Piece]) -> list[_Piece]:
    """Class a beginning that never completed: unread when it holds numbers, else left for prose."""
    for piece in pending:
        if _looks_like_numbers(piece.words):
            found.classes[piece.line] = CLASS["unread"]
    return []


def _looks_like_numbers(words: list[str]) -> bool:
    """Whether a line that is no row looks like a damaged one rather than like prose."""
    numbers = sum(map(_is_number, words[:64]))
    return numbers >= 3 and numbers >= 0.6 * len(words[:64])


def _with(rows: Rows, extra: list[_OneRow]) -> Rows:
    if not extra:
        return rows
    keys = np.empty(len(extra), dtype=object)
    keys[:] = [row.key for row in extra]
    lines = np.concatenate((rows.lines, [row.line for row in extra])).astype(np.int64)
    order = np.argsort(lines, kind="stable")
    return Rows(
        layout=rows.layout,
        lines=lines[order],
        block=np.concatenate((rows.block, [row.block for row in extra])).astype(np.int64)[order],
        keys=np.concatenate((rows.keys, keys))[order],
        values=np.concatenate((rows.values, np.array([row.values for row in extra])))[order],
        seconds=np.concatenate((rows.seconds, [row.seconds for row in extra]))[order],
        indent=np.concatenate((rows.indent, np.zeros(len(extra), dtype=np.int64)))[order],
        is_average=np.concatenate((rows.is_average, [row.is_average for row in extra]))[order],
        epoch=np.concatenate((rows.epoch, np.full(len(extra), np.nan)))[order],
    )


def _complete(done: list[Rows], part: Rows, found: Walk) -> None:
    """Add the rows below a wrapped header's second half to the rows of its first half, in order."""
    blocks = found.blocks
    for owner in done:
        places = np.flatnonzero(np.isin(owner.block, [b - blocks[b].part for b in part.block.tolist()]))
        if len(places) == len(part.lines) and len(places):
            columns = (*owner.layout.columns, *part.layout.columns)
            values = np.full((len(owner.lines), len(part.layout.columns)), np.nan)
            values[places] = part.values
            owner.values = np.hstack((owner.values, values))
            layout = owner.layout
            owner.layout = Layout(
                layout.format, layout.name, layout.family, columns, layout.key, layout.key_at, layout.clock
            )
            return
    for line in part.lines.tolist():
        found.classes[line] = CLASS["unread"]
