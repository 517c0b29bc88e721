"""Draws the charts with matplotlib, which is imported nowhere else and only when a chart is drawn.

An SVG for a page carries no colours of its own but CSS variables, so that it fits a light and a
dark page alike; a PNG stands on a white card. The same report always gives the same bytes.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from iodiag.report import _text
from iodiag.report._picture import Bars, Intervals, Ladder, Line, Picture, Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN = 8.0
BARS_WIDTH_IN = 5.0
_INK, _MUTED, _GRID, _SHADE = "#010101", "#020202", "#030303", "#040404"
_LINES = tuple(f"#0a0a0{at}" for at in range(6))
# what each placeholder becomes: (in an SVG, in a PNG); page.css defines the variables
_COLOURS = {
    _INK: ("currentColor", "#1c2128"),
    _MUTED: ("var(--muted)", "#59636e"),
    _GRID: ("var(--grid)", "#d5dae0"),
    _SHADE: ("var(--shade)", "#fbe9c6"),
    _LINES[0]: ("var(--line-0)", "#1b6ca8"),
    _LINES[1]: ("var(--line-1)", "#c4500b"),
    _LINES[2]: ("var(--line-2)", "#0f7b5f"),
    _LINES[3]: ("var(--line-3)", "#8a4fa3"),
    _LINES[4]: ("var(--line-4)", "#8c6d00"),
    _LINES[5]: ("var(--line-5)", "#5d6670"),
}
_DASHES: tuple[Any, ...] = (
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
        return placeholder if self.is_svg else _COLOURS[placeholder][1]

    def line(self, at: int) -> str:
        """The colour of the line number `at`; they repeat after six."""
        return self[_LINES[at % len(_LINES)]]


def svg(picture: Picture, prefix: str) -> str:
    """An `<svg>` element to stand in a page; its ids begin with `prefix`, its text stays text."""
    with _settings():
        figure = _draw(picture, Palette(is_svg=True))
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None})
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
    for placeholder, (variable, _) in _COLOURS.items():
        text = text.replace(placeholder, variable)
    return re.sub(r"\n\s*", "\n", text).strip()


def png(picture: Picture) -> bytes:
    """The same chart as a PNG on a white ground."""
    with _settings():
        figure = _draw(picture, Palette(is_svg=False))
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=144, facecolor="white", metadata={"Software": None})
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
    return _ladder(picture, palette)


def _figure(
    rows: int, palette: Palette, row_inches: float, width: float = WIDTH_IN, has_legend: bool = True
) -> tuple[Figure, list[Axes]]:
    """Axes below each other on one x axis; the margins are fixed, in inches."""
    from matplotlib.figure import Figure

    top = 0.52 if has_legend else 0.28
    inches = top + 0.48 + rows * row_inches
    figure = Figure(figsize=(width, inches))
    figure.patch.set_alpha(0.0)
    axes = figure.subplots(rows, 1, sharex=True, squeeze=False)[:, 0]
    figure.subplots_adjust(
        left=0.62 / width, right=1 - 0.12 / width, top=1 - top / inches, bottom=0.48 / inches, hspace=0.42
    )
    for axis in axes:
        _dress(axis, palette)
    return figure, list(axes)


def _dress(axis: Axes, palette: Palette) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.patch.set_alpha(0.0)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color(palette[_MUTED])
    axis.tick_params(colors=palette[_MUTED], labelcolor=palette[_MUTED], length=0, labelsize=8)
    axis.tick_params(axis="x", length=3)
    axis.grid(axis="y", color=palette[_GRID], linewidth=0.8)
    axis.set_axisbelow(True)
    axis.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10], min_n_ticks=3))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _text.number(float(value))))


def _title(axis: Axes, text: str, palette: Palette) -> None:
    axis.set_title(text, loc="left", fontsize=9, color=palette[_INK], pad=4)


def _legend(figure: Figure, handles: Sequence[Any], labels: Sequence[str], palette: Palette) -> None:
    figure.legend(
        handles,
        labels,
        loc="upper left",
        bbox_to_anchor=(figure.subplotpars.left, 1.0),
        ncols=min(6, len(labels)),
        frameon=False,
        fontsize=8.5,
        labelcolor=palette[_INK],
        handlelength=2.4,
        columnspacing=1.4,
        borderaxespad=0.2,
        borderpad=0.0,
    )


def _timeline(picture: Timeline, palette: Palette) -> Figure:
    widest = max(picture.panels, key=lambda panel: len(panel.lines))
    has_legend = any(line.label for line in widest.lines)
    figure, axes = _figure(len(picture.panels), palette, 1.1, has_legend=has_legend)
    for axis, panel in zip(axes, picture.panels, strict=True):
        _title(axis, panel.title, palette)
        if picture.window:
            start, end = (_x(picture, value) for value in picture.window)
            axis.axvspan(start, end, color=palette[_SHADE], linewidth=0, zorder=0)
        for line in panel.lines:
            _plot(axis, picture, line, palette)
        axis.margins(x=0.01)
        highest = max((v for o in panel.lines for v in o.y if math.isfinite(v)), default=0.0)
        axis.set_ylim(0, max(panel.top, highest * 1.06) or 1.0)
    _x_axis(axes[-1], picture, palette)
    if has_legend:
        at = picture.panels.index(widest)
        _legend(figure, axes[at].lines, [line.label for line in widest.lines], palette)
    return figure


def _x(picture: Timeline, value: float) -> float:
    """Matplotlib counts time in days since 1970."""
    return value / 86400 if picture.zone else value


def _plot(axis: Axes, picture: Timeline, line: Line, palette: Palette) -> None:
    is_sparse = len(line.x) <= 40
    axis.plot(
        [_x(picture, value) for value in line.x],
        line.y,
        color=palette.line(line.colour),
        linestyle=_DASHES[line.colour % len(_DASHES)],
        linewidth=1.7 if line.colour == 0 else 1.3,
        marker="o" if is_sparse else None,
        markersize=3,
        # the first device is the one that the finding is about
        zorder=3 if line.colour == 0 else 2,
    )


def _x_axis(axis: Axes, picture: Timeline, palette: Palette) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_xlabel(picture.x_label, fontsize=8.5, color=palette[_MUTED])
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
        axis.xaxis.get_offset_text().set(color=palette[_MUTED], fontsize=8)
    else:
        axis.xaxis.set_major_locator(MaxNLocator(10, integer=True))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda at, _: _text.count(round(at)) if at > 0 else ""))


def _bars(picture: Bars, palette: Palette) -> Figure:
    bars, has_legend = len(picture.labels) * len(picture.groups), len(picture.groups) > 1
    inches = 0.22 * bars + 0.06 * len(picture.labels)
    figure, (axis,) = _figure(1, palette, inches, BARS_WIDTH_IN, has_legend)
    _title(axis, picture.x_label, palette)
    axis.grid(visible=False, axis="y")
    height = 0.8 / len(picture.groups)
    highest = max(v for _, values in picture.groups for v in values if math.isfinite(v)) or 1.0
    handles = []
    for at, (_, values) in enumerate(picture.groups):
        places = [row + (at - (len(picture.groups) - 1) / 2) * height for row in range(len(values))]
        known = [value if math.isfinite(value) else 0.0 for value in values]
        handles.append(axis.barh(places, known, height=height * 0.86, color=palette.line(at)))
        for place, value in zip(places, values, strict=True):
            text = _text.number(value)
            reach = value if math.isfinite(value) else 0.0
            axis.text(reach + highest * 0.01, place, text, va="center", fontsize=8.5, color=palette[_INK])
    axis.set_xlim(0, highest * 1.12)
    axis.set_ylim(len(picture.labels) - 0.5, -0.5)
    axis.set_yticks(range(len(picture.labels)), picture.labels)
    axis.tick_params(axis="y", labelcolor=palette[_INK], labelsize=9)
    longest = max(map(len, picture.labels))
    figure.subplots_adjust(left=(0.2 + 0.085 * longest) / BARS_WIDTH_IN)
    if has_legend:
        _legend(figure, handles, [legend for legend, _ in picture.groups], palette)
    return figure


def _intervals(picture: Intervals, palette: Palette) -> Figure:
    count = len(picture.labels)
    figure, (axis,) = _figure(1, palette, 0.27 * count, WIDTH_IN, has_legend=False)
    _title(axis, picture.x_label, palette)
    axis.set_xscale("log")
    axis.grid(visible=False, axis="y")
    if picture.band:
        axis.axvspan(*picture.band, color=palette[_SHADE], linewidth=0, zorder=0)
    axis.axvline(1.0, color=palette[_MUTED], linewidth=0.9, zorder=1)
    known = [v for v in (*picture.ratios, *picture.lows, *picture.highs) if math.isfinite(v)]
    for place, (ratio, low, high) in enumerate(zip(picture.ratios, picture.lows, picture.highs, strict=True)):
        is_far = not 1 - 1e-9 <= ratio <= 1 + 1e-9 and (low > 1 or high < 1)
        colour = palette.line(1 if is_far else 0)
        axis.plot((low, high), (place, place), color=colour, linewidth=2.2, solid_capstyle="butt")
        _dots(axis, (ratio,), (place,), colour, math.isfinite(low))
    axis.set_xlim(min(0.7, 0.85 * min(known)), max(1.4, 1.18 * max(known)))
    axis.set_ylim(count - 0.5, -0.5)
    axis.set_yticks(range(count), picture.labels)
    axis.tick_params(axis="y", labelcolor=palette[_INK], labelsize=9)
    _ratio_ticks(axis)
    longest = max(map(len, picture.labels))
    figure.subplots_adjust(left=(0.2 + 0.078 * longest) / WIDTH_IN)
    return figure


def _ratio_ticks(axis: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"×{_text.number(float(value))}"))


def _ladder(picture: Ladder, palette: Palette) -> Figure:
    every = (*picture.inside, *picture.outside)
    names = {line.label: line.colour for line in every}
    figure, (axis,) = _figure(1, palette, 2.4, has_legend=len(names) > 1)
    _title(axis, "Requests per second", palette)
    for is_inside, lines in ((False, picture.outside), (True, picture.inside)):
        for line in lines:
            _dots(axis, line.x, line.y, palette.line(line.colour), is_inside)
    flight = [value for line in every for value in line.x]
    _in_flight_axis(axis, is_wide=max(flight) > 20 * min(flight))
    axis.set_xlabel("requests in flight", fontsize=8.5, color=palette[_MUTED])
    axis.set_ylim(0, max(value for line in every for value in line.y) * 1.08 or 1.0)
    if len(names) > 1:
        marks = [_dots(axis, (), (), palette.line(colour), True) for colour in names.values()]
        _legend(figure, marks, list(names), palette)
    return figure


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


def _in_flight_axis(axis: Axes, is_wide: bool) -> None:
    """A linear axis, or a logarithmic one where the load levels lie far apart."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    if is_wide:
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _text.number(float(value))))
