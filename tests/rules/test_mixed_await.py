from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load

RULE = "mixed-await"
CACHED = {
    "r/s": 100.0,
    "w/s": 100.0,
    "rkB/s": 1600.0,
    "wkB/s": 1600.0,
    "r_await": 32.0,
    "w_await": 0.2,
    "aqu-sz": 3.22,
    "%util": 80.0,
}


def test_fast_writes_hide_slow_reads(report_of):
    (finding,) = report_of(iostat([{"sda": CACHED}] * 5), rules=[RULE]).findings
    assert (finding.severity, finding.confidence) == ("info", "high")
    numbers = finding.evidence[0].values
    assert round(numbers["mean"], 1) == 16.1
    assert round(numbers["apart"]) == 160


def test_sizes_that_differ_alone_are_told_as_sizes(report_of):
    row = {**CACHED, "rkB/s": 10000.0, "r_await": 22.0, "w_await": 17.5, "aqu-sz": 3.95}
    (finding,) = report_of(iostat([{"sda": row}] * 5), rules=[RULE]).findings
    assert "mean request of sda (58 kB) has neither its reads' size (100 kB)" in finding.summary
    assert finding.evidence[0].text.endswith("at 17.50 ms (sizes 6.2x apart): their mean is 58.0 kB")


def test_a_mean_that_hides_no_slow_direction_is_not_told(report_of):
    row = {**CACHED, "r_await": 8.0, "aqu-sz": 0.82}
    report = report_of(iostat([{"sda": row}] * 5), rules=[RULE])
    assert not report.findings
    assert [o.status for o in report.outcomes] == ["undetermined"]


def test_both_alike_or_one_alone_is_clear(report_of):
    for row in (load(200, 5, reads=0.5), load(200, 5), {**CACHED, "r_await": 8.0, "w/s": 5.0, "wkB/s": 80.0}):
        report = report_of(iostat([{"sda": row}] * 5), rules=[RULE])
        assert [o.status for o in report.outcomes] == ["clear"]


def test_where_only_the_mean_is_printed_it_bounds_both(report_of):
    head = "Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await svctm %util\n"
    text = head + "sda 0.00 0.00 100.00 100.00 3200.00 3200.00 32.00 0.82 4.10 4.00 80.00\n"
    report = report_of(text, rules=[RULE])
    assert [o.status for o in report.outcomes] == ["undetermined"]
    assert "reads take at most 8.20 ms" in report.outcomes[0].reason


@pytest.mark.parametrize("is_split", [True, False])
def test_latencies_of_samples_with_one_direction_are_not_those_of_all(report_of, is_split):
    names = "rrqm/s wrqm/s r/s w/s rsec/s wsec/s avgrq-sz avgqu-sz await" + " r_await w_await" * is_split
    head = f"Device: {names} svctm %util\n"

    def row(reads, writes, await_ms, *each):
        depth, size = (reads + writes) * await_ms / 1000, 64.0
        numbers = (0, 0, reads, writes, 64 * reads, 64 * writes, size, depth, await_ms)
        cells = (*numbers, *each * is_split, 2.0, 60.0)
        return head + "sda " + " ".join(f"{cell:.2f}" for cell in cells) + "\n"

    reads, writes = row(100, 0, 4.0, 4.0, 0.0), row(0, 100, 44.0, 0.0, 44.0)
    both = row(260, 64, 51.0, 60.0, 14.4)
    report = report_of("\n".join([reads, writes, both] * 3), rules=[RULE])
    told = " ".join([*(o.reason for o in report.outcomes), *(f.summary for f in report.findings)])
    assert ("only the mean" in told) != is_split


@pytest.mark.parametrize(
    ("writes", "reason"), [(1.0, "are of one direction"), (60.0, "neither direction takes 3 times as long")]
)
def test_a_clear_device_is_told_why(report_of, writes, reason):
    row = {"r/s": 100.0, "rkB/s": 800.0, "r_await": 4.0, "w/s": writes, "wkB/s": 8 * writes, "w_await": 5.0}
    report = report_of(iostat([{"sda": row | {"aqu-sz": 0.5, "%util": 40.0}}] * 5), rules=["mixed-await"])
    assert [o.status for o in report.outcomes] == ["clear"]
    assert reason in report.outcomes[0].reason


@pytest.mark.parametrize("idle", [("r/s",), ("w/s",), ("r/s", "w/s")])
def test_kilobytes_without_requests_fail_no_rule(report_of, idle):
    row = {**CACHED, **dict.fromkeys(idle, 0.0)}
    report = report_of(iostat([{"sda": row}] * 5))
    assert not [outcome for outcome in report.outcomes if outcome.status == "error"]


SAR = """Linux 3.10.0-1160.el7.x86_64 (box)  11/20/2026  _x86_64_  (8 CPU)

10:00:00          DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util
10:10:00       dev8-0    150.00   1300.00   2400.00     24.67      3.60     24.00      2.00     30.00
10:20:00       dev8-0    140.00   1200.00   2300.00     25.00      3.30     23.50      2.00     28.00
10:30:00       dev8-0     20.00      0.00    400.00     20.00      0.40     20.00      2.00      4.00
10:40:00       dev8-0      1.00     20.00      0.00     20.00      0.02     20.00      2.00      0.20
"""


def test_requests_without_a_direction_clear_no_mean(report_of):
    report = report_of(SAR, rules=[RULE])
    assert [(o.status, "without their direction" in o.reason) for o in report.outcomes] == [
        ("undetermined", True)
    ]


def test_samples_that_tell_directions_are_named_beside_those_that_do_not(report_of):
    extended = iostat([{"sda": {**CACHED, "r/s": 80.0, "w/s": 120.0}}] * 3)
    (outcome,) = report_of(SAR.replace("dev8-0", "   sda") + "\n" + extended, rules=[RULE]).outcomes
    assert outcome.status == "undetermined"
    assert "samples count requests without their direction" in outcome.reason
    assert "of the others tell" in outcome.reason


def test_few_reads_that_make_most_of_the_wait_leave_the_mean_to_nobody(report_of):
    """Nineteen in twenty requests are quick writes, and nine tenths of the time waited are of the reads."""
    row = {**CACHED, "r/s": 80.0, "w/s": 1520.0, "r_await": 16.0, "w_await": 0.1, "aqu-sz": 1.43}
    (outcome,) = report_of(iostat([{"sda": row}] * 5), rules=[RULE]).outcomes
    assert (outcome.status, "not their mean" in outcome.reason) == ("undetermined", True)
    row |= {"r_await": 0.2}
    assert [o.status for o in report_of(iostat([{"sda": row}] * 5), rules=[RULE]).outcomes] == ["clear"]


def test_what_a_plain_report_counts_is_no_mean_of_both_directions(report_of):
    plain = "Device: tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 320.00 1600.00 3520.00 1600 3520\n\n"
    text = "$ iostat -d 1\n" + plain * 4 + "$ iostat -x 1\n" + iostat([{"sda": CACHED}] * 5)
    (finding,) = report_of(text, rules=[RULE]).findings
    assert "sda" in finding.devices
