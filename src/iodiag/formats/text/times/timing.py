"""The times of the rows of one table, and the rows of it that are in some segments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from iodiag.formats.text.rows.row_store import Rows
from iodiag.formats.text.times import report_times as _report_times
from iodiag.model.columns import OF_THE_MOMENT
from iodiag.table.table import Bools, Floats, Ints

_COUNTED = ("reads", "writes", "discards", "flushes", "ios", "read_merges", "write_merges", "merges")

COUNT_RATES = frozenset(f"{counted}_per_s" for counted in _COUNTED)

_SECTORS = ("rsec/s", "wsec/s", "rkB/s", "wkB/s")

_OF_REQUESTS = frozenset(("await_ms", "read_await_ms", "write_await_ms", "request_size_kb"))

_MOVED = tuple((f"{way}s_per_s", f"{way}_kb_per_s") for way in ("read", "write", "discard"))

_TOTALS = {
    f"{unit}_{way}": f"{unit}_{way}/s" for unit in ("kB", "MB", "GB", "Blk") for way in ("read", "wrtn")
}

_PAGED = ("bi", "bo")

_INTERRUPTS = "interrupts_per_s"


@dataclass
class Timing:
    """Per row of one Rows: its time, the length of its sample, its report and whether that is since boot.

    `local` are seconds since 1970 as the host's clock showed them (NaN unknown), `offset` the seconds east
    of Greenwich (NaN where no zone is told). Where not `is_dated`, only differences mean anything. Rows of
    one text whose `clocks` have the same number have the same clocks, and so all of this. `is_of_twelve`
    says that the clocks of sar's rows have twelve hours and do not name their half. `doubtful` are rows that
    begin a run of which nothing proves that it begins with a sample, nor with an average since boot.
    """

    local: Floats
    offset: Floats
    interval: Floats
    report: Ints
    segment: Ints
    since_boot: Bools
    is_dated: Bools
    clocks: int
    is_of_twelve: bool = False
    doubtful: list[int] = field(default_factory=list)

    def may_be_since_boot(self) -> Bools:
        """Which rows are of a report that the `doubtful` ones begin, and not flagged as averages."""
        number = self.segment * (self.report.max(initial=0) + 1) + self.report
        may_be: Bools = np.isin(number, number[self.doubtful]) & ~self.since_boot
        return may_be

    @property
    def absolute(self) -> Floats:
        """Seconds since 1970; as if it were UTC where the zone is not known."""
        return self.absolute_in(slice(None))

    def absolute_in(self, where: slice) -> Floats:
        """The same for some of the rows."""
        offset = self.offset[where]
        return self.local[where] - np.where(np.isnan(offset), 0.0, offset)

    @property
    def is_aware(self) -> bool:
        """Whether the zone of all dated rows is known."""
        return bool(self.is_dated.any() and not (np.isnan(self.offset) & self.is_dated).any())


class Part(NamedTuple):
    """The rows of one Rows in one segment or several: a slice, as both are in the order of the text."""

    rows: Rows
    timing: Timing
    phase: Ints
    where: slice

    @classmethod
    def of(cls, rows: Rows, timing: Timing, phase: Ints, begin: int, end: int) -> Part:
        """The rows of one Rows in the segments from `begin` to `end`, the last included."""
        first, last = np.searchsorted(timing.segment, (begin, end + 1)).tolist()
        return cls(rows, timing, phase, slice(first, last))

    @property
    def size(self) -> int:
        """The number of its rows."""
        return int(self.where.stop) - int(self.where.start)

    def within(self, begin: int, end: int) -> Part:
        """The rows in some of the segments, the last included."""
        return Part.of(self.rows, self.timing, self.phase, begin, end)

    def has_own_clocks(self) -> bool:
        """Whether reports of one segment show different times."""
        local, segment = self.timing.local[self.where], self.timing.segment[self.where]
        return bool(((local[1:] != local[:-1]) & (segment[1:] == segment[:-1]) & ~np.isnan(local[1:])).any())

    def set_since_boot(self, is_average: Bools) -> None:
        """Flag some of its rows as averages since boot, which have no length."""
        self.timing.since_boot[self.where] |= is_average
        self.timing.interval[self.where][is_average] = np.nan

    def row_group(self) -> _report_times.RowGroup:
        """What tells the length of a sample and an average since boot."""
        columns = self.rows.layout.columns
        rates = tuple(place for place, column in enumerate(columns) if column.column in COUNT_RATES)
        sectors = tuple(place for place, column in enumerate(columns) if column.raw in _SECTORS)
        raw = [column.raw for column in columns]
        named = {name: n for n, name in enumerate(raw)}
        place = {column.column: n for n, column in enumerate(columns)}
        is_fine = bool(self.rows.is_fine[self.where].all())
        return _report_times.RowGroup(
            report=self.timing.report[self.where],
            items=self.rows.key[self.where],
            numbers=self.rows.numbers[self.where],
            rates_at=rates if is_fine else (),
            sectors_at=sectors if is_fine else (),
            util_at=tuple(n for n, column in enumerate(columns) if column.column == "util_pct"),
            means_at=tuple(n for n, column in enumerate(columns) if column.column in _OF_REQUESTS),
            moved_at=tuple((place[n], place[kb]) for n, kb in _MOVED if n in place and kb in place),
            step=0.01 if is_fine else 1.0,
            now_at=tuple(n for n, column in enumerate(columns) if column.family in OF_THE_MOMENT),
            interrupts_at=tuple(n for n, column in enumerate(columns) if column.column == _INTERRUPTS),
            pages_at=tuple(n for n, word in enumerate(raw) if word in _PAGED),
            totals_at=tuple(
                (named[rate], n) for n, total in enumerate(raw) if (rate := _TOTALS.get(total)) in named
            ),
        )
