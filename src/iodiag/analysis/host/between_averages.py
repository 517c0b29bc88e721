"""What happened between two averages since boot: their totals and rates make a sample of the time between.

A total is its rate times the time since boot, so each report tells when it was printed; the differences of
both are of the time between the reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.view.view import View
from iodiag.model.units import HALF_DIGIT, KB_PER_MB
from iodiag.table.table import Table, by_text

_UNSURE = 0.02


class Between(NamedTuple):
    """A device between two reports: how long that was (NaN unknown), and what it did per second."""

    device: str
    seconds: float
    kb_per_s: float = np.nan
    ios_per_s: float = np.nan


def between_averages(view: View) -> list[Between]:
    """What each device did between its last two averages since boot, of those of which that is known.

    None of them where a total or the time since boot falls (another boot, another host), or where the devices
    disagree about the time between by more than 2 %.
    """
    old = view.since_boot.get("disk")
    if old is None or not len(old):
        return []
    rows = [part for _, own in by_text(old, "source") for _, part in by_text(own, "device") if len(part) > 1]
    found = [_between(part[-2:]) for part in rows]
    told = [one for one in found if one is not None and one.seconds > 0 and one.ios_per_s > 0]
    seconds = [one.seconds for one in told]
    is_sure = bool(told) and None not in found and np.ptp(seconds) <= _UNSURE * np.median(seconds)
    return told if is_sure else []


def _between(rows: Table) -> Between | None:
    """A device's two reports; the time is unknown where rounding makes it so, None is of a fall."""
    totals = np.array([rows.floats(f"{way}_kb") for way in ("read", "write")])
    rates = np.array([rows.floats(f"{way}_kb_per_s") for way in ("read", "write")])
    device = str(rows["device"][0])
    if (np.diff(totals) < 0).any():
        return None
    way = int(np.argmax(np.nan_to_num(totals[:, 0])))
    digit = KB_PER_MB if (totals % KB_PER_MB == 0).all() else 1.0
    if not (rates[way] >= digit).all():
        return Between(device, np.nan)
    up = totals[way] / rates[way]
    seconds = float(up[1] - up[0])
    if (up * HALF_DIGIT * digit / rates[way]).sum() > _UNSURE * abs(seconds):
        return Between(device, np.nan)
    if seconds < 0:
        return None
    ios = float(np.diff(rows.floats("ios_per_s") * up)[0] / seconds)
    return Between(device, seconds, float(np.diff(totals).sum() / seconds), ios)


def over_hours(views: Sequence[View]) -> str:
    """How long averages since boot are of, as totals beside their rates tell; empty where none does."""
    bounds = [np.empty((2, 0))]
    for old in (view.since_boot["disk"] for view in views if "disk" in view.since_boot):
        totals = np.array([old.floats(f"{way}_kb") for way in ("read", "write")])
        rates = np.array([old.floats(f"{way}_kb_per_s") for way in ("read", "write")])
        digit = KB_PER_MB if (totals % KB_PER_MB == 0).all() else 1.0
        is_known = (rates >= _TELLING_KB) & np.isfinite(totals)
        totals, rates, half = totals[is_known], rates[is_known], HALF_DIGIT * digit
        # what is printed may be as much as half a digit off
        bounds.append(
            np.array([(totals - digit / 2) / (rates + half), (totals + digit / 2) / (rates - half)])
        )
    shortest, longest = np.concatenate(bounds, axis=1)
    if not len(shortest):
        return ""
    low, high = float(shortest.max()), float(longest.min())
    if not abs(high - low) <= _UNSURE * high:
        return ""
    seconds = (low + high) / 2
    values: Values = {"hours": round(seconds / 3600, 2), "minutes": seconds / 60}
    return say(" over {hours} h" if seconds >= 3600 else " over {minutes:.0f} min", values)


_TELLING_KB = 10.0
"""kB/s whose rounding is less than the lengths of one average may be apart."""
