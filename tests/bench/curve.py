"""Time against size: the same kind of input at many sizes, and what each step of size costs in time."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import iodiag
from bench import inputs
from bench.timing import Measure, call

_PARTS = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
_MOST_DEVICES, _MOST_HOSTS = 24_000, 2_000
_NOISE = 1.1
"""Time that grows by this factor beyond size is not told from the machine's noise."""


@dataclass(frozen=True)
class Point:
    """One input: what it is made of and how much of that, its bytes, and its median processor time."""

    kind: str
    amount: str
    size: int
    read_s: float
    analyze_s: float


def points(folder: Path, size_mb: float, turns: int) -> Iterator[Point]:
    """The curves up to so many MB: 24 devices for longer and longer, more devices, more hosts."""
    iodiag.analyze(inputs.IOSTAT).to_markdown()  # what is imported or compiled once is no part of the curve
    sizes = dict.fromkeys(max(1000, int(part * size_mb * inputs.MB)) for part in _PARTS)
    for size in sizes:
        make = partial(inputs.iostat_text, size=size)
        yield _point("24 devices", f"{size / 1000:,.0f} kB", make, folder, turns)
    for kind, most, writer in (
        ("devices", _MOST_DEVICES, inputs.many_devices),
        ("hosts", _MOST_HOSTS, inputs.many_hosts),
    ):
        counts = dict.fromkeys(max(1, int(part * most * min(1.0, size_mb / 100))) for part in _PARTS[4:])
        for count in counts:
            yield _point(kind, f"{count:,}", partial(writer, count=count), folder, turns)


def _point(kind: str, amount: str, make: Callable[[Path], object], folder: Path, turns: int) -> Point:
    path = folder / "curve.txt"
    make(path)
    read = _median(call(lambda: iodiag.read(path)), turns)
    # what rules looked up is kept with a capture: a fresh one each time
    both = _median(call(lambda: iodiag.analyze(iodiag.read(path)).to_markdown()), turns)
    return Point(kind, amount, path.stat().st_size, read, max(both - read, 0.0))


def _median(measure: Measure, turns: int) -> float:
    return statistics.median(measure().cpu_s for _ in range(turns))


def table(found: Iterable[Point]) -> str:
    """The points with their time per size, and how many times as fast as size the time has grown."""
    lines = [
        "| Input | of | MB | Read: processor s | s/MB | growth | Analyze: processor s | s/MB | growth |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    above: Point | None = None
    for point in found:
        mb = point.size / inputs.MB
        above = above if above and above.kind == point.kind else None
        cells = [point.kind, point.amount, f"{mb:.3g}"]
        for seconds, before in (
            (point.read_s, above and above.read_s),
            (point.analyze_s, above and above.analyze_s),
        ):
            grown = seconds / before / (point.size / above.size) if above and before else None
            cells += [f"{seconds:.3g}", f"{seconds / mb:.3g}", _shown(grown)]
        lines.append(f"| {' | '.join(cells)} |")
        above = point
    return "\n".join(lines) + "\n"


def _shown(grown: float | None) -> str:
    if grown is None:
        return ""
    return f"**{grown:.2f}**" if grown > _NOISE else f"{grown:.2f}"
