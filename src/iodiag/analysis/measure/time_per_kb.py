"""What a kB read or written cost in waiting, from whichever columns a layout has."""

from __future__ import annotations

import numpy as np

from iodiag.analysis.measure import weighted
from iodiag.table.table import Floats, Table

ONE_WAY = 0.9
"""Share of the bytes, and of the requests where these are told apart, from which the waiting of all requests
is taken for that of one direction: few large writes among many small reads need not be those that wait."""

APART = 2.0
"""Times by which latencies or sizes of reads and writes differ from which a mean describes neither."""

DIRECTIONS = {"read": "write", "write": "read"}


def in_flight(samples: Table, way: str) -> Floats:
    """Reads or writes in flight in each sample, NaN where it is not known.

    By Little's law rate times latency; else the direction's own depth; else, where it is no small part, what
    the other direction leaves of the depth of all requests; else, where it moved ONE_WAY of the bytes in
    ONE_WAY of the requests, all of it.
    """
    moved, other = (np.nan_to_num(samples.floats(f"{name}_kb_per_s")) for name in (way, DIRECTIONS[way]))
    done = samples.floats(f"{way}s_per_s")
    found = done * samples.floats(f"{way}_await_ms") / 1000
    found = np.where(np.isnan(found), samples.floats(f"{way}_queue_depth"), found)
    is_alone = (moved > 0) & (moved >= ONE_WAY * (moved + other))
    is_alone &= ~(done < ONE_WAY * samples.floats("ios_per_s"))
    whole = samples.floats("ios_per_s") * samples.floats("latency_ms") / 1000
    back = DIRECTIONS[way]
    rest = np.maximum(whole - samples.floats(f"{back}s_per_s") * samples.floats(f"{back}_await_ms") / 1000, 0)
    # of a few among many nothing is left but rounding
    is_part = done >= (1 - ONE_WAY) * samples.floats("ios_per_s")
    found = np.where(np.isnan(found) & is_part, rest, found)
    return np.asarray(np.where(np.isnan(found) & is_alone, whole, found))


def wait_per_kb(samples: Table, way: str) -> Floats:
    """Milliseconds that requests of a direction waited for each kB they moved, NaN without bytes.

    At one size of request it is in proportion to the latency, and needs no count of requests by direction.
    """
    moved = samples.floats(f"{way}_kb_per_s")
    waiting = 1000 * in_flight(samples, way)
    each: Floats = np.divide(waiting, moved, out=np.full(len(moved), np.nan), where=moved > 0)
    return each


def mean_wait_per_kb(samples: Table, way: str) -> float:
    """The same over all samples: all waiting by all kB."""
    moved, lengths = samples.floats(f"{way}_kb_per_s"), weighted.lengths(samples)
    waiting = 1000 * in_flight(samples, way)
    known = np.isfinite(waiting) & (moved > 0)
    total = float((moved * lengths)[known].sum())
    return float((waiting * lengths)[known].sum()) / total if total > 0 else float("nan")


def ways_of_both(one: Table, other: Table) -> tuple[str, dict[str, float]]:
    """What a sentence adds to two mean latencies where reads and writes, or their growths, are APART."""
    found = {
        f"{way}_{place}": weighted.mean(rows, f"{way}_await_ms")
        for way in DIRECTIONS
        for place, rows in (("one", one), ("other", other))
    }
    pairs = [[found[f"{way}_{place}"] for way in DIRECTIONS] for place in ("one", "other")]
    if not all(min(pair) > 0 for pair in pairs):
        return "", {}
    growths = [after / before for before, after in zip(*pairs, strict=True)]
    if all(max(pair) < APART * min(pair) for pair in (*pairs, growths)):
        return "", {}
    return "; reads {read_one} and {read_other} ms, writes {write_one} and {write_other} ms", found


def slowdown(before: Table, after: Table, way: str) -> float:
    """How many times as long a kB waited after as before; NaN where it is not known or was 0."""
    first = mean_wait_per_kb(before, way)
    return mean_wait_per_kb(after, way) / first if first > 0 else float("nan")


def requests_per_sample(samples: Table, way: str) -> Floats:
    """Requests of a direction in each sample; by its share of the bytes where only all are counted."""
    own, ios = samples.floats(f"{way}s_per_s"), samples.floats("ios_per_s")
    moved, total = samples.floats(f"{way}_kb_per_s"), samples.floats("kb_per_s")
    share = np.divide(moved, total, out=np.zeros(len(moved)), where=total > 0)
    return np.nan_to_num(np.where(np.isnan(own), ios * share, own) * weighted.seconds_or_one(samples))


def request_count(samples: Table, way: str) -> float:
    """The same in all samples together."""
    return float(requests_per_sample(samples, way).sum())


def ratio_of(before: Table, after: Table, column: str) -> float:
    """The mean of a column after over that before; NaN where it is not known or was 0."""
    first = weighted.mean(before, column)
    return weighted.mean(after, column) / first if first > 0 else float("nan")
