"""The lines that a context format is given: made when they are looked at, not before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from iodiag.formats.types import Line


class Window(Sequence[Line]):
    """The lines `first` to `last` (exclusive) of a text; a slice of it is a Window too.

    A format looks at a line or two of most places where it could begin: making thousands of
    lines for each of them would cost more than all the rest of reading.
    """

    def __init__(self, line_at: Callable[[int], Line], first: int, last: int) -> None:
        self._line_at = line_at
        self._indices = range(first, last)

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, at: int) -> Line: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Line]: ...
    def __getitem__(self, at: int | slice) -> Line | Sequence[Line]:
        if isinstance(at, int):
            return self._line_at(self._indices[at])
        indices = self._indices[at]
        if indices.step != 1:
            return [self._line_at(index) for index in indices]
        return Window(self._line_at, indices.start, indices.stop)
