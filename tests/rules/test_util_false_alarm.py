from __future__ import annotations

import pytest

from writers.captures import iostat, sar_d
from writers.loads import array, load, lsblk

RULE = "util-false-alarm"
DISKS = ("sda", "sdb", "sdc", "sdd")


@pytest.fixture
def run(report_of):
    return lambda *texts: report_of(*texts, rules=[RULE])


def found(report):
    return [f for f in report.findings if f.rule == RULE]


def values(finding):
    return {name: value for item in finding.evidence for name, value in item.values.items()}


def status(report, device):
    return {o.status for o in report.outcomes if device in o.devices}


def test_a_ladder_of_loads_proves_the_headroom(run):
    rows = [load(240, 4), load(960, 4.2), load(2500, 16)]
    text = iostat([{"sda": row} for row in rows for _ in range(20)])
    (finding,) = found(run(text))
    assert (finding.severity, finding.confidence) == ("notice", "high")
    assert finding.samples == (0, 39)
    assert "10.4 times" in finding.summary


def test_flash_with_one_request_at_a_time(run):
    text = iostat([{"sda": load(240, 3.9)}] * 20)
    (finding,) = found(run(text, lsblk(("sda", False))))
    assert (finding.severity, finding.confidence) == ("notice", "medium")
    # nothing says what the device is
    report = run(text)
    assert not found(report)
    assert status(report, "sda") == {"undetermined"}


def test_one_sample_is_worth_a_hint_only(run):
    (finding,) = found(run(iostat([{"sda": load(240, 3.9)}]), lsblk(("sda", False))))
    assert (finding.severity, finding.confidence) == ("info", "low")
    assert any(item.weighs == "against" for item in finding.evidence)


@pytest.mark.parametrize("row", [load(90, 11), load(120, 60), load(140, 450)])
def test_a_single_spinning_disk_is_never_a_false_alarm(run, row):
    assert not found(run(iostat([{"sda": row}] * 20), lsblk(("sda", True))))


def test_a_quiet_device_is_clear(run):
    report = run(iostat([{"sda": load(60, 1)}] * 20), lsblk(("sda", False)))
    assert status(report, "sda") == {"clear"}


def test_a_deep_queue_on_flash_stays_open(run):
    report = run(iostat([{"sda": load(3000, 20)}] * 20), lsblk(("sda", False)))
    assert not found(report)


def test_a_plateau_that_was_reached_is_no_headroom(run):
    rows = [load(1000, 1), load(2000, 2), load(2000, 8)]
    text = iostat([{"sda": row} for row in rows for _ in range(10)])
    report = run(text, lsblk(("sda", False)))
    (finding,) = found(report)
    assert finding.samples == (0, 9)


@pytest.mark.parametrize(("rate", "is_more"), [(118, False), (236, True)])
def test_more_per_busy_second_is_headroom_only_where_more_was_done(run, rate, is_more):
    alone, level = load(116, 6.3, util=73, depth=0.73), load(113, 10.4, util=96, depth=1.18)
    more = load(rate, 11, util=60, depth=0.011 * rate)
    text = iostat([{"sda": row} for row in (alone, level, more) for _ in range(5)])
    assert (
        any("but served" in finding.summary for finding in found(run(text, lsblk(("sda", False))))) == is_more
    )


def test_the_array_speaks_for_its_members(run):
    below = dict.fromkeys(DISKS, load(240, 0.9, util=21))
    text = iostat([{"md0": load(960, 1.03), **below}] * 20)
    (finding,) = found(run(text, array("raid0", *DISKS)))
    assert finding.devices == ("md0",)
    assert values(finding)["most"] == pytest.approx(21)


def test_disks_that_are_half_busy_leave_too_little(run):
    below = dict.fromkeys(DISKS, load(120, 6.7, util=66))
    text = iostat([{"md0": load(55, 29, reads=0.0, util=99), **below}] * 20)
    assert not found(run(text, array("raid10", *DISKS)))


def test_sar_shows_it_as_well(run):
    row = {"tps": 240.0, "rkB/s": 960.0, "areq-sz": 4.0, "aqu-sz": 0.94, "await": 3.9, "%util": 93.0}
    (finding,) = found(run(sar_d([{"sda": row}] * 20), lsblk(("sda", False))))
    assert finding.confidence == "medium"


def test_a_layout_without_util_is_not_applicable(run):
    text = "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 10.00 40.00 0.00 40 0\n"
    report = run(text)
    assert [o.status for o in report.outcomes] == ["not_applicable"]


@pytest.mark.parametrize(("moments", "count"), [(1, 0), (2, 1), (20, 1)])
def test_util_in_ticks_alarms_where_it_is_more_than_a_moment(run, moments, count):
    quiet, ticked = load(60, 1, util=5), load(180, 0.44, util=85)
    rows = [ticked if 5 <= n < 5 + moments else quiet for n in range(25)]
    assert len(found(run(iostat([{"sda": row} for row in rows])))) == count


def test_a_single_sample_in_ticks_is_told(run):
    (finding,) = found(run(iostat([{"sda": load(180, 0.44, util=85)}])))
    assert (finding.severity, finding.confidence) == ("info", "low")


@pytest.mark.parametrize(
    ("row", "is_found"),
    [
        (load(240, 3.9), True),
        (load(300, 20, util=98), False),  # six in flight
        (load(40, 25), False),
        (
            {"r/s": 500.0, "rkB/s": 4000.0, "r_await": 0.4, "w/s": 60.0, "wkB/s": 480.0, "w_await": 12.0},
            False,
        ),
    ],
    ids=["quick", "slow with a queue", "slower than any", "slow writes behind quick reads"],
)
def test_flash_must_answer_quickly_in_both_directions(run, row, is_found):
    row = {"aqu-sz": 0.92, "%util": 92.0} | row
    report = run(iostat([{"sda": row}] * 20), lsblk(("sda", False)))
    assert bool(found(report)) == is_found


@pytest.mark.parametrize("row", [load(70, 13.5), load(170, 16, util=95)], ids=["one", "a few"])
def test_slow_flash_that_is_asked_for_little_is_told_for_information(run, report_of, row):
    text, kinds = iostat([{"sda": row}] * 20), lsblk(("sda", False))
    (finding,) = found(run(text, kinds))
    assert (finding.severity, finding.confidence) == ("info", "low")
    assert "long for a device that does not spin" in finding.summary
    outcomes = report_of(text, kinds, rules=["true-saturation"]).outcomes
    assert [one.status for one in outcomes] == ["undetermined"]


def test_equal_devices_are_one_finding(run):
    rows = {disk: load(240 + n, 3.9) for n, disk in enumerate(DISKS)} | {"sde": load(900, 1)}
    report = run(iostat([rows] * 20), lsblk(*((disk, False) for disk in (*DISKS, "sde"))))
    assert [f.devices for f in found(report)] == [DISKS, ("sde",)]
    assert "The same holds for 3 more devices" in found(report)[0].summary


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (load(60, 1), "clear"),
        (load(120, 391, util=40), "undetermined"),
        ({"w/s": 50.0, "wkB/s": 400.0, "w_await": 400.0, "aqu-sz": 0.5, "%util": 30.0}, "undetermined"),
    ],
    ids=["quiet", "bursts", "a queue that its counters do not show"],
)
def test_util_alone_clears_nothing(report_of, row, told):
    for rule in (RULE, "true-saturation", "approaching-saturation"):
        assert status(report_of(iostat([{"sda": row}] * 20), rules=[rule]), "sda") == {told}


@pytest.mark.parametrize(
    ("wait", "few"), [(0.95, "one thing at a time"), (1.4, "one or two things at a time")]
)
def test_a_client_that_has_two_requests_at_times_is_not_said_to_have_one(run, wait, few):
    row = load(1000, wait) | {"%util": 94.0}
    (finding,) = found(run(iostat([{"sda": row}] * 20), lsblk(("sda", False))))
    assert few in finding.summary
