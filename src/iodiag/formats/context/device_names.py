"""Listings that tie a device's names to each other: /proc/partitions, `ls -l /dev/mapper`, blockdev.

`ls -l` shows the links of /dev/mapper, /dev/vg and /dev/disk/by-* (`vg0-data -> ../dm-8`), or
before udev's links the device numbers (`brw-rw---- … 253, 8 … vg0-data`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import (
    bare_name,
    describe,
    device_numbers,
    origin,
    solid,
    volume_aliases,
)
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.topology import Device
from iodiag.model.units import KB_PER_SECTOR

_PARTITIONS = r"^\s*major\s+minor\s+#blocks\s+name\s*$"
_PARTITION = (
    r"^\s*(?P<major>\d{1,4})\s+(?P<minor>\d{1,7})\s+(?P<kb>\d{1,18})\s+(?P<name>[A-Za-z][\w/!-]*)\s*$"
)
_REPORT = r"^\s*RO\s+RA\s+SSZ\s+BSZ\s+Start(?:Sec|Sector)\s+Size\s+Device\s*$"
_REPORTED = (
    r"^\s*(?:rw|ro)\s+(?P<ahead>\d{1,9})\s+\d{1,6}\s+\d{1,9}\s+\S{1,20}\s+(?P<size>\d{1,20})\s+"
    r"(?P<path>/dev/\S+)\s*$"
)
_MODE = r"^\s*[lb](?:[r-][w-][xsStT-]){3}[.+@]?\s+\d{1,4}\s+\S+\s+\S+\s+"
_LINK = (
    _MODE + r"\d{1,9}\s+(?P<date>\S.{5,40}?)\s(?P<link>\S{1,200}) -> "
    r"(?P<target>(?:\.\./)*(?:/dev/)?[\w/-]{2,64})\s*$"
)
_NODE = _MODE + r"(?P<major>\d{1,4}), ?(?P<minor>\d{1,7})\s+\S.{5,40}?\s(?P<name>\S{1,200})\s*$"
_OTHER = r"^\s*(?:total \d+|c(?:[r-][w-][x-]){3}.*|/dev/\S*:|d(?:[r-][w-][x-]){3}.*)\s*$"
_MIN_MAPPED_MAJOR = 230


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    first = lines[0].text
    patterns = {_PARTITIONS: (_PARTITION,), _REPORT: (_REPORTED,)}
    row_patterns = next((rows for head, rows in patterns.items() if re.match(head, first)), (_LINK, _NODE))
    devices: list[Device] = []
    folder = ""
    used = 0
    for at, line in solid(lines):
        match = next((m for pattern in row_patterns if (m := re.match(pattern, line.text))), None)
        if match:
            devices += _device(match, folder, origin("device-names", source, line))
        elif re.match(_OTHER, line.text):
            if line.text.strip().startswith("/"):
                if at > 1 and not devices:
                    return None
                folder = bare_name(line.text.strip().rstrip(":"))
        elif at > 1:
            break
        used = at
    return ContextBlock(used, tuple(devices), layout="device-names") if devices else None


def _device(match: re.Match[str], folder: str, stated: str) -> list[Device]:
    found = match.groupdict()
    if "kb" in found:
        numbers = device_numbers(found["major"], found["minor"])
        return [describe(found["name"].replace("!", "/"), stated, numbers, size_kb=float(found["kb"]))]
    if "ahead" in found:
        return [
            describe(
                bare_name(found["path"]),
                stated,
                read_ahead_kb=int(found["ahead"]) * KB_PER_SECTOR,
                size_kb=int(found["size"]) / 1024,
            )
        ]
    if "link" in found:
        target = bare_name(found["target"].rsplit("/", 1)[-1])
        link = bare_name(found["link"])
        is_dm = target.startswith("dm-")
        group = folder if is_dm and re.fullmatch(r"(?!mapper|disk)[\w.+-]+", folder) else ""
        aliases = [f"{group}/{link}"] if group and "/" not in link else [link, *volume_aliases(link)]
        return [describe(target, stated, aliases, kind="dm" if is_dm else None)]
    major = int(found["major"])
    is_mapped = major >= _MIN_MAPPED_MAJOR and (folder == "mapper" or "/mapper/" in found["name"])
    name = bare_name(found["name"])
    aliases = [
        *device_numbers(major, found["minor"], is_mapped),
        *(volume_aliases(name) if is_mapped else ()),
    ]
    return [describe(name, stated, aliases, kind="dm" if is_mapped else None)]


FORMAT = ContextFormat(
    id="device-names",
    title="/proc/partitions, ls -l /dev/mapper, blockdev --report: names of devices",
    example="lrwxrwxrwx. 1 root root 7 Nov 20 12:00 /dev/mapper/vg0-data -> ../dm-8\n",
    starts=re.compile(
        rf"{_PARTITIONS}|{_REPORT}|^\s*/dev/[\w.+/-]{{1,100}}:\s*$"
        r"|^\s*l(?:[r-][w-][xsStT-]){3}[.+@]?\s.{10,300} -> (?:\.\./)*(?:/dev/)?(?:dm-|md|[sv]d|nvme)\w"
        r"|^\s*b(?:[r-][w-][xsStT-]){3}[.+@]?\s+\d{1,4}\s+\S+\s+\S+\s+\d{1,4}, ?\d{1,7}\s"
    ),
    read=_read,
    releases="Linux 2.4 and later",
)
