"""What fio measured on a device, held against its load: which benchmark is the load, and its own queue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from iodiag.analysis.load.queueing import DirectionLoad, Level
from iodiag.analysis.measure.evidence import cite_fact
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.capture import Fact
from iodiag.model.finding import Evidence


def benchmarks_of(view: View, series: DeviceSeries, level: Level) -> list[Fact]:
    """What fio measured on a device of which it holds most of the requests, by its rate times its latency.

    Where it names no device, on the one that holds as many and is as fast.
    """
    return [
        fact
        for fact in view.facts_of("fio")
        if (
            view.topology.canonical(name) == series.name and 2 * _held(fact) >= level.depth
            if (name := fact.word("device"))
            else is_all_of(fact, level) and NEARLY_ALL * _held(fact) <= level.depth
        )
    ]


def is_all_of(benchmark: Fact, level: Level) -> bool:
    """Whether fio's own requests are nearly all that is in flight, and all that is completed."""
    is_as_fast = abs(level.rate / benchmark.number("iops") - 1) <= AS_FAST
    return is_as_fast and _held(benchmark) >= NEARLY_ALL * level.depth


NEARLY_ALL, AS_FAST = 0.9, 0.05
"""Share of what is in flight, and how far rates may be apart, of a run that began before the samples."""


def _held(fact: Fact) -> float:
    return fact.number("iops") * fact.number("latency_ms") / 1000


def is_direct(fact: Fact) -> bool:
    """Whether nothing that it writes goes through the page cache; libaio is asynchronous only so."""
    return fact.word("ioengine") == "libaio" or fact.number("direct") == 1


def own_queue(benchmarks: Sequence[Fact], said: DirectionLoad) -> Iterator[Evidence]:
    """That the queue is a load generator's own, and that its rate over a minute and more is as here."""
    for fact in benchmarks:
        own, rate = replace(fact, values={**fact.values, "held": _held(fact)}), said.rate
        text = "fio keeps {held:.0f} requests in flight by itself: the latency is that of its own queue"
        yield cite_fact(own, text, weighs="context")
        is_same = abs(rate / fact.number("iops") - 1) <= _SAME_RATE
        if is_same and fact.word("direction") + "s" == said.direction and fact.number("duration_s") >= 60:
            own = replace(fact, values={**fact.values, "rate": rate})
            text = "fio got {iops:.0f}/s on average over {duration_s:.0f} s, as many as the samples show "
            text += "({rate:.0f}/s): a flat rate, as a limit of the volume or a full device makes it"
            yield cite_fact(own, text, weighs="context")


_SAME_RATE = 0.03
"""How far the mean of a long run may be from some samples of a flat rate, as volume-cap has it."""
