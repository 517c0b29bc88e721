"""The finding's window over time: throughput, latency, queue and utilisation; CPU, tasks and swap."""

from __future__ import annotations

import math
import re
import statistics
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timezone, tzinfo
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from iodiag.model.columns import KB_BY_WAY, LATENCIES, RATES
from iodiag.model.finding import Finding
from iodiag.model.report import Report, Series
from iodiag.report import wording
from iodiag.report.charts.chart import (
    LINES_IN_PANEL,
    POINTS_PER_LINE,
    Line,
    Panel,
    Timeline,
    is_drawable,
    label_of,
    line,
    panel,
)

POINTS_IN_TIMELINE = 6000
LAST_SECOND = 250_000_000_000


def on_host(report: Report, finding: Finding | None) -> list[Series]:
    """The series of the finding's host; all of them without one."""
    host = finding.host if finding else None
    return [s for s in report.series if host is None or s.host in (None, host)]


@dataclass(frozen=True)
class HostPanel:
    """Columns of the host that stand in one panel, and what a sentence on them speaks of."""

    title: str
    columns: Mapping[str, str]
    is_stacked: bool = False
    spoken: str = ""


_CPU = HostPanel(
    "CPU, %",
    {
        "user_pct": "user",
        "system_pct": "system",
        "iowait_pct": "iowait",
        "steal_pct": "steal",
        "idle_pct": "idle",
    },
)
_AVAILABLE = HostPanel(
    "CPU available (idle + iowait), %", {"idle_pct": "idle", "iowait_pct": "iowait"}, is_stacked=True
)
_TASKS = HostPanel("Tasks", {"run_queue": "runnable", "blocked": "blocked"}, spoken=r"\btasks?\b")
_SWAPPING = HostPanel(
    "Swapping, kB/s",
    {"swap_in_kb_per_s": "swapped in", "swap_out_kb_per_s": "swapped out"},
    spoken=r"\bswap",
)
_HOST_PANELS = (_CPU, _TASKS, _SWAPPING)
_HOST_COLUMNS = tuple(column for one in _HOST_PANELS for column in one.columns)

ROUND_TRIPS = ("read_round_trip_ms", "write_round_trip_ms")
"""Columns that series of NFS mounts have, and no other."""

_DEVICE_PANELS: tuple[tuple[str, dict[str, str], str], ...] = (
    ("Throughput, kB/s", {"read_kb_per_s": "read", "write_kb_per_s": "write"}, "kb_per_s"),
    ("Requests per second", {"reads_per_s": "reads", "writes_per_s": "writes"}, "ios_per_s"),
    ("Latency (await), ms", {"read_await_ms": "read", "write_await_ms": "write"}, "await_ms"),
    ("Requests in flight", {}, "queue_depth"),
    ("Utilisation, %", {}, "util_pct"),
)


def timeline(report: Report, finding: Finding, series: Sequence[Series]) -> Timeline | None:
    """Throughput, latency, queue and utilisation over time, or None for less than two samples."""
    shown = [one for one in series if len(one.position) > 1][:LINES_IN_PANEL]
    if not shown:
        return None
    has_clock = all(map(_has_clock, shown))
    axes = [_axis(one, has_clock) for one in shown]
    rest = len(series) - len(shown)
    more = f" and {wording.plural(rest, 'more device')} not drawn" if rest > 0 else ""
    return _over_time(
        report,
        finding,
        ", ".join(label_of(one.name) for one in shown) + more,
        shown,
        _panels(shown, axes),
        _window(finding, shown[0], axes[0]),
    )


def one_panel(report: Report, finding: Finding, series: Sequence[Series], column: str) -> Timeline | None:
    """One column of some devices over time, each with what is typical of it where the finding was.

    None where it is above zero in none of them. The window is that of the first device.
    """
    directions = next((parts for _, parts, total in _DEVICE_PANELS if total == column), {})
    title = next(_title(column), column)
    shown = [
        one for one in series if len(one.position) > 1 and any(_known(total_of(one, column, directions)))
    ]
    if not shown or shown[0] is not series[0]:
        return None
    has_clock = all(map(_has_clock, shown))
    room = POINTS_IN_TIMELINE // (4 * len(shown))
    lines = []
    for at, one in enumerate(shown):
        values = total_of(one, column, directions)
        drawn = line(label_of(one.name), _axis(one, has_clock), values, at, room)
        lines.append(replace(drawn, typical=one.typical.get(column, math.nan)))
    window = _window(finding, shown[0], _axis(shown[0], has_clock))
    names = ", ".join(label_of(one.name) for one in shown)
    chart = _over_time(report, finding, names, shown, [panel(title, lines)], window)
    if chart is None or not any(is_drawable(each.typical) for each in lines):
        return chart
    what = "mean per request" if column.endswith("_ms") else "median"
    when = "in that stretch" if finding.samples else "while at work"
    if finding.cited_samples()[1]:
        when = "in the cited samples"
    words = f"Behind each name: its {what} {when}."
    return replace(chart, caption=f"{chart.caption} {words}", typical_words=words)


def _title(column: str) -> Iterator[str]:
    """The title of a panel that has one column alone, a total or a direction."""
    for title, directions, total in _DEVICE_PANELS:
        if column in (total, *directions):
            name, comma, unit = title.partition(",")
            yield f"{name} of {directions[column]}s{comma}{unit}" if column in directions else title


def _known(values: Iterable[float]) -> Iterable[bool]:
    return (is_drawable(value) and value > 0 for value in values)


def host_timeline(report: Report, finding: Finding, most: int = 3) -> Timeline | None:
    """What the processors, the tasks and the swap did over time, in at most `most` panels; None without.

    What the finding speaks of comes first; of a finding on an NFS mount it is that mount alone.
    """
    if (of_mount := _mount_timeline(report, finding, most)) is not None:
        return of_mount
    shown, panels = _host_panels(report, finding, host_panels(finding))
    return _over_time(report, finding, "The host", shown, panels[:most], _clocked_window(finding, shown))


def moved(report: Report, finding: Finding, most: int = 3) -> Timeline | None:
    """What else stepped then, the largest steps first, as far as the report keeps its samples; else None."""
    known = [one for one in on_host(report, finding) if len(one.position) > 1]
    directions = {total: parts for _, parts, total in _DEVICE_PANELS}
    found = []
    for move in finding.moved:
        parts = directions.get(move.quantity, {})
        names = (f"{move.table} {move.name}".strip(), move.name or move.table)
        of = [one for one in known if one.name in names or not move.name]
        drawn = ((one, total_of(one, move.quantity, parts)) for one in of)
        for one, values in islice(((one, y) for one, y in drawn if any(map(is_drawable, y))), 1):
            title = next(_title(move.quantity), wording.column_label(move.quantity))
            found.append((one, title, move.name or move.table, values))
    found = found[:most]
    shown = [one for one, *_ in found]
    has_clock = bool(shown) and all(map(_has_clock, shown))
    panels = [
        panel(title, [line(label_of(name), _axis(one, has_clock), values, 0, POINTS_PER_LINE)])
        for one, title, name, values in found
    ]
    window = _clocked_window(finding, shown)
    if window is None and shown and not has_clock:
        window = _window(finding, shown[0], _axis(shown[0], has_clock))
    return _over_time(report, finding, "What stepped then", shown, panels, window)


def host_panels(finding: Finding) -> list[HostPanel]:
    """The panels of the processors, the tasks and the swap, those that a finding speaks of first."""
    return sorted(_HOST_PANELS, key=lambda of: not (of.spoken and re.search(of.spoken, finding.summary)))


def _mount_timeline(report: Report, finding: Finding, most: int) -> Timeline | None:
    """How long operations on the NFS mount that a finding names took, and where; None where it names none."""
    mounts = [one for one in on_host(report, finding) if not set(ROUND_TRIPS).isdisjoint(one.columns)]
    shown = [one for one in mounts if f"mount {one.name} (" in finding.summary and len(one.position) > 1]
    way = re.search(r"\b(read|write)s?\b", finding.summary)
    if not shown or way is None:
        return None
    mount, axis = shown[0], _axis(shown[0], _has_clock(shown[0]))
    times = {"await": "in all (exe)", "round_trip": "round trip (RTT)", "queue": "queued here"}
    took = {f"{way[1]}_{name}_ms": label for name, label in times.items()}
    done = {"reads_per_s": "reads", "writes_per_s": "writes"}
    panels = [
        panel(title, _lines_of_one(mount, axis, columns, POINTS_PER_LINE))
        for title, columns in ((f"Each {way[1]}, ms", took), ("Operations per second", done))
    ]
    panels = [one for one in panels if one.lines][:most]
    window = _window(finding, mount, axis)
    return _over_time(report, finding, label_of(mount.name), [mount], panels, window)


def cpu(report: Report, finding: Finding, series: Sequence[Series]) -> Timeline | None:
    """The CPU that was there to be had, idle and iowait on top of each other, and the tasks."""
    shown, panels = _host_panels(report, finding, (_AVAILABLE, _TASKS))
    if not panels or not panels[0].is_stacked:
        return None
    window = _clocked_window(finding, shown)
    if window is None and series and series[0].position == shown[0].position:
        window = _window(finding, series[0], _axis(shown[0], all(map(_has_clock, shown))))
    chart = _over_time(report, finding, "CPU available", shown, panels, window)
    return chart and replace(
        chart,
        caption="idle and iowait together are CPU time that nobody used: iowait is idle time in which "
        "some task waited for a disk." + _shaded(finding, window),
    )


def _host_panels(
    report: Report, finding: Finding, wanted: Iterable[HostPanel]
) -> tuple[list[Series], list[Panel]]:
    """The panels that the host's series can fill, and those series."""
    known = [one for one in on_host(report, finding) if len(one.position) > 1]
    kinds = [(of, next((one for one in known if set(of.columns) & set(one.columns)), None)) for of in wanted]
    shown = list({id(one): one for _, one in kinds if one is not None}.values())
    has_clock = bool(shown) and all(map(_has_clock, shown))
    panels = []
    for of, one in kinds:
        if one is None:
            continue
        # lines on top of each other need the same samples: those where their sum is extreme
        every = [one.columns[column] for column in of.columns if column in one.columns]
        telling = [sum(row) for row in zip(*every, strict=False)] if of.is_stacked else None
        lines = _lines_of_one(one, _axis(one, has_clock), of.columns, POINTS_PER_LINE, telling)
        found = panel(of.title, lines)
        is_whole = len(found.lines) == len(of.columns) and len({each.x for each in found.lines}) == 1
        if of.is_stacked and is_whole:
            found = replace(found, top=100.0, is_stacked=True)
        if found.lines:
            panels.append(found)
    return shown, panels


def _over_time(
    report: Report,
    finding: Finding,
    subject: str,
    shown: Sequence[Series],
    panels: Sequence[Panel],
    window: tuple[float, float] | None,
) -> Timeline | None:
    if not panels:
        return None
    has_clock = all(map(_has_clock, shown))
    zone, stated = zone_of(report, finding.host, finding.start)
    return Timeline(
        caption=f"{subject} over time.{_shaded(finding, window)}",
        description=_told(finding, shown),
        panels=tuple(panels),
        window=window,
        window_words=stretch(finding),
        zone=zone if has_clock else None,
        x_label=f"time ({stated})" if has_clock else "sample (the first is 1)",
    )


def _shaded(finding: Finding, window: tuple[float, float] | None) -> str:
    return f" Shaded: {stretch(finding)}." if window else ""


def _has_clock(series: Series) -> bool:
    """Whether every sample has a time and time never runs back (joined captures may)."""
    times = series.time
    if len(times) != len(series.position) or not all(0 <= at < LAST_SECOND for at in times):
        return False
    return all(earlier <= later for earlier, later in pairwise(times))


def zone_of(report: Report, host: str | None, start: str | None = None) -> tuple[tzinfo, str]:
    """The zone of the time axis and its name: the one asked for, else the one that the clocks state.

    Clocks that state none were counted as if they were UTC, and are shown so again.
    """
    if report.timezone:
        try:
            return ZoneInfo(report.timezone), wording.visible(report.timezone, wording.NAME_LIMIT)
        except (KeyError, ValueError, OSError):
            pass
    sections = (s.section for s in report.sources if host in (None, s.section.host))
    stated = start or next((section.start for section in sections if section.start), None)
    first = wording.instant(stated)
    offset = first.utcoffset() if first else None
    return (UTC if offset is None else timezone(offset)), wording.zone([stated], None)


def _axis(series: Series, has_clock: bool) -> tuple[float, ...]:
    return series.time if has_clock else tuple(at + 1.0 for at in series.position)


def _panels(shown: Sequence[Series], axes: Sequence[tuple[float, ...]]) -> list[Panel]:
    found = []
    room = min(POINTS_PER_LINE, POINTS_IN_TIMELINE // (4 * len(shown)))
    for title, directions, total in _DEVICE_PANELS:
        columns = directions if _holds_numbers(shown[0], directions) else {total: ""}
        if len(shown) == 1:
            lines = _lines_of_one(shown[0], axes[0], columns, room)
        else:
            totals = [total_of(one, total, directions) for one in shown]
            lines = [
                line(label_of(one.name), x, y, at, room)
                for at, (one, x, y) in enumerate(zip(shown, axes, totals, strict=True))
                if y
            ]
        found.append(panel(title, lines))
    panels = [panel for panel in found if panel.lines]
    # requests per second stand in for throughput only where that is unknown
    has_throughput = any(panel.title.startswith("Throughput") for panel in panels)
    return [p for p in panels if not (has_throughput and p.title.startswith("Requests per"))]


def _holds_numbers(series: Series, columns: Iterable[str]) -> bool:
    """Whether some of the columns holds a number; those that a format never fills are there, too."""
    return any(any(map(is_drawable, series.columns[one])) for one in columns if one in series.columns)


def _lines_of_one(
    series: Series,
    x: tuple[float, ...],
    columns: Mapping[str, str],
    room: int,
    telling: Sequence[float] | None = None,
) -> list[Line]:
    return [
        line(label, x, series.columns[column], at, room, telling)
        for at, (column, label) in enumerate(columns.items())
        if column in series.columns
    ]


def total_of(series: Series, total: str, directions: Mapping[str, str]) -> tuple[float, ...]:
    """A device's line among others: its total; latencies have none, so the higher one."""
    if _holds_numbers(series, (total,)):
        return series.columns[total]
    parts = [series.columns[column] for column in directions if column in series.columns]
    if not parts:
        return ()
    if total == "await_ms":
        return tuple(max(filter(is_drawable, row), default=math.nan) for row in zip(*parts, strict=False))
    return tuple(sum(row) for row in zip(*parts, strict=False))


def _window(finding: Finding, first: Series, axis: Sequence[float]) -> tuple[float, float] | None:
    """The finding's samples on the x axis, half a step wider; None where it is the whole of it."""
    if not finding.samples or not first.position:
        return None
    last_index = len(first.position) - 1
    start = min(bisect_left(first.position, finding.samples[0]), last_index)
    end = min(bisect_left(first.position, finding.samples[1]), last_index)
    if end < start or (start == 0 and end == last_index):
        return None
    half = (axis[-1] - axis[0]) / max(1, last_index) / 2
    return axis[start] - half, axis[end] + half


def _clocked_window(finding: Finding, shown: Sequence[Series]) -> tuple[float, float] | None:
    """The finding's time on the axis of other series than its own; None without clocks, or for all of it."""
    start, end = wording.instant(finding.start), wording.instant(finding.end)
    if not shown or not all(map(_has_clock, shown)) or start is None or end is None:
        return None
    times = shown[0].time
    first, last = (at.replace(tzinfo=at.tzinfo or UTC).timestamp() for at in (start, end))
    half = (times[-1] - times[0]) / (len(times) - 1) / 2
    if last < first or (first <= times[0] and last >= times[-1]):
        return None
    return max(first, times[0]) - half, min(last, times[-1]) + half


def stretch(finding: Finding) -> str:
    """The finding's samples in words, counted from 1; else its time."""
    if not finding.samples:
        return wording.clock_span(finding.start, finding.end) or "the whole capture"
    first, last = finding.samples[0] + 1, finding.samples[1] + 1
    if first == last:
        return f"sample {wording.count(first)}"
    return f"samples {wording.count(first)} to {wording.count(last)}"


def is_inside(series: Series, finding: Finding) -> list[bool]:
    """For each sample of a series, whether the finding is about it."""
    if not finding.samples:
        return [True] * len(series.position)
    return [finding.samples[0] <= at <= finding.samples[1] for at in series.position]


def _median(values: Iterable[float]) -> float:
    known = [value for value in values if is_drawable(value)]
    return statistics.median(known) if known else math.nan


_TOLD = (*ROUND_TRIPS, *RATES, *KB_BY_WAY, *LATENCIES, "queue_depth", "util_pct", *_HOST_COLUMNS)


def _told(finding: Finding, shown: Sequence[Series]) -> str:
    """The chart in words: medians inside the finding's samples, and outside where there are any."""
    sentences = []
    for series in shown:
        within_window = is_inside(series, finding)
        facts = []
        for column in (column for column in _TOLD if column in series.columns):
            pairs = list(zip(series.columns[column], within_window, strict=False))
            within = _median(value for value, is_in in pairs if is_in)
            without = _median(value for value, is_in in pairs if not is_in)
            if is_drawable(within):
                other = f" (otherwise {wording.number(without)})" if is_drawable(without) else ""
                facts.append(f"{wording.measured(column, within)}{other}")
        if facts:
            sentences.append(f"{label_of(series.name)}: {', '.join(facts)}.")
    is_thinned = any(one.position and one.position[-1] >= len(one.position) for one in shown)
    drawn = ", the extremes of each stretch of them" if is_thinned else ""
    return f"Medians over {stretch(finding)}{drawn}. {' '.join(sentences)}"
