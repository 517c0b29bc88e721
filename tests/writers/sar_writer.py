"""Text as sar prints it, from numbers: clocks, headers, averages, live or from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Section:
    """A section: its words, where its item stands, and the samples: (clock, item, numbers)."""

    words: tuple[str, ...]
    samples: tuple[tuple[str, str, tuple[float, ...]], ...]
    key: str = ""
    is_last: bool = False
    average: str = ""


def clock(seconds: int, is_american: bool = False) -> str:
    """A time of day as the locale prints it."""
    hour, minute, second = seconds // 3600 % 24, seconds // 60 % 60, seconds % 60
    if not is_american:
        return f"{hour:02}:{minute:02}:{second:02}"
    return f"{(hour + 11) % 12 + 1:02}:{minute:02}:{second:02} {'AM' if hour < 12 else 'PM'}"


def write(
    sections: Sequence[Section], began: str, banner: str = "", decimal: str = "."
) -> tuple[str, list[list[int]]]:
    """The text of a file's sections one after the other, and the line of each section's samples."""
    lines = [banner] if banner else []
    stands: list[list[int]] = []
    for section in sections:
        lines += ["", _line(began, section, section.key, section.words)]
        places = []
        for time, item, numbers in section.samples:
            lines.append(_line(time, section, item, [f"{n:.2f}".replace(".", decimal) for n in numbers]))
            places.append(len(lines))
        if section.average:
            last = section.samples[-1]
            cells = [f"{n:.2f}".replace(".", decimal) for n in last[2]]
            lines.append(_line(section.average, section, last[1], cells))
        stands.append(places)
    return "\n".join(lines) + "\n", stands


def _line(lead: str, section: Section, item: str, cells: Sequence[str]) -> str:
    name = f" {item:>9}" if section.key else ""
    row = "".join(f" {cell:>9}" for cell in cells)
    return f"{lead:<11}{row}{name}" if section.is_last else f"{lead:<11}{name}{row}"
