"""Who asks for I/O: tasks that wait for each request, arrivals at random, writeback, group commit."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from evaluation.exam.engine import Clock, Done, Kind, Log, Request, Submit

Draw = Callable[[], Request]


def at_random(
    rng: Random,
    *,
    reads: float = 1.0,
    sizes: tuple[float, ...] = (4.0,),
    span: float = 1.0,
    synced: bool = False,
) -> Draw:
    """Requests anywhere within a part of the device; `reads` is the share of reads."""
    begin = rng.uniform(0, 1 - span)

    def draw() -> Request:
        kind: Kind = "read" if rng.random() < reads else "write"
        size = sizes[0] if len(sizes) == 1 else rng.choice(sizes)
        return Request(kind, size, begin + span * rng.random(), is_synced=synced and kind == "write")

    return draw


def in_sequence(kind: Kind, size_kb: float, merges: int = 0) -> Draw:
    """A stream: each request continues the one before."""
    request = Request(kind, size_kb, 0.3, follows=True, merges=merges)
    return lambda: request


def written_back(rng: Random, size_kb: float) -> Draw:
    """Dirty pages: runs of a few pages here and there, joined by the block layer."""

    def draw() -> Request:
        pages = max(1, round(rng.expovariate(4 / size_kb)))
        return Request("write", 4.0 * pages, rng.random(), merges=pages - 1)

    return draw


def closed(
    clock: Clock,
    target: Submit,
    clients: int,
    draw: Draw,
    *,
    think: Callable[[], float] | None = None,
    waiters: Log | None = None,
    start: float = 0.0,
    stop: float = math.inf,
) -> None:
    """Clients that wait for their request, think, and ask again; `waiters` logs that they are blocked."""

    def begin() -> None:
        if clock.now >= stop:
            return
        number = waiters.begin(clock.now) if waiters is not None else -1

        def end() -> None:
            if waiters is not None:
                waiters.ended[number] = clock.now
            clock.after(think() if think else 1e-6, begin)

        target(draw(), end)

    for client in range(clients):
        clock.at(start + 1e-4 * client, begin)


def opened(
    clock: Clock,
    rng: Random,
    target: Submit,
    per_s: float,
    draw: Draw,
    waiters: Log | None = None,
    spread: float = 0.2,
) -> None:
    """Arrivals at random, whatever is still in flight; the rate itself changes every second."""
    factors: dict[int, float] = {}

    def arrive() -> None:
        number = waiters.begin(clock.now) if waiters is not None else -1

        def end() -> None:
            if waiters is not None:
                waiters.ended[number] = clock.now

        target(draw(), end)
        second = int(clock.now)
        if second not in factors:
            factors[second] = rng.lognormvariate(0, spread)
        clock.after(rng.expovariate(per_s * factors[second]), arrive)

    clock.at(rng.expovariate(per_s), arrive)


def paced(
    clock: Clock, rng: Random, target: Submit, per_s: float, draw: Draw, waiters: Log | None = None
) -> None:
    """Arrivals at a steady pace, as of a client that limits itself: `per_s` of them, hardly a jitter."""
    count = 0

    def arrive() -> None:
        nonlocal count
        number = waiters.begin(clock.now) if waiters is not None else -1

        def end() -> None:
            if waiters is not None:
                waiters.ended[number] = clock.now

        target(draw(), end)
        count += 1
        clock.at((count + 0.5 * rng.random()) / per_s, arrive)

    clock.at(0.0, arrive)


def bursts(clock: Clock, rng: Random, target: Submit, every_s: float, most: int, draw: Draw) -> None:
    """Up to `most` requests at once every few seconds, for which nobody waits."""

    def begin() -> None:
        for _ in range(rng.randint(most // 4, most)):
            target(draw(), lambda: None)
        clock.after(every_s, begin)

    clock.at(rng.random() * every_s, begin)


def group_commit(
    clock: Clock, rng: Random, target: Submit, sessions: int, think_s: float, record_kb: float, waiters: Log
) -> None:
    """Sessions whose commits share a log: one write at a time carries all that wait."""
    waiting: list[tuple[int, Done]] = []
    is_writing = False

    def write() -> None:
        nonlocal is_writing, waiting
        if not waiting:
            is_writing = False
            return
        is_writing, group, waiting = True, waiting, []

        def end() -> None:
            for number, again in group:
                waiters.ended[number] = clock.now
                clock.after(rng.expovariate(1 / think_s), again)
            write()

        size = 4.0 * math.ceil(len(group) * record_kb / 4)
        target(Request("write", size, 0.4, is_synced=True), end)

    def commit() -> None:
        waiting.append((waiters.begin(clock.now), commit))
        if not is_writing:
            write()

    for _ in range(sessions):
        clock.at(rng.random() * think_s, commit)
