"""Memory is short, and pages go back and forth between it and the swap device.

What it detects: swapping in and out at 1 MB/s and more, or as a tenth of all that the host reads and writes,
at the same time or in turns; pages that come back from swap at 10 MB/s and more; a flood of 50 MB/s and more
into swap, or of 10 MB/s where it is nearly all that is paged and tasks wait. Without columns of swapping the
traffic of a device tells that lsblk or /proc/swaps names as swap; where nothing does, one that moves exactly
one page at a time both ways, of which the disk below merges writes alone, is possibly swap, and so are
partitions of one disk that take turns at that. Large amounts are believed from one sample, small ones from
three on; fewer samples, and amounts below 1 MB/s, where tasks wait for it: swapping both ways is nearly all
that is paged and iowait is 15 % and more or a task is blocked, or it is a third and most of the CPUs' time is
iowait. Both ways means that a fifth of what is swapped comes back; pages that only leave are no shortage
where more memory is free or cache than lies in swap, and pages that only come back are one where they are
nearly all that is paged, tasks wait, and there is no such room. Pages that come back at 1 MB/s and more as a
third of what is read, while tasks wait, are a warning of pages that are missed, with memory free or not.
Pages that come back all the time are a note where swap holds twice what is free or cache; so are pages that
leave while more memory than they take is free throughout, which is no shortage, and swap that fills with
pages which stay in memory, while hardly any is written. Swap in use that grows by more than goes out, and by
what free memory and cache lose, is a shortage where the kernel takes half of the CPUs' time meanwhile. Pages
that leave at 0.8 MB/s and more without such room are missed where what is read falls by half meanwhile, while
more tasks wait and the CPUs are idle for longer.

Why it matters: the disk is busy only because memory is short; a faster disk treats the symptom. It is
critical where work stands still (nothing but swap-ins is read, for which memory has not room for a second and
no program runs), and where a log of the kernel shows that processes were killed for memory.

When it is wrong: a little out alone is harmless, idle pages being put away; a little in alone is a host that
recovers, and a program that is woken after days comes back at once. Swap on zram costs CPU and no disk. A
container at its limit swaps while the host has memory: where far more is free all the while than is swapped
in a minute, and than files are kept in, that is said.

References: vmstat(8), si and so; sar(1), -W and -B; Documentation/accounting/psi.rst.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.host.kernel_events import logged
from iodiag.analysis.host.swapping import (
    COST,
    MINUTE_S,
    beside,
    cost_of_swapping_out,
    has_room,
    page_traffic,
    paging_partitions,
    room_kb,
    swap_devices,
    swap_used_kb,
    swap_used_pct,
    swapped,
)
from iodiag.analysis.host.who_waits import blocked, rows_at
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_fact, in_samples, say
from iodiag.analysis.measure.grading import confidence, device_fields, time_fields
from iodiag.analysis.measure.windows import WINDOW_EXIT_SHARE
from iodiag.analysis.view.view import IDLE_KB_PER_S, DeviceSeries, View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.model.units import KB_PER_GB, KB_PER_MB
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Mask, Table, stacked

HALF = 0.5
_NEARLY_FULL = 90.0
FEW = 3
"""Samples up to which a small amount may be chance."""


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding per host, on the devices that swap lies on where these are known."""
    frame = swapped(view)
    if frame is None and (found := page_traffic(view, limits)) is not None:
        yield _possible(view, *found)
        return
    if frame is None and (areas := paging_partitions(view)):
        yield _of_areas(view, areas, limits)
        return
    if frame is None:
        text = "nothing counts what is swapped, and no device is known to hold swap"
        yield RULE.not_applicable(text, missing=("swapping",))
        return
    rows = frame[_presses(view, frame, limits)]
    if len(rows):
        # a moment among many samples is felt for a moment
        is_felt = 4 * len(rows) >= len(frame) and _is_felt(view, rows, limits)
        if len(rows) >= FEW or _is_large(rows, limits) or is_felt or "swapping" in view.average_only:
            yield _finding(view, rows, len(frame), limits)
            return
    yield (
        _overcommitted(view, frame, limits)
        or _of_places(view, frame)
        or _unprompted(view, frame, limits)
        or _missed(view, frame, limits)
        or _fetched(view, frame, limits)
        or _taken(view, frame, limits)
        or _quiet(view, frame, len(rows), limits)
    )


def _possible(view: View, series: DeviceSeries, disk: DeviceSeries) -> Finding:
    """What only looks like swap: whether it is, two commands tell."""
    rows = series.loaded
    values: Values = {"device": series.name, "disk": disk.name}
    values |= {way: weighted.mean(rows, f"{way}_per_s") for way in ("reads", "writes")}
    text = (
        "{device} may hold swap: {reads} reads/s and {writes} writes/s of exactly one page (4 kB) each, of "
        "which {disk} below it merges most writes and hardly any read"
    )
    return RULE.finding(
        severity="notice",
        confidence="low",
        **device_fields(rows, series.name),
        title="Memory may be short: a device moves single pages both ways, as swap does",
        summary=say(text + ".", values),
        evidence=(
            cite(rows, text, values),
            cite(disk.samples, "{disk} carries these pages", values, weighs="context"),
            *(cite_fact(fact, weighs="context") for fact in view.facts_of("free")[:1]),
        ),
        confirm=("swapon -s", "vmstat 1"),
        refutes=("a database of 4 kB pages", "a device-mapper target that splits what a file system writes"),
    )


def _of_areas(view: View, areas: Sequence[DeviceSeries], limits: Limits) -> Finding:
    """Partitions that look like swap areas of one priority; likely where swap is in use and CPUs wait."""
    rows = stacked([series.loaded for series in areas])
    values: Values = {"names": ", ".join(series.name for series in areas), "iowait": _iowait(view, rows)}
    for way in ("read", "write"):
        values[way] = sum(weighted.mean(series.loaded, f"{way}_kb_per_s") for series in areas)
    used = [fact for fact in view.facts_of("free") if fact.number("swap_used_pct") >= AREAS_USED]
    is_felt = bool(used) and float(values["iowait"]) >= limits.felt_iowait
    text = "{names} move nothing but single pages (4 kB) both ways, at like rates: {read:kb} come "
    text += "in and {write:kb} go out, as of swap areas that take turns"
    return RULE.finding(
        severity="warning" if is_felt else "notice",
        confidence="medium" if is_felt else "low",
        **device_fields(rows, *(series.name for series in areas)),
        summary=say(("Memory is short: " if is_felt else "Memory may be short: ") + text + ".", values),
        evidence=(cite(rows, text, values), *(cite_fact(fact) for fact in used[:1])),
        confirm=("swapon -s", "vmstat 1"),
        refutes=("file systems or databases of 4 kB pages on each of them",),
    )


AREAS_USED = 25.0
"""Share of swap in use, in %, from which it is no remainder of idle pages (judgement)."""


def _presses(view: View, frame: Table, limits: Limits) -> Mask:
    """The samples in which swapping is a load: both ways, in turns, back at a rate, or out in a flood."""
    came, went = (np.nan_to_num(frame.floats(f"{way}_kb")) for way in ("in", "out"))
    amount, moved = came + went, view.samples("paging")
    all_kb = np.full(len(frame), np.nan)
    enough = amount >= WINDOW_EXIT_SHARE * limits.swapped_kb
    is_flood = went >= limits.flood
    if moved is not None:
        own, other = paired(frame, moved)
        all_kb[own] = (moved.floats("pgpgin_kb_per_s") + moved.floats("pgpgout_kb_per_s"))[other]
        enough |= (amount >= IDLE_KB_PER_S) & (amount >= limits.share / 100 * all_kb)
        # beside a copy only memory that is seen to be small tells a flood from room for it
        is_flood &= ~(went < limits.felt_share / 100 * all_kb) | np.isfinite(room_kb(view, frame))
        if _is_waited(view, frame, limits):
            # out as fast as the device takes them, and nothing else to wait for
            is_flood |= (went >= limits.one_way) & (went >= limits.all_share / 100 * all_kb)
            # pages that were not changed need not go out again to be missed
            is_flood |= enough & (came >= limits.all_share / 100 * all_kb)
    # pages come back while others leave: in each sample, or in turns within a stretch of them
    both = (came >= limits.turns / 100 * amount) & (went > 0)
    stretch = np.cumsum(np.diff(enough, prepend=False))
    back, gone = (np.bincount(stretch, way)[stretch] for way in (came, went))
    both |= np.minimum(back, gone) >= limits.turns / 100 * (back + gone)
    pressed = enough & both | (came >= limits.one_way) | (is_flood & ~has_room(view, frame))
    # what leaves beside these at a like rate is of the same shortage, whatever comes back just then
    like = float(amount[pressed].mean()) if pressed.any() else math.inf
    is_beside = enough & (np.bincount(stretch, pressed)[stretch] > 0) & (went >= limits.one_way)
    is_beside &= (went >= HALF * like) & (went <= like / HALF)
    return np.asarray(pressed | (is_beside & (went >= limits.felt_share / 100 * all_kb)))


def _overcommitted(view: View, frame: Table, limits: Limits) -> Finding | None:
    """Pages that come back all the time from swap which holds more than memory could: no end of it."""
    back, room = frame.floats("in_kb"), room_kb(view, frame)
    is_more = swap_used_kb(view, frame) > limits.beyond * room
    rows = frame[is_more & (back > 0)]
    is_steady = len(rows) >= max(FEW, limits.steady / 100 * len(frame)) and is_more[-1]
    if "swapping" in view.average_only or not is_steady or np.mean(back) < limits.back:
        return None
    values: Values = {"in": float(np.mean(back)), "count": len(rows), "samples": len(frame)}
    values |= {"out": weighted.mean(frame, "out_kb")}
    values |= {
        "used": float(swap_used_kb(view, rows)[-1]) / KB_PER_GB,
        "room": float(room_kb(view, rows)[-1]) / KB_PER_GB,
    }
    text = "{used:.1f} GB lie in swap, {room:.1f} GB of memory are free or cache, and pages come back "
    text += f"{in_samples(len(frame))} ({{in}} kB/s, and {{out}} kB/s go out)"
    return _noted(
        "Memory is overcommitted: programs work on pages that lie in swap",
        say(f"More lies in swap than memory could take: {text}.", values),
        cite(rows, text, values, worst="in_kb"),
        rows,
        RULE.remedy,
    )


def _unprompted(view: View, frame: Table, limits: Limits) -> Finding | None:
    """Pages that went out for good while more memory than they took was free throughout: no shortage."""
    rows = frame[frame.floats("out_kb") >= WINDOW_EXIT_SHARE * limits.swapped_kb]
    if len(rows) < FEW or weighted.mean(rows, "in_kb") >= limits.turns / 100 * weighted.mean(rows, "out_kb"):
        return None
    sent = float(np.sum(rows.floats("out_kb") * weighted.seconds_or_one(rows)))
    free, used = beside(view, "memory", "free_kb", rows), swap_used_kb(view, rows)
    is_free = free > limits.free / 100 * room_kb(view, rows)
    if not (is_free.all() and np.min(free) > max(sent, float(np.ptp(used)))):
        return None
    values: Values = {"sent": sent / 1024, "free": float(np.min(free)) / 1024, "count": len(rows)}
    values["samples"] = len(frame)
    text = f"{{sent:.0f}} MB went to swap {in_samples(len(frame))} though at least {{free:.0f}} MB were free"
    back = _coming_back(view, frame, limits)
    told = "" if back is None else f", and tasks wait for what is asked for again: {back.text}"
    found = _noted(
        "Pages go to swap though memory is free" + ", and tasks wait until they come back" * bool(told),
        say(f"{text}: this is no shortage of memory", values) + told + ".",
        cite(rows, text, values, worst="out_kb"),
        rows,
        (
            "Look why pages are reclaimed while memory is free: a zone or node that is full, memory that is "
            "wanted in large blocks, or the kernel's own balance (vm.swappiness).",
        ),
        confirm=("cat /proc/buddyinfo", "grep -E 'pgscan|compact|zone_reclaim' /proc/vmstat", "numastat -m"),
        severity="notice" if back is None else "warning",
    )
    if back is None:
        return found
    return replace(found, evidence=(*found.evidence, back), refutes=_OF_OTHERS)


_OF_OTHERS = ("tasks that wait for other reads: majflt/s of pidstat -r tells who waits for pages",)


def _fetched(view: View, frame: Table, limits: Limits) -> Finding | None:
    """Pages that come back while hardly any go out, where tasks wait for them: of a shortage that is over."""
    back = _coming_back(view, frame, limits)
    if back is None:
        return None
    found = _noted(
        "Tasks wait for pages that come back from swap",
        f"Tasks wait for pages from swap: {back.text}.",
        back,
        frame,
        ("See whose pages they are, and why they went out: smem -s swap, vm.swappiness, limits of groups.",),
        severity="warning",
    )
    return replace(found, refutes=_OF_OTHERS)


def _coming_back(view: View, frame: Table, limits: Limits) -> Evidence | None:
    """That pages come back at a rate, are a good part of what is read, and somebody waits meanwhile."""
    rows = frame[frame.floats("in_kb") >= limits.swapped_kb]
    paging = rows_at(view, "paging", rows)
    if "swapping" in view.average_only or len(rows) < FEW or paging is None:
        return None
    values: Values = {"in": weighted.mean(rows, "in_kb"), "most": float(np.max(rows.floats("in_kb")))}
    values["share"] = 100 * float(values["in"]) / max(weighted.mean(paging, "pgpgin_kb_per_s"), 1.0)
    if not (float(values["share"]) >= limits.felt_share and _is_waited(view, rows, limits)):
        return None
    values |= {"iowait": _iowait(view, rows), "count": len(rows), "samples": len(frame)}
    text = (
        f"{{in}} kB/s come back from swap {in_samples(len(frame))}, {{most}} kB/s at most, {{share:.0f}} % "
    )
    text += "of what is read, with {iowait:.0f} % iowait"
    return cite(rows, text, values, worst="in_kb")


def _missed(view: View, frame: Table, limits: Limits) -> Finding | None:
    """Pages that leave while there is no room for them and less is done: somebody misses their memory."""
    found = cost_of_swapping_out(view, frame, WINDOW_EXIT_SHARE * limits.swapped_kb)
    if "swapping" in view.average_only or found is None or has_room(view, found[0]).all():
        return None
    rows, values = found
    values |= {"out": weighted.mean(rows, "out_kb"), "count": len(rows), "samples": len(frame)}
    text = f"{{out}} kB/s go out to swap{{for_cache}}, {in_samples(len(frame))}; meanwhile {COST}"
    of_cache = ("Keep the cache from taking their place: lower vm.swappiness, read or write past it.",)
    return _noted(
        "Memory is short: programs are paged out, and less is done",
        say(f"Programs are paged out: {text}.", values),
        cite(rows, text, values, worst="out_kb"),
        rows,
        (*of_cache * bool(values["for_cache"]), *RULE.remedy),
        severity="warning",
    )


def _of_places(view: View, frame: Table) -> Finding | None:
    """That swap fills while hardly anything goes out: with pages that are in memory too (swap cache)."""
    swap = view.samples("swap")
    if swap is None or {"swap", "swapping"} & view.average_only or len(swap) < FEW:
        return None
    used, cached = swap.floats("used_kb"), swap.floats("cached_kb")
    at, total = int(np.argmax(np.nan_to_num(used))), used + swap.floats("free_kb")
    taken, kept = float(used[at] - used[0]), float(cached[at] - cached[0])
    went = float(np.nansum(frame.floats("out_kb") * weighted.seconds_or_one(frame)))
    if not (taken >= _MANY_PLACES * total[at] and kept >= 0.8 * taken and went < taken / 10):
        return None
    values: Values = {"before": float(used[0]) / KB_PER_GB, "after": float(used[at]) / KB_PER_GB}
    values |= {"kept": float(cached[at]) / KB_PER_GB, "share": 100 * float(used[at] / total[at])}
    values["out"] = weighted.mean(frame, "out_kb")
    text = (
        "swap in use grows from {before:.1f} to {after:.1f} GB ({share:.0f} %), of which {kept:.1f} GB are "
    )
    text += "in memory as well (swap cache), while {out:.0f} kB/s go out"
    return _noted(
        "Swap fills with pages that are still in memory",
        say(
            f"{text[0].upper()}{text[1:]}: places are taken without I/O, and given up again at need.",
            values,
        ),
        cite(swap, text, values, worst="used_kb"),
        swap,
        ("See whose pages they are (smem -s swap, tmpfs, shared memory): this costs nothing by itself.",),
    )


def _taken(view: View, frame: Table, limits: Limits) -> Finding | Outcome | None:
    """More is put into swap than goes out to it while free memory and cache fall as much; None if not.

    The kernel gives pages of memory files (tmpfs, shared memory), which count as cache, their places in swap
    before it writes them: no room for files comes of that. It is told where the kernel takes most of the
    CPUs' time meanwhile, and else is in doubt.
    """
    used, room = swap_used_kb(view, frame), room_kb(view, frame)
    seconds = weighted.seconds_or_one(frame)
    went = float(np.nansum((frame.floats("out_kb") * seconds)[1:]))
    known = np.isfinite(used) & np.isfinite(room)
    if "swapping" in view.average_only or known.sum() < FEW:
        return None
    before, after = (float(used[known][place]) for place in (0, -1))
    lost = float(room[known][0] - room[known][-1])
    grown = after - before - went
    if grown < limits.swapped_kb * seconds[1:].sum() or lost < HALF * (after - before) or grown < went:
        return None
    values: Values = {"before": before / KB_PER_MB, "after": after / KB_PER_MB, "went": went / KB_PER_MB}
    values |= {"lost": lost / KB_PER_MB}
    values["system"] = weighted.or_zero(float(np.nanmean(beside(view, "cpu", "system_pct", frame))))
    text = (
        "swap in use grows from {before:.0f} to {after:.0f} MB, of which {went:.0f} MB went out, while free "
    )
    text += "memory and cache fall by {lost:.0f} MB"
    told = ": the kernel takes pages of memory files (tmpfs, shared memory) for swap and writes few"
    if not float(values["system"]) >= limits.reclaim:
        told += "; whether they come back shows in a longer vmstat 1"
        return RULE.undetermined(say(text + told, values))
    text += " and system time is {system:.0f} %"
    return _noted(
        "Memory is short: pages of memory files are taken for swap",
        say(f"Memory is short: {text}{told}.", values),
        cite(view.samples("swap"), text, values, worst="used_kb"),
        frame,
        ("See whose memory files they are: df -t tmpfs, ipcs -m, smem -s swap.", *RULE.remedy[::2]),
        confirm=("vmstat 1", "df -t tmpfs", "ipcs -mu"),
        severity="warning",
    )


_MANY_PLACES = 0.2
"""Of all swap, a share that it fills by where it is no drift."""


def _noted(
    title: str,
    summary: str,
    evidence: Evidence,
    rows: Table,
    remedy: tuple[str, ...],
    confirm: tuple[str, ...] = ("vmstat 1", "swapon --show"),
    severity: Severity = "notice",
) -> Finding:
    return RULE.finding(
        severity=severity,
        confidence="medium",
        **time_fields(rows, of_host=True),
        title=title,
        summary=summary,
        evidence=(evidence,),
        remedy=remedy,
        confirm=confirm,
        refutes=("pages that nobody asks for again, put away on purpose",),
        cannot_know=("which process the pages are of: smem -s swap tells",),
    )


def _quiet(view: View, frame: Table, pressed: int, limits: Limits) -> Outcome:
    """Clear where what was swapped is no load, undetermined where it is something and not much."""
    swapped_in, swapped_out = weighted.mean(frame, "in_kb"), weighted.mean(frame, "out_kb")
    if "swapping" in view.average_only and (grown := _grown(view, limits)):
        return RULE.undetermined(grown)
    if pressed:
        text = f"pages went both ways in {pressed} of {len(frame)} samples, too little to be sure of"
        return RULE.undetermined(f"{text}; vmstat 1 over a longer time would show it")
    if swapped_in + swapped_out < limits.swapped_kb / 10:
        used = float(np.nanmax(swap_used_pct(view, frame), initial=0.0))
        text = "next to nothing is swapped" + ", though {used:.0f} % of swap is in use" * (
            used >= _NEARLY_FULL
        )
        return RULE.clear(say(text, {"used": used}))
    if swapped_out > 10 * swapped_in:
        return _put_away(view, frame, limits)
    if swapped_in > 10 * swapped_out:
        return RULE.clear("pages come back from swap and none go out: memory was short, and is no longer")
    values: Values = {"in_kb": swapped_in, "out_kb": swapped_out}
    text = "{in_kb} kB/s come in from swap and {out_kb} kB/s go out: memory is tight, but that is no load"
    return RULE.undetermined(say(text, values))


def _grown(view: View, limits: Limits) -> str:
    """By how much what lies in swap grew while no rate of it was sampled; empty where it hardly did."""
    swap = view.samples("swap")
    used = np.empty(0) if swap is None or "swap" in view.average_only else swap.floats("used_kb")
    used = used[np.isfinite(used)]
    if not len(used) or used.max() - used[0] < limits.swapped_kb:
        return ""
    values: Values = {"before": used[0] / 1024, "after": float(used.max()) / 1024}
    text = "swap in use grows from {before:.1f} to {after:.1f} MB, while si and so are averages since boot: "
    return say(text + "memory ran short meanwhile; how fast shows in vmstat 1", values)


def _put_away(view: View, frame: Table, limits: Limits) -> Outcome:
    """What pages that leave and hardly come back mean: room for the cache, or memory that runs short."""
    rows = frame[frame.floats("out_kb") >= WINDOW_EXIT_SHARE * limits.swapped_kb]
    if not len(rows):
        return RULE.clear("pages are put away and not asked for again, which is harmless")
    values: Values = {way: weighted.mean(rows, f"{way}_kb") for way in ("in", "out")}
    values |= {
        "count": len(rows),
        "samples": len(frame),
        "gb": float(np.min(room_kb(view, rows))) / KB_PER_GB,
    }
    often = in_samples(len(frame))
    text = f"{{out}} kB/s go out to swap and {{in}} kB/s come back, {often}"
    if has_room(view, rows).all():
        text += ": idle pages make room for files, {gb:.1f} GB of memory are free or cache"
        return RULE.clear(say(text, values))
    text += "; whether they are missed shows in si of a longer vmstat 1"
    return RULE.undetermined(say(text, values))


def _certainty(view: View, rows: Table, points: float, limits: Limits) -> Confidence:
    """How sure it is, by the points of its witnesses, by how much is swapped and for how long."""
    amount, is_large = weighted.mean(rows, "both_kb"), _is_large(rows, limits)
    points += 1 + (amount >= limits.swapped_kb) + is_large
    # that the device holds swap is known apart from the counters
    points += view.samples("swapping") is None
    # a slow disk swaps few kB because it thrashes: then who waits tells, not how much
    is_felt = _is_felt(view, rows, limits)
    points += 2 * (is_felt and (amount < limits.swapped_kb or len(rows) < FEW))
    is_enough = is_felt or (amount >= limits.swapped_kb and (is_large or len(rows) >= FEW))
    return confidence(points, at_most="low" if not is_enough else "high" if len(rows) >= FEW else "medium")


def _finding(view: View, rows: Table, samples: int, limits: Limits) -> Finding:
    witnesses = list(_witnesses(view, rows, limits))
    amount = weighted.mean(rows, "both_kb")
    sure = _certainty(view, rows, sum(weight for weight, _ in witnesses), limits)
    killed = [*logged(view, "out of memory", rows, "the kernel killed {count} processes to get memory")]
    severity: Severity = "critical" if killed or _stands_still(view, rows, samples, limits) else "warning"
    values: Values = {
        "in_kb": weighted.mean(rows, "in_kb"),
        "out_kb": weighted.mean(rows, "out_kb"),
        "most": float(np.nanmax(rows.floats("both_kb"))),
        "count": len(rows),
        "samples": samples,
    }
    often, asleep = in_samples(samples), _asleep(view, rows)
    text = f"{{in_kb}} kB/s swapped in and {{out_kb}} kB/s out, {{most}} kB/s at most ({often})"
    again = tuple(_again(view, rows))
    unused = tuple(_unused(view, rows))
    begins = "Pages go back and forth" if unused else "Memory is short"
    of_held = _OF_HELD if again and "free" in again[0].values else {}
    return RULE.finding(
        **(_OF_UNUSED if unused else (_OF_AGAIN if again else {}) | of_held),
        severity=severity if sure != "low" else "notice",
        confidence=sure,
        devices=swap_devices(view),
        **time_fields(rows, of_host=True),
        summary=say(
            f"{begins}: {{in_kb}} kB/s come in from swap and {{out_kb}} kB/s go out, {often}"
            + "; up to {up_to:.0f} tasks are blocked on I/O" * bool(asleep),
            values | asleep,
        )
        + "".join(f"; {item.text}" for item in (*unused, *again))
        + ("; something keeps programs off memory that is free." if unused else "."),
        evidence=(
            cite(rows, text, values, worst="both_kb"),
            *unused,
            *(evidence for _, evidence in witnesses),
            *again,
            *killed,
            *_without_disk(view, rows, amount),
            *_in_use(view, rows),
        ),
        refutes=("swap that lies on zram alone", "a test that fills memory on purpose"),
        cannot_know=(
            "which process takes the memory, and whether a control group's limit is what runs short",
        ),
    )


def _unused(view: View, rows: Table) -> Iterator[Evidence]:
    """That far more memory is free meanwhile than is swapped in a minute, and than files are kept in.

    A shortage of the whole host would take it, and what is read from files would fill it.
    """
    memory = rows_at(view, "memory", rows)
    if memory is None or "memory" in view.average_only:
        return
    free, cached = memory.floats("free_kb"), memory.floats("cached_kb")
    moved = float(np.max(rows.floats("both_kb"))) * MINUTE_S
    if (free > np.fmax(moved, TIMES_FREE * (cached + np.nan_to_num(memory.floats("buffers_kb"))))).all():
        values: Values = {"free": float(free.min()) / KB_PER_GB, "cached": float(cached.max()) / KB_PER_MB}
        text = "{free:.1f} GB of memory are free all the while, and at most {cached:.0f} MB are page cache"
        yield cite(memory, text, values, worst="cached_kb")


TIMES_FREE = 10.0
"""Times the page cache that is free where nothing that runs fills memory, as page-cache-thrash has it."""

_OF_UNUSED: dict[str, Any] = {
    "title": "Pages go back and forth between memory and swap, and memory is free",
    "remedy": (
        "See what keeps programs off that memory: the limit of a control group, a NUMA node or a zone that "
        "is full, vm.min_free_kbytes, vm.zone_reclaim_mode.",
        "More memory helps only where they may use it.",
    ),
    "confirm": ("cat /proc/zoneinfo", "numastat -m", "sysctl vm.min_free_kbytes vm.zone_reclaim_mode"),
}


def _again(view: View, rows: Table) -> Iterator[Evidence]:
    """That pages come back of which others were dropped: more than lies in swap, and hardly any goes out.

    Where most of swap is free, what keeps them out of memory is what the kernel cannot put there.
    """
    used, seconds = swap_used_kb(view, rows), weighted.seconds_or_one(rows)
    came, went = (float(np.sum(rows.floats(f"{way}_kb") * seconds)) for way in ("in", "out"))
    in_swap = float(np.max(used)) if len(rows) >= FEW else math.nan
    if not (came >= TIMES * in_swap > 0 and went <= came / 10):
        return
    values: Values = {"mb": in_swap / KB_PER_MB, "times": came / in_swap, "seconds": float(seconds.sum())}
    values["samples"] = len(rows)
    often = "{times:.1f} times in {seconds:.0f} s"
    if np.isnan(rows.floats("interval_s")).any():
        often = "{times:.1f} times or more in {samples} samples"
    text = f"what lies in swap, {{mb:.0f}} MB, comes in {often}"
    whole = max((fact.number("swap_kb") for fact in view.facts_of("free")), default=math.nan)
    if in_swap < HALF * whole:
        values["free"] = 100 * (1 - in_swap / whole)
        text += ", while {free:.0f} % of swap is free: what fills memory is not swapped"
    yield cite(rows, text, values, worst="in_kb")


TIMES = 2.0
"""Times that all that lies in swap comes in, from which pages come back that were in memory meanwhile."""

_OF_AGAIN: dict[str, Any] = {"title": "Memory is short: the same pages come in from swap again and again"}


def _in_use(view: View, rows: Table) -> Iterator[Evidence]:
    """How much of swap is in use, by facts of any time where the samples do not count it."""
    if not np.isfinite(swap_used_kb(view, rows)).any():
        yield from (cite_fact(fact, weighs="context") for fact in view.facts_of("swaps", "free")[:2])


def _asleep(view: View, rows: Table) -> Values:
    """How many tasks are blocked meanwhile, on average and at most; none where that is not one."""
    found = blocked(view, rows)
    most = float(np.nanmax(found[0].floats("blocked"))) if found is not None else 0.0
    return {"blocked": found[1], "up_to": most} if found is not None and found[1] >= 1 and most >= 2 else {}


def _iowait(view: View, rows: Table) -> float:
    cpu = view.cpu_at(rows)
    return 0.0 if cpu is None else weighted.or_zero(weighted.mean(cpu, "iowait_pct", "cpu"))


def _stands_still(view: View, rows: Table, samples: int, limits: Limits) -> bool:
    """Whether in half of all samples the CPUs do next to nothing but wait for the disk that swaps.

    By pressure; by their iowait; or no program runs to speak of, all that is read are swap-ins, and memory
    that is free or cache would take those of less than a second.
    """
    cpu, paging, pressed = view.cpu_at(rows), *(rows_at(view, name, rows) for name in ("paging", "pressure"))
    if pressed is not None and weighted.mean(pressed, "memory_full_pct", "pressure") >= limits.stand_still:
        return True
    if cpu is None or len(rows) < FEW:
        return False
    is_still = cpu.floats("iowait_pct") >= limits.still_iowait
    back = rows.floats("in_kb")
    if paging is not None and len(cpu) == len(paging) == len(rows):
        share = 100 * back / np.fmax(paging.floats("pgpgin_kb_per_s"), 1)
        is_swap = np.abs(share - 100) <= 100 - limits.all_share  # zram reads nothing
        is_still |= (cpu.floats("user_pct") <= 1) & is_swap & (room_kb(view, rows) < back)
    return bool(2 * is_still.sum() >= samples)


def _is_waited(view: View, rows: Table, limits: Limits) -> bool:
    """Whether CPUs or tasks wait for I/O meanwhile; of many CPUs a few tasks are a small share."""
    blocked_tasks = blocked(view, rows)
    return _iowait(view, rows) >= limits.some_iowait or (blocked_tasks is not None and blocked_tasks[1] >= 1)


def _is_large(rows: Table, limits: Limits) -> bool:
    """Whether pages come back at a rate that is a load, or leave in a flood: few samples prove it."""
    came, went = weighted.mean(rows, "in_kb"), weighted.mean(rows, "out_kb")
    is_flood = went >= limits.one_way and came < limits.turns / 100 * (came + went)
    return bool(2 * came >= limits.one_way or is_flood)


def _is_felt(view: View, rows: Table, limits: Limits) -> bool:
    """Whether most of the CPUs' time is iowait while swapping is a good part of all that is paged, or some of
    it while swapping both ways is nearly all; of a slow disk several blocked tasks say the same of less."""
    paging = rows_at(view, "paging", rows)
    if paging is None:
        return False
    amount = weighted.mean(rows, "both_kb")
    moved = weighted.mean(paging, "pgpgin_kb_per_s") + weighted.mean(paging, "pgpgout_kb_per_s")
    if amount >= limits.all_share / 100 * moved and amount >= limits.swapped_kb:
        both = min(weighted.mean(rows, "in_kb"), weighted.mean(rows, "out_kb"))
        return bool(both >= limits.turns / 100 * amount and _is_waited(view, rows, limits))
    tasks = blocked(view, rows)
    if amount >= limits.all_share / 100 * moved and tasks is not None and tasks[1] >= limits.tasks:
        return len(rows) >= FEW
    is_most = amount >= limits.felt_share / 100 * moved
    return bool(is_most and _iowait(view, rows) >= limits.felt_iowait)


def _without_disk(view: View, rows: Table, amount: float) -> Iterator[Evidence]:
    """Said where swap reaches no disk: it is compressed memory, or a device that is not counted."""
    paging = rows_at(view, "paging", rows)
    if paging is None or not {"pgpgin_kb_per_s", "pgpgout_kb_per_s"} <= paging.names.keys():
        return
    moved = weighted.mean(paging, "pgpgin_kb_per_s") + weighted.mean(paging, "pgpgout_kb_per_s")
    if moved < amount / 10:
        text = (
            "only {moved} kB/s went to and from disks: swap lies on zram, or on a device that is not counted"
        )
        yield cite(paging, text, {"moved": moved}, weighs="context")


def _witnesses(view: View, rows: Table, limits: Limits) -> Iterator[tuple[int, Evidence]]:
    paging, queue = rows_at(view, "paging", rows), rows_at(view, "queue", rows)
    pressure = rows_at(view, "pressure", rows)
    if paging is not None:
        values: Values = {"read": weighted.mean(paging, "pgpgin_kb_per_s")}
        values["share"] = 100 * weighted.mean(rows, "in_kb") / max(float(values["read"]), 1e-9)
        if 50 <= float(values["share"]) <= 110:
            yield (
                1,
                cite(paging, "swap-ins are {share:.0f} % of the {read} kB/s that are read at all", values),
            )
        faults = weighted.mean(paging, "major_faults_per_s")
        if faults >= limits.major_faults:
            yield 1, cite(paging, "{faults} page faults/s had to wait for the disk", {"faults": faults})
    if queue is not None and (asleep := _asleep(view, rows)):
        text = "{blocked} tasks were blocked on I/O, up to {up_to:.0f}"
        yield 1, cite(queue, text, asleep, worst="blocked")
    if (
        pressure is not None
        and (full := weighted.mean(pressure, "memory_full_pct", "pressure")) >= limits.stall
    ):
        text = "all tasks waited for memory {full:.1f} % of the time"
        yield 2, cite(pressure, text, {"full": full}, worst="memory_full_pct")


RULE = Rule(
    id="swap-thrash",
    explains=(*SYMPTOMS_AND_SATURATION, "latency-above-baseline", "memory-exhausted"),
    replaces=("fragmentation-sized-reads", "low-concurrency-bound"),
    title="Memory is short: pages go back and forth between it and swap",
    why="The disk is busy with pages that memory should hold; no disk is quick enough to stand in for it.",
    remedy=(
        "Give the host more memory, or its programs less to do (buffer pools, heaps, workers).",
        "Find who swaps: smem -s swap, or the memory.current and memory.max of control groups.",
        "Do not tune the disk: its load goes away with the shortage.",
    ),
    needs=Needs(
        one_of=(
            {"swapping": ("swap_in_kb_per_s", "swap_out_kb_per_s")},
            {"swapping": ("pages_in_per_s", "pages_out_per_s")},
            {"disk": ("read_kb_per_s", "write_kb_per_s")},
        )
    ),
    thresholds={
        "swapped_kb": Threshold(1024, "kB/s", "in and out together", "judgement: one way is no thrash"),
        "one_way": Threshold(
            10240, "kB/s", "swapped in that is a load by itself", "2,560 faults/s that wait, a disk's seeks"
        ),
        "flood": Threshold(
            51200, "kB/s", "swapped out that no idle pages make", "judgement: half of what a disk streams"
        ),
        "turns": Threshold(
            20, "%", "share of the lesser way where they take turns", "judgement: a fifth comes back"
        ),
        "free": Threshold(10, "%", "of free memory and cache, free", "judgement: far above all watermarks"),
        "beyond": Threshold(
            2, "x", "memory that is free or cache, in swap", "judgement: it cannot come back"
        ),
        "steady": Threshold(
            50, "%", "samples in which pages come back to tell so", "judgement: most of them"
        ),
        "back": Threshold(40, "kB/s", "that come back then", "judgement: ten faults/s"),
        "share": Threshold(10, "%", "share of all that is paged that will do instead", "judgement"),
        "felt_share": Threshold(30, "%", "share of it that is what the host waits for", "judgement"),
        "all_share": Threshold(80, "%", "share of it that leaves nothing else to wait for", "judgement"),
        "some_iowait": Threshold(15, "%", "iowait that goes with that", "as the verdict has it"),
        "tasks": Threshold(3, "tasks", "blocked on average that need no iowait", "as blocked-tasks has it"),
        "felt_iowait": Threshold(50, "%", "iowait that goes with it", "judgement: more waits than works"),
        "still_iowait": Threshold(
            85, "%", "iowait at which work stands still", "judgement: a seventh is left"
        ),
        "major_faults": Threshold(100, "faults/s", "that wait for the disk", "judgement: a disk's seeks"),
        "reclaim": Threshold(50, "%", "system time of a host that reclaims", "as memory-exhausted has it"),
        "stall": Threshold(5, "%", "time in which all tasks wait for memory", "judgement: PSI memory full"),
        "stand_still": Threshold(40, "%", "such time at which work stands still", "judgement: PSI"),
    },
    confirm=("vmstat 1", "swapon --show", "cat /proc/pressure/memory", "smem -s swap -r"),
    references=("https://docs.kernel.org/accounting/psi.html",),
    detect=detect,
)

_OF_HELD: dict[str, Any] = {
    "remedy": (
        "See what holds memory and is not swapped: the kernel (slabtop), locked pages (Mlocked), a limit.",
        *RULE.remedy[::2],
    ),
    "confirm": ("slabtop -o | head -20", "grep -E 'Slab|Unevictable|Mlocked' /proc/meminfo", "vmstat 1"),
}
