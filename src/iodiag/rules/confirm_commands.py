"""Advice that fits the devices of a finding: real names in commands, disk tools only where there is a disk.

A rule writes its commands for a disk, with DEVICE for its name. Here they become those of the layer that a
finding is about: the array's or volume's own, then those of the disks below. What a network or a hypervisor
serves has no SMART data and no cable: there the limits and the other side of the volume stand instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from iodiag.analysis.array.array_commands import layer_commands
from iodiag.analysis.host.cpu import fullest_cpu
from iodiag.analysis.host.disk_health import volumes
from iodiag.analysis.host.kernel_events import shows_guest
from iodiag.analysis.host.missing_tools import lacks_iostat, without_iostat
from iodiag.analysis.measure.known_counter_bugs import version_of
from iodiag.analysis.view.device_names import controller_of, logged_as, node_of
from iodiag.analysis.view.device_traits import is_remote
from iodiag.analysis.view.view import View
from iodiag.model.finding import Finding
from iodiag.model.topology import Device, device_names

MOST_DISKS = 4

PLACEHOLDERS = re.compile(r"\b(DEVICE|LOGGED|MOUNTPOINT|START)\b")
_TOOLS = re.compile(r"(?:smartctl|hdparm|sdparm|nvme smart-log)\b")
_OF_BUSES = re.compile(r"(?:lspci|lsscsi|storcli64|ssacli)\b")
_OF_HARDWARE = re.compile(
    r"\bSMART\b|smartctl|hdparm|sdparm|\bcables?\b|\bslot\b|battery is|battery or|park their heads|heat sink|"
    r"spinning disks|disks of your own"
)
_NO_DISK = re.compile(r"(zram|ram|loop|sr|fd)\d+.*|dev(1|2|7|11)-\d+")  # sar's names by number
_MAPPED = re.compile(r"dev(9|25[2-4])-\d+")  # or virtio, which has no SMART data either
_LOOP = re.compile(r"loop\d+.*|dev7-\d+")
_BPF = re.compile(r"\b(?:biolatency|biosnoop|bpftrace)\b")
_BPF_SINCE = (4, 1)  # bcc, INSTALL.md
_IO_MAX_SINCE = (4, 5)  # cgroup v2 and its io controller
_OF_LIMITS, _OF_HANGS = ("true-saturation",), ("hung-io",)
"""Rules whose finding a limit of the provider explains as well, so that it is asked first; and those whose
request what is known to serve the device holds."""
_OF_NETWORKS = "On a network volume"
_USB = re.compile(r"usb|flash (disk|drive)|cruzer|datatraveler", re.IGNORECASE)
_SAFE = re.compile(r"[\w.+:/@!-]+")
_NUMBERS = re.compile(r"dev(\d+)-(\d+)")
_PARTITION = re.compile(
    r"((?:sd|hd|vd|dasd)[a-z]+)\d+|((?:nvme\d+n|mmcblk|nbd|rbd|loop)\d+|cciss/c\d+d\d+)p\d+"
)  # xvda1 may be a whole disk


@dataclass(frozen=True)
class _Backend:
    """What serves a device that is no disk: whom to ask, and what to type."""

    names: re.Pattern[str]
    remedy: str
    confirm: tuple[str, ...]


_BACKENDS = (
    _Backend(
        re.compile(r"rbd\d+.*"),
        "Look at the Ceph cluster behind it (slow OSDs, recovery) and at the network to it.",
        ("ceph -s", "ceph osd perf"),
    ),
    _Backend(
        re.compile(r"drbd\d+.*"),
        "Look at the disk of the other node and at the link to it: a write ends when both have it.",
        ("drbdadm status",),
    ),
    _Backend(
        re.compile(r"nbd\d+.*"), "Look at the server that exports it, and at the network to it.", ("ss -tin",)
    ),
    _Backend(
        _LOOP,
        "Look at the disk that holds the file behind it: a loop device is as quick as that. Where nothing "
        "completes, see what its worker waits in: echo w > /proc/sysrq-trigger writes the stacks of blocked "
        "tasks to the kernel's log.",
        ("losetup -l",),
    ),
    _Backend(
        re.compile(r"zd\d+.*"),
        "Look at the pool that holds it: its disks, and its other volumes, which they serve as well.",
        ("zpool iostat -vly 1 10", "zpool status"),
    ),
    _Backend(
        re.compile(r".*"),
        "Compare with the IOPS and throughput limits and the burst credit of the volume and of the instance, "
        "and with the provider's metrics of this volume: throttled requests, queue, latency.",
        ("lsblk -o NAME,MODEL,SERIAL,SIZE /dev/DEVICE",),
    ),
)


_STOPPED = (
    "Look at what serves the disk: the virtual machine's host, its storage, and the provider's metrics and "
    "messages on this volume. A limit slows a disk, and does not stop it."
)
"""What to do about a virtual disk that stands still, by whatever it is served."""


def adapt_commands(finding: Finding, view: View) -> Finding:
    """The finding with the commands and remedies that fit its devices."""
    devices = [_device(view, name) for name in finding.devices]
    bottoms = _bottoms(view, devices)
    remote = [leaf for leaf in bottoms if _is_remote(leaf)]
    of_guest = shows_guest(view)
    has_disks = not of_guest and (not bottoms or any(_is_disk(leaf) for leaf in bottoms))
    remedy = [text for text in finding.remedy if has_disks or not _OF_HARDWARE.search(text)]
    remedy = [_with_known_limits(text, view.kernel) for text in remedy]
    known = [_for_kernel(command, view.kernel) for command in finding.confirm]
    known = [command for command in known if not (of_guest and _TOOLS.match(command))]
    if lacks_iostat(view):
        known = [without_iostat(command) for command in known]
        remedy = [without_iostat(text, "two snapshots of /proc/diskstats") for text in remedy]
    confirm = [text for command in known for text in _commands(command, view, devices)]
    is_cut = len(remedy) < len(finding.remedy) or not set(known) <= set(confirm)
    # what the capture holds needs no second look, unless nothing else is left
    confirm = [text for text in confirm if not _is_held(text, view)] or confirm
    fills = _fills(finding, view, devices)
    is_full = finding.rule in _OF_LIMITS
    if remote and not has_disks and (is_cut or is_full):
        backend = next(one for one in _BACKENDS if one.names.fullmatch(remote[0].name))
        is_known = backend is not _BACKENDS[-1]
        remedy = [text for text in remedy if not (is_known and text.startswith(_OF_NETWORKS))]
        is_hang = finding.rule in _OF_HANGS
        is_first = is_full or is_hang
        told = _STOPPED if is_hang and not is_known else backend.remedy
        remedy.insert(0 if is_first else len(remedy), told)
        confirm += [_filled(command, _names(remote[0])) for command in backend.confirm]
    elif of_guest and is_cut:
        remedy.insert(0, _OF_GUEST)
    return replace(
        finding,
        remedy=tuple(dict.fromkeys(_filled(text, fills) or text for text in remedy)),
        confirm=tuple(_runnable(confirm, fills, [*devices, *bottoms])),
    )


def _is_held(command: str, view: View) -> bool:
    """Whether a capture has samples of what a command prints, or a disk's counters."""
    if asked := re.fullmatch(r"smartctl -x /dev/(\S+)", command):
        facts = view.facts_of("smartctl")
        return any(fact.word("device") == asked[1] and "reallocated_sectors" in fact.values for fact in facts)
    if command.startswith("pidstat -d"):
        listed = view.facts_of("pidstat", "iotop")
        return any(fact.word("process") and fact.number("write_kb_per_s") >= 0 for fact in listed)
    if command.startswith("cat /proc/pressure/"):
        return "pressure" in view.tables
    return (
        command.startswith("mpstat -P ALL")
        and fullest_cpu(view) is not None
        and not view.has_only_cpu_averages
    )


def _for_kernel(command: str, kernel: str | None) -> str:
    """The command, or what does as much on a kernel that cannot trace with BPF."""
    if _is_before(kernel, _BPF_SINCE) and _BPF.search(command):
        return "btrace -w 10 /dev/DEVICE"
    return command


def _with_known_limits(text: str, kernel: str | None) -> str:
    """The text with the limits of control groups that the kernel has."""
    if _is_before(kernel, _IO_MAX_SINCE) and "blkio." not in text:
        return text.replace("io.max", "blkio.throttle").replace("io.weight", "blkio.weight")
    return text


def _is_before(kernel: str | None, since: tuple[int, int]) -> bool:
    version = version_of(kernel)
    return version is not None and version < since


_OF_GUEST = (
    "Ask who runs the host of this virtual machine what its storage did then: errors, a limit, other tenants."
)


def _device(view: View, name: str) -> Device:
    device = view.topology.find(name) or Device(name)
    # some tools print the node: commands put /dev/ before the name themselves
    return replace(device, name=device.name.removeprefix("/dev/"))


def _bottoms(view: View, devices: Iterable[Device]) -> list[Device]:
    """The disks, or what else is known to be lowest, below some devices; whole disks for partitions."""
    found = [leaf for device in devices for leaf in (view.topology.leaves(device.name) or (device,))]
    return list({leaf.name: leaf for leaf in map(_whole, found)}.values())


def _commands(command: str, view: View, devices: Sequence[Device]) -> Iterator[str]:
    """A command for the devices of a finding; one for disks becomes that of each layer and each disk."""
    if not devices:
        yield command
    elif _TOOLS.match(command) and "/dev/" in command:
        named = re.search(r"/dev/(?!DEVICE)([^\s|;]+)", command)
        targets = [_device(view, named[1])] if named else devices
        for layer in _stack_of(view, targets[0]):
            yield from layer_commands(layer, _path(layer))
        lowest = [d for d in _bottoms(view, targets) if _is_disk(d) and not _is_layer(d)]
        disks = [d for d in lowest if _suits(command, d) and not _MAPPED.fullmatch(d.name)]
        of_controllers = {volume.device for volume in volumes(view)}
        for disk in disks[:MOST_DISKS]:
            if disk.name in of_controllers and command.startswith("smartctl") and " -d " not in command:
                yield "smartctl --scan"  # names the disks behind it, each with its -d
                continue
            head, _, rest = command.partition("/dev/")
            path = controller_of(disk.name) if disk.name.startswith("nvme") else _path(disk)
            yield head + path + re.sub(r"^[^\s|;]+", "", rest)
    elif command == "multipath -ll":
        layers = [layer for device in devices for layer in _stack_of(view, device)]
        if any(layer.kind in (None, "multipath") for layer in layers):
            yield command
    elif not _OF_BUSES.match(command) or any(_is_disk(leaf) for leaf in _bottoms(view, devices)):
        yield command


def _stack_of(view: View, device: Device) -> list[Device]:
    """The device and those below it that are layers, topmost first."""
    return [layer for layer in (device, *view.topology.below(device.name)) if _is_layer(layer)]


def _is_layer(device: Device) -> bool:
    is_named = re.match(r"(dm-|md_?d?|bcache)\d", device.name) is not None
    return is_named or device.kind in ("md", "lvm", "dm", "multipath", "crypt")


def _is_remote(device: Device) -> bool:
    """Whether something else than a disk serves it: a network, a hypervisor, a pool, a file."""
    return is_remote(device) or re.match(rf"drbd\d|zd\d|{_LOOP.pattern}", device.name) is not None


def _is_disk(device: Device) -> bool:
    """Whether it may be a piece of hardware in or at the host, as far as is known."""
    return not _is_remote(device) and not _NO_DISK.fullmatch(device.name)


def _suits(command: str, disk: Device) -> bool:
    """Whether a tool is for such a disk: nvme for NVMe drives, hdparm for others, none for USB and cards."""
    if disk.transport == "usb" or (disk.model and _USB.search(disk.model)) or disk.name.startswith("mmcblk"):
        return False
    return command.startswith("smartctl") or disk.name.startswith("nvme") == command.startswith("nvme")


def _whole(device: Device) -> Device:
    """The disk of a partition that nothing describes."""
    match = _PARTITION.fullmatch(device.name)
    return Device(match[1] or match[2]) if match else device


def _path(device: Device) -> str:
    """Its node below /dev."""
    numbers = _NUMBERS.fullmatch(device.name)
    if numbers:
        return f"/dev/block/{numbers[1]}:{numbers[2]}"
    is_mapped = device.kind in ("lvm", "dm", "crypt", "multipath") and not device.name.startswith("dm-")
    return f"/dev/mapper/{device.name}" if is_mapped and "/" not in device.name else node_of(device.name)


def _folder(device: Device) -> str:
    """Its folder below /sys, that of the whole disk for a partition."""
    numbers = _NUMBERS.fullmatch(device.name)
    if numbers:
        return f"/sys/dev/block/{numbers[1]}:{numbers[2]}"
    path = _path(device)
    if path.startswith("/dev/mapper/"):
        return f"/sys/class/block/$(basename $(readlink -f {path}))"
    return "/sys/block/" + _whole(device).name.replace("/", "!")


def _names(device: Device) -> dict[str, str]:
    # dev8-16 is sdb, which tools know; 8:16 no tool does
    name = [device.name, *(spelling for spelling in device_names(device.name) if ":" not in spelling)][-1]
    return {"/dev/DEVICE": _path(device), "/sys/block/DEVICE": _folder(device), "DEVICE": name}


def _fills(finding: Finding, view: View, devices: Sequence[Device]) -> dict[str, str]:
    """What stands for each placeholder, as far as the capture says."""
    fills = _names(devices[0]) if devices else {}
    if devices:
        fills["LOGGED"] = "|".join(dict.fromkeys(logged_as(device.name) for device in devices[:MOST_DISKS]))
    above = [*devices[:1], *(view.topology.parents(devices[0].name) if devices else ())]
    mounted = next((device for device in above if any(m.startswith("/") for m in device.mountpoints)), None)
    # the shell looks the place up: where somebody mounts a disk is nobody else's business
    fills["MOUNTPOINT"] = f"$(findmnt -nfo TARGET {_path(mounted)})" if mounted else "."
    if finding.start:
        fills["START"] = f"'{finding.start[:19].replace('T', ' ')}'"
    return fills


def _filled(text: str, fills: dict[str, str]) -> str:
    """The text with its placeholders filled in; empty where one has nothing to stand for it."""
    for placeholder, value in fills.items():
        text = text.replace(placeholder, value)
    return "" if PLACEHOLDERS.search(text) else text


def _runnable(commands: Iterable[str], fills: dict[str, str], devices: list[Device]) -> Iterator[str]:
    """Commands once each, without those that lack a name or hold one that a shell would take apart."""
    unsafe = [device.name for device in devices if not _SAFE.fullmatch(device.name)]
    for command in dict.fromkeys(_filled(command, fills) for command in commands):
        if command and not any(name in command for name in unsafe):
            yield command
