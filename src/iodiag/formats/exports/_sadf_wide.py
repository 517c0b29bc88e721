"""Lines of `sadf -dh`: all sections of a sample side by side, some of them once per item.

The header does not say how many items a line has. A line is cut so that every piece has an
item's name where the name belongs and numbers where numbers belong, up to the line's end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from iodiag.formats.exports._sadf_plan import Plan
from iodiag.formats.exports._sadf_tables import number

_INTEGER = re.compile(r"-?\d{1,9}")
_NUMBERED = ("cpu", "interrupt", "tty", "fan", "sensor", "input", "battery", "bus")
_REPEATS = ("bus",)
_STEPS_PER_FIELD = 8


class Piece(NamedTuple):
    """The fields `first` to `last` (left out) of a line: one row of a section."""

    plan: Plan
    first: int
    last: int


class Fields:
    """A line's fields, with the numbers among them."""

    def __init__(self, fields: Sequence[str], decimal_comma: bool) -> None:
        self.words = fields
        self.numbers = [number(field, decimal_comma) for field in fields]

    def is_row(self, plan: Plan, at: int, width: int, previous: int | None) -> bool:
        """Whether a row of the section can stand at this place; `previous` is where the last one began."""
        if at + width > len(self.words):
            return False
        if plan.key is not None and not self._is_item(plan, at, previous):
            return False
        if plan.is_matrix:
            return all(value is not None for value in self.numbers[at + 1 : at + width])
        return all(self.numbers[at + place] is not None for place in plan.values_at)

    def _is_item(self, plan: Plan, at: int, previous: int | None) -> bool:
        key = plan.key or 0
        column = next(name for name, place in plan.words_at.items() if place == key)
        name = self.words[at + key]
        if column not in _NUMBERED:
            return bool(name) and self.numbers[at + key] is None
        if not _INTEGER.fullmatch(name):
            return column in ("cpu", "interrupt") and name.isalnum() and not name.isdigit()
        last = "" if previous is None else self.words[previous + key]
        return column in _REPEATS or not _INTEGER.fullmatch(last) or int(name) > int(last)

    def matrix_width(self, at: int) -> int:
        """How many fields from an item on belong to it: rates have a decimal sign, items have none."""
        end = at + 1
        while end < len(self.words) and re.fullmatch(r"\d+[.,]\d+", self.words[end]):
            end += 1
        return end - at


def cut(plans: Sequence[Plan], fields: Fields, first: int) -> list[Piece] | None:
    """The rows that a line holds from field `first` on, in order; None where it cannot be cut.

    A walk over (section, field) that visits each such state once at most: one more item first,
    else the next section. Lines as sadf writes them need hardly a step back; one that needs many
    is given up.
    """
    size = len(fields.words)
    dead: set[tuple[int, int]] = set()
    path: list[tuple[int, int]] = [(0, first)]
    for _ in range(_STEPS_PER_FIELD * (size + len(plans))):
        if not path:
            return None
        section, at = path[-1]
        if section == len(plans) and at == size:
            return [Piece(plans[n], a, b) for (n, a), (_, b) in pairwise(path) if b > a]
        following = _following(plans, fields, path) if section < len(plans) else []
        step = next((state for state in following if state not in dead), None)
        if step is None:
            dead.add(path.pop())
        else:
            path.append(step)
    return None


def _following(
    plans: Sequence[Plan], fields: Fields, path: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The states that can follow the last one of a path, the likelier first."""
    section, at = path[-1]
    plan = plans[section]
    previous = path[-2][1] if len(path) > 1 and path[-2][0] == section else None
    states = []
    widths = [plan.width]
    if plan.is_matrix and previous is not None:
        widths = [at - previous]
    elif plan.is_matrix:
        widths = list(dict.fromkeys((fields.matrix_width(at), plan.width)))
    for width in widths:
        if fields.is_row(plan, at, width, previous):
            states.append((section, at + width) if plan.key is not None else (section + 1, at + width))
    if plan.key is not None:
        states.append((section + 1, at))
    return states
