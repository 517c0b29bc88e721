"""Traffic on an array's members that nobody asked the array for: resync, check, rebuild, reshape.

A check or resync reads all members alike; a rebuild reads all but one and writes that one as much.
What small writes on parity and reads of missing members may cost is taken off first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from iodiag.analysis.array.equal_rates import disks_of, equal_rates
from iodiag.analysis.array.members import Array, array_of, arrays, member_series, members_gone, quotient
from iodiag.analysis.array.parity import geometries
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.windows import windows
from iodiag.analysis.view.device_names import is_md, is_physical
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.topology import Device
from iodiag.model.units import KB_PER_PAGE
from iodiag.table.table import Floats, Mask, Table

ALIKE = 0.1
"""Reads of members that differ by less are alike: rounding and the edges of samples."""

EXACTLY = 0.01
"""Reads of members under a check: measured 0.4 % apart in the median second."""

LEAST_KB = 256.0
"""Less than this moves no disk; an idle array still touches its superblocks."""

_ASKED = 0.05

MATERIAL = 0.2
"""Share of what the members do from which a resync slows the rest: without it a closed load gains at most
1/(1 - share), a quarter (utilisation law)."""


def unasked_reads(array: Array, rows: Table) -> Floats:
    """kB/s that the legs read beyond all that the array's own reads and writes may cost.

    Where a member of a parity array is gone, or may be, any read can cost one from each of n - p members.
    """
    layouts = geometries(array)
    may_lack = array.device.active_slots is None or array.gone > 0
    per_read = max((g.members - g.parity for g in layouts), default=1) if may_lack else 1
    per_write = max((g.small_writes for g in layouts), default=0)
    asked = per_read * rows.floats("read_kb_per_s")
    asked = asked + per_write * rows.floats("paged_write_kb_per_s")
    if not array.is_seen and array.device.activity:
        asked = np.zeros(len(rows))  # the array was not captured, but is said to be at it
    return np.asarray(rows.floats("legs_read_kb_per_s") - asked)


def share_of_load(array: Array, rows: Table) -> Floats:
    """What nobody asked for, as a share of all that the legs move or of their requests, whichever is more."""
    moved = unasked_reads(array, rows)
    reads = np.sum([leg.floats("reads_per_s") for leg in array.legs_at(rows)], axis=0)
    read_kb, written_kb, ios = (rows.floats(f"legs_{name}_per_s") for name in ("read_kb", "write_kb", "ios"))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.fmax(moved / (read_kb + written_kb), moved / read_kb * reads / ios))


def resyncing(array: Array) -> Mask:
    """The samples (of an array's `rows`) in which its members read alike what nobody asked for."""
    if not array.leg_rows:
        return np.zeros(len(array.rows), dtype=np.bool_)
    is_alike = read_spread(array) <= ALIKE
    return np.asarray((unasked_reads(array, array.rows) >= LEAST_KB) & (is_alike | is_rebuild(array)))


def window(array: Array) -> Table | None:
    """The longest run of such samples, or None.

    Small writes read before they are counted as written: at the start of a burst of them a sample
    looks the same. So what was not asked for must not be asked for in the samples beside it either.
    """
    for rows in windows(array.rows, resyncing(array)):
        first, last = int(rows["place"][0]), int(rows["place"][-1])
        wider = array.rows[max(0, first - 1) : last + 2]
        wider = wider[wider["stream"] == rows["stream"][0]]
        lengths = weighted.lengths(wider)
        if float((unasked_reads(array, wider) * lengths).sum() / lengths.sum()) >= LEAST_KB * len(rows) / len(
            wider
        ):
            return rows
    return None


def is_rebuilt(device: Device) -> bool:
    """Whether it is stated that a member that is gone is being rebuilt."""
    return (device.activity or "").startswith("recovery") and members_gone(device) > 0


def is_recovering(array: Array) -> bool:
    """Whether a member that is gone is being rebuilt, as stated and as the traffic shows."""
    return is_rebuilt(array.device) and not array.missing and window(array) is not None


def arrays_with_activity(view: View) -> list[Array]:
    """Every array; of one that is stated to be resynced, and of which members have no samples, the others.

    A resync reads all members alike, so those that are seen tell of it.
    """
    found = {array.name: array for array in arrays(view)}
    for device in view.topology:
        array = found.get(device.name)
        if device.activity and (array is None or array.missing):
            seen = tuple(member for member in device.members if member_series(view, member) is not None)
            part = replace(device, members=seen, slots=device.slots or len(device.members))
            if len(seen) >= 2 and (narrowed := array_of(view, part)) is not None:
                found[device.name] = narrowed
    return list(found.values())


def read_spread(array: Array) -> Floats:
    """How far the reads of the legs are apart, sample by sample, as a share of their mean."""
    reads = _per_leg(array, "read_kb_per_s")
    return np.asarray((reads.max(axis=0) - reads.min(axis=0)) / np.maximum(reads.mean(axis=0), 1e-9))


def is_rebuild(array: Array) -> Mask:
    """All legs but one read alike, and that one writes as much, as far as it is not asked to."""
    reads, writes = _per_leg(array, "read_kb_per_s"), _per_leg(array, "write_kb_per_s")
    target = np.argmin(reads, axis=0)[np.newaxis]
    read = np.take_along_axis(reads, target, axis=0)[0]
    others = (reads.sum(axis=0) - read) / max(1, len(reads) - 1)
    in_order = np.sort(reads, axis=0)
    apart = (in_order[-1] - in_order[min(1, len(reads) - 1)]) / np.maximum(others, 1e-9)
    asked = np.sort(writes, axis=0)[:-1].mean(axis=0)
    written = np.take_along_axis(writes, target, axis=0)[0] - asked
    is_target = (read <= ALIKE * others) & (np.abs(written - others) <= 2 * ALIKE * others)
    return np.asarray(is_target & (apart <= ALIKE))


def _per_leg(array: Array, column: str) -> Floats:
    return np.array([leg.floats(column) for leg in array.leg_rows])


def suspected(view: View) -> Array | None:
    """The only md array whose level nothing tells, on the only disks that read alike while it idles.

    Three disks and more that read within a hundredth of each other, second by second, are read by one
    who knows all of them.
    """
    known = [array for array in arrays(view) if array.has_peers]
    idle = [s for s in view.devices if is_md(s.name) and s.name not in [array.name for array in known]]
    claimed = {leg.name for array in known for leg in array.legs}
    disks = [s for s in view.devices if is_physical(s.name) and s.name not in claimed]
    groups = [group for group in equal_rates(disks) if len(group) >= 3]
    if len(idle) != 1 or len(groups) != 1:
        return None
    names = tuple(series.name for series in groups[0])
    why = f"inferred: {', '.join(names)} read alike while {idle[0].name}, the only array, idles"
    device = idle[0].device
    if device is not None and device.members:
        if {*device.members} != {*names}:
            return None
        why = device.provenance["members"]
    array = array_of(view, Device(idle[0].name, members=names, provenance={"members": why}))
    if array is None or not len(array.rows):
        return None
    rows = array.rows[resyncing(array)]
    is_exact = len(rows) and float(np.median(read_spread(array)[rows["place"]])) <= EXACTLY
    return array if is_exact else None


@dataclass(frozen=True)
class Unasked:
    """Disks beside md arrays that hardly read: `sources`, of which the first reads `read_kb` kB/s.

    They read for `target`, which is written `written_kb` kB/s, or the second of them reads `other_kb`.
    `size_kb` is the mean size of the first's reads, `piece_kb` that before they were merged; `asked_kb` and
    `asked_ios` are what the arrays were asked for.
    """

    sources: tuple[DeviceSeries, ...]
    target: DeviceSeries | None
    read_kb: float
    other_kb: float
    written_kb: float
    asked_kb: float
    asked_ios: float
    size_kb: float
    piece_kb: float


def unasked(view: View) -> Unasked | None:
    """What disks move that no array or volume of the capture asked for; None without an md array.

    A rebuild of a mirror reads one disk and writes as much to the other; a check reads two or more alike.
    """
    disks = [s for s in disks_of(view) if weighted.mean(s.samples, "kb_per_s") >= LEAST_KB]
    above = [s for s in view.devices if s not in disks and not is_physical(s.name)]
    if not any(is_md(s.name) for s in above) or len(disks) != 2:
        return None
    asked = {
        way: sum(weighted.or_zero(weighted.mean(s.samples, f"{way}_kb_per_s")) for s in above)
        for way in ("read", "write")
    }
    first, second = sorted(disks, key=lambda s: -weighted.mean(s.samples, "read_kb_per_s"))
    read, other = (weighted.mean(s.samples, "read_kb_per_s") for s in (first, second))
    written = weighted.mean(second.samples, "write_kb_per_s") - asked["write"]
    merged = weighted.or_zero(weighted.mean(first.samples, "read_merges_per_s"))
    rate = weighted.mean(first.samples, "reads_per_s")
    ios = sum(weighted.or_zero(weighted.mean(s.samples, "ios_per_s")) for s in above if is_md(s.name))
    numbers = (asked["read"] + asked["write"], ios, quotient(read, rate), quotient(read, rate + merged))
    if not read >= LEAST_KB or asked["read"] > _ASKED * read:
        return None
    if other <= ALIKE * read and abs(written - read) <= ALIKE / 2 * read:
        return Unasked((first,), second, read, other, written, *numbers)
    if read - other <= EXACTLY * read:
        return Unasked((first, second), None, read, other, 0.0, *numbers)
    return None


def reading_in_step(view: View) -> list[DeviceSeries]:
    """Three disks and more, all that do anything, that read single pages alike and write nothing; else none.

    RAID4, 5 and 6 are checked and resynced page by page. A load has requests of its own size, and spreads
    them by chance.
    """
    used = [one for one in view.devices if weighted.mean(one.samples, "kb_per_s") >= LEAST_KB]
    reads = [weighted.mean(one.samples, "read_kb_per_s") for one in used]
    if len(used) < 3 or not max(reads) <= (1 + EXACTLY) * min(reads):
        return []
    return used if all(map(_reads_pages, used)) else []


def _reads_pages(series: DeviceSeries) -> bool:
    kb, rate, merged, written = (
        weighted.mean(series.samples, name)
        for name in ("read_kb_per_s", "reads_per_s", "read_merges_per_s", "write_kb_per_s")
    )
    is_page = abs(kb - KB_PER_PAGE * (rate + merged)) <= EXACTLY * kb
    return is_physical(series.name) and merged > 0 and is_page and written <= EXACTLY * kb
