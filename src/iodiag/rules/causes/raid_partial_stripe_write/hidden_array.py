"""Small writes on parity RAID that shows no line of its own: by its members, or by the host's totals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from iodiag.analysis.array.hidden_parity import HostAccount, PageTraffic, host_account, page_traffic
from iodiag.analysis.array.member_comparison import peer_groups
from iodiag.analysis.array.members import Array
from iodiag.analysis.array.parity import geometries
from iodiag.analysis.array.side_by_side import side_by_side
from iodiag.analysis.measure import grading
from iodiag.analysis.measure.evidence import Values, cite, say
from iodiag.analysis.measure.windows import is_sustained
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.finding import Confidence, Evidence
from iodiag.table.table import Table, stacked


class Bounds(NamedTuple):
    """The rule's thresholds as these tests need them: kB/s written, share of small writes, disagreement."""

    least_kb: float
    least_share: float
    most_apart: float


def unseen(view: View, known: Sequence[Array], bounds: Bounds) -> Iterator[dict[str, Any]]:
    """The fields of each finding: members that move pages alone, else the host's totals if they tell."""
    account = host_account(view, bounds.least_kb)
    told = account is not None and _tells(account, bounds)
    count = 0
    is_plain = account is not None and account.is_plain
    for devices, array in _candidates(view, known):
        if array is None and is_plain:
            continue
        rows = side_by_side(devices)
        writes = np.sum([own.floats("write_kb_per_s") for own in rows], axis=0)
        rows = [own[writes >= bounds.least_kb] for own in rows]
        found = page_traffic(rows)
        if found is not None:
            count += 1
            yield _members(devices, array, rows, found, account if told else None)
    if not count and told and account is not None and not any(array.is_seen for array in known):
        yield _host(account, bounds)


def _tells(account: HostAccount, bounds: Bounds) -> bool:
    fit = account.parity(bounds.most_apart)
    if fit is None:
        return False
    return fit[1].smaller >= bounds.least_share and fit[1].by_writes <= 1 + bounds.most_apart


def _candidates(
    view: View, known: Sequence[Array]
) -> Iterator[tuple[tuple[DeviceSeries, ...], Array | None]]:
    """Members of stated parity arrays that were not captured, then disks of equal rates without an array."""
    for array in known:
        if not array.is_seen and array.leg_rows and geometries(array):
            yield array.legs, array
    for peers in peer_groups(view):
        if peers.array is None:
            yield peers.devices, None


def _members(
    devices: Sequence[DeviceSeries],
    array: Array | None,
    rows: Sequence[Table],
    found: PageTraffic,
    account: HostAccount | None,
) -> dict[str, Any]:
    names = tuple(device.name for device in devices)
    values: Values = {
        "legs": float(len(names)),
        "names": ", ".join(names),
        "reads": found.reads,
        "writes": found.writes,
        "read_size": found.read_size_kb,
        "write_size": found.write_size_kb,
        "pairs": found.reads / found.writes,
    }
    evidence = [cite(stacked(rows), _PAGES, values, worst="write_kb_per_s")]
    points, at_most = 1 + is_sustained(rows[0]), "low"
    if array is not None:
        origin: Values = {"origin": array.device.provenance.get("level", "the topology"), "array": array.name}
        evidence.append(cite(None, f"{{origin}} states that {{array}} is {array.layout}", origin))
        points, at_most = points + 2, "medium"
    else:
        evidence.append(cite(None, _UNSTATED, values, weighs="against"))
    if account is not None:
        evidence.append(_totals(account))
        points, at_most = points + 2, "medium"
    sure: Confidence = grading.confidence(points, at_most="medium" if at_most == "medium" else "low")
    return {
        "confidence": sure,
        "severity": "notice",
        "devices": names,
        **grading.time_fields(rows[0]),
        "summary": say(_SUMMARY, values),
        "evidence": tuple(evidence),
        "refutes": ("lsblk or mdadm showing that these disks are no members of a parity array",),
        "cannot_know": ("what was asked of an array above them: capture its line as well",),
    }


def _totals(account: HostAccount) -> Evidence:
    values: Values = {
        "disks_write": account.disks_write,
        "write": account.submitted_write,
        "amplification": account.amplification,
        "disks_read": account.disks_read,
        "read": account.submitted_read,
        "extra": account.extra_reads,
    }
    return cite(account.rows, _TOTALS, values, worst="write_kb_per_s")


def _host(account: HostAccount, bounds: Bounds) -> dict[str, Any]:
    fit = account.parity(bounds.most_apart)
    shares: Values = {"by_writes": 100 * fit[1].by_writes, "by_reads": 100 * fit[1].by_reads} if fit else {}
    values: Values = {"amplification": account.amplification, "extra": account.extra_reads}
    return {
        "confidence": "low",
        "severity": "info",
        **grading.time_fields(account.rows, of_host=True),
        "summary": say(_HOST, values),
        "evidence": (
            _totals(account),
            cite(account.rows, _AGREE, shares),
            cite(account.rows, "old releases of sar -b count md and dm beside their disks", weighs="against"),
        ),
        "refutes": ("lsblk showing no parity array on this host",),
        "cannot_know": ("which device it is: sar -d, or iostat -x of the array and its members, would tell",),
    }


_SUMMARY = (
    "{names} move pages alone, as much in as out and in step: so do members of a parity array that is "
    "written in small pieces."
)
_PAGES = (
    "each of the {legs} makes {reads} reads of {read_size} kB and {writes} writes of {write_size} kB per "
    "second before merging, {pairs:.2f} reads per write"
)
_UNSTATED = "nothing states an array on {names}; a copy between volumes on the same disks looks the same"
_TOTALS = (
    "the disks of the host write {disks_write} kB/s where {write} kB/s are submitted, {amplification} times "
    "as much, and read {disks_read} kB/s where {read} kB/s are asked for: {extra} kB more per kB written"
)
_AGREE = (
    "{by_writes:.0f} % of what is written takes the slow path judging by write traffic, {by_reads:.0f} % "
    "judging by read traffic: both counts fit parity RAID"
)
_HOST = (
    "For each kB submitted to be written the host's disks write {amplification} kB and read {extra} kB more "
    "than is asked for, as under small writes to parity RAID."
)
