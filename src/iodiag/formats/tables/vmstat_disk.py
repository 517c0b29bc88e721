"""vmstat -d: the counters of every disk since boot, once per report.

procps 3.1 to 4.0; -w (wide) and -t (a clock behind the values) change the shape. Two reports make exact
rates, as snapshots of /proc/diskstats do. `sec` is busy time in whole seconds; `cur` is not kept: vmstat
divides the requests in flight by 1000. Headers may stand in the middle of a report, so a report begins
where a disk comes again. The reports of -D, -p, -s and -m are no tables of disks and not read.
"""

from __future__ import annotations

import re

import numpy as np

from iodiag.formats.types import Layout, LayoutColumn, TableFormat
from iodiag.model.units import KB_PER_SECTOR
from iodiag.table.table import Table

_EXAMPLE = """\
disk- ------------reads------------ ------------writes----------- -----IO------
       total merged sectors      ms  total merged sectors      ms    cur    sec
sda   172715  17911 9179914   73988  50800  44943 5749912   16606      0     14
"""
_WORDS = ("total", "merged", "sectors", "ms")
_ZONE = re.compile(r"[A-Z]{2,5}|[+-]\d{2,4}|timestamp-*")
_COLUMNS = (
    *(
        LayoutColumn(word, f"{direction}{name}", factor)
        for direction in ("read", "write")
        for word, name, factor in zip(
            _WORDS, ("s", "_merges", "_kb", "_ms"), (1.0, 1.0, KB_PER_SECTOR, 1.0), strict=True
        )
    ),
    LayoutColumn("cur", None),
    LayoutColumn("sec", "busy_s"),
)


def layout(words: tuple[str, ...]) -> Layout | None:
    """The Layout of the second header line; a zone's name may follow it (-t)."""
    words = words[1:] if words[0] == "disk" else words
    has_clock = len(words) == len(_COLUMNS) + 1 and bool(_ZONE.fullmatch(words[-1]))
    values = words[:-1] if has_clock else words
    if values[:9] != (*_WORDS, *_WORDS, "cur") or values[9:] not in (("sec",), ("s",)):
        return None
    return Layout(
        format="vmstat",
        name="vmstat -d",
        family="disk_counters",
        columns=_COLUMNS,
        key="device",
        clock="tail" if has_clock else "none",
        finish=_number_reports,
        note=words[-1] if has_clock else "",
        first_report="since boot",
    )


def _number_reports(tables: dict[str, Table]) -> dict[str, Table]:
    """Reports counted by how often a disk has come already; counters are no averages since boot."""
    rows = tables["disk_counters"]
    frame = rows.frame
    turn = frame.groupby(["segment", "device"], observed=True, sort=False).cumcount()
    report = turn.groupby(frame["segment"], sort=False).cummax().to_numpy()
    numbered = rows.with_columns(report=report, since_boot=np.zeros(len(rows), dtype=np.bool_))
    return {"disk_counters": numbered}


FORMAT = TableFormat(
    id="vmstat-disk",
    title="vmstat -d: counters of every disk",
    example=_EXAMPLE,
    layout=layout,
    releases="procps 3.1 to 4.0",
    not_read="the requests in flight, which vmstat divides by 1000",
)
