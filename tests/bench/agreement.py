"""Whether what was timed was right: every way to read the same numbers ends in the same sums."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import numpy as np
import pandas as pd

import iodiag
from bench import yardsticks
from bench.groups import Files
from bench.inputs import plain_environment

_COLUMNS = ("reads_per_s", "read_kb_per_s", "writes_per_s", "write_kb_per_s", "queue_depth", "util_pct")
_PRINTED = (0, 1, 6, 7, 20, 21)
"""Where iostat -x of 12.x prints these columns, after the device."""

_MOST_CALLS_VECTORISED, _LEAST_CALLS_BY_LINE = 0.5, 2.0


@dataclass(frozen=True)
class Agreed:
    """A way of reading, its rows, and Python calls per row: what tells vectorised from line by line."""

    way: str
    rows: int
    calls_per_row: float | None
    path: str


def check(files: Files) -> Iterator[Agreed]:
    """Read the small inputs in every way; raises AssertionError where the sums differ."""
    plain, broken = files.small_iostat(), files.wrapped()
    yardstick = yardsticks.naive_pandas(plain)
    sums = yardstick[[1 + place for place in _PRINTED]].sum().to_numpy()
    for way, path in (("iostat text", plain), ("iostat text, every row wrapped", broken)):
        frame, agreed = counted(way, path)
        _assert_same(frame[list(_COLUMNS)].sum().to_numpy(), sums, way)
        yield agreed
    yield Agreed("naive pandas", len(yardstick), None, "–")
    scan = yardsticks.scan_program(files.folder)
    if scan is not None:
        printed = subprocess.run([scan, str(plain)], stdout=subprocess.PIPE, check=True).stdout.split()
        scanned = np.array([float(word) for word in printed])[list(_PRINTED)]
        _assert_same(scanned, sums, "the C scan")
        yield Agreed("C scan", len(yardstick), None, "–")
    yield from _check_binary(files)


def _check_binary(files: Files) -> Iterator[Agreed]:
    """The binary file, and what sar and sadf print of it."""
    frame, agreed = counted("binary sa", files.sa())
    yield agreed
    if not files.has_sysstat:
        return
    for way, path in (("sar -A text", files.sar()), ("sadf -j", files.sadf_json())):
        other, agreed = counted(way, path)
        assert len(other) == len(frame), f"{way}: {len(other)} rows of disks, not {len(frame)}"
        for column in ("ios_per_s", "read_kb_per_s", "write_kb_per_s", "util_pct"):
            printed, own = other[column].sum(), frame[column].sum()
            assert abs(printed - own) < 0.005 * len(frame) + 1e-6 * own, f"{way}: {column} {printed} {own}"
        yield agreed
    yield from _check_sadf(files.sa(), frame)


def _check_sadf(path: Path, frame: pd.DataFrame) -> Iterator[Agreed]:
    done = subprocess.run(
        ["sadf", "-d", str(path), "--", "-d"], stdout=subprocess.PIPE, env=plain_environment(), check=True
    )
    rows = [line.split(b";") for line in done.stdout.splitlines() if not line.startswith(b"#")]
    printed = sum(float(row[4]) for row in rows)
    assert len(rows) == len(frame)
    assert abs(printed - frame["ios_per_s"].sum()) < 0.005 * len(rows)
    yield Agreed("sadf -d", len(rows), None, "–")


def _assert_same(found: np.ndarray, wanted: np.ndarray, way: str) -> None:
    assert np.allclose(found, wanted, rtol=1e-9), f"{way}: sums {found}, not {wanted}"


def counted(way: str, path: Path) -> tuple[pd.DataFrame, Agreed]:
    """The disk table of a file, and how many Python functions were called per row of all its tables."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    iodiag.read(path)  # what is built once per process is no cost of a row
    sys.setprofile(count)
    try:
        capture = iodiag.read(path)
    finally:
        sys.setprofile(None)
    rows = sum(len(frame) for frame in capture.tables.values())
    return capture.disk, Agreed(way, rows, calls / rows, path_of(calls / rows))


def path_of(calls_per_row: float) -> str:
    """The name of a parser's path by what it does per row."""
    if calls_per_row < _MOST_CALLS_VECTORISED:
        return "vectorised"
    return "line by line" if calls_per_row > _LEAST_CALLS_BY_LINE else "mixed"
