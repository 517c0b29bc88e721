"""Pages of files are dropped from memory and read again, without any swap.

What it detects: at least 100 major faults/s of at most 160 kB each, 2 MB/s and more paged in, and no fewer
pages reclaimed than read: what comes in pushes out what is needed next. One sample is enough, since each
holds hundreds of faults.

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

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.array.topmost_devices import topmost
from iodiag.analysis.host.swapping import swapped
from iodiag.analysis.host.who_waits import by_device, rows_at
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_fact, in_samples, say
from iodiag.analysis.measure.grading import confidence, time_fields
from iodiag.analysis.view.view import View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.model.units import KB_PER_PAGE
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Mask, Table


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding per host, on the device that the pages are read from where one alone can be it."""
    table = view.samples("paging")
    if table is None:
        return
    rows = table[_thrashes(view, table, limits)]
    if not len(rows):
        yield _without(table, limits)
        return
    yield _finding(view, rows, len(table), limits)


def _without(table: Table, limits: Limits) -> Outcome:
    """Why no sample shows it: clear where few faults wait or nothing is reclaimed, else what is in doubt."""
    faults, read = table.floats("major_faults_per_s"), table.floats("pgpgin_kb_per_s")
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
    read, faults = table.floats("pgpgin_kb_per_s"), table.floats("major_faults_per_s")
    reclaimed = table.floats("steal_per_s") * KB_PER_PAGE
    is_random = (faults >= limits.major_faults) & (read <= limits.fault_kb * faults)
    result = is_random & (read >= limits.read_kb) & (reclaimed >= (1 - limits.near / 100) * read)
    swaps = swapped(view)
    if swaps is not None:
        own, other = paired(table, swaps)
        result[own] &= ~(swaps.floats("both_kb")[other] >= limits.swapped / 100 * read[own])
    return np.asarray(result)


def _finding(view: View, rows: Table, samples: int, limits: Limits) -> Finding:
    values: Values = {
        "read": weighted.mean(rows, "pgpgin_kb_per_s"),
        "faults": weighted.mean(rows, "major_faults_per_s"),
        "reclaimed": weighted.mean(rows, "steal_per_s") * KB_PER_PAGE,
        "count": len(rows),
        "samples": samples,
    }
    witnesses = list(_witnesses(view, rows, values, limits))
    at_most: Confidence = "high" if len(rows) >= limits.samples else "medium"
    often = in_samples(samples)
    text = "{faults:.0f} major faults/s, {read:.0f} kB/s paged in, {reclaimed:.0f} kB/s reclaimed"
    return RULE.finding(
        severity="warning",
        confidence=confidence(3 + sum(item.weighs == "for" for item in witnesses), at_most=at_most),
        devices=tuple(_devices(view, rows, float(values["read"]))),
        **time_fields(rows, of_host=True),
        summary=say(
            "Memory is short: {faults:.0f} page faults/s wait for pages of files, {read:.0f} kB/s read, "
            f"and as much is dropped for them, {often}.",
            values,
        ),
        evidence=(
            cite(rows, text, values, worst="major_faults_per_s"),
            *witnesses,
            *(cite_fact(fact, weighs="context") for fact in view.facts_of("swaps", "free")[:2]),
        ),
        refutes=("a first pass at random over a file larger than memory", "few refaults in /proc/vmstat"),
        cannot_know=("whether the host runs short or the limit of a control group: memory.events tells",),
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
    tops = topmost(view, {series.name: None for series in view.devices})
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
    needs=Needs(one_of=({"paging": ("pgpgin_kb_per_s", "major_faults_per_s", "steal_per_s")},)),
    thresholds={
        "major_faults": Threshold(100, "faults/s", "that wait for the disk", "judgement: a disk's seeks"),
        "fault_kb": Threshold(160, "kB", "read for each at most", "a readahead of 128 kB, rounded"),
        "read_kb": Threshold(2048, "kB/s", "paged in at least", "judgement"),
        "near": Threshold(30, "%", "that fewer may be reclaimed than read", "judgement: samples cut both"),
        "swapped": Threshold(20, "%", "share of swap in what is read that makes it swapping", "judgement"),
        "share": Threshold(20, "%", "share of faults that wait, of all", "judgement: usually below one"),
        "stall": Threshold(5, "%", "time in which all tasks wait for memory", "judgement: PSI memory full"),
        "samples": Threshold(3, "samples", "how many make it high", "judgement"),
    },
    confirm=("sar -B 1 10", "grep workingset_refault /proc/vmstat", "cat /proc/pressure/memory"),
    references=("https://docs.kernel.org/accounting/psi.html",),
    detect=detect,
)
