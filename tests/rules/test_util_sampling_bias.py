from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load

RULE = "util-sampling-bias"


def found(report):
    return [f for f in report.findings if f.rule == RULE]


def test_ticks_make_an_idle_disk_busy(report_of):
    report = report_of(iostat([{"sda": load(250, 0.1, util=63)}] * 10), rules=[RULE])
    (finding,) = found(report)
    assert (finding.severity, finding.confidence) == ("info", "high")
    assert "Worth knowing" not in report.headline, "reading advice is no verdict"


@pytest.mark.parametrize(
    "row",
    [
        load(240, 3.9, util=96),  # timer skew
        load(60, 1),
        {"%util": 100.0},  # busy, and nothing completed: a stall
        load(30, 20, util=180),  # the time of an earlier request
        load(1, 300, util=90),  # a request that outlives its sample
    ],
)
def test_other_gaps_prove_nothing(report_of, row):
    report = report_of(iostat([{"sda": row}] * 10), rules=[RULE])
    assert [o.status for o in report.outcomes] in (["clear"], ["undetermined"])


def test_one_sample_must_be_far_off(report_of):
    calm = [load(60, 1)] * 9
    slightly = iostat([{"sda": r} for r in [*calm, load(250, 1.2, util=40)]])
    assert not found(report_of(slightly, rules=[RULE]))
    assert found(report_of(iostat([{"sda": r} for r in [*calm, load(250, 0.1, util=40)]]), rules=[RULE]))


ONE = {"r/s": 82.6, "rkB/s": 330.4, "r_await": 12.09, "aqu-sz": 0.99, "%util": 99.9}


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [
        ({"%util": 8.4}, True),
        ({"%util": 8.4, "r_await": 12.1, "r/s": 82.5, "rkB/s": 330.0}, True),
        ({"%util": 8.4, "r/s": 41.3, "rkB/s": 165.2, "aqu-sz": 0.5}, False),
        ({"%util": 8.4, "rkB/s": 1321.6}, False),
        ({"%util": 40.0}, False),
        ({"%util": 8.4, "r_await": 120.9, "aqu-sz": 9.99}, False),
    ],
    ids=["the same load", "nearly the same", "half the load", "larger requests", "less than half", "a queue"],
)
def test_the_same_load_with_a_third_of_the_util_was_as_busy(report_of, changes, is_told):
    """Kernels 5.0 to 5.6 miss most of the time of a request: its number in flight tells how long it was."""
    report = report_of(iostat([{"sda": ONE | changes}, {"sda": ONE}]))
    told = found(report)
    assert bool(told) == is_told
    if is_told:
        assert "busy 99 % of the time, 1 of 2 samples" in told[0].summary
        (one,) = (f for f in report.findings if f.rule == "low-concurrency-bound")
        assert "in 2 of 2 samples" in one.summary


@pytest.mark.parametrize(
    ("depths", "util", "is_told"),
    [
        ((0.97, 1.0, 0.99), 8.4, True),
        ((0.97, 1.0), 8.4, False),
        ((0.97, 1.0, 0.6), 8.4, False),
        ((2.9, 3.0, 3.1), 8.4, False),
        ((0.97, 1.0, 0.99), 60.0, False),
    ],
    ids=["one reader", "two samples", "bursts", "three in flight", "much of the time"],
)
def test_one_request_in_flight_in_all_samples_keeps_a_device_busy(report_of, depths, util, is_told):
    rows = [{"r/s": 82.0, "rkB/s": 328.0, "r_await": 1000 * depth / 82, "aqu-sz": depth} for depth in depths]
    report = report_of(iostat([{"sdb": row | {"%util": util}} for row in rows]), rules=[RULE])
    assert bool(report.findings) is is_told
    if is_told:
        assert "in each sample with I/O: it was busy" in report.findings[0].summary


def test_a_queue_printed_without_decimals_is_no_queue_of_zero(report_of):
    head = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz rareq-sz wareq-sz svctm %util\n"
    row = "vda 143 6063 3073 19370 0 0 0 22 3 0 27\n\n"
    text = "Linux 6.18.44 (vm) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n" + (head + row) * 4
    report = report_of(text)
    assert not {"util-sampling-bias", "counter-anomaly"} & {f.rule for f in report.findings}
    assert " 0 in flight" not in report.headline


def test_requests_quicker_than_a_tick_are_counted_in_full(report_of):
    flash = {"r/s": 5000.0, "rkB/s": 40000.0, "r_await": 0.2, "aqu-sz": 1.0, "%util": 25.0}
    assert not report_of(iostat([{"nvme0n1": flash}] * 8), rules=[RULE]).findings


def test_columns_that_the_kernel_does_not_keep_clear_nothing(report_of):
    row = {"w/s": 1500.0, "wkB/s": 7200.0}
    (outcome,) = report_of(iostat([{"md3": row}] * 3), rules=[RULE]).outcomes
    assert (outcome.status, outcome.devices) == ("undetermined", ("md3",))
    assert "latency and busy time are printed as 0" in outcome.reason


@pytest.mark.parametrize(
    ("utils", "step", "is_told"),
    [
        ((9.2, 9.0), 1, True),
        ((9.2, 9.0, 100.0, 100.0), 1, True),
        ((9.2,), 1, False),
        ((100.0, 9.0, 60.0, 9.0), 1, False),
        ((9.2, 9.0), 10, False),
        ((40.0, 35.0), 1, False),
    ],
    ids=[
        "a queue",
        "for a while",
        "one sample",
        "a backlog that ends",
        "ten seconds",
        "as long as it was busy",
    ],
)
def test_a_queue_that_outlasts_the_busy_time_refutes_util(report_of, utils, step, is_told):
    """A device is busy while it holds a request: none can wait for longer than that."""
    slow = load(500, 500, size=8, reads=0)
    report = report_of(iostat([{"sda": slow | {"%util": util}} for util in utils], step=step))
    told = [f for f in report.findings if f.rule == RULE and "take 500 ms each" in f.summary]
    assert bool(told) is is_told
    page = report.to_markdown(full=True)
    assert ("%util is printed as 9 %" in page) is is_told
    if is_told:
        assert "bursts shorter than a sample" not in page
        # a part of the time is busy for sure, and no more is known where %util never tells it
        assert " % busy at the least by how long they wait (%util is printed as 9 %)" in page
        assert any(f.rule == "true-saturation" for f in report.findings) is (max(utils) == 100)
