"""What else stepped in the samples of a finding: CPU, memory, tasks, network, processes, and other devices.

All columns are brought to the samples of the finding's first device, by report in one input and by time
between inputs. What only says the same again is left out: the finding's own devices and those above and
below them, the sums over all disks, and the share of time that tasks waited for I/O. Processes of one name
are taken together. Of the kernel's log the kinds of event are told that began then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

import numpy as np

from iodiag.analysis.array.side_by_side import first_row_per_report
from iodiag.analysis.host.kernel_events import are_elsewhen, kernel_events, on_clock_of, sample_length
from iodiag.analysis.measure.before_after import counts, is_negligible, unit_of
from iodiag.analysis.measure.coincident_steps import MOST_SIZE, coincident_steps
from iodiag.analysis.view.device_summaries import HOST_COLUMNS, drawn_series
from iodiag.analysis.view.view import View, report_numbers
from iodiag.model import columns as registry
from iodiag.model.capture import EVENTS
from iodiag.model.finding import HARMLESS, Finding, Move, by_harm
from iodiag.model.report import Series
from iodiag.table.table import Floats, Mask, Places, Table, by_text, numbered
from iodiag.table.times import Times

MOST_MOVES, MOST_DRAWN = 6, 3
MOST_FINDINGS, MOST_SAMPLES = 5, 4000
"""Findings that are looked at, the most harmful ones, and samples around each, for the time that it takes."""

_TABLES = (
    "cpu",
    "queue",
    "paging",
    "swapping",
    "memory",
    "swap",
    "system",
    "pressure",
    "network",
    "sockets",
    "kernel_tables",
    "nfs_mounts",
    "cifs_mounts",
    "tapes",
    "temperature",
    "cpu_frequency",
    *("network_errors", "nfs_client", "nfs_server", "ip", "ip6", "ip_errors", "ip6_errors", "icmp", "icmp6"),
    *("icmp_errors", "icmp6_errors", "tcp", "tcp_errors", "udp", "udp6", "fibre_channel"),
)
_OF_DEVICES = ("ios_per_s", "kb_per_s", "await_ms", "queue_depth")
_SAME_AGAIN = ("iowait_pct", "idle_pct", "pgpgin_kb_per_s", "pgpgout_kb_per_s", "io_")
_SLOW = ("_10s_pct", "_60s_pct", "_300s_pct", "load_5m", "load_15m")
"""Endings of averages over longer than a sample, which move late."""


MOST_PARTS = 50
"""Devices or interfaces of a table that are looked at: of hundreds, what a few do shows on the first, too."""


_OF_PROCESSES = ("read_kb_per_s", "write_kb_per_s", "cpu_pct")
MOST_NAMES = 20
"""Names of processes that are looked at in each column: those with the most."""

COVERED = 0.95
"""Share of the samples that the other input must cover: two tools do not start in the same second."""


class _Part(NamedTuple):
    """The rows of one device or interface, or of a table that has one per report, beside those of a grid."""

    table: str
    name: str
    rows: Table
    quantities: Sequence[str]
    places: Places


def with_moves(view: View, findings: Iterable[Finding]) -> tuple[list[Finding], list[Series]]:
    """The findings; those of a trouble in a part of the capture with what else stepped then.

    And the samples of what stepped, for charts, where a report does not keep them anyway.
    """
    findings = list(findings)
    wanted = [f for f in sorted(findings, key=by_harm) if f.role not in HARMLESS and f.severity != "info"]
    beside: dict[bytes, list[_Part]] = {}
    found = {id(finding): _moves(view, finding, beside) for finding in wanted[:MOST_FINDINGS]}
    moved = [replace(f, moved=moves) if (moves := tuple(found.get(id(f), ()))) else f for f in findings]
    drawn = {
        (m.table, m.name, m.quantity): one for moves in found.values() for m, one in moves.items() if one
    }
    return moved, list(drawn.values())


def _moves(view: View, finding: Finding, beside: dict[bytes, list[_Part]]) -> dict[Move, Series | None]:
    """The largest steps of other columns in a finding's samples; `beside` keeps what findings share."""
    series = view.series(finding.devices[0]) if finding.devices else None
    grid = first_row_per_report(series) if series is not None else view.cpu_all
    if grid is None:
        return {}
    hit = _hit(grid, finding)
    if not hit.any() or 2 * hit.sum() > len(hit):
        return {}
    (numbers,) = report_numbers(grid)
    parts = beside.setdefault(numbers.tobytes(), [])
    if not parts:
        parts += [*_parts(view, grid), *_processes(view, grid)]
    own = _stacks(view, finding.devices)
    first = max(0, int(np.median(np.flatnonzero(hit))) - MOST_SAMPLES // 2)
    stretch = slice(first, first + MOST_SAMPLES)
    named = []
    values = []
    for part in parts:
        for quantity in part.quantities if part.table != "disk" or part.name not in own else ():
            data = part.rows.floats(quantity)[part.places]
            if np.isfinite(data[stretch]).all():
                named.append((part, quantity, data))
                values.append(data[stretch])
    steps = coincident_steps(np.array(values), hit[stretch]) if values else []
    moves = dict(_events(view, finding, grid, hit))
    for step in steps:
        part, quantity, data = named[step.column]
        move = Move(part.table, part.name, quantity, step.beside, step.inside, step.size)
        if _is_worth_a_row(move):
            moves[move] = data
    return {
        move: _drawn(view, grid, move, data) if at < MOST_DRAWN else None
        for at, (move, data) in enumerate(islice(moves.items(), MOST_MOVES))
    }


def _drawn(view: View, grid: Table, move: Move, data: Floats) -> Series | None:
    """The samples of a move for a chart, unless a report keeps them of its devices and hosts."""
    if move.table == "disk" or move.quantity in HOST_COLUMNS.get(move.table, ()):
        return None
    rows = grid.only(["time"]).with_columns(**{move.quantity: data})
    return drawn_series(view, f"{move.table} {move.name}".strip(), rows, (move.quantity,))


def _events(view: View, finding: Finding, grid: Table, hit: Mask) -> Iterator[tuple[Move, Floats]]:
    """The kinds of event on a device that the kernel's log has first in these samples, but what is cited."""
    events = kernel_events(view)
    if events is None:
        return
    cited = {(item.source, line) for item in finding.evidence for line in item.lines}
    at = np.searchsorted(grid["time"].seconds(), on_clock_of(grid, events))
    length = sample_length(grid)
    is_known = ~np.isnan(on_clock_of(grid, events)) & ~are_elsewhen(grid, events) & (at < len(grid))
    # clocks of whole seconds tell of short samples only give or take one
    reach = int(np.ceil(ROUNDED_CLOCK_S / length))
    near = np.convolve(hit, np.ones(2 * reach + 1), "same") > 0
    kinds: dict[tuple[str, str], list[int]] = {}
    for place in np.flatnonzero(is_known).tolist():
        if (events["source"][place], int(events["line"][place])) not in cited:
            kinds.setdefault((events["device"][place], events["kind"][place]), []).append(int(at[place]))
    share, tries = float(near.mean()), len({tuple(sorted(set(found))) for found in kinds.values()})
    for (device, kind), found in kinds.items():
        counts_of = np.bincount(found, minlength=len(grid)).astype(np.float64)
        runs = 1 + int((np.diff(sorted(set(found))) > reach + 1).sum())
        if near[found].all() and tries * share**runs <= EVENTS_BY_CHANCE:
            yield Move(EVENTS, device, kind, 0.0, float(len(found)), MOST_SIZE), counts_of


def _hit(grid: Table, finding: Finding) -> Mask:
    """The samples of a finding; where they span most of the capture, those that its first evidence cites."""
    if finding.devices and finding.samples is not None and "sample" in grid:
        first, last = finding.samples
        hit = np.asarray((grid["sample"] >= first) & (grid["sample"] <= last))
    elif finding.start and finding.end and not grid["time"].is_unknown().any():
        begin, end = (_seconds(text) for text in (finding.start, finding.end))
        seconds = grid["time"].seconds()
        hit = np.asarray((seconds >= begin - ROUNDED_S) & (seconds <= end + ROUNDED_S))
    else:
        return np.zeros(len(grid), dtype=np.bool_)
    cited = finding.evidence[0] if finding.evidence else None
    if 2 * hit.sum() > len(grid) and cited is not None and cited.rows == len(cited.lines):
        hit = hit & np.asarray(grid["source"] == cited.source) & np.isin(grid["line"], cited.lines)
    return hit


EVENTS_BY_CHANCE = 0.1
"""Probability that events of any kind fall into the samples by chance alone (convention): they are rare."""

_DAY_S = 86400.0
ROUNDED_CLOCK_S = 1.0
"""What clocks of whole seconds may be apart."""

ROUNDED_S = 1e-3
"""What the times of a finding, in microseconds, and those of samples are apart by rounding."""


def _seconds(text: str) -> float:
    """A time of a finding as a column of times has it: of its clock where no zone is known."""
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _is_worth_a_row(move: Move) -> bool:
    is_little = is_negligible(max(move.beside, move.during), unit_of(move.quantity, move.table))
    return counts(move.beside, move.during) and not is_little


def _parts(view: View, grid: Table) -> Iterator[_Part]:
    """The other tables and devices that have a sample for each one of the grid."""
    for table in _TABLES:
        rows = view.cpu_all if table == "cpu" else view.samples(table)
        if rows is None or table in view.average_only:
            continue
        key = registry.KEY_COLUMNS.get(table)
        parts = by_text(rows, key) if key and table != "cpu" else [("", rows)]
        quantities = [
            column.name
            for column in registry.FAMILIES[table]
            if column.kind != "count"
            and rows.has(column.name)
            and not column.name.startswith(_SAME_AGAIN)
            and not column.name.endswith(_SLOW)
        ]
        for name, part in islice(parts, MOST_PARTS):
            if (places := _places(part, grid)) is not None:
                yield _Part(table, name, part, quantities, places)
    for series in view.devices[:MOST_PARTS]:
        if (places := _places(first_row_per_report(series), grid)) is not None:
            yield _Part("disk", series.name, first_row_per_report(series), _OF_DEVICES, places)


def _processes(view: View, grid: Table) -> Iterator[_Part]:
    """What processes of one name did in each sample of a listing: where they have no row, nothing."""
    listings = view.samples("process")
    for _, rows in by_text(listings, "source") if listings is not None and "process" in listings else ():
        totals = rows[np.asarray(rows["pid"] == "all")]
        # its reports are numbered by themselves, whatever stands in the same input
        if not len(totals) or (places := _nearest(_dated(totals, grid), grid)) is None:
            continue
        at = np.searchsorted(totals["report"], rows["report"])
        rows = rows[~rows["pid"].is_missing()]  # what threads do their processes do
        codes, names = numbered(rows["process"])
        for quantity in (one for one in _OF_PROCESSES if rows.has(one)):
            sums = np.zeros((len(names), len(totals)))
            np.add.at(sums, (codes, at), np.nan_to_num(rows.floats(quantity)))
            ranked = sorted(range(len(names)), key=lambda n: -float(sums[n].sum()))
            for place in (n for n in ranked[: MOST_NAMES + 1] if names[n]):
                yield _Part(
                    "process",
                    names[place],
                    Table.of_columns({quantity: sums[place]}, len(totals)),
                    (quantity,),
                    places,
                )


def _dated(totals: Table, grid: Table) -> Table:
    """The samples of a listing with times, on the day that brings them nearest to those of the grid."""
    clocks, seconds = totals.floats("clock_s"), grid["time"].seconds()
    if np.isnan(clocks).any() or grid["time"].zone is not None:
        return totals
    days = np.round((seconds.mean() - clocks.mean()) / _DAY_S)
    return totals.with_columns(time=Times.of(clocks + days * _DAY_S))


def _stacks(view: View, names: Iterable[str]) -> set[str]:
    """Devices and all that share a disk with them: what one does the other shows."""
    topology, leaves = view.topology, set(names)
    for name in names:
        leaves |= {leaf.name for leaf in topology.leaves(name)} | {topology.canonical(name)}
    return leaves | {
        device.name for device in topology if leaves & {leaf.name for leaf in topology.leaves(device.name)}
    }


def _places(rows: Table, grid: Table) -> Places | None:
    """For each sample of the grid the row of the same report or, of another input, of the nearest time."""
    if len(rows) < 2:
        return None
    own, wanted = report_numbers(rows, grid)
    order = np.argsort(own, kind="stable")
    at = np.minimum(np.searchsorted(own[order], wanted), len(rows) - 1)
    return order[at] if (own[order][at] == wanted).all() else _nearest(rows, grid)


def _nearest(rows: Table, grid: Table) -> Places | None:
    """The row of the nearest time for each sample of the grid; None where too few have one near."""
    if len(rows) < 2 or any(times.is_unknown().any() for times in (rows["time"], grid["time"])):
        return None
    own, wanted = (times.stamps.astype(np.int64) for times in (rows["time"], grid["time"]))
    order = np.argsort(own, kind="stable")
    middle = (own[order][1:] + own[order][:-1]) // 2
    at = np.searchsorted(middle, wanted)
    apart = np.abs(own[order][at] - wanted)
    is_near = apart <= np.median(np.abs(np.diff(wanted)))
    return order[at] if is_near.mean() >= COVERED else None
