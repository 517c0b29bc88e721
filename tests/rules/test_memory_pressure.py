from __future__ import annotations

import pytest

RULE = "memory-pressure"
HEADER = "%smem-10 %smem-60 %smem-300 %smem %fmem-10 %fmem-60 %fmem-300 %fmem"


def capture(shares):
    text = f"Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n13:00:00 {HEADER}\n"
    rows = (
        f"13:00:{2 * n + 2:02} 0 0 0 {some:.2f} 0 0 0 {full:.2f}\n" for n, (some, full) in enumerate(shares)
    )
    return text + "".join(rows)


def only(report):
    return next((f for f in report.findings if f.rule == RULE), None)


@pytest.mark.parametrize(
    ("shares", "told"),
    [
        ([(60, 45)] * 5, ("critical", "high")),
        ([(30, 2)] * 5, ("warning", "high")),
        ([(30, 12)], ("warning", "medium")),
        ([(30, 12)] + [(0, 0)] * 9, ("notice", "medium")),
    ],
)
def test_waits_for_memory_are_told_by_their_share(report_of, shares, told):
    finding = only(report_of(capture(shares), rules=[RULE]))
    assert (finding.severity, finding.confidence) == told


@pytest.mark.parametrize(("count", "status"), [(1, "undetermined"), (3, "clear")])
def test_little_pressure_is_clear_from_three_samples_on(report_of, count, status):
    report = report_of(capture([(3, 0.5)] * count), rules=[RULE])
    assert only(report) is None
    assert [o.status for o in report.outcomes] == [status]


PAGING = "pgpgin/s pgpgout/s fault/s majflt/s pgfree/s pgscank/s pgscand/s pgsteal/s %vmeff"
DISK = "13:00:00 DEV tps rkB/s wkB/s areq-sz aqu-sz await svctm %util\n13:00:02 sda 9 90 9 10 0.1 9 1 9\n"


def reclaim(rows):
    """`sar -B`: pages scanned by kswapd and by programs, the share of them that was freed, major faults."""
    text = f"Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n13:00:00 {PAGING}\n"
    for n, (kswapd, direct, share, major) in enumerate(rows):
        stolen = (kswapd + direct) * share / 100
        text += f"13:{n:02}:02 50000 400 290000 {major} 40000 {kswapd} {direct} {stolen:.2f} {share:.2f}\n"
    return text


CALM, STALLS, HARD = (3000, 0, 99.9, 0.1), (20000, 3300, 70, 0.1), (20000, 3300, 20, 0.1)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([CALM] * 4 + [STALLS] * 5, ("notice", "high")),
        ([STALLS], ("notice", "medium")),
        ([HARD] * 3, ("warning", "high")),
        ([CALM] * 20 + [HARD] * 3, ("notice", "high")),  # a moment
        ([(90000, 0, 85, 630)] * 5, ("notice", "high")),  # faults wait, and nothing but files may be short
        ([(20000, 3300, 70, 630)] * 5, ("warning", "high")),
    ],
)
def test_reclaim_that_programs_wait_for_is_told_without_pressure_columns(report_of, rows, told):
    finding = only(report_of(reclaim(rows), rules=[RULE]))
    assert (finding.severity, finding.confidence) == told


@pytest.mark.parametrize(
    ("rows", "status"),
    [
        ([(0, 0, 0, 0.1)] * 3, "clear"),
        ([(0, 0, 0, 0.1)], "undetermined"),
        ([CALM] * 5, "clear"),
        ([(300_000, 0, 60, 0.1)] * 5, "clear"),  # ahead of need
        ([(20000, 30, 70, 0.1)] * 5, "clear"),
        ([(9000, 5800, 99.9, 0.1)] * 5, "undetermined"),  # each page that is looked at can go
    ],
)
def test_reclaim_ahead_of_need_is_no_pressure(report_of, rows, status):
    report = report_of(reclaim(rows), rules=[RULE])
    assert only(report) is None
    assert [o.status for o in report.outcomes] == [status]


def test_beside_disks_their_own_rules_tell(report_of):
    report = report_of(reclaim([HARD] * 5) + "\n" + DISK, rules=[RULE])
    assert [o.status for o in report.outcomes] == ["not_applicable"]
