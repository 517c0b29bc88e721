"""lsblk(8) of util-linux 2.19 and later: which block device stands on which.

Read are the tree (Unicode or ASCII art), the lists of `-l` and `-r`, the pairs of `-P` and the
JSON of `-J`, with any columns in any order (`-o`, `-t`, `-f`, `-O`). A device that stands on
several others is printed once below each of them. `-s` turns the tree round: there the disks
are the leaves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from iodiag.formats.context._common import (
    MAX_BLOCK_LINES,
    Cell,
    Column,
    bare_name,
    cells_of,
    columns_of,
    describe,
    device_numbers,
    integer,
    json_object,
    level_of,
    origin,
    parse_number,
    size_kb,
    volume_aliases,
)
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.topology import Device

_SHAPES = {
    "MAJ:MIN": r"\d{1,4}:\d{1,7}",
    "TYPE": r"disk|part|lvm|crypt|dm|mpath|loop|rom|dmraid|linear|raid\d+|raid|md|swap|zoned|tape|"
    r"(?:virt|ata|scsi|usb)?disk|container",
    **dict.fromkeys(("RM", "RO", "ROTA", "RAND", "HOTPLUG", "DISC-ZERO", "DAX"), r"[01]"),
    "SIZE": r"\d+(?:[.,]\d+)?[BKMGTPE]?",
    **dict.fromkeys(("RA", "RQ-SIZE", "PHY-SEC", "LOG-SEC", "MIN-IO", "OPT-IO", "DISC-ALN"), r"\d+"),
    "ALIGNMENT": r"-?\d+",
    "SCHED": r"none|noop|deadline|cfq|mq-deadline|bfq|kyber|anticipatory|adios",
    **dict.fromkeys(("MOUNTPOINT", "MOUNTPOINTS"), r"/.*|\[SWAP\]"),
    "FSTYPE": r"[A-Za-z][\w.-]*",
    "FSVER": r"[\w.]+",
    "STATE": r"live|running|suspended|offline",
    "TRAN": r"sata|sas|nvme|usb|iscsi|fc|virtio|ata|spi|mmc",
    "HCTL": r"\d+:\d+:\d+:\d+",
    "DISC-GRAN": r"\d+[BKMG]?",
    **dict.fromkeys(("DISC-MAX", "WSAME"), r"\d+(?:\.\d+)?[BKMGT]?"),
    "FSUSE%": r"\d+%",
}
"""What a cell of a column looks like; columns that are not here can hold anything."""

_FREE_WORDS = (
    "NAME KNAME PATH PKNAME MODEL SERIAL LABEL UUID FSAVAIL FSSIZE FSUSED FSROOTS PTUUID PTTYPE PARTTYPE "
    "PARTTYPENAME PARTLABEL PARTUUID PARTFLAGS PARTN PARTNO OWNER GROUP MODE WWN SUBSYSTEMS REV VENDOR ZONED "
    "ZONE-SZ ZONE-WGRAN ZONE-APP ZONE-NR ZONE-OMAX ZONE-AMAX START ID ID-LINK DISK-SEQ MQ"
)
_WORDS = {*_SHAPES, *_FREE_WORDS.split()}
_NAME_WORDS = ("NAME", "KNAME", "PATH")
_USUAL = ("NAME", "MAJ:MIN", "RM", "SIZE", "RO", "TYPE", "MOUNTPOINT")
"""The columns without options, which tell themselves where the header was left out."""

_USUAL_ROW = r"\s+".join(
    (r"^\s*[a-z][\w-]*", *(_SHAPES[word] for word in _USUAL[1:5]), r"(?:disk|part|lvm|loop|rom|raid\d+)\b")
)
_ART = r"[\s│├└─┬┌┈▶|`+-]*"
_DEVICE_NAME = r"(?:/dev/)?[A-Za-z0-9][\w.+:!/@-]*"
_PAIR = r'(?<![A-Z0-9:%_-])([A-Z][A-Z0-9:%_-]*)="((?:[^"\\]|\\.)*)"'

_KINDS = {"part": "partition", "lvm": "lvm", "crypt": "crypt", "mpath": "multipath", "dm": "dm"}
_MAPPED = ("lvm", "crypt", "mpath", "dm", "dmraid")
_DM_NAME = r"dm-\d+"


class _Row(NamedTuple):
    values: Mapping[str, str]
    name: str
    depth: int
    line: Line
    is_last: bool = False
    """Whether the art in front says that nothing else stands on the same device (└─)."""


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    first = lines[0].text
    if '"blockdevices"' in first:
        return _read_json(lines, source)
    if re.search(_PAIR, first):
        return _read_pairs(lines, source)
    if re.match(_USUAL_ROW, first):
        return _read_without_header(lines, source)
    return _read_table(lines, source)


def _read_table(lines: Sequence[Line], source: str) -> ContextBlock | None:
    columns = columns_of(lines[0].text)
    words = [column.word for column in columns]
    if not set(words) <= _WORDS or not set(_NAME_WORDS) & set(words):
        return None
    name_at = min(words.index(word) for word in _NAME_WORDS if word in words)
    rows: list[_Row] = []
    used = 1
    is_raw = len(columns) > 1 and _is_raw(words, lines)
    for line in lines[1:MAX_BLOCK_LINES]:
        row = _raw_row(words, name_at, line) if is_raw else _table_row(columns, name_at, line, rows)
        if row is None:
            break
        used += 1
        if row.name:
            rows.append(row)
        else:
            rows[-1] = _with_mountpoint(rows[-1], row)
    return _block(used, rows, source, "tree" if any(row.depth for row in rows) else "list")


def _read_without_header(lines: Sequence[Line], source: str) -> ContextBlock | None:
    rows: list[_Row] = []
    for line in lines[:MAX_BLOCK_LINES]:
        row = _loose_row(_USUAL, 0, line) if line.text.strip() else None
        if row is None or not row.values.keys() >= {"MAJ:MIN", "TYPE"}:
            break
        rows.append(row)
    return _block(len(rows), rows, source, "tree" if any(row.depth for row in rows) else "list")


def _is_raw(words: Sequence[str], lines: Sequence[Line]) -> bool:
    """Whether single blanks part the cells (`-r`): then two of them enclose an empty one."""
    has_art = any(re.search("[├└│`|]", line.text) for line in lines[1:9])
    if lines[0].text != " ".join(words) or has_art or len(lines) < 2:
        return False
    cells = lines[1].text.rstrip().split(" ")
    return len(cells) <= len(words) and _fits(dict(zip(words, cells, strict=False)))


def _raw_row(words: Sequence[str], name_at: int, line: Line) -> _Row | None:
    text = line.text.rstrip()
    cells = [re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), cell) for cell in text.split(" ")]
    values = dict(zip(words, cells, strict=False))
    if len(cells) <= name_at or len(cells) > len(words) or not _fits(values):
        return None
    name = cells[name_at]
    return _Row(values, name, 0, line) if re.fullmatch(_DEVICE_NAME, name) else None


def _table_row(columns: Sequence[Column], name_at: int, line: Line, rows: Sequence[_Row]) -> _Row | None:
    """A row of the tree or list; one without a name holds further mount points of the one before."""
    text = line.text.rstrip()
    cells = cells_of(columns, text) if text.strip() else None
    if cells is not None:
        row = _aligned_row(columns, name_at, cells, line)
        if row and (row.name or rows):
            return row
    return _loose_row([column.word for column in columns], name_at, line) if text.strip() else None


def _aligned_row(
    columns: Sequence[Column], name_at: int, cells: Mapping[int, Cell], line: Line
) -> _Row | None:
    values = {columns[i].word: cell.text for i, cell in cells.items() if i != name_at}
    if not _fits(values):
        return None
    cell = cells.get(name_at, Cell("", 0))
    art = re.match(_ART, cell.text)
    art_length = art.end() if art else 0
    name = cell.text[art_length:]
    if not name:
        is_continuation = values and set(values) <= {"MOUNTPOINTS", "MOUNTPOINT", "FSROOTS"}
        return _Row(values, "", 0, line) if is_continuation else None
    has_shape = any(word in _SHAPES for word in values) or art_length or len(columns) == 1
    if not re.fullmatch(_DEVICE_NAME, name) or not (has_shape or _looks_like_kernel_name(name)):
        return None
    depth = max(cell.start - columns[name_at].start, 0) + art_length
    is_last = art is not None and bool(re.search("[└`]", art.group()))
    return _Row(values | {columns[name_at].word: name}, name, depth, line, is_last)


def _loose_row(words: Sequence[str], name_at: int, line: Line) -> _Row | None:
    """A row whose alignment is lost: its words are dealt out to the columns in order, by shape."""
    text = line.text.rstrip()
    art = re.match(_ART, text) if name_at == 0 else None
    is_last = art is not None and bool(re.search("[└`]", art.group()))
    depth = art.end() if art and (is_last or re.search(r"[├|]", art.group())) else 0
    tokens = text[art.end() if art else 0 :].split()
    if len(tokens) > len(words) + 8 or len(tokens) <= name_at:
        return None
    values: dict[str, str] = {}
    rest = list(tokens)
    for word in words:
        shape = _SHAPES.get(word)
        if rest and (re.fullmatch(shape, rest[0]) if shape else len(rest) >= 1):
            values[word] = rest.pop(0)
    name = values.get(words[name_at], "")
    has_shape = any(word in _SHAPES for word in values)
    if rest or not has_shape or not re.fullmatch(_DEVICE_NAME, name):
        return None
    return _Row(values, name, depth, line, is_last)


def _fits(values: Mapping[str, str]) -> bool:
    return all(not value or re.fullmatch(_SHAPES.get(word, ".*"), value) for word, value in values.items())


def _looks_like_kernel_name(name: str) -> bool:
    return bool(re.fullmatch(r"(?:sd|hd|vd|xvd)[a-z]+\d*|(?:nvme|md|dm-|loop|sr|zram|nbd)\w+", name))


def _with_mountpoint(row: _Row, more: _Row) -> _Row:
    points = [v for word, v in more.values.items() if word.startswith("MOUNT")]
    earlier = row.values.get("MOUNTPOINTS", "")
    return row._replace(values={**row.values, "MOUNTPOINTS": "\n".join([earlier, *points])})


def _read_pairs(lines: Sequence[Line], source: str) -> ContextBlock | None:
    rows = []
    for line in lines[:MAX_BLOCK_LINES]:
        pairs = {key.replace("_", "-"): value for key, value in re.findall(_PAIR, line.text)}
        values = {"MAJ:MIN" if key == "MAJ-MIN" else key: value for key, value in pairs.items()}
        name = next((values[word] for word in _NAME_WORDS if values.get(word)), "")
        if not name or len(values) < 2 or not set(values) <= {*_WORDS, "FSUSE-PCT"} or not _fits(values):
            break
        rows.append(_Row(values, name, 0, line))
    return _block(len(rows), rows, source, "pairs")


def _read_json(lines: Sequence[Line], source: str) -> ContextBlock | None:
    """The JSON object, from the line with "blockdevices" on (its opening brace may stand before)."""
    decoded = json_object(lines, "blockdevices")
    if decoded is None:
        return None
    numbered = _line_of_names(lines[: decoded.used])
    rows = list(_json_rows(decoded.items("blockdevices"), 0, numbered, lines[0]))
    return _block(decoded.used, rows, source, "json")


def _line_of_names(lines: Sequence[Line]) -> dict[str, Line]:
    """Where each name is printed first."""
    found: dict[str, Line] = {}
    for line in lines:
        for name in re.findall(r'"k?name"\s*:\s*"([^"]+)"', line.text):
            found.setdefault(name, line)
    return found


def _json_rows(items: Sequence[Any], depth: int, lines: Mapping[str, Line], first: Line) -> Iterator[_Row]:
    for item in items:
        if not isinstance(item, dict) or depth > 32:
            continue
        values = {}
        for key, value in item.items():
            word = str(key).upper()
            if isinstance(value, bool):
                values[word] = "1" if value else "0"
            elif isinstance(value, list) and word != "CHILDREN":
                values[word] = "\n".join(str(v) for v in value if v is not None)
            elif isinstance(value, str | int | float):
                values[word] = str(value)
        name = next((values[word] for word in _NAME_WORDS if values.get(word)), "")
        if name:
            yield _Row(values, name, depth, lines.get(name, first))
        children = item.get("children")
        if isinstance(children, list):
            yield from _json_rows(children, depth + 1, lines, first)


def _block(used: int, rows: Sequence[_Row], source: str, layout: str) -> ContextBlock | None:
    if not rows:
        return None
    below = _standing_on(rows)
    members: dict[str, list[str]] = {}
    for row, others in zip(rows, below, strict=True):
        members.setdefault(_key(row), []).extend(others)
    seen: dict[str, _Row] = {}
    for row in rows:
        seen.setdefault(_key(row), row)
    devices = tuple(
        _device(row, tuple(dict.fromkeys(members[key])), origin("lsblk", source, row.line))
        for key, row in seen.items()
    )
    return ContextBlock(used, devices, layout=layout)


def _key(row: _Row) -> str:
    return bare_name(row.values.get("KNAME") or row.name)


def _standing_on(rows: Sequence[_Row]) -> list[list[str]]:
    """What each row says that its device stands on: the row above it in the tree, or PKNAME.

    Nothing can follow a last branch at its own depth: where something does, the blanks in front
    were lost on the way, and it stands on that branch.
    """
    found: list[list[str]] = [[] for _ in rows]
    path: list[tuple[int, int]] = []
    is_inverse = any(row.depth and row.values.get("TYPE") == "disk" for row in rows)
    for at, row in enumerate(rows):
        while path and path[-1][0] >= row.depth:
            if path[-1][0] == row.depth > 0 and rows[path[-1][1]].is_last:
                break
            path.pop()
        if path:
            upper = path[-1][1]
            child, parent = (upper, at) if is_inverse else (at, upper)
            found[child].append(_key(rows[parent]))
        elif row.values.get("PKNAME"):
            found[at].append(bare_name(row.values["PKNAME"]))
        path.append((row.depth, at))
    return found


def _device(row: _Row, members: tuple[str, ...], stated: str) -> Device:
    values = row.values
    word = values.get("TYPE", "")
    kind = _kind(word)
    numbers = re.fullmatch(r"(\d+):(\d+)", values.get("MAJ:MIN", ""))
    name = bare_name(row.name)
    is_mapped = word in _MAPPED or bool(re.fullmatch(_DM_NAME, _key(row)))
    aliases = [bare_name(v) for w in _NAME_WORDS if (v := values.get(w))]
    aliases += device_numbers(numbers[1], numbers[2], is_mapped) if numbers else ()
    aliases += [values["HCTL"]] if values.get("HCTL") else []
    aliases += volume_aliases(name) if word == "lvm" else ()
    points = (values.get("MOUNTPOINTS") or values.get("MOUNTPOINT") or "").split("\n")
    rota = values.get("ROTA", "")
    return describe(
        _key(row),
        stated,
        [name, *aliases],
        kind=kind,
        level=level_of(word) if kind in ("md", "crypt", "multipath") else None,
        members=members,
        rotational=rota == "1" if rota in ("0", "1") else None,
        chunk_kb=_chunk_kb(values) if kind == "md" else None,
        scheduler=values.get("SCHED"),
        nr_requests=integer(values.get("RQ-SIZE")),
        read_ahead_kb=parse_number(values.get("RA")),
        size_kb=size_kb(values.get("SIZE")),
        alignment=parse_number(values.get("ALIGNMENT")),
        model=values.get("MODEL", "").strip(),
        transport=values.get("TRAN"),
        mountpoints=tuple(dict.fromkeys(p.strip() for p in points if p.strip())),
    )


def _chunk_kb(values: Mapping[str, str]) -> float | None:
    """The chunk of a striped md array: its minimum I/O size, the optimal one being a full stripe.

    Source: Documentation/ABI/stable/sysfs-block of the kernel, minimum_io_size and optimal_io_size.
    """
    chunk, stripe = integer(values.get("MIN-IO")) or 0, integer(values.get("OPT-IO")) or 0
    is_striped = chunk >= 4096 and stripe > chunk and stripe % chunk == 0
    return chunk / 1024 if is_striped and values.get("TYPE") != "raid1" else None


def _kind(word: str) -> str | None:
    if re.fullmatch(r"raid\d*|md|linear|dmraid", word):
        return "md"
    return _KINDS.get(word, word if word in ("disk", "loop") else "other" if word else None)


FORMAT = ContextFormat(
    id="lsblk",
    title="lsblk: block devices and what they stand on",
    example=(
        "NAME  MAJ:MIN RM SIZE RO TYPE  MOUNTPOINTS\n"
        "sda     8:0    0   4G  0 disk  \n"
        "`-md0   9:0    0   8G  0 raid5 /srv\n"
        "sdb     8:16   0   4G  0 disk  \n"
        "`-md0   9:0    0   8G  0 raid5 /srv\n"
    ),
    starts=re.compile(
        r"^(?=.{4,600}$)\s*(?:[A-Z][A-Z:%-]*\s+)*K?NAME(?:\s+[A-Z][A-Z:%-]*)*\s*$"
        r'|\bK?NAME="[^"]*" [A-Z][A-Z:%_-]*="|"blockdevices"\s*:|' + _USUAL_ROW
    ),
    read=_read,
    releases="util-linux 2.19 and later",
    not_read="the merged tree of -M",
)
