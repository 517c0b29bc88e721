"""What `clear` may be said of: only what the capture could have shown, had it been so.

`clear` is a claim. A rule states what it needs for that (`Rule.to_clear`), and here it is enforced, device by
device: one sample clears no rule about change, an idle device none about load, a column that is not there
clears nothing. All else is undetermined, with what the capture lacks as the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from iodiag.analysis.load.saturation.not_busy import UNTIMED
from iodiag.analysis.measure.time_per_kb import DIRECTIONS
from iodiag.analysis.states.service_times import events_per_sample
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Rule, ToClear
from iodiag.table.table import Table


def revoke_unproven_clear(outcome: Outcome, rule: Rule, view: View) -> Iterator[Outcome]:
    """An outcome as it is, unless it says clear of what the capture could not have shown.

    Without the size of requests there are no load levels: then that is why a rule on load determines nothing.
    """
    if outcome.status not in ("clear", "undetermined"):
        yield outcome
        return
    if not outcome.devices:
        lack = _host_lacks(rule, view) if outcome.status == "clear" else ""
        yield replace(outcome, status="undetermined", reason=lack) if lack else outcome
        return
    by_lack: dict[str, list[str]] = {}
    for name in outcome.devices:
        series, lack = view.series(name), ""
        if series is not None and outcome.status == "clear":
            lack = _device_lacks(series, rule.to_clear, view)
        elif series is not None and len(series.loaded) and _SIZES in rule.to_clear.columns:
            lack = _missing(series, (_SIZES,))
        by_lack.setdefault(lack, []).append(name)
    for lack, names in by_lack.items():
        if lack:
            yield replace(outcome, status="undetermined", devices=tuple(names), reason=lack)
        else:
            yield replace(outcome, devices=tuple(names))


_SIZES = "kb_per_s"


def _missing(series: DeviceSeries, needed: Sequence[str]) -> str:
    """Which columns a device lacks to be judged; empty where it has them all."""
    missing = [column for column in needed if not _has(series.samples, column)]
    return f"the capture lacks {', '.join(c.split('|')[0] for c in missing)} of it" if missing else ""


def _device_lacks(series: DeviceSeries, needed: ToClear, view: View) -> str:
    """What the samples of a device lack to clear a rule; empty where they have it all."""
    samples = series.samples
    if "disk" in view.average_only:
        return "the capture has only averages; they show neither bursts nor changes"
    if lack := _few(len(series.loaded), len(samples), needed.samples):
        return lack
    if lack := _missing(series, needed.columns):
        return lack
    if needed.columns and series.is_untimed:
        return UNTIMED
    if needed.requests and not samples.has("ios_per_s"):
        return "the capture lacks its requests per second"
    if needed.requests and (one := _one_direction(samples)):
        return f"the capture lacks {one} of it"
    requests = float(np.nansum(events_per_sample(samples)))
    lengths = samples.floats("interval_s")
    if requests < needed.requests:
        least = "at least " * bool(np.isnan(lengths).any())
        return f"too few requests: it completed {least}{requests:.0f}; at least {needed.requests} are needed"
    length = float(np.nanmean(lengths)) if np.isfinite(lengths).any() else 0.0
    if length > needed.longest_s:
        return f"samples of {length:.0f} s average away what lasts for seconds"
    util = samples.floats("util_pct")
    busiest = float(np.nanmax(util)) if np.isfinite(util).any() else 0.0
    if busiest < needed.busy_pct:
        return f"it was at most {busiest:.0f} % busy: a limit shows only on a device that is used"
    return ""


def _has(samples: Table, column: str) -> bool:
    """Whether a column or one of its alternatives has values; of both directions, if both move data."""
    names = column.split("|")
    ways = {way: [name for name in names if name.startswith(f"{way}_")] for way in DIRECTIONS}
    if not all(ways.values()):
        return any(map(samples.has, names))
    if any(samples.has(name) for name in names if not name.startswith(tuple(DIRECTIONS))):
        return True
    return all(any(map(samples.has, own)) or _is_still(samples, way) for way, own in ways.items())


def _one_direction(samples: Table) -> str:
    """The rate that is missing where the requests of one direction alone are counted; else empty."""
    rates = [f"{way}s_per_s" for way in DIRECTIONS]
    shares = [np.isfinite(samples.floats(rate)).mean() for rate in rates]
    return next((rates[n] for n in (0, 1) if shares[n] < 0.5 < shares[1 - n]), "")


def _is_still(samples: Table, way: str) -> bool:
    """Whether a direction is shown to move nothing."""
    moved = samples.floats(f"{way}_kb_per_s")
    return bool(np.isfinite(moved).any()) and not (moved > 0).any()


def _few(loaded: int, samples: int, needed: int) -> str:
    if loaded >= needed:
        return ""
    if samples < needed:
        return f"too few samples: {samples}; at least {needed} are needed"
    if not loaded:
        return "too few requests completed to judge"
    return f"too few samples with load: {loaded} of {samples}; at least {needed} are needed"


def _host_lacks(rule: Rule, view: View) -> str:
    """What the host's tables lack to clear a rule that is not about devices."""
    used = {name for alternative in rule.needs.one_of for name in alternative}
    there = [name for name in used if view.samples(name) is not None]
    if there and all(name in view.average_only for name in there):
        return "the capture has only averages; they show neither bursts nor changes"
    rows = max((_moments(view, name) for name in there), default=0)
    return _few(rows, rows, rule.to_clear.samples)


def _moments(view: View, name: str) -> int:
    """How many moments a table has samples of."""
    samples = view.samples(name)
    if samples is None:
        return 0
    if name == "disk":
        return max((len(part) for part in view.samples_by_device.values()), default=0)
    return len(np.unique(np.asarray(samples["report"])))


def not_ruled_out(
    outcomes: Iterable[Outcome], findings: Iterable[Finding], rules: Mapping[str, Rule]
) -> Iterator[Outcome]:
    """Outcomes in which no cause is cleared of a device whose symptom nothing explains.

    Something is wrong there and no rule knows what: then none of them has seen all that there is to see.
    """
    waiting = {
        name
        for finding in findings
        if finding.role == "symptom" and finding.explained_by is None
        for name in finding.devices
    }
    for outcome in outcomes:
        rule = rules.get(outcome.rule)
        open_for = tuple(name for name in outcome.devices if name in waiting)
        if outcome.status != "clear" or rule is None or rule.role != "cause" or not open_for:
            yield outcome
            continue
        rest = tuple(name for name in outcome.devices if name not in waiting)
        if rest:
            yield replace(outcome, devices=rest)
        reason = f"not seen ({outcome.reason}), but nothing else explains its latency either"
        yield replace(outcome, status="undetermined", devices=open_for, reason=reason)
