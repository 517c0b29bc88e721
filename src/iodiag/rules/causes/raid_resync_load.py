"""A resync, check, rebuild or reshape loads the members of an array.

What it detects: members of an array that read alike, or all but one that is written as much, far
beyond what the array was asked for and what its small writes and missing members may cost. A line
of /proc/mdstat or lvs that names the activity makes it certain. Where no array is described: two disks
of which one is read as much as the other is written, or that read alike, while the md arrays listed were
asked for next to nothing. Where no array is shown: three disks and more, all that do anything, that read
single pages alike and write nothing.

Where a listing says that a member is rebuilt, the array has less redundancy until that ends: a warning.

Why it matters: it competes with the real work, lasts for hours, and looks like a load that no
process makes; conclusions about small writes or slow members drawn meanwhile are void.

A resync that is less than a fifth of what the members do, in kB/s and in requests/s, is told for information:
without it the rest gains at most a quarter.

When it is wrong: a backup that reads all members directly at the same pace looks the same, as does
a copy between two volumes that lie on the same disks in the same way. Reads through one member
after another (a dd of each disk) do not, since they are not alike.

References: Linux Documentation/admin-guide/md.rst (sync_action, sync_speed_max); lvmraid(7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from iodiag.analysis.array.array_commands import array_commands
from iodiag.analysis.array.members import Array, ArrayTraffic, array_traffic, quotient
from iodiag.analysis.array.resync import (
    ALIKE,
    LEAST_KB,
    MATERIAL,
    Unasked,
    arrays_with_activity,
    is_rebuild,
    is_recovering,
    read_spread,
    reading_in_step,
    share_of_load,
    suspected,
    unasked,
    window,
)
from iodiag.analysis.measure import grading, weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_origin, say
from iodiag.analysis.measure.windows import is_sustained
from iodiag.analysis.view.device_names import is_md, is_physical
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import KB_PER_PAGE
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Table, stacked


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per array whose members read what nobody asked for."""
    known = [array for array in arrays_with_activity(view) if array.has_peers]
    guess = suspected(view)
    for array in (*known, *([guess] if guess is not None else [])):
        if array.missing:
            reason = "its members have no samples: capture the disks beside the array"
            yield RULE.not_applicable(reason, array.name, missing=array.missing)
            continue
        rows = window(array)
        if rows is not None:
            yield _finding(view, array, rows, limits)
        elif array.is_seen and len(array.rows) >= 3:
            reason = "the members move what the array was asked for, or do not read alike"
            yield RULE.clear(reason, array.name)
        elif array.is_seen:
            reason = "it was seen in too few samples; three could show that nothing else is read"
            yield RULE.undetermined(reason, array.name)
        else:
            reason = "the array itself has no samples, so nobody knows what its members were asked for"
            yield RULE.undetermined(reason, array.name)
    if guess is not None:
        return
    moved = unasked(view) if not known else None
    if moved is not None:
        yield _inferred(moved, limits)
    elif not known and (disks := reading_in_step(view)):
        yield _in_step(disks)
    elif not known:
        unseen = [device for device in view.topology if len(device.members) >= 2 and device.kind == "md"]
        reason = "no array is known here: give lsblk, /proc/mdstat, lvs or dmsetup table"
        if unseen:
            reason = "its members have no samples: capture the disks beside the array"
        missing = tuple(member for device in unseen for member in device.members) or ("topology",)
        yield RULE.not_applicable(reason, *(device.name for device in unseen), missing=missing)


def _finding(view: View, array: Array, rows: Table, limits: Limits) -> Finding:
    paid, activity = array_traffic(rows), array.device.activity
    values = _values(array, rows, paid, limits)
    size = float(values["size"])
    is_idle = float(values["asked_share"]) <= limits.most_asked
    is_long_read = abs(size / limits.resync_size - 1) <= 0.05 or size >= 2 * limits.resync_size
    is_long_read |= _are_pages(array, values) or _are_units(values)
    points = 1 + is_idle + is_long_read + 3 * bool(activity) + is_sustained(rows)
    points += float(values["apart"]) <= limits.alike
    points -= not array.is_stated
    is_enough = is_sustained(rows) or float(values["requests"]) >= limits.least_requests
    is_own = bool(activity) or not array.shared
    sure = grading.confidence(points, at_most="high" if is_enough and is_own else "low")
    is_beside = not float(values["share"]) >= 100 * MATERIAL
    is_queued = float(values["depth"]) >= 1 and not max(array.leg_mean(rows, "util_pct")) < limits.busy
    competes = paid.ios >= limits.least_asked and is_queued and sure != "low"
    target = None if values["rebuilt"] else _target(view, array, values)
    is_bound_above = _is_bound_above(array, values, limits)
    legs = (*(leg.name for leg in array.legs), *((target.name,) if target else ()))
    is_degraded = is_recovering(array)
    if target is not None:
        values |= {"target": target.name, "target_kb": weighted.mean(target.samples, "write_kb_per_s")}
    return RULE.finding(
        severity="warning" if is_degraded else "info" if is_beside else "warning" if competes else "notice",
        confidence=sure,
        **grading.device_fields(rows, *(array.name, *legs) if array.is_seen else legs),
        summary=say(
            (_BESIDE if is_beside else _ALONE + _ASKED * array.is_seen + (_COMPETES if competes else "."))
            + _ONTO * bool(target)
            + _UNTIL * is_degraded
            + _MD_BOUNDS * is_bound_above,
            values,
        ),
        evidence=tuple(_evidence(array, rows, values, is_long_read)),
        refutes=(
            "cat /sys/block/DEVICE/md/sync_action saying idle at that time",
            "a process that reads the disks",
        ),
        cannot_know=("which activity it is, and how far it got, unless mdstat or lvs says so",),
        **({"remedy": (*_RAISE, *RULE.remedy)} if is_bound_above else {}),
        confirm=array_commands(
            array.device,
            "sync_action",
            "sync_speed_max",
            "sync_completed",
            *(("stripe_cache_size", "group_thread_cnt") if is_bound_above else ()),
        ),
    )


def _target(view: View, array: Array, values: Values) -> DeviceSeries | None:
    """A disk that is not among the members and is only written, as fast as each of them is read."""
    own, reads = {leg.name for leg in array.legs}, (float(values["least"]), float(values["most"]))
    disks = [s for s in view.devices if s.name not in own and is_physical(s.name) and not s.is_stacked]
    found = []
    for series in disks:
        read, written = (weighted.mean(series.samples, f"{way}_kb_per_s") for way in ("read", "write"))
        if (
            max((1 - ALIKE) * reads[0], LEAST_KB) <= written <= (1 + ALIKE) * reads[1]
            and read <= ALIKE * written
        ):
            found.append(series)
    return found[0] if len(found) == 1 else None


def _is_bound_above(array: Array, values: Values, limits: Limits) -> bool:
    """Whether a stated resync reads page by page on members that have time left and no queue: md bounds it.

    A rebuild and a check of parity go through the stripe cache and one thread, unless more are set up.
    """
    is_running = (
        "%" in (array.device.activity or "") and array.device.parity_members > 0 and is_md(array.name)
    )
    is_free = float(values["busiest"]) <= limits.free and float(values["at_once"]) < limits.at_once
    return is_running and is_free and abs(float(values["size"]) / KB_PER_PAGE - 1) <= 0.05


def _inferred(moved: Unasked, limits: Limits) -> Finding:
    """A rebuild or check of which only the traffic tells."""
    disks = (*moved.sources, *((moved.target,) if moved.target else ()))
    values: Values = {
        "sources": " and ".join(series.name for series in moved.sources),
        "target": moved.target.name if moved.target else "",
        "read": moved.read_kb,
        "other": moved.other_kb,
        "written": moved.written_kb,
        "asked": moved.asked_kb,
        "size": moved.size_kb,
        "piece": moved.piece_kb,
        "unit": limits.resync_size,
    }
    rows = stacked([series.samples for series in disks])
    is_unit = _are_units(values) or moved.size_kb >= 2 * limits.resync_size
    is_queued = any(
        weighted.mean(series.samples, "util_pct") >= limits.busy
        and weighted.mean(series.samples, "depth") >= 1
        for series in disks
    )
    competes = is_unit and is_queued and moved.asked_ios >= limits.least_asked
    return RULE.finding(
        severity="warning" if competes else "notice",
        confidence="medium" if is_unit else "low",
        **grading.device_fields(disks[0].samples, *(series.name for series in disks)),
        summary=say(_REBUILT if moved.target else _CHECKED, values),
        evidence=(
            cite(rows, "the arrays and volumes listed were asked for {asked} kB/s in sum", values),
            *([_size(rows, values, is_unit)] if moved.size_kb >= 0 else []),
            cite(rows, "nothing states which disks the arrays stand on", values, weighs="against"),
        ),
        refutes=(
            "a copy from one disk to the other past the arrays",
            "cat /proc/mdstat without a resync then",
        ),
        cannot_know=("when it ran: averages since boot hold all that ever did",),
    )


def _in_step(disks: Sequence[DeviceSeries]) -> Finding:
    """A check of which only the disks tell, as no array is shown."""
    reads = [weighted.mean(series.samples, "read_kb_per_s") for series in disks]
    rows = stacked([series.samples for series in disks])
    values: Values = {"disks": len(disks), "least": min(reads), "most": max(reads)}
    return RULE.finding(
        severity="notice",
        confidence="low",
        **grading.device_fields(disks[0].samples, *(series.name for series in disks)),
        summary=say(_STEP, values),
        evidence=(
            cite(rows, "{disks} disks read {least} to {most} kB/s each, in single pages", values),
            cite(rows, "no array is shown that they are members of", {}, weighs="against"),
        ),
        refutes=(
            "cat /proc/mdstat without a resync or a check then",
            "a process that reads all of them alike",
        ),
        cannot_know=("what reads them: the array itself is not in the capture",),
    )


_STEP = (
    "{disks} disks read alike, {least} to {most} kB/s each in single pages, and nothing is written: so "
    "RAID4, 5 or 6 is checked or resynced, though no array is shown."
)
_REBUILT = (
    "{sources} reads {read} kB/s and {target} is written {written} kB/s, for which no array was asked: "
    "a mirror is, or was, rebuilt onto {target}."
)
_CHECKED = (
    "{sources} read {read} and {other} kB/s, alike, for which no array was asked: a mirror is, or was, "
    "checked or resynced."
)


def _values(array: Array, rows: Table, paid: ArrayTraffic, limits: Limits) -> Values:
    reads = array.leg_mean(rows, "read_kb_per_s")
    rates = [rate for rate in array.leg_mean(rows, "reads_per_s") if not np.isnan(rate)]
    ios = sum(rates) if len(rates) == len(reads) else paid.legs_ios
    moved = paid.legs_read_kb if len(rates) == len(reads) else paid.legs_read_kb + paid.legs_write_kb
    merged = sum(np.nan_to_num(array.leg_mean(rows, "read_merges_per_s")).tolist())
    lengths = weighted.seconds_or_one(rows)
    is_onto_one = is_rebuild(array)[rows["place"]].mean() > 0.5
    rebuilt = array.legs[reads.index(min(reads))].name if is_onto_one else ""
    readers, slots = len(reads) - is_onto_one, max(array.slots, len(reads))
    busy, depth = (array.leg_mean(rows, column) for column in ("util_pct", "depth"))
    return {
        "rebuilt": rebuilt,
        "readers": f"{readers} of its {slots}" if readers < slots else f"its {slots}",
        "busiest": max(busy),
        "at_once": max(
            100 * held / util if util > 0 else 0.0 for held, util in zip(depth, busy, strict=True)
        ),
        "device": array.name,
        "layout": array.layout,
        "legs": float(len(reads)),
        "legs_read": paid.legs_read_kb,
        "least": min(reads),
        "most": max(reads),
        "apart": 100 * float(np.median(read_spread(array)[rows["place"]])),
        "asked": weighted.or_zero(paid.read_kb),
        "share": 100 * float(np.median(share_of_load(array, rows))),
        "asked_share": 100 * weighted.or_zero(paid.read_kb) / paid.legs_read_kb,
        "written": weighted.or_zero(paid.write_kb),
        "size": quotient(moved, ios),
        "unit": limits.resync_size,
        "merged": quotient(merged, sum(rates) + merged),
        "piece": quotient(paid.legs_read_kb, sum(rates) + merged),
        "requests": ios * float(lengths.sum()),
        "depth": float(np.mean(depth)),
        "activity": array.device.activity or "",
        "what": _NAMES.get((array.device.activity or "").split(" ")[0], "A resync, check or rebuild"),
        "origin": array.device.provenance.get("activity", ""),
        "active": float(array.device.active_slots or 0),
        "slots": float(array.device.slots or 0),
    }


def _are_pages(array: Array, values: Values) -> bool:
    """Whether the reads of the members are single pages, merged or those of a stated activity of parity."""
    is_stated = bool(array.device.activity) and array.device.parity_members > 0
    return (is_stated or float(values["merged"]) >= _MERGED) and abs(
        float(values["piece"]) / KB_PER_PAGE - 1
    ) <= 0.05


def _are_units(values: Values) -> bool:
    """Whether the reads, before they were merged, have the size of md's unit."""
    return abs(float(values["piece"]) / float(values["unit"]) - 1) <= 0.05


def _size_text(values: Values, is_long_read: bool) -> str:
    return _UNITS if _are_units(values) else _LONG if is_long_read else _SHORT


_MERGED = 0.9
"""Share of the reads that are merged from which each was made of ten and more."""


def _size(rows: Table, values: Values, is_unit: bool) -> Evidence:
    return cite(rows, _size_text(values, is_unit), values, weighs="for" if is_unit else "context")


def _evidence(array: Array, rows: Table, values: Values, is_long_read: bool) -> Iterator[Evidence]:
    legs = stacked(array.legs_at(rows))
    yield cite(array.both_layers(rows), _READS if array.is_seen else _UNSEEN, values, worst="read_kb_per_s")
    if target := values["rebuilt"]:
        written = max(array.leg_mean(rows, "write_kb_per_s"))
        rebuilt: Values = {"target": target, "written": written, "most": values["most"]}
        yield cite(legs, _REBUILD, rebuilt, worst="write_kb_per_s")
    else:
        yield cite(legs, _ALIKE, values, worst="read_kb_per_s")
    if not np.isnan(float(values["size"])):
        text = _PAGES if _are_pages(array, values) else _size_text(values, is_long_read)
        is_short = not is_long_read and float(values["size"]) < float(values["unit"])
        yield cite(legs, text, values, weighs="for" if is_long_read else "against" if is_short else "context")
    if values["activity"]:
        yield cite_origin(legs, "{origin} says of {device}: {activity}", values)
    if not array.is_stated:
        inferred = {**values, "members": array.device.provenance.get("members", "")}
        yield cite(legs, "nothing states the members of {device}; {members}", inferred, weighs="against")


_NAMES = {
    "recovery": "The rebuild",
    "resync": "A resync",
    "check": "A check",
    "repair": "A repair",
    "reshape": "A reshape",
}
_ALONE = "{what} of {device} ({layout}) reads {legs_read} kB/s on {readers} members"
_ASKED = "; {asked} kB/s are read from it and {written} kB/s are written to it"
_COMPETES = ", and the requests queue."
_BESIDE = _ALONE + "; at {share:.0f} % of what they do, it slows the rest little."
_ONTO = " {target} is written {target_kb} kB/s, as fast as each of them is read: it is rebuilt."
_UNTIL = " It runs with {active} of {slots} members until that ends."
_READS = (
    "the {legs} members read {legs_read} kB/s together while {device} was asked to read {asked} kB/s and to "
    "write {written} kB/s"
)
_UNSEEN = "the {legs} members read {legs_read} kB/s together; {device} itself is not in the capture"
_ALIKE = "they read alike, {least} to {most} kB/s each, {apart:.1f} % apart in the median sample"
_REBUILD = "all members but {target} read up to {most} kB/s each while {target} was written {written} kB/s"
_UNITS = (
    "their reads are made of pieces of {piece:.1f} kB: md works in units of {unit} kB, which merge to more"
)
_LONG = "their requests average {size} kB: md works in units of {unit} kB, which merge to more"
_MD_BOUNDS = (
    " No member that is seen is more than {busiest:.0f} % busy or has more than {at_once:.1f} requests in "
    "flight while busy: the disks do not bound it, md does."
)
_RAISE = (
    "If it should end sooner: raise sync_speed_max where it is near the rate, then stripe_cache_size (8192) "
    "and, for RAID5 and 6, group_thread_cnt (4) of the array's md folder in sysfs.",
)
_PAGES = "their reads are made of pieces of {piece:.1f} kB: RAID4, 5 and 6 resync page by page"
_SHORT = "their requests average {size} kB; md works in units of {unit} kB, which merge to more"

RULE = Rule(
    id="raid-resync-load",
    explains=(*SYMPTOMS_AND_SATURATION, "backend-latency-shift", "latency-above-baseline"),
    title="A resync, check or rebuild loads the members",
    why="It competes with the real work for hours, and no process shows it.",
    remedy=(
        "Let it finish before judging anything else on these disks.",
        "Schedule checks for quiet hours (mdcheck, raid-check, checkarray).",
        "Bound it: sync_speed_max for md, --maxrecoveryrate for LVM.",
    ),
    needs=Needs(one_of=({"disk": ("read_kb_per_s", "write_kb_per_s")},)),
    thresholds={
        "most_asked": Threshold(
            1, "%", "of the members' reads asked for: the array idles", "judgement: a few superblocks"
        ),
        "alike": Threshold(
            2, "%", "apart at most, for a witness of its own", "measured 0 to 2.7 per second of a check"
        ),
        "resync_size": Threshold(64, "kB", "unit of a resync", "RESYNC_BLOCK_SIZE in drivers/md/md.h"),
        "least_asked": Threshold(5, "requests/s", "asked of the array, for a warning", "less is idle"),
        "busy": Threshold(
            50, "%", "util of a member that goes with it", "judgement: else others hardly wait"
        ),
        "free": Threshold(60, "%", "util of the busiest member that leaves it time", "judgement: two fifths"),
        "at_once": Threshold(
            2.5, "requests", "in flight while a member is busy, that are no queue", "measured 1.2 to 1.5"
        ),
        "least_requests": Threshold(
            500, "requests", "in a sample that stands alone", "judgement: 4 % of random error"
        ),
    },
    confirm=(
        "cat /proc/mdstat",
        "grep . /sys/block/md*/md/sync_action /sys/block/md*/md/sync_speed_max",
        "lvs -a -o name,sync_percent,raid_sync_action,raid_mismatch_count",
    ),
    references=("https://docs.kernel.org/admin-guide/md.html",),
    pictures=("stack",),
    # what its members do beside shows it, whatever the array itself is asked for
    to_clear=ToClear(samples=0, requests=0),
    detect=detect,
)
