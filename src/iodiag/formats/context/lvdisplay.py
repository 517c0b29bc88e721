"""lvdisplay and `vgdisplay -v` of LVM2: logical volumes in the long form, with -m their segments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from iodiag.formats.context._common import (
    MAX_BLOCK_LINES,
    bare_name,
    describe,
    device_numbers,
    integer,
    level_of,
    mapper_name,
    origin,
    size_kb,
)
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.topology import Device

_HEADING = r"^\s*--- (?P<what>Logical volume|Volume group|Physical volumes?|Segments) ---\s*$"
_SEGMENT = r"^\s*Logical extents? (?:\d+ to \d+|\d+):?\s*$"
_PAIR = r"^\s*(?P<key>[A-Za-z][\w #/-]{0,40}?)(?:  +|\t+)(?P<value>\S.*?)\s*$"
_OTHER = r"^\s*(?:- currently set to\s.*|LV Creation host.*|# open\s.*|(?:Stripe|Mirror) \d+:)\s*$"
_PATH = r"^/dev/(?P<group>[^/\s]+)/(?P<volume>[^/\s]+)$"


class _Volume(NamedTuple):
    values: dict[str, str]
    legs: list[str]
    types: list[str]
    line: Line


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    """The volumes of a listing; behind a blank line only a new heading or segment goes on with it."""
    volumes: list[_Volume] = []
    is_volume = False
    used = at = 0
    for at, line in enumerate(lines[:MAX_BLOCK_LINES]):
        heading, pair = re.match(_HEADING, line.text), re.match(_PAIR, line.text)
        if heading:
            is_volume = heading["what"] in ("Logical volume", "Segments")
            if heading["what"] == "Logical volume":
                volumes.append(_Volume({}, [], [], line))
        elif pair and at == used:
            if is_volume and volumes:
                _take(volumes[-1], pair["key"].strip(), pair["value"])
        elif line.text.strip() and not (
            at and (re.match(_SEGMENT, line.text) or re.match(_OTHER, line.text))
        ):
            break
        if line.text.strip():
            used = at + 1
        elif at - used > 2:
            break
    devices = tuple(device for volume in volumes if (device := _device(volume, source)))
    return ContextBlock(used, devices, layout="lvdisplay") if devices else None


def _take(volume: _Volume, key: str, value: str) -> None:
    if key == "Type":
        volume.types.append(value)
    elif key in ("Physical volume", "Raid Data LV 0") or re.match(r"(?:Raid Data LV|Logical volume)\b", key):
        volume.legs.append(value)
    else:
        volume.values.setdefault(key, value)


def _device(volume: _Volume, source: str) -> Device | None:
    values = volume.values
    path = re.match(_PATH, values.get("LV Path", "") or values.get("LV Name", ""))
    group = values.get("VG Name", "") or (path["group"] if path else "")
    name = path["volume"] if path else values.get("LV Name", "")
    if not group or not name:
        return None
    numbers = re.fullmatch(r"(\d{1,4}):(\d{1,7})", values.get("Block device", ""))
    levels = {level_of(word) for word in volume.types}
    level = levels.pop() if len(levels) == 1 else None
    legs = [bare_name(leg) if leg.startswith("/dev/") else mapper_name(group, leg) for leg in volume.legs]
    stripes = integer(values.get("Stripes", "")) or len(set(legs)) or None
    return describe(
        mapper_name(group, name),
        origin("lvdisplay", source, volume.line),
        [f"{group}/{name}", *(device_numbers(numbers[1], numbers[2], True) if numbers else ())],
        kind="lvm",
        level=level,
        chunk_kb=size_kb(re.sub(r"\s", "", values.get("Stripe size", ""))) if level != "linear" else None,
        members=tuple(dict.fromkeys(legs)),
        slots=stripes if level not in (None, "linear") else None,
        copies=stripes if level == "raid1" else None,
        size_kb=size_kb(re.sub(r"\s", "", values.get("LV Size", ""))),
    )


FORMAT = ContextFormat(
    id="lvdisplay",
    title="lvdisplay: logical volumes in the long form",
    example=(
        "  --- Logical volume ---\n"
        "  LV Path                /dev/vg0/data\n"
        "  LV Name                data\n"
        "  VG Name                vg0\n"
        "  LV Size                6.00 GiB\n"
        "  Block device           253:8\n"
    ),
    starts=re.compile(r"^\s*--- (?:Logical volume|Volume group) ---\s*$"),
    read=_read,
    releases="LVM2 2.02 and later",
    not_read="--columns, which is lvs",
)
