"""cifsiostat -o JSON and tapestat -o JSON of sysstat 12.7 and later: CIFS mounts and tape drives.

A row is known by its keys, which are the words of the text report: the list around it may have any name. The
name of a share or drive is the row's only text.
"""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.formats.types import FileFormat, Item
from iodiag.model.capture import Source

_EXAMPLE = """\
{"sysstat": {"hosts": [{"nodename": "fs1", "sysname": "Linux", "release": "6.12.0", "machine": "x86_64",
 "number-of-cpus": 4, "date": "11/20/26", "statistics": [
  {"timestamp": "11/20/26 10:00:05", "filesystem": [
   {"fs_name": "nas1/projects", "rkB/s": 2048.00, "wkB/s": 16.00, "rops/s": 32.00, "wops/s": 1.00,
    "fo/s": 2.00, "fc/s": 2.00, "fd/s": 0.00}]}
]}]}}
"""


def read(source: Source) -> Iterator[Item]:
    """The tables `cifs_mounts` and `tapes`, a Section per run, and notes."""
    from iodiag.formats.exports import _iostat_json_reader

    return _iostat_json_reader.read(source, FORMAT.id)


def _recognise(head: bytes) -> bool:
    is_sysstat = b'"sysstat"' in head and b'"file-date"' not in head and b'"disk_device"' not in head
    return is_sysstat and (b'"fo/s"' in head or b'"Ot/s"' in head)


FORMAT = FileFormat(
    id="cifsiostat-json",
    title="cifsiostat and tapestat -o JSON",
    example=_EXAMPLE,
    recognise=_recognise,
    read=read,
    releases="sysstat 12.7 and 12.8, by the layout that their sources print",
    not_read="a list without rows, which names no tool",
)
