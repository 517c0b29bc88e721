"""Medians and percentiles by sorting are those of numpy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from iodiag.derive.quantiles import extent, median, percentiles
from iodiag.model.samples import repeated

NUMBERS = st.lists(st.floats(0, 1e9) | st.sampled_from([0.0, 0.01, 100.0]), min_size=1, max_size=60)


@given(NUMBERS, st.integers(0, 3), st.sampled_from([0.0, 10.0, 50.0, 90.0, 95.0, 100.0]))
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
