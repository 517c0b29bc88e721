"""Drawings as SVG elements to stand in a page: their shapes, written as text.

An element carries no colours of its own but CSS variables, so that it fits a light and a dark page
alike, no style, which the page's policy refuses, and no ids, since many stand in one page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from iodiag.report.charts.shapes import COLOURS, RING_WIDTH, Box, Dots, Drawing, Fill, Shape, Stroke


def render(drawing: Drawing) -> str:
    """An `<svg>` element; its text stays text."""
    body = "".join(map(_element, drawing.shapes))
    size = f"{drawing.width:.6g} {drawing.height:.6g}"
    return f'<svg viewBox="0 0 {size}" fill="none" aria-hidden="true">{body}</svg>'


def _element(shape: Shape) -> str:
    colour = COLOURS[shape.colour].in_page
    if isinstance(shape, Stroke):
        dash = " ".join(f"{part * shape.width:.4g}" for part in shape.dash)
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        opacity = f' stroke-opacity="{shape.opacity:g}"' if shape.opacity < 1 else ""
        pen = f'stroke="{colour}" stroke-width="{shape.width:.4g}"{dashes}{opacity}'
        return _path(_line(shape.x, shape.y), pen)
    if isinstance(shape, Fill):
        return _path(_line(shape.x, shape.y), f'fill="{colour}"')
    if isinstance(shape, Dots):
        return _dots(shape, colour)
    if isinstance(shape, Box):
        size = f'width="{shape.width:.1f}" height="{shape.height:.1f}" rx="{shape.radius:g}"'
        return f'<rect x="{shape.left:.1f}" y="{shape.top:.1f}" {size} stroke="{colour}"/>'
    if not shape.text:
        return ""
    anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
    weight = ' font-weight="700"' if shape.is_bold else ""
    place = f'x="{round(shape.x, 1):g}" y="{round(shape.y, 1):g}"'
    style = f'font-size="{shape.size:g}" fill="{colour}"{anchor}{weight}'
    return f"<text {place} {style}>{escape(shape.text, quote=False)}</text>"


def _path(steps: str, pen: str) -> str:
    """A path without what numbers can do without: the space before a minus, and the zero before a point."""
    short = steps.replace(" 0.", " .").replace("-0.", "-.").replace(" -", "-")
    return f'<path d="{short}" {pen}/>' if steps else ""


def _dots(dots: Dots, colour: str) -> str:
    """One path for all: a disc is a short stroke with round ends, a ring two arcs."""
    if dots.is_filled:
        mark, width, ends = "h.01", dots.diameter, ' stroke-linecap="round"'
    else:
        across = dots.diameter - RING_WIDTH
        arc = f"{across / 2:g} {across / 2:g} 0 1 0"
        mark, width, ends = f"m{-across / 2:g} 0a{arc} {across:g} 0 {arc} {-across:g} 0", RING_WIDTH, ""
    places = zip(dots.x, dots.y, strict=True)
    marks = "".join(f"M{round(x, 1):g} {round(y, 1):g}{mark}" for x, y in places if not math.isnan(x + y))
    return _path(marks, f'stroke="{colour}" stroke-width="{width:g}"{ends}')


def _line(across: Sequence[float], down: Sequence[float]) -> str:
    """The points to a tenth of a point, which is as fine as can be seen, as steps; NaN lifts the pen.

    Steps that go on level are one.
    """
    steps: list[tuple[str, int, int]] = []
    pen, at_x, at_y = "M", 0, 0
    for x, y in zip(across, down, strict=True):
        if math.isnan(x + y):
            pen, at_x, at_y = "M", 0, 0
        else:
            to_x, to_y = round(10 * x), round(10 * y)
            step = pen, to_x - at_x, to_y - at_y
            if pen == " " and steps[-1][2] == step[2] == 0 and steps[-1][1] * step[1] > 0:
                before, level, _ = steps.pop()
                step = before, level + step[1], 0
            steps.append(step)
            pen, at_x, at_y = "l" if pen == "M" else " ", to_x, to_y
    return "".join(f"{pen}{right / 10:g} {below / 10:g}" for pen, right, below in steps)
