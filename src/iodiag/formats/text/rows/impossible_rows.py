"""Rows whose numbers cannot be true: a counter ran backwards, a sample lasted too long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from iodiag.formats.text.rows.row_store import Rows
from iodiag.table.table import Bools, Floats

_TOTALS = ("read_kb", "write_kb", "discard_kb")
_MOST_KB = 2.0**52
"""4.5 exabytes: no device has moved so much, and a negative difference of sectors prints as more."""
_RATES = ("interrupts_per_s", "context_switches_per_s")
_MOVED = ("pgpgin_kb_per_s", "pgpgout_kb_per_s")
_CPU = ("user_pct", "system_pct")
_TIMES_LONGER, _ALIKE = 20.0, 4.0
_FEWEST_KB, _FEWEST_WAIT = 100.0, 10.0
_NEAR_WAIT, _NEAR_CPU = 10.0, 5.0

_IDLE = "idle_pct"
_WHOLE = {f"{of}_pct" for of in ("user", "nice", "system", "iowait", "steal", "idle")}
_LEAST_SUM = 50.0
"""Shares of a CPU's time that add up to less are of no CPU: digits that are cut off cost no half of them."""

WRAPPED = "a counter ran below zero: no device moves so much; this row is left out"
LONGER = (
    "interrupts, context switches and I/O rise by the same factor at unchanged CPU use: this row covers a "
    "longer time than the others, of unknown length; its rates are left out"
)


NO_TIME = (
    "the shares of this CPU's time add up to {:.0f} %, not 100 %: it is offline, or its counters did not "
    "move, or backwards; this row is left out"
)


def is_without_time(rows: Rows) -> tuple[Bools, Floats]:
    """The rows of a table of CPUs whose shares leave out most of the time, and what they add up to.

    Where no column counts what the hypervisor took, that may be so much; but nothing at all is no CPU's time.
    """
    names = [str(column.column) for column in rows.layout.columns if column.column]
    is_of_cpus = _IDLE in names and all(name.endswith("_pct") for name in names)
    sums = rows.numbers.sum(axis=1) if is_of_cpus else np.full(len(rows.lines), np.nan)
    # of a table that somebody cut columns out of, nobody knows the rest
    return np.asarray((sums < _LEAST_SUM) if set(names) >= _WHOLE else (sums == 0)), sums


def is_wrapped(rows: Rows) -> Bools:
    """The rows in which a total is larger than any device's."""
    places = [n for n, column in enumerate(rows.layout.columns) if column.column in _TOTALS]
    result: Bools = np.asarray(np.any(rows.numbers[:, places] >= _MOST_KB, axis=1))
    return result


def is_longer(rows: Rows) -> Bools:
    """The rows of vmstat that cover far more than the interval by which their rates were divided.

    vmstat divides by the interval it was told, also when it could not run for minutes. Then all counts are
    larger by one factor, while the shares of the CPU's time are those of the row above.
    """
    result = np.zeros(len(rows.lines), dtype=np.bool_)
    place = {column.column: n for n, column in enumerate(rows.layout.columns)}
    if rows.layout.format != "vmstat" or not {*_RATES, *_MOVED, *_CPU, "iowait_pct"} <= place.keys():
        return result
    moved = _sum(rows, place, _MOVED)
    wait, busy = rows.numbers[:, place["iowait_pct"]], _sum(rows, place, _CPU)
    counts = np.column_stack([*(rows.numbers[:, place[name]] for name in _RATES), moved])
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = counts[1:] / counts[:-1]
        below = np.append(counts[1:-1] / counts[2:], np.full((1, counts.shape[1]), np.inf), axis=0)
    is_jump = (factors >= _TIMES_LONGER).all(axis=1) & (factors.max(axis=1) <= _ALIKE * factors.min(axis=1))
    is_jump &= (below[: len(factors)] >= _TIMES_LONGER).all(axis=1)
    is_alike = (np.abs(np.diff(wait)) <= _NEAR_WAIT) & (np.abs(np.diff(busy)) <= _NEAR_CPU)
    is_loaded = (moved[:-1] >= _FEWEST_KB) & (wait[:-1] >= _FEWEST_WAIT)
    result[1:] = is_jump & is_alike & is_loaded
    return result


def _sum(rows: Rows, place: dict[str | None, int], names: tuple[str, ...]) -> Floats:
    total: Floats = rows.numbers[:, [place[name] for name in names]].sum(axis=1)
    return total


def without_rates(rows: Rows, longer: Bools) -> Rows:
    """The rows, those of unknown length without what was divided by a length."""
    numbers = rows.numbers.copy()
    rates = [n for n, column in enumerate(rows.layout.columns) if str(column.column).endswith("_per_s")]
    numbers[longer[:, None] & np.isin(np.arange(numbers.shape[1]), rates)] = np.nan
    return replace(rows, numbers=numbers)


def true_rows(all_rows: Sequence[Rows]) -> tuple[list[Rows], list[tuple[int, str]]]:
    """The rows without what cannot be true, and which lines that is said of, and why."""
    result: list[Rows] = []
    said: list[tuple[int, str]] = []
    for rows in all_rows:
        kept = rows
        if (wrapped := is_wrapped(rows)).any():
            said += [(line, WRAPPED) for line in rows.lines[wrapped].tolist()]
            kept = rows.only(~wrapped)
        is_timeless, sums = is_without_time(kept)
        if is_timeless.any():
            more = int(is_timeless.sum()) - 1
            reason = NO_TIME.format(sums[is_timeless][0]) + f", and {more} more of its table" * bool(more)
            said.append((int(kept.lines[is_timeless][0]), reason))
            kept = kept.only(~is_timeless)
        if (longer := is_longer(kept)).any():
            said += [(line, LONGER) for line in kept.lines[longer].tolist()]
            kept = without_rates(kept, longer)
        if len(kept.lines):
            result.append(kept)
    return result, said
