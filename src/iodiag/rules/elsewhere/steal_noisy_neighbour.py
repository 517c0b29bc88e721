"""The hypervisor withholds CPU time.

What it detects: steal of 5 % and more (possible), of 10 % and more (likely; a cost where
the CPUs are never idle), of 20 % and more where that is a third of the time that tasks want, and of 30 % and
more (a cost by itself).

Why it matters: a guest that does not run cannot see its I/O complete; latencies measured in it hold
CPU wait, and its disks look slower than they are.

When it is wrong: steal is counted only while a task wants to run, and many hypervisors and
containers never report it: none is no proof of health. A step to steady steal on a burstable
instance is its CPU credits running out, not a neighbour.

References: proc_stat(5) on steal; public alerting rules that use 10 %.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from iodiag.analysis.array.side_by_side import paired
from iodiag.analysis.host.cpu import is_impossible
from iodiag.analysis.host.who_waits import by_device, rows_at
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.correlation import spearman
from iodiag.analysis.measure.evidence import Values, cite, in_samples, say
from iodiag.analysis.measure.grading import confidence, time_fields
from iodiag.analysis.view.view import View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.table.table import Table

LEAST_PAIRS = 8


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """One finding per host."""
    cpu = view.cpu_all
    steal = cpu.floats("steal_pct") if cpu is not None else np.array([])
    is_stolen = np.asarray(steal >= limits.possible)
    if cpu is not None and (is_wrong := is_impossible(cpu)).any():
        is_stolen &= ~is_wrong
        reason = "nearly all time is withheld, yet what is left is idle: the counter of steal is wrong"
        yield RULE.undetermined(reason)
        if not is_stolen.any():
            return
    if cpu is None or not is_stolen.any():
        yield RULE.clear("hardly any CPU time is withheld")
        return
    yield _finding(view, cpu[is_stolen], len(cpu), limits)


def _finding(view: View, rows: Table, samples: int, limits: Limits) -> Finding:
    mean = weighted.mean(rows, "steal_pct", "cpu")
    slowed = list(_slowed(view, rows, limits))
    points = 1 + 2 * (mean >= limits.likely) + (mean >= limits.heavy) + len(slowed)
    sure = confidence(points, at_most="high" if len(rows) >= limits.samples else "medium")
    is_lasting = len(rows) >= limits.share / 100 * samples
    idle, iowait = (
        weighted.or_zero(weighted.mean(rows, f"{name}_pct", "cpu")) for name in ("idle", "iowait")
    )
    # of the time in which a task wants to run
    is_much = mean >= limits.of_wanted / 100 * (100 - idle - iowait)
    is_much &= mean >= limits.much
    is_short = is_much or (mean >= limits.likely and idle <= limits.idle)
    is_harm = sure != "low" and is_lasting and (bool(slowed) or is_short or mean >= limits.heavy)
    often = in_samples(samples)
    values: Values = {"steal": mean, "count": len(rows), "samples": samples}
    values["most"] = float(np.nanmax(rows.floats("steal_pct")))
    summary = f"The hypervisor withholds {{steal:.1f}} % of the CPU, {often}: look there before the storage."
    return RULE.finding(
        severity="warning" if is_harm else "notice",
        confidence=sure,
        **time_fields(rows, of_host=True),
        summary=say(summary, values),
        evidence=(
            cite(
                rows, f"steal is {{steal:.1f}} %, up to {{most:.1f}} % ({often})", values, worst="steal_pct"
            ),
            *slowed,
        ),
        refutes=("the same latencies in samples without steal",),
        cannot_know=("whether a neighbour takes the time, or the instance has used up its CPU credits",),
    )


def _slowed(view: View, rows: Table, limits: Limits) -> Iterator[Evidence]:
    """The busiest device, where its latency rises and falls with steal."""
    cpu, disk = view.cpu_all, rows_at(view, "disk", rows)
    if cpu is None or disk is None or "await_ms" not in disk:
        return
    rates = {name: float(np.nanmean(part.floats("ios_per_s"))) for name, part in by_device(disk)}
    whole = view.series(max(rates, key=lambda name: np.nan_to_num(rates[name], nan=-1.0)))
    if whole is None:
        return
    own, other = paired(whole.samples, cpu)
    pairs = whole.samples[own].with_columns(steal_pct=cpu.floats("steal_pct")[other])
    pairs = pairs[pairs.floats("await_ms") > 0]
    steal = pairs.floats("steal_pct")
    if len(pairs) < LEAST_PAIRS or len(np.unique(steal[~np.isnan(steal)])) < 3:
        return
    correlation = spearman(steal, pairs.floats("await_ms"))
    if correlation >= limits.correlation:
        values: Values = {"device": whole.name, "together": correlation, "pairs": len(pairs)}
        text = "latency of {device} goes with steal: rank correlation {together:.2f} over {pairs} samples"
        yield cite(pairs, text, values, worst="await_ms")


RULE = Rule(
    id="steal-noisy-neighbour",
    role="elsewhere",
    title="The hypervisor withholds CPU time",
    why="Work waits for a CPU that the guest believes to have; its I/O latencies contain that wait.",
    remedy=(
        "Ask for the host's CPU load, or move the guest to another host or to dedicated CPUs.",
        "On burstable instances check the CPU credits.",
        "Judge storage again where steal is low.",
    ),
    needs=Needs(one_of=({"cpu": ("steal_pct",)},)),
    thresholds={
        "possible": Threshold(5, "%", "steal that may matter", "half of the usual alarm"),
        "likely": Threshold(10, "%", "steal that matters", "awesome-prometheus-alerts: steal at 10 %"),
        "heavy": Threshold(30, "%", "steal that is a cost by itself", "judgement: three times the alarm"),
        "much": Threshold(
            20, "%", "steal that is one where it is so much of what is wanted", "twice the alarm"
        ),
        "of_wanted": Threshold(
            33, "%", "of the time that tasks want to run which is a cost", "work takes 1.5 times as long"
        ),
        "idle": Threshold(10, "%", "idle time below which stolen time is missed", "work waits then"),
        "share": Threshold(25, "%", "share of samples that is a lasting cost", "judgement"),
        "samples": Threshold(3, "samples", "how many make it high", "judgement: one is a hiccup"),
        "correlation": Threshold(0.6, "", "rank correlation that ties latency to it", "judgement"),
    },
    confirm=("mpstat -P ALL 1", "vmstat 1"),
    references=("https://man7.org/linux/man-pages/man5/proc_stat.5.html",),
    detect=detect,
)
