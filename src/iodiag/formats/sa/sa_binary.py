"""sysstat's binary files: `saDD` and `saYYYYMMDD` as sadc writes them, of sysstat 8.1.3 to 12.7.

Written on any architecture (either byte order, 32 or 64 bits) and by any release with the magics
0x2170, 0x2171, 0x2173 and 0x2175, or converted by `sadf -c`. Activities and fields that a file has
and this reader does not know are skipped by their declared size. As sar and sadf do, it takes the
first record after the start of the file or of the host as the baseline and prints no row for it.

What the files lack: names of disks (they are called by their numbers, dev8-0, as sar calls them
where it cannot ask the host), reads and writes apart, and everything else that sar -d lacks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from iodiag.formats.sa._header import byte_order, unmarked_magic
from iodiag.formats.types import FileFormat, Item
from iodiag.model.capture import Source

if TYPE_CHECKING:
    from iodiag.formats.sa._days import SampledDays


def read(source: Source) -> Iterator[Item]:
    """Tables, a Section per start of the host, and notes: see read_some."""
    from iodiag.formats.sa import _reader as _sa_binary_reader

    return _sa_binary_reader.read(source)


def read_some(source: Source, wanted: Collection[str] | None) -> Iterator[Item]:
    """The wanted tables (None: all), a Section per start of the host, and notes.

    `line` is the byte offset of the record, `time` is UTC, `interval_s` comes from the uptime.
    Raises FormatError where the head is not readable, and where there is no sample (a baseline and
    one more record).
    """
    from iodiag.formats.sa import _reader as _sa_binary_reader

    return _sa_binary_reader.read_some(source, wanted)


def sampled_days(source: Source) -> SampledDays:
    """Of which host and days a file has samples, for whoever does not want the samples yet."""
    from iodiag.formats.sa._days import sampled_days

    return sampled_days(source)


def _recognise(head: bytes) -> bool:
    return byte_order(head) is not None or unmarked_magic(head) is not None


FORMAT = FileFormat(
    id="sa",
    title="sysstat's binary files (sa)",
    example=bytes.fromhex("96d5 7521 0c06 0100 5001 0000"),
    recognise=_recognise,
    read=read,
    read_some=read_some,
    pos_unit="byte",
    releases="8.1.3 to 12.7 (magics 0x2170, 0x2171, 0x2173, 0x2175), every word size and byte order",
    not_read="files from before 8.1.3: their fixed records are not documented; refused by name",
)
