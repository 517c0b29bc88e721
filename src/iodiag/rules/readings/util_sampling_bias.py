"""%util is false by tick sampling.

What it detects: samples whose %util exceeds the mean number of requests in flight. A device that is
non-empty for a share U of the time holds at least U requests on average, so U ≤ N for exact
counters. Kernels 5.0 to 6.9 count a whole tick for a request that starts within it, and break this. And
samples of one request at a time whose %util is a third of what another sample of the same rate, latency and
size has, or less, or a third of the mean in flight where that is one in all of three samples and more:
kernels 5.0 to 5.6 miss most of the time of a request that takes several ticks. And two samples in a row, or
more, of a queue whose requests wait on average for twice the time that the device was busy by its %util: it
is busy while it holds one, at the least for as long as they wait. There everything is judged by the number in
flight. On NVMe under kernels 4.17 to 4.20, %util as large as the queue, and five times what all requests
waited: these count requests that are not there, and rate times latency is believed. What is known of the
kernel in the banner is told with its source.

Why it matters: a disk that is nearly idle reads as 60 or 90 % busy, and a busy one as nearly idle.

When it is wrong: equal bursts that come to one request in flight on average in each sample look the same. On
kernels ≥ 5.0 a request is counted in flight in the interval in which it completes, so one that outlives its
interval can make N too small; samples with a latency above a tenth of the interval prove nothing and are left
out, and so is the sample before such a one. So are those in which util exceeds 100 %: there the kernel added
the time of an earlier request. A few per cent are the skew of two clocks.

References: Linux commits 5b18b5a73760 (5.0), 2b8bd423614c (5.7), 99dc422335d8 (6.10); J. Wang 2026 on a race
in update_io_ticks; sysstat issue 187, atop issue 47.
"""

from __future__ import annotations

from collections.abc import Iterator

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import MOST_TOLD, Values, cite, say
from iodiag.analysis.measure.known_counter_bugs import known_bug, of_bug
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.table.table import Floats, Table


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding for all devices with samples in which %util cannot be true, the plainest case first."""
    found: list[tuple[DeviceSeries, Table]] = []
    for series in view.devices:
        rows, is_open = _inflated(series, limits)
        if len(low := _missed(series)):
            yield _too_low(view, series, low)
        elif rows is not None:
            found.append((series, rows))
        elif is_open:
            reason = "%util exceeds the requests in flight, but not in samples that prove it wrong"
            yield RULE.undetermined(reason, series.name)
        else:
            yield RULE.clear("%util hardly ever exceeds the requests in flight", series.name)
    if found:
        yield _finding(view, sorted(found, key=lambda case: -_excess(case[1]).max()))


def _inflated(series: DeviceSeries, limits: Limits) -> tuple[Table | None, bool]:
    """The samples whose util exceeds their depth, if enough of them do, or one does by far.

    And whether as many do of which nothing can be said: the depth is contradicted, or requests outlive them.
    """
    samples, half = series.samples, weighted.half_digit(series.samples)
    util, depth = samples.floats("util_pct") / 100, samples.floats("depth")
    await_ms = samples.floats("await_ms")
    outlives = await_ms > 100 * weighted.seconds_or_one(samples)
    # what completes late in one sample was in flight in the sample before, and not counted there
    outlives[:-1] |= outlives[1:].copy()
    # a depth that rate and latency contradict proves nothing (Little's law)
    counter = samples.floats("queue_depth")
    outlives |= samples.floats("held_besides") > 0  # unless that one is stuck
    outlives |= counter < 0.5 * samples.floats("ios_per_s") * await_ms / 1000 - half
    most = (1 + limits.least_excess / 100) * (depth + half)
    beyond = (util - half / 100 > most) & (util >= limits.least_util / 100)
    beyond &= (samples.floats("ios_per_s") > 0) & (util <= limits.most_util / 100)
    inflated = beyond & ~outlives
    rows = samples[inflated]
    by_far = bool((util > 2 * (depth + half))[inflated].any())
    is_seen = len(rows) >= limits.least_samples or by_far
    return (rows if is_seen else None), bool(2 * beyond.sum() >= len(samples))


def _missed(series: DeviceSeries) -> Table:
    """The samples whose busy share was taken from the number in flight, as %util is too low."""
    samples = series.samples
    return samples[samples.floats("util") > samples.floats("util_pct") / 100 + weighted.half_digit(samples)]


def _too_low(view: View, series: DeviceSeries, rows: Table) -> Finding:
    is_queue = bool((rows.floats("doubtful_util_pct") >= 0).all())
    text = "{device} shows {util} % util with {depth} requests in flight, one at a time, "
    text += (
        "where another sample of the same rate, latency and size shows three times as much and more"
        if len(rows) < len(series.loaded)
        else "in each sample with I/O"
    )
    text += ": it was busy {busy} % of the time"
    if is_queue:
        text = "{device} shows {util} % util with {depth} requests in flight that take {latency} ms each: it "
        text += "was busy {busy:.0f} % of the time at the least"
    values = _values(series, rows, is_queue)
    return RULE.finding(
        severity="info",
        confidence="medium",
        devices=(series.name,),
        samples=(int(rows["sample"].min()), int(rows["sample"].max())),
        title="%util misses most of the time of its requests",
        summary=say(text + ", {count} of {all} samples.", values),
        evidence=(
            cite(rows, text, values, worst="depth"),
            *of_bug(known_bug(view.kernel, "util_pct", "too low"), view.kernel, view.kernel_origin),
        ),
        refutes=() if is_queue else ("a kernel older than v5.0 or newer than v5.6",),
    )


def _excess(rows: Table) -> Floats:
    return rows.floats("util_pct") / 100 - rows.floats("depth")


def _finding(view: View, found: list[tuple[DeviceSeries, Table]]) -> Finding:
    text = (
        "{device}: %util is beyond what the requests in flight allow in {count} of {all} samples; the worst "
        "shows {util} % at {depth} in flight, which is {busy} % at the most"
    )
    first, rows = found[0]
    bug = known_bug(view.kernel, "util_pct", "too high")
    by = " by rate times latency (its queue, printed as {queue}, is as wrong)" * _is_phantom(rows)
    return RULE.finding(
        severity="info",
        confidence="high",
        devices=tuple(series.name for series, _ in found),
        samples=(int(rows["sample"].min()), int(rows["sample"].max())),
        summary=say(
            f"{{device}} shows {{util}} % util with {{depth}} requests in flight{by}: it cannot have been "
            "busy more than {busy} % of the time.",
            _values(first, rows),
        ),
        evidence=(
            *(cite(own, text, _values(series, own), worst="util_pct") for series, own in found[:MOST_TOLD]),
            *of_bug(bug, view.kernel, view.kernel_origin),
        ),
        references=(*RULE.references, *([bug.source] if bug else [])),
        refutes=("a kernel before v4.17, whose %util is exact",),
    )


def _is_phantom(rows: Table) -> bool:
    """Whether the worst sample's number in flight is of its latency: its queue counts what is not there."""
    return bool(rows.floats("doubtful_util_pct")[int(_excess(rows).argmax())] >= 0)


def _values(series: DeviceSeries, rows: Table, is_queue: bool = False) -> Values:
    worst = int(_excess(rows).argmax())
    return {
        "device": series.name,
        "util": float(rows["util_pct"][worst]),
        "depth": float(rows["depth"][worst]),
        "queue": float(rows["queue_depth"][worst]),
        "latency": float(rows["latency_ms"][worst]),
        "busy": 100 * float(rows["util"][worst] if is_queue else rows["depth"][worst]),
        "count": len(rows),
        "all": len(series.samples),
    }


RULE = Rule(
    id="util-sampling-bias",
    role="reading",
    title="%util is inflated by the kernel's tick sampling",
    why="An almost idle device reads as busy, and every conclusion from %util is void.",
    remedy=(
        "Ignore %util on this host; judge by latency and requests in flight.",
        "Kernel 6.10 counts ticks exactly again, but may add idle time where two requests begin at once.",
    ),
    needs=Needs(one_of=({"disk": ("util_pct", "queue_depth", "ios_per_s")},)),
    thresholds={
        "least_util": Threshold(5, "%", "below this a difference is rounding", "judgement: printed digits"),
        "least_excess": Threshold(
            10,
            "%",
            "excess of util over the depth",
            "judgement: clocks of ticks and of requests differ by less",
        ),
        "most_util": Threshold(
            102,
            "%",
            "util up to which ticks explain it",
            "ticks count at most every tick; more is added time",
        ),
        "least_samples": Threshold(
            2, "samples", "samples that prove it", "logic alone; two guard against a misprint"
        ),
    },
    confirm=("uname -r",),
    references=("https://docs.kernel.org/admin-guide/iostats.html",),
    to_clear=ToClear(samples=1, requests=20, columns=("util_pct",)),
    detect=detect,
)
