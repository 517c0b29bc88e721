from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.analysis.measure.parity_costs import Geometry, small_share

LAYOUTS = st.tuples(st.integers(3, 24), st.sampled_from([1, 2])).filter(lambda n: n[0] - n[1] > 1)


@given(LAYOUTS, st.floats(0, 1))
def test_a_mixture_is_told_the_same_by_both_counts(layout, part):
    geometry = Geometry(*layout)
    amplification = geometry.full_stripe * (1 - part) + geometry.small_writes * part
    share = small_share(amplification, part * geometry.small_reads, geometry)
    assert share.by_writes == pytest.approx(part, abs=1e-6)
    assert share.by_reads == pytest.approx(part, abs=1e-6)
    assert share.disagreement == pytest.approx(0, abs=1e-6)


def test_the_numbers_of_a_measured_raid5():
    share = small_share(4585.36 / 2559.05, (6903.70 - 3496.57) / 2559.05, Geometry(4, 1))
    assert share.by_writes == pytest.approx(0.69, abs=0.005)
    assert share.by_reads == pytest.approx(0.67, abs=0.005)


@pytest.mark.parametrize(
    ("geometry", "possible"),
    [(Geometry(2, 1), False), (Geometry(3, 1), True), (Geometry(3, 2), False), (Geometry(4, 0), False)],
)
def test_a_layout_whose_small_writes_read_nothing_is_none(geometry, possible):
    assert geometry.is_possible is possible


@given(st.floats(1, 4), st.floats(0, 4), LAYOUTS)
def test_reads_between_both_ways_of_md_agree(amplification, extra, layout):
    share = small_share(amplification, extra, Geometry(*layout))
    inside = share.by_reads_least <= share.by_writes <= share.by_reads
    assert (share.disagreement == 0) is inside
