"""Values as numbers by first appearance, as pandas' factorize has them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from iodiag.formats.text.rows.category_codes import factorized


@given(
    st.lists(st.integers(0, 6), max_size=20), st.integers(0, 5000), st.lists(st.integers(0, 6), max_size=20)
)
def test_values_are_numbered_as_they_appear(values, times, others):
    array = np.array([*values, *[3] * times, *others], dtype=np.uint64)
    codes, first = factorized(array)
    expected, distinct = pd.factorize(array)
    assert codes.tolist() == expected.tolist()
    assert array[first].tolist() == distinct.tolist()
    assert first.tolist() == [array.tolist().index(value) for value in distinct.tolist()]
