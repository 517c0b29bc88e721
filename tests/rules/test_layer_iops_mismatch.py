from __future__ import annotations

import pytest

from writers.captures import iostat

RULE = "layer-iops-mismatch"
DISKS = ("sda", "sdb", "sdc", "sdd")
TREE = "NAME TYPE\n" + "".join(f"{disk} disk\n`-md0 raid5\n" for disk in DISKS)
CAP = "io.max:9:0 rbps=max wbps=max riops=max wiops=200\n"


def merging(scale=1.0):
    """8 MB/s that arrive in 4 kB at the top and leave in 400 kB at the disks."""
    top = {"w/s": 2000 * scale, "wkB/s": 8000 * scale}
    disk = {"w/s": 6 * scale, "wkB/s": 2667 * scale, "wrqm/s": 660 * scale, "%wrqm": 99.1}
    return {"md0": top} | dict.fromkeys(DISKS, disk)


def multiplying():
    small = {"r/s": 60.0, "rkB/s": 240.0, "w/s": 60.0, "wkB/s": 240.0}
    return {"md0": {"w/s": 120.0, "wkB/s": 480.0}} | dict.fromkeys(DISKS, small)


def findings(report):
    return [f for f in report.findings if f.rule == RULE]


def test_a_ratio_that_spans_more_than_tenfold_is_told(report_of):
    (finding,) = findings(report_of(iostat([merging()] * 10 + [multiplying()] * 10), TREE, rules=[RULE]))
    assert (finding.severity, finding.devices) == ("info", ("md0",))
    ratios = [item.values["ratio"] for item in finding.evidence if "ratio" in item.values]
    assert min(ratios) == pytest.approx(24 / 2000, rel=0.01)
    assert max(ratios) == pytest.approx(4.0, rel=0.01)
    assert any("merge into others" in item.text for item in finding.evidence)


def test_a_stated_cap_makes_one_ratio_enough(report_of):
    (finding,) = findings(report_of(iostat([multiplying()] * 10), TREE, CAP, rules=[RULE]))
    assert any("200" in item.text for item in finding.evidence)


@pytest.mark.parametrize("sample", [multiplying(), merging(), merging(scale=0.005)])
def test_one_ratio_alone_is_clear(report_of, sample):
    report = report_of(iostat([sample] * 10), TREE, rules=[RULE])
    assert not findings(report)
    assert {o.status for o in report.outcomes} == {"clear"}


def test_other_traffic_on_the_disks_is_left_out(report_of):
    other = {"r/s": 900.0, "rkB/s": 90000.0}
    busy = {"md0": {"w/s": 30.0, "wkB/s": 120.0}} | dict.fromkeys(DISKS, other)
    assert not findings(report_of(iostat([merging()] * 10 + [busy] * 10), TREE, rules=[RULE]))


def test_without_layers_it_asks_for_them(report_of):
    report = report_of(iostat([{"sda": {"r/s": 100.0, "rkB/s": 400.0}}] * 5), rules=[RULE])
    assert [o.missing for o in report.outcomes] == [("topology",)]
