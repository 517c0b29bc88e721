"""The reading of `sadf -j`, which sadf_json.py recognises: imported when there is such a file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.formats.exports._json_scan import Event, Value, scan
from iodiag.formats.exports._sadf_names import SECTION_OF
from iodiag.formats.exports._sadf_samples import Gathered, export
from iodiag.formats.exports._sadf_tables import tables
from iodiag.formats.exports.sadf_json import ID
from iodiag.formats.types import Item
from iodiag.formats.whole_files import CLASS, account, line_starts, mark_lines, undress, unseen
from iodiag.model.capture import Source


class _Reader:
    """Takes the events of a file one after the other."""

    def __init__(self) -> None:
        self.samples = Gathered()
        self.marks: list[tuple[int, int, int]] = []
        self._io: dict[str, Value] = {}
        self._io_at = 0
        self._begun = 0

    def take(self, event: Event) -> None:
        """Add what an event says, and class its lines."""
        last = max(event.end - 1, event.start)
        if self._io and "io" not in event.path:
            self.samples.add("io", self._io, self._io_at)
            self._io = {}
        if event.kind == "document":
            self._begun = event.start
        elif event.kind == "end":
            self.marks.append((CLASS["header"], self._begun, last))
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
            self.samples.begin_host()
        elif name == "statistics":
            self.samples.begin_sample()
        elif name == "timestamp" and event.members:
            self.samples.set_time(event.members)
            return "clock"
        elif name == "boot" and event.members:
            self.samples.add_restart(event.members)
            return "banner"
        elif event.kind == "scalar" and "statistics" not in above:
            return "banner" if self.samples.set_fact(name, event.value) else "header"
        elif event.members and "statistics" in above:
            return "row" if self.samples.add(name, event.members, event.start) else "header"
        elif event.kind == "scalar" or (event.kind == "open" and name in SECTION_OF):
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
    data = undress(source.data)
    starts = line_starts(data)
    classes = unseen(len(starts))
    reasons: dict[int, str] = {}
    reader = _Reader()
    for event in scan(data):
        reader.take(event)
    mark_lines(classes, reasons, starts, reader.marks)
    found, notes = export(source, ID, reader.samples, lambda at: np.searchsorted(starts, at, "right"))
    yield from notes
    yield from tables(found)
    yield from account(source, classes, reasons)
