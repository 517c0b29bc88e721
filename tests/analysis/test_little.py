"""Rate, latency and number in flight of one sentence are those of the same requests (Little's law)."""

from __future__ import annotations

from pathlib import Path

import pytest

import iodiag
from iodiag.analysis.load.queueing import load_levels
from iodiag.analysis.states.state_sentences import sentence_of, text_of
from iodiag.analysis.states.states import states
from iodiag.judging.options import Options
from iodiag.judging.run import prepared
from views import view_of
from writers.captures import iostat

SAMPLES = Path(__file__).parents[2] / "samples"
FILES = sorted(
    path for folder in ("iostat", "sar", "pt-diskstats", "cases") for path in (SAMPLES / folder).rglob("*.*")
)
CAPTURES = [path for path in FILES if path.suffix != ".toml"]


def is_little(rate: float, latency_ms: float, depth: float) -> bool:
    """Within what flushes, rounding and the edges of samples explain."""
    held = rate * latency_ms / 1000
    rounding = 0.01 + (rate + latency_ms) / 1e5
    return not abs(held - depth) > max(held, depth) / 3 + rounding


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: str(path.relative_to(SAMPLES)))
def test_sentences_about_samples_obey_it(path):
    for view in prepared([iodiag.read(path)], Options())[1]:
        for series in view.devices:
            for state in states(series):
                text, values = sentence_of(state, 1)
                if state.latency_ms > 0 and "read_rate" not in values and "own counter" not in text:
                    assert is_little(values["rate"], values["latency"], state.depth), text_of(state, 1)
            if any("own counter" in text_of(state, 1) for state in states(series)):
                continue  # the capture contradicts itself
            for level in (level for kind in load_levels(series) for level in kind):
                _, rate, _, depth, latency = level.direction_load
                assert is_little(rate, latency, depth), (series.name, level.direction, level.direction_load)


FLOOD = {"r/s": 720.0, "rkB/s": 2880.0, "r_await": 1.3, "w/s": 15.0, "wkB/s": 1800.0, "w_await": 10000.0}


@pytest.mark.parametrize("samples", [1, 2, 8])
def test_a_queue_is_told_by_the_direction_that_holds_it(samples):
    view = view_of(iostat([{"sda": FLOOD | {"aqu-sz": 150.9, "%util": 100.0}}] * samples))
    (series,) = view.devices
    level = load_levels(series)[-1][-1]
    assert level.direction == "writes"
    assert level.direction_load[1:] == pytest.approx((15, 120, 150, 10000), rel=0.01)
    text = text_of(states(series)[0], samples)
    assert "15 writes/s of 120.0 kB, 10 s each; 720 reads/s of 4.0 kB, 1.30 ms each; in all" in text


def test_few_large_writes_make_no_large_reads():
    row = {"r/s": 23679.0, "rkB/s": 94716.0, "r_await": 0.57, "w/s": 560.0, "wkB/s": 203280.0, "w_await": 2.4}
    view = view_of(iostat([{"nvme0n1": row | {"aqu-sz": 14.8, "%util": 100.0}}] * 2))
    text = text_of(states(view.devices[0])[0], 2)
    assert "23,679 reads/s of 4.0 kB, 0.57 ms each; 560 writes/s of 363.0 kB, 2.40 ms each" in text


def test_times_that_nobody_counted_are_no_numbers():
    view = view_of(iostat([{"md3": {"w/s": 1500.0, "wkB/s": 7200.0}}] * 3))
    assert (
        text_of(states(view.devices[0])[0], 3)
        == "3 of 3 samples: 1,500 writes/s of 4.8 kB, times not measured"
    )


@pytest.mark.parametrize(
    ("rows", "depth"),
    [
        # rate, latency and the printed queue
        ([(27, 58, 9.0), (47, 323, 7.7)], 7.7),
        ([(191, 1000, 250), (269, 1064, 168), (276, 1650, 200), (461, 671, 200)], 200),
        ([(27, 58, 1.6), (47, 323, 7.7)], 15.2),
        ([(136, 905, 60), (269, 1064, 100), (276, 1650, 159), (461, 671, 100)], 309),
        ([(400, 58, 60), (400, 58, 8)], 23.2),
        ([(47, 323, 7.7)], 7.7),
        ([(47, 323, 4.0)], 15.2),
    ],
    ids=[
        "shifted",
        "longer than samples",
        "too low",
        "too low for long",
        "short waits",
        "one sample",
        "one far too low",
    ],
)
def test_a_queue_whose_waits_shift_between_samples_is_taken_as_printed(rows, depth):
    samples = [
        {"sda": {"w/s": rate, "wkB/s": 64 * rate, "w_await": wait, "aqu-sz": queue, "%util": 97.0}}
        for rate, wait, queue in rows
    ]
    (series,) = view_of(iostat(samples)).devices
    assert series.samples.floats("depth")[-1] == pytest.approx(depth, rel=0.01)


@pytest.mark.parametrize(("counted", "depth"), [((2.2, 0.63), (3.84, 0.88)), ((3.4, 0.63), (3.4, 0.63))])
def test_a_counter_that_loses_requests_is_passed_over_for_all_devices_alike(counted, depth):
    rows = (("nvme0n1", 160, 24, 36.0), ("nvme1n1", 200, 4.4, 17.0))
    sample = {
        name: {"w/s": rate, "wkB/s": 64 * rate, "w_await": wait, "aqu-sz": queue, "%util": util}
        for (name, rate, wait, util), queue in zip(rows, counted, strict=True)
    }
    found = [states(series)[0] for series in view_of(iostat([sample] * 2)).devices]
    assert [state.depth for state in found] == pytest.approx(depth, rel=0.01)
    is_told = ["by rate times latency" in text_of(state, 2) for state in found]
    assert is_told == [depth != counted] * 2
    if depth != counted:
        assert "10.67 in flight while busy by rate times latency (6.11 by its counter)" in text_of(
            found[0], 2
        )
