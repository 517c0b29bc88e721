"""What a host reads and writes by its paging (vmstat bi and bo, sar -B), where its disks are not shown."""

from __future__ import annotations

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.host.cpu import NO_IDLE_PCT
from iodiag.analysis.host.swapping import beside, room_kb
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.correlation import spearman
from iodiag.analysis.measure.evidence import Values
from iodiag.analysis.measure.windows import longest_stretch
from iodiag.analysis.view.view import View, report_numbers
from iodiag.model.units import KB_PER_MB
from iodiag.table.table import Floats, Mask, Table

STILL_KB, FLAT, MOST, OVER = 256.0, 0.1, 0.8, 1.03
"""kB/s below which next to nothing moves; the spread of a flat rate, the share of samples with it, and times
its median that the edges of samples take it above."""

ENOUGH, BEYOND_CHANCE = 5, 2.0
"""Samples that show more than chance, and the standard errors by which a correlation is none."""


def starved(paging: Table, least: float = 10240.0) -> tuple[Table, str, Values] | None:
    """Where reads fall by half while `least` kB/s and more are written, or the reverse: rows and text."""
    found = []
    for own, other, falls, verb in (
        ("pgpgin_kb_per_s", "pgpgout_kb_per_s", "reads fall", "written"),
        ("pgpgout_kb_per_s", "pgpgin_kb_per_s", "writes fall", "read"),
    ):
        fell, flood = paging.floats(own), paging.floats(other)
        floods = flood >= max(least, float(np.nanmedian(flood)))
        if len(paging) < 3 or not floods.any() or floods.all():
            continue
        # of few samples only a fall that goes with the flood throughout is no chance
        is_seldom = min(floods.sum(), (~floods).sum()) < ENOUGH
        if is_seldom and not spearman(fell, flood) <= -BEYOND_CHANCE / np.sqrt(len(paging)):
            continue
        before, during = float(np.nanmedian(fell[~floods])), float(np.nanmedian(fell[floods]))
        if before >= least and during <= before / 2:
            values: Values = {"what": falls, "verb": verb, "before": before, "during": during}
            values["flood"] = float(np.nanmedian(flood[floods]))
            text = "{what} from {before:kb} to {during:kb} while {flood:kb} are {verb}"
            later = float(np.flatnonzero(floods).mean() - np.flatnonzero(~floods).mean())
            found.append((later, (paging[floods], text, values)))
    # what fell was there before the flood
    return max(found, key=lambda one: one[0])[1] if found else None


def slowed(paging: Table, rows: Table) -> tuple[Table, str, Values] | None:
    """Where many tasks are blocked, and half as much is moved as while half as many are: rows and text."""
    own, other = paired(paging, rows)
    tasks = rows.floats("blocked")[other]
    kb = _total(paging)[own]
    moves = ~_stands_still(_is_still(kb))
    # a load that leaves nobody waiting may be another
    moves &= tasks >= 1
    own, tasks, kb = own[moves], tasks[moves], kb[moves]
    is_many: Mask = tasks >= max(LEAST_CROWD, np.median(tasks) if len(tasks) else 0.0)
    if "phase" in paging and len(tasks):
        # what two runs did apart is no matter of how many tasks wait
        runs = paging.floats("phase")[own]
        is_both = ~np.isfinite(runs) | (np.isin(runs, runs[is_many]) & np.isin(runs, runs[~is_many]))
        own, tasks, kb, is_many = own[is_both], tasks[is_both], kb[is_both], is_many[is_both]
    if min(is_many.sum(), (~is_many).sum()) < LEAST_OF_EITHER:
        return None
    (many, few), (slow, fast) = ([float(np.mean(of[m])) for m in (is_many, ~is_many)] for of in (tasks, kb))
    if not (many >= LEAST_CROWD and many >= 2 * few and fast >= 2 * slow and fast >= 4 * STILL_KB):
        return None
    values: Values = {"many": many, "few": few, "slow": slow, "fast": fast}
    text = "{slow:kb} are moved while {many:.0f} tasks wait and {fast:kb} while {few:.0f} wait{s}: the more "
    text += (
        "tasks wait, the less is moved, as where streams take turns on a disk that seeks, or where it stalls"
    )
    values["s"] = "s" if round(few) == 1 else ""
    return paging[own[is_many]], text, values


def dipped(view: View, paging: Table, rows: Table) -> tuple[Table, str, Values] | None:
    """Where a task waits in samples in a row in which a tenth is moved of what is before and after.

    Small files come slower than large ones, too, but from any healthy disk faster than these.
    """
    own, other = paired(paging, rows)
    paging, kb = paging[own], _total(paging)[own]
    usual = float(np.median(known)) if len(known := kb[np.isfinite(kb)]) else 0.0
    is_low = (kb <= usual / COLLAPSE) & (rows.floats("blocked")[other] >= 1) & ~is_at_work(view, paging)
    run = longest_stretch(paging, is_low, gap=0)
    if run is None or run.stop - run.start < ENOUGH or usual < 4 * STILL_KB or kb[run].mean() > SEEKS_KB:
        return None
    sides = [kb[max(0, run.start - ENOUGH) : run.start], kb[run.stop : run.stop + ENOUGH]]
    sides = [part[part >= usual / 2] for part in sides]
    if min(map(len, sides)) < LEAST_OF_EITHER:
        return None
    values: Values = {"usual": float(np.median(np.concatenate(sides))), "count": run.stop - run.start}
    values["low"] = float(kb[run].mean())
    text = (
        "in {count} samples in a row {low:kb} are moved while a task waits, and {usual:kb} before and after"
    )
    return paging[run], text, values


SEEKS_KB = 400.0
"""kB/s of a lone reader for whom a spinning disk seeks for each page: 100 reads/s of 4 kB."""


def stood_still(view: View) -> tuple[Table, str, Values] | None:
    """The longest stand of known length: tasks wait, CPUs are not idle and nothing is read, amid a load.

    In most of its samples nothing is written, as a trickle always is. Where who waits does so for NFS, the
    disks move nothing before it and after it either.
    """
    if (paging := view.samples("paging")) is None:
        return None
    kb, read, written = _total(paging), *(paging.floats(f"pgpg{way}_kb_per_s") for way in ("in", "out"))
    is_held = _is_still(kb) & (read == 0) & ~is_at_work(view, paging)
    is_held &= beside(view, "queue", "blocked", paging) >= 1
    is_held &= beside(view, "cpu", "idle_pct", paging) <= NO_IDLE_PCT
    run = longest_stretch(paging, is_held, gap=0)
    if run is None or not 0 < run.start < run.stop < len(kb) or 2 * (kb[run] > 0).sum() >= len(kb[run]):
        return None
    values: Values = {"lasted": float(paging.floats("interval_s")[run].sum())}
    if not (float(values["lasted"]) >= STAND_S and min(kb[run.start - 1], kb[run.stop]) >= STILL_KB):
        return None
    given = written[run.start - 1]
    values["given"] = float(given * weighted.seconds_or_one(paging)[run.start - 1])
    is_burst = given > 0 and given >= BURST * np.median(written[written > 0])
    text = "nothing is read and almost nothing written for {lasted:.0f} s on end while a task waits"
    return paging[run], text + ", after {given:.0f} kB were written at once" * bool(is_burst), values


STAND_S, BURST = 5.0, 5.0
"""Seconds without I/O that whoever waits takes for a failure; times its usual rate that a burst is."""

LEAST_OF_EITHER = 2
"""Samples with many tasks and with few that tell them apart: one is a chance."""


def _is_still(kb: Floats) -> Mask:
    """The samples in which next to nothing is moved: of a trickle those far below its usual rate."""
    large = kb[kb >= STILL_KB]
    return np.asarray((kb < STILL_KB) & (not len(large) or kb <= np.median(large) / FALL))


FALL = 4.0
"""Times by which a rate falls where it comes to a stand: a trickle varies by two."""


def _stands_still(is_still: Mask) -> Mask:
    """The samples in which next to nothing is moved, if three in a row are so; else none."""
    return is_still & (is_still[2:] & is_still[1:-1] & is_still[:-2]).any()


LEAST_CROWD = 8.0
"""Tasks that are a crowd, of which a few more or less is no chance."""


def moved(view: View, paging: Table, waited: Mask | None = None) -> tuple[str, Values]:
    """What a host without numbers of its disks read and wrote, as a sentence with its values.

    `read`, `written` and their `total` are means in kB/s, without stretches that stand still. Beside such a
    stretch a direction is told by the samples in which it moves; `flat` is there where its rate is. `stalled`
    is in how many samples it comes to a stand of those `waited` for, which are all unless given.
    """
    is_known = np.isfinite(_total(paging)) | np.isnan(_total(paging)).all()
    paging, waited = paging[is_known], None if waited is None else waited[is_known]
    ways = {"read": paging.floats("pgpgin_kb_per_s"), "written": paging.floats("pgpgout_kb_per_s")}
    verb, other = sorted(ways, key=lambda way: -float(np.nansum(ways[way])))
    is_still = _is_still(ways["read"] + ways["written"])
    stands = _stands_still(is_still) & ~is_still.all()
    values: Values = {way: float(np.nanmean(rates[~stands])) for way, rates in ways.items()}
    total = float(values["read"]) + float(values["written"])
    values |= {"total": total, "still": int(is_still.sum()), "shown": len(paging)}
    held = is_still & ~is_at_work(view, paging) & (waited is None or waited)
    beside = _cached_meanwhile(view, paging[is_still], values)
    if is_still.all():
        much = "almost nothing" if total or _do_processes_move(view) else "nothing at all"
        is_held = waited is not None and bool(_stands_still(held).any())
        values |= {"stalled": int(held.sum())} if is_held else {}
        return f"{much} is read or written{beside}{_STALLED * is_held}", values
    # a standstill is told beside the means, not in them
    least = STILL_KB if stands.any() and ways[verb].max() >= STILL_KB else -np.inf
    on_main, on_other = (~stands & (ways[way] >= least) for way in (verb, other))
    main = ways[verb][on_main]
    values |= {"main": float(np.nanmean(main)), "low": float(np.nanmin(main)), "high": float(np.nanmax(main))}
    # a ceiling is waited at for most of the time: a task that is met waiting now and then shows none
    on_it = _flat(main, may_scatter=waited is None or 2 * int(waited[on_main].sum()) > len(main))
    text = f"{{main:kb}} are {verb}"
    text += " ({low:kb} to {high:kb})" if np.ptp(main) > 0 else ""
    often = " in {moving} of {shown} samples" if stands.any() else ""
    if float(values[other]) >= STILL_KB:
        values |= {"also": float(np.nanmean(ways[other][on_other])), "also_in": int(on_other.sum())}
        told = f" and {{also:kb}} {other}"
        also = ways[other][on_other]
        values |= {"typical": float(np.nanmedian(also)), "peak": float(np.nanmax(also))}
        if float(values["also"]) > _SKEWED * float(values["typical"]):
            told = f" and mostly {{typical:kb}}, up to {{peak:kb}}, {other}"
        often = told + often if (on_main == on_other).all() else often + told + " in {also_in}"
    text += often
    if _are_equal(ways["read"], ways["written"]):
        text += ", as much of either in each sample, as where data is copied, or read to be written again"
    if on_it.any():
        values |= {"flat": float(np.mean(main[on_it])), "below": int((~on_it).sum())}
        text += ", at a flat rate" + " of {flat:kb} in all samples but {below}" * (not on_it.all())
    values |= {"moving": len(main)}
    return text + _at_rest(is_still, stands, held, beside, values), values


_STALLED = ", while a task waits in {stalled} of {shown} samples: I/O stalled, or a lock or NFS holds it"


def _do_processes_move(view: View) -> bool:
    """Whether a list of processes has any that reads or writes, which rates in whole kB round away."""
    facts = view.facts_of("iotop", "pidstat")
    return any(fact.number(f"{way}_kb_per_s") > 0 for fact in facts for way in ("read", "write"))


_SKEWED = 2.0
"""Times the median from which a mean is that of a few samples alone: it is no rate that the host ever had."""


def _at_rest(is_still: Mask, stands: Mask, held: Mask, beside: str, values: Values) -> str:
    """In how many samples nothing is moved, beside what, and how many stall, as words; adds to `values`."""
    if not is_still.any():
        return ""
    others = "the other {still}" if values["moving"] == (~is_still).sum() else "{still} others"
    others = others if stands.any() else "{still} of these {shown} samples"
    text = f"; in {others} almost nothing is read or written{beside}"
    # a load that ends falls as far, and leaves nobody waiting; a task that is met waiting once is no loss
    is_loss = 2 * is_still.sum() < len(is_still)
    if stalled := int((held if is_loss else held & _stands_still(held)).sum()):
        values["stalled"] = stalled
        text += ": I/O stalled" + " in {stalled} of them" * (stalled < int(is_still.sum()))
    return text


def is_at_work(view: View, paging: Table) -> Mask:
    """The samples in which CPUs are busy, the page cache grows by what is not read, or memory is taken."""
    work = [beside(view, "cpu", f"{name}_pct", paging) for name in ("user", "nice", "system")]
    is_busy = np.nansum(work, axis=0) >= AT_WORK_PCT
    # what is read stays in the cache, what is dropped becomes free, and so does what a stalled write held
    least = (STILL_KB + _total(paging)) * weighted.seconds_or_one(paging)
    cached, free, buffers = (changes(view, f"{name}_kb", paging) for name in ("cached", "free", "buffers"))
    return np.asarray(is_busy | (cached >= least) | (cached + free + buffers <= -least))


AT_WORK_PCT = 20.0
"""CPU time that work takes of which nobody says that it stands still (judgement)."""


def _total(paging: Table) -> Floats:
    """What is read and written in each sample, in kB/s."""
    return paging.floats("pgpgin_kb_per_s") + paging.floats("pgpgout_kb_per_s")


def changes(view: View, column: str, rows: Table) -> Floats:
    """By how much a column of the memory changes from sample to sample, at some rows; NaN where unknown."""
    found, memory = np.full(len(rows), np.nan), view.samples("memory")
    if memory is not None and "memory" not in view.average_only:
        own, other = paired(rows, memory)
        (numbers,) = report_numbers(memory)
        is_next = np.diff(numbers, prepend=-1) == 1
        found[own] = np.where(is_next, np.diff(memory.floats(column), prepend=np.nan), np.nan)[other]
    return found


def _cached_meanwhile(view: View, still: Table, values: Values) -> str:
    """By how much the page cache grows in samples in which next to nothing is read; fills in its `values`."""
    grown = changes(view, "cached_kb", still)
    more = grown[grown >= STILL_KB * weighted.seconds_or_one(still)]
    if len(more) < ENOUGH or not 2 * np.nansum(grown) >= more.sum():
        return ""
    values["cached"] = float(np.nansum(grown)) / KB_PER_MB
    text = " while the page cache grows by {cached:.0f} MB: data that comes over a network (NFS), or is "
    return text + "written later"


def _are_equal(read: Floats, written: Floats) -> bool:
    """Whether several samples read as much as they write, and all of them together nearly so."""
    moves = np.fmax(read, written) >= STILL_KB
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(np.log(read[moves] / written[moves]))
    is_equal = moves.sum() >= LEAST_EQUAL and bool((apart <= EQUAL_EACH).all())
    return is_equal and abs(read[moves].sum() / written[moves].sum() - 1) <= EQUAL_ALL


LEAST_EQUAL, EQUAL_EACH, EQUAL_ALL = ENOUGH, 0.15, 0.05
"""Samples, and how far reads and writes of each and of all together are apart where one follows the other."""


def collapsed(paging: Table, rows: Table) -> tuple[Table, str, Values] | None:
    """Where a crowd waits that stays as large, and what is moved falls step by step to a fraction."""
    own, other = paired(paging, rows)
    tasks = rows.floats("blocked")[other]
    kb = _total(paging)[own]
    if len(kb) < LEAST_FALL or not (tasks >= LEAST_CROWD).all() or np.ptp(tasks) > FLAT * tasks.mean():
        return None
    first, last = float(np.median(kb[: len(kb) // 4])), float(np.median(kb[-3:]))
    # another kind of load falls at once
    between = (2 * last < kb) & (kb < first / 2)
    falls = spearman(np.arange(len(kb), dtype=float), kb) <= -FALLING
    if not (last <= first / COLLAPSE and falls and between.sum() >= LEAST_BETWEEN):
        return None
    values: Values = {"tasks": float(tasks.mean()), "first": first, "last": last}
    return (
        paging[own],
        "what is moved falls from {first:kb} to {last:kb} while {tasks:.0f} tasks wait",
        values,
    )


LEAST_FALL, COLLAPSE, FALLING, LEAST_BETWEEN = 10, 10.0, 0.8, 3
"""Samples, times by which what is moved falls, the rank correlation with time, and samples on the way down:
streams that take turns move half as much, not a tenth, and a load that ends leaves nobody waiting."""


def _flat(rates: Floats, *, may_scatter: bool) -> Mask:
    """The samples of the rate that five and more, and nearly all, have in common; none where they differ.

    A ceiling may be missed, and not be exceeded; where hardly anybody is seen to wait at it, not by edges
    either.
    """
    usual = float(np.nanmedian(rates))
    is_near: Mask = np.abs(rates - usual) <= 2 * FLAT * usual
    near = rates[is_near]
    is_flat = usual >= STILL_KB and len(near) >= max(ENOUGH, MOST * len(rates))
    is_flat = is_flat and np.std(near) <= FLAT * np.mean(near) and np.nanmax(rates) <= near.max()
    is_flat = is_flat and (may_scatter or near.max() <= OVER * np.median(near))
    return is_near & is_flat


def scanned(view: View, paging: Table) -> tuple[Table, str, Values] | None:
    """The samples in which the buffers grow by what is read, as of file system metadata; none if few."""
    kb = paging.floats("pgpgin_kb_per_s")
    is_read = kb >= 2 * STILL_KB
    grown = changes(view, "buffers_kb", paging) / weighted.seconds_or_one(paging)
    rows = paging[is_read & (np.abs(grown / np.where(is_read, kb, np.nan) - 1) <= FLAT)]
    if len(rows) < max(ENOUGH, is_read.sum() / 2):
        return None
    text = (
        "the buffers grow by as much as is read, in {scans} of {reads} samples with reads: directories and "
    )
    text += "inodes (find, du, a backup's list of files), or a device that is read without a file system"
    return rows, text, {"scans": len(rows), "reads": int(is_read.sum())}


def released(view: View, tasks: Table) -> tuple[Table, str, Values] | None:
    """Where memory becomes free that was no cache, as of a process that ends, and half as many tasks wait."""
    freed, waiting = np.nan_to_num(changes(view, "free_kb", tasks)), tasks.floats("blocked")
    at = int(np.argmax(freed)) if len(freed) else 0
    before, after = waiting[max(0, at - ENOUGH) : at], waiting[at + 1 :][:ENOUGH]
    if min(len(before), len(after)) < LEAST_OF_EITHER or not freed[at] >= MUCH * room_kb(view, tasks)[at]:
        return None
    dropped = sum(changes(view, f"{name}_kb", tasks)[at] for name in ("cached", "buffers"))
    if not (abs(dropped) <= FLAT * freed[at] and before.mean() >= 1 and after.mean() <= before.mean() / 2):
        return None
    values: Values = {"freed": freed[at] / KB_PER_MB, "before": before.mean(), "after": after.mean()}
    text = (
        "{before:.1f} tasks wait before and {after:.1f} after {freed:.0f} MB of memory become free at once, "
    )
    return tasks[at : at + 1], text + "and no cache: a process ended or was killed", values


MUCH = 0.2
"""Of the memory that is free or cache, a part that no host gets back by chance."""


def page_cache_growth(view: View, paging: Table) -> tuple[Table, Values] | None:
    """The samples in which the page cache takes more than is written while next to nothing is read.

    Beside them by how many kB/s it grows, `grown`, and how many of those are `drained`. What is written out
    stays in the cache while memory is free, so that the growth is what is given to write, or less.
    """
    memory = view.samples("memory")
    if memory is None or "memory" in view.average_only or len(memory) < ENOUGH:
        return None
    seconds, drained = paging.floats("interval_s"), paging.floats("pgpgout_kb_per_s")
    grown = changes(view, "cached_kb", paging) / np.where(seconds > 0, seconds, np.nan)
    is_grown = grown >= np.maximum((1 + FLAT) * drained, STILL_KB)
    is_grown &= paging.floats("pgpgin_kb_per_s") < FLAT * grown
    if is_grown.sum() < max(ENOUGH, len(paging) / 2):
        return None
    values: Values = {"count": int(is_grown.sum()), "samples": len(paging)}
    values |= {"grown": float(np.mean(grown[is_grown])), "drained": float(np.mean(drained[is_grown]))}
    return paging[is_grown], values
