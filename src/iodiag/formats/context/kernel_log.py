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
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.context import _kernel_devices as _devices
from iodiag.formats.context._common import Values, fact
from iodiag.formats.context._kernel_messages import ACTIVE_PATHS, BEGINS, DAEMONS, INVOKED, UNSTAMPED, kind_of
from iodiag.formats.front_columns import front_columns
from iodiag.formats.types import ContextBlock, ContextFormat, Line, Lines
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
_THREAD = r"(?: ?\[ {0,8}[TC]\d{1,8}\])?"
_BOOT_CLOCK = r"\[ {0,12}(?P<boot>\d{1,10}\.\d{2,9})\]"
_BOOT = _BOOT_CLOCK + _THREAD + r" ?(?:(?P<of>[\w.-]{1,253}) kernel: )?"
_HUMAN = (
    r"\[(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|[A-Z][a-z]{2} ?\d{1,2} \d\d:\d\d"
    r"| {0,8}\+ {0,8}\d{1,8}\.\d{6})\] "
)
_CTIME = r"\[(?P<ctime>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\] "
_DAY = r"\d{4}-\d\d-\d\d"
_TIME = r"\d\d:\d\d:\d\d"
_STAMP = (
    rf"[A-Z][a-z]{{2}} [ \d]\d {_TIME}(?:\.\d{{1,9}})?|{_DAY}T{_TIME}(?:\.\d{{1,9}})?(?:Z|[+-]\d\d:?\d\d)"
    rf"|[A-Z][a-z]{{2}} {_DAY} {_TIME} [A-Z]{{3,5}}|\d{{10}}\.\d{{6}}"
)
# the lines of programs that take samples are no log's
_PROGRAM = r"(?!(?:iostat|vmstat|sar|sadf|mpstat|pidstat|nfsiostat)\b)[\w./@()-]{1,64}"
# an application's log has the level of the line there
_HOST = r"(?!(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|CRIT(?:ICAL)?|FATAL) )[\w.-]{1,253}"
_FACILITY = r"(?:[a-z0-9]{2,8}\.[a-z]{2,8} )?"
_REPEATED = r"(?:last )?message repeated "
_UPTIME = r"(?:\[ {0,12}(?P<uptime>\d{1,10}\.\d{1,9})\] ?)?"
_SYSLOG = (
    rf"(?P<stamp>{_STAMP}) (?:(?P<host>{_HOST}) )?{_FACILITY}"
    rf"(?:(?P<program>{_PROGRAM})(?:\[\d{{1,10}}\])?:[ :]*|{_REPEATED}){_UPTIME}"
)
_ISO = rf"(?P<iso>{_DAY}T{_TIME},\d{{1,9}}[+-]\d\d:\d\d) "
_LINE = (
    rf"{_LEVEL}(?:{_BOOT}|{_CTIME}|{_HUMAN}|{_ISO}|{_SYSLOG})"
    r"|-- (?:Reboot|Boot [0-9a-f]{32}|Logs begin|Journal begins)\b"
)
_CONTINUATION = r"\s{4}.{0,200}?[A-Za-z]|\s*$"
"""Further lines of a message, which stand below its text, or a gap; no rows, which are numbers."""

_TELLS_TIME = (
    r".{0,80}?audit\((?P<epoch>\d{9,10}\.\d{1,6}):\d{1,12}\)"
    r"|.{0,60}?setting system clock to .{10,40}? UTC \((?P<at>\d{9,10})\)"
)
_CLOCKS = ("audit", "type", "rtc_cmos", "rtc-efi")
_LETTER = "[A-Za-z_/-]"
_BEGIN, _INVOKED = re.compile(_LETTER + "+"), re.compile(INVOKED)
_PROGRAMS = (None, "kernel", *DAEMONS)
_INTERESTING = frozenset((*BEGINS, *_devices.BEGINS, *_CLOCKS, "Linux"))
# a host of containers logs of its network's devices, and of a port of USB nothing but a reset is an event
_MORE = {"device": "device resource", "usb": r"usb [\d.-]+: reset"}
_TELLING = (
    rf"(?:(?:{'|'.join(_MORE.get(begin, begin) for begin in sorted(_INTERESTING))})(?!{_LETTER})|{INVOKED})"
)
_OWN = (
    rf"{_LEVEL}(?:{_BOOT_CLOCK}(?!{_THREAD}[^\S\n]*(?:[\w.-]{{1,253}} kernel: |{_TELLING}))"
    rf"|(?:{_CTIME}|{_HUMAN}|{_ISO})(?![^\S\n]*{_TELLING}))[^\n]*\n"
)
_LOGGED = (
    rf"{_LEVEL}(?:{_STAMP}) HOST{_FACILITY}(?:{_REPEATED}"
    rf"|(?!(?:kernel|{'|'.join(sorted(DAEMONS))})[\[:]){_PROGRAM}(?:\[\d{{1,10}}\])?:"
    rf"|kernel(?:\[\d{{1,10}}\])?:(?![ :]*{_UPTIME}[^\S\n]*{_TELLING}))[^\n]*\n"
)
_NO_HOST = ("localhost", "(none)", "kernel")
_POWER_ON = "Power-on or device reset"
_BOOTING_S, _LINES_OF_BOOT = 30.0, 3000
"""While it boots the kernel looks for what is there: links come up slowly, and ports have no disk."""

_SAME_CLOCK_S = 0.5
_SETTLES_S = 300.0
"""By then every disk has said that it was switched on."""

_OF_BOOT = ("reset", "timeout", "link down", "link speed")
_MOST_LINES, _FIRST, _AT_ONCE, _MOST_EVENTS, _MOST_HOSTS, _MOST_BETWEEN = 5_000_000, 8, 1024, 200_000, 20, 2
_LONGEST_MESSAGE = 500
_MOST_A_SECOND = 20
"""Events of one kind on one device that are kept of a second: a disk that fails fills its log."""

_MOST_NOTES = 5
"""Lines that a script writes between reports, under a stamp like the kernel's, to say what it does next."""


class _Time(NamedTuple):
    """Seconds since 1970, of UTC for a moment, else of the host's clock; `offset_s` of its zone."""

    seconds: float = math.nan
    is_moment: bool = False
    offset_s: float = math.nan


@dataclass(slots=True)
class _Event:
    """A line that says that something happened, `stamp` the time that it states, `boot_s` since boot or NaN.

    `about` becomes devices when all of the boot is read; `alike` more lines say the same in the same second.
    """

    line: int
    stamp: str
    boot_s: float
    text: str
    kind: str
    about: dict[str, str]
    alike: int = 0


class _Row(NamedTuple):
    event: _Event
    device: str
    host: str
    time: _Time


@dataclass
class _Boot:
    """What was read of a host since it was started, at line `began` with the time `stamp`."""

    host: str = ""
    began: int = -_LINES_OF_BOOT
    stamp: str = ""
    events: list[_Event] = field(default_factory=list)
    names: _devices.DeviceNames = field(default_factory=_devices.DeviceNames)
    clocks: list[tuple[float, float]] = field(default_factory=list)
    second: str = ""
    last: dict[tuple[str, ...], tuple[int, _Event]] = field(default_factory=dict)
    paths: dict[str, tuple[int, str]] = field(default_factory=dict)

    def take(
        self, at: int, begin: str, text: str, boot_s: float, stamp: str
    ) -> tuple[str, dict[str, str]] | None:
        """The kind of an event that a line says, and what it is about; None of any other line."""
        if begin in _CLOCKS:
            told = re.match(_TELLS_TIME, text)
            if told and not math.isnan(boot_s):
                self._learn_time(boot_s, float(told["epoch"] or told["at"]))
            return None
        self.names.learn(begin, text)
        found = kind_of(begin, text)
        if found and found[0] == ACTIVE_PATHS:
            return self._paths_of(**found[1], stamp=stamp)
        return found if found and not self._looks_around(at, found[0], text, boot_s, stamp) else None

    def _paths_of(self, dev: str, paths: str, stamp: str) -> tuple[str, dict[str, str]] | None:
        """What a count of the active paths of a map says beside the one before; alone only that none is.

        Where stamps go back the log has its newest lines first, or another one begins.
        """
        left = int(paths)
        (before, last), self.paths[dev] = self.paths.get(dev, (left, stamp)), (left, stamp)
        if stamp < last or (left == before and left):
            return None
        return "path up" if left > before else "path down" if left else "all paths down", {"dev": dev}

    def keep(self, event: _Event) -> None:
        """Of a second's events of one kind on one device the first are kept, and the others counted."""
        # two logs of a host have the clock of the boot in common
        clock = event.stamp if math.isnan(event.boot_s) else f"{event.boot_s:.6f}"
        second = clock.replace(",", ".").partition(".")[0]
        if second != self.second:
            self.second = second
            self.last.clear()
        key = (event.kind, *event.about.values())
        count, last = self.last.get(key, (0, event))
        if count < _MOST_A_SECOND and len(self.events) < _MOST_EVENTS:
            self.events.append(event)
            self.last[key] = (count + 1, event)
        else:
            last.alike += 1

    def _learn_time(self, boot_s: float, epoch: float) -> None:
        """A record of the same difference as the last one tells nothing, and a log may have millions."""
        last = self.clocks[-1] if self.clocks else (math.nan, math.nan)
        if not abs((epoch - boot_s) - (last[1] - last[0])) < _SAME_CLOCK_S:
            self.clocks.append((boot_s, epoch))

    def _looks_around(self, at: int, kind: str, text: str, boot_s: float, stamp: str) -> bool:
        """Whether a line is of the time when the kernel looks for what is there."""
        if not (is_power_on := _POWER_ON in text) and kind not in _OF_BOOT:
            return False
        since = boot_s
        if math.isnan(boot_s) and self.stamp:
            since = _seconds(stamp) - _seconds(self.stamp)
            if since >= _SETTLES_S:  # the boot is over: no later stamp needs to be read
                self.began, self.stamp = -_LINES_OF_BOOT, ""
        if math.isnan(since):
            return at - self.began < _LINES_OF_BOOT
        return 0 <= since < (_SETTLES_S if is_power_on else _BOOTING_S)

    def rows(self) -> Iterator[_Row]:
        """The events with their devices and times, by all that was said since the start."""
        clocks = sorted(self.clocks)
        devices_of: dict[tuple[str, ...], tuple[str, ...]] = {}
        for event in self.events:
            key = (*event.about, *event.about.values())
            if key not in devices_of:
                named = self.names.devices(event.about)
                devices = _devices.without_removable(named)
                # what is on a port of USB and no disk is a keyboard
                devices_of[key] = devices or (() if named or "usb" in event.about else ("",))
            time, since = _time(event.stamp), event.boot_s
            if math.isnan(time.seconds) and clocks and not math.isnan(since):
                at, epoch = clocks[max(bisect_right(clocks, (since, math.inf)) - 1, 0)]
                time = _Time(epoch + since - at, is_moment=True)
            yield from (_Row(event, name, self.host, time) for name in devices_of[key])


@dataclass
class _Log:
    """What was read so far: the events of earlier boots, lines by host, and the boot of each.

    `known`: lines that begin as what is looked for does. `is_kernels`: a line is the kernel's, or a daemon's
    that watches disks, and not of just any script.
    """

    rows: list[_Row] = field(default_factory=list)
    hosts: Counter[str] = field(default_factory=Counter)
    boots: dict[str, _Boot] = field(default_factory=dict)
    is_kernels: bool = False
    known: int = 0

    def read(self, lines: Lines, is_stamped: bool) -> int:
        """Take the lines of the log; how many they are."""
        ordinary = _ordinary().match if is_stamped else None
        log_line, continuation = (
            re.compile(_LINE if is_stamped else UNSTAMPED).match,
            re.compile(_CONTINUATION),
        )
        at = used = first = 0
        count = _FIRST
        while first < min(len(lines), _MOST_LINES):
            text, begin = lines.joined(first, first + count), 0
            first, count = first + count, min(2 * count, _AT_ONCE)
            while begin < len(text):
                if ordinary and at > _MOST_NOTES and (run := ordinary(text, begin)):
                    size = text.count("\n", begin, run.end())
                    self.hosts[(run["host"] or "").rstrip()] += size
                    at, begin = at + size, run.end()
                    used = at
                    continue
                end = text.index("\n", begin)
                at += 1
                if match := log_line(text, begin, end):
                    self._take(
                        at,
                        lines,
                        match if is_stamped else None,
                        text[match.end() if is_stamped else begin : end],
                    )
                    used = at
                elif at > used + _MOST_BETWEEN or not continuation.match(text, begin, end):
                    return used
                begin = end + 1
        return used

    def _take(self, at: int, lines: Lines, match: re.Match[str] | None, text: str) -> None:
        """The `at`th line of the log, the text behind its stamp."""
        program, host, of = match.group("program", "host", "of") if match else (None, "", "")
        host = host or of or ""
        self.hosts[host] += 1
        if program not in _PROGRAMS:
            return
        text = f"{program} {text.strip()}" if program in DAEMONS else text.strip()
        # a mail program broke the line there
        if text.endswith("Result:") and at < len(lines) and not re.match(_LINE, lines[at].text):
            text = f"{text} {lines[at].text[:_LONGEST_MESSAGE].strip()}"
        self.is_kernels |= program is not None
        word = _BEGIN.match(text)
        begin = "invoked" if _INVOKED.match(text) else word[0] if word else ""
        if begin not in _INTERESTING:
            return
        self.is_kernels = True
        self.known += 1
        if text.startswith("Linux version "):
            self._settle(host)
            self.boots[host] = _Boot(_named(host), at, _stamp(match))
        if host not in self.boots:
            self.boots[host] = _Boot(_named(host))
        boot, boot_s = self.boots[host], _uptime(match)
        stamp = _stamp(match)
        if found := boot.take(at, begin, text, boot_s, stamp):
            line = lines[at - 1].number
            boot.keep(_Event(line, stamp, boot_s, text[:_LONGEST_MESSAGE], *found))

    def _settle(self, host: str) -> None:
        boot = self.boots.pop(host, None)
        self.rows += islice(boot.rows(), max(_MOST_EVENTS - len(self.rows), 0)) if boot else ()

    def settle(self) -> None:
        """Take the events of the boots that the log ends in, all in the order of their lines."""
        for host in tuple(self.boots):
            self._settle(host)
        self.rows.sort(key=lambda row: row.event.line)


def _read(lines: Lines, source: str) -> ContextBlock | None:
    log = _Log()
    is_stamped = re.match(_LINE, lines[0].text) is not None
    used = log.read(lines, is_stamped)
    log.settle()
    if not (log.rows or used > _MOST_NOTES or (is_stamped and log.is_kernels)):
        return None
    named = [host for host, _ in log.hosts.most_common(_MOST_HOSTS) if _named(host)]
    only = named[0] if len(named) == 1 else ""
    facts = tuple(_facts(log, named, only, lines[:used], source))
    tables = (SampleTable(EVENTS, _table(log.rows, only, source)),) if log.rows else ()
    return ContextBlock(used, (), facts, tables, layout="kernel log", host=only)


@lru_cache(maxsize=1)
def _ordinary() -> re.Pattern[str]:
    """Lines of one host, as many as follow each other, that say nothing of a device: most of a log."""
    lines = f"(?:{_OWN})+|{_LOGGED}".replace("HOST", rf"(?P<host>(?:{_HOST} )?)")
    return re.compile(
        re.sub(r"\?P<(?!host)\w+>", "?:", f"{lines}(?:{_LOGGED})*").replace("HOST", "(?P=host)")
    )


def _named(host: str) -> str:
    return "" if host in _NO_HOST else host


def _uptime(match: re.Match[str] | None) -> float:
    """Seconds since boot that a line states, or NaN."""
    return float(match["boot"] or match["uptime"] or math.nan) if match else math.nan


@lru_cache(maxsize=4096)
def _time(text: str) -> _Time:
    """The time that a stamp states; of a classic one nothing, since the year is not known."""
    if re.fullmatch(r"[\d.]+", text):
        # the clock of a boot is none
        return _Time(float(text), is_moment=True) if re.fullmatch(r"\d{10}\.\d{6}", text) else _Time()
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


def _seconds(stamp: str) -> float:
    """The time that a stamp states, to tell two of one log apart: a classic one is of a leap year; or NaN."""
    seconds = _time(stamp).seconds
    return _time(f"{stamp[:15]} 2000").seconds if math.isnan(seconds) else seconds


def _facts(log: _Log, hosts: Sequence[str], only: str, lines: Sequence[Line], source: str) -> Iterator[Fact]:
    """What the log holds, for each host that it names."""
    ends = [lines[0], lines[len(lines) - 1]]
    for host in hosts if len(hosts) > 1 else [only]:
        count = log.hosts[host] if len(hosts) > 1 else len(lines)
        own = {row.event.line: row.event.alike + 1 for row in log.rows if len(hosts) < 2 or row.host == host}
        events = sum(own.values())
        # a process that was killed, or waits, names no device
        devices = sum(own[line] for line in {row.event.line for row in log.rows if row.device} & own.keys())
        text = f"the kernel's log has {count} lines, {devices} of them on trouble of a device"
        text += f", and {events - devices} on other trouble" * (events > devices)
        values: Values = {"lines": float(count), "events": float(events), "known": float(log.known)}
        yield replace(fact("kernel-log", text, values, source, ends), host=host or None)


def _table(rows: Sequence[_Row], only: str, source: str) -> Table:
    """The events, one row for each device that one is about."""
    dated = [row.time for row in rows if not math.isnan(row.time.seconds)]
    is_moment = all(time.is_moment for time in dated)
    # beside clocks of no zone a moment is what the host's clock showed, where its zone is known
    seconds = [
        t.seconds if is_moment or not t.is_moment else t.seconds + t.offset_s for t in (r.time for r in rows)
    ]
    times = Times.of(np.round(np.array(seconds), 6), is_moment=is_moment and bool(dated))
    hosts = Texts.of(row.host or only for row in rows)
    data = front_columns(source, [row.event.line for row in rows], hosts, times)
    data["device"] = Texts.of(row.device for row in rows)
    data["kind"] = Texts.of(row.event.kind for row in rows)
    data["stamp"] = Texts.of(row.event.stamp for row in rows)
    data["message"] = Texts.of(row.event.text for row in rows)
    data["alike"] = np.array([row.event.alike for row in rows], dtype=np.float64)
    stated = {
        "boot_s": np.array([row.event.boot_s for row in rows]),
        "utc_offset_s": np.array([row.time.offset_s for row in rows]),
    }
    # most logs state one of the two clocks
    data |= {name: column for name, column in stated.items() if not np.isnan(column).all()}
    return Table.of_columns(data, len(rows))


def _stamp(match: re.Match[str] | None) -> str:
    """The time that a line states, as it is printed."""
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
