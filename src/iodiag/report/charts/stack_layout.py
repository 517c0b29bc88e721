"""Draws the stack picture: layers from left to right, so that names and numbers have their lines."""

from __future__ import annotations

from typing import NamedTuple

from iodiag.report.charts.chart import Link, Node, Stack
from iodiag.report.charts.fonts import text_width
from iodiag.report.charts.shapes import (
    INK,
    MUTED,
    WIDTH,
    Box,
    Drawing,
    Fill,
    Shape,
    Stroke,
    Words,
    line_colour,
)

ROW, BOX, LINE = 30.2, 21.6, 11.5
LEAST_GAP, FAN = 102.2, 18.7
MARGIN = 3.6
LEAST_BOX, PADDING = 36.0, 12.0
LABEL, REMARK, NUMBER = 8.5, 7.5, 8.0
"""Sizes of letters."""


class _Layout(NamedTuple):
    """Points from the left and from the top: layers' left edges and widths, nodes' middles."""

    width: float
    height: float
    gap: float
    left: tuple[float, ...]
    boxes: tuple[float, ...]
    level: tuple[float, ...]


def stack(picture: Stack) -> Drawing:
    """A box for each device, an arrow for each edge; above each gap what the layer adds."""
    at = _layout(picture)
    shapes: list[Shape] = []
    for layer, lines in enumerate(picture.gaps):
        middle = (at.left[layer] + at.boxes[layer] + at.left[layer + 1]) / 2
        for row, line in enumerate(lines):
            shapes.append(Words(middle, 10.0 + row * LINE, line, LABEL, INK, "middle", is_bold=True))
    for link in picture.links:
        shapes += _link(picture, link, at)
    for node, level in zip(picture.nodes, at.level, strict=True):
        shapes += _box(node, at.left[node.layer], at.boxes[node.layer], level)
    return Drawing(at.height, tuple(shapes), at.width)


def _layout(picture: Stack) -> _Layout:
    layers = range(max(node.layer for node in picture.nodes) + 1)
    boxes = tuple(max(_box_width(node) for node in picture.nodes if node.layer == layer) for layer in layers)
    needed = [FAN + 20.0 + _number_width(link) for link in picture.links]
    # what a layer adds stands above its gap and may reach over half a box on either side
    needed += [
        text_width(line, LABEL, is_bold=True) + 10.0 - LEAST_BOX for said in picture.gaps for line in said
    ]
    least = max(LEAST_GAP, *needed)
    width = max(WIDTH, sum(boxes) + len(layers) * least + 2 * MARGIN)
    gap = (width - 2 * MARGIN - sum(boxes)) / len(layers)
    head = 7.0 + LINE * max((len(lines) for lines in picture.gaps), default=0)
    rows = max(node.place for node in picture.nodes) + 1
    return _Layout(
        width=width,
        height=head + rows * ROW + 6.0,
        gap=gap,
        left=tuple(MARGIN + sum(boxes[:layer]) + (layer + 1) * gap for layer in layers),
        boxes=boxes,
        level=tuple(head + (node.place + 0.5) * ROW for node in picture.nodes),
    )


def _box_width(node: Node) -> float:
    return max(LEAST_BOX, PADDING + max(text_width(node.label, LABEL), text_width(node.remark, REMARK)))


def _number_width(link: Link) -> float:
    return max(text_width(link.load, NUMBER), text_width(link.requests, NUMBER))


def _link(picture: Stack, link: Link, at: _Layout) -> list[Shape]:
    """An arrow, fanned out at its beginning, level where its numbers stand, as thick as it carries."""
    end, level = at.left[picture.nodes[link.lower].layer], at.level[link.lower]
    if link.upper is None:
        start, start_level, fan = end - at.gap + 8.6, level, 0.0
    else:
        layer = picture.nodes[link.upper].layer
        start, start_level, fan = at.left[layer] + at.boxes[layer], at.level[link.upper], FAN
    size = 5.5 + 2.0 * link.share
    line = Stroke(
        (start, min(start + fan, end), end - size),
        (start_level, level, level),
        line_colour(0),
        0.8 + 2.2 * link.share,
        opacity=0.55,
    )
    head = Fill((end - size, end, end - size), (level - size / 2, level, level + size / 2), line_colour(0))
    if not link.load:
        return [line, head]
    middle = (max(start, end - at.gap) + fan + end - size) / 2
    return [
        line,
        head,
        Words(middle, level - 3.4, link.load, NUMBER, INK, "middle"),
        Words(middle, level + 9.8, link.requests, NUMBER, MUTED, "middle"),
    ]


def _box(node: Node, left: float, width: float, level: float) -> list[Shape]:
    middle = left + width / 2
    shift = 4.9 if node.remark else 0.0
    shapes: list[Shape] = [
        Box(left, level - BOX / 2, width, BOX, 1.5, MUTED),
        Words(middle, level + 3.1 - shift, node.label, LABEL, INK, "middle"),
    ]
    if node.remark:
        shapes.append(Words(middle, level + 2.7 + shift, node.remark, REMARK, MUTED, "middle"))
    return shapes
