"""Reports that repeat the structure of those above them: the walk takes them together.

A long capture prints the same few lines around its rows thousands of times. Where the walk has gone
through two such rounds with the same outcome, and the rounds below consist of the very same lines, but
for the digits of clocks, it would go through them the same way.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.formats import clock as _clock
from iodiag.formats.clock import Clock
from iodiag.formats.text.clean.lines import Text
from iodiag.formats.text.structure.blocks import CLASS, UNSEEN, Block, ClockSequence, Repeat, Walk
from iodiag.formats.text.structure.headers import find_header
from iodiag.formats.text.structure.open_table import WalkState
from iodiag.table.table import Bools, Ints

_FEWEST_ROUNDS = 2
_LONGEST_ROUND = 400
_LONGEST_LINE = 1000
_MOST_SHARE = 0.7  # of a text's lines; where more may be structure, it is no regular capture
_AT_ONCE = 10_000  # lines that are compared together
_MOST_LIKE = 16  # lines of one length that differ in more than the digits of clocks
_LINES_BELOW = 3  # what the walk looks at below a line
_TIME = re.compile(rb"(?<![\d:.])\d\d:\d\d:\d\d(?![\d:.])")
_ANY_CLOCK = Clock()


class _Spot(NamedTuple):
    """Where a line stands: so many visited lines after the start of a round, and so many lines below."""

    visited: int
    below: int


class _Moment(NamedTuple):
    """What the walk had found when it came to a visited line."""

    singles: int
    others: tuple[int, ...]
    state: WalkState


@dataclass
class Repeats:
    """The visited lines of a text and which of them are alike; -1 for those that none is like."""

    visited: Ints
    likeness: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    above: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    moments: dict[int, _Moment] = field(default_factory=dict)

    @classmethod
    def of(cls, text: Text, visited: Ints) -> Repeats:
        """The visited lines, compared where they are few."""
        if len(visited) > _MOST_SHARE * len(text):
            return cls(visited)
        likeness = _likeness(text, visited)
        above = np.full(len(visited), -1, dtype=np.int64)
        order = np.argsort(likeness, kind="stable")
        is_same = (likeness[order[1:]] == likeness[order[:-1]]) & (likeness[order[1:]] >= 0)
        above[order[1:][is_same]] = order[:-1][is_same]
        return cls(visited, likeness, above)

    def pass_by(self, found: Walk, state: WalkState, at: int) -> int:
        """Take the rounds below the visited line `at` together, if they are like the two above.

        Returns the place of the visited line to go on with.
        """
        if at >= len(self.likeness) or self.above[at] < 0:
            return at
        others = (len(found.origins), len(found.contexts), len(found.loose), len(found.foreign))
        self.moments[at] = _Moment(len(found.singles), others, replace(state))
        size = at - int(self.above[at])
        if size > _LONGEST_ROUND or at - 2 * size not in self.moments or at - size not in self.moments:
            return at
        rounds = self._rounds(at, size)
        if rounds < _FEWEST_ROUNDS:
            return at
        taken = _Round(found, self, at, size).repeated(state, rounds)
        # what is not regular here need not be looked at again at every line
        self.moments.clear()
        return at + taken * size

    def _rounds(self, at: int, size: int) -> int:
        """How many rounds of a size begin at a visited line, all like the two above it.

        The last lines of a round are what they are by those below them, so these are alike, too.
        """
        if not (self.likeness[at - size : at] == self.likeness[at - 2 * size : at - size]).all():
            return 0
        length = 0
        step = 4 * size
        while at + length < len(self.likeness):
            here = slice(at + length, min(at + length + step, len(self.likeness)))
            same = self.likeness[here] == self.likeness[here.start - size : here.stop - size]
            same &= self.likeness[here] >= 0
            if not same.all():
                length += int(np.argmin(same))
                break
            length, step = length + len(same), 2 * step
        return max(length - _LINES_BELOW, 0) // size


class _Round(NamedTuple):
    """The round of `size` visited lines that ends above `at`, as the walk went through it."""

    found: Walk
    repeats: Repeats
    at: int
    size: int

    def repeated(self, state: WalkState, rounds: int) -> int:
        """Repeat what the round gave for those below; how many of them, 0 where it is not regular."""
        moments = self.repeats.moments
        first, second, third = (moments[self.at - n * self.size] for n in (2, 1, 0))
        steps = third.state.report - second.state.report
        is_regular = (
            first.others == second.others == third.others
            and self._state(second.state, self.size) == self._state(third.state, 0)
            and self._is_settled()
        )
        above = [self._block(b, self.size) for b in self.found.singles[first.singles : second.singles]]
        below = [self._block(b, 0) for b in self.found.singles[second.singles : third.singles]]
        if not is_regular or above != below:
            return 0
        blocks = self.found.singles[second.singles : third.singles]
        reports = [
            b.report - a.report for a, b in zip(self.found.singles[first.singles :], blocks, strict=False)
        ]
        if any(number != steps for number in reports):
            return 0
        times = {spot: self._times(spot, rounds) for spot in {self._clock_spot(b) for b in blocks if b.clock}}
        rounds = min([rounds, *(len(clocks.later) for clocks in times.values())])
        if rounds < _FEWEST_ROUNDS:
            return 0
        for block in blocks:
            self._repeat(block, rounds, steps, times)
        self._class_lines(rounds)
        self._move_on(state, rounds, steps)
        return rounds

    def _spot(self, line: int, back: int) -> _Spot:
        """Where a line stands from the start of the round that ends `back` visited lines above `at`."""
        place = bisect_right(self.repeats.visited, line) - 1
        return _Spot(place - (self.at - self.size - back), line - int(self.repeats.visited[place]))

    def _lines(self, line: int, rounds: int) -> Ints:
        """The lines of the rounds below that stand where `line` does in this one."""
        spot = self._spot(line, 0)
        places = self.at + spot.visited + self.size * np.arange(rounds)
        return self.repeats.visited[places] + spot.below

    def _state(self, state: WalkState, back: int) -> tuple[WalkState, _Spot, _Spot]:
        """A state as it is in any round: lines counted from the round's start, whatever clock and report."""
        table = state.table
        if table is not None and table.clock is not None:
            table = table._replace(clock=_ANY_CLOCK)
        clock = None if state.clock is None else _ANY_CLOCK
        alike = replace(state, table=table, clock=clock, at=0, open_from=0, report=0)
        return alike, self._spot(state.at, back), self._spot(state.open_from, back)

    def _block(self, block: Block, back: int) -> Hashable:
        """What tells a block from others of its round, lines counted from the round's start."""
        spots = tuple(self._spot(line, back) for line in (block.header, block.first, block.last))
        return spots, id(block.layout), id(block.origin), block.clock is None, block.shape

    def _is_settled(self) -> bool:
        """Whether each visited line of the round was a header, a clock, or a row that is the same in all.

        A name alone on its line is a row by the share of numbers on the one below, which may differ.
        """
        lines = self.repeats.visited[self.at - self.size : self.at]
        classes = self.found.classes[lines]
        rows = [_bytes(self.found.text, n) for n in lines[classes == UNSEEN].tolist()]
        is_structure = (classes == CLASS["header"]) | (classes == CLASS["clock"]) | (classes == UNSEEN)
        return bool(is_structure.all()) and not any(_TIME.search(row) or len(row.split()) < 2 for row in rows)

    def _clock_spot(self, block: Block) -> int:
        """The line that a block's clock stands on: its header, or the last line of a clock above its end."""
        if block.layout.clock == "row":
            return block.header
        return self._last_clock(block.last)

    def _last_clock(self, before: int) -> int:
        visited, classes = self.repeats.visited, self.found.classes
        place = bisect_left(visited, before) - 1
        while place > 0 and classes[visited[place]] != CLASS["clock"]:
            place -= 1
        return int(visited[place])

    def _times(self, line: int, rounds: int) -> ClockSequence:
        return _times_of(self.found.text, np.concatenate(([line], self._lines(line, rounds))))

    def _repeat(self, block: Block, rounds: int, steps: int, times: dict[int, ClockSequence]) -> None:
        unclocked = ClockSequence.of([None] * rounds)
        shown = times[self._clock_spot(block)].until(rounds) if block.clock else unclocked
        self.found.repeats.append(
            Repeat(
                block=block,
                header=self._lines(block.header, rounds),
                first=self._lines(block.first, rounds),
                last=self._lines(block.last, rounds),
                report=block.report + steps * np.arange(1, rounds + 1),
                shown=shown,
            )
        )
        if block.layout.clock != "row":
            self.found.clocks += shown.clocks

    def _class_lines(self, rounds: int) -> None:
        """Class the lines of headers and clocks as those of the round are."""
        visited, classes = self.repeats.visited, self.found.classes
        ends = visited[self.at - self.size + 1 : self.at + 1]
        for line, end in zip(visited[self.at - self.size : self.at].tolist(), ends.tolist(), strict=True):
            places = self._lines(line, rounds)
            for below in range(min(end - line, _LINES_BELOW + 1)):
                if classes[line + below] == UNSEEN:
                    break
                classes[places + below] = classes[line + below]

    def _move_on(self, state: WalkState, rounds: int, steps: int) -> None:
        """Bring the state to the end of the last round."""
        text = self.found.text
        at, open_from = (int(self._lines(line, rounds)[-1]) for line in (state.at, state.open_from))
        if state.clock is not None:
            clock_line = self._last_clock(int(self.repeats.visited[self.at]))
            state.clock = _clock.parse_line(text.line(int(self._lines(clock_line, rounds)[-1])))
        if state.table is not None and state.table.clock is not None:
            header = find_header(text.line(at).split())
            state.table = state.table._replace(clock=header.clock if header else None)
        state.at, state.open_from = at, open_from
        state.report += rounds * steps


def _times_of(text: Text, lines: Ints) -> ClockSequence:
    """The clocks of lines that differ in digits alone, without that of the first, which must agree.

    Only the first line of every hour is parsed; minutes and seconds are added. Ends at the first line
    that is no clock.
    """
    nothing = ClockSequence.of([])
    shown = _bytes(text, int(lines[0]))
    match = _TIME.search(shown)
    if match is None:
        return nothing
    chars = _matrix(text, lines)
    begin = match.start() + 3
    digits = chars[:, [begin, begin + 1, begin + 3, begin + 4]].astype(np.int64) - 48
    tens, ones, ten_seconds, seconds = digits.T
    # no product of matrices: the threads that numpy has for one would keep a core busy
    later = (600 * tens + 60 * ones + 10 * ten_seconds + seconds).astype(np.float64)
    is_time = (tens <= 5) & (10 * ten_seconds + seconds <= 61)
    count = len(lines) if is_time.all() else int(np.argmin(is_time))
    chars[:, begin : begin + 5] = np.frombuffer(b"00:00", dtype=np.uint8)
    is_new = np.concatenate(([True], (chars[1:] != chars[:-1]).any(axis=1)))
    clocks: list[Clock] = []
    for place in np.flatnonzero(is_new[:count]).tolist():
        clock = _clock_in(chars[place].tobytes().decode("utf-8", "replace"))
        if clock is None or clock.seconds is None or (clocks and not _is_like(clock, clocks[0])):
            count = place
            break
        clocks.append(clock)
    own = _clock_in(shown.decode("utf-8", "replace"))
    if count < 1 or own is None or own != clocks[0]._replace(seconds=(clocks[0].seconds or 0.0) + later[0]):
        return nothing
    return ClockSequence(clocks, np.cumsum(is_new)[1:count] - 1, later[1:count])


def _clock_in(line: str) -> Clock | None:
    """The clock that a line is, or that leads a header."""
    header = find_header(line.split())
    return header.clock if header else _clock.parse_line(line)


def _is_like(clock: Clock, other: Clock) -> bool:
    return (clock.has_am_pm, clock.only_above_header, clock.day is None) == (
        other.has_am_pm,
        other.only_above_header,
        other.day is None,
    )


def _bytes(text: Text, line: int) -> bytes:
    return text.data[text.starts[line] : text.ends[line]]


def _matrix(text: Text, lines: Ints) -> npt.NDArray[np.uint8]:
    """The bytes of lines of one length, a row each."""
    size = int(text.ends[lines[0]] - text.starts[lines[0]])
    return text.windows(size)[text.starts[lines]]


def _likeness(text: Text, visited: Ints) -> Ints:
    """A number per visited line that those share which the walk cannot tell apart, -1 for all others.

    They have the same bytes, but for the digits of a line with a clock, and lines of the same kinds below;
    rows stand in front of the next visited line, or none do.
    """
    sizes = text.ends[visited] - text.starts[visited]
    result = np.full(len(visited), -1, dtype=np.int64)
    number = 0
    order = np.argsort(sizes, kind="stable")
    edges = np.flatnonzero(np.diff(sizes[order])) + 1
    for group in np.split(order, edges):
        if not len(group) or not 0 < sizes[group[0]] <= _LONGEST_LINE:
            continue
        for _ in range(_MOST_LIKE):
            if len(group) < 2:
                break
            parts = [group[at : at + _AT_ONCE] for at in range(0, len(group), _AT_ONCE)]
            is_like = np.concatenate(
                [_is_like_first(text, visited[group[:1]], visited[part]) for part in parts]
            )
            result[group[is_like]] = number
            number += 1
            group = group[~is_like]
    below = _below(text, visited)
    rows_above = np.append(0, np.cumsum(~text.is_blank))
    has_rows = np.diff(rows_above[visited], append=rows_above[-1]) > 1
    kinds = 2 * below + has_rows
    result = np.where((result < 0) | (below < 0), -1, result * 2 * 3**_LINES_BELOW + kinds)
    return result


def _is_like_first(text: Text, first: Ints, lines: Ints) -> Bools:
    """Which lines have the bytes of another of their length, but for the digits of one with a clock."""
    shown, chars = _matrix(text, first), _matrix(text, lines)
    if _TIME.search(shown.tobytes()):
        shown, chars = (np.where(part - np.uint8(48) < 10, np.uint8(48), part) for part in (shown, chars))
    result: Bools = (chars == shown).all(axis=1)
    return result


def _below(text: Text, visited: Ints) -> Ints:
    """Of what kinds the lines below visited ones are, as one number; -1 where one could be anything.

    Blank, visited, or one that ends in a digit, as rows do.
    """
    is_visited = np.zeros(len(text), dtype=np.bool_)
    is_visited[visited] = True
    result = np.zeros(len(visited), dtype=np.int64)
    for step in range(1, _LINES_BELOW + 1):
        lines = np.minimum(visited + step, len(text) - 1)
        ends_in_digit = text.bytes[np.maximum(text.ends[lines] - 1, 0)] - np.uint8(48) < 10
        kind = np.where(text.is_blank[lines], 0, np.where(is_visited[lines], 1, 2))
        is_sure = (kind < 2) | ends_in_digit
        is_sure &= visited + step < len(text)
        result = np.where(is_sure & (result >= 0), result * 3 + kind, -1)
    return result
