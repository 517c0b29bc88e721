"""What counts as a change: intervals that hold what they promise, and limits that are kept."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.analysis.measure.before_after import (
    LEAST_CHANGE_PCT,
    Sums,
    change,
    judged_change,
    with_idle_samples,
)
from iodiag.analysis.measure.bootstrap import LEAST_SAMPLES, estimate, log_estimate, student
from iodiag.table.table import Table
from property_tests import examples


def series(values, **columns) -> Table:
    """Samples of a second each."""
    frame = pd.DataFrame({"reads_per_s": np.asarray(values, dtype=float), "interval_s": 1.0})
    return Table.of(frame.assign(**columns))


def noise(seed: int, count: int, memory: float = 0.0, spread: float = 0.3) -> np.ndarray:
    """A log-normal series about 1 whose neighbours correlate by `memory`."""
    steps = np.random.default_rng(seed).normal(size=count + 50)
    level = np.zeros(count + 50)
    for at in range(1, count + 50):
        level[at] = memory * level[at - 1] + math.sqrt(1 - memory**2) * steps[at]
    return np.exp(spread * level[50:])


@pytest.mark.parametrize(("count", "memory"), [(10, 0.0), (30, 0.0), (30, 0.4), (80, 0.6)])
def test_two_like_series_hardly_ever_differ(count, memory):
    differ = 0
    runs = 200
    for run in range(runs):
        sides = (series(100 * noise(2 * run + side, count, memory)) for side in (0, 1))
        found = change("reads_per_s", *sides)
        differ += found.verdict in ("changed", "minor")
    assert differ <= 0.12 * runs


def test_a_change_as_large_as_the_smallest_detectable_one_is_mostly_found():
    found = 0
    for run in range(100):
        before, after = (series(100 * noise(500 + 2 * run + side, 40)) for side in (0, 1))
        told = change("reads_per_s", before, after).detectable_pct
        moved = change(
            "reads_per_s", before, after.with_columns(reads_per_s=after["reads_per_s"] * (1 + told / 100))
        )
        found += moved.verdict == "changed"
    assert found >= 70


@pytest.mark.parametrize("count", [LEAST_SAMPLES, 20, 500, 20_000])
def test_identical_sides_are_unchanged_and_say_what_would_have_shown(count):
    side = series(100 * noise(1, count))
    found = change("reads_per_s", side, side)
    assert found.ratio == 1
    assert found.verdict == "unchanged"
    assert found.low < 1 < found.high
    assert found.detectable_pct >= LEAST_CHANGE_PCT


def test_more_samples_make_the_interval_narrower():
    widths = []
    for count in (10, 40, 160, 640):
        found = change("reads_per_s", series(noise(3, count)), series(2 * noise(4, count)))
        widths.append(math.log(found.high / found.low))
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < widths[0] / 4


@examples(40)
@given(seed=st.integers(0, 10_000), factor=st.floats(1e-3, 1e6), count=st.integers(LEAST_SAMPLES, 60))
def test_the_unit_changes_nothing(seed, factor, count):
    before, after = noise(seed, count), 1.5 * noise(seed + 1, count)
    one = judged_change("q", Sums(before, np.ones(count)), Sums(after, np.ones(count)))
    other = judged_change("q", Sums(before * factor, np.ones(count)), Sums(after * factor, np.ones(count)))
    assert other.ratio == pytest.approx(one.ratio)
    assert other.low == pytest.approx(one.low)
    assert other.detectable_pct == pytest.approx(one.detectable_pct)


@examples(40)
@given(seed=st.integers(0, 10_000), count=st.integers(LEAST_SAMPLES, 60))
def test_the_interval_holds_the_ratio_and_repeats(seed, count):
    sides = series(noise(seed, count)), series(3 * noise(seed + 1, count))
    found = change("reads_per_s", *sides)
    assert found.low <= found.ratio <= found.high
    assert found == change("reads_per_s", *sides)


def test_below_eight_samples_there_is_no_interval():
    found = change("reads_per_s", series([10.0] * 7), series([20.0] * 30))
    assert math.isnan(found.low)
    assert (found.verdict, found.confidence) == ("indicated", "low")


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ([10], [24], "indicated"),  # one sample on each side: a ratio, and no more
        ([10], [10.5], "unclear"),
        ([10, 11, 12], [20, 21, 22], "unclear"),  # one time in ten by chance
        ([10, 11, 12, 11], [20, 21, 22, 23], "indicated"),
        ([10, 11, 12, 21], [20, 21, 22, 23], "unclear"),  # they overlap
        ([0, 0, 0, 0], [5, 6, 5, 6], "appeared"),
        ([5, 6, 5, 6], [0, 0, 0, 0], "ceased"),
        ([0, 0], [5, 0], "unclear"),
        ([0.01] * 9, [0.02] * 9, "negligible"),
        ([0] * 9, [0] * 9, "negligible"),
        ([0], [0], "negligible"),
    ],
)
def test_few_samples_say_little(before, after, verdict):
    assert change("reads_per_s", series(before), series(after)).verdict == verdict


def test_a_single_reading_among_many_samples_is_none():
    """One sample of a side with reads, out of twenty with load, is not the whole of that side."""
    before = series([50.0] + [0.0] * 19, read_await_ms=[8.0] + [0.0] * 19)
    after = series([50.0] * 4 + [0.0] * 16, read_await_ms=[60.0] * 4 + [0.0] * 16)
    assert change("read_await_ms", before, after).verdict == "unclear"
    assert change("read_await_ms", before[:1], after).verdict == "indicated"


def test_rounding_makes_no_change():
    flat = np.full(40, 100.0)
    found = change("read_await_ms", series(flat, read_await_ms=0.06), series(flat, read_await_ms=0.07))
    assert found.ratio > 1.15
    assert found.verdict == "minor"


def test_a_change_below_fifteen_per_cent_is_none_to_act_on():
    assert change("reads_per_s", series([100.0] * 40), series([112.0] * 40)).verdict == "minor"
    assert change("reads_per_s", series([100.0] * 40), series([116.0] * 40)).verdict == "changed"
    assert change("reads_per_s", series([100.0] * 40), series([86.0] * 40)).verdict == "minor"
    assert change("reads_per_s", series([100.0] * 40), series([84.0] * 40)).verdict == "changed"


def test_shares_of_time_must_move_by_points():
    sides = (Table.of(pd.DataFrame({"user_pct": [value] * 40, "interval_s": 1.0})) for value in (1.0, 2.5))
    assert change("user_pct", *sides, family="cpu").verdict == "minor"
    sides = (Table.of(pd.DataFrame({"user_pct": [value] * 40, "interval_s": 1.0})) for value in (10.0, 25.0))
    assert change("user_pct", *sides, family="cpu").verdict == "changed"


def test_latency_is_weighted_by_requests_and_sizes_are_ratios_of_sums():
    before = series([1.0, 99.0] * 10, read_await_ms=[100.0, 1.0] * 10, read_kb_per_s=[4.0, 3960.0] * 10)
    found = change("read_await_ms", before, before)
    assert found.before == pytest.approx((1 * 100 + 99 * 1) / 100)
    assert change("read_request_size_kb", before, before).before == pytest.approx(3964 / 100)


def test_a_quantity_that_one_side_lacks_is_not_compared():
    assert change("flushes_per_s", series([1.0]), series([1.0], flushes_per_s=2.0)) is None
    assert change("reads_per_s", series([]), series([1.0])) is None


def test_the_same_work_in_larger_portions_is_no_more_work():
    found = change("reads_per_s", series([100.0] * 30), series([500.0] * 30))
    assert with_idle_samples(found, 100.0, 100.0).verdict == "bunched"
    assert with_idle_samples(found, 100.0, 80.0).verdict == "bunched"
    kept = with_idle_samples(found, 100.0, 400.0)
    assert (kept.verdict, kept.overall) == ("changed", (100.0, 400.0))
    assert with_idle_samples(found, 100.0, 500.0) == found


def test_a_geometric_mean_is_one():
    values = np.array([1.0, 10.0, 100.0] * 4)
    found = log_estimate(values, np.ones(12), 0)
    assert found.value == pytest.approx(10.0)
    assert found.error > 0


def test_two_sides_take_different_draws():
    """The same samples on both sides must not cancel out to an interval without width."""
    values = noise(7, 40)
    errors = [estimate(values, np.ones(40), side).error for side in (0, 1)]
    assert errors[0] != errors[1]
    assert errors[0] == pytest.approx(errors[1], rel=0.15)


@pytest.mark.parametrize(("freedom", "factor"), [(2, 4.303), (10, 2.228), (1000, 1.962), (math.inf, 1.960)])
def test_student_is_that_of_the_tables(freedom, factor):
    assert student(freedom) == pytest.approx(factor, abs=0.002)
