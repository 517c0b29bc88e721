"""Who waits for I/O: tasks blocked in the kernel, and the share of time that pressure reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values
from iodiag.analysis.view.view import DeviceSeries, View, same_reports
from iodiag.table.table import Table, by_text


def rows_at(view: View, table: str, rows: Table) -> Table | None:
    """The rows of a host's table in the same reports as `rows`; all of them where none are the same.

    vmstat beside iostat is a source of its own; then its whole capture stands for the window.
    """
    samples = view.samples(table)
    if samples is None:
        return None
    same = same_reports(samples, rows)
    return samples[same] if same.any() else samples


STILL_KB, FLAT = 256.0, 0.1
"""kB/s below which next to nothing moves, and the range of a flat rate."""


def starved(paging: Table, least: float = 10240.0) -> tuple[Table, str, Values] | None:
    """Where reads fall by half while `least` kB/s and more are written, or the reverse: rows and text."""
    found = []
    for own, other, falls, verb in (
        ("pgpgin_kb_per_s", "pgpgout_kb_per_s", "reads fall", "written"),
        ("pgpgout_kb_per_s", "pgpgin_kb_per_s", "writes fall", "read"),
    ):
        fell, flood = paging.floats(own), paging.floats(other)
        floods = flood >= max(least, float(np.nanmedian(flood)))
        if len(paging) < 3 or not floods.any() or floods.all():
            continue
        before, during = float(np.nanmedian(fell[~floods])), float(np.nanmedian(fell[floods]))
        if before >= least and during <= before / 2:
            values: Values = {"what": falls, "verb": verb, "before": before, "during": during}
            values["flood"] = float(np.nanmedian(flood[floods]))
            text = "{what} from {before:.0f} to {during:.0f} kB/s while {flood:.0f} kB/s are {verb}"
            later = float(np.flatnonzero(floods).mean() - np.flatnonzero(~floods).mean())
            found.append((later, (paging[floods], text, values)))
    # what fell was there before the flood
    return max(found, key=lambda one: one[0])[1] if found else None


def moved(paging: Table) -> tuple[str, Values]:
    """What a host without numbers of its disks read and wrote, as a sentence with its values."""
    read, written = paging.floats("pgpgin_kb_per_s"), paging.floats("pgpgout_kb_per_s")
    main, verb = (written, "written") if np.nansum(written) >= np.nansum(read) else (read, "read")
    values: Values = {
        "verb": verb,
        "mean": float(np.nanmean(main)),
        "low": float(np.nanmin(main)),
        "high": float(np.nanmax(main)),
        "still": int((read + written < STILL_KB).sum()),
        "shown": len(paging),
    }
    text = "{mean:.0f} kB/s are {verb} meanwhile"
    if len(paging) > 1:
        text += " ({low:.0f} to {high:.0f})"
    if len(paging) >= 5 and np.nanstd(main) <= FLAT * np.nanmean(main):
        text += ", a flat rate: what is below takes no more"
    if 0 < int(values["still"]) < len(paging):
        text += "; in {still} of these {shown} samples next to nothing moves: a stall"
    return text, values


def by_device(disk: Table) -> Iterator[tuple[str, Table]]:
    """The rows of each device, by name."""
    yield from sorted(by_text(disk, "device"), key=lambda part: part[0])


def blocked(view: View, rows: Table) -> tuple[Table, float] | None:
    """Tasks blocked on I/O (vmstat b, sar -q blocked) during `rows`: the samples and their mean."""
    return _mean(view, "queue", "blocked", rows)


def pressure(view: View, rows: Table, state: str) -> tuple[Table, float] | None:
    """Share of time in % that `some` or `full` tasks waited for I/O during `rows` (sar -q IO)."""
    return _mean(view, "pressure", f"io_{state}_pct", rows)


def under_pressure(view: View, what: str, some: float, full: float) -> tuple[Table, str] | None:
    """The samples in which some or all tasks waited for "io" or "memory" so much (in %).

    Beside them the ending of the columns: of the sample itself, else averages of the last 10 or 60 s. None
    without a table of pressure.
    """
    table = view.samples("pressure")
    if table is None:
        return None
    kind = next((kind for kind in ("", "_10s", "_60s") if view.has("pressure", f"{what}_some{kind}_pct")), "")
    shares = (weighted.values(table, f"{what}_{state}{kind}_pct") for state in ("some", "full"))
    is_pressed = np.any([share >= least for share, least in zip(shares, (some, full), strict=True)], axis=0)
    return table[is_pressed], kind


def is_any_busy(devices: Iterable[DeviceSeries], rows: Table, util_pct: float, depth: float) -> bool:
    """Whether one of some devices was that busy, or held that many requests, during a device's `rows`."""
    for device in devices:
        own = device.samples[same_reports(device.samples, rows)]
        if len(own):
            is_busy = weighted.mean(own, "util_pct") >= util_pct
            if is_busy or weighted.mean(own, "queue_depth") >= depth:
                return True
    return False


def _mean(view: View, table: str, column: str, rows: Table) -> tuple[Table, float] | None:
    found = rows_at(view, table, rows)
    if found is None or column not in found:
        return None
    found = found[~np.isnan(found.floats(column))]
    mean = weighted.mean(found, column, table) if len(found) else float("nan")
    return None if np.isnan(mean) else (found, mean)
