"""Several captures as one: each host's devices and facts kept apart, tables below each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from iodiag.hosts.captures_to_hosts import assign_hosts, without_host
from iodiag.hosts.event_times import with_event_times
from iodiag.hosts.pt_stalk_intervals import with_shared_intervals
from iodiag.hosts.time_zones import in_zone, is_mixed, stacked_all_columns, unzoned
from iodiag.model.capture import EVENTS, Capture
from iodiag.model.topology import Device, merge
from iodiag.table.table import Table


def join(captures: Iterable[Capture], tz: str | None = None) -> Capture:
    """All captures as one; sources keep their rows apart by the `source` column.

    Clocks without a zone are taken to be in `tz`. Where some are zoned, some are not, and no `tz`
    is given, a column `clock` keeps them apart: such times are never compared. In which order the captures
    are given decides nothing.
    """
    whole = Capture()
    tables: dict[tuple[str, bool], list[Table]] = {}
    devices: list[Device] = []
    captures = with_shared_intervals(assign_hosts(_once(sorted(captures, key=_rank))))
    captures = with_event_times(captures)
    by_host: dict[str | None, list[Device]] = {}
    for capture in captures:
        whole.sources.update(capture.sources)
        whole.sections += capture.sections
        whole.notes += capture.notes
        whole.ledgers += capture.ledgers
        whole.evidence += capture.evidence
        devices += list(capture.topology)
        for host, topology in capture.topologies.items():
            by_host.setdefault(host, []).extend(topology)
        for is_average, group in ((False, capture.tables), (True, capture.averages)):
            for family, rows in group.each():
                tables.setdefault((family, is_average), []).append(in_zone(rows, tz))
    # a log beside samples changes nothing of theirs
    samples = [parts for (family, _), parts in tables.items() if family != EVENTS]
    has_both = is_mixed([rows for parts in samples for rows in parts])
    for (family, is_average), parts in tables.items():
        alike = [unzoned(rows) for rows in parts] if has_both and family != EVENTS else parts
        (whole.averages if is_average else whole.tables)[family] = stacked_all_columns(alike)
    whole.topology = merge(devices)
    whole.topologies = {host: merge(found) for host, found in by_host.items()}
    whole.notes += without_host(captures)
    return whole


def _rank(capture: Capture) -> tuple[bool, int, list[str], list[str]]:
    """Where a capture stands among others: exact before rounded, then what lists more devices, format, name.

    Of two that say different things of the same, and equally much, the first is believed.
    """
    is_text = any(source.pos_unit == "line" for source in capture.sources.values())
    formats = sorted({section.format for section in capture.sections})
    return is_text, -len(capture.topology.devices), formats, list(capture.sources)


def _once(captures: Iterable[Capture]) -> Iterator[Capture]:
    """The captures without those whose samples another one holds already."""
    every = list(captures)
    sizes = [tuple(sorted(len(source.data) for source in each.sources.values())) for each in every]
    counts, seen = Counter(sizes), set[tuple[str, ...]]()
    for capture, size in zip(every, sizes, strict=True):
        if has_samples(capture) and counts[size] > 1:
            key = tuple(sorted(source.sha256 for source in capture.sources.values()))
            if key in seen:
                continue
            seen.add(key)
        yield capture


def has_samples(capture: Capture) -> bool:
    """Whether a capture holds samples, and not context alone."""
    return any(not section.is_context for section in capture.sections)
