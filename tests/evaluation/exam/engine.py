"""A discrete-event machine: requests pass through block devices down to stations that serve them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random
from typing import Literal

Done = Callable[[], None]
Kind = Literal["read", "write", "discard"]


@dataclass(frozen=True, slots=True)
class Request:
    """What one caller asks for.

    `place` is where on the device it is, 0 to 1; `follows` marks the continuation of a stream; `is_synced`
    a write that has to be on stable storage before it completes; `merges` counts the smaller requests that
    the block layer joined into it.
    """

    kind: Kind
    size_kb: float
    place: float = 0.0
    follows: bool = False
    is_synced: bool = False
    merges: int = 0


Submit = Callable[[Request, Done], None]
"""Starts a request and calls the second argument when it is complete."""


class Clock:
    """Simulated seconds, and what is due when."""

    def __init__(self) -> None:
        self.now = 0.0
        self.stations: list[Station] = []
        self._due: list[tuple[float, int, Done]] = []
        self._count = 0

    def at(self, moment: float, action: Done) -> None:
        self._count += 1
        heappush(self._due, (moment, self._count, action))

    def after(self, seconds: float, action: Done) -> None:
        self.at(self.now + seconds, action)

    def run(self, until: float) -> None:
        due = self._due
        while due and due[0][0] <= until:
            self.now, _, action = heappop(due)
            action()
        self.now = until


class Station:
    """Equal servers, first come, first served. `service` maps a request and the number waiting to seconds.

    `served` and `waited` add up the seconds that requests spent so.
    """

    def __init__(self, clock: Clock, servers: int, service: Callable[[Request, int], float]) -> None:
        self._clock, self._free, self._service = clock, servers, service
        self._waiting: deque[tuple[Request, Done, float]] = deque()
        self.servers, self.served, self.waited = servers, 0.0, 0.0
        clock.stations.append(self)

    def submit(self, request: Request, done: Done) -> None:
        if self._free:
            self._free -= 1
            self._start(request, done)
        else:
            self._waiting.append((request, done, self._clock.now))

    def _start(self, request: Request, done: Done) -> None:
        seconds = self._service(request, len(self._waiting))
        if math.isinf(seconds):
            return  # never completes, and keeps its server
        self.served += seconds
        self._clock.after(seconds, lambda: self._finish(done))

    def _finish(self, done: Done) -> None:
        if self._waiting:
            request, then, since = self._waiting.popleft()
            self.waited += self._clock.now - since
            self._start(request, then)
        else:
            self._free += 1
        done()


def delay(clock: Clock, seconds: Callable[[Request], float]) -> Submit:
    """As many servers as there are requests."""
    return lambda request, done: clock.after(seconds(request), done)


def through(first: Submit, second: Submit) -> Submit:
    """One stage after the other."""
    return lambda request, done: first(request, lambda: second(request, done))


@dataclass
class Log:
    """When something began and ended; what has not ended yet ends at infinity."""

    begun: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    def begin(self, moment: float) -> int:
        self.begun.append(moment)
        self.ended.append(math.inf)
        return len(self.begun) - 1


class Device:
    """A block device: it passes requests on to what is below it, and logs each from start to completion."""

    def __init__(self, clock: Clock, name: str, below: Submit) -> None:
        self.name, self.log = name, Log()
        self._clock, self._below = clock, below

    def submit(self, request: Request, done: Done) -> None:
        number = self.log.begin(self._clock.now)
        self.log.requests.append(request)

        def finish() -> None:
            self.log.ended[number] = self._clock.now
            done()

        self._below(request, finish)


def on_all(targets: Sequence[Device], request: Request, done: Done) -> None:
    """The same request to several devices; complete when the last one is."""
    left = len(targets)

    def finish() -> None:
        nonlocal left
        left -= 1
        if not left:
            done()

    for target in targets:
        target.submit(request, finish)


def stripe(members: Sequence[Device], copies: int, rng: Random) -> Submit:
    """RAID 0 (one copy), 1 (as many copies as members) or 10: a read goes to one copy, a write to all."""
    sets = [members[n : n + copies] for n in range(0, len(members), copies)]

    def submit(request: Request, done: Done) -> None:
        chosen = sets[rng.randrange(len(sets))]
        if request.kind == "read":
            chosen[rng.randrange(copies)].submit(request, done)
        else:
            on_all(chosen, request, done)

    return submit


def parity(members: Sequence[Device], parities: int, rng: Random) -> Submit:
    """RAID 5 or 6 under small requests: a write reads the old data and parity, then writes both."""

    def submit(request: Request, done: Done) -> None:
        chosen = rng.sample(members, 1 + parities)
        if request.kind == "read":
            chosen[0].submit(request, done)
            return
        old = Request("read", request.size_kb, request.place)
        on_all(chosen, old, lambda: on_all(chosen, request, done))

    return submit
