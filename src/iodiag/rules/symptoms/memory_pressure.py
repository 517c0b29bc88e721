"""Tasks wait for memory, by the kernel's own account.

What it detects: pressure stall information that says that some tasks waited for memory at least 10 % of
the time, or all of them at least 5 %. Where no pressure and no disk is shown, `sar -B`: programs that look
for free pages themselves (pgscand) and cannot take each page they look at (%vmeff below 90), or page faults
that wait for the disk while pages are reclaimed.

Why it matters: time spent on finding, reading and writing pages is time in which work did not get on, and
the disk is busy for it.

When it is wrong: compressing pages in memory counts too, without any disk. The pressure of the whole host
holds that of a control group at its own limit, while the host has memory to spare. A stream of files makes
programs scan, too, though nothing is missed: then nearly each page that is scanned is freed. A first pass
over a mapped file faults as well.

References: Documentation/accounting/psi.rst; sar(1), -B.
"""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.analysis.host.kernel_events import logged
from iodiag.analysis.host.who_waits import under_pressure
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, in_samples, say
from iodiag.analysis.measure.grading import time_fields
from iodiag.analysis.view.view import View
from iodiag.model.finding import Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.table.table import Table


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding per host; what takes the memory is for other rules and tools to say."""
    table, pressed = view.samples("pressure"), under_pressure(view, "memory", limits.some, limits.full)
    if table is None or pressed is None:
        yield _of_reclaim(view, limits)
        return
    rows, kind = pressed
    if not len(rows):
        yield RULE.clear("tasks hardly ever wait for memory")
        return
    values: Values = {
        "some": weighted.mean(rows, f"memory_some{kind}_pct", "pressure"),
        "full": weighted.or_zero(weighted.mean(rows, f"memory_full{kind}_pct", "pressure")),
        "count": len(rows),
        "samples": len(table),
    }
    severity: Severity = "critical" if float(values["full"]) >= limits.stand_still else "warning"
    if len(rows) < len(table) / 4:
        severity = "notice"
    often = in_samples(len(table))
    text = "some tasks waited for memory {some:.1f} % of the time, all that could have run {full:.1f} %"
    yield RULE.finding(
        severity=severity,
        confidence="medium" if kind or len(rows) < limits.samples else "high",
        **time_fields(rows, of_host=True),
        summary=say(
            f"Tasks wait for memory {{some:.0f}} % of the time, all of them {{full:.0f}} %, {often}.", values
        ),
        evidence=(
            cite(rows, text, values, worst=f"memory_some{kind}_pct"),
            *logged(view, "out of memory", table, "the kernel killed {count} processes to get memory"),
        ),
        refutes=("swap that lies on zram alone",),
        cannot_know=("whether the host runs short or the limit of a control group",),
    )


def _of_reclaim(view: View, limits: Limits) -> Finding | Outcome:
    """What the kernel's search for free pages tells where neither pressure nor a disk is shown."""
    table = view.samples("paging")
    if table is None or view.devices or not table.has("steal_per_s"):
        return RULE.not_applicable("no column says how long tasks waited for memory", missing=("pressure",))
    direct, stolen = table.floats("scan_direct_per_s"), table.floats("steal_per_s")
    scanned = table.floats("scan_kswapd_per_s") + direct
    is_direct = direct >= limits.direct
    is_pressed = is_direct & (100 * stolen < limits.efficient * scanned)
    is_missed = (table.floats("major_faults_per_s") >= limits.faults) & (stolen > 0)
    rows = table[is_pressed | is_missed]
    if len(rows):
        return _reclaim(rows, len(table), limits)
    if is_direct.any():
        text = (
            "programs look for free pages themselves, and each that they look at can go: sar -B 1 shows more"
        )
        return RULE.undetermined(text)
    text = "programs hardly look for free pages themselves, and few faults wait for pages that were reclaimed"
    return RULE.clear(text)


def _reclaim(rows: Table, samples: int, limits: Limits) -> Finding:
    direct, stolen, faults = (
        weighted.mean(rows, f"{name}_per_s") for name in ("scan_direct", "steal", "major_faults")
    )
    scanned = weighted.mean(rows, "scan_kswapd_per_s") + direct
    values: Values = {"direct": direct, "stolen": stolen, "faults": faults, "count": len(rows)}
    values |= {"samples": samples, "share": 100 * stolen / max(scanned, stolen)}
    is_direct, is_missed = direct >= limits.direct, faults >= limits.faults
    texts = (
        "programs free memory themselves, {direct:.0f} pages/s are scanned directly and {share:.0f} % of all "
        "that is scanned can go",
        "{faults:.0f} page faults/s wait for the disk while {stolen:.0f} pages/s are reclaimed",
    )
    told = " and ".join(text for text, holds in zip(texts, (is_direct, is_missed), strict=True) if holds)
    is_hard = is_direct and (is_missed or float(values["share"]) < limits.hard)
    said = say(f"{told or texts[0]}, {in_samples(samples)}.", values)
    return RULE.finding(
        severity="warning" if is_hard and len(rows) >= samples / 4 else "notice",
        confidence="medium" if len(rows) < limits.samples else "high",
        **time_fields(rows, of_host=True),
        summary=f"Memory is under pressure: {said}",
        evidence=(cite(rows, f"{texts[0]}; {texts[1]}", values, worst="scan_direct_per_s"),),
        refutes=("a stream of files that nobody reads twice",),
        cannot_know=(
            "how long tasks waited: /proc/pressure/memory tells",
            "what the disks did: iostat -x of the same time tells",
        ),
    )


RULE = Rule(
    id="memory-pressure",
    role="symptom",
    title="Tasks wait for memory",
    why="Time spent on finding free pages is time in which nothing gets done, and the disk pays too.",
    remedy=(
        "Find the cause among the other findings; this one says how much it costs.",
        "See which control group waits: grep . /sys/fs/cgroup/*/memory.pressure.",
    ),
    needs=Needs(
        one_of=(
            {"pressure": ("memory_some_pct|memory_some_10s_pct|memory_some_60s_pct",)},
            {"paging": ("scan_direct_per_s", "steal_per_s")},
        )
    ),
    thresholds={
        "some": Threshold(10, "%", "time in which some task waits for memory", "judgement: psi.rst"),
        "full": Threshold(5, "%", "time in which all tasks wait for memory", "judgement: psi.rst"),
        "stand_still": Threshold(40, "%", "such time at which work stands still", "judgement: psi.rst"),
        "samples": Threshold(3, "samples", "how many make it high", "judgement"),
        "direct": Threshold(256, "pages/s", "that programs scan themselves", "eight times SWAP_CLUSTER_MAX"),
        "efficient": Threshold(90, "%", "of scanned pages freed where none is missed", "sar(1): near 100 %"),
        "hard": Threshold(30, "%", "of them below which pages are hard to find", "sar(1), %vmeff"),
        "faults": Threshold(100, "faults/s", "that wait for the disk", "judgement: a disk's seeks"),
    },
    confirm=("cat /proc/pressure/memory", "vmstat 1", "grep . /sys/fs/cgroup/*/memory.pressure"),
    references=("https://docs.kernel.org/accounting/psi.html",),
    detect=detect,
)
