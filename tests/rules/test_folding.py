"""Equal findings of devices that suffer alike are told once."""

from __future__ import annotations

import pytest

from writers.captures import iostat

HDD = "NAME ROTA TYPE\n" + "".join(f"sd{letter} 1 disk\n" for letter in "abcd")


def full(wait=80.0, rate=110.0):
    return {"r/s": rate, "rkB/s": 16 * rate, "r_await": wait, "aqu-sz": rate * wait / 1000, "%util": 100.0}


def saturated(report):
    return [f for f in report.findings if f.rule == "true-saturation"]


def test_disks_that_are_full_alike_share_a_finding_and_are_all_named(report_of):
    sample = {"sda": full(), "sdb": full(85.0), "sdc": full(90.0, 105.0)}
    report = report_of(iostat([sample] * 4), HDD)
    (finding,) = saturated(report)
    assert sorted(finding.devices) == ["sda", "sdb", "sdc"]
    assert "Alike: " in finding.summary
    cited = {str(e.values.get("device")) for e in finding.evidence}
    assert {"sda", "sdb", "sdc"} <= cited
    (outcome,) = [o for o in report.outcomes if o.rule == "true-saturation" and o.status == "finding"]
    assert sorted(outcome.devices) == ["sda", "sdb", "sdc"]


@pytest.mark.parametrize("other", [full(200.0), full(80.0, 400.0)], ids=["slower", "much more to do"])
def test_what_is_full_in_another_way_keeps_its_own(report_of, other):
    report = report_of(iostat([{"sda": full(), "sdb": other}] * 4), HDD)
    assert all("Alike" not in finding.summary for finding in saturated(report))


def test_layers_of_one_stack_are_not_alike_but_one(report_of):
    stack = "NAME ROTA TYPE\nsda 1 disk\n`-vg-lv 1 lvm\n"
    report = report_of(iostat([{"sda": full(), "vg-lv": full()}] * 4), stack)
    (finding,) = saturated(report)
    assert "Alike" not in finding.summary
