"""iotop -b: which processes or threads read and write.

iotop 0.4 to 0.6 and iotop-c 1.x in batch mode: -o (active ones alone), -t (a clock in front), -k (kB), -P
(processes), -a (totals since iotop started, units without `/s`), -q (the header once). The first sample of a
run has nothing to compare with and is all zeros: it is left out where others follow. Of the sums above the
processes, Actual is what the disks did, and Total what all processes asked for: where a capture has no row of
a process, it stands for them, and where its last sample has none, that was cut off. Where the clock goes back
with all lines of a sample, another run begins, or the same one anew. A mail breaks rows in front of the
command, or in it. Rows that were copied without the lines above them are known by their shape.

With -o a task without a row did nothing. A sample that lists the first task of the system though that did
nothing is without -o, and one whose rows hold less than its Total is cut: in such a one a task without a row
is not known, and its means are of the samples that list it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from iodiag.formats import clock as _clock
from iodiag.formats.context._common import Values, fact, solid
from iodiag.formats.context._process_io import (
    Measure,
    Process,
    Row,
    facts_of,
    process_table,
    program,
    table_of,
)
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact
from iodiag.model.units import HUMAN_BYTES

_EXAMPLE = """\
Total DISK READ :       0.00 B/s | Total DISK WRITE :      12.50 M/s
Actual DISK READ:       0.00 B/s | Actual DISK WRITE:      10.75 M/s
    TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    COMMAND
   2871 be/4 mysql       0.00 B/s   12.50 M/s  0.00 % 91.20 % mysqld --defaults-file=/etc/my.cnf
"""
_CLOCK = r"\s*(?:(?P<clock>\d\d:\d\d:\d\d)\s+)?"
_AMOUNT = r"(?P<{0}>\d{{1,15}}(?:\.\d{{1,3}})?)\s(?P<{0}_unit>[BKMGTP])(?P<{0}_rate>/s)?"
_SHARE = r"(?:\d{1,4}\.\d\d|\?{1,3})"
_SUMMARY = (
    _CLOCK
    + r"(?P<scope>Total|Actual|Current) DISK READ\s?:\s+"
    + _AMOUNT.format("read")
    + r"\s+\|\s+(?:Total|Actual|Current) DISK WRITE\s?:\s+"
    + _AMOUNT.format("write")
    + r"\s*"
)
_HEADER = r"\s*(?:TIME\s+)?(?P<number>TID|PID)\s+PRIO\s+USER\s+DISK READ\s+DISK WRITE\s.{0,60}COMMAND\s*"
_ROW = (
    _CLOCK
    + r"(?P<number>\d{1,10})\s+(?P<priority>\S{1,8})\s+(?P<user>\S{1,40})\s+"
    + _AMOUNT.format("read")
    + r"\s+"
    + _AMOUNT.format("write")
    + rf"(?:\s+\?unavailable\?|\s+(?P<swapin>{_SHARE})\s%(?:\s+(?P<io>{_SHARE})\s%)?)?"
    + rf"(?:\s+(?P<command>(?!{_SHARE}\s%)\S.*))?\s*"
)
_LONE = (
    _CLOCK
    + r"\d{1,10}\s+(?:(?:be|rt)/\d|idle)\s+\S{1,40}\s+"
    + r"(?:\d{1,15}(?:\.\d{1,3})?\s[BKMGTP]/s\s+){2}"
    + rf"(?:{_SHARE}\s%\s+){{2}}(?!{_SHARE}\s%)\S"
)
"""A row that is iotop's whatever stands above it: a class of I/O, two rates with units, and two shares."""
_IO_CLASSES = "rt", "be", "idle"
"""Classes of priority for I/O, of which a scheduler that has any serves the former first."""
_DAMAGED = _CLOCK + r"\d{1,10}\s+(?:(?:be|rt)/\d|idle)\s"


@dataclass
class _Listing:
    """What the lines of a run hold: samples with the processes in each, who they are, what disks moved.

    Of a process in a sample: kB read and written, and in % of its time how long it waited, NaN if that is not
    shown. `asked` and `disks` are the sums Total and Actual of the samples. `ends` are the lines where the
    samples begin and their clocks, NaN without -t.
    """

    number_name: str = "tid"  # where -q leaves the header out: without -P they are threads
    is_rate: bool = True
    samples: list[dict[str, tuple[float, float, float]]] = field(default_factory=list)
    totals: list[tuple[float, float]] = field(default_factory=list)
    disks: list[tuple[float, float]] = field(default_factory=list)
    ends: list[tuple[int, float]] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    processes: dict[str, Process] = field(default_factory=dict)


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    listing = _Listing()
    used = 0
    is_moved = False  # of the Total above: what follows is of no sample that is known
    is_below_row = False
    for at, line in _rejoined(lines):
        text = line.text[:2000]
        summary, row = re.fullmatch(_SUMMARY, text), re.fullmatch(_ROW, text)
        is_total = summary is not None and summary["scope"] == "Total"
        if summary and is_total:
            is_moved = _is_moved(summary, lines[at : at + 1])
        is_back = _goes_back(listing, summary or row)
        if is_total and is_back and not is_moved:
            break
        if (row and not row["command"]) or ((summary or row) and (is_moved or is_back)):
            listing.unread.append(line.number)
        elif summary:
            _take_sums(listing, summary, line)
        elif row:
            _take(listing, row, line)
        elif header := re.fullmatch(_HEADER, text):
            listing.number_name = header["number"].lower()
        elif (listing.samples and re.match(_DAMAGED, text)) or (
            # the rest of a command that was broken
            is_below_row and _is_row(lines[at : at + 1])
        ):
            listing.unread.append(line.number)
        else:
            break
        used, is_below_row = at, row is not None
    return _block(listing, lines[:used], source) if used else None


def _block(listing: _Listing, lines: Sequence[Line], source: str) -> ContextBlock | None:
    used = len(lines)
    if not listing.samples:
        # a header above rows of another shape: that nobody read or wrote would be a number nobody printed
        return ContextBlock(used, unread=tuple(listing.unread), layout="iotop -b") if listing.unread else None
    if len(listing.samples) > 1 and listing.processes and not listing.samples[-1] and any(listing.totals[-1]):
        listing.unread.append(listing.ends[-1][0])
        del listing.samples[-1], listing.ends[-1], listing.totals[-1]
        del listing.disks[len(listing.samples) :]
    cut = _cut(listing)
    samples = _measured(listing, cut)
    processes = list(listing.processes.values())
    basis = _basis(samples) if listing.is_rate else "since iotop started"
    measure = Measure(samples, basis, lines[0], lines[used - 1], listing.is_rate, listing.number_name)
    if processes or not any(map(any, listing.totals)):
        facts = [*facts_of("iotop", processes, measure, source)]
    else:
        facts = [_of_all(listing, measure, source)]
    facts += _of_programs(listing, cut, measure, source)
    # under -a processes have totals, and the disks rates all the same
    if listing.disks and listing.totals:
        rates = measure._replace(is_rate=True, basis=_basis(samples))
        facts.append(_of_disks(listing, rates, source))
    tables = process_table(table_of(listing.rows), listing.ends, source, cut) if listing.is_rate else ()
    layout = "iotop, rows without the lines above them" if re.match(_LONE, lines[0].text) else "iotop -b"
    return ContextBlock(
        used, facts=tuple(facts), tables=tuple(tables), unread=tuple(listing.unread), layout=layout
    )


def _basis(samples: int) -> str:
    return f"mean of {samples} samples" if samples > 1 else "one sample"


def _rejoined(lines: Sequence[Line]) -> Iterator[tuple[int, Line]]:
    """The lines, each with how many are used up to it: a row without a command has the line below as that."""
    bare: tuple[int, Line] | None = None
    for at, line in solid(lines):
        is_between = bare is not None and at == bare[0] + 1 and _is_row(lines[at : at + 1])
        if bare is not None and is_between and not _is_known(line):
            yield at, Line(f"{bare[1].text} {line.text}", bare[1].number)
            bare = None
            continue
        if bare is not None:
            yield bare
        row = re.fullmatch(_ROW, line.text[:2000])
        bare = (at, line) if row and not row["command"] else None
        if bare is None:
            yield at, line
    if bare is not None:
        yield bare


def _is_known(line: Line) -> bool:
    """Whether a line is of a listing."""
    return any(re.fullmatch(pattern, line.text[:2000]) for pattern in (_SUMMARY, _HEADER, _ROW))


def _is_row(lines: Sequence[Line]) -> bool:
    """Whether the first of some lines is of a process: what stands between two such is of them, too."""
    return bool(len(lines)) and re.fullmatch(_ROW, lines[0].text[:2000]) is not None


def _of_disks(listing: _Listing, measure: Measure, source: str) -> Fact:
    """What the disks moved: iotop's line Actual, beside which Total is what processes asked for."""
    values: Values = {}
    said = []
    for whose, sums in (("disks", listing.disks), ("asked", listing.totals)):
        last = sums[-measure.samples :]
        read, wrote = (sum(moved) / len(last) for moved in zip(*last, strict=True))
        values |= {f"{whose}_{measure.column('read')}": round(read, 2)}
        values |= {f"{whose}_{measure.column('write')}": round(wrote, 2)}
        said += [measure.say(read), measure.say(wrote)]
    values["samples"] = measure.samples
    text = "the disks read {} and wrote {}, for {} and {} that processes asked for".format(*said)
    return fact("iotop", f"{text} ({measure.basis})", values, source, [measure.first, measure.last])


def _of_programs(listing: _Listing, cut: Collection[int], measure: Measure, source: str) -> Iterator[Fact]:
    """What the threads of one name moved together, and how many of them waited for I/O at a time."""
    named: dict[str, list[str]] = {}
    for key, process in listing.processes.items():
        if "io_pct" in process.extra:
            named.setdefault(process.name, []).append(key)
    for name, keys in named.items():
        if len(keys) < 2:
            continue
        all_of = [listing.processes[key] for key in keys]
        read, wrote, share, _ = _means(listing, keys, cut, measure.samples)
        waiting = share / 100
        values: Values = {"process": name, "threads": len(all_of), "waiting": round(waiting, 4)}
        values |= {measure.column("read"): round(read, 2), measure.column("write"): round(wrote, 2)}
        values["samples"] = measure.samples
        text = (
            f"{len(all_of)} threads of {{process}} read {measure.say(read)} and wrote {measure.say(wrote)}, "
        )
        text += f"and {waiting:.1f} of them waited for I/O at a time ({measure.basis})"
        classes = {one: [p for p in all_of if p.io_class == one] for one in _IO_CLASSES}
        if len(classes := {one: own for one, own in classes.items() if own}) > 1:
            for one, own in classes.items():
                values |= {f"{one}_threads": len(own), f"{one}_kb": round(sum(_moved(own)), 2)}
                text += f"; {len(own)} of I/O class {one} moved {measure.say(sum(_moved(own)))}"
        lines = sorted({line for p in all_of for line in (p.first, p.last)}, key=lambda line: line.number)
        yield fact("iotop-program", text, values, source, lines)


def _moved(processes: Sequence[Process]) -> tuple[float, float]:
    """What processes read and wrote together."""
    return sum(p.read_kb or 0.0 for p in processes), sum(p.write_kb or 0.0 for p in processes)


def _of_all(listing: _Listing, measure: Measure, source: str) -> Fact:
    """What the line Total says of all processes, where no row of one is left."""
    sums = listing.totals[-measure.samples :]
    read, wrote = (sum(moved) / len(sums) for moved in zip(*sums, strict=True))
    text = f"all processes read {measure.say(read)} and wrote {measure.say(wrote)} ({measure.basis})"
    values: Values = {measure.column("read"): round(read, 2), measure.column("write"): round(wrote, 2)}
    values["samples"] = measure.samples
    return fact("iotop", text, values, source, [measure.first, measure.last])


def _goes_back(listing: _Listing, found: re.Match[str] | None) -> bool:
    """Whether the clock that -t writes is before that of the last sums."""
    told = _clock.parse_time((found and found["clock"]) or "")
    if told is None or not listing.ends:
        return False
    return bool((told - listing.ends[-1][1]) % _clock.DAY_S > _clock.DAY_S / 2)


def _is_moved(total: re.Match[str], below: Sequence[Line]) -> bool:
    """Whether a Total stands above the other sums of another moment."""
    sums = re.fullmatch(_SUMMARY, below[0].text[:2000]) if len(below) else None
    return sums is not None and sums["scope"] != "Total" and sums["clock"] != total["clock"]


def _take_sums(listing: _Listing, summary: re.Match[str], line: Line) -> None:
    moved = _kb(summary, "read"), _kb(summary, "write")
    if summary["scope"] == "Total":
        listing.samples.append({})
        listing.totals.append(moved)
        seconds = _clock.parse_time(summary["clock"] or "")
        listing.ends.append((line.number, math.nan if seconds is None else seconds))
    else:
        listing.disks.append(moved)


def _take(listing: _Listing, row: re.Match[str], line: Line) -> None:
    listing.samples = listing.samples or [{}]
    name = program(row["command"])
    key = f"{row['number']} {name}"
    listing.is_rate = bool(row["write_rate"])
    process = listing.processes.setdefault(key, Process(name, row["number"], line, line))
    process.last, process.io_class = line, row["priority"].partition("/")[0]
    read, written = _kb(row, "read"), _kb(row, "write")
    # a row that stands twice counts once
    if listing.ends and key not in listing.samples[-1]:
        moved = {"read_kb_per_s": read, "write_kb_per_s": written}
        listing.rows.append(Row(line.number, len(listing.ends) - 1, row["number"], name, moved))
    share, swapin = (math.nan if (row[name] or "?").startswith("?") else float(row[name]) for name in _SHARES)
    listing.samples[-1][key] = read, written, share
    if row["io"] and swapin > 0:
        process.extra["swapin_pct"] = process.extra.get("swapin_pct", 0.0) + swapin


_SHARES = "io", "swapin"
"""Of its time: how long it waited for block I/O, and for pages that came back from swap."""


def _kb(row: re.Match[str], direction: str) -> float:
    return float(row[direction]) * HUMAN_BYTES[row[f"{direction}_unit"]] / 1024


def _cut(listing: _Listing) -> frozenset[int]:
    """The samples in which a task without a row is not known: those that list idle ones, or lack rows."""
    if not listing.is_rate:
        return frozenset()
    cut = {
        at
        for at, sample in enumerate(listing.samples)
        if any(key.startswith("1 ") and not any(done) for key, done in sample.items())
    }
    for at, (sample, total) in enumerate(zip(listing.samples, listing.totals, strict=False)):
        listed = sum(read + written for read, written, _ in sample.values())
        if sample and listed < _WHOLE * sum(total):
            cut.add(at)
    return frozenset(cut)


_WHOLE = 0.9
"""Share of its Total that the rows of a whole sample hold at least (judgement: rounding takes far less)."""


def _means(
    listing: _Listing, keys: Collection[str], cut: Collection[int], count: int
) -> tuple[float, float, float, int]:
    """What tasks did together on average over those of the last `count` samples in which they are known.

    kB read and written, in % how long they waited, and in how many samples they are known.
    """
    samples = list(enumerate(listing.samples))[-count:]
    known = [sample for at, sample in samples if at not in cut or any(key in sample for key in keys)]
    done = [sample[key] for sample in known for key in keys if key in sample]
    read, written, share = (sum(column) / max(1, len(known)) for column in zip(*done, strict=True))
    return read, written, share, len(known)


def _measured(listing: _Listing, cut: Collection[int]) -> int:
    """Give the processes their means over samples, or the last totals of -a; how many samples count."""
    samples = listing.samples
    if len(samples) > 1 and not any(map(any, samples[0].values())):
        samples = samples[1:]
    for key, process in listing.processes.items():
        moved = [sample[key] for sample in samples if key in sample]
        if moved and listing.is_rate:
            process.read_kb, process.write_kb, share, process.known = _means(
                listing, [key], cut, len(samples)
            )
            if share > 0:
                process.extra["io_pct"] = share
            if "swapin_pct" in process.extra:
                process.extra["swapin_pct"] /= process.known
        elif moved:
            process.read_kb, process.write_kb, _ = moved[-1]
    return len(samples)


FORMAT = ContextFormat(
    id="iotop",
    title="iotop -b: processes that read and write",
    example=_EXAMPLE,
    starts=re.compile(rf"^\s*(?:\d\d:\d\d:\d\d\s+)?Total DISK READ\s?:|^{_HEADER}$|^{_LONE}"),
    read=_read,
    releases="iotop 0.4 to 0.6, iotop-c 1",
    not_read="users and levels of priority",
)
