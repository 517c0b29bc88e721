"""A drawing as plain data: shapes in points (1/72 inch) from the top left corner of a sheet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

WIDTH = 475.2
"""At the width of the page's text its 8 point letters are about as large as the text."""

INK, MUTED, GRID, SHADE = "ink", "muted", "grid", "shade"
LINES = tuple(f"line-{at}" for at in range(6))
AREAS = ("area-0", "area-1")
HEATS = tuple(f"heat-{at}" for at in range(5))


class Colour(NamedTuple):
    """A colour in an SVG, where page.css defines the variables, and in a PNG."""

    in_page: str
    in_print: str


COLOURS = {
    INK: Colour("currentColor", "#1c2128"),
    MUTED: Colour("var(--muted)", "#59636e"),
    GRID: Colour("var(--grid)", "#d5dae0"),
    SHADE: Colour("var(--shade)", "#fbe9c6"),
    AREAS[0]: Colour("var(--area-0)", "#bcd6ea"),
    AREAS[1]: Colour("var(--area-1)", "#f3c9ab"),
    HEATS[0]: Colour("var(--heat-0)", "#dbe8f3"),
    HEATS[1]: Colour("var(--heat-1)", "#a9cbe5"),
    HEATS[2]: Colour("var(--heat-2)", "#5f9fcf"),
    HEATS[3]: Colour("var(--heat-3)", "#1f6aa5"),
    HEATS[4]: Colour("var(--heat-4)", "#0a2f52"),
    LINES[0]: Colour("var(--line-0)", "#1b6ca8"),
    LINES[1]: Colour("var(--line-1)", "#c4500b"),
    LINES[2]: Colour("var(--line-2)", "#0f7b5f"),
    LINES[3]: Colour("var(--line-3)", "#8a4fa3"),
    LINES[4]: Colour("var(--line-4)", "#8c6d00"),
    LINES[5]: Colour("var(--line-5)", "#5d6670"),
}
RING_WIDTH = 0.9
Dash = tuple[float, ...]
DASHES: tuple[Dash, ...] = ((), (5, 1.5), (2, 1), (6, 1.5, 1.5, 1.5), (1, 1), (9, 2))
"""Strokes and gaps in multiples of the line's width; none is a line without gaps."""

DOTTED = DASHES[4]
Anchor = Literal["start", "middle", "end"]


class Stroke(NamedTuple):
    """A line through points; NaN breaks it."""

    x: Sequence[float]
    y: Sequence[float]
    colour: str
    width: float
    dash: Dash = ()
    opacity: float = 1.0


class Fill(NamedTuple):
    """An area without an edge; its last point is joined to the first."""

    x: Sequence[float]
    y: Sequence[float]
    colour: str


class Dots(NamedTuple):
    """Circles of one size around points, full or as rings; NaN is none."""

    x: Sequence[float]
    y: Sequence[float]
    colour: str
    diameter: float
    is_filled: bool = True


class Box(NamedTuple):
    """The edge of a rectangle with round corners."""

    left: float
    top: float
    width: float
    height: float
    radius: float
    colour: str


class Words(NamedTuple):
    """One line of text on a baseline; `x` is its beginning, its middle or its end."""

    x: float
    y: float
    text: str
    size: float
    colour: str = MUTED
    anchor: Anchor = "start"
    is_bold: bool = False


Shape = Stroke | Fill | Dots | Box | Words


class Drawing(NamedTuple):
    """Shapes on a sheet, the later ones on top."""

    height: float
    shapes: tuple[Shape, ...]
    width: float = WIDTH


def line_colour(at: int) -> str:
    """The colour of the line number `at`; they repeat after six."""
    return LINES[at % len(LINES)]


def area_colour(at: int) -> str:
    """The softer colour of the area below a line; there are two."""
    return AREAS[at % len(AREAS)]


def bar(left: float, top: float, right: float, bottom: float, colour: str) -> Fill:
    """A filled rectangle."""
    return Fill((left, right, right, left), (top, top, bottom, bottom), colour)
