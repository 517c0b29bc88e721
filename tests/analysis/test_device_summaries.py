"""What a device's columns come to, and which samples a chart keeps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from iodiag.analysis.view.device_summaries import _each


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5, np.inf]), min_size=1, max_size=40), st.integers(1, 9))
def test_the_least_and_the_greatest_of_each_stretch_are_the_first_of_them(numbers, width):
    values = np.array(numbers)
    for extreme in (np.argmin, np.argmax):
        assert _each(values, width, extreme).tolist() == [
            at + int(extreme(values[at : at + width])) for at in range(0, len(values), width)
        ]
