"""What a reader makes of its input: tables, topology, facts, and an account of every line."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from iodiag.model.byte_positions import places_of
from iodiag.model.topology import DeviceTopology

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    from iodiag.table.table import Table
    from iodiag.table.tables import Tables


LINE_CLASSES = ("banner", "clock", "header", "row", "summary", "context", "noise", "unread")
"""Every non-blank line of a text input is counted in exactly one of these classes.

`banner` the "Linux 5.14 (host) …" line, a visible command, RESTART and COM marks; `clock` a
line that holds only a time; `header` a line of column names; `row` a line whose values stand in
a table; `summary` an Average:/Summary:/Minimum: row; `context` a line of a context format
(lsblk, mdstat, …); `noise` prose and other text that claims to be no capture; `unread` a line
inside a capture that was not understood: these are listed in the report.
"""


EVENTS = "events"
"""The table of what a kernel's log says happened to devices; no samples."""


UNNAMED = "unnamed"
"""What a device is called of which the only row lost its name, below a header that lost its first word."""


@dataclass(frozen=True)
class SourceRef:
    """An address: lines (or, for a binary file, bytes) `first` to `last` of the input `source`."""

    source: str
    first: int
    last: int


@dataclass(frozen=True)
class Source:
    """The bytes of one input, decompressed and, where it is text, in UTF-8.

    `name` is what the user called it (for a member of an archive, ``archive:member``);
    `folder` is the place whose files belong to one host, when the place says so. `remark` says
    what is amiss with the bytes (they were cut off), "" where nothing is. `counted` are the places of the
    line feeds, where somebody looked for them already.
    """

    name: str
    data: bytes = field(repr=False)
    pos_unit: Literal["line", "byte"] = "line"
    folder: str = ""
    remark: str = ""
    counted: npt.NDArray[np.int64] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def sha256(self) -> str:
        """The checksum of the bytes."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def line_feeds(self) -> npt.NDArray[np.int64]:
        """Where the line feeds stand in the bytes."""
        return places_of(b"\n", self.data) if self.counted is None else self.counted

    @cached_property
    def _line_ends(self) -> npt.NDArray[np.int64]:
        # a text of carriage returns alone has its lines end with them
        return self.line_feeds if len(self.line_feeds) else places_of(b"\r", self.data)

    def quote(self, line: int) -> str:
        """The verbatim text of a 1-based line, without its line end."""
        ends = self._line_ends
        if not 1 <= line <= len(ends) + 1:
            return ""
        start = int(ends[line - 2]) + 1 if line > 1 else 0
        end = int(ends[line - 1]) if line <= len(ends) else len(self.data)
        return self.data[start:end].decode("utf-8", "replace").rstrip("\r")


@dataclass(frozen=True)
class SampleTable:
    """Rows of one family, as a reader yields them.

    `rows` (a Table, or a DataFrame) have the columns of the contract: source, line, host, time, interval_s,
    segment, report, since_boot, the keys of its family (device, cpu, …) and registry columns in float64.
    """

    family: str
    rows: Table | pd.DataFrame = field(repr=False)
    is_average: bool = False

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a DataFrame."""
        from iodiag.table.table import Table

        return Table.of(self.rows).frame


@dataclass(frozen=True)
class ParseNote:
    """Something about the input that the reader of a report should know.

    `is_unread` notes stand for lines inside a capture that were not understood.
    """

    source: str
    line: int
    reason: str
    text: str = ""
    count: int = 1
    is_unread: bool = False


@dataclass(frozen=True)
class Fact:
    """One finding of fact from an application's log, a setting or a process list.

    `kind` names what was seen (`processlist`, `sysbench`, `hdparm`, `setting`, …), `values` its
    numbers and words under plain names, `text` says it in one sentence. `template` is that sentence with
    `{key}` for each value that may be a name; empty where `text` names nothing.
    """

    kind: str
    values: Mapping[str, float | str]
    text: str
    ref: SourceRef
    host: str | None = None
    template: str = ""

    def number(self, name: str) -> float:
        """A number of it; NaN where it has none of that name."""
        value = self.values.get(name)
        return float(value) if isinstance(value, (int, float)) else math.nan

    def word(self, name: str) -> str:
        """A word of it; empty where it has none of that name."""
        value = self.values.get(name)
        return value if isinstance(value, str) else ""


def filled(template: str, values: Mapping[str, float | str]) -> str:
    """A sentence with the words that its `{key}`s stand for; `{key,}` has commas between them."""

    def word(key: re.Match[str]) -> str:
        value = str(values.get(key[1], key[0]))
        return ", ".join(value.split()) if key[2] else value

    return re.sub(r"\{(\w+)(,?)\}", word, template)


@dataclass(frozen=True)
class Section:
    """One capture or context block inside an input: a row of the report's list of sources.

    `utc_offset_s` is how far the host's clock was ahead of UTC, where the input has both. `clocks` are the
    first and the last time of day, as `02:50:02 to 03:50:01`, where no date is known; `day` is that of the
    banner above samples without a date.
    """

    source: str = field(metadata={"json_key": "name"})
    format: str
    layout: str = ""
    host: str | None = None
    kernel: str | None = None
    cpus: int | None = None
    start: str | None = None
    end: str | None = None
    reports: int = 0
    rows: int = 0
    is_context: bool = False
    first_line: int = 0
    utc_offset_s: float | None = field(default=None, metadata={"json_omit_none": True})
    clocks: str | None = field(default=None, metadata={"json_omit_none": True})
    day: str | None = field(default=None, metadata={"json_omit_none": True})

    @property
    def place_sign(self) -> str:
        """What stands between its input and a place in it, which is a byte of a binary file, else a line."""
        return "@" if self.format == "sa" else ":"


@dataclass(frozen=True)
class Ledger:
    """How many non-blank lines of an input fell into each of LINE_CLASSES.

    `listed` counts those of context that are numbers for the most part, where lines of numbers are unread.
    """

    source: str
    counts: Mapping[str, int]
    listed: int = 0

    @property
    def read(self) -> int:
        """The number of lines of numbers that were read."""
        return self.listed + sum(self.counts.get(name, 0) for name in ("row", "summary"))

    @property
    def total(self) -> int:
        """The number of non-blank lines."""
        return sum(self.counts.values())


@dataclass
class Capture:
    """Everything read from one input (or several, joined by `iodiag.api.join`).

    `tables` and `averages` hold one DataFrame per family, as the contract describes them;
    `unparsed` lists the lines inside captures that were not understood. `topologies` has the
    devices of each host apart (None: of no known host), once hosts are settled; `topology` all.
    """

    sources: dict[str, Source] = field(default_factory=dict)
    tables: Tables = field(default_factory=lambda: _tables(None))
    averages: Tables = field(default_factory=lambda: _tables(None))
    topology: DeviceTopology = field(default_factory=DeviceTopology)
    topologies: dict[str | None, DeviceTopology] = field(default_factory=dict)
    evidence: list[Fact] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    notes: list[ParseNote] = field(default_factory=list)
    ledgers: list[Ledger] = field(default_factory=list)

    def __post_init__(self) -> None:
        # whoever makes a capture of frames may give them as a dict
        self.tables, self.averages = _tables(self.tables), _tables(self.averages)

    @property
    def disk(self) -> pd.DataFrame | None:
        """The `disk` table, or None when the input has none."""
        return self.tables.get("disk")

    @property
    def unparsed(self) -> list[ParseNote]:
        """The lines inside captures that were not understood."""
        return [note for note in self.notes if note.is_unread]

    @property
    def hosts(self) -> list[str]:
        """Host names, in the order of their first appearance."""
        named = (section.host for section in self.sections if section.host)
        return list(dict.fromkeys(named))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {len(rows)}" for name, rows in self.tables.each())
        return f"Capture({', '.join(self.sources) or 'nothing'}; {sizes or 'no tables'})"


def _tables(tables: Mapping[str, Table | pd.DataFrame] | None) -> Tables:
    # whoever only renders a report needs no numpy
    from iodiag.table.tables import Tables

    return Tables(tables)
