from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load

RULE = "backlog-drift"


def old(rows):
    return iostat([{"sda": row} for row in rows]).replace("Linux 6.1.0", "Linux 2.6.32-431.el6")


def test_a_queue_that_outgrows_what_completes(report_of):
    rows = [load(100, 100, depth=10 + 4 * n) for n in range(20)]
    (finding,) = report_of(old(rows), rules=[RULE]).findings
    assert finding.severity == "notice"
    assert finding.evidence[0].values["booked"] == pytest.approx(10)


@pytest.mark.parametrize(
    "rows",
    [
        [load(100, 100)] * 20,
        [load(100, 100, depth=10.5)] * 20,
        [load(100, 100)] * 9 + [load(100, 100, depth=14)] * 2 + [load(100, 100)] * 9,  # a load that starts
    ],
)
def test_near_misses_are_clear(report_of, rows):
    assert [o.status for o in report_of(old(rows), rules=[RULE]).outcomes] == ["clear"]


def test_newer_kernels_cannot_show_it(report_of):
    text = iostat([{"sda": load(100, 100, depth=20)}] * 20)
    assert [o.status for o in report_of(text, rules=[RULE]).outcomes] == ["not_applicable"]
