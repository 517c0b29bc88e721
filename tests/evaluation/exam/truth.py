"""What is true of a simulated host, and what may be said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from evaluation.exam.scene import Scene

Sort = Literal["trouble", "pace", "elsewhere", "healthy", "unknowable"]
"""Trouble of storage; one caller sets the pace, or no more than a remark is due; trouble elsewhere; none;
nobody could tell."""


@dataclass(frozen=True)
class Truth:
    """The mechanism at work, as the simulation has it.

    `names` are the rules that name it; a report has recall with one of them. `also` are rules that
    are true as well, and count neither way. `present` are rules whose trouble is there for certain, so that
    none of them may be clear on `devices`; an empty `devices` stands for the host. With `open_up_to` samples
    and fewer an expert leaves the cause open, too, but names the device that waits. No rule that is `absent`,
    of whatever role, may speak of the host.
    """

    sort: Sort
    names: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    present: frozenset[str] = frozenset()
    devices: frozenset[str] = frozenset()
    open_up_to: int = 0
    absent: frozenset[str] = frozenset()


Mechanism = Callable[[Scene], Truth]

SYMPTOMS = frozenset(
    {"blocked-tasks", "psi-io-pressure", "extreme-latency", "approaching-saturation", "queue-limit"}
)
"""What is true of whatever is full: that it is, and that tasks wait."""


def trouble(names: str, devices: str, *, also: str = "", present: str | None = None) -> Truth:
    """A trouble of storage; lists are words with blanks between. What names it is present by default."""
    told = frozenset(names.split())
    certain = told if present is None else frozenset(present.split())
    return Truth("trouble", told, frozenset(also.split()) | SYMPTOMS, certain, frozenset(devices.split()))
