"""What the names of devices say: a disk, a partition of one, an array."""

from __future__ import annotations

import re
from collections.abc import Collection

_PHYSICAL = re.compile(
    r"(?:/dev/)?(?:(sd|hd|vd|xvd|dasd)[a-z]+\d*|nvme\d+(c\d+)?n\d+(p\d+)?|mmcblk\d+.*|(loop|z?ram|sr|scd|fd|nbd|rbd)\d+.*|"
    r"cciss.*|c\d+d\d+.*|dev(?!9-|25[2-4]-)\d+-\d+)"
)


def is_physical(name: str) -> bool:
    """Whether a name is a disk's or a partition's, and not that of a device on top of others.

    dev252-N to dev254-N may be either: they are taken for device-mapper, which they mostly are.
    """
    return _PHYSICAL.fullmatch(name) is not None


def virtual_disks(names: Collection[str]) -> set[str]:
    """Of dev252-N to dev254-N those that are disks, as the numbers of the others beside them tell.

    Device-mapper has one major number, and counts its devices one by one; virtio disks have another one, and
    sixteen minor numbers each.
    """
    minors: dict[str, list[int]] = {}
    for name in names:
        if match := _GIVEN_OUT.fullmatch(name):
            minors.setdefault(match[1], []).append(int(match[2]))
    in_steps = {major for major, found in minors.items() if not any(minor % _MINORS for minor in found)}
    # a lone number 0 may be zram's as well
    majors = {major for major in in_steps if any(minors[major])} if len(in_steps) < len(minors) else set()
    return {f"{major}-{minor}" for major in majors for minor in minors[major]}


def is_md(name: str) -> bool:
    """Whether a name is an md array's: md0, md_d0, md127, dev9-0."""
    return re.match(r"md_?d?\d|dev9-", name) is not None


def is_partition_of_any(name: str, names: set[str]) -> bool:
    """Whether a name is a partition's of another one: sda1 of sda, nvme0n1p2 of nvme0n1."""
    return whole_of(name, names) is not None


def whole_of(name: str, names: Collection[str]) -> str | None:
    """The disk among `names` that a name is a partition's of."""
    return next((whole for whole in whole_disk_names(name) if whole in names), None)


def node_of(name: str) -> str:
    """The path of a device below /dev; one of the paths of NVMe has none: that of its namespace."""
    path = _NVME_PATH.fullmatch(name)
    return f"/dev/nvme{path['subsystem']}n{path['rest']}" if path else f"/dev/{name}"


def controller_of(name: str) -> str:
    """The device that tools ask for a disk's own counters: of an NVMe path its controller."""
    path = _NVME_PATH.fullmatch(name)
    return f"/dev/nvme{path['controller']}" if path else node_of(name)


def logged_as(name: str) -> str:
    """A pattern for what the kernel's log calls a device: of NVMe it names the controllers, and no paths."""
    if path := _NVME_PATH.fullmatch(name):
        whole = f"|nvme{path['subsystem']}n" * (path["subsystem"] != path["controller"])
        return f"nvme{path['controller']}[n:]{whole}"
    return re.sub(r"^(nvme\d+)n.*", r"\1[n:]", name)


_NVME_PATH = re.compile(r"nvme(?P<subsystem>\d+)c(?P<controller>\d+)n(?P<rest>\d+(?:p\d+)?)")
"""A path to a namespace, by its controller: hidden, without a node (Linux, nvme/host/multipath.c)."""

_PART_NAMES = tuple(map(re.compile, (r"(.*[a-z])\d+", r"(.*\d)p\d+")))
_GIVEN_OUT = re.compile(r"(dev25[2-4])-(\d+)")
"""Major numbers that a kernel gives out to its drivers as they come."""

_NUMBERED, _MINORS = re.compile(r"dev(8|6[5-9]|7[01]|12[89]|13[0-5]|202)-(\d+)"), 16
"""SCSI and Xen disks by number: the first of sixteen minor numbers is the disk (Linux, devices.txt)."""


def whole_disk_names(name: str) -> list[str]:
    """What the disk would be called that a name is a partition's of."""
    if (numbers := _NUMBERED.fullmatch(name)) and (part := int(numbers[2]) % _MINORS):
        return [f"dev{numbers[1]}-{int(numbers[2]) - part}"]
    return [match[1] for pattern in _PART_NAMES if (match := pattern.fullmatch(name))]
