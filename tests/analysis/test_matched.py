"""Latency at matched load: only like is compared with like."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from iodiag.analysis.measure.matched_load import at_matched_load
from iodiag.table.table import Table, stacked


def loads(*cells: tuple[float, float, float, float], each: int = 12) -> Table:
    """`each` samples of a second per (reads/s, latency, size, depth), scattered a little."""
    rows = np.repeat(np.array(cells, dtype=float), each, axis=0)
    scatter = np.exp(0.02 * np.random.default_rng(len(rows)).normal(size=len(rows)))
    frame = pd.DataFrame(
        {
            "reads_per_s": rows[:, 0],
            "read_await_ms": rows[:, 1] * scatter,
            "read_size_kb": rows[:, 2],
            "depth": rows[:, 3],
            "interval_s": 1.0,
        }
    )
    return Table.of(frame)


def test_a_slower_device_shows_at_every_load_and_more_load_alone_does_not():
    """Twice the latency at each depth is slower; the same curve further up is not."""
    curve = [(100.0, 10.0, 4.0, 1.0), (150.0, 27.0, 4.0, 4.0), (160.0, 100.0, 4.0, 16.0)]
    slower = [(rate / 2, 2 * latency, size, depth) for rate, latency, size, depth in curve]
    cells, combined = at_matched_load(loads(*curve), loads(*slower), "read")
    assert len(cells) == 3
    assert combined.ratio == pytest.approx(2.0, rel=0.02)
    assert combined.verdict == "changed"
    cells, combined = at_matched_load(loads(curve[0], curve[1]), loads(curve[1], curve[2]), "read")
    assert [round(cell.queue_depth[0]) for cell in cells] == [4]
    assert combined.verdict == "unchanged"


def test_requests_of_another_size_are_never_matched():
    assert at_matched_load(loads((100, 10, 4, 1)), loads((100, 10, 64, 1)), "read") == ((), None)


def test_a_size_of_four_kilobytes_stays_in_its_class_on_either_side_of_it():
    cells, _ = at_matched_load(loads((100, 10, 3.99, 1)), loads((100, 10, 4.01, 1)), "read")
    assert len(cells) == 1


def test_depths_too_far_apart_in_one_cell_are_no_match():
    assert at_matched_load(loads((100, 10, 4, 1.0)), loads((100, 12, 4, 3.0)), "read") == ((), None)
    cells, _ = at_matched_load(loads((100, 10, 4, 0.86)), loads((100, 12, 4, 1.15)), "read")
    assert not cells


def test_fewer_than_fifty_requests_say_nothing():
    assert at_matched_load(loads((4, 10, 4, 1)), loads((4, 10, 4, 1)), "read") == ((), None)


def test_few_samples_give_a_ratio_without_interval_and_count_only_alone():
    short = loads((100, 10, 4, 1), each=3)
    cells, combined = at_matched_load(short, loads((100, 25, 4, 1)), "read")
    assert math.isnan(cells[0].latency.low)
    assert combined.verdict == "indicated"
    long = loads((100, 10, 4, 1), (100, 30, 4, 8))
    few = stacked([loads((100, 10, 4, 1)), loads((100, 60, 4, 8), each=2)])
    cells, combined = at_matched_load(long, few, "read")
    assert len(cells) == 2
    assert combined.verdict == "unchanged"


def test_samples_without_depth_or_requests_are_left_out():
    rows = loads((100, 10, 4, 1))
    empty = rows.with_columns(depth=np.full(len(rows), np.nan))
    assert at_matched_load(rows, empty, "read") == ((), None)
    assert at_matched_load(rows[:0], rows, "read") == ((), None)
    assert at_matched_load(rows.only(rows.names.keys() - {"read_await_ms"}), rows, "read") == ((), None)
