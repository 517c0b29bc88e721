"""Blocks into rows: all blocks of a layout at once where lines are whole, the others one by one."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from iodiag.formats.text.rows.category_codes import slice_if_contiguous
from iodiag.formats.text.rows.numbers import Tokens
from iodiag.formats.text.rows.repaired_rows import repaired
from iodiag.formats.text.rows.row_store import Rows, RowStore
from iodiag.formats.text.structure.blocks import CLASS, UNSEEN, Block, Walk
from iodiag.formats.types import Scaling
from iodiag.table.table import Ints

_MOST_LAYOUTS = 1000  # no host's captures have so many; what is below more stays unread
# bytes that are parsed together: fewer take more calls, more would leave the cache
_STRETCH = 1 << 20
_FEWEST_STRETCHES = 4
_MOST_THREADS = min(os.cpu_count() or 1, 4)


def rows_of(found: Walk, order: str) -> list[Rows]:
    """All rows of a text, a Rows per distinct layout; classes are filled in.

    `order` of day and month is for rows that hold a whole date.
    """
    whole: list[Rows] = []
    halves: list[Rows] = []
    for stores in _stores(found):
        _fill(found, stores)
        of_sar = [store for store in stores if store.first.layout.clock == "row"]
        keeps_zeros = any(store.keeps_zeros() for store in of_sar)
        for store in of_sar:
            store.mark_odd(keeps_zeros=keeps_zeros)
        for store in stores:
            rows = _finished(found, store, order)
            if len(rows.lines):
                (halves if store.first.part else whole).append(rows)
    for rows in halves:
        _complete(whole, rows, found)
    for rows in whole:
        if rows.layout.scaling is not None:
            _scale(found, rows, rows.layout.scaling)
    return whole


def _stores(found: Walk) -> Iterator[list[RowStore]]:
    """A store per kind of block; in one list, unless blocks share lines: then each sees what others left."""
    kinds: dict[Hashable, int] = {}
    of_pattern = [kinds.setdefault(_kind(block), len(kinds)) for block in found.blocks.patterns]
    kind = np.array(of_pattern, dtype=np.int64)[found.blocks.pattern]
    first, sizes = found.blocks.first, found.blocks.last - found.blocks.first
    by_kind = np.argsort(kind, kind="stable")
    # the lines of a kind stand together, in the order of its blocks
    block = np.repeat(by_kind, sizes[by_kind])
    begins = np.append(0, np.cumsum(sizes[by_kind]))
    lines = np.arange(len(block)) + np.repeat(first[by_kind] - begins[:-1], sizes[by_kind])
    edges = begins[np.append(0, np.cumsum(np.bincount(kind, minlength=len(kinds))))].tolist()
    places = [slice(*edge) for edge in pairwise(edges) if edge[0] < edge[1]]
    # in the order of their first blocks
    places.sort(key=lambda own: int(block[own.start]))
    for own in places[_MOST_LAYOUTS:]:
        refused = lines[own]
        is_open = (found.classes[refused] == UNSEEN) & ~found.text.is_blank[refused]
        found.classes[refused[is_open]] = CLASS["unread"]
    groups = [(lines[own], block[own]) for own in places[:_MOST_LAYOUTS]]
    if (first[1:] < found.blocks.last[:-1]).any():
        yield from ([_store(found, *group)] for group in groups)
    else:
        yield [_store(found, *group) for group in groups]


def _store(found: Walk, lines: Ints, block: Ints) -> RowStore:
    first = found.blocks.like(int(block[0]))
    own = slice_if_contiguous(lines)
    is_open = (found.classes[own] == UNSEEN) & ~found.text.is_blank[own]
    if not is_open.all():
        lines, block = lines[is_open], block[is_open]
    return RowStore(first, lines, block, found.blocks.first)


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


def _fill(found: Walk, stores: Sequence[RowStore]) -> None:
    """Fill stores with their plain rows, a stretch of the text at a time.

    Rows that stand in columns are read by one thread: what numpy does with a stretch is so short that
    threads would wait for each other longer than they work. Tokens take longer, side by side.
    """
    text = found.text
    starts = np.arange(0, len(text.data), _STRETCH)
    bounds = np.append(np.searchsorted(text.ends, starts), len(text))
    left: list[list[tuple[RowStore, Ints]]] = [[] for _ in starts]
    for store in stores:
        places = store.take_aligned(text, np.searchsorted(store.lines, bounds).tolist())
        edges = np.searchsorted(store.lines[places], bounds).tolist()
        for stretch, edge in enumerate(pairwise(edges)):
            if edge[0] < edge[1]:
                left[stretch].append((store, places[slice(*edge)]))
    left = [parts for parts in left if parts]

    def take(number: int) -> None:
        tokens = Tokens(text, _lines_of(left[number]))
        for store, places in left[number]:
            store.take(text, tokens, places)

    _side_by_side(take, len(left))


def _side_by_side(work: Callable[[int], object], count: int) -> None:
    """Do a work for every number below `count`, few after each other and many on all cores, in any order.

    The caller's thread takes part, so that nobody has to be woken for each number that is done.
    """
    numbers = iter(range(count))

    def take() -> None:
        for number in numbers:
            work(number)

    if count < _FEWEST_STRETCHES or _MOST_THREADS < 2:
        take()
        return
    # reading a short text needs no threads
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_MOST_THREADS - 1) as pool:
        others = [pool.submit(take) for _ in range(_MOST_THREADS - 1)]
        take()
        for other in others:
            other.result()


def _lines_of(left: Sequence[tuple[RowStore, Ints]]) -> Ints:
    """The lines at some places of stores, and those above them where a name may stand there."""
    lines = [store.lines[places] for store, places in left]
    above = [
        np.maximum(own - 1, 0) for own, (store, _) in zip(lines, left, strict=True) if store.has_name_above
    ]
    wanted = np.concatenate(lines + above)
    # they lie close together, where marking them is faster than sorting
    first = int(wanted.min())
    is_wanted = np.zeros(int(wanted.max()) - first + 1, dtype=np.bool_)
    is_wanted[wanted - first] = True
    return np.flatnonzero(is_wanted) + first


def _finished(found: Walk, store: RowStore, order: str) -> Rows:
    """The rows of a store, those that are no plain ones among them."""
    found.classes[store.take_back_damaged()] = CLASS["unread"]
    found.classes[store.settle(found.text)] = CLASS["row"]
    is_left = found.classes[store.lines] == UNSEEN
    left = store.lines[is_left].tolist(), store.block[is_left].tolist()
    store.add(repaired(found, *left, order, store.names))
    return store.rows()


def _complete(whole: list[Rows], half: Rows, found: Walk) -> None:
    """Add the rows below the right half of a table to those of its left half, in order.

    The halves belong together when they have the same number of rows; else the right one is unread. Left
    halves of several layouts may go on alike.
    """
    counts = np.bincount(half.block, minlength=len(found.blocks))
    part_of = found.blocks.each(lambda block: block.part, np.int64)
    found.classes[half.lines] = CLASS["unread"]
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
        rows.layout = rows.layout._replace(columns=(*rows.layout.columns, *half.layout.columns))
        found.classes[half.lines[fits]] = CLASS["row"]


def stated_unit(block: Block) -> float:
    """The unit of the columns that may be scaled, in the usual one; NaN where no command of the run tells."""
    scaling, command = block.layout.scaling, block.origin.command
    unit = (
        scaling.unit(command.words) if scaling and command and command.tool == block.layout.format else None
    )
    return np.nan if unit is None else unit


def _scale(found: Walk, rows: Rows, scaling: Scaling) -> None:
    """Bring columns to the usual unit from that which a command states; leave out what is in another."""
    factors = found.blocks.each(stated_unit, np.float64)[rows.block]
    run = found.blocks.each(lambda block: block.origin.index, np.int64)[rows.block]
    names = [column.column for column in rows.layout.columns]
    whole = rows.numbers[:, [names.index(name) for name in scaling.whole if name in names]]
    shown, odd = (
        np.bincount(run, np.count_nonzero(is_counted, axis=1))
        for is_counted in (whole > 0, (whole > 0) & (whole % scaling.multiple_of != 0))
    )
    factors = np.where(np.isnan(factors) & (2 * odd <= shown)[run], 1.0, factors)
    if (factors != 1.0).any():
        places = [n for n, column in enumerate(rows.layout.columns) if column.raw in scaling.raw]
        values = rows.numbers[:, places]
        rows.numbers[:, places] = np.where(values == 0, 0.0, values * factors[:, None])
