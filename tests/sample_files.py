"""The samples of the project, each read and judged once for all tests of a process."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import iodiag
from iodiag.model.capture import Capture
from iodiag.model.report import Report

SAMPLES = Path(__file__).parents[1] / "samples"
FILES = sorted(path for path in SAMPLES.rglob("*") if path.is_file() and path.suffix != ".toml")
TEXTS = [path for path in FILES if path.suffix == ".txt"]
CASES = sorted(path.parent for path in SAMPLES.rglob("case.toml"))


def name_of(path: Path) -> str:
    return str(path.relative_to(SAMPLES))


@cache
def sidecar(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.with_suffix(".toml").read_text(encoding="utf-8"))


@cache
def read(path: Path) -> Capture:
    return iodiag.read(path)


@cache
def analyzed(path: Path) -> Report:
    return iodiag.analyze(read(path))


def first_of_each_format(paths: Iterable[Path]) -> list[Any]:
    """Samples as parameters: of each format the first is in the default run, the others are slow."""
    formats: set[str] = set()
    parameters = []
    for path in paths:
        form = sidecar(path)["expect"]["format"]
        marks = pytest.mark.slow if form in formats else ()
        formats.add(form)
        parameters.append(pytest.param(path, id=name_of(path), marks=marks))
    return parameters
