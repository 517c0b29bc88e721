"""Writes to a volume with a snapshot copy the old data first: few small writes make much I/O below.

What it detects: below an LVM snapshot's origin (or a thin volume) the disks read what nobody above asked for,
at least the size of the writes and once in five writes, and move at least 3 times the bytes that all
volumes on them were asked for.

Why it matters: the first write to each chunk reads the chunk, writes it to the snapshot's store and notes it
there before the write itself may go on: one write of 4 kB becomes a read and two writes of the chunk's size.

When it is wrong: parity arrays below read and write on their own account as well (raid-partial-stripe-write
tells them by their members). A volume that the capture does not show may have asked for the rest; a backup
that reads the snapshot asks for its reads. Once every chunk was copied the penalty is over.

References: Documentation/admin-guide/device-mapper/snapshot.rst; lvcreate(8), --chunksize; LVM thin pools
copy in chunks of the pool, lvmthin(7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from iodiag.analysis.array.side_by_side import side_by_side
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import cite, say
from iodiag.analysis.measure.grading import when
from iodiag.analysis.states.service_times import counted
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import Floats, Table, stacked

_ORIGINS = ("snapshot-origin", "thin")
_CERTAIN_WRITES, _LEAST_WRITES = 200.0, 30.0
_DIRECTIONS = ("read", "write")


@dataclass(frozen=True)
class _Volume:
    """A volume with a snapshot, all that is asked of its disks, and these: samples of the same reports."""

    origin: DeviceSeries
    rows: Table
    asked: Sequence[Table]
    disks: Sequence[DeviceSeries]
    disk_rows: Sequence[Table]

    @property
    def writes(self) -> Floats:
        """Writes to the origin, counted in each sample; all requests where directions are not told apart."""
        column = "writes_per_s" if self.rows.has("writes_per_s") else "ios_per_s"
        return np.nan_to_num(counted(self.rows, column))

    @property
    def reads_unasked(self) -> float:
        """Reads of the disks that nobody asked for; NaN where reads are not counted apart."""
        if not all(rows.has("reads_per_s") for rows in (*self.asked, *self.disk_rows)):
            return float("nan")
        return float(self.unasked("reads_per_s").sum())

    def unasked(self, column: str) -> Floats:
        """How much more the disks did in each sample than they were asked for, by a rate's column."""
        below = sum(
            (np.nan_to_num(counted(rows, column)) for rows in self.disk_rows), np.zeros(len(self.rows))
        )
        above = sum((np.nan_to_num(counted(rows, column)) for rows in self.asked), np.zeros(len(self.rows)))
        return below - above

    def moved(self, tables: Sequence[Table]) -> Floats:
        """kB read and written in each sample."""
        columns = [f"{way}_kb_per_s" for way in _DIRECTIONS]
        parts = [np.nan_to_num(counted(rows, column)) for rows in tables for column in columns]
        return sum(parts, np.zeros(len(self.rows)))


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per volume whose writes make its disks copy chunks."""
    origins = [s for s in view.devices if s.device is not None and s.device.level in _ORIGINS]
    if not origins:
        reason = "no volume with a snapshot is known: dmsetup table would name it"
        yield Outcome(RULE.id, "not_applicable", (), reason, ("topology",))
    for origin in origins:
        volume = _volume(view, origin)
        if volume is None:
            reason = "its disks are not in the capture"
            yield Outcome(RULE.id, "undetermined", (origin.name,), reason, ("topology",))
        elif volume.writes.sum() < _LEAST_WRITES:
            reason = "hardly anything was written to it; capture while it is"
            yield Outcome(RULE.id, "undetermined", (origin.name,), reason)
        elif _copies(volume, limits):
            yield _finding(volume, limits)
        else:
            reason = "its disks do about what they are asked for"
            yield Outcome(RULE.id, "clear", (origin.name,), reason)


def _volume(view: View, origin: DeviceSeries) -> _Volume | None:
    """The volume with all topmost devices on its disks, in samples with writes to it."""
    disks = [s for leaf in origin.leaves if (s := view.series(leaf.name)) is not None]
    if not disks or len(disks) < len(origin.leaves) or any(disk is origin for disk in disks):
        return None
    below = {disk.name for disk in disks}
    others = [
        series
        for series in view.devices
        if series is not origin and not view.topology.parents(series.name) and _stands_on(series, below)
    ]
    first, *rest = side_by_side([origin, *others, *disks])
    is_written = np.nan_to_num(first.floats("write_kb_per_s")) > 0
    if not is_written.any():
        return _Volume(origin, first[:0], (), disks, [rows[:0] for rows in rest[len(others) :]])
    parts = [rows[is_written] for rows in (first, *rest)]
    count = 1 + len(others)
    return _Volume(origin, parts[0], parts[:count], disks, parts[count:])


def _stands_on(series: DeviceSeries, names: set[str]) -> bool:
    return series.name not in names and any(leaf.name in names for leaf in series.leaves)


def _copies(volume: _Volume, limits: Limits) -> bool:
    writes, asked = volume.writes.sum(), volume.moved(volume.asked).sum()
    # where the bytes of reads are not printed, their number and the bytes written tell
    has_bytes = all(rows.has("read_kb_per_s") for rows in volume.disk_rows)
    read_kb = volume.unasked("read_kb_per_s").sum() if has_bytes else np.inf
    written_kb = np.nan_to_num(counted(volume.rows, "write_kb_per_s")).sum()
    return bool(
        (
            volume.reads_unasked >= limits.reads / 100 * writes
            or (np.isnan(volume.reads_unasked) and has_bytes)
        )
        and read_kb >= written_kb
        and volume.moved(volume.disk_rows).sum() >= limits.amplified * asked
    )


def _finding(volume: _Volume, limits: Limits) -> Finding:
    writes, reads = volume.writes.sum(), volume.reads_unasked
    read_kb = volume.unasked("read_kb_per_s").sum()
    asked, moved = volume.moved(volume.asked).sum(), volume.moved(volume.disk_rows).sum()
    waited, below = (_write_ms([rows]) for rows in (volume.rows, stacked(list(volume.disk_rows))))
    values: dict[str, Any] = {
        "origin": volume.origin.name,
        "disks": ", ".join(disk.name for disk in volume.disks[:4]),
        "writes": writes / weighted.seconds_or_one(volume.rows).sum(),
        "size": np.nan_to_num(counted(volume.rows, "write_kb_per_s")).sum() / writes,
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
    is_slow = waited >= limits.warning_ms and not waited < 1.5 * below
    sure: Confidence = "high" if writes >= _CERTAIN_WRITES else "medium"
    read = " and read {per_write:.0f} kB per write that nobody asked for" if read_kb > 0 else ""
    wait = " Each takes {waited:.3g} ms." if not np.isnan(waited) else ""
    return RULE.finding(
        limits,
        severity="warning" if is_slow else "notice",
        confidence=sure,
        devices=(volume.origin.name,),
        peers=tuple(disk.name for disk in volume.disks),
        **when(volume.rows),
        summary=say(
            "{writes:.1f} writes/s of {size:.1f} kB to {origin} make {disks} move {times:.3g} times "
            "the bytes asked for"
            + read
            + ", in {shown} of {of} samples: its snapshot copies chunks first."
            + wait,
            values,
        ),
        evidence=tuple(_evidence(volume, values)),
        refutes=("another volume on the same disks that the capture does not show",),
        cannot_know=("how many chunks are left to copy: lvs shows how full the snapshot is",),
        confirm=(
            f"dmsetup table /dev/{volume.origin.name}",
            "dmsetup status --target snapshot",
            "lvs -o name,origin,snap_percent,chunk_size",
        ),
    )


def _write_ms(tables: Sequence[Table]) -> float:
    """Latency of writes, of all requests where directions are not told apart."""
    (rows,) = tables
    own = weighted.mean(rows, "write_await_ms")
    return weighted.mean(rows, "latency_ms") if np.isnan(own) else own


def _evidence(volume: _Volume, values: dict[str, Any]) -> Iterator[Evidence]:
    disks = stacked(list(volume.disk_rows))
    yield cite(volume.rows, "{origin}: {writes:.1f} writes/s of {size:.1f} kB", values, worst="writes_per_s")
    text = "{disks}: {moved:.0f} kB per sample, where all volumes on it asked for {asked:.0f}"
    yield cite(disks, text, values, worst="read_kb_per_s")
    if values["chunk"] > 0:
        yield cite(disks, "reads that nobody asked for are of {chunk:.0f} kB, a chunk each", values)
    if values["waited"] > values["below"]:
        yield cite(volume.rows, "a write takes {waited:.3g} ms above, {below:.3g} ms on the disk", values)


RULE = Rule(
    id="copy-on-write-penalty",
    role="cause",
    explains=(
        "symptom",
        "true-saturation",
        "approaching-saturation",
        "latency-above-baseline",
        "flush-latency",
    ),
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
