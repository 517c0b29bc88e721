"""What all charts share: colours, margins, axes, titles and legends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iodiag.report import _text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN = 6.6
"""At the width of the page's text its 8 point letters are about as large as the text."""

INK, MUTED, GRID, SHADE = "#010101", "#020202", "#030303", "#040404"
LINES = tuple(f"#0a0a0{at}" for at in range(6))
AREAS = ("#0b0b00", "#0b0b01")
# what each placeholder becomes: (in an SVG, in a PNG); page.css defines the variables
COLOURS = {
    INK: ("currentColor", "#1c2128"),
    MUTED: ("var(--muted)", "#59636e"),
    GRID: ("var(--grid)", "#d5dae0"),
    SHADE: ("var(--shade)", "#fbe9c6"),
    AREAS[0]: ("var(--area-0)", "#bcd6ea"),
    AREAS[1]: ("var(--area-1)", "#f3c9ab"),
    LINES[0]: ("var(--line-0)", "#1b6ca8"),
    LINES[1]: ("var(--line-1)", "#c4500b"),
    LINES[2]: ("var(--line-2)", "#0f7b5f"),
    LINES[3]: ("var(--line-3)", "#8a4fa3"),
    LINES[4]: ("var(--line-4)", "#8c6d00"),
    LINES[5]: ("var(--line-5)", "#5d6670"),
}
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (2, 1)),
    (0, (6, 1.5, 1.5, 1.5)),
    (0, (1, 1)),
    (0, (9, 2)),
)


@dataclass(frozen=True)
class Palette:
    """The colour for each placeholder: itself in an SVG, the real one in a PNG."""

    is_svg: bool

    def __getitem__(self, placeholder: str) -> str:
        return placeholder if self.is_svg else COLOURS[placeholder][1]

    def line(self, at: int) -> str:
        """The colour of the line number `at`; they repeat after six."""
        return self[LINES[at % len(LINES)]]

    def area(self, at: int) -> str:
        """The softer colour of the area below a line; there are two."""
        return self[AREAS[at % len(AREAS)]]


def figure(
    rows: int,
    palette: Palette,
    row_inches: float,
    labels: Sequence[str] = (),
    columns: int = 1,
    bottom: float = 0.48,
) -> tuple[Figure, list[Axes]]:
    """Axes on one x axis below each other, or on one y axis side by side; the margins are fixed, in inches.

    Above them is room for a legend of the `labels`.
    """
    from matplotlib.figure import Figure

    top = 0.3 + 0.18 * legend_rows(labels)
    inches = top + bottom + rows * row_inches
    drawn = Figure(figsize=(WIDTH_IN, inches))
    drawn.patch.set_alpha(0.0)
    axes = drawn.subplots(
        rows, columns, sharex=columns == 1, sharey=columns > 1, squeeze=False, gridspec_kw={"wspace": 0.1}
    ).ravel()
    drawn.subplots_adjust(
        left=0.6 / WIDTH_IN,
        right=1 - 0.14 / WIDTH_IN,
        top=1 - top / inches,
        bottom=bottom / inches,
        hspace=0.42,
    )
    for axis in axes:
        dress(axis, palette)
    return drawn, list(axes)


def dress(axis: Axes, palette: Palette) -> None:
    """A light frame, horizontal grid lines, and numbers as the text has them."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.patch.set_alpha(0.0)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color(palette[MUTED])
    axis.tick_params(colors=palette[MUTED], labelcolor=palette[MUTED], length=0, labelsize=8)
    axis.tick_params(axis="x", length=3)
    axis.grid(axis="y", color=palette[GRID], linewidth=0.8)
    axis.set_axisbelow(True)
    axis.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _text.number(float(value))))


def title(axis: Axes, text: str, palette: Palette) -> None:
    """What the y axis shows, with its unit, above the axes."""
    # a place of its own spares matplotlib the search for one
    axis.set_title(text, loc="left", fontsize=9, color=palette[INK], pad=4, y=1.0)


def x_title(axis: Axes, text: str, palette: Palette) -> None:
    """What the x axis shows."""
    axis.set_xlabel(text, fontsize=8.5, color=palette[MUTED])


def _legend_columns(labels: Sequence[str]) -> int:
    """How many entries fit beside each other, by the width of the widest."""
    widest = 42 + 5.4 * max(map(len, labels), default=1)
    return max(1, min(len(labels), int(72 * (WIDTH_IN - 0.7) / widest)))


def legend_rows(labels: Sequence[str]) -> int:
    """How many lines a legend of these labels takes."""
    return math.ceil(len(labels) / _legend_columns(labels)) if labels else 0


def legend(drawn: Figure, handles: Sequence[Any], labels: Sequence[str], palette: Palette) -> None:
    """A legend above all axes."""
    drawn.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(drawn.subplotpars.left, 1.0),
        ncols=_legend_columns(labels),
        **_legend_style(palette),
    )


def panel_legend(axis: Axes, handles: Sequence[Any], labels: Sequence[str], palette: Palette) -> None:
    """A legend in the line of one panel's title, at its end."""
    axis.legend(
        handles,
        labels,
        loc="lower right",
        bbox_to_anchor=(1.0, 0.98),
        ncols=len(labels),
        **_legend_style(palette),
    )


def _legend_style(palette: Palette) -> dict[str, Any]:
    return {
        "frameon": False,
        "fontsize": 8.5,
        "labelcolor": palette[INK],
        "handlelength": 2.4,
        "columnspacing": 1.4,
        "borderaxespad": 0.2,
        "borderpad": 0.0,
    }
