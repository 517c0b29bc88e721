"""Pages of files are dropped from memory and read again, without any swap.

What it detects: at least 100 major faults/s of at most 160 kB each, 2 MB/s and more paged in, and no fewer
pages reclaimed than read: what comes in pushes out what is needed next. One sample is enough, since each
holds hundreds of faults. What one device streams in requests of 64 kB and more, most of
all that is paged in, is left out where the other devices read the rest, a request for every other fault at
least: its reader pushes out what these have to read again. Where ten times as much memory is free as is page
cache, meanwhile or, if that is not shown, in three samples of another time, neither pushes anything out:
something empties the cache or bounds it. Where faults are not counted: hardly any page cache is left, the
kernel's thread that frees memory (kswapd) is the busiest process, CPUs only wait, and next to nothing but
reads is asked of the disks.

Why it matters: programs and mapped files run at the speed of the disk, on hosts without swap until they
stand still; the disk is busy only because memory is short.

When it is wrong: the first pass at random over a mapped file larger than memory looks the same, and no page
is read twice. A sequential scan does not: a fault waits for one window of readahead (128 kB unless it
was raised), and what follows is read before it is asked for. With larger ones the rule abstains. Some
kernels count a reclaimed page twice, and compressed file systems read less than they fill. O_DIRECT leaves
no trace here.

References: sar(1), -B; Documentation/accounting/psi.rst; mm/workingset.c on refaults.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.array.topmost_devices import topmost
from iodiag.analysis.host.cpu import cpu_shares
from iodiag.analysis.host.process_of_device import is_reclaimer
from iodiag.analysis.host.swapping import swapped
from iodiag.analysis.host.who_waits import by_device, rows_at
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_fact, in_samples, say
from iodiag.analysis.measure.grading import confidence, time_fields
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.model.units import KB_PER_GB, KB_PER_MB, KB_PER_PAGE
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Floats, Mask, Table


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding per host, on the device that the pages are read from where one alone can be it."""
    table = view.samples("paging")
    if table is None or not table.names.keys() >= _FAULTS.keys():
        yield _while_memory_is_freed(view, limits)
        return
    streams = _streams(view, table)
    read = table.floats("pgpgin_kb_per_s") - sum(streams.values(), start=np.zeros(len(table)))
    table = table.with_columns(own_kb=read)
    rows = table[is_thrash := _thrashes(view, table, limits)]
    streams = {name: moved for name, moved in streams.items() if moved[is_thrash].any()}
    if not len(rows) or (streams and not _are_read_elsewhere(view, rows, streams)):
        yield _without(table, limits)
        return
    yield _finding(view, rows, len(table), limits, tuple(streams))


_FAULTS = {
    "pgpgin_kb_per_s": "what is paged in is not shown",
    "major_faults_per_s": "page faults are not counted",
    "steal_per_s": "no column shows how many pages are reclaimed (pgsteal)",
}


def _while_memory_is_freed(view: View, limits: Limits) -> Finding | Outcome:
    """The finding where faults are not counted, by what the kernel does and what is left of the cache."""
    paging = view.samples("paging")
    missing = [name for name in _FAULTS if paging is None or not paging.has(name)]
    why = "; ".join(_FAULTS[name] for name in missing) if paging is not None else ""
    tables = ("paging",) if not why else tuple(f"paging.{name}" for name in missing)
    uncounted = RULE.not_applicable(why or "page faults are not counted", missing=tables)
    freeing = [fact for fact in view.facts_of("top-processes") if is_reclaimer(fact.word("process"))]
    memory, shares = view.samples("memory"), cpu_shares(view.cpu_samples)
    if not freeing or memory is None or shares is None or not shares.is_io_bound or swapped(view) is not None:
        return uncounted
    cached = memory.floats("cached_kb") + np.nan_to_num(memory.floats("buffers_kb"))
    few = memory[cached <= limits.cached / 100 * (memory.floats("free_kb") + memory.floats("used_kb"))]
    read_by = {series.name: series.samples for series in _tops(view) if _reads_alone(series, limits)}
    if not len(few) or not read_by:
        return uncounted
    most = max(read_by.values(), key=lambda rows: weighted.mean(rows, "read_kb_per_s"))
    values: Values = {
        "read": weighted.mean(most, "read_kb_per_s"),
        "rate": weighted.mean(most, "reads_per_s"),
    }
    values |= {"cached": float(few.floats("cached_kb").min()), "free": float(few.floats("free_kb").min())}
    values |= shares.template_values() | {"process": freeing[0].word("process")}
    text = "{cached:.0f} kB of page cache and {free:.0f} kB of free memory are left"
    waits = "iowait is {iowait:.1f} % and {idle:.1f} % of CPU time is idle"
    said = (
        f"Memory is short: {text}, {{process}} is the busiest process while {{read:.0f}} kB/s are read, and "
    )
    return RULE.finding(
        severity="critical",
        confidence="medium",
        devices=tuple(read_by),
        **time_fields(most, of_host=True),
        summary=say(f"{said}{waits}: pages of files are dropped and read again.", values),
        evidence=(
            cite(few, text, values, worst="cached_kb"),
            cite_fact(freeing[0]),
            cite(most, "{rate} reads/s, {read:.0f} kB/s", values, worst="read_kb_per_s"),
            cite(view.cpu_samples, waits, values, worst="iowait_pct"),
        ),
        refutes=("few refaults in /proc/vmstat",),
        cannot_know=("whether the host runs short or the limit of a control group: memory.events tells",),
    )


def _reads_alone(series: DeviceSeries, limits: Limits) -> bool:
    """Whether next to nothing but reads is asked of a device, and enough of them."""
    reads, ios = (weighted.mean(series.samples, f"{name}_per_s") for name in ("reads", "ios"))
    is_much = weighted.mean(series.samples, "read_kb_per_s") >= limits.read_kb
    return is_much and reads >= (1 - _FEW_OTHERS) * ios


_FEW_OTHERS = 0.1
"""Share of requests that are none of the reads of pages, at the most (judgement)."""


def _streams(view: View, table: Table) -> dict[str, Floats]:
    """What devices at the top of stacks read in large requests, kB/s by sample, if most of all that is read.

    That is a file read once, past the pages that are waited for.
    """
    found: dict[str, Floats] = {}
    for series in _tops(view):
        own, other = paired(table, series.samples)
        rows = series.samples[other]
        moved, paged_in = rows.floats("read_kb_per_s"), table.floats("pgpgin_kb_per_s")[own]
        is_stream = (rows.floats("size_kb") >= _STREAM_KB) & (2 * moved > paged_in) & (moved <= paged_in)
        if is_stream.any():
            found[series.name] = np.zeros(len(table))
            found[series.name][own[is_stream]] = moved[is_stream]
    return found


_STREAM_KB = 64.0
"""Size of reads from which they are of a stream: half the usual readahead."""


def _tops(view: View) -> list[DeviceSeries]:
    tops = topmost(view, {series.name: None for series in view.devices})
    return [series for series in view.devices if series.name in tops]


def _are_read_elsewhere(view: View, rows: Table, streams: Collection[str]) -> bool:
    """Whether the other devices read what is left, with a request for every other fault at least."""
    others = _victims(view, rows, streams)
    moved, requests = (sum(other[at] for other in others.values()) for at in (0, 1))
    left, faults = weighted.mean(rows, "own_kb"), weighted.mean(rows, "major_faults_per_s")
    return bool(0.7 * left <= moved <= 1.4 * left and 2 * requests >= faults)


def _victims(view: View, rows: Table, streams: Collection[str]) -> dict[str, tuple[float, float]]:
    """What devices beside the streams read meanwhile: kB/s and requests/s, the most first."""
    found: dict[str, tuple[float, float]] = {}
    for series in _tops(view):
        during = series.samples[paired(rows, series.samples)[1]]
        kb, rate = (weighted.or_zero(weighted.mean(during, f"{name}_per_s")) for name in ("read_kb", "ios"))
        if kb > 0 and series.name not in streams:
            found[series.name] = kb, rate
    return dict(sorted(found.items(), key=lambda one: -one[1][0]))


def _without(table: Table, limits: Limits) -> Outcome:
    """Why no sample shows it: clear where few faults wait or nothing is reclaimed, else what is in doubt."""
    faults, read = table.floats("major_faults_per_s"), table.floats("own_kb")
    reclaimed = table.floats("steal_per_s") * KB_PER_PAGE
    many = (faults >= limits.major_faults) & (reclaimed >= (1 - limits.near / 100) * read)
    many &= read > limits.fault_kb * faults
    if not many.any():
        return RULE.clear("few faults wait for the disk, or nothing is reclaimed for them")
    values: Values = {
        "faults": float(np.mean(faults[many])),
        "each": float(np.sum(read[many]) / np.sum(faults[many])),
        "reclaimed": float(np.mean(reclaimed[many])),
    }
    text = (
        "{faults:.0f} faults/s wait for {each:.0f} kB each while {reclaimed:.0f} kB/s are reclaimed: a scan "
        "of files or a want of memory; workingset_refault in /proc/vmstat would tell"
    )
    return RULE.undetermined(say(text, values))


def _thrashes(view: View, table: Table, limits: Limits) -> Mask:
    """The samples in which faults wait for pages that push out as many others, without swap."""
    read, faults = table.floats("own_kb"), table.floats("major_faults_per_s")
    reclaimed = table.floats("steal_per_s") * KB_PER_PAGE
    is_random = (faults >= limits.major_faults) & (read <= limits.fault_kb * faults)
    result = is_random & (read >= limits.read_kb) & (reclaimed >= (1 - limits.near / 100) * read)
    swaps = swapped(view)
    if swaps is not None:
        own, other = paired(table, swaps)
        result[own] &= ~(swaps.floats("both_kb")[other] >= limits.swapped / 100 * read[own])
    return np.asarray(result)


def _finding(view: View, rows: Table, samples: int, limits: Limits, streams: tuple[str, ...]) -> Finding:
    values: Values = {
        "read": weighted.mean(rows, "own_kb"),
        "faults": weighted.mean(rows, "major_faults_per_s"),
        "reclaimed": weighted.mean(rows, "steal_per_s") * KB_PER_PAGE,
        "count": len(rows),
        "samples": samples,
    }
    witnesses = list(_witnesses(view, rows, values, limits))
    at_most: Confidence = "high" if len(rows) >= limits.samples and not streams else "medium"
    often = in_samples(samples)
    text = "{faults:.0f} major faults/s, {read:.0f} kB/s paged in, {reclaimed:.0f} kB/s reclaimed"
    begins, said, fields = "Memory is short", "as much is dropped for them, ", dict[str, Any]()
    devices = tuple(_devices(view, rows, float(values["read"])))
    if streams:
        text += ", without the {stream:.0f} kB/s that are read from {streams}"
        begins, said = "Memory is given to a stream", _BY_A_STREAM
        values["stream"] = weighted.mean(rows, "pgpgin_kb_per_s") - float(values["read"])
        values["streams"] = ", ".join(streams)
        devices = tuple(_victims(view, rows, streams))
        fields = {"title": _PUSHED_OUT, "remedy": _OF_STREAMS, "confirm": ("pidstat -d 1", *RULE.confirm)}
    free = [*_free_memory(view, rows, limits)]
    if free:
        begins, at_most, fields = "Pages of files are dropped and read again", "medium", _OF_FREE_MEMORY
        said = _BESIDE_A_STREAM if streams else said
    return RULE.finding(
        **fields,
        severity="warning",
        confidence=confidence(3 + sum(item.weighs == "for" for item in witnesses), at_most=at_most),
        devices=devices,
        **time_fields(rows, of_host=True),
        summary=say(
            begins + ": {faults:.0f} page faults/s wait for pages of files, {read:.0f} kB/s read, "
            f"and {said}{often}",
            values,
        )
        + "".join(f"; {item.text}: {_BOUNDED}" for item in free)
        + ".",
        evidence=(
            cite(rows, text, values, worst="major_faults_per_s"),
            *witnesses,
            *free,
            *(cite_fact(fact, weighs="context") for fact in view.facts_of("swaps", "free")[:2]),
        ),
        refutes=("a first pass at random over a file larger than memory", "few refaults in /proc/vmstat"),
        cannot_know=("whether the host runs short or the limit of a control group: memory.events tells",),
    )


def _free_memory(view: View, rows: Table, limits: Limits) -> Iterator[Evidence]:
    """That memory is free meanwhile which no page of a file fills; where it is not shown, at another time.

    A stream or a shortage would fill it first. At another time several samples have to show it.
    """
    memory = view.samples("memory")
    if memory is None or "memory" in view.average_only:
        return
    beside = paired(rows, memory)[1]
    free, cached = memory.floats("free_kb"), memory.floats("cached_kb")
    is_free = free >= limits.free * (cached + np.nan_to_num(memory.floats("buffers_kb")))
    shown = np.isin(np.arange(len(memory)), beside) if len(beside) else np.ones(len(memory), dtype=np.bool_)
    found = is_free & shown
    if 2 * found.sum() < len(beside) or found.sum() < (1 if len(beside) else limits.samples):
        return
    values: Values = {"free": float(free[found].mean()) / KB_PER_GB, "count": int(found.sum())}
    values |= {"cached": float(cached[found].mean()) / KB_PER_MB}
    values["most"] = float(cached[: np.argmax(found)].max(initial=0.0)) / KB_PER_GB
    text = "{free:.1f} GB of memory are free and the page cache holds {cached:.0f} MB"
    text += ", of {most:.1f} GB before," * (
        float(values["most"]) * 1024 >= limits.free * float(values["cached"])
    )
    text += " meanwhile" if len(beside) else " in {count} samples of another time"
    yield cite(memory[found], text, values, worst="cached_kb")


_BOUNDED = "something empties the page cache or bounds it, as a shortage or a stream would fill free memory"
_BY_A_STREAM = (
    "a reader of {streams}, which takes {stream:.0f} kB/s through the page cache, pushes out more, "
)
_BESIDE_A_STREAM = "as much is dropped for them beside {stream:.0f} kB/s that are read from {streams}, "
_OF_FREE_MEMORY: dict[str, Any] = {
    "title": "Pages of files are dropped and read again, and memory is free",
    "remedy": (
        "See what empties the page cache or bounds it: vm.zone_reclaim_mode, a job that writes to "
        "/proc/sys/vm/drop_caches (the kernel logs it), the limit of a control group.",
        "See whether the kernel frees memory for large blocks: /proc/buddyinfo, compact_* in /proc/vmstat.",
        "Do not tune the disks that wait: their load goes away when pages stay in the cache.",
    ),
    "confirm": (
        "sysctl vm.zone_reclaim_mode",
        "dmesg -T | grep drop_caches",
        "sar -B -r 1 10",
        "cat /proc/buddyinfo",
    ),
}
_PUSHED_OUT = "A stream through the page cache pushes out pages that are read again"
_OF_STREAMS = (
    "See who reads the stream (pidstat -d 1), and let it pass by the page cache: O_DIRECT or fadvise.",
    "Or give it a control group of its own with a limit of memory (memory.high).",
    "Do not tune the disks that wait: their load goes away with the stream.",
)


def _witnesses(view: View, rows: Table, values: Values, limits: Limits) -> Iterator[Evidence]:
    share = 100 * float(values["faults"]) / max(weighted.mean(rows, "faults_per_s"), 1e-9)
    if share >= limits.share:
        yield cite(rows, "{share:.0f} % of all faults wait for the disk", {"share": share})
    direct = weighted.mean(rows, "scan_direct_per_s")
    if direct > 0:
        text = "programs look for free pages themselves, {direct:.0f} pages/s scanned"
        yield cite(rows, text, {"direct": direct}, worst="scan_direct_per_s")
    pressed = rows_at(view, "pressure", rows)
    if pressed is not None:
        full = weighted.mean(pressed, "memory_full_pct", "pressure")
        if full >= limits.stall:
            yield cite(pressed, "all tasks waited for memory {full:.1f} % of the time", {"full": full})


def _devices(view: View, rows: Table, read_kb: float) -> Iterator[str]:
    """The one device at the top of the stacks that reads about as much as is paged in."""
    disk = rows_at(view, "disk", rows)
    if disk is None:
        return
    tops = {series.name for series in _tops(view)}
    parts = {name: part for name, part in by_device(disk) if name in tops}
    reads = {name: weighted.or_zero(weighted.mean(part, "read_kb_per_s")) for name, part in parts.items()}
    yield from (name for name, kb in reads.items() if 0.7 * read_kb <= kb <= 1.4 * read_kb)


RULE = Rule(
    id="page-cache-thrash",
    explains=(*SYMPTOMS_AND_SATURATION, "latency-above-baseline", "cpu-exhausted"),
    replaces=("fragmentation-sized-reads", "low-concurrency-bound"),
    title="Memory is short: pages of files are dropped and read again",
    why="Programs wait for pages that memory should hold; no disk is quick enough to stand in for it.",
    remedy=(
        "Give the host or the control group more memory, or its programs less to map.",
        "See what is read again: grep workingset_refault /proc/vmstat, and memory.stat of control groups.",
        "Do not tune the disk: its load goes away with the shortage.",
    ),
    needs=Needs(
        one_of=(
            {"paging": ("pgpgin_kb_per_s", "major_faults_per_s", "steal_per_s")},
            {"memory": ("cached_kb",), "disk": ("read_kb_per_s",)},
        )
    ),
    thresholds={
        "major_faults": Threshold(100, "faults/s", "that wait for the disk", "judgement: a disk's seeks"),
        "fault_kb": Threshold(160, "kB", "read for each at most", "a readahead of 128 kB, rounded"),
        "read_kb": Threshold(2048, "kB/s", "paged in at least", "judgement"),
        "near": Threshold(30, "%", "that fewer may be reclaimed than read", "judgement: samples cut both"),
        "swapped": Threshold(20, "%", "share of swap in what is read that makes it swapping", "judgement"),
        "share": Threshold(20, "%", "share of faults that wait, of all", "judgement: usually below one"),
        "stall": Threshold(5, "%", "time in which all tasks wait for memory", "judgement: PSI memory full"),
        "samples": Threshold(3, "samples", "how many make it high", "judgement"),
        "cached": Threshold(1, "%", "of memory, page cache that is next to none", "as memory-exhausted"),
        "free": Threshold(10, "x", "of the cache, free where nothing fills memory", "judgement: far more"),
    },
    confirm=("sar -B 1 10", "grep workingset_refault /proc/vmstat", "cat /proc/pressure/memory"),
    references=("https://docs.kernel.org/accounting/psi.html",),
    detect=detect,
)
