from __future__ import annotations

import math

import pytest

from writers.captures import iostat

RULE = "first-touch-penalty"


def row(latency, depth=4.0, rate=None, write=0.0, size=16.0):
    rate = 1000 * depth / latency if rate is None else rate
    writes = 50.0 if write else 0.0
    in_flight = rate * latency / 1000
    return {
        **{"r/s": rate, "rkB/s": rate * size, "r_await": latency},
        **{"w/s": writes, "wkB/s": writes * 8, "w_await": write},
        **{"aqu-sz": in_flight + writes * write / 1000, "%util": min(100.0, 100 * in_flight)},
    }


def closed(fetch=20.0, usual=0.7, blocks=3000.0, count=30, **others):
    """A closed load of reads, of which a share exp(-read/blocks) is slow."""
    rows, done = [], 0.0
    for _ in range(count):
        latency = usual + fetch * math.exp(-done / blocks)
        rows.append({"sda": row(latency, **others)})
        done += 2 * rows[-1]["sda"]["r/s"]
    return rows


def opened(fetch=20.0, usual=0.7, rate=100.0, **others):
    return [{"sda": row(usual + fetch * math.exp(-n / 5), rate=rate, **others)} for n in range(30)]


def found(report):
    return [finding for finding in report.findings if finding.rule == RULE]


def judged(report_of, rows):
    return report_of(iostat(rows, step=2), rules=[RULE])


@pytest.mark.parametrize("write", [0.0, 1.0], ids=["reads alone", "writes are normal"])
def test_reads_that_become_faster_with_the_bytes_read_are_slow_at_first_touch(report_of, write):
    (finding,) = found(judged(report_of, closed(write=write)))
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert "for a read at first" in finding.summary
    assert any("falls with the bytes read" in item.text for item in finding.evidence)
    told = finding.evidence[0].values
    each = [told[f"depth{when}"] / told[f"rate{when}"] for when in ("", "_after")]
    assert told["faster"] == pytest.approx(each[0] / each[1], rel=0.01)
    assert any("writes are" in item.text for item in finding.evidence) == bool(write)


def test_at_an_even_rate_bytes_and_time_are_the_same(report_of):
    (finding,) = found(judged(report_of, opened()))
    assert (finding.severity, finding.confidence) == ("notice", "low")


@pytest.mark.parametrize(
    "rows",
    [
        closed(fetch=4),
        [{"sda": row(20)}] * 10 + [{"sda": row(0.7)}] * 10,
        closed()[::-1],
        [{"sda": row(latency, rate=400)} for latency in (50, 40, 30, 20, 12, 8, 5, 3, 2, 2, 2, 2)],
        [{"sda": row(0.7 + 20 * math.exp(-n / 5), write=1 + 20 * math.exp(-n / 5))} for n in range(30)],
        [{"sda": row(0.7 + 20 * math.exp(-n / 5), rate=100 * math.exp(-n / 5) + 5)} for n in range(30)],
    ],
    ids=["five times", "at a moment", "slower", "a queue that drains", "writes as well", "a load that ends"],
)
def test_what_is_no_first_touch(report_of, rows):
    report = judged(report_of, rows)
    assert not found(report)
    assert {o.status for o in report.outcomes if o.rule == RULE} == {"clear"}


def test_a_fall_with_time_is_something_else(report_of):
    rows = [{"sda": row(0.7 + 20 * 0.8**n)} for n in range(30)]
    assert not found(judged(report_of, rows))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_samples_clear_nothing(report_of, count):
    report = judged(report_of, closed(count=count))
    assert {o.status for o in report.outcomes if o.rule == RULE} == {"undetermined"}
