"""What is said of a device without a busy load level."""

from __future__ import annotations

from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.states.service_times import CALM, usual_ms
from iodiag.analysis.states.states import State, contradicts, queue_by_direction, states
from iodiag.analysis.view.view import DeviceSeries
from iodiag.model.finding import Outcome
from iodiag.model.rule import Limits


def not_busy(rule: str, series: DeviceSeries, limits: Limits) -> Outcome:
    """What a rule says of a device without a busy load level: util alone clears nothing."""
    reason = UNTIMED if series.is_untimed else ""
    if not reason and (series.samples.floats("util") >= limits.busy_util / 100).any():
        reason = "busy at times, but nothing that completed then tells of its limit"
    if not reason and series.samples.has("held_besides"):
        reason = "its busy share holds a request that never completes, or a counter that leaked"
    reason = reason or next((said for state in states(series) if (said := _contradicted(series, state))), "")
    if reason:
        return Outcome(rule, "undetermined", (series.name,), reason)
    return Outcome(
        rule, "clear", (series.name,), f"never {limits.busy_util:.0f} % busy, nor a queue while it was"
    )


def _contradicted(series: DeviceSeries, state: State) -> str:
    """Why a state in which a device was seldom busy does not show that it kept up; empty where it does."""
    if contradicts(state):
        return "rate times latency makes more requests in flight than its counters of the queue show"
    values: Values = {"util": 100 * state.util}
    if state.mean("doubtful_util_pct") >= 0:
        return say(
            "how long its requests wait refutes its %util: it is busy {util:.0f} % at the least", values
        )
    text = (
        "{util:.0f} % busy, yet {at_once:.1f} {what}in flight whenever it was, {latency:.0f} ms each: bursts "
    )
    text += "shorter than a sample; iostat -xt 1 would show them"
    is_slow = state.latency_ms > CALM * usual_ms(series, state.size_kb, state.rate)
    if is_slow and state.at_once >= BURST and state.requests >= BURST:
        return say(text, values | {"at_once": state.at_once, "what": "", "latency": state.latency_ms})
    # the mean hides what one direction waits beside many quick requests of the other
    for way, at_once, requests, wait, usual in queue_by_direction(series, state):
        if requests >= BURST and at_once >= BURST and wait > CALM * usual:
            return say(text, values | {"at_once": at_once, "what": f"{way}s ", "latency": wait})
    return ""


BURST = 8.0
"""Requests in flight whenever a device is busy, from which they come in bursts."""

UNTIMED = "its latency and busy time are printed as 0: not recorded, or less than the last digit"
