"""The head of files of sysstat before 8.1.3, whose records are one structure and arrays behind it.

Up to 8.0 (magic 0x216e) they bear no mark: the format's magic stands somewhere inside of the head, and the
length of the record behind it. Every place and both byte orders are tried, and exactly one may fit.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from iodiag.errors import FormatError
from iodiag.formats.sa._header import (
    MARK,
    MOST_CPU_ENTRIES,
    Activity,
    OldRecords,
    Order,
    SaHeader,
    is_moment,
    text,
)
from iodiag.formats.sa._layout import fields_of, view
from iodiag.formats.sa._old_layouts import Layout, layout, parts, releases

_MARKED = 0x216F
"""The one of these formats that begins with sysstat's mark, which takes eight bytes."""

_MOVED_FLAGS, _MORE_IRQS, _COUNTS_CPUS = 0x2160, 0x2163, 0x2169
"""The formats from which on flags have other places, 256 interrupts are kept, and CPUs are counted."""

_COMMENT_AT = {4: 164, 8: 168}
"""Where a comment stands in its record, by the width of the writer's long."""

_MOST_IRQS = 256


class _Head(NamedTuple):
    """A file's head: its format, where it begins, its length, and its fields."""

    magic: int
    order: Order
    start: int
    size: int
    values: Mapping[str, int | bytes]

    def number(self, name: str) -> int:
        value = self.values.get(name, 0)
        return value if isinstance(value, int) else 0

    def words(self, name: str) -> str:
        value = self.values.get(name, b"")
        return text(value) if isinstance(value, bytes) else ""


def candidates(head: bytes) -> Iterator[tuple[int, int, Order]]:
    """Offset, magic and byte order of each of these formats that a file may be in by its first bytes.

    A magic counts at its own format's place alone, beside the length of that format's record.
    """
    orders: tuple[Order, Order] = ("<", ">")
    for order in orders:
        for magic in releases():
            form, record = _layout("file_header", magic), _layout("statistics", magic)
            start = _start_of(magic)
            places = {name: start + at for name, _, at in fields_of(form.runs)}
            at = places.get("magic", 2)
            wanted = {at: magic, places["size"]: record.size} | ({0: MARK} if start else {})
            if all(head[p : p + 2] == struct.pack(order + "H", word) for p, word in wanted.items()):
                yield at, magic, order


def too_old(head: bytes) -> str:
    """The format and the releases of a file from before those that are read; "" of any other.

    That of 2.2 has no length of a record behind its magic: its date and the system's name tell it.
    """
    orders: tuple[Order, Order] = ("<", ">")
    if any(head[4:8] == struct.pack(order + "HH", 0x115A, 232) for order in orders):
        return "0x115a (sysstat 3.2.4 and before)"
    is_date = len(head) > 3 and 1 <= head[2] <= 31 and head[3] <= 11
    is_of_2 = head[:2] == b"\x5d\x01" and is_date and head[84:90] == b"Linux\0"
    return "0x015d (sysstat 2.2)" if is_of_2 else ""


def _layout(kind: str, magic: int) -> Layout:
    found = layout(kind, magic)
    assert found is not None, (kind, magic)
    return found


def _start_of(magic: int) -> int:
    return 8 if magic == _MARKED else 0


def read_old_header(name: str, data: bytes) -> SaHeader:
    """What stands before the first record; FormatError where that is damaged, or of two formats at once."""
    found = list(candidates(data[:64]))
    if len(found) != 1:
        said = " and ".join(f"{magic:#x}" for _, magic, _ in found)
        raise FormatError(
            f"{name}@0: this may be format {said}; print it with `sar -A -f FILE` and give that text"
        )
    at, magic, order = found[0]
    head = _head(name, data, magic, order)
    _check(name, at, head)
    record = _layout("statistics", magic)
    long_bytes = head.number("long_bytes") or _long_bytes(data, head)
    activities, size = _activities(head, record)
    return SaHeader(
        magic=magic,
        order=order,
        version=(0, 0, 0),
        host=head.words("host"),
        kernel=head.words("kernel"),
        machine=head.words("machine"),
        long_bytes=long_bytes,
        cpus=max(_cpu_entries(head), 1),
        activities=activities,
        record_size=record.size,
        record_types=None,
        volatile=0,
        first_record=head.start + head.size,
        old=OldRecords(
            releases()[magic],
            size,
            _COMMENT_AT[long_bytes],
            record.only("uptime uptime_one time kind hour minute second"),
        ),
    )


def _head(name: str, data: bytes, magic: int, order: Order) -> _Head:
    form, start = _layout("file_header", magic), _start_of(magic)
    if start + form.size > len(data):
        raise FormatError(
            f"{name}@{len(data)}: the file ends inside its header; it was cut off, or is no sa file"
        )
    fields = list(fields_of(form.runs))
    row = np.frombuffer(data, view(fields, order, 8, form.size), 1, start).tolist()[0]
    names = (field for field, _, _ in fields)
    return _Head(magic, order, start, form.size, dict(zip(names, row, strict=True)))


def _check(name: str, at: int, head: _Head) -> None:
    """Refuse what no host has."""
    counts = [head.number(count) for count in ("cpus", "serials", "interfaces", "disks")]
    is_sound = head.number("month") <= 11 and 1 <= head.number("day") <= 31 and head.number("pids") == 0
    is_sound &= max(counts) < MOST_CPU_ENTRIES and head.number("irq_cpus") <= _MOST_IRQS
    if not is_sound or head.number("long_bytes") not in (0, 4, 8):
        raise FormatError(
            f"{name}@{at}: impossible numbers in the header; the file is damaged: copy it from its host again"
        )


def _long_bytes(data: bytes, head: _Head) -> int:
    """The writer's width, which files before 0x2168 do not state: 32 bits leave half of a slot zero.

    Little-endian slots read alike either way.
    """
    if head.order == "<":
        return 8
    fields = fields_of(_layout("file_header", head.magic).runs)
    at = next(at for field, _, at in fields if field == "time")
    first, second = struct.unpack_from(">II", data, head.start + at)
    return 4 if second == 0 and is_moment(first) else 8


def _cpu_entries(head: _Head) -> int:
    """How many CPUs the array has: up to 0x2168 the head gives the highest number, 0 for no array."""
    last = head.number("cpus")
    return last if last == 0 or head.magic >= _COUNTS_CPUS else last + 1


def _activities(head: _Head, record: Layout) -> tuple[tuple[Activity, ...], int]:
    """What each record holds and where, and the length of a whole one."""
    flags, is_late = head.number("flags"), head.magic >= _MOVED_FLAGS
    cpus = _cpu_entries(head)
    counts = {
        **{name: head.number(name) for name in ("serials", "interfaces", "disks")},
        "cpus": cpus,
        "interrupts": 224 + 32 * (head.magic >= _MORE_IRQS) if flags & (0x10 if is_late else 0x100) else 0,
        "irqs_of_cpus": max(cpus, 1) * head.number("irq_cpus"),
    }
    found, end, at_of = [], record.size, {"statistics": 0}
    for part in parts():
        form, items = layout(part.structure, head.magic), counts.get(part.number, 1)
        if form is None or not items:
            continue
        if part.structure not in at_of:
            at_of[part.structure] = end
            end += items * form.size
        is_collected = part.flags is None or bool(flags & part.flags[is_late])
        if is_collected:
            at, fields = at_of[part.structure], form.only(part.fields)
            found.append(
                Activity(part.id, head.magic, items, 1, False, form.size, None, at, fields, part.continues)
            )
    return tuple(found), end
