"""What kind of device serves the requests: serial spindles, how many, or something that overlaps them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.topology import Device
from iodiag.table.result_cache import cached

SPREADING = ("raid0", "raid1", "raid4", "raid5", "raid6", "raid10", "striped")
"""Layouts that spread requests over their members; a linear volume may sit on one of its disks."""

_CARD = re.compile(r"mmcblk\d+(p\d+)?|dev179-\d+")
_OPTICAL = re.compile(r"(sr|scd)\d+|dev11-\d+")
_REMOTE_NAME = re.compile(r"(vd|xvd)[a-z]+\d*|nbd\d+|rbd\d+|dasd[a-z]+\d*")
_CONTROLLER = re.compile(
    r"perc|megaraid|logical volume|smart ?array|serveraid|virtual ?disk|\bmr9\d|avago|adaptec|3pardata|"
    r"netapp|\blun\b|compellent|equallogic|open-v|\bdgc\b|symmetrix|\b2145\b|\bpure\b|persistentdisk|"
    r"elastic block",
    re.IGNORECASE,
)

_CLOUD = re.compile(
    r"amazon elastic block store|google persistentdisk|persistentdisk|msft virtual disk|nvme_card-pd|"
    r"alibaba cloud|oracle blockvolume",
    re.IGNORECASE,
)


@cached
def is_spinning(series: DeviceSeries) -> bool | None:
    """Whether it stands on spinning disks; None where that is unknown or cannot be believed.

    virtio and Xen disks, and volumes of RAID controllers and arrays, call themselves rotational
    whatever is behind them, which may be many disks or none.
    """
    leaves = series.leaves or ((series.device,) if series.device else ())
    hides = series.rotational and any(_hides_its_disks(leaf) for leaf in leaves)
    return None if hides else series.rotational


def _hides_its_disks(leaf: Device) -> bool:
    return has_remote_name((leaf.name, *leaf.aliases)) or bool(leaf.model and _CONTROLLER.search(leaf.model))


def is_card(series: DeviceSeries) -> bool:
    """Whether it is a memory card, which serves one request at a time (SD Association, Physical Layer)."""
    return any(_CARD.fullmatch(name) for name in names_below(series))


def is_optical(series: DeviceSeries) -> bool:
    """Whether it is a drive of optical discs, by its name."""
    return any(_OPTICAL.fullmatch(name) for name in names_below(series))


def spindles(series: DeviceSeries, *, writes: bool, parity: bool = False) -> float | None:
    """How many serial disks share the requests, at the most; None where the disks are not known to be serial.

    Mirrors write every copy, so that writes have fewer disks to spread over; with `parity`, writes that are
    seen to reach the disks with their parity, too. A memory card is one such disk.
    """
    if is_card(series):
        return 1.0
    if not is_spinning(series) or series.disks is None:
        return None
    if any(leaf.rotational is not True for leaf in series.leaves):
        return None
    disks = float(series.disks)
    return max(1.0, disks / _copies(series, disks, parity)) if writes else disks


def _copies(series: DeviceSeries, disks: float, parity: bool) -> float:
    for device in chain(series):
        if device.level == "raid1":
            return float(device.copies or disks)
        if device.level == "raid10":
            return float(device.copies or 2)
        if parity and device.parity_members:
            return 1.0 + device.parity_members
    return 1.0


@cached
def is_spread(series: DeviceSeries) -> bool:
    """Whether it is known to spread its requests over two or more disks."""
    return any(device.level in SPREADING and len(device.members) >= 2 for device in chain(series))


def has_parity(series: DeviceSeries) -> bool:
    """Whether a write costs its disks more operations than one."""
    return any(device.parity_members > 0 for device in chain(series))


def chain(series: DeviceSeries) -> Iterator[Device]:
    """The device and those below it, down to the first that stands on several."""
    device = series.device
    seen: set[str] = set()
    while device is not None and device.name not in seen:
        seen.add(device.name)
        yield device
        below = series.topology.members(device.name)
        device = below[0] if len(below) == 1 else None


def names_below(series: DeviceSeries) -> set[str]:
    """The names of the device, of those below it, and of its disks."""
    return {series.name, *(device.name for device in chain(series)), *(leaf.name for leaf in series.leaves)}


def has_remote_name(names: Iterable[str]) -> bool:
    """Whether one of the names is given to disks that a hypervisor, a network or a storage server serves."""
    return any(_REMOTE_NAME.fullmatch(name) for name in names)


def is_virtual(series: DeviceSeries) -> bool:
    """Whether a hypervisor or a network serves it, by its name or model: where limits are usual."""
    return has_remote_name(names_below(series)) or bool(cloud_model(series))


def is_guest(kernel: str | None) -> bool:
    """Whether a kernel is one that is built for virtual machines, whose disks a provider serves."""
    return re.search(r"[-.](azure|aws|gcp|amzn\d*|cloud|kvm|virtual)\b", kernel or "") is not None


def may_be_volume(view: View, series: DeviceSeries) -> bool:
    """Whether of a disk of a provider's machine the name alone is known: its volumes are NVMe, too."""
    is_nvme = all(leaf.name.startswith("nvme") and not leaf.model for leaf in series.leaves)
    return is_nvme and series.name.startswith("nvme") and is_guest(view.kernel)


def virtual_kind(series: DeviceSeries) -> str:
    """What to call a device that is virtual: by the names below it."""
    names = names_below(series)
    if any(name.startswith(("rbd", "nbd")) for name in names):
        return "network block device"
    return "volume of a storage server" if any(name.startswith("dasd") for name in names) else "virtual disk"


def is_remote(device: Device) -> bool:
    """Whether one device is served by a hypervisor, a provider or a network, by its names or model."""
    is_cloud = bool(device.model and _CLOUD.search(device.model))
    return is_cloud or has_remote_name((device.name, *device.aliases))


def cloud_model(series: DeviceSeries) -> dict[str, float | str]:
    """The model of a disk below that a provider meters, and its origin; empty where there is none."""
    metered = (leaf for leaf in series.leaves if leaf.model and _CLOUD.search(leaf.model))
    leaf = next(metered, None)
    return {"model": leaf.model or "", "origin": leaf.provenance.get("model", "")} if leaf else {}
