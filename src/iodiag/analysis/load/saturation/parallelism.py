"""What shows that a device serves several requests at once."""

from __future__ import annotations

from collections.abc import Sequence

from iodiag.analysis.load.queueing import SLOWER_THAN_ALONE, Level, UnloadedBaseline, overlapped
from iodiag.analysis.states.service_times import FASTER_THAN_SEEKS
from iodiag.analysis.view.device_traits import is_spinning, is_spread, spindles
from iodiag.analysis.view.view import DeviceSeries

LEAST_OVERLAP = 1.5
"""Requests served at once that prove a parallel device; a disk that reorders its queue gains less."""


def proof_of_parallelism(series: DeviceSeries, level: Level, at_best: float) -> str:
    """What shows that the device serves several requests at once; empty where nothing does.

    A template for `template_values` of load_sentences.py.
    """
    if spindles(series, writes=False) == 1:
        return ""
    if is_spinning(series) is False:
        return "it is no spinning disk (from {origin})"
    if is_spread(series) and series.disks and series.disks >= 2:
        return "it spreads its requests over {spread_over:g} disks"
    if at_best >= LEAST_OVERLAP:
        return "at its best it served at least {at_best:.1f} requests at once"
    if level.latency_ms < 1 and level.busy_rate > FASTER_THAN_SEEKS:
        return "no spinning disk answers within {latency} ms at {requests} requests/s"
    return ""


def most_at_once(steady: Sequence[Level], unloaded: UnloadedBaseline | None) -> float:
    """The most requests that it must have served at once, X·R1, over the levels that R1 holds for."""
    if unloaded is None or not unloaded.is_measured:
        return float("nan")
    least_ms = SLOWER_THAN_ALONE * unloaded.latency_ms
    grown = [overlapped(other, unloaded) for other in steady if other.latency_ms >= least_ms]
    return max(grown, default=float("nan"))
