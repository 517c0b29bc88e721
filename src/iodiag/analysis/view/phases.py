"""What a device did in each phase of a text: before and after a change, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.columns import KB_BY_WAY, LATENCIES, RATES, SIZES
from iodiag.model.report import PhaseSummary
from iodiag.table.table import Floats, Table, by_text

FEWEST, MOST = 2, 6
"""Phases that are compared: of more, words stand above every report, as in a log."""

COLUMNS = (*RATES, "kb_per_s", *KB_BY_WAY, *SIZES, *LATENCIES, "queue_depth", "util_pct")


def phase_summaries(view: View) -> list[PhaseSummary]:
    """The phases of each device that was not idle in all of them, in the order of the text."""
    if "disk" in view.average_only:  # averages since boot are of the same time
        return []
    return [phase for series in view.devices for phase in _phases(view.host, series)]


def latency_changes(series: DeviceSeries) -> Iterator[tuple[str, Values]]:
    """Sentences of phases with the same requests of a direction whose latencies are far apart."""
    for one, other in pairwise(_phases(None, series)):
        for way in ("read", "write") if one.source == other.source else ():
            names = f"{way}s_per_s", f"{way}_kb_per_s", f"{way}_await_ms"
            pairs = [(one.means.get(name, 0.0), other.means.get(name, 0.0)) for name in names]
            if min(map(min, pairs)) <= 0 or min(pairs[0]) < _LEAST_PER_S:
                continue
            rate, moved, wait = (max(pair) / min(pair) for pair in pairs)
            if max(rate, moved) <= _LIKE and wait >= _APART:
                values: Values = {"device": series.name, "before": pairs[2][0], "after": pairs[2][1]}
                values |= {"first": one.phase + 1, "second": other.phase + 1}
                values |= {"rate": pairs[0][0], "then": pairs[0][1]}
                text = "s of {device} take {before:ms} in phase {first} and {after:ms} in phase {second} at "
                yield f"{way.title()}{text}the same rate ({{rate}}/s and {{then}}/s)", values


_LEAST_PER_S, _LIKE, _APART = 10.0, 1.1, 3.0
"""Requests per second whose latency counts; how many times as much is the same; and what is not."""


def _phases(host: str | None, series: DeviceSeries) -> Iterator[PhaseSummary]:
    if "phase" not in series.samples:
        return
    for source, samples in by_text(series.samples, "source"):
        numbers = _named_phase(samples)
        phases = np.unique(numbers[~np.isnan(numbers)])
        if not FEWEST <= len(phases) <= MOST or not _has_traffic(series, source):
            continue
        for phase in phases:
            rows = _without_untrue(samples[numbers == phase])
            seconds = rows.floats("interval_s")
            means = {column: weighted.mean(rows, column) for column in COLUMNS}
            yield PhaseSummary(
                device=series.name,
                host=host,
                source=source,
                phase=int(phase),
                label=str(rows["phase_label"][0] or ""),
                samples=len(rows),
                seconds=None if np.isnan(seconds).any() else round(float(seconds.sum()), 3),
                means={name: float(f"{mean:.6g}") for name, mean in _shown(means).items()},
            )


def _without_untrue(rows: Table) -> Table:
    """Samples with the queue that rates and latencies make where the printed one is not believed.

    Nor is the busy share then, unless the two agree; one that the latency refutes is unknown, too.
    """
    held, printed = rows.floats("depth"), rows.floats("queue_depth")
    is_wrong = np.isfinite(held) & np.isfinite(printed) & (held != printed)
    is_void = (is_wrong & ~np.asarray(rows["is_util_trusted"], dtype=bool)) | np.isfinite(
        rows.floats("doubtful_util_pct")
    )
    util = np.where(is_void, np.nan, rows.floats("util_pct"))
    return rows.with_columns(queue_depth=np.where(is_wrong, held, printed), util_pct=util)


def _named_phase(samples: Table) -> Floats:
    """The phase of each sample; below dots alone, where rows were left out, it is the one above."""
    numbers = samples.floats("phase")
    told = samples["phase_label"]
    # behind the last stands what a row has that lacks a label
    codes, labels = told.codes.astype(np.intp), [*told.categories, ""]
    is_named = np.array([not label or any(map(str.isalnum, label)) for label in labels])[codes]
    order = np.argsort(numbers, kind="stable")
    named = np.maximum.accumulate(np.where(is_named, numbers, numbers.min(initial=0.0))[order])
    result = np.empty_like(numbers)
    result[order] = np.where(np.isnan(numbers[order]), np.nan, named)
    return result


def _shown(means: dict[str, float]) -> dict[str, float]:
    """The known means; a latency of both directions is not that of the one with most requests."""
    known = {name: mean for name, mean in means.items() if math.isfinite(mean)}
    waits = {"read_await_ms", "write_await_ms"}
    if known.get("reads_per_s") and known.get("writes_per_s") and len(waits & set(known)) == 1:
        return {name: mean for name, mean in known.items() if name not in waits}
    return known


def _has_traffic(series: DeviceSeries, source: str) -> bool:
    rows = series.samples[np.asarray(series.samples["source"] == source)]
    return any(bool((rows.floats(column) > 0).any()) for column in ("ios_per_s", "kb_per_s"))
