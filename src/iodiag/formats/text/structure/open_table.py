"""The table that stands open during the walk: its header, what interrupts it, what goes on with it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from iodiag.formats import clock as _clock
from iodiag.formats import table_formats
from iodiag.formats.clock import Clock
from iodiag.formats.text.clean.lines import Text
from iodiag.formats.text.rows.arithmetic import proves
from iodiag.formats.text.rows.single_row_parser import is_kernel_name, is_name_alone, parse_row
from iodiag.formats.text.structure.blocks import CLASS, Block, Walk
from iodiag.formats.text.structure.headers import (
    Header,
    find_header,
    is_number,
    numeric_share,
    with_right_half,
)
from iodiag.formats.text.structure.phases import MOST_LINES, is_prose, label_of, wording
from iodiag.formats.types import Layout

_MOST_KEYS = 1000
_MOST_UNKNOWN_SECTIONS = 100
_MOST_HEADER_WORDS = 60
_MOST_LOST_WORDS = 2  # of a damaged header: where lines changed places or a blank is lost, two
_FEWEST_LOOSE_WORDS = 3
_MOST_PROSE = 4
_HEADING_WORD = re.compile(r".*[/%_].*|[A-Z]{2,}\S*|-{2,}\S*")
_RATE = re.compile(r"%?[a-z]+/s")
_TABLE_WORDS = frozenset(
    ("Device", "Device:", "DEV", "CPU", "device", "disk", "Disk:", "Filesystem", "Filesystem:", "NAME", "PID")
)


@dataclass
class WalkState:
    """Where the walk stands.

    `table` is the header that rows are read under, `is_suspended` that something else came between,
    so that a row must prove itself; `seen` the names of the current report's layouts and their places.
    `said` are the lines of words since the last report, `phase_words` those that the phase stands under,
    `words_of` those of each tool's last table, `tool` that of the last one, and `run` the segment of its last
    report. `looked` is how many lines each context format has looked at that
    proved not to be its own.
    """

    table: Header | None = None
    at: int = -1
    words: tuple[str, ...] = ()
    open_from: int = -1
    clock: Clock | None = None
    report: int = -1
    is_new_report: bool = True
    seen: frozenset[tuple[str, int]] = frozenset()
    part: int = 0
    has_rows: bool = False
    is_resumed: bool = False
    is_suspended: bool = False
    is_foreign: bool = False
    keys: frozenset[str] = frozenset()
    report_keys: frozenset[str] = frozenset()
    unknown_sections: int = 0
    said: tuple[int, ...] = ()
    phase_words: tuple[str, ...] = ()
    words_of: dict[str, tuple[str, ...]] = field(default_factory=dict)
    tool: str = ""
    run: int = 0
    looked: Counter[str] = field(default_factory=Counter)

    @property
    def is_open(self) -> bool:
        """Whether the next line may be a row of it."""
        return self.table is not None and not self.is_suspended


def open_header(found: Walk, state: WalkState, index: int, line: str, words: tuple[str, ...]) -> int:
    """Open a block when the line is a header; the number of lines that the header takes, or 0."""
    header = find_header(words)
    joined = _assembled(found.text, index, words, header) if header or _may_head(words) else None
    if joined is None and (unknown := _unknown_section(found, state, index, words)):
        joined = unknown, words[unknown.lead_tokens :], 1
    if joined is None:
        return int(_second_half(found, state, index, words))
    whole, header_words, used = joined
    layout = whole.layout
    close(found, state, index)
    found.has_am_pm |= whole.clock is not None and whole.clock.has_am_pm
    state.table, state.at, state.words = whole, index, header_words
    begins = state.is_new_report or _begins_again(layout, state.seen)
    if layout.clock != "row" and begins:
        state.report += 1
        state.seen, state.is_new_report = frozenset(), False
    _go_on_in_phase(found, state, begins or layout.clock == "row")
    state.seen |= {(layout.name, layout.place)}
    state.open_from, state.part, state.has_rows = index + used, 0, False
    state.is_resumed = state.is_suspended = state.is_foreign = False
    found.classes[index : index + used] = CLASS["header"]
    return used


def _begins_again(layout: Layout, seen: Collection[tuple[str, int]]) -> bool:
    """Whether a table begins a report: the open one has it, one in its place, or one that stands below it."""
    return any(name == layout.name or place >= layout.place >= 0 < place for name, place in seen)


def _may_head(words: Sequence[str]) -> bool:
    """Whether a line may be the first part of a header that is one only as a whole (Device or DEV last)."""
    technical = sum(1 for word in words[:_MOST_HEADER_WORDS] if "/s" in word or "%" in word or "-sz" in word)
    return technical >= 2 and 3 * technical >= len(words)


def _assembled(
    text: Text, index: int, words: tuple[str, ...], header: Header | None
) -> tuple[Header, tuple[str, ...], int] | None:
    """A header with the lines that it was wrapped onto, its words without what leads them, its lines."""
    used = known = 1
    joined = words
    while used < 4 and index + used < len(text):
        more = tuple(text.words(index + used))
        if not more or len(more) > _MOST_HEADER_WORDS or numeric_share(more):
            break
        joined, used = (*joined, *more), used + 1
        whole = find_header(joined)
        if whole is None or whole.layout.is_cut:
            continue
        if header and len(whole.layout.columns) != len(header.layout.columns) + len(joined) - len(words):
            break
        if len(whole.layout.unknown) > (len(header.layout.unknown) if header else 0):
            break
        words, header, known = joined, whole, used
    return (header, words[header.lead_tokens :], known) if header else None


def _second_half(found: Walk, state: WalkState, index: int, words: tuple[str, ...]) -> bool:
    """Take the header of the right half of a table that was cut in two: its columns follow the left's."""
    if state.table is None or not state.has_rows or len(words) > _MOST_HEADER_WORDS:
        return False
    whole = with_right_half(state.words, words)
    if whole is None:
        return False
    close(found, state, index)
    state.table, state.words = Header(_right_half(whole, len(words))), (*state.words, *words)
    state.open_from, state.part, state.has_rows, state.is_suspended = index + 1, state.part + 1, False, False
    found.classes[index] = CLASS["header"]
    return True


@lru_cache(maxsize=256)
def _right_half(whole: Layout, size: int) -> Layout:
    return Layout(whole.format, whole.name, whole.family, whole.columns[-size:])


def _unknown_section(found: Walk, state: WalkState, index: int, words: tuple[str, ...]) -> Header | None:
    """A section of sar that no release so far prints: a clock, words, and below them a row that fits."""
    is_sar = found.origins[-1].banner is not None or any(b.layout.clock == "row" for b in found.singles[-1:])
    if not is_sar or state.unknown_sections >= _MOST_UNKNOWN_SECTIONS:
        return None
    seconds, taken = _clock.leading_time(words)
    following = next_line(found.text, index)
    if not 0 < taken < len(words) or following < 0:
        return None
    row = found.text.words(following)
    if _clock.leading_time(row)[1] != taken:
        return None
    given = (fmt.unknown_layout for fmt in table_formats() if fmt.unknown_layout)
    layout = next((known for give in given if (known := give(words[taken:], row[taken:]))), None)
    if layout is None:
        return None
    state.unknown_sections += 1
    return Header(layout, taken, Clock(seconds=seconds, has_am_pm=taken == 2))


def _go_on_in_phase(found: Walk, state: WalkState, is_new_report: bool) -> None:
    """Begin a phase where a report stands under other words than the one above, or another command or kernel.

    Lines left out are other words each time. Below another tool's table a report begins one where that of
    its own tool stands under other words, as a second vmstat below vmstat and iostat.
    """
    said, state.said = state.said, ()
    origin, run = found.origins[-1], state.run
    state.run = origin.index
    words, tool_id = wording(found, said), state.table.layout.format if state.table else ""
    above_tool, state.tool = state.tool, tool_id
    own_words = state.words_of.get(tool_id)
    # of more lines some are another tool's, which differ each time that a collector runs it
    is_again = above_tool != tool_id and len(words) <= _MOST_PROSE and any(map(is_prose, words))
    is_new_report |= is_again and own_words is not None and words != own_words
    if is_new_report or own_words is None or words:
        state.words_of[tool_id] = words
    if not is_new_report:
        return
    is_other_run = origin.index != run and origin.command is not None and not origin.is_restart
    # `watch` and a loop run it again
    is_other_run &= origin.command is not None and not (origin.command.when or origin.command.is_loop)
    is_other = bool(said) and (words != state.phase_words or not any(map(is_prose, words)))
    above, kernel = found.origins[run], origin.kernel
    is_other_run |= above.host == origin.host and "" != above.kernel != kernel != ""
    begins = not found.phases or is_other_run
    if begins or is_other:
        # the command of another tool is not the one that printed these rows
        tool = origin.command.tool if origin.command else ""
        is_own = state.table is not None and state.table.layout.format.startswith(tool)
        label = label_of(found, said, origin.command if is_own and begins else None)
        found.phases.append(label or (f"Linux {kernel}" if kernel else ""))
        state.phase_words = words


def leave_words(state: WalkState, index: int) -> None:
    """Note a line of words, which the next report stands under."""
    state.said = (*state.said[1 - MOST_LINES :], index)


def interrupt(found: Walk, state: WalkState, index: int, line: str, words: Sequence[str]) -> None:
    """Words below a table: another table's header ends it, other prose leaves rows to prove themselves."""
    technical = sum(1 for word in words if _HEADING_WORD.fullmatch(word))
    is_heading = len(words) > 2 and (
        2 * technical >= len(words) or words[0] in _TABLE_WORDS or words[-1] in _TABLE_WORDS
    )
    # another section of sar, to whose header the row below is glued
    taken = _clock.leading_time(tuple(words))[1]
    if 0 < taken < len(words) and _RATE.match(words[taken]) and is_number(words[-1]):
        is_heading, found.classes[index] = True, CLASS["unread"]
    lost = len(set(state.words).difference(words))
    if lost <= _MOST_LOST_WORDS < len(state.words) - lost:
        # the table's header again, under a label, or what is left of it; with a label behind it is a heading
        is_whole = tuple(words[-len(state.words) :]) == state.words
        if not words[-1].endswith(":"):
            found.classes[index] = CLASS["header" if is_whole else "unread"]
    elif not is_heading and is_prose(line):
        leave_words(state, index)
    suspend(found, state, index)
    if is_heading:
        state.table, state.is_suspended = None, False


def suspend(found: Walk, state: WalkState, index: int) -> None:
    """End the open block before line `index`, but keep its header for rows that prove to be its own."""
    if state.table is not None and not state.is_suspended:
        above = _keys_above(found.text, state, index)
        state.keys = (state.keys | above) if state.is_resumed else above
        state.report_keys = (state.report_keys | above) if state.is_resumed else above
        close(found, state, index)
        state.is_suspended = True


def _keys_above(text: Text, state: WalkState, index: int) -> frozenset[str]:
    """The items of the rows between the table's header and a line."""
    if state.table is None or state.table.layout.key is None:
        return frozenset()
    place = state.table.lead_tokens if state.table.layout.key_at == "first" else -1
    rows = (text.words(n) for n in range(max(state.open_from, index - _MOST_KEYS), index))
    return frozenset(words[place] for words in rows if len(words) > max(place, 0))


def take_numbers(found: Walk, state: WalkState, index: int, line: str, words: Sequence[str]) -> None:
    """Numbers outside a table: rows that go on with the one above, or rows without a header."""
    if state.is_suspended and state.table is not None:
        following = next_line(found.text, index)
        both = f"{line} {found.text.line(following)}" if following >= 0 else line
        for text in (line, both):
            row = parse_row(state.table, text, found.text.line(state.at))
            if row is None or not _goes_on(state.table, state.keys, row.key, row.cells):
                continue
            state.is_suspended, state.is_resumed, state.open_from = False, True, index
            begins = not row.key or row.key in state.report_keys
            # what is noted between the rows of a run that goes on, without a header, begins no other
            _go_on_in_phase(found, state, begins and bool(row.key))
            if state.table.layout.clock != "row" and begins:
                begin_report(state)
                state.report_keys = frozenset()
            return
    if len(words) >= _FEWEST_LOOSE_WORDS and numeric_share(words) >= 0.5 and not state.is_foreign:
        found.loose.append(index)


def _goes_on(header: Header, keys: frozenset[str], key: str, cells: Sequence[str]) -> bool:
    """Whether a row below something else is the table's all the same: a known item, or its arithmetic."""
    layout = header.layout
    if layout.clock == "row" or (key and key in keys):
        return True
    if layout.key == "device" and len(layout.columns) >= 5 and is_kernel_name(key):
        return True
    return proves([column.raw for column in layout.columns], cells)


def begin_report(state: WalkState) -> None:
    """Count a report more."""
    state.report += 1
    state.is_new_report = False
    layout = state.table.layout if state.table else None
    state.seen = frozenset([(layout.name, layout.place)] if layout else ())


def close(found: Walk, state: WalkState, index: int) -> None:
    """End the open block before line `index`."""
    if state.table is not None and not state.is_suspended and 0 <= state.open_from < index:
        layout = state.table.layout
        line = found.text.line(state.at)
        found.singles.append(
            Block(
                layout=layout,
                header=state.at,
                first=state.open_from,
                last=index,
                origin=found.origins[-1],
                report=max(state.report, 0),
                clock=state.table.clock if layout.clock == "row" else state.clock,
                clock_tokens=state.table.lead_tokens,
                indent=len(line) - len(line.lstrip()),
                part=state.part,
                is_label=state.table.is_label,
                is_resumed=state.is_resumed,
                phase=max(len(found.phases) - 1, 0),
            )
        )
    state.open_from = index


def resume(found: Walk, state: WalkState, index: int) -> None:
    """Let an open table go on below lines left out: its next sample does not begin where the last ended.

    Below a clock for all its rows they are those of other items.
    """
    if state.table is None or not (state.is_open and state.has_rows):
        return
    layout = state.table.layout
    if layout.clock == "row" or layout.key is None:
        close(found, state, index)
        state.is_resumed, state.open_from, state.has_rows = True, index + 1, False
        found.elided.append(index)
        if layout.clock != "row":
            begin_report(state)


def width_of(header: Header | None) -> int:
    """How many tokens a row below a header has."""
    if header is None:
        return 0
    return header.lead_tokens + len(header.layout.columns) + (header.layout.key is not None)


def is_row_like(found: Walk, state: WalkState, index: int, words: Sequence[str], share: float) -> bool:
    """Whether a line may be a row of the open block: whole, damaged, or its name alone."""
    if share >= 0.5 or state.table is None:
        return share >= 0.5
    if len(words) > 1 or state.table.layout.key is None:
        return parse_row(state.table, found.text.line(index), found.text.line(state.at)) is not None
    if not found.text.is_blank[index - 1] and is_name_alone(state.table.layout, words):
        return True
    following = next_line(found.text, index)
    return following >= 0 and numeric_share(found.text.words(following)) >= 0.9


def next_line(text: Text, index: int) -> int:
    """The next line that is not blank, of the three below; -1 for none."""
    return next((n for n in range(index + 1, min(index + 4, len(text))) if not text.is_blank[n]), -1)
