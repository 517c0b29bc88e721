"""Service times of each class of device, from how the class works; what varies between models is drawn.

Sources: data sheets of disks of 5,400 to 15,000 rpm (average seek 3.5 to 9 ms, half a turn of latency, 80 to
220 MB/s), of SATA and NVMe flash (60 to 150 and 60 to 120 us a read, the link's rate), reviews of USB sticks
and SD cards (erase blocks make some small writes take 50 to 300 ms), documentation of cloud volumes (0.4 to
2 ms, limits on operations and bytes per second that hold for reads and writes together).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

from evaluation.exam.engine import Clock, Request, Station, Submit, delay, through

MB = 1024.0
"""kB in a MB, as iostat counts them."""


@dataclass(frozen=True)
class Kind:
    """A class of device: its usual names, whether lsblk says that it spins, how it is built."""

    names: tuple[str, ...]
    spins: bool
    build: Callable[[Clock, Random, Random], Submit]
    """From a clock, what draws the model (equal seeds, equal models), and what draws each request's time."""

    servers: int
    """How many requests it works on at once."""

    usual_ms: float
    """About what a small read takes without a queue, for choosing rates; nothing is judged by it."""


def hard_disk(clock: Clock, model: Random, rng: Random) -> Submit:
    """One arm: seek by distance, half a turn, transfer. A queue lets the drive choose the nearest request."""
    turn = 60 / model.choice([5400, 7200, 7200, 10000, 15000])
    full_stroke = model.uniform(0.009, 0.016)
    rate = model.uniform(80, 220) * MB
    caches_writes = model.random() < 0.7
    arm = 0.5

    def service(request: Request, waiting: int) -> float:
        nonlocal arm
        transfer = request.size_kb / rate
        if request.follows:
            return 5e-5 + transfer
        seek = 0.0008 + full_stroke * abs(request.place - arm) ** 0.5
        arm = request.place
        position = seek + rng.random() * turn
        if request.is_synced:
            # to the platter, and to where the file system keeps its journal and back
            return position + turn * rng.uniform(0.5, 1.5) + transfer
        if request.kind == "write" and caches_writes:
            waiting += 16
        return position * (1 + min(waiting, 31)) ** -0.25 + transfer

    return Station(clock, 1, service).submit


def sata_flash(clock: Clock, model: Random, rng: Random) -> Submit:
    read, write = model.uniform(6e-5, 1.5e-4), model.uniform(4e-5, 1e-4)
    flush = model.uniform(6e-4, 4e-3)
    link, program = model.uniform(480, 540) * MB, model.uniform(120, 450) * MB
    return _flash(clock, rng, 8, read, write, flush, link, program)


def nvme_flash(clock: Clock, model: Random, rng: Random) -> Submit:
    read, write = model.uniform(6e-5, 1.2e-4), model.uniform(1.2e-5, 3e-5)
    flush = model.uniform(4e-4, 2e-3)
    link, program = model.uniform(2000, 6500) * MB, model.uniform(800, 3000) * MB
    return _flash(clock, rng, 64, read, write, flush, link, program)


def _flash(
    clock: Clock,
    rng: Random,
    channels: int,
    read: float,
    write: float,
    flush: float,
    link: float,
    program: float,
) -> Submit:
    """Channels side by side, then one link; sustained writes pass at the rate of programming.

    The rate of programming wobbles: the device erases blocks and moves what is still in use.
    """
    pace, count = 1.0, 0

    def service(request: Request, waiting: int) -> float:
        mean = read if request.kind == "read" else write + (flush if request.is_synced else 0)
        return rng.gammavariate(6, mean / 6)

    def transfer(request: Request, waiting: int) -> float:
        nonlocal pace, count
        count += 1
        if count % 100 == 0:
            pace = rng.lognormvariate(0, 0.15)
        return 1e-6 + request.size_kb / (link if request.kind == "read" else program * pace)

    return through(Station(clock, channels, service).submit, Station(clock, 1, transfer).submit)


def usb_stick(clock: Clock, model: Random, rng: Random) -> Submit:
    return _card(clock, model, rng, model.uniform(15, 33), model.uniform(4, 12), 0.1)


def sd_card(clock: Clock, model: Random, rng: Random) -> Submit:
    return _card(clock, model, rng, model.uniform(18, 85), model.uniform(8, 25), 0.05)


def _card(clock: Clock, model: Random, rng: Random, read_mb: float, write_mb: float, erases: float) -> Submit:
    """One request at a time; a share of the small writes waits for an erase block."""
    access, program = model.uniform(5e-4, 1.5e-3), model.uniform(1.5e-3, 5e-3)

    def service(request: Request, waiting: int) -> float:
        if request.kind == "read":
            return rng.gammavariate(6, access / 6) + request.size_kb / (read_mb * MB)
        erase = rng.uniform(0.05, 0.3) if rng.random() < (erases / 4 if request.follows else erases) else 0
        return rng.gammavariate(3, program / 3) + request.size_kb / (write_mb * MB) + erase

    return Station(clock, 1, service).submit


def volume(clock: Clock, model: Random, rng: Random, per_s: float = 64e3, mb_per_s: float = 4e3) -> Submit:
    """A network volume: a latency, then limits on operations and on bytes, for both directions together."""
    usual = model.uniform(4e-4, 1.5e-3)
    latency = delay(clock, lambda request: usual * rng.lognormvariate(0, 0.25))
    operations = Station(clock, 1, lambda request, waiting: max(1.0, request.size_kb / 256) / per_s)
    data = Station(clock, 1, lambda request, waiting: request.size_kb / (mb_per_s * MB))
    return through(operations.submit, through(data.submit, latency))


KINDS: Mapping[str, Kind] = {
    "HDD": Kind(("sda", "sdb", "hda"), True, hard_disk, 1, 9.0),
    "SATA SSD": Kind(("sda", "sdb"), False, sata_flash, 8, 0.12),
    "NVMe": Kind(("nvme0n1", "nvme1n1"), False, nvme_flash, 64, 0.1),
    "volume": Kind(("vda", "vdb", "xvdf", "sdc"), False, volume, 64, 1.0),
    "USB stick": Kind(("sdb", "sdc"), True, usb_stick, 1, 1.5),
    "SD card": Kind(("mmcblk0",), False, sd_card, 1, 1.2),
}
