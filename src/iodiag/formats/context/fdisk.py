"""fdisk -l: partitions, where they start, and whether that is a boundary of the disk's physical sectors.

The rows tell by themselves, in any language: a start in sectors, whose sizes stand in the line with two of
them. Where the unit is a cylinder (before util-linux 2.23) the sentence at the end tells.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import bare_name, describe, origin
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.topology import MISALIGNED

_DISK = r"^Dis[ck] (?P<path>/dev/[\w/.:+-]{1,100}): .{1,80}?[ ,](?P<bytes>\d{1,20}) [Bb]ytes\b"
_SECTORS = r"^[^\d]{1,80}: (?P<logical>\d{1,6}) [Bb]ytes / (?P<physical>\d{1,6}) [Bb]ytes\s*$"
_OFFSET = r"^Alignment offset: (?P<offset>\d{1,7}) bytes"
_ROW = r"^(?P<path>/dev/[\w/.:+-]{1,100})\s+(?:\*\s+)?(?P<start>\d{1,20})\+?\s+(?P<end>\d{1,20})[+-]?\s+\d"
_SENTENCE = r"^Partition (?P<number>\d{1,5}) does not start on physical sector boundary"
_KNOWN = (
    r"^(?:\d+ heads, |Units\b|Disk (?:model|identifier|label)|Disklabel type|I/O size|"
    r"Partition \d+ does not|Partition table entries are not in)"
)
_SETTING = r"^[^\d:=]{3,40}[:=] \S"
MOST_LINES = 300


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    disk = re.match(_DISK, lines[0].text)
    if disk is None:
        return None
    texts = [line.text.strip() for line in lines[:MOST_LINES]]
    rows: dict[int, re.Match[str]] = {}
    used = 1
    for at, text in enumerate(texts[1:], 1):
        row = _row(text, disk["path"])
        is_heading = not rows and at + 1 < len(texts) and _row(texts[at + 1], disk["path"])
        if row:
            rows[at] = row
        elif re.match(_DISK, text):
            break
        elif not (
            is_heading or re.match(_KNOWN, text) or re.match(_SECTORS, text) or re.match(_OFFSET, text)
        ):
            # in another language its settings are known by the rows behind them alone
            if text and (rows or not re.match(_SETTING, text)):
                break
            continue
        used = at + 1
    own = texts[1:used]
    # the first line of two sizes is of sectors, the next of I/O; cylinders are no multiple of these
    is_cylinders = any("cylinders of" in text for text in own)
    sizes = None if is_cylinders else next(filter(None, (re.match(_SECTORS, text) for text in own)), None)
    offset = next((int(found["offset"]) for text in own if (found := re.match(_OFFSET, text))), 0)
    told = {found["number"] for text in own if (found := re.match(_SENTENCE, text))}
    name = bare_name(disk["path"])
    devices = [describe(name, origin("fdisk", source, lines[0]), size_kb=int(disk["bytes"]) / 1024)]
    for at, row in rows.items():
        begin, end = int(row["start"]), int(row["end"])
        number = re.search(r"\d+$", row["path"])
        alignment = MISALIGNED if number and number.group() in told else None
        size = None
        if sizes is not None:
            logical, physical = int(sizes["logical"]), max(1, int(sizes["physical"]))
            alignment, size = float((offset - begin * logical) % physical), (end - begin + 1) * logical / 1024
        stated = origin("fdisk", source, lines[at])
        known = {"members": (name,), "alignment": alignment, "size_kb": size}
        devices.append(describe(bare_name(row["path"]), stated, (), kind="partition", **known))
    return ContextBlock(used, tuple(devices), layout="fdisk")


def _row(text: str, disk: str) -> re.Match[str] | None:
    """The row of a partition of this disk: that of df has the disk's name and two numbers as well."""
    row = re.match(_ROW, text)
    return row if row and row["path"].startswith(disk) and int(row["end"]) >= int(row["start"]) else None


FORMAT = ContextFormat(
    id="fdisk",
    title="fdisk -l: where partitions start",
    example=(
        "Disk /dev/sdb: 7.3 TiB, 8001563222016 bytes, 15628053168 sectors\n"
        "Units: sectors of 1 * 512 = 512 bytes\n"
        "Sector size (logical/physical): 512 bytes / 4096 bytes\n"
        "\n"
        "Device     Start         End     Sectors  Size Type\n"
        "/dev/sdb1     63 15628050431 15628050369  7.3T Linux filesystem\n"
        "\n"
        "Partition 1 does not start on physical sector boundary.\n"
    ),
    starts=re.compile(_DISK),
    read=_read,
    releases="util-linux 2.17 and later",
    not_read="types and identifiers of partitions; parted's listing",
)
