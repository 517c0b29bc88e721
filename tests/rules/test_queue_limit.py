from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load

RULE = "queue-limit"
ROWS = [load(900, 1, size=4)] * 10 + [load(2560, 50, size=4)] * 20


def sysfs(size):
    return f"/sys/block/sda/queue/nr_requests:{size}\n/sys/block/sda/queue/rotational:0\n"


@pytest.fixture
def run(report_of):
    return lambda rows, *context: report_of(iostat([{"sda": row} for row in rows]), *context, rules=[RULE])


def test_a_queue_pinned_at_its_stated_size(run):
    (finding,) = run(ROWS, sysfs(128)).findings
    assert (finding.severity, finding.confidence) == ("notice", "medium")
    assert "128" in finding.summary


def test_without_sysfs_a_common_size_stays_open(run):
    report = run(ROWS)
    assert not report.findings
    assert [o.status for o in report.outcomes] == ["undetermined"]


def test_another_stated_size_is_no_proof(run):
    assert not run(ROWS, sysfs(1024)).findings


@pytest.mark.parametrize(
    "rows",
    [
        [load(900, 1, size=4)] * 10 + [load(2000, 45 + n, size=4) for n in range(20)],  # the depth moves
        [load(900, 1, size=4)] * 10 + [load(2000, 50, size=4)] * 20,  # no known size
    ],
)
def test_near_misses_are_clear(run, rows):
    assert [o.status for o in run(rows, sysfs(128)).outcomes] == ["clear"]


def test_loads_that_last_for_a_few_samples_show_no_free_queue(run):
    rows = [held for depth in (12, 90, 40) for held in [load(2000, depth / 2, size=4)] * 3]
    outcome = run(rows, sysfs(128)).outcomes[0]
    assert (outcome.status, "no load lasts for 5 samples" in outcome.reason) == ("undetermined", True)


@pytest.mark.parametrize("rows", [[load(128000, 1, size=4)] * 20, [load(1050, 9.5, size=128, reads=0)] * 6])
def test_a_steady_depth_without_a_baseline_is_not_cleared(run, rows):
    outcome = run(rows, sysfs(128)).outcomes[0]
    assert outcome.status == "undetermined"
    assert "its depth stays at" in outcome.reason
