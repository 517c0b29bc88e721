"""The picture of the first screen: the devices in question over time, in a chart and in characters."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from iodiag.model.finding import Finding
from iodiag.model.report import Report, Series
from iodiag.report import wording
from iodiag.report.charts import timeline_chart
from iodiag.report.charts.chart import LINES_IN_PANEL, Line, Timeline, is_drawable, label_of

CELLS = 48
DEVICES_TO_CHOOSE = 24
_BARS = "▁▂▃▄▅▆▇█"
_SPOKEN = (
    (r"\d ms\b|\d s (each|per|at)|latency|await", "await_ms"),
    (r"[kM]B/s", "kb_per_s"),
    (r"busy|util", "util_pct"),
    (r"in flight|queue", "queue_depth"),
)
"""What a sentence speaks of, by the column that shows it."""


def picture(report: Report, lead: Finding | None) -> Timeline | None:
    """One panel of the lead's devices with their peers and members, or of the busiest device."""
    finding = lead or Finding("", "info", "low", "")
    if lead is not None and not lead.devices:
        return timeline_chart.host_timeline(report, lead, 1)
    series = _beside(report, lead)
    spoken = [column for words, column in _SPOKEN if lead and re.search(words, lead.summary)]
    for column in dict.fromkeys((*spoken, "await_ms", "queue_depth", "kb_per_s", "ios_per_s", "util_pct")):
        chart = timeline_chart.one_panel(report, finding, series, column)
        if chart is not None:
            return chart
    return None


def _beside(report: Report, lead: Finding | None) -> list[Series]:
    """The series to draw: the devices in question, what they are compared with, what they stand on."""
    known = {one.name: one for one in timeline_chart.on_host(report, lead) if is_device(one)}
    if lead is None:
        in_verdict = report.verdict.devices if report.verdict else ()
        named = [known[name] for name in in_verdict if name in known]
        return named or list(known.values())[:LINES_IN_PANEL]
    members = {d.name: d.members for d in report.devices if lead.host in (None, d.host)}
    below = [member for name in lead.devices for member in members.get(name, ())]
    names = dict.fromkeys((*lead.devices, *lead.peers, *below))
    return [known[name] for name in names if name in known][:LINES_IN_PANEL]


def choices(report: Report, lead: Finding | None, first: Timeline) -> list[tuple[str, Timeline]]:
    """What may take the place of the first picture: each device with all that is known of it over time."""
    finding = lead or Finding("", "info", "low", "")
    has_hosts = len(report.hosts) > 1
    found = []
    for one in filter(is_device, timeline_chart.on_host(report, lead)):
        chart = timeline_chart.timeline(report, finding, [one])
        if chart is not None and len(found) < DEVICES_TO_CHOOSE:
            # its samples may be counted otherwise than those of the finding's device
            window = first.window if (chart.zone is None) == (first.zone is None) else None
            whose = f"{one.name} on {one.host}" if has_hosts and one.host else one.name
            found.append((label_of(whose), replace(chart, window=window)))
    return found


def is_device(series: Series) -> bool:
    """Whether a series is of a device, and not of the host's CPUs, tasks or swap."""
    return not {
        "idle_pct",
        "iowait_pct",
        "user_pct",
        "run_queue",
        "blocked",
        "swap_in_kb_per_s",
    }.intersection(series.columns)


def strip(chart: Timeline | None) -> tuple[str, ...]:
    """The first panel as a row of bars for each line, all on one scale; () for a chart without any."""
    if chart is None or not chart.panels or not chart.panels[0].lines:
        return ()
    panel = chart.panels[0]
    top = max((y for line in panel.lines for y in line.y if is_drawable(y)), default=0.0)
    wide = max(len(line.legend) for line in panel.lines)
    low = min(x for line in panel.lines for x in line.x)
    high = max(x for line in panel.lines for x in line.x)
    count = max(2, min(CELLS, max(len(line.x) for line in panel.lines)))
    rows = [f"{line.legend:<{wide}} {_bars(line, low, high, top, count)}" for line in panel.lines]
    ruler = _ruler(chart.window, low, high, count)
    shaded = [f"{'':<{wide}} {ruler} {chart.window_words}"] if ruler else []
    return (f"{panel.title}, up to {wording.number(top)}", *rows, *shaded)


def _bars(line: Line, low: float, high: float, top: float, count: int) -> str:
    """The largest value of each cell of time as one of eight heights; a space where there is none."""
    cells = [math.nan] * count
    for x, y in zip(line.x, line.y, strict=True):
        at = _cell(x, low, high, count)
        if is_drawable(y) and not y <= cells[at]:
            cells[at] = y
    return "".join(_bar(value, top) for value in cells)


def _bar(value: float, top: float) -> str:
    if math.isnan(value):
        return " "
    return _BARS[min(len(_BARS) - 1, int(max(0.0, value) / top * len(_BARS)))] if top > 0 else _BARS[0]


def _cell(x: float, low: float, high: float, count: int) -> int:
    return min(count - 1, max(0, round((x - low) / (high - low) * (count - 1)))) if high > low else 0


def _ruler(window: Sequence[float] | None, low: float, high: float, count: int) -> str:
    if window is None:
        return ""
    half = (high - low) / (count - 1) / 2
    start, end = _cell(window[0] + half, low, high, count), _cell(window[1] - half, low, high, count)
    return (" " * start + "^" * (end - start + 1)).ljust(count)
