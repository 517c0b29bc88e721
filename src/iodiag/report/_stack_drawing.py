"""Draws the stack picture: layers from left to right, so that names and numbers have their lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iodiag.report._canvas import INK, MUTED, WIDTH_IN, Palette
from iodiag.report._chart import Link, Node, Stack

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW_IN = 0.42
BOX_IN = 0.3
LETTER_IN = 0.078
LINE_IN = 0.16
LEAST_GAP_IN = 1.42
FAN_IN = 0.26


@dataclass(frozen=True)
class _Layout:
    """Inches from the left and from the top: layers' left edges and widths, nodes' middles."""

    width: float
    height: float
    gap: float
    left: tuple[float, ...]
    boxes: tuple[float, ...]
    top: tuple[float, ...]


def stack(picture: Stack, palette: Palette) -> Figure:
    """A box for each device, an arrow for each edge; above each gap what the layer adds."""
    from matplotlib.figure import Figure

    at = _layout(picture)
    drawn = Figure(figsize=(at.width, at.height))
    drawn.patch.set_alpha(0.0)
    axis = drawn.add_axes((0, 0, 1, 1))
    axis.set_axis_off()
    # a unit is an inch, downwards
    axis.set_xlim(0, at.width)
    axis.set_ylim(at.height, 0)
    for layer, lines in enumerate(picture.gaps):
        middle = (at.left[layer] + at.boxes[layer] + at.left[layer + 1]) / 2
        for row, line in enumerate(lines):
            _text(axis, middle, 0.1 + row * LINE_IN, line, 8.5, palette[INK], fontweight="bold")
    for link in picture.links:
        _link(axis, picture, link, at, palette)
    for node, top in zip(picture.nodes, at.top, strict=True):
        _box(axis, node, at.left[node.layer], at.boxes[node.layer], top, palette)
    return drawn


def _layout(picture: Stack) -> _Layout:
    layers = range(max(node.layer for node in picture.nodes) + 1)
    boxes = tuple(max(_box_in(node) for node in picture.nodes if node.layer == layer) for layer in layers)
    width = max(WIDTH_IN, sum(boxes) + len(layers) * LEAST_GAP_IN + 0.1)
    gap = (width - 0.1 - sum(boxes)) / len(layers)
    head = 0.1 + LINE_IN * max((len(lines) for lines in picture.gaps), default=0)
    rows = max(node.place for node in picture.nodes) + 1
    return _Layout(
        width=width,
        height=head + rows * ROW_IN + 0.08,
        gap=gap,
        left=tuple(sum(boxes[:layer]) + (layer + 1) * gap for layer in layers),
        boxes=boxes,
        top=tuple(head + (node.place + 0.5) * ROW_IN for node in picture.nodes),
    )


def _box_in(node: Node) -> float:
    return max(0.5, 0.16 + LETTER_IN * max(len(node.label), len(node.remark)))


def _text(axis: Axes, x: float, y: float, text: str, size: float, colour: str, **style: Any) -> None:
    axis.text(x, y, text, ha="center", va="center", fontsize=size, color=colour, **style)


def _link(axis: Axes, picture: Stack, link: Link, at: _Layout, palette: Palette) -> None:
    """An arrow, fanned out at its beginning, level where its numbers stand, as thick as it carries."""
    end, end_top = at.left[picture.nodes[link.lower].layer], at.top[link.lower]
    if link.upper is None:
        start, start_top, fan = end - at.gap + 0.12, end_top, 0.0
    else:
        layer = picture.nodes[link.upper].layer
        start, start_top, fan = at.left[layer] + at.boxes[layer], at.top[link.upper], FAN_IN
    axis.plot(
        [start, min(start + fan, end), end - 0.05],
        [start_top, end_top, end_top],
        color=palette.line(0),
        alpha=0.55,
        linewidth=0.8 + 2.2 * link.share,
        solid_capstyle="butt",
        solid_joinstyle="round",
        zorder=1,
    )
    axis.plot([end - 0.04], [end_top], marker=">", markersize=4 + 2 * link.share, color=palette.line(0))
    middle = (max(start, end - at.gap) + fan + end) / 2
    _text(axis, middle, end_top - 0.085, link.load, 8, palette[INK])
    _text(axis, middle, end_top + 0.095, link.requests, 8, palette[MUTED])


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
    shift = 0.068 if node.remark else 0.0
    _text(axis, left + width / 2, top - shift, node.label, 8.5, palette[INK])
    if node.remark:
        _text(axis, left + width / 2, top + shift, node.remark, 7.5, palette[MUTED])
