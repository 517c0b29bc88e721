"""/sys/block/*/inflight: requests that were handed to a device and not answered yet, reads and writes.

Read is what cat, head and grep print of it: a path, or a command with one, and a line of two numbers for
each device. Of a pattern (`nvme*`) the lines do not say which device each is of. Where a device comes again
another look begins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import Values, fact, solid
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact

_PATH = r"/sys/(?:class/)?block/(?P<device>[\w!.*?\[\]-]{1,64})"
_WILDCARDS = frozenset("*?[")
_COUNTS = r"\s*(?P<reads>\d{1,9})\s+(?P<writes>\d{1,9})\s*$"
_GREPPED = rf"^\s*{_PATH}/inflight:{_COUNTS}"
_HEADING = rf"^(?:.{{0,120}}\b(?:cat|head|tail)\s+|\s*==>\s*|\s*){_PATH}(?P<file>/inflight)?(?:\s*<==)?\s*$"


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    found: dict[str, list[tuple[Line, int, int]]] = {}
    device, used = "", 0
    for at, line in solid(lines):
        counts = re.match(_GREPPED, line.text) or (device and re.match(f"^{_COUNTS}", line.text))
        heading = re.match(_HEADING, line.text)
        if counts:
            name = counts.groupdict().get("device") or device
            if name in found and _WILDCARDS.isdisjoint(name):
                break
            found.setdefault(name, []).append((line, int(counts["reads"]), int(counts["writes"])))
            device, used = "" if _WILDCARDS.isdisjoint(device) else device, at
        elif heading:
            device = heading["device"]
        else:
            break
    facts = tuple(_fact(name.replace("!", "/"), rows, source) for name, rows in found.items())
    return ContextBlock(used, facts=facts, layout="inflight") if facts else None


def _fact(device: str, rows: Sequence[tuple[Line, int, int]], source: str) -> Fact:
    """The requests of a device, or of all those that a pattern stands for."""
    values: Values = {"device": device, "devices": len(rows)}
    values |= {"reads": sum(reads for _, reads, _ in rows), "writes": sum(writes for *_, writes in rows)}
    text = "{device} held {reads} reads and {writes} writes in flight"
    return fact("inflight", text, values, source, [line for line, *_ in rows])


FORMAT = ContextFormat(
    id="inflight",
    title="/sys/block/*/inflight: requests handed to a device and not answered yet",
    example=("/sys/block/md0/inflight:       0       52\n/sys/block/sda/inflight:       0        0\n"),
    starts=re.compile(rf"{_PATH}/inflight\b"),
    read=_read,
    releases="Linux 2.6.32 and later",
    not_read="which device each line of a pattern is of",
)
