"""What the formats of a disk's own counters share: whose they are, and the device and fact made of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from iodiag.formats.context._common import Values, bare_name, describe, fact, origin
from iodiag.formats.types import ContextBlock, Line
from iodiag.model.health_counters import sentence

_IN_PATH = (
    r"(?:[._/-]|^)(?P<name>sd[a-z]{1,3}|hd[a-z]|nvme\d{1,4}(?:n\d{1,4})?)"
    r"(?:_-j)?(?:\.(?:txt|log|out|json))?(?:\.(?:gz|xz|bz2|zst))?$"
)
_MOST = 1 << 32
_WHERE = {
    "health": r"overall-health|Health Status|\"passed\"",
    "failing_attributes": r"FAILING_NOW|\bNOW\b|\"now\"",
    "critical_warning": r"(?i:critical[ _]warning)",
    "pending_sectors": r"_Pending_Sector",
    "uncorrectable_sectors": r"Offline_Uncorrectable",
}
"""Where a disk states each reason why it fails."""


def disk_name(path: str) -> str:
    """The name that samples have for a disk: that of an NVMe controller becomes its first namespace's."""
    name = bare_name(path)
    return f"{name}n1" if re.fullmatch(r"nvme\d{1,4}", name) else name


def disk_of(command: str, source: str) -> str:
    """The disk that a command names behind /dev/, else the name of its file; "" where neither does."""
    named = re.findall(r"/dev/(\S{1,100}[\w])", command[:400])
    in_path = re.search(_IN_PATH, source)
    return disk_name(named[-1]) if named else disk_name(in_path["name"]) if in_path else ""


def counter(text: str | float | None) -> float | None:
    """The number that a value begins with, its commas left out; None where it packs several into one."""
    match = re.match(r"\s*(\d{1,15}(?:,\d{3}){0,5})(?![\d.]*[a-z]*/)", str(text))
    value = float(match[1].replace(",", "")) if match else _MOST
    return value if value < _MOST else None


def _telling(lines: Sequence[Line], values: Mapping[str, float | str]) -> Sequence[Line]:
    """The lines that say that a disk fails; all of them where none does."""
    wanted = [pattern for name, pattern in _WHERE.items() if values.get(name)]
    return [line for line in lines if wanted and re.search("|".join(wanted), line.text)] or lines


def health_block(
    kind: str,
    source: str,
    disk: str,
    counters: Values,
    known: Mapping[str, Any],
    lines: Sequence[Line],
    behind: str = "",
) -> ContextBlock | None:
    """A block of one disk: its device where it is named and not `behind` a controller, and its fact."""
    values = {name: value for name, value in counters.items() if value is not None}
    if not values and not any(known.values()):
        return None
    named = ("{device}" if disk else "a disk") + (f" ({behind})" if behind else "")
    device = describe(disk, origin(kind, source, lines[0]), **known) if disk and not behind else None
    whose: Values = {"device": disk or None, "behind": behind or None}
    found = fact(kind, sentence(named, values), whose | values, source, _telling(lines, values))
    return ContextBlock(len(lines), (device,) if device else (), (found,), layout=kind)
