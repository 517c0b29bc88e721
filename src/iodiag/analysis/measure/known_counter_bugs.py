"""Which kernels are known to count what iostat prints wrongly, and who says so.

A version proves nothing by itself: distributions port repairs back, and bugs too. What the numbers contradict
is named by its rule; the kernel's known bug says where the contradiction comes from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from iodiag.analysis.measure.evidence import Values, cite
from iodiag.model.finding import Evidence

Version = tuple[int, int]
Column = Literal["util_pct", "queue_depth", "iowait_pct"]
Error = Literal["too high", "too low"]


@dataclass(frozen=True)
class CounterBug:
    """A column that kernels from `first` up to, but not including, `before` count wrongly.

    `releases` is a pattern of vendors' kernels that have the bug as well.
    """

    column: Column
    error: Error
    first: Version
    before: Version
    what: str
    source: str
    releases: str = "(?!)"


_EVER = (999, 0)

PHANTOMS = CounterBug(
    "util_pct",
    "too high",
    (4, 17),
    (5, 0),
    "kernels v4.17 to v4.20, and of RHEL at that time, may show idle multi-queue devices (NVMe) as busy",
    "https://github.com/Atoptool/atop/issues/47",
    r"3\.10\.0-957\.",
)
"""Requests that are not there are counted: in the queue as well."""

KNOWN = (
    PHANTOMS,
    CounterBug(
        "util_pct",
        "too high",
        (5, 0),
        (6, 10),
        "kernels v5.0 to v6.9 count a whole tick for each tick in which a request begins or ends",
        "https://git.kernel.org/torvalds/c/99dc422335d8b2bd4d105797241d3e715bae90e9",
    ),
    CounterBug(
        "util_pct",
        "too high",
        (6, 10),
        _EVER,
        "kernels from v6.10 on may count the idle time before two requests that begin at once on two CPUs",
        "https://lkml.iu.edu/hypermail/linux/kernel/2602.3/08753.html",
    ),
    CounterBug(
        "util_pct",
        "too low",
        (5, 0),
        (5, 7),
        "kernels v5.0 to v5.6 count the first and the last tick of a request alone",
        "https://git.kernel.org/torvalds/c/2b8bd423614c595540eaadcfbc702afe8e155e50",
    ),
    CounterBug(
        "queue_depth",
        "too low",
        (5, 0),
        (5, 7),
        "kernels v5.0 to v5.6 count whole ticks of each request for the queue, and nothing of quicker ones",
        "https://lore.kernel.org/lkml/158503038812.1955.7827988255138056389.stgit@buzz/",
    ),
    CounterBug(
        "iowait_pct",
        "too high",
        (6, 5),
        _EVER,
        "kernels from v6.4.4 and v6.1.39 on count a task that waits for an io_uring, whatever it waits for",
        "https://github.com/axboe/liburing/issues/943",
        r"6\.(?:1\.(?:39|[4-9]\d|\d{3})|4\.(?:[4-9]|\d\d))",
    ),
)
"""In the order of kernels."""


def version_of(kernel: str | None) -> Version | None:
    """The first two numbers of a kernel's name, as a banner has it; None where it has none."""
    version = re.match(r"(\d{1,3})\.(\d{1,3})", kernel or "")
    return (int(version[1]), int(version[2])) if version else None


def known_bug(kernel: str | None, column: Column, error: Error) -> CounterBug | None:
    """The bug of this kernel (as a banner has it) that makes a column wrong in this way."""
    number = version_of(kernel)
    if kernel is None or number is None:
        return None
    of_column = (bug for bug in KNOWN if (bug.column, bug.error) == (column, error))
    is_there = (b for b in of_column if b.first <= number < b.before or re.match(b.releases, kernel))
    return next(is_there, None)


def of_bug(bug: CounterBug | None, kernel: str | None, origin: str) -> tuple[Evidence, ...]:
    """What is known of the kernel, as evidence; nothing where no bug is. `origin` has its version."""
    if bug is None:
        return ()
    values: Values = {"kernel": kernel or "", "what": bug.what, "origin": origin}
    return (cite(None, "kernel {kernel} is known for it: {what}", values, weighs="context"),)
