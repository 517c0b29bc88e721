"""Rules: one public module or folder each (its name is the rule's id), then the entry points `iodiag.rules`.

Each lies in the room of its role and holds one RULE; its docstring is the rule's page.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from types import ModuleType

from iodiag.errors import RuleError
from iodiag.model.finding import Role
from iodiag.model.rule import Rule

ROOMS: dict[str, Role] = {
    "causes": "cause",
    "context": "context",
    "elsewhere": "elsewhere",
    "readings": "reading",
    "symptoms": "symptom",
}
"""The packages whose public modules are rules, and the role of those."""


@cache
def all_rules() -> dict[str, Rule]:
    """Every rule by its id: those of this package, then those that other packages offer.

    Raises RuleError when an offered rule cannot be loaded or takes an id that is in use.
    """
    rules: dict[str, Rule] = {}
    for module in _modules():
        rules[module.RULE.id] = module.RULE
    for point in entry_points(group="iodiag.rules"):
        try:
            rule = point.load()
        except (ImportError, AttributeError) as error:
            raise RuleError(
                f"{point.value}: the rule {point.name} cannot be loaded ({error}); fix or remove it"
            ) from None
        if not isinstance(rule, Rule) or rule.id in rules:
            raise RuleError(f"{point.value}: is no Rule, or its id is in use; fix or remove its package")
        rules[rule.id] = rule
    return rules


@cache
def of_role(*roles: Role) -> frozenset[str]:
    """The ids of all rules that have one of these roles."""
    return frozenset(rule.id for rule in all_rules().values() if rule.role in roles)


@cache
def page(rule_id: str) -> str:
    """The docstring of a rule's module: what it detects, why it matters, when it is wrong."""
    rule = all_rules()[rule_id]
    return (import_module(rule.detect.__module__).__doc__ or "").strip()


def _modules() -> list[ModuleType]:
    found = [
        (module.name, f"{__name__}.{room}.{module.name}")
        for room in ROOMS
        for module in iter_modules(import_module(f"{__name__}.{room}").__path__)
        if not module.name.startswith("_")
    ]
    return [import_module(path) for _, path in sorted(found)]
