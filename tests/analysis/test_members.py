"""What an array and its legs moved over some samples."""

from __future__ import annotations

import numpy as np
import pytest

from iodiag.analysis.array.members import array_traffic
from iodiag.table.table import Table


@pytest.mark.parametrize(("seconds", "requests"), [(0.25, 150), (1.0, 600), (10.0, 6000), (np.nan, 600)])
def test_requests_are_counted_in_the_time_that_a_sample_took(seconds, requests):
    rates = {"ios_per_s": 70.0, "legs_ios_per_s": 80.0}
    others = dict.fromkeys(("read_kb_per_s", "write_kb_per_s", "paged_write_kb_per_s"), 0.0)
    others |= dict.fromkeys(("legs_read_kb_per_s", "legs_write_kb_per_s", "excess_read_kb_per_s"), 0.0)
    columns = {name: np.full(4, value) for name, value in (rates | others | {"interval_s": seconds}).items()}
    assert array_traffic(Table.of_columns(columns, 4)).requests == requests
