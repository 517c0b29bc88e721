from __future__ import annotations

import pytest

from writers.captures import iostat
from writers.loads import load, lsblk

RULE = "burst-bucket-empty"
FLASH = lsblk(("sda", False))


def held(rate, depth=16.0, size=4.0, reads=0.7):
    return load(rate, 1000 * depth / rate, size=size, reads=reads, util=100)


def run(report_of, rows, context=FLASH):
    return report_of(iostat([{"sda": row} for row in rows]), context, rules=[RULE])


def test_a_step_down_to_a_flat_rate(report_of):
    (finding,) = run(report_of, [held(1600)] * 30 + [held(400)] * 30).findings
    assert (finding.severity, finding.confidence) == ("warning", "medium")
    assert finding.samples == (30, 59)
    numbers = {name: value for item in finding.evidence for name, value in item.values.items()}
    assert (numbers["fast"], numbers["slow"]) == (pytest.approx(10), pytest.approx(40))


@pytest.mark.parametrize(
    "rows",
    [
        [held(1600)] * 30 + [held(400, depth=4)] * 30,  # the demand went
        [held(1600)] * 30 + [held(400, size=64)] * 30,  # larger requests
        [held(1600, reads=1.0)] * 30 + [held(400, reads=0.0)] * 30,  # another direction
        [held(1600)] * 30 + [held(300 + 60 * (n % 5)) for n in range(30)],  # not flat
        [held(1600)] * 30 + [held(1300)] * 30,  # a small step
        [held(400)] * 30 + [held(1600)] * 30,  # a step up
    ],
)
def test_near_misses_stay_clear(report_of, rows):
    report = run(report_of, rows)
    assert not report.findings
    assert [o.status for o in report.outcomes] == ["clear"]


@pytest.mark.parametrize("rows", [[held(1600)] * 57 + [held(400)] * 3, [held(1600)] * 4 + [held(400)] * 9])
def test_a_step_between_too_few_samples_is_left_open(report_of, rows):
    (outcome,) = run(report_of, rows).outcomes
    assert outcome.status == "undetermined"
    assert "steps down from 1,600 to 400" in outcome.reason


def test_a_spinning_disk_is_left_out(report_of):
    assert not run(report_of, [held(400)] * 30 + [held(100)] * 30, lsblk(("sda", True))).findings


def test_the_bucket_of_a_gp2_volume(report_of):
    # 100 GiB: 300 IOPS at the baseline, 2000 s of burst
    rows = [held(3000)] * 200 + [held(300)] * 60
    text = iostat([{"sda": row} for row in rows], step=10)
    (finding,) = report_of(text, FLASH, rules=[RULE]).findings
    assert "gp2 volume of 100 GiB" in " ".join(item.text for item in finding.evidence)
