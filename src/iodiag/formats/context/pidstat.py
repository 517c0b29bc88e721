"""pidstat: what each process did: I/O, CPU time, memory, stack, switches, files, scheduling.

sysstat 8.1 to 12.8: with and without UID, kB_ccwr/s (9.1.5) and iodelay (11.2); -h (one line per process and
sample, `#` in front of the header), -t (threads), -l (command lines), -U (user names), -T (with children),
--human, 12-hour clocks, epochs; the tables stand between or in the same lines. Columns are known by the words
of the header above them. A process without a row in a sample did nothing in it. Average: rows know only the
processes that lived to the end: facts take them where nothing else is given, and for who uses a CPU most, of
-u. -1.00 stands for "not permitted" and counts as unknown. A process inherits what its ended children moved.
JSON (-o JSON, 12.7 and later) is read by the same words, whatever its lists are called.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.context._common import Values, fact, json_object, parse_number
from iodiag.formats.context._pidstat_rows import (
    COLUMNS,
    HEADER_LINE,
    IO_WORDS,
    TEXTS,
    Header,
    Listing,
    begins_as_row,
    described,
    take_rows,
)
from iodiag.formats.context._process_io import (
    BUSY_PCT,
    Measure,
    Process,
    averages_table,
    facts_of,
    process_table,
    program,
)
from iodiag.formats.front_columns import AnyArray
from iodiag.formats.text.rows.category_codes import factorized
from iodiag.formats.types import ContextBlock, ContextFormat, Line, Lines
from iodiag.model.capture import Fact
from iodiag.table.table import Bools, Column, Floats, Ints, Table, in_order_of_lines, stacked_all_columns
from iodiag.table.texts import Texts

_EXAMPLE = """\
10:15:01      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
10:15:02      112      2871     16.00  20480.00      0.00      41  mysqld
10:15:02        0      3990  98304.00      0.00      0.00      12  rsync
"""
_IO, _CPU = ("read_kb_per_s", "write_kb_per_s"), ("cpu_pct", "system_pct")
_OF_WHOM = ("UID", "USER", "PID", "TGID", "TID", "Command")
_WORD_OF_KEY = {word.lower(): word for word in (*COLUMNS, "Command")} | {"cmd": "Command"}
"""The words of a header by the keys of JSON in lower case."""

_NOTHING = Table.of_columns(
    {
        **{
            "line": np.zeros(0, dtype=np.int64),
            "header": np.zeros(0, dtype=np.int64),
            "seconds": np.zeros(0),
        },
        **{"is_average": np.zeros(0, dtype=np.bool_), "is_refused": np.zeros(0, dtype=np.bool_)},
        **{"pid": Texts.of(()), "process": Texts.of(())},
    },
    0,
)
"""The rows below headers without any."""


class _Samples(NamedTuple):
    """The rows that count, and where the samples end: lines and clocks.

    `reports` is the number of samples, `unsummed` are those of which not all is known. Rows `is_cut` are of a
    last one that may lack processes: it is among the unsummed and counts in no mean.
    """

    rows: Table
    ends: Sequence[tuple[int, float]]
    interval_s: float
    reports: int
    unsummed: frozenset[int]


def _seconds(clock: str) -> float:
    """The seconds of a clock since midnight or 1970; NaN of none."""
    seconds = float(clock) if clock.isdigit() else _clock.parse_time(clock)
    return math.nan if seconds is None else seconds


_FEWEST, _TIMES = 64, 4  # lines that are read together, and how many times more the next ones are
_JSON = r'"sysstat"\s*:\s*\{'
_ROW_OF_JSON = re.compile(r'\{[^{}]{0,2000}"(?:cmd|command)"', re.I)
_DEEPEST = 8


def _read(lines: Lines, source: str) -> ContextBlock | None:
    if re.search(_JSON, lines[0].text):
        return _read_json(lines, source)
    listing = Listing()
    used, size = 0, _FEWEST
    begin: int | None = 0
    while begin is not None and begin < len(lines):
        own, begin = take_rows(listing, lines, begin, min(begin + size, len(lines)))
        used, size = max(used, own), size * _TIMES
    if not any(map(len, listing.parts)) and used < len(lines) and begins_as_row(lines[used].text):
        return None  # that nothing was done is not what rows say that are not understood
    is_open = used >= len(lines) or bool(lines[used].text.strip())
    block = _block(listing, lines[0], lines[used - 1], source, is_open=is_open) if used else None
    return block._replace(used=used) if block else None


def _samples(listing: Listing, *, is_open: bool) -> _Samples:
    """The rows in their samples; one that the same table has twice counts once."""
    rows = in_order_of_lines(stacked_all_columns(listing.parts or [_NOTHING]))
    headers = listing.headers
    lines, seconds, header = rows["line"], rows["seconds"], rows["header"]
    is_sample, is_refused = ~np.asarray(rows["is_average"], dtype=np.bool_), rows["is_refused"]
    clocks = [
        (one.line.number, _seconds(one.lead), True) for one in headers if one.lead and not one.is_average
    ]
    news = is_sample & _differ(seconds, header)
    clocks += [(*pair, False) for pair in zip(lines[news].tolist(), seconds[news].tolist(), strict=True)]
    ends, shown = _ends(sorted(clocks, key=lambda clock: clock[0]))
    sample = np.where(is_sample, np.searchsorted([line for line, _ in ends], lines, "right") - 1, -1)
    kinds = {words: number for number, words in enumerate(dict.fromkeys(one.words for one in headers))}
    kind = np.array([kinds[one.words] for one in headers])[header]
    number = (_who(rows)[0] * (len(ends) + 1) + sample + 1) * len(kinds) + kind
    is_first = np.zeros(len(rows), dtype=np.bool_)
    counted = np.flatnonzero(~is_refused)
    is_first[counted[np.unique(number[counted], return_index=True)[1]]] = True
    begins = np.array([one.begins_sample for one in headers])
    tables = np.cumsum(begins)[header]
    is_whole = np.array([one.is_whole for one in headers])[header]
    is_told = is_first & is_sample & begins[header] & _is_process(rows)
    clock_of = tables[is_told], seconds[is_told]
    told = {*zip(*(column[_differ(*clock_of)].tolist() for column in clock_of), strict=True)}
    copied = {*tables[is_sample & ~is_first & ~is_refused].tolist()}
    refused = {*tables[is_refused].tolist()} - {table for table, _ in told}
    lengths = [after - before for before, after in pairwise(shown) if after > before]
    rows = rows.with_columns(sample=sample)
    is_open = is_open and bool((header[-1:] == len(headers) - 1).all())
    is_cut = (sample == sample[-1:]) & (is_open and _may_be_cut(rows[is_first], kind[is_first]))
    is_hidden = begins[header] & np.isnan([rows.floats(name) for name in _IO]).all(axis=0)
    reports = max(1, int(begins.sum()) - len(copied | refused), len(told))
    return _Samples(
        rows.with_columns(is_cut=is_cut)[is_first],
        ends,
        median(lengths) if lengths else math.nan,
        max(1, reports - bool((is_told & is_cut).any())),
        frozenset(sample[is_sample & (is_refused | ~is_whole | is_cut | is_hidden)].tolist()),
    )


def _may_be_cut(rows: Table, kinds: Ints) -> bool:
    """Whether the last sample ends below the greatest PID that each sample before it has.

    pidstat lists processes by their numbers, so that a paste which ends there may lack the rest. `kinds` are
    those of the tables that rows stand in.
    """
    rows = rows[_is_process(rows) & (kinds == kinds[-1:])]
    if not len(rows) or rows["is_average"][-1]:
        return False
    sample, words = rows["sample"], rows["pid"]
    pids = np.array([float(word) for word in words.categories])[words.codes]
    is_sorted = bool((np.diff(pids)[np.diff(sample) == 0] >= 0).all())
    *before, last = np.maximum.reduceat(pids, np.flatnonzero(_differ(sample))).tolist()
    return is_sorted and bool(before) and last < min(before)


def _differ(*columns: AnyArray) -> Bools:
    """Which rows differ from the one above."""
    differ = np.ones(len(columns[0]), dtype=np.bool_)
    differ[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return differ


def _ends(clocks: Sequence[tuple[int, float, bool]]) -> tuple[list[tuple[int, float]], list[float]]:
    """The lines where samples begin and their clocks, from the lines of clocks and which are of headers.

    Also all clocks as they are printed. That of a row ends its sample; that of a header the one before, which
    may have no row.
    """
    ends: list[tuple[int, float]] = []
    shown: list[float] = []
    for line, seconds, is_header in clocks:
        if seconds in shown[-2:] and (is_header or ends):
            continue
        if shown or not is_header:
            ends.append((line, seconds))
        shown.append(seconds)
    return ends, shown


def _is_process(rows: Table) -> Bools:
    """Which rows are of processes, and not of their threads."""
    result: Bools = ~rows["pid"].is_missing()
    return result


def _who(rows: Table) -> tuple[Ints, Ints]:
    """A number for the process or thread of each row, and where each appears first."""
    number = np.zeros(len(rows), dtype=np.int64)
    for words in (rows[name] for name in ("pid", "tid", "process") if name in rows):
        number = number * (len(words.categories) + 1) + words.codes + 1
    return factorized(number)


def _block(listing: Listing, first: Line, last: Line, source: str, *, is_open: bool = False) -> ContextBlock:
    """What a listing tells; `is_open` where nothing shows that its last report is whole."""
    samples = _samples(listing, is_open=is_open)
    is_average = np.asarray(samples.rows["is_average"], dtype=np.bool_)
    averages, rows = samples.rows[is_average], samples.rows[~is_average]
    facts: list[Fact] = []
    has_io = any({*IO_WORDS} <= {*header.words} for header in listing.headers)
    if has_io:
        whole = rows[~np.asarray(rows["is_cut"])]
        moved, meant = (_of_words(listing, part, IO_WORDS) for part in (whole, averages))
        processes = _processes(moved, samples.reports) if len(moved) else _processes(meant, 1)
        basis = f"mean of {samples.reports} samples"
        if samples.reports == 1 and len(meant):
            basis = "one sample" if len(moved) else "pidstat's averages"
        elif samples.reports == 1 and len(whole) == len(rows):
            basis = "one sample, or the mean since boot where pidstat ran without an interval"
        elif samples.reports == 1:
            basis = "one sample"
        elif of_all := _by_averages(processes, _processes(meant, 1)):
            processes, basis = of_all, "pidstat's averages"
        measure = Measure(samples.reports, basis, first, last, interval_s=samples.interval_s)
        facts += facts_of("pidstat", processes, measure, source)
    facts += _of_cpu(listing, averages, rows, samples, source)
    tables = tuple(process_table(rows, samples.ends, source, samples.unsummed))
    tables += tuple(averages_table(averages, source))
    layout = "pidstat -d" if has_io else "pidstat"
    return ContextBlock(0, facts=tuple(facts), tables=tables, unread=tuple(listing.unread), layout=layout)


def _of_words(listing: Listing, rows: Table, words: Collection[str]) -> Table:
    """The rows of processes below headers with some words."""
    has_words = np.array([{*words} <= {*header.words} for header in listing.headers], dtype=np.bool_)
    return rows[has_words[rows["header"]] & _is_process(rows)]


def _sums(who: Ints, count: int, values: Floats) -> Floats:
    sums: Floats = np.bincount(who, np.nan_to_num(values), count).astype(np.float64)
    return sums


def _processes(rows: Table, samples: int) -> list[Process]:
    """What each process moved in a sample on average, by its rows in so many."""
    who, begins = _who(rows)
    count = len(begins)
    ends = np.zeros(count, dtype=np.int64)
    ends[who] = np.arange(len(rows))
    moved = []
    for name in _IO:
        known = np.bincount(who, ~np.isnan(rows.floats(name)), count) > 0
        moved.append(np.where(known, _sums(who, count, rows.floats(name)) / samples, np.nan))
    waited, most = _sums(who, count, delays := np.nan_to_num(rows.floats("io_delay_ticks"))), np.zeros(count)
    np.maximum.at(most, who, delays)
    lines, found = rows["line"], []
    for number, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        read, written = (None if math.isnan(kb[number]) else float(kb[number]) for kb in moved)
        first, last = (Line("", int(lines[at])) for at in (begin, end))
        process = Process(rows["process"][begin], rows["pid"][begin], first, last, read, written)
        if most[number]:
            process.extra |= {
                "io_delay_ticks": float(waited[number]) / samples,
                "most_io_delay_ticks": float(most[number]),
            }
        found.append(process)
    return found


def _by_averages(processes: Sequence[Process], averages: Sequence[Process]) -> list[Process]:
    """The processes with what pidstat itself says that each moved on average, if it does of all; else none.

    Of samples that are not equally long a mean of their rates is another one.
    """
    told = {average.number: average for average in averages}
    if not told.keys() >= {own.number for own in processes}:
        return []
    both = ((own, told[own.number]) for own in processes)
    return [replace(own, last=mean.last, read_kb=mean.read_kb, write_kb=mean.write_kb) for own, mean in both]


def _of_cpu(listing: Listing, averages: Table, rows: Table, samples: _Samples, source: str) -> Iterator[Fact]:
    """Who uses a CPU most, on average over a run whose samples have a length: others may be since boot.

    The averages that pidstat prints know only who lived to the end, and the samples of a paste may be few.
    """
    is_cut = np.asarray(rows["is_cut"], dtype=np.bool_)
    rows, count = rows[~is_cut], max(1, len(samples.ends) - bool(is_cut.any()))
    parts = [("pidstat's averages", averages, 1)]
    parts += [(f"mean of {count} samples", rows, count)] if samples.interval_s > 0 else []
    most: tuple[float, Values, str, Line] | None = None
    for basis, part, divisor in parts:
        own = _of_words(listing, part, ("%CPU", "%system"))
        who, begins = _who(own)
        used, in_kernel = (_sums(who, len(begins), own.floats(name)) / divisor for name in _CPU)
        if not len(begins) or (most and used.max() <= most[0]):
            continue
        at = int(used.argmax())
        values: Values = {
            "process": own["process"][begins[at]],
            "pid": own["pid"][begins[at]],
            "tool": "pidstat",
        }
        values |= {"cpu_pct": round(float(used[at]), 2), "system_pct": round(float(in_kernel[at]), 2)}
        names = own["process"].codes[begins]
        alike = used[(names == names[at]) & (used >= BUSY_PCT)]
        if len(alike) > 1 and "tid" not in own:  # a thread is a part of its process
            values |= {"alike": len(alike), "alike_pct": round(float(alike.sum()), 2)}
        most = float(used[at]), values, basis, Line("", int(own["line"][np.flatnonzero(who == at)[-1]]))
    if most is not None:
        _, values, basis, line = most
        text = "{process} (pid {pid}) uses most CPU time, {cpu_pct} % of a CPU, {system_pct} % in the kernel"
        yield fact("top-processes", f"{text} ({basis})", values, source, [line])


def _read_json(lines: Lines, source: str) -> ContextBlock | None:
    """The processes of pidstat's JSON; None for that of other tools, and for one that is broken off."""
    decoded = json_object(lines, "sysstat")
    if decoded is None:
        return None
    hosts = list(_objects(decoded.value))
    lists = (host.get("statistics") for host in hosts)
    reports = [report for reports in lists if isinstance(reports, list) for report in reports]
    places = iter([line for line in lines[: decoded.used] for _ in _ROW_OF_JSON.finditer(line.text)])
    listing = Listing()
    for report in reports:
        clock = str(report.get("timestamp", "")) if isinstance(report, dict) else ""
        told = [(_by_words(row), row) for row in _objects(report)]
        rows = [(row, next(places, lines[0])) for row, _ in told if "Command" in row]
        _take_json(listing, rows, _seconds(clock.split(" ")[-1]), lines[0])
    if not listing.parts:
        return None
    block = _block(listing, lines[0], lines[decoded.used - 1], source)
    host = next((str(each["nodename"]) for each in hosts if each.get("nodename")), "")
    return block._replace(used=decoded.used, layout="pidstat -o JSON", host=host)


def _objects(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """All objects inside a value, itself included."""
    if isinstance(value, dict):
        yield value
    if depth < _DEEPEST:
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for each in inside:
            yield from _objects(each, depth + 1)


def _by_words(row: Mapping[str, Any]) -> dict[str, Any]:
    """What a row of JSON says, by the words of the text's header."""
    return {_WORD_OF_KEY.get(key.lower(), key): value for key, value in row.items()}


def _take_json(
    listing: Listing, rows: Sequence[tuple[Mapping[str, Any], Line]], seconds: float, first: Line
) -> None:
    """Add the rows of a report: those of the same words are a table; one without a row is a sample, too."""
    words_of = [tuple(word for word in row if word not in _OF_WHOM) for row, _ in rows]
    for words in dict.fromkeys(words_of):
        own = [pair for pair, its_words in zip(rows, words_of, strict=True) if its_words == words]
        data: dict[str, Column] = {"pid": np.full(len(own), np.nan)}
        for word in dict.fromkeys(word for row, _ in own for word in row):
            name, cells = COLUMNS.get(word), [str(row.get(word, "")) for row, _ in own]
            if word == "Command":
                data["process"] = Texts.of(program(cell or "?") for cell in cells)
            elif name in TEXTS:
                data[name] = Texts.of(cells)
            elif name:
                values = np.array([parse_number(cell) for cell in cells], dtype=np.float64)
                data[name] = np.where(values < 0, np.nan, values)
        data |= {"line": np.array([line.number for _, line in own]), "seconds": np.full(len(own), seconds)}
        data |= {name: np.zeros(len(own), dtype=np.bool_) for name in ("is_average", "is_refused")}
        data["header"] = np.full(len(own), len(listing.headers))
        header = Header(own[0][1], words, "")
        listing.unread += [] if header.is_whole else [header.line.number]
        listing.headers.append(header)
        listing.parts.append(described(data))
    if not rows:
        listing.headers.append(Header(first, IO_WORDS, ""))


FORMAT = ContextFormat(
    id="pidstat",
    title="pidstat: what each process does: I/O, CPU time, memory, stack, switches, scheduling",
    example=_EXAMPLE,
    starts=re.compile(rf"^{HEADER_LINE}$|{_JSON}"),
    read=_read,
    releases="sysstat 8.1 to 12.8; JSON by its manual page alone",
    not_read="which process a thread belongs to, which its row does not say",
    most_lines=10_000_000,
)
