from __future__ import annotations

import pytest

from writers.captures import iostat

RULE = "discard-stall"
READS = {"r/s": 200.0, "rkB/s": 1600.0, "r_await": 1.5, "aqu-sz": 0.3, "%util": 30.0}
DISCARDS = {"d/s": 40.0, "dkB/s": 40960.0, "d_await": 20.0}


def capture(wait_beside, quiet=20, beside=20, **changes):
    noise = [0.9, 1.0, 1.1, 1.05, 0.95]
    calm = [{"sda": READS | {"r_await": READS["r_await"] * noise[n % 5]}} for n in range(quiet)]
    held = [
        {"sda": READS | DISCARDS | {"r_await": wait_beside * noise[n % 5]} | changes} for n in range(beside)
    ]
    return iostat(calm + held)


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


def outcome(report):
    return next(o for o in report.outcomes if o.rule == RULE and "sda" in o.devices)


def test_reads_that_wait_beside_discards_fire(report_of):
    finding = only(report_of(capture(9.0), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    values = finding.evidence[0].values
    assert values["ratio"] == pytest.approx(6.0)
    assert values["chance"] < 1


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (capture(2.0), "clear"),
        (capture(9.0, beside=2), "undetermined"),
        (capture(9.0, quiet=0), "undetermined"),
        (iostat([{"sda": READS}] * 9), "clear"),
    ],
    ids=["as quick", "few with", "none without", "no discards"],
)
def test_other_captures_do_not(report_of, text, status):
    report = report_of(text, rules=[RULE])
    assert only(report) is None
    assert outcome(report).status == status


def test_a_few_samples_with_discards_are_enough_where_chance_is_ruled_out(report_of):
    report = report_of(capture(14.0, quiet=9, beside=4))
    assert only(report).evidence[0].values["chance"] < 1
    assert report.verdict.state == "trouble"


def test_the_size_of_discards_does_not_excuse_reads_that_wait(report_of):
    """Two samples are too few for the rule: the verdict is not healthy all the same."""
    quick = {"sda": READS | {"r_await": 0.13, "aqu-sz": 0.03, "%util": 3.0}}
    held = {"sda": READS | DISCARDS | {"r_await": 14.0, "aqu-sz": 3.6, "%util": 66.0}}
    text = iostat([quick, quick, held, quick, quick, held, quick, held] * 2)
    assert report_of(text, rules=["true-saturation"]).verdict.state == "unknown"


def test_slow_discards_fire_by_themselves(report_of):
    finding = only(report_of(capture(1.5, **{"d_await": 90.0}), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")
    assert "90 ms" in finding.summary


def test_a_ratio_by_chance_does_not_fire(report_of):
    waits = [1.0, 40.0, 1.0, 1.0, 1.0, 1.0]
    text = iostat(
        [{"sda": READS | {"r_await": 1.0}}] * 6
        + [{"sda": READS | DISCARDS | {"r_await": wait}} for wait in waits]
    )
    assert only(report_of(text, rules=[RULE])) is None


FULL = {"d/s": 13.0, "dkB/s": 3e6, "d_await": 940.0, "w/s": 20.0, "wkB/s": 160.0, "w_await": 400.0}
FULL |= {"aqu-sz": 20.2, "%util": 100.0}


@pytest.mark.parametrize(
    ("changes", "is_told"),
    [
        ({}, True),
        ({"d/s": 1.0}, False),
        ({"%util": 60.0}, False),
        ({"w/s": 200.0, "aqu-sz": 92.2}, False),
        ({"w/s": 0.0, "wkB/s": 0.0, "w_await": 0.0, "aqu-sz": 12.2}, False),
        ({"w_await": 0.1, "aqu-sz": 12.2}, False),
    ],
    ids=[
        "most in flight",
        "too few to know",
        "idle at times",
        "writes are most",
        "nothing else",
        "quick writes",
    ],
)
def test_discards_that_fill_a_device_are_a_cost(report_of, changes, is_told):
    finding = only(report_of(iostat([{"sda": FULL | changes}] * 2), rules=[RULE]))
    assert (finding is not None and finding.severity == "warning") == is_told
    if is_told:
        assert "12.22 of 20.2" in finding.summary
        assert "writes take up to 400 ms meanwhile" in finding.summary


def test_a_device_that_discards_fill_is_not_called_saturated_first(report_of):
    report = report_of(iostat([{"sda": FULL}] * 2))
    assert report.verdict.rule == RULE
