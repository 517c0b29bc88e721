"""One process waits for I/O most of its time.

What it detects: a process of pidstat -d whose iodelay, the time that it waited for block I/O, is half of the
sample and more, while it moves less than a disk streams. It is nine tenths of what iotop shows as IO, of a
second as a rule, and of a thread of the kernel, such as one that commits: callers wait with it, and it is
told first. Threads of one name are told together where two and more of them wait at a time, and what those of
each class of I/O priority move where they differ in it. Threads that write the page cache back are left out:
nobody waits for them. The one that frees memory (kswapd) is told if it waits for half of its time: memory is
short; and so are tasks that wait for pages from swap as well (SWAPIN) are told with them. Threads that wait
for no block I/O at all (ksoftirqd) are left out. Where the samples of disks are shown, too, these say whether
that is slow, and it is told for information.

Why it matters: such a process gets on as fast as its I/O is answered, whatever the host does otherwise.

When it is wrong: iodelay is in ticks of a hundredth of a second, which some platforms have otherwise; it is
of the main thread alone, and a kernel of 5.14 or later counts none unless it is told to (delayacct). A writer
that the page cache holds back waits, too, and so does one that reads one page after another from a quick
device. The kernel counts a wait when it ends, so that one may be longer than the sample that counts it: such
a wait is told as it is, and as no share.

References: pidstat(1); iotop(8); proc_pid_stat(5), delayacct_blkio_ticks; accounting/delay-accounting.rst.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from iodiag.analysis.host.process_of_device import (
    RECLAIMS,
    SHOW_MEMORY,
    asks_no_disk,
    is_flusher,
    is_of_kernel,
    longest_wait,
    longest_wait_s,
    reclaimer,
    sample_s,
    waited_pct,
    waited_s,
)
from iodiag.analysis.measure.evidence import MOST_TOLD, Values, cite, cite_fact, say
from iodiag.analysis.view.view import View
from iodiag.model.capture import Fact
from iodiag.model.finding import Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.model.units import KB_PER_GB


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """At most one finding: the process that waits for the largest share of its time."""
    facts = [fact for fact in view.facts_of("pidstat", "iotop") if not asks_no_disk(fact.word("process"))]
    waiting = [fact for fact in facts if fact.number("io_delay_ticks") > 0 or fact.number("io_pct") > 0]
    if not waiting:
        reason = "no time that a process waited is given: pidstat -d 1 with kernel.task_delayacct = 1"
        yield RULE.not_applicable(reason, missing=("facts.pidstat", "facts.iotop"))
        return
    length = sample_s(facts)
    # more than its time in one sample: the wait began before, and is counted when it ends
    ended = [fact for fact in waiting if 0 < MOST * length < longest_wait_s(fact)]
    ended.sort(key=lambda fact: -longest_wait_s(fact))
    rest = sorted((fact for fact in waiting if fact not in ended), key=lambda fact: -waited_pct(fact, length))
    longest = [fact for fact in _programs(view, limits) if not is_flusher(fact.word("process"))]
    named = [fact for fact in rest if waited_pct(fact, length) >= _least_pct(fact, limits)]
    # callers wait with a thread of the kernel, and its name may tell the device
    longest += sorted(named, key=lambda fact: fact.kind != "iotop" or not is_of_kernel(fact.word("process")))
    streams = [fact for fact in longest if _moved(fact)[1] >= limits.stream]
    longest = [fact for fact in longest if fact not in streams]
    also = [*dict.fromkeys(fact.word("process") for fact in longest)][1:]
    longest = _of_one_name(longest)
    if ended or longest:
        yield _finding(view, longest, ended[:_TOLD], length, limits, also)
    elif (kernel := reclaimer(view)) is not None:
        yield _of_reclaim(kernel, limits)
    elif streams:
        yield RULE.undetermined(f"{_share(streams[0], length)}, which may be all that its device gives")
    elif not waited_pct(rest[0], length) > 0:
        text = "{process} waited {waited:.2f} s for I/O in a sample whose length is not known"
        values: Values = {"process": rest[0].word("process"), "waited": waited_s(rest[0])}
        yield RULE.undetermined(say(text, values))
    else:
        least = say(_TOO_LITTLE, {"least": _least_pct(rest[0], limits)})
        yield RULE.undetermined(f"the longest wait of those listed: {_share(rest[0], length)}{least}")


def _programs(view: View, limits: Limits) -> list[Fact]:
    """The programs of which several threads wait at a time, the largest crowd first."""
    # shares of time are printed to a hundredth of a per cent
    least = limits.threads - _PRINTED
    facts = [fact for fact in view.facts_of("iotop-program") if fact.number("waiting") >= least]
    return sorted(facts, key=lambda fact: -fact.number("waiting"))


_PRINTED = 0.005
"""Threads that wait at a time which shares as printed may lack."""

_TOO_LITTLE = "; {least:.0f} % would be told"

MOST, _TOLD = 1.1, 2
"""Times the length of a sample that a process waits in it at the most, for what clocks are off by; and how
many that waited for longer are told."""


def _least_pct(fact: Fact, limits: Limits) -> float:
    """The share of its time from which a process that waits is told; no share is enough of one that nobody
    waits for."""
    process = fact.word("process")
    if is_flusher(process):
        return math.inf
    return limits.most if fact.kind == "iotop" or is_of_kernel(process) else limits.share


def _of_one_name(longest: Sequence[Fact]) -> list[Fact]:
    """The one that waits longest, and others of its name that do as well, each thread or process once.

    A program stands for its threads.
    """
    if longest and longest[0].kind == "iotop-program":
        return [longest[0]]
    found: dict[str, Fact] = {}
    for fact in longest:
        if fact.word("process") == longest[0].word("process"):
            found.setdefault(fact.word("tid") or fact.word("pid"), fact)
    return [*found.values()]


def _finding(
    view: View,
    longest: Sequence[Fact],
    ended: Sequence[Fact],
    length: float,
    limits: Limits,
    also: Sequence[str],
) -> Finding:
    waits = [longest_wait(fact, length) for fact in ended]
    kernel = reclaimer(view)
    reclaims = [cite_fact(kernel, RECLAIMS)] if kernel is not None else []
    reclaims += [*_swapped_in(view, limits), *_read_again(view)]
    shares = [_share(fact, length) for fact in longest[:1]]
    if others := longest[1:]:
        values: Values = {"more": len(others), "waits": "waits" if len(others) == 1 else "wait at least"}
        values["least"] = min(100.0, *(waited_pct(fact, length) for fact in others))
        shares[0] += say("; {more} more of that name {waits} {least:.0f} %", values)
    if also and longest[0].kind != "pidstat":
        names = {f"name{at}": name for at, name in enumerate(also[:MOST_TOLD])}
        begins = "; about as long wait " if longest[0].kind == "iotop" else "; nearly all the time wait "
        shares[0] += say(begins + ", ".join(f"{{{name}}}" for name in names), names)
    told = "; ".join([*shares, *(item.text for item in (*waits, *reclaims))])
    lead = (*longest, *ended)[0]
    severity: Severity = "warning" if _moved(lead)[1] < limits.much else "notice"
    if view.devices and "disk" not in view.average_only:
        severity = "notice" if reclaims else "info"  # disks show nothing of memory
    return RULE.finding(
        severity=severity,
        confidence="high" if lead.number("samples") >= limits.samples else "medium",
        title=_OF_THREADS if lead.kind == "iotop-program" else RULE.title,
        summary=f"{told if longest else told[0].upper() + told[1:]}.",
        evidence=(
            *map(cite_fact, longest[:MOST_TOLD]),
            *waits,
            *reclaims,
            *(cite_fact(fact, weighs="context") for fact in view.facts_of("pidstat", "iotop")[:1]),
            *_full_swap(view, limits),
        ),
        refutes=(
            "other samples in which it does not wait: iotop -bok -n 10"
            if lead.kind != "pidstat"
            else "ticks of another length than 10 ms: getconf CLK_TCK",
        ),
        cannot_know=("for which device it waits, and whether that is slow",),
        remedy=(*_OF_CLASSES * bool(_classes(lead)), *_OF_MEMORY * bool(reclaims), *RULE.remedy),
        confirm=(*SHOW_MEMORY * bool(reclaims), *RULE.confirm),
    )


_OF_THREADS = "Several threads of one program wait for I/O at a time"


def _swapped_in(view: View, limits: Limits) -> Iterator[Evidence]:
    """That tasks wait for pages which come back from swap as well: memory is short, or was."""
    late = [fact for fact in view.facts_of("iotop") if fact.number("swapin_pct") >= limits.swapin]
    if late:
        most = max(late, key=lambda fact: fact.number("swapin_pct"))
        told = replace(most, values={**most.values, "late": len(late)})
        several = "{late} of these tasks wait" if len(late) > 1 else "{process} waits"
        yield cite_fact(
            told, several + " for pages from swap as well, {swapin_pct:.0f} % of the time at most"
        )


def _read_again(view: View) -> Iterator[Evidence]:
    """That several programs read and wait at once, and none of them writes: they may miss their own pages."""
    late = [fact for fact in view.facts_of("iotop") if fact.number("io_pct") >= _AT_ONCE_PCT]
    late = [fact for fact in late if not is_of_kernel(fact.word("process"))]
    late = [fact for fact in late if (rates := _rates(fact))["reads"] > 0 and not rates["writes"]]
    names = [*dict.fromkeys(fact.word("process") for fact in late)]
    if len(names) >= _SEVERAL_READ:
        values: Values = {f"name{at}": name for at, name in enumerate(names[:MOST_TOLD])}
        told = ", ".join(f"{{{name}}}" for name in values)
        text = (
            f"{{count}} programs read and wait at once ({told}): they may read pages of their own again, for "
        )
        yield cite_fact(replace(late[0], values=values | {"count": len(names)}), text + _SHORT)


_SHORT = "which memory is short"
_AT_ONCE_PCT, _SEVERAL_READ = 20.0, 3
"""Share of its time in which a program waits beside others, and programs that read at once by no chance."""


def _of_reclaim(kernel: Fact, limits: Limits) -> Finding:
    """That the kernel waits while it frees memory, where no process is seen to wait for as long."""
    told = cite_fact(kernel, RECLAIMS)
    return RULE.finding(
        severity="notice",
        confidence="high" if kernel.number("samples") >= limits.samples else "medium",
        title="The kernel waits for I/O while it frees memory",
        summary=f"{told.text}.",
        evidence=(told,),
        refutes=("samples of vmstat without si and so, and without scans in sar -B",),
        cannot_know=("what takes the memory",),
        remedy=_OF_MEMORY,
        confirm=SHOW_MEMORY,
    )


_OF_MEMORY = ("See whether memory is short, and what takes it: vmstat 1 (si, so), free -m, ps.",)


def _full_swap(view: View, limits: Limits) -> Iterator[Evidence]:
    """That much of the swap is used, which may be what it waits for, and is no swapping by itself."""
    swap = view.samples("swap")
    used, free = (0.0, 0.0) if swap is None else (swap.floats(f"{name}_kb")[-1] for name in ("used", "free"))
    if swap is not None and used > 0 and used >= limits.share / 100 * (used + free):
        values: Values = {"used": used / KB_PER_GB, "total": (used + free) / KB_PER_GB}
        text = "{used:.1f} GB of {total:.1f} GB of swap are used; whether pages come in is not shown by that"
        yield cite(swap[-1:], text, values, weighs="context")


def _moved(fact: Fact) -> tuple[str, float]:
    """The direction in which a process moves more, as a verb, and kB/s of it."""
    return max(_rates(fact).items(), key=lambda one: one[1])


def _rates(fact: Fact) -> dict[str, float]:
    """What a process moves in kB/s, by verb."""
    return {f"{way}s": float(np.nan_to_num(fact.number(f"{way}_kb_per_s"))) for way in ("read", "write")}


def _share(fact: Fact, length: float) -> str:
    most = _moved(fact)
    moved = [one for one in _rates(fact).items() if one[1] >= _PART * most[1] or one == most]
    values: Values = {"process": fact.word("process"), "share": min(100.0, waited_pct(fact, length))}
    is_crowd = "threads" in fact.values
    text = "{process} waits for I/O {share:.0f} % of its time"
    if is_crowd:
        values |= {name: fact.number(name) for name in ("threads", "waiting")}
        text = "{threads:.0f} threads of {process} wait for I/O, {waiting:.1f} at a time,"
    did = " and ".join(f"{verb.removesuffix('s' * is_crowd)} {{{verb}:.0f}} kB/s" for verb, _ in moved)
    is_seen = {"read_kb_per_s", "write_kb_per_s"} & fact.values.keys()
    text += f" while {'they' if is_crowd else 'it'} {did}" if is_seen else "; what it moves may not be seen"
    if fact.number("of_samples") > 0:
        values |= {name: fact.number(name) for name in ("samples", "of_samples")}
        text += ", in the {samples:.0f} of {of_samples:.0f} samples that list it"
    for io_class in _classes(fact):
        values |= {f"{io_class}_{name}": fact.number(f"{io_class}_{name}") for name in ("threads", "kb")}
        text += f"; {{{io_class}_threads:.0f}} of I/O class {io_class} move {{{io_class}_kb:.0f}} kB/s"
    return say(text, values | dict(moved))


def _classes(fact: Fact) -> list[str]:
    """The classes of priority for I/O that threads of a program differ in, the first that is served first."""
    return [name.removesuffix("_threads") for name in fact.values if name.endswith("_threads")]


_OF_CLASSES = (
    "See who sets the class (ionice -p PID): a scheduler that has classes serves rt first, and idle last.",
)

_PART = 0.1
"""Of what it moves in one direction, so much in the other is told as well."""


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
        "most": Threshold(90, "%", "of a moment, or of a thread of the kernel", "judgement: nothing else"),
        "threads": Threshold(2, "threads", "of one program that wait at a time", "judgement: no one stream"),
        "stream": Threshold(102400, "kB/s", "that a disk streams: it allows no more", "a disk of 7200 rpm"),
        "swapin": Threshold(10, "%", "of its time, for pages from swap", "judgement: a tenth of its work"),
        "samples": Threshold(3, "samples", "how many make it high", "judgement: one is a moment"),
    },
    confirm=("iostat -xyt 1 30", "pidstat -d 1 10", "ps -eo state,pid,wchan:32,cmd | grep ^D"),
    references=("https://man7.org/linux/man-pages/man1/pidstat.1.html",),
    detect=detect,
)
