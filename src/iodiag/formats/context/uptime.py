"""The load average that uptime, w, top and htop print, or somebody states: how many tasks ran or waited.

The line below it in top counts those that run at that moment, processes by their main threads alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import Values, fact, solid
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_LINE = (
    r"^\s*(?:(?P<top>top - )?(?P<clock>\d{1,2}:\d\d(?::\d\d)?(?:am|pm)?)\s+up\s(?P<up>(?:(?!worlds).){1,60})"
    r"\bload averages?:|Swp\[[^\]]{1,80}\]\s+Load average:|[Ll]oad averages?:)\s+"
    r"(?P<one>\d{1,5}[.,]\d\d),?\s+(?P<five>\d{1,5}[.,]\d\d),?\s+(?P<fifteen>\d{1,5}[.,]\d\d)"
    r"(?:,?\s+\(?\d{1,4} (?:cores?|[cC][pP][uU]s?)\)?)?\s*$"
)
_TASKS = r"\s*Tasks:\s+(?P<tasks>\d{1,7})\s+total,\s+(?P<running>\d{1,7})\s+running,.*"
_UP = r"(?:(?P<days>\d{1,6}) days?,?\s+)?(?:(?P<hours>\d{1,2}):(?P<of_hour>\d\d)|(?P<minutes>\d{1,2}) min)\b"


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    match = re.match(_LINE, lines[0].text)
    if match is None:
        return None
    # what stands beside it may be of another time; of top it is of the same screen
    clock = None if match["top"] else match["clock"]
    values: Values = {"clock": clock}
    values |= {f"load_{name}": float(match[name].replace(",", ".")) for name in ("one", "five", "fifteen")}
    text = "{load_one} tasks run or wait by the load average of a minute, {load_fifteen} by that of 15"
    text += ", at {clock}" if clock else ""
    values["up_s"] = _up_s(match["up"] or "")
    used, below = next(solid(lines[1:3]), (0, lines[0]))
    if match["top"] and (tasks := re.fullmatch(_TASKS, below.text)):
        values |= {name: int(tasks[name]) for name in ("running", "tasks")}
        text += "; {running} of {tasks} processes run at that moment"
    else:
        used = 0
    stated = fact("uptime", text, values, source, lines[: 1 + used])
    return ContextBlock(1 + used, facts=(stated,), layout="uptime")


def _up_s(text: str) -> float | None:
    """How long the host is up, to a minute; None where that is said otherwise."""
    match = re.match(_UP, text.strip())
    if match is None:
        return None
    days, hours, of_hour, minutes = (
        int(match[name] or 0) for name in ("days", "hours", "of_hour", "minutes")
    )
    return 60.0 * (60 * (24 * days + hours) + of_hour + minutes)


FORMAT = ContextFormat(
    id="uptime",
    title="uptime, w, top, htop: the load average",
    example=" 09:14:02 up 12 days,  3:41,  2 users,  load average: 6.31, 4.20, 1.87\n",
    starts=re.compile(_LINE),
    read=_read,
    releases="procps 2 to 4, uptime of busybox, htop 1 to 3 as copied from its screen",
    not_read="the rest of w",
)
