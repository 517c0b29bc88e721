"""Text as vmstat prints it, from numbers."""

from __future__ import annotations

from collections.abc import Sequence

WORDS = {
    "2.4": "r b w swpd free buff cache si so bi bo in cs us sy id",
    "2.5": "r b swpd free buff cache si so bi bo in cs us sy id wa",
    "3.0": "r b swpd free buff cache si so bi bo in cs us sy id wa st",
    "4.0": "r b swpd free buff cache si so bi bo in cs us sy id wa st gu",
    "-a": "r b swpd free inact active si so bi bo in cs us sy id wa st",
}
_DECORATION = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----"


def write(
    rows: Sequence[Sequence[int]],
    words: Sequence[str],
    every: int = 20,
    clocks: Sequence[str] = (),
    zone: str = "",
) -> tuple[str, list[int]]:
    """The text of some rows, its header again after `every` of them, and the line of each row."""
    lines: list[str] = []
    stands: list[int] = []
    for number, row in enumerate(rows):
        if number % every == 0:
            tail = f" {zone:>19}" if zone else ""
            lines += [_DECORATION, " ".join(f"{word:>6}" for word in words) + tail]
        tail = f" {clocks[number]}" if clocks else ""
        lines.append(" ".join(f"{cell:>6}" for cell in row) + tail)
        stands.append(len(lines))
    return "\n".join(lines) + "\n", stands
