"""The processes of top: which of them sleep uninterruptibly (state D), and which uses the CPUs most.

Columns are known by the header's words; a row whose cells are not as many is passed over. A listing that was
cut to its first lines, or by `-i` and `-o`, says nothing of the processes that it does not show.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from iodiag.formats.context._common import Values, fact
from iodiag.formats.context._process_io import program
from iodiag.formats.context._sleepers import ASLEEP, Sleeper, facts_of, flushers, rows_below
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_HEADER = r"^\s*+(?=(?:.*\s)?PID\s)(?=.*\sUSER\s)(?=.*\sS\s)(?=.*\s%CPU\s)(?:\S{1,12}\s++){5,40}COMMAND\s*+$"
_SHARE = r"\d{1,6}(?:[.,]\d{1,3})?"


class _Row(NamedTuple):
    """A process as top shows it; `cpu_pct` is its share of one CPU."""

    is_asleep: bool
    cpu_pct: float
    process: Sleeper


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    header = lines[0].text.split()
    found, used, unread = rows_below(lines, 1, lambda line: _row(header, line))
    if not found:
        return None
    asleep = [row.process for row in found if row.is_asleep]
    busiest = max(found, key=lambda row: row.cpu_pct)
    values: Values = {
        "processes": len(found),
        "uninterruptible": len(asleep),
        "flushers": flushers(asleep),
        "process": busiest.process.process,
        "pid": busiest.process.pid,
        "cpu_pct": busiest.cpu_pct,
        "tool": "top",
    }
    text = "{uninterruptible} of {processes} processes that top lists sleep uninterruptibly (state D); "
    text += "{process} uses most CPU time, {cpu_pct} % of a CPU"
    all_of_them = fact("top-processes", text, values, source, [lines[0], lines[used - 1]])
    sleepers = facts_of("top-processes", asleep, source)
    return ContextBlock(used, facts=(all_of_them, *sleepers), unread=unread, layout="top, processes")


def _row(header: Sequence[str], line: Line) -> _Row | None:
    """The process of a line; None for one that has not a cell for each word of the header."""
    cells = dict(zip(header, line.text.split(None, len(header) - 1), strict=False))
    is_whole = "COMMAND" in cells and cells["PID"].isdigit() and len(cells["S"]) == 1
    if not is_whole or not re.fullmatch(_SHARE, cells["%CPU"]):
        return None
    share = float(cells["%CPU"].replace(",", "."))
    process = Sleeper(line, cells["PID"], program(cells["COMMAND"]), cells["USER"])
    return _Row(cells["S"] == ASLEEP, share, process)


FORMAT = ContextFormat(
    id="top-processes",
    title="top: processes that sleep uninterruptibly, and who uses the CPUs",
    example=(
        "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
        "   2871 mysql     20   0 1466688 173192  62468 D   1.2   0.7   0:06.51 mysqld\n"
        "   3990 root      20   0   13112   3520   3008 R  96.0   0.0   0:04.12 rsync\n"
    ),
    starts=re.compile(_HEADER),
    read=_read,
    releases="procps 3.0 to 4.0",
    not_read="memory, priorities and times of single processes; top of other systems, ps",
)
