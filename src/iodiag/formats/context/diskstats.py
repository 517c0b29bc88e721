"""/proc/diskstats: one snapshot of the kernel's counters, or several with their times.

11 counters (2.6 to 4.17), 15 with discards (4.18), 17 with flushes (5.5); the short lines of partitions
in 2.6 are left out. Snapshots follow each other after a `TS 1294872302.5` line (pt-stalk), a `zzz ***`
line (OSWatcher), a line of `date +%s` or a date. A pair of snapshots gives exact rates; that is derive's
work, here they are read as they stand. A sector is 512 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.context._common import solid
from iodiag.formats.front_columns import front_columns
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import SampleTable
from iodiag.model.topology import Device
from iodiag.model.units import KB_PER_SECTOR
from iodiag.table.table import Table
from iodiag.table.texts import Texts
from iodiag.table.times import Times

_EXAMPLE = """\
   8       0 sda 579 666 47810 3565 32 40 568 66 0 2864 3635 0 0 0 0 6 3
   8      16 sdb 239 0 9738 2364 2 0 8 28 0 1592 2396 0 0 0 0 1 3
"""

_ROW = r"^\s*(\d{1,4})\s+(\d{1,7})\s+([A-Za-z]\S{0,63})((?:\s+\d{1,20}){11,17})\s*$"
_MARK = r"^\s*(?:TS\s+(\d{9,10}(?:\.\d+)?)\b.*|zzz \*\*\*\s*(.{8,60})|(\d{10}(?:\.\d+)?)\s*)$"

_COUNTERS = """
reads read_merges read_kb read_ms writes write_merges write_kb write_ms in_flight busy_ms weighted_ms
discards discard_merges discard_kb discard_ms flushes flush_ms
"""


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    rows: list[tuple[Line, re.Match[str], int, float]] = []
    snapshot, seconds, seen, used = 0, np.nan, set[str](), 0
    for at, line in solid(lines):
        mark = re.match(_MARK, line.text)
        clock = None if mark else _clock.parse_line(line.text)
        row = re.match(_ROW, line.text)
        if mark or clock:
            snapshot += bool(rows)
            seconds, seen = _time(mark, clock), set()
        elif row:
            if row[3] in seen:
                snapshot, seconds, seen = snapshot + 1, np.nan, set()
            seen.add(row[3])
            rows.append((line, row, snapshot, seconds))
            used = at
        else:
            break
    if not rows:
        return None
    devices = tuple(_device(row, line, source) for line, row, number, _ in rows if number == 0)
    table = SampleTable("disk_counters", _rows(rows, source))
    return ContextBlock(used, devices, (), (table,), layout=f"{len(rows[0][1][4].split())} counters")


def _time(mark: re.Match[str] | None, clock: _clock.Clock | None) -> float:
    if mark and (seconds := mark[1] or mark[3]):
        return float(seconds)
    clock = clock or (_clock.parse_line(mark[2]) if mark else None)
    return _clock.moment(clock and clock._replace(offset_s=None), "mdy")


def _device(row: re.Match[str], line: Line, source: str) -> Device:
    name = row[3].replace("!", "/")
    return Device(name, (f"{row[1]}:{row[2]}",), provenance={"name": f"diskstats {source}:{line.number}"})


def _rows(found: list[tuple[Line, re.Match[str], int, float]], source: str) -> Table:
    """One row per device and snapshot; counters the kernel does not have are NaN."""
    size, width = len(found), max(len(row[4].split()) for _, row, _, _ in found)
    counters = np.full((size, width), np.nan)
    for place, (_, row, _, _) in enumerate(found):
        numbers = row[4].split()
        counters[place, : len(numbers)] = [float(number) for number in numbers]
    times = Times.of(np.array([time for _, _, _, time in found]))
    snapshots = np.array([snapshot for _, _, snapshot, _ in found], dtype=np.int64)
    data = front_columns(source, [line.number for line, _, _, _ in found], "", times, report=snapshots)
    data["device"] = Texts.of(row[3].replace("!", "/") for _, row, _, _ in found)
    for name, values in zip(_COUNTERS.split(), counters.T, strict=False):
        data[name] = values * (KB_PER_SECTOR if name.endswith("_kb") else 1.0)
    return Table.of_columns(data, size)


FORMAT = ContextFormat(
    id="diskstats",
    title="/proc/diskstats: counters of every device",
    example=_EXAMPLE,
    starts=re.compile(_ROW + "|" + _MARK),
    read=_read,
    releases="Linux 2.6 to 6.x (11, 15 and 17 counters)",
    not_read="the four counters of partitions in 2.6.0 to 2.6.24: they have no times",
)
