"""Derived columns of the disk table: totals, sizes, concurrency, and how far util can be trusted.

Notation of the formulas: X requests per second, R latency, N requests in flight, U the share of time
with at least one in flight. Little's law: N = X·R. For exact counters U ≤ N.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from iodiag.derive.view import IDLE_IOS_PER_S, IDLE_KB_PER_S
from iodiag.derive.weighted import values

Floats = npt.NDArray[np.float64]

_DIRECTIONS = ("read", "write", "discard")
_ABSURD = 1e9
_MOST_MERGED_PCT = 90  # above, half of a per cent is more than a twentieth of what was not merged
HALF_DIGIT = 0.005  # sysstat prints two decimals: a printed value stands for ± half of the last


def enrich(disk: pd.DataFrame) -> pd.DataFrame:
    """The disk table with the derived columns that DeviceSeries documents.

    Columns that the source lacks are computed where others determine them, and NaN elsewhere.
    """
    frame = disk.copy()
    _totals(frame)
    _merges(frame)
    _sizes(frame)
    _waits_per_completed(frame)
    _latencies(frame)
    frame["util"] = values(frame, "util_pct") / 100
    frame["depth"] = values(frame, "queue_depth")
    ios, depth, util = values(frame, "ios_per_s"), values(frame, "depth"), values(frame, "util")
    frame["is_util_trusted"] = util - HALF_DIGIT / 100 <= depth + HALF_DIGIT
    busy = np.where((util >= 0.05) & frame["is_util_trusted"].to_numpy(), util, np.nan)
    frame["busy_depth"] = depth / busy
    frame["busy_ios_per_s"] = ios / busy
    rounding_await = HALF_DIGIT / np.maximum(values(frame, "await_ms"), 1e-9)
    rounding_little = HALF_DIGIT / np.maximum(depth, 1e-9) + HALF_DIGIT / np.maximum(ios, 1e-9)
    little = np.where(ios > 0, 1000 * depth / np.maximum(ios, 1e-9), np.nan)
    use_little = (rounding_little < rounding_await) | np.isnan(values(frame, "await_ms"))
    frame["latency_ms"] = np.where(use_little & ~np.isnan(little), little, values(frame, "await_ms"))
    kb = values(frame, "kb_per_s")
    frame["is_idle"] = ~((np.nan_to_num(ios) >= IDLE_IOS_PER_S) | (np.nan_to_num(kb) >= IDLE_KB_PER_S))
    return frame


def _totals(frame: pd.DataFrame) -> None:
    rates = [values(frame, f"{d}s_per_s") for d in _DIRECTIONS]
    summed = np.where(
        np.isnan(rates[0]) | np.isnan(rates[1]), np.nan, rates[0] + rates[1] + np.nan_to_num(rates[2])
    )
    frame["ios_per_s"] = _first_known(values(frame, "ios_per_s"), summed)
    moved = [values(frame, f"{d}_kb_per_s") for d in _DIRECTIONS]
    summed = np.where(
        np.isnan(moved[0]) | np.isnan(moved[1]), np.nan, moved[0] + moved[1] + np.nan_to_num(moved[2])
    )
    frame["kb_per_s"] = _first_known(values(frame, "kb_per_s"), summed)
    # with bytes in one direction alone, all requests are of that direction
    reads, writes = values(frame, "reads_per_s"), values(frame, "writes_per_s")
    ios = values(frame, "ios_per_s")
    only_reads = (moved[1] == 0) & (np.nan_to_num(moved[2]) == 0) & (moved[0] > 0)
    only_writes = (moved[0] == 0) & (np.nan_to_num(moved[2]) == 0) & (moved[1] > 0)
    frame["reads_per_s"] = _first_known(reads, np.where(only_reads, ios, np.where(only_writes, 0.0, np.nan)))
    frame["writes_per_s"] = _first_known(
        writes, np.where(only_writes, ios, np.where(only_reads, 0.0, np.nan))
    )


def _merges(frame: pd.DataFrame) -> None:
    for direction in _DIRECTIONS[:2]:
        rate = values(frame, f"{direction}s_per_s")
        share = values(frame, f"{direction}_merges_pct") / 100
        from_share = np.where(share < 1, rate * share / np.maximum(1 - share, 1e-9), np.nan)
        frame[f"{direction}_merges_per_s"] = _first_known(
            values(frame, f"{direction}_merges_per_s"), from_share
        )


def _sizes(frame: pd.DataFrame) -> None:
    for name in ("read", "write"):
        rate, moved = values(frame, f"{name}s_per_s"), values(frame, f"{name}_kb_per_s")
        frame[f"{name}_size_kb"] = np.where(rate > 0, moved / np.maximum(rate, 1e-9), np.nan)
    ios, moved = values(frame, "ios_per_s"), values(frame, "kb_per_s")
    frame["size_kb"] = np.where(ios > 0, moved / np.maximum(ios, 1e-9), np.nan)


def _waits_per_completed(frame: pd.DataFrame) -> None:
    """Response times of pt-diskstats as all others count them: per completed request.

    Alone in telling the concurrency of a direction, it divides by merged requests, too; where these
    are nearly all, its whole per cents leave no time.
    """
    for name in ("read", "write"):
        merged = values(frame, f"{name}_merges_pct")
        is_diluted = ~np.isnan(values(frame, f"{name}_queue_depth")) & (merged > 0)
        if is_diluted.any():
            completed = np.where(merged <= _MOST_MERGED_PCT, 1 - merged / 100, np.nan)
            frame[f"{name}_await_ms"] = values(frame, f"{name}_await_ms") / np.where(
                is_diluted, completed, 1.0
            )


def _latencies(frame: pd.DataFrame) -> None:
    """Per-direction and mixed latency, each from the other where one direction is all there is."""
    ios, mixed = values(frame, "ios_per_s"), values(frame, "await_ms")
    reads, writes = values(frame, "reads_per_s"), values(frame, "writes_per_s")
    read_await, write_await = values(frame, "read_await_ms"), values(frame, "write_await_ms")
    known = ~np.isnan(read_await) & ~np.isnan(write_await) & (ios > 0)
    discards = np.nan_to_num(values(frame, "discards_per_s")) * np.nan_to_num(
        values(frame, "discard_await_ms")
    )
    summed = reads * read_await + writes * write_await + discards
    frame["await_ms"] = _first_known(mixed, np.where(known, summed / np.maximum(ios, 1e-9), np.nan))
    mixed = values(frame, "await_ms")
    frame["read_await_ms"] = _first_known(read_await, np.where(reads >= 0.95 * ios, mixed, np.nan))
    frame["write_await_ms"] = _first_known(write_await, np.where(writes >= 0.95 * ios, mixed, np.nan))


def _first_known(first: Floats, second: Floats) -> Floats:
    result: Floats = np.where(np.isnan(first), second, first)
    return result


def anomalies(disk: pd.DataFrame) -> pd.Series:
    """Why a sample's numbers cannot all be true; empty for sound samples.

    Values beyond any device come from counters that ran backwards: unsigned differences near
    1.8e19, or 4e9 per interval for 32-bit ones (sysstat before 12.7.3).
    """
    numbers = disk.select_dtypes("number").drop(
        columns=["line", "segment", "report", "interval_s"], errors="ignore"
    )
    absurd = (numbers.abs() > _ABSURD).any(axis=1) | (numbers < 0).any(axis=1)
    reasons = pd.Series("", index=disk.index, dtype=object)
    reasons[absurd] = "a value beyond any device: a counter ran backwards"
    waits = values(disk, "await_ms")
    rate = values(disk, "ios_per_s")
    strange = (rate == 0) & (waits > 0) & ~absurd.to_numpy()
    reasons[strange] = "a latency without a request"
    return reasons
