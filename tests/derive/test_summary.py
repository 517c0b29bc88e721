"""What a device's columns come to, and which samples a chart keeps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from iodiag.derive.summary import _least, extent

NUMBERS = st.floats(0, 1e9) | st.sampled_from([0.0, 0.01, 100.0])


@given(st.lists(NUMBERS, min_size=1, max_size=60))
def test_the_ranks_are_numpy_s_to_the_last_digit(numbers):
    data = np.array(numbers)
    expected = {"median": float(np.median(data)), "p95": float(np.percentile(data, 95)), "max": max(numbers)}
    assert extent(data) == expected


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, np.inf]), min_size=4, max_size=40), st.integers(1, 4))
def test_the_least_of_each_stretch_is_the_first_of_them(numbers, stretches):
    values = np.array(numbers)
    edges = np.linspace(0, len(values), stretches + 1).astype(int)
    stretch = np.repeat(np.arange(stretches), np.diff(edges))
    assert _least(values, edges, stretch).tolist() == [
        a + int(values[a:b].argmin()) for a, b in pairwise(edges)
    ]
