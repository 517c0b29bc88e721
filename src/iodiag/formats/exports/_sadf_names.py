"""The names in sadf's JSON and XML, by the tokens of the same sections in sar's text.

Both renderings name a section by a key or an element (`net-dev`), and its values without the
units that sar prints (`rxkB`, `util-percent`). Nearly all follow from sar's tokens by rule; the
others stand here.
"""

from __future__ import annotations

from collections.abc import Mapping

from iodiag.formats.raw_columns.sar import SECTIONS
from iodiag.formats.raw_columns.sar_section import SarSection

_BY_NAME = {section.name: section for section in SECTIONS}

_GROUPS = {
    "cpu": "cpu-load cpu-load-all cpu",
    "tasks": "process-and-context-switch processes context-switch",
    "interrupts": "interrupts irq",
    "swapping": "swap-pages",
    "paging": "paging",
    "io": "io",
    "memory": "memory",
    "hugepages": "hugepages",
    "kernel tables": "kernel",
    "queue": "queue",
    "serial": "serial tty",
    "disk": "disk disk-device",
    "network": "net-dev",
    "network errors": "net-edev",
    "nfs client": "net-nfs",
    "nfs server": "net-nfsd",
    "sockets": "net-sock",
    "ip": "net-ip",
    "ip errors": "net-eip",
    "icmp": "net-icmp",
    "icmp errors": "net-eicmp",
    "tcp": "net-tcp",
    "tcp errors": "net-etcp",
    "udp": "net-udp",
    "sockets6": "net-sock6",
    "ip6": "net-ip6",
    "ip6 errors": "net-eip6",
    "icmp6": "net-icmp6",
    "icmp6 errors": "net-eicmp6",
    "udp6": "net-udp6",
    "fibre channel": "fchosts fchost",
    "softnet": "softnet",
    "cpu frequency": "cpu-frequency cpufreq",
    "weighted cpu frequency": "cpu-weighted-frequency cpuwfreq",
    "fan": "fan-speed fan",
    "temperature": "temperature temp",
    "voltage": "voltage-input in",
    "battery": "battery bat",
    "usb": "usb-devices usb",
    "filesystem": "filesystems filesystem",
    "pressure cpu": "psi-cpu",
    "pressure io": "psi-io",
    "pressure memory": "psi-mem",
}

SECTION_OF: Mapping[str, SarSection] = {
    group: _BY_NAME[name] for name, groups in _GROUPS.items() for group in groups.split()
}
"""The section that a JSON key or an XML element stands for."""

MEMORY_CHANGES = _BY_NAME["memory changes"]
"""What stands in `memory` too (sar -R), though sar prints it as a section of its own."""

_ITEMS = (
    "cpu number intr line disk-device dev iface fchost name bus_number filesystem fsname mountpoint mountp"
)
_LABELS = {"device": "chip", "status": "status"}

_SPECIAL = {
    "value": "intr/s",
    "shared": "kbshmem",
    "inactive": "kbinact",
    "frequency": "MHz",
    "weighted-frequency": "wghMHz",
    "percent-capacity": "%cap",
    "variation": "cap/min",
}


def word_columns(section: SarSection, names: tuple[str, ...]) -> dict[str, str]:
    """The names that hold words, with the canonical columns of these: the item's, and labels."""
    columns: dict[str, str] = {}
    key = next(iter(section.key_tokens.values()), None)
    for name in names:
        if name in section.label_tokens:
            columns[name] = section.label_tokens[name]
        elif name in _LABELS and _LABELS[name] in section.label_tokens.values():
            columns[name] = _LABELS[name]
        elif section.name == "interrupts" and name == "cpu":
            columns[name] = "cpu"
        elif key is not None and name in _ITEMS.split():
            columns[name] = key
    return columns


def token_of(section: SarSection, name: str) -> str | None:
    """sar's token for the name of a value, or None where the section has none like it."""
    bare = name.removesuffix("-percent").removeprefix("percent-")
    span = name.replace("_avg", "-").rstrip("-")
    pressure = f"%{span[:1]}{section.name.removeprefix('pressure ')[:3]}{span[4:]}"
    for token in (_SPECIAL.get(name, ""), name, f"{name}/s", f"kb{name}", f"%{bare}", pressure):
        if section.knows(token):
            return token
    return None
