"""What a shell says of a tool that the host does not have: iostat, sar and such need sysstat."""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import fact
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_TOOL = r"(?:iostat|sar|vmstat|mpstat|pidstat|iotop|nfsiostat|blktrace|btrace)"
_LINE = (
    rf"^\s{{0,8}}(?:[\w./-]{{1,32}}: (?:line )?(?:\d{{1,6}}: )?(?P<own>{_TOOL}): (?:command )?not found"
    rf"|[\w./-]{{1,32}}: command not found: (?P<last>{_TOOL})|Command '(?P<quoted>{_TOOL})' not found)\b"
)


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    match = re.match(_LINE, lines[0].text)
    if match is None:
        return None
    tool = match["own"] or match["last"] or match["quoted"]
    return ContextBlock(
        1,
        facts=(fact("missing-command", "the host has no {tool}", {"tool": tool}, source, lines[:1]),),
        layout="shell",
    )


FORMAT = ContextFormat(
    id="missing-command",
    title="A shell that does not find iostat, sar or another tool",
    example="bash: iostat: command not found\n",
    starts=re.compile(_LINE),
    read=_read,
    releases="bash, dash, ksh, zsh; command-not-found of Ubuntu",
)
