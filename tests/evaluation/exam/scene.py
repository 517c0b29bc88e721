"""One host under load, and how it is captured: what a mechanism builds, and what a tool then prints of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np

from evaluation.exam import counters
from evaluation.exam.devices import KINDS
from evaluation.exam.engine import Clock, Device, Done, Log, Request, Submit, delay, parity, stripe, through
from evaluation.exam.loads import at_random, opened
from evaluation.simulator import Floats
from writers.capture_writer import Row

MOST_REQUESTS = 800
"""Requests simulated per sample; where more are expected, a sample is simulated by its first part."""

MOST_BUSY = 0.7
"""What is busier is no healthy case."""

STEPS = (1, 1, 2, 2, 5, 5, 10, 30)
OLD_LAYOUTS, NEW_LAYOUTS = ("X1", "X2", "X3", "X4", "sar 9", "sar 11"), ("X5", "X6", "X6", "sar 12")


@dataclass
class Printing:
    """What is asked of the tools, and what of their output is posted."""

    layout: str
    unit: str
    has_cpu: bool
    has_clock: bool
    has_banner: bool
    has_first: bool
    has_vmstat: bool
    has_paging: bool
    has_lsblk: bool
    has_mdstat: bool
    is_quoted: bool
    is_since_boot_only: bool = False
    has_disks: bool = True
    kernel: str = ""
    """The release in the banner; that of the layout's time where it is empty."""

    @property
    def is_mixed(self) -> bool:
        """Whether it prints one latency for reads and writes."""
        return self.layout in ("X1", "X2", "sar 9", "sar 11", "sar 12")

    @classmethod
    def drawn(cls, rng: Random) -> Printing:
        layout = rng.choice(rng.choice((OLD_LAYOUTS, NEW_LAYOUTS)))
        has_first = rng.random() < 0.4
        return cls(
            layout=layout,
            unit=rng.choice(("sec", "kB", "MB") if layout in ("X2", "X3") else ("kB", "kB", "MB")),
            has_cpu=rng.random() < 0.7,
            has_clock=rng.random() < 0.4,
            has_banner=rng.random() < (0.8 if has_first else 0.4),
            has_first=has_first,
            has_vmstat=rng.random() < 0.15,
            has_paging=False,
            has_lsblk=rng.random() < 0.3,
            has_mdstat=rng.random() < 0.3,
            is_quoted=rng.random() < 0.08,
        )


@dataclass(frozen=True)
class Layer:
    """A device on others: its type as lsblk prints it, and what it stands on."""

    kind: str
    members: tuple[str, ...]


@dataclass(frozen=True)
class Memory:
    """As vmstat prints it, in kB; `swap` names the device that is swapped to."""

    free: int = 2_400_000
    buffers: int = 180_000
    cache: int = 5_200_000
    swapped: int = 0
    swap: str = ""
    major_faults_per_io: float = 0.0


@dataclass(frozen=True)
class Sample:
    """Rows of devices, CPU shares in per cent, and the host's tasks and paging."""

    rows: dict[str, Row]
    cpu: dict[str, float]
    blocked: int
    runnable: int
    swap: Row


@dataclass
class Scene:
    """A host that a mechanism furnishes; `samples` of `step` seconds are captured of it."""

    rng: Random
    samples: int
    step: int
    printing: Printing
    clock: Clock = field(default_factory=Clock)
    devices: dict[str, Device] = field(default_factory=dict)
    layers: dict[str, Layer] = field(default_factory=dict)
    spins: dict[str, bool] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    waiters: Log = field(default_factory=Log)
    memory: Memory = Memory()
    user: float = 6.0
    system: float = 3.0
    steal: float = 0.0
    cpus: int = 4
    runnable: float | None = None
    window: float = 1.0
    start: int = 13 * 3600
    """The second of the day at which the capture begins."""

    has_waiters: bool = True
    """Whether anybody waits for the I/O."""

    cached: Callable[[int], float] | None = None
    """The page cache in kB after so many samples, where it grows or shrinks."""

    beside: list[Callable[[Sequence[Sample]], str]] = field(default_factory=list)
    """What else is posted, made when the samples are there."""

    before: Scene | None = None
    """The same host at another time, captured first and posted above."""

    @classmethod
    def drawn(cls, rng: Random, samples: int) -> Scene:
        scene = cls(rng, samples, rng.choice(STEPS), Printing.drawn(rng))
        scene.cpus = rng.choice((1, 2, 4, 4, 8, 16, 32))
        scene.user, scene.system = rng.uniform(0.5, 18), rng.uniform(0.5, 8)
        scene.window = float(scene.step)
        return scene

    def earlier(self) -> Scene:
        """The same host two hours before, captured in the same way and posted above; without its devices."""
        for name in ("has_vmstat", "has_lsblk", "has_mdstat", "has_banner", "has_first"):
            setattr(self.printing, name, False)
        self.before = Scene(self.rng, self.samples, self.step, self.printing, start=self.start - 7200)
        for name in ("cpus", "user", "system", "window"):
            setattr(self.before, name, getattr(self, name))
        return self.before

    @property
    def is_modern(self) -> bool:
        """Whether the kernel counts as those from 5.0 on do."""
        return self.printing.layout in NEW_LAYOUTS

    @property
    def first_second(self) -> int:
        """The second of the day at which the first sample begins: `start`, where a report precedes it."""
        has_before = self.printing.has_first or self.printing.layout.startswith("sar")
        return self.start - (0 if has_before else self.step)

    @property
    def began(self) -> float:
        """When the capture begins; before it the host has been at its load for a while."""
        return max(0.05, min(self.window, 5.0))

    @property
    def ends(self) -> float:
        return self.began + self.samples * self.window

    def expect(self, per_s: float) -> None:
        """At most about this many requests complete per second: how long a window is worth simulating."""
        self.window = min(float(self.step), MOST_REQUESTS / per_s)

    def disk(self, kind: str, name: str = "", below: Submit | None = None) -> Device:
        """A device of a class, under a name that such devices have."""
        built = KINDS[kind]
        names = [each for each in built.names if each not in self.devices]
        device = Device(
            self.clock, name or self.rng.choice(names), below or built.build(self.clock, self.rng, self.rng)
        )
        self.devices[device.name] = device
        self.spins[device.name] = built.spins
        return device

    def disks(
        self, kind: str, count: int, slow: int = -1, slowness: float = 1.0, behind: Submit | None = None
    ) -> list[Device]:
        """Some disks of one model; one may take longer for everything, all may share what they are behind."""
        made, model = [], self.rng.random()
        for number in range(count):
            # equal seeds: the members of an array are of one model
            below = KINDS[kind].build(self.clock, Random(model), self.rng)
            if number == slow:
                below = slower(self.clock, below, slowness)
            if behind is not None:
                below = through(below, behind)
            made.append(self.disk(kind, f"sd{chr(ord('a') + number)}", below))
        return made

    def array(self, level: str, members: Sequence[Device], name: str = "md0") -> Device:
        """An md array of the members; a mirror's and a stripe's requests go as the level says."""
        below = {
            "raid0": lambda: stripe(members, 1, self.rng),
            "raid1": lambda: stripe(members, len(members), self.rng),
            "raid10": lambda: stripe(members, 2, self.rng),
            "raid5": lambda: parity(members, 1, self.rng),
            "raid6": lambda: parity(members, 2, self.rng),
        }[level]()
        return self.layer(level, name, members, below)

    def layer(self, kind: str, name: str, members: Sequence[Device], below: Submit) -> Device:
        device = Device(self.clock, name, below)
        self.devices[name] = device
        self.layers[name] = Layer(kind, tuple(member.name for member in members))
        return device

    def bystander(self) -> None:
        """Perhaps another disk that has hardly anything to do."""
        if self.rng.random() < 0.4:
            name = next(n for n in ("sdh", "sdi") if n not in self.devices)
            other = self.disk(self.rng.choice(("HDD", "SATA SSD")), name)
            if self.rng.random() < 0.5:
                per_s = self.rng.uniform(0.5, 4)
                opened(
                    self.clock,
                    self.rng,
                    other.submit,
                    per_s,
                    at_random(self.rng, reads=0.3, sizes=(4, 8, 16)),
                )

    def captured(self) -> list[Sample]:
        """Let the clock run, and read every counter at the edges of the samples."""
        edges = self.began + self.window * np.arange(self.samples + 1)
        self.clock.run(float(edges[-1]))
        # where a sample stands for a longer one, a tick is still a small part of it, and holds some requests
        tick = min(self.rng.choice((0.001, 0.004)), self.window / 250) if self.is_modern else None
        rows = {name: self._rows(name, edges, tick) for name in self.devices}
        waiting = counters.mean_present(self.waiters, edges)
        blocked = counters.present(self.waiters, edges[1:])
        made = []
        for number in range(self.samples):
            cpu = self._cpu(float(waiting[number]))
            busy = (cpu["%user"] + cpu["%system"]) / 100 * self.cpus
            runnable = self.rng.gauss(busy, math.sqrt(busy)) if self.runnable is None else self.runnable
            each = {name: column[number] for name, column in rows.items()}
            swap = each.get(self.memory.swap, Row())
            made.append(Sample(each, cpu, blocked[number], max(0, round(runnable)), swap))
        return made

    def _rows(self, name: str, edges: Floats, tick: float | None) -> list[Row]:
        rows = counters.rows(self.devices[name].log, edges, self.step, tick)
        layer = self.layers.get(name)
        if layer is None:
            return rows
        if layer.kind.startswith("raid") and not self.is_modern:
            # md of kernels before 5.10 counts requests, but not their time
            return [replace(row, read_ms=0.0, write_ms=0.0, util=0.0, depth=0.0) for row in rows]
        return [_before_merging(row) for row in rows]

    def _cpu(self, waiting: float) -> dict[str, float]:
        """Idle time of a CPU is iowait while a task that slept there waits (kernel/sched/cputime.c)."""
        user, system = (max(0.0, mean * self.rng.gauss(1, 0.1)) for mean in (self.user, self.system))
        steal = max(0.0, self.steal * self.rng.gauss(1, 0.1)) if self.steal else 0.0
        scale = max(1.0, (user + system + steal) / 100)
        user, system, steal = user / scale, system / scale, steal / scale
        idle = max(0.0, 100 - user - system - steal)
        share = 1 - (1 - 1 / self.cpus) ** max(0.0, waiting) if self.cpus > 1 else min(1.0, max(0.0, waiting))
        iowait = idle * share
        shares = {"%user": user, "%nice": 0.0, "%system": system, "%iowait": iowait}
        return shares | {"%steal": steal, "%idle": idle - iowait}

    def is_at_ease(self) -> bool:
        """After the capture: nothing was too busy, and service took longer than waiting, if anybody waits."""
        stations = self.clock.stations
        waited, served = sum(each.waited for each in stations), sum(each.served for each in stations)
        return self.busiest() <= MOST_BUSY and (waited <= served or not self.has_waiters)

    def busiest(self) -> float:
        """After the capture: the share of time that the busiest station's servers were at work."""
        stations = self.clock.stations
        return max((each.served / each.servers / self.ends for each in stations), default=0.0)

    def leaves(self) -> list[str]:
        """Devices that stand on no other."""
        return [name for name in self.spins if name in self.devices]


def _before_merging(row: Row) -> Row:
    """What a layer counts: requests are merged below it, so that it sees each of them."""
    if not row.read_merges + row.write_merges:
        return row
    reads, writes = row.reads + row.read_merges, row.writes + row.write_merges
    return replace(row, reads=reads, writes=writes, read_merges=0.0, write_merges=0.0, depth=None)


def slower(clock: Clock, below: Submit, factor: float) -> Submit:
    """Each request takes `factor` times as long as below, one after the other."""

    def submit(request: Request, done: Done) -> None:
        began = clock.now
        below(request, lambda: clock.after((factor - 1) * (clock.now - began), done))

    return submit


def delayed(clock: Clock, below: Submit, seconds: float, rng: Random) -> Submit:
    """A layer that holds every request back for about so long."""
    return through(delay(clock, lambda request: seconds * rng.lognormvariate(0, 0.1)), below)
