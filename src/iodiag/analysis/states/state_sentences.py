"""States as sentences and plain data, for the report."""

from __future__ import annotations

import math

from iodiag.analysis.measure.evidence import Values, say
from iodiag.analysis.states.states import State, states
from iodiag.analysis.view.view import View
from iodiag.model.report import StateSummary


def state_summaries(view: View) -> list[StateSummary]:
    """What each device of a host was doing, its longest state first, without devices that were idle."""
    found = []
    for series in view.devices:
        if any(state.kind != "idle" for state in states(series)):
            found += [_summary(view.host, state, len(series.samples)) for state in states(series)]
    return found


def _summary(host: str | None, state: State, samples: int) -> StateSummary:
    is_idle = state.kind in ("idle", "stuck")
    picked = sorted({0, state.samples // 2, state.samples - 1})
    sources, lines = state.rows["source"], state.rows["line"]
    return StateSummary(
        device=state.device,
        host=host,
        samples=state.samples,
        seconds=_known(state.seconds),
        share_of_time=round(state.share, 4),
        requests=round(state.requests, 1),
        direction=state.kind,
        size_kb=None if is_idle else _known(state.size_kb),
        per_s=_known(state.rate),
        in_flight=_known(state.at_once),
        latency_ms=None if is_idle else _known(state.latency_ms),
        busy_pct=_known(100 * state.util),
        text=text_of(state, samples),
        source=str(sources[0]),
        lines=tuple(int(lines[at]) for at in picked if sources[at] == sources[0]),
    )


def text_of(state: State, samples: int) -> str:
    """A state as an expert says it: how often, what, how many in flight, how long each, how busy."""
    return say(*sentence_of(state, samples))


def sentence_of(state: State, samples: int) -> tuple[str, Values]:
    """The template of that sentence and its values."""
    values: Values = {
        "count": state.samples,
        "all": samples,
        "rate": state.rate,
        "size": state.size_kb,
        "at_once": state.at_once,
        "latency": state.latency_ms,
        "busy": 100 * state.util,
    }
    often = "{count} of {all} samples: " if samples > 1 else ""
    if state.kind == "idle":
        return often + "no I/O", values
    busy = ", {busy:.0f} % busy" if not math.isnan(state.util) else ""
    if state.kind == "stuck":
        return often + "nothing completed, {at_once} in flight" + busy, values
    what = "requests" if state.kind == "reads and writes" else state.kind
    text = often + ("{rate} " + what + "/s" if not math.isnan(state.rate) else what)
    if not math.isnan(state.size_kb):
        text += " of {size:.1f} kB"
    if not math.isnan(state.at_once):
        text += ", {at_once} in flight" + (" while busy" if state.is_busy_known else "")
    if not math.isnan(state.latency_ms):
        text += ", {latency} ms each"
    return text + busy, values


def _known(number: float) -> float | None:
    return None if math.isnan(number) else float(f"{number:.6g}")
