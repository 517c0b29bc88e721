"""What the walk over a text finds: segments, blocks of rows, context, and a class for every line."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from iodiag.formats.clock import Clock
from iodiag.formats.text.clean.lines import Text
from iodiag.formats.text.structure.banners import Banner, Command
from iodiag.formats.text.structure.collectors import Collector
from iodiag.formats.types import ContextBlock, Layout
from iodiag.model.capture import LINE_CLASSES
from iodiag.table.table import Floats, Ints

CLASS = {name: code for code, name in enumerate(LINE_CLASSES)}
UNSEEN = 255

Classes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Origin:
    """What a segment knows of itself: its banner and command, if any, and where it begins.

    `started` is a clock that stood right above the banner or command; `is_elided` tells that somebody
    left lines out before the first table. `collector` is whose file this is. `heading` is the host that words
    above it name, as "System 1:" does, in the brackets in which it stands.
    """

    index: int
    line: int
    banner: Banner | None = None
    command: Command | None = None
    is_restart: bool = False
    is_elided: bool = False
    started: Clock | None = None
    collector: Collector | None = None
    heading: str = ""

    @property
    def host(self) -> str:
        """The host's name by the banner, else by the collector; "" where neither tells."""
        return self.banner.host if self.banner else self.collector.host if self.collector else ""

    @property
    def kernel(self) -> str:
        """The kernel's version by the banner; "" where there is none."""
        return self.banner.kernel.rstrip(":") if self.banner else ""


class Block(NamedTuple):
    """A header and a range of lines below it (cleaned line indices, `last` left out).

    `part` is above 0 for the second half of a table that was cut in two by its columns. `clock` is the
    report's time (iostat) or the start of the first sample (sar). `is_resumed` marks rows that go on
    below something else, so that nothing is known of the time between. `phase` counts the changes of the
    words above reports.
    """

    layout: Layout
    header: int
    first: int
    last: int
    origin: Origin
    report: int
    clock: Clock | None
    clock_tokens: int
    indent: int
    part: int = 0
    is_label: bool = False
    is_resumed: bool = False
    phase: int = 0

    @property
    def shape(self) -> Hashable:
        """What blocks alike have in common besides their layout and origin."""
        return self.clock_tokens, self.indent, self.part, self.is_label, self.is_resumed, self.phase


class ClockSequence(NamedTuple):
    """Clocks in their order: each is that of `clocks` at its place in `at` (-1: none), `later` by seconds."""

    clocks: Sequence[Clock]
    at: Ints
    later: Floats

    @classmethod
    def of(cls, clocks: Sequence[Clock | None]) -> ClockSequence:
        """Clocks as they stand."""
        is_known = np.array([clock is not None for clock in clocks], dtype=np.bool_)
        known = [clock for clock in clocks if clock is not None]
        return cls(known, np.where(is_known, np.cumsum(is_known) - 1, -1), np.zeros(len(clocks)))

    def until(self, count: int) -> ClockSequence:
        """The first so many; all of `clocks` are kept."""
        return self._replace(at=self.at[:count], later=self.later[:count])


@dataclass(frozen=True)
class Repeat:
    """Blocks that are like `block` but for where they stand, their report and their clock, in order."""

    block: Block
    header: Ints
    first: Ints
    last: Ints
    report: Ints
    shown: ClockSequence


class Blocks(Sequence[Block]):
    """All blocks of a text in its order, a column for each of what differs: a day of seconds has thousands.

    `pattern` is the place of each block's like in `patterns`, `clock_at` that of its clock in `clocks` (-1:
    it has none), which it is `later` than by so many seconds.
    """

    def __init__(self, singles: Sequence[Block], repeats: Sequence[Repeat] = ()) -> None:
        places: dict[Hashable, int] = {}
        alike = [places.setdefault(_likeness(block), len(places)) for block in singles]
        firsts = dict(zip(alike[::-1], singles[::-1], strict=True))
        self.patterns: list[Block] = [*(firsts[n] for n in range(len(places))), *(r.block for r in repeats)]
        shown = ClockSequence.of([block.clock for block in singles])
        self.clocks = [*shown.clocks]
        stands = [
            np.array([getattr(block, name) for block in singles], dtype=np.int64)
            for name in ("header", "first", "last", "report")
        ]
        parts = [(np.array(alike, dtype=np.int64), *stands, shown.at, shown.later)]
        for number, repeat in enumerate(repeats, len(places)):
            clock_at = np.where(repeat.shown.at < 0, -1, repeat.shown.at + len(self.clocks))
            self.clocks += repeat.shown.clocks
            stands = [repeat.header, repeat.first, repeat.last, repeat.report]
            parts.append((np.full(len(repeat.first), number), *stands, clock_at, repeat.shown.later))
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.argsort(columns[2], kind="stable")
        self.pattern, self.header, self.first, self.last, self.report, self.clock_at, self.later = (
            column[order] for column in columns
        )

    def __len__(self) -> int:
        return len(self.first)

    @overload
    def __getitem__(self, at: int) -> Block: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Block]: ...
    def __getitem__(self, at: int | slice) -> Block | Sequence[Block]:
        if isinstance(at, slice):
            return [self[number] for number in range(len(self))[at]]
        return self.like(at)._replace(
            header=int(self.header[at]),
            first=int(self.first[at]),
            last=int(self.last[at]),
            report=int(self.report[at]),
            clock=self._clock(at),
        )

    def _clock(self, at: int) -> Clock | None:
        if self.clock_at[at] < 0:
            return None
        clock: Clock = self.clocks[int(self.clock_at[at])]
        later = float(self.later[at])
        return clock._replace(seconds=(clock.seconds or 0.0) + later) if later else clock

    def like(self, at: int) -> Block:
        """What a block has in common with those like it; where it stands and its clock may be another's."""
        block: Block = self.patterns[int(self.pattern[at])]
        return block

    def each(self, tell: Callable[[Block], Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """What holds for every block and is the same for those alike."""
        told: npt.NDArray[Any] = np.array([tell(block) for block in self.patterns], dtype=dtype)[self.pattern]
        return told


def _likeness(block: Block) -> Hashable:
    """What blocks alike have in common; a layout is made once per header, so its identity tells."""
    return id(block.layout), block.origin.index, id(block.origin), block.shape


class FoundContext(NamedTuple):
    """A context block and where it stands."""

    format: str
    first: int
    origin: Origin
    block: ContextBlock


@dataclass
class Walk:
    """What the walk found; `classes` holds a class code per cleaned line, UNSEEN where open.

    `singles` are blocks in the order in which the walk closed them, `repeats` those that it took together,
    `blocks` all of them.
    `phases` are the labels of its phases. `loose` are lines of numbers without a header; `foreign` tells
    which other system's tool stands where, `elided` where somebody left rows out, `lent` the header of a
    table further down that rows without one were read under, by the first of these. `unsettled` are the lines
    of rows without a header, by the headers of which nothing tells which is theirs.
    """

    text: Text
    name: str
    classes: Classes
    singles: list[Block] = field(default_factory=list)
    repeats: list[Repeat] = field(default_factory=list)
    blocks: Blocks = field(default_factory=lambda: Blocks(()))
    contexts: list[FoundContext] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=lambda: [Origin(0, 0)])
    clocks: list[Clock] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    loose: list[int] = field(default_factory=list)
    foreign: dict[str, int] = field(default_factory=dict)
    elided: list[int] = field(default_factory=list)
    lent: dict[int, int] = field(default_factory=dict)
    unsettled: dict[tuple[str, ...], list[int]] = field(default_factory=dict)
    has_am_pm: bool = False

    @cached_property
    def _headings(self) -> set[str]:
        return {origin.heading.strip("()") for origin in self.origins} - {""}

    @cached_property
    def _first_host(self) -> str:
        """What rows above "Other nodes:" are of: the first node; "" without such a heading."""
        other = next((name for name in self._headings if name.lower().startswith("other ")), "")
        return f"first{other[len('other') :].rstrip('s')}" if other else ""

    def host_of(self, origin: Origin) -> str:
        """The host of a segment; by its heading where there are other hosts, as one alone names none.

        To be asked once the walk is over.
        """
        named = origin.heading.strip("()") or self._first_host
        return origin.host or (named if self._first_host or len(self._headings) > 1 else "")
