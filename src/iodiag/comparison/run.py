"""Before and after a change: both sides analyzed alike, and what differs between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from iodiag.analysis.measure.before_after import AFTER, BEFORE, LEAST_CHANGE_PCT, LEAST_POINTS, SURE_SAMPLES
from iodiag.analysis.measure.bootstrap import DRAWS, LEAST_SAMPLES
from iodiag.analysis.measure.weighted import LEAST_REQUESTS
from iodiag.analysis.view.device_summaries import series_for
from iodiag.analysis.view.view import View
from iodiag.comparison.headline import verdict
from iodiag.comparison.settings import differences
from iodiag.comparison.subjects import subjects
from iodiag.judging.options import Options
from iodiag.judging.run import check_selected, judged, prepared
from iodiag.model.capture import Capture, Source
from iodiag.model.comparison import Comparison, Fate, FindingChange, Subject
from iodiag.model.finding import SEVERITIES, Evidence, Finding, Outcome
from iodiag.model.report import Report, Series
from iodiag.rules.engine import with_quotes

if TYPE_CHECKING:
    pass

LIMITS = {
    "least_change_pct": LEAST_CHANGE_PCT,
    "least_points": LEAST_POINTS,
    "interval_pct": 95.0,
    "draws": float(DRAWS),
    "least_samples": float(LEAST_SAMPLES),
    "sure_samples": float(SURE_SAMPLES),
    "least_requests": float(LEAST_REQUESTS),
}
"""What decided which differences count, as every comparison states it."""


@dataclass(frozen=True)
class _Side:
    """One side: its captures joined, its hosts as rules see them, and its analysis."""

    sources: Mapping[str, Source]
    views: tuple[View, ...]
    report: Report


def compare(before: Iterable[Capture], after: Iterable[Capture], options: Options) -> Report:
    """The comparison that `iodiag.compare` describes."""
    sides = []
    for captures in (before, after):
        joined, views = prepared(captures, options)
        check_selected(joined, views, options)
        sides.append(_Side(joined.sources, tuple(views), judged(joined, views, options)))
    return _compared(*sides)


def _compared(before: _Side, after: _Side) -> Report:
    found: list[Subject] = []
    told: list[str] = []
    stated: list[Evidence] = []
    for one, other in _hosts(before.views, after.views, told):
        compared, uncompared = subjects(one, other)
        found += [_quoted(subject, before.sources, after.sources) for subject in compared]
        told += uncompared
        stated += differences(one, other)
    fates = list(_fates(before.report, after.report, found))
    sentence, confidence = verdict(found, fates, told)
    comparison = Comparison(
        before=_with_series(before, found, BEFORE),
        subjects=tuple(found),
        findings=tuple(fates),
        confidence=confidence,
        verdict=sentence,
        settings=tuple(stated),
        uncompared=tuple(told),
        limits=LIMITS,
    )
    return replace(_with_series(after, found, AFTER), headline=sentence.text, comparison=comparison)


def _hosts(before: Sequence[View], after: Sequence[View], told: list[str]) -> Iterator[tuple[View, View]]:
    """Hosts as pairs: the only one of each side, else those of one name."""
    if len(before) == len(after) == 1:
        one, other = before[0], after[0]
        if one.host and other.host and one.host != other.host:
            told.append(f"two hosts are compared: `{one.host}` before, `{other.host}` after")
        yield one, other
        return
    by_name = {view.host: view for view in after}
    for view in before:
        if view.host in by_name:
            yield view, by_name.pop(view.host)
        else:
            told.append(f"only before: host `{view.host or 'without a name'}`")
    told += [f"only after: host `{name or 'without a name'}`" for name in by_name]


def _quoted(subject: Subject, *sources: Mapping[str, Source]) -> Subject:
    """The subject with the quotes of its evidence filled in, each from its own side."""
    sides = [with_quotes((item,), own)[0] for item, own in zip(subject.evidence, sources, strict=False)]
    reading = with_quotes((subject.reading,), sources[AFTER])[0] if subject.reading else None
    return replace(subject, evidence=tuple(sides), reading=reading)


def _with_series(side: _Side, found: Iterable[Subject], which: int) -> Report:
    """The report with the series of the compared devices, for the charts."""
    series: list[Series] = list(side.report.series)
    known = {(one.host, one.name) for one in series}
    for view in side.views:
        names = [
            (subject.before, subject.after)[which]
            for subject in found
            if subject.kind == "device"
            and not subject.is_part
            and (subject.host_before, subject.host_after)[which] == view.host
        ]
        for one in series_for(view, names):
            if (one.host, one.name) not in known:
                known.add((one.host, one.name))
                series.append(one)
    return replace(side.report, series=tuple(series))


def _fates(before: Report, after: Report, found: Iterable[Subject]) -> Iterator[FindingChange]:
    """What became of each finding: gone first, then new, then what stayed, by harm within."""
    renamed = {(s.host_before, s.before): (s.host_after, s.after) for s in found if s.kind == "device"}
    is_one_host = len({s.host_before for s in found}) <= 1 and len({s.host_after for s in found}) <= 1
    old = _by_rule(before.findings)
    new = _by_rule(after.findings)
    went: list[FindingChange] = []
    came: list[FindingChange] = []
    stayed: list[FindingChange] = []
    for (host, rule), ones in old.items():
        others = new.get((host, rule)) or (
            next((f for (_, name), f in new.items() if name == rule), []) if is_one_host else []
        )
        for one in ones:
            where = {renamed.get((one.host, name), (one.host, name))[1] for name in one.devices}
            match = next((o for o in others if _is_same(where, o)), None)
            if match is None:
                went.append(_fate("went", one, None, after.outcomes))
            elif not any(f.rule == rule and f.devices == match.devices for f in stayed):
                stayed.append(_fate("stayed", one, match, ()))
    for (host, rule), others in new.items():
        kept = [f.devices for f in stayed if f.rule == rule and (is_one_host or f.host == host)]
        came += [_fate("came", None, o, before.outcomes) for o in others if o.devices not in kept]
    for group in (went, came, stayed):
        yield from sorted(group, key=_harm, reverse=True)


def _by_rule(findings: Iterable[Finding]) -> dict[tuple[str | None, str], list[Finding]]:
    groups: dict[tuple[str | None, str], list[Finding]] = {}
    for finding in findings:
        groups.setdefault((finding.host, finding.rule), []).append(finding)
    return groups


def _is_same(devices: set[str], other: Finding) -> bool:
    return bool(devices & set(other.devices)) or not (devices or other.devices)


def _harm(change: FindingChange) -> int:
    return SEVERITIES.index(change.severity_after or change.severity_before or "info")


def _fate(
    fate: Fate, before: Finding | None, after: Finding | None, outcomes: Iterable[Outcome]
) -> FindingChange:
    """A finding's fate, with what its rule said on the side that lacks it."""
    shown = after or before
    assert shown is not None
    others = [outcome for outcome in outcomes if outcome.rule == shown.rule]
    clear = next((outcome for outcome in others if outcome.status == "clear"), None)
    open_ = next((o for o in others if o.status in ("undetermined", "not_applicable", "error")), None)
    said = open_ if open_ and (clear is None or set(open_.devices) & set(shown.devices)) else clear
    missing = f" ({', '.join(said.missing)})" if said and said.missing else ""
    is_judged = (before is not None and after is not None) or (said is not None and said.status == "clear")
    return FindingChange(
        fate=fate,
        rule=shown.rule,
        title=shown.title,
        devices=shown.devices,
        host=shown.host,
        severity_before=before.severity if before else None,
        severity_after=after.severity if after else None,
        confidence_before=before.confidence if before else None,
        confidence_after=after.confidence if after else None,
        is_judged=is_judged,
        reason=f"{said.reason}{missing}" if said else "",
    )
