"""dmsetup(8): `table`, `status`, `ls`, `ls --tree`, `deps`, `info` and `info -c`.

A table line is `name: start length target arguments` (kernel, Documentation/admin-guide/
device-mapper): its members are `major:minor`, its lengths and chunks sectors of 512 bytes.
The metadata devices of a raid target are no members; they are the first of each pair.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from iodiag.formats.context._common import (
    MAX_BLOCK_LINES,
    bare_name,
    describe,
    device_numbers,
    fact,
    integer,
    level_of,
    origin,
    volume_aliases,
)
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact
from iodiag.model.units import KB_PER_SECTOR

_TARGETS = (
    "linear|striped|raid|mirror|crypt|thin-pool|thin|cache|writecache|snapshot-merge|snapshot-origin|"
    "snapshot|multipath|delay|flakey|error|zero|verity|integrity|era|clone|log-writes|vdo|ebs|dust|switch"
)
_SEGMENT = (
    rf"^\s*(?P<name>[^\s:]{{1,128}}):\s+(?P<start>\d{{1,20}}) (?P<length>\d{{1,20}}) (?P<target>{_TARGETS})"
    r"(?: (?P<rest>.*))?$"
)
_NODE = (
    r"^(?P<art>[\s│├└─|`-]*+)(?P<name>[A-Za-z0-9][^\s()<>]{0,127})?\s*(?:<(?P<node>[\w!-]+)>\s*)?"
    r"\((?:(?P<major>\d{1,4})(?::|, ?)(?P<minor>\d{1,7})|(?P<block>dm-\d{1,7}))\)\s*$"
)
_DEPS = r"^\s*(?P<name>[^\s:]{1,128}):\s+\d{1,4} dependenc(?:ies|y)\s*:\s*(?P<rest>\(.*)$"
_INFO_HEAD = r"^\s*Name\s+Maj\s+Min\b[\w\s#%]*$"
_INFO_ROW = r"^\s*(?P<name>[^\s:]{1,128})\s+(?P<major>\d{1,4})\s+(?P<minor>\d{1,7})(?P<rest>\s.*)?$"
_INFO_LONG = r"^\s*Name:\s+(\S{1,128})\s*$"
_INFO_PAIR = (
    r"^\s*(State|Read Ahead|Tables present|Open count|Event number|Major, minor|Number of targets|UUID|"
    r"Suspended):\s*(.*)$"
)
_MIN_MAJOR = 230
"""Device-mapper's major is assigned from 254 down, or above 383: less is a time of day or a verse."""
_NUMBERS = r"\b\d{1,4}:\d{1,7}\b"


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    first = lines[0].text
    if re.match(_SEGMENT, first):
        return _read_segments(lines, source)
    if re.match(_DEPS, first):
        return _read_each(lines, source, "deps")
    if re.match(_INFO_HEAD, first):
        block = _read_each(lines[1:], source, "info")
        return ContextBlock(block.used + 1, block.devices, layout="info") if block else None
    if re.match(_INFO_LONG, first):
        return _read_info(lines, source)
    return _read_tree(lines, source)


class _Mapping(NamedTuple):
    """What the target of one segment says."""

    level: str | None
    members: tuple[str, ...] = ()
    chunk_sectors: int | None = None
    slots: int | None = None
    active: int | None = None
    copies: int | None = None
    activity: str | None = None
    health: str = ""


def _read_segments(lines: Sequence[Line], source: str) -> ContextBlock:
    segments: dict[str, list[tuple[re.Match[str], Line]]] = {}
    used = 0
    for line in lines[:MAX_BLOCK_LINES]:
        match = re.match(_SEGMENT, line.text)
        if not match:
            break
        segments.setdefault(match["name"], []).append((match, line))
        used += 1
    devices = []
    facts: list[Fact] = []
    numbers = _numbers_of_legs({name: parts[0][0] for name, parts in segments.items()})
    for name, parts in segments.items():
        mappings = [_mapping(match["target"], (match["rest"] or "").split()) for match, _ in parts]
        levels = {mapping.level for mapping in mappings}
        first, line = mappings[0], parts[0][1]
        level = "linear" if levels == {"linear", "striped"} else first.level if len(levels) == 1 else None
        devices.append(
            describe(
                name,
                origin("dmsetup", source, line),
                [*volume_aliases(name), *numbers.get(name, ())],
                kind=parts[0][0]["target"] if parts[0][0]["target"] in ("crypt", "multipath") else "dm",
                level=level,
                chunk_kb=first.chunk_sectors * KB_PER_SECTOR if first.chunk_sectors else None,
                copies=first.copies,
                members=tuple(dict.fromkeys(m for mapping in mappings for m in mapping.members)),
                slots=first.slots,
                active_slots=first.active,
                activity=first.activity,
                size_kb=sum(int(match["length"]) for match, _ in parts) * KB_PER_SECTOR,
            )
        )
        if first.health:
            facts.append(_health_fact(name, first, source, line))
    return ContextBlock(used, tuple(devices), tuple(facts), layout="table")


def _numbers_of_legs(firsts: Mapping[str, re.Match[str]]) -> dict[str, tuple[str, ...]]:
    """The numbers of LVM's sub-volumes: the k-th leg of x is x_rimage_k (x_mimage_k of a mirror)."""
    found: dict[str, tuple[str, ...]] = {}
    for name, match in firsts.items():
        legs = _mapping(match["target"], (match["rest"] or "").split()).members
        suffix = {"raid": "rimage", "mirror": "mimage"}.get(match["target"], "")
        for number, leg in enumerate(legs if suffix else ()):
            if (leg_name := f"{name}_{suffix}_{number}") in firsts:
                found[leg_name] = (leg, f"dm-{leg.partition(':')[2]}")
    return found


def _mapping(target: str, words: Sequence[str]) -> _Mapping:
    if target == "raid":
        is_status = len(words) > 2 and re.fullmatch(r"[AaD-]{1,512}", words[2])
        return _raid_status(words) if is_status else _raid_table(words)
    members = tuple(word for word in words if re.fullmatch(_NUMBERS, word))
    if target == "striped":
        return _Mapping(
            "striped", members, integer(words[1]) if len(words) > 1 else None, len(members) or None
        )
    if target == "mirror":
        return _mirror(words, members)
    if target == "thin-pool":
        return _Mapping("thin-pool", members[1:2] or members)
    if target == "cache":
        return _Mapping("cache", members[1:])
    if target in ("snapshot-merge", "snapshot"):
        return _Mapping("snapshot", members)
    return _Mapping(level_of(target) or target, members)


def _raid_table(words: Sequence[str]) -> _Mapping:
    """`raid5_ls 3 128 region_size 4096 4 252:0 252:1 …`: type, parameters, pairs of devices."""
    level = level_of(words[0]) if words else None
    count = integer(words[1]) if len(words) > 1 else None
    if count is None:
        return _Mapping(level)
    parameters = words[2 : 2 + count]
    pairs = words[3 + count :]
    legs = tuple(word for word in pairs[1::2] if re.fullmatch(_NUMBERS, word))
    copies = 2 if level == "raid10" else len(pairs) // 2 if level == "raid1" else None
    for key, value in pairwise(parameters):
        copies = integer(value) if key == "raid10_copies" else copies
    chunk = integer(parameters[0]) if parameters and level != "raid1" else None
    return _Mapping(level, legs, chunk, slots=len(pairs) // 2 or None, copies=copies)


def _raid_status(words: Sequence[str]) -> _Mapping:
    """`raid5_ls 4 AAAA 4194304/4194304 idle 0 0 -`: A in sync, a rebuilding, D dead, - missing."""
    health = words[2]
    done = re.fullmatch(r"(\d{1,20})/(\d{1,20})", words[3]) if len(words) > 3 else None
    action = words[4] if len(words) > 4 else ""
    activity = None
    if action in ("resync", "recover", "check", "repair", "reshape") and done and int(done[2]):
        name = {"recover": "recovery"}.get(action, action)
        activity = f"{name} {100 * int(done[1]) / int(done[2]):.1f}%"
    return _Mapping(
        level_of(words[0]), slots=len(health), active=health.count("A"), activity=activity, health=health
    )


def _mirror(words: Sequence[str], members: tuple[str, ...]) -> _Mapping:
    """The legs of `core 1 1024 2 253:1 0 253:2 0`; a log on disk comes before them."""
    count = integer(words[1]) if len(words) > 1 and words[0] in ("core", "disk", "clustered-core") else None
    if count is not None and len(words) > 2 + count:
        members = tuple(word for word in words[3 + count :] if re.fullmatch(_NUMBERS, word))
    return _Mapping("raid1", members, slots=len(members) or None, copies=len(members) or None)


def _health_fact(name: str, mapping: _Mapping, source: str, line: Line) -> Fact:
    text = f"{{device}} had {mapping.active} of {mapping.slots} legs in sync ({mapping.health})"
    slots = {"slots": mapping.slots, "active_slots": mapping.active}
    values = {"device": name, "health": mapping.health, **slots, "activity": mapping.activity}
    return fact("dmsetup", text, values, source, [line])


def _read_each(lines: Sequence[Line], source: str, layout: str) -> ContextBlock | None:
    """Lines that describe one device each: of `deps`, and the rows of `info -c`."""
    devices = []
    for line in lines[:MAX_BLOCK_LINES]:
        match = re.match(_DEPS if layout == "deps" else _INFO_ROW, line.text)
        if not match:
            break
        name, stated = match["name"], origin("dmsetup", source, line)
        if layout == "deps":
            members = re.findall(r"\((?:(\d{1,4})[,:] ?(\d{1,7})|([\w!-]+))\)", match["rest"])
            below = tuple(node or f"{major}:{minor}" for major, minor, node in members)
            devices.append(describe(name, stated, volume_aliases(name), kind="dm", members=below))
        else:
            aliases = [*device_numbers(match["major"], match["minor"], True), *volume_aliases(name)]
            kind = _kind_of_uuid((match["rest"] or "").split(" ")[-1])
            devices.append(describe(name, stated, aliases, kind=kind))
    return ContextBlock(len(devices), tuple(devices), layout=layout) if devices else None


def _kind_of_uuid(uuid: str) -> str:
    kinds = {"LVM": "lvm", "CRYPT": "crypt", "mpath": "multipath"}
    return kinds.get(uuid.partition("-")[0], "dm")


def _read_info(lines: Sequence[Line], source: str) -> ContextBlock | None:
    devices = []
    used = 0
    at = 0
    while at < len(lines) and (head := re.match(_INFO_LONG, lines[at].text)):
        values: dict[str, str] = {}
        stated = origin("dmsetup", source, lines[at])
        at += 1
        while at < len(lines) and (pair := re.match(_INFO_PAIR, lines[at].text)):
            values[pair[1]] = pair[2]
            at += 1
        numbers = re.fullmatch(r"(\d{1,4}), (\d{1,7})\s*", values.get("Major, minor", ""))
        if not numbers:
            break
        used = at
        aliases = [*device_numbers(numbers[1], numbers[2], True), *volume_aliases(head[1])]
        devices.append(describe(head[1], stated, aliases, kind=_kind_of_uuid(values.get("UUID", ""))))
        while at < len(lines) and not lines[at].text.strip():
            at += 1
    return ContextBlock(used, tuple(devices), layout="info") if devices else None


class _Node(NamedTuple):
    name: str
    aliases: tuple[str, ...]
    is_mapped: bool
    depth: int
    line: Line


def _read_tree(lines: Sequence[Line], source: str) -> ContextBlock | None:
    nodes = list(_nodes(lines))
    if not nodes or (len(nodes) == 1 and not nodes[0].is_mapped):
        return None
    is_inverse = not nodes[0].is_mapped
    members: dict[str, list[str]] = {}
    path: list[_Node] = []
    for node in nodes:
        while path and path[-1].depth >= node.depth:
            path.pop()
        if path:
            upper, lower = (node, path[-1]) if is_inverse else (path[-1], node)
            members.setdefault(upper.name, []).append(lower.name)
        path.append(node)
    named = {node.name: node for node in reversed(nodes) if node.is_mapped}
    devices = tuple(
        describe(
            name,
            origin("dmsetup", source, node.line),
            [*node.aliases, *volume_aliases(name)],
            kind="dm",
            members=tuple(dict.fromkeys(members.get(name, ()))),
        )
        for name, node in reversed(named.items())
    )
    return ContextBlock(len(nodes), devices, layout="tree" if members else "ls")


def _nodes(lines: Sequence[Line]) -> Iterator[_Node]:
    for line in lines[:MAX_BLOCK_LINES]:
        match = re.match(_NODE, line.text)
        if not match or (match["name"] and int(match["major"] or _MIN_MAJOR) < _MIN_MAJOR):
            return
        numbers = f"{match['major']}:{match['minor']}" if match["major"] else ""
        node = bare_name(match["node"] or match["block"] or "")
        aliases = device_numbers(match["major"], match["minor"], bool(match["name"])) if numbers else ()
        name = match["name"] or numbers or node
        yield _Node(name, (*aliases, node), bool(match["name"]), len(match["art"]), line)


FORMAT = ContextFormat(
    id="dmsetup",
    title="dmsetup: device-mapper tables, status and tree",
    example=(
        "vg0-data: 0 12582912 raid raid5_ls 3 128 region_size 4096 3 252:0 252:1 252:2 252:3 252:4 252:5\n"
        "vg0-data_rimage_0: 0 4194304 linear 8:0 10240\n"
    ),
    starts=re.compile(
        rf"^\s*\S{{1,128}}:\s+\d{{1,20}} \d{{1,20}} (?:{_TARGETS})\b"
        r"|^\s*\S{1,128}:\s+\d{1,4} dependenc(?:ies|y)\s*:|^\s*Name\s+Maj\s+Min\b|^\s*Name:\s+\S{1,128}\s*$"
        r"|^\s*[A-Za-z0-9][^\s()]{0,127}\s+(?:<[\w!-]+>\s*)?\((?:\d{1,4}(?::|, ?)\d{1,7}|dm-\d{1,7})\)\s*$"
        r"|^\s*(?:<[\w!-]+>\s*)?\(\d{1,4}:\d{1,7}\)\s*$"
    ),
    read=_read,
    releases="libdevmapper 1.02 and later",
    not_read="a table without the device's name in front; ls --tree -o compact",
)
