"""The page cache is written back in floods, or faster than the device takes it.

What it detects: bursts in which a device gets several times its usual writes, and holds several times as
many of them, while reads take twice as long or writes ten times as long as between the bursts. One
burst is enough where reads take four times as long, or are served four times less often. A
variant needs no bursts: so much memory is dirty that the kernel makes every writer wait. Where no disk is
shown, a page cache that grows by 100 MB and more of which nothing was read, and then 10 MB/s and more that
are written while the CPUs mostly wait and hardly anything is read: that is a note. So are bursts of five
times the usual writes and more in which what is read falls by half, though somebody reads on: tasks wait in
them, twice as many as in the others, and the CPUs have a fifth of their time more without work.

Why it matters: a flood fills the device's queue, and reads and log writes wait behind it. A
writer that meets the dirty limit stops until the device has caught up.

When it is wrong: floods that nobody waits for do no harm, however long their queue; then this is
information. A flood that keeps the device busy while reads fall to a quarter of their rate is a cost at any
latency. Where reads grow as well, all of the load grew: that is a burst of work and no flood.
Where writes are in flight in nearly every sample nothing shows what is usual, and the rule is undetermined.
Checkpoints, compactions and backups look the same and have remedies of their own.

References: Documentation/admin-guide/sysctl/vm.rst (dirty_ratio, dirty_background_bytes); sar(1), kbdirty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.host.cpu import HELD_PCT
from iodiag.analysis.host.paging import BEYOND_CHANCE, BURST, STILL_KB
from iodiag.analysis.host.swapping import COST, available_kb, cost_in
from iodiag.analysis.host.who_waits import rows_at
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.correlation import spearman
from iodiag.analysis.measure.evidence import Values, Weighs, cite, in_samples, say
from iodiag.analysis.measure.grading import confidence, time_fields
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.measure.time_per_kb import in_flight
from iodiag.analysis.measure.windows import is_sustained, longest
from iodiag.analysis.states.service_times import events_per_sample, is_felt
from iodiag.analysis.view.view import IDLE_KB_PER_S, REPORTS, DeviceSeries, View, report_numbers
from iodiag.model.finding import Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import KB_PER_MB
from iodiag.table.table import Floats, Mask, Places, Table


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per device with harmful floods, and one per host whose writers are throttled."""
    stalled = throttle(view, limits.dirty_share)
    is_throttled = stalled is not None and stalled.blocked >= limits.blocked and is_sustained(stalled.rows)
    if stalled is not None and is_throttled:
        yield _throttled(stalled, limits)
    for series in view.devices:
        found = None if series.is_stacked else floods(series, limits.times_rate, limits.times_depth)
        if found is not None and (_reads_wait(found, limits) or found.write_harm >= limits.write_harm):
            yield _flooded(view, found, limits)
        elif found is not None and np.isnan(found.read_harm) and np.isnan(found.write_harm):
            reason = "floods of writes, with too few other requests beside them to tell who waits"
            yield RULE.undetermined(reason, series.name)
        elif _is_never_calm(series):
            reason = "writes are in flight in nearly every sample: there is no calm to compare a flood with"
            yield RULE.undetermined(reason, series.name)
        else:
            yield RULE.clear("no floods of writes that make others wait", series.name)
    if not view.devices and (drained := drain(view, limits.cached_mb * KB_PER_MB, limits.drained)):
        yield _drained(*drained)
    elif not view.devices and (starves := starved(view)):
        yield _starved_readers(*starves)
    elif not view.devices and not is_throttled:
        is_known = view.has("memory", "dirty_kb")
        reason = "no floods of writes that make others wait" if is_known else "no disk is shown"
        yield Outcome(RULE.id, "clear" if is_known else "undetermined", (), reason)


def _is_never_calm(series: DeviceSeries) -> bool:
    """Whether nearly all samples with I/O may be of one flood, so that none shows what is usual."""
    used = series.samples[~series.samples["is_idle"]]
    may_be_flood = writes_in_flight(used) >= LEAST_DEPTH
    return len(used) > 0 and float(may_be_flood.mean()) > 1 - LEAST_CALM


def _reads_wait(found: Floods, limits: Limits) -> bool:
    """Whether reads wait for the writes: where reads grow as well, it is a burst of load."""
    return found.read_harm >= limits.read_harm and not found.starved * limits.more_reads <= 1


def _crowds_out(found: Floods, limits: Limits) -> bool:
    """Whether a flood takes the device and leaves reads a fraction of their rate: a cost at any latency."""
    busy = weighted.mean(found.inside, "util_pct")
    return found.starved >= limits.clear_harm and busy >= limits.full_util


def _flooded(view: View, found: Floods, limits: Limits) -> Finding:
    reads_wait, tasks = _reads_wait(found, limits), blocked_by(view, found)
    tasks_wait = tasks.inside >= 1 and tasks.inside >= 2 * weighted.or_zero(tasks.outside)
    is_clear = found.read_harm >= limits.clear_harm or found.count >= limits.bursts
    points = 1 + 2 * (reads_wait and is_clear) + (found.count >= limits.bursts) + 2 * tasks_wait
    points += (found.period_s > 0) + (found.starved >= limits.clear_harm)
    sure = confidence(points)
    severity: Severity = "notice" if reads_wait or tasks_wait else "info"
    is_cost = is_felt(found.series, found.read_added_ms) or _crowds_out(found, limits)
    if reads_wait and not tasks_wait and not is_cost:
        severity = "info"
    elif reads_wait and sure != "low":
        severity = "warning"
    # where nothing is read and nobody is blocked there are no others to wait
    is_alone = (
        not reads_wait and not tasks_wait and not (found.series.samples.floats("reads_per_s") >= 1).any()
    )
    title: dict[str, Any] = {"title": "Writes come in floods"} if is_alone and found.is_split else {}
    values: Values = {
        "device": found.series.name,
        "count": found.count,
        "rate": weighted.mean(found.inside, "write_kb_per_s"),
        "depth": float(np.average(writes_in_flight(found.inside), weights=weighted.lengths(found.inside))),
        "await": weighted.mean(found.inside, "write_await_ms"),
    }
    who = "reads" if reads_wait else "writes" if found.is_split else "requests"
    victims = who + " wait {harm:.1f} times as long"
    values |= {"harm": found.read_harm if reads_wait else found.write_harm, "starved": found.starved}
    values |= {"inside": len(found.inside), "all": len(found.series.samples)}
    fewer = ", and {starved:.0f} times fewer are served" if found.starved >= limits.clear_harm else ""
    often = "{count} floods" if found.count > 1 else "one flood"
    return RULE.finding(
        severity=severity,
        confidence=sure,
        devices=(found.series.name,),
        **time_fields(found.inside),
        summary=say(
            "{device} gets " + often + " of writes (in {inside} of {all} samples: {rate:kb}, {depth:.0f} "
            "of them in flight); meanwhile " + victims + fewer + ".",
            values,
        ),
        evidence=tuple(_of_floods(found, tasks, values, victims)),
        refutes=("the same latencies without the bursts",),
        cannot_know=("whether page cache, a checkpoint or a backup writes: the device sees writes only",),
        **title,
    )


def _of_floods(found: Floods, blocked: Blocked, values: Values, victims: str) -> Iterator[Evidence]:
    text = "{count} bursts ({inside} samples) of {rate:kb} with {depth} writes in flight"
    yield cite(found.inside, text, values, worst="write_kb_per_s")
    yield cite(found.inside, victims + " in them as between them", values, worst="write_await_ms")
    if found.period_s > 0:
        yield cite(found.inside, "they come every {period:.0f} s", {"period": found.period_s})
    if blocked.inside >= 0:
        tasks: Values = {"tasks": blocked.inside, "outside": blocked.outside}
        weighs: Weighs = "for" if blocked.inside >= 1 else "against"
        text = "{tasks} tasks are blocked on I/O in them, {outside} between them"
        if blocked.inside == blocked.outside:
            # the rows have no clock of their own, and count for the floods and for what lies between
            weighs, text = "context", "{tasks} tasks are blocked on I/O over the whole capture"
        yield cite(blocked.queue, text, tasks, weighs=weighs, worst="blocked")


def _throttled(found: Throttle, limits: Limits) -> Finding:
    values: Values = {
        "share": found.share,
        "dirty": found.dirty_kb,
        "blocked": found.blocked,
        "count": len(found.rows),
    }
    return RULE.finding(
        severity="warning",
        confidence=confidence(3 + (found.blocked >= 2 * limits.blocked)),
        **time_fields(found.rows, of_host=True),
        title="Writers wait because too much memory is dirty",
        summary=say("Writers are throttled: {share:.1f} % of what memory can hold is dirty.", values),
        evidence=(
            cite(
                found.rows,
                "{dirty} kB wait to be written, {share:.1f} % of available memory (samples: {count}); "
                "by default the kernel brakes writers from {brake:.0f} % on and stops them at {stop:.0f} %",
                values | {"brake": 15.0, "stop": 20.0},
                worst="dirty_kb",
            ),
            cite(found.queue, "{blocked} tasks were blocked on I/O meanwhile", values, worst="blocked"),
        ),
        refutes=("vm.dirty_ratio or vm.dirty_bytes set far above their defaults",),
        cannot_know=("which of the blocked tasks are writers",),
    )


def _drained(rows: Table, values: Values) -> Finding:
    text = "{given:.0f} MB that nobody read came into the page cache, and {rate:kb} are written "
    text += f"{in_samples(int(values['samples']))}, with iowait at {{iowait:.0f}} % and hardly any read"
    return RULE.finding(
        severity="notice",
        confidence="medium",
        **time_fields(rows, of_host=True),
        title="Buffered writes drain, and the CPUs wait for that",
        summary=say(f"Buffered writes drain: {text}.", values),
        evidence=(cite(rows, text, values, worst="pgpgout_kb_per_s"),),
        remedy=(
            "Let writers wait earlier and for less: vm.dirty_background_bytes of about a second's writing, "
            "vm.dirty_bytes of a few seconds'.",
            "See whether the device streams as fast as it should: iostat -x 1 while it drains.",
        ),
        confirm=(
            "grep -E 'Dirty|Writeback' /proc/meminfo",
            "sysctl -a --pattern vm.dirty",
            "iostat -xt 1 30",
        ),
        refutes=("files that somebody maps or reads meanwhile from elsewhere, such as tmpfs",),
        cannot_know=("which device it is, and who writes: iostat -xt 1 and pidstat -d 1 tell",),
    )


def _starved_readers(rows: Table, values: Values) -> Finding:
    text = (
        f"{{written:kb}} are written {in_samples(int(values['samples']))}, and {{between:kb}} in the others"
    )
    text += f"; meanwhile {COST}"
    return RULE.finding(
        severity="notice",
        confidence="medium",
        **time_fields(rows, of_host=True),
        title="Bursts of writes starve who reads",
        summary=say(f"Bursts of writes make who reads wait: {text}.", values),
        evidence=(cite(rows, text, values, worst="pgpgout_kb_per_s"),),
        confirm=("iostat -xt 1 30", *RULE.confirm[:2]),
        refutes=("a job that writes what it has read, and reads less meanwhile of its own accord",),
        cannot_know=(
            "whether the page cache drains or a job writes and waits: Dirty in /proc/meminfo tells",
            "which device it is, and who writes: iostat -xt 1 and pidstat -d 1 tell",
        ),
    )


LEAST_DEPTH = 4.0
"""Requests in flight below which a burst of writes is no flood."""

LEAST_CALM = 0.25
"""Share of the samples with I/O that show how a device does without a flood."""

LONGEST_S = 60.0
"""Seconds of a sample up to which it may be of a flood."""

LEAST_REQUESTS = 20.0
"""Requests that a mean latency needs on either side: it is known to a quarter then."""


@dataclass(frozen=True)
class Floods:
    """The write bursts of one device: which samples are of one, and where each begins.

    `read_harm` and `write_harm` are latencies inside over outside, weighted by requests; NaN where
    either side has too few. `starved` is the rate of reads outside over that inside. Where a tool does not
    tell reads from writes (not `is_split`), `write_harm` is of all requests.
    """

    series: DeviceSeries = field(repr=False)
    is_inside: Mask = field(repr=False)
    starts: Places = field(repr=False)
    read_harm: float
    write_harm: float
    starved: float
    is_split: bool = True

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.starts)

    @cached_property
    def inside(self) -> Table:
        """The samples inside of them."""
        return self.series.samples[self.is_inside]

    @cached_property
    def outside(self) -> Table:
        """The others."""
        return self.series.samples[~self.is_inside]

    @property
    def read_added_ms(self) -> float:
        """How much longer a read takes inside than outside."""
        inside, outside = (weighted.mean(rows, "read_await_ms") for rows in (self.inside, self.outside))
        return inside - outside

    @cached_property
    def period_s(self) -> float:
        """The median time from one to the next, NaN where it varies by more than a fifth."""
        return _period(self.starts, weighted.lengths(self.series.samples))


@dataclass(frozen=True)
class Blocked:
    """Tasks blocked on I/O inside of floods and outside, on the mean; `queue` are the samples inside."""

    inside: float
    outside: float
    queue: Table | None = field(default=None, repr=False)


def floods(series: DeviceSeries, times_rate: float, times_depth: float) -> Floods | None:
    """The samples with so many times the calm ones' writes and requests in flight; None without any.

    Calm is the median, or where floods may fill half of the samples and more, the others with I/O, if any.
    """
    samples = series.samples
    rate, in_flight_writes = samples.floats("write_kb_per_s"), writes_in_flight(samples)
    mask = (rate >= IDLE_KB_PER_S) & (in_flight_writes >= LEAST_DEPTH)
    # a mean over minutes is no flood: all of the load may have been another
    mask &= ~(weighted.lengths(samples) > LONGEST_S)
    if not mask.any():
        return None
    is_idle = samples["is_idle"]
    mask &= (rate >= times_rate * _calm(rate, is_idle, mask)) & (
        in_flight_writes >= times_depth * _calm(in_flight_writes, is_idle, mask)
    )
    starts = np.flatnonzero(mask & ~np.concatenate([[False], mask[:-1]]))
    # a burst cut by one calmer sample is one burst
    starts = starts[np.concatenate([[True], np.diff(starts) > 2])] if len(starts) else starts
    if not len(starts) or mask.all():
        return None
    is_split = samples[mask].has("write_await_ms")
    return Floods(
        series=series,
        is_inside=mask,
        starts=starts,
        read_harm=_harm(samples, mask, "read_await_ms", "reads_per_s"),
        write_harm=_harm(samples, mask, *(_OF_WRITES if is_split else _OF_ALL)),
        starved=_starved(samples, mask),
        is_split=is_split,
    )


_OF_WRITES, _OF_ALL = ("write_await_ms", "writes_per_s"), ("latency_ms", "ios_per_s")


def writes_in_flight(samples: Table) -> Floats:
    """Writes in flight; where no direction is told apart, by their share of the bytes if that is larger."""
    in_flight_writes, depth = in_flight(samples, "write"), samples.floats("depth")
    moved, total = samples.floats("write_kb_per_s"), samples.floats("kb_per_s")
    share = np.divide(moved, total, out=np.zeros(len(moved)), where=total > 0)
    return np.where(np.isnan(in_flight_writes), np.where(share >= 0.5, share, 0.0) * depth, in_flight_writes)


def _calm(data: Floats, is_idle: Mask, may_be_flood: Mask) -> float:
    """What a number is between floods: its median, or the others' with I/O where most may be floods."""
    known = ~np.isnan(data)
    if not known.any():
        return float("nan")
    if may_be_flood.mean() < 0.5:
        return median(data[known])
    others = data[known & ~may_be_flood & ~is_idle]
    return median(others) if len(others) else float(np.percentile(data[known], 25))


def blocked_by(view: View, found: Floods) -> Blocked:
    """How many tasks were blocked meanwhile; NaN where no table tells."""
    queue = rows_at(view, "queue", found.inside)
    return Blocked(_blocked(queue), _blocked(rows_at(view, "queue", found.outside)), queue)


def _blocked(rows: Table | None) -> float:
    return weighted.mean(rows, "blocked", "queue") if rows is not None else float("nan")


def _period(starts: Places, lengths: Floats) -> float:
    gaps = np.diff(np.cumsum(lengths)[starts])
    if len(gaps) < 2:
        return float("nan")
    middle = median(gaps)
    return middle if (np.abs(gaps - middle) <= 0.2 * middle).all() else float("nan")


def _harm(samples: Table, mask: Mask, wait: str, rate: str) -> float:
    """Latency inside over outside, known by the requests counted on either side."""
    serves = samples.floats(rate) > 0
    requests = events_per_sample(samples, rate)
    within, without = serves & mask, serves & ~mask
    if min(requests[within].sum(), requests[without].sum()) < LEAST_REQUESTS:
        return float("nan")
    calm = weighted.mean(samples[without], wait)
    return weighted.mean(samples[within], wait) / calm if calm > 0 else float("nan")


def _starved(samples: Table, mask: Mask) -> float:
    """How many times fewer reads are served inside of floods than outside; NaN where nothing reads."""
    inside, outside = (weighted.mean(samples[where], "reads_per_s") for where in (mask, ~mask))
    return outside / inside if inside > 0 else float("nan")


def drain(view: View, least_kb: float, least_rate: float) -> tuple[Table, Values] | None:
    """Where the page cache, filled by writes alone, drains while CPUs wait and little is read; or None.

    At least `least_kb` that nobody read come into the cache first, and then, in most of the samples in which
    CPUs mostly wait, `least_rate` kB/s and more go out: half of what came in, or more.
    """
    paging, memory, cpu = view.samples("paging"), view.samples("memory"), view.cpu_all
    if view.devices or {"paging", "memory", "cpu"} & view.average_only:
        return None
    if paging is None or memory is None or cpu is None:
        return None
    seconds = weighted.seconds_or_one(paging)
    read, written = (paging.floats(f"pgpg{way}_kb_per_s") for way in ("in", "out"))
    own, other = paired(paging, memory)
    grown = np.zeros(len(paging))
    grown[own] = np.nan_to_num(np.diff(memory.floats("cached_kb"), prepend=np.nan))[other]
    filled = (grown > 0) & (read * seconds < HARDLY * grown)
    own, other = paired(paging, cpu)
    waited = np.zeros(len(paging))
    waited[own] = cpu.floats("iowait_pct")[other]
    waits = (waited >= HELD_PCT) & (np.cumsum(filled) > 0)
    drains = (
        waits & (written >= least_rate) & (read < HARDLY * written) & (grown < HARDLY * written * seconds)
    )
    given, gone = float(grown[filled].sum()), float((written * seconds)[filled | drains].sum())
    if drains.sum() < LEAST_DRAINS or 2 * drains.sum() < waits.sum() or given < least_kb or 2 * gone < given:
        return None
    values: Values = {"given": given / 1024, "rate": float(np.mean(written[drains])), "samples": len(paging)}
    values |= {"count": int(drains.sum()), "iowait": float(np.mean(waited[drains]))}
    return paging[drains], values


LEAST_DRAINS, HARDLY = 3, 0.1
"""Samples that show that cached writes drain, and the share of something that is hardly any of it."""


def starved(view: View) -> tuple[Table, Values] | None:
    """The samples with bursts of writes in which who reads gets half and less, and waits; None without any.

    Who reads nothing at all in most of them may do something else then, and so may who does not read on after
    one; and what is read has to fall with what is written beyond chance.
    """
    paging = view.samples("paging")
    if paging is None or "paging" in view.average_only or (weighted.lengths(paging) > LONGEST_S).any():
        return None
    read, written = (paging.floats(f"pgpg{way}_kb_per_s") for way in ("in", "out"))
    is_burst = written >= max(STILL_KB, BURST * median(written))
    # after a burst the others go on in the same run: another load after it is none
    calm, runs = np.flatnonzero(~is_burst), report_numbers(paging)[0] // REPORTS
    is_over = (np.diff(calm) > 1) & (np.diff(runs[calm]) == 0)
    kept = np.isin(runs, runs[calm[1:][is_over]])
    paging, read, written, is_burst = paging[kept], read[kept], written[kept], is_burst[kept]
    if not 2 * (read[is_burst] > 0).sum() > is_burst.sum():
        return None
    values = cost_in(view, paging, is_burst, 4 * STILL_KB)
    if values is None or not spearman(read, written) <= -BEYOND_CHANCE / np.sqrt(len(paging)):
        return None
    values |= {"written": float(written[is_burst].mean()), "between": float(written[~is_burst].mean())}
    return paging[is_burst], values | {"count": int(is_burst.sum()), "samples": len(paging)}


@dataclass(frozen=True)
class Throttle:
    """The longest window in which so much was dirty that the kernel makes writers wait.

    `share` is dirty memory in per cent of what can be dirtied.
    """

    rows: Table = field(repr=False)
    share: float
    dirty_kb: float
    blocked: float
    queue: Table | None = field(default=None, repr=False)


def throttle(view: View, least_share: float) -> Throttle | None:
    """Where dirty memory stays near the limit (sar -r kbdirty); None where it never does.

    What can be dirtied is what is available; older sar prints free, buffers and cache instead.
    """
    memory = view.samples("memory")
    if memory is None or "dirty_kb" not in memory:
        return None
    parts = [memory.floats(f"{name}_kb") for name in ("free", "buffers", "cached")]
    available = available_kb(memory)
    base = np.where(np.isnan(available), parts[0] + parts[1] + parts[2], available)
    share = 100 * memory.floats("dirty_kb") / np.maximum(base, 1.0)
    rows = longest(memory.with_columns(dirty_share=share), share >= least_share)
    if rows is None:
        return None
    queue = rows_at(view, "queue", rows)
    return Throttle(
        rows=rows,
        share=weighted.mean(rows, "dirty_share"),
        dirty_kb=weighted.mean(rows, "dirty_kb", "memory"),
        blocked=_blocked(queue),
        queue=queue,
    )


RULE = Rule(
    id="writeback-burst",
    explains=("symptom",),
    title="Floods of writeback make others wait",
    why="Reads and log writes wait behind a queue that background writing fills in one go.",
    remedy=(
        "Write back earlier and steadily: vm.dirty_background_bytes of about a second's writing.",
        "For databases spread checkpoints (checkpoint_completion_target, innodb_io_capacity).",
        "Let the kernel hold background writes back: wbt_lat_usec, io.latency, or ionice for the copier.",
    ),
    needs=Needs(
        one_of=(
            {"disk": ("write_kb_per_s", "queue_depth", "await_ms|write_await_ms")},
            {"memory": ("dirty_kb",)},
            {"memory": ("cached_kb",), "paging": ("pgpgout_kb_per_s",), "cpu": ("iowait_pct",)},
            {"paging": ("pgpgin_kb_per_s", "pgpgout_kb_per_s"), "queue": ("blocked",)},
        )
    ),
    thresholds={
        "bursts": Threshold(3, "bursts", "how many make a pattern", "judgement: two may be chance"),
        "times_rate": Threshold(3, "x", "write rate of a burst over the median", "judgement"),
        "times_depth": Threshold(4, "x", "depth of a burst over the median", "judgement"),
        "read_harm": Threshold(2, "x", "latency of reads in bursts", "judgement: a doubling is felt"),
        "clear_harm": Threshold(
            4, "x", "latency of reads, or loss of them, that one flood shows", "judgement: twice read_harm"
        ),
        "more_reads": Threshold(
            2, "x", "reads served in bursts that make them bursts of load", "judgement: all of the load grew"
        ),
        "full_util": Threshold(90, "%", "util of a device that a flood has to itself", "judgement"),
        "write_harm": Threshold(10, "x", "latency of writes in bursts", "judgement: writes are buffered"),
        "dirty_share": Threshold(
            15,
            "%",
            "dirty memory at which writers are braked",
            "half way from dirty_background_ratio to dirty_ratio",
        ),
        "cached_mb": Threshold(100, "MB", "that writers leave in the cache", "judgement: seconds of a disk"),
        "drained": Threshold(10240, "kB/s", "that go out then", "judgement: a tenth of a disk"),
        "blocked": Threshold(2, "tasks", "blocked tasks that make it felt", "judgement: not the flusher"),
    },
    confirm=("grep -E 'Dirty|Writeback' /proc/meminfo", "sysctl -a --pattern vm.dirty", "biolatency -D 1 10"),
    references=("https://docs.kernel.org/admin-guide/sysctl/vm.html",),
    to_clear=ToClear(samples=8, requests=200, longest_s=60),
    detect=detect,
)
