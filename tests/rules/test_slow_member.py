from __future__ import annotations

import random
import re

import pytest

from writers.captures import iostat, sar_d, vmstat
from writers.loads import lsblk

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
    disks = [{disk: sample[disk] for disk in DISKS} for sample in run((12, 25, 60, 12))]
    (finding,) = findings(report_of(iostat(disks), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")
    assert any("equal rates suggest it" in e.text and e.weighs == "against" for e in finding.evidence)


def test_disks_that_were_captured_one_after_another_are_no_peers(report_of):
    disks = [{disk: sample[disk]} for disk in DISKS for sample in run((12, 25, 60, 12))]
    assert not findings(report_of(iostat(disks), rules=[RULE]))


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


@pytest.mark.parametrize(("read", "confidence"), [(300.0, "high"), (6000.0, "low")])
def test_a_resync_that_is_little_of_the_load_is_no_reason_for_a_slow_leg(report_of, read, confidence):
    """kB/s that each member reads beside what the array asks for."""
    changes = {disk: {"rkB/s": 1280.0 + read, "r/s": 80.0 + read / 64} for disk in DISKS}
    capture = iostat(run((12, 12, 60, 13), **changes))
    (finding,) = findings(report_of(capture, TREE.format(level="raid0"), rules=[RULE]))
    assert finding.confidence == confidence


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
    assert (finding.severity, finding.confidence, finding.devices) == ("critical", "high", ("sda",))
    assert "3.9 s per request against 6.3 ms on sdb" in finding.summary
    assert finding.confirm[0] == "smartctl -x /dev/sda"


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ((2.0, 5.0, 1.0), "against 2.92 ms (1 ms to 5 ms) on sdb, sdc, sdd"),
        ((2.0, 2.2, 2.1), "against 2.11 ms on sdb, sdc, sdd"),
    ],
    ids=["apart", "alike"],
)
def test_rate_size_and_latency_of_several_fast_disks_are_means_of_the_same_requests(report_of, others, told):
    rates = (40.0, 50.0, 35.0)
    fast = {f"sd{x}": sibling(ms, rate, 4) for x, ms, rate in zip("bcd", others, rates, strict=True)}
    (finding,) = findings(report_of(iostat([{"sda": sibling(400, 36, 4), **fast}]), rules=[RULE]))
    assert told in finding.summary
    mean = sum(ms * rate for ms, rate in zip(others, rates, strict=True)) / sum(rates)
    assert f"{400 / mean:.0f} times as long" in finding.summary


@pytest.mark.parametrize(
    ("way", "samples", "more", "severity"),
    [
        ("w", 1, {}, "notice"),
        ("w", 3, {}, "warning"),
        ("r", 1, {}, "warning"),
        ("w", 1, {"%util": 90.0}, "warning"),
        ("w", 1, {"f/s": 9.0, "f_await": 20.0}, "warning"),
    ],
    ids=["buffered writes, once", "three times", "reads", "no idle time", "flushes"],
)
def test_late_writes_of_one_sample_on_a_disk_with_idle_time_are_a_note(
    report_of, way, samples, more, severity
):
    slow = sibling(30, 165, 64, way) | {"%util": 36.0} | more
    sample = {"nvme1n1": slow, "nvme0n1": sibling(2.0, 170, 64, way) | {"%util": 17.0}}
    (finding,) = findings(report_of(iostat([sample] * samples), rules=[RULE]))
    assert finding.severity == severity
    assert ("Take more samples" in finding.remedy[0]) == (samples == 1)
    assert (finding.confirm[0] == "iostat -xt 1 30") == (samples == 1)


@pytest.mark.parametrize(
    ("cpu", "context", "severity"),
    [
        ({"%user": 5.0, "%iowait": 1.0, "%idle": 94.0}, (), "notice"),
        ({"%user": 5.0, "%iowait": 45.0, "%idle": 50.0}, (), "warning"),
        (None, (vmstat([{"b": 14}]),), "warning"),
        (None, (vmstat([{"b": 0}]),), "notice"),
    ],
    ids=["nobody waits", "iowait", "blocked tasks", "no task is blocked"],
)
def test_late_writes_of_one_sample_are_no_note_where_somebody_waits(report_of, cpu, context, severity):
    sample = {"nvme1n1": sibling(30, 165, 64, "w") | {"%util": 36.0}}
    sample["nvme0n1"] = sibling(2.0, 170, 64, "w") | {"%util": 17.0}
    (finding,) = findings(report_of(iostat([sample], cpu), *context, rules=[RULE]))
    assert finding.severity == severity


@pytest.mark.parametrize(("name", "is_told"), [("sd", True), ("nvme", False)])
def test_what_has_no_heads_gets_no_advice_about_them(report_of, name, is_told):
    names = ("sda", "sdb") if name == "sd" else ("nvme0n1", "nvme1n1")
    rows = dict(zip(names, (sibling(3900), sibling(6.3, 3.8)), strict=True))
    (finding,) = findings(report_of(iostat([rows] * 3), rules=[RULE]))
    assert any("heads" in text for text in finding.remedy) == is_told
    assert any("ata[0-9]" in text for text in finding.confirm) == is_told


def set_of_four(wait=420.0, busy=99.8, calm=2.0, rate=45.0, size=14.0):
    """Disks that are written alike; sdc takes long and is busy for as much of the time."""
    quick = {**sibling(1.4, 48.0, size * rate / 48.0, "w"), "%util": calm}
    return {name: quick for name in DISKS} | {"sdc": {**sibling(wait, rate, size, "w"), "%util": busy}}


WAITED = {"%user": 2.0, "%iowait": 55.0, "%idle": 43.0}
UNSEEN = {"%user": 1.0, "%iowait": 0.0, "%idle": 99.0}


@pytest.mark.parametrize(
    ("changes", "cpu", "told"),
    [
        ({}, WAITED, ("critical", "high")),
        ({}, UNSEEN, ("warning", "high")),
        ({"size": 11.0}, WAITED, ("critical", "high")),
        ({"calm": 30.0}, WAITED, ("warning", "medium")),
        ({"busy": 80.0}, WAITED, ("warning", "medium")),
        ({"wait": 25.0, "busy": 99.0}, WAITED, ("warning", "medium")),
    ],
    ids=["waited for", "nobody seen", "smaller ones", "others busy", "idle time", "not 20 times as slow"],
)
def test_one_that_holds_a_set_at_a_tenth_of_its_rate_is_sure_and_stops_who_waits(
    report_of, changes, cpu, told
):
    """As many bytes on all four make them a set, whose other disks have nothing to do meanwhile."""
    (finding,) = findings(report_of(iostat([set_of_four(**changes)], cpu), rules=[RULE]))
    assert (finding.severity, finding.confidence, finding.devices) == (*told, ("sdc",))
    assert not any("heads" in text for text in finding.remedy)


def test_other_bytes_on_one_of_them_leave_it_likely(report_of):
    sample = set_of_four() | {"sdd": {**sibling(1.4, 48.0, 20.0, "w"), "%util": 2.0}}
    (finding,) = findings(report_of(iostat([sample], WAITED), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("warning", "medium")


def test_a_stated_member_that_holds_its_set_is_as_grave(report_of):
    samples = [{"md0": reads(60, 320.0)} | set_of_four()] * 5
    (finding,) = findings(report_of(iostat(samples, WAITED), MDSTAT, rules=[RULE]))
    assert (finding.severity, finding.devices) == ("critical", ("sdc",))


@pytest.mark.parametrize(("busy", "lasts"), [(95.0, True), (40.0, False)])
def test_an_average_since_boot_tells_that_it_lasts(report_of, busy, lasts):
    text = iostat([set_of_four()], UNSEEN)
    text = re.sub(r"(sdc .* )0\.00\n", rf"\g<1>{busy:.2f}\n", text, count=1)  # of its report since boot
    (finding,) = findings(report_of(text, rules=[RULE]))
    assert ("since boot sdc was 95 % busy as well" in finding.summary) == lasts
    assert ("Take more samples" in finding.remedy[0]) != lasts


def test_flash_on_pcie_is_compared_in_wear_and_has_no_cable(report_of):
    sample = {"nvme1n1": sibling(30, 165, 64, "r"), "nvme0n1": sibling(2.0, 170, 64, "r")}
    (finding,) = findings(report_of(iostat([sample] * 3), rules=[RULE]))
    text = " ".join(finding.remedy)
    assert "firmware" in text
    assert "cable" not in text


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


def test_slow_disks_are_told_against_exactly_the_disks_that_are_named(report_of):
    """The slowest is slow beside the second, too, which is no measure of how long others take."""
    sample = {"sda": sibling(39000), "sdb": sibling(1660, 2.8)}
    sample |= {"sdc": sibling(6.3, 3.8), "sdd": sibling(4.5, 4)}
    (finding,) = findings(report_of(iostat([sample]), rules=[RULE]))
    assert finding.devices == ("sda", "sdb")
    assert "against 5.38 ms (4.50 ms to 6.30 ms) on sdc, sdd at a similar rate" in finding.summary
    mean = (3.8 * 6.3 + 4 * 4.5) / 7.8
    (other,) = (item for item in finding.evidence if "as well" in item.text)
    assert other.values["ratio"] == pytest.approx(1660 / mean)


def batch(wait, rate=12.0):
    """Buffered writes that come in batches: a long line for a short while."""
    row = {"w/s": rate, "wkB/s": rate * 430, "w_await": wait}
    return {**row, "aqu-sz": rate * wait / 1000, "%util": 0.7 * rate}


@pytest.mark.parametrize(
    ("waits", "told"),
    [
        ((60, 70, 74, 90, 130, 180, 240), ()),
        ((60, 70, 74, 75, 78, 80, 600), ("sdg",)),
        ((60, 70, 74, 75, 78, 580, 600), ("sdg", "sdf")),
        ((60, 600), ("sdb",)),
    ],
    ids=["a spread", "one of seven", "two of seven", "a mirror"],
)
def test_the_end_of_a_spread_of_like_disks_is_no_slow_disk(report_of, waits, told):
    sample = {f"sd{letter}": batch(wait) for letter, wait in zip("abcdefg", waits, strict=False)}
    found = findings(report_of(iostat([sample]), rules=[RULE]))
    assert [finding.devices for finding in found] == [told] * bool(told)


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


def full(wait, rate, busy):
    return {**sibling(wait, rate, 14, "w"), "%util": busy}


@pytest.mark.parametrize(
    ("samples", "is_slow"),
    [
        ([(full(120, 126, 97.6), full(31, 125, 82))], False),
        ([(full(120, 126, 97.6), full(11, 125, 40))], True),
        ([(full(120, 126, 60), full(31, 125, 55))], True),
        ([(full(120, 126, 60), full(11, 125, 40)), (full(14, 126, 40), full(14, 125, 40))], False),
        ([(full(120, 126, 60), full(11, 125, 40))] * 2 + [(full(14, 126, 40), full(14, 125, 40))], True),
        ([(full(3900, 3.4, 100), full(6, 3.8, 2)), (full(6, 3.8, 2), full(6, 3.8, 2))], True),
    ],
    ids=[
        "served as quickly, and in line",
        "served more slowly",
        "longer than in line",
        "as quick as often",
        "quick once",
        "seconds, once",
    ],
)
def test_a_longer_queue_and_chance_are_no_slow_disk(report_of, samples, is_slow):
    """A disk that serves each request as quickly as its like, or is as quick as often, is not the odd one."""
    text = iostat([{"sda": slow, "sdb": fast} for slow, fast in samples])
    found = [f for f in findings(report_of(text, rules=[RULE])) if f.severity in ("warning", "critical")]
    assert bool(found) == is_slow


def test_one_stall_in_many_samples_is_no_slow_sibling(report_of):
    fine = {"sda": sibling(6, 4), "sdb": sibling(6, 4)}
    assert not findings(report_of(iostat([fine] * 60 + [{**fine, "sda": sibling(900, 4)}]), rules=[RULE]))


SOLID = "NAME ROTA TYPE\n" + "".join(f"{disk} 0 disk\n" for disk in DISKS)


@pytest.mark.parametrize(
    ("wait", "context", "is_slow"),
    [
        (38.0, (SOLID,), True),
        (10.0, (SOLID,), True),
        (3.0, (SOLID,), False),
        (38.0, (), True),
        (16.0, (), False),
    ],
    ids=["longer than flash takes", "slow for flash", "as flash may take", "than any disk", "as a disk may"],
)
def test_flash_that_takes_as_long_as_a_disk_is_slow_beside_its_kind(report_of, wait, context, is_slow):
    fast = {disk: sibling(0.12, 40, size=20) for disk in DISKS[:3]}
    text = iostat([{**fast, "sdd": sibling(wait, 30, size=20)}] * 3)
    assert bool(findings(report_of(text, *context, rules=[RULE]))) == is_slow


@pytest.mark.parametrize(
    ("rates", "stated", "confidence"),
    [
        ((46, 55, 57, 44), True, "medium"),  # others do more and are quick
        ((80, 55, 57, 44), True, None),  # it does most
        ((46, 55, 57, 44), False, None),
    ],
)
def test_a_load_that_a_quick_peer_carries_as_well_is_no_excuse(report_of, rates, stated, confidence):
    waits = (85, 20, 18, 21)
    legs = {disk: reads(wait, rate) for disk, wait, rate in zip(DISKS, waits, rates, strict=True)}
    context = (TREE.format(level="raid0"),) if stated else ()
    sample = {"md0": reads(40.0, sum(rates)), **legs}
    found = findings(report_of(iostat([sample] * 5, step=5), *context, rules=[RULE]))
    assert ([f.confidence for f in found] or [None]) == [confidence]


@pytest.mark.parametrize(
    ("waits", "confidence"),
    [((11, 10, 12, 47), "medium"), ((11, 30, 20, 47), "low")],
    ids=["three alike", "each of its own"],
)
def test_the_odd_one_of_many_alike_needs_no_topology(report_of, waits, confidence):
    legs = {disk: reads(wait, 90) for disk, wait in zip(DISKS, waits, strict=True)}
    found = findings(report_of(iostat([legs] * 10, step=5), rules=[RULE]))
    assert {f.confidence for f in found} <= {confidence}
    assert found or confidence == "low"


def written(wait, reads=30.0, rate=130.0, size=88.0):
    row = {
        "r/s": reads,
        "rkB/s": reads * 100,
        "r_await": 2.0,
        "w/s": rate,
        "wkB/s": rate * size,
        "w_await": wait,
    }
    return row | {"aqu-sz": (rate * wait + reads * 2) / 1000, "%util": 30.0}


@pytest.mark.parametrize(
    ("slow", "quick", "is_told"),
    [
        (written(28), written(6, reads=60), True),  # a mirror's reads go where they like
        (written(28, reads=60), written(6), False),  # more reads excuse it
        (written(12), written(6), False),
        (written(28, size=300), written(6), False),
    ],
)
def test_of_two_disks_that_are_written_alike_the_slow_one_is_told(report_of, slow, quick, is_told):
    report = report_of(iostat([{"nvme1n1": slow, "nvme0n1": quick}]), rules=[RULE])
    assert [f.devices for f in findings(report)] == [("nvme1n1",)] * is_told


def test_disks_whose_requests_differ_in_size_have_no_slow_one(report_of):
    rows = {"sda": reads(4.5, 382, 100), "sdb": reads(1.1, 176, 217), "sdc": reads(1.2, 170, 224)}
    report = report_of(iostat([rows] * 10), rules=[RULE])
    assert not findings(report)
    assert outcome(report).status == "undetermined"
    assert "differ in size" in outcome(report).reason


def test_two_slow_disks_among_like_ones_are_no_single_slow_one(report_of):
    rows = {disk: reads(wait, 100) for disk, wait in zip(DISKS, (20.0, 18.0, 5.0, 5.0), strict=True)}
    report = report_of(iostat([rows] * 10), rules=[RULE])
    assert not findings(report)


@pytest.mark.parametrize(
    ("other", "is_told"),
    [
        (reads(54.0, 50), False),
        (reads(54.0, 50, 64.0), True),
        (reads(54.0, 4), True),
        (reads(15.0, 50), True),
    ],
    ids=["as slow with less", "larger requests", "hardly any", "a quick one"],
)
def test_a_disk_that_is_as_slow_with_less_to_do_leaves_no_single_slow_one(report_of, other, is_told):
    legs = {disk: reads(wait, 90) for disk, wait in zip(DISKS, (11, 10, 12, 60), strict=True)}
    report = report_of(iostat([legs | {"sde": other}] * 10, step=5), rules=[RULE])
    assert [f.devices for f in findings(report)] == [("sdd",)] * is_told


@pytest.mark.parametrize(
    ("waits", "busy", "severity"),
    [
        ((0.7, 0.7, 1.7, 0.7), 26.0, "info"),
        ((0.7, 0.7, 1.7, 0.7), 97.0, "warning"),
        ((4.0, 4.0, 12.0, 4.0), 26.0, "warning"),
    ],
    ids=["a ms at a quarter of its time", "it limits the set", "eight ms"],
)
def test_a_slow_leg_that_nobody_pays_for_is_context(report_of, waits, busy, severity):
    legs = {disk: reads(wait, 300.0) | {"%util": busy} for disk, wait in zip(DISKS, waits, strict=True)}
    sample = {"md0": reads(max(waits), 1200.0), **legs}
    tree = TREE.format(level="raid0").replace(" 1 disk", " 0 disk")
    (finding,) = findings(report_of(iostat([sample] * 20), tree, rules=[RULE]))
    assert finding.severity == severity
    assert ("costs its set little" in finding.summary) is (severity == "info")


@pytest.mark.parametrize(
    ("busy", "samples", "is_told"), [(97.0, 1, False), (97.0, 5, True), (60.0, 1, True), (97.0, 2, False)]
)
def test_one_of_unstated_peers_that_serves_as_quickly_had_a_longer_queue(report_of, busy, samples, is_told):
    """A line at random grows without bound as idle time ends; what lasts is no chance."""
    peers = {name: full(20, 120, 80) for name in ("sdb", "sdc", "sdd")}
    text = iostat([{**peers, "sda": full(110, 120, busy)}] * samples, step=3)
    assert bool(findings(report_of(text, rules=[RULE]))) == is_told


def moves(rate, size, busy, **more):
    return {"w/s": rate, "wkB/s": rate * size, "w_await": 3.0, "aqu-sz": rate * 0.003, "%util": busy} | more


CALM = {name: moves(100.0 + at, 25.0, 22.0) for at, name in enumerate(("sdc", "sdd", "sde", "sdf"))}


@pytest.mark.parametrize(
    ("odd", "is_told"),
    [
        ({"sda": moves(237, 8.4, 90.0), "sdb": moves(235, 8.4, 91.0)}, True),
        ({"sda": moves(237, 8.4, 90.0)}, True),
        ({"sda": moves(237, 8.4, 90.0), "sdb": moves(235, 8.4, 91.0), "sdg": moves(230, 8.4, 92.0)}, False),
        ({"sda": moves(237, 8.4, 60.0)}, False),
        ({"sda": moves(900, 2.6, 90.0)}, False),
        ({"sda": moves(500, 4.8, 95.0)}, False),
        ({"sda": moves(950, 8.4, 90.0)}, False),
    ],
    ids=[
        "a pair",
        "one",
        "nearly as many",
        "with idle time",
        "many more requests",
        "as long with each",
        "more bytes",
    ],
)
def test_disks_busy_for_longer_with_as_many_bytes_are_a_possible_finding(report_of, odd, is_told):
    report = report_of(iostat([{**CALM, **odd}]), rules=[RULE])
    assert [(f.severity, f.confidence, set(f.devices)) for f in findings(report)] == (
        [("notice", "low", set(odd))] if is_told else []
    )
    if is_told:
        assert report.verdict.state == "open"
        assert "Smaller requests, or slower disks" in report.headline


def test_a_slow_leg_of_a_mirror_is_told_before_the_commits_that_wait_for_it(report_of):
    def writes(wait):
        row = {"w/s": 100.0, "wkB/s": 1240.0, "wrqm/s": 210.0, "w_await": wait, "aqu-sz": wait / 10}
        return row | {"%util": wait * 10}

    report = report_of(iostat([{"sda": writes(9.8), "sdb": writes(2.1)}]))
    assert (report.verdict.rule, report.verdict.devices) == (RULE, ("sda",))


@pytest.mark.parametrize(("way", "is_told"), [("w", False), ("r", True)])
def test_buffered_writes_that_come_in_batches_make_a_line_of_any_length(report_of, way, is_told):
    rows = {
        name: {**sibling(wait, 120, 14, way), "%util": 60.0}
        for name, wait in zip(("sdb", "sdc", "sdd", "sda"), (20, 20, 20, 52), strict=True)
    }
    report = report_of(iostat([rows], step=3), rules=[RULE])
    assert bool(findings(report)) == is_told
    assert is_told or "busy 5 ms with each request beside 5 ms" in outcome(report).reason


@pytest.mark.parametrize(
    ("waits", "said"), [((7, 10, 60, 18), "10 ms in the median (7 to 18)"), ((12, 12, 60, 13), "12 ms at")]
)
def test_a_peer_that_a_reader_looks_up_is_within_what_is_said_of_them(report_of, waits, said):
    (finding,) = findings(report_of(iostat(run(waits)), TREE.format(level="raid0"), rules=[RULE]))
    assert said in finding.summary


@pytest.mark.parametrize(
    ("wait", "rate", "times", "told"), [(150, 9.0, 12, True), (38, 9.0, 12, False), (40, 0.2, 90, False)]
)
def test_a_yardstick_that_is_slow_itself_is_told_so(report_of, wait, rate, times, told):
    """Far longer than a healthy disk; within the error of a mean; and one request, which shows nothing."""
    beside = {"r/s": rate, "rkB/s": 4 * rate, "r_await": wait, "aqu-sz": rate * wait / 1000}
    beside["%util"] = min(100 * beside["aqu-sz"], 50.0)
    slow = {"r/s": rate, "rkB/s": 4 * rate, "r_await": times * wait, "aqu-sz": 8.0, "%util": 100.0}
    (finding,) = findings(report_of(iostat([{"sda": slow, "sdb": beside}] * 2), rules=[RULE]))
    assert ("; sdb is slow as well: its reads take 150 ms" in finding.summary) is told
    assert ("slow as well" in finding.summary) is told


def test_disks_that_mix_reads_and_writes_otherwise_are_compared_by_the_direction_that_waits(report_of):
    """By the means over both, sda takes 5.3 times as long; its writes take 4.7 times as long."""
    both = {"sda": (27.0, 2.2, 28.4), "sdb": (60.0, 1.5, 6.1)}
    sample = {
        name: {"r/s": reads, "w/s": 130.0, "rkB/s": 115 * reads, "wkB/s": 11440.0, "r_await": read}
        | {"w_await": write, "aqu-sz": (reads * read + 130 * write) / 1000, "%util": 35.0}
        for name, (reads, read, write) in both.items()
    }
    (finding,) = findings(report_of(iostat([sample]), lsblk(("sda", False), ("sdb", False)), rules=[RULE]))
    assert (
        "28.4 ms per write against 6.1 ms on sdb at a similar rate (130 and 130 writes/s)" in finding.summary
    )
    assert "5 times" in finding.summary
    assert "130 writes/s of 88.0 kB took 28.40 ms each" in finding.evidence[0].text


def test_the_log_is_searched_for_each_of_the_slow_disks_by_the_names_it_has(report_of):
    rows = {"nvme0c4n1": sibling(3900), "nvme1n1": sibling(4100), "nvme2n1": sibling(6.3, 3.8)}
    (finding,) = findings(report_of(iostat([rows] * 3), rules=[RULE]))
    assert "dmesg -T | grep -iE 'nvme1[n:]|nvme4[n:]|nvme0n|reset|timeout|link'" in finding.confirm
    assert {"smartctl -x /dev/nvme1n1", "smartctl -x /dev/nvme4"} <= set(finding.confirm)
