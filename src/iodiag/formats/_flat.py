"""A capture that was pasted onto one line, laid out again: header, rows, and what is around them."""

from __future__ import annotations

import re

from iodiag.formats._types import Layout
from iodiag.formats._walk import layout_of

_START = re.compile(r"(?<!\S)(?:r\s+b\s+(?:w\s+)?swpd|Device:?\s|avg-cpu:\s)")
_NUMBER = re.compile(r"-?\d[\d.,]*[kMGT%]?")
_DECORATION = re.compile(r"(?<!\S)-*procs\b")
_MOST_WORDS = 40


def unflatten(text: str) -> list[str]:
    """The lines that a long line once was; the line itself when it holds no table."""
    lines: list[str] = []
    rest = text
    while (match := _START.search(rest)) is not None:
        words = rest[match.start() :].split(None, _MOST_WORDS)
        size = _header_size(tuple(words[:_MOST_WORDS]))
        layout = layout_of(tuple(words[:size])) if size else None
        if layout is None:
            break
        before = rest[: match.start()]
        decoration = _DECORATION.search(before)
        lines += [before[: decoration.start()], before[decoration.start() :]] if decoration else [before]
        rows, rest = _rows(rest[match.start() :].split(None, size), layout, size)
        lines += [" ".join(words[:size]), *rows]
        if not rows:
            break
    if not lines:
        return [text]
    return [*(line for line in lines if line.strip()), *([rest] if rest.strip() else [])]


def _header_size(words: tuple[str, ...]) -> int:
    """How many leading words make the longest header that a format knows."""
    end = next((i for i, word in enumerate(words) if _NUMBER.fullmatch(word)), len(words))
    return next((size for size in range(end, 2, -1) if layout_of(words[:size])), 0)


def _rows(parts: list[str], layout: Layout, size: int) -> tuple[list[str], str]:
    """As many rows as follow the header, and the text behind them."""
    rest = parts[size] if len(parts) > size else ""
    has_key = layout.key is not None
    width = len(layout.columns) + has_key
    rows: list[str] = []
    while rest:
        cells = rest.split(None, width)
        row = cells[:width]
        if len(row) < width or not all(_NUMBER.fullmatch(cell) for cell in row[has_key:]):
            break
        rows.append(" ".join(row))
        rest = cells[width] if len(cells) > width else ""
    return rows, rest
