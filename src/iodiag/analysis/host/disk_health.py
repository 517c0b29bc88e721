"""What disks and RAID controllers report of themselves: by device, and as evidence for rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from iodiag.analysis.measure.evidence import cite_fact
from iodiag.analysis.view.view import View
from iodiag.model.capture import Fact
from iodiag.model.finding import Evidence
from iodiag.model.health_counters import COUNTED, FAILING, HEALTH_FACTS, none, shown

SPEAKING = (*FAILING, "uncorrected_errors", "crc_errors", "other_errors", "reallocated_sectors")
"""What makes a disk or its link slow; listed without any, it is no reason."""

HEAT = ("throttled_s", "throttlings", "hot_minutes")
"""What a drive counts that throttles for heat."""

_NO_DISK = re.compile(r"(loop|sr|ram|zram|fd|dm-|md)\d+.*")


class Disk(NamedTuple):
    """A disk that reports of itself; `behind` names it where `device` is a controller's volume."""

    device: str
    behind: str

    @property
    def name(self) -> str:
        """How it is called in a sentence."""
        if self.behind:
            return f"{self.behind} (below {self.device})" if self.device else self.behind
        return self.device or "a disk that the listing does not name"


class Volume(NamedTuple):
    """A volume of a RAID controller, with the facts of it; `device` is "" where nothing names it."""

    device: str
    state: str
    facts: tuple[Fact, ...]


def disk_reports(view: View) -> dict[Disk, list[Fact]]:
    """The facts of each disk, in the order of the inputs."""
    found: dict[Disk, list[Fact]] = {}
    for fact in view.facts_of(*HEALTH_FACTS):
        if fact.word("behind") or (fact.kind != "raid-controller" and _REPORTED & set(fact.values)):
            facts = found.setdefault(Disk(_device(view, fact), fact.word("behind")), [])
            # a report may have a listing as text and as JSON
            if fact.values not in [known.values for known in facts]:
                facts.append(fact)
    return found


_REPORTED = {"status", *FAILING, *COUNTED}


def reported(view: View, devices: Iterable[str], names: Sequence[str] = SPEAKING) -> Iterator[Evidence]:
    """What the disks of a finding report of themselves: for the finding where one of `names` counted.

    A listing that has none of these counters says nothing of it.
    """
    near = {leaf.name for device in devices for leaf in view.topology.leaves(device)} | set(devices)
    for disk, facts in disk_reports(view).items():
        for fact in facts if disk.device in near else ():
            counted = [name for name in names if name in fact.values]
            if counted and shown(fact.values, counted):
                yield cite_fact(fact)
            elif counted:
                text = f"{disk.name} reports {', '.join(none(fact.values, counted))}"
                yield cite_fact(fact, text, weighs="against")


def volumes(view: View) -> list[Volume]:
    """The volumes of RAID controllers, each once, in the order of the inputs."""
    found: dict[tuple[str, str], list[Fact]] = {}
    for fact in view.facts_of("raid-controller"):
        if fact.word("part").startswith("volume"):
            found.setdefault((fact.word("controller"), fact.word("part")), []).append(fact)
    result = []
    for facts in found.values():
        device = next((name for fact in facts if (name := _device(view, fact))), "")
        result.append(Volume(device, facts[-1].word("state"), tuple(facts)))
    return result


def lost_caches(view: View) -> Iterator[tuple[str, list[Fact]]]:
    """Volumes whose controller has its write cache off though it is configured or built in, and what says so.

    A failed battery takes no cache from a volume that writes back all the same.
    """
    controllers = [fact for fact in view.facts_of("raid-controller") if not fact.word("part")]
    for volume in volumes(view):
        first = volume.facts[0]
        own = [fact for fact in controllers if fact.word("controller") == first.word("controller")]
        off = [fact for fact in own if fact.word("battery") in ("failed", "learning") or fact.word("cache")]
        policies = {fact.word("write_policy") for fact in volume.facts} - {""}
        is_changed = any(fact.word("configured_policy") == "write back" for fact in volume.facts)
        if policies == {"write through"} and (off or is_changed):
            yield volume.device, [*off, *volume.facts]


def _device(view: View, fact: Fact) -> str:
    """The device that a fact names, else its controller's only named volume, else the host's only disk."""
    if named := fact.word("device"):
        return view.topology.canonical(named)
    siblings = [one for one in view.facts_of(fact.kind) if one.word("controller") and one.word("device")]
    of_controller = {
        one.word("device") for one in siblings if one.word("controller") == fact.word("controller")
    }
    disks = {leaf.name for series in view.devices for leaf in (series.leaves or (series,))}
    disks = of_controller or {name for name in disks if not _NO_DISK.fullmatch(name)}
    return view.topology.canonical(disks.pop()) if len(disks) == 1 else ""
