"""sadf -j: JSON of sysstat 10.0.3 to 12.7, with the faults that some releases print into it.

Keys name values without sar's units, and from 11.5.7 on a disk has some of them twice, in
sectors and in kB. 10.2.1, 11.1.7 and 11.2.0 leave commas out; 11.5.1 prints decimal commas.
"""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.formats.types import FileFormat, Item
from iodiag.model.capture import Source

_EXAMPLE = """\
{"sysstat": {"hosts": [{"nodename": "db1", "sysname": "Linux", "release": "5.14.0", "machine": "x86_64",
 "number-of-cpus": 4, "file-date": "2026-11-20", "file-utc-time": "00:00:01", "statistics": [
  {"timestamp": {"date": "2026-11-20", "time": "00:10:01", "utc": 1, "interval": 600},
   "disk": [{"disk-device": "sda", "tps": 337.00, "rd_sec": 6208.00, "wr_sec": 7344.00, "util-percent": 2.0}]}
]}]}}
"""

ID = "sadf-json"


def read(source: Source) -> Iterator[Item]:
    """Tables, a Section per start of the host, and notes. `line` is where a row's values begin."""
    from iodiag.formats.exports import _sadf_json_reader

    return _sadf_json_reader.read(source)


def _recognise(head: bytes) -> bool:
    return b'"sysstat"' in head and (b'"file-date"' in head or b'"sysdata-version"' in head)


FORMAT = FileFormat(
    id=ID,
    title="sadf -j",
    example=_EXAMPLE,
    recognise=_recognise,
    read=read,
    releases="sysstat 10.0.3 to 12.7",
)
