"""From a Capture to Views: hosts kept apart, what rules must not see left out, one stream per load."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.analysis.measure.known_counter_bugs import PHANTOMS, known_bug
from iodiag.analysis.view.broken_time import of_broken_time
from iodiag.analysis.view.common_clocks import with_common_reports
from iodiag.analysis.view.inferred_topology import infer
from iodiag.analysis.view.least_length import with_least_length
from iodiag.analysis.view.paging_units import with_units
from iodiag.analysis.view.printed_digits import with_half_digit
from iodiag.analysis.view.request_columns import (
    ANOMALIES,
    BROKEN_TIME,
    enriched,
    without_one_more,
    without_phantoms,
)
from iodiag.analysis.view.top_screens import is_of_screens
from iodiag.analysis.view.view import REPORTS, SEGMENTS, View
from iodiag.analysis.view.wrapped_rates import without_wrapped
from iodiag.analysis.view.wrapped_time import with_time_of_parts
from iodiag.model.capture import EVENTS, Capture, Fact, Section, Source
from iodiag.model.columns import FAMILIES, KEY_COLUMNS
from iodiag.model.topology import DeviceTopology, merge
from iodiag.table.table import Column, Floats, Ints, Mask, Places, Table, by_text, numbered, repeated
from iodiag.table.texts import Texts
from iodiag.table.times import Times

if TYPE_CHECKING:
    import pandas as pd

_RICH = (
    "reads_per_s",
    "writes_per_s",
    "read_await_ms",
    "write_await_ms",
    "flushes_per_s",
    "read_merges_per_s",
    "queue_depth",
    "util_pct",
    "read_kb_per_s",
)


class Selection(NamedTuple):
    """What part of a capture to look at, and what the capture does not say itself."""

    devices: tuple[str, ...] = ()
    since: pd.Timestamp | None = None
    until: pd.Timestamp | None = None
    cpus: int | None = None
    interval_s: float | None = None


def views(capture: Capture, selection: Selection) -> list[View]:
    """One View per host; rows, devices and facts without a host belong to the only one there is.

    Beside several hosts, rows that are of none of them get a View of their own, without a name.
    """
    hosts: list[str | None] = list(capture.hosts) or [None]
    tables = [rows for group in (capture.tables, capture.averages) for _, rows in group.each()]
    if len(hosts) > 1 and any("" in rows["host"].distinct() for rows in tables):
        hosts.append(None)
    # a log of several hosts tells of others than those that samples are of
    others = {host for rows in tables for host in rows["host"].distinct()} - {"", *hosts}
    if len(hosts) == 1 and not others:
        everything = _Inputs(
            dict(capture.tables.each()),
            dict(capture.averages.each()),
            capture.topology,
            capture.sections,
            capture.evidence,
        )
        return [_view(everything, hosts[0], selection, capture.sources)]
    by_host = _by_host(capture)
    return [_view(by_host.get(host, _Inputs()), host, selection, capture.sources) for host in hosts]


@dataclass
class _Inputs:
    """What the inputs have of one host."""

    tables: dict[str, Table] = field(default_factory=dict)
    averages: dict[str, Table] = field(default_factory=dict)
    topology: DeviceTopology = field(default_factory=DeviceTopology)
    sections: list[Section] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)

    @property
    def captures(self) -> list[Section]:
        """The sections but those of context."""
        return [section for section in self.sections if not section.is_context]

    @property
    def cpus(self) -> int | None:
        """How many CPUs a banner states."""
        return next((section.cpus for section in self.captures if section.cpus), None)


def _by_host(capture: Capture) -> dict[str | None, _Inputs]:
    """The inputs of each host, in one pass over all; None is whatever is of no host."""
    found: defaultdict[str | None, _Inputs] = defaultdict(_Inputs)
    for family, rows in capture.tables.each():
        for host, part in by_text(rows[~rows["host"].is_missing()], "host"):
            found[host or None].tables[family] = part.compact()
    for family, rows in capture.averages.each():
        for host, part in by_text(rows[~rows["host"].is_missing()], "host"):
            found[host or None].averages[family] = part.compact()
    for of_topology, topology in capture.topologies.items():
        found[of_topology].topology = topology
    for section in capture.sections:
        found[section.host].sections.append(section)
    for fact in capture.evidence:
        found[fact.host].facts.append(fact)
    return found


def _view(inputs: _Inputs, host: str | None, selection: Selection, sources: Mapping[str, Source]) -> View:
    tables: dict[str, Table] = {}
    average_only: set[str] = set()
    since_boot: dict[str, Table] = {}
    odd_cpu = None
    for family in dict.fromkeys([*inputs.tables, *inputs.averages]):
        samples, averages = inputs.tables.get(family), inputs.averages.get(family)
        samples = samples if samples is None else select(samples, selection)
        if family == "cpu":
            averages = averages if averages is None else averages[_are_shares(averages)]
            if samples is not None:
                are_shares = _are_shares(samples)
                odd_cpu, samples = samples[~are_shares], samples[are_shares]
        if samples is not None and "since_boot" in samples:
            if family == "cpu" and "may_be_sample" in samples:
                samples = _without_doubt(samples, inputs, selection.cpus)
            is_old = np.asarray(samples["since_boot"], dtype=bool)
            since_boot[family], samples = samples[is_old], samples[~is_old]
        old = since_boot.get(family)
        if samples is None or not len(samples):
            samples = old if old is not None and len(old) else averages
            average_only.add(family)
        if samples is not None and len(samples):
            streams = _with_streams(samples)
            if samples is old and family != "nfs_mounts":  # of which several may be without a name
                streams = _last_of_each(streams, family)
            tables[family] = streams if family == EVENTS else _one_stream(streams, family)
    tables, wrapped = without_wrapped(with_units(tables | _with_common_reports(tables, average_only)))
    kernel, kernel_origin = _kernel(inputs.captures, sources)
    left_out = None
    parts: Mapping[str, Table] = {}
    topology = inputs.topology
    if "disk" in tables:
        disk, topology = _with_inferred(with_half_digit(_without_groups(tables["disk"]), sources), topology)
        disk = with_time_of_parts(disk) if "disk" in average_only else disk
        tables["disk"], parts, left_out = _disk(disk, tables.get("cpu"), topology, selection, kernel)
    return View(
        host=host,
        tables=tables,
        topology=topology,
        facts=tuple(inputs.facts),
        cpus=selection.cpus or inputs.cpus or _listed(tables.get("cpu")),
        kernel=kernel,
        kernel_origin=kernel_origin,
        average_only=frozenset(average_only & set(tables)),
        left_out=left_out,
        odd_cpu=odd_cpu,
        wrapped=wrapped,
        since_boot={f: _with_canonical(t, topology) if f == "disk" else t for f, t in since_boot.items()},
        samples_by_device=parts,
    )


def _with_common_reports(tables: Mapping[str, Table], average_only: Collection[str]) -> dict[str, Table]:
    """The tables of samples, those of equal clocks in the same reports."""
    live = {name: rows for name, rows in tables.items() if name != EVENTS and name not in average_only}
    return {name: _with_streams(rows) for name, rows in with_common_reports(live).items()}


def _kernel(sections: Sequence[Section], sources: Mapping[str, Source]) -> tuple[str | None, str]:
    """The kernel that some sections state, and the input and line (of a binary file the byte) of it."""
    section = next((section for section in sections if section.kernel), None)
    if section is None or section.kernel is None:
        return None, ""
    source = sources[section.source]
    at = source.data.find(section.kernel.encode())
    if at < 0:  # pseudonyms may have taken its place
        return section.kernel, ""
    place = at if source.pos_unit == "byte" else int(np.searchsorted(source.line_feeds, at)) + 1
    return section.kernel, f"banner {section.source}:{place}"


def _without_doubt(cpu: Table, inputs: _Inputs, cpus: int | None) -> Table:
    """CPU samples in which screens of top that are proven to be samples are so, beyond doubt."""
    is_of_now = is_of_screens(cpu, inputs.facts, cpus or inputs.cpus)
    is_doubtful = ~(_is_sample(cpu, inputs.tables.get("disk")) | is_of_now)
    marks = {name: np.equal(cpu[name], True) & is_doubtful for name in ("since_boot", "may_be_sample")}
    return _without_brief(cpu.with_columns(**marks))


def _is_sample(cpu: Table, disk: Table | None) -> Mask:
    """Which first screens of top are samples: averages since boot of this host contradict them.

    Other averages of the CPUs have other shares; or there are none, and no task could wait for I/O for so
    long while the devices were idle, of which each is busy where one waits. Of a screen with each CPU their
    mean is meant.
    """
    may_be = np.equal(cpu["may_be_sample"], True)
    screens = (numbered(cpu["source"])[0] * SEGMENTS + cpu["segment"]) * REPORTS + cpu["report"]
    codes = np.unique(screens, return_inverse=True)[1]
    shares = {
        name: (np.bincount(codes, cpu.floats(name)) / np.bincount(codes))[codes]
        for name in ("idle_pct", "iowait_pct")
    }
    is_average = np.asarray(cpu["since_boot"], dtype=bool) & ~may_be & (cpu["cpu"] == "all")
    is_sample = np.zeros(len(cpu), dtype=np.bool_)
    for name, means in shares.items():
        averages = cpu[is_average].floats(name)
        if len(averages := averages[np.isfinite(averages)]):
            off = np.abs(means[:, None] - averages)
            is_sample |= (off > _OTHER_PCT).all(axis=1)
    if not is_average.any() and disk is not None and disk.has("util_pct"):
        old = disk[np.asarray(disk["since_boot"], dtype=bool)]
        busy = old.floats("util_pct")
        if np.nansum(busy) > 0:
            is_sample |= shares["iowait_pct"] > np.nansum(busy) + _OTHER_PCT
    return np.asarray(may_be & is_sample)


_OTHER_PCT = 10.0
"""How far a share of all CPUs may be off its average since boot, as another tool printed it then."""


def _without_brief(cpu: Table) -> Table:
    """CPU samples without the moment in which a top started, where samples of that run follow."""
    is_brief: Mask = np.equal(cpu["is_brief"], True)
    run = numbered(cpu["source"])[0] * SEGMENTS + cpu["segment"]
    kept: Mask = ~is_brief | ~np.isin(run, run[~is_brief & ~np.asarray(cpu["since_boot"], dtype=bool)])
    return cpu[kept]


def _last_of_each(old: Table, family: str) -> Table:
    """Of the averages since boot, in order, the last of each source and item that shows the same columns.

    It contains those before it: a mean with them is of nothing.
    """
    key = KEY_COLUMNS.get(family)
    items = numbered(old[key])[0] if key else np.zeros(len(old), dtype=np.int64)
    columns = [column.name for column in FAMILIES.get(family, ()) if column.name in old]
    is_shown = [np.isfinite(old.floats(name)) for name in columns]
    alike = np.stack([numbered(old["source"])[0], items, *is_shown], axis=1)
    _, last = np.unique(alike[::-1], axis=0, return_index=True)
    kept = np.sort(len(old) - 1 - last)
    if family == "disk":
        kept = kept[~_is_told_with_more(old[kept], alike[kept])]
    return old[kept]


def _is_told_with_more(old: Table, alike: Ints) -> Mask:
    """Which averages since boot another one of the same device tells with more columns, as -x does.

    `alike` has the source and the device of each, and which columns it shows. Both are of one time if they
    move as much.
    """
    counts = alike[:, 2:].sum(axis=1)
    item = np.unique(alike[:, :2], axis=0, return_inverse=True)[1].reshape(-1)
    most = np.zeros(item.max(initial=0) + 1, dtype=np.int64)
    order = np.argsort(counts, kind="stable")
    most[item[order]] = order
    rates = np.stack([old.floats(f"{way}_kb_per_s") for way in ("read", "write")])
    is_same = np.abs(rates - rates[:, most[item]]) <= _SAME * rates + _SAME
    return np.asarray(is_same.all(axis=0) & (counts < counts[most[item]]))


_SAME = 0.01
"""Share of a rate, and kB/s, by which averages since boot that were printed minutes apart differ."""


def _listed(cpu: Table | None) -> int | None:
    """How many CPUs there are where each of them is listed beside their mean, as with -P ALL; else None."""
    names = set() if cpu is None else set(cpu["cpu"].distinct()) - {"all"}
    return len(names) if len(names) > 1 and names == {str(n) for n in range(len(names))} else None


MOST_OFF = 25.0
"""How far from 100 % shares of CPU time may add up: clocks and rounding take a few, not a quarter."""


def _are_shares(samples: Table) -> Mask:
    """Whether a row of the CPUs is a measurement: its shares add up to all of the time, or nearly so.

    Where all are 0 no tick was counted, and nothing was idle. A row that lacks a column may add up to less.
    """
    names = ("user_pct", "system_pct", "iowait_pct", "idle_pct", "nice_pct", "steal_pct")
    shares = np.array([samples.floats(name) for name in names])
    total = np.nansum(shares, axis=0)
    is_partial = np.isnan(shares[:4]).any(axis=0) & (total > 0)
    return np.asarray((np.abs(total - 100) <= MOST_OFF) | is_partial | np.isnan(shares[3]))


def select(samples: Table, selection: Selection) -> Table:
    """The rows within --since and --until, with the stated sample length where it is unknown."""
    if selection.interval_s is not None:
        lengths = samples.floats("interval_s")
        lengths = np.where(np.isnan(lengths), selection.interval_s, lengths)
        samples = samples.with_columns(interval_s=lengths)
    if selection.since is not None:
        samples = samples[_compare(samples["time"], selection.since) >= 0]
    if selection.until is not None:
        samples = samples[_compare(samples["time"], selection.until) <= 0]
    return samples


def _compare(times: Times, bound: pd.Timestamp) -> Floats:
    """Sign of time minus bound; rows without a clock count as before any bound.

    A bound of hours and minutes alone (its date is 1970-01-01) is compared with the time of day. One with a
    zone is compared as an instant; by the clock that it shows where the rows' zone is not known.
    """
    local = times.in_pandas()
    if local.tz is not None:
        bound = bound if bound.tz is None else bound.tz_convert(local.tz)
        local = local.tz_localize(None)
    bound = bound.tz_localize(None)
    if bound.year == 1970:
        seconds = (local - local.normalize()).total_seconds()
        difference = seconds - (bound - bound.normalize()).total_seconds()
    else:
        difference = (local - bound).total_seconds()
    return np.asarray(np.sign(difference.fillna(-np.inf).to_numpy(dtype=np.float64)))


def _with_streams(samples: Table) -> Table:
    """Rows in order, with the number of their stream: one per source and segment."""
    stream = numbered(samples["source"])[0] * SEGMENTS + samples["segment"]
    samples = samples.with_columns(stream=stream)
    keys = [np.asarray(samples[name], dtype=np.int64) for name in ("stream", "report", "line")]
    return samples if _are_sorted(keys) else samples[np.lexsort(keys[::-1])]


def _are_sorted(keys: list[npt.NDArray[np.int64]]) -> bool:
    """Whether rows are in order by the first key, then the next."""
    if all((key[1:] >= key[:-1]).all() for key in keys):  # as most are
        return True
    is_after = np.zeros(max(len(keys[0]) - 1, 0), dtype=np.bool_)
    for key in keys:
        if (~is_after & (key[1:] < key[:-1])).any():
            return False
        is_after |= key[1:] > key[:-1]
    return True


def _one_stream(samples: Table, family: str) -> Table:
    """Rows of one source where several inputs show the same time.

    iostat and sar of the same minutes would count every load twice. Inputs whose spans do not meet
    (the days of an archive) stay together; of those that do, or that have no clock, the one
    with the most telling columns, then the most rows, then the first as `join` orders them, is kept.
    """
    if len(numbered(samples["source"])[1]) < 2:
        return samples
    sources, names = numbered(samples["source"])
    parts = [samples[sources == number] for number in range(len(names))]
    # of an archive as sa files (UTC) and as sar text (local), whose times cannot be compared, the fuller one
    clocks = numbered(samples["clock"])[0] if "clock" in samples else np.zeros_like(sources)
    rows = np.bincount(clocks)[clocks]
    most = [int(rows[sources == number].max()) for number in range(len(names))]
    ranked = sorted(range(len(names)), key=lambda n: (-_richness(parts[n], family), -most[n], -len(parts[n])))
    kept: list[int] = []
    for number in ranked:
        if not any(_meets(parts[number], parts[other], family) for other in kept):
            kept.append(number)
    is_kept: Mask = np.isin(sources, kept)
    return samples[is_kept]


def _richness(part: Table, family: str) -> int:
    if family == "disk":
        return sum(1 for column in _RICH if part.has(column))
    if family == "cpu":
        # whole per cents (vmstat) say less than hundredths
        idle = part.floats("idle_pct")
        return int(bool((idle[~np.isnan(idle)] % 1 != 0).any()))
    return sum(1 for column in part.names if part.has(column))


def _meets(a: Table, b: Table, family: str) -> bool:
    if family == "disk":
        first, second = (frozenset(part["device"].distinct()) for part in (a, b))
        if not first & second and not any(re.match(r"dev\d+-\d+$", name) for name in first ^ second):
            return False
    (a_begin, a_end), (b_begin, b_end) = ((part["time"].min(), part["time"].max()) for part in (a, b))
    if a_begin is None and b_begin is None:
        # without clocks: two runs of one tool have the same columns, two tools beside each other do not
        filled = [{name for name in part.names if part.has(name)} for part in (a, b)]
        return filled[0] != filled[1]
    if a_begin is None or b_begin is None:
        return True
    if "clock" in a and set(a["clock"].distinct()) != set(b["clock"].distinct()):
        return True
    return bool(a_begin <= b_end and b_begin <= a_end)


def _without_groups(disk: Table) -> Table:
    if "is_group" not in disk:
        return disk
    # unknown (NaN) where another tool has no groups
    is_group: Mask = np.equal(disk["is_group"], True).astype(np.bool_)
    return disk[~is_group] if is_group.any() else disk


def _with_inferred(disk: Table, topology: DeviceTopology) -> tuple[Table, DeviceTopology]:
    """Rows with canonical names, and the topology with what they show of arrays that no input describes."""
    named = _with_canonical(disk, topology)
    found = infer(named, topology)
    if not found:
        return named, topology
    topology = merge([*topology, *found])
    return _with_canonical(disk, topology), topology


def _with_canonical(disk: Table, topology: DeviceTopology) -> Table:
    """Disk rows with the canonical names of their devices; `printed` is what the source calls them."""
    if all(topology.canonical(name) == name for name in disk["device"].distinct()):
        return disk.with_columns(printed=disk["device"])
    codes, names = numbered(disk["device"])
    canonical = [topology.canonical(name) for name in names]
    return disk.with_columns(printed=Texts.coded(codes, names), device=Texts.coded(codes, canonical))


def _disk(
    disk: Table, cpu: Table | None, topology: DeviceTopology, selection: Selection, kernel: str | None
) -> tuple[Table, dict[str, Table], Table]:
    """The sound samples with derived columns; those of each device; the others."""
    if selection.devices:
        wanted = _wanted(set(disk["device"].distinct()), topology, selection.devices)
        disk = disk[disk["device"].isin(wanted)]
    disk = with_least_length(_without_repeats(disk, cpu))
    codes, names = numbered(disk["device"])
    # other columns need not be fetched for this
    numbers = [name for name in disk.names if _is_number(disk[name])]
    disk, order = _by_device(disk, codes, len(names), numbers)
    disk, reasons = enriched(disk, numbers)
    disk = without_one_more(disk)
    disk = without_phantoms(disk) if known_bug(kernel, "util_pct", "too high") is PHANTOMS else disk
    is_mistimed = of_broken_time(disk, codes[order], names, topology)
    reasons[(reasons == 0) & is_mistimed] = ANOMALIES.index(BROKEN_TIME)
    is_sound = reasons == 0
    edges = np.append(0, np.cumsum(np.bincount(codes, minlength=len(names))))
    disk = disk.with_columns(sample=_numbers(is_sound, edges))
    parts = dict(_parts(disk, is_sound, edges, names, order))
    in_order = np.empty(len(order), dtype=np.intp)
    in_order[order] = np.arange(len(order))
    good, bad = in_order, in_order[:0]
    if not is_sound.all():
        is_sound_in_order = is_sound[in_order]
        good, bad = in_order[is_sound_in_order], in_order[~is_sound_in_order]
    left_out = disk[bad].only(name for name in disk.names if name != "sample")
    anomaly = Texts.coded(reasons[bad], ANOMALIES)
    return disk[good], parts, left_out.with_columns(anomaly=anomaly)


def _by_device(disk: Table, codes: Places, devices: int, numbers: Sequence[str]) -> tuple[Table, Places]:
    """The rows with those of one device together, and the places that they had; `numbers` are columns.

    Where all reports show the same devices in the same order, that is a table turned on its side, which takes
    half the time of fetching row by row.
    """
    count = len(codes)
    is_even = count >= _MANY and count % devices == 0
    if not is_even or not (codes.reshape(-1, devices) == np.arange(devices)).all():
        order = np.argsort(codes.astype(np.int16) if devices < 1 << 15 else codes, kind="stable")
        return disk[order], order
    order = _turned(np.arange(count), devices)
    turned = {name: _turned(disk[name], devices) for name in numbers}
    return disk[order].with_columns(**turned), order


_MANY = 1 << 16
_REPORTS = 2048


def _turned(column: Column, devices: int) -> Column:
    """A column by report as one by device; a few reports at a time, which stay in a processor's cache."""
    if (column[:devices] == column[0]).all() and (column == column[0]).all():
        return repeated(column[0], len(column))  # what no device does, such as discards
    rows = column.reshape(-1, devices)
    result = np.empty((devices, len(rows)), dtype=column.dtype)
    for first in range(0, len(rows), _REPORTS):
        result[:, first : first + _REPORTS] = rows[first : first + _REPORTS].T
    return result.reshape(-1)


def _numbers(is_sound: Mask, edges: Places) -> Places:
    """The number of each sound sample among those of its device."""
    if len(is_sound) and is_sound.all():
        return np.concatenate([np.arange(size) for size in np.diff(edges).tolist()])
    count = np.cumsum(is_sound)
    before = np.append(0, count)[edges[:-1]]
    return np.asarray(count - 1 - np.repeat(before, np.diff(edges)))


def _parts(
    disk: Table, is_sound: Mask, edges: Places, names: Sequence[str], order: Places
) -> Iterator[tuple[str, Table]]:
    """Each device's sound samples, in the order in which the first of them appear in the source."""
    found = []
    for name, begin, end in zip(names, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        own = slice(begin, end)
        places = begin + np.flatnonzero(is_sound[own])
        if len(places):
            found.append((order[places[0]], name, disk[own] if len(places) == end - begin else disk[places]))
    yield from ((name, part) for _, name, part in sorted(found, key=lambda one: one[0]))


def _without_repeats(disk: Table, cpu: Table | None) -> Table:
    """Rows without reports that a document quotes again, in a text without clocks.

    All numbers of all rows are those of one report above, and those of the CPUs where both have them. A
    device alone may well stay as it was while others do not. What is quoted again stands below other words or
    another command: reports of one run below each other are samples, however alike a load makes them.
    """
    has_clock = ~disk["time"].is_unknown()
    if has_clock.all():
        return disk
    names = [name for name in disk.names if name not in _ADDRESS and _is_number(disk[name])]
    numbers = [np.nan_to_num(disk.floats(name), nan=_UNKNOWN) + 0.0 for name in names]  # -0 is 0
    columns = [*numbers, *(numbered(disk[name])[0].astype(np.float64) for name in ("source", "device"))]
    mixed = np.zeros(len(disk), dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ column.view(np.uint64)) * _ODD
        mixed ^= mixed >> np.uint64(29)
    _, first, number = np.unique(mixed, return_index=True, return_inverse=True)
    before = first[number]
    is_repeat: Mask = ~has_clock & (before < np.arange(len(disk)))
    for column in columns:
        is_repeat &= column == column[before]
    filled = np.sum([column > 0 for column in numbers], axis=0)
    is_telling = is_repeat & (filled >= _LEAST_ALIKE)
    if not is_telling.any():
        return disk
    keys, report = np.unique(disk["stream"] * REPORTS + disk["report"], return_inverse=True)
    # the report above that each could repeat, -1 for none
    original = np.full(int(report.max()) + 1, -1)
    original[report[is_telling]] = report[before[is_telling]]
    firsts = np.unique(report, return_index=True)[1]
    runs = [
        disk["stream"][firsts],
        disk.floats("phase")[firsts] if "phase" in disk.names else np.zeros(len(firsts)),
    ]
    shares = _shares_by_report(cpu)
    for place in np.flatnonzero(original >= 0).tolist():
        own, other = shares.get(int(keys[place])), shares.get(int(keys[original[place]]))
        is_same_run = all(run[place] == run[original[place]] for run in runs)
        if is_same_run or (own is not None and other is not None and own != other):
            original[place] = -1
    rows = int(number.max()) + 1
    is_repeat &= (original[report] < report) & np.isin(
        original[report] * rows + number, report * rows + number
    )
    has_more = np.bincount(report, weights=~is_repeat) > 0
    return disk[has_more[report] | (original[report] < 0)]


def _shares_by_report(cpu: Table | None) -> dict[int, list[tuple[float, ...]]]:
    """The shares of CPU time of each report; none of them unknown, so that equal ones are equal."""
    found: defaultdict[int, list[tuple[float, ...]]] = defaultdict(list)
    if cpu is not None:
        names = ("user_pct", "system_pct", "iowait_pct", "idle_pct")
        rows = np.nan_to_num(np.array([cpu.floats(name) for name in names]), nan=_UNKNOWN).T
        keys = (cpu["stream"] * REPORTS + cpu["report"]).tolist()
        for key, row in zip(keys, rows.tolist(), strict=True):
            found[key].append(tuple(row))
    return found


_ADDRESS = ("line", "segment", "report", "stream", "phase")
_UNKNOWN = float(np.finfo(np.float64).min)
_ODD = np.uint64(0x9E3779B97F4A7C15)


def _is_number(column: Column) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind in "fiu"


_LEAST_ALIKE = 6  # so many non-zero numbers equal by chance is out of the question


def _wanted(shown: set[str], topology: DeviceTopology, devices: Iterable[str]) -> set[str]:
    """Canonical names of the devices asked for; a device brings the ones below it along."""
    wanted: set[str] = set()
    for name in devices:
        wanted |= {topology.canonical(name), *(device.name for device in topology.below(name))}
    return wanted & shown or wanted
