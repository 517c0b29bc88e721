"""The processes of top: which of them sleep uninterruptibly (state D), and which uses the CPUs most.

Columns are known by the header's words; a row whose cells are not as many is passed over. A listing that was
cut to its first lines, or by `-i` and `-o`, says nothing of the processes that it does not show.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from iodiag.formats.context._common import Values, fact
from iodiag.formats.context._process_io import BUSY_PCT, program
from iodiag.formats.context._sleepers import ASLEEP, Sleeper, facts_of, flushers, rows_below
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_HEADER = r"^\s*+(?=(?:.*\s)?PID\s)(?=.*\sUSER\s)(?=.*\sS\s)(?=.*\s%CPU\s)(?:\S{1,12}\s++){5,40}COMMAND\s*+$"
_SHARE = r"\d{1,6}(?:[.,]\d{1,3})?"


class _Row(NamedTuple):
    """A process as top shows it; `cpu_pct` is its share of one CPU, `cpu_s` its time so far (or None).

    A thread of the kernel has no memory of its own.
    """

    is_asleep: bool
    is_of_kernel: bool
    cpu_pct: float
    cpu_s: float | None
    process: Sleeper


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    header = lines[0].text.split()
    found, used, unread = rows_below(lines, 1, lambda line: _row(header, line))
    if not found:
        return None
    asleep = [row.process for row in found if row.is_asleep]
    busiest = max(found, key=lambda row: row.cpu_pct)
    alike = [row for row in found if row.process.process == busiest.process.process]
    alike = [row for row in alike if row.cpu_pct >= BUSY_PCT] or [busiest]
    times = [row.cpu_s for row in alike if row.cpu_s is not None]
    values: Values = {
        "processes": len(found),
        "uninterruptible": len(asleep),
        "flushers": flushers(asleep),
        "process": busiest.process.process,
        "pid": busiest.process.pid,
        "cpu_pct": busiest.cpu_pct,
        "tool": "top",
        "alike": len(alike),
        "alike_pct": round(sum(row.cpu_pct for row in alike), 1),
        "alike_cpu_s": round(sum(times), 2) if len(times) == len(alike) else None,
        "listed_pct": round(sum(row.cpu_pct for row in found), 1),
        "kernel_threads": sum(row.is_of_kernel for row in alike),
    }
    text = "{uninterruptible} of {processes} processes that top lists sleep uninterruptibly (state D); "
    text += "{process} uses most CPU time, {cpu_pct} % of a CPU"
    text += "; {alike} of that name use {alike_pct} % in all" if len(alike) > 1 else ""
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
    is_of_kernel = cells.get("VIRT") == "0" or cells["COMMAND"].startswith("[")
    return _Row(cells["S"] == ASLEEP, is_of_kernel, share, _seconds(cells.get("TIME+", "")), process)


def _seconds(text: str) -> float | None:
    """A TIME+ of minutes and seconds; None for a longer one, which has no seconds."""
    match = re.fullmatch(r"(\d{1,7}):(\d\d(?:\.\d\d)?)", text)
    return None if match is None else 60 * int(match[1]) + float(match[2])


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
