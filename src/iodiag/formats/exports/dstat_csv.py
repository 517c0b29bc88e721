"""dstat --output: CSV of dstat 0.6 to 0.8.

Groups of columns stand above their names; bytes are bytes per second, whatever the screen shows. The first
row of every run averages since boot. What changes its shape: -t or -T (the clock: without one the length of
samples is the delay alone), -d, -D, --disk-util and --disk-tps (disks), -c, -C (CPUs), -p, -m, -s, -g and -y.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.front_columns import front_columns
from iodiag.formats.text.structure.blocks import CLASS, Classes
from iodiag.formats.types import FileFormat, Item
from iodiag.formats.whole_files import account, line_starts, unseen
from iodiag.model.capture import ParseNote, SampleTable, Section, Source
from iodiag.model.columns import OF_THE_MOMENT
from iodiag.model.units import KB_PER_BYTE
from iodiag.table.table import Floats, Table, in_order_of_lines, stacked_all_columns
from iodiag.table.texts import Texts
from iodiag.table.times import Times, span

_EXAMPLE = """\
"Dstat 0.7.2 CSV output"
"Author:","Dag Wieers <dag@wieers.com>",,,,"URL:","http://dag.wieers.com/home-made/dstat/"
"Host:","db1",,,,"User:","root"
"Cmdline:","dstat -tcd --output out.csv 5",,,,"Date:","20 Nov 2026 12:30:00 UTC"

"system","total cpu usage",,,,,,"dsk/total",
"time","usr","sys","idl","wai","hiq","siq","read","writ"
20-11 12:30:00,0.173,0.123,99.670,0.009,0.0,0.026,22395.765,51954.426
20-11 12:30:05,2.0,1.0,60.0,36.5,0.0,0.5,1228800.0,409600.0
"""
_HEAD = re.compile(rb'"?Dstat 0\.\d')
_CLOCK = re.compile(r"(\d\d)-(\d\d) ([01]\d|2[0-3]):([0-5]\d):([0-5]\d)")
_DELAY = re.compile(r"(?<=\s)(\d{1,6})(?:\s+\d{1,9})?\s*$")
_TAKES_NUMBER = re.compile(r"\s-[CNDIS]\s+\S+\s*$")
_NUMBER = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30})?(?:e[+-]?[0-9]{1,3})?")
_CLOCKS = ("time", "epoch")
_NOT_KEPT = re.compile(
    r"(?:net|int|pkt)/|(?:load avg|sockets|tcp sockets|udp|unix sockets|raw|filesystem|file locks|sysv ipc"
    r"|async|most|interrupts|virtual memory|procs/new|swap/free|memory usage/used)\b"
)
_CPU = dict(usr="user", sys="system", idl="idle", wai="iowait", hiq="irq", siq="softirq", stl="steal")
_HOST = {
    ("procs", "run"): ("queue", "run_queue", 1.0),
    ("procs", "blk"): ("queue", "blocked", 1.0),
    ("memory usage", "free"): ("memory", "free_kb", KB_PER_BYTE),
    ("memory usage", "buff"): ("memory", "buffers_kb", KB_PER_BYTE),
    ("memory usage", "cach"): ("memory", "cached_kb", KB_PER_BYTE),
    ("swap", "used"): ("swap", "used_kb", KB_PER_BYTE),
    ("paging", "in"): ("swapping", "swap_in_kb_per_s", KB_PER_BYTE),
    ("paging", "out"): ("swapping", "swap_out_kb_per_s", KB_PER_BYTE),
    ("system", "int"): ("system", "interrupts_per_s", 1.0),
    ("system", "csw"): ("system", "context_switches_per_s", 1.0),
}
_DISK = {
    ("dsk", "read"): ("read_kb_per_s", KB_PER_BYTE),
    ("dsk", "writ"): ("write_kb_per_s", KB_PER_BYTE),
    ("dsk", "#read"): ("reads_per_s", 1.0),
    ("dsk", "#writ"): ("writes_per_s", 1.0),
    ("io", "read"): ("reads_per_s", 1.0),
    ("io", "writ"): ("writes_per_s", 1.0),
}
_USE = "util_pct"


class _Meaning(NamedTuple):
    """Where the values of a column belong: table, the item's name there ("" for none), column, factor."""

    family: str
    item: str
    column: str
    factor: float


@dataclass
class _Run:
    """What stands below one heading: host, date and delay, the columns, and the rows with their lines.

    `moments` are the seconds since 1970 of the rows, NaN where unknown; `meanings` are the columns that are
    kept, by their places.
    """

    host: str = ""
    date: _clock.Clock | None = None
    delay: float = 1.0
    groups: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)
    meanings: dict[int, _Meaning] = field(default_factory=dict)

    def unknown(self) -> list[str]:
        """The columns that are neither kept nor known to be left out."""
        return [
            f"{group} {name}"
            for place, (group, name) in enumerate(zip(self.groups, self.names, strict=True))
            if place not in self.meanings and name not in _CLOCKS and not _NOT_KEPT.match(f"{group}/{name}")
        ]


def _meaning(group: str, name: str) -> _Meaning | None:
    if (group, name) in _HOST:
        family, column, factor = _HOST[group, name]
        return _Meaning(family, "", column, factor)
    if (cpu := re.fullmatch(r"(?:total cpu|cpu(\d{1,4})) usage", group)) and name in _CPU:
        return _Meaning("cpu", cpu[1] or "all", f"{_CPU[name]}_pct", 1.0)
    kind, _, device = group.partition("/")
    if device and (kind, name) in _DISK:
        column, factor = _DISK[kind, name]
        table = ("io", "") if device == "total" else ("disk", device)
        return _Meaning(*table, column, factor)
    is_disk = name == "util" and group and kind not in ("dsk", "io")
    return _Meaning("disk", group, _USE, 1.0) if is_disk else None


def read(source: Source) -> Iterator[Item]:
    """A table per family, a Section per heading, and a note for every row that is not whole."""
    classes = unseen(len(line_starts(source.data)))
    reasons: dict[int, str] = {}
    runs: list[_Run] = []
    for number, line in enumerate(source.data.decode("utf-8", "replace").split("\n")[: len(classes)]):
        if line.strip():
            classes[number] = CLASS[_take(runs, line.rstrip("\r"), number, reasons)]
    if runs and runs[-1].rows and not source.data.endswith((b"\n", b"\r")):
        cut = runs[-1].lines.pop() - 1
        runs[-1].rows.pop()
        classes[cut], reasons[cut] = CLASS["unread"], "the file ends in it: its last number may be cut"
    for run in runs:
        _take_moments(run, classes, reasons)
    tables: dict[str, list[Table]] = {}
    sections = []
    for segment, run in enumerate(run for run in runs if run.rows):
        rows, section = _tables(source.name, run, segment)
        sections.append(section)
        for family, table in rows:
            tables.setdefault(family, []).append(table)
    for family, parts in tables.items():
        yield SampleTable(family, in_order_of_lines(stacked_all_columns(parts)))
    yield from sections
    for run in runs:
        if run.rows and (unknown := run.unknown()):
            reason = f"columns that iodiag does not know are left out: {', '.join(unknown[:20])}"
            yield ParseNote(source.name, run.lines[0], reason)
        if (at := _clock.first_back(np.array(run.moments))) >= 0:
            yield ParseNote(source.name, run.lines[at], _clock.GOES_BACK, source.quote(run.lines[at])[:200])
    yield from account(source, classes, reasons)


def _take(runs: list[_Run], line: str, number: int, reasons: dict[int, str]) -> str:
    """Sort a line into its run; the class that it counts as."""
    try:
        cells = next(csv.reader([line]))
    except csv.Error:
        reasons[number] = "no line of CSV"
        return "unread"
    first = cells[0].strip()
    if first.startswith("Dstat "):
        runs.append(_Run())
    elif not runs:
        reasons[number] = "stands above dstat's heading"
        return "unread"
    elif first == "Host:":
        runs[-1].host = cells[1].strip() if len(cells) > 1 else ""
    elif first == "Cmdline:":
        _take_command(runs[-1], cells)
    elif first != "Author:":
        return _take_row(runs[-1], cells, number, reasons)
    return "banner"


def _take_command(run: _Run, cells: Sequence[str]) -> None:
    """The delay that dstat was told, one second where it was told none, and the date."""
    command = cells[1] if len(cells) > 1 else ""
    delay = _DELAY.search(command)
    if delay and not _TAKES_NUMBER.search(command):
        run.delay = float(delay[1])
    run.date = _clock.parse_line(cells[-1])


def _take_row(run: _Run, cells: list[str], number: int, reasons: dict[int, str]) -> str:
    if not run.groups:
        run.groups = cells
        return "header"
    if not run.names:
        # a group stands above the first of its columns
        names = cells
        groups = [*run.groups, *[""] * (len(names) - len(run.groups))][: len(names)]
        for place in range(1, len(groups)):
            groups[place] = groups[place] or groups[place - 1]
        run.groups, run.names = groups, names
        found = {place: _meaning(*pair) for place, pair in enumerate(zip(groups, names, strict=True))}
        meanings = {place: meaning for place, meaning in found.items() if meaning is not None}
        odd = _odd_disks(meanings)
        run.meanings = {at: own for at, own in meanings.items() if own.item not in odd}
        return "header"
    if len(cells) != len(run.names):
        reasons[number] = "not as many values as dstat's header has names"
    elif any(_number(cells[place]) is None for place in run.meanings):
        reasons[number] = "a value that is no number"
    else:
        run.rows.append(cells)
        run.lines.append(number + 1)
        return "row"
    return "unread"


def _odd_disks(meanings: Mapping[int, _Meaning]) -> set[str]:
    """The disks of which not as much is printed as of others: one name is damaged, as dstat has one list.

    Of those of which as much is printed, but not the same, one that has a use (util) is named twice alike;
    where several have, or none, nothing tells. Not all disks have a use.
    """
    columns: dict[str, set[str]] = {}
    for meaning in meanings.values():
        if meaning.family == "disk":
            columns.setdefault(meaning.item, set()).add(meaning.column)
    counted = {disk: own - {_USE} for disk, own in columns.items()}
    most = max(counted.values(), key=len, default=set())
    if all(own <= most for own in counted.values()):
        return {disk for disk, own in counted.items() if own < most}
    used = [disk for disk, own in columns.items() if _USE in own and own != {_USE}]
    return columns.keys() - (used if len(used) == 1 else ())


def _number(cell: str) -> float | None:
    bare = cell.strip(" ")
    return float(bare) if _NUMBER.fullmatch(bare) else None


def _tables(source: str, run: _Run, segment: int) -> tuple[list[tuple[str, Table]], Section]:
    """The tables of a run and what is said of it."""
    size = len(run.rows)
    seconds, is_aware = np.array(run.moments), "epoch" in run.names
    interval = np.full(size, run.delay)
    if size > 2 and not np.isnan(seconds).any():
        interval = _clock.interval_lengths(seconds, None)
    interval[0] = np.nan
    time = Times.of(seconds, is_moment=is_aware)
    items: dict[tuple[str, str], dict[str, Floats]] = {}
    for place, meaning in run.meanings.items():
        values = np.array([_number(row[place]) for row in run.rows], dtype=np.float64)
        items.setdefault((meaning.family, meaning.item), {})[meaning.column] = values * meaning.factor
    found = []
    for (family, item), columns in items.items():
        since_boot = (np.arange(size) == 0) & (family not in OF_THE_MOMENT)
        clocks = time, interval.copy(), segment, np.arange(size)
        front = front_columns(source, run.lines, run.host, *clocks, since_boot)
        key = {"cpu": "cpu", "disk": "device"}.get(family)
        data = front | ({key: Texts.same(item, size)} if key else {}) | _whole(columns)
        found.append((family, Table.of_columns(data, size)))
    start, end = span(seconds[~np.isnan(seconds)], is_aware)
    layout = "; ".join(dict.fromkeys(run.groups))
    return found, Section(
        source,
        FORMAT.id,
        layout,
        run.host or None,
        start=start,
        end=end,
        reports=size,
        rows=size,
        first_line=run.lines[0],
    )


def _whole(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """Columns of CPUs with interrupts as a part of the system's time; any others as they are."""
    result = dict(columns)
    if "system_pct" in result:
        for part in ("irq_pct", "softirq_pct"):
            result["system_pct"] = result["system_pct"] + result.get(part, 0.0)
    return result


def _take_moments(run: _Run, classes: Classes, reasons: dict[int, str]) -> None:
    """Find the time of each row, and leave out rows whose time is none.

    A row's date lacks the year, which that of the command tells.
    """
    name = next((name for name in _CLOCKS[::-1] if name in run.names), "")
    date = run.date.day if run.date is not None else None
    if not name or (name == "time" and (date is None or date[0] < 1970)):
        run.moments = [math.nan] * len(run.rows)
        return
    place, year, last_month = run.names.index(name), date[0] if date else 0, 0
    kept: list[tuple[int, list[str], float]] = []
    for number, row in zip(run.lines, run.rows, strict=True):
        month, moment = _moment(row[place], name, year, last_month)
        if moment is None:
            classes[number - 1], reasons[number - 1] = CLASS["unread"], "its time is no time"
            continue
        year, last_month = year + (month < last_month), month
        kept.append((number, row, moment))
    run.lines, run.rows = [line for line, _, _ in kept], [row for _, row, _ in kept]
    run.moments = [moment for _, _, moment in kept]


def _moment(cell: str, name: str, year: int, last_month: int) -> tuple[int, float | None]:
    """The month that a cell names, and its seconds since 1970; months begin anew in the next year."""
    if name == "epoch":
        return 0, _number(cell)
    match = _CLOCK.fullmatch(cell.strip())
    if match is None:
        return 0, None
    day, month, hour, minute, second = map(int, match.groups())
    date = (year + (month < last_month), month, day)
    moment = _clock.moment(_clock.Clock(date, "-", 3600.0 * hour + 60 * minute + second), "ymd")
    return month, None if math.isnan(moment) else moment


FORMAT = FileFormat(
    id="dstat-csv",
    title="dstat --output",
    example=_EXAMPLE,
    recognise=lambda head: _HEAD.match(head.lstrip(b"\xef\xbb\xbf \t\r\n")) is not None,
    read=read,
    releases="dstat 0.6 to 0.8",
    not_read="network, load averages, plugins but disk-util and disk-tps; pcp-dstat, whose headers are cut",
)
