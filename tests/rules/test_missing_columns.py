"""A column that is not printed is unknown: it never makes clear what was found or left open with it."""

from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load

LOADS = {
    "commits": {"w/s": 900.0, "wkB/s": 3600.0, "w_await": 0.4, "aqu-sz": 1.2, "%util": 95.0}
    | {"f/s": 450.0, "f_await": 1.9},
    "small reads": {"r/s": 110.0, "rkB/s": 1080.0, "r_await": 8.9, "aqu-sz": 0.98, "%util": 98.0},
    "held at a rate": load(3000, 8, size=8, reads=0.6, util=100.0),
    "one reader": load(900, 1.1, size=4, util=99.0),
    "slow reads, quick writes": {"r/s": 3.0, "rkB/s": 12.0, "r_await": 3000.0, "w/s": 300.0, "wkB/s": 1200.0}
    | {"w_await": 0.5, "aqu-sz": 9.2, "%util": 90.0},
    "directions apart": {"r/s": 100.0, "rkB/s": 800.0, "r_await": 12.0, "w/s": 100.0, "wkB/s": 800.0}
    | {"w_await": 1.0, "aqu-sz": 1.3, "%util": 80.0},
    "pages beside writes": {"r/s": 90.0, "rkB/s": 1440.0, "r_await": 11.0, "w/s": 40.0, "wkB/s": 640.0}
    | {"w_await": 0.3, "aqu-sz": 1.0, "%util": 97.0},
    "a full disk": load(150, 90, size=8, reads=0.5, depth=13.5, util=100.0),
}


def statuses(report):
    found = {}
    for outcome in report.outcomes:
        for device in outcome.devices:
            if found.get((outcome.rule, device)) != "finding":
                # a cause that is left open for another rule's symptom alone
                is_left_open = outcome.reason.startswith("not seen (")
                found[outcome.rule, device] = "clear" if is_left_open else outcome.status
    return found


def without(text: str, column: str) -> str:
    """The capture as it is printed with one column of its tables of devices left out."""
    lines, place = [], 0
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["Device"]:
            place = words.index(column)
        if words and place and words[0] in ("Device", "sda"):
            line = " ".join(words[:place] + words[place + 1 :])
        lines.append(line)
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", LOADS)
@pytest.mark.parametrize("samples", [1, 10])
def test_no_rule_becomes_clear_without_a_column(report_of, name, samples):
    text = iostat([{"sda": LOADS[name]}] * samples)
    whole = statuses(report_of(text))
    for column in ("r/s", "rkB/s", "r_await", "w/s", "wkB/s", "w_await", "f/s", "f_await", "aqu-sz", "%util"):
        report = report_of(without(text, column))
        cleared = {key for key, status in statuses(report).items() if status == "clear"}
        wrong = {key for key in cleared if whole.get(key, "clear") in ("undetermined", "finding")}
        # what averages since boot are told by is no matter of devices
        assert {rule for rule, _ in wrong} == set(), column


def test_a_capture_without_bytes_does_not_call_commits_healthy(report_of):
    text = without(iostat([{"sda": LOADS["commits"]}] * 5), "wkB/s")
    assert report_of(text).verdict.state != "healthy"


SHORT = """\
Device: rsec/s  wsec/s avgrq-sz avgqu-sz  await svctm %util
sdb       0.00 3101.12    10.09    32.83 105.39  1.34 29.36
"""


def test_rates_follow_from_bytes_and_sizes(report_of):
    (state,) = report_of(SHORT).states
    assert state.per_s == pytest.approx(3101.12 / 10.09, rel=0.01)
    assert state.direction == "writes"
    assert state.in_flight == pytest.approx(32.83 / 0.2936, rel=0.01)


def test_rates_that_contradict_each_other_are_not_made_up(report_of):
    report = report_of(SHORT.replace("105.39", "905.39"))
    reasons = {outcome.reason for outcome in report.outcomes if outcome.status == "undetermined"}
    assert "the capture lacks its requests per second" in reasons
    assert not any("completed 0 requests" in reason for reason in reasons)


def test_no_rule_fails_where_the_bytes_of_reads_are_not_printed(report_of):
    rows = [load(100, 2.5, size=40, reads=0.0, util=30.0), load(100, 2.5, size=40, reads=0.5, util=96.0)]
    for at in (rows[:1] * 6, rows * 3, rows[1:] * 6):
        report = report_of(without(iostat([{"sda": row} for row in at]), "rkB/s"))
        assert [outcome for outcome in report.outcomes if outcome.status == "error"] == []


@pytest.mark.parametrize(
    "zero", [("wkB/s",), ("rkB/s", "wkB/s"), ("w_await",), ("r_await", "w_await"), ("aqu-sz",)], ids=" ".join
)
@pytest.mark.parametrize("name", LOADS)
@pytest.mark.parametrize("samples", [1, 5])
def test_no_rule_fails_where_a_column_is_printed_as_zero(report_of, name, zero, samples):
    rows = [LOADS[name] | {column: 0.0 for column in zero}] * samples
    report = report_of(iostat([{"sda": row} for row in rows] + [{"sda": LOADS["one reader"]}]))
    assert [outcome for outcome in report.outcomes if outcome.status == "error"] == []
