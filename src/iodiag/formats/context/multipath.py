"""multipath(8) -ll of device-mapper-multipath: which paths make up a LUN, and their state.

Both the tree of 0.4.9 and later (`size=100G features=…`, `|-+- policy=…`) and the older one with
brackets (`[size=100G][features=0]`, `\\_ round-robin 0 [active]`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from iodiag.formats.context._common import describe, device_numbers, fact, origin, size_kb
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact
from iodiag.model.topology import Device

_MAP = (
    r"^\s*(?:(?:reload|create|unchanged): )?(?P<name>[\w.:-]{2,128})(?: \((?P<wwid>[\w.:-]{6,128})\))?"
    r"\s+dm-(?P<minor>\d{1,7})\s+(?P<model>\S.{0,60}?)\s*$"
)
_SIZE = r"^\s*\[?size=\s?(?P<size>[\d.]{1,12}\s?[KMGTP]?)\b"
_GROUP = r"^[\s|`\\_+-]*(?:policy='|(?:round-robin|queue-length|service-time)\s\d+)"
_PATH = (
    r"^[\s|`\\_+-]*(?:\d+:\d+:\d+:\d+|#:#:#:#)\s+(?P<name>[\w!-]{1,64})\s+(?P<major>\d{1,4}):(?P<minor>\d{1,7})\s+"
    r"(?P<state>\S.*?)\s*$"
)


class _Map(NamedTuple):
    head: re.Match[str]
    line: Line
    sizes: list[float]
    paths: list[re.Match[str]]


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    maps: list[_Map] = []
    used = 0
    for at, line in enumerate(lines[:5_000]):
        head, path, size = re.match(_MAP, line.text), re.match(_PATH, line.text), re.match(_SIZE, line.text)
        if path and maps:
            maps[-1].paths.append(path)
        elif size and maps:
            maps[-1].sizes.append(size_kb(size["size"].replace(" ", "")) or 0.0)
        elif head and (at + 1 < len(lines) and re.match(_SIZE, lines[at + 1].text)):
            maps.append(_Map(head, line, [], []))
        elif not (maps and re.match(_GROUP, line.text)):
            break
        used = at + 1
    if not any(found.paths for found in maps):
        return None
    devices = [device for found in maps for device in _devices(found, source)]
    return ContextBlock(used, tuple(devices), tuple(_fact(m, source) for m in maps), layout="multipath")


def _devices(found: _Map, source: str) -> list[Device]:
    """The map and, for their numbers, its paths."""
    stated = origin("multipath", source, found.line)
    whole = describe(
        found.head["name"],
        stated,
        [f"dm-{found.head['minor']}", found.head["wwid"] or ""],
        kind="multipath",
        level="multipath",
        members=tuple(dict.fromkeys(path["name"] for path in found.paths)),
        size_kb=found.sizes[0] if found.sizes else None,
        model=found.head["model"],
    )
    paths = [
        describe(path["name"], stated, device_numbers(path["major"], path["minor"])) for path in found.paths
    ]
    return [whole, *paths]


def _fact(found: _Map, source: str) -> Fact:
    failed = [p["name"] for p in found.paths if re.search(r"\b(?:failed|faulty|offline|shaky)\b", p["state"])]
    name = found.head["name"]
    text = f"{{device}} had {len(found.paths)} paths, {len(failed)} of them failed"
    values = {
        "device": name,
        "paths": len(found.paths),
        "failed_paths": len(failed),
        "failed": " ".join(failed) or None,
    }
    return fact("multipath", text, values, source, [found.line])


FORMAT = ContextFormat(
    id="multipath",
    title="multipath -ll: LUNs and their paths",
    example=(
        "mpatha (360a98000572d5765636f69746a6d4e75) dm-3 NETAPP,LUN\n"
        "size=100G features='0' hwhandler='0' wp=rw\n"
        "`-+- policy='round-robin 0' prio=50 status=active\n"
        "  |- 1:0:0:1 sdb 8:16 active ready running\n"
        "  `- 2:0:0:1 sdc 8:32 active ready running\n"
    ),
    starts=re.compile(r"^.{2,290}\bdm-\d{1,7}\s+\S{1,40},\S?.{0,60}$"),
    read=_read,
    releases="multipath-tools 0.4.7 and later",
    not_read="-v3 and its log lines",
)
