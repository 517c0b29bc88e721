"""Devices that answer like requests in a fraction of the time, in the same reports."""

from __future__ import annotations

import numpy as np

from iodiag.analysis.array.equal_rates import disks_of, equal_rates
from iodiag.analysis.array.topmost_devices import are_related
from iodiag.analysis.states.service_times import class_of
from iodiag.analysis.states.states import State, states
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.table.result_cache import cached
from iodiag.table.table import Floats, Mask

LIKE, TIMES = 4.0, 4.0
"""How far rate and size of a neighbour may be apart, and how many times as quick it is."""

TWIN_GAP = 0.25
"""How far apart the bytes of two disks are, of either direction, that take like parts of one load."""


def quicker_neighbour(
    view: View, series: DeviceSeries, state: State
) -> tuple[str, float, float, float] | None:
    """A device beside it that takes a fraction of the time for like requests: name, latency, rate and size.

    Like ones are as many of either direction; beside it is what the same reports show.
    """
    told, (latency, rate, size) = _told(view)
    # times that are printed as zeros are none
    is_quicker = (latency > 0) & (latency * TIMES <= state.latency_ms)
    is_quicker &= _are_like(rate, state.rate) & _are_like(size, state.size_kb)
    for place in np.flatnonzero(is_quicker).tolist():
        other, calm = told[place]
        is_like = calm.kind == state.kind and class_of(other) == class_of(series)
        ways = ("reads_per_s", "writes_per_s") if state.kind == "reads and writes" else ()
        is_like &= all(_are_like(calm.mean(way), state.mean(way)) for way in ways)
        is_beside = other.is_stacked == series.is_stacked and not are_related(view, series.name, other.name)
        if is_like and is_beside and same_reports(calm.rows, state.rows).any():
            return other.name, calm.latency_ms, calm.rate, calm.size_kb
    return None


@cached
def _told(view: View) -> tuple[list[tuple[DeviceSeries, State]], Floats]:
    """The states of all devices, and latency, rate and size of each (three rows)."""
    told = [(series, state) for series in view.devices for state in states(series)]
    numbers = [(state.latency_ms, state.rate, state.size_kb) for _, state in told]
    return told, np.array(numbers, dtype=np.float64).reshape(-1, 3).T


def _are_like(one: Floats | float, other: float) -> Mask:
    return np.asarray((one <= LIKE * other) & (other <= LIKE * np.asarray(one)))


def are_twins(view: View, one: str, other: str) -> bool:
    """Whether two disks move as much both ways, as those of one kind in a set do."""
    return any({one, other} <= names for names in _twins(view))


@cached
def _twins(view: View) -> list[set[str]]:
    return [{one.name for one in group} for group in equal_rates(disks_of(view), TWIN_GAP)]
