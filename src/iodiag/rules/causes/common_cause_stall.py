"""Disks with nothing in common stopped at the same moment: what they share stopped.

What it detects: at least three disks that belong to no common array complete nothing, or take ten times
their own median and more, in the same samples, without more requests or bytes than usual. Afterwards they
catch up.

Why it matters: none of the disks is at fault. What they share is: a host adapter, an expander or its cable,
a fabric or path, the storage behind it, the hypervisor that paused the machine.

When it is wrong: a load of the whole host, a sync(2) or a flood of writeback make all disks slow at once,
too, and raise rates or bytes: such samples do not count. Members of one array, and disks that run at equal
rates as members do, count as one. A sample much longer than the stall shows it diluted, or not at all. A
few disks out of many may be slow at once by chance: at least half of the disks with a load must be.

References: block/genhd.c (requests are counted at completion, so that a stall shows as silence, then as one
sample with all the waiting).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from iodiag.analysis.array.equal_rates import disks_of, equal_rates
from iodiag.analysis.array.side_by_side import Keys, first_row_per_report, report_keys
from iodiag.analysis.array.topmost_devices import common_top
from iodiag.analysis.load.stalls import stalled
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.states.service_times import usual_ms
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Floats, Mask, Table, stacked

LULL = 0.9
"""Share of the usual rate below which a sample may hold the beginning of a stall."""


@dataclass(frozen=True)
class Usual:
    """A disk with a load, its samples by report, and what is usual for it (medians under load)."""

    series: DeviceSeries = field(repr=False)
    rows: Table = field(repr=False)
    latency_ms: float
    rate: float
    kb_per_s: float


@dataclass(frozen=True)
class Stop:
    """Reports in which disks stood still together: the first and last of them among all reports."""

    first: int
    last: int
    disks: tuple[int, ...]
    fell: int
    """How many of them completed less than half of the usual in a sample of it, or right before."""
    caught_up: int
    """How many of them did more than usual in its last sample or right after it."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """At most one finding: the disks that stood still together."""
    usual = [disk for series in disks_of(view) if (disk := _usual(series, limits)) is not None]
    groups = _groups(view, [disk.series for disk in usual])
    if len(set(groups)) < limits.disks:
        reason = "fewer than three unrelated disks with a load in several samples"
        yield RULE.not_applicable(reason, missing=("topology",))
        return
    reports = np.unique(np.concatenate([report_keys(disk.rows) for disk in usual]))
    hit = np.array([_at(reports, disk, _is_hit(disk, limits)) for disk in usual])
    there = np.array([_at(reports, disk, np.ones(len(disk.rows), dtype=np.bool_)) for disk in usual])
    stops = list(_stops(usual, groups, reports, hit, there, limits))
    if stops:
        yield _finding(usual, reports, stops, limits)
        return
    names = tuple(disk.series.name for disk in usual)
    yield RULE.clear("no samples in which unrelated disks stood still together", *names)


def _usual(series: DeviceSeries, limits: Limits) -> Usual | None:
    loaded = series.loaded
    if len(loaded) < limits.samples:
        return None
    latency, rate, kb = (median(loaded.floats(name)) for name in ("latency_ms", "ios_per_s", "kb_per_s"))
    return (
        Usual(series, first_row_per_report(series), latency, rate, kb) if latency > 0 and rate > 0 else None
    )


def _groups(view: View, disks: Sequence[DeviceSeries]) -> list[int]:
    """A number per disk that is the same for disks of one array, stated or to be seen by equal rates."""
    numbers = {series.name: place for place, series in enumerate(disks)}
    for together in (*common_top(view, list(numbers)), *([s.name for s in g] for g in equal_rates(disks))):
        least = min(numbers[name] for name in together)
        old = {numbers[name] for name in together}
        numbers = {name: least if number in old else number for name, number in numbers.items()}
    return list(numbers.values())


def _is_hit(disk: Usual, limits: Limits) -> Mask:
    """Samples in which a disk stood still, or waited long without more to do than usual."""
    rows, is_still = disk.rows, stalled(disk.rows)
    latency, rate, kb = (rows.floats(name) for name in ("latency_ms", "ios_per_s", "kb_per_s"))
    size = weighted.or_zero(weighted.ratio(rows, "kb_per_s", "ios_per_s"))
    least = max(limits.slower * disk.latency_ms, usual_ms(disk.series, size, disk.rate))
    expected = disk.rate * weighted.seconds_or_one(rows)
    most = 1 + limits.more / 100 + 2 / np.sqrt(np.maximum(expected, 1e-9))
    for place in np.flatnonzero(latency >= least).tolist():
        lull = _lull(rows, rate, disk.rate, place)
        is_still[place] |= all(
            float(data[lull].mean()) <= most[place] * usual
            for data, usual in ((rate, disk.rate), (kb, disk.kb_per_s))
        )
    return is_still


def _lull(rows: Table, rates: Floats, usual: float, place: int) -> slice:
    """A sample and those right before it that did less than usual: their requests complete later.

    Only where its requests waited at least as long as was lost: a pause in the load is no stall.
    """
    lengths = weighted.seconds_or_one(rows)
    waited = rates[place] * rows.floats("latency_ms")[place] / 1000 * lengths[place]
    first, lost = place, 0.0
    if rates[place] <= usual:
        return slice(place, place + 1)
    while first and rates[first - 1] < LULL * usual:
        lost += (1 - rates[first - 1] / usual) * lengths[first - 1]
        if lost > waited:
            return slice(place, place + 1)
        first -= 1
    return slice(first, place + 1)


def _at(reports: Keys, disk: Usual, holds: Mask) -> Mask:
    return np.isin(reports, report_keys(disk.rows)[holds])


def _stops(
    usual: Sequence[Usual], groups: Sequence[int], reports: Keys, hit: Mask, there: Mask, limits: Limits
) -> Iterator[Stop]:
    """The runs of reports in which enough unrelated disks stood still, and some waited for it to end."""
    numbers = np.array(groups)
    unrelated = np.array([len(set(numbers[column].tolist())) for column in hit.T])
    of_all = np.array([len(set(numbers[column].tolist())) for column in there.T])
    is_stop = (unrelated >= limits.disks) & (unrelated >= 0.5 * of_all)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_stop, [False]]).astype(np.int8)))
    for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        disks: list[int] = np.flatnonzero(hit[:, first:end].any(axis=1)).tolist()
        waited = [_waits(usual[place], reports, first, end) for place in disks]
        if sum(waited) >= limits.disks:
            rates = [_rates(usual[place], reports, first, end) for place in disks]
            fell = sum(bool((rate[:-1] < 0.5).any()) for rate in rates)
            yield Stop(
                first, end - 1, tuple(disks), fell, sum(bool((rate[-2:] > 1.2).any()) for rate in rates)
            )


def _waits(disk: Usual, reports: Keys, first: int, end: int) -> bool:
    """Whether requests that outlived the stop complete in it, or right after it."""
    rows = _rows(disk, reports, first, end + 1)
    return bool((rows.floats("latency_ms") >= 2 * disk.latency_ms).any())


def _rates(disk: Usual, reports: Keys, first: int, end: int) -> Floats:
    """A disk's rate over its usual one, from the report before the stop to the one after it."""
    rows = _rows(disk, reports, max(first - 1, 0), end + 1)
    return np.asarray(rows.floats("ios_per_s") / disk.rate)


def _rows(disk: Usual, reports: Keys, first: int, end: int) -> Table:
    return disk.rows[np.isin(report_keys(disk.rows), reports[first:end])]


def _finding(usual: Sequence[Usual], reports: Keys, stops: Sequence[Stop], limits: Limits) -> Finding:
    places = sorted({place for stop in stops for place in stop.disks})
    disks = [usual[place] for place in places]
    told = [(usual[place], stop) for stop in stops for place in stop.disks]
    rows = stacked([_rows(disk, reports, stop.first, stop.last + 1) for disk, stop in told])
    times = [_times(disk, reports, stop) for disk, stop in told]
    values: Values = {
        "disks": ", ".join(disk.series.name for disk in disks),
        "count": len(stops),
        "often": "once" if len(stops) == 1 else f"{len(stops)} times",
        "least": min(times),
        "most": max(times),
        "held": len({int(at) for stop in stops for at in range(stop.first, stop.last + 1)}),
        "samples": len(reports),
        "fell": max(stop.fell for stop in stops),
        "caught": max(stop.caught_up for stop in stops),
    }
    points = 2 + (len(stops) > 1) + sum(float(values[name]) >= limits.disks for name in ("fell", "caught"))
    return RULE.finding(
        severity="warning",
        confidence=confidence(points + (max(len(stop.disks) for stop in stops) > limits.disks)),
        **device_fields(rows[rows["device"] == told[0][0].series.name], *(one.series.name for one in disks)),
        summary=say(
            "{disks} stood still together {often} ({held} of {samples} samples), with no more to do than "
            "usual: what they share stopped, not the disks.",
            values,
        ),
        evidence=tuple(_evidence(rows, values)),
        refutes=("a layer that all of them belong to and that the capture does not show",),
        cannot_know=(
            "which part it was: adapter, expander, fabric, the storage behind it, or the hypervisor",
        ),
    )


def _times(disk: Usual, reports: Keys, stop: Stop) -> float:
    """How many times its usual latency a disk took at most, in the stop or right after it."""
    latency = _rows(disk, reports, stop.first, stop.last + 2).floats("latency_ms")
    return float(np.nanmax(latency, initial=0.0)) / disk.latency_ms


def _evidence(rows: Table, values: Values) -> Iterator[Evidence]:
    text = "{least:.0f} to {most:.0f} times their usual latency in the same samples"
    yield cite(rows, text, values, worst="latency_ms")
    if float(values["fell"]):
        yield cite(rows, "{fell} of them completed less than half of the usual: no load explains it", values)
    if float(values["caught"]):
        yield cite(rows, "{caught} of them did more than usual in the end: they caught up", values)


RULE = Rule(
    id="common-cause-stall",
    explains=(*SYMPTOMS_AND_SATURATION, "hung-io", "backlog-drift"),
    replaces=("util-false-alarm",),
    title="Unrelated disks stood still at the same moment",
    why="What they share stopped: adapter, expander, fabric, the storage behind it, or the hypervisor.",
    remedy=(
        "Look in the kernel's log of that moment for resets of the adapter or bus, link or path loss, and at "
        "the switch, expander or storage behind the disks.",
        "On a virtual machine ask what the hypervisor did then: a snapshot, a migration, a pause, or its "
        "own storage.",
    ),
    needs=Needs(one_of=({"disk": ("ios_per_s|reads_per_s", "await_ms|read_await_ms|queue_depth")},)),
    thresholds={
        "slower": Threshold(10, "x", "latency over its own median", "judgement: no load of one disk alone"),
        "disks": Threshold(3, "disks", "unrelated ones at the same time", "two may be slow by chance"),
        "more": Threshold(25, "%", "more than usual that it may do meanwhile", "judgement: edges of samples"),
        "samples": Threshold(5, "samples", "under load, for a median", "judgement"),
    },
    confirm=(
        "dmesg -T | grep -iE 'reset|timeout|abort|link|offline|loop'",
        "lsblk -o NAME,HCTL,TRAN,MODEL",
        "multipath -ll",
    ),
    references=("https://docs.kernel.org/admin-guide/iostats.html",),
    to_clear=ToClear(samples=6, requests=100, columns=("kb_per_s",)),
    detect=detect,
)
