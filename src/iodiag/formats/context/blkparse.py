"""blkparse of blktrace: its summary at the end of a trace, per device.

Requests and bytes that were completed, merged and put back into the queue, and the mean throughput. A count
may end in K or M for thousands and millions. Of several CPUs the total is read; of one there is no total.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iodiag.formats.context._common import Values, bare_name, fact, kernel_name, solid
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact

_TITLE = r"^(?P<whose>CPU\d{1,4}|Total) \((?P<device>[\w!/,.-]{1,64})\):\s*$"
_COUNT = r"\d{1,15}(?:,\d{3}){0,5}[KMGP]?"
_PAIR = (
    rf"(?P<what>(?:Read|Write|IO|Timer)s? ?[\w ]{{3,12}}):\s*(?P<count>{_COUNT})(?:,\s*(?P<size>{_COUNT})iB)?"
)
_LINE = rf"^\s*{_PAIR.replace('?P<what>', '').replace('?P<count>', '').replace('?P<size>', '')}.{{0,80}}$"
_RATE = r"^Throughput \(R/W\):\s*(?P<read>\d[\d,]{0,15})KiB/s / (?P<write>\d[\d,]{0,15})KiB/s\s*$"
_LAST = r"^(?:Events \(|Skips: ).*$"
_KEPT = {
    "Reads Completed": ("reads", "read_kb"),
    "Writes Completed": ("writes", "write_kb"),
    "Reads Requeued": ("reads_requeued", ""),
    "Writes Requeued": ("writes_requeued", ""),
    "Read Merges": ("read_merges", ""),
    "Write Merges": ("write_merges", ""),
}
_THOUSANDS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "P": 1e12}


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    parts: dict[tuple[str, bool], tuple[Values, list[Line]]] = {}
    now: tuple[Values, list[Line]] = {}, []
    used = 0
    device = ""
    for at, line in solid(lines):
        text = line.text
        if title := re.match(_TITLE, text):
            device = kernel_name(re.sub(r"^(\d+),(\d+)$", r"\1:\2", bare_name(title["device"])))
            now = parts.setdefault((device, title["whose"] == "Total"), ({}, []))
        elif re.match(_LINE, text):
            _add(now[0], text)
        elif rate := re.match(_RATE, text):
            rates = {f"{way}_kb_per_s": _number(rate[way]) for way in ("read", "write")}
            parts.setdefault((device, (device, True) in parts), now)[0].update(rates)
        elif not re.match(_LAST, text):
            break
        now[1].append(line)
        used = at
    facts = tuple(
        _fact(name, values, source, own)
        for (name, is_total), (values, own) in parts.items()
        if {"reads", "writes"} <= values.keys() and (is_total or (name, True) not in parts)
    )
    return ContextBlock(used, facts=facts, layout="blkparse") if facts else None


def _add(values: Values, text: str) -> None:
    """Add the counts of a line; those of several CPUs are summed."""
    for pair in re.finditer(_PAIR, text):
        count, size = _KEPT.get(pair["what"].strip(), ("", ""))
        for name, shown in ((count, pair["count"]), (size, pair["size"])):
            if name and shown:
                values[name] = float(values.get(name) or 0.0) + _number(shown, is_size=name == size)


def _number(shown: str, is_size: bool = False) -> float:
    """A count, or a size in KiB: both are divided by thousands until they fit."""
    suffix = re.sub(r"[\d,]", "", shown)
    return float(re.sub(r"[^\d]", "", shown)) * _THOUSANDS[suffix] / (1e3 if is_size and suffix else 1.0)


def _fact(device: str, values: Values, source: str, lines: Sequence[Line]) -> Fact:
    said = f"{values['reads']:.0f} reads of {values.get('read_kb') or 0:.0f} kB in all"
    said += f" and {values['writes']:.0f} writes of {values.get('write_kb') or 0:.0f} kB"
    back = float(values.get("reads_requeued") or 0.0) + float(values.get("writes_requeued") or 0.0)
    said += f", {back:.0f} put back into the queue" if back else ""
    return fact(
        "blkparse", f"blkparse saw {{device}} complete {said}", {"device": device, **values}, source, lines
    )


FORMAT = ContextFormat(
    id="blkparse",
    title="blkparse: summary of a trace",
    example=(
        "Total (sda):\n"
        " Reads Queued:          60,      240KiB\t Writes Queued:       1,257K,    5,030MiB\n"
        " Read Dispatches:       60,      240KiB\t Write Dispatches:    15,153,    5,030MiB\n"
        " Reads Requeued:         0\t\t Writes Requeued:         75\n"
        " Reads Completed:       60,      240KiB\t Writes Completed:    15,078,    5,030MiB\n"
        " Read Merges:            0,        0KiB\t Write Merges:        1,242K,    4,970MiB\n"
        " IO unplugs:         1,193        \t Timer unplugs:         859\n"
        "\n"
        "Throughput (R/W): 2KiB/s / 46,340KiB/s\n"
    ),
    starts=re.compile(_TITLE),
    read=_read,
    releases="blktrace 0.99 to 1.3",
    not_read="the events of a trace: btt says how long requests took",
    most_lines=5_000,
)
