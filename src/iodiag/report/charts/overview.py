"""The picture of the first screen: the devices in question over time, in a chart and in characters."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from iodiag.model.finding import Finding
from iodiag.model.report import DeviceSummary, HostTable, Report, Series
from iodiag.report import wording
from iodiag.report.appendix import with_slowest
from iodiag.report.charts import timeline_chart
from iodiag.report.charts.chart import LINES_IN_PANEL, BarPanel, Bars, Line, Timeline, is_drawable, label_of

CELLS, FEWEST_CELLS, ROW_CELLS, LINE_WIDTH = 48, 12, 24, 80
ROWS_SHOWN = 6
DEVICES_TO_CHOOSE = 24
_BARS = "▁▂▃▄▅▆▇█"
_SPOKEN = (
    (r"completed no|no request (?:was )?completed|nothing completed", "ios_per_s"),
    (r"rate limit: \S+ [kMG]i?B/s of writes", "write_kb_per_s"),
    (r"rate limit: \S+ [kMG]i?B/s of reads", "read_kb_per_s"),
    (r"rate limit: \S+ [kMG]i?B/s", "kb_per_s"),
    (r"\d IOPS", "ios_per_s"),
    (r"^[^;]*(\breads? (of [^;]{1,30} )?takes?\b|\d m?s for a read\b)", "read_await_ms"),
    (r"^[^;]*(\bwrites? (of [^;]{1,30} )?takes?\b|\d m?s for a write\b)", "write_await_ms"),
    (r"\d ms\b|\d s (each|per|at)|latency|await", "await_ms"),
    (r"[kMG]i?B/s", "kb_per_s"),
    (r"busy|util", "util_pct"),
    (r"in flight|queue", "queue_depth"),
)
"""What a sentence speaks of, by the column that shows it."""


def picture(report: Report, lead: Finding | None) -> Timeline | Bars | None:
    """What is in question over time, else side by side; None where the capture holds no number to draw."""
    finding = lead or Finding("", "info", "low", "")
    if lead is not None and not lead.devices:
        of_host = timeline_chart.host_timeline(report, finding, 1)
        return of_host or _host_bars(report, lead) or _device_bars(report, lead)
    over_time = _over_time(report, lead) or _device_bars(report, lead)
    return over_time or timeline_chart.host_timeline(report, finding, 1) or _host_bars(report, lead)


def _over_time(report: Report, lead: Finding | None) -> Timeline | None:
    """One panel of the lead's devices with their peers and members, or of the busiest device."""
    finding = lead or Finding("", "info", "low", "")
    series = _beside(report, lead)
    for column in dict.fromkeys(
        (*_spoken(lead), "await_ms", "queue_depth", "kb_per_s", "ios_per_s", "util_pct")
    ):
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


def _device_bars(report: Report, lead: Finding | None) -> Bars | None:
    """The devices in question, else those with most work: how busy, how slow, how fast."""
    host = lead.host if lead else None
    every = {one.name: one for one in report.devices if host in (None, one.host)}
    in_question = lead or report.verdict
    named = in_question.devices if in_question else ()
    below = [member for name in named if name in every for member in every[name].members]
    ranked = sorted(every, key=lambda name: -max(0.0, _typical(every[name], "kb_per_s", *_PARTS["kb_per_s"])))
    order = dict.fromkeys((*named, *(lead.peers if lead else ()), *below, *ranked))
    working = [every[name] for name in order if name in every and _is_working(every[name])]
    columns = _bar_columns(lead)
    _, latency, _ = columns
    parts = _PARTS.get(latency, ())
    shown = with_slowest(working, ROWS_SHOWN, lambda one: max(0.0, _typical(one, latency, *parts)))
    panels = [found for column in columns if (found := _bar_panel(column, shown))]
    if not panels:
        return None
    means = {t.host for t in report.host_tables if t.is_average and t.name == "totals"}
    is_mean = means and all(one.host in means for one in shown)
    of = "an average since boot or over a run" if is_mean else "the only sample"
    if any(one.samples > 1 for one in shown):
        of = "the median of the samples"
    rest = len(working) - len(shown)
    more = f" {wording.plural(rest, 'more device')} not drawn." if rest else ""
    told = [f"{panel.title}: {', '.join(map(wording.number, panel.groups[0][1]))}" for panel in panels]
    labels = tuple(label_of(one.name) for one in shown)
    return Bars(
        caption=f"Side by side, {of}.{more}",
        description=f"{', '.join(labels)}, {of}. {'; '.join(told)}.",
        labels=labels,
        panels=tuple(panels),
        marked=tuple(at for at, one in enumerate(shown) if one.name in named),
    )


_BAR_TITLES = {
    "util_pct": "Busy, %",
    "await_ms": "Latency (await), ms",
    "read_await_ms": "Read latency, ms",
    "write_await_ms": "Write latency, ms",
    "kb_per_s": "Rate, kB/s",
}
_PARTS = {
    "util_pct": (),
    "await_ms": ("read_await_ms", "write_await_ms"),
    "kb_per_s": ("read_kb_per_s", "write_kb_per_s"),
}


def _bar_columns(lead: Finding | None) -> tuple[str, ...]:
    """The columns of the panels; the latency is that of the direction that the finding speaks of."""
    latency = next((column for column in _spoken(lead) if column.endswith("await_ms")), "await_ms")
    return ("util_pct", latency, "kb_per_s")


def _spoken(lead: Finding | None) -> list[str]:
    """The columns of what a finding's sentence speaks of."""
    return [column for words, column in _SPOKEN if lead and re.search(words, lead.summary)]


def _is_working(device: DeviceSummary) -> bool:
    """By its busy share or its bytes; a latency beside none of them is of a request or two in a long time."""
    latency, *others = (
        _typical(device, column, *_PARTS[column]) for column in ("await_ms", "util_pct", "kb_per_s")
    )
    return any(value > 0 for value in others) or (all(map(math.isnan, others)) and latency > 0)


def _median(summary: Mapping[str, Mapping[str, float]], column: str) -> float:
    """NaN where a report, which another program may have written, has none."""
    return summary.get(column, {}).get("median", math.nan)


def _typical(device: DeviceSummary, total: str, *parts: str) -> float:
    """The median of a column; else of its parts the slower one, or the sum. NaN where unknown."""
    medians = {name: _median(device.summary, name) for name in (total, *parts)}
    known = {name: value for name, value in medians.items() if is_drawable(value) and value >= 0}
    if total == "kb_per_s" and _median(device.summary, "discard_kb_per_s") > 0 and len(known) > len(parts):
        del known[total]  # what is discarded moves nothing
    if not known or (total in known and not _is_unaccounted(device, total)):
        return known.get(total, math.nan)
    if total in known:
        return math.nan
    return max(known.values()) if total == "await_ms" else sum(known.values())


def _is_unaccounted(device: DeviceSummary, column: str) -> bool:
    """Whether a zero only says that the kernel does not count it: no time at all, with data moved."""
    timed = [_median(device.summary, name) for name in ("util_pct", "await_ms") if name in device.summary]
    return column != "kb_per_s" and not any(timed) and _typical(device, "kb_per_s", *_PARTS["kb_per_s"]) > 0


def _bar_panel(column: str, shown: Sequence[DeviceSummary]) -> BarPanel | None:
    title, values = _BAR_TITLES[column], [_typical(one, column, *_PARTS.get(column, ())) for one in shown]
    if column.endswith("_ms"):  # nothing was completed, or it is not counted, or it rounds to 0
        values = [value or math.nan for value in values]
    if column == "util_pct":  # more is an error of the kernel, and counted as that
        values = [min(value, 100.0) for value in values]
    known = [value for value in values if value > 0]
    if column == "kb_per_s" and max(known, default=0) >= 10 * 1024:
        # of kB/s two decimals are printed, which are five of MB/s
        title, values = title.replace("kB", "MB"), [round(value / 1024, 5) for value in values]
    return BarPanel(title, (("", tuple(values)),)) if known else None


def _host_bars(report: Report, lead: Finding | None) -> Bars | None:
    """What the processors did in the one sample of them, or the tasks or the swap that a finding is about."""
    tables = [t for t in report.host_tables if (lead.host if lead else None) in (None, t.host)]
    for panel in timeline_chart.host_panels(lead or Finding("", "info", "low", "")):
        for table in tables:
            if found := _bars_of(table, panel):
                return found
    return None


def _bars_of(table: HostTable, panel: timeline_chart.HostPanel) -> Bars | None:
    medians = {label: _median(table.summary, column) for column, label in panel.columns.items()}
    values = {label: value for label, value in medians.items() if is_drawable(value)}
    if not any(value > 0 for value in values.values()):
        return None
    of = "an average since boot or over a run" if table.is_average else "the only sample"
    of = "the median of the samples" if table.samples > 1 else of
    told = ", ".join(f"{label} {wording.number(value)}" for label, value in values.items())
    bars = BarPanel(panel.title, (("", tuple(values.values())),))
    return Bars(f"The host, {of}.", f"{panel.title}, {of}: {told}.", tuple(values), (bars,))


def choices(report: Report, lead: Finding | None, first: Timeline) -> list[tuple[str, Timeline]]:
    """What may take the place of the first picture: each device with all that is known of it over time."""
    finding = lead or Finding("", "info", "low", "")
    has_hosts = len(report.hosts) > 1
    found: list[tuple[str, Timeline]] = []
    for one in filter(is_device, timeline_chart.on_host(report, lead)):
        chart = timeline_chart.timeline(report, finding, [one])
        if chart is not None and len(found) < DEVICES_TO_CHOOSE:
            # its samples may be counted otherwise than those of the finding's device
            window = first.window if (chart.zone is None) == (first.zone is None) else None
            whose = f"{one.name} on {one.host}" if has_hosts and one.host else one.name
            found.append((label_of(whose), replace(chart, window=window)))
    return found


def is_device(series: Series) -> bool:
    """Whether a series is of a device, and not of an NFS mount or the host's CPUs, tasks or swap."""
    return not {
        "idle_pct",
        "iowait_pct",
        "user_pct",
        "run_queue",
        "blocked",
        "swap_in_kb_per_s",
        *timeline_chart.ROUND_TRIPS,
    }.intersection(series.columns)


def sparkline(chart: Timeline | Bars | None) -> tuple[str, ...]:
    """The first panel as a row of bars for each line, all on one scale; () for a chart without any."""
    if isinstance(chart, Bars):
        return _rows_of(chart)
    if chart is None or not chart.panels or not chart.panels[0].lines:
        return ()
    panel = chart.panels[0]
    top = max((y for line in panel.lines for y in line.y if is_drawable(y)), default=0.0)
    wide = max(len(line.legend) for line in panel.lines)
    low = min(x for line in panel.lines for x in line.x)
    high = max(x for line in panel.lines for x in line.x)
    room = LINE_WIDTH - wide - (len(chart.window_words) + 2 if chart.window else 1)
    count = max(2, min(CELLS, max(FEWEST_CELLS, room), max(len(line.x) for line in panel.lines)))
    rows = [f"{line.legend:<{wide}} {_bars(line, low, high, top, count)}" for line in panel.lines]
    half = (high - low) / max(1, max(len(line.x) for line in panel.lines) - 1) / 2
    ruler = _ruler(chart.window, low, high, count, half)
    shaded = [f"{'':<{wide}} {ruler} {chart.window_words}"] if ruler else []
    key = [chart.typical_words] if chart.typical_words else []
    return (f"{panel.title}, up to {wording.number(top)}", *rows, *shaded, *key)


def _rows_of(chart: Bars) -> tuple[str, ...]:
    """A row for each device: a bar for the first panel, and the numbers of all."""
    wide = max(map(len, chart.labels))
    columns = [panel.groups[0][1] for panel in chart.panels]
    top = chart.panels[0].top
    heads = [panel.title for panel in chart.panels]
    rows = []
    for label, values in zip(chart.labels, zip(*columns, strict=True), strict=True):
        cells = round(values[0] / top * ROW_CELLS) if is_drawable(values[0]) and top > 0 else 0
        numbers = (f"{wording.number(value):>{len(head)}}" for head, value in zip(heads, values, strict=True))
        rows.append(f"{label:<{wide}} {_BARS[-1] * cells:<{ROW_CELLS}}  {'  '.join(numbers)}")
    return (f"{'':<{wide + ROW_CELLS + 1}}  {'  '.join(heads)}", *rows)


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


def _ruler(window: Sequence[float] | None, low: float, high: float, count: int, half: float) -> str:
    """Marks below the cells of the window, which is half a sample wider at both ends than its samples."""
    if window is None:
        return ""
    start, end = _cell(window[0] + half, low, high, count), _cell(window[1] - half, low, high, count)
    return (" " * start + "^" * (end - start + 1)).ljust(count)
