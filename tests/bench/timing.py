"""Measures one thing and another in turn, so that what disturbs the machine disturbs both."""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.inputs import plain_environment


@dataclass(frozen=True)
class Taken:
    """Seconds on the clock, seconds of processor time (user and system), and peak memory in MB if known."""

    wall_s: float
    cpu_s: float
    peak_mb: float | None = None


Measure = Callable[[], Taken]


@dataclass(frozen=True)
class Ratio:
    """How the ratios of several turns lie."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, above: Sequence[float], below: Sequence[float]) -> Ratio:
        ratios = [a / b for a, b in zip(above, below, strict=True)]
        return cls(statistics.median(ratios), min(ratios), max(ratios))


def call(function: Callable[[], object]) -> Measure:
    """A call inside this process, with garbage collected before."""

    def measure() -> Taken:
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        kept = function()
        taken = Taken(time.perf_counter() - wall, time.process_time() - cpu)
        del kept
        return taken

    return measure


def process(command: Sequence[str]) -> Measure:
    """A whole process; what it prints is thrown away, and it has to succeed.

    A small interpreter starts and measures it, because Linux counts the memory of the process that
    another was started from to its peak.
    """

    def measure() -> Taken:
        launcher = [sys.executable, "-S", "-E", "-c", _LAUNCH, *command]
        done = subprocess.run(launcher, stdout=subprocess.PIPE, env=plain_environment(), check=True)
        status, wall, cpu, peak_kb = (float(word) for word in done.stdout.split())
        if status:
            raise SystemExit(f"{' '.join(command)}: failed with status {status:.0f}")
        return Taken(wall, cpu, peak_kb * 1024 / 1e6)

    return measure


_LAUNCH = """
import os, sys, time
null = os.open(os.devnull, os.O_RDWR)
actions = [(os.POSIX_SPAWN_DUP2, null, place) for place in (0, 1, 2)]
begin = time.perf_counter()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=actions)
_, status, usage = os.wait4(child, 0)
wall = time.perf_counter() - begin
print(os.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


def in_turn(measures: Sequence[Measure], turns: int) -> list[list[Taken]]:
    """Each measure's results, one after the other in every turn; a first turn warms up and is dropped."""
    taken = [[measure() for measure in measures] for _ in range(turns + 1)][1:]
    return [list(results) for results in zip(*taken, strict=True)]
