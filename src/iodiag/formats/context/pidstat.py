"""pidstat -d: which processes read and write.

sysstat 8.1 to 12.7: with and without UID, kB_ccwr/s (9.1.5) and iodelay (11.2); -h (one line per process and
sample, `#` in front of the header), -t (threads), -l (command lines), -U (user names), --human, 12-hour
clocks, epochs, and the other tables (-u, -r, -s, -w) between or in the same lines. A process without a row in
a sample did nothing in it. Average: rows know only the processes that lived to the end: they are taken where
nothing else is given, and for who uses a CPU most, of -u. -1.00 stands for "not permitted" and counts as
unknown. A process inherits what its ended children moved. JSON (-o JSON, 12.7 and later) is read by the same
words, whatever its lists are called.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

from iodiag.formats import clock as _clock
from iodiag.formats.context._common import Values, fact, json_object, parse_number, size_kb, solid
from iodiag.formats.context._process_io import Measure, Process, Row, facts_of, process_table, program
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact

_EXAMPLE = """\
10:15:01      UID       PID   kB_rd/s   kB_wr/s kB_ccwr/s iodelay  Command
10:15:02      112      2871     16.00  20480.00      0.00      41  mysqld
10:15:02        0      3990  98304.00      0.00      0.00      12  rsync
"""
_LEAD = (
    r"\s*(?P<lead>\d{1,2}[:.時时]\d\d[:.分]\d\d\S{0,3}(?:\s[AaPp]\.?\s?[Mm]\.?)?|\d{9,10}"
    r"|[^\W\d]{1,20}(?:\s[^\W\d]{1,20})?\s?[:：])\s+"
)
_HEADER = (
    rf"(?:{_LEAD}|\s*#\s*Time\s+)"
    r"(?P<words>(?:(?:UID|USER)\s+)?(?:PID|TGID\s+TID)\s[^a-z]{0,3}\S.{0,300}\sCommand)\s*"
)
_ROW = rf"{_LEAD}(?P<rest>\S.*)"
_COLUMNS = {"kB_rd/s": "read_kb_per_s", "kB_wr/s": "write_kb_per_s", "%CPU": "cpu_pct"}
"""The columns of the table of processes by the words of a header."""

_CPU = ("%CPU", "%system")
_WORDS = ("USER", "policy", "Command")
_ALL_WORDS = """
UID USER PID TGID TID %usr %user %system %guest %wait %CPU CPU minflt/s majflt/s VSZ RSS %MEM StkSize StkRef
kB_rd/s kB_wr/s kB_ccwr/s iodelay cswch/s nvcswch/s threads fd-nr prio policy usr-ms system-ms guest-ms
wait-ms minflt-nr majflt-nr Command
"""
_KNOWN = frozenset(_ALL_WORDS.split())
_ONE_MORE = r"-?\d[\d.,]*\s+\S"
"""How a command begins that has a number in front of it: the header names one column too few."""
_NUMBER = r"-?\d{1,15}(?:[.,]\d{1,4})?[BkKMGTP%]?|-"


class _Header(NamedTuple):
    """A table's words and where its numbers stand. `width` are the columns in front of the command."""

    places: dict[str, int]
    width: int

    @property
    def has_io(self) -> bool:
        return "kB_rd/s" in self.places and "kB_wr/s" in self.places

    @property
    def is_whole(self) -> bool:
        """Whether all its words are pidstat's."""
        return self.places.keys() <= _KNOWN


class _CpuTime(NamedTuple):
    """Shares of one CPU that a process had, in all and in the kernel: sums over samples; and its last row."""

    line: Line
    cpu_pct: float = 0.0
    system_pct: float = 0.0


@dataclass
class _Listing:
    """The processes of all rows, by number and name.

    `rows` are what each did in each sample, `ends` the lines where the samples begin and their clocks,
    `shown` the clocks as they are printed: that of a header is when its sample began. `copied` are the tables
    that have rows which stand twice, `refused` those that have rows of more cells than there are names,
    `unsummed` the samples of which not all is known. `unread` are the lines that were not understood.
    `cpu` is the CPU time of each process in all samples, and on average.
    """

    samples: dict[str, Process] = field(default_factory=dict)
    averages: dict[str, Process] = field(default_factory=dict)
    tables: int = 0
    clocks: set[tuple[int, str]] = field(default_factory=set)
    rows: list[Row] = field(default_factory=list)
    ends: list[tuple[int, float]] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    cpu: dict[bool, dict[tuple[str, str], _CpuTime]] = field(default_factory=lambda: {False: {}, True: {}})
    known: set[tuple[int, str, str, frozenset[str]]] = field(default_factory=set)
    copied: set[int] = field(default_factory=set)
    refused: set[int] = field(default_factory=set)
    unsummed: set[int] = field(default_factory=set)
    unread: list[int] = field(default_factory=list)

    def take_clock(self, clock: str, line: Line, *, is_header: bool) -> None:
        """The clock of a row ends its sample; that of a header the one before, which may have no row."""
        if clock in self.shown[-2:] and (is_header or self.ends):
            return
        if self.shown or not is_header:
            self.ends.append((line.number, _seconds(clock)))
        self.shown.append(clock)

    def takes(self, row: Row) -> bool:
        """Keep a row of a sample, unless the same table of that sample has one of its process."""
        key = row.sample, row.pid, row.process, frozenset(row.numbers)
        if row.numbers and key in self.known:
            self.copied.add(self.tables)
            return False
        self.known.add(key)
        self.rows.append(row)
        return True

    @property
    def reports(self) -> int:
        """The number of samples: tables, also those without a row, or clocks below one header."""
        unread = self.refused - {table for table, _ in self.clocks}
        return max(1, self.tables - len(self.copied | unread), len(self.clocks))

    @property
    def interval_s(self) -> float:
        """The usual length of a sample, by the clocks of headers and rows; NaN where these do not tell."""
        lengths = [after - before for before, after in pairwise(map(_seconds, self.shown)) if after > before]
        return median(lengths) if lengths else math.nan


def _seconds(clock: str) -> float:
    """The seconds of a clock since midnight or 1970; NaN of none."""
    seconds = float(clock) if clock.isdigit() else _clock.parse_time(clock)
    return math.nan if seconds is None else seconds


_JSON = r'"sysstat"\s*:\s*\{'
_ROW_OF_JSON = r'\{[^{}]{0,2000}"kB_rd/s"'
_DEEPEST = 8


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    if re.search(_JSON, lines[0].text):
        return _read_json(lines, source)
    header: _Header | None = None
    listing = _Listing()
    used, has_io = 0, False
    for at, line in solid(lines):
        found, clock, is_average = _header(line.text)
        if found is not None:
            listing.unread += [] if found.is_whole else [line.number]
            header, has_io = found, has_io or found.has_io
            listing.tables += found.has_io and not is_average
            if clock and not is_average:
                listing.take_clock(clock, line, is_header=True)
        elif header is None or not _take(listing, header, line):
            break
        used = at
    if not used:
        return None
    processes = list((listing.samples or listing.averages).values())
    if listing.samples:
        _divide(processes, listing.reports)
    measure = Measure(
        listing.reports, _basis(listing), lines[0], lines[used - 1], interval_s=listing.interval_s
    )
    facts = (*(facts_of("pidstat", processes, measure, source) if has_io else ()), *_of_cpu(listing, source))
    tables = tuple(process_table(listing.rows, listing.ends, source, listing.unsummed))
    layout = "pidstat -d" if has_io else "pidstat"
    return ContextBlock(used, facts=facts, tables=tables, unread=tuple(listing.unread), layout=layout)


def _of_cpu(listing: _Listing, source: str) -> Iterator[Fact]:
    """Who uses a CPU most, on average over a run whose samples have a length: others may be since boot.

    The averages that pidstat prints know only who lived to the end, and the samples of a paste may be few.
    """
    samples = max(1, len(listing.ends))
    each = [(used, one, 1) for one, used in listing.cpu[True].items()]
    if listing.interval_s > 0:
        each += [(used, one, samples) for one, used in listing.cpu[False].items()]
    if not each:
        return
    used, (pid, process), parts = max(each, key=lambda one: one[0].cpu_pct / one[2])
    values: Values = {"process": process, "pid": pid, "tool": "pidstat"}
    values |= {
        "cpu_pct": round(used.cpu_pct / parts, 2),
        "system_pct": round(used.system_pct / parts, 2),
    }
    text = "{process} (pid {pid}) uses most CPU time, {cpu_pct} % of a CPU, {system_pct} % in the kernel"
    is_average = used is listing.cpu[True].get((pid, process))
    basis = "pidstat's averages" if is_average else f"mean of {samples} samples"
    yield fact("top-processes", f"{text} ({basis})", values, source, [used.line])


def _read_json(lines: Sequence[Line], source: str) -> ContextBlock | None:
    """The processes of pidstat's JSON; None for that of other tools, and for one that is broken off."""
    decoded = json_object(lines, "sysstat")
    if decoded is None:
        return None
    hosts = list(_objects(decoded.value))
    lists = (host.get("statistics") for host in hosts)
    reports = [report for reports in lists if isinstance(reports, list) for report in reports]
    places = iter([line for line in lines[: decoded.used] for _ in re.finditer(_ROW_OF_JSON, line.text)])
    listing = _Listing(tables=len(reports))
    for row in (row for report in reports for row in _objects(report)):
        if {"kB_rd/s", "kB_wr/s"} <= row.keys():
            _take_json(listing, row, next(places, lines[0]))
    processes = list(listing.samples.values())
    if not processes:
        return None
    _divide(processes, listing.reports)
    measure = Measure(listing.reports, _basis(listing), lines[0], lines[decoded.used - 1])
    facts = tuple(facts_of("pidstat", processes, measure, source))
    host = next((str(each["nodename"]) for each in hosts if each.get("nodename")), "")
    return ContextBlock(decoded.used, facts=facts, layout="pidstat -o JSON", host=host)


def _objects(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """All objects inside a value, itself included."""
    if isinstance(value, dict):
        yield value
    if depth < _DEEPEST:
        inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        for each in inside:
            yield from _objects(each, depth + 1)


def _take_json(listing: _Listing, row: Mapping[str, Any], line: Line) -> None:
    """Add a row of JSON to the listing; threads are left out, as in the text."""
    words = {key.lower(): value for key, value in row.items()}
    pid = str(words.get("pid", words.get("tgid", "-")))
    if pid in ("-", "0", ""):
        return
    name = program(str(words.get("command", words.get("cmd", ""))) or "?")
    process = listing.samples.setdefault(f"{pid} {name}", Process(name, pid, line, line))
    read, write = (size_kb(str(words[key]), "K") for key in ("kb_rd/s", "kb_wr/s"))
    process.add(line, read, write, parse_number(str(words.get("iodelay", ""))))


def _basis(listing: _Listing) -> str:
    if listing.reports > 1:
        return f"mean of {listing.reports} samples"
    if listing.averages:
        return "one sample" if listing.samples else "pidstat's averages"
    return "one sample, or the mean since boot where pidstat ran without an interval"


def _header(text: str) -> tuple[_Header | None, str, bool]:
    """The header that a line is, the clock in front of it, and whether averages follow it."""
    match = re.fullmatch(_HEADER, text) if len(text) <= 500 else None
    if match is None:
        return None, "", False
    words, clock = match["words"].split(), match["lead"] or ""
    header = _Header({word: place for place, word in enumerate(words)}, len(words) - 1)
    return header, clock, bool(clock) and not clock[0].isdigit()


def _take(listing: _Listing, header: _Header, line: Line) -> bool:
    """Add a row to the listing; False when the line is no row of the table."""
    match = re.match(_ROW, line.text[:4000])
    cells = match["rest"].split(None, header.width) if match else []
    if match is None or len(cells) <= header.width:
        return False
    if not all(re.fullmatch(_NUMBER, cells[at]) for word, at in header.places.items() if word not in _WORDS):
        return False
    pid = cells[header.places.get("PID", header.places.get("TGID", 0))]
    is_average = not match["lead"][0].isdigit()
    if pid == "-":
        return True  # a thread's row
    if has_more := re.match(_ONE_MORE, cells[header.width]) is not None:
        listing.unread.append(line.number)
        listing.refused.add(listing.tables)
    name = program(cells[header.width])
    if not is_average:
        listing.take_clock(match["lead"], line, is_header=False)
        if has_more or not header.is_whole:
            listing.unsummed.add(len(listing.ends) - 1)
        if has_more:
            return True
        named = ((_COLUMNS[word], at) for word, at in header.places.items() if word in _COLUMNS)
        each = ((column, size_kb(cells[at].rstrip("%"), "K")) for column, at in named)
        numbers = {column: value for column, value in each if value is not None}
        if not listing.takes(Row(line.number, len(listing.ends) - 1, pid, name, numbers)):
            return True
    if has_more:
        return True
    if header.places.keys() >= {*_CPU}:
        all_of_it, in_kernel = (size_kb(cells[header.places[word]].rstrip("%"), "K") or 0.0 for word in _CPU)
        so_far = _CpuTime(line) if is_average else listing.cpu[False].get((pid, name), _CpuTime(line))
        listing.cpu[is_average][pid, name] = _CpuTime(
            line, so_far.cpu_pct + all_of_it, so_far.system_pct + in_kernel
        )
    if not header.has_io:
        return True
    target = listing.averages if is_average else listing.samples
    process = target.setdefault(f"{pid} {name}", Process(name, pid, line, line))
    # -1.00, which pidstat prints where it may not look, is no size
    read, write = (size_kb(cells[header.places[word]], "K") for word in ("kB_rd/s", "kB_wr/s"))
    delay = parse_number(cells[header.places["iodelay"]]) if "iodelay" in header.places else None
    process.add(line, read, write, delay)
    if not is_average:
        listing.clocks.add((listing.tables, match["lead"]))
    return True


def _divide(processes: Sequence[Process], samples: int) -> None:
    """Turn sums over samples into means."""
    for process in processes:
        process.read_kb = None if process.read_kb is None else process.read_kb / samples
        process.write_kb = None if process.write_kb is None else process.write_kb / samples
        if (ticks := process.extra.get("io_delay_ticks")) is not None:
            process.extra["io_delay_ticks"] = ticks / samples


FORMAT = ContextFormat(
    id="pidstat",
    title="pidstat -d: processes that read and write",
    example=_EXAMPLE,
    starts=re.compile(rf"^{_HEADER}$|{_JSON}"),
    read=_read,
    releases="sysstat 8.1 to 12.8; JSON by its manual page alone",
    not_read="rows of threads; the tables of memory, stacks and switches; of CPU time all but two columns",
)
