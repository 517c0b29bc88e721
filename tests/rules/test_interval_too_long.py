from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d
from writers.loads import load

RULE = "interval-too-long"


def sar_row(tps, wait, util):
    return {
        "tps": tps,
        "rkB/s": 4 * tps,
        "areq-sz": 4.0,
        "aqu-sz": tps * wait / 1000,
        "await": wait,
        "%util": util,
    }


def found(report):
    return [f for f in report.findings if f.rule == RULE]


def test_a_flood_behind_a_calm_util(report_of):
    text = sar_d([{"sda": sar_row(375, 1129, 58.64)}] * 3, step=600)
    (finding,) = found(report_of(text, rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("notice", "medium")
    numbers = {name: value for item in finding.evidence for name, value in item.values.items()}
    assert numbers["at_once"] == pytest.approx(423.4 / 0.5864, rel=0.001)
    assert numbers["busy_rate"] == pytest.approx(375 / 0.5864, rel=0.001)


def test_samples_of_a_second_are_as_short_as_they_get(report_of):
    text = iostat([{"sda": load(375, 1129, util=58)}] * 20)
    assert not found(report_of(text, rules=[RULE]))


@pytest.mark.parametrize(
    "row",
    [
        sar_row(375, 1129, 95),  # busy throughout: no bursts
        sar_row(1000, 2, 60),  # three in flight
        sar_row(300, 0.05, 60),  # util beyond the depth: counted in ticks
    ],
)
def test_near_misses_stay_clear(report_of, row):
    assert not found(report_of(sar_d([{"sda": row}] * 10, step=10), rules=[RULE]))


@pytest.mark.parametrize(("util", "status"), [(33, "undetermined"), (89, "undetermined"), (97, "clear")])
def test_a_deep_queue_for_a_part_of_a_second_is_a_burst(report_of, util, status):
    report = report_of(iostat([{"sda": load(80, 400, util=util)}] * 8), rules=[RULE])
    assert [o.status for o in report.outcomes] == [status]


def test_a_loaded_device_in_samples_of_minutes_is_context(report_of):
    (finding,) = found(report_of(sar_d([{"sda": sar_row(200, 4, 60)}] * 4, step=600), rules=[RULE]))
    assert finding.severity == "info"


def test_an_idle_host_in_samples_of_minutes_is_clear(report_of):
    report = report_of(sar_d([{"sda": sar_row(2, 1, 0.2)}] * 4, step=600), rules=[RULE])
    assert [o.status for o in report.outcomes] in (["clear"], ["undetermined"])


def test_samples_of_several_lengths_are_told_by_the_shortest_and_the_longest(report_of):
    text = sar_d([{"sda": sar_row(200, 4, 60)}] * 6, step=600)
    rows = text.splitlines(keepends=True)
    third = [at for at, line in enumerate(rows) if line.endswith(" sda\n")][2]
    (finding,) = found(report_of("".join(rows[:third] + rows[third + 1 :]), rules=[RULE]))
    assert finding.summary == "Samples are 600 to 1,200 s long: bursts within them do not show."
    (even,) = found(report_of(text, rules=[RULE]))
    assert even.summary == "Samples are 600 s long: bursts within them do not show."


def test_the_depth_of_the_worst_sample_is_not_told_of_all(report_of):
    rows = [{"sda": sar_row(375, wait, 50)} for wait in (500, 800, 4000)]
    (finding,) = found(report_of(sar_d(rows, step=600), rules=[RULE]))
    # 375/s that take 800 ms are 300 in flight, at 50 % busy 600 while busy; the worst is 3,000
    assert "600.0 in flight while it is busy, not 300" in finding.summary
    assert "in the median sample; up to 3,000.0" in finding.summary
    assert finding.evidence[0].values["busy_rate"] == pytest.approx(750)
