"""An array runs without one of its members.

What it detects: an array of which /proc/mdstat, mdadm, or the status of a mapped device says that fewer
members are active than it has slots, or a RAID controller's tool that it is degraded. With fewer members than
hold all data it has failed. Where nothing says so, members of a RAID4 or 5 that read 2 - 2/n times what the
array is asked to read, with hardly a write: each page of the missing member is rebuilt from all the others.
Where no array is described: a disk that wrote since boot and is silent in three samples and more, while
others write in equal pairs (mirrors), one disk has no twin, and these add up to what the only md array
writes. That md arrays together move what one disk does, writes included, is context: they have one leg, or
others that are not printed.

Why it matters: the next failure may lose the data, and every read of the missing member costs one
from each other member.

When it is wrong: the listing may be older than the capture; an array may have been created with a
member missing, on purpose, and a new RAID5 is made by rebuilding its last member. Counters alone are
ambiguous, so they never give more than a notice: a resync beside a steady read load can have the same
ratio. The silent disk may be a spare or a backup disk.

References: Linux Documentation/admin-guide/md.rst (degraded); mdadm(8); lvmraid(7).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from iodiag.analysis.array.array_commands import array_commands
from iodiag.analysis.array.equal_rates import disks_of
from iodiag.analysis.array.members import Array, ArrayTraffic, array_traffic, members_gone, quotient
from iodiag.analysis.array.resync import arrays_with_activity, is_rebuilt, is_recovering, read_spread
from iodiag.analysis.array.side_by_side import side_by_side
from iodiag.analysis.host.disk_health import Volume, volumes
from iodiag.analysis.measure import grading, weighted
from iodiag.analysis.measure.evidence import Values, cite, cite_fact, say
from iodiag.analysis.measure.windows import is_sustained, longest
from iodiag.analysis.view.byte_conservation import EXACT_MANY, EXACT_ONE, LEAST_KB, MANY
from iodiag.analysis.view.device_names import is_md
from iodiag.analysis.view.inferred_topology import ROUNDED_KB
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Evidence, Finding, Outcome
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear
from iodiag.model.topology import Device
from iodiag.table.table import Floats, Table, stacked

_LEAST_SAMPLES = 3
_TWIN, _SUM = 0.02, 0.05
_ONCE_USED = 0.1
"""What the leg wrote since boot, as a share of what each twin did: less was never a leg's load."""


@dataclass(frozen=True)
class DroppedMember:
    """`leg` wrote since boot (`before_kb` kB/s) and is idle; `lone` writes without a twin; `twins` are pairs.

    `array_kb` is what the array wrote, `halves_kb` the sum over one of each pair and the lone one.
    """

    array: DeviceSeries
    leg: DeviceSeries
    lone: DeviceSeries
    twins: tuple[tuple[DeviceSeries, DeviceSeries], ...] = field(repr=False)
    before_kb: float
    array_kb: float
    halves_kb: float
    rows: tuple[Table, ...] = field(repr=False)


REDUNDANT = ("raid1", "raid4", "raid5", "raid6", "raid10")


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per array that is said, or seems, to lack a member."""
    known = {array.name: array for array in arrays_with_activity(view)}
    redundant = [device for device in view.topology if device.level in REDUNDANT]
    for device in redundant:
        array = known.get(device.name)
        if members_gone(device):
            yield _stated(view, device, array, limits)
        elif device.active_slots is not None:
            yield RULE.clear("all members are active", device.name)
        elif array is not None and (rows := _seeming(array, limits)) is not None:
            yield _seems(array, rows)
        else:
            reason = "nothing says how many members are active: give /proc/mdstat or dmsetup status"
            yield RULE.undetermined(reason, device.name)
    of_controller = volumes(view)
    yield from (_judged_by_controller(volume) for volume in of_controller if volume.state)
    left = _dropped_member(view) if not redundant else None
    alone = None if redundant or of_controller else _on_one_disk(view)
    if left is not None:
        yield _has_left(left)
    elif alone is not None:
        yield alone
    elif not redundant and not of_controller:
        reason = "no redundant array is known here: give lsblk, /proc/mdstat, lvs or dmsetup status"
        yield RULE.not_applicable(reason, missing=("topology",))


def _judged_by_controller(volume: Volume) -> Finding | Outcome:
    """What the tool of a RAID controller states of a volume."""
    devices = (volume.device,) if volume.device else ()
    if volume.state == "optimal":
        return RULE.clear("its controller states that it is optimal", *devices)
    fact = volume.facts[-1]
    part, controller = fact.word("part").capitalize(), fact.word("controller")
    values: Values = {
        "volume": f"{part} of RAID controller {controller}",
        "of": f" ({volume.device})" if volume.device else "",
        "state": volume.state,
    }
    return RULE.finding(
        **(_FAILED if volume.state == "failed" else {"severity": "warning"}),
        confidence="high",
        devices=devices,
        summary=say("{volume}{of} is {state}.", values),
        evidence=tuple(cite_fact(one) for one in volume.facts),
        refutes=("a newer listing of the controller, in which it is optimal",),
        confirm=("storcli64 /c0/vall show; storcli64 /c0/eall/sall show", "ssacli ctrl all show config"),
    )


def _stated(view: View, device: Device, array: Array | None, limits: Limits) -> Finding:
    values: Values = {
        "device": device.name,
        "layout": (device.level or "").replace("raid", "RAID"),
        "slots": float(device.slots or 0),
        "active": float(device.active_slots or 0),
        "activity": device.activity or "",
        "origin": device.provenance.get("active_slots", "the topology"),
    }
    said = [
        cite_fact(fact)
        for fact in view.facts_of("mdstat", "mdadm", "dmsetup")
        if view.topology.canonical(fact.word("array") or fact.word("device")) == device.name
        and fact.number("active_slots") == device.active_slots
    ]
    stated = "{origin} says that {device} has {active} of {slots} members active"
    evidence = [*said] or [cite(None, stated, values)]
    rows = _reading(array, limits) if array is not None and not array.missing else None
    if array is not None and rows is not None:
        evidence.append(_cost(array, rows))
    if values["activity"]:
        evidence.append(cite(None, "meanwhile: {activity}", values, weighs="context"))
    is_failed = members_gone(device) > (device.parity_members or (device.slots or 0) - 1)
    has, few = ("has", ", fewer than it needs") if is_failed else ("runs with", "")
    told: dict[str, Any] = _FAILED if is_failed else {"severity": "warning"}
    if not is_failed and is_rebuilt(device):
        # a rebuild that the traffic shows is told with its cost by the rule on rebuilds
        is_told = array is not None and is_recovering(array)
        told, few = {**_REBUILT, "severity": "notice" if is_told else "warning"}, " until its rebuild ends"
    return RULE.finding(
        **told,
        confidence="high",
        devices=(device.name,),
        summary=say(f"{{device}} ({{layout}}) {has} {{active}} of {{slots}} members{few}.", values),
        evidence=tuple(evidence),
        refutes=("a newer /proc/mdstat: the one given may be older than the capture",),
        confirm=array_commands(device),
    )


_REBUILT: dict[str, Any] = {
    "remedy": (
        "Check the backups, and let the rebuild end.",
        "Find out why a member left, unless the array is new: kernel log, smartctl -x, cables.",
    ),
}
_FAILED: dict[str, Any] = {
    "severity": "critical",
    "title": "An array has failed: too many of its members are gone",
    "remedy": (
        "Write nothing to it, and do not create or initialize it again: its data may still be there.",
        "Find out why members left (kernel log, power, cables, controller) and bring sound ones back; then "
        "restore what is lost from the backups.",
    ),
}


def _cost(array: Array, rows: Table) -> Evidence:
    paid = array_traffic(rows)
    values = _numbers(array, paid)
    return cite(array.both_layers(rows), _COST, values, worst="read_kb_per_s")


def _numbers(array: Array, paid: ArrayTraffic) -> Values:
    members = max(array.slots, len(array.legs) + 1)
    parity = array.device.parity_members
    return {
        "device": array.name,
        "layout": array.layout,
        "legs": float(len(array.legs)),
        "members": float(members),
        "read": paid.read_kb,
        "legs_read": paid.legs_read_kb,
        "ratio": quotient(paid.legs_read_kb, paid.read_kb),
        "expected": 2 - (1 + parity) / members if parity else 1.0,
    }


def _reading(array: Array, limits: Limits) -> Table | None:
    """The longest window in which the array is read and hardly written."""
    if not array.is_seen or not array.leg_rows:
        return None
    read = array.rows.floats("read_kb_per_s")
    written = array.rows.floats("write_kb_per_s")
    return longest(array.rows, (read >= limits.least_read_kb) & (written <= limits.most_written / 100 * read))


def _seeming(array: Array, limits: Limits) -> Table | None:
    """A window whose reads have the ratio of one missing member, on members that read alike; or None."""
    if array.missing or not array.device.parity_members or array.device.is_inferred:
        return None
    rows = _reading(array, limits)
    if rows is None or not is_sustained(rows):
        return None
    values = _numbers(array, array_traffic(rows))
    is_near = abs(float(values["ratio"]) / float(values["expected"]) - 1) <= limits.within / 100
    apart = read_spread(array)[rows["place"]]
    apart = apart[~np.isnan(apart)]
    is_alike = len(apart) > 0 and float(np.median(apart)) <= limits.alike / 100
    return rows if is_near and is_alike else None


def _seems(array: Array, rows: Table) -> Finding:
    values = _numbers(array, array_traffic(rows))
    return RULE.finding(
        severity="notice",
        confidence=grading.confidence(2),
        **grading.device_fields(rows, array.name),
        summary=say("{device} ({layout}) reads on its members as if one of {members} were missing.", values),
        evidence=(
            _cost(array, rows),
            cite(None, "nothing says how many members {device} has active", values, weighs="against"),
        ),
        refutes=("cat /proc/mdstat showing all members up", "a resync during these samples"),
    )


def _has_left(left: DroppedMember) -> Finding:
    """A leg that wrote since boot and is silent, beside twins and one disk without a twin."""
    name = left.array.name
    values: Values = {
        "device": name,
        "leg": left.leg.name,
        "lone": left.lone.name,
        "twins": "; ".join(f"{one.name} and {other.name}" for one, other in left.twins),
        "before": left.before_kb,
        "samples": float(len(left.rows[0])),
        "array_kb": left.array_kb,
        "halves_kb": left.halves_kb,
    }
    rows = stacked(left.rows)
    return RULE.finding(
        severity="notice",
        confidence="medium",
        peers=(left.lone.name, *(series.name for pair in left.twins for series in pair)),
        **grading.device_fields(left.rows[0], name, left.leg.name),
        summary=say(
            "{leg} seems to have left {device}: it wrote {before} kB/s since boot and nothing in {samples} "
            "samples, while {twins} carry equal writes (mirrors) and {lone} writes without a twin.",
            values,
        ),
        evidence=(
            cite(rows, "{twins} write the same in every sample: a mirror", values),
            cite(
                rows, "{device} writes {array_kb} kB/s; one of each pair and {lone} write {halves_kb}", values
            ),
            cite(left.leg.samples, "{leg} completed nothing in {samples} samples", values),
            cite(None, "nothing states the members of {device}", values, weighs="against"),
        ),
        refutes=("cat /proc/mdstat showing all members up", "another use of the silent disk before"),
        confirm=("cat /proc/mdstat", f"mdadm --detail /dev/{name}", f"smartctl -x /dev/{left.leg.name}"),
    )


_COST = (
    "the {legs} members read {legs_read} kB/s for {read} kB/s asked of {device}, {ratio} times as much; with "
    "one of {members} missing, random reads cost {expected} times"
)


def _dropped_member(view: View) -> DroppedMember | None:
    """The only disk that fell silent beside the only md array that writes, where all else is paired."""
    arrays = [s for s in view.devices if is_md(s.name) and weighted.mean(s.samples, "write_kb_per_s") > 0]
    disks = disks_of(view)
    silent = [s for s in disks if not (np.nan_to_num(s.samples.floats("ios_per_s")) > 0).any()]
    writing = [s for s in disks if weighted.mean(s.samples, "write_kb_per_s") > 0]
    used = [(series, kb) for series in silent if (kb := _before(view, series.name)) > 0]
    if len(arrays) != 1 or len(used) != 1 or len(writing) < 3:
        return None
    array, (leg, before) = arrays[0], used[0]
    rows = side_by_side((array, *writing))
    if len(rows[0]) < _LEAST_SAMPLES:
        return None
    written = [part.floats("write_kb_per_s") for part in rows]
    pairs, lone = _twins(written[1:])
    if not pairs or len(lone) != 1 or before < _ONCE_USED * _before(view, writing[pairs[0][0]].name):
        return None
    halves = sum((written[1 + first] for first, _ in pairs), written[1 + lone[0]])
    if abs(halves.sum() - written[0].sum()) > _SUM * written[0].sum():
        return None
    return DroppedMember(
        array=array,
        leg=leg,
        lone=writing[lone[0]],
        twins=tuple((writing[first], writing[second]) for first, second in pairs),
        before_kb=before,
        array_kb=float(written[0].mean()),
        halves_kb=float(halves.mean()),
        rows=tuple(rows),
    )


def _on_one_disk(view: View) -> Finding | None:
    """That md arrays nobody describes move together what the disk that writes most does, writes included.

    What a mirror writes appears on two disks, whichever of them it reads; what a stripe does on all.
    """
    arrays = [s for s in view.devices if is_md(s.name) and not (s.device and s.device.members)]
    writes = {s.name: weighted.or_zero(weighted.mean(s.samples, "write_kb_per_s")) for s in disks_of(view)}
    first, second, *_ = [*sorted(writes, key=lambda name: -writes[name]), "", ""]
    disk = view.series(first)
    if not arrays or disk is None or max(LEAST_KB, 2 * writes.get(second, 0.0)) > writes[first]:
        return None
    rows, *parts = side_by_side((disk, *arrays))
    exact = EXACT_MANY if len(rows) >= MANY else EXACT_ONE
    values: Values = {"disk": first, "arrays": ", ".join(series.name for series in arrays)}
    for way in ("read", "write"):
        own, *others = (part.floats(f"{way}_kb_per_s") for part in (rows, *parts))
        asked = np.sum(others, axis=0)
        if not len(rows) or not (np.abs(own - asked) <= exact * own + ROUNDED_KB).all():
            return None
        values |= {way: float(own.mean()), f"{way}_asked": float(asked.mean())}
    told = "{disk} writes {write} kB/s for {write_asked} asked of {arrays}, and reads {read} for {read_asked}"
    return RULE.finding(
        **_OF_ONE_DISK,
        **grading.device_fields(rows, *(series.name for series in arrays), first),
        summary=say(
            "All that {arrays} read and write is on {disk}: they have one leg, or others that are not shown.",
            values,
        ),
        evidence=(cite(rows, told, values),),
    )


_OF_ONE_DISK: dict[str, Any] = {
    "severity": "info",
    "confidence": "medium",
    "title": "All that the arrays move is on one disk",
    "remedy": ("See how many members they have, and whether any left.",),
    "refutes": ("another disk that writes as much, which was left out of the capture",),
    "confirm": ("cat /proc/mdstat",),
}


def _before(view: View, name: str) -> float:
    """What a device wrote since boot, in kB/s; 0 where nothing says so."""
    rows = view.since_boot.get("disk")
    if rows is None:
        return 0.0
    return weighted.or_zero(weighted.mean(rows[np.asarray(rows["device"] == name)], "write_kb_per_s"))


def _twins(written: list[Floats]) -> tuple[list[tuple[int, int]], list[int]]:
    """Pairs of disks that write the same in every sample, and those without a twin."""
    rest, pairs, lone = list(range(len(written))), [], []
    while rest:
        first = rest.pop(0)
        twin = next((n for n in rest if np.allclose(written[first], written[n], rtol=_TWIN, atol=1)), None)
        if twin is None:
            lone.append(first)
        else:
            rest.remove(twin)
            pairs.append((first, twin))
    return pairs, lone


RULE = Rule(
    id="raid-degraded",
    explains=("latency-above-baseline",),
    title="An array runs without one of its members",
    why="The next failure may lose the data, and reads of the missing member cost one from each other.",
    remedy=(
        "Replace the member and let the array rebuild; check the backups first.",
        "Find out why it left: kernel log, smartctl -x of the disk, cables.",
    ),
    needs=Needs(),
    thresholds={
        "least_read_kb": Threshold(256, "kB/s", "read from the array, to see the cost", "less moves no disk"),
        "most_written": Threshold(5, "%", "written, of what is read", "writes cost extra reads as well"),
        "within": Threshold(5, "%", "of the ratio that one missing member gives", "measured 1.498 for 1.5"),
        "alike": Threshold(15, "%", "apart, the reads of the members", "random reads of a second scatter so"),
    },
    confirm=("cat /proc/mdstat", "mdadm --detail --scan -v", "lvs -a -o +health_status"),
    references=("https://docs.kernel.org/admin-guide/md.html",),
    pictures=("stack",),
    # mdstat and its like tell, no sample does
    to_clear=ToClear(samples=0, requests=0),
    detect=detect,
)
