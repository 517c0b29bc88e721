"""Disks that share a path (bus, link, controller, volume limit) add up to one value, whoever asks.

What it detects: the kB/s of at least two disks of a host sum up to one value (±3 %, and up to 6 % where
samples count few requests) in 60 % of the samples that at least two of them share, and to more in hardly any,
while one disk's share varies by at least a fifth of it and the requests in flight by a third: more is asked,
and only the shares change. Requests per second tell as much of disks that do not spin, where at least four
are always in flight. Or one disk is seen alone as well: it streams 1.5 times as much then, with as many
requests in flight, always busy both times; one sample of each is enough. Without that, with low confidence:
at least three disks that stream, each 100 % busy with fewer than four requests in flight, at unequal rates
where an array is above them. Then what they share may be full, or each of them: one alone tells.

Why it matters: another disk or a faster one changes nothing; the controller, link or instance limit does.

When it is wrong: a client that spreads one constant load over disks keeps the sum flat, but the requests in
flight as well. Members of a stripe have constant shares. A copy is bound by its slower side. A processor
that is full bounds the sum, too. A disk that streamed from its outer tracks alone and reads its inner ones
in company moves half as much by itself. Disks that are each at their own limit look like disks at a shared
one as long as none is seen alone.

References: Little's law; the limits of instances and links are in the provider's and the adapter's data
sheets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from iodiag.analysis.array.equal_rates import disks_of
from iodiag.analysis.array.shared_path import (
    Ceiling,
    SlowedBySharing,
    ceiling,
    full_streams,
    slowed_by_sharing,
)
from iodiag.analysis.host.cpu import cpu_shares
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import device_fields
from iodiag.analysis.view.device_names import node_of
from iodiag.analysis.view.device_traits import is_spinning
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import KB_PER_MB
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import stacked


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """At most one finding: the disks of a host that share a ceiling."""
    disks = disks_of(view)
    busy = [series for series in disks if len(series.loaded)]
    if len(busy) < 2:
        yield RULE.not_applicable("fewer than two disks with I/O: nothing is shared", missing=("topology",))
        return
    found = _ceiling(busy, limits)
    if isinstance(found, Ceiling):
        yield _finding(found)
        return
    joined = slowed_by_sharing(busy, limits.alone)
    if joined is not None:
        yield _slowed(view, joined, limits)
        return
    arrays = [series for series in view.devices if series.is_stacked and len(series.loaded)]
    streams = full_streams(busy, is_spread=bool(arrays))
    if streams:
        yield _suspicion(streams)
        return
    names = tuple(series.name for series in busy)
    if found:
        yield RULE.undetermined(found, *names)
        return
    yield RULE.clear(
        "neither the sum of the disks' throughput nor of their requests is held at one value", *names
    )


def _ceiling(disks: list[DeviceSeries], limits: Limits) -> Ceiling | str:
    """The sum of kB/s, or of requests per second of disks that do not spin, that is held at one value."""
    shape = limits.within / 100, limits.vary / 100, limits.deeper, limits.flat_samples / 100
    found = ceiling(disks, "kb_per_s", *shape)
    if found or any(is_spinning(series) for series in disks):
        return found
    counted = ceiling(disks, "ios_per_s", *shape)
    # a client that asks at a steady pace has no queue
    return counted if isinstance(counted, str) or counted.depth_low >= limits.queued else ""


def _finding(found: Ceiling) -> Finding:
    is_bytes = found.column == "kb_per_s"
    moved = "move {mb:.1f} MB/s" if is_bytes else "complete {total:.0f} requests/s"
    values: Values = {
        "disks": ", ".join(series.name for series in found.disks),
        "total": found.level,
        "mb": found.level / KB_PER_MB,
        "flat": found.flat,
        "shared": found.shared,
        "widest": found.widest,
        "low": 100 * found.share_low,
        "high": 100 * found.share_high,
        "depth_low": found.depth_low,
        "depth_high": found.depth_high,
        "within": 100 * found.within,
    }
    text = f"they {moved} in sum, ± {{within:.0f}} %, in {{flat}} of {{shared}} samples"
    told = "{depth_low} to {depth_high} requests in flight in sum: more bought nothing"
    return RULE.finding(
        severity="warning",
        confidence="high" if found.flat >= 20 else "medium",
        **device_fields(found.first_rows, *(series.name for series in found.disks)),
        summary=say(
            f"{{disks}} together {moved} in {{flat}} of the {{shared}} samples "
            "that they share, whichever of them asks: a path or limit that they share is full.",
            values,
        ),
        evidence=(
            cite(found.rows, text, values),
            cite(found.rows, "meanwhile {widest} had {low:.0f} to {high:.0f} % of it", values),
            cite(found.rows, told, values),
        ),
        refutes=("one of them alone, with all others idle, that is no faster than in company",),
        cannot_know=("which part is shared: bus, link, controller, or a limit of the instance or group",),
        confirm=_one_alone(found.disks),
    )


def _slowed(view: View, found: SlowedBySharing, limits: Limits) -> Finding:
    alone_kb, each_kb = found.alone_and_shared("kb_per_s")
    alone_ms, each_ms = found.alone_and_shared("latency_ms")
    cpu = cpu_shares(view.cpu_at(found.own))
    is_cpu_full = cpu is not None and cpu.idle + cpu.iowait < limits.least_idle
    values: Values = {
        "device": found.disks[0].name,
        "others": ", ".join(series.name for series in found.disks[1:]),
        "alone": alone_kb / KB_PER_MB,
        "each": each_kb / KB_PER_MB,
        "sum": found.total_kb / KB_PER_MB,
        "alone_ms": alone_ms,
        "each_ms": each_ms,
        "times": alone_kb / each_kb,
        "depth": found.alone_and_shared("depth")[1],
        "count": len(found.own),
    }
    return RULE.finding(
        severity="notice" if is_cpu_full else "warning",
        confidence="low" if is_cpu_full else "medium",
        **device_fields(found.own, *(series.name for series in found.disks)),
        summary=say(
            "{device} streams {alone:.1f} MB/s alone and {each:.1f} MB/s beside {others} ({sum:.0f} MB/s in "
            "sum, in {count} samples), {depth} in flight each time: a path that they share is full.",
            values,
        ),
        evidence=(
            cite(
                stacked([found.alone, found.own]),
                "a request takes {alone_ms} ms alone, {each_ms} ms in company: {times:.1f} times as much is "
                "moved alone",
                values,
            ),
            cite(found.rows, "{sum:.1f} MB/s in sum, each disk always busy", values),
        ),
        refutes=("one of the others alone that is no faster than in company",),
        cannot_know=("which part is shared: bus, link, controller, or a limit of the instance or group",),
        confirm=_one_alone(found.disks[1:]),
    )


def _suspicion(streams: Sequence[DeviceSeries]) -> Finding:
    rows = stacked([series.samples for series in streams])
    rates = [weighted.mean(series.samples, "kb_per_s") / KB_PER_MB for series in streams]
    values: Values = {
        "count": len(streams),
        "sum": float(np.sum(rates)),
        "low": min(rates),
        "high": max(rates),
        "often": "the only sample" if len(streams[0].samples) == 1 else "every sample",
        "depth": weighted.mean(rows, "depth"),
    }
    return RULE.finding(
        severity="notice",
        confidence="low",
        **device_fields(streams[0].samples, *(series.name for series in streams)),
        summary=say(
            "{count} disks stream {low:.1f} to {high:.1f} MB/s each, {sum:.0f} MB/s in sum, all of them "
            "100 % busy in {often}: a path that they share may be full. One disk alone would show it.",
            values,
        ),
        evidence=(
            cite(rows, "{sum:.0f} MB/s in sum, with {depth} requests in flight on each disk", values),
            cite(rows, "no disk was seen alone: each may be at its own limit", values, weighs="against"),
        ),
        refutes=("one disk alone that is no faster",),
        cannot_know=("what one of these disks can do by itself",),
        confirm=_one_alone(streams),
    )


def _one_alone(disks: Sequence[DeviceSeries]) -> tuple[str, ...]:
    name = disks[0].name
    return (
        f"dd if={node_of(name)} of=/dev/null bs=1M count=4096 iflag=direct",
        "lspci -vv | grep -E 'LnkSta|SATA|SAS|RAID'",
        "lsscsi -v",
    )


RULE = Rule(
    id="shared-ceiling",
    explains=(*SYMPTOMS_AND_SATURATION, "volume-cap", "latency-above-baseline"),
    replaces=("burst-bucket-empty",),
    title="Disks share a path that is full",
    why="More disks or faster ones change nothing: what they share is the limit.",
    remedy=(
        "Measure one disk alone; if it is faster by itself, look at what the disks share.",
        "Spread the disks over more controllers, links or ports, or raise the limit of the instance.",
    ),
    needs=Needs(one_of=({"disk": ("read_kb_per_s|write_kb_per_s|kb_per_s", "queue_depth|await_ms")},)),
    thresholds={
        "within": Threshold(3, "%", "distance of a sum from the ceiling", "edges of samples"),
        "vary": Threshold(
            20, "% of the sum", "by which the share of a disk varies", "shares of stripes are constant"
        ),
        "deeper": Threshold(
            1.33, "x", "requests in flight in sum, high over low", "a client keeps its depth"
        ),
        "queued": Threshold(
            4, "requests", "in flight in sum, at the low end, where requests are counted", "as of volume-cap"
        ),
        "alone": Threshold(
            1.5,
            "x",
            "kB/s of a disk alone over that in company",
            "judgement: beyond what its place on disk does",
        ),
        "least_idle": Threshold(
            10,
            "%",
            "idle time and iowait of CPUs that do not bound the sum",
            "judgement: as for cpu-exhausted",
        ),
        "flat_samples": Threshold(60, "%", "of the shared samples at the ceiling", "spells begin in samples"),
    },
    confirm=("lspci -vv", "lsscsi -v"),
    references=("https://docs.kernel.org/block/stat.html",),
    pictures=("peers",),
    to_clear=ToClear(samples=5, requests=50, busy_pct=50, columns=("kb_per_s", "queue_depth")),
    detect=detect,
)
