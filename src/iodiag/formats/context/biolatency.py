"""biolatency of bcc and of bpftrace: histograms of the time that block requests took.

bcc in Python and in C (libbpf-tools) with -D (a histogram per disk), -F (per set of flags), -m (in
milliseconds), -j (dictionaries); biolatency.bt with its buckets in brackets. The time is from the issue to
the device to completion; -Q adds the time queued in the kernel. Histograms of several intervals are added up.
Other tools of bcc print the same tables: one counts here only where its command, its first line or its file
says biolatency, or where it is of a disk or of a set of request flags.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from iodiag.formats.context._common import Values, bare_name, solid
from iodiag.formats.context._latency import TO_MS, Bucket, latency_fact, of_histogram
from iodiag.formats.types import ContextBlock, ContextFormat, Line

_COMMAND = (
    r"^.{0,80}?[#$]\s?(?:sudo\s+)?(?:[\w./-]{0,100}/)?biolatency(?:-bpfcc|\.py|\.bt)?(?P<options>(?:\s.*)?)$"
)
_TRACING = r"^\s*Tracing block device I/O\.\.\. Hit Ctrl-C to end\.?\s*$"
_LABEL = (
    r"^\s*(?:Bucket )?(?:disk = b?'?(?P<disk>[\w!/.-]{1,64})'?\s*)?(?:flags = (?P<flags>[\w-]{1,100})\s*)?$"
)
_HEADER = r"^\s*([num]?secs)\s+: count\s+distribution\s*$"
_ROW = r"^\s*(?P<low>\d{1,19}) -> (?P<high>\d{1,19})\s+: (?P<count>\d{1,19})\s*\|[^|]{0,100}\|\s*$"
_MAP = r"^@(?P<unit>[num]?secs)(?:\[(?P<key>[\w!/., -]{1,100})\])?:\s*$"
_EDGE = r"(\d{1,15})([KMGT]?)"
_RANGE = rf"^[\[(]{_EDGE}(?:, ?{_EDGE})?[\])]\s+(?P<count>\d{{1,19}})\s*\|[^|]{{0,100}}\|\s*$"
_JSON = r"^\s*\{['\"]ts['\"]: ['\"][^'\"]{0,40}['\"], ['\"]val_type['\"]: ['\"]([num]?secs)['\"]"
_IN_JSON = (
    r"['\"]interval-start['\"]: (\d{1,19}), ['\"]interval-end['\"]: (\d{1,19}), ['\"]count['\"]: (\d{1,19})"
)
_DISK_IN_JSON = r"['\"](?:Bucket ptr|disk|disk_name)['\"]: b?['\"]([\w!/.-]{1,64})['\"]"
_FLAGS_IN_JSON = r"['\"]flags['\"]: ['\"]([\w-]{1,100})['\"]"
_OTHER = r"^\s*(?:\^C\s*)?(?:\d\d:\d\d:\d\d\s*)?$|^Attaching \d{1,4} probes\.\.\.$|^avg = \d.{0,100}$"
_SCALE = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_FLAG = (
    "(?:NoWait|Background|ReadAhead|PreFlush|ForcedUnitAccess|FUA|Integrity|Idle|NoMerge|Priority|Metadata"
    "|Sync|Swap|Read|Write|Flush|Discard|SecureErase|Zone[A-Z][A-Za-z]{1,12}|WriteSame|WriteZeroe?s|SCSIIn"
    "|SCSIOut|Scsi|Drv|In|Out|DrvIn|DrvOut|Unknown)"
)
_QUEUED = "time queued in the kernel included"
_MOST = 200

Key = tuple[str, str]


@dataclass
class _Tables:
    """The histograms by disk and flags, and the lines of each."""

    buckets: dict[Key, list[Bucket]] = field(default_factory=dict)
    lines: dict[Key, list[Line]] = field(default_factory=dict)

    def add(self, key: Key, bucket: Bucket, line: Line) -> None:
        if key in self.buckets or len(self.buckets) < _MOST:
            self.buckets.setdefault(key, []).append(bucket)
            self.lines.setdefault(key, []).append(line)


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    command = re.match(_COMMAND, lines[0].text)
    options = command["options"] if command else ""
    one_disk = re.search(r"\s-d\s*([\w/-]{1,64})", options)
    tables = _Tables()
    factor, used, key = 0.0, 0, ("", "")
    is_ours = bool(command) or "biolatency" in source or not re.match(_HEADER, lines[0].text)
    for at, line in solid(lines):
        text = line.text
        if header := re.match(_HEADER, text):
            factor = TO_MS[header[1]]
        elif row := re.match(_ROW, text) if factor else None:
            edges = int(row["low"]) * factor, (int(row["high"]) + 1) * factor
            tables.add(key, Bucket(*edges, int(row["count"])), line)
        elif row := re.match(_RANGE, text) if factor else None:
            tables.add(key, _bucket(row, factor), line)
        elif found := re.match(_MAP, text):
            factor, key = TO_MS[found["unit"]], (bare_name(found["key"] or ""), "")
        elif found := re.match(_JSON, text):
            _take_json(tables, text, TO_MS[found[1]], line)
        elif re.match(_OTHER, text):
            key = ("", "")
        elif label := re.match(_LABEL, text):
            key = (bare_name(label["disk"] or ""), _known(label["flags"] or ""))
        elif at > 1 and not re.match(_TRACING, text):
            break
        used = at
    if not is_ours or not tables.buckets:
        return None
    span = _QUEUED if re.search(r"\s-\w*Q|\s--queued", options) else None
    facts = []
    for (disk, flags), buckets in tables.buckets.items():
        named = disk or (bare_name(one_disk[1]) if one_disk else None)
        whose: Values = {"device": named, "requests_of": flags or None, "span": span}
        if measured := of_histogram(buckets):
            facts.append(latency_fact("biolatency", whose, measured, source, tables.lines[disk, flags]))
    return ContextBlock(used, facts=tuple(facts), layout="biolatency")


def _known(flags: str) -> str:
    """The flags of a set of requests; `Unknown`, as biolatency has it, for words that are none."""
    return flags if not flags or re.fullmatch(f"{_FLAG}(?:-{_FLAG})*", flags) else "Unknown"


def _bucket(row: re.Match[str], factor: float) -> Bucket:
    """A bucket of bpftrace: [low, high), or a single value."""
    low = int(row[1]) * _SCALE[row[2]]
    high = int(row[3]) * _SCALE[row[4]] if row[3] else low + 1
    return Bucket(low * factor, high * factor, int(row["count"]))


def _take_json(tables: _Tables, text: str, factor: float, line: Line) -> None:
    disk, flags = re.search(_DISK_IN_JSON, text), re.search(_FLAGS_IN_JSON, text)
    key = (bare_name(disk[1]) if disk else "", _known(flags[1]) if flags else "")
    for low, high, count in re.findall(_IN_JSON, text):
        tables.add(key, Bucket(int(low) * factor, (int(high) + 1) * factor, int(count)), line)


FORMAT = ContextFormat(
    id="biolatency",
    title="biolatency: histograms of the latency of block requests",
    example=(
        "Tracing block device I/O... Hit Ctrl-C to end.\n"
        "^C\n"
        "disk = 'nvme0n1'\n"
        "     usecs               : count     distribution\n"
        "        64 -> 127        : 612      |****************************************|\n"
        "       128 -> 255        : 301      |*******************                     |\n"
        "       256 -> 511        : 7        |                                        |\n"
    ),
    starts=re.compile(
        rf"{_COMMAND}|{_TRACING}|{_JSON}|{_HEADER}"
        r"|^\s*(?:Bucket )?disk = b?'?[\w!/.-]{1,64}'?\s*(?:flags = .*)?$|^flags = [\w-]{1,100}\s*$"
    ),
    read=_read,
    releases="bcc 0.2 to 0.35, libbpf-tools, bpftrace 0.8 to 0.23",
    not_read="single intervals, which are added up; JSON of bpftrace (-f json)",
)
