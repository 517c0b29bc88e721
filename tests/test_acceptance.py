"""The captures of the five documents, row by row: what must fire, what must not, which numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

import iodiag
from iodiag.model.finding import CONFIDENCES, SEVERITIES, Finding
from iodiag.model.report import Report

SEEDS = Path(__file__).parents[1] / "samples" / "seeds"

RAID5_TABLE = """\
vg-old: 0 1048576 raid raid5_ls 3 128 region_size 1024 4 - 253:82 - 253:84 - 253:86 - 253:88
vg-old_rimage_0: 0 349696 linear 8:16 2048
vg-old_rimage_1: 0 349696 linear 8:32 2048
vg-old_rimage_2: 0 349696 linear 8:48 2048
vg-old_rimage_3: 0 349696 linear 8:64 2048
"""
RAID5_INFO = """\
Name             Maj Min Stat Open Targ Event  UUID
vg-old           253  89 L--w    1    1      0 LVM-a
vg-old_rimage_0  253  82 L--w    1    1      0 LVM-b
vg-old_rimage_1  253  84 L--w    1    1      0 LVM-c
vg-old_rimage_2  253  86 L--w    1    1      0 LVM-d
vg-old_rimage_3  253  88 L--w    1    1      0 LVM-e
"""


def report_of(*names: str, context: str | None = None, tmp_path: Path | None = None) -> Report:
    captures = [iodiag.read(SEEDS / f"{name}.txt") for name in names]
    if context is not None:
        assert tmp_path is not None
        path = tmp_path / "context.txt"
        path.write_text(context)
        captures.append(iodiag.read(path))
    return iodiag.analyze(captures)


def found(report: Report, rule: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.rule == rule]


def one(report: Report, rule: str) -> Finding:
    findings = found(report, rule)
    assert findings, f"{rule} did not fire; fired {[f.rule for f in report.findings]}"
    return findings[0]


def status(report: Report, rule: str) -> set[str]:
    return {outcome.status for outcome in report.outcomes if outcome.rule == rule}


def sure(finding: Finding) -> int:
    return CONFIDENCES.index(finding.confidence)


def numbers(finding: Finding) -> list[float]:
    return [v for item in finding.evidence for v in item.values.values() if isinstance(v, (int, float))]


def has(finding: Finding, value: float, slack: float) -> bool:
    return any(abs(number - value) <= slack for number in numbers(finding))


def loud(report: Report) -> list[str]:
    return [f.rule for f in report.findings if SEVERITIES.index(f.severity) >= SEVERITIES.index("warning")]


def test_one_thread_at_96_percent():
    report = report_of("util-1-thread")
    assert one(report, "low-concurrency-bound").devices == ("dm-0",)
    assert not found(report, "true-saturation")
    assert not found(report, "util-false-alarm")
    # a dm device may stand on one disk: nothing here says
    assert "undetermined" in status(report, "util-false-alarm")


def test_four_threads_at_100_percent():
    report = report_of("util-4-threads")
    for rule in ("util-false-alarm", "true-saturation"):
        assert not found(report, rule)
        assert "undetermined" in status(report, rule)


def test_the_ladder_of_three_loads():
    report = report_of("util-ladder")
    false_alarm = one(report, "util-false-alarm")
    assert sure(false_alarm) >= 1
    assert has(false_alarm, 601.2 / 127.9, 0.05), "4.7x headroom behind 96.7 % busy"
    saturation = one(report, "true-saturation")
    assert has(saturation, 108.72 / 7.83, 0.05), "13.9x the unloaded latency"
    assert has(saturation, 4.0, 0.02), "about four requests overlap"
    svctm = one(report, "svctm-misread")
    assert has(svctm, 7.52, 0.001)
    assert has(svctm, 1.66, 0.001)
    assert not found(report, "volume-cap")
    assert not found(report, "fragmentation-sized-reads")


def test_a_fragmented_table_scan():
    report = report_of("fragmented-table-scan")
    finding = one(report, "fragmentation-sized-reads")
    assert has(finding, 1670 / 172.5, 0.005), "9.68 kB reads"
    assert has(finding, 100 * 1670 / 51200, 0.05), "3.3 % of 50 MB/s"
    assert not found(report, "true-saturation")
    assert not found(report, "util-false-alarm")
    low = "low-concurrency-bound"
    assert found(report, low) or low in finding.supersedes


def test_a_restored_table_scan():
    assert loud(report_of("restored-table-scan")) == []


def test_an_ssd_under_two_loads():
    report = report_of("ssd-two-loads")
    assert one(report, "util-false-alarm")
    assert one(report, "svctm-misread")
    approaching = one(report, "approaching-saturation")
    assert has(approaching, 209.4 / 56.4, 0.02), "3.7x the unloaded latency"
    assert not found(report, "true-saturation")


def test_an_ssd_under_the_deep_load_alone():
    report = report_of("ssd-deep-queue")
    assert one(report, "svctm-misread")
    for rule in ("util-false-alarm", "true-saturation"):
        assert all(finding.confidence == "low" for finding in found(report, rule))
    assert "undetermined" in status(report, "true-saturation")


def test_raid5_small_writes_inferred_and_known(tmp_path):
    inferred = one(report_of("raid5-small-writes-sar"), "raid-partial-stripe-write")
    assert inferred.confidence == "medium"
    known = one(
        report_of("raid5-small-writes-sar", context=RAID5_INFO + "\n" + RAID5_TABLE, tmp_path=tmp_path),
        "raid-partial-stripe-write",
    )
    assert known.confidence == "high"
    for finding in (inferred, known):
        assert has(finding, 4585.36 / 2559.05, 0.005), "1.79x write amplification"
        assert has(finding, 3407.13 / 2559.05, 0.005), "1.33 extra reads"
    long = one(report_of("raid5-small-writes-sar"), "interval-too-long")
    assert has(long, 423.86 / 0.5864, 0.5), "723 in flight while busy"


def test_raid5_large_reads():
    report = report_of("raid5-large-reads-sar")
    assert not found(report, "raid-partial-stripe-write")
    assert all(finding.confidence == "low" for finding in found(report, "slow-member"))


def test_the_disks_alone():
    report = report_of("raid5-disks-iostat")
    for rule in ("raid-partial-stripe-write", "slow-member"):
        assert all(finding.confidence == "low" for finding in found(report, rule))


def test_all_layers_with_a_resync_running():
    report = report_of("raid5-layers-iostat")
    slow = one(report, "slow-member")
    assert slow.confidence == "medium", "the resync that runs is a tenth of what the members do"
    assert "dm-82 on sdd" in slow.summary
    assert has(slow, 32.54, 0.001), "the LV's latency"
    assert has(slow, 32.59, 0.001), "is its slowest leg's"
    assert one(report, "raid-resync-load").severity == "info"
    assert not [f for f in found(report, "raid-partial-stripe-write") if "dm-89" in f.devices]


def test_the_slow_member_is_surer_over_three_captures():
    report = report_of("raid5-disks-iostat", "raid5-layers-iostat", "raid10-copy-iostat")
    assert any(finding.confidence != "low" for finding in found(report, "slow-member"))


def test_the_raid10_copy():
    report = report_of("raid10-copy-iostat")
    assert not found(report, "raid-partial-stripe-write")
    # 5,574 writes wait for it, and one of its disks is full: that alone is told
    assert set(loud(report)) == {"true-saturation"}
    assert one(report, "true-saturation").confidence == "medium"


def test_a_commit_stall_in_vmstat_alone():
    report = report_of("commit-stall-vmstat")
    assert one(report, "first-report-since-boot")
    misread = one(report, "iowait-misread")
    assert has(misread, 51.1, 0.05), "idle and iowait are available"
    assert has(misread, 5.2, 0.05)
    assert one(report, "serialized-commit").confidence == "low"
    assert loud(report) == []


def test_a_commit_stall_with_sessions_and_setting():
    report = report_of("commit-stall-vmstat", "commit-stall-processlist", "commit-stall-setting")
    finding = one(report, "serialized-commit")
    assert finding.confidence == "high"
    assert finding.severity in ("warning", "critical")
    assert has(finding, 9, 0)
    assert has(finding, 11, 0)


@pytest.mark.parametrize("path", sorted(SEEDS.glob("*.txt")), ids=lambda p: p.stem)
def test_no_rule_fails_and_every_rule_has_an_outcome(path):
    from iodiag.rules import all_rules

    report = iodiag.analyze(iodiag.read(path))
    assert {outcome.rule for outcome in report.outcomes} == set(all_rules())
    assert not [outcome for outcome in report.outcomes if outcome.status == "error"]
