"""One path to a multipath device is many times as slow as another, and requests are dealt out evenly.

What it detects: under one multipath map, a path whose requests take at least 3 times and 1 ms longer than on
the fastest path, while it is given at least half as many of them, of like size, in the samples in which all
paths in use carry requests. Where no input names the paths, the map is known by the name that multipathd
gives, and the paths are the disks whose bytes add up to its own.

Why it matters: a selector that goes round gives the slow path as much as the fast one. Every n-th request
waits for it, and with a bounded number in flight the fast path runs dry.

When it is wrong: selectors that look at the queue or at the service time (queue-length, service-time) send a
slow path less: then its share is small, and nothing is said. Paths that only stand by carry nothing and are
left out. A path that reads from another controller's cache is slower by design (ALUA, non-optimized). Without
topology a striped volume over a slow disk has the same rates: only the name of a map tells, else slow-member
is said.

References: Documentation/admin-guide/device-mapper/dm-multipath.rst; multipath.conf(5), path_selector.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from iodiag.analysis.array.array_commands import mapper_path
from iodiag.analysis.array.side_by_side import side_by_side
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, duration, in_samples, say
from iodiag.analysis.measure.grading import device_fields
from iodiag.analysis.states.service_times import events_per_sample, relative_error
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.units import HALF_DIGIT
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Table

_LIKE_SIZE = 2.0
_NAME = re.compile(r"mpath[a-z]{1,4}")
"""What multipathd names its maps by default (user_friendly_names, multipath.conf(5))."""
_CERTAIN_REQUESTS = 100.0


@dataclass(frozen=True)
class _Slow:
    """A map, its slowest and its fastest path, and their samples in which both carried requests."""

    top: DeviceSeries
    slow: DeviceSeries
    fast: DeviceSeries
    slow_rows: Table
    fast_rows: Table
    shown: int

    @property
    def times(self) -> float:
        """How many times as long the slow path takes; a printed 0.00 stands for half of its last digit."""
        fast = weighted.mean(self.fast_rows, "latency_ms")
        return weighted.mean(self.slow_rows, "latency_ms") / max(fast, HALF_DIGIT)

    @property
    def share(self) -> float:
        """Requests of the slow path for each of the fast one."""
        slow, fast = (weighted.mean(rows, "ios_per_s") for rows in (self.slow_rows, self.fast_rows))
        return slow / max(fast, HALF_DIGIT)

    @property
    def least_times(self) -> float:
        """The ratio at the end of its error that says least."""
        error = sum(
            relative_error(float(events_per_sample(rows).sum())) for rows in (self.slow_rows, self.fast_rows)
        )
        return self.times * max(1 - error, 0.1)


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per multipath map with a slow path that is given its share all the same."""
    maps = [(top, paths) for top, paths in view.arrays() if _is_multipath(top)]
    if not maps:
        reason = "no multipath map with two paths is known: lsblk or multipath -ll would name it"
        yield RULE.not_applicable(reason, missing=("topology",))
    for top, paths in maps:
        found = _slowest(top, paths, limits)
        if isinstance(found, _Slow):
            yield _finding(found, limits)
        else:
            status, reason = found
            yield Outcome(RULE.id, status, tuple(path.name for path in paths), reason)


def _is_multipath(top: DeviceSeries) -> bool:
    if top.device is None:
        return False
    names = (top.name, *top.device.aliases)
    return "multipath" in (top.device.kind, top.device.level) or any(map(_NAME.fullmatch, names))


def _is_inferred(top: DeviceSeries) -> bool:
    return top.device is not None and top.device.provenance.get("members", "").startswith("inferred")


def _slowest(
    top: DeviceSeries, paths: tuple[DeviceSeries, ...], limits: Limits
) -> _Slow | tuple[Literal["clear", "undetermined"], str]:
    """The slowest of a map's paths beside the fastest; else the outcome and why."""
    paths = tuple(path for path in paths if len(path.loaded))
    if len(paths) < 2:
        return "undetermined", "fewer than two of its paths carry requests: the others stand by"
    parts = side_by_side(paths)
    used = np.all([~rows["is_idle"] for rows in parts], axis=0)
    if not used.any():
        return "undetermined", "its paths were not seen to carry requests at the same time"
    parts = [rows[used] for rows in parts]
    latency = [weighted.mean(rows, "latency_ms") for rows in parts]
    if np.isnan(latency).any():
        return "undetermined", "no latency of its paths is printed"
    slow, fast = int(np.argmax(latency)), int(np.argmin(latency))
    one = _Slow(top, paths[slow], paths[fast], parts[slow], parts[fast], int(used.sum()))
    if one.times < limits.ratio or latency[slow] - latency[fast] < limits.added_ms:
        return "clear", "no path takes much longer than another"
    if not _are_like(one, limits.share / 100):
        return "undetermined", "a path is slower, but carries less, or requests of another size"
    if one.least_times < limits.ratio:
        return "undetermined", "a path is slower, but over too few requests; capture for longer"
    return one


def _are_like(found: _Slow, share: float) -> bool:
    """Whether the slow path carries this share of what the fast one does at least, of like size."""
    sizes = [weighted.ratio(rows, "kb_per_s", "ios_per_s") for rows in (found.slow_rows, found.fast_rows)]
    has_size = not np.isnan(sizes).any() and min(sizes) > 0
    return found.share >= share and (not has_size or max(sizes) <= _LIKE_SIZE * min(sizes))


def _finding(found: _Slow, limits: Limits) -> Finding:
    slow_ms = weighted.mean(found.slow_rows, "latency_ms")
    fast_ms = weighted.mean(found.fast_rows, "latency_ms")
    requests = min(float(events_per_sample(rows).sum()) for rows in (found.slow_rows, found.fast_rows))
    aliases = found.top.device.aliases if found.top.device else ()
    called = next(filter(_NAME.fullmatch, aliases), "")
    values: Values = {
        "slow": found.slow.name,
        "fast": found.fast.name,
        "top": found.top.name + (f" ({called})" if called else ""),
        "slow_ms": slow_ms,
        "fast_ms": fast_ms,
        "took": duration(slow_ms),
        "took_fast": duration(fast_ms),
        "times": found.times,
        "slow_rate": weighted.mean(found.slow_rows, "ios_per_s"),
        "fast_rate": weighted.mean(found.fast_rows, "ios_per_s"),
        "share": 100 * found.share,
        "shown": found.shown,
        "of": len(found.slow.samples),
    }
    often = in_samples(len(found.slow.samples), "shown", "of")
    return RULE.finding(
        severity="warning" if slow_ms - fast_ms >= limits.warning_ms else "notice",
        confidence="high" if requests >= _CERTAIN_REQUESTS and not _is_inferred(found.top) else "medium",
        peers=(found.fast.name,),
        **device_fields(found.slow_rows, found.slow.name),
        summary=say(
            "Path {slow} of {top} takes {took} per request, {times:.3g} times as long as path {fast} "
            "({took_fast}), and gets {share:.0f} % as many requests " + often + ": every request on path "
            "{slow} waits.",
            values,
        ),
        evidence=tuple(_evidence(found, values)),
        refutes=("a path to a controller that is not the preferred one (ALUA), which is slower by design",),
        cannot_know=("whether the cable, the port, the switch or the controller is slow",),
        remedy=(
            "Look at its port, cable and switch for errors; compare with the other ports of the array.",
            "Where every path that is left is healthy by multipath -ll, take the slow one out, and see the "
            f"latency fall: `multipathd fail path {found.slow.name}`. Until it is back ("
            f"`multipathd reinstate path {found.slow.name}`) there is one path less to fail over to.",
            'Let the selector look at the time that paths take: path_selector "service-time 0".',
        ),
        confirm=(
            f"multipath -ll {found.top.name}",
            f"iostat -xt {found.top.name} {found.slow.name} {found.fast.name} 1 30",
            f"dmsetup table {mapper_path(found.top.name)}",
        ),
    )


def _evidence(found: _Slow, values: Values) -> Iterator[Evidence]:
    text = "{slow}: {slow_rate:.1f} requests/s took {slow_ms:.3g} ms each"
    yield cite(found.slow_rows, text, values, worst="latency_ms")
    yield cite(found.fast_rows, "{fast}: {fast_rate:.1f} requests/s took {fast_ms:.3g} ms each", values)
    if len(found.top.loaded):
        top_ms = weighted.mean(found.top.loaded, "latency_ms")
        yield cite(
            found.top.loaded, "{top} as a whole took {ms:.3g} ms", {"top": found.top.name, "ms": top_ms}
        )
    if _is_inferred(found.top):
        text = "no input names the paths of {top}: these are the disks whose bytes add up to its own"
        yield cite(found.slow_rows, text, values, weighs="against")


RULE = Rule(
    id="path-imbalance",
    explains=(*SYMPTOMS_AND_SATURATION, "hung-io", "latency-above-baseline", "volume-cap"),
    replaces=("slow-member", "layer-added-latency", "low-concurrency-bound"),
    title="One path to a multipath device is slow",
    why="Requests are dealt out evenly, so that every n-th waits for the slow path.",
    remedy=("Take the slow path out, or let the selector look at the time that paths take.",),
    needs=Needs(one_of=({"disk": ("ios_per_s|reads_per_s", "await_ms|read_await_ms|queue_depth")},)),
    thresholds={
        "ratio": Threshold(3, "x", "latency, slowest path over fastest", "paths of one kind are alike"),
        "added_ms": Threshold(1, "ms", "longer per request", "below, it costs nobody anything"),
        "share": Threshold(50, "%", "requests of the slow path over the fast one's", "round-robin gives 100"),
        "warning_ms": Threshold(5, "ms", "longer per request that somebody pays for", "a seek of a disk"),
    },
    confirm=("multipath -ll", "dmsetup table"),
    references=("https://docs.kernel.org/admin-guide/device-mapper/index.html",),
    pictures=("stack",),
    to_clear=ToClear(samples=1, requests=100, columns=("await_ms|read_await_ms|write_await_ms",)),
    detect=detect,
)
