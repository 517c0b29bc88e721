"""Values of /sys/block: queue settings, md attributes, device-mapper names.

Read are the dumps that people make: `grep . /sys/block/*/queue/*` (path:value), the same with
`: ` or ` = `, `head`/`tail -n +1` (==> path <==, then the value), a subsection of MongoDB's mdiag,
`cat path` with its one line of output, and lines of a device and its schedulers (`sda: noop [cfq]`).
Of a list of choices the one in brackets is in force.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from iodiag.formats.context._common import (
    Values,
    describe,
    fact,
    integer,
    level_of,
    origin,
    parse_number,
    volume_aliases,
)
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact
from iodiag.model.topology import Device
from iodiag.model.units import KB_PER_SECTOR

_ATTRIBUTE = (
    r"(?:/sys/(?:class/)?block/(?:[\w!.-]{1,64}/)??|/sys/devices/\S{1,200}?/block/(?:[\w!.-]{1,64}/)??)?"
    r"(?P<device>[A-Za-z][\w!.-]{0,63})/"
    r"(?P<key>(?:queue|md|dm|device|bcache)/[a-z_]{2,40}|size|dev|ro|removable|alignment_offset)"
)
_PAIR = rf"^\s*{_ATTRIBUTE}\s*(?::\s?|=\s?|\s)(?P<value>.*?)\s*$"
_HEADING = rf"^\s*(?:==>|--> start subsection) {_ATTRIBUTE} <(?:==|--)\s*$"
_COMMAND = rf"^.{{0,120}}\b(?:cat|head|tail -n \+1) {_ATTRIBUTE}\s*$"
_SCHEDULERS = r"(?:none|noop|deadline|cfq|mq-deadline|bfq|kyber|anticipatory|adios)"
_BRIEF = (
    r"^\s*(?:/dev/)?(?P<device>(?:sd|hd|vd|xvd)[a-z]{1,3}|nvme\d{1,3}n\d{1,3}|md\d{1,4}|dm-\d{1,5})\s*[: ]\s*"
    rf"(?P<value>(?:{_SCHEDULERS}\s+){{0,6}}\[{_SCHEDULERS}\](?:\s+{_SCHEDULERS}){{0,6}})\s*$"
)

_QUEUE_FACTS = (
    "max_sectors_kb max_hw_sectors_kb physical_block_size minimum_io_size optimal_io_size nomerges "
    "rq_affinity io_poll wbt_lat_usec zoned fua dax"
)
_MD_FACTS = "stripe_cache_size sync_action degraded mismatch_cnt array_state sync_speed"


class _Value(NamedTuple):
    text: str
    line: Line


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    found: dict[str, dict[str, _Value]] = {}
    at = used = 0
    while at < len(lines):
        text = lines[at].text
        heading = re.match(_HEADING, text) or re.match(_COMMAND, text)
        brief = re.match(_BRIEF, text)
        pair = None if heading else brief or re.match(_PAIR, text)
        if heading and at + 1 < len(lines) and lines[at + 1].text.strip():
            match, value, at = heading, lines[at + 1].text.strip(), at + 1
        elif heading:
            match, value = heading, ""
        elif pair:
            match, value = pair, pair["value"]
        elif not text.strip():
            at += 1
            continue
        else:
            break
        if value:
            attributes = found.setdefault(match["device"].replace("!", "/"), {})
            key = "queue/scheduler" if brief else match["key"]
            attributes.setdefault(key, _Value(value, lines[at]))
        at += 1
        used = at
    if not found:
        return None
    devices = tuple(_device(name, attributes, source) for name, attributes in found.items())
    facts = tuple(f for name, attributes in found.items() if (f := _fact(name, attributes, source)))
    return ContextBlock(used, devices, facts, layout="sysfs")


def _chosen(text: str | None) -> str | None:
    """The choice in brackets, or the only word."""
    if not text:
        return None
    bracketed = re.search(r"\[([^\[\]]{1,40})\]", text)
    return bracketed[1] if bracketed else text if " " not in text else None


def _device(name: str, attributes: Mapping[str, _Value], source: str) -> Device:
    """The device, each field with the line of its own attribute as origin."""
    values = {key: value.text for key, value in attributes.items()}
    is_md = any(key.startswith("md/") for key in values)
    mapper = values.get("dm/name", "")
    chunk = integer(values.get("md/chunk_size"))
    sectors = integer(values.get("size"))
    action = values.get("md/sync_action")
    slots, degraded = integer(values.get("md/raid_disks")), integer(values.get("md/degraded"))
    level = level_of(values.get("md/level", ""))
    known = {
        "kind": ("md" if is_md else "dm" if mapper else None, "md/level" if is_md else "dm/name"),
        "level": (level, "md/level"),
        "chunk_kb": (chunk / 1024 if chunk else None, "md/chunk_size"),
        "slots": (slots, "md/raid_disks"),
        "copies": (slots if level == "raid1" else None, "md/raid_disks"),
        "active_slots": (slots - degraded if slots and degraded is not None else None, "md/degraded"),
        "activity": (_activity(action), "md/sync_action"),
        "rotational": ({"0": False, "1": True}.get(values.get("queue/rotational", "")), "queue/rotational"),
        "scheduler": (_chosen(values.get("queue/scheduler")), "queue/scheduler"),
        "nr_requests": (integer(values.get("queue/nr_requests")), "queue/nr_requests"),
        "read_ahead_kb": (parse_number(values.get("queue/read_ahead_kb")), "queue/read_ahead_kb"),
        "write_cache": (values.get("queue/write_cache"), "queue/write_cache"),
        "size_kb": (sectors * KB_PER_SECTOR if sectors else None, "size"),
        "alignment": (parse_number(values.get("alignment_offset")), "alignment_offset"),
        "model": (values.get("device/model"), "device/model"),
    }
    aliases = [values.get("dev", ""), mapper, *volume_aliases(mapper)]
    device = describe(name, "", aliases, **{field: value for field, (value, _) in known.items()})
    first = next(iter(attributes.values()))
    provenance = {
        field: origin("sysfs", source, attributes.get(known[field][1], first).line)
        for field in device.provenance
    }
    return Device(**{**vars(device), "provenance": provenance})


def _activity(action: str | None) -> str | None:
    return {"recover": "recovery", "idle": None, "frozen": None}.get(action or "", action)


def _fact(name: str, attributes: Mapping[str, _Value], source: str) -> Fact | None:
    """The settings for which a device has no field."""
    wanted = [f"queue/{key}" for key in _QUEUE_FACTS.split()] + [f"md/{key}" for key in _MD_FACTS.split()]
    said = {key: attributes[key] for key in wanted if key in attributes}
    if not said:
        return None
    values: Values = {"device": name}
    for key, value in said.items():
        plain = parse_number(value.text)
        values[key.partition("/")[2]] = value.text if plain is None else plain
    text = "{device} had " + ", ".join(f"{key.partition('/')[2]} {value.text}" for key, value in said.items())
    lines = sorted((value.line for value in said.values()), key=lambda line: line.number)
    return fact("sysfs", text, values, source, lines)


FORMAT = ContextFormat(
    id="sysfs",
    title="/sys/block: queue settings and md attributes",
    example=(
        "/sys/block/sda/queue/rotational:1\n"
        "/sys/block/sda/queue/scheduler:noop [deadline] cfq\n"
        "/sys/block/sda/queue/nr_requests:128\n"
        "/sys/block/md0/md/stripe_cache_size:256\n"
    ),
    starts=re.compile(
        r"^\s*(?:==> |--> start subsection )?(?:/sys/\S{1,200}|[a-z][\w!.-]{0,63})/(?:queue|md|dm)/"
        r"[a-z_]{2,40}(?:\s*[:= ]| <(?:==|--))"
        r"|^\s*/sys/(?:class/)?block/[\w!.-]{1,64}/(?:size|dev|ro|removable|device/model)\s*[:= ]"
        r"|^\s*/sys/(?:class/)?block/(?:[\w!.-]{1,64}/){1,2}alignment_offset\s*[:= ]"
        r"|\b(?:cat|head|tail -n \+1) /sys/\S{1,200}/(?:queue|md|dm)/[a-z_]{2,40}\s*$"
        rf"|{_BRIEF}"
    ),
    read=_read,
    releases="Linux 2.6.18 and later",
    not_read="single files of an archive, whose path alone says what they are",
)
