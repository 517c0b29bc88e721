from __future__ import annotations

import pytest

from iodiag.analysis.measure.known_counter_bugs import KNOWN, known_bug
from writers.captures import iostat
from writers.loads import load


def on(kernel, row, device="nvme0n1"):
    return iostat([{device: row}] * 10).replace("Linux 6.1.0", f"Linux {kernel}")


def said(report, rule):
    (finding,) = (f for f in report.findings if f.rule == rule)
    return " ".join(e.text for e in finding.evidence), finding.references


@pytest.mark.parametrize(
    ("kernel", "what", "source"),
    [
        ("5.4.0-26-generic", "v5.0 to v6.9 count a whole tick", "99dc422335d8"),
        ("4.18.0-25-generic", "idle multi-queue devices", "atop/issues/47"),
        ("3.10.0-957.10.1.el7.x86_64", "idle multi-queue devices", "atop/issues/47"),
        ("6.17.9-76061709-generic", "from v6.10 on", "2602.3/08753"),
    ],
)
def test_util_of_an_idle_device_is_told_with_its_kernel_s_bug(report_of, kernel, what, source):
    report = report_of(on(kernel, load(250, 0.1, util=63)), rules=["util-sampling-bias"])
    text, references = said(report, "util-sampling-bias")
    assert f"kernel {kernel} is known for it" in text
    assert what in text
    assert source in references[-1]


def test_a_queue_below_rate_times_latency_is_told_with_its_kernel_s_bug(report_of):
    report = report_of(on("5.4.0", load(2000, 0.6, depth=0.1)), rules=["counter-anomaly"])
    text, references = said(report, "counter-anomaly")
    assert "nothing of quicker ones" in text
    assert "158503038812" in references[-1]


@pytest.mark.parametrize("kernel", ["3.10.0-1160.el7.x86_64", "4.15.0-43-generic", "2.6.32-431.el6.x86_64"])
def test_kernels_without_a_known_bug_have_none(report_of, kernel):
    report = report_of(on(kernel, load(250, 0.1, util=63)), rules=["util-sampling-bias"])
    assert "is known for it" not in said(report, "util-sampling-bias")[0]


def test_a_queue_that_a_later_kernel_counts_too_low_has_another_reason(report_of):
    report = report_of(on("6.1.0", load(2000, 0.6, depth=0.1)), rules=["counter-anomaly"])
    assert "is known for it" not in said(report, "counter-anomaly")[0]


@pytest.mark.parametrize("kernel", [bug.first for bug in KNOWN])
def test_a_version_alone_says_nothing(report_of, kernel):
    """The numbers of a sound capture contradict nothing, whatever its kernel is known for."""
    text = on("{}.{}.0".format(*kernel), load(250, 3.0, util=70))
    report = report_of(text, rules=["util-sampling-bias", "counter-anomaly"])
    assert not report.findings


def test_ranges_of_one_fault_do_not_overlap():
    for bug in KNOWN:
        major, minor = bug.first
        assert known_bug(f"{major}.{minor}.0", bug.column, bug.error) is bug
        assert bug.source.startswith("https://")
    assert known_bug(None, "util_pct", "too high") is None


PHANTOM = {"r/s": 2.4, "rkB/s": 96.0, "r_await": 0.4, "w/s": 4.2, "wkB/s": 125.0, "w_await": 3.2}
PHANTOM |= {"aqu-sz": 0.3, "%util": 30.2}


@pytest.mark.parametrize(
    ("kernel", "device", "changes", "is_told"),
    [
        ("4.19.32-1", "nvme0n1", {}, True),
        ("4.15.0-43", "nvme0n1", {}, False),
        ("4.19.32-1", "sda", {}, False),
        ("4.19.32-1", "nvme0n1", {"w/s": 60.0}, False),
        ("4.19.32-1", "nvme0n1", {"w_await": 70.0}, False),
        ("4.19.32-1", "nvme0n1", {"aqu-sz": 1.0, "%util": 100.0}, False),
    ],
    ids=["phantoms", "another kernel", "a disk", "flushes of 5 ms", "its writes wait", "one is stuck"],
)
def test_requests_that_are_not_there_are_neither_in_flight_nor_keep_a_device_busy(
    report_of, kernel, device, changes, is_told
):
    report = report_of(on(kernel, PHANTOM | changes, device))
    told = [f for f in report.findings if f.rule == "util-sampling-bias"]
    assert [f.summary for f in told if "0.0144 requests in flight by rate times latency" in f.summary] == [
        f.summary for f in told
    ]
    assert bool(told) is is_told
    (state,) = report.states
    assert ("1 % busy at the most by rate times latency (%util is printed as 30 %)" in state.text) is is_told


def test_one_sample_with_a_request_that_outlives_it_shows_no_phantoms(report_of):
    rows = [PHANTOM | {"aqu-sz": 0.01, "%util": 8.0}] * 5 + [PHANTOM] * 5
    text = iostat([{"nvme0n1": row} for row in rows]).replace("Linux 6.1.0", "Linux 4.19.32-1")
    assert not any("%util is printed" in state.text for state in report_of(text).states)


STUCK = {"r/s": 40.0, "rkB/s": 640.0, "r_await": 10.0, "w/s": 5.0, "wkB/s": 20.0, "w_await": 4.0}
STUCK |= {"aqu-sz": 1.42, "%util": 100.0}


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [
        ({}, True),
        ({"aqu-sz": 0.42, "%util": 42.0}, False),  # across an edge, it is in one sample
        ({"aqu-sz": 1.9}, False),
        ({"w/s": 45.0, "aqu-sz": 1.58}, False),  # one flush at a time in the queue alone
        ({"f/s": 9.0, "f_await": 110.0}, False),  # the same, counted apart
    ],
)
def test_a_request_in_each_sample_that_never_completes_is_no_busy_share(report_of, changes, is_told):
    report = report_of(iostat([{"sda": row} for row in (STUCK, STUCK | changes)]))
    held = [state for state in report.states if "one more by its counters that never completes" in state.text]
    assert bool(held) is is_told
    assert not any(" busy" in state.text for state in held)
    if is_told:
        assert not any(f.rule == "util-sampling-bias" for f in report.findings)
        assert not any(o.status == "clear" and "% busy" in o.reason for o in report.outcomes)


PLAIN = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsdc 250.00 2000.00 2000.00 2000 2000\n"
CPU = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n 0.84 0.00 0.84 {} 0.00 {}\n\n"
UNAME = "Linux box {} #1 SMP PREEMPT_DYNAMIC Thu, 24 Aug 2023 00:38:14 +0000 x86_64 GNU/Linux\n\n"


@pytest.mark.parametrize(
    ("kernel", "iowait", "is_doubted"),
    [
        ("6.4.12-arch1-1", 35.28, True),
        ("6.1.51", 35.28, True),
        ("6.1.38", 35.28, False),
        ("5.14.0", 35.28, False),
        ("6.8.0-40-generic", 95.28, False),  # no ring alone takes the time of all CPUs
    ],
)
def test_iowait_alone_is_doubted_on_kernels_that_count_rings(report_of, kernel, iowait, is_doubted):
    """The line of uname states the kernel where no banner does."""
    text = UNAME.format(kernel) + CPU.format(iowait, round(98.32 - iowait, 2)) + PLAIN
    report = report_of(text, rules=["blocked-tasks"])
    told, _ = said(report, "blocked-tasks")
    assert (f"kernel {kernel} is known for it" in told) == is_doubted
    assert ("waits for an io_uring" in report.headline) == is_doubted
    assert (report.findings[0].severity == "notice") == is_doubted
