"""One load, written as any iostat layout and unit, or as counters of sadc: for tests that compare routes.

A load is what happened, in canonical units and unrounded; how it is printed is a Style.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from writers import sa_cases, sa_writer
from writers.captures import banner

Unit = Literal["sec", "kB", "MB"]
LayoutName = Literal["X1", "X2", "X3", "X4", "X5", "X6"]


@dataclass(frozen=True)
class Row:
    """One device in one sample: rates per second, kB per second, ms, requests; util is 0 to 1 or more."""

    reads: float = 0.0
    writes: float = 0.0
    read_kb: float = 0.0
    write_kb: float = 0.0
    read_ms: float = 0.0
    write_ms: float = 0.0
    read_merges: float = 0.0
    write_merges: float = 0.0
    flushes: float = 0.0
    flush_ms: float = 0.0
    util: float = 0.0
    depth: float | None = None
    discards: float = 0.0
    discard_kb: float = 0.0
    discard_ms: float = 0.0

    @property
    def in_flight(self) -> float:
        """Requests in flight, by Little's law where `depth` does not say otherwise."""
        if self.depth is not None:
            return self.depth
        waited = self.reads * self.read_ms + self.writes * self.write_ms + self.flushes * self.flush_ms
        return waited / 1000

    def slowed(self, factor: float) -> Row:
        """The same work with all times multiplied: latencies up, rates down, the queue as it was."""
        rates = ("reads", "writes", "read_kb", "write_kb", "read_merges", "write_merges", "flushes")
        times = ("read_ms", "write_ms", "flush_ms")
        changed = {name: getattr(self, name) / factor for name in rates}
        changed |= {name: getattr(self, name) * factor for name in times}
        return replace(self, **changed)


Cpu = tuple[float, float, float, float]
"""Shares in per cent: user, system, iowait, idle."""


@dataclass(frozen=True)
class Load:
    """Samples of `step` seconds, each the rows of its devices, with the CPU of each sample in turn.

    One entry of `cpus` holds for all samples; `start` is the second of the first day.
    """

    samples: Sequence[Mapping[str, Row]]
    step: int = 2
    cpus: Sequence[Cpu] = ((3.0, 4.0, 0.0, 93.0),)
    start: int = 13 * 3600

    def cpu(self, number: int) -> Cpu:
        return self.cpus[number % len(self.cpus)]

    def part(self, first: int, last: int) -> Load:
        """Samples `first` up to `last`, at their own times."""
        cpus = [self.cpu(number) for number in range(first, last)]
        start = self.start + first * self.step
        return replace(self, samples=self.samples[first:last], cpus=cpus, start=start)

    def slowed(self, factor: int) -> Load:
        samples = [{name: row.slowed(factor) for name, row in sample.items()} for sample in self.samples]
        return replace(self, samples=samples, step=self.step * factor)

    def renamed(self, names: Mapping[str, str]) -> Load:
        samples = [{names.get(n, n): row for n, row in sample.items()} for sample in self.samples]
        return replace(self, samples=samples)

    def beside(self, *idle: str) -> Load:
        """The same with devices that do nothing."""
        return replace(self, samples=[sample | {n: Row() for n in idle} for sample in self.samples])

    def with_util(self, factor: float) -> Load:
        """The same with util alone scaled, to 100 % at the most."""
        samples = [
            {n: replace(row, util=min(1.0, row.util * factor)) for n, row in sample.items()}
            for sample in self.samples
        ]
        return replace(self, samples=samples)


@dataclass(frozen=True)
class Style:
    """How iostat prints: layout, unit, decimal sign; `order` permutes the columns, `without` drops some."""

    layout: LayoutName = "X6"
    unit: Unit = "kB"
    comma: bool = False
    device_last: bool = False
    reverse: bool = False
    without: tuple[str, ...] = ()

    def columns(self) -> list[str]:
        names = [name for name in _LAYOUTS[self.layout].split() if name not in self.without]
        return names[::-1] if self.reverse else names


_LAYOUTS: Mapping[LayoutName, str] = {
    "X1": "rrqm/s wrqm/s r/s w/s rsec/s wsec/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util",
    "X2": "rrqm/s wrqm/s r/s w/s r{U}/s w{U}/s avgrq-sz avgqu-sz await svctm %util",
    "X3": "rrqm/s wrqm/s r/s w/s r{U}/s w{U}/s avgrq-sz avgqu-sz await r_await w_await svctm %util",
    "X4": "r/s w/s r{U}/s w{U}/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz "
    "svctm %util",
    "X5": "r/s r{U}/s rrqm/s %rrqm r_await rareq-sz w/s w{U}/s wrqm/s %wrqm w_await wareq-sz "
    "d/s d{U}/s drqm/s %drqm d_await dareq-sz aqu-sz %util",
    "X6": "r/s r{U}/s rrqm/s %rrqm r_await rareq-sz w/s w{U}/s wrqm/s %wrqm w_await wareq-sz "
    "d/s d{U}/s drqm/s %drqm d_await dareq-sz f/s f_await aqu-sz %util",
}
_DAY = datetime(2026, 11, 20)
_SCALE: Mapping[Unit, float] = {"sec": 2.0, "kB": 1.0, "MB": 1 / 1024}


def iostat(load: Load, style: Style | None = None, cpus: int = 2) -> str:
    """`iostat -x -t -y`: every report is a sample, none is since boot; a visible command says so."""
    style = style or Style()
    sign = "," if style.comma else "."
    parts = [f"$ iostat -x -t -y {load.step}\n", banner(cpus)]
    for number, sample in enumerate(load.samples):
        clock = _DAY + timedelta(seconds=load.start + (number + 1) * load.step)
        parts.append(f"{clock:%m/%d/%y %H:%M:%S}\n")
        user, system, iowait, idle = load.cpu(number)
        parts.append("avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n")
        cells = " ".join(f"{value:7.2f}" for value in (user, 0.0, system, iowait, 0.0, idle))
        parts.append(f"        {cells}\n\n".replace(".", sign))
        parts.append(_table(sample, style, sign))
    return "".join(parts)


def _table(sample: Mapping[str, Row], style: Style, sign: str) -> str:
    columns = style.columns()
    head = "Device" if style.layout in ("X4", "X5", "X6") else "Device:"
    width = max(len(name) for name in (*sample, head)) + 2
    names = [name.replace("{U}", style.unit) for name in columns]
    printed = [" ".join(f"{name:>10}" for name in names)]
    for row in sample.values():
        cells = cells_of(row, _SCALE[style.unit])
        printed.append(" ".join(f"{cells[name]:10.2f}" for name in columns).replace(".", sign))
    firsts = [head, *sample]
    if style.device_last:
        lines = [f"{cells} {first}" for first, cells in zip(firsts, printed, strict=True)]
    else:
        lines = [f"{first:<{width}}{cells}" for first, cells in zip(firsts, printed, strict=True)]
    return "\n".join(lines) + "\n\n"


def cells_of(row: Row, scale: float) -> dict[str, float]:
    ios = row.reads + row.writes
    moved = row.read_kb + row.write_kb
    waited = row.reads * row.read_ms + row.writes * row.write_ms
    cells = {"d/s": row.discards, "d{U}/s": row.discard_kb * scale, "drqm/s": 0.0, "%drqm": 0.0}
    cells |= {"d_await": row.discard_ms, "dareq-sz": _per(row.discard_kb, row.discards)}
    for letter, rate, kb, merges, wait in (
        ("r", row.reads, row.read_kb, row.read_merges, row.read_ms),
        ("w", row.writes, row.write_kb, row.write_merges, row.write_ms),
    ):
        cells[f"{letter}/s"] = rate
        cells[f"{letter}{{U}}/s"] = kb * scale
        cells[f"{letter}sec/s"], cells[f"{letter}kB/s"] = kb * 2, kb
        cells[f"{letter}rqm/s"] = merges
        cells[f"%{letter}rqm"] = _per(100 * merges, merges + rate)
        cells[f"{letter}_await"] = wait if rate else 0.0
        cells[f"{letter}areq-sz"] = _per(kb, rate)
    cells |= {"f/s": row.flushes, "f_await": row.flush_ms if row.flushes else 0.0}
    cells |= {"avgrq-sz": _per(2 * moved, ios), "await": _per(waited, ios)}
    cells |= {"avgqu-sz": row.in_flight, "aqu-sz": row.in_flight}
    return cells | {"svctm": _per(1000 * row.util, ios), "%util": 100 * row.util}


def _per(above: float, below: float) -> float:
    return above / below if below else 0.0


def sar(load: Load, minors: Mapping[str, tuple[int, int]]) -> bytes:
    """A file of sadc with the disks and the CPU of a load; `minors` has their device numbers.

    The counters grow in whole requests, sectors and ms, as the kernel's do.
    """
    totals: dict[str, dict[str, float]] = {}
    busy = [0.0, 0.0, 0.0, 0.0]
    records = []
    for number in range(len(load.samples) + 1):
        if number:
            for name, row in load.samples[number - 1].items():
                _add(totals.setdefault(name, dict.fromkeys(_COUNTERS, 0.0)), row, load.step)
            shares = load.cpu(number - 1)
            busy = [was + 2 * load.step * share for was, share in zip(busy, shares, strict=True)]
        disks = [
            _disk(minors[name], totals.get(name, dict.fromkeys(_COUNTERS, 0.0))) for name in load.samples[0]
        ]
        items = {sa_writer.DISK.id: disks, sa_writer.CPU.id: _cpus(busy)}
        records.append(sa_cases.record(number, items, step=load.step))
    return sa_writer.SaFile([sa_writer.CPU, sa_writer.DISK], records, host=b"box").write()


_COUNTERS = ("ios", "read", "write", "read_ms", "write_ms", "busy_ms", "queue_ms")


def _add(total: dict[str, float], row: Row, step: int) -> None:
    total["ios"] += (row.reads + row.writes) * step
    total["read"] += 2 * row.read_kb * step
    total["write"] += 2 * row.write_kb * step
    total["read_ms"] += row.reads * row.read_ms * step
    total["write_ms"] += row.writes * row.write_ms * step
    total["busy_ms"] += 1000 * row.util * step
    total["queue_ms"] += 1000 * row.in_flight * step


def _disk(number: tuple[int, int], total: Mapping[str, float]) -> sa_writer.Item:
    whole = {name: round(value) for name, value in total.items()}
    return sa_cases.item(sa_writer.DISK, **{"major": number[0], "minor": number[1], **whole})


def _cpus(ticks: Sequence[float]) -> list[sa_writer.Item]:
    """The line of all CPUs, then two that share its ticks."""
    names = ("user", "system", "iowait", "idle")
    whole = dict(zip(names, (round(value) for value in ticks), strict=True))
    half = {name: value // 2 for name, value in whole.items()}
    return [sa_cases.item(sa_writer.CPU, **values) for values in (whole, half, half)]
