"""Reports of `iostat -z` that leave out devices: those were idle.

A report that shows the CPUs and no device is told from one that a paste cut: the header of the devices stands
alone, and below the blank line that ends a report (where the text has any) the next one follows, or nothing;
or nothing stands there, below a visible `-z`, and the next report follows. Below a visible command without
`-z` the devices are gone or cut off. One report without the only device may have lost that line. A
report that shows some devices of its run leaves out the others where `-z` is visible, or where no row is
without I/O, more than one is missing, and one of those devices is shown again later.

A device that is stuck completes no request and is left out as well: where somebody may wait for I/O, and not
for the devices that are shown, nothing is told. Where no report shows the CPUs a remark alone says that there
are such reports.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set

import numpy as np
import numpy.typing as npt

from iodiag.formats.text.rows.row_store import Rows
from iodiag.formats.text.structure.blocks import CLASS, Origin, Walk
from iodiag.formats.text.structure.headers import find_header
from iodiag.model.capture import ParseNote
from iodiag.table.table import Column, Ints, Places, Table, numbered
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
    """A row of zeros for each device of a run and each report of it that leaves it out; None without any.

    `cpu` and `disk` are the rows of iostat alone. The `line` of a row is that of the devices' header, else of
    the CPUs; `is_omitted` tells these rows from printed ones.
    """
    templates = _first_of_each(disk)
    pairs = [*_of_empty_reports(found, cpu, disk, templates), *_of_others(found, cpu, disk, templates)]
    if not 0 < len(pairs) <= _MOST_ROWS:
        return None
    of_cpu, own, of_disk = (np.array(column) for column in zip(*pairs, strict=True))
    reports, devices = cpu[of_cpu], disk[of_disk]
    columns: dict[str, Column] = {
        name: reports[name] if name in _OF_REPORT else _zeros(devices[name]) for name in disk.names
    }
    columns |= {"line": own, "is_omitted": np.ones(len(own), dtype=np.bool_)}
    return Table.of_columns(columns, len(own))


Templates = dict[int, Sequence[int]]
"""Of each run, a row of each of its devices."""

_Missing = tuple[int, int, int]
"""A row that a report leaves out: the place of its CPUs, the line of its header, a row of that device."""


def _of_empty_reports(found: Walk, cpu: Table, disk: Table, templates: Templates) -> list[_Missing]:
    """Of reports without any device, all devices of the run."""
    found_empty = []
    begins = [origin.line for origin in found.origins]
    for place in _without_devices(cpu, disk).tolist():
        at = _index(found, int(cpu["line"][place]))
        origin = found.origins[max(bisect_right(begins, at) - 1, 0)]
        header = -1 if _may_wait(cpu, place, origin) else _empty_table(found, at, origin)
        if header >= 0:
            line = int(found.text.numbers[header])
            found_empty.append((place, line, int(cpu["segment"][place]), _is_told(origin)))
    empty = Counter(run for *_, run, _ in found_empty)
    return [
        (place, line, row)
        for place, line, run, is_told in found_empty
        for row in templates.get(run, ())
        # one line that is lost takes one device out of one report
        if is_told or empty[run] > 1 or len(templates[run]) > 1
    ]


def _of_others(found: Walk, cpu: Table, disk: Table, templates: Templates) -> list[_Missing]:
    """Of reports that show some devices of their run, the others."""
    width = 1 + max(int(rows["report"].max()) for rows in (cpu, disk))
    places = dict(zip((cpu["segment"] * width + cpu["report"]).tolist(), range(len(cpu)), strict=True))
    begins = [origin.line for origin in found.origins]
    codes = numbered(disk["device"])[0].tolist()
    missing: defaultdict[int, list[_Missing]] = defaultdict(list)
    proven = set()
    for key, rows, later in _short_reports(disk, templates, width):
        place, run = places.get(key), key // width
        if place is None:
            continue
        origin = found.origins[max(bisect_right(begins, _index(found, int(cpu["line"][place]))) - 1, 0)]
        if origin.command is not None and not _is_told(origin):
            continue
        if _may_wait(cpu, place, origin, _queue(disk, rows)) or not _is_whole(found, disk["line"][rows]):
            continue
        own = {codes[row] for row in rows.tolist()}
        others = [row for row in templates[run] if codes[row] not in own]
        missing[run] += [(place, int(disk["line"][rows[0]]) - 1, row) for row in others]
        if _is_told(origin) or any(codes[row] in later for row in others):
            proven.add((run, _is_told(origin)))
        if sum(map(len, missing.values())) > _MOST_ROWS:
            return []
    return [
        one
        for run, rows in missing.items()
        # one line that is lost takes one device out of one report; who cuts a device out does so to the end
        if (run, True) in proven or ((run, False) in proven and len(rows) > 1)
        for one in rows
    ]


def _short_reports(disk: Table, templates: Templates, width: int) -> Iterator[tuple[int, Places, Set[int]]]:
    """Of the reports with fewer devices than their run has: the key, the rows, and which devices come later.

    Runs that show a device without I/O leave nothing out.
    """
    is_sample = ~np.asarray(disk["since_boot"], dtype=np.bool_)
    samples = np.flatnonzero(is_sample)
    shows_idle = set(disk["segment"][is_sample & ~_has_io(disk)].tolist())
    keys = (disk["segment"] * width + disk["report"])[samples]
    order = np.argsort(keys, kind="stable")
    reports, firsts = np.unique(keys[order], return_index=True)
    codes = numbered(disk["device"])[0]
    seen: defaultdict[int, set[int]] = defaultdict(set)
    ends = np.append(firsts[1:], len(order))
    for place in range(len(reports) - 1, -1, -1):
        key, rows = int(reports[place]), samples[order[firsts[place] : ends[place]]]
        run = key // width
        if run not in shows_idle and len(rows) < len(templates[run]):
            yield key, rows, seen[run]
        if len(seen[run]) < len(templates[run]):
            seen[run].update(codes[rows].tolist())


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


def _may_wait(cpu: Table, place: int, origin: Origin, queue: float = 0.0) -> bool:
    """Whether iowait leaves room for a task that waits for a device that is not shown.

    `queue` is how many requests are in flight on those that are: for these tasks wait, too.
    """
    iowait = float(cpu.floats("iowait_pct")[place])
    cpus = (origin.banner.cpus if origin.banner else None) or 1
    tasks = iowait * cpus / 100
    return not ((iowait < _MOST_IOWAIT_PCT and tasks < _MOST_TASKS) or tasks <= queue)


def _is_told(origin: Origin) -> bool:
    """Whether a command with `-z` is visible."""
    return origin.command is not None and origin.command.has_flag("z")


def _index(found: Walk, line: int) -> int:
    """The place of a line among those that were kept."""
    return int(np.searchsorted(found.text.numbers, line))


def _queue(disk: Table, rows: Places) -> float:
    """How many requests are in flight on some devices of a report; 0 where no column tells."""
    return float(np.nansum(disk.floats("queue_depth")[rows])) if "queue_depth" in disk.names else 0.0


def _has_io(disk: Table) -> npt.NDArray[np.bool_]:
    """Which rows have any request, or anything moved."""
    names = [name for name in _MOVED if name in disk.names]
    has_io: npt.NDArray[np.bool_] = np.any([np.nan_to_num(disk.floats(n)) > 0 for n in names], axis=0)
    return has_io


_MOVED = (
    "ios_per_s",
    "reads_per_s",
    "writes_per_s",
    "discards_per_s",
    "flushes_per_s",
    "read_kb_per_s",
    "write_kb_per_s",
)


def _is_whole(found: Walk, lines: Ints) -> bool:
    """Whether a report's rows follow each other, and below them it is ended, by a blank line or the next."""
    first, last = _index(found, int(lines.min())), _index(found, int(lines.max()))
    if last - first >= len(lines) or not _is_of(found, first - 1, "disk"):
        return False
    after = next(_solid_below(found, last), -1)
    is_ended = last + 1 < len(found.text) and bool(found.text.is_blank[last + 1])
    return (
        (_begins_report(found, after) and (is_ended or not found.text.is_blank.any()))
        if after >= 0
        else is_ended
    )


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


def _first_of_each(disk: Table) -> Templates:
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
