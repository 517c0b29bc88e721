from __future__ import annotations

import pytest

from writers.captures import iostat, vmstat

RULE = "blocked-tasks"


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


@pytest.mark.parametrize(
    ("blocked", "options", "expected"),
    [
        ([6] * 20, {}, "medium"),
        ([6] * 20, {"cpus": 4}, "medium"),
        ([6] * 20, {"cpus": 8}, None),
        ([2] * 20, {}, None),
        ([0] * 10 + [6, 6], {}, None),
    ],
    ids=["six", "on four CPUs", "on eight CPUs", "two", "a moment"],
)
def test_blocked_tasks_by_number_and_length(report_of, blocked, options, expected):
    finding = only(report_of(vmstat([{"b": b} for b in blocked]), rules=[RULE], **options))
    assert (finding.confidence if finding else None) == expected
    if finding:
        assert finding.severity == "notice"


@pytest.mark.parametrize(
    ("depth", "weighs", "text"),
    [(6.0, "for", "wait for their own"), (90.0, "against", "background"), (0.0, "context", "NFS")],
)
def test_requests_in_flight_tell_who_they_are(report_of, depth, weighs, text):
    disk = {"w/s": 90.0, "wkB/s": 9000.0, "w_await": 5.0, "aqu-sz": depth, "%util": 99.0}
    finding = only(report_of(vmstat([{"b": 6}] * 20), iostat([{"sda": disk}] * 20), rules=[RULE]))
    assert finding.evidence[1].weighs == weighs
    assert text in finding.evidence[1].text


def test_a_load_average_alone_is_weak(report_of):
    text = "13:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15\n"
    text += "".join(f"13:00:{second:02} 1 90 9.0 9.0 9.0\n" for second in range(1, 40))
    assert only(report_of(text, rules=[RULE])).confidence == "low"


def test_without_a_queue_it_does_not_apply(report_of):
    report = report_of(iostat([{"sda": {}}] * 3), rules=[RULE])
    assert [o.status for o in report.outcomes] == ["not_applicable"]
