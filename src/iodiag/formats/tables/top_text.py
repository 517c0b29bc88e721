"""The head of top: shares of CPU time, memory, swap, and threads where it shows them.

procps 3.0 to 4.0, in batch mode or copied off the screen: `29.4% us`, `29.4%us` and `29.4 us`; `Mem: … k` and
`KiB Mem :` to `EiB Mem :`; commas for points; all CPUs together (`%Cpu(s):`) or each (`%Cpu0  :`). busybox
has words of its own (`CPU:  1% usr  15% sys`). top prints numbers in front of their words: `in_tables` turns
that into headers and rows, memory and swap into one. A number that top cut off at its column's end
(`13190736+`) is left out, and so is a line that lost its end.
Tasks are counted by their main threads, so that those of processes are no tasks that run or wait. The load
average that stands with a clock, and the processes, are context formats of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
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
load:1=queue.load_1m load:5=queue.load_5m load:15=queue.load_15m
threads:sleeping=queue. threads:sleep=queue. threads:stopped=queue. threads:zombie=queue.
cpu:us=cpu.user_pct cpu:sy=cpu.system_pct cpu:ni=cpu.nice_pct cpu:id=cpu.idle_pct cpu:wa=cpu.iowait_pct
cpu:hi=cpu.irq_pct cpu:si=cpu.softirq_pct cpu:st=cpu.steal_pct
mem:total=memory.total_kb mem:free=memory.free_kb mem:used=memory.used_kb mem:buffers=memory.buffers_kb
cpu:usr=cpu.user_pct cpu:sys=cpu.system_pct cpu:nic=cpu.nice_pct cpu:idle=cpu.idle_pct cpu:io=cpu.iowait_pct
cpu:irq=cpu.irq_pct cpu:sirq=cpu.softirq_pct
mem:shrd=memory. mem:buff=memory.buffers_kb mem:cached=memory.cached_kb
mem:buff/cache=memory. swap:total=swap. swap:used=swap.used_kb swap:free=swap.free_kb
swap:avail=memory.available_kb swap:cached=memory.cached_kb
"""
_COLUMNS = {word: target.split(".") for word, target in (pair.split("=") for pair in _WORDS.split())}
_TABLES = {"threads": "queue", "cpu": "cpu", "mem": "memory", "swap": "memory"}
_PLACES = {"queue": 0, "cpu": 1, "memory": 2}
_UNIT_KB = {unit: 1024.0**power for power, unit in enumerate("KMGTPE")}

_CLOCK = re.compile(r"\s*top - (?P<clock>\d\d:\d\d:\d\d) up\s")
_LABEL = re.compile(
    r"\s*(?:(?P<unit>[KMGTPE])iB )?"
    r"(?P<what>Threads|%?Cpu\(s\)|(?:%?Cpu|CPU)(?P<number>\d{1,5})|CPU|Mem|Swap)\s*:"
)
_CELL = re.compile(
    r"\s*(?P<number>\d{1,15}(?:[.,]\d{1,3})?)(?P<unit>[kKMGT]?)(?P<is_cut>\+?)\s*%?\s*(?P<word>[a-z][a-z/-]*)"
    r"(?: Mem\b)?[\s,.]*"
)

# of busybox: what /proc/loadavg holds, which ends with the tasks that run and the last process
_LOAD = re.compile(r"\s*Load average: (\d+\.\d\d) (\d+\.\d\d) (\d+\.\d\d) \d+/\d+ \d+\s*")


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
    clock = date = ""
    kinds = iter(_kinds_of([piece.text for piece in pieces if piece.text.strip()]))
    for piece in pieces:
        if not piece.text.strip():
            result.append(piece)  # a paste may double all line feeds
            continue
        cells, kind = _cells_of(piece.text), next(kinds)
        if cells is None:
            if first := _CLOCK.match(piece.text):
                date = _date_of(result, first["clock"], date)
                clock = "" if _is_dated(result) else date or first["clock"]
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


def _kinds_of(texts: Sequence[str]) -> Sequence[str]:
    """What a top measures first, for each line: whether a moment, by the memory below, and in a loop."""
    loop = _LOOP if _is_of_loop(texts) else ""
    kinds, kind = list[str](), loop
    for text in reversed(texts):
        label = _LABEL.match(text)
        if label is None or label["what"].startswith("CPU") or "Cpu" not in label["what"]:
            kind = (_MOMENT if _is_of_moment(text) else "") + loop
        kinds.append(kind)
    return kinds[::-1]


def _is_of_moment(text: str) -> bool:
    """Whether memory is printed as procps-ng does from 3.3.13 on, which looks at the CPUs twice at its start.

    That release has fewer decimal places there, too (NEWS): one, where those before it have three. busybox
    (`CPU:` itself) looks twice as well.
    """
    cells = _cells_of(text)
    if cells is not None and cells.table == "cpu":
        return text.lstrip().startswith("CPU")
    if cells is None or cells.unit not in _UNIT_KB or cells.unit == "K":
        return False
    return all(word.startswith("mem:") and _ONE_PLACE.fullmatch(n) for word, n in cells.numbers.items())


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


def _date_of(above: Sequence[Piece], clock: str, date: str) -> str:
    """The date and time of a script that a top below goes on with, for its screen at `clock`; else empty.

    Their clocks agree on the first screen: that date is of no other zone.
    It is no longer known once midnight has passed.
    """
    is_new = _is_dated(above)
    text = above[_end_of_solid(above) - 1].text if is_new else date
    shown = _clock.parse_line(text)
    told = _clock.parse_time(clock)
    if shown is None or shown.seconds is None or told is None or shown.has_am_pm or not _TIME.search(text):
        return ""
    is_same = abs(told - shown.seconds) < _AGREE_S if is_new else told >= shown.seconds
    return _TIME.sub(clock, text) if is_same else ""


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
    if load := _LOAD.fullmatch(text):
        loads = zip(("load:1", "load:5", "load:15"), load.groups(), strict=True)
        return _Cells("queue", "", dict(loads), "all")
    label = _LABEL.match(text)
    if label is None:
        return None
    what = "cpu" if "cpu" in label["what"].lower() else label["what"].lower()
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
        finish=partial(_of_cpus, kind=unit) if table == "cpu" else _of_memory if table == "memory" else None,
        place=_PLACES[table],
        is_apart=True,
        remark="" if table != "cpu" else _REMARK_OF_MOMENT if unit.startswith(_MOMENT) else _REMARK,
    )


def _of_cpus(tables: dict[str, Table], *, kind: str) -> dict[str, Table]:
    """Shares in the meaning of the table; those of a run's first screen are no sample, or `may_be_sample`.

    A loop starts top for each: all are averages since boot if none moves, and else of moments (`is_brief`).
    Screens of what may be one run that do not move are samples, and may be such averages.
    """
    cpu = combine_long_cpu(tables["cpu"])
    segment, report = (np.asarray(cpu[name], dtype=np.int64) for name in ("segment", "report"))
    first = np.full(int(segment.max(initial=0)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, segment, report)
    is_loop, is_moment = kind.endswith(_LOOP), kind.startswith(_MOMENT)
    is_first = report == first[segment]
    is_still = _is_still(cpu, segment, report) & (not is_moment)
    is_old = (is_first | (is_still & is_loop)) & (not is_moment)
    is_brief = ~is_old & (is_loop | (is_first & is_moment))
    added = {"since_boot": is_old, "may_be_sample": is_old | is_still, "is_brief": is_brief}
    lengths = np.where(is_old | is_brief, np.nan, cpu.floats("interval_s"))
    return {"cpu": cpu.with_columns(**added, interval_s=lengths)}


def _of_memory(tables: dict[str, Table]) -> dict[str, Table]:
    """Memory with the share that is used: what is free and used is not all of it where cache is neither."""
    memory = tables.get("memory")
    if memory is None or "total_kb" not in memory:
        return tables
    total = memory.floats("total_kb")
    share = 100 * memory.floats("used_kb") / np.where(total > 0, total, np.nan)
    kept = memory.only(name for name in memory.names if name != "total_kb")
    return tables | {"memory": kept.with_columns(used_pct=share) if np.isfinite(share).any() else kept}


def _is_still(cpu: Table, segment: Ints, report: Ints) -> Bools:
    """Whether the shares of all screens of a run are those of the one above.

    Of a host that is idle, or that hangs, a moment looks like the next: no other is so all the time from its
    boot on.
    """
    names, key = np.unique(np.asarray(cpu["cpu"], dtype=str), return_inverse=True)
    order = np.lexsort((report, key, segment))
    shares = np.column_stack([cpu.floats(name) for name in cpu.names if name.endswith("_pct")])[order]
    run = segment[order] * len(names) + key[order]
    is_moved = (np.abs(np.diff(shares, axis=0)) > _STEP).any(axis=1) & (run[1:] == run[:-1])
    idle, waits = (np.nan_to_num(cpu.floats(name)) for name in ("idle_pct", "iowait_pct"))
    screens = np.bincount(np.unique(np.stack((segment, report)), axis=1)[0])
    is_run = screens >= _FEWEST_SCREENS
    is_run[segment[order][1:][is_moved]] = False
    is_run[segment[(waits >= _HUNG) | (idle >= _IDLE)]] = False
    result: Bools = is_run[segment]
    return result


_STEP = 0.11  # of a share as it is printed
_HUNG, _IDLE = 90.0, 98.0
_FEWEST_SCREENS = 4
_LINES_ABOVE = 4  # from the date to the shares: the time, the tasks, and one of the script's own
_AGREE_S, _TIME = 300.0, re.compile(r"\d\d:\d\d:\d\d")
_LOOP, _MOMENT = "loop", "moment"
_ONE_PLACE = re.compile(r"\d+[.,]\d")
_REMARK = (
    "the CPU shares of top's first screen, or of all screens of a loop in which they do not move, are taken "
    "as averages since boot, which procps before 3.3.13 printed there, unless those of another tool differ; "
    "where no date stands above each, screens that do not move may be such, too. top -b -n 2 shows a sample"
)
_REMARK_OF_MOMENT = (
    "the CPU shares of the first screen of a top are of the moment in which it started, "
    "in a loop those of all screens. top -b -n 2 -d 5 shows a sample of 5 s"
)
FORMAT = TableFormat(
    id="top",
    title="top: CPU shares, memory, swap and threads",
    example=_EXAMPLE,
    layout=layout,
    rewrite=in_tables,
    releases="procps 3.0 to 4.0, busybox 1",
    not_read="translated heads, bars in place of numbers, top of other systems",
)
