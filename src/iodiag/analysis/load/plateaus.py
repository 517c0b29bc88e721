"""Flat tops: samples in which a rate stays the same, whatever the demand does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from iodiag.analysis.load import rate_limits
from iodiag.analysis.load.queueing import Level, level_of, load_levels
from iodiag.analysis.measure.changepoints import split
from iodiag.analysis.measure.evidence import Values, cite
from iodiag.analysis.measure.quantiles import low_and_high, median
from iodiag.analysis.measure.windows import DENSE, longest_among
from iodiag.analysis.states.states import states
from iodiag.analysis.view.view import DeviceSeries
from iodiag.model.finding import Evidence
from iodiag.model.units import KB_PER_MB
from iodiag.table.table import Floats, Mask, Table, stacked

MOSTLY_BUSY = 0.7
"""Busy share from which a level's rate while busy can be held against a plateau."""


@dataclass(frozen=True)
class Plateau:
    """A flat top: consecutive samples in which one of IOPS and throughput keeps to `rate`.

    `rates` are those of its samples, over all of their time or while busy; `cap` and `round_rate` are the
    published limit and the round number that it is near, in the same quantity.
    """

    rows: Table = field(repr=False)
    quantity: rate_limits.Directed
    rate: float
    rates: Floats = field(repr=False)
    cap: rate_limits.Cap | None
    round_rate: float | None

    @property
    def is_bytes(self) -> bool:
        """Whether throughput is held, not IOPS."""
        return rate_limits.quantity_of(self.quantity) == "kb_per_s"

    @property
    def is_exact(self) -> bool:
        """Whether its rate is a number that limits have, as exactly as a meter keeps to it."""
        return rate_limits.is_exact(self.rate, rate_limits.quantity_of(self.quantity))

    @property
    def is_number(self) -> bool:
        """The same, or as exactly a number of two digits: one rate in eight is by chance."""
        near = self.round_rate is not None and abs(self.rate / self.round_rate - 1) <= rate_limits.EXACT
        return near or self.is_exact

    @property
    def is_step(self) -> bool:
        """Whether the round number is one of the steps in which limits are sold: 100 IOPS, 10 MiB/s."""
        step = 10 * KB_PER_MB if self.is_bytes else 100.0
        return self.round_rate is not None and abs(self.round_rate / step % 1) < 1e-9

    @property
    def extent(self) -> Values:
        """The least and the largest rate of a sample, in `unit`, as values of a template."""
        return {"least": self.in_unit(self.rates.min()), "most": self.in_unit(self.rates.max())}

    @property
    def variation(self) -> float:
        """The coefficient of variation of the rates."""
        return float(self.rates.std() / self.rates.mean())

    @cached_property
    def level(self) -> Level:
        """The load level that its samples make."""
        return level_of(self.rows)

    @property
    def unit(self) -> str:
        """IOPS or MiB/s, of one direction where only that is held."""
        unit = "MiB/s" if self.is_bytes else "IOPS"
        return f"{unit} of {self.way}s" if self.way else unit

    @property
    def way(self) -> str:
        """The direction whose rate it is, "read" or "write"; empty where it is that of both."""
        way = self.quantity.split("_")[0].rstrip("s")
        return way if way in ("read", "write") else ""

    def in_unit(self, rate: float) -> float:
        """A rate of this quantity in its unit."""
        return float(rate / KB_PER_MB if self.is_bytes else rate)

    @property
    def other_range(self) -> float:
        """How far the other of IOPS and throughput ranged meanwhile, of the same direction."""
        kb = f"{self.way}_kb_per_s" if self.way else "kb_per_s"
        return high_over_low(self.rows, kb if not self.is_bytes else f"{self.way or 'io'}s_per_s")


def plateau(
    samples: Table,
    quantity: rate_limits.Directed,
    demand: Mask,
    *,
    width: float,
    least: int,
    while_busy: bool = False,
) -> Plateau | None:
    """The flat top of a quantity among demanding samples, if `least` of them follow each other on it.

    `while_busy` takes the rates per busy time, which evens out idle moments and samples whose
    length was mistaken: both show in util as well.
    """
    rates = samples.floats(quantity)
    if while_busy:
        rates = rates / np.maximum(samples.floats("util"), 1e-9)
    places = np.flatnonzero(demand & (rates > 0))
    if len(places) < DENSE * least:
        return None
    moved = rates.take(places)
    on_it = places[np.abs(moved / densest(moved, width) - 1) <= width]
    if len(on_it) < DENSE * least:
        return None
    # a wider band may bridge a sample far outside it: then what lies between such samples counts
    for gap in (1, 0):
        window = longest_among(samples, on_it, gap)
        if window is None or window.stop - window.start < least:
            return None
        within = rates[window]
        found = of_rate(samples[window], quantity, median(within), within)
        if found.variation <= width:
            return found
    return None


def of_rate(rows: Table, quantity: rate_limits.Directed, rate: float, rates: Floats) -> Plateau:
    """A plateau with the limits that its rate is near."""
    counted = rate_limits.quantity_of(quantity)
    cap, round_rate = rate_limits.near(rate, counted), rate_limits.round_number(rate, counted)
    return Plateau(rows, quantity, rate, rates, cap, round_rate)


def likeness(found: Plateau) -> Iterator[Evidence]:
    """Which published limit or round number a plateau is near, if any."""
    values: Values = {"unit": found.unit, "date": rate_limits.published()[0]}
    if found.cap is not None:
        values |= {"listed": found.in_unit(found.cap.value), "name": found.cap.name}
        yield cite(found.rows, "{listed:g} {unit} is the limit of {name} (list of {date})", values)
    elif found.round_rate is not None:
        counted = rate_limits.quantity_of(found.quantity)
        values["round"], values["unit"] = rate_limits.in_its_unit(found.round_rate, counted)
        yield cite(found.rows, "{round:g} {unit} is a round number, as settings are", values)


def queue_range(series: DeviceSeries, top: Plateau, width: float) -> float:
    """How far the queue ranged at the same rate (± `width`): on the plateau, and in other levels of its "
    "kind."""
    depths = list(low_and_high(top.rows.floats("at_once")))
    kinds = set(top.rows["kind"].tolist())
    for kind in load_levels(series):
        if kind[0].kind in kinds:
            for level in kind:
                rate = level.busy_rate * (level.size_kb if top.is_bytes else 1.0)
                if abs(rate / top.rate - 1) <= width and level.util >= MOSTLY_BUSY:
                    depths.append(level.busy_depth)
    return max(depths) / min(depths)


def throughput_of_sizes(series: DeviceSeries) -> Evidence | None:
    """Two states of one direction that fill a device with quite different sizes and move as much.

    Requests per second or a time per request would be another limit for either; what is equal is held.
    """
    full = [
        one
        for one in states(series)
        if one.kind in ("reads", "writes")
        and one.util >= MOSTLY_BUSY
        and one.at_once >= _DEEP
        and one.samples > 1
    ]
    pairs = [
        (small, large)
        for small in full
        for large in full
        if small.kind == large.kind
        and large.size_kb >= _OTHER_SIZE * small.size_kb > 0
        and abs(math.log(large.mean("kb_per_s") / small.mean("kb_per_s"))) <= _AS_MUCH
    ]
    if not pairs:
        return None
    small, large = max(pairs, key=lambda pair: pair[1].size_kb / pair[0].size_kb)
    values: Values = {"small": small.size_kb, "large": large.size_kb}
    values |= {"small_mb": small.mean("kb_per_s") / KB_PER_MB, "large_mb": large.mean("kb_per_s") / KB_PER_MB}
    text = "it moves {small_mb:.1f} MB/s in requests of {small:.0f} kB and {large_mb:.1f} MB/s in those of "
    text += "{large:.0f} kB: throughput is what is limited, by its medium, its link or a setting"
    return cite(stacked([small.rows, large.rows]), text, values)


_DEEP, _OTHER_SIZE, _AS_MUCH = 4.0, 4.0, 0.1
"""Requests in flight that are demand; times that sizes differ at least, and how far apart (ln) rates are that
are equal."""


def densest(rates: Floats, width: float) -> float:
    """The middle of the band of ± `width` that holds most of some positive rates."""
    in_order = np.sort(rates)
    ends = in_order.searchsorted(in_order * (1 + width) / (1 - width), side="right")
    best = int((ends - np.arange(len(in_order))).argmax())
    return float((in_order[best] + in_order[ends[best] - 1]) / 2)


def high_over_low(rows: Table, column: str) -> float:
    """How far a column ranges, but for outliers among many samples; NaN where that is unknown."""
    data = rows.floats(column)
    low, high = low_and_high(data[data > 0])
    return high / low


def max_over_min(rows: Table, column: str) -> float:
    """The largest value of a column over its least; NaN where that is unknown."""
    data = rows.floats(column)
    data = data[np.isfinite(data) & (data > 0)]
    return float(data.max() / data.min()) if len(data) else float("nan")


@dataclass(frozen=True)
class RateStep:
    """The samples before and after one step of a rate."""

    quantity: rate_limits.Quantity
    before: Table = field(repr=False)
    after: Table = field(repr=False)

    @cached_property
    def rates(self) -> tuple[float, float]:
        """The median rates before the step and after it."""
        return _median(self.before, self.quantity), _median(self.after, self.quantity)

    @cached_property
    def noises(self) -> tuple[float, float]:
        """1.4826 times the median distances from them: the standard deviations of normal data."""
        before, after = (rows.floats(self.quantity) for rows in (self.before, self.after))
        high, low = self.rates
        return 1.4826 * median(np.abs(before - high)), 1.4826 * median(np.abs(after - low))

    @property
    def unit(self) -> tuple[str, float]:
        """What its rates are told in, and how much of them that is."""
        return ("IOPS", 1.0) if self.quantity == "ios_per_s" else ("MiB/s", KB_PER_MB)

    @property
    def keeps_mix(self) -> bool:
        """Whether reads and writes were mixed alike before and after (of prepared samples)."""
        return bool(set(self.before["kind"] % 100) & set(self.after["kind"] % 100))

    def ratio(self, column: str) -> float:
        """A column's median after the step over that before."""
        before = _median(self.before, column)
        return _median(self.after, column) / before if before > 0 else float("nan")


def rate_step(samples: Table, quantity: rate_limits.Quantity, least: int) -> RateStep | None:
    """The one step that splits a rate's samples best, at least `least` of them to each side.

    Least squares on logarithms over all splits; whether it is a step is for the caller to judge.
    """
    rates = samples.floats(quantity)
    if len(rates) < 2 * least or not (rates > 0).all():
        return None
    place = split(np.log(rates), least)
    return RateStep(quantity, samples[:place], samples[place:])


def _median(rows: Table, column: str) -> float:
    return median(rows.floats(column))
