"""The kernel's log: what happened to devices, and when.

Read as dmesg prints it (boot clock, -T, -H, -x, -r, --time-format iso, and without any clock, as kernels of
2.6 had it), as journalctl does (short, short-precise, -full, -iso, -monotonic and -unix), and
as syslog daemons write it to messages, syslog and kern.log, in the classic form and in that of RFC 3339. Any
line of such a log is the log's own; those that say that something happened to a device make the table
`events`.

A classic stamp has no year: it is kept as printed, and gets its time where samples tell the year. A boot
clock becomes a time where the log itself says what time it was (an audit record, the setting of the clock).
Ports of ATA, addresses of SCSI and NVMe controllers become names of disks where the log says which they are.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import NamedTuple

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.columns import front_columns
from iodiag.formats.context import _kernel_devices as _devices
from iodiag.formats.context._common import fact
from iodiag.formats.context._kernel_messages import BEGINS, DAEMONS, UNSTAMPED, kind_of
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import EVENTS, Fact, SampleTable
from iodiag.table.table import Table
from iodiag.table.texts import Texts
from iodiag.table.times import Times

_EXAMPLE = """\
[    1.402113] audit: type=2000 audit(1795428001.402:1): state=initialized audit_enabled=0 res=1
[    2.113021] sd 2:0:0:0: [sdb] 1953525168 512-byte logical blocks: (1.00 TB/932 GiB)
[93211.552310] sd 2:0:0:0: [sdb] tag#11 Sense Key : Medium Error [current]
[93211.552391] blk_update_request: critical medium error, dev sdb, sector 1264871
"""
_LEVEL = r"(?:<\d{1,3}>|[a-z]\w{1,7} {0,6}:[a-z]{2,7} {0,6}: )?"
_BOOT = (
    r"\[ {0,12}(?P<boot>\d{1,10}\.\d{2,9})\](?: ?\[ {0,8}[TC]\d{1,8}\])? ?"
    r"(?:(?P<of>[\w.-]{1,253}) kernel: )?"
)
_HUMAN = r"\[(?:[A-Z][a-z]{2} ?\d{1,2} \d\d:\d\d| {0,8}\+ {0,8}\d{1,8}\.\d{6})\] "
_CTIME = r"\[(?P<ctime>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\] "
_DAY = r"\d{4}-\d\d-\d\d"
_TIME = r"\d\d:\d\d:\d\d"
_STAMP = (
    rf"[A-Z][a-z]{{2}} [ \d]\d {_TIME}(?:\.\d{{1,9}})?|{_DAY}T{_TIME}(?:\.\d{{1,9}})?(?:Z|[+-]\d\d:?\d\d)"
    rf"|[A-Z][a-z]{{2}} {_DAY} {_TIME} [A-Z]{{3,5}}|\d{{10}}\.\d{{6}}"
)
# the lines of programs that take samples are no log's
_PROGRAM = r"(?!(?:iostat|vmstat|sar|sadf|mpstat|pidstat|nfsiostat)\b)[\w./@()-]{1,64}"
_SYSLOG = (
    rf"(?P<stamp>{_STAMP}) (?:(?P<host>[\w.-]{{1,253}}) )?(?:[a-z0-9]{{2,8}}\.[a-z]{{2,8}} )?"
    rf"(?:(?P<program>{_PROGRAM})(?:\[\d{{1,10}}\])?:[ :]*|last message repeated |message repeated )"
    r"(?:\[ {0,12}(?P<uptime>\d{1,10}\.\d{1,9})\] ?)?"
)
_LINE = (
    rf"{_LEVEL}(?:{_BOOT}|{_CTIME}|{_HUMAN}|(?P<iso>{_DAY}T{_TIME},\d{{1,9}}[+-]\d\d:\d\d) |{_SYSLOG})"
    r"|-- (?:Reboot|Boot [0-9a-f]{32}|Logs begin|Journal begins)\b"
)
_CONTINUATION = r"\s{4}.{0,200}?[A-Za-z]|\s*$"
"""Further lines of a message, which stand below its text, or a gap; no rows, which are numbers."""

_TELLS_TIME = (
    r".{0,80}?audit\((?P<epoch>\d{9,10}\.\d{1,6}):\d{1,12}\)"
    r"|.{0,60}?setting system clock to .{10,40}? UTC \((?P<at>\d{9,10})\)"
)
_CLOCKS = ("audit", "type", "rtc_cmos", "rtc-efi")
_BEGIN = re.compile(r"[A-Za-z_/-]+")
_PROGRAMS = (None, "kernel", *DAEMONS)
_INTERESTING = frozenset((*BEGINS, *_devices.BEGINS, *_CLOCKS, "Linux"))
_NO_HOST = ("localhost", "(none)", "kernel")
_POWER_ON = "Power-on or device reset"
_BOOTING_S, _LINES_OF_BOOT = 30.0, 3000
"""While it boots the kernel looks for what is there: links come up slowly, and ports have no disk."""

_SETTLES_S = 300.0
"""By then every disk has said that it was switched on."""

_OF_BOOT = ("reset", "timeout", "link down", "link speed")
_MOST_LINES, _MOST_EVENTS, _MOST_HOSTS, _MOST_BETWEEN = 5_000_000, 200_000, 20, 2
_LONGEST_MESSAGE = 500
_MOST_NOTES = 5
"""Lines that a script writes between reports, under a stamp like the kernel's, to say what it does next."""


class _Time(NamedTuple):
    """Seconds since 1970, of UTC for a moment, else of the host's clock; `offset_s` of its zone."""

    seconds: float = math.nan
    is_moment: bool = False
    offset_s: float = math.nan


class _Event(NamedTuple):
    """A line that says that something happened; `about` becomes devices when all of the boot is read."""

    line: Line
    match: re.Match[str] | None
    text: str
    kind: str
    about: dict[str, str]


class _Row(NamedTuple):
    event: _Event
    device: str
    host: str
    time: _Time
    boot_s: float


@dataclass
class _Boot:
    """What was read of a host since it was started, at line `began`."""

    host: str = ""
    began: int = -_LINES_OF_BOOT
    events: list[_Event] = field(default_factory=list)
    names: _devices.DeviceNames = field(default_factory=_devices.DeviceNames)
    clocks: list[tuple[float, float]] = field(default_factory=list)

    def take(self, at: int, begin: str, event: _Event) -> None:
        """A line that may tell of a device or of the time, with the letters that it begins with."""
        text, since = event.text, _uptime(event.match)
        if begin in _CLOCKS:
            told = re.match(_TELLS_TIME, text)
            if told and not math.isnan(since):
                self.clocks.append((since, float(told["epoch"] or told["at"])))
        self.names.learn(begin, text)
        found = kind_of(begin, text)
        if found and len(self.events) < _MOST_EVENTS and not self._looks_around(at, found[0], text, since):
            self.events.append(event._replace(kind=found[0], about=found[1], text=text[:_LONGEST_MESSAGE]))

    def _looks_around(self, at: int, kind: str, text: str, since: float) -> bool:
        """Whether a line is of the time when the kernel looks for what is there."""
        if not (is_power_on := _POWER_ON in text) and kind not in _OF_BOOT:
            return False
        if math.isnan(since):
            return at - self.began < _LINES_OF_BOOT
        return since < (_SETTLES_S if is_power_on else _BOOTING_S)

    def rows(self) -> Iterator[_Row]:
        """The events with their devices and times, by all that was said since the start."""
        clocks = sorted(self.clocks)
        for event in self.events:
            named = self.names.devices(event.about)
            devices = _devices.without_removable(named)
            # what is on a port of USB and no disk is a keyboard
            if devices or not (named or "usb" in event.about):
                since, time = _uptime(event.match), _time(event.match)
                if math.isnan(time.seconds) and clocks and not math.isnan(since):
                    at, epoch = clocks[max(bisect_right(clocks, (since, math.inf)) - 1, 0)]
                    time = _Time(epoch + since - at, is_moment=True)
                yield from (_Row(event, name, self.host, time, since) for name in devices or ("",))


@dataclass
class _Log:
    """What was read so far: the events of earlier boots, lines by host, and the boot of each.

    `is_kernels`: a line is the kernel's, or a daemon's that watches disks, and not of just any script.
    """

    rows: list[_Row] = field(default_factory=list)
    hosts: Counter[str] = field(default_factory=Counter)
    boots: dict[str, _Boot] = field(default_factory=dict)
    is_kernels: bool = False

    def take(self, at: int, line: Line, match: re.Match[str] | None) -> None:
        """A line of the log; `match` is its stamp."""
        program, host, of = match.group("program", "host", "of") if match else (None, "", "")
        host = host or of or ""
        self.hosts[host] += 1
        if program not in _PROGRAMS:
            return
        text = (line.text[match.end() :] if match else line.text).strip()
        if program in DAEMONS:
            text = f"{program} {text}"
        self.is_kernels |= program is not None
        begin = _BEGIN.match(text)
        if begin is None or begin[0] not in _INTERESTING:
            return
        self.is_kernels = True
        if text.startswith("Linux version "):
            self._settle(host)
            self.boots[host] = _Boot(_named(host), at)
        if host not in self.boots:
            self.boots[host] = _Boot(_named(host))
        self.boots[host].take(at, begin[0], _Event(line, match, text, "", {}))

    def _settle(self, host: str) -> None:
        boot = self.boots.pop(host, None)
        self.rows += islice(boot.rows(), max(_MOST_EVENTS - len(self.rows), 0)) if boot else ()

    def settle(self) -> None:
        """Take the events of the boots that the log ends in, all in the order of their lines."""
        for host in tuple(self.boots):
            self._settle(host)
        self.rows.sort(key=lambda row: row.event.line.number)


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    log, used, between = _Log(), 0, 0
    matches = re.compile(_LINE).match
    is_stamped = matches(lines[0].text) is not None
    for at, line in enumerate(lines[:_MOST_LINES]):
        match = matches(line.text)
        if match is None if is_stamped else not re.match(UNSTAMPED, line.text):
            between += 1
            if between > _MOST_BETWEEN or not re.match(_CONTINUATION, line.text):
                break
            continue
        log.take(at, line, match)
        used, between = at + 1, 0
    log.settle()
    if not (log.rows or used > _MOST_NOTES or (is_stamped and log.is_kernels)):
        return None
    named = [host for host, _ in log.hosts.most_common(_MOST_HOSTS) if _named(host)]
    only = named[0] if len(named) == 1 else ""
    facts = tuple(_facts(log, named, only, lines[:used], source))
    tables = (SampleTable(EVENTS, _table(log.rows, only, source)),) if log.rows else ()
    return ContextBlock(used, (), facts, tables, layout="kernel log", host=only)


def _named(host: str) -> str:
    return "" if host in _NO_HOST else host


def _uptime(match: re.Match[str] | None) -> float:
    """Seconds since boot that a line states, or NaN."""
    return float(match["boot"] or match["uptime"] or math.nan) if match else math.nan


def _time(match: re.Match[str] | None) -> _Time:
    """The time that a line states; of a classic stamp nothing, since the year is not known."""
    text = (match["ctime"] or match["iso"] or match["stamp"] or "") if match else ""
    if re.fullmatch(r"\d{10}\.\d{6}", text):
        return _Time(float(text), is_moment=True)
    if re.match(_DAY, text):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return _Time()
        zone = moment.utcoffset()
        return _Time(moment.timestamp(), True, zone.total_seconds() if zone else 0.0)
    clock = _clock.parse_line(text) if re.search(r"\b\d{4}\b", text) else None
    if clock is None:
        return _Time()
    seconds = _clock.moment(clock, "ymd")
    offset = math.nan if clock.offset_s is None else clock.offset_s
    return _Time(seconds, not math.isnan(offset), offset)


def _facts(log: _Log, hosts: Sequence[str], only: str, lines: Sequence[Line], source: str) -> Iterator[Fact]:
    """What the log holds, for each host that it names."""
    ends = [lines[0], lines[len(lines) - 1]]
    for host in hosts if len(hosts) > 1 else [only]:
        count = log.hosts[host] if len(hosts) > 1 else len(lines)
        events = sum(len(hosts) < 2 or row.host == host for row in log.rows)
        text = f"the kernel's log has {count} lines, {events} of them on trouble of a device"
        values: dict[str, float | str | None] = {"lines": float(count), "events": float(events)}
        yield replace(fact("kernel-log", text, values, source, ends), host=host or None)


def _table(rows: Sequence[_Row], only: str, source: str) -> Table:
    """The events, one row for each device that one is about."""
    size = len(rows)
    dated = [row.time for row in rows if not math.isnan(row.time.seconds)]
    is_moment = all(time.is_moment for time in dated)
    # beside clocks of no zone a moment is what the host's clock showed, where its zone is known
    seconds = [
        t.seconds if is_moment or not t.is_moment else t.seconds + t.offset_s for t in (r.time for r in rows)
    ]
    data = front_columns(
        source,
        np.array([row.event.line.number for row in rows], dtype=np.int64),
        Texts.of(row.host or only for row in rows),
        Times.of(np.round(np.array(seconds), 6), is_moment=is_moment and bool(dated)),
        np.full(size, np.nan),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
    )
    data["device"] = Texts.of(row.device for row in rows)
    data["kind"] = Texts.of(row.event.kind for row in rows)
    data["stamp"] = Texts.of(_stamp(row.event.match) for row in rows)
    data["message"] = Texts.of(row.event.text for row in rows)
    data["boot_s"] = np.array([row.boot_s for row in rows])
    data["utc_offset_s"] = np.array([row.time.offset_s for row in rows])
    return Table.of_columns(data, size)


def _stamp(match: re.Match[str] | None) -> str:
    return (match["stamp"] or match["ctime"] or match["iso"] or match["boot"] or "") if match else ""


FORMAT = ContextFormat(
    id="kernel-log",
    title="the kernel's log: dmesg, journalctl -k, messages, syslog, kern.log",
    example=_EXAMPLE,
    starts=re.compile(rf"^(?:{_LINE}|{UNSTAMPED})"),
    read=_read,
    releases="Linux 2.6 to 6.x; util-linux, systemd, rsyslog, syslog-ng, syslogd",
    not_read="messages of drivers that are about no disk; lines of programs but multipathd, mdadm and smartd",
    most_lines=_MOST_LINES,
    is_between_rows=True,
)
