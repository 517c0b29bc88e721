"""One process waits for I/O most of its time.

What it detects: a process of pidstat -d whose iodelay, the time that it waited for block I/O, is half of the
sample and more. Where the samples of disks are shown, too, these say whether that is slow, and it is told for
information.

Why it matters: such a process gets on as fast as its I/O is answered, whatever the host does otherwise.

When it is wrong: iodelay is in ticks of a hundredth of a second, which some platforms have otherwise; it is
of the main thread alone, and a kernel of 5.14 or later counts none unless it is told to (delayacct). A writer
that the page cache holds back waits, too, and so does one that reads one page after another from a quick
device. The kernel counts a wait when it ends, so that one may be longer than the sample that counts it: such
a wait is told as it is, and as no share.

References: pidstat(1); proc_pid_stat(5), delayacct_blkio_ticks; accounting/delay-accounting.rst.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from iodiag.analysis.host.process_of_device import TICKS_PER_S, longest_wait, longest_wait_s
from iodiag.analysis.measure.evidence import Values, cite_fact, say
from iodiag.analysis.view.view import View
from iodiag.model.capture import Fact
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """At most one finding: the process that waits for the largest share of its time."""
    facts = view.facts_of("pidstat")
    waiting = [fact for fact in facts if fact.number("io_delay_ticks") > 0]
    if not waiting:
        reason = "no time that a process waited is given: pidstat -d 1 with kernel.task_delayacct = 1"
        yield RULE.not_applicable(reason, missing=("facts.pidstat",))
        return
    length = next((one.number("interval_s") for one in facts if one.number("interval_s") > 0), 0.0)
    # more than its time in one sample: the wait began before, and is counted when it ends
    ended = [fact for fact in waiting if 0 < MOST * length < longest_wait_s(fact)]
    ended.sort(key=lambda fact: -longest_wait_s(fact))
    rest = sorted((fact for fact in waiting if fact not in ended), key=lambda fact: -_seconds(fact))
    longest = [fact for fact in rest[:1] if length and _seconds(fact) >= limits.share / 100 * length]
    if ended or longest:
        yield _finding(view, longest, ended[:_TOLD], length, limits)
        return
    values: Values = {"process": rest[0].word("process"), "waited": _seconds(rest[0])}
    text = "of those listed {process} waits longest, {waited:.2f} s a sample"
    if not length:
        text = "{process} waited {waited:.2f} s for I/O in a sample whose length is not known"
    yield RULE.undetermined(say(text, values))


MOST, _TOLD = 1.1, 2
"""Times the length of a sample that a process waits in it at the most, for what clocks are off by; and how
many that waited for longer are told."""


def _seconds(fact: Fact) -> float:
    return fact.number("io_delay_ticks") / TICKS_PER_S


def _finding(
    view: View, longest: Sequence[Fact], ended: Sequence[Fact], length: float, limits: Limits
) -> Finding:
    waits = [longest_wait(fact) for fact in ended]
    told = "; ".join([*(_share(fact, length) for fact in longest), *(wait.text for wait in waits)])
    lead = (*longest, *ended)[0]
    is_shown = bool(view.devices) and "disk" not in view.average_only
    return RULE.finding(
        severity="info" if is_shown else "warning" if _moved(lead)[1] < limits.much else "notice",
        confidence="high" if lead.number("samples") >= limits.samples else "medium",
        summary=f"{told if longest else told[0].upper() + told[1:]}.",
        evidence=(
            *map(cite_fact, longest),
            *waits,
            *(cite_fact(fact, weighs="context") for fact in view.facts_of("pidstat")[:1]),
        ),
        refutes=("ticks of another length than 10 ms: getconf CLK_TCK",),
        cannot_know=("for which device it waits, and whether that is slow",),
    )


def _moved(fact: Fact) -> tuple[str, float]:
    """The direction in which a process moves more, as a verb, and kB/s of it."""
    kb = {f"{way}s": float(np.nan_to_num(fact.number(f"{way}_kb_per_s"))) for way in ("read", "write")}
    return max(kb.items(), key=lambda one: one[1])


def _share(fact: Fact, length: float) -> str:
    verb, kb = _moved(fact)
    values: Values = {"process": fact.word("process"), "share": min(100.0, 100 * _seconds(fact) / length)}
    text = "{process} waits for I/O {share:.0f} % of its time while it " + verb + " {kb:.0f} kB/s"
    return say(text, values | {"kb": kb})


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
