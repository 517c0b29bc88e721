"""The head of sysstat's binary files: magic, file header, list of activities.

Four generations share the leading bytes (sysstat's magic 0xd596, the format's magic, the
version): 0x2170 and 0x2171 (8.1.3 to 10.2.1), 0x2173 (10.3.1 to 11.6), 0x2175 (11.7.1 on), which
describes its own structures by counts of integers of each width. The generation is told by the
format magic alone: the version is no guide, since old branches went on writing old formats and
`sadf -c` keeps the version of the file that it converts.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Literal

from iodiag.errors import FormatError

SELF_DESCRIBING = 0x2175
_READABLE = (0x2170, 0x2171, 0x2173, SELF_DESCRIBING)
_OLDEST, _NEWEST = 0x215D, 0x2180
_FIRST_MARKED = 0x2170
_SYSSTAT = 0xD596

_MOST_ACTIVITIES = 256
_LARGEST_HEADER = 8192
_LARGEST_ACTIVITY_ENTRY = 1024
_LARGEST_RECORD_HEADER = 512
_LARGEST_STRUCTURE = 1024
_MOST_ITEMS = 65536 * 4096
_MOST_SUBITEMS = 4096
_LARGEST_EXTRA, _MOST_EXTRAS = 1024, 8192
_EXTRA_BYTES = 24

Order = Literal["<", ">"]
Types = tuple[int, int, int]
"""How many u64, unsigned long (in slots of 8 bytes) and u32 a structure begins with."""


@dataclass(frozen=True)
class Activity:
    """One entry of the list of activities: what each statistics record holds, in this order.

    `has_count` means that each record says itself how many items it holds, before them.
    """

    id: int
    magic: int
    items: int
    subitems: int
    has_count: bool
    size: int
    types: Types | None


@dataclass(frozen=True)
class SaHeader:
    """Everything that stands before the first record.

    `long_bytes` is the size of the writer's unsigned long. `cpus` counts CPUs as sar prints it.
    `record_types` is None before 0x2175. `volatile` is the number of activities that a RESTART
    record lists again (0x2173). `first_record` is the offset where the records begin.
    """

    magic: int
    order: Order
    version: tuple[int, int, int]
    host: str
    kernel: str
    machine: str
    long_bytes: int
    cpus: int | None
    activities: tuple[Activity, ...]
    record_size: int
    record_types: Types | None
    volatile: int
    first_record: int

    @property
    def layout(self) -> str:
        """The generation and the version that wrote the file: `0x2175 12.6.1`."""
        return f"{self.magic:#x} {'.'.join(map(str, self.version))}"


def byte_order(head: bytes) -> Order | None:
    """The byte order of a file that begins with sysstat's magic, or None."""
    if len(head) < 4:
        return None
    if int.from_bytes(head[:2], "little") == _SYSSTAT:
        return "<"
    return ">" if int.from_bytes(head[:2], "big") == _SYSSTAT else None


def unmarked_magic(head: bytes) -> int | None:
    """The format magic of a file older than 8.1.3, which has no leading mark, or None.

    Those headers hold the magic as a 16-bit integer somewhere before the name of the operating
    system (at byte 4 in 5.0, at byte 36 in 6.0), so both are asked for.
    """
    end = head.find(b"Linux\0", 0, 128)
    for order in ("<", ">"):
        for at in range(0, end - 1, 2):
            (word,) = struct.unpack_from(order + "H", head, at)
            if _OLDEST <= word < _FIRST_MARKED:
                return int(word)
    return None


def padded(types: Types) -> int:
    """Bytes of the counted integers of a structure, every unsigned long in a slot of 8."""
    return 8 * types[0] + 8 * types[1] + 4 * types[2]


def text(raw: bytes) -> str:
    """A C string: up to the first NUL, what cannot be printed as a dot, as sysstat shows it."""
    decoded = raw.split(b"\0", 1)[0].decode("utf-8", "replace")
    return "".join(char if char.isprintable() else "." for char in decoded).strip()


class _Reader:
    """Integers from the head of a file, with an error that says where where there are none."""

    def __init__(self, name: str, data: bytes, order: Order) -> None:
        self.name, self.data, self.order = name, data, order

    def number(self, code: str, at: int) -> int:
        if at + struct.calcsize(code) > len(self.data):
            raise self.error(at, "the file ends inside its header; it was cut off, or is no sa file")
        (value,) = struct.unpack_from(self.order + code, self.data, at)
        return int(value)

    def types(self, at: int) -> Types:
        return self.number("I", at), self.number("I", at + 4), self.number("I", at + 8)

    def string(self, at: int, size: int) -> str:
        return text(self.data[at : at + size])

    def error(self, at: int, reason: str) -> FormatError:
        return FormatError(f"{self.name}@{at}: {reason}")

    def check(self, holds: bool, at: int, what: str) -> None:
        if not holds:
            raise self.error(at, f"{what}; the file is damaged: copy it from its host again")


def read_header(name: str, data: bytes) -> SaHeader:
    """What stands before the first record of a sa file; FormatError where it is not readable."""
    order = byte_order(data)
    if order is None:
        old = unmarked_magic(data)
        raise _refusal(name, old) if old else FormatError(f"{name}@0: this is no sa file of sysstat")
    reader = _Reader(name, data, order)
    magic = reader.number("H", 2)
    if magic not in _READABLE:
        raise _refusal(name, magic)
    version = (reader.number("B", 4), reader.number("B", 5), reader.number("B", 6))
    read = _read_self_describing if magic == SELF_DESCRIBING else _read_fixed
    return read(reader, magic, version)


def _refusal(name: str, magic: int) -> FormatError:
    if _OLDEST <= magic < _FIRST_MARKED:
        what = f"format {magic:#x} (sysstat before 8.1.3) is not readable"
    else:
        what = f"format {magic:#x} is unknown"
    return FormatError(
        f"{name}@2: {what}; print it with the sysstat that wrote it (`sar -A -f FILE`) and give that text"
    )


def _read_fixed(reader: _Reader, magic: int, version: tuple[int, int, int]) -> SaHeader:
    """Header and activities of 0x2170, 0x2171 and 0x2173, whose structures are what they were."""
    has_volatile = magic == 0x2173
    start = 76 if has_volatile else 8
    # The same fields in the same order; 0x2173 put the CPUs before them and a count between.
    chars = start + (20 if has_volatile else 12)
    count_at = start + (12 if has_volatile else 8)
    size = 288 if has_volatile else 280
    if has_volatile:
        reader.check(reader.number("I", 8) == size, 8, f"the header's size is not {size}")
    long_bytes = reader.number("b", chars + 3)
    count = reader.number("I", count_at)
    volatile = reader.number("I", start + 16) if has_volatile else 0
    _check_basics(reader, long_bytes, chars + 3, count, count_at)
    reader.check(volatile <= _MOST_ACTIVITIES, start + 16, f"{volatile} volatile activities")
    entry = 12 if magic == 0x2170 else 20
    activities = []
    for number in range(count):
        at = start + size + number * entry
        if magic == 0x2170:
            kind, items, bytes_ = (reader.number(code, at + 4 * i) for i, code in enumerate("Iii"))
            activity = Activity(kind, 0x8A, items, 1, False, bytes_, None)
        else:
            kind, own_magic, items, subitems, bytes_ = (
                reader.number(code, at + 4 * i) for i, code in enumerate("IIiii")
            )
            activity = Activity(kind, own_magic, items, subitems, False, bytes_, None)
        _check_activity(reader, activity, at)
        activities.append(activity)
    entries = next((a.items for a in activities if a.id == 1), None)
    if has_volatile:
        entries = reader.number("I", start + 8)
    return SaHeader(
        magic=magic,
        order=reader.order,
        version=version,
        host=reader.string(chars + 4 + 65, 65),
        kernel=reader.string(chars + 4 + 130, 65),
        machine=reader.string(chars + 4 + 195, 65),
        long_bytes=long_bytes,
        cpus=None if entries is None else max(entries - 1, 1),
        activities=tuple(activities),
        record_size=48,
        record_types=None,
        volatile=volatile,
        first_record=start + size + count * entry,
    )


def _read_self_describing(reader: _Reader, magic: int, version: tuple[int, int, int]) -> SaHeader:
    """Header and activities of 0x2175: every structure is as long as the file says."""
    start, size = 76, reader.number("I", 8)
    types = reader.types(16)
    reader.check(1 <= size <= _LARGEST_HEADER, 8, f"a header of {size} bytes")
    chars = start + padded(types)
    reader.check(padded(types) + 263 <= size and types[0] >= 1 and types[1] >= 1, 16, "an impossible header")
    reader.check(types[2] >= 11, 16, "too few integers in the header")
    ints = [reader.number("I", start + 8 * (types[0] + types[1]) + 4 * i) for i in range(min(types[2], 12))]
    cpus, count, _year = ints[:3]
    entry_types, record_types = (ints[3], ints[4], ints[5]), (ints[6], ints[7], ints[8])
    entry, record_size = ints[9], ints[10]
    has_extra = len(ints) > 11 and ints[11] != 0
    long_bytes = reader.number("b", chars + 2)
    counts_at = start + 8 * (types[0] + types[1])
    _check_basics(reader, long_bytes, chars + 2, count, counts_at + 4)
    reader.check(
        padded(entry_types) <= entry <= _LARGEST_ACTIVITY_ENTRY
        and entry_types[:2] == (0, 0)
        and entry_types[2] >= 9,
        counts_at + 12,
        f"activity entries of {entry} bytes with {entry_types} integers",
    )
    reader.check(
        padded(record_types) + 4 <= record_size <= _LARGEST_RECORD_HEADER and record_types[0] >= 2,
        counts_at + 24,
        f"record headers of {record_size} bytes with {record_types} integers",
    )
    activities = []
    for number in range(count):
        at = start + size + number * entry
        kind, own_magic, items, subitems, has_count, bytes_ = (
            reader.number(code, at + 4 * i) for i, code in enumerate("IIiiii")
        )
        activity = Activity(kind, own_magic, items, subitems, has_count != 0, bytes_, reader.types(at + 24))
        _check_activity(reader, activity, at)
        activities.append(activity)
    first_record = start + size + count * entry
    if has_extra:
        after = skip_extras(reader.data, reader.order, first_record)
        reader.check(after is not None, first_record, "an impossible list of extra structures")
        first_record = after or first_record
    return SaHeader(
        magic=magic,
        order=reader.order,
        version=version,
        host=reader.string(chars + 3 + 65, 65),
        kernel=reader.string(chars + 3 + 130, 65),
        machine=reader.string(chars + 3 + 195, 65),
        long_bytes=long_bytes,
        cpus=max(cpus - 1, 1) if cpus else None,
        activities=tuple(activities),
        record_size=record_size,
        record_types=record_types,
        volatile=0,
        first_record=first_record,
    )


def _check_basics(reader: _Reader, long_bytes: int, long_at: int, count: int, count_at: int) -> None:
    reader.check(1 <= count <= _MOST_ACTIVITIES, count_at, f"a list of {count} activities")
    reader.check(long_bytes in (4, 8), long_at, f"long integers of {long_bytes} bytes")


def _check_activity(reader: _Reader, activity: Activity, at: int) -> None:
    plausible = (
        1 <= activity.items <= _MOST_ITEMS
        and 1 <= activity.subitems <= _MOST_SUBITEMS
        and 1 <= activity.size <= _LARGEST_STRUCTURE
    )
    items = f"{activity.items} x {activity.subitems} items of {activity.size} bytes"
    reader.check(plausible, at, f"activity {activity.id} has {items}")


def skip_extras(data: bytes, order: Order, at: int) -> int | None:
    """The offset after a chain of extra structures, or None where the file ends before it does."""
    more = 1
    while more:
        if at + _EXTRA_BYTES > len(data):
            return None
        count, size, more, quads, longs, ints = struct.unpack_from(order + "6I", data, at)
        if count > _MOST_EXTRAS or size > _LARGEST_EXTRA or padded((quads, longs, ints)) > size:
            return None
        at += _EXTRA_BYTES + count * size
    return at if at <= len(data) else None
