"""One member of a stripe or mirror is slower than its peers at the same load, and gates the set.

What it detects: among the legs of an array, the disks below them, or disks that run at equal rates,
one whose latency is at least 1.75 times the median of the others in the median sample and that is
the slowest in four samples of five, while all carry the same load. Where the array's own latency is
that of its slowest leg, the array waits for it; with a leg as fast as the next one it would not.

From one sample on, without any array: a disk that takes 10 times as long as another one at a like rate, size
and direction, and longer than a healthy device takes, or is busy with each small request for longer than a
spinning disk needs for one. Two that stall together beside a third are told together. One that is never idle
with as many bytes as three others that are idle for nine tenths of the time is one of their set for sure;
where anybody may wait, that one stands still for it. Of two disks of one class that are mostly written,
alike in rate and size, as those of a mirror are, one whose writes take three times as long and 5 ms longer,
though it reads no more. Where no rates are like enough to compare latencies: disks that are nearly never
idle with as many bytes as three others and more move in a third of the time, and that each request keeps
busy for longer: a possible finding.

Why it matters: a stripe is as fast as its slowest leg, so one ageing disk costs the whole set.

When it is wrong: a leg that carries other work besides (a boot disk, another array's leg) is slow for that
reason; mirrors balance reads, so that one leg streams and the other seeks; a rebuild loads one leg. Peers
that only their rates suggest may be of different kinds, unless three and more are alike and one is not.
Unequal loads are not judged, unless a quick member does as much or the slow one takes seconds. A disk that
spins up takes seconds once. One that serves each request as quickly as its sibling, and is nearly never idle,
waits in its own line; one that is as quick in as many samples was slow by chance: neither is told beside a
sibling, unless it takes longer than any healthy device. A few ms more on a member with idle time cost nobody
anything: then it is information.

References: Perseus (FAST '23), which compares disks with their peers at equal load; smartctl(8).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from iodiag.analysis.array.busier_siblings import Busier, busier_siblings
from iodiag.analysis.array.equal_rates import disks_of
from iodiag.analysis.array.member_comparison import Comparison, Peers, comparisons, peer_groups
from iodiag.analysis.array.members import arrays
from iodiag.analysis.array.resync import MATERIAL, resyncing, share_of_load
from iodiag.analysis.array.side_by_side import Keys, report_keys
from iodiag.analysis.array.slow_peers import (
    SlowSibling,
    is_full_alone,
    is_in_line,
    is_served_alike,
    slow_siblings,
)
from iodiag.analysis.host.disk_health import reported
from iodiag.analysis.host.who_waits import SECONDS_MS, does_nobody_wait, hardly_answers, is_waited_for
from iodiag.analysis.measure import grading, weighted
from iodiag.analysis.measure.changepoints import onset
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.windows import is_sustained
from iodiag.analysis.states.service_times import class_of, is_felt
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.model.finding import Confidence, Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.rules.causes.slow_member import slower_than_similar
from iodiag.rules.causes.slow_member.evidence import (
    Case,
    busy_ms,
    evidence,
    gate,
    is_busier,
    slowness_evidence,
    template_values,
)
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Table, stacked


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per slow disk, however many layers show it; the other groups of peers are named."""
    cases: dict[str, list[Case]] = {}
    busy_reports = _resync_reports(view)
    groups = list(peer_groups(view))
    for peers in groups:
        verdict = _judge(view, peers, limits, busy_reports)
        if isinstance(verdict, Case):
            disk = _disk(view, verdict.slow)
            cases.setdefault(disk, []).append(verdict)
        else:
            yield verdict
    found = [_finding(view, disk, some, limits) for disk, some in cases.items()]
    surely = {name for finding in found if finding.confidence != "low" for name in finding.devices}
    slow = [
        one
        for one in slow_siblings(view, limits.sibling_ratio)
        if one.slow.name not in surely and one.least_ratio >= limits.ratio
    ]
    told = {one.slow.name for one in slow}
    yield from (_sick(view, group, limits) for group in slower_than_similar.by_common_sibling(slow))
    yield from (finding for finding in found if not told & set(finding.devices))
    busier = None if slow or found else busier_siblings(view)
    if busier is not None:
        yield _busier(busier)
    elif not groups and not slow:
        reason = "no three disks of equal rates, and no array is known: lsblk or mdstat would name peers"
        yield RULE.not_applicable(reason, missing=("topology",))


def _disk(view: View, name: str) -> str:
    leaves = view.topology.leaves(name)
    return leaves[0].name if len(leaves) == 1 else name


def _resync_reports(view: View) -> Keys:
    """Reports in which a resync is a good part of what disks do, which may carry legs of other arrays."""
    found = [np.zeros(0, dtype=np.int64)]
    for array in arrays(view):
        rows = array.rows[resyncing(array)]
        rows = rows[share_of_load(array, rows) >= MATERIAL]
        if len(rows):
            found.append(report_keys(rows))
    return np.unique(np.concatenate(found))


def _judge(view: View, peers: Peers, limits: Limits, busy_reports: Keys) -> Case | Outcome:
    names = tuple(device.name for device in peers.devices)
    reason = "no samples in which all of them served requests of the same kind"
    for found in comparisons(peers, limits.ratio, limits.persistence / 100):
        reason = ""
        is_slow = np.median(found.ratios) >= limits.ratio and 100 * found.slowest_share >= limits.persistence
        if not is_slow:
            continue
        if found.requests < limits.least_requests:
            reason = "a member is slower than its peers, but over too few requests; capture for longer"
        elif weighted.mean(found.window, "depth") < limits.least_depth:
            reason = "a member is slower than its peers, but hardly used; capture under load"
        elif not peers.is_stated and (doubt := _doubt(view, found)):
            reason = doubt
        elif not (found.is_equal_load or _is_spared(found, peers, limits.ratio)):
            reason = "a member is slower than its peers, but carries another load; compare at equal loads"
        else:
            return _case(peers, found, busy_reports, limits.ratio)
    if reason:
        return RULE.undetermined(reason, *names)
    return RULE.clear("no member takes much longer than its peers at the same load", *names)


def _is_spared(found: Comparison, peers: Peers, ratio: float) -> bool:
    """Whether a peer does as much, in requests of the same size, and is quick: then its load is no excuse."""
    loads = [weighted.mean(rows, "kb_per_s") for rows in found.rows]
    sizes = [weighted.ratio(rows, "kb_per_s", "ios_per_s") for rows in found.rows]
    same_size = max(sizes) <= 1.25 * min(sizes)
    own, waits = loads[found.slow], found.latencies
    does_more = any(
        load >= own and ratio * wait <= waits[found.slow] for load, wait in zip(loads, waits, strict=True)
    )
    return peers.is_stated and same_size and does_more


def _doubt(view: View, found: Comparison) -> str:
    """Why one of peers that nothing states is not told as the slow one; empty where it may be."""
    sizes = [weighted.ratio(rows, "kb_per_s", "ios_per_s") for rows in found.rows]
    if max(sizes) > LIKE_SIZE * min(sizes):
        return "a member is slower than its peers, but their requests differ in size"
    if len(found.window) < LASTING and _is_in_line(found):
        own = busy_ms(found)
        values: Values = {"own": own[found.slow], "others": float(np.median(np.delete(own, found.slow)))}
        text = "a member takes longer than its peers, busy {own:ms} with each request beside {others:ms}: "
        return say(text + "its longer queue may be why", values)
    others = np.delete(found.latencies, found.slow)
    # the same one of four in three captures is chance in one of sixteen
    if found.captures < REPEATED and len(others) > 2 and found.latencies[found.slow] < APART * others.max():
        return "no single member is slow: the next one takes nearly as long"
    if name := _as_slow_with_less(view, found):
        return f"no single member is slow: {name} takes nearly as long, and does no more of the same size"
    return ""


def _as_slow_with_less(view: View, found: Comparison) -> str:
    """A disk at another rate that takes nearly as long for no more requests of one size and direction."""
    columns = ("latency_ms", "ios_per_s", "size_kb", "reads_per_s")
    latency, ios, size, reads = (weighted.mean(found.window, name) for name in columns)
    names = {device.name for device in found.peers.devices}
    for series in (one for one in disks_of(view) if one.name not in names):
        rows = series.samples[same_reports(series.samples, found.window)]
        wait, rate, other, read = (weighted.mean(rows, name) for name in columns)
        is_like = max(size, other) <= APART * min(size, other) and ios / 4 <= rate <= ios
        is_one_way = (reads, read) == (ios, rate) or (reads, read) == (0, 0)
        if is_like and is_one_way and wait * APART >= latency:
            return series.name
    return ""


def _is_in_line(found: Comparison) -> bool:
    """Whether its own line explains how long the slow one takes.

    Writes alone are buffered, as a rule, and come in batches, to whose line no share of idle time is a bound.
    """
    own, others = found.rows[found.slow], np.median(np.delete(busy_ms(found), found.slow))
    latency, rate, util = (
        np.array([weighted.mean(own, name)]) for name in (found.latency, "ios_per_s", "util")
    )
    is_buffered = (own.floats("reads_per_s") == 0).all() and not (own.floats("flushes_per_s") > 0).any()
    served = is_served_alike(found.slow_series, rate, np.minimum(util, 1.0), others)
    return bool(served.all() and (is_buffered or is_in_line(latency, rate, np.minimum(util, 1.0)).all()))


LIKE_SIZE, APART, REPEATED, LASTING, FAR = 2.0, 1.25, 3, 5, 2.0
"""Sizes whose requests take about as long; the gap to the next slowest that singles one out; the captures in
which it is the slowest that do so without a gap; the samples in which no line is longer by chance; and times
the least ratio beyond which no difference of model explains it."""


def _is_odd_one(found: Comparison) -> bool:
    """Whether three peers and more are alike in latency, and it alone is not."""
    others = np.delete(found.latencies, found.slow)
    return bool(len(others) >= LEAST_ALIKE and others.max() <= ALIKE * others.min())


LEAST_ALIKE, ALIKE = 3, 1.5
"""Disks of one kind at one load, as many as no two sets of two, measure within half of each other."""


def _case(peers: Peers, found: Comparison, busy_reports: Keys, ratio: float) -> Case:
    window = found.window
    in_resync = float(np.isin(report_keys(window), busy_reports).mean())
    is_long = len(window) >= 3 and (found.captures >= 2 or (is_sustained(window) and len(window) >= 5))
    waits, busier = gate(found), is_busier(found)
    # of disks that only their rates tell to be a set, one that differs from many alike is of it still
    is_odd = not peers.is_stated and found.is_equal_load and _is_odd_one(found)
    points = 1 + is_long + 2 * (waits is not None) + (1 if peers.is_stated or is_odd else -1) + busier
    points += is_odd
    at_most: Confidence = "high" if peers.is_stated else "medium"
    # two standard errors of a ratio of means of so many requests
    error = 2 * np.sqrt(2 / max(found.requests, 1))
    least = float(np.median(found.ratios)) * np.exp(-error)
    is_certain = is_sustained(window) or least >= ratio
    points += least >= FAR * ratio
    if (
        (peers.array is None and not is_odd)
        or in_resync >= 0.5
        or not (is_certain or found.captures >= REPEATED)
    ):
        at_most = "low"
    return Case(found, points, at_most, waits, busier, in_resync)


def _is_paid(case: Case, limits: Limits) -> bool:
    """Whether the wait is one that somebody feels, or the slow one has little idle time left for its set."""
    values = template_values(case.found)
    slow = case.found.slow_series
    added = float(values["latency"]) - float(values["others"])
    return is_felt(slow, added) or not float(values["util"]) < limits.busy


def _finding(view: View, disk: str, cases: list[Case], limits: Limits) -> Finding:
    """One finding per disk: the surest case, and the array that waits, if another one shows it."""
    first, *rest = sorted(cases, key=lambda c: (c.at_most == "low", -c.points, -len(c.found.window)))
    points = first.points + 2 * (first.gate is None and any(case.gate is not None for case in rest))
    points += bool(rest)  # another set of peers shows the same disk
    sure = grading.confidence(points, at_most=first.at_most)
    said = [*evidence(first, disk), *(item for case in rest for item in slowness_evidence(case, disk))]
    said += onset(first.found.slow_series, int(first.found.window["sample"].min()))
    said += reported(view, (disk,))
    values = template_values(first.found)
    values["slow"] = first.slow if first.slow == disk else f"{first.slow} on {disk}"
    is_paid = any(_is_paid(case, limits) for case in cases)
    severity: Severity = "info" if not is_paid else "notice" if sure == "low" else "warning"
    slow, ratio = first.found.slow_series, float(np.median(first.found.ratios))
    if severity == "warning" and ratio >= limits.sibling_ratio:
        others = np.delete(np.arange(len(first.found.rows)), first.found.slow)
        # with the others idle for nine tenths of the time it gets a tenth at most of what they can give
        is_held = is_full_alone(first.found.window, [first.found.rows[at] for at in others])
        is_held &= not does_nobody_wait(view, first.found.window)
        severity = "critical" if is_held or _is_dead(view, slow, first.found.window) else severity
    return RULE.finding(
        severity=severity,
        confidence=sure,
        peers=tuple(device.name for device in first.found.peers.devices),
        **grading.device_fields(
            first.found.window, *dict.fromkeys((first.slow, *(case.slow for case in rest)))
        ),
        summary=say(_SUMMARY + (_PAID if is_paid else _UNPAID), values),
        evidence=tuple(said),
        refutes=("another load on the same disk (lsblk, iostat -x of its other partitions and volumes)",),
        cannot_know=("whether the disk, its link or its slot is slow, or whether it is of another model",),
        confirm=(f"smartctl -x /dev/{disk}", "iostat -xyt 1 30", "lsblk -t"),
    )


def _is_dead(view: View, slow: DeviceSeries, rows: Table) -> bool:
    """Whether the slow one hardly answers, at loads that its siblings do beside."""
    return hardly_answers(view, slow, rows, rows.floats("latency_ms") >= SECONDS_MS)


def _sick(view: View, group: Sequence[SlowSibling], limits: Limits) -> Finding:
    """Disks many times as slow as a sibling at a like rate, whether or not an array is known."""
    first, values = group[0], slower_than_similar.template_values(group)
    # with as many bytes as each of several others it is one of a set, and waited for, whatever its kind
    is_of_set = len(group) == 1 and slower_than_similar.is_of_set(first)
    is_of_set &= is_full_alone(first.rows, first.fast_rows)
    is_insane = bool((first.rows.floats("latency_ms") >= first.rows.floats("sane")).all())
    is_certain = (is_of_set or is_insane) and first.least_ratio >= FAR * limits.sibling_ratio
    is_held = is_certain and is_of_set and 2 * len(first.rows) >= len(first.slow.samples)
    is_held &= not does_nobody_wait(view, first.rows)
    is_dead = is_held or any(_is_dead(view, one.slow, one.rows) for one in group)
    lasts = [*slower_than_similar.since_boot(view, first)]
    is_once = len(first.slow.samples) == 1 and not is_dead and not lasts
    is_note = all(_may_be_a_flush(view, one) for one in group)
    volume = _may_be_paths_of(view, group[0])
    return RULE.finding(
        severity="critical" if is_dead else "notice" if is_note else "warning",
        confidence="high" if is_certain else "medium",
        peers=tuple(series.name for series in group[0].fast),
        **grading.device_fields(group[0].rows, *(one.slow.name for one in group)),
        summary="; ".join([say(slower_than_similar.SUMMARY, values), *(item.text for item in lasts)]) + ".",
        evidence=(
            *slower_than_similar.evidence(group, values),
            *lasts,
            *reported(view, [one.slow.name for one in group]),
        ),
        refutes=("disks of different kinds, or other requests at the slow one (random against sequential)",),
        cannot_know=(
            "whether the disk, its cable, its slot or its controller is slow",
            *(
                (f"whether they are paths to {volume}, dealt out in turn, or disks of a stripe",)
                if volume
                else ()
            ),
        ),
        remedy=(
            *_ONCE[:is_once],
            *(_SICK_REMEDY_OF_NVME if class_of(first.slow) == "nvme" else _SICK_REMEDY),
            *_OF_HEADS[: class_of(first.slow) not in ("nvme", "solid") and first.latency_ms >= SECONDS_MS],
        ),
        confirm=(
            *((f"multipath -ll {volume}",) if volume else ()),
            *slower_than_similar.commands(group, is_once=is_once),
        ),
    )


def _may_be_a_flush(view: View, one: SlowSibling) -> bool:
    """Whether the only sample has late writes alone, on a disk with idle time: they may be buffered.

    Reads, and what is flushed, are waited for by nature; nor is anybody seen to wait for them.
    """
    if is_waited_for(view, one.rows).any():
        return False
    reads, writes = (
        weighted.mean(one.rows, f"{way}_per_s") * weighted.mean(one.rows, f"{way[:-1]}_await_ms")
        for way in ("reads", "writes")
    )
    flushes = weighted.mean(one.rows, "flushes_per_s")
    is_once = len(one.slow.samples) == 1 and weighted.mean(one.rows, "util") < MOSTLY_IDLE
    return is_once and not flushes > 0 and writes >= MOSTLY_WRITES * (weighted.or_zero(reads) + writes)


MOSTLY_IDLE, MOSTLY_WRITES = 0.5, 0.9
"""Busy share of a disk with idle time, and share of the requests in flight that are nearly all."""


def _may_be_paths_of(view: View, one: SlowSibling) -> str:
    """The mapped device of which a disk and its sibling carry equal parts, where no input says what it is."""
    names = {one.slow.name, *(series.name for series in one.fast)}
    rates = [weighted.mean(rows, "ios_per_s") for rows in (one.rows, *one.fast_rows)]
    if max(rates) > EQUAL * min(rates):
        return ""
    tops = (top for top, paths in view.arrays() if names <= {path.name for path in paths})
    return next((top.name for top in tops if _is_unnamed_map(top)), "")


def _is_unnamed_map(top: DeviceSeries) -> bool:
    device = top.device
    is_inferred = device is not None and device.provenance.get("members", "").startswith("inferred")
    return is_inferred and re.fullmatch(r"dm-\d+", top.name) is not None and not (device and device.level)


EQUAL = 1.05
"""How far apart the rates of paths are that are dealt out in turn."""


def _busier(found: Busier) -> Finding:
    """Disks that are busy for longer with as many bytes as others: by smaller requests, or by themselves."""
    values: Values = {}
    for of, uses in found._asdict().items():
        values[of] = ", ".join(use.series.name for use in uses)
        values |= {
            f"{of}_low": 100 * min(u.busy for u in uses),
            f"{of}_high": 100 * max(u.busy for u in uses),
        }
        kb, rate, busy = (sum(getattr(use, name) for use in uses) for name in ("kb", "rate", "busy"))
        values |= {f"{of}_kb": kb / len(uses), f"{of}_size": kb / rate, f"{of}_ms": 1000 * busy / rate}
    odd, calm = (
        f"{{{of}}}: {{{of}_low:.0f}} to {{{of}_high:.0f}} % busy for {{{of}_kb:.0f}} kB/s each, in requests "
        f"of {{{of}_size:.1f}} kB"
        for of in ("odd", "calm")
    )
    rows = [stacked([use.series.samples for use in uses]) for uses in found]
    return RULE.finding(
        severity="notice",
        confidence="low",
        peers=tuple(use.series.name for use in found.calm),
        **grading.device_fields(found.odd[0].series.samples, *(use.series.name for use in found.odd)),
        title="A disk is busy for longer than the others with as many bytes",
        summary=say(f"{odd}; {calm}. Smaller requests, or slower disks.", values),
        evidence=(
            cite(rows[0], odd + ", {odd_ms:.1f} ms of busy time for each", values, worst="util_pct"),
            cite(rows[1], calm + ", {calm_ms:.1f} ms for each", values, worst="util_pct"),
        ),
        refutes=("another load on these disks that explains the time",),
        cannot_know=("what each of them takes for the same requests: test them with one load",),
        confirm=(*(f"smartctl -x /dev/{use.series.name}" for use in found.odd[:4]), "iostat -xyt 1 30"),
    )


_SICK_REMEDY = (
    "Read the kernel's log for resets and timeouts, then the SMART data of the slow disk.",
    "Swap cable, slot or port to tell the disk from its path; then replace what stays slow.",
)
_SICK_REMEDY_OF_NVME = (
    _SICK_REMEDY[0],
    "Compare wear, temperature and firmware with those of the others, and see whether it is full or was "
    "never trimmed (fstrim); then replace what stays slow.",
)
_ONCE = ("Take more samples, to see whether it lasts.",)
_OF_HEADS = ("Drives that park their heads or spin down take seconds to answer: switch that off.",)

_SUMMARY = (
    "{slow} takes {latency:ms}, its peers ({peers}) take {of_peers} at the same load "
    "({times:.1f} times as long)"
)
_PAID = "; the set is only as fast as its slowest member."
_UNPAID = "; at {util:.0f} % busy that costs its set little."

RULE = Rule(
    id="slow-member",
    explains=(*SYMPTOMS_AND_SATURATION, "latency-above-baseline", "serialized-commit"),
    replaces=(
        *("fragmentation-sized-reads", "true-saturation", "approaching-saturation", "svctm-misread"),
        "util-false-alarm",
    ),
    title="One member is slower than its peers at the same load",
    why="A stripe or mirror is as fast as its slowest member, so one disk costs the whole set.",
    remedy=(
        "Read the disk's own counters (smartctl -x): reallocated, pending, link errors, temperature.",
        "Swap slot, cable or port, to tell the disk from its path; then replace what stays slow.",
        "Move other work off the disk, if that is what slows it.",
    ),
    needs=Needs(one_of=({"disk": ("await_ms|read_await_ms|write_await_ms", "read_kb_per_s")},)),
    thresholds={
        "ratio": Threshold(
            1.75,
            "times",
            "latency over the median of the peers, in the median sample",
            "a measured slow disk showed 1.64 to 3.36, its sound peers up to 1.2",
        ),
        "sibling_ratio": Threshold(
            10, "times", "latency over that of a disk at a like rate", "sound disks of a set differ by 1.2"
        ),
        "persistence": Threshold(
            80,
            "%",
            "of samples in which it is the slowest",
            "chance of one in four five times running: 0.4 %",
        ),
        "least_requests": Threshold(
            50, "requests", "served by each", "the mean of 50 exponential latencies errs by 14 %"
        ),
        "busy": Threshold(
            60, "%", "of the time from which a member leaves its set little headroom", "judgement"
        ),
        "least_depth": Threshold(
            0.2, "requests", "in flight at the slow one", "judgement: below, nobody waits for it"
        ),
    },
    confirm=(
        "smartctl -x /dev/DEVICE",
        "iostat -xyt 1 30",
        "lsblk -t",
        "fio --name=alone --filename=/dev/DEVICE --readonly --rw=randread --direct=1 --bs=4k --runtime=10 "
        "--time_based",
    ),
    references=("https://www.usenix.org/conference/fast23/presentation/lu",),
    pictures=("peers",),
    detect=detect,
)
