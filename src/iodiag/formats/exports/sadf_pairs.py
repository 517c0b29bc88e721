"""sadf -p: one value per line, of sysstat 9.1 to 12.7: host, interval, time stamp, item, name and value.

TABs stand between them. The item is `-` where a section has none, and carries a prefix where it
is a number (`cpu0`, `i019`, `ttyS1`). 11.6.1 prints two per cent signs in front of names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from iodiag.formats.types import FileFormat, Item
from iodiag.model.capture import Source

_EXAMPLE = """\
db1\t600\t2026-11-20 12:30:01 UTC\tsda\ttps\t337.00
db1\t600\t2026-11-20 12:30:01 UTC\tsda\t%util\t2.00
"""

ID = "sadf-pairs"
SAMPLE = re.compile(
    rb"^[^\t\n]{1,255}+\t-?\d{1,9}\t(?:\d{4}-\d\d-\d\d |\d{9,10}[ \t])[^\t\n]*+\t[^\t\n]*+\t", re.MULTILINE
)


def read(source: Source) -> Iterator[Item]:
    """Tables, a Section per start of the host, and notes. A row's `line` is that of its first value."""
    from iodiag.formats.exports import _sadf_pairs_reader

    return _sadf_pairs_reader.read(source)


def _recognise(head: bytes) -> bool:
    return len(SAMPLE.findall(head)) > 1


FORMAT = FileFormat(
    id=ID, title="sadf -p", example=_EXAMPLE, recognise=_recognise, read=read, releases="sysstat 9.1 to 12.7"
)
