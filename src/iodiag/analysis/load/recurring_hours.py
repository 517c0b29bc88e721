"""Hours of the day or of the week that stand out again and again, from what a device did hour by hour.

Means are by hours since a Monday, NaN where an hour is not known. An hour stands out by its ratio to what
half of the hours show. How many windows agree by chance: an hour stands out on k of n days with the binomial
tail P(X ≥ k) of the share of all hours that stand out, times all windows of this length that were looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.model.rule import Limits
from iodiag.table.table import Floats, Mask

DAY, WEEK = 24, 168
MONDAY = np.datetime64("1970-01-05", "h").astype(np.int64)
WEEKDAYS = ("Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays", "Sundays")
LATENCY = "latency_ms"


class Hours(NamedTuple):
    """One column of a device by hours since a Monday, whole weeks of them."""

    device: str
    column: str
    means: Floats
    usual: float
    stands_out: Mask

    @property
    def is_latency(self) -> bool:
        """Whether it is how long requests take, and not what is moved."""
        return self.column.endswith(LATENCY)


class Window(NamedTuple):
    """Hours of the day or week (`slots`, in a row) that stand out on `seen` of `of` days or weeks."""

    hours: Hours
    period: int
    slots: tuple[int, ...]
    seen: int
    of: int
    chance: float

    @property
    def places(self) -> npt.NDArray[np.int64]:
        """The hours that stand out, since the Monday."""
        return np.flatnonzero(
            self.hours.stands_out & np.isin(np.arange(len(self.hours.means)) % self.period, self.slots)
        )

    @property
    def value(self) -> float:
        """The mean over the hours that stand out."""
        return float(self.hours.means[self.places].mean())

    @property
    def span(self) -> tuple[str, str]:
        """Where it begins and ends on the clock."""
        begin, end = (slot % DAY for slot in (self.slots[0], self.slots[-1] + 1))
        return f"{begin:02}:00", f"{end:02}:00"

    @property
    def days(self) -> str:
        """What its days are called."""
        return "days" if self.period == DAY else WEEKDAYS[self.slots[0] // DAY]


IsFelt = Callable[[Hours, float], bool]
"""Whether so many ms more are a cost to whoever waits for the device."""


def hours_of(device: str, column: str, means: Floats, ratio: float, step: float) -> Hours:
    """The hours that stand out: `ratio` times what half of them show, and `step` more."""
    usual = float(np.nanmedian(means))
    return Hours(device, column, means, usual, means >= max(ratio * usual, usual + step))


def windows(looked: Iterable[Hours], limits: Limits, is_felt: IsFelt) -> list[list[Window]]:
    """The windows of a host's devices, those that share an hour together; what moves most stands first."""
    told = [hours for hours in looked if hours.stands_out.any()]
    groups: list[list[Window]] = []
    for period in (DAY, WEEK):
        daily = {(w.hours.device, slot % DAY) for group in groups for w in group for slot in w.slots}
        found = [w for hours in told for w in _recurring(hours, period, limits, len(told), is_felt)]
        for window in sorted(found, key=lambda w: (w.hours.is_latency, -w.value)):
            if daily & {(window.hours.device, slot % DAY) for slot in window.slots}:
                continue  # a day of a daily window
            same = (g for g in groups if g[0].period == period and {*g[0].slots} & {*window.slots})
            group = next(same, None)
            groups.append([window]) if group is None else group.append(window)
    return groups


def _recurring(hours: Hours, period: int, limits: Limits, looked: int, is_felt: IsFelt) -> Iterator[Window]:
    """Hours in a row that stand out again and again, not by chance, with a step on either side."""
    cells = hours.means.reshape(-1, period)
    of = np.isfinite(cells).sum(axis=0)
    count = hours.stands_out.reshape(-1, period).sum(axis=0)
    again = (of >= limits.times) & (count >= limits.share / 100 * of)
    share = float(hours.stands_out.sum() / np.isfinite(hours.means).sum())
    for slots in _runs(np.flatnonzero(again), period):
        inside = float(np.nanmedian(cells[:, slots]))
        sides = cells[:, [(slots[0] - 1) % period, (slots[-1] + 1) % period]]
        is_edge = [np.nanmedian(side) <= inside / 2 for side in sides.T if np.isfinite(side).any()]
        is_felt_there = not hours.is_latency or is_felt(hours, inside - hours.usual)
        if len(slots) > limits.longest or not all(is_edge) or not is_felt_there:
            continue
        best = max(slots, key=lambda slot: (count[slot] / of[slot], of[slot]))
        k, n = int(count[best]), int(of[best])
        chance = _tail(k, n, share) * looked * period / len(slots)
        if chance <= limits.chance:
            yield Window(hours, period, slots, k, n, chance)


def _tail(k: int, n: int, share: float) -> float:
    """P(X ≥ k) of n trials; in logarithms, as the coefficients of years are beyond any float."""
    if share >= 1:
        return 1.0
    no, yes = math.log1p(-share), math.log(share)
    return sum(math.exp(math.log(math.comb(n, i)) + i * yes + (n - i) * no) for i in range(k, n + 1))


def _runs(slots: npt.NDArray[np.int64], period: int) -> list[tuple[int, ...]]:
    """Hours in a row, the last of the day (week) being followed by the first."""
    runs = [tuple(map(int, run)) for run in np.split(slots, np.flatnonzero(np.diff(slots) > 1) + 1)]
    if len(runs) > 1 and runs[0][0] == 0 and runs[-1][-1] == period - 1:
        runs[0] = runs.pop() + runs[0]
    return [run for run in runs if run]
