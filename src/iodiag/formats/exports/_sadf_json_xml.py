"""What sadf's JSON and XML have in common: names, and samples gathered one object or element after the other.

Both name a section by a key or an element (`net-dev`), and its values without the units that sar
prints (`rxkB`, `util-percent`). Nearly all follow from sar's tokens by rule; the others stand here.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from iodiag.formats.exports._json_scan import Whole
from iodiag.formats.exports._sadf_tables import (
    REPEATED,
    Export,
    Part,
    parse_number,
    parse_stamp,
    settle_zone,
    short_reports,
    short_rows,
)
from iodiag.formats.raw_columns.sar import SECTIONS
from iodiag.formats.raw_columns.sar_section import SarSection
from iodiag.formats.whole_files import LOST_POINT, lost_points
from iodiag.model.capture import ParseNote, Source
from iodiag.table.table import Bools, Ints
from iodiag.table.texts import Texts

Value = str | float | None

_ABSURD = 1e100  # no counter comes near; keeps products finite
_MOST_LAYOUTS, _MOST_NOTES = 1000, 200
_GAP = "this sample begins later than the one before it ends: lines between them may be lost"
_AGAIN = "a second row of the same item in one sample: lines between two samples are lost; left out"

_BY_NAME = {section.name: section for section in SECTIONS}

_GROUPS = """
cpu: cpu-load cpu-load-all cpu / tasks: process-and-context-switch processes context-switch
interrupts: interrupts irq / swapping: swap-pages / paging: paging / io: io / memory: memory
hugepages: hugepages / kernel tables: kernel / queue: queue / serial: serial tty / disk: disk disk-device
network: net-dev / network errors: net-edev / nfs client: net-nfs / nfs server: net-nfsd / sockets: net-sock
ip: net-ip / ip errors: net-eip / icmp: net-icmp / icmp errors: net-eicmp / tcp: net-tcp
tcp errors: net-etcp / udp: net-udp / sockets6: net-sock6 / ip6: net-ip6 / ip6 errors: net-eip6
icmp6: net-icmp6 / icmp6 errors: net-eicmp6 / udp6: net-udp6 / fibre channel: fchosts fchost
softnet: softnet / cpu frequency: cpu-frequency cpufreq
weighted cpu frequency: cpu-weighted-frequency cpuwfreq / fan: fan-speed fan / temperature: temperature temp
voltage: voltage-input in / battery: battery bat / usb: usb-devices usb / filesystem: filesystems filesystem
pressure cpu: psi-cpu / pressure io: psi-io / pressure memory: psi-mem
"""
_SECTION_OF: Mapping[str, SarSection] = {
    group: _BY_NAME[name]
    for name, _, groups in (entry.partition(": ") for entry in re.split(" / |\n", _GROUPS.strip()))
    for group in groups.split()
}
"""The section that a JSON key or an XML element stands for."""

_MEMORY_CHANGES = _BY_NAME["memory changes"]
"""What stands in `memory` too (sar -R), though sar prints it as a section of its own."""

_ITEMS = (
    "cpu number intr line disk-device dev iface fchost name bus_number filesystem fsname mountpoint mountp"
)
_LABELS = {"device": "chip", "status": "status"}

_SPECIAL = {
    "value": "intr/s",
    "shared": "kbshmem",
    "inactive": "kbinact",
    "frequency": "MHz",
    "weighted-frequency": "wghMHz",
    "percent-capacity": "%cap",
    "variation": "cap/min",
}


@dataclass
class _Rows:
    """Rows with the same names: sample, place in the input, words and numbers of each."""

    section: SarSection
    names: tuple[str, ...]
    word_columns: dict[str, str]
    samples: array[int] = field(default_factory=lambda: array("q"))
    places: array[int] = field(default_factory=lambda: array("q"))
    words: dict[str, list[str]] = field(default_factory=dict)
    numbers: array[float] = field(default_factory=lambda: array("d"))
    is_whole: array[int] = field(default_factory=lambda: array("b"))

    def add(self, sample: int, at: int, members: Mapping[str, Value]) -> None:
        self.samples.append(sample)
        self.places.append(at)
        for name, value in members.items():
            if name in self.word_columns:
                self.words.setdefault(name, []).append(_word(value))
            else:
                self.numbers.append(_number(value))
                self.is_whole.append(_is_whole(value))


@dataclass
class _Host:
    name: str = ""
    kernel: str = ""
    cpus: int | None = None
    restarts: list[tuple[float, int | None]] = field(default_factory=list)


@dataclass
class Gathered:
    """What was gathered so far. Rows belong to the last sample that began, samples to the last host.

    `unknown` are groups and names that no section has, with the place where each stood first.
    """

    hosts: list[_Host] = field(default_factory=list)
    rows: dict[tuple[str, ...], _Rows] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    zones: set[str] = field(default_factory=set)
    host_of: array[int] = field(default_factory=lambda: array("q"))
    seconds: array[float] = field(default_factory=lambda: array("d"))
    intervals: array[float] = field(default_factory=lambda: array("d"))

    @staticmethod
    def is_section(name: str) -> bool:
        """Whether a key or an element stands for a section."""
        return name in _SECTION_OF

    def begin_host(self) -> None:
        self.hosts.append(_Host())

    def begin_sample(self) -> None:
        """A sample whose time is not known yet."""
        if not self.hosts:
            self.begin_host()
        self.host_of.append(len(self.hosts) - 1)
        self.seconds.append(float("nan"))
        self.intervals.append(float("nan"))

    def set_time(self, members: Mapping[str, Value]) -> None:
        """The time of the last sample."""
        if len(self.seconds):
            self.seconds[-1] = self._stamp(members)
            self.intervals[-1] = _number(members.get("interval"))

    def add_restart(self, members: Mapping[str, Value]) -> None:
        if self.hosts:
            self.hosts[-1].restarts.append((self._stamp(members), _cpus(members.get("cpu_count"))))

    def set_fact(self, name: str, value: Value) -> bool:
        """Take what is said of the host; False where it is nothing that is kept."""
        if not self.hosts or name not in ("nodename", "release", "number-of-cpus"):
            return False
        host = self.hosts[-1]
        if name == "nodename":
            host.name = _word(value)
        elif name == "release":
            host.kernel = _word(value)
        else:
            host.cpus = _cpus(value)
        return True

    def add(self, group: str, members: Mapping[str, Value], at: int) -> bool:
        """A row of the last sample; False where the group is unknown."""
        key = (group, *members)
        rows = self.rows.get(key)
        if group not in _SECTION_OF or (rows is None and len(self.rows) == _MOST_LAYOUTS):
            if len(self.unknown) < _MOST_LAYOUTS:
                self.unknown.setdefault(group, at)
            return False
        if not len(self.seconds):
            return False
        if rows is None:
            section, names = _SECTION_OF[group], tuple(members)
            words = _word_columns(section, names)
            if not set(section.key_tokens.values()) <= set(words.values()):
                # a row that does not name its item is of none
                self.unknown.setdefault(f"{group} without a name", at)
                return False
            rows = self.rows[key] = _Rows(section, names, words)
        rows.add(len(self.seconds) - 1, at, members)
        return True

    def _stamp(self, members: Mapping[str, Value]) -> float:
        zone = members.get("tz") or ("UTC" if _number(members.get("utc")) == 1 else "")
        found = parse_stamp(f"{members.get('date')} {members.get('time')} {zone}".rstrip())
        if found is None:
            return float("nan")
        self.zones.add(found[1])
        return found[0]


def export(
    source: Source, format_id: str, samples: Gathered, lines_of: Callable[[Ints], Ints]
) -> tuple[Export, list[ParseNote]]:
    """The parts of all rows, and notes. `lines_of` turns places in the input into line numbers."""
    is_aware, notes = settle_zone(source.name, samples.zones)
    segment_of, kernels, cpus = _segments(samples)
    parts: list[Part] = []
    again: list[int] = []
    for line in lines_of(_without_lost_points([*samples.rows.values()])).tolist()[:_MOST_NOTES]:
        notes.append(ParseNote(source.name, line, LOST_POINT, source.quote(line)[:200], is_unread=True))
    for rows in samples.rows.values():
        is_again = _is_again(rows)
        again += lines_of(np.frombuffer(rows.places, dtype=np.int64)[is_again]).tolist()
        parts += (_only(part, ~is_again) for part in _parts(samples, rows, segment_of, lines_of))
    parts = [part for part in parts if len(part.lines)]
    notes += [
        ParseNote(source.name, line, _AGAIN, source.quote(line)[:200], is_unread=True)
        for line in sorted(set(again))[:_MOST_NOTES]
    ]
    notes += [
        ParseNote(source.name, line, reason, source.quote(line)[:200], is_unread=True)
        for line, reason in _missing(samples, parts, lines_of)
    ]
    notes += (*short_rows(source, parts), *short_reports(source, parts))
    if samples.unknown:
        at = int(lines_of(np.array([min(samples.unknown.values())]))[0])
        notes.append(ParseNote(source.name, at, f"left out: {', '.join(samples.unknown)[:300]}"))
    return Export(source.name, format_id, parts, is_aware, kernels=kernels, cpus=cpus), notes


def _missing(
    samples: Gathered, parts: Sequence[Part], lines_of: Callable[[Ints], Ints]
) -> Iterator[tuple[int, str]]:
    """The line and the kind of what sadf always prints and is not there."""
    for part in parts[:1]:
        if any(not host.name for host in samples.hosts):
            yield int(part.lines[0]), "no host's name stands above the samples; lines may be lost"
    untimed = [int(part.lines[np.isnan(part.seconds)][0]) for part in parts if np.isnan(part.seconds).any()]
    if untimed:
        yield min(untimed), "a sample without a time; lines may be lost"
    gaps = _gaps(samples)
    yield from ((int(lines_of(np.array([at]))[0]), _GAP) for at in _first_rows(samples, gaps)[:_MOST_NOTES])
    for rows in samples.rows.values():
        values = [name for name in rows.names if name not in rows.word_columns]
        if values and all(name in samples.unknown for name in values):
            yield int(lines_of(np.array([rows.places[0]]))[0]), "no value that this section has; left out"


def _gaps(samples: Gathered) -> Ints:
    """The samples that begin later than the one before them ends; the host ran on, so lines are lost.

    An hour may be that of summer time.
    """
    hosts, seconds = np.array(samples.host_of, dtype=np.int64), np.array(samples.seconds)
    between, lasted = np.diff(seconds), np.array(samples.intervals)[1:]
    with np.errstate(invalid="ignore"):
        is_late = (between > 1.5 * lasted + 2) & (lasted > 0) & (np.diff(hosts) == 0)
        is_late &= np.abs(between - lasted - 3600) > 2
    restarts = np.sort([at for host in samples.hosts for at, _ in host.restarts if at == at])
    is_late &= np.searchsorted(restarts, seconds[:-1]) == np.searchsorted(restarts, seconds[1:], "right")
    return np.flatnonzero(is_late) + 1


def _first_rows(samples: Gathered, chosen: Ints) -> list[int]:
    """The places of the first row of some samples."""
    if not len(chosen) or not samples.rows:
        return []
    all_rows = samples.rows.values()
    of = np.concatenate([np.frombuffer(rows.samples, dtype=np.int64) for rows in all_rows])
    places = np.concatenate([np.frombuffer(rows.places, dtype=np.int64) for rows in all_rows])
    return [int(places[of == sample].min()) for sample in chosen if (of == sample).any()]


def _is_again(rows: _Rows) -> Bools:
    """The rows whose item has a row in the same sample already: the lines between two samples are lost."""
    own = [column for name, column in sorted(rows.words.items())]
    seen: set[tuple[object, ...]] = set()
    result = np.zeros(len(rows.places), dtype=np.bool_)
    if rows.section.key_tokens.keys() & REPEATED:
        return result
    for at, key in enumerate(zip(rows.samples, *own, strict=True)):
        result[at] = key in seen
        seen.add(key)
    return result


def _without_lost_points(all_rows: Sequence[_Rows]) -> Ints:
    """Leave out the numbers that have lost their point; the places of their rows."""
    numbers = [np.frombuffer(rows.numbers).reshape(len(rows.places), -1) for rows in all_rows]
    is_whole = [np.frombuffer(rows.is_whole, np.bool_).reshape(len(rows.places), -1) for rows in all_rows]
    found = [np.empty(0, dtype=np.int64)]
    is_lost = lost_points([*zip(numbers, is_whole, strict=True)])
    for rows, own, lost in zip(all_rows, numbers, is_lost, strict=True):
        own[lost] = np.nan
        found.append(np.frombuffer(rows.places, dtype=np.int64)[lost.any(axis=1)])
    return np.sort(np.concatenate(found))


def _only(part: Part, chosen: Bools) -> Part:
    """Some rows of a part."""
    if chosen.all():
        return part
    cut = {name: getattr(part, name)[chosen] for name in ("lines", "hosts", "seconds", "interval", "segment")}
    words = {name: column[chosen] for name, column in part.words.items()}
    return part._replace(**cut, numbers=part.numbers[chosen], words=words)


def _segments(samples: Gathered) -> tuple[Ints, dict[int, str], dict[int, int]]:
    """The segment of every sample, with the kernel and the CPUs of each: hosts, divided by their restarts.

    sadf prints no row for the record behind a restart, so a sample of the same second stands before it.
    """
    host_of, seconds = np.array(samples.host_of, dtype=np.int64), np.array(samples.seconds)
    segment_of = np.zeros(len(host_of), dtype=np.int64)
    kernels: dict[int, str] = {}
    cpus: dict[int, int] = {}
    base = 0
    for number_, host in enumerate(samples.hosts):
        restarts = sorted((one for one in host.restarts if one[0] == one[0]), key=itemgetter(0))
        inside = host_of == number_
        segment_of[inside] = base + np.searchsorted([at for at, _ in restarts], seconds[inside], "left")
        counts = [host.cpus, *(count for _, count in restarts)]
        for place, count in enumerate(counts):
            kernels |= {base + place: host.kernel} if host.kernel else {}
            cpus |= {base + place: count} if count is not None else {}
        base += len(counts)
    return segment_of, kernels, cpus


def _parts(
    samples: Gathered, rows: _Rows, segment_of: Ints, lines_of: Callable[[Ints], Ints]
) -> Iterator[Part]:
    """The rows of one group of names; sadf's memory holds what sar prints as two sections."""
    numeric = [name for name in rows.names if name not in rows.word_columns]
    numbers = np.array(rows.numbers, dtype=np.float64).reshape(len(rows.places), len(numeric))
    sample = np.frombuffer(rows.samples, dtype=np.int64)
    host_of = np.frombuffer(samples.host_of, dtype=np.int64)[sample]
    hosts = Texts.coded(host_of, [host.name for host in samples.hosts])
    words = {column: Texts.of(rows.words[name]) for name, column in rows.word_columns.items()}
    rest = dict(enumerate(numeric))
    for section in (rows.section, _MEMORY_CHANGES) if rows.section.name == "memory" else (rows.section,):
        found = {place: token for place, name in rest.items() if (token := _token_of(section, name))}
        rest = {place: name for place, name in rest.items() if place not in found}
        if found:
            yield Part(
                section=section,
                tokens=tuple(found.values()),
                lines=lines_of(np.frombuffer(rows.places, dtype=np.int64)),
                hosts=hosts,
                seconds=np.frombuffer(samples.seconds)[sample],
                interval=np.frombuffer(samples.intervals)[sample],
                segment=segment_of[sample],
                numbers=numbers[:, list(found)],
                words=words,
            )
    for name in rest.values():
        samples.unknown.setdefault(name, int(rows.places[0]))


def _number(value: Value) -> float:
    """A number, NaN where it is none. Numbers are alone in their quotes, so a comma is a decimal sign."""
    found = parse_number(value, True) if isinstance(value, str) else value
    return found if found is not None and abs(found) < _ABSURD else float("nan")


def _is_whole(value: Value) -> bool:
    """Whether a number was printed without decimals."""
    return "." not in value and "," not in value if isinstance(value, str) else type(value) is Whole


def _cpus(value: Value) -> int | None:
    count = _number(value)
    return int(count) if 0 < count < 1e6 else None


def _word(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else (value or "").strip()


def _word_columns(section: SarSection, names: tuple[str, ...]) -> dict[str, str]:
    """The names that hold words, with the canonical columns of these: the item's, and labels."""
    columns: dict[str, str] = {}
    key = next(iter(section.key_tokens.values()), None)
    for name in names:
        if name in section.label_tokens:
            columns[name] = section.label_tokens[name]
        elif name in _LABELS and _LABELS[name] in section.label_tokens.values():
            columns[name] = _LABELS[name]
        elif section.name == "interrupts" and name == "cpu":
            columns[name] = "cpu"
        elif key is not None and name in _ITEMS.split():
            columns[name] = key
    return columns


def _token_of(section: SarSection, name: str) -> str | None:
    """sar's token for the name of a value, or None where the section has none like it."""
    bare = name.removesuffix("-percent").removeprefix("percent-")
    span = name.replace("_avg", "-").rstrip("-")
    pressure = f"%{span[:1]}{section.name.removeprefix('pressure ')[:3]}{span[4:]}"
    for token in (_SPECIAL.get(name, ""), name, f"{name}/s", f"kb{name}", f"%{bare}", pressure):
        if section.knows(token):
            return token
    return None
