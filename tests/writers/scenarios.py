"""Loads with a known cause, and what lsblk and mdstat say beside them, for tests that vary the printing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from writers.capture_writer import Load, Row

MDSTAT_RAID5 = """\
Personalities : [raid6] [raid5] [raid4]
md0 : active raid5 sdd[4] sdc[2] sdb[1] sda[0]
      786048 blocks super 1.2 level 5, 64k chunk, algorithm 2 [4/4] [UUUU]

unused devices: <none>
"""
FOUR = ("sda", "sdb", "sdc", "sdd")


@dataclass(frozen=True)
class Scenario:
    """A load, the texts given beside it, the verdicts that it must earn, and the device numbers."""

    load: Load
    context: tuple[str, ...]
    rules: frozenset[str]

    @property
    def minors(self) -> dict[str, tuple[int, int]]:
        return {name: numbers(name) for name in self.load.samples[0]}


def numbers(name: str) -> tuple[int, int]:
    """Major and minor number of a disk or an md array, as Linux gives them."""
    return (9, int(name[2:])) if name.startswith("md") else (8, 16 * (ord(name[2]) - ord("a")))


def lsblk(disks: Iterable[str], *, spins: bool, array: str = "", level: str = "") -> str:
    """`lsblk -P` of disks, and of an array on them."""
    lines = []
    for name in disks:
        lines.append(_pairs(name, "", "disk", spins))
        if array:
            lines.append(_pairs(array, name, level, spins))
    return "\n".join(lines) + "\n"


def _pairs(name: str, parent: str, kind: str, spins: bool) -> str:
    major, minor = numbers(name)
    return (
        f'NAME="{name}" KNAME="{name}" PKNAME="{parent}" MAJ:MIN="{major}:{minor}" '
        f'TYPE="{kind}" ROTA="{int(spins)}"'
    )


def steady(row: Row, samples: int, seed: int, spread: float = 0.03) -> list[Row]:
    """A load that goes on: rates and latencies scatter, the queue follows from them."""
    rng = np.random.default_rng(seed)
    result = []
    for rate, wait in rng.normal(1, spread, (samples, 2)):
        rate, wait = max(rate, 0.5), max(wait, 0.5)
        result.append(
            Row(
                reads=row.reads * rate,
                writes=row.writes * rate,
                read_kb=row.read_kb * rate,
                write_kb=row.write_kb * rate,
                read_ms=row.read_ms * wait,
                write_ms=row.write_ms * wait,
                read_merges=row.read_merges * rate,
                write_merges=row.write_merges * rate,
                flushes=row.flushes,
                flush_ms=row.flush_ms,
                util=row.util,
            )
        )
    return result


def together(devices: Mapping[str, Sequence[Row]]) -> list[dict[str, Row]]:
    """Samples of several devices from the rows of each."""
    return [dict(zip(devices, rows, strict=True)) for rows in zip(*devices.values(), strict=True)]


def _ladder() -> Scenario:
    """Four disks behind one name under 1, 4 and 64 readers: R = R1 (N + c - 1)/c."""
    rows: list[Row] = []
    for readers in (1, 4, 64):
        wait = 8.0 * (readers + 3) / 4
        rate = 1000 * readers / wait
        util = 0.97 if readers == 1 else 1.0
        rows += steady(Row(reads=rate, read_kb=16 * rate, read_ms=wait, util=util), 8, readers, 0.01)
    rules = frozenset({"util-false-alarm", "true-saturation"})
    return Scenario(Load(together({"sda": rows}), step=5), (), rules)


def _full_disk() -> Scenario:
    rows = steady(Row(reads=120, read_kb=960, read_ms=200, util=1.0), 12, 1)
    return Scenario(
        Load(together({"sda": rows})), (lsblk(["sda"], spins=True),), frozenset({"true-saturation"})
    )


def _small_writes() -> Scenario:
    """4 kB writes on RAID5: each costs two reads and two writes on the members."""
    array = steady(Row(writes=116, write_kb=464, write_ms=134, util=1.0), 14, 2)
    devices = {"md0": array}
    for number, name in enumerate(FOUR):
        member = Row(reads=58, read_kb=232, read_ms=50, writes=58, write_kb=232, write_ms=49, util=0.98)
        devices[name] = steady(member, 14, 20 + number, 0.02)
    context = (lsblk(FOUR, spins=True, array="md0", level="raid5"), MDSTAT_RAID5)
    return Scenario(Load(together(devices)), context, frozenset({"raid-partial-stripe-write"}))


def _slow_leg() -> Scenario:
    """Random reads on RAID0 of four, one of which takes far longer."""
    devices = {"md0": steady(Row(reads=72, read_kb=1152, read_ms=212, util=1.0), 14, 3)}
    for number, name in enumerate(FOUR):
        is_slow = name == "sdc"
        leg = Row(reads=18, read_kb=288, read_ms=800 if is_slow else 13, util=1.0 if is_slow else 0.22)
        devices[name] = steady(leg, 14, 30 + number)
    context = (lsblk(FOUR, spins=True, array="md0", level="raid0"),)
    return Scenario(Load(together(devices)), context, frozenset({"slow-member"}))


def _commits() -> Scenario:
    """64 sessions that commit one after the other on a disk whose flush takes 160 ms."""
    row = Row(writes=8.2, write_kb=44, write_ms=148, flushes=6.2, flush_ms=160, util=0.98)
    load = Load(together({"sda": steady(row, 20, 4)}), cpus=[(6.0, 9.0, 11.0, 74.0)])
    return Scenario(load, (lsblk(["sda"], spins=False),), frozenset({"serialized-commit"}))


def _fragments() -> Scenario:
    row = Row(reads=108, read_kb=1048, read_ms=9.0, util=0.97)
    load = Load(together({"sda": steady(row, 14, 5, 0.02)}), cpus=[(2.0, 3.0, 46.0, 49.0)])
    return Scenario(load, (lsblk(["sda"], spins=True),), frozenset({"fragmentation-sized-reads"}))


def _cap() -> Scenario:
    """3000 operations a second however many wait."""
    rng = np.random.default_rng(6)
    rows = []
    for depth in rng.permutation(np.geomspace(8, 64, 16)):
        rate = 3000 * rng.normal(1, 0.004)
        rows.append(Row(reads=rate, read_kb=4 * rate, read_ms=1000 * depth / rate, util=1.0))
    return Scenario(Load(together({"sda": rows})), (lsblk(["sda"], spins=False),), frozenset({"volume-cap"}))


def _healthy() -> Scenario:
    row = Row(reads=40, writes=20, read_kb=330, write_kb=160, read_ms=1.0, write_ms=0.9, util=0.05)
    return Scenario(
        Load(together({"sda": steady(row, 20, 7, 0.1)})), (lsblk(["sda"], spins=False),), frozenset()
    )


SCENARIOS: Mapping[str, Scenario] = {
    "ladder": _ladder(),
    "full disk": _full_disk(),
    "small writes on RAID5": _small_writes(),
    "slow leg": _slow_leg(),
    "commits": _commits(),
    "fragments": _fragments(),
    "cap": _cap(),
    "healthy": _healthy(),
}
