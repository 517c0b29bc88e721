"""The least length of a report that nothing states, by the digits of its rates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.analysis.measure.weighted import seconds_or_one
from iodiag.analysis.states.service_times import events_per_sample
from iodiag.analysis.view.least_length import with_least_length
from iodiag.table.table import Table
from views import view_of

HEAD = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util\n"


def rows_of(rates, interval=np.nan):
    """A report of so many devices."""
    return Table.of(pd.DataFrame({"writes_per_s": rates, "stream": 0, "report": 0, "interval_s": interval}))


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=12), st.integers(100, 4000))
def test_no_report_is_taken_for_longer_than_it_was(counts, hundredths):
    length = hundredths / 100
    rates = [float(f"{count / length:.2f}") for count in counts]
    found = seconds_or_one(with_least_length(rows_of(rates)))
    assert (found <= length + 1e-9).all()


@pytest.mark.parametrize(
    ("rates", "least"),
    [
        ([44.67, 76.43, 6.7, 35.77, 0.8, 75.0], 30),
        ([0.2, 1.4, 10.4, 643.8], 5),
        ([0.03], 28.58),
        ([12.0, 340.0], 1),
        ([0.0], 1),
    ],
    ids=["thirds and tenths", "fifths", "one in half a minute", "whole numbers", "idle"],
)
def test_rates_that_no_whole_number_of_requests_makes_refute_a_length(rates, least):
    assert seconds_or_one(with_least_length(rows_of(rates))) == pytest.approx(least, abs=0.01)
    assert seconds_or_one(with_least_length(rows_of(rates, 2.0))) == pytest.approx(2)


def test_requests_of_a_report_of_unknown_length_are_counted_by_it():
    rows = "".join(
        f"{name} 0.00 0.00 0.00 {rate} 0.00 {4 * rate:.2f} 8.00 0.00 0.30 0.12 0.08\n"
        for name, rate in (("sda", 6.7), ("sdb", 44.67), ("sdc", 35.77), ("sdd", 0.8), ("sde", 76.43))
    )
    assert events_per_sample(view_of(HEAD + rows).series("sda").samples) == pytest.approx(201)
