"""/proc/diskstats: one snapshot of the kernel's counters, or several with their times.

11 counters (2.6 to 4.17), 15 with discards (4.18), 17 with flushes (5.5); the short lines of partitions in
2.6 are left out. Snapshots follow each other after a `TS 1294872302.5` line (pt-stalk), a `zzz ***` line
(OSWatcher), a line of `date +%s` or a date; or `sleep N` stands between them. /sys/block/sda/stat has the
same counters of one device (`cat`, `grep .`, `==> path <==`). A pair of snapshots gives exact rates; that
is derive's work, here they are read as they stand. A sector is 512 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

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
_STAT = (
    r"^(?:.{0,120}\bcat |\s*==> |\s*)/sys/(?:class/)?block/(?:[\w!.-]{1,64}/)?(?P<name>[\w!.-]{1,64})/stat"
    r"(?: <==)?(?::(?P<values>(?:\s*\d{1,20}(?!\S)){11,17}))?\s*$"
)
_VALUES = r"^\s*\d{1,20}(?:\s+\d{1,20}){10,16}\s*$"
_PROMPT = r"^.{0,120}[#$>]\s*(?:date\b|sleep (?P<seconds>\d{1,5}(?:\.\d{1,3})?)).{0,40}$"

_COUNTERS = """
reads read_merges read_kb read_ms writes write_merges write_kb write_ms in_flight busy_ms weighted_ms
discards discard_merges discard_kb discard_ms flushes flush_ms
"""


class _Row(NamedTuple):
    """The counters of a device in a snapshot: its time in seconds since 1970, and the pause before it."""

    line: Line
    name: str
    number: str
    counters: list[str]
    snapshot: int
    seconds: float
    pause_s: float


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    rows: list[_Row] = []
    snapshot, seconds, pause, seen, used, stat = 0, np.nan, np.nan, set[str](), 0, ""
    for at, line in solid(lines):
        mark = re.match(_MARK, line.text)
        clock = None if mark else _clock.parse_line(line.text)
        prompt, heading = re.match(_PROMPT, line.text), re.match(_STAT, line.text)
        found = _counters(line.text, heading["name"] if heading else stat)
        stat = heading["name"] if heading and not heading["values"] else ""
        if found:
            name, number, counters = found
            if name in seen:
                snapshot, seconds, pause, seen = snapshot + 1, np.nan, np.nan, set()
            seen.add(name)
            rows.append(_Row(line, name, number, counters, snapshot, seconds, pause))
            used = at
        elif mark or clock:
            snapshot += bool(seen)
            seconds, pause, seen = _time(mark, clock), np.nan if seen else pause, set()
        elif prompt and prompt["seconds"]:
            snapshot, seconds, seen = snapshot + bool(seen), np.nan, set()
            pause = float(prompt["seconds"])
        elif not (prompt or heading):
            break
    if not rows:
        return None
    devices = tuple(_device(row, source) for row in rows if row.snapshot == 0)
    table = SampleTable("disk_counters", _rows(rows, source))
    return ContextBlock(used, devices, (), (table,), layout=f"{len(rows[0].counters)} counters")


def _counters(text: str, stat: str) -> tuple[str, str, list[str]] | None:
    """A device's name, its number and its counters; `stat` is the device whose file is shown, if any."""
    if row := re.match(_ROW, text):
        return row[3].replace("!", "/"), f"{row[1]}:{row[2]}", row[4].split()
    heading = re.match(_STAT, text)
    values = heading["values"] if heading else text if stat and re.match(_VALUES, text) else None
    return (stat.replace("!", "/"), "", values.split()) if values else None


def _time(mark: re.Match[str] | None, clock: _clock.Clock | None) -> float:
    if mark and (seconds := mark[1] or mark[3]):
        return float(seconds)
    clock = clock or (_clock.parse_line(mark[2]) if mark else None)
    return _clock.moment(clock and clock._replace(offset_s=None), "mdy")


def _device(row: _Row, source: str) -> Device:
    aliases = (row.number,) if row.number else ()
    return Device(row.name, aliases, provenance={"name": f"diskstats {source}:{row.line.number}"})


def _rows(found: list[_Row], source: str) -> Table:
    """One row per device and snapshot; counters the kernel does not have are NaN."""
    size, width = len(found), max(len(row.counters) for row in found)
    counters = np.full((size, width), np.nan)
    for place, row in enumerate(found):
        counters[place, : len(row.counters)] = [float(number) for number in row.counters]
    data = front_columns(
        source,
        [row.line.number for row in found],
        "",
        Times.of(np.array([row.seconds for row in found])),
        np.array([row.pause_s for row in found]),
        report=np.array([row.snapshot for row in found], dtype=np.int64),
    )
    data["device"] = Texts.of(row.name for row in found)
    for name, values in zip(_COUNTERS.split(), counters.T, strict=False):
        data[name] = values * (KB_PER_SECTOR if name.endswith("_kb") else 1.0)
    return Table.of_columns(data, size)


FORMAT = ContextFormat(
    id="diskstats",
    title="/proc/diskstats: counters of every device",
    example=_EXAMPLE,
    starts=re.compile(f"{_ROW}|{_MARK}|{_STAT}"),
    read=_read,
    releases="Linux 2.6 to 6.x (11, 15 and 17 counters)",
    not_read="the four counters of partitions in 2.6.0 to 2.6.24: they have no times",
)
