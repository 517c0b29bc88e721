"""Headers that name an item, first or last, and columns that are all known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from iodiag.formats.types import Layout, LayoutColumn


def layout_of_items(
    words: tuple[str, ...],
    names: Sequence[str],
    column_of: Callable[[str], LayoutColumn | None],
    shape: Layout,
) -> Layout | None:
    """The `shape` with the columns of a header in which one of `names` heads the items; else None."""
    is_last = words[-1] in names
    if not (is_last or words[0] in names) or len(words) < 2:
        return None
    columns = [column_of(word) for word in (words[:-1] if is_last else words[1:])]
    known = tuple(column for column in columns if column is not None)
    if len(known) < len(columns):
        return None
    return shape._replace(
        columns=known, key_at="last" if is_last else "first", clock="line", place=max(shape.place, 0)
    )
