"""Columns as the aggregator sees them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from iodiag.analysis.measure import weighted
from iodiag.analysis.view.make_views import _are_sorted
from iodiag.table.table import Table


def test_samples_have_the_values_of_a_frame_as_floats():
    samples = Table.of(pd.DataFrame({"ios_per_s": [1, 2], "interval_s": [1.0, np.nan]}))
    assert samples.floats("ios_per_s").tolist() == [1.0, 2.0]
    assert np.isnan(samples.floats("absent")).all()
    assert weighted.lengths(samples).tolist() == [1.0, 1.0]
    assert samples.floats("ios_per_s") is samples.floats("ios_per_s")


def test_what_is_unknown_counts_once_or_not_at_all():
    assert weighted.or_zero(np.nan) == 0
    assert weighted.or_zero(2.5) == 2.5
    lengths = Table.of(pd.DataFrame({"interval_s": [5.0, np.nan]}))
    assert weighted.seconds_or_one(lengths).tolist() == [5.0, 1.0]
    assert weighted.seconds_or_one(lengths[:1]).tolist() == [5.0]


def test_what_is_made_from_samples_is_looked_up_anew():
    samples = Table.of(pd.DataFrame({"util": [0.1, 0.2, 0.3]}))
    assert samples.floats("util").sum() == pytest.approx(0.6)
    assert samples.with_columns(util=np.ones(3)).floats("util").sum() == 3
    assert samples[samples["util"] > 0.15].floats("util").tolist() == [0.2, 0.3]


@pytest.mark.parametrize(
    ("first", "second", "are"),
    [
        ([1, 1, 2], [3, 4, 0], True),
        ([1, 1, 2], [4, 3, 0], False),
        ([1, 2, 1], [0, 0, 0], False),
        ([1, 1], [0, 0], True),
        ([], [], True),
    ],
)
def test_order_by_the_first_key_then_the_next(first, second, are):
    assert _are_sorted([np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)]) is are


def test_a_reading_of_a_moment_weighs_the_same_however_long_its_sample():
    samples = Table.of(
        pd.DataFrame(
            {
                "blocked": [2.0, 2.0, 8.0],
                "free_change_pages_per_s": [0.0, 0.0, 6.0],
                "interval_s": [60.0, 60.0, 3600.0],
            }
        )
    )
    assert weighted.mean(samples, "blocked", "queue") == 4.0
    # a rate of the same table is of all the time
    assert weighted.mean(samples, "free_change_pages_per_s", "memory") == pytest.approx(5.806, abs=1e-3)


@pytest.mark.parametrize("column", ["await_ms", "latency_ms", "request_size_kb", "size_kb"])
def test_means_of_requests_are_weighted_by_requests(column):
    samples = Table.of(
        pd.DataFrame({"interval_s": [1.0, 1.0], "ios_per_s": [13.0, 20.0], column: [7.0, 11.0]})
    )
    assert weighted.mean(samples, column) == pytest.approx((13 * 7 + 20 * 11) / 33)
