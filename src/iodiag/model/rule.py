"""What a rule is: its page, its thresholds with their sources, and its detect function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from iodiag.model.finding import Finding, Outcome, PictureKind, Role

if TYPE_CHECKING:
    from iodiag.analysis.view.view import View


@dataclass(frozen=True)
class Threshold:
    """A number that a rule compares with; `source` says where it comes from, never empty."""

    default: float
    unit: str
    meaning: str
    source: str


class Limits:
    """The effective thresholds of one rule, by attribute: `limits.busy_util`."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = dict(values)
        vars(self).update(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Limits) and self._values == other._values

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __getattr__(self, name: str) -> float:
        raise AttributeError(f"the rule declares no threshold {name!r}")

    def only(self, names: Iterable[str]) -> Limits:
        """Those thresholds alone: equal for all rules that agree on them."""
        return Limits({name: self._values[name] for name in names})

    def as_dict(self) -> dict[str, float]:
        """The values by name."""
        return dict(self._values)


@dataclass(frozen=True)
class Needs:
    """What a rule cannot do without: tables with columns; alternatives are tried in order.

    `one_of` lists alternatives: each maps a table's name to the columns wanted of it. The rule
    is not applicable when no alternative is met. A column may name alternatives: "await_ms|read_await_ms".
    With `or_unsound` disk samples that cannot be true do as well.
    """

    one_of: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    or_unsound: bool = False


@dataclass(frozen=True)
class ToClear:
    """What a capture must hold of a device (or of the host's tables) before a rule may say `clear`.

    `samples` with I/O: one sample clears nothing that changes or recurs. `requests` counted in all of them.
    `busy_pct` in the busiest sample: an idle device shows no limit. `columns` of the disk table that must
    have values; a column may name alternatives: "await_ms|read_await_ms". Samples of more than `longest_s` on
    average show none of what lasts for seconds.
    """

    samples: int = 3
    requests: int = 50
    busy_pct: float = 0.0
    columns: tuple[str, ...] = ()
    longest_s: float = math.inf


Detect = Callable[["View", Limits], Iterator[Finding | Outcome]]


@dataclass(frozen=True)
class Rule:
    """One rule. `detect` yields findings, and outcomes for the devices it abstained on.

    A device or host that `detect` examined and says nothing of is clear: it yields an Outcome
    with status `clear` to name the devices, or nothing at all for "looked, found nothing".
    The docstring of its module is the rule's page (`iodiag.rules.page`).

    `role` is what its findings are (`ROLES`). `explains` names the rules whose findings are effects of this
    one's, on the same devices or those above and below: with `explains_samples` effects of those of its
    findings alone that name samples, as others are facts of another time. `replaces` names those whose
    findings say the same on the same devices and samples, but less exactly. Both name rules of any package
    by their ids, or all rules of a role by the role; unknown names are ignored. `pictures` are the charts
    that explain its findings. `to_clear` is what a capture must hold for an outcome `clear`, which is
    undetermined without.
    """

    id: str
    title: str
    why: str
    remedy: tuple[str, ...]
    needs: Needs
    detect: Detect
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)
    confirm: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    pictures: tuple[PictureKind, ...] = ()
    role: Role = "cause"
    explains: tuple[str, ...] = ()
    explains_samples: bool = False
    replaces: tuple[str, ...] = ()
    to_clear: ToClear = ToClear()

    def limits(self, changed: Mapping[str, float] | None = None) -> Limits:
        """The effective thresholds: the defaults, and what was changed of them."""
        values = {name: threshold.default for name, threshold in self.thresholds.items()}
        return Limits(values | dict(changed or {}))

    def finding(self, **fields: Any) -> Finding:
        """A finding of this rule, with the rule's remedy, commands and references filled in.

        Role and thresholds are filled in where it is run.
        """
        defaults: dict[str, Any] = {
            "rule": self.id,
            "title": self.title,
            "remedy": self.remedy,
            "confirm": self.confirm,
            "references": self.references,
            "pictures": self.pictures,
        }
        return Finding(**(defaults | fields))

    def clear(self, reason: str, *devices: str) -> Outcome:
        """That it is not so, of some devices or, without any, of the host."""
        return Outcome(self.id, "clear", devices, reason)

    def undetermined(self, reason: str, *devices: str, missing: tuple[str, ...] = ()) -> Outcome:
        """That the capture does not tell."""
        return Outcome(self.id, "undetermined", devices, reason, missing)

    def not_applicable(self, reason: str, *devices: str, missing: tuple[str, ...]) -> Outcome:
        """That the capture lacks what the rule is about; `missing` names it."""
        return Outcome(self.id, "not_applicable", devices, reason, missing)
