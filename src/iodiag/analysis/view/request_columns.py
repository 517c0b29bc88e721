"""Derived columns of the disk table: totals, sizes, concurrency, and how far util can be trusted.

Notation of the formulas: X requests per second, R latency, N requests in flight, U the share of time
with at least one in flight. Little's law: N = X·R. For exact counters U ≤ N.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np
import numpy.typing as npt

from iodiag.analysis.measure import weighted
from iodiag.analysis.view.view import IDLE_IOS_PER_S, IDLE_KB_PER_S
from iodiag.model.units import HALF_DIGIT, KB_PER_MB, KB_PER_SECTOR
from iodiag.table.table import Column, Floats, Table, is_repeated, numbered

Columns = dict[str, Column]

STRETCH = 1 << 16
"""Samples whose derived columns are computed at a time: as many as stay in a processor's cache."""

BROKEN_TIME = "several disks busy for far more than all the time: a sample's length is wrong"
"""Of a whole report, by `broken_time`."""

ANOMALIES = (
    "",
    "a value beyond any device: a counter ran backwards",
    "a latency without a request",
    "more requests in flight than any device holds: a counter below zero",
    BROKEN_TIME,
)
"""Why a sample's numbers cannot all be true, by the number that `anomalies` gives."""

MOST_IN_FLIGHT = 1e6
"""A 32-bit counter just below zero, in the hundredths that sysstat divides by, is 42,949,672; queues of
device-mapper, which have no limit, were seen to hold some thousands."""

LONGEST_ROUNDED_S = 100.0
"""Up to this length a sample with a request has a rate that is not rounded to 0.00."""

LITTLE_KB_PER_S = 100.0
"""Half a hundredth of a MB/s is 5 kB/s: below twenty times as much a size from it is off by a twentieth."""

_DIRECTIONS = ("read", "write", "discard")
_ABSURD = 1e9
_ABSURD_BITS = np.float64(_ABSURD).view(np.uint64)
_PLACES = ("line", "segment", "report", "stream", "interval_s")
_TOTALS = tuple(
    f"{name}_kb" for name in _DIRECTIONS
)  # all since boot, in a first report: no rate bounds them
_MOST_MERGED_PCT = 90  # above, half of a per cent is more than a twentieth of what was not merged
LITTLE, LITTLE_SLACK = 0.65, 0.05
"""Share of rate times latency that a true mean number in flight has at the least: the two are equal but for
requests that the ends of a sample cut, and for rounding."""
_FAR_APART = 0.5  # a queue that grows or drains within a sample makes the two differ
_COARSE = 0.01  # relative error of a printed latency beyond which depth over rate tells it better


def enrich(disk: Table) -> Table:
    """The disk table with the derived columns that DeviceSeries documents.

    Columns that the source lacks are computed where others determine them, and NaN elsewhere.
    """
    return _recounted(disk.with_columns(**_derived(disk))).with_made(_WHILE_BUSY)


def enriched(disk: Table, numbers: Iterable[str]) -> tuple[Table, npt.NDArray[np.int8]]:
    """The samples with the columns of `enrich`, and what `anomalies` says of each.

    `numbers` are its columns of numbers.
    """
    columns: Columns = {}
    strange = np.zeros(len(disk), dtype=np.int8)
    counted = disk.only(numbers)
    for first in range(0, len(disk), STRETCH):
        stretch = slice(first, first + STRETCH)
        part = disk[stretch]
        found = _derived(part)
        for name, column in found.items():
            if name not in columns:
                is_filled = name in disk and column.dtype == np.float64
                columns[name] = disk.floats(name).copy() if is_filled else np.empty(len(disk), column.dtype)
            columns[name][stretch] = column
        strange[stretch] = anomalies(counted[stretch].with_columns(**found))
    return _recounted(disk.with_columns(**columns)).with_made(_WHILE_BUSY), strange


def _derived(disk: Table) -> Columns:
    """The derived columns, and those of its own that others complete."""
    found: Columns = {}
    for step in (
        _wrapped,
        _one_way_alone,
        _totals,
        _other_rates,
        _directions,
        _bytes_by_size,
        _merges,
        _sizes,
        _waits_per_completed,
        _mixed,
        _latencies,
        _use,
    ):
        found |= step(disk.with_columns(**found))
    return found


def _wrapped(disk: Table) -> Columns:
    """Bytes and sizes that a wrapped counter spoilt, as unknown, in samples whose other numbers agree.

    They do where rate times latency is the queue, and rate times svctm the busy share; `is_wrapped` tells
    where.
    """
    names = [name for name in _OF_BYTES if name in disk and _is_absurd(disk.floats(name)).any()]
    if not names or "svctm_ms" not in disk:
        return {}
    rates = [disk.floats(f"{way}s_per_s") for way in ("read", "write")]
    printed, depth, busy = (disk.floats(name) for name in ("ios_per_s", "queue_depth", "util_pct"))
    ios = np.where(np.isnan(printed), rates[0] + rates[1], printed)
    agree = (depth >= _LEAST_TOLD) & (busy >= _LEAST_TOLD)
    for found, by in ((depth, disk.floats("await_ms") / 1000), (busy, disk.floats("svctm_ms") / 10)):
        agree &= np.abs(ios * by - found) <= _AGREE * found + HALF_DIGIT
    spoilt = {name: agree & _is_absurd(disk.floats(name)) for name in names}
    left = {name: np.where(rows, np.nan, disk.floats(name)) for name, rows in spoilt.items()}
    return left | {"is_wrapped": np.any(list(spoilt.values()), axis=0)}


def _is_absurd(column: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray((column > _ABSURD) | (column < 0))


_OF_BYTES = tuple(
    f"{way}{name}" for way in ("", "read_", "write_") for name in ("kb_per_s", "request_size_kb")
)
_AGREE, _LEAST_TOLD = 0.02, 0.2
"""How near two numbers of a sample are that say the same, and the least of them that their digits tell."""


def _one_way_alone(disk: Table) -> Columns:
    """Totals where nothing is printed of one direction, and the other one is all that is counted.

    That is so where requests of the other direction have the size and the latency of all requests, or hold
    all of the queue by rate times latency: then none of the direction that is left out is worth a twentieth.
    """
    found: Columns = {}
    for own, other in (("read", "write"), ("write", "read")):
        wanted = any(_is_partly_unknown(disk, name) for name in (f"{other}s_per_s", f"{own}_kb_per_s"))
        if not wanted or not {f"{own}s_per_s", f"{own}_await_ms"} <= set(disk.names):
            continue
        rate, wait = disk.floats(f"{own}s_per_s"), disk.floats(f"{own}_await_ms")
        depth, size = disk.floats("queue_depth"), disk.floats("request_size_kb")
        off = np.abs(rate * wait / 1000 - depth)
        is_all = (depth >= _LEAST_QUEUE) & (off <= _ALL_OF_QUEUE * depth + HALF_DIGIT)
        own_size = _per(disk.floats(f"{own}_kb_per_s"), rate)
        is_all |= (np.abs(own_size - size) <= _SAME_SIZE * size) & (wait == disk.floats("await_ms"))
        for name in (f"{other}s_per_s", f"{other}_kb_per_s", f"{other}_await_ms"):
            is_all &= np.isnan(disk.floats(name))
        moved = _completed(disk, f"{own}_kb_per_s", rate * disk.floats(f"{own}_request_size_kb"))
        found[f"{own}_kb_per_s"] = moved
        for name, data in (("ios_per_s", rate), ("kb_per_s", moved)):
            known = disk.with_columns(**found)
            found[name] = _completed(known, name, np.where(is_all, data, np.nan))
    return found


_ALL_OF_QUEUE, _LEAST_QUEUE, _SAME_SIZE = 0.05, 0.1, 0.01
"""How near a queue is to rate times latency of what fills it, the least that two decimals tell of, and how
near the size of one direction's requests is to that of all, by rounding."""


def _totals(disk: Table) -> Columns:
    columns: Columns = {}
    for total, ending in (("ios_per_s", "s_per_s"), ("kb_per_s", "_kb_per_s")):
        if _is_partly_unknown(disk, total):
            reads, writes, discards = (disk.floats(f"{name}{ending}") for name in _DIRECTIONS)
            columns[total] = _completed(disk, total, reads + writes + _or_nothing(discards))
    if _is_partly_unknown(disk.with_columns(**columns), "ios_per_s"):
        known = disk.with_columns(**columns)
        columns["ios_per_s"] = _completed(known, "ios_per_s", _rates_of_others(known))
    return columns


def _rates_of_others(disk: Table) -> Floats:
    """Requests per second where they are not printed: bytes over their size, or those in flight over latency.

    Where the two are far apart neither is taken, nor one below the rate of a direction: no total is.
    """
    moved, size = disk.floats("kb_per_s"), disk.floats("request_size_kb")
    by_size = np.where((moved == 0) & (size == 0), 0.0, _per(moved, size))
    little = 1000 * _per(disk.floats("queue_depth"), disk.floats("await_ms"))
    is_far = np.abs(by_size - little) > _FAR_APART * np.fmax(by_size, little)
    rates = np.where(is_far, np.nan, np.where(np.isnan(by_size), little, by_size))
    part = np.fmax(disk.floats("reads_per_s"), disk.floats("writes_per_s"))
    return np.where(rates < (1 - _ALL_OF_QUEUE) * part - HALF_DIGIT, np.nan, rates)


def _other_rates(disk: Table) -> Columns:
    """Where bytes by size and busy time by svctm agree with each other, and not with the requests: theirs.

    Which direction is misprinted nothing tells. `doubtful_ios_per_s` is the rate that is not believed.
    """
    if not {"svctm_ms", "request_size_kb"} <= set(disk.names):
        return {}
    service, ios = disk.floats("svctm_ms"), disk.floats("ios_per_s")
    by_size = _per(disk.floats("kb_per_s"), disk.floats("request_size_kb"))
    by_use = 10 * _per(disk.floats("util_pct"), np.where(service >= _LEAST_SERVICE_MS, service, np.nan))
    is_odd = np.abs(by_use - by_size) <= _AGREED * by_size
    is_odd &= (np.fmax(by_size, ios) > _ODD * np.fmin(by_size, ios)) & (np.abs(by_size - ios) > _ROUNDED)
    columns: Columns = {"ios_per_s": np.where(is_odd, by_size, ios)}
    columns["doubtful_ios_per_s"] = np.where(is_odd, ios, np.nan)
    for name in ("reads_per_s", "writes_per_s"):
        columns[name] = np.where(is_odd, np.nan, disk.floats(name))
    return columns


_LEAST_SERVICE_MS, _AGREED, _ODD, _ROUNDED = 0.2, 0.05, 1.5, 1.0
"""svctm that its digits round by a fortieth at most; how near two rates agree; times, and requests/s (digits
of the least), that a third is off."""


def _directions(disk: Table) -> Columns:
    """Requests of either direction; with bytes in one alone, all requests are of that direction.

    So they are where the other one has too few bytes for a hundredth of the requests: each has a sector and
    more. Without any request and any byte there is none of either.
    """
    columns: Columns = {}
    ios = disk.floats("ios_per_s")
    moved = {name: disk.floats(f"{name}_kb_per_s") for name in _DIRECTIONS}
    for own, other in (("read", "write"), ("write", "read")):
        name = f"{own}s_per_s"
        if _is_partly_unknown(disk, name):
            discards_nothing = _or_nothing(moved["discard"]) == 0
            is_all = (moved[other] <= KB_PER_SECTOR * _TRIFLE * ios) & discards_nothing & (moved[own] > 0)
            is_none = (moved[own] == 0) & ((discards_nothing & (moved[other] > 0)) | (ios == 0))
            known = np.where(is_all, ios, np.where(is_none, 0.0, np.nan))
            columns[name] = _completed(disk, name, known)
    return columns


_TRIFLE = 0.01
"""Share of the requests that is left out of a number of three digits."""


def _bytes_by_size(disk: Table) -> Columns:
    """kB per second by rate and size, where MB/s in hundredths round them away and the size is printed.

    Only where these hundredths are what rate times size rounds to. A size of all requests is that of the one
    direction which has any.
    """
    names = (*(f"{way}_request_size_kb" for way in _DIRECTIONS[:2]), "request_size_kb")
    if not any(name in disk for name in names):
        return {}
    whole, reads, writes = (disk.floats(f"{name}s_per_s") for name in ("io", "read", "write"))
    columns: Columns = {}
    added = np.zeros(len(disk))
    for way, rate, other in (("read", reads, writes), ("write", writes, reads)):
        of_all = np.where(other == 0, disk.floats("request_size_kb"), np.nan)
        size = _completed(disk, f"{way}_request_size_kb", of_all)
        moved = disk.floats(f"{way}_kb_per_s")
        columns[f"{way}_kb_per_s"] = _unrounded(moved, rate, size, 1)
        added += np.nan_to_num(columns[f"{way}_kb_per_s"] - moved)
    moved = disk.floats("kb_per_s")
    by_size = _unrounded(moved, whole, disk.floats("request_size_kb"), 2)
    columns["kb_per_s"] = np.where(added != 0, moved + added, by_size)
    return columns


def _unrounded(moved: Floats, rate: Floats, size: Floats, parts: int) -> Floats:
    """kB per second as rate times size where that rounds to what is printed, a sum of hundredths of MB/s."""
    exact = rate * size
    off = np.abs(exact - moved)
    steps = np.nan_to_num(moved) / _HUNDREDTH_MB
    is_rounded = (moved <= _HUNDREDTH_MB / 2 / _LITTLE_OFF) & (np.abs(steps - np.rint(steps)) < _SAME_SIZE)
    # digits of the rate and the size hide as much, too
    hidden = HALF_DIGIT * (rate + size)
    is_rounded &= (off > hidden) & (off <= parts * _HUNDREDTH_MB / 2 + hidden)
    return np.where(is_rounded, exact, moved)


_HUNDREDTH_MB = KB_PER_MB / 100
"""The last place of MB/s, in kB/s."""

_LITTLE_OFF = 0.001
"""Share of a rate by which its rounding does no harm: what is printed stays as it is."""


def _merges(disk: Table) -> Columns:
    columns: Columns = {}
    for direction in _DIRECTIONS[:2]:
        name = f"{direction}_merges_per_s"
        if _is_partly_unknown(disk, name):
            rate = disk.floats(f"{direction}s_per_s")
            share = disk.floats(f"{direction}_merges_pct") / 100
            from_share = np.where(share < 1, rate * share / np.maximum(1 - share, 1e-9), np.nan)
            columns[name] = _completed(disk, name, from_share)
    return columns


def _sizes(disk: Table) -> Columns:
    columns: Columns = {}
    for way in _DIRECTIONS[:2]:
        own = disk.floats(f"{way}_request_size_kb")
        columns[f"{way}_size_kb"] = _size(disk, f"{way}_kb_per_s", f"{way}s_per_s", own)
    ios, printed = disk.floats("ios_per_s"), disk.floats("request_size_kb")
    if np.isnan(printed).any():
        moved = _or_nothing(disk.floats("discard_kb_per_s"))
        for way in _DIRECTIONS[:2]:
            moved = moved + _or_nothing(columns[f"{way}_size_kb"]) * disk.floats(f"{way}s_per_s")
        printed = np.where(np.isnan(printed), _per(moved, ios), printed)
    return columns | {"size_kb": _size(disk, "kb_per_s", "ios_per_s", printed)}


def _size(disk: Table, bytes_of: str, rate: str, printed: Floats) -> Floats:
    """Bytes per request; as printed where so few bytes moved that MB/s in hundredths round them away.

    Unknown where requests have no bytes at all: these are not counted, or are flushes.
    """
    moved = disk.floats(bytes_of)
    derived = _per(moved, disk.floats(rate))
    is_rounded = (moved <= LITTLE_KB_PER_S) & (np.abs(derived - printed) > 0.05 * printed)
    return np.where(is_rounded & (printed > 0), printed, np.where(derived > 0, derived, np.nan))


def _waits_per_completed(disk: Table) -> Columns:
    """Response times of pt-diskstats as all others count them: per completed request.

    Alone in telling the concurrency of a direction, it divides by merged requests, too; where these
    are nearly all, its whole per cents leave no time.
    """
    columns: Columns = {}
    for name in ("read", "write"):
        if f"{name}_queue_depth" not in disk:
            continue
        merged = disk.floats(f"{name}_merges_pct")
        is_diluted = ~np.isnan(disk.floats(f"{name}_queue_depth")) & (merged > 0)
        if is_diluted.any():
            completed = np.where(merged <= _MOST_MERGED_PCT, 1 - merged / 100, np.nan)
            wait = disk.floats(f"{name}_await_ms")
            columns[f"{name}_await_ms"] = wait / np.where(is_diluted, completed, 1.0)
    return columns


def _mixed(disk: Table) -> Columns:
    """The latency of all requests, from those of the directions, also where what is printed is not between.

    `doubtful_await_ms` is the latency that is not believed.
    """
    is_apart = is_outside(disk) if {"await_ms", "read_await_ms", "write_await_ms"} <= set(disk.names) else _NO
    if not (_is_partly_unknown(disk, "await_ms") or is_apart.any()):
        return {}
    ios, reads, writes = (disk.floats(name) for name in ("ios_per_s", "reads_per_s", "writes_per_s"))
    read_await, write_await = disk.floats("read_await_ms"), disk.floats("write_await_ms")
    discards = _or_nothing(disk.floats("discards_per_s")) * _or_nothing(disk.floats("discard_await_ms"))
    summed = reads * read_await + writes * write_await + discards
    mixed = _per(summed, ios)
    if not is_apart.any():
        return {"await_ms": _completed(disk, "await_ms", mixed)}
    printed, busy = disk.floats("await_ms"), np.fmin(disk.floats("util_pct") / 100, 1.0)
    # what the queue and the busy share bear out is sooner true than one of its parts
    held = ios * printed / 1000
    is_borne_out = (np.abs(held - disk.floats("queue_depth")) <= LITTLE_SLACK) & ~(busy > held + LITTLE_SLACK)
    is_void = is_apart & ~is_borne_out & np.isfinite(mixed)
    void = np.where(is_void, printed, np.nan)
    known = disk.with_columns(await_ms=np.where(is_void, np.nan, printed))
    return {"await_ms": _completed(known, "await_ms", mixed), "doubtful_await_ms": void}


def is_outside(disk: Table, part: float = 0.05) -> npt.NDArray[np.bool_]:
    """Where the printed latency of all requests is not between those of reads and of writes.

    Only where both completed requests: md and device-mapper may book time of a direction without any.
    Discards have a latency of their own, which counts, too.
    """
    mixed, reads, writes = (disk.floats(f"{name}await_ms") for name in ("", "read_", "write_"))
    least, most = np.minimum(reads, writes), np.maximum(reads, writes)
    coarsest = 2 * weighted.half_digit(disk)
    outside = (mixed < (1 - part) * least - coarsest) | (mixed > (1 + part) * most + coarsest)
    outside &= (disk.floats("reads_per_s") > 0) & (disk.floats("writes_per_s") > 0)
    return np.asarray(outside & ~(disk.floats("discards_per_s") > 0))


_NO = np.zeros(1, dtype=np.bool_)


def _latencies(disk: Table) -> Columns:
    """Latency per direction, that of all requests where one direction is all there is."""
    columns: Columns = {}
    for name in _DIRECTIONS[:2]:
        if _is_partly_unknown(disk, f"{name}_await_ms"):
            ios, wait = disk.floats("ios_per_s"), disk.floats("await_ms")
            is_all = disk.floats(f"{name}s_per_s") >= 0.95 * ios
            # of none at all neither direction is all
            mixed = np.where(is_all & ((ios > 0) | (wait == 0)), wait, np.nan)
            columns[f"{name}_await_ms"] = _completed(disk, f"{name}_await_ms", mixed)
    return columns


def _use(disk: Table) -> Columns:
    ios, depth, kb = disk.floats("ios_per_s"), disk.floats("queue_depth"), disk.floats("kb_per_s")
    util, wait = disk.floats("util_pct") / 100, disk.floats("await_ms")
    by_wait = ios * wait / 1000
    held = np.where(_is_miscounted(disk, depth, by_wait, util), by_wait, depth)
    half = weighted.half_digit(disk)
    rounding_await = half / np.maximum(wait, 1e-9)
    rounding_little = half / np.maximum(depth, 1e-9) + half / np.maximum(ios, 1e-9)
    little = _per(1000 * depth, ios)
    # the printed one, unless it has too few digits: the queue may add digits to it, and no other value, as
    # it counts flushes, too
    is_coarse = (rounding_little < rounding_await) & (rounding_await > _COARSE)
    is_same = np.abs(little - wait) <= half + rounding_little * little
    use_little = (is_coarse & (is_same | (wait <= half))) | np.isnan(wait)
    # busy beyond all of the time is skew of timers where some are in flight, else no measurement
    is_void = (util - half / 100 > _SKEW) & (np.fmax(depth, by_wait) < _NONE_IN_FLIGHT)
    util = np.where(is_void, np.nan, util)
    printed = {"util_pct": np.where(is_void, np.nan, disk.floats("util_pct"))} if "util_pct" in disk else {}
    return printed | {
        "util": util,
        "void_util_pct": np.where(is_void, disk.floats("util_pct"), np.nan),
        "depth": held,
        "is_util_trusted": util - half / 100 <= held + half,
        "latency_ms": np.where(use_little & ~np.isnan(little), little, wait),
        "is_idle": ~((ios >= IDLE_IOS_PER_S) | (kb >= IDLE_KB_PER_S)),
    }


_SKEW, _NONE_IN_FLIGHT = 1.02, 0.5
"""Busy share of sound devices at the most, and requests in flight of one that is busy half of the time."""


def _recounted(disk: Table) -> Table:
    """With the busy share from the depth where %util misses most of the time of requests in flight.

    Kernels 5.0 to 5.6 count a tick where a request starts or ends. A sample of the same rate, latency and
    size shows it for one request at a time; or all samples do, with exactly one in flight on average and a
    tick for each request at the least: bursts of several that come to just that in each of them would be
    chance. Of a queue its latency shows it, on any kernel.
    """
    util, depth = disk.floats("util"), disk.floats("depth")
    is_one = (depth >= _LEAST_ALONE) & (depth <= _ALONE)
    is_low, is_sound = is_one & (_MISSED * util < depth) & (util > 0), is_one & (_ALONE * util >= depth)
    is_queue = (depth >= _LEAST_QUEUED) & (util < _MOST_REFUTED)
    if not (is_low.any() or is_queue.any()):
        return disk
    codes = numbered(disk["device"])[0]
    is_pinned = is_low & (util >= _LEAST_TICK_S * disk.floats("ios_per_s"))
    for held in (depth, disk.floats("queue_depth")):
        is_pinned &= np.abs(held - 1) <= _PINNED
    counts, active = (np.bincount(codes, weights=rows) for rows in (is_pinned, ~disk["is_idle"]))
    is_always = (counts >= _LEAST_PINNED) & (counts == active)
    is_missed = (is_pinned & is_always[codes]) | _are_as_sound(disk, codes, is_low, is_sound)
    is_refuted = _outlast_busy_time(disk, codes, is_queue)
    doubtful = np.where(is_refuted, 100 * util, np.nan)
    waits = disk.floats("await_ms") / (1000 * disk.floats("interval_s"))
    util = np.where(is_refuted, waits, np.where(is_missed, np.minimum(depth, 1.0), util))
    half = weighted.half_digit(disk)
    is_trusted = (util - half / 100 <= depth + half) & ~is_refuted
    return disk.with_columns(util=util, is_util_trusted=is_trusted, doubtful_util_pct=doubtful)


def _outlast_busy_time(
    disk: Table, codes: npt.NDArray[np.intp], is_queue: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Where requests of a queue waited on average for twice the time that %util says the device was busy.

    It is busy while one is in flight. What began before its sample was in flight in the one before it, so
    that both count, and one sample alone shows nothing.
    """
    wait, length = disk.floats("await_ms"), disk.floats("interval_s")
    busy_ms, same = 1000 * disk.floats("util") * length, codes[1:] == codes[:-1]
    busy_ms[1:] = np.where(same, np.fmax(busy_ms[1:], busy_ms[:-1]), busy_ms[1:])
    found = is_queue & (wait <= 1000 * length) & (wait > _REFUTED * busy_ms)
    pairs, beside = same & found[1:] & found[:-1], np.zeros(len(disk), dtype=np.bool_)
    beside[1:] |= pairs
    beside[:-1] |= pairs
    return beside


def without_phantoms(disk: Table) -> Table:
    """With what rate times latency tells where the kernel counts both the queue and the busy share too high.

    Kernels 4.17 to 4.20 may count a request of NVMe that is not there: the two are equal then, and several
    times what all requests of that sample waited. So they are where one flush at a time is in flight, which
    is no write: no NVMe takes so long for one. All samples of a device in which it is busy have to be so:
    one of them may be of a request that outlives it.
    """
    ios, util, queue = (disk.floats(name) for name in ("ios_per_s", "util_pct", "queue_depth"))
    util, held = util / 100, ios * disk.floats("await_ms") / 1000
    codes, names = numbered(disk["device"])
    is_nvme = np.array([name.startswith("nvme") for name in names])[codes]
    is_busy = is_nvme & (util >= _LEAST_PHANTOM)
    found = is_busy & (np.abs(queue - util) <= _AS_MUCH * util + weighted.half_digit(disk))
    found &= (_PHANTOM * held <= util) & (util < FULL) & (1000 * (util - held) > _LONG_FLUSH_MS * ios)
    busy, phantom = (np.bincount(codes, weights=rows, minlength=len(names)) for rows in (is_busy, found))
    found &= (busy == phantom)[codes]
    if not found.any():
        return disk
    bound = {name: np.where(found, held, disk.floats(name)) for name in ("util", "depth")}
    doubtful = np.where(found, 100 * util, disk.floats("doubtful_util_pct"))
    trusted = disk["is_util_trusted"] & ~found
    return disk.with_columns(**bound, doubtful_util_pct=doubtful, is_util_trusted=trusted).with_made(
        _WHILE_BUSY
    )


def without_one_more(disk: Table) -> Table:
    """With an unknown busy share where the queue and the busy share hold one request more than is served.

    It is stuck, or was never taken off the counters: in each of the samples, two and more, in which the
    device is busy the queue is one more than rate times latency, and less than the busy share is of requests
    that complete. One across an edge is in one sample; flushes are counted apart, or, where kernels count
    them in the queue alone, of a writer that has one at a time of them, and so has more writes.
    """
    ios, depth, util = (disk.floats(name) for name in ("ios_per_s", "queue_depth", "util"))
    held = ios * disk.floats("await_ms") / 1000
    is_busy = util >= _LEAST_PHANTOM
    flushed = np.nan_to_num(disk.floats("flushes_per_s") * disk.floats("flush_await_ms")) / 1000
    is_one_more = np.abs(depth - held - flushed - 1) <= _PINNED
    found = (util >= FULL) & is_one_more & (held < util - _PART) & (held >= _PART)
    found &= least_writes(disk) <= _FLUSHES
    if not found.any():
        return disk
    codes = numbered(disk["device"])[0]
    busy, phantom = (np.bincount(codes, weights=rows) for rows in (is_busy, found))
    found &= ((busy == phantom) & (phantom > 1))[codes]
    columns = {"util": np.where(found, np.nan, util), "depth": np.where(found, held, disk.floats("depth"))}
    trusted = disk["is_util_trusted"] & ~found
    holds = np.where(found, 1.0, np.nan)
    return disk.with_columns(**columns, is_util_trusted=trusted, held_besides=holds).with_made(_WHILE_BUSY)


_PART, _FLUSHES = 0.1, 25.0
"""Requests in flight that digits do not hide, and writes/s of a writer that waits for a flush after each: no
flush takes 40 ms time and again."""

_LEAST_PHANTOM, _AS_MUCH, _PHANTOM, FULL = 0.05, 0.05, 5.0, 0.95
"""Busy share of more than rounding; how near the queue is to it; times what the requests hold; and the share
from which one request may be stuck."""

_LONG_FLUSH_MS = 20.0
"""What each request would have to wait for flushes, and what none does on a device without moving parts."""

_LEAST_QUEUED, _REFUTED = 8.0, 2.0
"""Requests in flight on average with which a device is hardly ever idle, if its busy share is refuted; and
times the busy time that they waited."""
_MOST_REFUTED = 1 / _REFUTED


def _are_as_sound(
    disk: Table, codes: npt.NDArray[np.intp], is_low: npt.NDArray[np.bool_], is_sound: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """The low samples of the rate, latency and kB/s of a sound one of the same device."""
    found = np.zeros(len(disk), dtype=np.bool_)
    compared = np.flatnonzero(is_low | is_sound) if is_sound.any() else np.flatnonzero(is_sound)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = [disk.floats(name)[compared] for name in ("ios_per_s", "await_ms", "kb_per_s")]
        logs = np.log(np.stack(rates)) / _LIKE
    for shift in (0.0, 0.5):  # what falls on either side of a step of one is within a step of the other
        steps = np.vstack([codes[compared], np.nan_to_num(np.floor(logs + shift), neginf=-1e6)]).T
        number = np.unique(steps, axis=0, return_inverse=True)[1].reshape(-1)
        found[compared] |= is_low[compared] & np.isin(number, number[is_sound[compared]])
    return found


_PINNED, _LEAST_PINNED, _LEAST_TICK_S = 0.05, 3, 0.9e-3
"""How far from one in flight the mean of one request at a time is, the samples that are no chance, and the
shortest tick (of 1000 Hz, but for rounding): quicker requests are counted in full."""

_LEAST_ALONE, _ALONE, _MISSED, _LIKE = 0.5, 1.5, 3.0, 0.1
"""Mean numbers in flight of one request at a time most of the time; times that %util falls short of it; and
how far apart (ln) rates, latencies and kB/s of one load are."""


def _is_miscounted(disk: Table, depth: Floats, held: Floats, util: Floats) -> npt.NDArray[np.bool_]:
    """Where the counter of the queue lacks requests that rate times latency tells of (Little's law).

    Kernels 4.19 and 4.20 lose most of them, of one device more than of another: where all counters together
    fall short, rate times latency is taken of each. Of a few that are lost the busy share tells as well, as a
    device that is never empty holds one request at least. What waited for longer than its sample may have
    been in flight before: then the samples on either side have to say so as well. So may part of a backlog
    that drains.
    Older kernels count what is in flight in a sample: waits of a good part of it shift between samples, and
    their sums agree.
    """
    is_short = depth < LITTLE * held - LITTLE_SLACK
    is_short |= depth < BORNE_OUT * np.minimum(held, np.minimum(util, 1.0)) - LITTLE_SLACK
    if not is_short.any():
        return is_short
    is_known = np.isfinite(depth + held)
    if depth[is_known].sum() < LITTLE * held[is_known].sum():
        is_short |= depth < held - LITTLE_SLACK
    wait, length = disk.floats("await_ms"), disk.floats("interval_s")
    length_ms = 1000 * np.where(np.isnan(length), 1.0, length)
    longest = np.fmax(wait, np.fmax(disk.floats("read_await_ms"), disk.floats("write_await_ms")))
    codes = numbered(disk["device"])[0]
    is_lone = (np.bincount(codes[is_known], minlength=codes.max() + 1) <= 1)[codes]
    is_drained = is_lone & (longest > _BACKLOG * length_ms) & (depth >= _LEFT * held)
    is_within = (wait <= length_ms) & ~is_drained
    counted, waited = (
        np.bincount(codes[is_known], data[is_known], codes.max() + 1) for data in (depth, held)
    )
    is_short &= (wait <= _BACKLOG * length_ms) | (counted < LITTLE * waited)[codes]
    runs = np.zeros(len(disk), dtype=np.int8)
    same = is_short[1:] & is_short[:-1] & (codes[1:] == codes[:-1])
    runs[1:] += same
    runs[:-1] += same
    in_run = runs == 2
    in_run[1:] |= in_run[:-1] & same
    in_run[:-1] |= in_run[1:] & same
    return np.asarray(is_short & (is_within | in_run))


BORNE_OUT = 0.9
"""Share of what both rate times latency and the busy share tell of that a true mean number in flight has."""

_BACKLOG, _LEFT = 0.1, 1 / 3
"""Share of a sample that requests wait from which many may have begun before it; and share of rate times
latency that the queue of a backlog has while it drains, if that takes as long as they had waited."""


def _while_busy(disk: Table, name: str) -> Floats:
    """A column over the share of time with a request in flight; unknown where that is little or not known."""
    util = disk.floats("util")
    return disk.floats(name) / np.where((util >= 0.05) & disk["is_util_trusted"], util, np.nan)


_WHILE_BUSY = {
    "busy_depth": partial(_while_busy, name="depth"),
    "busy_ios_per_s": partial(_while_busy, name="ios_per_s"),
}


def _is_partly_unknown(disk: Table, name: str) -> bool:
    return name not in disk or bool(np.isnan(disk.floats(name)).any())


def _is_counted(name: str, column: Column) -> bool:
    """Whether a column holds numbers of what a device did, and any."""
    is_number = isinstance(column, np.ndarray) and column.dtype.kind in "iuf"
    return is_number and name not in _PLACES and name not in _TOTALS and len(column) > 0


def _or_nothing(rates: Floats) -> Floats:
    is_unknown = np.isnan(rates)
    return np.where(is_unknown, 0.0, rates) if is_unknown.any() else rates


def _per(amounts: Floats, rates: Floats) -> Floats:
    """Amounts per request; unknown where there was none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        each: Floats = amounts / rates
    np.putmask(each, rates <= 0, np.nan)
    return each


def _completed(disk: Table, name: str, others: Floats) -> Floats:
    """A column with others' values where it is unknown."""
    if name not in disk:
        return others
    own = disk.floats(name)
    result: Floats = np.where(np.isnan(own), others, own)
    return result


def anomalies(samples: Table) -> npt.NDArray[np.int8]:
    """Why each sample's numbers cannot all be true, as a place in ANOMALIES: 0 is a sound sample.

    Values beyond any device come from counters that ran backwards: unsigned differences near
    1.8e19, or 4e9 per interval for 32-bit ones (sysstat before 12.7.3).
    """
    is_absurd = np.zeros(len(samples), dtype=np.bool_)
    for name in samples.names:
        column = samples[name]
        if not _is_counted(name, column):
            continue
        column = column[:1] if is_repeated(column) else column
        # the bits of a negative or unknown number are those of a large one
        if column.dtype == np.float64 and column.view(np.uint64).max() <= _ABSURD_BITS:
            continue
        # of nearly all other columns the extremes tell, whose unknown values do not count
        if not (np.fmin.reduce(column) >= 0 and np.fmax.reduce(column) <= _ABSURD):
            is_absurd |= (column > _ABSURD) | (column < 0)
    is_idle = (samples.floats("ios_per_s") == 0) & (samples.floats("await_ms") > 0)
    # less than half a hundredth of a request per second is printed as none: one in a long sample
    is_idle &= samples.floats("interval_s") <= LONGEST_ROUNDED_S
    is_below_zero = samples.floats("queue_depth") > MOST_IN_FLIGHT
    return np.where(is_absurd, 1, np.where(is_below_zero, 3, np.where(is_idle, 2, 0))).astype(np.int8)


def least_writes(rows: Table) -> Floats:
    """Writes per second, or as many as there must be: a read moves at least one sector."""
    bound = rows.floats("ios_per_s") - rows.floats("read_kb_per_s") / KB_PER_SECTOR
    writes = rows.floats("writes_per_s")
    return np.asarray(np.where(np.isnan(writes), np.maximum(bound, 0), writes))
