"""Writes a fleet: a folder per host with an sa file per day, lsblk and mdstat, and troubles where planned.

`PYTHONPATH=tests python -m writers.fleet_writer DIR --hosts 200 --days 7` writes one and lists what was
planted. A day is 144 samples of ten minutes, computed as counters of a queue: load by the hour, latency
from load, depth from both. The records of a day are one array, so a day takes a few milliseconds.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt

from writers import sa_writer as w

Floats = npt.NDArray[np.float64]

START = int(datetime(2026, 3, 2, tzinfo=UTC).timestamp())
STEP, SAMPLES, HZ = 600, 144, 100
LAYOUTS = (w.CPU, w.SWAP, w.IO, w.MEMORY, w.QUEUE, w.DISK)
CPUS = 4


@dataclass(frozen=True)
class Role:
    """What hosts of a kind are made of. `ms` is a request's time alone, `most` requests served at once."""

    name: str
    disks: tuple[str, ...]
    ios: float
    kb: float
    reads: float
    ms: float
    most: float
    spins: bool
    array: str = ""
    cpu: float = 0.2


ROLES = (
    Role("db", ("sda", "sdb", "sdc", "sdd"), 45, 24, 0.7, 6, 1, True, "raid10"),
    Role("web", ("vda", "vdb"), 60, 16, 0.3, 0.6, 8, False, cpu=0.5),
    Role("mail", ("sda", "sdb"), 50, 12, 0.5, 7, 1, True),
    # busy, and well: one never empty drive that serves many at once, one CPU-bound host
    Role("cache", ("nvme0n1",), 24_000, 8, 0.9, 0.09, 32, False, cpu=0.4),
    Role("build", ("sda",), 30, 64, 0.2, 5, 1, True, cpu=0.9),
)
TROUBLES = {
    "true-saturation": "mail",
    "slow-member": "db",
    "swap-thrash": "web",
    "steal-noisy-neighbour": "web",
    "raid-degraded": "db",
}
"""The rule that must find each trouble, and the role of the hosts that have it."""


@dataclass(frozen=True)
class Planted:
    """A trouble of one host on one day (0-based), or on all for what mdstat shows."""

    host: str
    day: str
    rule: str


def day_name(number: int) -> str:
    return datetime.fromtimestamp(START + number * 86_400, tz=UTC).strftime("%Y-%m-%d")


def write_fleet(folder: Path, hosts: int, days: int, seed: int = 1) -> list[Planted]:
    """Write the fleet below a folder; of ten hosts each third is ill, on one of its days."""
    planted: list[Planted] = []
    rules = sorted(TROUBLES)
    ill = 0
    for number in range(hosts):
        role = ROLES[number % len(ROLES)]
        host = f"{role.name}{number:04}"
        rule, when = "", -1
        fitting = [rule for rule in rules if TROUBLES[rule] == role.name]
        if fitting and number % 2 == 0:
            rule, when = fitting[ill % len(fitting)], (number // 2) % days
            ill += 1
        place = folder / host
        place.mkdir(parents=True)
        write_context(place, role, is_degraded=rule == "raid-degraded")
        for day in range(days):
            is_ill = bool(rule) and (day == when or rule == "raid-degraded")
            if is_ill:
                planted.append(Planted(host, day_name(day), rule))
            data = sa_day(host, role, day, rule if is_ill else "", seed)
            (place / f"sa{day_name(day).replace('-', '')}").write_bytes(data)
    return planted


def write_context(place: Path, role: Role, *, is_degraded: bool) -> None:
    """lsblk, and mdstat where there is an array."""
    lines = []
    for disk in role.disks:
        lines.append(_pairs(disk, "", "disk", role.spins))
        if role.array:
            lines.append(_pairs("md0", disk, role.array, role.spins))
    (place / "lsblk.txt").write_text("\n".join(lines) + "\n")
    if role.array:
        legs = role.disks[:-1] if is_degraded else role.disks
        members = " ".join(f"{disk}[{slot}]" for slot, disk in reversed(list(enumerate(legs))))
        state = "[4/3] [UUU_]" if is_degraded else "[4/4] [UUUU]"
        (place / "mdstat").write_text(
            f"Personalities : [raid10]\nmd0 : active raid10 {members}\n"
            f"      1953260544 blocks super 1.2 512K chunks 2 near-copies {state}\n\nunused devices: <none>\n"
        )


def _pairs(name: str, parent: str, kind: str, spins: bool) -> str:
    major, minor = numbers(name)
    return (
        f'NAME="{name}" KNAME="{name}" PKNAME="{parent}" MAJ:MIN="{major}:{minor}" '
        f'TYPE="{kind}" ROTA="{int(spins)}"'
    )


def numbers(name: str) -> tuple[int, int]:
    """Major and minor number of a disk."""
    if name.startswith("nvme"):
        return 259, 0
    if name.startswith("md"):
        return 9, int(name[2:])
    return (254 if name.startswith("vd") else 8), 16 * (ord(name[2]) - ord("a"))


def sa_day(host: str, role: Role, day: int, trouble: str, seed: int = 1) -> bytes:
    """The sa file of one host and day: its baseline record at midnight and one every ten minutes."""
    # a generator for each file, so that a host's day is the same in a fleet of any size
    digest = hashlib.sha256(f"{host} {day} {seed}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "little"))
    hours = np.arange(SAMPLES) * STEP / 3600
    shape = 0.55 + 0.35 * np.sin((hours - 8) / 24 * 2 * np.pi) + rng.normal(0, 0.04, SAMPLES)
    busy = np.clip(shape, 0.1, 1.0)
    is_ill = (hours >= 9) & (hours < 15) if trouble else np.zeros(SAMPLES, dtype=bool)
    activities: dict[int, list[Mapping[str, Floats]]] = {
        w.DISK.id: [_disk(role, disk, busy, is_ill, trouble, rng) for disk in role.disks],
        w.CPU.id: _cpus(role, busy, is_ill, trouble, rng),
        w.SWAP.id: [_swap(is_ill, trouble, rng)],
        w.MEMORY.id: [_memory(rng)],
        w.QUEUE.id: [_queue(role, busy, is_ill, trouble)],
    }
    disks = activities[w.DISK.id]
    activities[w.IO.id] = [
        {
            "ios": sum(disk["ios"] for disk in disks),
            "read_sectors": sum(disk["read"] for disk in disks),
            "write_sectors": sum(disk["write"] for disk in disks),
        }
    ]
    return _file(host, day, activities)


def _disk(
    role: Role, name: str, busy: Floats, is_ill: npt.NDArray[np.bool_], trouble: str, rng: np.random.Generator
) -> dict[str, Floats]:
    """A disk's counters per sample: a queue that serves `most` requests at once."""
    is_hit = trouble == "true-saturation" and name == role.disks[0]
    rate = role.ios * busy * rng.lognormal(0, 0.05, SAMPLES)
    time = np.full(SAMPLES, role.ms) * rng.lognormal(0, 0.03, SAMPLES)
    if trouble == "slow-member" and name == role.disks[-1]:
        time = time * 3.2
    capacity = 1000 * role.most / time
    use = np.minimum(rate / capacity, 0.85)
    wait = time / (1 - use**2 if role.most > 1 else 1 - use)
    rate = np.minimum(rate, capacity * 0.85)
    if is_hit:
        depth = rng.normal(24, 3, SAMPLES)
        rate = np.where(is_ill, capacity * rng.normal(1, 0.01, SAMPLES), rate)
        wait = np.where(is_ill, 1000 * depth / rate, wait)
    flight = rate * wait / 1000
    util = 1 - np.exp(-flight) if role.most > 1 else np.minimum(rate * time / 1000, 1.0)
    if is_hit:
        util = np.where(is_ill, 1.0, util)
    ios = rate * STEP
    major, minor = numbers(name)
    return {
        "ios": ios,
        "read": ios * role.kb * 2 * role.reads,
        "write": ios * role.kb * 2 * (1 - role.reads),
        "read_ms": ios * role.reads * wait,
        "write_ms": ios * (1 - role.reads) * wait,
        "busy_ms": util * STEP * 1000,
        "queue_ms": flight * STEP * 1000,
        "major": np.full(SAMPLES, float(major)),
        "minor": np.full(SAMPLES, float(minor)),
    }


def _cpus(
    role: Role, busy: Floats, is_ill: npt.NDArray[np.bool_], trouble: str, rng: np.random.Generator
) -> list[Mapping[str, Floats]]:
    user = role.cpu * busy * rng.lognormal(0, 0.05, SAMPLES)
    wait = np.full(SAMPLES, 0.02)
    steal = np.zeros(SAMPLES)
    if trouble == "steal-noisy-neighbour":
        steal = np.where(is_ill, rng.normal(0.28, 0.02, SAMPLES), 0.0)
    if trouble in ("true-saturation", "swap-thrash"):
        wait = np.where(is_ill, 0.45, wait)
    user = np.minimum(user, 0.95 - wait - steal)
    parts = {"user": user * 0.8, "system": user * 0.2, "iowait": wait, "steal": steal}
    parts["idle"] = 1 - sum(parts.values())
    one = {name: share * STEP * HZ for name, share in parts.items()}
    return [{name: ticks * CPUS for name, ticks in one.items()}, *([one] * CPUS)]


def _swap(is_ill: npt.NDArray[np.bool_], trouble: str, rng: np.random.Generator) -> dict[str, Floats]:
    if trouble != "swap-thrash":
        return {"pages_in": np.zeros(SAMPLES), "pages_out": np.zeros(SAMPLES)}
    pages = np.where(is_ill, rng.normal(2500, 200, SAMPLES), 0) * STEP
    return {"pages_in": pages, "pages_out": pages * 0.9}


def _memory(rng: np.random.Generator) -> dict[str, Floats]:
    """Gauges in kB."""
    free = 2_000_000 * rng.lognormal(0, 0.05, SAMPLES)
    total = np.full(SAMPLES, 16_000_000.0)
    return {
        "free": free,
        "total": total,
        "available": free * 3,
        "swap_total": total / 4,
        "swap_free": total / 5,
    }


def _queue(role: Role, busy: Floats, is_ill: npt.NDArray[np.bool_], trouble: str) -> dict[str, Floats]:
    blocked = np.where(is_ill & (trouble == "true-saturation"), 20.0, 0.0)
    return {"running": 1 + 3 * role.cpu * busy, "blocked": blocked, "tasks": np.full(SAMPLES, 300.0)}


_GAUGES = {
    w.MEMORY.id: tuple(w.MEMORY.names.split()),
    w.QUEUE.id: tuple(w.QUEUE.names.split()),
    w.DISK.id: ("major", "minor"),
}
_CODES = {"Q": "<u8", "L": "<u8", "I": "<u4"}


def _file(host: str, day: int, activities: Mapping[int, Sequence[Mapping[str, Floats]]]) -> bytes:
    """All records as one array of a structured type: the head, then each activity's count and items."""
    types: list[tuple[str, str] | tuple[str, object, int]] = [
        ("uptime", "<u8"),
        ("time", "<u8"),
        ("extra", "<u4"),
        ("kind", "u1"),
        ("clock", "u1", (3,)),  # type: ignore[list-item]
    ]
    for layout in LAYOUTS:
        if layout.has_count:
            types.append((f"count{layout.id}", "<i4"))
        types.append((f"a{layout.id}", _item_type(layout), (len(activities[layout.id]),)))  # type: ignore[arg-type]
    records = np.zeros(SAMPLES + 1, dtype=np.dtype(types))
    seconds = np.arange(SAMPLES + 1) * STEP
    records["time"] = START + day * 86_400 + seconds
    records["uptime"] = (1_000_000 + day * 86_400 + seconds) * 100
    records["kind"] = w.STATS
    of_day = seconds % 86_400
    records["clock"] = np.stack([of_day // 3600, of_day // 60 % 60, of_day % 60], axis=1)
    for layout in LAYOUTS:
        if layout.has_count:
            records[f"count{layout.id}"] = len(activities[layout.id])
        for position, item in enumerate(activities[layout.id]):
            for name, amounts in item.items():
                records[f"a{layout.id}"][name][:, position] = _stored(layout.id, name, amounts)
    slots = {layout.id: len(activities[layout.id]) for layout in LAYOUTS}
    blank = {layout.id: [dict.fromkeys(layout.names.split(), 0)] * slots[layout.id] for layout in LAYOUTS}
    first = w.Stats(int(records["time"][0]), 0, blank)
    head = w.SaFile(LAYOUTS, [first], host=host.encode(), cpus=CPUS, slots=slots).head()
    return head + records.tobytes()


def _item_type(layout: w.Layout) -> np.dtype[np.void]:
    """A structure without padding inside, as sadc writes it; what the code pads at the end is named."""
    codes = _spelled(layout.code)
    names = layout.names.split()
    fields = [(name, _CODES[code]) for name, code in zip(names, codes, strict=False)]
    size = layout.struct("<", 8).size
    spare = size - np.dtype(fields).itemsize
    return np.dtype([*fields, ("spare", f"V{spare}")] if spare else fields)


def _spelled(code: str) -> Iterator[str]:
    """The letters of a code of `struct`, repeated as its digits say, without padding."""
    digits = ""
    for letter in code:
        if letter.isdigit():
            digits += letter
            continue
        yield from letter * int(digits or 1) if letter != "x" else ""
        digits = ""


def _stored(activity: int, name: str, amounts: Floats) -> npt.NDArray[np.uint64]:
    """What stands in the records: a gauge as it is, a counter summed up from some start."""
    if name in _GAUGES.get(activity, ()):
        return np.concatenate([amounts[:1], amounts]).astype(np.uint64)
    whole = np.concatenate([[1_000.0], np.round(np.maximum(amounts, 0))])
    return np.cumsum(whole).astype(np.uint64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--days", type=int, default=7)
    chosen = parser.parse_args()
    for planted in write_fleet(chosen.folder, chosen.hosts, chosen.days):
        print(planted.host, planted.day, planted.rule)


if __name__ == "__main__":
    main()
