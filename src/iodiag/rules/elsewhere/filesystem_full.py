"""A file system is full or nearly so, of space or of inodes, or will be full soon as it fills now.

What it detects: a file system that is 97 % full or more, of space or of inodes, by df or sar -F; it is a cost
where 100 % are in use and next to nothing is left; or one whose
share in use (sar -F) grew along a straight line and, going on like that, is full within three times the span
that was measured.

Why it matters: a full file system fails writes, and a nearly full one may allocate slowly, since its free
space lies in small pieces: writes then become smaller and more seeks. No counter of a disk shows that, so
nothing here is said to be the cause of a latency.

When it is wrong: 3 % of a very large file system is much space. df may be older than the capture. What is
written once is full on purpose (images, media, snaps: left out), and so may an archive be. Root may still
write to the blocks that ext4 reserves. A trend of some hours need not go on: logs are rotated, jobs end.
Less than twelve samples over an hour have no trend, nor has growth in steps or with a turn.

References: df(1); sar(1) on -F (%fsused, %ufsused, %Iused); ext4 and XFS documentation on allocation groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import NamedTuple

import numpy as np

from iodiag.analysis.measure.evidence import Values, cite, cite_fact, say
from iodiag.analysis.measure.grading import time_fields
from iodiag.analysis.view.view import View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import Table, by_text

_KINDS = {"used_pct": "space", "inodes_used_pct": "inodes"}
_WRITTEN_ONCE = ("squashfs", "iso9660", "udf", "cramfs", "erofs")
_IMAGES, _FOLDERS = ("loop", "sr"), ("/snap/", "/run/media", "/media/", "/cdrom", "/mnt/cdrom")
_MORE_INODES = "Where inodes are short, delete small files: du --inodes -x -d 2 on it shows where they are."
_NONE_LEFT = {
    "space": "it is full, and writes that need more fail",
    "inodes": "none are left, and no file can be created",
}
SECONDS_PER_HOUR, ALL_PCT = 3600.0, 100.0


class _Trend(NamedTuple):
    """How fast a file system fills, in % of its size per hour, and when that reaches 100 %."""

    rate: float
    hours: float
    date: str
    rows: Table


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per file system and kind of shortage, by its last listing or sample."""
    found: dict[tuple[str, str], Finding] = {}
    clear: list[str] = []
    for fact in view.facts_of("mounts"):
        name, place = fact.word("device"), fact.word("mountpoint")
        for column, kind in _KINDS.items():
            used = fact.number(column)
            if np.isnan(used) or _is_written_once(name, place, fact.word("filesystem")):
                continue
            if used >= limits.full:
                left = fact.number("free_pct")
                is_full = used >= ALL_PCT and not left > limits.left
                found[name, kind] = _finding(name, place, kind, used, cite_fact(fact), is_full=is_full)
            else:
                found.pop((name, kind), None)
                clear.append(name)
    for name, rows in _sampled(view):
        place = str(rows["mountpoint"][-1] or "") if rows.has("mountpoint") else ""
        for kind, column in _columns(rows):
            if not _is_written_once(name, place, "") and (
                told := _sampled_finding(name, place, kind, column, rows, limits)
            ):
                found[name, kind] = told
            else:
                clear.append(name)
    yield from found.values()
    full = {name for name, _ in found}
    rest = tuple(dict.fromkeys(name for name in clear if name not in full))
    if rest:
        yield RULE.clear("the file system has room", *rest)
    if not found and not rest:
        reason = "nothing says how full a file system is: df and df -i, or sar -F, would"
        yield RULE.not_applicable(reason, missing=("filesystem",))


def _is_written_once(name: str, place: str, filesystem: str) -> bool:
    return filesystem in _WRITTEN_ONCE or name.startswith(_IMAGES) or place.startswith(_FOLDERS)


def _sampled(view: View) -> Iterator[tuple[str, Table]]:
    samples = view.samples("filesystem")
    if samples is not None:
        for name, rows in by_text(samples, "filesystem"):
            yield name.removeprefix("/dev/").removeprefix("mapper/"), rows


def _columns(rows: Table) -> Iterator[tuple[str, str]]:
    """Space as users see it, where that is shown, and inodes."""
    space = "unprivileged_used_pct" if rows.has("unprivileged_used_pct") else "used_pct"
    for kind, column in (("space", space), ("inodes", "inodes_used_pct")):
        if rows.has(column):
            yield kind, column


def _sampled_finding(
    name: str, place: str, kind: str, column: str, rows: Table, limits: Limits
) -> Finding | None:
    known = rows[~np.isnan(rows.floats(column))]
    used = float(known.floats(column)[-1])
    trend = _trend(known, column, limits)
    if used < limits.full and trend is None:
        return None
    values: Values = {"first": float(known.floats(column)[0]), "used": used, "samples": len(known)}
    text = "{first:.1f} % in use in the first and {used:.1f} % in the last of {samples} samples"
    evidence = cite(known, text, values)
    is_full = used >= ALL_PCT - limits.left
    trend = None if is_full else trend
    return _finding(
        name, place, kind, used, evidence, trend, is_full=is_full, **time_fields(known, of_host=True)
    )


def _trend(rows: Table, column: str, limits: Limits) -> _Trend | None:
    """The straight line along which it filled, where it is full within a few times the measured span."""
    data, last = rows.floats(column), rows["time"].max()
    hours = rows["time"].seconds() / SECONDS_PER_HOUR
    if last is None or len(rows) < limits.samples or np.isnan(hours).any():
        return None
    span = float(np.ptp(hours))
    if span < limits.span or np.ptp(data) < limits.growth:
        return None
    rate, _ = np.polyfit(hours - hours[0], data, 1)
    if rate <= 0 or np.corrcoef(hours, data)[0, 1] < limits.straight:
        return None
    left = float((100 - data[-1]) / rate)
    if not left <= limits.ahead * span:
        return None
    date = (last + timedelta(hours=left)).strftime("%Y-%m-%d %H:%M")
    return _Trend(float(rate), left, date, rows)


def _finding(
    name: str,
    place: str,
    kind: str,
    used: float,
    evidence: Evidence,
    trend: _Trend | None = None,
    *,
    is_full: bool,
    **fields: str,
) -> Finding:
    values: Values = {"device": name, "mountpoint": place, "used": used, "kind": kind}
    what = "{mountpoint} ({device})" if place else "the file system on {device}"
    text = f"{what} has {{used:.0f}} % of its {{kind}} in use"
    text += f": {_NONE_LEFT[kind]}" if is_full else ""
    cited = [evidence]
    if trend is not None:
        values |= {"rate": trend.rate, "hours": trend.hours, "date": trend.date, "samples": len(trend.rows)}
        text += ": it is full about {date} if it goes on like this, in {hours:.0f} h"
        cited.append(cite(trend.rows, "it fills by {rate:.2f} % per hour, along a straight line", values))
    said = say(text + ".", values)
    return RULE.finding(
        severity="warning" if is_full else "notice",
        confidence="high" if trend is None else "medium",
        devices=(name,),
        summary=said[0].upper() + said[1:],
        evidence=tuple(cited),
        remedy=(_MORE_INODES if kind == "inodes" else RULE.remedy[0],),
        confirm=("df -i" if kind == "inodes" else "df -h",),
        refutes=("a newer df: the one given may be older than the capture",),
        cannot_know=_SLOW if kind == "space" and not is_full else (),
        **fields,
    )


_SLOW = ("whether it allocates slowly: no counter of a disk shows that",)


RULE = Rule(
    id="filesystem-full",
    role="elsewhere",
    title="A file system is full or nearly so",
    why="Writes fail when it is full, and may be slow before.",
    remedy=(
        "Free space (logs, core files, files that were deleted and are still open: lsof +L1), or extend it.",
        _MORE_INODES,
    ),
    needs=Needs(),
    thresholds={
        "full": Threshold(
            97, "%", "of space or inodes in use", "judgement: alarms begin at 95; 3 % lie in pieces"
        ),
        "left": Threshold(0.01, "%", "left of what is full", "df rounds 99.01 % in use up to 100 %"),
        "samples": Threshold(12, "samples", "for a trend", "judgement: two hours of a sysstat archive"),
        "span": Threshold(1, "hours", "for a trend", "judgement: shorter growth is one job's"),
        "growth": Threshold(
            1, "%", "of the file system in that time", "less is below what sar prints surely"
        ),
        "straight": Threshold(0.97, "", "correlation of share and time", "judgement: no steps, no turn"),
        "ahead": Threshold(3, "spans", "that a trend is drawn out", "judgement: beyond it is a guess"),
    },
    confirm=("df -h", "df -i"),
    references=("https://man7.org/linux/man-pages/man1/df.1.html",),
    # df tells in one listing
    to_clear=ToClear(samples=0, requests=0),
    detect=detect,
)
