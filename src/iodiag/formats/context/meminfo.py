"""/proc/meminfo, whole or in part (`grep -e Dirty -e Writeback`), once or again and again.

Of a series the largest values are kept: how much data waited to be written is what counts. A clock may
stand in front of each sample.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.clock import parse_line
from iodiag.formats.context._common import Values, fact, solid
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_ROW = r"^\s*(?P<key>[A-Z][A-Za-z0-9_()]{1,30}):\s+(?P<value>\d{1,18})(?: kB)?\s*$"
_WORDS = """
MemTotal=memory MemFree=free MemAvailable=available Cached=cached Dirty=dirty Writeback=writeback
SwapTotal=swap SwapFree=swap_free SwapCached=swap_cached
"""
_KEPT = {key: f"{name}_kb" for key, name in (pair.split("=") for pair in _WORDS.split())}
_SMALLEST = ("free_kb", "available_kb", "swap_free_kb")


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    series: dict[str, list[float]] = {}
    own: list[Line] = []
    used = 0
    for at, line in solid(lines):
        match = re.match(_ROW, line.text)
        if match:
            used = at
            if match["key"] in _KEPT:
                series.setdefault(_KEPT[match["key"]], []).append(float(match["value"]))
                own.append(line)
        elif parse_line(line.text.strip().lstrip("= ")) is None:
            break
    if len(own) < 2:
        return None
    worst: Values = {key: min(values) if key in _SMALLEST else max(values) for key, values in series.items()}
    samples = max(len(values) for values in series.values())
    said = "at most" if samples > 1 else ""
    parts = [f"{said} {worst[key]:g} kB {word}".strip() for key, word in _SPOKEN.items() if key in worst]
    text = "memory: " + ", ".join(parts or [f"{key} {value}" for key, value in worst.items()][:3])
    evidence = fact("meminfo", text, {**worst, "samples": samples}, source, own)
    return ContextBlock(used, facts=(evidence,), layout="meminfo")


_SPOKEN = {"dirty_kb": "dirty", "writeback_kb": "under writeback"}

FORMAT = ContextFormat(
    id="meminfo",
    title="/proc/meminfo: memory, dirty pages, swap",
    example="Dirty:             74896 kB\nWriteback:         11932 kB\n",
    starts=re.compile(
        r"^\s*(?:MemTotal|MemFree|MemAvailable|Dirty|Writeback|SwapTotal|SwapCached|Cached):\s+\d+ kB\s*$"
    ),
    read=_read,
    releases="Linux 2.6 and later",
    not_read="keys that have no bearing on storage",
)
