"""Whether the first report of a run is an average since boot."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from iodiag.formats.text.structure.blocks import Origin, Walk
from iodiag.formats.text.times import report_times as _report_times
from iodiag.formats.text.times import restarts
from iodiag.formats.text.times.sample_lengths import is_printed_by, stated_interval
from iodiag.formats.text.times.timing import Part

_FINE_TOTALS = ("kB_read", "kB_wrtn", "Blk_read", "Blk_wrtn")

_PARTED_DISK = re.compile(
    r"(?:sd|hd|vd|xvd|dasd)[a-z]{1,4}|nvme\d{1,4}n\d{1,4}|mmcblk\d{1,4}|(?:cciss|ida)[/!]c\d{1,3}d\d{1,3}"
)

_HARDLY_IDLE = 10.0

_FEWEST_FORGOTTEN = 2


def runs_begin_at_boot(
    found: Walk,
    origins: Mapping[int, Origin],
    parts: Sequence[Part],
    groups: Sequence[_report_times.RowGroup],
    length: float,
) -> bool:
    """Whether the first report of each run is an average since boot: as all prove, else as most do."""
    first = next(iter(origins.values()))
    if is_printed_by(first, parts) and first.command and first.command.has_flag("y"):
        return False
    # runs that somebody started one by one may be of other boots and hosts: each is looked at alone
    is_without_interval = (
        first.command is not None and is_printed_by(first, parts) and not stated_interval(first, parts)
    )
    started = {origin.index for origin in origins.values() if origin.banner or _is_typed(origin)}
    is_by_hand = len(started) == len(origins) <= restarts.FEW_RUNS
    told = None
    if not is_by_hand and not (is_without_interval and _report_times.is_alone(groups)):
        told = restarts.are_averages(groups, [part.timing.segment[part.where] for part in parts], length)
    if told is not None:
        return told
    votes, seen = [], set[int]()
    for number, origin in list(origins.items())[: restarts.MOST_RUNS]:
        # a banner announces the run below it alone
        origin = replace(origin, banner=None) if origin.index in seen else origin
        seen.add(origin.index)
        own = [run for part in parts if (run := part.within(number, number)).size]
        votes.append(begins_at_boot(found, origin, own, [run.row_group() for run in own]))
    return 2 * sum(votes) > len(votes)


def _is_typed(origin: Origin) -> bool:
    """Whether somebody started this run alone, by a command that stands above it."""
    return origin.command is not None and not (origin.command.is_loop or origin.command.when)


def begins_at_boot(
    found: Walk, origin: Origin, parts: Sequence[Part], groups: Sequence[_report_times.RowGroup]
) -> bool:
    """Whether the first report of a segment is one that its tool averages since boot."""
    first_report = parts[0].rows.layout.first_report
    # more reports than a command prints are of several runs of it, each of which may have left out its first
    most = origin.command.count if origin.command and origin.command.count else np.inf
    is_own_command = is_printed_by(origin, parts) and all(
        rows.report.max(initial=0) < most for rows in groups
    )
    own = origin.command if is_own_command else None
    # without an interval there is no other report, whatever was left out
    is_lone = own is not None and not (own.interval_s or own.is_excerpt) and _report_times.is_alone(groups)
    if own and own.has_flag("y"):
        return False
    if origin.is_elided and not is_lone:
        return _report_times.must_be_since_boot(groups)
    if first_report == "since boot under its clock":
        # with an interval, the first report is its first interval; without, its clock is the header's
        first = found.blocks[parts[0].rows.block[parts[0].where.start]]
        seconds = parts[0].rows.seconds[parts[0].where.start]
        is_announced = first.clock is not None and first.clock.seconds == seconds
        return is_announced and _report_times.may_be_since_boot(groups, stated_interval(origin, parts))
    stated = stated_interval(origin, parts)
    if stated and _report_times.is_alone(groups) and _is_of_now(parts[0]):
        return False  # any of the rows that the command printed
    # below a command the first of several is since boot; a lone one may be any of those that it printed
    is_any = own is None or (stated and _report_times.is_alone([rows for rows in groups if rows.totals_at]))
    if is_any and _have_read_nothing(parts):
        return False
    # a collector's file of a known second begins where the tool began
    is_begun = origin.started is not None and origin.command is None
    # vmstat prints no banner: one above it is another tool's
    is_announced = origin.banner is not None and first_report != "since boot"
    if is_announced or is_own_command or (is_begun and not _report_times.lies_among(groups)):
        # the whole numbers of vmstat are often the same in many rows
        is_counted = own is not None and first_report != "since boot"
        is_whole = is_counted and max(rows.report.max(initial=-1) for rows in groups) + 1 == most
        return _report_times.may_be_since_boot(groups, stated, is_announced, is_whole)
    if first_report == "since boot":
        if _report_times.is_alone(groups):
            return not _is_of_now(parts[0]) and _report_times.may_be_since_boot(groups)
        return _report_times.is_another_start(groups)
    return _report_times.must_be_since_boot(groups, _clocked_length(parts))


def is_first_unknown(origin: Origin, parts: Sequence[Part]) -> bool:
    """Whether nothing around the reports of a tool that prints a banner tells where it began."""
    is_told = origin.banner is not None or origin.started is not None or is_printed_by(origin, parts)
    return parts[0].rows.layout.first_report == "since boot below its banner" and not (
        is_told or origin.is_elided
    )


def _clocked_length(parts: Sequence[Part]) -> float:
    """The one length of all reports but the first that clocks tell; NaN where they tell none or several."""
    timed = [part for part in parts if part.has_own_clocks()]
    shown = [part.timing.interval[part.where][part.timing.report[part.where] > 0] for part in timed]
    lengths = np.unique(np.concatenate([np.empty(0), *shown]))
    return float(lengths[0]) if len(lengths) == 1 else np.nan


def _is_of_now(part: Part) -> bool:
    """Whether the averages of a lone row say what its columns of the moment say: tasks wait, no CPU is idle.

    A host is not short of idle time from its boot on, and just so when somebody looks.
    """
    place = {column.column: n for n, column in enumerate(part.rows.layout.columns)}
    if not {"blocked", "run_queue", "idle_pct"} <= place.keys():
        return False
    row = part.rows.numbers[part.where.start]
    tasks = row[place["run_queue"]] + row[place["blocked"]]
    return bool(row[place["idle_pct"]] <= _HARDLY_IDLE and row[place["blocked"]] >= 2 and tasks >= 4)


def _have_read_nothing(parts: Sequence[Part]) -> bool:
    """Whether a disk, which has read its partitions at boot, has read nothing by the first report.

    All totals of it are 0, where what is below half a MB rounds to 0 MB; or reads have no size beside writes.
    """
    found, is_of_disk = [np.empty(0)], False
    for part in parts:
        columns = part.rows.layout.columns
        places = [place for place, column in enumerate(columns) if column.raw in _FINE_TOTALS]
        is_first = part.timing.report[part.where] == 0
        first = part.rows.numbers[part.where][is_first]
        names = [part.rows.names[key] for key in part.rows.key[part.where][is_first]]
        are_disks = np.array([_PARTED_DISK.fullmatch(name) is not None for name in names], np.bool_)
        found.append(first[:, places].ravel())
        is_of_disk |= bool(places) and bool(are_disks.any())
        sizes, writes = (
            first[:, [place for place, column in enumerate(columns) if column.column == name]]
            for name in ("read_request_size_kb", "writes_per_s")
        )
        if (are_disks[:, None] & (sizes == 0) & (writes > 0)).any():
            return True
    return is_of_disk and not np.concatenate(found).any()


def used_devices(parts: Sequence[Part]) -> set[str]:
    """The devices with requests that have a size or a latency."""
    used = set[str]()
    for part in parts:
        group = part.row_group()
        has_requests = (group.numbers[:, list(group.means_at)] > 0).any(axis=1)
        used.update(part.rows.names[key] for key in np.unique(group.items[has_requests]))
    return used


def is_use_forgotten(parts: Sequence[Part], used: Set[str]) -> bool:
    """Whether the first report shows only 0 of several devices that were used before: it is no average then.

    A mean over all requests since boot never returns to nothing; one device may have been attached anew.
    """
    unused = set[str]()
    for part in parts if used else ():
        first = part.row_group()
        first = first.only(first.report == 0)
        is_unused = ~np.delete(first.numbers, list(first.now_at), axis=1).any(axis=1)
        unused.update(part.rows.names[key] for key in np.unique(first.items[is_unused]) if first.means_at)
    return len(unused & used) >= _FEWEST_FORGOTTEN
