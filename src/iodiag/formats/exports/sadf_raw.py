"""sadf -r: raw counters before and after every sample, of sysstat 11.5.4 to 12.7.

Two shapes: `12:24:44 UTC DEV:vda tps:1408358>1476337 …` up to 11.6, later the same with semicolons.
There is a time of day and no date, no interval and no host; in debugging output (-O debug) lines
with `#` tell the date. Marks of that mode ([NEW], [BCK], [DEC], [OFF]) stand behind names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.exports._sadf_tables import NAMES, Export, Part, parse_number, tables
from iodiag.formats.raw_columns.sar import SECTIONS, find_section
from iodiag.formats.raw_columns.sar_section import SarSection
from iodiag.formats.text.structure.blocks import CLASS, Classes
from iodiag.formats.types import FileFormat, Item
from iodiag.formats.whole_files import account, line_starts, undress, unseen
from iodiag.model.capture import Source
from iodiag.model.units import KB_PER_BYTE, KB_PER_SECTOR
from iodiag.table.table import Floats, Ints
from iodiag.table.texts import Texts

_EXAMPLE = """\
12:24:44 UTC; tps; 505134; 511372; rtps; 296; 297; wtps; 208; 214; bread/s; 816; 820; bwrtn/s; 4; 8;
12:24:45 UTC; tps; 511372; 518855; rtps; 297; 298; wtps; 214; 221; bread/s; 820; 826; bwrtn/s; 8; 8;
"""

_ID = "sadf-raw"
_TIME = r"(\d\d:\d\d:\d\d(?: [AP]M)?)(?: [A-Z][A-Za-z+-]{1,9})?"
_LINE = re.compile(rf"{_TIME}(?:;|[ \t](?=[^\s:;]+:|\s*LINUX-RESTART|\s*COM))\s*(.*)")
_MARK = re.compile(r" \[[A-Z]{3}\]")
_PAIR = re.compile(r"([^\s:]{1,200}):([^\s>]{1,200})(?:>(\S{1,200}))?")
_RESTART = re.compile(r"LINUX-RESTART(?:\s+\((\d{1,6}) CPU\))?")
_DEBUG = re.compile(r"#.*\bust_time; (\d{9,10});")
_OF_FILESYSTEM = ("f_blocks", "f_bfree", "f_bavail", "f_files", "Ifree")
"""Sizes in bytes and numbers of files, in order: all, free, free for users, all, free."""

_EXTRA = (
    *("rd_ticks", "wr_ticks", "dc_ticks", "tot_ticks", "major", "minor", "speed", "duplex"),
    *_OF_FILESYSTEM[:-1],
)
"""Labels that no section of sar has."""

_RAW_UNITS = {
    **dict.fromkeys(("rkB/s", "wkB/s", "dkB/s"), KB_PER_SECTOR),
    **dict.fromkeys(("rxkB/s", "txkB/s"), KB_PER_BYTE),
    **dict.fromkeys(("ldavg-1", "ldavg-5", "ldavg-15", "MHz"), 0.01),
}
"""What a raw number is multiplied by to be in the unit of its label."""

_SECTORS = ("rkB/s", "wkB/s", "dkB/s", "rd_sec/s", "wr_sec/s")
_TICKS = ("rd_ticks", "wr_ticks", "dc_ticks")

_WORD_LABELS = frozenset(word for s in SECTIONS for word in (*s.key_tokens, *s.label_tokens))
_MOST_LAYOUTS = 1000
_FEWEST_SEPARATORS = 3


@dataclass
class _Rows:
    """Lines of one section with the same labels."""

    section: SarSection
    labels: tuple[str, ...]
    lines: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    epochs: list[float] = field(default_factory=list)
    segment: list[int] = field(default_factory=list)
    words: dict[str, list[str]] = field(default_factory=dict)
    before: list[list[float]] = field(default_factory=list)
    after: list[list[float]] = field(default_factory=list)


@dataclass
class _State:
    """What was read so far, and where in the file that was."""

    classes: Classes
    reasons: dict[int, str] = field(default_factory=dict)
    rows: dict[tuple[str, ...], _Rows] = field(default_factory=dict)
    segment: int = 0
    cpus: dict[int, int] = field(default_factory=dict)
    epoch: float = float("nan")

    def refuse(self, line: int, reason: str) -> None:
        self.classes[line] = CLASS["unread"]
        self.reasons[line] = reason


def read(source: Source) -> Iterator[Item]:
    """Tables, a Section per start of the host, and notes. `time` is NaT where no line tells the date."""
    data = undress(source.data)
    state = _State(unseen(len(line_starts(data))))
    is_cut = data[-1:].isdigit()
    for number_, raw in enumerate(data.split(b"\n")):
        text = raw.decode("utf-8", "replace").strip()
        if debug := _DEBUG.match(text):
            state.epoch = float(debug[1])
        if text.startswith("# "):
            state.classes[number_] = CLASS["header"]
        elif (match := _LINE.fullmatch(text)) and is_cut and number_ == len(state.classes) - 1:
            state.refuse(number_, "the input ends within this line: its last counter may be cut off")
        elif match and ";" in match[2] and not text.endswith(";"):
            state.refuse(number_, "this line ends within a counter: all others end with a semicolon")
        elif match:
            _take(state, number_, match[1], match[2])
        elif text.count(";") >= _FEWEST_SEPARATORS or len(_PAIR.findall(text[:2000])) >= _FEWEST_SEPARATORS:
            state.refuse(number_, "a row whose time is damaged")
    _refuse_cut_rows(state)
    for rows in state.rows.values():
        _refuse_damaged_rows(state, rows)
    yield from tables(_export(source, state))
    yield from account(source, state.classes, state.reasons)


def _refuse_cut_rows(state: _State) -> None:
    """Leave out rows that end before others of their section do: the last counter may be cut as well."""
    for key, rows in list(state.rows.items()):
        for other, others in state.rows.items():
            is_shorter = key[0] == other[0] and len(key) < len(other) and key == other[: len(key)]
            if is_shorter and 0 < len(rows.lines) <= len(others.lines):
                for line in rows.lines:
                    state.refuse(line - 1, "a row that is cut off: others of its section go on")
                del state.rows[key]
                break


def _refuse_damaged_rows(state: _State, rows: _Rows) -> None:
    """Leave out two rows of which one counter alone does not begin in the second where it ended in the first.

    One of them is damaged, and nothing tells which. Where a row is missing between, all counters that move
    differ.
    """
    items = list(zip(rows.segment, *rows.words.values(), strict=True))
    last: dict[tuple[object, ...], int] = {}
    bad: set[int] = set()
    for at, item in enumerate(items):
        counted = [pair for pair in zip(rows.before[at], rows.after[at], strict=True) if pair[0] == pair[0]]
        falls = [end < begin for begin, end in counted]
        if any(falls) and not all(falls):
            state.reasons[rows.lines[at] - 1] = "a counter fell within this sample: its rate is left out"
        if (above := last.get(item)) is not None:
            ended = zip(rows.after[above], rows.before[at], strict=True)
            breaks = sum(end != begin for end, begin in ended if begin == begin)
            if breaks == 1 < sum(begin != end for begin, end in counted):
                bad |= {above, at}
        last[item] = at
    for at in sorted(bad):
        state.refuse(rows.lines[at] - 1, "a counter does not go on from one row to the next: one is damaged")
    columns: tuple[list[Any], ...] = (
        rows.lines,
        rows.seconds,
        rows.epochs,
        rows.segment,
        rows.before,
        rows.after,
    )
    for column in (*columns, *rows.words.values()):
        column[:] = [cell for at, cell in enumerate(column) if at not in bad]


def _recognise(head: bytes) -> bool:
    lines = (_LINE.fullmatch(line.strip()) for line in head.decode("utf-8", "replace").split("\n"))
    behind = (_members(match[2]) or {} for match in lines if match)
    known = (find_section([name for name in members if name not in _EXTRA]) for members in behind)
    return sum(section is not None for section in known) > 1


def _take(state: _State, line: int, time: str, rest: str) -> None:
    """Add one line behind its time."""
    if restart := _RESTART.match(rest):
        state.classes[line] = CLASS["banner"]
        state.segment += 1
        if restart[1]:
            state.cpus[state.segment] = int(restart[1])
        return
    if rest.startswith("COM "):
        state.classes[line] = CLASS["banner"]
        return
    members = _members(rest)
    labels = [name for name in members or {} if name not in _EXTRA]
    if members is not None and not labels:
        state.classes[line] = CLASS["clock"]  # a slot without a device
        return
    section = find_section(labels) if members else None
    seconds = _clock.parse_time(time)
    if members is None or section is None or seconds is None:
        state.refuse(line, "no counters that are known")
        return
    key = (section.name, *members)
    if key not in state.rows and len(state.rows) == _MOST_LAYOUTS:
        state.refuse(line, "too many different rows")
        return
    numeric = tuple(name for name in members if name not in _WORD_LABELS)
    rows = state.rows.setdefault(key, _Rows(section, numeric))
    values = [[parse_number(word, True) for word in members[name]] for name in numeric]
    if any(value is None or not 1 <= len(own) <= 2 for own in values for value in own or [None]):
        state.refuse(line, "a counter is no number")
        return
    columns = {**section.key_tokens, **section.label_tokens}
    for name in members:
        if name in _WORD_LABELS and name in columns:
            rows.words.setdefault(columns[name], []).append(members[name][0].strip('"'))
    rows.before.append([float("nan") if len(own) == 1 else own[0] or 0.0 for own in values])
    rows.after.append([own[-1] or 0.0 for own in values])
    rows.lines.append(line + 1)
    rows.seconds.append(seconds)
    rows.epochs.append(state.epoch)
    rows.segment.append(state.segment)
    state.classes[line] = CLASS["row"]


def _members(rest: str) -> dict[str, Sequence[str]] | None:
    """The labels of a line with what stands behind each; None where the line is neither shape."""
    if ";" not in rest:
        pairs = [_PAIR.fullmatch(word) for word in rest.split()]
        found = [(pair[1], pair[2], pair[3]) for pair in pairs if pair]
        if len(found) < len(pairs):
            return None
        return {name: (first, second) if second else (first,) for name, first, second in found}
    members: dict[str, list[str]] = {}
    label = ""
    for field_ in (part.strip() for part in rest.rstrip("; ").split(";")):
        is_word = label in _WORD_LABELS and not members[label]
        if not is_word and parse_number(field_, True) is None:
            label = _MARK.sub("", field_)
            members[label] = []
        elif label:
            members[label].append(field_)
        else:
            return None
    return dict(members) if all(members.values()) else None


def _export(source: Source, state: _State) -> Export:
    """All rows as parts of tables, rates computed from the clocks' differences."""
    found = [rows for rows in state.rows.values() if rows.lines]
    is_dated = bool(found) and all(epoch == epoch for rows in found for epoch in rows.epochs)
    ends = [np.array(rows.epochs if is_dated else rows.seconds) for rows in found]
    lengths = _lengths(found, ends, is_dated)
    parts = []
    for rows, own_ends, own_lengths in zip(found, ends, lengths, strict=True):
        before, after = np.array(rows.before), np.array(rows.after)
        tokens, numbers = _rates(rows.section, rows.labels, before, after, own_lengths)
        words = {name: _named(name, column) for name, column in rows.words.items()}
        parts.append(
            Part(
                section=rows.section,
                tokens=tokens,
                lines=np.array(rows.lines, dtype=np.int64),
                hosts=Texts.same("", len(rows.lines)),
                seconds=own_ends,
                interval=own_lengths,
                segment=np.array(rows.segment, dtype=np.int64),
                numbers=numbers,
                words=words,
            )
        )
    return Export(source.name, _ID, parts, is_aware=is_dated, is_dated=is_dated, cpus=state.cpus)


def _lengths(found: Sequence[_Rows], ends: list[Floats], is_dated: bool) -> list[Floats]:
    """The length of every row's sample. Clocks without a date go on through midnight (in place)."""
    segments = [np.array(rows.segment, dtype=np.int64) for rows in found]
    lengths = [np.full(len(own), np.nan) for own in ends]
    for number_ in np.unique(np.concatenate([np.empty(0, np.int64), *segments])).tolist():
        inside: list[Ints] = [np.flatnonzero(own == number_) for own in segments]
        if not is_dated:
            for own, places in zip(ends, inside, strict=True):
                own[places] = _clock.unroll_midnight(own[places])
        times = np.unique(np.concatenate([own[places] for own, places in zip(ends, inside, strict=True)]))
        steps = _clock.interval_lengths(times, None)
        known = steps[~np.isnan(steps)]
        steps[0] = np.median(known) if len(known) else np.nan
        for own, own_lengths, places in zip(ends, lengths, inside, strict=True):
            own_lengths[places] = steps[np.searchsorted(times, own[places])]
    return lengths


def _named(name: str, words: Sequence[str]) -> Texts:
    """A column of words as sar's text has them."""
    called = NAMES.get(name, {})
    return Texts.of(called.get(word.strip(), word.strip()) for word in words)


def _rates(
    section: SarSection, labels: Sequence[str], before: Floats, after: Floats, seconds: Floats
) -> tuple[tuple[str, ...], Floats]:
    """sar's tokens and their values (rows x tokens), by the arithmetic of sar itself.

    The labels are sar's, the numbers the kernel's: sectors under rkB/s, bytes under rxkB/s, hundredths
    under ldavg-1. `before` is NaN for gauges. A counter that went backwards gives NaN, as nothing is known
    then.
    """
    change = after - before
    change[change < 0] = np.nan
    if section.name == "cpu":
        # a share of the ticks that all states together took: no clock is needed
        steps = np.where(np.isnan(change), 0.0, change)
        with np.errstate(invalid="ignore", divide="ignore"):
            return tuple(labels), steps / steps.sum(axis=1, keepdims=True) * 100
    columns: dict[str, Floats] = {}
    per_second = {label: change[:, place] / seconds for place, label in enumerate(labels)}
    for place, label in enumerate(labels):
        is_gauge = np.isnan(before[:, place]).all()
        if section.knows(label) and label not in ("aqu-sz", "avgqu-sz"):
            factor = _RAW_UNITS.get(label, 1.0)
            if section.family == "pressure":
                # hundredths of a per cent, or microseconds out of the whole interval
                columns[label] = after[:, place] / 100 if is_gauge else per_second[label] / 1e4
            else:
                columns[label] = (after[:, place] if is_gauge else per_second[label]) * factor
    if section.name == "disk":
        columns |= _disk(labels, change, per_second)
    if section.name == "filesystem":
        columns |= _filesystem(labels, after)
    return tuple(columns), np.stack(list(columns.values()), axis=1) if columns else np.empty((len(after), 0))


def _disk(labels: Sequence[str], change: Floats, per_second: dict[str, Floats]) -> dict[str, Floats]:
    """What sar computes from several counters of a disk; 0 where it made no request, as sar has it."""
    at = {label: place for place, label in enumerate(labels)}
    columns: dict[str, Floats] = {}
    for label in ("aqu-sz", "avgqu-sz"):
        if label in at:
            columns[label] = per_second[label] / 1000
    if "tot_ticks" in at:
        columns["%util"] = per_second["tot_ticks"] / 10
    if "tps" not in at:
        return columns
    requests = change[:, at["tps"]]

    def per_request(names: Sequence[str]) -> Floats:
        total = sum((change[:, at[name]] for name in names), start=np.zeros(len(requests)))
        with np.errstate(invalid="ignore", divide="ignore"):
            result: Floats = np.where(requests == 0, 0.0, total / requests)
        return result

    columns["areq-sz"] = per_request([name for name in _SECTORS if name in at]) * KB_PER_SECTOR
    ticks = [name for name in _TICKS if name in at]
    if ticks:
        columns["await"] = per_request(ticks)
    if "tot_ticks" in at and "dkB/s" not in at:
        columns["svctm"] = per_request(["tot_ticks"])  # gone from sar with 12.1.2, which brought discards
    return columns


def _filesystem(labels: Sequence[str], counts: Floats) -> dict[str, Floats]:
    """What sar computes from the counts of a file system, where none of them was lost."""
    if not set(_OF_FILESYSTEM) <= set(labels):
        return {}
    blocks, free, available, files, inodes = (counts[:, labels.index(label)] for label in _OF_FILESYSTEM)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "MBfsfree": free / 1024**2,
            "MBfsused": (blocks - free) / 1024**2,
            "%fsused": (blocks - free) / blocks * 100,
            "%ufsused": (blocks - available) / blocks * 100,
            "Iused": files - inodes,
            "%Iused": (files - inodes) / files * 100,
        }


FORMAT = FileFormat(
    id=_ID,
    title="sadf -r",
    example=_EXAMPLE,
    recognise=_recognise,
    read=read,
    releases="sysstat 11.5.4 to 12.7",
    not_read="the date: it is not printed; latencies up to 12.0.3, whose ticks are not printed",
)
