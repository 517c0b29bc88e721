"""The reading of binary files, which sa_binary.py recognises and then imports this for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from iodiag.errors import FormatError
from iodiag.formats.front_columns import front_columns
from iodiag.formats.sa import _decoders as _sa_decoders
from iodiag.formats.sa._activities import structure
from iodiag.formats.sa._header import SaHeader, read_header
from iodiag.formats.sa._impossible import ImpossibleError, check
from iodiag.formats.sa._rates import cpu_ticks, gather, intervals, with_rest
from iodiag.formats.sa._records import Remark, Segment, walk
from iodiag.formats.sa._tables import ActivityRows, Context
from iodiag.formats.types import Item
from iodiag.model.capture import ParseNote, SampleTable, Section, Source
from iodiag.table.table import Table
from iodiag.table.texts import Texts
from iodiag.table.times import Times

_LEAST_APART_S = 60.0

_DISK = 11
"""The number of the activity that has a row per disk."""


def read_some(source: Source, wanted: Collection[str] | None) -> Iterator[Item]:
    """As sa_binary.read_some."""
    header = read_header(source.name, source.data)
    segments, remarks = walk(header, source.data)
    if all(len(segment) < 2 for segment in segments):
        raise _without_samples(source.name, header, remarks)
    for number, whole in enumerate(segments):
        segment, tables, refused = _sound(source, header, whole, number, wanted)
        remarks += refused
        if len(segment) < 2:
            continue
        remarks += _clocks_apart(header, segment)
        yield from tables
        yield _section(source, header, segment, sum(len(table.rows) for table in tables), whole.zone_s)
    yield from _skipped(source, header)
    for remark in remarks:
        yield ParseNote(source.name, remark.at, remark.reason, remark.text, is_unread=remark.is_unread)


def _clocks_apart(header: SaHeader, segment: Segment) -> list[Remark]:
    """What to say of the first samples that are of another length by the uptime than by the clock."""
    passed, shown = intervals(header, segment), np.diff(segment.time.astype(np.float64))
    slack = np.maximum(passed, shown) / 2 + _LEAST_APART_S
    apart = np.flatnonzero(np.abs(passed - shown) > slack)
    if not len(apart):
        return []
    first = int(apart[0])
    reason = (
        f"the uptime went on by {passed[first]:.0f} s and the clock by {shown[first]:.0f} s: the clock was "
        f"set, or one of them is damaged; rates are by the uptime (samples: {len(apart)})"
    )
    return [Remark(int(segment.offset[first + 1]), reason)]


def _without_samples(name: str, header: SaHeader, remarks: Sequence[Remark]) -> FormatError:
    trouble = next((remark for remark in remarks if remark.is_unread), None)
    reason = f"; {trouble.reason}" if trouble else ""
    at = trouble.at if trouble else header.first_record
    return FormatError(
        f"{name}@{at}: the file holds no sample, which takes two records of statistics{reason};"
        " give one that sadc wrote to for longer"
    )


def _skipped(source: Source, header: SaHeader) -> Iterator[ParseNote]:
    """A note for what the file holds and this reader leaves out."""
    ids = [activity.id for activity in header.activities]
    unknown = [
        f"{activity.id} (revision {activity.magic:#x}, {activity.size} bytes)"
        for position, activity in enumerate(header.activities)
        if not _is_read(header, position) or (activity.id in ids[:position] and not activity.continues)
    ]
    if unknown:
        reason = f"activities that are not known to this reader were left out: {', '.join(unknown)}"
        yield ParseNote(source.name, header.first_record, reason)
    if header.old and not any(activity.id == _DISK for activity in header.activities):
        reason = (
            "the file holds no disks: sadc kept them with -d alone; the totals of all are in the io table"
        )
        yield ParseNote(source.name, header.first_record, reason)


def _is_read(header: SaHeader, position: int) -> bool:
    activity = header.activities[position]
    return structure(activity, header.order, header.long_bytes) is not None


def _tables(
    source: Source, header: SaHeader, segment: Segment, number: int, wanted: Collection[str] | None
) -> Iterator[SampleTable]:
    """The wanted tables of one segment; activities that share a table and its items share its rows."""
    context = Context(header, intervals(header, segment), cpu_ticks(segment))
    merged: dict[str, list[ActivityRows]] = {}
    seen = set()
    for position, activity in enumerate(header.activities):
        view = structure(activity, header.order, header.long_bytes)
        if view is None or activity.id in seen:
            continue
        if wanted is not None and not _sa_decoders.families_of(activity.id) & set(wanted):
            continue
        seen.add(activity.id)
        stored = gather(source.data, segment, position, activity, view)
        check(stored)
        for place, other in enumerate(header.activities):
            if other.id == activity.id and other.continues:
                rest = structure(other, header.order, header.long_bytes)
                assert rest is not None
                stored = with_rest(stored, gather(source.data, segment, place, other, rest))
        for rows in _sa_decoders.rows_of(activity.id, stored, context):
            _merge(merged.setdefault(rows.family, []), rows)
    base = _Base(source, header, segment, number)
    for family, parts in merged.items():
        for rows in parts:
            if len(rows.record) and rows.numbers:
                yield SampleTable(family, base.table(rows))


def _sound(
    source: Source, header: SaHeader, segment: Segment, number: int, wanted: Collection[str] | None
) -> tuple[Segment, list[SampleTable], list[Remark]]:
    """A segment without the records that cannot be true, its tables, and what to say of those records."""
    remarks: list[Remark] = []
    while len(segment) > 1:
        try:
            return segment, list(_tables(source, header, segment, number, wanted)), remarks
        except ImpossibleError as impossible:
            at = int(segment.offset[impossible.records[0]])
            count = len(impossible.records)
            said = "1 record was" if count == 1 else f"{count} records were"
            remarks.append(Remark(at, f"{impossible}: {said} not used", is_unread=True))
            segment = segment.without(impossible.records)
    return segment, [], remarks


def _merge(parts: list[ActivityRows], rows: ActivityRows) -> None:
    """Add the rows to a table: as columns of rows that stand for the same items, else as rows."""
    for place, other in enumerate(parts):
        if np.array_equal(other.record, rows.record) and _are_alike(other.words, rows.words):
            parts[place] = replace(other, numbers={**other.numbers, **rows.numbers})
            return
    parts.append(rows)


def _are_alike(some: Mapping[str, Texts], others: Mapping[str, Texts]) -> bool:
    return some.keys() == others.keys() and all(
        some[key].categories == others[key].categories and np.array_equal(some[key].codes, others[key].codes)
        for key in some
    )


class _Base:
    """The columns that all tables of a segment begin with, by record."""

    def __init__(self, source: Source, header: SaHeader, segment: Segment, number: int) -> None:
        self._source, self._host = source.name, header.host
        self._at, self._number = segment.offset, number
        self._time = Times.of(segment.time.astype(np.float64), is_moment=True)

    def table(self, rows: ActivityRows) -> Table:
        """The whole table."""
        front = front_columns(
            self._source,
            self._at[rows.record],
            self._host,
            self._time[rows.record],
            rows.seconds,
            self._number,
            rows.record - 1,
        )
        return Table.of_columns(front | dict(rows.words) | dict(rows.numbers), len(rows.record))


def _section(source: Source, header: SaHeader, segment: Segment, rows: int, zone_s: int) -> Section:
    return Section(
        source=source.name,
        format="sa",
        layout=header.layout,
        host=header.host or None,
        kernel=header.kernel or None,
        cpus=segment.cpus,
        start=_moment(segment.time[0]),
        end=_moment(segment.time[-1]),
        reports=len(segment) - 1,
        rows=rows,
        first_line=int(segment.offset[0]),
        utc_offset_s=float(zone_s),
    )


def _moment(seconds: np.int64) -> str:
    return datetime.fromtimestamp(int(seconds), tz=UTC).isoformat()
