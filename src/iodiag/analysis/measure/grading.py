"""From points of evidence to a confidence, and from rows to the time that they cover.

The required conditions of a rule make one point; each further witness adds one, or two when it is
independent of the counters (a topology, an application's log); what contradicts takes off as much.
One or two points are `low`, three or four `medium`, five and more `high`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np

from iodiag.model.finding import CONFIDENCES, Confidence
from iodiag.table.table import Table

MEDIUM_FROM, HIGH_FROM = 3, 5


def confidence(points: float, *, at_most: Confidence = "high") -> Confidence:
    """The confidence that points of evidence earn, no more than `at_most`."""
    earned: Confidence = "high" if points >= HIGH_FROM else "medium" if points >= MEDIUM_FROM else "low"
    return min(earned, at_most, key=CONFIDENCES.index)


def time_fields(rows: Table, *, of_host: bool = False) -> dict[str, Any]:
    """`start`, `end` and `samples` of a finding that rests on `rows`; times only where they are known.

    Samples are numbered for each device: rows of the host's own tables (`of_host`) have no number.
    """
    fields: dict[str, Any] = {}
    if "sample" in rows and len(rows) and not of_host:
        numbers = rows["sample"]
        fields["samples"] = (int(numbers.min()), int(numbers.max()))
    start, end = rows["time"].min(), rows["time"].max()
    if start is not None:
        fields |= {"start": start.isoformat(), "end": end.isoformat()}
    return fields


def when(rows: Table, samples: Table) -> str:
    """At which time of the clock `rows` began, as words, and when they ended if other `samples` follow.

    The time of a sample is that of its end. "" where no time is known.
    """
    first, last = rows["time"].min(), rows["time"].max()
    if first is None or last is None:
        return ""
    length = rows.floats("interval_s")[int(np.nanargmin(rows["time"].seconds()))]
    if np.isnan(length):
        return f"first in that of {first:%H:%M:%S}"
    start = f"{first - timedelta(seconds=float(length)):%H:%M:%S}"
    is_to_the_end = (samples["time"].stamps >= rows["time"].stamps.min()).sum() == len(rows)
    return f"from {start} on" if is_to_the_end else f"between {start} and {last:%H:%M:%S}"


def device_fields(rows: Table, *devices: str) -> dict[str, Any]:
    """What a finding about some devices is about: these, and the time and samples of its `rows`."""
    return {"devices": devices, **time_fields(rows)}
