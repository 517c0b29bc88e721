"""filefrag(8) of e2fsprogs: into how many extents files are broken.

The extents of `filefrag -v` are passed over: its own summary line says how many there are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import MAX_BLOCK_LINES, Values, fact
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_SUMMARY = (
    r"^\s*(?P<file>/.{0,400}|\S{1,400}): (?P<extents>\d{1,12}) extents? found"
    r"(?:, perfection would be \d{1,12} extents?)?\s*$"
)
_SIZE = r"^\s*File size of (?P<file>.{1,400}) is (?P<size>\d{1,20}) \((?P<blocks>\d{1,18}) blocks?[ ,].*$"
_VERBOSE = (
    r"^\s*(?:Filesystem type is:|Filesystem cylinder groups|Blocksize of file|ext:?\s+logical|ext logical|"
    r"\d+:?\s+\d+(?:\.\.\s*\d+)?:?\s+\d+|Discontinuity|First block:|Last block:|Fiemap)"
)


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    extents: dict[str, int] = {}
    sizes: dict[str, float] = {}
    own: list[Line] = []
    used = 0
    for at, line in enumerate(lines[:MAX_BLOCK_LINES]):
        summary, size = re.match(_SUMMARY, line.text), re.match(_SIZE, line.text)
        if summary:
            extents[summary["file"]] = int(summary["extents"])
            own.append(line)
        elif size:
            sizes[size["file"]] = float(size["size"]) / 1024
            own.append(line)
        elif not re.match(_VERBOSE, line.text):
            break
        used = at + 1
    if not extents:
        return None
    worst = max(extents, key=lambda name: extents[name])
    sized = [name for name in extents if name in sizes and extents[name]]
    mean = sum(sizes[name] for name in sized) / sum(extents[name] for name in sized) if sized else None
    values: Values = {
        "files": len(extents),
        "extents": sum(extents.values()),
        "worst_file": worst,
        "worst_extents": extents[worst],
        "mean_extent_kb": round(mean, 1) if mean is not None else None,
    }
    text = f"{{worst_file}} lay in {extents[worst]} extents"
    text += f", {len(extents)} files in {sum(extents.values())}" if len(extents) > 1 else ""
    return ContextBlock(used, facts=(fact("filefrag", text, values, source, own),), layout="filefrag")


FORMAT = ContextFormat(
    id="filefrag",
    title="filefrag: extents of files",
    example="/var/lib/mysql/ibdata1: 90 extents found\n",
    starts=re.compile(
        r": \d{1,12} extents? found(?:, perfection|\s*$)|^\s*Filesystem type is: [0-9a-f]+|^\s*File size of "
    ),
    read=_read,
    releases="e2fsprogs 1.40 and later",
)
