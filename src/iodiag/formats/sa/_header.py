"""The head of sysstat's binary files: magic, file header, list of activities.

Files from before 8.1.3 have no such list: see _old_header. Four generations share the leading bytes
(sysstat's magic 0xd596, the format's magic, the version): 0x2170 and 0x2171
(8.1.3 to 10.2.1; RHEL 6.5 calls the first 0x1170), 0x2173 (10.3.1 to 11.6), 0x2175 (11.7.1 on), which
describes its own structures by counts of integers of each width. The generation is told by the format magic
alone: the version is no guide, since old branches went on writing old formats and
`sadf -c` keeps the version of the file that it converts.
"""

from __future__ import annotations

import struct
from typing import Literal, NamedTuple

from iodiag.errors import FormatError
from iodiag.formats.sa._layout import FieldRun

SELF_DESCRIBING = 0x2175
_WITHOUT_REVISIONS = (0x2170, 0x1170)
_READABLE = (*_WITHOUT_REVISIONS, 0x2171, 0x2173, SELF_DESCRIBING)
MARK = 0xD596

_MOST_ACTIVITIES = 256
_LARGEST_HEADER = 8192
_LARGEST_ACTIVITY_ENTRY = 1024
_LARGEST_RECORD_HEADER = 512
_LARGEST_STRUCTURE = 1024
MOST_ITEMS = 65536 * 4096
MOST_CPU_ENTRIES = 8193
_MOST_SUBITEMS = 4096
_LARGEST_EXTRA, _MOST_EXTRAS = 1024, 8192
_EXTRA_BYTES = 24
_NAME = 65
_FIRST_REVISION = 0x8A
"""0x2170 names no revisions; its structures are those that 0x2171 numbers so."""

Order = Literal["<", ">"]
Version = tuple[int, int, int]
Types = tuple[int, int, int]
"""How many u64, unsigned long (in slots of 8 bytes) and u32 a structure begins with."""


class Activity(NamedTuple):
    """One entry of the list of activities: what each statistics record holds, in this order.

    `has_count` means that each record says itself how many items it holds, before them. Files before
    8.1.3 have their items at a fixed place `at` in each record, with these fields; `continues` means
    that they come after the one of the activity of the same number.
    """

    id: int
    magic: int
    items: int
    subitems: int
    has_count: bool
    size: int
    types: Types | None
    at: int | None = None
    fields: tuple[FieldRun, ...] = ()
    continues: bool = False


class OldRecords(NamedTuple):
    """The records of a file before 8.1.3: which releases write such, and the length of one of statistics.

    A restart and a comment are shorter: `SaHeader.record_size` long, with the comment's text inside. `head`
    are the clocks and the kind.
    """

    releases: str
    size: int
    comment_at: int
    head: tuple[FieldRun, ...]


class SaHeader(NamedTuple):
    """Everything that stands before the first record.

    `long_bytes` is the size of the writer's unsigned long. `cpus` counts CPUs as sar prints it.
    `record_types` is None before 0x2175. `volatile` is the number of activities that a RESTART
    record lists again (0x2173). `first_record` is the offset where the records begin.
    """

    magic: int
    order: Order
    version: Version
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
    old: OldRecords | None = None

    @property
    def layout(self) -> str:
        """The generation and the version that wrote the file, `0x2175 12.6.1`, or those that may have."""
        if self.old:
            return f"{self.magic:#x} ({self.old.releases})"
        return f"{self.magic:#x} {'.'.join(map(str, self.version))}"


def byte_order(head: bytes) -> Order | None:
    """The byte order of a file that begins with sysstat's magic, or None."""
    if len(head) < 4:
        return None
    if int.from_bytes(head[:2], "little") == MARK:
        return "<"
    return ">" if int.from_bytes(head[:2], "big") == MARK else None


EARLIEST, LATEST = 946_684_800, 7_258_118_400
"""Bounds of a plausible time: the years 2000, before which no format that is read was written, and 2200."""


def is_moment(seconds: int) -> bool:
    """Whether seconds since 1970 are a time at which a host may have run sadc."""
    return EARLIEST <= seconds <= LATEST


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

    def error(self, at: int, reason: str) -> FormatError:
        return FormatError(f"{self.name}@{at}: {reason}")

    def check(self, holds: bool, at: int, what: str) -> None:
        if not holds:
            raise self.error(at, f"{what}; the file is damaged: copy it from its host again")


def read_header(name: str, data: bytes) -> SaHeader:
    """What stands before the first record of a sa file; FormatError where it is not readable."""
    # few files are as old as that: their table of layouts is read for those alone
    from iodiag.formats.sa._old_header import candidates, read_old_header, too_old

    order = byte_order(data)
    magic = struct.unpack_from(order + "H", data, 2)[0] if order else 0
    if magic not in _READABLE and any(candidates(data[:64])):
        return read_old_header(name, data)
    if order is None and (old := too_old(data[:128])):
        raise FormatError(
            f"{name}@0: format {old} is not read; print it with the sar that wrote it (`sar -A -f FILE`) and "
            "give that text"
        )
    if order is None:
        raise FormatError(f"{name}@0: this is no sa file of sysstat")
    reader = _Reader(name, data, order)
    if magic not in _READABLE:
        raise _refusal(name, magic)
    version = (reader.number("B", 4), reader.number("B", 5), reader.number("B", 6))
    read = _read_self_describing if magic == SELF_DESCRIBING else _read_fixed
    return read(reader, magic, version)


def _refusal(name: str, magic: int) -> FormatError:
    return FormatError(
        f"{name}@2: format {magic:#x} is unknown; print it with the sysstat that wrote it (`sar -A -f FILE`)"
        " and give that text"
    )


def _read_fixed(reader: _Reader, magic: int, version: Version) -> SaHeader:
    """Header and activities of 0x2170, 0x1170, 0x2171 and 0x2173, whose structures are what they were."""
    is_2173 = magic == 0x2173
    start, size = (76, 288) if is_2173 else (8, 280)
    if is_2173:
        reader.check(reader.number("I", 8) == size, 8, f"the header's size is not {size}")
    count_at, chars = (start + 12, start + 20) if is_2173 else (start + 8, start + 12)
    volatile = reader.number("I", start + 16) if is_2173 else 0
    reader.check(volatile <= _MOST_ACTIVITIES, start + 16, f"{volatile} volatile activities")
    count, long_bytes = _basics(reader, count_at, chars + 3)
    entry = 12 if magic in _WITHOUT_REVISIONS else 20
    places = [start + size + number * entry for number in range(count)]
    activities = tuple(_fixed_activity(reader, at, magic) for at in places)
    cpu_items = next((activity.items for activity in activities if activity.id == 1), 0)
    host, kernel, machine = _names(reader, chars + 4)
    return SaHeader(
        magic=magic,
        order=reader.order,
        version=version,
        host=host,
        kernel=kernel,
        machine=machine,
        long_bytes=long_bytes,
        cpus=_cpus(reader.number("I", start + 8) if is_2173 else cpu_items),
        activities=activities,
        record_size=48,
        record_types=None,
        volatile=volatile,
        first_record=start + size + count * entry,
    )


def _fixed_activity(reader: _Reader, at: int, magic: int) -> Activity:
    if magic in _WITHOUT_REVISIONS:
        kind, items, size = (reader.number(code, at + 4 * i) for i, code in enumerate("Iii"))
        revision, subitems = _FIRST_REVISION, 1
    else:
        kind, revision, items, subitems, size = (
            reader.number(code, at + 4 * i) for i, code in enumerate("IIiii")
        )
    return _plausible(reader, at, Activity(kind, revision, items, subitems, False, size, None))


class _Counts(NamedTuple):
    """The integers of a self-describing header: how much of what follows, and how long each is."""

    size: int
    chars: int
    cpus: int
    activities: int
    entry_size: int
    record_size: int
    record_types: Types
    has_extra: bool
    activities_at: int


def _counts(reader: _Reader, start: int) -> _Counts:
    size, types = reader.number("I", 8), reader.types(16)
    reader.check(1 <= size <= _LARGEST_HEADER, 8, f"a header of {size} bytes")
    is_whole = types[0] >= 1 and types[1] >= 1 and types[2] >= 11 and padded(types) + 263 <= size
    reader.check(is_whole, 16, f"a header of {size} bytes with {types} integers")
    at = start + 8 * (types[0] + types[1])
    ints = [reader.number("I", at + 4 * i) for i in range(min(types[2], 12))]
    entry_types, record_types = (ints[3], ints[4], ints[5]), (ints[6], ints[7], ints[8])
    entry, record = ints[9], ints[10]
    is_entry = entry_types[:2] == (0, 0) and entry_types[2] >= 9
    fits = is_entry and padded(entry_types) <= entry <= _LARGEST_ACTIVITY_ENTRY
    reader.check(fits, at + 12, f"activity entries of {entry} bytes with {entry_types} integers")
    fits = record_types[0] >= 2 and padded(record_types) + 4 <= record <= _LARGEST_RECORD_HEADER
    reader.check(fits, at + 24, f"record headers of {record} bytes with {record_types} integers")
    has_extra = len(ints) > 11 and ints[11] != 0
    return _Counts(
        size, start + padded(types), ints[0], ints[1], entry, record, record_types, has_extra, at + 4
    )


def _read_self_describing(reader: _Reader, magic: int, version: Version) -> SaHeader:
    """Header and activities of 0x2175: every structure is as long as the file says."""
    start = 76
    counts = _counts(reader, start)
    count, long_bytes = _basics(reader, counts.activities_at, counts.chars + 2)
    places = [start + counts.size + number * counts.entry_size for number in range(count)]
    activities = tuple(_counted_activity(reader, at) for at in places)
    first_record: int | None = start + counts.size + count * counts.entry_size
    if counts.has_extra:
        first_record = skip_extras(reader.data, reader.order, places[-1] + counts.entry_size)
    if first_record is None:
        raise reader.error(places[-1] + counts.entry_size, "an impossible list of extra structures")
    host, kernel, machine = _names(reader, counts.chars + 3)
    return SaHeader(
        magic=magic,
        order=reader.order,
        version=version,
        host=host,
        kernel=kernel,
        machine=machine,
        long_bytes=long_bytes,
        cpus=_cpus(counts.cpus),
        activities=activities,
        record_size=counts.record_size,
        record_types=counts.record_types,
        volatile=0,
        first_record=first_record,
    )


def _counted_activity(reader: _Reader, at: int) -> Activity:
    kind, revision, items, subitems, has_count, size = (
        reader.number(code, at + 4 * i) for i, code in enumerate("IIiiii")
    )
    types = reader.types(at + 24)
    return _plausible(reader, at, Activity(kind, revision, items, subitems, has_count != 0, size, types))


def _basics(reader: _Reader, count_at: int, long_at: int) -> tuple[int, int]:
    """The number of activities and the width of long integers."""
    count, long_bytes = reader.number("I", count_at), reader.number("b", long_at)
    reader.check(1 <= count <= _MOST_ACTIVITIES, count_at, f"a list of {count} activities")
    reader.check(long_bytes in (4, 8), long_at, f"long integers of {long_bytes} bytes")
    return count, long_bytes


def _names(reader: _Reader, at: int) -> tuple[str, str, str]:
    """Host, kernel release and machine, which follow the name of the operating system."""
    host, kernel, machine = (text(reader.data[at + n * _NAME : at + (n + 1) * _NAME]) for n in (1, 2, 3))
    return host, kernel, machine


def _cpus(entries: int) -> int | None:
    """CPUs out of the number of entries, of which the first is for all of them."""
    return max(entries - 1, 1) if 1 <= entries <= MOST_CPU_ENTRIES else None


def _plausible(reader: _Reader, at: int, activity: Activity) -> Activity:
    is_plausible = (
        1 <= activity.items <= MOST_ITEMS
        and 1 <= activity.subitems <= _MOST_SUBITEMS
        and 1 <= activity.size <= _LARGEST_STRUCTURE
    )
    items = f"{activity.items} x {activity.subitems} items of {activity.size} bytes"
    reader.check(is_plausible, at, f"activity {activity.id} has {items}")
    return activity


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
