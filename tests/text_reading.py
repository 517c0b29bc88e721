"""Reading a text as the library does, for the tests of its parts."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from iodiag.formats.text.reader import read_text
from iodiag.model.capture import Fact, Ledger, ParseNote, SampleTable, Section, Source
from iodiag.model.topology import Device


@dataclass
class Reading:
    """What one text gave."""

    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    averages: dict[str, pd.DataFrame] = field(default_factory=dict)
    notes: list[ParseNote] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    context: list[Device | Fact] = field(default_factory=list)

    @property
    def disk(self) -> pd.DataFrame:
        return self.tables["disk"]

    @property
    def unread(self) -> list[int]:
        """The lines inside captures that were not understood."""
        return [note.line for note in self.notes if note.is_unread]

    @property
    def remarks(self) -> str:
        return "; ".join(note.reason for note in self.notes if not note.is_unread)


def reading(text: str | bytes, columns: str | None = None) -> Reading:
    """Everything that the reader of texts makes of a text."""
    data = text.encode() if isinstance(text, str) else text
    result = Reading()
    for item in read_text(Source("x.txt", data), columns):
        if isinstance(item, SampleTable):
            (result.averages if item.is_average else result.tables)[item.family] = item.frame
        elif isinstance(item, ParseNote):
            result.notes.append(item)
        elif isinstance(item, Section):
            result.sections.append(item)
        elif isinstance(item, Ledger):
            result.counts = dict(item.counts)
        elif isinstance(item, Device | Fact):
            result.context.append(item)
    return result


def assert_alike(slow: Reading, other: Reading) -> Reading:
    """Two ways of reading end in the same tables, lines, notes and account."""
    for ours, theirs in ((slow.tables, other.tables), (slow.averages, other.averages)):
        assert list(ours) == list(theirs)
        for family, frame in ours.items():
            pd.testing.assert_frame_equal(frame, theirs[family], check_exact=True)
    assert slow.notes == other.notes
    assert slow.sections == other.sections
    assert slow.counts == other.counts
    assert slow.context == other.context
    return other
