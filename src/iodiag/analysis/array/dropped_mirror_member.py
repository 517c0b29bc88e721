"""A mirror's leg that carries nothing any more, while the others go on: told from equal writes."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from iodiag.analysis.array.equal_rates import disks_of
from iodiag.analysis.array.side_by_side import side_by_side
from iodiag.analysis.measure import weighted
from iodiag.analysis.view.device_names import is_md
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.table.table import Floats, Table

_LEAST_SAMPLES = 3
_TWIN, _SUM = 0.02, 0.05
_ONCE_USED = 0.1
"""What the leg wrote since boot, as a share of what each twin did: less was never a leg's load."""


@dataclass(frozen=True)
class DroppedMember:
    """`leg` wrote since boot (`before_kb` kB/s) and is idle; `lone` writes without a twin; `twins` are pairs.

    `array_kb` is what the array wrote, `halves_kb` the sum over one of each pair and the lone one.
    """

    array: DeviceSeries
    leg: DeviceSeries
    lone: DeviceSeries
    twins: tuple[tuple[DeviceSeries, DeviceSeries], ...] = field(repr=False)
    before_kb: float
    array_kb: float
    halves_kb: float
    rows: tuple[Table, ...] = field(repr=False)


def dropped_member(view: View) -> DroppedMember | None:
    """The only disk that fell silent beside the only md array that writes, where all else is paired."""
    arrays = [s for s in view.devices if is_md(s.name) and weighted.mean(s.samples, "write_kb_per_s") > 0]
    disks = disks_of(view)
    silent = [s for s in disks if not (np.nan_to_num(s.samples.floats("ios_per_s")) > 0).any()]
    writing = [s for s in disks if weighted.mean(s.samples, "write_kb_per_s") > 0]
    used = [(series, kb) for series in silent if (kb := _before(view, series.name)) > 0]
    if len(arrays) != 1 or len(used) != 1 or len(writing) < 3:
        return None
    array, (leg, before) = arrays[0], used[0]
    rows = side_by_side((array, *writing))
    if len(rows[0]) < _LEAST_SAMPLES:
        return None
    written = [part.floats("write_kb_per_s") for part in rows]
    pairs, lone = _twins(written[1:])
    if not pairs or len(lone) != 1 or before < _ONCE_USED * _before(view, writing[pairs[0][0]].name):
        return None
    halves = sum((written[1 + first] for first, _ in pairs), written[1 + lone[0]])
    if abs(halves.sum() - written[0].sum()) > _SUM * written[0].sum():
        return None
    return DroppedMember(
        array=array,
        leg=leg,
        lone=writing[lone[0]],
        twins=tuple((writing[first], writing[second]) for first, second in pairs),
        before_kb=before,
        array_kb=float(written[0].mean()),
        halves_kb=float(halves.mean()),
        rows=tuple(rows),
    )


def _before(view: View, name: str) -> float:
    """What a device wrote since boot, in kB/s; 0 where nothing says so."""
    rows = view.since_boot.get("disk")
    if rows is None:
        return 0.0
    return weighted.or_zero(weighted.mean(rows[np.asarray(rows["device"] == name)], "write_kb_per_s"))


def _twins(written: list[Floats]) -> tuple[list[tuple[int, int]], list[int]]:
    """Pairs of disks that write the same in every sample, and those without a twin."""
    rest, pairs, lone = list(range(len(written))), [], []
    while rest:
        first = rest.pop(0)
        twin = next((n for n in rest if np.allclose(written[first], written[n], rtol=_TWIN, atol=1)), None)
        if twin is None:
            lone.append(first)
        else:
            rest.remove(twin)
            pairs.append((first, twin))
    return pairs, lone
