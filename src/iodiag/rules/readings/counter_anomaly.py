"""Some numbers of the capture cannot all be true.

What it detects: values beyond any device, latencies without a request and reports in which several disks
are busy for far more than all the time, whose length was measured wrongly (those samples are left out of
every other rule); rates of vmstat and sar that a counter below zero makes (left out alone); util beyond
100 %; a depth below what rates and latencies make of it; sizes that
contradict bytes and requests; requests per second that both size and svctm contradict (these two are
believed); a latency of all requests outside of those of reads and writes, or since boot below that of the
disk's partitions; CPU shares
that do not add up to 100 %, or whose steal leaves no time for the work that was done; partitions that
move more than their disk, and layers that move many times as much as the only disk below them.

Why it matters: a conclusion is as good as its numbers. A counter that runs backwards, a column that slid
and a mistyped paste all look like trouble with the storage.

When it is wrong: kernels before 5.0 take the depth from what is in flight and the latency from what
completes, so the two differ while a queue grows or drains, and on stacked devices always; there the
depth is not held against the rates. Util slightly beyond 100 % is timer skew. Where the kernel in the
banner is known to count the queue too low, that is told with its source; distributions port repairs back,
so nothing is said by a version alone.

References: block/genhd.c and diskstats of the Linux kernel; sysstat issues 187 and 355.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.array.equal_rates import beyond_whole, disk_by_bytes
from iodiag.analysis.array.side_by_side import side_by_side
from iodiag.analysis.host.cpu import is_impossible
from iodiag.analysis.load.stalls import stalled
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, in_samples, say
from iodiag.analysis.measure.grading import time_fields
from iodiag.analysis.measure.known_counter_bugs import known_bug, of_bug, version_of
from iodiag.analysis.states.state_sentences import replaced_ms
from iodiag.analysis.states.states import counts_no_bytes
from iodiag.analysis.view.request_columns import BROKEN_TIME, LITTLE, LITTLE_SLACK, is_outside
from iodiag.analysis.view.view import IDLE_KB_PER_S, DeviceSeries, View, report_numbers
from iodiag.analysis.view.wrapped_rates import is_wrapped
from iodiag.model.columns import find
from iodiag.model.finding import Evidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import Table, by_text, stacked


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding for all devices with impossible samples, one for each spoilt device, one for the CPU."""
    clear: list[str] = []
    silent: list[str] = []
    slight: list[tuple[DeviceSeries, tuple[Evidence, ...]]] = []
    left_out: dict[str, Table] = {}
    mistimed: tuple[Finding, ...] = ()
    if view.left_out is not None:
        is_mistimed = view.left_out["anomaly"] == BROKEN_TIME
        left_out = dict(by_text(view.left_out[~is_mistimed], "device"))
        mistimed = (_mistimed(view, view.left_out[is_mistimed]),) if is_mistimed.any() else ()
    for series in view.devices:
        dropped = left_out.get(series.name)
        evidence = tuple(_of_device(view, series, dropped, limits))
        if not evidence:
            is_odd = stalled(series.samples).any() or lacks_latency(series.samples)
            (silent if is_odd else clear).append(series.name)
        elif _share(dropped, series) >= limits.dropped / 100 or replaced_ms(series.samples) >= 0:
            yield _finding(view, [(series, evidence)], "notice")
        else:
            slight.append((series, evidence))
    if slight:
        yield _finding(view, slight, "info")
    lost = [rows for name, rows in left_out.items() if view.series(name) is None]
    if lost:
        yield from map(_unusable, dict(by_text(stacked(lost), "anomaly")).values())
    yield from mistimed
    shares = tuple(of_cpu(view, limits))
    if shares:
        summary = f"The CPU's shares of time cannot be true: {shares[0].text}."
        yield RULE.finding(severity="info", confidence="high", summary=summary, evidence=shares)
    if odd := tuple(of_host_rates(view)):
        summary = f"A counter of the host ran backwards: {odd[0].text}."
        yield RULE.finding(severity="info", confidence="high", summary=summary, evidence=odd)
    if silent:
        reason = "requests are in flight and none, or none with a latency, completes"
        yield RULE.undetermined(reason, *tuple(silent))
    if clear or not (view.devices or left_out or mistimed or shares or odd):
        reason = "no number of it contradicts another by more than its kernel explains"
        yield RULE.clear(reason, *tuple(clear))


def _share(dropped: Table | None, series: DeviceSeries) -> float:
    count = 0 if dropped is None else len(dropped)
    return count / (count + len(series.samples))


def _finding(
    view: View, found: list[tuple[DeviceSeries, tuple[Evidence, ...]]], severity: Severity
) -> Finding:
    first, evidence = found[0]
    told = tuple(item for _, items in found for item in items)
    is_queue_wrong = any(map(is_of_queue, told))
    bug = known_bug(view.kernel, "queue_depth", "too low") if is_queue_wrong else None
    more = f" (and {len(found) - 1} more devices)" if len(found) > 1 else ""
    return RULE.finding(
        severity=severity,
        confidence="high",
        devices=tuple(series.name for series, _ in found),
        **time_fields(first.samples),
        summary=f"{evidence[0].text}{more}.",
        evidence=(*told, *of_bug(bug, view.kernel, view.kernel_origin)),
        references=(*RULE.references, *([bug.source] if bug else [])),
    )


def _unusable(rows: Table) -> Finding:
    """One cause is told once, of all devices that it leaves no true sample of."""
    names = [name for name, _ in by_text(rows, "device")]
    values: Values = {"devices": ", ".join(names[:_NAMED]), "more": len(names) - _NAMED, "count": len(rows)}
    text = "{devices}" + (" and {more} more" if len(names) > _NAMED else "") + ": none of "
    text += ("their" if len(names) > 1 else "its") + " samples ({count}) can be true."
    return RULE.finding(
        severity="notice",
        confidence="high",
        devices=tuple(names),
        summary=say(text, values),
        evidence=(cite(rows, "samples left out: {count}, for " + str(rows["anomaly"][0]), values),),
    )


_NAMED = 6
"""Devices that a sentence names."""


def _mistimed(view: View, rows: Table) -> Finding:
    """One factor is wrong in all rates of a report; latencies and sizes are counts over counts."""
    disk = view.samples("disk")
    count, sound = (0 if part is None else len(np.unique(report_numbers(part)[0])) for part in (rows, disk))
    most = float(rows.floats("util_pct").max())
    values: Values = {"count": count, "all": count + sound, "most": most, "factor": most / 100}
    text = (
        "%util is far above 100 % on several disks at the same time "
        + in_samples(count + sound, "count", "all")
        + " (maximum {most} %): the tool measured the length of the sample wrongly, so all its rates, queue "
        "depths and %util are at least {factor:.3g} times too high"
    )
    away = "samples left out: latencies and sizes alone are true in them"
    return RULE.finding(
        severity="notice",
        confidence="high",
        devices=tuple(rows["device"].distinct()),
        **time_fields(rows),
        summary=say(text + ".", values),
        evidence=(cite(rows, text, values, worst="util_pct"), cite(rows, away, values)),
        remedy=(
            "Capture again and time it with another clock: `date` around two snapshots of /proc/diskstats.",
        ),
    )


def _of_device(view: View, series: DeviceSeries, dropped: Table | None, limits: Limits) -> Iterator[Evidence]:
    samples = series.samples
    if dropped is not None:
        for reason, rows in by_text(dropped, "anomaly"):
            values: Values = {"device": series.name, "count": len(rows), "all": len(dropped) + len(samples)}
            yield cite(rows, "{device}: {count} of {all} samples left out: " + reason, values)
    if samples.has("void_util_pct"):
        void = samples[np.isfinite(samples.floats("void_util_pct"))]
        values = {"device": series.name, "most": float(void.floats("void_util_pct").max())}
        by_wait = void.floats("ios_per_s") * void.floats("latency_ms") / 1000
        values["held"] = float(np.nanmax([void.floats("depth"), by_wait]))
        text = "{device}: %util is {most} % with at most {held} requests in flight: it is left out"
        yield cite(void, text, values, worst="util_pct")
    least = samples.floats("util_pct") - weighted.half_digit(samples)
    if (least > limits.most_util).any():
        over = samples[least > 100]
        values = {
            "device": series.name,
            "count": len(over),
            "all": len(samples),
            "most": float(over["util_pct"].max()),
        }
        text = "{device}: %util exceeds 100 % in {count} of {all} samples (maximum {most} %); "
        text += "counted as 100 %"
        latest = over.floats("latency_ms")
        excess = (over.floats("util_pct") - 100) / 100 * weighted.lengths(over)
        if (latest >= 1000 * excess).all() and latest.max() >= limits.late:
            values["latency"] = float(latest.max())
            text += (
                "; requests that took {latency} ms ended then, and all of their time was counted at the end"
            )
        yield cite(over, text, values, worst="util_pct")
    yield from of_parts(view, series)
    yield from of_wrapped(series)
    yield from of_layer(view, series, limits)
    yield from of_uncounted(series)
    yield from of_rates(series)
    yield from of_nothing_in_flight(series)
    yield from of_depth(view, series, limits)
    yield from of_sizes(series, limits)
    yield from of_waits(series, limits)


_TOTALS_OF_TIME = ("reads", "writes", "all")
_SHARES = ("user_pct", "nice_pct", "system_pct", "iowait_pct", "steal_pct", "idle_pct")


def of_depth(view: View, series: DeviceSeries, limits: Limits) -> Iterator[Evidence]:
    """Depth against rates times latencies, where the kernel derives one from the other (5.0 and later).

    A depth above them is time of flushes where the source has no column for these.
    """
    version = version_of(view.kernel)
    if series.is_stacked or version is None or version < (5, 0):
        return
    samples = series.samples
    ios, depth = samples.floats("ios_per_s"), samples.floats("queue_depth")
    booked = ios * samples.floats("await_ms") / 1000
    # each total is of whole ms, and depth and latency are rounded after that
    ticks = len(_TOTALS_OF_TIME) / (1000 * weighted.seconds_or_one(samples))
    slack = weighted.half_digit(samples) * (1 + ios / 1000) + ticks + limits.residual / 100 * booked
    beyond = (booked - depth > slack) & ~samples["is_idle"]
    if np.count_nonzero(beyond) >= min(limits.least_samples, len(samples)):
        rows = samples[beyond]
        values: Values = {
            "device": series.name,
            "count": len(rows),
            "depth": weighted.mean(rows, "queue_depth"),
            "booked": float(np.mean(booked[beyond])),
        }
        text = (
            "{device} shows {depth} in flight where rate times latency makes {booked} (such samples: {count})"
        )
        yield cite(rows, text, values, worst="await_ms")


def is_of_queue(item: Evidence) -> bool:
    """Whether a piece of evidence says that the queue is below rate times latency."""
    return bool({"booked", "held"} & item.values.keys())


def of_wrapped(series: DeviceSeries) -> Iterator[Evidence]:
    """Bytes beyond any device beside numbers that agree: they alone are left out, and what comes of them."""
    samples = series.samples
    if "is_wrapped" in samples and (is_wrapped := np.equal(samples["is_wrapped"], True).astype(bool)).any():
        rows = samples[is_wrapped]
        values: Values = {"device": series.name, "count": len(rows)}
        text = "{device}: its bytes are beyond any device, as their counter ran backwards (such samples: "
        text += (
            "{count}); bytes and sizes are left out; rate, latency, queue and busy share agree and are kept"
        )
        yield cite(rows, text, values)


def of_uncounted(series: DeviceSeries) -> Iterator[Evidence]:
    """Bytes without requests, or requests without bytes: what the driver does not count, and what is void."""
    samples = series.samples
    moved = samples.floats("kb_per_s")
    # a rate of a few kB over a long time has less than half a hundredth of a request per second
    is_uncounted = (moved >= IDLE_KB_PER_S) & (samples.floats("ios_per_s") == 0)
    if is_uncounted.any():
        rows = samples[is_uncounted]
        values: Values = {
            "device": series.name,
            "count": len(rows),
            "all": len(samples),
            "moved": weighted.mean(rows, "kb_per_s"),
        }
        text = (
            "{device}: {count} of {all} samples move {moved} kB/s with no request completed: its driver "
            "counts no requests, so queue, latency and %util mean nothing"
        )
        yield cite(rows, text, values, worst="kb_per_s")
    if (is_void := counts_no_bytes(samples)).any():
        rows = samples[is_void]
        values = {"device": series.name, "count": len(rows), "all": len(samples)}
        values["ios"] = weighted.mean(rows, "ios_per_s")
        text = (
            "{device}: {count} of {all} samples move 0 kB with {ios} requests/s: its driver counts no bytes, "
        )
        yield cite(rows, text + "so their size is not known", values, worst="ios_per_s")


def of_rates(series: DeviceSeries) -> Iterator[Evidence]:
    """Requests per second that two other numbers contradict, which agree with each other."""
    samples = series.samples
    doubtful = samples.floats("doubtful_ios_per_s")
    if (is_odd := np.isfinite(doubtful)).any():
        rows = samples[is_odd]
        values: Values = {
            "device": series.name,
            "count": len(rows),
            "printed": float(doubtful[is_odd].mean()),
            "rate": weighted.mean(rows, "ios_per_s"),
        }
        text = (
            "{device}: {printed} requests/s are printed (such samples: {count}), where bytes by size and "
            "%util by svctm both make {rate:.1f}: that is believed"
        )
        yield cite(rows, text, values, worst="util_pct")


def of_nothing_in_flight(series: DeviceSeries) -> Iterator[Evidence]:
    """Nothing in flight and idle, by the columns, where rate times latency (Little's law) makes some."""
    samples = series.samples
    half = weighted.half_digit(samples)
    ios, wait = samples.floats("ios_per_s"), samples.floats("await_ms")
    # the least that the digits allow; a rate is known far better than its latency
    in_flight = (
        ios * wait / 1000 if "half_digit" not in samples else ios * (wait - half).clip(0) / 1000 - half
    )
    is_wrong = (in_flight >= _LEAST_HELD) & (samples.floats("queue_depth") < 0.1 * in_flight)
    # what waited long may have been in flight before the sample; what is quick was within it
    is_quick = samples.floats("await_ms") <= 10 * weighted.seconds_or_one(samples)
    is_wrong &= is_quick | ~(samples.floats("util") > 0.1 * np.minimum(in_flight, 1))
    # of requests that are quick for a sample its ends cut next to nothing
    longest = np.fmax(samples.floats("read_await_ms"), samples.floats("write_await_ms"))
    is_instant = np.fmax(samples.floats("await_ms"), longest) <= 10 * weighted.seconds_or_one(samples)
    is_wrong |= (
        is_instant & (in_flight >= 1) & (samples.floats("queue_depth") < LITTLE * in_flight - LITTLE_SLACK)
    )
    both = np.fmin(samples.floats("depth"), np.fmin(samples.floats("util"), 1.0))
    is_wrong |= both > samples.floats("queue_depth") + LITTLE_SLACK
    if is_wrong.any() and not series.is_stacked:
        rows, worst = samples[is_wrong], int(np.where(is_wrong, np.nan_to_num(in_flight), -1.0).argmax())
        values: Values = {
            "device": series.name,
            "held": float(in_flight[worst]),
            "depth": float(samples.floats("queue_depth")[worst]),
            "util": float(samples.floats("util_pct")[worst]),
        }
        text = (
            "{device}: {depth:.2f} in flight and {util:.2f} % busy are printed, where rate times latency "
            "makes {held:.2f} in flight"
        )
        yield cite(rows, text, values, worst="await_ms")


def of_parts(view: View, series: DeviceSeries) -> Iterator[Evidence]:
    """Partitions that move more than the disk they are of: one of its counters has wrapped."""
    beyond = beyond_whole(view, series)
    if beyond is not None:
        parts, own = beyond
        values: Values = {"device": series.name, "parts": parts, "own": own}
        text = (
            "{device}: its partitions move {parts} kB/s and it moves {own} kB/s: a counter of it has wrapped"
        )
        yield cite(series.samples, text, values, worst="kb_per_s")


def of_layer(view: View, series: DeviceSeries, limits: Limits) -> Iterator[Evidence]:
    """A layer that moves far more than the only disk that it stands on: one of its counters is wrong.

    Samples in which both move the same bytes show that it stands on that disk.
    """
    found = disk_by_bytes(view, series) if series.is_stacked else None
    if found is None or series.disks not in (None, 1):
        return
    disk = found[0]
    above, lower = side_by_side([series, disk])
    own, moved = (
        np.nansum([part.floats(f"{way}_kb_per_s") for way in ("read", "write")], axis=0)
        for part in (above, lower)
    )
    if (is_beyond := own > limits.layer * np.maximum(moved, IDLE_KB_PER_S)).any():
        values: Values = {"device": series.name, "disk": disk.name, "count": int(is_beyond.sum())}
        values |= {"own": float(own[is_beyond].max()), "moved": float(moved[is_beyond].max())}
        text = (
            "{device}: {own:.0f} kB/s are printed where {disk}, the only disk below it, moves {moved:.0f} "
            "kB/s (such samples: {count}): its bytes are counted wrongly, or come from no disk"
        )
        yield cite(stacked([above[is_beyond], lower[is_beyond]]), text, values, worst="kb_per_s")


def lacks_latency(samples: Table) -> bool:
    """Whether requests complete without a latency while several are in flight."""
    return bool(((samples.floats("await_ms") == 0) & (samples.floats("depth") >= 1)).any())


_LEAST_HELD = 0.2
"""Requests in flight by rate and latency that no rounding of the depth hides."""


def of_sizes(series: DeviceSeries, limits: Limits) -> Iterator[Evidence]:
    """Printed sizes against bytes per request; far apart, not by rounding."""
    samples = series.samples
    if "request_size_kb" not in samples:
        return
    printed, derived = samples.floats("request_size_kb"), samples.floats("size_kb")
    apart = np.maximum(printed, derived) > limits.size_ratio * np.minimum(printed, derived)
    least = min(limits.least_samples, len(samples))
    if np.count_nonzero(apart) < least:
        return
    apart &= (samples.floats("ios_per_s") >= 20) & (samples.floats("kb_per_s") >= 256)
    if np.count_nonzero(apart) >= least:
        rows = samples[apart]
        values: Values = {
            "device": series.name,
            "count": len(rows),
            "printed": weighted.mean(rows, "request_size_kb"),
            "derived": weighted.ratio(rows, "kb_per_s", "ios_per_s"),
        }
        text = "{device} shows {printed} kB per request where bytes by requests make {derived} "
        text += "(such samples: {count})"
        yield cite(rows, text, values)


def of_waits(series: DeviceSeries, limits: Limits) -> Iterator[Evidence]:
    """The latency of all requests against those of reads and writes, between which it lies, and of parts."""
    printed = series.samples.floats("doubtful_await_ms")
    if "await_ms" not in series.samples:
        return
    samples = series.samples.with_columns(
        await_ms=np.where(np.isnan(printed), series.samples.floats("await_ms"), printed)
    )
    if (is_wrapped := np.isfinite(printed) & ~is_outside(samples)).any():
        values: Values = {"device": series.name, "printed": float(printed[is_wrapped].mean())}
        values["latency"] = weighted.mean(series.samples[is_wrapped], "await_ms")
        text = (
            "{device}: await is printed as {printed:ms}; its partitions show at least {latency:ms}: "
            "its counter of time has wrapped"
        )
        yield cite(series.samples[is_wrapped], text, values, worst="await_ms")
    outside = is_outside(samples, limits.residual / 100)
    if outside.any():
        rows = samples[outside]
        values = {"device": series.name, "count": len(rows)}
        values |= {f"{of}await_ms": float(rows.floats(f"{of}await_ms")[0]) for of in ("", "read_", "write_")}
        text = (
            "{device}: all requests take {await_ms} ms where reads take {read_await_ms} ms and writes "
            "{write_await_ms} ms (such samples: {count})"
        )
        yield cite(rows, text, values)


def of_host_rates(view: View) -> Iterator[Evidence]:
    """Rates of vmstat and sar that no host has: each alone is left out, its row is kept."""
    for family, rows in view.wrapped.items():
        names = [
            name for name in rows.names if name.endswith("_per_s") and is_wrapped(rows.floats(name)).any()
        ]
        count = len(view.tables[family])
        for name in names:
            spoilt, column = rows[is_wrapped(rows.floats(name))], find(family, name)
            values: Values = {"count": len(spoilt), "all": count, "most": float(spoilt.floats(name).max())}
            values |= {"what": column.meaning, "unit": column.unit} if column else {"what": name, "unit": ""}
            text = "{what}: {most} {unit} " + in_samples(count, "count", "all")
            yield cite(spoilt, text + " is beyond any host: left out", values, worst=name)


def of_cpu(view: View, limits: Limits) -> Iterator[Evidence]:
    """CPU samples whose shares of time do not add up, or whose steal cannot be."""
    parts = [rows for rows in (view.samples("cpu"), view.odd_cpu) if rows is not None and len(rows)]
    if not parts or not set(_SHARES) <= (cpu := stacked(parts)).names.keys():
        return
    if (is_wrong := is_impossible(cpu)).any():
        values: Values = {name: float(cpu[is_wrong].floats(name)[0]) for name in _SHARES}
        values["count"] = int(np.count_nonzero(is_wrong))
        text = (
            "steal of {steal_pct} % beside {user_pct} % user, {system_pct} % system and {idle_pct} % idle is "
            "no neighbour's doing: the counter is wrong (CPU samples: {count})"
        )
        yield cite(cpu[is_wrong], text, values, worst="steal_pct")
    sums = np.sum([cpu.floats(name) for name in _SHARES], axis=0)
    is_off = (np.abs(sums - 100) > limits.cpu_slack) & (sums > 0)
    if is_off.any():
        text = "{count} CPU samples add up to something else, the first to {sum:.1f} %"
        values = {"count": int(np.count_nonzero(is_off)), "sum": float(sums[is_off][0])}
        yield cite(cpu[is_off], text, values)


RULE = Rule(
    id="counter-anomaly",
    role="reading",
    title="Some numbers of the capture cannot be true",
    why="Conclusions from them would be about the counters, not about the storage.",
    remedy=("Capture again with a current sysstat; compare with two snapshots of /proc/diskstats.",),
    to_clear=ToClear(requests=20, columns=("util_pct",)),
    needs=Needs(
        one_of=(
            {"disk": ("util_pct",)},
            {"disk": ("ios_per_s|reads_per_s",)},
            {"cpu": ("idle_pct",)},
            {"paging": ("pgpgin_kb_per_s",)},
        ),
        or_unsound=True,
    ),
    thresholds={
        "most_util": Threshold(102, "%", "util up to which it is timer skew", "up to 101.6 % on sound ones"),
        "late": Threshold(1000, "ms", "answer that may belong to the sample before", "judgement"),
        "residual": Threshold(
            5,
            "%",
            "depth or latency apart from what others make of it",
            "measured 0.1 to 2 % on sound captures",
        ),
        "least_samples": Threshold(
            2, "samples", "samples that show it", "judgement: one of several may be a misprint"
        ),
        "size_ratio": Threshold(1.5, "x", "between printed and derived", "judgement: far beyond rounding"),
        "layer": Threshold(
            4, "x", "kB/s of a layer over its only disk's", "judgement: a cache serves above it"
        ),
        "cpu_slack": Threshold(
            3, "%", "error of the sum of the CPU's shares", "vmstat rounds five shares to whole per cents"
        ),
        "dropped": Threshold(20, "%", "samples left out that spoil a capture", "judgement"),
    },
    confirm=("cat /proc/diskstats; sleep 1; cat /proc/diskstats", "uname -r", "iostat -V"),
    references=(
        "https://docs.kernel.org/admin-guide/iostats.html",
        "https://github.com/sysstat/sysstat/issues/355",
    ),
    detect=detect,
)
