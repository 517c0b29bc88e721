"""How a device reads: the size of its reads, what merged, and how long it was busy with each."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values
from iodiag.analysis.measure.windows import MOST_WINDOWS, WINDOW_EXIT_SHARE, windows
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.capture import Fact
from iodiag.model.units import KB_PER_MB, KB_PER_PAGE
from iodiag.table.result_cache import cached
from iodiag.table.table import Table

PAGES_KB = (4.0, 8.0, 16.0, 32.0)
PAGE_TOLERANCE = 0.03
"""Reads within 3 % of a page's size in four samples of five are page reads (16 kB of InnoDB measure 15.9)."""

LEAST_READ_KB = 2.0
"""The page cache reads pages of 4 kB and more; means far below are no file's reads, or no true numbers."""

ONE_READER = 1.5
"""Requests in flight up to which one reader waits out one read after the other, on however many disks."""

LARGE_READ_KB = 64.0
"""Reads from this size on show what the medium streams."""

HDD_SEQUENTIAL_KB = 100 * KB_PER_MB
"""What a spinning disk streams at least on its outer half, where nothing says it of this one."""


@dataclass(frozen=True)
class ReadPattern:
    """The longest window in which a device was busy with small reads.

    `merged` is the share of reads that merged into others (NaN where the source has no merges);
    `busy` the share of time with a request in flight, `per_read_ms` that time per request: an
    upper bound of the service time, which a spinning disk cannot bring below some milliseconds.
    `page_kb` is the page size that the reads have, or None. `is_bounded`: the source does not
    count reads apart, and their number follows from the bytes that were written.
    """

    rows: Table = field(repr=False)
    reads_per_s: float
    read_share: float
    size_kb: float
    merged: float
    kb_per_s: float
    busy: float
    per_read_ms: float
    await_ms: float
    depth: float
    page_kb: float | None
    is_bounded: bool

    @property
    def is_one_by_one(self) -> bool:
        """Whether one reader waits out one read after the other."""
        return self.depth <= ONE_READER

    def template_values(self) -> Values:
        """What sentences about it name, shares in per cent."""
        return {
            "reads": self.reads_per_s,
            "size": self.size_kb,
            "page": self.page_kb or 0.0,
            "rate": self.kb_per_s,
            "busy": 100 * self.busy,
            "merged": 100 * self.merged,
            "depth": self.depth,
            "await": self.await_ms,
            "per_read": self.per_read_ms,
        }


@dataclass(frozen=True)
class Reference:
    """What the device could stream: in kB/s, from a fact, from its own rows, or from neither."""

    kb_per_s: float
    fact: Fact | None = None
    rows: Table | None = field(default=None, repr=False)

    @property
    def is_measured(self) -> bool:
        """Whether it was seen on this device, not taken from what such devices do."""
        return self.fact is not None or self.rows is not None


def read_pattern(
    series: DeviceSeries, *, read_share: float, most_kb: float, busy: float
) -> ReadPattern | None:
    """The longest window of small reads on a busy device, or None.

    `read_share` is the least share of requests that are reads, `most_kb` the largest read that
    is small, `busy` the least share of time with a request in flight.
    """
    samples = _with_reads(series)
    mask = samples.floats("busy") >= WINDOW_EXIT_SHARE * busy
    mask &= ~samples["is_idle"]
    if not mask.any():
        return None
    reads, sizes = samples.floats("reads_per_s"), samples.floats("read_size_kb")
    mask &= reads >= WINDOW_EXIT_SHARE * read_share * samples.floats("ios_per_s")
    mask &= (sizes <= most_kb / WINDOW_EXIT_SHARE) & (sizes >= LEAST_READ_KB)
    for rows in islice(windows(samples, mask), MOST_WINDOWS):
        if weighted.mean(rows, "busy") >= busy and _size(rows) <= most_kb and _share(rows) >= read_share:
            return _pattern(rows)
    return None


def _size(rows: Table) -> float:
    return weighted.ratio(rows, "read_kb_per_s", "reads_per_s")


def _share(rows: Table) -> float:
    return min(1.0, weighted.mean(rows, "reads_per_s") / weighted.mean(rows, "ios_per_s"))


@cached
def _with_reads(series: DeviceSeries) -> Table:
    return with_reads(series.samples, series.disks or 1)


def with_reads(rows: Table, disks: int) -> Table:
    """The rows with `busy`, and reads and their size where bytes bound them; `is_bounded` marks those.

    An array counts as busy with a request on any of its `disks`. Where several are in flight, each disk
    is busy for no more than its share of them, and only that speaks of disks that cannot do more.

    sar counts requests of both directions together. A write moves a file system's block (4 kB) at
    least, so at most write_kb / 4 of the requests were writes; where that is no more than a
    twentieth of all, the rest stands for the reads, and their size is known within as much.
    """
    util, depth = rows.floats("util"), rows.floats("depth")
    # util counts whole ticks on some kernels; what was in flight bounds it from above
    each = depth if disks == 1 else np.where(depth > ONE_READER, depth / disks, depth)
    busy = np.where(np.isnan(depth), util, np.minimum(util, each))
    reads = rows.floats("reads_per_s")
    is_unknown = np.isnan(reads)
    if not is_unknown.any():
        return rows.with_columns(busy=busy, is_bounded=is_unknown)
    ios, kb = rows.floats("ios_per_s"), rows.floats("read_kb_per_s")
    writes = rows.floats("write_kb_per_s") / KB_PER_PAGE
    is_bounded = is_unknown & (writes <= 0.05 * ios) & (kb > 0)
    reads = np.where(is_bounded, ios - writes, reads)
    sizes = kb / np.where(reads > 0, reads, np.nan)
    # where nothing is written, all of them are reads
    return rows.with_columns(
        busy=busy, reads_per_s=reads, read_size_kb=sizes, is_bounded=is_bounded & (writes > 0)
    )


def _pattern(rows: Table) -> ReadPattern:
    reads, merges = weighted.mean(rows, "reads_per_s"), weighted.mean(rows, "read_merges_per_s")
    ios, busy = weighted.mean(rows, "ios_per_s"), weighted.mean(rows, "busy")
    size = _size(rows)
    latency = weighted.mean(rows, "read_await_ms")
    return ReadPattern(
        rows=rows,
        reads_per_s=reads,
        read_share=_share(rows),
        size_kb=size,
        # single pages were not merged, whether or not that is counted
        merged=0.0 if np.isnan(merges) and size <= KB_PER_PAGE else merges / (merges + reads),
        kb_per_s=weighted.mean(rows, "read_kb_per_s"),
        busy=min(1.0, busy),
        per_read_ms=1000 * min(1.0, busy) / ios,
        await_ms=weighted.mean(rows, "latency_ms") if np.isnan(latency) else latency,
        depth=weighted.mean(rows, "depth"),
        page_kb=_page(rows, size),
        is_bounded=bool(rows["is_bounded"].mean() > 0.5),
    )


def _page(rows: Table, size: float) -> float | None:
    page = min(PAGES_KB, key=lambda kb: abs(kb - size))
    sizes = rows.floats("read_size_kb")
    close = np.abs(sizes / page - 1) <= PAGE_TOLERANCE
    return page if close.sum() >= 0.8 * len(rows) else None


def sequential_reference(view: View, series: DeviceSeries) -> Reference:
    """What the device streams: measured by hdparm, else seen in its own large reads, else the class's."""
    for fact in view.facts_of("hdparm"):
        speed = fact.number("sequential_read_mb_per_s")
        if speed > 0 and _is_about(view, series, fact.word("device")):
            return Reference(speed * KB_PER_MB, fact=fact)
    samples = _with_reads(series)
    large = samples[samples.floats("read_size_kb") >= LARGE_READ_KB]
    if len(large):
        rates = large.floats("read_kb_per_s")
        best = int(np.nanargmax(rates))
        return Reference(float(rates[best]), rows=large[best : best + 1])
    return Reference(HDD_SEQUENTIAL_KB)


def _is_about(view: View, series: DeviceSeries, device: str) -> bool:
    """Whether a fact speaks of this device or a disk below it; one without a name, when there is one disk."""
    if not device:
        return len([other for other in view.devices if not other.is_stacked]) <= 1
    name = view.topology.canonical(device)
    return name == series.name or name in {leaf.name for leaf in series.leaves}


def mixes_directions(series: DeviceSeries, *, most_kb: float, busy: float) -> bool:
    """Whether the device may read in small pieces, but its source counts both directions together."""
    rows = series.loaded[np.isnan(series.loaded.floats("reads_per_s"))]
    return (
        len(rows) > len(series.loaded) / 2
        and weighted.ratio(rows, "kb_per_s", "ios_per_s") <= most_kb
        and weighted.mean(rows, "util") >= busy
        and weighted.mean(rows, "read_kb_per_s") > weighted.mean(rows, "write_kb_per_s")
    )


def may_be_stacked(series: DeviceSeries) -> bool:
    """Whether it stands on other devices, or has a number of the range that device-mapper draws from."""
    return series.is_stacked or bool(re.match(r"dev25[2-4]-", series.name))


def in_pieces(view: View, blocks_per_record: float, extents: float) -> tuple[Fact, ...]:
    """Facts of tools that looked at a table or file itself and found it in pieces."""
    tables = (f for f in view.facts_of("myisamchk") if f.number("blocks_per_record") >= blocks_per_record)
    files = (
        f
        for f in view.facts_of("filefrag")
        if f.number("worst_extents") >= extents and not f.number("mean_extent_kb") >= LARGE_READ_KB
    )
    return (*tables, *files)
