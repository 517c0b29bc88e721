"""The structure of a text: banners, commands, clocks, headers and context; the rest are rows.

Where a table is open the walk leaves out the lines that can be nothing but rows of it: in a capture that is
most of them. Which rows are whole is proven later, by their number of tokens. Where no table is open, every
line is visited.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import overload

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats import context_formats
from iodiag.formats.clock import Clock
from iodiag.formats.text.clean.lines import LONGEST_LINE, Text
from iodiag.formats.text.structure import banners as _grammar
from iodiag.formats.text.structure.banners import Banner, Command
from iodiag.formats.text.structure.blocks import CLASS, UNSEEN, Blocks, FoundContext, Origin, Walk
from iodiag.formats.text.structure.candidates import candidates
from iodiag.formats.text.structure.collectors import began, collector_of, named_by_uname, run_as
from iodiag.formats.text.structure.foreign_tools import foreign_tool
from iodiag.formats.text.structure.headers import find_header, numeric_share
from iodiag.formats.text.structure.open_table import (
    WalkState,
    begin_report,
    close,
    interrupt,
    is_row_like,
    leave_words,
    next_line,
    open_header,
    resume,
    suspend,
    take_numbers,
    width_of,
)
from iodiag.formats.text.structure.phases import host_heading
from iodiag.formats.text.structure.repeats import Repeats
from iodiag.formats.types import Line, Lines
from iodiag.table.table import Ints

_LONGEST_DECORATION = 300
_MOST_AT_ONCE = 1024
_MOST_LOOKED, _MOST_TIMES = 50_000, 10
"""Lines that a context format looks at in vain: where each of many lines could begin a long block, all do."""

_CLOCK = r"\s*(?:\d{1,2}[:.]\d\d[:.]\d\d(?:\s{1,3}[AaPp]\.?\s?[Mm]\.?)?|\d\S{0,30})\s+"
_RESTART = re.compile(_CLOCK + r"LINUX\s{1,9}RESTART\b")
_COMMENT = re.compile(_CLOCK + r"COM\s")
_DECORATION = re.compile(
    r"(?=.*--|.*procs\b|\s*system\s+cpu\s*$)[\s-]*(?:(?:procs|disk|memory|swap|io|IO|reads|writes|system|cpu|timestamp)(?:[\s-]+|$))+"
)
_ELLIPSIS = re.compile(
    r"[-~*=\[(<\s]*(?:[.:⋮…](?: ?[.:⋮…])*|(?:\.{3}|…)?\s?(?:snip(?:ped)?|cut|skipped|omitted)\s?(?:\.{3}|…)?)"
    r"[-~*=\])>\s]*",
    re.I,
)


def walk(text: Text, name: str) -> Walk:
    """Visit the lines that may be structure, in order, and split the text into blocks."""
    found = Walk(text, name, np.full(len(text), UNSEEN, dtype=np.uint8))
    command = _grammar.command(f"$ {run}") if (run := run_as(name)) else None
    found.origins[0] = Origin(0, 0, command=command, started=began(name))
    state = WalkState()
    solid = np.flatnonzero(~text.is_blank)
    solid_above = np.append(0, np.cumsum(~text.is_blank))
    visited = candidates(text)
    repeats = Repeats.of(text, visited)
    index = 0
    while True:
        upcoming = visited if state.is_open else solid
        place = int(np.searchsorted(upcoming, index))
        if state.is_open:
            following = int(upcoming[place]) if place < len(upcoming) else len(text)
            # between them stand rows alone
            state.has_rows |= bool(solid_above[following] > solid_above[index])
            place = repeats.pass_by(found, state, place)
        if place >= len(upcoming):
            break
        index = int(upcoming[place])
        index += _visit(found, state, index)
    close(found, state, len(text))
    found.blocks = Blocks(found.singles, found.repeats)
    return found


def _visit(found: Walk, state: WalkState, index: int) -> int:
    """Take a line for what it is; the number of lines that this settles."""
    line = found.text.line(index)
    if len(line) > LONGEST_LINE:
        return 1
    words = tuple(line.split())
    if not words:
        return 1
    share = numeric_share(words)
    # a clock that a context format begins with is its own: the first snapshot has no other time
    if len(words) == 1 and words[0].isdigit() and (used := _context(found, state, index, line)):
        return used
    if share < 0.5 or len(words) < 3 or _grammar.names_tool(line) or _is_date(line):
        if used := open_header(found, state, index, line, words):
            return used
        if _mark(found, state, index, line, words):
            return 1
        if tool := foreign_tool(line, words):
            # of ps, what says who waits is read
            return _context(found, state, index, line) or _foreign(found, state, index, tool)
    elif words[0][0].isdigit() and _mark_in_rows(found, state, index, line):
        return 1
    if state.is_open and is_row_like(found, state, index, words, share):
        state.has_rows = True
        return 1
    if not any(map(str.isalnum, line)):
        return 1
    if used := _context(found, state, index, line):
        return used
    if share >= 0.5 or (state.is_suspended and len(words) == width_of(state.table)):
        take_numbers(found, state, index, line, words)
    else:
        interrupt(found, state, index, line, words)
    return 1


def _is_date(line: str) -> bool:
    """Whether a line is a date and a time: with a zone in figures half of its words are numbers."""
    clock = _clock.parse_line(line) if ":" in line else None
    return clock is not None and clock.day is not None


def _mark(found: Walk, state: WalkState, index: int, line: str, words: tuple[str, ...]) -> bool:
    """Handle a line that tells of what follows: banner, clock, command, decoration, host."""
    is_digit = words[0][0].isdigit()
    if is_digit and _mark_in_rows(found, state, index, line):
        return True
    if len(words) <= 5 and _ELLIPSIS.fullmatch(line.strip()):
        is_first = not found.singles or found.singles[-1].origin.index != found.origins[-1].index
        if state.table is None or (is_first and not state.has_rows):
            found.origins[-1] = replace(found.origins[-1], is_elided=True)
        leave_words(state, index)
        resume(found, state, index)
        return True
    if not is_digit and (banner := _banner(found, state, index, line)):
        rest = found.text.line(index + 1) if index + 1 < len(found.text) else ""
        if banner.cpus is None and _grammar.is_rest_of_banner(rest):
            banner = _grammar.banner(f"{line} {rest}") or banner
            found.classes[index + 1] = CLASS["banner"]
        _begin(found, state, index, Origin(0, 0, banner, started=_unused_clock(state)))
        found.classes[index] = CLASS["banner"]
        if parsed := _clock.parse_date(banner.date):
            found.clocks.append(parsed)
        return True
    if collector := collector_of(line, found.name) or named_by_uname(line, found.origins[-1].host):
        _begin(found, state, index, Origin(0, 0, collector=collector))
        found.classes[index] = CLASS["banner"]
        return True
    if (clock := _clock.parse_line(line)) and (
        not clock.only_above_header or _heads_report(found, state, index)
    ):
        _clock_line(found, state, index, clock)
        return True
    if len(line) <= _LONGEST_DECORATION and _DECORATION.fullmatch(line):
        found.classes[index] = CLASS["header"]
        return True
    if command := _grammar.command(line):
        started = _clock.parse_line(command.when) if command.when else _unused_clock(state)
        run = Origin(0, 0, None, command, started=started, is_elided=command.is_excerpt)
        _begin(found, state, index, run)
        found.classes[index] = CLASS["banner"]
        return True
    if not found.origins[-1].host and (heading := host_heading(found, index)):
        _begin(found, state, index, Origin(0, 0, heading=heading))
        leave_words(state, index)
        return True
    return False


def _foreign(found: Walk, state: WalkState, index: int, tool: str) -> int:
    """Leave all tables at the header of a tool that is not read: what stands below is its own."""
    close(found, state, index)
    state.table, state.is_suspended, state.is_foreign = None, False, True
    found.foreign.setdefault(tool, index)
    return 1


def _banner(found: Walk, state: WalkState, index: int, line: str) -> Banner | None:
    """The banner that a line is; one without a date only where a report's header follows."""
    if banner := _grammar.banner(line):
        return banner
    undated = _grammar.undated_banner(line)
    return undated if undated and _heads_report(found, state, index) else None


def _mark_in_rows(found: Walk, state: WalkState, index: int, line: str) -> bool:
    """A RESTART or a comment, which stand among rows and begin as they do."""
    is_restart = bool(_RESTART.match(line))
    if not is_restart and not _COMMENT.match(line):
        return False
    if is_restart:
        last = found.origins[-1]
        _begin(found, state, index, Origin(0, 0, last.banner, last.command, is_restart=True))
    found.classes[index] = CLASS["banner"]
    return True


def _unused_clock(state: WalkState) -> Clock | None:
    """The clock above which no table has used yet: it tells when what follows was started."""
    return state.clock if state.is_new_report else None


def _heads_report(found: Walk, state: WalkState, index: int) -> bool:
    """Whether a report's header, its banner, or a row of an open table without clocks follows a line."""
    following = next_line(found.text, index)
    if following < 0:
        return False
    words = found.text.words(following)
    if find_header(words) is not None or _grammar.banner(found.text.line(following)) is not None:
        return True
    has_no_clock = state.is_open and state.table is not None and state.table.layout.clock in ("line", "none")
    return has_no_clock and len(words) > 2 and numeric_share(words) >= 0.5


def _clock_line(found: Walk, state: WalkState, index: int, clock: Clock) -> None:
    """A clock ends the rows above it; rows below it that have no header of their own are a new report."""
    close(found, state, index)
    found.clocks.append(clock)
    found.classes[index] = CLASS["clock"]
    state.clock, state.is_new_report, state.seen = clock, True, frozenset()
    following = next_line(found.text, index)
    if state.is_open and following >= 0 and numeric_share(found.text.words(following)) >= 0.5:
        begin_report(state)


def _begin(found: Walk, state: WalkState, index: int, origin: Origin) -> None:
    """Begin a segment, or complete the one that has no rows yet (a banner after its command)."""
    close(found, state, index)
    previous = found.origins[-1]
    collector, heading = origin.collector or previous.collector, origin.heading or previous.heading
    origin = replace(origin, collector=collector, heading=heading)
    has_content = bool(found.singles) and found.singles[-1].origin.index == previous.index
    if has_content:
        command = origin.command or _of_loop(previous, origin)
        found.origins.append(replace(origin, index=previous.index + 1, line=index, command=command))
    else:
        command, started = origin.command or previous.command, origin.started or previous.started
        whole = replace(origin, index=previous.index, line=index, command=command, started=started)
        found.origins[-1] = replace(whole, banner=origin.banner or previous.banner)
    state.table, state.is_suspended, state.is_foreign = None, False, False
    state.report, state.seen, state.clock, state.is_new_report = -1, frozenset(), None, True


def _of_loop(previous: Origin, origin: Origin) -> Command | None:
    """The command of a shell's loop, which prints the next banner of its host as well."""
    is_of_host = previous.host == origin.host or not (previous.host and origin.host)
    return previous.command if previous.command and previous.command.is_loop and is_of_host else None


def _context(found: Walk, state: WalkState, index: int, line: str) -> int:
    """How many lines a context format takes from here on; 0 when none wants the line."""
    for fmt in context_formats():
        most = min(fmt.most_lines, _MOST_LOOKED + 2 * len(found.text) - state.looked[fmt.id])
        if not fmt.starts.search(line) or most <= 0:
            continue
        lines = Window(found.text, index, min(index + most, len(found.text)))
        block = fmt.read(lines, found.name)
        # what it read it may have looked at several times
        state.looked[fmt.id] += max(lines.looked[0] - (_MOST_TIMES * block.used if block else 0), 0)
        if block is None or block.used < 1:
            continue
        if fmt.is_between_rows:
            suspend(found, state, index)
        else:
            close(found, state, index)
            state.table, state.is_suspended, state.is_foreign = None, False, False
        found.contexts.append(FoundContext(fmt.id, index, found.origins[-1], block))
        found.classes[index : index + block.used] = CLASS["context"]
        unread = set(block.unread)
        for offset in range(min(block.used, len(found.text) - index) if unread else 0):
            if int(found.text.numbers[index + offset]) in unread:
                found.classes[index + offset] = CLASS["unread"]
        return block.used
    return 0


class Window(Lines):
    """The lines `first` to `last` (exclusive) of a text, as a context format gets them; a slice is one, too.

    A format looks at a line or two of most places where it could begin: making thousands of
    lines for each of them would cost more than all the rest of reading.
    """

    def __init__(self, text: Text, first: int, last: int, looked: list[int] | None = None) -> None:
        self._text = text
        self._indices = range(first, last)
        self.looked = [0] if looked is None else looked
        """How many lines were made, of its slices too."""

    def __len__(self) -> int:
        return len(self._indices)

    def __iter__(self) -> Iterator[Line]:
        """The lines one by one, made a few at first and then many at a time: most formats look at a few."""
        first, last, count = self._indices.start, self._indices.stop, 1
        while first < last:
            self.looked[0] += min(count, last - first)
            yield from self._text.stretch(first, min(first + count, last))
            first, count = first + count, min(2 * count, _MOST_AT_ONCE)

    @property
    def above(self) -> str:
        """The text of the line above the first; empty where there is none."""
        first = self._indices.start
        return self._text.line(first - 1) if first else ""

    def joined(self, first: int, last: int) -> str:
        """The texts of the lines `first` to `last` (exclusive), each with a line feed behind it."""
        indices = self._indices[first:last]
        self.looked[0] += len(indices)
        return self._text.joined(indices.start, indices.stop) + "\n" if indices else ""

    def numbers(self, first: int, last: int) -> Ints:
        """The numbers of these lines."""
        indices = self._indices[first:last]
        return self._text.numbers[indices.start : indices.stop]

    @overload
    def __getitem__(self, at: int) -> Line: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Line]: ...
    def __getitem__(self, at: int | slice) -> Line | Sequence[Line]:
        if isinstance(at, int):
            self.looked[0] += 1
            return self._text.numbered(self._indices[at])
        indices = self._indices[at]
        if indices.step != 1:
            return [self._text.numbered(index) for index in indices]
        return Window(self._text, indices.start, indices.stop, self.looked)
