"""Writes sysstat's binary files as sadc would: any generation, byte order and width of long.

The structures are spelled as C lays them out, apart from the reader's tables, so that the two can
disagree. Codes are those of `struct`, except that L is an unsigned long in its slot of 8 bytes.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

SYSSTAT = 0xD596
STATS, RESTART, COMMENT, EXTRA = 1, 2, 4, 5

Item = Mapping[str, int | float | bytes]


class Layout(NamedTuple):
    """One activity: its number and revision, the C structure, and the fields' names in order."""

    id: int
    magic: int
    code: str
    names: str
    has_count: bool = False
    subitems: int = 1

    def struct(self, order: str, long_bytes: int) -> struct.Struct:
        slot = "Q" if long_bytes == 8 else "I4x"
        return struct.Struct(order + self._spelled.replace("L", slot))

    @property
    def _spelled(self) -> str:
        return re.sub(r"(\d+)([QLId])", lambda m: m[2] * int(m[1]), self.code)

    @property
    def types(self) -> tuple[int, int, int]:
        """How many u64, unsigned long and u32 it begins with (0x2175)."""
        code = self._spelled
        return code.count("Q") + code.count("d"), code.count("L"), code.count("I")

    def pack(self, item: Item, order: str, long_bytes: int) -> bytes:
        return self.struct(order, long_bytes).pack(*(item[name] for name in self.names.split()))


_CPU = "user nice system idle iowait steal irq softirq guest guest_nice"
_MEMORY = "free buffers cached total swap_free swap_total swap_cached commit"
_NET = "rx tx rx_bytes tx_bytes rx_compressed tx_compressed multicast speed name duplex"

CPU = Layout(1, 0x8B, "10Q", _CPU, has_count=True)
CPU_OLD = Layout(1, 0x8A, "Q8x" * 10, _CPU)
CPU_OLDEST = Layout(1, 0x8A, "Q8x" * 9, _CPU.removesuffix(" guest_nice"))
IRQ = Layout(3, 0x8B, "Q", "count", has_count=True)
IRQ_MATRIX = Layout(3, 0x8C, "I8s", "count name", has_count=True)
SWAP = Layout(4, 0x8A, "LL", "pages_in pages_out")
IO = Layout(6, 0x8B, "7Q", "ios reads writes read_sectors write_sectors discards discard_sectors")
MEMORY = Layout(7, 0x8B, "17Q", f"{_MEMORY} active inactive dirty anon slab stack tables vm available")
MEMORY_OLDEST = Layout(7, 0x8A, "8L", _MEMORY)
QUEUE = Layout(9, 0x8C, "3Q3I4x", "running blocked tasks load1 load5 load15")
QUEUE_OLD = Layout(9, 0x8B, "LL4I", "running blocked load1 load5 load15 tasks")
DISK = Layout(
    11,
    0x8C,
    "3Q3L8I",
    "ios wwn1 wwn2 read write discard read_ms write_ms busy_ms queue_ms major minor discard_ms part",
    has_count=True,
)
DISK_BEFORE_DISCARDS = Layout(
    11, 0x8C, "Q2L6I", "ios read write read_ms write_ms busy_ms queue_ms major minor", has_count=True
)
DISK_OLD = Layout(11, 0x8B, "Q8xLL6I8x", "ios read write read_ms write_ms busy_ms queue_ms major minor")
DISK_OLDEST = Layout(11, 0x8A, "Q8xQ8x5LII", "read write read_ms write_ms busy_ms queue_ms ios major minor")
NET = Layout(12, 0x8D, "7QI16sB3x", _NET, has_count=True)
NET_OLD = Layout(12, 0x8C, "Q8x" * 7 + "I16sB11x", _NET)
FILESYSTEM = Layout(
    37, 0x8B, "5Q128s128s", "blocks free available files files_free name mount", has_count=True
)
SOFTNET = Layout(39, 0x8A, "6I", "processed dropped squeezed rps flow backlog", has_count=True)
PRESSURE_IO = Layout(41, 0x8A, "QQ6L", "some full some10 some60 some300 full10 full60 full300")
BATTERY = Layout(43, 0x8A, "BBB", "number capacity status", has_count=True)
FOREIGN = Layout(200, 0x8A, "QI4s", "a b c", has_count=True)


@dataclass(frozen=True)
class Stats:
    """A record of statistics; `items` by activity number. Items with subitems come flattened."""

    time: int
    uptime: int
    items: Mapping[int, Sequence[Item]]
    uptime_one: int = 0


@dataclass(frozen=True)
class Restart:
    time: int
    cpus: int = 2


@dataclass(frozen=True)
class Comment:
    time: int
    text: bytes


@dataclass(frozen=True)
class Extra:
    """A record that only has extra structures."""

    time: int


Record = Stats | Restart | Comment | Extra


@dataclass(frozen=True)
class SaFile:
    """A whole file. `cpus` is the number of CPUs; 0x2175 details have the defaults of 12.6.1."""

    layouts: Sequence[Layout]
    records: Sequence[Record]
    magic: int = 0x2175
    order: str = "<"
    long_bytes: int = 8
    version: tuple[int, int, int] = (12, 6, 1)
    cpus: int = 2
    host: bytes = b"host"
    kernel: bytes = b"6.1.0"
    machine: bytes = b"x86_64"
    has_extra_next: bool = True
    has_zone: bool = True
    record_padding: int = 0
    extras: int = 0
    zone_seconds: int = 0
    slots: Mapping[int, int] = field(default_factory=dict)

    def write(self) -> bytes:
        return b"".join((self.head(), *(self._record(record) for record in self.records)))

    def _pack(self, code: str, *values: int | bytes) -> bytes:
        return struct.pack(self.order + code.replace("L", "Q" if self.long_bytes == 8 else "I4x"), *values)

    def head(self) -> bytes:
        start = self._pack("HH4B", SYSSTAT, self.magic, *self.version, 0)
        names = (b"Linux", self.host, self.kernel, self.machine)
        first = self._times()[0] if self.records else 1_700_000_000
        if self.magic == 0x2175:
            return start + self._self_describing(first, names)
        count = len(self.layouts)
        if self.magic == 0x2173:
            head = self._pack("LIII3BB", first, self.cpus + 1, count, 1, 14, 10, 126, self.long_bytes)
            head = self._pack("I64x", 288) + head + self._pack("65s65s65s65s4x", *names)
        else:
            head = self._pack("LI3BB65s65s65s65s4x", first, count, 14, 10, 126, self.long_bytes, *names)
        return start + head + b"".join(self._entry(layout) for layout in self.layouts)

    def _self_describing(self, first: int, names: tuple[bytes, ...]) -> bytes:
        ints = [self.cpus + 1, len(self.layouts), 126, 0, 0, 9, 2, 0, int(self.has_extra_next), 36]
        ints += [self._record_size()] + ([int(self.extras > 0)] if self.has_extra_next else [])
        body = self._pack(f"QL{len(ints)}I3B65s65s65s65s", first, 100, *ints, 14, 10, self.long_bytes, *names)
        body += b"UTC".ljust(8, b"\0") if self.has_zone else b""
        body += bytes(-len(body) % 8)
        magic = self._pack("II3I48x", len(body), 0, 1, 1, len(ints))
        return magic + body + b"".join(map(self._entry, self.layouts)) + self._extra_structures()

    def _entry(self, layout: Layout) -> bytes:
        size = layout.struct(self.order, self.long_bytes).size
        count = self.slots.get(layout.id) or self._most(layout)
        if self.magic == 0x2170:
            return self._pack("Iii", layout.id, count, size)
        if self.magic != 0x2175:
            return self._pack("IIiii", layout.id, layout.magic, count, layout.subitems, size)
        flags = (layout.subitems, int(layout.has_count), size)
        return self._pack("IIiiii3I", layout.id, layout.magic, count, *flags, *layout.types)

    def _most(self, layout: Layout) -> int:
        counts = [len(r.items.get(layout.id, ())) for r in self.records if isinstance(r, Stats)]
        return max(max(counts, default=1) // layout.subitems, 1)

    def _record_size(self) -> int:
        return (24 if self.has_extra_next else 20) + self.record_padding

    def _times(self) -> list[int]:
        return [record.time for record in self.records]

    def _record(self, record: Record) -> bytes:
        kind = {Stats: STATS, Restart: RESTART, Comment: COMMENT, Extra: EXTRA}[type(record)]
        head = self._record_head(record, kind)
        extras = self._extra_structures()
        if isinstance(record, Stats):
            return head + extras + b"".join(self._activity(layout, record) for layout in self.layouts)
        if isinstance(record, Comment):
            return head + record.text.ljust(64, b"\0") + extras
        if isinstance(record, Restart):
            return head + self._restart(record) + extras
        return head + extras

    def _record_head(self, record: Record, kind: int) -> bytes:
        day = (record.time + self.zone_seconds) % 86400
        clock = (day // 3600, day // 60 % 60, day % 60)
        uptime = record.uptime if isinstance(record, Stats) else 0
        if self.magic != 0x2175:
            one = record.uptime_one if isinstance(record, Stats) else 0
            return self._pack("Q8xQ8xL4B4x", uptime, one, record.time, kind, *clock)
        extra = self._pack("I", int(self.extras > 0)) if self.has_extra_next else b""
        head = self._pack("QQ", uptime, record.time) + extra + self._pack("4B", kind, *clock)
        return head.ljust(self._record_size(), b"\0")

    def _restart(self, record: Restart) -> bytes:
        if self.magic == 0x2175:
            return self._pack("i", record.cpus + 1)
        if self.magic == 0x2173:
            return self._pack("IIiii", 1, 0x8A, record.cpus + 1, 1, 160)
        return b""

    def _activity(self, layout: Layout, record: Stats) -> bytes:
        items = [layout.pack(item, self.order, self.long_bytes) for item in record.items.get(layout.id, ())]
        if layout.has_count and self.magic == 0x2175:
            return self._pack("i", len(items) // layout.subitems) + b"".join(items)
        spare = self._most(layout) if layout.id not in self.slots else self.slots[layout.id]
        size = layout.struct(self.order, self.long_bytes).size
        return b"".join(items).ljust(spare * layout.subitems * size, b"\0")

    def _extra_structures(self) -> bytes:
        """A chain of extra structures, as the format allows them wherever there is a marker."""
        chain = [
            self._pack("6I", 2, 12, int(number + 1 < self.extras), 1, 0, 1) + bytes(24)
            for number in range(self.extras)
        ]
        return b"".join(chain)
