"""How long single requests took, as tracers and fio measured it: what samples, which are means, cannot tell.

A trace is of its own time, and says nothing of which samples that was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from iodiag.analysis.measure.evidence import cite_fact
from iodiag.analysis.view.view import View
from iodiag.model.capture import Fact
from iodiag.model.finding import Evidence, Finding
from iodiag.model.percentiles import LATENCY_FACTS, sentence
from iodiag.model.report import MeasuredLatency

MOST_LISTED = 100
"""Measurements that a report lists."""

_MOST_CITED = 2
_LATENCY = r"\d ?(?:ms|µs|s)\b"


def measured_latencies(view: View) -> list[MeasuredLatency]:
    """What was measured of each device, in the order of the inputs."""
    return [_summary(view, fact) for fact in _timed(view)][:MOST_LISTED]


def _timed(view: View) -> Iterator[Fact]:
    for fact in view.facts_of(*LATENCY_FACTS):
        if any(fact.number(name) > 0 for name in ("p50_ms", "max_ms", "whole_mean_ms", "device_mean_ms")):
            yield fact


def _summary(view: View, fact: Fact) -> MeasuredLatency:
    def known(*names: str) -> float | None:
        return next((value for name in names if (value := fact.number(name)) >= 0), None)

    requests_of = fact.word("requests_of") or fact.word("direction")
    mean = known("mean_ms", "latency_ms")
    return MeasuredLatency(
        device=_device(view, fact),
        host=view.host,
        kind=fact.kind,
        requests_of=requests_of,
        requests=known("requests"),
        mean_ms=known("whole_mean_ms", "device_mean_ms") if mean is None else mean,
        p50_ms=known("p50_ms"),
        p90_ms=known("p90_ms"),
        p99_ms=known("p99_ms"),
        p999_ms=known("p999_ms"),
        slowest_ms=known("max_ms", "whole_most_ms", "device_most_ms"),
        is_bucket=known("p50_from_ms", "max_from_ms") is not None,
        text=sentence(fact.kind, {**fact.values, "requests_of": requests_of, "mean_ms": mean}),
        source=fact.ref.source,
        line=fact.ref.first,
    )


def _device(view: View, fact: Fact) -> str:
    """The name that samples have for the device of a fact; "" where it names none."""
    stated = fact.word("device")
    series = view.series(stated) if stated else None
    return series.name if series else view.topology.canonical(stated) if stated else ""


def evidence_of(view: View, finding: Finding) -> Iterator[Evidence]:
    """What was measured of the requests of a finding's devices, where the finding speaks of latencies."""
    said = " ".join([finding.summary, *(evidence.text for evidence in finding.evidence)])
    if re.search(_LATENCY, said):
        cited = {(evidence.source, *evidence.lines[:1]) for evidence in finding.evidence}
        own = (
            fact
            for fact in _timed(view)
            if _device(view, fact) in finding.devices and (fact.ref.source, fact.ref.first) not in cited
        )
        for _, fact in zip(range(_MOST_CITED), own, strict=False):
            yield cite_fact(fact, weighs="context")
