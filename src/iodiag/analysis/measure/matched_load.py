"""Latency and rate at matched load: like requests, as many in flight, before and after.

A request waits for those ahead of it, so a latency means nothing without the number of requests in
flight, and a large request takes longer than a small one. Samples are therefore sorted into cells
by the size of their requests (in powers of two) and by the depth (in half powers), and only what
both sides have in one cell is compared: geometric means, since latencies are skewed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.before_after import AFTER, BEFORE, are_apart, counts, from_estimates
from iodiag.analysis.measure.bootstrap import Estimate, log_estimate
from iodiag.analysis.measure.weighted import LEAST_REQUESTS
from iodiag.model.comparison import Change, MatchedLoad
from iodiag.table.table import Floats, Table

LIKE_DEPTH = 2**0.25
"""Mean depths of a cell further apart than half its width are no matched load."""

MIXED = "request"
_COLUMNS = {
    "read": ("reads_per_s", "read_await_ms", "read_size_kb"),
    "write": ("writes_per_s", "write_await_ms", "write_size_kb"),
    MIXED: ("ios_per_s", "latency_ms", "size_kb"),
}


@dataclass(frozen=True)
class _Cell:
    """The samples of one side in one cell."""

    latency: Estimate
    rate: Estimate
    latencies: Floats = field(repr=False)
    rates: Floats = field(repr=False)
    depth: float
    size_kb: float
    requests: float
    is_whole: bool


def latency_column(direction: str) -> str:
    """The column whose latency is that of a direction."""
    return "await_ms" if direction == MIXED else f"{direction}_await_ms"


def at_matched_load(
    before: Table, after: Table, direction: str
) -> tuple[tuple[MatchedLoad, ...], Change | None]:
    """The loads of one direction that both sides show, and its latency over all of them together.

    Loads with the most requests come first, and count by the requests of the side that has fewer.
    Those with too few samples for an interval count only where none has one.
    """
    sides = _cells(before, direction, BEFORE), _cells(after, direction, AFTER)
    found = []
    for key in sides[0].keys() & sides[1].keys():
        one, other = sides[0][key], sides[1][key]
        if max(one.depth, other.depth) <= LIKE_DEPTH * min(one.depth, other.depth):
            found.append((_load(direction, one, other), one.latency, other.latency))
    found.sort(key=lambda match: (-min(match[0].requests), match[0].size_kb, match[0].queue_depth))
    return tuple(load for load, _, _ in found), _combined(found) if found else None


def _cells(rows: Table, direction: str, side: int) -> dict[tuple[int, int], _Cell]:
    rate_column, latency_name, size_column = _COLUMNS[direction]
    rates, latencies = rows.floats(rate_column), rows.floats(latency_name)
    sizes, depths = rows.floats(size_column), rows.floats("depth")
    length = weighted.lengths(rows)
    known = (rates > 0) & (latencies > 0) & (sizes > 0) & (depths > 0)
    octave = np.round(np.log2(sizes, where=known, out=np.zeros(len(known)))).astype(int)
    depth_class = np.round(2 * np.log2(depths, where=known, out=np.zeros(len(known)))).astype(int)
    cells = {}
    for key in sorted(set(zip(octave[known].tolist(), depth_class[known].tolist(), strict=True))):
        held = known & (octave == key[0]) & (depth_class == key[1])
        cell = _cell(rates[held], latencies[held], sizes[held], depths[held], length[held], side)
        cell = replace(cell, is_whole=len(rows) == 1)
        if cell.requests >= LEAST_REQUESTS:
            cells[key] = cell
    return cells


def _cell(
    rates: Floats, latencies: Floats, sizes: Floats, depths: Floats, length: Floats, side: int
) -> _Cell:
    requests = rates * length
    return _Cell(
        latency=log_estimate(latencies, requests, side),
        rate=log_estimate(rates, length, side),
        latencies=latencies,
        rates=rates,
        depth=math.exp(float((np.log(depths) * length).sum() / length.sum())),
        size_kb=float((sizes * requests).sum() / requests.sum()),
        requests=float(requests.sum()),
        is_whole=False,
    )


def _load(direction: str, before: _Cell, after: _Cell) -> MatchedLoad:
    is_whole = before.is_whole or after.is_whole
    return MatchedLoad(
        direction=direction,
        size_kb=(before.size_kb, after.size_kb),
        queue_depth=(before.depth, after.depth),
        requests=(before.requests, after.requests),
        latency=_change(
            latency_column(direction),
            before.latency,
            after.latency,
            before.latencies,
            after.latencies,
            is_whole,
        ),
        rate=_change(_COLUMNS[direction][0], before.rate, after.rate, before.rates, after.rates, is_whole),
    )


def _change(
    quantity: str, before: Estimate, after: Estimate, ones: Floats, others: Floats, is_whole: bool
) -> Change:
    found = from_estimates(
        quantity, before.value, after.value, (before, after), samples=(len(ones), len(others))
    )
    if math.isnan(found.low):
        is_told = counts(before.value, after.value) and are_apart(ones, others, is_whole)
        return replace(found, verdict="indicated" if is_told else "unclear")
    return found


def _combined(found: Sequence[tuple[MatchedLoad, Estimate, Estimate]]) -> Change:
    kept = [match for match in found if not math.isnan(match[0].latency.low)] or found
    weights = [min(load.requests) for load, _, _ in kept]
    shares = [weight / sum(weights) for weight in weights]
    before, after = (
        math.exp(sum(share * math.log(one.value) for share, one in zip(shares, ones, strict=True)))
        for ones in ([one for _, one, _ in kept], [other for _, _, other in kept])
    )
    parts = [
        one._replace(error=share * one.error)
        for share, (_, *ones) in zip(shares, kept, strict=True)
        for one in ones
    ]
    counted = [sum(load.latency.samples[side] for load, _, _ in kept) for side in (BEFORE, AFTER)]
    told = from_estimates(kept[0][0].latency.quantity, before, after, parts, samples=(counted[0], counted[1]))
    if math.isnan(told.low):
        # without intervals all loads must show the same thing
        rises = {load.latency.after > load.latency.before for load, _, _ in kept}
        is_one = len(rises) == 1 and all(load.latency.is_change for load, _, _ in kept)
        return replace(told, verdict="indicated" if is_one else "unclear")
    return told
