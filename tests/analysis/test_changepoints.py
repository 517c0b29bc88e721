"""When load or speed changed, and which of the two."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from iodiag.analysis.measure.changepoints import changepoints, onset, partition, split
from iodiag.analysis.view.request_columns import enrich
from iodiag.analysis.view.view import DeviceSeries
from iodiag.model.topology import DeviceTopology
from iodiag.table.table import Table

Phase = tuple[int, float, float, float]
"""Samples, requests per second, milliseconds and kB per request."""

BASE: Phase = (40, 200.0, 5.0, 16.0)


def series(*phases: Phase, noise: float = 0.05, step: float = 5.0, seed: int = 1) -> DeviceSeries:
    rng = np.random.default_rng(seed)
    rate, wait, size = (
        np.concatenate([np.full(phase[0], phase[column]) for phase in phases]) for column in (1, 2, 3)
    )
    rate, wait = rate * rng.lognormal(0, noise, len(rate)), wait * rng.lognormal(0, noise, len(wait))
    count = len(rate)
    frame = pd.DataFrame(
        {
            "source": "a",
            "line": np.arange(count) + 1,
            "host": "box",
            "device": "sda",
            "time": pd.Timestamp("2026-03-02 13:00:00") + pd.to_timedelta(np.arange(count) * step, unit="s"),
            "interval_s": step,
            "reads_per_s": rate,
            "writes_per_s": 0.0,
            "read_kb_per_s": rate * size,
            "write_kb_per_s": 0.0,
            "read_await_ms": wait,
            "write_await_ms": 0.0,
            "queue_depth": rate * wait / 1000,
            "util_pct": np.minimum(99.0, rate * wait / 20),
        }
    )
    samples = enrich(Table.of(frame)).with_columns(stream=np.zeros(count, int), sample=np.arange(count))
    return DeviceSeries("sda", samples, None, DeviceTopology())


@pytest.mark.parametrize(
    ("after", "kind"),
    [
        ((40, 600.0, 5.0, 16.0), "more_load"),
        ((40, 600.0, 9.0, 16.0), "more_load"),
        ((40, 200.0, 20.0, 16.0), "slower"),
        ((40, 100.0, 20.0, 16.0), "capacity_loss"),
        ((40, 60.0, 5.0, 16.0), "less_load"),
        ((40, 800.0, 1.25, 16.0), "faster"),
        ((40, 200.0, 5.0, 64.0), "workload"),
    ],
)
def test_a_change_is_found_to_the_sample_and_told_by_what_moved_together(after, kind):
    (change,) = changepoints(series(BASE, after))
    assert (change.at, change.kind) == (40, kind)
    assert change.before["rate"] == pytest.approx(200, rel=0.05)
    assert change.after["latency"] == pytest.approx(after[2], rel=0.05)


@pytest.mark.parametrize(
    ("phases", "noise"),
    [
        ([BASE], 0.05),
        ([BASE, (40, 215.0, 5.3, 16.0)], 0.02),
        ([BASE, (40, 400.0, 5.0, 16.0)], 0.6),
        ([BASE, (2, 2000.0, 50.0, 16.0), BASE], 0.05),
        ([(4, 200.0, 5.0, 16.0)], 0.05),
    ],
    ids=["nothing", "less than a fifth", "drowned in noise", "a spike", "too short"],
)
def test_what_does_not_count_is_no_change(phases, noise):
    assert changepoints(series(*phases, noise=noise)) == ()


def test_there_and_back_are_two_changes():
    found = changepoints(series(BASE, (20, 200.0, 20.0, 16.0), BASE))
    assert [(change.at, change.kind) for change in found] == [(40, "slower"), (60, "faster")]


@pytest.mark.parametrize("at", [700, 2000, 2611])
def test_a_long_series_is_cut_to_the_sample_too(at):
    (change,) = changepoints(series((at, 200.0, 5.0, 16.0), (3000 - at, 200.0, 15.0, 16.0)))
    assert abs(change.at - at) <= 1


def test_noise_alone_is_not_cut():
    rng = np.random.default_rng(7)
    cuts = [len(partition(rng.normal(0, 1, (3, 250)), 6)) for _ in range(20)]
    assert sum(cuts) == 0


def test_segments_keep_their_least_length():
    steps = np.repeat([0.0, 9.0, 0.0, 9.0], [30, 4, 4, 30])
    cuts = [0, *partition(np.array([steps, steps]), 8), len(steps)]
    assert min(np.diff(cuts)) >= 8


@pytest.mark.parametrize("least", [1, 3, 6])
def test_the_one_best_split_is_that_of_least_squares(least):
    rng = np.random.default_rng(least)
    for _ in range(20):
        data = rng.normal(0, 1, 15) + np.where(np.arange(15) < rng.integers(0, 15), 0, 2)
        left = {p: data[:p].var() * p + data[p:].var() * (15 - p) for p in range(least, 16 - least)}
        assert split(data, least) == min(left, key=left.__getitem__)


class TestOnset:
    def test_it_says_when_and_what_with_the_lines_around(self):
        device = series(BASE, (40, 600.0, 5.0, 16.0))
        (said,) = onset(device, 40)
        assert said.weighs == "context"
        assert said.text.startswith("it began at 13:03:20: sda was given more work: ")
        numbers = dict(said.values)
        assert (numbers["rate_before"], numbers["rate_after"]) == pytest.approx((200, 600), rel=0.05)
        assert said.lines == tuple(range(36, 46))

    def test_a_full_device_looks_like_a_slower_one_and_the_sentence_says_so(self):
        (said,) = onset(series(BASE, (40, 200.0, 20.0, 16.0)), 41)
        assert "or it was full and got more requests at once" in said.text

    @pytest.mark.parametrize("first", [0, 30, 50])
    def test_what_began_elsewhere_is_not_told(self, first):
        assert not list(onset(series(BASE, (40, 600.0, 5.0, 16.0)), first))
