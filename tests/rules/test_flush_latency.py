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
        (10.0, 45.0, 10, ("warning", "medium")),
        (30.0, 1.2, 60, None),
        (80.0, 8.0, 10, ("notice", "medium")),
        (150.0, 4.0, 10, ("notice", "medium")),
        (100.0, 4.0, 10, None),
        (9000.0, 0.08, 10, None),
        (0.3, 70.0, 60, None),
        (6.0, 170.0, 5, ("warning", "medium")),
        (6.0, 170.0, 1, None),
        (6.0, 100.0, 5, None),
    ],
    ids=[
        *(
            "very slow",
            "slow",
            "a turn of the disk",
            "possible",
            "short",
            "short, and sure",
            "quick",
            "most of the time",
        ),
        *("shorter, most of the time", "less than half", "no time at all", "rare"),
        *("few, one after the other", "hardly any", "few"),
    ],
)
def test_severity_goes_with_latency_and_time_lost(report_of, rate, wait, samples, expected):
    found = findings(report_of(iostat([{"sda": flushes(rate, wait)}] * samples), rules=[RULE]))
    assert [(f.severity, f.confidence) for f in found] == ([expected] if expected else [])
    if expected:
        assert found[0].evidence[0].values["await"] == pytest.approx(wait)


def test_a_few_samples_of_many_flushes_are_no_great_part_of_the_time(report_of):
    text = iostat([{"sda": flushes(150.0, 4.0)}] * 4 + [{"sda": flushes(0.0, 0.0)}] * 20)
    assert not findings(report_of(text, rules=[RULE]))


def test_quick_writes_do_not_hide_flushes_that_fill_the_time(report_of):
    row = {"r/s": 600.0, "rkB/s": 4800.0, "r_await": 0.3, "w/s": 300.0, "wkB/s": 1800.0, "w_await": 0.4}
    rows = [{"sda": row | {"f/s": 150.0, "f_await": 4.2, "%util": 60.0}}] * 10
    report = report_of(iostat(rows, {"%iowait": 55.0, "%idle": 40.0}))
    assert report.verdict.severity == "warning"
    assert "under way 63 % of the time" in report.headline


def test_disks_that_are_alike_slow_share_a_finding(report_of):
    sample = {"sda": flushes(50.0, 6.0), "sdb": flushes(50.0, 7.0), "sdc": flushes(50.0, 1.0)}
    report = report_of(iostat([sample] * 30), rules=[RULE])
    (found,) = findings(report)
    assert found.devices == ("sdb", "sda")
    assert "sdb and sda takes 7 ms" in found.summary
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


WRITES = {"w/s": 80.0, "wkB/s": 88000.0, "w_await": 30.0, "%util": 100.0}
SILENT = {"%util": 100.0}


def flushed(seconds):
    return WRITES | {"w_await": 1200.0, "f/s": 1.0, "f_await": 1000.0 * seconds, "aqu-sz": 200.0}


@pytest.mark.parametrize(
    ("silent", "flush_s", "times", "expected"),
    [
        (18, 19.0, 2, ("warning", "high")),
        (18, 19.0, 1, ("warning", "medium")),
        (3, 4.0, 2, None),
        (18, 2.0, 2, None),  # the flush fills too little of it
    ],
)
def test_a_standstill_while_the_cache_is_flushed_is_told(report_of, silent, flush_s, times, expected):
    rows = ([WRITES] * 9 + [SILENT] * silent + [flushed(flush_s)]) * times + [WRITES] * 9
    found = findings(report_of(iostat([{"sda": row} for row in rows])))
    assert [(f.severity, f.confidence) for f in found] == ([expected] if expected else [])


def test_a_standstill_goes_before_the_few_samples_that_are_full(report_of):
    rows = ([WRITES | {"aqu-sz": 20.0}] * 6 + [SILENT] * 18 + [flushed(19.0)]) * 2
    busy = {"%iowait": 95.0, "%system": 5.0}
    report = report_of(iostat([{"sda": row} for row in rows], cpu=busy))
    assert "sda completed no request" in report.headline
    clear = {(o.rule, name) for o in report.outcomes if o.status == "clear" for name in o.devices}
    assert not {("hung-io", "sda"), (RULE, "sda")} & clear


def test_flushes_that_are_slow_and_too_few_are_not_clear(report_of):
    report = report_of(iostat([{"sda": flushes(0.5, 120.0), "sdb": flushes(0.5, 5.0)}] * 4), rules=[RULE])
    told = [(o.status, o.devices) for o in report.outcomes if "its flushes take 120 ms" in o.reason]
    assert told == [("undetermined", ("sda",))]


def test_quick_flushes_of_an_unknown_class_are_no_cost_however_many_there_are(report_of):
    text = iostat([{"sda": flushes(450.0, 1.3) | {"w_await": 0.1}}] * 12, {"%iowait": 9.0, "%idle": 88.0})
    report = report_of(text)
    assert not findings(report)
    assert report.verdict.state == "healthy"


def test_how_much_of_the_time_flushes_fill_is_said_of_the_samples_that_have_any(report_of):
    text = iostat([{"sda": flushes(68.0, 12.2)}] * 10 + [{"sda": flushes(0.0, 0.0)}] * 50)
    (finding,) = findings(report_of(text, rules=[RULE]))
    assert "in 10 of 60 samples one is under way 83 % of the time" in finding.summary


@pytest.mark.parametrize(("read", "is_told"), [(44.0, True), (8.0, False), (0.0, False)])
def test_requests_that_wait_longer_than_the_flushes_are_told_with_them(report_of, read, is_told):
    reads = {"r/s": 20.0, "rkB/s": 4000.0, "r_await": read} if read else {}
    (finding,) = findings(report_of(iostat([{"sda": flushes(30.0, 30.0) | reads}] * 20), rules=[RULE]))
    assert ("; reads of sda take 44 ms meanwhile." in finding.summary) is is_told
