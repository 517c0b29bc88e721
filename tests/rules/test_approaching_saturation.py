from __future__ import annotations

import pytest

from iodiag.rules import all_rules
from writers.captures import iostat
from writers.loads import load, lsblk

RULE = "approaching-saturation"


def found(report):
    return [f for f in report.findings if f.rule == RULE]


def test_three_times_the_latency_with_growing_throughput(report_of):
    rows = [load(900, 1)] * 20 + [load(4000, 3.7)] * 20
    (finding,) = found(report_of(iostat([{"sda": row} for row in rows]), rules=[RULE]))
    assert finding.severity == "notice"
    numbers = {name: value for item in finding.evidence for name, value in item.values.items()}
    assert numbers["inflation"] == pytest.approx(3.7, rel=0.01)
    assert numbers["gain"] == pytest.approx(100 / 2.7, rel=0.02)


def test_past_the_knee_it_leaves_the_word_to_saturation(report_of):
    rows = [load(900, 1)] * 20 + [load(1600, 2.5)] * 20 + [load(1700, 12)] * 20
    report = report_of(iostat([{"sda": row} for row in rows]))
    assert not found(report)
    assert [f for f in report.findings if f.rule == "true-saturation"]


def test_a_calm_disk_is_clear_and_a_lone_one_open(report_of):
    report = report_of(iostat([{"sda": load(50, 4)}] * 20), lsblk(("sda", True)), rules=[RULE])
    assert [o.status for o in report.outcomes] == ["clear"]
    report = report_of(iostat([{"sda": load(400, 20)}] * 20), rules=[RULE])
    assert [o.status for o in report.outcomes] == ["undetermined"]


def test_a_narrow_report_is_not_applicable(report_of):
    text = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 10.00 40.00 0.00 40 0\n"
    assert [o.status for o in report_of(text, rules=[RULE]).outcomes] == ["not_applicable"]


def test_what_passed_its_limit_points_to_no_finding_that_is_not_there(report_of):
    """Commits one at a time, and one sample of a flood that is told by no finding of its own."""
    calm = {"w/s": 36.0, "wkB/s": 1150.0, "w_await": 27.7, "aqu-sz": 0.99, "%util": 99.4}
    flood = {"w/s": 59.0, "wkB/s": 14_750.0, "w_await": 275.0, "aqu-sz": 16.25, "%util": 99.4}
    report = report_of(iostat([{"sdb": calm}] * 8 + [{"sdb": flood}] + [{"sdb": calm}] * 8, step=30))
    told = {finding.rule for finding in report.findings}
    named = {rule for o in report.outcomes if o.status == "clear" for rule in all_rules() if rule in o.reason}
    assert named <= told
