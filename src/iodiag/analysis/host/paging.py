"""What a host reads and writes by its paging (vmstat bi and bo, sar -B), where its disks are not shown."""

from __future__ import annotations

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.measure.correlation import spearman
from iodiag.analysis.measure.evidence import Values
from iodiag.analysis.view.view import View
from iodiag.table.table import Floats, Mask, Table

STILL_KB, FLAT, MOST = 256.0, 0.1, 0.8
"""kB/s below which next to nothing moves; the spread of a flat rate, and the share of samples with it."""

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
    kb = (paging.floats("pgpgin_kb_per_s") + paging.floats("pgpgout_kb_per_s"))[own]
    moves = ~_stands_still(_is_still(kb))
    own, tasks, kb = own[moves], tasks[moves], kb[moves]
    is_many: Mask = tasks >= np.median(tasks) if len(tasks) else np.zeros(0, dtype=np.bool_)
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
    text = "{slow:kb} are moved while {many:.0f} tasks wait and {fast:kb} while {few:.0f} do: the more "
    text += (
        "tasks wait, the less is moved, as where streams take turns on a disk that seeks, or where it stalls"
    )
    return paging[own[is_many]], text, values


LEAST_OF_EITHER = 2
"""Samples with many tasks and with few that tell them apart: one is a chance."""


def _is_still(kb: Floats) -> Mask:
    """The samples in which next to nothing is moved: of a trickle those far below its usual rate."""
    is_little: Mask = kb < STILL_KB
    return is_little & (is_little.all() or kb <= np.median(kb[~is_little]) / FALL)


FALL = 4.0
"""Times by which a rate falls where it comes to a stand: a trickle varies by two."""


def _stands_still(is_still: Mask) -> Mask:
    """The samples in which next to nothing is moved, if three in a row are so; else none."""
    return is_still & (is_still[2:] & is_still[1:-1] & is_still[:-2]).any()


LEAST_CROWD = 8.0
"""Tasks that are a crowd, of which a few more or less is no chance."""


def moved(paging: Table, waited: Mask | None = None) -> tuple[str, Values]:
    """What a host without numbers of its disks read and wrote, as a sentence with its values.

    `read`, `written` and their `total` are means in kB/s, without stretches that stand still; `flat` is there
    where the rate is, and told in place of its mean; `stalled` where it comes to a stand in samples `waited`
    for: in all, unless given.
    """
    ways = {"read": paging.floats("pgpgin_kb_per_s"), "written": paging.floats("pgpgout_kb_per_s")}
    verb, other = sorted(ways, key=lambda way: -float(np.nansum(ways[way])))
    is_still = _is_still(ways["read"] + ways["written"])
    # a standstill is told beside the mean, not in it
    stands = _stands_still(is_still) & ~is_still.all()
    main = ways[verb][~stands]
    values: Values = {way: float(np.nanmean(rates[~stands])) for way, rates in ways.items()}
    values |= {"total": float(values["read"]) + float(values["written"])}
    values |= {"low": float(np.nanmin(main)), "high": float(np.nanmax(main))}
    values |= {"still": int(is_still.sum()), "shown": len(paging)}
    if is_still.all():
        return "almost nothing is read or written", values
    on_it = _flat(main)
    told = "flat" if on_it.any() else verb
    text = f"{{{told}:kb}} are {verb}" + (" ({low:kb} to {high:kb})" if np.ptp(main) > 0 else "")
    if float(values[other]) >= STILL_KB:
        text += f" and {{{other}:kb}} {other}"
    if stands.any():
        values["moving"] = len(main)
        text += " in {moving} of {shown} samples"
    if _are_equal(ways["read"], ways["written"]):
        text += ", as much of either in each sample, as where data is copied, or read to be written again"
    if on_it.any():
        values |= {"flat": float(np.mean(main[on_it])), "below": int((~on_it).sum())}
        text += ", at a flat rate" + " in all samples but {below}" * (not on_it.all())
    if is_still.any():
        others = "the other {still}" if stands.any() else "{still} of these {shown} samples"
        text += f"; in {others} almost nothing is read or written"
    # a load that ends falls as far, and leaves nobody waiting; a task that is met waiting once is no loss
    held = is_still if waited is None else is_still & waited
    is_loss = 2 * is_still.sum() < len(paging)
    if stalled := int((held if is_loss else held & _stands_still(held)).sum()):
        values["stalled"] = stalled
        text += ": I/O stalled" + " in {stalled} of them" * (stalled < int(is_still.sum()))
    return text, values


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
    kb = (paging.floats("pgpgin_kb_per_s") + paging.floats("pgpgout_kb_per_s"))[own]
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


def _flat(rates: Floats) -> Mask:
    """The samples of the rate that five and more, and nearly all, have in common; none where they differ.

    A ceiling may be missed, and not be exceeded.
    """
    usual = float(np.nanmedian(rates))
    is_near: Mask = np.abs(rates - usual) <= 2 * FLAT * usual
    near = rates[is_near]
    is_flat = usual >= STILL_KB and len(near) >= max(ENOUGH, MOST * len(rates))
    is_flat = is_flat and np.std(near) <= FLAT * np.mean(near) and np.nanmax(rates) <= near.max()
    return is_near & is_flat


def page_cache_growth(view: View, paging: Table) -> tuple[Table, Values] | None:
    """The samples in which the page cache takes more than is written while next to nothing is read.

    Beside them by how many kB/s it grows, `grown`, and how many of those are `drained`. What is written out
    stays in the cache while memory is free, so that the growth is what is given to write, or less.
    """
    memory = view.samples("memory")
    if memory is None or "memory" in view.average_only or len(memory) < ENOUGH:
        return None
    kept = memory.with_columns(grown=np.diff(memory.floats("cached_kb"), prepend=np.nan))
    own, other = paired(paging, kept)
    rows, seconds = paging[own], paging.floats("interval_s")[own]
    grown = kept.floats("grown")[other] / np.where(seconds > 0, seconds, np.nan)
    drained = rows.floats("pgpgout_kb_per_s")
    is_grown = grown >= np.maximum((1 + FLAT) * drained, STILL_KB)
    is_grown &= rows.floats("pgpgin_kb_per_s") < FLAT * grown
    if is_grown.sum() < max(ENOUGH, len(paging) / 2):
        return None
    values: Values = {"count": int(is_grown.sum()), "samples": len(paging)}
    values |= {"grown": float(np.mean(grown[is_grown])), "drained": float(np.mean(drained[is_grown]))}
    return rows[is_grown], values
