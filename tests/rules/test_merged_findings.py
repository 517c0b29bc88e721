"""Equal findings of devices that suffer alike are told once."""

from __future__ import annotations

import pytest

from writers.captures import iostat, vmstat
from writers.loads import load

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
    assert "The same holds for " in finding.summary
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
    assert finding.summary.endswith(
        "The stack: dm-3 on sda2 on sda; the same requests pass through each layer."
    )


def test_a_chain_that_only_equal_bytes_show_is_said_to_be_inferred(report_of):
    (finding,) = saturated(report_of(iostat([LAYERS] * 4), "NAME ROTA\nsda 1\n"))
    assert "The stack: dm-3 on sda2 on sda, as equal bytes show;" in finding.summary
    assert any("inferred: in each sample dm-3 moves" in item.text for item in finding.evidence)


def test_two_volumes_of_one_disk_are_no_two_troubles(report_of):
    sample = {"sda": full(rate=220.0), "dm-0": full(rate=100.0), "dm-1": full(rate=120.0)}
    (finding,) = saturated(report_of(iostat([sample] * 4), "NAME ROTA\nsda 1\n"))
    assert (finding.devices[0], set(finding.devices)) == ("sda", set(sample))


def test_the_lowest_full_device_heads_and_its_volumes_come_by_their_share_of_its_load(report_of):
    sample = {"sda": full(50.0, 2000.0), "dm-0": full(280.0, 200.0), "dm-1": full(170.0, 1800.0)}
    (finding,) = saturated(report_of(iostat([sample])))
    assert finding.devices == ("sda", "dm-1", "dm-0")
    assert "sda is saturated" in finding.summary
    assert "The stack: dm-1, dm-0 on sda, as equal bytes show" in finding.summary


def test_a_volume_above_a_disk_that_merges_is_the_same_flow(report_of):
    volume = {"w/s": 135_900, "wkB/s": 543_600, "w_await": 99.6, "aqu-sz": 13_400, "%util": 99.5}
    disk = {"w/s": 1_081, "wkB/s": 552_000, "wrqm/s": 134_830, "w_await": 99, "aqu-sz": 105, "%util": 99.2}
    (finding,) = saturated(report_of(iostat([{"sdb": disk, "dm-2": volume, "dm-3": volume}])))
    assert finding.devices[0] == "sdb"
    assert "The stack: dm-3 on dm-2 on sdb, as equal rates show" in finding.summary
    assert "4 kB" not in finding.summary


@pytest.mark.parametrize(("busy", "heads"), [(66.8, "sdc"), (71.2, "sdc"), (40.0, "sdc")])
def test_of_twins_the_one_that_holds_more_heads_and_no_threshold_leaves_one_out(report_of, busy, heads):
    sample = {
        "sdb": {"w/s": 1100, "wkB/s": 140_000, "w_await": 55, "aqu-sz": 60.5, "%util": busy},
        "sdc": {"w/s": 1400, "wkB/s": 180_000, "w_await": 71, "aqu-sz": 99.4, "%util": 78.4},
    }
    (finding,) = saturated(report_of(iostat([sample])))
    assert finding.devices[0] == heads
    assert ("sdb" in finding.devices) is (busy > 50)


def test_devices_without_a_full_twin_keep_to_the_thresholds(report_of):
    sample = {"sdb": {"w/s": 1100, "wkB/s": 140_000, "w_await": 55, "aqu-sz": 60.5, "%util": 66.8}}
    assert not saturated(report_of(iostat([sample | {"sdc": {"w/s": 1100, "w_await": 0.4, "%util": 60.0}}])))


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


MPATH = {"w/s": 164, "wkB/s": 566_700, "w_await": 846, "aqu-sz": 139, "%util": 100}


@pytest.mark.parametrize(
    ("disk", "heads"),
    [
        ({"w_await": 220, "aqu-sz": 34, "%util": 100}, "sda"),
        ({"w_await": 220, "aqu-sz": 34, "%util": 80}, "dm-0"),
        ({"w_await": 38, "aqu-sz": 6, "%util": 100}, None),
    ],
    ids=["full itself", "idle time below", "answers as one that streams"],
)
def test_what_waits_above_a_full_disk_waits_for_it(report_of, disk, heads):
    sample = {"sda": {"w/s": 156, "wkB/s": 566_700} | disk, "dm-0": MPATH}
    found = saturated(report_of(iostat([sample])))
    assert [finding.devices[0] for finding in found] == ([heads] if heads else [])
    if heads == "sda":
        assert "above it dm-0 takes 846" in found[0].summary
        assert not saturated(report_of(iostat([{"sda": sample["sda"]}])))


def test_a_volume_alone_is_held_against_no_medium_by_its_writes(report_of):
    volume = {"w/s": 135_900, "wkB/s": 543_600, "w_await": 99.6, "aqu-sz": 13_500, "%util": 99.5}
    (finding,) = saturated(report_of(iostat([{"dm-2": volume}])))
    assert not any("network volume" in item.text for item in finding.evidence)


MIRROR = "NAME TYPE\n" + "".join(f"nvme{n}n1 disk\n`-md0 raid10\n" for n in range(4))


def stalled(writes, wait, util=100.0):
    return {
        "r/s": 14,
        "rkB/s": 1800,
        "r_await": 0.7,
        "w/s": writes,
        "wkB/s": 128 * writes,
        "w_await": wait,
        "aqu-sz": writes * wait / 1000,
        "%util": util,
    }


@pytest.mark.parametrize(
    ("last", "is_one"),
    [((16, 780), True), ((16, 260), False), ((0, 0), False)],
    ids=["alike", "apart", "one is well"],
)
def test_members_of_one_array_that_all_stall_are_one_trouble(report_of, last, is_one):
    """Their writes take 0.8 to 1.3 s at 4 to 21/s in the same report, while reads take 0.7 ms."""
    members = [(4, 1290), (21, 1180), (19, 830), last]
    sample = {"md0": {"w/s": 30, "wkB/s": 3840}} | {
        f"nvme{n}n1": stalled(*member) for n, member in enumerate(members)
    }
    found = [f for f in report_of(iostat([sample]), MIRROR).findings if f.rule == "extreme-latency"]
    assert (len(found) == 1) == is_one
    assert ("all members of one array: look at what they share" in found[0].summary) == is_one


def test_a_twin_just_below_the_longest_queue_is_as_full(report_of):
    writes = {"size": 8, "reads": 0.0, "util": 100}
    sample = {"sdb": load(20_000, 6.7, **writes), "sdc": load(20_000, 6.2, **writes)}
    (finding,) = report_of(iostat([sample] * 8), rules=["true-saturation"]).findings
    assert finding.devices == ("sdb", "sdc")


def test_a_twin_of_other_samples_is_named_in_the_first_sentence(report_of):
    full = {"sdb": load(70, 122), "sdc": load(70, 121)}
    report = report_of(iostat([full] * 6 + [full | {"sdc": load(1, 4)}] * 2))
    assert report.headline.startswith("Likely: sdb is saturated")
    assert "the same of sdc" in report.headline


def test_two_readers_that_wait_one_by_one_are_both_seen_to(report_of):
    sample = {"sdb": load(100, 9.4, size=8, util=97), "sdc": load(97, 9.7, size=8, util=97)}
    report = report_of(
        iostat([sample] * 8), vmstat([{"b": 2, "wa": 40}] * 8), rules=["low-concurrency-bound"]
    )
    assert [(f.severity, f.devices) for f in report.findings] == [("warning", ("sdc", "sdb"))]


def test_of_equal_troubles_the_worst_is_told_and_each_device_has_its_command(report_of):
    quick = {f"nvme{n}c{n}n1": load(40_000, 0.5, size=64) for n in (0, 1, 2, 3)}
    slow = {"nvme4c14n1": load(40_000, 80, size=64), "nvme5c15n1": load(40_000, 97, size=64)}
    (finding,) = report_of(iostat([quick | slow] * 8), rules=["slow-member"]).findings
    assert finding.devices == ("nvme5c15n1", "nvme4c14n1")
    assert [text for text in finding.confirm if "smartctl" in text] == [
        "smartctl -x /dev/nvme15",
        "smartctl -x /dev/nvme14",
    ]
