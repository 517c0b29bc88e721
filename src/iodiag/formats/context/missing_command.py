"""What a shell says of a tool that the host does not have: iostat, sar and such need sysstat."""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import fact
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_TOOL = r"(?:iostat|sar|vmstat|mpstat|pidstat|iotop|nfsiostat|blktrace|btrace)"
_LINE = (
    r"^\s{0,8}(?:[\w./-]{1,32}: (?:line )?(?:\d{1,6}: )?"
    rf"(?P<own>{_TOOL}): {{1,2}}(?:command )?not found"
    rf"|(?:-?(?:[a-z]{{1,3}})?sh|env|nohup|timeout): (?:line \d{{1,6}}: )?(?:failed to run command )?"
    rf"['‘]?(?:/\S{{1,80}}/)?(?P<run>{_TOOL})['’]?: No such file or directory"
    rf"|[\w./-]{{1,32}}: command not found: (?P<last>{_TOOL})|Command '(?P<quoted>{_TOOL})' not found)\b"
)


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    match = re.match(_LINE, lines[0].text)
    if match is None:
        return None
    tool = next(filter(None, match.groups()))
    said = fact("missing-command", "the host has no {tool}", {"tool": tool}, source, lines[:1])
    return ContextBlock(1, facts=(said,), layout="shell")


FORMAT = ContextFormat(
    id="missing-command",
    title="A shell that does not find iostat, sar or another tool",
    example="bash: iostat: command not found\n",
    starts=re.compile(_LINE),
    read=_read,
    releases="bash, dash, ksh, zsh; command-not-found of Ubuntu",
)
