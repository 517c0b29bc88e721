from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iodiag.analysis.load import rate_limits
from iodiag.analysis.load.plateaus import densest, rate_step
from iodiag.table.table import Table


def test_the_list_is_dated_and_whole():
    date, found = rate_limits.published()
    assert date[:2] == "20"
    assert all(cap.value > 0 and cap.name for cap in found)
    assert any(cap.is_link for cap in found)


@pytest.mark.parametrize(
    ("value", "quantity", "expected"),
    [
        (3000, "ios_per_s", True),
        (2940, "ios_per_s", True),
        (2900, "ios_per_s", False),
        (3010, "ios_per_s", True),
        (3040, "ios_per_s", False),
        (111 * 1024, "kb_per_s", True),
        (112.4 * 1024, "kb_per_s", True),
        (114.7 * 1024, "kb_per_s", False),
        (125 * 1024, "kb_per_s", True),
        (115 * 1024, "kb_per_s", False),
        (137, "ios_per_s", False),
        (0, "ios_per_s", False),
    ],
)
def test_near_is_up_to_two_and_a_half_per_cent_below_a_limit_and_not_above_it(value, quantity, expected):
    assert (rate_limits.near(value, quantity) is not None) == expected


@pytest.mark.parametrize(
    ("value", "quantity", "expected"),
    [
        (400, "ios_per_s", 400),
        (1604, "ios_per_s", None),
        (996, "ios_per_s", 1000),
        (250.5 * 1024, "kb_per_s", 250 * 1024),
        (139, "ios_per_s", None),
        (120 * 1e6 / 1024 * 1.002, "kb_per_s", 120 * 1e6 / 1024),
        (120 * 1e6 / 1024 * 1.007, "kb_per_s", None),
        (0, "kb_per_s", None),
    ],
)
def test_round_numbers(value, quantity, expected):
    assert rate_limits.round_number(value, quantity) == expected


@pytest.mark.parametrize(
    ("rate", "quantity", "expected"),
    [
        (400.0, "ios_per_s", (400, "IOPS")),
        (125 * 1024.0, "kb_per_s", (125, "MiB/s")),
        (120 * 1e6 / 1024, "kb_per_s", (120, "MB/s")),
    ],
)
def test_a_round_number_has_the_unit_in_which_it_is_round(rate, quantity, expected):
    assert rate_limits.in_its_unit(rate, quantity) == (pytest.approx(expected[0]), expected[1])


@given(st.floats(0.5, 1e6))
def test_a_round_number_is_near_what_it_rounds(value):
    found = rate_limits.round_number(value, "ios_per_s")
    assert found is None or abs(value / found - 1) <= rate_limits.ROUND


RATES = st.floats(1, 1e5) | st.sampled_from([64.0, 100.0, 100.05, 102.4, 128.0])


@given(st.lists(RATES, min_size=1, max_size=60), st.floats(0.005, 0.1))
@example([100.04, 100.06, 110.57], 0.05)
def test_the_densest_band_holds_most(rates, width):
    data = np.array(rates)
    inside = (np.abs(data / densest(data, width) - 1) <= width * (1 + 1e-9)).sum()
    most = max(((data >= low) & (data < low * (1 + width) / (1 - width))).sum() for low in data)
    assert inside >= most


@given(st.integers(3, 40), st.integers(3, 40), st.floats(1.2, 20))
def test_a_step_is_found_where_it_is(before, after, falls):
    frame = pd.DataFrame({"ios_per_s": [100.0 * falls] * before + [100.0] * after})
    step = rate_step(Table.of(frame), "ios_per_s", 3)
    assert len(step.before) == before
    assert step.ratio("ios_per_s") == pytest.approx(1 / falls)


def test_too_short_a_series_has_no_step():
    assert rate_step(Table.of(pd.DataFrame({"ios_per_s": [2.0, 1.0, 1.0]})), "ios_per_s", 3) is None


def test_of_the_limits_near_the_nearest_is_named_and_of_equal_ones_the_first_listed():
    listed = [cap for cap in rate_limits.published()[1] if cap.quantity == "ios_per_s"]
    for rate in (15_800, 16_000, 16_070, 3_010, 79_000):
        nearest = min(listed, key=lambda cap: max(cap.value / rate, rate / cap.value))
        assert rate_limits.near(rate, "ios_per_s") == nearest
