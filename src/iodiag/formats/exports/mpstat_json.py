"""mpstat -o JSON of sysstat 11.5.6 and later: shares of CPU time, of all CPUs and of each.

A timestamp is the end of its report. Interrupts and nodes (-I, -N, -A) are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.formats.types import FileFormat, Item
from iodiag.model.capture import Source

_EXAMPLE = """\
{"sysstat": {"hosts": [{"nodename": "db1", "sysname": "Linux", "release": "5.14.0", "machine": "x86_64",
 "number-of-cpus": 4, "date": "11/20/26", "statistics": [
  {"timestamp": "10:00:01", "cpu-load": [
   {"cpu": "all", "usr": 2.30, "nice": 0.00, "sys": 1.30, "iowait": 96.40, "irq": 0.00, "soft": 0.00,
    "steal": 0.00, "guest": 0.00, "gnice": 0.00, "idle": 0.00}]}
]}]}}
"""


def read(source: Source) -> Iterator[Item]:
    """The table `cpu`, a Section per run of mpstat, and notes."""
    from iodiag.formats.exports import _iostat_json_reader

    return _iostat_json_reader.read(source, FORMAT.id)


def _recognise(head: bytes) -> bool:
    return b'"sysstat"' in head and b'"cpu-load"' in head and b'"usr"' in head and b'"file-date"' not in head


FORMAT = FileFormat(
    id="mpstat-json",
    title="mpstat -o JSON",
    example=_EXAMPLE,
    recognise=_recognise,
    read=read,
    releases="sysstat 11.5.6 to 12.7",
    not_read="interrupts and nodes",
)
