"""Settings that both sides state, and state differently: most likely the change itself."""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.analysis.view.view import View
from iodiag.model.capture import Fact
from iodiag.model.finding import Evidence

_SETTINGS = ("mysql-variables", "pg-settings")
_ASIDE = frozenset({"is_prose"})

Key = tuple[str, str]


def differences(before: View, after: View) -> Iterator[Evidence]:
    """One sentence per setting and mount that differs, resting on where each side states it."""
    sides = _stated(before), _stated(after)
    for key in sides[0]:
        if key not in sides[1]:
            continue
        (old, _), (new, fact) = sides[0][key], sides[1][key]
        if old != new:
            yield Evidence(
                text=f"`{key[1]}`: {_shown(old)} before, {_shown(new)} after",
                values={"before": old, "after": new},
                source=fact.ref.source,
                lines=tuple(range(fact.ref.first, min(fact.ref.last, fact.ref.first + 1000) + 1)),
                rows=fact.ref.last - fact.ref.first + 1,
            )


def _stated(view: View) -> dict[Key, tuple[float | str, Fact]]:
    """Each setting with its value and where it is stated; the last statement counts."""
    found: dict[Key, tuple[float | str, Fact]] = {}
    for fact in view.facts_of(*_SETTINGS):
        found |= {
            (fact.kind, name): (value, fact) for name, value in fact.values.items() if name not in _ASIDE
        }
    for fact in view.facts_of("mounts"):
        place = fact.word("mountpoint")
        if place:
            found["mounts", place] = f"{fact.word('filesystem')} ({fact.word('options')})", fact
    return found


def _shown(value: float | str) -> str:
    return f"`{value}`" if isinstance(value, str) else f"{value:g}"
