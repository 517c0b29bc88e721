"""Who asks a device: the process that moves as much as it does."""

from __future__ import annotations

from iodiag.analysis.measure import weighted
from iodiag.analysis.view.view import IDLE_KB_PER_S, View
from iodiag.model.capture import Fact
from iodiag.table.table import Table

SAME = 0.1
"""How far apart the rates of a process and of a device may be: two tools do not sample the same second."""


def asker(view: View, rows: Table, way: str) -> Fact | None:
    """The process of pidstat or iotop that alone moves what a device did in `rows`, "read" or "write".

    None where no process does, or where the numbers are totals.
    """
    moved = weighted.mean(rows, f"{way}_kb_per_s")
    if not moved >= IDLE_KB_PER_S:
        return None
    named = (fact for fact in view.facts_of("pidstat", "iotop") if fact.word("process"))
    return next((f for f in named if abs(f.number(f"{way}_kb_per_s") - moved) <= SAME * moved), None)
