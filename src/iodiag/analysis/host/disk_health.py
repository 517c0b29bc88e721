"""What disks report of themselves: by device, and as evidence for rules that see a device be slow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from iodiag.analysis.measure.evidence import cite_fact
from iodiag.analysis.measure.facts import word
from iodiag.analysis.view.view import View
from iodiag.model.capture import Fact
from iodiag.model.finding import Evidence
from iodiag.model.health_counters import FAILING, HEALTH_FACTS, shown


class Disk(NamedTuple):
    """A disk that reports of itself; `behind` names it where `device` is a controller's volume."""

    device: str
    behind: str

    @property
    def name(self) -> str:
        """How it is called in a sentence."""
        return f"{self.device} ({self.behind})" if self.behind and self.device else self.device or self.behind


SPEAKING = (*FAILING, "uncorrected_errors", "crc_errors", "other_errors", "reallocated_sectors")
"""What makes a disk or its link slow; listed without any, it is no reason."""

HEAT = ("throttled_s", "throttlings", "hot_minutes")
"""What a drive counts that throttles for heat."""


def disk_reports(view: View) -> dict[Disk, list[Fact]]:
    """The facts of each disk, in the order of the inputs; those that name no disk are of the disk ""."""
    found: dict[Disk, list[Fact]] = {}
    for fact in view.facts_of(*HEALTH_FACTS):
        device = word(fact, "device")
        disk = Disk(view.topology.canonical(device) if device else "", word(fact, "behind"))
        found.setdefault(disk, []).append(fact)
    return found


def reported(view: View, devices: Iterable[str], names: Iterable[str] = SPEAKING) -> Iterator[Evidence]:
    """What the disks of a finding report of themselves: for the finding where one of `names` counted.

    A listing that has none of these counters says nothing of it.
    """
    wanted = set(names)
    near = {leaf.name for device in devices for leaf in view.topology.leaves(device)} | set(devices)
    for disk, facts in disk_reports(view).items():
        for fact in facts if disk.device in near else ():
            if counted := wanted & set(fact.values):
                yield cite_fact(fact, weighs="for" if shown(fact.values, counted) else "against")
