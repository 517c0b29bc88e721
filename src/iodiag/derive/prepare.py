"""From a Capture to Views: hosts kept apart, what rules must not see left out, one stream per load."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from iodiag.derive.inference import infer
from iodiag.derive.requests import ANOMALIES, enriched
from iodiag.derive.samples import Column, Mask, Places, Samples, numbered
from iodiag.derive.view import SEGMENTS, View
from iodiag.model.capture import Capture
from iodiag.model.topology import DeviceTopology, merge

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
    frames = (*capture.tables.values(), *capture.averages.values())
    if len(hosts) > 1 and any((frame["host"] == "").any() for frame in frames):
        hosts.append(None)
    return [_view(capture, host, len(hosts) == 1, selection) for host in hosts]


def _view(capture: Capture, host: str | None, is_only: bool, selection: Selection) -> View:
    tables: dict[str, Samples] = {}
    fallback: set[str] = set()
    since_boot: dict[str, Samples] = {}
    for family in dict.fromkeys([*capture.tables, *capture.averages]):
        samples = _of_host(capture.tables.get(family), host, is_only)
        averages = _of_host(capture.averages.get(family), host, is_only)
        samples = _select(samples, selection)
        old = None
        if samples is not None and "since_boot" in samples:
            is_old = np.asarray(samples["since_boot"], dtype=bool)
            old, samples = samples[is_old], samples[~is_old]
            since_boot[family] = old
        if samples is None or not len(samples):
            samples = old if old is not None and len(old) else averages
            fallback.add(family)
        if samples is not None and len(samples):
            tables[family] = _one_stream(_with_streams(samples), family)
    left_out = None
    parts: Mapping[str, Samples] = {}
    topology = capture.topology if is_only else capture.topologies.get(host, DeviceTopology())
    if "disk" in tables:
        disk = _without_groups(tables["disk"])
        topology = _with_inferred(disk, topology)
        tables["disk"], parts, left_out = _disk(disk, topology, selection)
    banner = [s for s in capture.sections if (s.host == host or is_only) and not s.is_context]
    return View(
        host=host,
        tables=tables,
        topology=topology,
        facts=tuple(fact for fact in capture.evidence if is_only or fact.host == host),
        cpus=selection.cpus or next((s.cpus for s in banner if s.cpus), None),
        kernel=next((s.kernel for s in banner if s.kernel), None),
        fallback=frozenset(fallback & set(tables)),
        left_out=left_out,
        since_boot=since_boot,
        parts=parts,
    )


def _of_host(frame: pd.DataFrame | None, host: str | None, is_only: bool) -> Samples | None:
    if frame is None:
        return None
    samples = Samples.of(frame)
    return samples if is_only else samples[np.asarray(frame["host"].astype(str) == (host or ""))]


def _select(samples: Samples | None, selection: Selection) -> Samples | None:
    """The rows within --since and --until, with the stated sample length where it is unknown."""
    if samples is None:
        return None
    if selection.interval_s is not None:
        lengths = samples.floats("interval_s")
        lengths = np.where(np.isnan(lengths), selection.interval_s, lengths)
        samples = samples.with_columns(interval_s=lengths)
    if selection.since is not None:
        samples = samples[_compare(pd.Series(samples["time"]), selection.since) >= 0]
    if selection.until is not None:
        samples = samples[_compare(pd.Series(samples["time"]), selection.until) <= 0]
    return samples


def _compare(times: pd.Series, bound: pd.Timestamp) -> npt.NDArray[np.float64]:
    """Sign of time minus bound; rows without a clock count as before any bound.

    A bound of hours and minutes alone (its date is 1970-01-01) is compared with the time of day.
    """
    local = times
    if local.dt.tz is not None:
        local = local.dt.tz_localize(None)
    if bound.year == 1970:
        seconds = (local - local.dt.normalize()).dt.total_seconds()
        difference = seconds - (bound - bound.normalize()).total_seconds()
    else:
        difference = (local - bound).dt.total_seconds()
    return np.asarray(np.sign(difference.fillna(-np.inf).to_numpy(dtype=np.float64)))


def _with_streams(samples: Samples) -> Samples:
    """Rows in order, with the number of their stream: one per source and segment."""
    stream = numbered(samples["source"])[0] * SEGMENTS + samples["segment"]
    samples = samples.with_columns(stream=stream)
    keys = [np.asarray(samples[name], dtype=np.int64) for name in ("stream", "report", "line")]
    return samples if _are_sorted(keys) else samples[np.lexsort(keys[::-1])]


def _are_sorted(keys: list[npt.NDArray[np.int64]]) -> bool:
    """Whether rows are in order by the first key, then the next."""
    is_after = np.zeros(max(len(keys[0]) - 1, 0), dtype=np.bool_)
    for key in keys:
        if (~is_after & (key[1:] < key[:-1])).any():
            return False
        is_after |= key[1:] > key[:-1]
    return True


def _one_stream(samples: Samples, family: str) -> Samples:
    """Rows of one source where several inputs show the same time.

    iostat and sar of the same minutes would count every load twice. Inputs whose spans do not meet
    (the days of an archive) stay together; of those that do, or that have no clock, the one
    with the most telling columns, then the most rows, is kept.
    """
    if len(numbered(samples["source"])[1]) < 2:
        return samples
    frame = samples.frame
    sources = list(pd.unique(frame["source"]))
    parts = {name: frame[frame["source"] == name] for name in sources}
    # of an archive as sa files (UTC) and as sar text (local), whose times cannot be compared, the fuller one
    clocks = frame["clock"].fillna("") if "clock" in frame else frame["stream"] * 0
    rows = clocks.map(clocks.value_counts()).groupby(frame["source"]).max()
    ranked = sorted(
        sources, key=lambda name: (-_richness(parts[name], family), -rows[name], -len(parts[name]))
    )
    kept: list[str] = []
    for name in ranked:
        if not any(_meets(parts[name], parts[other], family) for other in kept):
            kept.append(name)
    return samples[frame["source"].isin(kept).to_numpy()]


def _richness(part: pd.DataFrame, family: str) -> int:
    if family == "disk":
        return sum(1 for column in _RICH if column in part and part[column].notna().any())
    if family == "cpu":
        # whole per cents (vmstat) say less than hundredths
        return int(bool((part["idle_pct"] % 1 != 0).any())) if "idle_pct" in part else 0
    return sum(1 for column in part.columns if part[column].notna().any())


def _meets(a: pd.DataFrame, b: pd.DataFrame, family: str) -> bool:
    if family == "disk" and not set(a["device"].astype(str)) & set(b["device"].astype(str)):
        first, second = (frozenset(p["device"].astype(str)) for p in (a, b))
        if not any(re.match(r"dev\d+-\d+$", name) for name in first ^ second):
            return False
    times = [part["time"].dropna() for part in (a, b)]
    if not len(times[0]) and not len(times[1]):
        # without clocks: two runs of one tool have the same columns, two tools beside each other do not
        filled = [set(part.columns[part.notna().any()]) for part in (a, b)]
        return filled[0] != filled[1]
    if not len(times[0]) or not len(times[1]):
        return True
    if "clock" in a and set(a["clock"].dropna()) != set(b["clock"].dropna()):
        return True
    return bool(times[0].min() <= times[1].max() and times[1].min() <= times[0].max())


def _without_groups(disk: Samples) -> Samples:
    if "is_group" not in disk:
        return disk
    return disk[~np.asarray(pd.Series(disk["is_group"]).fillna(value=False), dtype=bool)]


def _with_inferred(disk: Samples, topology: DeviceTopology) -> DeviceTopology:
    """The topology with what the samples themselves show of arrays that no input describes."""
    found = infer(_with_canonical(disk, topology), topology)
    return merge([*topology, *found]) if found else topology


def _with_canonical(disk: Samples, topology: DeviceTopology) -> Samples:
    """Disk rows with the canonical names of their devices; `printed` is what the source calls them."""
    codes, names = numbered(disk["device"])
    canonical = [topology.canonical(name) for name in names]
    return disk.with_columns(printed=_words(names, codes), device=_words(canonical, codes))


def _words(words: Sequence[str], codes: npt.NDArray[np.integer[Any]]) -> Column:
    """The words that codes stand for, some of them perhaps for the same."""
    known = sorted(set(words))
    place = {word: number for number, word in enumerate(known)}
    number = np.array([place[word] for word in words], dtype=np.int32)
    return pd.Categorical.from_codes(number[codes], categories=pd.Index(known))


def _disk(
    disk: Samples, topology: DeviceTopology, selection: Selection
) -> tuple[Samples, dict[str, Samples], Samples]:
    """The sound samples with derived columns; those of each device; the others."""
    disk = _with_canonical(disk, topology)
    if selection.devices:
        wanted = _wanted(set(disk["device"]), topology, selection.devices)
        disk = disk[np.asarray(pd.Series(disk["device"]).isin(wanted))]
    disk = _without_repeats(disk)
    codes, names = numbered(disk["device"])
    order = np.argsort(codes.astype(np.int16) if len(names) < 1 << 15 else codes, kind="stable")
    disk, reasons = enriched(disk[order])
    is_sound = reasons == 0
    edges = np.searchsorted(codes[order], np.arange(len(names) + 1))
    disk = disk.with_columns(sample=_numbers(is_sound, edges))
    parts = dict(_parts(disk, is_sound, edges, names, order))
    in_order = np.empty(len(order), dtype=np.intp)
    in_order[order] = np.arange(len(order))
    bad = in_order[~is_sound[in_order]]
    left_out = disk[bad].only(name for name in disk.names if name != "sample")
    anomaly = _words(ANOMALIES, reasons[bad])
    return disk[in_order[is_sound[in_order]]], parts, left_out.with_columns(anomaly=anomaly)


def _numbers(is_sound: Mask, edges: Places) -> Places:
    """The number of each sound sample among those of its device."""
    count = np.cumsum(is_sound)
    before = np.append(0, count)[edges[:-1]]
    return np.asarray(count - 1 - np.repeat(before, np.diff(edges)))


def _parts(
    disk: Samples, is_sound: Mask, edges: Places, names: Sequence[str], order: Places
) -> Iterator[tuple[str, Samples]]:
    """Each device's sound samples, in the order in which the first of them appear in the source."""
    found = []
    for name, begin, end in zip(names, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        own = slice(begin, end)
        places = begin + np.flatnonzero(is_sound[own])
        if len(places):
            found.append((order[places[0]], name, disk[own] if len(places) == end - begin else disk[places]))
    yield from ((name, part) for _, name, part in sorted(found, key=lambda one: one[0]))


def _without_repeats(disk: Samples) -> Samples:
    """Rows without those that a document quotes again: all numbers equal, in a text without clocks."""
    has_clock = ~pd.isna(disk["time"])
    if has_clock.all():
        return disk
    frame = disk.frame
    numbers = frame.select_dtypes("number").columns.difference(["line", "segment", "report", "stream"])
    is_repeat = frame.duplicated(["source", "device", *numbers]).to_numpy() & ~has_clock
    return disk[~(is_repeat & ((frame[numbers] > 0).sum(axis=1) >= _LEAST_ALIKE).to_numpy())]


_LEAST_ALIKE = 6  # so many non-zero numbers equal by chance is out of the question


def _wanted(shown: set[str], topology: DeviceTopology, devices: Iterable[str]) -> set[str]:
    """Canonical names of the devices asked for; a device brings the ones below it along."""
    wanted: set[str] = set()
    for name in devices:
        canonical = topology.canonical(name)
        todo = [canonical]
        while todo:
            current = todo.pop()
            if current not in wanted:
                wanted.add(current)
                todo += [member.name for member in topology.members(current)]
    return wanted & shown or wanted
