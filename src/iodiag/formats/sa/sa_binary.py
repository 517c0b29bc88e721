"""sysstat's binary files: `saDD` and `saYYYYMMDD` as sadc writes them, of sysstat 3.3.2 to 12.7.

Written on any architecture (either byte order, 32 or 64 bits) and by any release with the magics
0x215a to 0x2175 and 0x1170 (RHEL 6.5 to 6.10), or converted by `sadf -c`. Activities and fields that
a file has and this reader does not know are skipped by their declared size. As sar and sadf do, it takes the
first record after the start of the file or of the host as the baseline and prints no row for it.

What the files lack: names of disks (they are called by their numbers, dev8-0, as sar calls them
where it cannot ask the host), reads and writes apart, and everything else that sar -d lacks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import NamedTuple

from iodiag.formats.sa._header import byte_order, read_header
from iodiag.formats.types import FileFormat, Item
from iodiag.model.capture import Source

_DAY_S = 86_400


def read(source: Source) -> Iterator[Item]:
    """Tables, a Section per start of the host, and notes: see read_some."""
    return read_some(source, None)


def read_some(source: Source, wanted: Collection[str] | None) -> Iterator[Item]:
    """The wanted tables (None: all), a Section per start of the host, and notes.

    `line` is the byte offset of the record, `time` is UTC, `interval_s` comes from the uptime.
    Raises FormatError where the head is not readable, and where there is no sample (a baseline and
    one more record).
    """
    from iodiag.formats.sa import _reader

    return _reader.read_some(source, wanted)


class Outline(NamedTuple):
    """Whose a file is ("" where it names no host), and the days (2026-11-20) that it has samples of.

    `zone_s` is what the host's clock was ahead of UTC, by which the days go.
    """

    host: str
    days: tuple[str, ...]
    zone_s: int


def outline(source: Source) -> Outline:
    """What the heads of the records tell: nothing else is read. Raises FormatError as `read_some` does."""
    from iodiag.formats.sa._records import walk

    header = read_header(source.name, source.data)
    segments, _ = walk(header, source.data)
    zone_s = segments[0].zone_s if segments else 0
    days: dict[str, None] = {}
    for segment in segments:
        middles = [(before + after) // 2 for before, after in pairwise(segment.time.tolist())]
        for number in sorted({(middle + zone_s) // _DAY_S for middle in middles}):
            days[str(datetime.fromtimestamp(number * _DAY_S, UTC).date())] = None
    return Outline(header.host, tuple(days), zone_s)


def _recognise(head: bytes) -> bool:
    if byte_order(head) is not None or b"\0" not in head[:64]:
        return byte_order(head) is not None
    # files before 8.1.1 bear no mark; texts hold no zero byte
    from iodiag.formats.sa._old_header import candidates, too_old

    return any(candidates(head[:64])) or bool(too_old(head))


FORMAT = FileFormat(
    id="sa",
    title="sysstat's binary files (sa)",
    example=bytes.fromhex("96d5 7521 0c06 0100 5001 0000"),
    recognise=_recognise,
    read=read,
    read_some=read_some,
    pos_unit="byte",
    releases=(
        "3.3.2 to 12.7 (magics 0x215a to 0x2175) and RHEL 6.5 to 6.10 (0x1170), any word size and byte order"
    ),
    not_read=(
        "files of sysstat 3.2 and before (0x115a, 0x015d), which are told by name; interrupts per CPU of "
        "files before 8.1.3"
    ),
)
