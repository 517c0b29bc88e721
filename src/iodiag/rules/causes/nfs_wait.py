"""Operations on an NFS mount wait: for the server or the way to it, on the client, or for losses.

What it detects: per mount and direction of nfsiostat, in samples with at least 10 operations: a round trip
(avg RTT) at 10 times its own calm samples of like size, or at 200 ms and more, or that took half as long
until a moment, at no lower rate (a notice); a wait on the client (avg
exe less avg RTT) as long as the round trip; and 1 % and more of operations that were sent again. Of sar -n
NFS, which counts the calls of all mounts, only the last.

Why it matters: local disks are idle then, and everything that uses the mount stands still. Which of the
three it is says where to look: at the server and its disks, at mount options and slots, or at the network.

When it is wrong: the first report is an average since the mount and is left out; alone it shows that
operations waited on the client for ten times their round trip, but not when. The round trip holds the
server's own disks: that they are slow shows there, not here. An export of the host itself is served by its
own disks. Larger operations take longer: only samples of like size are compared. Without calm samples a
round trip above that of any healthy disk is left open: the way to a distant server takes as long. Where four
operations and more are under way all the time and none waits on the client or is sent again, that is told for
information: whether the server is slow, or is asked for little at once, does not show. One call
that is sent again is no loss rate: at least three are asked for. What waits on the client waits for a slot
only where the queue for those holds as much, which nfsiostat divides by the seconds of the report (rpc
bklog): of an average since the mount it tells nothing. The slots of a session (NFS 4.1) are not counted.

References: nfsiostat(8); RFC 8881, session slots; Documentation/filesystems/nfs/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.changepoints import split
from iodiag.analysis.measure.evidence import Values, cite, duration, say
from iodiag.analysis.measure.grading import time_fields
from iodiag.analysis.measure.quantiles import median
from iodiag.analysis.states.service_times import SERVICE, relative_error
from iodiag.analysis.view.view import View
from iodiag.model.finding import Confidence, Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import Floats, Mask, Table, by_text

_LIKE_SIZE = 2.0
_STEPS = 4
"""Sizes of operations are told apart by so many steps for each doubling."""
_CERTAIN_OPERATIONS = 100.0
_FEWEST_CALM = 2
_FELT_MS = 20.0
_STEP, _STEP_SAMPLES, _SAME_RATE = 2.0, 5, 1.1
"""Times the round trip before a step, in so many samples of each side; times the rate that is no more."""
_NEARLY_ALL, _FEWEST_SAMPLES = 0.9, 3
"""The part of an operation that is a round trip where none waits on the client; samples that make it sure."""
_LEAST_MOUNTED_S = 3600
"""An average since the mount is taken as one of an hour at least."""
_WAYS = ("read", "write")

Place = Literal["server", "slots", "client", "network"]

_FAR_FEWER, _ROUNDED, _LONGEST_SAMPLE_S = 10, 0.005, 60.0
"""Times the queue for slots that operations that wait must be to wait for another thing; how that is rounded,
and over how many seconds at most it is taken where nothing tells."""


@dataclass(frozen=True)
class _Wait:
    """One direction of a mount and its samples in which operations waited at one place.

    `usual_ms` is the round trip in its calm samples, NaN without any; `samples` are the first and the last.
    """

    mount: str
    export: str
    way: str
    place: Place
    rows: Table
    samples: tuple[int, int]
    of: int
    operations: float
    round_trip_ms: float
    took_ms: float
    usual_ms: float
    sent_again_pct: float
    is_average: bool

    @property
    def harm(self) -> float:
        """Seconds that operations waited."""
        return self.operations * self.took_ms / 1000


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per mount, of the direction and place that most time was spent at."""
    table = view.samples("nfs_mounts")
    if table is None or not any(view.has("nfs_mounts", f"{way}_round_trip_ms") for way in _WAYS):
        yield from _of_all_mounts(view, limits)
        return
    is_average = "nfs_mounts" in view.average_only
    for mount, rows in by_text(table, "mount"):
        waits = [wait for way in _WAYS for wait in _waits(mount, rows, way, limits, is_average=is_average)]
        used = [way for way in _WAYS if (_operations(rows, way) >= limits.operations).any()]
        slow = [said for way in used if (said := _unusual(rows, way))]
        if waits:
            yield _finding(max(waits, key=lambda wait: wait.harm), limits)
        elif not used:
            values: Values = {way: _of_way(rows, way)["rate"] for way in _WAYS}
            values["mount"] = mount
            text = "{mount} did {read:.1f} reads/s and {write:.1f} writes/s, too few to judge; capture under "
            yield RULE.undetermined(say(text + "load", values))
        elif (rows_under_way := _under_way(rows, limits)) is not None:
            yield _of_server(mount, rows_under_way, slow, is_average=is_average)
        elif slow:
            yield RULE.undetermined(f"{slow[0]} on {mount}, and no calm sample to compare")
        else:
            yield RULE.clear(f"operations on {mount} neither wait nor slow down")


def _under_way(rows: Table, limits: Limits) -> Table | None:
    """The samples, if most, in which several operations are under way all the time, and none waits here.

    A rate times what an operation takes (avg exe) is how many are under way. `under_way` holds it, and
    `at_server` the part of it from the request to the answer (avg RTT).
    """
    under_way, at_server = (
        np.sum(
            [np.nan_to_num(rows.floats(f"{way}s_per_s") * rows.floats(f"{way}_{time}")) for way in _WAYS], 0
        )
        / 1000
        for time in ("await_ms", "round_trip_ms")
    )
    found: Mask = (under_way >= limits.under_way) & (at_server >= _NEARLY_ALL * under_way)
    for way in _WAYS:
        found &= ~(rows.floats(f"{way}_retransmitted_pct") > 0)
    if 2 * np.count_nonzero(found) <= len(rows):
        return None
    return rows[found].with_columns(under_way=under_way[found], at_server=at_server[found])


def _of_server(mount: str, rows: Table, slow: list[str], *, is_average: bool) -> Finding:
    values: Values = {"mount": mount}
    values |= {name: float(np.mean(rows.floats(name))) for name in ("under_way", "at_server")}
    text = (
        "{under_way:.1f} operations of NFS mount {mount} are under way on average, {at_server:.1f} of them "
    )
    text += "between the request and the answer, and none is sent again"
    return RULE.finding(
        severity="info",
        confidence="high" if len(rows) >= _FEWEST_SAMPLES else "medium",
        **time_fields(rows),
        title="Operations on an NFS mount are at the server",
        summary=say(
            f"{text}: whoever waits for them waits for the server or the way to it, not for this host.",
            values,
        ),
        evidence=(
            cite(rows, text, values),
            *(
                cite(rows, f"{{rate}} {way}s/s with a round trip (RTT) of {{trip:ms}}", of_way)
                for way in _WAYS
                if (of_way := _of_way(rows, way))["rate"]
            ),
        ),
        refutes=("more operations per second of the same kind with more tasks: the server has room",),
        cannot_know=(
            *_OF_A_MEAN[:1] * is_average,
            *slow,
            "whether the server is slow, or only asked by few tasks at once",
        ),
        remedy=_REMEDY["server"],
        confirm=("nfsiostat 5 12", "mountstats"),
    )


def _of_way(rows: Table, way: str) -> Values:
    return {
        "rate": weighted.or_zero(weighted.mean(rows, f"{way}s_per_s", "nfs_mounts")),
        "trip": weighted.mean(rows, f"{way}_round_trip_ms", "nfs_mounts"),
    }


def _of_all_mounts(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """What sar tells of a client: the calls of all mounts, and how many were sent again."""
    table = view.samples("nfs_client")
    if table is None or not view.has("nfs_client", "retransmits_per_s"):
        return
    calls, again = (
        np.nan_to_num(table.floats(name)) * weighted.seconds_or_one(table)
        for name in ("calls_per_s", "retransmits_per_s")
    )
    lost = (calls >= limits.operations) & (100 * again >= limits.sent_again * calls)
    rows = table[lost]
    if again[lost].sum() < limits.losses:
        reason = "no round trips are shown: nfsiostat shows them for each mount"
        yield RULE.undetermined(reason, missing=("nfs_mounts",))
        return
    values: Values = {
        "again": 100 * again[lost].sum() / calls[lost].sum(),
        "shown": len(rows),
        "of": len(table),
        "lost": weighted.mean(rows, "retransmits_per_s", "nfs_client"),
        "calls": weighted.mean(rows, "calls_per_s", "nfs_client"),
    }
    text = "{lost:.3g} of {calls:.1f} calls/s were sent again"
    yield RULE.finding(
        severity="warning" if len(rows) >= limits.share / 100 * len(table) else "notice",
        confidence="medium",
        **time_fields(rows, of_host=True),
        summary=say(
            "{again:.1f} % of the NFS calls of this host were sent again, in {shown} of {of} samples: the "
            "network loses requests, or the server does.",
            values,
        ),
        evidence=(cite(rows, text, values, worst="retransmits_per_s"),),
        cannot_know=("which mount it is, and how long its operations take: nfsiostat shows both",),
        remedy=_REMEDY["network"],
    )


def _operations(rows: Table, way: str) -> Floats:
    return np.asarray(np.nan_to_num(rows.floats(f"{way}s_per_s")) * weighted.seconds_or_one(rows))


def _unusual(rows: Table, way: str) -> str:
    """What a round trip takes, if longer than one request on any healthy disk; else empty."""
    trip = weighted.mean(rows, f"{way}_round_trip_ms", "nfs_mounts")
    size = weighted.or_zero(weighted.mean(rows, f"{way}_request_size_kb", "nfs_mounts"))
    slowest = SERVICE["unknown"].sane_limit_ms + size / SERVICE["unknown"].sane_limit_kb_per_ms
    return f"a {way} takes {duration(trip)} to the server and back" if trip >= slowest else ""


def _waits(mount: str, rows: Table, way: str, limits: Limits, *, is_average: bool) -> Iterator[_Wait]:
    operations = _operations(rows, way)
    trip, took = rows.floats(f"{way}_round_trip_ms"), rows.floats(f"{way}_await_ms")
    is_used = operations >= limits.operations
    if is_average:
        is_stuck = took >= np.maximum(limits.ratio * trip, limits.slow_ms)
        is_used |= is_stuck & (operations * _LEAST_MOUNTED_S >= limits.operations)
    if not is_used.any() or np.isnan(trip[is_used]).all():
        return
    size = rows.floats(f"{way}_request_size_kb")
    usual = _usual(size, trip, is_used)
    again, sent_again = (
        np.nan_to_num(rows.floats(f"{way}_{name}")) for name in ("retransmitted_pct", "retransmissions")
    )
    slow = (trip >= limits.ratio * usual) & (trip >= _FELT_MS) | (trip >= limits.slow_ms)
    slow |= _is_after_step(trip, size, operations, is_used)
    lossy = is_used & (again >= limits.sent_again)
    places: dict[Place, Mask] = {
        "network": lossy & (sent_again[lossy].sum() >= limits.losses),
        "slots": (took - trip >= trip) & (took >= _FELT_MS),
        "server": slow,
    }
    export = str(rows["export"][0]) if "export" in rows else ""
    for place, mask in places.items():
        found = is_used & mask
        if found.any():
            weights, at = operations[found], np.flatnonzero(found)
            yield _Wait(
                mount,
                export,
                way,
                place,
                rows[found],
                (int(at[0]), int(at[-1])),
                int(is_used.sum()),
                float(weights.sum()),
                float(np.average(trip[found], weights=weights)),
                float(np.average(took[found], weights=weights)),
                float(median(usual[found])),
                float(np.average(again[found], weights=weights)),
                is_average,
            )


def _usual(size: Floats, trip: Floats, is_used: Mask) -> Floats:
    """For each sample the round trip of the calmest tenth of those of like size; NaN with too few.

    Samples of one step of size share one comparison: there are few steps, however long the capture is.
    """
    usual = np.full(len(trip), np.nan)
    steps = np.round(_STEPS * np.log2(np.maximum(size, 1 / 1024)))
    is_known = is_used & ~np.isnan(trip)
    for step in np.unique(steps[is_used]):
        if np.isnan(step):
            here, is_like = np.isnan(steps), is_known
        else:
            here = steps == step
            is_like = is_known & (np.abs(steps - step) <= _STEPS * np.log2(_LIKE_SIZE))
        calm = np.sort(trip[is_like])[: max(_FEWEST_CALM, int(is_like.sum()) // 10)]
        if len(calm) >= _FEWEST_CALM:
            usual[here & is_used] = median(calm)
    return usual


def _is_after_step(trip: Floats, size: Floats, operations: Floats, is_used: Mask) -> Mask:
    """The samples since a moment from which the round trip lasts twice as long, and more is not asked for."""
    result = np.zeros(len(trip), dtype=np.bool_)
    at = np.flatnonzero(is_used & (trip > 0))
    if len(at) < 2 * _STEP_SAMPLES:
        return result
    place = split(np.log(trip[at]), _STEP_SAMPLES)
    before, after = at[:place], at[place:]
    is_slower = median(trip[after]) >= max(_STEP * median(trip[before]), _FELT_MS)
    is_apart = np.quantile(trip[after], 0.25) > np.quantile(trip[before], 0.75)
    is_more = median(operations[after]) > _SAME_RATE * median(operations[before])
    is_larger = median(size[after]) > _LIKE_SIZE * median(size[before])
    result[after] = is_slower and is_apart and not (is_more or is_larger)
    return result


def _finding(wait: _Wait, limits: Limits) -> Finding:
    is_step, is_own = wait.round_trip_ms >= 2 * wait.usual_ms, _OWN.match(wait.export) is not None
    values: dict[str, Any] = {
        "mount": wait.mount,
        "export": wait.export,
        "way": wait.way,
        "took": duration(wait.took_ms),
        "trip": duration(wait.round_trip_ms),
        "took_ms": wait.took_ms,
        "trip_ms": wait.round_trip_ms,
        "usual_ms": wait.usual_ms,
        "against": f" (against {duration(wait.usual_ms)} in its calm samples)" if is_step else "",
        "whose": _OF_OWN_ADDRESS if is_own else _OF_OTHERS,
        "again": wait.sent_again_pct,
        "rate": weighted.mean(wait.rows, f"{wait.way}s_per_s", "nfs_mounts"),
        "backlog": weighted.mean(wait.rows, "backlog", "nfs_mounts"),
        "shown": len(wait.rows),
        "of": wait.of,
    }
    # one odd sample among many is a notice
    is_lasting = len(wait.rows) >= limits.share / 100 * wait.of
    is_far = wait.round_trip_ms >= np.fmin(limits.ratio * wait.usual_ms, limits.slow_ms)
    is_lasting &= wait.place != "server" or bool(is_far)
    sure: Confidence = "high" if wait.operations >= _CERTAIN_OPERATIONS else "medium"
    if relative_error(wait.operations) > 1 / 3:
        sure = "low"
    of_mount = f" {wait.mount}" if wait.export else ""
    # the queue for a slot of the transport would hold all that wait
    values["waiting"] = float(values["rate"]) * (wait.took_ms - wait.round_trip_ms) / 1000
    # which nfsiostat divides by the seconds of the report: since the mount they are any number
    seconds = np.nan_to_num(wait.rows.floats("interval_s"), nan=_LONGEST_SAMPLE_S).mean()
    queue = (values["backlog"] + _ROUNDED) * seconds
    is_unslotted = not wait.is_average and queue <= values["waiting"] / _FAR_FEWER
    place: Place = "client" if wait.place == "slots" and is_unslotted else wait.place
    summary = _SUMMARY[place].replace("{mount}", "{mount} ({export})" if wait.export else "{mount}")
    return RULE.finding(
        severity="warning" if sure != "low" and is_lasting else "notice",
        confidence=sure,
        **time_fields(wait.rows) | {"samples": wait.samples},
        summary=say(summary + (_OF_AVERAGES if wait.is_average else _OF_SAMPLES), values),
        evidence=tuple(_evidence(wait, place, values)),
        refutes=("larger operations, which take longer",) if wait.place == "server" else (),
        cannot_know=(_OF_A_MEAN if wait.is_average else ())
        + ("whether the server's disks, its threads or the network between take the time",),
        remedy=_OF_OWN if is_own and place == "server" else _REMEDY[place],
        confirm=(f"nfsiostat 5 12{of_mount}", f"mountstats{of_mount}", "nfsstat -rc"),
    )


_OWN = re.compile(r"(?:127\.[\d.]+|localhost|\[?::1\]?):")
"""An export at the host's own address: it is the server itself, or a tunnel begins there (Amazon EFS)."""

_OF_OTHERS = "the server or the network is slow, not a local disk"
_OF_OWN_ADDRESS = "by its address this host serves it, or a tunnel leads from here: what answers is slow"
_OF_OWN = (
    "See what answers at this address: ss -tlnp. A tunnel (stunnel, as of Amazon EFS) leads to another: "
    "look there, and at the way. Else this host is the server: look at the disk that holds the export "
    "(iostat -xt 1 30), its nfsd threads (/proc/net/rpc/nfsd), limits (tc qdisc show), CPUs.",
)
_OF_A_MEAN = (
    "when: whether they wait now",
    "whether for a slot: rpc bklog is divided by the age of the mount",
)
_OF_SAMPLES = ", in {shown} of {of} samples with traffic."
_OF_AVERAGES = ", on average since it was mounted."
_SUMMARY: dict[Place, str] = {
    "server": "Each {way} of the NFS mount {mount} takes {took}, {trip} of it the round trip, the server's "
    "own work included{against}: {whose}",
    "slots": "Each {way} of NFS mount {mount} takes {took}, the round trip {trip} of it: "
    "operations wait on this host before they are sent, most often for a slot",
    "client": "Each {way} of NFS mount {mount} takes {took}, the round trip {trip} of it: operations wait "
    "on this host before they are sent, and not for a slot of the transport (rpc bklog {backlog:.3g})",
    "network": "{again:.1f} % of the {way}s of NFS mount {mount} were sent again, and one takes "
    "{took}: the network loses requests, or the server does",
}
_REMEDY: dict[Place, tuple[str, ...]] = {
    "server": (
        "Look at the server: its disks (iostat -xt 1 30 there), its nfsd threads (/proc/net/rpc/nfsd), CPUs.",
        "Measure the way: ping the server, and look for errors on the interfaces (ip -s link).",
    ),
    "slots": (
        "Mount with more connections: nconnect=8 (Linux 5.3); raise nfs.max_session_slots (NFS 4.1).",
        "With NFS 3: raise sunrpc.tcp_max_slot_table_entries.",
    ),
    "client": (
        "See whether they come in bursts, as when dirty pages are flushed (vm.dirty_background_bytes).",
        "Mount with more connections: nconnect=8 (Linux 5.3).",
        "With NFS 4.1 compare the session's slots, which rpc bklog does not count: nfs.max_session_slots.",
    ),
    "network": (
        "Look for losses: ip -s link, nstat -az TcpRetransSegs, and the switch's ports.",
        "With UDP mounts, mount with proto=tcp.",
    ),
}


def _evidence(wait: _Wait, place: Place, values: dict[str, Any]) -> Iterator[Evidence]:
    text = "{rate} {way}s/s: {took} each (exe), {trip} of it the round trip (RTT)"
    yield cite(wait.rows, text, values, worst=f"{wait.way}_await_ms")
    if place == "network":
        yield cite(wait.rows, "{again:.1f} % were sent again", values, worst=f"{wait.way}_retransmissions")
    if place == "client":
        text = "{waiting} {way}s wait on average, and rpc bklog is {backlog:.3g}: hardly any for a slot"
        yield cite(wait.rows, text, values)
    elif place == "slots" and values["backlog"] > 0:
        text = "rpc bklog is {backlog:.3g}: the queue for a slot, divided by the seconds of the report"
        yield cite(wait.rows, text, values)


RULE = Rule(
    id="nfs-wait",
    explains=("symptom", "iowait-misread"),
    title="Operations on an NFS mount wait",
    why="What uses the mount stands still, while local disks are idle.",
    remedy=("Look at the server, the slots of the client, or the network, as the numbers say.",),
    needs=Needs(
        one_of=(
            {"nfs_mounts": ("read_round_trip_ms|write_round_trip_ms",)},
            {"nfs_client": ("calls_per_s", "retransmits_per_s")},
        )
    ),
    thresholds={
        "ratio": Threshold(10, "x", "round trip over its own calm samples", "cache misses make five"),
        "slow_ms": Threshold(200, "ms", "round trip, whatever was usual", "a person's patience"),
        "sent_again": Threshold(1, "%", "operations sent again", "healthy networks show none"),
        "losses": Threshold(3, "operations", "sent again in all", "one may be a server that restarts"),
        "share": Threshold(10, "%", "of the samples with traffic that somebody pays for", "judgement"),
        "under_way": Threshold(4, "operations", "under way on average", "judgement: more than one task's"),
        "operations": Threshold(10, "operations", "in a sample to judge", "known to a third"),
    },
    confirm=("nfsiostat 5 12", "nfsstat -rc"),
    references=("https://man7.org/linux/man-pages/man8/nfsiostat.8.html",),
    to_clear=ToClear(samples=3, requests=0),
    detect=detect,
)
