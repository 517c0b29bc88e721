"""sadf -j: JSON of sysstat 10.0.3 to 12.7, with the faults that some releases print into it.

Keys name values without sar's units, and from 11.5.7 on a disk has some of them twice, in
sectors and in kB. 10.2.1, 11.1.7 and 11.2.0 leave commas out; 11.5.1 prints decimal commas.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from iodiag.formats.exports._sadf_tables import tables
from iodiag.formats.text.structure.blocks import CLASS
from iodiag.formats.types import FileFormat, Item
from iodiag.formats.whole_files import account, line_starts, mark_lines, undress, unseen
from iodiag.model.capture import ParseNote, Source

if TYPE_CHECKING:
    from iodiag.formats.exports._json_scan import Event, Value
    from iodiag.formats.exports._sadf_json_xml import Gathered

_EXAMPLE = """\
{"sysstat": {"hosts": [{"nodename": "db1", "sysname": "Linux", "release": "5.14.0", "machine": "x86_64",
 "number-of-cpus": 4, "file-date": "2026-11-20", "file-utc-time": "00:00:01", "statistics": [
  {"timestamp": {"date": "2026-11-20", "time": "00:10:01", "utc": 1, "interval": 600},
   "disk": [{"disk-device": "sda", "tps": 337.00, "rd_sec": 6208.00, "wr_sec": 7344.00, "util-percent": 2.0}]}
]}]}}
"""


class _Reader:
    """Takes the events of a file one after the other."""

    def __init__(self, samples: Gathered) -> None:
        self._samples = samples
        self.marks: list[tuple[int, int, int]] = []
        self.open_ends: list[int] = []
        self._io: dict[str, Value] = {}
        self._io_at = 0
        self._begun = 0

    def take(self, event: Event) -> None:
        """Add what an event says, and class its lines."""
        last = max(event.end - 1, event.start)
        if self._io and "io" not in event.path:
            self._samples.add("io", self._io, self._io_at)
            self._io = {}
        if event.kind == "document":
            self._begun = event.start
        elif event.kind == "end":
            self.marks.append((CLASS["header"], self._begun, last))
            if event.value != 1.0:
                self.open_ends.append(last)
        elif event.kind == "broken":
            self.marks.append((CLASS["unread"], event.start, last))
        else:
            name = self._take_member(event)
            self.marks.append((CLASS[name], event.start, last))

    def _take_member(self, event: Event) -> str:
        """The class of the lines of an object or a member."""
        *above, name = event.path or ("",)
        if "io" in event.path and "statistics" in above:
            return self._take_io(event, name)
        if event.kind == "open" and name == "hosts":
            self._samples.begin_host()
        elif name == "statistics":
            self._samples.begin_sample()
        elif name == "timestamp" and event.members:
            self._samples.set_time(event.members)
            return "clock"
        elif name == "boot" and event.members:
            self._samples.add_restart(event.members)
            return "banner"
        elif event.kind == "scalar" and "statistics" not in above:
            return "banner" if self._samples.set_fact(name, event.value) else "header"
        elif event.members and "statistics" in above:
            return "row" if self._samples.add(name, event.members, event.start) else "header"
        elif event.kind == "scalar" or (event.kind == "open" and self._samples.is_section(name)):
            return "unread"
        return "banner" if name == "comment" else "header"

    def _take_io(self, event: Event, name: str) -> str:
        if not self._io:
            self._io_at = event.start
        if event.members:
            self._io |= event.members
        elif event.kind == "scalar":
            self._io[name] = event.value
        return "row" if event.kind != "open" else "header"


def read(source: Source) -> Iterator[Item]:
    """Tables, a Section per start of the host, and notes. `line` is where a row's values begin."""
    from iodiag.formats.exports._json_scan import NOT_CLOSED, scan
    from iodiag.formats.exports._sadf_json_xml import Gathered, export

    data = undress(source.data)
    starts = line_starts(data)
    classes = unseen(len(starts))
    reasons: dict[int, str] = {}
    samples = Gathered()
    reader = _Reader(samples)
    for event in scan(data):
        reader.take(event)
    mark_lines(classes, reasons, starts, reader.marks)
    found, notes = export(source, FORMAT.id, samples, lambda at: np.searchsorted(starts, at, "right"))
    yield from notes
    for line in np.searchsorted(starts, reader.open_ends, "right").tolist() if found.parts else ():
        yield ParseNote(source.name, line, NOT_CLOSED)
    yield from tables(found)
    yield from account(source, classes, reasons)


def _recognise(head: bytes) -> bool:
    return b'"sysstat"' in head and (b'"file-date"' in head or b'"sysdata-version"' in head)


FORMAT = FileFormat(
    id="sadf-json",
    title="sadf -j",
    example=_EXAMPLE,
    recognise=_recognise,
    read=read,
    releases="sysstat 10.0.3 to 12.7",
)
