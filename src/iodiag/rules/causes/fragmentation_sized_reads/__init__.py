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

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_fact, say
from iodiag.analysis.measure.grading import confidence, scope
from iodiag.analysis.measure.windows import is_sustained
from iodiag.analysis.states.service_times import FASTER_THAN_SEEKS, SERVICE
from iodiag.analysis.view.device_traits import is_spinning, is_virtual
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome, Severity, Status
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import KB_PER_MB
from iodiag.rules.causes.fragmentation_sized_reads.reads import (
    ReadPattern,
    Reference,
    in_pieces,
    may_be_stacked,
    mixes_directions,
    read_pattern,
    sequential_reference,
)

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
        **scope(pattern.rows, series.name),
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
        yield cite(None, text, values, weighs="against")
    elif spins:
        yield cite(None, "{device} stands on spinning disks (from {origin})", values)
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
