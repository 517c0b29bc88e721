"""Which block device stands on which, and what is known of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

PARITY_LEVELS = {"raid4": 1, "raid5": 1, "raid6": 2}
"""RAID levels with parity, and how many members' worth of it they hold."""


@dataclass(frozen=True)
class Device:
    """One block device. A field that nothing tells stays None (or empty).

    `name` is the kernel's (sda, md0, dm-8) where known. `aliases` are the other names it goes
    by: the LV's name, `dev252-8`, `252:8`. `members` are the devices it stands on directly:
    the legs of an array, the disk below a partition or a linear volume. `kind` is one of
    disk, partition, md, lvm, dm, multipath, crypt, loop, swap, other. `level` is raid0, raid1,
    raid4, raid5, raid6, raid10, linear, striped, thin, cache, snapshot, crypt, … `provenance`
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
    logical_block_bytes: int | None = None
    size_kb: float | None = None
    model: str | None = None
    mountpoints: tuple[str, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)

    @property
    def parity_members(self) -> int:
        """How many members' worth of parity a stripe holds: 1 for RAID5, 2 for RAID6, else 0."""
        return PARITY_LEVELS.get(self.level or "", 0)

    @property
    def is_inferred(self) -> bool:
        return any(origin.startswith("inferred") for origin in self.provenance.values())


def device_names(name: str) -> tuple[str, ...]:
    """Other spellings of a printed device name: without /dev/, with ! for /, of an LV.

    `vg0/data`, `/dev/vg0/data`, `/dev/mapper/vg0-data` and `vg0-data` are one device;
    device-mapper doubles a hyphen that belongs to the name.
    """
    bare = name.removeprefix("/dev/").removeprefix("mapper/").replace("!", "/").strip("[]")
    spellings = [bare]
    if bare.count("/") == 1 and not re.match(r"(cciss|rd|ida|md|disk)/", bare):
        group, volume = bare.split("/")
        spellings.append(f"{group.replace('-', '--')}-{volume.replace('-', '--')}")
    numbers = re.fullmatch(r"dev(\d+)-(\d+)", bare)
    if numbers:
        spellings.append(f"{numbers[1]}:{numbers[2]}")
    numbers = re.fullmatch(r"(\d+):(\d+)", bare)
    if numbers:
        spellings.append(f"dev{numbers[1]}-{numbers[2]}")
    return tuple(dict.fromkeys(spellings))


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
        wanted = set(device_names(name))
        for device in self.devices.values():
            if wanted.intersection(device.aliases):
                return device
        return None

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
        seen: dict[str, Device] = {}
        todo = [device] if (device := self.find(name)) else []
        visited = set()
        while todo:
            device = todo.pop(0)
            if device.name in visited:
                continue
            visited.add(device.name)
            below = self.members(device.name)
            if below:
                todo.extend(below)
            else:
                seen.setdefault(device.name, device)
        return tuple(seen.values())

    def parents(self, name: str) -> tuple[Device, ...]:
        """The devices that stand directly on `name`."""
        wanted = self.canonical(name)
        return tuple(
            device
            for device in self.devices.values()
            if any(self.canonical(member) == wanted for member in device.members)
        )


def merge(found: Iterable[Device]) -> DeviceTopology:
    """Join what several inputs say of the same devices; the first to state a field wins.

    Two entries are one device when they share a name or an alias. The kernel's own name
    (sda, md0, dm-8, nvme0n1) becomes the canonical one where any input knows it. A list of
    members that is a superset of an earlier one replaces it (lsblk of a part of the tree).
    """
    groups: list[tuple[set[str], Device]] = []
    for device in found:
        names = {s for name in (device.name, *device.aliases) for s in device_names(name)}
        joined = device
        rest: list[tuple[set[str], Device]] = []
        for known, other in groups:
            if known & names:
                names |= known
                joined = _join(other, joined)
            else:
                rest.append((known, other))
        groups = [*rest, (names, joined)]
    devices: dict[str, Device] = {}
    for names, device in groups:
        name = min(names, key=_name_rank)
        aliases = tuple(sorted(names - {name}))
        devices[name] = replace(device, name=name, aliases=aliases)
    canonical = {alias: name for name, d in devices.items() for alias in (name, *d.aliases)}
    for name, device in devices.items():
        members = tuple(
            dict.fromkeys(
                next((canonical[s] for s in device_names(m) if s in canonical), m)
                for m in device.members
            )
        )
        devices[name] = replace(device, members=tuple(m for m in members if m != name))
    return DeviceTopology(devices)


_KERNEL_NAME = re.compile(
    r"(sd[a-z]+|hd[a-z]+|vd[a-z]+|xvd[a-z]+|dm-|md|nvme\d+(c\d+)?n|mmcblk|loop|zram|sr|nbd|rbd|"
    r"drbd|dasd[a-z]+|bcache)\d*(p?\d+)?"
)


def _name_rank(name: str) -> tuple[int, int, str]:
    """Kernel names first, then mapper names, then numbers."""
    if _KERNEL_NAME.fullmatch(name):
        rank = 0
    elif re.match(r"dev\d+-\d+$|\d+:\d+$", name):
        rank = 2
    else:
        rank = 1
    return rank, len(name), name


def _join(first: Device, second: Device) -> Device:
    """One device from two descriptions; `first` was stated earlier and wins."""
    changes: dict[str, Any] = {}
    provenance = dict(second.provenance) | dict(first.provenance)
    for item in fields(Device):
        if item.name in ("name", "aliases", "provenance"):
            continue
        old, new = getattr(first, item.name), getattr(second, item.name)
        is_wider = item.name == "members" and set(old) < set(new)
        # "disk" is what lsblk says of anything at the bottom; a better word replaces it
        is_vague = item.name == "level" and old in ("dm", "lvm", "raid")
        if (old in (None, ()) or is_wider or is_vague) and new not in (None, ()):
            changes[item.name] = new
            if item.name in second.provenance:
                provenance[item.name] = second.provenance[item.name]
    return replace(first, **changes, provenance=provenance)
