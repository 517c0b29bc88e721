from __future__ import annotations

import pytest

from writers.captures import iostat

RULE = "common-cause-stall"
DISKS = {
    "sda": (25.0, 16.0, 15.0),
    "sdb": (60.0, 64.0, 2.0),
    "sdc": (120.0, 8.0, 1.5),
    "sdd": (200.0, 4.0, 1.0),
}


def disk(rate, size, latency, util=None):
    depth = rate * latency / 1000
    return {
        **{"r/s": rate, "rkB/s": rate * size, "r_await": latency if rate else 0.0},
        **{"aqu-sz": depth, "%util": min(100.0, 100 * depth) if util is None else util},
    }


def sample(disks=DISKS, work=1.0, wait=1.0, util=None, only=None):
    """All disks at their usual load, or those of `only` at a multiple of it and of its latency."""
    chosen = disks if only is None else only
    return {
        name: disk(rate * work, size, latency * wait, util) if name in chosen else disk(rate, size, latency)
        for name, (rate, size, latency) in disks.items()
    }


def capture(*parts, disks=DISKS, step=1, **others):
    rows = [sample(disks, work, wait, util, **others) for work, wait, util in parts]
    return iostat([*[sample(disks)] * 8, *rows, *[sample(disks)] * 8], step=step)


STALL = ((0.0, 1.0, 100.0), (0.0, 1.0, 100.0), (0.6, 60.0, 95.0), (2.5, 3.0, 60.0))
IN_ONE = ((0.3, 30.0, 85.0), (1.7, 2.0, 40.0))


def found(report):
    return [finding for finding in report.findings if finding.rule == RULE]


def status(report):
    return {outcome.status for outcome in report.outcomes if outcome.rule == RULE}


@pytest.mark.parametrize("parts", [STALL, IN_ONE], ids=["silent samples", "within one sample"])
def test_unrelated_disks_that_stop_together_share_what_stopped(report_of, parts):
    (finding,) = found(report_of(capture(*parts), rules=[RULE]))
    assert (finding.severity, finding.confidence) == ("warning", "high")
    assert finding.devices == ("sda", "sdb", "sdc", "sdd")
    assert any("they caught up" in item.text for item in finding.evidence)


def test_a_stall_that_ends_in_the_next_sample_is_seen_by_what_completes_late(report_of):
    parts = ((0.0, 1.0, 5.0), (0.0, 1.0, 5.0), (3.0, 300.0, 70.0))
    assert found(report_of(capture(*parts), rules=[RULE]))


def test_each_of_several_stops_is_cited(report_of):
    calm = [(1.0, 1.0, None)] * 8
    (finding,) = found(report_of(capture(*IN_ONE, *calm, (0.3, 90.0, 85.0), (1.7, 2.0, 40.0)), rules=[RULE]))
    assert "2 times" in finding.summary
    assert finding.samples == (8, 18)
    assert finding.evidence[0].rows == 8
    assert finding.evidence[0].values["most"] == pytest.approx(90, rel=0.01)


def test_it_explains_each_disk_s_silence(report_of):
    parts = ((0.0, 1.0, 100.0),) * 6 + STALL[2:]
    report = report_of(capture(*parts))
    assert report.findings[0].rule == RULE
    assert {f.explained_by for f in report.findings if f.rule in ("hung-io", "extreme-latency")} <= {RULE}


@pytest.mark.parametrize(
    "text",
    [
        capture((4.0, 30.0, 100.0)),
        capture((1.0, 6.0, 60.0)),
        capture(*IN_ONE, only=("sda", "sdb")),
        iostat([*[sample()] * 8, *[sample(work=0.3, wait=30, only=(n,)) for n in DISKS], *[sample()] * 8]),
        capture((0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (3.0, 2.0, 20.0)),
    ],
    ids=["a load of the whole host", "six times", "two disks", "one after the other", "a pause of the load"],
)
def test_what_is_no_common_stall(report_of, text):
    report = report_of(text, rules=[RULE])
    assert not found(report)
    assert status(report) == {"clear"}


def test_disks_of_one_array_are_not_unrelated(report_of):
    mdstat = "md0 : active raid0 sdd[3] sdc[2] sdb[1] sda[0]\n      976630464 blocks super 1.2 512k chunks\n"
    report = report_of(capture(*STALL), mdstat, rules=[RULE])
    assert not found(report)
    assert status(report) == {"not_applicable"}


def test_disks_at_equal_rates_may_be_of_one_array(report_of):
    equal = dict.fromkeys(("sda", "sdb", "sdc", "sdd"), (60.0, 64.0, 2.0))
    assert status(report_of(capture(*STALL, disks=equal), rules=[RULE])) == {"not_applicable"}


def test_three_of_many_disks_may_be_slow_by_chance(report_of):
    many = {f"sd{letter}": (20.0 + 13 * n, 8.0, 2.0) for n, letter in enumerate("abcdefgh")}
    report = report_of(capture(*IN_ONE, disks=many, only=("sda", "sdb", "sdc")), rules=[RULE])
    assert not found(report)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_samples_have_no_usual(report_of, count):
    assert status(report_of(iostat([sample()] * count), rules=[RULE])) == {"not_applicable"}
