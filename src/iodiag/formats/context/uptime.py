"""The load average that uptime, w, top and htop print, or somebody states: how many tasks ran or waited."""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import Values, fact
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_LINE = (
    r"^\s*(?:(?P<top>top - )?(?P<clock>\d{1,2}:\d\d(?::\d\d)?(?:am|pm)?)\s+up\s(?:(?!worlds).){1,60}"
    r"\bload averages?:|Swp\[[^\]]{1,80}\]\s+Load average:|[Ll]oad averages?:)\s+"
    r"(?P<one>\d{1,5}[.,]\d\d),?\s+(?P<five>\d{1,5}[.,]\d\d),?\s+(?P<fifteen>\d{1,5}[.,]\d\d)"
    r"(?:,?\s+\(?\d{1,4} (?:cores?|[cC][pP][uU]s?)\)?)?\s*$"
)


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
    return ContextBlock(1, facts=(fact("uptime", text, values, source, lines[:1]),), layout="uptime")


FORMAT = ContextFormat(
    id="uptime",
    title="uptime, w, top, htop: the load average",
    example=" 09:14:02 up 12 days,  3:41,  2 users,  load average: 6.31, 4.20, 1.87\n",
    starts=re.compile(_LINE),
    read=_read,
    releases="procps 2 to 4, uptime of busybox, htop 1 to 3 as copied from its screen",
    not_read="the rest of w",
)
