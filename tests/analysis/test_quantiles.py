"""Medians and percentiles are those of numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.analysis.measure.quantiles import extent, low_and_high, median, percentiles
from iodiag.table.table import repeated

NUMBERS = st.lists(
    st.floats(0, 1e9) | st.floats(-1e3, 1e-300) | st.sampled_from([0.0, 0.01, 100.0]), min_size=1, max_size=60
)


@given(NUMBERS, st.integers(0, 3), st.sampled_from([0.0, 10.0, 50.0, 90.0, 95.0, 100.0]))
def test_they_are_numpy_s_of_the_known_numbers(numbers, unknown, rank):
    data = np.array(numbers + [np.nan] * unknown)
    assert median(data) == np.nanmedian(data)
    assert percentiles(data, rank) == (np.nanpercentile(data, rank),)
    expected = {"median": np.nanmedian(data), "p95": np.nanpercentile(data, 95), "max": max(numbers)}
    assert extent(data) == expected


def test_few_numbers_lie_between_the_least_and_the_largest():
    few, many = np.arange(9.0), np.arange(11.0)
    assert low_and_high(few) == (0.0, 8.0)
    assert low_and_high(many) == (1.0, 9.0)


def test_of_nothing_known_they_are_unknown():
    for data in (np.empty(0), np.full(3, np.nan)):
        assert np.isnan([median(data), *percentiles(data, 10, 90), *low_and_high(data)]).all()
        assert extent(data) is None


def test_one_value_in_the_memory_of_one_is_what_all_of_them_are():
    assert percentiles(repeated(2.5, 7), 10, 50, 95) == (2.5, 2.5, 2.5)
    assert np.isnan(median(repeated(np.nan, 7)))


@pytest.mark.parametrize(
    "numbers",
    [
        [0.0] * 2500 + [1e-310] * 2500,
        [1.0] * 4900 + [np.inf] * 100,
        [-1e308, 1e308] * 1500,
        [7.0] * 4999 + [1e9],
        [*np.linspace(0, 1, 5000).tolist(), 1e12],
        list(np.random.default_rng(5).lognormal(2, 2, 5000).round(2)),
        list(np.random.default_rng(6).integers(0, 9, 5001).astype(float)),
    ],
    ids=["tiny", "endless", "huge", "one apart", "one far apart", "skewed", "few kinds"],
)
def test_many_numbers_however_they_lie(numbers):
    data = np.array(numbers)
    in_order = np.sort(data)
    places = [len(data) // 2, int(0.95 * (len(data) - 1))]
    middle = in_order[(len(data) - 1) // 2 : len(data) // 2 + 1].mean()
    found = extent(np.random.default_rng(7).permutation(data))
    assert found["median"] == middle
    assert in_order[places[1]] <= found["p95"] <= in_order[places[1] + 1]
    assert found["max"] == in_order[-1]
