"""Puts drawings on paper with matplotlib's renderers: SVG for a page, PNG for a file.

Its figures and axes are not used: importing them and building them takes longer than all the rest
of a report. An SVG carries no colours of its own but CSS variables, so that it fits a light and a
dark page alike, and no ids, since many stand in one page; a PNG stands on a white card. The same
drawing always gives the same bytes.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from iodiag.report.charts.shapes import COLOURS, Box, Dots, Drawing, Fill, Stroke, Words

if TYPE_CHECKING:
    from matplotlib.backend_bases import GraphicsContextBase, RendererBase
    from matplotlib.font_manager import FontProperties
    from matplotlib.ft2font import FT2Font
    from matplotlib.path import Path

FONT = "DejaVu Sans"
"""Comes with matplotlib."""

PNG_DPI = 144
RING_WIDTH = 0.9
# a stroke this long with round ends is a disc: one path then holds all dots of a line
DISC_LENGTH = 0.01
# four cubic curves make a circle: how far the control points are out, for a radius of 1
ARC = 4 / 3 * (math.sqrt(2) - 1)

_PutWords = Callable[["RendererBase", Words], None]


def svg(drawing: Drawing) -> str:
    """An `<svg>` element to stand in a page; its text stays text."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import RendererSVG
    from matplotlib.text import Text

    places = {
        "start": Text(ha="left"),
        "middle": Text(ha="center"),
        "end": Text(ha="right"),
    }

    def put_words(renderer: RendererBase, words: Words) -> None:
        place = places[words.anchor]
        place.set_position((words.x, drawing.height - words.y))
        pen = _pen(renderer, words.colour)
        renderer.draw_text(pen, words.x, words.y, words.text, _font(words), 0.0, mtext=place)

    buffer = io.StringIO()
    with rc_context(_SETTINGS):
        renderer = RendererSVG(drawing.width, drawing.height, buffer, metadata={"Date": None})  # type: ignore[no-untyped-call]
        _put(renderer, drawing, 1.0, put_words, str)
        renderer.finalize()  # type: ignore[no-untyped-call]
    return _for_a_page(drawing, buffer.getvalue())


def png(drawing: Drawing) -> bytes:
    """The same drawing as a PNG on a white ground."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import RendererAgg
    from PIL import Image

    scale = PNG_DPI / 72
    shares = {"start": 0.0, "middle": 0.5, "end": 1.0}

    def put_words(renderer: RendererBase, words: Words) -> None:
        left = words.x - shares[words.anchor] * text_width(words.text, words.size, words.is_bold)
        pen = _pen(renderer, _printed(words.colour))
        renderer.draw_text(pen, left * scale, words.y * scale, words.text, _font(words), 0.0)

    size = (round(drawing.width * scale), round(drawing.height * scale))
    with rc_context(_SETTINGS):
        renderer = RendererAgg(*size, PNG_DPI)  # type: ignore[no-untyped-call]
        _put(renderer, drawing, scale, put_words, _printed)
        pixels = renderer.buffer_rgba()  # type: ignore[no-untyped-call]
        drawn = Image.frombuffer("RGBA", size, pixels, "raw", "RGBA", 0, 1)
        ground = Image.new("RGBA", size, "white")
        ground.alpha_composite(drawn)
    buffer = io.BytesIO()
    ground.convert("RGB").save(buffer, "png", dpi=(PNG_DPI, PNG_DPI))
    return buffer.getvalue()


def text_width(text: str, size: float, is_bold: bool = False) -> float:
    """How wide a text is in the font that comes with matplotlib, in points."""
    return size * sum(_advance(char, is_bold) for char in text)


@lru_cache(maxsize=1000)
def _advance(char: str, is_bold: bool) -> float:
    """How far a letter moves on, as a part of the size; pairs of letters are not drawn together."""
    return _face(is_bold).load_char(ord(char)).linearHoriAdvance / 65536


@lru_cache(maxsize=2)
def _face(is_bold: bool) -> FT2Font:
    from matplotlib.font_manager import findfont
    from matplotlib.ft2font import FT2Font

    face = FT2Font(findfont(_properties(1.0, is_bold)))
    face.set_size(1, 72)
    return face


# what a user's matplotlibrc may say otherwise
_SETTINGS: Any = {"svg.fonttype": "none", "path.simplify": True, "path.simplify_threshold": 1 / 9}


def _font(words: Words) -> FontProperties:
    return _properties(words.size, words.is_bold)


@lru_cache(maxsize=20)
def _properties(size: float, is_bold: bool) -> FontProperties:
    from matplotlib.font_manager import FontProperties

    return FontProperties(
        family=[FONT],
        style="normal",
        variant="normal",
        weight="bold" if is_bold else "normal",
        stretch="normal",
        size=size,
    )


def _printed(placeholder: str) -> str:
    return COLOURS[placeholder][1]


def _put(
    renderer: RendererBase,
    drawing: Drawing,
    scale: float,
    put_words: _PutWords,
    colour_of: Callable[[str], str],
) -> None:
    from matplotlib.colors import to_rgba
    from matplotlib.transforms import Affine2D

    # renderers count upwards
    place = Affine2D().scale(scale, -scale).translate(0.0, drawing.height * scale)
    for shape in drawing.shapes:
        if isinstance(shape, Words):
            if shape.text:
                put_words(renderer, shape)
            continue
        if not isinstance(shape, Box) and not _known(shape):
            continue
        colour = colour_of(shape.colour)
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


_TAG = re.compile(r"<[^<>]*>")
_COLOUR = re.compile("|".join(COLOURS))
_TOO_FINE = re.compile(r"(?<=\.\d\d)\d+")
# the family is the page's to say, and nothing is turned
_NEEDLESS = re.compile(rf" transform=\"rotate\(-?0 [^\"]{{0,99}}\"|;? ?font-family: '{FONT}'")


def _for_a_page(drawing: Drawing, text: str) -> str:
    """What RendererSVG wrote without its head, in the page's colours, and no finer than can be seen."""
    body = text[text.index("</defs>") + len("</defs>") :]
    # text has no brackets of its own: the renderer has escaped it
    body = _TAG.sub(_for_a_page_tag, body)
    size = f"{drawing.width:.6g} {drawing.height:.6g}"
    return f'<svg viewBox="0 0 {size}" aria-hidden="true">{body}'.strip()


def _for_a_page_tag(tag: re.Match[str]) -> str:
    shown = _COLOUR.sub(lambda placeholder: COLOURS[placeholder[0]][0], _NEEDLESS.sub("", tag[0]))
    return _TOO_FINE.sub("", " ".join(shown.split()))
