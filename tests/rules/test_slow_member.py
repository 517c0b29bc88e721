from __future__ import annotations

import random

import pytest

from writers.captures import iostat, sar_d

RULE = "slow-member"
DISKS = ("sda", "sdb", "sdc", "sdd")
TREE = "NAME ROTA TYPE\n" + "".join(f"{disk} 1 disk\n`-md0 1 {{level}}\n" for disk in DISKS)
MDSTAT = """\
Personalities : [raid0]
md0 : active raid0 sdd[3] sdc[2] sdb[1] sda[0]
      16760832 blocks 64k chunks

"""


def reads(wait, rate=80.0, size=16.0):
    depth = rate * wait / 1000
    util = 100 * min(1.0, depth)
    return {"r/s": rate, "rkB/s": rate * size, "r_await": wait, "aqu-sz": depth, "%util": util}


def run(waits, parent=60.0, samples=20, noise=0.0, **changes):
    """Samples of md0 and its members, with latencies that vary by `noise` around `waits`."""
    chance = random.Random(1)
    result = []
    for _ in range(samples):
        legs = {
            disk: {**reads(wait * (1 + noise * chance.uniform(-1, 1))), **changes.get(disk, {})}
            for disk, wait in zip(DISKS, waits, strict=True)
        }
        result.append({"md0": reads(parent, 320.0), **legs})
    return result


def findings(report):
    return [f for f in report.findings if f.rule == RULE]


def outcome(report):
    return next(o for o in report.outcomes if o.rule == RULE and o.status != "finding")


def test_one_leg_five_times_slower_at_the_same_load_fires(report_of):
    (finding,) = findings(report_of(iostat(run((12, 12, 60, 13))), TREE.format(level="raid0"), rules=[RULE]))
    assert (finding.severity, finding.devices) == ("warning", ("sdc",))
    assert finding.confidence == "high"
    numbers = {name: value for item in finding.evidence for name, value in item.values.items()}
    assert numbers["ratio"] == pytest.approx(5.0, abs=0.01)
    assert numbers["slowest"] == numbers["samples"] == 20


def test_a_stripe_that_takes_as_long_as_its_slowest_leg_waits_for_it(report_of):
    gated = report_of(iostat(run((12, 18, 60, 13), parent=59.5)), TREE.format(level="raid0"), rules=[RULE])
    (finding,) = findings(gated)
    assert any("with sdc as fast as that one, md0 would take about 18 ms" in e.text for e in finding.evidence)


def test_sar_shows_it_in_its_mixed_latency(report_of):
    leg = {"tps": 160.0, "rkB/s": 320.0, "wkB/s": 320.0, "areq-sz": 4.0, "aqu-sz": 2.0, "await": 12.0}
    sample = {disk: leg for disk in DISKS} | {"sdb": leg | {"await": 60.0, "aqu-sz": 9.6}}
    (finding,) = findings(report_of(sar_d([{"md0": leg, **sample}] * 20), MDSTAT, rules=[RULE]))
    assert finding.devices == ("sdb",)


@pytest.mark.parametrize(
    ("waits", "noise"),
    [((12, 12, 18, 12), 0.0), ((12, 13, 12, 11), 0.6), ((12, 30, 30, 12), 0.1)],
    ids=["half as slow again", "chance", "two fast and two slow"],
)
def test_what_is_no_single_slow_leg_is_clear(report_of, waits, noise):
    report = report_of(iostat(run(waits, noise=noise)), TREE.format(level="raid0"), rules=[RULE])
    assert not findings(report)
    assert outcome(report).status == "clear"


@pytest.mark.parametrize(
    "other",
    [
        {"r/s": 160.0, "rkB/s": 2560.0, "aqu-sz": 9.0},
        {"r/s": 80.0, "rkB/s": 320.0},
    ],
    ids=["twice the load", "smaller requests"],
)
def test_a_leg_with_another_load_is_not_judged(report_of, other):
    capture = iostat(run((12, 12, 60, 12), sdc=other))
    report = report_of(capture, TREE.format(level="raid1"), rules=[RULE])
    assert not findings(report)
    assert outcome(report).status == "undetermined"


def test_a_leg_that_nobody_waits_for_is_not_judged(report_of):
    quiet = [{"md0": reads(2.0, 40), **{d: reads(5.0 if d == "sdc" else 1.0, 10) for d in DISKS}}] * 20
    report = report_of(iostat(quiet), TREE.format(level="raid0"), rules=[RULE])
    assert not findings(report)
    assert "hardly used" in outcome(report).reason


def test_disks_of_equal_rates_are_peers_but_prove_little(report_of):
    disks = [{disk: sample[disk] for disk in DISKS} for sample in run((12, 12, 60, 12))]
    (finding,) = findings(report_of(iostat(disks), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")
    assert any("equal rates suggest it" in e.text and e.weighs == "against" for e in finding.evidence)


def test_a_leg_that_turns_slow_half_way_is_found(report_of):
    capture = iostat(run((12, 12, 12, 12), samples=200) + run((12, 12, 60, 12), samples=100))
    (finding,) = findings(report_of(capture, TREE.format(level="raid0"), rules=[RULE]))
    assert finding.samples == (200, 299)


def test_under_a_resync_alone_it_stays_low(report_of):
    check = {"r/s": 80.0, "rkB/s": 68000.0, "r_await": 20.0, "aqu-sz": 1.6, "%util": 90.0}
    slow = {**check, "r_await": 60.0, "aqu-sz": 4.8, "%util": 99.0}
    sample = {"md0": {}} | dict.fromkeys(DISKS, check) | {"sdd": slow}
    (finding,) = findings(report_of(iostat([sample] * 20), TREE.format(level="raid5"), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")


def test_one_disk_has_no_peers(report_of):
    report = report_of(iostat([{"sda": reads(12)}] * 20), rules=[RULE])
    assert outcome(report).status == "not_applicable"
    assert outcome(report).missing == ("topology",)


def sibling(wait, rate=3.4, size=32.0, way="r", **more):
    depth = rate * wait / 1000
    columns = {f"{way}/s": rate, f"{way}kB/s": rate * size, f"{way}_await": wait}
    return {**columns, "aqu-sz": depth, "%util": min(100.0, 100 * depth), **more}


@pytest.mark.parametrize("samples", [1, 2, 3])
def test_seconds_beside_a_fast_disk_at_a_like_rate_are_told_from_one_sample(report_of, samples):
    sample = {"sda": sibling(3900), "sdb": sibling(6.3, 3.8)}
    (finding,) = findings(report_of(iostat([sample] * samples), rules=[RULE]))
    assert (finding.severity, finding.confidence, finding.devices) == ("warning", "medium", ("sda",))
    assert "3.9 s per request, against 6.3 ms on sdb" in finding.summary
    assert finding.confirm[0] == "smartctl -x /dev/sda"


def test_two_that_stall_together_are_one_finding(report_of):
    sample = {
        "sda": sibling(3900),
        "sdb": sibling(1660, 2.8),
        "sdc": sibling(6.3, 3.8),
        "sdd": sibling(4.5, 4),
    }
    (finding,) = findings(report_of(iostat([sample]), rules=[RULE]))
    assert finding.devices == ("sda", "sdb")
    report = report_of(iostat([sample]))
    assert {f.explained_by for f in report.findings if f.rule == "extreme-latency"} == {RULE}
    assert report.findings[0].rule == RULE


def test_a_disk_that_is_full_with_what_its_siblings_do_beside_is_slow(report_of):
    """Its queue explains its latency, and nothing explains its queue."""
    before = {name: {**sibling(2.6, 590, 10, "w"), "%util": 18.0} for name in ("sda", "sdb", "sdc")}
    slow = {**sibling(623, 49, 14, "w"), "aqu-sz": 30.4, "%util": 99.8}
    calm = {**sibling(1.0, 72, 9, "w"), "%util": 1.5}
    samples = [before, {"sda": calm, "sdb": slow, "sdc": calm}]
    (finding,) = findings(report_of(iostat(samples), rules=[RULE]))
    assert finding.devices == ("sdb",)


def test_equal_rates_need_no_seconds(report_of):
    sample = {"nvme0n1": sibling(107, 54000, 64), "nvme1n1": sibling(0.7, 54500, 64)}
    (finding,) = findings(report_of(iostat([sample]), rules=[RULE]))
    assert finding.devices == ("nvme0n1",)


@pytest.mark.parametrize(
    "pair",
    [
        {"sda": sibling(3900), "sdb": sibling(6.3, 40)},
        {"sda": sibling(3900), "sdb": sibling(600, 3.4)},
        {"sda": sibling(3900, way="w"), "sdb": sibling(6.3)},
        {"sda": sibling(12, 80), "sdb": sibling(0.1, 60)},
        {"sda": sibling(400, 3.4, 1024), "sdb": sibling(6.3, 3.4, 4)},
        {"dm-0": sibling(3900), "sda": sibling(6.3)},
    ],
    ids=[
        "another rate",
        "both slow",
        "other directions",
        "another kind of disk",
        "larger requests",
        "a layer",
    ],
)
def test_what_is_no_slow_sibling(report_of, pair):
    assert not findings(report_of(iostat([pair] * 3), rules=[RULE]))


def test_one_stall_in_many_samples_is_no_slow_sibling(report_of):
    fine = {"sda": sibling(6, 4), "sdb": sibling(6, 4)}
    assert not findings(report_of(iostat([fine] * 60 + [{**fine, "sda": sibling(900, 4)}]), rules=[RULE]))


SOLID = "NAME ROTA TYPE\n" + "".join(f"{disk} 0 disk\n" for disk in DISKS)


@pytest.mark.parametrize(
    ("wait", "context", "is_slow"),
    [(38.0, (SOLID,), True), (15.0, (SOLID,), False), (38.0, (), False)],
    ids=["longer than flash takes", "as flash may take", "unknown class"],
)
def test_flash_that_takes_as_long_as_a_disk_is_slow_beside_its_kind(report_of, wait, context, is_slow):
    fast = {disk: sibling(0.12, 40, size=20) for disk in DISKS[:3]}
    text = iostat([{**fast, "sdd": sibling(wait, 30, size=20)}] * 3)
    assert bool(findings(report_of(text, *context, rules=[RULE]))) == is_slow
