"""Which block device stands on which, and what is known of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, reduce
from graphlib import CycleError, TopologicalSorter
from typing import Any

PARITY_LEVELS = {"raid4": 1, "raid5": 1, "raid6": 2}
"""RAID levels with parity, and how many members' worth of it they hold."""


MISALIGNED = -1.0
"""An alignment that is off by nobody knows how much, as the kernel has it of stacked devices."""


@dataclass(frozen=True)
class Device:
    """One block device. A field that nothing tells stays None (or empty).

    `name` is the kernel's (sda, md0, dm-8) where known. `aliases` are the other names it goes
    by: the LV's name, `dev252-8`, `252:8`. `members` are the devices it stands on directly:
    the legs of an array, the disk below a partition or a linear volume. `kind` is one of
    disk, partition, md, lvm, dm, multipath, crypt, loop, swap, other. `level` is raid0, raid1,
    raid4, raid5, raid6, raid10, linear, striped, thin, cache, snapshot, crypt, … `alignment` is by how many
    bytes it misses a boundary of the physical sectors (or of the chunks) below it: 0 where it begins on one,
    `MISALIGNED` where only that it misses one is known. `provenance`
    says where each field came from: "lsblk capture.txt:12", or "inferred: …".
    """

    name: str
    aliases: tuple[str, ...] = ()
    kind: str | None = None
    level: str | None = None
    chunk_kb: float | None = None
    copies: int | None = None
    members: tuple[str, ...] = ()
    slots: int | None = None
    active_slots: int | None = None
    activity: str | None = None
    rotational: bool | None = None
    scheduler: str | None = None
    nr_requests: int | None = None
    read_ahead_kb: float | None = None
    write_cache: str | None = None
    size_kb: float | None = None
    alignment: float | None = None
    model: str | None = None
    transport: str | None = None
    mountpoints: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)

    @property
    def parity_members(self) -> int:
        """How many members' worth of parity a stripe holds: 1 for RAID5, 2 for RAID6, else 0."""
        return PARITY_LEVELS.get(self.level or "", 0)

    @property
    def is_inferred(self) -> bool:
        """Whether some of what is said here was concluded, not stated."""
        return any(origin.startswith("inferred") for origin in self.provenance.values())


def device_names(name: str) -> tuple[str, ...]:
    """Other spellings of a printed device name: without /dev/, with ! for /, of an LV.

    `vg0/data`, `/dev/vg0/data`, `/dev/mapper/vg0-data` and `vg0-data` are one device;
    device-mapper doubles a hyphen that belongs to the name. `dev8-16`, `8:16` and `sdb` are one
    as well: the numbers of sd and md devices are fixed (the kernel's devices.txt).
    """
    bare = name.removeprefix("/dev/").removeprefix("mapper/").replace("!", "/").strip("[]")
    spellings = [bare]
    if bare.count("/") == 1 and not re.match(r"(cciss|rd|ida|md|disk|nvd)/", bare):
        group, volume = bare.split("/")
        spellings.append(f"{group.replace('-', '--')}-{volume.replace('-', '--')}")
    numbers = re.fullmatch(r"dev(\d{1,4})-(\d{1,7})", bare) or re.fullmatch(r"(\d{1,4}):(\d{1,7})", bare)
    if numbers:
        major, minor = int(numbers[1]), int(numbers[2])
        spellings += [f"{major}:{minor}", f"dev{major}-{minor}"]
        spellings += [fixed] if (fixed := _fixed_name(major, minor)) else []
    return tuple(dict.fromkeys(spellings))


_SD_MAJORS = (8, *range(65, 72), *range(128, 136))


def _fixed_name(major: int, minor: int) -> str:
    """The name behind device numbers that the kernel never assigns otherwise, or ""."""
    if major == 9:
        return f"md{minor}"
    if major not in _SD_MAJORS or minor > 255:
        return ""
    disk, partition = divmod(_SD_MAJORS.index(major) * 256 + minor, 16)
    letters = ""
    while disk >= 0:
        disk, letter = divmod(disk, 26)
        letters = chr(ord("a") + letter) + letters
        disk -= 1
    return f"sd{letters}{partition or ''}"


@dataclass(frozen=True)
class DeviceTopology:
    """All devices known of one host (or of one input), by canonical name."""

    devices: Mapping[str, Device] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Device]:
        return iter(self.devices.values())

    def __bool__(self) -> bool:
        return bool(self.devices)

    def find(self, name: str) -> Device | None:
        """The device that goes by `name`, whichever alias that is."""
        for spelling in device_names(name):
            if spelling in self.devices:
                return self.devices[spelling]
        found = [self._by_alias[s] for s in device_names(name) if s in self._by_alias]
        return self.devices[min(found)[1]] if found else None

    @cached_property
    def _by_alias(self) -> Mapping[str, tuple[int, str]]:
        """The first device that goes by each alias: its place and its name."""
        found: dict[str, tuple[int, str]] = {}
        for place, (name, device) in enumerate(self.devices.items()):
            for alias in device.aliases:
                found.setdefault(alias, (place, name))
        return found

    @cached_property
    def _parents(self) -> Mapping[str, tuple[Device, ...]]:
        """The devices that stand directly on each one."""
        found: dict[str, dict[str, Device]] = {}
        for name, device in self.devices.items():
            for member in device.members:
                found.setdefault(self.canonical(member), {})[name] = device
        return {name: tuple(devices.values()) for name, devices in found.items()}

    def canonical(self, name: str) -> str:
        """The canonical name of a printed device name; the name itself when nothing is known."""
        device = self.find(name)
        return device.name if device else name

    def members(self, name: str) -> tuple[Device, ...]:
        """The devices that `name` stands on directly, those of them that are known."""
        device = self.find(name)
        found = (self.find(member) for member in (device.members if device else ()))
        return tuple(member for member in found if member)

    def leaves(self, name: str) -> tuple[Device, ...]:
        """The devices at the very bottom below `name`: its disks."""
        device = self.find(name)
        reached = (device, *self.below(name)) if device else ()
        return tuple(each for each in reached if not self.members(each.name))

    def below(self, name: str) -> tuple[Device, ...]:
        """The devices that `name` stands on, directly or not, the nearest first."""
        return self._reached(name, self.members)

    def above(self, name: str) -> tuple[Device, ...]:
        """The devices that stand on `name`, directly or not, the nearest first."""
        return self._reached(name, self.parents)

    def _reached(self, name: str, step: Callable[[str], tuple[Device, ...]]) -> tuple[Device, ...]:
        own = self.canonical(name)
        found: dict[str, Device] = {}
        todo = [*step(name)]
        while todo:
            device = todo.pop(0)
            if device.name not in found and device.name != own:
                found[device.name] = device
                todo += step(device.name)
        return tuple(found.values())

    def parents(self, name: str) -> tuple[Device, ...]:
        """The devices that stand directly on `name`."""
        return self._parents.get(self.canonical(name), ())


def merge(found: Iterable[Device]) -> DeviceTopology:
    """Join what several inputs say of the same devices; the first to state a field wins.

    Two entries are one device when they share a name or an alias. The kernel's own name
    (sda, md0, dm-8, nvme0n1) becomes the canonical one where any input knows it. Of several
    lists of members, one that comes with the number of slots (mdstat, mdadm, a dmsetup table)
    goes before a mere tree, which holds spares too; then one that is a superset of an earlier
    one replaces it (lsblk of a part of the tree). Metadata legs are no members. A member that
    nothing describes becomes a device of its own, so that walking down the tree always ends at
    a known device. Of devices that stand on each other in a circle nothing is believed.
    """
    groups = _groups(found)
    named: dict[str, tuple[set[str], list[Device]]] = {}
    canonical: dict[str, str] = {}
    for names, entries in groups:
        name = min(names, key=_name_rank)
        named[name] = names, entries
        canonical |= dict.fromkeys(names, name)
    devices: dict[str, Device] = {}
    for name, (names, entries) in named.items():
        joined = reduce(_join, entries)
        members, origin = _best_members(entries, canonical, named)
        provenance = dict(joined.provenance) | ({"members": origin} if origin else {})
        devices[name] = replace(
            joined,
            name=name,
            aliases=tuple(sorted(names - {name})),
            members=tuple(member for member in members if member != name),
            provenance=provenance,
        )
    for device in tuple(devices.values()):
        for member in device.members:
            aliases = tuple(alias for alias in device_names(member) if alias != member)
            devices.setdefault(member, Device(member, aliases))
    for name in (circle := _in_circles(devices)):
        members = tuple(member for member in devices[name].members if member not in circle)
        devices[name] = replace(devices[name], members=members)
    return DeviceTopology(devices)


def _in_circles(devices: Mapping[str, Device]) -> set[str]:
    """The devices that stand on themselves by way of others, and those between two such circles."""
    below = {name: device.members for name, device in devices.items()}
    above: dict[str, list[str]] = {name: [] for name in devices}
    for name, members in below.items():
        for member in members:
            above[member].append(name)
    return _never_reached(below) & _never_reached(above)


def _never_reached(needed: Mapping[str, Iterable[str]]) -> set[str]:
    """What is in a circle, or needs what is."""
    sorter = TopologicalSorter(needed)
    with suppress(CycleError):
        sorter.prepare()
    reached: set[str] = set()
    while ready := sorter.get_ready():
        reached.update(ready)
        sorter.done(*ready)
    return needed.keys() - reached


def _groups(found: Iterable[Device]) -> list[tuple[set[str], list[Device]]]:
    """The entries that describe one device each, with all its names, in order of appearance."""
    group_of: dict[str, int] = {}
    groups: dict[int, tuple[set[str], list[Device]]] = {}
    for number, device in enumerate(found):
        names = {s for name in (device.name, *device.aliases) for s in device_names(name)}
        entries: list[Device] = []
        for earlier in sorted({group_of[name] for name in names if name in group_of}):
            known, described = groups.pop(earlier)
            names |= known
            entries += described
        groups[number] = names, [*entries, device]
        group_of |= dict.fromkeys(names, number)
    return list(groups.values())


_METADATA_LEG = re.compile(r"_(rmeta_\d+|mlog|tmeta|cmeta|wmeta|pmspare)$")


def _best_members(
    entries: Iterable[Device],
    canonical: Mapping[str, str],
    named: Mapping[str, tuple[set[str], list[Device]]],
) -> tuple[tuple[str, ...], str]:
    """The members to believe, by canonical names, and where they were stated."""
    best: tuple[str, ...] = ()
    best_origin = ""
    was_aware = False
    for entry in entries:
        members = tuple(dict.fromkeys(_canonical(member, canonical) for member in entry.members))
        members = tuple(m for m in members if not _is_metadata(m, named)) or members
        origin = entry.provenance.get("members", "")
        if not members:
            continue
        is_aware = entry.slots is not None
        is_wider = set(best) < set(members) and is_aware == was_aware
        if not best or is_wider or (is_aware and not was_aware):
            best, best_origin, was_aware = members, origin, is_aware
    return best, best_origin


def _canonical(name: str, canonical: Mapping[str, str]) -> str:
    spellings = device_names(name)
    known = next((canonical[s] for s in spellings if s in canonical), None)
    return known or min(spellings, key=_name_rank)


def _is_metadata(name: str, named: Mapping[str, tuple[set[str], list[Device]]]) -> bool:
    names = named[name][0] if name in named else {name}
    return any(_METADATA_LEG.search(n) for n in names)


_KERNEL_NAME = re.compile(
    r"(sd[a-z]+|hd[a-z]+|vd[a-z]+|xvd[a-z]+|dm-|md_?d?|nvme\d+(c\d+)?n|mmcblk|loop|zram|ram|sr|nbd|"
    r"rbd|drbd|dasd[a-z]+|bcache|pmem|ublkb|zd|emcpower[a-z]+|cciss/c\d+d)\d*(p?\d+)?"
)


def _name_rank(name: str) -> tuple[int, int, str]:
    """Kernel names first, then mapper names, then paths, then numbers."""
    if _KERNEL_NAME.fullmatch(name):
        rank = 0
    elif re.match(r"dev\d+-\d+$|md-uuid-", name):
        rank = 3
    elif re.match(r"\d+:\d+$", name):
        rank = 4
    else:
        rank = 2 if "/" in name else 1
    return rank, len(name), name


_VAGUE = {
    "level": ("dm", "lvm", "raid"),
    "kind": ("dm", "other"),
}
"""Words that a more exact one replaces, whoever came first."""


def _join(first: Device, second: Device) -> Device:
    """One device from two descriptions; `first` was stated earlier and wins."""
    changes: dict[str, Any] = {}
    provenance = dict(second.provenance) | dict(first.provenance)
    for item in fields(Device):
        if item.name in ("name", "aliases", "members", "provenance"):
            continue
        old, new = getattr(first, item.name), getattr(second, item.name)
        is_vague = old in _VAGUE.get(item.name, ())
        if (old in (None, ()) or is_vague) and new not in (None, ()):
            changes[item.name] = new
            if item.name in second.provenance:
                provenance[item.name] = second.provenance[item.name]
    return replace(first, **changes, provenance=provenance)
