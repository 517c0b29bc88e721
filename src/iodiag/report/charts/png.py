"""Drawings as PNG, for a file, with matplotlib's renderer.

Its figures and axes are not used: importing them and building them takes longer than all the rest
of a report. The same drawing always gives the same bytes.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from iodiag.report.charts.fonts import FONT, text_width
from iodiag.report.charts.shapes import COLOURS, RING_WIDTH, Box, Dots, Drawing, Fill, Stroke, Words

if TYPE_CHECKING:
    from matplotlib.backend_bases import GraphicsContextBase, RendererBase
    from matplotlib.font_manager import FontProperties
    from matplotlib.path import Path

DPI = 144
SCALE = DPI / 72
# a stroke this long with round ends is a disc: one path then holds all dots of a line
DISC_LENGTH = 0.01
# four cubic curves make a circle: how far the control points are out, for a radius of 1
ARC = 4 / 3 * (math.sqrt(2) - 1)

# what a user's matplotlibrc may say otherwise
_SETTINGS: Any = {"path.simplify": True, "path.simplify_threshold": 1 / 9}


def render(drawing: Drawing) -> bytes:
    """A drawing as a PNG on a white ground."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import RendererAgg
    from PIL import Image

    size = (round(drawing.width * SCALE), round(drawing.height * SCALE))
    with rc_context(_SETTINGS):
        renderer = RendererAgg(*size, DPI)  # type: ignore[no-untyped-call]
        _put(renderer, drawing)
        pixels = renderer.buffer_rgba()  # type: ignore[no-untyped-call]
        drawn = Image.frombuffer("RGBA", size, pixels, "raw", "RGBA", 0, 1)
        ground = Image.new("RGBA", size, "white")
        ground.alpha_composite(drawn)
    buffer = io.BytesIO()
    ground.convert("RGB").save(buffer, "png", dpi=(DPI, DPI))
    return buffer.getvalue()


def _put_words(renderer: RendererBase, words: Words) -> None:
    share = {"start": 0.0, "middle": 0.5, "end": 1.0}[words.anchor]
    left = words.x - share * text_width(words.text, words.size, words.is_bold)
    pen = _pen(renderer, COLOURS[words.colour].in_print)
    font = _font(words.size, words.is_bold)
    renderer.draw_text(pen, left * SCALE, words.y * SCALE, words.text, font, 0.0)


@lru_cache(maxsize=20)
def _font(size: float, is_bold: bool) -> FontProperties:
    from matplotlib.font_manager import FontProperties

    return FontProperties(
        family=[FONT],
        style="normal",
        variant="normal",
        weight="bold" if is_bold else "normal",
        stretch="normal",
        size=size,
    )


def _put(renderer: RendererBase, drawing: Drawing) -> None:
    from matplotlib.colors import to_rgba
    from matplotlib.transforms import Affine2D

    # renderers count upwards
    place = Affine2D().scale(SCALE, -SCALE).translate(0.0, drawing.height * SCALE)
    for shape in drawing.shapes:
        if isinstance(shape, Words):
            if shape.text:
                _put_words(renderer, shape)
            continue
        if not isinstance(shape, Box) and not _known(shape):
            continue
        colour = COLOURS[shape.colour].in_print
        pen = _pen(renderer, colour)
        face = None
        if isinstance(shape, Stroke):
            path = _path(shape.x, shape.y)
            pen.set_linewidth(shape.width)
            pen.set_alpha(shape.opacity)
            if shape.dash:
                pen.set_dashes(0, [part * shape.width for part in shape.dash])
        elif isinstance(shape, Fill):
            path = _path(shape.x, shape.y)
            pen.set_linewidth(0)
            face = to_rgba(colour)
        elif isinstance(shape, Box):
            path = _round_box(shape)
            pen.set_linewidth(1.0)
        elif shape.is_filled:
            path = _discs(shape)
            pen.set_linewidth(shape.diameter)
            pen.set_capstyle("round")
            # else they are rounded to whole pixels, to nothing
            pen.set_snap(False)
        else:
            path = _rings(shape)
            pen.set_linewidth(RING_WIDTH)
        renderer.draw_path(pen, path, place, face)


def _pen(renderer: RendererBase, colour: str) -> GraphicsContextBase:
    pen = renderer.new_gc()
    pen.set_foreground(colour)
    pen.set_joinstyle("round")
    return pen


def _path(x: Sequence[float], y: Sequence[float]) -> Path:
    from matplotlib.path import Path

    return Path(list(zip(x, y, strict=True)))


def _discs(dots: Dots) -> Path:
    """Strokes as good as without length, apart from each other."""
    gap = (math.nan, math.nan)
    points = ((point, (point[0] + DISC_LENGTH, point[1]), gap) for point in _known(dots))
    path = _path(*zip(*chain.from_iterable(points), strict=True))
    path.should_simplify = False
    return path


def _rings(dots: Dots) -> Path:
    from matplotlib.path import Path

    radius = (dots.diameter - RING_WIDTH) / 2
    # the circle from its right end, round the top, left and bottom
    turns = [(1, 0), (1, ARC), (ARC, 1), (0, 1), (-ARC, 1), (-1, ARC), (-1, 0)]
    turns += [(-1, -ARC), (-ARC, -1), (0, -1), (ARC, -1), (1, -ARC), (1, 0)]
    points = [(x + radius * right, y + radius * down) for x, y in _known(dots) for right, down in turns]
    codes = [Path.MOVETO, *[Path.CURVE4] * 12]
    return Path(points, codes * (len(points) // len(codes)))


def _known(dots: Dots | Stroke | Fill) -> list[tuple[float, float]]:
    return [(x, y) for x, y in zip(dots.x, dots.y, strict=True) if not math.isnan(x + y)]


def _round_box(box: Box) -> Path:
    from matplotlib.patches import BoxStyle

    outline: Any = BoxStyle.Round(pad=0.0, rounding_size=box.radius)
    path: Path = outline(box.left, box.top, box.width, box.height, 1.0)
    return path
