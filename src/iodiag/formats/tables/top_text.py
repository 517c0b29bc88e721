"""The head of top: shares of CPU time, memory, swap, and threads where it shows them.

procps 3.0 to 4.0, in batch mode or copied off the screen: `29.4% us`, `29.4%us` and `29.4 us`; `Mem: … k` and
`KiB Mem :` to `EiB Mem :`; commas for points; all CPUs together (`%Cpu(s):`) or each (`%Cpu0  :`). top prints
numbers in front of their words: `in_tables` turns that into headers and rows, memory and swap into one. A
number that top cut off at its column's end (`13190736+`) is left out, and so is a line that lost its end.
Tasks are counted by their main threads, so that those of processes are no tasks that run or wait. The load
average and the processes are context formats of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from iodiag.formats import clock as _clock
from iodiag.formats.raw_columns.sar import combine_long_cpu
from iodiag.formats.text.clean.lines import Piece
from iodiag.formats.types import Layout, LayoutColumn, TableFormat
from iodiag.table.table import Bools, Ints, Table

_EXAMPLE = """\
%Cpu(s):  3.0 us,  1.0 sy,  0.0 ni, 48.0 id, 48.0 wa,  0.0 hi,  0.0 si,  0.0 st
MiB Mem :  15888.4 total,   9312.6 free,   2200.1 used,   4375.7 buff/cache
MiB Swap:   2048.0 total,   2048.0 free,      0.0 used.  13307.9 avail Mem
"""
# without a column: what sleeps, swap as a whole, and page cache with slab in one number
_WORDS = """
threads:total=queue.tasks threads:running=queue.run_queue threads:d-sleep=queue.blocked
threads:sleeping=queue. threads:sleep=queue. threads:stopped=queue. threads:zombie=queue.
cpu:us=cpu.user_pct cpu:sy=cpu.system_pct cpu:ni=cpu.nice_pct cpu:id=cpu.idle_pct cpu:wa=cpu.iowait_pct
cpu:hi=cpu.irq_pct cpu:si=cpu.softirq_pct cpu:st=cpu.steal_pct
mem:total=memory.total_kb mem:free=memory.free_kb mem:used=memory.used_kb mem:buffers=memory.buffers_kb
mem:buff/cache=memory. swap:total=swap. swap:used=swap.used_kb swap:free=swap.free_kb
swap:avail=memory.available_kb swap:cached=memory.cached_kb
"""
_COLUMNS = {word: target.split(".") for word, target in (pair.split("=") for pair in _WORDS.split())}
_TABLES = {"threads": "queue", "cpu": "cpu", "mem": "memory", "swap": "memory"}
_PLACES = {"queue": 0, "cpu": 1, "memory": 2}
_UNIT_KB = {unit: 1024.0**power for power, unit in enumerate("KMGTPE")}

_CLOCK = re.compile(r"\s*top - (?P<clock>\d\d:\d\d:\d\d) up\s")
_LABEL = re.compile(
    r"\s*(?:(?P<unit>[KMGTPE])iB )?(?P<what>Threads|%?Cpu(?:\(s\)|(?P<number>\d{1,5}))|Mem|Swap)\s*:"
)
_CELL = re.compile(
    r"\s*(?P<number>\d{1,15}(?:[.,]\d{1,3})?)(?P<unit>[kKMGT]?)(?P<is_cut>\+?)\s*%?\s*(?P<word>[a-z][a-z/-]*)"
    r"(?: Mem\b)?[\s,.]*"
)


class _Cells(NamedTuple):
    """What a line says: numbers by word, for a table in a unit, and the CPU."""

    table: str
    unit: str
    numbers: dict[str, str]
    key: str


def in_tables(pieces: Sequence[Piece]) -> Sequence[Piece]:
    """The lines with top's heads as headers and rows, below the clock of their screen."""
    if not any(_LABEL.match(piece.text) for piece in pieces):
        return pieces
    result: list[Piece] = []
    above: _Cells | None = None
    clock = ""
    kind = _kind_of([piece.text for piece in pieces if piece.text.strip()])
    for piece in pieces:
        if not piece.text.strip():
            result.append(piece)  # a paste may double all line feeds
            continue
        cells = _cells_of(piece.text)
        if cells is None:
            if first := _CLOCK.match(piece.text):
                clock = "" if _is_dated(result) else first["clock"]
            result.append(piece)
            above = None
            continue
        if cells.table == "cpu":
            cells = cells._replace(unit=kind)
        if above is not None and _is_same_row(above, cells):
            cells = cells._replace(numbers=above.numbers | cells.numbers)
            del result[_end_of_solid(result) :]
            whole = Piece("", result[-1].number, piece.number + piece.span - result[-1].number)
            result[-2:] = _laid_out(cells, whole)
        elif above is not None and _header(above) == _header(cells):
            del result[_end_of_solid(result) :]
            result.append(_laid_out(cells, piece)[1])
        else:
            result += [piece._replace(text=clock)] if clock else []
            result += _laid_out(cells, piece)
            clock = ""
        above = cells
    return result


def _kind_of(texts: Sequence[str]) -> str:
    """What the first screens measure: a moment in top of MiB, else by whether a loop starts it for each."""
    if any(map(_MEBIBYTES.match, texts)):
        return _MOMENT
    return _LOOP if _is_of_loop(texts) else ""


def _is_of_loop(texts: Sequence[str]) -> bool:
    """Whether each screen's CPU shares stand below a date, which scripts print and top does not."""
    is_cpu = [(label := _LABEL.match(text)) is not None and "Cpu" in label["what"] for text in texts]
    firsts = [n for n, is_own in enumerate(is_cpu) if is_own and not (n and is_cpu[n - 1])]
    return all(any(map(_has_date, texts[max(n - _LINES_ABOVE, 0) : n])) for n in firsts)


def _end_of_solid(pieces: Sequence[Piece]) -> int:
    """Where the blank lines at the end begin."""
    return next((n for n in range(len(pieces), 0, -1) if pieces[n - 1].text.strip()), 0)


def _is_dated(above: Sequence[Piece]) -> bool:
    """Whether the line above is a time with its date, as scripts print it: top's own has none."""
    end = _end_of_solid(above)
    return bool(end) and _has_date(above[end - 1].text)


def _has_date(text: str) -> bool:
    clock = _clock.parse_line(text)
    return clock is not None and (clock.day is not None or clock.epoch is not None)


def _is_same_row(above: _Cells, cells: _Cells) -> bool:
    """Whether lines are of one row: memory and swap."""
    is_one = (above.table, above.unit) == (cells.table, cells.unit) == ("memory", cells.unit)
    return is_one and above.numbers.keys().isdisjoint(cells.numbers)


def _laid_out(cells: _Cells, piece: Piece) -> list[Piece]:
    """The header and the row of some cells, which stand where `piece` does."""
    row = " ".join([*([cells.key] * (cells.table == "cpu")), *cells.numbers.values()])
    return [piece._replace(text=_header(cells)), piece._replace(text=row)]


def _header(cells: _Cells) -> str:
    return f"top:{cells.table}:{cells.unit} {' '.join(cells.numbers)}"


def _cells_of(text: str) -> _Cells | None:
    """What a line of the head says; None for one that has other words than top's."""
    label = _LABEL.match(text)
    if label is None:
        return None
    what = "cpu" if "Cpu" in label["what"] else label["what"].lower()
    numbers, units, end = dict[str, str](), {label["unit"] or ""}, label.end()
    while cell := _CELL.match(text, end):
        end = cell.end()
        units.add(cell["unit"].upper())
        if not cell["is_cut"]:
            numbers[f"{what}:{cell['word']}"] = cell["number"]
    table, unit = _TABLES[what], "".join(units)
    is_whole = all(word in _COLUMNS for word in numbers) and not text[end:].strip()
    if not numbers or not is_whole or len(unit) != (table == "memory"):
        return None
    return _Cells(table, unit, numbers, label["number"] or "all")


_MADE = re.compile(rf"top:({'|'.join(_PLACES)}):(\w*)")


def layout(words: tuple[str, ...]) -> Layout | None:
    """The Layout of a header as `in_tables` makes it."""
    made = _MADE.fullmatch(words[0])
    if made is None or not all(word in _COLUMNS for word in words[1:]):
        return None
    table, unit = made.groups()
    found = [(word, *_COLUMNS[word]) for word in words[1:]]
    return Layout(
        format="top",
        name=f"top, {table}",
        family=table,
        columns=tuple(
            LayoutColumn(word, column or None, _UNIT_KB.get(unit, 1.0), family)
            for word, family, column in found
        ),
        key="cpu" if table == "cpu" else None,
        clock="line",
        finish=_FINISH[unit] if table == "cpu" else _of_memory if table == "memory" else None,
        place=_PLACES[table],
        is_apart=True,
        remark=_REMARK if table == "cpu" and unit != _MOMENT else "",
    )


def _of_cpus(tables: dict[str, Table], *, is_loop: bool = False) -> dict[str, Table]:
    """Shares in the meaning of the table; those of a run's first screen are no sample, or `may_be_sample`."""
    cpu = combine_long_cpu(tables["cpu"])
    segment, report = (np.asarray(cpu[name], dtype=np.int64) for name in ("segment", "report"))
    first = np.full(int(segment.max(initial=0)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, segment, report)
    is_first = report == first[segment]
    if is_loop:
        is_first |= _is_still(cpu, segment, report)
    lengths = np.where(is_first, np.nan, cpu.floats("interval_s"))
    return {"cpu": cpu.with_columns(since_boot=is_first, may_be_sample=is_first, interval_s=lengths)}


def _of_loop(tables: dict[str, Table]) -> dict[str, Table]:
    """The same where a loop starts top for each screen: all are first ones if none moves, as averages do."""
    return _of_cpus(tables, is_loop=True)


def _of_memory(tables: dict[str, Table]) -> dict[str, Table]:
    """Memory with the share that is used: what is free and used is not all of it where cache is neither."""
    memory = tables.get("memory")
    if memory is None or "total_kb" not in memory:
        return tables
    total = memory.floats("total_kb")
    share = 100 * memory.floats("used_kb") / np.where(total > 0, total, np.nan)
    kept = memory.only(name for name in memory.names if name != "total_kb")
    return tables | {"memory": kept.with_columns(used_pct=share) if np.isfinite(share).any() else kept}


def _of_moments(tables: dict[str, Table]) -> dict[str, Table]:
    """Shares in the meaning of the table, all of them of samples."""
    cpu = combine_long_cpu(tables["cpu"])
    return {"cpu": cpu.with_columns(since_boot=np.zeros(len(cpu), np.bool_))}


def _is_still(cpu: Table, segment: Ints, report: Ints) -> Bools:
    """Whether the shares of all screens of a run are those of the one above.

    No host is idle all the time from its boot on, or short of idle time: such a moment looks like the next.
    """
    names, key = np.unique(np.asarray(cpu["cpu"], dtype=str), return_inverse=True)
    order = np.lexsort((report, key, segment))
    shares = np.column_stack([cpu.floats(name) for name in cpu.names if name.endswith("_pct")])[order]
    run = segment[order] * len(names) + key[order]
    is_moved = (np.abs(np.diff(shares, axis=0)) > _STEP).any(axis=1) & (run[1:] == run[:-1])
    idle = cpu.floats("idle_pct") if "idle_pct" in cpu else np.zeros(len(segment))
    screens = np.bincount(np.unique(np.stack((segment, report)), axis=1)[0])
    is_run = screens >= _FEWEST_SCREENS
    is_run[segment[order][1:][is_moved]] = False
    is_run[segment[(idle <= _HARDLY_IDLE) | (idle >= _IDLE)]] = False
    result: Bools = is_run[segment]
    return result


_STEP = 0.11  # of a share as it is printed
_HARDLY_IDLE, _IDLE = 10.0, 98.0
_FEWEST_SCREENS = 4
_LINES_ABOVE = 4  # from the date to the shares: the time, the tasks, and one of the script's own
_LOOP, _MOMENT = "loop", "moment"
_FINISH = {"": _of_cpus, _LOOP: _of_loop, _MOMENT: _of_moments}
_MEBIBYTES = re.compile(r"\s*[MGTPE]iB Mem\b")
"""As procps-ng after 3.3.12 counts memory; from 3.3.13 on it looks at the CPUs twice at its start (NEWS)."""
_REMARK = (
    "the CPU shares of top's first screen, or of all screens of a loop in which they do not move, are taken "
    "as averages since boot, which procps before 3.3.13 printed there; newer ones measure a moment. "
    "top -b -n 2 shows a sample"
)
FORMAT = TableFormat(
    id="top",
    title="top: CPU shares, memory, swap and threads",
    example=_EXAMPLE,
    layout=layout,
    rewrite=in_tables,
    releases="procps 3.0 to 4.0",
    not_read="translated heads, bars in place of numbers, top of busybox and of other systems",
)
