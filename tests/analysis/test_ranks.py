"""Rank correlation against pandas' own, over ties and unknown values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.analysis.measure.correlation import spearman

_VALUES = st.one_of(st.just(float("nan")), st.integers(-4, 4).map(float))


@given(st.lists(st.tuples(_VALUES, _VALUES), min_size=1, max_size=30))
def test_it_is_the_correlation_of_ranks(pairs: list[tuple[float, float]]) -> None:
    first, second = (np.array(values) for values in zip(*pairs, strict=True))
    ranks = pd.DataFrame({"first": first, "second": second}).rank()
    expected = ranks["first"].corr(ranks["second"])
    assert spearman(first, second) == pytest.approx(expected, nan_ok=True, abs=1e-9)


def test_it_does_not_see_scales() -> None:
    rising = np.array([1.0, 2.0, 5.0, 9.0])
    assert spearman(rising, np.exp(rising)) == pytest.approx(1.0)
    assert spearman(rising, -(rising**3)) == pytest.approx(-1.0)
    assert np.isnan(spearman(rising, np.ones(4)))
