from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d

RULE = "raid-resync-load"
DISKS = ("sda", "sdb", "sdc", "sdd")
BUSY = {"r/s": 73.0, "rkB/s": 62000.0, "r_await": 21.0, "aqu-sz": 1.5, "%util": 87.0}
IDLE: dict[str, float] = {}
MDSTAT = """\
Personalities : [raid6] [raid5] [raid4]
md0 : active raid5 sdd[3] sdc[2] sdb[1] sda[0]
      12567552 blocks super 1.2 level 5, 64k chunk, algorithm 2 [4/4] [UUUU]
{activity}
unused devices: <none>
"""
CHECK = "      [=======>....]  check = 38.7% (1625860/4189184) finish=0.7min speed=54195K/sec\n"


def run(parent, *legs, samples=20):
    legs = legs if len(legs) > 1 else legs * 4
    return iostat([{"md0": parent} | dict(zip(DISKS, legs, strict=True))] * samples)


def findings(report):
    return [f for f in report.findings if f.rule == RULE]


@pytest.mark.parametrize(("activity", "confidence"), [("", "high"), (CHECK, "high")])
def test_members_that_read_alike_while_the_array_idles_fire(report_of, activity, confidence):
    (finding,) = findings(report_of(run(IDLE, BUSY), MDSTAT.format(activity=activity), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", confidence)
    assert finding.devices == ("md0", *DISKS)
    assert "248,000 kB/s" in finding.summary
    assert any("check 38.7%" in item.text for item in finding.evidence) is bool(activity)


def test_a_rebuild_writes_one_member_and_reads_the_others(report_of):
    target = {"w/s": 73.0, "wkB/s": 62000.0, "w_await": 15.0, "aqu-sz": 1.0, "%util": 80.0}
    (finding,) = findings(
        report_of(run(IDLE, BUSY, target, BUSY, BUSY), MDSTAT.format(activity=""), rules=[RULE])
    )
    assert any("all members but sdb" in item.text for item in finding.evidence)


def test_beside_real_work_that_queues_it_is_a_warning(report_of):
    work = {"r/s": 200.0, "rkB/s": 3200.0, "r_await": 60.0, "aqu-sz": 12.0, "%util": 100.0}
    leg = {"r/s": 120.0, "rkB/s": 20800.0, "r_await": 40.0, "aqu-sz": 5.0, "%util": 100.0}
    (finding,) = findings(report_of(run(work, leg), MDSTAT.format(activity=CHECK), rules=[RULE]))
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    ("read", "activity", "severity"),
    [(300.0, "", "info"), (900.0, CHECK, "info"), (1500.0, CHECK, "warning"), (4000.0, CHECK, "warning")],
    ids=["a few percent", "less than a fifth", "a quarter of the requests", "a third of the bytes"],
)
def test_a_resync_beside_far_more_work_is_context(report_of, read, activity, severity):
    """kB/s that each member reads of itself, beside 8,000 kB/s that it writes for the array."""
    work = {"w/s": 256.0, "wkB/s": 16384.0, "w_await": 60.0, "aqu-sz": 15.0, "%util": 100.0}
    leg = {"r/s": read / 64, "rkB/s": read, "r_await": 20.0, "w/s": 64.0, "wkB/s": 8192.0}
    leg |= {"w_await": 20.0, "aqu-sz": 1.5, "%util": 90.0}
    mirrors = MDSTAT.format(activity=activity).replace("active raid5", "active raid10")
    (finding,) = findings(report_of(run(work, leg), mirrors, rules=[RULE]))
    assert finding.severity == severity


@pytest.mark.parametrize(
    ("merges", "util", "severity", "said"),
    [
        (34900.0, 30.0, "notice", "made of pieces of 4.0 kB"),
        (34900.0, 80.0, "warning", "made of pieces of 4.0 kB"),
        (900.0, 30.0, "notice", "average 124.1 kB; md works in units of 64 kB, which merge"),
    ],
    ids=["pages", "pages on busy disks", "large reads"],
)
def test_what_the_members_read_is_told_by_what_it_was_merged_of(report_of, merges, util, severity, said):
    leg = {"r/s": 1164.0, "rkB/s": 144400.0, "rrqm/s": merges, "r_await": 1.2, "aqu-sz": 1.4, "%util": util}
    written = {"w/s": 14.0, "wkB/s": 1795.0}
    (finding,) = findings(report_of(run(written, leg, samples=3), MDSTAT.format(activity=""), rules=[RULE]))
    assert finding.severity == severity
    assert "0 kB/s are read from it and 1,795 kB/s are written to it" in finding.summary
    (size,) = [item for item in finding.evidence if "kB" in item.text and said in item.text]
    assert size.weighs == ("for" if merges > 1000 else "context")


def test_sar_shows_it_too(report_of):
    leg = {"tps": 73.0, "rkB/s": 62000.0, "areq-sz": 849.0, "aqu-sz": 1.5, "await": 21.0, "%util": 87.0}
    capture = sar_d([{"md0": {}} | dict.fromkeys(DISKS, leg)] * 20)
    assert findings(report_of(capture, MDSTAT.format(activity=""), rules=[RULE]))


@pytest.mark.parametrize(
    ("parent", "legs"),
    [
        ({"r/s": 400.0, "rkB/s": 6400.0, "aqu-sz": 12.0}, [{"r/s": 100.0, "rkB/s": 1600.0, "aqu-sz": 3.0}]),
        (
            {"w/s": 120.0, "wkB/s": 480.0, "aqu-sz": 16.0},
            [{"r/s": 60.0, "rkB/s": 240.0, "w/s": 60.0, "wkB/s": 240.0, "aqu-sz": 5.0}],
        ),
        (IDLE, [BUSY, IDLE, IDLE, IDLE]),
        (IDLE, [BUSY, {**BUSY, "rkB/s": 31000.0}, BUSY, BUSY]),
        (IDLE, [{"r/s": 2.0, "rkB/s": 8.0}]),
    ],
    ids=["asked for", "small writes", "one disk read alone", "not alike", "superblocks"],
)
def test_other_traffic_is_clear(report_of, parent, legs):
    report = report_of(run(parent, *legs), MDSTAT.format(activity=""), rules=[RULE])
    assert not findings(report)
    assert [o.devices for o in report.outcomes if o.status == "clear"] == [("md0",)]


def test_reads_of_a_degraded_array_are_no_resync(report_of):
    lost = MDSTAT.format(activity="").replace("[4/4] [UUUU]", "[4/3] [UU_U]").replace("sdc[2] ", "")
    asked = {"r/s": 223.0, "rkB/s": 3568.0, "r_await": 53.0, "aqu-sz": 12.0, "%util": 100.0}
    leg = {"r/s": 111.0, "rkB/s": 1780.0, "r_await": 45.0, "aqu-sz": 4.0, "%util": 99.0}
    sample = {"md0": asked, "sda": leg, "sdb": leg, "sdd": leg}
    assert not findings(report_of(iostat([sample] * 20), lost, rules=[RULE]))


def test_a_burst_of_small_writes_whose_reads_come_a_sample_early_is_clear(report_of):
    reads = {"r/s": 500.0, "rkB/s": 2000.0, "aqu-sz": 5.0}
    writes = {"w/s": 500.0, "wkB/s": 2000.0, "aqu-sz": 5.0}
    early = {"md0": IDLE} | dict.fromkeys(DISKS, reads)
    late = {"md0": {"w/s": 1000.0, "wkB/s": 4000.0, "aqu-sz": 9.0}} | dict.fromkeys(DISKS, writes)
    rest = {"md0": IDLE} | dict.fromkeys(DISKS, IDLE)
    capture = iostat([rest, early, late, rest] * 5)
    assert not findings(report_of(capture, MDSTAT.format(activity=""), rules=[RULE]))


def test_an_array_that_was_not_captured_counts_only_where_mdstat_says_what_runs(report_of):
    disks = iostat([dict.fromkeys(DISKS, BUSY)] * 20)
    (finding,) = findings(report_of(disks, MDSTAT.format(activity=CHECK), rules=[RULE]))
    assert finding.devices == DISKS
    report = report_of(disks, MDSTAT.format(activity=""), rules=[RULE])
    assert not findings(report)
    assert {o.status for o in report.outcomes} == {"undetermined"}


FIO = "Disk stats (read/write):\n    md0: ios=0/9, merge=0/0, util=0.00%, aggrios=2/7, aggrutil=1%\n"


@pytest.mark.parametrize("disks", [DISKS, ("sde", "sdf")])
def test_members_that_fio_states_are_not_called_inferred_though_their_level_is_not_known(report_of, disks):
    stated = FIO + "".join(f"  {name}: ios=2/7, merge=0/0, util=1.00%\n" for name in disks)
    found = findings(report_of(run(IDLE, BUSY), stated, rules=[RULE]))
    assert [f.devices for f in found] == [("md0", *DISKS)] * (disks == DISKS)
    assert not any("nothing states" in e.text for f in found for e in f.evidence)


def test_disks_that_read_alike_beside_an_idle_array_suggest_it(report_of):
    (finding,) = findings(report_of(run(IDLE, BUSY), rules=[RULE]))
    assert finding.confidence == "medium"
    assert any("read alike while md0" in e.text and e.weighs == "against" for e in finding.evidence)
    scattered = [BUSY | {"rkB/s": 62000.0 * share} for share in (0.97, 1.0, 1.03, 1.0)]
    assert not findings(report_of(run(IDLE, *scattered), rules=[RULE]))
    striped = iostat([{"md0": {"r/s": 400.0, "rkB/s": 248000.0}} | dict.fromkeys(DISKS, BUSY)] * 20)
    assert not findings(report_of(striped, rules=[RULE]))


@pytest.mark.parametrize(
    ("sda", "sdb", "words"),
    [
        ({"r/s": 170.0, "rkB/s": 10900.0}, {"w/s": 172.0, "wkB/s": 11000.0}, "rebuilt onto sdb"),
        ({"r/s": 170.0, "rkB/s": 10900.0}, {"r/s": 170.0, "rkB/s": 10905.0}, "checked"),
    ],
)
def test_traffic_that_no_array_asked_for_is_told_without_mdstat(report_of, sda, sdb, words):
    sample = {"sda": sda, "sdb": sdb, "md0": {"w/s": 16.0, "wkB/s": 66.0}}
    (finding,) = findings(report_of(iostat([sample] * 3), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "medium")
    assert words in finding.summary


@pytest.mark.parametrize(
    "sample",
    [
        {"sda": {"r/s": 170.0, "rkB/s": 10900.0}, "sdb": {"w/s": 172.0, "wkB/s": 11000.0}},
        {
            "sda": {"r/s": 170.0, "rkB/s": 10900.0},
            "sdb": {"r/s": 170.0, "rkB/s": 10900.0},
            "md0": {"r/s": 340.0, "rkB/s": 21800.0},
        },
        {
            "sda": {"r/s": 170.0, "rkB/s": 10900.0},
            "sdb": {"w/s": 172.0, "wkB/s": 11000.0},
            "md0": {"r/s": 1.0, "rkB/s": 4.0},
            "dm-0": {"w/s": 172.0, "wkB/s": 11000.0},
        },
    ],
    ids=["a copy without an array", "asked for", "a volume is written"],
)
def test_a_copy_is_no_rebuild(report_of, sample):
    assert not findings(report_of(iostat([sample] * 3), rules=[RULE]))


@pytest.mark.parametrize(("written", "is_named"), [(61000.0, True), (20000.0, False)])
def test_a_disk_that_is_only_written_as_fast_as_the_members_are_read_is_the_target(
    report_of, written, is_named
):
    target = {"w/s": 73.0, "wkB/s": written, "w_await": 15.0, "aqu-sz": 1.0, "%util": 80.0}
    rows = {"md0": IDLE} | dict.fromkeys(DISKS, BUSY) | {"sde": target}
    (finding,) = findings(report_of(iostat([rows] * 20), MDSTAT.format(activity=""), rules=[RULE]))
    assert ("sde" in finding.devices) is is_named
    assert ("sde is written" in finding.summary) is is_named


def test_the_rebuild_of_a_member_that_is_gone_is_told_before_the_lack_of_it(report_of):
    target = {"w/s": 73.0, "wkB/s": 62000.0, "w_await": 15.0, "aqu-sz": 1.0, "%util": 80.0}
    recovery = "      [====>....]  recovery = 23.4% (980636/4189184) finish=1.6min speed=32687K/sec\n"
    mdstat = MDSTAT.format(activity=recovery).replace("[4/4] [UUUU]", "[4/3] [UUU_]")
    report = report_of(run(IDLE, BUSY, BUSY, BUSY, target), mdstat, rules=[RULE, "raid-degraded"])
    assert [(f.rule, f.severity) for f in report.findings] == [(RULE, "warning"), ("raid-degraded", "notice")]
    assert report.findings[0].summary.endswith("It runs with 3 of 4 members until that ends.")
    assert not any("Replace the member" in step for step in report.findings[1].remedy)
    alone = report_of(run(IDLE, IDLE), mdstat, rules=[RULE, "raid-degraded"])
    assert [(f.rule, f.severity) for f in alone.findings] == [("raid-degraded", "warning")]


PAGES = {"r/s": 9000.0, "rkB/s": 36000.0, "r_await": 0.08, "aqu-sz": 0.72, "%util": 50.0}
ONTO = {"w/s": 350.0, "wkB/s": 36000.0, "w_await": 2.0, "aqu-sz": 0.7, "%util": 35.0}
RECOVERY = """\
md4 : active raid6 sdi[8](S) sdh[7] sdg[6] sdf[5] sde[4] sdd[3](F) sdc[2] sdb[1] sda[0]
      23441080320 blocks super 1.2 level 6, 128k chunk, algorithm 2 [8/7] [UUU_UUUU]
      [====>....]  recovery = 21.4% (836000000/3906846720) finish=1200.0min speed=36000K/sec
"""


def test_a_stated_rebuild_is_told_by_the_members_that_are_seen(report_of):
    seen = {"sda": PAGES, "sdb": PAGES, "sdc": PAGES, "sdh": ONTO, "sdi": {}}
    report = report_of(iostat([seen] * 3), RECOVERY, rules=[RULE, "raid-degraded"])
    (finding,) = findings(report)
    assert finding.severity == "warning"
    assert "The rebuild of md4 (RAID6) reads 108,000 kB/s on 3 of its 8 members" in finding.summary
    assert "7 of 8 members until that ends" in finding.summary
    assert "the disks do not bound it, md does" in finding.summary
    assert any("group_thread_cnt" in command for command in finding.confirm)
    (lack,) = [f for f in report.findings if f.rule == "raid-degraded"]
    assert lack.severity == "notice"
    assert not any("Replace" in step for step in lack.remedy)


def test_a_stated_array_whose_members_have_no_samples_is_not_asked_for_again(report_of):
    report = report_of(iostat([{"nvme0n1": BUSY}] * 3), RECOVERY, rules=[RULE, "raid-degraded"])
    (outcome,) = [o for o in report.outcomes if o.rule == RULE]
    assert "its members have no samples" in outcome.reason
    assert outcome.devices == ("md4",)
    (lack,) = report.findings
    assert lack.severity == "warning"
    assert "7 of 8 members until its rebuild ends" in lack.summary
    assert not any("Replace" in step for step in lack.remedy)


def test_an_idle_spare_beside_a_rebuild_is_not_rebuilt(report_of):
    legs = {**dict.fromkeys(("sda", "sdb", "sdc", "sde", "sdf", "sdg"), PAGES), "sdh": ONTO, "sdi": {}}
    (finding,) = findings(report_of(iostat([legs] * 3), RECOVERY, rules=[RULE]))
    assert "sdi" not in finding.summary
    assert "on 6 of its 8 members" in finding.summary


@pytest.mark.parametrize(
    ("leg", "listing"),
    [
        ({**PAGES, "%util": 90.0, "aqu-sz": 1.2}, RECOVERY),
        ({**PAGES, "aqu-sz": 4.0}, RECOVERY),
        ({**PAGES, "r/s": 600.0}, RECOVERY),
        (PAGES, RECOVERY.replace("recovery = 21.4% (836000000/3906846720)", "resync=DELAYED")),
    ],
    ids=["busy", "queues", "60 kB", "not running"],
)
def test_md_does_not_bound_what_disks_or_nothing_does(report_of, leg, listing):
    seen = {"sda": leg, "sdb": leg, "sdc": leg, "sdh": ONTO}
    assert not any(
        "md does" in f.summary for f in findings(report_of(iostat([seen] * 3), listing, rules=[RULE]))
    )


@pytest.mark.parametrize(
    ("asked", "util", "severity"),
    [(9.0, 100.0, "warning"), (1.0, 100.0, "notice"), (9.0, 40.0, "notice")],
    ids=["beside work", "beside nothing", "on idle disks"],
)
def test_a_check_is_known_by_the_size_of_its_reads_before_they_merge(report_of, asked, util, severity):
    """1,500 reads/s of 68.4 kB were 1,600 of 64.2 kB, as md makes them."""
    sda = {"r/s": 1500.0, "rkB/s": 102700.0, "rrqm/s": 100.0, "r_await": 14.0, "aqu-sz": 21.0, "%util": util}
    sdb = {"r/s": 1505.0, "rkB/s": 102200.0, "rrqm/s": 90.0, "r_await": 2.5, "aqu-sz": 3.7, "%util": 38.0}
    sample = {"sda": sda, "sdb": sdb, "md2": {"w/s": asked, "wkB/s": 4 * asked}, "md0": {}}
    (finding,) = findings(report_of(iostat([sample]), rules=[RULE]))
    assert (finding.severity, finding.confidence) == (severity, "medium")
    assert "102,700 and 102,200 kB/s" in finding.summary
    assert any("pieces of 64.2 kB" in item.text for item in finding.evidence)


def test_a_check_that_only_totals_tell_has_no_unknown_size(report_of):
    """The plain report counts no reads apart: it shows no size of theirs."""
    rows = (
        "sda 61 4640 520 27225618 3049042\nsdb 61 4641 520 27225877 3048876\nmd2 62 9.8 495 57878 2903053\n"
    )
    text = f"Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n{rows}"
    (finding,) = [f for f in report_of(text, rules=[RULE]).findings if f.rule == RULE]
    assert "alike, for which no array was asked" in finding.summary
    assert not any("unknown" in item.text for item in finding.evidence)


@pytest.mark.parametrize(
    ("disks", "merges", "last", "written", "is_told"),
    [
        (4, 150, 1.0, 0, True),
        (2, 150, 1.0, 0, False),
        (4, 100, 1.0, 0, False),
        (4, 150, 1.1, 0, False),
        (4, 150, 1.0, 40, False),
    ],
    ids=["in step", "two", "larger than pages", "apart", "written"],
)
def test_disks_that_read_single_pages_in_step_may_be_checked_though_no_array_is_shown(
    report_of, disks, merges, last, written, is_told
):
    row = {
        "r/s": 250.0,
        "rrqm/s": float(merges),
        "rkB/s": 1600.0,
        "r_await": 3.0,
        "%util": 80.0,
        "aqu-sz": 0.8,
    }
    row |= {"w/s": written / 8, "wkB/s": float(written)}
    rows = {f"sd{letter}": row for letter in "abcd"[:disks]}
    rows["sda"] = {name: value * last if "/s" in name else value for name, value in row.items()}
    report = report_of(iostat([rows]), rules=["raid-resync-load"])
    assert (report.headline.startswith("Not determined; possibly: 4 disks read alike")) is is_told
    assert not is_told or report.findings[0].confirm[0] == "cat /proc/mdstat"
