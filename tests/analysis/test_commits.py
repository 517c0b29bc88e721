"""Properties of the flush chain: it is the same whether flushes are counted or inferred."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iodiag.rules.causes.serialized_commit.commits import _in_flight
from property_tests import examples
from rules.conftest import analyzed
from writers.captures import iostat, sar_d

RULE = "serialized-commit"
FREE = {"%user": 8.0, "%system": 4.0, "%iowait": 13.0, "%idle": 75.0}
flush_waits = st.floats(5, 300)
occupancies = st.floats(0.7, 1.5)


def of(report):
    return next((f for f in report.findings if f.rule == RULE), None)


def row(wait, occupancy):
    flushes = round(1000 * occupancy / wait, 2)
    writes, write_wait = round(1.4 * flushes, 2), round(0.8 * wait, 2)
    return {
        "w/s": writes,
        "wkB/s": round(6 * writes, 2),
        "w_await": write_wait,
        "f/s": flushes,
        "f_await": round(wait, 2),
        "aqu-sz": round((writes * write_wait + flushes * wait) / 1000, 2),
        "%util": 95.0,
    }


@examples(15)
@given(flush_waits, occupancies)
def test_the_occupancy_is_the_same_counted_and_inferred(wait, occupancy):
    counted = row(wait, occupancy)
    mixed = {
        "tps": counted["w/s"],
        "wkB/s": counted["wkB/s"],
        "areq-sz": 6.0,
        "aqu-sz": counted["aqu-sz"],
        "await": counted["w_await"],
        "%util": 95.0,
    }
    first = of(analyzed(iostat([{"sda": counted}] * 20, FREE), rules=[RULE]))
    second = of(analyzed(sar_d([{"sda": mixed}] * 20), rules=[RULE]))
    seen = [f.evidence[0].values["occupancy"] for f in (first, second)]
    assert seen[0] == pytest.approx(occupancy, rel=0.02)
    # N and the latency are printed with two decimals
    assert seen[1] == pytest.approx(occupancy, abs=0.02 + 0.005 * counted["w/s"] / 1000)


@examples(10)
@given(flush_waits, occupancies, st.integers(1, 3))
def test_idle_devices_change_nothing(wait, occupancy, idle):
    others = {f"sd{chr(98 + n)}": {} for n in range(idle)}
    alone = of(analyzed(iostat([{"sda": row(wait, occupancy)}] * 20, FREE), rules=[RULE]))
    among = of(analyzed(iostat([{**others, "sda": row(wait, occupancy)}] * 20, FREE), rules=[RULE]))
    assert (alone.devices, alone.confidence, alone.summary) == (
        among.devices,
        among.confidence,
        among.summary,
    )


@examples(10)
@given(flush_waits, occupancies)
def test_more_samples_of_the_same_never_weaken_it(wait, occupancy):
    levels = ["low", "medium", "high"]
    found = [of(analyzed(iostat([{"sda": row(wait, occupancy)}] * n, FREE), rules=[RULE])) for n in (16, 40)]
    assert levels.index(found[0].confidence) <= levels.index(found[1].confidence)


def test_where_nothing_is_asked_nothing_is_in_flight():
    rates, waits = np.array([100.0, 0.0, 0.0, np.nan]), np.array([10.0, 7.0, np.nan, 1.0])
    assert _in_flight(rates, waits).tolist() == pytest.approx([1.0, 0.0, 0.0, np.nan], nan_ok=True)
