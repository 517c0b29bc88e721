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
