"""sadf -x: XML of sysstat 9.1 to 12.7, in every version of its DTD and schema.

Elements are known by their local names, so that neither DOCTYPE nor name space matters, and
attributes by the names that sadf -j uses too. Entities are refused, nothing is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from iodiag.formats.types import FileFormat, Item
from iodiag.model.capture import Source

_EXAMPLE = """\
<?xml version="1.0" encoding="UTF-8"?>
<sysstat><host nodename="db1"><release>5.14.0</release><number-of-cpus>4</number-of-cpus><statistics>
<timestamp date="2026-11-20" time="00:10:01" utc="1" interval="600">
<disk per="second"><disk-device dev="sda" tps="337.00" rd_sec="6208.00" wr_sec="7344.00" util-percent="2.00"/>
</disk>
</timestamp>
</statistics></host></sysstat>
"""

ID = "sadf-xml"


def read(source: Source) -> Iterator[Item]:
    """Tables, a Section per start of the host, and notes.

    `line` is where a row's values begin. Raises FormatError where the XML declares entities or is
    no sadf output at all.
    """
    from iodiag.formats.exports import _sadf_xml_reader

    return _sadf_xml_reader.read(source)


def _recognise(head: bytes) -> bool:
    return (
        re.search(rb"<sysstat[\s>]", head) is not None
        or re.search(rb"<!DOCTYPE\s+(?:sysstat|Configure)\s", head) is not None
    )


FORMAT = FileFormat(
    id=ID,
    title="sadf -x",
    example=_EXAMPLE,
    recognise=_recognise,
    read=read,
    releases="sysstat 9.1 to 12.7",
    not_read="entities: refused",
)
