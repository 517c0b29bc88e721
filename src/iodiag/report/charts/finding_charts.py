"""Which charts a finding gets and what stands in them, as plain data; `layout` draws it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from iodiag.model.finding import Finding
from iodiag.model.report import Report, Series
from iodiag.report import wording
from iodiag.report.charts import stack_chart, timeline_chart
from iodiag.report.charts.chart import (
    LEAST,
    LINES_IN_PANEL,
    POINTS_IN_LADDER,
    BarPanel,
    Bars,
    Line,
    Picture,
    RateByDepth,
    is_drawable,
    label_of,
)
from iodiag.report.charts.timeline_chart import is_inside, on_host, stretch, total_of

BARS_IN_CHART = 24
MOST_SERVERS = 10_000
# the fit of the bounds is no better than this
ROUNDING = 1.1


def pictures(report: Report, finding: Finding) -> list[Picture]:
    """The charts of one finding, the most telling first; none where the report does not carry one."""
    series = _series_of(report, finding)
    wanted: dict[str, Callable[[], Picture | None]] = {
        "stack": lambda: stack_chart.stack(report, finding, stretch(finding)),
        "peers": lambda: bars(finding),
        "ladder": lambda: ladder(finding, series),
        "cpu": lambda: timeline_chart.cpu(report, finding, series),
    }
    found = [draw() for name, draw in wanted.items() if name in finding.pictures]
    if finding.devices:
        found.append(timeline_chart.timeline(report, finding, series))
    else:
        found.append(timeline_chart.host_timeline(report, finding))
    found.append(timeline_chart.moved(report, finding))
    return [picture for picture in found if picture]


def _series_of(report: Report, finding: Finding) -> list[Series]:
    """The series of the finding's devices."""
    by_name = {series.name: series for series in on_host(report, finding)}
    return [by_name[name] for name in dict.fromkeys(finding.devices) if name in by_name]


def bars(finding: Finding) -> Bars | None:
    """Latency and load of the devices that a finding compares, side by side; None for less than two."""
    means = {edge.lower: edge.means for edge in finding.edges}
    names = [name for name in finding.peers if means.get(name)][:BARS_IN_CHART]
    rows = [means[name] for name in names]
    panels = [BarPanel(title, found) for title, columns in _BAR_PANELS if (found := _groups(rows, columns))]
    if len(names) < 2 or not panels:
        return None
    told = "; ".join(
        f"{label_of(name)} " + ", ".join(wording.measured(c, row[c]) for c in _BAR_COLUMNS if c in row)
        for name, row in zip(names, rows, strict=True)
    )
    rest = len(finding.peers) - len(names)
    more = f" {wording.plural(rest, 'more device')} not drawn." if rest else ""
    return Bars(
        caption=f"Side by side, means over {stretch(finding)}: latency and load of each device.{more}",
        description=f"Means over {stretch(finding)}. {told}.",
        labels=tuple(map(label_of, names)),
        panels=tuple(panels),
        marked=tuple(at for at, name in enumerate(names) if name in finding.devices),
    )


_BAR_PANELS = (
    ("Latency (await), ms", {"read_await_ms": "read", "write_await_ms": "write", "await_ms": "both"}),
    ("Load, kB/s", {"read_kb_per_s": "read", "write_kb_per_s": "write"}),
)
_BAR_COLUMNS = tuple(column for _, columns in _BAR_PANELS for column in columns)


def _groups(
    rows: Sequence[Mapping[str, float]], columns: Mapping[str, str]
) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """The columns in which some row is above zero; both directions as one only where neither is known."""
    each = [(label, tuple(_known(row.get(c, math.nan)) for row in rows)) for c, label in columns.items()]
    found = [(label, values) for label, values in each if any(value > 0 for value in values)]
    return tuple(found[:-1] if len(found) > 1 and found[-1][0] == "both" else found)


def _known(value: float) -> float:
    """A rate or a latency that an axis can show, else NaN."""
    if not is_drawable(value) or value < 0:
        return math.nan
    return value if value > LEAST else 0.0


def ladder(finding: Finding, series: Sequence[Series]) -> RateByDepth | None:
    """Work done against requests in flight, or None for less than two load levels."""
    inside: list[Line] = []
    outside: list[Line] = []
    shown = series[:LINES_IN_PANEL]
    for at, one in enumerate(shown):
        ios = total_of(one, "ios_per_s", {"reads_per_s": "", "writes_per_s": ""})
        rows = zip(one.columns.get("queue_depth", ()), ios, is_inside(one, finding), strict=False)
        points = [
            (x, _known(y), is_in) for x, y, is_in in rows if is_drawable(x) and x > LEAST and _known(y) >= 0
        ]
        for wanted, into in ((True, inside), (False, outside)):
            chosen = [(x, y) for x, y, is_in in points if is_in is wanted]
            step = max(1, math.ceil(len(points) * len(shown) / POINTS_IN_LADDER))
            if chosen:
                xs, ys = zip(*sorted(chosen)[::step], strict=True)
                into.append(Line(label_of(one.name), xs, ys, at))
    levels = {(x, y) for line in (*inside, *outside) for x, y in zip(line.x, line.y, strict=True)}
    if len(levels) < 2:
        return None
    low, high = min(levels), max(levels)
    alone_ms, servers = _bounds(finding, levels)
    return RateByDepth(
        caption="Requests per second against requests in flight. Rising points: the device had capacity "
        "left. A flat top: more requests in flight brought no more work."
        + (f" Filled: {stretch(finding)}." if outside and inside else ""),
        description=f"{wording.plural(len(levels), 'point')}: from {wording.number(low[1])} requests/s at "
        f"{wording.number(low[0])} in flight to {wording.number(high[1])} requests/s at "
        f"{wording.number(high[0])}." + _bounds_told(alone_ms, servers),
        inside=tuple(inside),
        outside=tuple(outside),
        alone_ms=alone_ms,
        servers=servers,
    )


def _bounds(finding: Finding, levels: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """What a request takes alone, and how many are served at once; NaN where the finding does not say.

    The least latency that was seen under load bounds nothing. Numbers that the points contradict bound
    nothing either, and are left out.
    """
    values = {key: value for evidence in finding.evidence for key, value in evidence.values.items()}
    told = (values.get(key) for key in ("unloaded", "servers"))
    alone_ms, servers = (math.nan if isinstance(v, str) or v is None else float(v) for v in told)
    if not is_drawable(alone_ms) or alone_ms <= LEAST or values.get("unloaded_basis") == "least seen":
        return math.nan, math.nan
    most = max(rate for _, rate in levels)
    is_bound = 1 <= servers <= MOST_SERVERS and 1000 * servers / alone_ms * ROUNDING >= most
    return alone_ms, servers if is_bound else math.nan


def _bounds_told(alone_ms: float, servers: float) -> str:
    if math.isnan(alone_ms):
        return ""
    told = f" A request alone takes {wording.number(alone_ms)} ms, which bounds the rate from above."
    if not math.isnan(servers):
        told += (
            f" With about {wording.number(servers)} served at once the knee is at as many in flight, and at "
            f"{wording.number(1000 * servers / alone_ms)} requests/s."
        )
    return told
