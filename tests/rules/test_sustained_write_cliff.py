from __future__ import annotations

import pytest

from writers.captures import iostat

RULE = "sustained-write-cliff"


def writer(mb, depth=8.0, size=128.0, reads=0.0, read=1.0, read_size=4.0):
    rate = 1024 * mb / size
    write = 1000 * depth / rate if rate else 0.0
    return {
        **{"w/s": rate, "wkB/s": 1024 * mb, "w_await": write},
        **{"r/s": reads, "rkB/s": reads * read_size, "r_await": read if reads else 0.0},
        **{"aqu-sz": depth + reads * read / 1000, "%util": 100.0 if mb else 5.0},
    }


FAST, SLOW, IDLE = writer(200), writer(15), writer(0, depth=0.0)


def capture(*parts, step=2):
    return iostat([{"sda": row} for row, count in parts for _ in range(count)], step=step)


def found(report):
    return [finding for finding in report.findings if finding.rule == RULE]


def only(report):
    (finding,) = found(report)
    return finding


def test_a_cliff_after_as_many_bytes_again_is_a_full_cache(report_of):
    parts = ((IDLE, 2), (FAST, 5), (SLOW, 5), (IDLE, 6), (FAST, 5), (SLOW, 5))
    finding = only(report_of(capture(*parts), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("warning", "high")
    assert "writes 200 MiB/s and after 1.95 GiB only 15 MiB/s" in finding.summary
    assert any("2 times" in item.text for item in finding.evidence)


def test_fast_again_after_a_pause_is_more_than_credits_give(report_of):
    parts = ((FAST, 5), (SLOW, 5), (IDLE, 3), (FAST, 4))
    assert only(report_of(capture(*parts), rules=[RULE])).confidence == "medium"


def test_reads_that_suffer_less_tell_it_from_credits(report_of):
    fast, slow = writer(200, reads=40, read=2), writer(15, reads=40, read=5)
    assert only(report_of(capture((fast, 6), (slow, 6)), rules=[RULE])).confidence == "medium"


@pytest.mark.parametrize("reads", [0, 40], ids=["no reads", "reads slow as much"])
def test_one_cliff_alone_may_be_credits(report_of, reads):
    fast, slow = writer(200, reads=reads, read=2), writer(15, reads=reads, read=27)
    finding = only(report_of(capture((fast, 6), (slow, 6)), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "low")


def test_credits_that_come_back_at_the_slow_rate_are_no_witness(report_of):
    parts = ((FAST, 8), (SLOW, 8), (IDLE, 20), (FAST, 1), (SLOW, 9))
    report = report_of(capture(*parts), rules=[RULE])
    assert only(report).confidence == "low"


@pytest.mark.parametrize(
    "parts",
    [
        ((FAST, 6), (writer(100), 6)),
        ((FAST, 6), (writer(15, depth=0.8), 6)),
        ((FAST, 6), (writer(15, size=8), 6)),
        ((FAST, 6), (writer(15, reads=300, read=20, read_size=64), 6)),
        ((writer(4), 3), (writer(0.3), 6)),
        ((SLOW, 6), (FAST, 6)),
        (*(((FAST, 1), (SLOW, 1)) * 6),),
    ],
    ids=["half", "less demand", "smaller writes", "reads begin", "a few MB", "faster", "to and fro"],
)
def test_what_is_no_cliff(report_of, parts):
    report = report_of(capture(*parts), rules=[RULE])
    assert not found(report)
    assert {o.status for o in report.outcomes if o.rule == RULE} == {"clear"}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_samples_clear_nothing(report_of, count):
    report = report_of(capture((FAST, count)), rules=[RULE])
    assert {o.status for o in report.outcomes if o.rule == RULE} == {"undetermined"}


def test_it_explains_that_the_device_is_full(report_of):
    parts = ((FAST, 8), (SLOW, 8), (IDLE, 6), (FAST, 8), (SLOW, 8))
    report = report_of(capture(*parts))
    assert report.findings[0].rule == RULE
    assert not [
        f for f in report.findings if f.rule in ("true-saturation", "volume-cap") and not f.explained_by
    ]
