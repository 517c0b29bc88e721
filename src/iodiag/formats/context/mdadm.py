"""mdadm(8): `--detail` of arrays, `--examine` of their members, and `--scan` lines, releases 2 to 4.

`--detail` knows the kernel's name of an array, `--examine` only its UUID: both give the alias
`md-uuid-…` that udev uses, so that one is found with the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from iodiag.formats.context._common import (
    bare_name,
    describe,
    device_numbers,
    fact,
    integer,
    level_of,
    origin,
    parse_number,
    size_kb,
)
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact
from iodiag.model.topology import Device

_PATH = r"^\s*(/dev/[\w/.:+!-]+):\s*$"
_PAIR = r"^\s*([A-Z][A-Za-z0-9 /()-]{1,40}?)\s*:\s(.*)$"
_MEMBER = (
    r"^\s*(?:this\s+|\d+\s+(?=\d+\s+\d+\s+\d+\s+\d+\s))?(?P<number>\d{1,6}|-)\s+(?P<major>\d{1,4})\s+"
    r"(?P<minor>\d{1,7})\s+(?P<slot>\d{1,6}|-)\s+(?P<state>[A-Za-z][A-Za-z, -]*?)\s*(?P<path>/dev/\S+)?\s*$"
)
_TABLE = r"^\s*Number\s+Major\s+Minor\s+RaidDevice\s+State\s*$"
_SCAN = r"^\s*ARRAY\s+(?P<path>/dev/\S+|<ignore>)(?P<rest>(?:\s+[\w-]+=\S+)+)\s*$"
_SECTION_LINES = 600


class _Section(NamedTuple):
    """What mdadm says of one /dev/… : its named values and the rows of its table of members."""

    name: str
    values: dict[str, str]
    members: list[re.Match[str]]
    line: Line


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    if re.match(_SCAN, lines[0].text):
        return _read_scan(lines, source)
    sections: list[_Section] = []
    used = 0
    while used < len(lines):
        blank = next((i for i, line in enumerate(lines[used : used + 4]) if line.text.strip()), 0)
        section, taken = _section(lines[used + blank : used + blank + _SECTION_LINES])
        if section is None:
            break
        sections.append(section)
        used += blank + taken
    details = [s for s in sections if "Raid Level" in s.values and "Magic" not in s.values]
    examined = [s for s in sections if "Magic" in s.values and "Raid Level" in s.values]
    if not details and not examined:
        return None
    devices = [device for section in details for device in _array(section, source)]
    devices += _examined_arrays(examined, source)
    facts = tuple(_fact(section, source) for section in details)
    return ContextBlock(used, tuple(devices), facts, layout="detail" if details else "examine")


def _section(lines: Sequence[Line]) -> tuple[_Section | None, int]:
    path = re.match(_PATH, lines[0].text) if lines else None
    if not path:
        return None, 0
    section = _Section(bare_name(path[1]), {}, [], lines[0])
    used = 1
    for at, line in enumerate(lines[1:], 1):
        member, pair = re.match(_MEMBER, line.text), re.match(_PAIR, line.text)
        if member:
            section.members.append(member)
        elif pair:
            section.values.setdefault(pair[1], pair[2].strip())
        elif not re.match(_TABLE, line.text):
            if line.text.strip():
                break
            continue
        used = at + 1
    is_mdadm = {"Raid Level", "Magic", "Raid Devices"} & set(section.values)
    return (section, used) if is_mdadm else (None, 0)


def _uuid_alias(values: dict[str, str]) -> str:
    uuid = (values.get("UUID") or values.get("Array UUID") or "").split()
    return f"md-uuid-{uuid[0]}" if uuid else ""


def _copies(values: dict[str, str]) -> int | None:
    level = level_of(values.get("Raid Level", ""))
    if level == "raid1":
        return integer(values.get("Raid Devices"))
    copies = re.findall(r"(?:near|far|offset)=(\d{1,4})", values.get("Layout", ""))
    return prod(map(int, copies)) if copies else None


def _activity(values: dict[str, str]) -> str | None:
    names = {"Rebuild": "recovery", "Resync": "resync", "Check": "check", "Reshape": "reshape"}
    for word, name in names.items():
        share = re.match(r"(\d{1,3})% complete", values.get(f"{word} Status", ""))
        if share:
            return f"{name} {share[1]}%"
    return None


def _slots(section: _Section) -> list[re.Match[str]]:
    """The rows of the devices that hold a slot and its data (or have it rebuilt), by slot."""
    held = [m for m in section.members if m["slot"] != "-" and re.search(r"active|rebuilding", m["state"])]
    return sorted(held, key=lambda member: int(member["slot"]))


def _member_name(member: re.Match[str]) -> str:
    return bare_name(member["path"]) if member["path"] else f"{member['major']}:{member['minor']}"


def _array(section: _Section, source: str) -> list[Device]:
    """The array and, for the sake of their numbers, its members."""
    values = section.values
    stated = origin("mdadm", source, section.line)
    array = describe(
        section.name,
        stated,
        [_uuid_alias(values)],
        kind="md",
        level=level_of(values.get("Raid Level", "")),
        chunk_kb=size_kb(values.get("Chunk Size")),
        copies=_copies(values),
        members=tuple(dict.fromkeys(_member_name(member) for member in _slots(section))),
        slots=integer(values.get("Raid Devices")),
        active_slots=integer(values.get("Active Devices")),
        activity=_activity(values),
        size_kb=parse_number(values.get("Array Size", "").split(" ")[0]),
    )
    members = [
        describe(bare_name(m["path"]), stated, device_numbers(m["major"], m["minor"]))
        for m in section.members
        if m["path"]
    ]
    return [array, *members]


def _examined_arrays(sections: Iterable[_Section], source: str) -> list[Device]:
    """The arrays whose members were examined; a single member says nothing of the others."""
    of_array: dict[str, list[_Section]] = {}
    for section in sections:
        of_array.setdefault(_uuid_alias(section.values), []).append(section)
    found = []
    for alias, members in of_array.items():
        values = members[0].values
        minor = integer(values.get("Preferred Minor"))
        legs = {slot: s.name for s in members if (slot := _examined_slot(s)) is not None}
        name = f"md{minor}" if minor is not None else alias
        if not name:
            continue
        found.append(
            describe(
                name,
                origin("mdadm", source, members[0].line),
                [alias],
                kind="md",
                level=level_of(values.get("Raid Level", "")),
                chunk_kb=size_kb(values.get("Chunk Size")),
                copies=_copies(values),
                members=tuple(legs[slot] for slot in sorted(legs)) if len(legs) > 1 else (),
                slots=integer(values.get("Raid Devices")),
            )
        )
    return found


def _examined_slot(section: _Section) -> int | None:
    role = re.search(r"Active device (\d{1,6})", section.values.get("Device Role", ""))
    if role:
        return int(role[1])
    own = next((m for m in section.members if m.string.lstrip().startswith("this")), None)
    return integer(own["slot"]) if own and "active" in own["state"] else None


def _fact(section: _Section, source: str) -> Fact:
    values = section.values
    slots, active = integer(values.get("Raid Devices")), integer(values.get("Active Devices"))
    state = values.get("State", "")
    said = f"{{array}} was {state or 'in an unknown state'}"
    if slots is not None and active is not None:
        said += f", {active} of {slots} members active"
    return fact(
        "mdadm",
        said,
        {
            "array": section.name,
            "state": state or None,
            "level": level_of(values.get("Raid Level", "")),
            "slots": slots,
            "active_slots": active,
            "failed_members": integer(values.get("Failed Devices")),
            "spare_members": integer(values.get("Spare Devices")),
            "activity": _activity(values),
        },
        source,
        [section.line],
    )


def _read_scan(lines: Sequence[Line], source: str) -> ContextBlock:
    devices = []
    used = 0
    for line in lines:
        match = re.match(_SCAN, line.text)
        more = re.match(r"^\s+devices=(\S+)\s*$", line.text)
        if match:
            values = dict(pair.split("=", 1) for pair in match["rest"].split())
            name = bare_name(match["path"])
        elif not more:
            break
        members = more[1] if more else values.get("devices", "")
        uuid = values.get("UUID")
        devices.append(
            describe(
                name,
                origin("mdadm", source, line),
                [f"md-uuid-{uuid}" if uuid else ""],
                kind="md",
                level=level_of(values.get("level", "")),
                members=tuple(bare_name(path) for path in members.split(",") if path),
                slots=integer(values.get("num-devices")),
            )
        )
        used += 1
    return ContextBlock(used, tuple(devices), layout="scan")


FORMAT = ContextFormat(
    id="mdadm",
    title="mdadm --detail and --examine: geometry and state of md arrays",
    example=(
        "/dev/md0:\n"
        "        Raid Level : raid10\n"
        "      Raid Devices : 2\n"
        "             State : clean\n"
        "    Active Devices : 2\n"
        "            Layout : near=2\n"
        "        Chunk Size : 512K\n"
        "\n"
        "    Number   Major   Minor   RaidDevice State\n"
        "       0       8        0        0      active sync   /dev/sda\n"
        "       1       8       16        1      active sync   /dev/sdb\n"
    ),
    starts=re.compile(rf"{_PATH}|{_SCAN}"),
    read=_read,
    releases="mdadm 2 to 4",
    not_read="foreign metadata (IMSM, DDF) under --examine",
)
