"""One process waits for I/O most of its time.

What it detects: a process of pidstat -d whose iodelay, the time that it waited for block I/O, is half of the
sample and more. Where the samples of disks are shown, too, these say whether that is slow, and it is told for
information.

Why it matters: such a process gets on as fast as its I/O is answered, whatever the host does otherwise.

When it is wrong: iodelay is in ticks of a hundredth of a second, which some platforms have otherwise; it is
of the main thread alone, and a kernel of 5.14 or later counts none unless it is told to (delayacct). A writer
that the page cache holds back waits, too, and so does one that reads one page after another from a quick
device.

References: pidstat(1); proc_pid_stat(5), delayacct_blkio_ticks; accounting/delay-accounting.rst.
"""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.analysis.measure.evidence import Values, cite_fact, say
from iodiag.analysis.view.view import View
from iodiag.model.capture import Fact
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold

TICKS_PER_S = 100.0
"""Ticks of the clock in which the kernel tells programs of times (USER_HZ)."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """At most one finding: the process that waits for the largest share of its time."""
    facts = view.facts_of("pidstat")
    waiting = [fact for fact in facts if fact.number("io_delay_ticks") > 0]
    if not waiting:
        reason = "no time that a process waited is given: pidstat -d 1 with kernel.task_delayacct = 1"
        yield RULE.not_applicable(reason, missing=("facts.pidstat",))
        return
    worst = max(waiting, key=lambda fact: fact.number("io_delay_ticks"))
    length = next((one.number("interval_s") for one in facts if one.number("interval_s") > 0), 0.0)
    values: Values = {
        "process": worst.word("process"),
        "waited": worst.number("io_delay_ticks") / TICKS_PER_S,
    }
    if not length:
        text = "{process} waited {waited:.2f} s for I/O in a sample whose length is not known"
        yield RULE.undetermined(say(text, values))
    elif float(values["waited"]) < limits.share / 100 * length:
        yield RULE.undetermined(
            say("of those listed {process} waits longest, {waited:.2f} s a sample", values)
        )
    else:
        yield _finding(view, worst, values | {"length": length}, limits)


def _finding(view: View, worst: Fact, values: Values, limits: Limits) -> Finding:
    moved = {way: worst.number(f"{way}_kb_per_s") for way in ("read", "write")}
    verb = {"read": "reads", "write": "writes"}[max(moved, key=lambda way: moved[way] or 0.0)]
    values |= {"share": 100 * float(values["waited"]) / float(values["length"]), "kb": max(moved.values())}
    is_shown = bool(view.devices) and "disk" not in view.average_only
    is_little = float(values["kb"]) < limits.much
    return RULE.finding(
        severity="info" if is_shown else "warning" if is_little else "notice",
        confidence="high" if worst.number("samples") >= limits.samples else "medium",
        summary=say(
            "{process} waits for I/O {share:.0f} % of its time while it " + verb + " {kb:.0f} kB/s.", values
        ),
        evidence=(
            cite_fact(worst),
            *(cite_fact(fact, weighs="context") for fact in view.facts_of("pidstat")[:1]),
        ),
        refutes=("ticks of another length than 10 ms: getconf CLK_TCK",),
        cannot_know=("for which device it waits, and whether that is slow",),
    )


RULE = Rule(
    id="process-waits",
    role="symptom",
    title="A process waits for I/O most of its time",
    why="It gets on no faster than its I/O is answered.",
    remedy=(
        "See what it waits in and which device its files are on: cat /proc/PID/stack, df of its directory.",
        "Then see whether that device is slow: iostat -xt 1 30.",
    ),
    needs=Needs(),
    thresholds={
        "share": Threshold(50, "%", "of its time in which it waits", "judgement: more than it works"),
        "much": Threshold(
            10240, "kB/s", "that is what a device is asked for", "judgement: a tenth of a disk"
        ),
        "samples": Threshold(3, "samples", "how many make it high", "judgement: one is a moment"),
    },
    confirm=("iostat -xyt 1 30", "pidstat -d 1 10", "ps -eo state,pid,wchan:32,cmd | grep ^D"),
    references=("https://man7.org/linux/man-pages/man1/pidstat.1.html",),
    detect=detect,
)
