"""Rows and their times into the tables of the contract: one frame per family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from iodiag.formats._found import Walk
from iodiag.formats._lines import Bools, Ints
from iodiag.formats._row import is_kernel_name
from iodiag.formats._rows import Rows, Words
from iodiag.formats._times import Timing
from iodiag.formats.iostat_text import is_part
from iodiag.model.capture import SampleTable

_LAST_SECOND = 9.2e9  # pandas' nanoseconds end in 2262
_BASE = (
    "source",
    "line",
    "host",
    "time",
    "interval_s",
    "segment",
    "report",
    "since_boot",
    "device",
    "is_group",
)


class _Front(NamedTuple):
    """What the columns in front of all tables need: the input and its lines; hosts, indents by block."""

    name: str
    numbers: Ints
    hosts: Words
    indents: Ints


class _Frame(NamedTuple):
    """The rows of one Rows in one table."""

    family: str
    frame: pd.DataFrame
    is_part: bool


def tables(found: Walk, all_rows: Sequence[Rows], all_timings: Sequence[Timing]) -> Iterator[SampleTable]:
    """The tables of a text, samples and averages apart."""
    banners = (block.origin.banner for block in found.blocks)
    front = _Front(
        name=found.name,
        numbers=found.text.numbers,
        hosts=np.array([banner.host if banner else "" for banner in banners], dtype=object),
        indents=np.array([block.indent for block in found.blocks], dtype=np.int64),
    )
    for is_average in (False, True):
        pairs = [
            (r, t) for r, t in zip(all_rows, all_timings, strict=True) if (r.is_average == is_average).any()
        ]
        aware = _aware_families(pairs)
        frames = [
            frame
            for rows, timing in pairs
            for frame in _frames(front, rows, timing, np.flatnonzero(rows.is_average == is_average), aware)
        ]
        for family in dict.fromkeys(frame.family for frame in frames):
            mine = [frame for frame in frames if frame.family == family]
            whole = [frame.frame for frame in mine if not frame.is_part]
            if parts := [frame.frame for frame in mine if frame.is_part]:
                whole.append(_joined(parts))
            table = whole[0] if len(whole) == 1 else pd.concat(whole, ignore_index=True)
            yield SampleTable(family, table.sort_values("line", kind="stable", ignore_index=True), is_average)


def _aware_families(pairs: Sequence[tuple[Rows, Timing]]) -> frozenset[str]:
    """The tables whose times are absolute: a table with rows of an unknown zone has all in local time."""
    naive = {
        f for rows, timing in pairs if timing.is_dated.any() and not timing.is_aware for f in _families(rows)
    }
    aware = {family for rows, timing in pairs if timing.is_aware for family in _families(rows)}
    return frozenset(aware - naive)


def _families(rows: Rows) -> list[str]:
    return list(dict.fromkeys(column.family or rows.layout.family for column in rows.layout.columns))


def _frames(
    front: _Front, rows: Rows, timing: Timing, places: Ints, aware: frozenset[str]
) -> Iterator[_Frame]:
    """One frame per family that the layout's columns belong to."""
    layout = rows.layout
    size = len(places)
    frames: dict[str, pd.DataFrame] = {}
    for family in _families(rows):
        data: dict[str, object] = {
            "source": pd.Categorical.from_codes(
                np.zeros(size, dtype=np.int64), categories=pd.Index([front.name])
            ),
            "line": front.numbers[rows.lines[places]],
            "host": pd.Categorical(front.hosts[rows.block[places]]),
            "time": _time(timing, places, family in aware),
            "interval_s": timing.interval[places],
            "segment": timing.segment[places],
            "report": timing.report[places],
            "since_boot": timing.since_boot[places],
        }
        if family == layout.family and layout.key is not None:
            data[layout.key] = pd.Categorical(rows.keys[places])
        elif family == "cpu":
            data["cpu"] = pd.Categorical(["all"] * size)
        if family == "disk" and layout.format == "iostat":
            data["is_group"] = _is_group(front.indents, rows)[places]
        if family == layout.family:
            data |= {name: pd.Categorical(cells[places]) for name, cells in rows.labels.items()}
        for number, column in enumerate(layout.columns):
            own = (column.family or layout.family) == family and not column.is_label
            if own and column.column is not None:
                data[column.column] = rows.numbers[places, number]
        frames[family] = pd.DataFrame(data)
    finished = layout.finish(frames) if layout.finish else frames
    yield from (_Frame(family, frame, is_part(layout)) for family, frame in finished.items())


def _time(timing: Timing, places: Ints, is_aware: bool) -> pd.Series[pd.Timestamp]:
    """The column of times: absolute, or as the host's clock showed them."""
    seconds = (timing.absolute if is_aware else timing.local)[places]
    known = timing.is_dated[places] & (np.abs(seconds) < _LAST_SECOND)
    times = pd.to_datetime(pd.Series(np.where(known, seconds, np.nan)), unit="s").astype("datetime64[ns]")
    return times.dt.tz_localize("UTC") if is_aware else times


def _is_group(indents: Ints, rows: Rows) -> Bools:
    """The group lines of iostat -g: their names begin with a blank.

    In a paste whose rows stand one blank further in than the header, the disks do so as well: then the
    blank says nothing.
    """
    if rows.layout.key_at == "last":
        is_inset = (rows.gaps == 2) & bool((rows.gaps == 1).any())
    else:
        is_inset = rows.gaps == indents[rows.block] + 1
    inset_names = set(rows.keys[is_inset].tolist())
    result: Bools = is_inset & (not any(map(is_kernel_name, inset_names)))
    return result


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """One row per device and report, where `-h -x` spread it over several tables.

    The n-th row of a device in each of a report's tables is one row; it stands where the first of them
    stands.
    """
    columns = list(dict.fromkeys(name for part in parts for name in part.columns))
    keys = ["segment", "report", "device"]
    numbered = [part.assign(_nth=part.groupby(keys, observed=True, sort=False).cumcount()) for part in parts]
    stacked = pd.concat(numbered, ignore_index=True).sort_values("line", kind="stable")
    joined = stacked.groupby([*keys, "_nth"], observed=True, sort=False).first().reset_index()
    return joined[columns]
