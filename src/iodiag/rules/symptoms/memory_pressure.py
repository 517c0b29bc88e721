"""Tasks wait for memory, by the kernel's own account.

What it detects: pressure stall information that says that some tasks waited for memory at least 10 % of
the time, or all of them at least 5 %.

Why it matters: time spent on finding, reading and writing pages is time in which work did not get on, and
the disk is busy for it.

When it is wrong: compressing pages in memory counts too, without any disk. The pressure of the whole host
holds that of a control group at its own limit, while the host has memory to spare.

References: Documentation/accounting/psi.rst.
"""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.analysis.host.kernel_events import logged
from iodiag.analysis.host.waiting import under_pressure
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, in_samples, say
from iodiag.analysis.measure.grading import when
from iodiag.analysis.view.view import View
from iodiag.model.finding import Confidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding per host; what takes the memory is for other rules and tools to say."""
    table, pressed = view.samples("pressure"), under_pressure(view, "memory", limits.some, limits.full)
    if table is None or pressed is None:
        return
    rows, kind = pressed
    if not len(rows):
        yield Outcome(RULE.id, "clear", (), "tasks hardly ever wait for memory")
        return
    values: Values = {
        "some": weighted.mean(rows, f"memory_some{kind}_pct", "pressure"),
        "full": weighted.or_zero(weighted.mean(rows, f"memory_full{kind}_pct", "pressure")),
        "count": len(rows),
        "samples": len(table),
    }
    sure: Confidence = "medium" if kind or len(rows) < limits.samples else "high"
    severity: Severity = "critical" if float(values["full"]) >= limits.stand_still else "warning"
    if len(rows) < len(table) / 4:
        severity = "notice"
    often = in_samples(len(table))
    yield RULE.finding(
        severity=severity,
        confidence=sure,
        **when(rows, of_host=True),
        summary=say(
            f"Tasks wait for memory {{some:.0f}} % of the time, all of them {{full:.0f}} %, {often}.", values
        ),
        evidence=(
            cite(
                rows,
                "some tasks waited for memory {some:.1f} % of the time, all that could have run {full:.1f} %",
                values,
                worst=f"memory_some{kind}_pct",
            ),
            *logged(view, "out of memory", table, "the kernel killed {count} processes to get memory"),
        ),
        refutes=("swap that lies on zram alone",),
        cannot_know=("whether the host runs short or the limit of a control group",),
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
    needs=Needs(one_of=({"pressure": ("memory_some_pct|memory_some_10s_pct|memory_some_60s_pct",)},)),
    thresholds={
        "some": Threshold(10, "%", "time in which some task waits for memory", "judgement: psi.rst"),
        "full": Threshold(5, "%", "time in which all tasks wait for memory", "judgement: psi.rst"),
        "stand_still": Threshold(40, "%", "such time at which work stands still", "judgement: psi.rst"),
        "samples": Threshold(3, "samples", "how many make it high", "judgement"),
    },
    confirm=("cat /proc/pressure/memory", "vmstat 1", "grep . /sys/fs/cgroup/*/memory.pressure"),
    references=("https://docs.kernel.org/accounting/psi.html",),
    detect=detect,
)
