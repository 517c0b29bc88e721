from __future__ import annotations

import re

import pytest

from writers.captures import iostat, sar_d
from writers.loads import lsblk

RULE = "raid-partial-stripe-write"
DISKS = ("sda", "sdb", "sdc", "sdd")


def mdstat(level: str = "raid5", members: int = 4, health: str = "") -> str:
    legs = " ".join(f"sd{chr(97 + n)}[{n}]" for n in reversed(range(members)))
    shape = "64K chunks 2 near-copies" if level == "raid10" else "level 5, 64k chunk, algorithm 2"
    health = health or f"[{members}/{members}] [{'U' * members}]"
    return (
        f"Personalities : [raid6] [raid5] [raid4] [raid10]\nmd0 : active {level} {legs}\n"
        f"      12567552 blocks super 1.2 {shape} {health}\n\nunused devices: <none>\n"
    )


def row(reads=0.0, writes=0.0, read_kb=0.0, write_kb=0.0, depth=0.0, wait=10.0):
    return {
        "r/s": reads,
        "w/s": writes,
        "rkB/s": read_kb,
        "wkB/s": write_kb,
        "r_await": wait if reads else 0.0,
        "w_await": wait if writes else 0.0,
        "aqu-sz": depth,
        "%util": min(100.0, 100 * depth),
    }


def sample(parent, leg, disks=DISKS):
    return {"md0": parent} | dict.fromkeys(disks, leg)


SMALL = sample(row(0, 120, 0, 480, 16, 130), row(60, 60, 240, 240, 5, 45))
"""120 writes of 4 kB per second: two reads and two writes of 4 kB each, spread over four disks."""


def findings(report):
    return [f for f in report.findings if f.rule == RULE]


def values(finding):
    return {name: value for item in finding.evidence for name, value in item.values.items()}


def outcomes(report):
    return {o.status: o for o in report.outcomes if o.rule == RULE}


def test_small_writes_on_a_stated_raid5_fire(report_of):
    (finding,) = findings(report_of(iostat([SMALL] * 20), mdstat(), rules=[RULE]))
    assert (finding.severity, finding.confidence, finding.devices) == ("warning", "high", ("md0",))
    numbers = values(finding)
    assert numbers["amplification"] == pytest.approx(2.0)
    assert numbers["extra"] == pytest.approx(2.0)
    assert numbers["by_writes"] == pytest.approx(100)
    assert numbers["by_reads"] == pytest.approx(100)
    assert numbers["cost"] == pytest.approx(4.0)
    cited = finding.evidence[0]
    assert cited.rows == 20 * 5
    assert any("md0" in quote.text for quote in cited.quotes)


def test_members_that_are_partitions_are_seen_on_their_disks(report_of):
    """iostat shows whole disks, /proc/mdstat the partitions that an installer makes."""
    stated = re.sub(r"(sd[a-d])\[", r"\g<1>1[", mdstat())
    assert "sdd1[3]" in stated
    report = report_of(iostat([SMALL] * 20), stated)
    assert findings(report)
    assert report.verdict.state == "trouble"


def test_it_is_an_inefficiency_where_nothing_queues(report_of):
    idle = sample(row(0, 120, 0, 480, 0.3, 2), row(60, 60, 240, 240, 0.1, 1))
    (finding,) = findings(report_of(iostat([idle] * 20), mdstat(), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "high")


def test_the_slow_member_comes_before_parity_where_the_others_have_time_left(report_of):
    quick, slow = row(60, 60, 240, 240, 0.29, 2.4), row(60, 60, 240, 240, 9.8, 82)
    waits = sample(row(0, 120, 0, 480, 16, 130), quick) | {"sdc": slow}
    kinds = lsblk(*((disk, True) for disk in DISKS))
    report = report_of(iostat([waits] * 20), mdstat(), kinds, rules=[RULE, "slow-member"])
    assert [(f.rule, f.severity) for f in report.findings] == [("slow-member", "warning"), (RULE, "notice")]
    assert report.findings[0].confidence == "high"
    alike = sample(row(0, 120, 0, 480, 16, 130), slow)
    (finding,) = report_of(iostat([alike] * 20), mdstat(), rules=[RULE]).findings
    assert finding.severity == "warning"


def test_writes_below_a_page_are_counted_in_pages(report_of):
    sector = sample(row(0, 120, 0, 60, 8, 65), row(60, 60, 240, 240, 2.4, 24))
    (finding,) = findings(report_of(iostat([sector] * 20), mdstat(), rules=[RULE]))
    assert values(finding)["amplification"] == pytest.approx(2.0)
    assert "in requests of 0.5 kB" in finding.evidence[0].text


@pytest.mark.parametrize(
    ("legs", "reads", "writes"),
    [(6, 3.0, 3.0), (5, 2.0, 3.0), (4, 1.0, 3.0)],
    ids=["read-modify-write", "reconstruct", "reconstruct of one"],
)
def test_raid6_pays_three_writes_and_what_the_cheaper_way_reads(report_of, legs, reads, writes):
    disks = [f"sd{chr(97 + n)}" for n in range(legs)]
    leg = row(30, 30, 480 * reads / legs, 480 * writes / legs, 4, 45)
    capture = iostat([sample(row(0, 120, 0, 480, 16, 130), leg, disks)] * 20)
    (finding,) = findings(report_of(capture, mdstat("raid6", legs), rules=[RULE]))
    assert values(finding)["by_reads"] == pytest.approx(100, abs=1)
    assert finding.confidence == "high"


def test_a_mixture_shows_its_share_in_both_counts(report_of):
    # 67 % of 480 kB/s small: α = 1.33 + 0.67 (2 - 1.33), ρ = 0.67 x 2
    mixed = sample(row(0, 60, 0, 480, 16, 130), row(40, 50, 160.8, 213.6, 5, 45))
    (finding,) = findings(report_of(iostat([mixed] * 20), mdstat(), rules=[RULE]))
    assert values(finding)["by_writes"] == pytest.approx(67, abs=1)
    assert values(finding)["by_reads"] == pytest.approx(67, abs=1)


def test_sar_suffices_since_it_splits_bytes_by_direction(report_of):
    parent = {"tps": 120.0, "wkB/s": 480.0, "areq-sz": 4.0, "aqu-sz": 16.0, "await": 130.0, "%util": 99.0}
    leg = {"tps": 120.0, "rkB/s": 240.0, "wkB/s": 240.0, "areq-sz": 4.0, "aqu-sz": 5.0, "await": 45.0}
    capture = sar_d([{"md0": parent} | dict.fromkeys(DISKS, leg)] * 20)
    (finding,) = findings(report_of(capture, mdstat(), rules=[RULE]))
    assert finding.confidence == "high"


@pytest.mark.parametrize(
    ("parent", "leg", "level"),
    [
        (row(0, 150, 0, 28800, 3.4, 22), row(0, 150, 0, 9600, 0.4, 10), "raid5"),
        (row(400, 0, 6400, 0, 16, 40), row(100, 0, 1600, 0, 3, 35), "raid5"),
        (row(0, 120, 0, 480, 16, 68), row(0, 60, 0, 240, 5, 54), "raid10"),
        (row(3000, 120, 192000, 28800, 9, 3), row(790, 150, 48900, 9600, 2, 2), "raid5"),
    ],
    ids=["full stripes", "reads only", "mirrors", "reads cut at the edges of samples"],
)
def test_what_is_no_small_write_on_parity_is_clear(report_of, parent, leg, level):
    report = report_of(iostat([sample(parent, leg)] * 20), mdstat(level), rules=[RULE])
    assert not findings(report)
    assert outcomes(report)["clear"].devices == ("md0",)


def test_an_array_that_is_hardly_written_shows_nothing(report_of):
    idle = sample(row(0, 3, 0, 12, 0.1, 30), row(1.5, 1.5, 6, 6, 0.1, 30))
    report = report_of(iostat([idle] * 20), mdstat("raid5"), rules=[RULE])
    assert not findings(report)
    assert outcomes(report)["undetermined"].devices == ("md0",)


def test_reads_of_a_degraded_array_are_no_small_writes(report_of):
    # three of four members: each read of the lost one costs three; full stripes are written beside
    parent, leg = row(200, 50, 3200, 9600, 12, 50), row(100, 50, 1600, 3200, 4, 40)
    capture = iostat([sample(parent, leg, DISKS[:3])] * 20)
    stated = mdstat(members=3, health="[4/3] [UUU_]")
    assert not findings(report_of(capture, stated, rules=[RULE]))


def test_one_short_sample_is_low_and_no_warning(report_of):
    few = sample(row(0, 30, 0, 300, 4, 130), row(15, 15, 150, 150, 2, 45))
    (finding,) = findings(report_of(iostat([few]), mdstat(), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")


def test_members_without_samples_are_named(report_of):
    capture = iostat([{"md0": row(0, 120, 0, 480, 16, 130), "sda": row(60, 60, 240, 240, 5, 45)}] * 20)
    report = report_of(capture, mdstat(), rules=[RULE])
    assert outcomes(report)["not_applicable"].missing == ("sdb", "sdc", "sdd")


@pytest.mark.parametrize(("beside", "confidence"), [("", "high"), ("`-{disk}2 8:{second} part\n", "low")])
def test_disks_stand_in_for_partitions_unless_they_carry_more(report_of, beside, confidence):
    stated = mdstat()
    for number, disk in enumerate(DISKS):
        stated = stated.replace(f"{disk}[{number}]", f"{disk}1[{number}]")
    tree = "NAME   MAJ:MIN TYPE\n"
    for at, disk in zip(range(0, 64, 16), DISKS, strict=True):
        tree += f"{disk}    8:{at} disk\n{'|' if beside else '`'}-{disk}1 8:{at + 1} part\n"
        tree += beside.format(disk=disk, second=at + 2)
    (finding,) = findings(report_of(iostat([SMALL] * 20), stated, tree, rules=[RULE]))
    assert finding.confidence == confidence
    told = [item for item in finding.evidence if item.weighs == "against" and "sdd" in item.text]
    assert bool(told) is bool(beside)


def test_without_any_array_it_asks_for_topology(report_of):
    report = report_of(iostat([{"sda": row(0, 100, 0, 400, 1)}] * 20), rules=[RULE])
    assert outcomes(report)["not_applicable"].missing == ("topology",)


PAGES = {"r/s": 60.0, "rkB/s": 252.0, "rrqm/s": 0.0, "w/s": 60.0, "wkB/s": 246.0, "aqu-sz": 3.0}


def test_members_alone_that_move_pages_in_pairs_are_a_sign(report_of):
    capture = iostat([dict.fromkeys(DISKS, PAGES)] * 20)
    (finding,) = findings(report_of(capture, rules=[RULE]))
    assert (finding.severity, finding.confidence, finding.devices) == ("notice", "low", DISKS)
    (stated,) = findings(report_of(capture, mdstat(), rules=[RULE]))
    assert stated.confidence == "medium"


@pytest.mark.parametrize(
    "disk",
    [
        {"r/s": 60.0, "rkB/s": 960.0, "w/s": 60.0, "wkB/s": 960.0, "aqu-sz": 3.0},
        {"r/s": 10.0, "rkB/s": 42.0, "w/s": 100.0, "wkB/s": 410.0, "aqu-sz": 3.0},
    ],
    ids=["larger than pages", "mostly writes"],
)
def test_members_alone_with_other_traffic_are_no_sign(report_of, disk):
    assert not findings(report_of(iostat([dict.fromkeys(DISKS, disk)] * 20), rules=[RULE]))


def totals(amplification, extra):
    """sar -b and sar -B of a host to which 500 kB/s are submitted to be written and 100 to be read."""
    blocks = "".join(
        f"13:00:{n:02}  150.00  50.00  100.00  {2 * (100 + 500 * extra):.2f}  {1000 * amplification:.2f}\n"
        for n in range(1, 31)
    )
    pages = "".join(f"13:00:{n:02}  100.00  500.00  10.00  0.00\n" for n in range(1, 31))
    head = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
    return (
        f"{head}13:00:00  tps  rtps  wtps  bread/s  bwrtn/s\n{blocks}\n"
        f"13:00:00  pgpgin/s pgpgout/s  fault/s  majflt/s\n{pages}"
    )


def test_the_host_s_totals_alone_suggest_it(report_of):
    (finding,) = findings(report_of(totals(2.0, 2.0), rules=[RULE]))
    assert (finding.severity, finding.confidence, finding.devices) == ("info", "low", ())
    assert values(finding)["amplification"] == pytest.approx(2.0)


@pytest.mark.parametrize(("amplification", "extra"), [(1.0, 0.0), (2.0, 0.0), (1.33, 0.0), (3.0, 0.2)])
def test_the_host_s_totals_of_plain_disks_mirrors_and_full_stripes_are_no_sign(
    report_of, amplification, extra
):
    assert not findings(report_of(totals(amplification, extra), rules=[RULE]))


SEED = """\
07:10:01          DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util
07:10:01    dev253-82    360.63   1739.05   1139.02      7.98     52.81    146.31      0.92     33.01
07:10:01    dev253-84    359.86   1725.34   1146.51      7.98     75.11    206.84      1.03     37.04
07:10:01    dev253-86    358.91   1724.10   1140.20      7.98     51.83    144.34      0.82     29.48
07:10:01    dev253-88    360.23   1715.21   1159.63      7.98     32.74     90.89      0.67     24.19
07:10:01    dev253-89    375.29   3496.57   2559.05     16.14    423.86   1107.75      1.56     58.64
"""


def test_members_that_only_their_rates_tell(report_of):
    (finding,) = findings(report_of(SEED, rules=[RULE]))
    assert (finding.severity, finding.confidence, finding.devices) == ("warning", "medium", ("dev253-89",))
    numbers = values(finding)
    assert numbers["amplification"] == pytest.approx(1.792, abs=0.001)
    assert numbers["extra"] == pytest.approx(1.331, abs=0.001)
    assert "by its traffic RAID5" in finding.summary
    assert any(
        item.text.startswith("nothing states") and item.weighs == "against" for item in finding.evidence
    )


def test_legs_that_lvm_names_need_no_level(report_of):
    tree = "NAME               TYPE\n" + "".join(
        f"{disk}                disk\n`-vg-data_rimage_{n} lvm\n  `-vg-data        lvm\n"
        for n, disk in enumerate(DISKS)
    )
    parent, leg = SMALL["md0"], SMALL["sda"]
    sample = {"vg-data": parent} | {f"vg-data_rimage_{n}": leg for n in range(4)}
    (finding,) = findings(report_of(iostat([sample] * 20), tree, rules=[RULE]))
    assert (finding.confidence, finding.devices) == ("medium", ("vg-data",))
    assert any("but no level" in item.text for item in finding.evidence)


def test_no_share_of_what_is_written_exceeds_all_of_it(report_of):
    """On four disks RAID6 reads one page or three for one changed: 2 kB more per kB are 67 to 200 %."""
    leg = row(40, 56, 160, 224, 3, 30)
    report = report_of(iostat([sample(row(0, 80, 0, 320, 8, 60), leg)] * 20), mdstat("raid6"), rules=[RULE])
    (finding,) = findings(report)
    assert values(finding)["by_reads"] > 150
    assert any(" % or more judging by read traffic" in item.text for item in finding.evidence)
    assert not any("00 % judging" in item.text for item in finding.evidence)
    assert not any("counts agree" in item.text for item in finding.evidence), "a least share agrees with any"


def test_more_writes_than_all_was_written_are_told_as_all(report_of):
    more = sample(row(0, 120, 0, 480, 16, 130), row(60, 63, 240, 252, 5, 45))
    (finding,) = findings(report_of(iostat([more] * 20), mdstat(), rules=[RULE]))
    told = "all of what was written took the slow path judging by write traffic (115 %), 100 % judging by"
    assert any(told in item.text for item in finding.evidence)
