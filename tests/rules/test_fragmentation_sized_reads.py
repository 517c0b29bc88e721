from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d

RULE = "fragmentation-sized-reads"
HDD = "NAME ROTA TYPE\nsda     1 disk\n"
SSD = "NAME ROTA TYPE\nsda     0 disk\n"
FRAGMENTS = {"r/s": 170.0, "rkB/s": 1670.0, "r_await": 5.9, "aqu-sz": 1.0, "%util": 97.0}
HDPARM = "/dev/sda:\n Timing buffered disk reads: 150 MB in  3.00 seconds =  50.00 MB/sec\n"
TABLE = "MyISAM file: /t\nRecords: 6000000\nRecordlinks: 8040000\nBlocks/Record: 1.34\n"
ARTICLE = """
Device: rrqm/s wrqm/s r/s w/s rsec/s wsec/s rkB/s wkB/s avgrq-sz avgqu-sz await svctm %util
sda 0.00 0.70 172.50 1.20 3340.00 15.20 1670.00 7.60 19.32 1.02 5.90 5.60 97.22
"""


def run(samples=20, **changes):
    return iostat([{"sda": FRAGMENTS | changes}] * samples)


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


def outcome(report, device="sda"):
    return next(o for o in report.outcomes if o.rule == RULE and device in o.devices)


@pytest.mark.parametrize(
    ("context", "severity", "confidence"),
    [
        ((), "notice", "low"),
        ((HDD,), "notice", "medium"),
        ((HDD, HDPARM), "warning", "high"),
    ],
)
def test_small_unmerged_reads_on_a_busy_disk_fire(report_of, context, severity, confidence):
    finding = only(report_of(run(), *context, rules=[RULE]))
    assert (finding.severity, finding.confidence) == (severity, confidence)
    assert finding.devices == ("sda",)
    assert "9.82 kB" in finding.summary


def test_the_article_of_the_fragmented_table(report_of):
    finding = only(report_of(ARTICLE, HDPARM, rules=[RULE]))
    numbers = {name: value for item in finding.evidence for name, value in item.values.items()}
    assert numbers["size"] == pytest.approx(9.68, abs=0.005)
    assert numbers["share"] == pytest.approx(3.26, abs=0.01)
    assert finding.confidence == "medium"  # one sample: no surer than another witness makes it


@pytest.mark.parametrize(("rate", "fires"), [(40.0, True), (34.0, True), (30.0, False), (8.0, False)])
@pytest.mark.parametrize("context", [(), (HDD,)], ids=["unknown", "spinning"])
def test_what_takes_longer_than_any_seek_is_none(report_of, context, rate, fires):
    slow = {"r/s": rate, "rkB/s": 5.5 * rate, "r_await": 5000 / rate, "aqu-sz": 5.0, "%util": 100.0}
    report = report_of(run(**slow), *context, rules=[RULE])
    assert (only(report) is not None) == fires
    assert fires or "no seek of any disk" in outcome(report).reason


@pytest.mark.parametrize(
    "changes",
    [
        {"rrqm/s": 30.0},
        {"rkB/s": 170 * 110.0},
        {"%util": 30.0, "aqu-sz": 0.3},
        {"w/s": 200.0, "wkB/s": 800.0},
        {"r/s": 2500.0, "rkB/s": 24000.0},
    ],
    ids=["merged", "large", "not busy", "writes too", "as fast as streaming"],
)
def test_near_misses_stay_clear(report_of, changes):
    report = report_of(run(**changes), HDD, rules=[RULE])
    assert only(report) is None
    assert outcome(report).status == "clear"


def test_flash_has_no_seeks_to_save(report_of):
    report = report_of(run(), SSD, rules=[RULE])
    assert only(report) is None
    assert "it does not spin" in outcome(report).reason


def test_what_does_not_spin_is_said_of_devices_that_read(report_of):
    flushed = {"w/s": 400.0, "wkB/s": 90000.0, "w_await": 4.0, "aqu-sz": 1.6, "%util": 97.0}
    for row, reason in ((FRAGMENTS, "does not spin by its name (nvme)"), (flushed, "no busy stretch of")):
        report = report_of(iostat([{"nvme1n1": row}] * 20), rules=[RULE])
        assert reason in outcome(report, "nvme1n1").reason


@pytest.mark.parametrize(("others", "status"), [(0.0, "finding"), (60000.0, "clear")])
def test_a_volume_does_not_seek_where_its_disk_streams(report_of, others, status):
    volume = "NAME KNAME TYPE ROTA\nsda sda disk 1\n`-vg-lv dm-0 lvm 1\n"
    disk = FRAGMENTS | {"r/s": 170.0 + others / 30, "rkB/s": 1670.0 + others}
    report = report_of(iostat([{"sda": disk, "dm-0": FRAGMENTS}] * 20), volume, rules=[RULE])
    assert {o.status for o in report.outcomes if "dm-0" in o.devices} == {status}
    assert (only(report) is None) == (status == "clear")


@pytest.mark.parametrize(
    ("context", "depth", "severity"),
    [((), 1.0, "info"), ((), 16.0, "notice"), ((HDD,), 1.0, "notice"), ((HDD,), 16.0, "notice")],
)
def test_database_pages_are_no_fragments(report_of, context, depth, severity):
    pages = {"r/s": 128.0, "rkB/s": 128 * 15.9, "r_await": 7.8, "aqu-sz": depth}
    finding = only(report_of(run(**pages), *context, rules=[RULE]))
    assert (finding.severity if finding else None) == severity
    if finding:
        assert "16 kB pages" in finding.summary


QUEUED = {"r/s": 100.0, "rkB/s": 982.0, "r_await": 40.0, "aqu-sz": 4.0, "%util": 100.0}


@pytest.mark.parametrize(
    ("name", "before", "sure"),
    [
        ("sda", {}, "medium"),
        ("vda", {}, "low"),
        ("sda", QUEUED | {"r/s": 50.0, "r_await": 20.0, "aqu-sz": 1.0}, "low"),
    ],
    ids=["serves one after the other", "may be limited", "does more with more"],
)
def test_a_queue_that_speeds_nothing_up_is_a_disk_that_turns(report_of, name, before, sure):
    text = (
        run(10, **QUEUED)
        if not before
        else iostat([{"sda": before}] * 4 + [{"sda": FRAGMENTS | QUEUED}] * 10)
    )
    finding = only(report_of(text.replace("sda", name), rules=[RULE]))
    assert finding.confidence == sure


@pytest.mark.parametrize(
    ("rate", "context", "seeks"),
    [(1400.0, (), False), (520.0, (), False), (420.0, (), True), (1400.0, (HDD,), True)],
    ids=["flash", "an array", "quick seeks", "it spins"],
)
def test_a_device_too_quick_to_seek_is_not_said_to(report_of, rate, context, seeks):
    finding = only(
        report_of(run(**{"r/s": rate, "rkB/s": 6.7 * rate, "aqu-sz": 3.3}), *context, rules=[RULE])
    )
    assert ("seeks" in finding.summary, "seek" in finding.title) == (seeks, seeks)
    if not context:
        assert finding.confidence == "low"
        assert any(item.weighs == "against" for item in finding.evidence) == (rate > 500)


def test_its_own_large_reads_are_the_yardstick(report_of):
    large = {"r/s": 400.0, "rkB/s": 40000.0, "r_await": 4.0, "aqu-sz": 1.6, "%util": 80.0}
    text = iostat([{"sda": FRAGMENTS}] * 20 + [{"sda": large}] * 3)
    finding = only(report_of(text, HDD, rules=[RULE]))
    assert finding.evidence[1].values["share"] == pytest.approx(100 * 1670 / 40000)
    assert finding.samples == (0, 19)


def test_sar_without_directions_is_bounded_by_bytes_or_undetermined(report_of):
    row = {"tps": 173.7, "rkB/s": 1670.0, "wkB/s": 7.6, "areq-sz": 9.66, "aqu-sz": 1.02, "await": 5.9}
    few = report_of(sar_d([{"sda": row | {"%util": 97.0}}] * 10), HDD, rules=[RULE])
    assert only(few).evidence[0].values["size"] == pytest.approx(1670 / (173.7 - 1.9))
    many = sar_d([{"sda": row | {"%util": 97.0, "wkB/s": 300.0}}] * 10)
    assert outcome(report_of(many, HDD, rules=[RULE])).status == "undetermined"


def test_members_of_a_parity_array_read_split_pieces(report_of):
    lsblk = "NAME  ROTA TYPE\nsda      1 disk\n`-md0    1 raid5\nsdb      1 disk\n`-md0    1 raid5\n"
    member = {"r/s": 150.0, "rkB/s": 600.0, "r_await": 6.0, "aqu-sz": 0.9, "%util": 90.0}
    array = {"r/s": 18.0, "rkB/s": 1200.0, "r_await": 20.0, "aqu-sz": 0.4, "%util": 40.0}
    report = report_of(iostat([{"sda": member, "sdb": member, "md0": array}] * 10), lsblk, rules=[RULE])
    assert only(report) is None
    assert "md0" in outcome(report).reason


def test_an_array_speaks_for_its_members(report_of):
    lsblk = "NAME  ROTA TYPE\nsda      1 disk\n`-md0    1 raid0\nsdb      1 disk\n`-md0    1 raid0\n"
    half = FRAGMENTS | {"r/s": 85.0, "rkB/s": 835.0}
    report = report_of(iostat([{"sda": half, "sdb": half, "md0": FRAGMENTS}] * 10), lsblk, rules=[RULE])
    assert only(report).devices == ("md0",)


def test_without_a_disk_table_it_does_not_apply(report_of):
    text = (
        " r  b swpd free buff cache si so bi bo in cs us sy id wa\n"
        + " 1  0 0 9 9 9 0 0 1 1 5 5 1 1 98 0\n" * 3
    )
    report = report_of(text, rules=[RULE])
    assert [(o.status, o.missing) for o in report.outcomes] == [("not_applicable", ("disk",))]


STRIPE = (
    "NAME TYPE ROTA\nsda disk 1\n`-md0 raid0 1\nsdb disk 1\n`-md0 raid0 1\n"
    "sdc disk 1\n`-md0 raid0 1\nsdd disk 1\n`-md0 raid0 1\n"
)


@pytest.mark.parametrize(
    ("depth", "fires"),
    [
        (1.0, True),  # one reader, however many disks there are
        (2.0, False),  # any disk may be at work all the time, yet each works half of it
        (6.0, True),
    ],
)
def test_an_array_is_busy_when_its_disks_are(report_of, depth, fires):
    changes = {"aqu-sz": depth, "r_await": 1000 * depth / FRAGMENTS["r/s"]}
    report = report_of(iostat([{"md0": FRAGMENTS | changes}] * 20), STRIPE, rules=[RULE])
    assert (only(report) is not None) is fires


@pytest.mark.parametrize(
    ("size", "written", "confidence"),
    [(4.0, 0.0, "medium"), (8.0, 0.0, "medium"), (8.0, 6.0, "low")],
    ids=["single pages", "small, not told whether merged", "beside some writes"],
)
def test_sar_counts_reads_apart_where_nothing_is_written(report_of, size, written, confidence):
    row = {"tps": 116.0, "rkB/s": 116 * size, "wkB/s": written, "areq-sz": size, "aqu-sz": 1.98}
    finding = only(report_of(sar_d([{"sda": row | {"await": 17.0, "%util": 100.0}}] * 5), rules=[RULE]))
    assert finding.confidence == confidence


@pytest.mark.parametrize(("other", "is_judged"), [(400.0, False), (10.0, True)])
def test_a_volume_that_shares_its_disk_does_not_speak_for_it(report_of, other, is_judged):
    more = FRAGMENTS | {"r/s": other, "rkB/s": 16 * other}
    disk = FRAGMENTS | {"r/s": 170.0 + other, "rkB/s": 1670.0 + 16 * other}
    tree = "NAME KNAME ROTA TYPE\nsda sda 1 disk\n|-vg-a dm-0 1 lvm\n`-vg-b dm-1 1 lvm\n"
    report = report_of(iostat([{"sda": disk, "dm-0": FRAGMENTS, "dm-1": more}] * 20), tree, rules=[RULE])
    assert (outcome(report, "dm-0").status == "finding") is is_judged
    assert is_judged or "sda serves other volumes as well" in outcome(report, "dm-0").reason


@pytest.mark.parametrize("device", ["xvda", "vda"])
def test_a_guest_s_volume_is_not_said_to_seek(report_of, device):
    slow = FRAGMENTS | {"r/s": 90.0, "rkB/s": 900.0, "r_await": 180.0, "aqu-sz": 16.0, "%util": 99.0}
    spins = HDD.replace("sda", device)
    for context in ((), (spins,)):
        finding = only(report_of(iostat([{device: slow}] * 20), *context, rules=[RULE]))
        assert finding.severity == "info"
        assert "seek" not in " ".join((finding.title, finding.summary, *(e.text for e in finding.evidence)))


def test_the_sample_that_ends_a_hang_is_no_read_of_the_pattern(report_of):
    silent = {"r/s": 0.0, "rkB/s": 0.0, "r_await": 0.0, "aqu-sz": 0.0, "%util": 100.0}
    late = {"r/s": 4.0, "rkB/s": 40.0, "r_await": 9000.0, "aqu-sz": 36.0, "%util": 100.0}
    rows = [*[FRAGMENTS] * 6, *[silent] * 8, late, *[FRAGMENTS] * 20]
    finding = only(report_of(iostat([{"sda": row} for row in rows]), HDD, rules=[RULE]))
    assert finding.samples == (15, 34)
