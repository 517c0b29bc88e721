"""pt-diskstats of Percona Toolkit, and the `diskstats` script before it: both directions, concurrency apart.

The columns are any of the 17 (--columns-regex). In front of every row stands `#ts`, which is no clock but the
length of the sample (interactive), the seconds since the start (from a file), a time (--show-timestamps) or
`{n}`, the number of samples behind a mean (--group-by disk). `unmarked` takes it off and gives every report a
header of its own. --group-by sample prints `{n}` devices as one: a group. rd_rt and wr_rt are per request
that was asked for, merged ones included, unlike iostat's await. qtime and stime divide busy time between
requests and are not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from iodiag.formats import clock as _clock
from iodiag.formats.clock import Clock
from iodiag.formats.text.clean.lines import Piece
from iodiag.formats.types import Layout, LayoutColumn, TableFormat
from iodiag.model.units import KB_PER_MB
from iodiag.table.table import Table
from iodiag.table.texts import Texts

_EXAMPLE = """\
  #ts device    rd_s rd_avkb rd_mb_s rd_mrg rd_cnc   rd_rt    wr_s wr_avkb wr_mb_s wr_mrg wr_cnc   wr_rt busy
  1.0 sda      458.1    43.0    19.2     0%   11.5    25.1     1.0     4.0     0.0     0%    0.0     0.1  98%
"""
_BOTH = {
    "s": ("{}s_per_s", 1.0),
    "avkb": ("{}_request_size_kb", 1.0),
    "mb_s": ("{}_kb_per_s", KB_PER_MB),
    "mrg": ("{}_merges_pct", 1.0),
    "cnc": ("{}_queue_depth", 1.0),
    "rt": ("{}_await_ms", 1.0),
}
_COLUMNS: dict[str, tuple[str | None, float]] = {
    **{
        f"{short}_{word}": (name.format(direction), factor)
        for short, direction in (("rd", "read"), ("wr", "write"))
        for word, (name, factor) in _BOTH.items()
    },
    "busy": ("util_pct", 1.0),
    "in_prg": ("in_progress", 1.0),
    "io_s": ("ios_per_s", 1.0),
    "qtime": (None, 1.0),
    "stime": (None, 1.0),
}
_HEADER = re.compile(r"\s*\W{0,3}#ts\s+(?=device\s)")
_ROW = re.compile(
    r"\s*(?P<mark>\d{1,9}\.\d|\{\d{1,9}\}|\d\d:\d\d:\d\d)\s+(?P<device>\{\d{1,6}\}|(?=[^\s]*[A-Za-z])\S{1,120})"
    r"(?P<rest>\s+-?\d[\d.,]{0,15}%?(?:\s.*)?)"
)
_VALUES = re.compile(r"[\s\d.,%-]*")
_LONGEST_LINE = 4000
_LEAST_STEP_S = 0.5  # the shortest interval is a second: marks that rise by less are lengths that vary
_GROUP = "group"
_HALF_DIGIT = 0.05
_HALF_PERCENT = 0.005
_MOST_DOUBT = 0.1


def layout(words: tuple[str, ...]) -> Layout | None:
    """The Layout of a header, `#ts` taken off."""
    if words[0] != "device" or len(words) < 3:
        return None
    values = words[1:]
    is_cut = values[-1] not in _COLUMNS and any(known.startswith(values[-1]) for known in _COLUMNS)
    values = values[:-1] if is_cut else values
    if not all(word in _COLUMNS for word in values) or len(set(values)) < len(values):
        return None
    return Layout(
        format="pt-diskstats",
        name="pt-diskstats",
        family="disk",
        columns=tuple(LayoutColumn(word, *_COLUMNS[word]) for word in values),
        key="device",
        finish=_finish,
        is_cut=is_cut,
    )


@dataclass
class _Report:
    """The rows of one report: what stands in front of them, and where they are among the pieces."""

    mark: str
    run: int
    devices: set[str] = field(default_factory=set)
    rows: list[int] = field(default_factory=list)

    def holds(self, run: int, mark: str, device: str) -> bool:
        """Whether a row belongs to it: same mark, and a device that it has not shown yet."""
        return self.run == run and self.mark == mark and device not in self.devices


def unmarked(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """Lines of pt-diskstats without `#ts` and its values, which become time stamps; a header per report."""
    reports: list[_Report] = []
    bare: dict[int, Piece] = {}
    missing: dict[int, list[Piece]] = {}
    header: list[Piece] = []
    is_below_header, run = False, 0
    for n, piece in enumerate(pieces):
        if "#ts" in piece.text and (match := _HEADER.match(piece.text)):
            bare[n] = piece._replace(text=piece.text[match.end() :])
            header, is_below_header = [bare[n]], True
        elif not header:
            continue
        elif row := _ROW.fullmatch(piece.text[:_LONGEST_LINE]):
            if not reports or not reports[-1].holds(run, row["mark"], row["device"]):
                reports.append(_Report(row["mark"], run))
                if not is_below_header:
                    missing[n] = [part._replace(number=piece.number) for part in header]
            reports[-1].devices.add(row["device"])
            reports[-1].rows.append(n)
            is_below_header = False
        elif is_below_header and set(piece.text.split()) <= set(_COLUMNS) and piece.text.strip():
            header.append(piece)
        elif not _VALUES.fullmatch(piece.text):
            header, run = [], run + 1
    if not reports:
        return pieces
    return list(_laid_out(pieces, bare, missing, dict(_stamps(reports))))


def _laid_out(
    pieces: Sequence[Piece],
    bare: dict[int, Piece],
    missing: dict[int, list[Piece]],
    stamps: dict[int, Clock | None],
) -> Iterator[Piece]:
    """The lines: `bare` headers, rows without their marks, and the header that a report's first row lacks."""
    for n, piece in enumerate(pieces):
        row = _ROW.fullmatch(piece.text) if n in stamps else None
        if row is None:
            yield bare.get(n, piece)
            continue
        yield from missing.get(n, ())
        name = f"{_GROUP}{row['device']}" if row["device"].startswith("{") else row["device"]
        yield piece._replace(text=f"{name}{row['rest']}", stamp=stamps[n])


def _stamps(reports: Sequence[_Report]) -> Iterator[tuple[int, Clock | None]]:
    """The time of every row, counted from the start where the marks are no clocks."""
    for run in sorted({report.run for report in reports}):
        own = [report for report in reports if report.run == run]
        for report, clock in zip(own, _clocks([report.mark for report in own]), strict=True):
            yield from ((row, clock) for row in report.rows)


def _clocks(marks: Sequence[str]) -> Iterator[Clock | None]:
    """A clock per mark: seconds since the start, or the sum of the lengths so far; None for `{n}`."""
    if any(":" in mark or mark.startswith("{") for mark in marks):
        for mark in marks:
            seconds = _clock.parse_time(mark) if ":" in mark else None
            yield None if seconds is None else Clock(seconds=seconds)
        return
    numbers = [float(mark) for mark in marks]
    is_rising = all(after - before >= _LEAST_STEP_S for before, after in pairwise(numbers))
    elapsed = 0.0
    for number in numbers:
        elapsed = number if is_rising else elapsed + number
        yield Clock(seconds=elapsed)


def _finish(tables: dict[str, Table]) -> dict[str, Table]:
    """Add the requests in flight of both directions, and tell groups from devices."""
    disk = tables["disk"]
    names = disk["device"]
    is_group = np.array([name.startswith(f"{_GROUP}{{") for name in names.categories], dtype=np.bool_)[
        names.codes
    ]
    disk = disk.with_columns(
        device=Texts.coded(names.codes, [_bare(name) for name in names.categories]),
        is_group=is_group,
        since_boot=np.zeros(len(disk), dtype=np.bool_),
    )
    depths = [_depth(disk, direction) for direction in ("read", "write")]
    if all(depth is not None for depth in depths):
        known = [depth for depth in depths if depth is not None]
        total, doubt = (sum(parts) for parts in zip(*known, strict=True))
        disk = disk.with_columns(queue_depth=np.where(doubt <= _MOST_DOUBT * total, total, np.nan))
    return {"disk": disk}


def _bare(name: str) -> str:
    return name.removeprefix(_GROUP) if name.startswith(f"{_GROUP}{{") else name


_Floats = npt.NDArray[np.float64]


def _depth(disk: Table, direction: str) -> tuple[_Floats, _Floats] | None:
    """Requests of one direction in flight, and by how much they may be wrong; None without the column.

    One decimal is too coarse below a few requests, but pt-diskstats computes concurrency and response time
    from the same milliseconds: cnc = asked for per second x rt, and asked = done / (1 - merged).
    """
    names = [f"{direction}{name}" for name in ("_queue_depth", "s_per_s", "_await_ms", "_merges_pct")]
    if names[0] not in disk:
        return None
    printed = disk.floats(names[0])
    doubt = np.full(len(disk), _HALF_DIGIT)
    if not all(name in disk for name in names):
        return printed, doubt
    rate, wait, merged = (disk.floats(name) for name in names[1:])
    done = np.maximum(1 - merged / 100, _HALF_PERCENT)
    product = rate / done * wait / 1000
    shares = [_HALF_DIGIT / np.maximum(number, _HALF_DIGIT) for number in (rate, wait)]
    product_doubt = product * (shares[0] + shares[1] + np.where(merged > 0, _HALF_PERCENT / done, 0.0))
    is_finer = (product_doubt < doubt) & (np.abs(product - printed) <= doubt + product_doubt)
    return np.where(is_finer, product, printed), np.where(is_finer, product_doubt, doubt)


FORMAT = TableFormat(
    id="pt-diskstats",
    title="pt-diskstats: disks by direction",
    example=_EXAMPLE,
    layout=layout,
    rewrite=unmarked,
    releases="Percona Toolkit 1 to 3, aspersa",
    not_read="qtime and stime",
)
