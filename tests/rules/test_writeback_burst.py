from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d, vmstat

RULE = "writeback-burst"
CALM = {
    "r/s": 50.0,
    "rkB/s": 800.0,
    "r_await": 2.0,
    "w/s": 5.0,
    "wkB/s": 100.0,
    "w_await": 1.0,
    "aqu-sz": 0.1,
    "%util": 9.0,
}
FLOOD = CALM | {"w/s": 400.0, "wkB/s": 90000.0, "w_await": 60.0, "aqu-sz": 24.0, "%util": 99.0}


def capture(read_wait=30.0, bursts=4, flood=FLOOD, apart=14):
    one = [{"sda": CALM}] * apart + [{"sda": flood | {"r_await": read_wait}}] * 2
    return iostat(one * bursts)


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


def outcome(report):
    return next(o for o in report.outcomes if o.rule == RULE and o.status != "finding")


def test_reads_behind_floods_of_writes(report_of):
    finding = only(report_of(capture(), rules=[RULE]))
    assert (finding.severity, finding.confidence, finding.devices) == ("warning", "medium", ("sda",))
    values = {k: v for item in finding.evidence for k, v in item.values.items()}
    assert values["count"] == 4
    assert values["harm"] == pytest.approx(15.0)
    assert values["period"] == pytest.approx(16.0)


def test_floods_that_nobody_waits_for_are_only_told(report_of):
    finding = only(report_of(capture(read_wait=2.0), vmstat([{"b": 0}] * 60), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("info", "low")


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (capture(bursts=2), "undetermined"),
        (capture(read_wait=2.0, flood=FLOOD | {"w_await": 3.0}), "clear"),
        (capture(flood=FLOOD | {"aqu-sz": 2.0}), "clear"),
        (iostat([{"sda": FLOOD}] * 40), "clear"),
    ],
    ids=["two bursts", "no harm", "no queue", "steady writing"],
)
def test_other_patterns_do_not(report_of, text, status):
    report = report_of(text, rules=[RULE])
    assert only(report) is None
    assert outcome(report).status == status


def memory(dirty, blocked):
    clocks = [f"13:00:{second:02}" for second in range(2, 42, 2)]
    text = "Linux 6.1.0 (box) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"
    text += (
        "13:00:00 kbmemfree kbavail kbmemused %memused kbbuffers kbcached kbcommit %commit kbactive kbinact"
    )
    text += " kbdirty\n"
    text += "".join(f"{c} 80000 800000 900000 90.0 1000 800000 9000 1.0 100 100 {dirty}\n" for c in clocks)
    text += "\n13:00:00 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked\n"
    return text + "".join(f"{c} 1 90 1.0 1.0 1.0 {blocked}\n" for c in clocks)


@pytest.mark.parametrize(
    ("dirty", "blocked", "fires"), [(154000, 4, True), (154000, 0, False), (20000, 4, False)]
)
def test_writers_are_braked_where_too_much_is_dirty(report_of, dirty, blocked, fires):
    finding = only(report_of(memory(dirty, blocked), rules=[RULE]))
    assert bool(finding) is fires
    if finding:
        assert "throttled" in finding.summary
        assert finding.severity == "warning"
        assert finding.evidence[0].values["share"] == pytest.approx(19.25)


def test_without_writes_or_dirty_memory_it_does_not_apply(report_of):
    text = vmstat([{"bo": 9}] * 3)
    assert [o.status for o in report_of(text, rules=[RULE]).outcomes] == ["not_applicable"]
    plain = sar_d([{"sda": {"tps": 9.0, "wkB/s": 90.0, "await": 1.0, "aqu-sz": 0.1}}] * 5)
    assert [o.status for o in report_of(plain, rules=[RULE]).outcomes] == ["clear"]
