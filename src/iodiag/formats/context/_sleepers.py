"""What listings of processes have in common that tell who sleeps uninterruptibly (state D), as facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from iodiag.formats.context._common import Values, fact
from iodiag.formats.types import Line
from iodiag.model.capture import Fact

ASLEEP = "D"
_MOST_NAMED = 5
_FLUSHER = r"\[?(?:pdflush|kupdated?|bdflush|flush-\S+|kworker/\S*flush\S*)\]?$"


class Sleeper(NamedTuple):
    """A process that sleeps uninterruptibly; `user` and `wchan` are None where they are not shown."""

    line: Line
    pid: str
    process: str
    user: str | None = None
    wchan: str | None = None


def flushers(asleep: Sequence[Sleeper]) -> int:
    """How many of them are threads of the kernel that write the page cache back: nobody waits for these."""
    return sum(bool(re.match(_FLUSHER, one.process)) for one in asleep)


def facts_of(kind: str, asleep: Sequence[Sleeper], source: str) -> Iterator[Fact]:
    """That each sleeps uninterruptibly, in the order of the listing: one of each name, and five at most."""
    each = {one.process: one for one in reversed(asleep)}.values()
    for one in [*each][: -1 - _MOST_NAMED : -1]:
        values: Values = {"process": one.process, "pid": one.pid, "user": one.user, "state": ASLEEP}
        values["wchan"] = one.wchan
        owner = f" of {one.user}" if one.user else ""
        text = f"{{process}} (pid {one.pid}{owner}) sleeps uninterruptibly (state {ASLEEP})"
        yield fact(kind, text + (" in {wchan}" if one.wchan else ""), values, source, [one.line])
