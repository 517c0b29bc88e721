"""A busy load level with its verdict, and the thresholds that the rules on load share."""

from __future__ import annotations

from typing import Literal, NamedTuple

from iodiag.analysis.load.queueing import DirectionLoad, Level, UnloadedBaseline
from iodiag.model.rule import Threshold
from iodiag.table.table import Table

LevelVerdict = Literal["false alarm", "approaching", "saturated", "indeterminate"]

HeadroomReason = Literal[
    "scaled", "flat latency", "one at a time", "slow few", "plausible latency", "idle spindles", "ticks"
]
"""Why a level is a false alarm: the device did more at a deeper queue; its latency is near that of one
request alone; there was never a second request; a few requests took long, which leaves its limit open; its
latency is that of an unloaded device of its class; more disks than requests; util was counted in ticks."""

Basis = Literal[
    "measured",
    "least seen",
    "spindles",
    "class",
    "calmer",
    "beside",
    "either",
    "reads",
    "queue",
    "throughput",
    "ceiling",
    "speed",
    "none",
]
"""What an inflation is taken against (`beside`: another device in the same reports); or that it is too long
for every class, in line or not; or that reads wait behind quick writes; or that the queue is longer than any
of its class takes at once; or that a deeper one moved no more kB, whatever their size; or that a saturated
device beside it moves no more with a longer queue; or that it moves more than a disk with heads does."""

STEADY = 0.5
"""Busy share from which a sample can stand for a load: its rate and depth are of one mind."""

_PERCONA = "Percona 2014: three times the latency of one stream is the overload line"

_MODEL = "at most 1/(I - 1) more throughput is left in a closed queue of c servers"

THRESHOLDS = {
    "busy_util": Threshold(70, "%", "util from which a load is judged", "below it nobody takes alarm"),
    "full_util": Threshold(
        90, "%", "util that known spindles or a class need", "judgement: no idle time to speak of"
    ),
    "burst_depth": Threshold(
        32,
        "requests",
        "depth while busy at which a device was full whenever it was busy",
        "the depth of a SATA queue",
    ),
    "calm_inflation": Threshold(
        2,
        "x",
        "latency over that of one request alone up to which a device is calm",
        _MODEL + ": I = 2 → 100 %",
    ),
    "inflation": Threshold(3, "x", "inflation of latency that says overload", _PERCONA),
    "hard_inflation": Threshold(
        10, "x", "inflation that needs no second load level", _MODEL + ": I = 10 → 11 %"
    ),
    "long_queue": Threshold(
        128,
        "requests",
        "depth that no disk nor controller takes at once",
        "nr_requests; SATA takes 32 at once, SAS 64",
    ),
    "hard_depth": Threshold(
        8,
        "requests",
        "depth that goes with it, or with an inflation over the class's own latency",
        "judgement: a real queue, not a slow seek",
    ),
    "beyond_any": Threshold(
        1, "x", "latency over what one request takes the slowest disk", "beyond it requests wait on any class"
    ),
    "flat_elasticity": Threshold(
        0.3,
        "",
        "growth of throughput per growth of depth (both ln) up to which more queue is useless",
        "between measured steps that paid (0.59, 0.52) and that did not (0.25)",
    ),
    "scaling": Threshold(
        1.3,
        "x",
        "throughput at a deeper queue that proves headroom",
        "judgement: above noise and 95 → 100 % util",
    ),
    "one_at_a_time": Threshold(
        1.5,
        "requests",
        "depth while busy up to which util shows the client's rhythm",
        "judgement: 1.0 to 1.05 measured",
    ),
    "stream": Threshold(
        64,
        "kB",
        "size from which kB/s tell what is moved, whatever the size of the requests",
        "half the default readahead",
    ),
    "lasting": Threshold(3, "samples", "samples that are more than a passing flood", "judgement"),
    "share": Threshold(
        20,
        "%",
        "share of the time with I/O that fewer samples must last to be told",
        "judgement: one in five",
    ),
    "parallel_depth": Threshold(
        4,
        "requests",
        "depth that a parallel device serves at once",
        "the queue depths of small cloud volumes; SATA SSDs have 4 to 8 channels",
    ),
}


class Disk(NamedTuple):
    """A disk below an array, its samples in the reports of a level, and their mean util (0..1)."""

    name: str
    util: float
    rows: Table


class JudgedLevel(NamedTuple):
    """A busy level with its verdict, and everything that the verdict rests on.

    `inflation` is I: against `unloaded`, from the spindles' model (`basis` says which) or against
    what a device of the class takes at the longest. `lower` and `higher` are the comparable levels
    below and above, `lighter` the one of the same direction, full, and of another size that moved large
    requests with the shortest queue, `elasticity` is against `lower`, `servers` the fan-out estimate
    between the lightest comparable level and the next. `parallel` says what shows that several requests are
    served at once, with `at_best` of them at the least where rates tell. `below` are the disks
    under a spread device. `kept_up_ms` is the latency up to which the device followed the load. `reason`
    says of an indeterminate level what would settle it.
    """

    level: Level
    verdict: LevelVerdict = "indeterminate"
    unloaded: UnloadedBaseline | None = None
    inflation: float = float("nan")
    basis: Basis = "none"
    lower: Level | None = None
    lighter: Level | None = None
    higher: Level | None = None
    elasticity: float = float("nan")
    servers: float = float("nan")
    spindles: float | None = None
    parallel: str = ""
    at_best: float = float("nan")
    headroom: tuple[HeadroomReason, ...] = ()
    below: tuple[Disk, ...] = ()
    reason: str = ""
    kept_up_ms: float = float("nan")
    slowest: DirectionLoad | None = None

    @property
    def hottest(self) -> Disk | None:
        """The busiest disk under a spread device, which bounds what it can do."""
        return max(self.below, key=lambda disk: disk.util, default=None)

    @property
    def said(self) -> DirectionLoad:
        """What sentences say: of those that wait too long for their class, else of all requests."""
        return self.slowest or self.level.whole
