"""From what was said to figures: per rule, against the usual alerts, per origin, per threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evaluation.alerts import ALERTS
from evaluation.said import Said
from evaluation.scores import Counts
from iodiag.model.finding import Finding
from iodiag.model.rule import Rule, Threshold
from iodiag.rules import all_rules
from iodiag.rules.engine import run

PERTURBED = (0.8, 1.2)
PLATEAU = 0.03
"""A threshold stands on a plateau when ±20 % of it move F1 by less than this."""


@dataclass(frozen=True)
class RuleFigures:
    """One rule over all cases that say whether it should fire.

    A case counts as right only when every route that can show it does, and as wrong when any route
    fires: routes of one experiment are no independent trials. `sure` counts findings of at
    least medium confidence alone. `abstained` is of `asked` routes whose data the rule could use.
    """

    rule: str
    any_confidence: Counts
    sure: Counts
    abstained: int
    asked: int
    wrong_cause: int
    troubled: int


def by_case(said: Iterable[Said]) -> dict[str, list[Said]]:
    cases: dict[str, list[Said]] = {}
    for item in said:
        cases.setdefault(f"{item.case.origin}/{item.case.name}", []).append(item)
    return cases


def rule_figures(said: Sequence[Said]) -> Iterator[RuleFigures]:
    for rule in all_rules():
        asked = [item for item in said if rule not in item.lacking]
        troubled = [item for item in said if item.case.trouble and rule in item.case.excluded]
        yield RuleFigures(
            rule=rule,
            any_confidence=rule_counts(said, rule, "low"),
            sure=rule_counts(said, rule, "medium"),
            abstained=sum(rule in item.undetermined for item in asked),
            asked=len(asked),
            wrong_cause=sum(rule in item.warned() for item in troubled),
            troubled=len(troubled),
        )


def rule_counts(said: Iterable[Said], rule: str, least: str) -> Counts:
    """Counts of one rule, a case being one trial."""
    total = Counts()
    for routes in by_case(said).values():
        case = routes[0].case
        showing = [item for item in routes if rule in case.expected_in(item.route)]
        if showing:
            total += Counts.of(all(rule in item.fired_here(least) for item in showing), True)
        elif rule in case.excluded:
            total += Counts.of(any(rule in item.fired(least) for item in routes), False)
    return total


@dataclass(frozen=True)
class AlarmFigures:
    """One way of telling trouble from none over the cases whose label settles which it is."""

    name: str
    counts: Counts


def alarm_figures(said: Sequence[Said]) -> Iterator[AlarmFigures]:
    """iodiag, every usual alert, any of the alerts, and who always says trouble, for comparison."""
    for name, tells in _tellers().items():
        total = Counts()
        for routes in by_case(said).values():
            trouble = routes[0].case.trouble
            if trouble is not None:
                # a case is told rightly only when it is on every route
                heard = all(map(tells, routes)) if trouble else any(map(tells, routes))
                total += Counts.of(heard, trouble)
        yield AlarmFigures(name, total)


def _tellers() -> dict[str, Callable[[Said], bool]]:
    tellers: dict[str, Callable[[Said], bool]] = {
        "iodiag names a trouble": lambda item: item.names_trouble,
        "iodiag warns of one": lambda item: item.is_warned,
    }
    for name in ALERTS:
        tellers[name] = lambda item, name=name: item.alarms[name]  # type: ignore[misc]
    tellers["any of the four alerts"] = lambda item: any(item.alarms.values())
    tellers["saying so always"] = lambda item: True
    return tellers


def control_figures(controls: Sequence[Said]) -> Iterator[tuple[str, int, Mapping[str, int]]]:
    """Per kind of generated healthy case: how many there are, and on how many each way tells a trouble."""
    for origin in dict.fromkeys(item.case.origin for item in controls):
        part = [item for item in controls if item.case.origin == origin]
        told = {name: sum(map(tells, part)) for name, tells in _tellers().items()}
        yield origin.partition(": ")[2], len(part), told


@dataclass(frozen=True)
class OriginFigures:
    """Cases of one origin by one route: verdicts due and found, forbidden ones and those given anyway."""

    origin: str
    route: str
    captures: int
    due: int
    found: int
    forbidden: int
    given: int
    wrong_cause: int
    troubled: int


def origin_figures(said: Sequence[Said]) -> Iterator[OriginFigures]:
    for origin, route in dict.fromkeys((item.case.origin, item.route) for item in said):
        part = [item for item in said if (item.case.origin, item.route) == (origin, route)]
        due = found = forbidden = given = wrong = troubled = 0
        for item in part:
            expected = item.case.expected_in(route)
            due += len(expected)
            found += len(expected & item.fired_here())
            if not expected and item.case.any_of:
                due += 1
                found += bool(item.case.any_of & item.fired_here())
            forbidden += len(item.case.excluded)
            given += len(item.case.excluded & item.fired())
            if item.case.trouble:
                troubled += 1
                wrong += bool(item.case.excluded & item.warned())
        yield OriginFigures(origin, route, len(part), due, found, forbidden, given, wrong, troubled)


@dataclass(frozen=True)
class Plateau:
    """How F1 of the rules that share a threshold moves with less and more of it.

    `cases` counts the verdicts on cases that change with it.
    """

    name: str
    default: float
    unit: str
    f1: float
    changes: tuple[float, float]
    cases: tuple[int, int]

    @property
    def is_flat(self) -> bool:
        return all(abs(change) < PLATEAU for change in self.changes)


def plateaus(said: Sequence[Said]) -> Iterator[Plateau]:
    """Every threshold of every rule with an expected case. Shared ones move in all rules at once."""
    rules = all_rules()
    labelled = {rule for item in said for rule in item.case.expected_in(item.route)}
    shared: dict[tuple[str, Threshold], list[Rule]] = {}
    for rule in rules.values():
        if rule.id in labelled:
            for name, threshold in rule.thresholds.items():
                shared.setdefault((name, threshold), []).append(rule)
    for (name, threshold), owners in shared.items():
        if threshold.default:
            before = _again(said, owners, {})
            low, high = (
                _again(said, owners, {rule.id: {name: value} for rule in owners})
                for value in perturbed(threshold)
            )
            yield Plateau(
                name=f"{', '.join(rule.id for rule in owners)}: {name}",
                default=threshold.default,
                unit=threshold.unit,
                f1=before.f1,
                changes=(low.f1 - before.f1, high.f1 - before.f1),
                cases=(low.apart(before), high.apart(before)),
            )


def perturbed(threshold: Threshold) -> tuple[float, float]:
    """0.8 and 1.2 times a threshold; of a share that would pass 100 %, half the way to it."""
    low, high = (factor * threshold.default for factor in PERTURBED)
    if threshold.unit == "%" and threshold.default < 100 < high:
        high = (threshold.default + 100) / 2
    return low, high


def _again(said: Sequence[Said], rules: Sequence[Rule], changed: Mapping[str, Mapping[str, float]]) -> Counts:
    """Counts of some rules together, run by themselves with other thresholds."""
    ids = {rule.id for rule in rules}
    again = []
    for item in said:
        if ids & (item.case.expected | item.case.excluded):
            findings: list[Finding] = []
            for view in item.views:
                findings += run(rules, view, changed, item.capture.sources)[0]
            again.append(replace(item, findings=tuple(findings)))
    total = Counts()
    for rule in sorted(ids):
        total += rule_counts(again, rule, "low")
    return total
