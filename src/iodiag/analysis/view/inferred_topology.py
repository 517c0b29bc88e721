"""Topology that no input states, concluded from the conservation of bytes.

What a stripe is asked for, its legs move together: ΣB(legs) = B(array) for reads and for writes of
a stripe, 2·B for writes of a mirror, n/(n-1) for full stripes of RAID5, and small writes on parity
give α and ρ that tell the same share (analysis.array.parity). Legs of one array run at equal rates, so only
groups of equal rates are tried: few, whatever the number of devices. What an input states is never
touched; what is concluded says "inferred: …" as its provenance and costs a rule a point. A mapped device
that moves in each sample what one disk does stands on it alone; so does one whose requests are as many as the
disk completed and merged, since both are counted as they come, and bytes as they complete. Where one disk
alone moves anything, all mapped devices that together move as much stand on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.clusters import MOST_DEVICES, clusters
from iodiag.analysis.view.byte_conservation import (
    EXACT_MANY,
    EXACT_ONE,
    LEAST_KB,
    MANY,
    MATTERS,
    ConservingLayout,
    conserving_layout,
)
from iodiag.analysis.view.device_names import is_md, is_partition_of_any, is_physical, virtual_disks, whole_of
from iodiag.analysis.view.request_columns import least_writes
from iodiag.model.topology import Device, DeviceTopology, merge
from iodiag.model.units import KB_PER_PAGE
from iodiag.table.table import Floats, Mask, Table, numbered

MOST_REPORTS = 512
ROUNDED_KB = 1.0
"""kB/s that rounding takes off or adds where rates are printed without decimals."""
LEAST_ASKED, MOST_LATE = 1000.0, 1.5
"""Requests/s whose equal count is no chance; times by which a queue sets bytes asked and moved apart."""
MOSTLY_SHOWN = 0.9
"""Share of the reports that show a device from which its rows are missing by accident in the others."""
MOST_LEGS = 24
ALIKE = 0.05
"""Legs have no larger gap between them, in what they read and in what they write."""

APART, TIED = 1.5, 1.2
"""The slowest leg takes APART times the fastest, or nothing is in order; closer than TIED is a tie."""

_MAPPED = re.compile(r"(?:dm-|dev25[2-4]-)(\d+)")
_NUMBERED = "inferred: its number is of a driver that leaves room for partitions, unlike that of the others"
_IMAGE = re.compile(r"(.+)_[rm]image_\d+")


class Traffic(NamedTuple):
    """kB/s per device and report of one stream, both directions; `paged` is writes in whole pages.

    `done` and `merged` are requests/s, both directions, that were completed and merged; `shown` is 1 where a
    report has a row of the device, and `busy` its %util.
    """

    names: tuple[str, ...]
    read: Floats
    write: Floats
    paged: Floats
    done: Floats
    merged: Floats
    shown: Floats
    busy: Floats

    def total(self) -> Floats:
        """Reads and writes together."""
        return np.asarray(self.read + self.write)


def infer(samples: Table, topology: DeviceTopology) -> tuple[Device, ...]:
    """Devices with the members that `samples` (of the disk table, with `stream`) shows and `topology` lacks.

    The `device` column holds canonical names. Arrays first, by stream; then what disks their legs
    lie on; then that dev253-89 is dm-89, where both namings show the same array.
    """
    if "read_kb_per_s" not in samples or "write_kb_per_s" not in samples:
        return ()
    names = numbered(samples["device"])[1]
    disks = tuple(Device(name, kind="disk", provenance={"kind": _NUMBERED}) for name in virtual_disks(names))
    topology = merge([*topology, *disks]) if disks else topology
    partitions = (*_partitions(names, topology), *disks)
    if not any(_may_be_array(name, topology) for name in names):
        return partitions
    arrays: list[Device] = list(_named(names, topology))
    stream = samples["stream"]
    streams = [(part, _traffic(part)) for part in (samples[stream == one] for one in np.unique(stream))]
    for _, traffic in streams:
        arrays += _arrays(traffic, topology)
    below = [leg for part, traffic in streams for leg in _disks_below(part, traffic, arrays, topology)]
    known = {device.name for device in (*arrays, *below)} | {m for device in arrays for m in device.members}
    chains: list[dict[str, Device]] = []
    if any(_may_be_chained(name, known, topology) for name in names):
        both = (_traffic(part, with_partitions=True) for part, _ in streams)
        chains = [{d.name: d for d in _chains(traffic, known, topology)} for traffic in both]
    return (*arrays, *below, *_agreed(chains), *partitions, *_aliases(arrays, topology))


def _partitions(names: Sequence[str], topology: DeviceTopology) -> Iterator[Device]:
    """Partitions of disks that are listed themselves, which the kernel names after their disk.

    Those that an input names as members are not listed where iostat shows whole disks, as it does by default.
    """
    listed = set(names)
    stated = (member for device in topology for member in device.members)
    for name in dict.fromkeys([*names, *stated]):
        device, whole = topology.find(name), whole_of(name, listed)
        if whole is not None and not (device and device.members):
            yield Device(name, kind="partition", members=(whole,), provenance={"members": "its name"})


def _agreed(of_streams: Sequence[dict[str, Device]]) -> Iterator[Device]:
    """Devices that stand on the same in every stream that tells."""
    names = dict.fromkeys(name for found in of_streams for name in found)
    for name in names:
        told = [found[name] for found in of_streams if name in found]
        if len({device.members for device in told}) == 1:
            yield told[0]


def _may_be_chained(name: str, known: set[str], topology: DeviceTopology) -> bool:
    return bool(_MAPPED.fullmatch(name)) and name not in known and _may_be_array(name, topology)


def _chains(traffic: Traffic, known: set[str], topology: DeviceTopology) -> Iterator[Device]:
    """Mapped devices on one device alone, whose bytes equal its own in each report.

    Several that each move what a disk does stand on each other, in the order in which they were made. Where
    none does, all together may: then they share the disk.
    """
    mapped = [n for n, name in enumerate(traffic.names) if _may_be_chained(name, known, topology)]
    bases = [
        n for n, name in enumerate(traffic.names) if not _MAPPED.fullmatch(name) or _is_disk(name, topology)
    ]
    chained: dict[int, list[int]] = {}
    for place in mapped:
        lower = [n for n in mapped if _depth(traffic.names[n]) < _depth(traffic.names[place])]
        equal = _carrying(traffic, [place], bases) or [n for n in lower if _is_merged(traffic, [place], n)]
        equal = equal or _as_busy(traffic, place, bases)
        if len(equal) == 1:
            chained.setdefault(equal[0], []).append(place)
    rest = [n for n in mapped if not any(n in found for found in chained.values())]
    shared = _carrying(traffic, rest, [base for base in bases if base not in chained])
    shared = shared or _only(traffic, rest, bases)
    reports = traffic.read.shape[1]
    often = "in each sample" if reports > 1 else "in the only sample"
    for base, places in chained.items():
        below = traffic.names[base]
        for place in sorted(places, key=lambda n: _depth(traffic.names[n])):
            name, base_name = traffic.names[place], traffic.names[base]
            if _is_equal(traffic, [place], base):
                why = f"{often} {name} moves as many bytes as {base_name}"
            elif _is_merged(traffic, [place], base):
                why = f"{often} {name} is asked as often as {base_name} completes and merges"
            elif base in _as_busy(traffic, place, bases):
                why = f"{often} {name} is as busy as {base_name}, the only disk that moves as much"
            else:
                why = f"over all samples, and in most of them, {name} moves as many bytes as {base_name}"
            yield Device(name, members=(below,), provenance={"members": f"inferred: {why}"})
            below = name
    if len(rest) > 1 and len(shared) == 1:
        names = [traffic.names[n] for n in rest]
        base_name = traffic.names[shared[0]]
        why = f"inferred: {often} {', '.join(names)} together move as many bytes as {base_name}"
        yield from (Device(name, members=(base_name,), provenance={"members": why}) for name in names)


def _carrying(traffic: Traffic, places: Sequence[int], bases: Sequence[int]) -> list[int]:
    """The bases that move what some devices do, without disks whose partition is among them: it is nearer."""
    proofs = (_is_equal, _is_merged, _adds_up)
    found = [base for base in bases if any(proof(traffic, places, base) for proof in proofs)]
    names = {traffic.names[n] for n in found}
    wholes = {whole_of(name, names) for name in names}
    return [n for n in found if traffic.names[n] not in wholes]


def _only(traffic: Traffic, places: Sequence[int], bases: Sequence[int]) -> list[int]:
    """The only disk that moves anything, where devices that a sum alone explains move as much together.

    Of requests in flight at the ends of a sample reads may be missing below, and writes above.
    """
    names = {traffic.names[n] for n in bases}
    disks = [n for n in bases if whole_of(traffic.names[n], names) is None]
    if len(disks) != 1 or traffic.total()[disks[0]].max() < LEAST_KB:
        return []
    ways = [(grid[list(places)].sum(axis=0), grid[disks[0]]) for grid in (traffic.read, traffic.write)]
    moved, carried = (float(sum(way[n].sum() for way in ways)) for n in (0, 1))
    is_equal = abs(moved - carried) <= EXACT_MANY * max(moved, carried)
    return disks if is_equal and not any(_is_late(*way).any() for way in ways) else []


def _is_late(above: Floats, below: Floats) -> Mask:
    """Where a layer and what is below it are further apart than what is in flight at the ends of a sample."""
    return np.asarray(np.maximum(above, below) > MOST_LATE * np.minimum(above, below) + LEAST_KB)


def _as_busy(traffic: Traffic, place: int, bases: Sequence[int]) -> list[int]:
    """The only disk that reads and writes at least as much in each report, if it is as busy in each.

    What reads ahead below moves more. Of two devices that vary by less a chance would show as much.
    """
    own = traffic.busy[place]
    varies = len(own) > 1 and own.min() >= LEAST_BUSY_PCT and own.max() >= 2 * own.min()
    if not varies or traffic.total()[place].min() < LEAST_KB:
        return []
    moves = [(grid + ROUNDED_KB >= grid[place]).all(axis=1) for grid in (traffic.read, traffic.write)]
    able = [base for base in bases if moves[0][base] and moves[1][base]]
    wholes = {whole_of(traffic.names[n], {traffic.names[n] for n in able}) for n in able}
    able = [n for n in able if traffic.names[n] not in wholes]
    if len(able) != 1:
        return []
    apart = np.abs(traffic.busy[able[0]] - own) <= AS_BUSY * np.maximum(traffic.busy[able[0]], own)
    return able if apart.all() else []


LEAST_BUSY_PCT, AS_BUSY = 5.0, 0.1
"""%util that digits and ticks do not make, and how far apart those of one I/O are."""


def _is_merged(traffic: Traffic, places: Sequence[int], base: int) -> bool:
    """Whether one below completes and merges what devices were asked for, of which it merges the most."""
    exact = EXACT_MANY if traffic.read.shape[1] >= MANY else EXACT_ONE
    above, below = traffic.done[list(places)].sum(axis=0), traffic.done[base] + traffic.merged[base]
    if not places or below.max(initial=0) < LEAST_ASKED or (traffic.merged[base] < below / 2).any():
        return False
    moved, carried = traffic.total()[list(places)].sum(axis=0), traffic.total()[base]
    is_late = (np.maximum(moved, carried) <= MOST_LATE * np.minimum(moved, carried) + ROUNDED_KB).all()
    return bool(is_late and (np.abs(above - below) <= exact * np.maximum(above, below) + 1).all())


def _is_equal(traffic: Traffic, places: Sequence[int], base: int) -> bool:
    """Whether devices move together what one below them does, both ways and in each report."""
    exact = EXACT_MANY if traffic.read.shape[1] >= MANY else EXACT_ONE
    if not places or traffic.total()[base].max(initial=0) < LEAST_KB:
        return False
    for grid in (traffic.read, traffic.write):
        above, below = grid[list(places)].sum(axis=0), grid[base]
        if (np.abs(above - below) > exact * np.maximum(above, below) + ROUNDED_KB).any():
            return False
    return True


def _adds_up(traffic: Traffic, places: Sequence[int], base: int) -> bool:
    """Whether devices move what one below them does over many reports, and in most of them.

    What is in flight at the end of a sample may count in one of the two and in the next one of the other.
    """
    is_shown = traffic.shown[base] > 0  # a row may be cut off
    loaded = is_shown & (traffic.total()[base] >= LEAST_KB)
    if not places or loaded.sum() < 2 * MANY or is_shown.mean() < MOSTLY_SHOWN:
        return False
    for grid in (traffic.read[:, loaded], traffic.write[:, loaded]):
        above, below = grid[list(places)].sum(axis=0), grid[base]
        most, apart = np.maximum(above, below), np.abs(above - below)
        if _is_late(above, below).any() or np.median(apart / np.maximum(most, LEAST_KB)) > EXACT_MANY:
            return False
        if abs(above.sum() - below.sum()) > EXACT_MANY * most.sum() + ROUNDED_KB:
            return False
    return True


def _may_be_array(name: str, topology: DeviceTopology) -> bool:
    """Whether a device may stand on others that nothing states."""
    device = topology.find(name)
    return not (is_physical(name) or _is_disk(name, topology) or (device is not None and device.members))


def _is_disk(name: str, topology: DeviceTopology) -> bool:
    """Whether an input, or its number, says that a device stands on no others."""
    device = topology.find(name)
    return device is not None and device.kind in ("disk", "partition", "loop", "swap")


def _named(names: Sequence[str], topology: DeviceTopology) -> Iterator[Device]:
    """Volumes whose legs LVM names after them: vg-data_rimage_0 is a leg of vg-data."""
    legs: dict[str, list[str]] = {}
    for name in names:
        if match := _IMAGE.fullmatch(name):
            legs.setdefault(match[1], []).append(name)
    for parent, found in legs.items():
        if parent in names and len(found) >= 2 and _may_be_array(parent, topology):
            why = f"inferred: {', '.join(found)} are named as legs of {parent}"
            yield Device(parent, members=tuple(found), provenance={"members": why})


def _traffic(part: Table, *, with_partitions: bool = False) -> Traffic:
    """What the busiest devices of a stream moved; one that a report leaves out moved nothing in it."""
    codes, shown = numbered(part["device"])
    read, written = (np.nan_to_num(part.floats(f"{name}_kb_per_s")) for name in ("read", "write"))
    totals = np.bincount(codes, read + written, len(shown))
    wholes = set() if with_partitions else set(shown)
    busiest = [
        n
        for n in np.argsort(-totals, kind="stable")
        if totals[n] > 0 and not is_partition_of_any(shown[n], wholes)
    ]
    busiest = busiest[:MOST_DEVICES]
    place = np.full(len(shown), -1)
    place[busiest] = np.arange(len(busiest))
    report = part["report"]
    reports = np.unique(report)
    if len(reports) > MOST_REPORTS:
        reports = reports[np.linspace(0, len(reports) - 1, MOST_REPORTS).astype(int)]
    rows = np.flatnonzero((place[codes] >= 0) & np.isin(report, reports))
    at, when = place[codes[rows]], np.searchsorted(reports, report[rows])
    written = written[rows]
    pages = np.nan_to_num(least_writes(part[rows])) * KB_PER_PAGE
    done, merged = (
        sum(np.nan_to_num(part.floats(f"{way}{name}_per_s")[rows]) for way in ("read", "write"))
        for name in ("s", "_merges")
    )
    grids = []
    paged = np.where(written > 0, np.maximum(written, pages), written)
    busy = np.nan_to_num(part.floats("util_pct")[rows])
    for values in (read[rows], written, paged, done, merged, np.ones(len(rows)), busy):
        grid = np.zeros((len(busiest), len(reports)))
        grid[at, when] = values
        grids.append(grid)
    return Traffic(tuple(shown[n] for n in busiest), *grids)


def _arrays(traffic: Traffic, topology: DeviceTopology) -> Iterator[Device]:
    """The devices of one stream whose bytes a group of equal-rate devices moves together."""
    found: dict[tuple[int, ...], list[tuple[int, ConservingLayout]]] = {}
    free = {n for n, name in enumerate(traffic.names) if not topology.parents(name)}
    for parent, name in enumerate(traffic.names):
        if not _may_be_array(name, topology):
            continue
        groups = _groups(traffic, parent, free)
        layouts = [
            (legs, one)
            for legs, is_equal in groups
            if (one := _conserving_layout(traffic, parent, legs, is_equal))
        ]
        # legs of its own kind are nearer than the disks below them
        nearest = [pair for pair in layouts if _is_mapped(traffic.names[pair[0][0]])] or layouts
        if len(nearest) == 1:
            found.setdefault(nearest[0][0], []).append((parent, nearest[0][1]))
    for legs, parents in found.items():
        parent, layout = min(parents, key=lambda pair: _depth(traffic.names[pair[0]]))
        members = tuple(sorted((traffic.names[leg] for leg in legs), key=_natural))
        why = f"inferred: {layout.sentence(traffic.names[parent], members)}"
        said = {"members": why} | ({"level": why} if layout.level else {})
        yield Device(
            traffic.names[parent], members=members, level=layout.level, copies=layout.copies, provenance=said
        )


def _groups(traffic: Traffic, parent: int, free: set[int]) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Legs to try: mapped devices, or disks, of equal rates while the device is used (true); busy disks."""
    loaded = traffic.read[parent] + traffic.paged[parent] >= LEAST_KB
    if not loaded.any():
        return
    rates = np.stack([grid[:, loaded].mean(axis=1) for grid in (traffic.read, traffic.write)], axis=1)
    moved, usual = rates.sum(axis=1), np.median(traffic.total()[:, loaded], axis=1)
    for is_mapped in (True, False):
        places = [n for n in range(len(moved)) if _is_mapped(traffic.names[n]) is is_mapped]
        places = [n for n in places if n != parent and moved[n] >= 1]
        equal = [tuple(sorted(places[i] for i in group)) for group in clusters(rates[places], ALIKE)]
        busy = tuple(n for n in places if usual[n] >= max(usual[places], default=0) / 3)
        # a leg of another array among its equals means that these are no set of their own
        for legs in (*equal, *([] if is_mapped or busy in equal else [busy])):
            if 2 <= len(legs) <= MOST_LEGS and free.issuperset(legs):
                yield legs, legs in equal


def _conserving_layout(
    traffic: Traffic, parent: int, legs: tuple[int, ...], is_equal: bool
) -> ConservingLayout | None:
    """The conservation that holds between a device and a group, or None."""
    if not _may_stand_on(traffic, parent, legs):
        return None
    return conserving_layout(
        (traffic.read[parent], traffic.write[parent]),
        traffic.paged[parent],
        (traffic.read[list(legs)].sum(axis=0), traffic.write[list(legs)].sum(axis=0)),
        len(legs),
        may_be_chain=_is_mapped(traffic.names[legs[0]]),
        may_be_mixture=is_equal or is_md(traffic.names[parent]),
    )


def _may_stand_on(traffic: Traffic, parent: int, legs: tuple[int, ...]) -> bool:
    """Mapped devices are numbered as they are made, from below; md stands on disks."""
    own = _MAPPED.fullmatch(traffic.names[parent])
    numbers = [_MAPPED.fullmatch(traffic.names[leg]) for leg in legs]
    mapped = [int(match[1]) for match in numbers if match]
    if own and mapped:
        return max(mapped) < int(own[1])
    return not mapped or not is_md(traffic.names[parent])


def _is_mapped(name: str) -> bool:
    return not is_physical(name)


def _depth(name: str) -> tuple[bool, int, str]:
    """Which of several devices of the same traffic lies lowest: md, then the lowest number."""
    match = _MAPPED.fullmatch(name)
    return not is_md(name), int(match[1]) if match else 0, name


def _natural(name: str) -> tuple[str | int, ...]:
    return tuple(int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name))


def _aliases(arrays: Sequence[Device], topology: DeviceTopology) -> Iterator[Device]:
    """dev253-N is dm-N where both namings show an array on members of the same numbers.

    The numbers from 252 on are handed out anew on each host, so the name alone proves nothing.
    """
    by_numbers: dict[tuple[int, ...], dict[str, list[str]]] = {}
    for device in (*topology, *arrays):
        names = [device.name, *device.members]
        matches = [_MAPPED.fullmatch(name) for name in names]
        if len(names) >= 3 and all(matches):
            numbers = tuple(int(match[1]) for match in matches if match)
            key = (numbers[0], *sorted(numbers[1:]))
            naming = device.name.removesuffix(str(numbers[0]))
            by_numbers.setdefault(key, {}).setdefault(naming, names)
    for namings in by_numbers.values():
        if "dm-" in namings:
            for naming, names in namings.items():
                if naming != "dm-":
                    for name in names:
                        yield Device(f"dm-{name.removeprefix(naming)}", aliases=(name,))


def _disks_below(
    part: Table, traffic: Traffic, arrays: Sequence[Device], topology: DeviceTopology
) -> Iterator[Device]:
    """The disk that each leg lies on: disks move what all legs on them do, and answer in the same order."""
    known = {name: place for place, name in enumerate(traffic.names)}
    sets: dict[frozenset[str], tuple[str, ...]] = {}
    for device in (*topology, *arrays):
        members = tuple(
            m for m in device.members if _is_mapped(m) and m in known and _lacks_members(m, topology)
        )
        if len(members) == len(device.members) >= 2:
            sets.setdefault(frozenset(members), members)
    for disks in _disk_groups(traffic, topology):
        sized = [legs for legs in sets.values() if len(legs) == len(disks)]
        for chosen in (sized, *([legs] for legs in sized if len(sized) > 1)):
            places = [known[leg] for legs in chosen for leg in legs]
            if chosen and _carries(traffic, disks, places):
                for legs in chosen:
                    yield from _in_order(part, legs, [traffic.names[disk] for disk in disks])
                break


def _lacks_members(name: str, topology: DeviceTopology) -> bool:
    device = topology.find(name)
    return device is None or not device.members


def _disk_groups(traffic: Traffic, topology: DeviceTopology) -> Iterator[list[int]]:
    """Disks that may lie below legs: of nearly equal rates, or all there are."""
    disks = [n for n, name in enumerate(traffic.names) if not _is_mapped(name) and not topology.parents(name)]
    if len(disks) < 2:
        return
    rates = np.stack([traffic.read[disks].mean(axis=1), traffic.write[disks].mean(axis=1)], axis=1)
    groups = [[disks[i] for i in sorted(group)] for group in clusters(rates, 2 * ALIKE)]
    yield from groups
    if disks not in groups:
        yield disks


def _carries(traffic: Traffic, disks: Sequence[int], legs: Sequence[int]) -> bool:
    """Whether the disks move what the legs do, both ways, in the samples that the legs have."""
    loaded = (traffic.total()[list(legs)] > 0).all(axis=0) & (
        traffic.total()[list(legs)].sum(axis=0) >= LEAST_KB
    )
    if not loaded.any():
        return False
    total = traffic.total()[list(legs)][:, loaded].sum()
    for direction in (traffic.read, traffic.write):
        above, below = direction[list(legs)][:, loaded].sum(), direction[list(disks)][:, loaded].sum()
        if max(above, below) >= MATTERS * total and abs(below / max(above, 1e-9) - 1) > EXACT_MANY:
            return False
    return True


def _in_order(part: Table, legs: Sequence[str], disks: Sequence[str]) -> Iterator[Device]:
    """Legs paired with disks by how long they take; nothing where all take the same."""
    rows = {name: part[np.asarray(part["device"] == name)] for name in (*legs, *disks)}
    common = np.array(sorted(set.intersection(*(set(own["report"].tolist()) for own in rows.values()))))
    rows = {name: own[np.isin(own["report"], common)] for name, own in rows.items()}
    reads = sum(weighted.mean(rows[leg], "read_kb_per_s") for leg in legs)
    writes = sum(weighted.mean(rows[leg], "write_kb_per_s") for leg in legs)
    column = "read_await_ms" if reads >= writes else "write_await_ms"
    waits = {name: _wait(rows[name], column) for name in rows}
    if any(np.isnan(wait) or wait <= 0 for wait in waits.values()):
        return
    above, below = (sorted(names, key=lambda name: (-waits[name], _natural(name))) for names in (legs, disks))
    for ordered in (above, below):
        if waits[ordered[0]] < APART * waits[ordered[-1]]:
            return
    for place, (leg, disk) in enumerate(zip(above, below, strict=True)):
        beside = [n for n in (place - 1, place + 1) if 0 <= n < len(above)]
        tied = [
            above[n] for n in beside if _are_tied(waits, above[n], leg) or _are_tied(waits, below[n], disk)
        ]
        why = (
            f"inferred: the disks move what the legs do, and by latency {leg} stands among the legs "
            f"where {disk} stands among the disks"
        )
        why += f"; {' and '.join(tied)} may be the one instead" if tied else ""
        yield Device(leg, members=(disk,), provenance={"members": why})


def _wait(rows: Table, column: str) -> float:
    wait = weighted.mean(rows, column)
    return weighted.mean(rows, "await_ms") if np.isnan(wait) else wait


def _are_tied(waits: dict[str, float], first: str, second: str) -> bool:
    return max(waits[first], waits[second]) < TIED * min(waits[first], waits[second])
