"""What the context formats share: origins, sizes, device names, aligned tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from iodiag.formats.types import Line
from iodiag.model.capture import Fact, SourceRef, filled
from iodiag.model.topology import Device, device_names
from iodiag.model.units import HUMAN_BYTES

MAX_BLOCK_LINES = 20_000
"""No context block is read beyond this many lines: what is longer is no listing of a host."""

Values = dict[str, float | str | None]
"""What a fact is made of, by name; None for what is not known."""


def solid(lines: Sequence[Line], most: int = MAX_BLOCK_LINES) -> Iterator[tuple[int, Line]]:
    """The lines of a block that are not blank, each with how many lines the block has up to it."""
    return ((used, line) for used, line in enumerate(lines[:most], 1) if line.text.strip())


def origin(format_id: str, source: str, line: Line) -> str:
    """Where a device's field came from, as `Device.provenance` has it."""
    return f"{format_id} {source}:{line.number}"


def describe(name: str, stated: str, aliases: Sequence[str] = (), **known: Any) -> Device:
    """A device with those of the fields that have a value, each with `stated` as its origin."""
    said = {key: value for key, value in known.items() if value not in (None, (), "")}
    others = tuple(dict.fromkeys(alias for alias in aliases if alias and alias != name))
    return Device(name, others, provenance=dict.fromkeys(said, stated), **said)


def fact(
    kind: str, text: str, values: Mapping[str, float | str | None], source: str, lines: Sequence[Line]
) -> Fact:
    """A fact that rests on `lines`; values that are None are left out.

    What `text` names stands in it as `{key}` of its value, so that it can be said under another name.
    """
    kept = {name: value for name, value in values.items() if value is not None}
    ref = SourceRef(source, lines[0].number, lines[-1].number)
    return Fact(kind, kept, filled(text, kept), ref, template=text)


def parse_number(text: str | None) -> float | None:
    """A plain decimal number, or None."""
    if not text or not re.fullmatch(r"-?\d{1,20}(\.\d{0,12})?|-?\.\d{1,12}", text.strip()):
        return None
    return float(text)


def integer(text: str | None) -> int | None:
    """A whole number without a sign, or None."""
    return int(text) if text and re.fullmatch(r"\d{1,20}", text.strip()) else None


def first_numbers(patterns: Mapping[str, str], lines: Sequence[Line]) -> tuple[Values, list[Line]]:
    """The number that each pattern captures where a line first begins so, by name; and these lines."""
    values: Values = {}
    found: list[Line] = []
    for line in lines:
        text = line.text.strip()
        for name, pattern in patterns.items():
            if name not in values and (match := re.match(pattern, text)):
                values[name] = parse_number(match[1])
                found.append(line)
    return values, found


_SIZE = r"[<>~]?\s*(\d{1,20}(?:[.,]\d{1,6})?)\s*([bBsSkKmMgGtTpPeE]?)(i?[bB](?:ytes)?)?"


def size_kb(text: str | None, bare_unit: str = "B") -> float | None:
    """A size with a suffix (4G, 64.00k, <3.64t, 512 KiB) in kB of 1024 bytes; None if it is none.

    All suffixes are powers of 1024, as lsblk, mdadm, hdparm and LVM (by default) mean them.
    `bare_unit` is the suffix that a number without one has.
    """
    match = re.fullmatch(_SIZE, (text or "").strip())
    if not match:
        return None
    suffix = (match[2] or bare_unit).upper()
    factor = 512.0 if suffix == "S" else 1024.0**6 if suffix == "E" else HUMAN_BYTES[suffix]
    return float(match[1].replace(",", ".")) * factor / 1024


def bare_name(path: str) -> str:
    """A device's name without its directory: /dev/sda, /dev/mapper/vg0-data, (sda)."""
    return path.strip().removeprefix("/dev/").removeprefix("mapper/")


def device_numbers(major: str | int, minor: str | int, is_mapped: bool = False) -> tuple[str, ...]:
    """The aliases that device numbers give; those of a mapped device tell its dm name too."""
    return (f"{major}:{minor}", *((f"dm-{minor}",) if is_mapped else ()))


def kernel_name(numbers: str) -> str:
    """The kernel's name behind device numbers where they are fixed (8:16 is sdb), else the numbers."""
    names = device_names(numbers)
    return names[-1] if not names[-1].startswith("dev") else numbers


_HALF = r"(?:[^-/\s]|--)+"


def volume_aliases(mapper_name: str) -> tuple[str, ...]:
    """`vg0/data` for `vg0-data`: the name of a logical volume as LVM's own tools print it."""
    match = re.fullmatch(rf"({_HALF})-({_HALF})", mapper_name)
    return (f"{match[1]}/{match[2]}".replace("--", "-"),) if match else ()


def mapper_name(group: str, volume: str) -> str:
    """The device-mapper name of a logical volume: hyphens that belong to a name are doubled."""
    return f"{group.replace('-', '--')}-{volume.strip('[]').replace('-', '--')}"


_LEVELS = {
    **{"mirror": "raid1", "stripe": "striped", "luks": "crypt", "mpath": "multipath"},
    **{word: word for word in ("linear", "striped", "snapshot", "snapshot-origin", "crypt", "multipath")},
    **{word: word for word in ("thin", "thin-pool", "cache", "cache-pool", "writecache", "vdo", "vdo-pool")},
}


def level_of(word: str) -> str | None:
    """The RAID or mapping level behind a segment type or target: raid5_ls → raid5; None if unknown."""
    word = word.strip().lower()
    raid = re.match(r"raid(10|[014-6])(_|\b)", word)
    return f"raid{raid[1]}" if raid else _LEVELS.get(word)


class Column(NamedTuple):
    """A column of an aligned table: its header word and where that stands."""

    word: str
    start: int
    end: int


class Cell(NamedTuple):
    """What a row has in one column, and where it begins."""

    text: str
    start: int


def columns_of(header: str) -> tuple[Column, ...]:
    """The columns of an aligned table whose header words hold no blank."""
    return tuple(Column(m.group(), m.start(), m.end()) for m in re.finditer(r"\S+", header))


def cells_of(columns: Sequence[Column], row: str) -> dict[int, Cell] | None:
    """The cells of an aligned row by column index; an empty cell has no entry.

    A column is at least as wide as its header word, and its cells stand to the left or right
    end of it: so a token below a header word belongs to it, and one in the gap behind it is the
    continuation (or the right end) of the column before. None when a token stands below two
    words or in front of the first: then the row is not aligned with this header.
    """
    found: dict[int, list[re.Match[str]]] = {}
    for token in re.finditer(r"\S+", row):
        below = [i for i, c in enumerate(columns) if token.start() < c.end and token.end() > c.start]
        behind = [i for i, c in enumerate(columns) if c.end <= token.start()]
        if len(below) > 1 or not (below or behind):
            return None
        found.setdefault(below[0] if below else behind[-1], []).append(token)
    return {
        index: Cell(row[tokens[0].start() : tokens[-1].end()], tokens[0].start())
        for index, tokens in found.items()
    }


class Decoded(NamedTuple):
    """A JSON object inside a text and the number of lines that it takes."""

    value: dict[str, Any]
    used: int

    def items(self, key: str) -> list[Any]:
        """The list that the object has under a key; empty where it has none there."""
        found = self.value.get(key)
        return found if isinstance(found, list) else []


def _whole(digits: str) -> int | None:
    """A whole number of JSON; None for one that no float can hold."""
    return int(digits) if len(digits) <= 300 else None


def json_object(lines: Sequence[Line], key: str) -> Decoded | None:
    """The JSON object whose first key stands in the first line; its brace may stand above.

    More and more lines are tried, since nothing says where the object ends; None when it is
    broken off or no object.
    """
    for count in (500, 5_000, 50_000, 500_000):
        text = "\n".join(line.text for line in lines[:count])
        begin = text.find(f'"{key}"')
        if begin < 0:
            return None
        try:
            value, end = json.JSONDecoder(parse_int=_whole).raw_decode("{" + text[begin:])
        except json.JSONDecodeError as error:
            is_cut = error.pos > len(text) - begin - 399
            if count >= len(lines) or not is_cut:
                return None
        except (RecursionError, ValueError):  # too deep, or a number of thousands of digits
            return None
        else:
            used = text.count("\n", 0, begin + end - 1) + 1
            return Decoded(value, used) if isinstance(value, dict) else None
    return None
