"""The charts of a comparison as plain data: changes with their intervals, load levels, time, CPU shares."""

from __future__ import annotations

import math
from collections.abc import Sequence

from iodiag.model.comparison import Change, Comparison, Subject
from iodiag.model.report import Report, Series
from iodiag.report import comparison_sections, wording
from iodiag.report.charts.chart import (
    POINTS_IN_LADDER,
    POINTS_PER_LINE,
    BarPanel,
    Bars,
    Intervals,
    Line,
    Panel,
    Picture,
    RateByDepth,
    Timeline,
    is_drawable,
    label_of,
    line,
    panel,
)

SIDES = ("before", "after")
MOST_APART = 1000.0
"""Wider intervals tell nothing and would push all others together."""

_PANELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Throughput, kB/s", ("read_kb_per_s", "write_kb_per_s")),
    ("Requests per second", ("ios_per_s",)),
    ("Latency (await), ms", ("await_ms",)),
    ("Requests in flight", ("queue_depth",)),
)


def pictures(report: Report, comparison: Comparison, subject: Subject) -> list[Picture]:
    """The charts of one subject, the most telling first; none where too little is known."""
    if subject.kind == "cpu":
        found: list[Picture | None] = [_shares(subject)]
    elif subject.kind == "device":
        sides = (
            _series(comparison.before, subject.host_before, subject.before),
            _series(report, subject.host_after, subject.after),
        )
        found = [_intervals(subject, comparison), _ladder(sides), _timeline(sides)]
    else:
        found = []
    return [picture for picture in found if picture]


def _series(report: Report, host: str | None, name: str) -> Series | None:
    return next((s for s in report.series if s.name == name and host in (None, s.host)), None)


def _intervals(subject: Subject, comparison: Comparison) -> Intervals | None:
    """Every change with its interval on one axis of ratios."""
    shown: list[tuple[str, Change]] = [
        (comparison_sections.label(change.quantity), change) for change in comparison_sections.drawn(subject)
    ]
    shown += [(f"{comparison_sections.label(c.quantity)}, matched", c) for c in subject.at_matched_load]
    kept = [
        (name, change)
        for name, change in shown
        if change.verdict != "unclear"
        and 1 / MOST_APART < change.ratio < MOST_APART
        and not change.high > MOST_APART * change.low
    ]
    if len(kept) < 2 or all(math.isnan(change.low) for _, change in kept):
        return None
    least = comparison.limits.get("least_change_pct", math.nan) / 100
    told = "; ".join(
        f"{name} {comparison_sections.ratio_text(change.ratio)} ({comparison_sections.interval(change)})"
        for name, change in kept
    )
    return Intervals(
        caption="After as a multiple of before, with 95 % intervals. Shaded: changes too small to count. A "
        "hollow point has too few samples for an interval.",
        description=f"Changes: {told}.",
        labels=tuple(label_of(name) for name, _ in kept),
        ratios=tuple(change.ratio for _, change in kept),
        lows=tuple(change.low for _, change in kept),
        highs=tuple(change.high for _, change in kept),
        band=(1 - least, 1 + least) if 0 < least < 1 else None,
        x_label="after ÷ before",
    )


def _ladder(sides: Sequence[Series | None]) -> RateByDepth | None:
    """Requests per second against requests in flight, the two sides in two colours."""
    lines = []
    for at, (label, series) in enumerate(zip(SIDES, sides, strict=True)):
        if series is None:
            continue
        columns = series.columns
        pairs = zip(columns.get("queue_depth", ()), columns.get("ios_per_s", ()), strict=False)
        points = [(x, y) for x, y in pairs if is_drawable(x) and is_drawable(y) and x > 0 and y > 0]
        step = max(1, math.ceil(2 * len(points) / POINTS_IN_LADDER))
        if points:
            xs, ys = zip(*points[::step], strict=True)
            lines.append(Line(label, xs, ys, at))
    if len(lines) < 2 or sum(len(one.x) for one in lines) < 4:
        return None
    middle = [
        f"{one.label} {wording.number(_middle(one.y))} requests/s "
        f"at {wording.number(_middle(one.x))} in flight"
        for one in lines
    ]
    return RateByDepth(
        caption="Requests per second against requests in flight, a point per sample. At the same place on "
        "the lower axis, the higher points are the faster side.",
        description=f"Medians: {', '.join(middle)}.",
        inside=tuple(lines),
        outside=(),
    )


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def _timeline(sides: Sequence[Series | None]) -> Timeline | None:
    """Throughput, latency and queue of the two sides over their samples."""
    before, after = sides
    if before is None or after is None or min(len(before.position), len(after.position)) < 2:
        return None
    panels = [found for title, columns in _PANELS if (found := _panel(title, columns, (before, after)))]
    if any(one.title.startswith("Throughput") for one in panels):
        panels = [one for one in panels if not one.title.startswith("Requests per")]
    if not panels:
        return None
    return Timeline(
        caption="The two sides over their samples, each counted from its own first.",
        description=f"{len(before.position)} samples before, {len(after.position)} after.",
        panels=tuple(panels),
        window=None,
        zone=None,
        x_label="sample (the first is 1)",
    )


def _panel(title: str, columns: Sequence[str], sides: Sequence[Series]) -> Panel | None:
    lines = []
    for at, (label, series) in enumerate(zip(SIDES, sides, strict=True)):
        parts = [series.columns[column] for column in columns if column in series.columns]
        if parts:
            y = tuple(sum(row) for row in zip(*parts, strict=False))
            lines.append(line(label, tuple(p + 1.0 for p in series.position), y, at, POINTS_PER_LINE))
    found = panel(title, lines)
    return found if len(found.lines) == len(SIDES) else None


def _shares(subject: Subject) -> Bars | None:
    """How the processors spent their time, before and after."""
    shown = [c for c in subject.changes if c.verdict != "negligible" and c.quantity != "available_pct"]
    if not shown:
        return None
    names = tuple(change.quantity.removesuffix("_pct") for change in shown)
    told = "; ".join(
        f"{name} {wording.number(c.before)} and {wording.number(c.after)} %"
        for name, c in zip(names, shown, strict=True)
    )
    return Bars(
        caption="How the processors spent their time, means over the samples.",
        description=f"Before and after: {told}.",
        labels=tuple(map(label_of, names)),
        panels=(
            BarPanel(
                "CPU time, %",
                (
                    ("before", tuple(change.before for change in shown)),
                    ("after", tuple(change.after for change in shown)),
                ),
            ),
        ),
    )
