from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d

RULE = "flush-latency"


def flushes(rate, wait):
    return {"w/s": 2 * rate, "wkB/s": 8 * rate, "w_await": wait, "f/s": rate, "f_await": wait, "%util": 50.0}


def findings(report):
    return [f for f in report.findings if f.rule == RULE]


@pytest.mark.parametrize(
    ("rate", "wait", "samples", "expected"),
    [
        (6.0, 170.0, 60, ("warning", "medium")),
        (30.0, 30.0, 60, ("warning", "high")),
        (70.0, 10.0, 60, ("notice", "medium")),
        (30.0, 6.0, 60, ("notice", "low")),
        (30.0, 6.0, 5, ("notice", "low")),
        (30.0, 1.2, 60, None),
        (0.3, 70.0, 60, None),
        (6.0, 170.0, 5, ("warning", "medium")),
        (6.0, 170.0, 1, None),
        (6.0, 100.0, 5, None),
    ],
    ids=[
        *("very slow", "slow", "a turn of the disk", "possible", "short", "quick", "rare"),
        *("few, one after the other", "hardly any", "few"),
    ],
)
def test_severity_goes_with_latency_and_time_lost(report_of, rate, wait, samples, expected):
    found = findings(report_of(iostat([{"sda": flushes(rate, wait)}] * samples), rules=[RULE]))
    assert [(f.severity, f.confidence) for f in found] == ([expected] if expected else [])
    if expected:
        assert found[0].evidence[0].values["await"] == pytest.approx(wait)


def test_disks_that_are_alike_slow_share_a_finding(report_of):
    sample = {"sda": flushes(50.0, 6.0), "sdb": flushes(50.0, 7.0), "sdc": flushes(50.0, 1.0)}
    report = report_of(iostat([sample] * 30), rules=[RULE])
    (found,) = findings(report)
    assert found.devices == ("sdb", "sda")
    assert "sdb and 1 more takes 7" in found.summary
    assert next(o.devices for o in report.outcomes if o.status == "clear") == ("sdc",)


def test_a_layer_that_counts_no_flush_is_not_clear(report_of):
    writes = flushes(50.0, 1.0) | {"f/s": 0.0, "f_await": 0.0}
    report = report_of(
        iostat([{"sda": writes, "dm-1": writes, "dm-2": flushes(50.0, 1.0)}] * 30), rules=[RULE]
    )
    told = {name: outcome.status for outcome in report.outcomes for name in outcome.devices}
    assert told == {"sda": "clear", "dm-1": "undetermined", "dm-2": "clear"}


def test_flushes_are_weighted_by_their_number(report_of):
    text = iostat([{"sda": flushes(90.0, 2.0)}] * 20 + [{"sda": flushes(1.0, 100.0)}] * 20)
    assert not findings(report_of(text, rules=[RULE]))


def test_a_protected_cache_contradicts(report_of):
    context = "/sys/block/sda/queue/write_cache:write through\n"
    (found,) = findings(report_of(iostat([{"sda": flushes(30.0, 30.0)}] * 60), context, rules=[RULE]))
    assert [item.weighs for item in found.evidence] == ["for", "against"]


def test_sources_without_flushes_do_not_apply(report_of):
    report = report_of(sar_d([{"sda": {"tps": 9.0, "wkB/s": 90.0}}] * 5), rules=[RULE])
    assert [o.status for o in report.outcomes] == ["not_applicable"]
