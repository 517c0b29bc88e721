"""A small fleet, what an undisturbed run makes of it, and ways to run `iodiag fleet`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import iodiag
from iodiag.fleet.plan import Options
from iodiag.fleet.run import Outcome, run
from writers.fleet_writer import Planted, write_fleet


class Here:
    """The jobs in this process, one after the other."""

    def each(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        for item in items:
            yield item, function(item)


class Count:
    """Progress that counts the steps of each part."""

    def __init__(self) -> None:
        self.parts: dict[str, int] = {}

    def begin(self, what: str, total: int) -> None:
        self._what = what
        self.parts[what] = 0

    def step(self, count: int) -> None:
        self.parts[self._what] += count


@dataclass(frozen=True)
class Fleet:
    """A generated fleet with its plan, and the data set of an undisturbed run."""

    inputs: Path
    planted: list[Planted]
    out: Path


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    folder = tmp_path_factory.mktemp("fleet")
    planted = write_fleet(folder / "in", 5, 1)
    run_here(folder / "in", folder / "out")
    return Fleet(folder / "in", planted, folder / "out")


def run_here(inputs: Path | list[str], out: Path, options: Options | None = None, **more: Any) -> Outcome:
    """A run in this process."""
    places = inputs if isinstance(inputs, list) else [str(inputs)]
    return run(places, str(out), options or Options(), Here(), Count(), **more)


def start(*arguments: object, **more: Any) -> subprocess.Popen[str]:
    """`iodiag fleet` as a process of its own."""
    command = [sys.executable, "-m", "iodiag", "fleet", *map(str, arguments)]
    more.setdefault("env", environment())
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **more)


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its exit status and what it said."""
    _, said = process.communicate(timeout=300)
    return process.returncode, said


def environment() -> dict[str, str]:
    """What finds this iodiag in every process."""
    return {**os.environ, "PYTHONPATH": str(Path(iodiag.__file__).parents[1])}


def everything(out: Path) -> dict[str, bytes]:
    """All files of a data set."""
    return {
        str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()
    }


def assert_same(out: Path, expected: Path) -> None:
    """The same files with the same bytes."""
    found, wanted = everything(out), everything(expected)
    assert sorted(found) == sorted(wanted)
    assert [name for name in wanted if found[name] != wanted[name]] == []
