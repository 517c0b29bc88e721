"""What readers of whole files share: their lines, a class for each, and the text around."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from iodiag.formats.text.clean.lines import without_nuls
from iodiag.formats.text.ledger import solid_lines
from iodiag.formats.text.reader import read_text
from iodiag.formats.text.structure.blocks import CLASS, UNSEEN, Classes
from iodiag.formats.types import Item
from iodiag.model.capture import LINE_CLASSES, Ledger, ParseNote, Source
from iodiag.table.table import Bools, Floats, Ints

_QUOTE = re.compile(rb"^(?:>[ \t]?)++", re.MULTILINE)
_MOST_NOTES = 200


def undress(data: bytes) -> bytes:
    """The same lines without the NUL bytes of 11.5.7, carriage returns and the quoting of mail."""
    data = without_nuls(data) if b"\0" in data else data
    data = data.replace(b"\r", b"") if b"\r" in data else data
    return _QUOTE.sub(b"", data) if data.startswith(b">") or b"\n>" in data else data


def line_starts(data: bytes) -> Ints:
    """The offset of every line's first byte."""
    breaks = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 10) + 1
    starts: Ints = np.concatenate(([0], breaks)).astype(np.int64)
    return starts[:-1] if len(starts) > 1 and starts[-1] == len(data) else starts


def unseen(count: int) -> Classes:
    """A class code per line of an input, all of them open."""
    return np.full(count, UNSEEN, dtype=np.uint8)


LOST_POINT = "numbers without decimals where their columns have them: left out"


def lost_points(tables: Sequence[tuple[Floats, Bools]]) -> list[Bools]:
    """Which numbers of each table were printed without the decimals that their column has.

    Each table is its numbers as printed (rows x columns), and which of them had no decimals. sysstat prints a
    fixed number of them. Other programs that write its numbers again drop zeros; where one is left, none was.
    """
    if not any((~is_whole & (numbers % 1 == 0)).any() for numbers, is_whole in tables):
        return [np.zeros_like(is_whole) for _, is_whole in tables]
    return [is_whole & (2 * is_whole.sum(axis=0) <= len(is_whole)) for _, is_whole in tables]


_STRONGER = ("header", "banner", "clock", "unread", "row")


def mark_lines(
    classes: Classes, reasons: dict[int, str], starts: Ints, marks: Sequence[tuple[int, int, int]]
) -> None:
    """Class the lines of JSON by (class, first offset, last offset); the stronger holds on a shared line."""
    if not marks:
        return
    table = np.array(marks, dtype=np.int64)
    first = np.searchsorted(starts, table[:, 1], "right") - 1
    last = np.searchsorted(starts, table[:, 2], "right") - 1
    for name in _STRONGER:
        chosen = table[:, 0] == CLASS[name]
        # +1 where a mark begins and -1 behind its end: the running sum is above 0 inside marks
        steps = np.bincount(first[chosen], minlength=len(classes) + 1)
        steps = steps - np.bincount(last[chosen] + 1, minlength=len(classes) + 1)
        classes[np.cumsum(steps)[: len(classes)] > 0] = CLASS[name]
    # one line may hold good rows and the damage as well
    is_unread = table[:, 0] == CLASS["unread"]
    for one, other in zip(first[is_unread].tolist(), last[is_unread].tolist(), strict=True):
        reasons.update(dict.fromkeys(range(one, other + 1), "damaged JSON; the object is left out"))


def account(source: Source, classes: Classes, reasons: dict[int, str]) -> Iterator[Item]:
    """What stands between a format's own lines, read as text; notes; and the ledger of all lines.

    `classes` has a code of LINE_CLASSES per line, UNSEEN for lines that are not the format's;
    `reasons` says of unread lines (0-based) what is wrong with them.
    """
    counts, listed = _counts(source, classes), 0
    lines = source.data.split(b"\n")
    # a last line that is nothing but quoting has no class of its own
    is_open = np.ones(len(lines), dtype=np.bool_)
    is_open[: len(classes)] = classes == UNSEEN
    if is_open.any():
        rest = b"\n".join(line if is_open[i] else b"" for i, line in enumerate(lines))
        if rest.strip(b" \t\r\n\0"):
            for item in read_text(Source(source.name, rest + b"\n", folder=source.folder)):
                if isinstance(item, Ledger):
                    counts = {name: counts.get(name, 0) + item.counts.get(name, 0) for name in LINE_CLASSES}
                    listed = item.listed
                else:
                    yield item
    numbers = sorted(reasons)
    for number in numbers[:_MOST_NOTES]:
        yield ParseNote(
            source.name, number + 1, reasons[number], source.quote(number + 1)[:200], is_unread=True
        )
    if len(numbers) > _MOST_NOTES:
        more = len(numbers) - _MOST_NOTES
        yield ParseNote(
            source.name, numbers[_MOST_NOTES] + 1, f"{more} further lines not understood", "", more, True
        )
    yield Ledger(source.name, {name: count for name, count in counts.items() if count}, listed)


def _counts(source: Source, classes: Classes) -> dict[str, int]:
    """How many of the format's own lines fell into each class; blank ones are not counted."""
    if not source.data:
        return {}
    is_kept = solid_lines(source.data)[: len(classes)] & (classes != UNSEEN)
    counts = np.bincount(classes[is_kept], minlength=len(LINE_CLASSES))
    return {name: int(counts[code]) for name, code in CLASS.items()}
