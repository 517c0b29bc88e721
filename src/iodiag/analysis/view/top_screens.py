"""What the processes that top lists prove: that its screen is of now, no average since boot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from iodiag.model.capture import Fact
from iodiag.table.table import Mask, Table


def screens_of_now(facts: Iterable[Fact]) -> Iterator[tuple[Fact, Fact]]:
    """The head and the processes of each screen in which some use far more of the CPUs than since boot.

    In a screen of averages since boot each of them has used what its TIME+ is of the time since then.
    """
    of_top = [fact for fact in facts if fact.kind == "uptime" or "alike_cpu_s" in fact.values]
    head: Fact | None = None
    for fact in sorted(of_top, key=lambda fact: (fact.ref.source, fact.ref.first)):
        if fact.kind == "uptime":
            head = fact
        elif head is not None and head.ref.source == fact.ref.source:
            used, up_s = fact.number("alike_pct"), head.number("up_s")
            if used >= _ALL_OF_ONE_PCT and used * up_s >= _FAR * 100 * fact.number("alike_cpu_s"):
                yield head, fact


def is_of_screens(cpu: Table, facts: Iterable[Fact], cpus: int | None) -> Mask:
    """The rows of all CPUs whose work is that of the processes listed below, in screens of now.

    Where nothing states how many CPUs there are, they are as few as the processes need.
    """
    found = np.zeros(len(cpu), dtype=np.bool_)
    others = (np.nan_to_num(cpu.floats(f"{name}_pct")) for name in ("iowait", "steal"))
    work = 100 - cpu.floats("idle_pct") - sum(others)
    for head, listed in screens_of_now(facts):
        used = listed.number("listed_pct")
        each = used / (cpus or np.ceil(used / 100))
        is_alike = np.abs(work - each) <= _ALIKE * each
        is_between = (cpu["line"] > head.ref.first) & (cpu["line"] < listed.ref.first)
        is_own = np.asarray((cpu["cpu"] == "all") & (cpu["source"] == head.ref.source))
        found |= is_own & is_between & is_alike
    return found


_ALL_OF_ONE_PCT, _FAR, _ALIKE = 90.0, 2.0, 0.05
"""Use of CPUs that proves anything; times as much as since boot; and how far sums of it may be apart."""
