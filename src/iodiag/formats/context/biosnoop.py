"""biosnoop of bcc and of bpftrace: a line per block request with the time that it took.

Columns are found by their words: LAT(ms) is from the issue to the device to completion, QUE(ms) of -Q the
time queued in the kernel before. A command may hold blanks: what stands in front of it is counted from the
left, what stands behind it from the right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from iodiag.formats.context._common import Values, bare_name
from iodiag.formats.context._latency import latency_fact, of_times
from iodiag.formats.types import ContextBlock, ContextFormat, Line
from iodiag.model.capture import Fact

_HEADER = r"^\s*TIME\((?:s|ms)\)\s+(?=.{0,200}\bCOMM\b)(?=.{0,200}\bDISK\b).{0,200}\bLAT\(ms\)\s*$"
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,9})?")
_WAYS = {"R": "reads", "W": "writes"}
_SPAN = "queued and on the device"
_MOST_LINES = 500_000
_MOST_DEVICES = 200
_MISSES = 20

Times = dict[tuple[str, str], list[float]]


def _read(lines: Sequence[Line], source: str) -> ContextBlock | None:
    words = lines[0].text.split()
    if not {"COMM", "DISK", "LAT(ms)"} <= set(words):
        return None
    comm = words.index("COMM")
    # in front of the command from the left, behind it from the right
    places = {word: at if at < comm else at - len(words) for at, word in enumerate(words)}
    disk, latency, way = places["DISK"], places["LAT(ms)"], places.get("T")
    queue = places.get("QUE(ms)")
    times: Times = {}
    waited: Times = {}
    unread: list[int] = []
    used = 1
    for at, line in enumerate(lines[1:], 1):
        cells = line.text.split()
        if (
            len(cells) < len(words) - 1
            or not _NUMBER.fullmatch(cells[0])
            or not _NUMBER.fullmatch(cells[latency])
        ):
            if not cells or cells == words or cells == ["^C"]:
                continue
            unread.append(line.number)
            if len(unread) > _MISSES or at - used > 3:
                break
            continue
        used = at + 1
        if len(cells) < len(words) and cells[disk].isdigit():
            continue  # a request of no disk: the process stands there
        key = (cells[disk], cells[way] if way is not None else "")
        times.setdefault(key, []).append(float(cells[latency]))
        if queue is not None and _NUMBER.fullmatch(cells[queue]):
            waited.setdefault(key, []).append(float(cells[queue]) + float(cells[latency]))
    if not times or len(times) > _MOST_DEVICES:
        return None
    within = [lines[0], lines[used - 1]]
    facts = (*_facts(times, source, within), *_facts(waited, source, within, _SPAN))
    last = lines[used - 1].number
    return ContextBlock(used, facts=facts, unread=tuple(n for n in unread if n < last), layout="biosnoop")


def _facts(times: Times, source: str, lines: Sequence[Line], span: str | None = None) -> Iterator[Fact]:
    """A fact of all requests of each disk; where it did reads and writes, one of each direction besides."""
    for disk in dict.fromkeys(disk for disk, _ in times):
        ways = {way: own for (name, way), own in times.items() if name == disk}
        parts = {"": [each for own in ways.values() for each in own]}
        if len(ways) > 1:
            parts |= {_WAYS[way]: own for way, own in ways.items() if way in _WAYS}
        for way, own in parts.items():
            whose: Values = {"device": bare_name(disk), "requests_of": way or None, "span": span}
            yield latency_fact("biosnoop", whose, of_times(own), source, lines)


FORMAT = ContextFormat(
    id="biosnoop",
    title="biosnoop: the latency of single block requests",
    example=(
        "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES   LAT(ms)\n"
        "0.000000    mysqld         2871    nvme0n1   W 13092560   16384      0.31\n"
        "0.000178    mysqld         2871    nvme0n1   R 13092432   16384      0.12\n"
    ),
    starts=re.compile(_HEADER),
    read=_read,
    releases="bcc 0.1 to 0.35, libbpf-tools, bpftrace 0.8 to 0.23",
    not_read="who issued a request, where it lies and its size; requests that name no disk",
    most_lines=_MOST_LINES,
)
