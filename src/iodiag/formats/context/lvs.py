"""LVM2's lvs, pvs and vgs: logical volumes, their type and what they stand on.

The columns are those of `-o`, found by their header words: a cell can be empty. An LV has one
row per segment where segment columns are shown. `raid5` volumes stand on `data_rimage_0(0)` …,
which stand on disks; `-a` prints these as `[data_rimage_0]`. Sizes are powers of 1024 (a
capital suffix means powers of 1000). `--reportformat json` and `--separator` are read as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from iodiag.formats.context._common import (
    MAX_BLOCK_LINES,
    Values,
    bare_name,
    cells_of,
    columns_of,
    describe,
    device_numbers,
    fact,
    integer,
    json_object,
    level_of,
    mapper_name,
    origin,
    parse_number,
    size_kb,
)
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact
from iodiag.model.topology import Device

_WORDS = """
LV VG Attr LSize Pool Origin Data% Meta% Snap% Move Log Cpy%Sync Copy% Convert Devices Type #Str #DStr Stripe
Region Chunk Start SSize Path DMPath KMaj KMin Maj Min Layout Role KRahead Rahead #Seg Health SyncAction
Mismatches PV Fmt PSize PFree Used DevSize #PV #LV #SN VSize VFree Ext #Ext Free PE Alloc LV_UUID PV_UUID
VG_UUID PE_Ranges
"""
_KEYS = ("LV", "PV", "VG")
_SHAPES = {
    "Attr": r"[A-Za-z-]{3,12}",
    **dict.fromkeys(("LSize", "PSize", "VSize"), r"[<>]?[\d.,]+[a-zA-Z]?"),
    "Fmt": r"lvm[12]",
    **dict.fromkeys(("#Str", "#PV", "#LV"), r"\d+"),
    "Type": r"[a-z][\w-]*",
    "Stripe": r"[\d.,]+[a-zA-Z]?",
}
_IN_JSON = """
lv_name=LV vg_name=VG pv_name=PV lv_attr=Attr lv_size=LSize pv_size=PSize vg_size=VSize origin=Origin
pool_lv=Pool data_percent=Data% metadata_percent=Meta% copy_percent=Cpy%Sync sync_percent=Cpy%Sync
devices=Devices segtype=Type stripes=#Str stripe_size=Stripe lv_kernel_major=KMaj lv_kernel_minor=KMin
raid_sync_action=SyncAction pv_count=#PV
"""
_JSON_WORDS = dict(pair.split("=") for pair in _IN_JSON.split())


class _Row(NamedTuple):
    values: Mapping[str, str]
    line: Line


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    if '"report"' in lines[0].text:
        used, rows = _json_rows(lines)
    else:
        used, rows = _table_rows(lines)
    if not rows:
        return None
    devices = [*_volumes(rows, source), *_physical_volumes(rows, source)]
    facts = tuple(_facts(rows, source))
    return ContextBlock(used, tuple(devices), facts, layout="pvs" if "PV" in rows[0].values else "lvs")


def _table_rows(lines: Sequence[Line]) -> tuple[int, list[_Row]]:
    header = re.sub(r"\b(LV|VG|PV|PE) (UUID|Tags|Profile|Ranges|Time|Host)\b", r"\1_\2", lines[0].text)
    separator = _separator(header)
    columns = columns_of(header.replace(separator, " ") if separator else header)
    words = tuple(column.word for column in columns)
    known = [word for word in words if word in _WORDS.split()]
    if len(known) < max(3, len(words) / 2) or not set(words) & set(_KEYS):
        return 0, []
    rows: list[_Row] = []
    for line in lines[1:MAX_BLOCK_LINES]:
        if separator:
            cells = [cell.strip() for cell in line.text.split(separator)]
            values = dict(zip(words, cells, strict=False)) if len(cells) == len(words) else {}
        else:
            found = cells_of(columns, line.text.rstrip()) or {}
            values = {words[i]: cell.text for i, cell in found.items()}
        if not _is_row(words, values):
            values = _dealt(words, line.text.split())
        if not values:
            break
        rows.append(_Row(values, line))
    return len(rows) + 1, rows


def _separator(header: str) -> str:
    match = re.match(r"\s*[#A-Z]\w*([,;|:\t])[#A-Z]\w*\1", header)
    return match[1] if match else ""


def _is_row(words: Sequence[str], values: Mapping[str, str]) -> bool:
    return (
        bool(values.get(next(word for word in words if word in _KEYS)))
        and any(word in _SHAPES and value for word, value in values.items())
        and all(re.fullmatch(_SHAPES.get(w, ".*"), v) for w, v in values.items() if v)
    )


def _dealt(words: Sequence[str], tokens: Sequence[str]) -> dict[str, str]:
    """A row whose alignment is lost, dealt out by shape, if its cells allow only one way to do it."""
    kept = [word for word in words if word in (*_SHAPES, *_KEYS, "Devices")]
    values: dict[str, str] = {}
    rest = list(tokens)
    for word in kept:
        shape = r"\S+\(\d+\)(?:,\S+\(\d+\))*" if word == "Devices" else _SHAPES.get(word, r"[\w.+/\[\]-]+")
        while rest and word in ("Devices", "Stripe", "#Str", "Type") and not re.fullmatch(shape, rest[0]):
            rest.pop(0)
        if not rest or not re.fullmatch(shape, rest[0]):
            return {}
        values[word] = rest.pop(0)
    return values if _is_row(words, values) else {}


def _json_rows(lines: Sequence[Line]) -> tuple[int, list[_Row]]:
    decoded = json_object(lines, "report")
    if decoded is None:
        return 0, []
    rows = []
    for report in decoded.items("report"):
        lists = report.values() if isinstance(report, dict) else ()
        for item in (item for items in lists if isinstance(items, list) for item in items):
            if isinstance(item, dict):
                named = {
                    _JSON_WORDS.get(str(key), str(key)): str(value) for key, value in item.items() if value
                }
                rows.append(_Row(named, lines[0]))
    return decoded.used, [row for row in rows if set(row.values) & set(_KEYS)]


def _volume_name(row: _Row, volume: str) -> str:
    group = row.values.get("VG")
    return mapper_name(group, volume) if group else volume.strip("[]")


def _volumes(rows: Sequence[_Row], source: str) -> Iterator[Device]:
    """One device per LV; the rows of its segments are put together."""
    segments: dict[str, list[_Row]] = {}
    for row in rows:
        if row.values.get("LV"):
            segments.setdefault(_volume_name(row, row.values["LV"]), []).append(row)
    for name, parts in segments.items():
        values = parts[0].values
        stripe = size_kb(values.get("Stripe"))
        members = tuple(dict.fromkeys(member for part in parts for member in _legs(part)))
        level = _level(parts, members)
        is_array = level is not None and re.match("raid|striped", level)
        major, minor = integer(values.get("KMaj")), integer(values.get("KMin"))
        aliases = [f"{values['VG']}/{values['LV'].strip('[]')}"] if values.get("VG") else []
        aliases += device_numbers(major, minor, True) if major is not None and minor is not None else ()
        yield describe(
            name,
            origin("lvs", source, parts[0].line),
            aliases,
            kind="lvm",
            level=level,
            chunk_kb=stripe if stripe and level != "linear" else None,
            copies=integer(values.get("#Str")) if level == "raid1" else None,
            members=members,
            slots=integer(values.get("#Str")) if is_array else None,
            activity=_activity(level, values),
            size_kb=size_kb(values.get("LSize")),
        )


def _legs(row: _Row) -> Iterator[str]:
    """What a segment stands on: `data_rimage_0(0)` is a volume of the same group, `/dev/sda(1)` a disk."""
    words = row.values.get("Devices", "")
    for word in re.findall(r"([^\s,()]+)\(\d+\)", words):
        yield bare_name(word) if word.startswith("/dev/") else _volume_name(row, word)
    if "PV" in row.values and not words:
        yield bare_name(row.values["PV"])


_ATTRIBUTES = {
    **dict.fromkeys("rR", "raid"),
    **dict.fromkeys("mM", "raid1"),
    **dict.fromkeys("sS", "snapshot"),
    "t": "thin-pool",
    "V": "thin",
    "C": "cache",
    "d": "vdo-pool",
    "v": "vdo",
}
"""The first letter of lv_attr, where the type is not shown (lvs(8), "lv_attr bits")."""


def _level(parts: Sequence[_Row], members: Sequence[str]) -> str | None:
    kinds = [level for part in parts if (level := level_of(part.values.get("Type", "")))]
    if parts[0].values.get("Attr", "")[:1] in ("o", "O") and set(kinds) <= {"linear", "striped"}:
        return "snapshot-origin"
    if kinds:
        return kinds[0] if len(set(kinds)) == 1 else "linear" if set(kinds) <= {"linear", "striped"} else None
    values = parts[0].values
    known = _ATTRIBUTES.get(values.get("Attr", "")[:1])
    if known or not values.get("Devices"):
        return known
    widest = max(len(list(_legs(part))) for part in parts)
    return "striped" if widest > 1 else "linear" if members else None


def _activity(level: str | None, values: Mapping[str, str]) -> str | None:
    share = parse_number(values.get("Cpy%Sync") or values.get("Copy%"))
    if share is None or share >= 100 or not (level or "").startswith("raid"):
        return None
    action = {"recover": "recovery", "check": "check", "repair": "repair", "reshape": "reshape"}
    return f"{action.get(values.get('SyncAction', ''), 'resync')} {share:g}%"


def _physical_volumes(rows: Sequence[_Row], source: str) -> Iterator[Device]:
    for row in rows:
        path = row.values.get("PV", "")
        if path.startswith("/dev/"):
            size = size_kb(row.values.get("PSize"))
            yield describe(bare_name(path), origin("lvs", source, row.line), size_kb=size)


def _facts(rows: Sequence[_Row], source: str) -> Iterator[Fact]:
    """What groups there are and what they lie on: no device, but what joins volumes and disks."""
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        if row.values.get("VG") and ("LV" not in row.values or "PV" in row.values):
            groups.setdefault(row.values["VG"], []).append(row)
    for group, own in groups.items():
        disks = list(dict.fromkeys(bare_name(row.values["PV"]) for row in own if "PV" in row.values))
        count = float(len(disks)) if disks else parse_number(own[0].values.get("#PV"))
        lower = "{disks,}" if disks else f"{count or 0:g} physical volumes"
        text = f"volume group {{volume_group}} lay on {lower}"
        values = {"volume_group": group, "physical_volumes": count, "disks": " ".join(disks) or None}
        yield fact("lvs", text, values, source, [row.line for row in own])
    yield from _pools(rows, source)


def _pools(rows: Sequence[_Row], source: str) -> Iterator[Fact]:
    """How full each thin pool is; of thin volumes Data% says what is mapped, which harms nobody."""
    for row in rows:
        values = row.values
        if not (values.get("Attr", "")[:1] == "t" or values.get("Type") == "thin-pool"):
            continue
        data, metadata = (parse_number(values.get(word)) for word in ("Data%", "Meta%"))
        if data is not None and values.get("VG") and values.get("LV"):
            name = mapper_name(values["VG"], values["LV"])
            text = f"data of thin pool {{device}} was {data:g} % full"
            text += f", its metadata {metadata:g} %" if metadata is not None else ""
            said: Values = {"device": name, "data_pct": data, "metadata_pct": metadata}
            yield fact("thin-pool", text, said, source, [row.line])


FORMAT = ContextFormat(
    id="lvs",
    title="lvs, pvs and vgs: logical volumes, their type and what they stand on",
    example=(
        "  LV         VG  Attr       LSize Cpy%Sync Devices                 #Str Type  \n"
        "  fast       vg0 -wi-ao---- 4.00g          /dev/sda(0),/dev/sdb(0)    2 striped\n"
        "  root       vg0 -wi-ao---- 4.00g          /dev/sda(1024)             1 linear\n"
    ),
    starts=re.compile(
        r"^(?=.{6,2000}$)\s*(?:(?:LV|PV|VG|Devices|Type|Attr)[ \t,;|:]+)+(?:VG|PV|LV|LV UUID|Fmt|Attr|#PV|"
        r"LSize|PSize|VSize|Devices|Type|Path|#Str|KMaj|DMPath)\b|\"report\"\s*:\s*\["
    ),
    read=_read,
    releases="LVM2 2.02 and later",
    not_read="--noheadings: nothing names the columns",
)
