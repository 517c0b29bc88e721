from __future__ import annotations

import pytest

from sample_files import SAMPLES
from writers.captures import iostat

RULE = "device-health"
CALM = {"r/s": 40.0, "rkB/s": 320.0, "r_await": 5.0, "aqu-sz": 0.2, "%util": 20.0}
STALLS = {"r/s": 2.0, "rkB/s": 16.0, "r_await": 3000.0, "aqu-sz": 6.0, "%util": 100.0}


def smartctl(*rows, status="PASSED", disk="sdb"):
    table = "".join(
        f"{n:3} {name:<23} 0x0012   100   100   000    Old_age   Always       -       {raw}\n"
        for n, name, raw in rows
    )
    return (
        f"# smartctl -a /dev/{disk}\nsmartctl 7.3 2022-02-28 r5338 [x86_64-linux-6.1.0] (local build)\n\n"
        f"SMART overall-health self-assessment test result: {status}\n\n"
        "ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE\n"
        + table
    )


PENDING = (197, "Current_Pending_Sector", 24)


def findings(report):
    return [f for f in report.findings if f.rule == RULE]


@pytest.mark.parametrize(
    ("listing", "words"),
    [
        (smartctl(PENDING), "pending (unreadable) sectors: 24"),
        (smartctl(status="FAILED!"), "SMART status: FAILED"),
        ((SAMPLES / "nvme-smart-log/worn.json").read_text(), "critical warning: 0x01"),
    ],
)
def test_a_disk_that_fails_is_trouble_however_calm_the_samples(report_of, listing, words):
    report = report_of(iostat([{"sdb": CALM, "nvme1n1": CALM}] * 10), listing)
    (finding,) = findings(report)
    assert (finding.severity, finding.confidence) == ("warning", "high")
    assert words in finding.summary
    assert report.verdict.state == "trouble"


@pytest.mark.parametrize(
    ("row", "severity"),
    [
        ((187, "Reported_Uncorrect", 3), "notice"),
        ((199, "UDMA_CRC_Error_Count", 3), None),
        ((199, "UDMA_CRC_Error_Count", 4711), "notice"),
        ((5, "Reallocated_Sector_Ct", 12), None),
    ],
)
def test_what_was_counted_over_a_life_is_a_note_at_most(report_of, row, severity):
    report = report_of(iostat([{"sdb": CALM}] * 10), smartctl(row))
    assert [finding.severity for finding in findings(report)] == ([severity] if severity else [])
    assert any("cable" in text for f in findings(report) for text in f.remedy) == (row[2] == 4711)


def test_pending_sectors_explain_requests_that_take_seconds(report_of):
    report = report_of(iostat([{"sda": CALM, "sdb": STALLS}] * 10), smartctl(PENDING))
    explained = {f.rule: f.explained_by for f in report.findings if f.devices == ("sdb",)}
    assert explained[RULE] is None
    assert explained["extreme-latency"] == RULE
    assert report.verdict.rule == RULE


def test_a_clean_listing_speaks_against_the_slow_disk_itself(report_of):
    report = report_of(iostat([{"sda": CALM, "sdb": STALLS}] * 10), smartctl((5, "Reallocated_Sector_Ct", 0)))
    said = [
        item for f in report.findings if f.rule in ("extreme-latency", "slow-member") for item in f.evidence
    ]
    assert [item.weighs for item in said if "reports reallocated sectors: 0" in item.text]
    assert {item.weighs for item in said if "reports reallocated sectors: 0" in item.text} == {"against"}


def test_a_listing_alone_is_judged(report_of):
    (finding,) = findings(report_of(smartctl(PENDING)))
    assert finding.devices == ("sdb",)


def test_without_a_listing_the_rule_does_not_apply(report_of):
    report = report_of(iostat([{"sdb": CALM}] * 10), rules=[RULE])
    assert {outcome.status for outcome in report.outcomes} == {"not_applicable"}


STORCLI = (SAMPLES / "raid-controller/storcli.txt").read_text()
SECOND = STORCLI.replace("Controller = 0", "Controller = 1").replace("/c0", "/c1").replace("sda", "sdb")


@pytest.mark.parametrize("listings", [(STORCLI,), (SECOND,), (STORCLI, SECOND)])
def test_a_disk_behind_a_controller_is_that_of_its_only_volume(report_of, listings):
    report = report_of(iostat([{"sda": CALM, "sdb": CALM, "sdc": CALM}] * 10), *listings, rules=[RULE])
    found = {f.devices: f.summary for f in findings(report) if "252:3" in f.summary or "e252" in f.summary}
    assert sorted(found) == [("sda",)] * (STORCLI in listings) + [("sdb",)] * (SECOND in listings)
    assert all(f"(below {name})" in text for (name,), text in found.items())


def test_disks_with_a_like_load_are_one_finding_only_where_they_report_the_same(report_of):
    samples = iostat([{"sda": CALM, "sdb": CALM}] * 10)
    broken, worn = smartctl(status="FAILED!", disk="sda"), smartctl(PENDING)
    assert {f.devices for f in findings(report_of(samples, broken, worn))} == {("sda",), ("sdb",)}
    (both,) = findings(report_of(samples, broken, smartctl(status="FAILED!")))
    assert both.devices == ("sda", "sdb")
