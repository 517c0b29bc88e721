from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load

RULE = "util-sampling-bias"


def found(report):
    return [f for f in report.findings if f.rule == RULE]


def test_ticks_make_an_idle_disk_busy(report_of):
    report = report_of(iostat([{"sda": load(250, 0.1, util=63)}] * 10), rules=[RULE])
    (finding,) = found(report)
    assert (finding.severity, finding.confidence) == ("info", "high")
    assert "Worth knowing" not in report.headline, "reading advice is no verdict"


@pytest.mark.parametrize(
    "row",
    [
        load(240, 3.9, util=96),  # timer skew
        load(60, 1),
        {"%util": 100.0},  # busy, and nothing completed: a stall
        load(30, 20, util=180),  # the time of an earlier request
        load(1, 300, util=90),  # a request that outlives its sample
    ],
)
def test_other_gaps_prove_nothing(report_of, row):
    report = report_of(iostat([{"sda": row}] * 10), rules=[RULE])
    assert [o.status for o in report.outcomes] in (["clear"], ["undetermined"])


def test_one_sample_must_be_far_off(report_of):
    calm = [load(60, 1)] * 9
    slightly = iostat([{"sda": r} for r in [*calm, load(250, 1.2, util=40)]])
    assert not found(report_of(slightly, rules=[RULE]))
    assert found(report_of(iostat([{"sda": r} for r in [*calm, load(250, 0.1, util=40)]]), rules=[RULE]))
