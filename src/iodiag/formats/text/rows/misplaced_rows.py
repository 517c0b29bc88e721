"""Rows that fit a header's places and cannot be its rows, and the number at which an input is cut off."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from iodiag.formats.text.rows.row_store import Rows
from iodiag.formats.text.rows.single_row_parser import is_kernel_name
from iodiag.formats.text.structure.blocks import CLASS, Walk
from iodiag.model.capture import ParseNote
from iodiag.table.table import Bools

_MOST_SHARE, _MOST_SUM = 101.0, 150.0  # sums of rounded parts go a little above 100
INTERFACE = re.compile(
    r"lo|(?:eth|ens|eno|em|bond|br|virbr|docker|veth|tun|tap|wlan|ib|sit|ppp|usbnet)\d[\w.:@]*|"
    r"(?:en|wl|ww)(?:[opsx][0-9a-f]+)+[\w.:@]*|(?:br-|veth|vnet|cali|flannel|cni)[\w.-]+"
)
"""What network interfaces are called, and no disk is."""
_FEWEST_APART = 3
"""Rows of a block of which blank lines between all of them tell that they part no sections."""

_MOST_ALIKE = 0.6
"""Of the rows, that end where their header ends: then one that ends before has lost something."""

_WHOLE_NUMBER = re.compile(r"\d*[1-9]\d*")


def without_disproven(found: Walk, all_rows: Sequence[Rows], cut: int) -> list[Rows]:
    """The rows that can be what their header says; the lines of the others are classed as not understood.

    `cut` is the line on which an input without a final line feed ends, -1 where it has one.
    """
    kept = []
    names = sorted({name for rows in all_rows for name in rows.names if is_kernel_name(name)})
    is_second = _is_of_second_copy(found, all_rows)
    for rows in all_rows:
        is_bad = (
            is_second[rows.lines]
            | (rows.is_mixed & ~_is_of_own_kind(rows))
            | _is_no_share(rows)
            | _is_interface(rows)
            | _is_of_next_part(rows)
            | _is_of_next_section(found, rows)
            | _is_cut_name(rows, names, cut)
        )
        if is_bad.any():
            found.classes[rows.lines[is_bad]] = CLASS["unread"]
            rows = rows.only(~is_bad)
        if len(rows.lines):
            kept.append(rows)
    return kept


def _is_no_share(rows: Rows) -> Bools:
    """The rows of a table of CPUs in which one takes more than all of its time, or all together far more.

    An old sar may print such a share where its counter jumped; the others of that row still make 100. Shares
    that a tool divided by a wrong total add up to a little more.
    """
    columns = rows.layout.columns
    places = [
        place
        for place, column in enumerate(columns)
        if (column.family or rows.layout.family) == "cpu" and (column.column or "").endswith("_pct")
    ]
    shares = rows.numbers[:, places]
    is_more = shares > _MOST_SHARE
    rest = np.where(is_more | np.isnan(shares), 0.0, shares).sum(axis=1)
    result: Bools = is_more.any(axis=1) & (np.abs(rest - 100.0) > 1.0)
    return result | (rest > _MOST_SUM) if rows.layout.clock == "row" else result


def _is_interface(rows: Rows) -> Bools:
    """The rows of a table of disks or CPUs that are called as network interfaces are."""
    if (rows.layout.family, rows.layout.key) not in (("disk", "device"), ("cpu", "cpu")):
        return np.zeros(len(rows.lines), dtype=np.bool_)
    names = [place for place, name in enumerate(rows.names) if INTERFACE.fullmatch(name)]
    return np.isin(rows.key, names)


def _is_cut_name(rows: Rows, names: Sequence[str], last: int) -> Bools:
    """The rows that end within their name: the beginning of a kernel's (sorted `names`), in no other row.

    What is a kernel's name itself, as `sda` beside `sda1`, is cut off only in a `last` line without an end.
    """
    if rows.layout.key_at != "last":
        return np.zeros(len(rows.lines), dtype=np.bool_)
    nexts = [names[at] if (at := bisect_right(names, name)) < len(names) else "" for name in rows.names]
    is_begun = [following.startswith(name) for name, following in zip(rows.names, nexts, strict=True)]
    is_kernels = np.array([is_kernel_name(name) for name in rows.names])[rows.key]
    is_once = (np.bincount(rows.key, minlength=len(rows.names)) == 1) & is_begun
    result: Bools = is_once[rows.key] & (~is_kernels | (rows.lines == last))
    return result


def _is_of_next_part(rows: Rows) -> Bools:
    """The rows of a device that a part of a report (`-h -x`) has shown: of the next, whose header is lost."""
    result = np.zeros(len(rows.lines), dtype=np.bool_)
    if rows.layout.is_part_of_table:
        firsts = np.unique(np.stack((rows.block, rows.key)), axis=1, return_index=True)[1]
        result[:] = True
        result[firsts] = False
    return result


def _is_of_next_section(found: Walk, rows: Rows) -> Bools:
    """The rows of sar behind a blank line or averages whose time the block has shown: the next section's.

    Clocks that are turned back show times twice as well, but no blank line stands there, and no time right
    below itself in a section without items. Where blank lines stand between all rows, as pages put them
    there, a time goes on below one; so it does with a row that can only be of this table, of an item that
    its time has not shown.
    """
    if rows.layout.clock != "row" or len(rows.lines) < 2:
        return np.zeros(len(rows.lines), dtype=np.bool_)
    is_behind: Bools = np.append(False, rows.is_average[:-1]) & ~rows.is_average
    is_behind |= found.text.is_blank[np.maximum(rows.lines - 1, 0)] & ~rows.is_average
    # words between rows end their block, and leave them under the same header
    header = found.blocks.header[rows.block]
    is_same = np.append(False, header[1:] == header[:-1])
    seconds = np.append(np.nan, rows.seconds[:-1])
    is_behind &= is_same
    is_doubtful = is_behind & ~(rows.seconds > seconds)
    if rows.layout.key is None:
        is_doubtful |= is_same & (rows.seconds == seconds)
    # of rows of one time the upper may be the other section's as well
    is_open = is_behind | is_doubtful | np.append(is_doubtful[1:], False)
    if not (is_doubtful | (is_open & rows.is_odd)).any():
        return is_doubtful
    begins = np.flatnonzero(~is_same)
    sizes = np.diff(np.append(begins, len(is_same)))
    is_apart = np.repeat(np.add.reduceat(is_behind | rows.is_average, begins) == sizes - 1, sizes)
    is_apart &= np.repeat(sizes >= _FEWEST_APART, sizes) & (rows.seconds == seconds)
    is_item_new = ~_is_repeated(header, rows.seconds, rows.key)
    is_early = rows.seconds < np.repeat(rows.seconds[begins], sizes)
    is_other = is_doubtful & (
        _is_repeated(header, rows.seconds) | (is_early & np.append(False, rows.is_average[:-1]))
    )
    is_other &= ~(is_item_new & (is_apart | _is_of_own_kind(rows)))
    is_other |= is_open & rows.is_odd
    count = np.cumsum(is_other)
    result: Bools = count > np.repeat((count - is_other)[begins], sizes)
    return result


def _is_of_second_copy(found: Walk, all_rows: Sequence[Rows]) -> Bools:
    """Which lines are rows of another section than that they stand below, as lines of sar stand twice.

    Pages that were copied one after the other overlap, and one may begin within a section. Its rows up to the
    next header then stand below the last header of the page before. That next header, with its clock, stands
    on both pages, below the same lines. Rows of zeros alone are alike in many sections.
    """
    text, blocks = found.text, found.blocks
    has_clock = blocks.each(lambda block: block.layout.clock == "row" and not block.is_label, np.bool_)
    hosts = blocks.each(lambda block: found.host_of(block.origin), np.object_)[has_clock]
    headers: dict[int, str] = dict(zip(blocks.header[has_clock].tolist(), hosts.tolist(), strict=True))
    result = np.zeros(len(text), dtype=np.bool_)
    if len({text.line(line) for line in headers}) == len(headers):
        return result
    rows_of, place_of = np.full((2, len(text)), -1)
    for number, rows in enumerate(all_rows):
        if rows.layout.clock == "row":
            rows_of[rows.lines], place_of[rows.lines] = number, np.arange(len(rows.lines))

    def row_at(line: int) -> _Place | None:
        return (all_rows[rows_of[line]], int(place_of[line])) if line >= 0 <= rows_of[line] else None

    copies: dict[tuple[str, str], int] = {}
    for last in headers:
        page = headers[last], text.line(last)
        first = copies.get(page, last)
        copies[page] = last
        alike = []
        for here in range(last - 1, first, -1):
            there = here - (last - first)
            if there < 0 or here in headers or text.line(here) != text.line(there):
                break
            places = row_at(there), row_at(here)
            if places[0] is not None and places[1] is not None:
                alike.append(((there, *places[0]), (here, *places[1])))
        result[_wrong_ones(found, alike, row_at)] = True
    return result


_Place = tuple[Rows, int]
_Line = tuple[int, Rows, int]
"""A line that is a row, the rows that it is one of, and its place among them."""


def _wrong_ones(
    found: Walk, alike: Sequence[tuple[_Line, _Line]], row_at: Callable[[int], _Place | None]
) -> list[int]:
    """The lines of `alike` that are not of their header: the upper or the lower of each pair, from below.

    Those whose topmost goes on from what stands above it are under the right header. Which of two that stand
    right below their headers is wrong, nothing tells.
    """
    others = [pair for pair in alike if pair[0][1].layout.columns != pair[1][1].layout.columns]
    if not others:
        return []
    is_at_header, is_seam = [], []
    for line, rows, place in alike[-1]:
        above = next((at for at in range(line - 1, -1, -1) if not found.text.is_blank[at]), -1)
        is_at_header.append(above == found.blocks.header[rows.block[place]])
        before = row_at(above)
        is_seam.append(before is not None and before[0] is rows and _goes_back(rows, before[1], place))
    says_something = any(rows.numbers[place].any() for _, (_, rows, place) in others)
    if is_seam[0] == is_seam[1] and not says_something:
        return []
    if all(is_at_header):
        return [line for pair in others for line, *_ in pair]
    return [pair[0 if is_seam == [True, False] else 1][0] for pair in others]


def _goes_back(rows: Rows, above: int, below: int) -> bool:
    """Whether a row stands where its section cannot go on: below averages, or a row that is no earlier."""
    later = rows.seconds[above] - rows.seconds[below]
    is_early = bool(later > 0 or (later == 0 and rows.layout.key is None))
    return is_early or bool(rows.is_average[above] and not rows.is_average[below])


def _is_repeated(*keys: npt.NDArray[Any]) -> Bools:
    """Which places hold the keys of an earlier one."""
    order = np.lexsort(keys[::-1])
    is_like = np.ones(len(order) - 1, dtype=np.bool_)
    for key in keys:
        is_like &= key[order][1:] == key[order][:-1]
    result = np.zeros(len(order), dtype=np.bool_)
    result[order[1:]] = is_like
    return result


def _is_of_own_kind(rows: Rows) -> Bools:
    """The rows that no other section prints: of a device by the kernel's name, of a CPU by its shares."""
    if rows.layout.key == "device" and rows.layout.family == "disk":
        return np.isin(rows.key, [place for place, name in enumerate(rows.names) if is_kernel_name(name)])
    shares = [place for place, column in enumerate(rows.layout.columns) if column.raw.startswith("%")]
    if rows.layout.family != "cpu" or len(shares) < len(rows.layout.columns):
        return np.zeros(len(rows.lines), dtype=np.bool_)
    result: Bools = np.abs(rows.numbers[:, shares].sum(axis=1) - 100.0) <= 1.0
    return result


def without_cut_numbers(found: Walk, all_rows: Sequence[Rows], cut: int) -> Iterator[ParseNote]:
    """Leave out the last number of rows that end before all others, and of the line `cut`.

    Of a number without decimals any beginning looks whole.
    """
    text = found.text
    sizes = text.ends - text.starts
    for rows in all_rows:
        column, place = rows.layout.columns[-1], len(rows.layout.columns) - 1
        if rows.layout.key_at == "last" or column.column is None or column.is_label:
            continue
        shares = [
            n for n, each in enumerate(rows.layout.columns) if (each.family or rows.layout.family) == "cpu"
        ]
        # shares of all CPU time that make a whole lack nothing; at the end of an input that may be by chance
        adds_up = (np.abs(rows.numbers[:, shares].sum(axis=1) - 100.0) <= 2.0) & (rows.lines != cut)
        own = sizes[rows.lines]
        width = sizes[found.blocks.like(int(rows.block[0])).header]
        is_short = (own < width) & (np.count_nonzero(own == width) > _MOST_ALIKE * len(own))
        is_known = ~np.isnan(rows.numbers[:, place])
        suspects = np.flatnonzero((is_short | (rows.lines == cut)) & is_known).tolist()
        rows.numbers = rows.numbers.copy() if suspects else rows.numbers
        others = {len(text.line(int(number)).rstrip()) for number in rows.lines[rows.lines != cut][-20:]}
        for at in suspects:
            line = text.line(int(rows.lines[at])).rstrip()
            header = found.blocks.like(int(rows.block[at])).header
            is_whole = (place in shares and adds_up[at]) or (
                not is_short[at] and len(line) in {*others, len(text.line(header).rstrip())}
            )
            if is_whole or not _WHOLE_NUMBER.fullmatch(line.split()[-1]):
                continue
            rows.numbers[at, place] = np.nan
            reason = f"this line ends before its column does, so {column.raw} may be cut off; left out"
            number = int(text.numbers[rows.lines[at]])
            yield ParseNote(found.name, number, reason, line[:200], is_unread=True)
