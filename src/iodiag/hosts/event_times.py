"""When the events of a kernel's log were, where only other inputs tell: the year, and what a boot clock is.

A classic stamp of syslog (`Nov 23 10:00:01`) is of the year that brings it nearest to the samples of its
host. A boot clock becomes a time where another log of the host has the same messages with both. A clock
without a zone has that of the host's files of sadc, which have both clocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np

from iodiag.model.capture import EVENTS, Capture
from iodiag.table.table import Floats, Table
from iodiag.table.tables import Tables
from iodiag.table.times import Times

SAME_S = 5.0
"""How far apart pairs of a boot clock and a time may be, to be of one boot: logs are a little late."""


def with_event_times(captures: Iterable[Capture]) -> list[Capture]:
    """The captures; events whose time other inputs of their host tell have it."""
    captures = list(captures)
    logs = [(n, table) for n, one in enumerate(captures) if (table := one.tables.samples(EVENTS)) is not None]
    if not logs:
        return captures
    dated = [_with_years(table, captures) for _, table in logs]
    for (number, _), table in zip(logs, dated, strict=True):
        tied = _with_boot_clock(table, [other for other in dated if other is not table])
        tables = {**dict(captures[number].tables.each()), EVENTS: _with_offsets(tied, captures)}
        captures[number] = replace(captures[number], tables=Tables(tables))
    return captures


def _with_years(table: Table, captures: Sequence[Capture]) -> Table:
    """Events with the times of their classic stamps, in the year nearest to the samples of their host."""
    times = table["time"]
    wanted = np.flatnonzero(times.is_unknown())
    if not len(wanted) or (times.zone is not None and len(wanted) < len(table)):
        return table
    stamps, middles = times.stamps.copy(), dict[str, datetime | None]()
    for place in wanted.tolist():
        host = table["host"][place]
        if host not in middles:
            middles[host] = _middle(host, captures)
        if (near := middles[host]) and (found := _nearest(table["stamp"][place], near)):
            stamps[place] = np.datetime64(found, "ns")
    return table.with_columns(time=Times(stamps))


def _middle(host: str, captures: Iterable[Capture]) -> datetime | None:
    """The middle of the time that the samples of a host cover, as its clock showed it."""
    times = []
    for capture in captures:
        for family, rows in capture.tables.each():
            own = rows[rows["host"] == host] if family != EVENTS else rows[:0]
            times += [own["time"].min(), own["time"].max()]
    known = [time.replace(tzinfo=None) for time in times if time is not None and time.year > 1970]
    return min(known) + (max(known) - min(known)) / 2 if known else None


@lru_cache(maxsize=4096)
def _nearest(stamp: str, near: datetime) -> datetime | None:
    """A stamp without its year at the time nearest to another; None where it is none."""
    found = []
    for year in (near.year - 1, near.year, near.year + 1):
        text, _, fraction = stamp.partition(".")
        try:
            time = datetime.strptime(f"{year} {text}", "%Y %b %d %H:%M:%S")
        except ValueError:
            continue
        found.append(time + timedelta(seconds=float(f"0.{fraction or 0}")))
    return min(found, key=lambda time: abs(time - near), default=None)


def _with_boot_clock(table: Table, others: Sequence[Table]) -> Table:
    """Events that have a boot clock alone with the times that others' equal messages have."""
    times, boot = table["time"], table.floats("boot_s")
    wanted = times.is_unknown() & ~np.isnan(boot)
    if not wanted.any() or not times.is_unknown().all():
        return table
    for other in others:
        offsets = _offsets(table, other)
        if len(offsets) and float(np.ptp(offsets)) <= SAME_S:
            seconds: Floats = np.where(wanted, boot + float(np.median(offsets)), np.nan)
            stamps = Times.of(seconds).stamps
            return table.with_columns(time=Times(stamps, other["time"].zone))
    return table


def _with_offsets(table: Table, captures: Iterable[Capture]) -> Table:
    """Events of a clock without a zone with the offset of their host's files that state one."""
    stated: dict[str, list[tuple[datetime, float]]] = {}
    for section in (section for capture in captures for section in capture.sections):
        if section.host and section.start and section.utc_offset_s is not None:
            start = datetime.fromisoformat(section.start).replace(tzinfo=None)
            stated.setdefault(section.host, []).append((start, section.utc_offset_s))
    times, offsets = table["time"], table.floats("utc_offset_s").copy()
    if times.zone is not None or not stated:
        return table
    for place in np.flatnonzero(np.isnan(offsets) & ~times.is_unknown()).tolist():
        own, time = stated.get(table["host"][place]), times[place]
        if own and time is not None:
            # the offset changes with the season, and that seldom
            near = own[0] if len(own) == 1 else min(own, key=lambda one: abs(one[0] - time))
            offsets[place] = near[1]
    return table if np.isnan(offsets).all() else table.with_columns(utc_offset_s=offsets)


def _offsets(table: Table, other: Table) -> Floats:
    """Time less boot clock, of each message that stands once in both tables."""
    known = other[~other["time"].is_unknown()]
    seconds, boots = known["time"].seconds(), known.floats("boot_s")
    places = _once(known)
    found = []
    for key, place in _once(table).items():
        there, boot = places.get(key), float(table.floats("boot_s")[place])
        # another boot may say the same
        if there is not None and not abs(boots[there] - boot) > 1:
            found.append(seconds[there] - boot)
    return np.array([offset for offset in found if not np.isnan(offset)])


def _once(table: Table) -> dict[tuple[str, str], int]:
    """The places of the messages that a host's log has once."""
    keys = list(zip(table["host"], table["message"], strict=True))
    counts = Counter(set(zip(keys, table["line"].tolist(), strict=True)))
    often = Counter(key for key, _ in counts)
    return {key: place for place, key in enumerate(keys) if often[key] == 1}
