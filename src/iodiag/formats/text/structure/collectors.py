"""What collectors say of themselves: whose host it is, how long their samples are, when they began.

OSWatcher begins its files with a line of its own and names them by host and hour. It runs `vmstat 1 3`, and
of `iostat -xk 1 3` keeps the last report (OSW, before OSWbb: two of `iostat -x 3 3`). ExaWatcher's files bear
the host's name, pt-stalk's the second in which it began, GitLabSOS's the command that wrote them, and that
of Azure's script the time at which `vmstat 1` was about to begin.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from iodiag.formats.clock import Clock

_OSWATCHER = re.compile(
    r"[A-Z]\w{1,9}\s+OSW(?P<is_black_box>bb)?\s+v\d[\w.]{0,20}(?:\s+(?P<host>[\w.-]{1,253}))?\s*"
)
_EXAWATCHER = re.compile(r"#\s*Collection Module:\s*\w{2,30}ExaWatcher\s*")
_PT_SUMMARY = re.compile(r"\s{4}Hostname \| (?P<host>[\w.-]{1,253})\s*")
_UNAME = re.compile(r"\s*Linux (?P<host>[\w.-]{1,253}) (?P<kernel>\d\.\d\S{0,80}) #\d.{1,200}\sGNU/Linux\s*")
_NAME = re.compile(
    r"(?:.*[/:])?(?:(?P<osw>[\w.-]{1,253}?)_[a-z]{2,20}_(?:\d\d\.){3}\d{4}"
    r"|(?:\d{4}(?:_\d\d){5})_\w{2,30}ExaWatcher_(?P<exa>[\w.-]{1,253}?))\.dat(?:\..{1,5})?"
)
_TRIGGERED = re.compile(
    r"(?:.*[/:])?(\d{4})_(\d\d)_(\d\d)_(\d\d)_(\d\d)_(\d\d)-[a-z][a-z_-]{1,30}\d?(?:\..{1,5})?"
)

_GITLABSOS = re.compile(
    r"(?:.*[/:])?gitlabsos[^/]{0,200}/(?:[\w.-]{1,60}/){0,2}(?P<tool>[a-z]{6,9})(?:\..{1,5})?"
)
_AZURE_VMSTAT = re.compile(r".*[/:]memory/vmstat_\d\d-[A-Z][a-z]{2}-\d{4}_\d\d.\d\d.\d\d\.txt(?:\..{1,5})?")
_RUN_BY_GITLABSOS = {"iostat": "iostat -xz 1 10", "mpstat": "mpstat -P ALL 1 10", "vmstat": "vmstat -w 1 10"}


class Collector(NamedTuple):
    """What a collector says of its file: the host ("" unknown), and how long each tool's samples are.

    `kernel` is the release that a line of uname states, "" where none does.
    """

    host: str
    intervals: Mapping[str, float]
    kernel: str = ""


def collector_of(line: str, name: str) -> Collector | None:
    """The collector whose heading a line of the file `name` is; None for any other line."""
    if len(line) > 300:
        return None
    named = _NAME.fullmatch(name)
    host = (named["osw"] or named["exa"]) if named else ""
    if match := _PT_SUMMARY.fullmatch(line):
        return Collector(match["host"], {})
    if _EXAWATCHER.fullmatch(line):
        return Collector(host, {})
    if match := _OSWATCHER.fullmatch(line):
        return Collector(
            match["host"] or host,
            {"vmstat": 1.0, "iostat": 1.0 if match["is_black_box"] else 3.0, "top": 1.0},
        )
    return None


def named_by_uname(line: str, known: str) -> Collector | None:
    """The host that a line of `uname -a` names, as supportconfig's texts have it; None where it is `known`.

    A collector may know it by its short name.
    """
    match = _UNAME.fullmatch(line) if len(line) <= 400 else None
    if match is None or match["host"].split(".")[0] == known.split(".")[0]:
        return None
    return Collector(match["host"], {}, match["kernel"])


def run_as(name: str) -> str:
    """The command that GitLabSOS or Azure's script writes the file of this name with; "" for other names."""
    if _AZURE_VMSTAT.fullmatch(name):
        return "vmstat 1"
    match = _GITLABSOS.fullmatch(name)
    return _RUN_BY_GITLABSOS.get(match["tool"], "") if match else ""


def began(name: str) -> Clock | None:
    """When pt-stalk began the file of this name, by the host's clock; None for other names."""
    match = _TRIGGERED.fullmatch(name)
    if match is None:
        return None
    year, month, day, hour, minute, second = map(int, match.groups())
    return Clock((year, month, day), "-", 3600.0 * hour + 60 * minute + second)
