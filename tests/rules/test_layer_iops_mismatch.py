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


def test_equal_bytes_pair_a_layer_with_the_only_disk_that_moves_them(report_of):
    split = {"nvme0n1": {"r/s": 2000.0, "rkB/s": 8000.0}, "dm-3": {"r/s": 62.5, "rkB/s": 8010.0}}
    merged = {"nvme0n1": {"r/s": 300.0, "rkB/s": 76800.0}, "dm-3": {"r/s": 19150.0, "rkB/s": 76600.0}}
    runs = [split] * 2 + [merged] * 2
    (finding,) = findings(report_of(iostat(runs), rules=[RULE]))
    assert finding.devices == ("dm-3",)
    assert "32 on another" in finding.summary
    # of two disks with these bytes either may be the one
    twins = [sample | {"nvme1n1": sample["nvme0n1"]} for sample in runs]
    assert not findings(report_of(iostat(twins), rules=[RULE]))
