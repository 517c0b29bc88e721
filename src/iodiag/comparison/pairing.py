"""Which device of one capture is which of another: by name, by its place, or by its role."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from iodiag.analysis.array.topmost_devices import topmost
from iodiag.analysis.measure import weighted
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.topology import device_names
from iodiag.table.table import numbered

LEAST_SHARE = 0.05
"""A device with less of its host's work is not what keeps the host busy (judgement)."""

MOST = 0.5
"""With more than this share a device is what its host's work is about."""

HARDLY = 0.01
"""With less on both sides a device is passed over."""


class Pair(NamedTuple):
    """One device on both sides, and why the two are taken for one.

    `share` is the larger of its shares of its host's work; `is_part` says that it stands below
    another device that works.
    """

    before: DeviceSeries
    after: DeviceSeries
    basis: str
    share: float
    is_part: bool


class Pairing(NamedTuple):
    """The pairs, the busiest first, and in sentences what has no counterpart or no work."""

    pairs: tuple[Pair, ...]
    uncompared: tuple[str, ...]


Match = tuple[DeviceSeries, DeviceSeries, str]


class _Side(NamedTuple):
    """A view with each device's share of the work and the devices on top of the stacks."""

    view: View
    shares: dict[str, float]
    tops: tuple[str, ...]

    def is_busy(self, series: DeviceSeries) -> bool:
        """Whether a device carries the work, and no other busy device stands on it."""
        return series.name in self.tops and self.shares[series.name] >= LEAST_SHARE

    def leader(self) -> DeviceSeries | None:
        """The device that carries most of the work, if one does."""
        leading = (s for s in self.view.devices if s.name in self.tops and self.shares[s.name] > MOST)
        return next(leading, None)


def pair(before: View, after: View) -> Pairing:
    """The devices of two views as pairs.

    Devices are one by a name that is theirs on both sides, unless the one that did most of the work fell
    idle and one that was idle does it: then the work moved. Of what is left, devices are one by
    the mount point, by being the only one that works, and by being the only array of its level.
    """
    sides = _side(before), _side(after)
    found = _by_name(before.devices, after.devices)
    moved = _moved(sides, found)
    if moved:
        found = [match for match in found if match[0] is not moved[0] and match[1] is not moved[1]]
        found.append(moved)
    for match in (_by_key(_mounts, "both are mounted at {}"), _lone, _by_key(_level, "the only {} each")):
        found += match(sides, *_left(sides, found))
    return _ordered(sides, found)


def _side(view: View) -> _Side:
    tops = topmost(view, [series.name for series in view.devices if len(series.loaded)])
    shares = dict.fromkeys((series.name for series in view.devices), 0.0)
    for column in _work_columns(view):
        work = {series.name: _work(series, column) for series in view.devices}
        total = sum(work[name] for name in tops)
        for name in shares:
            shares[name] = max(shares[name], work[name] / total if total > 0 else 0.0)
    return _Side(view, shares, tuple(tops))


def _work_columns(view: View) -> tuple[str, ...]:
    """What a device's work is counted in: the time that requests spend in it, which somebody waits for.

    Where a busy device does not tell that (md before Linux 6.6), in requests and in bytes.
    """
    is_timed = all(
        _work(series, "queue_depth") > 0 for series in view.devices if _work(series, "ios_per_s") > 0
    )
    return ("queue_depth",) if is_timed else ("ios_per_s", "kb_per_s")


def _work(series: DeviceSeries, column: str) -> float:
    """How much a device did while it was not idle: the column times the length of the samples."""
    rows = series.loaded
    if not len(rows):
        return 0.0
    return float(np.nansum(rows.floats(column) * weighted.lengths(rows)))


_NUMBERS = re.compile(r"\d+:\d+|dev\d+-\d+|(dm-|loop|zram|nbd|ram)\d+|md-uuid-.*")


class _Names(NamedTuple):
    """All names of a device in all spellings, and those that are not just numbers given at boot."""

    every: frozenset[str]
    given: frozenset[str]


def _names(series: DeviceSeries) -> _Names:
    names = {series.name, *numbered(series.samples["printed"])[1]}
    names |= set(series.device.aliases) if series.device else set()
    every = frozenset(spelling for name in names for spelling in device_names(name))
    return _Names(every, frozenset(name for name in every if not _NUMBERS.fullmatch(name)))


def _by_name(before: Sequence[DeviceSeries], after: Sequence[DeviceSeries]) -> list[Match]:
    """Devices with a name in common; a number is one only where a side knows no better name."""
    others = [(series, _names(series)) for series in after]
    found: list[Match] = []
    for one in before:
        names = _names(one)
        for at, (other, known) in enumerate(others):
            shared = names.given & known.given
            if shared or (names.every & known.every and not (names.given and known.given)):
                is_plain = one.name == other.name
                basis = (
                    "the same name" if is_plain else f"both are {min(shared or names.every & known.every)}"
                )
                found.append((one, other, basis))
                del others[at]
                break
    return found


def _moved(sides: tuple[_Side, _Side], found: Sequence[Match]) -> Match | None:
    """The device that did most of the work before, with the one that does it after, and not before."""
    one, other = sides[0].leader(), sides[1].leader()
    if one is None or other is None:
        return None
    partner = next((match[1] for match in found if match[0] is one), None)
    former = next((match[0] for match in found if match[1] is other), None)
    is_kept = partner is not None and sides[1].is_busy(partner)
    was_busy = former is not None and sides[0].is_busy(former)
    return None if is_kept or was_busy else (one, other, "each carries most of the work of its side")


def _left(
    sides: tuple[_Side, _Side], found: Iterable[Match]
) -> tuple[list[DeviceSeries], list[DeviceSeries]]:
    taken = {id(series) for match in found for series in match[:2]}
    before, after = ([s for s in side.view.devices if id(s) not in taken] for side in sides)
    return before, after


Matcher = Callable[[tuple[_Side, _Side], list[DeviceSeries], list[DeviceSeries]], list[Match]]


def _by_key(key: Callable[[DeviceSeries], str], basis: str) -> Matcher:
    """Pairs of devices that alone on their side have a key, and the same one."""

    def match(_: tuple[_Side, _Side], before: list[DeviceSeries], after: list[DeviceSeries]) -> list[Match]:
        keyed = [_grouped(before, key), _grouped(after, key)]
        shared = [name for name in keyed[0] if len(keyed[0][name]) == len(keyed[1].get(name, ())) == 1]
        return [(keyed[0][name][0], keyed[1][name][0], basis.format(name)) for name in shared]

    return match


def _grouped(
    devices: Iterable[DeviceSeries], key: Callable[[DeviceSeries], str]
) -> dict[str, list[DeviceSeries]]:
    groups: dict[str, list[DeviceSeries]] = {}
    for series in devices:
        if name := key(series):
            groups.setdefault(name, []).append(series)
    return groups


def _lone(sides: tuple[_Side, _Side], before: list[DeviceSeries], after: list[DeviceSeries]) -> list[Match]:
    busy = [[s for s in rest if side.is_busy(s)] for side, rest in zip(sides, (before, after), strict=True)]
    if len(busy[0]) == len(busy[1]) == 1:
        return [(busy[0][0], busy[1][0], "each is the only busy device left on its side")]
    return []


def _mounts(series: DeviceSeries) -> str:
    return ", ".join(sorted(series.device.mountpoints)) if series.device else ""


def _level(series: DeviceSeries) -> str:
    level = series.device.level if series.device else None
    return level.upper() if level and level.startswith("raid") else ""


def _ordered(sides: tuple[_Side, _Side], found: Iterable[Match]) -> Pairing:
    pairs = []
    passed = []
    found = list(found)
    for one, other, basis in found:
        shares = sides[0].shares[one.name], sides[1].shares[other.name]
        if max(shares) < HARDLY:
            passed.append(one.name)
            continue
        is_part = one.name not in sides[0].tops and other.name not in sides[1].tops
        pairs.append(Pair(one, other, basis, max(shares), is_part))
    pairs.sort(key=lambda entry: (entry.is_part, -entry.share))
    told = [f"hardly any work on either side: {', '.join(passed)}"] if passed else []
    for rest, side, when in zip(_left(sides, found), sides, ("before", "after"), strict=True):
        busy = [series.name for series in rest if side.shares[series.name] >= HARDLY]
        idle = [series.name for series in rest if side.shares[series.name] < HARDLY]
        told += [f"busy only {when}, with nothing to compare with: {', '.join(busy)}"] if busy else []
        told += [f"only there {when}, with hardly any work: {', '.join(idle)}"] if idle else []
    return Pairing(tuple(pairs), tuple(told))
