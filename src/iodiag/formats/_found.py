"""What the walk over a text finds: segments, blocks of rows, context, and a class for every line."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from iodiag.formats._body import Tokens
from iodiag.formats._clock import Clock
from iodiag.formats._grammar import Banner, Command
from iodiag.formats._lines import Text
from iodiag.formats._types import ContextBlock, Layout
from iodiag.model.capture import LINE_CLASSES

CLASS = {name: code for code, name in enumerate(LINE_CLASSES)}
UNSEEN = 255

Classes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Origin:
    """What a segment knows of itself: its banner and command, if any, and where it begins.

    `started` is a clock that stood right above the banner or command; `is_elided` tells that somebody
    left lines out before the first table.
    """

    index: int
    line: int
    banner: Banner | None = None
    command: Command | None = None
    is_restart: bool = False
    is_elided: bool = False
    started: Clock | None = None


@dataclass(frozen=True)
class Block:
    """A header and a range of lines below it (cleaned line indices, `last` left out).

    `part` is above 0 for the second half of a table that was cut in two by its columns. `clock` is the
    report's time (iostat) or the start of the first sample (sar). `is_resumed` marks rows that go on
    below something else, so that nothing is known of the time between.
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


@dataclass(frozen=True)
class FoundContext:
    """A context block and where it stands."""

    format: str
    first: int
    origin: Origin
    block: ContextBlock


@dataclass
class Walk:
    """What the walk found; `classes` holds a class code per cleaned line, UNSEEN where open.

    `loose` are lines of numbers without a header; `foreign` tells which other system's tool stands where.
    """

    text: Text
    name: str
    classes: Classes
    blocks: list[Block] = field(default_factory=list)
    contexts: list[FoundContext] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=lambda: [Origin(0, 0)])
    clocks: list[Clock] = field(default_factory=list)
    loose: list[int] = field(default_factory=list)
    foreign: dict[str, int] = field(default_factory=dict)
    has_half: bool = False

    @cached_property
    def tokens(self) -> Tokens:
        """The tokens of all lines."""
        return Tokens(self.text)
