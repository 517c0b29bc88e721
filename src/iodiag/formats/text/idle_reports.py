"""Reports of `iostat -z` that show the CPUs and no device: every device of their run was idle.

Such a report is told from one that a paste cut: the header of the devices stands alone, and below the blank
line that ends a report (where the text has any) the next one follows, or nothing; or nothing stands there,
below a visible `-z`, and the next report follows. Below a visible command without `-z` the devices are gone
or cut off. One report without the only device may have lost that line. A device that is stuck completes no
request and is left out as well: where somebody may wait for I/O, nothing is told. Where no report shows the
CPUs a remark alone says that there are such reports.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from iodiag.formats.text.rows.row_store import Rows
from iodiag.formats.text.structure.blocks import CLASS, Origin, Walk
from iodiag.formats.text.structure.headers import find_header
from iodiag.model.capture import ParseNote
from iodiag.table.table import Column, Ints, Table, numbered
from iodiag.table.texts import Texts
from iodiag.table.times import Times

_MOST_IOWAIT_PCT, _MOST_TASKS = 10.0, 0.5
"""iowait, and the tasks that it may be at that, from which a device that is not shown may be stuck."""

_MOST_ROWS = 500_000
_OF_REPORT = (
    "source",
    "host",
    "time",
    "interval_s",
    "segment",
    "report",
    "since_boot",
    "phase",
    "phase_label",
)


def idle_rows(found: Walk, cpu: Table, disk: Table) -> Table | None:
    """A row of zeros for each device of a run and each report of it that leaves out all; None without any.

    `cpu` and `disk` are the rows of iostat alone. The `line` of a row is that of the devices' header, else of
    the CPUs; `is_omitted` tells these rows from printed ones.
    """
    found_empty = []
    begins = [origin.line for origin in found.origins]
    for place in _without_devices(cpu, disk).tolist():
        at = int(np.searchsorted(found.text.numbers, cpu["line"][place]))
        origin = found.origins[max(bisect_right(begins, at) - 1, 0)]
        header = -1 if _may_wait(cpu, place, origin) else _empty_table(found, at, origin)
        if header >= 0:
            line = int(found.text.numbers[header])
            found_empty.append((place, line, int(cpu["segment"][place]), _is_told(origin)))
    templates = _first_of_each(disk) if found_empty else {}
    empty = Counter(run for *_, run, _ in found_empty)
    pairs = [
        (place, line, row)
        for place, line, run, is_told in found_empty
        for row in templates.get(run, ())
        # one line that is lost takes one device out of one report
        if is_told or empty[run] > 1 or len(templates[run]) > 1
    ]
    if not 0 < len(pairs) <= _MOST_ROWS:
        return None
    of_cpu, own, of_disk = (np.array(column) for column in zip(*pairs, strict=True))
    reports, devices = cpu[of_cpu], disk[of_disk]
    columns: dict[str, Column] = {
        name: reports[name] if name in _OF_REPORT else _zeros(devices[name]) for name in disk.names
    }
    columns |= {"line": own, "is_omitted": np.ones(len(own), dtype=np.bool_)}
    return Table.of_columns(columns, len(own))


def remark_on_empty_tables(found: Walk) -> Iterator[ParseNote]:
    """How many tables of devices a blank line ends without a row, where iostat shows devices in others."""
    text = found.text
    headers = np.flatnonzero(found.classes[:-1] == CLASS["header"])
    empty = []
    for at in headers[text.is_blank[headers + 1]].tolist():
        below = next(_solid_below(found, at), -1)
        # a paste may have a blank line between all of its lines
        if _is_of(found, at, "disk") and not (below >= 0 and found.classes[below] == CLASS["row"]):
            empty.append(at)
    if empty:
        count = f"{len(empty)} report{'s' * (len(empty) > 1)}"
        reason = (
            f"{count} without a device are no samples: with -z all were idle, or one completed no request"
        )
        yield ParseNote(found.name, int(text.numbers[empty[0]]), reason, text.line(empty[0])[:200])


def lost_rows_of_cpus(found: Walk) -> Iterator[ParseNote]:
    """A note on each header of iostat's CPUs right above the one of the devices: its row is lost."""
    solid = np.flatnonzero(~found.text.is_blank)
    is_header = found.classes[solid] == CLASS["header"]
    places = np.flatnonzero(is_header[:-1] & is_header[1:])
    lost = [
        above
        for above, below in zip(solid[places].tolist(), solid[places + 1].tolist(), strict=True)
        if _is_of(found, above, "cpu") and _is_of(found, below, "disk")
    ]
    if lost:
        headers = f"{len(lost)} header{'s' * (len(lost) > 1)} of the CPUs without a row; lines may be lost"
        line = int(found.text.numbers[lost[0]])
        yield ParseNote(found.name, line, headers, found.text.line(lost[0])[:200], is_unread=True)


def missing_cpus(found: Walk, all_rows: Sequence[Rows]) -> Iterator[ParseNote]:
    """A note on the first table of single CPUs of mpstat that lacks some which another has.

    It prints a row for each that is online: rows of two tables may have met.
    """
    of_cpus = [rows for rows in all_rows if rows.layout.name == "mpstat cpu"]
    counted = [_single_cpus(rows) for rows in of_cpus]
    most = max((int(count.max(initial=0)) for _, count in counted), default=0)
    lacking = [block for blocks, count in counted for block in blocks[count < most].tolist()]
    if lacking:
        line = found.blocks[min(lacking)].header
        many = f"{len(lacking)} table{'s' * (len(lacking) > 1)} of single CPUs"
        reason = f"{many} without a row of a CPU that another has: it was offline, or lines are lost"
        yield ParseNote(found.name, int(found.text.numbers[line]), reason, found.text.line(line)[:200])


def _single_cpus(rows: Rows) -> tuple[Ints, Ints]:
    """The blocks that have rows of single CPUs, and of how many."""
    is_single = np.array([name != "all" for name in rows.names], dtype=np.bool_)[rows.key]
    pairs = np.unique(np.stack((rows.block[is_single], rows.key[is_single])), axis=1)
    return np.unique(pairs[0], return_counts=True)


def _without_devices(cpu: Table, disk: Table) -> Ints:
    """The places of the reports that show CPUs and no device, in runs that have devices."""
    keys = [(rows["segment"], rows["report"]) for rows in (cpu, disk)]
    width = 1 + max(int(report.max()) for _, report in keys)
    shown, has = (segment * width + report for segment, report in keys)
    is_lacking = ~np.isin(shown, has) & np.isin(cpu["segment"], disk["segment"])
    return np.flatnonzero(is_lacking & ~np.asarray(cpu["since_boot"], dtype=np.bool_))


def _may_wait(cpu: Table, place: int, origin: Origin) -> bool:
    """Whether iowait leaves room for a task that waits for a device."""
    iowait = float(cpu.floats("iowait_pct")[place])
    cpus = (origin.banner.cpus if origin.banner else None) or 1
    return not (iowait < _MOST_IOWAIT_PCT and iowait * cpus / 100 < _MOST_TASKS)


def _is_told(origin: Origin) -> bool:
    """Whether a command with `-z` is visible."""
    return origin.command is not None and origin.command.has_flag("z")


def _empty_table(found: Walk, row: int, origin: Origin) -> int:
    """The line of the devices' header that has no rows below a row of CPUs, or that row; -1 for neither."""
    is_told = _is_told(origin)
    if origin.command is not None and not is_told:
        return -1
    below = _solid_below(found, row)
    header = next(below, -1)
    if _is_of(found, header, "disk"):
        after = next(below, -1)
        is_ended = header + 1 < len(found.text) and bool(found.text.is_blank[header + 1])
        is_whole = _begins_report(found, after) and (is_ended or not found.text.is_blank.any())
        return header if (is_whole if after >= 0 else is_ended) else -1
    return row if is_told and header >= 0 and _begins_report(found, header) else -1


def _solid_below(found: Walk, index: int) -> Iterator[int]:
    return (at for at in range(index + 1, len(found.text)) if not found.text.is_blank[at])


def _is_of(found: Walk, index: int, family: str) -> bool:
    """Whether a line is the header of one of iostat's tables."""
    header = find_header(found.text.words(index)) if index >= 0 else None
    return header is not None and header.layout.format == "iostat" and header.layout.family == family


def _begins_report(found: Walk, index: int) -> bool:
    """Whether a line begins the next report or run: a clock, a banner, a command, the header of the CPUs."""
    return _is_of(found, index, "cpu") or int(found.classes[index]) in (CLASS["clock"], CLASS["banner"])


def _first_of_each(disk: Table) -> dict[int, Sequence[int]]:
    """The places of the first rows of each run's devices, by segment."""
    codes = numbered(disk["device"])[0]
    pairs = np.stack((disk["segment"], codes), axis=1)
    firsts = np.sort(np.unique(pairs, axis=0, return_index=True)[1])
    segments = disk["segment"][firsts]
    return {int(segment): firsts[segments == segment].tolist() for segment in np.unique(segments)}


def _zeros(column: Column) -> Column:
    """Zeros, where a number is known; names as they are."""
    if isinstance(column, Texts | Times) or column.dtype == np.bool_:
        return column
    return np.where(np.isnan(column), np.nan, 0.0) if column.dtype.kind == "f" else np.zeros_like(column)
