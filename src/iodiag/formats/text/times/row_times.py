"""Times of rows and reports: which day, which report, how long a sample, and what is since boot."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.clock import DAY_S
from iodiag.formats.text.rows.category_codes import slice_if_contiguous
from iodiag.formats.text.rows.row_store import Rows
from iodiag.formats.text.structure.blocks import CLASS, Block, Blocks, ClockSequence, Origin, Walk
from iodiag.formats.text.times import report_times as _report_times
from iodiag.formats.text.times import restarts
from iodiag.formats.text.times.report_numbers import report_numbers
from iodiag.formats.text.times.report_times import Seconds, runs, seconds_of
from iodiag.formats.text.times.restarts import Run
from iodiag.model.capture import ParseNote
from iodiag.model.columns import OF_THE_MOMENT
from iodiag.table.table import Bools, Floats, Ints, repeated

_COUNTED = ("reads", "writes", "discards", "flushes", "ios", "read_merges", "write_merges", "merges")
COUNT_RATES = frozenset(f"{counted}_per_s" for counted in _COUNTED)
_SECTORS = ("rsec/s", "wsec/s", "rkB/s", "wkB/s")
_OF_REQUESTS = frozenset(("await_ms", "read_await_ms", "write_await_ms", "request_size_kb"))
_TOTALS = {
    f"{unit}_{way}": f"{unit}_{way}/s" for unit in ("kB", "MB", "GB", "Blk") for way in ("read", "wrtn")
}
_FINE_TOTALS = ("kB_read", "kB_wrtn", "Blk_read", "Blk_wrtn")
_PARTED_DISK = re.compile(
    r"(?:sd|hd|vd|xvd|dasd)[a-z]{1,4}|nvme\d{1,4}n\d{1,4}|mmcblk\d{1,4}|(?:cciss|ida)[/!]c\d{1,3}d\d{1,3}"
)
_HARDLY_IDLE = 10.0
_EVEN, _CUT = 0.1, 1.5  # of the usual length: how far others are off it, and a first one that is none
_MOST_UNTIMED = 20
_MAY_AVERAGE = "the first report may be the average since boot: neither its numbers nor a banner tell"
_FEWEST_FORGOTTEN = 2
_PAGED = ("bi", "bo")
_INTERRUPTS = "interrupts_per_s"


@dataclass
class Timing:
    """Per row of one Rows: its time, the length of its sample, its report and whether that is since boot.

    `local` are seconds since 1970 as the host's clock showed them (NaN unknown), `offset` the seconds east
    of Greenwich (NaN where no zone is told). Where not `is_dated`, only differences mean anything. Rows of
    one text whose `clocks` have the same number have the same clocks, and so all of this. `is_of_twelve`
    says that the clocks of sar's rows have twelve hours and do not name their half. `doubtful` are rows that
    begin a run of which nothing proves that it begins with a sample, nor with an average since boot.
    """

    local: Floats
    offset: Floats
    interval: Floats
    report: Ints
    segment: Ints
    since_boot: Bools
    is_dated: Bools
    clocks: int
    is_of_twelve: bool = False
    doubtful: list[int] = field(default_factory=list)

    @property
    def absolute(self) -> Floats:
        """Seconds since 1970; as if it were UTC where the zone is not known."""
        return self.absolute_in(slice(None))

    def absolute_in(self, where: slice) -> Floats:
        """The same for some of the rows."""
        offset = self.offset[where]
        return self.local[where] - np.where(np.isnan(offset), 0.0, offset)

    @property
    def is_aware(self) -> bool:
        """Whether the zone of all dated rows is known."""
        return bool(self.is_dated.any() and not (np.isnan(self.offset) & self.is_dated).any())


def timings(found: Walk, all_rows: Sequence[Rows], order: str) -> list[Timing]:
    """One Timing per Rows, reports counted the same way across all tables of a segment."""
    segment_of = found.blocks.each(lambda block: block.origin.index, np.int64)
    calendar_of = _calendars(found.blocks, segment_of)
    phase_of = found.blocks.each(lambda block: block.phase, np.int64)
    is_resumed = found.blocks.each(lambda block: block.is_resumed, np.bool_)
    gap_of = np.cumsum(is_resumed | (np.diff(phase_of, prepend=0) != 0))
    result: list[Timing] = []
    first_like = _first_like(found.blocks, all_rows)
    for number, rows in enumerate(all_rows):
        timing = _empty(segment_of[rows.block], first_like[number])
        if first_like[number] < number:
            other = result[first_like[number]]
            timing.local, timing.interval = other.local.copy(), other.interval.copy()
            timing.is_dated = other.is_dated.copy()
        elif rows.layout.clock == "row":
            # rows below something else or other words begin a new stretch: the time between is unknown
            stretch = timing.segment * (len(found.blocks) + 1) + gap_of[rows.block]
            _by_row(found, rows, timing, order, calendar_of[rows.block], stretch)
        elif rows.layout.clock == "tail":
            _by_tail(rows, timing)
        else:
            _by_report(found, rows, timing, order)
            if found.text.stamps:
                _by_stamp(found, rows, timing, order)
        result.append(timing)
    _number_reports(found, all_rows, result, first_like)
    kinds = _split_at_clocks(found, all_rows, result)
    if any(run.is_below_clock for _, run in kinds.values()):
        _number_reports(found, all_rows, result, first_like)
    for format_id in dict.fromkeys(rows.layout.format for rows in all_rows):
        group = [(r, t) for r, t in zip(all_rows, result, strict=True) if r.layout.format == format_id]
        numbers = sorted({number for _, t in group for number in distinct_sorted(t.segment)})
        used, host = set[str](), ""
        several = list(_alike(numbers, kinds, is_clocked=group[0][0].layout.clock == "row"))
        for alike in several:
            parts = [_Part.of(r, timing, gap_of[r.block], alike[0], alike[-1]) for r, timing in group]
            parts = [part for part in parts if part.size]
            if len(alike) > 1 or kinds[alike[0]][1].is_below_clock:
                _finish_runs(found, {number: kinds[number][0] for number in alike}, parts, order)
            else:
                origin = kinds[alike[0]][0]
                named = origin.heading or origin.host
                used, host = (set(), named) if named and named != host else (used, host)
                _finish(found, origin, parts, order, used)
                used |= _used_devices(parts) if len(several) > 1 else set()
            for part in (part for part in parts if part.rows.layout.first_report == "since boot"):
                part.set_since_boot(restarts.begin_anew(part.row_group(), part.rows.block[part.where]))
    _set_apart(all_rows, result)
    return result


def _set_apart(all_rows: Sequence[Rows], result: Sequence[Timing]) -> None:
    """Give runs that are apart segments of their own, behind all others: a report is of one run."""
    others = [t.segment for r, t in zip(all_rows, result, strict=True) if not r.layout.is_apart]
    behind = 1 + max((int(segment.max()) for segment in others), default=-1)
    for rows, timing in zip(all_rows, result, strict=True):
        if rows.layout.is_apart:
            timing.segment = timing.segment + behind


def clock_notes(found: Walk, all_rows: Sequence[Rows], result: Sequence[Timing]) -> Iterator[ParseNote]:
    """What is wrong with clocks: rows without one, rows out of order, reports below another's clock."""
    for rows, timing in zip(all_rows, result, strict=True):
        is_untimed = rows.is_average | np.isnan(timing.local)
        if rows.layout.clock == "tail" and not is_untimed.all():
            for line in rows.lines[is_untimed][:_MOST_UNTIMED].tolist():
                yield _note(found, line, "the time behind this row is missing or damaged: the row has none")
        if rows.layout.clock == "line":
            yield from _without_own_clock(found, rows)
            yield from _with_lost_ticks(found, rows, timing)
        for row in [row for row in timing.doubtful if not timing.since_boot[row]][:_MOST_UNTIMED]:
            yield _note(found, int(rows.lines[row]), _MAY_AVERAGE)
        at = np.flatnonzero(~is_untimed)
        # the sections of sar begin again at the first sample, and so do runs one below the other
        group = rows.block if rows.layout.clock == "row" else timing.segment
        # one without a date tells nothing beside one that has it
        back = _clock.first_back(timing.local[at], np.where(timing.is_dated, group, -1 - group)[at])
        if back >= 0:
            yield _note(found, int(rows.lines[at[back]]), _clock.GOES_BACK)


def _without_own_clock(found: Walk, rows: Rows) -> Iterator[ParseNote]:
    """A note where reports lack the clock line that most of a run have above each report."""
    used = np.unique(rows.block)
    blocks = found.blocks
    segment = blocks.each(lambda block: block.origin.index, np.int64)[used]
    reports = np.unique(np.stack((segment, blocks.report[used])), axis=1, return_index=True)[1]
    used = used[np.sort(reports)]
    clock_lines = np.cumsum(found.classes == CLASS["clock"])[blocks.header[used]]
    is_clocked = blocks.clock_at[used] >= 0
    is_again = np.append(False, np.diff(clock_lines) == 0) & is_clocked
    if is_again.any() and 2 * is_again.sum() < is_clocked.sum():
        line = int(blocks.header[used[np.argmax(is_again)]])
        count = int(is_again.sum())
        lacking = f"{count} of {len(used)} reports have no clock line of their own"
        yield _note(found, line, f"{lacking}: they bear the time of the report above")


def _with_lost_ticks(found: Walk, rows: Rows, timing: Timing) -> Iterator[ParseNote]:
    """A note where a host counted less time than its command asked for, as `report_times` found it."""
    asked = found.blocks.each(lambda block: _asked(block) or np.nan, np.float64)[rows.block]
    # whole seconds are another command's
    is_short = (timing.interval < _report_times.SHORTER * asked) & (timing.interval % 1 > 0)
    if rows.layout.key is not None and is_short.any():
        counted, asked = timing.interval[is_short], asked[is_short]
        told = " to ".join(dict.fromkeys(f"{length:.2f}" for length in (counted.min(), counted.max())))
        lost = f"{told} s were counted where {asked[0]:g} s were asked for: the host's clock lost ticks"
        reason = f"{lost}, and rates and %util read up to {(asked / counted).max():.1f} times too high"
        yield _note(found, int(rows.lines[np.argmax(is_short)]), reason)


def _asked(block: Block) -> float | None:
    """The interval that the command above a block asked for, if its tool printed the block."""
    command = block.origin.command
    return command.interval_s if command and command.tool == block.layout.format else None


def _note(found: Walk, line: int, reason: str) -> ParseNote:
    return ParseNote(found.name, int(found.text.numbers[line]), reason, found.text.line(line)[:200])


def _number_reports(
    found: Walk, all_rows: Sequence[Rows], result: Sequence[Timing], first_like: Sequence[int]
) -> None:
    """Count the reports of each segment; sections with the same clocks have the same reports."""
    firsts = [n for n, first in enumerate(first_like) if first == n]
    clocks = [(result[n].segment, result[n].local) for n in firsts]
    reports = dict(
        zip(firsts, report_numbers(found.blocks, [all_rows[n] for n in firsts], clocks), strict=True)
    )
    for number, (timing, first) in enumerate(zip(result, first_like, strict=True)):
        timing.report = reports[first] if first == number else reports[first].copy()


def _split_at_clocks(
    found: Walk, all_rows: Sequence[Rows], result: Sequence[Timing]
) -> dict[int, tuple[Origin, Run]]:
    """Make a segment of each run that a collector's clock begins; origin and kind of every segment."""
    below = [np.zeros(len(rows.block), dtype=np.int64) for rows in all_rows]
    for format_id in dict.fromkeys(rows.layout.format for rows in all_rows if rows.layout.clock != "row"):
        own = [n for n, rows in enumerate(all_rows) if rows.layout.format == format_id]
        blocks = [all_rows[n].block for n in own]
        clock_of = restarts.below_clocks(
            found, [result[n].report for n in own], blocks, [result[n].segment for n in own]
        )
        for n in own:
            below[n] = clock_of[all_rows[n].block]
    origins = {origin.index: origin for origin in found.origins}
    if not any(part.any() for part in below):
        return {number: (origin, Run.like(origin, False)) for number, origin in origins.items()}
    keys = np.concatenate(
        [np.stack((t.segment, part), axis=1) for t, part in zip(result, below, strict=True)]
    )
    kinds, number_of = np.unique(keys, axis=0, return_inverse=True)
    ends = np.cumsum([len(part) for part in below])
    for timing, numbers in zip(result, np.split(number_of, ends[:-1]), strict=True):
        timing.segment = numbers
    return {
        number: (origins[old], Run.like(origins[old], clock > 0))
        for number, (old, clock) in enumerate(kinds.tolist())
    }


def _alike(
    numbers: Sequence[int], runs: Mapping[int, tuple[Origin, Run]], is_clocked: bool
) -> Iterator[list[int]]:
    """Segments of a tool that one collector may have started; each alone where rows have clocks."""
    alike: list[int] = []
    for number in numbers:
        origin, run = runs[number]
        if alike and (is_clocked or origin.is_restart or runs[alike[-1]][1] != run):
            yield alike
            alike = []
        alike.append(number)
    if alike:
        yield alike


def _first_like(blocks: Blocks, all_rows: Sequence[Rows]) -> list[int]:
    """The number of the first Rows with the clocks of each: one section of sar tells the times of all."""
    found: list[int] = []
    alike: dict[Hashable, list[int]] = {}
    for number, rows in enumerate(all_rows):
        key = _header_of(blocks, rows)
        others = alike.setdefault(key, []) if key is not None else []
        first = next((other for other in others if _show_the_same(all_rows[other], rows)), number)
        if first == number:
            others.append(number)
        found.append(first)
    return found


def _show_the_same(one: Rows, other: Rows) -> bool:
    """Whether rows show the same clocks; unknown ones are alike."""
    has_same_clocks = np.array_equal(one.seconds.view(np.int64), other.seconds.view(np.int64))
    return has_same_clocks and np.array_equal(one.is_average, other.is_average)


def _header_of(blocks: Blocks, rows: Rows) -> Hashable:
    """All but their clocks that times and reports of rows with clocks below one header follow from.

    None for rows without clocks or below several headers.
    """
    if rows.layout.clock != "row" or not (rows.block == rows.block[:1]).all():
        return None
    if (np.isnan(rows.seconds) & ~rows.is_average).any():  # their items tell the reports apart
        return None
    block = blocks[rows.block[0]]
    return rows.layout.format, block.origin.index, block.clock, block.is_resumed, len(rows.lines)


def _empty(segment: Ints, clocks: int) -> Timing:
    size = len(segment)
    # what is put in their place as a whole need not be made here
    unknown = repeated(np.nan, size)
    no = np.zeros(size, dtype=np.bool_)
    return Timing(
        local=unknown,
        offset=unknown,
        interval=unknown.copy(),
        report=repeated(np.int64(0), size),
        segment=segment,
        since_boot=no,
        is_dated=no.copy(),
        clocks=clocks,
    )


def _base_day(origin: Origin, order: str) -> float:
    """Midnight of the banner's date, in seconds since 1970; NaN without one."""
    clock = _clock.parse_date(origin.banner.date) if origin.banner else None
    day = _clock.to_day(clock, order) if clock else None
    return _clock.epoch_of(day, 0.0) if day else float("nan")


def distinct_sorted(numbers: Ints) -> list[int]:
    """The distinct numbers of an array that never falls."""
    return [int(numbers[run.start]) for run in runs(numbers)]


def _by_row(found: Walk, rows: Rows, timing: Timing, order: str, calendar: Ints, stretch: Ints) -> None:
    """sar: the clock stands in every row; the day comes from the banner and the midnights passed."""
    places = np.flatnonzero(~rows.is_average & ~np.isnan(rows.seconds))
    if not len(places):
        return
    blocks, samples = found.blocks, slice_if_contiguous(places)
    # the rows of a sample stand together, and one of them tells the time of all
    block, shown = rows.block[samples], rows.seconds[samples]
    is_first = np.append(True, (block[1:] != block[:-1]) | (shown[1:] != shown[:-1]))
    firsts = np.flatnonzero(is_first)
    at, block, shown = places[firsts], block[firsts], shown[firsts]
    local, is_dated = np.empty(len(at)), np.zeros(len(at), dtype=np.bool_)
    of_headers = _shown_seconds(blocks)
    for run in runs(calendar[at]):
        first = blocks[block[run.start]]
        base = _base_day(first.origin, order)
        began = first.clock.seconds if first.clock else None
        seconds = np.empty(run.stop - run.start)
        for once in runs(_passes(blocks, block[run], shown[run], of_headers)):
            own = shown[run][once]
            is_half_told = first.clock_tokens == 2  # by AM or PM behind the clock
            whole = own if is_half_told else _clock.with_am_pm(np.full(len(own), np.nan), own)
            timing.is_of_twelve |= whole is not own
            seconds[once] = _clock.unroll_midnight(whole)
            if began is not None and began - seconds[once][0] > DAY_S / 2:
                seconds[once] += DAY_S  # the header's clock is still the day before
        local[run] = seconds + (0.0 if np.isnan(base) else base)
        is_dated[run] = not np.isnan(base)
    interval = np.empty(len(at))
    for run in runs(stretch[at]):
        interval[run] = _row_intervals(blocks[block[run.start]], local[run], timing.is_of_twelve)
    _begin_anew(of_headers, block, shown, interval)
    is_known = ~np.isnan(interval)
    if is_known.any():  # what was left out above a row is not in it
        is_below = np.isin(blocks.first[block], np.array(found.elided, dtype=np.int64) + 1)
        interval[is_below & ~is_known] = np.median(interval[is_known])
    own = np.cumsum(is_first) - 1
    timing.local = timing.local.copy()
    timing.local[samples], timing.interval[samples] = local[own], interval[own]
    timing.is_dated[samples] = is_dated[own]


def _passes(blocks: Blocks, block: Ints, seconds: Floats, of_headers: Floats) -> Ints:
    """How often each row's section has begun anew, so that its days count from the first again.

    A new pass stands under the clock of the first header, and not where the row above ended: there live
    sar repeats its header.
    """
    edges = np.flatnonzero(np.diff(block)) + 1
    first = blocks[block[0]].clock
    begins = np.zeros(len(block), dtype=np.int64)
    if first is not None and first.seconds is not None:
        shown = of_headers[block[edges]]
        begins[edges] = (shown == first.seconds) & (seconds[edges - 1] != shown)
    result: Ints = np.cumsum(begins)
    return result


def _shown_seconds(blocks: Blocks) -> Floats:
    """The time of day of every block's clock; NaN where it shows none."""
    known = [np.nan if clock.seconds is None else clock.seconds for clock in blocks.clocks]
    result: Floats = np.array([*known, np.nan])[blocks.clock_at] + blocks.later
    return result


def _calendars(blocks: Blocks, segment: Ints) -> Ints:
    """Number of the banner that each block stands under: a RESTART does not turn the calendar back."""
    is_restart = blocks.each(lambda block: block.origin.is_restart, np.bool_)
    result: Ints = np.cumsum((np.diff(segment, prepend=0) != 0) & ~is_restart)
    return result


def _row_intervals(first: Block, ends: Floats, is_of_twelve: bool) -> Floats:
    """Lengths of samples: from the ends of the ones before, the header's clock, or the command."""
    times, inverse = np.unique(ends, return_inverse=True)
    start = None
    if first.clock is not None and first.clock.seconds is not None and not first.is_resumed:
        start = np.floor(times[0] / DAY_S) * DAY_S + first.clock.seconds
        start -= DAY_S if start - times[0] > DAY_S / 2 else 0.0
        start -= DAY_S / 2 if is_of_twelve and start > times[0] else 0.0
        start = start if times[0] - start <= DAY_S / 2 else None
    lengths = _clock.interval_lengths(times, start)
    later = lengths[1:][~np.isnan(lengths[1:])]
    usual = float(np.median(later)) if len(later) else np.nan
    if lengths[0] > _CUT * usual and np.ptp(later) <= _EVEN * usual:
        lengths[0] = np.nan  # the rows between it and the header may have been cut out
    if asked := _asked(first):
        lengths[np.isnan(lengths)] = asked
    result: Floats = lengths[inverse]
    return result


def _begin_anew(of_headers: Floats, block: Ints, shown: Floats, interval: Floats) -> None:
    """Shorten samples whose own header's clock is later than the row above: counting began anew there.

    Releases before 4.1.5 print no RESTART where the host was started within a file.
    """
    edges = np.flatnonzero(np.diff(block)) + 1
    length = (shown[edges] - of_headers[block[edges]]) % DAY_S
    is_shorter = (length > 0) & (length < interval[edges])
    interval[edges[is_shorter]] = length[is_shorter]


def _by_tail(rows: Rows, timing: Timing) -> None:
    """vmstat -t: date and time behind every row, the zone in the header."""
    offset = _clock.zone_offset(rows.layout.note)
    timing.local = rows.epoch.copy()
    timing.offset = np.full(len(rows.epoch), np.nan if offset is None else offset)
    timing.is_dated = ~np.isnan(rows.epoch)


def _by_report(found: Walk, rows: Rows, timing: Timing, order: str) -> None:
    """iostat and vmstat: one clock per report, or none; a row may hold a time of its own."""
    blocks = found.blocks
    used = np.flatnonzero(np.bincount(rows.block, minlength=len(blocks)))
    place = np.cumsum(np.bincount(used, minlength=len(blocks)))[rows.block] - 1
    shown = ClockSequence(blocks.clocks, blocks.clock_at[used], blocks.later[used])
    _set(timing, place, _seconds_of(found, shown, used, order))
    own = ~np.isnan(rows.epoch)
    timing.local[own] = rows.epoch[own]
    timing.is_dated |= own


def _by_stamp(found: Walk, rows: Rows, timing: Timing, order: str) -> None:
    """Lines that a log collector put a time in front of, where no clock of a report tells each sample's."""
    stamps = dict(found.text.stamps)
    clocks = [stamps.get(line) for line in rows.lines.tolist()]
    above = timing.local, timing.offset, timing.is_dated
    is_once = rows.layout.key is not None or np.bincount(rows.block).max() == 1
    if not np.isnan(above[0]).all() and (is_once or not all(clocks)):
        return
    _set(timing, np.arange(len(rows.lines)), _seconds_of(found, ClockSequence.of(clocks), rows.block, order))
    if above[2].all() and not timing.is_dated.any():  # of the day and the zone that the clock above names
        timing.local += np.floor(above[0][0] / DAY_S) * DAY_S
        timing.offset, timing.is_dated = above[1:]


def _set(timing: Timing, place: Ints, seconds: Seconds) -> None:
    """Give rows the time of their clock; a zone that one clock names holds for those that name none."""
    offset = seconds.offset.copy()
    named = np.flatnonzero(~np.isnan(offset))
    if len(named):
        offset = offset[named[np.maximum(np.searchsorted(named, np.arange(len(offset)), "right") - 1, 0)]]
    timing.local = seconds.local[place]
    timing.offset = offset[place]
    timing.is_dated = seconds.is_dated[place]


def _seconds_of(found: Walk, shown: ClockSequence, block: Ints, order: str) -> Seconds:
    """The times of clocks in the order of their blocks; one without a date goes by the banner's."""
    segment = found.blocks.each(lambda block: block.origin.index, np.int64)[block]
    midnight = found.blocks.each(lambda block: _base_day(block.origin, order), np.float64)[block]
    return seconds_of(shown, segment, midnight, order)


class _Part(NamedTuple):
    """The rows of one Rows in one segment or several: a slice, as both are in the order of the text."""

    rows: Rows
    timing: Timing
    phase: Ints
    where: slice

    @classmethod
    def of(cls, rows: Rows, timing: Timing, phase: Ints, begin: int, end: int) -> _Part:
        first, last = np.searchsorted(timing.segment, (begin, end + 1)).tolist()
        return cls(rows, timing, phase, slice(first, last))

    @property
    def size(self) -> int:
        return int(self.where.stop) - int(self.where.start)

    def within(self, begin: int, end: int) -> _Part:
        """The rows in some of the segments, the last included."""
        return _Part.of(self.rows, self.timing, self.phase, begin, end)

    def has_own_clocks(self) -> bool:
        """Whether reports of one segment show different times."""
        local, segment = self.timing.local[self.where], self.timing.segment[self.where]
        return bool(((local[1:] != local[:-1]) & (segment[1:] == segment[:-1]) & ~np.isnan(local[1:])).any())

    def set_since_boot(self, is_average: Bools) -> None:
        """Flag some of its rows as averages since boot, which have no length."""
        self.timing.since_boot[self.where] |= is_average
        self.timing.interval[self.where][is_average] = np.nan

    def row_group(self) -> _report_times.RowGroup:
        """What tells the length of a sample and an average since boot."""
        columns = self.rows.layout.columns
        rates = tuple(place for place, column in enumerate(columns) if column.column in COUNT_RATES)
        sectors = tuple(place for place, column in enumerate(columns) if column.raw in _SECTORS)
        raw = [column.raw for column in columns]
        named = {name: place for place, name in enumerate(raw)}
        is_fine = bool(self.rows.is_fine[self.where].all())
        return _report_times.RowGroup(
            report=self.timing.report[self.where],
            items=self.rows.key[self.where],
            numbers=self.rows.numbers[self.where],
            rates_at=rates if is_fine else (),
            sectors_at=sectors if is_fine else (),
            util_at=tuple(n for n, column in enumerate(columns) if column.column == "util_pct"),
            means_at=tuple(n for n, column in enumerate(columns) if column.column in _OF_REQUESTS),
            step=0.01 if is_fine else 1.0,
            now_at=tuple(n for n, column in enumerate(columns) if column.family in OF_THE_MOMENT),
            interrupts_at=tuple(n for n, column in enumerate(columns) if column.column == _INTERRUPTS),
            pages_at=tuple(n for n, word in enumerate(raw) if word in _PAGED),
            totals_at=tuple(
                (named[rate], n) for n, total in enumerate(raw) if (rate := _TOTALS.get(total)) in named
            ),
        )


def _finish(found: Walk, origin: Origin, parts: Sequence[_Part], order: str, used: Set[str]) -> None:
    """Sample lengths, the times that follow from the start, and the since-boot flag, for one segment.

    `used` are the host's devices that tables above it saw requests of.
    """
    first_report = parts[0].rows.layout.first_report
    if first_report == "a sample":
        return
    groups = [part.row_group() for part in parts]
    if first_report != "since boot under its clock":
        _set_lengths(origin, parts, groups)
        _set_times_from_start(origin, parts, order)
    # what one banner announces is one run, of which no later report averages since boot
    is_restarted = origin.banner is None and any(part.has_own_clocks() for part in parts)
    is_all = (
        is_restarted and first_report != "since boot under its clock" and restarts.are_all_averages(groups)
    )
    old = _report_times.of_longer_totals(groups, _starts(parts), _stated(origin, parts))
    stretches = _stretches(parts, groups)
    starts = (
        _starts_of_runs(found, parts, stretches) if first_report == "since boot" else stretches.report[:1]
    )
    for number, (start, own) in enumerate(_report_times.by_start(groups, starts)):
        # the first row of a run is held against those of its own alone
        is_old = _report_times.is_another_start(own) if number else _begins_at_boot(found, origin, parts, own)
        if is_old and (number or not _is_use_forgotten(parts, used)):
            old = np.append(old, start + _report_times.first_and_its_copy(own))
        elif not number and _is_first_unknown(origin, parts) and _report_times.is_first_open(own):
            parts[0].timing.doubtful.append(parts[0].where.start)
    old = np.append(old, _report_times.anew_at_boot(groups, stretches))
    for part in parts if is_all or len(old) else ():
        part.set_since_boot(np.isin(part.timing.report[part.where], old) | is_all)


def _starts_of_runs(found: Walk, parts: Sequence[_Part], stretches: _report_times.Stretches) -> Ints:
    """The first report, and those that stand below other words and a header of their own."""
    is_resumed = found.blocks.each(lambda block: block.is_resumed, np.bool_)
    resumed = [part.timing.report[part.where][is_resumed[part.rows.block[part.where]]] for part in parts]
    starts = stretches.report[[run.start for run in runs(stretches.phase)]]
    return np.unique(np.append(starts[:1], np.setdiff1d(starts, np.concatenate(resumed))))


def _used_devices(parts: Sequence[_Part]) -> set[str]:
    """The devices with requests that have a size or a latency."""
    used = set[str]()
    for part in parts:
        group = part.row_group()
        has_requests = (group.numbers[:, list(group.means_at)] > 0).any(axis=1)
        used.update(part.rows.names[key] for key in np.unique(group.items[has_requests]))
    return used


def _is_use_forgotten(parts: Sequence[_Part], used: Set[str]) -> bool:
    """Whether the first report shows only 0 of several devices that were used before: it is no average then.

    A mean over all requests since boot never returns to nothing; one device may have been attached anew.
    """
    unused = set[str]()
    for part in parts if used else ():
        first = part.row_group()
        first = first.only(first.report == 0)
        is_unused = ~np.delete(first.numbers, list(first.now_at), axis=1).any(axis=1)
        unused.update(part.rows.names[key] for key in np.unique(first.items[is_unused]) if first.means_at)
    return len(unused & used) >= _FEWEST_FORGOTTEN


def _starts(parts: Sequence[_Part]) -> Ints:
    """The reports in which a tool may have begun: the first, and those below a header that few have."""
    below: list[Ints] = [np.zeros(1, dtype=np.int64)]
    for part in parts:
        report, block = part.timing.report[part.where], part.rows.block[part.where]
        is_first = np.diff(block, prepend=-1) != 0
        if 2 * np.count_nonzero(is_first) <= len(np.unique(report)):
            below.append(report[is_first])
    return np.unique(np.concatenate(below))


def _finish_runs(found: Walk, origins: Mapping[int, Origin], parts: Sequence[_Part], order: str) -> None:
    """Lengths, times and averages since boot of runs that one collector started: they are told together."""
    numbers = list(origins)
    some = [part.within(numbers[0], numbers[: restarts.MOST_RUNS][-1]) for part in parts]
    some = [part for part in some if part.size]
    groups = [part.row_group() for part in some]
    run_of = [part.timing.segment[part.where] for part in some]
    stated = _stated(origins[numbers[0]], parts)
    length = stated or restarts.usual_interval(groups, run_of)
    if np.isnan(length):
        usual = _usual(origins[numbers[0]], parts)
        length = float(_report_times.lengths_of(np.array([np.nan]), usual, groups)[0])
    is_boot = _runs_begin_at_boot(found, origins, some, groups, length)
    if any(part.has_own_clocks() for part in parts):
        for number, origin in origins.items():
            own = [run for part in parts if (run := part.within(number, number)).size]
            _set_lengths(origin, own, [run.row_group() for run in own])
        for part in parts:
            shown = part.timing.interval[part.where]
            shown[np.isnan(shown) | (np.abs(shown - length) <= 1.0)] = length
    else:
        for part in parts:
            part.timing.interval[part.where] = length
        _set_times_of_runs(origins, parts, order, length, delay=0 if is_boot else 1)
    for part in parts:
        part.set_since_boot(is_boot & (part.timing.report[part.where] == 0))


def _runs_begin_at_boot(
    found: Walk,
    origins: Mapping[int, Origin],
    parts: Sequence[_Part],
    groups: Sequence[_report_times.RowGroup],
    length: float,
) -> bool:
    """Whether the first report of each run is an average since boot: as all prove, else as most do."""
    first = next(iter(origins.values()))
    if _is_of(first, parts) and first.command and first.command.has_flag("y"):
        return False
    # runs that somebody started one by one may have other boots between them: each is looked at alone
    is_without_interval = first.command is not None and _is_of(first, parts) and not _stated(first, parts)
    with_banner = {origin.index for origin in origins.values() if origin.banner is not None}
    is_by_hand = len(with_banner) == len(origins) <= restarts.FEW_RUNS
    told = None
    if not is_by_hand and not (is_without_interval and _report_times.is_alone(groups)):
        told = restarts.are_averages(groups, [part.timing.segment[part.where] for part in parts], length)
    if told is not None:
        return told
    votes, seen = [], set[int]()
    for number, origin in list(origins.items())[: restarts.MOST_RUNS]:
        # a banner announces the run below it alone
        origin = replace(origin, banner=None) if origin.index in seen else origin
        seen.add(origin.index)
        own = [run for part in parts if (run := part.within(number, number)).size]
        votes.append(_begins_at_boot(found, origin, own, [run.row_group() for run in own]))
    return 2 * sum(votes) > len(votes)


def _set_times_of_runs(
    origins: Mapping[int, Origin], parts: Sequence[_Part], order: str, length: float, delay: int
) -> None:
    """Reports below one clock or a command that one stands above: they follow the start of their run."""
    started = [origin.started for origin in origins.values()]
    bases = np.array([_base_day(origin, order) for origin in origins.values()])
    index = np.array([origin.index for origin in origins.values()])
    start = seconds_of(ClockSequence.of(started), np.zeros_like(index), bases, order)
    numbers = np.array(list(origins))
    for part in parts:
        here, timing = part.where, part.timing
        run = np.searchsorted(numbers, timing.segment[here])
        is_without = np.isnan(timing.local[here])
        step = timing.report[here] + delay
        later = np.where(step > 0, step * length, 0.0)
        # where nothing tells the length, a report below a clock keeps it
        timing.local[here] += np.where(is_without, 0.0, np.nan_to_num(later))
        timing.local[here] = np.where(is_without, start.local[run] + later, timing.local[here])
        timing.offset[here] = np.where(is_without, start.offset[run], timing.offset[here])
        is_dated = np.where(is_without, start.is_dated[run], timing.is_dated[here])
        timing.is_dated[here] = is_dated & ~np.isnan(timing.local[here])


def _stated(origin: Origin, parts: Sequence[_Part]) -> float | None:
    """The interval that the command asked for, if it is the one that printed these reports."""
    return origin.command.interval_s if origin.command and _is_of(origin, parts) else None


def _usual(origin: Origin, parts: Sequence[_Part]) -> float | None:
    """How long the collector has this tool's samples last, as far as that is known."""
    return origin.collector.intervals.get(parts[0].rows.layout.format) if origin.collector else None


def _stretches(parts: Sequence[_Part], groups: Sequence[_report_times.RowGroup]) -> _report_times.Stretches:
    """The reports that have rows, and the phase of each."""
    size = 1 + max(int(group.report.max()) for group in groups)
    phase = np.full(size, -1, dtype=np.int64)
    for part, group in zip(parts, groups, strict=True):
        np.maximum.at(phase, group.report, part.phase[part.where])
    used = np.flatnonzero(phase >= 0)
    return _report_times.Stretches(used, np.maximum.accumulate(phase[used]))


def _set_lengths(origin: Origin, parts: Sequence[_Part], groups: Sequence[_report_times.RowGroup]) -> None:
    """One length per report, and one time where a log collector stamped its lines seconds apart."""
    size = 1 + max(int(group.report.max()) for group in groups)
    times = np.full(size, np.nan)
    absolute = [part.timing.absolute_in(part.where) for part in parts]
    for own, group in zip(absolute, groups, strict=True):
        first = np.full(size, -1, dtype=np.int64)
        first[group.report[::-1]] = np.arange(len(own))[::-1]
        times = np.where(np.isnan(times) & (first >= 0), own[first], times)
    stated = _stated(origin, parts)
    lengths = np.full(size, np.nan)
    stretches = _stretches(parts, groups)
    used = stretches.report
    lengths[used] = _report_times.lengths_of(times[used], stated, groups, stretches)
    if stated is None:
        lengths = restarts.without_pauses(lengths, groups, _usual(origin, parts))
    for group in groups:
        for rate, total in group.totals_at:
            # a gap between two captures is no part of the sample behind it
            known = group.numbers[:, rate] >= 1
            span = np.fmax(np.round(group.numbers[known, total] / group.numbers[known, rate]), 1.0)
            report = group.report[known]
            is_shorter = span < lengths[report] / 2
            lengths[report[is_shorter]] = span[is_shorter]
    lengths = _report_times.with_totals(lengths, groups)
    for part, own, group in zip(parts, absolute, groups, strict=True):
        part.timing.interval[part.where] = lengths[group.report]
        part.timing.local[part.where] += times[group.report] - own


def _is_of(origin: Origin, parts: Sequence[_Part]) -> bool:
    """Whether the visible command is the one that printed these rows."""
    return origin.command is not None and origin.command.tool == parts[0].rows.layout.format


def _set_times_from_start(origin: Origin, parts: Sequence[_Part], order: str) -> None:
    """Reports without a clock, below a command that one stands above: they follow its start."""
    shown = [part.timing.local[part.where] for part in parts]
    start = origin.started
    if start is None or not all(np.isnan(times).all() for times in shown):
        return
    base = np.array([_base_day(origin, order)])
    seconds = seconds_of(ClockSequence.of([start]), np.zeros(1, dtype=np.int64), base, order)
    delay = 1 if origin.command and origin.command.has_flag("y") else 0
    for part in parts:
        here, length = part.where, part.timing.interval[part.where]
        step = part.timing.report[here] + delay
        local = seconds.local[0] + np.where(step > 0, step * length, 0.0)
        part.timing.local[here], part.timing.offset[here] = local, seconds.offset[0]
        part.timing.is_dated[here] = seconds.is_dated[0] & ~np.isnan(local)


def _begins_at_boot(
    found: Walk, origin: Origin, parts: Sequence[_Part], groups: Sequence[_report_times.RowGroup]
) -> bool:
    """Whether the first report of a segment is one that its tool averages since boot."""
    first_report = parts[0].rows.layout.first_report
    # more reports than a command prints are of several runs of it, each of which may have left out its first
    most = origin.command.count if origin.command and origin.command.count else np.inf
    is_own_command = _is_of(origin, parts) and all(rows.report.max(initial=0) < most for rows in groups)
    own = origin.command if is_own_command else None
    # without an interval there is no other report, whatever was left out
    is_lone = own is not None and not (own.interval_s or own.is_excerpt) and _report_times.is_alone(groups)
    if own and own.has_flag("y"):
        return False
    if origin.is_elided and not is_lone:
        return _report_times.must_be_since_boot(groups)
    if first_report == "since boot under its clock":
        # with an interval, the first report is its first interval; without, its clock is the header's
        first = found.blocks[parts[0].rows.block[parts[0].where.start]]
        seconds = parts[0].rows.seconds[parts[0].where.start]
        is_announced = (
            origin.banner is not None and first.clock is not None and first.clock.seconds == seconds
        )
        return is_announced and _report_times.may_be_since_boot(groups, _stated(origin, parts))
    stated = _stated(origin, parts)
    if stated and _report_times.is_alone(groups) and _is_of_now(parts[0]):
        return False  # any of the rows that the command printed
    # below a command the first of several is since boot; a lone one may be any of those that it printed
    is_any = own is None or (stated and _report_times.is_alone([rows for rows in groups if rows.totals_at]))
    if is_any and _have_read_nothing(parts):
        return False
    # a collector's file of a known second begins where the tool began
    is_begun = origin.started is not None and origin.command is None
    # vmstat prints no banner: one above it is another tool's
    is_announced = origin.banner is not None and first_report != "since boot"
    if is_announced or is_own_command or (is_begun and not _report_times.lies_among(groups)):
        return _report_times.may_be_since_boot(groups, stated, is_announced=is_announced)
    if first_report == "since boot":
        if _report_times.is_alone(groups):
            return not _is_of_now(parts[0]) and _report_times.may_be_since_boot(groups)
        return _report_times.is_another_start(groups)
    return _report_times.must_be_since_boot(groups, _clocked_length(parts))


def _is_first_unknown(origin: Origin, parts: Sequence[_Part]) -> bool:
    """Whether nothing around the reports of a tool that prints a banner tells where it began."""
    is_told = origin.banner is not None or origin.started is not None or _is_of(origin, parts)
    return parts[0].rows.layout.first_report == "since boot below its banner" and not (
        is_told or origin.is_elided
    )


def _clocked_length(parts: Sequence[_Part]) -> float:
    """The one length of all reports but the first that clocks tell; NaN where they tell none or several."""
    timed = [part for part in parts if part.has_own_clocks()]
    shown = [part.timing.interval[part.where][part.timing.report[part.where] > 0] for part in timed]
    lengths = np.unique(np.concatenate([np.empty(0), *shown]))
    return float(lengths[0]) if len(lengths) == 1 else np.nan


def _is_of_now(part: _Part) -> bool:
    """Whether the averages of a lone row say what its columns of the moment say: tasks wait, no CPU is idle.

    A host is not short of idle time from its boot on, and just so when somebody looks.
    """
    place = {column.column: n for n, column in enumerate(part.rows.layout.columns)}
    if not {"blocked", "run_queue", "idle_pct"} <= place.keys():
        return False
    row = part.rows.numbers[part.where.start]
    tasks = row[place["run_queue"]] + row[place["blocked"]]
    return bool(row[place["idle_pct"]] <= _HARDLY_IDLE and row[place["blocked"]] >= 2 and tasks >= 4)


def _have_read_nothing(parts: Sequence[_Part]) -> bool:
    """Whether all totals of the first report are 0, a disk's among them that has read its partitions at boot.

    What is below half a MB rounds to 0 MB.
    """
    found, is_of_disk = [np.empty(0)], False
    for part in parts:
        columns = part.rows.layout.columns
        places = [place for place, column in enumerate(columns) if column.raw in _FINE_TOTALS]
        is_first = part.timing.report[part.where] == 0
        found.append(part.rows.numbers[part.where][is_first][:, places].ravel())
        names = np.unique(part.rows.key[part.where][is_first]) if places else ()
        is_of_disk |= any(_PARTED_DISK.fullmatch(part.rows.names[name]) for name in names)
    return is_of_disk and not np.concatenate(found).any()
