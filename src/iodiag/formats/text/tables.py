"""Rows and their times into the tables of the contract: one per family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from iodiag.formats.front_columns import front_columns
from iodiag.formats.text.idle_reports import idle_rows
from iodiag.formats.text.rows.category_codes import slice_if_contiguous
from iodiag.formats.text.rows.row_store import Rows
from iodiag.formats.text.rows.single_row_parser import is_kernel_name
from iodiag.formats.text.structure.blocks import Walk
from iodiag.formats.text.times.timing import Timing
from iodiag.model.capture import ParseNote, SampleTable
from iodiag.model.columns import MAY_BE_SINCE_BOOT, OF_THE_MOMENT
from iodiag.table.table import Bools, Ints, Table, in_order_of_lines, stacked_all_columns
from iodiag.table.texts import Texts
from iodiag.table.times import Times


class _Front(NamedTuple):
    """What the columns in front of all tables need: the input and its lines; hosts, indents by block.

    `times` are the columns of times so far, by the clocks that they are of, and whether they are moments:
    all sections of one sar have the same. `phases` are the labels of phases, `phase_of` those of the blocks.
    """

    name: str
    numbers: Ints
    hosts: Sequence[str]
    host_of: Ints
    indents: Ints
    times: dict[tuple[int, bool], Times]
    phases: Sequence[str]
    phase_of: Ints


class _Frame(NamedTuple):
    """The rows of one Rows in one table."""

    family: str
    samples: Table
    is_part_of_table: bool
    format: str


def tables(
    found: Walk, all_rows: Sequence[Rows], all_timings: Sequence[Timing]
) -> Iterator[SampleTable | ParseNote]:
    """The tables of a text, samples and averages apart; a note where a table of several lacks rows."""
    hosts = [found.host_of(block.origin) for block in found.blocks.patterns]
    names = list(dict.fromkeys(hosts))
    front = _Front(
        name=found.name,
        numbers=found.text.numbers,
        hosts=names,
        host_of=np.array([names.index(host) for host in hosts], dtype=np.int64)[found.blocks.pattern],
        indents=found.blocks.each(lambda block: block.indent, np.int64),
        times={},
        phases=found.phases,
        phase_of=found.blocks.each(lambda block: block.phase, np.int64),
    )
    for is_average in (False, True):
        front.times.clear()
        pairs = [
            (r, t) for r, t in zip(all_rows, all_timings, strict=True) if (r.is_average == is_average).any()
        ]
        aware = _aware_families(pairs)
        frames = [
            frame
            for rows, timing in pairs
            for frame in _frames(front, rows, timing, _places(rows, is_average), aware)
        ]
        if not is_average:
            frames += _idle(found, frames)
        for family in dict.fromkeys(frame.family for frame in frames):
            mine = [frame for frame in frames if frame.family == family]
            whole = [frame.samples for frame in mine if not frame.is_part_of_table]
            if parts := [frame.samples for frame in mine if frame.is_part_of_table]:
                joined, lacking = _joined(parts)
                whole.append(joined)
                if lacking:
                    reason = (
                        f"{len(lacking)} rows lack a part that others of their report have; lines may be lost"
                    )
                    text = found.text.line(int(np.searchsorted(found.text.numbers, lacking[0])))
                    yield ParseNote(found.name, lacking[0], reason, text[:200], is_unread=True)
            yield SampleTable(family, in_order_of_lines(stacked_all_columns(whole)), is_average)


def _idle(found: Walk, frames: Sequence[_Frame]) -> Iterator[_Frame]:
    """The rows of devices in reports of iostat that leave out all of them."""
    cpu, disk = (
        [f.samples for f in frames if f.format == "iostat" and f.family == family and not f.is_part_of_table]
        for family in ("cpu", "disk")
    )
    rows = idle_rows(found, stacked_all_columns(cpu), stacked_all_columns(disk)) if cpu and disk else None
    if rows is not None:
        yield _Frame("disk", rows, False, "iostat")


def _aware_families(pairs: Sequence[tuple[Rows, Timing]]) -> frozenset[str]:
    """The tables whose times are absolute: a table with rows of an unknown zone has all in local time."""
    alike = {timing.clocks: timing for _, timing in pairs}
    is_aware = {number: timing.is_aware for number, timing in alike.items()}
    dated = {number for number, timing in alike.items() if timing.is_dated.any()}
    naive = dated - {number for number, known in is_aware.items() if known}
    families = [(timing.clocks, family) for rows, timing in pairs for family in _families(rows)]
    aware = {family for number, family in families if is_aware[number]}
    return frozenset(aware - {family for number, family in families if number in naive})


def _families(rows: Rows) -> list[str]:
    return list(dict.fromkeys(column.family or rows.layout.family for column in rows.layout.columns))


def _places(rows: Rows, is_average: bool) -> Ints | slice:
    """Which rows are samples, or averages; as a slice where they stand together: that copies nothing."""
    return slice_if_contiguous(np.flatnonzero(rows.is_average == is_average))


def _frames(
    front: _Front, rows: Rows, timing: Timing, places: Ints | slice, aware: frozenset[str]
) -> Iterator[_Frame]:
    """One frame per family that the layout's columns belong to."""
    layout = rows.layout
    size = len(rows.lines[places])
    tables: dict[str, Table] = {}
    for family in _families(rows):
        data = front_columns(
            front.name,
            front.numbers[rows.lines[places]],
            _hosts(front, rows.block[places]),
            _time(front, timing, places, family in aware),
            timing.interval[places],
            timing.segment[places],
            timing.report[places],
            timing.since_boot[places] & (family not in OF_THE_MOMENT),
        )
        if timing.doubtful:
            data[MAY_BE_SINCE_BOOT] = timing.may_be_since_boot()[places]
        if len(front.phases) > 1:
            data["phase"] = front.phase_of[rows.block[places]]
            data["phase_label"] = Texts.coded(front.phase_of[rows.block[places]], front.phases)
            if layout.clock == "row" and not timing.is_dated.any():
                data["clock_s"] = timing.local[places]
        if family == layout.family and layout.key is not None:
            data[layout.key] = Texts.coded(rows.key[places], rows.names)
        elif family == "cpu":
            data["cpu"] = Texts.same("all", size)
        if family == layout.family and layout.has_groups:
            data["is_group"] = _is_group(front.indents, rows)[places]
        if family == layout.family:
            data |= {name: Texts.of(cells[places]) for name, cells in rows.labels.items()}
        for number, column in enumerate(layout.columns):
            own = (column.family or layout.family) == family and not column.is_label
            if own and column.column is not None:
                data[column.column] = rows.numbers[places, number]
        tables[family] = Table.of_columns(data, size)
    finished = layout.finish(tables) if layout.finish else tables
    yield from (
        _Frame(family, samples, layout.is_part_of_table, layout.format)
        for family, samples in finished.items()
    )


def _hosts(front: _Front, blocks: Ints) -> Texts:
    """The host of each row, by its block."""
    if len(front.hosts) == 1:
        return Texts.same(front.hosts[0], len(blocks))
    return Texts.coded(front.host_of[blocks], front.hosts)


def _time(front: _Front, timing: Timing, places: Ints | slice, is_aware: bool) -> Times:
    """The column of times: absolute, or as the host's clock showed them."""
    key = timing.clocks, is_aware
    if key not in front.times:
        seconds = (timing.absolute if is_aware else timing.local)[places]
        times = Times.of(np.where(timing.is_dated[places], seconds, np.nan), is_moment=is_aware)
        times.stamps.flags.writeable = False
        front.times[key] = times
    return front.times[key]


def _is_group(indents: Ints, rows: Rows) -> Bools:
    """The group lines of iostat -g: their names begin with a blank.

    In a paste whose rows stand one blank further in than the header, the disks do so as well: then the
    blank says nothing.
    """
    if rows.layout.key_at == "last":
        is_inset = (rows.gaps == 2) & bool((rows.gaps == 1).any())
    else:
        is_inset = rows.gaps == indents[rows.block] + 1
    inset_names = [rows.names[place] for place in set(rows.key[is_inset].tolist())]
    result: Bools = is_inset & (not any(map(is_kernel_name, inset_names)))
    return result


def _joined(parts: Sequence[Table]) -> tuple[Table, list[int]]:
    """One row per device and report, where `-h -x` spread it over several tables; the lines that lack a part.

    The n-th row of a device in each of a report's tables is one row; it stands where the first of them
    stands.
    """
    import pandas as pd

    frames = [part.frame for part in parts]
    columns = list(dict.fromkeys(name for frame in frames for name in frame.columns))
    keys = ["segment", "report", "device"]
    numbered = [
        frame.assign(_nth=frame.groupby(keys, observed=True, sort=False).cumcount()) for frame in frames
    ]
    stacked = pd.concat(numbered, ignore_index=True).sort_values("line", kind="stable")
    groups = stacked.groupby([*keys, "_nth"], observed=True, sort=False)
    joined, sizes = groups.first().reset_index(), groups.size().to_numpy()
    most = pd.Series(sizes).groupby(joined["segment"].to_numpy()).transform("max").to_numpy()
    return Table.of(joined[columns]), joined["line"][sizes < most].tolist()
