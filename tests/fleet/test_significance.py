"""Tails against exact fractions and published quantiles."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.fleet.across_hosts.significance import at_least, beyond, false_discovery


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(1, 40))
def test_the_hypergeometric_tail_is_the_sum_of_its_terms(count, drawn, marked, total):
    drawn, marked = min(drawn, total), min(marked, total)
    ways = sum(
        math.comb(marked, hits) * math.comb(total - marked, drawn - hits)
        for hits in range(count, min(drawn, marked) + 1)
    )
    exact = Fraction(ways, math.comb(total, drawn))
    assert at_least(count, drawn, marked, total) == pytest.approx(float(exact), rel=1e-9, abs=1e-12)


def test_a_tail_far_out_is_still_a_number():
    assert 0 < at_least(150, 1000, 150, 30_000) < 1e-200


@pytest.mark.parametrize(
    ("z", "freedom", "chance"),
    # two-sided quantiles of Student's t as printed in tables
    [
        (12.706, 1, 0.05),
        (4.303, 2, 0.05),
        (2.776, 4, 0.05),
        (4.604, 4, 0.01),
        (2.262, 9, 0.05),
        (2.228, 10, 0.05),
        (2.66, 60, 0.01),
        (1.96, None, 0.05),
        (3.291, None, 0.001),
    ],
)
def test_chances_of_standing_out_are_those_of_the_tables(z, freedom, chance):
    assert beyond(z, freedom) == pytest.approx(chance, rel=2e-3)
    assert beyond(-z, freedom) == beyond(z, freedom)


def test_nothing_stands_out_at_zero():
    assert beyond(0.0) == beyond(0.0, 5) == 1.0


def test_false_discoveries_are_controlled_as_benjamini_and_hochberg_do():
    # their example of 1995: 15 tests, four are discoveries at 5 %
    printed = (
        "0.0001 0.0004 0.0019 0.0095 0.0201 0.0278 0.0298 0.0344 0.0459 0.3240 0.4262 0.5719 0.6528 0.7590 1"
    )
    p_values = np.array([float(word) for word in printed.split()])
    q_values = false_discovery(p_values)
    assert (q_values <= 0.05).sum() == 4
    assert (np.diff(q_values) >= 0).all()
    assert (q_values >= p_values).all()


def test_what_was_not_tested_counts_for_nothing():
    q_values = false_discovery(np.array([0.01, np.nan, 0.02]))
    assert q_values.tolist() == pytest.approx([0.02, math.nan, 0.02], nan_ok=True)
    assert len(false_discovery(np.array([]))) == 0
