"""Writes to a volume with a snapshot copy the old data first: few small writes make much I/O below.

What it detects: below an LVM snapshot's origin (or a thin volume) the disks read what nobody above asked for,
at least the size of the writes and once in five writes, and move at least 3 times the bytes that all
volumes on them were asked for (less the error of so few writes). Where no input names volumes, three devices
tell by their rates: one is written as another one is (±5 %), which also reads chunks that nobody asked for,
and a third is written what was read.

Why it matters: the first write to each chunk reads the chunk, writes it to the snapshot's store and notes it
there before the write itself may go on: one write of 4 kB becomes a read and two writes of the chunk's size.

When it is wrong: parity arrays below read and write on their own account as well: then the array stands for
its disks. A cache (dm-cache) that copies what is written to has the same rates. A volume that the capture
does not show may have asked for the rest; a backup that reads the snapshot asks for its reads. Once every
chunk was copied the penalty is over.

References: Documentation/admin-guide/device-mapper/snapshot.rst; lvcreate(8), --chunksize; LVM thin pools
copy in chunks of the pool, lvmthin(7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from iodiag.analysis.array.array_commands import mapper_path
from iodiag.analysis.array.side_by_side import side_by_side
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import cite, say
from iodiag.analysis.measure.grading import device_fields
from iodiag.analysis.states.service_times import events_per_sample, relative_error
from iodiag.analysis.view.device_names import is_md, is_physical
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Floats, Table, stacked

_ORIGINS = ("snapshot-origin", "thin")
_CERTAIN_WRITES, _LEAST_WRITES = 200.0, 5.0
_MOST_DEVICES = 32
_ALIKE = 0.05
_CHUNK, _KEPT, _MOST_READS, _SLOWER = 4.0, (0.8, 2.5), 1.1, 1.5
"""A chunk is larger than a write, read once for it at most, and written with one of metadata at most."""


@dataclass(frozen=True)
class _Volume:
    """A volume with a snapshot, all that is asked of its disks, and these: samples of the same reports.

    Without `is_stated` the `disks` are the devices that read the chunks and that keep them, by their rates.
    """

    origin: DeviceSeries
    rows: Table
    asked: Sequence[Table]
    disks: Sequence[DeviceSeries]
    disk_rows: Sequence[Table]
    is_stated: bool = True

    @property
    def writes(self) -> Floats:
        """Writes to the origin, counted in each sample; all requests where directions are not told apart."""
        writes = events_per_sample(self.rows, "writes_per_s")
        return np.nan_to_num(np.where(np.isnan(writes), events_per_sample(self.rows), writes))

    @property
    def reads_unasked(self) -> float:
        """Reads of the disks that nobody asked for; NaN where reads are not counted apart in each sample."""
        if any(np.isnan(rows.floats("reads_per_s")).any() for rows in (*self.asked, *self.disk_rows)):
            return float("nan")
        return float(self.unasked("reads_per_s").sum())

    def unasked(self, column: str) -> Floats:
        """How much more the disks did in each sample than they were asked for, by a rate's column."""
        return self._total(self.disk_rows, column) - self._total(self.asked, column)

    def moved(self, tables: Sequence[Table]) -> Floats:
        """kB read and written in each sample."""
        return self._total(tables, "read_kb_per_s", "write_kb_per_s")

    def _total(self, tables: Sequence[Table], *columns: str) -> Floats:
        parts = [np.nan_to_num(events_per_sample(rows, column)) for rows in tables for column in columns]
        return sum(parts, np.zeros(len(self.rows)))


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per volume whose writes make its disks copy chunks."""
    origins = [series for series in view.devices if _is_origin(series)]
    inferred = [] if origins else list(_by_rates(view, limits))
    for volume in inferred:
        yield _finding(volume, limits)
    if not (origins or inferred):
        reason = "no volume with a snapshot is known: dmsetup table would name it"
        yield RULE.not_applicable(reason, missing=("topology",))
    for origin in origins:
        known = _volume(view, origin)
        if known is None:
            yield RULE.undetermined("its disks are not in the capture", origin.name, missing=("topology",))
        elif known.writes.sum() < _LEAST_WRITES:
            yield RULE.undetermined("hardly anything was written to it; capture while it is", origin.name)
        elif _copies(known, limits):
            yield _finding(known, limits)
        else:
            yield RULE.clear("its disks do about what they are asked for", origin.name)


def _is_origin(series: DeviceSeries) -> bool:
    """Whether an input says that the device has snapshots, or LVM's names do (X on X-real)."""
    device = series.device
    if device is None:
        return False
    members = [member for name in device.members if (member := series.topology.find(name)) is not None]
    names = {f"{name}-real" for name in (device.name, *device.aliases)}
    return device.level in _ORIGINS or any(names & {one.name, *one.aliases} for one in members)


def _by_rates(view: View, limits: Limits) -> Iterator[_Volume]:
    """Devices that are written alike, of which one reads chunks that a third device is written."""
    mapped = [s for s in view.devices if not is_physical(s.name) and not is_md(s.name) and len(s.loaded)]
    if not 3 <= len(mapped) <= _MOST_DEVICES:
        return
    for origin, real in permutations(mapped, 2):
        if not _are_written_alike(origin, real):
            continue
        for store in mapped:
            if store is origin or store is real:
                continue
            others = [one for one in mapped if one not in (origin, real, store)]
            volume = _written(origin, others, (real, store), is_stated=False)
            if volume.writes.sum() >= _LEAST_WRITES and _keeps(volume) and _copies(volume, limits):
                yield volume
                return


def _are_written_alike(one: DeviceSeries, other: DeviceSeries) -> bool:
    first, second = (weighted.mean(series.samples, "write_kb_per_s") for series in (one, other))
    rates = [weighted.mean(series.samples, "ios_per_s") for series in (one, other)]
    return first > 0 and abs(second - first) <= _ALIKE * first and rates[1] > rates[0]


def _keeps(volume: _Volume) -> bool:
    """Whether one device reads a chunk per write at most, which another one is written, and the writes wait.

    A mirror that is synchronised reads more than it is asked to write, or its writes take no longer.
    """
    real, store = volume.disk_rows
    read_kb, requests = (float(volume.unasked(name).sum()) for name in ("read_kb_per_s", "ios_per_s"))
    kept_kb, kept = (np.nansum(events_per_sample(store, name)) for name in ("write_kb_per_s", "ios_per_s"))
    written_kb = np.nansum(events_per_sample(volume.rows, "write_kb_per_s"))
    # the requests beyond those asked for are reads of chunks and writes to the store
    reads, writes = max(requests - float(kept), 1.0), volume.writes.sum()
    is_chunk = read_kb / reads >= _CHUNK * written_kb / writes and reads <= _MOST_READS * writes
    is_slower = _write_ms(volume.rows) >= _SLOWER * _write_ms(real)
    return bool(is_chunk and is_slower and _KEPT[0] * read_kb <= kept_kb <= _KEPT[1] * read_kb)


def _volume(view: View, origin: DeviceSeries) -> _Volume | None:
    """The volume with all topmost devices on its disks, in samples with writes to it."""
    names = _bottom(origin)
    disks = [s for name in names if (s := view.series(name)) is not None]
    if not disks or len(disks) < len(names) or any(disk is origin for disk in disks):
        return None
    below = {disk.name for disk in disks}
    others = [
        series
        for series in view.devices
        if series is not origin
        and not view.topology.parents(series.name)
        and series.name not in below
        and not below.isdisjoint(_bottom(series))
    ]
    return _written(origin, others, disks)


def _written(
    origin: DeviceSeries,
    others: Sequence[DeviceSeries],
    disks: Sequence[DeviceSeries],
    is_stated: bool = True,
) -> _Volume:
    """The samples with writes to the volume, of all that asks the same disks, and of these."""
    parts = side_by_side([origin, *others, *disks])
    is_written = np.nan_to_num(parts[0].floats("write_kb_per_s")) > 0
    parts = [rows[is_written] for rows in parts]
    count = 1 + len(others)
    return _Volume(origin, parts[0], parts[:count], disks, parts[count:], is_stated)


def _bottom(origin: DeviceSeries) -> list[str]:
    """The disks below a device; a parity array, which reads on its own account, stands for its disks."""
    found: list[str] = []
    todo, seen = [origin.name], set[str]()
    while todo:
        device = origin.topology.find(todo.pop())
        if device is None or device.name in seen:
            continue
        seen.add(device.name)
        if device.members and not device.parity_members:
            todo += device.members
        else:
            found.append(device.name)
    return found


def _copies(volume: _Volume, limits: Limits) -> bool:
    writes, asked = volume.writes.sum(), volume.moved(volume.asked).sum()
    least = volume.moved(volume.disk_rows).sum() * max(1 - relative_error(writes), 0.1)
    # where the bytes of reads are not printed, their number and the bytes written tell
    has_bytes = all(rows.has("read_kb_per_s") for rows in volume.disk_rows)
    read_kb = volume.unasked("read_kb_per_s").sum() if has_bytes else np.inf
    written_kb = np.nan_to_num(events_per_sample(volume.rows, "write_kb_per_s")).sum()
    return bool(
        (
            volume.reads_unasked >= limits.reads / 100 * writes
            or (np.isnan(volume.reads_unasked) and has_bytes)
        )
        and read_kb >= written_kb
        and least >= limits.amplified * asked
    )


def _finding(volume: _Volume, limits: Limits) -> Finding:
    values = _values(volume)
    waited, below = values["waited"], values["below"]
    is_slow = waited >= limits.warning_ms and not waited < 1.5 * below
    is_sure = volume.is_stated and volume.writes.sum() >= _CERTAIN_WRITES
    read = " and read {per_write:.0f} kB per {noun}" if values["per_write"] > 0 else ""
    wait = " Each {noun} takes {waited:.3g} ms." if not np.isnan(waited) else ""
    return RULE.finding(
        severity="warning" if is_slow else "notice",
        confidence="high" if is_sure else "medium",
        peers=tuple(disk.name for disk in volume.disks),
        **device_fields(volume.rows, volume.origin.name),
        summary=say(
            "{origin} has a snapshot that copies chunks before they are written: {writes:.1f} {noun}s/s of "
            "{size:.1f} kB make {disks} transfer {times:.3g} times the requested bytes"
            + read
            + ", in {shown} of {of} samples."
            + wait,
            values,
        ),
        evidence=tuple(_evidence(volume, values)),
        refutes=_REFUTES
        if volume.is_stated
        else (*_REFUTES, "dmsetup table that names a cache, no snapshot"),
        cannot_know=("how many chunks are left to copy: lvs shows how full the snapshot is",),
        confirm=(
            f"dmsetup table {mapper_path(volume.origin.name)}",
            f"dmsetup status {mapper_path(volume.origin.name)}",
            "lvs -o name,origin,snap_percent,chunk_size",
        ),
    )


_REFUTES = ("another volume on the same disks that the capture does not show",)


def _values(volume: _Volume) -> dict[str, Any]:
    writes, reads = volume.writes.sum(), volume.reads_unasked
    read_kb = volume.unasked("read_kb_per_s").sum()
    asked, moved = volume.moved(volume.asked).sum(), volume.moved(volume.disk_rows).sum()
    waited, below = (_write_ms(rows) for rows in (volume.rows, stacked(list(volume.disk_rows))))
    return {
        "origin": volume.origin.name,
        # sar counts both directions together: a few of them may be reads
        "noun": "request" if np.isnan(volume.rows.floats("writes_per_s")).any() else "write",
        "disks": ", ".join(disk.name for disk in volume.disks[:4]),
        "writes": writes / weighted.seconds_or_one(volume.rows).sum(),
        "size": np.nan_to_num(events_per_sample(volume.rows, "write_kb_per_s")).sum() / writes,
        "per_write": read_kb / writes,
        "chunk": read_kb / reads if reads > 0 else float("nan"),
        "times": moved / max(asked, 1e-9),
        "asked": asked / max(len(volume.rows), 1),
        "moved": moved / max(len(volume.rows), 1),
        "waited": waited,
        "below": below,
        "shown": len(volume.rows),
        "of": len(volume.origin.samples),
    }


def _write_ms(rows: Table) -> float:
    """Latency of writes, of all requests where directions are not told apart in each sample."""
    is_known = ~np.isnan(rows.floats("writes_per_s")).any() and rows.has("write_await_ms")
    return weighted.mean(rows, "write_await_ms" if is_known else "latency_ms")


def _evidence(volume: _Volume, values: dict[str, Any]) -> Iterator[Evidence]:
    disks = stacked(list(volume.disk_rows))
    yield cite(volume.rows, "{origin}: {writes:.1f} {noun}s/s of {size:.1f} kB", values, worst="writes_per_s")
    text = "{disks}: {moved:.0f} kB per sample, where all volumes on it asked for {asked:.0f}"
    yield cite(disks, text, values, worst="read_kb_per_s")
    if values["chunk"] > 0:
        yield cite(disks, "reads that nobody asked for are of {chunk:.0f} kB, a chunk each", values)
    if values["waited"] > values["below"]:
        yield cite(volume.rows, "a {noun} takes {waited:.3g} ms above, {below:.3g} ms below", values)
    if not volume.is_stated:
        text = "no input names {origin}'s snapshot: by their rates, {disks} copy for it what is written to it"
        yield cite(disks, text, values, weighs="against")


RULE = Rule(
    id="copy-on-write-penalty",
    explains=(*SYMPTOMS_AND_SATURATION, "latency-above-baseline", "flush-latency"),
    replaces=("layer-added-latency", "layer-iops-mismatch", "serialized-commit", "low-concurrency-bound"),
    title="Each write to a volume with a snapshot copies a chunk first",
    why="A small write becomes a read and two writes of the chunk's size, and waits for them.",
    remedy=(
        "Remove snapshots that are not needed any more: lvs -o name,origin,snap_percent shows them.",
        "Take backups from a snapshot quickly, or at the storage below, and drop it afterwards.",
        "Use thin snapshots, or a chunk size near that of the writes (lvcreate --chunksize 4k).",
    ),
    needs=Needs(one_of=({"disk": ("writes_per_s|ios_per_s", "write_kb_per_s")},)),
    thresholds={
        "amplified": Threshold(3, "x", "bytes on the disks over those asked for", "mirrors double them"),
        "reads": Threshold(20, "%", "unasked reads per write", "rewrites of copied chunks need none"),
        "warning_ms": Threshold(10, "ms", "per write that somebody pays for", "a seek and a turn of a disk"),
    },
    confirm=("dmsetup table", "lvs -o name,origin,snap_percent,chunk_size"),
    references=("https://docs.kernel.org/admin-guide/device-mapper/snapshot.html",),
    pictures=("stack",),
    to_clear=ToClear(samples=1, requests=100, columns=("write_kb_per_s",)),
    detect=detect,
)
