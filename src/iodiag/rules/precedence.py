"""Which finding explains which: one trouble is reported once, its symptom below its cause.

What a rule explains and replaces, the rule says itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from iodiag.model.finding import CONFIDENCES, HARMLESS, SEVERITIES, Finding
from iodiag.model.rule import Rule

SYMPTOMS_AND_SATURATION = ("symptom", "true-saturation", "approaching-saturation")
"""What whatever makes requests wait explains: symptoms, and that a device is full or nearly so."""

_REAL = SEVERITIES.index("warning")
_SHORTER = 0.25
"""A finding over less than this share of another's samples is another trouble."""


def order(
    findings: Iterable[Finding], relatives: Mapping[str, frozenset[str]], rules: Iterable[Rule]
) -> list[Finding]:
    """Findings without those that another replaces, effects marked with their cause.

    `relatives` maps a device to those above and below it, for which a cause counts too. A cause of
    `low` confidence is a guess: it replaces nothing, and explains nothing that is surer than itself. What is
    told for information hides nothing that is a cost.
    No effect outranks a cause of it: the harm that was seen of it is the severity of all its causes.
    """
    found = list(findings)
    by_rule = _by_rule(found)
    of_found = [rule for rule in rules if rule.id in by_rule]
    replaced_by = named_by(of_found, lambda rule: rule.replaces)
    explained_by = named_by(of_found, lambda rule: rule.explains)
    by_samples = {rule.id for rule in of_found if rule.explains_samples}
    kept: list[Finding] = []
    replaced: dict[Key, list[Key]] = {}
    for finding in found:
        winners = _of(by_rule, replaced_by.get(finding.rule, ()))
        winners = [winner for winner in winners if _replaces(winner, finding, relatives)]
        for winner in winners:
            replaced.setdefault(_key(winner), []).append(_key(finding))
        kept += [] if winners else [finding]
    left = _by_rule(kept)
    result = []
    below: dict[Key, list[Key]] = {}
    for finding in kept:
        likely = _of(left, explained_by.get(finding.rule, ()))
        likely = [cause for cause in likely if cause.samples or cause.rule not in by_samples]
        causes = [cause for cause in likely if _explains(cause, finding, relatives)]
        cause = max(causes, key=_weight, default=None)
        if cause is not None:
            # what the host suffers from is the likeliest cause's alone
            for each in causes if finding.devices else [cause]:
                below.setdefault(_key(each), []).append(_key(finding))
        gone = _above(replaced, _key(finding)) - {_key(finding)}
        supersedes = tuple(sorted({*finding.supersedes, *(key[0] for key in gone)}))
        explained = cause.rule if cause is not None else None
        result.append(replace(finding, supersedes=supersedes, explained_by=explained))
    by_key: dict[Key, list[tuple[int, Finding]]] = {}
    for place, finding in enumerate(result):
        by_key.setdefault(_key(finding), []).append((place, finding))
    return [_with_harm(finding, by_key, below) for finding in result]


Node = TypeVar("Node")
Key = tuple[str, tuple[str, ...], str | None]


def _key(finding: Finding) -> Key:
    return finding.rule, finding.devices, finding.host


def named_by(rules: Sequence[Rule], names: Callable[[Rule], tuple[str, ...]]) -> dict[str, list[str]]:
    """By the id of each rule, the rules that name it, or its role.

    Rules of several packages may name each other in a circle, in which every rule would be below another:
    the name that closes the circle is ignored, as are unknown names.
    """
    result: dict[str, list[str]] = {rule.id: [] for rule in rules}
    for rule in rules:
        for other in rules if names(rule) else ():
            is_named = other.id in names(rule) or other.role in names(rule)
            if is_named and other.id not in _above(result, rule.id):
                result[other.id].append(rule.id)
    return result


def relations(rule_id: str, rules: Sequence[Rule]) -> dict[str, list[str]]:
    """The ids of the rules that a rule is related to, by "Explains", "Explained by" and so on."""
    result: dict[str, list[str]] = {}
    for active, passive, named in (
        ("Explains", "Explained by", named_by(rules, lambda rule: rule.explains)),
        ("Replaces", "Replaced by", named_by(rules, lambda rule: rule.replaces)),
    ):
        result[active] = [other for other, names in named.items() if rule_id in names]
        result[passive] = named[rule_id]
    return {label: ids for label, ids in result.items() if ids}


def _above(named: Mapping[Node, list[Node]], first: Node) -> set[Node]:
    """The rule or finding itself, those listed for it, those listed for them, and so on."""
    above: set[Node] = set()
    rest = [first]
    while rest:
        at = rest.pop()
        if at not in above:
            above.add(at)
            rest += named.get(at, ())
    return above


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


def _with_harm(
    cause: Finding, findings: Mapping[Key, list[tuple[int, Finding]]], below: Mapping[Key, list[Key]]
) -> Finding:
    """A cause as grave as the worst of its effects, with the line that says so.

    With it stands who waits meanwhile by symptoms that are told for information.
    """
    if _weight(cause)[0] < _REAL or cause.confidence == "low":
        return cause
    reached = _above(below, _key(cause))
    placed = sorted((one for key in reached for one in findings[key]), key=lambda one: one[0])
    harm = [finding for _, finding in placed]
    noted = [finding for finding in harm if finding.role == "symptom" and finding.severity == "info"]
    noted = [finding for finding in noted if _is_meanwhile(cause, finding)]
    beside = (item for finding in noted for item in finding.evidence[:1])
    cause = replace(cause, evidence=(*cause.evidence, *beside))
    worst = max(harm, key=_weight, default=cause)
    if _weight(worst)[0] <= _weight(cause)[0]:
        return cause
    told = tuple(replace(item, weighs="context") for item in worst.evidence[:1])
    return replace(cause, severity=worst.severity, evidence=(*cause.evidence, *told))


def _replaces(winner: Finding, loser: Finding, relatives: Mapping[str, frozenset[str]]) -> bool:
    """Whether a finding of a rule that may replace another's does so: it leaves out no stack of devices.

    Nor does it hide a trouble that holds for far longer than itself.
    """
    if winner.host != loser.host or winner.confidence == "low" or _is_free(winner, loser):
        return False
    # work that stands still is told, and raises its causes
    if loser.severity == "critical" and winner.severity != "critical":
        return False
    is_trouble = loser.severity != "info" and loser.role not in HARMLESS
    if is_trouble and _samples(winner) < _SHORTER * _samples(loser):
        return False
    left = set(loser.devices).difference(winner.devices)
    if len(left) == len(loser.devices):
        return not winner.devices
    return left <= frozenset().union(*(relatives.get(name, frozenset()) for name in winner.devices))


def _samples(finding: Finding) -> int:
    """From the first to the last sample of a finding; one where it states none."""
    return finding.samples[1] - finding.samples[0] + 1 if finding.samples else 1


def _is_free(one: Finding, other: Finding) -> bool:
    """Whether nobody pays for the one and somebody for the other, which then must not be hidden behind it."""
    return one.severity == "info" and other.severity != "info"


def _is_apart(cause: Finding, effect: Finding) -> bool:
    """Whether what one device suffers from was before all that the cause holds for, or after it.

    A request counts in the sample in which it completes: the one that ends a stall is the stall's.
    """
    if cause.devices != effect.devices or not cause.samples or not effect.samples:
        return False
    (first, last), (begin, end) = cause.samples, effect.samples
    return end < first or last + 1 < begin


def _is_meanwhile(cause: Finding, effect: Finding) -> bool:
    """Whether an effect is known to be of the time of its cause: by the clock, else by their samples."""
    if cause.start and cause.end and effect.start and effect.end:
        return effect.start <= cause.end and cause.start <= effect.end
    if cause.samples is None or effect.samples is None:
        return False
    return effect.samples[0] <= cause.samples[1] and cause.samples[0] <= effect.samples[1]


def _weight(finding: Finding) -> tuple[int, int]:
    return SEVERITIES.index(finding.severity), CONFIDENCES.index(finding.confidence)


def _explains(cause: Finding, effect: Finding, relatives: Mapping[str, frozenset[str]]) -> bool:
    """Whether a finding of a rule that may explain another's does so."""
    near = set(effect.devices).union(*(relatives.get(name, frozenset()) for name in effect.devices))
    shares = not cause.devices or not effect.devices or bool(near & set(cause.devices))
    if cause.host != effect.host or not shares or _is_free(cause, effect) or _is_apart(cause, effect):
        return False
    if effect.role == "symptom":
        is_sure = cause.confidence != "low" and cause.severity != "info"
        # an inefficiency that nobody pays for does not stop the host's tasks
        return is_sure and _weight(cause)[0] >= min(_weight(effect)[0], _REAL)
    return cause.confidence != "low" or effect.confidence == "low"
