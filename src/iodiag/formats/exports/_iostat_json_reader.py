"""The reading of JSON of iostat, mpstat, cifsiostat and tapestat, for the modules that recognise it."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.clock import Clock
from iodiag.formats.exports._json_scan import NOT_CLOSED, Event, Value, Whole, scan
from iodiag.formats.front_columns import front_columns
from iodiag.formats.raw_columns.iostat import CPU_WORDS, column_of
from iodiag.formats.raw_columns.sar import combine_long_cpu, find_section
from iodiag.formats.tables import cifsiostat, tapestat
from iodiag.formats.tables.iostat_text import layout as text_layout
from iodiag.formats.text.structure import banners as _grammar
from iodiag.formats.text.structure.banners import Command
from iodiag.formats.text.structure.blocks import CLASS, Classes
from iodiag.formats.text.times.report_times import Ends, RowGroup, ends_of, lengths_of, may_be_since_boot
from iodiag.formats.text.times.timing import COUNT_RATES
from iodiag.formats.types import Item, LayoutColumn
from iodiag.formats.whole_files import (
    LOST_POINT,
    account,
    line_starts,
    lost_points,
    mark_lines,
    undress,
    unseen,
)
from iodiag.model.capture import ParseNote, SampleTable, Section, Source
from iodiag.model.columns import KEY_COLUMNS
from iodiag.table.table import Floats, Ints, Table, in_order_of_lines, stacked_all_columns
from iodiag.table.texts import Texts
from iodiag.table.times import Times, span

_LINES_BEFORE = 5
_MOST_LAYOUTS = 100
_ABSURD = 1e100  # no counter comes near; keeps products finite
_HOST_KEYS = ("nodename", "sysname", "release", "machine", "number-of-cpus", "date")
_IN_ROWS = frozenset(("avg-cpu", "disk", "cpu-load"))
_OF_OTHER_REPORT = "an item comes twice in this report: the beginning of the next is lost; left out"
_AGAIN = "\n"
"""Stands among the items of a report of which one came twice; no item is called so."""

_TABLES = {"avg-cpu": "cpu", "cpu-load": "cpu"}
_ROWS_BY_KEYS: dict[str, Callable[[str], LayoutColumn | None]] = {
    "cifs_mounts": cifsiostat.column_of,
    "tapes": tapestat.column_of,
}
"""Tables whose rows are known by their keys, in whatever list they stand, and what a key means."""
_FEWEST_KEYS = 5
_LEFT_OUT = frozenset(("node-load", "sum-interrupts", "individual-interrupts", "soft-interrupts"))
_ROW_KEYS = frozenset(("disk_device", "iowait"))
_OLD_DISK_KEYS = {"rrqm": "rrqm/s", "wrqm": "wrqm/s", "r": "r/s", "w": "w/s", "rkB": "rkB/s", "wkB": "wkB/s"}

_CPU_SECTION = find_section(("CPU", "%usr", "%irq"))
_SHARES = {word: target[0] for word, target in _CPU_SECTION.columns.items() if target} if _CPU_SECTION else {}
_ONE_REPORT = (
    "mpstat's only report may be an average since boot, as it prints without an interval, or one sample; "
    "taken as since boot"
)

_TRUE_UNITS = {2.0: "512-byte sectors", 2048.0: "512-byte sectors", 1024.0: "kB", 1 / 1024: "MB"}
"""What the keys' unit divided by the true one tells: sectors under kB, sectors under MB, …"""

_CLEAR_KB = 1.0
"""A product of printed numbers from which rounding does not matter."""

_PRODUCTS: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...] = (
    (("reads_per_s",), "read_request_size_kb", ("read_kb_per_s",)),
    (("writes_per_s",), "write_request_size_kb", ("write_kb_per_s",)),
    (("discards_per_s",), "discard_request_size_kb", ("discard_kb_per_s",)),
    (("reads_per_s", "writes_per_s"), "request_size_kb", ("read_kb_per_s", "write_kb_per_s")),
    (("ios_per_s",), "request_size_kb", ("kb_per_s",)),
)
"""Rates of requests, their size, and the throughput that the two make."""

_NOTHING_TELLS = (
    "taken in the unit that the keys name; iostat 12.1.2 to 12.2.0 prints 512-byte sectors under them, and "
    "without -x nothing tells these releases from later ones"
)


@dataclass
class _Report:
    """One element of `statistics`; `at` is its byte offset."""

    at: int
    clock: str = ""


@dataclass
class _Group:
    """Flat objects with the same keys: report, byte offset, device and values of each."""

    reports: array[int] = field(default_factory=lambda: array("q"))
    at: array[int] = field(default_factory=lambda: array("q"))
    name_key: str = ""
    devices: list[str] = field(default_factory=list)
    values: array[float] = field(default_factory=lambda: array("d"))
    is_whole: array[int] = field(default_factory=lambda: array("b"))

    def add(self, report: int, at: int, members: dict[str, Value]) -> None:
        self.reports.append(report)
        self.at.append(at)
        self.devices.append(str(members.get(self.name_key) or ""))
        self.values.extend([value if isinstance(value, float) else math.nan for value in members.values()])
        self.is_whole.extend([type(value) is Whole for value in members.values()])


@dataclass
class _Run:
    """One host object: what one run of a tool printed. `groups` are its rows by their keys.

    `listed` are the items of the last report by kind of row, `again` the places of rows left out, as they are
    of a report whose beginning is lost.
    """

    index: int
    at: int
    command: Command | None = None
    is_elided: bool = False
    is_whole: bool = True
    facts: dict[str, str] = field(default_factory=dict)
    reports: list[_Report] = field(default_factory=list)
    groups: dict[tuple[str, ...], _Group] = field(default_factory=dict)
    listed: dict[str, set[str]] = field(default_factory=dict)
    again: list[int] = field(default_factory=list)

    def is_again(self, kind: str, item: str, at: int) -> bool:
        """Whether a row is of a report behind the last one that begins: its item, or one above, came twice.

        Behind the devices of a group (its name has a blank in front) those of another may be the same. A
        share may be mounted twice.
        """
        if kind not in _IN_ROWS:
            return False
        listed = self.listed.setdefault(kind, set())
        if item in listed or _AGAIN in listed:
            listed.add(_AGAIN)
            self.again.append(at)
            return True
        if item.startswith(" "):
            listed.clear()
        listed.add(item)
        return False

    @property
    def is_mpstat(self) -> bool:
        """Whether mpstat printed it."""
        return any(keys[0] == "cpu-load" for keys in self.groups)


def read(source: Source, format_id: str) -> Iterator[Item]:
    """Tables, a Section per run, and notes. `line` is where a row's values begin."""
    data = undress(source.data)
    starts = line_starts(data)
    classes = unseen(len(starts))
    reasons: dict[int, str] = {}
    runs = _runs(source, data, starts, classes, reasons)
    clocks = [[_clock.parse_line(report.clock) for report in run.reports] for run in runs]
    dates = [_clock.parse_date(run.facts.get("date", "")) for run in runs]
    order, sentence = _clock.day_order([c for c in (*chain(*clocks), *dates) if c], has_am_pm=False)
    if sentence and runs:
        yield ParseNote(source.name, 0, sentence)
    notes: list[ParseNote] = []
    read_runs = [
        _timed(
            run,
            [_table(source.name, starts, keys, group, notes) for keys, group in run.groups.items()],
            own,
            order,
        )
        for run, own in zip(runs, clocks, strict=True)
    ]
    yield from {note.reason: note for note in reversed(notes)}.values()
    for run, own, day, timed in zip(runs, clocks, dates, read_runs, strict=True):
        yield from _missing(source, starts, run)
        yield from _clock_notes(source, starts, timed, [clock is None for clock in own], day is None)
    if any(timed.run.is_mpstat and timed.is_since_boot for timed in read_runs):
        yield ParseNote(source.name, 0, _ONE_REPORT)
    dated = [timed.ends for timed in read_runs if timed.ends.is_dated]
    is_aware = bool(dated) and all(ends.is_aware for ends in dated)
    yield from _tables(source.name, read_runs, is_aware)
    for timed in read_runs:
        yield _section(source, format_id, starts, timed, is_aware)
    yield from account(source, classes, reasons)


def _runs(source: Source, data: bytes, starts: Ints, classes: Classes, reasons: dict[int, str]) -> list[_Run]:
    """The runs in a file, with every line of theirs classed."""
    marks: list[tuple[int, int, int]] = []  # class, and the offsets of the first and the last byte
    runs: list[_Run] = []
    begun = 0
    for event in scan(data):
        last = max(event.end - 1, event.start)
        if event.kind == "document":
            begun = event.start
            command = _command(source, int(np.searchsorted(starts, begun, "right")))
        elif event.kind == "end":
            marks.append((CLASS["header"], begun, last))
            if runs:
                runs[-1].is_whole = event.value == 1.0
        elif event.kind == "broken" or (event.kind in ("open", "scalar") and _is_in_rows(event.path)):
            marks.append((CLASS["unread"], event.start, last))
        elif event.kind == "open" and event.path[-1:] == ("hosts",):
            runs.append(_Run(len(runs), event.start, command))
        elif runs:
            if event.path[-1:] == ("statistics",) and not runs[-1].reports:
                runs[-1].is_elided = _is_elided(data, event.start)
            marks.append((_take(runs[-1], event), event.start, last))
        elif event.members:
            marks.append((CLASS["unread"], event.start, last))
    mark_lines(classes, reasons, starts, marks)
    again = np.array([at for run in runs for at in run.again], dtype=np.int64)
    reasons |= dict.fromkeys((np.searchsorted(starts, again, "right") - 1).tolist(), _OF_OTHER_REPORT)
    return runs


def _is_in_rows(path: tuple[str, ...]) -> bool:
    """Whether a path leads into a list of rows, where all objects are flat."""
    below = path[path.index("statistics") + 1 :] if "statistics" in path else path
    is_list = "statistics" in path and bool(below) and below[-1] != "timestamp"
    return bool(_IN_ROWS & set(path)) or (is_list and not _LEFT_OUT & set(below))


def _kind(name: str, members: Mapping[str, Value]) -> str:
    """What a flat object is a row of; "" where it is none."""
    if name in _IN_ROWS:
        return name
    known = {kind: sum(find(key) is not None for key in members) for kind, find in _ROWS_BY_KEYS.items()}
    best = max(known, key=lambda kind: known[kind])
    return best if known[best] >= _FEWEST_KEYS and known[best] < len(members) else ""


def _name_key(kind: str, members: Mapping[str, Value]) -> str:
    """The key of the name of a row's item."""
    named = {"disk": "disk_device", "cpu-load": "cpu"}.get(kind)
    return named or next((key for key, value in members.items() if isinstance(value, str)), "")


def _take(run: _Run, event: Event) -> int:
    """Add what an event says to its run; the class of its lines."""
    name = event.path[-1] if event.path else ""
    if name == "statistics" and not (event.members and _ROW_KEYS & event.members.keys()):
        run.reports.append(_Report(event.start))
        run.listed.clear()
    elif event.kind == "scalar" and name in _HOST_KEYS:
        run.facts[name] = str(event.value)
        return CLASS["banner"]
    elif event.kind == "scalar" and name == "timestamp" and run.reports:
        run.reports[-1].clock = str(event.value)
        return CLASS["clock"]
    elif event.members and run.reports and (kind := _kind(name, event.members)):
        keys = (kind, *event.members)
        name_key = _name_key(kind, event.members)
        if run.is_again(kind, str(event.members.get(name_key) or ""), event.start):
            return CLASS["unread"]
        if keys not in run.groups and len(run.groups) == _MOST_LAYOUTS:
            return CLASS["unread"]
        if keys not in run.groups:
            run.groups[keys] = _Group(name_key=name_key)
        run.groups[keys].add(len(run.reports) - 1, event.start, event.members)
        return CLASS["row"]
    elif event.members and not _LEFT_OUT & set(event.path):
        return CLASS["unread"]
    return CLASS["header"]


def _clock_notes(
    source: Source, starts: Ints, timed: _Timed, is_unread: Sequence[bool], is_day_unread: bool
) -> Iterator[ParseNote]:
    """Times that cannot be read, and reports that are out of order."""
    run = timed.run
    lines: list[int] = np.searchsorted(starts, [report.at for report in run.reports], "right").tolist()
    if is_day_unread and run.facts.get("date"):
        yield ParseNote(source.name, 0, "the date of this run cannot be read", is_unread=True)
    for line, report, is_lost in zip(lines, run.reports, is_unread, strict=True):
        if is_lost and report.clock:
            reason = "the time of this report cannot be read"
            yield ParseNote(source.name, line, reason, report.clock[:200], is_unread=True)
    at = np.flatnonzero(~np.isnan(timed.ends.seconds))
    if (back := _clock.first_back(timed.ends.seconds[at])) >= 0:
        yield ParseNote(source.name, lines[at[back]], _clock.GOES_BACK)


def _missing(source: Source, starts: Ints, run: _Run) -> Iterator[ParseNote]:
    """What iostat prints in every report, and some reports of a run or its beginning do not have."""

    def lost(at: int, what: str) -> ParseNote:
        line = int(np.searchsorted(starts, at, "right"))
        return ParseNote(source.name, line, f"{what}; lines may be lost", source.quote(line)[:200], 1, True)

    if run.groups and "nodename" not in run.facts:
        yield lost(run.at, "no host's name stands above the reports")
    if run.reports and not run.is_whole:
        line = int(np.searchsorted(starts, run.reports[-1].at, "right"))
        yield ParseNote(source.name, line, NOT_CLOSED)
    has = {"timestamp": {number for number, report in enumerate(run.reports) if report.clock}}
    keys: dict[str, set[str]] = {}
    for (family, *own), group in run.groups.items():
        has.setdefault(family, set()).update(group.reports)
        keys.setdefault(family, set()).update(own)
    ended = run.reports if run.is_whole else run.reports[:-1]
    for family, numbers in has.items():
        without = [report.at for number, report in enumerate(ended) if number not in numbers]
        if numbers and without:
            yield lost(without[0], f"{len(without)} of {len(run.reports)} reports without {family}")
    cpus = _cpus_by_report(run)
    if less := set[str]().union(*cpus) - set[str].intersection(*cpus or [set()]):
        yield lost(run.at, f"reports without rows of CPU {', '.join(sorted(less))[:200]}")
    for (family, *own), group in run.groups.items():
        if less := keys[family].difference(own):
            yield lost(group.at[0], f"rows of {family} without {', '.join(sorted(less))[:200]}")


def _cpus_by_report(run: _Run) -> list[set[str]]:
    """The CPUs of each report of mpstat, which prints the same ones in all of them."""
    found: dict[int, set[str]] = {}
    for (family, *_), group in run.groups.items():
        for report, cpu in zip(group.reports, group.devices, strict=True) if family == "cpu-load" else ():
            found.setdefault(report, set()).add(cpu)
    return list(found.values())


def _is_elided(data: bytes, first: int) -> bool:
    """Whether the first report was left out (-y): a comma or an empty line stands in its place.

    The one is what 11.5.1 to 11.5.7 and 12.1.4 print then, the other what 12.1.7 to 12.7 do.
    """
    before = data[max(0, first - 200) : first].rpartition(b"[")[2]
    return b"," in before or before.count(b"\n") > 1


def _command(source: Source, line: int) -> Command | None:
    """The command of iostat or mpstat shown in the lines just above a 1-based line."""
    for number in range(line - 1, max(line - 1 - _LINES_BEFORE, 0), -1):
        command = _grammar.command(source.quote(number))
        if command and command.tool in ("iostat", "mpstat", "cifsiostat", "tapestat"):
            return command
    return None


class _Table(NamedTuple):
    """A run's rows of one layout, in canonical units. `names` are the columns of `rows.numbers`."""

    family: str
    layout: str
    names: tuple[str | None, ...]
    lines: Ints
    rows: RowGroup


def _table(source: str, starts: Ints, keys: tuple[str, ...], group: _Group, notes: list[ParseNote]) -> _Table:
    """All rows with the same keys."""
    columns = _columns(keys[0], keys[1:])
    places = [keys.index(key) - 1 for key in columns]
    shape = len(group.devices), len(keys) - 1
    numbers = np.frombuffer(group.values).reshape(shape)[:, places]
    numbers[~(np.abs(numbers) < _ABSURD)] = np.nan
    is_whole = np.frombuffer(group.is_whole, dtype=np.bool_).reshape(shape)[:, places]
    (is_lost,) = lost_points([(numbers, is_whole)])
    numbers[is_lost] = np.nan
    numbers *= [column.factor for column in columns.values()]
    names = tuple(column.column for column in columns.values())
    lines = np.searchsorted(starts, np.frombuffer(group.at, dtype=np.int64), "right")
    notes += [
        ParseNote(source, line, LOST_POINT, is_unread=True) for line in lines[is_lost.any(axis=1)].tolist()
    ]
    is_disk = keys[0] == "disk"
    note = _correct_unit(names, numbers) if is_disk else ""
    if note:
        notes.append(ParseNote(source, int(lines[0]), note))
    unknown = [key for key in keys[1:] if key not in columns and key != group.name_key]
    if unknown:
        notes.append(ParseNote(source, int(lines[0]), f"keys left out: {', '.join(unknown)[:200]}"))
    rates_at = tuple(place for place, name in enumerate(names) if name in COUNT_RATES)
    rows = RowGroup(
        np.frombuffer(group.reports, dtype=np.int64),
        np.array(group.devices, dtype=object),
        numbers,
        rates_at,
        util_at=tuple(place for place, name in enumerate(names) if name == "util_pct"),
    )
    return _Table(_TABLES.get(keys[0], keys[0]), _layout_name(keys), names, lines, rows)


def _sum_of(values: Floats) -> Floats:
    """As an array, NaN where there is nothing."""
    return np.array([np.nansum(values) or np.nan])


def _correct_unit(names: Sequence[str | None], numbers: Floats) -> str:
    """Correct throughput in place where request counts and sizes prove that the keys' unit is wrong.

    Up to 11.5.6 the keys say kB whatever was asked for (-m, POSIXLY_CORRECT). 12.1.2 to 12.2.0 print
    512-byte sectors under keys that say kB or MB; 12.2.1 corrected that.

    Requests per second times their mean size is the throughput, by definition; sizes are in kB in
    every release. Returns what to tell the reader, "" where the keys' unit is right.
    """
    at = {name: place for place, name in enumerate(names)}
    known = [p for p in _PRODUCTS if p[1] in at and all(name in at for name in (*p[0], *p[2]))]
    if not known and "discard_kb" in at:
        return _NOTHING_TELLS
    implied, stated = np.empty((2, len(known), len(numbers)))
    for number, (rates, size, throughput) in enumerate(known):
        requests = numbers[:, [at[name] for name in rates]].sum(axis=1)
        implied[number] = requests * numbers[:, at[size]]
        stated[number] = numbers[:, [at[name] for name in throughput]].sum(axis=1)
    is_clear = implied >= _CLEAR_KB
    # each may be rounded too far, but not all together; of several one may be damaged
    ratios = stated[is_clear] / implied[is_clear] if is_clear.any() else _sum_of(stated) / _sum_of(implied)
    agreeing = {unit: np.count_nonzero(np.abs(ratios / unit - 1) < 0.1) for unit in (1.0, *_TRUE_UNITS)}
    wrong = max(agreeing, key=lambda unit: agreeing[unit])
    if wrong == 1.0:
        return ""
    for name, place in at.items():
        if name and name.endswith("kb_per_s"):
            numbers[:, place] /= wrong
    return (
        f"by the sizes of requests throughput is in {_TRUE_UNITS[wrong]} per second, not in the unit that "
        "the keys name (a fault of iostat 11.5.1-11.5.6 and 12.1.2-12.2.0); corrected"
    )


@lru_cache(maxsize=256)
def _layout_name(keys: tuple[str, ...]) -> str:
    """What the text report with the same columns is called."""
    if keys[0] != "disk":
        return {"cpu-load": "mpstat", "cifs_mounts": "cifsiostat", "tapes": "tapestat"}.get(keys[0], keys[0])
    layout = text_layout(("Device", *(column.raw for column in _columns(keys[0], keys[1:]).values())))
    return layout.name if layout else "unknown columns"


@lru_cache(maxsize=256)
def _columns(kind: str, keys: tuple[str, ...]) -> dict[str, LayoutColumn]:
    """The keys of an object that have columns, in their order."""
    if kind in ("cpu-load", "avg-cpu"):
        known = _SHARES if kind == "cpu-load" else CPU_WORDS
        return {key: LayoutColumn(key, known[f"%{key}"]) for key in keys if f"%{key}" in known}
    if kind in _ROWS_BY_KEYS:
        found = {key: _ROWS_BY_KEYS[kind](key) for key in keys}
        return {key: column for key, column in found.items() if column}
    tokens = {key: _token(key, keys) for key in keys if key != "disk_device"}
    return {key: column for key, token in tokens.items() if (column := column_of(token))}


def _token(key: str, keys: tuple[str, ...]) -> str:
    """The word of the text report for a key: up to 11.5.6 the keys lack their "/s"."""
    if key == "util":
        return "%util"
    if "r" in keys and key in _OLD_DISK_KEYS:
        return _OLD_DISK_KEYS[key]
    if re.fullmatch(r"[rwd]rqm", key):
        return f"%{key}"
    return re.sub(r"_per_sec$", "/s", key)


class _Timed(NamedTuple):
    """A run with its tables and the times of its reports."""

    run: _Run
    tables: list[_Table]
    ends: Ends
    lengths: Floats
    is_since_boot: bool

    @property
    def seconds(self) -> Floats:
        """The ends of reports, NaN where no date is known."""
        return self.ends.seconds if self.ends.is_dated else np.full(len(self.lengths), np.nan)


def _timed(run: _Run, found: list[_Table], clocks: list[Clock | None], order: str) -> _Timed:
    banner = _clock.parse_date(run.facts.get("date", ""))
    ends = ends_of(clocks, _clock.to_day(banner, order) if banner else None, order)
    groups = [table.rows for table in found]
    stated = run.command.interval_s if run.command else None
    lengths = lengths_of(ends.seconds, stated, groups)
    is_elided = run.is_elided or bool(run.command and run.command.has_flag("y"))
    is_since_boot = not is_elided and may_be_since_boot(groups, stated)
    if run.is_mpstat:  # with an interval its first report is a sample, too
        is_since_boot = stated is None and len(run.reports) == 1
    if is_since_boot and len(lengths):
        lengths[0] = np.nan
    return _Timed(run, found, ends, lengths, is_since_boot)


def _tables(source: str, runs: list[_Timed], is_aware: bool) -> Iterator[SampleTable]:
    """A table per family, of all runs together."""
    tables: dict[str, list[Table]] = {}
    for timed in runs:
        for table in timed.tables:
            tables.setdefault(table.family, []).append(_rows(source, timed, table, is_aware))
    for family, parts in tables.items():
        yield SampleTable(family, in_order_of_lines(stacked_all_columns(parts)))


def _rows(source: str, timed: _Timed, table: _Table, is_aware: bool) -> Table:
    """The rows of one layout in a run."""
    report, items = table.rows.report, table.rows.items.tolist()
    data = front_columns(
        source,
        table.lines,
        timed.run.facts.get("nodename", ""),
        Times.of(timed.seconds[report], is_moment=is_aware),
        timed.lengths[report],
        timed.run.index,
        report,
        (report == 0) & timed.is_since_boot,
    )
    if table.family == "cpu":
        data["cpu"] = Texts.of("all" if name in ("", "-1") else name for name in items)
    else:
        data[KEY_COLUMNS[table.family]] = Texts.of(name.strip() for name in items)
    data |= {name: table.rows.numbers[:, place] for place, name in enumerate(table.names) if name}
    if table.family == "disk":
        data["is_group"] = np.array([name.startswith(" ") for name in items], dtype=np.bool_)
    return combine_long_cpu(Table.of_columns(data, len(items)))


def _section(source: Source, format_id: str, starts: Ints, timed: _Timed, is_aware: bool) -> Section:
    facts = timed.run.facts
    cpus = re.match(r"\d{1,6}(?=\.0$|$)", facts.get("number-of-cpus", ""))
    start, end = span(timed.seconds, is_aware)
    return Section(
        source=source.name,
        format=format_id,
        layout="; ".join(dict.fromkeys(table.layout for table in timed.tables)),
        host=facts.get("nodename") or None,
        kernel=facts.get("release") or None,
        cpus=int(cpus[0]) if cpus else None,
        start=start,
        end=end,
        reports=len(timed.run.reports),
        rows=sum(len(table.lines) for table in timed.tables),
        first_line=int(np.searchsorted(starts, timed.run.at, "right")),
    )
