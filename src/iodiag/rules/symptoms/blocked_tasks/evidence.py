"""What a host does while tasks wait: what moves, which devices are busy, who is listed, what reads get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from iodiag.analysis.array.layer_latency import may_be_stacked
from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.host.paging import (
    BEYOND_CHANCE,
    BURST,
    ENOUGH,
    FALL,
    STILL_KB,
    collapsed,
    dipped,
    moved,
    page_cache_growth,
    released,
    scanned,
    slowed,
    starved,
    stood_still,
)
from iodiag.analysis.host.swapping import swapped
from iodiag.analysis.host.who_waits import at_top, by_device, of_first_row, rows_at
from iodiag.analysis.load.plateaus import likeness, of_rate
from iodiag.analysis.load.stalls import stalled
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.correlation import spearman
from iodiag.analysis.measure.evidence import Values, cite, cite_fact, in_samples
from iodiag.analysis.measure.windows import longest
from iodiag.analysis.states.service_times import FASTER_THAN_SEEKS, SERVICE, usual_ms
from iodiag.analysis.view.view import View, same_reports
from iodiag.model.capture import Fact
from iodiag.model.finding import Evidence
from iodiag.model.rule import Limits
from iodiag.model.units import KB_PER_MB
from iodiag.table.table import Floats, Mask, Table, stacked


def listed_sleepers(view: View) -> list[Fact]:
    """What top or ps lists of processes that sleep uninterruptibly: how many of them, then who they are."""
    facts = [*view.facts_of("top-processes"), *view.facts_of("ps")]
    most = max(facts, key=lambda fact: np.nan_to_num(fact.number("uninterruptible")), default=None)
    if most is None or not most.number("uninterruptible") >= 1:
        return []
    lines = range(most.ref.first, most.ref.last + 1)
    return [f for f in facts if f.ref.source == most.ref.source and f.ref.first in lines]


def listed_flushers(view: View, tasks: float) -> Iterator[Evidence]:
    """How many of the tasks that are blocked write the page cache back, as a listing of them says.

    They wait for the queue of a device, and nobody waits for them.
    """
    found = listed_sleepers(view)
    count = found[0].number("flushers") if found else 0.0
    if not count >= 1:
        return
    values: Values = {"blocked": tasks, "left": max(tasks - count, 0.0)}
    text = (
        "{flushers:g} of {uninterruptible:g} listed in state D write the page cache back: callers are about "
    )
    text += "{left:.0f} of the {blocked:.0f} that are blocked"
    yield cite_fact(replace(found[0], values={**found[0].values, **values}), text, weighs="context")


def how_often(view: View, all_rows: Table, rows: Table, values: Values) -> tuple[str, str]:
    """On how many CPUs and in how many samples, as words; fills in their `values`."""
    samples, always = len(all_rows), int((all_rows.floats("waiting") >= 1).sum())
    values |= {"count": len(rows), "samples": samples, "always": always}
    often = in_samples(samples)
    if always >= samples / 2 > len(rows):
        often += ", and at least one in {always}"
    often += _by_run(all_rows, rows, values)
    if not view.cpus:
        return "", often
    values["cpus"] = view.cpus
    return " on {cpus:g} CPUs", often


def _by_run(all_rows: Table, rows: Table, values: Values) -> str:
    """How many tasks were blocked in either of two runs that are far apart; fills in their `values`."""
    if "phase" not in all_rows:
        return ""
    runs, own = np.unique(all_rows.floats("phase")), rows.floats("phase")
    named = [(name, rows[own == run]) for name, run in zip(_RUNS, runs, strict=False) if (own == run).any()]
    if len(named) != 2 or len(np.unique(own)) != 2:
        return ""
    means = {name: weighted.mean(part, "waiting", "queue") for name, part in named}
    if max(means.values()) < _APART * min(means.values()):
        return ""
    values |= means
    one, other = means
    return f" ({{{one}:.1f}} in the {one} run, {{{other}:.1f}} in the {other} run)"


_RUNS, _APART = ("first", "second", "third", "fourth"), 1.5
"""Names of the runs in a text, and times by which the mean of both is that of neither."""


def busiest_on_average(view: View) -> Evidence | None:
    """The disk that was busiest where averages alone tell how busy any was; None without."""
    if "disk" not in view.average_only or not view.has("disk", "util_pct"):
        return None
    name, samples = max(
        ((one.name, one.samples) for one in view.devices if not may_be_stacked(one)),
        key=lambda one: weighted.or_zero(weighted.mean(one[1], "util_pct")),
        default=("", None),
    )
    if samples is None:
        return None
    values: Values = {"who": name, "busy": weighted.or_zero(weighted.mean(samples, "util_pct"))}
    return cite(samples, "{who} was {busy:.0f} % busy", values, worst="util_pct")


def untimed_rates(view: View, rows: Table) -> Iterator[Evidence]:
    """What was done while somebody waited, where no column shows how long that took.

    By the busiest device, else by all disks together (sar -b).
    """
    of_each = [(one.name, one.samples) for one in view.devices]
    of_all = view.samples("io")
    done = of_each or ([("all disks together", of_all)] if of_all is not None else [])
    if not done:
        return
    name, samples = max(done, key=lambda one: weighted.or_zero(weighted.mean(one[1], "ios_per_s")))
    own = samples[same_reports(samples, rows)]
    own = own[~np.isnan(own.floats("ios_per_s"))]
    rates, lengths = own.floats("ios_per_s"), weighted.lengths(own)
    if not rates.sum() > 0:
        return
    kb = np.nansum([own.floats(f"{way}_kb_per_s") for way in ("read", "write")], axis=0)
    values: Values = {"rate": weighted.mean(own, "ios_per_s", "disk" if of_each else "io"), "who": name}
    values |= {"size": float(np.sum(kb * lengths) / (rates * lengths).sum())}
    values["spread"] = 100 * float(rates.std() / rates.mean())
    text = "{who} complete{s} {rate} requests/s".replace("{s}", "s" if of_each else "")
    text += " of {size:.1f} kB" if float(values["size"]) > 0 else ""
    low, high = float(kb.min()), float(kb.max())
    is_even = len(kb) >= LEAST_EVEN and high <= (1 + EVEN) * low and high < LITTLE_KB
    values["kb"], way = _moved(own)
    if (float(values["size"]) >= WHOLE_KB or float(values["kb"]) >= LITTLE_KB) and not is_even:
        text += f" ({{kb:kb}}{way})"
    if len(own) >= LEAST_FLAT and float(values["spread"]) <= METER and rates.mean() >= FASTER_THAN_SEEKS:
        text += ", give or take {spread:.1f} %: a rate limit may hold it"
        for near in likeness(of_rate(own, "ios_per_s", float(rates.mean()), rates)):
            text, values = f"{text} ({near.text})", values | dict(near.values)
    if is_even and float(values["size"]) >= WHOLE_KB and not name.startswith("mmcblk"):
        text += ", {low:.0f} to {high:.0f} kB/s: a limit above the device (io.max) would look like this"
        values |= {"low": low, "high": high}
    elif of_each and (each := _least_each_ms(view)) >= HARDLY_MS:
        text += (
            "; if it were all that is waited for, each request would take {each:ms} or more: look for NFS, "
        )
        text, values["each"] = text + "a lock or a disk that is not shown", each
    yield cite(own, text, values)


def _moved(rows: Table) -> tuple[float, str]:
    """What a device moved, in kB/s: in the direction of nearly all bytes, with its word, else both ways."""
    read, written = (weighted.or_zero(weighted.mean(rows, f"{way}_kb_per_s")) for way in ("read", "write"))
    for kb, way in ((read, " read"), (written, " written")):
        if kb >= NEARLY_ALL_KB * (read + written) > 0:
            return kb, way
    return read + written, ""


NEARLY_ALL_KB = 0.9
"""Share of the bytes that names a direction."""


def _least_each_ms(view: View) -> float:
    """How long each request of the disks shown would take at the least if iowait were the wait for these.

    NaN of many requests, and on one CPU, where one slow disk may be it. Of an unknown number one waits.
    """
    cpu = view.cpu_all
    disks = (one.samples for one in view.devices if not may_be_stacked(one))
    rate = sum(weighted.or_zero(weighted.mean(rows, "ios_per_s")) for rows in disks)
    if cpu is None or view.cpus == 1 or not 0 < rate < FEW_PER_S:
        return float("nan")
    return 10 * weighted.mean(cpu, "iowait_pct", "cpu") * (view.cpus or 1) / rate


HARDLY_MS, FEW_PER_S = 100.0, 20.0
"""Latency that requests hardly have on average, and requests per second that are few."""


LEAST_EVEN, EVEN, LITTLE_KB, WHOLE_KB = 2, 0.03, 10240.0, 64.0
"""Samples, how far apart their kB/s are, what any disk exceeds, and a size at which none needs so long."""


LEAST_FLAT = 3
"""Samples that show a flat rate by their spread."""


METER = 1.0
"""Spread of a rate, in %, that a meter keeps to while tasks wait, and hardly any medium."""


def are_disks_shown(view: View) -> bool:
    """Whether there are samples of disks; averages since boot do not show what tasks wait for."""
    return bool(view.devices) and "disk" not in view.average_only


def small_cache(view: View, paging: Table | None) -> Iterator[Evidence]:
    """A page cache that holds less than is read in a second, where memory is shown."""
    memory = view.samples("memory")
    if paging is None or memory is None or not memory.has("cached_kb"):
        return
    own, other = paired(paging, memory)
    cached = memory.floats("cached_kb")[other] + np.nan_to_num(memory.floats("buffers_kb")[other])
    is_small = (cached > 0) & (cached < paging.floats("pgpgin_kb_per_s")[own])
    if len(own) and is_small.sum() >= len(paging) / 2:
        values: Values = {"cached": float(cached[is_small].mean()) / KB_PER_MB}
        text = "the page cache holds {cached:.0f} MB, less than is read in a second: memory is short and the "
        yield cite(memory[other[is_small]], text + "same pages are read again, or reads bypass it", values)


def iowait_follows(cpu: Table, samples: Table) -> tuple[Evidence] | None:
    """That iowait rises and falls with what is written, beyond chance."""
    own, other = paired(cpu, samples)
    iowait, written = cpu.floats("iowait_pct")[own], samples.floats("pgpgout_kb_per_s")[other]
    if len(own) < ENOUGH or not spearman(iowait, written) >= BEYOND_CHANCE / np.sqrt(len(own)):
        return None
    told = "iowait rises and falls with what is written, over {most} samples; next to nothing is read"
    return (cite(samples[other], told, {"most": len(own)}),)


def grown_cache(view: View, paging: Table) -> Iterator[Evidence]:
    """What is given to write where the page cache takes more than the disk does."""
    if (found := page_cache_growth(view, paging)) is not None:
        text = "the page cache takes {grown:kb} or more in {count} of {samples} samples, "
        text += "and the disk {drained:kb}: what does not reach the disk fills memory"
        yield cite(found[0], text, found[1])


def rates_beside(view: View, paging: Table, limits: Limits) -> Iterator[Evidence]:
    """What the rates say of the load: whether it is swap, and whether a stream could be so slow."""
    total = np.nansum([weighted.mean(paging, f"pgpg{way}_kb_per_s") for way in ("in", "out")])
    values: Values = {"total": float(total)}
    swap = None if "swapping" in view.average_only else swapped(view)
    if swap is not None and len(swap := swap[paired(swap, paging)[0]]):
        values["swap"] = weighted.mean(swap, "both_kb")
        text = "{swap:kb} of it is swap" if values["swap"] else "none of it is swap"
        yield cite(swap, text, values, weighs="context")
    if STILL_KB <= total < limits.flood:
        text = "{total:kb} are far below what a disk streams: small requests at random, or a slow device"
        yield cite(paging, text, values, weighs="context")


def iowait_beside(view: View, rows: Table, limits: Limits) -> Iterator[Evidence]:
    """The CPUs' own account of the wait; of kernels that count none, their idle time while data moves."""
    cpu = view.cpu_samples
    if cpu is None:
        return
    own, _ = paired(cpu, rows)
    share, idle = (weighted.mean(cpu[own], f"{name}_pct", "cpu") for name in ("iowait", "idle"))
    if share >= limits.iowait:
        yield cite(cpu[own], "iowait is {share:.0f} % meanwhile", {"share": share}, worst="iowait_pct")
    elif (
        not cpu.has("iowait_pct")
        and idle > limits.idle
        and moved_in_all(moved_meanwhile(view, rows)[1]) >= STILL_KB
    ):
        text = "{idle:.0f} % of CPU time is idle meanwhile, of which this kernel counts none as iowait"
        yield cite(cpu[own], text, {"idle": idle})


def iowait_of_others(view: View, rows: Table, limits: Limits) -> Iterator[Evidence]:
    """The CPUs' account by samples that count no tasks, where these are more than those that do."""
    cpu, queue = view.cpu_samples, view.samples("queue")
    if cpu is None or queue is None:
        return
    others = cpu[~same_reports(cpu, queue)]
    share = weighted.mean(others, "iowait_pct", "cpu") if len(others) > len(rows) else 0.0
    if share >= limits.iowait:
        each = others.floats("iowait_pct")
        values: Values = {"share": share, "count": len(others), "low": float(np.nanmin(each))}
        values["high"] = float(np.nanmax(each))
        text = "iowait is {share:.0f} % in {count} samples beside these ({low:.0f} to {high:.0f} %)"
        yield cite(others, text, values, worst="iowait_pct")


def starving(view: View, limits: Limits) -> Iterator[Evidence]:
    """Reads that fall while writes flood, or the reverse."""
    paging = view.samples("paging")
    if paging is None or "paging" in view.average_only:
        return
    if (found := starved(paging, limits.flood)) is not None:
        yield cite(found[0], found[1], found[2], worst="pgpgout_kb_per_s")


def beside_it(view: View, all_rows: Table) -> Iterator[Evidence]:
    """Many tasks for which less is moved than for few; what memory tells of what is read, and of who ends."""
    paging = view.samples("paging")
    if paging is None or "paging" in view.average_only:
        return
    if (found := slowed(paging, all_rows)) is not None:
        yield cite(*found)
    for told in filter(None, (scanned(view, paging), released(view, all_rows))):
        yield cite(*told, weighs="context")


def held_up(view: View, all_rows: Table, limits: Limits) -> Iterator[Evidence]:
    """Stretches amid a load in which who waits is given a fraction of it, where no disk is shown."""
    paging = paging_beside(view, all_rows)
    if paging is not None and (found := dipped(view, paging, all_rows)):
        yield cite(*found)
    yield from _reads_held_up(view, all_rows, limits)


def _reads_held_up(view: View, all_rows: Table, limits: Limits) -> Iterator[Evidence]:
    """That reads all but stop in a run of samples in which tasks pile up, or wait while writes are flushed.

    It is said where no disk is shown. In most of the others no task is blocked; reads come before the run
    and after it, and so few in each sample of it are no chance. Where tasks wait before and after it, too,
    they fall from the reads of those samples: half of them is no trickle.
    """
    if (paging := paging_beside(view, all_rows)) is None:
        return
    own, other = paired(paging, all_rows)
    paging, waiting = paging[own], all_rows.floats("waiting")[other]
    is_waited, is_flushed = waiting >= 1, paging.floats("pgpgout_kb_per_s") >= STILL_KB
    runs = (
        (waiting >= limits.tasks, waiting >= 0, 1, FALL),
        (is_waited & is_flushed, is_waited, ENOUGH, 2.0),
    )
    for is_in, is_like, least, fall in runs:
        run = longest(paging, is_in, gap=0)
        in_run = same_reports(paging, run if run is not None else paging[:0])
        if in_run.sum() >= ENOUGH and 2 * (waiting[~in_run] > 0).sum() < (~in_run).sum():
            found = [*_fallen_reads(paging, in_run, is_like, least, fall)]
            yield from found
            if found:
                return


def _fallen_reads(paging: Table, in_run: Mask, is_like: Mask, least: int, fall: float) -> Iterator[Evidence]:
    """That reads fall so many times in a run while writes flood, from those of the like samples beside it."""
    reads, written = (paging.floats(f"pgpg{way}_kb_per_s") for way in ("in", "out"))
    places = np.flatnonzero(in_run)
    before_and_after = [
        reads[side][is_like[side]] for side in (slice(0, places[0]), slice(places[-1] + 1, None))
    ]
    if min(map(len, before_and_after)) < least:
        return
    others, flood = np.concatenate(before_and_after), float(written[in_run].mean())
    values: Values = {"before": float(others.mean()), "during": float(reads[in_run].mean())}
    is_flood = flood >= max(BURST * float(written[~in_run].mean()), STILL_KB)
    falls = all(part.mean() > fall * float(values["during"]) for part in before_and_after)
    chance = float((others <= reads[in_run].max()).mean()) ** len(places)
    if is_flood and falls and chance <= MOST_CHANCE:
        text = "reads fall from {before:kb} to {during:kb} meanwhile: who reads waits behind these writes"
        yield cite(paging[in_run], text, values, worst="pgpgout_kb_per_s")


MOST_CHANCE = 0.05
"""How likely so few reads in all samples of a run may be among those of the others."""


def fallen_traffic(view: View, rows: Table) -> Iterator[Evidence]:
    """That a crowd gets a fraction of what it got first, or nobody anything for seconds, without disks."""
    if (paging := paging_beside(view, rows)) is not None:
        for found in filter(None, (collapsed(paging, rows), stood_still(view))):
            yield cite(*found, worst="pgpgin_kb_per_s")


def paging_beside(view: View, rows: Table) -> Table | None:
    """What the host read and wrote meanwhile where no disk is shown; averages since boot are not that."""
    paging = rows_at(view, "paging", rows)
    if (
        are_disks_shown(view)
        or "paging" in view.average_only
        or paging is None
        or not paging.has("pgpgout_kb_per_s")
    ):
        return None
    return paging


def moved_in_all(meanwhile: Values) -> float:
    """The kB/s that are read and written, 0 where that is not counted."""
    return float(meanwhile.get("total", 0.0))


def moved_meanwhile(view: View, rows: Table) -> tuple[str, Values]:
    """What was read and written meanwhile where no disk is shown; else nothing."""
    paging = paging_beside(view, rows)
    if paging is None:
        return "", {}
    text, values = moved(view, paging)
    text += of_first_row(view, rows, paging) if "{shown}" in text else ""
    text += takes_no_more(values, rows.floats("waiting"))
    samples = view.samples("paging")
    samples = paging if samples is None else samples
    others = samples[~same_reports(samples, paging)]
    between = weighted.mean(others, "pgpgout_kb_per_s", "paging")
    least = max(BURST * between, 2 * float(values["read"]), STILL_KB)
    if len(paging) >= SEVERAL_BURSTS and float(values["written"]) >= least:
        values["between"] = between
        is_high = samples.floats("pgpgout_kb_per_s") * BURST >= float(values["written"])
        times = int(is_high[0]) + int((np.diff(is_high.astype(int)) > 0).sum())
        each_kb = (
            float(np.nansum(paging.floats("pgpgout_kb_per_s") * weighted.seconds_or_one(paging))) / times
        )
        is_repeated = times > 1 and not _is_cache_still(view, samples, each_kb)
        text += ", in the other samples {between:kb}: "
        if 2 * (paged_out := _paged_out(view, paging)) >= float(values["written"]):
            values["paged_out"] = paged_out
            text += "{paged_out:kb} of it go out to swap"
        elif is_repeated or page_cache_growth(view, paging) is not None:
            values["stretches"] = times
            text += "buffered writes are flushed" + " in bursts" * (times > 1)
        else:
            values["times"] = times
            text += "one stretch" if times == 1 else "{times} stretches"
            text += " of writes, buffered ones that are flushed or those of a job that waits for "
            text += "each (of the former, Dirty in /proc/meminfo is large before)"
    return f"; meanwhile {text}", values


def _paged_out(view: View, paging: Table) -> float:
    """What goes out to swap in the same samples, in kB/s; 0 where nothing counts it."""
    swap = None if "swapping" in view.average_only else swapped(view)
    rows = swap[paired(swap, paging)[0]] if swap is not None else None
    return weighted.or_zero(weighted.mean(rows, "out_kb")) if rows is not None and len(rows) else 0.0


def _is_cache_still(view: View, samples: Table, each_kb: float) -> bool:
    """Whether the page cache stays as it is while memory is free for what each stretch of writes wrote.

    Buffered writes of new data would fill it before.
    """
    memory = view.samples("memory")
    if memory is None or not len(own := paired(samples, memory)[1]):
        return False
    kept = sum(np.nan_to_num(memory.floats(name)[own]) for name in ("cached_kb", "buffers_kb"))
    return bool(np.ptp(kept) < each_kb / 10 and (memory.floats("free_kb")[own] > each_kb).all())


def takes_no_more(meanwhile: Values, waiting: Floats) -> str:
    """The end of a clause where what is moved keeps a flat rate: several that wait would ask for more."""
    is_full = "flat" in meanwhile and not meanwhile["still"] and bool((waiting > 1).all())
    return ": the disk or the path to it takes no more" * is_full


SEVERAL_BURSTS = 2
"""Samples with blocked tasks that are written to, from which writes come in bursts."""


def all_tasks(all_rows: Table, rows: Table) -> Iterator[Evidence]:
    """How many tasks there are at all, where sar -q counts them, and whether these hold the recorder up.

    By their lengths, but for whole minutes, which the samples beside the crowd keep.
    """
    if np.isfinite(rows.floats("tasks")).any():
        most = float(np.nanmax(rows.floats("tasks")))
        text = "up to {tasks:.0f} tasks exist; their columns do not say what they wait for"
        yield cite(rows, text, {"tasks": most}, weighs="context", worst="tasks")
    lengths = all_rows.floats("interval_s")
    off = np.abs(lengths - np.nanmedian(lengths)) % 60 if np.isfinite(lengths).any() else lengths
    is_known, in_crowd = np.isfinite(lengths), same_reports(all_rows, rows)
    parts = [np.minimum(off, 60 - off)[is_known & mask] for mask in (in_crowd, ~in_crowd)]
    if min(map(len, parts)) < ENOUGH or not np.nanmedian(lengths) >= 60:
        return
    late, calm = (float(np.median(part)) for part in parts)
    if late >= DELAYED_S and calm <= late / DELAYED:
        values: Values = {"late": late, "calm": calm, "length": float(np.nanmedian(lengths))}
        text = (
            "half of these samples are {late:.0f} s or more off the usual {length:.0f} s, others {calm:.0f}"
        )
        yield cite(rows, text + ": the recorder was held up as well", values, weighs="context")


DELAYED_S, DELAYED = 10.0, 5.0
"""Seconds by which half of the samples miss their grid, and times what others do: cron keeps to a few."""


def served_promptly(view: View, rows: Table, limits: Limits) -> Iterator[Evidence]:
    """Said where all that is in flight is answered as promptly as on any healthy device."""
    tops = at_top(view, rows)
    if tops is None or "disk" in view.average_only:
        return
    parts = [(view.series(name), part) for name, part in by_device(tops)]
    used = [(series, part) for series, part in parts if weighted.mean(part, "depth") >= limits.quiet]
    slowest = 0.0
    for series, part in used:
        size, rate = weighted.ratio(part, "kb_per_s", "ios_per_s"), weighted.mean(part, "ios_per_s")
        latency = part.floats("latency_ms")
        prompt = min(usual_ms(series, size, rate), PROMPT_MS) if series is not None else 0.0
        is_prompt = (latency <= prompt).mean() >= limits.nearly / 100
        # the others may be slower, but neither for seconds nor without an end
        if not is_prompt or np.nanmean(latency) > prompt or stalled(part).any():
            return
        slowest = max(slowest, weighted.mean(part, "latency_ms"))
    depth = sum(weighted.mean(part, "depth") for _, part in used)
    if slowest > 0 and depth >= limits.served * weighted.mean(rows, "waiting", "queue"):
        text = "requests are answered in {latency} ms: the tasks ask for much, and the devices keep up"
        yield cite(stacked([part for _, part in used]), text, {"latency": slowest}, weighs="against")


PROMPT_MS = SERVICE["network"].usual_ms
"""What the slowest device without moving parts takes when all is well."""


def _are_written(disk: Table) -> bool:
    """Whether most of what the devices move are writes: those of the background belong to nobody."""
    read, written = (float(np.nansum(disk.floats(f"{way}_kb_per_s"))) for way in ("read", "write"))
    return written > read


def devices_meanwhile(
    view: View, rows: Table, mean: float, limits: Limits, *, is_waited: bool
) -> Iterator[Evidence]:
    """How the blocked tasks compare with the requests in flight at the top of the stacks."""
    tops = at_top(view, rows)
    if tops is None:
        return
    depths = [weighted.mean(part, "depth") for _, part in by_device(tops)]
    total = float(np.nansum(depths))
    # where a table of rates counts none, there may be any number, and no less than is counted elsewhere
    if not np.isfinite(depths).all() and mean >= limits.background * total:
        return
    values: Values = {"tasks": mean, "depth": total, "each": mean / total if total > 0 else 0.0}
    if total < limits.quiet:
        text = "only {depth} requests were in flight: NFS, FUSE, a lock, a limit above, or a stuck device"
        yield cite(tops, text, values, weighs="context")
    elif mean < limits.background * total and _are_written(tops) and not is_waited:
        text = "{depth} requests were in flight, many for each blocked task: background writes, nobody's wait"
        yield cite(tops, text, values, weighs="against", worst="depth")
    elif mean < limits.background * total:
        text = "{depth} requests were in flight, many for each blocked task"
        yield cite(tops, text, values, weighs="context", worst="depth")
    elif mean > limits.crowded * total:
        text = "only {depth} requests were in flight: most of the tasks wait for something else"
        yield cite(tops, text, values, weighs="context", worst="depth")
    else:
        text = "{depth} requests were in flight, about as many as tasks: callers that wait for their own"
        yield cite(tops, text, values, worst="depth")
