"""The same load, or the same slowness, comes back at the same hour of the day or of the week.

What it detects: in an archive of four days and more, hours of the clock in which a device reads, writes or
discards at least three times what it does in half of its hours, or takes three times as long, on 70 % of the
days that show this hour (of the weeks, with four of them). Such hours in a row are a window, of six hours at
the most; on either side of it there is at most half as much.

The arithmetic: with a share p of all of a device's hours that stand out, one hour does so on k of n days by
chance with the binomial tail P(X ≥ k). Times all windows of this length, on all devices and in all directions
in which any hour stands out, that is how many windows agree by chance: 0.05 or fewer.

Why it matters: what comes at a fixed hour is a job: a backup, the check of an array, fstrim, updatedb, log
rotation. Whoever knows the hour finds the job, and moves or slows it.

When it is wrong: what people do at a fixed hour is no job. A working day is longer than a window, and most
curves of a day have no such edges; a short rush at noon has them. Hours are those of the clock that the
captures show, and a change to summer time shifts them. Hours that the archive lacks count for nothing. A job
that moves little on average over its hour is not seen. The names of jobs are candidates: no counter tells.

Where it is judged: on all days that `iodiag analyze` is given together. `iodiag fleet` judges each day by
itself, and then the hours of all stored days of a host ("At the same hour" in its report).

References: systemd.timer(5), crontab(5); md(4) on checks; fstrim(8), whose timer is weekly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from iodiag.analysis.load.baselines import days_of, middles
from iodiag.analysis.load.recurring_hours import DAY, LATENCY, MONDAY, WEEK, Hours, Window, hours_of, windows
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import MOST_TOLD, Values, cite, say
from iodiag.analysis.measure.grading import device_fields
from iodiag.analysis.measure.weighted import LEAST_REQUESTS
from iodiag.analysis.states.service_times import is_felt
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import KB_PER_MB
from iodiag.table.table import Table

SECONDS_PER_HOUR = 3600.0
_WAYS = {
    "read_kb_per_s": ("reads", "a backup, a check of an array (raid-check), a scrub, updatedb or a report"),
    "write_kb_per_s": ("writes", "a dump, a backup that arrives here, a copy or log rotation"),
    "discard_kb_per_s": ("discards", "fstrim"),
}
SURE = 0.001
"""Windows that would agree by chance, up to which a window is sure."""

_OTHERS = "a job on another host that shares the storage, or one that moves little here"

_Places = Mapping[tuple[str, str], npt.NDArray[np.int64]]
"""Of each device and column: of which hour since a Monday each sample is (-1: of none)."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per window, with all devices that take part in it; the other devices are clear."""
    days = 0 if "disk" in view.average_only else days_of(series.samples for series in view.devices)
    if days < limits.times:
        reason = f"what recurs takes {limits.times:.0f} days of samples with a clock, not {days}"
        yield RULE.not_applicable(reason, missing=("an archive of days",))
        return
    named = {series.name: series for series in view.devices}
    places: dict[tuple[str, str], npt.NDArray[np.int64]] = {}
    looked = [hours for series in view.devices for hours in _hours(series, limits, places)]
    groups = windows(looked, limits, lambda hours, added: is_felt(named[hours.device], added))
    for group in groups:
        yield _finding(group, [_rows(window, named, places) for window in group])
    told = {window.hours.device for group in groups for window in group}
    clear = tuple(name for name in named if name not in told)
    if clear:
        yield RULE.clear("no hour of the day or week stands out again and again", *clear)


def _hours(
    series: DeviceSeries, limits: Limits, places: dict[tuple[str, str], npt.NDArray[np.int64]]
) -> Iterator[Hours]:
    """What a device did by hours, where a column tells; latencies weigh by their requests."""
    samples = series.samples
    times, lengths = middles(samples), weighted.lengths(samples)
    for column in (*_WAYS, LATENCY):
        data, least = samples.floats(column), 0.0
        weights = lengths
        if column == LATENCY:
            weights, least = samples.floats("ios_per_s") * lengths, float(LEAST_REQUESTS)
        known = ~np.isnat(times) & (lengths <= SECONDS_PER_HOUR) & np.isfinite(data) & (weights > 0)
        if not known.any():
            continue
        hour_of = times.astype("datetime64[h]").astype(np.int64) - MONDAY
        hour_of = np.where(known, hour_of - hour_of[known].min() // WEEK * WEEK, -1)
        size = (int(hour_of.max()) // WEEK + 1) * WEEK
        total = np.bincount(hour_of[known], weights[known], size)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.bincount(hour_of[known], (data * weights)[known], size) / total
        means[total <= least] = np.nan
        if np.isfinite(means).any():
            places[series.name, column] = hour_of
            step = 0.0 if column == LATENCY else limits.step * KB_PER_MB
            yield hours_of(series.name, column, means, limits.ratio, step)


def _rows(window: Window, named: Mapping[str, DeviceSeries], places: _Places) -> Table:
    """The samples of the hours that stand out."""
    hours = window.hours
    return named[hours.device].samples[np.isin(places[hours.device, hours.column], window.places)]


def _finding(group: list[Window], rows: list[Table]) -> Finding:
    first = group[0]
    devices = tuple(dict.fromkeys(window.hours.device for window in group))
    columns = sorted({window.hours.column for window in group})
    what = "; ".join(_WAYS[column][1] if column in _WAYS else _OTHERS for column in columns)
    others = f" (and {len(devices) - 1} more devices)" if len(devices) > 1 else ""
    clock = rows[0]["time"].clock()
    text, values = _told(first, rows[0])
    by_chance = "by chance {chance:.2g} windows of this length would agree as often, on all devices together"
    return RULE.finding(
        severity="notice" if LATENCY in columns else "info",
        confidence="high" if first.chance <= SURE else "medium",
        **device_fields(rows[0][clock >= clock.max() - np.timedelta64(DAY // 2, "h")], *devices),
        summary=say(text + others + ".", values),
        evidence=(
            *(
                cite(r, *_told(w, r), worst=w.hours.column)
                for w, r in zip(group[:MOST_TOLD], rows, strict=False)
            ),
            cite(rows[0], by_chance, {"chance": first.chance}, weighs="context"),
        ),
        refutes=("people who do the same at that hour by hand",),
        cannot_know=(f"what runs then; candidates are {what}",),
    )


def _told(window: Window, rows: Table) -> tuple[str, Values]:
    """The sentence of a window, and its values."""
    hours, (begin, end) = window.hours, window.span
    unit, scale = ("ms", 1.0) if hours.column == LATENCY else ("MB/s", KB_PER_MB)
    values: Values = {
        "device": hours.device,
        "begin": begin,
        "end": end,
        "count": window.seen,
        "of": window.of,
        "value": weighted.mean(rows, hours.column) / scale,
        "usual": hours.usual / scale,
    }
    does = "takes {value} ms a request" if unit == "ms" else _WAYS[hours.column][0] + " {value} MB/s"
    text = f"Between {{begin}} and {{end}} on {{count}} of {{of}} {window.days} {{device}} {does}"
    text += f", usually {{usual}} {unit}"
    return text, values


RULE = Rule(
    id="recurring-window",
    role="context",
    title="A load or a slowness comes back at the same hour",
    why="What comes at a fixed hour is a job, which can be found, moved or slowed.",
    remedy=(
        "Look which timer or cron job runs at that hour; move it, or slow it (ionice, IOWeight=, --bwlimit; "
        "for arrays sync_speed_max).",
    ),
    needs=Needs(one_of=({"disk": ("kb_per_s|read_kb_per_s",)},)),
    thresholds={
        "times": Threshold(4, "days", "or weeks that show the hour", "judgement: three times may be chance"),
        "share": Threshold(70, "%", "of them", "judgement: five working days of seven; three of four"),
        "ratio": Threshold(3, "x", "what half of the hours show", "judgement: beyond most noise"),
        "step": Threshold(1, "MB/s", "beyond that at least", "judgement: 3.6 GB in an hour"),
        "longest": Threshold(6, "hours", "of a window", "judgement: a working day is longer"),
        "chance": Threshold(0.05, "windows", "that would agree by chance", "the usual level of tests"),
    },
    confirm=(
        "systemctl list-timers --all",
        "grep -rs . /etc/crontab /etc/cron.d /var/spool/cron",
        "find /etc/cron.hourly /etc/cron.daily /etc/cron.weekly /etc/cron.monthly -type f",
        "journalctl --since START",
    ),
    references=(
        "https://man7.org/linux/man-pages/man5/systemd.timer.5.html",
        "https://man7.org/linux/man-pages/man4/md.4.html",
    ),
    to_clear=ToClear(samples=0, requests=0),
    detect=detect,
)
