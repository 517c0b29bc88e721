"""A disk reports itself as failing, or has counted errors that it could not correct.

What it detects: a failed SMART status, an attribute below its threshold, an NVMe critical warning, sectors
that are pending or failed the disk's own scan, a predicted failure: these hold at the time of the listing.
Over the disk's life: errors that it could not correct, many CRC errors on its link, its endurance used up.

Why it matters: a disk tries a sector that it cannot read again and again, for seconds, and everybody behind
it waits; then it fails.

When it is wrong: a counter over a disk's life does not say when it counted, so that it alone is a notice. CRC
errors are those of a cable or a backplane, long exchanged perhaps. The listing may be older than the capture.
Reallocated sectors are no longer used; they slow nothing down, and are cited only.

References: smartctl(8); ATA/ATAPI Command Set (ACS-3), device statistics; NVM Express base specification,
SMART / Health Information; Pinheiro et al., "Failure Trends in a Large Disk Drive Population" (FAST '07).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from iodiag.analysis.host.disk_health import Disk, disk_reports
from iodiag.analysis.measure.evidence import cite_fact, say
from iodiag.analysis.view.view import View
from iodiag.model.capture import Fact
from iodiag.model.finding import Finding, Outcome
from iodiag.model.health_counters import FAILING, shown
from iodiag.model.rule import Limits, Needs, Rule, Threshold, ToClear


def detect(view: View, limits: Limits) -> Iterator[Finding | Outcome]:
    """A finding per disk that reports itself as failing, or has counted much."""
    reports = disk_reports(view)
    for disk, facts in reports.items():
        values = {name: value for fact in facts for name, value in fact.values.items()}
        failing, counted = shown(values, FAILING), shown(values, _much(values, limits))
        if failing or counted:
            # a disk that nothing names must not explain what another one does
            is_sure = bool(failing) and bool(disk.device or not view.devices)
            yield _finding(disk, facts, values, failing or counted, is_sure)
        else:
            yield RULE.clear("it reports no failure", *((disk.device,) if disk.device else ()))
    if not reports:
        reason = "no disk's own counters are given: smartctl -x or nvme smart-log"
        yield RULE.not_applicable(reason, missing=("facts.smartctl",))


def _much(values: Mapping[str, float | str], limits: Limits) -> list[str]:
    """What was counted over the disk's life and is more than happens to sound disks."""
    least = {"uncorrected_errors": 1, "crc_errors": limits.crc, "percentage_used": limits.endurance}
    return [name for name, value in least.items() if float(values.get(name, 0)) >= value]


def _commands(disk: Disk, values: Mapping[str, float | str]) -> tuple[str, ...]:
    """What reads the disk's own counters: behind a controller its node is that of a volume."""
    through, tool = disk.behind, ""
    if place := re.fullmatch(r"controller (\d+) disk (\d*):(\d+)", disk.behind):
        enclosure = f"/e{place[2]}" if place[2] else ""
        tool = f"storcli64 /c{place[1]}{enclosure}/s{place[3]} show all"
        through = f"megaraid,{values['device_id']}" if "device_id" in values else ""
    elif place := re.fullmatch(r"controller (\d+) disk ([\w:]+)", disk.behind):
        through, tool = "", f"ssacli ctrl slot={place[1]} pd {place[2]} show detail"
    elif place := re.fullmatch(r"controller disk (\d+)", disk.behind):
        through, tool = "", f"arcconf getconfig 1 pd  # device #{place[1]}"
    if not disk.behind:
        return RULE.confirm
    own = f"smartctl -x -d {through} /dev/{disk.device or 'bus/0'}" if through else "smartctl --scan"
    return (*filter(None, (own, tool)), RULE.confirm[-1])


def _finding(
    disk: Disk, facts: list[Fact], values: Mapping[str, float | str], told: list[str], is_sure: bool
) -> Finding:
    said = {**values, "disk": disk.name}
    failing = shown(values, FAILING)
    over = "" if failing else " over its life"
    return RULE.finding(
        severity="warning" if is_sure else "notice",
        confidence="high" if failing else "medium",
        devices=(disk.device,) if disk.device else (),
        summary=say("{disk} reports" + over + " " + ", ".join(told[:3]) + ".", said),
        evidence=tuple(cite_fact(fact) for fact in facts),
        refutes=("a newer listing without these", "an entry of the kernel's log that blames another part"),
        cannot_know=("when it counted them: a second listing some minutes later shows what still grows",),
        confirm=_commands(disk, values),
        remedy=(_CABLE, *RULE.remedy) if any("{crc_errors" in text for text in told) else RULE.remedy,
    )


_CABLE = "CRC errors are those of the link: exchange the cable, then the slot of the backplane."

RULE = Rule(
    id="device-health",
    explains=("extreme-latency", "slow-member", "hung-io"),
    replaces=("util-false-alarm",),
    title="A disk reports errors of its own",
    why="It retries what it cannot read for seconds, and may fail.",
    remedy=(
        "Check the backups, then replace the disk; on an array replace it before any other work on it.",
        "Until then read it as little as possible; a pending sector is settled when it is written.",
    ),
    needs=Needs(),
    thresholds={
        "crc": Threshold(
            100, "errors", "on the link", "judgement: a few come with plugging, a bad cable makes thousands"
        ),
        "endurance": Threshold(100, "%", "of the rated endurance", "NVM Express: Percentage Used"),
    },
    confirm=(
        "smartctl -x /dev/DEVICE",
        "nvme smart-log /dev/DEVICE",
        "dmesg -T | grep -iE 'I/O error|medium'",
    ),
    references=("https://www.usenix.org/conference/fast-07/failure-trends-large-disk-drive-population",),
    # the listing tells, no sample does
    to_clear=ToClear(samples=0, requests=0),
    detect=detect,
)
