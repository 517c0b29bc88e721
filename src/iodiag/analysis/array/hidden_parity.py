"""Parity RAID that shows no line of its own: its members' traffic, and the host's totals.

Members of a parity array that is written in small pieces move nothing but pages, as much in as out,
in step. And what the disks of a host write beyond what was submitted to it (sar -b against sar -B,
or the sum over disks against vmstat's bo) is write amplification, measured without any array's
line: submit_bio counts a byte once, each disk counts it again. A RAID5 under small writes measured
1.995 and 1.99 extra reads that way, full stripes 1.333, RAID10 1.998, a plain disk 1.000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from iodiag.analysis.array.equal_rates import without_parts
from iodiag.analysis.array.side_by_side import first_row_per_report, paired, report_keys, total_of
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.correlation import spearman
from iodiag.analysis.measure.parity_costs import Geometry, Share, small_share
from iodiag.analysis.view.device_names import is_physical
from iodiag.analysis.view.view import View
from iodiag.table.table import Places, Table, numbered, stacked

PAGE_KB = (3.9, 4.8)
"""Mean size before merging of a member's requests that are pages, and a few of the superblock's."""

MOST_APART = 0.05
IN_STEP = 0.8
READS_PER_WRITE = (0.5, 1.25)

MOST_MEMBERS = 24

PLAIN = 1.2
"""Amplification of a host without redundancy: measured 1.000; file systems of copies submit each copy."""


class PageTraffic(NamedTuple):
    """Members that move pages alone: requests per second before merging, and their mean size."""

    reads: float
    writes: float
    read_size_kb: float
    write_size_kb: float


def page_traffic(rows: Sequence[Table]) -> PageTraffic | None:
    """What three and more devices have in common if they are members under small writes, or None.

    `rows` are their samples, row by row the same reports.
    """
    if len(rows) < 3 or not len(rows[0]):
        return None
    counts = np.array([[_bios(frame, "read"), _bios(frame, "write")] for frame in rows])
    if np.isnan(counts).any() or not (counts > 0).all():
        return None
    reads, writes = counts.mean(axis=0)
    is_alike = (np.ptp(counts, axis=0) <= MOST_APART * counts.mean(axis=0)).all()
    if not (is_alike and READS_PER_WRITE[0] <= reads / writes <= READS_PER_WRITE[1]):
        return None
    kb = np.array([[weighted.mean(frame, f"{d}_kb_per_s") for d in ("read", "write")] for frame in rows])
    sizes = kb.sum(axis=0) / counts.sum(axis=0)
    are_pages = ((sizes >= PAGE_KB[0]) & (sizes <= PAGE_KB[1])).all()
    if not (are_pages and _in_step(rows)):
        return None
    return PageTraffic(float(reads), float(writes), float(sizes[0]), float(sizes[1]))


def _bios(frame: Table, direction: str) -> float:
    """Requests per second before merging: those that were completed and those merged into them."""
    return weighted.mean(frame, f"{direction}s_per_s") + weighted.mean(frame, f"{direction}_merges_per_s")


def _in_step(rows: Sequence[Table]) -> bool:
    """Whether reads rise and fall with writes, where there are samples enough and they do."""
    read, write = (
        np.sum([frame.floats(f"{name}_kb_per_s") for frame in rows], axis=0) for name in ("read", "write")
    )
    if len(read) < 5 or any(np.nanstd(kb, ddof=1) <= 0.05 * np.nanmean(kb) for kb in (read, write)):
        return True
    return spearman(read, write) >= IN_STEP


@dataclass(frozen=True)
class HostAccount:
    """What a host's disks moved, and what was submitted to it, in kB/s over the same samples."""

    rows: Table = field(repr=False)
    disks_read: float
    disks_write: float
    submitted_read: float
    submitted_write: float

    @property
    def amplification(self) -> float:
        """α: kB written by the disks per kB submitted."""
        return self.disks_write / self.submitted_write

    @property
    def extra_reads(self) -> float:
        """ρ: kB read by the disks beyond what was submitted, per kB submitted to be written."""
        return (self.disks_read - self.submitted_read) / self.submitted_write

    def parity(self, most_apart: float) -> tuple[Geometry, Share] | None:
        """A parity layout on which both tell the same share of small writes; the closest one."""
        options = [Geometry(n, p) for p in (1, 2) for n in range(3, MOST_MEMBERS + 1)]
        shares = [
            (geometry, small_share(self.amplification, self.extra_reads, geometry))
            for geometry in options
            if geometry.is_possible
        ]
        # of several that fit alike the plainest: RAID5 before RAID6, few members before many
        geometry, share = min(shares, key=lambda pair: (pair[1].disagreement, pair[0].parity))
        return (geometry, share) if share.disagreement <= most_apart else None

    @property
    def is_plain(self) -> bool:
        """Whether the disks moved what was submitted: no copies, no parity."""
        return self.amplification <= PLAIN and abs(self.extra_reads) <= PLAIN - 1


def host_account(view: View, least_kb: float) -> HostAccount | None:
    """The host's account over the samples of one source that wrote enough; or None.

    What disks moved is the sum over the disks themselves, where the source shows devices; else sar -b,
    which counts physical devices alone, but in sysstat before 10.1 md and dm as well.
    """
    disks, paging = _disk_totals(view), view.samples("paging")
    if disks is None or paging is None or not set(_SUBMITTED) <= paging.names.keys():
        return None
    own, other = paired(disks, paging)
    rows = disks[own].with_columns(**{name: paging.floats(name)[other] for name in _SUBMITTED})
    rows = rows[rows.floats("pgpgout_kb_per_s") >= least_kb]
    if not len(rows):
        return None
    return HostAccount(
        rows=rows,
        disks_read=weighted.mean(rows, "read_kb_per_s", "io"),
        disks_write=weighted.mean(rows, "write_kb_per_s", "io"),
        submitted_read=weighted.mean(rows, "pgpgin_kb_per_s", "paging"),
        submitted_write=weighted.mean(rows, "pgpgout_kb_per_s", "paging"),
    )


_SUBMITTED = ("pgpgin_kb_per_s", "pgpgout_kb_per_s")
_MOVED = ("read_kb_per_s", "write_kb_per_s")


def _disk_totals(view: View) -> Table | None:
    """Reads and writes of the host's disks per report, with the rows' places."""
    shown = without_parts([series for series in view.devices if is_physical(series.name)])
    table, paging = view.samples("io"), view.samples("paging")
    if shown and paging is not None:
        parts = [first_row_per_report(series) for series in shown]
        rows = _reports_of(parts)
        # a damaged report may lack a direction: then its disks cannot be added up
        is_told = all(any(name in part for part in parts) for name in _MOVED)
        if is_told and set(numbered(rows["source"])[1]) & set(numbered(paging["source"])[1]):
            reports = report_keys(rows)
            return rows.with_columns(**{name: total_of(parts, name, reports) for name in _MOVED})
    return table if table is not None and set(_MOVED) <= table.names.keys() else None


def _reports_of(parts: Sequence[Table]) -> Table:
    """A sample of each report that any of the parts has, in their order."""
    keys = report_keys(parts[0])
    if all(np.array_equal(report_keys(part), keys) for part in parts):
        return parts[0]
    rows = stacked(parts)
    first: Places = np.unique(report_keys(rows), return_index=True)[1]
    return rows[first]
