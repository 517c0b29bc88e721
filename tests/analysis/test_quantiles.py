"""Medians and percentiles by counting are those of numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from iodiag.analysis.measure import quantiles
from iodiag.analysis.measure.quantiles import extent, median, percentiles
from iodiag.table.table import repeated

NUMBERS = st.lists(
    st.floats(0, 1e9) | st.floats(-1e3, 1e-300) | st.sampled_from([0.0, 0.01, 100.0]), min_size=1, max_size=60
)


MEASURED = quantiles.few


@pytest.fixture(params=[99_999, 3], ids=["sorted", "counted"], autouse=True)
def few(request, monkeypatch):
    """The same has to come out where all numbers are few, and where more than three are many."""
    monkeypatch.setattr(quantiles, "_LEAST", request.param)
    monkeypatch.setattr(quantiles, "few", lambda: request.param)


@given(NUMBERS, st.integers(0, 3), st.sampled_from([0.0, 10.0, 50.0, 90.0, 95.0, 100.0]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_they_are_numpy_s_of_the_known_numbers(numbers, unknown, rank):
    data = np.array(numbers + [np.nan] * unknown)
    assert median(data) == np.nanmedian(data)
    assert percentiles(data, rank) == (np.nanpercentile(data, rank),)
    expected = {"median": np.nanmedian(data), "p95": np.nanpercentile(data, 95), "max": max(numbers)}
    assert extent(data) == expected


def test_of_nothing_known_they_are_unknown():
    for data in (np.empty(0), np.full(3, np.nan)):
        assert np.isnan([median(data), *percentiles(data, 10, 90)]).all()
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
    ids=["tiny", "endless", "huge", "one apart", "all in one bin", "skewed", "few kinds"],
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


@pytest.mark.parametrize(("sorting_s", "few"), [(1e-4, 2048), (2e-5, 32768)])
def test_a_processor_that_sorts_slowly_counts(monkeypatch, sorting_s, few):
    taken = iter([sorting_s, 1e-5])
    monkeypatch.setattr(quantiles, "_least_s", lambda work: work() is None or next(taken))
    monkeypatch.setattr(quantiles, "_LEAST", 2048)
    assert MEASURED.__wrapped__() == few
