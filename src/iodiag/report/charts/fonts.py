"""How wide a text is in the font of the charts, which comes with matplotlib."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

FONT = "DejaVu Sans"


def text_width(text: str, size: float, is_bold: bool = False) -> float:
    """How wide a text is, in points."""
    return size * sum(_advance(char, is_bold) for char in text)


@lru_cache(maxsize=1000)
def _advance(char: str, is_bold: bool) -> float:
    """How far a letter moves on, as a part of the size; pairs of letters are not drawn together."""
    return _face(is_bold).load_char(ord(char)).linearHoriAdvance / 65536


@lru_cache(maxsize=2)
def _face(is_bold: bool) -> FT2Font:
    import matplotlib
    from matplotlib.ft2font import FT2Font

    file = "DejaVuSans-Bold.ttf" if is_bold else "DejaVuSans.ttf"
    face = FT2Font(str(Path(matplotlib.get_data_path(), "fonts", "ttf", file)))
    face.set_size(1, 72)
    return face
