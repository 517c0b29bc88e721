"""Rows and their times into the tables of the contract: one frame per family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from iodiag.formats._found import Walk
from iodiag.formats._lines import Bools, Ints
from iodiag.formats._row import is_kernel_name
from iodiag.formats._rows import Rows
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
    hosts: Sequence[str]
    host_of: Ints
    indents: Ints


class _Frame(NamedTuple):
    """The rows of one Rows in one table."""

    family: str
    frame: pd.DataFrame
    is_part: bool


def tables(found: Walk, all_rows: Sequence[Rows], all_timings: Sequence[Timing]) -> Iterator[SampleTable]:
    """The tables of a text, samples and averages apart."""
    banners = [block.origin.banner for block in found.blocks.patterns]
    hosts = [banner.host if banner else "" for banner in banners]
    names = list(dict.fromkeys(hosts))
    front = _Front(
        name=found.name,
        numbers=found.text.numbers,
        hosts=names,
        host_of=np.array([names.index(host) for host in hosts], dtype=np.int64)[found.blocks.pattern],
        indents=found.blocks.each(lambda block: block.indent, np.int64),
    )
    for is_average in (False, True):
        pairs = [
            (r, t) for r, t in zip(all_rows, all_timings, strict=True) if (r.is_average == is_average).any()
        ]
        aware = _aware_families(pairs)
        frames = [
            frame
            for rows, timing in pairs
            for frame in _frames(front, rows, timing, _places(rows, is_average), aware)
        ]
        for family in dict.fromkeys(frame.family for frame in frames):
            mine = [frame for frame in frames if frame.family == family]
            whole = [frame.frame for frame in mine if not frame.is_part]
            if parts := [frame.frame for frame in mine if frame.is_part]:
                whole.append(_joined(parts))
            table = whole[0] if len(whole) == 1 else pd.concat(whole, ignore_index=True)
            if not table["line"].is_monotonic_increasing:
                table = table.sort_values("line", kind="stable", ignore_index=True)
            yield SampleTable(family, table, is_average)


def _aware_families(pairs: Sequence[tuple[Rows, Timing]]) -> frozenset[str]:
    """The tables whose times are absolute: a table with rows of an unknown zone has all in local time."""
    naive = {
        f for rows, timing in pairs if timing.is_dated.any() and not timing.is_aware for f in _families(rows)
    }
    aware = {family for rows, timing in pairs if timing.is_aware for family in _families(rows)}
    return frozenset(aware - naive)


def _families(rows: Rows) -> list[str]:
    return list(dict.fromkeys(column.family or rows.layout.family for column in rows.layout.columns))


def _places(rows: Rows, is_average: bool) -> Ints | slice:
    """Which rows are samples, or averages; a slice where all are, as taking that copies nothing."""
    wanted = rows.is_average == is_average
    return slice(None) if wanted.all() else np.flatnonzero(wanted)


def _frames(
    front: _Front, rows: Rows, timing: Timing, places: Ints | slice, aware: frozenset[str]
) -> Iterator[_Frame]:
    """One frame per family that the layout's columns belong to."""
    layout = rows.layout
    size = len(rows.lines[places])
    frames: dict[str, pd.DataFrame] = {}
    for family in _families(rows):
        data: dict[str, object] = {
            "source": categorical(np.zeros(size, dtype=np.int8), [front.name]),
            "line": front.numbers[rows.lines[places]],
            "host": categorical(front.host_of[rows.block[places]], front.hosts),
            "time": _time(timing, places, family in aware),
            "interval_s": timing.interval[places],
            "segment": timing.segment[places],
            "report": timing.report[places],
            "since_boot": timing.since_boot[places],
        }
        if family == layout.family and layout.key is not None:
            data[layout.key] = categorical(rows.key[places], rows.names)
        elif family == "cpu":
            data["cpu"] = categorical(np.zeros(size, dtype=np.int8), ["all"])
        if family == "disk" and layout.format == "iostat":
            data["is_group"] = _is_group(front.indents, rows)[places]
        if family == layout.family:
            data |= {name: pd.Categorical(cells[places]) for name, cells in rows.labels.items()}
        for number, column in enumerate(layout.columns):
            own = (column.family or layout.family) == family and not column.is_label
            if own and column.column is not None:
                data[column.column] = rows.numbers[places, number]
        # a frame of thousands of rows shares its columns with the rows rather than copying them
        frames[family] = pd.DataFrame(data, copy=False)
    finished = layout.finish(frames) if layout.finish else frames
    yield from (_Frame(family, frame, is_part(layout)) for family, frame in finished.items())


def categorical(codes: Ints | npt.NDArray[np.int8], words: Sequence[str]) -> pd.Categorical[str]:
    """The words that codes stand for, as a column whose categories are those used, sorted."""
    if len(words) == 1 and len(codes):
        return pd.Categorical.from_codes(np.zeros(len(codes), np.int8), dtype=_words((words[0],)))
    used = np.bincount(codes, minlength=len(words)) > 0
    order = sorted(np.flatnonzero(used).tolist(), key=lambda code: words[code])
    rank = np.zeros(len(words), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return pd.Categorical.from_codes(rank[codes], dtype=_words(tuple(words[code] for code in order)))


@lru_cache(maxsize=64)
def _words(words: tuple[str, ...]) -> pd.CategoricalDtype[Any]:
    return pd.CategoricalDtype(pd.Index(words, dtype="str"))


def _time(timing: Timing, places: Ints | slice, is_aware: bool) -> pd.Series[pd.Timestamp]:
    """The column of times: absolute, or as the host's clock showed them."""
    seconds = (timing.absolute if is_aware else timing.local)[places]
    known = timing.is_dated[places] & (np.abs(seconds) < _LAST_SECOND)
    whole = np.where(known, seconds, 0.0)
    if (whole == np.floor(whole)).all():
        stamps = whole.astype("datetime64[s]").astype("datetime64[ns]")
        stamps[~known] = np.datetime64("NaT")
        times = pd.Series(stamps)
    else:
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
    inset_names = [rows.names[place] for place in set(rows.key[is_inset].tolist())]
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
