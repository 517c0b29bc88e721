from __future__ import annotations

import pytest

from sample_files import SAMPLES
from writers.captures import iostat

RULE = "raid-degraded"
LEFT = ("sda", "sdb", "sdd")
TREE = "NAME TYPE\n" + "".join(f"{disk} disk\n`-md0 raid5\n" for disk in LEFT)
IDLE: dict[str, float] = {}


def mdstat(health, legs="sdd[3] sdb[1] sda[0]", activity=""):
    return (
        f"Personalities : [raid6] [raid5] [raid4]\nmd0 : active raid5 {legs}\n"
        f"      12567552 blocks super 1.2 level 5, 64k chunk, algorithm 2 {health}\n{activity}\n"
        "unused devices: <none>\n"
    )


def run(ratio, writes=0.0):
    asked = {
        "r/s": 220.0,
        "rkB/s": 3520.0,
        "w/s": writes,
        "wkB/s": 16 * writes,
        "r_await": 53.0,
        "aqu-sz": 12.0,
    }
    leg = {"r/s": 110.0, "rkB/s": 3520.0 * ratio / 3, "r_await": 45.0, "aqu-sz": 4.0, "%util": 99.0}
    return iostat([{"md0": asked} | dict.fromkeys(LEFT, leg)] * 20)


def findings(report):
    return [f for f in report.findings if f.rule == RULE]


def test_a_member_that_mdstat_misses_is_said_with_what_its_reads_cost(report_of):
    (finding,) = findings(report_of(run(1.5), mdstat("[4/3] [UU_U]"), rules=[RULE]))
    assert (finding.severity, finding.confidence, finding.devices) == ("warning", "high", ("md0",))
    numbers = {name: value for item in finding.evidence for name, value in item.values.items()}
    assert numbers["ratio"] == pytest.approx(1.5, abs=0.01)
    assert numbers["expected"] == pytest.approx(1.5)
    assert any(
        "[4/3]" in quote.text or "md0" in quote.text for item in finding.evidence for quote in item.quotes
    )


def test_a_listing_alone_is_enough(report_of):
    (finding,) = findings(report_of(iostat([{"vda": IDLE}] * 3), mdstat("[4/3] [UU_U]"), rules=[RULE]))
    assert "3 of 4" in finding.summary


@pytest.mark.parametrize(
    ("health", "legs", "level", "severity"),
    [
        ("[4/2] [UU__]", "sdb[1] sda[0]", 5, "critical"),
        ("[4/0] [____]", "sdb[1](F) sda[0](F)", 5, "critical"),
        ("[4/2] [UU__]", "sdb[1] sda[0]", 6, "warning"),
        ("[2/1] [U_]", "sda[0]", 1, "warning"),
        ("[2/0] [__]", "sdb[1](F) sda[0](F)", 1, "critical"),
    ],
)
def test_an_array_with_too_few_members_has_failed(report_of, health, legs, level, severity):
    listing = mdstat(health, legs).replace("active raid5", f"active raid{level}")
    (finding,) = findings(report_of(iostat([{"vda": IDLE}] * 3), listing, rules=[RULE]))
    assert finding.severity == severity
    assert (
        ("failed" in finding.title) == ("fewer than it needs" in finding.summary) == (severity == "critical")
    )


def test_all_members_up_is_clear_whatever_the_reads(report_of):
    report = report_of(run(1.5), mdstat("[4/4] [UUUU]", legs="sdd[3] sdc[2] sdb[1] sda[0]"), rules=[RULE])
    assert not findings(report)
    assert {o.status for o in report.outcomes} == {"clear"}


def test_an_array_in_its_first_resync_lacks_nobody(report_of):
    volume = (
        "vg-data: 0 12582912 raid raid5_ls 4 aaaa 100/4194304 resync 0 0 -\n"
        "vg-data_rimage_0: 0 4194304 linear \n"
    )
    assert not findings(report_of(run(1.0), volume, rules=[RULE]))


def test_reads_that_cost_half_again_suggest_a_missing_member(report_of):
    (finding,) = findings(report_of(run(1.5), TREE, rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")


@pytest.mark.parametrize(("ratio", "writes"), [(1.0, 0.0), (1.2, 0.0), (1.5, 40.0)])
def test_other_reads_leave_it_open(report_of, ratio, writes):
    report = report_of(run(ratio, writes), TREE, rules=[RULE])
    assert not findings(report)
    assert {o.status for o in report.outcomes} == {"undetermined"}


def test_without_an_array_it_asks_for_one(report_of):
    report = report_of(iostat([{"sda": IDLE}] * 3), rules=[RULE])
    assert [o.missing for o in report.outcomes] == [("topology",)]


HEAD = "Device r/s w/s rkB/s wkB/s await aqu-sz %util\n"


def mirrors(samples=4, sdb_before=90.0, sdb=0.0, sdd=None, md0=340.0):
    """Reports as iostat -x has them: first since boot, then md0 on sda and a missing leg, sdc and sdd."""

    def report(md0, sda, sdb, sdc, sdd):
        rows = {"sda": sda, "sdb": sdb, "sdc": sdc, "sdd": sdd, "md0": md0}
        lines = (
            f"{name} 0.00 {kb / 8:.2f} 0.00 {kb:.2f} {5 * (kb > 0):.2f} 0.10 4.00\n"
            for name, kb in rows.items()
        )
        return HEAD + "".join(lines) + "\n"

    boot = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n" + report(637, 340, sdb_before, 297, 297)
    return boot + "".join(
        report(md0 + 7 * n, 190 + 3 * n, sdb, 150 + 4 * n, 150 + 4 * n if sdd is None else sdd)
        for n in range(samples)
    )


def test_a_leg_that_fell_silent_beside_mirrors_is_named(report_of):
    (finding,) = findings(report_of(mirrors(), rules=[RULE]))
    assert (finding.severity, finding.confidence, finding.devices) == ("notice", "medium", ("md0", "sdb"))
    assert "sdc and sdd" in finding.summary
    assert "mdadm --detail /dev/md0" in finding.confirm


@pytest.mark.parametrize(
    "changed",
    [{"samples": 2}, {"sdb_before": 0.0}, {"sdb": 5.0}, {"sdd": 40.0}, {"md0": 500.0}],
    ids=["two samples", "never used", "not silent", "no mirror", "other sums"],
)
def test_a_silent_disk_alone_is_no_lost_leg(report_of, changed):
    assert not findings(report_of(mirrors(**changed), rules=[RULE]))


@pytest.mark.parametrize(
    ("name", "devices"), [("storcli", ("sda",)), ("ssacli", ("sda",)), ("megacli", None)]
)
def test_a_controller_s_volume_is_degraded_where_its_tool_states_it(report_of, name, devices):
    listing = (SAMPLES / f"raid-controller/{name}.txt").read_text()
    report = report_of(iostat([{"sda": IDLE, "sdb": IDLE}] * 3), listing, rules=[RULE])
    assert [(f.severity, f.devices) for f in findings(report)] == ([("warning", devices)] if devices else [])
    assert {o.status for o in report.outcomes} == {"finding" if devices else "clear"}


def test_a_controller_s_volume_that_is_offline_has_failed(report_of):
    listing = (SAMPLES / "raid-controller/storcli.txt").read_text().replace("RAID5 Dgrd", "RAID5 OfLn")
    (finding,) = findings(report_of(iostat([{"sda": IDLE, "sdb": IDLE}] * 3), listing, rules=[RULE]))
    assert finding.severity == "critical"
    assert "rebuild" not in " ".join(finding.remedy)


def moves(read, written):
    return {
        "r/s": read / 50,
        "rkB/s": read,
        "w/s": written / 100,
        "wkB/s": written,
        "aqu-sz": 0.1,
        "%util": 40.0,
    }


ONE_LEG = {"md0": moves(2, 2), "md2": moves(5219, 1135), "sda": moves(5221, 1138)}


@pytest.mark.parametrize(
    ("changed", "is_told"),
    [
        ({}, True),
        ({"sdb": moves(0, 0)}, True),
        ({"sdb": moves(0, 1138)}, False),
        ({"sda": moves(5221, 569), "sdb": moves(0, 569)}, False),
        ({"sda": moves(5221, 1300)}, False),
        ({"md2": moves(5219, 0), "sda": moves(5221, 2)}, False),
        ({"md0": {}, "md2": {}, "dm-0": moves(5221, 1138)}, False),
    ],
    ids=["one disk", "an idle disk", "a mirror", "a stripe", "other writes", "nothing written", "no array"],
)
def test_arrays_that_write_to_one_disk_alone_have_one_leg(report_of, changed, is_told):
    found = findings(report_of(iostat([ONE_LEG | changed] * 3), rules=[RULE]))
    assert [finding.severity for finding in found] == ["info"] * is_told
    for finding in found:
        assert finding.devices == ("md0", "md2", "sda")
        assert finding.confirm == ("cat /proc/mdstat",)
        assert finding.evidence[0].values["write"] == pytest.approx(1138)


def test_an_array_whose_members_are_known_is_not_guessed_at(report_of):
    (found,) = report_of(iostat([ONE_LEG] * 3), mdstat("[4/4] [UUUU]"), rules=[RULE]).outcomes
    assert found.status == "clear"
