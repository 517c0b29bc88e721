"""From points of evidence to a confidence, and from rows to the time that they cover.

The required conditions of a rule make one point; each further witness adds one, or two when it is
independent of the counters (a topology, an application's log); what contradicts takes off as much.
One or two points are `low`, three or four `medium`, five and more `high`.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from iodiag.model.finding import CONFIDENCES, Confidence

MEDIUM_FROM, HIGH_FROM = 3, 5


def confidence(points: float, *, at_most: Confidence = "high") -> Confidence:
    """The confidence that points of evidence earn, no more than `at_most`."""
    earned: Confidence = "high" if points >= HIGH_FROM else "medium" if points >= MEDIUM_FROM else "low"
    return min(earned, at_most, key=CONFIDENCES.index)


def when(rows: pd.DataFrame) -> dict[str, Any]:
    """`start`, `end` and `samples` of a finding that rests on `rows`; times only where they are known."""
    fields: dict[str, Any] = {}
    if "sample" in rows and len(rows):
        fields["samples"] = (int(rows["sample"].min()), int(rows["sample"].max()))
    times = rows["time"].dropna()
    if len(times):
        fields |= {"start": times.min().isoformat(), "end": times.max().isoformat()}
    return fields
