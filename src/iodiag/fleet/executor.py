"""What a run asks of whoever does its jobs, and of whoever is told how far it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from iodiag.errors import IodiagError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Executor(Protocol):
    """What does jobs: processes of this machine, or a cluster."""

    def each(
        self, function: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[tuple[Item, Result | IodiagError]]:
        """The items with their results, in the order in which they come."""


class Progress(Protocol):
    """Who is told how far a run is."""

    def begin(self, what: str, total: int) -> None:
        """A part of the run has so many steps."""

    def step(self, count: int) -> None:
        """So many more steps are done."""
