"""Large inputs from real captures: the samples' rows and records, scaled at random from a seed."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

import numpy as np

import iodiag
from iodiag.formats.sa._activities import structure
from iodiag.formats.sa._header import read_header
from iodiag.formats.sa._records import walk

SAMPLES = Path(__file__).parents[2] / "samples"
IOSTAT = SAMPLES / "cases" / "raid5-small-writes" / "iostat.txt"
SA = SAMPLES / "sa" / "0x2175-sysstat-12.6.1.bin"
DEVICES = tuple(f"sd{letter}" for letter in "abcdefghijklmnopqrstuvwx")
MB = 1_000_000
_FROM = datetime(2026, 11, 20, 12, 44, 40)
_SCALED = re.compile(r"[rwdf]/s|[rwd]kB/s|[rwd]rqm/s|aqu-sz|%util")
_DISK, _CPU = 11, 1
_STEP_S = 10


def iostat_text(path: Path, size: int, seed: int = 1) -> None:
    """`iostat -x -t 1` of 24 disks, at least `size` bytes.

    Every row is a row of the sample with its rates, queue and utilisation multiplied by one
    factor, so that sizes and latencies stay true to each other.
    """
    choose = np.random.default_rng(seed)
    written = 0
    with path.open("wb") as out:
        for report in _iostat_reports(choose):
            written += out.write(report)
            if written >= size:
                return


def many_devices(path: Path, count: int, seed: int = 1) -> None:
    """`iostat -x -t 1` of so many disks, five reports of each."""
    devices = tuple(f"disk{number}" for number in range(count))
    reports = _iostat_reports(np.random.default_rng(seed), devices)
    path.write_bytes(b"".join(islice(reports, 6)))


def many_hosts(path: Path, count: int, seed: int = 1) -> None:
    """`iostat -x -t 1` of so many hosts with 24 disks, ten reports of each, one below the other."""
    with path.open("wb") as out:
        for number in range(count):
            reports = _iostat_reports(np.random.default_rng(seed), host=f"host{number}")
            out.writelines(islice(reports, 11))


def _iostat_reports(
    choose: np.random.Generator, devices: Sequence[str] = DEVICES, host: str = "labguest"
) -> Iterator[bytes]:
    """The banner, and then reports without end."""
    lines = IOSTAT.read_text().splitlines()
    yield f"{lines[0]}\n\n".replace("labguest", host).encode()
    cpu_header = next(line for line in lines if line.startswith("avg-cpu"))
    header = next(line for line in lines if line.startswith("Device"))
    rows = [line.split()[1:] for line in lines if re.match(r"(sd|md)", line)]
    pool = np.array(rows, dtype=np.float64)
    names = header.split()[1:]
    scaled = np.array([bool(_SCALED.fullmatch(name)) for name in names])
    utilisation = names.index("%util")
    widths = [len(match) for match in re.findall(r"\s+\S+", header)]
    row = "%-16s" + "".join(f"%{width}.2f" for width in [widths[0] + 6 - 16, *widths[1:]]) + "\n"
    number = 0
    while True:
        number += 1
        picked = pool[choose.integers(0, len(pool), len(devices))]
        factors = choose.lognormal(0.0, 0.7, len(devices))
        values = np.where(scaled, picked * factors[:, None], picked)
        values[:, utilisation] = np.minimum(values[:, utilisation], 100.0)
        user, system, waiting = choose.dirichlet((2.0, 1.0, 1.0, 6.0))[:3] * 100
        clock = f"{_FROM + timedelta(seconds=number):%m/%d/%y %H:%M:%S}"
        shares = (user, 0.0, system, waiting, 0.0, 100.0 - user - system - waiting)
        parts = [f"{clock}\n{cpu_header}\n", " " * 8, "".join(f"{share:8.2f}" for share in shares)]
        parts.append(f"\n\n{header}\n")
        parts += [row % (name, *cells) for name, cells in zip(devices, values.tolist(), strict=True)]
        yield "".join([*parts, "\n\n"]).encode()


def wrapped(text: Path, path: Path) -> None:
    """The same capture with each device's numbers on a line of their own, as old releases wrap long names."""
    path.write_bytes(re.sub(rb"(?m)^(sd\w+) +", rb"\1\n                 ", text.read_bytes()))


def squeezed(plain: Path, path: Path) -> None:
    """The file gzipped."""
    path.write_bytes(gzip.compress(plain.read_bytes(), compresslevel=6, mtime=0))


def sa_binary(path: Path, size: int, seed: int = 1) -> None:
    """A file of sadc with all activities and 24 disks, at least `size` bytes, a record every 10 s.

    It is the sample's file header and first record, again and again, with all counters growing;
    gauges stay as they were.
    """
    choose = np.random.default_rng(seed)
    data = SA.read_bytes()
    header = read_header(str(SA), data)
    segment = walk(header, data)[0][0]
    run = segment.runs[0]
    begin, end = run.at, run.at + run.size
    at = {a.id: begin + place for a, place in zip(header.activities, run.places, strict=True)}
    disk = next(activity for activity in header.activities if activity.id == _DISK)
    cut, rest = at[_DISK] - 4, at[_DISK] + run.counts[header.activities.index(disk)] * disk.size
    one = data[at[_DISK] : at[_DISK] + disk.size]
    template = data[begin:cut] + len(DEVICES).to_bytes(4, "little") + one * len(DEVICES) + data[rest:end]
    count = -(-size // len(template))
    records = np.tile(np.frombuffer(template, dtype=np.uint8), (count, 1))
    added = len(template) - (end - begin)
    for number, activity in enumerate(header.activities):
        view = structure(activity, header.order, header.long_bytes)
        place = run.places[number] + (added if at[activity.id] > at[_DISK] else 0)
        items = len(DEVICES) if activity.id == _DISK else run.counts[number]
        for item in range(items * activity.subitems):
            where = place + item * activity.size
            block = records[:, where : where + activity.size]
            assert view is not None
            _grow(np.ndarray((count,), view, records, where, (records.shape[1],)), activity.id, item, choose)
            assert block.shape[1] == activity.size
    _set_clocks(records, int(segment.time[0]))
    path.write_bytes(data[:begin] + records.tobytes())


def _grow(stored: np.ndarray, activity: int, item: int, choose: np.random.Generator) -> None:
    """Let the counters of one item grow from record to record."""
    count = len(stored)
    for name in stored.dtype.names or ():
        if activity == _DISK and name in ("major", "minor"):
            stored[name] = 8 if name == "major" else 16 * item
        elif activity == _CPU:
            share = 700 if name == "idle" else 40
            stored[name] += np.cumsum(choose.integers(0, share, count)).astype(stored[name].dtype)
        elif name.endswith(("/s", "_ticks")) or name == "tps":
            stored[name] += np.cumsum(choose.integers(0, 2000, count)).astype(stored[name].dtype)


def _set_clocks(records: np.ndarray, start: int) -> None:
    """Uptime (1/100 s), time, and the clock on the wall of each record's header."""
    seconds = np.arange(len(records), dtype=np.int64) * _STEP_S
    words = records[:, :16].copy().view("<u8")
    words[:, 0] += (seconds * 100).astype(np.uint64)
    words[:, 1] = (start + seconds).astype(np.uint64)
    records[:, :16] = words.view(np.uint8)
    of_day = (start + seconds) % 86400
    for place, part in ((21, of_day // 3600), (22, of_day // 60 % 60), (23, of_day % 60)):
        records[:, place] = part


def rendered(command: list[str], path: Path) -> None:
    """What sar or sadf of this machine print of a binary file, in the C locale."""
    with path.open("wb") as out:
        subprocess.run(command, stdout=out, env=plain_environment(), check=True)


def plain_environment() -> dict[str, str]:
    """The environment with this very iodiag, and clocks and numbers that do not depend on who runs this.

    Python may keep its bytecode, as it does for whoever installs a package.
    """
    package = str(Path(iodiag.__file__).parents[1])
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"LC_ALL": "C", "S_TIME_FORMAT": "ISO", "TZ": "UTC", "PYTHONPATH": package}
