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

References: systemd.timer(5), crontab(5); md(4) on checks; fstrim(8), whose timer is weekly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.analysis.load.baselines import days_of, middles
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.grading import time_fields
from iodiag.analysis.measure.weighted import LEAST_REQUESTS
from iodiag.analysis.states.service_times import is_felt
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import KB_PER_MB
from iodiag.table.table import Floats, Mask, Table

DAY, WEEK = 24, 168
MONDAY = np.datetime64("1970-01-05", "h").astype(np.int64)
SECONDS_PER_HOUR = 3600.0
MOST_TOLD = 5
"""Devices of a window whose numbers are told; the others are named."""

_WAYS = {
    "read_kb_per_s": ("reads", "a backup, a check of an array (raid-check), a scrub, updatedb or a report"),
    "write_kb_per_s": ("writes", "a dump, a backup that arrives here, a copy or log rotation"),
    "discard_kb_per_s": ("discards", "fstrim"),
}
_LATENCY = "latency_ms"
SURE = 0.001
"""Windows that would agree by chance, up to which a window is sure."""

_OTHERS = "a job on another host that shares the storage, or one that moves little here"
_DAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")


class _Hours(NamedTuple):
    """One column of a device by hours since a Monday, and of which hour each sample is (-1: of none)."""

    series: DeviceSeries
    column: str
    hour_of: npt.NDArray[np.int64]
    means: Floats
    usual: float
    stands_out: Mask


class _Window(NamedTuple):
    """Hours of the day or week (`slots`, in a row) that stand out on `seen` of `of` days or weeks."""

    hours: _Hours
    period: int
    slots: tuple[int, ...]
    seen: int
    of: int
    chance: float

    @property
    def rows(self) -> Table:
        """The samples of the hours that stand out."""
        place = self.hours.hour_of
        inside = (place >= 0) & self.hours.stands_out[place] & np.isin(place % self.period, self.slots)
        return self.hours.series.samples[inside]


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per window, with all devices that take part in it; the other devices are clear."""
    days = 0 if "disk" in view.average_only else days_of(series.samples for series in view.devices)
    if days < limits.times:
        reason = f"what recurs takes {limits.times:.0f} days of samples with a clock, not {days}"
        yield Outcome(RULE.id, "not_applicable", (), reason, ("an archive of days",))
        return
    looked = [hours for series in view.devices for hours in _hours(series, limits) if hours.stands_out.any()]
    named: set[str] = set()
    groups: list[list[_Window]] = []
    for period in (DAY, WEEK):
        told = {(w.hours.series.name, slot % DAY) for group in groups for w in group for slot in w.slots}
        found = [w for hours in looked for w in _recurring(hours, period, limits, len(looked))]
        for window in sorted(found, key=_rank):
            name = window.hours.series.name
            if told & {(name, slot % DAY) for slot in window.slots}:
                continue  # a day of a daily window
            same = (g for g in groups if g[0].period == period and {*g[0].slots} & {*window.slots})
            group = next(same, None)
            groups.append([window]) if group is None else group.append(window)
            named.add(name)
    for group in groups:
        yield _finding(group)
    clear = tuple(series.name for series in view.devices if series.name not in named)
    if clear:
        yield Outcome(RULE.id, "clear", clear, "no hour of the day or week stands out again and again")


def _rank(window: _Window) -> tuple[bool, float]:
    """What moves most goes first, what only takes long last."""
    moved = weighted.mean(window.rows, "kb_per_s")
    return window.hours.column == _LATENCY, -weighted.or_zero(moved)


def _hours(series: DeviceSeries, limits: Limits) -> Iterator[_Hours]:
    """What a device did by hours, where a column tells; latencies weigh by their requests."""
    samples = series.samples
    times, lengths = middles(samples), weighted.lengths(samples)
    for column in (*_WAYS, _LATENCY):
        data, least = samples.floats(column), 0.0
        weights = lengths
        if column == _LATENCY:
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
            usual = float(np.nanmedian(means))
            step = 0.0 if column == _LATENCY else limits.step * KB_PER_MB
            stands_out = means >= max(limits.ratio * usual, usual + step)
            yield _Hours(series, column, hour_of, means, usual, stands_out)


def _recurring(hours: _Hours, period: int, limits: Limits, looked: int) -> Iterator[_Window]:
    """Hours in a row that stand out again and again, not by chance, with a step on either side."""
    cells = hours.means.reshape(-1, period)
    of = np.isfinite(cells).sum(axis=0)
    count = hours.stands_out.reshape(-1, period).sum(axis=0)
    again = (of >= limits.times) & (count >= limits.share / 100 * of)
    share = float(hours.stands_out.sum() / np.isfinite(hours.means).sum())
    for slots in _runs(np.flatnonzero(again), period):
        inside = float(np.nanmedian(cells[:, slots]))
        sides = cells[:, [(slots[0] - 1) % period, (slots[-1] + 1) % period]]
        is_edge = [np.nanmedian(side) <= inside / 2 for side in sides.T if np.isfinite(side).any()]
        is_felt_there = hours.column != _LATENCY or is_felt(hours.series, inside - hours.usual)
        if len(slots) > limits.longest or not all(is_edge) or not is_felt_there:
            continue
        best = max(slots, key=lambda slot: (count[slot] / of[slot], of[slot]))
        k, n = int(count[best]), int(of[best])
        tail = sum(math.comb(n, i) * share**i * (1 - share) ** (n - i) for i in range(k, n + 1))
        chance = tail * looked * period / len(slots)
        if chance <= limits.chance:
            yield _Window(hours, period, slots, k, n, chance)


def _runs(slots: npt.NDArray[np.int64], period: int) -> list[tuple[int, ...]]:
    """Hours in a row, the last of the day (week) being followed by the first."""
    runs = [tuple(map(int, run)) for run in np.split(slots, np.flatnonzero(np.diff(slots) > 1) + 1)]
    if len(runs) > 1 and runs[0][0] == 0 and runs[-1][-1] == period - 1:
        runs[0] = runs.pop() + runs[0]
    return [run for run in runs if run]


def _finding(group: list[_Window]) -> Finding:
    first, rows = group[0], group[0].rows
    devices = tuple(dict.fromkeys(window.hours.series.name for window in group))
    columns = sorted({window.hours.column for window in group})
    what = "; ".join(_WAYS[column][1] if column in _WAYS else _OTHERS for column in columns)
    others = f" (and {len(devices) - 1} more devices)" if len(devices) > 1 else ""
    clock = rows["time"].clock()
    text, values = _told(first)
    by_chance = "by chance {chance:.2g} windows of this length would agree as often, on all devices together"
    return RULE.finding(
        severity="notice" if _LATENCY in columns else "info",
        confidence="high" if first.chance <= SURE else "medium",
        devices=devices,
        **time_fields(rows[clock >= clock.max() - np.timedelta64(DAY // 2, "h")]),
        summary=say(text + others + ".", values),
        evidence=(
            *(cite(w.rows, *_told(w), worst=w.hours.column) for w in group[:MOST_TOLD]),
            cite(rows, by_chance, {"chance": first.chance}, weighs="context"),
        ),
        refutes=("people who do the same at that hour by hand",),
        cannot_know=(f"what runs then; candidates are {what}",),
    )


def _told(window: _Window) -> tuple[str, Values]:
    """The sentence of a window, and its values."""
    hours, begin, end = window.hours, window.slots[0], (window.slots[-1] + 1) % window.period
    many = "days" if window.period == DAY else _DAYS[begin // DAY]
    value = weighted.mean(window.rows, hours.column)
    unit, scale = ("ms", 1.0) if hours.column == _LATENCY else ("MB/s", KB_PER_MB)
    values: Values = {
        "device": hours.series.name,
        "begin": f"{begin % DAY:02}:00",
        "end": f"{end % DAY:02}:00",
        "count": window.seen,
        "of": window.of,
        "value": value / scale,
        "usual": hours.usual / scale,
    }
    does = "takes {value} ms a request" if unit == "ms" else _WAYS[hours.column][0] + " {value} MB/s"
    text = f"Between {{begin}} and {{end}} on {{count}} of {{of}} {many} {{device}} {does}"
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
