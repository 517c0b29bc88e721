"""How far a long run is: a bar on a terminal, a line a minute elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_EVERY_S = 60.0


class Silent:
    """Says nothing."""

    def begin(self, what: str, total: int) -> None:
        """A part of the run has so many steps."""

    def step(self, count: int) -> None:
        """So many more steps are done."""


class Lines:
    """A line a minute, for logs: what is done of how much, the rate, and the time that is left."""

    def __init__(self) -> None:
        self._what, self._total, self._done = "", 0, 0
        self._start = self._last = time.monotonic()

    def begin(self, what: str, total: int) -> None:
        """A part of the run has so many steps."""
        self._what, self._total, self._done = what, total, 0
        self._start = self._last = time.monotonic()

    def step(self, count: int) -> None:
        """So many more steps are done."""
        self._done += count
        now = time.monotonic()
        if now - self._last >= _EVERY_S:
            self._last = now
            rate = self._done / (now - self._start)
            left = (self._total - self._done) / rate
            line = (
                f"{self._done:,} of {self._total:,} {self._what}, {rate:.1f} per s, {left / 60:.0f} min left"
            )
            print(f"iodiag: {line}", file=sys.stderr, flush=True)


class Bars:
    """A bar with the rate and the time that is left."""

    def __init__(self, shown: Progress) -> None:
        self._shown = shown
        self._start = time.monotonic()
        self._task: TaskID | None = None

    def begin(self, what: str, total: int) -> None:
        """A part of the run has so many steps."""
        self._start = time.monotonic()
        self._task = self._shown.add_task(what, total=total, rate="")

    def step(self, count: int) -> None:
        """So many more steps are done."""
        assert self._task is not None
        self._shown.update(self._task, advance=count)
        done = self._shown.tasks[self._task].completed
        rate = done / max(time.monotonic() - self._start, 1e-3)
        self._shown.update(self._task, rate=f"{rate:.1f} per s")


@contextlib.contextmanager
def progress(is_quiet: bool) -> Iterator[Silent | Lines | Bars]:
    """What shows the progress of a run for the time of a block."""
    if is_quiet:
        yield Silent()
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True)) as shown:
            yield Bars(shown)
