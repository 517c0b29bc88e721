"""The page cache is written back in floods, or faster than the device takes it.

What it detects: bursts in which a device gets several times its usual writes, and holds several times as
many of them, while reads take twice as long or writes ten times as long as between the bursts. One
burst is enough where reads take four times as long, or are served four times less often. A
variant needs no bursts: so much memory is dirty that the kernel makes every writer wait. Where no disk is
shown, a page cache that grows by 100 MB and more of which nothing was read, and then 10 MB/s and more that
are written while the CPUs mostly wait and hardly anything is read: that is a note.

Why it matters: a flood fills the device's queue, and reads and log writes wait behind it. A
writer that meets the dirty limit stops until the device has caught up.

When it is wrong: floods that nobody waits for do no harm, however long their queue; then this is
information. A flood that keeps the device busy while reads fall to a quarter of their rate is a cost at any
latency. Where reads grow as well, all of the load grew: that is a burst of work and no flood.
Checkpoints, compactions and backups look the same and have remedies of their own.

References: Documentation/admin-guide/sysctl/vm.rst (dirty_ratio, dirty_background_bytes); sar(1), kbdirty.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, Weighs, cite, in_samples, say
from iodiag.analysis.measure.grading import confidence, time_fields
from iodiag.analysis.measure.windows import is_sustained
from iodiag.analysis.states.service_times import is_felt
from iodiag.analysis.view.view import View
from iodiag.model.finding import Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import KB_PER_MB
from iodiag.rules.causes.writeback_burst.floods import (
    Blocked,
    Floods,
    Throttle,
    blocked_by,
    drain,
    floods,
    throttle,
    writes_held,
)
from iodiag.table.table import Table


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
        else:
            yield RULE.clear("no floods of writes that make others wait", series.name)
    if not view.devices and (drained := drain(view, limits.cached_mb * KB_PER_MB, limits.drained)):
        yield _drained(*drained)
    elif not view.devices and not is_throttled:
        is_known = view.has("memory", "dirty_kb")
        reason = "no floods of writes that make others wait" if is_known else "no disk is shown"
        yield Outcome(RULE.id, "clear" if is_known else "undetermined", (), reason)


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
    values: Values = {
        "device": found.series.name,
        "count": found.count,
        "rate": weighted.mean(found.inside, "write_kb_per_s"),
        "depth": float(np.average(writes_held(found.inside), weights=weighted.lengths(found.inside))),
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
