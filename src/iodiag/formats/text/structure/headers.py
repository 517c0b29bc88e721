"""Header lines: the clock or label in front of a row of words, and the Layout that knows the words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from iodiag.formats import clock as _clock
from iodiag.formats import table_formats
from iodiag.formats.clock import Clock
from iodiag.formats.types import Layout

NUMBER = re.compile(r"[-+]?\d[\d.,]*[kKMGTPBs%]?", re.ASCII)
SHARE_OF = 100
"""Of so many words, the first of a line, the share of numbers is taken."""

_MOST_WORDS = 2000


class Header(NamedTuple):
    """A header line: its Layout, and the tokens in front of its words.

    `lead_tokens` are the clock of sar (`12:24:01 PM`: 2) or, where `is_label`, the word that stands for
    it above averages. `clock` is None without one.
    """

    layout: Layout
    lead_tokens: int = 0
    clock: Clock | None = None
    is_label: bool = False


def find_header(words: Sequence[str]) -> Header | None:
    """What the words of a line head, or None."""
    words = _without_marks(words)
    if not words or len(words) > _MOST_WORDS or (NUMBER.fullmatch(words[-1]) and words[0] != "r"):
        return None
    if words[0][0].isdigit():
        return _after_clock(words)
    layout = layout_of(words)
    # without a clock only a line of nothing but known words is sar's: prose knows some of them, too
    is_whole = layout is not None and not (layout.unknown or layout.is_cut) and len(words) > 1
    if layout is not None and (is_whole or layout.clock != "row"):
        return Header(layout)
    for size in label_sizes(words):
        layout = layout_of(words[size:])
        if layout is not None and layout.clock == "row":
            return Header(layout, size, is_label=True)
    return None


def _after_clock(words: tuple[str, ...]) -> Header | None:
    seconds, taken = _clock.leading_time(words)
    layout = layout_of(words[taken:]) if 0 < taken < len(words) else None
    if layout is None or layout.clock != "row":
        return None
    return Header(layout, taken, Clock(seconds=seconds, has_am_pm=taken == 2))


def label_sizes(words: Sequence[str]) -> list[int]:
    """How many leading words may be a label such as `Average:`, `Moyenne :` or `Trung bình:`."""
    return [size for size in (1, 2, 3) if len(words) > size and words[size - 1][-1] in ":："]


def _without_marks(words: Sequence[str]) -> tuple[str, ...]:
    """The words without what marks a line, and without a comment behind them: `*`, `->`, `<-- here`, `…`."""
    is_word = [any(map(str.isalnum, word)) for word in words[:_MOST_WORDS]]
    first = next((n for n, is_known in enumerate(is_word) if is_known), len(is_word))
    last = next((n for n in range(first, len(is_word)) if not is_word[n]), len(words))
    return tuple(words[first:last])


@lru_cache(maxsize=4096)
def layout_of(words: tuple[str, ...]) -> Layout | None:
    """The Layout of a header's words, from the first format that owns it."""
    found = next((layout for fmt in table_formats() if (layout := fmt.layout(words))), None)
    return _without_twins(found) if found and len(set(words)) < len(words) else found


def _without_twins(layout: Layout) -> Layout | None:
    """The Layout without columns whose name stands twice: one of them was another, nothing tells which.

    None where no column is left.
    What a tool itself calls alike (`total` of reads and of writes) are columns of different names here.
    """
    counts = Counter(layout.columns)
    twins = [column for column, count in counts.items() if column.column is not None and count > 1]
    if not twins:
        return layout
    if all(column in twins or column.column is None for column in layout.columns):
        return None
    words = tuple(column.raw for column in twins)
    return layout._replace(
        columns=tuple(c._replace(column=None) if c in twins else c for c in layout.columns),
        unknown=(*layout.unknown, *words),
        remark=f"columns of one name are left out, nothing tells which is which: {', '.join(words)}",
    )


def with_right_half(left: tuple[str, ...], words: Sequence[str]) -> Layout | None:
    """The Layout of a header whose right half, no header by itself, stands below rows of the left one.

    None where the words do not go on with those of the left: nobody knows them, or they repeat a column.
    """
    whole, above = layout_of((*left, *words)), layout_of(left)
    if whole is None or above is None or len(whole.columns) != len(above.columns) + len(words):
        return None
    kept = [(column.family, column.column) for column in whole.columns if column.column is not None]
    is_odd = len(whole.unknown) > len(above.unknown) or whole.is_cut or len(set(kept)) < len(kept)
    return None if is_odd else whole


def is_number(word: str) -> bool:
    """Whether a word looks like a printed value, suffixes included."""
    return word[0] in "-+0123456789" and bool(NUMBER.fullmatch(word))


def numeric_share(words: Sequence[str]) -> float:
    """The share of a line's words (of the first hundred) that look like values."""
    some = words[:SHARE_OF]
    return sum(map(is_number, some)) / len(some)
