"""The first report of a tool is an average since boot.

What it detects: reports of iostat, vmstat and mpstat that average everything since boot, and top's first
screen, which may. They are left out of every other rule; where a capture has nothing else, the other rules
see them, but conclude nothing surer than a possibility. It is told only where the report says something else
than those that follow, where nothing follows, or where a device was busy or late most of the time since boot.
Legs of a mirror that were read whole since boot are told beside it.

Why it matters: the average of weeks says nothing about now, and is the report that people paste.

When it is wrong: a first report that was taken with -y, or of a short interval whose command line
was lost, is a sample like the others. It is kept where its rates lie on the grid of that interval, where
its numbers are those of the reports that follow, where a device is busy all the time, or where its totals are
those of a few minutes. One report below a command with an interval is kept where a disk has written and read
nothing: it has read its partitions at boot. Without a banner a first report is an average where it lies off
the grid of the others, or of the time between clocks, where its totals are those of an odd length, or where
requests with a size round to none; where it is unlike the others and nothing tells, it is kept, and a note
says so. Rows of vmstat with a header above each and the same rates are of a loop without an interval. Of
vmstat's first row only rates are averages: tasks and memory are of the moment. sar is not affected but after
a restart, and sadc's files hold differences only.

References: iostat(1), option -y; vmstat(8): "the first report produced gives averages since the
last reboot".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.time_per_kb import DIRECTIONS
from iodiag.analysis.states.service_times import SERVICE
from iodiag.analysis.view.device_names import is_md, is_partition_of_any, is_physical
from iodiag.analysis.view.view import REPORTS, SEGMENTS, View
from iodiag.model import columns as registry
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import Floats, Mask, Table, by_text, numbered, stacked

MOST_LINES = 10**12
"""More than an input has."""

_FAMILIES = ("system", "paging", "swapping", "disk", "cpu")


class Contrast(NamedTuple):
    """A column whose value since boot lies outside all later ones, and by what factor."""

    factor: float
    family: str
    column: str
    item: str
    rows: Table
    value: float
    least: float
    most: float
    reports: int


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """What was left out, or that there is nothing else: one finding of top's first screens, one of others."""
    found = {family: rows for family, rows in view.since_boot.items() if len(rows)}
    if not found:
        yield _without_average(view)
        return
    told = []
    for is_of_top in (False, True):
        part = {family: rows[_are_of_top(rows) == is_of_top] for family, rows in found.items()}
        part = {family: rows for family, rows in part.items() if len(rows)}
        if part and (one := _finding(view, part, limits, is_of_top)) is not None:
            told.append(one)
    yield from told
    if not told:
        yield RULE.undetermined("an average since boot is left out; those that follow are alike, or too few")


def _finding(view: View, found: dict[str, Table], limits: Limits, is_of_top: bool) -> Finding | None:
    """What is told of some tables; None where others follow and nothing in them differs."""
    contrasts = sorted(_contrasts(view, found, limits), reverse=True, key=lambda contrast: contrast.factor)
    only = sorted(set(found) & view.average_only)
    chronic = () if only or "disk" not in found else tuple(_chronic(found["disk"]))
    if not only and not contrasts and not chronic:
        return None
    rows = stacked(list(found.values()))
    source, _ = numbered(rows["source"])
    keys = [(source * SEGMENTS + rows["segment"]) * REPORTS + rows["report"]]
    keys += [np.nan_to_num(rows.floats("phase")).astype(np.int64)] if "phase" in rows else []
    count = len(np.unique(np.stack(keys), axis=1).T)  # two tools' reports of a segment are of two phases
    _, first = np.unique(source * MOST_LINES + rows["line"], return_index=True)
    is_of_mounts = found.keys() == {"nfs_mounts"}
    is_proven = "disk" in found and _are_totals_of_hours(found["disk"])
    alone, beside, cited = _SAID_OF_TOP if is_of_top else _SAID
    values: Values = {
        "count": count,
        "tables": ", ".join(only),
        "when": "the mount" if is_of_mounts else "boot",
    }
    return RULE.finding(
        severity="notice" if only else "info",
        confidence="high" if len(contrasts) >= limits.columns or not only or is_proven else "low",
        summary=say(alone if only else beside, values) + "".join(f" {one.text}." for one in chronic),
        evidence=(
            cite(rows[np.sort(first)], cited, values),
            *chronic,
            *(_contrast(contrast) for contrast in contrasts[:3]),
            *(_checked(found["disk"]) if "disk" in found and "disk" not in only else ()),
        ),
        **_OF_MOUNTS if is_of_mounts else _OF_TOP if is_of_top else _OF_OTHERS,
    )


def _are_totals_of_hours(old: Table) -> bool:
    """Whether totals over their rates are one length of time, of each device and way, of an hour or more."""
    rates = np.concatenate([old.floats(f"{way}_kb_per_s") for way in DIRECTIONS])
    lengths = np.concatenate([old.floats(f"{way}_kb") for way in DIRECTIONS]) / np.where(
        rates > 0, rates, np.nan
    )
    known = lengths[(rates >= _LEAST_KB) & np.isfinite(lengths)]
    return bool(len(known) > 1 and np.ptp(known) <= _ONE_LENGTH * known.min() and known.min() >= _HOUR_S)


_LEAST_KB, _ONE_LENGTH, _HOUR_S = 10.0, 1e-3, 3600.0
"""kB/s whose hundredths round by half a thousandth, how far lengths are apart then, and none of a sample."""


def _chronic(old: Table) -> Iterator[Evidence]:
    """What the device that held most did on average, where that is no matter of a moment.

    It was busy for most of the time, or requests took longer than any healthy disk has them take, and were
    in flight for much of it: a few late ones a minute are none.
    """
    rates, waits = (
        np.stack([old.floats(f"{way}{of}") for way in DIRECTIONS]) for of in ("s_per_s", "_await_ms")
    )
    ios = np.nansum(rates, axis=0)
    waited = np.where(
        np.isnan(old.floats("await_ms")), np.nansum(rates * waits, axis=0), ios * old.floats("await_ms")
    )
    held, latency, util = waited / 1000, waited / np.maximum(ios, 1e-9), old.floats("util_pct")
    is_late = (np.fmax(latency, np.fmax(*waits)) > SERVICE["memory card"].sane_limit_ms) & (
        held >= _OFTEN_HELD
    )
    for place in np.argsort(-held, kind="stable")[:_MOST_CHRONIC].tolist():
        if is_late[place] or util[place] >= _MOSTLY_BUSY_PCT:
            values: Values = {"device": str(old["device"][place]), "busy": float(util[place])}
            values |= {"held": float(held[place]), "latency": float(latency[place])}
            text = "{device} was {busy:.0f} % busy on average since boot: {held:.2f} requests in flight, "
            yield cite(old[place : place + 1], text + "{latency:ms} each", values)


_MOSTLY_BUSY_PCT, _OFTEN_HELD, _MOST_CHRONIC = 60.0, 0.5, 2
"""Busy share and requests in flight that are told of averages that others follow, and of how many devices."""


def _checked(old: Table) -> Iterator[Evidence]:
    """That disks which are written what md arrays are read alike, and most of that for no array.

    What a mirror is asked to read it reads once, on either leg; a check reads each of them whole.
    """
    last = [np.asarray(old[name] == old[name][len(old) - 1]) for name in ("source", "segment", "report")]
    old = old[np.all(last, axis=0)]
    names = [str(name) for name in old["device"]]
    arrays = old[np.array([is_md(name) for name in names])]
    asked, given = (float(arrays.floats(f"{way}_kb_per_s").sum()) for way in ("read", "write"))
    disks = old[np.array([is_physical(name) and not is_partition_of_any(name, set(names)) for name in names])]
    reads, writes = (disks.floats(f"{way}_kb_per_s") for way in ("read", "write"))
    legs = disks[(np.abs(writes - given) <= _TWIN * given) & (reads > _MOSTLY * asked)]
    reads = legs.floats("read_kb_per_s")
    if given > 0 and len(legs) > 1 and np.ptp(reads) <= _TWIN * reads.max():
        values: Values = {"legs": " and ".join(str(name) for name in legs["device"]), "asked": asked}
        values["least"] = float(reads.min())
        text = "{legs} are written alike since boot and each read {least:kb} or more, while md arrays were "
        text += "asked for {asked:kb}: they were read whole at some time, as in a check of a mirror"
        yield cite(legs, text, values, weighs="context")


_TWIN, _MOSTLY = 0.02, 2.0
"""How far apart legs of a mirror are in what they write and in what a check reads; and times as much as is
asked of arrays, of which most is for none."""


def _are_of_top(rows: Table) -> Mask:
    """Which rows are of first screens of top, which may be samples."""
    is_of_top = "may_be_sample" in rows
    return np.asarray(np.equal(rows["may_be_sample"], True) if is_of_top else np.zeros(len(rows), np.bool_))


def _without_average(view: View) -> Outcome:
    """That no report averages the time since boot, or that the first may: nothing tells how long any is."""
    shown = [series.samples for series in view.devices]
    is_open = any(rows.has("util_pct") for rows in shown)
    is_open &= all(np.isnan([*rows.floats("interval_s"), *rows["time"].seconds()]).all() for rows in shown)
    if view.tables.keys() <= {"process"}:
        return RULE.undetermined("no report is here of a tool whose first one averages the time since boot")
    if is_open:
        return RULE.undetermined(
            "nothing shows how long the reports are: the first may average the time since boot"
        )
    return RULE.clear("no report averages the time since boot")


_OF_MOUNTS: dict[str, Any] = {
    "title": "The first report averages the time since the mount",
    "remedy": ("Capture with nfsiostat 5 12 and pass over the first report.",),
    "confirm": ("nfsiostat 5 12", "mountstats"),
    "references": ("https://man7.org/linux/man-pages/man8/nfsiostat.8.html",),
}
_OF_TOP: dict[str, Any] = {
    "title": "The first screen of top may average the time since boot",
    "remedy": ("Capture with top -b -n 2 -d 5 and pass over the first screen.",),
    "refutes": ("top is of procps 3.3.13 or newer, whose first screen measures a moment",),
    "confirm": ("top -b -n 2 -d 5", "uptime"),
    "references": ("https://man7.org/linux/man-pages/man1/top.1.html",),
}
_OF_OTHERS: dict[str, Any] = {"refutes": ("the tool was called with -y",)}
_SAID = (
    "Only averages since {when} were captured ({tables}); they say nothing about the present.",
    "The first report is the average since {when} and is skipped ({count} reports).",
    "averages since {when}: {count} reports",
)
"""What is said of reports that stand alone, of those that others follow, and of their lines."""
_SAID_OF_TOP = (
    "Only the first screen of top was captured ({tables}); it may average the time since {when}.",
    "The first screen of top may average the time since {when} and is skipped ({count} reports).",
    "first screens of top: {count} reports",
)


def _contrasts(view: View, found: dict[str, Table], limits: Limits) -> Iterator[Contrast]:
    for family in _FAMILIES:
        later = view.samples(family)
        if family not in found or later is None or family in view.average_only:
            continue
        parts = _parts(view, family, later)
        first_key = {"disk": "device", "cpu": "cpu"}.get(family)
        first = found[family]
        for number in range(len(first)):
            item = str(first[first_key][number]) if first_key else ""
            same = parts.get((str(first["source"][number]), item))
            same = None if same is None else same[same["line"] > first["line"][number]]
            if same is None or not len(same):
                continue
            least = 1.0 if len(same) >= limits.samples else limits.factor
            found_in = _of_columns(family, item, first, number, same)
            yield from (one for one in found_in if one.factor >= least and (least == 1 or _is_told(one)))


def _parts(view: View, family: str, later: Table) -> dict[tuple[str, str], Table]:
    """The rows of each source and item as it was printed, "" where a table has no items."""
    together = [series.samples for series in view.devices] if family == "disk" else [later]
    key = {"disk": "printed", "cpu": "cpu"}.get(family)
    parts = {}
    for samples in together:
        for source, rows in _by(samples, "source"):
            parts.update({(source, item): own for item, own in _by(rows, key)})
    return parts


def _by(samples: Table, key: str | None) -> Iterator[tuple[str, Table]]:
    if key is None:
        yield "", samples
        return
    yield from by_text(samples, key)


def _of_columns(family: str, item: str, first: Table, number: int, later: Table) -> Iterator[Contrast]:
    # vmstat counts nice as a part of user
    nice = [bool(np.nansum(rows.floats("nice_pct")) > 0) for rows in (first[number : number + 1], later)]
    is_nice_in_one = any(nice) and first.has("nice_pct") != later.has("nice_pct")
    for entry in (entry for entry in registry.FAMILIES[family] if entry.kind != "mean"):
        others = later.floats(entry.name)
        value = float(first.floats(entry.name)[number])
        if not value > 0 or (entry.name == "user_pct" and is_nice_in_one):
            continue
        least, most = float(np.fmin.reduce(others)), float(np.fmax.reduce(others))
        near = least if value < least else most
        if least <= _rounded_as(others, value) <= most or not near > 0:
            continue
        factor = max(value / near, near / value)
        rows = first[number : number + 1]
        yield Contrast(factor, family, entry.name, item, rows, value, least, most, len(later))


def _is_told(contrast: Contrast) -> bool:
    """Whether a contrast with one or two reports is of numbers that are large enough to tell."""
    return max(contrast.value, contrast.most) >= _LEAST_TOLD


_LEAST_TOLD = 5.0
"""Shares in %, and rates per second, below which a report or two differ by chance."""


def _rounded_as(others: Floats, value: float) -> float:
    """A value with as many decimals as the others have."""
    known = others[np.isfinite(others)]
    return next((round(value, n) for n in range(3) if np.allclose(known, np.round(known, n))), value)


def _contrast(contrast: Contrast) -> Evidence:
    entry = registry.find(contrast.family, contrast.column)
    values: Values = {
        "meaning": entry.meaning if entry else contrast.column,
        "of": f"{contrast.item}: " if contrast.item not in ("", "all") else "",
        "value": contrast.value,
        "least": contrast.least,
        "most": contrast.most,
        "reports": contrast.reports,
        "unit": entry.unit if entry else "",
    }
    text = "{of}{meaning}: {value} {unit} since boot, {least} to {most} in the {reports} reports after it"
    return cite(contrast.rows, text, values)


RULE = Rule(
    id="first-report-since-boot",
    role="reading",
    title="The first report averages the time since boot",
    why="An average over days or weeks is no picture of the present.",
    remedy=(
        "Capture with iostat -xyt 1 60, which leaves the first report out.",
        "With vmstat 1 pass over the first row.",
    ),
    needs=Needs(),
    to_clear=ToClear(samples=0, requests=0),
    thresholds={
        "samples": Threshold(
            3, "reports", "later reports that a small contrast needs", "judgement: a range of two is none"
        ),
        "factor": Threshold(
            3, "times", "by which fewer reports have to differ", "judgement: chance does not triple a load"
        ),
        "columns": Threshold(
            5, "columns", "columns out of range that settle it", "judgement: chance puts one or two"
        ),
    },
    confirm=("iostat -xyt 1 60", "uptime"),
    references=("https://man7.org/linux/man-pages/man1/iostat.1.html",),
    detect=detect,
)
