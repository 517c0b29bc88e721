"""What charts are made of: scales, frames, axes with ticks, titles and legends, as shapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise
from typing import Literal, NamedTuple

from iodiag.report import wording
from iodiag.report.charts.fonts import text_width
from iodiag.report.charts.shapes import GRID, INK, MUTED, WIDTH, Dash, Dots, Shape, Stroke, Words, bar

TITLE, LEGEND, TICK = 9.0, 8.5, 8.0
"""Sizes of letters."""

TITLE_ROOM = 21.6
"""From the top of the sheet, or the last row of its legend, to the frame of the first panel."""

LEGEND_ROW = 13.0
LEFT, RIGHT = 43.2, 10.1
"""Margins; that on the left is wider where numbers need it."""

X_AXIS_ROOM = 34.6
_TICK_LENGTH, _TICK_GAP, _FRAME_WIDTH = 3.0, 3.5, 0.8
# half the height of a digit: a number this far below a point is level with it
_HALF_DIGIT = 0.365
_SAMPLE, _SAMPLE_GAP, _ENTRY_GAP = 20.4, 6.0, 12.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Scale:
    """Numbers from `low` to `high` onto points from `start` to `end`, in proportion or logarithmically."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """Where a number is; NaN for what is outside, beyond what rounding explains."""
        low, high = self.low, self.high
        if self.is_log:
            if not value > 0:
                return math.nan
            low, high, value = math.log(low), math.log(high), math.log(value)
        share = (value - low) / (high - low)
        return self.start + (self.end - self.start) * share if -1e-6 <= share <= 1 + 1e-6 else math.nan

    def within(self, values: Iterable[float]) -> list[float]:
        """Those of the numbers that are on the scale."""
        return [value for value in values if not math.isnan(self(value))]


class Frame(NamedTuple):
    """The place of a panel's data, in points of the sheet."""

    left: float
    top: float
    right: float
    bottom: float

    def x(self, low: float, high: float, is_log: bool = False) -> Scale:
        """A scale from the left to the right."""
        return Scale(low, high, self.left, self.right, is_log)

    def y(self, low: float, high: float, is_log: bool = False) -> Scale:
        """A scale from the bottom to the top."""
        return Scale(low, high, self.bottom, self.top, is_log)


# multiples of the powers of 10 to try in turn, and how many powers at most (else every other, and so on)
_LOG_STEPS: tuple[tuple[tuple[float, ...], int], ...] = (
    ((1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0), 400),
    ((1.0, 2.0, 5.0), 400),
    ((1.0,), 400),
    ((1.0,), 9),
    ((1.0,), 5),
)

Ticks = list[tuple[float, str]]
"""Numbers of a scale and what is written at each."""


def value_ticks(high: float, about: int = 4) -> Ticks:
    """Round numbers from 0 to `high`, at least three."""
    from matplotlib.ticker import MaxNLocator

    found = MaxNLocator(about, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3).tick_values(0, high)
    return [(float(at), wording.number(float(at))) for at in found if 0 <= at <= high * (1 + 1e-9)]


def sample_ticks(scale: Scale) -> Ticks:
    """Whole numbers above 0, as many as have room."""
    from matplotlib.ticker import MaxNLocator

    widest = text_width(wording.count(round(scale.high)), TICK) + 2 * TICK
    room = int(abs(scale.end - scale.start) // widest)
    found = scale.within(MaxNLocator(max(1, min(10, room)), integer=True).tick_values(scale.low, scale.high))
    return [(float(at), wording.count(round(at))) for at in found if at > 0]


def log_ticks(scale: Scale, word: Callable[[float], str] = wording.number, *, is_upright: bool) -> Ticks:
    """Round numbers, the finer the more of their labels fit beside or, upright, above each other."""
    from matplotlib.ticker import LogLocator

    found: Ticks = []
    for subs, most in _LOG_STEPS:
        locator = LogLocator(subs=subs, numticks=most)
        at = scale.within(map(float, locator.tick_values(scale.low, scale.high)))
        found = [(value, word(value)) for value in at]
        rooms = [0.0 if is_upright else text_width(label, TICK) for _, label in found]
        places = zip(map(scale, at), rooms, strict=True)
        if all(abs(b - a) >= (room + other) / 2 + 1.4 * TICK for (a, room), (b, other) in pairwise(places)):
            break
    return found


def time_ticks(scale: Scale, zone: tzinfo) -> tuple[Ticks, str]:
    """Round times of a scale in epoch seconds, and the date that their labels leave out."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    # with more, it finds no step between three and a half and five hours, days, …, and warns
    locator = AutoDateLocator(tz=zone, minticks=3, maxticks=8)  # type: ignore[no-untyped-call]
    formatter = ConciseDateFormatter(  # type: ignore[no-untyped-call]
        locator,
        tz=zone,
        formats=["%Y", "%Y-%m", "%m-%d", "%H:%M", "%H:%M", "%H:%M:%S"],
        zero_formats=["", "%Y", "%Y-%m", "%m-%d", "%H:%M", "%H:%M:%S"],
        offset_formats=["", "%Y", "%Y-%m", "%Y-%m-%d", "%Y-%m-%d", "%Y-%m-%d"],
    )
    first, last = ((_EPOCH + timedelta(seconds=at)).astimezone(zone) for at in (scale.low, scale.high))
    # days since 1970
    found = locator.tick_values(first, last)  # type: ignore[no-untyped-call]
    labels = formatter.format_ticks(found)  # type: ignore[no-untyped-call]
    ticks = [(float(at) * 86400, label) for at, label in zip(found, labels, strict=True)]
    # labels are of whole seconds
    ticks = [(at, label) for at, label in ticks if abs(at - round(at)) < 0.001]
    offset: str = formatter.get_offset()  # type: ignore[no-untyped-call]
    return [(at, label) for at, label in ticks if not math.isnan(scale(at))], offset


def left_margin(columns: Iterable[Ticks]) -> float:
    """Room for the numbers of all panels, the same for each."""
    widest = max((text_width(label, TICK) for ticks in columns for _, label in ticks), default=0.0)
    return max(LEFT, widest + _TICK_GAP + 4)


def title(frame: Frame, text: str, above: float = 0.0) -> Words:
    """What the y axis shows, with its unit, above the frame and what else stands there."""
    return Words(frame.left, frame.top - 4 - above, text, TITLE, INK)


def y_axis(frame: Frame, scale: Scale, ticks: Ticks) -> list[Shape]:
    """Horizontal grid lines with their numbers."""
    shapes: list[Shape] = [grid(frame, [scale(at) for at, _ in ticks])]
    for at, label in ticks:
        shapes.append(
            Words(frame.left - _TICK_GAP, scale(at) + _HALF_DIGIT * TICK, label, TICK, anchor="end")
        )
    return shapes


def grid(frame: Frame, levels: Sequence[float]) -> Stroke:
    """Horizontal lines from the left to the right."""
    x = [place for _ in levels for place in (frame.left, frame.right, math.nan)]
    y = [place for level in levels for place in (level, level, math.nan)]
    return Stroke(x, y, GRID, _FRAME_WIDTH)


def base(frame: Frame, scale: Scale, ticks: Ticks) -> Stroke:
    """The lower edge of a frame with a mark for each tick of the x axis."""
    x, y = [frame.left, frame.right, math.nan], [frame.bottom, frame.bottom, math.nan]
    for at, _ in ticks:
        place = scale(at)
        x += [place, place, math.nan]
        y += [frame.bottom, frame.bottom + _TICK_LENGTH, math.nan]
    return Stroke(x, y, MUTED, _FRAME_WIDTH)


def x_labels(frame: Frame, scale: Scale, ticks: Ticks, text: str = "", offset: str = "") -> list[Shape]:
    """The numbers below the lower edge, and below those what they count, with `offset` at its end."""
    baseline = frame.bottom + _TICK_LENGTH + _TICK_GAP + 2 * _HALF_DIGIT * TICK
    shapes: list[Shape] = []
    for at, label in ticks:
        # a label at the very end moves inwards
        half = text_width(label, TICK) / 2 + 1
        place = min(max(scale(at), half), WIDTH - half)
        shapes.append(Words(place, baseline, label, TICK, anchor="middle"))
    below = baseline + 13
    if text:
        shapes.append(Words((frame.left + frame.right) / 2, below, text, LEGEND, anchor="middle"))
    if offset:
        shapes.append(Words(frame.right, below, offset, TICK, anchor="end"))
    return shapes


class Entry(NamedTuple):
    """A line of a legend: its label, and a sample of what it stands for."""

    label: str
    kind: Literal["line", "block", "dot"]
    colour: str
    width: float = 1.3
    dash: Dash = ()
    has_dots: bool = False


def _entry_width(entry: Entry) -> float:
    return _SAMPLE + _SAMPLE_GAP + text_width(entry.label, LEGEND)


def legend_columns(entries: Sequence[Entry], room: float) -> int:
    """How many entries fit beside each other, by the width of the widest."""
    widest = max(map(_entry_width, entries), default=room) + _ENTRY_GAP
    return max(1, min(len(entries), int((room + _ENTRY_GAP) / widest)))


def legend_height(entries: Sequence[Entry], room: float) -> float:
    """What the rows of a legend take."""
    return LEGEND_ROW * math.ceil(len(entries) / legend_columns(entries, room)) if entries else 0.0


def legend(entries: Sequence[Entry], left: float, top: float, room: float) -> list[Shape]:
    """The entries in rows, each below the one before it in its column."""
    columns = legend_columns(entries, room)
    step = max(map(_entry_width, entries), default=0.0) + _ENTRY_GAP
    shapes: list[Shape] = []
    for number, entry in enumerate(entries):
        row, column = divmod(number, columns)
        shapes += _entry(entry, left + column * step, top + LEGEND_ROW * (row + 1) - 4)
    return shapes


def has_room_beside(title_text: str, entries: Sequence[Entry], room: float) -> bool:
    """Whether a panel's legend fits into the line of its title."""
    return text_width(title_text, TITLE) + 2 * _ENTRY_GAP + _row_width(entries) <= room


def _row_width(entries: Sequence[Entry]) -> float:
    return sum(map(_entry_width, entries)) + _ENTRY_GAP * (len(entries) - 1)


def legend_beside(frame: Frame, entries: Sequence[Entry]) -> list[Shape]:
    """The entries in the line of a panel's title, at its end."""
    shapes: list[Shape] = []
    at = frame.right - _row_width(entries)
    for entry in entries:
        shapes += _entry(entry, at, frame.top - 4)
        at += _entry_width(entry) + _ENTRY_GAP
    return shapes


def _entry(entry: Entry, left: float, baseline: float) -> list[Shape]:
    """The sample and, at its right, the label."""
    level = baseline - _HALF_DIGIT * LEGEND
    middle = left + _SAMPLE / 2
    shapes: list[Shape] = []
    if entry.kind == "line":
        x = (left, left + _SAMPLE)
        shapes.append(Stroke(x, (level, level), entry.colour, entry.width, entry.dash))
    elif entry.kind == "block":
        shapes.append(bar(left, baseline - 0.73 * LEGEND, left + _SAMPLE, baseline, entry.colour))
    if entry.kind == "dot" or entry.has_dots:
        diameter = 5.4 if entry.kind == "dot" else DOT
        shapes.append(Dots((middle,), (level,), entry.colour, diameter))
    shapes.append(Words(left + _SAMPLE + _SAMPLE_GAP, baseline, entry.label, LEGEND, INK))
    return shapes


DOT = 4.0
"""The diameter of the dots on a line of few points."""
