"""Load levels of a device, what a request costs when it is alone, and how near the limit a level is.

Notation: X requests per second, R their mean latency, N requests in flight, U the share of time with at
least one. N/U and X/U are concurrency and rate while the device was not empty. R1 is the latency
at about one request in flight, I = R/R1 its inflation. For requests that spread at random over c
equal servers under a closed load, I = (N + c - 1)/c and X/X_max = 1 - (1 - 1/c)/I, whence the gain
that is left is at most 1/(I - 1), whatever c is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from iodiag.analysis.load.stalls import bridged, without_told
from iodiag.analysis.measure import weighted
from iodiag.analysis.measure.correlation import spearman
from iodiag.analysis.measure.quantiles import low_and_high
from iodiag.analysis.measure.time_per_kb import APART, ONE_WAY, in_flight
from iodiag.analysis.measure.weighted import LEAST_REQUESTS, seconds_or_one
from iodiag.analysis.measure.weighted import lengths as lengths_of
from iodiag.analysis.view.view import DeviceSeries
from iodiag.model.units import HALF_DIGIT
from iodiag.table.result_cache import cached
from iodiag.table.table import Floats, Mask, Places, Table

ALONE = 1.3
"""Requests in flight up to which a device serves about one at a time; below 0.8 util is not to be trusted."""

MOST_BEYOND = 3.0
"""Times rate and latency that a counter of the queue may be, for requests that a sample's ends cut."""

DRAINED = 2.0
"""Times the queue that rate and latency make in a sample in which it drains; it is no miscount where that
accounts for half of what others hold beyond theirs."""

LEVEL_GAP = 1.4
"""Neighbouring depths further apart than this belong to different load levels."""

LEVEL_SPAN = 2.0
"""A load level spans at most a factor of two in depth."""

SLOWER_THAN_ALONE = 0.8
"""Queueing never makes a request faster: below this the other load was of another kind."""


Direction = Literal["reads", "writes", "mixed requests"]
WAYS: tuple[Direction, Direction] = ("reads", "writes")


def page_kb(rows: Table) -> float:
    """The mean piece, in kB, that writes were merged of, where many pages made each of them; else NaN.

    The page cache hands them in so. A program that writes past it has requests of its own size, which hardly
    merge.
    """
    kb, writes, merges = (weighted.mean(rows, f"write{of}_per_s") for of in ("_kb", "s", "_merges"))
    piece = kb / (writes + merges) if writes + merges > 0 else math.nan
    is_of_pages = merges >= _MERGED_TIMES * writes and abs(piece / _PAGE_KB - 1) <= _PAGE_SPREAD
    return piece if is_of_pages else math.nan


_PAGE_KB, _PAGE_SPREAD, _MERGED_TIMES = 4.0, 0.05, 9.0
"""A page, how far the mean piece is from it, and merges for each write that make many of them one request."""


class DirectionLoad(NamedTuple):
    """Direction, rate, size, number in flight and latency of the same requests."""

    direction: Direction
    rate: float
    size_kb: float
    depth: float
    latency_ms: float


@dataclass(frozen=True)
class Level:
    """Samples of one device at a like depth, of one direction and size of request.

    They are those of `samples` (prepared ones) at `places`. `depth`, `rate` are N and X;
    `busy_depth`, `busy_rate` the same while the device was not empty. `latency_ms` is that of the
    dominant direction, weighted by requests. `direction` is that of nine in ten requests in flight, else of
    nine in ten requests. `requests` is a lower bound where the length of samples is unknown. `span` is
    their length, in seconds or samples.
    """

    samples: Table = field(repr=False)
    places: Places = field(repr=False)
    direction: Direction
    depth: float
    rate: float
    reads_per_s: float
    busy_depth: float
    busy_rate: float
    latency_ms: float
    util: float
    size_kb: float
    requests: float
    span: float

    @cached_property
    def rows(self) -> Table:
        """Its samples."""
        return self.samples[self.places]

    @property
    def kind(self) -> float:
        """The number of its kind of request."""
        return float(self.samples.floats("kind")[self.places[0]])

    @cached_property
    def whole(self) -> DirectionLoad:
        """All its requests together; rate and size are those of the direction that has nearly all of them.

        One that has nearly all that is in flight in few requests, or the reverse, does not have their mean.
        """
        direction, rate, size = self.direction, self.rate, self.size_kb
        if direction != "mixed requests":
            own, other = (self._way(way) for way in sorted(WAYS, key=lambda way: way != direction))
            pairs = (own.rate, rate), (own.depth, own.depth + other.depth)
            if any(part < ONE_WAY * whole for part, whole in pairs):  # of unknown numbers none is below
                direction = "mixed requests"
            elif own.rate > 0 and own.size_kb > 0:
                rate, size = own.rate, own.size_kb
        return DirectionLoad(direction, rate, size, self.depth, self.latency_ms)

    @cached_property
    def direction_load(self) -> DirectionLoad:
        """Of the direction that waits, where the mean describes neither or hides it; or that has nearly all.

        Little's law holds, but for a backlog that drains: of it no more is in flight than the queue shows.
        """
        if self.direction == "mixed requests":
            return max(self.ways, key=lambda way: way.depth) if self.ways else self.whole
        own, other = (self._way(way) for way in sorted(WAYS, key=lambda way: way != self.direction))
        pairs = (
            (own.rate, self.rate),
            (own.size_kb * own.rate, self.size_kb * self.rate),
            (own.depth, own.depth + other.depth),
        )
        # of unknown numbers none is below
        is_part = any(part < ONE_WAY * whole for part, whole in pairs)
        is_known = own.latency_ms > 0 and own.size_kb >= 0
        if is_known and (self.ways or is_part):
            return own
        # the mean is of both, and what the other one does not hold is in flight for this one
        is_mean = is_known and other.latency_ms > 0
        return own._replace(depth=max(own.depth, self.depth - other.depth)) if is_mean else self.whole

    @cached_property
    def ways(self) -> tuple[DirectionLoad, ...]:
        """Reads and writes, where both are known and APART in latency or size; else none."""
        reads, writes = (self._way(way) for way in WAYS)
        waits, sizes = (reads.latency_ms, writes.latency_ms), (reads.size_kb, writes.size_kb)
        # of unknown numbers none is positive
        is_apart = any(max(pair) >= APART * min(pair) for pair in (waits, sizes))
        return (reads, writes) if is_apart and all(number > 0 for number in (*waits, *sizes)) else ()

    def _way(self, direction: Direction) -> DirectionLoad:
        """Its requests of one direction; NaN where there are none or nothing tells."""
        way, span = direction[:-1], self.rows.floats("span")
        columns = [self.rows.floats(f"{way}{name}_per_s") for name in ("s", "_kb")]
        rate, kb, held = (
            float((span * data).sum()) / self.span for data in (*columns, in_flight(self.rows, way))
        )
        each = rate or math.nan
        return DirectionLoad(direction, rate, kb / each, min(held, self.depth), 1000 * held / each)

    def mean(self, column: str) -> float:
        """Mean of a column over its samples, weighted by requests."""
        data = self.samples.floats(column)[self.places]
        weights = (self.samples.floats("ios_per_s") * self.samples.floats("span"))[self.places]
        known = ~np.isnan(data)
        total = weights[known].sum()
        return float((data * weights)[known].sum() / total) if total > 0 else float("nan")


@dataclass(frozen=True)
class UnloadedBaseline:
    """What a request costs on an unloaded device: measured there, or by its quickest tenth under load.

    `rows` are the (prepared) samples in which it was seen, of another `device` where one is named.
    """

    latency_ms: float
    is_measured: bool
    depth: float
    rows: Table = field(repr=False, compare=False)
    device: str = ""


@cached
def load_levels(series: DeviceSeries) -> list[list[Level]]:
    """The load levels of a device by kind of request, each list rising in depth.

    Left out are idle samples, samples in which the device was busy for less than a twentieth of the
    time, and samples that no direction or size can be told of.
    """
    samples = level_samples(series)
    by_level = _by_level(samples)
    made = _made(samples, by_level.places, by_level.over_time, np.diff(by_level.edges))
    return [[made[n] for n in kind] for kind in by_level.kinds]


def load_levels_where(series: DeviceSeries, keep: Mask) -> list[list[Level]]:
    """The same of those prepared samples alone for which `keep` holds; kinds without any are empty."""
    whole = load_levels(series)
    if keep.all():
        return whole
    samples = level_samples(series)
    by_level = _by_level(samples)
    kept = keep.take(by_level.places)
    full = np.diff(by_level.edges)
    sizes = np.array([np.count_nonzero(kept[begin:end]) for begin, end in pairwise(by_level.edges.tolist())])
    is_cut = sizes < full
    # those that lose no sample are made already
    kept &= np.repeat(is_cut, full)
    sizes[~is_cut] = 0
    made = _made(samples, by_level.places.compress(kept), by_level.over_time.compress(kept, axis=1), sizes)
    made |= {n: level for n, level in enumerate(chain(*whole)) if not is_cut[n]}
    return [[made[n] for n in kind if n in made] for kind in by_level.kinds]


def places_of(kind: Sequence[Level]) -> Places:
    """Where the samples of a device's levels are among its prepared ones."""
    return np.concatenate([level.places for level in kind])


def unloaded(series: DeviceSeries, kind: Sequence[Level]) -> UnloadedBaseline | None:
    """What a request of one of a device's kinds costs alone (`unloaded_baseline`)."""
    return _unloaded(series, kind[0].kind)


@cached
def _unloaded(series: DeviceSeries, number: float) -> UnloadedBaseline | None:
    return unloaded_baseline(next(kind for kind in load_levels(series) if kind[0].kind == number))


@cached
def level_samples(series: DeviceSeries) -> Table:
    """A device's loaded samples, stalls bridged, with `busy`, `at_once`, `cost_ms`, `kind`.

    `busy` is the share of time that the device cannot have been less than about busy (util,
    bounded by 1 and by the depth), `at_once` the depth while busy, `cost_ms` the latency of the
    dominant direction, `kind` a number that is equal for requests of like direction and size.
    """
    samples = bridged(without_told(series))
    samples = samples.with_columns(depth=_completing(samples))
    util, depth, ios = (samples.floats(name) for name in ("util", "depth", "ios_per_s"))
    latency, kind = _costs(samples), _kinds(samples)
    slack = HALF_DIGIT / np.maximum(depth, HALF_DIGIT)
    # a little above the depth is timer skew: then exactly one request was in flight; far above it
    # util was sampled by ticks and tells nothing
    util = np.minimum(util, 1)
    is_near = util <= depth * (1.1 + slack)
    busy = np.minimum(util, np.maximum(depth, HALF_DIGIT))
    kept = np.asarray(is_near & (busy >= 0.05) & (ios > 0) & ~samples["is_idle"] & (latency > 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        at_once = depth / busy
    prepared = samples.with_columns(busy=busy, at_once=at_once, cost_ms=latency, kind=kind)
    return prepared[kept & ~np.isnan(kind) & (samples.floats("size_kb") >= 0)]


def _completing(samples: Table) -> Floats:
    """The requests in flight, without those that a counter has far beyond what completes, flushes included.

    What is stuck or counted wrongly says nothing of how the others are served. Of a queue that builds up and
    drains, which completes in some samples what was in flight in others, the counter is right.
    """
    depth, flushes = samples.floats("depth"), samples.floats("flushes_per_s")
    held = samples.floats("ios_per_s") * samples.floats("latency_ms") / 1000
    held += np.nan_to_num(flushes * samples.floats("flush_await_ms")) / 1000
    is_beyond, is_drained = depth > MOST_BEYOND * held + 1, held > DRAINED * depth
    surplus, lengths = np.nan_to_num(depth - held), lengths_of(samples)
    pending, done = (float(surplus[where] @ lengths[where]) for where in (is_beyond, is_drained))
    return np.where(is_beyond & (pending + DRAINED * done > 0), held, depth)


def _costs(samples: Table) -> Floats:
    """Latency of the direction with nearly all requests: its own column unless the mean over all is finer.

    Where the few others are most of those in flight, it is the mean.
    """
    ios = samples.floats("ios_per_s")
    reads, writes = samples.floats("reads_per_s"), samples.floats("writes_per_s")
    mixed = samples.floats("latency_ms")
    cost = mixed.copy()
    for own, other, column in ((reads, writes, "read_await_ms"), (writes, reads, "write_await_ms")):
        split = samples.floats(column)
        is_most = own * split >= 0.5 * ios * mixed
        use = np.flatnonzero((own >= 0.95 * ios) & (other > 0) & (split >= 0.5) & is_most)
        cost[use] = split[use]
    return cost


def _kinds(samples: Table) -> Floats:
    """A number per sample for direction (in tenths of reads) and size (in powers of two)."""
    ios, kb = samples.floats("ios_per_s"), samples.floats("kb_per_s")
    reads, size = samples.floats("reads_per_s"), samples.floats("size_kb")
    is_unknown = np.isnan(reads)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = reads / ios
        if is_unknown.any():
            share = np.where(is_unknown, samples.floats("read_kb_per_s") / kb, share)
    # half of the square root of two and more is nearer to the next power of two
    fraction, octave = np.frexp(np.maximum(size, 0.25))
    octave -= fraction < math.sqrt(0.5)
    # as good as all (95 % and more) and next to none have tenths of their own: 10 and 0
    tenth = np.clip(np.round(share * 10), 0, 10)
    if is_unknown.any():
        # shares of bytes are no shares of requests: they form kinds of their own
        tenth += 11 * (is_unknown & (tenth > 0) & (tenth < 10))
    return np.asarray(tenth + 100 * (octave + 2))


class _ByLevel(NamedTuple):
    """Prepared samples by level: their places, rising within each, and what its means are made of.

    `edges` are between levels. These are numbered by kind of request, kinds as they first appear;
    within a kind (`kinds` has its numbers) levels rise in depth.
    """

    places: Places
    over_time: Floats
    edges: Places
    kinds: tuple[range, ...]


@cached
def _by_level(samples: Table) -> _ByLevel:
    number, kinds, count = np.zeros(len(samples), dtype=np.intp), [], 0
    for places in _alike(samples.floats("kind").astype(np.int16)):
        depth = samples.floats("at_once").take(places)
        bounds = _bounds(depth)
        number[places] = count + np.searchsorted(bounds, depth)
        kinds.append(range(count, count := count + len(bounds) + 1))
    # numbers of one or two bytes are sorted several times as fast
    order = np.argsort(number.astype(np.min_scalar_type(count)), kind="stable")
    edges = np.append(0, np.cumsum(np.bincount(number, minlength=count)))
    return _ByLevel(order, _over_time(samples).take(order, axis=1), edges, tuple(kinds))


def _alike(kinds: npt.NDArray[np.int16]) -> list[Places]:
    """The places of each kind, in the order of their first appearance."""
    order = np.argsort(kinds, kind="stable")
    cuts = np.flatnonzero(np.diff(kinds[order])) + 1
    edges = pairwise([0, *cuts.tolist(), len(order)])
    return sorted((order[slice(*edge)] for edge in edges if len(order)), key=lambda part: int(part[0]))


def _bounds(depth: Floats) -> list[float]:
    """Depths above which the next level begins: at gaps, and where one would be wider than LEVEL_SPAN."""
    in_order = np.sort(depth)
    gaps = np.flatnonzero(in_order[1:] > LEVEL_GAP * in_order[:-1])
    bounds: list[float] = []
    low = float(in_order[0])
    for below, above in zip(in_order[gaps].tolist(), in_order[gaps + 1].tolist(), strict=True):
        bounds += [*_within(low, below), below]
        low = above
    return [*bounds, *_within(low, float(in_order[-1]))]


def _within(low: float, high: float) -> list[float]:
    """Where depths without a gap, from low to high, are cut into levels of equal width, at most LEVEL_SPAN.

    That width is at least the root of LEVEL_SPAN: a level without any depth would have been a gap.
    """
    pieces = math.ceil(math.log(high / low, LEVEL_SPAN) - 1e-9)
    return [low * (high / low) ** (piece / pieces) for piece in range(1, pieces)]


def _made(samples: Table, places: Places, over_time: Floats, sizes: Places) -> dict[int, Level]:
    """The levels that so many samples each make, of which some may have none, by their number."""
    numbers, ends = np.flatnonzero(sizes), np.cumsum(sizes)
    begins = (ends - sizes)[numbers]
    parts = zip(begins.tolist(), ends[numbers].tolist(), _sums(over_time, begins), strict=True)
    made = (_level(samples, places[begin:end], sums) for begin, end, sums in parts)
    return dict(zip(numbers.tolist(), made, strict=True))


def level_of(rows: Table) -> Level:
    """The level that some prepared rows of one kind make."""
    places = np.arange(len(rows))
    return _level(rows, places, _sums(_over_time(rows), places[:1])[0])


def _sums(over_time: Floats, begins: Places) -> list[list[float]]:
    """Sums from each place to the next: added up in one way, so that the same samples make the same level."""
    if not len(begins):
        return []
    found: list[list[float]] = np.add.reduceat(over_time, begins, axis=1).T.tolist()
    return found


def _level(samples: Table, places: Places, sums: Sequence[float]) -> Level:
    """The level of samples with these sums of what `_over_time` has."""
    held, read, waited, used, moved, requests, reads_held, writes_held = sums[3:]
    # per nothing is unknown
    total, done, busy_time = (number or math.nan for number in sums[:3])
    return Level(
        samples=samples,
        places=places,
        direction=_direction(
            float(samples.floats("kind")[places[0]]) % 100, read / done, reads_held, writes_held, held
        ),
        depth=held / total,
        rate=done / total,
        reads_per_s=read / total,
        busy_depth=held / busy_time,
        busy_rate=done / busy_time,
        latency_ms=waited / done,
        util=used / total,
        size_kb=moved / done,
        requests=requests,
        span=total,
    )


def _direction(tenth: float, share: float, reads: float, writes: float, held: float) -> Direction:
    """That of nine in ten requests in flight; else that of nine in ten requests.

    Where these are not counted by direction, it is that of nineteen in twenty kB: the tenths say.
    """
    if max(reads, writes) >= ONE_WAY * held > 0:
        return "reads" if reads > writes else "writes"
    if max(share, 1 - share) >= ONE_WAY:
        return "reads" if share > 0.5 else "writes"
    return "reads" if tenth == 10 else "writes" if tenth == 0 else "mixed requests"


def _over_time(samples: Table) -> Floats:
    """What the means of levels are made of, times the length of each sample: a row each."""
    span = samples.floats("span")
    rows = np.empty((11, len(samples)))
    rows[0] = span
    done = np.multiply(span, samples.floats("ios_per_s"), out=rows[1])
    for row, name in zip(rows[2:5], ("busy", "depth", "reads_per_s"), strict=True):
        np.multiply(span, samples.floats(name), out=row)
    np.multiply(done, samples.floats("cost_ms"), out=rows[5])
    np.multiply(span, np.minimum(samples.floats("util"), 1), out=rows[6])
    np.multiply(span, samples.floats("kb_per_s"), out=rows[7])
    rows[8] = counted(samples)
    for row, way in zip(rows[9:], ("read", "write"), strict=True):
        np.multiply(span, np.nan_to_num(in_flight(samples, way)), out=row)
    return rows


@cached
def counted(samples: Table) -> Floats:
    """The requests of each sample, at the least where its length is unknown."""
    span, is_known = samples.floats("span"), np.isfinite(samples.floats("interval_s"))
    lasts = span if is_known.all() else np.where(is_known, span, seconds_or_one(samples))
    return lasts * samples.floats("ios_per_s")


def unloaded_baseline(kind: Sequence[Level]) -> UnloadedBaseline | None:
    """R1 of one kind of request: measured at about one in flight, else the least under load.

    Measured needs samples of LEAST_REQUESTS each with at most ALONE in flight: three of them or
    500 requests; one sample of unknown length will do, being a load level of its own. Otherwise
    it is the tenth percentile of the sample means, weighted by requests: too high where the device
    was never unloaded, so that an inflation from it is a lower bound.
    """
    samples, places = kind[0].samples, places_of(kind)
    requests = counted(samples).take(places)
    enough = requests >= LEAST_REQUESTS
    alone = np.flatnonzero(enough & (samples.floats("at_once").take(places) <= ALONE))
    is_measured = len(alone) >= 3 or requests[alone].sum() >= 500
    if is_measured or (len(alone) and np.isnan(samples.floats("interval_s").take(places)).all()):
        level = level_of(samples[np.sort(places[alone])])
        return UnloadedBaseline(level.latency_ms, True, level.depth, level.rows)
    if not enough.any():
        return None
    enough_at = np.flatnonzero(enough)
    cost = samples.floats("cost_ms").take(places[enough_at])
    at = int(places[enough_at[_tenth(cost, requests[enough_at])]])
    return UnloadedBaseline(
        float(samples.floats("cost_ms")[at]), False, float(samples.floats("depth")[at]), samples[at : at + 1]
    )


def _tenth(cost: Floats, requests: Floats) -> int:
    """Where the tenth percentile of the cost is, weighted by requests."""
    # those of equal cost count in their own order
    order = np.argsort(cost, kind="stable")
    done = np.cumsum(requests[order])
    return int(order[done.searchsorted(0.1 * done[-1])])


KEPT_UP_SAMPLES, KEPT_UP_RATES, KEPT_UP, AGAINST = 20, 1.1, 0.6, -0.5
"""Samples that show whether a device keeps up; how far apart their rates are then, which part of that their
latencies are (both ln, 10th to 90th percentile), and the correlation of both from which they are opposed."""


def kept_up_ms(rows: Table) -> float:
    """The latency in ms up to which a device did more in some samples than in others, in the same time.

    More requests and more kB, per second while it was busy. NaN where it is not seen to keep up so.
    What is full does no more when more is asked: there the latency moves with the queue, and against the
    rate where a fixed number of requests is in flight (N = X R). Where it moves less than the rate, and not
    against it, the load did, and the device followed. What is full by kB does more requests of less each.
    """
    latencies, busy = rows.floats("latency_ms"), np.minimum(rows.floats("util"), 1)
    if len(rows) < KEPT_UP_SAMPLES or not ((latencies > 0) & (busy > 0)).all():
        return math.nan
    rates = (rows.floats(name) / busy for name in ("ios_per_s", "kb_per_s"))
    is_followed = all(_followed(rate, latencies) for rate in rates)
    return low_and_high(latencies)[1] if is_followed else math.nan


def _followed(rates: Floats, latencies: Floats) -> bool:
    if not (np.isfinite(rates) & (rates > 0)).all():
        return False
    (least, most), (quickest, slowest) = low_and_high(rates), low_and_high(latencies)
    is_less = math.log(slowest / quickest) <= KEPT_UP * math.log(most / least)
    return most >= KEPT_UP_RATES * least and is_less and not spearman(rates, latencies) <= AGAINST


def elasticity(low: Level, high: Level) -> float:
    """Δln X / Δln N between two levels, while busy: 1 is free parallelism, 0 a full device."""
    return float(np.log(high.busy_rate / low.busy_rate) / np.log(high.busy_depth / low.busy_depth))


def fan_out(low: Level, high: Level) -> float:
    """How many equal servers explain the rates of two levels; NaN where the model cannot hold.

    Requests spread at random over c servers give X(N) = c·N / ((N + c - 1)·R1) under a closed load;
    two points solve it for c. Depth must at least double, and the rate grow by less than it.
    """
    n1, n2 = max(low.busy_depth, 1.0), high.busy_depth
    growth = high.busy_rate / low.busy_rate
    if n2 < 2 * n1 or growth * n1 >= n2:
        return float("nan")
    # with n1 = 1 the low point is R1 itself
    servers = (n2 * (n1 - 1) - growth * n1 * (n2 - 1)) / (growth * n1 - n2)
    return float(servers) if servers >= 1 else float("nan")


def overlapped(level: Level, unloaded: UnloadedBaseline) -> float:
    """X·R1: requests that the device must have served at once, at the least."""
    return level.busy_rate * unloaded.latency_ms / 1000


def gain_left(inflation: float) -> float:
    """The most that throughput can still grow, as a share: 1/(I - 1); unbounded at I ≤ 1."""
    return 1 / (inflation - 1) if inflation > 1 else float("inf")
