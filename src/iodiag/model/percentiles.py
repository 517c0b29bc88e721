"""How long single requests took, as tracers measure it: names of values in facts, and how to say them.

Times are in ms. Where `p99_from_ms` stands beside `p99_ms` the percentile is known as a bucket of a
histogram, from the one to the other.
"""

from __future__ import annotations

from collections.abc import Mapping

LATENCY_FACTS = ("biolatency", "biosnoop", "btt", "fio")
"""Kinds of facts that hold such values."""

SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
"""The percentiles, by the beginnings of their names."""

_SHOWN = {"p50": "p50", "p99": "p99", "p999": "p99.9", "max": "slowest"}
_STEPS = {"whole": "from request to completion", "kernel": "in the kernel", "device": "on the device"}


def percentiles(values: Mapping[str, float | str | None]) -> str:
    """The percentiles and the slowest in words: `p50 at most 2.05 ms, p99 at most 16.4 ms`."""
    said = []
    for name, shown in _SHOWN.items():
        if isinstance(latency := values.get(f"{name}_ms"), int | float):
            said.append(f"{shown} {'at most ' if f'{name}_from_ms' in values else ''}{duration(latency)}")
    return ", ".join(said)


def sentence(kind: str, values: Mapping[str, float | str | None], of: str = "") -> str:
    """What a tracer measured; `of` is what the device is called, with its preposition."""
    count, mean = values.get("requests"), values.get("mean_ms")
    what = f"{count:.0f} request{'s' if count != 1 else ''}" if isinstance(count, int | float) else "requests"
    what += f" ({values['requests_of']})" if values.get("requests_of") else ""
    what += of
    what += f", {values['span']}" if values.get("span") else ""
    said = [f"mean {duration(mean)}"] if isinstance(mean, int | float) else []
    for step, name in _STEPS.items():
        if isinstance(mean := values.get(f"{step}_mean_ms"), int | float):
            longest = values.get(f"{step}_most_ms")
            until = f" (slowest {duration(longest)})" if isinstance(longest, int | float) else ""
            said.append(f"mean {name} {duration(mean)}{until}")
    said += [told] if (told := percentiles(values)) else []
    return f"{kind} timed {what}: {', '.join(said)}"


def duration(latency: float) -> str:
    """A time in ms with three digits, without an exponent."""
    return f"{latency:.3g} ms" if latency < 1000 else f"{latency:.0f} ms"
