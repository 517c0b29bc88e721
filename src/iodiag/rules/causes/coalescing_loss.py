"""Adjacent small requests no longer merge, which multiplies the requests that the disk serves.

What it detects: a disk on which, within the capture, the share of requests that merge drops by 30
points and more, while as many bytes arrive in requests of the same small size: so the disk serves
more and smaller requests for the same work.

Why it matters: a spinning disk that served 114 merged requests a second cannot serve the nine
thousand that arrived; a capped volume counts each.

When it is wrong: the work may have changed from sequential to random at equal size and rate, which
no counter tells from a lost elevator. NVMe and mapped devices hardly merge by design, and are left out.

References: Linux Documentation/block (queue/nomerges, queue/scheduler); iostat(1), rrqm/s and wrqm/s.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from iodiag.analysis.measure import grading, weighted
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.time_per_kb import DIRECTIONS
from iodiag.analysis.view.device_names import is_physical
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.table.table import Table, stacked

LEAST_SAMPLES = 5
SURE = 1000
"""Requests on either side that leave no doubt about a share of 30 % of them."""

LEAST_ARRIVING = 50.0
"""Requests per second before merging, below which a share of merges is chance."""

HARDLY_PCT = 5.0
"""Share of requests that merge, in every sample, up to which hardly anything does."""


class Merging(NamedTuple):
    """One direction (`read`, `write`) on one disk over some rows; what arrives is counted before merging.

    `requests` are those after merging and `merges` those that merged into others, per second; `kb` is what
    they move, in kB/s.
    """

    rows: Table
    direction: str
    requests: float
    merges: float
    kb: float

    @property
    def arriving(self) -> float:
        """Requests per second before merging."""
        return self.requests + self.merges

    @property
    def share(self) -> float:
        """Share of arriving requests that merged into others."""
        return self.merges / self.arriving if self.arriving > 0 else float("nan")

    @property
    def arriving_kb(self) -> float:
        """Mean size before merging."""
        return self.kb / self.arriving if self.arriving > 0 else float("nan")

    @property
    def size_kb(self) -> float:
        """Mean size after merging."""
        return self.kb / self.requests if self.requests > 0 else float("nan")


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per disk and direction that lost its merging; the others with how they merge."""
    for series in view.devices:
        if not is_physical(series.name) or series.name.startswith("nvme"):
            continue
        lost = [pair for d in DIRECTIONS if (pair := _parts(series, d)) and _is_lost(*pair, limits)]
        for before, after in lost:
            yield _finding(series, before, after)
        if not lost:
            yield _merging_of(series, limits)


def _is_lost(before: Merging, after: Merging, limits: Limits) -> bool:
    return bool(
        100 * (before.share - after.share) >= limits.least_drop
        and max(before.arriving_kb, after.arriving_kb) <= limits.most_kb
        and _within(before.arriving_kb, after.arriving_kb, limits.same_size)
        and _within(before.kb, after.kb, limits.same_work)
        and before.size_kb >= limits.least_fall * after.size_kb
        and after.requests >= limits.least_rise * before.requests
    )


def _within(first: float, second: float, per_cent: float) -> bool:
    return bool(max(first, second) <= (1 + per_cent / 100) * min(first, second))


def _merging_of(series: DeviceSeries, limits: Limits) -> Outcome:
    """How the disk merges, so that nobody takes its few requests for little work."""
    both = [_merging(series.samples, direction) for direction in DIRECTIONS]
    most = max(both, key=lambda one: weighted.or_zero(one.merges))
    if np.isnan(most.merges):
        reason = "the source does not count merges; iostat -x does"
        return RULE.not_applicable(reason, series.name, missing=("disk.write_merges_per_s",))
    shares = [*(share for way in DIRECTIONS for share in _shares_pct(series.samples, way)), 100 * most.share]
    if not max(shares) >= HARDLY_PCT:
        return RULE.clear("hardly anything merges, and nothing changed", series.name)
    values: Values = {
        "share": 100 * most.share,
        "arriving": most.arriving,
        "requests": most.requests,
        "direction": most.direction,
    }
    each = _shares_pct(series.samples, most.direction) or [100 * most.share]
    values |= {"highest": max(each), "lowest": min(each), "least": LEAST_ARRIVING}
    reason = "{share:.1f} % of {arriving} {direction}s/s merge, into {requests}/s"
    reason += ", up to {highest:.1f} % in a sample of {least:.0f}/s and more" * (len(each) > 1)
    if _parts(series, most.direction) is not None:
        return RULE.clear(say(reason + ": no lasting loss at the same work", values), series.name)
    if float(values["highest"]) - float(values["lowest"]) < limits.least_drop:
        return RULE.clear(say(reason + ": no sample loses that", values), series.name)
    reason += " and {lowest:.1f} % in another: too few samples to tell a loss from other work"
    return RULE.undetermined(say(reason, values), series.name)


def _shares_pct(samples: Table, direction: str) -> list[float]:
    """The share of merges, in %, of each sample with more than a few requests of the direction."""
    merges = np.nan_to_num(samples.floats(f"{direction}_merges_per_s"))
    arriving = merges + np.nan_to_num(samples.floats(f"{direction}s_per_s"))
    is_many = arriving >= LEAST_ARRIVING
    return [float(share) for share in 100 * merges[is_many] / arriving[is_many]]


def _finding(series: DeviceSeries, before: Merging, after: Merging) -> Finding:
    values: Values = {
        "device": series.name,
        "direction": before.direction,
        "before": 100 * before.share,
        "after": 100 * after.share,
        "size_before": before.size_kb,
        "size_after": after.size_kb,
        "arriving_before": before.arriving_kb,
        "arriving_after": after.arriving_kb,
        "requests_before": before.requests,
        "requests_after": after.requests,
        "kb_before": before.kb,
        "kb_after": after.kb,
        "times": after.requests / before.requests,
    }
    counted = (part.arriving * weighted.seconds_or_one(part.rows).sum() for part in (before, after))
    points = 2 + (min(counted) >= SURE) + bool(series.rotational)
    sure = grading.confidence(points, at_most="medium")
    rows = stacked([before.rows, after.rows])
    return RULE.finding(
        severity="warning" if sure != "low" and series.rotational else "notice",
        confidence=sure,
        **grading.device_fields(after.rows, series.name),
        summary=say(_SUMMARY, values),
        evidence=(cite(rows, _MERGES, values), cite(rows, _SAME, values)),
        refutes=("a change of the work from sequential to random at that time",),
        cannot_know=("where on the disk the requests lie: whether they were neighbours is not recorded",),
    )


_SUMMARY = (
    "On {device} {before:.0f} % of the {direction}s merged, later {after:.0f} %: the same work now takes "
    "{times} times as many requests."
)
_MERGES = (
    "{before:.1f} % of the {direction}s merged, into {requests_before}/s of {size_before} kB; later "
    "{after:.1f} %, into {requests_after}/s of {size_after} kB"
)
_SAME = (
    "the work is the same: {kb_before} and {kb_after} kB/s arrive in requests of {arriving_before} and "
    "{arriving_after} kB"
)


def _parts(series: DeviceSeries, direction: str) -> tuple[Merging, Merging] | None:
    """Before and after the place where the share of merges drops most, each of five samples and more.

    Samples with hardly a request of that direction are left out. None with too few of them, and where
    none merges.
    """
    samples = series.samples
    requests = samples.floats(f"{direction}s_per_s")
    merges = samples.floats(f"{direction}_merges_per_s")
    if not merges.any():
        return None
    used = requests + merges >= LEAST_ARRIVING
    rows = samples[used]
    if len(rows) < 2 * LEAST_SAMPLES:
        return None
    merged, arrived = np.cumsum(merges[used]), np.cumsum((requests + merges)[used])
    inner = slice(LEAST_SAMPLES - 1, len(rows) - LEAST_SAMPLES)
    before = merged[inner] / arrived[inner]
    after = (merged[-1] - merged[inner]) / (arrived[-1] - arrived[inner])
    cut = LEAST_SAMPLES + int(np.argmax(before - after))
    return _merging(rows[:cut], direction), _merging(rows[cut:], direction)


def _merging(rows: Table, direction: str) -> Merging:
    rates = (weighted.mean(rows, f"{direction}{what}_per_s") for what in ("s", "_merges", "_kb"))
    return Merging(rows, direction, *rates)


RULE = Rule(
    id="coalescing-loss",
    title="Adjacent small requests no longer merge",
    why="The disk serves many small requests for the work of a few large ones.",
    remedy=(
        "Look at what changed then: scheduler, nomerges, max_sectors_kb; O_DIRECT or O_SYNC in the writer.",
        "Let the writer batch: larger writes, fewer fsync, one stream at a time.",
        "Use mq-deadline or bfq on spinning disks, which wait for neighbours.",
    ),
    needs=Needs(
        one_of=({"disk": ("read_merges_per_s|read_merges_pct|write_merges_per_s|write_merges_pct",)},)
    ),
    thresholds={
        "least_drop": Threshold(30, "% points", "of requests that merge", "judgement: no noise"),
        "most_kb": Threshold(16, "kB", "size before merging", "larger requests merge little"),
        "same_size": Threshold(20, "%", "apart, sizes before merging", "judgement: the same work"),
        "same_work": Threshold(25, "%", "apart, the bytes", "judgement: the same work"),
        "least_fall": Threshold(2, "times", "smaller after merging", "judgement: twice the requests"),
        "least_rise": Threshold(1.5, "times", "more requests", "judgement: half as many again"),
    },
    confirm=("grep . /sys/block/DEVICE/queue/{scheduler,nomerges,max_sectors_kb}",),
    references=("https://docs.kernel.org/admin-guide/iostats.html",),
    pictures=("stack",),
    detect=detect,
)
