from __future__ import annotations

import pytest

from writers.captures import iostat, vmstat

RULE = "steal-noisy-neighbour"


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


def run(steals, waits=None):
    reports = [
        iostat(
            [{"sda": {"r/s": 100.0, "rkB/s": 800.0, "r_await": wait, "aqu-sz": 0.1, "%util": 9.0}}],
            {"%user": 20.0, "%steal": steal, "%idle": 80.0 - steal},
        )
        .split("\n\n", 1)[1]
        .split("11/20/26 ")[2]
        .replace("13:00:01", f"13:00:{n + 1:02}")
        for n, (steal, wait) in enumerate(zip(steals, waits or [2.0] * len(steals), strict=True))
    ]
    first = iostat([{"sda": {}}], {"%idle": 100.0}).split("11/20/26 13:00:01")[0]
    return first + "".join(f"11/20/26 {report}" for report in reports)


@pytest.mark.parametrize(
    ("steals", "expected"),
    [
        ([6.0] * 20, ("notice", "low")),
        ([14.0] * 20, ("notice", "medium")),
        ([24.0] * 20, ("warning", "medium")),
        ([40.0] * 20, ("warning", "medium")),
        ([2.0] * 20, None),
        ([0.0] * 18 + [40.0, 40.0], ("notice", "medium")),
        ([90.0, 88.0], ("warning", "medium")),
        ([14.0], ("notice", "medium")),
    ],
    ids=[
        "possible",
        "likely",
        "half of what is wanted",
        "heavy",
        "little",
        "a moment",
        "all there is",
        "one sample",
    ],
)
def test_steal_by_amount_and_length(report_of, steals, expected):
    finding = only(report_of(run(steals), rules=[RULE]))
    assert ((finding.severity, finding.confidence) if finding else None) == expected


def test_latency_that_goes_with_steal_makes_it_storage_s_matter(report_of):
    steals = [12.0, 30.0, 14.0, 40.0, 16.0, 35.0, 18.0, 45.0, 20.0, 25.0, 13.0, 42.0]
    finding = only(report_of(run(steals, [steal / 4 for steal in steals]), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert finding.evidence[1].values["together"] == pytest.approx(1.0)


def test_a_source_without_steal_does_not_apply(report_of):
    text = "13:00:00 CPU %user %nice %system %idle\n13:00:01 all 1.0 0.0 3.0 96.0\n"
    assert [o.status for o in report_of(text, rules=[RULE]).outcomes] == ["not_applicable"]
    assert [o.status for o in report_of(vmstat([{"us": 3}] * 5), rules=[RULE]).outcomes] == ["clear"]
