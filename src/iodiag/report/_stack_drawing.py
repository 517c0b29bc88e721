"""Draws the stack picture: layers from left to right, so that names and numbers have their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from iodiag.report._canvas import INK, MUTED, WIDTH_IN, Palette
from iodiag.report._chart import Node, Stack

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW_IN = 0.42
BOX_IN = 0.3
LETTER_IN = 0.078
LINE_IN = 0.16
LEAST_GAP_IN = 1.42
FAN_IN = 0.26


def stack(picture: Stack, palette: Palette) -> Figure:
    """A box for each device, an arrow for each edge; above each gap what the layer adds."""
    from matplotlib.figure import Figure

    layers = max(node.layer for node in picture.nodes) + 1
    boxes = [max(_box_in(node) for node in picture.nodes if node.layer == at) for at in range(layers)]
    width = max(WIDTH_IN, sum(boxes) + layers * LEAST_GAP_IN + 0.1)
    gap = (width - 0.1 - sum(boxes)) / layers
    edges = [sum(boxes[:at]) + (at + 1) * gap for at in range(layers)]
    head = 0.1 + LINE_IN * max((len(lines) for lines in picture.gaps), default=0)
    rows = max(node.place for node in picture.nodes) + 1
    height = head + rows * ROW_IN + 0.08
    drawn = Figure(figsize=(width, height))
    drawn.patch.set_alpha(0.0)
    axis = drawn.add_axes((0, 0, 1, 1))
    axis.set_axis_off()
    # a unit is an inch, downwards
    axis.set_xlim(0, width)
    axis.set_ylim(height, 0)
    for at, lines in enumerate(picture.gaps):
        for row, line in enumerate(lines):
            middle = (edges[at] + boxes[at] + edges[at + 1]) / 2
            axis.text(
                middle,
                0.1 + row * LINE_IN,
                line,
                ha="center",
                va="center",
                fontsize=8.5,
                color=palette[INK],
                fontweight="bold",
            )
    tops = [head + (node.place + 0.5) * ROW_IN for node in picture.nodes]
    for link in picture.links:
        upper = None if link.upper is None else picture.nodes[link.upper]
        lower = picture.nodes[link.lower]
        start = edges[lower.layer] - gap + 0.12 if upper is None else edges[upper.layer] + boxes[upper.layer]
        from_top = tops[link.lower] if link.upper is None else tops[link.upper]
        _arrow(axis, (start, from_top), (edges[lower.layer], tops[link.lower]), link.share, palette)
        middle = (
            max(start, edges[lower.layer] - gap) + FAN_IN * (upper is not None) + edges[lower.layer]
        ) / 2
        for text, shift in ((link.load, -0.085), (link.requests, 0.095)):
            axis.text(
                middle,
                tops[link.lower] + shift,
                text,
                ha="center",
                va="center",
                fontsize=8,
                color=palette[INK if shift < 0 else MUTED],
            )
    for node, top in zip(picture.nodes, tops, strict=True):
        _box(axis, node, edges[node.layer], boxes[node.layer], top, palette)
    return drawn


def _box_in(node: Node) -> float:
    return max(0.5, 0.16 + LETTER_IN * max(len(node.label), len(node.remark)))


def _box(axis: Axes, node: Node, left: float, width: float, top: float, palette: Palette) -> None:
    from matplotlib.patches import FancyBboxPatch

    shape = FancyBboxPatch(
        (left + 0.04, top - BOX_IN / 2 + 0.02),
        width - 0.08,
        BOX_IN - 0.04,
        boxstyle="round,pad=0.02",
        facecolor="none",
        edgecolor=palette[MUTED],
        linewidth=1.0,
    )
    axis.add_patch(shape)
    lines = [(node.label, 8.5, INK), (node.remark, 7.5, MUTED)] if node.remark else [(node.label, 8.5, INK)]
    for at, (text, size, colour) in enumerate(lines):
        shift = (at - (len(lines) - 1) / 2) * 0.135
        axis.text(
            left + width / 2,
            top + shift,
            text,
            ha="center",
            va="center",
            fontsize=size,
            color=palette[colour],
        )


def _arrow(
    axis: Axes, start: tuple[float, float], end: tuple[float, float], share: float, palette: Palette
) -> None:
    """Fanned out at its beginning, level where its numbers stand; as thick as it carries."""
    bend = min(start[0] + FAN_IN, end[0])
    axis.plot(
        [start[0], bend, end[0] - 0.05],
        [start[1], end[1], end[1]],
        color=palette.line(0),
        alpha=0.55,
        linewidth=0.8 + 2.2 * share,
        solid_capstyle="butt",
        solid_joinstyle="round",
        zorder=1,
    )
    axis.plot(
        [end[0] - 0.04], [end[1]], marker=">", markersize=4 + 2 * share, color=palette.line(0), zorder=2
    )
