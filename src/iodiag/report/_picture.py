"""Which charts a finding gets and what stands in them, as plain data; drawing is in figures."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, timezone, tzinfo
from itertools import pairwise
from zoneinfo import ZoneInfo

from iodiag.model.finding import Finding
from iodiag.model.report import Report, Series
from iodiag.report import _text

LADDER_RULES = frozenset({"true-saturation", "approaching-saturation", "util-false-alarm", "volume-cap"})
LINES_IN_PANEL = 6
BARS_IN_CHART = 24
POINTS_IN_TIMELINE = 6000
POINTS_PER_LINE = 800
POINTS_IN_LADDER = 600
LABEL_LIMIT = 28
# past these a number is a broken counter, and no axis can show it
LARGEST = 1e15
LAST_SECOND = 250_000_000_000


@dataclass(frozen=True)
class Line:
    """One line of a panel; `colour` counts from 0. NaN breaks the line."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    colour: int


@dataclass(frozen=True)
class Panel:
    """Lines that share a y axis, with the axis' title and unit. `top` is the least upper end."""

    title: str
    lines: tuple[Line, ...]
    top: float = 0.0


@dataclass(frozen=True)
class Timeline:
    """Panels over one x axis: epoch seconds in `zone`, or sample numbers where `zone` is None."""

    caption: str
    description: str
    panels: tuple[Panel, ...]
    window: tuple[float, float] | None
    zone: tzinfo | None
    x_label: str


@dataclass(frozen=True)
class Bars:
    """One group of bars per label; `groups` are the legend's entries with a value per label."""

    caption: str
    description: str
    labels: tuple[str, ...]
    groups: tuple[tuple[str, tuple[float, ...]], ...]
    x_label: str


@dataclass(frozen=True)
class Ladder:
    """Requests per second against requests in flight; points inside the window are filled."""

    caption: str
    description: str
    inside: tuple[Line, ...]
    outside: tuple[Line, ...]


@dataclass(frozen=True)
class Intervals:
    """Ratios with their intervals, one below the other; NaN where there is no interval.

    `band` is the range of ratios that count as no change.
    """

    caption: str
    description: str
    labels: tuple[str, ...]
    ratios: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    band: tuple[float, float] | None
    x_label: str


Picture = Timeline | Bars | Ladder | Intervals


def pictures(report: Report, finding: Finding) -> list[Picture]:
    """The charts of one finding, the most telling first; none where the series do not carry one."""
    series = _series_of(report, finding)
    if not series:
        return []
    found: list[Picture | None] = [bars(report, finding)]
    if finding.rule in LADDER_RULES:
        found.append(ladder(finding, series))
    found.append(timeline(report, finding, series))
    return [picture for picture in found if picture]


def _series_of(report: Report, finding: Finding) -> list[Series]:
    """The series of the finding's devices, or of the host's CPU where it names no device."""
    on_host = [s for s in report.series if finding.host is None or s.host in (None, finding.host)]
    if finding.devices:
        by_name = {series.name: series for series in on_host}
        return [by_name[name] for name in dict.fromkeys(finding.devices) if name in by_name]
    return [series for series in on_host if any(c in series.columns for c in _HOST_COLUMNS)][:1]


_CPU_LINES = {
    "user_pct": "user",
    "system_pct": "system",
    "iowait_pct": "iowait",
    "steal_pct": "steal",
    "idle_pct": "idle",
}
_TASK_LINES = {"run_queue": "runnable", "blocked": "blocked"}
_SWAP_LINES = {"swap_in_kb_per_s": "swapped in", "swap_out_kb_per_s": "swapped out"}
_HOST_COLUMNS = (*_CPU_LINES, *_TASK_LINES, *_SWAP_LINES)

_HOST_PANELS = (("CPU, %", _CPU_LINES), ("Tasks", _TASK_LINES), ("Swapping, kB/s", _SWAP_LINES))
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
    zone, stated = _zone(report, finding)
    axes = [_axis(one, has_clock) for one in shown]
    panels = _panels(shown, axes, is_host=not finding.devices)
    if not panels:
        return None
    names = ", ".join(label_of(one.name) for one in shown) if finding.devices else "The host"
    rest = len(series) - len(shown)
    more = f" and {_text.plural(rest, 'more device')} not drawn" if rest > 0 else ""
    window = _window(finding, shown[0], axes[0])
    shaded = f" Shaded: {_samples(finding)}." if window else ""
    return Timeline(
        caption=f"{names}{more} over time.{shaded}",
        description=_told(finding, shown),
        panels=tuple(panels),
        window=window,
        zone=zone if has_clock else None,
        x_label=f"time ({stated})" if has_clock else "sample (the first is 1)",
    )


def _has_clock(series: Series) -> bool:
    """Whether every sample has a time and time never runs back (joined captures may)."""
    times = series.time
    if len(times) != len(series.position) or not all(0 <= at < LAST_SECOND for at in times):
        return False
    return all(earlier <= later for earlier, later in pairwise(times))


def _zone(report: Report, finding: Finding) -> tuple[tzinfo, str]:
    """The zone of the time axis and its name: the one asked for, else the one that the clocks state.

    Clocks that state none were counted as if they were UTC, and are shown so again.
    """
    if report.timezone:
        try:
            return ZoneInfo(report.timezone), _text.visible(report.timezone, _text.NAME_LIMIT)
        except (KeyError, ValueError, OSError):
            pass
    sections = (s.section for s in report.sources if finding.host in (None, s.section.host))
    stated = finding.start or next((section.start for section in sections if section.start), None)
    start = _text.instant(stated)
    offset = start.utcoffset() if start else None
    return (UTC if offset is None else timezone(offset)), _text.zone([stated], None)


def _axis(series: Series, has_clock: bool) -> tuple[float, ...]:
    return series.time if has_clock else tuple(at + 1.0 for at in series.position)


def _panels(shown: Sequence[Series], axes: Sequence[tuple[float, ...]], is_host: bool) -> list[Panel]:
    found = []
    room = min(POINTS_PER_LINE, POINTS_IN_TIMELINE // (4 * len(shown)))
    if is_host:
        for title, columns in _HOST_PANELS:
            found.append(panel(title, _lines_of_one(shown[0], axes[0], columns, room)))
    else:
        for title, directions, total in _DEVICE_PANELS:
            columns = directions if set(directions) & set(shown[0].columns) else {total: ""}
            if len(shown) == 1:
                lines = _lines_of_one(shown[0], axes[0], columns, room)
            else:
                totals = [_total(one, total, directions) for one in shown]
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


def _lines_of_one(series: Series, x: tuple[float, ...], columns: Mapping[str, str], room: int) -> list[Line]:
    return [
        line(label, x, series.columns[column], at, room)
        for at, (column, label) in enumerate(columns.items())
        if column in series.columns
    ]


def _total(series: Series, total: str, directions: Mapping[str, str]) -> tuple[float, ...]:
    """A device's line among others: its total; latencies have none, so the higher one."""
    if total in series.columns:
        return series.columns[total]
    parts = [series.columns[column] for column in directions if column in series.columns]
    if not parts:
        return ()
    if total == "await_ms":
        return tuple(max(filter(is_drawable, row), default=math.nan) for row in zip(*parts, strict=False))
    return tuple(sum(row) for row in zip(*parts, strict=False))


def panel(title: str, lines: Iterable[Line]) -> Panel:
    """A panel of the lines that hold a number; kB/s become MB/s where they are many."""
    drawn = [line for line in lines if any(map(is_drawable, line.y))]
    top = max((value for line in drawn for value in line.y if is_drawable(value)), default=0.0)
    if title.endswith("kB/s") and top >= 10 * 1024:
        drawn = [Line(o.label, o.x, tuple(v / 1024 for v in o.y), o.colour) for o in drawn]
        title = title.replace("kB/s", "MB/s (1 MB = 1,024 kB)")
        top /= 1024
    return Panel(title, tuple(drawn), 100.0 if title.endswith("%") and len(drawn) and top > 50 else 0.0)


def line(label: str, x: Sequence[float], y: Sequence[float], colour: int, room: int) -> Line:
    """A line of at most about `room` points, broken where samples are missing."""
    count = min(len(x), len(y))
    kept = _thinned(y[:count], room)
    steps = sorted(later - earlier for earlier, later in pairwise(x))
    longest = 5 * steps[len(steps) // 2] if steps else math.inf
    xs: list[float] = []
    ys: list[float] = []
    stretch = max(1, count // max(1, len(kept)))
    for at in kept:
        if xs and x[at] - xs[-1] > longest * stretch:
            xs.append(xs[-1])
            ys.append(math.nan)
        xs.append(x[at])
        ys.append(y[at] if is_drawable(y[at]) else math.nan)
    return Line(label, tuple(xs), tuple(ys), colour)


def _thinned(values: Sequence[float], room: int) -> list[int]:
    """Indices of at most `room` values: the least and the greatest of each stretch."""
    if len(values) <= room:
        return list(range(len(values)))
    size = math.ceil(2 * len(values) / room)
    kept: list[int] = []
    for start in range(0, len(values), size):
        stretch = [at for at in range(start, min(start + size, len(values))) if is_drawable(values[at])]
        if stretch:
            ends = {min(stretch, key=values.__getitem__), max(stretch, key=values.__getitem__)}
            kept.extend(sorted(ends))
        else:
            kept.append(start)
    return kept


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


def _samples(finding: Finding) -> str:
    if not finding.samples:
        return "the whole capture"
    first, last = finding.samples[0] + 1, finding.samples[1] + 1
    if first == last:
        return f"sample {_text.count(first)}"
    return f"samples {_text.count(first)} to {_text.count(last)}"


def _inside(series: Series, finding: Finding) -> list[bool]:
    if not finding.samples:
        return [True] * len(series.position)
    return [finding.samples[0] <= at <= finding.samples[1] for at in series.position]


def is_drawable(value: float) -> bool:
    """Whether a number is known and no broken counter."""
    return abs(value) < LARGEST  # false for NaN too


def _median(values: Iterable[float]) -> float:
    known = [value for value in values if is_drawable(value)]
    return statistics.median(known) if known else math.nan


_TOLD = (
    "ios_per_s",
    "reads_per_s",
    "writes_per_s",
    "read_kb_per_s",
    "write_kb_per_s",
    "await_ms",
    "read_await_ms",
    "write_await_ms",
    "queue_depth",
    "util_pct",
    *_HOST_COLUMNS,
)


def _told(finding: Finding, shown: Sequence[Series]) -> str:
    """The chart in words: medians inside the finding's samples, and outside where there are any."""
    sentences = []
    for series in shown:
        inside = _inside(series, finding)
        facts = []
        for column in (column for column in _TOLD if column in series.columns):
            pairs = list(zip(series.columns[column], inside, strict=False))
            within = _median(value for value, is_in in pairs if is_in)
            without = _median(value for value, is_in in pairs if not is_in)
            if is_drawable(within):
                other = f" (otherwise {_text.number(without)})" if is_drawable(without) else ""
                facts.append(f"{_text.column_label(column)} {_text.number(within)}{other}")
        if facts:
            sentences.append(f"{label_of(series.name)}: {', '.join(facts)}.")
    return f"Medians over {_samples(finding)}. {' '.join(sentences)}"


def bars(report: Report, finding: Finding) -> Bars | None:
    """Latency of devices of equal role side by side: members of one array, or three of a kind."""
    peers = _peers(report, finding)[:BARS_IN_CHART]
    if len(peers) < 3:
        return None
    by_name = {series.name: series for series in _series_of(report, finding)}
    groups = []
    for column, legend in (("read_await_ms", "read"), ("write_await_ms", "write"), ("await_ms", "await")):
        values = tuple(_await(report, finding, by_name.get(name), name, column) for name in peers)
        if sum(map(is_drawable, values)) >= 2:
            groups.append((legend, values))
    if not groups:
        return None
    drawn = groups[:2] if groups[0][0] != "await" else groups[:1]
    told = "; ".join(
        f"{label_of(name)} "
        + ", ".join(f"{legend} {_text.number(values[at])} ms" for legend, values in drawn)
        for at, name in enumerate(peers)
    )
    return Bars(
        caption=f"Latency of {_text.count(len(peers))} devices of the same role: median of the sample "
        f"means, {_samples(finding)}.",
        description=f"{told}.",
        labels=tuple(map(label_of, peers)),
        groups=tuple(drawn),
        x_label="Latency (await), ms",
    )


def _peers(report: Report, finding: Finding) -> list[str]:
    named = list(dict.fromkeys(finding.devices))
    devices = [d for d in report.devices if finding.host is None or d.host in (None, finding.host)]
    for device in devices:
        members = [name for name in named if name in device.members]
        if len(members) >= 3:
            return members
    kinds = {device.name: (device.kind, device.level) for device in devices if device.kind}
    for kind in dict.fromkeys(kinds.get(name) for name in named):
        alike = [name for name in named if kind and kinds.get(name) == kind]
        if len(alike) >= 3:
            return alike
    return []


def _await(report: Report, finding: Finding, series: Series | None, device: str, column: str) -> float:
    """The median latency in the finding's samples; over the whole capture where no series is kept."""
    if series and column in series.columns:
        pairs = zip(series.columns[column], _inside(series, finding), strict=False)
        return _median(value for value, is_in in pairs if is_in)
    for summary in report.devices:
        if summary.name == device and summary.host in (None, finding.host):
            return summary.summary.get(column, {}).get("median", math.nan)
    return math.nan


def ladder(finding: Finding, series: Sequence[Series]) -> Ladder | None:
    """Work done against requests in flight, or None for less than two load levels."""
    inside: list[Line] = []
    outside: list[Line] = []
    shown = series[:LINES_IN_PANEL]
    for at, one in enumerate(shown):
        ios = _total(one, "ios_per_s", {"reads_per_s": "", "writes_per_s": ""})
        rows = zip(one.columns.get("queue_depth", ()), ios, _inside(one, finding), strict=False)
        points = [(x, y, is_in) for x, y, is_in in rows if is_drawable(x) and is_drawable(y) and x > 0]
        for wanted, into in ((True, inside), (False, outside)):
            chosen = [(x, y) for x, y, is_in in points if is_in is wanted]
            step = max(1, math.ceil(len(points) * len(shown) / POINTS_IN_LADDER))
            if chosen:
                xs, ys = zip(*chosen[::step], strict=True)
                into.append(Line(label_of(one.name), xs, ys, at))
    levels = {(x, y) for line in (*inside, *outside) for x, y in zip(line.x, line.y, strict=True)}
    if len(levels) < 2:
        return None
    low, high = min(levels), max(levels)
    return Ladder(
        caption="Requests per second against requests in flight. Points that rise say there was room; a "
        "flat top says that more requests in flight brought no more work."
        + (f" Filled: {_samples(finding)}." if outside and inside else ""),
        description=f"{_text.plural(len(levels), 'point')}: from {_text.number(low[1])} requests/s at "
        f"{_text.number(low[0])} in flight to {_text.number(high[1])} requests/s at {_text.number(high[0])}.",
        inside=tuple(inside),
        outside=tuple(outside),
    )


def label_of(name: str) -> str:
    """A name as text of a chart: characters that the chart's font may lack are spelled out."""
    shown = "".join(char if char < "\u0250" else f"‹U+{ord(char):04X}›" for char in name[:LABEL_LIMIT])
    return _text.visible(shown) + ("…" if len(name) > LABEL_LIMIT else "") or "(empty)"
