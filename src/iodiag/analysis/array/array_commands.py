"""What to type to look at an array or another layer: md, LVM, multipath, encryption, or not known."""

from __future__ import annotations

from iodiag.analysis.view.device_names import is_md
from iodiag.model.topology import Device

LVS = "lvs -a -o name,segtype,stripes,stripesize,sync_percent,raid_sync_action,devices"


def is_lvm(device: Device) -> bool:
    """Whether a device is a logical volume, as far as its kind says."""
    return device.kind in ("lvm", "dm") and not is_md(device.name)


def mapper_path(name: str) -> str:
    """Where a device-mapper device lies: dm-3 directly in /dev, vg0-data and mpatha in /dev/mapper."""
    return f"/dev/{name}" if name.startswith("dm-") else f"/dev/mapper/{name}"


def array_commands(device: Device, *of_md: str) -> tuple[str, ...]:
    """Commands with the array's real name; `of_md` are files of its md folder in sysfs."""
    if is_lvm(device):
        return LVS, f"dmsetup status /dev/{device.name}"
    if is_md(device.name):
        files = " ".join(f"/sys/block/{device.name}/md/{name}" for name in of_md)
        return (
            "cat /proc/mdstat",
            f"mdadm --detail /dev/{device.name}",
            *((f"grep . {files}",) if files else ()),
        )
    return "cat /proc/mdstat", LVS


def layer_commands(device: Device, path: str) -> tuple[str, ...]:
    """Commands that show the state of a layer above disks; `path` is its node below /dev."""
    if device.kind == "multipath":
        return (f"multipath -ll {device.name}",)
    if device.kind == "crypt":
        return (f"cryptsetup status {path}",)
    if is_md(device.name):
        return array_commands(device)
    if device.name.startswith("bcache"):
        return (f"grep -r . /sys/block/{device.name}/bcache/",)
    own = (LVS,) if device.kind == "lvm" else ()
    return (*own, f"dmsetup status {path}", f"lsblk -s {path}")
