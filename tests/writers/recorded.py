"""A recorded capture as a load, to be printed in other ways or changed a little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import iodiag
from writers.capture_writer import Load, Row


def load_of(capture: iodiag.Capture) -> Load:
    """What a recorded capture holds, to be printed in other ways."""
    disk, cpu = capture.tables["disk"], capture.tables["cpu"]
    disk, cpu = disk[~disk["since_boot"]], cpu[~cpu["since_boot"]]
    columns = {
        **{"reads": "reads_per_s", "read_kb": "read_kb_per_s", "read_ms": "read_await_ms"},
        **{"writes": "writes_per_s", "write_kb": "write_kb_per_s", "write_ms": "write_await_ms"},
        **{"read_merges": "read_merges_per_s", "write_merges": "write_merges_per_s"},
        **{"flushes": "flushes_per_s", "flush_ms": "flush_await_ms", "depth": "queue_depth"},
    }
    samples = [
        {
            str(row["device"]): Row(
                util=row["util_pct"] / 100, **{k: float(row[c]) for k, c in columns.items()}
            )
            for row in rows.to_dict("records")
        }
        for _, rows in disk.groupby(["segment", "report"])
    ]
    shares = cpu[["user_pct", "system_pct", "iowait_pct", "idle_pct"]].itertuples(index=False, name=None)
    return Load(samples, step=1, cpus=list(shares))


def scaled(load: Load, factor: float) -> Load:
    """The same rates with all latencies multiplied, and the requests in flight with them."""
    return replace(load, samples=[{n: _scaled(row, factor) for n, row in s.items()} for s in load.samples])


def _scaled(row: Row, factor: float) -> Row:
    times = {name: getattr(row, name) * factor for name in ("read_ms", "write_ms", "flush_ms")}
    util = row.util if row.util > 0.99 else min(1.0, row.util * factor)
    return replace(row, **times, util=util, depth=row.in_flight * factor)


def without(load: Load, places: Sequence[int]) -> Load:
    """The capture with some samples missing."""
    return replace(load, samples=[s for n, s in enumerate(load.samples) if n not in places])


def merged(load: Load, count: int) -> Load:
    """The same captured at an interval `count` times as long."""
    ends = range(count, len(load.samples) + 1, count)
    samples = [
        {
            name: _mean([sample[name] for sample in load.samples[end - count : end]])
            for name in load.samples[0]
        }
        for end in ends
    ]
    return replace(load, samples=samples, step=load.step * count)


def _mean(rows: Sequence[Row]) -> Row:
    def mean(name: str, by: str = "") -> float:
        weights = [getattr(row, by) if by else 1.0 for row in rows]
        total = sum(weights)
        return sum(getattr(r, name) * w for r, w in zip(rows, weights, strict=True)) / total if total else 0.0

    rates = ("reads", "writes", "read_kb", "write_kb", "read_merges", "write_merges", "flushes", "util")
    times = {"read_ms": "reads", "write_ms": "writes", "flush_ms": "flushes"}
    depth = sum(row.in_flight for row in rows) / len(rows)
    found = {name: mean(name) for name in rates} | {name: mean(name, by) for name, by in times.items()}
    return Row(**found, depth=depth)
