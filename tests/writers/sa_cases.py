"""Reading of written sa files, and the records and structures that most of their tests need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from iodiag.formats.sa.sa_binary import FORMAT
from iodiag.model.capture import ParseNote, SampleTable, Section, Source
from writers import sa_writer as w

START = 1_700_000_000


@dataclass(frozen=True)
class Reading:
    """What reading yielded, the tables of a family joined."""

    tables: Mapping[str, pd.DataFrame]
    sections: Sequence[Section]
    notes: Sequence[ParseNote]

    def column(self, family: str, name: str) -> list[float]:
        return self.tables[family][name].tolist()


def read(data: bytes | w.SaFile) -> Reading:
    """Everything that reading yields, the tables of a family joined."""
    data = data if isinstance(data, bytes) else data.write()
    items = list(FORMAT.read(Source("sa15", data)))
    frames: dict[str, list[pd.DataFrame]] = {}
    for item in items:
        if isinstance(item, SampleTable):
            frames.setdefault(item.family, []).append(item.frame)
    return Reading(
        {family: pd.concat(parts, ignore_index=True) for family, parts in frames.items()},
        [item for item in items if isinstance(item, Section)],
        [item for item in items if isinstance(item, ParseNote)],
    )


def record(
    number: int, items: Mapping[int, Sequence[w.Item]], *, step: int = 10, uptime: int | None = None
) -> w.Stats:
    """The n-th record of a host that is sampled every `step` seconds (100 clock ticks each)."""
    ticks = 500_000 + number * step * 100 if uptime is None else uptime
    return w.Stats(START + number * step, ticks, items, uptime_one=ticks)


def item(layout: w.Layout, **values: int | float | bytes) -> dict[str, int | float | bytes]:
    """A structure whose other fields are zero or empty."""
    texts = {"name", "mount", "c"}
    return {name: b"" if name in texts else 0 for name in layout.names.split()} | values


def disk(layout: w.Layout = w.DISK, minor: int = 0, **values: int) -> dict[str, int | float | bytes]:
    return item(layout, major=8, minor=minor, **values)


def one_table(layout: w.Layout, family: str, *records: Sequence[w.Item], **options: object) -> pd.DataFrame:
    """The table that records of one activity make."""
    stats = [record(number, {layout.id: items}) for number, items in enumerate(records)]
    return read(replace(w.SaFile([layout], stats), **options)).tables[family]
