"""iostat -o JSON of sysstat 11.5.1 to 12.7: every generation of its keys, and what is no valid JSON.

What changes its shape: -x, -s (narrow), -t (timestamps), -d and -c. The unit stands in the keys
from 11.5.7 on; before, they say kB whatever was asked for, and 12.1.2 to 12.2.0 print sectors
under them. Where a row holds request sizes as well these tell the true unit. The plain report
of those releases says nothing else, and is taken at its word.
"""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.formats.types import FileFormat, Item
from iodiag.model.capture import Source

_EXAMPLE = """\
{"sysstat": {"hosts": [{"nodename": "db1", "sysname": "Linux", "release": "5.14.0", "machine": "x86_64",
 "number-of-cpus": 4, "date": "09/19/26", "statistics": [
  {"avg-cpu": {"user": 2.30, "nice": 0.00, "system": 1.30, "iowait": 96.40, "steal": 0.00, "idle": 0.00},
   "disk": [{"disk_device": "sda", "r/s": 172.50, "w/s": 1.20, "rkB/s": 1670.00, "wkB/s": 7.60}]}
]}]}}
"""


def read(source: Source) -> Iterator[Item]:
    """Tables, a Section per run of iostat, and notes. `line` is where a device's values begin."""
    from iodiag.formats.exports import _iostat_json_reader

    return _iostat_json_reader.read(source, FORMAT.id)


def _recognise(head: bytes) -> bool:
    return b'"sysstat"' in head and (b'"disk_device"' in head or b'"avg-cpu"' in head)


FORMAT = FileFormat(
    id="iostat-json",
    title="iostat -o JSON",
    example=_EXAMPLE,
    recognise=_recognise,
    read=read,
    releases="sysstat 11.5.1 to 12.7",
    not_read=(
        "the plain report of 12.1.2 to 12.2.0 prints sectors under kB keys and nothing in it tells: "
        "taken as printed, with a note"
    ),
)
