"""The records of sysstat's binary files: where each structure lies, boot by boot.

The only loop over records. It finds offsets and reads the few integers of each record's header;
the structures themselves are gathered afterwards, an activity at a time.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import NamedTuple

from iodiag.formats._sa_header import (
    MOST_CPU_ENTRIES,
    MOST_ITEMS,
    SELF_DESCRIBING,
    SaHeader,
    skip_extras,
    text,
)

_STATS, _RESTART, _LAST_STATS, _COMMENT, _LAST_KIND = 1, 2, 3, 4, 15
_COMMENT_BYTES = 64
_EARLIEST, _LATEST = 1_000_000_000, 7_258_118_400
"""Bounds of a plausible time: what sysstat demands, and the year 2200."""

_ZONE_STEP, _CLOCK_SLACK = 900, 5
"""Time zones lie whole quarters of an hour from UTC; the two clocks are read seconds apart at most."""


class Record(NamedTuple):
    """The header of one record. `uptime` is in 1/100 s from 0x2175 on, before in jiffies.

    Before 0x2175 `uptime` adds up all CPUs and `uptime_one` is that of one CPU.
    """

    at: int
    uptime: int
    uptime_one: int
    time: int
    kind: int
    seconds_of_day: int
    has_extra: bool


@dataclass
class Segment:
    """The statistics records between two starts of the host.

    `places` and `counts` have, per record, the offset and the number of items of each activity
    (an offset points behind the count).
    """

    cpus: int | None
    records: list[Record] = field(default_factory=list)
    places: list[list[int]] = field(default_factory=list)
    counts: list[list[int]] = field(default_factory=list)


@dataclass(frozen=True)
class Remark:
    """Something between or behind the records: a comment, or where reading had to stop."""

    at: int
    reason: str
    text: str = ""
    is_unread: bool = False


class _DamagedError(Exception):
    """A record that cannot be what it claims to be."""


class _CutOffError(Exception):
    """A record that goes on beyond the end of the file."""


def walk(header: SaHeader, data: bytes) -> tuple[list[Segment], list[Remark]]:
    """All segments that have records, and what is to be said of the others.

    Reading ends with the last whole record, or before the first one that cannot be one.
    """
    pass_over = _Pass(header, data)
    pass_over.follow()
    return pass_over.segments, pass_over.remarks


class _Pass:
    """The state of one pass over the records."""

    def __init__(self, header: SaHeader, data: bytes) -> None:
        self.header, self.data = header, data
        self.segments: list[Segment] = []
        self.remarks: list[Remark] = []
        self._cpus = header.cpus
        self._items = [activity.items for activity in header.activities]
        self._head = _head_format(header)
        self._has_started = False

    def follow(self) -> None:
        at = self.header.first_record
        while at < len(self.data):
            try:
                at = self._step(at)
            except _CutOffError:
                rest = len(self.data) - at
                self._stop(at, f"the file ends inside a record; its {rest} bytes were not read")
                return
            except _DamagedError as damage:
                rest = len(self.data) - at
                self._stop(at, f"{damage}: this and all that follows, {rest} bytes, was not read")
                return

    def _stop(self, at: int, reason: str) -> None:
        self.remarks.append(Remark(at, reason, self.data[at : at + 16].hex(" "), is_unread=True))

    def _step(self, at: int) -> int:
        """Take in the record at this offset and return the offset of the next one."""
        record = self._record(at)
        after = at + self.header.record_size
        if record.kind == _RESTART:
            after = self._restart(after)
        elif record.kind == _COMMENT:
            words = text(self._bytes(after, _COMMENT_BYTES))
            self.remarks.append(Remark(at, "comment written by the host's user", words))
            after += _COMMENT_BYTES
        if record.has_extra:
            # A statistics record has its extra structures in front of the statistics.
            behind = skip_extras(self.data, self.header.order, after)
            if behind is None:
                raise _CutOffError
            after = behind
        if record.kind in (_STATS, _LAST_STATS):
            after = self._statistics(record, after)
        return after

    def _bytes(self, at: int, size: int) -> bytes:
        if at + size > len(self.data):
            raise _CutOffError
        return self.data[at : at + size]

    def _record(self, at: int) -> Record:
        values = self._head.unpack(self._bytes(at, self._head.size))
        kind, hour, minute, second = values[-4:]
        if self.header.magic == SELF_DESCRIBING:
            uptime, time, *extra = values[:-4]
            uptime_one = 0
        else:
            uptime, uptime_one, time, *extra = values[:-4]
        if not _STATS <= kind <= _LAST_KIND or hour > 23 or minute > 59 or second > 60:
            raise _DamagedError(f"no record of sysstat (kind {kind}, {hour:02}:{minute:02}:{second:02})")
        if not _EARLIEST <= time <= _LATEST:
            raise _DamagedError(f"a record with an impossible time ({time} seconds since 1970)")
        self._bytes(at, self.header.record_size)
        seconds_of_day = hour * 3600 + minute * 60 + second
        return Record(at, uptime, uptime_one, time, kind, seconds_of_day, any(extra))

    def _restart(self, at: int) -> int:
        header = self.header
        self._has_started = False
        if header.magic == SELF_DESCRIBING:
            (entries,) = struct.unpack(header.order + "i", self._bytes(at, 4))
            if not 1 <= entries <= MOST_CPU_ENTRIES:
                raise _DamagedError(f"a restart with {entries} CPUs")
            self._cpus = max(entries - 1, 1)
            return at + 4
        for _ in range(header.volatile):
            kind, _magic, items = struct.unpack(header.order + "IIi", self._bytes(at, 12))
            self._bytes(at, 20)
            at += 20
            if kind:
                self._resize(kind, items)
        return at

    def _resize(self, kind: int, items: int) -> None:
        if not 1 <= items <= MOST_ITEMS:
            raise _DamagedError(f"a restart with {items} items of activity {kind}")
        if kind == 1:
            self._cpus = max(items - 1, 1)
        self._items = [
            items if activity.id == kind else old
            for activity, old in zip(self.header.activities, self._items, strict=True)
        ]

    def _statistics(self, record: Record, at: int) -> int:
        places, counts = [], []
        for activity, items in zip(self.header.activities, self._items, strict=True):
            count = items
            if activity.has_count:
                (count,) = struct.unpack(self.header.order + "i", self._bytes(at, 4))
                if not 0 <= count <= MOST_ITEMS:
                    raise _DamagedError(f"{count} items of activity {activity.id}")
                at += 4
            places.append(at)
            counts.append(count)
            at += count * activity.subitems * activity.size
            if at > len(self.data):
                raise _CutOffError
        segment = self._segment_for(record)
        segment.records.append(record)
        segment.places.append(places)
        segment.counts.append(counts)
        return at

    def _segment_for(self, record: Record) -> Segment:
        """The segment that this record belongs to; a clock that went back means a restart."""
        if self._has_started:
            last = self.segments[-1].records[-1]
            if (record.uptime_one or record.uptime) >= (last.uptime_one or last.uptime):
                return self.segments[-1]
            self.remarks.append(Remark(record.at, "the uptime went back without a RESTART record"))
        self._has_started = True
        self.segments.append(Segment(self._cpus))
        apart = (record.seconds_of_day - record.time + _CLOCK_SLACK) % _ZONE_STEP
        if apart > 2 * _CLOCK_SLACK:
            self.remarks.append(Remark(record.at, "the record's two clocks disagree; its times may be wrong"))
        return self.segments[-1]


def _head_format(header: SaHeader) -> struct.Struct:
    """The integers of a record's header that matter, the rest as padding."""
    if header.record_types is None:
        moment = "Q" if header.long_bytes == 8 else "I4x"
        return struct.Struct(f"{header.order}Q8xQ8x{moment}4B")
    quads, longs, ints = header.record_types
    before = 8 * (quads - 2) + 8 * longs
    extra = f"I{4 * (ints - 1)}x" if ints else ""
    return struct.Struct(f"{header.order}QQ{before}x{extra}4B")
