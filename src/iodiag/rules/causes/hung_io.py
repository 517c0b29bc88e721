"""A request was outstanding for many seconds: the device answered nothing.

What it detects: five seconds and more in which a device was busy throughout (or, on kernels that count
only at completion, silent) and completed nothing, and then, where the stall ends within the capture,
a sample that books more request time than the stall was long. A single answer that took a second with
few requests in flight leaves it open. Where a device of md or device-mapper is stuck and the disks below are
idle, its requests never reached them.

Why it matters: everything that needed the device stood still: a command that timed out, a lost path, a
firmware that paused.

When it is wrong: a cache flush that writes back hundreds of megabytes looks the same; where flushes are
counted and fill the stall, flush-latency is the rule that tells, and where they are not, writes
alone prove little. A disk that spins up takes 5 to 10 s once. A device that never completes anything
in the whole capture may have a stuck counter; counters leak one by one, so that a queue of eight and more
beside devices that serve theirs is told as a hang, and as a warning where nobody is seen to wait; one that
the kernel's log has errors of is a hang. One request in flight in one short sample is a warning until the
next sample shows it again.

References: block/genhd.c (diskstats counts at completion); SCSI and NVMe commands time out after 30 s.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase

import numpy as np

from iodiag.analysis.array.equal_rates import disks_of, without_parts
from iodiag.analysis.array.layer_latency import may_be_disk, may_be_stacked
from iodiag.analysis.host.disk_health import reported
from iodiag.analysis.host.kernel_events import are_elsewhen, kernel_events, line_count
from iodiag.analysis.host.paging import LEAST_CROWD
from iodiag.analysis.host.who_waits import HAS_TIME_PCT, NEVER_IDLE, blocked, does_nobody_wait, pressure
from iodiag.analysis.load.stalls import (
    ALWAYS_BUSY,
    LONGEST_FLUSH_S,
    Stall,
    answers,
    late_answer_ms,
    may_be_flush,
    stalled,
    stalls_of,
)
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_fact, in_samples, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.view.device_names import is_md, is_physical
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.model.capture import Fact
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import Table, stacked


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per device that answered nothing for a while."""
    for series in view.devices:
        stalls = list(stalls_of(series))
        found = [stall for stall in stalls if not stall.is_flush and _is_hang(view, series, stall, limits)]
        if len(found) >= 2 and all(may_be_flush(series, stall) for stall in found):
            reason = (
                "it was silent under writes, again and again: flushes of its cache, which are not counted "
                "here, look the same; f/s and f_await of iostat -x would settle it"
            )
            yield RULE.undetermined(reason, series.name)
        elif found and _is_doubtful(view, series):
            reason = "it completed nothing with some in flight, beside counts in flight that cannot be true"
            yield RULE.undetermined(reason, series.name)
        elif found and (in_line := _waits_in_line(view, series, found)):
            yield RULE.undetermined(in_line, series.name)
        elif found:
            yield _finding(view, series, found, limits)
        elif stalls:
            yield RULE.undetermined(_why_open(series, stalls, limits), series.name)
        elif latest := late_answer_ms(series, limits.late):
            reason = (
                f"requests took {latest / 1000:.1f} s, yet no longer silence is seen: the kernel's log of "
                "that moment, or a longer capture, would tell"
            )
            yield RULE.undetermined(reason, series.name)
        else:
            yield RULE.clear("no stretch without an answer", series.name)


def _why_open(series: DeviceSeries, stalls: Sequence[Stall], limits: Limits) -> str:
    """What its stalls, none of which is shown to be a hang, may be, with the longest of them."""
    longest = max(stalls, key=lambda stall: stall.seconds)
    how_long = "for {longest:g} s" if _is_timed(longest.rows) else "in {samples} samples"
    log = "the kernel's log of that time would tell"
    if any(stall.is_flush for stall in stalls):
        text = f" while its cache was flushed; {log} of a hang"
    elif any(_is_usual(series, stall) for stall in stalls):
        text = ", no longer than its requests took in other samples"
    elif longest.seconds >= limits.least_seconds or not _is_timed(longest.rows):
        text = f" though busy, but no request that ended then had waited as long: {log}"
    else:
        text = f" though busy, no longer than a retry or a pause of its firmware takes: {log}"
    values = _values(series, longest) | {"longest": round(longest.seconds, 1)}
    return say(f"it completed nothing {how_long}{text}", values)


def _is_doubtful(view: View, series: DeviceSeries) -> bool:
    """Whether it never answered, and this kernel's counts of what is in flight went wrong elsewhere."""
    return not answers(series) and view.left_out is not None and len(view.left_out) > 0


def _waits_in_line(view: View, series: DeviceSeries, stalls: Sequence[Stall]) -> str:
    """That a layer holds no more than a full disk completes in the time of the stall; empty where it does.

    Its disks are known, or any disk shown: it may be a flush of the cache that waits for all of them.
    """
    (stall, *others), known = stalls, {one.name for one in view.topology.below(series.name)}
    disks, is_over = disks_of(view), others or stall.release is not None
    if is_over or not _is_layer(view, series) or not _is_timed(stall.rows):
        return ""
    if any(_is_stuck_too(disk, stall) for disk in disks):
        return ""  # it may wait for that one
    for disk in disks:
        own = disk.samples[same_reports(disk.samples, stall.rows)]
        if not len(own) or (known and disk.name not in known):
            continue
        values: Values = {"disk": disk.name, "rate": weighted.mean(own, "ios_per_s")}
        values["depth"] = float(np.nanmax(stall.rows.floats("depth")))
        is_full = bool((own.floats("util") >= NEVER_IDLE).all()) and float(values["rate"]) > 0
        # a burst begins and ends within samples
        if is_full and 2 * float(values["depth"]) >= stall.seconds * float(values["rate"]):
            text = "it completed nothing with {depth:.0f} in flight, while {disk} is full and completes "
            return say(text + "{rate:.0f} requests/s: they may wait in line for it, as a flush does", values)
    return ""


def _is_hang(view: View, series: DeviceSeries, stall: Stall, limits: Limits) -> bool:
    """Long enough, and where it ends, ended by requests that had waited for it.

    Where it does not end, what is in flight shows it. Kernels that count at completion show nothing in
    flight: then a device that never answered, or froze, or tasks that wait meanwhile, do.
    """
    count, shortest = len(stall.rows), limits.least_seconds
    long_enough = stall.seconds >= shortest
    is_dense = count >= limits.least_samples or stall.seconds >= shortest * count
    if stall.release is None:
        if not long_enough and _is_usual(series, stall):
            return False
        never = not answers(series) and not _is_timed(stall.rows)
        is_seen = _holds(stall) or _froze(series, stall) or never
        return is_seen or (long_enough and is_dense) or any(_witnesses(view, series, stall))
    return long_enough and is_dense and stall.booked_s >= limits.booked / 100 * stall.seconds


def _is_usual(series: DeviceSeries, stall: Stall) -> bool:
    """Whether requests of another sample took as long on the mean: slow, and no more than that."""
    latencies = series.samples.floats("latency_ms")
    return bool(np.nanmax(latencies, initial=0.0) >= 1000 * stall.seconds)


def _holds(stall: Stall) -> bool:
    return float(np.nanmax(stall.rows.floats("depth"))) >= 1


def _froze(series: DeviceSeries, stall: Stall) -> bool:
    """Whether it served requests, and then none in two samples or with some held: no counter that leaked."""
    return answers(series) and (_holds(stall) or len(stall.rows) >= 2) and stall.release is None


def _finding(view: View, series: DeviceSeries, stalls: list[Stall], limits: Limits) -> Finding:
    worst = max(stalls, key=lambda stall: stall.seconds)
    waiters = tuple(_witnesses(view, series, worst))
    place = tuple(_idle_below(view, series, worst))
    held_above = tuple(_held_above(view, series, worst)) if place else ()
    is_proven = _is_all_waited_for(view, series, worst) or bool(held_above)
    evidence = (
        *_evidence(series, worst),
        *place,
        *held_above,
        *waiters,
        *_against(view, series, worst, is_proven=is_proven),
        *reported(view, (series.name,)),
    )
    serves = any(not _is_stuck_too(one, worst) and _serves(one, worst) for one in view.devices)
    least_s = float(weighted.seconds_or_one(worst.rows).sum())
    # on a host that stands still nothing is served, and a layer may wait in line
    is_queue = worst.release is None and serves and _is_crowded(worst) and not _is_layer(view, series)
    sure = "high" if is_proven else _confidence(series, worst, len(waiters) + is_queue)
    is_shown = _holds(worst) or bool(waiters) or worst.seconds >= limits.least_seconds
    is_held = answers(series) or (_holds(worst) and bool(waiters))
    stuck = sum(_is_layer(view, one) and _is_stuck_too(one, worst) for one in view.devices) if place else 0
    is_standing = worst.release is None and ((is_shown and is_held) or stuck >= 2)
    is_standing |= is_queue and least_s >= limits.timeout and not does_nobody_wait(view, worst.rows)
    is_moment = _is_moment(worst, limits)
    severity: Severity = "notice" if sure == "low" else "warning"
    if severity == "warning" and is_standing and not (is_moment and not place):
        severity = "critical"
    values = _values(series, worst) | {"count": len(stalls), "least": least_s}
    often = " {count} times; the longest" if len(stalls) > 1 else ""
    ends = " until the end of the capture" if worst.release is None else ""
    held = " with {depth} in flight" if values["depth"] else ""
    where = "; " + place[0].text + "." if place else "."
    kept = "".join(f"; {item.text}" for item in waiters if "kept" in item.values)
    then = f"{kept}{where}" + _MOMENT * (is_moment and bool(held) and worst.release is None)
    how_long = _how_long(series, worst, is_bound=least_s >= limits.least_seconds)
    return RULE.finding(
        severity=severity,
        confidence=sure,
        **device_fields(worst.rows, series.name),
        summary=say(
            f"{{device}} completed no request{often} {how_long}, {{util:.0f}} % busy{held}{ends}", values
        )
        + then,
        evidence=evidence,
        **(_in_the_stack(series) if place else _ANYWHERE | (_OF_MOMENT if len(worst.rows) < 2 else {}))
        | (_SEEN_IN_FLIGHT if held_above or (serves and not place and held) else {}),
    )


def _how_long(series: DeviceSeries, stall: Stall, *, is_bound: bool) -> str:
    """For how long it completed nothing, or for how long at the least where the digits of rates bound it."""
    if _is_timed(stall.rows):
        return "for {seconds:.0f} s"
    if is_bound:
        return "for {least:.0f} s or longer, by the digits of the rates"
    return in_samples(len(series.samples), "samples", "all")


def _is_moment(stall: Stall, limits: Limits) -> bool:
    """Whether one request in one short sample is all that shows it: the next one tells if it stays."""
    depth = float(np.nanmax(stall.rows.floats("depth")))
    return len(stall.rows) < 2 and not stall.seconds >= limits.least_seconds and depth < 2


_MOMENT = " A second sample would tell whether it hangs, is late, or is a counter that leaked."
_OF_MOMENT = {
    "confirm": ("iostat -xt 1 5", "grep . /sys/block/*/inflight", "dmesg -T | grep -iE 'timeout|reset|abort'")
}


_ANYWHERE: dict[str, tuple[str, ...]] = {
    "refutes": ("a virtual machine that was paused: then all devices stop at once",),
    "cannot_know": ("what held the request: the kernel's log names timeouts, resets and lost paths",),
}


def _in_the_stack(series: DeviceSeries) -> dict[str, tuple[str, ...]]:
    """What fits a hang above idle disks, in place of cables and paths."""
    of_array = ("cat /proc/mdstat", "grep . /sys/block/DEVICE/md/*")
    return {
        "remedy": (
            "Look where the tasks wait in the kernel: /proc/PID/stack of those in state D and of the array's "
            "own thread, and echo w > /proc/sysrq-trigger, which writes all such stacks to its log.",
            "Look at the state of arrays (/proc/mdstat, their md folder in /sys/block) and of mappings: one "
            "that is suspended, and multipath without a path, holds everything.",
        ),
        "confirm": (
            *(of_array if is_md(series.name) else ("dmsetup info -c", "multipath -ll", "cat /proc/mdstat")),
            "grep . /sys/block/*/inflight",
            "echo w > /proc/sysrq-trigger  # as root, and only w, as other letters can stop the host: writes "
            "the stacks of blocked tasks to the kernel log",
        ),
        "refutes": (
            "requests in flight on a disk below (/sys/block/*/inflight): some kernels show it as idle",
        ),
        "cannot_know": ("which code holds the requests: the kernel stacks of the tasks that wait name it",),
    }


def _confidence(series: DeviceSeries, stall: Stall, witnesses: int) -> Confidence:
    """By what shows that requests are stuck rather than a counter; a flush of the cache lowers it."""
    if stall.release is None:
        is_frozen = _froze(series, stall)
        is_held = is_frozen and _holds(stall) and len(stall.rows) >= 2
        sure: Confidence = "high" if is_held else "medium" if witnesses or is_frozen else "low"
    else:
        points = 2 + witnesses + (stall.seconds > LONGEST_FLUSH_S)
        points += 1 if _is_timed(stall.rows) else -1
        sure = confidence(points + (not may_be_flush(series, stall)))
    return "low" if may_be_flush(series, stall) and stall.release is not None else sure


def _values(series: DeviceSeries, stall: Stall) -> Values:
    return {
        "device": series.name,
        "seconds": stall.seconds,
        "samples": len(stall.rows),
        "all": len(series.samples),
        "depth": float(np.nanmax(stall.rows.floats("depth"))),
        "util": float(np.nanmean(stall.rows.floats("util_pct"))),
    }


def _evidence(series: DeviceSeries, stall: Stall) -> Iterator[Evidence]:
    values = _values(series, stall)
    text = "no or hardly any request completed in {samples} of {all} samples: {util:.1f} % busy"
    yield cite(stall.rows, text + (", {depth} in flight" if values["depth"] else ""), values)
    if stall.release is None:
        return
    said: Values = {
        "booked": stall.booked_s,
        "latency": float(stall.release.floats("latency_ms")[0]),
        "depth": float(stall.release.floats("depth")[0]),
        "seconds": stall.seconds,
    }
    text = (
        "the sample that ends it books {depth} in flight, {latency} ms a request; that is {booked:.0f} s of "
        "waiting beyond the usual in a stall of {seconds:.0f} s"
    )
    yield cite(stall.release, text, said)


def _witnesses(view: View, series: DeviceSeries, stall: Stall) -> Iterator[Evidence]:
    """Tasks that wait meanwhile, other devices that are stuck at the same time, and errors in a log."""
    yield from _logged_errors(view, series, stall)
    cpu = view.cpu_at(stall.rows)
    if cpu is not None and str(cpu["source"][0]) == str(stall.rows["source"][0]):
        share = weighted.mean(cpu, "iowait_pct", "cpu")
        if share >= LEAST_IOWAIT:
            yield cite(cpu, "iowait was {share:.0f} % meanwhile", {"share": share})
        elif _is_waited_for_alone(view, series, stall):
            text = (
                "iowait was {share:.1f} % meanwhile, and no other device has a request (NFS would not show)"
            )
            yield cite(cpu, text, {"share": share})
    others = [other for other in view.devices if other is not series and _is_stuck_too(other, stall)]
    if others:
        names = ", ".join(other.name for other in others[:3])
        are = "are" if len(others) > 1 else "is"
        text = (
            "{others} " + are + " busy without a completion in the same samples: two counters do not stick "
        )
        text += "at once"
        yield cite(stall.rows, text, {"others": names})
    for other in view.devices if _is_crowded(stall) else ():
        if (own := _kept(other, stall)) is not None:
            values: Values = {"other": other.name, "kept": float(own.floats("depth")[0])}
            text = "{other} has {kept:.0f} in flight throughout as well, which it does not complete"
            yield cite(own, text, values)
    blocked_tasks = blocked(view, stall.rows)
    if (
        blocked_tasks is not None
        and blocked_tasks[1] >= 1
        and blocked_tasks[0]["source"][0] == stall.rows["source"][0]
    ):
        yield cite(
            blocked_tasks[0], "{blocked:.1f} tasks were blocked meanwhile", {"blocked": blocked_tasks[1]}
        )
    full = pressure(view, stall.rows, "full")
    if full is not None and full[1] >= 80:
        yield cite(full[0], "for {full:.0f} % of the time I/O stalled every task", {"full": full[1]})


def _logged_errors(view: View, series: DeviceSeries, stall: Stall) -> Iterator[Evidence]:
    """That the kernel's log names errors of a device that holds requests: no counter that leaked makes any.

    Where the clock of the log is not known they are of any time.
    """
    events = kernel_events(view)
    rows = None if events is None else events[np.asarray(events["device"] == series.name)]
    rows = None if rows is None else rows[~are_elsewhen(stall.rows, rows)]
    if rows is not None and len(rows) and _holds(stall):
        yield cite(rows, "errors of it in the kernel's log: {count}", {"count": line_count(rows)})


def _idle_below(view: View, series: DeviceSeries, stall: Stall) -> Iterator[Evidence]:
    """Said of a stacked device whose disks are idle all along: its requests have not reached them.

    A disk that held one would be busy throughout. Where no input tells the members, all disks shown
    count, and two have to be idle. Multipath without a path holds requests, too: no matter of its layer.
    """
    below = view.topology.below(series.name)
    has_paths = any(one is not None and one.kind == "multipath" for one in (series.device, *below))
    if not _is_layer(view, series) or stall.release is not None or has_paths:
        return
    if any(_held(fact) for fact in _in_flight(view, _disks_of(view, series))):
        return  # a disk holds some: kernels may show it as idle all the same
    names = {one.name for one in below}
    leaves = (leaf for one in view.topology if one.members for leaf in view.topology.leaves(one.name))
    if not names and any(view.series(leaf.name) is None for leaf in leaves):
        return
    shown = without_parts([one for one in view.devices if is_physical(one.name)])
    parts = [one.samples for one in shown if not names or one.name in names]
    disks = [rows for part in parts if len(rows := part[same_reports(part, stall.rows)])]
    idle = [rows for rows in disks if _is_idle(rows)]
    is_calm = all((rows.floats("util") <= MOST_UTIL).all() for rows in disks)
    if is_calm and len(idle) >= (1 if names else 2):
        whose = "its members" if names else "the disks shown"
        how = "are idle" if len(idle) == len(disks) else "are hardly busy ({count} of {all} idle)"
        text = f"{whose} {how}: the hang is in the array or mapping layer"
        yield cite(stacked(idle), text, {"count": len(idle), "all": len(disks)})


def _in_flight(view: View, names: Collection[str]) -> list[Fact]:
    """What /sys/block/*/inflight shows of some devices, by their names or a pattern of names."""
    facts = view.facts_of("inflight")
    return [fact for fact in facts if any(fnmatchcase(name, fact.word("device")) for name in names)]


def _disks_of(view: View, series: DeviceSeries) -> set[str]:
    """The names of what is below a layer; of all disks shown where nothing states its members."""
    below = {one.name for one in view.topology.below(series.name)}
    return below or {one.name for one in view.devices if is_physical(one.name)}


def _held_above(view: View, series: DeviceSeries, stall: Stall) -> Iterator[Evidence]:
    """That a layer, or one that stands still with it, holds requests, and none of its disks does."""
    stuck = {one.name for one in view.devices if _is_layer(view, one) and _is_stuck_too(one, stall)}
    own, disks = _in_flight(view, stuck), _in_flight(view, _disks_of(view, series))
    if disks and any(_held(fact) for fact in own) and not any(_held(fact) for fact in disks):
        yield from map(cite_fact, own)
        yield cite_fact(disks[0], "{device} held none at that moment")


_SEEN_IN_FLIGHT = {
    "refutes": ("fewer in flight when it is shown again: requests that are slow, and no hang",)
}


def _held(fact: Fact) -> float:
    return fact.number("reads") + fact.number("writes")


def _is_layer(view: View, series: DeviceSeries) -> bool:
    return may_be_stacked(series) and not is_physical(series.name) and not may_be_disk(view, series)


def _is_idle(rows: Table) -> bool:
    is_idle = (rows.floats("ios_per_s") == 0) & (rows.floats("util") == 0) & ~(rows.floats("kb_per_s") > 0)
    return bool(is_idle.all())


MOST_UTIL = 0.5
"""Busy share that no disk has that holds a request throughout: it would be 1."""


def _is_all_waited_for(view: View, series: DeviceSeries, stall: Stall) -> bool:
    """Whether CPUs have no time but for waiting while it holds requests to the end and no other serves any.

    A counter that leaked makes nobody wait.
    """
    cpu, _ = _cpu_beside_idle(view, series, stall)
    if cpu is None:
        return False
    iowait, idle = (weighted.mean(cpu, f"{name}_pct", "cpu") for name in ("iowait", "idle"))
    return iowait >= LEAST_IOWAIT and idle < HAS_TIME_PCT


def _is_waited_for_alone(view: View, series: DeviceSeries, stall: Stall) -> bool:
    """Whether idle CPUs, however many, count a task that waits while the devices beside it are idle."""
    cpu, beside = _cpu_beside_idle(view, series, stall)
    waited = weighted.mean(cpu, "iowait_pct", "cpu") if cpu is not None and beside else 0.0
    return waited / 100 * (view.cpus or LEAST_CPUS) >= SOME_TASKS


SOME_TASKS, LEAST_CPUS = 0.3, 4
"""Tasks that wait on average which no idle host has; the CPUs of one that does not state them (of more, as
much iowait is of more tasks)."""


def _cpu_beside_idle(view: View, series: DeviceSeries, stall: Stall) -> tuple[Table | None, int]:
    """The CPU samples in which it holds requests to the end and no other device serves any; None where one
    does. And how many others there are."""
    cpu = view.cpu_at(stall.rows)
    if stall.release is not None or not _holds(stall) or cpu is None or view.has_only_cpu_averages:
        return None, 0
    others = (other for other in view.devices if other is not series and not _is_stuck_too(other, stall))
    beside = [one.samples[same_reports(one.samples, stall.rows)] for one in others]
    is_same = str(cpu["source"][0]) == str(stall.rows["source"][0])
    return (cpu if is_same and all(map(_is_idle, beside)) else None), len(beside)


def _against(view: View, series: DeviceSeries, stall: Stall, *, is_proven: bool) -> Iterator[Evidence]:
    if may_be_flush(series, stall):
        text = "only writes were under way: a long flush of the cache looks the same"
        yield cite(stall.rows, text, weighs="against")
    if not answers(series):
        text = "it completes nothing in the whole capture"
        # what kernels that count at completion show says nothing of a counter
        may_leak = _holds(stall) and not is_proven and not _is_waited_for_alone(view, series, stall)
        may_leak &= not any(_logged_errors(view, series, stall))
        text += ": its counter of time in use may have leaked" * may_leak
        yield cite(stall.rows, text, weighs="against")
    if not _is_timed(stall.rows) and not weighted.seconds_or_one(stall.rows).sum() > len(stall.rows):
        yield cite(stall.rows, "nothing says how long the samples are", weighs="against")


LEAST_IOWAIT = 20.0
"""Share of CPU time in per cent that no idle host spends waiting for I/O."""


def _is_stuck_too(other: DeviceSeries, stall: Stall) -> bool:
    samples = other.samples
    same = same_reports(samples, stall.rows)
    return bool(same.any() and stalled(samples)[same].all())


def _is_crowded(stall: Stall) -> bool:
    """Whether it holds more throughout than counters that leak one by one add up to."""
    return bool(stall.rows.floats("depth").min() >= LEAST_CROWD)


def _serves(other: DeviceSeries, stall: Stall) -> bool:
    """Whether it completes requests in each of the same samples."""
    own = other.samples[same_reports(other.samples, stall.rows)]
    return len(own) > 0 and bool((own.floats("ios_per_s") > 0).all())


def _kept(other: DeviceSeries, stall: Stall) -> Table | None:
    """The same samples of a device that serves some requests at once, and keeps others throughout."""
    own = other.samples[same_reports(other.samples, stall.rows)]
    served = own.floats("ios_per_s") * own.floats("latency_ms") / 1000
    kept = own.floats("depth") - np.nan_to_num(served)
    is_whole = (kept >= 1 - MOST_SERVED) & (np.abs(kept - np.rint(kept)) <= MOST_SERVED)
    is_kept = is_whole & (served > 0) & (served <= MOST_SERVED) & (own.floats("util") >= ALWAYS_BUSY)
    return own if len(own) and bool(is_kept.all()) and np.ptp(np.rint(kept)) == 0 else None


MOST_SERVED = 0.02
"""In flight by rate times latency beside those that it keeps: they leave the printed count whole."""


def _is_timed(rows: Table) -> bool:
    return not np.isnan(rows.floats("interval_s")).any()


RULE = Rule(
    id="hung-io",
    explains=("symptom",),
    # where a device stood still, nobody is misled by how busy it is
    replaces=("true-saturation", "approaching-saturation", "util-false-alarm"),
    title="The device completed no request for a while",
    why="Everything that needed it stood still.",
    remedy=(
        "Look for timeouts, resets and lost paths in the kernel's log of that minute; check cables, "
        "firmware, paths.",
        "On a network volume: look at the link and at the other side.",
    ),
    needs=Needs(one_of=({"disk": ("util_pct", "queue_depth", "ios_per_s|reads_per_s")},)),
    thresholds={
        "least_seconds": Threshold(5, "s", "shortest stall", "judgement: longer than retries and pauses"),
        "booked": Threshold(
            70,
            "%",
            "request time that the end books, of the stall's length",
            "one request that waited through it",
        ),
        "least_samples": Threshold(
            3, "samples", "samples that show it, unless one alone lasts as long", "judgement"
        ),
        "timeout": Threshold(
            30, "s", "queue that nothing leaves: a command is aborted by then", "SCSI, NVMe"
        ),
        "late": Threshold(1000, "ms", "answer that leaves it open", "disks take 5 to 50 ms for a request"),
    },
    confirm=(
        "dmesg -T | grep -iE 'timeout|reset|abort|I/O error|blocked for more'",
        "multipath -ll",
        "smartctl -l error /dev/DEVICE",
    ),
    references=("https://docs.kernel.org/admin-guide/iostats.html",),
    to_clear=ToClear(requests=20, longest_s=60, columns=("await_ms|read_await_ms|write_await_ms",)),
    detect=detect,
)
