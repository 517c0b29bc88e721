"""A stacked device beside the disks below it: how much longer its requests take than theirs.

Where no input says what a device stands on, it is held against every physical disk with traffic, or against
those that each carry all of its requests: when all of them answer quickly, the wait is above them. Latencies
are those of the same reports; where a paste shows the layers one after the other, the disks' slowest sample
stands for all. A report without a row of the disks tells nothing of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from iodiag.analysis.array.equal_rates import disks_of, without_parts
from iodiag.analysis.array.side_by_side import (
    Keys,
    at_reports,
    first_row_per_report,
    leaves_out_idle,
    report_keys,
)
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.measure.weighted import or_zero
from iodiag.analysis.states.service_times import events_per_sample, relative_error
from iodiag.analysis.states.states import states
from iodiag.analysis.view.device_names import is_physical
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.units import HALF_DIGIT
from iodiag.table.result_cache import cached
from iodiag.table.table import Floats, Mask, Table

_STACKED = re.compile(r"md_?d?\d+|dm-\d+|bcache\d+|drbd\d+|dev(9|25[2-4])-\d+")
_EQUAL, _NEARLY = 0.05, 0.2
"""How far apart requests and bytes are that are the same, and those of the direction that moves less."""

_FULL_UTIL, _FULL_DEPTH = 0.9, 8.0
"""A disk this busy with this much in flight keeps requests of the layer above waiting for a slot."""

_CALM_UTIL = 0.5
_MOST_OF_A_STATE = 0.8
_LEAST_SHARE = 0.1

MERGES = ("read_merges_per_s", "write_merges_per_s")
"""The requests a second that a device merged into others and does not count by themselves."""


class Bounds(NamedTuple):
    """From where a layer is slow: `ratio` and `added_ms` at equal rates; where requests are split, merged or
    amplified on the way, `calm_ratio` and `calm_ms` over disks that are idle most of the time."""

    ratio: float
    added_ms: float
    calm_ratio: float
    calm_ms: float


@dataclass(frozen=True)
class Layer:
    """A stacked device and its samples (`rows`) in which it took longer than the disks below.

    `below_ms` is what the slowest of the disks took meanwhile. `way` is "read" or "write" where these
    alone take longer: then latencies and requests are theirs. `error` is the relative error of the ratio by
    the requests counted above and below. `is_equal` says that both carry the same requests and bytes,
    `is_merged` that they do once those are counted that the disks merged into others, `is_stated` that an
    input names the disks, `missing` are those of them without samples.
    """

    upper: DeviceSeries
    below: tuple[DeviceSeries, ...] = field(repr=False)
    rows: Table = field(repr=False)
    below_rows: tuple[Table, ...] = field(repr=False)
    latency_ms: float
    below_ms: float
    requests: float
    error: float
    is_equal: bool
    is_stated: bool
    are_together: bool
    missing: tuple[str, ...]
    is_merged: bool = False
    way: str = ""

    @property
    def added_ms(self) -> float:
        """What a request takes longer than the slowest of the disks below."""
        return self.latency_ms - self.below_ms

    @property
    def ratio(self) -> float:
        """How many times as long the layer takes; a printed 0.00 stands for half of its last digit."""
        return self.latency_ms / max(self.below_ms, HALF_DIGIT)

    @property
    def least_ratio(self) -> float:
        """The ratio at the end of its error that says least."""
        return self.ratio * max(1 - self.error, 0.1)


def may_be_stacked(series: DeviceSeries) -> bool:
    """Whether a device stands on others, by an input or by its name."""
    is_disk = series.device is not None and series.device.kind == "disk"
    return series.is_stacked or (_STACKED.fullmatch(series.name) is not None and not is_disk)


def may_be_disk(view: View, series: DeviceSeries) -> bool:
    """Whether its major number, given out at boot, may be that of disks: the first and only one of it."""
    major, _, minor = series.name.partition("-")
    alike = [other for other in view.devices if other.name.startswith(f"{major}-")]
    is_given_out = re.fullmatch(r"dev25[2-4]", major) is not None
    return is_given_out and minor == "0" and len(alike) == 1 and not series.is_stacked


def stacked_devices(view: View) -> list[DeviceSeries]:
    """The devices that stand on others, by an input or by their name, and that the kernel times."""
    return [
        series
        for series in view.devices
        if may_be_stacked(series)
        and not may_be_disk(view, series)
        and bool((np.nan_to_num(series.samples.floats("latency_ms")) > 0).any())
    ]


def has_disks(view: View, layer: DeviceSeries) -> bool:
    """Whether the capture has disks that a layer stands on: known ones, or any that move half as much.

    A layer may merge, compress or read from memory; what moves twice as much as all disks has others below.
    """
    if known := view.topology.below(layer.name):
        return any(view.series(device.name) is not None for device in known)
    disks = disks_of(view)
    moved = sum(or_zero(weighted.mean(one.samples, "kb_per_s")) for one in disks)
    return bool(disks) and not 2 * moved < weighted.mean(layer.samples, "kb_per_s")


@cached
def lacks_disks(view: View) -> bool:
    """Whether some disks below layers are not among those of the capture, which may carry none of the others.

    Volumes of ZFS are read from its cache, and compressed.
    """
    layers = (one for one in view.devices if may_be_stacked(one) and not one.name.startswith("zd"))
    return bool(disks_of(view)) and not all(has_disks(view, layer) for layer in layers)


def compared(view: View, bounds: Bounds) -> Iterator[tuple[DeviceSeries, Layer | str]]:
    """Each stacked device with disks to hold it against: the layer where it is slower than they are.

    Else why that cannot be said, empty where it takes about as long as they do.
    """
    physical = [s for s in view.devices if is_physical(s.name) and (s.samples.floats("ios_per_s") > 0).any()]
    physical = without_parts(physical)
    leaves_idle = leaves_out_idle(view.devices)
    for upper in stacked_devices(view):
        leaves = [leaf for leaf in upper.leaves if leaf.name != upper.name]
        known = tuple(s for leaf in leaves if (s := view.series(leaf.name)) is not None)
        missing = tuple(leaf.name for leaf in leaves if view.series(leaf.name) is None)
        below = known or tuple(physical)
        if not known:
            equal = [s for s in physical if _are_equal(upper, (s,))]
            equal = equal or [s for s in physical if _are_equal(upper, (s,), *MERGES)]
            below = tuple(equal) or below
            if not equal and lacks_disks(view):
                yield upper, "volumes move more than all disks of the capture: others are below them"
                continue
        if below:
            is_stated = bool(known) and not (upper.device is not None and upper.device.is_inferred)
            yield upper, _layer(upper, below, missing, is_stated, bounds, leaves_idle=leaves_idle)


def _carry_equal(upper: DeviceSeries, below: tuple[DeviceSeries, ...], *merges: str) -> bool:
    """Whether disks carry together what the device above them does, or each of them all of it."""
    return _are_equal(upper, below, *merges) or all(_are_equal(upper, (one,), *merges) for one in below)


def _are_equal(upper: DeviceSeries, below: tuple[DeviceSeries, ...], *merges: str) -> bool:
    """Whether the disks carry the requests and bytes of the device above, writes once or twice (mirrors).

    `merges` are columns of requests that the disks merged into others, which are counted as well.
    """
    if not len(upper.loaded):
        return False
    columns = ("ios_per_s", "read_kb_per_s", "write_kb_per_s")
    ios, read, written = (or_zero(weighted.mean(upper.samples, column)) for column in columns)
    # without a count of writes, those of a device that reads nothing are all its requests
    writes = ios if read == 0 else or_zero(weighted.mean(upper.samples, "writes_per_s"))
    totals = [sum(or_zero(weighted.mean(series.samples, column)) for series in below) for column in columns]
    totals[0] += sum(or_zero(weighted.mean(series.samples, column)) for series in below for column in merges)
    expected = ((ios, read, written), (ios + writes, read, 2 * written))
    # other devices on the same disks may add a little of what is moved least
    near = (_EQUAL, _NEARLY, _EQUAL) if read < written else (_EQUAL, _EQUAL, _NEARLY)
    return any(
        all(
            abs(total - own) <= least * own + 2 * HALF_DIGIT
            for total, own, least in zip(totals, one, near, strict=True)
        )
        for one in expected
    )


class _Seen(NamedTuple):
    """Requests of a direction ("": of both) by sample: latency above, of the slowest disk below, how many.

    `is_full` where a disk below is full, `is_slow` where the layer is, of the samples that count.
    """

    way: str
    latency: Floats
    slowest: Floats
    weights: Floats
    is_full: Mask
    is_slow: Mask


def _layer(
    upper: DeviceSeries,
    below: tuple[DeviceSeries, ...],
    missing: tuple[str, ...],
    is_stated: bool,
    bounds: Bounds,
    *,
    leaves_idle: bool,
) -> Layer | str:
    keys = report_keys(upper.samples)
    parts = [first_row_per_report(series) for series in below]
    are_together = any(bool(np.isin(keys, report_keys(part)).any()) for part in parts)
    is_equal = are_together and _carry_equal(upper, below)
    is_merged = are_together and not is_equal and _carry_equal(upper, below, *MERGES)
    # what is merged waits with others, of which each is counted once
    least = bounds._replace(ratio=bounds.calm_ratio) if is_merged else bounds
    # of requests that are split, merged or amplified on the way a direction tells nothing by itself
    ways = ("", "read", "write") if is_equal else ("",)
    is_same = is_equal or is_merged
    beside = _is_shown(keys, parts, leaves_idle) if are_together else None
    seen = [_seen(upper, parts, way, least, beside, is_equal=is_same) for way in ways]
    one = next((one for one in seen if one.is_slow.any()), None)
    if one is None:
        return _why_not(seen[0], bounds, is_equal)
    chosen, own = one.is_slow, one.weights[one.is_slow]
    below_rows = [part[np.isin(report_keys(part), keys[chosen])] if are_together else part for part in parts]
    counts = (float(np.nansum(events_per_sample(part, _rate(one.way)))) for part in below_rows)
    requests = float(own.sum())
    return Layer(
        upper=upper,
        below=below,
        rows=upper.samples[chosen],
        below_rows=tuple(part for part in below_rows if len(part)),
        latency_ms=float((one.latency[chosen] * own).sum() / own.sum()),
        below_ms=float((one.slowest[chosen] * own).sum() / own.sum()),
        requests=requests,
        error=relative_error(requests) + min(relative_error(sum(counts)), 0.5),
        is_equal=is_equal,
        is_stated=is_stated,
        are_together=are_together,
        missing=missing,
        is_merged=is_merged,
        way=one.way,
    )


def _rate(way: str) -> str:
    return f"{way}s_per_s" if way else "ios_per_s"


def _seen(
    upper: DeviceSeries, parts: list[Table], way: str, bounds: Bounds, beside: Mask | None, *, is_equal: bool
) -> _Seen:
    """`beside` are the samples that show the disks, None where the layers were printed apart."""
    samples = upper.samples
    latency = samples.floats(f"{way}_await_ms" if way else "latency_ms")
    slowest, is_full, is_calm = _below(report_keys(samples), parts, beside is not None, way)
    # a sample that completed nothing counts by what is in flight
    weights = events_per_sample(samples, _rate(way)) + (0 if way else np.nan_to_num(samples.floats("depth")))
    weights = np.where(np.nan_to_num(samples.floats(_rate(way))) > 0, np.nan_to_num(weights), 0)
    if beside is not None:
        weights = np.where(beside, weights, 0)
    if way:
        # what no disk below served in a report has no latency there
        rates = [at_reports(report_keys(samples), part, _rate(way)) for part in parts]
        weights = np.where((np.array(rates) > 0).any(axis=0), weights, 0)
    ratio, least = (bounds.ratio, bounds.added_ms) if is_equal else (bounds.calm_ratio, bounds.calm_ms)
    is_slow = (latency >= ratio * slowest) & (latency - slowest >= least) & ~is_full & (weights > 0)
    if not is_equal:
        is_slow &= is_calm
    return _Seen(way, latency, slowest, weights, is_full, _lasting(upper, is_slow, weights))


def _is_shown(keys: Keys, parts: list[Table], leaves_idle: bool) -> Mask:
    """The reports that show all of the disks, or any where the tool leaves out those that are idle."""
    rows = np.array([np.isin(keys, report_keys(part)) for part in parts])
    return np.asarray(rows.any(axis=0) if leaves_idle else rows.all(axis=0))


def _why_not(seen: _Seen, bounds: Bounds, is_equal: bool) -> str:
    """Why a device that is no slow layer may be one all the same; empty where it is not slower at all."""
    served = seen.weights > 0
    if not served.any():
        return "no report shows its requests beside the disks below it"
    own, below = ((data[served] * seen.weights[served]).sum() for data in (seen.latency, seen.slowest))
    if not own >= bounds.ratio * below or own - below < bounds.added_ms * seen.weights[served].sum():
        is_late = served & (seen.slowest > 0) & (seen.latency >= bounds.ratio * seen.slowest)
        is_late &= seen.latency - seen.slowest >= bounds.added_ms
        if not is_late.sum() >= max(_LEAST_SHARE * served.sum(), 1):
            return ""
        text = (
            "slower than the disks below it in {late} of {samples} samples, up to {times:.1f} times as long"
        )
        values: Values = {"late": int(is_late.sum()), "samples": int(served.sum())}
        values |= {"times": float((seen.latency[is_late] / seen.slowest[is_late]).max())}
        return say(text + ", but not for most of its requests", values)
    if seen.is_full[served].any():
        return "slower than the disks below it, but one of them is full: requests wait for a free slot"
    if is_equal:
        return "slower than the disks below it, but not for most requests"
    return "slower than the disks below it, which split or merge its requests: what each waits there is open"


def _below(keys: Keys, parts: list[Table], are_together: bool, way: str) -> tuple[Floats, Mask, Mask]:
    """Per report: the latency of the slowest disk, whether one is full, whether all are calm."""
    slowest = np.zeros(len(keys))
    is_full, is_calm = np.zeros(len(keys), dtype=np.bool_), np.ones(len(keys), dtype=np.bool_)
    for part in parts:
        longest = _longest(part, way)
        util, depth = part.floats("util"), part.floats("depth")
        full = np.asarray((util >= _FULL_UTIL) & ~(depth < _FULL_DEPTH))
        calm = ~(util >= _CALM_UTIL)
        if not are_together:
            slowest = np.maximum(slowest, float(np.nan_to_num(longest).max(initial=0)))
            is_full |= bool(full.any())
            is_calm &= bool(calm.all())
            continue
        own = part.with_columns(longest=longest, full=full.astype(float), calm=calm.astype(float))
        slowest = np.fmax(slowest, at_reports(keys, own, "longest"))
        is_full |= at_reports(keys, own, "full") == 1
        is_calm &= at_reports(keys, own, "calm") != 0
    return slowest, is_full, is_calm


def _longest(part: Table, way: str) -> Floats:
    """The longest mean latency of a disk's requests, of a direction or either, with the flushes of writes."""
    found = part.floats("latency_ms") if not way else np.zeros(len(part))
    for each in (way,) if way else ("read", "write"):
        found = np.fmax(found, part.floats(f"{each}_await_ms"))
    if way == "read":
        return np.nan_to_num(found)
    flushes, writes = part.floats("flushes_per_s"), part.floats("writes_per_s")
    share = np.minimum(np.nan_to_num(flushes) / np.maximum(np.nan_to_num(writes), 1e-9), 1)
    # a write may be preceded by a flush and followed by another
    return np.asarray(np.nan_to_num(found) + 2 * share * np.nan_to_num(part.floats("flush_await_ms")))


def _lasting(upper: DeviceSeries, is_slow: Mask, weights: Floats) -> Mask:
    """The slow samples, if they hold most requests of the device, or of one of its states."""
    if weights[is_slow].sum() >= _MOST_OF_A_STATE * weights.sum() > 0:
        return is_slow
    chosen = np.zeros(len(is_slow), dtype=np.bool_)
    for state in states(upper):
        own = weights[state.places]
        slow = is_slow[state.places]
        if state.share >= _LEAST_SHARE and own[slow].sum() >= _MOST_OF_A_STATE * own.sum() > 0:
            chosen[state.places] = slow
    return chosen
