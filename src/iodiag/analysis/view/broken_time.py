"""Reports whose length was measured wrongly: every rate of theirs is too high by one factor.

A rate is a count over the length that the tool believes the sample to have. Where that is too short,
requests, queue and %util are too high alike. Latencies and sizes are counts over counts, and stay true.
"""

from __future__ import annotations

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.view.device_names import is_physical
from iodiag.analysis.view.view import REPORTS
from iodiag.model.topology import DeviceTopology
from iodiag.table.table import Mask, Places, Table

FAR_BEYOND_PCT = 150.0
"""%util that no skew of timers explains: sound samples have up to 101.6."""

LEAST_DEVICES = 2
"""A single one may have a counter that is wrong."""


def of_broken_time(disk: Table, codes: Places, names: list[str], topology: DeviceTopology) -> Mask:
    """The rows of reports in which several disks were busy for far more than all the time.

    `disk` has derived columns and the rows of one device together, in order, `codes` numbers its devices by
    `names`. Not counted are samples in which requests ended that had waited since before them, as their time
    is booked at completion; those with a %util beyond the requests in flight, since one factor for both
    leaves it below; and devices that stand on others, whose counters are those of the same requests.
    """
    util = disk.floats("util_pct")
    is_over: Mask = util >= FAR_BEYOND_PCT
    if not is_over.any():
        return is_over
    is_over &= disk["is_util_trusted"]
    excess_ms = 10 * (util - 100) * weighted.seconds_or_one(disk)
    waits = ("latency_ms", "read_await_ms", "write_await_ms", "flush_await_ms")
    is_over &= ~(np.fmax.reduce([disk.floats(name) for name in waits]) >= excess_ms)
    is_silent = (disk.floats("ios_per_s") == 0) & ~(disk.floats("kb_per_s") > 0)
    same = (codes[1:] == codes[:-1]) & (disk["stream"][1:] == disk["stream"][:-1])
    is_over[1:] &= ~(same & is_silent[:-1])
    is_over &= np.array([_is_disk(name, topology) for name in names], dtype=np.bool_)[codes]
    reports = disk["stream"] * REPORTS + disk["report"]
    found = np.unique(np.column_stack([reports[is_over], codes[is_over]]), axis=0)[:, 0]
    numbers, devices = np.unique(found, return_counts=True)
    return np.asarray(np.isin(reports, numbers[devices >= LEAST_DEVICES]))


def _is_disk(name: str, topology: DeviceTopology) -> bool:
    device = topology.find(name)
    return is_physical(name) and not name.startswith("loop") and not (device and device.members)
