"""The records of sysstat's binary files: where each structure lies, boot by boot.

Records are followed one by one only where their layout changes. From each of them, all that come
after it at the same distance with the same numbers of items are taken in at once; the structures
themselves are gathered afterwards, an activity at a time.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.formats.sa._header import (
    EARLIEST,
    LATEST,
    MOST_CPU_ENTRIES,
    MOST_ITEMS,
    SELF_DESCRIBING,
    SaHeader,
    is_moment,
    skip_extras,
    text,
)
from iodiag.formats.sa._layout import fields_of, view
from iodiag.table.table import Bools, Floats, Ints

Uints = npt.NDArray[np.unsignedinteger[Any]]
Structs = npt.NDArray[np.void]

_STATS, _RESTART, _LAST_STATS, _COMMENT, _LAST_KIND = 1, 2, 3, 4, 15
_COMMENT_BYTES = 64
_FIRST_LOOK, _FURTHER = 8, 8
"""How many records are first taken to be like the one before, and how many times more each time they are."""

_DAY_S, _ZONE_STEP, _CLOCK_SLACK = 86_400, 900, 5
"""Time zones lie whole quarters of an hour from UTC; the two clocks are read seconds apart at most."""


class Record(NamedTuple):
    """The header of one record. `uptime` is in 1/100 s from 0x2175 on, before in jiffies.

    Before 0x2175 `uptime` adds up all CPUs and `uptime_one` is that of one CPU, elsewhere 0.
    """

    at: int
    uptime: int
    uptime_one: int
    time: int
    kind: int
    seconds_of_day: int
    has_extra: bool


class RecordRun(NamedTuple):
    """Statistics records of one layout, `size` bytes each, one behind the other from `at` on.

    `places` and `counts` have the offset within the record and the number of items of each
    activity (an offset points behind the count). The clocks are those of each record.
    """

    at: int
    size: int
    places: list[int]
    counts: list[int]
    uptime: Uints
    uptime_one: Uints
    time: Uints


@dataclass
class Segment:
    """The statistics records between two starts of the host.

    `seconds_of_day` is what the host's own clock showed at the first of them.
    """

    cpus: int | None
    seconds_of_day: int
    runs: list[RecordRun] = field(default_factory=list)
    _places: dict[tuple[int, ...], tuple[Ints, Ints]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return sum(len(run.time) for run in self.runs)

    @property
    def zone_s(self) -> int:
        """How far the host's clock is ahead of UTC, by the two clocks of the first record.

        Zones lie whole quarters of an hour apart, from 12 h behind UTC to 12 h before it; the few
        zones beyond (+13, +14) come out a day behind.
        """
        ahead = (self.seconds_of_day - int(self.time[0]) % _DAY_S + _DAY_S // 2) % _DAY_S - _DAY_S // 2
        return round(ahead / _ZONE_STEP) * _ZONE_STEP

    def without(self, refused: Ints) -> Segment:
        """The segment without some of its records, given by their indices."""
        kept: list[RecordRun] = []
        first = 0
        for run in self.runs:
            is_kept = ~np.isin(np.arange(first, first + len(run.time)), refused)
            first += len(run.time)
            edges = np.flatnonzero(np.diff(np.r_[False, is_kept, False]))
            for start, end in edges.reshape(-1, 2).tolist():
                clocks = (clock[start:end] for clock in (run.uptime, run.uptime_one, run.time))
                kept.append(RecordRun(run.at + start * run.size, run.size, run.places, run.counts, *clocks))
        return Segment(self.cpus, self.seconds_of_day, kept)

    def places(self, counts: tuple[int, ...]) -> tuple[Ints, Ints]:
        """The record of each structure and its place there, by how many each record of a run has."""
        if counts not in self._places:
            sizes = [len(run.time) for run in self.runs]
            orders = [np.tile(np.arange(count), size) for count, size in zip(counts, sizes, strict=True)]
            record = np.repeat(np.arange(len(self)), np.repeat(counts, sizes))
            self._places[counts] = record, np.concatenate(orders)
        return self._places[counts]

    @cached_property
    def offset(self) -> Ints:
        """The offset of each record."""
        return np.concatenate([run.at + run.size * np.arange(len(run.time)) for run in self.runs])

    @cached_property
    def time(self) -> Ints:
        """Seconds since 1970 of each record."""
        return np.concatenate([run.time for run in self.runs]).astype(np.int64)

    @cached_property
    def uptime(self) -> Floats:
        """The uptime of each record."""
        return np.concatenate([run.uptime for run in self.runs]).astype(np.float64)

    @cached_property
    def uptime_one(self) -> Floats:
        """The uptime of one CPU at each record."""
        return np.concatenate([run.uptime_one for run in self.runs]).astype(np.float64)


class Remark(NamedTuple):
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

    Reading ends with the last whole record, or before the first one that cannot be one. Where that one
    lies in the wrong place, the record in front of it is not used either: its numbers may be of other fields.
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
        self._head = _head_type(header)
        self._has_started = False
        self._clock = 0

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
                also = ""
                if self._is_displaced(at):
                    self._drop_last()
                    also = "; the record before it may be out of alignment and was not used"
                self._stop(at, f"{damage}: this and all that follows, {rest} bytes, was not read{also}")
                return

    def _is_displaced(self, at: int) -> bool:
        """Whether no record at an offset means that those before it may lie in the wrong place.

        Not where zeros follow, as after a crash, or a whole number of records of the last one's size: then
        the record at the offset is damaged itself.
        """
        last = self.segments[-1].runs[-1] if self.segments else None
        if last is None or last.at + last.size * len(last.time) != at:
            return False
        return any(self.data[at:]) and (len(self.data) - at) % last.size > 0

    def _drop_last(self) -> None:
        """Take the last statistics out."""
        segment = self.segments.pop()
        if len(segment) > 1:
            self.segments.append(segment.without(np.array([len(segment) - 1])))

    def _stop(self, at: int, reason: str) -> None:
        self.remarks.append(Remark(at, reason, self.data[at : at + 16].hex(" "), is_unread=True))

    def _step(self, at: int) -> int:
        """Take in the record at this offset and return the offset of the next one."""
        record = self._record(at)
        after = at + self.header.record_size
        if record.kind == _RESTART:
            after = self._restart(after)
        elif record.kind == _COMMENT:
            after = self._comment(at, after)
        if record.has_extra:
            # A statistics record has its extra structures in front of the statistics.
            behind = skip_extras(self.data, self.header.order, after)
            if behind is None:
                raise _CutOffError
            after = behind
        if record.kind in (_STATS, _LAST_STATS):
            after = self._statistics(record, after)
        return after

    def _comment(self, at: int, after: int) -> int:
        """Keep the words of the record at an offset; return the offset behind. `after` is its head's end."""
        old = self.header.old
        words = text(self._bytes(at + old.comment_at if old else after, _COMMENT_BYTES))
        self.remarks.append(Remark(at, "comment written by the host's user", words))
        return after if old else after + _COMMENT_BYTES

    def _bytes(self, at: int, size: int) -> bytes:
        if at + size > len(self.data):
            raise _CutOffError
        return self.data[at : at + size]

    def _record(self, at: int) -> Record:
        values = dict(
            zip(
                self._head.names or (),
                np.frombuffer(self._bytes(at, self._head.itemsize), self._head).tolist()[0],
                strict=True,
            )
        )
        kind, hour, minute, second = (values[name] for name in ("kind", "hour", "minute", "second"))
        time = values["time"]
        if not _STATS <= kind <= _LAST_KIND or hour > 23 or minute > 59 or second > 60:
            raise _DamagedError(f"no record of sysstat (kind {kind}, {hour:02}:{minute:02}:{second:02})")
        # the words of a long comment in 0x216f run over its time, which nothing needs
        if not is_moment(time) and not (self.header.old and kind == _COMMENT):
            raise _DamagedError(f"a record with an impossible time ({time} seconds since 1970)")
        self._bytes(at, self.header.record_size)
        clocks = values["uptime"], values.get("uptime_one", 0), time
        return Record(at, *clocks, kind, hour * 3600 + minute * 60 + second, bool(values.get("extra")))

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
            if activity.at is not None:
                places.append(activity.at)
                counts.append(count)
                continue
            if activity.has_count:
                (count,) = struct.unpack(self.header.order + "i", self._bytes(at, 4))
                if not 0 <= count <= MOST_ITEMS:
                    raise _DamagedError(f"{count} items of activity {activity.id}")
                at += 4
            places.append(at - record.at)
            counts.append(count)
            at += count * activity.subitems * activity.size
            if at > len(self.data):
                raise _CutOffError
        if self.header.old:
            at = record.at + self.header.old.size
            self._bytes(record.at, self.header.old.size)
        segment = self._segment_for(record)
        clocks = (np.array([value], dtype=np.uint64) for value in record[1:4])
        segment.runs.append(RecordRun(record.at, at - record.at, places, counts, *clocks))
        if not record.has_extra:
            at = self._take_alike(segment.runs, at)
        return at

    def _take_alike(self, runs: list[RecordRun], at: int) -> int:
        """Let the last run go on as long as records are laid out like it; the offset behind them."""
        size, many = runs[-1].size, _FIRST_LOOK
        while many := min(many, (len(self.data) - at) // size):
            heads: Structs = np.ndarray((many,), self._head, self.data, at, (size,))
            is_alike = self._are_alike(heads, runs[-1], at)
            count = many if is_alike.all() else int(is_alike.argmin())
            if count:
                one = heads["uptime_one"] if self._has("uptime_one") else np.zeros_like(heads["time"])
                last, clocks = runs[-1], (heads["uptime"], one, heads["time"])
                uptime, uptime_one, time = (
                    np.concatenate([old, new[:count].astype(np.uint64)])
                    for old, new in zip(last[4:], clocks, strict=True)
                )
                runs[-1] = last._replace(uptime=uptime, uptime_one=uptime_one, time=time)
                self._clock = int(uptime_one[-1] or uptime[-1])
            at += count * size
            if count < many:
                break
            many *= _FURTHER
        return at

    def _has(self, name: str) -> bool:
        return name in (self._head.names or ())

    def _are_alike(self, heads: Structs, run: RecordRun, at: int) -> Bools:
        """Which of these records are sound, of the run's layout, and later than the one before."""
        clock = heads["uptime"].astype(np.uint64)
        if self._has("uptime_one"):
            clock = np.where(heads["uptime_one"] > 0, heads["uptime_one"], clock)
        is_alike = np.concatenate([[clock[0] >= np.uint64(self._clock)], clock[1:] >= clock[:-1]])
        is_alike &= (heads["kind"] == _STATS) & (heads["hour"] <= 23) & (heads["minute"] <= 59)
        is_alike &= (heads["second"] <= 60) & (heads["time"] >= EARLIEST) & (heads["time"] <= LATEST)
        if self._has("extra"):
            is_alike &= heads["extra"] == 0
        for activity, place, count in zip(self.header.activities, run.places, run.counts, strict=True):
            if activity.has_count:
                counts = np.ndarray(
                    (len(heads),), self.header.order + "i4", self.data, at + place - 4, (run.size,)
                )
                is_alike &= counts == count
        return is_alike

    def _segment_for(self, record: Record) -> Segment:
        """The segment that this record belongs to; a clock that went back means a restart."""
        last, self._clock = self._clock, record.uptime_one or record.uptime
        if self._has_started:
            if self._clock >= last:
                return self.segments[-1]
            self.remarks.append(Remark(record.at, "the uptime went back without a RESTART record"))
        self._has_started = True
        self.segments.append(Segment(self._cpus, record.seconds_of_day))
        apart = (record.seconds_of_day - record.time + _CLOCK_SLACK) % _ZONE_STEP
        if apart > 2 * _CLOCK_SLACK:
            self.remarks.append(Remark(record.at, "the record's two clocks disagree; its times may be wrong"))
        return self.segments[-1]


def _head_type(header: SaHeader) -> np.dtype[np.void]:
    """The integers of a record's header that matter."""
    if header.old:
        return view(list(fields_of(header.old.head)), header.order, header.long_bytes, header.record_size)
    places = [("uptime", "u8", 0)]
    if header.record_types is None:
        places += [("uptime_one", "u8", 16), ("time", "ulong", 32)]
        kind_at = 40
    else:
        quads, longs, ints = header.record_types
        ints_at = 8 * quads + 8 * longs
        places += [("time", "u8", 8), *([("extra", "u4", ints_at)] if ints else [])]
        kind_at = ints_at + 4 * ints
    places += [(name, "u1", kind_at + n) for n, name in enumerate(("kind", "hour", "minute", "second"))]
    return view(places, header.order, header.long_bytes, kind_at + 4)
