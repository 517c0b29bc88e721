from __future__ import annotations

import pytest

from writers.captures import iostat

RULE = "backend-latency-shift"


def load(wait, rate, depth, size=4.0, direction="r"):
    other = "w" if direction == "r" else "r"
    return {
        f"{direction}/s": rate,
        f"{direction}kB/s": rate * size,
        f"{direction}_await": wait,
        f"{other}/s": 0.0,
        "aqu-sz": depth,
        "%util": 99.0,
    }


def capture(before, after, cpu=None, count=40):
    return iostat([{"sda": before}] * count + [{"sda": after}] * count, cpu)


def only(report):
    findings = [f for f in report.findings if f.rule == RULE]
    assert len(findings) <= 1
    return findings[0] if findings else None


STEADY = load(10.0, 1600.0, 16.0)


def test_a_lasting_step_at_the_same_demand_fires(report_of):
    finding = only(report_of(capture(STEADY, load(40.0, 400.0, 16.0)), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")
    assert finding.evidence[0].values["ratio"] == pytest.approx(4.0)
    assert "13:00:41" in finding.summary
    assert finding.samples == (40, 79)


@pytest.mark.parametrize(
    ("after", "cpu"),
    [
        (load(15.0, 1066.0, 16.0), None),
        (load(40.0, 1600.0, 64.0), None),
        (load(5.0, 3200.0, 16.0), None),
        (load(40.0, 400.0, 16.0, size=128.0), None),
        (load(40.0, 400.0, 16.0, direction="w"), None),
        (load(40.0, 400.0, 16.0), {"%user": 20.0, "%steal": 20.0, "%idle": 60.0}),
    ],
    ids=["too small", "deeper queue", "quicker", "larger requests", "other direction", "steal"],
)
def test_other_changes_do_not(report_of, after, cpu):
    assert only(report_of(capture(STEADY, after, cpu), rules=[RULE])) is None


def test_a_spike_is_no_step(report_of):
    text = iostat([{"sda": STEADY}] * 40 + [{"sda": load(40.0, 400.0, 16.0)}] * 6 + [{"sda": STEADY}] * 40)
    assert only(report_of(text, rules=[RULE])) is None
