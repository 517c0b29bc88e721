"""The account of a text: how many lines of each class, what was not understood, and what it holds."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats import table_formats
from iodiag.formats.text.clean.lines import LONGEST_LINE, Text
from iodiag.formats.text.rows.numbers import is_figure
from iodiag.formats.text.rows.row_store import Rows
from iodiag.formats.text.rows.single_row_parser import is_kernel_name
from iodiag.formats.text.structure.blocks import CLASS, UNSEEN, Block, Classes, Origin, Walk
from iodiag.formats.text.structure.headers import numeric_share
from iodiag.formats.text.times.row_times import distinct_sorted
from iodiag.formats.text.times.timing import Timing
from iodiag.formats.types import ContextBlock
from iodiag.model.capture import LINE_CLASSES, Ledger, ParseNote, Section, Source
from iodiag.table.table import Bools, Floats, Table
from iodiag.table.times import Times, span

_CLOCKED = re.compile(r"\s*(?:\d\d:\d\d:\d\d(?: [AP]M)?|Average:)(?:\s+[\w.:-]+)?(?:\s+-?\d+[.,]\d+)+\s*")
Span = tuple[str | None, str | None]

_MOST_NOTES = 200
_PROSE = re.compile(r"[^\W\d_]{4,}[,.:;]?")
_NO_HEADER = "a damaged header, or one with unknown words: what it does not name for certain is left out"
_FEWEST_WORDS = 5  # of a line of numbers that is taken for a row without its header
_FEWEST_FIGURES = 2  # of a damaged row
_MOST_WORDS = 64
_OF_NUMBERS = 0.5  # a line with such a share of them
_MOST_LISTED = 20_000
_OF_SAMPLES = ("disk_counters", "nfs_mounts")
# a line that was laid out again counts as the most telling of its parts
_BEST_FIRST = ("row", "summary", "header", "banner", "clock", "context", "unread", "noise")


def sections(
    found: Walk, all_rows: Sequence[Rows], all_timings: Sequence[Timing], order: str
) -> Iterator[Section]:
    """What the input holds: context blocks, and one Section per format and segment; `order` is of dates."""
    for context in found.contexts:
        reports, (start, end) = _snapshots(context.block)
        ends = _ends_of_processes(context.block)
        if day := _day(context.origin, order) if len(ends) else None:
            start, end = span(ends + _clock.epoch_of(day, 0.0), is_moment=False)
        yield Section(
            source=found.name,
            format=context.format,
            layout=context.block.layout,
            host=context.block.host or found.host_of(context.origin) or None,
            is_context=True,
            start=start,
            end=end,
            reports=reports,
            rows=context.block.used,
            first_line=int(found.text.numbers[context.first]),
            clocks=None if start else _as_clocks(ends),
        )
    phase_of = found.blocks.each(lambda block: block.phase, np.int64)
    index_of, first_of = np.unique(
        found.blocks.each(lambda block: block.origin.index, np.int64), return_index=True
    )
    begun = dict(zip(index_of.tolist(), phase_of[first_of].tolist(), strict=True))
    merged: dict[tuple[int, str], Section] = {}
    spans: dict[tuple[int, int], Span] = {}
    for rows, timing in zip(all_rows, all_timings, strict=True):
        for number in distinct_sorted(timing.segment):
            first, last = np.searchsorted(timing.segment, (number, number + 1)).tolist()
            here, clocks = slice(first, last), (number, timing.clocks)
            if clocks not in spans:
                spans[clocks] = span(timing.absolute_in(here)[timing.is_dated[here]], timing.is_aware)
            section = _section(found, rows, timing, here, spans[clocks], begun, order)
            old = merged.get((number, rows.layout.format))
            merged[number, rows.layout.format] = _together(old, section) if old else section
    yield from merged.values()


def _snapshots(block: ContextBlock) -> tuple[int, Span]:
    """How many reports of counters or of NFS a block holds, and their times; 0 for one alone."""
    tables = (Table.of(table.rows) for table in block.tables if table.family in _OF_SAMPLES)
    counters = next(tables, None)
    if counters is None or len(reports := set(np.asarray(counters["report"]).tolist())) < 2:
        return 0, (None, None)
    times = counters["time"]
    assert isinstance(times, Times)
    first, last = times.min(), times.max()
    return len(reports), (str(first) if first else None, str(last) if last else None)


def _ends_of_processes(block: ContextBlock) -> Floats:
    """The times at which the samples of a listing of processes end, in seconds of a day without a date."""
    tables = (Table.of(table.rows) for table in block.tables if table.family == "process")
    ends = next((table.floats("clock_s") for table in tables), np.empty(0))
    return ends[np.isfinite(ends)]


def _day(origin: Origin, order: str) -> date | None:
    """The day in the banner above a block."""
    clock = _clock.parse_date(origin.banner.date) if origin.banner else None
    return _clock.to_day(clock, order) if clock else None


def _section(
    found: Walk, rows: Rows, timing: Timing, here: slice, times: Span, begun: Mapping[int, int], order: str
) -> Section:
    """One section; `begun` is the phase in which the tables below each banner begin.

    What stands under other words than the tables of a banner may be of another kernel.
    """
    block = found.blocks.like(rows.block[here.start])
    origin, banner = block.origin, block.origin.banner
    stated = origin.collector.kernel or None if origin.collector else None
    kernel = (banner.kernel if block.phase <= begun[origin.index] else None) if banner else stated
    start, end = times
    day = None if start else _day(origin, order)
    return Section(
        source=found.name,
        format=rows.layout.format,
        layout=rows.layout.name,
        host=found.host_of(origin) or None,
        kernel=kernel,
        cpus=banner.cpus if banner else None,
        start=start,
        end=end,
        reports=int(timing.report[here].max()) + 1,
        rows=here.stop - here.start,
        first_line=int(found.text.numbers[rows.lines[here].min()]),
        clocks=None if rows.layout.clock == "none" else _undated(timing, here),
        day=day.isoformat() if day else None,
    )


def _undated(timing: Timing, here: slice) -> str | None:
    """The first and the last time of day of rows of which none has a date; None where one has or no clock."""
    seconds = timing.local[here][~np.isnan(timing.local[here])]
    return None if timing.is_dated[here].any() else _as_clocks(seconds)


def _as_clocks(seconds: Floats) -> str | None:
    """The first and the last of some times of day, as a Section has them; None without any."""
    if not len(seconds):
        return None
    ends = (int(seconds[at]) % _clock.DAY_S for at in (0, -1))
    return " to ".join(dict.fromkeys(f"{s // 3600:02}:{s // 60 % 60:02}:{s % 60:02}" for s in map(int, ends)))


def _together(old: Section, new: Section) -> Section:
    layouts = dict.fromkeys([*old.layout.split("; "), new.layout])
    return replace(
        old,
        layout="; ".join(layouts),
        start=min((t for t in (old.start, new.start) if t), default=None),
        end=max((t for t in (old.end, new.end) if t), default=None),
        reports=max(old.reports, new.reports),
        rows=old.rows + new.rows,
        first_line=min(old.first_line, new.first_line),
        clocks=_both_clocks(old.clocks, new.clocks),
    )


def _both_clocks(old: str | None, new: str | None) -> str | None:
    """From the earliest to the latest time of day of two spans; the first where one goes past midnight."""
    spans = [span.split(" to ") for span in (old, new) if span]
    if len(spans) < 2 or any(span[0] > span[-1] for span in spans):
        return old or new
    ends = min(span[0] for span in spans), max(span[-1] for span in spans)
    return " to ".join(dict.fromkeys(ends))


def unread_notes(found: Walk, all_rows: Sequence[Rows]) -> Iterator[ParseNote]:
    """Settle what the open lines are, and name each line inside a capture that was not understood."""
    text, classes = found.text, found.classes
    classes[(classes == UNSEEN) & ~text.is_blank] = CLASS["noise"]
    classes[[*_damaged(found, all_rows), *_glued(found)]] = CLASS["unread"]
    loose = np.array(found.loose, dtype=np.int64)
    is_row = np.array([_may_be_row(text.words(n)) for n in found.loose], dtype=np.bool_)
    loose = loose[is_row & (classes[loose] == CLASS["noise"])]
    widths = {_width(block) for block in found.blocks.patterns}
    of_others = _below_other_headings(found, loose.tolist())
    is_ours = [
        not widths or (_may_be_ours(text.words(n), widths) and n not in of_others) for n in loose.tolist()
    ]
    others = [n for n, is_own in zip(loose.tolist(), is_ours, strict=True) if not is_own]
    if others:
        many = f"numbers of no table that iodiag reads: {len(others)} line{'s' if len(others) > 1 else ''}"
        yield ParseNote(
            found.name, int(text.numbers[others[0]]), many, text.line(others[0])[:200], len(others)
        )
    loose = loose[np.array(is_ours, dtype=np.bool_)]
    loose = np.concatenate((loose, _clocked(found))).astype(np.int64)
    classes[loose] = CLASS["unread"]
    is_loose = set(loose.tolist())
    unread = np.flatnonzero(classes == CLASS["unread"]).tolist()
    for index in unread[:_MOST_NOTES]:
        reason = (
            "a row without a header; name its columns with --columns"
            if index in is_loose
            else _NO_HEADER
            if _is_of_words(text.words(index)[:_MOST_WORDS])
            else "not a whole row of the table above it"
        )
        yield ParseNote(found.name, int(text.numbers[index]), reason, text.line(index)[:200], is_unread=True)
    if len(unread) > _MOST_NOTES:
        rest = len(unread) - _MOST_NOTES
        first = int(text.numbers[unread[_MOST_NOTES]])
        yield ParseNote(found.name, first, f"{rest} further lines not understood", "", rest, True)


def _is_of_words(words: Sequence[str]) -> bool:
    """Whether a line is as a header is: words alone, several of them, behind a clock or none."""
    # a line of encoded blanks alone has none
    words = words[_clock.leading_time(tuple(words))[1] :] if words else words
    return len(words) > 2 and not any(map(is_figure, words))


def _damaged(found: Walk, all_rows: Sequence[Rows]) -> Iterator[int]:
    """Open lines that are what is left of a row.

    They stand right below a table's header or rows, or between two rows, and are the rest of a row; between
    two rows also what has as many words as the row above, numbers among them.
    """
    solid = np.flatnonzero(~found.text.is_blank)
    is_open = found.classes[solid] == CLASS["noise"]
    is_below = np.isin(found.classes[solid[:-1]], (CLASS["header"], CLASS["row"])) & is_open[1:]
    names = {name for rows in all_rows for name in rows.names}
    for first in (1 + np.flatnonzero(is_below)).tolist():
        whole = found.text.words(int(solid[first - 1]))
        for place in range(first, len(solid)):
            words = found.text.words(int(solid[place]))[:_MOST_WORDS] if is_open[place] else [""]
            if not (_is_rest_of_row(words, names) or _has_lost_clock(words, whole)):
                break
            yield int(solid[place])
    is_row = found.classes[solid] == CLASS["row"]
    for place in (1 + np.flatnonzero(is_row[:-2] & is_open[1:-1] & is_row[2:])).tolist():
        words = found.text.words(int(solid[place]))[:_MOST_WORDS]
        above = found.text.words(int(solid[place - 1]))
        is_as_wide = len(words) == len(above) and sum(map(is_figure, words)) >= _FEWEST_FIGURES
        if is_as_wide or (words[0] in names and any(map(is_figure, words[1:]))):
            yield int(solid[place])


def _is_rest_of_row(words: Sequence[str], names: Collection[str]) -> bool:
    """Whether a line is a row that lost values: a clock or none, a device or another item, numbers.

    Of an item that no whole row is of, the numbers are more than the words, which are a sentence else.
    """
    clock = _clock.leading_time(tuple(words))[1]
    item, values = words[clock : clock + 1], words[clock + 1 :]
    figures = sum(map(is_figure, values))
    is_numbered = bool(clock) and any(map(is_figure, item))
    if item and (item[0] in names or is_numbered) and figures >= _FEWEST_FIGURES:
        return True
    is_kernels = any(map(is_kernel_name, item))
    if clock and not values:
        return is_kernels
    return (is_kernels or any(word in names for word in item)) and 2 * figures > len(values)


def _has_lost_clock(words: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether a line is a row of sar without a clock, as many as the `whole` line above has behind its own.

    A rate has decimals: a whole number below a table may be that of a page.
    """
    is_as_wide = 0 < len(whole) - len(words) == _clock.leading_time(tuple(whole))[1]
    return is_as_wide and all(map(is_figure, words)) and any(sign in word for word in words for sign in ".,")


def _glued(found: Walk) -> Iterator[int]:
    """The open lines that are a header of the text's tables and, behind it, a row whose line feed is lost.

    A word of both may be one, and a header may have a label that its rows have not.
    """
    headers: dict[tuple[int, int], set[tuple[str, ...]]] = {}
    for block in found.blocks.patterns:
        raws = tuple(column.raw for column in block.layout.columns)
        headers.setdefault((_width(block), block.clock_tokens), set()).add(raws)
    for number in np.flatnonzero(found.classes == CLASS["noise"]).tolist() if headers else ():
        line, words = found.text.line(number)[:LONGEST_LINE], found.text.words(number)
        shape = (len(words) + 1) // 2, _clock.leading_time(tuple(words))[1]
        if (
            words
            and is_figure(words[-1])
            and any(_has_in_order(line, raws) for raws in headers.get(shape, ()))
        ):
            yield number


def _has_in_order(line: str, raws: Sequence[str]) -> bool:
    """Whether a line has a header's words in their order, whatever stands between them."""
    at = 0
    for raw in raws:
        at = line.find(raw, at) + len(raw)
        if at < len(raw):
            return False
    return True


def _clocked(found: Walk) -> list[int]:
    """The open lines of sar whose header is lost, however few values they have: a clock, an item, values."""
    if all(block.layout.clock != "row" for block in found.blocks.patterns):
        return []
    noise = np.flatnonzero(found.classes == CLASS["noise"]).tolist()
    return [number for number in noise if _CLOCKED.fullmatch(found.text.line(number))]


def _may_be_row(words: Sequence[str]) -> bool:
    """Whether a line of numbers without a header may be a row: a row has two words at most."""
    return len(words) >= _FEWEST_WORDS and sum(bool(_PROSE.fullmatch(word)) for word in words[:64]) <= 2


def _width(block: Block) -> int:
    """How many words a whole row of a block has."""
    return block.clock_tokens + len(block.layout.columns) + (block.layout.key is not None)


def _may_be_ours(words: Sequence[str], widths: Collection[int]) -> bool:
    """Whether a row without a header may be of a tool that is read, beside tables whose rows are so wide.

    It is as wide as those with figures beside its name, begins with a time or with a device as the kernel
    names it, or is all numbers.
    """
    clock = _clock.leading_time(tuple(words))[1]
    is_named = any(map(is_kernel_name, words[clock : clock + 1]))
    is_as_wide = len(words) in widths and sum(not is_figure(word) for word in words[:_MOST_WORDS]) <= 1
    return bool(is_as_wide or clock or is_named or all(map(is_figure, words[:_MOST_WORDS])))


def _below_other_headings(found: Walk, lines: Sequence[int]) -> set[int]:
    """Those of some lines of numbers, in order, that another program's heading stands above."""
    result: set[int] = set()
    for line in lines:
        if line - 1 in result or (line and _heads(found.text.line(line - 1), found.text.line(line))):
            result.add(line)
    return result


def _heads(heading: str, row: str) -> bool:
    """Whether all of a row's numbers stand below the words of a line, and no column is known by one of these.

    They begin where such words begin, or end where they end.
    """
    above, below = (
        [*re.finditer(r"\S+", text.expandtabs()[:LONGEST_LINE].rstrip())] for text in (heading, row)
    )
    words = {match[0] for match in above}
    if not words or any(map(is_figure, words)) or not words.isdisjoint(_known_columns()):
        return False
    starts, ends = {match.start() for match in above}, {match.end() for match in above}
    return all(match.start() in starts for match in below) or all(match.end() in ends for match in below)


@cache
def _known_columns() -> frozenset[str]:
    return frozenset(word for fmt in table_formats() for header in fmt.headers for word in header.split())


def ledger(source: Source, text: Text, classes: Classes) -> Ledger:
    """The original lines by class. What cleaning left nothing of is noise."""
    kept = ~text.is_blank
    is_solid = kept if text.data is source.data else solid_lines(source.data)
    if text.spans is None:
        counts = np.bincount(classes[kept], minlength=len(LINE_CLASSES))
    else:
        rank = np.zeros(len(LINE_CLASSES), dtype=np.int64)
        rank[[LINE_CLASSES.index(name) for name in _BEST_FIRST]] = np.arange(len(_BEST_FIRST))
        spans = text.spans[kept]
        begins = np.cumsum(spans) - spans
        lines = np.repeat(text.numbers[kept] - begins, spans) + np.arange(int(spans.sum()))
        best = np.full(int(lines.max(initial=0)) + 1, len(_BEST_FIRST))
        np.minimum.at(best, lines, np.repeat(rank[classes[kept]], spans))
        # a joined line may take a blank one with it, which counts nowhere
        best[1 + np.flatnonzero(~is_solid[: len(best) - 1])] = len(_BEST_FIRST)
        by_rank = np.bincount(best, minlength=len(_BEST_FIRST))[: len(_BEST_FIRST)]
        counts = by_rank[rank]
    counts[CLASS["noise"]] += max(int(is_solid.sum()) - int(counts.sum()), 0)
    listed = np.flatnonzero((classes == CLASS["context"]) & kept)[:_MOST_LISTED].tolist()
    if not counts[CLASS["unread"]]:
        listed = []
    return Ledger(
        source.name,
        {name: int(n) for name, n in zip(LINE_CLASSES, counts, strict=True) if n},
        sum(numeric_share(text.words(index)) >= _OF_NUMBERS for index in listed),
    )


def solid_lines(data: bytes) -> Bools:
    """Whether each line holds more than blanks."""
    if not data:
        return np.zeros(0, dtype=np.bool_)
    array = np.frombuffer(data if b"\n" in data else data.replace(b"\r", b"\n"), dtype=np.uint8)
    is_solid = np.ones(256, dtype=np.uint8)
    is_solid[[0, 9, 10, 13, 32]] = 0
    starts = np.concatenate(([0], np.flatnonzero(array == 10) + 1))
    starts = starts[starts < len(data)]
    return np.maximum.reduceat(is_solid[array], starts).astype(np.bool_)
