"""What is cited beside a saturated device: other disks, copies, the slowest samples."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from iodiag.analysis.array.equal_rates import disks_of
from iodiag.analysis.host.swapping import moves_pages
from iodiag.analysis.load.queueing import Level, page_kb
from iodiag.analysis.load.saturation.judged_levels import JudgedLevel
from iodiag.analysis.load.stalls import stalled, stalls_of, with_stalls
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, in_samples
from iodiag.analysis.measure.time_per_kb import DIRECTIONS
from iodiag.analysis.states.service_times import RANDOM_KB, class_of
from iodiag.analysis.view.device_traits import may_be_volume
from iodiag.analysis.view.view import IDLE_IOS_PER_S, DeviceSeries, View, same_reports
from iodiag.model.finding import Evidence
from iodiag.model.rule import Limits
from iodiag.model.units import KB_PER_MB
from iodiag.table.table import Floats, Mask, Table, stacked

STILL = (
    "{device} completed no request in {still} of {samples} samples, for up to {longest:.0f} s at a time, "
    "{still_util:.0f} % busy"
)


def standstill(series: DeviceSeries, rows: Table) -> Iterator[Evidence]:
    """That it completed nothing in more samples than it was full (`rows`)."""
    still = series.samples[stalled(series.samples)]
    if len(still) > len(rows):
        values: Values = {"device": series.name, "still": len(still), "samples": len(series.samples)}
        values |= {"longest": max((stall.seconds for stall in stalls_of(series)), default=0.0)}
        values |= {"still_util": weighted.mean(still, "util_pct")}
        yield cite(still, STILL, values)


def counts_of(series: DeviceSeries, whole: Table, lead: JudgedLevel, rows: Table) -> Values:
    """How many samples it is saturated in, of how many, and the quickest and the slowest of them in ms."""
    counts: Values = {
        "count": len(whole),
        "samples": len(series.samples),
        "shown": len(with_stalls(series, lead.level.rows)),
    }
    latencies = _latencies_ms(rows, lead.said.direction)
    return counts | {"quickest": float(np.min(latencies)), "slowest": float(np.max(latencies))}


def calmer_disks(view: View, series: DeviceSeries, rows: Table) -> Iterator[Evidence]:
    """That each of the disks like it that are used serves a third of its requests at most, and is calm."""
    rate, like = (
        weighted.mean(rows, "ios_per_s"),
        [s for s in disks_of(view) if class_of(s) == class_of(series)],
    )
    if series.name not in [s.name for s in like]:
        return
    parts = [part for s in like if s is not series and len(part := s.samples[same_reports(s.samples, rows)])]
    others = [part for part in parts if weighted.mean(part, "ios_per_s") >= IDLE_IOS_PER_S]
    if len(others) < LEAST_OTHERS:
        return
    values: Values = {"rate": rate, "others": len(others)}
    values |= {"most": max(weighted.mean(part, "ios_per_s") for part in others)}
    values |= {"most_util": max(weighted.mean(part, "util_pct") for part in others)}
    if HOT * float(values["most"]) <= rate and float(values["most_util"]) < CALM_UTIL:
        text = "it serves {rate:.0f} requests/s, each of {others} other disks on average at most {most:.0f} "
        text += "and {most_util:.0f} % busy: the load is not spread over them"
        yield cite(stacked(others), text, values)


def copied(view: View, series: DeviceSeries, rows: Table) -> Iterator[Evidence]:
    """That other disks read at least what is written here in large requests, and nothing else is written.

    Most of what they read has to be it: the page cache takes what is read ahead, for a while.
    """
    others = [s for s in disks_of(view) if s is not series]
    parts = [(s.name, part) for s in others if len(part := s.samples[same_reports(s.samples, rows)])]
    own, written = (weighted.mean(rows, f"{way}_kb_per_s") for way in DIRECTIONS)
    moved = {
        name: [weighted.or_zero(weighted.mean(part, f"{way}_kb_per_s")) for way in DIRECTIONS]
        for name, part in parts
    }
    sources = [(name, part) for name, part in parts if moved[name][0] >= BESIDE * written > 0]
    is_large = all(
        weighted.ratio(part, f"{way}_kb_per_s", f"{way}s_per_s") >= RANDOM_KB
        for way, part in (("write", rows), *(("read", part) for _, part in sources))
    )
    values: Values = {"written": written, "read": sum(moved[name][0] for name, _ in sources)}
    is_all = max(own, sum(wrote for _, wrote in moved.values())) <= BESIDE * written
    if is_large and is_all and written <= float(values["read"]) < MOSTLY_READ * written:
        values["sources"] = ", ".join(name for name, _ in sources)
        text = "{sources} read {read:kb} meanwhile for {written:kb} written here, as in a copy"
        yield cite(stacked([part for _, part in sources]), text, values, weighs="context")


BESIDE, MOSTLY_READ = 0.1, 2.0
"""Share of what is written that is no part of a copy, and times as much of which most that is read is not."""

LEAST_OTHERS, HOT, CALM_UTIL = 3, 3.0, 50.0
"""How many other disks make it one of a set, times what each of them serves that is not spread, and a busy
share, in %, that leaves room for as much again."""


def single_pages(view: View, rows: Table) -> Iterator[Evidence]:
    """That most of what is moved are writes merged from single pages, as the page cache hands them in.

    A program that writes past it has requests of its own size, which hardly merge. Or that all that moves
    both ways are single pages, a few to a request, as of swap that no table counts.
    """
    kb, merges = (weighted.mean(rows, f"write_{of}_per_s") for of in ("kb", "merges"))
    piece = page_kb(rows)
    if piece > 0 and kb >= _MOSTLY_WRITTEN * weighted.mean(rows, "kb_per_s"):
        text = "its writes are merged from pages of {piece:.1f} kB: memory is written back, or swapped out"
        yield cite(rows, text, {"piece": piece, "merges": merges}, worst="write_merges_per_s")
        return
    size = weighted.ratio(rows, "read_kb_per_s", "reads_per_s")
    if view.samples("swapping") is None and size <= _CLUSTER_KB and moves_pages(rows):
        text = "its reads are merged from single pages, {size:.0f} kB each, and its writes are of pages too: "
        text += "it may be swap, which si and so of vmstat show"
        yield cite(rows, text, {"size": size}, worst="read_merges_per_s")


_CLUSTER_KB = 32.0
"""The eight pages that swap reads at once (vm.page-cluster, proc(5)): files are read ahead by more."""


_MOSTLY_WRITTEN = 0.75
"""Share of the bytes that are written from which a flood of writes is what fills the device."""


def _latencies_ms(rows: Table, direction: str) -> Floats:
    """The mean latency of each sample, of the direction that is told where it is known; 0 where it is not."""
    own = rows.floats({"reads": "read_await_ms", "writes": "write_await_ms"}.get(direction, "latency_ms"))
    return np.nan_to_num(np.where(np.isnan(own), rows.floats("latency_ms"), own))


def is_far_slower(lead: JudgedLevel, counts: Values) -> bool:
    """Whether the slowest sample is told beside the mean."""
    return float(counts["slowest"]) > SLOWER * lead.said.latency_ms


def saturated_samples(whole: Table, rows: Table, lead: JudgedLevel, counts: Values) -> Iterator[Evidence]:
    """How many samples are so, and the slowest one where the level that is told is far quicker."""
    often = in_samples(int(float(counts["samples"])))
    yield cite(whole, f"it is saturated {often}", counts, worst="util_pct", weighs="context")
    if is_far_slower(lead, counts):
        text = "the slowest of these samples takes {slowest:ms}"
        yield cite(rows, text, counts, worst="latency_ms", weighs="context")
    yield from _ceiling(rows)


def starved(rows: Table, lead: JudgedLevel) -> Iterator[Evidence]:
    """The direction that is not told, however few its requests, where these wait far longer."""
    way = {"reads": "write", "writes": "read"}.get(lead.said.direction, "")
    latency = weighted.mean(rows, f"{way}_await_ms") if way else math.nan
    if latency > SLOWER * lead.said.latency_ms:
        rate = weighted.mean(rows, f"{way}s_per_s")
        text, values = f"its {{rate}} {way}s/s take {{latency:ms}}", {"rate": rate, "latency": latency}
        yield cite(rows, text, values, worst=f"{way}_await_ms", weighs="context")


def _ceiling(rows: Table) -> Iterator[Evidence]:
    """That it completes as many requests in each sample, with a deep queue in all of them."""
    rates, depth = rows.floats("ios_per_s"), rows.floats("depth")
    if len(rows) >= _SAMPLES and depth.min() >= _DEEP and np.ptp(rates) <= _FLAT * rates.mean():
        values: Values = {"low": rates.min(), "high": rates.max(), "least": depth.min(), "most": depth.max()}
        text = "it completes {low:.0f} to {high:.0f} requests/s with {least:.0f} to {most:.0f} in flight: "
        yield cite(rows, text + "its rate is at a ceiling", values, worst="queue_depth")


_SAMPLES, _DEEP, _FLAT = 3, 8.0, 0.2
"""Samples and requests in flight from which a rate may be at its ceiling, and its spread that is none."""

SLOWER = 1.5
"""Times the latency of the level that is told from which the slowest sample, or direction, is told, too."""


def more_elsewhere(series: DeviceSeries, level: Level, limits: Limits) -> Values | None:
    """The numbers of another run's sample in which the device, as busy, does more and moves far more, sooner.

    Pages that seek are no measure of what a stream moves.
    """
    rows = series.samples
    kb, rate = rows.floats("kb_per_s"), rows.floats("ios_per_s")
    is_more = (rows.floats("util") >= limits.full_util / 100) & (rate >= limits.as_many * level.rate)
    is_more &= (kb >= limits.far_more * level.rate * level.size_kb) & (rows.floats("latency_ms") > 0)
    is_more &= rows.floats("latency_ms") < level.latency_ms
    is_more &= rows.floats("size_kb") >= limits.larger * level.size_kb
    is_more &= ~(np.isin(rows["stream"], level.rows["stream"]) & _in_phases(rows, level.rows))
    if not is_more.any() or level.size_kb < limits.least_piece:
        return None
    best = rows[is_more][int(np.argmax(kb[is_more])) :][:1]
    numbers = {"kb_per_s": "most_mb", "ios_per_s": "most_rate", "latency_ms": "most_latency"}
    values: Values = {word: float(best.floats(name)[0]) for name, word in numbers.items()}
    return values | {"most_mb": float(best.floats("kb_per_s")[0]) / KB_PER_MB}


def _in_phases(rows: Table, others: Table) -> Mask:
    """Which rows stand below the same words of a text as some others."""
    own, wanted = (np.nan_to_num(of.floats("phase")) for of in (rows, others))
    return np.isin(own, wanted)


def against(view: View, series: DeviceSeries, load: JudgedLevel) -> Iterator[Evidence]:
    """What weighs against it: that what requests take alone is known of the class at most."""
    if load.basis == "class":
        text = (
            "the capture has no sample of {direction} of {size:.0f} kB without a queue: how long such ones "
        )
        text += "take without load is not known"
        if may_be_volume(view, series):
            text += "; it is held against a local NVMe device, and may be a volume of the host's provider"
        values: Values = {"direction": load.said.direction, "size": load.said.size_kb}
        yield cite(load.level.rows, text, values, weighs="against")
    elif load.basis == "measured" and load.lower is None:
        yield cite(
            load.level.rows, "a single load level: that throughput is flat is inferred", weighs="against"
        )
