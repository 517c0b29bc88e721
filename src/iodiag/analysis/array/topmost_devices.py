"""Who stands on whom among devices with the same verdict: the topmost speaks for those below it."""

from __future__ import annotations

from collections.abc import Iterable

from iodiag.analysis.view.view import View


def topmost(view: View, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The devices among `names` with no other of them above, each with those of them below it."""
    named = list(dict.fromkeys(names))
    above = {name: _ancestors(view, name) & set(named) for name in named}
    tops = [name for name in named if not above[name]]
    return {top: tuple(name for name in named if top in above[name]) for top in tops}


def are_related(view: View, one: str, other: str) -> bool:
    """Whether two devices are the same, or one stands on the other."""
    return one == other or one in _ancestors(view, other) or other in _ancestors(view, one)


def _ancestors(view: View, name: str) -> set[str]:
    found: set[str] = set()
    todo = [name]
    while todo:
        for parent in view.topology.parents(todo.pop()):
            if parent.name not in found and parent.name != name:
                found.add(parent.name)
                todo.append(parent.name)
    return found


def common_top(view: View, names: Iterable[str]) -> list[list[str]]:
    """The names, among those given, that stand below each device with two and more of them below it."""
    below: dict[str, list[str]] = {}
    for name in names:
        for top in _ancestors(view, name):
            below.setdefault(top, []).append(name)
    return [together for together in below.values() if len(together) >= 2]
