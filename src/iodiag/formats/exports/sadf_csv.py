"""sadf -d: rows with semicolons below `# hostname;interval;timestamp;…` headers, of sysstat 9.1 to 12.7.

What changes its shape: -h (all sections of a sample on one line), -t, -T and -U (the time
stamps), LC_NUMERIC (decimal commas), and the options for sar behind `--`. CPU -1 is `all`, and
interrupt -1 the sum; an interval of -1 marks restarts and comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from iodiag.formats.types import FileFormat, Item
from iodiag.model.capture import Source

_EXAMPLE = """\
# hostname;interval;timestamp;DEV;tps;rkB/s;wkB/s;dkB/s;areq-sz;aqu-sz;await;%util
db1;600;2026-11-20 12:30:01 UTC;sda;337.00;3104.00;3672.00;0.00;20.11;0.03;0.08;2.00
"""

ID = "sadf-csv"
SAMPLE = re.compile(rb"^[^;\n]*+;-?\d{1,9};[ \t]*(?:\d{4}-\d\d-\d\d |\d{9,10}[ ;])", re.MULTILINE)
HEADER = re.compile(rb"^#[ \t]*hostname;interval;timestamp((?:;[^\n]*+)?)$", re.MULTILINE)


def read(source: Source) -> Iterator[Item]:
    """Tables, a Section per start of the host, and notes."""
    from iodiag.formats.exports import _sadf_csv_reader

    return _sadf_csv_reader.read(source)


def _recognise(head: bytes) -> bool:
    return HEADER.search(head) is not None or len(SAMPLE.findall(head)) > 1


FORMAT = FileFormat(
    id=ID,
    title="sadf -d",
    example=_EXAMPLE,
    recognise=_recognise,
    read=read,
    releases="sysstat 9.1 to 12.7",
    not_read="interrupts per CPU from 12.5.6 on, whose columns have no names",
)
