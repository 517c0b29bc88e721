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


def slow(wait, rate=110.0):
    return {"r/s": rate, "rkB/s": 16 * rate, "r_await": wait, "aqu-sz": rate * wait / 1000, "%util": 100.0}


STACKED = "NAME KNAME ROTA TYPE\nsda sda 1 disk\n`-sda2 sda2 1 part\n  `-vg-lv dm-3 1 lvm\n"
LAYERS = {"sda": full(), "sda2": full(), "dm-3": full()}


def test_the_disk_speaks_for_the_stack_on_it_and_the_chain_is_named(report_of):
    (finding,) = saturated(report_of(iostat([LAYERS] * 4), STACKED))
    assert (finding.devices[0], set(finding.devices)) == ("sda", set(LAYERS))
    assert finding.summary.endswith("The stack: dm-3 on sda2 on sda.")


def test_a_chain_that_only_equal_rates_show_is_said_to_be_inferred(report_of):
    (finding,) = saturated(report_of(iostat([LAYERS] * 4), "NAME ROTA\nsda 1\n"))
    assert finding.summary.endswith("The stack: dm-3 on sda2 on sda, as equal rates show.")
    assert any("inferred: in each sample dm-3 moves" in item.text for item in finding.evidence)


def test_two_volumes_of_one_disk_are_no_two_troubles(report_of):
    sample = {"sda": full(rate=220.0), "dm-0": full(rate=100.0), "dm-1": full(rate=120.0)}
    (finding,) = saturated(report_of(iostat([sample] * 4), "NAME ROTA\nsda 1\n"))
    assert (finding.devices[0], set(finding.devices)) == ("sda", set(sample))


def test_the_layer_that_adds_the_latency_speaks_for_itself(report_of):
    sample = {"sda": slow(2500.0, 20.0), "dm-0": slow(19000.0, 20.0)}
    report = report_of(iostat([sample] * 4), rules=["extreme-latency"])
    (finding,) = report.findings
    assert finding.devices == ("dm-0", "sda")


def test_disks_that_stand_still_together_share_a_finding(report_of):
    held = {"aqu-sz": 4.0, "%util": 100.0}
    report = report_of(iostat([{"dm-0": held, "sdb": held, "sda": held}] * 8), rules=["hung-io"])
    (finding,) = report.findings
    assert finding.devices == ("sdb", "sda", "dm-0")


def test_layers_of_one_stack_are_not_alike_but_one(report_of):
    stack = "NAME ROTA TYPE\nsda 1 disk\n`-vg-lv 1 lvm\n"
    report = report_of(iostat([{"sda": full(), "vg-lv": full()}] * 4), stack)
    (finding,) = saturated(report)
    assert "Alike" not in finding.summary
