"""The words of iostat's headers and JSON keys: direction, unit, quantity."""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.formats.types import LayoutColumn
from iodiag.model.units import KB_PER_GB, KB_PER_MB, KB_PER_SECTOR

DIRECTION = {"r": "read", "w": "write", "d": "discard", "f": "flush"}
UNIT = {"sec": KB_PER_SECTOR, "Blk": KB_PER_SECTOR, "kB": 1.0, "KB": 1.0, "MB": KB_PER_MB, "GB": KB_PER_GB}
_PLAIN = {"read": "read", "wrtn": "write", "dscd": "discard"}

CPU_WORDS = {
    "%user": "user_pct",
    "%usr": "user_pct",
    "%nice": "nice_pct",
    "%sys": "system_pct",
    "%system": "system_pct",
    "%iowait": "iowait_pct",
    "%steal": "steal_pct",
    "%idle": "idle_pct",
}

_FIXED = {
    "tps": ("ios_per_s", 1.0),
    "rqm/s": ("merges_per_s", 1.0),
    "avgrq-sz": ("request_size_kb", KB_PER_SECTOR),
    "areq-sz": ("request_size_kb", 1.0),
    "avgrq": ("request_size_kb", KB_PER_SECTOR),  # as a page that lacks room shortens it
    "avgqu-sz": ("queue_depth", 1.0),
    "avgqu": ("queue_depth", 1.0),
    "aqu-sz": ("queue_depth", 1.0),
    "await": ("await_ms", 1.0),
    "svctm": ("svctm_ms", 1.0),
    "%util": ("util_pct", 1.0),
}


def _of_directions() -> Iterator[LayoutColumn]:
    for letter, direction in DIRECTION.items():
        count = "flushes_per_s" if direction == "flush" else f"{direction}s_per_s"
        yield LayoutColumn(f"{letter}/s", count, 1.0, "disk")
        yield LayoutColumn(f"{letter}rqm/s", f"{direction}_merges_per_s", 1.0, "disk")
        yield LayoutColumn(f"%{letter}rqm", f"{direction}_merges_pct", 1.0, "disk")
        yield LayoutColumn(f"{letter}_await", f"{direction}_await_ms", 1.0, "disk")
        yield LayoutColumn(f"{letter}areq-sz", f"{direction}_request_size_kb", 1.0, "disk", is_size=True)
        for unit, factor in UNIT.items():
            yield LayoutColumn(f"{letter}{unit}/s", f"{direction}_kb_per_s", factor, "disk", is_size=True)


def _of_plain_reports() -> Iterator[LayoutColumn]:
    for unit, factor in UNIT.items():
        yield LayoutColumn(f"{unit}/s", "kb_per_s", factor, "disk", is_size=True)
        for word, direction in _PLAIN.items():
            yield LayoutColumn(f"{unit}_{word}/s", f"{direction}_kb_per_s", factor, "disk", is_size=True)
            yield LayoutColumn(f"{unit}_{word}", f"{direction}_kb", factor, "disk", is_size=True)
        # writes and discards added up: neither, so it is known and not kept
        for word in (f"{unit}_w+d/s", f"{unit}_w+d"):
            yield LayoutColumn(word, None, factor, "disk", is_size=True)


_COLUMNS = {
    column.raw: column
    for column in (
        *(
            LayoutColumn(word, name, factor, "disk", is_size=name == "request_size_kb")
            for word, (name, factor) in _FIXED.items()
        ),
        *_of_directions(),
        *_of_plain_reports(),
    )
}


def column_of(word: str) -> LayoutColumn | None:
    """The canonical column of a word in iostat's device header, or None when it is not one."""
    return _COLUMNS.get(word)


def is_cut_word(word: str) -> bool:
    """Whether a word is the beginning of a column's name, as a cut right margin leaves it."""
    return word not in _COLUMNS and any(whole.startswith(word) for whole in _COLUMNS)
