from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.analysis.host.cpu import cpu_shares, run_queue_bursts
from iodiag.analysis.view.view import View
from iodiag.model.topology import DeviceTopology
from iodiag.table.table import Table


def view(counts, cpus=None):
    queue = Table.of(pd.DataFrame({"run_queue": [float(c) for c in counts], "interval_s": 1.0}))
    return View(None, {"queue": queue}, DeviceTopology(), cpus=cpus)


@given(st.lists(st.integers(0, 60), min_size=8, max_size=60), st.sampled_from([None, 1, 2, 8]))
def test_shares_of_run_queue_bursts_are_shares(counts, cpus):
    found = run_queue_bursts(view(counts, cpus))
    if not any(counts):
        assert found is None
        return
    assert 0 <= found.empty + found.crowded <= 100 + 1e-9
    assert found.dispersion >= 0


def test_the_article_of_the_commit_stall():
    found = run_queue_bursts(view([0, 15, 0, 17, 0, 23, 49, 10, 0, 0]))
    assert (found.empty, found.crowded, found.crowd) == (50, 50, 8)
    assert found.dispersion == pytest.approx(19.7, abs=0.05)


def test_seven_samples_are_no_pattern():
    assert run_queue_bursts(view([0, 20] * 3 + [0])) is None


@given(st.floats(0, 100), st.floats(0, 100))
def test_the_ceiling_is_never_below_what_iowait_promises(idle, iowait):
    if idle + iowait > 100:
        return
    rows = pd.DataFrame(
        {"idle_pct": [idle], "iowait_pct": [iowait], "user_pct": [100 - idle - iowait], "interval_s": [1.0]}
    )
    shares = cpu_shares(Table.of(rows))
    assert shares.ceiling >= shares.without_iowait - 1e-9
    assert shares.steal == 0


def test_rows_without_iowait_tell_nothing():
    assert cpu_shares(Table.of(pd.DataFrame({"idle_pct": [9.0], "interval_s": [1.0]}))) is None
    assert cpu_shares(None) is None
