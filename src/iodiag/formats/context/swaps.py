"""/proc/swaps, `swapon -s` and `swapon --show`: where swap lies and how much of it is in use."""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import bare_name, describe, fact, origin, size_kb
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_HEADER = r"^\s*(?:Filename\s+Type\s+Size\s+Used\s+Priority|NAME\s+TYPE\s+SIZE\s+USED\s+PRIO)\s*$"
_ROW = (
    r"^\s*(?P<name>/\S+)(?: \(deleted\))?\s+(?P<type>partition|file)\s+(?P<size>\d[\d.]{0,15}[KMGTP]?B?)\s+"
    r"(?P<used>\d[\d.]{0,15}[KMGTP]?B?)\s+(?P<priority>-?\d{1,6})\s*$"
)


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    rows = []
    for line in lines[1:500]:
        match = re.match(_ROW, line.text)
        if not match:
            break
        rows.append((match, line))
    if not rows:
        return None
    # /proc/swaps counts in kB without saying so; swapon --show says B, K, M, G
    used = [size_kb(match["used"], "K") or 0.0 for match, _ in rows]
    sizes = [size_kb(match["size"], "K") or 0.0 for match, _ in rows]
    names = [bare_name(match["name"]) for match, _ in rows]
    devices = tuple(
        describe(name, origin("swaps", source, line), mountpoints=("[SWAP]",))
        for name, (match, line) in zip(names, rows, strict=True)
        if match["name"].startswith("/dev/")
    )
    share = round(100 * sum(used) / sum(sizes), 1) if sum(sizes) else None
    text = f"{share or 0:g} % of the swap on {{devices,}} was in use"
    values = {
        "areas": len(rows),
        "size_kb": sum(sizes),
        "used_kb": sum(used),
        "used_pct": share,
        "devices": " ".join(names),
    }
    evidence = fact("swaps", text, values, source, [line for _, line in rows])
    return ContextBlock(len(rows) + 1, devices, (evidence,), layout="swaps")


FORMAT = ContextFormat(
    id="swaps",
    title="/proc/swaps: where swap lies and how full it is",
    example=(
        "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
        "/dev/sda2                               partition\t4194300\t\t336384\t\t-2\n"
    ),
    starts=re.compile(_HEADER),
    read=_read,
    releases="Linux 2.4 and later",
)
