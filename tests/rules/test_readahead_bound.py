from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load, lsblk

RULE = "readahead-bound"
FLASH = lsblk(("sda", False))


def ahead(kb=128):
    return f"/sys/block/sda/queue/read_ahead_kb:{kb}\n"


def rows(size=128.0, depth=1.0, latency=2.0, reads=1.0, count=10):
    rate = 1000 * depth / latency
    return [{"sda": load(rate, latency, size=size, reads=reads, util=min(100.0, 95 * depth))}] * count


def judged(report_of, samples, *context):
    return report_of(iostat(samples), *context, rules=[RULE])


def found(report):
    return [finding for finding in report.findings if finding.rule == RULE]


def status(report):
    return {outcome.status for outcome in report.outcomes if outcome.rule == RULE}


@pytest.mark.parametrize(("depth", "mb"), [(1.0, "62.50 MiB/s"), (1.5, "93.75 MiB/s")])
def test_reads_of_exactly_the_readahead_one_after_the_other_are_bound_by_it(report_of, depth, mb):
    (finding,) = found(judged(report_of, rows(depth=depth), FLASH, ahead()))
    assert (finding.severity, finding.confidence) == ("notice", "medium")
    assert mb in finding.summary
    assert "blockdev --getra /dev/sda" in finding.confirm


@pytest.mark.parametrize(
    "samples",
    [rows(size=64.0), rows(depth=8.0, latency=16.0), rows(latency=0.2), rows(reads=0.5), rows(depth=0.2)],
    ids=["another size", "many at once", "as fast as it streams", "writes", "hardly used"],
)
def test_what_is_not_bound_by_it(report_of, samples):
    report = judged(report_of, samples, FLASH, ahead())
    assert not found(report)
    assert status(report) == {"clear"}


def test_a_single_spinning_disk_streams_no_faster(report_of):
    assert not found(judged(report_of, rows(), lsblk(("sda", True)), ahead()))


def test_it_needs_the_setting(report_of):
    assert status(judged(report_of, rows(), FLASH)) == {"not_applicable"}


def test_one_sample_clears_nothing(report_of):
    assert status(judged(report_of, rows(size=64.0, count=1), FLASH, ahead())) == {"undetermined"}
