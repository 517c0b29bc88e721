"""Which devices were shown to be healthy, and which were full or waiting, from their states alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from iodiag.analysis.states.service import SERVICE, class_of
from iodiag.analysis.states.states import State, states
from iodiag.analysis.view.view import DeviceSeries, View

Shown = Literal["healthy", "waiting", "not shown", "idle"]

FULL = 0.95
"""Busy share from which a device has no idle time left, timer skew allowed for."""

CALM = 3.0
"""Up to three times what its class usually takes a device answers as expected (Percona 2014)."""

LEAST_SHARE = 0.05
"""States of less of a device's time do not decide whether it is called healthy; symptoms look at each."""


def shown(series: DeviceSeries) -> Shown:
    """Whether a device was shown to be healthy: in each lasting state with I/O it answered as its class does.

    `waiting` are devices that are full with a queue, or that hold requests back; `not shown` those whose
    latency is unknown, or neither calm nor plainly bad.
    """
    found = [_of_state(series, state) for state in states(series) if state.kind != "idle"]
    lasting = [one for one, share in found if share >= LEAST_SHARE or len(found) == 1]
    if not found:
        return "idle"
    if "waiting" in lasting:
        return "waiting"
    return "healthy" if lasting and all(one == "healthy" for one in lasting) else "not shown"


def _of_state(series: DeviceSeries, state: State) -> tuple[Shown, float]:
    if state.kind == "stuck":
        return "waiting", state.share
    latency = state.latency_ms
    if math.isnan(latency):
        return "not shown", state.share
    usual = _usual(series, state)
    is_full = not math.isnan(state.util) and state.util >= FULL
    if latency <= CALM * usual:
        is_queueing = is_full and state.at_once >= 2 and latency > usual
        return ("waiting" if is_queueing else "healthy"), state.share
    in_line = max(1.0, state.at_once) if not math.isnan(state.at_once) else 1.0
    if is_full and in_line >= 2:
        return "waiting", state.share
    return ("healthy" if latency <= usual * in_line and not is_full else "not shown"), state.share


def _usual(series: DeviceSeries, state: State) -> float:
    """What one request alone takes on a device as expected; one that does more than seeks allow is solid."""
    service = SERVICE[class_of(series)]
    base = service.usual_ms
    if class_of(series) == "unknown" and is_fast(state):
        base = SERVICE["solid"].usual_ms
    return base + (0.0 if math.isnan(state.size_kb) else state.size_kb / service.kb_per_ms)


FASTER_THAN_SEEKS, RANDOM_KB = 500.0, 32.0


def is_fast(state: State) -> bool:
    """Whether a device did more small requests per second than a spinning disk does at random."""
    return state.rate >= FASTER_THAN_SEEKS and state.size_kb < RANDOM_KB


def healths(view: View) -> Iterator[tuple[DeviceSeries, Shown]]:
    """What was shown of each device of a host."""
    for series in view.devices:
        yield series, shown(series)
