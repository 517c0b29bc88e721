"""pt-summary of Percona Toolkit: the schedulers and queue sizes of disks, and where file systems lie.

Its other sections are summed up for people; its vmstat is rounded and stays unread. Of the files that
--save-samples leaves, `summary` and `mounted_fs` are of its own form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import MAX_BLOCK_LINES, bare_name, describe, origin
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.topology import Device

_SECTION = (
    r"# (?:Disk Schedulers And Queue Size|Mounted Filesystems|Simplified and fuzzy rounded vmstat) .*#{3}"
)
_QUEUE = r"\s+(?P<device>[\w!-]{2,64}) \| \[(?P<scheduler>[\w-]{2,30})\] (?P<size>\d{1,6})\s*"
_MOUNT = (
    r"\s+(?P<device>/dev/\S{1,200})\s+[\d.]{1,12}[KMGTP]?\s+\d{1,3}%"
    r"\s+\S{1,40}\s+\S{1,400}\s+(?P<at>/\S{0,400})\s*"
)
_OTHER = (
    r"\s+\S{1,200} \| .*|\s{2}.*\b(?:Mountpoint|cpu-+|wa  st|\d{1,3})\s*"
    r"|\s+\S{1,200}\s+[\d.]{1,12}[KMGTP]?\s+\d{1,3}% .*"
)
_SAVED = r"platform {4}Linux\s*"
_SAVED_LINE = (
    r"internal::(?P<device>[\w!-]{2,64}) {4}\[(?P<scheduler>[\w-]{2,30})\] (?P<size>\d{1,6})\s*"
    r"|hostname {4}(?P<host>[\w.-]{1,253})\s*"
    r"|(?:[a-z]|[A-Z]{2,8}_ARCH)[\w:./-]{0,79}(?: {4}(?!\s*[\d.]{1,20}(?:\s{1,20}[\d.]{1,20}){3})\S.*)?"
)
_SAVED_MOUNT = (
    r"(?P<device>/dev/\S{1,200}) (?:[\d.]{1,12}[KMGTP]? ){3}\d{1,3}% "
    r"(?P<at>/\S{0,400}) on (?P=at) type \S.{0,400}"
)


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    if re.match(f"{_SAVED}$|{_SAVED_MOUNT}", lines[0].text):
        return _saved(lines, source)
    devices: list[Device] = []
    used = 1
    for line in lines[1:MAX_BLOCK_LINES]:
        stated = origin("pt-summary", source, line)
        if match := re.fullmatch(_QUEUE, line.text):
            name, size = match["device"].replace("!", "/"), int(match["size"])
            devices.append(describe(name, stated, scheduler=match["scheduler"], nr_requests=size))
        elif match := re.fullmatch(_MOUNT, line.text):
            devices.append(describe(bare_name(match["device"]), stated, mountpoints=(match["at"],)))
        elif not re.fullmatch(_OTHER, line.text):
            break
        used += 1
    title = lines[0].text.strip("# ")
    return ContextBlock(used, tuple(devices), layout=title if devices else f"{title}: not read")


def _saved(lines: Sequence[Line], source: str) -> ContextBlock:
    """The file `summary`, which names the host, or lines of `mounted_fs`."""
    devices: list[Device] = []
    host, used = "", 0
    pattern = _SAVED_MOUNT if lines[0].text.startswith("/") else _SAVED_LINE
    for line in lines[:MAX_BLOCK_LINES]:
        match = re.fullmatch(pattern, line.text)
        if not match:
            break
        used += 1
        named = match.groupdict()
        stated = origin("pt-summary", source, line)
        host = named.get("host") or host
        if at := named.get("at"):
            devices.append(describe(bare_name(named["device"]), stated, mountpoints=(at,)))
        elif named["device"]:
            name, size = named["device"].replace("!", "/"), int(named["size"])
            devices.append(describe(name, stated, scheduler=named["scheduler"], nr_requests=size))
    return ContextBlock(used, tuple(devices), layout="saved samples", host=host)


FORMAT = ContextFormat(
    id="pt-summary",
    title="pt-summary: schedulers, queue sizes and file systems",
    example=(
        "# Disk Schedulers And Queue Size #############################\n"
        "         sda | [deadline] 128\n"
        "     nvme0n1 | [none] 255\n"
    ),
    starts=re.compile(rf"{_SECTION}|^{_SAVED}$|^{_SAVED_MOUNT}$"),
    read=_read,
    releases="Percona Toolkit 2 and 3",
    not_read="vmstat, which it rounds; processors, RAID controllers, LVM as it sums them up",
)
