"""Rate, requests in flight and latency together: load or service."""

from __future__ import annotations

import math

import pytest

from iodiag.analysis.measure.load_or_speed import Mix, shift, sign
from iodiag.model.comparison import Change

UP, SAME, DOWN = 1, 0, -1


@pytest.mark.parametrize(
    ("rate", "depth", "latency", "expected"),
    [
        (UP, UP, SAME, "more_load"),
        (UP, UP, UP, "more_load"),
        (SAME, UP, UP, "slower"),
        (DOWN, SAME, UP, "slower"),
        (DOWN, UP, UP, "capacity_loss"),
        (DOWN, DOWN, SAME, "less_load"),
        (DOWN, DOWN, DOWN, "less_load"),
        (UP, SAME, DOWN, "faster"),
        (SAME, DOWN, DOWN, "faster"),
        (UP, DOWN, DOWN, "faster"),
        (SAME, SAME, SAME, "unchanged"),
        (UP, DOWN, SAME, "mixed"),
        (None, UP, UP, "unknown"),
        (UP, None, SAME, "unknown"),
        (SAME, SAME, None, "unknown"),
    ],
)
def test_the_three_together_tell_load_from_service(rate, depth, latency, expected):
    assert shift(rate, depth, latency, is_workload=False) == expected


def test_another_workload_goes_before_all_else():
    assert shift(UP, SAME, DOWN, is_workload=True) == "workload"


@pytest.mark.parametrize("rate", [UP, SAME, DOWN])
@pytest.mark.parametrize("depth", [UP, SAME, DOWN])
@pytest.mark.parametrize("latency", [UP, SAME, DOWN])
def test_turned_round_a_change_turns_into_its_opposite(rate, depth, latency):
    opposite = {"faster": "slower", "more_load": "less_load", "less_load": "more_load"}
    forth = shift(rate, depth, latency, is_workload=False)
    back = shift(-rate, -depth, -latency, is_workload=False)
    if forth in opposite:
        # doing more with less in flight is the other way round a loss of capacity
        assert back in (opposite[forth], "capacity_loss")


def change(verdict: str, before: float, after: float, detectable: float = 20.0) -> Change:
    return Change(
        "q",
        before,
        after,
        verdict,
        "medium",
        (20, 20),
        ratio=after / before,
        low=1,
        high=1,
        detectable_pct=detectable,
    )


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, None),
        (change("unclear", 1, 5), None),
        (change("unchanged", 1, 1.1), 0),
        (change("unchanged", 1, 1.1, detectable=300.0), None),  # twice as much would not have shown
        (change("minor", 1, 1.1), 0),
        (change("changed", 1, 2, detectable=300.0), 1),
        (change("indicated", 2, 1, detectable=math.nan), -1),
        (change("bunched", 1, 5), 0),
    ],
)
def test_what_the_samples_cannot_show_has_no_sign(found, expected):
    assert sign(found) == expected


@pytest.mark.parametrize(
    ("mix", "direction", "is_like"),
    [
        (Mix(0.95, 0.99), "read", True),
        (Mix(0.0, 0.1), "write", True),
        (Mix(0.5, 0.55), "request", True),
        (Mix(0.9, 0.1), "request", False),
        (Mix(math.nan, math.nan), "request", True),
    ],
)
def test_the_mix_names_the_direction_that_matters(mix, direction, is_like):
    assert (mix.direction, mix.is_like) == (direction, is_like)
