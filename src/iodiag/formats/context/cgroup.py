"""Control groups' I/O files: io.max, io.stat, io.pressure (v2) and blkio.throttle (v1).

As `grep . io.*` prints them (`io.max:8:0 rbps=max riops=400`), under `==> path <==`, or after a
`cat`. A limit of `max` is none. A limit is one fact per device: the group, the device's numbers,
bytes and I/Os per second. The pressure of a group is one fact, also of many samples with a clock above
each or in front of its lines; that of the root, which is the whole host, is the format `pressure`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

from iodiag.formats.clock import parse_line
from iodiag.formats.context._common import Values, fact, kernel_name, solid
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact
from iodiag.model.units import KB_PER_BYTE

_FILE = (
    r"(?P<group>\S{0,300}/)?(?P<file>io\.(?:max|stat|pressure|weight|low|latency|bfq\.weight|prio\.class)|"
    r"blkio\.throttle\.(?:read|write)_(?:bps|iops)_device)"
)
_PREFIXED = rf"^\s*{_FILE}:\s?(?P<rest>.*)$"
_HEADING = (
    rf"^\s*(?:==> |.{{0,100}}\b(?:cat|head|tail) |(?:# ?)?(?=/)){_FILE}(?: <==|\s*[;|&].{{0,200}})?\s*$"
)
_ROOT = "/sys/fs/cgroup/"
_LIMITS = r"^(?P<device>\d{1,4}:\d{1,7})(?P<pairs>(?: [a-z_]{2,20}=[\w.]{1,20})+)\s*$"
_OLD_LIMIT = r"^(?P<device>\d{1,4}:\d{1,7}) (?P<limit>\d{1,20})\s*$"
_CLOCK, _SHARE = r"\d[\d:./ T+Z-]{7,35}?", r"\d{1,5}(?:\.\d{1,2})?"
_PRESSURE = rf"^(?:{_CLOCK}\s+)?(?P<state>some|full) avg10=(?P<share>{_SHARE}) avg60=.*total=\d+\s*$"
_VALUE = r"^(?:\d{1,4}:\d{1,7} \S|(?:some|full) avg10=|default \d|\d{1,9}\s*$)"
_UNITS = {
    **dict.fromkeys(("rbps", "read_bps"), ("read_kb_per_s", KB_PER_BYTE)),
    **dict.fromkeys(("wbps", "write_bps"), ("write_kb_per_s", KB_PER_BYTE)),
    **dict.fromkeys(("riops", "read_iops"), ("reads_per_s", 1.0)),
    **dict.fromkeys(("wiops", "write_iops"), ("writes_per_s", 1.0)),
}
"""Limits by their names in v2 and v1: column and factor."""

_SPOKEN = {
    "read_kb_per_s": "kB/s of reads",
    "write_kb_per_s": "kB/s of writes",
    "reads_per_s": "reads/s",
    "writes_per_s": "writes/s",
}


_MOST_UNKNOWN = 20
"""Entries of other files before one that is read: with more each line would look through all below it."""


class _Entry(NamedTuple):
    group: str
    file: str
    text: str
    line: Line


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    entries: list[_Entry] = []
    group = file = ""
    is_pressure = is_known = False
    used = 0
    for at, line in solid(lines):
        prefixed, heading = re.match(_PREFIXED, line.text), re.match(_HEADING, line.text)
        text = prefixed["rest"].strip() if prefixed else line.text.strip()
        if named := heading or prefixed:
            is_pressure = named["file"] == "io.pressure"
            if is_pressure and named["group"] == _ROOT:
                break
        if heading:
            group, file = _group(heading), heading["file"]
        elif prefixed and re.match(_VALUE, text):
            entries.append(_Entry(_group(prefixed), prefixed["file"], text, line))
        elif re.match(_LIMITS, text) or (file and (re.match(_OLD_LIMIT, text) or re.match(_PRESSURE, text))):
            entries.append(_Entry(group, file or "io.max", text, line))
        elif text and not (is_pressure and parse_line(text)):
            break
        else:
            continue
        used = at
        is_known = is_known or any(re.match(known, text) for known in (_LIMITS, _OLD_LIMIT, _PRESSURE))
        if len(entries) >= _MOST_UNKNOWN and not is_known:
            break
    facts = [f for entry in entries if (f := _limit(entry, source))]
    facts += list(_pressures(entries, source))
    return ContextBlock(used, facts=tuple(facts), layout="cgroup") if is_known else None


def _group(match: re.Match[str]) -> str:
    path = (match["group"] or "").removeprefix("/sys/fs/cgroup").strip("/")
    return path.removeprefix("blkio/")


def _limit(entry: _Entry, source: str) -> Fact | None:
    """What a line of io.max (or of v1's throttle files) forbids; None where it forbids nothing."""
    new, old = re.match(_LIMITS, entry.text), re.match(_OLD_LIMIT, entry.text)
    limits: dict[str, float] = {}
    if new and entry.file == "io.max":
        for key, value in re.findall(r"([a-z]+)=(\d+)(?!\S)", new["pairs"]):
            if key in _UNITS:
                name, factor = _UNITS[key]
                limits[name] = float(value) * factor
    elif old and entry.file.startswith("blkio.throttle."):
        name, factor = _UNITS[entry.file.removeprefix("blkio.throttle.").removesuffix("_device")]
        limits[name] = float(old["limit"]) * factor
    match = new or old
    if not limits or not match:
        return None
    device = kernel_name(match["device"])
    said = ", ".join(f"{value:g} {_SPOKEN[name]}" for name, value in limits.items())
    where = "control group {group}" if entry.group else "a control group"
    values: Values = {"device": device, "group": entry.group or None}
    values |= {f"limit_{name}": value for name, value in limits.items()}
    return fact("cgroup", f"{where} is limited to {said} on {{device}}", values, source, [entry.line])


def _pressures(entries: Sequence[_Entry], source: str) -> Iterator[Fact]:
    of_group: dict[str, list[tuple[re.Match[str], Line]]] = {}
    for entry in entries:
        match = re.match(_PRESSURE, entry.text)
        if match and entry.file == "io.pressure":
            of_group.setdefault(entry.group, []).append((match, entry.line))
    for group, found in of_group.items():
        values: Values = {"group": group or None}
        said = []
        for state in ("some", "full"):
            shares = [float(match["share"]) for match, _ in found if match["state"] == state]
            if shares:
                values[f"io_{state}_10s_pct"] = fmean(shares)
                most = f", at most {max(shares):.2f} %" if len(shares) > 1 else ""
                said.append(f"{fmean(shares):.2f} % ({state}{most})")
        where = "control group {group}" if group else "a control group"
        samples = max(Counter(match["state"] for match, _ in found).values())
        of_samples = f" (mean of {samples} samples)" if samples > 1 else ""
        text = f"tasks of {where} waited for I/O{of_samples}: {', '.join(said)}"
        yield fact("cgroup", text, values, source, [line for _, line in found])


FORMAT = ContextFormat(
    id="cgroup",
    title="control groups: I/O limits, counters and pressure",
    example="io.max:8:0 rbps=max wbps=max riops=400 wiops=max\n",
    starts=re.compile(
        r"(?:^|[\s/])io\.(?:max|stat|pressure|weight|low|latency)(?::\s?\S| <==|\s*$|\s*[;|&])"
        r"|blkio\.throttle\.(?:read|write)_(?:bps|iops)_device(?::|\s|$)"
        r"|^\s*\d{1,4}:\d{1,7} r?w?(?:bps|iops|bytes|ios)=(?:max|\d)"
    ),
    read=_read,
    releases="cgroup v1 (blkio.throttle) and v2 (Linux 4.5 and later)",
    not_read="io.cost and io.weight",
)
