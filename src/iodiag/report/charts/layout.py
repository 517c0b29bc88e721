"""Draws the charts: what each kind of picture looks like, as shapes."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import groupby

from iodiag.report import wording
from iodiag.report.charts import axes, stack_layout
from iodiag.report.charts.axes import Entry, Frame, Scale, Ticks
from iodiag.report.charts.chart import (
    LEAST,
    BarPanel,
    Bars,
    Heatmap,
    Intervals,
    Line,
    Panel,
    Picture,
    RateByDepth,
    Stack,
    Timeline,
)
from iodiag.report.charts.fonts import text_width
from iodiag.report.charts.shapes import (
    DASHES,
    DOTTED,
    HEATS,
    INK,
    MUTED,
    SHADE,
    WIDTH,
    Dots,
    Drawing,
    Fill,
    Shape,
    Stroke,
    Words,
    area_colour,
    bar,
    line_colour,
)

PANEL_HEIGHT, ONLY_PANEL_HEIGHT, PANEL_GAP = 60.2, 79.2, 25.3
LADDER_HEIGHT = 172.8
IN_REACH = 2.0  # a ceiling above so many times the highest rate is left out of the picture
ROW_OF_INTERVALS = 19.4
BAR, BETWEEN_ROWS, BETWEEN_PANELS = 14.4, 5.8, 22.0
HEAT_ROW = 12.0
MARK = 5.4
FEW_POINTS = 40


def drawing(picture: Picture) -> Drawing:
    """What the chart looks like."""
    if isinstance(picture, Timeline):
        return _timeline(picture)
    if isinstance(picture, Bars):
        return _bars(picture)
    if isinstance(picture, Heatmap):
        return _heatmap(picture)
    if isinstance(picture, Intervals):
        return _intervals(picture)
    if isinstance(picture, Stack):
        return stack_layout.stack(picture)
    return _ladder(picture)


def _timeline(picture: Timeline) -> Drawing:
    """Panels below each other over one x axis."""
    tops = [_top(panel) for panel in picture.panels]
    columns = [axes.value_ticks(top) for top in tops]
    left = axes.left_margin(columns)
    room = WIDTH - axes.RIGHT - left
    entries = [_entries(panel) for panel in picture.panels]
    told = [each for each in entries if each]
    # one legend for all where all say the same, else one for each panel
    is_shared = len(told) > 1 and len({tuple(one.label for one in each) for each in told}) == 1
    shapes: list[Shape] = []
    bottom = axes.TITLE_ROOM - PANEL_GAP
    if is_shared:
        shapes += axes.legend(told[0], left, 2.0, room)
        bottom += axes.legend_height(told[0], room)
    height = PANEL_HEIGHT if len(picture.panels) > 1 else ONLY_PANEL_HEIGHT
    x, x_ticks, offset = _x_axis(picture, left)
    for panel, top, ticks, own in zip(picture.panels, tops, columns, entries, strict=True):
        beside = [] if is_shared else own
        above = 0.0 if axes.has_room_beside(panel.title, beside, room) else axes.legend_height(beside, room)
        start = bottom + PANEL_GAP + above
        bottom = start + height
        frame = Frame(left, start, WIDTH - axes.RIGHT, bottom)
        shapes.append(axes.title(frame, panel.title, above))
        if above:
            shapes += axes.legend(beside, left, start - above, room)
        elif beside:
            shapes += axes.legend_beside(frame, beside)
        shapes += _panel(panel, frame, x, frame.y(0.0, top), ticks, picture.window)
        shapes.append(axes.base(frame, x, x_ticks))
    shapes += axes.x_labels(frame, x, x_ticks, picture.x_label, offset)
    return Drawing(bottom + axes.X_AXIS_ROOM, tuple(shapes))


def _top(panel: Panel) -> float:
    """The upper end of a panel's axis."""
    highest = max((v for line in _stacked(panel) for v in line.y if math.isfinite(v)), default=0.0)
    return max(panel.top, highest * 1.06) if highest > LEAST else panel.top or 1.0


def _stacked(panel: Panel) -> Sequence[Line]:
    """The lines as they are drawn: each on top of those before it where they are stacked."""
    if not panel.is_stacked:
        return panel.lines
    sums: list[Line] = []
    for line in panel.lines:
        y = line.y if not sums else tuple(a + b for a, b in zip(sums[-1].y, line.y, strict=True))
        sums.append(Line(line.label, line.x, y, line.colour))
    return sums


def _x_axis(picture: Timeline, left: float) -> tuple[Scale, Ticks, str]:
    """The scale over all lines and the window, a little wider; its ticks; the date that these leave out."""
    every = [at for panel in picture.panels for line in panel.lines for at in line.x]
    every += picture.window or ()
    low, high = min(every), max(every)
    margin = 0.01 * (high - low) or 0.5
    scale = Scale(low - margin, high + margin, left, WIDTH - axes.RIGHT)
    if picture.zone is None:
        return scale, axes.sample_ticks(scale), ""
    return scale, *axes.time_ticks(scale, picture.zone)


def _entries(panel: Panel) -> list[Entry]:
    return [
        Entry(line.legend, "block", area_colour(line.colour))
        if panel.is_stacked
        else Entry(line.legend, "line", line_colour(line.colour), _width(line), _dash(line), _is_sparse(line))
        for line in panel.lines
        if line.label
    ]


def _width(line: Line) -> float:
    """The first device is the one that the finding is about."""
    return 1.7 if line.colour == 0 else 1.3


def _dash(line: Line) -> tuple[float, ...]:
    return DASHES[line.colour % len(DASHES)]


def _is_sparse(line: Line) -> bool:
    return len(line.x) <= FEW_POINTS


def _panel(
    panel: Panel, frame: Frame, x: Scale, y: Scale, ticks: Ticks, window: tuple[float, float] | None
) -> list[Shape]:
    """The shade, the grid and the lines, the first of them on top."""
    shapes: list[Shape] = []
    if window:
        start, end = map(x, window)
        shapes.append(bar(start, frame.top, end, frame.bottom, SHADE))
    shapes += axes.y_axis(frame, y, ticks)
    if panel.is_stacked:
        shapes += _areas(panel, x, y)
        if window:
            # the areas hide the shade
            levels = (frame.top, frame.bottom)
            shapes += [Stroke((at, at), levels, MUTED, 0.9, DOTTED) for at in (start, end)]
        return shapes
    for line in sorted(panel.lines, key=lambda line: line.colour == 0):
        across, up = list(map(x, line.x)), list(map(y, line.y))
        colour = line_colour(line.colour)
        shapes.append(Stroke(across, up, colour, _width(line), _dash(line)))
        if _is_sparse(line):
            shapes.append(Dots(across, up, colour, axes.DOT))
    return shapes


def _areas(panel: Panel, x: Scale, y: Scale) -> list[Shape]:
    """Each line's values on top of those before, as an area with an edge; the upper edge is the sum."""
    edges: list[Shape] = []
    areas: list[Shape] = []
    floor = [y(0.0)] * len(panel.lines[0].y)
    for line in _stacked(panel):
        across, up = list(map(x, line.x)), list(map(y, line.y))
        points = zip(across, floor, up, strict=True)
        for is_known, stretch in groupby(points, lambda point: not math.isnan(sum(point))):
            if is_known:
                places, low, high = zip(*stretch, strict=True)
                there_and_back = ((*places, *places[::-1]), (*high, *low[::-1]))
                areas.append(Fill(*there_and_back, area_colour(line.colour)))
        edges.append(Stroke(across, up, line_colour(line.colour), 1.3, _dash(line)))
        floor = up
    return areas + edges


def _room_for(labels: Iterable[str], is_bold: bool = False) -> float:
    """The left margin as wide as the longest label of the rows."""
    return 14.0 + max(text_width(label, axes.TITLE, is_bold) for label in labels)


def _row_label(frame: Frame, label: str, level: float, is_bold: bool = False) -> Words:
    return Words(frame.left - 5, level + 3.3, label, axes.TITLE, INK, "end", is_bold)


def _bars(picture: Bars) -> Drawing:
    """Panels side by side that share their rows."""
    most = max(len(panel.groups) for panel in picture.panels)
    row = BAR * most + BETWEEN_ROWS
    left = _room_for(picture.labels, is_bold=bool(picture.marked))
    count = len(picture.panels)
    width = (WIDTH - axes.RIGHT - left - BETWEEN_PANELS * (count - 1)) / count
    entries = [
        [Entry(label, "block", line_colour(at)) for at, (label, _) in enumerate(panel.groups)]
        for panel in picture.panels
    ]
    entries = [each if len(each) > 1 else [] for each in entries]
    panels = list(zip(picture.panels, entries, strict=True))
    is_beside = all(axes.has_room_beside(panel.title, own, width) for panel, own in panels)
    above = 0.0 if is_beside else max(axes.legend_height(own, width) for own in entries)
    top = axes.TITLE_ROOM + above
    bottom = top + row * len(picture.labels)
    shapes: list[Shape] = []
    for at, (panel, own) in enumerate(panels):
        start = left + at * (width + BETWEEN_PANELS)
        frame = Frame(start, top, start + width, bottom)
        shapes.append(axes.title(frame, panel.title, above))
        if own:
            shapes += (
                axes.legend_beside(frame, own) if is_beside else axes.legend(own, start, top - above, width)
            )
        shapes += _bar_panel(panel, frame, row)
    first = Frame(left, top, left + width, bottom)
    for at, label in enumerate(picture.labels):
        shapes.append(_row_label(first, label, top + (at + 0.5) * row, at in picture.marked))
    return Drawing(bottom + 5.8, tuple(shapes))


def heatmap_frame(picture: Heatmap) -> Frame:
    """Where the cells of a heatmap are; the rows share its height."""
    left = _room_for(picture.labels, is_bold=bool(picture.marked))
    top = axes.TITLE_ROOM + axes.legend_height(_heat_entries(picture), WIDTH - axes.RIGHT - left)
    return Frame(left, top, WIDTH - axes.RIGHT, top + HEAT_ROW * len(picture.labels))


def _heat_entries(picture: Heatmap) -> list[Entry]:
    return [
        Entry(f"from {wording.number(level)} {picture.unit}".rstrip(), "block", colour)
        for level, colour in zip(picture.levels, HEATS, strict=True)
    ]


def _heatmap(picture: Heatmap) -> Drawing:
    """A row of cells for each label; one shape for all cells of a colour."""
    frame = heatmap_frame(picture)
    entries = _heat_entries(picture)
    room = frame.right - frame.left
    x = Scale(picture.start, picture.end, frame.left, frame.right)
    ticks, offset = (axes.sample_ticks(x), "") if picture.zone is None else axes.time_ticks(x, picture.zone)
    shapes: list[Shape] = axes.legend(entries, frame.left, 2.0, room)
    shapes.append(axes.title(frame, picture.title))
    cells: dict[str, tuple[list[float], list[float]]] = {}
    width = room / max(1, len(picture.rows[0]))
    for row, values in enumerate(picture.rows):
        top = frame.top + row * HEAT_ROW + 0.6
        bottom = top + HEAT_ROW - 1.2
        at = 0
        for level, stretch in groupby(bisect_right(picture.levels, v) if v >= 0 else 0 for v in values):
            start, at = at, at + len(list(stretch))
            if level:
                across, down = cells.setdefault(HEATS[level - 1], ([], []))
                left, right = (frame.left + edge * width for edge in (start, at))
                across += (left, right, right, left, math.nan)
                down += (top, top, bottom, bottom, math.nan)
        label = picture.labels[row]
        shapes.append(_row_label(frame, label, (top + bottom) / 2, row in picture.marked))
    shapes += [Fill(across, down, colour) for colour, (across, down) in cells.items()]
    shapes.append(axes.base(frame, x, ticks))
    shapes += axes.x_labels(frame, x, ticks, picture.x_label, offset)
    return Drawing(frame.bottom + axes.X_AXIS_ROOM, tuple(shapes))


def _bar_panel(panel: BarPanel, frame: Frame, row: float) -> list[Shape]:
    """The bars of each row, the first group's on top, with a number behind each."""
    numbers = [wording.number(value) for _, values in panel.groups for value in values]
    # room for the number behind the longest bar
    room = max(text_width(number, axes.LEGEND) for number in numbers) + 3
    scale = Scale(0.0, panel.top or 1.0, frame.left, frame.right - room)
    above = (row - BAR * len(panel.groups)) / 2
    shapes: list[Shape] = []
    for at, (_, values) in enumerate(panel.groups):
        for number, value in enumerate(values):
            top = frame.top + number * row + above + at * BAR
            end = scale(value) if math.isfinite(value) else frame.left
            if end > frame.left:
                shapes.append(bar(frame.left, top + 1, end, top + BAR - 1, line_colour(at)))
            shapes.append(Words(end + 3, top + BAR / 2 + 3.1, wording.number(value), axes.LEGEND, INK))
    return shapes


def _intervals(picture: Intervals) -> Drawing:
    """A row for each ratio, on one logarithmic axis."""
    left = _room_for(picture.labels)
    top = axes.TITLE_ROOM
    frame = Frame(left, top, WIDTH - axes.RIGHT, top + ROW_OF_INTERVALS * len(picture.labels))
    known = [v for v in (*picture.ratios, *picture.lows, *picture.highs) if math.isfinite(v)]
    x = frame.x(min(0.7, 0.85 * min(known)), max(1.4, 1.18 * max(known)), is_log=True)
    shapes: list[Shape] = [axes.title(frame, picture.x_label)]
    if picture.band:
        low, high = (min(max(edge, x.low), x.high) for edge in picture.band)
        shapes.append(bar(x(low), frame.top, x(high), frame.bottom, SHADE))
    shapes.append(Stroke((x(1.0), x(1.0)), (frame.top, frame.bottom), MUTED, 0.9))
    rows = zip(picture.labels, picture.ratios, picture.lows, picture.highs, strict=True)
    for place, (label, ratio, low, high) in enumerate(rows):
        level = frame.top + (place + 0.5) * ROW_OF_INTERVALS
        is_far = not 1 - 1e-9 <= ratio <= 1 + 1e-9 and (low > 1 or high < 1)
        colour = line_colour(1 if is_far else 0)
        shapes.append(Stroke((x(low), x(high)), (level, level), colour, 2.2))
        shapes.append(Dots((x(ratio),), (level,), colour, MARK, math.isfinite(low)))
        shapes.append(_row_label(frame, label, level))
    ticks = axes.log_ticks(x, lambda value: f"×{wording.number(value)}", is_upright=False)
    shapes.append(axes.base(frame, x, ticks))
    shapes += axes.x_labels(frame, x, ticks)
    return Drawing(frame.bottom + axes.X_AXIS_ROOM - 13, tuple(shapes))


def _ladder(picture: RateByDepth) -> Drawing:
    """A dot for each load level, with the bounds."""
    every = (*picture.inside, *picture.outside)
    names = {line.label: line.colour for line in every}
    entries = [Entry(label, "dot", line_colour(at)) for label, at in names.items() if len(names) > 1]
    entries += _bound_entries(picture)
    flight = [value for line in every for value in line.x]
    rates = [value for line in every for value in line.y]
    is_wide = max(flight) > 20 * min(flight) and max(rates) > 0
    highest = max(rates)
    if _ceiling(picture) <= IN_REACH * highest:
        # what is left below it is what the picture is about
        highest = max(highest, _ceiling(picture))
    if is_wide:
        lowest = min(rate for rate in rates if rate > 0)
        x_range, y_range = (0.8 * min(flight), 1.3 * max(flight)), (0.7 * lowest, 1.6 * highest)
    else:
        x_range, y_range = (0.0, 1.15 * max(flight)), (0.0, highest * 1.15 or 1.0)
    y_ticks = (
        axes.log_ticks(Scale(*y_range, LADDER_HEIGHT, 0.0, is_log=True), is_upright=True)
        if is_wide
        else axes.value_ticks(y_range[1])
    )
    left = axes.left_margin([y_ticks])
    room = WIDTH - axes.RIGHT - left
    top = axes.TITLE_ROOM + axes.legend_height(entries, room)
    frame = Frame(left, top, WIDTH - axes.RIGHT, top + LADDER_HEIGHT)
    x, y = frame.x(*x_range, is_log=is_wide), frame.y(*y_range, is_log=is_wide)
    x_ticks = axes.log_ticks(x, is_upright=False) if is_wide else axes.value_ticks(x.high, 9)
    shapes = axes.legend(entries, left, 2.0, room)
    shapes.append(axes.title(frame, "Requests per second"))
    shapes += axes.y_axis(frame, y, y_ticks)
    shapes.append(axes.base(frame, x, x_ticks))
    shapes += _bounds(picture, frame, x, y)
    for is_filled, lines in ((False, picture.outside), (True, picture.inside)):
        for line in lines:
            places = list(map(x, line.x)), list(map(y, line.y))
            shapes.append(Dots(*places, line_colour(line.colour), MARK, is_filled))
    told = "requests in flight" + (" (both axes logarithmic)" if is_wide else "")
    shapes += axes.x_labels(frame, x, x_ticks, told)
    return Drawing(frame.bottom + axes.X_AXIS_ROOM, tuple(shapes))


def _bound_entries(picture: RateByDepth) -> list[Entry]:
    if math.isnan(picture.alone_ms):
        return []
    told = f"bound: in flight ÷ {wording.number(picture.alone_ms)} ms alone"
    entries = [Entry(told, "line", MUTED, 1.2, DASHES[1])]
    if not math.isnan(picture.servers):
        entries.append(
            Entry(f"bound and knee: {wording.number(picture.servers)} served at once", "line", MUTED, 1.2)
        )
    return entries


def _ceiling(picture: RateByDepth) -> float:
    """The rate that as many as are served at once make; NaN where that is unknown."""
    return picture.servers * 1000 / picture.alone_ms


def _bounds(picture: RateByDepth, frame: Frame, x: Scale, y: Scale) -> list[Shape]:
    """The rate without any queue, and the ceiling where several are served at once, within the frame."""
    if math.isnan(picture.alone_ms):
        return []
    per_request = 1000 / picture.alone_ms
    # a straight line on both kinds of axes
    low, high = max(x.low, y.low / per_request), min(x.high, y.high / per_request)
    shapes: list[Shape] = []
    if low < high:
        ends = (y(low * per_request), y(high * per_request))
        shapes.append(Stroke((x(low), x(high)), ends, MUTED, 1.2, DASHES[1]))
    ceiling = y(_ceiling(picture))
    if not math.isnan(ceiling):
        shapes.append(Stroke((frame.left, frame.right), (ceiling, ceiling), MUTED, 1.2))
    knee = x(picture.servers)
    if not math.isnan(knee):
        level = frame.top if math.isnan(ceiling) else ceiling
        shapes.append(Stroke((knee, knee), (frame.bottom, level), MUTED, 1.2, DOTTED))
    return shapes
