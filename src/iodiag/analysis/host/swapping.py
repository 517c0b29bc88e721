"""How much a host swaps, in kB/s whatever the source counts, and onto what."""

from __future__ import annotations

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values
from iodiag.analysis.view.device_names import whole_disk_names
from iodiag.analysis.view.paging_units import IN_BLOCKS
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.rule import Limits
from iodiag.model.units import KB_PER_MB, KB_PER_PAGE
from iodiag.table.table import Floats, Mask, Table, numbered


def swapped(view: View) -> Table | None:
    """The swapping table with `in_kb` and `out_kb` per second, and `both_kb` their sum.

    sar counts pages; they are taken for 4 kB, their size on all but some arm64 and POWER hosts. Where nothing
    counts them, the traffic of a device that is known to hold swap and nothing else is the same.
    """
    table = view.samples("swapping")
    if table is None:
        series = next((s for name in _named(view) if (s := view.series(name))), None)
        if series is None:
            return None
        came, went = (series.samples.floats(f"{way}_kb_per_s") for way in ("read", "write"))
        return series.samples.with_columns(in_kb=came, out_kb=went, both_kb=came + went)
    came, went = (_kb(table, direction) for direction in ("in", "out"))
    return table.with_columns(in_kb=came, out_kb=went, both_kb=came + went)


def _kb(table: Table, direction: str) -> Floats:
    kb = table.floats(f"swap_{direction}_kb_per_s")
    pages = table.floats(f"pages_{direction}_per_s")
    return np.where(np.isnan(kb), pages * KB_PER_PAGE, kb)


MINUTE_S = 60.0
"""How long memory that is free or cache lasts, at the rate of the pages that leave, where there is room."""


def room_kb(view: View, rows: Table) -> Floats:
    """Memory that is free, in buffers or cache in each of some rows; NaN where that is not shown."""
    names = ("free_kb", "buffers_kb", "cached_kb")
    return np.asarray(np.sum([beside(view, "memory", name, rows) for name in names], axis=0))


def available_kb(memory: Table) -> Floats:
    """The kernel's estimate of what could be given up; NaN without one, which sar always prints as 0."""
    available = memory.floats("available_kb")
    if not len(memory):
        return available
    source, segment = numbered(memory["source"])[0], np.asarray(memory["segment"])
    run = source * (int(segment.max()) + 1) + segment
    is_told = np.bincount(run, available > 0) > 0
    return np.where(is_told[run], available, np.nan)


def swap_used_kb(view: View, rows: Table) -> Floats:
    """What lies in swap in each of some rows; NaN where that is not shown."""
    return beside(view, "swap", "used_kb", rows)


def swap_used_pct(view: View, rows: Table) -> Floats:
    """The share of swap that is used in each of some rows, in %, as printed or of what is used and free.

    NaN where neither is shown, or there is no swap; 0 as it is printed then.
    """
    printed, used, free = (beside(view, "swap", name, rows) for name in ("used_pct", "used_kb", "free_kb"))
    total = used + free
    share: Floats = 100 * used / np.where(total > 0, total, np.nan)
    return np.where(np.isnan(printed), share, printed)


def has_room(view: View, rows: Table) -> Mask:
    """Where more memory could be given up than lies in swap, or goes there in a minute of such a burst.

    Then the kernel puts idle pages away to keep files in memory; a shortage takes the cache first.
    """
    used, out = np.nan_to_num(swap_used_kb(view, rows)), np.nan_to_num(rows.floats("out_kb"))
    burst = np.cumsum(np.diff(out >= KB_PER_MB, prepend=False))
    in_burst = np.bincount(burst, out) / np.maximum(np.bincount(burst), 1) if len(out) else out
    return np.asarray(room_kb(view, rows) > used + MINUTE_S * in_burst[burst])


def beside(view: View, table: str, column: str, rows: Table) -> Floats:
    """A column of a table of the host at the reports of some rows, of all CPUs together; NaN without one."""
    result, samples = np.full(len(rows), np.nan), view.cpu_all if table == "cpu" else view.samples(table)
    if samples is not None:
        own, other = paired(rows, samples)
        result[own] = samples.floats(column)[other]
    return result


def cost_of_swapping_out(view: View, frame: Table, least_kb: float) -> tuple[Table, Values] | None:
    """The samples in which `least_kb` per second and more go out, if less is done in them than in the others.

    Idle pages that are put away cost nothing of it.
    """
    is_out = frame.floats("out_kb") >= least_kb
    values = cost_in(view, frame, is_out, least_kb)
    if values is None:
        return None
    used, cached = (
        beside(view, *column, frame)[is_out] for column in (("swap", "used_kb"), ("memory", "cached_kb"))
    )
    is_for_cache = cached[-1] - cached[0] >= _AS_MUCH * (used[-1] - used[0]) > 0
    values["for_cache"] = " to make room for the page cache, which grows by as much" if is_for_cache else ""
    return frame[is_out], values


def cost_in(view: View, rows: Table, is_in: Mask, least_kb: float) -> Values | None:
    """What `COST` tells of some of the `rows` if less is done in them than in the others; else None.

    What is read falls by half and more, from `least_kb` per second at least, while more tasks wait and the
    CPUs are idle for longer. A load that ends leaves nobody waiting.
    """
    if min(is_in.sum(), (~is_in).sum()) < _LEAST_OF_EITHER:
        return None
    kb, blocks = (
        beside(view, *column, rows)
        for column in (("paging", "pgpgin_kb_per_s"), (IN_BLOCKS, "blocks_in_per_s"))
    )
    idle = beside(view, "cpu", "idle_pct", rows) + np.nan_to_num(beside(view, "cpu", "iowait_pct", rows))
    measured = {"read": np.where(np.isnan(kb), blocks, kb), "idle": idle}
    measured["wait"] = beside(view, "queue", "blocked", rows)
    then, otherwise = (
        {name: float(np.mean(column[places])) for name, column in measured.items()}
        for places in (is_in, ~is_in)
    )
    is_less = otherwise["read"] >= max(least_kb, _FELL * then["read"])
    is_idler = then["idle"] >= otherwise["idle"] + _IDLER_PCT
    if not (is_less and is_idler and then["wait"] >= max(_SOME_WAIT, 2 * otherwise["wait"])):
        return None
    values: Values = {f"{name}_then": mean for name, mean in then.items()}
    values |= {f"{name}_else": mean for name, mean in otherwise.items()}
    values["times"] = otherwise["read"] / max(then["read"], 1.0)
    return values


COST = (
    "{times:.1f} times less is read, {wait_then:.1f} tasks wait instead of {wait_else:.1f}, and time without "
    "work rises from {idle_else:.0f} to {idle_then:.0f} %"
)
"""What work loses in some samples against the others, as a clause with the values of `cost_in`."""

_LEAST_OF_EITHER, _FELL, _IDLER_PCT, _SOME_WAIT, _AS_MUCH = 3, 2.0, 20.0, 0.5, 0.8
"""Samples with and without pages that leave; times that what is read falls, per cent by which idle time rises
and tasks that wait then; and the share of what goes out that the cache grows by where it takes the place."""


def swap_devices(view: View) -> tuple[str, ...]:
    """The devices with samples that swap lies on, or that such a partition is a part of."""
    found = []
    for name in _named(view):
        below = [leaf.name for leaf in view.topology.leaves(name)]
        found += [s.name for n in (name, *below) if (s := view.series(n))]
    return tuple(dict.fromkeys(found))


def page_traffic(view: View, limits: Limits) -> tuple[DeviceSeries, DeviceSeries] | None:
    """A device that moves one page at a time both ways as swap does, and the disk that this reaches, or None.

    Pages come back from anywhere and go out side by side: the disk merges hardly any read and most writes.
    A database of 4 kB pages, and a layer that splits what a file system writes, may look the same.
    """
    for series in view.devices:
        if not series.is_stacked or "disk" in view.average_only or not len(rows := series.loaded):
            continue
        ways = [weighted.mean(rows, f"{way}_kb_per_s") for way in ("read", "write")]
        is_enough = sum(ways) >= limits.swapped_kb and min(ways) >= limits.turns / 100 * sum(ways)
        sizes = (rows.floats(f"{way}_size_kb") for way in ("read", "write"))
        if not is_enough or not all((np.abs(size - KB_PER_PAGE) <= _EXACT_KB).all() for size in sizes):
            continue
        for disk in view.devices:
            if not disk.is_stacked and _carries(disk.samples, rows):
                return series, disk
    return None


def paging_partitions(view: View) -> list[DeviceSeries]:
    """Partitions of one disk that move single pages both ways, as many of them, as swap areas in turn do.

    Swap reads ahead, so that half of its reads and more merge, which those of a database do not. A file
    system that submits single blocks is on one partition, and others beside it do not do as much.
    """
    groups: dict[str, list[DeviceSeries]] = {}
    for series in view.devices if "disk" not in view.average_only else ():
        if (whole := whole_disk_names(series.name)) and moves_pages(series.loaded):
            groups.setdefault(whole[0], []).append(series)
    for group in groups.values():
        moved = [weighted.mean(series.loaded, "kb_per_s") for series in group]
        if len(group) > 1 and max(moved) <= _IN_TURN * min(moved):
            return group
    return []


def moves_pages(rows: Table) -> bool:
    """Whether all that is read and written are pages, most of the reads merged, within printed digits."""
    for way in ("read", "write"):
        kb, ios, merges = (rows.floats(f"{way}{name}_per_s") for name in ("_kb", "s", "_merges"))
        off = np.abs(kb - KB_PER_PAGE * (ios + merges))
        if not (len(rows) and (off <= _PAGES_OFF * kb + _DIGIT_KB).all() and kb.sum() > 0):
            return False
        if way == "read" and not (merges.sum() >= ios.sum() and kb.mean() >= _LEAST_KB):
            return False
    return True


_IN_TURN, _PAGES_OFF, _DIGIT_KB, _LEAST_KB = 2.5, 0.01, 5.2, 256.0
"""Times apart that areas of one priority are filled and read; and how far kB/s are from those of pages by
rounding: rates to a hundredth, MB/s to half of one; and kB/s of which these are a few per cent."""


_EXACT_KB, _FEW, _MOST = 0.01, 0.1, 0.5
"""How far from a page a printed size may be; shares of the requests of a direction that are few and most."""


def _carries(disk: Table, pages: Table) -> bool:
    """Whether a disk does as many reads as these, hardly any merged, and as many writes, mostly merged."""
    shares = []
    for way in ("read", "write"):
        asked = weighted.mean(pages, f"{way}s_per_s")
        merged = weighted.mean(disk, f"{way}_merges_per_s")
        if not abs(weighted.mean(disk, f"{way}s_per_s") + merged - asked) <= _FEW * asked:
            return False
        shares.append(merged / asked)
    return shares[0] <= _FEW and shares[1] >= _MOST


def _named(view: View) -> list[str]:
    """The devices and partitions that lsblk or /proc/swaps say hold swap."""
    named = [name for fact in view.facts_of("swaps") for name in fact.word("devices").split()]
    named += [device.name for device in view.topology if "[SWAP]" in device.mountpoints]
    return [name.removeprefix("/dev/") for name in named]
