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
