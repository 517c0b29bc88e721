"""What two views of a host show on both sides: devices, processors, and applications' own measures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from iodiag.analysis.array.side_by_side import report_keys, side_by_side
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.before_after import (
    AFTER,
    BEFORE,
    Sums,
    change,
    is_over_time,
    judged_change,
    with_idle_samples,
)
from iodiag.analysis.measure.evidence import cite
from iodiag.analysis.measure.load_or_speed import (
    Mix,
    by_matched_load,
    is_other_workload,
    mix_of,
    reading,
    shift,
    sign,
)
from iodiag.analysis.measure.matched_load import MIXED, at_matched_load
from iodiag.analysis.measure.weighted import LEAST_REQUESTS
from iodiag.analysis.view.view import REPORTS, DeviceSeries, View, report_numbers
from iodiag.comparison.applications import applications
from iodiag.comparison.pairing import HARDLY, LEAST_SHARE, Pair, pair
from iodiag.model import columns as registry
from iodiag.model.columns import KB_BY_WAY, LATENCIES, RATES, SIZES
from iodiag.model.comparison import Change, MatchedLoad, Subject
from iodiag.model.finding import Evidence
from iodiag.model.units import KB_PER_MB
from iodiag.table.table import Table

QUANTITIES = (
    *(*RATES, "discards_per_s", "flushes_per_s", "kb_per_s", *KB_BY_WAY, "discard_kb_per_s"),
    *(*SIZES, "read_merges_pct", "write_merges_pct"),
    *(*LATENCIES, "discard_await_ms", "flush_await_ms", "queue_depth", "util_pct"),
)
"""What is compared of a device, totals before their directions."""

CPU_QUANTITIES = (
    "user_pct",
    "nice_pct",
    "system_pct",
    "iowait_pct",
    "steal_pct",
    "idle_pct",
    "available_pct",
)
"""What is compared of a host's processors; available is idle and iowait, which is idle time as well."""

HOST_QUANTITIES = {
    "paging": ("pgpgin_kb_per_s", "pgpgout_kb_per_s"),
    "queue": ("run_queue", "blocked"),
}
"""What is compared of a host without any device: vmstat's bi, bo, r and b."""

MEMBER_COST = "member_kb_per_kb"
"""What the members of an array read and write for each kB that is read from or written to it."""

KB_PER_GB = KB_PER_MB * 1024

Sides = tuple[Table, Table]


def subjects(before: View, after: View) -> tuple[list[Subject], list[str]]:
    """Everything of two views that can be compared, and in sentences what cannot.

    Applications come first, since they say what a change was worth; then devices, the busiest first
    and parts of others last; then the processors. Tasks and paging stand in for missing devices.
    """
    paired = pair(before, after)
    devices = [_device(entry, before, after) for entry in paired.pairs]
    host = None if devices else _host(before, after)
    others = [subject for subject in (host, _cpu(before, after, paired.pairs)) if subject is not None]
    return [*applications(before, after), *devices, *others], list(paired.uncompared)


def _device(entry: Pair, before: View, after: View) -> Subject:
    rows = _loaded(entry.before), _loaded(entry.after)
    mix = mix_of(*rows)
    found, remarks = _device_changes(rows, (_window(entry.before), _window(entry.after)), mix)
    cost, later = _below(before, entry.before, rows[BEFORE]), _below(after, entry.after, rows[AFTER])
    if cost is not None and later is not None:
        found[MEMBER_COST] = judged_change(MEMBER_COST, cost, later)
    if "disk" in before.average_only | after.average_only:
        found = {name: replace(one, confidence="low") for name, one in found.items()}
        remarks.append(_only_averages("disk", before, after))
    loads: list[MatchedLoad] = []
    matched: list[Change] = []
    is_mixed = not ({"read_await_ms", "write_await_ms"} & found.keys())
    for direction in (MIXED,) if is_mixed and mix.is_like else () if is_mixed else ("read", "write"):
        cells, combined = at_matched_load(*rows, direction)
        loads += cells
        matched += [combined] if combined else []
    name = _either(entry.before.name, entry.after.name)
    latency = _main_latency(found, mix)
    kind = shift(
        sign(found.get("ios_per_s")),
        sign(found.get("queue_depth")),
        sign(latency),
        is_other_workload(found, mix),
    )
    main = latency.quantity if latency is not None else ""
    kind = by_matched_load(kind, next((one for one in matched if one.quantity == main), None))
    return Subject(
        kind="device",
        before=entry.before.name,
        after=entry.after.name,
        basis=entry.basis,
        changes=tuple(found.values()),
        host_before=before.host,
        host_after=after.host,
        shift=kind,
        reading=reading(name, kind, found, matched, mix, rows[AFTER]),
        matched=tuple(loads),
        at_matched_load=tuple(matched),
        evidence=(_rows_of(entry.before, "Before"), _rows_of(entry.after, "After")),
        remarks=(*_differences(entry), *remarks),
        is_part=entry.is_part,
        share=entry.share,
    )


def _below(view: View, series: DeviceSeries, rows: Table) -> Sums | None:
    """What an array's members move, read or written, for what is asked of the array."""
    members = view.members(series)
    if series.device is None or len(members) < 2 or len(members) != len(series.device.members):
        return None
    parts = side_by_side(members)
    below = np.sum([part.floats("kb_per_s") for part in parts], axis=0)
    own, known = rows.floats("kb_per_s"), report_keys(parts[0])[~np.isnan(below)]
    held = np.flatnonzero(np.isin(report_keys(rows), known) & (own > 0))
    if not len(held):
        return None
    below = below[~np.isnan(below)][np.searchsorted(known, report_keys(rows)[held])]
    length = weighted.lengths(rows)[held]
    return Sums(below * length, own[held] * length)


def _only_averages(family: str, before: View, after: View) -> str:
    sides = [when for when, view in (("before", before), ("after", after)) if family in view.average_only]
    return (
        f"the values {' and '.join(sides)} are averages since boot or over the whole capture, "
        "which prove little"
    )


def _either(before: str, after: str) -> str:
    return f"`{before}`" if before == after else f"`{before}`, now `{after}`,"


def _loaded(series: DeviceSeries) -> Table:
    """The samples with load; all of them where the device had none."""
    return series.loaded if len(series.loaded) else series.samples


def _window(series: DeviceSeries) -> Table:
    """All samples from the first to the last with load in each stream."""
    samples = series.samples
    loaded = np.flatnonzero(~samples["is_idle"])
    if not len(loaded):
        return samples
    places, stream = np.arange(len(samples)), np.unique(samples["stream"], return_inverse=True)[1]
    first, last = np.full(len(samples), len(samples)), np.full(len(samples), -1)
    np.minimum.at(first, stream[loaded], loaded)
    np.maximum.at(last, stream[loaded], loaded)
    return samples[(places >= first[stream]) & (places <= last[stream])]


def _device_changes(rows: Sides, windows: Sides, mix: Mix) -> tuple[dict[str, Change], list[str]]:
    """The changes by quantity, and in sentences which could not be had."""
    found: dict[str, Change] = {}
    one_sided: dict[int, list[str]] = {BEFORE: [], AFTER: []}
    few: list[str] = []
    slight = [d for d in ("read", "write", "discard", "flush") if _is_slight(rows, d)]
    for quantity in QUANTITIES:
        if quantity.startswith(tuple(slight)) or (quantity == "await_ms" and not mix.is_like):
            continue
        known = [_has(side, quantity) for side in rows]
        if known[BEFORE] != known[AFTER]:
            one_sided[BEFORE if known[BEFORE] else AFTER].append(quantity)
            continue
        if quantity.endswith("await_ms") and min(_requests(side, quantity) for side in rows) < LEAST_REQUESTS:
            few += [quantity] if known[BEFORE] else []
            continue
        one = change(quantity, *rows)
        if one is None:
            continue
        if is_over_time(quantity):
            one = with_idle_samples(one, *(weighted.mean(side, quantity) for side in windows))
        found[quantity] = one
    return found, list(_lacks(one_sided, few))


def _lacks(one_sided: dict[int, list[str]], few: list[str]) -> Iterator[str]:
    for side, when in ((BEFORE, "before"), (AFTER, "after")):
        if one_sided[side]:
            yield f"stated only {when}: {', '.join(f'`{name}`' for name in one_sided[side])}"
    if few:
        names = ", ".join(f"`{name}`" for name in few)
        yield f"fewer than {LEAST_REQUESTS} requests on a side, too few for {names}"


def _has(rows: Table, quantity: str) -> bool:
    """Whether a source states a quantity, or what it is computed from."""
    if quantity.endswith("_request_size_kb"):
        direction = quantity.split("_")[0]
        return _has(rows, f"{direction}s_per_s") and _has(rows, f"{direction}_kb_per_s")
    if quantity.endswith("_merges_pct"):
        quantity = quantity.replace("_pct", "_per_s")
    return rows.has(quantity)


def _requests(rows: Table, quantity: str) -> float:
    """How many requests a latency is the mean of; as if samples were a second long where none says."""
    entry = registry.find("disk", quantity)
    weight = entry.weight if entry is not None else None
    return float(np.nansum(rows.floats(weight or "ios_per_s") * weighted.lengths(rows)))


def _is_slight(rows: Sides, direction: str) -> bool:
    """Whether a direction has next to nothing of the requests and of the bytes on either side."""
    shares = []
    for side in rows:
        for part, whole in ((_plural(direction), "ios_per_s"), (f"{direction}_kb_per_s", "kb_per_s")):
            total = weighted.mean(side, whole)
            shares.append(weighted.mean(side, part) / total if total > 0 else math.nan)
    known = [share for share in shares if not math.isnan(share)]
    return bool(known) and max(known) < HARDLY


def _plural(direction: str) -> str:
    return "flushes_per_s" if direction == "flush" else f"{direction}s_per_s"


def _main_latency(found: dict[str, Change], mix: Mix) -> Change | None:
    """The latency of the direction that matters; the mixed one where both do."""
    if mix.direction != MIXED and f"{mix.direction}_await_ms" in found:
        return found[f"{mix.direction}_await_ms"]
    return found.get("await_ms")


def _rows_of(series: DeviceSeries, when: str) -> Evidence:
    """How many samples of a side had load; quoted are the one with the deepest queue and the ends."""
    values: dict[str, float | str] = {
        "device": series.name,
        "loaded": float(len(series.loaded)),
        "samples": float(len(series.samples)),
    }
    if not len(series.loaded):
        return cite(series.samples, f"{when}: `{{device}}` is idle in all {{samples}} samples", values)
    what = "sample of {samples} has" if len(series.loaded) == 1 else "samples of {samples} have"
    return cite(series.loaded, f"{when}: {{loaded}} {what} load on `{{device}}`", values, worst="queue_depth")


def _differences(entry: Pair) -> Iterator[str]:
    """What the topology says of the two that is not the same."""
    one, other = entry.before.device, entry.after.device
    if one is None or other is None:
        return
    for label, before, after in (
        ("level", one.level, other.level),
        ("members", len(one.members) or None, len(other.members) or None),
        ("chunk", _kb(one.chunk_kb), _kb(other.chunk_kb)),
        ("model", one.model, other.model),
        ("size", _kb(one.size_kb), _kb(other.size_kb)),
        ("scheduler", one.scheduler, other.scheduler),
        ("read-ahead", _kb(one.read_ahead_kb), _kb(other.read_ahead_kb)),
        ("nr_requests", one.nr_requests, other.nr_requests),
        ("write cache", one.write_cache, other.write_cache),
    ):
        if before is not None and after is not None and before != after:
            yield f"{label}: {before} before, {after} after"


def _kb(size: float | None) -> str | None:
    if size is None:
        return None
    return f"{size:,.0f} kB" if size < KB_PER_GB else f"{size / KB_PER_GB:,.4g} GB"


def _cpu(before: View, after: View, pairs: Iterable[Pair]) -> Subject | None:
    """The processors while the compared devices had load."""
    pairs = [entry for entry in pairs if entry.share >= LEAST_SHARE and not entry.is_part]
    one = _cpu_rows(before, [entry.before for entry in pairs])
    other = _cpu_rows(after, [entry.after for entry in pairs])
    if one is None or other is None:
        return None
    rows = one, other
    every = (change(quantity, *rows, family="cpu") for quantity in CPU_QUANTITIES)
    found = [moved for moved in every if moved is not None]
    if not found:
        return None
    remarks = []
    if before.has_only_cpu_averages or after.has_only_cpu_averages:
        found = [replace(moved, confidence="low") for moved in found]
        remarks.append(_only_averages("cpu", before, after))
    if before.cpus and after.cpus and before.cpus != after.cpus:
        remarks.append(f"{before.cpus} processors before, {after.cpus} after: shares are of all of them")
    if before.kernel and after.kernel and before.kernel != after.kernel:
        remarks.append(f"kernel `{before.kernel}` before, `{after.kernel}` after")
    return Subject(
        kind="cpu",
        before="cpu",
        after="cpu",
        basis="all processors of the host, while the compared devices had load",
        changes=tuple(found),
        host_before=before.host,
        host_after=after.host,
        evidence=(_cpu_evidence(rows[BEFORE], "Before"), _cpu_evidence(rows[AFTER], "After")),
        remarks=tuple(remarks),
    )


def _host(before: View, after: View) -> Subject | None:
    """Runnable and blocked tasks, and what the host reads and writes in all: what vmstat has of disks."""
    changes: list[Change] = []
    evidence: list[Evidence] = []
    for family, quantities in HOST_QUANTITIES.items():
        first, second = before.samples(family), after.samples(family)
        if first is None or second is None:
            continue
        found = [change(quantity, first, second, family) for quantity in quantities]
        low = bool({family} & (before.average_only | after.average_only))
        changes += [replace(one, confidence="low") if low else one for one in found if one is not None]
        evidence = evidence or [_rows_evidence(first, "Before"), _rows_evidence(second, "After")]
    if not changes:
        return None
    return Subject(
        kind="host",
        before="host",
        after="host",
        basis="the whole host over the whole capture",
        changes=tuple(changes),
        host_before=before.host,
        host_after=after.host,
        evidence=tuple(evidence),
    )


def _rows_evidence(rows: Table, when: str) -> Evidence:
    text = f"{when}: {{samples}} sample{'s' if len(rows) > 1 else ''}"
    return cite(rows, text, {"samples": float(len(rows))})


def _cpu_evidence(rows: Table, when: str) -> Evidence:
    text = f"{when}: {{samples}} sample{'s' if len(rows) > 1 else ''} of all processors"
    return cite(rows, text, {"samples": float(len(rows))}, worst="iowait_pct")


def _cpu_rows(view: View, devices: Iterable[DeviceSeries]) -> Table | None:
    """The CPU rows from the first to the last report in which a device had load; all where none had."""
    if view.cpu_all is None:
        return None
    available = view.cpu_all.floats("idle_pct") + view.cpu_all.floats("iowait_pct")
    cpu = view.cpu_all.with_columns(available_pct=available)
    loaded = [series.loaded for series in devices if len(series.loaded)]
    if not loaded:
        return cpu
    number, *numbers = report_numbers(cpu, *loaded)
    reports = np.unique(np.concatenate(numbers))
    begins = np.unique(reports // REPORTS, return_index=True)[1]
    first, last = reports[begins], reports[np.append(begins[1:], len(reports)) - 1]
    place = np.maximum(np.searchsorted(first, number, side="right") - 1, 0)
    held: npt.NDArray[np.bool_] = (number >= first[place]) & (number <= last[place])
    if held.any():
        return cpu[held]
    # another tool's CPU rows beside the disks': by the clock, where both have one
    clock, times = cpu["time"].stamps, np.concatenate([rows["time"].stamps for rows in loaded])
    held = (clock >= np.fmin.reduce(times)) & (clock <= np.fmax.reduce(times))
    return cpu[held] if held.any() else cpu
