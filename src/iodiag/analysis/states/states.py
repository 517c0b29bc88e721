"""A device's samples as a few states: like direction, like latency, like number of requests in flight.

A state need not be contiguous, and an outlier is a state of its own, with its share of the time and of the
requests. Rules ask states instead of cutting windows: what 17 of 18 samples agree on is not hidden by the
eighteenth, and one sample of 30,000 requests is as sure of its means as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.time_per_kb import DIRECTIONS, ONE_WAY, in_flight
from iodiag.analysis.states.service_times import FLUSH_KB, events_per_sample, relative_error, usual_ms
from iodiag.analysis.view.request_columns import BORNE_OUT, LITTLE, LITTLE_SLACK
from iodiag.analysis.view.view import DeviceSeries
from iodiag.model.units import KB_PER_MB, KB_PER_SECTOR
from iodiag.table.result_cache import cached
from iodiag.table.table import Floats, Mask, Places, Table

Kind = Literal["idle", "reads", "writes", "reads and writes", "discards", "stuck"]
KINDS: tuple[Kind, ...] = ("idle", "reads", "writes", "reads and writes", "discards", "stuck")

ONE_DIRECTION = 0.95
"""Share of the requests from which the rest does not count."""

_NAMED = ("reads", "writes", "discards")
"""Kinds that are named for the one direction with (nearly) all requests."""

STUCK_UTIL, STUCK_DEPTH = 0.9, 0.5
"""Without a completion, a device this busy or with this much in flight holds requests back."""

GAP, SPAN = math.log(2), math.log(4)
"""Neighbouring values this far apart (ln) are of two states; no state is wider than the span."""

MOST_STATES = 8
"""States of a device; of more the shortest are taken together with those of their kind."""


_ROUNDED = 0.005
"""Requests in flight that a counter with two decimals prints as more than none."""


@dataclass(frozen=True)
class State:
    """The samples of one device in which it did the same, taken together: like kind, latency and depth.

    Means are weighted as the column registry says. `rate`, `size_kb` and `latency_ms` are those of the
    direction it is named for, as far as columns tell, else of all requests. `seconds` is NaN where no length
    is known; `requests` are those counted (of samples of unknown length at the least); `share` is of the
    device's time. `at_once` are the requests in flight while busy where util can be trusted, else the mean
    number in flight.
    """

    device: str
    kind: Kind
    rows: Table = field(repr=False)
    places: Places = field(repr=False)
    share: float
    requests: float

    @property
    def samples(self) -> int:
        """How many samples it has."""
        return len(self.places)

    @cached_property
    def seconds(self) -> float:
        """How long it lasted, NaN where no length is known."""
        lengths = self.rows.floats("interval_s")
        return float(np.nansum(lengths)) if np.isfinite(lengths).any() else math.nan

    def mean(self, column: str) -> float:
        """The mean of any column of the disk table, NaN where there is none."""
        return weighted.mean(self.rows, column)

    @cached_property
    def ios(self) -> float:
        """Requests per second, of all directions."""
        return self.mean("ios_per_s")

    @cached_property
    def held(self) -> float:
        """Requests in flight by Little's law: the rate of all times their mean latency."""
        return self.ios * _by_requests(self.rows, "latency_ms") / 1000

    @cached_property
    def _own_rate(self) -> float:
        """Requests per second of its direction; NaN where it has all of them, or not all samples tell."""
        if self.kind not in _NAMED or np.isnan(self.rows.floats(f"{self.kind}_per_s")).any():
            return math.nan
        rate = self.mean(f"{self.kind}_per_s")
        return rate if 0 < rate < self.ios else math.nan

    @cached_property
    def rate(self) -> float:
        """Requests per second."""
        return self.ios if math.isnan(self._own_rate) else self._own_rate

    @cached_property
    def size_kb(self) -> float:
        """Mean size of a request; of reads and writes where others discard, which moves nothing."""
        if not math.isnan(self._own_rate) or self.mean(f"{self.kind}_per_s") == self.ios:
            own = weighted.size_kb(self.rows, self.kind[:-1])
            if own > 0:
                return own
        moved = self.mean("reads_per_s") + self.mean("writes_per_s")
        if self.kind != "discards" and self.mean("discards_per_s") > 0 and moved > 0:
            return (self.mean("read_kb_per_s") + self.mean("write_kb_per_s")) / moved
        return _by_requests(self.rows, "size_kb")

    @cached_property
    def latency_ms(self) -> float:
        """Mean latency of a request."""
        own = math.nan if math.isnan(self._own_rate) else self.mean(f"{self.kind[:-1]}_await_ms")
        return own if own > 0 else _by_requests(self.rows, "latency_ms")

    @cached_property
    def util(self) -> float:
        """Share of time busy, 0..1, what exceeds 1 counted as 1; NaN where unknown."""
        util = np.minimum(self.rows.floats("util"), 1.0)
        known = ~np.isnan(util)
        lengths = weighted.lengths(self.rows)
        return float((util[known] * lengths[known]).sum() / lengths[known].sum()) if known.any() else math.nan

    @cached_property
    def depth(self) -> float:
        """Mean number of requests in flight; by rate and latency where that of the counter rounds to none."""
        counted = self.mean("depth")
        return self.held if counted == 0 and self.held >= _ROUNDED else counted

    @cached_property
    def at_once(self) -> float:
        """Requests in flight while busy; the mean number in flight where util does not tell how long."""
        return self.depth / self.util if self.is_busy_known else self.depth

    @cached_property
    def transfers_at_once(self) -> float:
        """As `at_once` without flushes: they are in the counter of the queue, and not in util."""
        flushing = weighted.or_zero(self.mean("flushes_per_s") * self.mean("flush_await_ms")) / 1000
        if not (self.is_busy_known and flushing > 0):
            return self.at_once
        return max(self.depth - flushing, min(self.depth, self.held)) / self.util

    @cached_property
    def counted_at_once(self) -> float:
        """As `at_once` by the counter of the queue, where that lacks requests; NaN where `depth` is of it."""
        counted = self.mean("queue_depth")
        is_lossy = counted < self.depth - LITTLE_SLACK
        return counted / (self.util if self.is_busy_known else 1.0) if is_lossy else math.nan

    @cached_property
    def is_busy_known(self) -> bool:
        """Whether util tells how long requests were in flight."""
        return self.util >= 0.05 and bool(np.asarray(self.rows["is_util_trusted"]).all())

    @cached_property
    def error(self) -> float:
        """The relative error of its means, by the requests counted."""
        return relative_error(self.requests)


def queue_by_direction(
    series: DeviceSeries, state: State
) -> Iterator[tuple[str, float, float, float, float]]:
    """Per direction: requests in flight while busy, requests counted, latency and what is usual for one, ms.

    None where util does not tell how long the device was busy.
    """
    for way in DIRECTIONS if state.is_busy_known else ():
        rate, wait = state.mean(f"{way}s_per_s"), state.mean(f"{way}_await_ms")
        size = weighted.ratio(state.rows, f"{way}_kb_per_s", f"{way}s_per_s")
        counted = state.requests * rate / state.ios if state.ios > 0 else 0.0
        yield way, rate * wait / 1000 / state.util, counted, wait, usual_ms(series, size)


def counts_no_bytes(rows: Table) -> Mask:
    """The samples whose requests carry data, as reads and what merges do, while 0 bytes are printed of them.

    Each has a sector at the least, which the printed digits would show in MB/s as well.
    """
    has_data = rows.floats("reads_per_s") > 0
    for way in ("read", "write"):
        has_data |= rows.floats(f"{way}_merges_per_s") > 0
    is_shown = rows.floats("ios_per_s") * KB_PER_SECTOR > weighted.half_digit(rows) * KB_PER_MB
    return np.asarray(has_data & is_shown & (rows.floats("kb_per_s") == 0))


def contradicts(state: State) -> bool:
    """Whether rate times latency (Little) tells of requests in flight that the depth does not have.

    And nothing tells which is wrong: a busy share beyond the depth, too, shows that the depth is.
    """
    counted, held = state.mean("queue_depth"), state.held
    is_disproved = counted < BORNE_OUT * min(state.util, held) - LITTLE_SLACK
    return counted < LITTLE * held - LITTLE_SLACK and not is_disproved


def _by_requests(rows: Table, column: str) -> float:
    data, weights = rows.floats(column), rows.floats("ios_per_s") * weighted.lengths(rows)
    known = ~np.isnan(data) & (weights > 0)
    return float((data[known] * weights[known]).sum() / weights[known].sum()) if known.any() else math.nan


@cached
def states(series: DeviceSeries) -> tuple[State, ...]:
    """What a device did, the longest state first."""
    return tuple(_states(series))


def _states(series: DeviceSeries) -> Iterator[State]:
    samples = series.samples
    kinds = kinds_of(samples)
    groups = [
        (kind, places) for kind in np.unique(kinds).tolist() for places in _groups(samples, kinds, kind)
    ]
    lengths = weighted.lengths(samples)
    groups.sort(key=lambda group: -float(lengths[group[1]].sum()))
    requests = events_per_sample(samples)
    if len(groups) > MOST_STATES and not any(map(samples.has, _TIMED)):
        # what is taken together is of any rate: where most requests are, a mean has to be of some sample
        groups.sort(key=lambda group: -float(np.nansum(requests[group[1]])))
        groups = sorted(_merged(groups), key=lambda group: -float(lengths[group[1]].sum()))
    for kind, places in _merged(groups):
        yield _state(series, KINDS[kind], places)


def state_of(series: DeviceSeries, rows: Table) -> State:
    """Some samples of a device as one state, of the kind of those in which it did something."""
    places = np.flatnonzero(np.isin(series.samples["sample"], rows["sample"]))
    kinds = np.unique(kinds_of(series.samples)[places]).tolist()
    doing = [KINDS[kind] for kind in kinds if KINDS[kind] not in ("idle", "stuck")] or [KINDS[kinds[-1]]]
    return _state(series, doing[0] if len(doing) == 1 else "reads and writes", places)


def _state(series: DeviceSeries, kind: Kind, places: Places) -> State:
    samples = series.samples
    lengths, requests = weighted.lengths(samples), events_per_sample(samples)
    rows, total = samples[places], float(lengths.sum())
    share = float(lengths[places].sum()) / total if total > 0 else math.nan
    done = float(np.nansum(requests[places]))
    return State(series.name, _kind_of(rows, kind), rows, places, share, done)


def _kind_of(rows: Table, kind: Kind) -> Kind:
    """Its kind by requests; both where the few of the other direction move or hold much of all."""
    way = {"reads": "read", "writes": "write"}.get(kind)
    if way is None:
        return kind
    for own, both in (
        (rows.floats(f"{way}_kb_per_s"), rows.floats("kb_per_s")),
        (in_flight(rows, way), in_flight(rows, way) + np.nan_to_num(in_flight(rows, DIRECTIONS[way]))),
    ):
        if np.nansum(own) < ONE_WAY * np.nansum(np.where(np.isnan(own), np.nan, both)):
            return "reads and writes"
    return kind


def kinds_of(samples: Table) -> npt.NDArray[np.int8]:
    """What each sample is of, as a place in KINDS."""
    ios = samples.floats("ios_per_s")
    reads, writes, discards = (
        np.nan_to_num(samples.floats(f"{name}s_per_s")) for name in ("read", "write", "discard")
    )
    kinds = np.full(len(samples), 3, dtype=np.int8)
    known = np.isfinite(samples.floats("reads_per_s")) & np.isfinite(samples.floats("writes_per_s"))
    total = np.where(known, reads + writes + discards, np.nan)
    kinds[reads >= ONE_DIRECTION * total] = 1
    kinds[writes >= ONE_DIRECTION * total] = 2
    kinds[discards >= 0.5 * total] = 4
    for kind, other in ((1, "write"), (2, "read")):
        kinds[~known & _is_negligible(samples, other)] = kind
    holds = (samples.floats("depth") >= STUCK_DEPTH) | (samples.floats("util") >= STUCK_UTIL)
    nothing = (ios == 0) | (np.isnan(ios) & (samples.floats("kb_per_s") == 0))
    # of a direction that is not shown, an idle device tells
    nothing |= np.isnan(ios) & ~known & (reads + writes == 0) & (samples.floats("util") == 0)
    kinds[nothing] = 0
    # kB without requests are requests that the driver does not count
    kinds[nothing & holds & ~(samples.floats("kb_per_s") > 0)] = 5
    return kinds


def _is_negligible(samples: Table, way: str) -> Mask:
    """Where bytes alone show that a direction is next to nothing: of the requests as well, in blocks."""
    own, both = samples.floats(f"{way}_kb_per_s"), samples.floats("kb_per_s")
    is_few = own / FLUSH_KB <= (1 - ONE_DIRECTION) * samples.floats("ios_per_s")
    return is_few & (own <= (1 - ONE_DIRECTION) * both) & (both > 0)


def _groups(samples: Table, kinds: npt.NDArray[np.int8], kind: int) -> list[Places]:
    """The samples of one kind by like latency, then like depth; untimed ones by size, then rate."""
    places = np.flatnonzero(kinds == kind)
    if KINDS[kind] in ("idle", "stuck"):
        return [places]
    # a few requests have any latency: only what is in flight makes them a state of their own
    is_little = (samples["is_idle"] & ~(samples.floats("depth") >= STUCK_DEPTH))[places]
    found = [part for part in (places[~is_little],) if len(part)]
    little = [part for part in (places[is_little],) if len(part)]
    for column in _TIMED if any(map(samples.has, _TIMED)) else ("size_kb", "ios_per_s"):
        values = samples.floats(column)
        gap = SPAN if column == "ios_per_s" else GAP  # a load that wobbles is one state
        found = [part for group in found for part in _apart(group, values[group], gap)]
    return [*(part for group in found for part in _by_run(samples, group)), *little]


def _by_run(samples: Table, places: Places) -> list[Places]:
    """Places by the run of a text with several, where their requests are not of one size or rate in each."""
    if "phase" not in samples:
        return [places]
    phases = samples.floats("phase")[places]
    runs = [places[phases == run] for run in np.unique(phases[~np.isnan(phases)])]
    if not 1 < len(runs) <= MOST_STATES or sum(map(len, runs)) < len(places):
        return [places]
    means = ([weighted.mean(samples[run], name) for run in runs] for name in ("size_kb", "ios_per_s"))
    return runs if any(max(each) > 2 * min(each) > 0 for each in means) else [places]


_TIMED = ("latency_ms", "depth", "util")


def _apart(places: Places, values: Floats, gap: float) -> list[Places]:
    """Places of like values, none a `gap` (ln) apart; unknown and zero ones are a group of their own."""
    known = np.flatnonzero(values > 0)
    others = np.flatnonzero(~(values > 0))
    found = [places[others]] if len(others) else []
    if not len(known):
        return found
    logs = np.log(values[known])
    low, high = float(logs.min()), float(logs.max())
    if high - low <= gap:
        return [*found, places[known]]
    order = np.argsort(logs, kind="stable")
    rising = logs[order]
    number = np.concatenate(([0], np.cumsum(np.diff(rising) > gap)))
    firsts = np.searchsorted(number, np.arange(number[-1] + 1))
    lasts = np.append(firsts[1:], len(rising)) - 1
    widths = rising[lasts] - rising[firsts]
    pieces = np.maximum(np.ceil(widths / SPAN - 1e-9), 1)
    within = np.zeros(len(rising))
    wide = widths[number] > 0
    step = (widths / pieces)[number]
    within[wide] = np.minimum(
        (rising - rising[firsts][number])[wide] / step[wide], (pieces - 1)[number][wide]
    )
    labels = number * 1000 + within.astype(np.int64)
    back = np.empty(len(labels), dtype=np.int64)
    back[order] = labels
    return [*found, *(places[known[back == label]] for label in np.unique(labels))]


def _merged(groups: list[tuple[int, Places]]) -> list[tuple[int, Places]]:
    """At most MOST_STATES: the longest as they are, of the others one of each kind."""
    most = next(
        count
        for count in range(MOST_STATES, -1, -1)
        if count + len({kind for kind, _ in groups[count:]}) <= MOST_STATES
    )
    by_kind: dict[int, list[Places]] = {}
    for kind, places in groups[most:]:
        by_kind.setdefault(kind, []).append(places)
    return [*groups[:most], *((kind, np.sort(np.concatenate(parts))) for kind, parts in by_kind.items())]
