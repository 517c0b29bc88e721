"""Memory is short, and pages go back and forth between it and the swap device.

What it detects: swapping in and out at the same time, for three samples and more, at 1 MB/s and
more, or as a tenth of all that the host reads and writes.

Why it matters: the disk is busy only because memory is short; a faster disk treats the symptom.

When it is wrong: out alone is harmless, idle pages being put away; in alone is a host that
recovers. Swap on zram costs CPU and no disk. A container at its limit swaps while the host has memory.

References: vmstat(8), si and so; sar(1), -W and -B; Documentation/accounting/psi.rst.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.host.waiting import rows_at
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.episodes import episodes, is_sustained
from iodiag.analysis.measure.evidence import cite, cite_fact, say
from iodiag.analysis.measure.grading import confidence, when
from iodiag.analysis.view.view import IDLE_KB_PER_S, View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.rules.causes.swap_thrash.swapping import swap_devices, swapped
from iodiag.table.table import Table

LEAVE = 0.8


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding per host, on the devices that swap lies on where these are known."""
    frame = swapped(view)
    if frame is None:
        return
    for rows in episodes(frame, _thrashes(view, frame, limits)):
        if is_sustained(rows) or "swapping" in view.fallback:
            yield _finding(view, rows, limits)
            return
    yield Outcome(RULE.id, "clear", (), _quiet(frame, limits))


def _thrashes(view: View, frame: Table, limits: Limits) -> npt.NDArray[np.bool_]:
    amount, moved = weighted.values(frame, "both_kb"), view.samples("paging")
    enough = amount >= LEAVE * limits.swapped_kb
    if moved is not None:
        own, other = paired(frame, moved)
        all_kb = np.full(len(frame), np.nan)
        all_kb[own] = (moved.floats("pgpgin_kb_per_s") + moved.floats("pgpgout_kb_per_s"))[other]
        enough |= (amount >= IDLE_KB_PER_S) & (amount >= limits.share / 100 * all_kb)
    both = (weighted.values(frame, "in_kb") > 0) & (weighted.values(frame, "out_kb") > 0)
    return np.asarray(enough & both)


def _quiet(frame: Table, limits: Limits) -> str:
    swapped_in, swapped_out = weighted.mean(frame, "in_kb"), weighted.mean(frame, "out_kb")
    if swapped_in + swapped_out < limits.swapped_kb / 10:
        return "next to nothing is swapped"
    if swapped_out > 10 * swapped_in:
        return "pages are put away and not asked for again, which is harmless"
    if swapped_in > 10 * swapped_out:
        return "pages come back from swap and none go out: memory was short, and is no longer"
    return "swapping both ways at once never lasts"


def _finding(view: View, rows: Table, limits: Limits) -> Finding:
    witnesses = list(_witnesses(view, rows, limits))
    amount = weighted.mean(rows, "both_kb")
    points = 1 + (amount >= limits.swapped_kb) + sum(weight for weight, _ in witnesses)
    at_most: Confidence = "high" if amount >= limits.swapped_kb else "low"
    sure = confidence(points, at_most=at_most)
    pressed = rows_at(view, "pressure", rows)
    stalled = weighted.mean(pressed, "memory_full_pct", "pressure") if pressed is not None else 0.0
    severity: Severity = "critical" if stalled >= limits.stand_still else "warning"
    values: dict[str, float | str] = {
        "in_kb": weighted.mean(rows, "in_kb"),
        "out_kb": weighted.mean(rows, "out_kb"),
        "count": len(rows),
    }
    devices = swap_devices(view)
    return RULE.finding(
        limits,
        severity=severity if sure != "low" else "notice",
        confidence=sure,
        devices=devices,
        **{name: value for name, value in when(rows).items() if name != "samples"},
        summary=say("Memory is short: {in_kb} kB/s come in from swap while {out_kb} kB/s go out.", values),
        evidence=(
            cite(
                rows,
                "{in_kb} kB/s swapped in and {out_kb} kB/s out at the same time (samples: {count})",
                values,
            ),
            *(evidence for _, evidence in witnesses),
            *(cite_fact(fact, weighs="context") for fact in view.facts_of("swaps", "free")[:2]),
        ),
        refutes=("swap that lies on zram alone", "a test that fills memory on purpose"),
        cannot_know=(
            "which process takes the memory, and whether a control group's limit is what runs short",
        ),
    )


def _witnesses(view: View, rows: Table, limits: Limits) -> Iterator[tuple[int, Evidence]]:
    paging, queue = rows_at(view, "paging", rows), rows_at(view, "queue", rows)
    pressure = rows_at(view, "pressure", rows)
    if paging is not None:
        values: dict[str, float | str] = {"read": weighted.mean(paging, "pgpgin_kb_per_s")}
        values["share"] = 100 * weighted.mean(rows, "in_kb") / max(float(values["read"]), 1e-9)
        if 50 <= float(values["share"]) <= 110:
            yield (
                1,
                cite(paging, "swap-ins are {share:.0f} % of the {read} kB/s that are read at all", values),
            )
        faults = weighted.mean(paging, "major_faults_per_s")
        if faults >= limits.major_faults:
            yield 1, cite(paging, "{faults} page faults/s had to wait for the disk", {"faults": faults})
    if queue is not None and (blocked := weighted.mean(queue, "blocked")) >= 1:
        yield 1, cite(queue, "{blocked} tasks were blocked on I/O", {"blocked": blocked}, worst="blocked")
    if (
        pressure is not None
        and (full := weighted.mean(pressure, "memory_full_pct", "pressure")) >= limits.stall
    ):
        text = "all tasks waited for memory {full:.1f} % of the time"
        yield 2, cite(pressure, text, {"full": full}, worst="memory_full_pct")


RULE = Rule(
    id="swap-thrash",
    role="cause",
    explains=("symptom", "true-saturation", "approaching-saturation", "latency-above-baseline"),
    replaces=("fragmentation-sized-reads", "low-concurrency-bound"),
    title="Memory is short: pages go back and forth between it and swap",
    why="The disk is busy with pages that memory should hold; no disk is quick enough to stand in for it.",
    remedy=(
        "Give the host more memory, or its programs less to do (buffer pools, heaps, workers).",
        "Find who swaps: smem -s swap, or the memory.current and memory.max of control groups.",
        "Do not tune the disk: its load goes away with the shortage.",
    ),
    needs=Needs(
        one_of=(
            {"swapping": ("swap_in_kb_per_s", "swap_out_kb_per_s")},
            {"swapping": ("pages_in_per_s", "pages_out_per_s")},
        )
    ),
    thresholds={
        "swapped_kb": Threshold(
            1024, "kB/s", "in and out together", "judgement: one-way traffic is no thrash"
        ),
        "share": Threshold(10, "%", "share of all that is paged that will do instead", "judgement"),
        "major_faults": Threshold(
            100, "faults/s", "faults that wait for the disk", "judgement: a disk's seeks"
        ),
        "stall": Threshold(5, "%", "time in which all tasks wait for memory", "judgement: PSI memory full"),
        "stand_still": Threshold(
            40, "%", "such time at which work stands still", "judgement: PSI memory full"
        ),
    },
    confirm=("vmstat 1", "swapon --show", "cat /proc/pressure/memory", "smem -s swap -r"),
    references=("https://docs.kernel.org/accounting/psi.html",),
    detect=detect,
)
