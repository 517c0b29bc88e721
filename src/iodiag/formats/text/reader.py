"""Any text: captures of several tools, context and prose in one input, every line accounted for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from iodiag.errors import UnknownFormat
from iodiag.formats import clock as _clock
from iodiag.formats import table_formats
from iodiag.formats.text.clean.flattened_capture import unflattened
from iodiag.formats.text.clean.lines import Rewrite, clean
from iodiag.formats.text.clean.logged_lines import unwrapped
from iodiag.formats.text.clean.margins import (
    MixedHosts,
    Unzoned,
    unbordered,
    unbroken,
    uncut,
    unlisted,
    unprefixed,
    unquoted,
)
from iodiag.formats.text.clean.row_cleaning import headed, rejoined, respelled, unglued, unstamped
from iodiag.formats.text.idle_reports import lost_rows_of_cpus, missing_cpus, remark_on_empty_tables
from iodiag.formats.text.ledger import ledger, sections, unread_notes
from iodiag.formats.text.rows.block_rows import rows_of, stated_unit
from iodiag.formats.text.rows.impossible_rows import true_rows
from iodiag.formats.text.rows.misplaced_rows import without_cut_numbers, without_disproven
from iodiag.formats.text.rows.numbers import is_figure
from iodiag.formats.text.rows.repaired_rows import last_line
from iodiag.formats.text.rows.row_store import Rows
from iodiag.formats.text.structure.blocks import Walk
from iodiag.formats.text.structure.foreign_tools import most_telling, refusal, unread_note
from iodiag.formats.text.structure.headerless import blocks_from_loose_rows
from iodiag.formats.text.structure.walk import walk
from iodiag.formats.text.tables import tables
from iodiag.formats.text.times.clock_notes import clock_notes
from iodiag.formats.text.times.row_times import timings
from iodiag.formats.types import Item, Scaling
from iodiag.model.capture import ParseNote, Source

_REWRITES = (unwrapped, uncut, unflattened, unquoted, unbordered, respelled, unlisted, unprefixed)
_NO_HALF = "its clock has twelve hours and neither AM nor PM; a table's first is taken as before noon"


def read_text(source: Source, columns: str | None = None) -> Iterator[Item]:
    """Everything that a text holds. `columns` is the header of rows that came without one.

    Raises UnknownFormat where all that it holds is the output of another system's tools, or lines of several
    hosts among each other.
    """
    own = [fmt.rewrite for fmt in table_formats() if fmt.rewrite]
    unzoned = Unzoned()
    rewrites: list[Rewrite] = [*_REWRITES, unzoned, unbroken, headed, unstamped, unglued, rejoined, *own]
    try:
        text = clean(source.data, rewrites, source.line_feeds)
    except MixedHosts as mixed:
        what = f"lines of several hosts stand among each other ({', '.join(mixed.labels)[:200]})"
        how = f"give those of each by themselves: grep -w '^{mixed.labels[0]}' FILE"
        raise UnknownFormat(f"{source.name}: {what}; {how}") from None
    found = walk(text, source.name)
    blocks_from_loose_rows(found, columns)
    if found.foreign and not (found.blocks or found.contexts):
        tool = most_telling(found.foreign)
        raise UnknownFormat(f"{source.name}:{text.numbers[found.foreign[tool]]}: {refusal(tool)}")
    order, sentence = _clock.day_order(found.clocks, found.has_am_pm)
    is_ended = source.data.endswith((b"\n", b"\r")) or text.is_blank.all()
    cut = -1 if is_ended else last_line(found)
    all_rows, untrue = true_rows(without_disproven(found, rows_of(found, order), cut))
    if sentence and all_rows:
        yield ParseNote(source.name, 0, sentence)
    if all_rows:
        yield from without_cut_numbers(found, all_rows, cut)
    all_timings = timings(found, all_rows, order)
    if all_rows and (unzoned.is_of_twelve or any(timing.is_of_twelve for timing in all_timings)):
        yield ParseNote(source.name, 0, _NO_HALF)
    yield from clock_notes(found, all_rows, all_timings)
    yield from tables(found, all_rows, all_timings)
    yield from sections(found, all_rows, all_timings, order)
    for context in found.contexts:
        yield from context.block.devices
        yield from context.block.facts
        yield from context.block.tables
    for line, reason in untrue:
        yield ParseNote(source.name, int(text.numbers[line]), reason, text.line(line)[:200])
    yield from _unsettled(found)
    yield from _remarks(found, all_rows)
    yield from unread_notes(found, all_rows)
    yield ledger(source, text, found.classes)


def _unsettled(found: Walk) -> Iterator[ParseNote]:
    """A note for rows without a header that several fit, with what settles it."""
    for headers, lines in found.unsettled.items():
        ways = " or ".join(f'--columns "{header}"' for header in headers)
        several = f"{len(lines)} row{'s' if len(lines) > 1 else ''} without a header, which several fit"
        remark = f"{several}; give the one under which they were printed: {ways}"
        yield ParseNote(
            found.name, int(found.text.numbers[lines[0]]), remark, found.text.line(lines[0])[:200]
        )


def _remarks(found: Walk, all_rows: Sequence[Rows]) -> Iterator[ParseNote]:
    """What was read, but not for certain or not whole."""
    numbers = found.text.numbers
    for tool, index in found.foreign.items():
        yield ParseNote(found.name, int(numbers[index]), unread_note(tool))
    for index in found.elided:
        yield ParseNote(
            found.name, int(numbers[index]), "rows are left out here: the time between is in none"
        )
    families = {rows.layout.family for rows in all_rows if rows.layout.format == "iostat"}
    if "disk" in families and "cpu" not in families:
        yield from remark_on_empty_tables(found)
    if "cpu" in families:
        yield from lost_rows_of_cpus(found)
    yield from missing_cpus(found, all_rows)
    for rows in all_rows:
        last = int(rows.lines[-1])
        cells = found.text.words(last)
        # a whole one may end with nan or a dash, or with names that are blank
        is_short = len(cells) < len(rows.layout.columns) or is_figure(cells[-1])
        is_short &= not rows.layout.columns[-1].is_label
        if last == last_line(found) and np.isnan(rows.numbers[-1, -1]) and len(cells) > 1 and is_short:
            remark = "this line is cut off: it is read as far as it goes"
            yield ParseNote(found.name, int(numbers[last]), remark, found.text.line(last)[:200])
        block = found.blocks[int(rows.block[0])]
        line = int(numbers[block.header])
        if rows.layout.remark:
            yield ParseNote(found.name, line, rows.layout.remark)
        elif rows.layout.unknown:
            words = ", ".join(rows.layout.unknown[:20])
            yield ParseNote(found.name, line, f"columns that iodiag does not know are left out: {words}")
        elif rows.layout.is_cut:
            yield ParseNote(found.name, line, "the last column's name is cut off: it is left out")
        if (lent := found.lent.get(block.first)) is not None:
            remark = f"rows without a header, read under that of line {numbers[lent]}, which goes on from "
            yield ParseNote(found.name, line, remark + "the last of them")
        elif block.header == block.first:
            others = (found.blocks[number] for number in np.unique(rows.block).tolist())
            below = next((other for other in others if other.header != other.first), None)
            how = f"as {rows.layout.name}, which alone fits them"
            if below is not None:
                how = f"as {rows.layout.name}: the header of line {numbers[below.header]} fits them"
            yield ParseNote(found.name, line, f"rows without a header above, read {how}")
        scaling = rows.layout.scaling
        if scaling is not None and _seems_scaled(found, rows, scaling):
            yield ParseNote(found.name, line, scaling.remark)


def _seems_scaled(found: Walk, rows: Rows, scaling: Scaling) -> bool:
    """Whether numbers of which no command tells the unit are left out, or so small that it may be another."""
    numbers = rows.numbers[np.isnan(found.blocks.each(stated_unit, np.float64))[rows.block]]
    columns = [column.column for column in rows.layout.columns]
    places = [columns.index(name) for name in scaling.whole if name in columns]
    scaled = [place for place, column in enumerate(rows.layout.columns) if column.raw in scaling.raw]
    is_whole = len(places) == len(scaling.whole) and len(numbers) > 0
    is_small = is_whole and np.nan_to_num(numbers[:, places]).sum(axis=1).max() < scaling.least
    return bool(is_small or np.isnan(numbers[:, scaled]).any())
