"""Who waits for I/O: tasks blocked in the kernel, and the share of time that pressure reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.correlation import spearman
from iodiag.analysis.measure.evidence import Values
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.table.table import Floats, Mask, Table, by_text


def rows_at(view: View, table: str, rows: Table) -> Table | None:
    """The rows of a host's table in the same reports as `rows`; all of them where none are the same.

    vmstat beside iostat is a source of its own; then its whole capture stands for the window.
    """
    samples = view.samples(table)
    if samples is None:
        return None
    same = same_reports(samples, rows)
    return samples[same] if same.any() else samples


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
    is_many: Mask = tasks >= np.median(tasks) if len(tasks) else np.zeros(0, dtype=np.bool_)
    if is_many.all() or not is_many.any():
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


LEAST_CROWD = 8.0
"""Tasks that are a crowd, of which a few more or less is no chance."""


def moved(paging: Table) -> tuple[str, Values]:
    """What a host without numbers of its disks read and wrote, as a sentence with its values.

    `read`, `written` and their `total` are means in kB/s.
    """
    ways = {"read": paging.floats("pgpgin_kb_per_s"), "written": paging.floats("pgpgout_kb_per_s")}
    verb, other = sorted(ways, key=lambda way: -float(np.nansum(ways[way])))
    main, is_still = ways[verb], ways["read"] + ways["written"] < STILL_KB
    values: Values = {way: float(np.nanmean(rates)) for way, rates in ways.items()}
    values |= {"total": float(values["read"]) + float(values["written"])}
    values |= {"low": float(np.nanmin(main)), "high": float(np.nanmax(main))}
    values |= {"still": int(is_still.sum()), "shown": len(paging)}
    if is_still.all():
        return "almost nothing is read or written", values
    text = f"{{{verb}:kb}} are {verb}" + (" ({low:kb} to {high:kb})" if np.ptp(main) > 0 else "")
    if float(values[other]) >= STILL_KB:
        text += f" and {{{other}:kb}} {other}"
    if np.isfinite(flat := _flat_kb(main)):
        values["flat"] = flat
        text += ", at a flat rate of {flat:kb}: the disk or the path to it takes no more"
    if is_still.any():
        text += "; in {still} of these {shown} samples almost nothing is read or written: I/O stalled"
    return text, values


def _flat_kb(rates: Floats) -> float:
    """The rate that five samples and more, and nearly all of them, have in common; NaN where they differ."""
    if (usual := float(np.nanmedian(rates))) < STILL_KB:
        return float("nan")
    near = rates[np.abs(rates - usual) <= 2 * FLAT * usual]
    is_flat = len(near) >= max(ENOUGH, MOST * len(rates)) and np.std(near) <= FLAT * np.mean(near)
    return float(np.mean(near)) if is_flat else float("nan")


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


def by_device(disk: Table) -> Iterator[tuple[str, Table]]:
    """The rows of each device, by name."""
    yield from sorted(by_text(disk, "device"), key=lambda part: part[0])


def blocked(view: View, rows: Table) -> tuple[Table, float] | None:
    """Tasks blocked on I/O (vmstat b, sar -q blocked) during `rows`: the samples and their mean."""
    return _mean(view, "queue", "blocked", rows)


def is_unfelt(view: View, rows: Table) -> bool:
    """Whether nobody is seen to wait during `rows`: no task is blocked, or CPUs are idle for none."""
    if (waiting := blocked(view, rows)) is not None:
        return waiting[1] < NOBODY
    cpu = view.cpu_at(rows)
    if cpu is None or str(cpu["source"][0]) != str(rows["source"][0]):
        return False
    idle, iowait = (weighted.mean(cpu, f"{name}_pct", "cpu") for name in ("idle", "iowait"))
    return idle >= HAS_TIME_PCT and iowait * (view.cpus or 1) / 100 < NOBODY


def do_several_wait(view: View, rows: Table) -> bool:
    """Whether two tasks and more are seen to wait for I/O during `rows`: blocked, or idle CPUs' time."""
    if (waiting := blocked(view, rows)) is not None:
        return waiting[1] >= SEVERAL
    cpu = view.cpu_at(rows)
    waited = 0.0 if cpu is None or "cpu" in view.average_only else weighted.mean(cpu, "iowait_pct", "cpu")
    return waited / 100 * (view.cpus or 1) > 1


def is_wait_unknown(view: View, rows: Table) -> bool:
    """Whether no column counts who waits during `rows`: no tasks, and no idle time of CPUs either."""
    cpu = None if "cpu" in view.average_only else view.cpu_at(rows)
    has_time = cpu is not None and weighted.mean(cpu, "idle_pct", "cpu") >= HAS_TIME_PCT
    return blocked(view, rows) is None and not has_time


SEVERAL = 2.0
"""Tasks blocked on average that are more than one stream, which waits for each of its own requests."""

NOBODY, HAS_TIME_PCT = 0.5, 10.0
"""Tasks that wait, on average, below which nobody does; idle time from which iowait tells who waits."""


def hardly_answers(view: View, series: DeviceSeries, rows: Table, is_late: Mask) -> bool:
    """Whether work stands still for a device: in half of its samples it has no idle time and is too late for
    its load, while somebody may wait."""
    is_dead = is_late & (rows.floats("util") >= NEVER_IDLE)
    return bool(2 * is_dead.sum() >= len(series.samples)) and not is_unfelt(view, rows[is_dead])


NEVER_IDLE, SECONDS_MS = 0.9, 1000.0
"""Busy share without idle time to speak of, and the latency at which whoever waits gets nothing done."""


def pressure(view: View, rows: Table, state: str) -> tuple[Table, float] | None:
    """Share of time in % that `some` or `full` tasks waited for I/O during `rows` (sar -q IO)."""
    return _mean(view, "pressure", f"io_{state}_pct", rows)


def under_pressure(view: View, what: str, some: float, full: float) -> tuple[Table, str] | None:
    """The samples in which some or all tasks waited for "io" or "memory" so much (in %).

    Beside them the ending of the columns: of the sample itself, else averages of the last 10 or 60 s. None
    without a table of pressure.
    """
    table = view.samples("pressure")
    if table is None:
        return None
    kind = next((kind for kind in ("", "_10s", "_60s") if view.has("pressure", f"{what}_some{kind}_pct")), "")
    shares = (table.floats(f"{what}_{state}{kind}_pct") for state in ("some", "full"))
    is_pressed = np.any([share >= least for share, least in zip(shares, (some, full), strict=True)], axis=0)
    return table[is_pressed], kind


def is_any_busy(devices: Iterable[DeviceSeries], rows: Table, util_pct: float, depth: float) -> bool:
    """Whether one of some devices was that busy, or held that many requests, during a device's `rows`."""
    for device in devices:
        own = device.samples[same_reports(device.samples, rows)]
        if len(own):
            is_busy = weighted.mean(own, "util_pct") >= util_pct
            if is_busy or weighted.mean(own, "queue_depth") >= depth:
                return True
    return False


def _mean(view: View, table: str, column: str, rows: Table) -> tuple[Table, float] | None:
    found = rows_at(view, table, rows)
    if found is None or column not in found:
        return None
    found = found[~np.isnan(found.floats(column))]
    mean = weighted.mean(found, column, table) if len(found) else float("nan")
    return None if np.isnan(mean) else (found, mean)
