"""free(1) of procps: memory and swap in use.

free does not print its unit: only sizes with a suffix (`-h`), in bytes (`-b`: all are whole pages), or too
large for anything but the default of kB, are kept as sizes; the shares need no unit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import Values, fact, size_kb
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_HEADER = r"^\s*total\s+used\s+free(?:\s+(?:shared|buffers|buff/cache|cache|cached|available)){0,6}\s*$"
_ROW = r"^\s*(?P<name>Mem|Swap|Total|Low|High|-/\+ buffers/cache):\s+(?P<cells>\S.*)$"
_CELL = r"\d[\d.,]{0,18}[KMGTPBE]?i?"
_PAGE = 4096
_LEAST_KB = 65_536.0
"""No Linux that runs iostat has less memory: a smaller total was printed in MB or GB."""


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    words = lines[0].text.split()
    rows: dict[str, list[str]] = {}
    own = [lines[0]]
    for line in lines[1:8]:
        match = re.match(_ROW, line.text)
        cells = match["cells"].split() if match else []
        if not match or not all(re.fullmatch(_CELL, cell) for cell in cells):
            break
        rows[match["name"]] = cells
        own.append(line)
    if "Mem" not in rows:
        return None
    is_bytes = all(cell.isdigit() and int(cell) % _PAGE == 0 for cell in rows["Mem"])
    unit = "B" if is_bytes else "K"
    memory = dict(zip(words, _sizes(rows["Mem"], unit), strict=False))
    swap = dict(zip(words, _sizes(rows.get("Swap", []), unit), strict=False))
    unit_known = rows["Mem"][0][-1].isalpha() or memory.get("total", 0.0) >= _LEAST_KB
    values: Values = {
        "available_pct": _share(memory.get("available"), memory.get("total")),
        "swap_used_pct": _share(swap.get("used"), swap.get("total")),
    }
    if unit_known:
        values |= {
            "memory_kb": memory.get("total"),
            "available_kb": memory.get("available"),
            "swap_kb": swap.get("total"),
            "swap_used_kb": swap.get("used"),
        }
    spoken = {"available_pct": "of memory was available", "swap_used_pct": "of swap was in use"}
    said = [f"{values[key]:g} % {words}" for key, words in spoken.items() if values[key] is not None]
    text = " and ".join(said) or "memory without available and swap"
    return ContextBlock(len(own), facts=(fact("free", text, values, source, own),), layout="free")


def _sizes(cells: Sequence[str], unit: str) -> list[float]:
    return [size if (size := size_kb(cell.rstrip("i"), unit)) is not None else float("nan") for cell in cells]


def _share(part: float | None, whole: float | None) -> float | None:
    return round(100 * part / whole, 1) if part is not None and whole else None


FORMAT = ContextFormat(
    id="free",
    title="free: memory and swap in use",
    example=(
        "              total        used        free      shared  buff/cache   available\n"
        "Mem:        8052320     1234567      345678       12345     6472075     6500000\n"
        "Swap:       2097148      102400     1994748\n"
    ),
    starts=re.compile(_HEADER),
    read=_read,
    releases="procps 2 to 4",
    not_read="sizes of a free whose unit nothing tells",
)
