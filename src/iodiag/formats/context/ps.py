"""ps: which of the processes listed sleep uninterruptibly (state D), and in what if that is shown.

Columns are known by the header's words. Where a listing was cut to some rows, these are known by their shape:
rows of `ps aux`, and those of `ps -eo state,pid,wchan:32,cmd | grep ^D`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import Values, fact
from iodiag.formats.context._process_io import program
from iodiag.formats.context._sleepers import ASLEEP, Sleeper, facts_of, flushers, rows_below
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_STATES = ("STAT", "STATE", "S")
_COMMANDS = ("COMMAND", "CMD")
_AUX = ["USER", "PID", "%CPU", "%MEM", "VSZ", "RSS", "TTY", "STAT", "START", "TIME", "COMMAND"]
_WAITING = ["S", "PID", "WCHAN", "CMD"]
_STATE = re.compile("[RSDTtXZWIK][<NLslWE+]{0,6}")
_HEADER = (
    r"^\s*+(?=(?:.*\s)?PID\s)(?=(?:.*\s)?(?:STAT|STATE|S)\s)(?=.*(?:STAT|WCHAN|TTY|CMD))"
    r"(?:[A-Z%]{1,12}\s++){2,30}(?:COMMAND|CMD)\s*+$"
)
_AUX_ROW = (
    r"^\s{0,8}\S{1,32}\s+\d{1,8}\s+\d{1,4}\.\d\s+\d{1,3}\.\d\s+\d{1,12}\s+\d{1,12}\s+"
    rf"(?:\?|-|pts/\d{{1,6}}|tty\w{{1,6}}|console)\s+{_STATE.pattern}\s+\S{{4,8}}\s+\d{{1,8}}:\d\d\s+\S"
)
_WAITING_ROW = r"^\s{0,8}D[<NLslW+]{0,4}\s+\d{1,8}\s+(?:-|[a-z_][\w.]{3,31})\s+[\[/\w(-]"

_PADDED_ROW = r"^\s{0,8}D\S*\s+\d+\s+(?:-|[a-z_][\w.]{3,31}\s{2})\s"
"""One row alone has to show wchan's width, or that it sleeps in nothing that is known: else it is prose."""


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    header, first = _header(lines[0].text)
    found, used, unread = rows_below(lines, first, lambda line: _row(header, line))
    if not found or (header is _WAITING and len(found) < 2 and not re.match(_PADDED_ROW, lines[0].text)):
        return None
    asleep = [one for state, one in found if state.startswith(ASLEEP)]
    values: Values = {"processes": len(found), "uninterruptible": len(asleep)}
    values["flushers"] = flushers(asleep)
    text = "{uninterruptible} of {processes} processes that ps lists sleep uninterruptibly (state D)"
    all_of_them = fact("ps", text, values, source, [lines[0], lines[used - 1]])
    facts = (all_of_them, *facts_of("ps", asleep, source))
    return ContextBlock(used, facts=facts, unread=unread, layout="ps")


def _header(text: str) -> tuple[Sequence[str], int]:
    """The words of the columns, and how many lines their header takes."""
    if re.match(_HEADER, text):
        return text.split(), 1
    return (_AUX if re.match(_AUX_ROW, text) else _WAITING), 0


def _row(header: Sequence[str], line: Line) -> tuple[str, Sleeper] | None:
    """The state and the process of a line; None for one that has not a cell for each word of the header."""
    cells = dict(zip(header, line.text.split(None, len(header) - 1), strict=False))
    state = next((cells[word] for word in _STATES if word in cells), "")
    command = next((cells[word] for word in _COMMANDS if word in cells), "")
    if not command or not cells["PID"].isdigit() or not _STATE.fullmatch(state):
        return None
    wchan = cells.get("WCHAN", "-")
    owner = cells.get("USER", cells.get("UID"))
    name = program(command, has_arguments=True)
    return state, Sleeper(line, cells["PID"], name, owner, None if wchan == "-" else wchan)


FORMAT = ContextFormat(
    id="ps",
    title="ps: processes that sleep uninterruptibly, and in what",
    example=(
        "USER       PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\n"
        "root        87  0.4  0.0      0     0 ?        D    09:02   0:11 [pdflush]\n"
        "app       2871  1.2  0.7 146668 17319 ?        Ds   09:14   0:06 /usr/sbin/mysqld\n"
    ),
    starts=re.compile(f"{_HEADER}|{_AUX_ROW}|{_WAITING_ROW}"),
    read=_read,
    releases="procps 2.0 to 4.0",
    not_read="listings without a state (ps -ef); memory, CPU shares and times of single processes",
)
