"""Values of outside facts under their plain names, whatever a reader could not tell being absent."""

from __future__ import annotations

import math

from iodiag.model.capture import Fact


def fact_number(fact: Fact, name: str) -> float:
    """A number of a fact; NaN where it has none of that name."""
    value = dict(fact.values).get(name)
    return float(value) if isinstance(value, (int, float)) else math.nan


def fact_word(fact: Fact, name: str) -> str:
    """A word of a fact; empty where it has none of that name."""
    value = dict(fact.values).get(name)
    return value if isinstance(value, str) else ""
