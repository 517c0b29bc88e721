"""Which disk an address in the kernel's log stands for, by what the log itself said of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from iodiag.model.topology import device_names

_DISK = r"sd (\d+):(\d+:\d+:\d+): (?:(?!\[)|\[(sd[a-z]{1,4})\])"
_FAILED = re.compile(r".{1,60}?, dev (sd[a-z]{1,4}),")
_HOST = (
    r"scsi ?(?:host)?(\d{1,5}) ?: "
    r"(?:(ahci|ata_|sata_|pata_|pdc_)|(storvsc)|(?:usb-storage|uas) ?(\d+-[\d.]+))?"
)
_PORT = r"ata(\d{1,3}): (?:DUMMY|[SP]ATA max)"
_EXCEPTION = r"ata(\d+)(?:\.\d\d)?: (?:(exception)|(EH complete))"
_CONTROLLER = r"nvme (nvme\d+): pci function ([\da-f:.]+)"
_NAMESPACE = r"(nvme\d+)n\d+\b"

BEGINS = ("sd", "scsi", "ata", "nvme")
"""What lines begin with that may tell."""


@dataclass
class DeviceNames:
    """The names of disks, from the lines of one boot; what no line tells keeps its address as its name."""

    _disks: dict[str, dict[str, str]] = field(default_factory=dict)
    _ata_hosts: dict[str, None] = field(default_factory=dict)
    _hyperv_hosts: dict[str, None] = field(default_factory=dict)
    _ata_ports: dict[str, None] = field(default_factory=dict)
    _host_of_port: dict[str, str] = field(default_factory=dict)
    _host_of_usb: dict[str, str] = field(default_factory=dict)
    _controllers: dict[str, str] = field(default_factory=dict)
    _namespaces: dict[str, dict[str, None]] = field(default_factory=dict)
    _failing: str = ""
    _refused: str = ""
    _guesses: dict[str, set[str]] = field(default_factory=dict)

    def learn(self, begin: str, text: str) -> None:
        """Take from a line what it says of names; `begin` are the letters that it begins with."""
        refused, self._refused = self._refused, ""
        if refused and (failed := _FAILED.match(text)):
            # an address that refuses a request, and right below it the disk whose request failed
            self._guesses.setdefault(refused, set()).add(failed[1])
        elif begin == "sd" and (disk := re.match(_DISK, text)):
            host, rest, name = disk.groups()
            if name is None:
                self._refused = f"{host}:{rest}"
                return
            self._disks.setdefault(host, {})[rest] = name
            if self._failing:
                # between the exception of a port and the end of its recovery its disk reports
                self._host_of_port.setdefault(self._failing, host)
        elif begin == "scsi" and (found := re.match(_HOST, text)):
            if found[2]:
                self._ata_hosts[found[1]] = None
            if found[3]:
                self._hyperv_hosts[found[1]] = None
            if found[4]:
                self._host_of_usb[found[4]] = found[1]
        elif begin == "ata" and (port := re.match(_PORT, text)):
            self._ata_ports[port[1]] = None
        elif begin == "ata" and (state := re.match(_EXCEPTION, text)):
            self._failing = state[1] if state[2] else ""
        elif begin == "nvme" and (controller := re.match(_CONTROLLER, text)):
            self._controllers[controller[2]] = controller[1]
        elif begin == "nvme" and (space := re.match(_NAMESPACE, text)):
            self._namespaces.setdefault(space[1], {})[space[0]] = None

    def devices(self, about: Mapping[str, str]) -> tuple[str, ...]:
        """The devices that a message is about; empty where it names none."""
        if "dev" in about:
            return (about["dev"].replace("!", "/"),)
        if "nums" in about:
            return (device_names(about["nums"])[-1],) if _is_disk(about["nums"]) else (about["nums"],)
        if "hctl" in about:
            host, _, rest = about["hctl"].partition(":")
            guesses = self._guesses.get(about["hctl"], set())
            guess = next(iter(guesses)) if len(guesses) == 1 else about["hctl"]
            return (self._disks.get(host, {}).get(rest, guess),)
        if "ata" in about:
            return self._on_host(self._host_of_ata(about["ata"])) or (f"ata{about['ata']}",)
        if "host" in about:
            return self._on_host(about["host"]) or (f"host{about['host']}",)
        if "usb" in about:
            return self._on_host(self._host_of_usb.get(about["usb"], ""))
        if "vmbus" in about:
            # which adapter a name of the bus is, no line says
            names = tuple(name for host in self._hyperv_hosts for name in self._on_host(host))
            return names if len(names) == 1 else ()
        controller = about.get("ctrl") or self._controllers.get(about.get("pci", ""), "")
        # the first namespace, which most drives have alone
        return tuple(self._namespaces.get(controller, (f"{controller}n1",))) if controller else ()

    def _host_of_ata(self, port: str) -> str:
        """The SCSI host of a port: ports are told in the order in which their hosts were made."""
        if port in self._ata_ports and len(self._ata_ports) == len(self._ata_hosts):
            return [*self._ata_hosts][[*self._ata_ports].index(port)]
        return self._host_of_port.get(port, "")

    def _on_host(self, host: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._disks.get(host, {}).values()))


def _is_disk(numbers: str) -> bool:
    return any(name.startswith("sd") for name in device_names(numbers))


def without_removable(names: Iterable[str]) -> tuple[str, ...]:
    """The names without drives that have no medium of their own, whose errors mean an empty tray."""
    return tuple(name for name in names if not re.fullmatch(r"(?:fd|sr|loop|ram|zram)\d.*", name))
