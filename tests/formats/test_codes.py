"""Values as numbers by first appearance, as pandas' factorize has them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.formats.text.rows import runs as _codes
from iodiag.formats.text.rows.runs import factorized


@given(st.lists(st.integers(0, 6), max_size=40), st.sampled_from([1, 4, 4096]))
def test_values_are_numbered_as_they_appear(values, few):
    array = np.array(values, dtype=np.uint64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_codes, "_FEW", few)
        codes, first = factorized(array)
    expected, distinct = pd.factorize(array)
    assert codes.tolist() == expected.tolist()
    assert array[first].tolist() == distinct.tolist()
    assert first.tolist() == [values.index(value) for value in distinct.tolist()]
