"""How busy many devices were over time: a row for each, a colour for each stretch of time."""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.model.report import DeviceActivity, Report
from iodiag.report import wording
from iodiag.report.charts.chart import Heatmap, is_drawable, label_of
from iodiag.report.charts.timeline_chart import zone_of

ROWS_SHOWN = 40
_KINDS: dict[str, tuple[str, str, tuple[float, ...]]] = {
    "util_pct": ("Busy", "%", (5.0, 25.0, 50.0, 75.0, 95.0)),
    "await_ms": ("Latency (await)", "ms", (1.0, 5.0, 20.0, 100.0, 500.0)),
}
_SHARES = (0.02, 0.1, 0.25, 0.5, 0.75)
"""Of the largest value, where a column has no levels that mean something by themselves."""


def heatmaps(report: Report) -> Iterator[Heatmap]:
    """One for each host that has many devices."""
    of_host: dict[str | None, list[DeviceActivity]] = {}
    for one in report.activity:
        if one.peaks and one.end > one.start and any(map(is_drawable, one.peaks)):
            of_host.setdefault(one.host, []).append(one)
    for host, rows in of_host.items():
        yield _heatmap(report, host, rows)


def _heatmap(report: Report, host: str | None, rows: list[DeviceActivity]) -> Heatmap:
    first = rows[0]
    alike = [one for one in rows if (one.column, len(one.peaks)) == (first.column, len(first.peaks))]
    shown = alike[:ROWS_SHOWN]
    top = max(value for one in shown for value in one.peaks if is_drawable(value))
    shares = tuple(float(f"{share * max(top, 1.0):.2g}") for share in _SHARES)
    what, unit, levels = _KINDS.get(first.column, ("Throughput", "kB/s", shares))
    about = [one for one in report.findings if one.severity != "info" and one.host in (None, host)]
    named = {name for finding in about for name in finding.devices}
    rest = len(rows) - len(shown)
    more = f" {wording.plural(rest, 'more device')} not drawn." if rest else ""
    zone, stated = zone_of(report, host)
    whose = f" of {label_of(host)}" if host and len(report.hosts) > 1 else ""
    told = ", ".join(
        f"{label_of(one.device)} {wording.number(max(filter(is_drawable, one.peaks), default=0.0))}"
        for one in shown
    )
    return Heatmap(
        caption=f"The devices{whose} over time; each cell has the largest value in its stretch.{more}",
        description=f"{what}, {unit}, at most: {told}.",
        title=f"{what}, {unit}",
        unit=unit,
        labels=tuple(label_of(one.device) for one in shown),
        rows=tuple(tuple(v if is_drawable(v) else float("nan") for v in one.peaks) for one in shown),
        levels=levels,
        start=first.start,
        end=first.end,
        zone=zone if first.has_clock else None,
        x_label=f"time ({stated})" if first.has_clock else "sample (the first is 0)",
        marked=tuple(at for at, one in enumerate(shown) if one.device in named),
    )
