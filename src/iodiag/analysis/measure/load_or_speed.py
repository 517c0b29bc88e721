"""How a device's rate, requests in flight and latency moved together, and what that means.

By Little's law N = X·R (N requests in flight, X their rate, R their latency) two of them tell the
third, and the direction in which they move tells load from service: more demand raises X and N; a
slower device raises R, and N with it, at the same X or less.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.before_after import AFTER, BEFORE
from iodiag.analysis.measure.evidence import Values, cite
from iodiag.analysis.measure.matched_load import MIXED, latency_column
from iodiag.model.comparison import Change, Shift
from iodiag.model.finding import Evidence
from iodiag.table.table import Table

MAIN_SHARE = 0.6
"""Share of requests from which on a direction is the one that matters."""

LIKE_MIX = 0.1
"""A share of reads that moves by more makes another workload, and a mixed latency incomparable."""


BLIND_PCT = 100.0
"""Where a smaller change would not have shown, "no change" says nothing (judgement)."""


class Mix(NamedTuple):
    """The share of reads on each side, of requests where they are told apart, else of bytes."""

    before: float
    after: float

    @property
    def is_like(self) -> bool:
        """Whether the two shares are about the same; unknown ones are taken to be."""
        return math.isnan(self.before) or math.isnan(self.after) or abs(self.after - self.before) <= LIKE_MIX

    @property
    def direction(self) -> str:
        """The direction that most requests had on both sides; else `request`."""
        if min(self.before, self.after) >= MAIN_SHARE:
            return "read"
        return "write" if max(self.before, self.after) <= 1 - MAIN_SHARE else MIXED


def mix_of(before: Table, after: Table) -> Mix:
    """The mix of reads and writes on two sides, counted in the same way on both."""
    for read, write in (("reads_per_s", "writes_per_s"), ("read_kb_per_s", "write_kb_per_s")):
        shares = [_share(rows, read, write) for rows in (before, after)]
        if not any(map(math.isnan, shares)):
            return Mix(shares[BEFORE], shares[AFTER])
    return Mix(math.nan, math.nan)


def _share(rows: Table, read: str, write: str) -> float:
    reads, writes = weighted.mean(rows, read), weighted.mean(rows, write)
    return reads / (reads + writes) if reads + writes > 0 else math.nan


def sign(change: Change | None) -> int | None:
    """1 where a quantity rose, -1 where it fell, 0 where it did neither, None where that is unknown.

    Samples that would not have shown twice as much tell nothing.
    """
    if change is None or change.verdict == "unclear":
        return None
    if change.is_change:
        return 1 if change.after > change.before else -1
    return None if change.detectable_pct > BLIND_PCT else 0


def shift(rate: int | None, depth: int | None, latency: int | None, is_workload: bool) -> Shift:
    """What the signs of X, N and R say together; another workload goes before all else."""
    if is_workload:
        return "workload"
    if rate is None or depth is None or latency is None:
        return "unknown"
    if rate == depth == latency == 0:
        return "unchanged"
    if rate < 0 and depth > 0 and latency >= 0:
        return "capacity_loss"
    if latency > 0 and rate <= 0:
        return "slower"
    if latency < 0 and rate >= 0:
        return "faster"
    # from here on the latency moved, if at all, as the load would have it
    if rate >= 0 and depth >= 0 and rate + depth > 0:
        return "more_load"
    if rate <= 0 and depth <= 0 and rate + depth < 0:
        return "less_load"
    return "mixed"


def by_matched_load(found: Shift, matched: Change | None) -> Shift:
    """What a shift is once the latency at matched load is known.

    On a device that is full, more requests in flight raise the latency and not the rate, as if it were
    slower; where both sides show the same depth, the latency there tells.
    """
    if matched is None or math.isnan(matched.low):
        return found
    way = sign(matched)
    if found in ("slower", "capacity_loss") and way in (0, -1):
        return "more_load"
    if found == "faster" and way in (0, 1):
        return "less_load"
    return found


_LEADS: Mapping[Shift, str] = {
    "faster": "{device} answers faster",
    "slower": "{device} answers more slowly, and does no more",
    "capacity_loss": "{device} does less while more requests wait: it lost capacity",
    "more_load": "{device} was given more work",
    "less_load": "{device} was given less work",
    "workload": "The requests that {device} completed are of another kind or mix",
    "unchanged": "{device} did the same work in the same way",
    "mixed": "Rate, requests in flight and latency of {device} show no clear pattern",
    "unknown": "Whether the load or the speed of {device} changed is not determined by these samples",
}


def lead(found: Shift, rate: int | None) -> str:
    """What a shift is, as the beginning of a template; `rate` is the sign of the change of requests/s."""
    does_less = found == "slower" and rate is not None and rate < 0
    return _LEADS[found].replace("does no more", "does less") if does_less else _LEADS[found]


def reading(
    device: str, found: Shift, changes: Mapping[str, Change], matched: Sequence[Change], mix: Mix, rows: Table
) -> Evidence:
    """One sentence on what moved together, with the numbers; it cites the `rows` of after."""
    values: Values = {"device": device}
    parts = []
    for quantity, text in _parts(mix):
        change = changes.get(quantity)
        if change is not None and change.verdict != "negligible":
            values |= {f"{quantity}_before": change.before, f"{quantity}_after": change.after}
            parts.append(text.format(f"{{{quantity}_before}}", f"{{{quantity}_after}}"))
    if not mix.is_like:
        values |= {"reads_before": 100 * mix.before, "reads_after": 100 * mix.after}
        parts.append("{reads_before:.0f} and {reads_after:.0f} % reads")
    text = lead(found, sign(changes.get("ios_per_s"))) + (": " + ", ".join(parts) if parts else "")
    known = [c.detectable_pct for q in _WITNESSES if (c := changes.get(q)) and c.detectable_pct > 0]
    if found == "unchanged" and known:
        values["detectable"] = max(known)
        text += "; in each of these a change of {detectable:.0f} % would have shown"
    if found == "slower" and sign(changes.get("queue_depth")) == 1 and not matched:
        text += (
            "; either it became slower, or it was full and more requests were sent to it: "
            "no depth is on both sides that would tell"
        )
    for change in matched if found != "unchanged" else ():
        if sign(change) is not None and not math.isnan(change.low):
            what = "request" if change.quantity == "await_ms" else change.quantity.removesuffix("_await_ms")
            values |= {f"matched_{what}_before": change.before, f"matched_{what}_after": change.after}
            text += f"; at the same load a {what} took {{matched_{what}_before}} ms before"
            text += f" and {{matched_{what}_after}} ms after"
    return cite(rows, text + ".", values)


_WITNESSES = ("ios_per_s", "queue_depth", "read_await_ms", "write_await_ms", "await_ms")


def _parts(mix: Mix) -> list[tuple[str, str]]:
    return [
        ("ios_per_s", "{} requests/s before and {} after"),
        ("queue_depth", "{} and {} in flight"),
        (latency_column(mix.direction), f"{{}} and {{}} ms a {mix.direction}"),
        ("request_size_kb", "{} and {} kB a request"),
    ]


def is_other_workload(changes: Mapping[str, Change], mix: Mix) -> bool:
    """Whether requests of another size or direction stand on the two sides."""
    return not mix.is_like or bool(sign(changes.get("request_size_kb")))
