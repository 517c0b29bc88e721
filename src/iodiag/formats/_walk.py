"""The structure of a text: banners, commands, clocks, headers and context; the rest are rows.

The walk visits only lines that may be structure. In a long regular capture that is a small part:
lines after a blank one, and lines whose first bytes no row begins with. Every other line is
proven to be a row later, by its number of tokens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from iodiag.formats import _clock, _grammar, context_formats, table_formats
from iodiag.formats._clock import Clock
from iodiag.formats._grammar import Banner, Command
from iodiag.formats._lines import Ints, Text
from iodiag.formats._types import ContextBlock, Layout, Line
from iodiag.formats._window import Window
from iodiag.model.capture import LINE_CLASSES

CLASS = {name: code for code, name in enumerate(LINE_CLASSES)}
UNSEEN = 255

_FEW_LINES = 20_000
_CONTEXT_LINES = 20_000
_RESTART = re.compile(r"^\s*(\S+(?: [AaPp]\.?[Mm]\.?)?)\s+LINUX RESTART")
_COMMENT = re.compile(r"^\s*\d\S*(?: [AaPp]\.?[Mm]\.?)?\s+COM\s")
_DECORATION = re.compile(r"^\s*-*\s*procs\b.*\b(?:memory|cpu)\b|^[\s-]*(?:system-*)?-*cpu-+\s*$|^\s*-+(?:\w+-+)+\s*$")
_NUMBER = re.compile(r"[-+]?\d[\d.,]*[kKMGTPBs%]?")


@dataclass(frozen=True)
class Origin:
    """What a segment knows of itself: its banner and command, if any, and where it begins."""

    index: int
    line: int
    banner: Banner | None = None
    command: Command | None = None
    is_restart: bool = False
    is_elided: bool = False


@dataclass(frozen=True)
class Block:
    """A header and the range of lines below it (cleaned line indices, `last` left out).

    `part` is above 0 for the continuation of a wrapped header, whose rows complete the rows of
    the block before. `clock` is the report's time (iostat) or the start of the first sample (sar).
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


@dataclass(frozen=True)
class FoundContext:
    format: str
    first: int
    origin: Origin
    block: ContextBlock


@dataclass
class Walk:
    """What the walk found; `classes` holds a class code per cleaned line, UNSEEN where open."""

    text: Text
    name: str
    classes: np.ndarray
    blocks: list[Block] = field(default_factory=list)
    contexts: list[FoundContext] = field(default_factory=list)
    origins: list[Origin] = field(default_factory=lambda: [Origin(0, 0)])
    clocks: list[Clock] = field(default_factory=list)
    loose: list[int] = field(default_factory=list)
    has_half: bool = False


@dataclass
class _State:
    """Where the walk stands."""

    layout: Layout | None = None
    open_from: int = -1
    header: int = -1
    header_clock: Clock | None = None
    clock: Clock | None = None
    clock_tokens: int = 0
    indent: int = 0
    report: int = -1
    seen: frozenset[str] = frozenset()
    part: int = 0
    has_rows: bool = False


def walk(text: Text, name: str) -> Walk:
    """Visit the lines that may be structure, in order, and split the text into blocks."""
    found = Walk(text, name, np.full(len(text), UNSEEN, dtype=np.uint8))
    state = _State()
    skip_to = 0
    for index in _candidates(text).tolist():
        if index < skip_to:
            continue
        line = text.line(index)
        if not line or line.isspace():
            continue
        if _structure(found, state, index, line):
            continue
        words = line.split()
        if state.layout is not None and _is_row_like(words, state.layout):
            state.has_rows = True
            continue
        used = _context(found, state, index, line)
        if used:
            skip_to = index + used
        elif state.layout is None and _numeric_share(words) >= 0.5 and len(words) >= 5:
            found.loose.append(index)
    _close(found, state, len(text))
    return found


def _structure(found: Walk, state: _State, index: int, line: str) -> bool:
    """Handle a banner, command, restart, clock or header line; False when it is none of them."""
    stripped = line.strip()
    first = stripped[0]
    words = tuple(stripped.split())
    is_digit = first.isdigit()
    if is_digit and (_RESTART.match(line) or _COMMENT.match(line)):
        if "RESTART" in line:
            _close(found, state, index)
            _begin(found, state, index, Origin(0, 0, found.origins[-1].banner, found.origins[-1].command, True))
            state.layout = None
        found.classes[index] = CLASS["banner"]
        return True
    if _header(found, state, index, line, words):
        return True
    if stripped in ("...", "[...]", "[…]", "…") and state.layout is None:
        found.origins[-1] = _elided(found.origins[-1])
        return False
    if not is_digit and (banner := _grammar.banner(line)):
        _close(found, state, index)
        _begin(found, state, index, Origin(0, 0, banner))
        found.classes[index] = CLASS["banner"]
        if parsed := _clock.parse_date(banner.date):
            found.clocks.append(parsed)
        return True
    if clock := _clock.parse_line(line):
        _close(found, state, index)
        state.clock, state.seen, state.report = clock, frozenset(), state.report + 1
        found.clocks.append(clock)
        found.classes[index] = CLASS["clock"]
        return True
    if _DECORATION.match(line):
        found.classes[index] = CLASS["header"]
        return True
    if command := _grammar.command(line):
        _close(found, state, index)
        _begin(found, state, index, Origin(0, 0, None, command))
        found.classes[index] = CLASS["banner"]
        return True
    return False


def _elided(origin: Origin) -> Origin:
    return Origin(origin.index, origin.line, origin.banner, origin.command, origin.is_restart, True)


def _begin(found: Walk, state: _State, index: int, origin: Origin) -> None:
    """Begin a segment, or complete the one that has no rows yet (a banner after its command)."""
    previous = found.origins[-1]
    has_content = bool(found.blocks) and found.blocks[-1].origin.index == previous.index
    if has_content:
        command = origin.command if origin.is_restart or not origin.banner else None
        found.origins.append(Origin(previous.index + 1, index, origin.banner, command, origin.is_restart))
    else:
        command = origin.command or previous.command
        found.origins[-1] = Origin(previous.index, index, origin.banner, command, origin.is_restart)
    state.layout, state.report, state.seen, state.clock = None, -1, frozenset(), None


def _header(found: Walk, state: _State, index: int, line: str, words: tuple[str, ...]) -> bool:
    """Open a block when the line is a header that some format knows."""
    if _NUMBER.fullmatch(words[-1]):
        return False
    split = _split_clock(words)
    if split is None:
        return False
    clock, clock_tokens, rest = split
    if not rest or rest[0][0].isdigit():
        return False
    layout = layout_of(rest)
    if layout is None:
        return _continuation(found, state, index, rest)
    _close(found, state, index)
    if layout.clock == "row" and clock_tokens == 2:
        found.has_half = True
    is_new = layout.name in state.seen or state.report < 0
    if layout.clock != "row" and is_new:
        state.report += 1
        state.seen = frozenset()
    state.seen |= {layout.name}
    state.layout, state.header, state.open_from = layout, index, index + 1
    state.header_clock, state.clock_tokens, state.part = clock, clock_tokens, 0
    state.indent = len(line) - len(line.lstrip())
    state.has_rows = False
    found.classes[index] = CLASS["header"]
    return True


def _continuation(found: Walk, state: _State, index: int, rest: tuple[str, ...]) -> bool:
    """Take the second part of a wrapped header: its columns follow those of the first part."""
    if state.layout is None:
        return False
    whole = layout_of(_words_of(state.layout) + rest)
    if whole is None or not _is_longer(whole, state.layout, len(rest)):
        return False
    if not state.has_rows:
        state.layout = whole
    else:
        _close(found, state, index)
        state.part += 1
        state.layout = _tail_of(whole, len(rest))
        state.has_rows = False
    state.open_from = index + 1
    found.classes[index] = CLASS["header"]
    return True


@cache
def _tail_of(whole: Layout, size: int) -> Layout:
    """The last columns of a layout, as the second half of a wrapped header holds them."""
    return Layout(whole.format, whole.name, whole.family, whole.columns[len(whole.columns) - size :])


def _words_of(layout: Layout) -> tuple[str, ...]:
    key = _KEY_WORDS.get(layout.format, {}).get(layout.key or "", ())
    return (*key, *(column.raw for column in layout.columns))


_KEY_WORDS: dict[str, dict[str, tuple[str, ...]]] = {
    "iostat": {"device": ("Device:",)},
    "sar": {"device": ("DEV",), "cpu": ("CPU",)},
    "mpstat": {"cpu": ("CPU",)},
}


def _is_longer(whole: Layout, part: Layout, by: int) -> bool:
    return len(whole.columns) == len(part.columns) + by and all(c.column or c.raw for c in whole.columns)


def _close(found: Walk, state: _State, index: int) -> None:
    """End the open block before line `index`."""
    if state.layout is not None and state.open_from >= 0 and index > state.open_from:
        clock = state.header_clock if state.layout.clock == "row" else state.clock
        found.blocks.append(
            Block(
                layout=state.layout,
                header=state.header,
                first=state.open_from,
                last=index,
                origin=found.origins[-1],
                report=max(state.report, 0),
                clock=clock,
                clock_tokens=state.clock_tokens,
                indent=state.indent,
                part=state.part,
            )
        )
    state.open_from = index


_layouts: dict[tuple[str, ...], Layout | None] = {}


def layout_of(words: tuple[str, ...]) -> Layout | None:
    """The Layout of a header's words, from the first format that owns it; cached by the words."""
    if words not in _layouts:
        if len(_layouts) > 4096:
            _layouts.clear()
        found = (layout for fmt in table_formats() if (layout := fmt.layout(words)))
        _layouts[words] = next(found, None)
    return _layouts[words]


def _split_clock(words: tuple[str, ...]) -> tuple[Clock | None, int, tuple[str, ...]] | None:
    """A header's clock (`12:24:01`, `12:24:01 PM`, `Average:`), how many tokens it takes, the rest."""
    first = words[0]
    if first[0].isdigit():
        if len(words) > 2 and re.fullmatch(r"[AaPp]\.?[Mm]\.?", words[1]):
            seconds = _clock.parse_time(f"{first} {words[1][0]}M")
            return (Clock(seconds=seconds, has_half=True), 2, words[2:]) if seconds is not None else None
        seconds = _clock.parse_time(first)
        return (Clock(seconds=seconds), 1, words[1:]) if seconds is not None else None
    if len(words) > 2 and words[1] in (":", "："):
        return None, 2, words[2:]
    if first[-1] in ":：" and layout_of(words) is None and len(words) > 1:
        return None, 1, words[1:]
    return None, 0, words


def _is_row_like(words: Sequence[str], layout: Layout) -> bool:
    """Whether a line may be a row of the open block, whole or wrapped."""
    if len(words) == 1 and layout.key is not None:
        return not words[0][-1] in ":.!?`" and not words[0].startswith("```")
    return _numeric_share(words) >= 0.5


def _numeric_share(words: Sequence[str]) -> float:
    numbers = sum(1 for word in words if word[0] in "-+.0123456789" and _NUMBER.fullmatch(word))
    return numbers / len(words)


def _context(found: Walk, state: _State, index: int, line: str) -> int:
    """How many lines a context format takes from here on; 0 when none wants the line."""
    for fmt in context_formats():
        if not fmt.starts.search(line):
            continue
        lines = Window(
            lambda at: Line(found.text.line(at), int(found.text.numbers[at])),
            index,
            min(index + _CONTEXT_LINES, len(found.text)),
        )
        block = fmt.read(lines, found.name)
        if block is None or block.used < 1:
            continue
        _close(found, state, index)
        state.layout = None
        found.contexts.append(FoundContext(fmt.id, index, found.origins[-1], block))
        found.classes[index : index + block.used] = CLASS["context"]
        unread = set(block.unread)
        for offset in range(block.used):
            if int(found.text.numbers[index + offset]) in unread:
                found.classes[index + offset] = CLASS["unread"]
        return block.used
    return 0


def _candidates(text: Text) -> Ints:
    """Indices of the lines that may be structure; a superset, and all lines of a short text.

    In a long text a line is left out when the line above is not blank and either a line with the
    same first eight bytes is row-like (its second token is a number), or it begins with a digit and
    its last ten bytes hold no letter, slash or per cent sign: headers always end in a word.
    """
    count = len(text)
    if count <= _FEW_LINES:
        return np.arange(count)
    after_blank = np.concatenate(([True], text.is_blank[:-1]))
    padded = np.concatenate((text.bytes, np.full(16, 10, dtype=np.uint8)))
    heads = padded[text.starts[:, None] + np.arange(8)]
    heads[np.logical_or.accumulate(heads == 10, axis=1)] = 10
    keys = heads.view(np.uint64).ravel()
    distinct, where, inverse = np.unique(keys, return_index=True, return_inverse=True)
    is_digit = (heads[:, 0] >= 48) & (heads[:, 0] <= 57)
    offsets = np.maximum(text.ends[:, None] - np.arange(1, 11), text.starts[:, None])
    tails = padded[offsets]
    has_word = ((tails >= 65) | (tails == 37) | (tails == 47)).any(axis=1)
    needs_look = np.ones(len(distinct), dtype=np.bool_)
    for number, index in enumerate(where.tolist()):
        if not is_digit[index]:
            words = text.line(index).split()
            needs_look[number] = not (len(words) > 2 and _numeric_share(words[1:]) >= 0.8)
    plain = np.where(is_digit, ~has_word, ~needs_look[inverse])
    return np.flatnonzero(after_blank | ~plain)
