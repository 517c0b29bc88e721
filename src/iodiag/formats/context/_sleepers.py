"""What listings of processes have in common that tell who sleeps uninterruptibly (state D), as facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from iodiag.formats.context._common import Values, fact
from iodiag.formats.types import Line
from iodiag.model.capture import Fact

ASLEEP = "D"
_MOST_NAMED = 5
_Row = TypeVar("_Row")
_FLUSHER = r"\[?(?:pdflush|kupdated?|bdflush|flush-\S+|kworker/\S*flush\S*)\]?$"


class Sleeper(NamedTuple):
    """A process that sleeps uninterruptibly; `user` and `wchan` are None where they are not shown."""

    line: Line
    pid: str
    process: str
    user: str | None = None
    wchan: str | None = None


def rows_below(
    lines: Sequence[Line], first: int, row_of: Callable[[Line], _Row | None]
) -> tuple[list[_Row], int, tuple[int, ...]]:
    """The rows from `lines[first]` on, how many lines are used, and the numbers of those that are no rows.

    One such line is the rest of a command that was broken: the listing goes on below it. Two end the listing.
    """
    rows: list[_Row] = []
    odd: list[int] = []
    used, is_odd = first, False
    for at, line in enumerate(lines[first:], first + 1):
        if row := row_of(line):
            rows.append(row)
            used, is_odd = at, False
        elif line.text.strip():
            if is_odd or not rows:
                break
            odd.append(line.number)
            is_odd = True
    return rows, used, tuple(odd[:-1] if is_odd else odd)


def flushers(asleep: Sequence[Sleeper]) -> int:
    """How many of them are threads of the kernel that write the page cache back: nobody waits for these."""
    return sum(bool(re.match(_FLUSHER, one.process)) for one in asleep)


def facts_of(kind: str, asleep: Sequence[Sleeper], source: str) -> Iterator[Fact]:
    """That each sleeps uninterruptibly, in the order of the listing: one of each name, and five at most."""
    each = {one.process: one for one in reversed(asleep)}.values()
    for one in [*each][: -1 - _MOST_NAMED : -1]:
        values: Values = {"process": one.process, "pid": one.pid, "user": one.user, "state": ASLEEP}
        values["wchan"] = one.wchan
        owner = " of {user}" if one.user else ""
        text = f"{{process}} (pid {{pid}}{owner}) sleeps uninterruptibly (state {ASLEEP})"
        yield fact(kind, text + (" in {wchan}" if one.wchan else ""), values, source, [one.line])
