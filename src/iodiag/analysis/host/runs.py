"""Runs of vmstat or sar that a text sets apart, each as a View of its own: no mean is of two of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.host.paging import STILL_KB
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite
from iodiag.analysis.view.common_clocks import clocks
from iodiag.analysis.view.view import View
from iodiag.model.finding import Evidence
from iodiag.table.table import Floats, Ints, Table

MOST_RUNS, LEAST_SAMPLES = 6, 3
"""Runs that are compared: of more, words stand above every report, as in a log; and samples of one of them
that bear a verdict: one row is a moment, not a run."""

SLOWER, WAITS, HALF_PCT = 3.0, 0.5, 50.0
"""Times less that is moved where a run is far slower; tasks blocked on average from which one waits; and CPU
time, in %, that is left where they are not what is slow."""


@dataclass(frozen=True)
class Run:
    """One run: what the text calls it ("" for nothing), its first and last line, and its part of a View."""

    label: str
    first: int
    last: int
    view: View

    @property
    def name(self) -> str:
        """What a sentence calls it; no name is a label that was cut, half of a bracket, or with a prompt."""
        lines = f"lines {self.first} to {self.last}"
        is_whole = not self.label.endswith("…") and self.label.count("(") == self.label.count(")")
        is_name = self.label and is_whole and not re.search(r"\S@\S.*[$#]", self.label)
        return f'"{self.label.rstrip(":")}" ({lines})' if is_name else f"of {lines}"

    @property
    def waiting(self) -> tuple[float, ...]:
        """How much waits in it, for I/O first of all: what tells which of two that are as bad is worse."""
        columns = (("queue", "blocked"), ("cpu", "iowait_pct"), ("queue", "run_queue"))
        moved = (("paging", "pgpgin_kb_per_s"), ("paging", "pgpgout_kb_per_s"))
        waits = (self.stalled, *(weighted.or_zero(self.mean(*column)) for column in columns))
        return *waits, sum(weighted.or_zero(self.mean(*column)) for column in moved)

    @property
    def stalled(self) -> float:
        """Tasks that are blocked in samples in which nothing moves, on average over all of them."""
        queue, paging = self.samples("queue"), self.samples("paging")
        if queue is None or paging is None:
            return 0.0
        own, other = paired(queue, paging)
        moved = sum(np.nan_to_num(paging.floats(f"pgpg{way}_kb_per_s")) for way in ("in", "out"))
        is_still = np.asarray(moved)[other] < STILL_KB
        return float(np.nan_to_num(queue.floats("blocked")[own])[is_still].sum()) / max(1, len(queue))

    @property
    def swaps(self) -> bool:
        """Whether pages go to swap or come back in it, so that what is moved is not what was asked for."""
        return any(self.mean("swapping", f"swap_{way}_kb_per_s") > 0 for way in ("in", "out"))

    def samples(self, table: str) -> Table | None:
        """A table's samples, of the CPUs all together; None where it has only averages since boot."""
        if table == "cpu":
            return self.view.cpu_samples
        return None if table in self.view.average_only else self.view.samples(table)

    def mean(self, table: str, column: str) -> float:
        """The mean of a column over its samples; NaN without any."""
        rows = self.samples(table)
        return float("nan") if rows is None else weighted.mean(rows, column, table)

    @property
    def is_held_up(self) -> bool:
        """Whether tasks wait for I/O in it while CPUs have time left."""
        unused = self.mean("cpu", "idle_pct") + weighted.or_zero(self.mean("cpu", "iowait_pct"))
        return unused >= HALF_PCT and self.mean("queue", "blocked") >= WAITS


def runs(view: View) -> tuple[Run, ...]:
    """The runs of a host's text that shows no disk, where there are several; else none.

    Runs are those of the table that shows who waits. What another tool prints below one is of that one. Where
    clocks go on from one run to the next, these are one series. What is known of a disk, or logged, is known
    of the whole text: no part of it may be judged without that.
    """
    shown = {*view.tables, *view.since_boot}
    if "disk" in shown or any("phase" not in rows for rows in view.tables.values()):
        return ()
    live = (view.samples(name) for name in _WHO_WAITS if name not in view.average_only)
    told = next((rows for rows in live if rows is not None), None)
    if told is None:
        return ()
    if len({source for rows in view.tables.values() for source in rows["source"].distinct()}) > 1:
        return ()
    numbers, counts = np.unique(told.floats("phase"), return_counts=True)
    is_several = 2 <= len(numbers) <= MOST_RUNS and counts.min() >= 2 and counts.max() >= LEAST_SAMPLES
    if not is_several or _go_on(told):
        return ()
    if any(_run_of(rows, numbers) is None for rows in view.tables.values()):
        return ()
    return tuple(_run(view, told, numbers, place) for place in range(len(numbers)))


def _go_on(rows: Table) -> bool:
    """Whether clocks go on between runs as they do within them."""
    seconds, is_other = clocks(rows), np.diff(rows.floats("phase")) != 0
    if np.isnan(seconds).any():
        return False
    steps = np.diff(seconds)
    return bool(((steps > 0) & (steps <= 2 * np.median(steps[~is_other])))[is_other].all())


def _run_of(rows: Table, numbers: Floats) -> Ints | None:
    """The run of each row: that of its phase; None where it has a run of its own, with words of its own."""
    phases = rows.floats("phase")
    if len(np.setdiff1d(phases, numbers)):
        return None
    return np.searchsorted(numbers, phases)


def _run(view: View, told: Table, numbers: Floats, place: int) -> Run:
    def own(tables: Mapping[str, Table]) -> dict[str, Table]:
        parts = ((name, rows, _run_of(rows, numbers)) for name, rows in tables.items())
        kept = {name: rows[of == place] for name, rows, of in parts if of is not None}
        return {name: rows for name, rows in kept.items() if len(rows)}

    tables = own(view.tables)
    lines = np.concatenate([rows["line"] for rows in tables.values()])
    first, last = int(lines.min()), int(lines.max())
    # what a banner between two runs states is of the run that it stands in
    banner = int(view.kernel_origin.rpartition(":")[2] or 0)
    is_known = banner < _first_line(view) or first <= banner <= last
    part = replace(
        view,
        tables=tables,
        since_boot=own(view.since_boot),
        average_only=view.average_only & tables.keys(),
        kernel=view.kernel if is_known else None,
        kernel_origin=view.kernel_origin if is_known else "",
    )
    label = told[told.floats("phase") == numbers[place]]["phase_label"][0]
    return Run(str(label or ""), first, last, part)


def _first_line(view: View) -> int:
    """The first line of all tables."""
    return min(int(rows["line"].min()) for rows in view.tables.values())


def beside(own: Run, other: Run) -> Evidence:
    """What another run did beside one, and whether either is far slower though its CPUs have time left."""
    values: Values = {name: other.mean("cpu", f"{name}_pct") for name in ("iowait", "idle")}
    values |= {"run": other.name, "blocked": other.mean("queue", "blocked")}
    parts, end = ["in the run {run}"], ""
    live = (other.samples(name) for name in _WHO_WAITS)
    rows = next((found for found in live if found is not None), None)
    if (paging := other.samples("paging")) is not None:
        rows, (verb, there, here) = paging, max(_moved(own, other), key=lambda way: max(way[1:]))
        values |= {"kb": there, "times": max(there, here) / max(min(there, here), _LEAST_KB)}
        parts += [f"{{kb:kb}} are {verb}" if there >= _LEAST_KB else "almost nothing is read or written"]
        slow, where = (own, "here") if there > here else (other, "there")
        if float(values["times"]) >= SLOWER and slow.is_held_up and not (own.swaps or other.swaps):
            end = "; {times} times as much is moved " + ("there" if slow is own else "here")
            end += f", and tasks wait {where} while CPUs have time left: if the work is the same, storage is "
            end += f"slower {where}"
    cpu = other.samples("cpu")
    values["least"] = np.nan if cpu is None else float(np.fmin.reduce(cpu.floats("idle_pct")))
    is_uneven = 2 * float(values["least"]) < float(values["idle"])
    parts += [
        "iowait is {iowait:.0f} %",
        "{idle:.0f} % is idle" + " (at the least {least:.0f} %)" * is_uneven,
        "no task is blocked" if values["blocked"] == 0 else "{blocked:.1f} tasks are blocked on average",
    ]
    return cite(rows, ", ".join(parts) + end, values, weighs="context")


_LEAST_KB = 1.0
_WHO_WAITS = ("queue", "paging", "cpu")
"""Tables that show who waits, the one that tells most first."""


def _moved(own: Run, other: Run) -> Iterator[tuple[str, float, float]]:
    """How much was read, and written, in the other run and in this one."""
    for way, verb in (("in", "read"), ("out", "written")):
        column = f"pgpg{way}_kb_per_s"
        yield verb, other.mean("paging", column), own.mean("paging", column)
