"""How the work of all rules grows with the number of devices: in calls of functions, whatever the machine."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from rules.conftest import analyzed
from writers.captures import iostat


def calls(devices: int, latency_ms: float, util: float) -> int:
    """The Python functions that are called to judge so many devices, each with a rate of its own."""
    rates = {f"sd{chr(97 + n // 26)}{chr(97 + n % 26)}": 100.0 + 3 * n for n in range(devices)}
    text = iostat(
        [
            {
                name: {
                    "r/s": rate,
                    "rkB/s": 8 * rate,
                    "r_await": latency_ms,
                    "aqu-sz": rate * latency_ms / 1000,
                    "%util": util,
                }
                for name, rate in rates.items()
            }
            for _ in range(4)
        ]
    )
    count = 0

    def counted(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    analyzed(text)
    sys.setprofile(counted)
    try:
        analyzed(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    ("latency_ms", "util"),
    [
        pytest.param(0.3, 99.9, id="busy and quick", marks=pytest.mark.slow),
        pytest.param(30.0, 99.9, id="full"),
        pytest.param(0.3, 20.0, id="calm", marks=pytest.mark.slow),
    ],
)
def test_four_times_the_devices_are_four_times_the_work(latency_ms: float, util: float):
    assert calls(160, latency_ms, util) < 1.15 * 4 * calls(40, latency_ms, util)
