"""Who asks a device: the process that moves as much as it does, and how long one waited for it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite_fact, say
from iodiag.analysis.view.view import IDLE_KB_PER_S, View
from iodiag.model.capture import Fact
from iodiag.model.finding import Evidence
from iodiag.table.table import Table

SAME = 0.1
"""How far apart the rates of a process and of a device may be: two tools do not sample the same second."""


def asker(view: View, rows: Table, way: str) -> Fact | None:
    """The process of pidstat or iotop that alone moves what a device did in `rows`, "read" or "write".

    None where no process does, or where the numbers are totals.
    """
    moved = weighted.mean(rows, f"{way}_kb_per_s")
    if not moved >= IDLE_KB_PER_S:
        return None
    named = (fact for fact in view.facts_of("pidstat", "iotop") if fact.word("process"))
    return next((f for f in named if abs(f.number(f"{way}_kb_per_s") - moved) <= SAME * moved), None)


def writer(view: View, rows: Table) -> Fact | None:
    """The process that alone writes while a device writes about as much in `rows`, through the page cache.

    pidstat and iotop count what is given to the cache, and a device what leaves it: within a factor of two.
    None where several write, or what writes are tasks of the kernel.
    """
    moved = weighted.mean(rows, "write_kb_per_s")
    given = view.facts_of("pidstat", "iotop")
    facts = [fact for fact in given if fact.number("write_kb_per_s") >= IDLE_KB_PER_S]
    total = max((fact.number("write_kb_per_s") for fact in facts if not fact.word("process")), default=0.0)
    named = (fact for fact in facts if fact.word("process") and not is_of_kernel(fact.word("process")))
    most = max(named, key=lambda fact: fact.number("write_kb_per_s"), default=None)
    kb = most.number("write_kb_per_s") if most is not None else 0.0
    return most if kb >= MOST_WRITTEN * total and moved / 2 <= kb <= 2 * moved else None


MOST_WRITTEN = 0.9
"""Share of what all processes write from which one alone does."""


def busiest_writer(view: View) -> Fact | None:
    """The process that writes most by pidstat or iotop, no task of the kernel; None where none is listed."""
    named = (fact for fact in view.facts_of("pidstat", "iotop") if fact.number("write_kb_per_s") > 0)
    of_programs = (fact for fact in named if fact.word("process") and not is_of_kernel(fact.word("process")))
    return max(of_programs, key=lambda fact: fact.number("write_kb_per_s"), default=None)


def fills_cache(view: View) -> Fact | None:
    """iotop's sums where processes write several times what the disks take meanwhile; None where they do not.

    The rest fills the page cache: it makes who writes wait once the cache holds as much as it may.
    """
    for fact in view.facts_of("iotop"):
        asked, taken = (fact.number(f"{whose}_write_kb_per_s") for whose in ("asked", "disks"))
        if asked >= max(FLOOD * taken, _LEAST_KB):
            return fact
    return None


FLOOD = 2.0
"""Times what the disks take that processes write, from which it is no matter of edges (judgement)."""

_FLUSHER = re.compile(r"\[?(?:kworker/|flush-\d|pdflush\b|kswapd\d|bdflush\b|kupdated?\b)")
_OF_KERNEL = re.compile(
    r"\[|jbd2/|kjournald\b|xfsaild\b|md\d+_(?:raid|resync|reshape|cluster)|dmcrypt_|loop\d+\b|btrfs-[a-z]|txg_"
)


def is_flusher(process: str) -> bool:
    """Whether it is a thread of the kernel that may write the page cache back: nobody waits for that one."""
    return bool(_FLUSHER.match(process))


def asks_no_disk(process: str) -> bool:
    """Whether it is a thread of the kernel that asks no disk: what is counted of it is an artefact."""
    return bool(_OF_NO_DISK.match(process))


_OF_NO_DISK = re.compile(
    r"\[?(?:ksoftirqd|migration|rcu[a-z]*[_/]|rcuos?/|watchdog|cpuhp|khugepaged|kcompactd|irq/)"
)


def is_of_kernel(process: str) -> bool:
    """Whether it is a thread of the kernel, which works for others."""
    return bool(_OF_KERNEL.match(process)) or is_flusher(process)


def is_reclaimer(process: str) -> bool:
    """Whether it is the thread of the kernel that frees memory."""
    return process.strip("[]").startswith("kswapd")


def reclaimer(view: View) -> Fact | None:
    """The thread of the kernel that frees memory, where it waits for I/O: for such a `share` of its time."""
    facts = view.facts_of("pidstat", "iotop")
    length = sample_s(facts)
    for fact in facts:
        process, share = fact.word("process").strip("[]"), waited_pct(fact, length)
        if is_reclaimer(process) and share >= _MOSTLY_PCT:
            return replace(fact, values={**fact.values, "process": process, "share": min(100.0, share)})
    return None


_MOSTLY_PCT = 50.0
"""Share of its time from which a process waits more than it works (judgement)."""

RECLAIMS = (
    "{process} waits for I/O {share:.0f} % of its time: the kernel frees memory meanwhile, which is short or "
    "full of what is to be written"
)
"""What it shows, as a clause with the values of that fact."""

SHOW_MEMORY = ("vmstat 1", "free -m", "swapon --show")
"""Commands that show whether memory is short."""


def sample_s(facts: Iterable[Fact]) -> float:
    """The length of a sample of processes in seconds; 0 where none is known."""
    return next((one.number("interval_s") for one in facts if one.number("interval_s") > 0), 0.0)


TICKS_PER_S = 100.0
"""Ticks of the clock in which the kernel tells programs of times (USER_HZ)."""


def unseen(view: View) -> str:
    """That all processes listed move next to nothing of what the busiest device does, as a sentence."""
    sums = (fact for fact in view.facts_of("pidstat", "iotop") if not fact.word("process"))
    listed = next((fact for fact in sums if fact.number("samples") >= _SEVERAL), None)
    if listed is None or "disk" in view.average_only:
        return ""
    kb = {series.name: weighted.or_zero(weighted.mean(series.samples, "kb_per_s")) for series in view.devices}
    seen = listed.number("read_kb_per_s") + listed.number("write_kb_per_s")
    name = max(kb, key=lambda each: kb[each], default="")
    if not (kb.get(name, 0.0) >= max(_LEAST_KB, UNSEEN * seen)):
        return ""
    values: Values = {"tool": listed.kind, "seen": seen, "name": name, "moved": kb[name]}
    text = " {tool} shows {seen:.0f} kB/s of the {moved:kb} that {name} moves: who asks is not in its list "
    return say(text + "(run it as root; the kernel, mmap and earlier buffered writes are in none).", values)


def who_asks(views: Sequence[View], how: str, see: str = "see") -> str:
    """What shows who asks `how`, as a clause: of a list that has half of what a device moves, the first.

    `see` is its first word, for one that begins a sentence.
    """
    for view in views:
        facts = view.facts_of("pidstat", "iotop")
        most = max((fact for fact in facts if fact.word("process")), key=_moved_kb, default=None)
        listed = max((_moved_kb(fact) for fact in facts if not fact.word("process")), default=0.0)
        rates = [weighted.or_zero(weighted.mean(one.samples, "kb_per_s")) for one in view.devices]
        if most is None or not listed >= max(IDLE_KB_PER_S, max(rates, default=0.0) / 2):
            continue
        values: Values = {**most.values, "pid": most.word("pid") or most.word("tid"), "tool": most.kind}
        values |= {"own": _moved_kb(most), "kb": listed}
        shows = "`cat /proc/{pid}/stack`" if is_of_kernel(most.word("process")) else "`ls -l /proc/{pid}/fd`"
        text = see + " what {process} does, with {own:.0f} of the {kb:.0f} kB/s that {tool} lists: "
        return say(text + shows, values)
    return f"{see} who asks {how}: `pidstat -d 1`"


def _moved_kb(fact: Fact) -> float:
    """What a process, or all in a list, read and write in kB/s; 0 where it is not told."""
    return sum(weighted.or_zero(fact.number(f"{way}_kb_per_s")) for way in ("read", "write"))


def mostly_waits(view: View, told: str) -> str:
    """The process that waits for I/O for the most of its time, as the end of a clause; no flusher.

    Nor one of which a sentence has `told` that it waited.
    """
    facts = view.facts_of("pidstat", "iotop")
    length = sample_s(facts)
    named = [fact for fact in facts if (name := fact.word("process")) and not is_flusher(name)]
    asking = (fact for fact in named if not asks_no_disk(fact.word("process")))
    shares = [(weighted.or_zero(waited_pct(fact, length)), fact) for fact in asking]
    share, most = max(shares, key=lambda one: one[0], default=(0.0, None))
    if most is None or not share >= _MOSTLY_PCT or f"{most.word('process')} waited for I/O" in told:
        return ""
    values: Values = {**most.values, "share": min(100.0, share), "tool": most.kind}
    return say("; {process} waits for I/O {share:.0f} % of its time by {tool}", values)


UNSEEN, _LEAST_KB, _SEVERAL = 20.0, 10240.0, 3
"""Times what processes move, and kB/s, that a device moves of which they do not tell; samples that are no
moment."""


def waited_s(process: Fact) -> float:
    """How long a process of pidstat waited for I/O in a sample on average; else NaN."""
    return process.number("io_delay_ticks") / TICKS_PER_S


def waited_pct(process: Fact, length_s: float) -> float:
    """The share of its time that a process waited for I/O, by iotop or by pidstat's samples of such a length.

    0 where no length is known.
    """
    if (share := process.number("io_pct")) > 0:
        return share
    return 100 * waited_s(process) / length_s if length_s > 0 else 0.0


def longest_wait_s(process: Fact) -> float:
    """The longest time that one sample of pidstat counts a process to have waited for I/O; else NaN."""
    return process.number("most_io_delay_ticks") / TICKS_PER_S


def longest_wait(process: Fact, length_s: float = math.inf) -> Evidence:
    """That a process waited for I/O for so long, counted in one sample when it ended.

    Waits that began in a sample of `length_s` last no longer than that, by a clock of whole seconds: one that
    lasted for the rest began before.
    """
    waited = longest_wait_s(process)
    least = waited - length_s - _CLOCK_S
    values = {**process.values, "waited": waited, "least": least}
    text = "waits of {process} for I/O that ended in one sample add up to {waited:.1f} s"
    text += ": one lasted {least:.1f} s or more" * (least > 0)
    return cite_fact(replace(process, values=values), text)


_CLOCK_S = 1.0
"""What a length between two clocks of whole seconds may be off by."""
