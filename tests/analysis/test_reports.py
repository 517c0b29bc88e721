"""Sums over devices, report by report, against pandas' groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from iodiag.analysis.array.side_by_side import first_row_per_report, report_keys, total_of
from iodiag.analysis.load.baselines import days_of
from iodiag.analysis.view.view import DeviceSeries
from iodiag.model.topology import DeviceTopology
from iodiag.table.table import Table

_VALUES = st.one_of(st.just(float("nan")), st.floats(0, 1e6, allow_subnormal=False))
_ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6), _VALUES), min_size=1, max_size=12)


def series_of(rows: list[tuple[int, int, float]]) -> DeviceSeries:
    frame = pd.DataFrame(rows, columns=["stream", "report", "kb_per_s"])
    frame = frame.sort_values(["stream", "report"], kind="stable", ignore_index=True)
    return DeviceSeries("sda", Table.of(frame), None, DeviceTopology())


@given(st.lists(_ROWS, min_size=1, max_size=4))
def test_a_total_is_the_sum_of_each_reports_first_samples(devices):
    series = [series_of(rows) for rows in devices]
    keys = ["stream", "report"]
    firsts = pd.concat([one.frame.drop_duplicates(keys) for one in series])
    expected = firsts.groupby(keys)["kb_per_s"].sum(min_count=1)
    reports = np.array([stream * 10_000_000 + report for stream, report in expected.index])
    parts = [first_row_per_report(one) for one in series]
    assert all((np.diff(report_keys(part)) > 0).all() for part in parts)
    np.testing.assert_array_equal(total_of(parts, "kb_per_s", reports), expected.to_numpy())


def test_days_of_one_clock_are_counted_once():
    def samples(start: str, count: int, zone: str | None = None) -> Table:
        times = pd.date_range(start, periods=count, freq="h", tz=zone)
        return Table.of(pd.DataFrame({"time": times, "interval_s": 3600.0}))

    # the sample at midnight is of the hour before
    assert days_of([samples("2026-03-02 01:00", 24)]) == 1
    assert days_of([samples("2026-03-02 01:00", 25)] * 2) == 2
    assert days_of([samples("2026-03-02 01:00", 24), samples("2026-03-04 01:00", 24)]) == 2
    assert days_of([samples("2026-03-02 01:00", 24, "Europe/Berlin")]) == 1
    unknown = Table.of(pd.DataFrame({"time": pd.to_datetime([None, None]), "interval_s": np.nan}))
    assert days_of([unknown]) == 0
