from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d

RULE = "coalescing-loss"
HDD = "NAME ROTA TYPE\nsda     1 disk\n"


def writes(merged, arriving=2000.0, kb=8000.0):
    """`arriving` writes per second of which a share merges."""
    rate = arriving * (1 - merged)
    return {
        "sda": {"w/s": rate, "wrqm/s": arriving * merged, "%wrqm": 100 * merged, "wkB/s": kb, "%util": 50.0}
    }


def findings(report):
    return [f for f in report.findings if f.rule == RULE]


def outcome(report):
    return next(o for o in report.outcomes if o.rule == RULE and o.status != "finding")


def test_the_same_work_in_many_more_requests_fires(report_of):
    capture = iostat([writes(0.98)] * 20 + [writes(0.1)] * 20)
    (finding,) = findings(report_of(capture, HDD, rules=[RULE]))
    assert (finding.severity, finding.confidence, finding.devices) == ("warning", "medium", ("sda",))
    numbers = finding.evidence[0].values
    assert numbers["before"] == pytest.approx(98, abs=0.1)
    assert numbers["after"] == pytest.approx(10, abs=0.1)
    assert numbers["times"] == pytest.approx(45, abs=0.1)
    assert finding.samples == (20, 39)


def test_thousands_of_requests_tell_it_in_seconds(report_of):
    (finding,) = findings(report_of(iostat([writes(0.98)] * 7 + [writes(0.1)] * 7), rules=[RULE]))
    assert finding.confidence == "medium"
    few = iostat([writes(0.9, 100.0, 400.0)] * 7 + [writes(0.1, 100.0, 400.0)] * 7)
    assert [one.confidence for one in findings(report_of(few, rules=[RULE]))] == ["low"]


@pytest.mark.parametrize(
    "later",
    [writes(0.8), writes(0.1, kb=200.0, arriving=50.0), writes(0.1, arriving=125.0), writes(0.98)],
    ids=["18 points", "other work", "other sizes", "nothing"],
)
def test_what_is_no_loss_says_how_it_merges(report_of, later):
    report = report_of(iostat([writes(0.98)] * 20 + [later] * 20), rules=[RULE])
    assert not findings(report)
    assert "merge, into" in outcome(report).reason


@pytest.mark.parametrize(("share", "words"), [(0.37, "37.0 % in a sample"), (0.03, "hardly anything merges")])
def test_a_third_of_the_writes_that_merge_is_told(report_of, share, words):
    report = report_of(iostat([writes(0.0)] * 6 + [writes(share)] * 4), rules=[RULE])
    assert words in outcome(report).reason


def test_a_gain_is_no_loss(report_of):
    assert not findings(report_of(iostat([writes(0.1)] * 20 + [writes(0.98)] * 20), rules=[RULE]))


def test_sar_does_not_count_merges(report_of):
    capture = sar_d([{"sda": {"tps": 50.0, "wkB/s": 8000.0, "areq-sz": 160.0}}] * 20)
    assert outcome(report_of(capture, rules=[RULE])).status == "not_applicable"


def test_a_few_writes_of_which_most_merge_do_not_hardly_merge(report_of):
    assert (
        "80.0 % of 45 writes/s merge"
        in outcome(report_of(iostat([writes(0.8, arriving=45.0, kb=180.0)] * 20), rules=[RULE])).reason
    )


@pytest.mark.parametrize(("later", "status"), [(0.0, "undetermined"), (0.8, "clear")])
def test_samples_too_few_to_judge_in_which_nothing_merges_are_no_proof(report_of, later, status):
    told = outcome(report_of(iostat([writes(0.9)] * 4 + [writes(later)] * 4), rules=[RULE]))
    assert told.status == status
    assert ("0.0 % in another" in told.reason) is (status == "undetermined")


def test_a_sample_of_too_few_requests_is_none_of_those_that_lose_nothing(report_of):
    samples = [writes(0.45, arriving=11.0, kb=90.0), writes(0.02, kb=8000.0), *[writes(0.1)] * 3]
    found = outcome(report_of(iostat(samples), rules=[RULE]))
    assert found.status == "clear"
    assert "up to 10.0 % in a sample of 50/s and more: no sample loses that" in found.reason
