"""Discards (TRIM) hold up other requests.

What it detects: reads or writes that take twice as long in samples with discards as in samples
without, by more than chance; discards that fill a device, as most of what is in flight on it while it is
never idle (a cost where reads or writes wait meanwhile); or discards that themselves take 50 ms and more.

Why it matters: many drives serve discards one at a time and let everything else wait.

When it is wrong: files are deleted while other work goes on, and that work may be the cause. A
thin volume answers discards at once, and its cost comes later. Before Linux 4.18 discards are not
counted apart.

References: fstrim(8); Documentation/ABI/stable/sysfs-block, discard_max_bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values, cite, in_samples, say
from iodiag.analysis.measure.grading import confidence, device_fields
from iodiag.analysis.states.service_times import is_felt, relative_error
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Finding, Outcome, Severity
from iodiag.model.rule import Limits, Needs, Rule, Threshold
from iodiag.model.units import KB_PER_MB
from iodiag.rules.precedence import SYMPTOMS_AND_SATURATION
from iodiag.table.table import Floats, Mask, Table

DRAWS = 2000
SEED = 0


class Contrast(NamedTuple):
    """Latency of one direction with discards and without, and the chance of so large a ratio."""

    direction: str
    within: float
    without: float
    chance: float

    @property
    def ratio(self) -> float:
        """How many times as long it takes beside discards."""
        return self.within / self.without if self.without > 0 else 0.0


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per device whose discards hold others up, or are slow themselves."""
    for series in view.devices:
        amounts = (series.samples.floats(f"{name}_per_s") for name in ("discards", "discard_kb"))
        discards = np.asarray(np.fmax(*amounts) > 0)
        if discards.any():
            yield _judge(series, discards, limits)
        else:
            yield RULE.clear("nothing was discarded", series.name)


def _judge(series: DeviceSeries, discards: Mask, limits: Limits) -> Finding | Outcome:
    rows, others = series.samples[discards], series.samples[~discards]
    contrasts = [c for direction in ("read", "write") if (c := _contrast(rows, others, direction, limits))]
    worst = max(contrasts, key=lambda contrast: contrast.ratio, default=None)
    held_up = worst is not None and worst.ratio >= limits.ratio and worst.chance < limits.chance
    wait = weighted.mean(rows, "discard_await_ms")
    total = float((rows.floats("discards_per_s") * weighted.lengths(rows)).sum())
    # what few of them take is known less well
    is_slow = wait * (1 - min(relative_error(total), 1)) >= limits.discard_ms
    filled = rows[_is_filled(rows, limits)] if is_slow else rows[:0]
    if not held_up and len(filled):
        return _of_full(series, filled)
    if not held_up and not is_slow:
        if contrasts:
            return RULE.clear("reads and writes take as long beside discards as without them", series.name)
        reason = "too few samples with and without discards to compare; a longer capture would settle it"
        return RULE.undetermined(reason, series.name)
    return _finding(series, rows, worst if held_up else None, wait)


def _contrast(rows: Table, others: Table, direction: str, limits: Limits) -> Contrast | None:
    """The latencies of one direction, and the share of random splits of the samples that do as well."""
    rate, wait = f"{direction}s_per_s", f"{direction}_await_ms"
    sides = [side[(side.floats(rate) > 0) & (side.floats(wait) >= 0)] for side in (rows, others)]
    if any(len(side) < limits.samples for side in sides):
        return None
    within, without = (weighted.mean(side, wait) for side in sides)
    pooled = np.log(np.maximum(np.concatenate([side.floats(wait) for side in sides]), 0.01))
    first = len(sides[0])
    seen = pooled[:first].mean() - pooled[first:].mean()
    random = np.random.default_rng(SEED)
    shuffled = (random.permutation(pooled) for _ in range(DRAWS))
    as_large = sum(draw[:first].mean() - draw[first:].mean() >= seen for draw in shuffled)
    return Contrast(direction, within, without, (as_large + 1) / (DRAWS + 1))


def _held(rows: Table) -> Floats:
    """How many discards are in flight, by their rate and latency."""
    return rows.floats("discards_per_s") * rows.floats("discard_await_ms") / 1000


def _is_filled(rows: Table, limits: Limits) -> Mask:
    """The samples without idle time in which most of what is in flight are discards."""
    is_full = rows.floats("util") >= limits.full / 100
    return np.asarray(is_full & (_held(rows) >= rows.floats("depth") / 2))


def _of_full(series: DeviceSeries, rows: Table) -> Finding:
    held, depth = weighted.mean(rows.with_columns(held=_held(rows)), "held"), weighted.mean(rows, "depth")
    values: Values = {"device": series.name, "count": len(rows), "samples": len(series.samples)}
    values |= {
        "rate": weighted.mean(rows, "discards_per_s"),
        "await": weighted.mean(rows, "discard_await_ms"),
    }
    values |= {"mb": weighted.mean(rows, "discard_kb_per_s") / KB_PER_MB, "held": held, "depth": depth}
    values["util"] = weighted.mean(rows, "util_pct")
    text = "{rate}/s, {mb:.0f} MB/s, take {await:ms} each and are {held} of {depth} requests in flight"
    often = in_samples(len(series.samples))
    others = [
        cite(rows, f"{way}s take up to {{most:ms}} meanwhile", {"most": most}, worst=f"{way}_await_ms")
        for way in ("read", "write")
        if (most := float(np.nan_to_num(rows.floats(f"{way}_await_ms")).max())) > 0
    ]
    # a device that does nothing but discard, as fstrim makes it do at night, holds nobody up
    is_cost = any(is_felt(series, float(item.values["most"])) for item in others)
    return RULE.finding(
        severity="warning" if is_cost else "notice",
        confidence="medium",
        **device_fields(rows, series.name),
        title="Discards fill the device",
        summary=say(
            f"Discards fill {{device}}: {text}; it is {{util:.0f}} % busy, {often}"
            + "".join("; " + item.text for item in others)
            + ".",
            values,
        ),
        evidence=(cite(rows, text, values, worst="discard_await_ms"), *others),
        refutes=("the same latencies while nothing is discarded",),
    )


def _finding(series: DeviceSeries, rows: Table, contrast: Contrast | None, wait: float) -> Finding:
    values: Values = {
        "device": series.name,
        "rate": weighted.mean(rows, "discards_per_s"),
        "amount": weighted.mean(rows, "discard_kb_per_s") / 1024,
        "await": wait,
        "count": len(rows),
    }
    text = "{amount} MB/s are discarded (samples: {count})"
    if wait >= 0:
        text = "{rate} discards/s of {amount} MB/s at {await} ms each (samples: {count})"
    evidence = [cite(rows, text, values, worst="discard_await_ms")]
    summary = "Discards on {device} take {await} ms each."
    if contrast:
        values |= {
            "direction": contrast.direction,
            "within": contrast.within,
            "without": contrast.without,
            "ratio": contrast.ratio,
            "chance": 100 * contrast.chance,
        }
        text = (
            "{direction}s take {within} ms beside discards and {without} ms without them, {ratio:.1f} times "
            "as long; a random split does so in {chance:.2g} % of draws"
        )
        evidence.insert(0, cite(rows, text, values, worst=f"{contrast.direction}_await_ms"))
        summary = "Discards hold up {direction}s on {device}: {within} ms beside them, {without} ms without."
    severity: Severity = "warning" if contrast else "notice"
    if contrast and not is_felt(series, contrast.within - contrast.without):
        severity = "info"
    return RULE.finding(
        severity=severity,
        confidence=confidence(3 if contrast else 2),
        **device_fields(rows, series.name),
        summary=say(summary, values),
        evidence=tuple(evidence),
        refutes=("the same latencies while the file system is mounted without discard",),
        cannot_know=("whether deleting files itself made the reads and writes that took longer",),
    )


RULE = Rule(
    id="discard-stall",
    explains=SYMPTOMS_AND_SATURATION,
    title="Discards hold up other requests",
    why="Reads and writes wait while the drive discards.",
    remedy=(
        "Discard in one go at a quiet time: fstrim.timer instead of the mount option discard.",
        "Let each discard be smaller: /sys/block/DEVICE/queue/discard_max_bytes.",
        "For a new file system: mkfs -K or -E nodiscard.",
    ),
    needs=Needs(
        one_of=({"disk": ("discards_per_s|discard_kb_per_s", "await_ms|read_await_ms|discard_await_ms")},)
    ),
    thresholds={
        "ratio": Threshold(2, "x", "latency beside discards over that without", "judgement: double is felt"),
        "chance": Threshold(0.01, "", "share of random splits that do as well", "the usual 1 % level"),
        "samples": Threshold(
            3, "samples", "with reads or writes on either side", "3 beside 9: one split of 220 does as well"
        ),
        "discard_ms": Threshold(50, "ms", "latency of a slow discard", "judgement: slower than any seek"),
        "full": Threshold(95, "%", "busy time of a device that discards fill", "judgement: no idle time"),
    },
    confirm=("findmnt -O discard", "systemctl list-timers fstrim.timer", "lsblk -D /dev/DEVICE"),
    references=("https://man7.org/linux/man-pages/man8/fstrim.8.html",),
    detect=detect,
)
