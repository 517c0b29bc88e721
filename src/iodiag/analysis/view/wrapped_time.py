"""Averages since boot whose counter of time has wrapped: the partitions of the disk tell more.

The kernel counts the milliseconds of a request for its partition and for its disk, in 32 bits: seven weeks of
waiting. A sample is a difference of two counts, which is right all the same.
"""

from __future__ import annotations

import numpy as np

from iodiag.analysis.view.device_names import whole_of
from iodiag.table.table import Floats, Table

_FAR_BEYOND, _SAME_RATE = 1.1, 1.01
"""Times that the partitions wait longer than their disk, beyond rounding; and that their requests are more:
kernels before 2.6.25 count those of partitions before they are merged."""


def with_time_of_parts(disk: Table) -> Table:
    """Averages since boot, a disk with the time of its partitions where these waited for longer than it.

    That is the least that its own requests took. `doubtful_await_ms` is the latency that is printed.
    """
    if not {"await_ms", "queue_depth"} <= set(disk.names) or "read_await_ms" in disk:
        return disk
    places = list(zip(disk["source"], disk["report"].tolist(), disk["device"], strict=True))
    known = {name for _, _, name in places}
    parts: dict[object, list[int]] = {}
    for at, (source, report, name) in enumerate(places):
        if (whole := whole_of(name, known)) is not None:
            parts.setdefault((source, report, whole), []).append(at)
    printed, depth, rate = disk.floats("await_ms"), disk.floats("queue_depth").copy(), _rate(disk)
    await_ms, doubtful = printed.copy(), np.full(len(disk), np.nan)
    for at, place in enumerate(places):
        below = parts.get(place, [])
        waited, asked = (float(np.nansum(of[below])) for of in (rate * printed, rate))
        if waited > _FAR_BEYOND * rate[at] * printed[at] and asked <= _SAME_RATE * rate[at]:
            doubtful[at], await_ms[at] = printed[at], waited / rate[at]
            depth[at] = max(depth[at], waited / 1000)
    if np.isnan(doubtful).all():
        return disk
    return disk.with_columns(await_ms=await_ms, queue_depth=depth, doubtful_await_ms=doubtful)


def _rate(disk: Table) -> Floats:
    ways = disk.floats("reads_per_s") + disk.floats("writes_per_s")
    return np.where(np.isnan(ways), disk.floats("ios_per_s"), ways)
