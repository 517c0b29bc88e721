"""Which finding explains which: one trouble is reported once, its symptom below its cause."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from iodiag.model.finding import CONFIDENCES, SEVERITIES, Finding
from iodiag.verdict.headline import SYMPTOMS

REPLACES: dict[str, tuple[str, ...]] = {
    "swap-thrash": ("fragmentation-sized-reads", "low-concurrency-bound"),
    "serialized-commit": ("low-concurrency-bound",),
    "fragmentation-sized-reads": ("low-concurrency-bound",),
    "hung-io": ("true-saturation", "approaching-saturation"),
    "latency-above-baseline": ("backend-latency-shift",),
}
"""A finding of the first kind takes the place of the others on the same devices and samples."""

EXPLAINS: dict[str, tuple[str, ...]] = {
    "volume-cap": ("true-saturation", "approaching-saturation"),
    "burst-bucket-empty": (
        "true-saturation",
        "approaching-saturation",
        "volume-cap",
        "backend-latency-shift",
        "latency-above-baseline",
    ),
    "queue-limit": ("true-saturation",),
    "slow-member": ("true-saturation", "approaching-saturation", "latency-above-baseline"),
    "raid-partial-stripe-write": ("true-saturation", "approaching-saturation"),
    "fragmentation-sized-reads": ("iowait-misread",),
    "swap-thrash": ("true-saturation", "approaching-saturation", "latency-above-baseline"),
    "raid-degraded": ("latency-above-baseline",),
    "raid-resync-load": (
        "true-saturation",
        "approaching-saturation",
        "backend-latency-shift",
        "latency-above-baseline",
    ),
    "serialized-commit": ("flush-latency", "iowait-misread"),
    "true-saturation": ("iowait-misread",),
}
"""A finding of the first kind is the cause of the others on the same devices: they are nested below it."""

HARMS_TASKS: tuple[str, ...] = (
    "hung-io",
    "swap-thrash",
    "serialized-commit",
    "throttled-above-device",
    "burst-bucket-empty",
    "volume-cap",
    "slow-member",
    "raid-partial-stripe-write",
    "raid-resync-load",
    "writeback-burst",
    "discard-stall",
    "fragmentation-sized-reads",
    "true-saturation",
)
"""Causes of SYMPTOMS; one of at least `medium` confidence is enough."""

_REAL = SEVERITIES.index("warning")


def order(findings: Iterable[Finding], relatives: dict[str, frozenset[str]]) -> list[Finding]:
    """Findings without those that another replaces, effects marked with their cause.

    `relatives` maps a device to those above and below it, for which a cause counts too. A cause of
    `low` confidence is a guess: it replaces nothing, and explains nothing that is surer than itself.
    No symptom outranks its cause: what the kernel measured of the harm is the cause's severity.
    """
    found = list(findings)
    by_rule = _by_rule(found)
    kept: list[Finding] = []
    gone: list[Finding] = []
    for finding in found:
        winners = _of(by_rule, _REPLACED_BY.get(finding.rule, ()))
        (gone if any(_replaces(other, finding) for other in winners) else kept).append(finding)
    left, lost = _by_rule(kept), _by_rule(gone)
    result = []
    for finding in kept:
        losers = _of(lost, REPLACES.get(finding.rule, ()))
        replaced = [f.rule for f in losers if _replaces(finding, f)]
        likely = HARMS_TASKS if finding.rule in SYMPTOMS else _EXPLAINED_BY.get(finding.rule, ())
        causes = [cause for cause in _of(left, likely) if _explains(cause, finding, relatives)]
        cause = max(causes, key=_weight).rule if causes else None
        supersedes = tuple(dict.fromkeys([*finding.supersedes, *replaced]))
        result.append(replace(finding, supersedes=supersedes, explained_by=cause))
    harmed = {f.host for f in result if f.rule in SYMPTOMS}
    return [_with_harm(finding, result) if finding.host in harmed else finding for finding in result]


def _by_rule(findings: Iterable[Finding]) -> dict[str, list[tuple[int, Finding]]]:
    """Findings by rule, each with its place: most pairs of rules have nothing to do with each other."""
    result: dict[str, list[tuple[int, Finding]]] = {}
    for placed in enumerate(findings):
        result.setdefault(placed[1].rule, []).append(placed)
    return result


def _of(by_rule: Mapping[str, list[tuple[int, Finding]]], rules: Iterable[str]) -> list[Finding]:
    """The findings of some rules, in the order of all."""
    placed = [one for rule in rules for one in by_rule.get(rule, ())]
    return [finding for _, finding in sorted(placed, key=lambda one: one[0])]


def _inverted(table: dict[str, tuple[str, ...]]) -> dict[str, list[str]]:
    """By what each rule is replaced, or explained."""
    result: dict[str, list[str]] = {}
    for winner, losers in table.items():
        for loser in losers:
            result.setdefault(loser, []).append(winner)
    return result


_REPLACED_BY, _EXPLAINED_BY = _inverted(REPLACES), _inverted(EXPLAINS)


def _with_harm(cause: Finding, findings: Iterable[Finding]) -> Finding:
    """A cause as grave as the harm that the kernel measured below it, with the line that says so."""
    if _weight(cause)[0] < _REAL or cause.confidence == "low":
        return cause
    found = [f for f in findings if f.host == cause.host]
    below, effects = {cause.rule}, {cause.rule}
    while effects:
        effects = {f.rule for f in found if f.explained_by in effects} - below
        below |= effects
    harm = [f for f in found if f.rule in SYMPTOMS and f.rule in below - {cause.rule}]
    worst = max(harm, key=_weight, default=cause)
    if _weight(worst)[0] <= _weight(cause)[0]:
        return cause
    told = tuple(replace(item, weighs="context") for item in worst.evidence[:1])
    return replace(cause, severity=worst.severity, evidence=(*cause.evidence, *told))


def _replaces(winner: Finding, loser: Finding) -> bool:
    """Whether a finding of a rule that may replace another's does so."""
    return (
        winner.host == loser.host
        and (not winner.devices or bool(set(winner.devices) & set(loser.devices)))
        and winner.confidence != "low"
    )


def _weight(finding: Finding) -> tuple[int, int]:
    return SEVERITIES.index(finding.severity), CONFIDENCES.index(finding.confidence)


def _explains(cause: Finding, effect: Finding, relatives: dict[str, frozenset[str]]) -> bool:
    """Whether a finding of a rule that may explain another's does so."""
    if cause.host != effect.host:
        return False
    if effect.rule in SYMPTOMS:
        is_sure = cause.confidence != "low" and cause.severity != "info"
        # an inefficiency that nobody pays for does not stop the host's tasks
        is_grave = _weight(cause)[0] >= min(_weight(effect)[0], _REAL)
        return is_sure and is_grave
    near = set(effect.devices).union(*(relatives.get(name, frozenset()) for name in effect.devices))
    shares = not cause.devices or not effect.devices or bool(near & set(cause.devices))
    return shares and (cause.confidence != "low" or effect.confidence == "low")
