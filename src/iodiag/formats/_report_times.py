"""Times of reports that come one after the other: their ends, their lengths, and whether one is since boot.

For formats that hold a clock per report or none, as iostat prints them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import numpy.typing as npt

from iodiag.formats import _clock
from iodiag.formats._clock import DAY_S, Clock, Floats

Ints = npt.NDArray[np.int64]

_FEWEST_LATER = 3
_MOST_LATER = 100
_FEWEST_CELLS = 6
_ALIKE = 0.25
_SHARE_ALIKE = 0.8


@dataclass(frozen=True)
class Rows:
    """Rows with the same columns. `rates_at` are the places of those that count events per second."""

    report: Ints
    items: Sequence[str]
    numbers: Floats
    rates_at: tuple[int, ...]


@dataclass(frozen=True)
class Ends:
    """The end of every report in seconds, NaN without a clock; since 1970 where `is_dated`.

    `is_aware` says that they are absolute, whatever zone they were printed in.
    """

    seconds: Floats
    is_dated: bool
    is_aware: bool


def ends_of(clocks: Sequence[Clock | None], day: date | None, order: str) -> Ends:
    """The ends of reports from their clocks; where these have no date, `day` is that of the first."""
    seconds = np.full(len(clocks), np.nan)
    dated, offsets = [], []
    passed, previous = 0.0, -np.inf
    for number, clock in enumerate(clocks):
        if clock is None or (clock.seconds is None and clock.epoch is None):
            continue
        own_day = _clock.to_day(clock, order)
        if clock.epoch is not None:
            seconds[number] = clock.epoch
        elif own_day is not None:
            seconds[number] = _clock.epoch_of(own_day, clock.seconds or 0.0) - (clock.offset_s or 0.0)
        else:
            value = (clock.seconds or 0.0) + passed
            passed += DAY_S if previous - value >= DAY_S / 2 else 0.0
            previous = (clock.seconds or 0.0) + passed
            seconds[number] = previous + (_clock.epoch_of(day, 0.0) if day else 0.0)
        dated.append(clock.epoch is not None or own_day is not None or day is not None)
        offsets.append(clock.epoch is not None or clock.offset_s is not None)
    return Ends(seconds, bool(dated) and all(dated), bool(offsets) and all(offsets))


def lengths_of(ends: Floats, stated: float | None, groups: Sequence[Rows]) -> Floats:
    """The length of every report: from the clocks, else as stated, else from the grid of the rates."""
    if len(ends) > 1 and not np.isnan(ends).any():
        lengths = _clock.interval_lengths(ends, None)
        known = lengths[~np.isnan(lengths)]
        lengths[0] = np.median(known) if len(known) else np.nan
        return lengths
    length = stated
    if length is None:
        length = _clock.grid_interval(_rates(groups, is_first=False))
        if np.isnan(length):
            length = _clock.grid_interval(np.concatenate((_rates(groups, True), _rates(groups, False))))
    return np.full(len(ends), length)


def may_be_since_boot(groups: Sequence[Rows]) -> bool:
    """Whether the first report can be an average since boot.

    It cannot when its event rates all lie on the grid of a short interval, and it need not when its
    numbers are like those of all others: within a quarter of their median in four cells of five.
    """
    if not np.isnan(_clock.grid_interval(_rates(groups, is_first=True))):
        return False
    alike = total = 0
    for rows in groups:
        items = np.array(rows.items, dtype=object)
        later = np.flatnonzero((rows.report > 0) & (rows.report <= _MOST_LATER))
        if len(np.unique(rows.report[later])) < _FEWEST_LATER:
            continue
        for place in np.flatnonzero(rows.report == 0).tolist():
            same = rows.numbers[later[items[later] == items[place]]]
            known = ~np.isnan(same).all(axis=0) & ~np.isnan(rows.numbers[place])
            number, usual = rows.numbers[place][known], np.nanmedian(same[:, known], axis=0)
            counts = (np.abs(number) > 0.5) | (np.abs(usual) > 0.5)
            alike += int((np.abs(number - usual) <= _ALIKE * np.abs(usual))[counts].sum())
            total += int(counts.sum())
    return not (total >= _FEWEST_CELLS and alike >= _SHARE_ALIKE * total)


def _rates(groups: Sequence[Rows], is_first: bool) -> Floats:
    """The event rates of the first report, or of all others: whole numbers divided by the interval."""
    parts = [rows.numbers[(rows.report == 0) == is_first][:, list(rows.rates_at)].ravel() for rows in groups]
    return np.concatenate([np.empty(0), *parts])
