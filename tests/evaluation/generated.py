"""Healthy and busy captures, generated: negative controls, of which the field has more than anyone posts.

Loads are drawn at random: kind of device, rate, bursts, sizes, mix, how many of the callers block, how many
CPUs there are. The label is not drawn but measured in the queue that produced the numbers: a case is healthy
when its servers are at most MOST_BUSY busy and a request waits no longer than it is served; other draws are
thrown away. Nothing is drawn with a view to any rule or alert.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluation.simulator import Served, arrivals, counted, serve
from writers import capture_writer as writer
from writers.capture_writer import Load, Row
from writers.captures import vmstat
from writers.scenarios import lsblk

SECONDS = 30
WARM_UP = 2
"""Seconds before the capture begins, in which the queue fills."""

MOST_BUSY = 0.7


@dataclass(frozen=True)
class Drawn:
    """One load at one device: what was served, by how many servers, and the rows of each device."""

    served: Served
    servers: int
    rows: Mapping[str, list[Row]]
    context: str

    @property
    def is_healthy(self) -> bool:
        busy = self.served.busy_servers(SECONDS + WARM_UP) / self.servers
        return busy <= MOST_BUSY and self.served.wait <= self.served.service


def _demand(capacity: float, rng: np.random.Generator) -> list[float]:
    """Requests per second, another number in every second: a third to two thirds of what can be served."""
    share = rng.uniform(0.33, 0.67)
    bursts = np.clip(rng.normal(1, rng.uniform(0.05, 0.3), SECONDS + WARM_UP), 0.3, 1.7)
    return (capacity * share * bursts).tolist()


def _rows(served: Served) -> list[Row]:
    return counted(served, SECONDS + WARM_UP)[WARM_UP:]


def _at(
    name: str, servers: int, mean_ms: float, shape: float, spins: bool, rng: np.random.Generator
) -> Drawn:
    """One device of equal servers; service times are gamma distributed with a shape."""
    moments = arrivals(_demand(1000 * servers / mean_ms, rng), rng)
    service = rng.gamma(shape, mean_ms / 1000 / shape, len(moments))
    size = np.full(len(moments), float(rng.choice([4, 8, 16, 32])))
    is_read = rng.random(len(moments)) < rng.uniform(0.2, 1.0)
    served = serve(moments, service, servers, size, is_read)
    return Drawn(served, servers, {name: _rows(served)}, lsblk([name], spins=spins))


def _spinning_disk(rng: np.random.Generator) -> Drawn:
    """Half a turn and a seek: 6 to 12 ms, one at a time."""
    return _at("sda", 1, rng.uniform(6, 12), 6, True, rng)


def _flash(rng: np.random.Generator) -> Drawn:
    """Four to eight channels, 0.3 to 0.8 ms."""
    return _at("sda", int(rng.integers(4, 9)), rng.uniform(0.3, 0.8), 4, False, rng)


def _volume(rng: np.random.Generator) -> Drawn:
    """A volume on the network: many requests at once, 1 to 2 ms each."""
    return _at("sda", int(rng.integers(16, 33)), rng.uniform(1, 2), 8, False, rng)


def _mirrors(rng: np.random.Generator) -> Drawn:
    """Six spinning disks as RAID 10: a read goes to one disk, a write to both of a pair."""
    disks = [f"sd{letter}" for letter in "abcdef"]
    mean_ms = rng.uniform(6, 12)
    read_share = rng.uniform(0.5, 1.0)
    capacity = 1000 * len(disks) / mean_ms / (read_share + 2 * (1 - read_share))
    moments = arrivals(_demand(capacity, rng), rng)
    size = np.full(len(moments), float(rng.choice([4, 8, 16])))
    is_read = rng.random(len(moments)) < read_share
    pair, side = rng.integers(0, 3, len(moments)), rng.integers(0, 2, len(moments))
    begun, done = np.full(len(moments), np.inf), np.zeros(len(moments))
    rows, parts = {}, []
    for number, disk in enumerate(disks):
        mine = (pair == number // 2) & (~is_read | (side == number % 2))
        service = rng.gamma(6, mean_ms / 6000, int(mine.sum()))
        part = serve(moments[mine], service, 1, size[mine], is_read[mine])
        begun[mine] = np.minimum(begun[mine], part.begun)
        done[mine] = np.maximum(done[mine], part.done)
        parts.append(part)
        rows[disk] = _rows(part)
    array = {"md0": _rows(Served(moments, begun, done, size, is_read))}
    whole = Served(*(np.concatenate([getattr(p, name) for p in parts]) for name in _FIELDS))
    return Drawn(whole, len(disks), array | rows, lsblk(disks, spins=True, array="md0", level="raid10"))


_FIELDS = ("arrived", "begun", "done", "size_kb", "is_read")

KINDS: Mapping[str, Callable[[np.random.Generator], Drawn]] = {
    "a spinning disk": _spinning_disk,
    "RAID 10 of six spinning disks": _mirrors,
    "flash": _flash,
    "a network volume": _volume,
}


def write(folder: Path, each: int) -> None:
    """`each` healthy cases of every kind below a folder, with their labels, the same in every run."""
    for number, kind in enumerate(KINDS):
        for seed, drawn in enumerate(_healthy(kind, number, each)):
            place = folder / f"{kind.replace(' ', '-')}-{seed:02}"
            place.mkdir(parents=True)
            _write(place, kind, drawn, np.random.default_rng((number, seed, 1)))


def _healthy(kind: str, number: int, each: int) -> Iterator[Drawn]:
    found, seed = 0, 0
    while found < each:
        drawn = KINDS[kind](np.random.default_rng((number, seed)))
        seed += 1
        if drawn.is_healthy:
            found += 1
            yield drawn


def _write(place: Path, kind: str, drawn: Drawn, rng: np.random.Generator) -> None:
    top = next(iter(drawn.rows.values()))
    cpus = int(rng.choice([2, 4, 8, 16, 32]))
    blocking = float(rng.choice([0.0, 0.5, 1.0]))
    busy = rng.uniform(15, 60)
    shares = []
    for row in top:
        # a CPU without work is in iowait while a task of its own waits for the disk
        iowait = (100 - busy) * min(1.0, blocking * row.in_flight / cpus)
        shares.append((0.8 * busy, 0.2 * busy, iowait, 100 - busy - iowait))
    samples = [dict(zip(drawn.rows, each, strict=True)) for each in zip(*drawn.rows.values(), strict=True)]
    load = Load(samples, step=1, cpus=shares)
    (place / "iostat-x-t.txt").write_text(writer.iostat(load, cpus=cpus), encoding="utf-8")
    waiting = [
        {"b": round(blocking * row.in_flight), "us": share[0], "sy": share[1], "wa": share[2]}
        for row, share in zip(top, shares, strict=True)
    ]
    (place / "vmstat.txt").write_text(vmstat(waiting), encoding="utf-8")
    (place / "lsblk.txt").write_text(drawn.context, encoding="utf-8")
    label = {"origin": f"generated: {kind}", "expected_verdicts": ["healthy"], "may_flag": []}
    label |= {"must_not_flag": [], "device_of_interest": next(iter(drawn.rows))}
    (place / "truth.json").write_text(json.dumps(label), encoding="utf-8")
