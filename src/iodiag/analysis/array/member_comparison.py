"""Devices that carry the same load, compared: which is slower than the rest, how often, by how much.

Peers are the legs of an array, the disks below them, and, where no array is known, disks whose
rates are equal. A leg's latency means something only against others at the same load, in the same
samples; so ratios are taken sample by sample, and loads are held against each other over the window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from iodiag.analysis.array.equal_rates import equal_rates
from iodiag.analysis.array.members import Array, arrays
from iodiag.analysis.array.side_by_side import side_by_side
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.windows import longest_stretch, seconds
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.units import HALF_DIGIT
from iodiag.table.table import Floats, Table

_SAME_MIX = 0.1
_LONG_SAMPLES, _LONG_SECONDS = 8, 60.0
"""A stretch within a longer capture counts from eight samples and a minute on: less is chance."""


@dataclass(frozen=True)
class Peers:
    """Devices to compare; `array` is what they are legs of, None for disks of equal rates."""

    devices: tuple[DeviceSeries, ...]
    array: Array | None = field(repr=False)
    are_legs: bool = True

    @property
    def is_stated(self) -> bool:
        """Whether an input says that they belong together."""
        return self.array is not None and self.array.is_stated


@dataclass(frozen=True)
class Comparison:
    """One peer, `slow`, against the rest over a window.

    `rows` are the samples per peer, row by row the same reports; `latency` and `rate` name the
    columns compared. `ratios` is the slow one's latency over the median of the others', per sample.
    `slowest_share` is the share of samples in which it is the slowest, `load_spread` how far the loads
    are apart as a share of their mean, `is_equal_load` whether that is within chance.
    """

    peers: Peers
    slow: int
    rows: tuple[Table, ...] = field(repr=False)
    latency: str
    rate: str
    ratios: Floats = field(repr=False)
    slowest_share: float
    load_spread: float
    is_equal_load: bool

    @property
    def slow_series(self) -> DeviceSeries:
        """The slow one."""
        return self.peers.devices[self.slow]

    @property
    def window(self) -> Table:
        """The samples of the slow one."""
        return self.rows[self.slow]

    @property
    def latencies(self) -> list[float]:
        """The mean latency per peer, weighted by requests."""
        return [weighted.mean(rows, self.latency) for rows in self.rows]

    @property
    def requests(self) -> float:
        """How many requests the least loaded peer served; per second counted once where T is unknown."""
        counts = []
        for rows in self.rows:
            lengths = weighted.seconds_or_one(rows)
            counts.append(float(np.nansum(rows.floats(self.rate) * lengths)))
        return min(counts)

    @property
    def captures(self) -> int:
        """From how many captures the samples are."""
        return len(np.unique(self.window["stream"]))


def peer_groups(view: View) -> Iterator[Peers]:
    """The legs of each array, the disks below them where they have samples, and disks of equal rates."""
    taken: set[frozenset[str]] = set()
    claimed: set[str] = set()
    for array in arrays(view):
        if not array.has_peers or array.missing:
            continue
        below = tuple(_bottom(view, leg) for leg in array.legs)
        disks = tuple(disk for disk in below if disk is not None)
        groups = [Peers(array.legs, array)]
        if len({disk.name for disk in disks}) == len(array.legs):
            groups.append(Peers(disks, array, are_legs=False))
        for group in groups:
            names = frozenset(device.name for device in group.devices)
            claimed |= names
            if names not in taken:
                taken.add(names)
                yield group
    free = [series for series in view.devices if series.name not in claimed and not series.is_stacked]
    for cluster in equal_rates(free):
        if len(cluster) >= 3:
            yield Peers(cluster, None)


def _bottom(view: View, leg: DeviceSeries) -> DeviceSeries | None:
    leaves = view.topology.leaves(leg.name)
    return view.series(leaves[0].name) if len(leaves) == 1 else None


def comparisons(peers: Peers, ratio: float, persistence: float) -> Iterator[Comparison]:
    """The slowest peer over all samples under load, then by capture, then over the longest slow stretch."""
    rows = side_by_side(peers.devices)
    columns = _comparable(rows)
    if columns is None:
        return
    latency, rate = columns
    waits = np.array([own.floats(latency) for own in rows])
    rates = np.array([own.floats(rate) for own in rows])
    lengths = weighted.seconds_or_one(rows[0])
    loaded = np.asarray((rates * lengths >= 1).all(axis=0) & (waits > 0).all(axis=0))
    if not loaded.any():
        return
    rows = [own[loaded] for own in rows]
    ratios = _ratios(waits[:, loaded])
    slow = int(np.argmax(np.median(ratios, axis=1)))
    whole = _comparison(peers, slow, rows, ratios, columns)
    yield whole
    if np.median(whole.ratios) >= ratio and whole.slowest_share >= persistence:
        return
    yield from _by_capture(peers, rows, ratios, columns)
    for number in range(len(rows)):
        mask = (ratios[number] >= ratio) & (ratios[number] == ratios.max(axis=0))
        stretch = longest_stretch(rows[number], mask)
        if stretch is None or stretch.stop - stretch.start < _LONG_SAMPLES:
            continue
        if seconds(rows[number][stretch]) >= _LONG_SECONDS:
            yield _comparison(peers, number, [own[stretch] for own in rows], ratios[:, stretch], columns)


def _by_capture(
    peers: Peers, rows: Sequence[Table], ratios: Floats, columns: tuple[str, str]
) -> Iterator[Comparison]:
    """Each capture by itself, where there are several: their loads may have been others."""
    of = rows[0]["stream"]
    streams = np.unique(of)
    for stream in streams if len(streams) > 1 else ():
        is_own = of == stream
        own = ratios[:, is_own]
        slow = int(np.argmax(np.median(own, axis=1)))
        yield _comparison(peers, slow, [one[is_own] for one in rows], own, columns)


def _comparison(
    peers: Peers, slow: int, rows: Sequence[Table], ratios: Floats, columns: tuple[str, str]
) -> Comparison:
    """The comparison over some samples, of which `ratios` has a row per peer."""
    latency, rate = columns
    found = Comparison(
        peers=peers,
        slow=slow,
        rows=tuple(rows),
        latency=latency,
        rate=rate,
        ratios=ratios[slow],
        slowest_share=float(((ratios[slow] == ratios.max(axis=0)) & (ratios[slow] > 1)).mean()),
        load_spread=_load_spread(rows),
        is_equal_load=False,
    )
    chance = 3 / np.sqrt(max(found.requests, 1.0))
    return replace(found, is_equal_load=found.load_spread <= _SAME_MIX + chance)


def _ratios(waits: Floats) -> Floats:
    """Each peer's latency over the median of the others', at the end of its rounding that favours it."""
    others = np.array([np.median(np.delete(waits, n, axis=0), axis=0) for n in range(len(waits))])
    return np.asarray((waits - HALF_DIGIT) / (others + HALF_DIGIT))


def _comparable(rows: Sequence[Table]) -> tuple[str, str] | None:
    """The latency and rate columns in which the peers can be compared, or None.

    The mixed latency will do where all have the same mix of directions; else one direction's own.
    """
    shares = [_read_share(frame) for frame in rows]
    if max(shares) - min(shares) <= _SAME_MIX:
        return "await_ms", "ios_per_s"
    if not all(_splits_requests(frame) for frame in rows):
        return None
    totals = {
        name: min(weighted.mean(frame, f"{name}s_per_s") for frame in rows) for name in ("read", "write")
    }
    known = {name: rate for name, rate in totals.items() if rate > 0}
    if not known:
        return None
    name = max(known, key=lambda key: known[key])
    return f"{name}_await_ms", f"{name}s_per_s"


def _read_share(frame: Table) -> float:
    """Share of reads in the requests; in the bytes, where requests are not told apart."""
    reads, writes = weighted.mean(frame, "reads_per_s"), weighted.mean(frame, "writes_per_s")
    if not _splits_requests(frame):
        reads, writes = weighted.mean(frame, "read_kb_per_s"), weighted.mean(frame, "write_kb_per_s")
    return reads / (reads + writes) if reads + writes > 0 else 0.0


def _splits_requests(frame: Table) -> bool:
    """Whether every sample tells reads from writes: sar does only where all go one way."""
    return not np.isnan(frame.floats("reads_per_s")).any()


def _load_spread(rows: Sequence[Table]) -> float:
    """How far the loads are apart: bytes, and requests as they were before merging."""
    loads = [[weighted.mean(frame, "kb_per_s") for frame in rows]]
    merges = [
        weighted.mean(frame, "read_merges_per_s") + weighted.mean(frame, "write_merges_per_s")
        for frame in rows
    ]
    if not np.isnan(merges).any():
        counts = [weighted.mean(frame, "ios_per_s") for frame in rows]
        loads.append([count + merged for count, merged in zip(counts, merges, strict=True)])
    return max((max(load) - min(load)) / max(float(np.mean(load)), 1e-9) for load in loads)
