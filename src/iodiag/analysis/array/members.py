"""An array beside its members: what it was asked to move, and what they moved for it.

Bytes are conserved through a stack, so the sums over an array's members against the array's own
line tell what the layout costs, whatever the request sizes on either side: write amplification
α = ΣB_w(members) / B_w(array), extra reads ρ = (ΣB_r(members) - B_r(array)) / B_w(array). Sums go
over samples of the same reports only, and a ratio is one of sums.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from iodiag.analysis.array.side_by_side import side_by_side
from iodiag.analysis.measure import weighted
from iodiag.analysis.view.request_columns import least_writes
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.topology import Device
from iodiag.model.units import KB_PER_PAGE
from iodiag.table.table import Column, Table, stacked

PEER_LEVELS = ("raid0", "raid1", "raid4", "raid5", "raid6", "raid10", "striped")
"""Layouts whose members all carry the same kind of load: legs. Parts of a linear volume do not."""

_VAGUE_LEVELS = (None, "raid", "lvm", "dm")
_DEEPEST = 8
_IMMATERIAL = 0.05


@dataclass(frozen=True)
class Array:
    """An array and its legs over the reports in which all of them have a sample.

    `rows` are the array's samples there, with columns for the sums over the legs: `legs_read_kb_per_s`,
    `legs_write_kb_per_s`, `legs_ios_per_s`; `excess_read_kb_per_s`, what the legs read that neither the
    array's reads nor missing members explain; `paged_write_kb_per_s`, what it wrote in whole pages;
    `place`, the number of the sample among them.
    `leg_rows` are the legs' samples, row by row the same reports. `missing` names members without
    a sample; with any, `rows` is empty. `shared` names legs whose counters hold other traffic too;
    `has_images` says that LVM names the members as legs of RAID.
    Where the array has no samples of its own, `is_seen` is false and its own columns are NaN.
    """

    name: str
    device: Device
    legs: tuple[DeviceSeries, ...] = field(repr=False)
    rows: Table = field(repr=False)
    leg_rows: tuple[Table, ...] = field(repr=False)
    missing: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    is_seen: bool = True
    has_images: bool = False

    @property
    def level(self) -> str | None:
        """The level, where it is known more exactly than that it is some RAID."""
        return None if self.device.level in _VAGUE_LEVELS else self.device.level

    @property
    def is_level_stated(self) -> bool:
        """Whether an input says which level it is."""
        return self.level is not None and not self._origin("level").startswith("inferred")

    @property
    def is_stated(self) -> bool:
        """Whether an input says what the members are."""
        return not self._origin("members").startswith("inferred")

    def _origin(self, name: str) -> str:
        return self.device.provenance.get(name, "")

    @property
    def slots(self) -> int:
        """How many members the layout has, failed ones included."""
        return max(self.device.slots or 0, len(self.legs) + len(self.missing))

    @property
    def gone(self) -> int:
        """How many members are known to have failed."""
        return members_gone(self.device)

    @property
    def read_cost(self) -> float:
        """What random reads cost at most: kB read on the legs per kB asked of the array.

        On parity RAID with members gone, a page of theirs is rebuilt from n - p others.
        """
        members, parity = self.slots, self.device.parity_members
        if not parity:
            return 1.0
        return (members - self.gone + self.gone * (members - parity)) / members

    @property
    def has_peers(self) -> bool:
        """Whether the legs carry the same kind of load, so that they can be compared."""
        if self.level is None:
            return self.has_images or not self.is_stated or self.device.level == "raid"
        return self.level in PEER_LEVELS

    @property
    def layout(self) -> str:
        """What the array is, in words: RAID5, by its traffic RAID5, of unknown level."""
        if self.level is None:
            return "of unknown level"
        return ("" if self.is_level_stated else "by its traffic ") + self.level.replace("raid", "RAID")

    def legs_at(self, rows: Table) -> list[Table]:
        """The samples of each leg in some of the array's `rows`."""
        return [leg[rows["place"]] for leg in self.leg_rows]

    def both_layers(self, rows: Table) -> Table:
        """The samples of the array and of its legs in some of its `rows`, for evidence to cite."""
        return stacked([rows, *self.legs_at(rows)])

    def leg_mean(self, rows: Table, column: str) -> list[float]:
        """The mean of a column per leg, over some of the array's `rows`."""
        return [weighted.mean(leg, column) for leg in self.legs_at(rows)]


def members_gone(device: Device) -> int:
    """How many members of an array are known to be out of it.

    While an array is first synchronised its legs are not in sync, but none of them is gone.
    """
    if device.slots is None or device.active_slots is None or (device.activity or "").startswith("resync"):
        return 0
    return max(0, device.slots - device.active_slots)


class ArrayTraffic(NamedTuple):
    """What an array moved and what its legs moved, in kB/s and requests/s over the same samples."""

    read_kb: float
    write_kb: float
    paged_write_kb: float
    ios: float
    legs_read_kb: float
    legs_write_kb: float
    legs_ios: float
    excess_read_kb: float
    requests: float

    @property
    def amplification(self) -> float:
        """α: kB that the legs wrote per kB written to the array, in whole pages."""
        return quotient(self.legs_write_kb, self.paged_write_kb)

    @property
    def extra_reads(self) -> float:
        """ρ: kB that the legs read beyond the array's own reads, per kB written to it."""
        return quotient(self.excess_read_kb, self.paged_write_kb)


def quotient(above: float, below: float) -> float:
    """A ratio of sums; NaN where there is nothing to divide by."""
    return above / below if below > 0 else float("nan")


def arrays(view: View) -> Iterator[Array]:
    """Every array whose members are known, stated or inferred, and have samples, or itself has."""
    shown = {series.name for series in view.devices}
    seen = [series.device for series in view.devices if series.device is not None]
    unseen = [device for device in view.topology if device.name not in shown]
    for device in (*seen, *unseen):
        if len(device.members) >= 2 and (array := array_of(view, device)) is not None:
            yield array


def array_of(view: View, device: Device) -> Array | None:
    """A device with its members' samples; None where they, or their lack, cannot be told apart."""
    found = {member: member_series(view, member) for member in device.members}
    legs = tuple({leg.name: leg for leg in found.values() if leg is not None}.values())
    missing = tuple(member for member, leg in found.items() if leg is None)
    if len(legs) + len(missing) < len(device.members):
        return None  # two members on one disk: its counters are those of both
    series = view.series(device.name)
    array = Array(
        name=device.name,
        device=device,
        legs=legs,
        rows=Table.of_columns({}, 0),
        leg_rows=(),
        missing=missing,
        shared=tuple(leg.name for leg in legs if _carries_more(view, device, leg)),
        is_seen=series is not None,
        has_images=all(_is_image(view, member) for member in device.members),
    )
    if len(legs) >= 2 and len(missing) <= array.gone:
        return _with_rows(array, series)
    return array if array.is_seen else None


def _with_rows(array: Array, series: DeviceSeries | None) -> Array:
    """The array with its samples and those of its legs, report by report."""
    if series is not None:
        rows, *leg_rows = side_by_side((series, *array.legs))
    else:
        leg_rows = side_by_side(array.legs)
        rows = leg_rows[0].only(_PLACE)
        unknown = np.full(len(rows), np.nan)
        rows = rows.with_columns(read_kb_per_s=unknown, write_kb_per_s=unknown, ios_per_s=unknown)
    array = replace(array, rows=rows, leg_rows=tuple(leg_rows), missing=())
    return replace(array, rows=_with_sums(array))


_PLACE = ("source", "line", "host", "time", "interval_s", "segment", "report", "stream", "sample")


def array_traffic(rows: Table) -> ArrayTraffic:
    """The traffic over some of an Array's `rows`."""
    *rates, _ = ArrayTraffic._fields
    means = {name: weighted.mean(rows, f"{name}_per_s") for name in rates}
    counted = rows.floats("ios_per_s") + rows.floats("legs_ios_per_s")
    requests = float(np.nansum(counted * weighted.seconds_or_one(rows)))
    return ArrayTraffic(**means, requests=requests)


def member_series(view: View, member: str) -> DeviceSeries | None:
    """A member's samples; those of the one device below it where it has none of its own.

    iostat shows no partitions unless asked to, and a list of disks leaves mapped devices out.
    """
    for _ in range(_DEEPEST):
        if (series := view.series(member)) is not None:
            return series
        below = view.topology.members(member)
        if len(below) != 1:
            return None
        member = below[0].name
    return None


def _is_image(view: View, member: str) -> bool:
    """Whether LVM names a device as a leg of a RAID volume: vg-data_rimage_0."""
    device = view.topology.find(member)
    names = (member, *((device.name, *device.aliases) if device else ()))
    return any(re.search(r"_[rm]image_\d+$", name) for name in names)


def _carries_more(view: View, array: Device, leg: DeviceSeries) -> bool:
    """Whether a leg stands in for a member beside which it carries other traffic, or may."""
    members = {view.topology.canonical(member) for member in array.members}
    if leg.name in members:
        return False
    least = _IMMATERIAL * weighted.mean(leg.samples, "kb_per_s")
    for part in view.topology.parents(leg.name):
        if part.name in members:
            continue
        for user in view.topology.parents(part.name) or (part,):
            series = view.series(user.name)
            if series is None or weighted.mean(series.samples, "kb_per_s") > least:
                return True
    return False


def _with_sums(array: Array) -> Table:
    """The array's rows with the sums over its legs.

    Parity RAID moves whole pages: a write of one sector costs as much as one of 4 kB, so the
    ratios are taken per page touched.
    """
    rows = array.rows
    columns: dict[str, Column] = {"place": np.arange(len(rows))}
    for column in ("read_kb_per_s", "write_kb_per_s", "ios_per_s"):
        columns[f"legs_{column}"] = sum(leg.floats(column) for leg in array.leg_rows)
    asked = rows.floats("read_kb_per_s") * array.read_cost
    columns["excess_read_kb_per_s"] = columns["legs_read_kb_per_s"] - asked
    written = rows.floats("write_kb_per_s")
    pages = np.nan_to_num(least_writes(rows)) * KB_PER_PAGE
    columns["paged_write_kb_per_s"] = np.where(written > 0, np.maximum(written, pages), written)
    return rows.with_columns(**columns)
