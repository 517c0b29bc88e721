"""Charts as plain data: what stands in them, in words too; `layout` draws them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from itertools import pairwise

from iodiag.report import wording

LINES_IN_PANEL = 6
POINTS_PER_LINE = 800
POINTS_IN_LADDER = 600
LABEL_LIMIT = 28
# past these a number is a broken counter, and no axis can show it
LARGEST = 1e15
# and below this it is nothing: captures print two digits
LEAST = 1e-9


@dataclass(frozen=True)
class Line:
    """One line of a panel; `colour` counts from 0. NaN breaks the line.

    `typical` is a number for the legend, NaN for none.
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    colour: int
    typical: float = math.nan

    @property
    def legend(self) -> str:
        """The label, and behind it the number."""
        return f"{self.label} {wording.number(self.typical)}" if is_drawable(self.typical) else self.label


@dataclass(frozen=True)
class Panel:
    """Lines that share a y axis, with the axis' title and unit. `top` is the least upper end.

    Where `is_stacked`, each line is drawn as an area on top of the one before.
    """

    title: str
    lines: tuple[Line, ...]
    top: float = 0.0
    is_stacked: bool = False


@dataclass(frozen=True)
class Timeline:
    """Panels over one x axis: epoch seconds in `zone`, or sample numbers where `zone` is None.

    `window` is the stretch that is shaded, `window_words` what that is; `typical_words` say what the number
    behind each name is.
    """

    caption: str
    description: str
    panels: tuple[Panel, ...]
    window: tuple[float, float] | None
    zone: tzinfo | None
    x_label: str
    window_words: str = ""
    typical_words: str = ""


@dataclass(frozen=True)
class Bars:
    """One row of bars per label, in panels side by side that share the rows; `marked` rows stand out."""

    caption: str
    description: str
    labels: tuple[str, ...]
    panels: tuple[BarPanel, ...]
    marked: tuple[int, ...] = ()


@dataclass(frozen=True)
class BarPanel:
    """`groups` are the legend's entries with a value per label of the chart; NaN is no bar."""

    title: str
    groups: tuple[tuple[str, tuple[float, ...]], ...]

    @property
    def top(self) -> float:
        """What a bar over the whole width stands for: the largest value; of shares, all there is."""
        whole = 100.0 if self.title.endswith(", %") else 0.0
        return max([whole, *(v for _, values in self.groups for v in values if math.isfinite(v))])


@dataclass(frozen=True)
class Heatmap:
    """A row of cells for each label over one x axis from `start` to `end`, as Timeline's; NaN is no cell.

    `levels` are the least values of the colours, the palest first; what is below the first has none.
    """

    caption: str
    description: str
    title: str
    unit: str
    labels: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    levels: tuple[float, ...]
    start: float
    end: float
    zone: tzinfo | None
    x_label: str
    marked: tuple[int, ...] = ()


@dataclass(frozen=True)
class RateByDepth:
    """Requests per second against requests in flight; points inside the window are filled.

    `alone_ms` is what a request takes without a queue, `servers` how many are served at once: both bound
    the rate, and the bounds meet at the knee. NaN where the capture does not tell.
    """

    caption: str
    description: str
    inside: tuple[Line, ...]
    outside: tuple[Line, ...]
    alone_ms: float = math.nan
    servers: float = math.nan


@dataclass(frozen=True)
class Intervals:
    """Ratios with their intervals, one below the other; NaN where there is no interval.

    `band` is the range of ratios that count as no change.
    """

    caption: str
    description: str
    labels: tuple[str, ...]
    ratios: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    band: tuple[float, float] | None
    x_label: str


@dataclass(frozen=True)
class Node:
    """A device of a stack: its layer from the top, its place within, and what it is."""

    label: str
    remark: str
    layer: int
    place: float


@dataclass(frozen=True)
class Link:
    """Traffic down to the node number `lower` from `upper` (None: from above); `share` is of the largest."""

    upper: int | None
    lower: int
    load: str
    requests: str
    share: float


@dataclass(frozen=True)
class Stack:
    """Devices by layer, the traffic between them, and for each layer what it moves for the one above."""

    caption: str
    description: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    gaps: tuple[tuple[str, ...], ...]


Picture = Timeline | Bars | Heatmap | RateByDepth | Intervals | Stack


def is_drawable(value: float) -> bool:
    """Whether a number is known and no broken counter."""
    return abs(value) < LARGEST  # false for NaN too


def panel(title: str, lines: Iterable[Line]) -> Panel:
    """A panel of the lines that hold a number; kB/s become MB/s where they are many."""
    drawn = [line for line in lines if any(map(is_drawable, line.y))]
    top = max((value for line in drawn for value in line.y if is_drawable(value)), default=0.0)
    if title.endswith("kB/s") and top >= 10 * 1024:
        drawn = [replace(one, y=tuple(v / 1024 for v in one.y), typical=one.typical / 1024) for one in drawn]
        title = title.replace("kB/s", "MB/s (1 MB = 1,024 kB)")
        top /= 1024
    return Panel(title, tuple(drawn), 100.0 if title.endswith("%") and len(drawn) and top > 50 else 0.0)


def line(
    label: str,
    x: Sequence[float],
    y: Sequence[float],
    colour: int,
    room: int,
    telling: Sequence[float] | None = None,
) -> Line:
    """A line of at most about `room` points, broken where samples are missing.

    The extremes of `telling`, else of `y`, say which samples are kept where there are more.
    """
    count = min(len(x), len(y))
    kept = thinned((y if telling is None else telling)[:count], room)
    steps = sorted(later - earlier for earlier, later in pairwise(x))
    longest = 5 * steps[len(steps) // 2] if steps else math.inf
    xs: list[float] = []
    ys: list[float] = []
    stretch = max(1, count // max(1, len(kept)))
    for at in kept:
        if xs and x[at] - xs[-1] > longest * stretch:
            xs.append(xs[-1])
            ys.append(math.nan)
        xs.append(x[at])
        ys.append(y[at] if is_drawable(y[at]) else math.nan)
    return Line(label, tuple(xs), tuple(ys), colour)


def thinned(values: Sequence[float], room: int) -> list[int]:
    """Indices of at most `room` values: the least and the greatest of each stretch."""
    if len(values) <= room:
        return list(range(len(values)))
    size = math.ceil(2 * len(values) / room)
    kept: list[int] = []
    for start in range(0, len(values), size):
        stretch = [at for at in range(start, min(start + size, len(values))) if is_drawable(values[at])]
        if stretch:
            ends = {min(stretch, key=values.__getitem__), max(stretch, key=values.__getitem__)}
            kept.extend(sorted(ends))
        else:
            kept.append(start)
    return kept


def label_of(name: str) -> str:
    """A name as text of a chart: characters that the chart's font may lack are spelled out."""
    shown = "".join(char if char < "\u0250" else f"‹U+{ord(char):04X}›" for char in name[:LABEL_LIMIT])
    return wording.visible(shown) + ("…" if len(name) > LABEL_LIMIT else "") or "(empty)"
