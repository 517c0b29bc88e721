"""Commits that wait in line: log writes and cache flushes that run one after the other.

Whether the line is busy shows in the occupancy of the flush chain: flushes per second times their
latency, which is the mean number of flushes in flight. The block layer runs one flush of a device
at a time and lets one more wait (block/blk-flush.c), so it lies between 0 and 2. Layouts without
flush columns still tell it: from Linux 5.5 on requests in flight include flushes, the latencies
of reads and writes do not, so by Little's law what N exceeds X·R by is the flushes in flight. Older
kernels count requests in flight while they last and their latency when they end: there the difference is of
requests that outlive a sample, and nothing is inferred. Where the kernel is unknown it is a guess.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from iodiag.analysis.array.equal_rates import are_alike, disks_of
from iodiag.analysis.array.topmost_devices import topmost
from iodiag.analysis.host.cpu import CpuShares, RunQueueBursts, cpu_shares, run_queue_bursts
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.evidence import Values
from iodiag.analysis.measure.grading import confidence
from iodiag.analysis.measure.known_counter_bugs import version_of
from iodiag.analysis.measure.windows import DENSE, MOST_WINDOWS, WINDOW_EXIT_SHARE, is_sustained, windows
from iodiag.analysis.states.service_times import TRANSFER_KB_PER_MS
from iodiag.analysis.states.states import states
from iodiag.analysis.view.device_traits import has_parity
from iodiag.analysis.view.view import DeviceSeries, View
from iodiag.model.capture import Fact
from iodiag.model.finding import Confidence, Status
from iodiag.model.rule import Limits, Threshold
from iodiag.model.units import KB_PER_PAGE
from iodiag.table.result_cache import cached
from iodiag.table.table import Floats, Table

MOST_OCCUPANCY = 2.0
"""One flush runs and one waits; more is a device that stands still, not a line of commits."""

MOST_SERIAL = 1.5
"""Writes in flight up to which they run one at a time."""

LARGEST_LOG_KB = 16.0
"""Mean write up to which requests that no column shows are taken for flushes of a log: a page of InnoDB."""

LEAST_SHARE_OF_DEPTH = 0.25
"""An inferred occupancy below a quarter of the depth drowns in the rounding and drift of a queue."""

THRESHOLDS = {
    "occupancy": Threshold(
        0.6, "flushes", "mean number of flushes in flight that fills the chain", "measured stalls: 0.7 to 1.1"
    ),
    "idle_occupancy": Threshold(
        0.4,
        "flushes",
        "occupancy below which commits wait for something else",
        "a measured healthy server: 0.03",
    ),
    "full_occupancy": Threshold(
        0.8, "flushes", "occupancy of a chain without gaps", "judgement: one after another"
    ),
    "group_kb": Threshold(
        256,
        "kB",
        "most that goes with one flush",
        "judgement: log writes of a group of commits, no bulk writing",
    ),
    "read_bytes": Threshold(30, "%", "most of the bytes that are reads", "judgement: reads are the load"),
    "available": Threshold(30, "%", "idle and iowait together", "a measured commit stall: 51 %"),
    "iowait": Threshold(
        15, "%", "most iowait where no device tells of flushes", "a measured commit stall: 5 %"
    ),
    "write_share": Threshold(90, "%", "share of writes, flushes not counted", "judgement: the log alone"),
    "write_kb": Threshold(
        64, "kB", "largest log write without flush columns", "a group of commits; measured: 33 kB"
    ),
    "few": Threshold(3, "samples", "samples whose equal rates are no chance", "as volume-cap has it"),
    "flat": Threshold(3, "%", "variation of the rate at a ceiling", "counts of a second: 2 % at 3,000/s"),
    "used_util": Threshold(50, "%", "util from which slow writes one at a time are told", "judgement: half"),
    "full_util": Threshold(80, "%", "util of a device hardly left idle", "one at a time: as in flight"),
    "serial": Threshold(0.8, "requests", "least in flight of one at a time", "U ≤ N for exact counters"),
    "slow_write": Threshold(
        4,
        "ms",
        "latency of a write, without its transfer, that bounds the work",
        "half a turn at 7,200 rpm; a write cache answers in less",
    ),
    "commit_share": Threshold(50, "%", "active sessions in COMMIT", "judgement: most of those at work"),
    "empty": Threshold(30, "%", "samples without a runnable task", "measured convoys: 50 %"),
    "crowded": Threshold(30, "%", "samples with a crowd of runnable tasks", "measured convoys: 50 %"),
    "dispersion": Threshold(5, "", "variance over mean, runnable tasks", "1 is chance; measured: 20"),
}


@dataclass(frozen=True)
class Chain:
    """The longest window in which a device's flush chain was busy.

    `is_inferred` says that the occupancy follows from Little's law; then `flushes_per_s` and
    `flush_await_ms` are NaN. `is_signature` marks a window of serial small writes, N = X·R about 1, on a
    source that cannot tell flushes, `is_loop` one in which as many writes go with each flush, of which
    `occupancy` has the latency, too. `flat_pct` is how far the rates of samples are apart at which a busy
    device stays, as at a ceiling; NaN where they range. Where a layout does not tell reads from writes,
    `kind` says so, and what is said of writes is of all requests.
    """

    series: DeviceSeries = field(repr=False)
    rows: Table = field(repr=False)
    occupancy: float
    is_inferred: bool
    flushes_per_s: float
    flush_await_ms: float
    writes_per_s: float
    write_kb: float
    write_await_ms: float
    kind: str = "writes"
    is_signature: bool = False
    is_loop: bool = False
    util: float = float("nan")
    at_once: float = float("nan")
    flat_pct: float = float("nan")

    @property
    def has_empty(self) -> bool:
        """Whether its mean write is less than a page, by more than rounding: each fsync adds an empty one."""
        return self.write_kb < _LESS * KB_PER_PAGE

    @property
    def unseen(self) -> float:
        """What is in flight beyond rate times latency, as printed; `occupancy` allows for rounding."""
        rows = self.rows
        held = _in_flight(rows.floats("ios_per_s"), rows.floats("await_ms"))
        return weighted.mean(rows.with_columns(occupancy=rows.floats("depth") - held), "occupancy")

    def bounds_work(self, limits: Limits) -> bool:
        """Whether it is busy with slow writes that come one after the other: somebody waits for each."""
        return bool(
            self.is_signature
            and self.util >= limits.used_util / 100
            and limits.serial <= self.occupancy / min(self.util, 1.0) <= 1 / limits.serial
            and limits.serial <= self.at_once <= 1 / limits.serial
            and self.write_await_ms >= limits.slow_write + self.write_kb / TRANSFER_KB_PER_MS
            and not has_parity(self.series)
        )

    def template_values(self) -> Values:
        """What sentences about it name; those of flushes only where they are counted."""
        numbers: Values = {
            "device": self.series.name,
            "kind": self.kind,
            "count": len(self.rows),
            "samples": len(self.series.samples),
            "occupancy": self.unseen if self.is_inferred and not self.is_signature else self.occupancy,
            "share": 100 * self.occupancy,
            "writes": self.writes_per_s,
            "write_kb": self.write_kb,
            "write_await": self.write_await_ms,
        }
        if self.util >= 0:
            rates = self.rows.floats("ios_per_s")
            numbers |= {"util": 100 * self.util, "low": float(rates.min()), "high": float(rates.max())}
        if self.flat_pct >= 0:
            numbers["flat"] = self.flat_pct
        if self.flush_await_ms > 0:
            numbers |= {"flushes": self.flushes_per_s, "flush_await": self.flush_await_ms}
            numbers["each"] = self.writes_per_s / self.flushes_per_s
        return numbers


class Witnesses(NamedTuple):
    """What speaks beside the devices: CPU, runnable tasks, sessions, settings, the application's rate.

    `run_queue_bursts` is there only where they are strong; `in_commit` is the share (in per cent) of all
    active sessions of all listings. `is_durable` is None where no setting tells whether a commit waits for
    the disk.
    """

    cpu: CpuShares | None = None
    run_queue_bursts: RunQueueBursts | None = None
    sessions: tuple[Fact, ...] = ()
    in_commit: float = float("nan")
    settings: tuple[Fact, ...] = ()
    is_durable: bool | None = None
    rates: tuple[Fact, ...] = ()
    engine: tuple[Fact, ...] = ()


class Judgement(NamedTuple):
    """Whether commits are serialized: with a confidence, or why not.

    `chains` are the devices whose chain is busy, busiest first; empty where the host alone speaks. Then
    `carrier` is the disk that takes nearly all writes, if they keep it at work.
    """

    chains: tuple[Chain, ...] = ()
    witnesses: Witnesses = Witnesses()
    confidence: Confidence | None = None
    status: Status = "clear"
    reason: str = ""
    carrier: Chain | None = None

    @property
    def places(self) -> tuple[Chain, ...]:
        """The devices that commits wait for, as far as they are known."""
        return self.chains or ((self.carrier,) if self.carrier else ())

    @property
    def may_discard(self) -> bool:
        """Whether what no column shows beside writes larger than a log's may as well be discards."""
        first = self.chains[0] if self.chains and self.confidence == "low" else None
        return (
            first is not None
            and first.is_inferred
            and not first.is_signature
            and first.write_kb > LARGEST_LOG_KB
        )

    @property
    def is_at_ceiling(self) -> bool:
        """Whether the disk that takes the writes does so at a flat rate, and takes no more."""
        return self.carrier is not None and self.carrier.flat_pct >= 0


def has_time(view: View, judgement: Judgement, limits: Limits) -> bool:
    """Whether the first device could take more: it rests between its writes, or between its flushes.

    Between flushes it does not rest where idle CPUs count a task that waits as long as these take.
    """
    for chain in judgement.chains[:1]:
        if chain.is_signature:
            return chain.util < limits.full_util / 100
        cpu = judgement.witnesses.cpu
        waits = cpu.iowait / 100 * (view.cpus or 0) if cpu else 0.0
        return chain.is_loop or (chain.occupancy < limits.full_occupancy and not waits >= limits.occupancy)
    return False


def judge(view: View, limits: Limits) -> Judgement:
    """The host's verdict; `confidence` is None where nothing was found."""
    disks = [series for series in view.devices if not series.is_stacked]
    chains = [chain for series in disks if (chain := _chain(series, limits))]
    chains = [chain for chain in chains if not chain.is_loop or _does_one_wait(view, chain, limits)]
    if _holds_flushes(view) is False:
        chains = [chain for chain in chains if not chain.is_inferred]
    serial = [chain for series in view.devices if (chain := _signature(series, limits))]
    if any(_tells_flushes(view, series, limits) for series in disks):
        # a write through (FUA, or no cache) needs no flush
        serial = [chain for chain in serial if chain.bounds_work(limits)]
    known = topmost(view, {chain.series.name for chain in serial})
    chains += [chain for chain in serial if chain.series.name in known]
    # of writes one at a time those of a log come first, then those that take longest
    chains.sort(
        key=lambda chain: (
            (chain.is_signature, -chain.has_empty, -chain.write_await_ms)
            if chain.is_signature
            else (False, chain.is_loop, -chain.occupancy)
        )
    )
    witnesses = _witnesses(view, chains, limits)
    if chains:
        return _of_devices(view, chains, witnesses, limits)
    return _of_host(view, witnesses, limits)


def _of_devices(view: View, chains: list[Chain], witnesses: Witnesses, limits: Limits) -> Judgement:
    cpu, first = witnesses.cpu, chains[0]
    if cpu and cpu.available < limits.available:
        reason = "the flush chain is busy, but so is the CPU: commits are not what it waits for"
        return Judgement(witnesses=witnesses, reason=reason)
    is_waiting = witnesses.in_commit >= limits.commit_share or bool(witnesses.run_queue_bursts)
    is_bound = first.bounds_work(limits)
    if first.is_signature and not is_waiting and not is_bound and not first.has_empty:
        reason = "serial small writes, but no sign of flushes or commits; a process list would settle it"
        return Judgement(witnesses=witnesses, status="undetermined", reason=reason)
    points = 1 + 2 * (is_bound or not first.is_signature)
    is_full = first.has_empty if first.is_signature else first.occupancy >= limits.full_occupancy
    points += is_full
    points += _outside_points(witnesses, limits)
    if points < 1:
        reason = "the flush chain is busy, but sessions and settings say that no commit waits for it"
        return Judgement(witnesses=witnesses, reason=reason)
    at_most: Confidence = "high" if is_sustained(first.rows) else "medium"
    if first.is_signature and not is_waiting:
        at_most = "medium"
    elif first.is_inferred and not is_waiting and (not _holds_flushes(view) or (cpu is None and points < 6)):
        at_most = "low"
    sure = confidence(points, at_most=at_most)
    alike = (first.is_signature, first.is_signature and first.has_empty)
    kept = tuple(one for one in chains if (one.is_signature, one.is_signature and one.has_empty) == alike)
    return Judgement(kept, witnesses, sure)


def _outside_points(witnesses: Witnesses, limits: Limits) -> int:
    points = int(bool(witnesses.run_queue_bursts))
    points += 3 if witnesses.in_commit >= limits.commit_share else 0
    points -= 2 if witnesses.in_commit < 20 else 0
    return points + {True: 2, False: -2, None: 0}[witnesses.is_durable]


def _of_host(view: View, witnesses: Witnesses, limits: Limits) -> Judgement:
    """Without a device to show: from CPU, runnable tasks and sessions alone."""
    cpu, is_waiting = witnesses.cpu, witnesses.in_commit >= limits.commit_share
    seen = [
        _occupancy(series)
        for series in view.devices
        if not series.is_stacked and _tells_flushes(view, series, limits)
    ]
    if seen and max(seen) < limits.idle_occupancy:
        if is_waiting and witnesses.is_durable is not False:
            reason = (
                "sessions wait in COMMIT while no device's flush chain is busy: look at replication "
                "acknowledgements and the network, or capture the log's device"
            )
            return Judgement(witnesses=witnesses, status="undetermined", reason=reason)
        return Judgement(witnesses=witnesses, reason="no device's flush chain is busy")
    if seen and max(seen) >= limits.occupancy:
        return Judgement(witnesses=witnesses, reason="its flushes are slow, but what they carry is no log")
    if seen and not is_waiting:
        reason = "a flush chain is half busy; a process list or a longer capture under load would settle it"
        return Judgement(witnesses=witnesses, status="undetermined", reason=reason)
    if cpu is None:
        return Judgement(witnesses=witnesses, reason="no device's writes look like commits that wait in line")
    # sessions say what they wait for; a crowd of tasks may be any that come and go together
    if cpu.available < limits.available or (cpu.iowait > limits.iowait and not is_waiting):
        reason = "the CPU is busy, or waits for reads and writes of its own"
        return Judgement(witnesses=witnesses, reason=reason)
    has_bursts = bool(witnesses.run_queue_bursts and not view.devices and _writes_only(view))
    if not is_waiting and not has_bursts:
        return Judgement(witnesses=witnesses, reason="no crowd of tasks that come and go with writes alone")
    sure = confidence(1 + _outside_points(witnesses, limits))
    return Judgement((), witnesses, sure, carrier=_carrier(view, limits))


def _carrier(view: View, limits: Limits) -> Chain | None:
    """The disk that takes nearly all writes of the host, if its writes keep it at work."""
    disks = disks_of(view)
    written = [weighted.or_zero(weighted.mean(disk.samples, "write_kb_per_s")) for disk in disks]
    most = int(np.argmax(written)) if written else 0
    if (
        not sum(written)
        or written[most] < limits.write_share / 100 * sum(written)
        or not len(disks[most].loaded)
    ):
        return None
    rows = disks[most].loaded
    chain = replace(_measured(disks[most], rows, True), util=weighted.mean(rows, "util"))
    if not chain.writes_per_s * chain.write_await_ms / 1000 >= limits.idle_occupancy:
        return None
    spread = 100 * weighted.variation(rows, "ios_per_s")
    is_flat = len(rows) >= limits.few and chain.util >= limits.full_util / 100 and spread <= limits.flat
    return replace(chain, flat_pct=spread) if is_flat else chain


def _run_queue_bursts(view: View, limits: Limits) -> RunQueueBursts | None:
    found = run_queue_bursts(view)
    if found is None or found.empty < limits.empty or found.crowded < limits.crowded:
        return None
    return found if found.dispersion >= limits.dispersion else None


def _writes_only(view: View) -> bool:
    """Whether the host writes and hardly reads; true where it is not known."""
    paging = view.samples("paging")
    if paging is None or "pgpgout_kb_per_s" not in paging:
        return True
    read, written = weighted.mean(paging, "pgpgin_kb_per_s"), weighted.mean(paging, "pgpgout_kb_per_s")
    return bool(written > 0 and not read > 0.05 * written)


_LESS = 0.99
"""Share of a page that a printed mean of whole pages has at the least."""


@cached
def _chain(series: DeviceSeries, limits: Limits) -> Chain | None:
    """The longest window in which a disk's flush chain was busy."""
    samples = _with_occupancy(series)
    is_busy = samples.floats("occupancy") >= WINDOW_EXIT_SHARE * limits.occupancy
    is_inferred = _is_inferred(samples)
    if is_inferred and is_busy.any():
        depth = np.nan_to_num(samples.floats("depth"))
        is_busy &= samples.floats("occupancy") >= LEAST_SHARE_OF_DEPTH * depth
    found = islice(windows(samples, is_busy), MOST_WINDOWS)
    # of windows as long as each other, the one that waits most
    for rows in sorted(found, key=lambda rows: (-len(rows), -weighted.mean(rows, "occupancy"))):
        if not limits.occupancy <= weighted.mean(rows, "occupancy") <= MOST_OCCUPANCY:
            continue
        chain = _measured(series, rows, is_inferred)
        if _is_log(chain, limits) and _lasts(rows, samples):
            return chain
    return None if is_inferred else _loop(series, limits)


def _loop(series: DeviceSeries, limits: Limits) -> Chain | None:
    """The samples in which a flush follows each write, or each few of one number: a commit waits for both.

    Of many that commit at once, or of what is written back, the number of writes per flush varies.
    """
    samples = series.samples
    writes, flushes = samples.floats("writes_per_s"), samples.floats("flushes_per_s")
    occupancy = _in_flight(flushes, samples.floats("write_await_ms") + samples.floats("flush_await_ms"))
    each = writes / np.fmax(flushes, 1e-9)
    is_whole = (np.abs(each - np.rint(each)) <= SAME_NUMBER * each) & (np.rint(each) <= MOST_PER_FLUSH)
    is_whole &= (occupancy >= limits.occupancy) & (occupancy <= 1 / limits.serial)
    rows = samples.with_columns(occupancy=occupancy)[is_whole & (writes > 0)]
    if len(rows) < 2 or float((rows.floats("flushes_per_s") * weighted.lengths(rows)).sum()) < LEAST_FLUSHES:
        return None
    chain = replace(_measured(series, rows, False), is_loop=True, util=weighted.mean(rows, "util"))
    is_one_number = len(np.unique(np.rint(each[is_whole & (writes > 0)]))) == 1
    is_small = chain.write_kb <= limits.write_kb and _is_log(chain, limits)
    return chain if is_one_number and is_small and _lasts(rows, samples) else None


def _does_one_wait(view: View, loop: Chain, limits: Limits) -> bool:
    """Whether idle CPUs count about one task that waits, which is no crowd that commits."""
    cpu = view.cpu_at(loop.rows)
    iowait = weighted.mean(cpu, "iowait_pct", "cpu") if cpu is not None and view.cpus else float("nan")
    return limits.occupancy <= iowait / 100 * (view.cpus or 0) <= MOST_SERIAL


MOST_PER_FLUSH, SAME_NUMBER, LEAST_FLUSHES = 4, 0.02, 200
"""Writes per flush of one that syncs what it writes (its data, and a journal's blocks and commit record), how
far from a whole number they may be, and flushes that are so by no chance."""


def _lasts(rows: Table, samples: Table) -> bool:
    """Whether a window is long, or most of what a short capture shows of the device's writing."""
    writing = int(np.count_nonzero(samples.floats("write_kb_per_s") > 0))
    return is_sustained(rows) or 2 * len(rows) > writing


def _signature(series: DeviceSeries, limits: Limits) -> Chain | None:
    """Small writes one at a time, in a state that lasts: a log where flushes cannot be told or are none."""
    samples = series.samples
    writes = samples.floats("writes_per_s")
    in_flight = writes * samples.floats("write_await_ms") / 1000
    mask = (
        (writes >= limits.write_share / 100 * samples.floats("ios_per_s"))
        & (samples.floats("write_size_kb") <= limits.write_kb)
        & (in_flight >= limits.occupancy)
        & (in_flight <= MOST_SERIAL)
        & ~samples["is_idle"]
    )
    told = samples.with_columns(occupancy=in_flight)
    for state in states(series):
        rows = told[state.places[mask[state.places]]]
        if len(rows) and len(rows) >= DENSE * state.samples and _lasts(rows, samples):
            return replace(
                _measured(series, rows, True), is_signature=True, util=state.util, at_once=state.at_once
            )
    return None


def _measured(series: DeviceSeries, rows: Table, is_inferred: bool) -> Chain:
    unknown = float("nan")
    # only writes are flushed: what all requests move is no less than they do
    is_told = rows.has("writes_per_s")
    rate, kb, wait = (
        ("writes_per_s", "write_kb_per_s", "write_await_ms")
        if is_told
        else ("ios_per_s", "kb_per_s", "latency_ms")
    )
    return Chain(
        series=series,
        rows=rows,
        occupancy=weighted.mean(rows, "occupancy"),
        is_inferred=is_inferred,
        flushes_per_s=unknown if is_inferred else weighted.mean(rows, "flushes_per_s"),
        flush_await_ms=unknown if is_inferred else weighted.mean(rows, "flush_await_ms"),
        writes_per_s=weighted.mean(rows, rate),
        write_kb=weighted.ratio(rows, kb, rate),
        write_await_ms=weighted.mean(rows, wait),
        kind="writes" if is_told else "requests",
    )


def _is_log(chain: Chain, limits: Limits) -> bool:
    """Whether what is flushed looks like a log: mostly writes, not much of them per flush."""
    written, read = chain.writes_per_s * chain.write_kb, weighted.mean(chain.rows, "read_kb_per_s")
    # without a count of flushes: two writes (the log's and the commit record's) go with each
    flushes = chain.writes_per_s / 2 if chain.is_inferred else chain.flushes_per_s
    is_written = 0 < written <= limits.group_kb * flushes
    return bool(is_written and not read > limits.read_bytes / 100 * (read + written))


def _is_inferred(samples: Table) -> bool:
    columns = ("flushes_per_s", "flush_await_ms")
    return any(bool(np.isnan(samples.floats(column)).all()) for column in columns)


@cached
def _with_occupancy(series: DeviceSeries) -> Table:
    """A device's samples with the flushes in flight as `occupancy`."""
    return series.samples.with_columns(occupancy=_occupancies(series.samples))


def _occupancies(samples: Table) -> Floats:
    """Flushes in flight per sample: counted, or what Little's law leaves over."""
    if not _is_inferred(samples):
        rate, wait = samples.floats("flushes_per_s"), samples.floats("flush_await_ms")
        return _in_flight(rate, wait)
    ios, wait = samples.floats("ios_per_s"), samples.floats("await_ms")
    return np.asarray(samples.floats("depth") - 0.005 - _in_flight(ios, wait + 0.005))


def _in_flight(rate: Floats, wait_ms: Floats) -> Floats:
    """Requests in flight by Little's law: none where there are none, however long they would take."""
    found = rate * wait_ms / 1000
    np.putmask(found, rate <= 0, 0.0)
    return found


@cached
def _occupancy(series: DeviceSeries) -> float:
    """The mean occupancy of a device while it writes; 0 when it never does."""
    samples = _with_occupancy(series)
    rows = samples[samples.floats("write_kb_per_s") > 0]
    return weighted.or_zero(weighted.mean(rows, "occupancy"))


def would_show(view: View, name: str, limits: Limits) -> bool:
    """Whether commits that wait for a device would have been seen: it writes nothing, or counts flushes.

    Of a stack its disks count them: those that lie below, or that are alike where nothing names any.
    """
    series = view.series(name)
    if series is None or not (series.samples.floats("write_kb_per_s") > 0).any():
        return True
    if not series.is_stacked or series.is_untimed:
        return _tells_flushes(view, series, limits)
    below = [found for leaf in view.topology.leaves(name) if (found := view.series(leaf.name))]
    disks = [one for one in below if one is not series] or [
        one for one in disks_of(view) if are_alike(series, one)
    ]
    return all(would_show(view, one.name, limits) for one in disks if not one.is_stacked)


def _tells_flushes(view: View, series: DeviceSeries, limits: Limits) -> bool:
    """Whether an absent flush of a disk would mean that there was none: not so on old kernels.

    A disk without a write cache is sent none: where its writes come one at a time, none tells nothing.
    """
    has_depth = not np.isnan(series.samples.floats("depth")).all()
    is_counted = not _is_inferred(series.samples)
    if is_counted and not (series.samples.floats("flushes_per_s") > 0).any():
        return _signature(series, limits) is None
    return is_counted or bool(_holds_flushes(view) and has_depth)


def _holds_flushes(view: View) -> bool | None:
    """Whether this kernel's requests in flight include flushes; None where its version is unknown."""
    version = version_of(view.kernel)
    return version >= (5, 5) if version else None


def _witnesses(view: View, chains: list[Chain], limits: Limits) -> Witnesses:
    sessions = tuple(
        f for f in view.facts_of("processlist", "pg-activity") if f.number("active_sessions") > 0
    )
    active = sum(fact.number("active_sessions") for fact in sessions)
    waiting = sum(fact.number("sessions_in_commit") for fact in sessions)
    told = [f for f in view.facts_of("mysql-variables", "pg-settings") if is_durable(f) is not None]
    # prose tells of settings that were tried as well as of those in force
    settings = tuple([f for f in told if not f.number("is_prose") > 0] or told)
    durable = [is_durable(fact) for fact in settings]
    return Witnesses(
        cpu=cpu_shares(view.cpu_at(chains[0].rows) if chains else view.cpu_all),
        run_queue_bursts=_run_queue_bursts(view, limits),
        sessions=sessions,
        in_commit=100 * waiting / active if active >= 4 else float("nan"),
        settings=settings,
        is_durable=any(durable) if durable else None,
        rates=tuple(f for f in view.facts_of("sysbench", "pgbench") if f.number("transactions_per_s") > 0),
        engine=tuple(f for f in view.facts_of("innodb-status") if f.number("fsyncs_per_s") > 0),
    )


def is_durable(settings: Fact) -> bool | None:
    """Whether a commit waits until its log is on the disk; None where these settings do not say."""
    log, binlog = (settings.number("innodb_flush_log_at_trx_commit"), settings.number("sync_binlog"))
    if log == 1 or binlog == 1:
        return True
    if log in (0, 2):
        return False
    commit, fsync = settings.word("synchronous_commit").lower(), settings.word("fsync").lower()
    if commit == "off" or fsync == "off":
        return False
    return True if commit in ("on", "local", "remote_write", "remote_apply") else None
