"""From a Capture to Views: hosts kept apart, what rules must not see left out, one stream per load."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from iodiag.derive.inference import infer
from iodiag.derive.requests import anomalies, enrich
from iodiag.derive.view import View
from iodiag.model.capture import Capture
from iodiag.model.topology import DeviceTopology, merge

_WORDS = ("source", "printed", "device")

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


@dataclass(frozen=True)
class Selection:
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
    tables: dict[str, pd.DataFrame] = {}
    fallback: set[str] = set()
    since_boot: dict[str, pd.DataFrame] = {}
    for family in dict.fromkeys([*capture.tables, *capture.averages]):
        frame = _of_host(capture.tables.get(family), host, is_only)
        averages = _of_host(capture.averages.get(family), host, is_only)
        frame = _select(frame, selection)
        if frame is not None and "since_boot" in frame:
            since_boot[family] = frame[frame["since_boot"].to_numpy(dtype=bool)]
            frame = frame[~frame["since_boot"].to_numpy(dtype=bool)]
        if frame is None or not len(frame):
            frame = since_boot.get(family)
            if frame is None or not len(frame):
                frame = averages
            fallback.add(family)
        if frame is not None and len(frame):
            tables[family] = _with_streams(frame)
    tables = {family: _one_stream(frame, family) for family, frame in tables.items()}
    left_out = None
    topology = capture.topology if is_only else capture.topologies.get(host, DeviceTopology())
    if "disk" in tables:
        topology = _with_inferred(tables["disk"], topology)
        tables["disk"], left_out = _disk(tables["disk"], topology, selection)
    tables = {family: _compact(frame) for family, frame in tables.items()}
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
    )


def _compact(frame: pd.DataFrame) -> pd.DataFrame:
    """The same rows with names as categories, and a copy, which pandas lays out by type.

    Rules take many small parts of a frame, and a part costs by its blocks more than by its rows.
    """
    words = {name: frame[name].astype("category") for name in _WORDS if name in frame}
    return frame.assign(**words).copy()


def _of_host(frame: pd.DataFrame | None, host: str | None, is_only: bool) -> pd.DataFrame | None:
    if frame is None or is_only:
        return frame
    return frame[(frame["host"].astype(str) == (host or "")).to_numpy()]


def _select(frame: pd.DataFrame | None, selection: Selection) -> pd.DataFrame | None:
    """The rows within --since and --until, with the stated sample length where it is unknown."""
    if frame is None:
        return None
    if selection.interval_s is not None:
        frame = frame.assign(interval_s=frame["interval_s"].fillna(selection.interval_s))
    times = frame["time"]
    if selection.since is not None:
        frame = frame[_compare(times, selection.since) >= 0]
        times = frame["time"]
    if selection.until is not None:
        frame = frame[_compare(times, selection.until) <= 0]
    return frame


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


def _with_streams(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows in order, with the number of their stream: one per source and segment."""
    source = frame["source"].astype("category")
    order = {name: number for number, name in enumerate(pd.unique(source))}
    number = source.map(order).astype(np.int64)
    frame = frame.assign(source=source, stream=number * 100_000 + frame["segment"])
    keys = [frame[name].to_numpy(dtype=np.int64) for name in ("stream", "report", "line")]
    if _are_sorted(keys):
        return frame.reset_index(drop=True)
    return frame.sort_values(["stream", "report", "line"], kind="stable", ignore_index=True)


def _are_sorted(keys: list[npt.NDArray[np.int64]]) -> bool:
    """Whether rows are in order by the first key, then the next."""
    is_after = np.zeros(max(len(keys[0]) - 1, 0), dtype=np.bool_)
    for key in keys:
        if (~is_after & (key[1:] < key[:-1])).any():
            return False
        is_after |= key[1:] > key[:-1]
    return True


def _one_stream(frame: pd.DataFrame, family: str) -> pd.DataFrame:
    """Rows of one source where several inputs show the same time.

    iostat and sar of the same minutes would count every load twice. Inputs whose spans do not meet
    (the days of an archive) stay together; of those that do, or that have no clock, the one
    with the most telling columns, then the most rows, is kept.
    """
    sources = list(pd.unique(frame["source"]))
    if len(sources) < 2:
        return frame
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
    return frame[frame["source"].isin(kept)].reset_index(drop=True)


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


def _with_inferred(frame: pd.DataFrame, topology: DeviceTopology) -> DeviceTopology:
    """The topology with what the samples themselves show of arrays that no input describes."""
    if "is_group" in frame:
        frame = frame[~frame["is_group"].fillna(value=False).to_numpy(dtype=bool)]
    printed = frame["device"].astype("category")
    names = {name: topology.canonical(name) for name in pd.unique(printed)}
    found = infer(frame.assign(device=printed.map(names)), topology)
    return merge([*topology, *found]) if found else topology


def _disk(
    frame: pd.DataFrame, topology: DeviceTopology, selection: Selection
) -> tuple[pd.DataFrame, pd.DataFrame]:
    if "is_group" in frame:
        is_group = frame["is_group"].fillna(value=False).to_numpy(dtype=bool)
        frame = frame[~is_group]
    printed = frame["device"].astype("category")
    names = {name: topology.canonical(name) for name in pd.unique(printed)}
    frame = frame.assign(printed=printed, device=printed.map(names))
    if selection.devices:
        wanted = _wanted(frame, topology, selection.devices)
        frame = frame[frame["device"].isin(wanted)]
    frame = enrich(_without_repeats(frame))
    reasons = anomalies(frame)
    bad = (reasons != "").to_numpy()
    left_out = frame[bad].assign(anomaly=reasons[bad])
    frame = frame[~bad].reset_index(drop=True)
    frame["sample"] = frame.groupby("device", sort=False).cumcount()
    return frame, left_out


def _without_repeats(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows without those that a document quotes again: all numbers equal, in a text without clocks."""
    if frame["time"].notna().all():
        return frame
    numbers = frame.select_dtypes("number").columns.difference(["line", "segment", "report", "stream"])
    is_repeat = frame.duplicated(["source", "device", *numbers]) & frame["time"].isna()
    return frame[~(is_repeat & (frame[numbers] > 0).sum(axis=1).ge(_LEAST_ALIKE))]


_LEAST_ALIKE = 6  # so many non-zero numbers equal by chance is out of the question


def _wanted(frame: pd.DataFrame, topology: DeviceTopology, devices: Iterable[str]) -> set[str]:
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
    return wanted & set(frame["device"]) or wanted
