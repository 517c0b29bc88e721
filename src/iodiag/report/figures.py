"""Draws the charts with matplotlib, which is imported nowhere else and only when a chart is drawn.

An SVG for a page carries no colours of its own but CSS variables, so that it fits a light and a
dark page alike; a PNG stands on a white card. The same report always gives the same bytes.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from iodiag.report import _stack_drawing, _text
from iodiag.report._canvas import (
    COLOURS,
    DASHES,
    INK,
    MUTED,
    SHADE,
    WIDTH_IN,
    Palette,
    figure,
    legend,
    panel_legend,
    title,
    x_title,
)
from iodiag.report._chart import BarPanel, Bars, Intervals, Ladder, Line, Panel, Picture, Stack, Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def svg(picture: Picture, prefix: str) -> str:
    """An `<svg>` element to stand in a page; its ids begin with `prefix`, its text stays text."""
    with _settings():
        drawn = _draw(picture, Palette(is_svg=True))
        buffer = io.StringIO()
        drawn.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<style[^>]*>[^<]*</style>", "", text)
    # ids of several charts share one page
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{prefix}-", text)
    text = re.sub(
        r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" aria-hidden="true">', text, count=1
    )
    text = re.sub(r' (?:d|x|y)="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), text)
    for placeholder, (variable, _) in COLOURS.items():
        text = text.replace(placeholder, variable)
    return re.sub(r"\n\s*", "\n", text).strip()


def png(picture: Picture) -> bytes:
    """The same chart as a PNG on a white ground."""
    with _settings():
        drawn = _draw(picture, Palette(is_svg=False))
        buffer = io.BytesIO()
        drawn.savefig(buffer, format="png", dpi=144, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


def _settings() -> Any:
    from matplotlib import rc_context

    return rc_context(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "iodiag",
            "text.parse_math": False,
            "font.family": ["DejaVu Sans"],
            "font.size": 9.0,
            "path.simplify": True,
            "axes.unicode_minus": False,
        }
    )


def _draw(picture: Picture, palette: Palette) -> Figure:
    if isinstance(picture, Timeline):
        return _timeline(picture, palette)
    if isinstance(picture, Bars):
        return _bars(picture, palette)
    if isinstance(picture, Intervals):
        return _intervals(picture, palette)
    if isinstance(picture, Stack):
        return _stack_drawing.stack(picture, palette)
    return _ladder(picture, palette)


def _timeline(picture: Timeline, palette: Palette) -> Figure:
    names = [tuple(line.label for line in panel.lines if line.label) for panel in picture.panels]
    told = [labels for labels in names if labels]
    # one legend for all where all say the same, else one for each panel
    shared = told[0] if len(told) > 1 and len(set(told)) == 1 else ()
    drawn, axes = figure(len(picture.panels), palette, 1.1, shared)
    for axis, panel, labels in zip(axes, picture.panels, names, strict=True):
        title(axis, panel.title, palette)
        if picture.window:
            start, end = (_x(picture, value) for value in picture.window)
            axis.axvspan(start, end, color=palette[SHADE], linewidth=0, zorder=0)
            if panel.is_stacked:
                # the areas hide the shade
                axis.vlines(
                    [start, end],
                    0,
                    1,
                    transform=axis.get_xaxis_transform(),
                    color=palette[MUTED],
                    linewidth=0.9,
                    linestyle=DASHES[4],
                )
        if panel.is_stacked:
            handles = _areas(axis, picture, panel, palette)
        else:
            handles = [_plot(axis, picture, line, palette) for line in panel.lines]
        axis.margins(x=0.01)
        highest = max((v for o in panel.lines for v in o.y if math.isfinite(v)), default=0.0)
        axis.set_ylim(0, max(panel.top, highest * 1.06) or 1.0)
        if shared and labels and not drawn.legends:
            legend(drawn, handles, labels, palette)
        elif labels and not shared:
            panel_legend(axis, handles, labels, palette)
    _x_axis(axes[-1], picture, palette)
    return drawn


def _areas(axis: Axes, picture: Timeline, panel: Panel, palette: Palette) -> list[Any]:
    """Each line's values on top of those before, as an area with an edge; the upper edge is the sum."""
    floor = [0.0] * len(panel.lines[0].y)
    handles = []
    for line in panel.lines:
        x = [_x(picture, value) for value in line.x]
        top = [low + high for low, high in zip(floor, line.y, strict=True)]
        colour = palette.line(line.colour)
        handles.append(axis.fill_between(x, floor, top, color=palette.area(line.colour), linewidth=0))
        axis.plot(x, top, color=colour, linestyle=DASHES[line.colour], linewidth=1.3, zorder=2)
        floor = top
    return handles


def _x(picture: Timeline, value: float) -> float:
    """Matplotlib counts time in days since 1970."""
    return value / 86400 if picture.zone else value


def _plot(axis: Axes, picture: Timeline, line: Line, palette: Palette) -> Any:
    is_sparse = len(line.x) <= 40
    (handle,) = axis.plot(
        [_x(picture, value) for value in line.x],
        line.y,
        color=palette.line(line.colour),
        linestyle=DASHES[line.colour % len(DASHES)],
        linewidth=1.7 if line.colour == 0 else 1.3,
        marker="o" if is_sparse else None,
        markersize=3,
        # the first device is the one that the finding is about
        zorder=3 if line.colour == 0 else 2,
    )
    return handle


def _x_axis(axis: Axes, picture: Timeline, palette: Palette) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    x_title(axis, picture.x_label, palette)
    if picture.zone:
        locator = AutoDateLocator(tz=picture.zone, maxticks=8)  # type: ignore[no-untyped-call]
        axis.xaxis.set_major_locator(locator)
        formatter = ConciseDateFormatter(  # type: ignore[no-untyped-call]
            locator,
            tz=picture.zone,
            formats=["%Y", "%Y-%m", "%m-%d", "%H:%M", "%H:%M", "%H:%M:%S"],
            zero_formats=["", "%Y", "%Y-%m", "%m-%d", "%H:%M", "%H:%M"],
            offset_formats=["", "%Y", "%Y-%m", "%Y-%m-%d", "%Y-%m-%d", "%Y-%m-%d"],
        )
        axis.xaxis.set_major_formatter(formatter)
        axis.xaxis.get_offset_text().set(color=palette[MUTED], fontsize=8)
    else:
        axis.xaxis.set_major_locator(MaxNLocator(10, integer=True))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda at, _: _text.count(round(at)) if at > 0 else ""))


def _bars(picture: Bars, palette: Palette) -> Figure:
    most = max(len(panel.groups) for panel in picture.panels)
    inches = (0.2 * most + 0.08) * len(picture.labels)
    drawn, axes = figure(1, palette, inches, columns=len(picture.panels), bottom=0.08)
    for axis, panel in zip(axes, picture.panels, strict=True):
        _bar_panel(axis, panel, 0.8 / most, palette)
    first = axes[0]
    first.set_ylim(len(picture.labels) - 0.5, -0.5)
    first.set_yticks(range(len(picture.labels)), picture.labels)
    first.tick_params(axis="y", labelcolor=palette[INK], labelsize=9)
    for at in picture.marked:
        first.get_yticklabels()[at].set_fontweight("bold")
    _room_for(drawn, picture.labels)
    return drawn


def _bar_panel(axis: Axes, panel: BarPanel, height: float, palette: Palette) -> None:
    title(axis, panel.title, palette)
    axis.grid(visible=False, axis="y")
    highest = max((v for _, values in panel.groups for v in values if math.isfinite(v)), default=0.0) or 1.0
    handles = []
    for at, (_, values) in enumerate(panel.groups):
        places = [row + (at - (len(panel.groups) - 1) / 2) * height for row in range(len(values))]
        known = [value if math.isfinite(value) else 0.0 for value in values]
        handles.append(axis.barh(places, known, height=height * 0.86, color=palette.line(at)))
        for place, value in zip(places, values, strict=True):
            reach = value if math.isfinite(value) else 0.0
            axis.text(
                reach + highest * 0.015,
                place,
                _text.number(value),
                va="center",
                fontsize=8.5,
                color=palette[INK],
            )
    # room for the number beside the longest bar
    axis.set_xlim(0, highest * 1.25)
    axis.set_xticks([])
    axis.spines["bottom"].set_visible(False)
    if len(panel.groups) > 1:
        panel_legend(axis, handles, [label for label, _ in panel.groups], palette)


def _room_for(drawn: Figure, labels: Iterable[str]) -> None:
    """The left margin as wide as the longest label of the y axis."""
    drawn.subplots_adjust(left=(0.2 + 0.082 * max(map(len, labels))) / WIDTH_IN)


def _intervals(picture: Intervals, palette: Palette) -> Figure:
    count = len(picture.labels)
    drawn, (axis,) = figure(1, palette, 0.27 * count)
    title(axis, picture.x_label, palette)
    axis.set_xscale("log")
    axis.grid(visible=False, axis="y")
    if picture.band:
        axis.axvspan(*picture.band, color=palette[SHADE], linewidth=0, zorder=0)
    axis.axvline(1.0, color=palette[MUTED], linewidth=0.9, zorder=1)
    known = [v for v in (*picture.ratios, *picture.lows, *picture.highs) if math.isfinite(v)]
    for place, (ratio, low, high) in enumerate(zip(picture.ratios, picture.lows, picture.highs, strict=True)):
        is_far = not 1 - 1e-9 <= ratio <= 1 + 1e-9 and (low > 1 or high < 1)
        colour = palette.line(1 if is_far else 0)
        axis.plot((low, high), (place, place), color=colour, linewidth=2.2, solid_capstyle="butt")
        _dots(axis, (ratio,), (place,), colour, math.isfinite(low))
    axis.set_xlim(min(0.7, 0.85 * min(known)), max(1.4, 1.18 * max(known)))
    axis.set_ylim(count - 0.5, -0.5)
    axis.set_yticks(range(count), picture.labels)
    axis.tick_params(axis="y", labelcolor=palette[INK], labelsize=9)
    _ratio_ticks(axis)
    _room_for(drawn, picture.labels)
    return drawn


def _ratio_ticks(axis: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"×{_text.number(float(value))}"))


def _ladder(picture: Ladder, palette: Palette) -> Figure:
    every = (*picture.inside, *picture.outside)
    names = {line.label: line.colour for line in every}
    labels = [*(names if len(names) > 1 else ()), *_bound_labels(picture)]
    drawn, (axis,) = figure(1, palette, 2.4, labels)
    title(axis, "Requests per second", palette)
    for is_inside, lines in ((False, picture.outside), (True, picture.inside)):
        for line in lines:
            _dots(axis, line.x, line.y, palette.line(line.colour), is_inside)
    flight = [value for line in every for value in line.x]
    rates = [value for line in every for value in line.y]
    is_wide = max(flight) > 20 * min(flight) and max(rates) > 0
    if is_wide:
        _both_logarithmic(axis)
        axis.set_xlim(0.8 * min(flight), 1.3 * max(flight))
        axis.set_ylim(0.7 * min((rate for rate in rates if rate > 0), default=1.0), 1.6 * max(rates) or 1.0)
    else:
        axis.set_xlim(0, 1.15 * max(flight))
        axis.set_ylim(0, max(rates) * 1.15 or 1.0)
    _in_flight_axis(axis)
    x_title(axis, "requests in flight" + (" (both axes logarithmic)" if is_wide else ""), palette)
    marks = [_dots(axis, (), (), palette.line(colour), True) for colour in names.values() if len(names) > 1]
    marks += _bounds(axis, picture, palette)
    if labels:
        legend(drawn, marks, labels, palette)
    return drawn


def _bound_labels(picture: Ladder) -> list[str]:
    if math.isnan(picture.alone_ms):
        return []
    labels = [f"bound: in flight ÷ {_text.number(picture.alone_ms)} ms alone"]
    if not math.isnan(picture.servers):
        labels.append(f"bound and knee: {_text.number(picture.servers)} served at once")
    return labels


def _bounds(axis: Axes, picture: Ladder, palette: Palette) -> list[Any]:
    """The rate without any queue, and the ceiling where several are served at once, over the axes' range."""
    if math.isnan(picture.alone_ms):
        return []
    low, high = axis.get_xlim()
    per_request = 1000 / picture.alone_ms
    knee = picture.servers if low < picture.servers < high else high
    steps = [low + (high - low) * at / 50 for at in range(51)]
    style: dict[str, Any] = {"color": palette[MUTED], "linewidth": 1.2, "zorder": 1}
    handles = list(axis.plot(steps, [at * per_request for at in steps], linestyle=DASHES[1], **style))
    if not math.isnan(picture.servers):
        ceiling = picture.servers * per_request
        handles += axis.plot([low, high], [ceiling, ceiling], linestyle="-", **style)
        if knee < high:
            axis.plot([knee, knee], [axis.get_ylim()[0], ceiling], linestyle=DASHES[4], **style)
    return handles


def _dots(axis: Axes, x: Sequence[float], y: Sequence[float], colour: str, is_filled: bool) -> Any:
    (dots,) = axis.plot(
        x,
        y,
        linestyle="none",
        marker="o",
        markersize=4.5,
        markerfacecolor=colour if is_filled else "none",
        markeredgecolor=colour,
        markeredgewidth=0.9,
    )
    return dots


def _both_logarithmic(axis: Axes) -> None:
    """Where the load levels lie far apart; a bound in proportion is a straight line then too."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_xscale("log")
    axis.set_yscale("log")
    for side in (axis.xaxis, axis.yaxis):
        side.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        side.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _text.number(float(value))))


def _in_flight_axis(axis: Axes) -> None:
    from matplotlib.ticker import FuncFormatter

    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _text.number(float(value))))
