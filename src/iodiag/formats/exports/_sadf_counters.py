"""Raw counters (`sadf -r`) into the numbers that sar prints, by the arithmetic of sar itself.

A counter is given before and after a sample, a gauge once. The labels are sar's, the numbers are
the kernel's: sectors under rkB/s, bytes under rxkB/s, hundredths under ldavg-1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from iodiag.formats.clock import Floats
from iodiag.formats.raw_columns.sar_section import SarSection
from iodiag.model.units import KB_PER_BYTE, KB_PER_SECTOR

EXTRA = ("rd_ticks", "wr_ticks", "dc_ticks", "tot_ticks", "major", "minor", "speed", "duplex")
"""Labels that no section of sar has."""

_RAW_UNITS = {
    "rkB/s": KB_PER_SECTOR,
    "wkB/s": KB_PER_SECTOR,
    "dkB/s": KB_PER_SECTOR,
    "rxkB/s": KB_PER_BYTE,
    "txkB/s": KB_PER_BYTE,
    "ldavg-1": 0.01,
    "ldavg-5": 0.01,
    "ldavg-15": 0.01,
    "MHz": 0.01,
}
"""What a raw number is multiplied by to be in the unit of its label."""

_SECTORS = {"rkB/s": 1.0, "wkB/s": 1.0, "dkB/s": 1.0, "rd_sec/s": 1.0, "wr_sec/s": 1.0}
_TICKS = ("rd_ticks", "wr_ticks", "dc_ticks")


def rates(
    section: SarSection, labels: Sequence[str], before: Floats, after: Floats, seconds: Floats
) -> tuple[tuple[str, ...], Floats]:
    """sar's tokens, and their values (rows x tokens).

    `before` is NaN for gauges. A counter that went backwards gives NaN, as nothing is known then.
    """
    change = after - before
    change[change < 0] = np.nan
    if section.name == "cpu":
        # a share of the ticks that all states together took: no clock is needed
        steps = np.where(np.isnan(change), 0.0, change)
        with np.errstate(invalid="ignore", divide="ignore"):
            return tuple(labels), steps / steps.sum(axis=1, keepdims=True) * 100
    columns: dict[str, Floats] = {}
    per_second = {label: change[:, place] / seconds for place, label in enumerate(labels)}
    for place, label in enumerate(labels):
        is_gauge = np.isnan(before[:, place]).all()
        if section.knows(label) and label not in ("aqu-sz", "avgqu-sz"):
            factor = _RAW_UNITS.get(label, 1.0)
            if section.family == "pressure":
                # hundredths of a per cent, or microseconds out of the whole interval
                columns[label] = after[:, place] / 100 if is_gauge else per_second[label] / 1e4
            else:
                columns[label] = (after[:, place] if is_gauge else per_second[label]) * factor
    if section.name == "disk":
        columns |= _disk(labels, change, per_second)
    return tuple(columns), np.stack(list(columns.values()), axis=1) if columns else np.empty((len(after), 0))


def _disk(labels: Sequence[str], change: Floats, per_second: dict[str, Floats]) -> dict[str, Floats]:
    """What sar computes from several counters of a disk; 0 where it made no request, as sar has it."""
    at = {label: place for place, label in enumerate(labels)}
    columns: dict[str, Floats] = {}
    for label in ("aqu-sz", "avgqu-sz"):
        if label in at:
            columns[label] = per_second[label] / 1000
    if "tot_ticks" in at:
        columns["%util"] = per_second["tot_ticks"] / 10
    if "tps" not in at:
        return columns
    requests = change[:, at["tps"]]

    def per_request(names: Sequence[str]) -> Floats:
        total = sum((change[:, at[name]] for name in names), start=np.zeros(len(requests)))
        with np.errstate(invalid="ignore", divide="ignore"):
            result: Floats = np.where(requests == 0, 0.0, total / requests)
        return result

    columns["areq-sz"] = per_request([name for name in _SECTORS if name in at]) * KB_PER_SECTOR
    ticks = [name for name in _TICKS if name in at]
    if ticks:
        columns["await"] = per_request(ticks)
    if "tot_ticks" in at and "dkB/s" not in at:
        columns["svctm"] = per_request(["tot_ticks"])  # gone from sar with 12.1.2, which brought discards
    return columns
