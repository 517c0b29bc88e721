"""What listings of processes have in common: who read and wrote the most, as facts."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.context._common import Values, fact
from iodiag.formats.front_columns import columns_of, front_columns
from iodiag.formats.types import Line
from iodiag.model.capture import Fact, SampleTable
from iodiag.model.columns import find
from iodiag.table.table import Column, Table, stacked_all_columns
from iodiag.table.texts import Texts
from iodiag.table.times import Times

BUSY_PCT = 75.0
"""Share of one CPU from which a task is one of several of its name that use whole CPUs."""

_TOP = 5
_LONGEST_NAME = 15
_WORDS = ("pid", "tid", "process", "user", "policy")


@dataclass
class Process:
    """One process (or thread) and what it moved: sums over samples, None where it may not be known.

    `io_class` is that of its priority for I/O (rt, be, idle), empty where it is not shown. `known` is in how
    many samples it is known what it did, 0 if in all.
    """

    name: str
    number: str
    first: Line
    last: Line
    read_kb: float | None = None
    write_kb: float | None = None
    extra: dict[str, float] = field(default_factory=dict)
    io_class: str = ""
    known: int = 0

    def add(self, line: Line, read_kb: float | None, write_kb: float | None, delay: float | None) -> None:
        """Count one more sample of it; `delay` is in clock ticks."""
        self.last = line
        if read_kb is not None:
            self.read_kb = (self.read_kb or 0.0) + read_kb
        if write_kb is not None:
            self.write_kb = (self.write_kb or 0.0) + write_kb
        if delay:
            self.extra["io_delay_ticks"] = self.extra.get("io_delay_ticks", 0.0) + delay
            self.extra["most_io_delay_ticks"] = max(self.extra.get("most_io_delay_ticks", 0.0), delay)


class Measure(NamedTuple):
    """How the numbers are to be taken: means of so many samples, or totals; between which lines.

    `basis` says the same in words, for sentences.
    """

    samples: int
    basis: str
    first: Line
    last: Line
    is_rate: bool = True
    number_name: str = "pid"
    interval_s: float = math.nan

    def column(self, direction: str) -> str:
        return f"{direction}_kb_per_s" if self.is_rate else f"{direction}_kb"

    def say(self, value: float) -> str:
        return f"{value:.{0 if value >= 100 else 1}f} kB{'/s' if self.is_rate else ''}"


class Row(NamedTuple):
    """What a process did in one sample, counted from 0: numbers by column."""

    line: int
    sample: int
    pid: str
    process: str
    numbers: dict[str, float]


def table_of(rows: Sequence[Row]) -> Table:
    """Rows as a table."""
    data: dict[str, Column] = {
        "line": np.array([row.line for row in rows], dtype=np.int64),
        "sample": np.array([row.sample for row in rows], dtype=np.int64),
        "pid": Texts.of(row.pid for row in rows),
        "process": Texts.of(row.process for row in rows),
    }
    return Table.of_columns(data | columns_of([row.numbers for row in rows]), len(rows))


def process_table(
    rows: Table, ends: Sequence[tuple[int, float]], source: str, unsummed: Collection[int] = ()
) -> Iterator[SampleTable]:
    """The samples of processes as a table; none where they have no clock.

    Each has a row of the sums over all processes (pid `all`), where none of them did anything, too, but not
    the `unsummed`, of which not all is known. What threads do, rows without a pid, their processes do, too.
    `ends` are the lines where the samples begin, and when each ends: in seconds since 1970, or of a day whose
    date the tool does not print.
    """
    clocks = np.array([end for _, end in ends], dtype=np.float64)
    if not len(rows) or np.isnan(clocks).any():
        return
    is_dated = bool((clocks >= 2 * _clock.DAY_S).all())
    clocks = clocks if is_dated else _clock.unroll_midnight(clocks)
    everything = stacked_all_columns([rows, _sums(rows, ends, unsummed)])
    sample = everything["sample"]
    shown = clocks[sample]
    times = Times.of(shown if is_dated else np.full(len(shown), np.nan), is_moment=is_dated)
    lengths = np.diff(clocks, prepend=np.nan)[sample]
    data = front_columns(source, everything["line"], "", times, lengths, report=sample)
    data |= _known_of(everything)
    data["clock_s"] = np.where(is_dated, np.nan, shown)
    yield SampleTable("process", Table.of_columns(data, len(everything)))


def averages_table(rows: Table, source: str) -> Iterator[SampleTable]:
    """The averages that a tool prints of each process."""
    if len(rows):
        times = Times.of(np.full(len(rows), np.nan), is_moment=False)
        data = front_columns(source, rows["line"], "", times) | _known_of(rows)
        yield SampleTable("process", Table.of_columns(data, len(rows)), is_average=True)


def _known_of(rows: Table) -> dict[str, Column]:
    """The columns of words, and those of numbers of which any is known."""
    return {
        name: rows[name] for name in rows.names if name in _WORDS or (_is_number(name) and rows.has(name))
    }


def _is_number(name: str) -> bool:
    return find("process", name) is not None


def _sums(rows: Table, ends: Sequence[tuple[int, float]], unsummed: Collection[int]) -> Table:
    """A row of what all processes did together in each sample; sizes and the like do not add up."""
    own = rows[~rows["pid"].is_missing()]
    at = np.array([place for place in range(len(ends)) if place not in unsummed], dtype=np.int64)
    data: dict[str, Column] = {
        name: np.bincount(own["sample"], np.nan_to_num(own.floats(name)), len(ends))[at]
        for name in own.names
        if _is_number(name) and name.endswith(("_per_s", "_pct")) and name != "memory_pct"
    }
    data |= {"line": np.array([line for line, _ in ends], dtype=np.int64)[at], "sample": at}
    data |= {"pid": Texts.same("all", len(at)), "process": Texts.same("", len(at))}
    return Table.of_columns(data, len(at))


def facts_of(kind: str, processes: Sequence[Process], measure: Measure, source: str) -> Iterator[Fact]:
    """The sum of all, then the five each that read most, wrote most and waited longest, a fact each.

    The sum has the length of a sample, `interval_s`, where that is known. A fact's values are `process`, its
    number, kB (per second) of each direction that is known, and `read_rank` and `write_rank` from 1 for the
    most; `alike` is how many have that name, where several do, beside what these moved in all.
    """
    totals = {measure.column(way): round(_in_all(processes, way, measure), 2) for way in ("read", "write")}
    who = f"{len(processes)} process{'es' if len(processes) != 1 else ''}"
    read, wrote = map(measure.say, totals.values())
    counted: Values = {"processes": len(processes), "samples": measure.samples}
    if not math.isnan(measure.interval_s):
        counted["interval_s"] = measure.interval_s
    text = f"{who} read {read} and wrote {wrote} in all ({measure.basis})"
    if hidden := sum(process.read_kb is None and process.write_kb is None for process in processes):
        text += f"; what {hidden} of them moved may not be seen"
    yield fact(kind, text, {**totals, **counted}, source, [measure.first, measure.last])
    named: dict[str, list[Process]] = {}
    for process in processes:
        named.setdefault(process.name, []).append(process)
    ranks = {direction: _ranks(processes, direction) for direction in ("read", "write")}
    late = [n for n, process in enumerate(processes) if process.extra]
    late.sort(key=lambda n: -max(processes[n].extra.values()))
    for number in sorted(
        {*ranks["read"], *ranks["write"], *late[:_TOP]}, key=lambda n: -_moved(processes[n])
    ):
        one = processes[number]
        also: Values = {f"{way}_rank": of[number] for way, of in ranks.items() if number in of}
        yield _fact(kind, one, measure, also | _together(named[one.name], measure), source)


def _together(processes: Sequence[Process], measure: Measure) -> Values:
    """How many processes have one name, and what they moved in all, with those that no fact is of."""
    values: Values = {"alike": len(processes)}
    for way in ("read", "write"):
        values[f"alike_{measure.column(way)}"] = round(_in_all(processes, way, measure), 2)
    return values if len(processes) > 1 else {}


def _in_all(processes: Sequence[Process], way: str, measure: Measure) -> float:
    """What processes moved together in one direction, "read" or "write", by their rows in all samples."""
    moved = ((one, getattr(one, f"{way}_kb") or 0.0) for one in processes)
    return float(sum(kb * (one.known or measure.samples) / measure.samples for one, kb in moved))


def _moved(process: Process) -> float:
    return (process.read_kb or 0.0) + (process.write_kb or 0.0)


def _ranks(processes: Sequence[Process], direction: str) -> dict[int, int]:
    """The places of the processes that moved most in one direction, and their ranks."""
    moved = {n: (p.read_kb if direction == "read" else p.write_kb) or 0.0 for n, p in enumerate(processes)}
    order = sorted((n for n in moved if moved[n] > 0), key=lambda n: -moved[n])[:_TOP]
    return {n: rank for rank, n in enumerate(order, 1)}


def _fact(kind: str, process: Process, measure: Measure, also: Values, source: str) -> Fact:
    values: Values = {"process": process.name, measure.number_name: process.number}
    said = []
    for direction, verb, moved in (("read", "read", process.read_kb), ("write", "wrote", process.write_kb)):
        if moved is not None:
            values[measure.column(direction)] = round(moved, 2)
            said.append(f"{verb} {measure.say(moved)}")
    values |= also | {name: round(value, 2) for name, value in process.extra.items()}
    text = f"{{process}} ({measure.number_name} {process.number}) {' and '.join(said)}"
    if "io_pct" in values:
        text += f", and waited for I/O {process.extra['io_pct']:.1f} % of its time"
    samples, basis = measure.samples, measure.basis
    if 0 < process.known < samples:
        values["of_samples"], basis = samples, f"the {process.known} of {samples} samples that list it"
        samples = process.known
    return fact(
        kind, f"{text} ({basis})", {**values, "samples": samples}, source, [process.first, process.last]
    )


def program(command: str, *, has_arguments: bool = False) -> str:
    """The name of a command: all of a kernel's or a short one, else its program without arguments.

    What follows a program may be a secret and is not kept. In a listing that shows names for the most part a
    short one with a blank is a name; `has_arguments` tells that it is not.
    """
    command = command.strip().removeprefix("|__")
    has_arguments = has_arguments or bool(re.search(r"\s[-/\[]", command))
    if command.startswith("[") or (len(command) <= _LONGEST_NAME and not has_arguments):
        return command[:80]
    first = command.split()[0]
    bare = first.rsplit("/", 1)[-1] if first.startswith(("/", "./")) else first
    return (bare or first).rstrip(":")[:80]
