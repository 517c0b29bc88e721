"""Why a busy level is a false alarm: what shows that the device can do more, and what speaks against it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.load.queueing import ALONE, Level, level_of
from iodiag.analysis.load.saturation.judged_levels import HeadroomReason, JudgedLevel
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.states.service_times import (
    CALM,
    FASTER_THAN_SEEKS,
    SERVICE,
    class_of,
    sane_limit_ms,
    usual_ms,
)
from iodiag.analysis.view.device_traits import has_parity, is_spinning
from iodiag.analysis.view.view import DeviceSeries
from iodiag.model.rule import Limits
from iodiag.model.units import HALF_DIGIT

HOT = 0.5
"""Busy share of a disk from which less than twice as much is left of the array above it: it is not calm."""

SOLID_MOST_MS = 5.0
"""Latency up to which a device without spindles looks unloaded with a few requests in flight: three
times the 1.5 ms of a slow network volume, in round numbers."""

MOST_UTIL = 1.02
"""A share of time, and what two clocks may differ by."""


def by_headroom(series: DeviceSeries, load: JudgedLevel, limits: Limits) -> JudgedLevel:
    """A false alarm if something shows headroom on a parallel device, and nothing speaks against it."""
    headroom = tuple(_headroom_reasons(series, load, limits))
    if not headroom:
        return load._replace(reason=_unknown(load))
    if load.spindles == 1:
        return load._replace(reason="a single disk or card serves one request at a time: busy means busy")
    if not load.parallel:
        reason = (
            "nothing says whether the device serves several requests at once (a volume may stand on one "
            "disk); lsblk -o NAME,ROTA,TYPE, or a second capture under a deeper queue, settles it"
        )
        return load._replace(reason=reason)
    veto = _veto(series, load)
    if veto:
        return load._replace(headroom=headroom, reason=veto)
    return load._replace(
        verdict="false alarm", headroom=headroom, reason=_SLOW_FEW if headroom == ("slow few",) else ""
    )


_SLOW_FEW = "few requests were in flight, and each took longer than usual: what it can do is not shown"


def _headroom_reasons(series: DeviceSeries, load: JudgedLevel, limits: Limits) -> Iterator[HeadroomReason]:
    level = load.level
    is_solid = is_spinning(series) is False or (level.latency_ms < 1 and level.busy_rate > FASTER_THAN_SEEKS)
    higher = load.higher
    # more while busy, and more in all: what the sentence says
    if higher and min(higher.busy_rate / level.busy_rate, higher.rate / level.rate) >= limits.scaling:
        yield "scaled"
    if load.basis == "measured" and load.inflation <= limits.calm_inflation and level.busy_depth > ALONE:
        yield "flat latency"
    latency = _slower_way_ms(level)
    solid_most = SOLID_MOST_MS + level.size_kb / SERVICE["network"].usual_kb_per_ms
    if class_of(series) == "nvme":
        solid_most = usual_ms(series, level.size_kb)
    most = solid_most if is_solid else CALM * SERVICE["spinning"].usual_ms
    if level.busy_depth <= limits.one_at_a_time and latency <= most:
        yield "one at a time"
    elif is_solid and level.busy_depth <= limits.parallel_depth and latency <= solid_most:
        yield "plausible latency"
    elif level.busy_depth <= limits.parallel_depth and level.direction == "reads" and _is_sane(series, level):
        yield "slow few"
    if load.basis == "spindles" and load.spindles is not None and load.spindles >= 2:
        yield "idle spindles"


def _is_sane(series: DeviceSeries, level: Level) -> bool:
    """Whether a device that is known not to spin takes no longer than a healthy one of its class may."""
    return is_spinning(series) is False and level.latency_ms <= float(sane_limit_ms(series, level.size_kb))


def _slower_way_ms(level: Level) -> float:
    """The latency of the slower direction that matters: a mean over both hides slow writes behind reads."""
    found, ios = [level.latency_ms], level.rows.floats("ios_per_s")
    for way in ("read", "write"):
        rate, wait = level.rows.floats(f"{way}s_per_s"), level.rows.floats(f"{way}_await_ms")
        if (rate >= 0).all() and (wait >= 0).all() and rate.sum() >= MATTERS * ios.sum():
            found.append(float((rate * wait).sum() / rate.sum()))
    return max(found)


MATTERS = 0.05
"""Share of the requests from which a direction counts."""


def _veto(series: DeviceSeries, load: JudgedLevel) -> str:
    level = load.level
    if load.higher is not None and "scaled" not in load.headroom:
        more = load.higher.busy_depth >= 1.5 * level.busy_depth
        if more and load.higher.busy_rate < 1.1 * level.busy_rate:
            return "its latency is low, but a deeper queue moved no more: it is at its knee"
    if is_spinning(series) is not True:
        return ""
    if load.hottest is not None and load.hottest.util >= HOT:
        values: Values = {"disk": load.hottest.name, "util": 100 * load.hottest.util}
        return say("of the disks below, {disk} is {util:.0f} % busy: less than twice as much is left", values)
    if has_parity(series) and level.direction != "reads" and not load.below:
        return "parity writes cost several disk operations, and the capture lacks the disks below"
    return ""


def _unknown(load: JudgedLevel) -> str:
    if load.basis == "measured":
        return "its latency is near that of one request alone, but no deeper queue was seen"
    return (
        "the latency without load is not known: no or too few samples have about one request of this kind in "
        "flight; a capture at low load, or lsblk and the disks below, would settle it"
    )


_TICKED = "util exceeds the {depth} in flight: it was counted in ticks"


def level_counted_in_ticks(series: DeviceSeries, limits: Limits) -> JudgedLevel | None:
    """The samples whose util cannot be true, as a level: the device was busy for at most its depth."""
    samples = series.samples
    util, depth = samples.floats("util"), samples.floats("depth")
    # beyond 1 it is the time of an earlier request that the kernel adds at the next one's end
    mask = (util >= limits.busy_util / 100) & (util <= MOST_UTIL)
    mask &= (depth + HALF_DIGIT < limits.busy_util / 100) & (util > 1.1 * (depth + HALF_DIGIT))
    if not mask.any():
        return None
    # a request that outlives its sample is missing from the depth, not from util
    mask &= samples.floats("await_ms") <= 100 * weighted.seconds_or_one(samples)
    mask &= ~samples["is_idle"] & (samples.floats("ios_per_s") > 0)
    # a moment among others that are not so raises no alarm
    if mask.sum() < (2 if len(series.loaded) > 1 else 1):
        return None
    rows = samples[mask]
    columns = {
        "busy": np.maximum(rows.floats("depth"), HALF_DIGIT),
        "at_once": np.ones(len(rows)),
        "cost_ms": rows.floats("latency_ms"),
        "kind": np.full(len(rows), 5.0),
        "span": weighted.lengths(rows),
    }
    return JudgedLevel(
        level_of(rows.with_columns(**columns)), "false alarm", headroom=("ticks",), parallel=_TICKED
    )
