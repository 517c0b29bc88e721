"""Sums over all devices count the same bytes several times.

What it detects: devices that stand on others (partitions on disks, md and device-mapper on disks or on each
other) and are listed beside them, so that a sum over the list exceeds what was asked of the host.

Why it matters: dashboards and averages over all lines double the load, and average the latency of
layers that wait for each other.

When it is wrong: it is advice on reading, no trouble. What nothing states or shows as stacked is
taken for a device of its own, so the true sum may be smaller still. Where an md or device-mapper device reads
or writes more than a little of what the disks do, and nothing says what it stands on, no sum is told.

References: sar(1), iostat(1); Linux block/blk-core.c (submit_bio counts a byte once).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from iodiag.analysis.array.equal_rates import beyond_whole, without_parts
from iodiag.analysis.array.hidden_parity import HostAccount, host_account
from iodiag.analysis.array.layer_latency import may_be_disk, may_be_stacked
from iodiag.analysis.array.side_by_side import report_keys
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.time_per_kb import DIRECTIONS
from iodiag.analysis.view.view import IDLE_KB_PER_S, DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import stacked

_SMALL = 0.05

_NO_DISKS = ("zram", "ram", "sr", "fd", "loop")


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding for the host, where the sum over all devices is larger than what was asked of it."""
    shown = [series for series in view.devices if not series.name.startswith(_NO_DISKS)]
    if not shown:
        yield RULE.clear("no disk, and nothing on one, is listed")
        return
    # a disk's counters hold those of its partitions, and of what lies beside them
    whole = without_parts(shown)
    names = {series.name for series in whole}
    if wrong := [series.name for series in whole if beyond_whole(view, series) is not None]:
        reason = "its partitions move more than it does: a counter is wrong, and so is any sum"
        yield RULE.undetermined(reason, *wrong)
        return
    above = {s.name: names.intersection(d.name for d in view.topology.above(s.name)) for s in whole}
    tops = [series for series in whole if not above[series.name]]
    below = {name for parents in above.values() for name in parents}
    unknown = [series for series in whole if may_be_stacked(series) and series.name not in below]
    unknown = [series for series in unknown if len(whole) > 1 or not may_be_disk(view, series)]
    placed = [series for series in tops if series not in unknown] or tops
    if any(_kb(unknown, way) > _SMALL * _kb(placed, way) for way in DIRECTIONS):
        sure = "may stand" if any(may_be_disk(view, series) for series in unknown) else "stands"
        reason = f"it {sure} on others, and nothing says on which: lsblk would"
        yield RULE.undetermined(reason, *(series.name for series in unknown))
        return
    if not all(may_be_stacked(series) for series in placed):
        # what nothing places may stand on a disk that is told itself: its bytes would be told twice
        tops = placed
    leaves = [series for series in whole if series.name not in below and not may_be_stacked(series)]
    # where every device is at the top nothing is counted twice
    shown, tops, leaves = (_without_gaps(devices, above, view) for devices in (shown, tops, leaves))
    if len(tops) < len(shown) and _is_counted_twice(shown, tops, limits):
        yield _finding(view, shown, tops, leaves, limits)
    else:
        reason = "no device carries what another one that is listed was asked for, as far as is known"
        if len(tops) < len(shown) or unknown:
            reason = f"what is counted twice is less than {100 * limits.least_ratio - 100:.0f} % of the sum"
        yield RULE.clear(reason, *sorted(names))


def _without_gaps(
    devices: Sequence[DeviceSeries], above: Mapping[str, set[str]], view: View
) -> list[DeviceSeries]:
    """Devices without the reports in which one moves something, and nothing above or below it has a row."""
    gaps = []
    below = {one: [name for name, upper in above.items() if one in upper] for one in above}
    for name, beside in (*above.items(), *below.items()):
        own, *others = (view.samples_by_device[one] for one in (name, *beside))
        if others:
            keys = np.concatenate([report_keys(rows) for rows in others])
            gaps.append(np.setdiff1d(report_keys(own[own.floats("kb_per_s") >= IDLE_KB_PER_S]), keys))
    left_out = np.concatenate(gaps) if gaps else np.empty(0)
    if not len(left_out):
        return list(devices)
    rows = ((series, ~np.isin(report_keys(series.samples), left_out)) for series in devices)
    return [replace(series, samples=series.samples[kept]) for series, kept in rows if kept.any()]


def _is_counted_twice(shown: Sequence[DeviceSeries], tops: Sequence[DeviceSeries], limits: Limits) -> bool:
    asked = _kb(tops)
    return _kb(shown) > limits.least_ratio * asked and asked >= limits.least_kb * _reports(shown)


def _kb(devices: Sequence[DeviceSeries], way: str = "") -> float:
    """kB/s, of one direction or both, over all samples: what a report leaves out moved nothing in it."""
    column = f"{way}_kb_per_s" if way else "kb_per_s"
    return float(sum(np.nansum(series.samples.floats(column)) for series in devices))


def _reports(devices: Sequence[DeviceSeries]) -> int:
    """How many reports show any of the devices."""
    first, *others = (report_keys(series.samples) for series in devices)
    return len(np.unique(np.concatenate([first, *(own for own in others if not np.array_equal(own, first))])))


def _finding(
    view: View,
    shown: Sequence[DeviceSeries],
    tops: Sequence[DeviceSeries],
    leaves: Sequence[DeviceSeries],
    limits: Limits,
) -> Finding:
    reports = _reports(shown)
    values: Values = {
        "all": _kb(shown) / reports,
        "tops": _kb(tops) / reports,
        "leaves": _kb(leaves) / reports,
        "ratio": _kb(shown) / _kb(tops),
        "count": float(len(shown)),
        "top_names": _named(tops),
        "leaf_names": _named(leaves),
    }
    is_guess = any(series.device is not None and series.device.is_inferred for series in shown)
    account = host_account(view, limits.least_kb)
    rows = stacked([series.samples for series in shown])
    rows = rows[rows.floats("kb_per_s") > 0]
    return RULE.finding(
        severity="info",
        confidence="medium" if is_guess else "high",
        devices=tuple(series.name for series in tops if _kb([series]) > 0),
        summary=say(
            _SUMMARY + (_ONE_LAYER if values["top_names"] == values["leaf_names"] else _LAYERS), values
        ),
        evidence=(cite(rows, _SUMS, values), *([_host(account)] if account is not None else [])),
        refutes=("lsblk shows that these devices are not layers of each other",),
    )


def _named(devices: Sequence[DeviceSeries]) -> str:
    """Those that move something, the most first: the sum beside their names is theirs."""
    moved = {series.name: kb for series in devices if (kb := _kb([series])) > 0}
    names = sorted(moved, key=lambda name: -moved[name])
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _host(account: HostAccount) -> Evidence:
    values: Values = {
        "disks": account.disks_write,
        "submitted": account.submitted_write,
        "ratio": account.amplification,
    }
    return cite(account.rows, _HOST, values, weighs="context")


MOST_NAMES = 6

_SUMMARY = (
    "Some of the {count} devices listed are layers of others: the sum is {ratio} times the traffic of the "
    "host. "
)
_ONE_LAYER = "Add up {top_names} alone."
_LAYERS = (
    "Add up only one layer: {top_names} for the requested traffic, {leaf_names} for the traffic of the disks."
)
_SUMS = (
    "all devices together move {all} kB/s, those at the top {tops} kB/s ({top_names}), those at the bottom "
    "{leaves} kB/s ({leaf_names})"
)
_HOST = "the disks write {disks} kB/s where {submitted} kB/s were submitted, {ratio} times: the layout's cost"

RULE = Rule(
    id="stack-double-count",
    role="context",
    title="Sums over all devices count the same bytes several times",
    why="Totals and averages over all lines overstate the load and mix layers that wait for each other.",
    remedy=(
        "Add up one layer: the topmost devices for what was asked, the disks for what they did.",
        "Use iostat -g or filters to keep layers apart; sar -b counts the disks alone.",
    ),
    needs=Needs(one_of=({"disk": ("read_kb_per_s", "write_kb_per_s")},)),
    thresholds={
        "least_ratio": Threshold(1.2, "times", "all devices over the topmost", "judgement: no small volume"),
        "least_kb": Threshold(64, "kB/s", "moved in all", "judgement: less is housekeeping"),
    },
    confirm=("lsblk",),
    references=("https://docs.kernel.org/admin-guide/iostats.html",),
    pictures=("stack",),
    to_clear=ToClear(samples=1, requests=0),
    detect=detect,
)
