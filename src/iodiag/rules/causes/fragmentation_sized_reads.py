"""Reads are small and unmerged, so the disk seeks more than it streams.

What it detects: a busy device whose reads are at most 32 kB and hardly merge, so that it moves a
small share of what its medium streams. Reads of the size of a database page are random by design and
no finding unless the disk is known to spin; reads of no page's size are what fragments look like.

Why it matters: a spinning disk delivers a hundred times less in small reads than in large ones.

When it is wrong: random reads by design (an index, a page-fault storm, a key-value store) look the
same, and counters do not record whether the reads were meant as one scan. Flash has no seeks to
save; a device known to be flash is left out. Swap-ins and members of arrays read in pages too. A
device that is busy for longer per read than any disk needs for a seek is slow, and does not seek.

References: iostat(1); Documentation/admin-guide/iostats.rst; filefrag(8); myisamchk -dvv.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from iodiag.analysis.load.stalls import without_told
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_fact, cite_origin, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.measure.windows import MOST_WINDOWS, WINDOW_EXIT_SHARE, is_sustained, windows
from iodiag.analysis.states.service_times import FASTER_THAN_SEEKS, SERVICE
from iodiag.analysis.view.device_traits import is_spinning, is_virtual
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.model.capture import Fact
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome, Severity, Status
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import KB_PER_MB, KB_PER_PAGE
from iodiag.table.result_cache import cached
from iodiag.table.table import Table

DATABASE_PAGES_KB = (8.0, 16.0, 32.0)
_SEVERAL = 1.5
_ALL_OF_IT = 0.8
"""Share of a disk's reads from which a volume speaks for it."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per device that seeks; of a stack, the topmost one speaks for those below."""
    found: dict[str, Finding] = {}
    for series in view.devices:
        verdict = _judge(view, series, limits)
        if isinstance(verdict, Finding) and (disk := _shared_disk(view, series)):
            reason = f"{disk} serves other volumes as well: whether it seeks is judged there"
            yield RULE.undetermined(reason, series.name)
        elif isinstance(verdict, Finding):
            found[series.name] = verdict
        else:
            yield verdict
    for name, finding in found.items():
        reason = _counted_above(view, name, found)
        yield RULE.clear(reason, name) if reason else finding


def _counted_above(view: View, name: str, found: dict[str, Finding]) -> str:
    """Why a device's small reads are no finding of their own; empty when they are."""
    parents = view.topology.parents(name)
    if above := next((p.name for p in parents if p.name in found), None):
        return f"these reads are counted at {above}, which stands on it"
    if array := next((p.name for p in parents if p.parity_members and view.series(p.name)), None):
        return f"{array} reads in larger pieces; its members see them split"
    return ""


def _shared_disk(view: View, series: DeviceSeries) -> str:
    """The only disk below a volume where others read from it, too; empty where none is seen."""
    below = [own for leaf in series.leaves if (own := view.series(leaf.name)) is not None]
    if len(below) != 1 or below[0] is series:
        return ""
    reads, of_all = (weighted.mean(each.samples, "read_kb_per_s") for each in (series, below[0]))
    return below[0].name if reads < _ALL_OF_IT * of_all else ""


def _judge(view: View, series: DeviceSeries, limits: Limits) -> Finding | Outcome:
    def outcome(reason: str, status: Status = "clear") -> Outcome:
        return Outcome(RULE.id, status, (series.name,), reason)

    if series.rotational is False and (series.loaded.floats("read_kb_per_s") > 0).any():
        return outcome(f"it does not spin by {series.rotational_origin}: small reads cost no seeks")
    pattern = read_pattern(
        series, read_share=limits.read_share / 100, most_kb=limits.most_kb, busy=limits.busy / 100
    )
    if pattern is None:
        mixed = _mixed(series, limits)
        return outcome(mixed, "undetermined") if mixed else outcome("no busy stretch of small reads")
    if not is_sustained(pattern.rows) and 2 * len(pattern.rows) < len(series.loaded):
        return outcome("small reads kept it busy in a few of its samples only", "undetermined")
    if pattern.merged > limits.most_merged / 100:
        return outcome("the reads merge, as those of a scan do")
    if pattern.per_read_ms > SERVICE["spinning"].sane_limit_ms:
        return outcome(f"{pattern.per_read_ms:.0f} ms of busy time per read: no seek of any disk takes that")
    reference = sequential_reference(view, series)
    most = limits.most_of_sequential / 100 * reference.kb_per_s
    if pattern.kb_per_s > most:
        return outcome("small reads, but a good share of what the medium streams")
    disks = filter(None, (view.series(device.name) for device in view.topology.below(series.name)))
    if below := next((disk for disk in disks if _moved(disk, pattern) > most), None):
        return outcome(f"small reads, but {below.name} below it moves a good share of what a medium streams")
    spins = _seeks(series, pattern, limits)
    one_by_one = pattern.is_one_by_one and pattern.per_read_ms >= limits.seek_ms
    if not spins and pattern.page_kb and np.isnan(pattern.depth):
        return outcome("single pages, and the capture lacks its queue: one reader, or many", "undetermined")
    if not spins and pattern.page_kb in DATABASE_PAGES_KB and not one_by_one:
        return outcome("reads have the size of database pages: random by design, and nothing says it spins")
    if not spins and pattern.page_kb and pattern.per_read_ms < limits.seek_ms:
        return outcome("single pages, too quick for one disk that seeks: see lsblk -o ROTA", "undetermined")
    if not spins and pattern.page_kb and may_be_stacked(series):
        return outcome("single pages on a stacked device: md and dm-raid split what is asked of them")
    return _finding(view, series, pattern, reference, limits)


def _moved(disk: DeviceSeries, pattern: ReadPattern) -> float:
    """kB/s that a disk read while a device above it read in small pieces, for whomever."""
    rows = disk.samples[same_reports(disk.samples, pattern.rows)]
    return weighted.mean(rows, "read_kb_per_s") if len(rows) else float("nan")


def _mixed(series: DeviceSeries, limits: Limits) -> str:
    """How writes are among the small reads that keep it busy; empty where nothing says so.

    Small reads are most of the requests of a sample, or one size is printed for both directions.
    """
    if mixes_directions(series, most_kb=limits.most_kb, busy=limits.busy / 100):
        return "reads and writes share one size here; iostat -x splits them"
    samples = series.loaded
    is_small = samples.floats("read_size_kb") <= limits.most_kb
    is_most = samples.floats("reads_per_s") >= 0.5 * samples.floats("ios_per_s")
    is_mixed = (is_small & is_most & (samples.floats("util") >= limits.busy / 100)).any()
    return "small reads and writes together keep it busy" if is_mixed else ""


def _seeks(series: DeviceSeries, pattern: ReadPattern, limits: Limits) -> bool:
    """Whether it stands on spinning disks, or takes as long for each read as only these do."""
    spins = is_spinning(series)
    if spins is not None or is_virtual(series):
        return spins is True and not is_virtual(series)
    # with several in flight flash overlaps them, and a disk that turns serves one after the other
    is_serial = pattern.per_read_ms >= limits.turn_ms and pattern.depth >= _SEVERAL
    return is_serial and not (may_be_stacked(series) or _overlaps(series))


def _overlaps(series: DeviceSeries) -> bool:
    """Whether it did much more with several in flight than with one: then it is no single disk that turns."""
    rows = series.loaded
    depth, rate = rows.floats("busy_depth"), rows.floats("busy_ios_per_s")
    alone, several = depth < _SEVERAL, depth >= 2 * _SEVERAL
    if not alone.any() or not several.any():
        return False
    return bool(np.median(rate[several]) >= _SEVERAL * np.median(rate[alone]))


def _finding(
    view: View, series: DeviceSeries, pattern: ReadPattern, reference: Reference, limits: Limits
) -> Finding:
    attested = in_pieces(view, limits.blocks_per_record, limits.extents)
    # what a guest's volume stands on, and whether that seeks, its host alone knows
    is_guest = is_virtual(series)
    spins = is_spinning(series) is True and not is_guest
    looks = not spins and _seeks(series, pattern, limits)
    is_serial = spins or (pattern.per_read_ms >= limits.seek_ms and not is_guest)
    points = 1 + (pattern.merged >= 0) + 2 * bool(attested) + 2 * spins - pattern.is_bounded
    points += 2 * bool(reference.fact) + (reference.rows is not None)
    outside = bool(attested or reference.fact)
    points += 2 * (looks and not outside)
    long_enough: Confidence = "high" if is_sustained(pattern.rows) or outside else "medium"
    sure = confidence(points, at_most=long_enough if is_serial else "low")
    severity: Severity = "notice" if spins or looks or (is_serial and not pattern.page_kb) else "info"
    if sure != "low" and outside and not pattern.page_kb:
        severity = "warning"
    values = pattern.template_values() | {
        "device": series.name,
        "reference": reference.kb_per_s / KB_PER_MB,
        "share": 100 * pattern.kb_per_s / reference.kb_per_s,
        "origin": series.rotational_origin,
    }
    # what is quicker than a seek is none at each read, whatever else these cost
    is_quick = not spins and pattern.per_read_ms * FASTER_THAN_SEEKS < 1000
    kind = (
        "guest"
        if is_guest
        else "quick"
        if is_quick
        else "single"
        if pattern.page_kb
        else "fragments"
        if reference.is_measured
        else "assumed"
    )
    return RULE.finding(
        severity=severity,
        confidence=sure,
        **device_fields(pattern.rows, series.name),
        **({"title": "Small unmerged reads keep a device busy"} if is_quick or is_guest else {}),
        summary=say(_SUMMARY["database" if pattern.page_kb in DATABASE_PAGES_KB else kind], values),
        evidence=(
            *_counted(pattern, reference, values),
            *_witnesses(pattern, spins, is_serial, is_guest, values),
            *(cite_fact(fact) for fact in attested),
        ),
        refutes=("a read test with large blocks that is no faster", "a program that means to read at random"),
        cannot_know=("whether the reads were meant as one scan: counters do not record where a read went",),
    )


def _counted(pattern: ReadPattern, reference: Reference, values: Values) -> Iterator[Evidence]:
    merged = ", {merged:.1f} % of them merged," if pattern.merged >= 0 else ""
    text = f"{{reads}} reads/s of {{size}} kB{merged} kept it busy {{busy:.1f}} % of the time"
    yield cite(pattern.rows, text, values, worst="util_pct")
    said = "{rate} kB/s is {share:.1f} % of {reference} MB/s, "
    if reference.fact:
        yield cite_fact(reference.fact)
        yield cite(pattern.rows, said + "what hdparm says it streams", values)
    elif reference.rows is not None:
        yield cite(reference.rows, said + "what it moved in large reads in this capture", values)
    else:
        yield cite(pattern.rows, said + "what spinning disks stream", values, weighs="context")


def _witnesses(
    pattern: ReadPattern, spins: bool, is_serial: bool, is_guest: bool, values: Values
) -> Iterator[Evidence]:
    if pattern.is_one_by_one:
        text = "{depth} in flight at {await} ms each: one reader waits out one read after the other"
    else:
        text = "{depth} in flight at {await} ms each: readahead or several readers queue their reads"
    yield cite(pattern.rows, text, values, worst="read_await_ms")
    if is_guest:
        text = "{device} is served by a hypervisor, a provider or a network: what it costs there is not seen"
        yield cite(pattern.rows, text, values, weighs="against")
    elif spins:
        yield cite_origin(pattern.rows, "{device} stands on spinning disks (from {origin})", values)
    elif is_serial:
        yield cite(pattern.rows, "busy {per_read} ms per request: the time of a seek, not of flash", values)
    else:
        text = "busy only {per_read} ms per request: too short for a single spinning disk that seeks"
        yield cite(pattern.rows, text, values, weighs="against")
    if pattern.is_bounded:
        text = "the source does not count reads apart; the bytes written leave room for few writes"
        yield cite(pattern.rows, text, weighs="context")


_SUMMARY = {
    "fragments": "{device} seeks: reads of {size} kB move {rate} kB/s, {share:.1f} % of what it can stream.",
    "assumed": "{device} seeks: reads of {size} kB move {rate} kB/s, {share:.1f} % of the {reference:g} MB/s "
    "that a spinning disk is assumed to stream.",
    "guest": "{device} is {busy:.0f} % busy with small reads: {rate} kB/s in pieces of {size} kB.",
    "quick": "{device} is {busy:.0f} % busy with small reads: {rate} kB/s in pieces of {size} kB, "
    "{per_read} ms of busy time each, too quick for a seek at each of them.",
    "single": "{device} reads single pages of {page:g} kB: busy {busy:.1f} % of the time for {rate} kB/s.",
    "database": "{device} reads {page:g} kB pages at random: busy {busy:.1f} % of the time for {rate} kB/s.",
}


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
    mask &= ~samples["is_idle"] & np.isin(samples["sample"], without_told(series)["sample"])
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


RULE = Rule(
    id="fragmentation-sized-reads",
    explains=("symptom", "iowait-misread"),
    replaces=("low-concurrency-bound",),
    title="Small unmerged reads make the disk seek",
    why="A spinning disk moves a hundredth of its streaming rate in reads of a few kB.",
    remedy=(
        "Find out who reads, and whether it means to read at random or scans a table or file.",
        "If this is a scan: rebuild the table or file (OPTIMIZE TABLE, CLUSTER, e4defrag, xfs_fsr).",
        "Raise readahead (blockdev --setra 8192) where a scan reads in small pieces.",
        "If the reads are random by design: an index that spares the scan, a larger cache, or flash.",
    ),
    needs=Needs(one_of=({"disk": ("ios_per_s", "read_kb_per_s", "util_pct|queue_depth")},)),
    thresholds={
        "read_share": Threshold(90, "%", "least share of reads", "judgement: no other work"),
        "most_kb": Threshold(32, "kB", "largest small read", "a quarter of the default readahead"),
        "most_merged": Threshold(
            10, "%", "largest share merged", "judgement: fragments merged 0 %, a healthy scan 11 %"
        ),
        "busy": Threshold(60, "%", "least share of time in use", "judgement: the disk sets the pace"),
        "most_of_sequential": Threshold(
            20, "%", "largest share of its streaming rate", "judgement: fragments had 3 %, a scan 80 %"
        ),
        "seek_ms": Threshold(2, "ms", "busy time per read of a seek", "15k rpm disks need 2 ms for a turn"),
        "turn_ms": Threshold(5, "ms", "busy time per read of a disk that turns", "200 reads/s, queue sorted"),
        "blocks_per_record": Threshold(1.1, "blocks", "rows in pieces", "myisamchk(1), Blocks/Record"),
        "extents": Threshold(10, "extents", "a file in pieces, as filefrag counts them", "filefrag(8)"),
    },
    confirm=(
        "pidstat -d 1 10",
        "blockdev --getra /dev/DEVICE",
        "find MOUNTPOINT -xdev -type f -size +100M -exec filefrag {} +",
        "biosnoop",
    ),
    references=("https://man7.org/linux/man-pages/man8/filefrag.8.html",),
    to_clear=ToClear(samples=1, columns=("kb_per_s", "util_pct")),
    detect=detect,
)
